"""Figures 3, 5 and 6a: the 4-node network, whole networks, R-hat against the number of chains."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator
from numpy.typing import NDArray

from splitmerge_cli.diagnostics.intervals import geometric_interval, leave_one_out, mean_interval, median_interval
from splitmerge_cli.diagnostics.restarts import between_restarts, mean_and_spread
from splitmerge_cli.papers.arm.runs import (
    INDEPENDENT,
    TITLES,
    Cells,
    Rhat,
    describe_networks,
    estimate_rhat,
    level_title,
    levels,
    name_networks,
    network_of,
    rhat_at,
    unit_of,
)
from splitmerge_cli.papers.claims import Claim, published_claims
from splitmerge_cli.papers.drawing import Drawing
from splitmerge_cli.papers.verdicts import (
    NOT_REPRODUCED,
    REPRODUCED,
    Samples,
    Verdict,
    by_majority,
    estimate,
    exactly,
    jackknife,
    judge_interval,
    no_run,
    untestable,
)
from splitmerge_cli.plots.runs import option, pick, thinned_rows
from splitmerge_cli.plots.style import (
    FULL,
    REFERENCE,
    chain_look,
    colour_of,
    entry,
    footnote,
    legend,
    look_of,
    mark,
    mark_alone,
    powers,
    title_of,
)
from splitmerge_cli.results.read import Run
from splitmerge_cli.runs.stored import dataset_of
from splitmerge_cli.verify.enumerate import irm_log_weight, mixture_states, normalise, state_of
from splitmerge_cli.verify.transitions import total_variation

# Figure 3: the 4-node network


@dataclass(frozen=True)
class Frequencies:
    """How often a sampler visited every partition: frequencies ``[restarts, partitions]`` of each restart, over all its
    chains; and the chains and iterations of a restart."""

    restarts: NDArray[np.float64]
    chains: int
    iterations: int

    @property
    def mean(self) -> NDArray[np.float64]:
        """Over restarts."""
        return self.restarts.mean(axis=0)

    @property
    def error(self) -> NDArray[np.float64]:
        """Standard error of the mean, from the spread over restarts."""
        return self.restarts.std(axis=0, ddof=1) / np.sqrt(len(self.restarts))

    @property
    def noise(self) -> float:
        """Total variation from the exact distribution to expect of an exact sampler."""
        return float(0.5 * np.sqrt(2 / np.pi) * self.error.sum())


def frequencies(runs: Sequence[Run], states: Sequence[tuple[int, ...]]) -> Frequencies:
    """Count the partitions of runs that differ in their seed; the start is no iteration."""
    number = {state: k for k, state in enumerate(states)}
    rows = []
    for run in runs:
        kept = run.partitions(["iteration", "labels"])
        labels = np.stack(kept.loc[kept["iteration"] > 0, "labels"].tolist())
        found, times = np.unique(labels, axis=0, return_counts=True)
        counts = np.zeros(len(states))
        for row, n in zip(found, times, strict=True):
            counts[number[state_of(row, 0)[0]]] += n
        rows.append(counts / counts.sum())
    return Frequencies(np.stack(rows), runs[0].config["chains"], runs[0].config["iterations"])


METHODS = {
    "gibbs": ("gibbs", ""),
    "sm": ("sm", ""),
    "arm": ("arm", "ARM"),
    "population": ("arm", "ARM, population"),
}
"""Compared samplers: sampler, and its name where it is not the sampler's."""


def fig3(runs: Sequence[Run]) -> Drawing:
    """Draw how often each partition of the 4-node network occurs: exact and empirical frequency."""
    adjacency = dataset_of(runs[0]).values.toarray()
    model = runs[0].config["model"]
    weight = irm_log_weight(adjacency, model["concentration"], model["beta1"], model["beta0"], model["prior"])
    states = mixture_states(len(adjacency))
    exact = normalise([weight(state) for state in states])
    order = np.argsort(-exact, kind="stable")
    names = [state[0] for state in states]
    found = {m: frequencies(_of_method(runs, m), names) for m in METHODS if _of_method(runs, m)}
    figure, (above, below) = plt.subplots(2, 1, figsize=(FULL, 4.4), sharex=True, height_ratios=[1, 1.5])
    at = np.arange(len(states))
    above.bar(at, exact[order], width=0.86, color="#dddddd", zorder=1)
    below.axhline(0, color=REFERENCE, linewidth=0.7)
    below.vlines(at[1:] - 0.5, 0, 1, color="#e6e6e6", linewidth=0.6, transform=below.get_xaxis_transform())
    shift = np.linspace(-0.3, 0.3, len(found))
    for x, (method, frequency) in zip(shift, found.items(), strict=True):
        look = mark_alone(_look(method))
        above.plot(at + x, frequency.mean[order], **look)
        away = frequency.mean[order] - exact[order]
        below.errorbar(at + x, away, 2 * frequency.error[order], elinewidth=0.9, **look)
    blocks = ["|".join(_blocks(states[k][0])) for k in order]
    below.set_xticks(at, blocks, rotation=45, ha="right", fontsize=6.5)
    above.set(ylabel="probability", xlim=(-0.6, len(states) - 0.4))
    below.set_ylabel("frequency − exact,\n± two standard errors")
    handles = [entry(label=_name(m), **mark_alone(_look(m))) for m in found]
    legend(figure, [Patch(color="#dddddd", label="exact probability"), *handles])
    first = next(iter(found.values()))
    said = "; ".join(f"{_name(m)} {total_variation(f.mean, exact):.4f} (noise {f.noise:.4f})" for m, f in found.items())
    notes = (
        f"Partitions of the nodes 1 to 4 (edges 1-2, 1-3, 1-4, 3-4) by exact probability. Samplers alone, "
        f"{len(first.restarts)} restarts of {first.chains} chains of {first.iterations:,} iterations. Below: "
        f"frequency minus exact probability, ± two standard errors over restarts. "
        f"Total variation from the exact distribution: {said}."
    )
    plotted = pd.concat(
        [
            pd.DataFrame(
                {"partition": blocks, "series": _name(m), "probability": f.mean[order], "error": f.error[order]}
            )
            for m, f in found.items()
        ]
        + [pd.DataFrame({"partition": blocks, "series": "exact", "probability": exact[order]})],
        ignore_index=True,
    )
    return Drawing(figure, plotted, _fig3_verdicts(found, exact), notes)


def _of_method(runs: Sequence[Run], method: str) -> list[Run]:
    sampler = METHODS[method][0]
    here = pick(runs, sampler=sampler)
    if sampler != "arm":
        return here
    return pick(here, sampler__adaptation="population" if method == "population" else "paper")


def _name(method: str) -> str:
    return METHODS[method][1] or title_of(method)


def _look(method: str) -> dict[str, Any]:
    """Colour and marker."""
    return look_of(METHODS[method][0]) | ({"color": "#E69F00"} | mark("v") if method == "population" else {})


def _blocks(labels: Sequence[int]) -> list[str]:
    """The blocks of a partition, items numbered from 1."""
    return ["".join(str(i + 1) for i, k in enumerate(labels) if k == block) for block in range(max(labels) + 1)]


def _fig3_verdicts(found: dict[str, Frequencies], exact: NDArray[np.float64]) -> list[Verdict]:
    verdicts = []
    for claim in published_claims("arm-fig3"):
        if claim.metric == "partitions":
            verdicts.append(exactly(claim, len(exact)))
            continue
        for method, frequency in found.items():
            if METHODS[method][0] != claim.sampler:
                continue
            # with a t interval the sum of errors is worth that of normal ones
            away, noise = total_variation(frequency.mean, exact), frequency.noise
            same = away <= claim.tolerance * noise
            visible = "visually the same" if away < 0.02 else "visibly different"
            reason = (
                f"total variation {away:.4f}, {away / noise:.1f} times the {noise:.4f} expected of an exact sampler of "
                f"this length (rule: at most {claim.tolerance:g} times); {visible} in a plot"
            )
            words = "adaptation: population" if method == "population" else ""
            verdict, n = REPRODUCED if same else NOT_REPRODUCED, len(frequency.restarts)
            names = ["exact", *range(1, n + 1)]
            kept = tuple(
                Samples.build(f"frequency of partition {k + 1}", "noise", names, [exact[k], *each])
                for k, each in enumerate(frequency.restarts.T)
            )
            found_here = (words, away, np.nan, np.nan, n, verdict, reason, "noise", "restarts")
            verdicts.append(Verdict(claim, *found_here, samples=kept))
    return verdicts


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
    figure, axes = plt.subplots(
        len(networks), 3, figsize=(FULL, 1.6 * len(networks) + 0.45), sharex="row", sharey="row", squeeze=False
    )
    every: dict[tuple[str, str], list[Trace]] = {}
    for run in pick(runs):
        every.setdefault((network_of(run), option(run, "sampler")), []).append(trace_of(run))
    traces = {key: restarts[0] for key, restarts in every.items()}
    plotted = []
    for row, network in zip(axes, networks, strict=True):
        here = [traces[network, sampler] for sampler in FIG5]
        for ax, sampler, trace in zip(row, FIG5, here, strict=True):
            at = thinned_rows(len(trace.sweeps), 600)
            chains = trace.log_joint[:, at]
            for k, chain in enumerate(chains):
                ax.plot(trace.sweeps[at], chain, linewidth=0.7, **chain_look(colour_of(sampler), k, len(chains)))
            ax.set_xscale("log")
            powers(ax.xaxis)
            # the cost of ARM's whole run
            mark = traces[network, "arm"].sweeps[-1]
            if mark < trace.sweeps[-1]:
                ax.axvline(mark, color=REFERENCE, linewidth=0.8)
            ax.grid(False)
            frame = pd.DataFrame(trace.log_joint[:, at].T, columns=[f"chain_{c}" for c in range(len(trace.log_joint))])
            plotted.append(frame.assign(network=network, sampler=sampler, gibbs_sweeps=trace.sweeps[at]))
        row[0].set_ylabel(f"{TITLES[network]}\nlog joint")
        top = max(trace.log_joint.max() for trace in here)
        late = min(trace.log_joint[:, trace.sweeps > 0.1 * trace.sweeps[-1]].min() for trace in here)
        row[0].set_xlim(1, max(trace.sweeps[-1] for trace in here))
        row[0].set_ylim(late - 0.05 * (top - late), top + 0.08 * (top - late))
    for ax, sampler in zip(axes[0], FIG5, strict=True):
        ax.set_title(title_of(sampler), color=colour_of(sampler))
    for ax in axes[-1]:
        ax.set_xlabel("Gibbs sweeps")
    footnote(figure, "Every line is a chain. Vertical lines: the cost of ARM's whole run.")
    warmup = runs[0].config["warmup"]
    notes = (
        f"{describe_networks(runs)}, {runs[0].config['chains']} chains from {runs[0].config['K0']} random blocks. "
        f"SM and ARM follow {warmup} Gibbs scans. Cost in Gibbs sweeps, by the time spent in them. "
        "Log joints of the first tenth of the time may lie below the axis. One restart is "
        "shown."
    )
    return Drawing(
        figure, pd.concat(plotted, ignore_index=True), name_networks(runs, _fig5_verdicts(every, runs)), notes
    )


FEW, MANY = 100, 2000
""""A few tens of iterations", and "many thousands": at most and at least as many."""


def _fig5_verdicts(traces: dict[tuple[str, str], list[Trace]], runs: Sequence[Run]) -> list[Verdict]:
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
            verdicts.append(by_majority(claim, gap, gap > 0, rule, unit="restarts"))
        elif claim.metric in ("converges", "does_not_converge"):
            verdicts.append(_judge_rhat(claim, traces[claim.data, claim.sampler]))
        elif claim.metric == "stays_below_sm":
            gap = np.concatenate([b.final - a.final for a, b in zip(gibbs, sm, strict=False)])
            rule = "the last tenth of a Gibbs chain lies lower than that of the SM chain from the same start"
            verdicts.append(by_majority(claim, gap, gap > 0, rule, unit="chains"))
        else:
            verdicts.append(_judge_convergence(claim, traces[claim.data, claim.sampler], runs))
    return verdicts


def _times_slower(claim: Claim, sm: Sequence[Trace], arm: Sequence[Trace]) -> Verdict:
    """How many times the sweeps of ARM SM needs to its own final level; one that never is there counts with all."""
    ratios = []
    for a, b in zip(arm, sm, strict=False):
        level = float(np.median(b.final))
        first, second = (np.minimum(t.reaches(level), t.sweeps[-1]) for t in (a, b))
        ratios.append(float(np.exp(np.log(second).mean() - np.log(first).mean())))
    reason = f"sweeps of SM over those of ARM to SM's final level; rule: at least {claim.tolerance:g}"
    of = estimate(ratios, geometric_interval, "restarts")
    return judge_interval(claim, of, claim.tolerance, np.inf, reason, "at_least")


def _judge_rhat(claim: Claim, traces: Sequence[Trace]) -> Verdict:
    """R-hat of the log joint between restarts, second half: at most what is compatible with mixing, or above it."""
    rows = min(len(trace.iteration) for trace in traces)
    chains = min(len(trace.log_joint) for trace in traces)
    draws = np.stack([trace.log_joint[:chains, rows // 2 : rows] for trace in traces])
    of = estimate_rhat(draws, claim.sampler not in INDEPENDENT)
    if not np.isfinite(of.interval[0]):
        return no_run(claim, "R-hat undefined", claim.rule)
    edge = claim.tolerance
    least, most = (-np.inf, edge) if claim.rule == "at_most" else (edge, np.inf)
    reason = f"R-hat between restarts; rule: at {claim.rule.removeprefix('at_')} {edge:g}"
    return judge_interval(claim, of, least, most, reason, claim.rule)


def _less_effort(claim: Claim, sm: Sequence[Trace], arm: Sequence[Trace]) -> Verdict:
    """Whether ARM is at the final level of SM after fewer sweeps, by restart."""
    saved, first, second, restart = [], [], [], []
    for k, (a, b) in enumerate(zip(arm, sm, strict=False)):
        level = float(np.median(b.final))
        first.append(a.reaches(level))
        second.append(b.reaches(level))
        saved.append(np.log(np.minimum(second[-1], b.sweeps[-1])) - np.log(np.minimum(first[-1], a.sweeps[-1])))
        restart.append(np.full(len(first[-1]), k))
    ours, others = np.concatenate(first), np.concatenate(second)
    rule = (
        f"ARM is at SM's final level (reached by {np.isfinite(ours).sum()} chains of ARM and "
        f"{np.isfinite(others).sum()} of SM) after fewer Gibbs sweeps: median {_sweeps(ours)} against "
        f"{_sweeps(others)}; ours: log ratio of sweeps;"
    )
    units = np.concatenate(restart)
    return by_majority(claim, np.concatenate(saved), ours < others, rule, unit="restarts", units=units)


def _sweeps(values: NDArray[np.float64]) -> str:
    middle = float(np.median(values))
    return f"{middle:,.0f}" if np.isfinite(middle) else "never"


def _judge_convergence(claim: Claim, traces: Sequence[Trace], runs: Sequence[Run]) -> Verdict:
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
    short = (NOT_REPRODUCED if claim.sampler == "sm" else "", f"{run.config['iterations']:,} iterations")
    if run.config["iterations"] > MANY:
        short = ("", "")
    unit, units = ("chains", None) if claim.sampler in INDEPENDENT else ("restarts", restart)
    return by_majority(claim, after, agrees, rule, "", short, median_interval, unit, units)


# Figure 6a: the number of chains


def fig6a(runs: Sequence[Run]) -> Drawing:
    """R-hat of ARM against the number of chains, and that of SM."""
    cells = Cells(runs)
    shown = levels(runs)
    figure, axes = plt.subplots(1, len(shown), figsize=(FULL, 2.6), squeeze=False, sharey=True)
    plotted, verdicts = [], []
    claims = {c.data.partition(" ")[0]: c for c in published_claims("arm-fig6a")}
    for ax, level in zip(axes[0], shown, strict=True):
        numbers = sorted(S for of, start, sampler, S in cells.cells if (of, start, sampler) == (level, "random", "arm"))
        values = {}
        for S in numbers:
            cell = cells.find(level, "random", "arm", S)
            assert cell is not None
            values[S] = rhat_at(cell, cell, cell.length)
            plotted.append(_point(level, "arm", S, values[S].values))
        _draw_numbers(ax, {S: rhat.values for S, rhat in values.items()})
        sm, arm = cells.find(level, "random", "sm"), cells.find(level, "random", "arm")
        if sm and arm:
            of_sm = rhat_at(sm, cells.find(level, "random", "arm", sm.chains) or arm, arm.length)
            ax.axhline(of_sm.mean, color=colour_of("sm"), linewidth=1.2, linestyle=(0, (4, 2)))
            plotted.append(_point(level, "sm", sm.chains, of_sm.values))
        ax.set_title(level_title(level))
        verdicts.append(_improves(claims[level.partition(" ")[0]], values))
    verdicts.append(_few_chains(claims["networks"], pd.DataFrame(plotted), unit_of(runs)))
    axes[0][0].set_ylabel("R-hat of the log joint")
    _name_lines(axes[0], plotted)
    footnote(
        figure,
        "Bars: standard deviation over the chains of a restart; small points: each.",
    )
    length = max(cell.length for key, cell in cells.cells.items() if key[2] == "arm")
    notes = (
        f"{describe_networks(runs)}, from 20 random blocks. R-hat between restarts after {length:,} iterations, "
        "second half; the line: means. Dashed: SM at "
        "the same cost."
    )
    return Drawing(figure, pd.DataFrame(plotted), name_networks(runs, verdicts), notes)


def _few_chains(claim: Claim, table: pd.DataFrame, unit: str) -> Verdict:
    """R-hat of ARM with the fewest chains beside that of SM: "sometimes" cannot be told from chance."""
    gaps = {}
    for level, here in table.groupby("level", sort=False):
        arm, sm = (here[here["sampler"] == s].sort_values("chains")["rhat"] for s in ("arm", "sm"))
        if len(arm) and len(sm):
            gaps[level] = float(np.log(arm.iloc[0] / sm.iloc[0]))
    said = f"{sum(gap > 0 for gap in gaps.values())} of {len(gaps)} networks"
    reason = (
        f"log R-hat of ARM with the fewest chains minus that of SM is above 0 on {said}; the paper says sometimes, and "
        "four restarts on four networks do not tell it from chance"
    )
    return untestable(claim, list(gaps.values()), reason, unit=unit, units=list(gaps))


def _name_lines(axes: Sequence[Axes], plotted: Sequence[dict[str, Any]]) -> None:
    """Names at the lines, in the panel where they are furthest apart."""
    table = pd.DataFrame(plotted)
    if set(table["sampler"]) != {"arm", "sm"}:
        return
    first = table.groupby(["level", "sampler"], sort=False)["rhat"].first().unstack()
    gap = np.log(first["arm"] / first["sm"]).abs().fillna(0).to_numpy()
    axes[0].margins(y=0.12)
    ax, level = axes[int(gap.argmax())], first.index[int(gap.argmax())]
    style: dict[str, Any] = {"textcoords": "offset points", "va": "bottom", "fontsize": 7.5}
    numbers = table.loc[(table["level"] == level) & (table["sampler"] == "arm"), "chains"]
    arm, sm = first.loc[level, "arm"], first.loc[level, "sm"]
    ax.annotate(title_of("arm"), (numbers.min(), arm), (0, 5), ha="left", color=colour_of("arm"), **style)
    ax.annotate(title_of("sm"), (numbers.max(), sm), (0, 2), ha="right", color=colour_of("sm"), **style)


def _point(level: str, sampler: str, S: int, values: NDArray[np.float64]) -> dict[str, Any]:
    mean, spread = mean_and_spread(values)
    return {"level": level, "sampler": sampler, "chains": S, "rhat": mean, "spread": spread}


TICKS = (1, 1.3, 2, 3, 5, 10, 20, 50, 100)


def _draw_numbers(ax: Axes, values: dict[int, NDArray[np.float64]]) -> None:
    numbers = list(values)
    stats = np.array([mean_and_spread(values[S]) for S in numbers])
    colour = colour_of("arm")
    for S in numbers:
        ax.plot(np.full(len(values[S]), S), values[S], ".", color=colour, alpha=0.35, markersize=4)
    ax.plot(numbers, stats[:, 0], **look_of("arm"))
    ax.vlines(numbers, np.fmax(stats[:, 0] - stats[:, 1], 0.99), stats.sum(axis=1), color=colour, linewidth=1.1)
    ax.set(xscale="log", yscale="log", xlabel="chains S")
    ax.set_xticks(numbers, [str(S) for S in numbers])
    ax.xaxis.set_minor_locator(plt.NullLocator())
    ax.yaxis.set_major_locator(FixedLocator(TICKS))
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.yaxis.set_minor_locator(plt.NullLocator())


def _improves(claim: Claim, values: dict[int, Rhat]) -> Verdict:
    """Whether R-hat falls with the number of chains: the slope of its logarithm against log2 S, over restarts."""
    restarts = min((rhat.restarts for rhat in values.values()), default=0)
    if len(values) < 2 or not all(np.isfinite(rhat.mean) for rhat in values.values()):
        return no_run(claim, "R-hat undefined", "positive")

    def fall(kept: NDArray[np.int64]) -> float:
        log_rhat = {S: np.log(between_restarts(rhat.draws[kept]).classic) for S, rhat in values.items()}
        x = np.concatenate([np.full(len(y), np.log2(S)) for S, y in log_rhat.items()])
        y = np.concatenate(list(log_rhat.values()))
        told = np.isfinite(y)
        return -float(np.polyfit(x[told], y[told], 1)[0]) if told.sum() > 1 else np.nan

    said = ", ".join(f"{S}: {rhat.mean:.2f}" for S, rhat in values.items())
    reason = f"ours: fall of log R-hat when S doubles, interval over {restarts} restarts; R-hat by S: {said}"
    of = jackknife(*leave_one_out(fall, restarts), mean_interval, "restarts")
    return judge_interval(claim, of, 0.0, np.inf, reason, "positive")
