"""Small networks of every form, and their log likelihood by another route than the statistics: pair after pair, each
given the pairs before it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import betaln, gammaln

from splitmerge_cli.data.dataset import ColumnType, Dataset
from splitmerge_cli.kinds.networks.data import COUNT, LEVELS, REAL, Relation, Relations, simple_graph
from splitmerge_cli.kinds.networks.irm import IRM
from splitmerge_cli.kinds.tables.models.mixed import Mixed
from splitmerge_cli.verify.cases import Case, mixture_case
from splitmerge_cli.verify.enumerate import State, mixture_log_weight, mixture_states

Labels = NDArray[np.int64]
DEFAULTS: dict[str, Any] = {
    **{"beta1": 0.6, "beta0": 1.7, "degrees": "plain", "propensity": 1.0, "shape": 1.0, "rate": 0.8},
    **{"precision": None, "alpha": 0.7, "kappa0": 0.3, "a0": 1.5, "b0": 0.4},
}


def relation(
    seed: int, N: int, form: str = "binary", *, sides: Sequence[int] | None = None, unknown: int = 0, **fields: Any
) -> Relation:
    """A relation of N nodes with edges on half of the pairs."""
    rng = np.random.default_rng(seed)
    directed, loops = fields.get("directed", False), fields.get("loops", False)
    if sides is not None:
        pairs = [(i, j) for i in range(N) for j in range(N) if (sides[i], sides[j]) == (0, 1)]
    else:
        pairs = [(i, j) for i in range(N) for j in range(N) if (i < j or (directed and i > j) or (loops and i == j))]
    rng.shuffle(pairs)
    table = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    n = (len(table) + 1) // 2
    values = {
        "binary": None,
        COUNT: rng.integers(1, 5, n).astype(float),
        REAL: rng.normal(3.0, 2.0, n),
        LEVELS: rng.integers(0, 3, n).astype(float),
    }
    if form == LEVELS:
        fields["levels"] = ("a", "b", "c")
    return Relation(fields.pop("name", ""), table[:n], form, values[form], unknown=table[n : n + unknown], **fields)


def table_of_nodes(N: int, seed: int = 3) -> Dataset:
    """A real and a categorical column, two cells of which are missing."""
    rng = np.random.default_rng(seed)
    cells = np.column_stack([rng.normal(0, 1, N), rng.integers(0, 2, N).astype(float)])
    cells[0, 0] = cells[N - 1, 1] = np.nan
    types = (ColumnType("real"), ColumnType("categorical", ("a", "b")))
    return Dataset("nodes", "mixed", cells, types=types)


def _forms() -> dict[str, tuple[Relations, dict[str, Any]]]:
    sides = np.array([0, 1, 0, 1, 1], dtype=np.int8)
    one = lambda form="binary", seed=1, **fields: Relations(4, (relation(seed, 4, form, **fields),))  # noqa: E731
    two = lambda form="binary", **more: Relations(  # noqa: E731
        5, (relation(2, 5, form, sides=sides, unknown=more.pop("unknown", 0)),), sides, **more
    )
    layers = (
        relation(1, 4, name="a"),
        relation(2, 4, COUNT, name="b", directed=True),
        relation(3, 4, REAL, name="c", unknown=1),
    )
    corrected = {"degrees": "corrected", "propensity": 0.7}
    return {
        "undirected": (one(), {}),
        "directed": (one(directed=True), {}),
        "directed-loops-unknown": (one(directed=True, loops=True, unknown=2), {"prior": "uniform"}),
        "directed-density": (one(directed=True, loops=True, unknown=1), {"beta1": 0.8, "beta0": 0.8}),
        "counts-loops": (one(COUNT, loops=True), {"shape": 0.6}),
        "counts-directed-unknown": (one(COUNT, directed=True, unknown=2), {}),
        "counts-unknown-rate": (one(COUNT, unknown=2), {"rate": None}),
        "scattered": (one(COUNT), {"precision": 0.4}),
        "scattered-loops": (one(COUNT, loops=True, seed=2), {"precision": 7.0, "shape": 0.6, "rate": None}),
        "scattered-directed-unknown": (one(COUNT, directed=True, unknown=2), {"precision": 1.3, "shape": 1.8}),
        "reals": (one(REAL), {}),
        "reals-directed-loops": (one(REAL, directed=True, loops=True), {}),
        "levels-directed-unknown": (one(LEVELS, directed=True, unknown=1), {}),
        "corrected": (one(seed=4), corrected),
        "corrected-loops": (one(COUNT, loops=True), corrected),
        "corrected-directed-loops": (one(COUNT, directed=True, loops=True), corrected),
        "corrected-reals": (one(REAL, directed=True), corrected | {"propensity": 2.5}),
        "sides": (two(), {}),
        "sides-levels-unknown": (two(LEVELS, unknown=2), {"prior": "uniform", "beta1": 1.7}),
        "sides-corrected-counts": (two(COUNT), corrected),
        "sides-scattered": (two(COUNT, unknown=1), {"precision": 0.9}),
        "layers": (Relations(4, layers), {"rate": [0.5, 0.8, 1.0]}),
        "layers-scattered": (Relations(4, layers), {"precision": [2.0, 0.6, 2.0]}),
        "columns": (replace(one(), columns=table_of_nodes(4)), {}),
        "sides-columns": (two(COUNT, columns=table_of_nodes(5)), {}),
        "layers-corrected-columns": (
            Relations(4, (*layers[:2], relation(3, 4, LEVELS, directed=True)), columns=table_of_nodes(4)),
            corrected,
        ),
    }


FORMS = _forms()


def dataset_of(relations: Relations) -> Dataset:
    """The data set of a network."""
    return Dataset("small", "graph", simple_graph(relations), relations=relations)


def relations_case(size: int, seed: int, params: Mapping[str, Any]) -> Case:
    """The posterior of a small network with options of the model and of `relation`; further: `sides` and `columns`,
    whether there are two kinds of nodes, and columns of nodes; `layers`, how many; a simple network without any."""
    options: dict[str, Any] = {**DEFAULTS, "concentration": 1.3, "prior": "crp"} | dict(params)
    of_data = {key: options.pop(key) for key in ("form", "directed", "loops", "unknown", "sides", "columns", "layers")}
    form, columns, layers, is_sided = (of_data.pop(key) for key in ("form", "columns", "layers", "sides"))
    sides = np.arange(size, dtype=np.int8) % 2 if is_sided else None
    whole = tuple(relation(seed + r, size, form, sides=sides, **of_data) for r in range(layers))
    relations = Relations(size, whole, sides, columns=table_of_nodes(size) if columns else None)
    of_columns = None if not columns else Mixed.from_data(relations.columns)

    def log_lik_of(z: Labels) -> float:
        total = log_lik(relations, z, options)
        if of_columns is not None:
            of_columns.set_labels(z)
            total += of_columns.log_lik_total()
        return total

    def weight(concentration: Any) -> Callable[[State], float]:
        return mixture_log_weight(log_lik_of, concentration, options["prior"])

    another = partial(IRM.from_data, dataset_of(relations), **options)
    return mixture_case(another, mixture_states(size), weight, options, f"relations {seed}")


def log_lik(relations: Relations, labels: Labels, options: Mapping[str, Any]) -> float:
    """Log likelihood of the edges and of the columns given a partition; -inf where nodes of two kinds share a block."""
    of = DEFAULTS | {"density": None} | dict(options)
    z = np.asarray(labels)
    if relations.sides is not None and any(
        len(set(relations.sides[z == k].tolist())) > 1 for k in range(int(z.max()) + 1)
    ):
        return -np.inf
    if of["rate"] is None:
        of["rate"] = [_mean_rate(relations, layer, of) for layer in relations.layers]
    total = 0.0
    for n, layer in enumerate(relations.layers):
        of_layer = {key: of[key][n] if isinstance(of[key], list) else of[key] for key in ("rate", "precision")}
        if "shares" in of:
            of_layer["shares"] = of["shares"][n]
        total += _layer_log_lik(relations, layer, z, of | of_layer | _edge_prior(relations, layer, of))
    return total


def _edge_prior(relations: Relations, layer: Relation, of: Mapping[str, Any]) -> dict[str, float]:
    """Pseudo-counts of edges, by the density of the layer unless an option says otherwise."""
    total, mean, N = of["beta1"] + of["beta0"], of["density"], relations.N
    if "shares" in of:
        return {}
    if mean is None and of["beta1"] == of["beta0"]:
        pairs = sum(
            (relations.sides[i], relations.sides[j]) == (0, 1)
            if relations.sides is not None
            else i < j or (layer.directed and i > j) or (layer.loops and i == j)
            for i in range(N)
            for j in range(N)
        )
        mean = (len(layer.ends) + 0.5) / (pairs - len(layer.unknown) + 1)
    mean = of["beta1"] / total if mean is None else mean
    return {"beta1": total * mean, "beta0": total * (1 - mean)}


def _mean_rate(relations: Relations, layer: Relation, of: Mapping[str, Any]) -> float:
    """The rate of the prior that makes its mean the mean count of a known pair."""
    N, corrected = relations.N, of["degrees"] == "corrected"
    if relations.sides is not None:
        pairs = float((relations.sides == 0).sum() * (relations.sides == 1).sum())
    else:
        pairs = N * (N - 1) / (1 if layer.directed else 2) + N * (layer.loops or corrected)
    total = layer.value.sum() if layer.form == COUNT and layer.value is not None else len(layer.ends)
    return float(of["shape"] * (pairs - len(layer.unknown)) / total)


def _layer_log_lik(relations: Relations, layer: Relation, z: Labels, of: Mapping[str, Any]) -> float:
    sides = None if relations.sides is None else relations.sides
    value = np.ones(len(layer.ends)) if layer.value is None else layer.value
    edges = {(int(i), int(j)): float(x) for (i, j), x in zip(layer.ends, value, strict=True)}
    unknown = {(int(i), int(j)) for i, j in layer.unknown}
    blocks: dict[tuple[int, int], list[tuple[int, int]]] = {}
    corrected = of["degrees"] == "corrected"
    N = relations.N
    for i in range(N):
        for j in range(N):
            if sides is not None and (sides[i], sides[j]) != (0, 1):
                continue
            if sides is None and ((i > j and not layer.directed) or (i == j and not (layer.loops or corrected))):
                continue
            if (i, j) in unknown:
                continue
            block = (z[i], z[j]) if layer.directed or sides is not None else (min(z[i], z[j]), max(z[i], z[j]))
            blocks.setdefault((int(block[0]), int(block[1])), []).append((i, j))
    total = 0.0
    if corrected:
        total += _ends_log_lik(layer, z, blocks, edges, of, sides is not None)
    for (k, other), pairs in blocks.items():
        present = [edges[pair] for pair in pairs if pair in edges]
        if not corrected:
            prior = {}
            if "shares" in of:
                # rows: within a block, and between two
                mean, weight = of["shares"][0 if k == other else 1]
                prior = {"beta1": mean * weight, "beta0": (1 - mean) * weight}
            total += _pairs_log_lik(layer, [edges.get(pair) for pair in pairs], {**of, **prior})
        if layer.form == REAL:
            total += _reals_log_lik(layer, present, of)
        elif layer.form == LEVELS:
            seen: list[float] = []
            for x in present:
                total += np.log((of["alpha"] + seen.count(x)) / (3 * of["alpha"] + len(seen)))
                seen.append(x)
    return total


def _pairs_log_lik(layer: Relation, values: list[float | None], of: Mapping[str, Any]) -> float:
    """Pairs one after the other: whether each is an edge, or its count."""
    total, ones, shape, rate = 0.0, 0, of["shape"], of["rate"]
    r = of["precision"]
    b = None if r is None else 1 + r * rate
    for t, value in enumerate(values):
        if layer.form == COUNT and r is not None:
            # a pair given those before it: the share of success has a beta distribution
            x = value or 0.0
            total += float(gammaln(r + x) - gammaln(r) - gammaln(x + 1) + betaln(shape + x, b + r) - betaln(shape, b))
            shape, b = shape + x, b + r
        elif layer.form == COUNT:
            x = value or 0.0
            total += float(stats.nbinom.logpmf(x, shape, rate / (rate + 1)))
            shape, rate = shape + x, rate + 1
        else:
            p = (of["beta1"] + ones) / (of["beta1"] + of["beta0"] + t)
            total += np.log(1 - p if value is None else p)
            ones += value is not None
    return total


def _reals_log_lik(layer: Relation, values: list[float], of: Mapping[str, Any]) -> float:
    """Real values one after the other: Student's t, in standard deviations of the layer."""
    mean, spread = layer.value.mean(), layer.value.std()
    # values are whole numbers of steps
    step = 2.0 ** (np.ceil(np.log2(max(np.square((layer.value - mean) / spread).sum(), 1.0)) / 2) - 29)
    n, m, a, b, total = of["kappa0"], 0.0, of["a0"], of["b0"], 0.0
    for x in np.rint((np.array(values) - mean) / spread / step) * step:
        total += float(stats.t.logpdf(x, 2 * a, m, np.sqrt(b * (n + 1) / (a * n)))) - np.log(spread)
        b += 0.5 * n / (n + 1) * (x - m) ** 2
        m, n, a = (n * m + x) / (n + 1), n + 1, a + 0.5
    return total


def _ends_log_lik(
    layer: Relation,
    z: Labels,
    blocks: Mapping[tuple[int, int], list[tuple[int, int]]],
    edges: Mapping[tuple[int, int], float],
    of: Mapping[str, Any],
    sided: bool,
) -> float:
    """Corrected degrees: the number of edges of two blocks, then the ends of each, which are drawn from urns."""
    total = 0.0
    urns: dict[tuple[int, bool], dict[int, float]] = {}
    a = of["propensity"]
    for (k, other), pairs in blocks.items():
        weights = {pair: edges[pair] if layer.form == COUNT else 1.0 for pair in pairs if pair in edges}
        n, m = (z == k).sum(), (z == other).sum()
        half = 0.5 if k == other and not layer.directed and not sided else 1.0
        S = sum(weights.values())
        exposure = half * n * m
        total += float(stats.nbinom.logpmf(S, of["shape"], of["rate"] / (of["rate"] + exposure)))
        # S edges in any order: a multinomial coefficient, and an unordered pair of two nodes has two orders
        total += float(gammaln(S + 1) - gammaln(np.array(list(weights.values())) + 1).sum())
        for (i, j), x in weights.items():
            if half < 1 and i != j:
                total += x * np.log(2)
            for node, is_source in ((i, True), (j, not layer.directed)):
                urn = urns.setdefault((int(z[node]), is_source), {})
                for _ in range(int(x)):
                    size = (z == z[node]).sum()
                    total += np.log((a + urn.get(node, 0.0)) / (size * a + sum(urn.values())))
                    urn[node] = urn.get(node, 0.0) + 1
    return total
