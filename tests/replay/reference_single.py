"""The reference samplers that move single items: chaperones, locally informed and lifted moves.

Every weight is a ratio of the joint densities of two whole states, not of predictives.
"""

from __future__ import annotations

import math

from plain import Clusters, swap_delete
from reference import Gibbs, Reference


def move(clusters: Clusters, i: int, k: int, allows_empty: bool) -> Clusters:
    """The clusters with item i in number k, or behind the last in one of its own."""
    own = next(t for t, cluster in enumerate(clusters) if i in cluster)
    moved = [[m for m in cluster if m != i] for cluster in clusters] + [[]] * (k == len(clusters))
    moved[k] = sorted([*moved[k], i])
    return swap_delete(moved, own) if not moved[own] and not allows_empty else moved


class Single(Reference):
    """A base class: moves of one item."""

    def log_gain(self, i: int, k: int) -> float:
        """log pi(state with item i in cluster k) - log pi(present state)."""
        clusters = self.state.clusters
        moved = move(clusters, i, k, self.model.allows_empty)
        return self.model.log_joint(moved) - self.model.log_joint(clusters)

    def put(self, i: int, k: int) -> None:
        self.state.clusters = move(self.state.clusters, i, k, self.model.allows_empty)


class Chaperones(Single, Gibbs):
    """Steps 1 and 2 of the algorithm, pairs uniform."""

    def __init__(self, state, stream, mode="exact", scans=2) -> None:
        super().__init__(state, stream, mode)
        self.scans = scans

    def step(self) -> None:
        i = self.stream.index(self.model.N)
        j = self.stream.index(self.model.N - 1)
        j += j >= i
        union = {*self.cluster(i), *self.cluster(j)}
        for m in sorted(union) * self.scans:
            self.visit(m, i, j)

    def cluster(self, i: int) -> list[int]:
        return self.state.clusters[self.state.cluster_of(i)]

    def visit(self, m: int, i: int, j: int) -> None:
        """Draw item m with i (i or j: with the other one), or with j (in a cluster of its own)."""
        of_m, other = self.state.cluster_of(m), {i: j, j: i}.get(m)
        joined = self.state.cluster_of(i if other is None else other)
        if other is None:
            parted, ways = self.state.cluster_of(j), 1
        elif of_m == joined or self.cluster(m) == [m]:
            rest = [[n for n in cluster if n != m] for cluster in self.state.clusters]
            empty = [k for k, cluster in enumerate(rest) if not cluster]
            parted, ways = (empty[-1] if empty else joined, len(empty)) if self.model.allows_empty else (len(rest), 1)
            if of_m != joined:
                parted = of_m
        else:
            parted = joined
        if parted == joined:
            self.stream.coin(1.0)
            return
        gain = {k: 0.0 if k == of_m else self.log_gain(m, k) for k in (joined, parted)}
        chance = 1 / (1 + ways * math.exp(gain[parted] - gain[joined]))
        to = joined if self.stream.coin(chance) else parted
        if to != of_m:
            self.put(m, to)


BALANCING = {"sqrt": lambda r: r / 2, "barker": lambda r: -math.log1p(math.exp(-r)), "min": lambda r: min(r, 0.0)}
"""log g of log r."""


class LocallyInformed(Single):
    """Moves drawn among those of a block; the ratio from the probabilities of the proposals."""

    def __init__(self, state, stream, mode="exact", items=32, moves=4, balancing="barker") -> None:
        super().__init__(state, stream, mode)
        self.items, self.moves, self.log_g = items, moves, BALANCING[balancing]

    def weights(self, i: int) -> list[float]:
        """g of the options that item i has."""
        own, clusters = self.state.cluster_of(i), self.state.clusters
        options = range(len(clusters) + (not self.model.allows_empty))
        alone = len(clusters[own]) == 1 and not self.model.allows_empty
        stays = {own, len(clusters)} if alone else {own}
        return [0.0 if k in stays else math.exp(self.log_g(self.log_gain(i, k))) for k in options]

    def step(self) -> None:
        N = self.model.N
        block = [self.stream.index(N) for _ in range(self.items)] if self.items < N else list(range(N))
        for _ in range(self.moves):
            here = [self.weights(i) for i in block]
            t = self.stream.categorical([sum(row) for row in here])
            i, before = block[t], self.state.clusters
            own = self.state.cluster_of(i)
            k = self.stream.categorical(here[t])
            log_target = self.log_gain(i, k)
            log_q = math.log(here[t][k] / sum(map(sum, here)))
            alone = before[own] == [i] and not self.model.allows_empty
            self.put(i, k)
            there = [self.weights(i) for i in block]
            back = len(self.state.clusters) if alone else own
            log_q_back = math.log(there[t][back] / sum(map(sum, there)))
            after, self.state.clusters = self.state.clusters, before
            self.decide(after, log_target + log_q_back - log_q)
            if self.state.clusters is before and alone:
                # where its cluster was deleted in between, the item's new one is the last
                self.state.clusters = move(after, i, back, False)


def mix(x: int) -> int:
    """A hash of 64 bits."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ x >> shift) * factor % 2**64
    return x ^ x >> 31


class Nonreversible(Single):
    """Lifted moves between two clusters."""

    def __init__(self, state, stream, mode="exact", moves=0, directions=0) -> None:
        super().__init__(state, stream, mode)
        self.moves = moves
        self.kept = [mix(t) % 2 for t in range(directions)]

    def step(self) -> None:
        sides = self.draw_sides()
        if sides is None or sum(map(len, sides[0])) < 2:
            self.void()
            return
        sides, numbers = sides
        n = sum(map(len, sides))
        if self.kept:
            before, earlier = self.find_direction(sides)
            origin = earlier if self.kept[before] else 1 - earlier
        else:
            origin = 0 if self.stream.index(2) else 1
        for _ in range(1 + self.stream.index(self.moves or 2 * n)):
            if self.kept and self.stream.coin(1 / self.model.N):
                origin = 1 - origin
            if not self.lift(sides, origin, numbers):
                origin = 1 - origin
        if self.kept:
            after, earlier = self.find_direction(sides)
            self.kept[before] = self.kept[after]
            self.kept[after] = int(origin == earlier)

    def find_direction(self, sides) -> tuple[int, int]:
        """Where the direction is kept, and the side of the smaller least item: from that one to the other is 1."""
        least = [min(side, default=self.model.N) for side in sides]
        return mix(min(least) << 32 | max(least)) % len(self.kept), least.index(min(least))

    def draw_sides(self):
        """Items of the two clusters, and their numbers; None: a null step."""
        K, first = len(self.state.clusters), self.state.cluster_of(self.stream.index(self.model.N))
        if self.model.allows_empty and K == 1:
            return None
        if self.model.allows_empty or not self.stream.coin(1 / K):
            second = self.stream.index(K - 1)
            second += second >= first
        elif self.stream.coin(K / (K + 1)):
            second = None
        else:
            return None
        items = [list(self.state.clusters[first]), [] if second is None else list(self.state.clusters[second])]
        return items, (first, second)

    def lift(self, sides, origin: int, numbers) -> bool:
        """Propose to move an item out of sides[origin]."""
        here, there = sides[origin], sides[1 - origin]
        if not here:
            self.void()
            return False
        t = self.stream.index(len(here))
        i = here[t]
        if self.model.allows_empty:
            k = numbers[1 - origin]
        else:
            k = self.state.cluster_of(there[0]) if there else len(self.state.clusters)
        proposal = move(self.state.clusters, i, k, self.model.allows_empty)
        before = self.accepted
        self.decide(proposal, self.log_gain(i, k) + math.log(1 / (len(there) + 1)) - math.log(1 / len(here)))
        if self.accepted == before:
            return False
        # the two lists stand one behind the other: the item leaves by the border
        if origin == 0:
            here[t], here[-1] = here[-1], here[t]
            there.insert(0, here.pop())
        else:
            here[t], here[0] = here[0], here[t]
            there.append(here.pop(0))
        return True
