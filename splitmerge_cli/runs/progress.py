"""Progress on stderr: bars in a terminal, a line now and then elsewhere.

The bars are imported where they are shown.
"""

import math
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from splitmerge_cli.diagnostics.cluster_table import span
from splitmerge_cli.terminal import console, fold

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn, TaskID

LINE_EVERY = 10.0
"""Seconds between two lines."""
FAR = 1e9
"""Seconds to the end of a chain from which on none are shown."""


def _format_density(log_joint: float) -> str:
    """Return a log joint density as text, in full where its digits mean something."""
    return f"{log_joint:,.1f}" if abs(log_joint) < 1e15 else f"{log_joint:.6g}"


def is_live(kind: str) -> bool:
    """Whether the reporter for ``progress=kind`` redraws bars."""
    return kind == "bars" or (kind == "auto" and sys.stderr.isatty())


@dataclass
class ChainProgress:
    """Where one chain is: iterations done, the `fraction` that is done, by iterations or by budget, whichever is
    further, iterations per second in the last batch (`rate`), clusters and log joint density now, and the seconds that
    are `left` at that rate."""

    iteration: int
    fraction: float
    rate: float
    K: int
    log_joint: float
    left: float


class Reporter:
    """Reports nothing; the base of the others. Methods are called from several threads."""

    def start(self, chains: int) -> None:
        """Begin a run of so many chains."""

    def update(self, chain: int, progress: ChainProgress) -> None:
        """A batch of a chain is done."""

    def say(self, line: str) -> None:
        """Something on all chains."""

    def stop(self) -> None:
        """The run is over."""


def _bar(before: str, *after: "str | ProgressColumn") -> "Progress":
    """A bar of the share done, between texts."""
    from rich.progress import BarColumn, Progress

    return Progress(before, BarColumn(bar_width=None), "{task.percentage:3.0f}%", *after, console=console(stderr=True))


class Bars(Reporter):
    """One bar per chain: share done, rate, K, log joint, time left."""

    def __init__(self) -> None:
        from rich.progress import TimeRemainingColumn

        self._progress = _bar("{task.description}", "{task.fields[state]}", TimeRemainingColumn())
        self._tasks: list[TaskID] = []
        self._begun: set[int] = set()

    def start(self, chains: int) -> None:
        self._tasks = [self._progress.add_task(f"chain {c}", total=1.0, state="", start=False) for c in range(chains)]
        self._progress.start()

    def update(self, chain: int, progress: ChainProgress) -> None:
        if chain not in self._begun:
            self._begun.add(chain)
            self._progress.start_task(self._tasks[chain])
        state = f"{progress.rate:,.0f} it/s  K={progress.K}  log joint {_format_density(progress.log_joint)}"
        self._progress.update(self._tasks[chain], completed=progress.fraction, state=state)

    def say(self, line: str) -> None:
        """Print a line above the bars."""
        self._progress.console.print(fold(line), highlight=False, markup=False)

    def stop(self) -> None:
        self._progress.stop()


class Lines(Reporter):
    """A line about all chains every `LINE_EVERY` seconds, none once they have ended."""

    def __init__(self) -> None:
        self._last = time.perf_counter()
        self._chains: dict[int, ChainProgress] = {}
        self._number = 1
        self._lock = threading.Lock()

    def start(self, chains: int) -> None:
        self._last, self._number = time.perf_counter(), chains

    def update(self, chain: int, progress: ChainProgress) -> None:
        now = time.perf_counter()
        with self._lock:
            self._chains[chain] = progress
            done = sum(one.fraction for one in self._chains.values()) / self._number
            if done >= 1 or now - self._last < LINE_EVERY:
                return
            self._last = now
            chains, left = self._chains.values(), max(one.left for one in self._chains.values())
            clusters, heights = [one.K for one in chains], [one.log_joint for one in chains]
            time_left = f"  {timedelta(seconds=round(left))} left" if left < FAR else ""
            of_chains = f" of {self._number} chains" if self._number > 1 else ""
            print(
                f"{done:4.0%}  {sum(one.iteration for one in chains):,} iterations{of_chains}  "
                f"{sum(one.rate for one in chains):,.0f} it/s  K={span(min(clusters), max(clusters))}  log joint "
                f"{' to '.join(dict.fromkeys(map(_format_density, (min(heights), max(heights)))))}{time_left}",
                file=sys.stderr,
                flush=True,
            )

    def say(self, line: str) -> None:
        print(fold(line), file=sys.stderr, flush=True)


def reporter(kind: str) -> Reporter:
    """The reporter for ``progress=kind``: auto, bars, lines or none."""
    if is_live(kind):
        return Bars()
    return Reporter() if kind == "none" else Lines()


@dataclass
class SweepState:
    """How far the jobs of a sweep are: jobs that are `complete`, the sum of the shares done over all jobs, and the
    seconds that are `left`, from the durations of the jobs that are complete; infinite before the first one."""

    complete: int
    share: float
    left: float = math.inf


class SweepProgress:
    """One bar for all jobs of a sweep, which are called `noun`, shown as `kind` says (auto, bars, lines or none) and
    fed by asking now and then how far they are (`poll`)."""

    def __init__(self, kind: str, jobs: int, poll: Callable[[], SweepState], noun: str = "jobs") -> None:
        self._kind, self._jobs, self._poll, self._noun = kind, jobs, poll, noun
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._begin = time.monotonic()

    def __enter__(self) -> "SweepProgress":
        self._begin = time.monotonic()
        if self._kind != "none":
            self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        if self._kind != "none":
            self._thread.join()

    def say(self, text: str) -> None:
        """Print a line, above the bar where there is one."""
        print(text, file=sys.stderr, flush=True)

    def line(self, state: SweepState) -> str:
        """How far the jobs are, the time since the first began, and the time left where that can be said."""
        return f"{state.complete} of {self._jobs} {self._noun} ({state.share / self._jobs:.0%})  {self._times(state)}"

    def _times(self, state: SweepState) -> str:
        so_far = f"{timedelta(seconds=round(time.monotonic() - self._begin))} so far"
        return so_far if state.left >= FAR else f"{so_far}  {timedelta(seconds=round(state.left))} left"

    def _watch(self) -> None:
        if is_live(self._kind):
            self._redraw()
            return
        while not self._over.wait(LINE_EVERY):
            print(self.line(self._poll()), file=sys.stderr, flush=True)

    def _redraw(self) -> None:
        with _bar("{task.fields[complete]} of {task.total:.0f} " + self._noun, "{task.fields[times]}") as bar:
            task = bar.add_task("", total=self._jobs, complete=0, times="")
            over = False
            while not over:
                over = self._over.wait(0.5)
                state = self._poll()
                bar.update(task, completed=state.share, complete=state.complete, times=self._times(state))
