"""The picture of a run's chains, each by itself: traces, ranks, running means."""

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from numpy.typing import NDArray

from splitmerge_cli.analysis.plots import topics
from splitmerge_cli.analysis.plots.runs import data_name, option, thinned_rows
from splitmerge_cli.analysis.plots.style import (
    CHAINS,
    CYCLE,
    FULL,
    REFERENCE,
    colour_of,
    count_of,
    entry,
    footnote,
    title_of,
)
from splitmerge_cli.diagnostics.cluster_table import number
from splitmerge_cli.diagnostics.convergence import format_rhat
from splitmerge_cli.diagnostics.summary import second_half, without_rounding
from splitmerge_cli.runs.judgement import judgement_of
from splitmerge_cli.runs.store.read import Run

MOST_NAMES = 8
"""Chains up to which each has its name; of more the first and the last."""
STEPS = 800
"""Points of a line, at most."""
BINS = 20
"""Bins of a chain's ranks, see Vehtari et al. (2021)."""
SETTLED = 0.1
"""Share of the iterations (of the draws, for a running mean) after which values set the limits of an axis."""
QUANTITIES = {"log_joint": "log joint", "K": "clusters K", "score": "adjusted Rand index"}
"""Quantities that are drawn where a trace has them."""

Numbers = NDArray[np.float64]


def traces(run: Run) -> Figure:
    """Draw the chains of a run, a row of panels for each quantity.

    A row has the traces; the ranks of each chain's draws among the draws of all chains; and the running means. Ranks
    and running means are those of the second halves, by which chains are judged. The quantities are the log joint, K,
    the quantity of the largest R-hat and, where the truth is known, the adjusted Rand index. A finished run of topics
    also shows the perplexity of held-out documents, where it was evaluated, and the shares of its topics.
    """
    trace = run.trace().rename(columns={"ari": "score"})
    shares = np.stack(trace["largest"].tolist()).T
    trace = trace.assign(largest=shares[0], **{f"largest{s}": share for s, share in enumerate(shares[1:], 2)})
    chains = [chain for _, chain in trace.groupby("chain", sort=True)]
    late, of_topics = second_half(trace), topics.can_draw(run)
    names = [name for name in QUANTITIES if name in late]
    worst = judgement_of(run).quantity if run.is_done else None
    if worst in late and not any(np.array_equal(late[worst], late[name]) for name in names):
        names.insert(2, worst)
    evaluated = run.perplexity() if of_topics and run.has_perplexity else pd.DataFrame()
    wide = of_topics + (len(evaluated) > 0)
    # a page is no higher than that
    high = min(max(1.2, 0.3 * len(chains)), (9.1 - 1.6 * wide) / len(names) - 0.35)
    ratios = [2.0, 1.0, 1.2] if len(chains) > 1 else [2.0, 1.2]
    size = FULL, (high + 0.35) * len(names) + 1.6 * wide + 0.8
    figure = plt.figure(figsize=size)
    heights = [high] * len(names) + [1.2] * wide
    grid = GridSpec(len(heights), len(ratios), figure, width_ratios=ratios, height_ratios=heights)
    for r, name in enumerate(names):
        row = [figure.add_subplot(grid[r, c]) for c in range(len(ratios))]
        label = "topics K" if of_topics and name == "K" else QUANTITIES.get(name, name)
        label += " (share of the items)" * name.startswith("largest")
        _draw_strips(row[0], chains, name, label)
        if len(chains) > 1:
            known = run.summary["diagnostics"].get(f"rhat/{name}") if run.is_done else None
            row[1].set_title("ranks" if known is None else f"ranks, R-hat {format_rhat(known)}")
            _draw_ranks(row[1], without_rounding(name, late[name]))
        _draw_running_means(row[-1], chains, late[name])
        for ax in row:
            ax.tick_params(labelbottom=r == len(names) - 1)
        if of_topics and name == "K" and (true := run.summary["true_topics"]):
            line = row[-1].axhline(true, color=REFERENCE, linewidth=0.8, linestyle=(0, (4, 3)))
            row[-1].legend([line], [f"true number, {true}"], fontsize=6.5)
    for ax, label in zip(row, ["iteration", *["rank"] * (len(chains) > 1), "iteration"], strict=True):
        ax.set_xlabel(label)
    if len(evaluated):
        topics.draw_perplexity(figure.add_subplot(grid[-2, :]), evaluated, colour_of(option(run, "sampler")))
    if of_topics:
        ax, sizes = figure.add_subplot(grid[-1, :]), run.topic_sizes()
        topics.stack_sizes(ax, sizes[sizes["chain"] == 0], colour_of(option(run, "sampler")), most=1000)
        ax.set(xlabel="iteration", ylabel="shares of topics,\nchain 0")
    named = chains if 1 < len(chains) <= MOST_NAMES else []
    handles = [entry(label=_name(chain), linewidth=1.2, **_look(k)) for k, chain in enumerate(named)]
    above: dict[str, Any] = {"title": _title(run, chains), "title_fontsize": 9.5, "alignment": "left", "fontsize": 7}
    figure.legend(handles=handles, loc="outside upper left", ncols=8, handlelength=2.6, borderpad=0, **above)
    several = len(chains) > 1
    ranks = (
        " Ranks: of each chain's draws among the draws of all chains, ties in random order; where chains agree, bars "
        "end near the dashed line."
    )
    footnote(
        figure,
        f"Traces: from the smallest to the largest value after the first {SETTLED:.0%} of the iterations; what lies "
        f"beyond is cut off.{ranks * several} {'Ranks, R-hat and running' if several else 'Running'} means: second "
        "halves.",
    )
    return figure


def _title(run: Run, chains: Sequence[pd.DataFrame]) -> str:
    N = f"N = {run.summary['N'] if run.is_done else run.config['N'] or 'all'}"
    if topics.can_draw(run):
        N = count_of(run.summary["documents"]["documents"], "document")
    made = count_of(len(chains), "chain")
    if not run.is_done:
        made = f"{len(chains)} of {run.config['chains']} chains ({run.status['state']})"
    question = "Do the chains agree? " * (len(chains) > 1)
    return f"{question}{title_of(option(run, 'sampler'))} on {data_name(run)}, {N}, {made}"


def _look(k: int) -> dict[str, Any]:
    """Colour and dashes of a chain."""
    return {"color": CYCLE[k % len(CYCLE)], "linestyle": CHAINS[k % len(CHAINS)]}


def _name(chain: pd.DataFrame) -> str:
    return f"chain {chain['chain'].iloc[0]}"


def _name_strips(ax: Axes, names: Sequence[str]) -> None:
    """A strip for each chain, the first at the top."""
    n = len(names)
    shown = list(range(n)) if n <= MOST_NAMES else [0, n - 1]
    ax.set(ylim=(n - 0.5, -0.5), yticks=shown)
    ax.set_yticklabels([names[k] for k in shown])
    ax.tick_params(axis="y", length=0)
    ax.grid(False)


def _draw_strips(ax: Axes, chains: Sequence[pd.DataFrame], name: str, label: str) -> None:
    last = max(chain["iteration"].max() for chain in chains)
    settled = np.concatenate([c.loc[c["iteration"] > SETTLED * last, name].to_numpy(dtype=float) for c in chains])
    settled = settled[np.isfinite(settled)]
    low, high = (settled.min(), settled.max()) if len(settled) else (0.0, 0.0)
    for k, chain in enumerate(chains):
        at = thinned_rows(len(chain), STEPS)
        place = (chain[name].to_numpy(dtype=float)[at] - low) / ((high - low) or np.inf)
        ax.plot(
            chain["iteration"].to_numpy()[at],
            k + 0.42 - 0.84 * place.clip(0, 1),
            color=_look(k)["color"],
            linewidth=0.6,
        )
    _name_strips(ax, [_name(chain) for chain in chains])
    ax.set_xlim(0, last)
    ends = " to ".join(number(end, high - low).replace("-", "−") for end in (low, high))
    ax.set_title(f"{label}: {ends}" if high > low else f"{label}: {number(low).replace('-', '−')}")


def _draw_ranks(ax: Axes, x: Numbers) -> None:
    """The distribution of each chain's ranks, ``x`` ``[chains, draws]``."""
    counts = count_ranks(x)
    share = counts / (x.shape[1] / BINS)
    unit = 0.84 / max(2.0, share.max())
    edges = np.linspace(0, x.size, BINS + 1)
    for k, heights in enumerate(share):
        base = k + 0.42
        ax.stairs(base - unit * heights, edges, baseline=base, fill=True, color=_look(k)["color"], alpha=0.75)
        ax.plot(edges[[0, -1]], [base - unit] * 2, color=REFERENCE, linewidth=0.6, linestyle=(0, (3, 2)))
    _name_strips(ax, [""] * len(x))
    ax.set(xlim=(0, x.size), xticks=[1, x.size])


def count_ranks(x: Numbers) -> NDArray[np.int64]:
    """Count the ranks of each chain's draws ``[chains, draws]`` among all draws, ``[chains, BINS]``.

    Ties are in random order, so that ranks of a quantity of few values are uniform, too; the same at every call.
    """
    rank = np.empty(x.size, np.int64)
    rank[np.lexsort((np.random.default_rng(0).random(x.size), x.ravel()))] = np.arange(x.size)
    bins = (rank * BINS // x.size).reshape(x.shape)
    return np.stack([np.bincount(row, minlength=BINS) for row in bins])


def _draw_running_means(ax: Axes, chains: Sequence[pd.DataFrame], x: Numbers) -> None:
    means = np.cumsum(x, axis=1) / np.arange(1, x.shape[1] + 1)
    at = thinned_rows(x.shape[1], STEPS)
    for k, (chain, mean) in enumerate(zip(chains, means, strict=True)):
        ax.plot(chain["iteration"].to_numpy()[-x.shape[1] :][at], mean[at], linewidth=1.1, **_look(k))
    settled = means[:, int(SETTLED * x.shape[1]) :]
    settled = settled[np.isfinite(settled)]
    if len(settled) and (spread := np.ptp(settled)) > 0:
        ax.set_ylim(settled.min() - 0.08 * spread, settled.max() + 0.08 * spread)
    ax.yaxis.tick_right()
    ax.spines["right"].set_visible(True)
    ax.spines["left"].set_visible(False)
    ax.set_title("running mean")
