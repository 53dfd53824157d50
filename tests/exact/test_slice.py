"""`slice` by enumeration with finitely many components, weights and parameters; and the weights that it draws."""

import numpy as np
import pytest
from compiled.finite import FiniteMixture, FiniteSlice, SliceWeights

from splitmerge_cli.core.prior import TablePrior
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.priors import specification
from splitmerge_cli.priors.crp import ChineseRestaurant
from splitmerge_cli.samplers.slice import Slice
from splitmerge_cli.verify.enumerate import mixture_states, normalise, state_of
from splitmerge_cli.verify.kernel import EXACT
from splitmerge_cli.verify.transitions import is_irreducible, stationarity_defect, transition_matrix

LIMIT = 30_000_000
# items, components, values of a weight and their masses, candidates of a parameter
FINITE = [
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
    n, components, values, masses, candidates = FINITE[case]
    generator = np.random.default_rng([case, seed])
    prior = type("Prior", (FiniteComponents,), {"CASE": (components, values, masses)})(n)
    table, base = generator.normal(0.0, 1.5, (n, candidates)), generator.dirichlet(np.ones(candidates))
    return FiniteMixture(table, base, prior), (components, values, masses)


def matrix(case: int, **options):
    model, given = case_of(case)
    rng = Rng(0)
    sampler = FiniteSlice(model, rng, *given, **options)
    states = [state for state in mixture_states(model.N) if state[1] <= given[0]]
    return transition_matrix(model, rng, sampler, states, LIMIT), normalise([model.log_posterior(s) for s in states])


@pytest.mark.parametrize("case", range(len(FINITE)))
def test_kernel_with_finitely_many_components(case):
    P, pi = matrix(case)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-10)
    assert stationarity_defect(P, pi) < EXACT
    assert is_irreducible(P)


@pytest.mark.parametrize("case", [2, 3, 5])
def test_thresholds_count(case):
    P, pi = matrix(case, thresholds=False)
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
