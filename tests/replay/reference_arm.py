"""The reference samplers of Herlau et al. 2014: sRM (Algorithm 2), ARM (Algorithm 3), sARM and bSM, with a pair of
partitions
from the history.

Written from the paper and from docs/draw-by-draw.md. Every weight is the joint density of what is in place, prior and
likelihood, as in equation 5; and the reverse probability is found by search: the sum over all walks that lead back,
which equation 17 promises to be one at most.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from plain import Clusters, State, swap_delete
from reference import Reference, exp, normalise
from reference_triadic import Dyadic

Labels = list[int]


def by_first_appearance(labels: Sequence[int]) -> Labels:
    number: dict[int, int] = {}
    return [number.setdefault(k, len(number)) for k in labels]


def labels_of(clusters: Clusters, N: int) -> Labels:
    """Cluster of each item; -1 of an item that is in none."""
    labels = [-1] * N
    for k, items in enumerate(clusters):
        for i in items:
            labels[i] = k
    return labels


class History:
    """Chain history: the partitions of all chains after 0, 1, 2, ... iterations, and their present states."""

    def __init__(self, states: list[State]) -> None:
        self.states = states
        self.history: list[list[Labels]] = [[] for _ in states]

    def present(self, chain: int) -> Labels:
        return by_first_appearance(self.states[chain].labels)

    def record(self) -> None:
        """Every chain has made one more iteration (or none yet)."""
        for chain, history in enumerate(self.history):
            history.append(self.present(chain))


class AdaptiveProposal:
    """The background information phi = (i, j, z_a, z_b) of section 2.4: two partitions, and a pair they disagree on."""

    TRIES = 100

    def __init__(self, stream, adaptation: str, freeze: int) -> None:
        self.stream, self.adaptation, self.freeze = stream, adaptation, freeze
        self.history: History | None = None
        self.own = 0
        self.fixed: tuple | None = None

    def phi(self) -> tuple[int, int, Labels, Labels] | None:
        """None where there is no history, or nothing to disagree on."""
        za, zb, i, j = (*self.partitions(), -1, -1) if self.fixed is None else self.fixed
        if za is None:
            return None
        if i < 0:
            pair = self.pair(za, zb)
            if pair is None:
                return None
            i, j = pair
        return i, j, za, zb

    def partitions(self):
        if self.history is None:
            return None, None
        for _ in range(self.TRIES):
            za, zb = self.others() if self.adaptation == "population" else self.window()
            if za != zb:
                return za, zb
        return None, None

    def window(self) -> tuple[Labels, Labels]:
        """One state of the own chain and one of any, since half of the iterations."""
        history, S = self.history.history, len(self.history.history)
        t = len(history[0]) - 1
        if self.adaptation == "frozen":
            t = min(t, self.freeze)
        W = t - t // 2 + 1
        own = self.stream.index(W)
        other = self.stream.index(S * W)
        return history[self.own][t // 2 + own], history[other // W][t // 2 + other % W]

    def others(self) -> tuple[Labels, Labels]:
        """The present states of two chains that are not the own one."""
        S = len(self.history.states)
        a = [s for s in range(S) if s != self.own][self.stream.index(S - 1)]
        b = [s for s in range(S) if s not in (self.own, a)][self.stream.index(S - 2)]
        return self.history.present(a), self.history.present(b)

    def pair(self, za: Labels, zb: Labels) -> tuple[int, int] | None:
        """Uniform over the ordered pairs on which the two disagree."""
        N = len(za)
        pairs = [(g, h) for g in range(N) for h in range(N) if (za[g] == za[h]) != (zb[g] == zb[h])]
        return pairs[self.stream.index(len(pairs))] if pairs else None


class Walk:
    """One walk from a state, with everything but the random choices settled: launch state, units and their options.

    Parameters
    ----------
    z : clusters in list order
    i, j : int
    rank : the relabelling
    joined : callable
        Whether two inside items are of one block of the refinement c; None: {i} and {j} are the only blocks.
    by_blocks : bool
        Whether the other blocks of c move as such before the single items do.
    """

    def __init__(self, model, z: Clusters, i: int, j: int, rank: Sequence[int], joined, by_blocks: bool) -> None:
        self.model, self.z, self.i, self.j = model, z, i, j
        self.label = labels_of(z, model.N)
        self.is_split = self.label[i] == self.label[j]
        self.inside = sorted(h for h in range(model.N) if self.label[h] in (self.label[i], self.label[j]))
        self.blocks = self.refinement(joined)
        self.c_i, self.c_j = (next(b for b in self.blocks if h in b) for h in (i, j))
        rest = [b for b in self.blocks if b not in (self.c_i, self.c_j)] if by_blocks else []
        rest = [sorted(b, key=rank.__getitem__) for b in rest]
        self.moved = sorted(rest, key=lambda b: (-len(b), rank[b[0]]))
        earmarks = [b[0] for b in self.moved]
        others = (h for h in range(model.N) if h not in (i, j, *earmarks))
        self.singles = [[h] for h in sorted(others, key=rank.__getitem__)]

    def refinement(self, joined) -> Clusters:
        """The blocks of c among the inside items, with the current partition counted in."""
        if joined is None:
            return [[h] for h in self.inside]
        blocks: Clusters = []
        for h in self.inside:
            own = next((b for b in blocks if self.label[b[0]] == self.label[h] and joined(b[0], h)), None)
            if own is None:
                blocks.append([h])
            else:
                own.append(h)
        return blocks

    def launch(self) -> Clusters:
        """Algorithm 3, lines 3 and 4."""
        clusters = list(self.z)
        if self.is_split:
            clusters[self.label[self.i]] = list(self.c_i)
            return [*clusters, list(self.c_j)]
        clusters[self.label[self.i]] = sorted(self.c_i + self.c_j)
        return swap_delete(clusters, self.label[self.j])

    def units(self) -> list[list[int]]:
        return self.moved + self.singles

    def choices(self, clusters: Clusters, unit: list[int]) -> tuple[list[Clusters], list[float]]:
        """Return the clusters that may result when a unit is updated, and their log probabilities."""
        h = unit[0]
        if unit in self.moved or h in self.inside:
            targets = [*range(len(clusters)), len(clusters)]
        else:
            targets = self.outside_targets(clusters, h)
        results = [self.put(clusters, unit, k) for k in targets]
        log_q = [self.model.log_joint(r) if r is not None else -math.inf for r in results]
        return results, normalise(log_q)

    def outside_targets(self, clusters: Clusters, h: int) -> list[int]:
        """Lines 12 to 17: stay, or join i or j; equation 17."""
        own, with_i, with_j = (next(k for k, c in enumerate(clusters) if g in c) for g in (h, self.i, self.j))
        if self.must_stay(clusters[own], h):
            return [own]
        return [own, with_i, with_j] if self.is_split else [own, with_i]

    def must_stay(self, cluster: list[int], h: int) -> bool:
        """Equation 17: the last item that was in the cluster from the start, and others have come."""
        original = [g for g in cluster if self.label[g] == self.label[h]]
        return original == [h] and len(cluster) >= 2

    def put(self, clusters: Clusters, unit: list[int], target: int) -> Clusters | None:
        """The clusters with a unit in one of them or, last, in a new one; None: an item alone has no new one."""
        result = [[g for g in c if g not in unit] for c in clusters]
        own = next((k for k, c in enumerate(clusters) if unit[0] in c), None)
        if target == len(clusters):
            if own is not None and not result[own]:
                return None
            return [*result, sorted(unit)]
        result[target] = sorted([*result[target], *unit])
        return swap_delete(result, own) if own is not None and not result[own] else result

    def walks_to(self, goal: Clusters) -> Iterator[float]:
        """Log probability of every walk that ends in the partition `goal`."""
        wanted = labels_of(goal, self.model.N)
        yield from self.search(self.launch(), self.units(), [self.i, self.j], wanted, 0.0)

    def search(self, clusters, units, settled, wanted, log_p: float) -> Iterator[float]:
        """All ways on from here; what is settled does not move again, so it must agree with the goal."""
        label = labels_of(clusters, self.model.N)
        last = settled[-1]
        if any((label[g] == label[last]) != (wanted[g] == wanted[last]) for g in settled):
            return
        if not units:
            if by_first_appearance(label) == by_first_appearance(wanted):
                yield log_p
            return
        for result, log_choice in zip(*self.choices(clusters, units[0]), strict=True):
            if result is not None:
                yield from self.search(result, units[1:], [*settled, units[0][0]], wanted, log_p + log_choice)


class SRM(Reference):
    """Simplified reconfiguration moves: c_i = {i}, c_j = {j}, and no block is moved as such."""

    by_blocks = False
    walk = Walk

    def __init__(self, state, stream, mode="exact", relabel=True) -> None:
        super().__init__(state, stream, mode)
        self.relabel = relabel

    def step(self) -> None:
        N = self.model.N
        if N < 2:
            return self.void()
        i = self.stream.index(N)
        j = self.stream.index(N - 1)
        return self.reconfigure(i, j + (j >= i), None)

    def reconfigure(self, i: int, j: int, joined) -> None:
        clusters = self.state.clusters
        self.pair = i, j
        rank = self.relabelling()
        walk = self.walk(self.model, clusters, i, j, rank, joined, self.by_blocks)
        self.plates = [
            ("state", clusters),
            *([("refinement", walk.blocks)] if joined else []),
            ("launch", walk.launch()),
        ]
        proposal, log_T = self.propose(walk)
        back = self.walk(self.model, proposal, i, j, self.reverse_relabelling(rank), joined, self.by_blocks)
        log_q = self.model.log_joint(proposal) - self.model.log_joint(clusters)
        self.decide(proposal, log_q + self.log_T_back(back, clusters) - log_T)

    def relabelling(self) -> Labels:
        """Rank of each item: its place in a random order."""
        order = list(range(self.model.N))
        if self.relabel:
            order = self.shuffle(order)
        return [order.index(h) for h in range(self.model.N)]

    def reverse_relabelling(self, rank: Labels) -> Labels:
        """One relabelling supports both directions."""
        return rank

    def propose(self, walk: Walk) -> tuple[Clusters, float]:
        clusters, log_T = walk.launch(), 0.0
        for t, unit in enumerate(walk.units()):
            if t == len(walk.moved):
                self.after_blocks(clusters)
            results, log_p = walk.choices(clusters, unit)
            chosen = self.stream.categorical(exp(log_p)) if len(results) > 1 else 0
            clusters = results[chosen]
            log_T += log_p[chosen]
        if not walk.singles:
            self.after_blocks(clusters)
        self.plates.append(("singles", clusters))
        return clusters, log_T

    def after_blocks(self, clusters: Clusters) -> None:
        if self.by_blocks:
            self.plates.append(("blocks", clusters))

    def log_T_back(self, back: Walk, goal: Clusters) -> float:
        walks = list(back.walks_to(goal))
        assert len(walks) <= 1, "more than one walk leads to the same partition"
        return walks[0] if walks else -math.inf


class ARM(SRM):
    """Adaptive reconfiguration moves; `variant` sarm: every inside item but those of c_i and c_j moves alone."""

    def __init__(
        self, state, stream, mode="exact", variant="arm", adaptation="paper", freeze=1000, relabel=True
    ) -> None:
        super().__init__(state, stream, mode, relabel)
        self.by_blocks = variant == "arm"
        self.adaptive = AdaptiveProposal(stream, adaptation, freeze)

    def step(self) -> None:
        phi = self.adaptive.phi()
        if phi is None:
            return self.void()
        i, j, za, zb = phi
        return self.reconfigure(i, j, lambda g, h: za[g] == za[h] and zb[g] == zb[h])


class BSM(Dyadic):
    """bSM: Jain and Neal's split-merge, launched with the blocks of c around i and j in place.

    Exact: c_i are the items of the affected clusters that both partitions join to i. Literal: the current partition
    counts as well, as printed.
    """

    def __init__(self, state, stream, mode="exact", t=5, adaptation="paper", freeze=1000) -> None:
        super().__init__(state, stream, "exact", allocation="gibbs", t=t)
        self.with_present = mode == "as_printed"
        self.adaptive = AdaptiveProposal(stream, adaptation, freeze)

    def step(self) -> None:
        phi = self.adaptive.phi()
        if phi is None:
            return self.void()
        i, j, self.za, self.zb = phi
        return self.split_or_merge(i, j)

    def launch(self, i: int, j: int, members: list[int]) -> dict[int, bool]:
        in_A = {i: True, j: False}
        for m in members:
            anchor = next((h for h in (i, j) if self.is_in_block(h, m)), None)
            in_A[m] = self.stream.coin(0.5) if anchor is None else anchor == i
        return in_A

    def is_in_block(self, h: int, m: int) -> bool:
        if self.with_present and self.state.cluster_of(h) != self.state.cluster_of(m):
            return False
        return self.za[h] == self.za[m] and self.zb[h] == self.zb[m]
