"""Probabilities of edges, and densities of their values, given a partition of the nodes and the network.

The parameters between two blocks have their posterior given the edges that are there, and are integrated out
(docs/derivations.md, "Links"). A `Links` answers for one relation under one partition; an average over draws is the
posterior predictive.

**Edges held out**: a part of a network is removed at random, each edge, of counts each unit, with a probability. A
model that has seen the rest says for every pair without an edge how probable one is in the whole network.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from splitmerge_cli.data.values import variances_of
from splitmerge_cli.extras import pandas as pd
from splitmerge_cli.kinds.networks import data, layout

Array = NDArray[np.float64]
Pairs = NDArray[np.int32]


@dataclass(frozen=True)
class Links:
    """One relation under one partition. `labels`: int ``[N]``, from 0; `options`: options of the model, none left to
    the data; `sides`: as `Relations` has them; `K`: number of blocks at least.
    """

    relation: data.Relation
    labels: NDArray[Any]
    options: Mapping[str, Any]
    sides: NDArray[np.int8] | None = None
    K: int | None = None

    @cached_property
    def table(self) -> Any:
        """Sums over the pairs of nodes between blocks."""
        return self.relation.block_table(self.labels, self.sides, self.K)

    @property
    def is_corrected(self) -> bool:
        """Whether expected numbers are in proportion to propensities of the nodes."""
        return bool(self.options.get("degrees") == layout.CORRECTED)

    @property
    def has_rates(self) -> bool:
        """Whether pairs have numbers of edges with a Poisson distribution."""
        return self.is_corrected or self.relation.form == data.COUNT

    def place(self, pairs: Pairs) -> tuple[NDArray[Any], NDArray[Any]]:
        """Blocks of both ends of pairs."""
        return self.labels[pairs[:, 0]], self.labels[pairs[:, 1]]

    # -- rates
    @cached_property
    def exposure(self) -> Array:
        """By what the rate between two blocks is multiplied in the expected number of their edges, ``[K, K]``."""
        if not self.is_corrected:
            return np.asarray(self.table.pairs)
        product = np.outer(self.table.rows, self.table.columns)
        if not self.relation.directed and self.sides is None:
            # propensities of a block add up to its size; a pair of two of its nodes counts once
            product[np.diag_indices(len(product))] /= 2.0
        return product

    @cached_property
    def gamma(self) -> tuple[Array, Array]:
        """Shape and rate of the gamma posterior that rates between blocks have, ``[K, K]``."""
        shape, rate = float(self.options["shape"]), self.options["rate"]
        if rate is None:
            rate = self.relation.default_rate(len(self.labels), self.sides, shape, self.is_corrected)
        return shape + self.table.total, float(rate) + self.exposure

    def rates(self, pairs: Pairs) -> tuple[Array, Array]:
        """Shape and rate of a gamma distribution for the expected number of edges between two nodes, ``[n]``.

        Degree-corrected: the gamma distribution with the mean and variance of a product of propensities and a rate.
        """
        k, m = self.place(pairs)
        shape, rate = self.gamma
        if not self.is_corrected:
            return shape[k, m], rate[k, m]
        mean, square = self._propensities(pairs)
        first = mean * shape[k, m] / rate[k, m]
        second = square * shape[k, m] * (shape[k, m] + 1.0) / rate[k, m] ** 2
        matched = first**2 / np.maximum(second - first**2, 1e-300)
        return matched, matched / first

    def _propensities(self, pairs: Pairs) -> tuple[Array, Array]:
        """First and second moment of two propensities' product, by the Dirichlet posterior."""
        (i, j), (k, m) = pairs.T, self.place(pairs)
        table, c = self.table, float(self.options["propensity"])
        K = len(table.rows)
        is_one = not self.relation.directed and self.sides is None
        a, b = c + table.sources[i], c + table.targets[j]
        size = table.rows[k] * table.columns[m]
        A = (c * table.rows + np.bincount(self.labels, table.sources, K))[k]
        B = (c * table.columns + np.bincount(self.labels, table.targets, K))[m]
        mean, square = a * b / (A * B), a * (a + 1) * b * (b + 1) / (A * (A + 1) * B * (B + 1))
        if is_one:
            # two nodes of a block share its propensities
            same, itself = k == m, i == j
            mean = np.where(same, a * b / (A * (A + 1)), mean)
            square = np.where(same, a * (a + 1) * b * (b + 1) / (A * (A + 1) * (A + 2) * (A + 3)), square)
            # an edge of a node to itself: half its squared propensity
            mean = np.where(itself, a * (a + 1) / (A * (A + 1)) / 2.0, mean)
            fourth = a * (a + 1) * (a + 2) * (a + 3) / (A * (A + 1) * (A + 2) * (A + 3))
            square = np.where(itself, fourth / 4.0, square)
        return mean * size, square * size**2

    # -- negative binomial counts
    @property
    def precision(self) -> float | None:
        """Shape of the gamma variable by which the rate of a pair differs from its blocks' rate; None: none does."""
        return self.options.get("precision") if self.relation.form == data.COUNT else None

    @cached_property
    def success(self) -> tuple[Array, Array]:
        """Both numbers of the beta posterior for the share of success between two blocks, ``[K, K]``."""
        shape, rate = self.gamma
        return shape, 1.0 + float(self.options["precision"]) * rate

    def _counts(self, pairs: Pairs) -> Array:
        """The count of each pair in this network."""
        code, asked = (
            ends[:, 0].astype(np.int64) * len(self.labels) + ends[:, 1] for ends in (self.relation.ends, pairs)
        )
        order = np.argsort(code)
        place = np.minimum(np.searchsorted(code, asked, sorter=order), max(len(code) - 1, 0))
        found = order[place] if len(code) else place
        return np.where(code[found] == asked, self.relation.weights[found], 0.0) if len(code) else np.zeros(len(pairs))

    def _log_scattered(self, pairs: Pairs, number: Array, kept: float) -> Array:
        """`log_number` of negative binomial counts.

        The rate of a pair of count x has a gamma posterior of shape x + precision, so the number is negative binomial
        with that shape, c, and odds more p, where p is the share of success. The posterior of p is beta (A, B) before:

            Gamma(c + n) / (Gamma(c) n!) more^n E[p^n (1 + more p)^-(c + n)]
        """
        more, n = (1.0 - kept) / kept, number
        c = self._counts(pairs) + float(self.options["precision"])
        A, B = (of_blocks[self.place(pairs)] for of_blocks in self.success)
        choose = special.gammaln(c + n) - special.gammaln(c) - special.gammaln(n + 1.0)
        power = log_mean_power(A + n, B, c + n, more) + special.betaln(A + n, B) - special.betaln(A, B)
        return np.asarray(choose + special.xlogy(n, more) + power)

    # -- edges
    def probability(self, pairs: Pairs, kept: float | None = None) -> Array:
        """Probability of an edge, or of a count above 0, of each pair. `pairs`: int32 ``[n, 2]``. `kept`: the network
        has each edge, or each count, of a larger one with this probability: the probability that the larger one has an
        edge, or a further count, which this one lacks. Binary: pairs without an edge. None: of an edge in a replication
        of this network.
        """
        if self.precision is not None:
            if kept is not None:
                return np.asarray(-np.expm1(self.log_number(pairs, np.zeros(len(pairs)), kept)))
            A, B = (of_blocks[self.place(pairs)] for of_blocks in self.success)
            return np.asarray(-np.expm1(special.betaln(A, B + self.precision) - special.betaln(A, B)))
        if self.has_rates:
            shape, rate = self.rates(pairs)
            more = 1.0 if kept is None else (1.0 - kept) / kept
            return np.asarray(-np.expm1(-shape * np.log1p(more / rate)))
        return np.asarray(self._of_edge(kept)[self.place(pairs)])

    def _of_edge(self, kept: float | None) -> Array:
        """Probability of an edge between two blocks, ``[K, K]``."""
        edges, pairs = self.table.edges, self.table.pairs
        beta1, beta0 = (by_blocks(self.options[name], np.eye(len(edges), dtype=bool)) for name in ("beta1", "beta0"))
        a, b = beta1 + edges, beta0 + np.maximum(pairs - edges, 0.0)
        if kept is None:
            return np.asarray(a / (a + b))
        # a probability of the larger network is at most 1, so what is kept of it at most `kept`
        within = special.betainc(a, b, kept)
        odds = a / np.maximum(b - 1.0, 1e-300) * special.betainc(a + 1.0, np.maximum(b - 1.0, 1e-300), kept)
        with np.errstate(invalid="ignore", divide="ignore"):
            lacking = (1.0 - kept) / kept * odds / within
        # a log score stays finite
        return np.asarray(np.minimum(np.where(within > 0, lacking, 1.0), 1.0 - 1e-12))

    def log_without(self, pairs: Pairs, kept: float) -> Array:
        """Log probability of no edge in the larger network beyond this one; finite where an edge is all but sure."""
        if self.has_rates:
            return self.log_number(pairs, np.zeros(len(pairs)), kept)
        return np.log1p(-self.probability(pairs, kept))

    def log_number(self, pairs: Pairs, number: Array, kept: float) -> Array:
        """Log probabilities that pairs have so many edges in the larger network beyond this one."""
        if self.precision is not None:
            return self._log_scattered(pairs, number, kept)
        shape, rate = self.rates(pairs)
        more = (1.0 - kept) / kept
        choose = special.gammaln(shape + number) - special.gammaln(shape) - special.gammaln(number + 1.0)
        return np.asarray(
            choose - shape * np.log1p(more / rate) + special.xlogy(number, more) - number * np.log(rate + more)
        )

    def mean(self, pairs: Pairs) -> Array:
        """Expected value of each pair in a replication: a count, else the probability of an edge."""
        if self.relation.form != data.COUNT:
            return self.probability(pairs)
        shape, rate = self.rates(pairs)
        return shape / rate

    # -- values of edges
    def log_density(self, pairs: Pairs, value: Array, kept: float = 0.5) -> Array:
        """Log density of the values of edges, each given that there is an edge: float64 ``[n]``; binary: 0.

        Counts: of a further count in the larger network, given that it is not 0. Real: in the units of the data.
        """
        form, blocks = self.relation.form, self.place(pairs)
        if form == data.COUNT:
            return self.log_number(pairs, value, kept) - np.log(self.probability(pairs, kept))
        if form == data.LEVELS:
            counts, alpha = self.level_counts, float(self.options["alpha"])
            one = counts[value.astype(np.int64), *blocks]
            return np.asarray(np.log((alpha + one) / (alpha * len(counts) + counts.sum(axis=0)[blocks])))
        if form == data.REAL:
            return self._log_student(value, blocks)
        return np.zeros(len(pairs))

    def _sums(self, weights: Array) -> Array:
        """Sums of weights, one for each edge, by block."""
        both = not self.relation.directed and self.sides is None
        K = len(self.table.rows)
        return self.relation.sum_blocks(self.labels, K, self.relation.ends, weights, both)

    @cached_property
    def level_counts(self) -> Array:
        """Edges of each level between blocks, ``[L, K, K]``."""
        value, codes = np.asarray(self.relation.value), range(len(self.relation.levels))
        return np.stack([self._sums(np.equal(value, code).astype(np.float64)) for code in codes])

    def normal_posterior(self, others: Array | None = None) -> tuple[float, float, Array, Array, Array, Array]:
        """Middle and scale of the values, or of `others`, by which they are standardised; then kappa, mean, a and b of
        each two blocks, ``[K, K]``: the normal-inverse-gamma posterior."""
        value = self.relation.value if self.relation.value is not None else np.zeros(0)
        spread = value if others is None else others
        middle, scale = (
            (float(spread.mean()), float(np.sqrt(variances_of(spread))) or 1.0) if len(spread) else (0.0, 1.0)
        )
        x = (value - middle) / scale
        n, s = self.table.edges, self._sums(x)
        kappa0, a0, b0 = (float(self.options[name]) for name in ("kappa0", "a0", "b0"))
        kappa, a = kappa0 + n, a0 + n / 2.0
        mean = s / kappa
        b = b0 + 0.5 * np.maximum(self._sums(x * x) - kappa * mean**2, 0.0)
        return middle, scale, kappa, mean, a, b

    def _log_student(self, value: Array, blocks: tuple[NDArray[Any], NDArray[Any]]) -> Array:
        middle, scale, *posterior = self.normal_posterior()
        kappa, mean, a, b = (of_blocks[blocks] for of_blocks in posterior)
        width = b * (kappa + 1.0) / kappa
        off = ((value - middle) / scale - mean) ** 2 / (2.0 * width)
        constant = special.gammaln(a + 0.5) - special.gammaln(a) - 0.5 * np.log(2.0 * np.pi * width)
        return np.asarray(constant - (a + 0.5) * np.log1p(off) - np.log(scale))


def by_blocks(pseudo_counts: Any, same: NDArray[np.bool_]) -> Array:
    """Pseudo-counts of two blocks: one for all, or one where they are the same and one where not."""
    return np.where(same, *np.broadcast_to(pseudo_counts, 2))


NODES = 97
"""Nodes of an integral over a share of success."""


def log_mean_power(A: Array, B: Array, c: Array, more: float) -> Array:
    """log E[(1 + more p)^-c] for p ~ Beta(A, B), by the trapezoidal rule: over t, where the logit of p is its mode and
    sinh(t) times a width that the curvature gives there. The tails fall as exp(A logit) and exp(-B logit), which for a
    small A is far more slowly than in a normal density.

    >>> log_mean_power(np.array([2.0]), np.array([3.0]), np.array([0.0]), 0.5).round(12) + 0.0
    array([0.])
    """
    (A, B, c), place = np.unique(np.stack([A, B, c]), axis=1, return_inverse=True)
    # the mode: a root of (c - A - B) more p^2 + (A more - A - B - c more) p + A, of which one lies between 0 and 1
    square, linear = (c - A - B) * more, (A - c) * more - A - B
    p = 2.0 * A / (np.sqrt(linear**2 - 4.0 * square * A) - linear)
    odds = 1.0 + more * p
    curvature = A + B + c * more * (1.0 - 2.0 * p - more * p * p) / odds**2
    width = np.minimum(np.sqrt(1.0 / (p * (1.0 - p) * np.maximum(curvature, 0.1 * (A + B)))), 2.0)
    farthest = np.arcsinh(9.0 + 40.0 / (width * np.minimum(A, B)))
    t = farthest[:, None] * np.linspace(-1.0, 1.0, NODES)
    logit = special.logit(p)[:, None] + width[:, None] * np.sinh(t)
    at = -A[:, None] * np.logaddexp(0.0, -logit) - B[:, None] * np.logaddexp(0.0, logit)
    at -= c[:, None] * np.log1p(more * special.expit(logit))
    step = width * farthest * 2.0 / (NODES - 1)
    of_each = special.logsumexp(at + np.log(np.cosh(t)), axis=1) + np.log(step) - special.betaln(A, B)
    return np.asarray(of_each[place.ravel()])


def links_of(relations: data.Relations, labels: NDArray[Any], options: Mapping[str, Any]) -> list[Links]:
    """Every layer under one partition; `options` as of `Links`, rate and precision a number or one for each layer."""
    rates = options.get("rate")
    rates = rates if isinstance(rates, list) else [rates] * len(relations.layers)
    found = []
    for r, precision in enumerate(layout.precisions_of(relations.layers, options)):
        beta1, beta0 = relations.edge_prior(r, options)
        of_layer = {"rate": rates[r], "beta1": beta1, "beta0": beta0, "precision": precision}
        found.append(Links(relations.layers[r], labels, {**options, **of_layer}, relations.sides))
    return found


MOST_PAIRS = 50_000
"""Pairs of a layer without a removed edge that are scored at most; of more, a sample."""
BINS = 10
"""Groups of pairs, by probability, whose expected and observed numbers of edges are compared."""


@dataclass(frozen=True)
class Scored:
    """Pairs of one layer whose edges are predicted."""

    pairs: Pairs
    """int32 ``[n, 2]``: those with a removed edge first."""
    removed: Array
    """float64 ``[n]``: how many edges were removed, of counts how much; 0 of the others."""
    value: Array
    """float64 ``[n]``: value of the removed edge; of counts what was removed; nan of the others."""
    weight: Array
    """float64 ``[n]``: how many pairs of the network each stands for."""


@dataclass(frozen=True)
class HeldOut:
    """A network without some of its edges, and the pairs that are scored of each layer."""

    rest: data.Relations
    """The network that the model sees."""
    scored: list[Scored]
    kept: float
    """Probability with which an edge, or a unit of a count, was kept."""


def remove_edges(relations: data.Relations, share: float, seed: int, part: int = 0, most: int = MOST_PAIRS) -> HeldOut:
    """Remove edges from every layer at random, or units from counts. `share`: between 0 and 1. `seed`, `part`: parts 0,
    1, ... of one seed remove different edges, as far as there are any. `most`: pairs of a layer without a removed edge
    that are scored, at most.
    """
    rest, scored, rng = [], [], np.random.default_rng([seed, part])
    for_edges = np.random.default_rng(seed)
    for layer in relations.layers:
        counts = layer.weights.astype(np.int64)
        if layer.form == data.COUNT:
            kept = rng.binomial(counts, 1.0 - share)
        else:
            kept = counts.copy()
            n = round(share * len(counts))
            kept[np.roll(for_edges.permutation(len(counts)), -part * n)[:n]] = 0
        here = kept > 0
        values = kept.astype(np.float64) if layer.form == data.COUNT else layer.value
        rest.append(replace(layer, ends=layer.ends[here], value=None if values is None else values[here]))
        gone = counts > kept
        # a pair with an edge in the rest has no other, unless edges are counted
        apart = np.concatenate([layer.ends[gone if layer.form == data.COUNT else np.ones_like(gone)], layer.unknown])
        others, total = _draw_pairs(relations, layer, apart, most, rng)
        number = (counts - kept)[gone].astype(np.float64)
        value = number if layer.form == data.COUNT or layer.value is None else layer.value[gone]
        n = len(others)
        scored.append(
            Scored(
                np.concatenate([layer.ends[gone], others]).astype(np.int32),
                np.append(number, np.zeros(n)),
                np.append(value, np.full(n, np.nan)),
                np.append(np.ones(len(number)), np.full(n, total / max(n, 1))),
            )
        )
    return HeldOut(replace(relations, layers=tuple(rest)), scored, 1.0 - share)


def _draw_pairs(
    relations: data.Relations, layer: data.Relation, apart: Pairs, most: int, rng: np.random.Generator
) -> tuple[Pairs, float]:
    """Draw pairs of a layer, but for some, at most so many, and count all."""
    N, sides = relations.N, relations.sides
    first, second = (np.arange(N), np.arange(N)) if sides is None else (np.flatnonzero(sides == s) for s in (0, 1))
    cells = len(first) * len(second)
    number = np.zeros(N, dtype=np.int64)
    number[second] = np.arange(len(second))
    place = np.zeros(N, dtype=np.int64)
    place[first] = np.arange(len(first))
    taken = np.unique(place[apart[:, 0]] * len(second) + number[apart[:, 1]])

    def choose(cell: NDArray[np.int64]) -> NDArray[np.int64]:
        """Leave out cells that are no pairs, or taken."""
        i, j = np.divmod(cell, len(second))
        if sides is None:
            cell = cell[(i < j) | (i == j) & layer.loops if not layer.directed else (i != j) | layer.loops]
        position = np.minimum(np.searchsorted(taken, cell), max(len(taken) - 1, 0))
        return cell if not len(taken) else cell[taken[position] != cell]

    if cells <= 8 * most:
        chosen = choose(np.arange(cells))
        total = float(len(chosen))
        if total > most:
            chosen = rng.choice(chosen, most, replace=False)
    else:
        chosen = np.unique(choose(rng.integers(cells, size=4 * most)))
        pairs = cells if sides is not None or layer.directed else (cells + N) // 2
        pairs -= 0 if sides is not None or layer.loops else N
        total = float(pairs - len(taken))
        if len(chosen) > most:
            chosen = rng.choice(chosen, most, replace=False)
    i, j = np.divmod(np.sort(chosen), len(second))
    return np.stack([first[i], second[j]], axis=1).astype(np.int32), total


@dataclass(frozen=True)
class LinkScores:
    """How well a model predicts removed edges."""

    removed: int
    """Pairs with a removed edge."""
    auc: float
    """Probability that a pair with a removed edge has a higher probability than another pair."""
    log_score: float
    """Log probability of what was removed, summed over all pairs of the network, over the number of removed edges: nats
    an edge."""
    per_pair: float
    """This sum divided by the number of pairs."""
    value_density: float
    """Mean log density of removed edges' values, given where the edges are; nan if edges have no values."""
    reliability: "pd.DataFrame" = field(repr=False)
    """Groups of pairs, the least probable first, each with a tenth of the expected edges: probability (mean), pairs,
    expected, observed, error (standard deviation of the observed number, if the probabilities are right)."""
    contributions: Array = field(repr=False)
    """float64 ``[n]``: log score of each scored pair, its value included."""
    weight: Array = field(repr=False)
    """float64 ``[n]``: as `Scored`."""

    def __str__(self) -> str:
        lines = [
            f"{self.removed:,} edges held out: AUC {self.auc:.3f}, log score {self.log_score:.3f} nats an edge, "
            f"{self.per_pair:.5f} nats a pair"
        ]
        if np.isfinite(self.value_density):
            lines.append(f"log density of the values of these edges: {self.value_density:.3f} nats an edge")
        lines.append("  probability      pairs  expected  observed")
        lines += [
            f"  {row.probability:11.4f}  {row.pairs:9,.0f}  {row.expected:8.1f}  {row.observed:8.0f}"
            for row in self.reliability.itertuples()
        ]
        return "\n".join(lines)


def score_links(held_out: HeldOut, draws: Sequence[tuple[NDArray[Any], Mapping[str, Any]]]) -> LinkScores:
    """Score the pairs of a network whose edges were removed, by draws of a model that has seen the rest. `draws`:
    labels ``[N]`` from 0, and the options of the model, none left to the data.
    """
    probability = [np.zeros(len(scored.pairs)) for scored in held_out.scored]
    outcome = [np.full(len(scored.pairs), -np.inf) for scored in held_out.scored]
    value = [np.full(int((scored.removed > 0).sum()), -np.inf) for scored in held_out.scored]
    for labels, options in draws:
        for n, links in enumerate(links_of(held_out.rest, labels, options)):
            scored, kept = held_out.scored[n], held_out.kept
            p = links.probability(scored.pairs, kept)
            probability[n] += p / len(draws)
            gone = scored.removed > 0
            with np.errstate(divide="ignore"):
                log_p = np.where(gone, np.log(p), links.log_without(scored.pairs, kept))
            outcome[n] = np.logaddexp(outcome[n], log_p)
            density = links.log_density(scored.pairs[gone], scored.value[gone], kept)
            # the density of the edge and its value together is averaged
            value[n] = np.logaddexp(value[n], log_p[gone] + density)
    p, weight = np.concatenate(probability), np.concatenate([one.weight for one in held_out.scored])
    gone = np.concatenate([one.removed for one in held_out.scored]) > 0
    edge = np.concatenate(outcome) - np.log(len(draws))
    with_value = np.concatenate(value) - np.log(len(draws))
    valued = any(layer.value is not None for layer in held_out.rest.layers)
    of_value = float((with_value - edge[gone]).mean()) if valued and gone.any() else np.nan
    contributions = edge.copy()
    contributions[gone] = with_value
    removed, total = int(gone.sum()), float(weight @ edge)
    return LinkScores(
        removed,
        _area(p, gone, weight),
        total / max(removed, 1),
        total / weight.sum(),
        of_value,
        _reliability(p, gone, weight),
        contributions,
        weight,
    )


def _area(p: Array, gone: NDArray[np.bool_], weight: Array) -> float:
    """Area under the ROC curve, ties counting half; nan without pairs of both sorts."""
    if not gone.any() or gone.all():
        return float("nan")
    _, place = np.unique(p, return_inverse=True)
    ones, others = np.bincount(place, weight * gone), np.bincount(place, weight * ~gone)
    below = np.cumsum(others) - others / 2.0
    return float(ones @ below / (ones.sum() * others.sum()))


def _reliability(p: Array, gone: NDArray[np.bool_], weight: Array) -> "pd.DataFrame":
    order = np.argsort(p, kind="stable")
    expected = (weight * p)[order]
    through = np.cumsum(expected)
    group = np.minimum((through - expected / 2.0) * BINS / max(through[-1], 1e-300), BINS - 1).astype(np.int64)
    # pairs of one probability stay together
    _, first, number = np.unique(p[order], return_index=True, return_inverse=True)
    group = group[first][number]
    frame = pd.DataFrame(
        {
            "group": group,
            "pairs": weight[order],
            "expected": expected,
            "observed": (weight * gone)[order],
            # a mean of draws may be above 1 by rounding
            "variance": (weight * p * np.maximum(1.0 - p, 0.0))[order],
        }
    )
    summed = frame.groupby("group", sort=True).sum()
    summed.insert(0, "probability", summed["expected"] / summed["pairs"])
    summed["error"] = np.sqrt(summed.pop("variance"))
    return summed.reset_index(drop=True)
