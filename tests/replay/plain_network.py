"""The plain side of the replay for networks: the Infinite Relational Model, every formula from the whole matrix."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from plain import Clusters, Mixture
from scipy.special import betaln


class IRM(Mixture):
    """Infinite Relational Model of an undirected graph (Herlau et al. 2014, section 3.2; the sum runs over k <= k').

    A pair of blocks, or the inside of one, has B(edges + beta1, missing + beta0) / B(beta1, beta0); a pair of items is
    counted once, an item is no pair with itself.
    """

    coupled = True

    def __init__(self, adjacency, concentration=1.0, beta1=1.0, beta0=1.0, prior="crp") -> None:
        super().__init__(len(adjacency), concentration, prior)
        self.A, self.beta1, self.beta0 = np.asarray(adjacency), beta1, beta0

    @cached_property
    def cache(self) -> dict[tuple, float]:
        """Terms computed so far: a walk asks for the same ones again."""
        return {}

    def log_pairs(self, one: tuple[int, ...], other: tuple[int, ...]) -> float:
        """Log marginal likelihood of the item pairs between two clusters, or within one given twice."""
        key = min(one, other), max(one, other)
        if key not in self.cache:
            pairs = [(a, b) for a in one for b in other if one != other or a < b]
            edges = sum(int(self.A[a, b]) for a, b in pairs)
            log_lik = betaln(edges + self.beta1, len(pairs) - edges + self.beta0) - betaln(self.beta1, self.beta0)
            self.cache[key] = float(log_lik)
        return self.cache[key]

    def log_lik(self, clusters: Clusters) -> float:
        """Return the log likelihood of the items that the clusters hold."""
        blocks = [tuple(sorted(items)) for items in clusters if items]
        return math.fsum(self.log_pairs(one, other) for k, one in enumerate(blocks) for other in blocks[k:])

    def log_g(self, cluster: list[int]) -> float:
        """Return the log likelihood of the pairs within a cluster alone."""
        return self.log_lik([cluster])

    def log_predictive(self, i: int, cluster: list[int], others: Clusters = ()) -> float:
        """Return the log predictive of item i's pairs with all placed items, when it joins `cluster`."""
        return self.log_lik([*others, [*cluster, i]]) - self.log_lik([*others, cluster])

    def log_joint(self, clusters: Clusters) -> float:
        return self.log_prior(clusters) + self.log_lik(clusters)
