"""Scores of the triadic samplers: Figure 3, their distributions over data sets and seeds, and Table 1, with what the
paper leaves open: noise, lines kept or not, as_printed ratios, equal time."""

from collections.abc import Mapping, Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from splitmerge_cli.analysis.plots import style
from splitmerge_cli.diagnostics.intervals import mean_interval
from splitmerge_cli.papers.claims import published_claims
from splitmerge_cli.papers.drawing import Drawing, draw_lines
from splitmerge_cli.papers.triadic import runs as base
from splitmerge_cli.papers.verdicts import Verdict, by_distance, by_sign
from splitmerge_cli.runs.store.read import Run

ORDER = ("dyadic", "neal8", "triadic")
SHORT_NAMES = ("dyadic", "auxiliary\nvariables", "triadic")
PRINTED_MARK = {"color": style.REFERENCE, "marker": "D", "markerfacecolor": "white", "linestyle": ""}


def fig3(runs: Sequence[Run]) -> Drawing:
    """Violins of the three scores of the three samplers."""
    scores = base.Scores([r for method in ORDER for r in base.select_runs(runs, "main", method)])
    notes = f"Last states. {base.describe_data(runs)}, σ₁ = 1, lines integrated out. Numbers: means."
    columns = ["method", "set", "chain", *(f"{score}_last" for score in base.METRICS)]
    numbers = scores.chains[columns]
    claims = {c.metric: c for c in published_claims("triadic-fig3")}
    verdicts = []
    for score in base.METRICS:
        rises = {f"{b} - {a}": scores.difference("main", b, a, f"{score}_last") for a, b in pairwise(ORDER)}
        verdicts.append(by_sign(claims[f"{base.CLAIMED[score]}_rises"], rises, unit=base.name_sets(runs)))
    gains = {score: scores.difference("main", "triadic", "dyadic", f"{score}_last") for score in base.METRICS}
    more = {f"gain in ARI - gain in {base.METRICS[s]}": gains["ari"] - gains[s] for s in ("purity", "rand")}
    verdicts.append(by_sign(claims["adjusted_rand_index_gains_most"], more, unit=base.name_sets(runs)))
    return Drawing(picture_fig3(numbers), numbers, base.name_data(runs, verdicts), notes)


def picture_fig3(numbers: pd.DataFrame) -> Figure:
    """A panel for each score with a violin for each sampler."""
    paper = {(c.sampler, c.metric): c.value for c in published_claims("triadic-table1")}
    figure, axes = plt.subplots(1, len(base.METRICS), figsize=(style.FULL, 2.9), sharey=True)
    for ax, (score, name) in zip(axes, base.METRICS.items(), strict=True):
        means: list[str] = []
        for k, method in enumerate(ORDER):
            rows = numbers[numbers["method"] == method]
            chains = rows[f"{score}_last"].to_numpy(float)
            colour = style.colour_of(base.colour_key(method))
            (body,) = ax.violinplot(chains, positions=[k], widths=0.85, showextrema=False)["bodies"]
            body.set(facecolor=colour, alpha=0.55, edgecolor=colour)
            mean, low, high = mean_interval(rows.groupby("set")[f"{score}_last"].mean())
            ax.plot([k, k], [low, high], color=style.REFERENCE, linewidth=1.2, zorder=3)
            ax.plot(k, mean, "o", color=style.REFERENCE, markersize=4, zorder=3)
            ax.plot(k + 0.22, paper[method, base.CLAIMED[score]], zorder=4, **PRINTED_MARK)
            means.append(f"{mean:.3f}")
        ax.set_title(name)
        ax.set_xticks(range(len(ORDER)), [f"{m}\n{n}" for m, n in zip(means, SHORT_NAMES, strict=True)])
        ax.set_xlim(-0.6, len(ORDER) - 0.4)
    axes[0].set_ylim(min(0.0, axes[0].get_ylim()[0]), 1.02)
    handles = [
        style.entry(color=style.REFERENCE, marker="o", label="mean, 95 % interval over data sets"),
        style.entry(label="mean in the paper", **PRINTED_MARK),
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=2)
    return figure


READINGS = [("main", "last"), ("main", "best_lik"), ("kept", "best_lik")]
"""Setting and state under which the numbers of the paper's table are judged."""
OUTPERFORMS = [*((setting, "last") for setting in base.SETTINGS), ("main", "best_lik"), ("kept", "best_lik")]
"""Setting and state under which the samplers are compared."""
AS_PRINTED_READINGS = [("main", "last"), ("kept", "best_lik")]
COLUMNS = {"purity_last": "purity", "rand_last": "Rand", "ari_last": "ARI", "ari_best_lik": "ARI of the\nlikeliest"}
PRINTED = ("dyadic", "neal8", "triadic")
"""Samplers of the paper's table."""
CURVES = [("main", "iteration"), ("main_timed", "seconds"), ("kept", "iteration"), ("kept_timed", "seconds")]
ROW = 0.148
"""Height of a row in the table, in inches."""
HEAD = 16
"""Rows above our runs: the heads, the paper's table, and the released program's."""


def table1(runs: Sequence[Run]) -> Drawing:
    """Mean scores of all settings, differences from the triadic sampler, and the way there."""
    scores = base.Scores(runs)
    curves = pd.concat([_curve(runs, *curve) for curve in CURVES], ignore_index=True)
    # means with intervals, differences with intervals
    rows = []
    for *where, column in product(base.SETTINGS, base.METHODS, (f"{s}_{t}" for s in base.METRICS for t in base.STATES)):
        setting, method = where
        if scores.has(setting, method):
            rows.append(("mean", *where, column, *mean_interval(scores.by_set(setting, method, column))))
            if method != "triadic":
                difference = scores.difference(setting, "triadic", method, column)
                rows.append(("triadic minus row", *where, column, *mean_interval(difference)))
    table = pd.DataFrame(rows, columns=["panel", "setting", "method", "score", "value", "low", "high"])
    numbers = pd.concat([table, curves], ignore_index=True)
    budget = max(r.config["budget"] or 0 for r in runs)
    notes = (
        f"{base.describe_data(runs)}, from {runs[0].config['K0']} clusters; 10,000 iterations where no time is given. "
        "ARI: adjusted Rand index, of the last state. An iteration of the auxiliary variable sampler updates every "
        "item. as_printed: ratios as printed, biased. Differences are paired by data set. Bold: the highest ARI of the "
        "samplers that are exact. Released program: noparama 0.1.72, the authors' own, once on each set as its batch "
        "script has it; its prior is not the one in the paper's text, and its scripts score the likeliest state. Its "
        f"dyadic sampler ends in one cluster on 98 of the 100 sets. {_plainly(scores)}"
    )
    return Drawing(picture_table1(numbers, budget), numbers, _verdicts(scores, runs), notes)


def picture_table1(numbers: pd.DataFrame, budget: float | None = None) -> Figure:
    """The table, differences at its right and curves below; `budget`: seconds in the settings of equal time."""
    means = numbers[numbers["panel"] == "mean"]
    rows: list[tuple[str, str]] = []
    for setting, method in dict.fromkeys(means[["setting", "method"]].itertuples(index=False, name=None)):
        rows += [(setting, method)] if (setting, "") in rows else [(setting, ""), (setting, method)]
    figure = plt.figure(figsize=(style.FULL, ROW * (len(rows) + HEAD) + 2.25))
    grid = figure.add_gridspec(2, 1, height_ratios=[ROW * (len(rows) + HEAD), 1.75])
    halves = grid[0].subgridspec(1, 2, width_ratios=[4.9, 2.3], wspace=0.0)
    left, right = figure.add_subplot(halves[0]), figure.add_subplot(halves[1])
    values = means.set_index(["setting", "method", "score"])["value"].to_dict()
    # of a kept picture: which cells later runs have
    marks = means.set_index(["setting", "method", "score"])["mark"].dropna().to_dict() if "mark" in means else {}
    _draw_table(left, rows, values, marks, budget)
    _draw_differences(right, rows, numbers[numbers["panel"] == "triadic minus row"])
    axes = np.atleast_1d(grid[1].subgridspec(1, len(CURVES), wspace=0.06).subplots(sharey=True))  # type: ignore[arg-type]
    for ax, (setting, column) in zip(axes, CURVES, strict=True):
        points = numbers[(numbers["panel"] == f"curve against {column}") & (numbers["setting"] == setting)]
        draw_lines(ax, points, "method", column, base.look_of_method, shade=0.15, centre="ari_last", width=1.2)
        ax.set_xscale("log")
        style.powers(ax.xaxis)
        ax.set_xlim(points[column].min(), points[column].max())
        ax.set_ylim(0, None)
        ax.set_xlabel(column if column == "iteration" else "seconds of sampling", fontsize=7)
        ax.tick_params(labelsize=6.5)
        ax.set_title("lines integrated out" if setting.startswith("main") else "lines kept", fontsize=7.5)
    axes[0].set_ylabel("mean ARI")
    note = "Right: exact triadic sampler minus the row's, 95 % interval (†: 99 %). Bottom: means, 95 % bands."
    style.footnote(figure, note)
    return figure


Values = Mapping[tuple[str, str, str], float]
"""Means by setting, method and score."""
Marks = Mapping[tuple[str, str, str], str]
"""Marks behind some of them."""


def _draw_table(ax: Axes, rows: Sequence[tuple[str, str]], values: Values, marks: Marks, budget: float | None) -> None:
    ax.set(xlim=(0, 1), ylim=(len(rows) - 0.5, -0.5 - HEAD))
    ax.axis("off")
    places = dict(zip(COLUMNS, [0.60, 0.72, 0.84, 0.98], strict=True))
    for column, place in places.items():
        ax.text(place, -HEAD + 1.5, COLUMNS[column], ha="right", va="bottom", fontsize=7, linespacing=1.1)
    shade: dict[str, Any] = {"va": "center", "fontsize": 7}
    grey = shade | {"color": "#555555"}
    # mean scores that the authors' own program prints on the hundred sets, by ticks and sampler
    released = pd.read_csv(Path(__file__).with_name("released.csv")).to_dict("records")
    ax.text(0, -HEAD + 2.2, "as in the paper; grey: printed", ha="left", fontweight="bold", **shade)
    paper = {(c.sampler, c.metric): c.value for c in published_claims("triadic-table1")}
    for k, method in enumerate(PRINTED):
        y = 2 * k - HEAD + 3.2
        ax.plot(0.012, y, **base.look_of_method(method))
        ax.text(0.03, y, base.METHODS[method], ha="left", **shade)
        for score, claimed in base.CLAIMED.items():
            column = f"{score}_last"
            _write(ax, places[column], y, _score(values["main", method, column]), marks.get(("main", method, column)))
            ax.text(places[column], y + 0.9, _score(paper[method, claimed]), ha="right", **grey)
    ax.text(0, -HEAD + 9.7, "added here", ha="left", fontweight="bold", **shade)
    for y, row in enumerate(released, start=-len(released)):
        where = f"{row['ticks']:,} ticks" + (f", {row['sets']} sets" if row["sets"] < 100 else "")
        name = base.METHODS[row["sampler"]].partition(" (")[0]
        ax.text(0.0, y, f"released, {where}: {name}", ha="left", **(grey | {"fontsize": 6.3}))
        for column in COLUMNS:
            ax.text(places[column], y, _score(row[column]), ha="right", **grey)
    for y, (setting, method) in enumerate(rows):
        if not method:
            ax.plot([0, 1], [y - 0.5, y - 0.5], color="#cccccc", linewidth=0.6, clip_on=False)
            title = base.TITLES[setting].format(budget=budget or 0)
            title = title if budget else title.removesuffix(": 0 s")
            ax.text(0, y, title, ha="left", va="center", fontsize=7.2, fontweight="bold")
            continue
        ax.plot(0.012, y, **base.look_of_method(method))
        ax.text(0.03, y, base.METHODS[method], ha="left", va="center", fontsize=7)
        for column in COLUMNS:
            mean, mark = values[setting, method, column], marks.get((setting, method, column))
            # the highest of the samplers that leave the posterior invariant
            exact = (values[setting, m, column] for s, m in rows if s == setting and m and m not in AS_PRINTED_TOO)
            best = column == "ari_last" and method not in AS_PRINTED_TOO and mean == max(exact)
            _write(ax, places[column], y, _score(mean), mark, "bold" if best else "normal")


def _write(ax: Axes, x: float, y: float, text: str, mark: str | None, weight: str = "normal") -> None:
    """Write a number of the table, flush right, and its mark behind it."""
    ax.text(x, y, text, ha="right", va="center", fontsize=7, fontweight=weight)
    ax.text(x + 0.003, y, mark or "", ha="left", va="center", fontsize=7)


def _score(value: float) -> str:
    return f"{value:.3f}"


def _draw_differences(ax: Axes, rows: Sequence[tuple[str, str]], numbers: pd.DataFrame) -> None:
    ari = numbers[numbers["score"] == "ari_last"]
    difference_by_row = {(r.setting, r.method): r for r in ari.itertuples(index=False)}
    ax.set_ylim(len(rows) - 0.5, -0.5 - HEAD)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.plot([0, 0], [-0.5, len(rows) - 0.5], color="#999999", linewidth=0.8)
    ax.grid(True, axis="x")
    ax.tick_params(labelsize=6.5)
    ax.set_xlabel("difference of ARI, last state", fontsize=7)
    ax.set_title("triadic − row", fontsize=7, y=1 - (HEAD - 1) / (len(rows) + HEAD))
    for y, (setting, method) in enumerate(rows):
        if not method:
            ax.axhline(y - 0.5, color="#cccccc", linewidth=0.6)
        elif method != "triadic":
            row, look = difference_by_row[setting, method], base.look_of_method(method)
            ax.hlines(y, row.low, row.high, color=look["color"], linewidth=1.3)
            ax.plot(row.value, y, **look)
            text = f"{row.value:+.3f} ± {(row.high - row.low) / 2:.3f}".replace("-", "−")
            # of a kept picture: later runs, their interval at 99 %
            text += "†" if getattr(row, "mark", None) == "†" else ""
            ax.text(1.0, y, text, ha="right", va="center", fontsize=6.5, transform=ax.get_yaxis_transform())
    low, high = ax.get_xlim()
    ax.set_xticks([tick for tick in ax.get_xticks() if low <= tick <= high])
    # room for the numbers
    ax.set_xlim(low, high + 0.6 * (high - low))


def paths(runs: Sequence[Run], column: str, grid: NDArray[np.float64]) -> NDArray[np.float64]:
    """Adjusted Rand index at points of the trace's `column` (iteration or seconds), mean over seeds, ``[sets, grid]``.

    The state at a point is taken from the last row before it.
    """
    rows = []
    for run in runs:
        trace = run.trace(["chain", column, "ari"])
        each = []
        for _, chain in trace.groupby("chain", sort=True):
            places = np.searchsorted(chain[column].to_numpy(float), grid, side="right") - 1
            each.append(chain["ari"].to_numpy(float)[places])
        rows.append(np.mean(each, axis=0))
    return np.stack(rows)


def _curve(runs: Sequence[Run], setting: str, column: str) -> pd.DataFrame:
    """Adjusted Rand index against iteration or time: means with bands."""
    runs_by_method = {m: base.select_runs(runs, setting, m) for m in PRINTED}
    traces = (run.trace(["chain", column]) for each in runs_by_method.values() for run in each)
    ends = [trace.groupby("chain")[column].max().min() for trace in traces]
    grid = np.geomspace(10.0 if column == "iteration" else 1e-3, min(ends), 60)
    frames = []
    for method, each in runs_by_method.items():
        mean, low, high = np.array([mean_interval(v) for v in paths(each, column, grid).T]).T
        frame = pd.DataFrame({column: grid, "ari_last": mean, "low": low, "high": high})
        frames.append(frame.assign(panel=f"curve against {column}", setting=setting, method=method))
    return pd.concat(frames, ignore_index=True)


def _plainly(scores: base.Scores) -> str:
    """Whether the exact triadic sampler beats the exact dyadic one, per iteration and per second."""
    parts = []
    for setting, when in [("main", "after equally many moves"), ("main_timed", "after equal time")]:
        mean, low, high = mean_interval(scores.difference(setting, "triadic", "dyadic", "ari_last"))
        verb = "beats" if low > 0 else "is beaten by" if high < 0 else "cannot be told from"
        parts.append(f"{verb} the dyadic one {when} ({mean:+.3f} [{low:+.3f}, {high:+.3f}])".replace("-", "−"))
    return "Both exact, lines integrated out, σ₁ = 1: the triadic sampler " + " and ".join(parts) + "."


BY_ITERATION = "_by_iteration"
"""End of the metrics that compare samplers after equally many iterations."""
SOON = 0.1
"""Share of a run after which mixing is compared."""


def _verdicts(scores: base.Scores, runs: Sequence[Run]) -> list[Verdict]:
    verdicts = []
    stored = {claimed: score for score, claimed in base.CLAIMED.items()}
    for claim in published_claims("triadic-table1"):
        if claim.metric in stored:
            cases = [(setting, state, claim.sampler) for setting, state in READINGS]
            if claim.sampler == "triadic":
                cases += [(*case, as_printed) for as_printed in AS_PRINTED_TOO for case in AS_PRINTED_READINGS]
            for setting, state, method in (case for case in cases if scores.has(case[0], case[2])):
                column = f"{stored[claim.metric]}_{state}"
                words = filter(None, [base.WORDS[setting], base.STATES[state], AS_PRINTED_TOO.get(method)])
                samples, unit = scores.units(setting, method, column)
                verdicts.append(by_distance(claim, samples, ", ".join(words), unit))
        elif claim.metric == "mixes_faster_than_dyadic":
            # adjusted Rand index early in the chains of two samplers, paired by data set
            for setting in ("main", "kept"):
                compared = [base.select_runs(runs, setting, method) for method in ("triadic", "dyadic")]
                if all(compared):
                    times = np.array([SOON * compared[0][0].config["iterations"]])
                    triadic, dyadic = (paths(each, "iteration", times)[:, 0] for each in compared)
                    what = f"adjusted Rand index at iteration {times[0]:,.0f}, triadic - dyadic"
                    unit, gain = base.name_sets(runs), {what: triadic - dyadic}
                    verdicts.append(by_sign(claim, gain, base.WORDS[setting], unit=unit))
        else:
            other = claim.metric.removeprefix("outperforms_").removesuffix(BY_ITERATION)
            for setting, state in OUTPERFORMS:
                if claim.metric.endswith(BY_ITERATION) and base.SETTINGS[setting].timed:
                    continue
                if scores.has(setting, other):
                    difference, unit = scores.unit_differences(setting, "triadic", other, f"ari_{state}")
                    reading = ", ".join([base.WORDS[setting], base.STATES[state]])
                    verdicts.append(by_sign(claim, {f"triadic - {other}": difference}, reading, unit=unit))
    return base.name_data(runs, verdicts)


AS_PRINTED_TOO = {"as_printed_formula": "as_printed, printed q", "as_printed_one": "as_printed, q = 1"}
