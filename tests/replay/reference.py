"""The algorithm reference in plain Python: one class per sampler, one line per line of the printed algorithm.

Every ratio is written as equation (1) of Wang & Russell 2015, state ratio times proposal ratio, from the proposal
probabilities themselves (docs/derivations.md), not from the simplified formulas of the compiled samplers. A split of C
into (A, B) is counted in the order in which it lists its sides, and a merge as the mean over the two orders in which it
may name them.
"""

from __future__ import annotations

import math

import numpy as np
from plain import Cluster, Clusters, State, Stream, merge, split, swap_delete

LOG_2 = math.log(2)


def normalise(log_weights: list[float]) -> list[float]:
    """Log probabilities proportional to exp(log_weights)."""
    top = max(log_weights)
    log_total = top + math.log(sum(math.exp(w - top) for w in log_weights))
    return [w - log_total for w in log_weights]


def exp(log_p: list[float]) -> list[float]:
    return [math.exp(p) for p in log_p]


class Reference:
    """Base class of the references: the acceptance step and the state ratio.

    Attributes
    ----------
    log_ratio : float
        Log ratio of the last proposal of the last step; nan when that was void.
    accepted, null : int
        Numbers of accepted and of null proposals so far.
    """

    def __init__(self, state: State, stream: Stream, mode: str = "exact") -> None:
        self.state, self.model, self.stream, self.mode = state, state.model, stream, mode
        self.log_ratio = math.nan
        self.accepted = self.null = 0

    def step(self) -> None:
        raise NotImplementedError

    def void(self) -> None:
        self.log_ratio = math.nan
        self.null += 1

    def decide(self, proposal: Clusters, log_r: float) -> None:
        """Accept `proposal` with probability min(1, exp(log_r))."""
        self.log_ratio = log_r
        if self.stream.accept(log_r):
            self.state.clusters = proposal
            self.accepted += 1

    def log_target_ratio(self, small: Clusters, big: Clusters) -> float:
        """log pi(big) / pi(small) where big has one cluster more; pi of the state without its numbering."""
        return self.model.log_joint(big) - self.model.log_joint(small) + self.model.log_numberings(len(small))

    def log_state_ratio(self, small: Clusters, big: Clusters) -> float:
        """Return the state ratio as the as_printed version of Wang & Russell 2015 counts it."""
        K, log_r = len(small), self.log_target_ratio(small, big)
        if self.mode == "as_printed":
            log_r += math.log(2 / (K + 1)) if self.model.allows_empty else LOG_2
        return log_r

    def has_void_side(self, A: list[int], B: list[int]) -> bool:
        return not self.model.allows_empty and not (A and B)

    def outside(self, items: list[int]) -> Clusters:
        """The clusters that hold none of these items."""
        return [cluster for cluster in self.state.clusters if not set(cluster) & set(items)]

    def log_predictives(self, i: int, options: Clusters, others: Clusters = ()) -> list[float]:
        """Log predictive of item i, which is not placed, in each of the options; they and `others` are in place."""
        if not self.model.coupled:
            return [self.model.log_predictive(i, cluster) for cluster in options]
        in_place = [*options, *others]
        return [self.model.log_predictive(i, c, in_place[:k] + in_place[k + 1 :]) for k, c in enumerate(options)]

    def log_size_and_predictive(self, i: int, sides: Clusters, outside: Clusters) -> list[float]:
        """Log weights of item i in each of the sides, which the prior counts by their sizes."""
        log_pred = self.log_predictives(i, sides, outside)
        return [self.model.log_size_weight(len(s)) + p for s, p in zip(sides, log_pred, strict=True)]

    def log_p_sides(self, i: int, A: list[int], B: list[int], outside: Clusters) -> list[float]:
        """Log probabilities that item i joins A, and that it joins B, by the predictive alone (equation 5)."""
        return normalise(self.log_predictives(i, [A, B], outside))

    def shuffle(self, items: list[int]) -> list[int]:
        """The items in random order (Fisher-Yates)."""
        order = list(items)
        for t in range(len(order) - 1, 0, -1):
            s = self.stream.index(t + 1)
            order[t], order[s] = order[s], order[t]
        return order


class Gibbs(Reference):
    """Algorithm 1, lines 5 to 9: `scan` full visits every item in turn, site one random item."""

    def __init__(self, state, stream, mode="exact", scan="full") -> None:
        super().__init__(state, stream, mode)
        self.scan = scan

    def step(self) -> None:
        for i in range(self.model.N) if self.scan == "full" else [self.stream.index(self.model.N)]:
            self.update(i)

    def update(self, i: int) -> None:
        """Sample S_i from P(S_i | K, S_-i, m)."""
        state, model = self.state, self.model
        own = state.cluster_of(i)
        rest = [[j for j in items if j != i] for items in state.clusters]
        if model.allows_empty:
            target = self.stream.categorical(exp(normalise(self.log_predictives(i, rest))))
        else:
            *log_pred, log_pred_new = self.log_predictives(i, [*rest, []])
            new = model.log_new_weight() + log_pred_new
            weights = [model.log_size_weight(len(c)) + p if c else new for c, p in zip(rest, log_pred, strict=True)]
            weights.append(new if rest[own] else -math.inf)
            target = self.stream.categorical(exp(normalise(weights)))
        if target == own:
            return
        if target == len(rest):
            rest.append([])
        rest[target] = sorted([*rest[target], i])
        if not rest[own] and not model.allows_empty:
            rest = swap_delete(rest, own)
        state.clusters = rest


class SDDS(Reference):
    """Algorithms 2 and 3. `kernel`: ssdm (Algorithm 2), smds (Algorithm 3), or both, one of the two at random."""

    def __init__(self, state, stream, mode="exact", kernel="both") -> None:
        super().__init__(state, stream, mode)
        self.kernel = kernel

    def step(self) -> None:
        kernel = self.kernel
        if kernel == "both":
            kernel = ("ssdm", "smds")[self.stream.index(2)]
        is_split = self.stream.index(2) == 0
        if kernel == "ssdm":
            if is_split:
                self.smart_split(self.log_ratio_ssdm)
            else:
                self.dumb_merge(self.log_ratio_ssdm)
        elif is_split:
            self.dumb_split(self.log_ratio_smds)
        else:
            self.smart_merge(self.log_ratio_smds)

    # ---- The four proposals

    def smart_split(self, log_ratio) -> None:
        """Algorithm 2, lines 4 to 7."""
        clusters = self.state.clusters
        if len(clusters) == self.model.kmax:
            return self.void()
        c = self.stream.categorical(exp(self.log_f_split(clusters)))
        A, B, outside = [], [], self.outside(clusters[c])
        for i in clusters[c]:
            (A if self.stream.coin(math.exp(self.log_p_sides(i, A, B, outside)[0])) else B).append(i)
        if self.has_void_side(A, B):
            return self.void()
        proposal = split(clusters, c, A, B)
        return self.decide(proposal, log_ratio(clusters, c, proposal, c, len(clusters)))

    def dumb_merge(self, log_ratio) -> None:
        """Algorithm 2, lines 9 and 10."""
        clusters = self.state.clusters
        K = len(clusters)
        if K == 1:
            return self.void()
        i = self.stream.index(K)
        j = self.stream.index(K - 1)
        j += j >= i
        proposal = merge(clusters, i, j)
        return self.decide(proposal, -log_ratio(proposal, min(i, j), clusters, i, j))

    def smart_merge(self, log_ratio) -> None:
        """Algorithm 3, lines 4 and 5."""
        clusters = self.state.clusters
        if len(clusters) == 1:
            return self.void()
        i = self.stream.index(len(clusters))
        j = self.stream.categorical(exp(self.log_f_merge(clusters, i)))
        proposal = merge(clusters, i, j)
        return self.decide(proposal, -log_ratio(proposal, min(i, j), clusters, i, j))

    def dumb_split(self, log_ratio) -> None:
        """Algorithm 3, lines 7 to 9."""
        clusters = self.state.clusters
        if len(clusters) == self.model.kmax:
            return self.void()
        c = self.stream.index(len(clusters))
        A, B = [], []
        for i in clusters[c]:
            (A if self.stream.coin(0.5) else B).append(i)
        if self.has_void_side(A, B):
            return self.void()
        proposal = split(clusters, c, A, B)
        return self.decide(proposal, log_ratio(clusters, c, proposal, c, len(clusters)))

    # ---- The ratio of a split: cluster c of `small` into clusters a and b of `big`; a merge takes the inverse

    def log_ratio_ssdm(self, small: Clusters, c: int, big: Clusters, a: int, b: int) -> float:
        q_split = self.log_q_smart_split(small, c, big[a], big[b])
        return self.log_state_ratio(small, big) + self.log_q_dumb_merge(big) - q_split

    def log_ratio_smds(self, small: Clusters, c: int, big: Clusters, a: int, b: int) -> float:
        return self.log_state_ratio(small, big) + self.log_q_smart_merge(big, a, b) - self.log_q_dumb_split(small, c)

    # ---- Proposal probabilities

    def log_q_smart_split(self, clusters: Clusters, c: int, A: list[int], B: list[int]) -> float:
        return self.log_f_split(clusters)[c] + self.log_p_seq(A, B)

    def log_q_dumb_merge(self, clusters: Clusters) -> float:
        return -math.log(len(clusters) * (len(clusters) - 1))

    def log_q_smart_merge(self, clusters: Clusters, i: int, j: int) -> float:
        both_orders = np.logaddexp(self.log_f_merge(clusters, i)[j], self.log_f_merge(clusters, j)[i])
        return float(both_orders) - LOG_2 - math.log(len(clusters))

    def log_q_dumb_split(self, clusters: Clusters, c: int) -> float:
        return -math.log(len(clusters)) - len(clusters[c]) * LOG_2

    def log_f_split(self, clusters: Clusters) -> list[float]:
        """Log probabilities of the cluster to split, proportional to 1/g(C)."""
        return normalise([-self.model.log_g(items) for items in clusters])

    def log_f_merge(self, clusters: Clusters, i: int) -> list[float]:
        """Log probabilities of cluster i's partner, proportional to g(i union j) / g(i) (equation 6); never i."""
        return normalise(
            [
                self.model.log_g(clusters[i] + items) - self.model.log_g(clusters[i]) if j != i else -math.inf
                for j, items in enumerate(clusters)
            ]
        )

    def log_p_seq(self, A: list[int], B: list[int]) -> float:
        """Log probability that sequential allocation, from two empty sides in item order, gives (A, B)."""
        side_A, side_B, log_p = [], [], 0.0
        outside = self.outside(A + B)
        for i in sorted(A + B):
            log_p_A, log_p_B = self.log_p_sides(i, side_A, side_B, outside)
            log_p += log_p_A if i in A else log_p_B
            (side_A if i in A else side_B).append(i)
        return log_p


class SS(SDDS):
    """Smart split and smart merge (section 5.1)."""

    def step(self) -> None:
        if self.stream.index(2) == 0:
            self.smart_split(self.log_ratio_ss)
        else:
            self.smart_merge(self.log_ratio_ss)

    def log_ratio_ss(self, small: Clusters, c: int, big: Clusters, a: int, b: int) -> float:
        q_split = self.log_q_smart_split(small, c, big[a], big[b])
        return self.log_state_ratio(small, big) + self.log_q_smart_merge(big, a, b) - q_split


class RM(Reference):
    """Random mixing (section 3.3). `redistribution`: coin (each mention) or cut (a random order, then a random cut)."""

    def __init__(self, state, stream, mode="exact", redistribution="cut") -> None:
        super().__init__(state, stream, mode)
        self.redistribution = redistribution

    def step(self) -> None:
        clusters = self.state.clusters
        K = len(clusters)
        e1 = self.stream.index(K)
        e2 = self.stream.index(K)
        if e1 == e2 and self.model.kmax == K:
            return self.void()
        if e1 != e2 and not (clusters[e1] and clusters[e2]):
            return self.void()
        old_A, old_B = clusters[min(e1, e2)], clusters[max(e1, e2)]
        members = clusters[e1] if e1 == e2 else sorted(old_A + old_B)
        A, B = self.redistribute(members)
        n = len(members)
        if e1 == e2:
            if not (A and B):
                return self.void()
            proposal = split(clusters, e1, A, B)
            return self.decide(proposal, self.log_ratio_split(clusters, proposal, len(A), len(B)))
        if not (A and B):
            proposal = merge(clusters, e1, e2)
            return self.decide(proposal, -self.log_ratio_split(proposal, clusters, len(old_A), len(old_B)))
        proposal = list(clusters)
        proposal[min(e1, e2)], proposal[max(e1, e2)] = A, B
        log_r = self.model.log_joint(proposal) - self.model.log_joint(clusters)
        return self.decide(proposal, log_r + self.log_r(len(old_A), n - len(old_A)) - self.log_r(len(A), len(B)))

    def redistribute(self, members: list[int]) -> tuple[list[int], list[int]]:
        n = len(members)
        if self.redistribution == "coin":
            goes_to_A = {i for i in members if self.stream.coin(0.5)}
        else:
            order = self.shuffle(members)
            goes_to_A = set(order[: self.stream.index(n + 1)])
        return [i for i in members if i in goes_to_A], [i for i in members if i not in goes_to_A]

    def log_r(self, a: int, b: int) -> float:
        """Log probability that A gets a given set of a members, from a + b."""
        if self.redistribution == "coin":
            return -(a + b) * LOG_2
        return math.lgamma(a + 1) + math.lgamma(b + 1) - math.lgamma(a + b + 2)

    def log_ratio_split(self, small: Clusters, big: Clusters, a: int, b: int) -> float:
        log_q_split = -2 * math.log(len(small)) + self.log_r(a, b)
        log_q_merge = -2 * math.log(len(big)) + LOG_2 + self.log_r(a + b, 0)  # 2: either side may be the empty one
        return self.log_state_ratio(small, big) + log_q_merge - log_q_split


class RGSM(Reference):
    """Restricted Gibbs split-merge (section 3.3; Jain and Neal): `t` launch sweeps, `r` proposals per step."""

    def __init__(self, state, stream, mode="exact", t=5, r=1) -> None:
        super().__init__(state, stream, mode)
        self.t, self.r = t, r

    def step(self) -> None:
        for _ in range(self.r):
            self.split_merge()

    def split_merge(self) -> None:
        clusters, N = self.state.clusters, self.model.N
        if N < 2:
            return self.void()
        i, j = self.pair()
        c_i, c_j = self.state.cluster_of(i), self.state.cluster_of(j)
        if c_i == c_j and len(clusters) == self.model.kmax:
            return self.void()
        union = clusters[c_i] if c_i == c_j else sorted(clusters[c_i] + clusters[c_j])
        members = [m for m in union if m not in (i, j)]
        in_A = {i: True, j: False}
        for m in members:
            in_A[m] = self.stream.coin(0.5)
        for _ in range(self.t):
            self.sweep(members, in_A)
        if c_i == c_j:
            log_q = self.sweep(members, in_A)
            A, B = [m for m in union if in_A[m]], [m for m in union if not in_A[m]]
            proposal = split(clusters, c_i, A, B)
            return self.decide(proposal, self.log_state_ratio(clusters, proposal) - log_q)
        log_q = self.sweep(members, in_A, forced={m: m in clusters[c_i] for m in members})
        proposal = merge(clusters, c_i, c_j)
        return self.decide(proposal, -(self.log_state_ratio(proposal, clusters) - log_q))

    def pair(self) -> tuple[int, int]:
        """Two different items, uniform and in order."""
        i = self.stream.index(self.model.N)
        j = self.stream.index(self.model.N - 1)
        return i, j + (j >= i)

    def sweep(
        self,
        members: list[int],
        in_A: dict[int, bool],
        forced: dict[int, bool] | None = None,
        thetas: tuple = (None, None),
    ) -> float:
        """One restricted Gibbs sweep over `in_A` (changed in place); returns the log probability of its choices.

        `thetas`: the parameters of sides A and B, where the model keeps them.
        """
        log_q, outside = 0.0, self.outside(list(in_A))
        for m in members:
            sides = [
                Cluster([k for k in in_A if in_A[k] is side and k != m], theta)
                for side, theta in zip((True, False), thetas, strict=True)
            ]
            log_p_A, log_p_B = normalise(self.log_size_and_predictive(m, sides, outside))
            in_A[m] = self.stream.coin(math.exp(log_p_A)) if forced is None else forced[m]
            log_q += log_p_A if in_A[m] else log_p_B
        return log_q


class BirthDeath(Reference):
    """Birth and death moves (section 3.3): of empty entities (EMM), or of singletons (mixtures)."""

    def step(self) -> None:
        is_birth = self.stream.index(2) == 0
        if self.model.allows_empty:
            self.birth_of_empty() if is_birth else self.death_of_empty()
        else:
            self.birth_of_singleton() if is_birth else self.death_of_singleton()

    def log_ratio_empty(self, small: Clusters, big: Clusters) -> float:
        """Birth ratio: the E' empty entities of `big` are alike, so its numberings are fewer by E'."""
        return self.log_state_ratio(small, big) - math.log(sum(not items for items in big))

    def birth_of_empty(self) -> None:
        clusters = self.state.clusters
        if len(clusters) == self.model.kmax:
            return self.void()
        proposal = [*clusters, []]
        return self.decide(proposal, self.log_ratio_empty(clusters, proposal))

    def death_of_empty(self) -> None:
        clusters = self.state.clusters
        empty = [k for k, items in enumerate(clusters) if not items]
        if not empty or len(clusters) == 1:
            return self.void()
        proposal = swap_delete(clusters, empty[self.stream.index(len(empty))])
        return self.decide(proposal, -self.log_ratio_empty(proposal, clusters))

    def log_ratio_singleton(self, small: Clusters, big: Clusters) -> float:
        """Birth ratio: a birth names its item, 1/N; the death does, 1/N, and one of the other K clusters to join."""
        return self.log_state_ratio(small, big) - math.log(len(small))

    def birth_of_singleton(self) -> None:
        clusters = self.state.clusters
        i = self.stream.index(self.model.N)
        c = self.state.cluster_of(i)
        if len(clusters[c]) == 1:
            return self.void()
        proposal = split(clusters, c, [j for j in clusters[c] if j != i], [i])
        return self.decide(proposal, self.log_ratio_singleton(clusters, proposal))

    def death_of_singleton(self) -> None:
        clusters = self.state.clusters
        i = self.stream.index(self.model.N)
        c = self.state.cluster_of(i)
        if len(clusters[c]) > 1 or len(clusters) == 1:
            return self.void()
        target = self.stream.index(len(clusters) - 1)
        target += target >= c
        proposal = merge(clusters, c, target)
        return self.decide(proposal, -self.log_ratio_singleton(proposal, clusters))
