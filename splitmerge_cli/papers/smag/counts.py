"""Figure 3: the number of topics against iteration, and what was accepted."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import MultipleLocator, PercentFormatter
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.analysis.plots.races import data_sets, series
from splitmerge_cli.analysis.plots.style import REFERENCE, entry, footnote, legend, marks_along, powers
from splitmerge_cli.diagnostics.intervals import median_interval
from splitmerge_cli.papers.claims import Claim, published_claims
from splitmerge_cli.papers.drawing import Drawing, draw_lines, in_parts
from splitmerge_cli.papers.smag.runs import (
    FORMS,
    METHODS,
    SETTINGS,
    STARTS,
    STYLES,
    TRUE_K,
    beginnings,
    describe_seeds,
    describe_setting,
    reading,
    select,
    setting_of,
)
from splitmerge_cli.papers.verdicts import REPRODUCED, Verdict, by_majority
from splitmerge_cli.runs.store.read import Run

EARLY = 25
"""Iterations within which the paper's sampler finds ten topics."""
COUNTED_START = "one_cluster"
"""The start under which the claims are judged."""


def hitting_times(K: ArrayLike, topics: int = TRUE_K) -> NDArray[np.float64]:
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
    settings = [setting for setting in SETTINGS if any(setting_of(run) == setting for run in runs)]
    counted = {
        (setting, method, start): series(select(runs, setting, start, method), "n_clusters")
        for setting in settings
        for method in METHODS
        for start in STARTS
    }
    frames = []
    for setting in settings:
        frames += [_topics(*key, *counted[key]) for key in product([setting], ("coin", "gibbs"), STARTS)]
        frames += [
            _share_reached(*key, *counted[key]) for start in STARTS for key in product([setting], METHODS, [start])
        ]
        for method in METHODS:
            if method != "gibbs":
                by_length = acceptance(beginnings(runs, setting, "one_cluster", method)).groupby("iteration")
                sums, chains = by_length[["accepted", "proposed"]].sum(), by_length.size().to_numpy()
                share = (sums["accepted"] / sums["proposed"]).to_numpy()
                about = setting, "one_cluster", method
                frames.append(_rows("accepted so far", *about, sums.index, share, chains))
    numbers = pd.concat(frames, ignore_index=True)
    titles = {setting: _title(runs, setting) for setting in settings}
    notes = (
        f"{describe_seeds(runs)}; all methods from the same start and seed. Top row: from one topic, the "
        "start that counts; split-merge is the exact form with choice by coin. An iteration is a split-merge proposal "
        "and a full Gibbs scan, then new weights and, where they have a prior Γ, new γ and α₀. Accepted so far: splits "
        "and merges of all chains from the first iteration to that one. "
        "The paper gives neither number of words, η, γ, α₀ nor start. Nearest: of the documents, mixtures and "
        "hyper-parameters that were tried, those under which the posterior has ten topics, split-merge finds them and "
        "Gibbs does not."
    )
    return Drawing(picture_fig3(numbers, titles), numbers, judge(runs, settings), notes)


def judge(runs: Sequence[Run], settings: Sequence[str]) -> list[Verdict]:
    """Verdicts on every claim of the figure, under every setting, start and form."""
    verdicts = []
    for claim in published_claims("smag-fig3"):
        for setting in settings:
            for start in STARTS:
                if claim.metric in FASTER:
                    verdicts += _faster(claim, runs, setting, start)
                    continue
                for method in ["gibbs"] if claim.sampler == "gibbs" else FORMS:
                    if claim.metric == "acceptance_falls" and start != "one_cluster":
                        continue
                    verdicts.append(_verdict(claim, runs, setting, start, method))
    return verdicts


def picture_fig3(numbers: pd.DataFrame, titles: Mapping[str, str] | None = None) -> Figure:
    """The paper's two panels, of the four groups, and below them a column for each setting, with `titles`."""
    settings = list(dict.fromkeys(numbers["setting"]))
    figure, paper, added = in_parts(2.2, 6.4)
    _draw_paper(paper, numbers[(numbers["setting"] == settings[0]) & (numbers["start"] == COUNTED_START)])
    axes = added.subplots(4, len(settings), sharex=True, sharey="row", squeeze=False)
    for column, setting in zip(axes.T, settings, strict=True):
        panels = dict(list(numbers[numbers["setting"] == setting].groupby("panel")))
        _draw_topics(column[0], panels["topics"][panels["topics"]["start"] == COUNTED_START])
        for ax, start in zip(column[1:], STARTS, strict=False):
            reached = panels["chains with ten topics"]
            _draw_reached(ax, reached[reached["start"] == start])
        for method, rows in panels["accepted so far"].groupby("method", sort=False):
            column[3].plot(rows["iteration"], rows["value"], linewidth=1.1, **STYLES[str(method)])
        _marks(column[3])
        column[0].set(xscale="log")
        column[0].set_title((titles or {}).get(setting, SETTINGS[setting].capitalize()), fontsize=7)
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
    lines = [entry(label=METHODS[m], linewidth=1.6, **STYLES[m]) for m in METHODS]
    others = [
        entry(label="ten topics", color=REFERENCE, linewidth=0.7, linestyle=(0, (4, 3))),
        entry(label=f"iteration {EARLY}", color=REFERENCE, linewidth=0.7, linestyle=(0, (1, 2))),
    ]
    legend(figure, [*lines[:3], others[0]], [*lines[3:], others[1]])
    footnote(figure, "Topics: medians over chains, and bands: their ranges; split-merge by coin, and Gibbs alone.")
    return figure


def _draw_paper(part: SubFigure, numbers: pd.DataFrame) -> None:
    """Draw Figure 3: topics against iteration of split-merge, with the share accepted, and of Gibbs alone."""
    axes = part.subplots(1, 2, sharey=True)
    for ax, method, letter in zip(axes, ("coin", "gibbs"), "ab", strict=True):
        rows = numbers[(numbers["panel"] == "topics") & (numbers["method"] == method)]
        _draw_topics(ax, rows)
        ax.set(xlabel="iteration", xlim=(0, rows["iteration"].max()), ylim=(0, None))
        ax.set_title(f"({letter}) {METHODS[method]}", fontsize=7.5)
    axes[0].set_ylabel("topics")
    accepted = numbers[(numbers["panel"] == "accepted so far") & (numbers["method"] == "coin")]
    share = axes[0].twinx()
    share.plot(accepted["iteration"], accepted["value"], color=REFERENCE, linewidth=1.1, linestyle=(0, (3, 1)))
    share.grid(False)
    share.set(ylabel="accepted (dashes)", ylim=(0, 1.05 * accepted["value"].max()))
    share.yaxis.set_major_locator(MultipleLocator(0.05))
    share.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))


def _title(runs: Sequence[Run], setting: str) -> str:
    run = next(r for r in runs if setting_of(r) == setting)
    return "\n".join([SETTINGS[setting].capitalize(), *describe_setting(run)])


def _marks(ax: Axes) -> None:
    ax.axvline(EARLY, color=REFERENCE, linewidth=0.7, linestyle=(0, (1, 2)))


def _rows(
    panel: str, setting: str, start: str, method: str, x: ArrayLike, y: ArrayLike, chains: Any, **more: ArrayLike
) -> pd.DataFrame:
    """Numbers of one line."""
    where = {"panel": panel, "setting": setting, "start": start, "method": method}
    return pd.DataFrame({**where, "iteration": x, "value": y, **more, "chains": chains})


def _topics(
    setting: str, method: str, start: str, iteration: NDArray[np.int64], K: NDArray[np.float64]
) -> pd.DataFrame:
    """Median and range over chains of the number of topics."""
    kept = np.unique(np.geomspace(1, len(iteration), 200).astype(int)) - 1
    ends = {"low": K.min(axis=0)[kept], "high": K.max(axis=0)[kept]}
    return _rows("topics", setting, start, method, iteration[kept], np.median(K, axis=0)[kept], len(K), **ends)


def _draw_topics(ax: Axes, numbers: pd.DataFrame) -> None:
    """Draw the median and the range over chains of the number of topics, by method."""
    # the start is iteration 0: it stands at 1
    shown = numbers.assign(iteration=numbers["iteration"].clip(lower=1))
    draw_lines(ax, shown, "method", "iteration", STYLES.__getitem__, shade=0.18, centre="value")
    ax.axhline(TRUE_K, color=REFERENCE, linewidth=0.7, linestyle=(0, (4, 3)))
    _marks(ax)


def _share_reached(
    setting: str, method: str, start: str, iteration: NDArray[np.int64], K: NDArray[np.float64]
) -> pd.DataFrame:
    """Share of the chains that have had ten topics."""
    when = np.sort(hitting_times(K))
    told = when[np.isfinite(when)]
    x = np.concatenate([[1], np.maximum(told, 1), [iteration[-1]]])
    share = np.concatenate([[0], np.arange(1, len(told) + 1), [len(told)]]) / len(when)
    return _rows("chains with ten topics", setting, start, method, x, share, len(when))


def _draw_reached(ax: Axes, numbers: pd.DataFrame) -> None:
    for method, rows in numbers.groupby("method", sort=False):
        along = marks_along(rows["value"].to_numpy(), list(METHODS).index(str(method)), len(METHODS))
        look = {"linewidth": 1.3, "clip_on": False, **STYLES[str(method)], **along}
        ax.plot(rows["iteration"], rows["value"], drawstyle="steps-post", **look)
    _marks(ax)
    ax.set_ylim(0, 1)


FASTER = {"faster_than_gibbs": "gibbs", "coin_faster_than_pair": "pair"}
"""Claims on what has ten topics first, and the method that it is compared with."""


def _faster(claim: Claim, runs: Sequence[Run], setting: str, start: str) -> list[Verdict]:
    """Judge whether split-merge by coin has ten topics before another method: mean log ratio of a data set's chains."""
    verdicts = []
    for method in FORMS if claim.metric == "faster_than_gibbs" else ["coin"]:
        first, second = select(runs, setting, start, method), select(runs, setting, start, FASTER[claim.metric])
        if not first or not second:
            continue
        a, b = (hitting_times(series(chains, "n_clusters")[1]) for chains in (first, second))
        length = first[0].config["iterations"]
        ratio = np.log(np.fmin(b, length) + 1) - np.log(np.fmin(a, length) + 1)
        never = [f"{METHODS[m]} never in {int(np.isinf(x).sum())}" for m, x in [(method, a), (FASTER[claim.metric], b)]]
        rule = f"ten topics sooner ({', '.join(never)} of {len(a)} chains up to iteration {length})"
        words = reading(setting, start, method)
        verdicts.append(by_majority(claim, ratio, ratio, rule, words, units=data_sets(first), above=0.0))
    return verdicts


def _verdict(claim: Claim, runs: Sequence[Run], setting: str, start: str, method: str) -> Verdict:
    chosen, words = select(runs, setting, start, method), reading(setting, start, method)
    length = chosen[0].config["iterations"]
    if claim.metric == "acceptance_falls":
        each = acceptance(beginnings(runs, setting, start, method))
        first, last = each["iteration"].min(), each["iteration"].max()
        shares = each.set_index(["iteration", "seed", "chain"])["share"]
        change = shares[last] - shares[first]
        sets = change.index.get_level_values("seed").to_numpy()
        rule = f"share accepted of all {last} iterations below that of the first {first}"
        return by_majority(claim, change, -change, rule, words, units=sets, above=0.0)
    K, sets = series(chosen, "n_clusters")[1], data_sets(chosen)
    if claim.metric == "K":
        second = K[:, K.shape[1] // 2 :]
        rule = f"the commonest number of topics of iterations {length // 2} to {length} is {TRUE_K}"
        return by_majority(claim, second.mean(axis=1), settled_count(K) == TRUE_K, rule, words, units=sets)
    when = hitting_times(K)
    if claim.sampler == "gibbs":
        short = (REPRODUCED, f"chains of {length} iterations") if length < claim.value else ("", "")
        rule = f"fewer than {TRUE_K} topics up to iteration {length}"
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
