"""Small cases that tests share: data, models, samplers."""

import itertools
from functools import partial

import numpy as np
import scores
from compiled import pieces
from scipy.sparse import csr_array

from splitmerge_cli.config import choice, choices, locate
from splitmerge_cli.core.capabilities import Weighted
from splitmerge_cli.core.chain import Chain
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.kinds.lines.model import Lines
from splitmerge_cli.kinds.networks.irm import IRM
from splitmerge_cli.kinds.tables.models import gaussian, mixed, sparse_gaussian
from splitmerge_cli.kinds.tables.models.bernoulli import Bernoulli
from splitmerge_cli.kinds.tables.rows import example
from splitmerge_cli.kinds.tokens.emm import EMM
from splitmerge_cli.samplers.gibbs import Gibbs, Neal8
from splitmerge_cli.samplers.lshsm import LSHSM
from splitmerge_cli.samplers.reconfiguration import SRM
from splitmerge_cli.samplers.refresh import Refresh
from splitmerge_cli.samplers.split_merge import RGSM, Dyadic
from splitmerge_cli.samplers.triadic import Triadic
from splitmerge_cli.samplers.wang_russell import RM, SDDS, SS, BirthDeath

POINTS = np.random.default_rng(9).normal(0.0, 2.0, size=(60, 2))
CLOUD = np.random.default_rng(10).normal(1.0, 1.5, size=(60, 3))
THINNED = csr_array(CLOUD * (np.random.default_rng(12).random(CLOUD.shape) < 0.6))

SAMPLERS = {
    "gibbs": (Gibbs, {}),
    "gibbs-site": (Gibbs, {"scan": "site"}),
    "birth_death": (BirthDeath, {}),
    "rm-cut": (RM, {"redistribution": "cut"}),
    "rm-coin": (RM, {"redistribution": "coin"}),
    "rgsm-0": (RGSM, {"t": 0}),
    "rgsm-1": (RGSM, {"t": 1}),
    "ss": (SS, {}),
    "sdds": (SDDS, {}),
    "ssdm": (SDDS, {"kernel": "ssdm"}),
    "smds": (SDDS, {"kernel": "smds"}),
    "dyadic-random": (Dyadic, {"allocation": "random"}),
    "dyadic-gibbs": (Dyadic, {"allocation": "gibbs", "t": 1}),
    "sams": (Dyadic, {"allocation": "sams"}),
    "triadic": (Triadic, {"beta": 0.3}),
    "triadic-random": (Triadic, {"beta": 0.3, "allocation": "random"}),
    "triadic-ordered": (Triadic, {"beta": 0.6, "form": "ordered"}),
    "neal8": (Neal8, {"m": 2, "scan": "site"}),
    "srm": (SRM, {}),
    "lshsm": (LSHSM, {"bits": 2, "tables": 3}),
    "lshsm-paired": (LSHSM, {"proposal": "paired", "bits": 2, "tables": 3}),
    "lshsm-sums": (LSHSM, {"proposal": "sums", "bits": 2, "tables": 3}),
    "lshsm-as_printed": (LSHSM, {"proposal": "sums", "mode": "as_printed", "bits": 2, "tables": 3}),
    "lshsm-union": (LSHSM, {"proposal": "sums", "reading": "union", "bits": 2, "tables": 3}),
}


TOKENS = np.random.default_rng(7).integers(4, size=60).astype(np.int32)
NETWORK = np.triu(np.random.default_rng(11).random((60, 60)) < 0.2, 1)
ROWS = np.random.default_rng(8).integers(2, size=(60, 7)).astype(np.uint8)


def table(rng, N, types, missing=0.15):
    """Table with columns of these types, from two components, one column alike in both; NaN where a cell is missing."""
    half = np.arange(N) % 2
    make = {
        "binary": lambda: rng.random(N) < 0.2 + 0.5 * half,
        "categorical": lambda: (rng.integers(4, size=N) + half) % 4,
        "count": lambda: rng.poisson(2.0 + 4.0 * half),
        "real": lambda: rng.normal(2.0 * half, 1.5),
    }
    x = np.column_stack([make[kind]() for kind in types]).astype(float)
    x[rng.random(x.shape) < missing] = np.nan
    return x


TYPES = ("real", "binary", "count", "categorical", "real", "binary", "categorical", "count")
TABLE = table(np.random.default_rng(13), 60, TYPES)
TABLE[:, 4] = np.random.default_rng(14).normal(size=60)
TABLE[:, 5] = ROWS[:, 0]
TABLE[7] = np.nan
COMPLETE = table(np.random.default_rng(15), 60, TYPES, 0.0)
MIXED = {"alpha": 0.7, "beta1": 0.4, "beta0": 0.6, "shape": 1.3, "rate": [0.4, 0.9], "kappa0": 0.3, "a0": 1.5}

MODELS = {
    "emm": lambda: EMM(TOKENS, n_tokens=5, alpha=0.3, mu=1.0, sigma=0.8, kmax=12),
    "bernoulli": lambda: Bernoulli(ROWS, concentration=1.7, beta1=0.4, beta0=0.7),
    "irm": lambda: IRM((NETWORK | NETWORK.T).astype(np.uint8), concentration=1.4, beta1=0.6, beta0=1.7),
    "lines": lambda: Lines(POINTS, concentration=1.2, sigma0=3.0, sigma1=0.7),
    "lines-nig": lambda: Lines(POINTS, concentration=1.2, sigma0=3.0, sigma1=0.7, noise="nig", a0=1.5),
    "gaussian": lambda: gaussian.Gaussian(CLOUD, concentration=0.8, kappa0=0.3, a0=1.5, b0=[0.5, 1.0, 2.0]),
    "gaussian-iso": lambda: gaussian.Gaussian(CLOUD, covariance="iso", kappa0=0.3, a0=1.5, b0=0.5),
    "gaussian-full": lambda: gaussian.Gaussian(CLOUD, covariance="full", kappa0=0.3, a0=1.5, b0=0.5),
    "sparse-diag": lambda: sparse_gaussian.SparseGaussian(THINNED, kappa0=0.3, a0=1.5, b0=[0.5, 1.0, 2.0]),
    "mixed": lambda: mixed.Mixed(TABLE, TYPES, concentration=0.8, b0=[0.5, 1.0], **MIXED),
    "mixed-complete": lambda: mixed.Mixed(COMPLETE, TYPES, concentration=0.8, **MIXED),
    "sparse-iso": lambda: sparse_gaussian.SparseGaussian(THINNED, covariance="iso", kappa0=0.3, a0=1.5, b0=0.5),
}


def _find_others():
    """Every other model of conf/model, but that of topics, on generated data."""
    here = {type(build()) for build in MODELS.values()}
    for name in choices("model"):
        model = locate(choice("model", name)["_target_"])
        if name not in MODELS and model not in here and not issubclass(model, Weighted):
            yield name, partial(example, name, N=60)


MODELS |= dict(_find_others())


def pairs_or_entropies(estimate, true, loss):
    """Errors of an estimate by the definition of a loss, separations and unions: pairs, or conditional entropies."""
    n = len(true)
    if loss == "binder":
        pairs = list(itertools.combinations(range(n), 2))
        apart = sum(true[i] == true[j] and estimate[i] != estimate[j] for i, j in pairs)
        joined = sum(true[i] != true[j] and estimate[i] == estimate[j] for i, j in pairs)
        return apart / len(pairs), joined / len(pairs)

    def conditional(of, given):
        joint = np.zeros((n, n))
        np.add.at(joint, (of, given), 1 / n)
        held = np.broadcast_to(joint.sum(axis=0), joint.shape)
        filled = joint > 0
        return -(joint[filled] * np.log(joint[filled] / held[filled])).sum()

    return conditional(estimate, true), conditional(true, estimate)


def noisy(n, clusters, draws, seed, noise=0.2):
    """Partitions near a true one: [draws, n], and the true one."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(clusters, size=n)
    stray = rng.random((draws, n)) < noise
    return np.where(stray, rng.integers(clusters, size=(draws, n)), truth), truth


def partitions_of(n):
    """All partitions of `n` items, numbered by first appearance: [B_n, n]."""
    rows = [[0]]
    for _ in range(n - 1):
        rows = [[*row, k] for row in rows for k in range(max(row) + 2)]
    return np.array(rows)


def check_walk_weights(model, rtol=1e-9):
    """Check the weights that a reconfiguration needs: of an item that is not placed, and of one that may stay or go
    to one of two clusters."""
    labels = model.labels
    for i in range(0, model.N, 3):
        if np.sum(labels == labels[i]) > 1:
            scores.agree(*pieces.scan_unplaced(model, i), rtol)
        others = [k for k in range(labels.max() + 1) if k != labels[i]][:2]
        linear, logarithm = pieces.choice(model, i, np.array([labels[i], *others], dtype=np.int32))
        np.testing.assert_allclose(linear / linear[0], np.exp(logarithm - logarithm[0]), rtol=rtol, atol=1e-300)


def usual_chain(model, seed, **options):
    """A chain that splits and merges, scans, and resamples what the state has beside the partition, if anything."""
    rng = Rng(seed)
    samplers = [Dyadic(model, rng), Gibbs(model, rng), *([Refresh(model, rng)] if model.refreshes else [])]
    return Chain(model, rng, samplers, **options)


def check_resumption(make, before=50, after=100, recorded=()):
    """Check that a chain of `make` that is taken up from its state elsewhere goes on to record the same, to the bit;
    `recorded` are columns that must be among it. Return both chains."""
    first, second = make(), make()
    first.advance(before)
    state = first.state
    expected = first.advance(after)
    second.state = state
    got = second.advance(after)
    assert {"log_joint", "log_lik", "K", *recorded} <= expected.keys() == got.keys()
    for key in expected.keys() - {"seconds"}:
        np.testing.assert_array_equal(got[key], expected[key], err_msg=key)
    assert all(np.isfinite(got[key]).all() for key in ("log_joint", *recorded))
    return first, second
