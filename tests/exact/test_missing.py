"""Missing cells in mixtures of binary rows and of points: the likelihood from its definition, resampled scales by
quadrature, the chain of partition and scales. Every sampler alone: `test_transition_matrix`, the cases with `missing`.
"""

import numpy as np
import pytest
import scores
from compiled import pieces
from scipy import stats
from scipy.special import betaln, logsumexp, multigammaln
from small_cases import check_resumption, usual_chain

from splitmerge_cli.core.chain import Chain
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.dataset import ColumnType, Dataset
from splitmerge_cli.kinds.lines.model import Lines
from splitmerge_cli.kinds.tables.models import gaussian, mixed
from splitmerge_cli.kinds.tables.models.bernoulli import Bernoulli
from splitmerge_cli.kinds.tables.models.gaussian_independent import DiagonalGaussian
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.refresh import Refresh
from splitmerge_cli.samplers.split_merge import Dyadic
from splitmerge_cli.verify import cases, continuous
from splitmerge_cli.verify.enumerate import mixture_states

GENERATOR = np.random.default_rng(8)
LABELS = np.array([0, 1, 2, 0, 1, 0, 3, 2, 1, 0, 3, 3], dtype=np.int32)
# a row and a column without cells, and one in five others missing
ABSENT = GENERATOR.random((12, 4)) < 0.2
ABSENT[4] = ABSENT[:, 3] = True
POINTS = np.where(ABSENT, np.nan, GENERATOR.normal(size=(12, 4)) * [1.0, 20.0, 1e-3, 1.0] + [0.0, 100.0, 5.0, 0.0])
BITS = np.where(ABSENT, np.nan, GENERATOR.integers(2, size=(12, 4)))
PRIOR = {"m0": [0.1, 90.0, 5.0, 2.0], "kappa0": 0.3, "a0": 1.7, "b0": [0.4, 30.0, 1e-6, 3.0]}
HIERARCHICAL = {"b0": "gamma(1.2,2.5)", "kappa0": "gamma(1.7,3)"}


def points(values=POINTS, **options):
    return gaussian.Gaussian.from_data(Dataset("made", "points", values.copy()), **options)


def bits(values=BITS, **options):
    return Bernoulli.from_data(Dataset("made", "binary", values.copy()), **options)


def test_defaults_are_those_of_the_models():
    """Defaults mean the same with and without missing cells, m0 and b0 over the cells that are there."""
    assert (bits().beta1, bits().beta0) == (0.1, 0.1)
    given = gaussian.Gaussian.with_defaults_of(Dataset("made", "points", POINTS.copy()))
    cells = [column[~np.isnan(column)] for column in POINTS.T]
    np.testing.assert_allclose(given["m0"], [*(c.mean() for c in cells[:3]), 0.0])
    np.testing.assert_allclose(given["b0"], [*(0.1 * c.var() for c in cells[:3]), 0.1])
    plain, explicit = points(), points(**given)
    for model in (plain, explicit):
        model.set_labels(LABELS)
    assert plain.log_lik_total() == pytest.approx(explicit.log_lik_total(), abs=1e-10)


def test_a_complete_table_keeps_its_model():
    assert type(points(np.nan_to_num(POINTS))) is type(points()) is DiagonalGaussian
    assert type(bits(np.nan_to_num(BITS).astype(np.uint8))) is Bernoulli
    assert type(bits()) is mixed.Mixed
    assert points(POINTS.astype(np.float32)).N == 12


@pytest.mark.parametrize("covariance", ["iso"])
def test_other_covariances_say_what_reads_missing_cells(covariance):
    with pytest.raises(ValueError, match=rf"^model.covariance={covariance}: row .*: a missing cell.*covariance=diag"):
        points(covariance=covariance)


@pytest.mark.parametrize("options", [{}, {"power": 0.4}, {"resolution": [0.5, 0.0, 0.2]}, HIERARCHICAL])
def test_complete_columns_are_scored_together_wherever_they_stand(options):
    """Columns between one that lacks cells and others: each as if it stood alone, and scans as by definition."""
    table, labels = GENERATOR.normal(size=(9, 3)), np.arange(9, dtype=np.int32) % 3
    table[[1, 4, 5], 1] = np.nan
    model = points(table, **options)
    model.set_labels(labels)
    total = 0.0
    for d in range(3):
        of = options | {"resolution": options["resolution"][d]} if "resolution" in options else options
        alone = gaussian.Gaussian.from_data(Dataset("made", "points", table[:, [d]].copy()), **of)
        alone.set_labels(labels)
        total += alone.log_lik_total()
    assert model.log_lik_total() == pytest.approx(total, abs=1e-10)
    for i in range(9):
        scores.check_scan(model, i)
    data, row = Dataset("made", "points", table), [[0.3, 4.0, np.nan]]
    whole = Dataset("made", "points", np.vstack([table, row]))
    new = gaussian.Gaussian.with_new(data, whole, **options)
    new.set_labels(np.append(labels, 3).astype(np.int32))
    found, _ = new.log_predictive(9)
    for k in range(3 if "power" not in options else 0):
        more = points(whole.values, **gaussian.Gaussian.with_defaults_of(data, **options))
        more.set_labels(np.append(labels, k).astype(np.int32))
        assert found[0, k] == pytest.approx(more.log_lik_total() - total, abs=1e-10)


def test_a_model_without_missing_cells_says_where_one_is():
    with pytest.raises(ValueError, match=r"row 2, column 1: a missing cell, one of 2, .*model=gaussian"):
        Lines.from_data(Dataset("made", "points", np.array([[1.0, 2.0], [np.nan, 1.0], [3.0, np.nan]])))


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
        scores.check_scan(model, i)


def test_complete_columns_have_the_chain_of_the_gaussian():
    """Draw by draw, scales resampled: the cells of `Mixed` are counted, scored and drawn as points are."""
    labels, traced = [], []
    table = np.nan_to_num(POINTS[:, :3])
    for model in (gaussian.Gaussian(table, **HIERARCHICAL), mixed.Mixed(table, ["real"] * 3, **HIERARCHICAL)):
        out = usual_chain(model, 3, partitions=1).advance(200)
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
            return continuous.gaussian_log_weight(cells, 1.0, "uniform", "diag", *options)((TOGETHER, 3))

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
        return usual_chain(points(np.repeat(POINTS, 3, axis=0), concentration="gamma(1,1)", **HIERARCHICAL), 6)

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
        mixed.Mixed(BITS[:, :2], ["binary"] * 2, b0="gamma(1,2)")


@pytest.mark.parametrize("values", [np.full((3, 2), np.nan), np.array([[np.nan, 1.0]]), np.array([[2.0], [np.nan]])])
def test_hardly_any_cells_give_a_chain(values):
    for model in (points(values), points(values, b0="hierarchical", kappa0="hierarchical"), bits(np.sign(values))):
        rng = Rng(1)
        moves = [Dyadic(model, rng), Gibbs(model, rng), *([Refresh(model, rng)] if model.refreshes else [])]
        out = Chain(model, rng, moves).advance(300)
        for key in ("log_joint", *model.hyperparameters):
            assert np.isfinite(out[key]).all()


# ---- Full covariances with missing cells, which are a part of the state: the Gibbs step on them given the partition,
# and the chain of partition and cells, against the posterior with the cells integrated out by quadrature.

FULL_PRIOR = {"m0": [0.3, -0.2], "kappa0": 0.4, "a0": 2.0, "b0": [0.5, 0.8]}
FULL_POINTS = np.array([[0.1, 0.4], [0.9, np.nan], [3.0, 2.6], [np.nan, -0.5]])
WORDS = np.array([0, 0, 1, 1])
# rows that lack the same column, so that clusters of more than one row lack most of it; a prior narrow enough for the
# grain to count
SPARSE = np.array([[0.0, 0.0], [1.0, np.nan], [3.0, np.nan], [4.0, 5.0]])
NARROW = {"m0": [0.5, 1.0], "kappa0": 0.2, "a0": 1.5, "b0": [0.05, 0.05]}
STEPS = [2.0, 0.5]
# x = sinh t, in which the tails of a t distribution end
T = np.linspace(-6.0, 6.0, 121)
FULL_GRID = np.sinh(T)
LOG_STEP = np.log(np.cosh(T) * (T[1] - T[0]))


def log_lik(x, resolution=0.0, prior=FULL_PRIOR, grains=None):
    """Log marginal likelihood of clusters of points, shape (grid..., n, 2), by the formula of Murphy (2007), with the
    grain of every row, or of another number of rows."""
    n, D, nu = x.shape[-2], 2, 2 * prior["a0"] + 1
    psi0 = 2 * np.diag(prior["b0"])
    y = x - np.array(prior["m0"])
    mean = y.mean(axis=-2, keepdims=True)
    kappa0 = prior["kappa0"]
    grain = np.broadcast_to(np.square(resolution) / 12, 2)
    psi = psi0 + np.swapaxes(y - mean, -1, -2) @ (y - mean) + (n if grains is None else grains) * np.diag(grain)
    psi = psi + kappa0 * n / (kappa0 + n) * np.swapaxes(mean, -1, -2) @ mean
    total = multigammaln((nu + n) / 2, D) - multigammaln(nu / 2, D) - n * D / 2 * np.log(np.pi)
    total += nu / 2 * np.log(np.linalg.det(psi0)) + D / 2 * np.log(kappa0 / (kappa0 + n))
    return total - (nu + n) / 2 * np.log(np.linalg.det(psi))


def on_grid(points=FULL_POINTS):
    """The points with every pair of values in their two missing cells: shape (grid, grid, rows, 2)."""
    x = np.broadcast_to(points, (len(T), len(T), *points.shape)).copy()
    cells = np.argwhere(np.isnan(points))
    for (i, d), values in zip(cells, np.meshgrid(FULL_GRID, FULL_GRID, indexing="ij"), strict=True):
        x[..., i, d] = values
    return x


def log_joint(labels, resolution=0.0, words=False, points=FULL_POINTS, prior=FULL_PRIOR):
    """On the grid, with the uniform prior of partitions."""
    x, z = on_grid(points), np.array(labels)
    total = sum(log_lik(x[..., z == k, :], resolution, prior) for k in range(z.max() + 1))
    if words:
        for k in range(z.max() + 1):
            n = np.bincount(WORDS[z == k], minlength=2)
            rise = [np.sum(np.log(0.5 + np.arange(m))) for m in n]
            total = total + sum(rise) - np.sum(np.log(1.0 + np.arange(n.sum())))
    return total + LOG_STEP[:, None] + LOG_STEP


def posterior(points=FULL_POINTS, **options):
    states = [state[0] for state in mixture_states(len(points))]
    log_p = np.array([np.logaddexp.reduce(log_joint(labels, points=points, **options), axis=None) for labels in states])
    return states, np.exp(log_p - np.logaddexp.reduce(log_p))


def build_model(words, resolution="none", points=FULL_POINTS, prior=FULL_PRIOR):
    options = prior | {"covariance": "full", "prior": "uniform", "resolution": resolution}
    if not words:
        return gaussian.Gaussian.from_data(Dataset("made", "points", points.copy()), **options)
    types = ColumnType("real"), ColumnType("categorical", ("a", "b")), ColumnType("real")
    table = np.column_stack([points[:, 0], WORDS[: len(points)], points[:, 1]])
    return mixed.Mixed.from_data(Dataset("made", "mixed", table, types=types), **options)


def cell_of(model, points=FULL_POINTS):
    """Present values of the two missing cells."""
    middle = (np.nanmin(points, axis=0) + np.nanmax(points, axis=0)) / 2
    return model.parameters[:, 0] + middle[np.nonzero(np.isnan(points))[1]]


def cumulative_of(density):
    """Cumulative distribution function of a cell from its density on the grid."""
    total = np.cumsum(density) - 0.5 * density
    return lambda value: np.interp(np.arcsinh(value), T, total / density.sum())


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("labels", [(0, 0, 0, 1), (0, 0, 0, 0)])
def test_cells_given_the_partition_have_their_conditional(labels, words):
    """By Kolmogorov and Smirnov; that of another partition is seen."""
    model = build_model(words)
    model.set_labels(np.array(labels))
    rng = Rng(7)
    refresh, found = Refresh(model, rng), []
    for _ in range(2500):
        for _ in range(6):
            refresh.step()
        found.append(cell_of(model))
    assert model.labels.tolist() == list(labels)

    def cumulative(labels, axis):
        return cumulative_of(np.exp(log_joint(labels) - log_joint(labels).max()).sum(axis=axis))

    found, other = np.array(found), (0, 1, 1, 1)
    for cell, axis in enumerate((1, 0)):
        assert stats.kstest(found[:, cell], cumulative(labels, axis)).pvalue > 1e-3
        assert stats.kstest(found[:, cell], cumulative(other, axis)).pvalue < 1e-6


def test_cells_of_one_row_are_drawn_together():
    """A row without any cell among rows on a line: its cells have their joint distribution.

    Noise of the other sign has the same distribution, since it is normal.
    """
    points = np.array([[0.0, 0.1], [1.0, 1.2], [2.0, 1.9], [3.0, 3.2], [np.nan, np.nan]])
    model = build_model(False, points=points)
    model.set_labels(np.zeros(5, dtype=np.int32))
    refresh, found = Refresh(model, Rng(7)), []
    for _ in range(1500):
        for _ in range(3):
            refresh.step()
        found.append(cell_of(model, points))
    log_p = log_lik(on_grid(points)) + LOG_STEP[:, None] + LOG_STEP
    weight = np.exp(log_p - log_p.max())
    for values, density in zip(np.transpose(found), (weight.sum(axis=1), weight.sum(axis=0)), strict=True):
        assert stats.kstest(values, cumulative_of(density)).pvalue > 1e-3
    assert np.corrcoef(np.transpose(found))[0, 1] > 0.5


def test_cells_stay_within_their_reach():
    """A prior with tails beyond any reach: draws out there are rejected, and the cells stay what they were."""
    points = np.array([[0.0, 0.0], [1.0, 1.0], [np.nan, np.nan]])
    model = build_model(False, points=points, prior={"m0": 0.5, "kappa0": 1.0, "a0": 0.2, "b0": 0.5})
    model.set_labels(np.array([0, 0, 1], dtype=np.int32))
    refresh, farthest = Refresh(model, Rng(7)), 0.0
    for _ in range(500):
        refresh.step()
        farthest = max(farthest, np.max(np.abs(model.parameters[:, 0]) / model.reaches))
    assert 0.1 < farthest <= 1.0


@pytest.mark.parametrize("words", [False, True])
def test_cells_drawn_at_once_have_the_grain_of_every_row(words):
    """Cells of which most are missing have their conditional, by Kolmogorov and Smirnov.

    The step without the grain, with that of the row that has the cell, or with that of the rows that lack it, is seen.
    """
    points, resolution = SPARSE[:3], [2.0, 2.0]
    model = build_model(words, resolution, points, NARROW)
    model.set_labels(np.zeros(3, dtype=np.int32))
    refresh, found = Refresh(model, Rng(7)), []
    for _ in range(4000):
        refresh.step()
        found.append(cell_of(model, points))
    x = on_grid(points)
    pvalues = {}
    for grains in range(4):
        log_p = log_lik(x, resolution, NARROW, grains) + LOG_STEP[:, None] + LOG_STEP
        weight = np.exp(log_p - log_p.max())
        marginals = zip(np.transpose(found), (weight.sum(axis=1), weight.sum(axis=0)), strict=True)
        pvalues[grains] = min(stats.kstest(values, cumulative_of(density)).pvalue for values, density in marginals)
    assert pvalues[3] > 1e-3
    assert max(pvalues[0], pvalues[1], pvalues[2]) < 1e-6


def test_some_of_many_columns_drawn_at_once_keep_the_joint_distribution():
    """A cluster that lacks most of eleven columns, more than are drawn in one refresh. Points from the prior stay such
    when their missing cells are drawn again, those of all columns with the correlations of the covariance."""
    rows, D, rng = 3, 12, np.random.default_rng(5)
    prior = {"m0": 0.0, "kappa0": 1.0, "a0": 4.0, "b0": 2.0}
    draws = []
    for _ in range(1200):
        covariance = stats.invwishart.rvs(2 * prior["a0"] + D - 1, 2 * prior["b0"] * np.eye(D), random_state=rng)
        mean = rng.multivariate_normal(np.zeros(D), covariance)
        draws.append(rng.multivariate_normal(mean, covariance, size=rows))
    before, after = np.array(draws), np.array(draws)
    lacks = np.zeros((rows, D), dtype=bool)
    lacks[1:, 1:] = True
    for number, x in enumerate(after[:600]):
        points = np.where(lacks, np.nan, x)
        model = build_model(False, points=points, prior=prior)
        model.set_labels(np.zeros(rows, dtype=np.int32))
        middle = np.tile((np.nanmin(points, axis=0) + np.nanmax(points, axis=0)) / 2, (rows, 1))[lacks]
        model.set_parameters((x[lacks] - middle)[:, None])
        refresh = Refresh(model, Rng(number))
        for _ in range(3):
            refresh.step()
        x[lacks] = model.parameters[:, 0] + middle
    moved = np.mean(before[:600][:, lacks] != after[:600][:, lacks])
    assert moved > 0.99
    for name in ("bd,bd->b", "bd,be->b"):
        # of one column, and of all with each other
        one, other = (np.einsum(name, x[:, 1, 1:], x[:, 2, 1:]) for x in (after[:600], before[600:]))
        assert stats.ks_2samp(one, other).pvalue > 1e-3
    assert stats.ks_2samp(after[:600, 1, 4], before[600:, 1, 4]).pvalue > 1e-3


@pytest.mark.parametrize("resolution", [[0.0, 0.0], STEPS])
def test_cells_of_one_column_are_integrated_in_closed_form(resolution):
    """As the enumeration of ``smcmc verify`` has them, against quadrature over both; of two columns over one."""
    for points in (SPARSE, FULL_POINTS):
        states = [state[0] for state in mixture_states(len(points))]
        log_p = [np.logaddexp.reduce(log_joint(z, resolution, False, points), axis=None) for z in states]
        options = (FULL_PRIOR[key] for key in ("m0", "kappa0", "a0", "b0"))
        weight = continuous.gaussian_log_weight(points, 1.0, "uniform", "full", *options, resolution)
        np.testing.assert_allclose([weight((z, max(z) + 1)) for z in states], log_p, atol=1e-8)


def test_cells_are_looked_for_where_the_prior_puts_them():
    """Where the prior is wide beside the few cells that a column has, a missing one is not held near them."""
    wide = NARROW | {"kappa0": 0.02, "b0": [0.3, 4.0]}
    points = np.array([[0.0, 1.0], [1.0, np.nan], [4.0, np.nan], [5.0, 1.2]])
    model = build_model(False, STEPS, points, wide)
    model.set_labels(np.array([0, 1, 2, 0]))
    refresh, found = Refresh(model, Rng(7)), []
    for _ in range(4000):
        refresh.step()
        found.append(cell_of(model, points)[1])
    # a t distribution given the other cell of its row; the half range of the column is 0.1
    assert np.mean(np.abs(np.array(found) - 1.1) > 0.8) > 0.9
    x = np.broadcast_to(points[2], (len(T), 1, 2)).copy()
    x[:, 0, 1] = FULL_GRID
    log_p = log_lik(x, STEPS, wide) + LOG_STEP
    assert stats.kstest(found, cumulative_of(np.exp(log_p - log_p.max()))).pvalue > 1e-3


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize(("resolution", "least"), [([2.0, 0.0], 5), (STEPS, 3)])
def test_chain_where_clusters_lack_most_of_a_column(resolution, least, words):
    """The posterior without the resolution is far."""
    given = {"points": SPARSE, "prior": NARROW, "words": words}
    states, expected = posterior(resolution=resolution, **given)
    model = build_model(words, resolution, SPARSE, NARROW)
    rng = Rng(3)
    chain = Chain(model, rng, [Gibbs(model, rng), Refresh(model, rng)], partitions=1)
    distance, noise = distance_of(chain, states, expected)
    assert distance < 3 * noise
    _, other = posterior(resolution=0.0, **given)
    assert 0.5 * np.abs(other - expected).sum() > least * noise


def distance_of(chain, states, expected, iterations=80_000):
    """Total variation between the frequencies of a chain and the posterior, and what is to be expected by chance."""
    batches = np.zeros((20, len(states)))
    index = {state: t for t, state in enumerate(states)}
    for batch in batches:
        for labels in chain.advance(iterations // 20)["partition_labels"]:
            batch[index[tuple(labels.tolist())]] += 1
    frequency = batches / batches.sum(axis=1, keepdims=True)
    noise = 0.5 * np.sqrt(2 / np.pi) * (frequency.std(axis=0, ddof=1) / np.sqrt(20)).sum()
    return 0.5 * np.abs(frequency.mean(axis=0) - expected).sum(), noise


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("resolution", [0.0, 1.3])
@pytest.mark.parametrize("sampler", ["gibbs", "sams"])
def test_chain_has_the_posterior_of_partitions(sampler, resolution, words):
    """Cells integrated out; the posterior with the cells held at their means is far."""
    states, expected = posterior(resolution=resolution, words=words)
    model = build_model(words, resolution or "none")
    rng = Rng(3)
    mover = Gibbs(model, rng) if sampler == "gibbs" else Dyadic(model, rng, allocation="sams")
    chain = Chain(model, rng, [mover, Refresh(model, rng)], partitions=1)
    distance, noise = distance_of(chain, states, expected, 60_000)
    assert distance < 3.5 * noise
    _, other = posterior(resolution=0.0 if resolution else 1.3, words=words)
    assert 0.5 * np.abs(other - expected).sum() > 5 * noise


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("resolution", [0.0, STEPS])
def test_held_out_rows_with_missing_cells_have_the_density_of_the_others(resolution, words):
    """By quadrature over the missing cell of a new row, given the present values of the others; with a resolution that
    of the other column alone, whose cells have their grain."""
    model = build_model(words, resolution or "none")
    data = Dataset("made", model.kind, *_table(FULL_POINTS, words))
    new = np.array([[0.6, np.nan], [np.nan, np.nan], [1.0, 0.2]])
    whole = Dataset("made", model.kind, *_table(np.vstack([FULL_POINTS, new]), words))
    target = mixed.Mixed if words else gaussian.Gaussian
    both = target.with_new(data, whole, covariance="full", resolution=resolution or "none", **FULL_PRIOR)
    both.set_labels(np.array([0, 0, 1, 1, 2, 2, 2]))
    held = model.parameters
    held.flags.writeable = False
    both.set_parameters(held)
    found, _ = both.log_predictive(4)
    filled = FULL_POINTS.copy()
    filled[1, 1], filled[3, 0] = cell_of(model)
    for k, rows in enumerate(([0, 1], [2, 3], [])):
        members = filled[rows]
        before = log_lik(members, resolution) if rows else 0.0

        def density(cells, members=members, before=before):
            x = np.concatenate([np.broadcast_to(members, (len(cells), *members.shape)), cells[:, None]], axis=1)
            return log_lik(x, resolution) - before

        if resolution:
            first = [log_lik_of_column(np.append(members[:, 0], 0.6)), log_lik_of_column(members[:, 0])]
            alone = first[0] - first[1]
        else:
            alone = np.logaddexp.reduce(density(np.column_stack([np.full(len(T), 0.6), FULL_GRID])) + LOG_STEP)
        expected = [alone, 0.0, density(np.array([[1.0, 0.2]]))[0]]
        word = np.log([(2 + 0.5) / 3 if k == 0 else 0.5 / 3 if k == 1 else 0.5] * 3) if words else 0.0
        np.testing.assert_allclose(found[:, k], np.add(expected, word), atol=1e-4)


def log_lik_of_column(cells):
    """Log marginal likelihood of the first column by itself."""
    if not len(cells):
        return 0.0
    options = FULL_PRIOR["m0"][0], FULL_PRIOR["kappa0"], FULL_PRIOR["a0"], FULL_PRIOR["b0"][0], STEPS[0]
    return continuous.gaussian_log_weight(cells[:, None], 1.0, "uniform", "diag", *options)(((0,) * len(cells), 1))


def _table(points, words):
    if not words:
        return (points.copy(),)
    # a new row has the word a
    codes = np.append(WORDS, np.zeros(len(points) - 4))
    return np.column_stack([points[:, 0], codes, points[:, 1]]), None, None, None, _types()


def _types():
    return ColumnType("real"), ColumnType("categorical", ("a", "b")), ColumnType("real")


@pytest.mark.parametrize("words", [False, True])
def test_a_state_goes_on_to_the_bit_full(words):
    check_resumption(lambda: usual_chain(build_model(words, 0.5), 6))


def test_what_is_no_state_is_rejected():
    model = build_model(False)
    for values, message in (([1.0], "expected 2 numbers, got 1"), ([np.nan, 0.0], "out of reach")):
        with pytest.raises(ValueError, match=message):
            model.set_parameters(np.array(values))


class Yes(Bernoulli):
    """A model of an own distribution: the binary columns of a mixed table, without missing cells."""

    kind = "mixed"
    READS_MISSING = False

    @classmethod
    def accepts(cls, data):
        accepted, reason = super().accepts(data)
        is_binary = all(column.type == "binary" for column in data.types)
        return (accepted and is_binary, reason or "reads binary columns alone")

    @classmethod
    def from_data(cls, data, **options):
        return Bernoulli(data.values.astype(np.uint8), **options)

    @classmethod
    def reference_log_lik(cls, values, labels, *, beta1, beta0, **options):
        clusters = [values[labels == k] for k in np.unique(labels)]
        ones = [(rows.sum(axis=0), (1 - rows).sum(axis=0)) for rows in clusters]
        return sum((betaln(beta1 + one, beta0 + zero) - betaln(beta1, beta0)).sum() for one, zero in ones)


def test_a_model_of_complete_columns_of_one_type_has_a_small_case() -> None:
    """Its data are the part of its kind's example that it accepts."""
    case = cases.small_case(Yes, 4, 1)
    assert "mixed, 4 items" in case.title and len(case.states) == 15
    model = case.model
    heights = []
    for labels, K, *_ in case.states:
        model.set_labels(np.array(labels, dtype=np.int32), K)
        heights.append(model.log_lik_total() + model.log_prior_total())
    np.testing.assert_allclose(np.exp(heights - logsumexp(heights)), case.pi, rtol=1e-10)
    assert case.pi.max() - case.pi.min() > 0.01


def test_a_model_that_accepts_no_part_of_the_example_says_so() -> None:
    class No(Yes):
        @classmethod
        def accepts(cls, data):
            return False, "reads nothing"

    with pytest.raises(
        ValueError, match=r"model No does not accept the example of its kind, nor a part .*: reads noth"
    ):
        cases.small_case(No)
