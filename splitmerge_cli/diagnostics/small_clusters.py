"""Clusterings that are joined from smaller parts: by links of pairs that are ever together, or where the density has
no gap.

Two items are *linked* if some sampled partition puts them in one cluster. No sampled cluster reaches beyond a component
of the graph of linked pairs. The partition of least expected loss does not either: its expected loss is

    sum_k (2 - a) f(n_k) - 2 sum_kl w_l f(n_kl) + a constant,

n_k being its clusters, n_kl their intersections with the sampled clusters l (`partition_losses`). Cut a cluster k where
components end. No intersection changes, since every sampled cluster lies in one component; and f is superadditive,
f(x + y) > f(x) + f(y) for x, y >= 1, so the sum becomes smaller if a < 2. What is left is a sum over components:
each is minimised on its own, and the union of the minima is the minimum. Components of up to `point_estimate.FEW`
blocks are minimised by comparing all partitions, larger ones by the same search as any other data.

Only clusters whose items are all linked with each other are allowed: two records of one file, and items that must be
apart, are together in no sampled partition, nor in the estimate.

That needs no bound on the number of clusters, which would tie the components together: so such an estimate may have
fewer or more clusters than the interval of their number.

Links of small probability, many of them, join thousands of items to one component, for which a search has no memory.
Such a component is cut at its least probable links, and no minimum is claimed; the expected loss is of the whole.

Clusters without a gap of density between them are joined, draw by draw: a group that is not of the model's shape
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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.diagnostics import partition_losses as losses
from splitmerge_cli.diagnostics import point_estimate

MOST_PAIRS = 20_000_000
"""Pairs of items in the clusters of one partition, and linked pairs, at most."""
CUTS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
"""Probabilities up to which links are left out, one after the other, in a component that is too large."""
_HELD = 4_000_000
"""Pairs of several partitions that are held before they are counted."""
_FEW_ITEMS = 64
"""Items up to which the clusters of all partitions are numbered at once, by comparing items with each other."""


@dataclass(frozen=True)
class LinkedPairs:
    """Pairs of items that sampled partitions put in one cluster, and how often."""

    N: int
    """Items."""
    ends: NDArray[np.int64]
    """int64 ``[P, 2]``: the two items, from 0, the smaller first, in ascending order."""
    counts: NDArray[np.int64]
    """int64 ``[chains, P]``: in how many partitions of each chain the two are together."""
    draws: NDArray[np.int64]
    """int64 ``[chains]``: partitions of each chain."""

    @cached_property
    def probability(self) -> NDArray[np.float64]:
        """float64 ``[P]``: share of all partitions in which the two are together."""
        return np.asarray(self.counts.sum(axis=0) / self.draws.sum())

    @cached_property
    def by_chain(self) -> NDArray[np.float64]:
        """float64 ``[chains, P]``: the share in each chain."""
        return np.asarray(self.counts / self.draws[:, None])

    @cached_property
    def standard_error(self) -> NDArray[np.float64]:
        """float64 ``[P]``: Monte Carlo standard error of each probability, from the spread of the chains; NaN with one
        chain."""
        chains = len(self.draws)
        if chains < 2:
            return np.full(len(self.ends), np.nan)
        return np.asarray(self.by_chain.std(axis=0, ddof=1) / np.sqrt(chains))

    @cached_property
    def spread(self) -> NDArray[np.float64]:
        """float64 ``[P]``: largest probability of a chain less the smallest."""
        return np.asarray(np.ptp(self.by_chain, axis=0))

    @cached_property
    def components(self) -> NDArray[np.int32]:
        """int32 ``[N]``: each item's component in the graph of linked pairs, numbered by first appearance."""
        return losses.find_components(self.ends[:, 0], self.ends[:, 1], self.N)


def find_linked_pairs(partitions: Mapping[int, ArrayLike]) -> LinkedPairs:
    """Find the pairs of items that are together in a sampled partition. `partitions`: by chain int ``[M, N]``, M and N
    at least 1. Raises `TooManyClusters` (clusters are so large that there are more than `MOST_PAIRS` pairs)."""
    by_chain = [losses.check_partitions(rows) for rows in partitions.values()]
    N = by_chain[0].shape[1]
    each = [_count_times(rows) for rows in by_chain]
    keys = np.unique(np.concatenate([keys for keys, _ in each]))
    counts = np.zeros((len(each), len(keys)), dtype=np.int64)
    for c, (of_chain, times) in enumerate(each):
        counts[c, np.searchsorted(keys, of_chain)] = times
    return LinkedPairs(N, np.column_stack([keys // N, keys % N]), counts, np.array([len(rows) for rows in by_chain]))


def _count_times(rows: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of items i < j that partitions ``[M, N]`` join, as numbers i N + j in ascending order, and how often."""
    keys, times = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    pending: list[NDArray[np.int64]] = []
    for m, row in enumerate(rows):
        pending.append(pairs_of(row))
        if sum(map(len, pending)) > _HELD or m == len(rows) - 1:
            new, count = np.unique(np.concatenate(pending), return_counts=True)
            merged, place = np.unique(np.concatenate([keys, new]), return_inverse=True)
            times = np.bincount(place, np.concatenate([times, count]), len(merged)).astype(np.int64)
            keys, pending = merged, []
            _check_number(len(keys))
    return keys, times


def _check_number(pairs: float) -> None:
    if pairs > MOST_PAIRS:
        raise point_estimate.TooManyClusters(f"clusters are too large to list their {pairs:,.0f} pairs of items")


def count_pairs(row: NDArray[np.int32]) -> float:
    """How many pairs of items are in one cluster of a partition, labels ``[N]`` from 0."""
    sizes = np.bincount(row).astype(np.float64)
    return float((sizes * (sizes - 1.0)).sum() / 2.0)


def pairs_of(row: NDArray[np.int32]) -> NDArray[np.int64]:
    """The pairs of items i < j in one cluster of a partition, labels ``[N]`` from 0, as numbers i N + j."""
    _check_number(count_pairs(row))
    sizes = np.bincount(row).astype(np.int64)
    here = np.flatnonzero(sizes[row] > 1)
    order = here[np.argsort(row[here], kind="stable")]
    size = sizes[row[order]]
    place = np.arange(len(order))
    begin = np.flatnonzero(np.diff(row[order], prepend=-1))
    # an item is paired with those behind it in its cluster
    behind = size - 1 - (place - np.repeat(begin, size[begin]))
    step = np.arange(int(behind.sum())) - np.repeat(np.cumsum(behind) - behind, behind)
    return np.repeat(order, behind) * len(row) + order[np.repeat(place + 1, behind) + step]


def minimise_by_components(
    partitions: ArrayLike, loss: str = "vi", a: float = 1.0, pairs: LinkedPairs | None = None
) -> point_estimate.Estimate:
    """The partition of least expected loss, of any number of clusters, component by component (see this module).

    Parameters are as of `splitmerge_cli.diagnostics.point_estimate.minimise_expected_loss`, `a` being below 2; `pairs`
    are the linked ones, if they are known. No partition is left out. Raises as `find_linked_pairs`.
    """
    if not 0 <= a < 2:
        raise ValueError(f"a={a}: expected from 0 to less than 2")
    rows = losses.check_partitions(partitions)
    M, N = rows.shape
    f, scale = losses.terms(loss, N)
    pairs = find_linked_pairs({0: rows}) if pairs is None else pairs
    labels = pairs.components.astype(np.int64)
    size = np.bincount(labels)
    # components that no partition divides stay as they are
    always = pairs.counts.sum(axis=0) == M
    together = np.bincount(labels[pairs.ends[always, 0]], minlength=len(size))
    divided = together < size * (size - 1) // 2
    total, number = 0.0, len(size)
    # of two items: together at cost (2 - a) (1 - p), apart at cost a p
    two = np.flatnonzero((divided & (size == 2))[labels[pairs.ends[:, 0]]])
    p = pairs.counts[:, two].sum(axis=0) / M
    joined, separated = (2 - a) * (1 - p), a * p
    apart = separated < joined - losses.ROUNDING
    labels[pairs.ends[two[apart], 1]] = number + np.arange(int(apart.sum()))
    number += int(apart.sum())
    total += float(f[2] * np.minimum(joined, separated).sum()) if N > 1 else 0.0
    order = np.argsort(pairs.components, kind="stable")
    begin = np.cumsum(size) - size
    for k in np.flatnonzero(divided & (size > 2)).tolist():
        members = order[begin[k] : begin[k] + size[k]]
        of_members, least = _minimise_all(rows, members, pairs, loss, a)
        total += least
        labels[members] = np.where(of_members == 0, k, number + of_members - 1)
        number += int(of_members.max())
    return point_estimate.Estimate(losses.by_appearance(labels), loss, max(0.0, total / scale), M)


def _minimise_all(
    rows: NDArray[np.int32], members: NDArray[np.int64], pairs: LinkedPairs, loss: str, a: float
) -> tuple[NDArray[np.int64], float]:
    """The best partition of a component, as `_minimise`; where a search of it has more than `MAX_CELLS` cells, of each
    piece that is left without its least probable links."""
    most = int(np.sqrt(point_estimate.MAX_CELLS / len(rows)))
    if len(members) <= most:
        return _minimise(rows[:, members], loss, a)
    place = np.full(pairs.N, -1)
    place[members] = np.arange(len(members))
    here = place[pairs.ends[:, 0]] >= 0
    ends, probability = place[pairs.ends[here]], pairs.probability[here]
    piece = np.zeros(len(members), dtype=np.int64)
    for least in CUTS:
        large = np.bincount(piece)[piece] > most
        if not large.any():
            break
        # pieces that are small enough keep their links
        kept = (piece[ends[:, 0]] == piece[ends[:, 1]]) & (~large[ends[:, 0]] | (probability > least))
        piece = losses.find_components(ends[kept, 0], ends[kept, 1], len(members)).astype(np.int64)
    labels, number = np.empty(len(members), dtype=np.int64), 0
    order = np.argsort(piece, kind="stable")
    for part in np.split(order, np.flatnonzero(np.diff(piece[order])) + 1):
        labels[part] = number + _minimise(rows[:, members[part]], loss, a)[0]
        number = int(labels[part].max()) + 1
    expected = losses.ExpectedLoss(rows[:, members], loss, point_estimate.MAX_CELLS, a)
    of_blocks = np.empty(len(expected.size), dtype=np.int64)
    of_blocks[expected.block] = labels
    # items that no partition separates are of one piece, as their link is certain
    return losses.by_appearance(of_blocks[expected.block]).astype(np.int64), expected(of_blocks) * expected.scale


def _minimise(rows: NDArray[np.int32], loss: str, a: float) -> tuple[NDArray[np.int64], float]:
    """The best partition of a component, labels from 0, and its expected loss, not divided by a scale."""
    distinct, times = np.unique(_renumber(rows), axis=0, return_counts=True)
    expected = losses.ExpectedLoss(distinct, loss, point_estimate.MAX_CELLS, a, times=times)
    linked = expected.find_linked()
    best, least = None, np.inf
    for labels in point_estimate.candidates(expected, point_estimate.MAX_WORK):
        value = expected(labels)
        # each two blocks of a cluster are to be linked
        if value < least - losses.ROUNDING and not ((labels[:, None] == labels) & ~linked).any():
            best, least = labels, value
    # a sampled partition is among the candidates
    assert best is not None
    return losses.by_appearance(best[expected.block]).astype(np.int64), least * expected.scale


def _renumber(rows: NDArray[np.int32]) -> NDArray[np.int32]:
    """Number the clusters of partitions ``[M, n]`` by first appearance."""
    if rows.shape[1] > _FEW_ITEMS:
        return losses.check_partitions(rows)
    # the first item that is in the cluster of each
    first = np.stack([(rows == rows[:, [j]]).argmax(axis=1) for j in range(rows.shape[1])], axis=1)
    number = np.cumsum(first == np.arange(rows.shape[1]), axis=1) - 1
    return np.take_along_axis(number, first, axis=1).astype(np.int32)


def estimate_by_components(
    partitions: ArrayLike, loss: str = "vi", items: NDArray[np.int32] | None = None
) -> point_estimate.Estimate:
    """The estimate of a run whose clusters are small: of least expected loss at `COST`, of any number of clusters, the
    largest first. `items` are as of `splitmerge_cli.diagnostics.point_estimate.estimate_partition`."""
    if items is not None:
        estimate = estimate_by_components(point_estimate.first_rows(partitions, items), loss)
        return replace(estimate, labels=estimate.labels[items])
    estimate = minimise_by_components(partitions, loss, point_estimate.COST)
    return replace(estimate, labels=losses.by_size(estimate.labels))


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
    averaged = [fits[m] for m in point_estimate.evenly_spaced(len(fits), AVERAGED)]
    D = rows.shape[1]
    features = 1 + D + D * (D + 1) // 2
    points = np.array([len(fit.share) * (len(fit.share) - 1) // 2 * STEPS for fit in fits])
    components = sum(len(fit.share) for fit in fits)
    if components <= MOST_COMPONENTS and _work(points, components, features, D)[-1] <= MOST_WORK:
        averaged = fits
    parts = zip(*((fit.share, fit.mean, fit.covariance) for fit in averaged), strict=True)
    density = _Normals(*map(np.concatenate, parts))
    work = _work(points, len(density.share), features, D)
    n_draws = int(np.searchsorted(work, MOST_WORK, side="right"))
    if n_draws < min(LEAST_DRAWS, len(fits)):
        most_components = max(len(fit.share) for fit in fits)
        raise ValueError(f"{most_components} clusters in {D} columns are too many")
    joined = [np.empty((n_draws, sampled.shape[1]), dtype=np.int32) for _ in gaps]
    for m in range(n_draws):
        used, _ = numbered[m]
        peaks, passes, pairs = _find_passes(fits[m], density, max(gaps))
        for labels, gap in zip(joined, gaps, strict=True):
            # clusters without a complete row stay alone
            group = np.arange(int(sampled[m].max()) + 1)
            group[used] = used[_join(peaks, passes, pairs, gap)]
            labels[m] = losses.by_appearance(group[sampled[m]].astype(np.int32))
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


def _find_passes(fit: _Normals, density: _Normals, gap: float) -> tuple[Numbers, Numbers, NDArray[np.intp]]:
    """The log density at the mean of each cluster, its least value on the ridgeline of each pair, and the pairs.

    A pair whose ridgeline falls below both means by `gap` is never joined: where one point of it does, from the middle
    on, no other is looked at.
    """
    pairs = np.stack(np.triu_indices(len(fit.share), 1), axis=1)
    if not len(pairs):
        return np.zeros(1), np.zeros(0), pairs
    precision = np.linalg.inv(fit.covariance)
    pull = np.einsum("kij,kj->ki", precision, fit.mean)

    def least(pairs: NDArray[np.intp], at: Numbers) -> Numbers:
        """The least density at these points of the ridgelines, from 0 to 1: ``[pairs]``."""
        (one, other), second = pairs.T, at[:, None]
        mixed = (1 - second[..., None]) * precision[one, None] + second[..., None] * precision[other, None]
        pulled = (1 - second) * pull[one, None] + second * pull[other, None]
        points = np.linalg.solve(mixed, pulled[..., None])[..., 0]
        found = density.log_density(points.reshape(-1, points.shape[-1])).reshape(len(pairs), len(at))
        return np.asarray(found.min(axis=1))

    peaks = density.log_density(fit.mean)
    lower = peaks[pairs].min(axis=1)
    passes, at = lower.copy(), np.linspace(0.0, 1.0, STEPS)
    middle, last = STEPS // 2, STEPS - 1
    quarters = [middle // 2, last - middle // 2]
    for points in ([middle], quarters, np.setdiff1d(np.arange(1, last), [middle, *quarters])):
        near = np.flatnonzero(lower - passes < gap)
        if len(near):
            passes[near] = np.minimum(passes[near], least(pairs[near], at[points]))
    return peaks, passes, pairs
