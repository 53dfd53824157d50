"""Normal clusters with the tails of Student's t, by a weight of each row: weights and degrees of freedom given the
partition by quadrature, the joint chain against the posterior with both integrated out, densities of rows whose weight
is integrated out, and what follows from present weights. Kernels given weights: `test_transition_matrix.py`.

``gaps`` is diag with missing cells and a column recorded to a resolution, which is a mixed table; a table that has
words, too, is in pieces at the end.
"""

import itertools

import numpy as np
import pytest
from compiled.pieces import draw_row_weights
from scipy import stats
from scipy.special import gammainc, gammaln, logsumexp, roots_genlaguerre
from scipy.stats import t as student
from small_cases import check_resumption, usual_chain

from splitmerge_cli.core.capabilities import DrawnParameters, PlugIn, Shards
from splitmerge_cli.core.chain import Chain
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.dataset import ColumnType, Dataset
from splitmerge_cli.kinds.tables.models.gaussian import Gaussian
from splitmerge_cli.kinds.tables.models.mixed import Mixed
from splitmerge_cli.kinds.tables.models.normal import DEGREES, RowWeights
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.refresh import Refresh
from splitmerge_cli.samplers.split_merge import Dyadic
from splitmerge_cli.samplers.triadic import Triadic
from splitmerge_cli.samplers.wang_russell import SDDS
from splitmerge_cli.verify import cases, kernel, transitions
from splitmerge_cli.verify.continuous import gaussian_log_weight, tailed_log_weight, weighted_log_lik

COVARIANCES = ["diag", "iso", "full"]
CASES = [*COVARIANCES, "gaps"]
PRIOR = {"m0": 0.5, "kappa0": 0.4, "a0": 1.5, "b0": 0.8}
POINTS = np.array([[0.1, 1.3], [0.4, 0.9], [2.6, -1.0], [7.1, -0.2]])
LACKS = np.array([[0, 1], [1, 0], [0, 0], [1, 1]], dtype=bool)
"""Missing cells of the points, of a row all."""
STEPS = [0.0, 1.5]
"""Resolutions of their columns."""
LABELS = (0, 0, 1, 1)
SCALES = PRIOR["kappa0"], PRIOR["a0"], PRIOR["b0"]
PLACES = np.linspace(-40.0, 5.0, 1801)
WEIGHTS = np.array([0.25, 1.75, 0.5, 3.0])


def shape_of(case):
    return "diag" if case == "gaps" else case


def points_of(case, points=POINTS):
    return np.where(np.resize(LACKS, points.shape), np.nan, points) if case == "gaps" else points


def steps_of(case):
    return STEPS if case == "gaps" else 0.0


def log_lik(case, points, weights, labels):
    given = *(PRIOR[key] for key in ("m0", "kappa0", "a0", "b0")), weights, steps_of(case)
    return tailed_log_weight(points, 1.0, "uniform", shape_of(case), *given)((tuple(labels), max(labels) + 1))


def log_lik_of_weights(case, points, w):
    grain = np.square(steps_of(case)) / 12
    return weighted_log_lik(points - PRIOR["m0"], shape_of(case), *SCALES, w, grain)


def make(case, points, tails="t", **options):
    """The model of a case, of points as they are."""
    covariance = shape_of(case)
    if case == "gaps":
        options = options | {"covariance": covariance, "resolution": STEPS}
        return Gaussian.from_data(Dataset("t", "points", points), tails=tails, **options)
    return Gaussian(points, covariance=covariance, tails=tails, **options)


def build(case, points=None, **options):
    points = points_of(case) if points is None else points
    return make(case, points, prior="uniform", **PRIOR | options)


def draw_states(covariance, points, labels, draws=4000, thin=6):
    """Degrees of freedom and weights of a chain that refreshes them at a fixed partition."""
    model = build(covariance, points)
    model.set_labels(np.array(labels, dtype=np.int32))
    refresh, found = Refresh(model, Rng(11)), []
    for _ in range(draws):
        for _ in range(thin):
            refresh.step()
        found.append(model.parameters[:, 0])
    return np.array(found)


@pytest.mark.parametrize("covariance", CASES)
def test_draws_given_the_partition_have_their_conditional(covariance):
    """Quadrature over the weights of two rows in a cluster: degrees of freedom by chi-square, a weight by Kolmogorov
    and Smirnov. A wrong number of columns, or another prior of the weights, is seen."""
    points = points_of(covariance)[1:3]
    # with rows that have no cell, a column has far fewer cells than the cluster has rows
    alone = np.full((4 if covariance == "gaps" else 0, 2), np.nan)
    found = draw_states(covariance, np.vstack([points, alone]), (0,) * (2 + len(alone)))
    t = np.linspace(-14.0, 4.1, 363)
    w = np.exp(np.stack(np.meshgrid(t, t, indexing="ij"), axis=-1))
    given = log_lik_of_weights(covariance, points, w)
    cells = (~np.isnan(points)).sum(axis=1)

    def weigh(columns=cells, log_prior=stats.gamma.logpdf):
        # a density in the logarithms of the weights
        log_p = np.array([given + (log_prior(w, nu / 2, scale=2 / nu) + np.log(w)).sum(axis=-1) for nu in DEGREES])
        log_p += (0.5 * (columns - cells) * np.log(w)).sum(axis=-1)
        return np.exp(log_p - log_p.max())

    def pvalues(density):
        by_nu = density.sum(axis=(1, 2)) / density.sum()
        counts = (found[:, :1] == DEGREES).sum(axis=0)
        total = density.sum(axis=(0, 2))
        cumulative = (np.cumsum(total) - 0.5 * total) / total.sum()
        of_weight = stats.kstest(found[:, 1], lambda value: np.interp(np.log(value), t, cumulative)).pvalue
        return stats.chisquare(counts, by_nu * len(found)).pvalue, of_weight

    assert min(pvalues(weigh())) > 1e-3
    # that of all columns where a cell is missing, else one more
    assert pvalues(weigh(columns=2 if covariance == "gaps" else 3))[1] < 1e-9
    assert pvalues(weigh(log_prior=lambda w, a, scale: stats.gamma.logpdf(w, a + 0.5, scale=scale)))[1] < 1e-9


def test_degrees_of_freedom_heed_rows_that_lack_cells():
    """Rows that have one of two columns each, in one cluster, are two clusters of a column that no row lacks."""
    x = np.random.default_rng(5).normal(size=40)
    gaps = np.full((40, 2), np.nan)
    gaps[:20, 0], gaps[20:, 1] = x[:20], x[20:]
    clusters, found = np.repeat([0, 1], 20), []
    for points, labels in ((gaps, np.zeros(40)), (x[:, None], clusters)):
        data = Dataset("t", "points", points)
        model = Gaussian.from_data(data, tails="t", prior="uniform", resolution="none", **PRIOR)
        model.set_labels(labels.astype(np.int32))
        refresh, draws = Refresh(model, Rng(11)), np.empty(20_000)
        for t in range(len(draws)):
            refresh.step()
            draws[t] = np.log2(model.parameters[0, 0])
        found.append(draws.reshape(50, -1).mean(axis=1))
    error = np.sqrt(sum(batches.var() for batches in found) / 50)
    assert abs(found[0].mean() - found[1].mean()) < 4 * error < 0.5


MOVES = {
    "gibbs": (Gibbs, {}),
    "sams": (Dyadic, {"allocation": "sams"}),
    "sdds": (SDDS, {}),
    "triadic": (Triadic, {"beta": 0.3}),
}


@pytest.mark.parametrize(
    ("covariance", "name"),
    [
        pytest.param(covariance, name, marks=() if (a + b) % len(COVARIANCES) == 0 else pytest.mark.slow)
        for a, covariance in enumerate(COVARIANCES)
        for b, name in enumerate(MOVES)
    ],
)
def test_joint_chain_has_the_posterior_of_partitions(covariance, name):
    """Its partitions have the posterior with weights and degrees of freedom integrated out, within noise; which is far
    from that with the weights held."""
    case = cases.small_case(Gaussian, 4, 2, {"covariance": covariance, "tails": "t"})
    before = case.model.parameters
    sampler, options = MOVES[name]
    rng = Rng(5)
    samplers = [sampler(case.model, rng, **options), Refresh(case.model, rng)]
    frequencies, noise = kernel.sampled_frequencies(case, samplers, rng, 100_000)
    assert transitions.total_variation(frequencies, case.partitions[1]) < 3 * noise
    assert transitions.total_variation(case.pi, case.partitions[1]) > 6 * noise
    np.testing.assert_array_equal(case.model.parameters, before)


RESAMPLED = {
    "iso": ("b0", "kappa0"),
    "diag": ("b0", "kappa0"),
    "full": ("kappa0",),
    "full, b0": ("b0",),
    "gaps": ("b0", "kappa0"),
}
"""Scales with a gamma prior beside weights of rows; diag of one column, which has one scale."""
PRIORS = {"b0": (2.0, 1.5), "kappa0": (1.5, 3.0)}


def probability_together(covariance, points, resampled, tails="t"):
    """Probability that two rows are together: weights and degrees of freedom integrated out, and over them the scales
    by Gauss-Laguerre quadrature; each b0 in variances of its column, of iso in their mean."""
    units = np.nanvar(points, axis=0)
    units = [units.mean()] if covariance == "iso" else np.where(units > 0.0, units, 1.0).tolist()
    nodes = []
    for key, unit in (*(("b0", unit) for unit in units), ("kappa0", 1.0)):
        shape, rate = PRIORS[key]
        x, p = roots_genlaguerre(6 if len(resampled) > 1 else 12, shape - 1)
        nodes.append((x / rate * unit, p / p.sum()) if key in resampled else ([PRIOR[key]], [1.0]))
    total = np.zeros(2)
    for scales in itertools.product(*(zip(*each, strict=True) for each in nodes)):
        *b0, kappa0 = (value for value, _ in scales)
        further = *([None] if tails == "t" else []), steps_of(covariance)
        of_scales = PRIOR["m0"], kappa0, PRIOR["a0"], b0, *further
        weigh = tailed_log_weight if tails == "t" else gaussian_log_weight
        given = weigh(points, 1.0, "uniform", shape_of(covariance), *of_scales)
        total += np.prod([p for _, p in scales]) * np.exp([given(((0, 0), 1)), given(((0, 1), 2))])
    return total[0] / total.sum()


@pytest.mark.parametrize("case", [pytest.param(c, marks=() if c == "iso" else pytest.mark.slow) for c in RESAMPLED])
def test_weights_go_with_resampled_scales(case):
    """The joint chain of partition, weights and scales has the posterior of partitions, which differs from that without
    either."""
    far = 6.0 if case == "full, b0" else 2.0
    points, resampled, covariance = np.array([[0.1, 1.3], [far, -0.5]]), RESAMPLED[case], case.split(",")[0]
    points = points[:, :1] if covariance == "diag" else points
    if covariance == "gaps":
        points = np.array([[0.1, np.nan], [2.0, -0.5]])
    expected = probability_together(covariance, points, resampled)
    rng = Rng(3)
    model = build(covariance, points, **{key: "gamma({},{})".format(*PRIORS[key]) for key in resampled})
    chain = Chain(model, rng, [Gibbs(model, rng), Refresh(model, rng)])
    together = (chain.advance(50_000)["n_clusters"][1:] == 1).reshape(50, -1).mean(axis=1)
    error = together.std() / 50**0.5
    assert abs(together.mean() - expected) < 4 * error
    for other in ({"resampled": ()}, {"resampled": resampled, "tails": "normal"}):
        assert abs(probability_together(covariance, points, **other) - expected) > 5 * error


def log_density_of_new(covariance, x, k, weights, nu, labels=LABELS):
    """log p(x | cluster k) with its weight integrated out, by fine quadrature over its logarithm."""
    members = np.flatnonzero(np.array(labels) == k) if k <= max(labels) else np.empty(0, dtype=int)
    of_case = points_of(covariance)
    points, w = np.vstack([of_case[members], x]), weights[members]
    without = log_lik(covariance, of_case[members], w, [0] * len(members)) if len(members) else 0.0

    every = np.column_stack([np.tile(w, (len(PLACES), 1)), np.exp(PLACES)])
    log_p = log_lik_of_weights(covariance, points, every) - without
    log_p += stats.gamma.logpdf(np.exp(PLACES), nu / 2, scale=2 / nu) + PLACES
    return logsumexp(log_p) + np.log(PLACES[1] - PLACES[0])


@pytest.mark.parametrize("nu", [1.0, 8.0, 128.0])
@pytest.mark.parametrize("covariance", CASES)
def test_density_of_a_row_has_its_weight_integrated_out(covariance, nu):
    """New rows, near and far, in a cluster and in a new one; a row left out, and a cluster that it leaves."""
    new = np.array([[0.3, 1.0], [40.0, -300.0]])
    points = points_of(covariance)
    new = points_of(covariance, new)
    data, options = Dataset("t", "points", points), {"covariance": shape_of(covariance), "tails": "t", **PRIOR}
    options |= {"resolution": STEPS} if covariance == "gaps" else {}
    whole = Dataset("t", "points", np.vstack([points, new]))
    model = Gaussian.with_new(data, whole, **options)
    model.set_labels(np.array([*LABELS, 2, 2], dtype=np.int32))
    model.set_parameters([nu, *WEIGHTS])
    log_density, _ = model.log_predictive(4)
    expected = [[log_density_of_new(covariance, x, k, WEIGHTS, nu) for k in range(3)] for x in new]
    np.testing.assert_allclose(log_density, expected, atol=2e-5)

    labels = (0, 0, 1, 2)
    model = build(covariance)
    model.set_labels(np.array(labels, dtype=np.int32))
    model.set_parameters([nu, *WEIGHTS])
    log_density, _ = model.left_out_predictive()
    for i in range(4):
        others = np.array([-1 if j == i else z for j, z in enumerate(labels)])
        for k in range(4):
            if k < 3 and not (others == k).any():
                assert log_density[i, k] == -np.inf
            else:
                expected = log_density_of_new(covariance, points[i], k, WEIGHTS, nu, others)
                assert log_density[i, k] == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize("far", [3.0, 1e4, 1e9])
def test_a_row_far_from_a_mean_that_is_hardly_known(far):
    """In a new cluster a far row has little weight or a far mean: two humps of the integrand, 55 nats between them."""
    nu, kappa0, a0, b0 = 8.0, 1e-6, 2.0, 1e-4
    points = far * (1.0 + np.random.default_rng(0).normal(size=(4, 4)))
    model = Gaussian(points, tails="t", kappa0=kappa0, a0=a0, b0=b0, m0=0.0)
    model.set_labels(np.zeros(4, dtype=np.int32))
    model.set_parameters([nu, *np.ones(4)])
    t = np.linspace(-70.0, 6.0, 40_001)
    scale = np.sqrt(b0 / a0 * (np.exp(-t) + 1 / kappa0))
    log_p = stats.t.logpdf(points[0][:, None], 2 * a0, 0.0, scale).sum(axis=0)
    log_p += stats.gamma.logpdf(np.exp(t), nu / 2, scale=2 / nu) + t
    expected = logsumexp(log_p) + np.log(t[1] - t[0])
    assert model.left_out_predictive()[0][0, 1] == pytest.approx(expected, abs=1e-4)


def test_a_cluster_of_many_rows_is_a_student_t():
    """A column whose mean and variance are as good as known: the density of a new row is that of Student's t."""
    rng = np.random.default_rng(3)
    points = rng.normal(size=(20_000, 1))
    new = np.array([[0.0], [1.5], [12.0]])
    data, whole = Dataset("t", "points", points), Dataset("t", "points", np.vstack([points, new]))
    model = Gaussian.with_new(data, whole, tails="t")
    model.set_labels(np.array([0] * 20_000 + [1] * 3, dtype=np.int32))
    model.set_parameters([4.0, *np.ones(20_000)])
    expected = student.logpdf(new[:, 0], 4.0, points.mean(), points.std())
    np.testing.assert_allclose(model.log_predictive(20_000)[0][:, 0], expected, atol=2e-3)


@pytest.mark.parametrize("covariance", CASES)
def test_rows_of_weight_one_are_those_of_normal_clusters(covariance):
    model, normal = build(covariance), build(covariance, tails="normal")
    for labels in (LABELS, (0, 1, 1, 2)):
        for each in (model, normal):
            each.set_labels(np.array(labels, dtype=np.int32))
        assert model.log_lik_total() == pytest.approx(normal.log_lik_total(), abs=1e-9)
    # a prior of nu, and the densities of four weights
    prior = np.log(1 / 15) + 4 * stats.gamma.logpdf(1.0, 4.0, scale=0.25)
    assert model.log_prior_total() - normal.log_prior_total() == pytest.approx(prior, abs=1e-12)


@pytest.mark.parametrize("covariance", CASES)
def test_statistics_leave_no_trace_of_moves(covariance):
    """Far outliers, scales resampled, many moves: all is as of a model that is set to the state, to the bit; and as the
    dense formulas have it."""
    rng = np.random.default_rng(4)
    points = points_of(covariance, rng.standard_t(1.0, size=(60, 2)))
    options = {"m0": 0.5, "kappa0": "gamma(2,3)", "a0": 1.5, "b0": 0.8, "prior": "uniform"}
    model = make(covariance, points, **options)
    draws = Rng(6)
    Chain(model, draws, [Dyadic(model, draws), Gibbs(model, draws), Refresh(model, draws)]).advance(200)
    for sampler in (Dyadic(model, draws), Gibbs(model, draws)):
        for _ in range(20):
            sampler.step()
    again = make(covariance, points, **options)
    again.set_labels(model.labels)
    again.set_parameters(model.parameters)
    np.testing.assert_array_equal(again.parameters, model.parameters)
    assert again.log_joint() == model.log_joint()
    kappa0, nu, *weights = model.parameters[:, 0].tolist()
    assert np.ptp(np.log(weights)) > 3
    of_state = kappa0, 1.5, 0.8, np.array(weights), steps_of(covariance)
    given = tailed_log_weight(points, 1.0, "uniform", shape_of(covariance), 0.5, *of_state)
    labels = tuple(model.labels.tolist())
    assert model.log_lik_total() == pytest.approx(given((labels, model.K)), abs=1e-6)
    assert model.hyperparameter_values == {"kappa0": kappa0, "nu": nu}


@pytest.mark.parametrize("covariance", CASES)
def test_a_state_with_weights_goes_on_to_the_bit(covariance):
    def chain():
        options = {"b0": "hierarchical", "kappa0": "hierarchical", "concentration": "gamma(1,1)"}
        return usual_chain(make(covariance, np.repeat(points_of(covariance), 4, axis=0) * [1e-3, 7.0], **options), 6)

    first, second = check_resumption(chain, recorded={"concentration", "b0", "kappa0", "nu"})
    np.testing.assert_array_equal(second.model.parameters, first.model.parameters)


def test_one_group_with_heavy_tails_is_one_cluster():
    """As many clusters as for normal rows; with normal tails there are more. Outliers have the least weights."""
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(400, 3))
    scale = np.sqrt(rng.chisquare(3, size=(400, 1)) / 3)

    def sample(points, tails):
        model = Gaussian(points, prior="mfm", tails=tails)
        draws = Rng(1)
        moves = [Dyadic(model, draws), Gibbs(model, draws), *([Refresh(model, draws)] if tails == "t" else [])]
        return model, Chain(model, draws, moves).advance(600)

    model, found = sample(normal / scale, "t")
    assert (found["K"][200:] == 1).mean() > 0.7
    assert np.exp(np.log(found["nu"][200:]).mean()) == pytest.approx(3.0, rel=0.3)
    assert stats.spearmanr(model.row_weights, -np.abs(normal / scale).max(axis=1)).statistic > 0.5
    assert (sample(normal / scale, "normal")[1]["K"][200:] == 1).mean() < 0.05
    _, found = sample(normal, "t")
    assert (found["K"][200:] == 1).mean() > 0.9
    assert np.exp(np.log(found["nu"][200:]).mean()) > 20


def test_weights_are_set_and_read():
    model = build("diag", b0="gamma(1,2)")
    assert model.hyperparameters == ("b0", "nu")
    assert model.refreshes
    model.set_parameters([0.5, 0.25, 4.0, *WEIGHTS])
    np.testing.assert_array_equal(model.parameters[:, 0], [0.5, 0.25, 4.0, *WEIGHTS])
    np.testing.assert_array_equal(model.row_weights, WEIGHTS)
    for values, message in (
        ([0.5, 0.25, 4.0, 1.0], "expected 5 numbers, got 2"),
        ([0.5, 0.25, 3.0, *WEIGHTS], "expected degrees of freedom among 1, 1.414, 2"),
        ([0.5, 0.25, 4.0, 1.0, 1.0, 1.0, 0.0], "then weights from"),
        ([0.5, 0.25, 4.0, 1.0, 1.0, 1.0, np.nan], "then weights from"),
    ):
        with pytest.raises(ValueError, match=message):
            model.set_parameters(values)
    np.testing.assert_array_equal(model.row_weights, WEIGHTS)
    for kind in (DrawnParameters, PlugIn, Shards):
        assert model.capability(kind) is None


def test_refusals_name_the_key():
    gaps = np.where(np.arange(8).reshape(4, 2) == 3, np.nan, POINTS)
    for make, message in (
        (lambda: build("full", gaps), "model.covariance=full and a real cell is missing; expected model.covariance="),
        (lambda: Mixed(gaps, ("binary", "count"), tails="t"), "the table has no real column; expected model.tails"),
        (lambda: Gaussian(POINTS, tails="x"), "model.tails=x: expected one of normal, t"),
    ):
        with pytest.raises(ValueError, match=message):
            make()
    data = Dataset("t", "points", gaps)
    for covariance in ("iso", "full"):
        with pytest.raises(ValueError, match=f"model.tails=t, model.covariance={covariance}: row 2.*=diag"):
            Gaussian.from_data(data, covariance=covariance, tails="t")


@pytest.mark.parametrize("covariance", CASES)
@pytest.mark.parametrize("points", [np.array([[1.5, -2.0]]), np.full((8, 2), 3.25), POINTS * 1e-12, POINTS * 1e12])
def test_degenerate_points_give_a_chain(points, covariance):
    model = make(covariance, points_of(covariance, points), b0="hierarchical", kappa0="hierarchical")
    out = usual_chain(model, 1).advance(300)
    for key in ("log_joint", "log_lik", "b0", "kappa0", "nu"):
        assert np.isfinite(out[key]).all()
    assert logsumexp(sum(model.left_out_predictive()), axis=1).shape == (len(points),)


@pytest.mark.parametrize("case", ["diag", "full", "gaps"])
def test_a_table_with_words_has_the_pieces_of_its_columns(case):
    """Likelihoods, densities of new rows and of rows left out, and odds of a move: sums over the words and the points,
    each a model of its own."""
    new, words = points_of(case, np.array([[0.3, 1.0], [40.0, -300.0]])), np.array([0, 1, 0, 2, 1, 0])
    reals, options = np.vstack([points_of(case), new]), {"covariance": shape_of(case), "tails": "t", **PRIOR}
    types = [ColumnType("categorical", ("a", "b", "c")), ColumnType("real"), ColumnType("real")]

    def parts(n):
        table = np.column_stack([words[:n], reals[:n]])
        return (
            Dataset("t", "mixed", table, types=types),
            Dataset("t", "mixed", table[:, :1].copy(), types=types[:1]),
            Dataset("t", "points", table[:, 1:].copy()),
        )

    for n, labels in ((4, (0, 0, 1, 2)), (6, (*LABELS, 2, 2))):
        models = [Mixed, Mixed, Gaussian]
        given = [options, {}, options]
        if n == 4:
            models = [cls.from_data(data, **own) for cls, data, own in zip(models, parts(4), given, strict=True)]
        else:
            each = zip(models, parts(4), parts(6), given, strict=True)
            models = [cls.with_new(data, whole, **own) for cls, data, whole, own in each]
        for model in models:
            model.set_labels(np.array(labels, dtype=np.int32))
            if "nu" in model.hyperparameters:
                model.set_parameters([2.0, *WEIGHTS])
        densities = [m.left_out_predictive()[0] if n == 4 else m.log_predictive(4)[0] for m in models]
        np.testing.assert_allclose(densities[0], densities[1] + densities[2], atol=1e-10)
        assert models[0].log_lik_total() == pytest.approx(sum(m.log_lik_total() for m in models[1:]), abs=1e-10)
        if n == 4:
            # new weights change what is kept of every cluster
            Refresh(models[0], Rng(2)).step()
            after = models[0].log_lik_total()
            models[0].set_labels(np.array(labels, dtype=np.int32))
            assert models[0].log_lik_total() == after
    np.testing.assert_array_equal(models[0].row_weights, WEIGHTS)
    for kind in (DrawnParameters, Shards):
        assert models[0].capability(kind) is None


def test_weights_out_of_range_are_rejected_with_their_degrees_of_freedom() -> None:
    """A row so far away that most of its weights would be less than 2^-22: degrees of freedom given that all weights
    are in range."""
    distances, times = np.array([4e7, 2.0, 0.5]), 400_000
    shape = 0.5 * (DEGREES[:, None] + 1)
    rate = 0.5 * (DEGREES[:, None] + distances)
    log_p = gammaln(shape) - gammaln(0.5 * DEGREES)[:, None] + 0.5 * (DEGREES * np.log(0.5 * DEGREES))[:, None]
    log_p = log_p - shape * np.log(rate)
    within = gammainc(shape, 64 * rate) - gammainc(shape, 2.0**-23 * rate)
    expected = np.exp((log_p + np.log(within)).sum(axis=1))
    everywhere = np.exp(log_p.sum(axis=1))
    assert transitions.total_variation(expected / expected.sum(), everywhere / everywhere.sum()) > 0.015
    drawn = draw_row_weights(RowWeights(3, 3, 1), Rng(5), distances, times)
    frequency = np.array([(drawn == nu).mean() for nu in DEGREES])
    assert transitions.total_variation(frequency, expected / expected.sum()) < 0.006
