"""Missing cells in mixtures of binary rows and of points: the likelihood from its definition, resampled scales by
quadrature, the chain of partition and scales. Every sampler alone: `test_transition_matrix`, the cases with `missing`.
"""

import numpy as np
import pytest
from compiled import pieces
from scipy import stats
from small_cases import check_resumption

from splitmerge_cli.core.chain import Chain
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.kinds.lines.model import Lines
from splitmerge_cli.kinds.tables.models.bernoulli import Bernoulli
from splitmerge_cli.kinds.tables.models.gaussian import Gaussian
from splitmerge_cli.kinds.tables.models.gaussian_independent import DiagonalGaussian
from splitmerge_cli.kinds.tables.models.mixed import Mixed
from splitmerge_cli.samplers.dyadic import Dyadic
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.refresh import Refresh
from splitmerge_cli.verify.continuous import gaussian_log_weight

GENERATOR = np.random.default_rng(8)
LABELS = np.array([0, 1, 2, 0, 1, 0, 3, 2, 1, 0, 3, 3], dtype=np.int32)
# a row and a column without cells, and one in five others missing
ABSENT = GENERATOR.random((12, 4)) < 0.2
ABSENT[4] = ABSENT[:, 3] = True
POINTS = np.where(ABSENT, np.nan, GENERATOR.normal(size=(12, 4)) * [1.0, 20.0, 1e-3, 1.0] + [0.0, 100.0, 5.0, 0.0])
BITS = np.where(ABSENT, np.nan, GENERATOR.integers(2, size=(12, 4)))
PRIOR = {"m0": [0.1, 90.0, 5.0, 2.0], "kappa0": 0.3, "a0": 1.7, "b0": [0.4, 30.0, 1e-6, 3.0]}


def points(values=POINTS, **options):
    return Gaussian.from_data(Dataset("made", "points", values.copy()), **options)


def bits(values=BITS, **options):
    return Bernoulli.from_data(Dataset("made", "binary", values.copy()), **options)


def test_defaults_are_those_of_the_models():
    """Defaults mean the same with and without missing cells, m0 and b0 over the cells that are there."""
    assert (bits().beta1, bits().beta0) == (0.1, 0.1)
    given = Gaussian.with_defaults_of(Dataset("made", "points", POINTS.copy()))
    cells = [column[~np.isnan(column)] for column in POINTS.T]
    np.testing.assert_allclose(given["m0"], [*(c.mean() for c in cells[:3]), 0.0])
    np.testing.assert_allclose(given["b0"], [*(0.1 * c.var() for c in cells[:3]), 0.1])
    plain, explicit = points(), points(**given)
    for model in (plain, explicit):
        model.set_labels(LABELS)
    assert plain.log_lik_total() == pytest.approx(explicit.log_lik_total(), abs=1e-10)


def test_a_complete_table_keeps_its_model():
    assert type(points(np.nan_to_num(POINTS))) is DiagonalGaussian
    assert type(bits(np.nan_to_num(BITS).astype(np.uint8))) is Bernoulli
    assert type(points()) is type(bits()) is Mixed
    assert points(POINTS.astype(np.float32)).N == 12


@pytest.mark.parametrize("covariance", ["iso"])
def test_other_covariances_say_what_reads_missing_cells(covariance):
    with pytest.raises(ValueError, match=rf"^model.covariance={covariance}: row .*: a missing cell.*covariance=diag"):
        points(covariance=covariance)


def test_a_model_without_missing_cells_says_where_one_is():
    with pytest.raises(ValueError, match=r"row 2, column 1: a missing cell, one of 2, .*model=gaussian"):
        Lines.from_data(Dataset("made", "points", np.array([[1.0, 2.0], [np.nan, 1.0], [3.0, np.nan]])))


HIERARCHICAL = {"b0": "gamma(1.2,2.5)", "kappa0": "gamma(1.7,3)"}


@pytest.mark.parametrize("options", [{}, HIERARCHICAL, {"b0": "hierarchical"}, {"kappa0": "hierarchical"}])
def test_scans_are_those_by_definition(options):
    """After scales were drawn: nothing is left of the old ones."""
    model = points(**PRIOR | options)
    model.set_labels(LABELS)
    for i in range(12):
        pieces.scan(model, i)
    if options:
        Refresh(model, Rng(2)).step()
    for i in range(12):
        v, w = pieces.scan(model, i), pieces.scan_by_definition(model, i)
        np.testing.assert_allclose(v / v.sum(), w / w.sum(), rtol=1e-9)


def test_complete_columns_have_the_chain_of_the_gaussian():
    """Draw by draw, scales resampled: the cells of `Mixed` are counted, scored and drawn as points are."""
    labels, traced = [], []
    table = np.nan_to_num(POINTS[:, :3])
    for model in (Gaussian(table, **HIERARCHICAL), Mixed(table, ["real"] * 3, **HIERARCHICAL)):
        rng = Rng(3)
        out = Chain(model, rng, [Dyadic(model, rng), Gibbs(model, rng), Refresh(model, rng)], partitions=1).advance(200)
        labels.append(out["partition_labels"])
        traced.append(out["partition_parameters"])
    np.testing.assert_array_equal(*labels)
    np.testing.assert_allclose(*traced, rtol=1e-9)
    assert traced[0].shape == (201, 4)


# -- scales given the partition, by quadrature
CELLS = np.array([[0.1, 1.3], [0.4, np.nan], [np.nan, 1.1], [2.6, -1.0], [np.nan, np.nan], [1.2, 4.0]])
TOGETHER = (0, 0, 0, 1, 1, 2)
GRID = np.linspace(-14.0, 6.0, 401)
FIXED = {"m0": 0.5, "kappa0": 0.4, "a0": 1.5, "b0": 0.8}


@pytest.mark.parametrize("key", ["b0", "kappa0"])
def test_draws_given_the_partition_have_their_conditional(key):
    """By Kolmogorov and Smirnov; and the test sees a missing cell that is taken for one of value m0."""

    def conditional(cells):
        def log_lik(**values):
            given = FIXED | values
            options = (given[name] for name in ("m0", "kappa0", "a0", "b0"))
            return gaussian_log_weight(cells, 1.0, "uniform", "diag", *options)((TOGETHER, 3))

        unit = np.nanvar(CELLS[:, 0]) if key == "b0" else 1.0
        shape, rate = (1.2, 2.5) if key == "b0" else (1.7, 3.0)
        log_p = stats.gamma.logpdf(np.exp(GRID), shape, scale=unit / rate) + GRID
        log_p += [log_lik(**{key: [np.exp(t), 0.8] if key == "b0" else np.exp(t)}) for t in GRID]
        density = np.exp(log_p - log_p.max())
        total = np.cumsum(density) - 0.5 * density
        return lambda value: np.interp(np.log(value), GRID, total / total[-1])

    model = points(CELLS, **FIXED | {key: HIERARCHICAL[key]})
    model.set_labels(np.array(TOGETHER))
    refresh, found = Refresh(model, Rng(11)), []
    for _ in range(4000):
        for _ in range(20):
            refresh.step()
        found.append(model.parameters[0, 0])
    assert stats.kstest(found, conditional(CELLS)).pvalue > 1e-3
    assert stats.kstest(found, conditional(np.where(np.isnan(CELLS), 0.5, CELLS))).pvalue < 1e-6


def test_a_state_goes_on_to_the_bit():
    def chain():
        model = points(np.repeat(POINTS, 3, axis=0), concentration="gamma(1,1)", **HIERARCHICAL)
        rng = Rng(6)
        return Chain(model, rng, [Dyadic(model, rng), Gibbs(model, rng), Refresh(model, rng)])

    check_resumption(chain, recorded={"concentration", "b0", "kappa0"})


def test_scales_are_in_the_order_of_the_columns():
    """Columns without missing cells come first where cells are scored, not in the vector of scales."""
    cells = np.array([[1.0, 10.0], [np.nan, 30.0], [3.0, 20.0], [8.0, 90.0]])
    model = points(cells, b0="gamma(1,2)")
    np.testing.assert_allclose(model.parameters[:, 0], [np.nanvar(cells[:, 0]) / 2, cells[:, 1].var() / 2])
    model.set_parameters([[0.25], [3.0]])
    fixed = points(cells, b0=[0.25, 3.0])
    for each in (model, fixed):
        each.set_labels(np.array([0, 0, 1, 1]))
    assert model.log_lik_total() == pytest.approx(fixed.log_lik_total(), abs=1e-11)


def test_a_table_without_real_columns_has_no_scales():
    with pytest.raises(ValueError, match=r"model.b0=gamma\(1,2\): expected a number: the table has no real column"):
        Mixed(BITS[:, :2], ["binary"] * 2, b0="gamma(1,2)")


@pytest.mark.parametrize("values", [np.full((3, 2), np.nan), np.array([[np.nan, 1.0]]), np.array([[2.0], [np.nan]])])
def test_hardly_any_cells_give_a_chain(values):
    for model in (points(values), points(values, b0="hierarchical", kappa0="hierarchical"), bits(np.sign(values))):
        rng = Rng(1)
        moves = [Dyadic(model, rng), Gibbs(model, rng), *([Refresh(model, rng)] if model.refreshes else [])]
        out = Chain(model, rng, moves).advance(300)
        for key in ("log_joint", *model.hyperparameters):
            assert np.isfinite(out[key]).all()
