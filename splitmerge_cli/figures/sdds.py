"""Figures and tables of paper 000: Wang & Russell, Smart-Dumb/Dumb-Smart (UAI 2015)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, PercentFormatter
from numpy.typing import NDArray

from splitmerge_cli.figures import boxes
from splitmerge_cli.figures.base import Drawing, Entry, option, pick, series, thinned, values
from splitmerge_cli.figures.claims import (
    NOT_REPRODUCED,
    REPRODUCED,
    Claim,
    Summary,
    Verdict,
    by_bound,
    by_factor,
    by_majority,
    exactly,
    holds,
    mean_interval,
    median_interval,
    published,
    share_interval,
    untestable,
)
from splitmerge_cli.figures.posterior import mean_K
from splitmerge_cli.figures.style import COLOURS, LINES, NAMES, REFERENCE, footnote, legend, sampler_handles
from splitmerge_cli.results.read import Run

TRUE_K = 10
ARRIVED = 1.0
"""A chain has arrived when the mean K of its second half is within this of the true K."""
NEVER = 1e-3
""""Almost no" accepted move: an acceptance rate of at most this."""
ITERATIONS = {100: 10_000, 200: 50_000, 500: 200_000}
"""Length of the paper's runs, by N."""
TARGETS = {"literal": "ratios as printed", "labelled": "model as defined"}
STEPS = {"full_scan": "full Gibbs scan", "single_site": "one Gibbs site"}

# Table 1, Figures 1 and 2: exact


def table1(table: pd.DataFrame) -> Drawing:
    """Sequential allocation of AABBCC."""
    claims = published("sdds-table1")
    verdicts = [exactly(c, p, 0.0005) for c, p in zip(claims, table["probability"], strict=True)]
    figure, ax = plt.subplots(figsize=(5.6, 2.75))
    ax.set(xlim=(-1.8, 12.0), ylim=(-4.8, 2.6), aspect="equal")
    ax.axis("off")
    column = 1.95
    heads = ["step", "$E'_1$", "$E'_2$", "ours", "paper"]
    for y, head in zip([1.9, 0.75, -0.55, -1.9, -3.1], heads, strict=True):
        ax.text(-0.2, y, head, ha="right", va="center", fontsize=8.5, color="#222222")
    for rule in (2.5, 1.4, -1.2, -3.8):
        ax.plot([-1.7, 0.2 + 6 * column], [rule, rule], color="#999999", linewidth=0.7)
    for row, verdict in zip(table.itertuples(index=False), verdicts, strict=True):
        x = 0.2 + (row.step - 0.5) * column
        ax.text(x, 1.9, str(row.step), ha="center", va="center", fontsize=8.5)
        for side, y in [(1, 0.75), (2, -0.55)]:
            held = table[(table["step"] <= row.step) & (table["side"] == side)]
            left = x - (len(held) - 1) * 0.23
            for k, (step, token) in enumerate(zip(held["step"], held["token"], strict=True)):
                if step == row.step:
                    ax.plot(left + k * 0.46, y - 0.42, marker="^", color="#222222", markersize=3)
                boxes.letter(ax, left + k * 0.46, y, token, side=0.42)
        ax.text(x, -1.9, f"{row.probability:.3f}", ha="center", va="center", fontsize=9, fontweight="bold")
        same = verdict.verdict == REPRODUCED
        colour = "#555555" if same else boxes.SPLIT
        ax.text(x, -3.1, f"{verdict.claim.value:.3f}", ha="center", va="center", fontsize=8, color=colour)
        if not same:
            ax.text(x, -4.3, "erratum", ha="center", va="center", fontsize=7, color=colour)
    plotted = table.assign(paper=[c.value for c in claims])
    return Drawing(figure, plotted, verdicts)


X = ("AABB", "CC", "CC")
SPLIT = ("AA", "BB", "CC", "CC")
MERGED = ("AABB", "CCCC")
CONFLICT = ("AA", "BB", "CCCC")


@dataclass(frozen=True)
class _Proposals:
    """Proposal probabilities given the type of move, from the table that `exact.proposals` computes."""

    table: pd.DataFrame

    def probability(self, move: str, start: Sequence[str], end: Sequence[str]) -> float:
        """Probability that `move` proposes `end` from `start`."""
        return float(self._of(move, start).get("|".join(sorted(end)), 0.0))

    def favourite(self, move: str, start: Sequence[str]) -> tuple[tuple[str, ...], float]:
        """The state that `move` proposes most often from `start`, and its probability."""
        of_move = self._of(move, start)
        best = str(of_move.idxmax())
        return tuple(best.split("|")), float(of_move.max())

    def _of(self, move: str, start: Sequence[str]) -> pd.Series:
        rows = self.table[(self.table["move"] == move) & (self.table["state"] == "|".join(sorted(start)))]
        return rows.set_index("target")["probability"]


def _braces(clusters: Sequence[str]) -> str:
    return " ".join("{" + tokens + "}" for tokens in clusters)


WAYS = [("smart_split", SPLIT, "x_1"), ("smart_merge", MERGED, "x_2")]
"""Rows of Figures 1 and 2: the smart move, and where it takes x."""
EQUAL = (
    "equal: a smart merge, too, draws its first entity uniformly,\nand {AA} or {BB} goes with any other equally well"
)
"""Why the smart merge undoes the smart split as often as the dumb one does."""
INVERSE = {"smart_split": "merge", "smart_merge": "split"}


def fig1(table: pd.DataFrame) -> Drawing:
    """The conflict of smart split and smart merge."""
    q = _Proposals(table)
    titles = ["(a) smart split, undone by a smart merge", "(b) smart merge, undone by a smart split"]
    return Drawing(_draw_ways(q, "smart", titles), table, _fig1_verdicts(q))


def fig2(table: pd.DataFrame) -> Drawing:
    """The two kernels of SDDS."""
    q = _Proposals(table)
    titles = ["(a) smart split, undone by a dumb merge", "(b) smart merge, undone by a dumb split"]
    claims = {c.metric: c for c in published("sdds-fig2")}
    verdicts = []
    for forth, there, _ in WAYS:
        inverse = INVERSE[forth]
        dumb, smart = (q.probability(f"{kind}_{inverse}", there, X) for kind in ("dumb", "smart"))
        more = dumb > smart * (1 + 1e-9)
        reason = f"dumb {inverse} {dumb:.3g}, {'more' if more else 'no more'} than the smart {inverse}'s {smart:.3g}"
        verdicts.append(holds(claims[f"dumb_{inverse}_keeps_its_share"], dumb, more, reason))
    return Drawing(_draw_ways(q, "dumb", titles), table, verdicts)


def _draw_ways(q: _Proposals, kind: str, titles: Sequence[str]) -> Figure:
    """Two rows: x, where a smart move takes it, and where a smart or dumb move goes from there."""
    width, height, level = 51.5, 10.2, 4.7
    figure, axes = plt.subplots(2, 1, figsize=(7.2, 7.2 * 2 * height / width))
    for ax, title, (forth, there, name) in zip(axes, titles, WAYS, strict=True):
        ax.set(xlim=(0, width), ylim=(0, height), aspect="equal")
        ax.axis("off")
        ax.text(0, height, title, fontsize=8.5, va="top", color="#222222")
        back = f"{kind}_{INVERSE[forth]}"
        rival, _ = q.favourite(f"smart_{INVERSE[forth]}", there)
        start = boxes.state(ax, 6.0, level, X, "$x$")
        middle = boxes.state(ax, 26.2, level, there, f"${name}'$")
        end = boxes.state(ax, 45.4, level, rival, f"${name}''$")
        p_forth, p_back, p_rival = (
            q.probability(forth, X, there),
            q.probability(back, there, X),
            q.probability(back, there, rival),
        )
        left, right = start.x + start.width / 2 + 0.6, middle.x - middle.width / 2 - 0.6
        centre = (left + right) / 2
        label = boxes.label
        boxes.arrow(ax, (left, level + 0.75), (right, level + 0.75), p_forth, _colour(forth))
        label(ax, centre, level + 1.9, forth, p_forth, _colour(forth), above=True)
        likely = kind == "dumb" or p_back >= p_rival
        boxes.arrow(ax, (right, level - 0.95), (left, level - 0.95), p_back, _colour(back), likely)
        label(ax, centre, level - 1.9, back, p_back, _colour(back), above=False)
        left, right = middle.x + middle.width / 2 + 0.6, end.x - end.width / 2 - 0.6
        boxes.arrow(ax, (left, level), (right, level), p_rival, _colour(back))
        label(ax, (left + right) / 2, level - 1.25, back, p_rival, _colour(back), above=False)
        ratio = boxes.probability_text(p_back / p_forth)
        note = rf"way back / way forth = {ratio}"
        if kind == "dumb":
            smart = q.probability(f"smart_{INVERSE[forth]}", there, X)
            note += rf"   (with a smart {INVERSE[forth]}: {boxes.probability_text(smart / p_forth)})"
            if np.isclose(smart, p_back):
                note += f"\n{EQUAL}"
        ax.text(width, height, note, fontsize=7.5, ha="right", va="top", color="#444444", linespacing=1.25)
    return figure


def _colour(move: str) -> str:
    return boxes.SPLIT if move.endswith("split") else boxes.MERGE


def _fig1_verdicts(q: _Proposals) -> list[Verdict]:
    claims = {c.metric: c for c in published("sdds-fig1")}
    verdicts = []
    for metric, move, start, expected in [
        ("smart_split_prefers_AA_BB", "smart_split", X, SPLIT),
        ("smart_merge_then_prefers_CCCC", "smart_merge", SPLIT, CONFLICT),
        ("smart_merge_prefers_CCCC", "smart_merge", X, MERGED),
        ("smart_split_then_prefers_AA_BB", "smart_split", MERGED, CONFLICT),
    ]:
        target, p = q.favourite(move, start)
        same = sorted(target) == sorted(expected)
        verdicts.append(holds(claims[metric], p, same, f"most probable: {_braces(target)}, {p:.3g}"))
    for metric, move, start in [
        ("reverse_merge_unlikely", "smart_merge", SPLIT),
        ("reverse_split_unlikely", "smart_split", MERGED),
    ]:
        p, (_, preferred) = q.probability(move, start, X), q.favourite(move, start)
        # "highly unlikely", "only a tiny probability": an order of magnitude below the preferred move
        reason = f"{p:.3g} against {preferred:.3g} for the preferred move (rule: a tenth of it at most)"
        verdicts.append(holds(claims[metric], p, p <= preferred / 10, reason))
    return verdicts


# Figures 3 and 4: running mean of K


@dataclass(frozen=True)
class _Paths:
    """Running means of K of the chains of one setting."""

    iteration: NDArray[np.int64]
    running: NDArray[np.float64]
    settled: NDArray[np.float64]
    """Mean K of the second half of each chain, ``[chains]``."""

    def rows(self, **setting: Any) -> pd.DataFrame:
        """What is plotted: median and range over chains of the running mean at each iteration."""
        return pd.DataFrame(
            {
                **setting,
                "iteration": self.iteration,
                "median": np.median(self.running, axis=0),
                "low": self.running.min(axis=0),
                "high": self.running.max(axis=0),
                "chains": len(self.running),
            }
        )


def _paths(runs: Sequence[Run]) -> _Paths:
    iteration, K = series(runs, "K")
    half = iteration > iteration[-1] / 2
    # the start state is no iteration
    running = np.cumsum(K[:, 1:], axis=1) / np.arange(1, K.shape[1])
    at = thinned(running.shape[1], log=True)
    return _Paths(iteration[1:][at], running[:, at], K[:, half].mean(axis=1))


MEDIAN, THIN = 1.8, 0.5
"""Line widths of a median over chains and of one chain."""


def _draw_paths(ax: Axes, paths: dict[str, _Paths]) -> None:
    for sampler, path in paths.items():
        colour = COLOURS[sampler]
        ax.fill_between(
            path.iteration, path.running.min(axis=0), path.running.max(axis=0), color=colour, alpha=0.1, lw=0
        )
        ax.plot(path.iteration, path.running.T, color=colour, alpha=0.4, linewidth=THIN)
        median = np.median(path.running, axis=0)
        ax.plot(path.iteration, median, color=colour, linewidth=MEDIAN, linestyle=LINES[sampler], zorder=3)
    ax.set_xscale("log")
    ax.set_xlim(min(p.iteration[0] for p in paths.values()), max(p.iteration[-1] for p in paths.values()))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x / 1000:g}k" if x >= 1000 else f"{x:g}"))


def _exact(run: Run) -> float:
    """Exact posterior mean of K of the target of a run."""
    c = run.config
    return mean_K(
        c["N"],
        c["data"]["entities"],
        c["data"]["n_tokens"],
        c["model"]["kmax"],
        c["model"]["mu"],
        c["model"]["sigma"],
        c["model"]["labels"],
    )


def _reference(ax: Axes, exact: float) -> None:
    ax.axhline(exact, color=REFERENCE, linewidth=0.9, linestyle=(0, (5, 2)), zorder=1)


def _paths_legend(figure: Figure, samplers: Sequence[str], chains: Sequence[int]) -> None:
    """Legend of panels of running means: samplers, and what is a line and what a band."""
    grey, each = "#444444", f"{min(chains)}" if min(chains) == max(chains) else f"{min(chains)} to {max(chains)}"
    what = [
        Line2D([], [], color=grey, linewidth=MEDIAN, label=f"thick: median of {each} chains"),
        Line2D([], [], color=grey, linewidth=THIN, label="thin: one chain"),
        Patch(facecolor=grey, alpha=0.2, linewidth=0, label="band: range of chains"),
        Line2D([], [], color=REFERENCE, linewidth=0.9, linestyle=(0, (5, 2)), label="exact posterior mean E[K]"),
    ]
    legend(figure, sampler_handles(samplers, dashed=True), what)


def _samplers(runs: Sequence[Run]) -> list[str]:
    present = values(runs, "sampler")
    return [name for name in COLOURS if name in present]


def _judge_K(claim: Claim, path: _Paths, N: int, reading: str) -> Verdict:
    """Judge a claim on where K settles."""
    settled, value = path.settled, claim.value
    where = f"mean K of the second half {{}} {ARRIVED:g} of {value:g}"
    agrees, rule = np.abs(settled - value) <= ARRIVED, where.format("within")
    if claim.metric == "does_not_reach_K":
        agrees, rule = ~agrees, where.format("not within")
    elif claim.metric == "overshoots_K":
        agrees, rule = settled > value + ARRIVED, f"mean K of the second half above {value + ARRIVED:g}"
    # a chain cut short has stayed where it was more easily, and arrived less easily, than the paper's
    stays = claim.metric == "does_not_reach_K" or claim.statement.startswith("trapped")
    length, full = path.iteration[-1], ITERATIONS[N]
    why = f"{length:,} of the paper's {full:,} iterations"
    short = (REPRODUCED if stays else NOT_REPRODUCED, why) if length < full else ("", "")
    return by_majority(claim, settled, agrees, rule, reading, short)


def fig3(runs: Sequence[Run]) -> Drawing:
    """Running mean of K against iteration for N = 100, 200, 500."""
    sizes, samplers = values(runs, "N"), _samplers(runs)
    figure, axes = plt.subplots(2, len(sizes), figsize=(7.2, 4.3), sharey="row", squeeze=False)
    claims = published("sdds-fig3")
    verdicts, plotted = [], []
    for row, target in enumerate(TARGETS):
        for ax, N in zip(axes[row], sizes, strict=True):
            here = pick(runs, N=N, model__labels=target)
            paths = {s: _paths(pick(here, sampler=s)) for s in samplers}
            exact = _exact(here[0])
            _draw_paths(ax, paths)
            _reference(ax, exact)
            ax.set_title(f"N = {N}, E[K] = {exact:.1f}")
            plotted += [p.rows(target=target, N=N, sampler=s, exact_mean_K=exact) for s, p in paths.items()]
            for claim in claims:
                if claim.data == f"emm N={N} K0=5" and target == "literal":
                    verdicts.append(_judge_K(claim, paths[claim.sampler], N, TARGETS[target]))
                elif claim.data == f"emm N={N}" and claim.metric == "exact_posterior_mean_K":
                    verdicts.append(exactly(claim, exact, 0.5, "an exact sum over all states", TARGETS[target]))
        axes[row][0].set_ylabel(f"{TARGETS[target]}\nrunning mean of K")
        axes[row][0].set_ylim(0, None)
    for ax in axes[-1]:
        ax.set_xlabel("iteration")
    _paths_legend(figure, samplers, [frame["chains"].iloc[0] for frame in plotted])
    return Drawing(figure, pd.concat(plotted, ignore_index=True), verdicts)


def fig4(runs: Sequence[Run]) -> Drawing:
    """Running mean of K at N = 500 for four starts, and how often each sampler arrives."""
    starts, samplers = values(runs, "K0"), _samplers(runs)
    figure, axes = plt.subplots(3, len(starts), figsize=(7.2, 6.2), sharey="row", squeeze=False)
    claims = published("sdds-fig4")
    verdicts, plotted = [], []
    for row, target in enumerate(TARGETS):
        for ax, K0 in zip(axes[row], starts, strict=True):
            here = pick(runs, K0=K0, model__labels=target, schedule="full_scan")
            paths = {s: _paths(pick(here, sampler=s)) for s in samplers}
            exact = _exact(here[0])
            _draw_paths(ax, paths)
            _reference(ax, exact)
            ax.set_title(f"$K_0$ = {K0}, E[K] = {exact:.1f}")
            plotted += [
                p.rows(panel="running mean", target=target, schedule="full_scan", K0=K0, sampler=s, exact_mean_K=exact)
                for s, p in paths.items()
            ]
            ax.set_xlabel("iteration")
        axes[row][0].set_ylabel(f"{TARGETS[target]}\nrunning mean of K")
        axes[row][0].set_ylim(0, None)
    _paths_legend(figure, samplers, [frame["chains"].iloc[0] for frame in plotted])
    for ax, K0 in zip(axes[2], starts, strict=True):
        for offset, schedule in [(-0.17, "full_scan"), (0.17, "single_site")]:
            for k, sampler in enumerate(samplers):
                here = pick(runs, K0=K0, model__labels="literal", schedule=schedule, sampler=sampler)
                path = _paths(here)
                arrived = np.abs(path.settled - TRUE_K) <= ARRIVED
                share = arrived.mean()
                low, high = share_interval(int(arrived.sum()), len(arrived))
                face = COLOURS[sampler] if schedule == "full_scan" else "white"
                ax.plot([k + offset] * 2, [low, high], color=COLOURS[sampler], linewidth=1.1, clip_on=False)
                ax.plot(k + offset, share, "o", color=COLOURS[sampler], markerfacecolor=face, clip_on=False, zorder=3)
                plotted.append(
                    pd.DataFrame(
                        {
                            "panel": "arrived",
                            "target": "literal",
                            "schedule": schedule,
                            "K0": K0,
                            "sampler": sampler,
                            "share": [share],
                            "low": low,
                            "high": high,
                            "chains": len(arrived),
                        }
                    )
                )
                verdicts += [
                    _judge_K(claim, path, here[0].config["N"], STEPS[schedule])
                    for claim in claims
                    if claim.data == f"emm N=500 K0={K0}" and claim.sampler == sampler
                ]
        ax.set_title(f"$K_0$ = {K0}")
        ax.set_xticks(range(len(samplers)), [NAMES[s] for s in samplers])
        ax.set_xlim(-0.5, len(samplers) - 0.5)
        ax.set_ylim(0, 1)
        ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes[2][0].set_ylabel(f"{TARGETS['literal']}\nchains that arrive at K = {TRUE_K}")
    grey: dict[str, Any] = {"color": "#444444", "marker": "o", "linestyle": ""}
    steps = [
        Line2D([], [], label=f"bottom row: {STEPS['full_scan']}", **grey),
        Line2D([], [], label=STEPS["single_site"], markerfacecolor="white", **grey),
        Line2D([], [], color="#444444", linewidth=1.1, label="95 % interval of the share"),
    ]
    figure.legend(handles=steps, loc="outside lower left", ncols=len(steps), columnspacing=1.4)
    order = {claim: i for i, claim in enumerate(claims)}
    verdicts.sort(key=lambda v: order[v.claim])
    return Drawing(figure, pd.concat(plotted, ignore_index=True), verdicts)


# Figure 5: acceptance and time


SHOWN = {"rgsm": ("split", "merge"), "ss": ("smart_split", "smart_merge"), "sdds": ("smart_split", "smart_merge")}
"""The split and the merge of each sampler that the paper's figure shows."""
DASHES: dict[str, Any] = {"literal": "-", "labelled": "--"}
TIMED: dict[str, tuple[str, bool, Any]] = {
    "move alone": ("full_scan", False, ":"),
    "move and one Gibbs site": ("single_site", True, "-."),
    "move and full Gibbs scan": ("full_scan", True, "-"),
}
"""What counts as an iteration: the schedule that was run, whether its Gibbs step is counted, and the line drawn."""


def _acceptance(runs: Sequence[Run], move: str) -> NDArray[np.float64]:
    """Share of proposals accepted, ``[chains]``; NaN where the move was never proposed."""
    moves = pd.concat([r.moves() for r in runs])
    moves = moves[moves["move"] == move]
    return (moves["accepted"] / moves["proposed"].where(moves["proposed"] > 0)).to_numpy(float)


def _milliseconds(runs: Sequence[Run], gibbs: bool) -> NDArray[np.float64]:
    """Sampling time of one iteration, ``[chains]``: with its Gibbs step, or of the split-merge move alone."""
    times: list[float] = []
    for run in runs:
        last = run.trace(["chain", "iteration", "seconds"]).groupby("chain").last()
        seconds = last["seconds"]
        if not gibbs:
            moves = run.moves()
            seconds = moves[moves["move"] != "gibbs"].groupby("chain")["seconds"].sum()
        times += (1000 * seconds / last["iteration"]).tolist()
    return np.array(times)


def _size_axis(ax: Axes, sizes: Sequence[int]) -> None:
    ax.set_xscale("log")
    ax.set_xticks(sizes, [f"{n:,}" for n in sizes])
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.xaxis.set_minor_locator(plt.NullLocator())
    ax.set_xlim(sizes[0] / 1.25, sizes[-1] * 1.25)
    ax.set_xlabel("N")


def _curve(
    ax: Axes,
    sizes: Sequence[int],
    samples: Sequence[NDArray[np.float64]],
    colour: str,
    summary: Summary,
    style: str,
    place: int,
) -> list[tuple[float, float, float]]:
    """Centres over chains with their 95 % intervals, joined; curves of other `place` (0, 1, 2) stand beside."""
    stats = [summary(x) for x in samples]
    centre, low, high = np.array(stats).T
    at = np.array(sizes) * 1.05 ** (place - 1)
    ax.plot(at, centre, style, marker="o", color=colour)
    ax.vlines(at, np.fmax(low, 0), high, color=colour, linewidth=1.1)
    return stats


def fig5(runs: Sequence[Run]) -> Drawing:
    """Acceptance of split and merge, time per iteration, and its ratio, against N."""
    figure, axes = plt.subplots(2, 2, figsize=(7.2, 5.2))
    claims = published("sdds-fig5")
    plotted, verdicts = _draw_acceptance(axes[0], runs, claims)
    more, times = _draw_times(axes[1], runs, claims)
    styles = {
        "ratios as printed, full Gibbs scan": "-",
        f"(a, b) {TARGETS['labelled']}": DASHES["labelled"],
        "(c, d) one Gibbs site": TIMED["move and one Gibbs site"][2],
        "(c, d) move alone": TIMED["move alone"][2],
    }
    lines = [Line2D([], [], color="#444444", linestyle=style, label=what) for what, style in styles.items()]
    diamond = Line2D([], [], color="#444444", marker="D", markerfacecolor="white", linestyle="", label="the paper")
    legend(figure, [*sampler_handles(list(SHOWN)), diamond], lines)
    footnote(
        figure,
        "Points: means (a, b) and medians (c, d) over chains, side by side at each N; bars: their 95 % intervals.",
    )
    order = {claim: i for i, claim in enumerate(claims)}
    return Drawing(figure, pd.DataFrame(plotted + more), sorted(verdicts + times, key=lambda v: order[v.claim]))


def _rows(
    panel: str, sampler: str, what: str, sizes: Sequence[int], stats: Sequence[tuple[float, float, float]]
) -> list[dict[str, Any]]:
    """What is plotted, one row per N."""
    return [
        {"panel": panel, "N": N, "sampler": sampler, "series": what, "centre": centre, "low": low, "high": high}
        for N, (centre, low, high) in zip(sizes, stats, strict=True)
    ]


def _draw_acceptance(
    axes: Sequence[Axes], runs: Sequence[Run], claims: Sequence[Claim]
) -> tuple[list[dict[str, Any]], list[Verdict]]:
    sizes = values(runs, "N")
    plotted: list[dict[str, Any]] = []
    verdicts = []
    for ax, kind in zip(axes, ["split", "merge"], strict=True):
        for place, (sampler, shown) in enumerate(SHOWN.items()):
            move = shown[kind == "merge"]
            about = [c for c in claims if (c.sampler, c.metric) == (sampler, f"{move}_acceptance")]
            for target, dash in DASHES.items():
                here = pick(runs, sampler=sampler, schedule="full_scan", model__labels=target)
                rates = {f"emm N={N}": _acceptance(pick(here, N=N), move) for N in sizes}
                stats = _curve(ax, sizes, list(rates.values()), COLOURS[sampler], mean_interval, dash, place)
                plotted += _rows(f"{kind} acceptance", sampler, f"{move}, {TARGETS[target]}", sizes, stats)
                for claim in about:
                    judge = by_factor if claim.value > 0 else partial(by_bound, bound=NEVER)
                    note = _shortened(here, int(claim.data.partition("N=")[2]))
                    verdicts.append(judge(claim, rates[claim.data], reading=TARGETS[target], note=note))
            for claim in about:
                N = int(claim.data.partition("N=")[2])
                ax.plot(N, claim.value, "D", color=COLOURS[sampler], markerfacecolor="white", zorder=4, clip_on=False)
        ax.set_yscale("symlog", linthresh=1e-4, linscale=0.5)
        ax.set_ylim(0, 1)
        ax.set_yticks([0, 1e-4, 1e-3, 1e-2, 1e-1, 1], ["0", "0.01 %", "0.1 %", "1 %", "10 %", "100 %"])
        ax.yaxis.set_minor_locator(plt.NullLocator())
        ax.set_title(f"({'ab'[kind == 'merge']}) {kind}s accepted")
        _size_axis(ax, sizes)
    return plotted, verdicts


def _shortened(runs: Sequence[Run], N: int) -> str:
    """A remark on runs that are shorter than the paper's; empty if they are not."""
    length, full = pick(runs, N=N)[0].config["iterations"], ITERATIONS[N]
    return f"; {length:,} of the paper's {full:,} iterations" if length < full else ""


def _draw_times(
    axes: Sequence[Axes], runs: Sequence[Run], claims: Sequence[Claim]
) -> tuple[list[dict[str, Any]], list[Verdict]]:
    sizes = values(runs, "N")
    about = {(c.sampler, c.metric): c for c in claims if c.metric.startswith("time")}
    plotted: list[dict[str, Any]] = []
    verdicts = []
    for place, (what, (schedule, gibbs, style)) in enumerate(TIMED.items()):
        here = pick(runs, schedule=schedule, model__labels="literal")
        times = {s: [_milliseconds(pick(here, N=N, sampler=s), gibbs) for N in sizes] for s in SHOWN}
        for sampler, samples in times.items():
            stats = _curve(axes[0], sizes, samples, COLOURS[sampler], median_interval, style, place)
            plotted += _rows("ms per iteration", sampler, what, sizes, stats)
            if claim := about.get((sampler, "time_per_iteration")):
                reason = "a machine and a program of 2015; the ratio is what can be compared"
                verdicts.append(untestable(claim, samples[-1], reason, what, median_interval))
        ratios = [a / b for a, b in zip(times["rgsm"], times["sdds"], strict=True)]
        stats = _curve(axes[1], sizes, ratios, "#444444", median_interval, style, place)
        plotted += _rows("time ratio", "rgsm/sdds", what, sizes, stats)
        verdicts.append(by_factor(about["rgsm/sdds", "time_ratio"], ratios[-1], what, summary=median_interval))
    for ax, title in zip(axes, ["(c) milliseconds per iteration", "(d) time of RGSM / time of SDDS"], strict=True):
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.set_title(title)
        _size_axis(ax, sizes)
    axes[1].yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    for sampler, ax in [("rgsm", axes[0]), ("sdds", axes[0]), ("rgsm/sdds", axes[1])]:
        metric = "time_ratio" if "/" in sampler else "time_per_iteration"
        colour = COLOURS.get(sampler, "#444444")
        ax.plot(sizes[-1], about[sampler, metric].value, "D", color=colour, markerfacecolor="white", zorder=4)
    return plotted, verdicts


# Figure 6 and the traces: the Bernoulli mixture


TOLERANCE = 0.01
"""A chain is at the high-probability level when this share of the best chain's climb is left: what a plot can show."""


@dataclass(frozen=True)
class _Climb:
    """The ascent of one chain: seconds, log likelihood and log joint of each row."""

    seconds: NDArray[np.float64]
    log_lik: NDArray[np.float64]
    log_joint: NDArray[np.float64]

    def settled(self) -> float:
        """Median log joint in the second half of its time."""
        return float(np.median(self.log_joint[self.seconds > self.seconds[-1] / 2]))

    def reaches(self, level: float) -> float:
        """Seconds until the log joint first is at `level`; infinite if never."""
        there = np.flatnonzero(self.log_joint >= level)
        return float(self.seconds[there[0]]) if len(there) else np.inf


def _climbs(runs: Sequence[Run]) -> list[_Climb]:
    columns = ["chain", "seconds", "log_lik", "log_joint"]
    return [
        _Climb(*(chain[c].to_numpy(float) for c in columns[1:]))
        for run in runs
        for _, chain in run.trace(columns).groupby("chain", sort=True)
    ]


def _leads(first: Sequence[_Climb], second: Sequence[_Climb], level: float) -> NDArray[np.float64]:
    """Seconds by which `first` reaches the level before `second`, ``[chains]``.

    A chain that has not arrived counts with all its time: the lead is then a lower bound of the true one. NaN where
    neither arrives.
    """
    leads = []
    for a, b in zip(first, second, strict=True):
        at, bt = a.reaches(level), b.reaches(level)
        both = np.isinf(at) and np.isinf(bt)
        leads.append(np.nan if both else min(bt, b.seconds[-1]) - min(at, a.seconds[-1]))
    return np.array(leads)


def fig6(runs: Sequence[Run]) -> Drawing:
    """Log likelihood against sampling time for N = 100, 1,000, 10,000."""
    sizes, samplers = values(runs, "N"), _samplers(runs)
    figure, axes = plt.subplots(1, len(sizes), figsize=(7.2, 3.4), squeeze=False)
    claims = {(c.data, c.metric): c for c in published("sdds-fig6")}
    verdicts, plotted = [], []
    leads: dict[int, NDArray[np.float64]] = {}
    for ax, N in zip(axes[0], sizes, strict=True):
        climbs = {s: _climbs(pick(runs, N=N, sampler=s)) for s in samplers}
        best = max((c for chains in climbs.values() for c in chains), key=_Climb.settled)
        level = best.settled() - TOLERANCE * (best.settled() - best.log_joint[0])
        first = min(c.seconds[1] for chains in climbs.values() for c in chains)
        last = max(c.seconds[-1] for chains in climbs.values() for c in chains)
        grid = np.geomspace(first, last, 300)
        for sampler, chains in climbs.items():
            # the state at a time is that of the last row before it
            at = np.stack([c.log_lik[np.searchsorted(c.seconds, grid, side="right") - 1] for c in chains])
            within = grid <= min(c.seconds[-1] for c in chains)
            median, low, high = np.median(at, axis=0), at.min(axis=0), at.max(axis=0)
            colour = COLOURS[sampler]
            ax.fill_between(grid[within], low[within], high[within], color=colour, alpha=0.16, linewidth=0)
            ax.plot(grid[within], median[within], color=colour)
            arrival = [c.reaches(level) for c in chains]
            middle = float(np.median(arrival))
            if np.isfinite(middle):
                ax.plot(middle, 0.03, "^", color=colour, transform=ax.get_xaxis_transform(), clip_on=False, zorder=4)
            plotted.append(
                pd.DataFrame(
                    {
                        "N": N,
                        "sampler": sampler,
                        "seconds": grid[within],
                        "median": median[within],
                        "low": low[within],
                        "high": high[within],
                        "chains": len(chains),
                        "level_log_joint": level,
                        "arrived": sum(np.isfinite(arrival)),
                        "median_seconds_to_level": middle,
                    }
                )
            )
        leads[N] = _leads(climbs["sdds"], climbs["rgsm"], level)
        ax.set_title(f"N = {N:,}\nlead: {_milliseconds_text(*median_interval(leads[N]))}", linespacing=1.4)
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(numticks=7))
        ax.yaxis.set_major_locator(plt.MaxNLocator(5))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:,.0f}".replace("-", "−")))
        ax.set_xlabel("seconds of sampling")
        data = f"bernoulli N={N}"
        arrived = f"arrived: SDDS {_arrived(climbs['sdds'], level)}, RGSM {_arrived(climbs['rgsm'], level)}"
        slow, fast = (np.median([c.reaches(level) for c in climbs[s]]) for s in ("rgsm", "sdds"))
        ratio = f"median time of RGSM / SDDS: {slow / fast:.3g}; " if np.isfinite([slow, fast]).all() else ""
        reason = f"seconds of another machine and program; {ratio}{arrived}"
        verdicts.append(untestable(claims[data, "lead_over_rgsm"], leads[N], reason, summary=median_interval))
        rule = f"SDDS reaches the level first ({arrived})"
        verdicts.append(
            by_majority(claims[data, "arrives_before_rgsm"], leads[N], leads[N] > 0, rule, summary=median_interval)
        )
    axes[0][0].set_ylabel("log likelihood")
    small, large = leads[sizes[0]], leads[sizes[-1]]
    rule = f"the lead in seconds is larger at N={sizes[-1]:,} than at N={sizes[0]:,}"
    growth = claims["bernoulli", "lead_grows_with_N"]
    verdicts.append(by_majority(growth, large - small, large > small, rule, summary=median_interval))
    mark = Line2D([], [], color="#444444", marker="^", linestyle="", label="median time to the level")
    legend(figure, [*sampler_handles(samplers), mark])
    footnote(
        figure,
        "Lines and bands: median and range of chains. Level: "
        f"{1 - TOLERANCE:.0%} of the climb of the log joint, from the start to the median of the best chain's second "
        "half.\nLead: time to the level of RGSM minus that of SDDS, median over pairs of chains and its 95 % interval "
        "(not the distance of the triangles).",
    )
    return Drawing(figure, pd.concat(plotted, ignore_index=True), verdicts)


def _milliseconds_text(*seconds: float) -> str:
    """A value and its interval, in milliseconds."""
    lead, low, high = (f"{1000 * s:.2g}" if abs(s) < 0.1 else f"{1000 * s:,.0f}" for s in seconds)
    return f"{lead} ms [{low}, {high}]".replace("-", "−")


def _arrived(chains: Sequence[_Climb], level: float) -> str:
    return f"{sum(np.isfinite(c.reaches(level)) for c in chains)} of {len(chains)}"


COMPONENT = 0.05
"""Share of the items from which on a cluster counts as a component."""


def traces(runs: Sequence[Run]) -> Drawing:
    """Jain-Neal traces: cumulative fractions of the five largest components."""
    sizes, samplers = values(runs, "N"), _samplers(runs)
    figure, axes = plt.subplots(
        len(sizes), len(samplers), figsize=(7.2, 1.9 * len(sizes) + 0.6), sharey=True, sharex="row", squeeze=False
    )
    (claim,) = published("sdds-traces")
    verdicts, plotted = [], []
    for row, N in zip(axes, sizes, strict=True):
        for ax, sampler in zip(row, samplers, strict=True):
            here = pick(runs, N=N, sampler=sampler)
            shown = here[0].trace(["chain", "iteration", "largest"])
            shown = shown[shown["chain"] == shown["chain"].min()]
            iteration = shown["iteration"].to_numpy()
            fractions = np.cumsum(np.stack(shown["largest"].tolist()), axis=1)
            at = thinned(len(iteration), 600)
            below = np.zeros(len(at))
            for k in range(fractions.shape[1]):
                top = fractions[at, k]
                ax.fill_between(iteration[at], below, top, color=COLOURS[sampler], alpha=0.62 - 0.11 * k, linewidth=0)
                ax.plot(iteration[at], top, color=COLOURS[sampler], linewidth=0.7)
                below = top
            components = _components(here)
            found = components == claim.value
            ax.set_title(f"{NAMES[sampler]}, N = {N:,}")
            ax.set_title(f"five in {found.sum()} of {len(found)} chains", loc="right", fontsize=7, color="#555555")
            ax.grid(False)
            frame = pd.DataFrame(fractions[at], columns=[f"largest_{k + 1}" for k in range(fractions.shape[1])])
            frame.insert(0, "iteration", iteration[at])
            plotted.append(frame.assign(N=N, sampler=sampler, seed=option(here[0], "seed")))
            if sampler == claim.sampler:
                rule = f"five clusters of at least {COMPONENT:.0%} of the items in the second half"
                verdicts.append(by_majority(claim, components, found, rule, f"N = {N:,}"))
        row[0].set_ylabel("cumulative fraction")
    for ax in axes[-1]:
        ax.set_xlabel("iteration")
    for ax in axes.flat:
        ax.set_ylim(0, 1)
        ax.margins(x=0)
        ax.xaxis.set_major_locator(plt.MaxNLocator(4))
    return Drawing(figure, pd.concat(plotted, ignore_index=True), verdicts)


def _components(runs: Sequence[Run]) -> NDArray[np.float64]:
    """Median number of components in the second half of each chain (five at most are looked at, and the rest)."""
    found = []
    for run in runs:
        for _, trace in run.trace(["chain", "iteration", "largest"]).groupby("chain", sort=True):
            half = trace[trace["iteration"] > trace["iteration"].max() / 2]
            fractions = np.stack(half["largest"].tolist())
            # a sixth component would leave the five largest without it
            rest = 1 - fractions.sum(axis=1)
            found.append(np.median((fractions >= COMPONENT).sum(axis=1) + (rest >= COMPONENT)))
    return np.array(found)


FIGURES = [
    Entry(
        "sdds-table1",
        "Probability of each step of the smart split's sequential allocation (alpha = 1, three tokens), from the "
        "code's own proposal. An arrow marks the mention placed in the step.",
        table1,
        "exact.allocation",
    ),
    Entry(
        "sdds-fig1",
        "Arrows are as wide as the proposal is probable, given the type of move; the numbers are computed by "
        "walking the choices of the compiled smart-smart sampler. Dashed: a way back that is not what the reverse"
        " move prefers.",
        fig1,
        "exact.proposals",
    ),
    Entry(
        "sdds-fig2",
        "As Figure 1, for the two kernels of SDDS: a smart move forth, a dumb move back.",
        fig2,
        "exact.proposals",
    ),
    Entry(
        "sdds-fig3",
        "10 entities with one token each, start at K0 = 5, one full Gibbs scan after each move. Thick: median "
        "over chains of the running mean; thin: each chain; band: their range. Upper row: the acceptance ratios as "
        "printed, whose stationary law is the posterior times 2^K/K!; lower row: the model as defined. Dashed: "
        "exact posterior mean.",
        fig3,
    ),
    Entry(
        "sdds-fig4",
        "As Figure 3. Bottom: share of chains whose mean K over the second half of the chain is within 1 of 10, "
        "with 95 % Jeffreys intervals, for a full Gibbs scan after each move (filled) and for one random Gibbs "
        "site (hollow).",
        fig4,
    ),
    Entry(
        "sdds-fig5",
        "Means over chains (times: medians) with 95 % intervals, from K0 = 5. SS and SDDS: their smart moves. Times are"
        " those of the compiled loops, with the ratios as printed.",
        fig5,
    ),
    Entry(
        "sdds-fig6",
        "Bernoulli mixture of 5 components with 15 attributes; all samplers start with all items in one component "
        "(the paper does not say) and are followed by a full Gibbs scan. Median and range over chains. The level is "
        "reached when 99 % of the climb is done, from the start to the median log joint of the best chain's second "
        "half; a chain that has not arrived counts with all its time. Lead: median of the differences of pairs.",
        fig6,
    ),
    Entry(
        "sdds-traces",
        "Fractions of the items in the largest component, in the two largest, and so on; one chain. Start: all "
        "items in one component.",
        traces,
    ),
]
