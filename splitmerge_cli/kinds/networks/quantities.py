"""Quantities of networks, for checks of the model: of simple ones; and with directions, values, layers, two kinds of
nodes.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.config.resolution import AUTO
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.kinds.networks import hierarchy
from splitmerge_cli.kinds.networks.data import BINARY, COUNT, REAL, Relation, Relations, network_of, simple_graph
from splitmerge_cli.kinds.networks.layout import PLAIN, SCATTERED
from splitmerge_cli.runs import answers, checks, summaries
from splitmerge_cli.runs.plan import Plan
from splitmerge_cli.runs.store.read import Run
from splitmerge_cli.runs.store.store import RunStore

SPREAD = "standard deviation within clusters"
CLOSED = "share of paths of two ties that a third closes"
RECIPROCITY = "share of edges that go both ways"
MOST_TIES = 200_000
"""Ties of a network that is drawn."""
MOST_COUNTED = 20_000_000
"""Counts of a network that is drawn add up to so much, unless its pairs of nodes are fewer."""


class Network(checks.Quantities):
    """A network: the adjacency matrix of a simple undirected one, csr_array ``[N, N]``; or its `Relations`."""

    effects: ClassVar = {
        checks.SKEWNESS: checks.Effect(0.3),
        checks.KURTOSIS: checks.Effect(0.5),
        checks.DISPERSION: checks.Effect(0.3, is_share=True),
        # even degrees, as of teams that all play as often, change no block
        SPREAD: checks.Effect(0.2, is_share=True, is_more=True),
        CLOSED: checks.Effect(0.05),
        RECIPROCITY: checks.Effect(0.05),
    }

    def __init__(self, dataset: Dataset, cells: int | None = None) -> None:
        self.relations = dataset.relations
        self.values = dataset.values if self.relations is None else self.relations
        self.unchecked = []
        if self.relations is None:
            self.unchecked.append("directions and weights of ties: the model reads whether two nodes are tied")
        elif self.relations.columns is not None:
            self.unchecked.append("the columns of the nodes")
        # a list of edges names no node without one
        self.has_lonely = bool((np.diff(dataset.values.indptr) == 0).any())
        if not self.has_lonely:
            self.unchecked.append("how many nodes have no edge: a list of edges does not name them")

    @staticmethod
    def explain_unmeasured(dataset: Dataset) -> str | None:
        """Ties, of which there may be too many to count triangles a hundred times."""
        ties = sum(len(layer.ends) for layer in network_of(dataset).layers)
        if ties > MOST_TIES:
            return f"networks of more than {MOST_TIES:,} ties; here are {ties:,}"
        total = sum(layer.weights.sum() for layer in network_of(dataset).layers)
        if min(total, float(dataset.N) ** 2) > MOST_COUNTED:
            return f"networks whose counts add up to more than {MOST_COUNTED:,}; here {total:,.0f}"
        return None

    @staticmethod
    def count_work(dataset: Dataset, cells: int) -> int:
        """Pairs of nodes, which are drawn, and what triangles take."""
        degree, N = np.diff(dataset.values.indptr).astype(float), float(dataset.N)
        return int(N**2 / 4 + min((degree**2).sum(), N**3 / 500) + 3_000)

    def measure(self, x: Any, labels: checks.Labels) -> checks.Found:
        """Ties, degrees and triangles; of relations also values."""
        if isinstance(x, Relations) and self.relations is not None:
            return measure_relations(x, labels, self.has_lonely, [layer.form for layer in self.relations.layers])
        if isinstance(x, Relations):
            (layer,) = x.layers
            degree, x = np.bincount(layer.ends.ravel(), np.repeat(layer.weights, 2), x.N), simple_graph(x)
        else:
            degree = np.diff(x.indptr).astype(float)
        size = np.bincount(labels)
        within = degree - (np.bincount(labels, degree) / size)[labels]
        found = {
            ("ties", "number"): degree.sum() / 2.0,
            ("degrees", SPREAD): math.sqrt(float((within**2).mean())),
            ("degrees", "largest"): float(degree.max()),
            ("ties", CLOSED): _transitivity(x),
        }
        return found | ({("degrees", "nodes without a tie"): float((degree == 0).sum())} if self.has_lonely else {})


def measure_relations(
    relations: Relations, labels: checks.Labels, lonely: bool, forms: Sequence[str] | None = None
) -> checks.Found:
    """Edges, degrees and values of every layer. `labels`: int64 ``[N]``, from 0; `lonely`: whether nodes without an
    edge are counted; `forms`: of the layers of the data, which may be binary where the model makes counts.
    """
    found: checks.Found = {}
    for layer, form in zip(relations.layers, forms or [layer.form for layer in relations.layers], strict=True):
        place = f"{layer.name}: " if layer.name else ""
        for subject, quantity, value in _measure(layer, form, relations.sides, labels):
            found[f"{place}{subject}", quantity] = value
        if lonely:
            found[f"{place}degrees", "nodes without an edge"] = float(relations.N - len(np.unique(layer.ends)))
    return found


def _measure(
    layer: Relation, form: str, sides: NDArray[np.int8] | None, labels: checks.Labels
) -> Iterator[tuple[str, str, float]]:
    """Subject, quantity and value."""
    N, (source, target) = len(labels), layer.ends.T
    yield "edges", "number", float(layer.weights.sum() if form == BINARY else len(source))
    out, into = (np.bincount(end, layer.weights, N).astype(np.float64) for end in (source, target))
    degrees = {"degrees out": out, "degrees in": into} if layer.directed else {"degrees": out + into}
    for subject, degree in degrees.items():
        size = np.maximum(np.bincount(labels), 1)
        within = degree - (np.bincount(labels, degree) / size)[labels]
        yield subject, SPREAD, math.sqrt(float((within**2).mean()))
        yield subject, "largest", float(degree.max())
    if layer.directed:
        there = source.astype(np.int64) * N + target
        both = np.isin(target.astype(np.int64) * N + source, there) & (source != target)
        yield "edges", RECIPROCITY, float(both.mean()) if len(both) else math.nan
    elif sides is None:
        yield "edges", CLOSED, _transitivity(simple_graph(Relations(N, (layer,))))
    if form != BINARY:
        yield from _measure_values(layer, sides, labels)


def _transitivity(x: Any) -> float:
    """Transitivity: the share of open or closed triples that are triangles."""
    degree = np.diff(x.indptr).astype(float)
    paths = (degree * (degree - 1)).sum()
    if 50 * (degree**2).sum() < float(len(degree)) ** 3:
        ties = x.astype(np.float64)
        closed = float((ties @ ties).multiply(ties).sum())
    else:
        dense = x.toarray().astype(np.float32)
        closed = float(np.einsum("ij,ij->", dense @ dense, dense))
    return closed / paths if paths else math.nan


def _measure_values(
    layer: Relation, sides: NDArray[np.int8] | None, labels: checks.Labels
) -> Iterator[tuple[str, str, float]]:
    """Quantities of counts over pairs, and of real values over edges, each against two blocks."""
    if layer.form == COUNT:
        table = layer.block_table(labels, sides)
        K = len(table.rows)
        squares = layer.sum_blocks(labels, K, layer.ends, layer.weights**2, not layer.directed and sides is None)
        with np.errstate(invalid="ignore", divide="ignore"):
            # each two blocks weigh by their pairs: sum of squares about the mean, over the mean
            ratio = (squares - table.total**2 / table.pairs) / (table.total / table.pairs)
        seen = table.total > 0
        dispersion = float(ratio[seen].sum() / table.pairs[seen].sum()) if seen.any() else math.nan
        yield "counts", checks.DISPERSION, dispersion
        yield "counts", "largest", float(layer.weights.max()) if len(layer.ends) else math.nan
    if layer.form == REAL and layer.value is not None:
        first, second = labels[layer.ends].T
        if not layer.directed and sides is None:
            first, second = np.minimum(first, second), np.maximum(first, second)
        cell = np.unique(first * (int(labels.max()) + 1) + second, return_inverse=True)[1]
        n = np.bincount(cell)
        off = layer.value - (np.bincount(cell, layer.value) / n)[cell]
        spread = np.sqrt(np.bincount(cell, off**2) / n)[cell]
        residual = off[spread > 0] / spread[spread > 0]
        # a network without edges has these quantities, too
        yield "values", checks.SKEWNESS, float((residual**3).mean()) if len(residual) else math.nan
        yield "values", checks.KURTOSIS, float((residual**4).mean()) if len(residual) else math.nan


class NetworkAnswers(answers.Answers):
    """The answers of networks."""

    @staticmethod
    def write(
        plan: Plan, store: RunStore, labels: ArrayLike, late: Mapping[int, answers.Late], certainty: ArrayLike | None
    ) -> dict[str, Any]:
        """Write the levels above the clusters, where a run describes its clusters."""
        return hierarchy.write(store, plan.dataset, labels) if summaries.is_described(plan) else {}

    @staticmethod
    def further_lines(summary: Mapping[str, Any], first: int, most_clusters: int | None = None) -> Iterator[str]:
        return hierarchy.lines(summary, first)

    @staticmethod
    def another_model(
        unlike: Sequence[Mapping[str, Any]],
        summary: Mapping[str, Any],
        model: Mapping[str, Any],
        data: Mapping[str, Any],
        named: Collection[str],
    ) -> tuple[str, dict[str, Any]] | None:
        """Counts that scatter more than Poisson ones; degrees within blocks, where they differ more than a model of
        plain degrees makes them."""
        scatter = any(one["quantity"] == checks.DISPERSION and one["observed"] > one["high"] for one in unlike)
        if scatter and model.get("precision") is None and not {"model.precision", "model.degrees"} & set(named):
            return "let counts between two blocks scatter:", {"model.precision": SCATTERED, "model.degrees": PLAIN}
        # what is named was chosen
        if model.get("degrees") != PLAIN or "model.degrees" in named:
            return None
        differ = any(
            "degrees" in one["subject"] and one["quantity"] == SPREAD and one["observed"] > one["high"]
            for one in unlike
        )
        if not differ or data.get("unknown") is not None:
            return None
        why = "let nodes of a block differ in degree, if that describes the network better:"
        return why, {"model.degrees": AUTO}

    @staticmethod
    def explain_unlike(quantities: Collection[str]) -> Iterator[str]:
        if CLOSED in quantities:
            yield "how often ties close a triangle follows from more than blocks: no model here describes that"

    @staticmethod
    def merging_lines(run: Run) -> Iterator[str]:
        # no node has a density of its own
        return iter(())
