"""Five times faster? Time to the best log joint against N, D and the number of clusters (Luo & Shrivastava 2018)."""

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from splitmerge_cli.analysis.plots.style import FULL, hollow, legend, powers
from splitmerge_cli.papers.claims import Claim, published_claims
from splitmerge_cli.papers.drawing import Drawing
from splitmerge_cli.papers.lshsm.runs import (
    METHODS,
    STARTS,
    TOLERANCE,
    Climbs,
    Lead,
    handles,
    judge_ratio,
    methods_of,
    style_of,
)
from splitmerge_cli.papers.verdicts import Verdict, by_sign
from splitmerge_cli.runs.store.read import Run

OWN = "paired_sequential"
"""The form of LSHSM that is compared."""
SPREAD = 1.12
"""Points of samplers at one N are drawn apart by this factor."""
Cell = tuple[int, int, int]


def cell_of(run: Run) -> Cell:
    """N, D and the number of clusters of a run's data."""
    data = run.config["data"]
    return int(run.config["N"]), int(data["D"]), int(data["components"])


def times(runs: Sequence[Run], climbs: Climbs) -> pd.DataFrame:
    """Seconds to the level of every chain.

    Columns start, N, D, components, method, seed, seconds (infinite: not within the budget; NaN: no sampler found a
    better state than the start), budget.
    """
    rows = []
    budgets = {cell_of(run): float(run.config["budget"]) for run in runs}
    for (cell, start, method), chains in climbs.chains.items():
        for seed, climb in chains.items():
            where = dict(zip(("N", "D", "components"), cell, strict=True))
            level = climbs.level(cell, start, seed)
            seconds = climb.reaches(level, "seconds") if level > climb.log_joint[0] else np.nan
            rows.append(
                {"start": start, **where, "method": method, "seed": seed, "seconds": seconds, "budget": budgets[cell]}
            )
    return pd.DataFrame(rows)


def speed(runs: Sequence[Run]) -> Drawing:
    """Time to the best log joint, sampler by sampler."""
    climbs = Climbs(runs, by=cell_of)
    table = times(runs, climbs)
    methods = methods_of(runs)
    starts = [start for start in STARTS if (table["start"] == start).any()]
    seeds = table.groupby(["N", "start", "D", "components", "method"])["seed"].nunique()
    notes = (
        f"Normal distributions that differ in mean and variance; {_count_text(seeds.min(), seeds.max())} each, "
        "medians. Moves alone, no Gibbs scans; equal time for all samplers at one N (grey). Level: "
        f"{1 - TOLERANCE:.0%} of the climb of the log joint to the best that any of them found, from either start. "
        f"{_plainly(climbs, starts, methods)}"
    )
    return Drawing(picture_speed(table), table, _verdicts(climbs, starts), notes)


def picture_speed(numbers: pd.DataFrame) -> Figure:
    """A panel for each start and kind of data."""
    kinds = sorted(set(numbers[["D", "components"]].itertuples(index=False, name=None)), key=lambda x: (x[1], x[0]))
    present = set(numbers["method"])
    methods = [method for method in METHODS if method in present]
    starts = [start for start in STARTS if (numbers["start"] == start).any()]
    figure, axes = plt.subplots(
        len(starts), len(kinds), figsize=(FULL, 2.2 * len(starts) + 0.6), sharex=True, sharey=True, squeeze=False
    )
    for row, start in zip(axes, starts, strict=True):
        for ax, (D, components) in zip(row, kinds, strict=True):
            here = numbers[(numbers["start"] == start) & (numbers["D"] == D) & (numbers["components"] == components)]
            _draw(ax, here, methods)
            ax.set_title(f"D = {D}\n{components} clusters", fontsize=7.5)
        row[0].set_ylabel(f"start: {STARTS[start].removeprefix('from ')}\nseconds to the level")
    for ax in axes[-1]:
        ax.set_xlabel("N")
    never = Line2D(
        [], [], color="#444444", marker="o", markerfacecolor="white", linestyle="", label="hollow: not within the time"
    )
    legend(figure, [*handles(methods), never])
    return figure


def _count_text(least: int, most: int) -> str:
    """How many data sets, in words."""
    if least < most:
        return f"{least} to {most} data sets"
    return f"{most} data sets" if most > 1 else "one data set"


def _draw(ax: Axes, table: pd.DataFrame, methods: Sequence[str]) -> None:
    for n, of_size in table.groupby("N"):
        ax.plot([n / 2, n * 2], [of_size["budget"].iloc[0]] * 2, color="#bbbbbb", linewidth=0.9, zorder=1)
    for place, method in enumerate(methods):
        here = (
            table[table["method"] == method].groupby("N").agg(seconds=("seconds", "median"), budget=("budget", "first"))
        )
        if here.empty:
            continue
        apart = SPREAD ** (place - (len(methods) - 1) / 2)
        x = here.index.to_numpy(float) * apart
        seconds = here["seconds"].to_numpy(float)
        reached = np.isfinite(seconds)
        y = np.where(np.isinf(seconds), here["budget"], seconds)
        style = style_of(method)
        ax.plot(x, y, linewidth=0.9, **style)
        ax.plot(x[~reached], y[~reached], zorder=3, **hollow(style))
    if table["seconds"].isna().all():
        ax.text(
            0.5, 0.5, "nobody found\nanything better\nthan the start", transform=ax.transAxes, ha="center", fontsize=7
        )
    ax.set(xscale="log", yscale="log")
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 3.0), numticks=8))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_locator(LogLocator(numticks=5))
    powers(ax.xaxis)
    ax.xaxis.set_minor_locator(NullLocator())


def _leads(climbs: Climbs, start: str, other: str) -> dict[Cell, list[Lead]]:
    """LSHSM against another sampler, by cell of the grid."""
    cells = sorted({on for on, s, _ in climbs.chains if s == start})
    found = {cell: climbs.leads(cell, start, OWN, other, "seconds") for cell in cells}
    return {cell: leads for cell, leads in found.items() if leads}


def _plainly(climbs: Climbs, starts: Sequence[str], methods: Sequence[str]) -> str:
    """Where LSHSM reaches the level before the others, and where not."""
    parts = []
    for start in starts:
        said = []
        for other in methods:
            told = [x for each in _leads(climbs, start, other).values() for x in each if not x.lower]
            if other != OWN and told:
                said.append(f"{METHODS[other]} on {sum(x.ahead for x in told)} of {len(told)}")
        parts.append(f"{STARTS[start]} before {', '.join(said)}")
    return f"LSHSM reaches the level first, of the data sets on which either does: {'; '.join(parts)}."


def _verdicts(climbs: Climbs, starts: Sequence[str]) -> list[Verdict]:
    claims = {c.metric: c for c in published_claims("lshsm-speed")}
    verdicts = []
    for other in ("sdds", "rgsm"):
        for start in starts:
            leads = [x for each in _leads(climbs, start, other).values() for x in each]
            verdicts.append(judge_ratio(claims[f"times_faster_than_{other}"], leads, STARTS[start]))
    for other in ("sdds", "sams"):
        for start in starts:
            verdicts.append(_growth(claims["gain_grows_with_N"], climbs, start, other))
    return verdicts


def _growth(claim: Claim, climbs: Climbs, start: str, other: str) -> Verdict:
    """Whether the ratio of times is larger at the largest N than at the smallest, over all kinds of data."""
    ratios: dict[Any, dict[int, float]] = {}
    for (n, *kind), leads in _leads(climbs, start, other).items():
        logs = np.log10([x.ratio for x in leads])
        if np.isfinite(logs).any():
            ratios.setdefault(tuple(kind), {})[n] = float(np.nanmean(logs))
    gains = [by_size[max(by_size)] - by_size[min(by_size)] for by_size in ratios.values() if len(by_size) > 1]
    what = f"log10 of time of {METHODS[other]} over LSHSM's, largest N minus smallest"
    reading = f"against {METHODS[other]}, {STARTS[start]}"
    return by_sign(claim, {what: gains or [np.nan]}, reading, unit="kinds of data")
