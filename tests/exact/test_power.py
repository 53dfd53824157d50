"""A power of the likelihood: a cluster's marginal likelihood by quadrature from its definition; every way in which an
item is scored; the reported density; scales that are resampled. Every sampler alone: `test_transition_matrix`, the
cases with `power`.
"""

import numpy as np
import pytest
import scores
from compiled import pieces
from scipy import stats
from scipy.integrate import dblquad, quad
from scipy.special import logsumexp
from small_cases import usual_chain

from splitmerge_cli.core.checks import resolution
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.kinds.tables.choice import take
from splitmerge_cli.kinds.tables.models.bernoulli import Bernoulli
from splitmerge_cli.kinds.tables.models.gamma_poisson import GammaPoisson
from splitmerge_cli.kinds.tables.models.gaussian import Gaussian
from splitmerge_cli.kinds.tables.models.mixed import Mixed
from splitmerge_cli.kinds.tables.models.multinomial import Multinomial
from splitmerge_cli.samplers.refresh import Refresh
from splitmerge_cli.verify.continuous import gaussian_log_weight

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


def check_scores(model):
    """Every way in which an item of a model with labels is scored is that of the clusters' likelihoods."""
    for i in range(model.N):
        scores.check_scan(model, i)
        scores.check_odds(model, i)
    for k in range(model.K):
        scores.check_joining(model, 5, k)
    union = pieces.log_union(model, 0, 1)
    labels = model.labels
    model.set_labels(np.where(labels == 1, 0, np.minimum(labels, 1)).astype(np.int32))
    assert pieces.log_lik(model, 0) == pytest.approx(union, abs=1e-9)
    model.set_labels(labels)


def check_drawn(model, i, constant):
    """The density of item i to the power has the mean of log_pred, but for the log of a constant, over draws of the
    parameters of its cluster."""
    k = int(model.labels[i])
    pieces.leave(model, i, k)
    drawn = np.exp([pieces.draw_scores(model, Rng(t), np.array([i], dtype=np.int32), k)[0] for t in range(4000)])
    expected = np.exp(pieces.log_pred(model, i, k) + constant)
    pieces.join(model, i, k)
    assert abs(drawn.mean() - expected) < 4 * drawn.std() / np.sqrt(len(drawn))


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("step", ["none", [0.3, 1.1]])
def test_items_are_scored_as_the_likelihood_says(covariance, step):
    model = Gaussian(POINTS, covariance=covariance, resolution=step, power=ZETA)
    model.set_labels(LABELS)
    check_scores(model)
    # what subcluster draws, in the units of the columns and without the powers of 2 pi, has this mean
    widest = np.ptp(POINTS, axis=0) / 2
    units = resolution(widest.max(), 8, 2) if covariance == "iso" else resolution(widest, 8)
    check_drawn(model, 7, ZETA * np.log(2 * np.pi * units**2 * np.ones(2)).sum() / 2)


THIRDS = np.full(3, 1 / 3)


def of_one_column(type, cells, **options):
    return Mixed(np.array(cells, dtype=float)[:, None], (type,), 3, power=ZETA, **options)


def log_beta(cells, zeta, new=()):
    """log integral over a probability with the prior Beta(1.3, 0.7), powers as in `log_integral`."""
    ones, zeros = zeta * sum(cells) + sum(new), zeta * (len(cells) - sum(cells)) + len(new) - sum(new)
    # the prior's pole at 1 is a weight of the quadrature; at 1/2 that weight is 1
    part = quad(lambda p: p**ones * (1 - p) ** zeros, 0, 1, weight="alg", wvar=(0.3, -0.3))[0]
    return np.log(part) + stats.beta.logpdf(0.5, 1.3, 0.7)


def log_dirichlet(rows, zeta, new=()):
    """log integral over probabilities of three levels with the prior Dirichlet(1.5, 1.5, 1.5); rows of counts."""
    a, b, c = 0.5 + sum((zeta * np.asarray(row) for row in rows), np.zeros(3)) + sum(map(np.asarray, new), np.zeros(3))
    inside = dblquad(lambda q, p: p**a * q**b * max(1 - p - q, 0) ** c, 0, 1, 0, lambda p: 1 - p)[0]
    return np.log(inside) + stats.dirichlet.logpdf(THIRDS, [1.5] * 3) - 1.5 * np.log(1 / 3)


def log_gamma(cells, zeta, new=(), shape=1.4, rate=0.5):
    """log integral over a rate of Poisson distributions."""

    def density(r):
        log_p = zeta * stats.poisson.logpmf(cells, r).sum() + stats.poisson.logpmf(new, r).sum()
        return np.exp(log_p + stats.gamma.logpdf(r, shape, scale=1 / rate))

    return np.log(quad(density, 0, 60, points=[0.5, 2, 5, 10], limit=200)[0])


ONE_COLUMN = {
    "binary": ([1, 1, 0], 1, {"beta1": 1.3, "beta0": 0.7}, log_beta),
    "categorical": (
        [2, 1, 2],
        0,
        {"alpha": 1.5},
        lambda cells, zeta, new=(): log_dirichlet(np.eye(3)[cells], zeta, np.eye(3)[list(new)]),
    ),
    "count": ([3, 0, 5], 2, {"shape": 1.4, "rate": 0.5}, log_gamma),
    "real": ([1.0, 1.4, -0.2], 2.2, PRIOR, log_integral),
}


@pytest.mark.parametrize("type", ONE_COLUMN)
def test_columns_of_a_table_have_the_integral_of_the_power_and_its_density(type):
    cells, new, options, log_of = ONE_COLUMN[type]
    whole = [*cells, new, 2] if type == "categorical" else [*cells, new]
    model = of_one_column(type, whole, **options)
    model.set_labels(np.array([0, 0, 0, 1, 1][: len(whole)], dtype=np.int32))
    assert pieces.log_lik(model, 0) == pytest.approx(log_of(cells, ZETA), abs=1e-5)
    expected = [log_of(cells, ZETA, [new]) - log_of(cells, ZETA), log_of([], ZETA, [new])]
    np.testing.assert_allclose(model.log_densities(3)[0], expected, atol=1e-5)


VECTORS = np.array([[3, 0, 2], [1, 1, 0], [4, 0, 1], [0, 6, 2], [1, 5, 0], [2, 2, 9], [0, 0, 4], [5, 0, 0]])


def multinomial(rows, zeta, new=()):
    orders = [stats.multinomial.logpmf(row, row.sum(), THIRDS) + row.sum() * np.log(3) for row in (*rows, *new)]
    powers = [zeta] * len(rows) + [1.0] * len(new)
    return np.dot(powers, orders) + log_dirichlet(rows, zeta, new)


def poisson(rows, zeta, new=()):
    rows, new = np.reshape(rows, (-1, 3)), np.reshape(new, (-1, 3))
    return sum(log_gamma(rows[:, d], zeta, new[:, d], 1.4, rate) for d, rate in enumerate((0.5, 1.0, 0.3)))


@pytest.mark.parametrize(
    ("build", "options", "log_of"),
    [(Multinomial, {"alpha": 1.5}, multinomial), (GammaPoisson, {"shape": 1.4, "rate": [0.5, 1.0, 0.3]}, poisson)],
)
def test_count_vectors_have_the_integral_of_the_power_and_its_density(build, options, log_of):
    model = build(VECTORS[:4], power=ZETA, **options)
    model.set_labels(np.array([0, 0, 0, 1], dtype=np.int32))
    cells, new = VECTORS[:3], VECTORS[3:4]
    assert pieces.log_lik(model, 0) == pytest.approx(log_of(cells, ZETA), abs=1e-5)
    expected = [log_of(cells, ZETA, new) - log_of(cells, ZETA), log_of(cells[:0], ZETA, new)]
    np.testing.assert_allclose(model.log_densities(3)[0], expected, atol=1e-5)
    model = build(VECTORS, power=ZETA, **options)
    model.set_labels(LABELS)
    check_scores(model)
    # sums beyond the tables of logarithms
    model = build(VECTORS * 20_000, power=ZETA, **options)
    model.set_labels(LABELS)
    scores.check_joining(model, 5, 0, rel=1e-11)


TABLE = np.column_stack([[1, 0, 1, 0, 0, 1, 1, np.nan], [0, 2, 2, 1, np.nan, 0, 0, 1], [3, 0, np.nan, 7, 5, 1, 2, 2]])
TYPES = ("binary", "categorical", "count", "real", "real")


@pytest.mark.parametrize(
    ("options", "gap"),
    [
        ({}, False),
        ({}, True),
        ({"resolution": [0.3, 1.1]}, True),
        ({"covariance": "full"}, False),
        ({"covariance": "full", "b0": "hierarchical", "kappa0": "hierarchical"}, False),
        ({"b0": "hierarchical", "kappa0": "hierarchical"}, True),
    ],
)
def test_rows_of_a_table_are_scored_as_the_likelihood_says(options, gap):
    points = POINTS.copy()
    if gap:
        points[2, 1] = points[6, 0] = np.nan
    model = Mixed(np.column_stack([TABLE, points]), TYPES, power=ZETA, **options)
    model.set_labels(LABELS)
    rng = Rng(3)
    if model.refreshes:
        Refresh(model, rng).step()
    check_scores(model)
    if not options:
        # row 7 has a missing binary cell; the log x! of the count is that of every cluster
        there = ~np.isnan(points[7])
        units = resolution(np.nanmax(points, axis=0) / 2 - np.nanmin(points, axis=0) / 2, 8)[there]
        constant = ZETA * (np.log(2 * np.pi * units**2).sum() / 2 + np.log(2.0))
        check_drawn(model, 7, constant)


def test_rows_of_two_values_are_those_of_a_table():
    """Scores and reported densities, which are probabilities: over all rows they sum to 1."""
    rows = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)], dtype=np.uint8)
    model = Bernoulli.from_data(Dataset("small", "binary", np.vstack([rows, rows])), power=ZETA)
    labels = np.append(LABELS, np.full(8, 3)).astype(np.int32)
    model.set_labels(labels)
    check_scores(model)
    np.testing.assert_allclose(np.exp(model.log_densities(8)).sum(axis=0), 1.0, rtol=1e-12)


@pytest.mark.parametrize("covariance", [*(pytest.param(c, marks=pytest.mark.slow) for c in ("diag", "iso")), "full"])
def test_scales_given_the_partition_have_their_conditional_under_the_power(covariance):
    """By Kolmogorov and Smirnov, kappa0; and the test would see a likelihood without the power."""
    prior, grid, fixed = (1.7, 3.0), np.linspace(-10.0, 6.0, 301), {"m0": 0.5, "a0": 1.5, "b0": 0.8}
    model = Gaussian(POINTS[:6], covariance=covariance, kappa0="gamma({},{})".format(*prior), power=ZETA, **fixed)
    model.set_labels(LABELS[:6])
    rng, found = Rng(11), []
    refresh = Refresh(model, rng)
    for t in range(24_000):
        refresh.step()
        if t % 12 == 0:
            found.append(model.parameters[-1, 0])
    for zeta, is_right in ((ZETA, True), (1.0, False)):
        log_p = [
            gaussian_log_weight(POINTS[:6], 1.0, "uniform", covariance, 0.5, np.exp(t), 1.5, 0.8, 0.0, zeta)(
                (tuple(LABELS[:6]), 3)
            )
            for t in grid
        ]
        density = np.exp(log_p + grid + stats.gamma.logpdf(np.exp(grid), prior[0], scale=1 / prior[1]) - max(log_p))
        total = np.cumsum(density)
        at = stats.kstest(found, lambda v, F=total / total[-1]: np.interp(np.log(v), grid, F)).pvalue
        assert (at > 1e-3) == is_right


def test_power_1_is_draw_by_draw_the_model():
    chains = []
    for options in ({}, {"power": 1}):
        model = Gaussian(POINTS, covariance="full", **options)
        out = usual_chain(model, 3, partitions=1).advance(100)
        chains.append((out["partition_labels"], out["log_joint"]))
    np.testing.assert_array_equal(chains[0][0], chains[1][0])
    np.testing.assert_array_equal(chains[0][1], chains[1][1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"power": 0.0}, r"model.power=0: expected a number from 1e-06 to 1$"),
        ({"power": 1.5}, r"model.power=1.5: expected a number from 1e-06 to 1$"),
    ],
)
def test_messages(options, message):
    with pytest.raises(ValueError, match=message):
        Gaussian(POINTS, **options)


@pytest.mark.parametrize(
    ("clusters", "fit", "expected"),
    [
        # levels off at three; among near equals the highest power
        ([5.8, 3.3, 3.1, 2.1, 1.0], [-3.69, -3.757, -3.765, -4.19, -4.92], 1),
        # the model is right: fit and clusters fall together
        ([3.1, 3.0, 2.0, 1.0], [-3.5, -3.5, -4.1, -4.9], 0),
        ([1.0, 1.0, 1.0], [-3.5, -3.6, -3.7], 0),
        # one cluster predicts best
        ([3.6, 1.4, 1.0], [-19.54, -19.24, -19.37], 1),
    ],
)
def test_where_a_calibration_curve_levels_off(clusters, fit, expected):
    assert take(np.array(clusters), np.array(fit)) == expected
