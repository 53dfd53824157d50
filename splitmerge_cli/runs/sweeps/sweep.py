"""Grids of runs: words become specifications once, and what is missing of their runs is made by a launcher."""

import json
import math
import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from splitmerge_cli.config import ConfigError, RunSpecification, composition, hydra_adapter, specify
from splitmerge_cli.data import dataset, opening
from splitmerge_cli.overrides import quote, shell_word, split_values
from splitmerge_cli.received import DataError
from splitmerge_cli.runs import identity, interrupts
from splitmerge_cli.runs.plan import Plan, prepare
from splitmerge_cli.runs.progress import SweepProgress, SweepState
from splitmerge_cli.runs.store.files import STATUS, DamagedRun
from splitmerge_cli.runs.store.read import Run
from splitmerge_cli.runs.sweeps.job import Ended, safe_imports
from splitmerge_cli.runs.sweeps.queued_jobs import Jobs, Launch, forget

LOOK = 0.2
"""Seconds between two looks at runs that another process makes."""


@dataclass(frozen=True)
class JobOutcome:
    """How the job of these words (`overrides`) ended.

    Its `status` is done, skipped (finished before), to run (dry run), rejected (bad input), failed, interrupted (or not
    begun, when the sweep was interrupted), running elsewhere (by another process, when the sweep was interrupted), or
    submitted (to a queue, which goes on without the sweep). `path` is the folder of the run (None if it was rejected),
    `error` why it was rejected or failed, `notes` what is to be said of how its data were read, and `elsewhere` whether
    it was done by another process while the sweep ran.
    """

    overrides: Sequence[str]
    status: str
    path: Path | None = None
    error: str | None = None
    notes: list[str] = field(default_factory=list)
    elsewhere: bool = False

    @property
    def complete(self) -> bool:
        """Whether the run is there, whole."""
        return self.status in ("done", "skipped")

    @property
    def has_begun(self) -> bool:
        """Whether anything of the run is there."""
        return self.path is not None and (self.path / STATUS).is_file()


def interruption(outcomes: Sequence[JobOutcome]) -> str | None:
    """One line on what an interrupted sweep has done and left to do; None if it was not interrupted."""
    counts = Counter(o.status for o in outcomes)
    if not counts.keys() & {"interrupted", "running elsewhere"}:
        return None
    shown = {key: counts[key] for key in ("done", "skipped", "failed", "running elsewhere")}
    shown["to do"] = counts["interrupted"]
    return "interrupted: " + ", ".join(f"{number} {status}" for status, number in shown.items() if number)


def expand(args: Sequence[str], config_dir: str | Path | None = None) -> list[list[str]]:
    """The jobs of a grid, each the overrides of one run, keys of Hydra itself left out.

    ``KEY=A,B``, ``KEY=range(3)`` and ``KEY=glob(*)`` make a grid. An experiment adds its ``hydra.sweeper.params``, and
    `args` override those. Raises `ConfigError` (overrides that cannot be read, an unknown experiment, a grid without a
    job, or a file with a comma in its name that stands without quotes).
    """
    args, _ = split_hydra(args)
    experiments = [a for a in args if a.startswith("experiment=")]
    rest = [a for a in args if not a.startswith("experiment=")]
    for key, text in (arg.partition("=")[::2] for arg in rest):
        if key in ("init", *identity.DATA_FILES.values()) and len(split_values(text)) > 1 and os.path.exists(text):
            expected = f"expected {shell_word(f'{key}={quote(text)}')} for it"
            raise ConfigError(f"{key}={text}: several values in a sweep, and the name of a file; {expected}")
    jobs: list[list[str]] = []
    with hydra_adapter.hydra_session():
        for experiment in hydra_adapter.grid(experiments):
            # the main configuration has no grid of its own
            own_grid = composition.grid_of(experiment, config_dir) if experiment else {}
            params = [f"{key}={value}" for key, value in own_grid.items()]
            jobs += [experiment + job for job in hydra_adapter.grid([*params, *rest])]
    # jobs are made by processes that have no standard input
    if any(f"data.path={opening.SIGN}" in job for job in jobs):
        raise ConfigError(f"data.path={opening.SIGN}: a sweep does not read standard input; expected a file")
    return jobs


def read_jobs(
    jobs: Sequence[Sequence[str]], config_dir: str | Path | None = None, leave_to_data: bool = False
) -> tuple[list[RunSpecification], list[JobOutcome]]:
    """Read the words of jobs, once: their specifications, and the outcomes of those that are wrong (``rejected``).
    `jobs`: overrides of each run, as `expand` returns them; `config_dir`, `leave_to_data`: as of
    `splitmerge_cli.config.specify`."""
    read, rejected = [], []
    for words in jobs:
        try:
            read.append(specify(words, config_dir, leave_to_data))
        except ConfigError as error:
            rejected.append(JobOutcome(words, "rejected", error=str(error)))
    return read, rejected


def find_run(spec: RunSpecification) -> Run | None:
    """The finished run of a job, None if it is not finished. Cheap: neither data nor model is built."""
    return identity.complete(identity.run_dir(spec))


def check_jobs(
    jobs: Sequence[RunSpecification], launcher: Sequence[str] = (), detach: bool = False
) -> list[JobOutcome]:
    """Check every job, down to its data and the parameters of model and samplers; run none.

    Their status is ``skipped``, ``to run``, ``rejected`` or, where what is there of a run is damaged, ``failed``. A
    `ConfigError` if there is no such launcher, or it has no such options.
    """
    with hydra_adapter.hydra_session():
        if jobs and (launcher or detach):
            Launch(launcher, detach=detach).maker(jobs[0].search_path)
        alike: dict[str, Plan] = {}
        return [_check_job(job, alike) for job in jobs]


def _check_job(job: RunSpecification, alike: dict[str, Plan]) -> JobOutcome:
    """Check a job before it is made. Among jobs that differ only in the seed of their chains, the first is
    planned, and stands in `alike`."""
    path, key = None, _but_seed(job)
    try:
        if job.undecided:
            dataset.say_models(job.data, job.words)
        # nothing is built for a finished run, unless others like it were planned before
        if key not in alike and (done := identity.finished_run(job)):
            return JobOutcome(job.words, "skipped", done.path, notes=done.summary.get("notes", []))
        if key not in alike:
            # no chain is kept
            alike[key] = replace(prepare(job, runs=False), _built={})
        plan = replace(alike[key], spec=job)
        path = plan.path
        if not (is_done := plan.is_done):
            plan.require_writable()
        return JobOutcome(job.words, "skipped" if is_done else "to run", path, notes=plan.dataset.notes + plan.cautions)
    except (ConfigError, DataError) as error:
        return JobOutcome(job.words, "rejected", error=str(error))
    except DamagedRun as error:
        return JobOutcome(job.words, "failed", path or identity.run_dir(job), str(error))


def _but_seed(job: RunSpecification) -> str:
    """Return the text that jobs have in common if they differ in the seed of their chains alone."""
    return json.dumps({name: value for name, value in job.values.items() if name != "seed"}, sort_keys=True)


def run_jobs(
    jobs: Sequence[RunSpecification],
    workers: int | None = None,
    progress: str = "auto",
    launcher: Sequence[str] = (),
    timed: Collection[Sequence[str]] = (),
    detach: bool = False,
) -> list[JobOutcome]:
    """Run what is missing of the given jobs, `workers` at the same time (None: one per processor), by the `launcher`
    that Hydra's own overrides name, such as ``hydra/launcher=basic`` (by default processes). Jobs whose words are
    `timed` run one at a time, after the others. With `detach` they are left to the queue of a cluster (``submitted``).

    Returns an outcome per job, in their order. Where one is ``rejected`` none runs. A job that fails, or whose process
    is killed, does not stop the others. Runs that another process writes are waited for, and made here where it leaves
    them unfinished. After Ctrl-C, SIGTERM or SIGHUP those that are not complete are ``interrupted``, or ``running
    elsewhere``. Raises `ConfigError` (no such launcher or options, or it cannot launch) or `RunError` (the launcher
    failed on the way; what was stored is intact).
    """
    outcomes = check_jobs(jobs, launcher, detach)
    if any(o.status == "rejected" for o in outcomes):
        return outcomes
    for outcome in outcomes:
        if outcome.status == "skipped" and outcome.path:
            forget(outcome.path)
    # the same run may be asked for twice: the first is made
    missing: dict[Path, RunSpecification] = {}
    for job, outcome in zip(jobs, outcomes, strict=True):
        if outcome.status == "to run" and outcome.path:
            missing.setdefault(outcome.path, job)
    if missing:
        alone = set(map(tuple, timed))
        parts = [
            ({path: job for path, job in missing.items() if tuple(job.words) not in alone}, workers),
            ({path: job for path, job in missing.items() if tuple(job.words) in alone}, 1),
        ]
        parts = [(part, at_once) for part, at_once in parts if part]
        poll = _Poll([(part, at_once or os.cpu_count() or 1) for part, at_once in parts])
        with (
            hydra_adapter.hydra_session(),
            SweepProgress(progress, len(missing), poll) as shown,
            safe_imports(),
        ):
            if alone and parts[-1][1] == 1 and len(parts[-1][0]) > 1:
                shown.say(f"{len(parts[-1][0])} of {len(missing)} jobs are timed: one at a time, after the others")
            ended: dict[Path, Ended] = {}
            for part, at_once in parts:
                # one job alone gains nothing from a process, but its chains from threads
                launcher_words = launcher or ["hydra/launcher=basic"] * (len(part) == 1 and not detach)
                ended |= _make(part, Launch(launcher_words, at_once, detach), shown.say)
                if any(status == "interrupted" for status, _ in ended.values()):
                    break
            ended |= {path: _outcome_of_interruption(path) for path in missing if path not in ended}
        for i, outcome in enumerate(outcomes):
            if outcome.status == "to run" and outcome.path:
                status, error = ended[outcome.path]
                elsewhere = status == "elsewhere"
                outcomes[i] = replace(outcome, status="done" if elsewhere else status, error=error, elsewhere=elsewhere)
    return outcomes


def _make(missing: Jobs, launch: Launch, say: Callable[[str], None]) -> dict[Path, Ended]:
    """Make the missing runs, those first that nobody else writes; what became of each."""
    ended: dict[Path, Ended] = {}
    remaining = list(missing)
    # with resume=false
    repeated = {path for path in missing if identity.is_done(path)}
    waiting = False
    try:
        with interrupts.AnsweredBy(interrupts.interrupt):
            while remaining:
                # another process may have finished one since it was looked at
                ended |= {path: ("elsewhere", None) for path in remaining if path not in repeated and _is_whole(path)}
                if free := [path for path in remaining if path not in ended and not identity.is_written(path)]:
                    launch.make({path: missing[path] for path in free}, ended)
                elif any(path not in ended for path in remaining):
                    if not waiting:
                        jobs = "job is" if len(remaining) == 1 else "jobs are"
                        say(f"{len(remaining)} {jobs} running elsewhere; waiting for the end")
                    waiting = True
                    time.sleep(LOOK)
                remaining = [path for path in remaining if path not in ended]
    except KeyboardInterrupt:
        return {path: _outcome_of_interruption(path) for path in missing} | ended
    return ended


def _is_whole(path: Path) -> bool:
    with suppress(DamagedRun):  # it is written at this moment
        return identity.is_done(path)
    return False


def _outcome_of_interruption(path: Path) -> Ended:
    """How a run ended when the sweep was interrupted."""
    if identity.is_written(path):
        return "running elsewhere", None
    return ("done" if identity.is_done(path) else "interrupted"), None


class _Poll:
    """Looks how far runs are, and estimates the time left from the durations of those that are complete.

    `parts`: jobs by the folder of their run, made one part after the other, and how many of a part at the same time.
    """

    def __init__(self, parts: Sequence[tuple[Jobs, int]]) -> None:
        self._parts = parts
        self._durations: dict[Path, float] = {}
        jobs = [(path, job) for part, _ in parts for path, job in part.items()]
        # runs that differ in their seed alone take alike
        self._alike = {path: _but_seed(job) for path, job in jobs}
        self._budget = {path: job.budget or 0.0 for path, job in jobs}

    def __call__(self) -> SweepState:
        every = (path for paths, _ in self._parts for path in paths)
        shares = {path: 1.0 if path in self._durations else self._look(path) for path in every}
        return SweepState(len(self._durations), sum(shares.values()), self._left(shares))

    def _look(self, path: Path) -> float:
        """The share of a run that is done; its duration is noted once it is complete."""
        if not (path / STATUS).is_file():
            return 0.0
        with suppress(DamagedRun):  # it is written again at once
            status: dict[str, Any] = Run(path).status
            if status["state"] == "done":
                begin, end = (datetime.fromisoformat(status[key]) for key in ("started", "updated"))
                self._durations[path] = (end - begin).total_seconds()
            return float(status["share"])
        return 0.0

    def _left(self, shares: Mapping[Path, float]) -> float:
        if not self._durations:
            return math.inf
        # beyond the time that a job is given; of one like which none is complete, first its experiment stands in
        keys = (lambda path: self._alike[path], lambda path: path.parent, lambda path: None)
        means = []
        for key in keys:
            groups: dict[object, list[float]] = {}
            for path, seconds in self._durations.items():
                groups.setdefault(key(path), []).append(seconds - self._budget[path])
            means.append({group: sum(seconds) / len(seconds) for group, seconds in groups.items()})
        seconds_left = 0.0
        for paths, at_once in self._parts:
            seconds = 0.0
            for path in paths:
                beyond = next(mean[key(path)] for key, mean in zip(keys, means, strict=True) if key(path) in mean)
                seconds += (1 - shares[path]) * max(0.0, self._budget[path] + beyond)
            seconds_left += seconds / max(1, min(at_once, len(paths)))
        return seconds_left


def check_workers(workers: int | None, launcher: Sequence[str]) -> None:
    """Raise a `ConfigError` if the number of jobs at the same time is given, and a launcher says it in another way.
    `workers`: what ``--workers`` says; `launcher`: Hydra's own overrides."""
    for override in launcher if workers is not None else ():
        key, _, value = override.lstrip("+~").partition("=")
        if key == "hydra.launcher.n_jobs" and value != str(workers):
            raise ConfigError(f"--workers {workers} and {override}: expected one of the two")
        if key == "hydra/launcher" and value != "joblib":
            raise ConfigError(f"--workers {workers}: {override} has other options, hydra.launcher.KEY; expected joblib")


def split_hydra(args: Sequence[str]) -> tuple[list[str], list[str]]:
    """Separate the overrides of jobs from Hydra's own (launcher and so on)."""
    hydra_words = [arg for arg in args if arg.lstrip("+~").startswith(("hydra.", "hydra/"))]
    return [arg for arg in args if arg not in hydra_words], hydra_words
