"""Networks as they are: log likelihoods by another route, every sampler alone on every form, scans on larger networks,
statistics, starts, refusals.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import scores
from calibration import bin_ranks, rank_of, uniformity
from compiled import pieces as compiled
from every_sampler import SAMPLERS, check_kernels, check_learners, chooses, is_adaptive
from relation_cases import DEFAULTS, FORMS, dataset_of, log_lik, relation, table_of_nodes
from scipy.special import betaln, gammaln

from splitmerge_cli.core import chain, simulation
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.kinds import get_kind
from splitmerge_cli.kinds.networks.data import BINARY, COUNT, LEVELS, REAL, Relation, Relations
from splitmerge_cli.kinds.networks.irm import IRM
from splitmerge_cli.kinds.networks.link_scores import links_of
from splitmerge_cli.kinds.networks.simulated import simulate_relations
from splitmerge_cli.kinds.tables.models.mixed import Mixed
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.split_merge import Dyadic
from splitmerge_cli.verify import cases, pieces
from splitmerge_cli.verify.enumerate import log_prior, mixture_states, normalise, state_of


@cache
def case_of(name: str) -> cases.Case:
    """The posterior of a small network."""
    relations, changed = FORMS[name]
    options = DEFAULTS | {"concentration": 1.3} | changed
    columns = None if relations.columns is None else Mixed.from_data(relations.columns)

    def build():
        return IRM.from_data(dataset_of(relations), **options)

    states, log_p = [], []
    for labels, K in mixture_states(relations.N):
        z = np.array(labels)
        log_weight = log_lik(relations, z, options) + log_prior(1.3, options.get("prior", "crp"), z)
        if np.isinf(log_weight):
            continue
        if columns is not None:
            columns.set_labels(z)
            log_weight += columns.log_lik_total()
        states.append((labels, K))
        log_p.append(log_weight)
    return cases.Case(build(), build, states, normalise(log_p), name)


def pairs(learning: bool = False) -> list[tuple[str, str]]:
    """Every form of network with every form of every sampler that has a matrix there."""
    return [
        (c, s)
        for c in FORMS
        for s, form in SAMPLERS.items()
        if is_adaptive(s) == learning
        and form.sampler.supports(case_of(c).model)[0]
        and not form.sampler.DRAWS_FROM_CONTINUUM
        and s != "refresh"
        and not (form.options.get("relabel") and (learning or c != "directed"))
        and chooses(form, case_of(c).model)
        and not (form.options.get("pairs") == "hashed" and c != "directed")
    ]


def test_samplers():
    """Every sampler of simple networks reads all others."""
    simple = IRM.from_data(get_kind("graph").example(6))
    of_networks = {s.split("-")[0] for s, form in SAMPLERS.items() if form.sampler.supports(simple)[0]} - {"refresh"}
    assert {s.split("-")[0] for learning in (False, True) for _, s in pairs(learning)} == of_networks


@pytest.mark.parametrize("name", FORMS)
def test_log_likelihood(name):
    """Its value, constants included."""
    relations, changed = FORMS[name]
    options = DEFAULTS | changed
    case = case_of(name)
    for labels, _ in case.states:
        case.model.set_labels(np.array(labels))
        expected = log_lik(relations, np.array(labels), options)
        if relations.columns is not None:
            columns = Mixed.from_data(relations.columns)
            columns.set_labels(np.array(labels))
            expected += columns.log_lik_total()
        assert case.model.log_lik_total() == pytest.approx(expected, abs=1e-10)


OTHERS = [name for name in FORMS if not {name} & {"directed-density", "corrected-loops", "sides", "layers", "columns"}]
"""Forms that repeat what the others and ``test_feature_pairs.py`` prove of some samplers, of all."""


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in OTHERS)) for n in FORMS])
def test_every_kernel_is_exact(name):
    check_kernels(case_of(name), [s for c, s in pairs() if c == name], FORMS[name][0].sides is None)


@pytest.mark.parametrize("name", ["counts-directed-unknown", "sides"])
def test_kernels_of_samplers_that_learn_are_exact(name):
    check_learners(case_of(name), [s for c, s in pairs(learning=True) if c == name])


PARTS = {name: {} for name in ("undirected", "directed-loops-unknown", "corrected", "sides", "columns")} | {
    "counts-directed-unknown": {"prior": "mfm(components=uniform(3))"}
}
"""Forms whose moves of connected parts are enumerated, and options in addition."""


def move_parts(name: str, tries: int, **options) -> tuple[list, np.ndarray, np.ndarray]:
    """States, their posterior, and the transition matrix where one connected part moves."""
    case = case_of(name)
    model = IRM.from_data(
        dataset_of(FORMS[name][0]), **DEFAULTS | {"concentration": 1.3} | FORMS[name][1] | options, parts=tries
    )
    states = [state for state in case.states if state[1] <= model.largest_K]
    log_p = []
    for labels, _ in states:
        model.set_labels(np.array(labels))
        log_p.append(model.log_joint())
    number, rng = {state: t for t, state in enumerate(states)}, Rng(0)
    matrix = np.zeros((len(states), len(states)))
    for t, (labels, _) in enumerate(states):
        rng.script_start()
        is_more = True
        while is_more:
            model.set_labels(np.array(labels))
            rng.script_begin()
            model.move_part(rng)
            matrix[t, number[state_of(model.labels, model.K)]] += rng.script_probability()
            is_more = rng.script_next()
        rng.script_stop()
    return states, normalise(log_p), matrix


@pytest.mark.parametrize("name", PARTS)
def test_moves_of_connected_parts_are_exact(name):
    _, posterior, matrix = move_parts(name, 1, **PARTS[name])
    flow = posterior[:, None] * matrix
    assert matrix.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    assert np.abs(flow - flow.T).max() < 1e-12


def test_several_blocks_are_tried_for_a_part():
    states, posterior, matrix = move_parts("undirected", 3)
    flow, once = posterior[:, None] * matrix, posterior[:, None] * move_parts("undirected", 1)[2]
    assert np.abs(flow - flow.T).max() < 1e-12
    # more of them are left
    assert np.trace(flow) < np.trace(once)
    # two nodes join two others at once
    pairs_of_two = [states.index((labels, 2)) for labels in ((0, 0, 1, 1), (0, 1, 0, 1), (0, 1, 1, 0))]
    assert matrix[pairs_of_two, states.index(((0, 0, 0, 0), 1))].max() > 0.0


def test_a_scan_moves_parts_after_its_nodes():
    """Two cliques that fit either of two blocks: no node leaves its clique."""
    clique = np.array([(i, j) for j in range(6) for i in range(j)], dtype=np.int32)
    network = Relations(24, (Relation("", np.concatenate([clique + 6 * t for t in range(4)])),))
    together = {}
    for parts in (0, 8):
        model, rng = IRM(network, parts=parts, density=0.001), Rng(1)
        model.set_labels(np.repeat([0, 0, 1, 1], 6).astype(np.int32))
        rows = chain.Chain(model, rng, [Gibbs(model, rng)], partitions=1).advance(400)
        together[parts] = {tuple(labels[::6]) for labels in rows["partition_labels"]}
    assert len(together[0]) == 1 < len(together[8])


N = 60
"""Nodes of larger networks."""


def large(form: str, **fields):
    """A larger network of a form, with planted blocks of its own; `corrected`, `precision` and `columns` are no fields
    of it."""
    options = DEFAULTS | {"degrees": "corrected" if fields.pop("corrected", False) else "plain"}
    options |= {"precision": fields.pop("precision", None)}
    columns = table_of_nodes(N) if fields.pop("columns", False) else None
    sides = (np.arange(N) % 3 > 0).astype(np.int8) if fields.pop("sides", False) else None
    layer = relation(5, N, form, sides=sides, **fields)
    kept = np.random.default_rng(1).random(len(layer.ends)) < 0.15
    value = None if layer.value is None else layer.value[kept]
    layers = (type(layer)(layer.name, layer.ends[kept], form, value, layer.levels, **fields_of(layer)),)
    return IRM.from_data(dataset_of(Relations(N, layers, sides, columns=columns)), **options)


def fields_of(layer):
    return {"directed": layer.directed, "loops": layer.loops, "unknown": layer.unknown}


LARGE = {
    "directed-loops-unknown": ("binary", {"directed": True, "loops": True, "unknown": 40}),
    "counts-columns": (COUNT, {"loops": True, "columns": True}),
    "levels-directed": (LEVELS, {"directed": True}),
    "sides-reals": (REAL, {"sides": True, "unknown": 9}),
    "scattered": (COUNT, {"precision": 0.7}),
    "scattered-directed": (COUNT, {"directed": True, "precision": 20.0}),
    "corrected-directed": (COUNT, {"directed": True, "corrected": True}),
    "corrected-sides": ("binary", {"sides": True, "corrected": True, "columns": True}),
}


@pytest.mark.parametrize("name", LARGE)
def test_a_scan_weighs_as_the_joint_density(name):
    """Against more than eight blocks, some of one node."""
    form, fields = LARGE[name]
    model = large(form, **fields)
    labels = model.keep_apart(np.append(np.random.default_rng(2).integers(0, 9, N - 3), [9, 10, 11]).astype(np.int32))
    for i in (0, 1, 2, 17, N - 2, N - 1):
        expected = scores.conditional(model, labels, i)
        w = pieces.scan(model, i)
        np.testing.assert_allclose(w / w.sum(), expected, atol=1e-7)


@pytest.mark.parametrize("name", LARGE)
def test_statistics_are_exactly_back(name):
    """After many moves, and in a model that is set to the state: labels are the whole state."""
    form, fields = LARGE[name]
    model, other, rng = large(form, **fields), large(form, **fields), Rng(3)
    # from singletons many merges are accepted, and columns are allocated again
    model.set_labels(np.arange(N, dtype=np.int32))
    for moves in ([Dyadic(model, rng)], [Dyadic(model, rng), Gibbs(model, rng)], [Gibbs(model, rng)]):
        before = model.n_clusters
        chain.Chain(model, rng, moves).advance(60 if len(moves) == 1 else 20)
        assert len(moves) > 1 or before < N or model.n_clusters < N - 9
        other.set_labels(model.labels)
        for key, values in model.statistics().items():
            np.testing.assert_array_equal(values, other.statistics()[key], err_msg=key)
        assert model.log_joint() == other.log_joint()
        np.testing.assert_array_equal(pieces.scan(model, 7), pieces.scan(other, 7))


def test_a_simple_network_has_the_likelihood_of_irm():
    graph = get_kind("graph").example(40)
    simple = IRM.from_data(graph)
    general = IRM.from_data(dataset_of(Relations.of_graph(graph.values)))
    for seed in range(3):
        labels = np.random.default_rng(seed).integers(0, 5, 40)
        for model in (simple, general):
            model.set_labels(labels)
        assert simple.log_joint() == pytest.approx(general.log_joint(), abs=1e-9)


def test_a_simple_network_heeds_a_density():
    graph = get_kind("graph").example(12)
    model = IRM.from_data(graph, density=0.2)
    labels = np.arange(12) % 3
    model.set_labels(labels)
    whole = replace(Relations.of_graph(graph.values), is_simple=False)
    assert model.log_lik_total() == pytest.approx(log_lik(whole, labels, {"beta1": 1, "beta0": 1, "density": 0.2}))


def test_tables_end():
    """Numbers past the tables, which large networks need, are computed."""
    layer = relation(1, 4, COUNT, directed=True)
    huge = Relations(4, (type(layer)("", layer.ends, COUNT, layer.value * 3_000_000.0, directed=True),))
    model = IRM.from_data(dataset_of(huge), **DEFAULTS)
    for labels, _ in mixture_states(4):
        model.set_labels(np.array(labels))
        assert model.log_lik_total() == pytest.approx(log_lik(huge, np.array(labels), DEFAULTS), rel=1e-9)


def test_starts_keep_kinds_of_nodes_apart():
    relations, options = FORMS["sides"]
    model = IRM.from_data(dataset_of(relations), **options)
    assert model.labels.tolist() == [0, 1, 0, 1, 1]
    model.set_labels(np.zeros(5, dtype=np.int32))
    model.separate()
    assert model.labels.tolist() == [0, 1, 0, 1, 1]
    labels, K = model.prior_labels(np.random.default_rng(1))
    assert not set(labels[[0, 2]]) & set(labels[[1, 3, 4]])
    assert max(labels) == K - 1


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("directed-loops-unknown", {"degrees": "corrected"}, r"model\.degrees=corrected: expected no unknown pairs"),
        ("sides", {"prior": "mfm(components=uniform(1))"}, "at most 1 cluster, but nodes of two kinds"),
        ("layers", {"rate": [1.0, 2.0]}, r"model\.rate: 2 numbers; expected one for each layer, 3"),
        ("layers", {"rate": -1.0}, "expected a number .*, or a list of one for each layer"),
    ],
)
def test_refusals(name, options, message):
    with pytest.raises(ValueError, match=message):
        IRM.from_data(dataset_of(FORMS[name][0]), **options)


def test_equal_values_have_no_spread():
    """Their mean may be off by a rounding."""
    found = []
    for value in (0.1, 1.0):
        edges = FORMS["reals"][0].layers[0]
        edges = replace(edges, ends=edges.ends[:3], value=np.full(3, value))
        model = IRM.from_data(dataset_of(Relations(4, (edges,))), concentration=1.3)
        found.append(
            scores.log_joints(model, [np.array(state) for state in ((0, 0, 0, 0), (0, 1, 0, 1), (0, 1, 2, 3))])
        )
        links = links_of(Relations(4, (edges,)), np.zeros(4, dtype=np.int64), DEFAULTS)
        assert links[0].normal_posterior()[1] == 1.0
    np.testing.assert_allclose(*found, rtol=1e-12)


CALIBRATED = {
    "directed-loops": (relation(1, 12, directed=True, loops=True, unknown=6), {}),
    "counts": (relation(1, 12, COUNT), {}),
    "levels": (relation(1, 12, LEVELS, directed=True), {}),
    "sides": (relation(1, 12, sides=[0, 1, 1] * 4), {}),
    "corrected": (relation(1, 12, COUNT, loops=True), {"degrees": "corrected"}),
    "corrected-directed": (relation(1, 12, COUNT, directed=True, loops=True), {"degrees": "corrected"}),
    "corrected-sides": (relation(1, 12, COUNT, sides=[0, 1, 1] * 4), {"degrees": "corrected", "propensity": 2.0}),
}
"""Real values are standardised by the data, so that their prior is none that data can be drawn from."""


@pytest.mark.slow  # 400 networks each
@pytest.mark.parametrize("name", CALIBRATED)
def test_simulated_networks_are_calibrated(name):
    """The partition that made a network is one more draw of its posterior: ranks are uniform."""
    layer, changed = CALIBRATED[name]
    sides = np.array([0, 1, 1] * 4, dtype=np.int8) if "sides" in name else None
    options = DEFAULTS | {"concentration": 1.3, "rate": 0.7, "shape": 0.8} | changed
    outline = dataset_of(Relations(12, (layer,), sides))
    generator, prior = np.random.default_rng(8), IRM.from_data(outline, **options)
    ranks = {"log joint": [], "blocks": [], "together": []}
    for seed in range(400):
        z = prior.prior_labels(generator)[0]
        made = simulate_relations(generator, simulation.Given(outline, z, options, known=0))
        model, rng = IRM.from_data(dataset_of(made), **options), Rng(seed)
        model.set_labels(z)
        log_joint = model.log_joint()
        model.set_labels(prior.prior_labels(generator)[0])
        rows = chain.Chain(model, rng, [Dyadic(model, rng), Gibbs(model, rng)], partitions=1).advance(8 * 54)
        labels = rows["partition_labels"]
        truth = log_joint, len(set(z)), z[1] == z[2]
        for found, true, drawn in zip(
            ranks.values(),
            truth,
            (rows["log_joint"], rows["n_clusters"], labels[:, 1] == labels[:, 2]),
            strict=True,
        ):
            # 49 draws that are hardly correlated, without the first of the chain
            found.append(rank_of(true, drawn[-8 * 49 :: 8], generator))
    for quantity, found in ranks.items():
        assert uniformity(bin_ranks(found, 49)) > 1e-4, quantity


def test_scores_heed_every_column_after_columns_grow():
    """Blocks are opened one after the other, beyond the columns that were allocated."""
    model, other = large(COUNT, loops=True), large(COUNT, loops=True)
    model.set_labels(np.zeros(N, dtype=np.int32))
    for i in range(1, 30):
        pieces.scan(model, 0)
        compiled.move(model, i, model.n_clusters)
        other.set_labels(model.labels)
        np.testing.assert_array_equal(pieces.scan(model, 0), pieces.scan(other, 0))


@pytest.mark.parametrize("form", [BINARY, COUNT])
def test_sums_beyond_the_tables(form):
    """More pairs, or a larger count, than a table has entries: what is beyond its end is computed."""
    if form == BINARY:
        N, options = 2100, {"beta1": 0.6, "beta0": 1.7}
        ends = np.unique(np.random.default_rng(0).integers(N, size=(6000, 2)), axis=0).astype(np.int32)
        ends = ends[ends[:, 0] != ends[:, 1]]
        layer = Relation("", ends, form, directed=True)
        pairs = N * (N - 1.0)
        assert pairs > 1 << 22
        expected = betaln(len(ends) + 0.6, pairs - len(ends) + 1.7) - betaln(0.6, 1.7)
    else:
        N, options = 4, {"shape": 0.6, "rate": 0.8}
        count = np.array([5e6, 3.0, 7e6])
        layer = Relation("", np.array([[0, 1], [1, 2], [2, 3]], dtype=np.int32), form, count)
        expected = gammaln(0.6 + count.sum()) - gammaln(0.6) + 0.6 * np.log(0.8)
        expected -= (0.6 + count.sum()) * np.log(6.8) + gammaln(count + 1).sum()
    model = IRM.from_data(dataset_of(Relations(N, (layer,))), **options)
    assert model.log_lik_total() == pytest.approx(expected, abs=1e-3 if form == COUNT else 1e-4)
    model.set_labels(np.arange(N) // (N // 2))
    for i in (0, N - 1):
        scores.check_scan(model, i, rtol=1e-4)
