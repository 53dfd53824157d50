"""A power of the likelihood: a cluster's marginal likelihood by quadrature from its definition; every way in which an
item is scored; the reported density. Every sampler alone: `test_transition_matrix`, the cases with `power`.
"""

import numpy as np
import pytest
from compiled import pieces
from scipy import stats
from scipy.special import logsumexp

from splitmerge_cli.api.power import take
from splitmerge_cli.config import specify
from splitmerge_cli.core.chain import Chain
from splitmerge_cli.core.fixed_point import resolution
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.base import Dataset
from splitmerge_cli.models.gaussian import Gaussian
from splitmerge_cli.runs.identity import run_id
from splitmerge_cli.samplers.dyadic import Dyadic
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.verify.cases import sampled_frequencies, small_case
from splitmerge_cli.verify.continuous import gaussian_log_weight
from splitmerge_cli.verify.transitions import total_variation

PRIOR = {"m0": 0.3, "kappa0": 0.4, "a0": 1.5, "b0": 0.2}
ZETA = 0.35
POINTS = np.array([[0.1, 1.3], [0.4, 0.9], [-0.3, 1.1], [2.6, -1.0], [3.1, -0.2], [1.2, 4.0], [1.2, 4.0], [-0.3, 1.1]])
LABELS = np.array([0, 0, 0, 1, 1, 2, 2, 0], dtype=np.int32)
COVARIANCES = ("diag", "iso", "full")
# means and logs of variances, at equal distances
MU = np.linspace(-40.0, 40.0, 4001)
LOG_V = np.linspace(-9.0, 12.0, 241)


def log_integral(cells, zeta, new=()):
    """log integral: prior times densities, that of each cell to the power zeta, those of `new` as they are."""
    terms = []
    for v in np.exp(LOG_V):
        log_f = stats.norm.logpdf(MU, PRIOR["m0"], np.sqrt(v / PRIOR["kappa0"]))
        log_f += zeta * sum(stats.norm.logpdf(cell, MU, np.sqrt(v)) for cell in cells)
        log_f += sum(stats.norm.logpdf(cell, MU, np.sqrt(v)) for cell in new)
        terms.append(logsumexp(log_f) + stats.invgamma.logpdf(v, PRIOR["a0"], scale=PRIOR["b0"]) + np.log(v))
    return logsumexp(terms) + np.log((MU[1] - MU[0]) * (LOG_V[1] - LOG_V[0]))


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_cluster_has_the_integral_of_the_power(covariance):
    cells = [1.0, 1.4, -0.2]
    model = Gaussian(np.array(cells)[:, None], covariance=covariance, power=ZETA, **PRIOR)
    assert model.log_lik_total() == pytest.approx(log_integral(cells, ZETA), abs=1e-5)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_reported_density_is_that_of_a_point_under_the_posterior_with_the_power(covariance):
    cells, new = [1.0, 1.4, -0.2], 2.2
    x = np.array([*cells, new])[:, None]
    model = Gaussian(x, known=3, covariance=covariance, power=ZETA, **PRIOR)
    model.set_labels(np.array([0, 0, 0, 1], dtype=np.int32))
    expected = [log_integral(cells, ZETA, [new]) - log_integral(cells, ZETA), log_integral([], ZETA, [new])]
    np.testing.assert_allclose(model.log_densities(3)[0], expected, atol=1e-5)


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("step", ["none", [0.3, 1.1]])
def test_reported_density_has_its_mass(covariance, step):
    """In two dimensions: over a line the conditional's mass is that of one coordinate, so a sum over a grid."""
    grid = np.linspace(-60, 60, 401)
    new = np.array([(a, b) for a in grid for b in grid])
    options = {"m0": [0.0, 0.0], "kappa0": 2.0, "a0": 4.0, "b0": 3.0}
    model = Gaussian(np.vstack([POINTS, new]), known=8, covariance=covariance, resolution=step, power=ZETA, **options)
    model.set_labels(np.append(np.zeros(8), np.ones(len(new))).astype(np.int32))
    mass = np.exp(model.log_densities(8)).sum(axis=0) * (grid[1] - grid[0]) ** 2
    assert (mass == pytest.approx(1.0, abs=1e-3)) if step == "none" else (mass < 1.0).all()


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("step", [[0.0, 0.0], [0.3, 1.1]])
def test_enumeration_has_the_likelihood_of_the_model(covariance, step):
    model = Gaussian(POINTS, covariance=covariance, resolution=step, prior="uniform", power=ZETA, **PRIOR)
    model.set_labels(LABELS)
    options = (PRIOR[key] for key in ("m0", "kappa0", "a0", "b0"))
    expected = gaussian_log_weight(POINTS, 1.0, "uniform", covariance, *options, step, ZETA)((tuple(LABELS), 3))
    assert model.log_joint() == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("step", ["none", [0.3, 1.1]])
def test_items_are_scored_as_the_likelihood_says(covariance, step):
    model = Gaussian(POINTS, covariance=covariance, resolution=step, power=ZETA)
    model.set_labels(LABELS)
    for i in range(8):
        v, w = pieces.scan(model, i), pieces.scan_by_definition(model, i)
        np.testing.assert_allclose(v / v.sum(), w / w.sum(), rtol=1e-9)
        own, other = int(LABELS[i]), (int(LABELS[i]) + 1) % 3
        for sized in (True, False):
            odds, log_odds = pieces.odds(model, i, own, other, own, sized)
            assert np.log(odds) == pytest.approx(log_odds, abs=1e-9)
    for k in range(3):
        before = pieces.log_lik(model, k)
        expected = pieces.log_pred(model, 5, k)
        pieces.join(model, 5, k)
        assert pieces.log_lik(model, k) - before == pytest.approx(expected, abs=1e-9)
        pieces.leave(model, 5, k)
    # what subcluster draws, in the units of the columns and without the powers of 2 pi, has this mean
    item, widest = np.array([7], dtype=np.int32), np.ptp(POINTS, axis=0) / 2
    units = resolution(widest.max(), 8, 2) if covariance == "iso" else resolution(widest, 8)
    pieces.leave(model, 7, 0)
    drawn = np.exp([pieces.draw_scores(model, Rng(t), item, 0)[0] for t in range(4000)])
    expected = np.exp(pieces.log_pred(model, 7, 0) + ZETA * np.log(2 * np.pi * units**2 * np.ones(2)).sum() / 2)
    pieces.join(model, 7, 0)
    assert abs(drawn.mean() - expected) < 4 * drawn.std() / np.sqrt(len(drawn))


def test_power_1_is_draw_by_draw_the_model():
    chains = []
    for options in ({}, {"power": 1}):
        model = Gaussian(POINTS, covariance="full", **options)
        rng = Rng(3)
        out = Chain(model, rng, [Dyadic(model, rng), Gibbs(model, rng)], partitions=1).advance(100)
        chains.append((out["partition_labels"], out["log_joint"]))
    np.testing.assert_array_equal(chains[0][0], chains[1][0])
    np.testing.assert_array_equal(chains[0][1], chains[1][1])


def test_chain_has_the_posterior_with_the_power_and_not_that_without():
    case = small_case(Gaussian, 4, 2, {"covariance": "iso", "power": 0.3})
    rng = Rng(5)
    samplers = [Dyadic(case.model, rng, allocation="sams"), Gibbs(case.model, rng)]
    frequencies, noise = sampled_frequencies(case, samplers, rng, 30_000)
    assert total_variation(frequencies, case.partitions[1]) < 3 * noise
    without = small_case(Gaussian, 4, 2, {"covariance": "iso"})
    assert total_variation(frequencies, without.partitions[1]) > 6 * noise


def test_a_run_has_the_id_that_it_had_without_the_option():
    given = ["data=gaussian", "N=20", "sampler=sams"]
    before = run_id(specify(given))
    assert run_id(specify([*given, "model.power=1"])) == before
    assert run_id(specify([*given, "model.power=0.5"])) != before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"power": 0.0}, r"model.power=0: expected a number from 1e-06 to 1$"),
        ({"power": 1.5}, r"model.power=1.5: expected a number from 1e-06 to 1$"),
        (
            {"power": 0.5, "b0": "hierarchical"},
            "model.power=0.5: expected 1 where model.b0 or model.kappa0 is resampled",
        ),
        ({"power": 0.5, "covariance": "full", "gap": True}, "model.power=0.5: a cell is missing"),
        ({"power": 0.5, "gap": True}, "model.power=0.5: .*missing"),
    ],
)
def test_messages(options, message):
    points = POINTS.copy()
    if options.pop("gap", False):
        points[2, 1] = np.nan
    with pytest.raises(ValueError, match=message):
        Gaussian.from_data(Dataset("small", "points", points), **options)


@pytest.mark.parametrize(
    ("clusters", "fit", "expected"),
    [
        # levels off at three; among near equals the highest power
        ([5.8, 3.3, 3.1, 2.1, 1.0], [-3.69, -3.757, -3.765, -4.19, -4.92], 1),
        # the model is right: fit and clusters fall together
        ([3.1, 3.0, 2.0, 1.0], [-3.5, -3.5, -4.1, -4.9], 0),
        ([1.0, 1.0, 1.0], [-3.5, -3.6, -3.7], 0),
    ],
)
def test_where_a_calibration_curve_levels_off(clusters, fit, expected):
    assert take(np.array(clusters), np.array(fit)) == expected
