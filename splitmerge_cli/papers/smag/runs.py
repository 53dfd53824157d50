"""The runs of Rana et al. 2013: which they are, when a chain has found its topics, and what was accepted by then; and
Figure 2, the generated corpus."""

from collections.abc import Iterable, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, PowerNorm
from matplotlib.image import AxesImage
from numpy.typing import NDArray

from splitmerge_cli.analysis.plots.races import option, pick
from splitmerge_cli.analysis.plots.style import FULL, look_of, mark
from splitmerge_cli.config import RunSpecification
from splitmerge_cli.kinds.documents.topics import counts
from splitmerge_cli.papers.claims import published_claims
from splitmerge_cli.papers.drawing import Drawing
from splitmerge_cli.papers.verdicts import holds
from splitmerge_cli.runs.store.read import Run

MAP = LinearSegmentedColormap.from_list("shares", ["#FFFFFF", "#9FC1DE", "#3B6FA0", "#12304C"])


def groups(spec: RunSpecification) -> pd.DataFrame:
    """The topics, the groups and their mixtures.

    Columns panel (topics: probabilities of words; groups: tokens of words; mixtures: weights of topics), row (topic or
    group, from 1), column (word, or topic from 1), value.
    """
    dataset = spec.data.function(**spec.data.options)
    corpus, words = dataset.values, list(dataset.vocabulary)
    of_groups = counts(corpus.tokens.documents(), corpus.tokens.words, (corpus.tokens.J, corpus.V)).toarray()
    names = [str(t + 1) for t in range(len(corpus.topics))]
    return pd.concat(
        [
            long_form("topics", corpus.topics, words),
            long_form("groups", of_groups, words),
            long_form("mixtures", corpus.mixtures, names),
        ],
        ignore_index=True,
    )


def long_form(panel: str, values: NDArray[np.float64], columns: Sequence[str]) -> pd.DataFrame:
    """A matrix as rows: panel, row (from 1), column, value."""
    rows, width = values.shape
    return pd.DataFrame(
        {
            "panel": panel,
            "row": np.repeat(np.arange(1, rows + 1), width),
            "column": list(columns) * rows,
            "value": values.ravel().astype(float),
        }
    )


def fig2(table: pd.DataFrame) -> Drawing:
    """The ten topics, and the four groups as bags of words with their mixtures."""
    by_panel = (table[table["panel"] == panel] for panel in ("topics", "groups", "mixtures"))
    topics, bags, mixtures = (
        rows.pivot(index="row", columns="column", values="value")[list(dict.fromkeys(rows["column"]))]
        for rows in by_panel
    )
    figure = plt.figure(figsize=(FULL, 3.1))
    left, right = figure.subfigures(1, 2, width_ratios=[1, 1.35], squeeze=False)[0]
    ax = left.subplots()
    image = shares_map(ax, topics.to_numpy(), [f"{t}" for t in topics.index], list(topics.columns))
    ax.set(title="(a) The ten topics", xlabel="word", ylabel="topic")
    left.colorbar(image, ax=ax, shrink=0.85, pad=0.02, aspect=22, label="probability")
    axes = right.subplots(len(bags), 2, sharex="col", sharey="col")
    for k, (group, row) in enumerate(zip(bags.index, axes, strict=True)):
        for cell, values, colour in ((row[0], bags, "#3B6FA0"), (row[1], mixtures, "#7A7A7A")):
            cell.bar(range(len(values.columns)), values.loc[group], width=0.78, color=colour, linewidth=0)
            cell.set_xticks(range(len(values.columns)), list(values.columns), fontsize=6.5)
            cell.tick_params(length=0, labelsize=6.5)
            cell.locator_params(axis="y", nbins=3)
        row[0].set_ylabel(f"group {group}")
        if k == 0:
            row[0].set_title("(b) The four groups: words")
            row[1].set_title("their mixtures")
    axes[-1][0].set_xlabel("word")
    axes[-1][1].set_xlabel("topic")
    tokens = bags.to_numpy().sum(axis=1)
    notes = (
        f"Topic t is uniform on words t to {len(topics)}. Groups of {tokens[0]:,.0f} words (the paper gives no "
        "number), mixtures uniform on the simplex: data=groups4, data.seed=0."
    )
    phi = topics.to_numpy()
    judged = {
        "topics": (len(phi) == TRUE_K, float(len(phi)), f"{len(phi)} topics over {phi.shape[1]} words"),
        "first_topic_uniform": (
            bool(np.ptp(phi[0]) < 1e-12),
            float(phi[0].max()),
            f"every word has probability {phi[0, 0]:.3g}",
        ),
        "last_topic_one_word": (
            bool((phi[-1] > 0).sum() == 1),
            float((phi[-1] > 0).sum()),
            f"words of topics 1 to {len(phi)}: {', '.join(map(str, (phi > 0).sum(axis=1)))}",
        ),
        "groups": (len(bags) == 4, float(len(bags)), f"{len(bags)} groups, {int(bags.to_numpy().sum()):,} words"),
    }
    verdicts = []
    for claim in published_claims("smag-fig2"):
        true, value, reason = judged[claim.metric]
        verdicts.append(holds(claim, value, true, reason))
    return Drawing(figure, table, verdicts, notes)


def shares_map(ax: Axes, values: NDArray[np.float64], rows: Sequence[str], columns: Sequence[str]) -> AxesImage:
    """A map of shares, rows and columns named, on a square-root scale, because many shares are small."""
    image = ax.imshow(values, aspect="auto", cmap=MAP, norm=PowerNorm(0.5, 0, 1), interpolation="nearest")
    ax.set_xticks(range(len(columns)), columns, fontsize=6.5)
    ax.set_yticks(range(len(rows)), rows, fontsize=6.5)
    ax.tick_params(length=0)
    ax.grid(visible=False)
    ax.spines[:].set(visible=True, color="#CCCCCC")
    return image


METHODS = {
    "gibbs": "Gibbs alone",
    "coin": "split-merge, exact, coin",
    "pair": "split-merge, exact, pair",
    "text": "as printed, text",
    "box": "as printed, Algorithm 1",
}
"""Gibbs scans alone, and with the forms of split-merge, in the order of legends and tables."""
FORMS = {"coin": "exact", "text": "as printed"}
"""Forms of split-merge under which claims are judged."""
STYLES: dict[str, dict[str, Any]] = {
    "gibbs": look_of("gibbs"),
    "coin": look_of("smag", dashed=False),
    "pair": {"color": "#5A3E99", "linestyle": (0, (5, 1.5)), **mark("^")},
    "text": {"color": "#D55E00", "linestyle": (0, (4, 1, 1, 1)), **mark("s")},
    "box": {"color": "#CC79A7", "linestyle": (0, (1.5, 1)), **mark("v")},
}
STARTS = {"one_cluster": "from one topic", "random": "from five random topics"}
SETTINGS = {"groups4": "four groups", "docs200": "200 documents", "nearest": "40 documents (nearest)"}
"""Generated corpora with their hyper-parameters: the paper's, another, and where its claims come nearest."""
TRUE_K = 10


def method_of(run: Run) -> str:
    """Gibbs alone, or the form of split-merge."""
    sampler = run.config["sampler"]
    if sampler["name"] == "gibbs":
        return "gibbs"
    return str(sampler["form"] if sampler["mode"] == "as_printed" else sampler["choice"])


def start_of(run: Run) -> str:
    """The start of a run."""
    return str(run.config["init"] or "random")


def setting_of(run: Run) -> str:
    """Data and model of a generated corpus: ``groups4`` and ``docs200`` as they are, or ``nearest``."""
    return "nearest" if isinstance(run.config["model"]["gamma"], (int, float)) else str(option(run, "data"))


def describe_setting(run: Run) -> tuple[str, str]:
    """Documents, and hyper-parameters, in words."""
    data, model = run.config["data"], run.config["model"]
    names = {"γ": model["gamma"], "α₀": model["alpha0"], "η": model["eta"]}
    kept = [f"{k} = {str(v).replace('gamma', 'Γ') if isinstance(v, str) else f'{v:g}'}" for k, v in names.items()]
    return f"{run.config['N']} × {data['length']:,} words, Dir({data['concentration']:g})", ", ".join(kept)


def select(runs: Iterable[Run], setting: str, start: str, method: str) -> list[Run]:
    """The runs of a method on a setting from a start, by seed, of the largest number of iterations."""
    candidates = beginnings(runs, setting, start, method)
    longest = max((run.config["iterations"] for run in candidates), default=0)
    return [run for run in candidates if run.config["iterations"] == longest]


def beginnings(runs: Iterable[Run], setting: str, start: str, method: str) -> list[Run]:
    """Return the runs of a setting, start and method, whatever their number of iterations."""
    return pick(r for r in runs if (setting_of(r), start_of(r), method_of(r)) == (setting, start, method))


def reading(setting: str, start: str, method: str) -> str:
    """How the paper was read, for a verdict."""
    return ", ".join([SETTINGS[setting], STARTS[start], *([FORMS[method]] if method in FORMS else [])])


def describe_seeds(runs: Sequence[Run]) -> str:
    """Data sets and chains in words."""
    seeds = len({run.config["seed"] for run in runs})
    chains = max(run.config["chains"] for run in runs)
    return f"{seeds} data sets, {chains} chains on each" if seeds > 1 else f"One data set, {chains} chains"
