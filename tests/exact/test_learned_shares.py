"""Networks whose shares of edges have a prior that is learned, within blocks and between two: against pairs one after
the other and quadrature, every sampler alone, under powers of the likelihood, and states that resume.
"""

from collections import Counter
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from compiled import pieces as compiled
from every_sampler import SAMPLERS, check_kernels, chooses, is_adaptive
from numpy.typing import NDArray
from relation_cases import DEFAULTS, FORMS, dataset_of, log_lik, relation
from scipy import stats
from scipy.special import betaln, expit, logit, logsumexp
from small_cases import check_resumption

from splitmerge_cli.core.chain import Chain
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.core.simulation import Given
from splitmerge_cli.kinds.networks import data, layout, start
from splitmerge_cli.kinds.networks.data import Relation, Relations
from splitmerge_cli.kinds.networks.irm import IRM
from splitmerge_cli.kinds.networks.link_scores import links_of
from splitmerge_cli.kinds.networks.simulated import simulate_relations
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.refresh import Refresh
from splitmerge_cli.samplers.split_merge import Dyadic
from splitmerge_cli.verify import cases, kernel, transitions
from splitmerge_cli.verify.enumerate import log_prior, mixture_states, normalise

OPTIONS = DEFAULTS | {"density": "learned", "concentration": 1.3}
NAMES = ("undirected", "directed-loops-unknown", "levels-directed-unknown", "layers", "columns")
FIXED = [[0.8, 1.7], [0.1, 0.4]]
"""Mean and weight within blocks, and between two."""
MEANS, WEIGHTS = np.linspace(-9.0, 9.0, 73), np.linspace(-14.0, 6.0, 81)
"""Logits of means, logarithms of weights."""


def network(name: str) -> Relations:
    return Relations(5, (relation(3, 5, unknown=1),)) if name == "five" else FORMS[name][0]


def options_of(relations: Relations) -> dict[str, Any]:
    return OPTIONS | ({} if len(relations.layers) == 1 else {"rate": [0.5, 0.8, 1.0]})


def build(relations: Relations, **changed: Any) -> IRM:
    return IRM.from_data(dataset_of(relations), **options_of(relations) | changed)


def with_shares(relations: Relations, shares: Any = FIXED) -> IRM:
    """The model with these shares of each layer that has some; they are resampled no more unless it is refreshed."""
    model = build(relations)
    model.set_parameters(np.tile(np.ravel(shares), len(model.parameters) // 4)[:, None])
    return model


def log_prior_of_shares(shares: Any) -> float:
    return float(sum(stats.gamma.logpdf(weight, 0.5, scale=20.0) for _, weight in shares))


@pytest.mark.parametrize("name", NAMES)
def test_log_likelihood(name: str) -> None:
    """Pair after pair, with another prior within blocks than between two."""
    relations = network(name)
    model = with_shares(relations)
    of_pairs = options_of(relations) | {"shares": [FIXED] * len(relations.layers)}
    number = len(model.parameters) // 4
    for labels, _ in mixture_states(relations.N):
        model.set_labels(np.array(labels))
        expected = log_lik(relations, np.array(labels), of_pairs)
        found = model.log_lik_total()
        if relations.columns is not None:
            columns = model.columns
            columns.set_labels(np.array(labels))
            expected += columns.log_lik_total()
        assert found == pytest.approx(expected, abs=1e-9)
        rest = model.log_joint() - found - log_prior(1.3, "crp", np.array(labels))
        if labels == (0,) * relations.N:
            first = rest
        assert rest == pytest.approx(first, abs=1e-9)
    other = with_shares(relations, [[0.3, 2.5], [0.6, 0.2]])
    other.set_labels(model.labels)
    differ = (model.log_joint() - model.log_lik_total()) - (other.log_joint() - other.log_lik_total())
    expected = log_prior_of_shares(FIXED) - log_prior_of_shares([[0.3, 2.5], [0.6, 0.2]])
    assert differ == pytest.approx(number * expected)


def log_shares(e: Any, m: Any, power: float = 1.0) -> NDArray[np.float64]:
    """Log density of logit and logarithm, `MEANS` by `WEIGHTS`, and of e edges among m pairs of each two blocks."""
    t, u = MEANS[:, None], WEIGHTS[None, :]
    mean, weight = expit(t), np.exp(u)
    a, b = mean * weight, (1 - mean) * weight
    total = sum((betaln(a + x, b + n - x) - betaln(a, b) for x, n in zip(e, m, strict=True)), np.zeros((1, 1)))
    inside = (weight >= layout.LEAST_PRECISION) & (weight <= layout.MOST_PRECISION)
    prior = np.log(mean * (1 - mean)) + stats.gamma.logpdf(weight, 0.5, scale=20.0) + u
    return np.where(inside, prior, -np.inf) + power * total


def cells(relations: Relations, labels: NDArray[np.int64], r: int = 0) -> list[list[tuple[float, float]]]:
    """Edges and known pairs of each block, and of each two; directed ones in both directions."""
    layer = relations.layers[r]
    table = layer.block_table(labels)
    K = len(table.rows)
    both = [(k, j) for k in range(K) for j in range(K) if (k != j if layer.directed else k < j)]
    return [[(table.edges[at], table.pairs[at]) for at in where] for where in ([(k, k) for k in range(K)], both)]


@pytest.mark.parametrize("power", [1.0, 0.4])
@pytest.mark.parametrize("name", ["undirected", "directed-loops-unknown"])
def test_a_refresh_draws_from_the_conditional(name: str, power: float) -> None:
    relations, labels = network(name), np.array([0, 1, 0, 1])
    model, rng = build(relations), Rng(1)
    model.set_labels(labels)
    if power < 1.0:
        model.temper(power)
    refresh, drawn = Refresh(model, rng), []
    for _ in range(16_000):
        refresh.step()
        drawn.append(model.parameters.ravel())
    kept = np.array(drawn)[::20]
    for own, of_blocks in enumerate(cells(relations, labels)):
        density = log_shares(*zip(*of_blocks, strict=True), power=power)
        density = np.exp(density - density.max())
        for axis, line, values in ((1, MEANS, logit(kept[:, 2 * own])), (0, WEIGHTS, np.log(kept[:, 2 * own + 1]))):
            # the middle of each step
            through = np.cumsum(density.sum(axis=axis)) - density.sum(axis=axis) / 2
            place = np.interp(values, line, through / density.sum())
            assert stats.kstest(place, "uniform").pvalue > 1e-3
    names = ("within", "within_weight", "between", "between_weight")
    assert model.hyperparameters == names
    assert model.parameters.ravel().tolist() == [model.hyperparameter_values[name] for name in names]


@cache
def case_of(name: str) -> cases.Case:
    """The posterior of the partition, the priors of the shares integrated out."""
    relations = network(name)
    states, log_p = mixture_states(relations.N), []
    for labels, _ in states:
        z = np.array(labels)
        log_p.append(log_prior(1.3, "crp", z))
        for r in range(len(relations.layers)):
            log_p[-1] += sum(
                logsumexp(log_shares(*zip(*one, strict=True))) if one else 0.0 for one in whole(relations, z, r)
            )
    return cases.Case(build(relations), lambda: build(relations), states, normalise(log_p), name)


def whole(relations: Relations, labels: NDArray[np.int64], r: int) -> list[list[tuple[float, float]]]:
    """`cells`; where there is no pair of blocks the prior is all there is."""
    return [of_blocks or [(0.0, 0.0)] for of_blocks in cells(relations, labels, r)]


NETWORKS, KERNELS = ("five", "directed-loops-unknown", "undirected"), ("gibbs", "split-merge", "parts")


@pytest.mark.parametrize(
    ("name", "samplers"),
    [
        # each network and each kernel once; the rest are slow
        pytest.param(name, samplers, marks=[pytest.mark.slow] * (i != j))
        for i, name in enumerate(NETWORKS)
        for j, samplers in enumerate(KERNELS)
    ],
)
def test_the_joint_chain_has_the_posterior_by_quadrature(name: str, samplers: str) -> None:
    case, rng = case_of(name), Rng(7)
    model = build(network(name), parts=3) if samplers == "parts" else case.build()
    moves: list[Any] = [Gibbs(model, rng), Refresh(model, rng)]
    if samplers == "split-merge":
        moves.insert(0, Dyadic(model, rng))
    case = replace(case, model=model)
    frequencies, noise = kernel.sampled_frequencies(case, moves, rng, 40_000)
    assert transitions.total_variation(frequencies, case.pi) < 3.0 * noise


def test_layers_learn_priors_of_their_own() -> None:
    """Two of edges that are there or not, one of counts between them."""
    one, counts, other = network("undirected").layers[0], network("counts-loops").layers[0], relation(9, 4)
    relations = Relations(4, (one, counts, other))
    model = IRM.from_data(
        dataset_of(relations),
        **options_of(relations),
    )
    assert model.hyperparameters[:3] == ("within1", "within_weight1", "between1")
    assert len(model.parameters) == 8
    numbers = np.array([0.8, 1.7, 0.1, 0.4, 0.3, 2.5, 0.6, 0.2])
    model.set_parameters(numbers[:, None])
    shares = layout.shares_of(relations.layers, options_of(relations), model.parameters)
    assert shares is not None
    np.testing.assert_array_equal(shares[2], [[0.3, 2.5], [0.6, 0.2]])
    labels = np.array([0, 0, 1, 1])
    model.set_labels(labels)
    expected = log_lik(relations, labels, options_of(relations) | {"shares": shares})
    assert model.log_lik_total() == pytest.approx(expected, abs=1e-9)
    both = build(relations, precision="gamma(1.5,0.5)")
    assert both.hyperparameters[:2] == ("precision", "within1") and len(both.parameters) == 9
    np.testing.assert_array_equal(
        layout.shares_of(relations.layers, OPTIONS, both.parameters)[0], both.parameters[1:5].reshape(2, 2)
    )


def kernels() -> list[str]:
    model = case_of("undirected").model
    return [
        s
        for s, form in SAMPLERS.items()
        if form.sampler.supports(model)[0]
        and not is_adaptive(s)
        and not form.sampler.DRAWS_FROM_CONTINUUM
        and s != "refresh"
        and not form.options.get("relabel")
        and form.options.get("pairs") != "hashed"
        and chooses(form, model)
    ]


@pytest.mark.parametrize("name", ["undirected", "directed-loops-unknown"])
def test_every_kernel_is_exact_given_the_priors(name: str) -> None:
    relations = network(name)
    states, log_p = mixture_states(relations.N), []
    for labels, _ in states:
        z = np.array(labels)
        log_p.append(log_lik(relations, z, OPTIONS | {"shares": [FIXED]}) + log_prior(1.3, "crp", z))
    case = cases.Case(
        with_shares(relations), lambda: with_shares(relations), states, normalise(log_p), f"learned {name}"
    )
    check_kernels(case, kernels(), True)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_kept_of_blocks_heeds_new_priors(name: str) -> None:
    """After a change scores are those of a model that has it from the start."""
    relations = network(name)
    model, other = build(relations), with_shares(relations)
    for one in (model, other):
        one.set_labels(np.array([0, 1, 0, 2]))
    compiled.scan(model, 0)
    model.set_parameters(other.parameters)
    np.testing.assert_array_equal(compiled.scan(model, 0), compiled.scan(other, 0))
    assert model.log_joint() == other.log_joint()


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("shares", [FIXED, [[0.001, 1e5], [0.97, 1e-5]]])
def test_large_blocks_have_their_likelihood(shares: Any, directed: bool) -> None:
    """Their numbers of pairs lie past the ends of the tables, before and after these are filled again."""
    drawn = np.random.default_rng(1).random((300, 300)) < 0.1
    ends = np.argwhere(drawn & ~np.eye(300, dtype=bool) if directed else np.triu(drawn, 1)).astype(np.int32)
    layer = Relation("", ends, directed=directed)
    model = IRM(Relations(300, (layer,), is_simple=not directed), density="learned")
    labels = (np.arange(300) < 180).astype(np.int32)
    model.set_labels(labels)
    table = layer.block_table(labels)
    for values in ([[0.5, 3.0], [0.2, 0.7]], shares):
        model.set_parameters(np.ravel(values)[:, None])
        expected = 0.0
        for k, j in ((0, 0), (1, 1), (0, 1), *[(1, 0)] * directed):
            mean, weight = values[k != j]
            beta1, beta0 = mean * weight, (1 - mean) * weight
            e, m = table.edges[k, j], table.pairs[k, j]
            expected += betaln(beta1 + e, beta0 + m - e) - betaln(beta1, beta0)
        assert model.log_lik_total() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("counts", [[], [3], [0, 7, 7, 2, 0, 0], [5, 10**12, 5], [2**20] * 3])
def test_counts_are_tallied(counts: list[int]) -> None:
    numbers, times = data.tally(np.array(counts, dtype=np.int64))
    assert dict(zip(numbers, times, strict=True)) == Counter(counts)
    assert (np.diff(numbers) > 0).all() and numbers.dtype == times.dtype == np.float64


def test_priors_are_integrated_out() -> None:
    """By Laplace's approximation, which is near where there are many blocks."""
    rng = np.random.default_rng(2)
    labels = np.arange(60) % 12
    share = np.where(labels[:, None] == labels, 0.8, rng.beta(1.0, 9.0, (12, 12))[labels[:, None], labels])
    ends = np.argwhere(np.triu(rng.random((60, 60)) < share, 1)).astype(np.int32)
    relations = Relations(60, (Relation("", ends),))
    model = IRM.from_data(dataset_of(relations), **OPTIONS)
    model.set_labels(labels.astype(np.int32))
    step = np.log((MEANS[1] - MEANS[0]) * (WEIGHTS[1] - WEIGHTS[0]))
    expected = sum(logsumexp(log_shares(*zip(*one, strict=True))) + step for one in cells(relations, labels))
    model.set_parameters(np.array([[0.5], [2.0], [0.5], [2.0]]))
    prior = model.log_joint() - model.log_lik_total() - log_prior_of_shares([[0.5, 2.0]] * 2)
    assert start.integrate_parameters(model) == pytest.approx(expected + prior, abs=3.0)


def test_a_chain_goes_on_with_its_priors() -> None:
    def make() -> Chain:
        model, rng = case_of("undirected").build(), Rng(5)
        return Chain(model, rng, [Gibbs(model, rng), Refresh(model, rng)])

    first, _ = check_resumption(make, recorded=("within", "between_weight"))
    assert len(set(first.advance(40)["within"].tolist())) > 10


def test_links_have_the_prior_of_their_blocks() -> None:
    relations, labels = network("undirected"), np.array([0, 0, 1, 1])
    shares = [np.array(FIXED)]
    (links,) = links_of(relations, labels, OPTIONS | {"shares": shares})
    table = relations.layers[0].block_table(labels)
    for pair, (mean, weight) in (((0, 1), FIXED[0]), ((0, 2), FIXED[1])):
        k, j = labels[list(pair)]
        expected = (mean * weight + table.edges[k, j]) / (weight + table.pairs[k, j])
        assert links.probability(np.array([pair]))[0] == pytest.approx(expected)


def test_networks_are_drawn_with_the_shares_of_a_state_or_of_the_prior() -> None:
    relations, rng = Relations(60, (relation(1, 60),)), np.random.default_rng(0)
    dataset, labels = dataset_of(relations), np.arange(60) // 5
    for values in (np.array([0.9, 1e4, 0.02, 1e4]), None):
        given = Given(dataset, labels, OPTIONS, None if values is None else values[:, None], known=0)
        within, between = [], []
        for _ in range(1 if values is not None else 60):
            table = simulate_relations(rng, given).layers[0].block_table(labels)
            own = np.eye(12, dtype=bool)
            within.append(table.edges[own].sum() / table.pairs[own].sum())
            between.append(table.edges[~own].sum() / table.pairs[~own].sum())
        if values is not None:
            assert within[0] == pytest.approx(0.9, abs=0.1) and between[0] == pytest.approx(0.02, abs=0.01)
        else:
            # means are uniform: their standard deviation is 0.29
            for shares in (within, between):
                assert np.mean(shares) == pytest.approx(0.5, abs=0.15) and np.std(shares) > 0.18
            assert abs(np.corrcoef(within, between)[0, 1]) < 0.5


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("undirected", {"degrees": "corrected"}, "model.density=learned: expected a number or null with model.degrees"),
        ("sides", {}, "two kinds of nodes"),
        ("counts-loops", {}, "expected edges that are there or not in a layer"),
        ("undirected", {"density": "learnt"}, "expected a number .* or learned"),
    ],
)
def test_refusals(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build(network(name), **options)


def test_parameters_are_checked() -> None:
    model = case_of("undirected").build()
    with pytest.raises(ValueError, match="expected 4 numbers"):
        model.set_parameters(np.ones((2, 1)))
    for wrong in ([1.0, 2.0, 0.5, 2.0], [0.5, 2.0, 0.5, 0.0], [0.5, 2e6, 0.5, 1.0]):
        with pytest.raises(ValueError, match="expected numbers from"):
            model.set_parameters(np.array(wrong)[:, None])
