"""Agreement of a clustering with the true one (1 is perfect for all five scores), and groups of chains that stay near
different partitions.

scikit-learn has nmi, ari and rand, to which the tests hold these: its import would lengthen a short run.
"""

from collections.abc import Mapping, Sequence
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.diagnostics.cluster_table import plural_of
from splitmerge_cli.diagnostics.partition_losses import all_distances, find_components, number_sorted

FEW_CELLS = 200
"""Cells that are matched together, however many parts they fall into."""
FEW_CLUSTERS = 5
"""Clusters whose matches are tried one by one: SciPy finds the best of more."""


def _table(truth: ArrayLike, labels: ArrayLike) -> NDArray[np.int64]:
    """True cluster, cluster and items ``[3, cells]`` of the cells that have some, cluster by cluster."""
    (rows, R), (columns, C) = (number_sorted(np.asarray(each).ravel()) for each in (truth, labels))
    if 4 * len(rows) + 64 >= R * C:  # counted, not sorted
        counts = np.bincount(columns * R + rows)
        cells = np.flatnonzero(counts)
        items = counts[cells]
    else:
        cells, items = np.unique(columns * R + rows, return_counts=True)
    return np.array([cells % R, cells // R, items])


def _sizes(table: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Items of the cells that have some, of true clusters and of clusters."""
    rows, columns, items = table
    return [items, *(np.bincount(each, items).astype(np.int64) for each in (rows, columns))]


def _pairs(truth: ArrayLike, labels: ArrayLike) -> list[int]:
    """Pairs of items that share both clusters, the true one, the found one; and all pairs."""
    table = _table(truth, labels)
    return [int((n * (n - 1) // 2).sum()) for n in (*_sizes(table), table[2].sum())]


def _entropy(sizes: NDArray[np.int64]) -> float:
    share = sizes / sizes.sum()
    return float(-(share * np.log(share)).sum())


def nmi(truth: ArrayLike, labels: ArrayLike) -> float:
    """Normalised mutual information, by the arithmetic mean of the two entropies; of one cluster each 1."""
    both, true, entropy_of_labels = map(_entropy, _sizes(_table(truth, labels)))
    # rounding leaves independent ones, and one cluster, a little above or below zero
    mutual = max(0.0, true + entropy_of_labels - both)
    return min(1.0, 2 * mutual / (true + entropy_of_labels)) if true + entropy_of_labels > 0 else 1.0


def ari(truth: ArrayLike, labels: ArrayLike) -> float:
    """Adjusted Rand index: 0 on average for a random clustering."""
    both, true, pairs_of_labels, every = _pairs(truth, labels)
    expected = true * pairs_of_labels / every if every else 0.0
    largest = (true + pairs_of_labels) / 2
    return (both - expected) / (largest - expected) if true != both or pairs_of_labels != both else 1.0


def purity(truth: ArrayLike, labels: ArrayLike) -> float:
    """Share of items whose true cluster is the commonest one of their cluster."""
    _, columns, items = _table(truth, labels)
    begins = np.flatnonzero(np.diff(columns, prepend=-1))
    return float(np.maximum.reduceat(items, begins).sum() / items.sum())


def rand(truth: ArrayLike, labels: ArrayLike) -> float:
    """Rand index: share of pairs on which the two agree, together or apart; not corrected for chance."""
    both, true, pairs_of_labels, every = _pairs(truth, labels)
    return (every + 2 * both - true - pairs_of_labels) / every if every else 1.0


def accuracy(truth: ArrayLike, labels: ArrayLike) -> float:
    """Share of items that are right under the best one-to-one match of clusters to true clusters (Hungarian method)."""
    rows, columns, items = _drop_uncontested(_drop_uncontested(_table(truth, labels))[[1, 0, 2]])
    row, column = (np.unique(each, return_inverse=True)[1] for each in (rows, columns))
    parts = _find_parts(row, column)
    right = sum(_match(row[part], column[part], items[part]) for part in parts)
    right += items.sum() - sum(items[part].sum() for part in parts)
    return float(right / np.size(truth))


def _match(row: NDArray[np.intp], column: NDArray[np.intp], items: NDArray[np.int64]) -> float:
    """Items of the cells in the best one-to-one match of rows to columns."""
    i, j = (np.unique(each, return_inverse=True)[1] for each in (row, column))
    i, j = (i, j) if i.max() <= j.max() else (j, i)
    if j.max() < FEW_CLUSTERS:
        few = np.zeros((i.max() + 1, j.max() + 1))
        few[i, j] = items
        return float(max(few[range(len(few)), each].sum() for each in permutations(range(few.shape[1]), len(few))))
    from scipy.sparse import csgraph, csr_array, hstack

    # a further column for each row, which may have no other; no weight is 0
    cells = csr_array((items + 1.0, (i, j)))
    free = csr_array((np.ones(cells.shape[0]), (np.arange(cells.shape[0]),) * 2))
    both = csr_array(hstack([cells, free]))
    return float(both[csgraph.min_weight_full_bipartite_matching(both, maximize=True)].sum() - cells.shape[0])


def _find_parts(row: NDArray[np.intp], column: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Split cells into parts without a common row or column, each of which is matched on its own; few cells are one. A
    cell that shares neither with another is matched, and in no part."""
    if len(row) <= FEW_CELLS:
        return [np.arange(len(row))]
    part = find_components(row, column + row.max() + 1, int(row.max() + column.max()) + 2)[row]
    order = np.argsort(part, kind="stable")
    order = order[np.bincount(part)[part[order]] > 1]
    return np.split(order, np.flatnonzero(np.diff(part[order])) + 1) if len(order) else []


def pair_scores(truth: ArrayLike, labels: ArrayLike) -> dict[str, float]:
    """Precision, recall and F1 by pairs of items that share a cluster; without any such pair 1."""
    both, true, found, _ = _pairs(truth, labels)
    f1 = 2 * both / (true + found) if true + found else 1.0
    return {"precision": both / found if found else 1.0, "recall": both / true if true else 1.0, "f1": f1}


def _drop_uncontested(table: NDArray[np.int64]) -> NDArray[np.int64]:
    """Drop the columns that no best match needs: among columns with items of a single row, the largest for each row is
    enough. Singletons by the hundred thousand come down to one for each true cluster."""
    rows, columns, items = table
    single = np.bincount(columns)[columns] == 1
    # the items of a single cell alone, and of every row the last is the largest
    order = np.lexsort((items * single, rows))
    largest = np.diff(rows[order], append=-1) != 0
    is_kept = ~single
    is_kept[order[largest]] = True
    return table[:, is_kept]


SCORES = {"nmi": nmi, "ari": ari, "purity": purity, "rand": rand, "accuracy": accuracy}


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
            own = {c: max(own_distance[chain], own_distance[c], 1e-9) for c in group}
            if min(np.median(all_distances(rows, few[c])) / own[c] for c in group) <= APART:
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
    drawn = np.concatenate([np.asarray(partitions[c], dtype=np.int32)[rows] for c, rows in rows_of_chain.items()])
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
    sizes, found, begin = np.bincount(kinds)[1:], {}, 0
    if sizes.min() < len(drawn) / 20:
        return None
    # the largest first
    rank = np.argsort(np.argsort(-sizes, kind="stable"), kind="stable")
    for chain, rows in rows_of_chain.items():
        own_kinds = rank[kinds[begin : begin + len(rows)] - 1]
        found[chain] = own_kinds[np.searchsorted(rows, np.arange(len(partitions[chain])), side="right") - 1]
        begin += len(rows)
    return found


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


def describe_difference(one: ArrayLike, other: ArrayLike, item: str = "item", cluster: str = "cluster") -> str:
    """Say in what a partition differs from another, both labels ``[N]``: which clusters are parts of one, and how many
    items are elsewhere; `item` and `cluster`: what the data call these.

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
            parted = f"{plural_of(cluster)} of {_list_sizes(sizes)} {plural_of(item)}"
            sentences.append(f"{parted} of the {whose} are one in the {in_which}")
        if (more := len(parts) - EXAMPLES) > 0:
            sentences.append(f"{more} more such union{'s' * (more > 1)}")
    elsewhere = len(a) - int(_find_homes(a, b)[1].sum())
    return "; ".join(sentences) or f"{elsewhere:,} {plural_of(item)} are in another {cluster}"


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
    texts = [f"{size:,}" for size in sizes[:4]] + [f"{len(sizes) - 4} more"] * (len(sizes) > 4)
    return f"{', '.join(texts[:-1])} and {texts[-1]}"
