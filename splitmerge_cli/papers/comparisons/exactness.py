"""How far every sampler is from the posterior of small data, which is enumerated."""

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from splitmerge_cli.analysis.plots.style import FULL, REFERENCE, powers, title_of
from splitmerge_cli.config import RunSpecification
from splitmerge_cli.papers.drawing import Drawing
from splitmerge_cli.verify.command import records

ALL = ("all",)
NUMBERS = ("defect", "gibbs_defect", "tv", "gibbs_tv", "sampled_tv", "noise")
ROUNDING = 1e-17
"""Where deviations end that are rounding alone."""
MARKS: dict[tuple[str, str], dict[str, Any]] = {
    ("exact", "defect"): {"label": "exact, alone", "color": "#0072b2", "marker": "o"},
    ("exact", "gibbs_defect"): {"label": "exact, with a Gibbs scan", "color": "#0072b2", "marker": "o", "hollow": True},
    ("as_printed", "defect"): {"label": "as printed, alone", "color": "#d55e00", "marker": "D"},
    ("as_printed", "gibbs_defect"): {
        "label": "as printed, with a Gibbs scan",
        "color": "#d55e00",
        "marker": "D",
        "hollow": True,
    },
}
"""Marks by mode and column, from above to below in a row."""


def compute(spec: RunSpecification) -> pd.DataFrame:
    """Return the table of all samplers, with chains as long as the configuration's; see `deviations`."""
    return deviations(ALL, spec.iterations or 0)


def deviations(samplers: Sequence[str], iterations: int) -> pd.DataFrame:
    """Compare samplers with the enumerated posteriors of all small cases, exact and as printed, and by chains of so
    many iterations.

    A row for each form of a sampler on each case: sampler, model, case, form, mode; defect and gibbs_defect (max abs(pi
    P - pi), alone and with a Gibbs scan), tv and gibbs_tv (total variation of the stationary distribution), sampled_tv
    and noise (of a chain, and what an exact sampler shows by chance), verdict. NaN where a choice cannot be listed, or
    the kernel alone does not reach every state.
    """
    asked = {"sampler": ",".join(samplers), "mode": "both", "iterations": str(iterations)}
    table = pd.DataFrame(records(asked))
    for name in NUMBERS:
        # marks behind a number say how it was sampled
        table[name] = pd.to_numeric(table[name].str.rstrip("*+"), errors="coerce")
    return table[["sampler", "model", "case", "form", "mode", *NUMBERS, "verdict"]]


def draw(table: pd.DataFrame) -> Drawing:
    """Deviation of the kernels, and of sampled chains compared with chance for an exact one."""
    # a stored table has empty cells where there is no number
    table = table.assign(**{name: pd.to_numeric(table[name], errors="coerce") for name in NUMBERS})
    rows = sorted(table["sampler"].unique())
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(FULL, 0.24 * len(rows) + 1.1), sharey=True, width_ratios=[1.9, 1]
    )
    for step, ((mode, column), mark) in enumerate(MARKS.items()):
        _marks(left, table[table["mode"] == mode], column, rows, (step - 1.5) / 6, mark)
    for step, mode in enumerate(("exact", "as_printed")):
        of_mode = table[table["mode"] == mode].assign(ratio=lambda t: t["sampled_tv"] / t["noise"])
        mark = {**MARKS[mode, "defect"], "label": None}
        _marks(right, of_mode, "ratio", rows, (step - 0.5) / 3, mark)
    left.set(xscale="log", xlabel="max |πP − π| of the kernel", xlim=(ROUNDING / 3, 1))
    right.set(xscale="log", xlabel="TV of a chain / TV by chance")
    for ax in (left, right):
        powers(ax.xaxis)
        ax.grid(axis="y", linewidth=0.3)
    right.axvline(1, color=REFERENCE, linewidth=0.8, linestyle=(0, (4, 3)))
    left.set_yticks(range(len(rows)), [title_of(name) for name in rows])
    left.set_ylim(len(rows) - 0.4, -0.6)
    figure.legend(loc="outside upper left", ncols=4)
    exact, printed = (table[table["mode"] == mode] for mode in ("exact", "as_printed"))
    biased = printed[printed["verdict"].str.startswith("biased")]
    notes = (
        f"{len(table)} forms of {len(rows)} samplers on {table['case'].nunique()} small data sets of "
        f"{table['model'].nunique()} models. Exact: max |πP − π| is at most {exact['defect'].max():.1g} alone and "
        f"{exact['gibbs_defect'].max():.1g} with a scan, which is rounding. As printed: {len(biased)} of "
        f"{len(printed)} forms have another stationary distribution, at a total variation distance of up to "
        f"{biased['tv'].max():.2g} alone and {biased['gibbs_tv'].max():.2g} with a Gibbs scan. Right: total "
        "variation between the frequencies of a chain and the posterior, over what an exact sampler shows by chance."
    )
    return Drawing(figure, table, (), notes)


def _marks(ax: Axes, table: pd.DataFrame, column: str, rows: Sequence[str], shift: float, mark: dict[str, Any]) -> None:
    """Marks of all forms in the rows of their samplers."""
    measured = table[table[column].notna()]
    heights = np.array([rows.index(name) for name in measured["sampler"]]) + shift
    face = "none" if mark.get("hollow") else mark["color"]
    ax.scatter(
        np.maximum(measured[column], ROUNDING),
        heights,
        s=9,
        marker=mark["marker"],
        facecolors=face,
        edgecolors=mark["color"],
        linewidths=0.5,
        alpha=0.7,
        label=mark["label"],
    )
