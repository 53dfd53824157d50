"""The numbers that count, on a kept picture: in the cells of a table, and on a strip below every picture.

A picture is drawn from the runs of one edition, and later editions judged some of its claims from other runs. The cells
of a table then have the later numbers. All other numbers stand on the strip, each on a scale of its own.
"""

from fnmatch import fnmatchcase
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from splitmerge_cli.analysis.plots.style import FULL, REFERENCE
from splitmerge_cli.papers.arm.runs import STARTS
from splitmerge_cli.papers.lshsm.runs import FORMS
from splitmerge_cli.papers.lshsm.table import SETTINGS
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
CLAIM = ["data", "sampler", "metric", "reading"]
"""Columns that name a verdict of a figure."""
LOWER_IS_BETTER = ("final_perplexity_minus_gibbs", "perplexity_minus_gibbs_by_iteration")
"""Metrics of rule `positive` that are published as the difference below 0."""
COLOURS = {REPRODUCED: "#1b7837", NOT_REPRODUCED: "#b2182b"}
"""Colours of verdicts; of all others grey."""
ROW, HEAD, FOOT = 0.13, 0.3, 0.2
"""Heights of a row of the strip, of its head and of its last line, in inches."""
LEFT, RIGHT = 0.35, 0.52
"""Where the scales of a strip begin and end, as shares of its width."""


def in_cells(name: str, claims: pd.DataFrame) -> pd.Series:
    """Whether the number of each claim is a cell of the table that the figure is."""
    return (
        claims["metric"].map(lambda metric: any(fnmatchcase(metric, one) for one in CELLS.get(name, ()))).astype(bool)
    )


def settle(name: str, numbers: pd.DataFrame, claims: pd.DataFrame, units: pd.DataFrame) -> pd.DataFrame:
    """Return what a table plots with the numbers of `claims`, which rest on other runs, in their cells; `units` as the
    edition keeps them."""
    numbers = numbers.copy()
    for claim in claims[in_cells(name, claims)].itertuples():
        same = (units[CLAIM] == pd.Series({name: getattr(claim, name) for name in CLAIM})).all(axis=1)
        values = units.loc[same, "value"].astype(float)
        if name in ("arm-table3", "arm-table4"):
            # without the spread over chains of the runs that are drawn
            cell = _of_start(numbers, claim) & (numbers["arm_iterations"] == int(claim.metric.removeprefix("rhat_T")))
            numbers.loc[cell, ["rhat", "spread", "short"]] = claim.ours, np.nan, False
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
            numbers.loc[(numbers[list(wanted)] == pd.Series(wanted)).all(axis=1), "mean"] = claim.ours
        else:
            score = next(key for key, words in CLAIMED.items() if words == claim.metric)
            wanted = {"panel": "mean", "setting": "main", "method": claim.sampler, "score": f"{score}_last"}
            numbers.loc[(numbers[list(wanted)] == pd.Series(wanted)).all(axis=1), "value"] = claim.ours
    return numbers


def _of_start(numbers: pd.DataFrame, claim: Any) -> pd.Series:
    """Whether the rows of a table of the networks have the network, sampler and start of a claim."""
    start = next(key for key, words in STARTS.items() if words in claim.reading)
    wanted = {"level": claim.data, "sampler": claim.sampler, "start": start}
    return (numbers[list(wanted)] == pd.Series(wanted)).all(axis=1)


def tolerated(claim: Any) -> tuple[float, float]:
    """What the rule of a claim tolerates: the ends; NaN where a rule is not one of an interval."""
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


def strip(name: str, claims: pd.DataFrame) -> Figure | None:
    """Draw the counted numbers of a figure that are not cells of its table, each on a scale of its own; or None.

    Columns of `claims` as in ``ID-claims.csv``, and `other`: whether the verdict rests on other runs than the picture.
    """
    rows = list(claims[claims["counted"].astype(bool) & claims["ours"].notna() & ~in_cells(name, claims)].itertuples())
    if not rows:
        return None
    figure, ax = plt.subplots(figsize=(FULL, HEAD + ROW * len(rows) + FOOT), layout="none")
    figure.subplots_adjust(0.01, 0, 0.99, 1)
    ax.set(xlim=(0, 1), ylim=(len(rows) + FOOT / ROW, -HEAD / ROW))
    ax.axis("off")
    ax.plot([0, 1], [-1.9, -1.9], color="#999999", linewidth=0.6)
    heads = ("number that counts", "on its own scale", "here [interval]", "paper", "verdict")
    for x, words in zip((0, LEFT, RIGHT + 0.02, 0.80, 0.88), heads, strict=True):
        ax.text(x, -0.7, words, va="center", fontsize=6.5, fontweight="bold")
    for y, claim in enumerate(rows):
        colour = COLOURS.get(claim.verdict, "#666666")
        place = scale_of(claim)
        low, high = (np.clip(place(end), LEFT, RIGHT) for end in tolerated(claim))
        if np.isfinite(low):
            ax.fill_between([low, high], y + 0.1, y + 0.9, color="#dddddd", linewidth=0)
        if np.isfinite([claim.low, claim.high]).all():
            ax.plot([place(claim.low), place(claim.high)], [y + 0.5] * 2, color=colour, linewidth=1.3)
        ax.plot(place(claim.ours), y + 0.5, "o", color=colour, markersize=3)
        if np.isfinite(claim.published):
            ax.plot(place(claim.published), y + 0.5, "D", color=REFERENCE, markersize=3, markerfacecolor="none")
        ends = interval(claim.low, claim.high)
        title = f"{claim.data}, {claim.sampler}: {claim.metric.replace('_', ' ')}" + " †" * claim.other
        words = (title, f"{with_unit(claim.ours, claim.unit)} {ends}", number(claim.published), claim.verdict)
        for x, text in zip((0, RIGHT + 0.02, 0.80, 0.88), words, strict=True):
            ax.text(x, y + 0.5, text, va="center", fontsize=6.2, color=colour if x == 0.88 else REFERENCE)
    foot = f"Grey band: what the rule tolerates. Diamond: the paper. †: from other runs. {describe_runs(claims)}"
    ax.text(0, len(rows) + 0.6 * FOOT / ROW, foot.strip(), va="center", fontsize=6.2, color="#444444")
    return figure


def describe_runs(claims: pd.DataFrame) -> str:
    """How many of the counted verdicts rest on other runs than a picture draws; empty where none does."""
    counted = claims[claims["counted"].astype(bool)]
    n = int(counted["other"].sum())
    return f"{n} of {len(counted)} verdicts rest on other runs than those drawn." if n else ""


def scale_of(claim: Any) -> Any:
    """The place on the strip of a value on the scale of its claim, which shows all of its numbers and edges; a ratio's
    scale is logarithmic."""
    logs = claim.rule in ("factor", "mixing") and min(claim.ours, claim.published) > 0
    values = [claim.ours, claim.low, claim.high, claim.published, *tolerated(claim)]
    change = (lambda x: np.log(np.maximum(x, 1e-300))) if logs else (lambda x: x)
    finite = [change(value) for value in values if np.isfinite(value) and (value > 0 or not logs)]
    least, most = min(finite), max(finite)
    margin = 0.12 * (most - least) or 1.0

    def place(value: float) -> float:
        share = (change(value) - least + margin) / (most - least + 2 * margin)
        return LEFT + (RIGHT - LEFT) * share

    return place
