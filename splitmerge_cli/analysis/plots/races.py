"""Pictures of chains: traces, ranks and running means; the times of a race, the bounds and meetings of a certificate;
clusterings of tokens as boxes of coloured letters, with arrows as wide as they are probable. The runs of a figure:
chosen by their options, their traces as arrays.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from splitmerge_cli.analysis.certificate import DISTANCES, SHARES, Certificate
from splitmerge_cli.analysis.plots import style
from splitmerge_cli.analysis.race import Race
from splitmerge_cli.diagnostics.cluster_table import count_of, number, shorten
from splitmerge_cli.diagnostics.convergence import format_rhat
from splitmerge_cli.diagnostics.summary import second_half, without_rounding
from splitmerge_cli.runs import grouping, judgement
from splitmerge_cli.runs.store.read import Run


def times(race: Race) -> Figure:
    """Draw the traces of all chains, and how many have reached the target, a column for each start."""
    # a colour for each sampler, none twice
    colours: dict[str, str] = {}
    for sampler in race.samplers:
        free = (colour for colour in (style.colour_of(sampler), *style.CYCLE) if colour not in colours.values())
        colours[sampler] = next(free, "#444444")
    starts = race.starts
    figure, axes = plt.subplots(2, len(starts), figsize=(style.FULL, 4.2), sharex=True, sharey="row", squeeze=False)
    least = min(float(track.seconds[track.seconds > 0][0]) for track in race.tracks if (track.seconds > 0).any())
    longest = max(track.end for track in race.tracks)
    for (above, below), start in zip(axes.T, starts, strict=True):
        above.set_title(f"from {start.replace('_', ' ')}", loc="left")
        for track in race.tracks:
            if track.trial.start == start:
                places = thinned_rows(len(track.seconds), log=True)
                places = places[track.seconds[places] > 0]
                look = {"color": colours[track.sampler], "linewidth": 0.5, "alpha": 0.6}
                above.plot(track.seconds[places], track.log_joint[places], **look)
        above.axhline(race.target.log_joint, color=style.REFERENCE, linewidth=0.8, linestyle=(0, (4, 3)))
        for sampler in race.samplers:
            rows = race.chains[(race.chains["sampler"] == sampler) & (race.chains["start"] == start)]
            if len(rows):
                reached = np.sort(rows["seconds"][np.isfinite(rows["seconds"])].to_numpy(float))
                share = np.arange(1, len(reached) + 1) / len(rows)
                x, y = np.r_[least, reached, longest], np.r_[0, share, share[-1:] if len(share) else 0]
                number = race.samplers.index(sampler)
                # in grey, too, the lines of samplers differ
                dashes = style.CHAINS[number % len(style.CHAINS)]
                look = style.look_of(sampler) | {"color": colours[sampler], "linestyle": dashes}
                place = style.marks_along(y, number, len(race.samplers))
                below.step(x, y, where="post", label=style.title_of(sampler), **look, **place)
        below.set(xscale="log", xlabel="sampling time (s)", ylim=(-0.02, 1.04))
        style.powers(below.xaxis)
    low = np.quantile(np.concatenate([t.log_joint[t.late] for t in race.tracks]), 0.02)
    high = max(float(t.log_joint.max()) for t in race.tracks)
    room = high - min(low, race.target.log_joint)
    axes[0, 0].set_ylim(high - 2.5 * room if room > 0 else None, high + 0.15 * room if room > 0 else None)
    axes[0, 0].set_ylabel("log joint density")
    axes[1, 0].set_ylabel("chains that have\nreached the target")
    axes[0, 0].set_xlim(least, longest)
    handles, labels = axes[1, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=min(6, len(labels)))
    style.footnote(figure, "Dashed: log joint density of the target. Lower values of the log joint are cut off.")
    return figure


LIMIT = (0, (4, 3))
"""Dashes of a confidence limit."""


def meetings(certificate: Certificate) -> Figure:
    """Draw the share of pairs that have met against iterations, and the bounds where there are any."""
    pairs, lag = certificate.pairs, certificate.schedule.lag
    colour = style.colour_of(str(certificate.config["sampler"]["name"]))
    figure, (left, right) = plt.subplots(1, 2, figsize=(style.FULL, 2.5), width_ratios=(3, 2))
    met = np.sort([pair.meeting - lag for pair in certificate.met_pairs if pair.meeting is not None])
    share = np.arange(1, len(met) + 1) / max(1, len(pairs))
    end = certificate.schedule.iterations - lag if len(met) < len(pairs) else (met[-1] if len(met) else 1)
    right.step(np.r_[0, met, end], np.r_[0, share, share[-1:] if len(share) else 0], where="post", color=colour)
    right.set(ylim=(0, 1.02), xlabel=f"iterations after the lag of {lag}", ylabel="pairs that have met")
    if len(met) < len(pairs):
        right.axhline(1, color=style.REFERENCE, linewidth=0.8, linestyle=LIMIT)
    bound = certificate.bound
    if bound is None:
        why = "\n".join(["no bound:", *certificate.lacks])
        left.text(0.5, 0.5, why, ha="center", va="center", transform=left.transAxes)
        left.set(xticks=[], yticks=[])
    else:
        lowest = min(0.02, bound.upper.min() / 1.5)
        left.plot(bound.t, bound.estimate, color=colour, label="total variation")
        left.plot(bound.t, bound.upper, color=colour, linewidth=0.9, linestyle=LIMIT, label="95 % limits")
        if (other := certificate.wasserstein) is not None:
            lowest = min(lowest, SHARES[-1] / 2)
            left.plot(other.t, other.estimate, color=style.REFERENCE, label="Wasserstein")
            left.plot(other.t, other.upper, color=style.REFERENCE, linewidth=0.9, linestyle=LIMIT)
        left.set(yscale="log", ylim=(lowest, 1.3), xlabel="iterations", ylabel="bound of the distance")
        left.set_yticks(ticks := sorted({1, *DISTANCES, *SHARES}), [f"{d:g}" for d in ticks])
        left.minorticks_off()
        left.legend(loc="upper right")
    of_bound = "" if bound is None else f"Estimated upper bounds, for chains from {certificate.starts_text}. "
    style.footnote(figure, f"{of_bound}Modes that no chain visits stay unseen.")
    return figure


LONGEST = 40
"""Most letters of a data set's name in a title."""


@dataclass(frozen=True)
class Picture:
    """A picture that a run may have.

    `can_draw` and `draw` raise `ConfigError` or `DataError` if they need the data again, which cannot be loaded.
    """

    answers: str
    """The question that it answers."""
    shows: str
    """The kind of chart and its axes, in a line."""
    can_draw: Callable[[Run], bool]
    """Whether a run has it."""
    draw: Callable[[Run], Figure]
    in_column: bool = False
    """Whether it can be read at the width of a column."""
    section: str = "clusters"
    """Section of a page that shows it: ``clusters``, their ``number`` or ``certainty``, or ``chains``."""


def option(run: Run, key: str) -> Any:
    """The value of a dotted configuration key; of a group its name."""
    node: Any = run.config
    for part in key.split("."):
        node = node[part]
    return node["name"] if isinstance(node, dict) else node


def data_name(run: Run) -> str:
    """Name of a run's data in titles: the file without its ending, the network, or the data set."""
    data = run.config["data"]
    if path := data.get("path"):
        name = PurePath(path).name
        stem = name.removesuffix(".gz").rpartition(".")[0] or name
        return style.plain_text("standard input" if path == "-" else shorten(stem, LONGEST))
    if data["name"] == "networkx":
        return style.plain_text(str(data["graph"]).replace("_", " "))
    return style.plain_text("data from Python" if data["name"] == "given" else str(data["name"]))


def subject(run: Run) -> str:
    """Sampler, data and number of items, as titles begin."""
    sampler = option(run, "sampler")
    counted = f"{run.summary['N']:,}"
    if grouping.has_units(run.summary):
        counted = grouping.describe_rows(run.summary)
    elif (size := grouping.total_size(run.summary)) != run.summary["N"]:
        counted = f"{size:,.10g} in {counted} rows"
    return f"{style.title_of(sampler)} on {data_name(run)}, N = {counted}"


def state_of(run: Run) -> str:
    """A sentence, after a space, if a run shows the clusters of its best state; otherwise nothing."""
    if "expected_vi" in run.summary["point_estimate"]:
        return ""
    apart = judgement.judgement_of(run).converged is False
    return " The clusters are the best state" + (": the chains have not converged." if apart else ".")


def pick(runs: Iterable[Run], **where: Any) -> list[Run]:
    """The runs with these options, by seed; a dot in a key is written as two underscores."""
    chosen = [r for r in runs if all(option(r, key.replace("__", ".")) == value for key, value in where.items())]
    return sorted(chosen, key=lambda r: option(r, "seed"))


def values(runs: Iterable[Run], key: str) -> list[Any]:
    """The different values of an option among runs, ascending."""
    return sorted({option(run, key) for run in runs})


def series(runs: Sequence[Run], column: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """One column from the traces of several runs, all equally long: iteration, int64 ``[rows]``, and values, float64
    ``[chains of all runs, rows]``."""
    rows = []
    iteration = np.empty(0, np.int64)
    for run in runs:
        for _, chain in run.trace(["chain", "iteration", column]).groupby("chain", sort=True):
            iteration = chain["iteration"].to_numpy()
            rows.append(chain[column].to_numpy(float))
    return iteration, np.stack(rows)


def data_sets(runs: Sequence[Run]) -> NDArray[np.int64]:
    """The data set of every chain, by number, int64 ``[chains of all runs]``: chains that share one are not
    independent."""
    keys = [json.dumps([run.config["N"], run.config["data"]], sort_keys=True) for run in runs]
    number = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    return np.repeat([number[key] for key in keys], [run.config["chains"] for run in runs]).astype(np.int64)


def thinned_rows(n: int, points: int = 400, log: bool = False) -> NDArray[np.int64]:
    """Positions of at most `points` of `n` rows, the first and the last among them, evenly (`log`: geometrically)."""
    places = np.geomspace(1, n, points) - 1 if log else np.linspace(0, n - 1, points)
    return np.unique(places.round().astype(np.int64))


LETTERS = dict(zip("ABC123ijhk", [*["#2F5F94", "#C05468", "#B5851A"] * 3, "#3A7D5D"], strict=True))
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


def letter(ax: Axes, x: float, y: float, token: str, side: float = SIDE, size: float = 7.5) -> None:
    """One token, centred at (x, y), in letters of so many points."""
    round_ = f"round,pad=0,rounding_size={0.18 * side}"
    look: dict[str, Any] = {"facecolor": LETTERS[token], "edgecolor": "none", "zorder": 3, "boxstyle": round_}
    ax.add_patch(FancyBboxPatch((x - side / 2, y - side / 2), side, side, **look))
    ax.text(x, y, token, color="white", ha="center", va="center_baseline", fontsize=size, fontweight="bold", zorder=4)


def state(ax: Axes, x: float, y: float, clusters: Sequence[str], name: str = "") -> tuple[float, float]:
    """A clustering as a row of boxes around (x, y), its name above; where it begins and ends."""
    widths = [len(tokens) * SIDE + (len(tokens) - 1) * GAP + 2 * PAD for tokens in clusters]
    width = sum(widths) + SPACE * (len(clusters) - 1)
    height = SIDE + 2 * PAD
    left_edge = x - width / 2
    look: dict[str, Any] = {"facecolor": "#f4f4f2", "edgecolor": "#9a9a94", "linewidth": 0.8, "zorder": 2}
    look["boxstyle"] = "round,pad=0,rounding_size=0.3"
    for tokens, w in zip(clusters, widths, strict=True):
        ax.add_patch(FancyBboxPatch((left_edge, y - height / 2), w, height, **look))
        for k, token in enumerate(tokens):
            letter(ax, left_edge + PAD + SIDE / 2 + k * (SIDE + GAP), y, token)
        left_edge += w + SPACE
    ax.text(x, y + height / 2 + 0.35, name, ha="center", va="bottom", fontsize=8.5, color="#222222", fontstyle="italic")
    return x - width / 2, x + width / 2


Point = tuple[float, float]


def arrow(ax: Axes, start: Point, end: Point, probability: float, colour: str, preferred: bool = True) -> None:
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
    if p in (0, 1) or 1e-3 <= p < 0.9995:
        return f"{p:.3f}" if p else "0"
    mantissa, exponent = f"{p if p < 0.5 else 1 - p:.1e}".split("e")
    return f"{'' if p < 0.5 else '1 − '}{mantissa} × 10{style.superscript(int(exponent))}"


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
    """Draw the chains of a run, a row of panels for each quantity, then `panels`: the traces and, of the second halves,
    ranks and running means of the log joint, K, the quantity of the largest R-hat and, if the truth is known, the
    adjusted Rand index. `titles` name quantities."""
    trace = run.trace().rename(columns={"ari": "score"})
    shares = np.stack(trace["largest"].tolist()).T
    trace = trace.assign(largest=shares[0], **{f"largest{s}": share for s, share in enumerate(shares[1:], 2)})
    chains = [chain for _, chain in trace.groupby("chain", sort=True)]
    late, n = second_half(trace), len(chains)
    names = [name for name in QUANTITIES if name in late]
    worst = judgement.judgement_of(run).quantity if run.is_done else None
    if worst in late and not any(np.array_equal(late[worst], late[name]) for name in names):
        names.insert(2, worst)
    wide = [panel.name for panel in panels]
    high = min(max(1.2, 0.3 * n), (9.1 - 1.6 * len(wide)) / len(names) - 0.35)
    parts, ratios = (["", "ranks", "mean"], [2.0, 1.0, 1.2]) if n > 1 else (["", "mean"], [2.0, 1.2])
    mosaic: Any = [[f"{name}{part}" for part in parts] for name in names] + [[name] * len(parts) for name in wide]
    figure, axes = plt.subplot_mosaic(
        mosaic,
        figsize=(style.FULL, (high + 0.35) * len(names) + 1.6 * len(wide) + 0.8),
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
    title = f"{style.title_of(option(run, 'sampler'))} on {data_name(run)}, N = {N}, {counted}"
    named = axes[names[0]].get_yticklabels() if 1 < n <= MOST_NAMES else []
    handles = [style.entry(label=label.get_text(), linewidth=1.2, **_look(k)) for k, label in enumerate(named)]
    above: dict[str, Any] = {"title": f"{'Do the chains agree? ' * (n > 1)}{title}", "title_fontsize": 9.5}
    above |= {"alignment": "left", "fontsize": 7, "handlelength": 2.6, "borderpad": 0}
    figure.legend(handles=handles, loc="outside upper left", ncols=MOST_NAMES, **above)
    ranks = (
        " Ranks: of each chain's draws among the draws of all chains, ties in random order; where chains agree, bars "
        "end near the dashed line. Ranks, R-hat and running means: second halves."
    )
    style.footnote(
        figure,
        f"Traces: from the smallest to the largest value after the first {SETTLED:.0%} of the iterations; what lies "
        f"beyond is cut off.{ranks if n > 1 else ' Running mean: second half.'}",
    )
    return figure


def _look(k: int) -> dict[str, Any]:
    return {"color": style.CYCLE[k % len(style.CYCLE)], "linestyle": style.CHAINS[k % len(style.CHAINS)]}


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
    """Count the ranks of each chain's draws ``[chains, draws]`` among all draws, ``[chains, BINS]``. Ties are in random
    order, so that ranks of a quantity of few values are uniform, too; the same at every call."""
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
