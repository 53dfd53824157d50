"""Several partitions that represent a posterior, with weights.

L partitions (particles) c_1, ..., c_L with weights w_l approximate the sampled ones best, in the Wasserstein distance
of the loss d, where the mean of min_l d(c_l, c) over the sampled c is least, w_l being the share of those that are
nearest to c_l. One particle is the point estimate. The search alternates, like that for k means: each sampled partition
goes to its nearest particle, and each particle becomes the partition of least expected loss of those that are with it,
so that the mean never rises. It starts at sets of sampled partitions: many are drawn, far from each other, improved as
medoids by the distances among the sampled partitions alone, and the best of them are taken on.

Source: Balocchi and Wade 2025 (WASABI); Arthur and Vassilvitskii 2007 (the starts).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.diagnostics.partition_losses import ROUNDING, all_distances
from splitmerge_cli.diagnostics.point_estimate import minimise_expected_loss, thin_partitions

DRAWN = 100
"""Sets of medoids that are compared."""
TAKEN = 20
"""Sets that are taken on, at most."""
MOST_LABELS = 2**21
"""Labels that all sets which are taken on work with; two are taken on in any case."""
ROUNDS = 20
"""Rounds of a start, at most."""


@dataclass(frozen=True)
class Representative:
    """One of several partitions that represent a posterior."""

    labels: NDArray[np.int32]
    """``[N]``, numbered by first appearance."""
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
    fewer differ. Of the sampled ones ``[M, N]`` those count that the point estimate averages.

    Raises as `minimise_expected_loss`, and a ValueError for `number` below 1.

    Examples
    --------
    >>> found = representatives([[0, 0, 1]] * 3 + [[0, 1, 1]], 2)
    >>> [(one.labels.tolist(), one.weight, one.expected_loss) for one in found]
    [([0, 0, 1], 0.75, 0.0), ([0, 1, 1], 0.25, 0.0)]
    """
    if number < 1:
        raise ValueError(f"answers={number}: expected at least 1")
    rows = thin_partitions(partitions)
    least, best = np.inf, (rows[:1], np.zeros((1, len(rows))))
    for medoids in _medoids(all_distances(rows, rows, loss), number, max(2, min(TAKEN, MOST_LABELS // rows.size))):
        particles, value = rows[list(medoids)], np.inf
        for _ in range(ROUNDS):
            near = all_distances(particles, rows, loss)
            reached = float(near.min(axis=0).mean())
            if reached >= value - ROUNDING:
                break
            value = reached
            if value < least - ROUNDING:
                least, best = value, (particles, near)
            nearest = near.argmin(axis=0)
            particles = np.stack([_better(rows[nearest == k], particles[k], loss) for k in np.unique(nearest)])
    particles, near = best
    nearest, closest = near.argmin(axis=0), near.min(axis=0)
    chosen_sets = [
        Representative(particles[k], float((nearest == k).mean()), float(closest[nearest == k].mean()))
        for k in np.unique(nearest)
    ]
    return sorted(chosen_sets, key=lambda one: -one.weight)


def _better(rows: NDArray[np.int32], present: NDArray[np.int32], loss: str) -> NDArray[np.int32]:
    """The partition of least expected loss of some, or the present one where the search finds none that is better."""
    estimate = minimise_expected_loss(rows, loss)
    return (
        estimate.labels if estimate.expected_loss < all_distances([present], rows, loss).mean() - ROUNDING else present
    )


def _medoids(distance: NDArray[np.float64], number: int, sets: int) -> list[tuple[int, ...]]:
    """The best different sets of medoids, given the distances ``[M, M]``: each set begins with partitions that are
    drawn with probabilities in proportion to their distances from those before."""
    rng = np.random.default_rng(0)
    loss_by_set: dict[tuple[int, ...], float] = {}
    for _ in range(DRAWN):
        chosen = [int(rng.integers(len(distance)))]
        near = distance[chosen[0]]
        while len(chosen) < number and near.max() > ROUNDING:
            chosen.append(int(rng.choice(len(near), p=near / near.sum())))
            near = np.minimum(near, distance[chosen[-1]])
        value = np.inf
        while (reached := float(distance[chosen].min(axis=0).mean())) < value - ROUNDING:
            value, medoid_set = reached, tuple(sorted(chosen))
            nearest = distance[chosen].argmin(axis=0)
            members = [np.flatnonzero(nearest == k) for k in np.unique(nearest)]
            chosen = [int(of_one[distance[np.ix_(of_one, of_one)].sum(axis=1).argmin()]) for of_one in members]
        loss_by_set[medoid_set] = value
    return sorted(loss_by_set, key=lambda one: loss_by_set[one])[:sets]
