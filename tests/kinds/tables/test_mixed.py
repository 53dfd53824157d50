"""Tables with columns of several types: other models of the same columns, missing cells, integrals, extreme counts."""

import math
from fractions import Fraction

import numpy as np
import pytest
from compiled import pieces
from scipy import integrate, stats
from scipy.special import gammaln
from scores import check_scan
from small_cases import CLOUD, COMPLETE, POINTS, ROWS, TABLE, TYPES, check_resumption, check_walk_weights

from splitmerge_cli.core.chain import Chain
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.dataset import ColumnType, Dataset
from splitmerge_cli.kinds.lines.model import Lines
from splitmerge_cli.kinds.tables.models.bernoulli import Bernoulli
from splitmerge_cli.kinds.tables.models.gaussian import Gaussian
from splitmerge_cli.kinds.tables.models.mixed import LONGEST_TABLE, Mixed
from splitmerge_cli.samplers.gibbs import Gibbs, Neal8
from splitmerge_cli.samplers.refresh import Refresh
from splitmerge_cli.samplers.split_merge import Dyadic
from splitmerge_cli.samplers.triadic import Triadic
from splitmerge_cli.verify.continuous import gaussian_log_weight, mixed_log_weight

LEVELS = {"binary": 2, "categorical": 4, "count": 0, "real": 0}


def make_model(x=TABLE, types=TYPES, **options):
    return Mixed(x, types, **options)


def check_alike(a, b, rtol=1e-10):
    """Two models give every partition, scan and odds the same probabilities."""
    for clusters in (1, 5, 9, 20):
        labels = np.arange(a.N) % clusters
        a.set_labels(labels)
        b.set_labels(labels)
        assert a.log_lik_total() == pytest.approx(b.log_lik_total(), rel=1e-12, abs=1e-10)
        for i in range(0, a.N, 7):
            v, w = pieces.scan(a, i), pieces.scan(b, i)
            np.testing.assert_allclose(v / v.sum(), w / w.sum(), rtol=rtol)
            assert pieces.log_pred(a, i, 0) == pytest.approx(pieces.log_pred(b, i, 0), abs=1e-10)
        if clusters > 1:
            assert pieces.log_union(a, 0, 1) == pytest.approx(pieces.log_union(b, 0, 1), rel=1e-12, abs=1e-10)


def test_all_columns_binary_is_the_bernoulli_mixture():
    prior = {"beta1": 0.4, "beta0": 0.7, "concentration": 1.7}
    check_alike(make_model(ROWS.astype(float), ["binary"] * 7, **prior), Bernoulli(ROWS, **prior))


def test_all_columns_real_is_the_diagonal_gaussian():
    prior = {"m0": [0.2, 1.0, -3.0], "kappa0": 0.3, "a0": 1.5, "b0": [0.5, 1.0, 2.0]}
    check_alike(make_model(CLOUD, ["real"] * 3, **prior), Gaussian(CLOUD, **prior))
    check_alike(make_model(CLOUD, ["real"] * 3), Gaussian(CLOUD))


def test_an_item_without_cells_goes_by_the_prior_alone():
    model = make_model()
    model.set_labels(np.arange(60) % 3)
    w = pieces.scan(model, 7)
    np.testing.assert_allclose(w / w[0], [1.0, 19 / 20, 1.0, 1 / 20], rtol=1e-12)
    assert pieces.log_pred(model, 7, 0) == 0.0


def test_a_column_without_cells_says_nothing():
    empty = np.full((60, 1), np.nan)
    labels = np.arange(60) % 4
    model = make_model(COMPLETE)
    model.set_labels(labels)
    for kind in LEVELS:
        more = make_model(np.hstack([COMPLETE, empty]), (*TYPES, ColumnType(kind)))
        more.set_labels(labels)
        assert more.log_lik_total() == pytest.approx(model.log_lik_total(), abs=1e-9)
        np.testing.assert_allclose(pieces.scan(more, 3), pieces.scan(model, 3), rtol=1e-12)


def test_defaults_fit_the_columns():
    """Counts: the prior mean of the rate is the column's mean; reals: as in `gaussian`; in any order of columns."""
    means = np.nanmean(TABLE[:, [2, 7]], axis=0)
    m0, variance = np.nanmean(TABLE[:, [0, 4]], axis=0), np.nanvar(TABLE[:, [0, 4]], axis=0)
    given = make_model(shape=1.5, rate=(1.5 / means).tolist(), m0=m0.tolist(), b0=(0.1 * variance).tolist())
    check_alike(make_model(shape=1.5), given)
    check_alike(make_model(), make_model(TABLE[:, ::-1], TYPES[::-1]))


# ------------------------------------------------------------------------------------------------ numerical integration

CELLS = {
    "binary": np.array([1.0, np.nan, 0.0, 1.0]),
    "categorical": np.array([2.0, 0.0, np.nan, 2.0]),
    "count": np.array([3.0, 0.0, np.nan, 7.0]),
    "real": np.array([0.4, np.nan, -1.2, 0.9]),
}
PRIOR = {"beta1": 0.6, "beta0": 0.9, "alpha": 0.7, "shape": 1.4, "rate": 0.5, "m0": 0.3, "kappa0": 0.6, "a0": 2.2}
PRIOR |= {"b0": 0.8}


def integral_of(kind, cells):
    """Log likelihood of these observed cells, integrated against the parameters' prior."""
    if kind == "binary":
        f = lambda p: stats.beta.pdf(p, 0.6, 0.9) * np.prod(np.where(cells == 1, p, 1 - p))  # noqa: E731
        total = sum(integrate.quad(f, *ends, epsabs=0, epsrel=1e-9, limit=400)[0] for ends in ((0, 0.5), (0.5, 1)))
    elif kind == "categorical":
        # three levels: two coordinates of the simplex, in stick-breaking form; each is integrated by itself
        n = np.bincount(cells.astype(int), minlength=3)

        def stick(a, b, ones, zeros):
            g = lambda u: stats.beta.pdf(u, a, b) * u**ones * (1 - u) ** zeros  # noqa: E731
            return sum(integrate.quad(g, *ends, epsabs=0, epsrel=1e-9, limit=400)[0] for ends in ((0, 0.5), (0.5, 1)))

        total = stick(0.7, 1.4, n[0], n[1] + n[2]) * stick(0.7, 0.7, n[1], n[2])
    elif kind == "count":
        f = lambda r: stats.gamma.pdf(r, 1.4, scale=2.0) * np.prod(stats.poisson.pmf(cells, r))  # noqa: E731
        total = integrate.quad(f, 0, 60, epsabs=0, epsrel=1e-10, limit=400)[0]
    else:

        def f(mean, log_v):
            v = np.exp(log_v)
            prior = stats.invgamma.pdf(v, 2.2, scale=0.8) * v * stats.norm.pdf(mean, 0.3, np.sqrt(v / 0.6))
            return prior * np.prod([stats.norm.pdf(cell, mean, np.sqrt(v)) for cell in cells], axis=0)

        means, log_v = 60 * np.linspace(-1, 1, 12001), np.linspace(-6, 8, 281)
        inner = [np.trapezoid(f(means, v), means) for v in log_v]
        total = np.trapezoid(inner, log_v)
    return math.log(total)


@pytest.mark.parametrize("kind", CELLS)
def test_marginal_likelihood_integrates_the_parameters(kind):
    cells = CELLS[kind]
    types = [ColumnType(kind, ("a", "b", "c")[: 2 if kind == "binary" else 3])]
    model = Mixed(cells[:, None], types, **PRIOR)
    expected = integral_of(kind, cells[~np.isnan(cells)])
    assert model.log_lik_total() == pytest.approx(expected, abs=1e-7)
    weight = mixed_log_weight(cells[:, None], [kind], [3], 1.0, prior="uniform", **PRIOR)
    assert weight(((0,) * 4, 1)) == pytest.approx(expected, abs=1e-7)
    # a predictive is the quotient of two integrals
    pieces.leave(model, 3, 0)
    seen = cells[:3]
    quotient = expected - integral_of(kind, seen[~np.isnan(seen)])
    assert pieces.log_pred(model, 3, 0) == pytest.approx(quotient, abs=2e-7)


# ------------------------------------------------------------------------------------------------------ extreme tables


@pytest.mark.parametrize("mean", [1e-3, 40.0, 3e3, 1e6, 1e9])
def test_counts_of_every_size(mean):
    """Counts beyond the table of rising factorials, too, where a logarithm has few digits left."""
    rng = np.random.default_rng(int(mean))
    x = rng.poisson(mean * rng.choice([0.7, 1.0, 1.4], size=(60, 1)), size=(60, 2)).astype(float)
    x[rng.random(x.shape) < 0.1] = np.nan
    model = make_model(x, ["count", "count"], shape=1.3, rate=0.7)
    for clusters in (1, 9):
        model.set_labels(np.arange(60) % clusters)
        for i in range(0, 60, 7):
            # a scan draws by these probabilities: what is far below the largest is never drawn
            check_scan(model, i, rtol=1e-8, atol=1e-12)
        expected = 0.0
        for cells in x[model.labels == 0].T:
            shape, rate = 1.3, 0.7
            for cell in cells[~np.isnan(cells)]:
                expected += stats.nbinom.logpmf(cell, shape, rate / (rate + 1))
                shape, rate = shape + cell, rate + 1
        assert pieces.log_lik(model, 0) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    if mean == 3e3:
        assert np.nansum(x[:, 0]) > LONGEST_TABLE
        check_walk_weights(model, 1e-7)


@pytest.mark.parametrize("a", [64.0, 1e3, 65_537.5, 1e7])
def test_rising_factorials_past_the_table(a):
    """Against whole numbers of factors: log a (a + 1) ... (a + x - 1), in a sum of exactly rounded terms."""
    x = LONGEST_TABLE
    model = make_model(np.array([[0.0], [float(x)]]), ["count"], shape=a if a <= 1e6 else 1e6, rate=1.0)
    shape = model.shape
    expected = math.fsum(math.log(shape + j) for j in range(x)) - float(gammaln(x + 1.0))
    expected += shape * math.log(1 / 2) - x * math.log(2)
    model.set_labels([0, 1])
    # what is left of terms of a million
    assert pieces.log_lik(model, 1) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("scale", [1e-12, 1e-3, 1.0, 1e6, 1e12])
def test_scans_are_right_at_every_scale(scale):
    x = TABLE.copy()
    x[:, [0, 4]] *= scale
    model = make_model(x)
    model.set_labels(np.arange(60) % 9)
    for i in range(0, 60, 7):
        check_scan(model, i)
    check_walk_weights(model)


def test_many_columns_stay_in_range():
    rng = np.random.default_rng(2)
    types = ["binary", "categorical", "count", "real", "real"] * 80
    x = np.column_stack(
        [TABLE[rng.permutation(60), {"binary": 1, "categorical": 3, "count": 2}.get(t, 4)] for t in types]
    )
    model = make_model(x, types, beta1=1e-3, alpha=1e-3)
    model.set_labels(np.arange(60) % 9)
    for i in range(0, 60, 7):
        check_scan(model, i, atol=1e-290)
    check_walk_weights(model)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: make_model(np.array([[2.0]]), ["binary"]), "column 1: 2 cannot be in a binary column"),
        (lambda: make_model(np.array([[0.5]]), ["categorical"]), "column 1: 0.5 cannot be in a categorical column"),
        (lambda: make_model(np.array([[3.0]]), [ColumnType("categorical", ("a",))]), "3 cannot be"),
        (lambda: make_model(np.array([[-1.0]]), ["count"]), "-1 cannot be in a count column"),
        (lambda: make_model(np.array([[2.0**31]]), ["count"]), "cannot be in a count column"),
        (lambda: make_model(np.array([[np.inf]]), ["real"]), "inf cannot be in a real column"),
        (lambda: make_model(np.array([[1.0]]), ["text"]), "types: text"),
        (lambda: make_model(np.array([[1.0]]), ["real"] * 2), "one for each of 1 columns, got 2"),
        (lambda: make_model(np.zeros((0, 3)), ["real"] * 3), "expected a table"),
        (lambda: make_model(rate=[1.0, 2.0, 3.0]), "model.rate: expected a number, or one for each of 2 count columns"),
        (lambda: make_model(m0=[1.0]), "model.m0: expected a number, or one for each of 2 real columns"),
        (lambda: make_model(b0=[1.0, 0.0]), "model.b0"),
        (lambda: make_model(shape=0.0), "model.shape"),
        (lambda: make_model(rate=-1.0), "model.rate"),
        (lambda: make_model(alpha=0.0), "model.alpha"),
        (lambda: Mixed.from_data(Dataset("x", "points", CLOUD)), "reads mixed, not points"),
    ],
)
def test_bad_cells_and_parameters_are_named(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_a_count_of_zero_is_an_observed_cell() -> None:
    """Given rates r and s of two clusters its log densities differ by s - r; those of a missing cell are the same."""
    model = Mixed(np.array([[0.0], [3.0], [7.0], [9.0], [np.nan]]), ["count"], shape=2.0, rate=0.5)
    model.set_labels(np.array([0, 0, 1, 1, 1]))
    rates = (2.0 + 3.0) / 2.5, (2.0 + 16.0) / 2.5
    a, b = (pieces.draw_scores(model, None, np.array([0, 1, 4], dtype=np.int32), k) for k in (0, 1))
    expected = [rates[1] - rates[0], 3 * np.log(rates[0] / rates[1]) + rates[1] - rates[0], 0.0]
    np.testing.assert_allclose(a - b, expected, rtol=1e-9, atol=1e-12)


# ---- Models of points: accuracy of the sums, extreme scales, degenerate points, parameters, refusals.

MAKE = {
    "lines": lambda x: Lines(x[:, :2]),
    "lines-nig": lambda x: Lines(x[:, :2], noise="nig"),
    "gaussian-diag": lambda x: Gaussian(x),
    "gaussian-iso": lambda x: Gaussian(x, covariance="iso"),
    "gaussian-full": lambda x: Gaussian(x, covariance="full"),
}


def test_a_state_with_parameters_goes_on_to_the_bit():
    def chain():
        model = Lines(POINTS, conjugate=False, noise="nig", refresh="metropolis", concentration="gamma(1,1)")
        rng = Rng(6)
        model.start_parameters(rng)
        return Chain(model, rng, [Triadic(model, rng), Neal8(model, rng), Refresh(model, rng)])

    check_resumption(chain, recorded={"concentration"})


DEGENERATE = {
    "one point": np.array([[1.5, -2.0]]),
    "identical points": np.full((20, 2), 3.25),
    "collinear": np.column_stack([np.arange(20.0), 2 * np.arange(20.0) + 1]),
    "vertical": np.column_stack([np.full(20, 4.0), np.arange(20.0)]),
    "horizontal": np.column_stack([np.arange(20.0), np.full(20, 4.0)]),
    "tiny": POINTS * 1e-12,
    "huge": POINTS * 1e12,
    "far away": POINTS + 1e9,
    "tiny x, huge y": POINTS * [1e-12, 1e12],
    "both scales": np.vstack([POINTS[:20] * 1e-12, POINTS[20:] * 1e12]),
    "an outlier": np.vstack([POINTS, [[1e15, -1e15]]]),
}


@pytest.mark.parametrize("case", DEGENERATE)
@pytest.mark.parametrize("name", MAKE)
def test_degenerate_points_give_a_chain_or_a_refusal(name, case):
    points = DEGENERATE[case]
    try:
        model = MAKE[name](points)
    except ValueError as error:
        assert "model.sigma1" in str(error)
        assert name.startswith("lines")
        model = Lines(points, sigma1=1e-3 * np.ptp(points[:, 1]), noise="nig" if "nig" in name else "known")
    rng = Rng(1)
    model.set_labels(np.arange(len(points)) % 3 if len(points) > 2 else np.zeros(len(points), dtype=int))
    chain = Chain(model, rng, [Triadic(model, rng), Dyadic(model, rng), Gibbs(model, rng)])
    out = chain.advance(200)
    assert np.isfinite(out["log_joint"]).all()
    assert np.isfinite(out["log_lik"]).all()


@pytest.mark.parametrize("name", MAKE)
def test_scans_are_right_at_every_scale_of_normals(name):
    for scale in (1e-12, 1e-3, 1.0, 1e6, 1e12):
        points = CLOUD * scale
        if name.startswith("lines"):
            model = Lines(points[:, :2], sigma1=0.5 * scale, sigma0=scale, noise="nig" if "nig" in name else "known")
        else:
            model = MAKE[name](points)
        model.set_labels(np.arange(60) % 9)
        for i in range(0, 60, 7):
            check_scan(model, i)
        check_walk_weights(model)


def test_gaussian_law_does_not_depend_on_scale_or_place():
    """With the default prior, scaling and moving the data leaves every move of a chain as it was."""
    for covariance in ("diag", "full"):
        runs = []
        for points in (CLOUD, CLOUD * [2.0**20, 2.0**-30, 1.0] + np.array([0.0, 0.0, 4096.0])):
            model = Gaussian(points, covariance=covariance)
            rng = Rng(4)
            chain = Chain(model, rng, [Dyadic(model, rng), Gibbs(model, rng)])
            chain.advance(100)
            runs.append(model.labels)
        np.testing.assert_array_equal(*runs)


def test_fitted_lines_are_the_penalised_regression():
    model = Lines(POINTS, sigma0=3.0, sigma1=0.7)
    model.set_labels(np.arange(60) % 3)
    for k, line in enumerate(model.fitted_lines()):
        rows = POINTS[model.labels == k]
        design = np.column_stack([np.ones(len(rows)), rows[:, 0]])
        expected = np.linalg.solve(design.T @ design + (0.7 / 3.0) ** 2 * np.eye(2), design.T @ rows[:, 1])
        np.testing.assert_allclose(line, expected, rtol=1e-12)


def test_parameters_are_set_and_read():
    model = Lines(POINTS, conjugate=False, noise="nig")
    model.set_labels(np.arange(60) % 3)
    values = np.array([[1.0, 2.0, 0.3], [0.0, -1.0, 0.5], [2.0, 0.0, 1.5]])
    model.set_parameters(values)
    np.testing.assert_array_equal(model.parameters, values)
    z = model.labels
    residual = POINTS[:, 1] - values[z, 0] - values[z, 1] * POINTS[:, 0]
    expected = -0.5 * (np.log(2 * math.pi * values[z, 2]) + residual**2 / values[z, 2]).sum()
    assert model.log_lik_total() == pytest.approx(expected, rel=1e-12)
    with pytest.raises(ValueError, match="3 rows of 3"):
        model.set_parameters(values[:2])
    with pytest.raises(ValueError, match="integrates its lines out"):
        Lines(POINTS).set_parameters(values)
    assert Lines(POINTS).parameters is None
    np.testing.assert_allclose(model.fitted_lines(), values[:, :2])


def log_of(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


def exact_lines(points, sigma0, sigma1, a0=None):
    """log p(points of one line) with every sum and quotient an exact fraction; a0: the noise is unknown."""
    xs, ys = ([Fraction(float(v)) for v in points[:, d]] for d in range(2))
    n, tau, b0 = len(xs), (Fraction(sigma1) / Fraction(sigma0)) ** 2, Fraction(sigma1) ** 2 * (Fraction(a0 or 2) - 1)
    sx, sy = sum(xs), sum(ys)
    sxx, sxy = sum(x * x for x in xs), sum(x * y for x, y in zip(xs, ys, strict=True))
    det = (n + tau) * (sxx + tau) - sx * sx
    line = ((sxx + tau) * sy - sx * sxy) / det, ((n + tau) * sxy - sx * sy) / det
    rest = sum(y * y for y in ys) - line[0] * sy - line[1] * sxy
    total = -0.5 * (log_of(det / tau**2) + n * math.log(2 * math.pi))
    if a0 is None:
        return total - n * math.log(sigma1) - float(rest / (2 * Fraction(sigma1) ** 2))
    a_n = a0 + 0.5 * n
    return total + math.lgamma(a_n) - math.lgamma(a0) - 0.5 * n * log_of(b0) - a_n * log_of(1 + rest / (2 * b0))


def exact_diag(points, kappa0, a0, b0):
    """log p(points of one cluster), a variance per dimension, prior mean 0, likewise."""
    total, n = 0.0, len(points)
    for column in points.T:
        xs = [Fraction(float(v)) for v in column]
        mean = sum(xs) / n
        scatter = sum((x - mean) ** 2 for x in xs) + Fraction(kappa0) * n / (Fraction(kappa0) + n) * mean**2
        total += 0.5 * math.log(kappa0 / (kappa0 + n)) - 0.5 * n * math.log(2 * math.pi) + math.lgamma(a0 + 0.5 * n)
        total += -math.lgamma(a0) - 0.5 * n * math.log(b0) - (a0 + 0.5 * n) * log_of(1 + scatter / (2 * Fraction(b0)))
    return total


@pytest.mark.parametrize("seed", range(60))
def test_likelihoods_by_exact_fractions(seed):
    """Offsets up to 1e9 and scales from 1e-6 to 1e6, collinear points among them."""
    rng = np.random.default_rng(seed)
    n, scale = int(rng.integers(1, 9)), 10.0 ** rng.uniform(-6, 6, size=2)
    x = rng.normal(size=n)
    points = np.column_stack([x, rng.normal(size=n) if seed % 3 else 2 * x]) * scale
    points += rng.choice([0.0, 1.0], size=2) * 10.0 ** rng.uniform(0, 9) * rng.choice([0.0, 1e-3, 1.0])
    sigma1 = float(np.abs(points).max() * 10.0 ** rng.uniform(-6, 0))
    sigma0 = sigma1 * 10.0 ** rng.uniform(-1, 4)
    for a0 in (None, 2.5):
        try:
            model = Lines(points, sigma0=sigma0, sigma1=sigma1, noise="known" if a0 is None else "nig", a0=a0 or 2.0)
        except ValueError as error:
            assert "digits" in str(error)
            continue
        assert model.log_lik_total() == pytest.approx(exact_lines(points, sigma0, sigma1, a0), rel=1e-6, abs=1e-6)
    b0 = float(np.ptp(points, axis=0).max() ** 2 * 10.0 ** rng.uniform(-8, 2)) or 1.0
    model = Gaussian(points, m0=0.0, kappa0=0.3, a0=1.5, b0=b0)
    assert model.log_lik_total() == pytest.approx(exact_diag(points, 0.3, 1.5, b0), rel=1e-7, abs=1e-7)


def test_a_constant_column_does_not_round_the_others():
    x = np.array([[0.1, 5.0], [0.2, 5.0], [0.9, 5.0], [0.3, 5.0]])
    for covariance in ("iso", "diag", "full"):
        model = Gaussian(x, covariance=covariance, m0=0.0, b0=0.2)
        expected = gaussian_log_weight(x, 1.0, "crp", covariance, 0.0, 0.1, 2.0, 0.2)(((0,) * 4, 1))
        apart = gaussian_log_weight(x, 1.0, "crp", covariance, 0.0, 0.1, 2.0, 0.2)(((0, 1, 2, 3), 4))
        together = model.log_joint()
        model.set_labels(np.arange(4))
        assert model.log_joint() - together == pytest.approx(apart - expected, rel=1e-9)


REFUSED = [
    (Lines, {"sigma1": 1e-9}, "since the range of y is"),
    (Lines, {"prior": "dp"}, "model.prior"),
    (Lines, {"concentration": 0.0}, "model.concentration"),
    (Lines, {"candidates": [["0", "1"]], "conjugate": False}, "model.candidates"),
    (Lines, {"candidates": [[True, False]], "conjugate": False}, "model.candidates"),
    (Lines, {"concentration": "gamma(１,1)"}, "model.concentration"),
    (Gaussian, {"covariance": "full", "b0": 1e-12}, "no digits of the covariances"),
    (Gaussian, {"covariance": "full", "m0": 1e7}, "no digits of the covariances"),
]


@pytest.mark.parametrize(("model_class", "options", "message"), REFUSED)
def test_refusals_name_the_key(model_class, options, message):
    with pytest.raises(ValueError, match=message):
        model_class(POINTS, **options)


@pytest.mark.parametrize("model_class", [Lines, Gaussian])
def test_refusals_of_points(model_class):
    for points in (np.empty((0, 2)), np.zeros(5), np.array([[1.0, math.inf]]), np.array([[1.0, 1e31]])):
        with pytest.raises(ValueError, match="x: "):
            model_class(points)
    with pytest.raises(ValueError, match=r"model.sigma1.*coordinates reach 1e\+13"):
        Lines(POINTS + np.array([1e13, 0.0]), sigma1=1e-4)
    with pytest.raises(ValueError, match=r"shape \(N, 2\), got \(4, 3\)"):
        Lines(np.zeros((4, 3)))
