"""Exact transition matrices of the reference: every random choice enumerated, over all states of tiny data."""

from __future__ import annotations

import itertools
import math

import numpy as np
from plain import Cluster, State, theta_of


class ScriptedStream:
    """Stands in for `Stream` and enumerates all execution paths; `probability` is that of the current path."""

    def __init__(self) -> None:
        self.path: list[list[int]] = []  # [option taken, number of options] per choice

    def paths(self):
        """Yields once per path; the caller runs the kernel in between."""
        while True:
            self.depth, self.probability = 0, 1.0
            yield
            while self.path and self.path[-1][0] == self.path[-1][1] - 1:
                self.path.pop()
            if not self.path:
                return
            self.path[-1][0] += 1

    def choose(self, probabilities) -> int:
        if self.depth == len(self.path):
            self.path.append([0, len(probabilities)])
        option = self.path[self.depth][0]
        self.depth += 1
        self.probability *= probabilities[option]
        return option

    def index(self, n):
        return self.choose([1 / n] * n)

    def coin(self, p):
        return self.choose([p, 1 - p]) == 0

    def accept(self, log_r):
        return log_r >= 0 or self.coin(math.exp(log_r))


def canonical(clusters):
    """The state without its numbering: its clusters, with the parameters that they keep."""
    return tuple(sorted((tuple(c), theta_of(c)) for c in clusters))


def partitions(n):
    for labels in itertools.product(range(n), repeat=n):
        if all(k <= max(labels[:i], default=-1) + 1 for i, k in enumerate(labels)):
            yield labels


def states(model):
    """All states of a model, each numbered by first appearance."""
    for labels in partitions(model.N):
        yield State(model, labels).clusters


def target(model, all_states):
    """Probabilities of the states."""
    pi = np.array([model.log_joint(clusters) for clusters in all_states])
    pi = np.exp(pi - pi.max())
    return pi / pi.sum()


def row(make_ref, model, clusters, position):
    stream = ScriptedStream()
    out = np.zeros(len(position))
    for _ in stream.paths():
        state = State(model, [0] * model.N)
        state.clusters = [Cluster(c, theta_of(c)) for c in clusters]
        make_ref(state, stream).step()
        out[position[canonical(state.clusters)]] += stream.probability
    return out


def transition_matrix(make_ref, model, all_states):
    position = {canonical(c): s for s, c in enumerate(all_states)}
    return np.array([row(make_ref, model, c, position) for c in all_states])
