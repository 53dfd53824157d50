"""Samplers compared on one posterior: how soon chains are where the posterior is, and how fast they move there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.diagnostics import mixing
from splitmerge_cli.diagnostics.intervals import MOST_UNITS, TAIL
from splitmerge_cli.diagnostics.partition_losses import all_distances
from splitmerge_cli.diagnostics.point_estimate import evenly_spaced

TYPICAL = 0.05
"""Share of the reference draws that are further out than the target."""
REFERENCE = 100
"""Reference partitions, at most."""
SHORTEST = 1e-6
"""Seconds that a time counts at least, of which the logarithm is taken."""
FEWEST = 6
"""Trials below which nothing is decided: resamples of fewer hardly differ."""
RESAMPLES = 2_000
"""Resamples of the bootstrap."""
ESS = ("n_clusters", "log_joint", "partition")
"""Series whose effective sample sizes are compared; `partition`: the expected distance to the reference partitions."""


@dataclass(frozen=True)
class Trial:
    """Start and seed of a chain, the same for all samplers."""

    start: str
    seed: int


@dataclass(eq=False)
class Track:
    """One chain."""

    sampler: str
    trial: Trial
    seconds: NDArray[np.float64]
    log_joint: NDArray[np.float64]
    n_clusters: NDArray[np.float64]
    """Shape (rows,): of every recorded iteration."""
    at: NDArray[np.float64]
    """Shape (partitions,): seconds of the recorded partitions."""
    accepted: float
    """Proposals of moves other than Gibbs scans that were accepted; nan: it makes none."""
    distance: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    """Shape (partitions,): expected distance of each recorded partition to the reference partitions."""

    @property
    def late(self) -> slice:
        """The second half of the rows."""
        return slice(len(self.seconds) // 2, None)

    @property
    def end(self) -> float:
        """float: seconds of the whole chain."""
        return float(self.seconds[-1])


@dataclass(frozen=True)
class Target:
    """Log joint and distance of a chain in the posterior, by the reference draws."""

    log_joint: float
    """All but `TYPICAL` of the reference draws have as much."""
    distance: float
    """Expected distance to the reference partitions, in nats; all but `TYPICAL` of them have as little."""
    best: Track
    """The chain of the highest mean log joint."""
    chains: int
    """Chains that agree with it, from which the reference draws are."""


def agreeing_chains(tracks: Sequence[Track]) -> tuple[Track, float, list[int]]:
    """The chain whose second half has the highest mean log joint, what all but `TYPICAL` of its draws have, and the
    numbers of the chains whose mean is at least that."""
    best = max(tracks, key=lambda track: float(track.log_joint[track.late].mean()))
    level = float(np.quantile(best.log_joint[best.late], TYPICAL))
    return best, level, [k for k, t in enumerate(tracks) if t is best or t.log_joint[t.late].mean() >= level]


def reference_of(partitions: Sequence[NDArray[np.int32]]) -> NDArray[np.int32]:
    """At most `REFERENCE` partitions, evenly from the second halves of chains that agree, shape (M, N)."""
    each = max(1, REFERENCE // len(partitions))
    late = [rows[len(rows) // 2 :] for rows in partitions]
    return np.concatenate([rows[evenly_spaced(len(rows), each)] for rows in late])


def expected_distances(partitions: NDArray[np.int32], reference: NDArray[np.int32]) -> NDArray[np.float64]:
    """Mean variation of information, in nats, of each partition to the reference partitions, shape (partitions,)."""
    return np.asarray(all_distances(partitions, reference).mean(axis=1))


def target_of(tracks: Sequence[Track], reference: NDArray[np.int32]) -> Target:
    """The target, by the log joint of the chains that agree and the distances between the reference partitions."""
    best, level, chosen = agreeing_chains(tracks)
    among = expected_distances(reference, reference) * len(reference) / max(1, len(reference) - 1)
    return Target(level, float(np.quantile(among, 1 - TYPICAL)), best, len(chosen))


def hitting_time(track: Track, target: Target) -> float:
    """Seconds until a chain has had the log joint and a recorded partition within the distance; inf: never."""
    high = np.flatnonzero(track.log_joint >= target.log_joint)
    near = np.flatnonzero(track.distance <= target.distance)
    if not len(high) or not len(near):
        return float("inf")
    return float(max(track.seconds[high[0]], track.at[near[0]]))


def ess_per_second(track: Track, target: Target) -> dict[str, float]:
    """Bulk effective sample size of the second half a second, of each of `ESS`.

    0 where the chain has not reached the target: draws of another place are none of the posterior. NaN of a series
    that is constant.
    """
    half = track.seconds[track.late]
    took = float(half[-1] - half[0])
    if not np.isfinite(hitting_time(track, target)) or took <= 0:
        return dict.fromkeys(ESS, 0.0)
    series = {
        "n_clusters": track.n_clusters[track.late],
        "log_joint": track.log_joint[track.late],
        "partition": track.distance[track.at >= half[0]],
    }
    return {name: mixing.ess(x) / took for name, x in series.items()}


@dataclass(frozen=True)
class Comparison:
    """One sampler compared with the fastest."""

    sampler: str
    ratio: float
    low: float
    high: float
    """How many times as long as the fastest it takes to the target, and the interval; a chain that does not get there
    counts with all its time, so the ratio is at least that."""


@dataclass(frozen=True)
class Result:
    """Who was first."""

    first: str
    """The sampler of the smallest geometric mean time."""
    others: list[Comparison]
    trials: int
    """Pairs of start and seed."""
    decided: bool
    """Whether every interval excludes 1."""
    needed: int | None
    """Trials that would decide it, where it is not decided and the number can be estimated."""

    def __str__(self) -> str:
        if not self.others:
            return f"{self.first} alone"
        ratios = ", ".join(
            f"{one.sampler} takes {one.ratio:.3g} [{one.low:.3g}, {one.high:.3g}] times as long" for one in self.others
        )
        if self.decided:
            return f"{self.first} is first: {ratios} ({self.trials} trials)"
        more = ""
        if self.needed is not None:
            some = f"more than {MOST_UNITS:,}" if self.needed > MOST_UNITS else f"some {self.needed:,}"
            more = f"; {some} would decide it"
        return f"not decided ({self.trials} trials{more}): {self.first} has the smallest mean, {ratios}"


def result_of(times: Mapping[str, NDArray[np.float64]], ends: Mapping[str, NDArray[np.float64]]) -> Result | None:
    """Compare samplers by their times to the target; None if none reached it on any trial.

    `times` are the seconds of each sampler on the same trials, inf where it did not get there, `ends` those after which
    it was stopped. Intervals are of a bootstrap over trials, the same resamples for all.
    """
    if not any(np.isfinite(values).any() for values in times.values()):
        return None
    logs = {name: np.log(np.maximum(np.minimum(t, ends[name]), SHORTEST)) for name, t in times.items()}
    first = min(logs, key=lambda name: float(logs[name].mean()))
    n = len(logs[first])
    chosen = np.random.default_rng(0).integers(n, size=(RESAMPLES, n))
    others, needed = [], []
    for name in sorted(logs.keys() - {first}, key=lambda name: float(logs[name].mean())):
        gap = logs[name] - logs[first]
        low, high = np.quantile(gap[chosen].mean(axis=1), [TAIL, 1 - TAIL]) if n > 1 else (np.nan, np.nan)
        mean = float(gap.mean())
        others.append(Comparison(name, float(np.exp(mean)), float(np.exp(low)), float(np.exp(high))))
        if not low > 0 or n < FEWEST:
            # the width of a bootstrap interval goes as 1 / sqrt(trials)
            wider = max(mean - low, high - mean) / mean if mean > 0 else np.nan
            more = max(n + 1, int(np.ceil(n * wider**2))) if np.isfinite(wider) else None
            needed.append(FEWEST if n < FEWEST and (low > 0 or more is None) else more)
    known = [max(count, FEWEST) for count in needed if count is not None]
    return Result(first, others, n, not needed, max(known) if needed and len(known) == len(needed) else None)
