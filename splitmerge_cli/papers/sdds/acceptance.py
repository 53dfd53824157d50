"""What moves propose and accept: Table 1 and Figures 1 and 2 of Wang & Russell 2015, computed without sampling, and
Figure 5: acceptance of split and merge, and time per iteration."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numpy.typing import NDArray

from splitmerge_cli.analysis.plots import races, style
from splitmerge_cli.analysis.plots.races import data_sets, pick, values
from splitmerge_cli.diagnostics.intervals import Summary, mean_interval, median_interval
from splitmerge_cli.papers.claims import Claim, published_claims
from splitmerge_cli.papers.drawing import Drawing
from splitmerge_cli.papers.sdds.exact import EQUATION_3
from splitmerge_cli.papers.sdds.running_means import ITERATIONS, SINGLE_SITE, TARGETS, share_accepted
from splitmerge_cli.papers.verdicts import (
    REPRODUCED,
    Verdict,
    by_bound,
    by_edge,
    by_factor,
    estimate,
    exactly,
    holds,
    untestable,
)
from splitmerge_cli.runs.store.read import Run


def table1(table: pd.DataFrame) -> Drawing:
    """Sequential allocation of AABBCC."""
    claims = published_claims("sdds-table1")
    verdicts = [exactly(c, p) for c, p in zip(claims, table["probability"], strict=True)]
    figure, ax = plt.subplots(figsize=(style.HALF, 0.54 * style.HALF))
    ax.set(xlim=(-2.1, 12.0), ylim=(-4.9, 2.7), aspect="equal")
    ax.axis("off")
    column = 1.95
    heads = ["step", "E′₁", "E′₂", "ours", "paper"]
    for y, head in zip([1.9, 0.75, -0.55, -1.9, -3.1], heads, strict=True):
        ax.text(-0.2, y, head, ha="right", va="center", fontsize=7, color="#222222")
    for rule in (2.5, 1.4, -1.2, -3.8):
        ax.plot([-2.0, 0.2 + 6 * column], [rule, rule], color="#999999", linewidth=0.7)
    for row, verdict in zip(table.itertuples(index=False), verdicts, strict=True):
        x = 0.2 + (row.step - 0.5) * column
        ax.text(x, 1.9, str(row.step), ha="center", va="center", fontsize=7)
        for side, y in [(1, 0.75), (2, -0.55)]:
            held = table[(table["step"] <= row.step) & (table["side"] == side)]
            left = x - (len(held) - 1) * 0.23
            for k, (step, token) in enumerate(zip(held["step"], held["token"], strict=True)):
                if step == row.step:
                    ax.plot(left + k * 0.46, y - 0.42, marker="^", color="#222222", markersize=2.5)
                races.letter(ax, left + k * 0.46, y, token, side=0.42, size=style.SMALLEST)
        ax.text(x, -1.9, f"{row.probability:.3f}", ha="center", va="center", fontsize=7, fontweight="bold")
        same = verdict.verdict == REPRODUCED
        colour = "#555555" if same else races.SPLIT
        ax.text(x, -3.1, f"{verdict.claim.value:.3f}", ha="center", va="center", fontsize=7, color=colour)
        if not same:
            ax.text(x, -4.3, "erratum", ha="center", va="center", fontsize=6.5, color=colour)
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
        return float(self._probabilities(move, start).get("|".join(sorted(end)), 0.0))

    def favourite(self, move: str, start: Sequence[str]) -> tuple[tuple[str, ...], float]:
        """The state that `move` proposes most often from `start`, and its probability."""
        of_move = self._probabilities(move, start)
        best = str(of_move.idxmax())
        return tuple(best.split("|")), float(of_move.max())

    def _probabilities(self, move: str, start: Sequence[str]) -> pd.Series:
        rows = self.table[(self.table["move"] == move) & (self.table["state"] == "|".join(sorted(start)))]
        return rows.set_index("target")["probability"]


WAYS = [("smart_split", SPLIT, "x₁"), ("smart_merge", MERGED, "x₂")]
"""Rows of Figures 1 and 2: the smart move, and where it takes x."""
EQUAL = (
    "By Algorithm 3 the smart merge is as probable in (a) as the dumb one: it, too, draws its first entity uniformly, "
    "and {AA} or {BB} goes with any other equally well."
)
"""Why the compiled smart merge undoes the smart split as often as the dumb one does."""
SMART = {EQUATION_3: "smart moves by equation 3", "": "smart moves by Algorithms 2 and 3"}
"""How names of smart moves end, and under which reading they are."""
NOTES_OF_PROPOSALS = (
    "Numbers: exact probabilities that the move proposes this state, given its kind; smart moves as equation 3 defines "
    "them. Arrows are as wide as they are probable; dashed: not the most probable move from there."
)
INVERSE = {"smart_split": "merge", "smart_merge": "split"}


def fig1(table: pd.DataFrame) -> Drawing:
    """The conflict of smart split and smart merge."""
    q = _Proposals(table)
    verdicts = [verdict for end, reading in SMART.items() for verdict in _judge_smart(q, end, reading)]
    return Drawing(picture_fig1(table), table, verdicts, NOTES_OF_PROPOSALS)


def picture_fig1(numbers: pd.DataFrame) -> Figure:
    """Two rows of states: smart moves forth and back."""
    titles = ["(a) smart split, undone by a smart merge", "(b) smart merge, undone by a smart split"]
    return _draw_ways(_Proposals(numbers), "sdds-fig1", "smart", titles)


def fig2(table: pd.DataFrame) -> Drawing:
    """The two kernels of SDDS."""
    q = _Proposals(table)
    claims = {c.metric: c for c in published_claims("sdds-fig2")}
    verdicts = []
    for (forth, there, _), (end, reading) in product(WAYS, SMART.items()):
        inverse = INVERSE[forth]
        dumb, smart = q.probability(f"dumb_{inverse}", there, X), q.probability(f"smart_{inverse}{end}", there, X)
        more = dumb > smart * (1 + 1e-9)
        reason = f"dumb {inverse} {dumb:.3g}, {'more' if more else 'no more'} than the smart {inverse}'s {smart:.3g}"
        verdicts.append(holds(claims[f"dumb_{inverse}_keeps_its_share"], dumb, more, reason, reading))
    forth, there, _ = WAYS[0]
    same = np.isclose(q.probability(f"smart_{INVERSE[forth]}", there, X), q.probability("dumb_merge", there, X))
    return Drawing(
        picture_fig2(table), table, verdicts, f"{NOTES_OF_PROPOSALS} {EQUAL}" if same else NOTES_OF_PROPOSALS
    )


def picture_fig2(numbers: pd.DataFrame) -> Figure:
    """Two rows of states: a smart move forth, a dumb one back."""
    titles = ["(a) smart split, undone by a dumb merge", "(b) smart merge, undone by a dumb split"]
    return _draw_ways(_Proposals(numbers), "sdds-fig2", "dumb", titles)


def _draw_ways(q: _Proposals, figure_id: str, kind: str, titles: Sequence[str]) -> Figure:
    """Two rows: x, where a smart move takes it, and where a smart or dumb move goes from there."""
    # how the names of smart moves end under the reading that counts; kept numbers may be without it
    (reading,) = {claim.reading for claim in published_claims(figure_id)}
    (counted,) = (end for end, words in SMART.items() if words == reading)
    counted = counted if q.table["move"].str.endswith(EQUATION_3).any() else ""
    width, height, level = 51.5, 10.2, 4.7
    figure, axes = plt.subplots(2, 1, figsize=(style.FULL, style.FULL * 2 * height / width))
    for ax, title, (forth, there, name) in zip(axes, titles, WAYS, strict=True):
        ax.set(xlim=(0, width), ylim=(0, height), aspect="equal")
        ax.axis("off")
        ax.text(0, height, title, fontsize=8.5, va="top", color="#222222")
        back = f"{kind}_{INVERSE[forth]}"
        smart_back = f"smart_{INVERSE[forth]}{counted}"
        way_back = smart_back if kind == "smart" else back
        rival, _ = q.favourite(smart_back, there)
        start = races.state(ax, 6.0, level, X, "x")
        middle = races.state(ax, 26.2, level, there, f"{name}′")
        end = races.state(ax, 45.4, level, rival, f"{name}″")
        p_forth, p_back, p_rival = (
            q.probability(forth + counted, X, there),
            q.probability(way_back, there, X),
            q.probability(way_back, there, rival),
        )
        left, right = start.x + start.width / 2 + 0.6, middle.x - middle.width / 2 - 0.6
        centre = (left + right) / 2
        label = races.label
        races.arrow(ax, (left, level + 0.75), (right, level + 0.75), p_forth, _colour(forth))
        label(ax, centre, level + 1.9, forth, p_forth, _colour(forth), above=True)
        likely = kind == "dumb" or p_back >= p_rival
        races.arrow(ax, (right, level - 0.95), (left, level - 0.95), p_back, _colour(back), likely)
        label(ax, centre, level - 1.9, back, p_back, _colour(back), above=False)
        left, right = middle.x + middle.width / 2 + 0.6, end.x - end.width / 2 - 0.6
        races.arrow(ax, (left, level), (right, level), p_rival, _colour(back))
        label(ax, (left + right) / 2, level - 1.25, back, p_rival, _colour(back), above=False)
        ratio = races.probability_text(p_back / p_forth)
        note = f"way back / way forth = {ratio}"
        if kind == "dumb":
            smart = q.probability(smart_back, there, X)
            note += f"   (with a smart {INVERSE[forth]}: {races.probability_text(smart / p_forth)})"
        ax.text(width, height, note, fontsize=7.5, ha="right", va="top", color="#444444", linespacing=1.25)
    return figure


def _colour(move: str) -> str:
    return races.SPLIT if move.endswith("split") else races.MERGE


def _judge_smart(q: _Proposals, end: str, reading: str) -> list[Verdict]:
    """Verdicts of Figure 1 for one definition of the smart moves, whose names have this end."""
    claims = {c.metric: c for c in published_claims("sdds-fig1")}
    verdicts = []
    for metric, move, start, expected in [
        ("smart_split_prefers_AA_BB", "smart_split", X, SPLIT),
        ("smart_merge_then_prefers_CCCC", "smart_merge", SPLIT, CONFLICT),
        ("smart_merge_prefers_CCCC", "smart_merge", X, MERGED),
        ("smart_split_then_prefers_AA_BB", "smart_split", MERGED, CONFLICT),
    ]:
        target, p = q.favourite(move + end, start)
        same = sorted(target) == sorted(expected)
        shown = " ".join("{" + tokens + "}" for tokens in target)
        verdicts.append(holds(claims[metric], p, same, f"most probable: {shown}, {p:.3g}", reading))
    for metric, move, start in [
        ("reverse_merge_unlikely", "smart_merge", SPLIT),
        ("reverse_split_unlikely", "smart_split", MERGED),
    ]:
        p, (_, preferred) = q.probability(move + end, start, X), q.favourite(move + end, start)
        # "highly unlikely", "only a tiny probability": an order of magnitude below the preferred move
        reason = f"{p:.3g} against {preferred:.3g} for the preferred move (rule: a tenth of it at most)"
        verdicts.append(holds(claims[metric], p, p <= preferred / 10, reason, reading))
    return verdicts


SHOWN = {"rgsm": ("split", "merge"), "ss": ("smart_split", "smart_merge"), "sdds": ("smart_split", "smart_merge")}
"""The split and the merge of each sampler that the paper's figure shows."""
RUN = {
    TARGETS["as_printed"]: {"schedule": "full_scan", "model__label_prior": "as_printed"},
    TARGETS["labelled"]: {"schedule": "full_scan", "model__label_prior": "labelled"},
    SINGLE_SITE: {"schedule": "single_site", "model__label_prior": "as_printed"},
}
"""Readings of a share accepted, and the runs of each."""
RATIO: dict[str, Any] = {"color": "#444444", **style.mark("h")}
"""Looks of a ratio of samplers."""
TIMED: dict[str, tuple[str, bool]] = {
    "move alone": ("full_scan", False),
    "move and one Gibbs site": ("single_site", True),
    "move and full Gibbs scan": ("full_scan", True),
}
"""Definitions of an iteration: the schedule that was run, and whether its Gibbs step is counted."""
OWN_STEPS = "RGSM with a full Gibbs scan, the other with one Gibbs site"
"""The Gibbs step of each sampler by the paper's words: footnote 3 for RGSM, the text for the others."""


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


def _curve(ax: Axes, rows: pd.DataFrame, look: dict[str, Any], place: float = 1) -> None:
    """Centres over chains with their 95 % intervals, joined; curves of other `place` (0, 1, 2) stand side by side."""
    places, color = rows["N"].to_numpy() * 1.05 ** (place - 1), look["color"]
    ax.plot(places, rows["centre"], linewidth=1.1, **look)
    ax.vlines(places, np.fmax(rows["low"], 0), rows["high"], color=color, linewidth=1.1)


NOTES = (
    "Each sampler under the reading that counts: the ratios as printed, RGSM with a full Gibbs scan after each move, "
    "SS and SDDS with one Gibbs site. Samplers stand side by side at each N. (a, b): share of the proposals of a split "
    "or merge that were accepted, of SS and SDDS those of the smart moves. (c, d): sampling time on this machine; the "
    "paper's are those of another; a ratio without an interval is that of the medians in (c). Other readings are in "
    "the table."
)


def counted_reading(metric: str, sampler: str) -> str:
    """The reading under which a sampler's claims with this end of their name are judged, the commonest of them; of SS,
    on whose rates and times the paper has fewer claims, too."""
    claims = [c for c in published_claims("sdds-fig5") if c.sampler == sampler and c.metric.endswith(metric)]
    readings = [claim.reading for claim in claims] or [counted_reading(metric, "sdds")]
    return max(readings, key=readings.count)


def fig5(runs: Sequence[Run]) -> Drawing:
    """Acceptance of split and merge, time per iteration, and its ratio, against N."""
    claims = published_claims("sdds-fig5")
    rows, verdicts = _measure_acceptance(runs, claims)
    more, times = _measure_times(runs, claims)
    order = {claim: i for i, claim in enumerate(claims)}
    drops = [
        judge_drop(claim, pick(runs, sampler=claim.sampler, schedule=schedule, model__label_prior="as_printed"), words)
        for claim in claims
        if claim.metric.endswith("_drop")
        for schedule, words in [("full_scan", TARGETS["as_printed"]), ("single_site", SINGLE_SITE)]
    ]
    verdicts = sorted(verdicts + times + drops, key=lambda v: order[v.claim])
    numbers = pd.DataFrame(rows + more)
    return Drawing(picture_fig5(numbers), numbers, verdicts, NOTES)


def picture_fig5(numbers: pd.DataFrame) -> Figure:
    """Two panels of acceptance and two of times."""
    figure, axes = plt.subplots(2, 2, figsize=(style.FULL, 4.9))
    _draw_acceptance(axes[0], numbers)
    _draw_times(axes[1], numbers)
    printed = style.entry(label="hollow: the paper", **style.hollow(RATIO, 1.5))
    style.legend(figure, [*style.sampler_handles(list(SHOWN)), printed])
    style.footnote(
        figure,
        "Ratios as printed; RGSM: full Gibbs scan, SS and SDDS: one site. Means (a, b), medians (c, d) over data sets, "
        "95 % intervals.",
    )
    return figure


def _draw_acceptance(axes: Sequence[Axes], numbers: pd.DataFrame) -> None:
    for ax, kind in zip(axes, ["split", "merge"], strict=True):
        of_panel = numbers[numbers["panel"] == f"{kind} acceptance"]
        for place, (sampler, shown) in enumerate(SHOWN.items()):
            move = shown[kind == "merge"]
            rows = of_panel[of_panel["sampler"] == sampler]
            counted = rows["series"] == f"{move}, {counted_reading('_acceptance', sampler)}"
            # edition 1 was judged with full scans alone
            fallback = rows["series"] == f"{move}, {TARGETS['as_printed']}"
            _curve(ax, rows[counted if counted.any() else fallback], style.look_of(sampler), place)
            for claim in published_claims("sdds-fig5"):
                if (claim.sampler, claim.metric) == (sampler, f"{move}_acceptance"):
                    ax.plot(
                        _size_of(claim),
                        claim.value,
                        clip_on=False,
                        zorder=4,
                        **style.hollow(style.look_of(sampler), 1.5),
                    )
        ax.set_yscale("symlog", linthresh=1e-4, linscale=0.5)
        ax.set_ylim(0, 1)
        ax.set_yticks([0, 1e-4, 1e-3, 1e-2, 1e-1, 1], ["0", "0.01 %", "0.1 %", "1 %", "10 %", "100 %"])
        ax.yaxis.set_minor_locator(plt.NullLocator())
        ax.set_title(f"({'ab'[kind == 'merge']}) {kind}s accepted")
        _size_axis(ax, sorted(numbers["N"].unique()))


def _draw_times(axes: Sequence[Axes], numbers: pd.DataFrame) -> None:
    sizes = sorted(numbers["N"].unique())
    times = numbers[numbers["panel"] == "ms per iteration"]
    shown = {}
    for place, sampler in enumerate(SHOWN):
        counted = times["series"] == counted_reading("time_growth", sampler)
        shown[sampler] = times[counted & (times["sampler"] == sampler)]
        _curve(axes[0], shown[sampler], style.look_of(sampler), place)
    ratios = numbers[(numbers["panel"] == "time ratio") & (numbers["series"] == OWN_STEPS)].set_index("N")
    # editions 1 and 2 keep no ratios of single runs at the smaller sizes
    medians = shown["rgsm"].set_index("N")[["centre"]] / shown["sdds"].set_index("N")[["centre"]]
    _curve(axes[1], ratios.reindex(medians.index).combine_first(medians).reset_index(), RATIO)
    axes[1].set_ylim(1, 100)
    for ax, title in zip(axes, ["(c) milliseconds per iteration", "(d) time of RGSM / time of SDDS"], strict=True):
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.set_title(title)
        _size_axis(ax, sizes)
    axes[1].yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    about = {(c.sampler, c.metric): c.value for c in published_claims("sdds-fig5")}
    for sampler, ax in [("rgsm", axes[0]), ("sdds", axes[0]), ("rgsm/sdds", axes[1])]:
        metric = "time_ratio" if "/" in sampler else "time_per_iteration"
        look = RATIO if "/" in sampler else style.look_of(sampler)
        ax.plot(sizes[-1], about[sampler, metric], zorder=4, **style.hollow(look, 1.5))


def _rows(
    panel: str, sampler: str, what: str, samples: Mapping[int, NDArray[np.float64]], summary: Summary
) -> list[dict[str, Any]]:
    """Return the numbers of a curve, a row for each N: centre and interval of the samples."""
    where = {"sampler": sampler, "series": what}
    stats = {N: dict(zip(("centre", "low", "high"), summary(x), strict=True)) for N, x in samples.items()}
    return [{"panel": panel, "N": N, **where, **of_size} for N, of_size in stats.items()]


def _measure_acceptance(runs: Sequence[Run], claims: Sequence[Claim]) -> tuple[list[dict[str, Any]], list[Verdict]]:
    sizes = values(runs, "N")
    rows: list[dict[str, Any]] = []
    verdicts = []
    for kind, (sampler, shown) in product(["split", "merge"], SHOWN.items()):
        move = shown[kind == "merge"]
        about = [c for c in claims if (c.sampler, c.metric) == (sampler, f"{move}_acceptance")]
        for reading, where in RUN.items():
            here = pick(runs, sampler=sampler, **where)
            of_size = {N: pick(here, N=N) for N in sizes}
            rates = {N: share_accepted(of_size[N], move) for N in sizes}
            rows += _rows(f"{kind} acceptance", sampler, f"{move}, {reading}", rates, mean_interval)
            for claim in about:
                judge, N = by_factor if claim.value > 0 else by_bound, _size_of(claim)
                length, full = pick(here, N=N)[0].config["iterations"], ITERATIONS[N]
                is_short = reading != SINGLE_SITE and length < full
                note = f"; {length:,} of the paper's {full:,} iterations" if is_short else ""
                verdicts.append(judge(claim, rates[N], reading=reading, note=note, units=data_sets(of_size[N])))
    return rows, verdicts


def judge_drop(claim: Claim, runs: Sequence[Run], reading: str) -> Verdict:
    """Judge the rate of one sampler's moves at the largest N over that at the smallest, by data set."""
    sizes, move = values(runs, "N"), claim.metric.removesuffix("_drop")
    small, large = (pick(runs, N=N) for N in (sizes[0], sizes[-1]))
    before = share_accepted(small, move)
    # rates of none have no ratio
    left = share_accepted(large, move) / np.where(before > 0, before, np.nan)
    return by_bound(claim, left, reading=reading, units=data_sets(large))


def _size_of(claim: Claim) -> int:
    """The N of ``emm N=500``."""
    return int(claim.data.partition("N=")[2])


def _measure_times(runs: Sequence[Run], claims: Sequence[Claim]) -> tuple[list[dict[str, Any]], list[Verdict]]:
    sizes = values(runs, "N")
    about = {(c.sampler, c.metric): c for c in claims if c.metric.startswith("time")}
    rows: list[dict[str, Any]] = []
    verdicts = []
    steps: dict[str, dict[str, list[NDArray[np.float64]]]] = {}
    for what, (schedule, gibbs) in TIMED.items():
        here = pick(runs, schedule=schedule, model__label_prior="as_printed")
        times = {s: [_milliseconds(pick(here, N=N, sampler=s), gibbs) for N in sizes] for s in SHOWN}
        sets = data_sets(pick(here, N=sizes[-1], sampler="sdds"))
        steps[what] = times
        for sampler, samples in times.items():
            rows += _rows("ms per iteration", sampler, what, dict(zip(sizes, samples, strict=True)), median_interval)
            if growth := about.get((sampler, "time_growth")):
                # judge the time of an iteration at the largest N over that at the smallest: it grows, or stays stable
                estimated = estimate(samples[-1] / samples[0], median_interval, units=sets)
                verdicts.append(by_edge(growth, estimated, "time at the largest N over that at the smallest", what))
            if claim := about.get((sampler, "time_per_iteration")):
                reason = "a machine and a program of 2015; the ratio is what can be compared"
                verdicts.append(untestable(claim, samples[-1], reason, what, median_interval, units=sets))
        ratios = {N: a / b for N, a, b in zip(sizes, times["rgsm"], times["sdds"], strict=True)}
        rows += _rows("time ratio", "rgsm/sdds", what, ratios, median_interval)
        verdicts.append(
            by_factor(about["rgsm/sdds", "time_ratio"], ratios[sizes[-1]], what, summary=median_interval, units=sets)
        )
        near = times["ss"][-1] / times["sdds"][-1]
        verdicts.append(by_factor(about["ss/sdds", "time_ratio"], near, what, summary=median_interval, units=sets))
    scan, site = steps["move and full Gibbs scan"], steps["move and one Gibbs site"]
    ratios = {N: a / b for N, a, b in zip(sizes, scan["rgsm"], site["sdds"], strict=True)}
    rows += _rows("time ratio", "rgsm/sdds", OWN_STEPS, ratios, median_interval)
    largest = ratios[sizes[-1]]
    verdicts.append(
        by_factor(about["rgsm/sdds", "time_ratio"], largest, OWN_STEPS, summary=median_interval, units=sets)
    )
    return rows, verdicts
