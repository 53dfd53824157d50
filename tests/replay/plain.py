"""The plain side of the replay: the random stream and the models, each formula written out, nothing cached.

A state is a list of clusters in list order; a cluster is an ascending list of items, with parameters `theta` where the
model keeps them (else None). Models here hold data and hyper-parameters only, so every function of a state takes its
clusters.
"""

from __future__ import annotations

import math

import numpy as np


class Cluster(list):
    """Items of a cluster, and the parameters that it keeps."""

    def __init__(self, items=(), theta=None) -> None:
        super().__init__(items)
        self.theta = theta


Clusters = list[list[int]]


def theta_of(cluster: list[int]) -> tuple[float, ...] | None:
    """The parameters of a cluster, where the model keeps them; then clusters are `Cluster`s."""
    return getattr(cluster, "theta", None)


class Stream:
    """The random primitives of docs/design.md, from the doubles of one PCG64DXSM stream."""

    def __init__(self, seed: int, chain: int = 0) -> None:
        self.generator = np.random.Generator(np.random.PCG64DXSM(np.random.SeedSequence(seed, spawn_key=(chain,))))

    def random(self) -> float:
        return float(self.generator.random())

    def index(self, n: int) -> int:
        return int(self.random() * n)

    def coin(self, p: float) -> bool:
        return self.random() < p

    def accept(self, log_r: float) -> bool:
        return log_r >= -1e-12 or self.random() < math.exp(log_r)


class State:
    """State of a chain: a model and its clusters; all samplers of the chain read and replace the same `clusters`."""

    def __init__(self, model, labels, K: int | None = None, thetas=None) -> None:
        self.model = model
        K = K or max(labels) + 1
        self.clusters: Clusters = [Cluster(theta=theta) for theta in thetas or [None] * K]
        for i, k in enumerate(labels):
            self.clusters[k].append(i)

    @property
    def K(self) -> int:
        return len(self.clusters)

    @property
    def labels(self) -> list[int]:
        return [self.cluster_of(i) for i in range(self.model.N)]

    def cluster_of(self, i: int) -> int:
        return next(k for k, items in enumerate(self.clusters) if i in items)


def swap_delete(clusters: Clusters, k: int) -> Clusters:
    """`clusters` without cluster k, whose number the last one takes."""
    kept = list(clusters)
    kept[k] = kept[-1]
    return kept[:-1]


def split(clusters: Clusters, c: int, A: list[int], B: list[int]) -> Clusters:
    """Cluster c becomes A, and B is appended."""
    return [*clusters[:c], A, *clusters[c + 1 :], B]


def merge(clusters: Clusters, i: int, j: int) -> Clusters:
    """The union of clusters i and j takes the lower number, and the parameters of j; the higher one is swap-deleted."""
    low, high = min(i, j), max(i, j)
    merged = list(clusters)
    merged[low] = Cluster(sorted(clusters[i] + clusters[j]), theta_of(clusters[j]))
    return swap_delete(merged, high)
