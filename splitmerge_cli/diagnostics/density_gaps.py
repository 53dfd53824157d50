"""Groups of clusters without a gap of density between them: one cluster of another shape takes several normal ones.

The path between two clusters is their ridgeline: all maxima and saddle points of the density of two normal
distributions lie on it. Along it the density of the mixture is averaged over draws. Two clusters are joined where the
density falls by less than `GAP` below its lower end, and so are chains of such clusters.

Source: Ray and Lindsay 2005, The topography of multivariate normal mixtures (the ridgeline); Hennig 2010, Methods for
merging Gaussian mixture components. The average over draws and the number `GAP` are ours, see docs/how-many.md.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.diagnostics.partition_losses import by_appearance
from splitmerge_cli.diagnostics.point_estimate import evenly_spaced

GAP = 0.25
"""Nats by which the density must fall between two clusters that stay apart."""
MOST_DRAWS = 40
"""Draws over which the density is averaged."""
STEPS = 21
"""Points of a ridgeline, both ends included."""
MOST_WORK = 2_000_000
"""Pairs of clusters, times clusters, times squared columns, up to which groups are looked for: about a second."""
SINGULAR = 1e-10
"""Smallest eigenvalue of the covariance within clusters, relative to the largest, below which no density exists."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class _Normals:
    """A normal distribution for each of K clusters."""

    share: Numbers
    mean: Numbers
    covariance: Numbers

    def log_density(self, points: Numbers) -> Numbers:
        """Log density of the mixture at points ``[n, D]``, less a constant."""
        terms = np.empty((len(self.share), len(points)))
        for k, factor in enumerate(np.linalg.cholesky(self.covariance)):
            off = (points - self.mean[k]) @ np.linalg.inv(factor).T
            terms[k] = np.log(self.share[k] / factor.diagonal().prod()) - 0.5 * (off**2).sum(axis=1)
        return np.asarray(np.logaddexp.reduce(terms, axis=0))


def density_groups(
    x: ArrayLike, labels: ArrayLike, draws: ArrayLike, alone: ArrayLike | None = None
) -> NDArray[np.int32]:
    """Group the clusters of a partition that have no gap of density between them.

    Parameters
    ----------
    x : array_like of float
        ``[N, D]``, without missing cells. An invertible affine map of the rows changes nothing.
    labels : array_like of int
        ``[N]``, from 0 to K - 1.
    draws : array_like of int
        ``[M, N]``: partitions over which the density is averaged, at most `MOST_DRAWS` of them, evenly spaced.
    alone : array_like of bool, optional
        ``[K]``: clusters that are joined to no other, such as outliers.

    Returns
    -------
    ndarray of int32, ``[K]``
        The group of each cluster, numbered by the first cluster of the group.

    Raises
    ------
    numpy.linalg.LinAlgError
        The covariance within clusters is singular.
    ValueError
        Too many clusters or columns (`MOST_WORK`).

    Examples
    --------
    >>> x = np.r_[np.arange(20.0), 100 + np.arange(20.0)][:, None]
    >>> labels = np.arange(40) // 10
    >>> draws = [labels, np.arange(40) // 20]
    >>> density_groups(x, labels, draws).tolist()
    [0, 0, 1, 1]
    """
    rows, own, sampled = np.asarray(x, dtype=np.float64), np.asarray(labels), np.asarray(draws)
    deviation = rows.std(axis=0)
    rows = (rows - rows.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    K = int(own.max()) + 1
    joinable = np.ones(K, dtype=bool) if alone is None else ~np.asarray(alone, dtype=bool)
    numbers = np.flatnonzero(joinable)
    if len(numbers) < 2:
        return np.arange(K, dtype=np.int32)
    if len(numbers) ** 2 * (len(numbers) - 1) // 2 * rows.shape[1] ** 2 > MOST_WORK:
        raise ValueError(f"{len(numbers)} clusters in {rows.shape[1]} columns are too many")
    used, renumbered = np.unique(own, return_inverse=True)
    at = np.searchsorted(used, numbers)
    path, pairs = _ridgelines(_fit(rows, renumbered.astype(np.int32)), at)
    fits = [_fit(rows, by_appearance(sampled[m])) for m in evenly_spaced(len(sampled), MOST_DRAWS)]
    density = np.logaddexp.reduce([fit.log_density(path) for fit in fits], axis=0).reshape(len(pairs), STEPS)
    fall = np.minimum(density[:, 0], density[:, -1]) - density.min(axis=1)
    group = np.arange(K, dtype=np.int32)
    for one, other in numbers[pairs[fall < GAP]]:
        group[group == group[other]] = group[one]
    return by_appearance(group)


def _fit(rows: Numbers, labels: NDArray[np.int32]) -> _Normals:
    """Fit a normal distribution to each cluster. The covariance within all clusters counts as D more rows of each, so
    that small clusters have a density, too."""
    sizes, D = np.bincount(labels), rows.shape[1]
    mean = np.stack([np.bincount(labels, column) for column in rows.T], axis=1) / sizes[:, None]
    off = rows - mean[labels]
    scatter = np.stack([off[labels == k].T @ off[labels == k] for k in range(len(sizes))])
    within = scatter.sum(axis=0) / max(len(rows) - len(sizes), 1)
    spectrum = np.linalg.eigvalsh(within)
    if spectrum[0] <= SINGULAR * spectrum[-1]:
        raise np.linalg.LinAlgError("the covariance within clusters is singular")
    covariance = (scatter + D * within) / (sizes + D)[:, None, None]
    return _Normals(sizes / len(rows), mean, covariance)


def _ridgelines(fit: _Normals, clusters: NDArray[np.intp]) -> tuple[Numbers, NDArray[np.intp]]:
    """Points on the ridgelines between all pairs of clusters, one pair after the other; and the pairs, as places in
    `clusters`."""
    pairs = np.stack(np.triu_indices(len(clusters), 1), axis=1)
    precision = np.linalg.inv(fit.covariance[clusters])
    pull = np.einsum("kij,kj->ki", precision, fit.mean[clusters])
    second = np.linspace(0.0, 1.0, STEPS)[:, None]
    points = []
    for one, other in pairs:
        mixed = (1 - second[..., None]) * precision[one] + second[..., None] * precision[other]
        pulled = (1 - second) * pull[one] + second * pull[other]
        points.append(np.linalg.solve(mixed, pulled[..., None])[..., 0])
    return np.concatenate(points), pairs
