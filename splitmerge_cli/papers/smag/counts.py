"""Figure 3: the number of topics against iteration, and what was accepted; Figure 4: how the topics found, and the
mixtures of the groups, are confused with the true ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.ticker import MultipleLocator, PercentFormatter
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.analysis.plots.races import data_sets, series
from splitmerge_cli.analysis.plots.style import REFERENCE, entry, footnote, legend, marks_along, powers
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.diagnostics.intervals import mean_interval, median_interval
from splitmerge_cli.kinds.documents.topics import LARGE, MATCHED, Topics, counts, match
from splitmerge_cli.papers.claims import Claim, published_claims
from splitmerge_cli.papers.drawing import Drawing, draw_lines, in_parts
from splitmerge_cli.papers.smag import runs as base
from splitmerge_cli.papers.smag.runs import FORMS, STARTS
from splitmerge_cli.papers.verdicts import REPRODUCED, Verdict, by_majority, by_sign
from splitmerge_cli.runs.initial import dataset_of
from splitmerge_cli.runs.store.read import Run

EARLY = 25
"""Iterations within which the paper's sampler finds ten topics."""
COUNTED_START = "one_cluster"
"""The start under which the claims are judged."""


def hitting_times(K: ArrayLike, topics: int = base.TRUE_K) -> NDArray[np.float64]:
    """The first row of each chain, ``[chains, rows]``, with at least so many topics; infinite where it has none."""
    enough = np.asarray(K) >= topics
    return np.where(enough.any(axis=1), enough.argmax(axis=1), np.inf)


def settled_count(K: ArrayLike) -> NDArray[np.int64]:
    """The commonest number of topics in the second half of every chain, int64 ``[chains]``."""
    K = np.asarray(K, dtype=np.int64)
    return np.array([np.bincount(row[len(row) // 2 :]).argmax() for row in K], dtype=np.int64)


def acceptance(runs: Sequence[Run]) -> pd.DataFrame:
    """Share of the proposals so far that were accepted, from runs that are the beginnings of each other: columns
    iteration, seed, chain, proposed, accepted, share."""
    frames = []
    for run in runs:
        moves = run.moves()
        proposals = moves[moves["move"].isin(["split", "merge"])]
        sums = proposals.groupby("chain", as_index=False)[["proposed", "accepted"]].sum()
        frames.append(sums.assign(iteration=run.config["iterations"], seed=run.config["seed"]))
    frame = pd.concat(frames, ignore_index=True)
    return frame.assign(share=frame["accepted"] / frame["proposed"])


def fig3(runs: Sequence[Run]) -> Drawing:
    """Draw each chain's number of topics, when it first is ten, and the share of proposals accepted."""
    settings = base.settings_of(runs)
    counted = {key: series(base.select(runs, *key), "n_clusters") for key in product(settings, STARTS, base.METHODS)}
    frames = []
    for setting in settings:
        # median and range over chains of the number of topics
        for method, start in product(("coin", "gibbs"), STARTS):
            iteration, K = counted[setting, start, method]
            kept = np.unique(np.geomspace(1, len(iteration), 200).astype(int)) - 1
            ends = {"low": K.min(axis=0)[kept], "high": K.max(axis=0)[kept]}
            middles = np.median(K, axis=0)[kept]
            frames.append(_rows("topics", setting, start, method, iteration[kept], middles, len(K), **ends))
        # share of the chains that have had ten topics
        for start, method in product(STARTS, base.METHODS):
            iteration, K = counted[setting, start, method]
            when = np.sort(hitting_times(K))
            told = when[np.isfinite(when)]
            x = np.concatenate([[1], np.maximum(told, 1), [iteration[-1]]])
            share = np.concatenate([[0], np.arange(1, len(told) + 1), [len(told)]]) / len(when)
            frames.append(_rows("chains with ten topics", setting, start, method, x, share, len(when)))
        for method in base.METHODS:
            if method != "gibbs":
                about = setting, COUNTED_START, method
                by_length = acceptance(base.beginnings(runs, *about)).groupby("iteration")
                sums, chains = by_length[["accepted", "proposed"]].sum(), by_length.size().to_numpy()
                share = (sums["accepted"] / sums["proposed"]).to_numpy()
                frames.append(_rows("accepted so far", *about, sums.index, share, chains))
    numbers = pd.concat(frames, ignore_index=True)
    titles = {s: "\n".join([base.SETTINGS[s].capitalize(), *base.describe_setting(runs, s)]) for s in settings}
    notes = (
        f"{base.describe_seeds(runs)}; all methods from the same start and seed. Top row: from one topic, the start "
        "that counts; split-merge is the exact form with choice by coin. An iteration is a split-merge proposal and a "
        "full Gibbs scan, then new weights and, where they have a prior Γ, new γ and α₀. Accepted so far: splits and "
        "merges of all chains from the first iteration to that one. The paper gives neither number of words, η, γ, α₀ "
        "nor start. Nearest: of the documents, mixtures and hyper-parameters that were tried, those under which the "
        "posterior has ten topics, split-merge finds them and Gibbs does not."
    )
    return Drawing(picture_fig3(numbers, titles), numbers, judge(runs, settings), notes)


def judge(runs: Sequence[Run], settings: Sequence[str]) -> list[Verdict]:
    """Verdicts on every claim of the figure, under every setting, start and form."""
    verdicts = []
    for claim, setting, start in product(published_claims("smag-fig3"), settings, STARTS):
        if claim.metric in FASTER:
            verdicts += _faster(claim, runs, setting, start)
        elif claim.metric != "acceptance_falls" or start == COUNTED_START:
            methods = ["gibbs"] if claim.sampler == "gibbs" else FORMS
            verdicts += [_verdict(claim, runs, setting, start, method) for method in methods]
    return verdicts


def picture_fig3(numbers: pd.DataFrame, titles: Mapping[str, str] | None = None) -> Figure:
    """The paper's two panels, of the four groups, and below them a column for each setting, with `titles`."""
    settings = list(dict.fromkeys(numbers["setting"]))
    figure, paper, added = in_parts(2.2, 6.4)
    # topics against iteration of split-merge, with the share accepted, and of Gibbs alone
    printed = numbers[(numbers["setting"] == settings[0]) & (numbers["start"] == COUNTED_START)]
    shown = paper.subplots(1, 2, sharey=True)
    for ax, method, letter in zip(shown, ("coin", "gibbs"), "ab", strict=True):
        rows = printed[(printed["panel"] == "topics") & (printed["method"] == method)]
        _draw_topics(ax, rows)
        ax.set(xlabel="iteration", xlim=(0, rows["iteration"].max()), ylim=(0, None))
        ax.set_title(f"({letter}) {base.METHODS[method]}", fontsize=7.5)
    shown[0].set_ylabel("topics")
    accepted = printed[(printed["panel"] == "accepted so far") & (printed["method"] == "coin")]
    share = shown[0].twinx()
    share.plot(accepted["iteration"], accepted["value"], color=REFERENCE, linewidth=1.1, linestyle=(0, (3, 1)))
    share.grid(False)
    share.set(ylabel="accepted (dashes)", ylim=(0, 1.05 * accepted["value"].max()))
    share.yaxis.set_major_locator(MultipleLocator(0.05))
    share.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes = added.subplots(4, len(settings), sharex=True, sharey="row", squeeze=False)
    for column, setting in zip(axes.T, settings, strict=True):
        panels = dict(list(numbers[numbers["setting"] == setting].groupby("panel")))
        _draw_topics(column[0], panels["topics"][panels["topics"]["start"] == COUNTED_START])
        for ax, start in zip(column[1:], STARTS, strict=False):
            reached = panels["chains with ten topics"]
            for method, rows in reached[reached["start"] == start].groupby("method", sort=False):
                place = list(base.METHODS).index(str(method))
                along = marks_along(rows["value"].to_numpy(), place, len(base.METHODS))
                look = {"linewidth": 1.3, "clip_on": False, **base.STYLES[str(method)], **along}
                ax.plot(rows["iteration"], rows["value"], drawstyle="steps-post", **look)
            _marks(ax)
            ax.set_ylim(0, 1)
        for method, rows in panels["accepted so far"].groupby("method", sort=False):
            column[3].plot(rows["iteration"], rows["value"], linewidth=1.1, **base.STYLES[str(method)])
        _marks(column[3])
        column[0].set(xscale="log")
        column[0].set_title((titles or {}).get(setting, base.SETTINGS[setting].capitalize()), fontsize=7)
        column[3].set_xlabel("iteration")
        powers(column[3].xaxis)
    for ax in axes[[0, 3], 0]:
        ax.set_ylim(bottom=0)
    first = axes[:, 0]
    first[0].set_ylabel("topics,\nfrom one topic")
    for ax, start in zip(first[1:], STARTS.values(), strict=False):
        ax.set_ylabel(f"chains that had ten,\n{start}")
        ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    first[3].set_ylabel("accepted so far,\nfrom one topic")
    first[3].yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    lines = [entry(label=base.METHODS[m], linewidth=1.6, **base.STYLES[m]) for m in base.METHODS]
    others = [
        entry(label="ten topics", color=REFERENCE, linewidth=0.7, linestyle=(0, (4, 3))),
        entry(label=f"iteration {EARLY}", color=REFERENCE, linewidth=0.7, linestyle=(0, (1, 2))),
    ]
    legend(figure, [*lines[:3], others[0]], [*lines[3:], others[1]])
    footnote(figure, "Topics: medians over chains, and bands: their ranges; split-merge by coin, and Gibbs alone.")
    return figure


def _marks(ax: Axes) -> None:
    ax.axvline(EARLY, color=REFERENCE, linewidth=0.7, linestyle=(0, (1, 2)))


def _rows(
    panel: str, setting: str, start: str, method: str, x: ArrayLike, y: ArrayLike, chains: Any, **more: ArrayLike
) -> pd.DataFrame:
    """Numbers of one line."""
    where = {"panel": panel, "setting": setting, "start": start, "method": method}
    return pd.DataFrame({**where, "iteration": x, "value": y, **more, "chains": chains})


def _draw_topics(ax: Axes, numbers: pd.DataFrame) -> None:
    """Draw the median and the range over chains of the number of topics, by method."""
    # the start is iteration 0: it stands at 1
    shown = numbers.assign(iteration=numbers["iteration"].clip(lower=1))
    draw_lines(ax, shown, "method", "iteration", base.STYLES.__getitem__, shade=0.18, centre="value")
    ax.axhline(base.TRUE_K, color=REFERENCE, linewidth=0.7, linestyle=(0, (4, 3)))
    _marks(ax)


FASTER = {"faster_than_gibbs": "gibbs", "coin_faster_than_pair": "pair"}
"""Claims on what has ten topics first, and the method that it is compared with."""


def _faster(claim: Claim, runs: Sequence[Run], setting: str, start: str) -> list[Verdict]:
    """Judge whether split-merge by coin has ten topics before another method: mean log ratio of a data set's chains."""
    verdicts = []
    for method in FORMS if claim.metric == "faster_than_gibbs" else ["coin"]:
        compared = (method, FASTER[claim.metric])
        first, second = (base.select(runs, setting, start, m) for m in compared)
        if not first or not second:
            continue
        a, b = (hitting_times(series(chains, "n_clusters")[1]) for chains in (first, second))
        length = first[0].config["iterations"]
        ratio = np.log(np.fmin(b, length) + 1) - np.log(np.fmin(a, length) + 1)
        times = zip(compared, (a, b), strict=True)
        never = [f"{base.METHODS[m]} never in {int(np.isinf(x).sum())}" for m, x in times]
        rule = f"ten topics sooner ({', '.join(never)} of {len(a)} chains up to iteration {length})"
        words = base.reading(setting, start, method)
        verdicts.append(by_majority(claim, ratio, ratio, rule, words, units=data_sets(first), above=0.0))
    return verdicts


def _verdict(claim: Claim, runs: Sequence[Run], setting: str, start: str, method: str) -> Verdict:
    chosen, words = base.select(runs, setting, start, method), base.reading(setting, start, method)
    length = chosen[0].config["iterations"]
    if claim.metric == "acceptance_falls":
        each = acceptance(base.beginnings(runs, setting, start, method))
        first, last = each["iteration"].min(), each["iteration"].max()
        shares = each.set_index(["iteration", "seed", "chain"])["share"]
        change = shares[last] - shares[first]
        sets = change.index.get_level_values("seed").to_numpy()
        rule = f"share accepted of all {last} iterations below that of the first {first}"
        return by_majority(claim, change, -change, rule, words, units=sets, above=0.0)
    K, sets = series(chosen, "n_clusters")[1], data_sets(chosen)
    if claim.metric == "K":
        second = K[:, K.shape[1] // 2 :]
        rule = f"the commonest number of topics of iterations {length // 2} to {length} is {base.TRUE_K}"
        return by_majority(claim, second.mean(axis=1), settled_count(K) == base.TRUE_K, rule, words, units=sets)
    when = hitting_times(K)
    if claim.sampler == "gibbs":
        short = (REPRODUCED, f"chains of {length} iterations") if length < claim.value else ("", "")
        rule = f"fewer than {base.TRUE_K} topics up to iteration {length}"
        return by_majority(claim, when, np.isinf(when), rule, words, short, middle, units=sets)
    never = f"; never in {int(np.isinf(when).sum())} of {len(when)} by {length}" if np.isinf(when).any() else ""
    rule = f"ten topics by iteration {EARLY}{never}; ours: median of the first iteration"
    return by_majority(claim, when, when <= claim.value, rule, words, summary=middle, units=sets)


def middle(samples: ArrayLike) -> tuple[float, float, float]:
    """Median and distribution-free interval of times; infinite for chains that never reach it."""
    x = np.asarray(samples, dtype=float)
    large = 10 * float(np.max(x, initial=1, where=np.isfinite(x)))
    centre, low, high = median_interval(np.where(np.isfinite(x), x, large))
    centre, low, high = (value if value < large / 5 else np.inf for value in (centre, low, high))
    return centre, low, high


COLUMNS = ("gibbs", "coin", "text", "best")
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
            for run in base.select(self.runs, *key):
                partitions = run.partitions(["chain", "iteration", "labels"])
                last = partitions[partitions["iteration"] == run.config["iterations"]]
                data, eta, seed = dataset_of(run), run.config["model"]["eta"], run.config["seed"]
                states |= {(seed, int(r.chain)): confuse(np.asarray(r.labels), data, eta) for r in last.itertuples()}
        return self._of[key]


def fig4(runs: Sequence[Run]) -> Drawing:
    """Confusion of the topics' tokens, and the groups' mixtures, by sampler, compared with the best possible."""
    states = States(runs)
    settings = base.settings_of(runs)
    frames = []
    label_by_panel: dict[tuple[str, str, str], str] = {}
    for setting, column in product(settings, COLUMNS):
        of_panel = _panel_states(states, setting, column)
        drawn = "topic drawn" if column == "best" else "topic found"
        text = f"{drawn}\ndiagonal {_with_interval(mean_interval([x.diagonal for x in of_panel]))}"
        if column != "best":
            matched = [x.matched for x in of_panel]
            text += f"\nfound {np.mean(matched):.1f} of {base.TRUE_K} ({min(matched)} to {max(matched)})"
        label_by_panel[setting, column, "topics"] = text
        frames.append(_long(setting, column, "topics", [x.confusion for x in of_panel]))
    for column in COLUMNS:
        of_panel = _panel_states(states, settings[0], column)
        overlap = mean_interval([x.overlap for x in of_panel])
        label_by_panel[settings[0], column, "mixtures"] = f"topic\noverlap {_with_interval(overlap)}"
        frames.append(_long(settings[0], column, "mixtures", [x.mixtures for x in of_panel]))
    numbers = pd.concat(frames, ignore_index=True)
    about = [f"{base.SETTINGS[s].capitalize()}: {', '.join(base.describe_setting(runs, s))}" for s in settings]
    notes = (
        f"{'; '.join(about)}. {base.describe_seeds(runs)}: last states, from one topic; means over chains with 95 % "
        "intervals. Topics found are matched one to one with the true ones by their words (Hungarian method, Hellinger "
        "distance); column –: tokens of topics without partner. A topic counts as found if the similarity is at least "
        f"{MATCHED:g} and both hold {LARGE:.0%} of the tokens. Diagonal: share of the tokens of a true topic that its "
        "partner holds. Last column: a token's topic drawn given its word, the true topics and its document's true "
        "mixture; no sampler tells them apart better on average. Last row: mixtures of the four groups; overlap: sum "
        "over topics of the smaller of found and true weight, mean over groups."
    )
    return Drawing(picture_fig4(numbers, label_by_panel), numbers, _verdicts(states, settings), notes)


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
            shares = maps[setting, column, "topics"]
            image = _panel(ax, shares, setting == first, column)
            drawn = f"topic {'drawn' if column == 'best' else 'found'}\ndiagonal {np.diag(shares).mean():.2f}"
            ax.set_xlabel(label_by_panel.get((setting, column, "topics"), drawn), fontsize=7)
        row[0].set_ylabel(f"{base.SETTINGS[setting]}:\ntrue topic")
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
        return list(states.states_of(setting, COUNTED_START, column).values())
    runs = {run.config["seed"]: run for run in base.select(states.runs, setting, COUNTED_START, "gibbs")}
    return [best_possible(dataset_of(run)) for run in runs.values()]


def _panel(ax: Axes, values: NDArray[np.float64], first: bool, column: str) -> AxesImage:
    names = [str(t + 1) for t in range(values.shape[1] - 1)] + [OTHER]
    image = base.shares_map(ax, values, [str(t + 1) for t in range(len(values))], names)
    if first:
        ax.set_title(base.METHODS.get(column, "knowing topics and mixtures"), fontsize=7.5)
    return image


def _with_interval(summary: tuple[float, float, float]) -> str:
    centre, low, high = (f"{x:.2f}" for x in summary)
    return centre if not np.isfinite(summary[1]) else f"{centre} [{low}, {high}]"


def _long(setting: str, column: str, panel: str, tables: Sequence[NDArray[np.float64]]) -> pd.DataFrame:
    """The mean of tables as rows, with where they belong and their number."""
    values = np.mean(tables, axis=0)
    frame = base.long_form(panel, values, [*(str(t + 1) for t in range(values.shape[1] - 1)), OTHER])
    frame.insert(0, "method", column)
    frame.insert(0, "setting", setting)
    return frame.assign(chains=len(tables))


# claims


def _verdicts(states: States, settings: Sequence[str]) -> list[Verdict]:
    verdicts = []
    for claim, setting, start in product(published_claims("smag-fig4"), settings, STARTS):
        for method in ["gibbs"] if claim.sampler == "gibbs" else FORMS:
            found_by_key, words = states.states_of(setting, start, method), base.reading(setting, start, method)
            sets = [seed for seed, _ in found_by_key]
            if claim.metric == "topics_recovered":
                matched = np.array([x.matched for x in found_by_key.values()])
                agrees, rule = matched == base.TRUE_K, f"all {base.TRUE_K} found"
                if method == "gibbs":
                    agrees, rule = ~agrees, f"fewer than {base.TRUE_K} found"
                verdicts.append(by_majority(claim, matched, agrees, rule, words, units=sets))
            else:
                gibbs = states.states_of(setting, start, "gibbs")
                gain = {"split-merge − Gibbs": [x.diagonal - gibbs[key].diagonal for key, x in found_by_key.items()]}
                verdicts.append(by_sign(claim, gain, words, units=sets))
    return verdicts
