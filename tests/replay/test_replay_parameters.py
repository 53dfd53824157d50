"""Replay where a state holds more than a partition, drawn from a continuum: parameters of clusters, scales of their
prior, a concentration. Refreshing steps, algorithm 8 and split-merge, compared after every move: labels, K, log ratio,
parameters, concentration (see replaying.py).
"""

from __future__ import annotations

import numpy as np
import pytest
import reference
import reference_refresh
from enumerated import remembering
from plain_continuous import CandidateLines, Gaussian, KeptLines, Lines
from replaying import Pair, check_counts, check_ratio, config_text, replay

from splitmerge_cli.core.chain import Chain
from splitmerge_cli.kinds.lines import model as compiled_lines
from splitmerge_cli.kinds.tables.models import gaussian as compiled_gaussian
from splitmerge_cli.samplers import dyadic, gibbs, neal8, refresh

DATA = np.random.default_rng(20190128)

N = 11
VECTORS = DATA.normal(size=(N, 3)) + np.repeat([[0.0], [2.0]], [5, N - 5], axis=0)
ABSCISSAE = DATA.uniform(-10, 10, size=N)
POINTS = np.column_stack([ABSCISSAE, np.where(np.arange(N) % 2, 1 + 0.7 * ABSCISSAE, 3 - ABSCISSAE)])
POINTS[:, 1] += DATA.normal(scale=0.8, size=N)
CANDIDATES = [[1.0, 0.7], [3.0, -1.0], [0.0, 0.0], [-2.0, 0.4]]


MANY = 30
MANY_VECTORS = DATA.normal(size=(MANY, 5)) + np.repeat(DATA.normal(scale=4, size=(3, 5)), MANY // 3, axis=0)
MANY_POINTS = np.column_stack([DATA.uniform(-10, 10, size=MANY), DATA.normal(scale=5, size=MANY)])
MANY_POINTS[::2, 1] = 2 - 0.5 * MANY_POINTS[::2, 0] + DATA.normal(scale=0.2, size=MANY // 2)


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


KEPT = {
    "kept-known": kept_models,
    "kept-nig": lambda: kept_models(noise="nig"),
    "kept-uniform": lambda: kept_models(noise="nig", prior="uniform"),
    "candidates": lambda: kept_models(plain=CandidateLines, candidates=CANDIDATES, sigma1=3.0),
    "kept-known-metropolis": lambda: kept_models(refresh="metropolis", steps=3),
    "kept-nig-metropolis": lambda: kept_models(noise="nig", refresh="metropolis", steps=2),
    "candidates-metropolis": lambda: kept_models(
        plain=CandidateLines, candidates=CANDIDATES, sigma1=3.0, refresh="metropolis", steps=2
    ),
    "kept-gamma": lambda: kept_models((2.0, 1.5), noise="nig"),
}
RESAMPLED = {
    "gaussian-gamma": lambda: gaussian("diag", (0.4, 0.3)),
    "lines-gamma": lambda: lines((3.0, 2.0), noise="nig"),
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
}
MODELS = KEPT | RESAMPLED
MOVES = {
    f"dyadic-{allocation}": (dyadic.Dyadic, reference.Dyadic, {"allocation": allocation})
    for allocation in ("random", "sams")
}
MOVES["dyadic-gibbs"] = dyadic.Dyadic, reference.Dyadic, {"allocation": "gibbs", "t": 2}
SCANS = {
    "neal8": (neal8.Neal8, reference.Neal8, {"m": 3}),
    "neal8-1": (neal8.Neal8, reference.Neal8, {"m": 1}),
    "neal8-site": (neal8.Neal8, reference.Neal8, {"m": 2, "scan": "site"}),
}
REFRESH = refresh.Refresh, reference_refresh.Refresh, {}


@pytest.mark.parametrize("model", MODELS)
def test_log_joint(model):
    """The log joint is complete: no constant is left out."""
    pair = Pair(MODELS[model](), 3)
    clusters, plain = pair.state.clusters, pair.state.model
    assert pair.model.log_lik_total() == pytest.approx(sum(plain.log_g(c) for c in clusters), abs=1e-10)
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


@pytest.mark.parametrize("model", KEPT)
@pytest.mark.parametrize("name", MOVES)
def test_split_and_merge(name, model):
    replay(Pair(MODELS[model](), 1), MOVES[name], "exact", 120)


@pytest.mark.parametrize("model", KEPT)
@pytest.mark.parametrize("name", SCANS)
def test_neal8(name, model):
    replay(Pair(MODELS[model](), 4), SCANS[name], "exact", 100 if name == "neal8-site" else 10)


@pytest.mark.parametrize("model", WIDE)
@pytest.mark.parametrize("name", ["full", "site", "dyadic-sams"])
def test_many_clusters(name, model):
    """From singletons, with more clusters than the compiled code takes at once."""
    entry = MOVES.get(name) or (neal8.Neal8 if "kept" in model else gibbs.Gibbs, reference.Neal8, {"scan": name})
    pair = Pair(WIDE[model](), 1, list(range(MANY)), MANY)
    replay(pair, entry, "exact", 3 if name == "full" else 40)


@pytest.mark.parametrize("model", MODELS)
def test_refresh(model):
    replay(Pair(MODELS[model](), 5), REFRESH, "exact", 15)


@pytest.mark.parametrize("model", MODELS)
def test_schedule_of_move_scan_and_refresh(model):
    """One iteration of `sweep`, driven by the compiled loop."""
    pair = Pair(MODELS[model](), 6)
    (compiled, ref), (scan, ref_scan), (refreshed, ref_refresh) = (
        pair.sampler(entry) for entry in (MOVES["dyadic-sams"], SCANS["neal8"], REFRESH)
    )
    chain = Chain(pair.model, pair.rng, [compiled, scan, refreshed])
    for step in range(8):
        chain.advance(1)
        for plain_step in (ref, ref_scan, ref_refresh):
            plain_step.step()
        check_ratio(compiled, ref, step)
        pair.check_state(step)
    check_counts(compiled, ref)
    pair.check_end()


@pytest.mark.parametrize("labels", [[0], [0, 0], [0, 1], [0, 1, 0]], ids=str)
@pytest.mark.parametrize("name", [*MOVES, "neal8"])
def test_one_two_and_three_items(name, labels):
    """The smallest states: no pair, no members."""
    K, x = max(labels) + 1, POINTS[: len(labels)]
    params = {"sigma0": 2.0, "sigma1": 1.5}
    compiled = compiled_lines.Lines(x, concentration=0.9, conjugate=False, **params)
    replay(Pair((compiled, KeptLines(x, 0.9, **params)), 1, labels, K), (MOVES | SCANS)[name], "exact", 30)
