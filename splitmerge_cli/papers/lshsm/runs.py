"""The runs of Luo & Shrivastava 2018: which they are, how far each chain has climbed and when, and who leads whom."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from splitmerge_cli.analysis.plots.races import option
from splitmerge_cli.analysis.plots.style import entry, look_of
from splitmerge_cli.config import figure_styles
from splitmerge_cli.diagnostics.intervals import geometric_interval
from splitmerge_cli.papers.claims import Claim
from splitmerge_cli.papers.verdicts import Verdict, by_edge, estimate, no_run
from splitmerge_cli.runs.store.read import Run

METHODS = {
    "rgsm": "RGSM",
    "sdds": "SDDS",
    "sams": "SAMS",
    "gibbs": "Gibbs",
    "paired_sequential": "LSHSM, one by one",
    "sums": "LSHSM, Algorithm 1",
    "paired": "LSHSM, coins",
    "as_printed": "LSHSM as printed",
}
"""Samplers, and the forms of LSHSM, in the order of legends and tables."""
DASHES: dict[str, Any] = {"sums": (0, (4, 1.5)), "paired": (0, (1, 1)), "as_printed": (0, (4, 1.2, 1, 1.2))}
FORMS = {"paired_sequential": "items one by one", "sums": "Algorithm 1, exact"}
"""Forms of LSHSM under which claims are judged."""
STARTS = {"one_cluster": "from one cluster", "singletons": "from singletons"}
SETS = {"s1": "S1", "s2": "S2", "s3": "S3", "kdd_like": "KDDCUP04Bio", "ohsumed23": "PubMed"}
"""Data sets, and what claims call them or what they stand for."""
STOOD_IN = 1000
"""Seed of the generated data that stand in for ohsumed23: none of the runs' seeds, which are data sets as well."""
TOLERANCE = 0.02
"""A chain has reached the level when this share of the climb is left: what a plot can show."""


def method_of(run: Run) -> str:
    """The sampler of a run; of LSHSM its form."""
    sampler = run.config["sampler"]
    if sampler["name"] != "lshsm":
        return str(sampler["name"])
    return "as_printed" if sampler["mode"] == "as_printed" else str(sampler["proposal"])


def is_stand_in(run: Run) -> bool:
    """Whether generated data stand in for ohsumed23."""
    return option(run, "data") == "kdd_like" and run.config["data"]["seed"] == STOOD_IN


def data_of(run: Run) -> str:
    """The data set as claims call it, or that for which it stands."""
    return "PubMed" if is_stand_in(run) else SETS[option(run, "data")]


def style_of(method: str) -> dict[str, Any]:
    """Colour, marker and dashes of a line: all forms of LSHSM in one colour, with one marker."""
    look = look_of(method if method in figure_styles() else "lshsm", dashed=False)
    return look | {"linestyle": DASHES.get(method, "-")}


def methods_of(runs: Iterable[Run]) -> list[str]:
    """The samplers and forms of runs, in the order of `METHODS`."""
    present = {method_of(run) for run in runs}
    return [method for method in METHODS if method in present]


def handles(methods: Iterable[str]) -> list[Line2D]:
    """Legend entries."""
    return [entry(label=METHODS[m], linewidth=1.8, **style_of(m)) for m in methods]


@dataclass(frozen=True)
class Climb:
    """The ascent of one chain: iteration, seconds, log likelihood and log joint of each recorded row, float64
    ``[rows]``."""

    iteration: NDArray[np.float64]
    seconds: NDArray[np.float64]
    log_lik: NDArray[np.float64]
    log_joint: NDArray[np.float64]

    @property
    def pace(self) -> float:
        """Seconds an iteration."""
        return float(self.seconds[-1] / max(self.iteration[-1], 1.0))

    def axis_values(self, axis: str) -> NDArray[np.float64]:
        """Iterations or seconds of the rows."""
        return self.iteration if axis == "iteration" else self.seconds

    def reaches(self, level: float, axis: str) -> float:
        """Iterations or seconds until the log joint first is at `level`; infinite if never."""
        there = np.flatnonzero(self.log_joint >= level)
        return float(self.axis_values(axis)[there[0]]) if len(there) else np.inf

    def column_at(self, column: NDArray[np.float64], axis: str, where: NDArray[np.float64]) -> NDArray[np.float64]:
        """A column at points of an axis: the value of the last row before each."""
        return column[np.searchsorted(self.axis_values(axis), where, side="right") - 1]


def climb_of(run: Run) -> Climb:
    """The ascent of a run's only chain."""
    trace = run.trace(["iteration", "seconds", "log_lik", "log_joint"])
    return Climb(*(trace[c].to_numpy(float) for c in ("iteration", "seconds", "log_lik", "log_joint")))


@dataclass(frozen=True)
class Lead:
    """Which of two chains reaches the level first, on one data set: `ratio` of the second's to the first's iterations
    or seconds to the level, where one that has not reached it counts with all that it made (a `bound`), NaN where
    neither has left its start; 1 if the first is `ahead`, one half if both are there at once; `lower`: neither reaches
    the level, and they are compared at a lower one, that both reached."""

    ratio: float
    ahead: float
    bound: bool
    lower: bool


def lead(first: Climb, second: Climb, level: float, axis: str) -> Lead:
    """Compare two chains from the same start on the same data; where no chain from anywhere found a better state than
    that, there is nothing to compare."""
    pair = (first, second)
    if level <= first.log_joint[0]:
        return Lead(np.nan, 0.0, True, True)
    lower = all(np.isinf(c.reaches(level, axis)) for c in pair)
    if lower:
        # the level that both reached; if one has not left the start, what the other reached soon
        start = float(first.log_joint[0])
        low, high = sorted(float(c.log_joint.max()) - start for c in pair)
        level = start + max((1 - TOLERANCE) * low, TOLERANCE * high) if high > 0 else np.inf
    a, b = (c.reaches(level, axis) for c in pair)
    if not np.isfinite([a, b]).any():
        return Lead(np.nan, 0.0, True, True)
    # a chain that has not reached the level counts with all that it made, and never for less than what the other needed
    seconds_a, bt = (
        t if np.isfinite(t) else max(c.axis_values(axis)[-1], min(a, b)) for t, c in zip((a, b), pair, strict=True)
    )
    least = 1.0 if axis == "iteration" else 1e-6
    return Lead(
        max(bt, least) / max(seconds_a, least), float(np.heaviside(b - a, 0.5)), bool(np.isinf([a, b]).any()), lower
    )


class Climbs:
    """The ascents of all chains, one a run, by what they ran on (`by`; by default their data set), from where and
    how."""

    def __init__(self, runs: Sequence[Run], by: Any = data_of) -> None:
        self.chains: dict[tuple[Any, str, str], dict[int, Climb]] = {}
        self._data: dict[tuple[Any, int], str] = {}
        best: dict[str, tuple[float, float]] = {}
        for run in sorted(runs, key=lambda r: int(r.config["seed"])):
            climb, on, seed = climb_of(run), by(run), int(run.config["seed"])
            self.chains.setdefault((on, run.config["init"], method_of(run)), {})[seed] = climb
            # seeds may share their data
            data = self._data[on, seed] = f"{run.config['N']} {run.config['data']}"
            top = int(climb.log_joint.argmax())
            if climb.log_joint[top] > best.get(data, (-np.inf, 0.0))[0]:
                best[data] = float(climb.log_joint[top]), float(climb.log_lik[top])
        self.best = {key: best[data][0] for key, data in self._data.items()}
        self.best_log_lik = {key: best[data][1] for key, data in self._data.items()}

    def chains_of(self, on: Any, start: str) -> dict[str, dict[int, Climb]]:
        """The chains on one data set from one start, by method and seed."""
        chains_by_method = {m: self.chains[on, start, m] for m in METHODS if (on, start, m) in self.chains}
        return chains_by_method

    def unit(self, on: Any) -> str:
        """Name the units that seeds stand for: data sets, or chains on one data set."""
        data = [data for (where, _), data in self._data.items() if where == on]
        return "data sets" if len(set(data)) == len(data) else "chains"

    def level(self, on: Any, start: str, seed: int) -> float:
        """The level: all but `TOLERANCE` of the climb to the best log joint that any chain found."""
        first = next(chains[seed] for chains in self.chains_of(on, start).values() if seed in chains)
        low, high = float(first.log_joint[0]), self.best[on, seed]
        return high - TOLERANCE * (high - low)

    def hitting_times(self, on: Any, start: str, method: str, axis: str) -> NDArray[np.float64]:
        """Iterations or seconds to the level, ``[seeds]``; infinite where a chain has not reached the level."""
        chains = self.chains_of(on, start).get(method, {})
        return np.array([c.reaches(self.level(on, start, seed), axis) for seed, c in chains.items()])

    def leads(self, on: Any, start: str, first: str, second: str, axis: str) -> list[Lead]:
        """`first` against `second` on every data set that both ran on."""
        chains = self.chains_of(on, start)
        a, b = chains.get(first, {}), chains.get(second, {})
        return [lead(a[seed], b[seed], self.level(on, start, seed), axis) for seed in a if seed in b]

    def reached_text(self, on: Any, start: str, method: str) -> str:
        """How many chains reached the level, in words."""
        times = self.hitting_times(on, start, method, "seconds")
        return f"{int(np.isfinite(times).sum())} of {len(times)}"


def judge_ratio(claim: Claim, leads: Sequence[Lead], reading: str, unit: str = "data sets") -> Verdict:
    """Judge how many times sooner the level is reached, by the geometric mean."""
    told = [x for x in leads if np.isfinite(x.ratio)]
    if not told:
        why = "neither sampler left its start" if leads else "no run"
        return no_run(claim, why, "at_least", reading)
    note = f"; geometric mean over {len(told)} {unit if len(told) > 1 else unit.removesuffix('s')}"
    if lower := sum(x.lower for x in told):
        note += f"; on {lower} neither reached it and the level is the one that both reached"
    if bounds := sum(x.bound for x in told):
        note += f"; {bounds} of the ratios are bounds, because one of the two did not reach the level"
    ratios = [x.ratio for x in told]
    return by_least(claim, ratios, reading, unit, f"{geometric_interval(ratios)[0]:.3g} times sooner{note}")


def by_least(claim: Claim, ratios: Sequence[float], reading: str, unit: str, reason: str) -> Verdict:
    """Judge "so many times": reproduced at or above the claim's tolerance, however far above."""
    return by_edge(claim, estimate(ratios, geometric_interval, unit), reason, reading)
