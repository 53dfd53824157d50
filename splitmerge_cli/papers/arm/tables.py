"""Tables 3 and 4: R-hat between restarts, for every start, compared with the published values."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from splitmerge_cli.analysis.plots.style import FULL, footnote, title_of
from splitmerge_cli.diagnostics.intervals import leave_one_out, mean_interval
from splitmerge_cli.diagnostics.restarts import between_restarts
from splitmerge_cli.papers.arm.runs import (
    LENGTH,
    STARTS,
    Cells,
    Rhat,
    describe_networks,
    describe_restarts,
    is_stand_in,
    level_title,
    levels,
    name_networks,
    rhat_at,
    starts,
    unit_of,
    value_of,
)
from splitmerge_cli.papers.claims import Claim, published_claims
from splitmerge_cli.papers.drawing import Drawing
from splitmerge_cli.papers.verdicts import MIXED, Verdict, by_edge, by_majority, by_rhat, jackknife, no_run
from splitmerge_cli.runs.store.read import Run

ROW = 0.17
"""Height of a table's row, in inches."""
LINK = 1.3
"""Rows between two starts of a table, for the title of the second."""
RESTARTS = 4
"""Restarts that R-hat is taken over, as in the paper; acceptance is taken over all there are."""


class Entry(NamedTuple):
    """Cells of a table: ours, the published value in grey, and whether ours is the best of its row."""

    ours: str
    paper: str = ""
    best: bool = False


class Block(NamedTuple):
    """The rows of one start: entries by level and column."""

    title: str
    rows: Mapping[str, Sequence[Entry]]


def plus_minus(mean: float, spread: float, digits: int = 2) -> str:
    """Mean and spread; a dash where undefined."""
    if not np.isfinite(mean):
        return "–"
    digits = digits if mean < 9.995 else 1
    return f"{mean:.{digits}f}" + (f" ± {spread:.{digits}f}" if np.isfinite(spread) else "")


def format_published(claim: Claim | None) -> str:
    """A published value, for a narrow column without its spread."""
    return "" if claim is None else plus_minus(claim.value, np.nan)


def height(blocks: Sequence[Block]) -> float:
    """Rows that blocks take, with their titles and the head."""
    return sum(len(block.rows) + LINK for block in blocks) + 1.6


def draw_table(ax: Axes, blocks: Sequence[Block], heads: Sequence[tuple[str, str]], label: float = 0.145) -> None:
    """Draw blocks of rows under heads (group, sampler); a share `label` of the width is for the names of rows."""
    ax.set(xlim=(0, 1), ylim=(height(blocks), 0))
    ax.axis("off")
    width = (1 - label) / len(heads)
    places = [label + width * (k + 0.5) for k in range(len(heads))]
    for k, (group, sampler) in enumerate(heads):
        if group and (k == 0 or heads[k - 1][0] != group):
            span = sum(head[0] == group for head in heads)
            ax.text(label + width * (k + span / 2), 0.35, group, ha="center", va="center", fontsize=7.5)
        ax.text(places[k], 1.1, title_of(sampler), ha="center", va="center", fontsize=7.5)
    y = 1.6
    for block in blocks:
        ax.plot([0, 1], [y + 0.1, y + 0.1], color="#cccccc", linewidth=0.6)
        ax.text(0, y + 0.75, block.title, va="center", fontsize=7.2, fontweight="bold")
        y += LINK
        for level, entries in block.rows.items():
            # the notes say what is generated; the words would run into the numbers
            name = level_title(level).replace("(generated, ", "").replace(")", "")
            ax.text(0.01, y + 0.5, name, va="center", fontsize=7)
            for place, entry in zip(places, entries, strict=True):
                weight = "bold" if entry.best else "normal"
                right, left = place + 0.16 * width, place + 0.22 * width
                ax.text(right, y + 0.5, entry.ours, ha="right", va="center", fontsize=6.5, fontweight=weight)
                if entry.paper:
                    ax.text(left, y + 0.5, entry.paper, ha="left", va="center", fontsize=6.2, color="#777777")
            y += 1


# R-hat


class Table:
    """R-hats of all samplers at the cost of ARM, by level, start, sampler and length."""

    def __init__(self, runs: Sequence[Run], samplers: Sequence[str], fractions: Sequence[float]) -> None:
        self.runs, self.cells = runs, Cells(runs)
        self.levels, self.starts, self.samplers = levels(runs), starts(runs), samplers
        longest = max(cell.length for cell in self.cells.cells.values() if cell.sampler == "arm")
        self.lengths = [round(fraction * longest) for fraction in fractions]
        """Iterations of ARM at which R-hat is taken, the longest first; some starts may end before."""
        self.rhats: dict[tuple[str, str, str, int], Rhat] = {}
        for level, start, sampler in product(self.levels, self.starts, samplers):
            arm, cell = self.cells.find(level, start, "arm"), self.cells.find(level, start, sampler)
            for length in self.lengths:
                if arm and cell and length <= arm.length:
                    self.rhats[level, start, sampler, length] = rhat_at(cell, arm, length, RESTARTS)

    def gains(self, start: str, sampler: str, over: str, length: int) -> dict[str, float]:
        """Return the mean over chains of log(R-hat of `over`) minus log(R-hat of `sampler`), by level."""
        gain_by_level = {}
        for level in self.levels:
            ours, others = (self.rhats.get((level, start, name, length)) for name in (sampler, over))
            difference = np.log(others.values) - np.log(ours.values) if ours and others else np.empty(0)
            if np.isfinite(difference).any() and np.isfinite(gain := float(np.nanmean(difference))):
                gain_by_level[level] = gain
        return gain_by_level

    def frame(self) -> pd.DataFrame:
        """Every R-hat, with what was compared."""
        return pd.DataFrame(
            [
                {
                    "level": level,
                    "start": start,
                    "sampler": sampler,
                    "arm_iterations": length,
                    "iterations": round(rhat.iterations),
                    "gibbs_sweeps": round(rhat.sweeps),
                    "short": rhat.short,
                    "restarts": rhat.restarts,
                    "chains": len(rhat.values),
                    "defined": int(np.isfinite(rhat.values).sum()),
                    "rhat": rhat.mean,
                    "spread": rhat.spread,
                }
                for (level, start, sampler, length), rhat in self.rhats.items()
            ]
        )

    def judge(self, claims: Sequence[Claim], full: int) -> list[Verdict]:
        """Verdicts on the published numbers, for every start."""
        verdicts = []
        for claim in claims:
            if not claim.metric.startswith("rhat_T") or is_stand_in(self.runs):
                continue
            wanted = int(claim.metric.removeprefix("rhat_T"))
            length = round(max(self.lengths) * wanted / full)
            for start in self.starts:
                rhat = self.rhats.get((claim.data, start, claim.sampler, length))
                if rhat is None:
                    continue
                words = f"start: {STARTS[start]}"
                if length < wanted:
                    reason = f"{length:,} of the paper's {wanted:,} iterations"
                    verdicts.append(replace(no_run(claim, reason, "mixing", words), ours=rhat.mean))
                    continue
                note = "; the chains ended before the budget" if rhat.short else ""
                verdicts.append(by_rhat(claim, rhat.estimate, words, note))
        return verdicts

    def compare(self, claim: Claim, sampler: str, over: str) -> list[Verdict]:
        """Verdicts on "`sampler` mixes better than `over`", by start."""
        verdicts, unit = [], unit_of(self.runs)
        for start in self.starts:
            for length in self.lengths:
                gains = self.gains(start, sampler, over, length)
                if not gains:
                    continue
                samples, networks = np.array(list(gains.values())), [level.partition(" ")[0] for level in gains]
                listed = ", ".join(f"{level_title(level)} {gain:+.2f}" for level, gain in gains.items())
                what = f"log R-hat of {title_of(over)} minus that of {title_of(sampler)} above 0"
                rule = f"T = {length:,}: {what} ({listed})"
                words = ", ".join(
                    [f"start: {STARTS[start]}", *(["half the length"] if length < max(self.lengths) else [])]
                )
                verdicts.append(by_majority(claim, samples, samples, rule, words, unit=unit, units=networks, above=0.0))
        return verdicts

    def compare_over_restarts(self, claim: Claim, over: str) -> list[Verdict]:
        """Verdicts on "ARM mixes as well as `over`" on these networks, by start: over restarts, one left out at a time.

        The networks are all that the paper has, so that they are no sample; what varies are the restarts.
        """
        verdicts = []
        for start in self.starts:
            pairs = [
                [self.rhats.get((level, start, sampler, max(self.lengths))) for sampler in (over, "arm")]
                for level in self.levels
            ]
            told = [(other, cell) for other, cell in pairs if other is not None and cell is not None]
            if not told:
                continue
            restarts = min(min(other.restarts, cell.restarts) for other, cell in told)

            def gain(kept: NDArray[np.int64], told: Any = told) -> float:
                gains = [
                    np.log(between_restarts(other.draws[kept]).mean) - np.log(between_restarts(cell.draws[kept]).mean)
                    for other, cell in told
                ]
                return float(np.mean(gains))

            reason = f"log R-hat of {title_of(over)} minus that of ARM, mean over {len(told)} networks"
            estimated = jackknife(*leave_one_out(gain, restarts), mean_interval, "restarts")
            verdicts.append(by_edge(claim, estimated, reason, f"start: {STARTS[start]}"))
        return verdicts

    @property
    def footnote_text(self) -> str:
        """Footnote on the numbers."""
        any_short = any(rhat.short for rhat in self.rhats.values())
        short = " *: the chain ended before the budget did." if any_short else ""
        return (
            f"{describe_networks(self.runs)}. Gelman-Rubin R-hat of the log joint of every chain number s between "
            f"restarts, second half: mean ± standard deviation over s; {describe_restarts(self.runs)}. Every sampler "
            "is cut where it has cost as many Gibbs sweeps as T iterations of ARM. Bold: at most 1.2. Grey: the "
            f"paper, which names no start.{short}"
        )


TABLE3 = ("gibbs", "sm", "arm")
TABLE4 = ("gibbs", "sm", "bsm", "sarm", "arm")
FULL3 = 2 * LENGTH
CHANGE = 0.1
"""A change of log R-hat up to this is no large effect."""


def table3(runs: Sequence[Run]) -> Drawing:
    """R-hat at two lengths on down-sampled networks."""
    table, claims = Table(runs, TABLE3, (1.0, 0.5)), published_claims("arm-table3")
    verdicts = table.judge(claims, FULL3)
    words = {c.metric: c for c in claims if c.data == "networks"}
    verdicts += table.compare(words["lower_than_sm"], "arm", "sm")
    verdicts += table.compare(words["lower_than_gibbs"], "sm", "gibbs")
    verdicts += _doubling(table, words["doubling_changes_little"])
    numbers = table.frame()
    return Drawing(picture_table3(numbers), numbers, name_networks(runs, verdicts), table.footnote_text)


def picture_table3(numbers: pd.DataFrame) -> Figure:
    """The table, with the paper's values in grey."""
    return _draw_rhats(numbers, TABLE3, published_claims("arm-table3"), FULL3)


def _doubling(table: Table, claim: Claim) -> list[Verdict]:
    """Whether twice the iterations change R-hat of SM and ARM."""
    verdicts, unit = [], unit_of(table.runs)
    long, short = table.lengths
    for start in table.starts:
        changes = {
            (level, sampler): float(
                np.log(table.rhats[level, start, sampler, short].mean / table.rhats[level, start, sampler, long].mean)
            )
            for level in table.levels
            for sampler in ("sm", "arm")
            if (level, start, sampler, long) in table.rhats
        }
        changes = {where: change for where, change in changes.items() if np.isfinite(change)}
        if not changes:
            continue
        samples, networks = np.array(list(changes.values())), [level.partition(" ")[0] for level, _ in changes]
        rule = f"log R-hat of SM or ARM after {short:,} and after {long:,} iterations differ by at most {CHANGE:g}"
        words, agrees = f"start: {STARTS[start]}", np.abs(samples) <= CHANGE
        verdicts.append(by_majority(claim, samples, agrees, rule, words, unit=unit, units=networks))
    return verdicts


def _draw_rhats(numbers: pd.DataFrame, samplers: Sequence[str], claims: Sequence[Claim], full: int) -> Figure:
    """Draw R-hats as `Table.frame` has them; `full`: the paper's length for the longest of ours.

    Starts that have fewer lengths than the first stand below it, side by side.
    """
    lengths = numbers.groupby("start", sort=False)["arm_iterations"].agg(lambda x: tuple(sorted(set(x), reverse=True)))
    first = [start for start in STARTS if start in lengths and lengths[start] == lengths[lengths.index[0]]]
    others = [start for start in STARTS if start in lengths and start not in first]
    parts = [
        (
            [Block(f"start: {STARTS[start]}", _rhat_rows(numbers, [start], samplers, claims, full)) for start in first],
            [(f"T = {length:,}", sampler) for length in lengths[first[0]] for sampler in samplers],
        )
    ]
    if others:
        heads = [(f"T = {lengths[start][0]:,}, start: {STARTS[start]}", s) for start in others for s in samplers]
        parts.append(([Block("other starts", _rhat_rows(numbers, others, samplers, claims, full))], heads))
    heights = [height(blocks) for blocks, _ in parts]
    figure, axes = plt.subplots(
        len(parts), 1, figsize=(FULL, ROW * sum(heights) + 0.3), height_ratios=heights, squeeze=False
    )
    for ax, (blocks, heads) in zip(axes[:, 0], parts, strict=True):
        draw_table(ax, blocks, heads)
    short = "; *: the chains ended before the budget" if numbers["short"].any() else ""
    footnote(figure, f"Mean ± standard deviation over chains; bold: at most {MIXED:g}; grey: the paper{short}.")
    return figure


def _rhat_rows(
    numbers: pd.DataFrame, kept_starts: Sequence[str], samplers: Sequence[str], claims: Sequence[Claim], full: int
) -> dict[str, list[Entry]]:
    """Return the entries of every level: starts and lengths side by side."""
    longest = numbers["arm_iterations"].max()
    rows = {(r.level, r.start, r.sampler, r.arm_iterations): r for r in numbers.itertuples(index=False)}
    with_paper = not numbers["level"].str.contains("generated").any()
    entries: dict[str, list[Entry]] = {level: [] for level in dict.fromkeys(numbers["level"])}
    for (level, row), start in product(entries.items(), kept_starts):
        here = numbers.loc[numbers["start"] == start, "arm_iterations"]
        for length, sampler in product(sorted(set(here), reverse=True), samplers):
            r = rows.get((level, start, sampler, length))
            ours = "–" if r is None else plus_minus(r.rhat, r.spread) + "*" * r.short
            claim = value_of(claims, level, sampler, f"rhat_T{round(full * length / longest)}")
            # the paper's numbers stand at the start that its claims are judged under
            counts = with_paper and claim is not None and claim.reading == f"start: {STARTS[start]}"
            row.append(Entry(ours, format_published(claim) if counts else "", r is not None and r.rhat <= MIXED))
    return entries


def table4(runs: Sequence[Run]) -> Drawing:
    """R-hat of all variants."""
    table, claims = Table(runs, TABLE4, (1.0,)), published_claims("arm-table4")
    verdicts = table.judge(claims, LENGTH)
    for claim in claims:
        if claim.data == "networks":
            verdicts += table.compare_over_restarts(claim, claim.metric.removeprefix("at_most_"))
    numbers = table.frame()
    return Drawing(picture_table4(numbers), numbers, name_networks(runs, verdicts), table.footnote_text)


def picture_table4(numbers: pd.DataFrame) -> Figure:
    """The table, with the paper's values in grey."""
    return _draw_rhats(numbers, TABLE4, published_claims("arm-table4"), LENGTH)
