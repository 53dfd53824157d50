"""The algorithm reference in plain Python: one class per sampler, one line per line of the printed algorithm.

Every ratio is written as equation (1) of Wang & Russell 2015, state ratio times proposal ratio, from the proposal
probabilities themselves (docs/derivations.md), not from the simplified formulas of the compiled samplers; the density
of a new cluster's parameters is one of them.
"""

from __future__ import annotations

import math

from plain import Cluster, Clusters, State, Stream

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
    """Base class of the references: the acceptance step."""

    def __init__(self, state: State, stream: Stream, mode: str = "exact") -> None:
        self.state, self.model, self.stream, self.mode = state, state.model, stream, mode
        self.log_ratio = math.nan

    def step(self) -> None:
        raise NotImplementedError

    def decide(self, proposal: Clusters, log_r: float) -> bool:
        """Accept `proposal` with probability min(1, exp(log_r)); whether it was."""
        self.log_ratio = log_r
        if accepted := self.stream.accept(log_r):
            self.state.clusters = proposal
        return accepted

    def log_target_ratio(self, small: Clusters, big: Clusters) -> float:
        """log pi(big) / pi(small) where big has one cluster more."""
        return self.model.log_joint(big) - self.model.log_joint(small)

    def shuffle(self, items: list[int]) -> list[int]:
        """The items in random order (Fisher-Yates)."""
        order = list(items)
        for t in range(len(order) - 1, 0, -1):
            s = self.stream.index(t + 1)
            order[t], order[s] = order[s], order[t]
        return order
