"""Pictures of entities, of which the items are records."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from splitmerge_cli.analysis.plots.races import Picture, option, subject
from splitmerge_cli.analysis.plots.style import CYCLE, FULL, HALF, REFERENCE, colour_of, footnote, plain_text
from splitmerge_cli.diagnostics.cluster_table import count_of, shorten
from splitmerge_cli.kinds.records import entities, weights
from splitmerge_cli.runs.initial import dataset_of
from splitmerge_cli.runs.store.read import Run

MOST_SHOWN = 12
"""Pairs of records on the page of uncertain ones."""
LETTERS = 70
"""Letters of a record there."""


def can_draw(run: Run) -> bool:
    """Whether a finished run lists entities."""
    return run.is_done and "entities" in run.summary


def has_pairs(run: Run) -> bool:
    """Whether it has uncertain pairs to show."""
    return can_draw(run) and bool(run.summary["entities"].get("to_review")) and (run.path / entities.REVIEW).is_file()


def sizes(run: Run) -> Figure:
    """Draw how many entities have so many records."""
    counts = np.array(run.summary["entities"]["sizes"])
    figure, ax = plt.subplots(figsize=(HALF, 2.7))
    ax.bar(counts[:, 0], counts[:, 1], width=0.8, color=colour_of(option(run, "sampler")), alpha=0.6)
    for size, count in counts.tolist()[:12]:
        ax.annotate(f"{count:,}", (size, count), (0, 2), textcoords="offset points", ha="center", fontsize=6.5)
    ax.set_yscale("symlog", linthresh=1)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    limits = {"xlim": (0.4, counts[:, 0].max() + 0.6), "ylim": (0, 3 * counts[:, 1].max())}
    ax.set(xlabel="records of an entity", ylabel="entities", **limits)
    ax.set_title(f"How many records does an entity have?\n{subject(run)}")
    return figure


def pair_probabilities(run: Run) -> Figure:
    """Draw a histogram of the probabilities that two records are one entity."""
    p = np.array([float(row["probability"]) for row in entities.read_rows(run, entities.PAIRS)])
    figure, ax = plt.subplots(figsize=(HALF, 2.7))
    ax.hist(p, np.linspace(0, 1, 2 * entities.BINS + 1).tolist(), color=colour_of(option(run, "sampler")), alpha=0.6)
    ax.set_yscale("symlog", linthresh=1)
    ax.set(xlabel="probability of being of one entity", ylabel="pairs of records", xlim=(0, 1), ylim=(0, None))
    ax.set_title(f"Which pairs are certain?\n{subject(run)}")
    return figure


def pair_calibration(run: Run) -> Figure:
    """Draw the share of pairs that are of one entity in truth against their probability."""
    bins = np.array(run.summary["entities"]["calibration"])
    figure, ax = plt.subplots(figsize=(HALF, 3.0))
    ax.plot([0, 1], [0, 1], color=REFERENCE, linewidth=0.8, linestyle=":")
    number, p, share = bins.T
    # two standard errors of a share
    error = 2 * np.sqrt(p * (1 - p) / number)
    ax.errorbar(p, share, error, color=colour_of(option(run, "sampler")), marker="o", markersize=3.5, linewidth=1)
    for n, x, y in bins.tolist():
        ax.annotate(f"{n:,.0f}", (x, y), (4, -9 if y > 0.1 else 3), textcoords="offset points", fontsize=6)
    ax.set(xlabel="probability of being of one entity", ylabel="share that are of one entity", xlim=(0, 1), ylim=(0, 1))
    ax.set_aspect("equal")
    ax.set_title(f"Are the probabilities of pairs right?\n{subject(run)}", fontsize=7.5)
    footnote(figure, "Numbers: pairs of a bin. Bars: two standard errors\nif the probabilities are right.")
    return figure


def uncertain_pairs(run: Run) -> Figure:
    """Draw the records of the pairs to label first side by side, as text."""
    fields, rows = entities.read_review_rows(run.path / entities.REVIEW, MOST_SHOWN)
    figure, ax = plt.subplots(figsize=(FULL, 0.9 + 0.36 * len(rows)))
    ax.set_axis_off()
    texts = entities.align_records([record for _, one, other in rows for record in (one, other)], LETTERS)
    for k, (row, _, _) in enumerate(rows):
        y = 1 - (k + 0.5) / len(rows)
        ax.text(0, y, f"{float(row['probability']):.2f}", ha="left", va="center", fontsize=8, weight="bold")
        for number, text, step in ((row["row"], texts[2 * k], 0.16), (row["other"], texts[2 * k + 1], -0.16)):
            ax.text(0.07, y + step / len(rows), number, va="center", ha="right", fontsize=6.5, color="#666666")
            ax.text(0.08, y + step / len(rows), plain_text(text), va="center", fontsize=6.5, family="monospace")
    ax.set(xlim=(0, 1), ylim=(0, 1))
    ax.set_title(f"Of {count_of(run.summary['entities']['to_review'], 'pair')} to label: {subject(run)}")
    footnote(
        figure,
        f"Probability of being of one entity; rows as in {entities.REVIEW}; fields: {plain_text(', '.join(fields))}",
    )
    return figure


def shown_pairs(run: Run, most: int) -> NDArray[np.int64]:
    """The pairs of a finished run whose weights are shown, int64 ``[P, 2]`` from 0: those that a person should label;
    without any, the least certain of those that are listed."""
    review = run.path / entities.REVIEW
    rows = [row for row, _, _ in entities.read_review_rows(review, most)[1]] if review.is_file() else []
    rows = (
        rows
        or sorted(entities.read_rows(run, entities.PAIRS), key=lambda row: abs(float(row["probability"]) - 0.5))[:most]
    )
    return np.array([[int(row["row"]) - 1, int(row["other"]) - 1] for row in rows], dtype=np.int64)


def match_weights(run: Run) -> Figure:
    """Draw the weights of some pairs, each from its prior to its posterior, field by field."""
    ends = shown_pairs(run, MOST_WEIGHED)
    table, dataset = weights.weights_of_run(run, ends), dataset_of(run)
    words = [list(entities.texts_of(dataset, dataset.values[rows]).values()) for rows in ends.T]
    names = [plain_text(shorten(str(name), CELL)) for name in list(table)[3:]]
    across = min(2, len(ends))
    rows = -(-len(ends) // 2)
    height = 0.6 + 0.24 * len(names)
    reached = list[float]()
    figure, axes = plt.subplots(rows, across, figsize=(FULL, rows * height + 0.5), sharex=True, squeeze=False)
    for ax in axes.ravel()[len(ends) :]:
        ax.set_axis_off()
    for k, ax in enumerate(axes.ravel()[: len(ends)]):
        terms = table.iloc[k, 3:].to_numpy(dtype=float)
        end = np.cumsum(terms[:-1])
        # the first and the last bar begin at even odds
        start = np.concatenate([[0.0], end[:-1], [0.0]])
        colour = np.where(terms > 0, CYCLE[0], CYCLE[1]).tolist()
        ax.barh(np.arange(len(terms)), terms, left=start, height=0.62, color=colour, alpha=0.75)
        for y, (left, width) in enumerate(zip(start.tolist(), terms.tolist(), strict=True)):
            place = {"xy": (max(left, left + width), y), "xytext": (3, 0), "textcoords": "offset points"}
            ax.annotate(f"{width:+.1f}" if abs(width) >= 0.05 else "0", **place, va="center", fontsize=6)
        reached += [0.0, *end.tolist()]
        ax.vlines(end, np.arange(len(end)), np.arange(len(end)) + 1, color=REFERENCE, linewidth=0.4)
        labels = names[:1]
        for name, *cells in zip(names[1:], *words, strict=False):
            texts = [plain_text(shorten(of_pair[k], CELL)) if of_pair[k] else "–" for of_pair in cells]
            # one alone if they are equal
            labels.append(f"{name}: {' | '.join(dict.fromkeys(texts))}")
        ax.set_yticks(np.arange(len(terms)), [*labels, *names[len(labels) :]], fontsize=6)
        ax.invert_yaxis()
        ax.axvline(0.0, color=REFERENCE, linewidth=0.6)
        row, other = table.iloc[k, :2].astype(int)
        ax.set_title(f"rows {row} and {other}: probability {table.iloc[k, 2]:.2f}", fontsize=7.5)
    for ax in axes[-1]:
        ax.set_xlabel("weight (log2 of the odds)")
    # with room for the numbers behind the bars
    room = 0.12 * np.ptp(reached)
    axes[0, 0].set_xlim(min(reached) - 0.3 * room, max(reached) + room)
    figure.suptitle(f"What speaks for a pair? {subject(run)}", x=0.01, ha="left", fontsize=9)
    footnote(figure, WEIGHTS_NOTE)
    return figure


WEIGHTS_NOTE = (
    "Prior: two single records becoming one entity. Fields: likelihood ratio of the two cells. The rest: up to the "
    "posterior odds, by other records of the entities, labels, and shares of errors that are not certain."
)
MOST_WEIGHED = 6
"""Pairs whose weights are drawn."""
CELL = 14
"""Letters of a cell there."""


PICTURES = {
    "match_weights": Picture(
        "What speaks for and against a pair of records?",
        "bars of the weights of the prior, each field and the rest, one after the other, up to the posterior",
        lambda run: can_draw(run) and bool(run.summary["entities"].get("pairs")),
        match_weights,
        section="certainty",
    ),
    "entity_sizes": Picture(
        "How many records do entities have?",
        "bars of the number of entities over their number of records",
        can_draw,
        sizes,
        in_column=True,
        section="number",
    ),
    "uncertain_pairs": Picture(
        "Which pairs of records should a person look at?",
        "table of both records of the pairs to label first, with the probability of being of one entity",
        has_pairs,
        uncertain_pairs,
        section="certainty",
    ),
    "pair_probabilities": Picture(
        "How many pairs of records are certain?",
        "bars of the number of pairs of records over the probability of being of one entity",
        lambda run: can_draw(run) and "pairs" in run.summary["entities"],
        pair_probabilities,
        in_column=True,
        section="certainty",
    ),
    "pair_calibration": Picture(
        "Are the probabilities of pairs right?",
        "line of the share of pairs that are of one entity in truth over their probability, with the diagonal",
        lambda run: can_draw(run) and bool(run.summary["entities"].get("calibration")),
        pair_calibration,
        in_column=True,
        section="certainty",
    ),
}
"""Pictures of runs of records, by name."""
