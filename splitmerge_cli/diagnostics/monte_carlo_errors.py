"""Monte Carlo standard errors of what a run reports: certainties, the expected loss, and the number of clusters.

The error of a mean is the standard deviation of the draws over the square root of their effective sample size. The
error of a quantile is half the distance between the quantiles of two probabilities, one standard error above and below
its own.

Source: Vehtari et al. 2021, section 4.
"""

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.diagnostics import mixing
from splitmerge_cli.diagnostics.partition_losses import all_distances, distances
from splitmerge_cli.diagnostics.point_estimate import LEVEL, evenly_spaced, most_partitions
from splitmerge_cli.diagnostics.summary import MCSE, Row

ITEMS, MEMBERS = 100, 100
"""Most items whose certainties are looked at, and most members of its cluster with which each is compared."""
CANDIDATES = 40
"""Draws of which the most central one is the partition whose certainties and expected loss are looked at."""
FEWEST = 10
"""Partitions that each chain must have."""
ENOUGH = 400
"""Partitions of all chains. If many items leave fewer, errors are reported as for so many."""
SMALL_K = 5
"""Number of clusters below which errors of the number are shares of this instead."""
TOO_FEW = f"fewer than {FEWEST} partitions per chain"


def mean_error(draws: NDArray[np.float64]) -> float:
    """Return the Monte Carlo standard error for the mean of draws ``[chains, draws]``.

    Examples
    --------
    >>> independent = np.random.default_rng(0).normal(size=(4, 2500))
    >>> round(mean_error(independent), 3)
    0.01
    """
    return float(draws.std() / np.sqrt(mixing.ess_of_mean(draws)))


def quantile_error(draws: NDArray[np.float64], probability: float) -> float:
    """Return the Monte Carlo standard error for a quantile, a value that occurs, of draws ``[chains, draws]``."""

    def quantiles(levels: list[float]) -> NDArray[np.float64]:
        return np.quantile(draws, np.clip(levels, 0, 1), method="inverted_cdf")

    below = (draws <= quantiles([probability])[0]).astype(float)
    share_error = np.sqrt(probability * (1 - probability) / mixing.ess_of_mean(below))
    low, high = quantiles([probability - share_error, probability + share_error])
    return float(high - low) / 2


def report_errors(counts: NDArray[np.float64], partitions: Mapping[int, NDArray[np.int32]]) -> list[Row]:
    """Rows of a diagnosis with the Monte Carlo standard errors of what a run reports, by the numbers of clusters in the
    second half of each chain, `counts` ``[chains, draws]``, and the `partitions` ``[M, N]`` by chain that an estimate
    averages; none if none are recorded.

    ``mcse/n_clusters``, ``mcse/interval_low`` and ``mcse/interval_high`` are shares of the mean number of clusters, or
    of `SMALL_K`, whichever is larger. Where partitions are recorded there are ``mcse/expected_loss``, in nats, and
    ``mcse/certainty``, the root mean square over `ITEMS` items, evenly spaced: both of one draw from the middle of the
    draws in place of the estimate, the search for which takes longer.
    """
    if counts.shape[1] < mixing.MIN_DRAWS:
        return []
    size = max(SMALL_K, float(counts.mean()))
    of_counts = {
        "n_clusters": mean_error(counts),
        "interval_low": quantile_error(counts, (1 - LEVEL) / 2),
        "interval_high": quantile_error(counts, (1 + LEVEL) / 2),
    }
    note = f"a share of the number of clusters, of {SMALL_K} where there are fewer"
    rows: list[Row] = [(f"{MCSE}/{name}", None, error / size, note) for name, error in of_counts.items()]
    if len(partitions) < len(counts):
        return rows
    draws = min(map(len, partitions.values()))
    if draws < FEWEST:
        return [*rows, *((f"{MCSE}/{name}", None, np.nan, TOO_FEW) for name in ("expected_loss", "certainty"))]
    # a budget ends chains at different iterations
    each = np.stack([partitions[chain][len(partitions[chain]) - draws :] for chain in sorted(partitions)])
    whole = each.reshape(-1, each.shape[-1])
    candidates = whole[evenly_spaced(len(whole), CANDIDATES)]
    centre = candidates[all_distances(candidates, candidates).mean(axis=1).argmin()]
    losses = distances(centre, whole).reshape(each.shape[:2])
    errors = [mean_error(series) for series in _certainties(centre, each)]
    n_kept = most_partitions(each.shape[-1]) * len(each)
    scale = min(1.0, math.sqrt(n_kept / ENOUGH))
    few = f"as for {ENOUGH} partitions: {n_kept} are kept with so many items" if n_kept < ENOUGH else None
    values = {"expected_loss": mean_error(losses), "certainty": math.sqrt(np.mean(np.square(errors)))}
    return [*rows, *((f"{MCSE}/{name}", None, scale * value, few) for name, value in values.items())]


def _certainties(labels: NDArray[np.int32], partitions: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the share of its cluster with which an item is in each partition ``[chains, M, N]``: float64 ``[items,
    chains, M]``. For an item that is alone: whether it is alone among items, evenly spaced."""
    certainties, by_item = [], np.moveaxis(partitions, -1, 0)
    for item in evenly_spaced(len(labels), ITEMS):
        others = np.flatnonzero(labels == labels[item])
        is_alone = len(others) == 1
        others = np.arange(len(labels)) if is_alone else others
        others = others[others != item]
        others = others[evenly_spaced(len(others), MEMBERS)]
        together = by_item[others] == by_item[item]
        certainties.append(~together.any(axis=0) if is_alone else together.mean(axis=0))
    return np.array(certainties, dtype=float)
