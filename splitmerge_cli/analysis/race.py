"""Races: runs of several samplers on one posterior, made or found, and what they say."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from splitmerge_cli.config import ConfigError, RunSpecification, compose
from splitmerge_cli.diagnostics import hitting_times
from splitmerge_cli.diagnostics.hitting_times import ESS, Result, Target, Track, Trial
from splitmerge_cli.runs.store.names import LISTED_RUNS
from splitmerge_cli.runs.store.read import Run
from splitmerge_cli.runs.store.schema import hyperparameters
from splitmerge_cli.runs.store.tables import SealedFolder
from splitmerge_cli.runs.sweeps import sweep

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
    """The runs of a race: every sampler from every start with every seed, for the same time. `args`: keys of ``smcmc
    run``; ``sampler=a,b`` names the samplers. `seeds`, `seconds`: how many, unless ``seed`` is named; of a chain,
    unless ``iterations`` or ``budget`` is. `settle`: replaces what jobs leave to the data. Raises `ConfigError` (runs
    that cannot race: without times or partitions, of several posteriors).
    """
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

    runs: list[Run]
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
            ess = hitting_times.ess_per_second(track, self.target)
            rows.append(
                {
                    "sampler": track.sampler,
                    "start": track.trial.start,
                    "seed": track.trial.seed,
                    "seconds": hitting_times.hitting_time(track, self.target),
                    "end": track.end,
                    **{f"ess_{name}": value for name, value in ess.items()},
                    "accepted": track.accepted / track.end if track.end else np.nan,
                }
            )
        return pd.DataFrame(rows)

    def result(self, start: str | None = None) -> Result | None:
        """Who was first, from one start or over all of them. Chains of one trial count with their geometric mean."""
        chains = self.chains if start is None else self.chains[self.chains["start"] == start]
        trials = [
            set(map(tuple, part[["start", "seed"]].to_numpy())) for _, part in chains.groupby("sampler", sort=False)
        ]
        shared = sorted(set.intersection(*trials))
        times, ends = {}, {}
        for name, part in chains.groupby("sampler", sort=False):
            by_trial = dict(iter(part.groupby(["start", "seed"])))
            times[str(name)] = np.array([_mean_time(by_trial[trial], "seconds") for trial in shared])
            ends[str(name)] = np.array([_mean_time(by_trial[trial], "end") for trial in shared])
        return hitting_times.result_of(times, ends) if shared else None

    def table(self) -> pd.DataFrame:
        """A row for each sampler and start: chains, reached, median of seconds, and means of what is counted a second
        (ESS: of chains that have not reached the target 0)."""
        rows = []
        for (sampler, start), part in self.chains.groupby(["sampler", "start"], sort=False):
            rows.append(
                {
                    "sampler": sampler,
                    "start": start,
                    "chains": len(part),
                    "reached": int(np.isfinite(part["seconds"]).sum()),
                    "seconds": float(np.median(part["seconds"])),
                    "end": float(part["end"].median()),
                    **{f"ess_{name}": float(part[f"ess_{name}"].mean()) for name in ESS},
                    "accepted": float(part["accepted"].mean()),
                }
            )
        return pd.DataFrame(rows)

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
        with SealedFolder(folder) as files:
            files.add_csv("race", self.table())
            files.add_csv("chains", self.chains)
            # from the folder of the results, which may move
            listed = [run.path.relative_to(out) if run.path.is_relative_to(out) else run.path for run in self.runs]
            files.add_text(LISTED_RUNS, "".join(f"{path}\n" for path in listed))
        return folder


def _mean_time(part: pd.DataFrame, column: str) -> float:
    """Geometric mean over the chains of a trial; of times inf where one has not got there."""
    return float(np.exp(np.log(np.maximum(part[column].to_numpy(float), hitting_times.SHORTEST)).mean()))


def race_of(runs: Sequence[Run]) -> Race:
    """The race of finished runs. Raises `ConfigError` (a run is not finished, was made without times or without
    partitions, or is of other data or another model).
    """
    runs = list(runs)
    if not runs:
        raise ConfigError("a race needs finished runs")
    for run in runs:
        if not run.is_done:
            raise ConfigError(f"{run.path}: {run.status['state']}; a race compares finished runs")
        _check(str(run.path), run.config, str(runs[0].path), runs[0].config)
    tracks = [track for run, name in zip(runs, _names(runs), strict=True) for track in _tracks(run, name)]
    _, _, chosen = hitting_times.agreeing_chains(tracks)
    of_chain = [(run, chain) for run in runs for chain in range(run.config["chains"])]
    reference = hitting_times.reference_of([_labels(*of_chain[k]) for k in chosen])
    target = hitting_times.target_of(tracks, reference)
    for track, (run, chain) in zip(tracks, of_chain, strict=True):
        track.distance = hitting_times.expected_distances(_labels(run, chain), reference)
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


def _names(runs: Sequence[Run]) -> list[str]:
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


def _tracks(run: Run, name: str) -> Iterable[Track]:
    config = run.config
    trial = Trial(str(config["init"]), int(config["seed"]))
    trace = run.trace()
    partitions = run.partitions(["chain", "iteration"])
    if not len(partitions):
        raise ConfigError(f"{run.path}: no partition was recorded; expected a smaller trace.partitions")
    moves = run.moves()
    of_moves = moves[~moves["move"].isin((*SCANS, *hyperparameters(trace.columns)))]
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


def _labels(run: Run, chain: int) -> NDArray[np.int32]:
    """Recorded partitions of a chain, shape (partitions, N)."""
    frame: Any = run.partitions(["chain", "labels"])
    return np.stack(frame.loc[frame["chain"] == chain, "labels"].to_numpy()).astype(np.int32)
