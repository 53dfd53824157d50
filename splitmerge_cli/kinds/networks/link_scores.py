"""Probabilities of edges, and densities of their values, given a partition of the nodes and the network.

The parameters between two blocks have their posterior given the edges that are there, and are integrated out
(docs/derivations.md, "Links"). A `Links` answers for one relation under one partition; an average over draws is the
posterior predictive.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from splitmerge_cli.kinds.networks.data import COUNT, LEVELS, REAL, Relation, Relations

Array = NDArray[np.float64]
Pairs = NDArray[np.int32]
CORRECTED = "corrected"
"""``model.degrees``: expected numbers of edges are in proportion to propensities of the nodes."""


@dataclass(frozen=True)
class Links:
    """One relation under one partition. `labels`: int ``[N]``, from 0; `options`: options of the model, none left to
    the data; `sides`: as `Relations` has them.
    """

    relation: Relation
    labels: NDArray[Any]
    options: Mapping[str, Any]
    sides: NDArray[np.int8] | None = None

    @cached_property
    def table(self) -> Any:
        """Sums over the pairs of nodes between blocks."""
        return self.relation.block_table(self.labels, self.sides)

    @property
    def is_corrected(self) -> bool:
        """Whether expected numbers are in proportion to propensities of the nodes."""
        return bool(self.options.get("degrees") == CORRECTED)

    @property
    def has_rates(self) -> bool:
        """Whether pairs have numbers of edges with a Poisson distribution."""
        return self.is_corrected or self.relation.form == COUNT

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

    # -- edges
    def probability(self, pairs: Pairs, kept: float | None = None) -> Array:
        """Probability of an edge, or of a count above 0, of each pair. `pairs`: int32 ``[n, 2]``. `kept`: the network
        has each edge, or each count, of a larger one with this probability: the probability that the larger one has an
        edge, or a further count, which this one lacks. Binary: pairs without an edge. None: of an edge in a replication
        of this network.
        """
        if self.has_rates:
            shape, rate = self.rates(pairs)
            more = 1.0 if kept is None else (1.0 - kept) / kept
            return np.asarray(-np.expm1(-shape * np.log1p(more / rate)))
        return np.asarray(self._of_edge(kept)[self.place(pairs)])

    def _of_edge(self, kept: float | None) -> Array:
        """Probability of an edge between two blocks, ``[K, K]``."""
        edges, pairs = self.table.edges, self.table.pairs
        a, b = self.options["beta1"] + edges, self.options["beta0"] + np.maximum(pairs - edges, 0.0)
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
        shape, rate = self.rates(pairs)
        more = (1.0 - kept) / kept
        choose = special.gammaln(shape + number) - special.gammaln(shape) - special.gammaln(number + 1.0)
        return np.asarray(
            choose - shape * np.log1p(more / rate) + special.xlogy(number, more) - number * np.log(rate + more)
        )

    def mean(self, pairs: Pairs) -> Array:
        """Expected value of each pair in a replication: a count, else the probability of an edge."""
        if self.relation.form != COUNT:
            return self.probability(pairs)
        shape, rate = self.rates(pairs)
        return shape / rate

    # -- values of edges
    def log_density(self, pairs: Pairs, value: Array, kept: float = 0.5) -> Array:
        """Log density of the values of edges, each given that there is an edge: float64 ``[n]``; binary: 0.

        Counts: of a further count in the larger network, given that it is not 0. Real: in the units of the data.
        """
        form, blocks = self.relation.form, self.place(pairs)
        if form == COUNT:
            return self.log_number(pairs, value, kept) - np.log(self.probability(pairs, kept))
        if form == LEVELS:
            counts, alpha = self._level_counts, float(self.options["alpha"])
            one = counts[value.astype(np.int64), *blocks]
            return np.asarray(np.log((alpha + one) / (alpha * len(counts) + counts.sum(axis=0)[blocks])))
        if form == REAL:
            return self._log_student(value, blocks)
        return np.zeros(len(pairs))

    def _sums(self, weights: Array) -> Array:
        """Sums of weights, one for each edge, by block."""
        both = not self.relation.directed and self.sides is None
        K = len(self.table.rows)
        return self.relation.sum_blocks(self.labels, K, self.relation.ends, weights, both)

    @cached_property
    def _level_counts(self) -> Array:
        """Edges of each level between blocks, ``[L, K, K]``."""
        value, codes = np.asarray(self.relation.value), range(len(self.relation.levels))
        return np.stack([self._sums(np.equal(value, code).astype(np.float64)) for code in codes])

    def normal_posterior(self) -> tuple[float, float, Array, Array, Array, Array]:
        """Middle and scale by which values are standardised; then kappa, mean, a and b of each two blocks, ``[K, K]``:
        the normal-inverse-gamma posterior."""
        value = self.relation.value if self.relation.value is not None else np.zeros(0)
        middle, scale = (float(value.mean()), float(value.std()) or 1.0) if len(value) else (0.0, 1.0)
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


def links_of(relations: Relations, labels: NDArray[Any], options: Mapping[str, Any]) -> list[Links]:
    """Every layer under one partition; `options` as of `Links`, the rate a number or one for each layer."""
    rates = options.get("rate")
    rates = rates if isinstance(rates, list) else [rates] * len(relations.layers)
    priors = [relations.edge_prior(r, options) for r in range(len(relations.layers))]
    return [
        Links(layer, labels, {**options, "rate": rate, "beta1": beta1, "beta0": beta0}, relations.sides)
        for layer, rate, (beta1, beta0) in zip(relations.layers, rates, priors, strict=True)
    ]
