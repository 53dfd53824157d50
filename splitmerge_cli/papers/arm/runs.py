"""The runs on networks: which they are, what they cost in Gibbs sweeps, and R-hat between restarts; Figure 5, traces on
whole networks, and Figure 6a, R-hat against the number of chains."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator
from numpy.typing import NDArray

from splitmerge_cli.analysis.plots.races import option, pick, thinned_rows
from splitmerge_cli.analysis.plots.style import FULL, REFERENCE, chain_look, colour_of, footnote, look_of, title_of
from splitmerge_cli.diagnostics import intervals
from splitmerge_cli.diagnostics.restarts import between_restarts, late, mean_and_spread, standardised_iterations
from splitmerge_cli.papers import verdicts as vd
from splitmerge_cli.papers.claims import Claim, published_claims
from splitmerge_cli.papers.drawing import Drawing
from splitmerge_cli.runs.store.read import Run

NETWORKS = {"nips234": "nips", "hagmann998": "hagmann", "usair97": "usair", "caltech36": "caltech"}
"""Published networks, and how claims call them; in the order of the seeds, from 1, of what stands in for them."""
TITLES = {"nips": "NIPS", "hagmann": "Hagmann", "usair": "USAir", "caltech": "Caltech"}
STARTS = {"random": "20 random blocks", "one_cluster": "one block", "singletons": "singletons"}
INDEPENDENT = ("gibbs", "sm")
"""Samplers whose chains share nothing; the others propose from the history of all chains in a run."""
LENGTH = 1000
"""Iterations of ARM in the paper's comparisons of variants; its Table 3 has twice as many too."""


def is_stand_in(runs: Iterable[Run]) -> bool:
    """Whether generated networks stand in for published ones."""
    return any(option(run, "data") not in NETWORKS for run in runs)


def network_of(run: Run) -> str:
    """The network of a run, or that for which it stands in."""
    name = option(run, "data")
    return NETWORKS[name] if name in NETWORKS else list(NETWORKS.values())[run.config["data"]["seed"] - 1]


def level_of(run: Run) -> str:
    """Network and scale as claims name them; of a generated network its number of nodes."""
    if option(run, "data") in NETWORKS:
        return f"{network_of(run)} scale={run.config['data']['scale']:g}"
    return f"{network_of(run)} (generated, n = {run.config['N']})"


def level_title(level: str) -> str:
    """Return the name and the scale of a level, for people."""
    network, _, rest = level.partition(" ")
    return f"{TITLES[network]} {rest.removeprefix('scale=')}"


def levels(runs: Iterable[Run]) -> list[str]:
    """The levels of runs, as `sort_levels` orders them."""
    return sort_levels(map(level_of, runs))


def reading_of(start: str) -> str:
    """The reading of claims under which chains begin at a start."""
    return f"start: {STARTS[start]}"


def sort_levels(names: Iterable[str]) -> list[str]:
    """Different levels by network and then from the largest to the smallest."""

    def place(level: str) -> tuple[int, float]:
        network, _, rest = level.partition(" ")
        return list(TITLES).index(network), -float(rest.removeprefix("scale=") if "scale" in rest else 1)

    return sorted(set(names), key=place)


def starts(runs: Iterable[Run]) -> list[str]:
    """The start states of runs, in the order of `STARTS`."""
    present = {run.config["init"] or "random" for run in runs}
    return [start for start in STARTS if start in present]


@dataclass(frozen=True)
class Cell:
    """The restarts of one sampler on one network from one start: a run for each, by seed, of so many chains (S)."""

    runs: list[Run]
    level: str
    start: str
    sampler: str
    chains: int

    @property
    def length(self) -> int:
        """Iterations of every chain."""
        return int(self.runs[0].config["iterations"])

    @property
    def cost(self) -> float:
        """Time of an iteration in Gibbs sweeps, over all restarts (Gibbs: 1)."""
        each = [standardised_iterations(run.moves(), 1) for run in self.runs]
        return float(np.nanmean(np.concatenate(each)))

    def acceptance(self) -> NDArray[np.float64]:
        """Share of all proposals accepted, of each restart."""
        rates = []
        for run in self.runs:
            moves = run.moves()
            proposals = moves[moves["move"].isin(["split", "merge"])]
            rates.append(proposals["accepted"].sum() / proposals["proposed"].sum())
        return np.array(rates)

    def traces(self, length: float) -> list[pd.DataFrame]:
        """The log joint of every restart, cut after an iteration."""
        traces = [run.trace(["chain", "iteration", "log_joint"]) for run in self.runs]
        return [trace[trace["iteration"] <= length] for trace in traces]


class Cells:
    """All restarts of runs, asked for by level, start, sampler and number of chains."""

    def __init__(self, runs: Sequence[Run]) -> None:
        grouped: dict[tuple[str, str, str, int], list[Run]] = {}
        for run in pick(runs):
            key = (level_of(run), run.config["init"] or "random", option(run, "sampler"), run.config["chains"])
            grouped.setdefault(key, []).append(run)
        self.cells = {key: Cell(members, *key) for key, members in grouped.items()}

    def find(self, level: str, start: str, sampler: str, chains: int | None = None) -> Cell | None:
        """The restarts of one sampler; of the fewest chains, if their number is not given."""
        candidates = [cell for key, cell in sorted(self.cells.items()) if key[:3] == (level, start, sampler)]
        return next((cell for cell in candidates if chains in (None, cell.chains)), None)


@dataclass(frozen=True)
class Rhat:
    """R-hat of the log joint between restarts: `values` of every number of a chain, classic, of the second half,
    ``[S]``; `iterations`, where the chains were cut, and what that cost, in Gibbs `sweeps`; `short`: the chains ended
    before the budget did; `draws`, the log joint that it was taken from, ``[restarts, S, draws]``; `shared`: the chains
    of a restart share their history."""

    values: NDArray[np.float64]
    restarts: int
    iterations: float
    sweeps: float
    short: bool
    draws: NDArray[np.float64]
    shared: bool

    @property
    def estimate(self) -> vd.Estimate:
        """The mean over chains, see `estimate_rhat`."""
        return estimate_rhat(self.draws, self.shared)

    @property
    def mean(self) -> float:
        """Mean over the chains."""
        return mean_and_spread(self.values)[0]

    @property
    def spread(self) -> float:
        """Standard deviation over the chains."""
        return mean_and_spread(self.values)[1]


def estimate_rhat(draws: NDArray[np.float64], shared: bool) -> vd.Estimate:
    """R-hat between restarts, mean over chains, by leaving out one unit at a time: a chain number, or a restart where
    the chains of one share their history.

    The interval is one of log(R-hat - 1), except where a mean is not above 1. `draws`: ``[restarts, S, draws]``.
    """
    if shared:
        unit, n = "restarts", len(draws)
        whole, without = intervals.leave_one_out(lambda kept: between_restarts(draws[kept]).mean, n)
    else:
        x = between_restarts(draws).classic
        x = x[np.isfinite(x)]
        unit, n = "chain numbers", len(x)
        whole, without = intervals.leave_one_out(lambda kept: mean_and_spread(x[kept])[0], n)
    above = whole > 1 and (without > 1).all()
    return vd.jackknife(whole, without, intervals.excess_interval if above else intervals.mean_interval, unit)


def rhat_at(cell: Cell, arm: Cell, length: int, restarts: int | None = None) -> Rhat:
    """R-hat of a sampler at the cost that ARM, from the same start on the same network, has for `length` iterations, in
    Gibbs sweeps; over at most so many `restarts`."""
    sweeps = length * arm.cost
    cut = float(length) if cell.sampler == "arm" else sweeps / cell.cost
    draws = late(cell.traces(cut)[:restarts])
    short = cut > cell.length * 1.001
    shared = cell.sampler not in INDEPENDENT
    return Rhat(between_restarts(draws).classic, len(draws), min(cut, cell.length), sweeps, short, draws, shared)


def unit_of(runs: Iterable[Run]) -> str:
    """Name networks as units: all published ones there are, or generated ones."""
    return "networks" if is_stand_in(runs) else "published networks"


def name_networks(runs: Sequence[Run], verdicts: Iterable[vd.Verdict]) -> list[vd.Verdict]:
    """Verdicts that name networks which are not the published ones."""
    return [replace(v, on="generated networks" if is_stand_in(runs) else "") for v in verdicts]


def describe_networks(runs: Sequence[Run]) -> str:
    """The networks in words."""
    return "Generated networks in place of the published ones" if is_stand_in(runs) else "Published networks"


def describe_restarts(runs: Sequence[Run]) -> str:
    """Restarts and chains in words."""
    seeds: defaultdict[tuple[object, str], set[object]] = defaultdict(set)
    for run in runs:
        seeds[run.config["init"], run.config["sampler"]["name"]].add(run.config["seed"])
    counts = sorted({len(of_cell) for of_cell in seeds.values()})
    chains = sorted({run.config["chains"] for run in runs})
    return f"{' or '.join(map(str, counts))} restarts of S = {', '.join(map(str, chains))} chains"


def value_of(claims: Sequence[Claim], level: str, sampler: str, metric: str) -> Claim | None:
    """The published number of a level, a sampler and a metric; None where the paper has none."""
    return next((c for c in claims if (c.data, c.sampler, c.metric) == (level, sampler, metric)), None)


# Figure 5: traces on the whole networks


@dataclass(frozen=True)
class Trace:
    """Log joint of a run's chains, float64 ``[chains, rows]``, and of each row its iteration and its cost in Gibbs
    sweeps."""

    sweeps: NDArray[np.float64]
    iteration: NDArray[np.int64]
    log_joint: NDArray[np.float64]

    def reaches(self, level: float) -> NDArray[np.float64]:
        """Sweeps until each chain first is at a level; infinite where it never is."""
        there = self.log_joint >= level
        return np.where(there.any(axis=1), self.sweeps[there.argmax(axis=1)], np.inf)

    @property
    def final(self) -> NDArray[np.float64]:
        """Median of the last tenth of each chain."""
        late = self.iteration > 0.9 * self.iteration[-1]
        return np.asarray(np.median(self.log_joint[:, late], axis=1))


def trace_of(run: Run) -> Trace:
    """The trace of a run; its warm-up counts as the Gibbs sweeps that it is."""
    trace = run.trace(["chain", "iteration", "log_joint"])
    wide = trace.pivot(index="iteration", columns="chain", values="log_joint")
    iteration = wide.index.to_numpy()
    moves, made, warmup = run.moves(), run.config["iterations"], run.config["warmup"]
    of_gibbs = moves["move"] == "gibbs"
    swept = moves.loc[of_gibbs, "seconds"].sum() * (made - warmup) / made
    cost = 1 + moves.loc[~of_gibbs, "seconds"].sum() / swept if swept > 0 else 1.0
    sweeps = np.minimum(iteration, warmup) + cost * np.maximum(iteration - warmup, 0)
    return Trace(sweeps, iteration, wide.to_numpy(float).T)


FIG5 = ("gibbs", "sm", "arm")


def fig5(runs: Sequence[Run]) -> Drawing:
    """Log joint of eight chains against cost."""
    networks = [name for name in TITLES if any(network_of(run) == name for run in runs)]
    every: dict[tuple[str, str], list[Trace]] = {}
    for run in pick(runs):
        every.setdefault((network_of(run), option(run, "sampler")), []).append(trace_of(run))
    frames = []
    for network, sampler in product(networks, FIG5):
        trace = every[network, sampler][0]
        kept = thinned_rows(len(trace.sweeps), 600)
        frame = pd.DataFrame(trace.log_joint[:, kept].T).add_prefix("chain_")
        frames.append(frame.assign(network=network, sampler=sampler, gibbs_sweeps=trace.sweeps[kept]))
    plotted = pd.concat(frames, ignore_index=True)
    warmup = runs[0].config["warmup"]
    notes = (
        f"{describe_networks(runs)}, {runs[0].config['chains']} chains from {runs[0].config['K0']} random blocks. SM "
        f"and ARM follow {warmup} Gibbs scans. Cost in Gibbs sweeps, by the time spent in them. Log joints of the "
        "first tenth of the time may lie below the axis. One restart is shown."
    )
    return Drawing(picture_fig5(plotted), plotted, name_networks(runs, _fig5_verdicts(every, runs)), notes)


def picture_fig5(numbers: pd.DataFrame) -> Figure:
    """A panel for each network and sampler, with a line for each chain."""
    networks = list(dict.fromkeys(numbers["network"]))
    figure, axes = plt.subplots(
        len(networks), 3, figsize=(FULL, 1.6 * len(networks) + 0.45), sharey="row", squeeze=False
    )
    chains = [name for name in numbers if name.startswith("chain_")]
    for row, network in zip(axes, networks, strict=True):
        here = {s: numbers[(numbers["network"] == network) & (numbers["sampler"] == s)] for s in FIG5}
        sweeps = {s: rows["gibbs_sweeps"].to_numpy() / 1000 for s, rows in here.items()}
        values = {s: rows[chains].dropna(axis=1).to_numpy() for s, rows in here.items()}
        for ax, sampler in zip(row, FIG5, strict=True):
            for k, chain in enumerate(values[sampler].T):
                look = chain_look(colour_of(sampler), k, values[sampler].shape[1])
                ax.plot(sweeps[sampler], chain, linewidth=0.6, **look)
            # the cost of ARM's whole run, again and again
            for end in np.arange(sweeps["arm"][-1], 1.001 * sweeps[sampler][-1], sweeps["arm"][-1]):
                ax.axvline(end, color=REFERENCE, linewidth=0.7, linestyle=(0, (4, 2)), zorder=3)
            ax.set_xlim(0, 1.02 * sweeps[sampler][-1])
            ax.grid(False)
        row[0].set_ylabel(f"{TITLES[network]}\nlog joint")
        top = max(x.max() for x in values.values())
        late = min(values[s][sweeps[s] > 0.1 * sweeps[s][-1]].min() for s in FIG5)
        row[0].set_ylim(late - 0.05 * (top - late), top + 0.08 * (top - late))
    for ax, sampler in zip(axes[0], FIG5, strict=True):
        ax.set_title(title_of(sampler))
    for ax in axes[-1]:
        ax.set_xlabel("Gibbs sweeps, thousands")
    footnote(figure, "Every line is a chain. Between vertical lines lies the cost of ARM's whole run.")
    return figure


FEW, MANY = 100, 2000
""""A few tens of iterations", and "many thousands": at most and at least as many."""


def _fig5_verdicts(traces: dict[tuple[str, str], list[Trace]], runs: Sequence[Run]) -> list[vd.Verdict]:
    verdicts = []
    for claim in published_claims("arm-fig5"):
        if (claim.data, claim.sampler) not in traces:
            continue
        gibbs, sm, arm = (traces[claim.data, sampler] for sampler in FIG5)
        if claim.metric == "less_effort_than_sm":
            verdicts.append(_less_effort(claim, sm, arm))
        elif claim.metric == "times_slower_than_arm":
            verdicts.append(_times_slower(claim, sm, arm))
        elif claim.metric == "ends_above_sm":
            gap = np.array([np.median(a.final) - np.median(b.final) for a, b in zip(arm, sm, strict=False)])
            rule = "the median of ARM's chains ends higher than that of SM's"
            verdicts.append(vd.by_majority(claim, gap, gap, rule, unit="restarts", above=0.0))
        elif claim.metric in ("converges", "does_not_converge"):
            verdicts.append(_judge_rhat(claim, traces[claim.data, claim.sampler]))
        elif claim.metric == "stays_below_sm":
            gap = np.concatenate([b.final - a.final for a, b in zip(gibbs, sm, strict=False)])
            rule = "the last tenth of a Gibbs chain lies lower than that of the SM chain from the same start"
            verdicts.append(vd.by_majority(claim, gap, gap, rule, unit="chains", above=0.0))
        else:
            verdicts.append(_judge_convergence(claim, traces[claim.data, claim.sampler], runs))
    return verdicts


def _times_slower(claim: Claim, sm: Sequence[Trace], arm: Sequence[Trace]) -> vd.Verdict:
    """How many times the sweeps of ARM SM needs to its own final level; one that never is there counts with all."""
    ratios = []
    for a, b in zip(arm, sm, strict=False):
        level = float(np.median(b.final))
        first, second = (np.minimum(t.reaches(level), t.sweeps[-1]) for t in (a, b))
        ratios.append(float(np.exp(np.log(second).mean() - np.log(first).mean())))
    estimated = vd.estimate(ratios, intervals.geometric_interval, "restarts")
    return vd.by_edge(claim, estimated, "sweeps of SM over those of ARM to SM's final level")


def _judge_rhat(claim: Claim, traces: Sequence[Trace]) -> vd.Verdict:
    """R-hat of the log joint between restarts, second half: at most what is compatible with mixing, or above it."""
    rows = min(len(trace.iteration) for trace in traces)
    chains = min(len(trace.log_joint) for trace in traces)
    draws = np.stack([trace.log_joint[:chains, rows // 2 : rows] for trace in traces])
    estimated = estimate_rhat(draws, claim.sampler not in INDEPENDENT)
    if not np.isfinite(estimated.interval[0]):
        return vd.no_run(claim, "R-hat undefined", claim.rule)
    return vd.by_edge(claim, estimated, "R-hat between restarts")


def _less_effort(claim: Claim, sm: Sequence[Trace], arm: Sequence[Trace]) -> vd.Verdict:
    """Whether ARM is at the final level of SM after fewer sweeps, by restart."""
    saved, first, second, restart = [], [], [], []
    for k, (a, b) in enumerate(zip(arm, sm, strict=False)):
        level = float(np.median(b.final))
        first.append(a.reaches(level))
        second.append(b.reaches(level))
        saved.append(np.log(np.minimum(second[-1], b.sweeps[-1])) - np.log(np.minimum(first[-1], a.sweeps[-1])))
        restart.append(np.full(len(first[-1]), k))
    each = [np.concatenate(times) for times in (first, second)]
    ours, others = (int(np.isfinite(times).sum()) for times in each)
    middles = [f"{middle:,.0f}" if np.isfinite(middle := np.median(times)) else "never" for times in each]
    rule = (
        f"ARM is at SM's final level (reached by {ours} chains of ARM and {others} of SM) after fewer Gibbs sweeps: "
        f"median {' against '.join(middles)}; ours: log ratio of sweeps;"
    )
    gain = np.concatenate(saved)
    return vd.by_majority(claim, gain, gain, rule, unit="restarts", units=np.concatenate(restart), above=0.0)


def _judge_convergence(claim: Claim, traces: Sequence[Trace], runs: Sequence[Run]) -> vd.Verdict:
    """Iterations after the warm-up until a chain first is at its own final level."""
    run = pick(runs, sampler=claim.sampler)[0]
    chains = [
        (k, trace.iteration[np.argmax(chain >= level)])
        for k, trace in enumerate(traces)
        for chain, level in zip(trace.log_joint, trace.final, strict=True)
    ]
    restart, first = (np.array(x) for x in zip(*chains, strict=True))
    after = np.maximum(first - run.config["warmup"], 0)
    agrees = after <= FEW if claim.sampler == "arm" else after >= MANY
    bound = f"at most {FEW}" if claim.sampler == "arm" else f"at least {MANY:,}"
    rule = f"{bound} iterations after the warm-up until the chain is at the level of its last tenth"
    short = (vd.NOT_REPRODUCED if claim.sampler == "sm" else "", f"{run.config['iterations']:,} iterations")
    if run.config["iterations"] > MANY:
        short = ("", "")
    unit, units = ("chains", None) if claim.sampler in INDEPENDENT else ("restarts", restart)
    return vd.by_majority(claim, after, agrees, rule, "", short, intervals.median_interval, unit, units)


# Figure 6a: the number of chains


def fig6a(runs: Sequence[Run]) -> Drawing:
    """R-hat of ARM against the number of chains, and R-hat of SM."""
    cells = Cells(runs)
    each: dict[tuple[str, int], NDArray[np.float64]] = {}
    rows: list[tuple[Any, ...]] = []
    verdicts = []
    claims = {c.data.partition(" ")[0]: c for c in published_claims("arm-fig6a")}
    for level in levels(runs):
        of_arm = [cell for key, cell in sorted(cells.cells.items()) if key[:3] == (level, "random", "arm")]
        values = {cell.chains: rhat_at(cell, cell, cell.length) for cell in of_arm}
        rows += [(level, "arm", S, rhat.mean, rhat.spread) for S, rhat in values.items()]
        if of_arm and (sm := cells.find(level, "random", "sm")):
            of_sm = rhat_at(sm, cells.find(level, "random", "arm", sm.chains) or of_arm[0], of_arm[0].length)
            rows.append((level, "sm", sm.chains, of_sm.mean, of_sm.spread))
        each |= {(level, S): rhat.values for S, rhat in values.items()}
        verdicts.append(_improves(claims[level.partition(" ")[0]], values))
    table = pd.DataFrame(rows, columns=["level", "sampler", "chains", "rhat", "spread"])
    # R-hat of ARM with the fewest chains compared with SM: "sometimes" cannot be distinguished from chance
    gaps = {}
    for level, here in table.groupby("level", sort=False):
        arm, sms = (here[here["sampler"] == s].sort_values("chains")["rhat"] for s in ("arm", "sm"))
        if len(arm) and len(sms):
            gaps[level] = float(np.log(arm.iloc[0] / sms.iloc[0]))
    above = sum(gap > 0 for gap in gaps.values())
    reason = (
        f"log R-hat of ARM with the fewest chains minus that of SM is above 0 on {above} of {len(gaps)} networks; the "
        "paper says sometimes, and four restarts on four networks do not tell it from chance"
    )
    few, samples = claims["networks"], list(gaps.values())
    verdicts.append(vd.untestable(few, samples, reason, unit=unit_of(runs), units=list(gaps)))
    length = max(cell.length for key, cell in cells.cells.items() if key[2] == "arm")
    notes = (
        f"{describe_networks(runs)}, from 20 random blocks. R-hat between restarts after {length:,} iterations, second "
        "half; the line: means. Dashed: SM at the same cost."
    )
    return Drawing(picture_fig6a(table, each), table, name_networks(runs, verdicts), notes)


def picture_fig6a(numbers: pd.DataFrame, each: Mapping[tuple[str, int], NDArray[np.float64]] | None = None) -> Figure:
    """A panel for each network; `each`: R-hat of every chain, by network and number of chains."""
    shown, colour = list(dict.fromkeys(numbers["level"])), colour_of("arm")
    figure, axes = plt.subplots(1, len(shown), figsize=(FULL, 2.6), squeeze=False, sharey=True)
    for ax, level in zip(axes[0], shown, strict=True):
        here = numbers[numbers["level"] == level]
        chains, mean, spread = (here.loc[here["sampler"] == "arm", name] for name in ("chains", "rhat", "spread"))
        for S in chains:
            dots = (each or {}).get((level, S), np.empty(0))
            ax.plot(np.full(len(dots), S), dots, ".", color=colour, alpha=0.35, markersize=4)
        ax.plot(chains, mean, **look_of("arm"))
        ax.vlines(chains, np.fmax(mean - spread, 0.99), mean + spread, color=colour, linewidth=1.1)
        ax.set(xscale="log", yscale="log", xlabel="chains S")
        ax.set_xticks(chains, [str(S) for S in chains])
        ax.xaxis.set_minor_locator(plt.NullLocator())
        ax.yaxis.set_major_locator(FixedLocator(TICKS))
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.yaxis.set_minor_locator(plt.NullLocator())
        for mean in here.loc[here["sampler"] == "sm", "rhat"]:
            ax.axhline(mean, color=colour_of("sm"), linewidth=1.2, linestyle=(0, (4, 2)))
        ax.set_title(level_title(level))
    low, high = axes[0][0].get_ylim()
    if high > WIDE * low:
        axes[0][0].yaxis.set_major_locator(FixedLocator([tick for tick in TICKS if tick != 1.3]))
    axes[0][0].set_ylabel("R-hat of the log joint")
    if set(numbers["sampler"]) == {"arm", "sm"}:
        # names at the lines, in the panel where they are furthest apart
        first = numbers.groupby(["level", "sampler"], sort=False)["rhat"].first().unstack()
        apart = int(np.log(first["arm"] / first["sm"]).abs().fillna(0).to_numpy().argmax())
        axes[0][0].margins(y=0.12)
        ax, level = axes[0][apart], first.index[apart]
        style: dict[str, Any] = {"textcoords": "offset points", "va": "bottom", "fontsize": 7.5}
        chains = numbers.loc[(numbers["level"] == level) & (numbers["sampler"] == "arm"), "chains"]
        ends = [("arm", chains.min(), (0, 5), "left"), ("sm", chains.max(), (0, 2), "right")]
        for sampler, place, offset, ha in ends:
            at = place, first.loc[level, sampler]
            ax.annotate(title_of(sampler), at, offset, ha=ha, color=colour_of(sampler), **style)
    if numbers.loc[numbers["sampler"] == "arm", "spread"].notna().any():
        points = "; small points: each" if each else ""
        footnote(figure, f"Bars: standard deviation over the chains of a restart{points}.")
    return figure


TICKS = (1, 1.3, 2, 3, 5, 10, 20, 50, 100)
WIDE = 20
"""Largest R-hat relative to the smallest from which on the tick at 1.3 would touch the one at 1."""


def _improves(claim: Claim, values: dict[int, Rhat]) -> vd.Verdict:
    """Whether R-hat falls with the number of chains: the slope of its logarithm against log2 S, over restarts."""
    restarts = min((rhat.restarts for rhat in values.values()), default=0)
    if len(values) < 2 or not all(np.isfinite(rhat.mean) for rhat in values.values()):
        return vd.no_run(claim, "R-hat undefined", "positive")

    def fall(kept: NDArray[np.int64]) -> float:
        log_rhat = {S: np.log(between_restarts(rhat.draws[kept]).classic) for S, rhat in values.items()}
        x = np.concatenate([np.full(len(y), np.log2(S)) for S, y in log_rhat.items()])
        y = np.concatenate(list(log_rhat.values()))
        told = np.isfinite(y)
        return -float(np.polyfit(x[told], y[told], 1)[0]) if told.sum() > 1 else np.nan

    rhats = ", ".join(f"{S}: {rhat.mean:.2f}" for S, rhat in values.items())
    reason = f"ours: fall of log R-hat when S doubles, interval over {restarts} restarts; R-hat by S: {rhats}"
    estimated = vd.jackknife(*intervals.leave_one_out(fall, restarts), intervals.mean_interval, "restarts")
    return vd.judge_interval(claim, estimated, 0.0, np.inf, reason, "positive")
