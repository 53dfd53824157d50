"""Real columns that are recorded to a resolution: the likelihood from its definition by quadrature, beside that of the
intervals; every way in which an item is scored; what a resolution is. Every sampler alone: `test_transition_matrix`,
the cases with `resolution`.
"""

from pathlib import Path

import numpy as np
import pytest
import scores
from compiled import pieces
from scipy import stats

from splitmerge_cli.config import specify
from splitmerge_cli.config.composition import specify_stored
from splitmerge_cli.core.chain import Chain
from splitmerge_cli.core.checks import resolution
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.kinds.tables.models import mixed, real_columns
from splitmerge_cli.kinds.tables.models.gaussian import Gaussian
from splitmerge_cli.runs.identity import run_id
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.refresh import Refresh
from splitmerge_cli.samplers.split_merge import Dyadic
from splitmerge_cli.verify import cases, kernel, transitions

PRIOR = {"m0": 0.3, "kappa0": 0.4, "a0": 1.5, "b0": 0.2}
STEP = 0.5
# means and logs of variances
MU = np.linspace(-25.0, 25.0, 4001)
LOG_V = np.linspace(-10.0, 10.0, 101)


def integrate(cells, log_density):
    """Log marginal likelihood of cells, by a grid over mean and variance; `log_density` of (cell, means, variance)."""
    total = []
    for log_v in LOG_V:
        v = np.exp(log_v)
        # the grid follows the width of the prior and of the likelihood
        mu = PRIOR["m0"] + MU * np.sqrt(v)
        log_p = stats.invgamma.logpdf(v, PRIOR["a0"], scale=PRIOR["b0"]) + log_v
        log_p = log_p + stats.norm.logpdf(mu, PRIOR["m0"], np.sqrt(v / PRIOR["kappa0"]))
        log_p = log_p + sum(log_density(cell, mu, v) for cell in cells)
        total.append(np.logaddexp.reduce(log_p) + np.log(np.sqrt(v) * (MU[1] - MU[0])))
    return np.logaddexp.reduce(total) + np.log(LOG_V[1] - LOG_V[0])


def mean_over_interval(cell, mu, v):
    """By Gauss and Legendre, exact for a polynomial of degree 2."""
    nodes = zip(*np.polynomial.legendre.leggauss(3), strict=True)
    return sum(w / 2 * stats.norm.logpdf(cell + STEP / 2 * t, mu, np.sqrt(v)) for t, w in nodes)


def of_interval(cell, mu, v):
    edges = [stats.norm.cdf((cell + side * STEP / 2 - mu) / np.sqrt(v)) for side in (-1, 1)]
    return np.log(np.maximum(edges[1] - edges[0], 1e-300) / STEP)


def log_lik(cells, resolution):
    model = Gaussian(np.array(cells)[:, None], resolution=resolution, **PRIOR)
    return model.log_lik_total()


@pytest.mark.parametrize("cells", [[1.0], [1.0, 1.0, 1.5], [1.0] * 4])
def test_likelihood_is_that_of_its_definition_and_below_that_of_the_intervals(cells):
    found = log_lik(cells, STEP)
    assert found == pytest.approx(integrate(cells, mean_over_interval), abs=1e-5)
    assert found < integrate(cells, of_interval)
    without = integrate(cells, lambda cell, mu, v: stats.norm.logpdf(cell, mu, np.sqrt(v)))
    assert log_lik(cells, "none") == pytest.approx(without, abs=1e-5)


def test_no_cluster_gains_by_standing_on_a_grid():
    """A thousand equal cells: their density grows without bound, their mean log density over the interval stays below
    that of certainty, 1 over its length."""
    cells = [2.0] * 1000
    assert log_lik(cells, "none") > 1000 * np.log(1 / STEP) + 500
    assert log_lik(cells, STEP) < 1000 * np.log(1 / STEP)
    # spread over so many intervals the cells are not worth less by more than they gain alone
    spread = np.repeat([1.0, 1.5, 2.0, 2.5], 250)
    for step, gains in ((STEP, False), ("none", True)):
        split = sum(log_lik([value] * 250, step) for value in np.unique(spread)) - 1000 * np.log(4)
        assert (split > log_lik(spread, step)) == gains


POINTS = np.array([[0.1, 1.3], [0.4, 0.9], [-0.3, 1.1], [2.6, -1.0], [3.1, -0.2], [1.2, 4.0], [1.2, 4.0], [-0.3, 1.1]])
LABELS = np.array([0, 0, 0, 1, 1, 2, 2, 0], dtype=np.int32)
MODELS = [*((Gaussian, {"covariance": covariance}) for covariance in ("diag", "iso", "full"))]
MODELS += [(mixed.Mixed, {}), (mixed.Mixed, {"covariance": "full"})]


def build_model(model, points=POINTS, **options):
    return model(points, **options) if model is Gaussian else model(points, ["real"] * points.shape[1], **options)


GAPS = np.where(POINTS == 0.9, np.nan, POINTS)
READ = [(*one, POINTS) for one in MODELS] + [(*one, GAPS) for one in MODELS[2:]]


@pytest.mark.parametrize(("model", "options", "points"), READ)
@pytest.mark.parametrize("scales", [{}, {"b0": "gamma(1.2,2.5)", "kappa0": "gamma(1.7,3)"}])
def test_items_are_scored_as_the_likelihood_says(model, options, points, scales):
    model = build_model(model, points, resolution=[0.3, 1.1], **options, **scales)
    model.set_labels(LABELS)
    if scales:
        Refresh(model, Rng(4)).step()
    for i in range(8):
        scores.check_scan(model, i)
        scores.check_odds(model, i)


@pytest.mark.parametrize(("model", "options"), MODELS)
def test_predictive_is_the_ratio_of_likelihoods(model, options):
    """That of `log_predictive`, too; and what subcluster draws has it as its mean."""
    model = build_model(model, resolution=[0.3, 1.1], **options)
    model.set_labels(LABELS)
    for k in range(3):
        scores.check_joining(model, 5, k)
    # what is drawn is in the units of the columns, without the powers of 2 pi
    item, widest = np.array([7], dtype=np.int32), np.ptp(POINTS, axis=0) / 2
    units = resolution(widest.max(), 8, 2) if options.get("covariance") == "iso" else resolution(widest, 8)
    pieces.leave(model, 7, 0)
    drawn = np.exp([pieces.draw_scores(model, Rng(t), item, 0)[0] for t in range(4000)])
    expected = np.exp(pieces.log_pred(model, 7, 0) + np.log(2 * np.pi * units**2 * np.ones(2)).sum() / 2)
    pieces.join(model, 7, 0)
    assert abs(drawn.mean() - expected) < 4 * drawn.std() / np.sqrt(len(drawn))


@pytest.mark.parametrize("covariance", ["diag", "iso", "full"])
def test_joint_chain_has_the_posterior(covariance):
    """Enumerated, scales integrated out over a grid; and far from that without the resolution."""
    params = {"covariance": covariance, "b0": "gamma(0.7,1)", "resolution": 1.6}
    case = cases.small_case(Gaussian, 4, 2, params)
    rng = Rng(5)
    samplers = [Dyadic(case.model, rng, allocation="sams"), Gibbs(case.model, rng), Refresh(case.model, rng)]
    frequencies, noise = kernel.sampled_frequencies(case, samplers, rng, 60_000)
    assert transitions.total_variation(frequencies, case.partitions[1]) < 3 * noise
    without = cases.small_case(Gaussian, 4, 2, params | {"resolution": "none"})
    assert transitions.total_variation(frequencies, without.partitions[1]) > 6 * noise


@pytest.mark.parametrize(("model", "options"), MODELS)
def test_columns_without_ties_keep_their_chain(model, options):
    points = np.random.default_rng(3).normal(size=(30, 2))
    labels = []
    for step in ("auto", "none"):
        chain_model = build_model(model, points, resolution=step, b0="hierarchical", **options)
        rng = Rng(3)
        samplers = [Dyadic(chain_model, rng), Gibbs(chain_model, rng), Refresh(chain_model, rng)]
        out = Chain(chain_model, rng, samplers, partitions=1).advance(100)
        labels.append((out["partition_labels"], out["log_joint"]))
    np.testing.assert_array_equal(labels[0][0], labels[1][0])
    np.testing.assert_array_equal(labels[0][1], labels[1][1])


@pytest.mark.parametrize(
    ("column", "step"),
    [
        ([5.1, 4.9, 4.7, 5.1, 4.9, 6.05], 0.2),
        ([0.31, 0.12, 0.73, 0.5], 0.0),
        # one number in all cells: its last digit
        ([3.0] * 9, 1.0),
        ([0.1 + 0.2] * 9, 0.1),
        ([-12.25, np.nan, -12.25, -12.25], 0.01),
        # one value that occurs often: to the nearest
        ([0.0, 0.0, 0.0, 0.21, 0.4, np.nan], 0.21),
        # one cell that was typed with more digits, and rounding errors
        ([0.1 + 0.2, 0.3, 0.4, 0.4, 0.5, 0.5, 0.50001], 0.1),
        ([2007, 2008, 2009] * 5, 1.0),
        # ties one apart: half of the cells are on that grid, or a third, which are too few
        ([0, 0, 1, 1, 2.3, 3.55, 4.27, 5.71], 1.0),
        ([0, 0, 1, 1, 2.3, 3.55, 4.27, 5.71, 6.13, 7.83, 8.37, 9.91], 0.42),
    ],
)
def test_what_a_resolution_is(column, step):
    assert real_columns.find_resolution(column) == pytest.approx(step)


def test_messages():
    with pytest.raises(ValueError, match=r"model.resolution: expected a number, or one for each of 2 columns, got \[1"):
        Gaussian(POINTS, resolution=[1.0])
    with pytest.raises(ValueError, match=r"model.resolution=some: expected auto, none, or a number"):
        Gaussian(POINTS, resolution="some")


def test_a_run_that_was_stored_without_the_option_keeps_its_id():
    spec = specify(["data=gaussian", "model=gaussian"])
    model = {key: value for key, value in spec.values["model"].items() if key != "resolution"}
    stored = specify_stored({**spec.values, "model": model}, Path("config.yaml"))
    assert run_id(stored) == run_id(spec) and stored.values["model"]["resolution"] == "auto"
