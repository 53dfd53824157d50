"""Groups of chains that stay near different partitions, and in what these differ."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.diagnostics.partition_losses import all_distances

APART = 1.2
"""Times as far from each other as from itself are chains of two groups."""
FEWEST = 12
"""Partitions that a chain needs for kinds to be found."""
KINDS = 4
"""Most kinds of partitions between which chains move."""
APART_DRAWS = 0.15
"""Mean silhouette from which on draws are of different kinds."""
MOST_LABELS = 2_000_000
"""Labels of a chain that are looked at, at most."""
EXAMPLES = 2
"""Clusters that are named of a difference."""


def chain_groups(partitions: Mapping[int, NDArray[np.int32]], most_rows: int = 40) -> list[list[int]]:
    """Chains by the partitions near which they stay: groups, each with its chains in ascending order.

    Two chains are of one group where the variation of information between a partition of one and of the other is, in
    the median, at most `APART` times that between two of one chain, or where a third joins them (single linkage).
    `partitions` has the second half of each chain, int32 ``[M, N]``, in order; at most `most_rows` of a
    chain, evenly spaced, are looked at.

    Examples
    --------
    >>> chain_groups({0: [[0, 0, 1, 1]] * 3, 1: [[0, 0, 0, 0]] * 3, 2: [[0, 0, 1, 1]] * 3})
    [[0, 2], [1]]
    """
    few = {}
    for chain, rows in partitions.items():
        each = np.asarray(rows, dtype=np.int32)
        few[chain] = each[_evenly(each, most_rows)]
    own_distance = {chain: float(np.median(_between_different(rows))) for chain, rows in few.items()}
    groups: list[list[int]] = []
    for chain, rows in few.items():
        joined, others = [chain], []
        for group in groups:
            apart = [
                np.median(all_distances(rows, few[c])) / max(own_distance[chain], own_distance[c], 1e-9) for c in group
            ]
            if min(apart) <= APART:
                joined += group
            else:
                others.append(group)
        groups = [*others, sorted(joined)]
    return sorted(groups)


def draw_groups(partitions: Mapping[int, NDArray[np.int32]], most_rows: int = 40) -> dict[int, NDArray[np.intp]] | None:
    """Kinds of partitions between which chains move, where they do so seldom: by chain the kind of each of its
    partitions, those not looked at as the last before them.

    The draws of all chains are joined by Ward's method, with the variation of information as distance, to 2 to `KINDS`
    kinds: the fewest whose mean silhouette is nine tenths of the best. None if a chain has fewer than `FEWEST`
    partitions, the best silhouette is below `APART_DRAWS`, or a kind has less than a twentieth of the draws. Parameters
    as for `chain_groups`.

    Examples
    --------
    >>> found = draw_groups({0: [[0, 0, 1, 1]] * 9 + [[0, 0, 0, 0]] * 3, 1: [[0, 0, 0, 0]] * 12})
    >>> [kinds.tolist() for kinds in found.values()]
    [[1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]
    """
    if min(map(len, partitions.values())) < FEWEST:
        return None
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    rows_of_chain = {chain: _evenly(rows, most_rows) for chain, rows in partitions.items()}
    drawn = np.concatenate(
        [np.asarray(partitions[chain], dtype=np.int32)[rows] for chain, rows in rows_of_chain.items()]
    )
    apart = all_distances(drawn, drawn)
    apart = (apart + apart.T) / 2
    np.fill_diagonal(apart, 0.0)
    if len(drawn) <= KINDS or not apart.any():
        return None
    joined = linkage(squareform(apart, checks=False), "ward")
    tried = [fcluster(joined, kinds, "maxclust") for kinds in range(2, KINDS + 1)]
    silhouettes = [_mean_silhouette(apart, kinds) for kinds in tried]
    best = max(silhouettes)
    if best < APART_DRAWS:
        return None
    kinds = next(kinds for kinds, silhouette in zip(tried, silhouettes, strict=True) if silhouette >= 0.9 * best)
    if np.bincount(kinds)[1:].min() < len(drawn) / 20:
        return None
    # the largest first
    rank = np.argsort(np.argsort(-np.bincount(kinds)[1:], kind="stable"), kind="stable")
    silhouette, begin = {}, 0
    for chain, rows in rows_of_chain.items():
        own_kinds = rank[kinds[begin : begin + len(rows)] - 1]
        silhouette[chain] = own_kinds[np.searchsorted(rows, np.arange(len(partitions[chain])), side="right") - 1]
        begin += len(rows)
    return silhouette


def _evenly(rows: ArrayLike, most_rows: int) -> NDArray[np.intp]:
    """Numbers of at most `most_rows` partitions ``[M, N]``, evenly spaced; of many items fewer, but `FEWEST`."""
    M, N = np.shape(rows)
    fitting = min(most_rows, max(FEWEST, MOST_LABELS // N))
    return np.unique(np.linspace(0, M - 1, fitting).astype(int))


def _mean_silhouette(apart: NDArray[np.float64], kinds: NDArray[np.int32]) -> float:
    members = kinds == np.unique(kinds)[:, None]
    if len(members) < 2:
        # all are as far from each other
        return 0.0
    sums, sizes = apart @ members.T, members.sum(axis=1)
    own_group = members.argmax(axis=0)
    items = np.arange(len(kinds))
    within = sums[items, own_group] / np.maximum(sizes[own_group] - 1, 1)
    mean = sums / sizes
    mean[items, own_group] = np.inf
    other = mean.min(axis=1)
    score = np.where(sizes[own_group] > 1, (other - within) / np.maximum(np.maximum(other, within), 1e-12), 0.0)
    return float(score.mean())


def _between_different(rows: NDArray[np.int32]) -> NDArray[np.float64]:
    """Distances between the partitions of a chain and others of it; 0 of one alone."""
    distances = all_distances(rows, rows)
    return distances[~np.eye(len(rows), dtype=bool)] if len(rows) > 1 else np.zeros(1)


def describe_difference(one: ArrayLike, other: ArrayLike) -> str:
    """Say in what a partition differs from another, both labels ``[N]``: which clusters are parts of one, and how many
    items are elsewhere.

    Examples
    --------
    >>> describe_difference([0, 0, 0, 1, 1, 2], [0, 0, 0, 0, 0, 1])
    'clusters of 3 and 2 items of the first are one in the second'
    """
    a, b = (np.unique(labels, return_inverse=True)[1] for labels in (one, other))
    sentences = []
    for one_side, other_side, whose, in_which in ((a, b, "first", "second"), (b, a, "second", "first")):
        parts = _find_joined(one_side, other_side)
        for sizes in parts[:EXAMPLES]:
            sentences.append(f"clusters of {_list_sizes(sizes)} items of the {whose} are one in the {in_which}")
        if len(parts) > EXAMPLES:
            sentences.append(f"{len(parts) - EXAMPLES} more such unions")
    elsewhere = len(a) - int(_find_homes(a, b)[1].sum())
    return "; ".join(sentences) or f"{elsewhere:,} items are in another cluster"


def _find_homes(a: NDArray[np.intp], b: NDArray[np.intp]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each cluster of a partition the cluster of another that most of its items are in, the first of equals, and
    how many these are; both partitions ``[N]`` from 0."""
    cells, counts = np.unique(a.astype(np.int64) * (b.max() + 1) + b, return_counts=True)
    cluster, other = np.divmod(cells, b.max() + 1)
    order = np.lexsort((other, -counts, cluster))
    first = order[np.unique(cluster[order], return_index=True)[1]]
    return other[first], counts[first]


def _find_joined(a: NDArray[np.intp], b: NDArray[np.intp]) -> list[list[int]]:
    """Find clusters of one partition that a cluster of another puts together, and return the numbers of their items
    there, the largest sums first.

    They are at least two, each has most of its items in it, and they make most of it.
    """
    unions, sizes = [], np.bincount(b)
    home, shared = _find_homes(a, b)
    mostly = np.flatnonzero((shared > np.bincount(a) / 2) & (shared >= 2))
    order = mostly[np.argsort(home[mostly], kind="stable")]
    for rows in np.split(order, np.flatnonzero(np.diff(home[order])) + 1):
        if len(rows) > 1 and shared[rows].sum() > sizes[home[rows[0]]] / 2:
            unions.append(sorted(shared[rows].tolist(), reverse=True))
    return sorted(unions, key=sum, reverse=True)


def _list_sizes(sizes: Sequence[int]) -> str:
    texts = [f"{size:,}" for size in sizes[:4]]
    if len(sizes) > len(texts):
        return ", ".join(texts) + f" and {len(sizes) - len(texts)} more"
    return f"{', '.join(texts[:-1])} and {texts[-1]}"
