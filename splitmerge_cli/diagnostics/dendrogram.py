"""The dendrogram of a partition: its clusters are merged, pair by pair, where the expected loss rises least.

A cut with fewer clusters than the posterior has is no estimate of it: it is coarser, and its expected loss says by
how much. With clusters of n_k items, of which n_ck lie in cluster c of a sampled partition of weight w_c, merging
clusters k and l changes the expected loss (`partition_losses`, a = 1) by

    (f(n_k + n_l) - f(n_k) - f(n_l) - 2 sum_c w_c (f(n_ck + n_cl) - f(n_ck) - f(n_cl))) / scale,

which depends on these two alone, so that after a merge the changes of one cluster are computed again.

Source: Dahl, Johnson and Mueller 2022, section 3 (merging clusters of an estimate); Wade and Ghahramani 2018 (the
loss).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.diagnostics.partition_kernels import join_terms
from splitmerge_cli.diagnostics.partition_losses import ExpectedLoss, by_size
from splitmerge_cli.diagnostics.point_estimate import MAX_CELLS, thin_partitions


@dataclass(frozen=True)
class Dendrogram:
    """A partition of K clusters, and how they are merged."""

    labels: NDArray[np.int32]
    """``[N]``: the partition, the largest cluster first."""
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
        the partition does not have.

        Examples
        --------
        >>> tree = merge_clusters([0, 0, 1, 2], [[0, 0, 1, 1]] * 3 + [[0, 0, 1, 2]])
        >>> tree.cut(2).tolist(), tree.cut(1).tolist()
        ([0, 0, 1, 1], [0, 0, 0, 0])
        """
        K = self.n_clusters
        if not 1 <= clusters <= K:
            raise ValueError(f"clusters={clusters}: expected from 1 to {K}, the clusters of the estimate")
        node = np.arange(K)
        for t, pair in enumerate(self.merges[: K - clusters]):
            node[np.isin(node, pair)] = K + t
        return by_size(node[self.labels])


def merge_clusters(labels: ArrayLike, partitions: ArrayLike, loss: str = "vi") -> Dendrogram:
    """Merge the clusters of a partition, as a rule a point estimate, until one is left, each time the two whose union
    has the least expected loss over the sampled partitions ``[M, N]``; those that the point estimate averages count.

    Raises as `minimise_expected_loss`, and a ValueError for labels of another number of items.
    """
    start, rows = by_size(labels), thin_partitions(partitions)
    if start.shape != rows.shape[1:]:
        raise ValueError(f"labels: expected [{rows.shape[1]}]; got shape {start.shape}")
    # the partition joins the sampled ones, without weight: its clusters separate no block
    expected = ExpectedLoss(rows, loss, MAX_CELLS)
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
    node, merges = np.arange(K), np.empty((K - 1, 2), dtype=np.int64)
    for t in range(K - 1):
        k, other = sorted(divmod(int(changes.argmin()), K))
        losses.append(max(0.0, losses[-1] + changes[k, other]))
        merges[t] = node[[k, other]]
        node[k] = K + t
        table[:, k] += table[:, other]
        table[:, other] = 0
        sizes[k] += sizes[other]
        sizes[other] = 0
        gone = sizes == 0
        changes[k] = change(k)
        changes[k, k], changes[k, gone] = np.inf, np.inf
        changes[:, k] = changes[k]
        changes[other], changes[:, other] = np.inf, np.inf
    return Dendrogram(start, merges, np.array(losses), loss)
