"""`subcluster` by enumeration on a finite base measure, and by the densities it draws from; the same bytes for any
number of threads.
"""

import numpy as np
import pytest
from compiled import pieces
from compiled.finite import FiniteMixture, FiniteSlice, FiniteWeights, SliceWeights

from splitmerge_cli.core.prior import TablePrior
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.core.threads import Stream
from splitmerge_cli.kinds.tables.models.bernoulli import Bernoulli
from splitmerge_cli.kinds.tables.models.gaussian import Gaussian
from splitmerge_cli.kinds.tables.models.mixed import Mixed
from splitmerge_cli.priors import specification
from splitmerge_cli.priors.crp import ChineseRestaurant
from splitmerge_cli.priors.uniform import Uniform
from splitmerge_cli.samplers.slice import Slice
from splitmerge_cli.samplers.subcluster import Subcluster
from splitmerge_cli.verify.enumerate import mixture_states, normalise, state_of
from splitmerge_cli.verify.kernel import EXACT
from splitmerge_cli.verify.transitions import is_irreducible, stationarity_defect, total_variation, transition_matrix

LIMIT = 30_000_000
# items, candidates of a parameter, whether weights have values too, options
FINITE = [
    (1, 2, True, {"rounds": 1}),
    (2, 3, True, {"t": 0, "rounds": 2, "pairs": 2}),
    (3, 2, True, {"t": 1, "rounds": 1}),
    (3, 2, True, {"t": 0, "rounds": 1, "splits": 0.2}),
    (3, 2, False, {"t": 3, "rounds": 2}),
    (3, 2, True, {"rounds": 0, "pairs": 2, "near": 2}),
    (4, 2, True, {"rounds": 0}),
    (4, 2, False, {"t": 2, "rounds": 1}),
    (4, 1, True, {"t": 1, "rounds": 1}),
    (4, 3, True, {"scan": False, "t": 1, "rounds": 1, "splits": 0.7}),
    (4, 2, True, {"scan": False, "rounds": 0, "pairs": 3}),
    (4, 2, True, {"scan": False, "rounds": 0, "pairs": 1, "near": 3}),
    (5, 2, True, {"scan": False, "t": 1, "rounds": 1}),
    (5, 2, True, {"scan": False, "rounds": 0, "pairs": 2}),
]


def finite(n: int, candidates: int, weights: bool, seed: int = 0) -> FiniteMixture:
    generator = np.random.default_rng([n, candidates, seed])
    base = generator.dirichlet(np.ones(candidates))
    prior = FiniteWeights(n, (0.5, 2.0), (0.7, 0.4), 1.3) if weights else Uniform(n)
    return FiniteMixture(generator.normal(0.0, 1.5, (n, candidates)), base, prior)


def matrix(model: FiniteMixture, omitted: str | None = None, **options):
    rng = Rng(0)
    # few choices, unless it is these that count
    sampler = Subcluster(model, rng, **{"near": 1, "pairs": 0} | options)
    if omitted:
        sampler.omit(omitted)
    states = mixture_states(model.N)
    return transition_matrix(model, rng, sampler, states, LIMIT), normalise([model.log_posterior(s) for s in states])


@pytest.mark.parametrize("case", range(len(FINITE)))
def test_kernel_on_a_finite_base_measure(case):
    n, candidates, weights, options = FINITE[case]
    P, pi = matrix(finite(n, candidates, weights), **options)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-10)
    assert stationarity_defect(P, pi) < EXACT
    # new clusters come from splits alone
    assert is_irreducible(P) == (n == 1 or options["rounds"] > 0 or "pairs" in options)


@pytest.mark.parametrize("seed", range(1, 4))
def test_kernel_of_six_items(seed):
    P, pi = matrix(finite(6, 2, True, seed), scan=False, t=1, rounds=1)
    assert stationarity_defect(P, pi) < EXACT


@pytest.mark.parametrize("options", [{"t": 1, "rounds": 1}, {"rounds": 0, "pairs": 1}])
@pytest.mark.parametrize("term", Subcluster.TERMS)
def test_every_term_counts(term, options):
    P, pi = matrix(finite(4, 2, True), term, scan=False, **options)
    assert stationarity_defect(P, pi) > 1e-4


STREAMS = {
    "scan": {"t": 0},
    "one round": {"scan": False, "t": 0, "splits": 0.4},
    "rounds": {"scan": False, "t": 1, "rounds": 3},
    "neighbours": {"rounds": 0, "pairs": 3, "near": 2},
    "a restaurant": {"t": 0, "rounds": 1},
}


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n == "rounds")) for n in STREAMS])
def test_a_chain_samples_the_posterior(name):
    """From the streams of the items and clusters, which no script takes the place of; and pairs of clusters that are
    rejected before their blocks are opened. Weights of a restaurant are gamma numbers, which no script lists."""
    model, rng, batches = finite(5, 2, True), Rng(3), 40
    if name == "a restaurant":
        model = FiniteMixture(np.random.default_rng(2).normal(0.0, 1.5, (5, 2)), [0.4, 0.6], ChineseRestaurant(5, 1.3))
    sampler = Subcluster(model, rng, **{"near": 1, "pairs": 0} | STREAMS[name])
    states = mixture_states(5)
    pi = normalise([model.log_posterior(s) for s in states])
    index, counts = {s[0]: t for t, s in enumerate(states)}, np.zeros((batches, len(states)))
    for b in range(batches):
        for _ in range(8_000):
            sampler.step()
            counts[b, index[state_of(model.labels, model.K)[0]]] += 1
    counts /= 8_000
    error = counts.std(axis=0, ddof=1) / np.sqrt(batches)
    noise = np.sqrt(0.5 / np.pi) * error.sum()
    assert total_variation(counts.mean(axis=0), pi) < 2.0 * noise < 0.05


def table(n: int, seed: int = 5):
    """Two heaps of points, and rows like them."""
    generator = np.random.default_rng(seed)
    side = generator.integers(2, size=n)
    reals = generator.normal(0.0, 1.0, (n, 3)) + 2.5 * side[:, None]
    binary = (generator.random((n, 6)) < np.where(side, 0.8, 0.3)[:, None]).astype(np.uint8)
    columns = [
        binary[:, 0],
        (side + generator.integers(2, size=n)) % 3,
        generator.poisson(2.0 + 3.0 * side),
        reals[:, 0],
    ]
    mixed = np.column_stack([np.array(columns).T.astype(float), reals[:, 1]])
    mixed[generator.random(mixed.shape) < 0.1] = np.nan
    return reals, binary, mixed


MODELS = {
    "diag": lambda n: Gaussian(table(n)[0]),
    "iso": lambda n: Gaussian(table(n)[0], covariance="iso"),
    "full": lambda n: Gaussian(table(n)[0], covariance="full", prior="uniform"),
    "bernoulli": lambda n: Bernoulli(table(n)[1], beta1=0.02),
    "mixed": lambda n: Mixed(table(n)[2], ("binary", "categorical", "count", "real", "real")),
}


@pytest.mark.parametrize("name", MODELS)
def test_mean_density_is_the_predictive(name):
    """E p(x | theta) over draws of theta is the predictive, the densities being up to a constant of the item."""
    model = MODELS[name](40)
    labels = (np.arange(40) >= 6).astype(np.int32)
    labels[-5:] = 2
    model.set_labels(labels)
    items = np.arange(35, 40, dtype=np.int32)
    rng = Rng(1)
    draws = np.exp([[pieces.draw_scores(model, rng, items, k) for k in range(2)] for _ in range(20_000)])
    mean, error = draws.mean(axis=0), draws.std(axis=0) / np.sqrt(len(draws))
    wanted = np.array([[pieces.log_pred(model, i, k) for i in items] for k in range(2)])
    found = np.log(mean[1] / mean[0])
    spread = np.sqrt(((error / mean) ** 2).sum(axis=0))
    assert (np.abs(found - (wanted[1] - wanted[0])) < 4.5 * spread + 1e-9).all()
    assert (spread < 0.1).all()


@pytest.mark.parametrize("name", MODELS)
def test_threads_change_nothing(name):
    ends = []
    for threads in (1, 2, 5):
        model, rng = MODELS[name](2_000), Rng(3)
        sampler = Subcluster(model, rng)
        sampler.threads = threads
        for _ in range(12):
            sampler.step()
        ends.append((model.labels.tolist(), model.log_joint(), rng.state, sampler.counts()))
    assert ends[0] == ends[1] == ends[2]
    assert model.K > 1
    before = model.log_joint()
    model.set_labels(model.labels)
    assert model.log_joint() == pytest.approx(before, rel=1e-12)


SHARED = {
    "diag": lambda theta: np.concatenate([theta[1::2], 2.0 * np.log(theta[2::2])]),
    "iso": lambda theta: np.append(theta[1::2], 2.0 * np.log(theta[2])),
    "bernoulli": lambda theta: theta[1::2],
}
"""Models whose parameters two chains share, and the coordinates of their densities."""


def posteriors(name: str):
    """A model with two clusters, and the distributions of their parameters."""
    model = MODELS[name](40)
    model.set_labels((np.arange(40) >= 18).astype(np.int32))
    return model, [pieces.draw_from_posterior(model, Rng(0), k)[0] for k in range(2)]


@pytest.mark.parametrize("name", SHARED)
def test_densities_are_those_of_the_draws(name):
    """q / p has the mean 1 over draws from p, and p over the density of normal numbers, in its coordinates, over draws
    of these: both are normalised."""
    model, (p, q) = posteriors(name)
    rng, generator, ratios, normal = Rng(3), np.random.default_rng(3), [], []
    # between the two, so that no ratio is large
    q = p + 0.05 * (q - p)
    for _ in range(8_000):
        theta = pieces.draw_from_posterior(model, rng, 0)[1]
        ratios.append(pieces.log_density(model, q, theta) - pieces.log_density(model, p, theta))
        zeta = 0.9 * generator.normal(size=pieces.to_normal(model, p, theta)[0].shape)
        theta, log_det = pieces.from_normal(model, p, zeta)
        log_normal = log_det - 0.5 * (zeta @ zeta) / 0.81 - len(zeta) * np.log(0.9 * np.sqrt(2.0 * np.pi))
        normal.append(pieces.log_density(model, p, theta) - log_normal)
    for values in (np.exp(ratios), np.exp(normal)):
        assert values.std() > 0.01
        assert abs(values.mean() - 1.0) < 4.5 * values.std() / np.sqrt(len(values)) < 0.1


@pytest.mark.parametrize("name", SHARED)
def test_maps_to_normal_numbers(name):
    """Inverse to each other; the determinant is that of the differences."""
    model, (p, _) = posteriors(name)
    theta = pieces.draw_from_posterior(model, Rng(4), 0)[1]
    zeta, log_det = pieces.to_normal(model, p, theta)
    again, same = pieces.from_normal(model, p, zeta)
    np.testing.assert_allclose(again, theta, rtol=1e-9, atol=1e-12)
    assert same == pytest.approx(log_det, rel=1e-9)
    assert (np.abs(zeta) < 5).all()
    step = 1e-5 * np.eye(len(zeta))
    ends = [[SHARED[name](pieces.from_normal(model, p, zeta + s * each)[0]) for s in (1, -1)] for each in step]
    jacobian = np.array([(up - down) / 2e-5 for up, down in ends])
    assert np.linalg.slogdet(jacobian)[1] == pytest.approx(-log_det, abs=1e-5)


def test_streams_are_philox():
    key, number, purpose = (7, 11), 5, 2
    # NumPy's generator counts before it makes a block
    counter = np.array([2**64 - 1, number - 1, purpose, 0], dtype=np.uint64)
    theirs = np.random.Philox(key=np.array(key, dtype=np.uint64), counter=counter)
    assert pieces.stream_words(Stream(), key, number, purpose, 12) == theirs.random_raw(12).tolist()


# ---- `slice` by enumeration with finitely many components, weights and parameters; and the weights that it draws.

# items, components, values of a weight and their masses, candidates of a parameter
SLICE_FINITE = [
    (1, 2, (0.5, 2.0), (0.7, 0.4), 2),
    (2, 2, (1.0,), (1.0,), 2),
    (2, 3, (0.2, 1.0, 1.7), (0.5, 0.3, 0.2), 2),
    (3, 2, (0.5, 2.0), (0.7, 0.4), 2),
    (3, 3, (0.5, 2.0), (0.7, 0.4), 1),
    (4, 2, (0.5, 2.0), (0.2, 1.0), 1),
    (4, 3, (0.5, 2.0), (0.7, 0.4), 2),
]


class FiniteComponents(TablePrior):
    """Partitions of M components, each with a weight from a finite set, the probability of a label being its weight."""

    NAME = "finite_components"
    CASE = 2, (1.0,), (1.0,)

    def tables(self, concentration, **options):
        (components, values, masses), n = self.CASE, np.arange(self.N + 1)
        moments = (np.array(masses) * np.array(values) ** n[:, None]).sum(axis=1)
        ways = np.array([np.prod(components - np.arange(K)) for K in n], dtype=float)
        with np.errstate(divide="ignore"):
            return np.log(moments), np.log(ways) - n * np.log(moments[0])


def case_of(case: int, seed: int = 0) -> tuple[FiniteMixture, tuple]:
    n, components, values, masses, candidates = SLICE_FINITE[case]
    generator = np.random.default_rng([case, seed])
    prior = type("Prior", (FiniteComponents,), {"CASE": (components, values, masses)})(n)
    table, base = generator.normal(0.0, 1.5, (n, candidates)), generator.dirichlet(np.ones(candidates))
    return FiniteMixture(table, base, prior), (components, values, masses)


def slice_matrix(case: int, **options):
    model, given = case_of(case)
    rng = Rng(0)
    sampler = FiniteSlice(model, rng, *given, **options)
    states = [state for state in mixture_states(model.N) if state[1] <= given[0]]
    return transition_matrix(model, rng, sampler, states, LIMIT), normalise([model.log_posterior(s) for s in states])


@pytest.mark.parametrize("case", range(len(SLICE_FINITE)))
def test_kernel_with_finitely_many_components(case):
    P, pi = slice_matrix(case)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-10)
    assert stationarity_defect(P, pi) < EXACT
    assert is_irreducible(P)


@pytest.mark.parametrize("case", [2, 3, 5])
def test_thresholds_count(case):
    P, pi = slice_matrix(case, thresholds=False)
    assert stationarity_defect(P, pi) > 1e-3


class TooMany(ChineseRestaurant):
    """A Chinese restaurant process whose components without items have twice their weight."""

    def gamma_weights(self, K):
        return 0.0, 2.0 * self.concentration


WEIGHTS = {
    "crp": lambda: ChineseRestaurant(4, 1.3),
    "few clusters": lambda: ChineseRestaurant(4, 1e-3),
    "many clusters": lambda: ChineseRestaurant(4, 8.0),
    "seven components": lambda: components_of(7.0, 2.0),
    "two components": lambda: components_of(2.0, 0.3),
    "too many": lambda: TooMany(4, 1.3),
}


def components_of(m: float, concentration: float):
    prior = specification("dynamic_mfm(components=poisson(3))").build(4, concentration)
    prior.set_value("components", m)
    return prior


@pytest.mark.parametrize("name", WEIGHTS)
def test_posterior_of_four_items(name):
    """Shares of the partitions in a chain, in standard errors by batches, beside the enumerated posterior."""
    generator = np.random.default_rng(3)
    model = FiniteMixture(generator.normal(0.0, 1.5, (4, 3)), generator.dirichlet(np.ones(3)), WEIGHTS[name]())
    states = mixture_states(4)
    pi = normalise([model.log_posterior(state) for state in states])
    number = {state: t for t, state in enumerate(states)}
    sampler, visits = Slice(model, Rng(7)), np.zeros((60, len(states)))
    for batch in visits:
        for _ in range(600):
            sampler.step()
            batch[number[state_of(model.labels, model.K)]] += 1 / 600
    known = pi > 0.01
    error = visits.std(axis=0, ddof=1)[known] / np.sqrt(len(visits))
    off = np.abs(visits.mean(axis=0) - pi)[known] / error
    assert (off.max() > 6.0) if name == "too many" else (off.max() < 4.5)


@pytest.mark.parametrize(("m", "concentration"), [(3.0, 6.0), (4.0, 2.0)])
def test_shares_of_components_without_items(m, concentration):
    """Items that tell nothing apart, from partitions drawn from the prior: after a step they are distributed as before,
    which asks for the joint distribution of the weights of all components without items."""
    prior = components_of(m, concentration)
    model, generator = FiniteMixture(np.zeros((4, 2)), [0.5, 0.5], prior), np.random.default_rng(1)
    states = mixture_states(4)
    pi = normalise([model.log_posterior(state) for state in states])
    number = {state: t for t, state in enumerate(states)}
    sampler, counts, draws = Slice(model, Rng(3)), np.zeros(len(states)), 20_000
    for t in generator.choice(len(states), size=draws, p=pi):
        model.set_labels(np.array(states[t][0]))
        sampler.step()
        counts[number[state_of(model.labels, model.K)]] += 1
    off = (counts / draws - pi) / np.sqrt(pi * (1.0 - pi) / draws + 1e-12)
    assert np.abs(off).max() < 4.5


@pytest.mark.parametrize(("m", "concentration"), [(4, 2.0), (3, 0.9), (6, 9.0)])
def test_weights_of_components_without_items(m, concentration):
    """Their shares are Dirichlet, whatever the order in which sticks are broken: the sum of their squares, and the
    weights of the cluster and of these together, by means."""
    prior, g = components_of(float(m), concentration), concentration / m
    model = FiniteMixture(np.zeros((4, 2)), [0.5, 0.5], prior)
    sampler = SliceWeights(model, Rng(5))
    drawn = np.array([sampler.draw_all_weights() for _ in range(4000)])
    assert drawn.shape[1] == m
    rest = drawn[:, 1:]
    squares = (rest**2).sum(axis=1) / rest.sum(axis=1) ** 2
    expected = {"squares": (g + 1) / ((m - 1) * g + 1), "cluster": 4 + g, "rest": (m - 1) * g}
    for name, values in (("squares", squares), ("cluster", drawn[:, 0]), ("rest", rest.sum(axis=1))):
        assert abs(values.mean() - expected[name]) < 4.5 * values.std() / np.sqrt(len(values)), name


def test_a_concentration_that_takes_too_many_components_is_rejected():
    model = FiniteMixture(np.zeros((4, 2)), [0.5, 0.5], ChineseRestaurant(4, 1e16))
    with pytest.raises(ValueError, match="concentration: expected 1000 at most"):
        Slice(model, Rng(0))
