"""Replay for the samplers of van Rossum et al. 2018: dyadic, triadic, algorithm 8 and the refreshing steps on every
model, the earlier samplers on lines and Gaussians.

Compared after every move: labels, K, log ratio, the clusters' parameters, the concentration (see replaying.py).
"""

from __future__ import annotations

import numpy as np
import pytest
import reference
import reference_triadic
from enumerated import remembering
from often import often
from plain import EMM, Bernoulli
from plain_continuous import CandidateLines, Gaussian, KeptLines, Lines
from replaying import Pair, check_counts, check_ratio, config_text, has_ratio, replay
from tables import mixed_models

from splitmerge_cli.core.chain import Chain
from splitmerge_cli.models import bernoulli as compiled_bernoulli
from splitmerge_cli.models import emm as compiled_emm
from splitmerge_cli.models import gaussian as compiled_gaussian
from splitmerge_cli.models import lines as compiled_lines
from splitmerge_cli.samplers import birth_death, dyadic, gibbs, neal8, refresh, rgsm, rm, sdds, ss, triadic

DATA = np.random.default_rng(20190128)

N = 11
TOKENS = DATA.integers(0, 4, size=N)
BITS = DATA.integers(0, 2, size=(N, 4))
VECTORS = DATA.normal(size=(N, 3)) + np.repeat([[0.0], [2.0]], [5, N - 5], axis=0)
ABSCISSAE = DATA.uniform(-10, 10, size=N)
POINTS = np.column_stack([ABSCISSAE, np.where(np.arange(N) % 2, 1 + 0.7 * ABSCISSAE, 3 - ABSCISSAE)])
POINTS[:, 1] += DATA.normal(scale=0.8, size=N)
CANDIDATES = [[1.0, 0.7], [3.0, -1.0], [0.0, 0.0], [-2.0, 0.4]]


MANY = 30
MANY_VECTORS = DATA.normal(size=(MANY, 5)) + np.repeat(DATA.normal(scale=4, size=(3, 5)), MANY // 3, axis=0)
MANY_POINTS = np.column_stack([DATA.uniform(-10, 10, size=MANY), DATA.normal(scale=5, size=MANY)])
MANY_POINTS[::2, 1] = 2 - 0.5 * MANY_POINTS[::2, 0] + DATA.normal(scale=0.2, size=MANY // 2)


def emm(**params):
    params = {"n_tokens": 5, "alpha": 0.6, "mu": 1.2, "sigma": 0.9, "kmax": 6, **params}
    return compiled_emm.EMM(TOKENS.astype(np.int32), **params), remembering(EMM(TOKENS, **params))


def bernoulli(concentration=1.4, **params):
    params = {"beta1": 0.3, "beta0": 0.5, **params}
    compiled = compiled_bernoulli.Bernoulli(BITS.astype(np.uint8), concentration=config_text(concentration), **params)
    return compiled, remembering(Bernoulli(BITS, concentration, **params))


def gaussian(covariance, concentration=1.1, x=VECTORS, **params):
    params = {"covariance": covariance, "m0": 0.4, "kappa0": 0.2, "a0": 1.7, "b0": 0.6, **params}
    given = params | {key: config_text(params[key]) for key in ("kappa0", "b0")}
    compiled = compiled_gaussian.Gaussian(x, concentration=config_text(concentration), **given)
    plain = Gaussian(x, concentration, **params)
    # what is remembered of clusters holds for fixed scales
    return compiled, plain if plain.resampled_values else remembering(plain)


def lines(concentration=0.9, x=POINTS, **params):
    params = {"sigma0": 4.0, "sigma1": 0.9, "a0": 2.5, **params}
    compiled = compiled_lines.Lines(x, concentration=config_text(concentration), **params)
    return compiled, remembering(Lines(x, concentration, **params))


def kept_models(concentration=0.9, plain=KeptLines, x=POINTS, **params):
    params = {"sigma0": 2.0, "sigma1": 1.5, "a0": 2.5, **params}
    compiled = compiled_lines.Lines(x, concentration=config_text(concentration), conjugate=False, **params)
    return compiled, plain(x, concentration, **params)


CONTINUOUS = {
    "lines-known": lines,
    "lines-nig": lambda: lines(noise="nig"),
    "lines-uniform": lambda: lines(prior="uniform"),
    "gaussian-diag": lambda: gaussian("diag", m0=[0.4, 1.0, -0.3], b0=[0.6, 0.2, 1.4]),
    "gaussian-iso": lambda: gaussian("iso"),
    "gaussian-full": lambda: gaussian("full", b0=[0.6, 0.2, 1.4]),
    "gaussian-uniform": lambda: gaussian("full", x=VECTORS[:, :1], prior="uniform"),
}
TABLES = {
    "mixed": mixed_models,
    "mixed-uniform": lambda: mixed_models(prior="uniform"),
}
DISCRETE = {
    "emm": emm,
    "crp": bernoulli,
    "uniform": lambda: bernoulli(prior="uniform"),
}
KEPT = {
    "kept-known": kept_models,
    "kept-nig": lambda: kept_models(noise="nig"),
    "kept-uniform": lambda: kept_models(noise="nig", prior="uniform"),
    "candidates": lambda: kept_models(plain=CandidateLines, candidates=CANDIDATES, sigma1=3.0),
}
REFRESHED = {
    "kept-known-metropolis": lambda: kept_models(refresh="metropolis", steps=3),
    "kept-nig-metropolis": lambda: kept_models(noise="nig", refresh="metropolis", steps=2),
    "candidates-metropolis": lambda: kept_models(
        plain=CandidateLines, candidates=CANDIDATES, sigma1=3.0, refresh="metropolis", steps=2
    ),
    "kept-gamma": lambda: kept_models((2.0, 1.5), noise="nig"),
}
RANDOM_CONCENTRATION = {
    "crp-gamma": lambda: bernoulli((1.5, 0.8)),
    "gaussian-gamma": lambda: gaussian("diag", (0.4, 0.3)),
    "lines-gamma": lambda: lines((3.0, 2.0), noise="nig"),
    "mixed-gamma": lambda: mixed_models((2.0, 1.5)),
}
RANDOM_SCALES = {
    "gaussian-diag-b0": lambda: gaussian("diag", b0=(1.4, 3.0)),
    "gaussian-diag-both": lambda: gaussian("diag", (0.4, 0.3), b0=(1.4, 3.0), kappa0=(2.0, 5.0)),
    "gaussian-iso-kappa0": lambda: gaussian("iso", kappa0=(2.0, 5.0)),
    "gaussian-iso-both": lambda: gaussian("iso", b0=(1.4, 3.0), kappa0=(2.0, 5.0)),
    "gaussian-full-b0": lambda: gaussian("full", b0=(1.4, 3.0)),
    "gaussian-full-both": lambda: gaussian("full", b0=(1.4, 3.0), kappa0=(2.0, 5.0), prior="uniform"),
}
WIDE = {
    "lines-known": lambda: lines(8.0, MANY_POINTS, sigma1=0.3),
    "lines-nig": lambda: lines(8.0, MANY_POINTS, sigma1=0.3, noise="nig"),
    "kept-known": lambda: kept_models(8.0, x=MANY_POINTS, sigma1=0.7),
    "kept-nig": lambda: kept_models(8.0, x=MANY_POINTS, noise="nig"),
    "gaussian-diag": lambda: gaussian("diag", 8.0, MANY_VECTORS),
    "gaussian-iso": lambda: gaussian("iso", 8.0, MANY_VECTORS),
    "gaussian-full": lambda: gaussian("full", 8.0, MANY_VECTORS),
    "mixed": lambda: mixed_models(8.0, MANY),
}
MODELS = CONTINUOUS | DISCRETE | TABLES | KEPT | REFRESHED | RANDOM_CONCENTRATION | RANDOM_SCALES

EARLIER = {
    "gibbs-full": (gibbs.Gibbs, reference.Gibbs, {"scan": "full"}),
    "gibbs-site": (gibbs.Gibbs, reference.Gibbs, {"scan": "site"}),
    "sdds": (sdds.SDDS, reference.SDDS, {"kernel": "both"}),
    "ss": (ss.SS, reference.SS, {}),
    "rm-cut": (rm.RM, reference.RM, {"redistribution": "cut"}),
    "rgsm-1-2": (rgsm.RGSM, reference.RGSM, {"t": 1, "r": 2}),
    "birth_death": (birth_death.BirthDeath, reference.BirthDeath, {}),
}
DYADIC = {
    f"dyadic-{allocation}": (dyadic.Dyadic, reference_triadic.Dyadic, {"allocation": allocation})
    for allocation in ("random", "sams")
}
DYADIC["dyadic-gibbs"] = dyadic.Dyadic, reference_triadic.Dyadic, {"allocation": "gibbs", "t": 2}
TRIADIC = {
    f"triadic-{form}-{allocation}": (
        triadic.Triadic,
        reference_triadic.Triadic,
        {"form": form, "allocation": allocation, "beta": 0.4},
    )
    for form in ("symmetrised", "ordered")
    for allocation in ("random", "sams")
}
AS_PRINTED = {
    "dyadic-sams": (*DYADIC["dyadic-sams"][:2], {"allocation": "sams", "q_ratio": "formula"}),
    "dyadic-gibbs-one": (*DYADIC["dyadic-gibbs"][:2], {"allocation": "gibbs", "q_ratio": "one"}),
    "triadic": (triadic.Triadic, reference_triadic.Triadic, {}),
    "triadic-random": (
        triadic.Triadic,
        reference_triadic.Triadic,
        {"form": "ordered", "allocation": "random", "redraw": False, "beta": 0.4},
    ),
    "triadic-one": (triadic.Triadic, reference_triadic.Triadic, {"q_ratio": "one", "redraw": False, "beta": 0.4}),
}
NEAL8 = {
    "neal8": (neal8.Neal8, reference_triadic.Neal8, {"m": 3}),
    "neal8-1": (neal8.Neal8, reference_triadic.Neal8, {"m": 1}),
    "neal8-site": (neal8.Neal8, reference_triadic.Neal8, {"m": 2, "scan": "site"}),
}
REFRESH = refresh.Refresh, reference_triadic.Refresh, {}


@pytest.mark.parametrize("model", MODELS)
def test_log_joint(model):
    """The log joint of mixtures is complete: no constant is left out."""
    pair = Pair(MODELS[model](), 3)
    clusters, plain = pair.state.clusters, pair.state.model
    assert pair.model.log_lik_total() == pytest.approx(sum(plain.log_g(c) for c in clusters), abs=1e-10)
    if not plain.allows_empty:
        assert pair.model.log_joint() == pytest.approx(plain.log_joint(clusters), abs=1e-10)


@pytest.mark.parametrize("covariance", ["diag", "iso", "full"])
def test_default_prior_of_gaussians(covariance):
    """Centred on the data, with a tenth of their variance."""
    b0 = VECTORS.var(axis=0) / 10
    prior = VECTORS.mean(axis=0), 0.1, 2.0, b0.mean() if covariance == "iso" else b0
    pair = Pair(
        (compiled_gaussian.Gaussian(VECTORS, covariance=covariance), Gaussian(VECTORS, 1.0, covariance, *prior)), 1
    )
    assert pair.start[0] == pytest.approx(pair.start[1], abs=1e-10)


@pytest.mark.parametrize("model", CONTINUOUS)
@pytest.mark.parametrize("name", EARLIER)
def test_earlier_samplers_on_continuous_models(name, model):
    replay(Pair(CONTINUOUS[model](), 1), EARLIER[name], "exact", 15 if name == "gibbs-full" else 100)


@pytest.mark.parametrize("seed", often([1, 2], [1]))
@pytest.mark.parametrize("model", CONTINUOUS | DISCRETE | TABLES | KEPT)
@pytest.mark.parametrize("name", DYADIC | TRIADIC)
def test_split_and_merge(name, model, seed):
    replay(Pair(MODELS[model](), seed), (DYADIC | TRIADIC)[name], "exact", 120)


@pytest.mark.parametrize(
    ("name", "model"),
    [("gibbs-full", model) for model in WIDE if model not in KEPT]
    + [("sdds", model) for model in WIDE if model not in KEPT]
    + [(name, model) for name in ("dyadic-sams", "triadic-symmetrised-sams", "neal8") for model in WIDE],
)
def test_many_clusters(name, model):
    """From singletons, with more clusters than the compiled code takes at once."""
    entry = (EARLIER | DYADIC | TRIADIC | NEAL8)[name]
    replay(Pair(WIDE[model](), 1, list(range(MANY)), MANY), entry, "exact", 40 if has_ratio(entry) else 3)


@pytest.mark.parametrize("model", ["lines-known", "gaussian-full", "emm", "crp", "kept-nig", "candidates"])
@pytest.mark.parametrize("name", AS_PRINTED)
def test_as_printed_split_and_merge(name, model):
    """`form` plays no part: the paper fixes k."""
    replay(Pair(MODELS[model](), 3), AS_PRINTED[name], "as_printed", 100)


@pytest.mark.parametrize("model", KEPT | {"crp": bernoulli, "lines-nig": None, "mixed": None})
@pytest.mark.parametrize("name", NEAL8)
def test_neal8(name, model):
    replay(Pair(MODELS[model](), 4), NEAL8[name], "exact", 100 if name == "neal8-site" else 10)


@pytest.mark.parametrize("model", KEPT | REFRESHED | RANDOM_CONCENTRATION | RANDOM_SCALES)
def test_refresh(model):
    replay(Pair(MODELS[model](), 5), REFRESH, "exact", 15)


@pytest.mark.parametrize("model", KEPT | REFRESHED | RANDOM_CONCENTRATION | RANDOM_SCALES)
@pytest.mark.parametrize("name", ["dyadic-sams", "triadic-symmetrised-sams"])
def test_schedule_of_move_scan_and_refresh(name, model):
    """One iteration of `sweep`, driven by the compiled loop."""
    pair = Pair(MODELS[model](), 6)
    (compiled, ref), (scan, ref_scan), (refreshed, ref_refresh) = (
        pair.sampler(entry) for entry in ((DYADIC | TRIADIC)[name], NEAL8["neal8"], REFRESH)
    )
    steps = [compiled, scan, refreshed]
    chain = Chain(pair.model, pair.rng, steps)
    for step in range(8):
        chain.advance(1)
        for plain_step in (ref, ref_scan, ref_refresh):
            plain_step.step()
        check_ratio(compiled, ref, step)
        pair.check_state(step)
    check_counts(compiled, ref)
    pair.check_end()


@pytest.mark.parametrize("labels", [[0], [0, 0], [0, 1], [0, 0, 0], [0, 1, 0], [0, 1, 2]], ids=str)
@pytest.mark.parametrize("name", ["dyadic-gibbs", "dyadic-sams", *TRIADIC, "neal8"])
def test_one_two_and_three_items(name, labels):
    """The smallest states: no pair, no triple, no members."""
    n, K = len(labels), max(labels) + 1
    entry = (DYADIC | TRIADIC | NEAL8)[name]
    x, params = POINTS[:n], {"sigma0": 2.0, "sigma1": 1.5}
    for plain, conjugate in ((Lines, True), (KeptLines, False)):
        compiled = compiled_lines.Lines(x, concentration=0.9, conjugate=conjugate, **params)
        replay(Pair((compiled, plain(x, 0.9, **params)), 1, labels, K), entry, "exact", 30)
    if has_ratio(entry):
        replay(Pair((compiled, plain(x, 0.9, **params)), 1, labels, K), entry, "as_printed", 30)


@pytest.mark.parametrize("name", DYADIC | TRIADIC)
@pytest.mark.parametrize("kmax", [1, 2, 3])
def test_no_room_for_a_split(name, kmax):
    labels = [k % kmax for k in range(N)]
    replay(Pair(emm(kmax=kmax), 1, labels, kmax), (DYADIC | TRIADIC)[name], "exact", 60)
