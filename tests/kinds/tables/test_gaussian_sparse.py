"""The Gaussian mixture of sparse points against the one of the same points as a full array, which other tests hold
against the formulas; float32 points against the same numbers in float64."""

import itertools

import numpy as np
import pytest
from compiled import pieces
from scipy.sparse import csr_array
from scores import agree

from splitmerge_cli.core.chain import Chain
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.kinds.tables.models.gaussian import Gaussian
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.lshsm import LSHSM
from splitmerge_cli.samplers.triadic import Triadic


def signs(shape, share, seed, scale=1.0):
    """Normal numbers, most of them zero."""
    rng = np.random.default_rng(seed)
    return rng.normal(0.0, scale, shape) * (rng.random(shape) < share)


def counts(shape, rate, seed):
    return np.random.default_rng(seed).poisson(rate, shape).astype(float)


def magnitudes(seed=5):
    """1e-6 to 1e6 in every column."""
    rng = np.random.default_rng(seed)
    return signs((30, 6), 0.4, seed) * 10.0 ** rng.uniform(-6, 6, (30, 6))


def with_a_zero_and_a_lone_column():
    x = signs((25, 6), 0.5, 6)
    x[:, [2, 4]] = 0.0
    x[7, 4] = 3.5
    return x


def with_empty_rows():
    x = counts((30, 5), 0.8, 7)
    x[[0, 11, 12, 29]] = 0.0
    return x


POINTS = {
    "counts": counts((40, 12), 0.3, 1),
    "signed": signs((40, 7), 0.4, 2),
    "empty rows": with_empty_rows(),
    "a zero and a lone column": with_a_zero_and_a_lone_column(),
    "one item": np.array([[0.0, 2.0, 0.0, -1.5]]),
    "one item of zeros": np.zeros((1, 3)),
    "one column": signs((30, 1), 0.5, 3),
    "repeated rows": np.repeat(counts((6, 5), 0.7, 4), 5, axis=0),
    "magnitudes": magnitudes(),
    "columns of different scale": signs((30, 5), 0.5, 8) * [1e-6, 1e-3, 1.0, 1e3, 1e6],
    "wide": signs((40, 300), 0.05, 9),
    "no zeros": np.random.default_rng(10).normal(2.0, 1.0, (30, 4)),
    "nothing but zeros": np.zeros((6, 3)),
}
COVARIANCES = ("diag", "iso")
PRIORS = ("default", "given")


def options_of(x, covariance, prior):
    """Options of the model: m0 and b0 by default, or others by column."""
    if prior == "default":
        return {"covariance": covariance}
    rng, D = np.random.default_rng(x.shape[1]), x.shape[1]
    spread = np.maximum(np.ptp(x, axis=0), 1e-3)
    b0 = spread**2 * rng.uniform(0.05, 0.5, D)
    return {
        "covariance": covariance,
        "concentration": 0.7,
        "m0": (x.mean(axis=0) + spread * rng.uniform(-0.5, 0.5, D)).tolist(),
        "kappa0": 0.35,
        "a0": 1.4,
        "b0": b0.tolist() if covariance == "diag" else float(b0.mean()),
    }


def sparse(x, **options):
    """The model of a sparse copy, as a run makes it."""
    return Gaussian.from_data(Dataset("sparse", "points", csr_array(x)), **options)


def both(x, **options):
    """The model of the array, and that of a sparse copy."""
    return Gaussian(x, resolution="none", **options), sparse(x, **options)


def partitions_of(N, seed=0):
    rng = np.random.default_rng(seed)
    for K in sorted({1, min(2, N), min(6, N), min(9, N), N}):
        yield rng.permutation(np.arange(N) % K).astype(np.int32)


CLOSE = {"rel": 1e-12, "abs": 1e-9}
"""Tolerance of log likelihoods.

Both models round a number to 2^-48 of the widest of its column (iso: of all), which moves a log likelihood by about
1e-13, and add up N D logarithms: the differences seen are 1e-10 at most, of 14,000.
"""


KINDS = list(itertools.product(COVARIANCES, PRIORS))


@pytest.fixture(params=list(itertools.product(POINTS, *(COVARIANCES, PRIORS))), ids=" ".join)
def case(request):
    """Points, and a model of the array and one of its sparse copy."""
    name, covariance, prior = request.param
    x = POINTS[name]
    return x, *both(x, **options_of(x, covariance, prior))


# ---- Against the model of the array


def test_likelihoods_unions_and_predictives_of_partitions(case):
    """Predictives of an item that is not placed, for each cluster; and the weights of a Gibbs update."""
    x, dense, model = case
    for labels in partitions_of(len(x)):
        dense.set_labels(labels)
        model.set_labels(labels)
        assert model.log_lik_total() == pytest.approx(dense.log_lik_total(), **CLOSE)
        assert model.log_prior_total() == dense.log_prior_total()
        assert model.log_joint() == pytest.approx(dense.log_joint(), **CLOSE)
        for k in range(model.K):
            assert pieces.log_lik(model, k) == pytest.approx(pieces.log_lik(dense, k), **CLOSE)
        for a, b in itertools.islice(itertools.permutations(range(model.K), 2), 30):
            assert pieces.log_union(model, a, b) == pytest.approx(pieces.log_union(dense, a, b), **CLOSE)
        for i in range(0, len(x), 3):
            agree(pieces.scan(model, i), pieces.scan_by_definition(dense, i), rtol=1e-10)
            own = int(labels[i])
            for other in {0, model.K - 1} - {own}:
                mine, theirs = (pieces.odds(m, i, own, other, own, True) for m in (model, dense))
                assert mine[1] == pytest.approx(theirs[1], **CLOSE)


EXTREMES = {
    "narrow prior": {"b0": 1e-12},
    "narrowest prior": {"b0": 1e-20},
    "wide prior": {"b0": 1e12},
    "far prior": {"m0": 1e9},
    "light prior": {"kappa0": 1e-9},
    "heavy prior": {"kappa0": 1e9},
    "small shape": {"a0": 1e-3},
    "large shape": {"a0": 1e4},
}
SCALES = {"tiny": 1e-12, "huge": 1e12}


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("name", ["signed", "repeated rows", "a zero and a lone column"])
@pytest.mark.parametrize("extreme", [*EXTREMES, *SCALES, "outlier"])
def test_extremes(extreme, name, covariance):
    """An item's own share leaves nothing of q, or nearly all; the prior outweighs the data, or counts for nothing."""
    x = POINTS[name] * SCALES.get(extreme, 1.0)
    if extreme == "outlier":
        x[4, 0] = 1e15
    dense, model = both(x, covariance=covariance, **EXTREMES.get(extreme, {}))
    for labels in partitions_of(len(x), seed=6):
        dense.set_labels(labels)
        model.set_labels(labels)
        assert model.log_joint() == pytest.approx(dense.log_joint(), **CLOSE)
        for i in range(0, len(x), 5):
            agree(pieces.scan(model, i), pieces.scan_by_definition(dense, i), atol=1e-200)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_numbers_far_from_zero_lose_the_digits_of_their_distance(covariance):
    """Zeros stay zeros, so nothing is moved to the middle of its column, as it is in an array: with numbers a million
    times their spread from 0, six digits less."""
    x = POINTS["signed"].copy()
    x[:, 0] = 1e6 + np.random.default_rng(0).normal(size=len(x))
    dense, model = both(x, covariance=covariance)
    for labels in partitions_of(len(x)):
        dense.set_labels(labels)
        model.set_labels(labels)
        assert model.log_joint() == pytest.approx(dense.log_joint(), abs=1e-6)


# ---- The state


# ---- What is kept, what is rejected


def test_the_points_are_kept_as_given():
    x = csr_array(POINTS["counts"])
    model = Gaussian.from_data(Dataset("x", "points", x))
    assert isinstance(model.vectors, csr_array)
    assert np.shares_memory(model.vectors.data, x.data)
    np.testing.assert_array_equal(model.vectors.toarray(), POINTS["counts"])
    assert (model.N, model.D, model.kind, model.covariance) == (40, 12, "points", "diag")


def test_a_covariance_matrix_of_sparse_points_is_refused():
    with pytest.raises(ValueError, match=r"model\.covariance.*full"):
        sparse(POINTS["counts"], covariance="full")


def test_the_sampled_likelihood_of_sparse_points_is_refused():
    """Means of clusters are no sparse rows; the printed proposals are made."""
    model = sparse(POINTS["counts"])
    LSHSM(model, Rng(0), proposal="sums", mode="as_printed", likelihood="marginal").step()
    with pytest.raises(ValueError, match=r"sampler\.likelihood"):
        LSHSM(model, Rng(0), proposal="sums", mode="as_printed", likelihood="lss")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e31])
def test_coordinates_that_are_no_numbers_are_refused(bad):
    """By the model itself: a dataset rejects them before."""
    model_class = type(sparse(POINTS["counts"]))
    x = csr_array(POINTS["counts"])
    x.data[3] = bad
    with pytest.raises(ValueError, match="x: "):
        model_class(x)


REFUSED = [
    ({"covariance": "tied"}, "model.covariance"),
    ({"kappa0": 0.0}, "model.kappa0"),
    ({"a0": -1.0}, "model.a0"),
    ({"b0": [1.0, 2.0, 3.0]}, "one for each of 12 columns"),
    ({"b0": [1.0] * 11 + [2.0], "covariance": "iso"}, "one number"),
    ({"b0": 0.0}, "model.b0"),
    ({"b0": 1e-40}, "1e-24 of the squared range"),
    ({"m0": float("inf")}, "model.m0"),
    ({"m0": "mean"}, "model.m0"),
    ({"prior": "dp"}, "model.prior"),
    ({"concentration": 0.0}, "model.concentration"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_refusals_name_the_key_as_those_of_the_array_do(options, message):
    for build in (sparse, Gaussian):
        with pytest.raises(ValueError, match=message):
            build(POINTS["counts"], **options)


# ---- float32


@pytest.mark.parametrize("covariance", ["diag", "iso", "full"])
@pytest.mark.parametrize("name", ["counts", "signed", "columns of different scale", "no zeros"])
def test_float32_points_have_the_posterior_of_the_same_numbers(name, covariance):
    x = POINTS[name].astype(np.float32)
    narrow, wide = (Gaussian(points, covariance=covariance) for points in (x, x.astype(np.float64)))
    assert narrow.vectors.dtype == np.float32
    assert narrow.vectors is x
    labels = []
    for model in (narrow, wide):
        rng = Rng(6)
        Chain(model, rng, [Triadic(model, rng), LSHSM(model, rng, bits=2, tables=3), Gibbs(model, rng)]).advance(50)
        labels.append(model.labels)
    np.testing.assert_array_equal(*labels)
    for statistic, values in wide.statistics().items():
        np.testing.assert_array_equal(narrow.statistics()[statistic], values)
    assert narrow.log_joint() == wide.log_joint()
