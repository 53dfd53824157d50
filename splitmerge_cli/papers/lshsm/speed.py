"""What LSHSM saves (Luo & Shrivastava 2018): probabilities of collision that its cache served (section 4.3.1), and time
to the best log joint against N, D and the number of clusters: five times faster?"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from splitmerge_cli.analysis.plots.style import FULL, REFERENCE, entry, hollow, legend, mark_alone, powers
from splitmerge_cli.papers.claims import Claim, published_claims
from splitmerge_cli.papers.drawing import Drawing
from splitmerge_cli.papers.lshsm.runs import (
    METHODS,
    STARTS,
    TOLERANCE,
    Climbs,
    Lead,
    data_of,
    is_stand_in,
    judge_ratio,
    methods_of,
    style_of,
)
from splitmerge_cli.papers.verdicts import Verdict, by_sign, no_run, untestable
from splitmerge_cli.runs.store.read import Run

LOOKS = {"random": {"color": "#117733", "marker": "o"}, "singletons": {"color": "#E69F00", "marker": "s"}}
"""Colours and marks of the start states."""
TITLES = {"KDDCUP04Bio": "kdd_like for KDDCUP04Bio", "PubMed": "ohsumed23 for PubMed"}


def shares(runs: Sequence[Run]) -> pd.DataFrame:
    """The cache's counts in every run: columns data (what claims call it), N, start, K0, iterations, looked_up, served,
    pairs, share; by iterations."""
    rows = []
    for run in runs:
        size = run.summary["N"]
        start = run.config["init"]
        # of the only chain
        counts = {key: run.summary["cache"][key][0] for key in ("looked_up", "served", "pairs")}
        rows.append(
            {
                "data": data_of(run),
                "N": size,
                "start": start,
                "K0": size if start == "singletons" else run.config["K0"],
                "iterations": run.summary["iterations"][0],
                **counts,
                "share": counts["served"] / counts["looked_up"] if counts["looked_up"] else np.nan,
            }
        )
    return pd.DataFrame(rows).sort_values(["data", "start", "K0", "N", "iterations"], ignore_index=True)


def cache(runs: Sequence[Run]) -> Drawing:
    """Draw the share of collision probabilities that the cache served, against iterations."""
    table = shares(runs)
    claims = {c.data: c for c in published_claims("lshsm-cache")}
    generated = any(is_stand_in(run) for run in runs)
    room = max(run.config["sampler"]["cache"] for run in runs)
    notes = (
        "Share of the 1 − (1 − p^K)^L of equations 3 and 5 that were looked up and found, from the first iteration on; "
        f"one chain of LSHSM as printed, room for {room:,} pairs. The share depends on the start, the size of the "
        "clusters and the length of the run, none of which the paper gives."
    )
    # a verdict on each start's share; no run of a stated length can be compared
    verdicts = []
    for data, claim in claims.items():
        here = table[table["data"] == data]
        if here.empty:
            verdicts.append(no_run(claim))
        for (start, size), line in here.groupby(["start", "N"], sort=False):
            passed = line[line["share"] >= claim.value]
            when = (
                f"passes the published share by iteration {passed['iterations'].iloc[0]:,}"
                if len(passed)
                else f"is below the published share up to iteration {line['iterations'].iloc[-1]:,}"
            )
            words = "from singletons" if start == "singletons" else "from random clusters"
            reason = f"the paper gives neither the start nor the length of the run, and the data are others; it {when} "
            verdict = untestable(claim, [line["share"].iloc[-1]], reason, words, unit="chains")
            verdicts.append(replace(verdict, on=f"N = {size:,}"))
    return Drawing(picture_cache(table, generated), table, verdicts, notes)


def picture_cache(numbers: pd.DataFrame, generated: bool = False) -> Figure:
    """A panel for each data set; `generated`: data stand in for ohsumed23."""
    on = [data for data in TITLES if (numbers["data"] == data).any()]
    claims = {c.data: c for c in published_claims("lshsm-cache")}
    figure, axes = plt.subplots(1, len(on), figsize=(FULL, 2.7), sharey=True, squeeze=False)
    for ax, data in zip(axes[0], on, strict=True):
        here = numbers[numbers["data"] == data]
        fewest = here.groupby("start")["K0"].min()
        for (start, K0, _), line in here.groupby(["start", "K0", "N"], sort=False):
            dashes = "--" if fewest[start] < K0 else "-"
            ax.plot(line["iterations"], line["share"], markersize=3.5, linestyle=dashes, **LOOKS[start])
        ax.axhline(claims[data].value, color=REFERENCE, linewidth=0.9, linestyle=(0, (2, 2)))
        sizes = [
            f"{K0:,} {'singletons' if start == 'singletons' else f'random clusters of {size:,}'}"
            for start, K0, size in here[["start", "K0", "N"]].drop_duplicates().itertuples(index=False)
        ]
        ax.set_title("generated, for PubMed" if generated and data == "PubMed" else TITLES[data], pad=16)
        ax.text(0, 1.03, "; ".join(sizes), transform=ax.transAxes, fontsize=7, color="#444444")
        ax.set(xscale="log", ylim=(0, 1), xlabel="iterations")
        ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{100 * y:g} %"))
        powers(ax.xaxis)
        ax.xaxis.set_minor_locator(NullLocator())
        ax.margins(x=0.08)
    axes[0][0].set_ylabel("served from the cache")
    key = [
        entry(markersize=3.5, label=f"from {words}", **LOOKS[start])
        for start, words in (("random", "random clusters"), ("singletons", "singletons"))
    ]
    printed = entry(color=REFERENCE, linewidth=0.9, linestyle=(0, (2, 2)), label="printed in the paper")
    legend(figure, [*key, printed])
    return figure


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
    by_cell = dict(list(numbers.groupby(["start", "components", "D", "N"])))
    for ax, start in zip(axes[0], starts, strict=True):
        for y, cell in enumerate(cells):
            _draw(ax, y, by_cell.get((start, *cell), numbers[:0]), methods)
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
