"""Table 5: the share of proposals accepted, for every start, compared with the published values."""

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from splitmerge_cli.analysis.plots.style import FULL, colour_of, footnote, title_of
from splitmerge_cli.diagnostics.intervals import geometric_interval, leave_one_out
from splitmerge_cli.diagnostics.restarts import mean_and_spread
from splitmerge_cli.papers.arm import tables
from splitmerge_cli.papers.arm.runs import (
    LENGTH,
    STARTS,
    Cells,
    describe_networks,
    describe_restarts,
    is_stand_in,
    level_title,
    levels,
    name_networks,
    sort_levels,
    starts,
    value_of,
)
from splitmerge_cli.papers.claims import Claim, published_claims
from splitmerge_cli.papers.drawing import Drawing
from splitmerge_cli.papers.verdicts import (
    Estimate,
    Verdict,
    by_bound,
    by_factor,
    by_sign,
    jackknife,
    judge_interval,
    no_run,
)
from splitmerge_cli.runs.store.read import Run

TABLE5 = ("sm", "bsm", "sarm", "arm")
PAIRS = {"arm": ("above_sarm", "sarm"), "sarm": ("above_bsm", "bsm"), "bsm": ("above_sm", "sm")}
"""Claim of the paper on each sampler, and the sampler that it is compared with."""


def table5(runs: Sequence[Run]) -> Drawing:
    """Acceptance of all variants, and its ratio of ARM to sARM."""
    cells, claims = Cells(runs), published_claims("arm-table5")
    rates = {
        (cell.level, cell.start, cell.sampler): 100 * cell.acceptance()
        for cell in cells.cells.values()
        if cell.sampler in TABLE5
    }
    notes = (
        f"{describe_networks(runs)}. Accepted of all proposals of a split or merge: mean ± standard deviation over "
        f"restarts ({describe_restarts(runs)}). Grey: the paper. Right: acceptance of ARM over that of sARM, with 95 % "
        "intervals by leaving out one restart of both at a time; hollow: the paper. The paper's numbers stand in the "
        "rows of the start under which the claim is judged: one block for SM, 20 random blocks for the others."
    )
    rows = [(*key, k, rate) for key, each in rates.items() for k, rate in enumerate(each)]
    numbers = pd.DataFrame(rows, columns=[*KEY, "restart", "acceptance_percent"])
    verdicts = name_networks(runs, _table5_verdicts(runs, rates, claims))
    return Drawing(picture_table5(numbers), numbers, verdicts, notes)


def picture_table5(numbers: pd.DataFrame) -> Figure:
    """The table, and at its right the ratios of ARM to sARM."""
    claims = published_claims("arm-table5")
    rates = {key: rows.to_numpy() for key, rows in numbers.groupby(KEY, sort=False)["acceptance_percent"]}
    kept_starts = [start for start in STARTS if (numbers["start"] == start).any()]
    blocks = []
    for start in kept_starts:
        rows: dict[str, list[tables.Entry]] = {}
        reading = f"start: {STARTS[start]}"
        for level in sort_levels(numbers["level"]):
            printed = [value_of(claims, level, sampler, "acceptance_percent") for sampler in TABLE5]
            here = [rates.get((level, start, sampler), np.array([np.nan])) for sampler in TABLE5]
            most = max((x.mean() for x in here if np.isfinite(x).all()), default=np.nan)
            rows[level] = [
                tables.Entry(
                    tables.plus_minus(*mean_and_spread(x)),
                    tables.format_published(published) if published and published.reading == reading else "",
                    bool(x.mean() == most),
                )
                for published, x in zip(printed, here, strict=True)
            ]
        blocks.append(tables.Block(reading, rows))
    figure = plt.figure(figsize=(FULL, tables.ROW * tables.height(blocks) + 0.7))
    left, right = figure.subplots(1, 2, width_ratios=[5.2, 2.0])
    tables.draw_table(left, blocks, [("acceptance × 100", sampler) for sampler in TABLE5], label=0.17)
    _draw_ratios(right, blocks, rates, claims, kept_starts)
    footnote(
        figure,
        "Mean ± standard deviation over restarts; grey, hollow: the paper. Right: 95 % intervals.",
    )
    return figure


KEY = ["level", "start", "sampler"]


Rates = dict[tuple[str, str, str], Any]
"""Acceptance in percent of every restart, by level, start and sampler."""


def estimate_ratio(above: Any, below: Any) -> Estimate:
    """Return the ratio of two means, with the interval by leaving out one restart of both at a time."""
    n = min(len(above), len(below))
    whole, without = leave_one_out(lambda kept: float(above[kept].mean() / below[kept].mean()), n)
    return jackknife(whole, without, geometric_interval, "restarts")


def _draw_ratios(
    ax: Axes, blocks: Sequence[tables.Block], rates: Rates, claims: Sequence[Claim], kept_starts: Sequence[str]
) -> None:
    """Acceptance of ARM over sARM, next to the rows of the table."""
    y = 1.6
    for block, start in zip(blocks, kept_starts, strict=True):
        y += tables.LINK
        for level in block.rows:
            if (level, start, "arm") in rates and (level, start, "sarm") in rates:
                ratio, low, high = estimate_ratio(rates[level, start, "arm"], rates[level, start, "sarm"]).interval
                ax.plot([low, high], [y + 0.5] * 2, color=colour_of("arm"), linewidth=1.3)
                ax.plot(ratio, y + 0.5, "o", color=colour_of("arm"), markersize=3.5)
            paper = [value_of(claims, level, sampler, "acceptance_percent") for sampler in ("arm", "sarm")]
            if paper[0] and paper[1] and start == kept_starts[0]:
                ax.plot(paper[0].value / paper[1].value, y + 0.5, "D", color="#777777", markerfacecolor="white")
            y += 1
    ax.axvline(1, color="#999999", linewidth=0.8, zorder=0)
    ax.set(ylim=(tables.height(blocks), 0), xscale="log", xlabel="ARM / sARM")
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.grid(True, axis="x")
    low, high = ax.get_xlim()
    ax.set_xlim(min(low, 0.5), max(high, 2.0))
    ax.set_xticks([tick for tick in (0.2, 0.5, 1, 2, 5, 10, 20) if min(low, 0.5) <= tick <= max(high, 2.0)])
    ax.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    ax.xaxis.set_minor_locator(plt.NullLocator())


def _table5_verdicts(runs: Sequence[Run], rates: Rates, claims: Sequence[Claim]) -> list[Verdict]:
    cells, verdicts = Cells(runs), []
    names = {level.partition(" ")[0]: level for level in levels(runs)}
    for claim in claims:
        if claim.metric == "below_half_percent":
            verdicts += _judge_largest(claim, rates, starts(runs))
            continue
        # a generated network stands for the claim on its own, where that is in words
        level = claim.data if not is_stand_in(runs) else names.get(claim.data.partition(" ")[0], "")
        for start in starts(runs):
            rates_of_claim = rates.get((level, start, claim.sampler))
            cell = cells.find(level, start, claim.sampler)
            if rates_of_claim is None or cell is None:
                continue
            words = f"start: {STARTS[start]}"
            if claim.metric.startswith("times_"):
                against = rates.get((level, start, claim.metric.removeprefix("times_")))
                if against is not None:
                    verdicts.append(_judge_times(claim, rates_of_claim, against, words))
                continue
            if claim.metric == "acceptance_percent":
                if not is_stand_in(runs):
                    note = "" if cell.length >= LENGTH else f"; {cell.length:,} of the paper's {LENGTH:,} iterations"
                    verdicts.append(by_factor(claim, rates_of_claim, words, note, unit="restarts"))
                continue
            other = PAIRS[claim.sampler][1]
            against = rates.get((level, start, other))
            if against is not None:
                n = min(len(rates_of_claim), len(against))
                ratio, low, high = estimate_ratio(rates_of_claim, against).interval
                what = f"{title_of(claim.sampler)} - {title_of(other)}, in percent; "
                what += f"ratio {ratio:.2f} [{low:.2f}, {high:.2f}]"
                verdicts.append(by_sign(claim, {what: rates_of_claim[:n] - against[:n]}, words, unit="restarts"))
    return verdicts


def _judge_times(claim: Claim, shares: Any, against: Any, reading: str) -> Verdict:
    """Judge how many times the acceptance of another variant a rate is: at least so many, or about as many; a restart
    of both is left out at a time."""
    n = min(len(shares), len(against))
    if min(np.count_nonzero(shares[:n]), np.count_nonzero(against[:n])) < 2:
        return no_run(claim, "fewer than two restarts accepted any", claim.rule, reading)
    least, most = claim.tolerance, np.inf
    bounds = f"at least {claim.tolerance:g}"
    if claim.rule == "factor":
        least, most = claim.value / claim.tolerance, claim.value * claim.tolerance
        bounds = f"within a factor {claim.tolerance:g} of {claim.value:g}"
    ratio = estimate_ratio(shares, against)
    return judge_interval(
        claim, ratio, least, most, f"ratio of the shares accepted; rule: {bounds}", claim.rule, reading
    )


def _judge_largest(claim: Claim, rates: Rates, kept_starts: Sequence[str]) -> list[Verdict]:
    """The largest rate of a sampler over the networks, by start: at most the claim's tolerance."""
    verdicts = []
    for start in kept_starts:
        here = {level: x for (level, begun, sampler), x in rates.items() if (begun, sampler) == (start, claim.sampler)}
        if here:
            level = max(here, key=lambda name: float(np.mean(here[name])))
            note = f"; largest of {len(here)} networks: {level_title(level)}"
            verdicts.append(by_bound(claim, here[level], f"start: {STARTS[start]}", note, unit="restarts"))
    return verdicts
