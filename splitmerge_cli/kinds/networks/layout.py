"""Options of networks, and their relations laid out as the compiled model reads them (``irm.pyx``)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.special import gammaln

from splitmerge_cli import priors
from splitmerge_cli.core.hyperpriors import Beta
from splitmerge_cli.core.options import Choice, Count, Gamma, Number, Numbers, NumbersOrGamma, Positive
from splitmerge_cli.data.values import variances_of
from splitmerge_cli.kinds.networks.data import Relation, Relations

PLAIN, CORRECTED = "plain", "corrected"
LEAST_PRECISION, MOST_PRECISION = 1e-6, 1e6
SCATTERED = "gamma(0.5,0.05)"
"""Prior of the precision of counts, where they scatter more than Poisson ones."""
LEARNED = "learned"
"""Option ``density``: the prior of edges is resampled."""


class SHARES:
    """Priors of what is learned of the shares of edges: mean and weight of their beta distribution."""

    mean, weight = Beta(1.0, 1.0), Gamma(0.5, 0.05)
    least, most = 1e-9, 1.0 - 1e-9
    """Ends of the mean."""
    means = "within", "between"
    names = "within", "within_weight", "between", "between_weight"
    """In the trace: mean and weight of pairs within blocks, and of pairs of two."""


@dataclass(frozen=True)
class Density(Numbers):
    """Numbers, or the word ``learned``: read as float, list of float or str."""

    type: ClassVar[str] = "number, list of numbers or learned"

    @property
    def expected(self) -> str:
        return f"{super().expected}, or {LEARNED}"

    def convert(self, value: Any) -> Any:
        return LEARNED if value == LEARNED else super().convert(value)


OPTIONS = (
    *priors.OPTIONS,
    Number("beta1", 1.0, "pseudo-counts of edges between two blocks", least=1e-6, most=1e6),
    Number("beta0", 1.0, "pseudo-counts of missing edges", least=1e-6, most=1e6),
    Density(
        "density",
        None,
        "prior mean of the probability of an edge, a number or one per layer; beta1 + beta0 is its weight; learned: "
        "mean and weight are resampled, those within blocks and those between two; null: beta1 / (beta1 + beta0), or "
        "(edges + 0.5) / (known pairs + 1) in networks with relations where the two are equal",
        optional=True,
        least=1e-9,
        most=1 - 1e-9,
        later=True,
    ),
    Choice(
        "degrees",
        PLAIN,
        "corrected: nodes of a block differ in degree (Karrer and Newman 2011), and edges are Poisson; smcmc run also "
        "takes auto: the form that describes the network better",
        choices=(PLAIN, CORRECTED),
        later=True,
    ),
    Positive(
        "propensity", 1.0, "degrees=corrected: pseudo-count of each node's share of its block's edges", later=True
    ),
    Number(
        "shape", 1.0, "counts, degrees=corrected: shape of the rates' gamma prior", least=1e-3, most=1e6, later=True
    ),
    Numbers(
        "rate",
        None,
        "rate of that prior, a number or one per layer; null: shape over the mean count of a known pair",
        optional=True,
        least=1e-9,
        most=1e9,
        each="layer",
        later=True,
    ),
    NumbersOrGamma(
        "precision",
        None,
        "counts: they are negative binomial, of variance mean + mean^2 / precision between two blocks; a number or one "
        "per layer, or gamma(shape,rate): resampled for each layer; null: Poisson",
        optional=True,
        least=LEAST_PRECISION,
        most=MOST_PRECISION,
        each="layer",
        later=True,
    ),
    Count(
        "parts",
        0,
        "blocks that are tried for each connected part of a block, which Gibbs scans then also move; 0: they move "
        "single nodes alone",
        later=True,
    ),
    Positive("alpha", 1.0, "levels of edges: pseudo-count of every level", later=True),
    Positive("kappa0", 0.1, "numbers of edges: the prior's weight on their mean, in edges", later=True),
    Number("a0", 2.0, "numbers of edges: shape of the variances' prior", least=1e-3, most=1e6, later=True),
    Positive("b0", 0.1, "numbers of edges: scale of the variances' prior, in units of their variance", later=True),
)
"""Options of ``irm``; those after `beta0` are for networks with relations."""

TERMS, RANGE = 60, 54
"""Powers of 2 that the terms, and a log likelihood that a penalty must exceed, stay below, in units."""
MOST_SUMS = 1 << 26
"""Pairs of blocks that count when the range of a log likelihood is estimated."""
BINARY, COUNT, REAL, LEVELS = range(4)
"""Forms of the values of edges, as a relation numbers them (`splitmerge_cli.kinds.networks.data.FORMS`)."""
CHUNK = 1 << 16
"""Entries of a table that are computed at a time."""


def rises(b: float, one: float, length: int) -> Mapping[str, Any]:
    """log of b (b + 1) ... (b + m - 1) for m below `length`, in units of `one`."""
    table, total, per = np.empty(length, dtype=np.int64), np.longdouble(0), np.longdouble(1.0 / one)
    for first in range(0, length, CHUNK):
        terms = np.log((b + np.arange(first, min(first + CHUNK, length))).astype(np.longdouble))
        sums = np.cumsum(np.append(total, terms))
        table[first : first + CHUNK] = np.rint(sums[:-1] * per).astype(np.int64)
        total = sums[-1]
    return {"at": table}


def half_gammas(a0: float, b0: float, length: int) -> Mapping[str, Any]:
    """The part of the log likelihood of n real values that depends on n alone, for n below `length`."""
    n = np.arange(length)
    return {"half": gammaln(a0 + n / 2) - gammaln(a0) + a0 * np.log(b0) - n / 2 * np.log(2 * np.pi)}


def degree_tables(N: int, propensity: float) -> Mapping[str, Any]:
    """The part of the log likelihood of n nodes' degrees that depends on n alone, for n up to N + 1."""
    n = np.maximum(np.arange(N + 2), 1)
    return {"log_n": np.log(n), "log_gammas": gammaln(n * propensity)}


def precisions_of(layers: Sequence[Any], options: Mapping[str, Any], parameters: Any = None) -> list[float | None]:
    """The precision of each layer with negative binomial counts; None of others. `parameters`: those that were drawn,
    as the model has them; then the option is their prior. A ValueError for a prior without them, or a precision of
    another number of layers."""
    precision = options.get("precision")
    if parameters is not None and isinstance(precision, Gamma):
        drawn = iter(np.ravel(parameters).tolist())
        return [next(drawn) if layer.form_number == COUNT else None for layer in layers]
    if isinstance(precision, Gamma):
        raise ValueError(f"model.precision={precision}: expected draws of it")
    numbers = precision if isinstance(precision, list) else [precision] * len(layers)
    if len(numbers) != len(layers):
        raise ValueError(f"model.precision: {len(numbers)} numbers; expected one for each layer, {len(layers)}")
    return [number if layer.form_number == COUNT else None for layer, number in zip(layers, numbers, strict=True)]


def draw_shares(rng: Any, n: int) -> NDArray[np.float64]:
    """Draw means and weights from the prior for n layers, ``[4 n]``."""
    mean, weight = SHARES.mean, SHARES.weight
    means = np.clip(rng.beta(mean.a, mean.b, 2 * n), SHARES.least, SHARES.most)
    weights = np.clip(rng.gamma(weight.shape, 1.0 / weight.rate, 2 * n), LEAST_PRECISION, MOST_PRECISION)
    return np.stack([means, weights], axis=1).ravel()


def shares_of(layers: Sequence[Any], options: Mapping[str, Any], parameters: Any) -> list[NDArray[np.float64]] | None:
    """Mean and weight of each layer's shares of edges, rows: within blocks, between two; None: they are not
    learned. `parameters`: as the model has them; layers of counts have zeros."""
    if options.get("density") != LEARNED or parameters is None:
        return None
    is_count = [layer.form_number == COUNT for layer in layers]
    numbers = iter(np.reshape(parameters, -1)[-4 * is_count.count(False) :].reshape(-1, 2, 2))
    return [np.zeros((2, 2)) if is_one else next(numbers) for is_one in is_count]


class _Layout:
    """Slots of a cell, and entries of nodes, as they are laid out relation after relation."""

    def __init__(self, relations: Any) -> None:
        self.N = relations.N
        self.mirror: list[int] = []
        self.forms: list[int] = []
        self.parts: list[dict[str, Any]] = []
        self.entries: list[tuple[Any, ...]] = []
        self.loops: list[tuple[Any, ...]] = []
        self.degrees: list[NDArray[Any]] = []
        for r, layer in enumerate(relations.layers):
            self._place(r, layer)

    def _place(self, r: int, layer: Any) -> None:
        width = 1 + {REAL: 2, LEVELS: len(layer.levels)}.get(layer.form_number, 0)
        slots = width + (len(layer.unknown) > 0)
        firsts = [len(self.mirror) + d * slots for d in range(1 + layer.directed)]
        step = spread = 1.0
        if layer.value is None:
            values = np.ones(len(layer.ends), dtype=np.int64)
        elif layer.form_number == REAL and len(layer.ends):
            # whole numbers of steps, in standard deviations; a sum of squares stays below 2^60
            spread = float(np.sqrt(variances_of(layer.value))) or 1.0
            z = (layer.value - layer.value.mean()) / spread
            step = float(np.exp2(np.ceil(np.log2(max(float(np.square(z).sum()), 1.0)) / 2) - 29))
            values = np.rint(z / step).astype(np.int64)
        else:
            values = layer.value.astype(np.int64)
        for d, first in enumerate(firsts):
            self.mirror += range(firsts[-1 - d], firsts[-1 - d] + slots)
            self.forms += [layer.form_number] + [0] * (slots - 1)
            unknown = first + width if slots > width else -1
            part = {"slot": first, "unknown": unknown, "first": d == 0, "relation": r, "step": step, "spread": spread}
            self.parts.append(part)
        ones = np.ones(len(layer.unknown), dtype=np.int64)
        for pairs, offset, value in ((layer.ends, 0, values), (layer.unknown, width, ones)):
            source, target = pairs[:, 0], pairs[:, 1]
            loop = source == target
            for node, other, first in ((source, target, firsts[0]), (target, source, firsts[-1])):
                self.entries.append((node[~loop], other[~loop], first + offset, value[~loop]))
            self.loops.append((source[loop], source[loop], firsts[0] + offset, value[loop]))
        weight = values if layer.form_number == COUNT else np.ones(len(values), dtype=np.int64)
        out, into = (np.bincount(layer.ends[:, end], weight, self.N) for end in (0, 1))
        self.degrees += [out, into] if layer.directed else [out + into]

    def by_node(self, entries: Iterable[tuple[Any, ...]]) -> tuple[NDArray[Any], ...]:
        """Entries in the order of their nodes: where each node begins, neighbours, slots and values."""
        node, neighbour, slot, value = (
            np.concatenate([np.broadcast_to(entry[part], len(entry[0])) for entry in entries]) for part in range(4)
        )
        order = np.argsort(node, kind="stable")
        start = np.concatenate([[0], np.cumsum(np.bincount(node.astype(np.int64), minlength=self.N))])
        # one more entry: there may be none
        columns = ((neighbour, np.int32), (slot, np.int32), (value, np.int64))
        return start.astype(np.int64), *(np.append(column[order], 0).astype(dtype) for column, dtype in columns)


def require_simple(adjacency: Any) -> Any:
    """Return the graph as a symmetric csr_array of int8 with an empty diagonal. A ValueError for anything but an
    undirected simple graph of 0 and 1."""
    graph = scipy.sparse.csr_array(adjacency, copy=True)
    if graph.ndim != 2 or graph.shape[0] != graph.shape[1] or graph.shape[0] == 0:
        raise ValueError(f"adjacency: expected a square table with at least one row, got shape {graph.shape}")
    graph.sum_duplicates()
    graph.eliminate_zeros()
    if not (graph.data == 1).all():
        raise ValueError("adjacency: a value is neither 0 nor 1")
    if graph.diagonal().any():
        raise ValueError(f"adjacency: node {int(np.flatnonzero(graph.diagonal())[0])} has an edge to itself")
    if (graph != graph.T).nnz:
        raise ValueError("adjacency: expected a symmetric table: edges have no direction")
    return graph


def _prepare_graph(adjacency: Any) -> Mapping[str, Any]:
    """`prepare` of a simple network, whose entries are in the order of its nodes already."""
    graph = require_simple(adjacency)
    N = graph.shape[0]
    # the parts of a network without edges, and where they are
    outline = Relations(N, (Relation("", np.zeros((0, 2), dtype=np.int32)),), is_simple=True)
    return {
        **prepare(outline),
        **{"graph": graph, "outline": outline, "start": graph.indptr.astype(np.int64)},
        # one more entry: there may be none
        "neighbour": np.append(graph.indices.astype(np.int32), np.int32(-1)),
    }


def prepare(network: Any) -> Mapping[str, Any]:
    """Lay a network out: entries by node; degrees int64 ``[N, groups]``, where a directed relation has out and in."""
    if not isinstance(network, Relations):
        return _prepare_graph(network)
    layout, N, relations = _Layout(network), network.N, network
    start, neighbour, slot, value = layout.by_node(layout.entries)
    loop_start, _, loop_slot, loop_value = layout.by_node(layout.loops)
    return {
        **{"start": start, "neighbour": neighbour, "slot": slot, "value": value},
        **{"loop_start": loop_start, "loop_slot": loop_slot, "loop_value": loop_value},
        "degree": np.ascontiguousarray(np.stack(layout.degrees, axis=1), dtype=np.int64),
        "mirror": np.array(layout.mirror, dtype=np.int32),
        "forms": np.array(layout.forms, dtype=np.int32),
        "side": np.zeros(N, dtype=np.int32) if relations.sides is None else relations.sides.astype(np.int32),
        "parts": layout.parts,
    }


class Sizes:
    """Numbers of pairs and edges of each layer, rates where they are not given, and the unit of log likelihoods.
    `given`: options, all with values. A ValueError for corrected degrees with unknown pairs, rates or precisions for
    another number of layers, or a precision where no layer has counts, or degrees are corrected."""

    def __init__(self, relations: Any, given: Mapping[str, Any]) -> None:
        layers, N = relations.layers, relations.N
        self.corrected = given["degrees"] == CORRECTED
        if self.corrected and any(len(layer.unknown) for layer in layers):
            raise ValueError(
                f"model.degrees={CORRECTED}: expected no unknown pairs (data.unknown), since it takes all pairs of two "
                f"blocks together; expected {PLAIN}"
            )
        rate = given["rate"]
        rates = list(rate) if isinstance(rate, list) else [rate] * len(layers)
        if len(rates) != len(layers):
            raise ValueError(f"model.rate: {len(rates)} numbers; expected one for each layer, {len(layers)}")
        self.pairs = [layer.count_pairs(N, relations.sides, layer.loops or self.corrected) for layer in layers]
        density = given["density"]
        if isinstance(density, list) and len(density) != len(layers):
            raise ValueError(f"model.density: {len(density)} numbers; expected one for each layer, {len(layers)}")
        if density == LEARNED and (self.corrected or relations.sides is not None):
            raise ValueError(
                f"model.density={LEARNED}: expected a number or null with model.degrees={CORRECTED} or two kinds of "
                "nodes (data.bipartite)"
            )
        if density == LEARNED and all(layer.form_number == COUNT for layer in layers):
            raise ValueError(f"model.density={LEARNED}: expected edges that are there or not in a layer, or null")
        self.betas = [relations.edge_prior(r, given) for r in range(len(layers))]
        self.sums = [int(layer.value.sum()) if layer.form_number == COUNT else len(layer.ends) for layer in layers]
        self.rates = [
            layer.default_rate(N, relations.sides, given["shape"], self.corrected) if rate is None else rate
            for rate, layer in zip(rates, layers, strict=True)
        ]
        self.precisions = self._start_precisions(layers, given["precision"])
        self.unit = self._unit(relations, given)

    def _start_precisions(self, layers: Any, precision: float | list[float] | Gamma | None) -> list[float | None]:
        """The precision of each layer of counts, which is resampled from its mean on; None of others."""
        if precision is None:
            return [None] * len(layers)
        if self.corrected:
            raise ValueError(f"model.precision={precision}: expected null with model.degrees={CORRECTED}")
        if all(layer.form_number != COUNT for layer in layers):
            raise ValueError(f"model.precision={precision}: expected counts of edges (data.values=count), or null")
        if isinstance(precision, Gamma):
            precision = min(max(precision.mean, LEAST_PRECISION), MOST_PRECISION)
        return precisions_of(layers, {"precision": precision})

    def _unit(self, relations: Any, given: Mapping[str, Any]) -> float:
        """The unit of log likelihoods: all terms and their sums stay whole numbers of 64 bits."""
        if relations.is_simple and given["density"] is None and not self.corrected:
            widest = np.log(relations.N + 2.0) * 2 + np.log(given["beta1"] + given["beta0"] + 2.0) + 16.0
            return float(2.0 ** -min(TERMS - int(np.frexp(3.0 * (self.pairs[0] + 1.0) * widest)[1]), RANGE))
        spans = [given[name] for name in ("shape", "alpha", "kappa0", "b0", "a0")] + self.rates
        spans += [beta for both in self.betas for beta in both]
        spans += [MOST_PRECISION for precision in self.precisions if precision is not None]
        spans += [SHARES.least * LEAST_PRECISION] * (given["density"] == LEARNED)
        logs = 2 * np.log(relations.N + 2.0) + np.log(max(self.sums) + 2.0) + 16 + 2 * np.abs(np.log(spans)).max()
        values = sum(len(layer.ends) * (2 + len(layer.levels)) for layer in relations.layers)
        entries = sum(self.sums) + values + 1
        least = given["shape"] + given["a0"] + 1
        terms = 3 * least * logs * (max(self.pairs) + entries + given["beta1"] + given["beta0"])
        span = logs * (entries + least * min(sum(self.pairs), MOST_SUMS))
        reach = TERMS if relations.sides is None else RANGE
        digits = min(TERMS - int(np.frexp(terms)[1]), reach - int(np.frexp(span)[1]), 48)
        return float(2.0 ** -max(digits, 0))

    def log_constant(self, relations: Any, degree: NDArray[np.int64], given: Mapping[str, Any]) -> float:
        """The part of the log likelihood that no partition changes; the standard deviations of real values, whose
        steps the compiled model knows, left out."""
        total = 0.0
        for layer in relations.layers:
            if layer.form_number == COUNT and layer.value is not None:
                total -= float(gammaln(layer.value + 1).sum())
            if self.corrected and not layer.directed and relations.sides is None:
                loops = layer.ends[:, 0] == layer.ends[:, 1]
                total -= np.log(2) * float(loops.sum() if layer.form_number != COUNT else layer.value[loops].sum())
        if self.corrected:
            total += float((gammaln(given["propensity"] + degree) - gammaln(given["propensity"])).sum())
        return total
