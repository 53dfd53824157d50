"""Table 1: NMI and accuracy of the best state of every chain; and what LSHSM saves: probabilities of collision that its
cache served (section 4.3.1), and time to the best log joint against N, D and the number of clusters."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator
from sklearn.metrics import normalized_mutual_info_score

from splitmerge_cli.analysis.plots.races import option
from splitmerge_cli.analysis.plots.style import FULL, REFERENCE, entry, footnote, hollow, legend, mark_alone, powers
from splitmerge_cli.diagnostics.intervals import mean_interval
from splitmerge_cli.papers.claims import published_claims
from splitmerge_cli.papers.drawing import Drawing
from splitmerge_cli.papers.lshsm import runs as base
from splitmerge_cli.papers.verdicts import Verdict, by_distance, by_sign, no_run, untestable
from splitmerge_cli.runs.initial import dataset_of
from splitmerge_cli.runs.store.read import Run

METRICS = ("nmi", "accuracy")
SETTINGS = {
    ("move_only", "one_cluster"): "moves alone, from one cluster",
    ("move_only", "singletons"): "moves alone, from singletons",
    ("full_scan", "one_cluster"): "a full Gibbs scan after each move, from one cluster",
}
"""Schedule and start of each block in the table."""
KEY = ["schedule", "start", "method", "data"]
"""Columns that tell the cells of the table."""
COLUMNS = {
    "S1": 0.35,
    "S2": 0.455,
    "S3": 0.56,
    "KDDCUP04Bio": 0.665,
    "PubMed": 0.755,
    "kdd_like": 0.87,
    "ohsumed23": 0.995,
}
"""Where a data set's column ends."""
NO_LABELS = {
    "KDDCUP04Bio": "the 2,000 labels of the paper are not public, and the set has no others",
    "PubMed": "the set has no labels, and the paper does not say which it used",
}
ROW = 0.16
"""Height of a row in the table, in inches."""


def geometric_nmi(truth: Any, labels: Any) -> float:
    """Mutual information over the geometric mean of the two entropies, as the paper defines NMI (section 4.3.2)."""
    return float(normalized_mutual_info_score(truth, labels, average_method="geometric"))


def scores(runs: Sequence[Run]) -> pd.DataFrame:
    """Scores of every run's best state by log joint, of one chain: columns schedule, start, method, data (as run, not
    what it stands for), seed, nmi, accuracy, clusters.

    Accuracy is the share of items in their true cluster under the best one-to-one match of clusters.
    """
    rows = []
    for run in runs:
        truth = dataset_of(run).truth
        if truth is None:
            continue
        name, best = option(run, "data"), run.summary["highest_log_joint"]
        own = base.data_of(run) if name in ("s1", "s2", "s3") else str(name)
        stored = run.diagnostics().set_index(["quantity", "chain"])["value"]
        rows.append(
            {
                "schedule": option(run, "schedule"),
                "start": run.config["init"],
                "method": base.method_of(run),
                "data": "ohsumed23" if base.is_stand_in(run) else own,
                "seed": int(run.config["seed"]),
                "nmi": geometric_nmi(truth, best["labels"]),
                "accuracy": float(stored["accuracy/best", 0]),
                "clusters": int(best["n_clusters"]),
            }
        )
    return pd.DataFrame(rows)


def table1(runs: Sequence[Run]) -> Drawing:
    """NMI and accuracy of all samplers, forms, starts and schedules."""
    table = scores(runs)
    seeds = table["seed"].nunique()
    last = "ohsumed23: 23 categories of MEDLINE abstracts."
    if any(base.is_stand_in(run) for run in runs):
        last = "in place of ohsumed23, which is absent, another such set."
    notes = (
        f"S1 to S3: {seeds} data sets, a chain on each; the others one chain. NMI by the geometric mean of the "
        "entropies, accuracy by the best one-to-one match of clusters. –: no labels in public (KDDCUP04Bio: of the "
        f"paper's 2,000 clusters; PubMed: none at all). kdd_like is generated in the manner of KDDCUP04Bio; {last}"
    )
    # means and intervals over data sets
    rows = []
    for key, here in table.groupby(KEY, sort=False):
        rows += [(*key, metric, *mean_interval(here[metric]), len(here)) for metric in (*METRICS, "clusters")]
    numbers = pd.DataFrame(rows, columns=[*KEY, "score", "mean", "low", "high", "chains"])
    return Drawing(picture_table1(numbers), numbers, judge(table), notes)


def judge(table: pd.DataFrame) -> list[Verdict]:
    """Verdicts on every claim of the table, in each setting that was run."""
    verdicts: list[Verdict] = []
    for claim in published_claims("lshsm-table1"):
        if claim.data in NO_LABELS:
            # no verdict; the reason has the score of the stand-in
            instead = {"KDDCUP04Bio": "kdd_like", "PubMed": "ohsumed23"}[claim.data]
            form = "paired_sequential" if claim.sampler == "lshsm" else claim.sampler
            of_setting = {title: _rows_of(table, *where, form, instead) for where, title in SETTINGS.items()}
            parts = [f"{x[claim.metric].mean():.3f} {title}" for title, x in of_setting.items() if len(x)]
            reason = f"{NO_LABELS[claim.data]}; in its place {instead}: {'; '.join(parts) or 'no run'}"
            verdicts.append(untestable(claim, [], reason))
            continue
        for (schedule, start), title in SETTINGS.items():
            for form in base.FORMS if claim.sampler == "lshsm" else [claim.sampler]:
                rows = _rows_of(table, schedule, start, form, claim.data)
                reading = ", ".join([title, *([f"LSHSM: {base.FORMS[form]}"] if form in base.FORMS else [])])
                if claim.metric in METRICS:
                    verdicts += [by_distance(claim, rows[claim.metric], reading)] if len(rows) else []
                    continue
                # the accuracy of one sampler against another's, paired by data set: more, or the same
                other = claim.metric.rpartition("_")[2]
                against = _rows_of(table, schedule, start, other, claim.data)
                gain = (rows.set_index("seed")["accuracy"] - against.set_index("seed")["accuracy"]).dropna()
                if not len(gain):
                    continue
                if claim.metric.startswith("above"):
                    what = f"accuracy of {base.METHODS[form]} - of {base.METHODS[other]}"
                    verdicts.append(by_sign(claim, {what: gain}, reading))
                else:
                    verdicts.append(by_distance(claim, gain, reading))
    return verdicts


def picture_table1(numbers: pd.DataFrame) -> Figure:
    """The table, below what the paper printed."""
    means = numbers.pivot_table(index=KEY, columns="score", values="mean").reset_index()
    # of a kept picture: which cells later runs have
    marked = numbers[numbers["mark"] == "†"] if "mark" in numbers else numbers[:0]
    marks = set(marked[[*KEY, "score"]].itertuples(index=False, name=None))
    rows: list[tuple[str, ...] | str] = []
    for (schedule, start), title in SETTINGS.items():
        here = means[(means["schedule"] == schedule) & (means["start"] == start)]
        rows += [title, *((schedule, start, m) for m in base.in_order(here["method"]))]
    figure, ax = plt.subplots(figsize=(FULL, ROW * (len(rows) + 7) + 0.3))
    ax.set(xlim=(0, 1), ylim=(len(rows) - 0.4, -6.4))
    ax.axis("off")
    claims = {(c.data, c.sampler, c.metric): c.value for c in published_claims("lshsm-table1")}
    for data, place in COLUMNS.items():
        head = "KDD" if data == "KDDCUP04Bio" else data
        ax.text(place, -5.6, head, ha="right", va="center", fontsize=7.2, fontweight="bold")
    for left, right, words in [(0.27, 0.755, "the paper's data"), (0.775, 0.995, "stand-ins")]:
        ax.text((left + right) / 2, -6.45, words, ha="center", va="center", fontsize=6.8, color="#555555")
        ax.plot([left, right], [-6.05, -6.05], color="#bbbbbb", linewidth=0.6, clip_on=False)
    ax.text(0, -4.6, "printed in the paper", ha="left", va="center", fontsize=7.2, fontweight="bold", color="#555555")
    for y, sampler in zip([-3.6, -2.6, -1.6], ["rgsm", "sdds", "lshsm"], strict=True):
        ax.text(0.043, y, base.METHODS.get(sampler, "LSHSM"), ha="left", va="center", fontsize=7, color="#555555")
        for data in ("S1", "S2", "S3", "KDDCUP04Bio", "PubMed"):
            nmi, accuracy = (claims[data, sampler, metric] for metric in METRICS)
            ax.text(COLUMNS[data], y, _cell(nmi, accuracy), ha="right", va="center", fontsize=7, color="#555555")
    for y, row in enumerate(rows):
        if isinstance(row, str):
            ax.plot([0, 1], [y - 0.5, y - 0.5], color="#cccccc", linewidth=0.6, clip_on=False)
            ax.text(0, y, row, ha="left", va="center", fontsize=7.2, fontweight="bold")
            continue
        method = row[-1]
        style = base.style_of(method)
        ax.plot([0.0, 0.017, 0.034], [y] * 3, linewidth=1.4, solid_capstyle="butt", markevery=[1], **style)
        ax.text(0.043, y, base.METHODS[method], ha="left", va="center", fontsize=7)
        for data, place in COLUMNS.items():
            here = _rows_of(means, *row, data)
            text = "–" if data in NO_LABELS else ""
            if len(here) and not text:
                nmi, accuracy = here[list(METRICS)].mean()
                text = _cell(nmi, accuracy, ["†" * ((*row, data, score) in marks) for score in METRICS])
            ax.text(place, y, text, ha="right", va="center", fontsize=7)
    footnote(figure, "NMI / accuracy of the state of highest log joint, means over data sets.")
    return figure


def _rows_of(table: pd.DataFrame, *key: str) -> pd.DataFrame:
    """The rows of one schedule, start, method and data set."""
    return table[(table[KEY] == list(key)).all(axis=1)]


def _cell(nmi: float, accuracy: float, marks: Sequence[str] = ("", "")) -> str:
    """Both scores, and the mark of each."""
    return f"{nmi:.2f}{marks[0]} / {accuracy:.2f}{marks[1]}"


LOOKS = {"random": {"color": "#117733", "marker": "o"}, "singletons": {"color": "#E69F00", "marker": "s"}}
"""Colours and marks of the start states."""
BEGUN = {"random": "from random clusters", "singletons": "from singletons"}
"""The start states in words."""
TITLES = {"KDDCUP04Bio": "kdd_like for KDDCUP04Bio", "PubMed": "ohsumed23 for PubMed"}


def shares(runs: Sequence[Run]) -> pd.DataFrame:
    """The cache's counts in every run: columns data (what claims call it), N, start, K0, iterations, looked_up, served,
    pairs, share; by iterations."""
    rows = []
    for run in runs:
        size, start = run.summary["N"], run.config["init"]
        K0 = size if start == "singletons" else run.config["K0"]
        # of the only chain
        counts = {key: run.summary["cache"][key][0] for key in ("looked_up", "served", "pairs")}
        share = counts["served"] / counts["looked_up"] if counts["looked_up"] else np.nan
        about = {"data": base.data_of(run), "N": size, "start": start, "K0": K0}
        rows.append({**about, "iterations": run.summary["iterations"][0], **counts, "share": share})
    return pd.DataFrame(rows).sort_values(["data", "start", "K0", "N", "iterations"], ignore_index=True)


def cache(runs: Sequence[Run]) -> Drawing:
    """Draw the share of collision probabilities that the cache served, against iterations."""
    table = shares(runs)
    claims = {c.data: c for c in published_claims("lshsm-cache")}
    generated = any(base.is_stand_in(run) for run in runs)
    room = max(run.config["sampler"]["cache"] for run in runs)
    notes = (
        "Share of the 1 − (1 − p^K)^L of equations 3 and 5 that were looked up and found, from the first iteration on; "
        f"one chain of LSHSM as printed, room for {room:,} pairs. The share depends on the start, the size of the "
        "clusters and the length of the run, none of which the paper gives."
    )
    # a verdict on each start's share; no run of a stated length can be compared
    verdicts = []
    for data, claim in claims.items():
        here = table[table["data"] == data]
        if here.empty:
            verdicts.append(no_run(claim))
        for (start, size), line in here.groupby(["start", "N"], sort=False):
            passed = line[line["share"] >= claim.value]
            when = (
                f"passes the published share by iteration {passed['iterations'].iloc[0]:,}"
                if len(passed)
                else f"is below the published share up to iteration {line['iterations'].iloc[-1]:,}"
            )
            reason = f"the paper gives neither the start nor the length of the run, and the data are others; it {when} "
            verdict = untestable(claim, [line["share"].iloc[-1]], reason, BEGUN[start], unit="chains")
            verdicts.append(replace(verdict, on=f"N = {size:,}"))
    return Drawing(picture_cache(table, generated), table, verdicts, notes)


def picture_cache(numbers: pd.DataFrame, generated: bool = False) -> Figure:
    """A panel for each data set; `generated`: data stand in for ohsumed23."""
    on = [data for data in TITLES if (numbers["data"] == data).any()]
    claims = {c.data: c for c in published_claims("lshsm-cache")}
    figure, axes = plt.subplots(1, len(on), figsize=(FULL, 2.7), sharey=True, squeeze=False)
    for ax, data in zip(axes[0], on, strict=True):
        here = numbers[numbers["data"] == data]
        fewest = here.groupby("start")["K0"].min()
        for (start, K0, _), line in here.groupby(["start", "K0", "N"], sort=False):
            dashes = "--" if fewest[start] < K0 else "-"
            ax.plot(line["iterations"], line["share"], markersize=3.5, linestyle=dashes, **LOOKS[start])
        ax.axhline(claims[data].value, color=REFERENCE, linewidth=0.9, linestyle=(0, (2, 2)))
        sizes = [
            f"{K0:,} {'singletons' if start == 'singletons' else f'random clusters of {size:,}'}"
            for start, K0, size in here[["start", "K0", "N"]].drop_duplicates().itertuples(index=False)
        ]
        ax.set_title("generated, for PubMed" if generated and data == "PubMed" else TITLES[data], pad=16)
        ax.text(0, 1.03, "; ".join(sizes), transform=ax.transAxes, fontsize=7, color="#444444")
        ax.set(xscale="log", ylim=(0, 1), xlabel="iterations")
        ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{100 * y:g} %"))
        powers(ax.xaxis)
        ax.xaxis.set_minor_locator(NullLocator())
        ax.margins(x=0.08)
    axes[0][0].set_ylabel("served from the cache")
    key = [entry(markersize=3.5, label=words, **LOOKS[start]) for start, words in BEGUN.items()]
    printed = entry(color=REFERENCE, linewidth=0.9, linestyle=(0, (2, 2)), label="printed in the paper")
    legend(figure, [*key, printed])
    return figure


OWN = "paired_sequential"
"""The form of LSHSM that is compared."""
ASIDE: dict[str, Any] = {"textcoords": "offset points", "ha": "right", "va": "center", "fontsize": 6.5}
"""Looks of a word in place of marks."""
Cell = tuple[int, int, int]


def cell_of(run: Run) -> Cell:
    """N, D and the number of clusters of a run's data."""
    data = run.config["data"]
    return int(run.config["N"]), int(data["D"]), int(data["components"])


def times(runs: Sequence[Run], climbs: base.Climbs) -> pd.DataFrame:
    """Seconds to the level of every chain.

    Columns start, N, D, components, method, seed, seconds (infinite: not within the budget; NaN: no sampler found a
    better state than the start), budget.
    """
    rows = []
    budgets = {cell_of(run): float(run.config["budget"]) for run in runs}
    for (cell, start, method), chains in climbs.chains.items():
        for seed, climb in chains.items():
            level = climbs.level(cell, start, seed)
            seconds = climb.reaches(level, "seconds") if level > climb.log_joint[0] else np.nan
            rows.append((start, *cell, method, seed, seconds, budgets[cell]))
    return pd.DataFrame(rows, columns=["start", "N", "D", "components", "method", "seed", "seconds", "budget"])


def speed(runs: Sequence[Run]) -> Drawing:
    """Time to the best log joint, sampler by sampler."""
    climbs = base.Climbs(runs, by=cell_of)
    table = times(runs, climbs)
    methods = base.in_order(table["method"])
    starts = [start for start in base.STARTS if (table["start"] == start).any()]
    seeds = table.groupby(["N", "start", "D", "components", "method"])["seed"].nunique()
    least, most = seeds.min(), seeds.max()
    sets = f"{least} to {most} data sets" if least < most else f"{most} data sets" if most > 1 else "one data set"
    notes = (
        f"Normal distributions that differ in mean and variance; {sets} each, medians. Moves alone, no Gibbs scans; "
        f"equal time for all samplers at one N (grey). Level: {1 - base.TOLERANCE:.0%} of the climb of the log joint "
        f"to the best that any of them found, from either start. {_plainly(climbs, starts, methods)}"
    )
    claims = {c.metric: c for c in published_claims("lshsm-speed")}
    verdicts = []
    for other, start in product(("sdds", "rgsm"), starts):
        leads = [x for each in _leads(climbs, start, other).values() for x in each]
        verdicts.append(base.judge_ratio(claims[f"times_faster_than_{other}"], leads, base.STARTS[start]))
    for other, start in product(("sdds", "sams"), starts):
        # whether the ratio of times is larger at the largest N than at the smallest, over all kinds of data
        ratios: dict[Any, dict[int, float]] = {}
        for (n, *kind), of_cell in _leads(climbs, start, other).items():
            logs = np.log10([x.ratio for x in of_cell])
            if np.isfinite(logs).any():
                ratios.setdefault(tuple(kind), {})[n] = float(np.nanmean(logs))
        gains = [by_size[max(by_size)] - by_size[min(by_size)] for by_size in ratios.values() if len(by_size) > 1]
        what = f"log10 of time of {base.METHODS[other]} over LSHSM's, largest N minus smallest"
        reading = f"against {base.METHODS[other]}, {base.STARTS[start]}"
        growth, differences = claims["gain_grows_with_N"], {what: gains or [np.nan]}
        verdicts.append(by_sign(growth, differences, reading, unit="kinds of data"))
    return Drawing(picture_speed(table), table, verdicts, notes)


def picture_speed(numbers: pd.DataFrame) -> Figure:
    """A panel for each start; a row for each kind of data and size, a mark for each sampler."""
    cells = sorted(set(numbers[["components", "D", "N"]].itertuples(index=False, name=None)))
    methods = base.in_order(numbers["method"])
    starts = [start for start in base.STARTS if (numbers["start"] == start).any()]
    size = (FULL, 0.29 * len(cells) + 1.0)
    figure, axes = plt.subplots(1, len(starts), figsize=size, sharex=True, sharey=True, squeeze=False)
    by_cell = dict(list(numbers.groupby(["start", "components", "D", "N"])))
    for ax, start in zip(axes[0], starts, strict=True):
        for y, cell in enumerate(cells):
            _draw_times(ax, y, by_cell.get((start, *cell), numbers[:0]), methods)
        for y in range(0, len(cells) + 1):
            kinds = [cell[:2] for cell in cells[max(y - 1, 0) : y + 1]]
            if len(set(kinds)) > 1:
                ax.axhline(y - 0.5, color="#999999", linewidth=0.7)
        ax.set(xscale="log", xlabel="seconds to the level", title=f"start: {base.STARTS[start].removeprefix('from ')}")
        ax.set_ylim(len(cells) - 0.5, -0.5)
        ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        ax.grid(True, axis="x")
    axes[0][0].set_yticks(range(len(cells)), [f"{K} clusters, D = {D}, N = {N:,}" for K, D, N in cells])
    key = [entry(label=base.METHODS[method], **mark_alone(base.style_of(method))) for method in methods]
    late: dict[str, Any] = {"color": "#444444", "marker": "o", "markerfacecolor": "white", "linestyle": ""}
    legend(figure, [*key, entry(label="hollow: not within the time", **late)])
    return figure


def _draw_times(ax: Axes, row: int, table: pd.DataFrame, methods: Sequence[str]) -> None:
    """Draw the samplers' median times on one kind of data at a height, one below the other."""
    if table.empty:
        return
    budget = table["budget"].iloc[0]
    ax.plot([budget] * 2, [row - 0.45, row + 0.45], color="#999999", linewidth=1.2, zorder=1)
    if table["seconds"].isna().all():
        ax.annotate("none better than the start", (budget, row), (-4, 0), **ASIDE)
        return
    for place, method in enumerate(methods):
        seconds = float(table.loc[table["method"] == method, "seconds"].median())
        y = row + 0.23 * (place - (len(methods) - 1) / 2)
        look = base.style_of(method)
        ax.plot(min(seconds, budget), y, zorder=3, **(hollow(look) if np.isinf(seconds) else mark_alone(look)))


def _leads(climbs: base.Climbs, start: str, other: str) -> dict[Cell, list[base.Lead]]:
    """LSHSM against another sampler, by cell of the grid."""
    cells = sorted({on for on, s, _ in climbs.chains if s == start})
    leads_by_cell = {cell: climbs.leads(cell, start, OWN, other, "seconds") for cell in cells}
    return {cell: leads for cell, leads in leads_by_cell.items() if leads}


def _plainly(climbs: base.Climbs, starts: Sequence[str], methods: Sequence[str]) -> str:
    """Where LSHSM reaches the level before the others, and where not."""
    parts = []
    for start in starts:
        shares = []
        for other in methods:
            told = [x for each in _leads(climbs, start, other).values() for x in each if not x.lower]
            if other != OWN and told:
                shares.append(f"{base.METHODS[other]} on {sum(x.ahead for x in told)} of {len(told)}")
        parts.append(f"{base.STARTS[start]} before {', '.join(shares)}")
    return f"LSHSM reaches the level first, of the data sets on which either does: {'; '.join(parts)}."
