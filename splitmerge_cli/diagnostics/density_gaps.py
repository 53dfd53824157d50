"""Clusters without a gap of density between them are joined, draw by draw: a group that is not of the model's shape
takes several components.

Each cluster of a draw has a normal distribution of its own. The density is the mean of these mixtures over draws. The
path between two clusters of a draw is their ridgeline, on which all maxima and saddle points of the density of two
normal distributions lie. The pass between two clusters is the lowest point of their path. Passes are taken from the
highest to the lowest: the groups on its two sides are joined where the pass lies less than `gap` below the peak of the
lower group. So a group is a mode of the density that rises by at least `gap` nats above the pass to a higher one.

Source: Ray and Lindsay 2005, The topography of multivariate normal mixtures (the ridgeline); Hennig 2010, Methods for
merging Gaussian mixture components; Chazal, Guibas, Oudot and Skraba 2013, Persistence-based clustering (the order of
the passes). The average over draws and the gaps are ours, see docs/how-many.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.diagnostics.partition_losses import by_appearance
from splitmerge_cli.diagnostics.point_estimate import evenly_spaced

AVERAGED = 16
"""Draws over which the density is averaged, at least: of few clusters it is averaged over all draws."""
MOST_COMPONENTS = 400
"""Components of that density from which on it is averaged over `AVERAGED` draws alone."""
LEAST_DRAWS = 20
"""Draws whose clusters are joined, at least."""
STEPS = 13
"""Points of a ridgeline, both ends included."""
MOST_WORK = 3e9
"""Floating-point operations, about: a second or two."""
SINGULAR = 1e-10
"""Smallest eigenvalue of the covariance within clusters, relative to the largest, below which no density exists."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class _Normals:
    """A mixture of normal distributions."""

    share: Numbers
    mean: Numbers
    covariance: Numbers

    def log_density(self, points: Numbers) -> Numbers:
        """Log density of the mixture at points ``[n, D]``, less a constant."""
        D = points.shape[1]
        one, other = np.triu_indices(D)
        precision = np.linalg.inv(self.covariance)
        pulled = np.einsum("kij,kj->ki", precision, self.mean)
        constant = np.log(self.share) - 0.5 * (
            np.linalg.slogdet(self.covariance)[1] + np.einsum("ki,ki->k", pulled, self.mean)
        )
        # the exponents are quadratic in a point: one product of matrices
        quadratic = -precision[:, one, other] * np.where(one == other, 0.5, 1.0)
        coefficients = np.hstack([constant[:, None], pulled, quadratic])
        log_densities = np.empty(len(points))
        for begin in range(0, len(points), 4096):
            part = points[begin : begin + 4096]
            terms = np.hstack([np.ones((len(part), 1)), part, part[:, one] * part[:, other]]) @ coefficients.T
            highest = terms.max(axis=1)
            log_densities[begin : begin + 4096] = highest + np.log(np.exp(terms - highest[:, None]).sum(axis=1))
        return log_densities


def join_clusters(x: ArrayLike, draws: ArrayLike, gaps: Sequence[float]) -> list[NDArray[np.int32]]:
    """Join the clusters of draws ``[M, N]`` that have no gap of density between them: for each of the `gaps` (nats that
    a mode rises above the pass to a higher one, at least) the joined partitions int32 ``[M', N]`` of the first M'
    draws: all of them, unless they have many clusters.

    An invertible affine map of the rows `x` ``[N, D]`` changes nothing. Rows with missing cells do not count for the
    density; they stay with their clusters. A LinAlgError: the covariance within clusters is singular. A ValueError: too
    many clusters or columns (`MOST_WORK`), or no row without a missing cell.

    Examples
    --------
    >>> x = np.r_[np.arange(20.0), 100 + np.arange(20.0)][:, None]
    >>> draws = [np.arange(40) // 10, np.arange(40) // 20]
    >>> (joined,) = join_clusters(x, draws, [0.25])
    >>> joined[:, ::10].tolist()
    [[0, 0, 1, 1], [0, 0, 1, 1]]
    """
    rows, sampled = np.asarray(x, dtype=np.float64), np.asarray(draws)
    complete = ~np.isnan(rows).any(axis=1)
    if not complete.any():
        raise ValueError("every row has a missing cell")
    rows = rows[complete]
    deviation = rows.std(axis=0)
    rows = (rows - rows.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    numbered = [np.unique(labels[complete], return_inverse=True) for labels in sampled]
    fits = [_fit(rows, numbers.astype(np.int32)) for _, numbers in numbered]
    # over all draws, unless fewer could be joined then
    averaged = [fits[m] for m in evenly_spaced(len(fits), AVERAGED)]
    features = 1 + rows.shape[1] + rows.shape[1] * (rows.shape[1] + 1) // 2
    points = np.array([len(fit.share) * (len(fit.share) - 1) // 2 * STEPS for fit in fits])
    components = sum(len(fit.share) for fit in fits)
    if components <= MOST_COMPONENTS and _work(points, components, features, rows.shape[1])[-1] <= MOST_WORK:
        averaged = fits
    density = _Normals(
        np.concatenate([fit.share for fit in averaged]),
        np.concatenate([fit.mean for fit in averaged]),
        np.concatenate([fit.covariance for fit in averaged]),
    )
    D = rows.shape[1]
    work = _work(points, len(density.share), features, D)
    n_draws = int(np.searchsorted(work, MOST_WORK, side="right"))
    if n_draws < min(LEAST_DRAWS, len(fits)):
        most_components = max(len(fit.share) for fit in fits)
        raise ValueError(f"{most_components} clusters in {D} columns are too many")
    joined = [np.empty((n_draws, sampled.shape[1]), dtype=np.int32) for _ in gaps]
    for m in range(n_draws):
        used, _ = numbered[m]
        peaks, passes, pairs = _find_passes(fits[m], density)
        for labels, gap in zip(joined, gaps, strict=True):
            # clusters without a complete row stay alone
            group = np.arange(int(sampled[m].max()) + 1)
            group[used] = used[_join(peaks, passes, pairs, gap)]
            labels[m] = by_appearance(group[sampled[m]].astype(np.int32))
    return joined


def _work(points: NDArray[np.int64], components: int, features: int, D: int) -> Numbers:
    """Operations, about, that the first draws take whose ridgelines have so many points."""
    return np.asarray(np.cumsum(points) * (components * (8.0 + features) + 4.0 * D**3))


def _join(peaks: Numbers, passes: Numbers, pairs: NDArray[np.intp], gap: float) -> NDArray[np.intp]:
    """The group of each cluster: the number of one of its clusters."""
    group, height = np.arange(len(peaks)), peaks.copy()
    for pair in np.argsort(-passes, kind="stable"):
        one, other = group[pairs[pair]]
        if one != other and min(height[one], height[other]) - passes[pair] < gap:
            height[one] = max(height[one], height[other])
            group[group == other] = one
    return group


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


def _find_passes(fit: _Normals, density: _Normals) -> tuple[Numbers, Numbers, NDArray[np.intp]]:
    """The log density at the mean of each cluster, its least value on the ridgeline of each pair, and the pairs."""
    pairs = np.stack(np.triu_indices(len(fit.share), 1), axis=1)
    if not len(pairs):
        return np.zeros(1), np.zeros(0), pairs
    precision = np.linalg.inv(fit.covariance)
    pull = np.einsum("kij,kj->ki", precision, fit.mean)
    second = np.linspace(0.0, 1.0, STEPS)[:, None]
    one, other = pairs.T
    mixed = (1 - second[..., None]) * precision[one, None] + second[..., None] * precision[other, None]
    pulled = (1 - second) * pull[one, None] + second * pull[other, None]
    points = np.linalg.solve(mixed, pulled[..., None])[..., 0]
    path = density.log_density(points.reshape(-1, points.shape[-1])).reshape(len(pairs), STEPS)
    peaks = np.empty(len(fit.share))
    peaks[one], peaks[other] = path[:, 0], path[:, -1]
    return peaks, path.min(axis=1), pairs
