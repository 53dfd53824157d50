"""Tables 3 to 5: R-hat between restarts, and the share of proposals accepted, for every start, compared with the
published values."""

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

from splitmerge_cli.analysis.plots.style import FULL, colour_of, footnote, title_of
from splitmerge_cli.diagnostics.intervals import geometric_interval, leave_one_out, mean_interval
from splitmerge_cli.diagnostics.restarts import between_restarts, mean_and_spread
from splitmerge_cli.papers import verdicts as vd
from splitmerge_cli.papers.arm import runs as base
from splitmerge_cli.papers.claims import Claim, published_claims
from splitmerge_cli.papers.drawing import Drawing
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
            name = base.level_title(level).replace("(generated, ", "").replace(")", "")
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
        self.runs, self.cells = runs, base.Cells(runs)
        self.levels, self.starts, self.samplers = base.levels(runs), base.starts(runs), samplers
        longest = max(cell.length for cell in self.cells.cells.values() if cell.sampler == "arm")
        self.lengths = [round(fraction * longest) for fraction in fractions]
        """Iterations of ARM at which R-hat is taken, the longest first; some starts may end before."""
        self.rhats: dict[tuple[str, str, str, int], base.Rhat] = {}
        for level, start, sampler in product(self.levels, self.starts, samplers):
            arm, cell = self.cells.find(level, start, "arm"), self.cells.find(level, start, sampler)
            for length in self.lengths:
                if arm and cell and length <= arm.length:
                    self.rhats[level, start, sampler, length] = base.rhat_at(cell, arm, length, RESTARTS)

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

    def judge(self, claims: Sequence[Claim], full: int) -> list[vd.Verdict]:
        """Verdicts on the published numbers, for every start."""
        verdicts = []
        for claim in claims:
            if not claim.metric.startswith("rhat_T") or base.is_stand_in(self.runs):
                continue
            wanted = int(claim.metric.removeprefix("rhat_T"))
            length = round(max(self.lengths) * wanted / full)
            for start in self.starts:
                rhat = self.rhats.get((claim.data, start, claim.sampler, length))
                if rhat is None:
                    continue
                words = base.reading_of(start)
                if length < wanted:
                    reason = f"{length:,} of the paper's {wanted:,} iterations"
                    verdicts.append(replace(vd.no_run(claim, reason, "mixing", words), ours=rhat.mean))
                    continue
                note = "; the chains ended before the budget" if rhat.short else ""
                verdicts.append(vd.by_rhat(claim, rhat.estimate, words, note))
        return verdicts

    def compare(self, claim: Claim, sampler: str, over: str) -> list[vd.Verdict]:
        """Verdicts on "`sampler` mixes better than `over`", by start."""
        verdicts, unit = [], base.unit_of(self.runs)
        for start in self.starts:
            for length in self.lengths:
                gains = self.gains(start, sampler, over, length)
                if not gains:
                    continue
                samples, networks = np.array(list(gains.values())), [level.partition(" ")[0] for level in gains]
                listed = ", ".join(f"{base.level_title(level)} {gain:+.2f}" for level, gain in gains.items())
                what = f"log R-hat of {title_of(over)} minus that of {title_of(sampler)} above 0"
                rule = f"T = {length:,}: {what} ({listed})"
                words = base.reading_of(start) + ", half the length" * (length < max(self.lengths))
                verdicts.append(
                    vd.by_majority(claim, samples, samples, rule, words, unit=unit, units=networks, above=0.0)
                )
        return verdicts

    def compare_over_restarts(self, claim: Claim, over: str) -> list[vd.Verdict]:
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
            estimated = vd.jackknife(*leave_one_out(gain, restarts), mean_interval, "restarts")
            verdicts.append(vd.by_edge(claim, estimated, reason, base.reading_of(start)))
        return verdicts

    @property
    def footnote_text(self) -> str:
        """Footnote on the numbers."""
        any_short = any(rhat.short for rhat in self.rhats.values())
        short = " *: the chain ended before the budget did." if any_short else ""
        return (
            f"{base.describe_networks(self.runs)}. Gelman-Rubin R-hat of the log joint of every chain number s between "
            f"restarts, second half: mean ± standard deviation over s; {base.describe_restarts(self.runs)}. Every "
            "sampler is cut where it has cost as many Gibbs sweeps as T iterations of ARM. Bold: at most 1.2. Grey: "
            f"the paper, which names no start.{short}"
        )


TABLE3 = ("gibbs", "sm", "arm")
TABLE4 = ("gibbs", "sm", "bsm", "sarm", "arm")
FULL3 = 2 * base.LENGTH
CHANGE = 0.1
"""A change of log R-hat up to this is no large effect."""


def table3(runs: Sequence[Run]) -> Drawing:
    """R-hat at two lengths on down-sampled networks."""
    table, claims = Table(runs, TABLE3, (1.0, 0.5)), published_claims("arm-table3")
    verdicts = table.judge(claims, FULL3)
    words = {c.metric: c for c in claims if c.data == "networks"}
    verdicts += table.compare(words["lower_than_sm"], "arm", "sm")
    verdicts += table.compare(words["lower_than_gibbs"], "sm", "gibbs")
    # whether twice the iterations change R-hat of SM and ARM
    long, short = table.lengths
    rule = f"log R-hat of SM or ARM after {short:,} and after {long:,} iterations differ by at most {CHANGE:g}"
    for start in table.starts:
        pairs = [
            (level, table.rhats[level, start, sampler, short].mean / table.rhats[level, start, sampler, long].mean)
            for level, sampler in product(table.levels, ("sm", "arm"))
            if (level, start, sampler, long) in table.rhats
        ]
        changes = [(level.partition(" ")[0], float(np.log(ratio))) for level, ratio in pairs]
        if told := [change for change in changes if np.isfinite(change[1])]:
            networks, samples = zip(*told, strict=True)
            claim, agrees, unit = words["doubling_changes_little"], np.abs(samples) <= CHANGE, base.unit_of(runs)
            reading = base.reading_of(start)
            verdicts.append(vd.by_majority(claim, samples, agrees, rule, reading, unit=unit, units=networks))
    numbers = table.frame()
    return Drawing(picture_table3(numbers), numbers, base.name_networks(runs, verdicts), table.footnote_text)


def picture_table3(numbers: pd.DataFrame) -> Figure:
    """The table, with the paper's values in grey."""
    return _draw_rhats(numbers, TABLE3, published_claims("arm-table3"), FULL3)


def _draw_rhats(numbers: pd.DataFrame, samplers: Sequence[str], claims: Sequence[Claim], full: int) -> Figure:
    """Draw R-hats as `Table.frame` has them; `full`: the paper's length for the longest of ours.

    Starts that have fewer lengths than the first stand below it, side by side.
    """
    lengths = numbers.groupby("start", sort=False)["arm_iterations"].agg(lambda x: tuple(sorted(set(x), reverse=True)))
    first = [start for start in base.STARTS if start in lengths and lengths[start] == lengths[lengths.index[0]]]
    others = [start for start in base.STARTS if start in lengths and start not in first]
    blocks = [Block(base.reading_of(start), _rhat_rows(numbers, [start], samplers, claims, full)) for start in first]
    parts = [(blocks, [(f"T = {length:,}", sampler) for length in lengths[first[0]] for sampler in samplers])]
    if others:
        heads = [(f"T = {lengths[start][0]:,}, {base.reading_of(start)}", s) for start in others for s in samplers]
        parts.append(([Block("other starts", _rhat_rows(numbers, others, samplers, claims, full))], heads))
    heights = [height(blocks) for blocks, _ in parts]
    figure, axes = plt.subplots(
        len(parts), 1, figsize=(FULL, ROW * sum(heights) + 0.3), height_ratios=heights, squeeze=False
    )
    for ax, (blocks, heads) in zip(axes[:, 0], parts, strict=True):
        draw_table(ax, blocks, heads)
    short = "; *: the chains ended before the budget" if numbers["short"].any() else ""
    footnote(figure, f"Mean ± standard deviation over chains; bold: at most {vd.MIXED:g}; grey: the paper{short}.")
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
            claim = base.value_of(claims, level, sampler, f"rhat_T{round(full * length / longest)}")
            # the paper's numbers stand at the start that its claims are judged under
            counts = with_paper and claim is not None and claim.reading == base.reading_of(start)
            row.append(Entry(ours, format_published(claim) if counts else "", r is not None and r.rhat <= vd.MIXED))
    return entries


def table4(runs: Sequence[Run]) -> Drawing:
    """R-hat of all variants."""
    table, claims = Table(runs, TABLE4, (1.0,)), published_claims("arm-table4")
    verdicts = table.judge(claims, base.LENGTH)
    for claim in claims:
        if claim.data == "networks":
            verdicts += table.compare_over_restarts(claim, claim.metric.removeprefix("at_most_"))
    numbers = table.frame()
    return Drawing(picture_table4(numbers), numbers, base.name_networks(runs, verdicts), table.footnote_text)


def picture_table4(numbers: pd.DataFrame) -> Figure:
    """The table, with the paper's values in grey."""
    return _draw_rhats(numbers, TABLE4, published_claims("arm-table4"), base.LENGTH)


TABLE5 = ("sm", "bsm", "sarm", "arm")


def table5(runs: Sequence[Run]) -> Drawing:
    """Acceptance of all variants, and its ratio of ARM to sARM."""
    cells, claims = base.Cells(runs), published_claims("arm-table5")
    rates = {
        (cell.level, cell.start, cell.sampler): 100 * cell.acceptance()
        for cell in cells.cells.values()
        if cell.sampler in TABLE5
    }
    notes = (
        f"{base.describe_networks(runs)}. Accepted of all proposals of a split or merge: mean ± standard deviation "
        f"over restarts ({base.describe_restarts(runs)}). Grey: the paper. Right: acceptance of ARM over that of sARM, "
        "with 95 % intervals by leaving out one restart of both at a time; hollow: the paper. The paper's numbers "
        "stand in the rows of the start under which the claim is judged: one block for SM, 20 random blocks for the "
        "others."
    )
    rows = [(*key, k, rate) for key, each in rates.items() for k, rate in enumerate(each)]
    numbers = pd.DataFrame(rows, columns=[*KEY, "restart", "acceptance_percent"])
    verdicts = base.name_networks(runs, _table5_verdicts(runs, rates, claims))
    return Drawing(picture_table5(numbers), numbers, verdicts, notes)


def picture_table5(numbers: pd.DataFrame) -> Figure:
    """The table, and at its right the ratios of ARM to sARM."""
    claims = published_claims("arm-table5")
    rates = {key: rows.to_numpy() for key, rows in numbers.groupby(KEY, sort=False)["acceptance_percent"]}
    kept_starts = [start for start in base.STARTS if (numbers["start"] == start).any()]
    blocks = []
    for start in kept_starts:
        rows: dict[str, list[Entry]] = {}
        reading = base.reading_of(start)
        for level in base.sort_levels(numbers["level"]):
            printed = [base.value_of(claims, level, sampler, "acceptance_percent") for sampler in TABLE5]
            here = [rates.get((level, start, sampler), np.array([np.nan])) for sampler in TABLE5]
            most = max((x.mean() for x in here if np.isfinite(x).all()), default=np.nan)
            texts = [format_published(claim) if claim and claim.reading == reading else "" for claim in printed]
            rows[level] = [
                Entry(plus_minus(*mean_and_spread(x)), text, bool(x.mean() == most))
                for text, x in zip(texts, here, strict=True)
            ]
        blocks.append(Block(reading, rows))
    figure = plt.figure(figsize=(FULL, ROW * height(blocks) + 0.7))
    left, right = figure.subplots(1, 2, width_ratios=[5.2, 2.0])
    draw_table(left, blocks, [("acceptance × 100", sampler) for sampler in TABLE5], label=0.17)
    # acceptance of ARM over sARM, next to the rows of the table
    y = 1.6
    for block, start in zip(blocks, kept_starts, strict=True):
        y += LINK
        for level in block.rows:
            if (level, start, "arm") in rates and (level, start, "sarm") in rates:
                ratio, low, high = estimate_ratio(rates[level, start, "arm"], rates[level, start, "sarm"]).interval
                right.plot([low, high], [y + 0.5] * 2, color=colour_of("arm"), linewidth=1.3)
                right.plot(ratio, y + 0.5, "o", color=colour_of("arm"), markersize=3.5)
            paper = [base.value_of(claims, level, sampler, "acceptance_percent") for sampler in ("arm", "sarm")]
            if paper[0] and paper[1] and start == kept_starts[0]:
                right.plot(paper[0].value / paper[1].value, y + 0.5, "D", color="#777777", markerfacecolor="white")
            y += 1
    right.axvline(1, color="#999999", linewidth=0.8, zorder=0)
    right.set(ylim=(height(blocks), 0), xscale="log", xlabel="ARM / sARM")
    right.set_yticks([])
    right.spines["left"].set_visible(False)
    right.grid(True, axis="x")
    low, high = right.get_xlim()
    right.set_xlim(min(low, 0.5), max(high, 2.0))
    right.set_xticks([tick for tick in (0.2, 0.5, 1, 2, 5, 10, 20) if min(low, 0.5) <= tick <= max(high, 2.0)])
    right.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    right.xaxis.set_minor_locator(plt.NullLocator())
    footnote(figure, "Mean ± standard deviation over restarts; grey, hollow: the paper. Right: 95 % intervals.")
    return figure


KEY = ["level", "start", "sampler"]
Rates = dict[tuple[str, str, str], Any]
"""Acceptance in percent of every restart, by level, start and sampler."""


def estimate_ratio(above: Any, below: Any) -> vd.Estimate:
    """Return the ratio of two means, with the interval by leaving out one restart of both at a time."""
    n = min(len(above), len(below))
    whole, without = leave_one_out(lambda kept: float(above[kept].mean() / below[kept].mean()), n)
    return vd.jackknife(whole, without, geometric_interval, "restarts")


def _table5_verdicts(runs: Sequence[Run], rates: Rates, claims: Sequence[Claim]) -> list[vd.Verdict]:
    cells, verdicts = base.Cells(runs), []
    names = {level.partition(" ")[0]: level for level in base.levels(runs)}
    for claim, start in product(claims, base.starts(runs)):
        words = base.reading_of(start)
        if claim.metric == "below_half_percent":
            # the largest rate of a sampler over the networks
            here = {key[0]: rate for key, rate in rates.items() if key[1:] == (start, claim.sampler)}
            if here:
                level = max(here, key=lambda name: float(np.mean(here[name])))
                note = f"; largest of {len(here)} networks: {base.level_title(level)}"
                verdicts.append(vd.by_bound(claim, here[level], words, note, unit="restarts"))
            continue
        # a generated network stands for the claim on its own, where that is in words
        level = claim.data if not base.is_stand_in(runs) else names.get(claim.data.partition(" ")[0], "")
        shares, cell = rates.get((level, start, claim.sampler)), cells.find(level, start, claim.sampler)
        if shares is None or cell is None:
            continue
        if claim.metric == "acceptance_percent":
            if not base.is_stand_in(runs):
                is_short, made = cell.length < base.LENGTH, f"{cell.length:,} of the paper's {base.LENGTH:,}"
                note = f"; {made} iterations" if is_short else ""
                verdicts.append(vd.by_factor(claim, shares, words, note, unit="restarts"))
            continue
        # times_sarm, above_sarm
        other = claim.metric.partition("_")[2]
        against = rates.get((level, start, other))
        if against is None:
            continue
        if claim.metric.startswith("times_"):
            verdicts.append(_judge_times(claim, shares, against, words))
            continue
        n = min(len(shares), len(against))
        ratio, low, high = estimate_ratio(shares, against).interval
        what = f"{title_of(claim.sampler)} - {title_of(other)}, in percent; ratio {ratio:.2f} [{low:.2f}, {high:.2f}]"
        verdicts.append(vd.by_sign(claim, {what: shares[:n] - against[:n]}, words, unit="restarts"))
    return verdicts


def _judge_times(claim: Claim, shares: Any, against: Any, reading: str) -> vd.Verdict:
    """Judge how many times the acceptance of another variant a rate is: at least so many, or about as many; a restart
    of both is left out at a time."""
    n = min(len(shares), len(against))
    if min(np.count_nonzero(shares[:n]), np.count_nonzero(against[:n])) < 2:
        return vd.no_run(claim, "fewer than two restarts accepted any", claim.rule, reading)
    least, most = claim.tolerance, np.inf
    bounds = f"at least {claim.tolerance:g}"
    if claim.rule == "factor":
        least, most = claim.value / claim.tolerance, claim.value * claim.tolerance
        bounds = f"within a factor {claim.tolerance:g} of {claim.value:g}"
    ratio = estimate_ratio(shares, against)
    reason = f"ratio of the shares accepted; rule: {bounds}"
    return vd.judge_interval(claim, ratio, least, most, reason, claim.rule, reading)
