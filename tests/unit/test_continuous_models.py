"""Models of points: accuracy of the sums, extreme scales, degenerate points, parameters, refusals."""

import math
from fractions import Fraction

import numpy as np
import pytest
from compiled import pieces
from small_cases import CLOUD, POINTS, check_resumption, check_walk_weights

from splitmerge_cli.core.chain import Chain
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.kinds.lines.model import Lines
from splitmerge_cli.kinds.tables.models.gaussian import Gaussian
from splitmerge_cli.samplers.dyadic import Dyadic
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.neal8 import Neal8
from splitmerge_cli.samplers.refresh import Refresh
from splitmerge_cli.samplers.triadic import Triadic
from splitmerge_cli.verify.continuous import gaussian_log_weight

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
def test_scans_are_right_at_every_scale(name):
    for scale in (1e-12, 1e-3, 1.0, 1e6, 1e12):
        points = CLOUD * scale
        if name.startswith("lines"):
            model = Lines(points[:, :2], sigma1=0.5 * scale, sigma0=scale, noise="nig" if "nig" in name else "known")
        else:
            model = MAKE[name](points)
        model.set_labels(np.arange(60) % 9)
        for i in range(0, 60, 7):
            fast, slow = pieces.scan(model, i), pieces.scan_by_definition(model, i)
            np.testing.assert_allclose(fast / fast.sum(), slow / slow.sum(), rtol=1e-9, atol=1e-300)
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
    (Gaussian, {"a0": -1.0}, "model.a0"),
    (Gaussian, {"b0": 0.0}, "model.b0"),
    (Gaussian, {"b0": 1e-40}, "1e-24 of the squared range"),
    (Gaussian, {"m0": math.inf}, "model.m0"),
]


@pytest.mark.parametrize(("model_class", "options", "message"), REFUSED)
def test_refusals_name_the_key(model_class, options, message):
    with pytest.raises(ValueError, match=message):
        model_class(POINTS, **options)


@pytest.mark.parametrize("model_class", [Lines, Gaussian])
def test_refusals_of_points(model_class):
    for points in (np.empty((0, 2)), np.zeros(5), np.array([[1.0, math.nan]]), np.array([[1.0, 1e31]])):
        with pytest.raises(ValueError, match="x: "):
            model_class(points)
    with pytest.raises(ValueError, match=r"model.sigma1.*coordinates reach 1e\+13"):
        Lines(POINTS + np.array([1e13, 0.0]), sigma1=1e-4)
    with pytest.raises(ValueError, match=r"shape \(N, 2\), got \(4, 3\)"):
        Lines(np.zeros((4, 3)))
