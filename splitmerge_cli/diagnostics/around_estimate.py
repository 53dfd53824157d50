"""Supplements to a point estimate: its credible ball, the items that are together as drawn (the core), coarser levels
of its clusters (the dendrogram), and further partitions that represent the posterior with it.

The credible ball
-----------------
The ball of level 1 - alpha around a partition c* is the smallest B(c*, r) = {c : d(c*, c) <= r} that holds at least the
share 1 - alpha of the sampled partitions. Its radius is a distance that occurs among them: the
ceil((1 - alpha) M)-th of the M distances in ascending order. Partitions at that very distance are all in the ball, so
that its share may be larger than the level, the more so the fewer distances there are.

The bounds show how different the partitions in the ball are; each may be several, and all of them are given:

================ ==========================================================================
horizontal       the furthest in the ball
vertical upper   of those in the ball with the fewest clusters the furthest
vertical lower   of those in the ball with the most clusters the furthest
================ ==========================================================================

Source: Wade and Ghahramani 2018, section 4: equation 12 (the ball) and the definitions that follow it (the bounds).

The core
--------
A partition of some of the items has the probability that a sampled partition, cut to these items, is it. The core of
level 0.95 is one of as many items as possible whose probability is at least 0.95. The search adds, one at a time, the
item and the place (a cluster of the core, or a new one) that keep most of the sampled partitions in agreement, as long
as they are enough; an item on which all of those agree costs nothing.

Source: Page et al. 2025 (conditional high inclusion probability subset).

The dendrogram
--------------
Clusters are merged, pair by pair, where the expected loss rises least. A cut with fewer clusters than the posterior has
is no estimate of it: it is coarser, and its expected loss says by how much. With clusters of n_k items, of which n_ck
lie in cluster c of a sampled partition of weight w_c, merging clusters k and l changes the expected loss
(`partition_losses`, a = 1) by

    (f(n_k + n_l) - f(n_k) - f(n_l) - 2 sum_c w_c (f(n_ck + n_cl) - f(n_ck) - f(n_cl))) / scale,

which depends on these two alone, so that after a merge the changes of one cluster are computed again.

Source: Dahl, Johnson and Mueller 2022, section 3 (merging clusters of an estimate); Wade and Ghahramani 2018 (the
loss).

Several partitions with weights
-------------------------------
L partitions (particles) c_1, ..., c_L with weights w_l approximate the sampled ones best, in the Wasserstein distance
of the loss d, where the mean of min_l d(c_l, c) over the sampled c is least, w_l being the share of those that are
nearest to c_l. One particle is the point estimate. The search alternates, like that for k means: each sampled partition
goes to its nearest particle, and each particle becomes the partition of least expected loss of those that are with it,
so that the mean never rises. It starts at sets of sampled partitions: many are drawn, far from each other, improved as
medoids by the distances among the sampled partitions alone, and the best of them are taken on.

Source: Balocchi and Wade 2025 (WASABI); Arthur and Vassilvitskii 2007 (the starts).
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.diagnostics import partition_losses, point_estimate
from splitmerge_cli.diagnostics.partition_kernels import join_terms

SAME = 1e-10
"""Distances no further apart are the same: they are sums in different orders."""


@dataclass(frozen=True)
class Bound:
    """The extreme partitions of one kind."""

    partitions: NDArray[np.int32]
    """``[T, N]``: all different ones, numbered by first appearance, in the order in which they were sampled."""
    first: int
    """Number of the sampled partition that is the first of them."""
    n_clusters: int
    """Clusters of the first."""
    distance: float
    """From the centre."""


@dataclass(frozen=True)
class CredibleBall:
    """The ball, and its bounds."""

    level: float
    loss: str
    """``vi`` (distances in nats) or ``binder`` (shares of pairs of items)."""
    radius: float
    share: float
    """Share of the sampled partitions in the ball: at least `level`."""
    partitions: int
    """Number of sampled partitions."""
    horizontal: Bound
    upper: Bound
    lower: Bound


def credible_ball(labels: ArrayLike, partitions: ArrayLike, level: float = 0.95, loss: str = "vi") -> CredibleBall:
    """The credible ball of a level, above 0 and at most 1, around a partition, as a rule a point estimate.

    Of the sampled partitions ``[M, N]`` one that came up twice stands there twice; the loss, ``vi`` or ``binder``, is
    the distance. A ValueError for a level out of range, an unknown loss, shapes that do not fit.
    """
    if not 0 < level <= 1:
        raise ValueError(f"level={level}: expected above 0, at most 1")
    rows = partition_losses.check_partitions(partitions)
    distance = partition_losses.distances(labels, rows, loss)
    # 0.95 of 20 is 19, whatever the rounding of the product
    reached = max(1, math.ceil(level * len(rows) - 1e-9))
    radius = float(np.sort(distance)[reached - 1])
    inside = np.flatnonzero(distance <= radius + SAME)
    K = rows.max(axis=1) + 1

    def bound(among: NDArray[np.int64]) -> Bound:
        furthest = distance[among].max()
        candidates = among[distance[among] >= furthest - SAME]
        candidates = candidates[np.sort(partition_losses.find_distinct(rows[candidates])[0])]
        return Bound(rows[candidates], int(candidates[0]), int(K[candidates[0]]), float(furthest))

    fewest, largest_K = K[inside].min(), K[inside].max()
    bounds = bound(inside), bound(inside[K[inside] == fewest]), bound(inside[K[inside] == largest_K])
    return CredibleBall(level, loss, radius, len(inside) / len(rows), len(rows), *bounds)


STARTS = 16
MOST_LABELS = 2**22
"""Labels that all starts together have; two are made in any case."""


@dataclass(frozen=True)
class ItemCore:
    """Items that are together as drawn."""

    labels: NDArray[np.int32]
    """``[N]``: cluster of each item in the core, numbered by first appearance; -1 of the others."""
    probability: float
    """Share of the sampled partitions that agree."""
    level: float

    @property
    def n_items(self) -> int:
        """Items in the core."""
        return int((self.labels >= 0).sum())

    @property
    def n_clusters(self) -> int:
        """Clusters of the core."""
        return int(self.labels.max()) + 1


def find_item_core(partitions: ArrayLike, level: float = 0.95) -> ItemCore:
    """The core of a level, a probability above 0 and at most 1, as a greedy search from several starts finds it; the
    same at every call.

    Of the sampled partitions ``[M, N]`` one that came up twice stands there twice. A ValueError for a level out of
    range, or partitions of another shape.
    """
    if not 0 < level <= 1:
        raise ValueError(f"core={level}: expected above 0, at most 1")
    rows = partition_losses.check_partitions(partitions)
    blocks, block, size = partition_losses.find_blocks(rows)
    needed = max(1, math.ceil(level * len(rows) - 1e-9))
    rng = np.random.default_rng(0)
    best, largest = (np.full(len(size), -1), 0), (-1, 0)
    for _ in range(max(2, min(STARTS, MOST_LABELS // blocks.size))):
        labels, agree = _grow(blocks, size, needed, rng)
        reached = int(size[labels >= 0].sum()), agree
        if reached > largest:
            best, largest = (labels, agree), reached
    labels, agree = best
    of_items = labels[block]
    inside = of_items >= 0
    out = np.full(len(of_items), -1, dtype=np.int32)
    out[inside] = partition_losses.by_appearance(of_items[inside])
    return ItemCore(out, agree / len(rows), level)


def _grow(
    rows: NDArray[np.int32], size: NDArray[np.int64], needed: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], int]:
    """A core of blocks ``[A]``, -1 of those left out, and how many of the partitions ``[M, A]`` agree; of equals the
    largest block is added, then one at random."""
    M, A = rows.shape
    labels = np.full(A, -1)
    alive = np.arange(M)
    place = np.full((M, int(rows.max()) + 1), -1)
    rank = size + rng.random(A)
    # a block is in no cluster of an empty core
    clusters, seed = 0, int(rng.choice(A, p=size / size.sum()))
    first: int | None = seed
    while True:
        where = np.take_along_axis(place[alive], rows[alive], axis=1)
        where[where < 0] = clusters
        # how many of the partitions have the block in each cluster of the core, the last column in none
        cells = where + (clusters + 1) * np.arange(A)
        counts = np.bincount(cells.ravel(), minlength=A * (clusters + 1)).reshape(A, clusters + 1)
        counts[labels >= 0] = -1
        free = (counts[:, :-1] == len(alive)).any(axis=1) if clusters else np.zeros(A, dtype=bool)
        if free.any():
            labels[free] = counts[free, :-1].argmax(axis=1)
            counts[free] = -1
        if first is None:
            reach = counts.max(axis=1)
            if (largest := int(reach.max())) < needed:
                return labels, len(alive)
            among = np.flatnonzero(reach == largest)
            i = int(among[rank[among].argmax()])
        else:
            i, first = first, None
        k = int(counts[i].argmax())
        alive = alive[where[:, i] == k]
        labels[i] = k
        if k == clusters:
            place[alive, rows[alive, i]] = k
            clusters += 1


@dataclass(frozen=True)
class Dendrogram:
    """A partition of K clusters, and how they are merged."""

    labels: NDArray[np.int32]
    """``[N]``: the partition, the largest cluster first; behind these, from K on, clusters that are never merged."""
    merges: NDArray[np.int64]
    """``[K - 1, 2]``: what each merge joins, 0, ..., K - 1 being the clusters and K + t what merge t makes."""
    expected_loss: NDArray[np.float64]
    """``[K]``: mean loss over the sampled partitions with K, K - 1, ..., 1 clusters."""
    loss: str
    """``vi`` or ``binder``."""

    @property
    def n_clusters(self) -> int:
        """Clusters before anything is merged."""
        return len(self.expected_loss)

    def cut(self, clusters: int) -> NDArray[np.int32]:
        """The cut with so many clusters: labels ``[N]``, the largest cluster first; a ValueError for a number that
        the partition does not have."""
        K, apart = self.n_clusters, max(0, int(self.labels.max()) + 1 - self.n_clusters)
        if not 1 <= clusters <= K:
            raise ValueError(f"clusters={clusters}: expected from 1 to {K}, the clusters of the estimate")
        node = np.arange(K)
        for t, pair in enumerate(self.merges[: K - clusters]):
            node[np.isin(node, pair)] = K + t
        node = np.append(node, -1 - np.arange(apart))
        return partition_losses.by_size(node[self.labels], last=self.labels >= K)


def merge_clusters(
    labels: ArrayLike, partitions: ArrayLike, loss: str = "vi", apart: NDArray[np.bool_] | None = None
) -> Dendrogram:
    """Merge the clusters of a partition, as a rule a point estimate, until one is left, each time the two whose union
    has the least expected loss over the sampled partitions ``[M, N]``; those that the point estimate averages count.
    Clusters of items that are `apart`, ``[N]``, stay as they are.

    Raises as `minimise_expected_loss`, and a ValueError for labels of another number of items.
    """
    start, rows = partition_losses.by_size(labels, last=apart), point_estimate.thin_partitions(partitions)
    if start.shape != rows.shape[1:]:
        raise ValueError(f"labels: expected [{rows.shape[1]}]; got shape {start.shape}")
    # the partition joins the sampled ones, without weight: its clusters separate no block
    expected = partition_losses.ExpectedLoss(rows, loss, point_estimate.MAX_CELLS)
    table = np.zeros((len(expected.cluster_weight), int(start.max()) + 1), dtype=np.int32)
    np.add.at(table, (expected.cluster[expected.block], start[:, None]), 1)
    sizes, K, f = np.bincount(start), table.shape[1], expected.f

    def change(k: int) -> NDArray[np.float64]:
        both = f[np.minimum(sizes + sizes[k], len(start))] - f[sizes] - f[sizes[k]]
        return np.asarray((both - 2 * join_terms(table, expected.cluster_weight, f, k)) / expected.scale)

    shared = float(expected.cluster_weight @ f[table].sum(axis=1))
    losses = [max(0.0, (float(f[sizes].sum()) + expected.theirs - 2 * shared) / expected.scale)]
    changes = np.stack([change(k) for k in range(K)])
    np.fill_diagonal(changes, np.inf)
    merged = K if apart is None or apart.all() else int(start[~apart].max()) + 1
    changes[merged:], changes[:, merged:] = np.inf, np.inf
    node, merges = np.arange(K), np.empty((merged - 1, 2), dtype=np.int64)
    for t in range(merged - 1):
        k, other = sorted(divmod(int(changes.argmin()), K))
        losses.append(max(0.0, losses[-1] + changes[k, other]))
        merges[t] = node[[k, other]]
        node[k] = merged + t
        table[:, k] += table[:, other]
        table[:, other] = 0
        sizes[k] += sizes[other]
        sizes[other] = 0
        gone = sizes == 0
        changes[k] = change(k)
        changes[k, k], changes[k, gone], changes[k, merged:] = np.inf, np.inf, np.inf
        changes[:, k] = changes[k]
        changes[other], changes[:, other] = np.inf, np.inf
    return Dendrogram(start, merges, np.array(losses), loss)


DRAWN = 100
"""Sets of medoids that are compared."""
TAKEN = 20
"""Sets that are taken on, at most."""
MOST_TAKEN_LABELS = 2**21
"""Labels that all sets which are taken on work with; two are taken on in any case."""
ROUNDS = 20
"""Rounds of a start, at most."""


@dataclass(frozen=True)
class Representative:
    """One of several partitions that represent a posterior."""

    labels: NDArray[np.int32]
    """``[N]``, numbered by size, the largest first."""
    weight: float
    """Share of the sampled partitions that are nearest to it."""
    expected_loss: float
    """Mean loss to these."""

    @property
    def n_clusters(self) -> int:
        """Clusters of the partition."""
        return int(self.labels.max()) + 1


def representatives(partitions: ArrayLike, number: int, loss: str = "vi") -> list[Representative]:
    """Partitions that represent a posterior, at most so many, the largest weight first; there are fewer if
    fewer differ. The sampled ones ``[M, N]`` count if the point estimate averages them.

    Raises as `minimise_expected_loss`, and a ValueError for `number` below 1.
    """
    if number < 1:
        raise ValueError(f"answers={number}: expected at least 1")
    rows = point_estimate.thin_partitions(partitions)
    least, best = np.inf, (rows[:1], np.zeros((1, len(rows))))
    sets = max(2, min(TAKEN, MOST_TAKEN_LABELS // rows.size))
    for medoids in _medoids(partition_losses.all_distances(rows, rows, loss), number, sets):
        particles, value = rows[list(medoids)], np.inf
        for _ in range(ROUNDS):
            near = partition_losses.all_distances(particles, rows, loss)
            reached = float(near.min(axis=0).mean())
            if reached >= value - partition_losses.ROUNDING:
                break
            value = reached
            if value < least - partition_losses.ROUNDING:
                least, best = value, (particles, near)
            nearest = near.argmin(axis=0)
            particles = np.stack([_better(rows[nearest == k], particles[k], loss) for k in np.unique(nearest)])
    particles, near = best
    nearest, closest = near.argmin(axis=0), near.min(axis=0)
    chosen_sets = [
        Representative(
            partition_losses.by_size(particles[k]), float((nearest == k).mean()), float(closest[nearest == k].mean())
        )
        for k in np.unique(nearest)
    ]
    return sorted(chosen_sets, key=lambda one: -one.weight)


def _better(rows: NDArray[np.int32], present: NDArray[np.int32], loss: str) -> NDArray[np.int32]:
    """The partition of least expected loss of some, or the present one where the search finds none that is better."""
    estimate = point_estimate.minimise_expected_loss(rows, loss)
    least = partition_losses.all_distances([present], rows, loss).mean() - partition_losses.ROUNDING
    return estimate.labels if estimate.expected_loss < least else present


def _medoids(distance: NDArray[np.float64], number: int, sets: int) -> list[tuple[int, ...]]:
    """The best different sets of medoids, given the distances ``[M, M]``: each set begins with partitions that are
    drawn with probabilities in proportion to their distances from those before."""
    rng = np.random.default_rng(0)
    loss_by_set: dict[tuple[int, ...], float] = {}
    for _ in range(DRAWN):
        chosen = [int(rng.integers(len(distance)))]
        near = distance[chosen[0]]
        while len(chosen) < number and near.max() > partition_losses.ROUNDING:
            chosen.append(int(rng.choice(len(near), p=near / near.sum())))
            near = np.minimum(near, distance[chosen[-1]])
        value = np.inf
        while (reached := float(distance[chosen].min(axis=0).mean())) < value - partition_losses.ROUNDING:
            value, medoid_set = reached, tuple(sorted(chosen))
            nearest = distance[chosen].argmin(axis=0)
            members = [np.flatnonzero(nearest == k) for k in np.unique(nearest)]
            chosen = [int(of_one[distance[np.ix_(of_one, of_one)].sum(axis=1).argmin()]) for of_one in members]
        loss_by_set[medoid_set] = value
    return sorted(loss_by_set, key=lambda one: loss_by_set[one])[:sets]
