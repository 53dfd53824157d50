"""Figures and the table of paper 004: van Rossum, Lin, Dubbeldam & van den Herik, Triadic Split-Merge Sampler."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Circle
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.figures import boxes, points
from splitmerge_cli.figures.base import Drawing, Entry
from splitmerge_cli.figures.claims import Verdict, by_majority, by_sign, holds, mean_interval, published
from splitmerge_cli.figures.style import COLOURS, REFERENCE, footnote
from splitmerge_cli.figures.triadic_runs import (
    CLAIMED,
    METHODS,
    METRICS,
    Scores,
    chosen,
    colour_key,
    number_of,
    reading,
    said_of_data,
)
from splitmerge_cli.figures.triadic_table import table1
from splitmerge_cli.results.read import Run
from splitmerge_cli.runs.sweep import dataset_of

# Figure 1: transitions


MOVES = {
    "dyadic": {"split": (1, 2), "merge": (2, 1)},
    "triadic": {"split_1_2": (1, 2), "merge_2_1": (2, 1), "split_2_3": (2, 3), "merge_3_2": (3, 2)},
}
"""The moves of a sampler: how many clusters its chosen points are in, before and after."""


def transitions(runs: Sequence[Run], method: str) -> pd.DataFrame:
    """Counts of the moves of a sampler.

    Returns
    -------
    pandas.DataFrame
        Columns method, set, chain, move, before, after, proposed, accepted, share (of the chain's proposals).
    """
    table = pd.concat([run.moves().assign(set=number_of(run)) for run in runs], ignore_index=True)
    table = table[table["move"].isin(MOVES[method])].assign(method=method)
    table["before"], table["after"] = zip(*table["move"].map(MOVES[method]), strict=True)
    table["share"] = table["proposed"] / table.groupby(["set", "chain"])["proposed"].transform("sum")
    return table[["method", "set", "chain", "move", "before", "after", "proposed", "accepted", "share"]]


def fig1(runs: Sequence[Run]) -> Drawing:
    """Transitions of the dyadic and the triadic sampler."""
    tables = {method: transitions(chosen(runs, "main", method), method) for method in MOVES}
    width, height, level = 51.5, 14.4, 7.0
    figure, ax = plt.subplots(figsize=(7.2, 7.2 * height / width + 0.35))
    ax.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    ax.axis("off")
    for method, places in [("dyadic", (3.2, 15.2)), ("triadic", (23.2, 35.7, 48.2))]:
        ax.text(places[0] - 2.4, height, METHODS[method], fontsize=8.5, va="top", color="#222222")
        for n, x in enumerate(places, start=1):
            _state(ax, x, level, n, 2 if method == "dyadic" else 3)
        for row in _summed(tables[method]).itertuples(index=False):
            _transition(ax, places[row.before - 1], places[row.after - 1], level, row.share, row.acceptance)
    ax.text(35.7, 0.5, "none between 1 and 3", ha="center", va="center", fontsize=7.5, color="#444444")
    for x in (23.2, 48.2):
        ax.plot([x, x], [1.7, level - 3.2], color="#bbbbbb", linewidth=0.8, linestyle=(0, (2, 2)))
    ax.plot([23.2, 48.2], [1.7, 1.7], color="#bbbbbb", linewidth=0.8, linestyle=(0, (2, 2)))
    ax.plot(35.7, 1.7, "x", color="#444444", markersize=6)
    footnote(
        figure,
        "States: clusters that the chosen two or three points are in. Arrows as wide as the share of proposals; "
        f"red: split, green: merge.\n{said_of_data(runs)}, $\\sigma_1$ = 1, lines integrated out; all "
        f"{runs[0].config['iterations']:,} iterations, from {runs[0].config['K0']} clusters.",
    )
    return Drawing(figure, pd.concat(tables.values(), ignore_index=True), _fig1_verdicts(tables, runs))


def _summed(table: pd.DataFrame) -> pd.DataFrame:
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
    for k, of in enumerate(group):
        ax.plot(x + 0.95 * (k - (items - 1) / 2), y - 0.95, "o", color=points.COLOURS[of], markersize=4.6, zorder=4)


def _transition(ax: Axes, start: float, end: float, y: float, share: float, acceptance: float) -> None:
    """One arrow with its numbers: splits above, merges below."""
    split = end > start
    colour, at = (boxes.SPLIT, y + 1.0) if split else (boxes.MERGE, y - 1.0)
    gap = 2.75 if split else -2.75
    boxes.arrow(ax, (start + gap, at), (end - gap, at), share, colour)
    text = f"proposed {_percent(share)}\naccepted {_percent(acceptance)}"
    place = y + 2.3 if split else y - 2.3
    va = "bottom" if split else "top"
    ax.text((start + end) / 2, place, text, ha="center", va=va, color=colour, fontsize=7.5, linespacing=1.25)


def _percent(share: float) -> str:
    return "–" if not np.isfinite(share) else f"{100 * share:.2g} %" if share < 0.0995 else f"{100 * share:.0f} %"


def _fig1_verdicts(tables: dict[str, pd.DataFrame], runs: Sequence[Run]) -> list[Verdict]:
    claims = {c.metric: c for c in published("triadic-fig1")}
    triadic = tables["triadic"]
    far = int(((triadic["before"] - triadic["after"]).abs() > 1).sum())
    total = int(triadic["proposed"].sum())
    verdicts = [
        holds(
            claims["no_direct_transition_between_1_and_3"],
            far,
            far == 0,
            f"{far} of {total:,} proposals; the sampler has no such move",
            reading(runs),
        )
    ]
    between = triadic[triadic["move"].isin(["split_2_3", "merge_3_2"])].groupby(["set", "chain"])["share"].sum()
    verdicts.append(
        by_majority(
            claims["share_of_steps_between_2_and_3"],
            between,
            between > 0.1,
            "more than a tenth of the proposals",
            reading(runs),
        )
    )
    asymmetry = {m: _asymmetry(t, *MOVES_OF_TWO[m]) for m, t in tables.items()}
    difference = (asymmetry["dyadic"] - asymmetry["triadic"]).dropna()
    rule = "|log acceptance of split / of merge|, dyadic 1-2 minus triadic 2-3"
    chains = sum(r.config["chains"] for r in chosen(runs, "main", "triadic"))
    metric = claims["less_asymmetry_than_dyadic"]
    verdicts.append(by_sign(metric, {rule: difference}, chains, reading(runs, "asymmetry of acceptance")))
    return verdicts


MOVES_OF_TWO = {"dyadic": ("split", "merge"), "triadic": ("split_2_3", "merge_3_2")}
"""Split and merge whose acceptance is compared."""


def _asymmetry(table: pd.DataFrame, split: str, merge: str) -> pd.Series:
    """How far apart the acceptance rates of a split and its merge are, as |log ratio|, by data set."""
    counts = table.groupby(["move", "set"])[["proposed", "accepted"]].sum()
    # a half keeps the logarithm of none finite
    log_rate = np.log(counts["accepted"] + 0.5) - np.log(counts["proposed"] + 1)
    return (log_rate[split] - log_rate[merge]).abs()


# Figure 2: two examples

LARGE = 10
"""Points of a true line from which on it counts in the search for errors."""
SIMILAR = 15.0
"""Two directions are similar up to this angle, in degrees."""
TRUE, CONCERNED = "#777777", "#dcdcdc"
"""Colours of a true line, and of the band behind one that the error concerns."""
BROKEN = 0.1
"""A line is broken if a second cluster has at least this share of its points."""


@dataclass(frozen=True)
class Errors:
    """The largest errors of each kind in one clustering of lines."""

    merged: tuple[int, ...]
    """The two true lines of the most similar direction that lie in one cluster; empty if there are none."""
    angle: float
    """Their angle in degrees; infinite if there are none."""
    broken: tuple[int, ...]
    """The true line with most points in a cluster that is not its first; empty if there is none."""
    second: int
    """How many those are."""
    clusters: int
    """How many clusters have points of that line."""


def direction(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unit vector along the points ``[n, 2]``: the first principal axis."""
    return np.linalg.svd(x - x.mean(axis=0), full_matrices=False)[2][0]


def errors_of(x: NDArray[np.float64], truth: ArrayLike, labels: ArrayLike) -> Errors:
    """Look for two true lines in one cluster, and for a true line in two clusters.

    Only true lines of at least `LARGE` points count. A line lies in the cluster that has most of its points.
    """
    truth, labels = np.asarray(truth), np.asarray(labels)
    lines = [k for k in range(truth.max() + 1) if (truth == k).sum() >= LARGE]
    counts = {k: np.bincount(labels[truth == k], minlength=labels.max() + 1) for k in lines}
    merged: tuple[int, ...] = ()
    angle = np.inf
    along = {k: direction(x[truth == k]) for k in lines}
    for a in lines:
        for b in lines:
            cosine = abs(float(along[a] @ along[b]))
            between = float(np.degrees(np.arccos(np.minimum(1.0, cosine))))
            if a < b and counts[a].argmax() == counts[b].argmax() and between < angle:
                merged, angle = (a, b), between
    seconds = {k: int(np.sort(counts[k])[-2]) if len(counts[k]) > 1 else 0 for k in lines}
    broken = max(lines, key=lambda k: seconds[k], default=None)
    if broken is None or seconds[broken] < BROKEN * counts[broken].sum():
        return Errors(merged, angle, (), 0, 0)
    return Errors(merged, angle, (broken,), seconds[broken], int((counts[broken] > 0).sum()))


def _last(run: Run) -> pd.DataFrame:
    """The last recorded partition of every chain."""
    return run.partitions(["chain", "iteration", "labels"]).sort_values("iteration").groupby("chain").last()


@dataclass(frozen=True)
class _Example:
    run: Run
    labels: NDArray[np.int32]
    errors: Errors


def _examples(runs: Sequence[Run]) -> list[_Example]:
    """The last state of every chain, with its errors."""
    found = []
    for run in runs:
        dataset = dataset_of(run)
        assert dataset.truth is not None
        for labels in _last(run)["labels"]:
            found.append(_Example(run, labels, errors_of(dataset.values, dataset.truth, labels)))
    return found


def fig2(runs: Sequence[Run]) -> Drawing:
    """Two last states of the triadic sampler, with typical errors."""
    examples = _examples(chosen(runs, "main", "triadic"))
    merged = min(examples, key=lambda e: e.errors.angle)
    others = [e for e in examples if number_of(e.run) != number_of(merged.run)] or examples
    broken = max(others, key=lambda e: e.errors.second)
    figure, axes = plt.subplots(1, 2, figsize=(7.2, 3.75))
    angle = f"two lines, {merged.errors.angle:.2g}° apart, in one cluster" if merged.errors.merged else "no such error"
    split = f"one line in {broken.errors.clusters} clusters" if broken.errors.broken else "no such error"
    plotted = []
    for ax, example, concerned, title in [
        (axes[0], merged, merged.errors.merged, angle),
        (axes[1], broken, broken.errors.broken, split),
    ]:
        _draw_example(ax, example, concerned)
        ax.set_title(f"set {number_of(example.run)}: {title}", fontsize=8)
        plotted.append(_plotted(example))
    handles = [
        Line2D([], [], color="#333333", linewidth=1.5, label="fitted to a cluster"),
        Line2D([], [], color=TRUE, linewidth=0.7, label="true line"),
        Line2D([], [], color=CONCERNED, linewidth=9, label="concerned by the error"),
        Line2D([], [], color=points.ALONE, marker="x", linestyle="", markersize=4, label="alone in its cluster"),
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=4, columnspacing=1.4)
    footnote(
        figure,
        f"Last states of the triadic sampler, of {len(examples)}: left, the smallest angle between two true lines in "
        f"one cluster; right (another set), most points of a true line in its second cluster. Lines of {LARGE} points "
        f"or more count. {said_of_data(runs)}, $\\sigma_1$ = 1, lines integrated out.",
    )
    return Drawing(figure, pd.concat(plotted, ignore_index=True), _fig2_verdicts(examples, runs))


def _draw_example(ax: Axes, example: _Example, concerned: Sequence[int]) -> None:
    dataset = dataset_of(example.run)
    x, truth = dataset.values, np.asarray(dataset.truth)
    for k in range(truth.max() + 1):
        own = x[truth == k]
        if len(own) > 1:
            along = (own - own.mean(axis=0)) @ direction(own)
            ends = own.mean(axis=0) + np.outer([along.min(), along.max()], direction(own))
            ax.plot(*ends.T, color=TRUE, linewidth=0.7, zorder=3)
            if k in concerned:
                ax.plot(*ends.T, color=CONCERNED, linewidth=9, zorder=1)
    points.scatter(ax, x, example.labels)
    points.fitted_lines(ax, x, example.labels, example.run.config["model"])
    ax.set_aspect("equal", adjustable="datalim")
    ax.grid(False)
    ax.set(xlabel="x", ylabel="y")


def _plotted(example: _Example) -> pd.DataFrame:
    dataset = dataset_of(example.run)
    frame = pd.DataFrame(dataset.values, columns=["x", "y"])
    return frame.assign(set=number_of(example.run), cluster=example.labels, truth=dataset.truth)


def _fig2_verdicts(examples: Sequence[_Example], runs: Sequence[Run]) -> list[Verdict]:
    claims = {c.metric: c for c in published("triadic-fig2")}
    n = len(examples)
    verdicts = []
    for metric, shows, what in [
        ("similar_lines_in_one_cluster", [e.errors.angle <= SIMILAR for e in examples], f"up to {SIMILAR:g}° apart"),
        ("line_in_several_clusters", [bool(e.errors.broken) for e in examples], f"{BROKEN:.0%} or more in a second"),
    ]:
        share = float(np.mean(shows))
        reason = f"{what}: in {sum(shows)} of {n} last states (rule for typical: a tenth at least)"
        verdict = holds(claims[metric], share, share >= 0.1, reason, reading(runs))
        verdicts.append(replace(verdict, chains=n))
    return verdicts


# Figure 3: violins

ORDER = ("dyadic", "neal8", "triadic")
SHORT_NAMES = ("dyadic", "auxiliary\nvariables", "triadic")


def fig3(runs: Sequence[Run]) -> Drawing:
    """Violins of the three scores of the three samplers."""
    scores = Scores([r for method in ORDER for r in chosen(runs, "main", method)])
    paper = {(c.sampler, c.metric): c.value for c in published("triadic-table1")}
    figure, axes = plt.subplots(1, len(METRICS), figsize=(7.2, 3.3), sharey=True)
    for ax, (score, name) in zip(axes, METRICS.items(), strict=True):
        means: list[str] = []
        for k, method in enumerate(ORDER):
            chains = scores.chains.loc[scores.chains["method"] == method, f"{score}_last"].to_numpy(float)
            colour = COLOURS[colour_key(method)]
            (body,) = ax.violinplot(chains, positions=[k], widths=0.85, showextrema=False)["bodies"]
            body.set(facecolor=colour, alpha=0.55, edgecolor=colour)
            mean, low, high = mean_interval(scores.by_set("main", method, f"{score}_last"))
            ax.plot([k, k], [low, high], color=REFERENCE, linewidth=1.2, zorder=3)
            ax.plot(k, mean, "o", color=REFERENCE, markersize=4, zorder=3)
            ax.plot(k + 0.22, paper[method, CLAIMED[score]], "D", color=REFERENCE, markerfacecolor="white", zorder=4)
            means.append(f"{mean:.3f}".removeprefix("0"))
        ax.set_title(name)
        ax.set_xticks(range(len(ORDER)), [f"{m}\n{n}" for m, n in zip(means, SHORT_NAMES, strict=True)])
        ax.set_xlim(-0.6, len(ORDER) - 0.4)
    axes[0].set_ylim(min(0.0, axes[0].get_ylim()[0]), 1.02)
    handles = [
        Line2D([], [], color=REFERENCE, marker="o", label="mean, 95 % interval over data sets"),
        Line2D([], [], color=REFERENCE, marker="D", markerfacecolor="white", linestyle="", label="mean in the paper"),
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=2)
    footnote(figure, f"Last states. {said_of_data(runs)}, $\\sigma_1$ = 1, lines integrated out. Numbers: means.")
    columns = ["method", "set", "chain", *(f"{score}_last" for score in METRICS)]
    return Drawing(figure, scores.chains[columns], _fig3_verdicts(scores, runs))


def _fig3_verdicts(scores: Scores, runs: Sequence[Run]) -> list[Verdict]:
    claims = {c.metric: c for c in published("triadic-fig3")}
    chains = sum(scores.count("main", method) for method in ORDER)
    verdicts = []
    for score in METRICS:
        rises = {f"{b} - {a}": scores.difference("main", b, a, f"{score}_last") for a, b in pairwise(ORDER)}
        verdicts.append(by_sign(claims[f"{CLAIMED[score]}_rises"], rises, chains, reading(runs)))
    gains = {score: scores.difference("main", "triadic", "dyadic", f"{score}_last") for score in METRICS}
    more = {f"gain in ARI - gain in {METRICS[s]}": gains["ari"] - gains[s] for s in ("purity", "rand")}
    verdicts.append(
        by_sign(claims["adjusted_rand_index_gains_most"], more, chains, reading(runs, "triadic over dyadic"))
    )
    return verdicts


FIGURES = [
    Entry(
        "triadic-fig1",
        "How often each move was proposed and accepted, counted in the runs of Table 1 (noise of standard deviation 1, "
        "lines integrated out), beside the dyadic sampler on the same data. There is no move between one and three "
        "clusters.",
        fig1,
    ),
    Entry(
        "triadic-fig2",
        "Points in the colours of the clusters of a last state, the line fitted to each cluster (posterior mean) over "
        "them, true lines thin and grey. Chosen by rule among the last states of all runs of Table 1: left, the "
        "smallest angle between two true lines in one cluster; right, another data set, most points of one true line "
        "in its second cluster. Lines of ten points or more count.",
        fig2,
    ),
    Entry(
        "triadic-fig3",
        "Distribution of the scores of the last states over data sets and seeds, for the setting that comes near the "
        "paper's numbers: noise of standard deviation 1, lines integrated out, 10,000 iterations from 30 clusters. One "
        "iteration of the auxiliary variable sampler updates every item.",
        fig3,
    ),
    Entry(
        "triadic-table1",
        "Mean scores over data sets and seeds. The paper gives neither the noise of the model nor the state that is "
        "scored; its formulas keep the lines as parameters, and the authors' scripts score the state of the highest "
        "likelihood after 10,000 iterations from 30 clusters. Literal: the ratios as printed, of SAMS with the q of "
        "random allocation (printed q) or without q (q = 1), the pair of a dyadic call drawn anew.",
        table1,
    ),
]
