"""Figure 4: how the topics found, and the mixtures of the groups, are confused with the true ones."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from numpy.typing import NDArray

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.diagnostics.intervals import mean_interval
from splitmerge_cli.kinds.documents.topics import LARGE, MATCHED, Topics, counts, match
from splitmerge_cli.papers.claims import Claim, published_claims
from splitmerge_cli.papers.drawing import Drawing, in_parts
from splitmerge_cli.papers.smag.runs import (
    FORMS,
    METHODS,
    SETTINGS,
    STARTS,
    TRUE_K,
    describe_seeds,
    describe_setting,
    long_form,
    reading,
    select,
    setting_of,
    shares_map,
)
from splitmerge_cli.papers.verdicts import Verdict, by_majority, by_sign
from splitmerge_cli.runs.initial import dataset_of
from splitmerge_cli.runs.store.read import Run

COLUMNS = ("gibbs", "coin", "text", "best")
REFERENCE = "knowing topics and mixtures"
OTHER = "–"
"""Column of what no true topic is matched with."""


@dataclass(frozen=True)
class Found:
    """The last state of a chain against the truth; found topics are named by the true ones that they match.

    `confusion` ``[T, T + 1]``, `mixtures` ``[J, T + 1]``: share of the tokens of each true topic, of each document,
    that has each name, none last; `overlap`: mean over documents of the sum of the smaller of true and found weight;
    `matched`: true topics that were found (`splitmerge_cli.kinds.documents.topics.Match`).
    """

    confusion: NDArray[np.float64]
    mixtures: NDArray[np.float64]
    overlap: float
    matched: int

    @property
    def diagonal(self) -> float:
        """Share of tokens that have their true topic's name, averaged over true topics."""
        return float(np.diag(self.confusion).mean())


def confuse(labels: NDArray[np.int32], data: Dataset, eta: float) -> Found:
    """One state, int32 ``[N]``, topic of every token from 0, against the truth of a generated corpus."""
    corpus, truth = data.values, data.truth
    assert truth is not None
    T, K = len(corpus.topics), int(labels.max()) + 1
    states = Topics.of_counts(counts(labels, corpus.tokens.words, (K, corpus.V)), eta)
    true = Topics.of_probabilities(corpus.topics, np.bincount(truth, minlength=T) / data.N)
    same = match(states, true)
    name = np.full(K, T, dtype=np.int32)
    name[same.pairs[:, 0]] = same.pairs[:, 1]
    named = name[labels]
    mixtures = _shares(corpus.tokens.documents(), named, (corpus.tokens.J, T + 1))
    overlap = np.minimum(mixtures[:, :T], corpus.mixtures).sum(axis=1).mean()
    return Found(_shares(truth, named, (T, T + 1)), mixtures, float(overlap), same.matched)


def _shares(rows: NDArray[np.int32], columns: NDArray[np.int32], shape: tuple[int, int]) -> NDArray[np.float64]:
    """Share of each row's tokens in each column; 0 in a row without tokens."""
    table = counts(rows, columns, shape).toarray().astype(float)
    return table / np.maximum(table.sum(axis=1, keepdims=True), 1)


def best_possible(data: Dataset) -> Found:
    """Return how well tokens show their topics given topics and mixtures: expectations under that posterior."""
    corpus, truth = data.values, data.truth
    assert truth is not None
    T, J, document = len(corpus.topics), corpus.tokens.J, corpus.tokens.documents()
    weights = corpus.mixtures[document] * corpus.topics[:, corpus.tokens.words].T
    weights /= weights.sum(axis=1, keepdims=True)
    tables = []
    for rows, n in ((truth, T), (document, J)):
        sums = np.zeros((n, T + 1))
        np.add.at(sums[:, :T], rows, weights)
        tables.append(sums / np.maximum(np.bincount(rows, minlength=n)[:, None], 1))
    overlap = np.minimum(tables[1][:, :T], corpus.mixtures).sum(axis=1).mean()
    return Found(tables[0], tables[1], float(overlap), T)


class States:
    """The last states of all chains of runs, by setting, start and method."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self.runs = runs
        self._of: dict[tuple[str, str, str], dict[tuple[int, int], Found]] = {}

    def states_of(self, setting: str, start: str, method: str) -> dict[tuple[int, int], Found]:
        """The states of a method, by seed and chain."""
        key = (setting, start, method)
        if key not in self._of:
            states = self._of[key] = dict[tuple[int, int], Found]()
            for run in select(self.runs, *key):
                partitions = run.partitions(["chain", "iteration", "labels"])
                last = partitions[partitions["iteration"] == run.config["iterations"]]
                data, eta, seed = dataset_of(run), run.config["model"]["eta"], run.config["seed"]
                states |= {(seed, int(r.chain)): confuse(np.asarray(r.labels), data, eta) for r in last.itertuples()}
        return self._of[key]


def fig4(runs: Sequence[Run]) -> Drawing:
    """Confusion of the topics' tokens, and the groups' mixtures, by sampler, compared with the best possible."""
    states = States(runs)
    settings = [s for s in SETTINGS if any(setting_of(run) == s for run in runs)]
    frames = []
    label_by_panel: dict[tuple[str, str, str], str] = {}
    for setting, column in product(settings, COLUMNS):
        of_panel = _panel_states(states, setting, column)
        label_by_panel[setting, column, "topics"] = _numbers(of_panel, column)
        frames.append(_long(setting, column, "topics", of_panel, lambda x: x.confusion))
    for column in COLUMNS:
        of_panel = _panel_states(states, settings[0], column)
        overlap = mean_interval([x.overlap for x in of_panel])
        label_by_panel[settings[0], column, "mixtures"] = f"topic\noverlap {_with_interval(overlap)}"
        frames.append(_long(settings[0], column, "mixtures", of_panel, lambda x: x.mixtures))
    numbers = pd.concat(frames, ignore_index=True)
    return Drawing(picture_fig4(numbers, label_by_panel), numbers, _verdicts(states, settings), _note(runs, settings))


def picture_fig4(numbers: pd.DataFrame, label_by_panel: Mapping[tuple[str, str, str], str] | None = None) -> Figure:
    """The paper's two maps, of the four groups' mixtures; below them maps of the topics, a row for each setting, and
    the other mixtures. `label_by_panel`: the words below a map, by setting, column and panel."""
    settings = list(dict.fromkeys(numbers["setting"]))
    label_by_panel, first = label_by_panel or {}, settings[0]
    figure, paper, added = in_parts(1.7, 2.2 * len(settings) + 1.3)
    axes = added.subplots(len(settings) + 1, len(COLUMNS), height_ratios=[1] * len(settings) + [0.5])
    maps = {
        key: rows.pivot(index="row", columns="column", values="value")[list(dict.fromkeys(rows["column"]))].to_numpy()
        for key, rows in numbers.groupby(["setting", "method", "panel"], sort=False)
    }
    for row, setting in zip(axes, settings, strict=False):
        for ax, column in zip(row, COLUMNS, strict=True):
            image = _panel(ax, maps[setting, column, "topics"], setting == first, column)
            drawn = "topic drawn" if column == "best" else "topic found"
            diagonal = np.diag(maps[setting, column, "topics"]).mean()
            ax.set_xlabel(
                label_by_panel.get((setting, column, "topics"), f"{drawn}\ndiagonal {diagonal:.2f}"), fontsize=7
            )
        row[0].set_ylabel(f"{SETTINGS[setting]}:\ntrue topic")
    for ax in axes[-1][:2]:
        ax.remove()
    for ax, column in zip([*paper.subplots(1, 2), *axes[-1][2:]], COLUMNS, strict=True):
        _panel(ax, maps[first, column, "mixtures"], column in COLUMNS[:2], column)
        ax.set_xlabel(label_by_panel.get((first, column, "mixtures"), "topic"), fontsize=7)
        ax.set_ylabel("group")
    figure.colorbar(image, ax=axes[:-1], shrink=0.5, pad=0.01, aspect=30, label="share of the row's tokens")
    return figure


def _panel_states(states: States, setting: str, column: str) -> list[Found]:
    """The states that a panel is the mean of."""
    if column != "best":
        return list(states.states_of(setting, "one_cluster", column).values())
    runs = {run.config["seed"]: run for run in select(states.runs, setting, "one_cluster", "gibbs")}
    return [best_possible(dataset_of(run)) for run in runs.values()]


def _panel(ax: Axes, values: NDArray[np.float64], first: bool, column: str) -> AxesImage:
    names = [str(t + 1) for t in range(values.shape[1] - 1)] + [OTHER]
    image = shares_map(ax, values, [str(t + 1) for t in range(len(values))], names)
    if first:
        ax.set_title(METHODS.get(column, REFERENCE), fontsize=7.5)
    return image


def _numbers(states: Sequence[Found], column: str) -> str:
    text = f"topic found\ndiagonal {_with_interval(mean_interval([x.diagonal for x in states]))}"
    if column == "best":
        return text.replace("topic found", "topic drawn")
    matched = [x.matched for x in states]
    return f"{text}\nfound {np.mean(matched):.1f} of {TRUE_K} ({min(matched)} to {max(matched)})"


def _with_interval(summary: tuple[float, float, float]) -> str:
    centre, low, high = (f"{x:.2f}" for x in summary)
    return centre if not np.isfinite(summary[1]) else f"{centre} [{low}, {high}]"


def _long(
    setting: str, column: str, panel: str, states: Sequence[Found], table: Callable[[Found], NDArray[np.float64]]
) -> pd.DataFrame:
    values = np.mean([table(x) for x in states], axis=0)
    frame = long_form(panel, values, [*(str(t + 1) for t in range(values.shape[1] - 1)), OTHER])
    frame.insert(0, "method", column)
    frame.insert(0, "setting", setting)
    return frame.assign(chains=len(states))


def _note(runs: Sequence[Run], settings: Sequence[str]) -> str:
    parts = [
        f"{SETTINGS[s].capitalize()}: {', '.join(describe_setting(next(r for r in runs if setting_of(r) == s)))}"
        for s in settings
    ]
    return (
        f"{'; '.join(parts)}. "
        f"{describe_seeds(runs)}: last states, from one topic; means over chains with 95 % intervals. Topics found are "
        "matched one to one with the true ones by their words (Hungarian method, Hellinger distance); column –: tokens "
        f"of topics without partner. A topic counts as found if the similarity is at least {MATCHED:g} and both hold "
        f"{LARGE:.0%} of the tokens. Diagonal: share of the tokens of a true topic that its partner holds. Last "
        "column: a token's topic drawn given its word, the true topics and its document's true mixture; no sampler "
        "tells them apart better on average. Last row: mixtures of the four groups; overlap: sum over topics of the "
        "smaller of found and true weight, mean over groups."
    )


# claims


def _verdicts(states: States, settings: Sequence[str]) -> list[Verdict]:
    return [
        _verdict(claim, states, setting, start, method)
        for claim in published_claims("smag-fig4")
        for setting in settings
        for start in STARTS
        for method in (["gibbs"] if claim.sampler == "gibbs" else FORMS)
    ]


def _verdict(claim: Claim, states: States, setting: str, start: str, method: str) -> Verdict:
    found_by_key = states.states_of(setting, start, method)
    words = reading(setting, start, method)
    if claim.metric == "topics_recovered":
        matched, sets = np.array([x.matched for x in found_by_key.values()]), [seed for seed, _ in found_by_key]
        all_found = matched == TRUE_K
        rule = f"all {TRUE_K} found" if method != "gibbs" else f"fewer than {TRUE_K} found"
        return by_majority(claim, matched, ~all_found if method == "gibbs" else all_found, rule, words, units=sets)
    gibbs = states.states_of(setting, start, "gibbs")
    gain = [found_by_key[key].diagonal - gibbs[key].diagonal for key in found_by_key]
    return by_sign(claim, {"split-merge − Gibbs": gain}, words, units=[seed for seed, _ in found_by_key])
