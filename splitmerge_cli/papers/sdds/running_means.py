"""The runs of Wang & Russell 2015, traces of the five largest components (Bernoulli mixture), and Figures 3 and 4: the
running mean of K, and how often it reaches the true K."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import log
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, PercentFormatter
from numpy.typing import NDArray

from splitmerge_cli.analysis.plots import style
from splitmerge_cli.analysis.plots.races import data_sets, option, pick, series, thinned_rows, values
from splitmerge_cli.analysis.plots.run import fractions
from splitmerge_cli.diagnostics.intervals import by_unit, share_interval
from splitmerge_cli.papers.claims import Claim, published_claims
from splitmerge_cli.papers.drawing import Drawing, draw_lines
from splitmerge_cli.papers.sdds.exact import CAPS, mean_K, mean_K_by_cap
from splitmerge_cli.papers.verdicts import NOT_REPRODUCED, REPRODUCED, Verdict, by_bound, by_majority, exactly
from splitmerge_cli.runs.store.read import Run

ITERATIONS = {100: 10_000, 200: 50_000, 500: 200_000}
"""Length of the paper's runs, by N."""
TARGETS = {"as_printed": "ratios as printed", "labelled": "model as defined"}
DRAWN = ("sdds", "ss", "rgsm", "rm", "gibbs")
"""Samplers in the order in which they are drawn: each line leaves a part of those before it uncovered."""
STEPS = {"full_scan": "full Gibbs scan", "single_site": "one Gibbs site"}
SINGLE_SITE = f"{TARGETS['as_printed']}, {STEPS['single_site']}"
LOCATIONS = {log(10): "model as defined", 0.5: "model as defined, location 0.5"}
"""Locations in the prior of K that its mean is judged under: for ten entities, and as the paper prints it."""


def share_accepted(runs: Sequence[Run], move: str) -> NDArray[np.float64]:
    """Return the accepted share of a move's proposals, ``[chains]``; NaN where it was never proposed."""
    moves = pd.concat([r.moves() for r in runs])
    moves = moves[moves["move"] == move]
    return (moves["accepted"] / moves["proposed"].where(moves["proposed"] > 0)).to_numpy(float)


def samplers_of(runs: Sequence[Run]) -> list[str]:
    """Samplers of runs, in the order in which they are drawn."""
    present = values(runs, "sampler")
    return [name for name in DRAWN if name in present]


COMPONENT = 0.05
"""Share of the items from which on a cluster counts as a component."""


def traces(runs: Sequence[Run]) -> Drawing:
    """Jain-Neal traces: cumulative fractions of the five largest components."""
    sizes, samplers = values(runs, "N"), samplers_of(runs)
    (claim,) = published_claims("sdds-traces")
    verdicts, frames = [], []
    five: dict[tuple[int, str], str] = {}
    for N, sampler in product(sizes, samplers):
        here = pick(runs, N=N, sampler=sampler)
        shown = here[0].trace(["chain", "iteration", "largest"])
        drawn = fractions(shown[shown["chain"] == shown["chain"].min()], most_rows=600)
        frames.append(drawn.assign(N=N, sampler=sampler, seed=option(here[0], "seed")))
        # median number in the second half of each chain
        counted: list[float] = []
        for _, trace in (one for run in here for one in run.trace(["chain", "iteration", "largest"]).groupby("chain")):
            half = trace[trace["iteration"] > trace["iteration"].max() / 2]
            shares = np.stack(half["largest"].tolist())
            # a sixth component would leave the five largest without it
            rest = 1 - shares.sum(axis=1)
            counted.append(float(np.median((shares >= COMPONENT).sum(axis=1) + (rest >= COMPONENT))))
        components = np.array(counted)
        has_five = components == claim.value
        five[N, sampler] = f"five in {has_five.sum()} of {len(has_five)}"
        if sampler == claim.sampler:
            rule = f"five clusters of at least {COMPONENT:.0%} of the items in the second half"
            verdicts.append(by_majority(claim, components, has_five, rule, f"N = {N:,}", units=data_sets(here)))
    plotted = pd.concat(frames, ignore_index=True)
    notes = (
        "Areas: fraction of the items in the largest component, in the two largest, ... in the five largest, of the "
        f"first chain. Five: clusters of at least {COMPONENT:.0%} of the items, median of the second half, "
        "in so many of the chains."
    )
    return Drawing(picture_traces(plotted, five), plotted, verdicts, notes)


def picture_traces(numbers: pd.DataFrame, five: Mapping[tuple[int, str], str] | None = None) -> Figure:
    """Stacked areas; `five`: words on the chains that found five components, by size and sampler."""
    sizes, samplers = sorted(numbers["N"].unique()), list(dict.fromkeys(numbers["sampler"]))
    size, n_rows, n_columns = (style.FULL, 1.9 * len(sizes) + 0.6), len(sizes), len(samplers)
    figure, axes = plt.subplots(n_rows, n_columns, figsize=size, sharey=True, sharex="row", squeeze=False)
    for row, N in zip(axes, sizes, strict=True):
        for ax, sampler in zip(row, samplers, strict=True):
            rows = numbers[(numbers["N"] == N) & (numbers["sampler"] == sampler)]
            iteration, below = rows["iteration"].to_numpy(), np.zeros(len(rows))
            for k, name in enumerate(name for name in rows if name.startswith("largest_")):
                top, colour = rows[name].to_numpy(), style.colour_of(sampler)
                ax.fill_between(iteration, below, top, color=colour, alpha=0.62 - 0.11 * k, linewidth=0)
                ax.plot(iteration, top, color=colour, linewidth=0.7)
                below = top
            ax.set(ylim=(0, 1), xlim=(iteration[0], iteration[-1]))
            ax.grid(False)
            ax.set_title(f"{style.title_of(sampler)}, N = {N:,}")
            ax.set_title((five or {}).get((N, sampler), ""), loc="right", fontsize=7, color="#555555")
        row[0].set_ylabel("cumulative fraction")
    for ax in axes[-1]:
        ax.set_xlabel("iteration")
    for ax in axes.flat:
        ax.xaxis.set_major_locator(plt.MaxNLocator(4))
    return figure


TRUE_K = 10
SETTLED = 1.0
"""A chain has settled when the mean K of its second half is within this of the true K."""


@dataclass(frozen=True)
class _Paths:
    """Running means of K, by chain, under one setting."""

    iteration: NDArray[np.int64]
    running: NDArray[np.float64]
    settled: NDArray[np.float64]
    """Mean K of the second half of each chain, ``[chains]``."""
    sets: NDArray[np.int64]
    """The data set of each chain, ``[chains]``."""

    def rows(self, **setting: Any) -> pd.DataFrame:
        """Return the plotted values: median and range over chains of the running mean at each iteration."""
        x = self.running
        ends = {"median": np.median(x, axis=0), "low": x.min(axis=0), "high": x.max(axis=0)}
        return pd.DataFrame({**setting, "iteration": self.iteration, **ends, "chains": len(x)})


def _paths(runs: Sequence[Run]) -> _Paths:
    iteration, K = series(runs, "K")
    half = iteration > iteration[-1] / 2
    # the start state is no iteration
    running = np.cumsum(K[:, 1:], axis=1) / np.arange(1, K.shape[1])
    kept = thinned_rows(running.shape[1], log=True)
    return _Paths(iteration[1:][kept], running[:, kept], K[:, half].mean(axis=1), data_sets(runs))


def counted_step(figure: str, sampler: str) -> str:
    """The schedule under which a figure's claims on a sampler are judged."""
    readings = [claim.reading for claim in published_claims(figure) if claim.sampler == sampler]
    return "single_site" if all(reading.endswith(STEPS["single_site"]) for reading in readings) else "full_scan"


def select_counted(figure: str, numbers: pd.DataFrame) -> pd.DataFrame:
    """The rows of each sampler under the reading that counts, and the rows of the model as defined, which has one.

    Edition 1 was judged with full scans, and has no other rows.
    """
    if "single_site" not in set(numbers.get("schedule", ())):
        return numbers
    steps = numbers["sampler"].map({name: counted_step(figure, name) for name in set(numbers["sampler"])})
    return numbers[(numbers["target"] != "as_printed") | (numbers["schedule"] == steps)]


def _draw_paths(ax: Axes, numbers: pd.DataFrame) -> None:
    """Draw the median and the range over chains of every sampler."""
    draw_lines(ax, numbers, "sampler", "iteration", style.look_of, shade=0.1, width=1.8)
    ax.set_xscale("log")
    ax.set_xlim(numbers["iteration"].min(), numbers["iteration"].max())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x / 1000:g}k" if x >= 1000 else f"{x:g}"))


def _paths_legend(figure: Figure, samplers: Sequence[str], chains: pd.Series) -> None:
    """Draw the legend for panels of running means: samplers, lines and bands."""
    grey, each = "#444444", " to ".join(dict.fromkeys(f"{n:g}" for n in (chains.min(), chains.max())))
    what = [
        style.entry(color=grey, linewidth=1.8, label=f"median of {each} chains"),
        Patch(facecolor=grey, alpha=0.2, linewidth=0, label="band: range of chains"),
        style.entry(color=style.REFERENCE, linewidth=0.9, linestyle=(0, (5, 2)), label="E[K] of the row's chains"),
    ]
    style.legend(figure, style.sampler_handles(samplers), what)


def _judge_K(claim: Claim, path: _Paths, N: int, reading: str) -> Verdict:
    """Judge a claim on where K settles."""
    settled, value = path.settled, claim.value
    where = f"mean K of the second half {{}} {SETTLED:g} of {value:g}"
    agrees, rule = np.abs(settled - value) <= SETTLED, where.format("within")
    if claim.metric == "does_not_reach_K":
        agrees, rule = ~agrees, where.format("not within")
    elif claim.metric == "overshoots_K":
        agrees, rule = settled > value + SETTLED, f"mean K of the second half above {value + SETTLED:g}"
    # a chain cut short has stayed where it was more easily, and settled less easily, than the paper's
    stays = claim.metric == "does_not_reach_K" or claim.statement.startswith("trapped")
    length, full = path.iteration[-1], ITERATIONS[N]
    why = f"{length:,} of the paper's {full:,} iterations"
    short = (REPRODUCED if stays else NOT_REPRODUCED, why) if length < full else ("", "")
    return by_majority(claim, settled, agrees, rule, reading, short, units=path.sets)


SETTLES = (
    f"Bottom row: share of the data sets on which most chains have a mean of K within {SETTLED:g} of {TRUE_K} in the "
    "second half of their iterations, with Jeffreys' 95 % interval."
)


def _notes(figure: str, runs: Sequence[Run]) -> str:
    """Which data, chains and targets the panels are of."""
    sets = len({run.config["data"]["seed"] for run in runs})
    model = runs[0].config["model"]
    steps = {step: [s for s in samplers_of(runs) if counted_step(figure, s) == step] for step in STEPS}
    listed = "; ".join(
        f"{', '.join(map(style.title_of, names))}: {STEPS[step]}" for step, names in steps.items() if names
    )
    paper = ", ".join(f"{mean_K_by_cap(N, 0.5)[-1]:.1f} at N = {N}" for N in values(runs, "N"))
    return (
        f"{sets} data set{'s' * (sets > 1)} in each panel. Running mean of K: over all iterations so far, without the "
        f"start. First row: ratios of acceptance as the paper prints them, and the step that counts ({listed}); second "
        "row: those of the model as it defines it, with full Gibbs scans. Dashed: E[K] of what the chains of the row "
        f"sample, with location {model['mu']:.3g} and K at most {model['kmax']}, which are ours. With the printed "
        f"location, 0.5, and no largest K the model as defined has E[K] = {paper}; no chain here samples it."
    )


def _measure(
    runs: Sequence[Run], key: str
) -> tuple[dict[tuple[str, Any], float], dict[tuple[str, str, Any, str], _Paths]]:
    """Return E[K] for each target and each value of a key, and the running means."""
    means, paths = {}, {}
    for target, value in product(TARGETS, values(runs, key)):
        here = pick(runs, model__label_prior=target, **{key: value})
        c, model = here[0].config, here[0].config["model"]
        given = c["N"], model["mu"], model["alpha"], [model["kmax"]], c["data"]["n_tokens"], target
        (means[target, value],) = mean_K_by_cap(*given)
        for step, sampler in product(STEPS, samplers_of(here)):
            if chosen := pick(here, schedule=step, sampler=sampler):
                paths[target, step, value, sampler] = _paths(chosen)
    return means, paths


def _draw_targets(axes: NDArray[np.object_], numbers: pd.DataFrame, key: str, symbol: str) -> None:
    """Draw a row of running means for each target, a panel for each value of a key."""
    for row, target in zip(axes, TARGETS, strict=True):
        for ax, value in zip(row, sorted(numbers[key].unique()), strict=True):
            rows = numbers[(numbers["target"] == target) & (numbers[key] == value)]
            exact = rows["exact_mean_K"].iloc[0]
            _draw_paths(ax, rows)
            ax.axhline(exact, color=style.REFERENCE, linewidth=0.9, linestyle=(0, (5, 2)), zorder=1)
            ax.set_title(f"{symbol} = {value}, E[K] = {exact:.1f}")
        row[0].set_ylabel(f"{TARGETS[target]}\nrunning mean of K")
        row[0].set_ylim(0, None)


def fig3(runs: Sequence[Run]) -> Drawing:
    """Running mean of K against iteration for N = 100, 200, 500."""
    means, paths = _measure(runs, "N")
    verdicts = []
    for claim, N in product(published_claims("sdds-fig3"), values(runs, "N")):
        if claim.data != f"emm N={N}":
            continue
        if claim.metric == "exact_posterior_mean_K":
            # under the ratios as printed, and of the model as defined without a largest K
            c = pick(runs, N=N)[0].config
            kmax, mu, sigma = (c["model"][key] for key in ("kmax", "mu", "sigma"))
            limit = mean_K(N, c["data"]["entities"], c["data"]["n_tokens"], kmax, mu, sigma, "as_printed")
            reason = f"a sum over all states in the limit of concentration 0, K at most {kmax}"
            verdicts.append(exactly(claim, limit, reason, TARGETS["as_printed"]))
            for location, words in LOCATIONS.items():
                by_cap = mean_K_by_cap(N, location)
                table = ", ".join(f"{cap:,}: {mean:.1f}" for cap, mean in zip(CAPS, by_cap, strict=True))
                about = (
                    f"location {location:.3g}, concentration 0.001; E[K] by largest K: {table}; the last is the limit"
                )
                verdicts.append(exactly(claim, by_cap[-1], about, words))
            continue
        for step, reading in (("full_scan", TARGETS["as_printed"]), ("single_site", SINGLE_SITE)):
            if path := paths.get(("as_printed", step, N, claim.sampler)):
                verdicts.append(_judge_K(claim, path, N, reading))
    frames = [
        path.rows(target=target, schedule=step, N=N, sampler=sampler, exact_mean_K=means[target, N])
        for (target, step, N, sampler), path in paths.items()
    ]
    numbers = pd.concat(frames, ignore_index=True)
    return Drawing(picture_fig3(numbers), numbers, verdicts, _notes("sdds-fig3", runs))


def picture_fig3(numbers: pd.DataFrame) -> Figure:
    """Two rows of panels, a column for each size."""
    numbers = select_counted("sdds-fig3", numbers)
    figure, axes = plt.subplots(2, numbers["N"].nunique(), figsize=(style.FULL, 4.3), sharey="row", squeeze=False)
    _draw_targets(axes, numbers, "N", "N")
    for ax in axes[-1]:
        ax.set_xlabel("iteration")
    _paths_legend(figure, list(dict.fromkeys(numbers["sampler"])), numbers["chains"])
    return figure


def fig4(runs: Sequence[Run]) -> Drawing:
    """Running mean of K at N = 500 for four starts, and how often each sampler settles there."""
    claims = published_claims("sdds-fig4")
    means, paths = _measure(runs, "K0")
    verdicts = []
    keys = ["target", "schedule", "K0", "sampler"]
    frames = [
        path.rows(panel="running mean", **dict(zip(keys, where, strict=True)), exact_mean_K=means[where[0], where[2]])
        for where, path in paths.items()
    ]
    for K0, schedule, sampler in product(values(runs, "K0"), STEPS, samplers_of(runs)):
        here = pick(runs, K0=K0, model__label_prior="as_printed", schedule=schedule, sampler=sampler)
        path = paths["as_printed", schedule, K0, sampler]
        close = by_unit(np.abs(path.settled - TRUE_K) <= SETTLED, path.sets) > 0.5
        low, high = share_interval(int(close.sum()), len(close))
        found = {"share": [close.mean()], "low": low, "high": high, "data_sets": len(close)}
        of = dict(zip(keys, ("as_printed", schedule, K0, sampler), strict=True))
        frames.append(pd.DataFrame({"panel": "settled", **of, **found}))
        for claim in claims:
            if (claim.data, claim.sampler) != (f"emm N=500 K0={K0}", sampler):
                continue
            if claim.metric == "split_acceptance":
                rates = share_accepted(here, "split")
                verdicts.append(by_bound(claim, rates, reading=STEPS[schedule], units=path.sets))
            else:
                verdicts.append(_judge_K(claim, path, here[0].config["N"], STEPS[schedule]))
    numbers = pd.concat(frames, ignore_index=True)
    return Drawing(picture_fig4(numbers), numbers, verdicts, f"{_notes('sdds-fig4', runs)} {SETTLES}")


def picture_fig4(numbers: pd.DataFrame) -> Figure:
    """Two rows of running means, a column for each start, and a row of shares."""
    starts, samplers = sorted(numbers["K0"].unique()), list(dict.fromkeys(numbers["sampler"]))
    means, settled = (numbers[numbers["panel"] == panel] for panel in ("running mean", "settled"))
    means = select_counted("sdds-fig4", means)
    figure, axes = plt.subplots(3, len(starts), figsize=(style.FULL, 6.2), sharey="row", squeeze=False)
    _draw_targets(axes[:2], means, "K0", "K₀")
    for ax in axes[:2].flat:
        ax.set_xlabel("iteration")
    _paths_legend(figure, samplers, means["chains"])
    for ax, K0 in zip(axes[2], starts, strict=True):
        for row in settled[settled["K0"] == K0].itertuples(index=False):
            counts = row.schedule == counted_step("sdds-fig4", row.sampler)
            look = style.look_of(row.sampler) | {"markeredgecolor": style.colour_of(row.sampler)}
            place = samplers.index(row.sampler) + (-0.17 if counts else 0.17)
            ax.vlines(place, row.low, row.high, color=look["color"], linewidth=1.1, clip_on=False)
            face = look["color"] if counts else "white"
            ax.plot(place, row.share, markerfacecolor=face, clip_on=False, zorder=3, **look)
        ax.set_title(f"K₀ = {K0}")
        ax.set_xticks(range(len(samplers)), [style.title_of(s) for s in samplers])
        ax.set_xlim(-0.5, len(samplers) - 0.5)
        ax.set_ylim(0, 1)
        ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes[2][0].set_ylabel(f"{TARGETS['as_printed']}\nsettle at K = {TRUE_K}")
    grey: dict[str, Any] = {"color": "#444444", "marker": "o", "linestyle": ""}
    steps = [
        style.entry(label="bottom row: the step that counts (RGSM full Gibbs scan, others one site)", **grey),
        style.entry(label="the other step", markerfacecolor="white", **grey),
        style.entry(color="#444444", linewidth=1.1, label="95 % interval"),
    ]
    figure.legend(handles=steps, loc="outside lower left", ncols=len(steps), columnspacing=1.4)
    return figure
