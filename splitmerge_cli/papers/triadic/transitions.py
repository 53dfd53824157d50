"""Figure 1: how often each move was proposed and accepted."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from splitmerge_cli.analysis.plots import boxes, marks
from splitmerge_cli.analysis.plots.style import FULL, footnote
from splitmerge_cli.papers.claims import published_claims
from splitmerge_cli.papers.drawing import Drawing
from splitmerge_cli.papers.triadic.runs import METHODS, describe_data, name_data, name_sets, number_of, select_runs
from splitmerge_cli.papers.verdicts import by_majority, by_sign, holds
from splitmerge_cli.runs.store.read import Run

MOVES = {
    "dyadic": {"split": (1, 2), "merge": (2, 1)},
    "triadic": {"split_1_2": (1, 2), "merge_2_1": (2, 1), "split_2_3": (2, 3), "merge_3_2": (3, 2)},
}
"""The moves of a sampler: how many clusters its chosen points are in, before and after."""
TRIADIC = (3.2, 15.7, 28.2)
"""Where the states of the triadic sampler stand: on the left, as in the paper."""


def transitions(runs: Sequence[Run], method: str) -> pd.DataFrame:
    """Move counts of a sampler: columns method, set, chain, move, before, after, proposed, accepted, share (of the
    chain's proposals)."""
    table = pd.concat([run.moves().assign(set=number_of(run)) for run in runs], ignore_index=True)
    table = table[table["move"].isin(MOVES[method])].assign(method=method)
    table["before"], table["after"] = zip(*table["move"].map(MOVES[method]), strict=True)
    table["share"] = table["proposed"] / table.groupby(["set", "chain"])["proposed"].transform("sum")
    return table[["method", "set", "chain", "move", "before", "after", "proposed", "accepted", "share"]]


def fig1(runs: Sequence[Run]) -> Drawing:
    """Transitions of the triadic and the dyadic sampler."""
    tables = {method: transitions(select_runs(runs, "main", method), method) for method in MOVES}
    notes = (
        f"States: clusters that the chosen two or three points are in. {describe_data(runs)}, σ₁ = 1, lines "
        f"integrated out; all {runs[0].config['iterations']:,} iterations, from {runs[0].config['K0']} clusters."
    )
    numbers = pd.concat(tables.values(), ignore_index=True)
    claims = {c.metric: c for c in published_claims("triadic-fig1")}
    triadic = tables["triadic"]
    far = int(((triadic["before"] - triadic["after"]).abs() > 1).sum())
    total = int(triadic["proposed"].sum())
    verdicts = [
        holds(
            claims["no_direct_transition_between_1_and_3"],
            far,
            far == 0,
            f"{far} of {total:,} proposals; the sampler has no such move",
        )
    ]
    between = triadic[triadic["move"].isin(["split_2_3", "merge_3_2"])].groupby(["set", "chain"])["share"].sum()
    verdicts.append(
        by_majority(
            claims["share_of_steps_between_2_and_3"],
            between,
            between > 0.1,
            "more than a tenth of the proposals",
            unit=name_sets(runs),
            units=between.index.get_level_values("set").to_numpy(),
        )
    )
    asymmetry = {m: _asymmetry(t, *MOVES_OF_TWO[m]) for m, t in tables.items()}
    difference = (asymmetry["dyadic"] - asymmetry["triadic"]).dropna()
    rule = "|log acceptance of split / of merge|, dyadic 1-2 minus triadic 2-3"
    verdicts.append(by_sign(claims["less_asymmetry_than_dyadic"], {rule: difference}, unit=name_sets(runs)))
    return Drawing(picture_fig1(numbers), numbers, name_data(runs, verdicts), notes)


def picture_fig1(numbers: pd.DataFrame) -> Figure:
    """The states of both samplers, joined by arrows."""
    width, height, level = 51.5, 14.4, 7.0
    figure, ax = plt.subplots(figsize=(FULL, FULL * height / width + 0.2))
    ax.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    ax.axis("off")
    for method, places in [("triadic", TRIADIC), ("dyadic", (36.3, 48.3))]:
        ax.text(places[0] - 2.4, height, METHODS[method], fontsize=8.5, va="top", color="#222222")
        for n, x in enumerate(places, start=1):
            _state(ax, x, level, n, 2 if method == "dyadic" else 3)
        for row in _sum_moves(numbers[numbers["method"] == method]).itertuples(index=False):
            _transition(ax, places[row.before - 1], places[row.after - 1], level, row.share, row.acceptance)
    ax.text(TRIADIC[1], 0.5, "none between 1 and 3", ha="center", va="center", fontsize=7.5, color="#444444")
    for x in (TRIADIC[0], TRIADIC[-1]):
        ax.plot([x, x], [1.7, level - 3.2], color="#bbbbbb", linewidth=0.8, linestyle=(0, (2, 2)))
    ax.plot([TRIADIC[0], TRIADIC[-1]], [1.7, 1.7], color="#bbbbbb", linewidth=0.8, linestyle=(0, (2, 2)))
    ax.plot(TRIADIC[1], 1.7, "x", color="#444444", markersize=6)
    footnote(figure, "Arrows as wide as the share of proposals; to the right: splits, to the left: merges.")
    return figure


def _sum_moves(table: pd.DataFrame) -> pd.DataFrame:
    """Share of the proposals and share accepted of each move, over all data sets."""
    summed = table.groupby(["before", "after"], as_index=False)[["proposed", "accepted"]].sum()
    summed["share"] = summed["proposed"] / summed["proposed"].sum()
    summed["acceptance"] = summed["accepted"] / summed["proposed"].where(summed["proposed"] > 0)
    return summed


def _state(ax: Axes, x: float, y: float, clusters: int, items: int) -> None:
    """A state: the chosen points in their clusters."""
    ax.add_patch(Circle((x, y), 2.35, facecolor="#f4f4f2", edgecolor="#9a9a94", linewidth=0.9, zorder=2))
    ax.text(x, y + 0.75, str(clusters), ha="center", va="center", fontsize=11, color="#222222", zorder=4)
    group = [min(k, clusters - 1) for k in range(items)]
    for k, cluster in enumerate(group):
        colour, marker = marks.style_of(cluster)
        ax.plot(x + 0.95 * (k - (items - 1) / 2), y - 0.95, marker, color=colour, markersize=4.6, zorder=4)


def _transition(ax: Axes, start: float, end: float, y: float, share: float, acceptance: float) -> None:
    """One arrow with its numbers: splits above, merges below."""
    split = end > start
    colour, height = (boxes.SPLIT, y + 1.0) if split else (boxes.MERGE, y - 1.0)
    gap = 2.75 if split else -2.75
    boxes.arrow(ax, (start + gap, height), (end - gap, height), share, colour)
    text = f"{'split' if split else 'merge'}: proposed {_percent(share)}\naccepted {_percent(acceptance)}"
    place = y + 2.3 if split else y - 2.3
    va = "bottom" if split else "top"
    ax.text((start + end) / 2, place, text, ha="center", va=va, color=colour, fontsize=7.5, linespacing=1.25)


def _percent(share: float) -> str:
    return "–" if not np.isfinite(share) else f"{100 * share:.2g} %" if share < 0.0995 else f"{100 * share:.0f} %"


MOVES_OF_TWO = {"dyadic": ("split", "merge"), "triadic": ("split_2_3", "merge_3_2")}
"""Split and merge whose acceptance is compared."""


def _asymmetry(table: pd.DataFrame, split: str, merge: str) -> pd.Series:
    """How far apart the acceptance rates of a split and its merge are, as |log ratio|, by data set."""
    counts = table.groupby(["move", "set"])[["proposed", "accepted"]].sum()
    # a half keeps the logarithm of none finite
    log_rate = np.log(counts["accepted"] + 0.5) - np.log(counts["proposed"] + 1)
    return (log_rate[split] - log_rate[merge]).abs()
