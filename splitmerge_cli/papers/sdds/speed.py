"""Figure 5: acceptance of split and merge, and time per iteration; Figure 6: how soon the log likelihood of the
Bernoulli mixture is high."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numpy.typing import NDArray

from splitmerge_cli.analysis.plots import style
from splitmerge_cli.analysis.plots.races import data_sets, pick, values
from splitmerge_cli.diagnostics.intervals import Summary, mean_interval, median_interval
from splitmerge_cli.papers import verdicts as vd
from splitmerge_cli.papers.claims import Claim, published_claims
from splitmerge_cli.papers.drawing import Climb, Drawing, climbs_of, draw_lines, in_parts
from splitmerge_cli.papers.sdds.running_means import ITERATIONS, SINGLE_SITE, TARGETS, samplers_of, share_accepted
from splitmerge_cli.runs.store.read import Run

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
    sizes, (left, right) = sorted(numbers["N"].unique()), axes[1]
    for ax, kind in zip(axes[0], ["split", "merge"], strict=True):
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
                    look = style.hollow(style.look_of(sampler), 1.5)
                    ax.plot(_size_of(claim), claim.value, clip_on=False, zorder=4, **look)
        ax.set_yscale("symlog", linthresh=1e-4, linscale=0.5)
        ax.set_ylim(0, 1)
        ax.set_yticks([0, 1e-4, 1e-3, 1e-2, 1e-1, 1], ["0", "0.01 %", "0.1 %", "1 %", "10 %", "100 %"])
        ax.yaxis.set_minor_locator(plt.NullLocator())
        ax.set_title(f"({'ab'[kind == 'merge']}) {kind}s accepted")
        _size_axis(ax, sizes)
    times = numbers[numbers["panel"] == "ms per iteration"]
    curves = {}
    for place, sampler in enumerate(SHOWN):
        counted = times["series"] == counted_reading("time_growth", sampler)
        curves[sampler] = times[counted & (times["sampler"] == sampler)]
        _curve(left, curves[sampler], style.look_of(sampler), place)
    ratios = numbers[(numbers["panel"] == "time ratio") & (numbers["series"] == OWN_STEPS)].set_index("N")
    # editions 1 and 2 keep no ratios of single runs at the smaller sizes
    medians = curves["rgsm"].set_index("N")[["centre"]] / curves["sdds"].set_index("N")[["centre"]]
    _curve(right, ratios.reindex(medians.index).combine_first(medians).reset_index(), RATIO)
    right.set_ylim(1, 100)
    for ax, title in zip(axes[1], ["(c) milliseconds per iteration", "(d) time of RGSM / time of SDDS"], strict=True):
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.set_title(title)
        _size_axis(ax, sizes)
    right.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    about = {(c.sampler, c.metric): c.value for c in published_claims("sdds-fig5")}
    for sampler, ax in [("rgsm", left), ("sdds", left), ("rgsm/sdds", right)]:
        metric = "time_ratio" if "/" in sampler else "time_per_iteration"
        look = RATIO if "/" in sampler else style.look_of(sampler)
        ax.plot(sizes[-1], about[sampler, metric], zorder=4, **style.hollow(look, 1.5))
    printed = style.entry(label="hollow: the paper", **style.hollow(RATIO, 1.5))
    style.legend(figure, [*style.sampler_handles(list(SHOWN)), printed])
    steps = "Ratios as printed; RGSM: full Gibbs scan, SS and SDDS: one site."
    style.footnote(figure, f"{steps} Means (a, b), medians (c, d) over data sets, 95 % intervals.")
    return figure


def _rows(
    panel: str, sampler: str, what: str, samples: Mapping[int, NDArray[np.float64]], summary: Summary
) -> list[dict[str, Any]]:
    """Return the numbers of a curve, a row for each N: centre and interval of the samples."""
    where = {"sampler": sampler, "series": what}
    stats = {N: dict(zip(("centre", "low", "high"), summary(x), strict=True)) for N, x in samples.items()}
    return [{"panel": panel, "N": N, **where, **of_size} for N, of_size in stats.items()]


def _measure_acceptance(runs: Sequence[Run], claims: Sequence[Claim]) -> tuple[list[dict[str, Any]], list[vd.Verdict]]:
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
                judge, N = vd.by_factor if claim.value > 0 else vd.by_bound, _size_of(claim)
                length, full = pick(here, N=N)[0].config["iterations"], ITERATIONS[N]
                is_short = reading != SINGLE_SITE and length < full
                note = f"; {length:,} of the paper's {full:,} iterations" if is_short else ""
                verdicts.append(judge(claim, rates[N], reading=reading, note=note, units=data_sets(of_size[N])))
    return rows, verdicts


def judge_drop(claim: Claim, runs: Sequence[Run], reading: str) -> vd.Verdict:
    """Judge the rate of one sampler's moves at the largest N over that at the smallest, by data set."""
    sizes, move = values(runs, "N"), claim.metric.removesuffix("_drop")
    small, large = (pick(runs, N=N) for N in (sizes[0], sizes[-1]))
    before = share_accepted(small, move)
    # rates of none have no ratio
    left = share_accepted(large, move) / np.where(before > 0, before, np.nan)
    return vd.by_bound(claim, left, reading=reading, units=data_sets(large))


def _size_of(claim: Claim) -> int:
    """The N of ``emm N=500``."""
    return int(claim.data.partition("N=")[2])


def _measure_times(runs: Sequence[Run], claims: Sequence[Claim]) -> tuple[list[dict[str, Any]], list[vd.Verdict]]:
    sizes = values(runs, "N")
    about = {(c.sampler, c.metric): c for c in claims if c.metric.startswith("time")}
    rows: list[dict[str, Any]] = []
    verdicts = []
    steps: dict[str, dict[str, list[NDArray[np.float64]]]] = {}

    def compare(what: str, rgsm: Sequence[NDArray[np.float64]], sdds: Sequence[NDArray[np.float64]]) -> None:
        ratios = {N: a / b for N, a, b in zip(sizes, rgsm, sdds, strict=True)}
        rows.extend(_rows("time ratio", "rgsm/sdds", what, ratios, median_interval))
        claim, largest = about["rgsm/sdds", "time_ratio"], ratios[sizes[-1]]
        verdicts.append(vd.by_factor(claim, largest, what, summary=median_interval, units=sets))

    for what, (schedule, gibbs) in TIMED.items():
        here = pick(runs, schedule=schedule, model__label_prior="as_printed")
        times = {s: [_milliseconds(pick(here, N=N, sampler=s), gibbs) for N in sizes] for s in SHOWN}
        sets = data_sets(pick(here, N=sizes[-1], sampler="sdds"))
        steps[what] = times
        for sampler, samples in times.items():
            rows += _rows("ms per iteration", sampler, what, dict(zip(sizes, samples, strict=True)), median_interval)
            if growth := about.get((sampler, "time_growth")):
                # judge the time of an iteration at the largest N over that at the smallest: it grows, or stays stable
                estimated = vd.estimate(samples[-1] / samples[0], median_interval, units=sets)
                verdicts.append(vd.by_edge(growth, estimated, "time at the largest N over that at the smallest", what))
            if claim := about.get((sampler, "time_per_iteration")):
                reason = "a machine and a program of 2015; the ratio is what can be compared"
                verdicts.append(vd.untestable(claim, samples[-1], reason, what, median_interval, units=sets))
        compare(what, times["rgsm"], times["sdds"])
        near = times["ss"][-1] / times["sdds"][-1]
        verdicts.append(vd.by_factor(about["ss/sdds", "time_ratio"], near, what, summary=median_interval, units=sets))
    compare(OWN_STEPS, steps["move and full Gibbs scan"]["rgsm"], steps["move and one Gibbs site"]["sdds"])
    return rows, verdicts


TOLERANCE = 0.01
"""A chain is at the high-probability level when this share of the best chain's climb is left: what a plot can show."""


def _best(climbs: Iterable[Climb]) -> dict[int, Climb]:
    """The chain that settles highest on each data set."""
    best_by_data: dict[int, Climb] = {}
    for climb in climbs:
        best = best_by_data.setdefault(climb.data, climb)
        if climb.late_median(climb.log_joint) > best.late_median(best.log_joint):
            best_by_data[climb.data] = climb
    return best_by_data


def _leads(first: Sequence[Climb], second: Sequence[Climb], levels: Mapping[int, float]) -> NDArray[np.float64]:
    """Seconds by which `first` reaches the level before `second`, ``[chains]``.

    A chain that has not reached the level counts with all its time: the lead is then a lower bound of the true one.
    NaN where neither reaches it.
    """
    leads = []
    for a, b in zip(first, second, strict=True):
        seconds_a, bt = a.reaches(levels[a.data]), b.reaches(levels[b.data])
        both = np.isinf(seconds_a) and np.isinf(bt)
        leads.append(np.nan if both else min(bt, b.seconds[-1]) - min(seconds_a, a.seconds[-1]))
    return np.array(leads)


def fig6(runs: Sequence[Run]) -> Drawing:
    """Log likelihood against sampling time for N = 100, 1,000, 10,000."""
    sizes, samplers = values(runs, "N"), samplers_of(runs)
    claims = {(c.data, c.metric): c for c in published_claims("sdds-fig6")}
    verdicts, frames = [], []
    leads: dict[int, NDArray[np.float64]] = {}
    for N in sizes:
        climbs = {s: [c for run in pick(runs, N=N, sampler=s) for c in climbs_of(run)] for s in samplers}
        best = _best(c for chains in climbs.values() for c in chains)
        highest = {data: c.late_median(c.log_joint) for data, c in best.items()}
        top = {data: c.late_median(c.log_lik) for data, c in best.items()}
        levels = {data: high - TOLERANCE * (high - best[data].log_joint[0]) for data, high in highest.items()}
        first = min(c.seconds[1] for chains in climbs.values() for c in chains)
        last = max(c.seconds[-1] for chains in climbs.values() for c in chains)
        grid = np.geomspace(first, last, 300)
        for sampler, chains in climbs.items():
            heights = np.stack([c.column_at(c.log_lik, "seconds", grid) - top[c.data] for c in chains])
            within = grid <= min(c.seconds[-1] for c in chains)
            ends = {"median": np.median(heights, axis=0), "low": heights.min(axis=0), "high": heights.max(axis=0)}
            line = pd.DataFrame({"N": N, "sampler": sampler, "seconds": grid, **ends})[within]
            times = [c.reaches(levels[c.data]) for c in chains]
            line = line.assign(chains=len(chains), data_sets=len({c.data for c in chains}))
            frames.append(line.assign(reached=sum(np.isfinite(times)), median_seconds_to_level=float(np.median(times))))
        leads[N] = _leads(climbs["sdds"], climbs["rgsm"], levels)
        data, sets = f"bernoulli N={N}", [c.data for c in climbs["sdds"]]
        reached = f"reached: SDDS {_reach_count(climbs['sdds'], levels)}, RGSM {_reach_count(climbs['rgsm'], levels)}"
        slow, fast = (np.median([c.reaches(levels[c.data]) for c in climbs[s]]) for s in ("rgsm", "sdds"))
        ratio = f"median time of RGSM / SDDS: {slow / fast:.3g}; " if np.isfinite([slow, fast]).all() else ""
        reason, claim = f"seconds of another machine and program; {ratio}{reached}", claims[data, "lead_over_rgsm"]
        verdicts.append(vd.untestable(claim, leads[N], reason, summary=median_interval, units=sets))
        verdicts += _judge_moves(claims, data, {s: pick(runs, N=N, sampler=s) for s in ("rgsm", "sdds")})
        rule = f"SDDS reaches the level first ({reached})"
        first_there, ahead = claims[data, "arrives_before_rgsm"], leads[N] > 0
        verdicts.append(vd.by_majority(first_there, leads[N], ahead, rule, summary=median_interval, units=sets))
    small, large = leads[sizes[0]], leads[sizes[-1]]
    rule = f"the lead in seconds is larger at N={sizes[-1]:,} than at N={sizes[0]:,}"
    growth = claims["bernoulli", "lead_grows_with_N"]
    verdicts.append(vd.by_majority(growth, large - small, large > small, rule, summary=median_interval, units=sets))
    numbers = pd.concat(frames, ignore_index=True)
    titles = {}
    for N, each in leads.items():
        lead, low, high = (f"{1000 * s:.2g}" if abs(s) < 0.1 else f"{1000 * s:,.0f}" for s in median_interval(each))
        titles[N] = f"{lead} ms [{low}, {high}]".replace("-", "−")
    notes = (
        "The climb of the log joint is that from the start to the median of the second half of the data set's best "
        "chain. Lead: time to the level of RGSM minus that of SDDS, median over data sets and its 95 % interval (not "
        "the distance of the marks on the axis)."
    )
    return Drawing(picture_fig6(numbers, titles), numbers, verdicts, notes)


def picture_fig6(numbers: pd.DataFrame, leads: Mapping[int, str] | None = None) -> Figure:
    """A panel for each size over seconds from 0, as in the paper, and below it the same over their logarithm; `leads`:
    the lead of SDDS over RGSM in words."""
    sizes, samplers = sorted(numbers["N"].unique()), list(dict.fromkeys(numbers["sampler"]))
    figure, paper, added = in_parts(2.2, 2.6)
    for part, scale in ((paper, "linear"), (added, "log")):
        axes = part.subplots(1, len(sizes), squeeze=False)[0]
        for ax, N in zip(axes, sizes, strict=True):
            of_size = numbers[numbers["N"] == N]
            draw_lines(ax, of_size, "sampler", "seconds", style.look_of, shade=0.16)
            on_axis = {"transform": ax.get_xaxis_transform(), "clip_on": False, "zorder": 4}
            for sampler, middle in of_size.groupby("sampler", sort=False)["median_seconds_to_level"].first().items():
                if np.isfinite(middle):
                    ax.plot(middle, 0.0, **on_axis, **style.mark_alone(style.look_of(str(sampler)), 1.4))
            ax.set_title(f"N = {N:,}" + (f"\nlead: {leads[N]}" if leads else ""), linespacing=1.4)
            if scale == "log":
                ax.set_xscale("log")
                ax.xaxis.set_major_locator(LogLocator(numticks=7))
                style.powers(ax.xaxis)
            else:
                # as far as the samplers differ
                reached = of_size["median_seconds_to_level"].replace(np.inf, np.nan).max()
                ax.set_xlim(0, 3 * reached if reached > 0 else of_size["seconds"].max())
                ax.xaxis.set_major_locator(plt.MaxNLocator(3))
                ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
            ax.yaxis.set_major_locator(plt.MaxNLocator(5))
            ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:,.0f}".replace("-", "−")))
            ax.set_xlabel("seconds of sampling")
        axes[0].set_ylabel("log likelihood\n− best chain's")
    mark = style.entry(linestyle="", label="on the axis: median time to the level")
    style.legend(figure, [*style.sampler_handles(samplers), mark])
    level = f"Level: {1 - TOLERANCE:.0%} of the climb of the log joint."
    style.footnote(figure, f"Lines and bands: median and range over data sets. {level}")
    return figure


def _judge_moves(
    claims: Mapping[tuple[str, str], Claim], data: str, runs: Mapping[str, Sequence[Run]]
) -> list[vd.Verdict]:
    """Judge whether RGSM is slower an iteration than SDDS, and accepts less of its splits, by data set."""
    sets = data_sets(runs["sdds"])
    pace = {
        s: np.array([climb.pace for run in of_sampler for climb in climbs_of(run)]) for s, of_sampler in runs.items()
    }
    slower = np.log(pace["rgsm"]) - np.log(pace["sdds"])
    rule = "an iteration of RGSM costs more"
    verdicts = [vd.by_majority(claims[data, "rgsm_costs_more"], slower, slower, rule, units=sets, above=0.0)]
    gain = share_accepted(runs["sdds"], "smart_split") - share_accepted(runs["rgsm"], "split")
    rule = "SDDS accepts a larger share of its smart splits than RGSM of its splits"
    verdicts.append(vd.by_majority(claims[data, "sdds_accepts_more"], gain, gain, rule, units=sets, above=0.0))
    return verdicts


def _reach_count(chains: Sequence[Climb], levels: Mapping[int, float]) -> str:
    return f"{sum(np.isfinite(c.reaches(levels[c.data])) for c in chains)} of {len(chains)}"
