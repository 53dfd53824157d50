"""The picture of a run's chains, each apart: traces, ranks, running means."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from splitmerge_cli.analysis.plots.runs import data_name, option, thinned_rows
from splitmerge_cli.analysis.plots.style import CHAINS, CYCLE, FULL, entry, footnote, title_of
from splitmerge_cli.diagnostics.cluster_table import count_of, number
from splitmerge_cli.diagnostics.convergence import format_rhat
from splitmerge_cli.diagnostics.summary import second_half, without_rounding
from splitmerge_cli.runs.judgement import judgement_of
from splitmerge_cli.runs.store.read import Run

Numbers = NDArray[np.float64]
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


@dataclass(frozen=True)
class Panel:
    """A panel below the traces, as wide as these."""

    name: str
    draw: Callable[[Axes], object]


def traces(run: Run, panels: Sequence[Panel] = (), titles: Mapping[str, str] = QUANTITIES) -> Figure:
    """Draw the chains of a run, a row of panels for each quantity, then `panels`.

    A row has the traces and, of the second halves, ranks and running means. The quantities are the log joint, K, the
    quantity of the largest R-hat and, if the truth is known, the adjusted Rand index. `titles` name quantities.
    """
    trace = run.trace().rename(columns={"ari": "score"})
    shares = np.stack(trace["largest"].tolist()).T
    trace = trace.assign(largest=shares[0], **{f"largest{s}": share for s, share in enumerate(shares[1:], 2)})
    chains = [chain for _, chain in trace.groupby("chain", sort=True)]
    late, n = second_half(trace), len(chains)
    names = [name for name in QUANTITIES if name in late]
    worst = judgement_of(run).quantity if run.is_done else None
    if worst in late and not any(np.array_equal(late[worst], late[name]) for name in names):
        names.insert(2, worst)
    wide = [panel.name for panel in panels]
    high = min(max(1.2, 0.3 * n), (9.1 - 1.6 * len(wide)) / len(names) - 0.35)
    parts, ratios = (["", "ranks", "mean"], [2.0, 1.0, 1.2]) if n > 1 else (["", "mean"], [2.0, 1.2])
    mosaic: Any = [[f"{name}{part}" for part in parts] for name in names] + [[name] * len(parts) for name in wide]
    figure, axes = plt.subplot_mosaic(
        mosaic,
        figsize=(FULL, (high + 0.35) * len(names) + 1.6 * len(wide) + 0.8),
        width_ratios=ratios,
        height_ratios=[high] * len(names) + [1.2] * len(wide),
    )
    for name in names:
        _draw_traces(axes[name], chains, name, titles.get(name, name) + ", a share" * name.startswith("largest"))
        if n > 1:
            known = run.summary["diagnostics"].get(f"rhat/{name}") if run.is_done else None
            axes[f"{name}ranks"].set_title("ranks" if known is None else f"ranks, R-hat {format_rhat(known)}")
            _draw_ranks(axes[f"{name}ranks"], without_rounding(name, late[name]))
        _draw_running_means(axes[f"{name}mean"], chains, late[name])
        for axis in (axes[f"{name}{part}"].xaxis for part in parts):
            axis.set_major_locator(MaxNLocator(3, integer=True))
            axis.set_major_formatter("{x:,.0f}")
            axis.set_tick_params(labelbottom=name == names[-1])
    for part in parts:
        axes[f"{names[-1]}{part}"].set_xlabel("rank" if part == "ranks" else "iteration")
    for panel in panels:
        panel.draw(axes[panel.name])
    counted = count_of(n, "chain") if run.is_done else f"{n} of {run.config['chains']} chains ({run.status['state']})"
    N = run.summary["N"] if run.is_done else run.config["N"] or "all"
    title = f"{title_of(option(run, 'sampler'))} on {data_name(run)}, N = {N}, {counted}"
    named = axes[names[0]].get_yticklabels() if 1 < n <= MOST_NAMES else []
    handles = [entry(label=label.get_text(), linewidth=1.2, **_look(k)) for k, label in enumerate(named)]
    above: dict[str, Any] = {"title": f"{'Do the chains agree? ' * (n > 1)}{title}", "title_fontsize": 9.5}
    above |= {"alignment": "left", "fontsize": 7, "handlelength": 2.6, "borderpad": 0}
    figure.legend(handles=handles, loc="outside upper left", ncols=MOST_NAMES, **above)
    ranks = (
        " Ranks: of each chain's draws among the draws of all chains, ties in random order; where chains agree, bars "
        "end near the dashed line. Ranks, R-hat and running means: second halves."
    )
    footnote(
        figure,
        f"Traces: from the smallest to the largest value after the first {SETTLED:.0%} of the iterations; what lies "
        f"beyond is cut off.{ranks if n > 1 else ' Running mean: second half.'}",
    )
    return figure


def _look(k: int) -> dict[str, Any]:
    return {"color": CYCLE[k % len(CYCLE)], "linestyle": CHAINS[k % len(CHAINS)]}


def _make_strips(ax: Axes, names: Sequence[str]) -> None:
    """A strip for each chain, the first at the top."""
    shown = range(len(names)) if len(names) <= MOST_NAMES else [0, len(names) - 1]
    ax.set(ylim=(len(names) - 0.5, -0.5))
    ax.set_yticks(shown, [names[k] for k in shown])
    ax.tick_params(axis="y", length=0)
    ax.grid(False)


def _draw_traces(ax: Axes, chains: Sequence[pd.DataFrame], name: str, label: str) -> None:
    last = max(chain["iteration"].max() for chain in chains)
    settled = np.concatenate([c.loc[c["iteration"] > SETTLED * last, name].to_numpy(dtype=float) for c in chains])
    settled = settled[np.isfinite(settled)]
    low, high = (settled.min(), settled.max()) if len(settled) else (0.0, 0.0)
    for k, chain in enumerate(chains):
        rows = thinned_rows(len(chain), STEPS)
        height = (chain[name].to_numpy(dtype=float)[rows] - low) / ((high - low) or np.inf)
        x, y = chain["iteration"].to_numpy()[rows], k + 0.42 - 0.84 * height.clip(0, 1)
        ax.plot(x, y, color=_look(k)["color"], linewidth=0.6)
    _make_strips(ax, [f"chain {chain['chain'].iloc[0]}" for chain in chains])
    ax.set_xlim(0, max(last, 1))  # of one row at the start, too
    whole = low == round(low) and high == round(high)
    ends = dict.fromkeys(f"{end:.0f}" if whole else number(end, high - low) for end in (low, high))
    ax.set_title(f"{label}: {' to '.join(ends)}".replace("-", "−"))


def _draw_ranks(ax: Axes, x: Numbers) -> None:
    """The distribution of each chain's ranks, ``x`` ``[chains, draws]``."""
    share = count_ranks(x) / (x.shape[1] / BINS)
    unit = 0.84 / max(2.0, share.max())
    for k, heights in enumerate(share):
        look = {"fill": True, "color": _look(k)["color"], "alpha": 0.75}
        ax.stairs(k + 0.42 - unit * heights, np.linspace(0, x.size, BINS + 1), baseline=k + 0.42, **look)
        ax.axhline(k + 0.42 - unit, color="#111111", linewidth=0.6, linestyle=(0, (3, 2)))
    _make_strips(ax, [""] * len(x))
    ax.set_xlim(0, x.size)


def count_ranks(x: Numbers) -> NDArray[np.int64]:
    """Count the ranks of each chain's draws ``[chains, draws]`` among all draws, ``[chains, BINS]``.

    Ties are in random order, so that ranks of a quantity of few values are uniform, too; the same at every call.
    """
    rank = np.empty(x.size, np.int64)
    rank[np.lexsort((np.random.default_rng(0).random(x.size), x.ravel()))] = np.arange(x.size)
    bins = (rank * BINS // x.size).reshape(x.shape)
    return np.stack([np.bincount(row, minlength=BINS) for row in bins])


def _draw_running_means(ax: Axes, chains: Sequence[pd.DataFrame], x: Numbers) -> None:
    means, rows = np.cumsum(x, axis=1) / np.arange(1, x.shape[1] + 1), thinned_rows(x.shape[1], STEPS)
    for k, (chain, mean) in enumerate(zip(chains, means, strict=True)):
        ax.plot(chain["iteration"].to_numpy()[-x.shape[1] :][rows], mean[rows], linewidth=1.1, **_look(k))
    settled = (late := means[:, int(SETTLED * x.shape[1]) :])[np.isfinite(late)]
    if len(settled) and (spread := np.ptp(settled)) > 0:
        ax.set_ylim(settled.min() - 0.08 * spread, settled.max() + 0.08 * spread)
    ax.set_title("running mean")
