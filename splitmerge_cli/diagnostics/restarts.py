"""Diagnostics of restarts: R-hat between them, autocorrelation times, cost in Gibbs sweeps.

The chains of a run may share their history, so they are not independent; chains of different runs (restarts, which
differ in their seed) are. Source: Herlau et al., sections 3.1 (autocorrelation times), 3.4 (standardised iterations)
and 3.5 (R-hat of the log joint density).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.diagnostics import mixing
from splitmerge_cli.diagnostics.summary import second_half

SWEEPS = ("gibbs", "neal8")
"""Moves of the interlaced sweeps in ``moves.parquet``."""


def mean_and_spread(values: ArrayLike) -> tuple[float, float]:
    """Mean and standard deviation (n - 1) of the values that are defined; NaN where there are too few."""
    x = np.asarray(values, dtype=np.float64)
    x = x[np.isfinite(x)]
    return (x.mean() if len(x) else np.nan), (x.std(ddof=1) if len(x) > 1 else np.nan)


@dataclass(frozen=True)
class BetweenRestarts:
    """R-hat of each number s of a chain, over the restarts' s-th chains."""

    classic: NDArray[np.float64]
    """float64 ``[S]``: Gelman and Rubin's, sqrt(((n - 1)/n W + B/n) / W); NaN where undefined."""
    ranked: NDArray[np.float64]
    """float64 ``[S]``: the rank-normalised split R-hat; NaN where undefined."""
    undefined: dict[int, str]
    """Why the classic one has no value, by s."""
    constant: list[tuple[int, int]]
    """Restart and number of every chain whose series never changes."""

    @property
    def mean(self) -> float:
        """Mean of the classic one over the s for which it is defined."""
        return mean_and_spread(self.classic)[0]

    @property
    def spread(self) -> float:
        """Its standard deviation over these."""
        return mean_and_spread(self.classic)[1]


def between_restarts(draws: ArrayLike) -> BetweenRestarts:
    """R-hat between restarts, for each number s of a chain; chains of one restart are never pooled.

    `draws` is ``[restarts, S, draws]``, what is to be forgotten dropped (see `late`); a ValueError for other
    dimensions.
    """
    x = np.asarray(draws, dtype=np.float64)
    if x.ndim != 3:
        raise ValueError(f"draws: array of {x.ndim} dimensions; expected [restarts, S, draws]")
    numbers = range(x.shape[1])
    reasons = {s: mixing.why_no_rhat(x[:, s], split=False) for s in numbers}
    stuck = (x == x[..., :1]).all(axis=-1)
    return BetweenRestarts(
        np.array([mixing.rhat_classic(x[:, s]) for s in numbers]),
        np.array([mixing.rhat(x[:, s]) for s in numbers]),
        {s: reason for s, reason in reasons.items() if reason},
        [(int(restart), int(s)) for restart, s in np.argwhere(stuck)],
    )


def late(traces: Sequence[pd.DataFrame]) -> NDArray[np.float64]:
    """The second half of the log joint for every chain of every restart, given their traces: float64
    ``[restarts, S, draws]``, cut to the length of the shortest. A ValueError for different numbers of chains."""
    parts = [second_half(trace)["log_joint"] for trace in traces]
    if len({len(part) for part in parts}) != 1:
        raise ValueError(f"chains of the restarts: {', '.join(str(len(p)) for p in parts)}; expected as many in each")
    draws = min(part.shape[1] for part in parts)
    return np.stack([part[:, part.shape[1] - draws :] for part in parts])


@dataclass(frozen=True)
class Times:
    """Autocorrelation times of a run's chains, in recorded draws."""

    values: NDArray[np.float64]
    """float64 ``[chains]``; NaN where undefined."""
    series: int
    undefined: int
    """Number of series that were looked at, and how many of them never change, so that they have no time."""

    @property
    def mean(self) -> float:
        """Mean over the chains that have one."""
        return mean_and_spread(self.values)[0]


def largest_times(trace: pd.DataFrame, after: int = 0) -> Times:
    """Autocorrelation times of the largest cluster's share of the items, a series for each chain.

    `trace` has chain, iteration and largest of ``trace.parquet``; iterations up to `after` are dropped.
    """
    late = trace[trace["iteration"] > after]
    first = [np.stack(chain["largest"].tolist())[:, 0] for _, chain in late.groupby("chain", sort=True)]
    times = np.array([mixing.autocorrelation_times(x) for x in first])
    return Times(times, len(times), int(np.isnan(times).sum()))


def planted_pairs(truth: ArrayLike, rng: np.random.Generator, each: int = 3) -> NDArray[np.int64]:
    """All pairs of items of which `each` are drawn from every planted cluster, int64 ``[pairs, 2]``: 105 for 5
    clusters.

    `truth` ``[N]`` is the planted cluster of each item; a ValueError if a cluster has fewer items.
    """
    truth = np.asarray(truth)
    members = [np.flatnonzero(truth == cluster) for cluster in np.unique(truth)]
    if (least := min(map(len, members))) < each:
        raise ValueError(f"each={each}: expected at most {least}, the size of the smallest planted cluster")
    items = np.concatenate([rng.choice(cluster_items, each, replace=False) for cluster_items in members])
    return np.array(list(combinations(items.tolist(), 2)), dtype=np.int64).reshape(-1, 2)


def indicator_times(
    partitions: pd.DataFrame, pairs: ArrayLike, after: int = 0, over: Callable[[Any], Any] = np.nanmax
) -> Times:
    """Largest autocorrelation time, over pairs of items, of whether the two are in one cluster: a value for each chain,
    over those pairs that are not together, or apart, all the time. `partitions`: columns chain, iteration, labels of
    ``partitions.parquet``; iterations up to `after` are dropped. `pairs`: int ``[pairs, 2]``; see `planted_pairs`.
    `over`: sums up the times of a chain's pairs, in place of their maximum.
    """
    i, j = np.asarray(pairs).T
    late = partitions[partitions["iteration"] > after]
    values, undefined, series = [], 0, 0
    for _, chain in late.groupby("chain", sort=True):
        labels = np.stack(chain["labels"].tolist())
        times = mixing.autocorrelation_times((labels[:, i] == labels[:, j]).T)
        missing = np.isnan(times)
        values.append(np.nan if missing.all() else over(times))
        undefined, series = undefined + int(missing.sum()), series + len(times)
    return Times(np.array(values), series, undefined)


def standardised_iterations(moves: pd.DataFrame, iterations: int | Mapping[int, int]) -> pd.Series:
    """Iterations in units of a Gibbs sweep's cost: T times total seconds over seconds within the Gibbs sweeps.

    A full sweep per iteration is taken for granted (``schedule=full_scan``). `moves` has chain, move and seconds of
    ``moves.parquet``; T is one number of `iterations`, or one by chain. Returns float64 by chain; NaN where no time was
    taken, or none within Gibbs sweeps.
    """
    total = moves.groupby("chain")["seconds"].sum()
    swept = moves[moves["move"].isin(SWEEPS)].groupby("chain")["seconds"].sum().reindex(total.index, fill_value=0.0)
    iterations_made = pd.Series(iterations, index=total.index, dtype=float)
    return (iterations_made * total / swept.where(swept > 0)).rename("standardised")
