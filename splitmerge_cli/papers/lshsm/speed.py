"""Five times faster? Time to the best log joint against N, D and the number of clusters (Luo & Shrivastava 2018)."""

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from splitmerge_cli.analysis.plots.style import FULL, entry, hollow, legend, mark_alone
from splitmerge_cli.papers.claims import Claim, published_claims
from splitmerge_cli.papers.drawing import Drawing
from splitmerge_cli.papers.lshsm.runs import (
    METHODS,
    STARTS,
    TOLERANCE,
    Climbs,
    Lead,
    judge_ratio,
    methods_of,
    style_of,
)
from splitmerge_cli.papers.verdicts import Verdict, by_sign
from splitmerge_cli.runs.store.read import Run

OWN = "paired_sequential"
"""The form of LSHSM that is compared."""
ASIDE: dict[str, Any] = {"textcoords": "offset points", "ha": "right", "va": "center", "fontsize": 6.5}
"""Looks of a word in place of marks."""
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
    claims = {c.metric: c for c in published_claims("lshsm-speed")}
    verdicts = []
    for other in ("sdds", "rgsm"):
        for start in starts:
            leads = [x for each in _leads(climbs, start, other).values() for x in each]
            verdicts.append(judge_ratio(claims[f"times_faster_than_{other}"], leads, STARTS[start]))
    for other in ("sdds", "sams"):
        for start in starts:
            verdicts.append(_growth(claims["gain_grows_with_N"], climbs, start, other))
    return Drawing(picture_speed(table), table, verdicts, notes)


def picture_speed(numbers: pd.DataFrame) -> Figure:
    """A panel for each start; a row for each kind of data and size, a mark for each sampler."""
    cells = sorted(set(numbers[["components", "D", "N"]].itertuples(index=False, name=None)))
    present = set(numbers["method"])
    methods = [method for method in METHODS if method in present]
    starts = [start for start in STARTS if (numbers["start"] == start).any()]
    size = (FULL, 0.29 * len(cells) + 1.0)
    figure, axes = plt.subplots(1, len(starts), figsize=size, sharex=True, sharey=True, squeeze=False)
    for ax, start in zip(axes[0], starts, strict=True):
        here = numbers[numbers["start"] == start]
        for y, cell in enumerate(cells):
            _draw(ax, y, here[(here[["components", "D", "N"]] == cell).all(axis=1)], methods)
        for y in range(0, len(cells) + 1):
            kinds = [cell[:2] for cell in cells[max(y - 1, 0) : y + 1]]
            if len(set(kinds)) > 1:
                ax.axhline(y - 0.5, color="#999999", linewidth=0.7)
        ax.set(xscale="log", xlabel="seconds to the level", title=f"start: {STARTS[start].removeprefix('from ')}")
        ax.set_ylim(len(cells) - 0.5, -0.5)
        ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        ax.grid(True, axis="x")
    axes[0][0].set_yticks(range(len(cells)), [f"{K} clusters, D = {D}, N = {N:,}" for K, D, N in cells])
    never = entry(
        color="#444444", marker="o", markerfacecolor="white", linestyle="", label="hollow: not within the time"
    )
    legend(figure, [*(entry(label=METHODS[method], **mark_alone(style_of(method))) for method in methods), never])
    return figure


def _count_text(least: int, most: int) -> str:
    """How many data sets, in words."""
    if least < most:
        return f"{least} to {most} data sets"
    return f"{most} data sets" if most > 1 else "one data set"


def _draw(ax: Axes, row: int, table: pd.DataFrame, methods: Sequence[str]) -> None:
    """Draw the samplers' median times on one kind of data at a height, one below the other."""
    if table.empty:
        return
    budget = table["budget"].iloc[0]
    ax.plot([budget] * 2, [row - 0.45, row + 0.45], color="#999999", linewidth=1.2, zorder=1)
    if table["seconds"].isna().all():
        ax.annotate("none better than the start", (budget, row), (-4, 0), **ASIDE)
        return
    for place, method in enumerate(methods):
        seconds = float(table.loc[table["method"] == method, "seconds"].median())
        y = row + 0.23 * (place - (len(methods) - 1) / 2)
        look = style_of(method)
        ax.plot(min(seconds, budget), y, zorder=3, **(hollow(look) if np.isinf(seconds) else mark_alone(look)))


def _leads(climbs: Climbs, start: str, other: str) -> dict[Cell, list[Lead]]:
    """LSHSM against another sampler, by cell of the grid."""
    cells = sorted({on for on, s, _ in climbs.chains if s == start})
    leads_by_cell = {cell: climbs.leads(cell, start, OWN, other, "seconds") for cell in cells}
    return {cell: leads for cell, leads in leads_by_cell.items() if leads}


def _plainly(climbs: Climbs, starts: Sequence[str], methods: Sequence[str]) -> str:
    """Where LSHSM reaches the level before the others, and where not."""
    parts = []
    for start in starts:
        shares = []
        for other in methods:
            told = [x for each in _leads(climbs, start, other).values() for x in each if not x.lower]
            if other != OWN and told:
                shares.append(f"{METHODS[other]} on {sum(x.ahead for x in told)} of {len(told)}")
        parts.append(f"{STARTS[start]} before {', '.join(shares)}")
    return f"LSHSM reaches the level first, of the data sets on which either does: {'; '.join(parts)}."


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
