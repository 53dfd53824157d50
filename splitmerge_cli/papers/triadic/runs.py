"""The runs of van Rossum et al. 2018, their settings and the scores of their states; and single chains of the triadic
sampler: two last states with typical errors (Figure 2), and how often moves were proposed and accepted (Figure 1)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.analysis.plots import races, style
from splitmerge_cli.analysis.plots.races import option
from splitmerge_cli.diagnostics.intervals import share_interval
from splitmerge_cli.kinds.tables.plots import points
from splitmerge_cli.papers.claims import Claim, published_claims
from splitmerge_cli.papers.drawing import Drawing
from splitmerge_cli.papers.verdicts import Estimate, Samples, Verdict, by_edge, by_majority, holds
from splitmerge_cli.runs.initial import dataset_of
from splitmerge_cli.runs.store.read import Run


class Setting(NamedTuple):
    """Settings that the runs of one comparison share."""

    sigma1: float = 1.0
    noise: str = "known"
    conjugate: bool = True
    schedule: str = "move_only"
    timed: bool = False
    """Whether a time ends the chains, not a number of iterations."""


SETTINGS = {
    "main": Setting(),
    "main_scan": Setting(schedule="full_scan"),
    "main_timed": Setting(timed=True),
    "kept": Setting(conjugate=False),
    "kept_timed": Setting(conjugate=False, timed=True),
    "narrow": Setting(sigma1=0.1),
    "unknown": Setting(noise="nig"),
}
"""The settings of ``conf/experiment/triadic-table1.yaml``; as_printed runs have `main` and `kept`."""
WORDS = {
    "main": "sigma1 = 1, lines integrated out",
    "main_scan": "sigma1 = 1, lines integrated out, full Gibbs scan after each move",
    "main_timed": "sigma1 = 1, lines integrated out, equal time",
    "kept": "sigma1 = 1, lines kept",
    "kept_timed": "sigma1 = 1, lines kept, equal time",
    "narrow": "sigma1 = 0.1, lines integrated out",
    "unknown": "noise unknown, lines integrated out",
}
"""The settings in claims."""
TITLES = {name: words.replace("sigma1", "σ₁") for name, words in WORDS.items()}
TITLES |= {name: f"{TITLES[name]}: {{budget:g}} s" for name in ("main_timed", "kept_timed")}
TITLES["kept"] += ", as in the paper"
TITLES["unknown"] = TITLES["unknown"].replace("unknown", "unknown (mean variance 1)")
"""The settings in tables."""
METHODS = {
    "dyadic": "dyadic (SAMS)",
    "neal8": "auxiliary variables (m = 3)",
    "triadic": "triadic (SAMS, β = 0.1)",
    "as_printed_formula": "triadic as_printed, printed q",
    "as_printed_one": "triadic as_printed, q = 1",
}
METRICS = {"purity": "purity", "rand": "Rand index", "ari": "adjusted Rand index"}
"""Scores as they are stored, and how the paper calls them."""
CLAIMED = {"purity": "purity", "rand": "rand_index", "ari": "adjusted_rand_index"}
"""Their names in claims."""
STATES = {"last": "last state", "best_lik": "likeliest state"}
"""The scored states: the last one, and the likeliest, as in the authors' scripts."""


def setting_of(run: Run) -> str:
    """The name in `SETTINGS`."""
    model, c = run.config["model"], run.config
    timed = c["iterations"] is None
    used = Setting(model["sigma1"], model["noise"], model["conjugate"], option(run, "schedule"), timed)
    return next(name for name, setting in SETTINGS.items() if setting == used)


def method_of(run: Run) -> str:
    """The name in `METHODS`."""
    sampler = run.config["sampler"]
    if sampler["mode"] == "as_printed":
        return f"as_printed_{sampler['q_ratio']}"
    return "dyadic" if sampler["name"] == "sams" else str(sampler["name"])


def colour_key(method: str) -> str:
    """The sampler whose colour a method has."""
    return {"dyadic": "sams", "neal8": "neal8"}.get(method, "triadic")


def look_of_method(method: str) -> dict[str, Any]:
    """Colour, marker and dashes of a method."""
    return style.look_of(colour_key(method))


def number_of(run: Run) -> int:
    """Which data set: its number among the published ones, or the seed of the generated one."""
    data: dict[str, Any] = run.config["data"]
    return int(data["dataset"] if "dataset" in data else data["seed"])


def select_runs(runs: Sequence[Run], setting: str, method: str) -> list[Run]:
    """The runs of a setting and a method, by data set."""
    return sorted((r for r in runs if setting_of(r) == setting and method_of(r) == method), key=number_of)


def describe_data(runs: Sequence[Run]) -> str:
    """The data sets in words: how many, and whether they are the published ones."""
    sets, seeds = len({number_of(r) for r in runs}), max(r.config["chains"] for r in runs)
    kind = "generated data sets in place of the published ones" if is_stand_in(runs) else "published data sets"
    return f"{sets} {kind}, {seeds} seed{'s' * (seeds > 1)} each"


def is_stand_in(runs: Sequence[Run]) -> bool:
    """Whether the data were generated in place of the published ones."""
    return option(runs[0], "data") != "noparama_lines"


def name_sets(runs: Sequence[Run]) -> str:
    """Name the independent units: all published data sets there are, or generated ones."""
    return "data sets" if is_stand_in(runs) else "published data sets"


def name_data(runs: Sequence[Run], verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Verdicts that name data which are not the published ones."""
    return [replace(v, on="generated data" if is_stand_in(runs) else "") for v in verdicts]


def scores(runs: Sequence[Run]) -> pd.DataFrame:
    """Scores of the last and the likeliest state of every chain: columns setting, method, set, chain, SCORE_STATE for
    `METRICS` and `STATES`, seconds and iterations."""
    names = {f"{score}/{state}": f"{score}_{state}" for score in METRICS for state in STATES}
    frames = []
    for run in runs:
        rows = run.diagnostics()
        rows = rows[rows["quantity"].isin(names) & rows["chain"].notna()]
        frame = rows.pivot(index="chain", columns="quantity", values="value").rename(columns=names).sort_index()
        frame["seconds"], frame["iterations"] = run.summary["seconds"], run.summary["iterations"]
        where = {"setting": setting_of(run), "method": method_of(run), "set": number_of(run)}
        frames.append(frame.reset_index().assign(**where))
    table = pd.concat(frames, ignore_index=True)
    return table[["setting", "method", "set", "chain", *names.values(), "seconds", "iterations"]]


class Scores:
    """Scores of all chains, asked for by setting and method."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self.chains = scores(runs)
        self.sets = name_sets(runs)
        means = self.chains.drop(columns="chain").groupby(["setting", "method", "set"]).mean()
        self._by_set = {key: part.droplevel([0, 1]) for key, part in means.groupby(level=[0, 1])}

    def has(self, setting: str, method: str) -> bool:
        """Whether there are runs of it."""
        return (setting, method) in self._by_set

    def by_set(self, setting: str, method: str, column: str) -> NDArray[np.float64]:
        """Mean over seeds for every data set, ``[sets]``."""
        return self._by_set[setting, method][column].to_numpy(float)

    def by_chain(self, setting: str, method: str, column: str) -> NDArray[np.float64]:
        """Mean over data sets for every number of a chain, ``[chains]``: the sets are all that there are."""
        c = self.chains
        rows = c[(c["setting"] == setting) & (c["method"] == method)]
        return rows.groupby("chain")[column].mean().to_numpy(float)

    def units(self, setting: str, method: str, column: str) -> tuple[NDArray[np.float64], str]:
        """The independent values of a score, and what they are: chains on the published sets, else data sets."""
        each = self.by_chain(setting, method, column)
        if self.sets == "published data sets" and len(each) > 1:
            return each, "chains"
        return self.by_set(setting, method, column), self.sets

    def unit_differences(self, setting: str, method: str, other: str, column: str) -> tuple[NDArray[np.float64], str]:
        """`method` minus `other` in the independent values, and what these are."""
        (first, unit), (second, _) = (self.units(setting, m, column) for m in (method, other))
        if unit == "chains":
            n = min(len(first), len(second))
            return first[:n] - second[:n], unit
        return self.difference(setting, method, other, column), unit

    def difference(self, setting: str, method: str, other: str, column: str) -> NDArray[np.float64]:
        """`method` minus `other`, paired by data set, ``[sets]``."""
        first, second = (self._by_set[setting, m][column] for m in (method, other))
        return (first - second).dropna().to_numpy(float)


LARGE = 10
"""Points of a true line from which on it counts in the search for errors."""
SIMILAR = 15.0
"""Two directions are similar up to this angle, in degrees."""
TRUE, CONCERNED = "#777777", "#dcdcdc"
"""Colours of a true line, and of the band behind one that the error concerns."""
MODEL = {"sigma0": 10.0, "sigma1": 1.0}
"""The prior and the noise of the runs that the figure shows."""
BROKEN = 0.1
"""A line is broken if a second cluster has at least this share of its points."""


@dataclass(frozen=True)
class Errors:
    """The largest errors of each kind in one clustering of lines."""

    merged: tuple[int, ...]
    """The two true lines of the most similar direction that lie in one cluster; empty without such a pair."""
    angle: float
    """Their angle in degrees; infinite without such a pair."""
    broken: tuple[int, ...]
    """The true line with most points in a cluster that is not its first; empty without such a line."""
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
    for a, b in combinations(lines, 2):
        between = float(np.degrees(np.arccos(np.minimum(1.0, abs(float(along[a] @ along[b]))))))
        if counts[a].argmax() == counts[b].argmax() and between < angle:
            merged, angle = (a, b), between
    seconds = {k: int(np.sort(counts[k])[-2]) if len(counts[k]) > 1 else 0 for k in lines}
    broken = max(lines, key=lambda k: seconds[k], default=None)
    if broken is None or seconds[broken] < BROKEN * counts[broken].sum():
        return Errors(merged, angle, (), 0, 0)
    return Errors(merged, angle, (broken,), seconds[broken], int((counts[broken] > 0).sum()))


def fig2(runs: Sequence[Run]) -> Drawing:
    """Two last states of the triadic sampler, with typical errors."""
    examples: list[tuple[Errors, int, pd.DataFrame]] = []
    chosen = select_runs(runs, "main", "triadic")
    for run in chosen:
        dataset, number = dataset_of(run), number_of(run)
        assert dataset.truth is not None
        points_of_set = pd.DataFrame(dataset.values, columns=["x", "y"])
        partitions = run.partitions(["chain", "iteration", "labels"]).sort_values("iteration")
        for labels in partitions.groupby("chain").last()["labels"]:
            frame = points_of_set.assign(set=number, cluster=labels, truth=dataset.truth)
            examples.append((errors_of(dataset.values, dataset.truth, labels), number, frame))
    found = [errors for errors, _, _ in examples]
    _, first, merged = min(examples, key=lambda example: example[0].angle)
    others = [example for example in examples if example[1] != first] or examples
    _, _, broken = max(others, key=lambda example: example[0].second)
    numbers = pd.concat([merged, broken], ignore_index=True)
    notes = (
        f"Last states of the triadic sampler, of {len(examples)}: left, the smallest angle between two true lines in "
        f"one cluster; right (another set), most points of a true line in its second cluster. Lines of {LARGE} points "
        f"or more count. {describe_data(runs)}, σ₁ = 1, lines integrated out."
    )
    claims = {c.metric: c for c in published_claims("triadic-fig2")}
    verdicts = []
    for metric, shows, what in [
        ("similar_lines_in_one_cluster", [e.angle <= SIMILAR for e in found], f"up to {SIMILAR:g}° apart"),
        ("line_in_several_clusters", [bool(e.broken) for e in found], f"{BROKEN:.0%} or more in a second"),
    ]:
        # typical: the interval of its share in the data sets lies at or above the tolerance
        k, n = sum(shows), len(shows)
        low, high = share_interval(k, n)
        kept = Samples.build(what, "share", range(1, n + 1), shows)
        estimated = Estimate((k / n, low, high), n, name_sets(runs), None, (kept,))
        verdicts.append(by_edge(claims[metric], estimated, f"{what}: in {k} of {n} last states"))
    picture = picture_fig2(numbers, chosen[0].config["model"])
    return Drawing(picture, numbers, name_data(runs, verdicts), notes)


def picture_fig2(numbers: pd.DataFrame, model: Mapping[str, float] = MODEL) -> Figure:
    """Two states: one that has two true lines in a cluster, and one with a true line in several."""
    figure, axes = plt.subplots(1, 2, figsize=(style.FULL, 3.6))
    sets, half = list(dict.fromkeys(numbers["set"])), len(numbers) // 2
    # with one set they are the halves
    states = [numbers[numbers["set"] == one] for one in sets] if len(sets) > 1 else [numbers[:half], numbers[half:]]
    for ax, state, merged in zip(axes, states, (True, False), strict=True):
        x, truth, labels = state[["x", "y"]].to_numpy(), state["truth"].to_numpy(), state["cluster"].to_numpy()
        errors = errors_of(x, truth, labels)
        concerned, title = errors.broken, f"one line in {errors.clusters} clusters"
        if merged:
            concerned, title = errors.merged, f"two lines, {errors.angle:.2g}° apart, in one cluster"
        for k in range(truth.max() + 1):
            points_here = x[truth == k]
            if len(points_here) > 1:
                along = (points_here - points_here.mean(axis=0)) @ direction(points_here)
                ends = points_here.mean(axis=0) + np.outer([along.min(), along.max()], direction(points_here))
                ax.plot(*ends.T, color=TRUE, linewidth=0.7, zorder=3)
                if k in concerned:
                    ax.plot(*ends.T, color=CONCERNED, linewidth=9, zorder=1)
        style.scatter(ax, x, labels)
        points.fitted_lines(ax, x, labels, model)
        ax.set_aspect("equal", adjustable="datalim")
        ax.grid(False)
        ax.set(xlabel="x", ylabel="y")
        ax.set_title(f"set {state['set'].iloc[0]}: {title if concerned else 'no such error'}", fontsize=8)
    handles = [
        style.entry(color=style.COLOURS[0], marker="o", markersize=6, linewidth=1.5, label="fitted to a cluster"),
        style.entry(color=TRUE, linewidth=0.7, label="true line"),
        style.entry(color=CONCERNED, linewidth=9, label="true lines of the error"),
        style.entry(color=style.ALONE, marker="x", linestyle="", markersize=4, label="alone"),
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=4, columnspacing=1.4)
    return figure


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
    reason = f"{far} of {total:,} proposals; the sampler has no such move"
    verdicts = [holds(claims["no_direct_transition_between_1_and_3"], far, far == 0, reason)]
    between = triadic[triadic["move"].isin(["split_2_3", "merge_3_2"])].groupby(["set", "chain"])["share"].sum()
    claim, rule = claims["share_of_steps_between_2_and_3"], "more than a tenth of the proposals"
    units = between.index.get_level_values("set").to_numpy()
    verdicts.append(by_majority(claim, between, between, rule, unit=name_sets(runs), units=units, above=0.1))
    verdicts.append(judge_asymmetry(claims["less_asymmetry_than_dyadic"]))
    return Drawing(picture_fig1(numbers), numbers, name_data(runs, verdicts), notes)


def picture_fig1(numbers: pd.DataFrame) -> Figure:
    """The states of both samplers, joined by arrows."""
    width, height, level = 51.5, 14.4, 7.0
    figure, ax = plt.subplots(figsize=(style.FULL, style.FULL * height / width + 0.2))
    ax.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    ax.axis("off")
    for method, places in [("triadic", TRIADIC), ("dyadic", (36.3, 48.3))]:
        ax.text(places[0] - 2.4, height, METHODS[method], fontsize=8.5, va="top", color="#222222")
        for n, x in enumerate(places, start=1):
            # the chosen points in their clusters
            ax.add_patch(Circle((x, level), 2.35, facecolor="#f4f4f2", edgecolor="#9a9a94", linewidth=0.9, zorder=2))
            ax.text(x, level + 0.75, str(n), ha="center", va="center", fontsize=11, color="#222222", zorder=4)
            items = 2 if method == "dyadic" else 3
            for k in range(items):
                colour, marker = style.style_of(min(k, n - 1))
                ax.plot(x + 0.95 * (k - (items - 1) / 2), level - 0.95, marker, color=colour, markersize=4.6, zorder=4)
        here = numbers[numbers["method"] == method]
        moves = here.groupby(["before", "after"], as_index=False)[["proposed", "accepted"]].sum()
        for row in moves.itertuples(index=False):
            share = row.proposed / moves["proposed"].sum()
            acceptance = row.accepted / row.proposed if row.proposed else np.nan
            # an arrow with its numbers: splits above, merges below
            start, end, split = places[row.before - 1], places[row.after - 1], row.after > row.before
            colour, side = (races.SPLIT, 1) if split else (races.MERGE, -1)
            ends = (start + 2.75 * side, level + side), (end - 2.75 * side, level + side)
            races.arrow(ax, *ends, share, colour)
            text = f"{'split' if split else 'merge'}: proposed {_percent(share)}\naccepted {_percent(acceptance)}"
            look: dict[str, Any] = {"ha": "center", "va": "bottom" if split else "top", "fontsize": 7.5}
            ax.text((start + end) / 2, level + 2.3 * side, text, color=colour, linespacing=1.25, **look)
    ax.text(TRIADIC[1], 0.5, "none between 1 and 3", ha="center", va="center", fontsize=7.5, color="#444444")
    for x in (TRIADIC[0], TRIADIC[-1]):
        ax.plot([x, x], [1.7, level - 3.2], color="#bbbbbb", linewidth=0.8, linestyle=(0, (2, 2)))
    ax.plot([TRIADIC[0], TRIADIC[-1]], [1.7, 1.7], color="#bbbbbb", linewidth=0.8, linestyle=(0, (2, 2)))
    ax.plot(TRIADIC[1], 1.7, "x", color="#444444", markersize=6)
    style.footnote(figure, "Arrows as wide as the share of proposals; to the right: splits, to the left: merges.")
    return figure


def _percent(share: float) -> str:
    return "–" if not np.isfinite(share) else f"{100 * share:.2g} %" if share < 0.0995 else f"{100 * share:.0f} %"


def judge_asymmetry(claim: Claim) -> Verdict:
    """Compare how many more ways there are to split than to merge.

    With two points fixed, n points split into two clusters in 2^(n - 2) ways, and merge in one. With three fixed they
    are in three clusters in 3^(n - 3) ways, and in two in 2^(n - 2): the ratio of equation 15.
    """
    n = np.arange(4, MOST_POINTS + 1)
    two, three = (n - 2) * np.log(2), (n - 3) * np.log(3) - (n - 2) * np.log(2)
    share = np.abs(three) / two
    reason = (
        "log of the ways to split over those to merge: |(n - 3) log 3 - (n - 2) log 2| between two and three clusters, "
        f"(n - 2) log 2 between one and two; ours: largest ratio of the two for n = 4 to {MOST_POINTS:,} (n = 3: equal)"
    )
    return holds(claim, float(share.max()), bool((share < 1).all()), reason, claim.reading)


MOST_POINTS = 1_000
"""Points up to which the ways to split and to merge are compared."""
