"""Figure 6: how soon the log likelihood of the Bernoulli mixture is high."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator
from numpy.typing import NDArray

from splitmerge_cli.analysis.plots import style
from splitmerge_cli.analysis.plots.races import data_sets, pick, values
from splitmerge_cli.diagnostics.intervals import median_interval
from splitmerge_cli.papers.claims import Claim, published_claims
from splitmerge_cli.papers.drawing import Drawing, draw_lines, in_parts
from splitmerge_cli.papers.sdds.running_means import samplers_of, share_accepted
from splitmerge_cli.papers.verdicts import Verdict, by_majority, untestable
from splitmerge_cli.runs.store.read import Run

TOLERANCE = 0.01
"""A chain is at the high-probability level when this share of the best chain's climb is left: what a plot can show."""


@dataclass(frozen=True)
class _Climb:
    """The ascent of one chain: its data set, and iterations, seconds, log likelihood and log joint of each row."""

    data: int
    iteration: NDArray[np.float64]
    seconds: NDArray[np.float64]
    log_lik: NDArray[np.float64]
    log_joint: NDArray[np.float64]

    def late_median(self, column: NDArray[np.float64]) -> float:
        """Median of a column in the second half of its time."""
        return float(np.median(column[self.seconds > self.seconds[-1] / 2]))

    def reaches(self, level: float) -> float:
        """Seconds until the log joint first is at `level`; infinite if never."""
        there = np.flatnonzero(self.log_joint >= level)
        return float(self.seconds[there[0]]) if len(there) else np.inf


def _climbs(runs: Sequence[Run]) -> list[_Climb]:
    columns = ["chain", "iteration", "seconds", "log_lik", "log_joint"]
    return [
        _Climb(int(run.config["data"]["seed"]), *(chain[c].to_numpy(float) for c in columns[1:]))
        for run in runs
        for _, chain in run.trace(columns).groupby("chain", sort=True)
    ]


def _best(climbs: Iterable[_Climb]) -> dict[int, _Climb]:
    """The chain that settles highest on each data set."""
    best_by_data: dict[int, _Climb] = {}
    for climb in climbs:
        best = best_by_data.setdefault(climb.data, climb)
        if climb.late_median(climb.log_joint) > best.late_median(best.log_joint):
            best_by_data[climb.data] = climb
    return best_by_data


def _leads(first: Sequence[_Climb], second: Sequence[_Climb], levels: Mapping[int, float]) -> NDArray[np.float64]:
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


NOTES = (
    "The climb of the log joint is that from the start to the median of the second half of the data "
    "set's best chain. Lead: time to the level of RGSM minus that of SDDS, median over data sets and its 95 % interval "
    "(not the distance of the marks on the axis)."
)


def fig6(runs: Sequence[Run]) -> Drawing:
    """Log likelihood against sampling time for N = 100, 1,000, 10,000."""
    sizes, samplers = values(runs, "N"), samplers_of(runs)
    claims = {(c.data, c.metric): c for c in published_claims("sdds-fig6")}
    verdicts, frames = [], []
    leads: dict[int, NDArray[np.float64]] = {}
    for N in sizes:
        climbs = {s: _climbs(pick(runs, N=N, sampler=s)) for s in samplers}
        best = _best(c for chains in climbs.values() for c in chains)
        highest = {data: c.late_median(c.log_joint) for data, c in best.items()}
        top = {data: c.late_median(c.log_lik) for data, c in best.items()}
        levels = {data: high - TOLERANCE * (high - best[data].log_joint[0]) for data, high in highest.items()}
        first = min(c.seconds[1] for chains in climbs.values() for c in chains)
        last = max(c.seconds[-1] for chains in climbs.values() for c in chains)
        grid = np.geomspace(first, last, 300)
        for sampler, chains in climbs.items():
            rows = [np.searchsorted(c.seconds, grid, side="right") - 1 for c in chains]
            heights = np.stack([c.log_lik[last] - top[c.data] for c, last in zip(chains, rows, strict=True)])
            within = grid <= min(c.seconds[-1] for c in chains)
            median, low, high = np.median(heights, axis=0), heights.min(axis=0), heights.max(axis=0)
            times = [c.reaches(levels[c.data]) for c in chains]
            frames.append(
                pd.DataFrame(
                    {
                        "N": N,
                        "sampler": sampler,
                        "seconds": grid[within],
                        "median": median[within],
                        "low": low[within],
                        "high": high[within],
                        "chains": len(chains),
                        "data_sets": len({c.data for c in chains}),
                        "reached": sum(np.isfinite(times)),
                        "median_seconds_to_level": float(np.median(times)),
                    }
                )
            )
        leads[N] = _leads(climbs["sdds"], climbs["rgsm"], levels)
        data, sets = f"bernoulli N={N}", [c.data for c in climbs["sdds"]]
        reached = f"reached: SDDS {_reach_count(climbs['sdds'], levels)}, RGSM {_reach_count(climbs['rgsm'], levels)}"
        slow, fast = (np.median([c.reaches(levels[c.data]) for c in climbs[s]]) for s in ("rgsm", "sdds"))
        ratio = f"median time of RGSM / SDDS: {slow / fast:.3g}; " if np.isfinite([slow, fast]).all() else ""
        reason = f"seconds of another machine and program; {ratio}{reached}"
        verdicts.append(
            untestable(claims[data, "lead_over_rgsm"], leads[N], reason, summary=median_interval, units=sets)
        )
        verdicts += _judge_moves(claims, data, {s: pick(runs, N=N, sampler=s) for s in ("rgsm", "sdds")})
        rule = f"SDDS reaches the level first ({reached})"
        verdicts.append(
            by_majority(
                claims[data, "arrives_before_rgsm"], leads[N], leads[N] > 0, rule, summary=median_interval, units=sets
            )
        )
    small, large = leads[sizes[0]], leads[sizes[-1]]
    rule = f"the lead in seconds is larger at N={sizes[-1]:,} than at N={sizes[0]:,}"
    growth = claims["bernoulli", "lead_grows_with_N"]
    verdicts.append(by_majority(growth, large - small, large > small, rule, summary=median_interval, units=sets))
    numbers = pd.concat(frames, ignore_index=True)
    titles = {N: _milliseconds_text(*median_interval(lead)) for N, lead in leads.items()}
    return Drawing(picture_fig6(numbers, titles), numbers, verdicts, NOTES)


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
    style.footnote(
        figure,
        f"Lines and bands: median and range over data sets. Level: {1 - TOLERANCE:.0%} of the climb of the log joint.",
    )
    return figure


def _judge_moves(
    claims: Mapping[tuple[str, str], Claim], data: str, runs: Mapping[str, Sequence[Run]]
) -> list[Verdict]:
    """Judge whether RGSM is slower an iteration than SDDS, and accepts less of its splits, by data set."""
    sets = data_sets(runs["sdds"])
    pace = {
        s: np.array([c.seconds[-1] / max(c.iteration[-1], 1.0) for c in _climbs(chains)]) for s, chains in runs.items()
    }
    slower = np.log(pace["rgsm"]) - np.log(pace["sdds"])
    rule = "an iteration of RGSM costs more"
    verdicts = [by_majority(claims[data, "rgsm_costs_more"], slower, slower, rule, units=sets, above=0.0)]
    gain = share_accepted(runs["sdds"], "smart_split") - share_accepted(runs["rgsm"], "split")
    rule = "SDDS accepts a larger share of its smart splits than RGSM of its splits"
    verdicts.append(by_majority(claims[data, "sdds_accepts_more"], gain, gain, rule, units=sets, above=0.0))
    return verdicts


def _milliseconds_text(*seconds: float) -> str:
    """A value and its interval, in milliseconds."""
    lead, low, high = (f"{1000 * s:.2g}" if abs(s) < 0.1 else f"{1000 * s:,.0f}" for s in seconds)
    return f"{lead} ms [{low}, {high}]".replace("-", "−")


def _reach_count(chains: Sequence[_Climb], levels: Mapping[int, float]) -> str:
    return f"{sum(np.isfinite(c.reaches(levels[c.data])) for c in chains)} of {len(chains)}"
