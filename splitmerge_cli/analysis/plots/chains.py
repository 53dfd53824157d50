"""Drawing clusterings of tokens: boxes of coloured letters, and arrows as wide as they are probable.

The picture of a run's chains, each apart: traces, ranks, running means.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from splitmerge_cli.analysis.plots.races import data_name, option, thinned_rows
from splitmerge_cli.analysis.plots.style import CHAINS, CYCLE, FULL, entry, footnote, superscript, title_of
from splitmerge_cli.diagnostics.cluster_table import count_of, number
from splitmerge_cli.diagnostics.convergence import format_rhat
from splitmerge_cli.diagnostics.summary import second_half, without_rounding
from splitmerge_cli.runs.judgement import judgement_of
from splitmerge_cli.runs.store.read import Run

LETTERS = {"A": "#2F5F94", "B": "#C05468", "C": "#B5851A"}
SPLIT, MERGE = "#96210F", "#2E8B57"
"""Dark red and a lighter green: a print in grey tells them apart."""
SIDE = 1.0
GAP = 0.12
PAD = 0.22
SPACE = 0.55
WIDEST = 11.0
"""Line width, in points, of an arrow of probability 1."""
THINNEST = 0.9
POINT = 0.1
"""About one point in data units, at the scale of these drawings (a letter is 0.14 in)."""


@dataclass(frozen=True)
class Placed:
    """A drawn state: its centre and width in data units."""

    x: float
    width: float


def _box(ax: Axes, corner: tuple[float, float], size: tuple[float, float], rounding: float, **look: Any) -> None:
    """A box of this width and height with round corners."""
    ax.add_patch(FancyBboxPatch(corner, *size, boxstyle=f"round,pad=0,rounding_size={rounding}", **look))


def letter(ax: Axes, x: float, y: float, token: str, side: float = SIDE, size: float = 7.5) -> None:
    """One token, centred at (x, y), in letters of so many points."""
    look = {"facecolor": LETTERS[token], "edgecolor": "none", "zorder": 3}
    _box(ax, (x - side / 2, y - side / 2), (side, side), 0.18 * side, **look)
    ax.text(x, y, token, color="white", ha="center", va="center_baseline", fontsize=size, fontweight="bold", zorder=4)


def state(ax: Axes, x: float, y: float, clusters: Sequence[str], name: str) -> Placed:
    """A clustering as a row of boxes around (x, y), its name above."""
    widths = [len(tokens) * SIDE + (len(tokens) - 1) * GAP + 2 * PAD for tokens in clusters]
    width = sum(widths) + SPACE * (len(clusters) - 1)
    height = SIDE + 2 * PAD
    left_edge = x - width / 2
    for tokens, w in zip(clusters, widths, strict=True):
        look = {"facecolor": "#f4f4f2", "edgecolor": "#9a9a94", "linewidth": 0.8, "zorder": 2}
        _box(ax, (left_edge, y - height / 2), (w, height), 0.3, **look)
        for k, token in enumerate(tokens):
            letter(ax, left_edge + PAD + SIDE / 2 + k * (SIDE + GAP), y, token)
        left_edge += w + SPACE
    ax.text(x, y + height / 2 + 0.35, name, ha="center", va="bottom", fontsize=8.5, color="#222222", fontstyle="italic")
    return Placed(x, width)


def arrow(
    ax: Axes,
    start: tuple[float, float],
    end: tuple[float, float],
    probability: float,
    colour: str,
    preferred: bool = True,
) -> None:
    """An arrow as wide as its probability (but never too thin to be seen); dashed if it is not the preferred move."""
    width = max(THINNEST, WIDEST * probability)
    # the head covers the end of the line, which would show at its point
    length = (2.2 + 0.75 * width) * POINT
    direction = 1 if end[0] > start[0] else -1
    neck = end[0] - direction * length
    dashes = "-" if preferred else (0, (3.5, 2.5)) if width < 2 else (0, (1.6, 0.9))
    look: dict[str, Any] = {"color": colour, "linewidth": width, "linestyle": dashes, "zorder": 1}
    x = [start[0], neck + direction * 0.05]
    ax.plot(x, [start[1], end[1]], solid_capstyle="butt", dash_capstyle="butt", **look)
    half = (1.6 + 0.85 * width) * POINT
    ax.fill([neck, end[0], neck], [end[1] - half, end[1], end[1] + half], color=colour, linewidth=0, zorder=1)


def label(ax: Axes, x: float, y: float, move: str, probability: float, colour: str, above: bool) -> None:
    """Name and probability of a move, above or below the point (x, y)."""
    text = f"{move.replace('_', ' ')}\n{probability_text(probability)}"
    ax.text(x, y, text, ha="center", va="bottom" if above else "top", color=colour, fontsize=7.5, linespacing=1.2)


def probability_text(p: float) -> str:
    """A probability in three significant digits; powers of ten where it is tiny."""
    if p == 0:
        return "0"
    if p >= 1e-3:
        return f"{p:.3f}" if p < 0.9995 or p == 1 else f"1 − {_power(1 - p)}"
    return _power(p)


def _power(p: float) -> str:
    mantissa, exponent = f"{p:.1e}".split("e")
    return f"{mantissa} × 10{superscript(int(exponent))}"


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
