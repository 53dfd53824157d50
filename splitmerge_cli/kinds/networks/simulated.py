"""Networks drawn from the model of relations: parameters of blocks given a partition and edges, then edges and values.

Parameters come from their posterior given the edges of the known nodes, or from their prior if there are none
(docs/derivations.md, "Links"). Unknown pairs stay unknown.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.core.options import Gamma
from splitmerge_cli.core.simulation import Array, Given, Rng
from splitmerge_cli.kinds.networks import layout, link_scores
from splitmerge_cli.kinds.networks.data import FORMS, network_of, simple_graph

Pairs = NDArray[np.int64]
MOST_PAIRS = 4_000_000
"""Pairs of nodes of which each is drawn; in larger networks edges are."""
MOST_ENDS = 1 << 20
"""Edges up to which the ends of each are drawn; of more the count of each pair where there are fewer pairs."""


def simulate_network(rng: Rng, given: Given) -> Any:
    """A network as the model reads it: the matrix of a simple one, else relations."""
    is_simple = given.data.relations is None and given.options.get("degrees", layout.PLAIN) == layout.PLAIN
    is_simple = is_simple and given.options.get("density") is None
    drawn = simulate_relations(rng, given)
    return simple_graph(drawn) if is_simple else drawn


def simulate_relations(rng: Rng, given: Given) -> Any:
    """Edges and their values, of every layer; columns of nodes stay as they are. With corrected degrees a binary layer
    has counts, since these are what the model makes."""
    data, known = given.data, given.known
    relations = network_of(data)
    n = relations.N if known is None else known
    number = np.where(np.arange(relations.N) < n, np.arange(relations.N), -1)
    precision, parameters = given.options.get("precision"), given.parameters
    if parameters is None and isinstance(precision, Gamma):
        parameters = rng.gamma(precision.shape, 1.0 / precision.rate, len(relations.layers))
    if given.parameters is None and given.options.get("density") == layout.LEARNED:
        parameters = np.append([] if parameters is None else parameters, layout.draw_shares(rng, len(relations.layers)))
    shares = layout.shares_of(relations.layers, given.options, parameters)
    priors = [relations.edge_prior(r, {**given.options, "shares": shares}) for r in range(len(relations.layers))]
    precisions = layout.precisions_of(relations.layers, given.options, parameters)
    layers = []
    for r, layer in enumerate(relations.layers):
        options = {**given.options, "precision": precisions[r]}
        evidence = layer.take(number)
        layers.append(_Layer(rng, relations, layer, evidence, given.labels, n, options, r, priors[r]).draw())
    return replace(relations, layers=tuple(layers))


class _Layer:
    """One relation that is drawn. `layer` is drawn; its parameters are drawn given `evidence`, the edges of the first n
    nodes. `labels`: int64 of shape (N,), each number from 0 to K - 1 at least once; `r`: number of the layer;
    `edge_prior`: pseudo-counts of edges and of missing ones."""

    def __init__(
        self,
        rng: Rng,
        relations: Any,
        layer: Any,
        evidence: Any,
        labels: NDArray[np.int64],
        n: int,
        options: Mapping[str, Any],
        r: int,
        edge_prior: tuple[Any, Any],
    ) -> None:
        self.edge_prior = edge_prior
        self.rng, self.layer, self.labels, self.options, self.sides = rng, layer, labels, options, relations.sides
        self.K = int(labels.max()) + 1
        self.is_corrected = options.get("degrees") == layout.CORRECTED
        rates = options.get("rate")
        rate = rates[r] if isinstance(rates, list) else rates
        if rate is None:
            rate = layer.default_rate(len(labels), self.sides, options["shape"], self.is_corrected)
        sides = None if self.sides is None else self.sides[:n]
        self.links = link_scores.Links(evidence, labels[:n], {**options, "rate": rate}, sides, self.K)
        self.known = self.links.table
        # an undirected relation has one cell for two blocks
        self.both = not layer.directed and self.sides is None
        first, second = (None, None) if self.sides is None else (self.sides == 0, self.sides == 1)
        rows, columns = (np.arange(len(labels)) if here is None else np.flatnonzero(here) for here in (first, second))
        self.nodes = rows, columns
        self.pair_shape = len(rows), len(columns)
        self.is_small = len(rows) * len(columns) <= MOST_PAIRS
        self.rows = [rows[labels[rows] == k] for k in range(self.K)]
        self.columns = self.rows if first is None else [columns[labels[columns] == k] for k in range(self.K)]

    def draw(self) -> Any:
        """The relation with other edges and values."""
        if self.links.has_rates:
            ends, counts = self._draw_counts()
        else:
            ends, counts = self._draw_edges(), None
        unknown = {*map(tuple, self.layer.unknown.tolist())}
        if unknown:
            keep = np.array([pair not in unknown for pair in map(tuple, ends.tolist())], dtype=bool)
            ends, counts = ends[keep], None if counts is None else counts[keep]
        form = self.layer.form_number
        value: Array | None = None
        if form == layout.BINARY and counts is not None:
            # corrected degrees make multiple edges: without them their sums were too small
            return replace(self.layer, ends=ends.astype(np.int32), form=FORMS[layout.COUNT], value=counts)
        if form == layout.COUNT:
            value = counts
        elif form == layout.REAL:
            value = self._draw_reals(ends)
        elif form == layout.LEVELS:
            value = self._draw_levels(ends)
        return replace(self.layer, ends=ends.astype(np.int32), value=value)

    # -- edges
    def _cells(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Blocks between which edges are drawn."""
        a, b = np.triu_indices(self.K) if self.both else np.indices((self.K, self.K)).reshape(2, -1)
        return a, b

    def _draw_edges(self) -> Pairs:
        """Edges with a probability for each two blocks; the number is binomial, and all sets of so many pairs alike."""
        k, m = self._cells()
        edges, gaps = self.known.edges[k, m], (self.known.pairs - self.known.edges)[k, m]
        beta1, beta0 = (link_scores.by_blocks(count, k == m) for count in self.edge_prior)
        p = self.rng.beta(beta1 + edges, beta0 + gaps)
        if self.is_small:
            of_blocks = np.zeros((self.K, self.K))
            of_blocks[k, m] = p
            is_edge = self.rng.random(self.pair_shape) < self._of_pairs(of_blocks)
            return self._pairs_of(is_edge & self._are_pairs())
        own = (k == m) & (self.sides is None)
        height, width = (np.array([len(nodes) for nodes in side]) for side in (self.rows, self.columns))
        # no loops: a node's row has one pair less
        fewer = 0 if self.layer.loops else 1
        size = height[k] * np.where(own, width[m] - fewer, width[m])
        if self.both:
            size = np.where(own, height[k] * (height[k] + 1 - 2 * fewer) // 2, size)
        drawn = [np.zeros((0, 2), dtype=np.int64)]
        for cell in np.flatnonzero(number := self.rng.binomial(size, p)):
            place = self.rng.choice(int(size[cell]), int(number[cell]), replace=False, shuffle=False)
            i, j = self._pairs_at(place, len(self.columns[m[cell]]), bool(own[cell]), fewer)
            drawn.append(np.stack([self.rows[k[cell]][i], self.columns[m[cell]][j]], axis=1))
        return self._in_order(np.concatenate(drawn))

    def _pairs_at(
        self, place: NDArray[np.int64], width: int, own: bool, fewer: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Row and column of the pairs with these numbers."""
        if own and self.both:
            # row j of a triangle holds j + 1 pairs, without loops j
            j = ((np.sqrt(8.0 * place + 1.0) - 1.0) / 2.0).astype(np.int64)
            j += ((j + 1) * (j + 2) // 2 <= place).astype(np.int64) - (j * (j + 1) // 2 > place)
            return place - j * (j + 1) // 2, j + fewer
        i, j = np.divmod(place, width - fewer if own else width)
        return i, j + (own and fewer) * (j >= i)

    def _in_order(self, ends: Pairs) -> Pairs:
        return np.sort(ends, axis=1) if self.both else ends

    # -- numbers of edges
    def _draw_counts(self) -> tuple[Pairs, Array]:
        """Pairs with their numbers of edges, Poisson: edges between two blocks first, then the ends of each, in
        proportion to propensities."""
        k, m = self._cells()
        shape, rate = (of_blocks[k, m] for of_blocks in self.links.gamma)
        precision = self.links.precision
        if precision is None:
            rates = self.rng.gamma(shape) / rate
        else:
            # odds of a share of success
            rates = precision * self.rng.gamma(shape) / self.rng.gamma(1.0 + precision * rate)
        out = self._propensities(self.known.sources, self.rows)
        into = out if self.both else self._propensities(self.known.targets, self.columns)
        if self.is_small:
            return self._draw_small_counts(k, m, rates, out, into)
        size, width = (np.array([len(nodes) for nodes in side]) for side in (self.rows, self.columns))
        half = np.where(self.both & (k == m), 2.0, 1.0)
        # a negative binomial count is a Poisson number of terms, each with a logarithmic distribution
        terms = rates if precision is None else precision * np.log1p(rates / precision)
        number = self.rng.poisson(terms * size[k] * width[m] / half)
        drawn, times, many = [np.zeros((0, 2), dtype=np.int64)], [np.zeros(0)], number.sum() > MOST_ENDS
        for cell in np.flatnonzero(number):
            sides = (self.rows[k[cell]], self.columns[m[cell]])
            weights = (out[k[cell]], into[m[cell]])
            if many and number[cell] > len(sides[0]) * len(sides[1]):
                # by pair rather than by edge
                share = np.outer(*weights).ravel()
                drawn.append(np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, 2))
                if precision is None:
                    times.append(self.rng.multinomial(number[cell], share / share.sum()).astype(np.float64))
                else:
                    times.append(self._scatter(rates[cell] / precision, np.full(len(share), precision / half[cell])))
                continue
            chosen = [
                nodes[self._choose(of_nodes, int(number[cell]))] for nodes, of_nodes in zip(sides, weights, strict=True)
            ]
            drawn.append(np.stack(chosen, axis=1))
            if precision is None:
                times.append(np.ones(len(drawn[-1])))
            else:
                p = min(rates[cell] / (rates[cell] + precision), 1.0 - 1e-15)
                times.append(self.rng.logseries(p, number[cell]).astype(np.float64))
        if self.both and self.layer.loops and not self.is_corrected:
            # drawn with half the rate of other pairs
            drawn.append(np.arange(len(self.labels))[:, None].repeat(2, axis=1))
            of_nodes = rates[k == m][self.labels]
            if precision is None:
                times.append(self.rng.poisson(of_nodes / 2.0).astype(np.float64))
            else:
                times.append(self._scatter(of_nodes / precision, np.full(len(of_nodes), precision / 2.0)))
        ends, numbers = self._in_order(np.concatenate(drawn)), np.concatenate(times)
        keep = (numbers > 0) & (self.layer.loops | (ends[:, 0] != ends[:, 1]))
        pairs, which = np.unique(ends[keep], axis=0, return_inverse=True)
        total: Array = np.bincount(which.ravel(), numbers[keep], len(pairs)).astype(np.float64)
        return pairs.reshape(-1, 2), total

    def _scatter(self, odds: Array, shape: Array) -> Array:
        """Negative binomial counts of these shapes, with these odds of a success."""
        drawn: Array = self.rng.poisson(self.rng.gamma(shape) * odds).astype(np.float64)
        return drawn

    def _draw_small_counts(
        self, k: NDArray[np.int64], m: NDArray[np.int64], rates: Array, out: list[Array], into: list[Array]
    ) -> tuple[Pairs, Array]:
        """Draw the number of edges for every pair."""
        of_blocks = np.zeros((self.K, self.K))
        of_blocks[k, m] = rates
        mean = self._of_pairs(of_blocks)
        for side, own, weights, axis in ((self.rows, self.nodes[0], out, 1), (self.columns, self.nodes[1], into, 0)):
            theta = np.zeros(len(self.labels))
            for nodes, weight in zip(side, weights, strict=True):
                theta[nodes] = len(nodes) * weight / weight.sum() if len(nodes) else 0.0
            mean = mean * np.expand_dims(theta[own], axis)
        if self.both and self.is_corrected:
            mean[np.diag_indices(len(mean))] /= 2.0
        if (r := self.links.precision) is not None:
            # each pair has a rate of its own
            mean = mean * self.rng.gamma(r, size=mean.shape) / r
        count = self.rng.poisson(mean) * self._are_pairs()
        numbers: Array = count[count > 0].astype(np.float64)
        return self._pairs_of(count > 0), numbers

    def _of_pairs(self, of_blocks: Array) -> Array:
        """A number for each two blocks, as one for each pair of nodes."""
        whole = np.triu(of_blocks) + np.triu(of_blocks, 1).T if self.both else of_blocks
        return np.asarray(whole[np.ix_(*(self.labels[nodes] for nodes in self.nodes))])

    def _are_pairs(self) -> NDArray[np.bool_]:
        """Whether a pair may hold an edge."""
        shape = self.pair_shape
        if self.sides is not None:
            return np.ones(shape, dtype=bool)
        loops = np.eye(shape[0], dtype=bool) & self.layer.loops
        return (np.triu(np.ones(shape, dtype=bool), 1) if self.both else ~np.eye(shape[0], dtype=bool)) | loops

    def _pairs_of(self, here: NDArray[np.bool_]) -> Pairs:
        return np.stack([nodes[place] for nodes, place in zip(self.nodes, np.nonzero(here), strict=True)], axis=1)

    def _choose(self, weights: Array, n: int) -> NDArray[np.int64]:
        """Draw n places in proportion to weights."""
        through = np.cumsum(weights)
        return np.minimum(np.searchsorted(through, self.rng.random(n) * through[-1], side="right"), len(through) - 1)

    def _propensities(self, degree: Array, nodes: list[NDArray[np.int64]]) -> list[Array]:
        """Weights of nodes by block: Dirichlet, or all alike."""
        if not self.is_corrected:
            return [np.ones(len(here)) for here in nodes]
        whole = np.zeros(len(self.labels))
        whole[: len(degree)] = degree
        # from the smallest shape on some are 0, all of them never
        return [np.maximum(self.rng.gamma(self.options["propensity"] + whole[here]), 1e-300) for here in nodes]

    # -- values
    def _mirror(self, drawn: Array) -> Array:
        """A number for each two blocks; undirected: the same in both directions."""
        return np.triu(drawn) + np.triu(drawn, 1).T if self.both else drawn

    def _draw_reals(self, ends: Pairs) -> Array:
        """Values with a mean and a variance for each two blocks; standardised by all values of the data."""
        middle, scale, kappa, mean, a, b = self.links.normal_posterior(self.layer.value)
        variance = self._mirror(b / self.rng.gamma(a))
        drawn = mean + self._mirror(self.rng.normal(size=mean.shape)) * np.sqrt(variance / kappa)
        cell = self.labels[ends[:, 0]], self.labels[ends[:, 1]]
        return middle + scale * (drawn[cell] + np.sqrt(variance[cell]) * self.rng.normal(size=len(ends)))

    def _draw_levels(self, ends: Pairs) -> Array:
        """Levels with shares for each two blocks."""
        counts = self.links.level_counts
        shares = np.stack([self._mirror(self.rng.gamma(self.options["alpha"] + of_level)) for of_level in counts])
        through = np.cumsum(np.maximum(shares, 1e-300), axis=0)[:, self.labels[ends[:, 0]], self.labels[ends[:, 1]]]
        return (self.rng.random(len(ends)) * through[-1] >= through[:-1]).sum(axis=0).astype(np.float64)
