"""The credible ball of a partition: how far one must go from it to have most of the posterior.

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
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.diagnostics.partition_losses import check_partitions, distances, find_distinct

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

    Examples
    --------
    >>> ball = credible_ball([0, 0, 1], [[0, 0, 1]] * 18 + [[0, 0, 0], [0, 1, 2]], loss="binder")
    >>> round(ball.radius, 3), ball.share, ball.upper.n_clusters, ball.lower.n_clusters
    (0.333, 0.95, 2, 3)
    """
    if not 0 < level <= 1:
        raise ValueError(f"level={level}: expected above 0, at most 1")
    rows = check_partitions(partitions)
    distance = distances(labels, rows, loss)
    # 0.95 of 20 is 19, whatever the rounding of the product
    reached = max(1, math.ceil(level * len(rows) - 1e-9))
    radius = float(np.sort(distance)[reached - 1])
    inside = np.flatnonzero(distance <= radius + SAME)
    K = rows.max(axis=1) + 1

    def bound(among: NDArray[np.int64]) -> Bound:
        furthest = distance[among].max()
        candidates = among[distance[among] >= furthest - SAME]
        candidates = candidates[np.sort(find_distinct(rows[candidates])[0])]
        return Bound(rows[candidates], int(candidates[0]), int(K[candidates[0]]), float(furthest))

    fewest, largest_K = K[inside].min(), K[inside].max()
    return CredibleBall(
        level,
        loss,
        radius,
        len(inside) / len(rows),
        len(rows),
        bound(inside),
        bound(inside[K[inside] == fewest]),
        bound(inside[K[inside] == largest_K]),
    )
