"""Table 1: NMI and accuracy of the best state of every chain."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.metrics import normalized_mutual_info_score

from splitmerge_cli.analysis.plots.races import option
from splitmerge_cli.analysis.plots.style import FULL, footnote
from splitmerge_cli.diagnostics.intervals import mean_interval
from splitmerge_cli.papers.claims import published_claims
from splitmerge_cli.papers.drawing import Drawing
from splitmerge_cli.papers.lshsm.runs import FORMS, METHODS, data_of, is_stand_in, method_of, style_of
from splitmerge_cli.papers.verdicts import Verdict, by_distance, by_sign, untestable
from splitmerge_cli.runs.initial import dataset_of
from splitmerge_cli.runs.store.read import Run

METRICS = ("nmi", "accuracy")
SETTINGS = {
    ("move_only", "one_cluster"): "moves alone, from one cluster",
    ("move_only", "singletons"): "moves alone, from singletons",
    ("full_scan", "one_cluster"): "a full Gibbs scan after each move, from one cluster",
}
"""Schedule and start of each block in the table."""
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
        own = data_of(run) if name in ("s1", "s2", "s3") else str(name)
        stored = run.diagnostics().set_index(["quantity", "chain"])["value"]
        rows.append(
            {
                "schedule": option(run, "schedule"),
                "start": run.config["init"],
                "method": method_of(run),
                "data": "ohsumed23" if is_stand_in(run) else own,
                "seed": int(run.config["seed"]),
                "nmi": geometric_nmi(truth, best["labels"]),
                "accuracy": float(stored["accuracy/best", 0]),
                "clusters": int(best["n_clusters"]),
            }
        )
    return pd.DataFrame(rows)


class _Row(NamedTuple):
    schedule: str
    start: str
    method: str


def table1(runs: Sequence[Run]) -> Drawing:
    """NMI and accuracy of all samplers, forms, starts and schedules."""
    table = scores(runs)
    seeds = table["seed"].nunique()
    stood_in = any(is_stand_in(run) for run in runs)
    notes = (
        f"S1 to S3: {seeds} data sets, a chain on each; the others one chain. NMI by the geometric mean of the "
        "entropies, accuracy by the best one-to-one match "
        "of clusters. –: no labels in public (KDDCUP04Bio: of the paper's 2,000 "
        "clusters; PubMed: none at all). kdd_like is generated in the manner of KDDCUP04Bio; "
        + (
            "in place of ohsumed23, which is absent, another such set."
            if stood_in
            else "ohsumed23: 23 categories of MEDLINE abstracts."
        )
    )
    numbers = _long(table)
    return Drawing(picture_table1(numbers), numbers, judge(table), notes)


def judge(table: pd.DataFrame) -> list[Verdict]:
    """Verdicts on every claim of the table, in each setting that was run."""
    verdicts: list[Verdict] = []
    for claim in published_claims("lshsm-table1"):
        if claim.data in NO_LABELS:
            verdicts.append(_without_labels(claim, table))
            continue
        for (schedule, start), title in SETTINGS.items():
            for form in FORMS if claim.sampler == "lshsm" else [claim.sampler]:
                rows = _rows_of(table, _Row(schedule, start, form), claim.data)
                reading = ", ".join([title, *([f"LSHSM: {FORMS[form]}"] if form in FORMS else [])])
                if claim.metric in METRICS:
                    verdicts += [by_distance(claim, rows[claim.metric], reading)] if len(rows) else []
                    continue
                # the accuracy of one sampler against another's, paired by data set: more, or the same
                other = claim.metric.rpartition("_")[2]
                against = _rows_of(table, _Row(schedule, start, other), claim.data)
                gain = (rows.set_index("seed")["accuracy"] - against.set_index("seed")["accuracy"]).dropna()
                if not len(gain):
                    continue
                if claim.metric.startswith("above"):
                    what = f"accuracy of {METHODS[form]} - of {METHODS[other]}"
                    verdicts.append(by_sign(claim, {what: gain}, reading))
                else:
                    verdicts.append(by_distance(claim, gain, reading))
    return verdicts


def picture_table1(numbers: pd.DataFrame) -> Figure:
    """The table, below what the paper printed."""
    means = numbers.pivot_table(index=["schedule", "start", "method", "data"], columns="score", values="mean")
    means = means.reset_index()
    rows: list[_Row | str] = []
    for (schedule, start), title in SETTINGS.items():
        here = means[(means["schedule"] == schedule) & (means["start"] == start)]
        rows += [title, *(_Row(schedule, start, m) for m in METHODS if (here["method"] == m).any())]
    figure, ax = plt.subplots(figsize=(FULL, ROW * (len(rows) + 7) + 0.3))
    _draw(ax, rows, means)
    footnote(figure, "NMI / accuracy of the state of highest log joint, means over data sets.")
    return figure


def _draw(ax: Axes, rows: Sequence[_Row | str], table: pd.DataFrame) -> None:
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
        ax.text(0.043, y, METHODS.get(sampler, "LSHSM"), ha="left", va="center", fontsize=7, color="#555555")
        for data in ("S1", "S2", "S3", "KDDCUP04Bio", "PubMed"):
            text = _cell(*(claims[data, sampler, metric] for metric in METRICS))
            ax.text(COLUMNS[data], y, text, ha="right", va="center", fontsize=7, color="#555555")
    for y, row in enumerate(rows):
        if isinstance(row, str):
            ax.plot([0, 1], [y - 0.5, y - 0.5], color="#cccccc", linewidth=0.6, clip_on=False)
            ax.text(0, y, row, ha="left", va="center", fontsize=7.2, fontweight="bold")
            continue
        style = style_of(row.method)
        ax.plot([0.0, 0.017, 0.034], [y] * 3, linewidth=1.4, solid_capstyle="butt", markevery=[1], **style)
        ax.text(0.043, y, METHODS[row.method], ha="left", va="center", fontsize=7)
        for data, place in COLUMNS.items():
            here = _rows_of(table, row, data)
            text = "–" if data in NO_LABELS else _cell(*here[list(METRICS)].mean()) if len(here) else ""
            ax.text(place, y, text, ha="right", va="center", fontsize=7)


def _rows_of(table: pd.DataFrame, row: _Row, data: str) -> pd.DataFrame:
    where = (table["schedule"] == row.schedule) & (table["start"] == row.start) & (table["method"] == row.method)
    return table[where & (table["data"] == data)]


def _cell(nmi: float, accuracy: float) -> str:
    return f"{nmi:.2f} / {accuracy:.2f}"


def _long(table: pd.DataFrame) -> pd.DataFrame:
    """Means and intervals over data sets, in long form."""
    rows = []
    for key, here in table.groupby(["schedule", "start", "method", "data"], sort=False):
        for metric in (*METRICS, "clusters"):
            mean, low, high = mean_interval(here[metric])
            where = dict(zip(("schedule", "start", "method", "data"), key, strict=True))
            rows.append({**where, "score": metric, "mean": mean, "low": low, "high": high, "chains": len(here)})
    return pd.DataFrame(rows)


def _without_labels(claim: Any, table: pd.DataFrame) -> Verdict:
    """No verdict; the reason has the score of the stand-in."""
    instead = {"KDDCUP04Bio": "kdd_like", "PubMed": "ohsumed23"}[claim.data]
    form = "paired_sequential" if claim.sampler == "lshsm" else claim.sampler
    parts = []
    for schedule, start in SETTINGS:
        here = _rows_of(table, _Row(schedule, start, form), instead)
        if len(here):
            parts.append(f"{np.mean(here[claim.metric]):.3f} {SETTINGS[schedule, start]}")
    return untestable(claim, [], f"{NO_LABELS[claim.data]}; in its place {instead}: {'; '.join(parts) or 'no run'}")
