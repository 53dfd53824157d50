"""The algorithm reference in plain Python: one class per sampler, one line per line of the printed algorithm.

Every ratio is written as equation (1) of Wang & Russell 2015, state ratio times proposal ratio, from the proposal
probabilities themselves (docs/derivations.md), not from the simplified formulas of the compiled samplers; the density
of a new cluster's parameters is one of them.
"""

from __future__ import annotations

import math

from plain import Cluster, Clusters, State, Stream, merge, split, theta_of

LOG_2 = math.log(2)


def normalise(log_weights: list[float]) -> list[float]:
    """Log probabilities proportional to exp(log_weights)."""
    top = max(log_weights)
    log_total = top + math.log(sum(math.exp(w - top) for w in log_weights))
    return [w - log_total for w in log_weights]


def drop_items(items: list[int], *left_out: int) -> list[int]:
    return [m for m in items if m not in left_out]


def sorted_side(side: Cluster) -> Cluster:
    return Cluster(sorted(side), side.theta)


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
        """log pi(big) / pi(small) where big has one cluster more."""
        return self.model.log_joint(big) - self.model.log_joint(small)

    def log_size_and_predictive(self, i: int, sides: Clusters) -> list[float]:
        """Log weights of item i in each of the sides, which the prior counts by their sizes."""
        return [self.model.log_size_weight(len(side)) + self.model.log_predictive(i, side) for side in sides]

    def shuffle(self, items: list[int]) -> list[int]:
        """The items in random order (Fisher-Yates)."""
        order = list(items)
        for t in range(len(order) - 1, 0, -1):
            s = self.stream.index(t + 1)
            order[t], order[s] = order[s], order[t]
        return order


class Dyadic(Reference):
    """Section 2.1 of van Rossum et al. 2018; `allocation` random (equation 8), sams (section 2.2) or gibbs (Jain and
    Neal, `t` launch sweeps)."""

    def __init__(self, state, stream, mode="exact", allocation="sams", t=5) -> None:
        super().__init__(state, stream, mode)
        self.allocation, self.t = allocation, t

    def step(self) -> None:
        if self.model.N < 2:
            return self.void()
        i, j = self.pair()  # (1): a pair has the same probability in both states
        return self.split_or_merge(i, j)

    def pair(self) -> tuple[int, int]:
        """Two different items, uniform and in order."""
        i = self.stream.index(self.model.N)
        j = self.stream.index(self.model.N - 1)
        return i, j + (j >= i)

    def split_or_merge(self, i: int, j: int) -> None:
        """(2) to (6) with anchors i and j."""
        clusters = self.state.clusters
        c_i, c_j = self.state.cluster_of(i), self.state.cluster_of(j)
        theta = self.model.draw_theta(self.stream) if c_i == c_j else theta_of(clusters[c_i])
        A, B = Cluster([i], theta), Cluster([j], theta_of(clusters[c_j]))
        if c_i == c_j:
            log_q = self.allocate(A, B, drop_items(clusters[c_i], i, j))
            proposal = split(clusters, c_i, sorted_side(A), sorted_side(B))
            return self.decide(proposal, self.log_ratio_split(clusters, proposal, theta, log_q))
        members = drop_items(sorted(clusters[c_i] + clusters[c_j]), i, j)
        log_q = self.allocate(A, B, members, forced=clusters[c_i])
        proposal = merge(clusters, c_i, c_j)
        return self.decide(proposal, -self.log_ratio_split(proposal, clusters, theta, log_q))

    def log_ratio_split(self, small, big, theta, log_q: float) -> float:
        """Log ratio of a split that draws theta for side A and allocates with probability q (equation 3)."""
        return self.log_target_ratio(small, big) - self.model.log_H(theta) - log_q

    def allocate(self, A: Cluster, B: Cluster, members: list[int], forced: list[int] | None = None) -> float:
        """Add the members to A and B by draws, or as in `forced` (A's items); returns the log probability."""
        if self.allocation == "gibbs":
            return self.restricted_gibbs(A, B, members, forced)
        log_q, log_p = 0.0, [-LOG_2, -LOG_2]
        # SAMS, line 2: one shuffle for both directions
        for m in self.shuffle(members) if self.allocation == "sams" else members:
            if self.allocation == "sams":
                log_p = normalise(self.log_size_and_predictive(m, [A, B]))
            in_A = self.stream.coin(math.exp(log_p[0])) if forced is None else m in forced
            (A if in_A else B).append(m)
            log_q += log_p[0] if in_A else log_p[1]
        return log_q

    def restricted_gibbs(self, A: Cluster, B: Cluster, members: list[int], forced: list[int] | None) -> float:
        """Launch by fair coins, `t` sweeps, then the scored sweep."""
        in_A = {A[0]: True, B[0]: False} | {m: self.stream.coin(0.5) for m in members}
        for _ in range(self.t):
            self.sweep(members, in_A, (A.theta, B.theta))
        log_q = self.sweep(members, in_A, (A.theta, B.theta), forced)
        A.extend(m for m in members if in_A[m])
        B.extend(m for m in members if not in_A[m])
        return log_q

    def sweep(self, members: list[int], in_A: dict[int, bool], thetas: tuple, forced: list[int] | None = None) -> float:
        """One restricted Gibbs sweep over `in_A` (changed in place); returns the log probability of its choices."""
        log_q = 0.0
        for m in members:
            sides = [
                Cluster([k for k in in_A if in_A[k] is side and k != m], theta)
                for side, theta in zip((True, False), thetas, strict=True)
            ]
            log_p_A, log_p_B = normalise(self.log_size_and_predictive(m, sides))
            in_A[m] = self.stream.coin(math.exp(log_p_A)) if forced is None else m in forced
            log_q += log_p_A if in_A[m] else log_p_B
        return log_q


class RGSM(Dyadic):
    """Restricted Gibbs split-merge (Jain and Neal): `t` launch sweeps, `r` proposals per step."""

    def __init__(self, state, stream, mode="exact", t=5, r=1) -> None:
        super().__init__(state, stream, mode, "gibbs", t)
        self.r = r

    def step(self) -> None:
        for _ in range(self.r):
            super().step()
