"""Pictures of topics: the words of the largest ones, their sizes over the iterations, held-out perplexity."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, PowerNorm, to_rgb
from matplotlib.figure import Figure

from splitmerge_cli.analysis.plots import races, style
from splitmerge_cli.analysis.plots import run as runs_of_all_kinds
from splitmerge_cli.diagnostics.cluster_table import count_of, number_clusters
from splitmerge_cli.kinds.documents import PERPLEXITY, TOPIC_SIZES, TOPIC_WORDS, TOPICS
from splitmerge_cli.kinds.documents.topics import (
    LARGE,
    MATCHED,
    Topics,
    from_words,
    match,
    shorten_word,
    true_topics,
)
from splitmerge_cli.runs.initial import dataset_of
from splitmerge_cli.runs.store.read import Run

SHOWN = 12
"""Topics that are drawn at most, the largest."""
FEW_WORDS = 30
"""Words of a vocabulary that is drawn whole: topics are then rows of a map."""
BANDS = 24
"""Topics of an iteration that have a band of their own."""
LETTERS = 17
"""Letters of a word that are shown."""
_COLUMNS = 4
_BAR = "#3B6FA0"
_OTHER = "#666666"


def can_draw(run: Run) -> bool:
    """Whether the run is a finished one of topics."""
    return run.is_done and run.has_table(TOPICS)


def topics(run: Run) -> Figure:
    """Draw the topics in the last state of the chain with the highest log joint.

    A small vocabulary gives a map of all words, next to the true topics if they are known; otherwise the top words of
    the largest topics.
    """
    chain = run.summary["topics_of"]["chain"]
    table = run.table(TOPICS)
    table = table[table["chain"] == chain].reset_index(drop=True)
    K, sizes, sampler = len(table), run.summary["documents"], style.title_of(races.option(run, "sampler"))
    held = f"{count_of(sizes['documents'], 'document')}, {count_of(sizes['tokens'], 'token')}"
    where = f"{races.option(run, 'data')} ({held})"
    title = f"{count_of(K, 'topic')} of {where}, {sampler}, seed {run.config['seed']}"
    if sizes["words"] <= FEW_WORDS:
        dataset, words = dataset_of(run), run.table(TOPIC_WORDS)
        words, vocabulary = words[words["chain"] == chain], pd.Index(dataset.vocabulary)
        topics_of_chain = from_words(words, run.summary["hyperparameters"]["eta"], vocabulary)
        return word_map(topics_of_chain, true_topics(dataset), list(vocabulary), title, chain)
    first_words = f"The {SHOWN} largest of {K} topics. " if K > SHOWN else ""
    note = (
        f"{first_words}Last state of chain {chain}, the one of highest log joint. Bars: posterior mean of a word's "
        "probability, on one scale in each row. Above them: number and share of the topic, and coherence (NPMI of the "
        "top words over the documents, from −1 to 1)."
    )
    return bars(table, title, note)


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.0995 else f"{share:.1%}" if share >= 0.0005 else "<0.1%"


def _short(word: str) -> str:
    return style.plain_text(shorten_word(word, LETTERS))


def bars(table: pd.DataFrame, title: str, note: str) -> Figure:
    """Draw the top words of the largest topics, a panel each; panels of a row share a scale.

    `table`: rows of ``topics.parquet`` of one chain, largest topic first; `title` and `note` stand above and below.
    """
    shown = list(table.head(SHOWN).itertuples())
    columns = min(_COLUMNS, len(shown))
    rows = -(-len(shown) // columns)
    words = max(len(row.top_words) for row in shown)
    size = (style.FULL, rows * (0.118 * words + 0.47) + 0.65)
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, sharex="row")
    for ax, row in zip(axes.flat, shown, strict=False):
        places = np.arange(len(row.top_words))
        ax.barh(places, row.top_probabilities, height=0.72, color=_BAR, linewidth=0)
        ax.set_yticks(places, [_short(word) for word in row.top_words], fontsize=6.5)
        ax.set_ylim(words - 0.4, -0.6)
        ax.set_title(f"{row.topic}: {_percent(row.share)}", fontsize=7.5, fontweight="bold", pad=3)
        if not pd.isna(row.coherence):
            ax.set_title(f"NPMI {row.coherence:.2f}".replace("-", "−"), loc="right", fontsize=6.5, color=_OTHER, pad=3)
        ax.tick_params(axis="y", length=0, pad=2)
        ax.tick_params(axis="x", length=0, pad=2, labelsize=6)
        ax.locator_params(axis="x", nbins=3)
        ax.xaxis.set_major_formatter("{x:g}")
        ax.spines[["left", "bottom"]].set_visible(False)
        ax.grid(axis="y", visible=False)
        ax.grid(axis="x", visible=True)
    for k, of_row in enumerate(axes):
        part = shown[k * columns : (k + 1) * columns]
        of_row[0].set_xlim(0, 1.04 * max(float(max(row.top_probabilities)) for row in part))
    for ax in axes.flat[len(shown) :]:
        ax.axis("off")
    for ax in axes[(len(shown) - 1) // columns]:
        ax.set_xlabel("probability", fontsize=7)
    figure.suptitle(title, x=0.01, ha="left")
    style.footnote(figure, note)
    return figure


def word_map(topics_drawn: Topics, truth: Topics | None, vocabulary: Sequence[str], title: str, chain: int) -> Figure:
    """Draw probabilities of all words, a row for each topic; the true topics next to them, in the order of their
    matches.

    Topics are over the words of the vocabulary; the note says of which `chain` they are.
    """
    note = f"Last state of chain {chain}, the one of highest log joint; posterior means of the words' probabilities."
    panels = [("found", topics_drawn, np.arange(len(topics_drawn.shares)))]
    if truth is not None:
        same = match(topics_drawn, truth)
        note += (
            " True topics stand next to the topics that they match best (Hungarian method, Hellinger distance): mean "
            f"similarity {same.similarity:.2f}; {same.matched} matched (similarity {MATCHED:g} at least, both with "
            f"{LARGE:.0%} of the tokens or more)."
        )
        # in the order of the found ones that they are matched with, the others by size
        partners = same.pairs[np.argsort(same.pairs[:, 0]), 1]
        others = np.setdiff1d(np.argsort(-truth.shares, kind="stable"), partners, assume_unique=True)
        panels.append(("true", truth, np.concatenate([partners, others])))
    rows = max(len(order) for _, _, order in panels)
    figure, axes = plt.subplots(1, len(panels), figsize=(style.FULL, min(8.5, 0.17 * rows + 1.35)), squeeze=False)
    values = [topics.probabilities()[order] for _, topics, order in panels]
    largest = max(float(value.max()) for value in values)
    words = [_short(word) for word in vocabulary]
    upright = max(map(len, vocabulary)) * len(vocabulary) <= 40
    scale = LinearSegmentedColormap.from_list("topics", ["#FFFFFF", "#9FC1DE", _BAR, "#12304C"])
    for ax, (name, topics, order), value in zip(axes[0], panels, values, strict=True):
        # by the root: one word of probability 1 would leave the topics of many words pale
        image = ax.imshow(value, aspect="auto", cmap=scale, norm=PowerNorm(0.5, 0, largest), interpolation="nearest")
        ax.hlines(np.arange(len(order) + 1) - 0.5, -0.5, len(vocabulary) - 0.5, color="#D8D8D8", linewidth=0.5)
        rows_named = [_percent(topics.shares[k]) for k in order]
        if name == "found":
            # as in the tables of the run
            rows_named = [f"{number_clusters(k)}: {share}" for k, share in enumerate(rows_named)]
        ax.set_yticks(range(len(order)), rows_named, fontsize=6.5)
        ax.set_xticks(range(len(words)), words, fontsize=6.5, rotation=0 if upright else 90)
        ax.set_ylim(rows - 0.5, -0.5)
        ax.set_title(f"{count_of(len(order), f'{name} topic')}")
        ax.grid(visible=False)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
    axes[0][0].set_ylabel("topic: share of the tokens")
    figure.colorbar(image, ax=list(axes[0]), shrink=0.9, pad=0.015, aspect=24, label="probability of the word")
    figure.suptitle(title, x=0.01, ha="left")
    style.footnote(figure, note)
    return figure


def stack_sizes(ax: Axes, frame: pd.DataFrame, colour: str, most_rows: int) -> pd.DataFrame:
    """Draw the shares of one chain's topics, largest at the bottom; those beyond `BANDS` as one band.

    `frame` has iteration and sizes of ``topic_sizes.parquet``, of which `most_rows` rows are drawn; the `colour`
    belongs to the largest topic, the others are lighter. Returns what is drawn: iteration, topics_1 (share of the
    largest), topics_2 (of the two largest), ...
    """
    part = frame.iloc[races.thinned_rows(len(frame), most_rows)]
    iteration, sizes = part["iteration"].to_numpy(), part["sizes"].tolist()
    K = min(BANDS, max(len(row) for row in sizes))
    upto = np.zeros((len(sizes), K))
    for row, of_state in zip(upto, sizes, strict=True):
        held = np.cumsum(of_state[:K]) / np.sum(of_state)
        row[: len(held)], row[len(held) :] = held, held[-1]
    base = np.array(to_rgb(colour))
    below = np.zeros(len(upto))
    for k, above in enumerate(upto.T):
        colour_of_band = base + (1 - base) * (0.1 + 0.7 * (1 - 0.85**k))
        ax.fill_between(iteration, below, above, color=colour_of_band, edgecolor="white", linewidth=0.25)
        below = above
    ax.fill_between(iteration, below, 1.0, color="#EFEFEF", linewidth=0)
    ax.set_ylim(0, 1)
    if len(iteration) > 1:
        ax.set_xlim(iteration[0], iteration[-1])
    ax.grid(False)
    drawn = pd.DataFrame(upto, columns=[f"topics_{k + 1}" for k in range(K)])
    drawn.insert(0, "iteration", iteration)
    return drawn


def draw_perplexity(ax: Axes, table: pd.DataFrame, colour: str) -> None:
    """Draw held-out perplexity, columns chain, iteration, perplexity, averaged of ``perplexity.parquet``: of the
    states, and with probabilities averaged over the second half of them."""
    for k, (_, chain) in enumerate(table.groupby("chain", sort=True)):
        x = chain["iteration"].to_numpy()
        mark = "o" if len(x) < 40 else ""
        label = ("of the state", "averaged over states") if k == 0 else (None, None)
        states: dict[str, Any] = {"color": _OTHER, "alpha": 0.45, "linewidth": 0.7, "markersize": 2}
        ax.plot(x, chain["perplexity"], marker=mark, label=label[0], **states)
        ax.plot(x, chain["averaged"], color=colour, linewidth=1.2, marker=mark, markersize=2.5, label=label[1])
    ax.set_ylabel("held-out\nperplexity")
    ax.legend(loc="upper right", ncols=2, fontsize=6.5, borderaxespad=0.1)


def traces(run: Run) -> Figure:
    """Draw the chains of a run with, if it is finished, the perplexity of held-out documents, where it was evaluated,
    and the shares of the topics."""
    if not can_draw(run):
        return races.traces(run)
    colour = style.colour_of(races.option(run, "sampler"))

    def draw_shares(ax: Axes) -> None:
        stack_sizes(ax, run.table(TOPIC_SIZES).query("chain == 0"), colour, most_rows=1000)
        ax.set(xlabel="iteration", ylabel="shares of topics,\nchain 0")
        ax.xaxis.set_major_formatter("{x:,.0f}")

    panels = [races.Panel("shares", draw_shares)]
    if run.has_table(PERPLEXITY):
        panels.insert(0, races.Panel("perplexity", lambda ax: draw_perplexity(ax, run.table(PERPLEXITY), colour)))
    return races.traces(run, panels, races.QUANTITIES | {"K": "topics K"})


PICTURES = {
    "traces": replace(runs_of_all_kinds.PICTURES["traces"], draw=traces),
    "topics": races.Picture(
        "What are the topics about?",
        "bars of the probabilities of the top words, a panel for each topic; of few words a heat map",
        can_draw,
        topics,
    ),
}
"""Pictures of runs of documents, by name."""
