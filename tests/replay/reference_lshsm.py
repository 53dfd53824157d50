"""The reference of Luo & Shrivastava 2018: LSHSM (Algorithm 1) and equation 11, with plain hash tables, for the sizes
of the paper's errors (test_errata_sizes.py). The compiled sampler is enumerated (tests/exact/test_lshsm.py).

Tables are fixed, so what they give is a number: every probability of a proposal is a fraction, added up over all items
as section 3.2 describes the move, not as it prints it.
"""

from __future__ import annotations

import math
import operator
from fractions import Fraction

import numpy as np
from plain import Clusters, merge, split
from reference import Reference, drop_items

HALF = Fraction(1, 2)


def log(p: Fraction | float) -> float:
    return math.log(p) if p > 0 else -math.inf


class Tables:
    """Signed random projections (equation 1): each item's code in each table, nothing looked up but by search.

    Parameters
    ----------
    vectors : array, shape (N, D)
        Their mean is the origin.
    directions : array, shape (D, tables * bits)
    bits : int
    """

    def __init__(self, vectors, directions, bits: int) -> None:
        vectors, self.directions = np.asarray(vectors, dtype=float), np.asarray(directions, dtype=float)
        self.origin = vectors.mean(axis=0)
        self.deviations = vectors - self.origin
        self.N, self.bits, self.tables = len(vectors), bits, self.directions.shape[1] // bits
        self.codes = [self.code(deviation) for deviation in self.deviations]
        self.known: dict[bool, list] = {}

    @classmethod
    def draw(cls, vectors, bits: int, tables: int, seed: int) -> Tables:
        """With directions of one's own."""
        return cls(vectors, np.random.default_rng(seed).normal(size=(np.shape(vectors)[1], tables * bits)), bits)

    def code(self, deviation) -> list[tuple[bool, ...]] | None:
        """The bits of each table; none for what is the origin, which has no direction."""
        positive = [bool(side >= 0) for side in deviation @ self.directions]
        codes = [tuple(positive[t * self.bits : (t + 1) * self.bits]) for t in range(self.tables)]
        return codes if deviation.any() else None

    def items_near(self, point) -> list[int]:
        """S: all items that some table holds in the bucket of a point that is no item, ascending.

        A point that is the origin but for rounding finds nothing.
        """
        deviation = np.asarray(point, dtype=float) - self.origin
        if np.abs(deviation).max() <= 1e-12 * (np.abs(self.deviations).max() + np.abs(self.origin).max()):
            return []
        codes = self.code(deviation)
        return [v for v in range(self.N) if self.codes[v] and any(map(operator.eq, self.codes[v], codes))]

    def query(self, u: int, opposite: bool) -> list[list[int]]:
        """Return the bucket of each table for u, or for -u, without u; no empty buckets. An origin has no direction."""
        if self.codes[u] is None:
            return []
        buckets = []
        for t in range(self.tables):
            wanted = tuple(bit != opposite for bit in self.codes[u][t])
            buckets.append([v for v in range(self.N) if v != u and self.codes[v] and self.codes[v][t] == wanted])
        return [bucket for bucket in buckets if bucket]

    def union(self, u: int, opposite: bool) -> list[int]:
        """All of them, in the order of first appearance."""
        return list(dict.fromkeys(v for bucket in self.query(u, opposite) for v in bucket))

    def probabilities(self, opposite: bool) -> list[list[Fraction]]:
        """q(v given u), or given -u, of every u and v: one of the union is drawn."""
        if opposite not in self.known:
            unions = [self.union(u, opposite) for u in range(self.N)]
            self.known[opposite] = [[Fraction(v in union, len(union) or 1) for v in range(self.N)] for union in unions]
        return self.known[opposite]

    def collision(self, u: int, v: int, opposite: bool) -> float:
        """Equation 2: the probability over directions that u, or -u, and v have the same bit.

        An item without a direction counts as at a right angle to all others.
        """
        return self.same_bit(-self.deviations[u] if opposite else self.deviations[u], self.deviations[v])

    def probability_near(self, point, v: int) -> float:
        """The probability over directions that some table holds v in the bucket of a point."""
        return self.same_bucket(self.same_bit(np.asarray(point, dtype=float) - self.origin, self.deviations[v]))

    def same_bucket(self, p: float) -> float:
        return 1 - (1 - p**self.bits) ** self.tables

    @staticmethod
    def same_bit(a, b) -> float:
        lengths = math.sqrt(float(a @ a) * float(b @ b))
        cosine = float(a @ b) / lengths if lengths else 0.0
        return 1 - math.acos(min(1.0, max(-1.0, cosine))) / math.pi


class SampledLikelihood:
    """L-hat, the first line of equation 11: the mean of each cluster is looked up, and the log densities of those of
    its items that are found are weighed by the inverse of the probability of being found.

    Parameters
    ----------
    model : Gaussian
    tables : Tables
        Of the same items.
    """

    def __init__(self, model, tables: Tables) -> None:
        self.model, self.tables = model, tables

    def __call__(self, clusters: Clusters) -> float:
        return sum(sum(self.terms(items).values()) for items in clusters)

    def terms(self, items: list[int]) -> dict[int, float]:
        mean, _ = self.model.plug_in(items)
        found = [i for i in self.tables.items_near(mean) if i in items]
        return {i: self.model.log_plug_in(i, items) / self.tables.probability_near(mean, i) for i in found}


class LSHSM(Reference):
    """Algorithm 1, with the proposals of section 3.2 (`sums`), a query read as the union of its buckets."""

    def __init__(self, state, stream, tables: Tables) -> None:
        super().__init__(state, stream)
        self.tables = tables

    def step(self) -> None:
        opposite = self.stream.index(2) == 0
        u = self.stream.index(self.model.N)
        union = self.tables.union(u, opposite)
        if not union:
            return None
        v = union[self.stream.index(len(union))]
        together = self.state.cluster_of(u) == self.state.cluster_of(v)
        if opposite:
            return self.smart_split(u, v) if together else self.dumb_merge()
        return self.dumb_split() if together else self.smart_merge(u, v)

    # ---- Section 3.2.1

    def smart_split(self, u: int, v: int) -> None:
        clusters, c = self.state.clusters, self.state.cluster_of(u)
        in_A = {u: True, v: False} | {m: self.stream.coin(0.5) for m in drop_items(clusters[c], u, v)}
        A, B = [m for m in clusters[c] if in_A[m]], [m for m in clusters[c] if not in_A[m]]
        proposal = split(clusters, c, A, B)
        return self.decide(proposal, self.log_ratio_split(clusters, proposal, A, B, opposite=True))

    def dumb_merge(self) -> None:
        clusters = self.state.clusters
        i = self.stream.index(len(clusters))
        j = self.stream.index(len(clusters) - 1)
        j += j >= i
        proposal = merge(clusters, i, j)
        return self.decide(proposal, -self.log_ratio_split(proposal, clusters, clusters[i], clusters[j], opposite=True))

    # ---- Section 3.2.2

    def smart_merge(self, u: int, v: int) -> None:
        clusters = self.state.clusters
        i, j = self.state.cluster_of(u), self.state.cluster_of(v)
        proposal = merge(clusters, i, j)
        return self.decide(
            proposal, -self.log_ratio_split(proposal, clusters, clusters[i], clusters[j], opposite=False)
        )

    def dumb_split(self) -> None:
        clusters = self.state.clusters
        c = self.stream.index(len(clusters))
        in_A = {m: self.stream.coin(0.5) for m in clusters[c]}
        A, B = [m for m in clusters[c] if in_A[m]], [m for m in clusters[c] if not in_A[m]]
        if not (A and B):
            return None
        proposal = split(clusters, c, A, B)
        return self.decide(proposal, self.log_ratio_split(clusters, proposal, A, B, opposite=False))

    # ---- The ratio of a split of `small` into `big`, with sides A and B; a merge takes the inverse

    def log_ratio_split(self, small: Clusters, big: Clusters, A: list[int], B: list[int], opposite: bool) -> float:
        q_split, q_merge = self.q(small, big, A, B, opposite)
        return self.log_target_ratio(small, big) + log(q_merge) - log(q_split)

    def q(
        self, small: Clusters, big: Clusters, A: list[int], B: list[int], opposite: bool
    ) -> tuple[Fraction, Fraction]:
        """Probabilities of the split into the unordered {A, B} and of the merge, given the kind of query."""
        n, M, across = len(A) + len(B), len(small), self.q_across(A, B, opposite)
        if opposite:
            return across * HALF ** (n - 2), self.q_apart(big) * Fraction(2, (M + 1) * M)
        return self.q_together(small) * Fraction(1, M) * 2 * HALF**n, across

    def q_across(self, A: list[int], B: list[int], opposite: bool) -> Fraction:
        """X: u is in one of the two and v in the other."""
        pairs = [(u, v) for u in A for v in B] + [(u, v) for u in B for v in A]
        return self.q_of(pairs, opposite)

    def q_apart(self, clusters: Clusters) -> Fraction:
        """P-diff: the query -u gives an item of another cluster."""
        return self.q_of([(u, v) for c in clusters for u in c for d in clusters if d != c for v in d], True)

    def q_together(self, clusters: Clusters) -> Fraction:
        """P+same: the query u gives an item of the same cluster."""
        return self.q_of([(u, v) for c in clusters for u in c for v in c], False)

    def q_of(self, pairs: list[tuple[int, int]], opposite: bool) -> Fraction:
        """Probability that (u, v) is one of these."""
        q = self.tables.probabilities(opposite)
        return sum((q[u][v] for u, v in pairs), Fraction(0)) / self.model.N

    def printed_sum(self, C_u: list[int], C_v: list[int], opposite: bool) -> float:
        """Return the terms that equations 3 and 5 have in the place of X."""
        total = 0.0
        for u in C_u:
            S = self.tables.union(u, opposite)
            share = len(set(C_v) & set(S)) / len(S) if S else 0.0
            for v in C_v if share else []:
                p = self.tables.collision(u, v, opposite)
                total += self.tables.same_bucket(p) * share / self.model.N
        return total
