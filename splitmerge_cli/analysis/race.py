"""Races: runs of several samplers on one posterior, made or found; how soon chains are where the posterior is, and how
fast they move there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from splitmerge_cli.config import ConfigError, RunSpecification, compose
from splitmerge_cli.diagnostics import mixing, partition_losses, point_estimate
from splitmerge_cli.diagnostics.cluster_table import count_of
from splitmerge_cli.diagnostics.convergence import format_clear
from splitmerge_cli.diagnostics.intervals import MOST_UNITS, TAIL
from splitmerge_cli.runs.store import read, schema
from splitmerge_cli.runs.store.files import LISTED_RUNS
from splitmerge_cli.runs.sweeps import sweep

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
    return np.concatenate([rows[point_estimate.evenly_spaced(len(rows), each)] for rows in late])


def expected_distances(partitions: NDArray[np.int32], reference: NDArray[np.int32]) -> NDArray[np.float64]:
    """Mean variation of information, in nats, of each partition to the reference partitions, shape (partitions,)."""
    return np.asarray(partition_losses.all_distances(partitions, reference).mean(axis=1))


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
    """Bulk effective sample size of the second half a second, of each of `ESS`: 0 where the chain has not reached the
    target, as draws of another place are none of the posterior; NaN of a series that is constant."""
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
    counts with all its time, so the ratio is at least that. NaN: one trial has no interval."""

    def __str__(self) -> str:
        if self.low == self.high == 1:
            return f"{self.sampler} takes as long"
        ratio, low, high = (format_clear(value, 1.0, ".3g") for value in (self.ratio, self.low, self.high))
        interval = f" [{low}, {high}]" if self.low == self.low else ""
        return f"{self.sampler} takes {ratio}{interval} times as long"


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
        ratios = ", ".join(map(str, self.others))
        if self.decided:
            return f"{self.first} is first: {ratios} ({self.trials} trials)"
        made = count_of(self.trials, "trial")
        if self.needed is not None:
            more = f"more than {MOST_UNITS:,}" if self.needed > MOST_UNITS else f"about {self.needed:,}"
            made += f"; {more} would decide it"
        return f"not decided ({made}): {self.first} has the smallest mean, {ratios}"


def result_of(times: Mapping[str, NDArray[np.float64]], ends: Mapping[str, NDArray[np.float64]]) -> Result | None:
    """Compare samplers by their times to the target: `times`, seconds of each sampler on the same trials, inf where it
    did not get there by `ends`; None if none reached it on any trial. Intervals are of a bootstrap over trials, the
    same resamples for all."""
    if not any(np.isfinite(values).any() for values in times.values()):
        return None
    logs = {name: np.log(np.maximum(np.minimum(t, ends[name]), SHORTEST)) for name, t in times.items()}
    first = min(logs, key=lambda name: float(logs[name].mean()))
    n = len(logs[first])
    chosen = np.random.default_rng(0).integers(n, size=(RESAMPLES, n))
    others, needed = [], []
    for name in sorted((name for name in logs if name != first), key=lambda name: float(logs[name].mean())):
        gap = logs[name] - logs[first]
        low, high = np.quantile(gap[chosen].mean(axis=1), [TAIL, 1 - TAIL]) if n > 1 else (np.nan, np.nan)
        mean = float(gap.mean())
        others.append(Comparison(name, float(np.exp(mean)), float(np.exp(low)), float(np.exp(high))))
        if not low > 0 or n < FEWEST:
            # the width of a bootstrap interval goes as 1 / sqrt(trials)
            wider = max(mean - low, high - mean) / mean if mean > 0 else np.nan
            more = max(n + 1, int(np.ceil(n * wider**2))) if np.isfinite(wider) else None
            # equal times say nothing of how many would differ
            needed.append(FEWEST if n < FEWEST and (low > 0 or n == 1) else more)
    known = [max(count, FEWEST) for count in needed if count is not None]
    return Result(first, others, n, not needed, max(known) if needed and len(known) == len(needed) else None)


STARTS = ("one_cluster", "singletons")
"""Initial states of chains, unless `init` is named."""
SCANS = ("gibbs", "parameters", "concentration", "refresh", "scales")
"""Moves whose acceptance means nothing: scans, and updates of parameters and hyper-parameters."""
FEW = 0.2
"""Share of the chains that agree with the best, below which the target is to be doubted."""
SAME = ("N", "data", "model")
"""Keys that runs of one race share."""


def jobs_of(
    args: Sequence[str],
    seeds: int,
    seconds: float,
    config_dir: str | Path | None = None,
    settle: Callable[[list[RunSpecification]], list[RunSpecification]] = list,
) -> list[RunSpecification]:
    """The runs of a race: every sampler (``sampler=a,b`` among the keys of ``smcmc run`` in `args`) from every start
    with every seed, for the same time; `seeds` and `seconds` unless ``seed``, ``iterations`` or ``budget`` is named.
    `settle` replaces what jobs leave to the data."""
    named = {arg.lstrip("+~").partition("=")[0] for arg in args}
    more = {"init": ",".join(STARTS), "seed": f"range({seeds})", "chains": "1", "progress": "none"}
    if not named & {"iterations", "budget"}:
        more["budget"] = f"{seconds:g}"
    words = sweep.expand([*args, *(f"{key}={value}" for key, value in more.items() if key not in named)], config_dir)
    jobs = settle([compose(job, config_dir, leave_to_data=True) for job in words])
    for job in jobs:
        _check(" ".join(job.words), job.values, " ".join(jobs[0].words), jobs[0].values)
    return jobs


@dataclass(frozen=True, eq=False)
class Race:
    """Runs of several samplers on one posterior, compared: their chains (`tracks`), and the target."""

    runs: list[read.Run]
    tracks: list[Track]
    target: Target

    @property
    def samplers(self) -> list[str]:
        """Their names, in the order of the runs."""
        return list(dict.fromkeys(track.sampler for track in self.tracks))

    @property
    def starts(self) -> list[str]:
        """Where chains start."""
        return list(dict.fromkeys(track.trial.start for track in self.tracks))

    @cached_property
    def chains(self) -> pd.DataFrame:
        """A row a chain: sampler, start, seed, seconds (to the target; inf: never), end (of the chain), and a second:
        ESS of `ESS`, accepted."""
        rows = []
        for track in self.tracks:
            ess = ess_per_second(track, self.target)
            rows.append(
                {
                    "sampler": track.sampler,
                    "start": track.trial.start,
                    "seed": track.trial.seed,
                    "seconds": hitting_time(track, self.target),
                    "end": track.end,
                    **{f"ess_{name}": value for name, value in ess.items()},
                    "accepted": track.accepted / track.end if track.end else np.nan,
                }
            )
        return pd.DataFrame(rows)

    def result(self, start: str | None = None) -> Result | None:
        """Who was first, from one start or over all of them. Chains of one trial count with their geometric mean."""
        chains = self.chains if start is None else self.chains[self.chains["start"] == start]
        seconds = chains.set_index(["sampler", "start", "seed"])[["seconds", "end"]].clip(lower=SHORTEST)
        means = np.exp(np.log(seconds).groupby(level=[0, 1, 2]).mean())
        # a row for each trial that all samplers share
        shared = means.unstack("sampler").dropna()
        names = dict.fromkeys(map(str, chains["sampler"]))
        times, ends = ({name: shared[key, name].to_numpy() for name in names} for key in ("seconds", "end"))
        return result_of(times, ends) if len(shared) else None

    def table(self) -> pd.DataFrame:
        """A row for each sampler and start: chains, reached, median of seconds, and means of what is counted a second
        (ESS: of chains that have not reached the target 0)."""
        columns: dict[str, Any] = {"chains": ("sampler", "size"), "reached": ("reached", "sum")}
        columns |= {name: (name, "median") for name in ("seconds", "end")}
        columns |= {name: (name, "mean") for name in (*(f"ess_{name}" for name in ESS), "accepted")}
        chains = self.chains.assign(reached=np.isfinite(self.chains["seconds"]).astype(int))
        return chains.groupby(["sampler", "start"], sort=False, as_index=False).agg(**columns)

    def lines(self) -> Iterable[str]:
        """The results, over all starts and from each."""
        yield (
            f"target: log joint {self.target.log_joint:,.1f}, and within {self.target.distance:.3g} nats of the "
            f"reference partitions, from {self.target.chains} of {len(self.tracks)} chains that agree with the best "
            f"({self.target.best.sampler} from {self.target.best.trial.start})"
        )
        if self.target.chains < FEW * len(self.tracks):
            yield (
                "few chains agree with the best, which may not represent the posterior either: longer chains "
                "(--seconds) may give another target"
            )
        whole = self.result()
        yield "no chain has reached the target" if whole is None else str(whole)
        for start in self.starts if len(self.starts) > 1 and len(self.samplers) > 1 else ():
            result = self.result(start)
            yield f"from {start}: " + ("no chain has reached the target" if result is None else str(result))

    def write(self, out: Path) -> Path:
        """Write ``race.csv``, ``chains.csv``, the runs' folders and a manifest to a folder of `out`, and return it."""
        ids = sorted(run.path.name for run in self.runs)
        name = hashlib.sha256(json.dumps(ids).encode()).hexdigest()[:12]
        folder = out / "races" / f"{self.runs[0].config['data']['name']}-{name}"
        with schema.SealedFolder(folder) as files:
            files.add_csv("race", self.table())
            files.add_csv("chains", self.chains)
            # from the folder of the results, which may move
            listed = [run.path.relative_to(out) if run.path.is_relative_to(out) else run.path for run in self.runs]
            files.add_text(LISTED_RUNS, "".join(f"{path}\n" for path in listed))
        return folder


def race_of(runs: Sequence[read.Run]) -> Race:
    """The race of finished runs that share a posterior, with times and partitions."""
    runs = list(runs)
    if not runs:
        raise ConfigError("a race needs finished runs")
    for run in runs:
        if not run.is_done:
            raise ConfigError(f"{run.path}: {run.status['state']}; a race compares finished runs")
        _check(str(run.path), run.config, str(runs[0].path), runs[0].config)
    tracks = [track for run, name in zip(runs, _names(runs), strict=True) for track in _tracks(run, name)]
    _, _, chosen = agreeing_chains(tracks)
    of_chain = [(run, chain) for run in runs for chain in range(run.config["chains"])]
    reference = reference_of([_labels(*of_chain[k]) for k in chosen])
    target = target_of(tracks, reference)
    for track, (run, chain) in zip(tracks, of_chain, strict=True):
        track.distance = expected_distances(_labels(run, chain), reference)
    return Race(runs, tracks, target)


def _check(name: str, config: Mapping[str, Any], first: str, of_first: Mapping[str, Any]) -> None:
    """Raise a `ConfigError` unless a configuration can race with the first one; both by the names that messages use."""
    for key in SAME:
        if config[key] != of_first[key]:
            raise ConfigError(
                f"{name}: {key} differs from {first}; runs of a race may differ only in sampler and initial state"
            )
    if not config["timing"]:
        raise ConfigError(f"{name}: timing=false records no times; a race needs timing=true")
    if config["trace"]["partitions"] == 0:
        raise ConfigError(f"{name}: trace.partitions=0 records no partitions; a race needs some")


def _names(runs: Sequence[read.Run]) -> list[str]:
    """Name of each run's sampler, with the options that tell it from others of that name."""
    samplers = [run.config["sampler"] for run in runs]
    schedules = [run.config["schedule"] for run in runs]
    names = []
    for sampler, schedule in zip(samplers, schedules, strict=True):
        alike = [other for other in samplers if other["name"] == sampler["name"]]
        options = [
            f"{key}={value}" for key, value in sampler.items() if any(other.get(key) != value for other in alike)
        ]
        if any(other != schedule for other in schedules):
            mix, moves = schedule.get("mix"), schedule.get("moves", 1)
            several = f" moves={moves}" if moves > 1 else ""
            options.append(schedule["name"] + (several if mix is None else f" {json.dumps(mix)}"))
        names.append(" ".join([str(sampler["name"]), *options]))
    return names


def _tracks(run: read.Run, name: str) -> Iterable[Track]:
    config = run.config
    trial = Trial(str(config["init"]), int(config["seed"]))
    trace = run.trace()
    partitions = run.partitions(["chain", "iteration"])
    if not len(partitions):
        raise ConfigError(f"{run.path}: no partition was recorded; expected a smaller trace.partitions")
    moves = run.moves()
    of_moves = moves[~moves["move"].isin((*SCANS, *schema.hyperparameters(trace.columns)))]
    for chain, rows in trace.groupby("chain", sort=True):
        iterations = partitions.loc[partitions["chain"] == chain, "iteration"].to_numpy()
        where = np.minimum(np.searchsorted(rows["iteration"].to_numpy(), iterations), len(rows) - 1)
        seconds = rows["seconds"].to_numpy(float)
        yield Track(
            sampler=name,
            trial=trial,
            seconds=seconds,
            log_joint=rows["log_joint"].to_numpy(float),
            n_clusters=rows["n_clusters"].to_numpy(float),
            at=seconds[where],
            accepted=float(of_moves.loc[of_moves["chain"] == chain, "accepted"].sum()) if len(of_moves) else np.nan,
        )


def _labels(run: read.Run, chain: int) -> NDArray[np.int32]:
    """Recorded partitions of a chain, shape (partitions, N)."""
    frame: Any = run.partitions(["chain", "labels"])
    return np.stack(frame.loc[frame["chain"] == chain, "labels"].to_numpy()).astype(np.int32)
