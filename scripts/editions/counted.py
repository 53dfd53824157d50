"""The numbers that count, on a kept picture: in the cells of a table, and on a strip below every picture.

A picture is drawn from the runs of one edition, and later editions judged some of its claims from other runs. The cells
of a table, and points that follow from what a later edition kept, then have the later numbers. All numbers that are no
cells stand on the strip, each on a scale of its own; below them stands in what the picture differs from the paper's.
"""

import re
from fnmatch import fnmatchcase
from textwrap import wrap
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.stats import beta

from splitmerge_cli.analysis.plots.style import FULL, REFERENCE
from splitmerge_cli.diagnostics.intervals import share_interval
from splitmerge_cli.papers.arm.runs import STARTS
from splitmerge_cli.papers.lshsm.runs import FORMS
from splitmerge_cli.papers.lshsm.table import SETTINGS
from splitmerge_cli.papers.sdds.running_means import STEPS, TRUE_K
from splitmerge_cli.papers.triadic.runs import CLAIMED
from splitmerge_cli.papers.verdict_tables import interval, number, with_unit
from splitmerge_cli.papers.verdicts import MIXED, NOT_REPRODUCED, REPRODUCED

CELLS = {
    "arm-table2": ("autocorrelation_time_*", "normalised_iterations"),
    "arm-table3": ("rhat_T*",),
    "arm-table4": ("rhat_T*",),
    "arm-table5": ("acceptance_percent",),
    "lshsm-table1": ("nmi", "accuracy"),
    "triadic-table1": tuple(CLAIMED.values()),
}
"""Metrics whose numbers are cells of a table."""
MARKED = {
    "arm-table3": "in the cells without ±",
    "arm-table4": "in the cells without ±",
    "lshsm-table1": "in the cells with † (of several editions)",
    "triadic-table1": "in the table with †",
}
"""How a table shows which of its cells are from later editions, where it does."""
POINTS = {
    "arm-fig6a": ("improves_with_chains",),
    "sdds-fig4": ("posterior_mean_K", "does_not_reach_K"),
    "triadic-table1": ("outperforms_*_by_iteration",),
}
"""Metrics whose verdicts keep what a figure has points for."""
POINTS_DRAWN = {
    "arm-fig6a": "ARM's points are theirs, without spreads, which were not kept; SM's line is of edition 2",
    "sdds-fig4": "the filled shares of the bottom row are theirs; lines are of edition 2, since later ones kept none",
}
"""The parts of a figure with `POINTS` that are drawn from later editions."""
AT_99 = "99 % interval"
"""Words in the reason of a verdict whose interval is at 99 %; all others are at 95 %."""
CLAIM = ["data", "sampler", "metric", "reading"]
"""Columns that name a verdict of a figure."""
LOWER_IS_BETTER = ("final_perplexity_minus_gibbs", "perplexity_minus_gibbs_by_iteration")
"""Metrics of rule `positive` that are published as the difference below 0."""
COLOURS = {REPRODUCED: "#1b7837", NOT_REPRODUCED: "#b2182b"}
"""Colours of verdicts; of all others grey."""
ROW, HEAD, FOOT = 0.13, 0.3, 0.12
"""Heights of a row and the head of the strip, and of a line below it, in inches."""
LEFT, RIGHT = 0.43, 0.54
"""Where the scales of a strip begin and end, as shares of its width."""
COLUMNS = (0, LEFT, RIGHT + 0.01, 0.835, 0.885)
"""Where the columns of a strip begin."""
LETTERS = 148
"""Most letters in a line of the foot."""
SHARE = re.compile(r"\bin (?P<k>[\d.]+) of (?P<n>\d+) [^()\d]*\(share in \[")
"""The number of units that show a claim, in a reason of rule `most`."""
BY_CHAINS = re.compile(r"(\d+): ([\d.]+)[,;]")
"""R-hat by number of chains, in a reason of arm-fig6a."""


def in_cells(name: str, claims: pd.DataFrame) -> pd.Series:
    """Whether the number of each claim is a cell of the table that the figure is."""
    return _is_of(CELLS.get(name, ()), claims)


def in_points(name: str, claims: pd.DataFrame) -> pd.Series:
    """Whether what the verdict on each claim rests on is drawn as points of the figure."""
    return _is_of(POINTS.get(name, ()), claims)


def _is_of(patterns: tuple[str, ...], claims: pd.DataFrame) -> pd.Series:
    """Whether the metric of each claim fits one of the patterns."""
    return claims["metric"].map(lambda metric: any(fnmatchcase(metric, one) for one in patterns)).astype(bool)


def settle(name: str, numbers: pd.DataFrame, claims: pd.DataFrame, units: pd.DataFrame) -> pd.DataFrame:
    """Return what a figure plots with the numbers of `claims`, which rest on other runs, in their cells and points;
    `units` as the edition keeps them."""
    numbers = numbers.copy()
    for claim in claims[in_cells(name, claims) | in_points(name, claims)].itertuples():
        same = (units[CLAIM] == pd.Series({name: getattr(claim, name) for name in CLAIM})).all(axis=1)
        values = units.loc[same, "value"].astype(float)
        if name in ("arm-table3", "arm-table4"):
            # without the spread over chains of the runs that are drawn
            cell = _of_start(numbers, claim) & (numbers["arm_iterations"] == int(claim.metric.removeprefix("rhat_T")))
            numbers.loc[cell, ["rhat", "spread", "short"]] = claim.ours, np.nan, False
        elif name == "arm-fig6a":
            for chains, rhat in BY_CHAINS.findall(claim.reason.partition("R-hat by S: ")[2]):
                point = (numbers["level"] == claim.data) & (numbers["sampler"] == "arm")
                point &= numbers["chains"] == int(chains)
                numbers.loc[point, ["rhat", "spread"]] = float(rhat), np.nan
        elif name == "sdds-fig4":
            share = share_of(claim)
            if share is None or claim.published != TRUE_K:
                continue
            point = (numbers["panel"] == "settled") & (numbers["sampler"] == claim.sampler)
            point &= numbers["K0"] == int(claim.data.rpartition("=")[2])
            point &= numbers["schedule"].map(STEPS) == claim.reading
            k, n = share if claim.metric == "posterior_mean_K" else (share[1] - share[0], share[1])
            numbers.loc[point, ["share", "low", "high", "data_sets"]] = k / n, *share_interval(k, n), n
        elif name == "arm-table5":
            cell = _of_start(numbers, claim)
            where = {"level": claim.data, "sampler": claim.sampler, "start": numbers.loc[cell, "start"].iloc[0]}
            numbers = pd.concat([numbers[~cell], pd.DataFrame({**where, "acceptance_percent": values})])
        elif name == "arm-table2":
            cell = (numbers["example"] == claim.data) & (numbers["sampler"] == claim.sampler)
            numbers.loc[cell, claim.metric] = np.nan
            where = {"example": claim.data, "sampler": claim.sampler}
            numbers = pd.concat([numbers, pd.DataFrame({**where, claim.metric: values})])
        elif name == "lshsm-table1":
            title, _, form = claim.reading.partition(", LSHSM: ")
            schedule, start = next(key for key, words in SETTINGS.items() if words == title)
            method = next((key for key, words in FORMS.items() if words == form), claim.sampler)
            wanted = {"schedule": schedule, "start": start, "method": method, "data": claim.data, "score": claim.metric}
            cell = (numbers[list(wanted)] == pd.Series(wanted)).all(axis=1)
            numbers.loc[cell, ["mean", "mark"]] = claim.ours, "†"
        else:
            against = claim.metric.removeprefix("outperforms_").removesuffix("_by_iteration")
            score = next((key for key, words in CLAIMED.items() if words == claim.metric), "ari")
            panel, method = ("mean", claim.sampler) if against == claim.metric else ("triadic minus row", against)
            wanted = {"panel": panel, "setting": "main", "method": method, "score": f"{score}_last"}
            cell = (numbers[list(wanted)] == pd.Series(wanted)).all(axis=1)
            numbers.loc[cell, ["value", "low", "high", "mark"]] = claim.ours, claim.low, claim.high, "†"
    return numbers


def _of_start(numbers: pd.DataFrame, claim: Any) -> pd.Series:
    """Whether rows of a table for networks agree with a claim in network, sampler and start."""
    start = next(key for key, words in STARTS.items() if words in claim.reading)
    wanted = {"level": claim.data, "sampler": claim.sampler, "start": start}
    return (numbers[list(wanted)] == pd.Series(wanted)).all(axis=1)


def tolerated_range(claim: Any) -> tuple[float, float]:
    """Return the ends of what a claim's rule tolerates; NaN if the rule is not one of an interval."""
    value, tolerance = claim.published, claim.tolerance
    if claim.rule == "mixing":
        return (-np.inf, MIXED) if value <= MIXED else (max(MIXED, value / tolerance), value * tolerance)
    if claim.rule == "factor":
        return value / tolerance, value * tolerance
    if claim.rule in ("distance", "exact"):
        return value - tolerance, value + tolerance
    if claim.metric in LOWER_IS_BETTER:
        return -np.inf, 0.0
    ends = {"at_most": (-np.inf, tolerance), "at_least": (tolerance, np.inf), "positive": (0.0, np.inf)}
    return ends.get(claim.rule, (np.nan, np.nan))


class StripRow(NamedTuple):
    """A row of the strip on its scale: number, interval, published number, ends of what the rule tolerates."""

    ours: float
    low: float
    high: float
    published: float
    ends: tuple[float, float]


def share_of(claim: Any) -> tuple[float, int] | None:
    """How many units show a claim of rule `most`, of how many; None of another rule."""
    found = SHARE.search(claim.reason) if claim.rule == "most" else None
    return None if found is None else (float(found["k"]), int(found["n"]))


def strip_row(claim: Any) -> StripRow:
    """Return a claim's row on its scale: its number, or under rule `most` the share of units that show it."""
    share = share_of(claim)
    if share is None:
        return StripRow(claim.ours, claim.low, claim.high, claim.published, tolerated_range(claim))
    k, n = share
    tail = 0.005 if AT_99 in claim.reason else 0.025
    low = float(beta.ppf(tail, k + 0.5, n - k + 0.5)) if k else 0.0
    high = float(beta.ppf(1 - tail, k + 0.5, n - k + 0.5)) if k < n else 1.0
    return StripRow(k / n, low, high, np.nan, (0.5, 1.0))


def strip(name: str, claims: pd.DataFrame, difference: str = "") -> Figure | None:
    """Draw the counted numbers of a figure that are not cells of its table, each on a scale of its own; or None.

    Columns of `claims` as in ``ID-claims.csv``, and `other`: whether the verdict rests on other runs than the picture.
    The last lines explain the marks and say in what the picture differs from the paper's, `difference`.
    """
    rows = list(claims[claims["counted"].astype(bool) & claims["ours"].notna() & ~in_cells(name, claims)].itertuples())
    if not rows:
        return None
    foot = wrap(f"{_describe_marks(rows)} {describe_runs(name, claims)}".strip(), LETTERS) + wrap(difference, LETTERS)
    below = (FOOT * len(foot) + 0.15) / ROW
    figure, ax = plt.subplots(figsize=(FULL, HEAD + ROW * (len(rows) + below)), layout="none")
    figure.subplots_adjust(0.01, 0, 0.99, 1)
    ax.set(xlim=(0, 1), ylim=(len(rows) + below, -HEAD / ROW))
    ax.axis("off")
    ax.plot([0, 1], [-1.9, -1.9], color="#999999", linewidth=0.6)
    heads = ("number that counts", "own scale", "here [interval]", "paper", "verdict")
    for x, words in zip(COLUMNS, heads, strict=True):
        ax.text(x, -0.7, words, va="center", fontsize=6.5, fontweight="bold")
    for y, claim in enumerate(rows):
        colour = COLOURS.get(claim.verdict, "#666666")
        place, on_scale = scale_of(claim), strip_row(claim)
        low, high = (np.clip(place(end), LEFT, RIGHT) for end in on_scale.ends)
        if np.isfinite(low):
            ax.fill_between([low, high], y + 0.1, y + 0.9, color="#dddddd", linewidth=0)
        if np.isfinite([on_scale.low, on_scale.high]).all():
            ax.plot([place(on_scale.low), place(on_scale.high)], [y + 0.5] * 2, color=colour, linewidth=1.3)
        ax.plot(place(on_scale.ours), y + 0.5, "o", color=colour, markersize=3)
        if np.isfinite(on_scale.published):
            ax.plot(place(on_scale.published), y + 0.5, "D", color=REFERENCE, markersize=3, markerfacecolor="none")
        here = f"{with_unit(claim.ours, claim.unit)} {interval(claim.low, claim.high)}"
        if (share := share_of(claim)) is not None:
            here += f"; {share[0]:g} of {share[1]}"
        title = f"{claim.data}, {claim.sampler}: {claim.metric.replace('_', ' ')}{mark_of(claim)}"
        printed = number(claim.published) if np.isfinite(claim.published) else ""
        words = (title, here, printed, claim.verdict)
        for x, text in zip(COLUMNS[:1] + COLUMNS[2:], words, strict=True):
            ax.text(x, y + 0.5, text, va="center", fontsize=6.2, color=colour if x == COLUMNS[-1] else REFERENCE)
    for line, text in enumerate(foot):
        ax.text(0, len(rows) + (0.09 + FOOT * (line + 0.5)) / ROW, text, va="center", fontsize=6.2, color="#444444")
    return figure


def _describe_marks(rows: list[Any]) -> str:
    """Explain the marks on the rows of a strip."""
    marks = {
        "Grey band: what the rule tolerates.": any(np.isfinite(strip_row(row).ends).any() for row in rows),
        "Diamond: the paper.": any(np.isfinite(strip_row(row).published) for row in rows),
        "k of n: so many show it; the line is their share.": any(share_of(row) is not None for row in rows),
        "†: from other runs than those drawn.": any(mark_of(row) == " †" for row in rows),
        "‡: from other runs, interval at 99 %.": any(mark_of(row) == " ‡" for row in rows),
    }
    return " ".join(words for words, is_there in marks.items() if is_there)


def mark_of(claim: Any) -> str:
    """The mark of a claim that rests on other runs than the picture."""
    return " ‡" if AT_99 in claim.reason else " †" if claim.other else ""


def describe_runs(name: str, claims: pd.DataFrame) -> str:
    """How many of the counted verdicts of a figure rest on other runs than those of the edition that is drawn, and what
    of it is drawn from these; empty where none does."""
    counted = claims[claims["counted"].astype(bool)]
    other = counted[counted["other"]]
    if other.empty:
        return ""
    text = f"{len(other)} of {len(counted)} verdicts rest{'s' * (len(other) == 1)} on runs of later editions"
    if in_cells(name, other).any():
        return f"{text}; their numbers stand {MARKED.get(name, 'in the cells')} and on this strip."
    if in_points(name, other).any():
        return f"{text}; {POINTS_DRAWN[name]}."
    return f"{text}, which kept units and no lines; what is drawn are the runs of edition 2."


def scale_of(claim: Any) -> Any:
    """The place on the strip of a value on the scale of its claim, which shows all of its numbers and edges; a ratio's
    scale is logarithmic, and a share's goes from 0 to 1."""
    logs = claim.rule in ("factor", "mixing") and min(claim.ours, claim.published) > 0
    values = [*strip_row(claim)[:-1], *strip_row(claim).ends] if share_of(claim) is None else [0.0, 1.0]
    change = (lambda x: np.log(np.maximum(x, 1e-300))) if logs else (lambda x: x)
    finite = [change(value) for value in values if np.isfinite(value) and (value > 0 or not logs)]
    least, most = min(finite), max(finite)
    margin = 0.12 * (most - least) or 1.0

    def place(value: float) -> float:
        share = (change(value) - least + margin) / (most - least + 2 * margin)
        return LEFT + (RIGHT - LEFT) * share

    return place
