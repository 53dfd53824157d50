"""Table 2 and Figures 4 and 6b: traces and autocorrelation times on Bernoulli mixtures."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator
from numpy.typing import NDArray

from splitmerge_cli.analysis.plots.races import option, pick
from splitmerge_cli.analysis.plots.run import fractions
from splitmerge_cli.analysis.plots.style import FULL, colour_of, entry, footnote, legend, title_of
from splitmerge_cli.diagnostics import intervals, restarts
from splitmerge_cli.papers.arm.runs import value_of
from splitmerge_cli.papers.arm.tables import Entry
from splitmerge_cli.papers.claims import Claim, published_claims
from splitmerge_cli.papers.drawing import Drawing
from splitmerge_cli.papers.verdicts import Verdict, by_factor, by_majority, jackknife, judge_interval
from splitmerge_cli.runs.initial import dataset_of
from splitmerge_cli.runs.store.read import Run

SAMPLERS = ("gibbs", "sm", "arm")
EXAMPLES = {f"jain_neal_example{k}": f"bernoulli example {k}" for k in (1, 2, 3)}
"""Data sets, and how claims call them."""
ATTRIBUTES = dict(zip(EXAMPLES.values(), (6, 8, 10), strict=True))
METRICS = {
    "autocorrelation_time_trace": "autocorrelation time,\nlargest block",
    "autocorrelation_time_indicator": "autocorrelation time,\nindicators",
    "normalised_iterations": "standardised\niterations",
}
ITERATIONS, SETS = 2000, 20
"""Length of the paper's chains, and its data sets for each example."""


def times(runs: Sequence[Run]) -> pd.DataFrame:
    """Autocorrelation times of every data set and sampler, warm-up left out.

    The indicators describe 105 pairs of 15 items, three of every planted component, drawn once for each data set;
    of every chain the largest time counts. Columns example, sampler, set, chains, `METRICS` (means over the chains that
    have one), undefined_trace and undefined_indicator (series that never change), series_indicator.
    """
    rows = []
    for run in runs:
        number, after = run.config["data"]["seed"], run.config["warmup"]
        trace = restarts.largest_times(run.trace(["chain", "iteration", "largest"]), after)
        pairs = restarts.planted_pairs(np.asarray(dataset_of(run).truth), np.random.default_rng(number))
        indicator = restarts.indicator_times(run.partitions(["chain", "iteration", "labels"]), pairs, after)
        swept = restarts.standardised_iterations(run.moves(), run.config["iterations"])
        rows.append(
            {
                "example": EXAMPLES[option(run, "data")],
                "sampler": option(run, "sampler"),
                "set": number,
                "chains": run.config["chains"],
                "autocorrelation_time_trace": trace.mean,
                "autocorrelation_time_indicator": indicator.mean,
                "normalised_iterations": swept.mean(),
                "undefined_trace": trace.undefined,
                "undefined_indicator": indicator.undefined,
                "series_indicator": indicator.series,
            }
        )
    return pd.DataFrame(rows).sort_values(["example", "sampler", "set"], ignore_index=True)


def rows_of(table: pd.DataFrame, example: str, sampler: str) -> pd.DataFrame:
    """The rows of one example and sampler, by data set."""
    return table[(table["example"] == example) & (table["sampler"] == sampler)].set_index("set").sort_index()


def log_ratios(table: pd.DataFrame, metric: str, sampler: str, over: str) -> NDArray[np.float64]:
    """Return log(time of `over`) minus log(time of `sampler`), paired by data set, all examples."""
    parts = [
        np.log(rows_of(table, example, over)[metric]) - np.log(rows_of(table, example, sampler)[metric])
        for example in EXAMPLES.values()
    ]
    return pd.concat(parts).dropna().to_numpy(float)


def table2(runs: Sequence[Run]) -> Drawing:
    """Autocorrelation times and cost of Gibbs, SM and ARM on Examples 1 to 3."""
    numbers, claims = times(runs), published_claims("arm-table2")
    undefined = numbers["undefined_indicator"].sum() / numbers["series_indicator"].sum()
    notes = (
        f"Over {numbers['set'].nunique()} data sets, of the mean over {numbers['chains'].iloc[0]} chains of "
        f"{runs[0].config['iterations']:,} iterations. Indicators: the largest time over 105 pairs of items, three "
        "items of every planted component. A series that never changes has no time and is left out: "
        f"{numbers['undefined_trace'].sum():.0f} of the largest block, {undefined:.0%} of the indicators."
    )
    return Drawing(picture_table2(numbers), numbers, judge(numbers, runs, claims), notes)


def judge(numbers: pd.DataFrame, runs: Sequence[Run], claims: Sequence[Claim]) -> list[Verdict]:
    """Verdicts on claims of the table, from the `times` of runs."""
    verdicts, note = [], _note(runs)
    scale = ITERATIONS / runs[0].config["iterations"]
    for claim in claims:
        if claim.metric in METRICS:
            samples = rows_of(numbers, claim.data, claim.sampler)[claim.metric]
            # iterations in Gibbs sweeps grow with the length of a run
            factor = scale if claim.metric == "normalised_iterations" else 1.0
            verdicts.append(by_factor(claim, factor * samples, note=note))
        elif claim.metric == "rhat_near_1":
            # of the log joint between the chains of a data set, second half: near 1 on most data sets
            rhats = []
            for run in pick(runs, sampler=claim.sampler):
                draws = restarts.late([run.trace(["chain", "iteration", "log_joint"])])
                rhats.append(restarts.between_restarts(np.swapaxes(draws, 0, 1)).classic[0])
            rule = f"R-hat between chains is at most {NEAR:g} (largest: {np.nanmax(rhats):.3g}){note}; so"
            verdicts.append(by_majority(claim, rhats, np.array(rhats) <= NEAR, rule))
        elif claim.metric.startswith("lower_spread"):
            verdicts.append(_judge_spreads(claim, numbers, note))
        else:
            cost = {s: numbers[numbers["sampler"] == s]["normalised_iterations"].to_numpy() for s in ("arm", "sm")}
            verdicts.append(by_factor(claim, cost["arm"] / cost["sm"], note=note))
    return verdicts


def picture_table2(numbers: pd.DataFrame) -> Figure:
    """The table, with the paper's values in grey."""
    claims = published_claims("arm-table2")
    examples = [example for example in EXAMPLES.values() if example in set(numbers["example"])]
    figure, ax = plt.subplots(figsize=(FULL, 0.62 * len(examples) + 0.65))
    places = dict(zip(METRICS, [0.38, 0.63, 0.88], strict=True))
    ax.set(xlim=(0, 1), ylim=(4 * len(examples) + 0.3, -2))
    ax.axis("off")
    for metric, place in places.items():
        ax.text(place, -1, METRICS[metric], ha="center", va="center", fontsize=7.5, linespacing=1.15)
    for k, example in enumerate(examples):
        y = 4 * k
        ax.plot([0, 1], [y, y], color="#cccccc", linewidth=0.6)
        ax.text(0, y + 0.8, example.partition(" ")[2].capitalize(), va="center", fontsize=7.5, fontweight="bold")
        ax.text(0, y + 1.8, f"{ATTRIBUTES[example]} attributes", va="center", fontsize=7, color="#555555")
        for row, sampler in enumerate(SAMPLERS):
            height = y + 0.8 + 1.1 * row
            ax.text(0.14, height, title_of(sampler), va="center", fontsize=7.2)
            for metric, place in places.items():
                cell = _cell(numbers, claims, example, sampler, metric)
                weight = "bold" if cell.best else "normal"
                ax.text(place - 0.008, height, cell.ours, ha="right", va="center", fontsize=7.2, fontweight=weight)
                ax.text(place + 0.008, height, cell.paper, ha="left", va="center", fontsize=6.6, color="#777777")
    footnote(figure, "Mean ± standard deviation over data sets; bold: least of three; grey: the paper.")
    return figure


def _cell(numbers: pd.DataFrame, claims: Sequence[Claim], example: str, sampler: str, metric: str) -> Entry:
    digits = 0 if metric == "normalised_iterations" else 1
    means = {s: rows_of(numbers, example, s)[metric].mean() for s in SAMPLERS}
    claim = value_of(claims, example, sampler, metric)
    ours = _number(*restarts.mean_and_spread(rows_of(numbers, example, sampler)[metric]), digits)
    paper = ""
    if claim is not None:
        _, has_spread, spread = claim.statement.rpartition("spread ")
        paper = _number(claim.value, float(spread) if has_spread else np.nan, digits)
    return Entry(ours, paper, digits == 1 and means[sampler] == min(means.values()))


def _number(mean: float, spread: float, digits: int) -> str:
    if not np.isfinite(mean):
        return "–"
    return f"{mean:,.{digits}f}" + (f" ± {spread:,.{digits}f}" if np.isfinite(spread) and spread > 0 else "")


def _note(runs: Sequence[Run]) -> str:
    """A remark on runs that are fewer or shorter than the paper's; empty if they are not."""
    length, sets = runs[0].config["iterations"], len({run.config["data"]["seed"] for run in runs})
    if length >= ITERATIONS and sets >= SETS:
        return ""
    return f"; {length:,} of the paper's {ITERATIONS:,} iterations, {sets} of its {SETS} data sets"


NEAR = 1.1
"""An R-hat up to this is very near 1."""


def _judge_spreads(claim: Claim, numbers: pd.DataFrame, note: str) -> Verdict:
    """Log of the standard deviation of SM's times over ARM's, one set left out at a time."""
    metric = f"autocorrelation_time_{claim.metric.rpartition('_')[2]}"
    examples = [example for example in EXAMPLES.values() if example in set(numbers["example"])]
    wide = {s: np.stack([rows_of(numbers, e, s)[metric].to_numpy(float) for e in examples]) for s in ("sm", "arm")}

    def gain(kept: NDArray[np.int64]) -> float:
        sm, arm = (np.nanstd(wide[s][:, kept], axis=1, ddof=1) for s in ("sm", "arm"))
        return float(np.mean(np.log(sm) - np.log(arm)))

    reason = f"log of the spread over data sets of SM over that of ARM, mean over {len(examples)} examples{note}"
    estimated = jackknife(*intervals.leave_one_out(gain, wide["arm"].shape[1]), intervals.mean_interval, "data sets")
    return judge_interval(claim, estimated, 0.0, np.inf, reason, "positive")


# Figure 6b


TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


def fig6b(runs: Sequence[Run]) -> Drawing:
    """Autocorrelation times of SM and Gibbs against ARM's."""
    numbers = times(runs)
    notes = f"Times are means over {numbers['chains'].iloc[0]} chains of a data set."
    verdicts = []
    for claim in published_claims("arm-fig6b"):
        # the metric names the time and the other sampler
        series, other = claim.metric.removeprefix("lower_").split("_time_than_")
        samples = log_ratios(numbers, f"autocorrelation_time_{series}", claim.sampler, other)
        ratio, low, high = np.exp(intervals.mean_interval(samples))
        costly = np.exp(samples.mean() + log_ratios(numbers, "normalised_iterations", claim.sampler, other).mean())
        sampler, rival = title_of(claim.sampler), title_of(other)
        rule = (
            f"{sampler} has the lower time; {rival} / {sampler} = {ratio:.2f} [{low:.2f}, {high:.2f}] in iterations, "
            f"{costly:.2f} in Gibbs sweeps (geometric means){_note(runs)}; so"
        )
        verdicts.append(by_majority(claim, samples, samples, rule, above=0.0))
    return Drawing(picture_fig6b(numbers), numbers, verdicts, notes)


def picture_fig6b(numbers: pd.DataFrame) -> Figure:
    """Four scatter plots with the diagonal."""
    figure, axes = plt.subplots(2, 2, figsize=(FULL, 7.4), sharex="row", sharey="row")
    markers = dict(zip(EXAMPLES.values(), ("o", "s", "^"), strict=True))
    for row, series in zip(axes, ("trace", "indicator"), strict=True):
        metric = f"autocorrelation_time_{series}"
        every = numbers[metric].to_numpy(float)
        words = "Largest block" if series == "trace" else "Indicators"
        ends = np.nanmin(every) / 1.3, np.nanmax(every) * 1.3
        for ax, other in zip(row, ("sm", "gibbs"), strict=True):
            ax.plot(ends, ends, color="#999999", linewidth=0.8, zorder=1)
            for example, marker in markers.items():
                x, y = rows_of(numbers, example, "arm")[metric], rows_of(numbers, example, other)[metric]
                style = {"color": colour_of(other), "edgecolor": "white", "linewidth": 0.4}
                ax.scatter(x, y.reindex(x.index), s=24, marker=marker, zorder=3, **style)
            gains = log_ratios(numbers, metric, "arm", other)
            ax.set(xscale="log", yscale="log", xlim=ends, ylim=ends, aspect="equal")
            ax.set_title(f"{words}: {title_of(other)} against ARM")
            above = f"{(gains > 0).sum()} of {len(gains)} above"
            ax.text(0.97, 0.04, above, ha="right", fontsize=7, color="#555555", transform=ax.transAxes)
            times_of = "autocorrelation time of {} (iterations)".format
            ax.set(xlabel=times_of("ARM"), ylabel=times_of(title_of(other)))
            ax.grid(False)
            for axis in (ax.xaxis, ax.yaxis):
                axis.set_major_locator(FixedLocator(TICKS))
                axis.set_major_formatter(lambda value, _: f"{value:g}")
                axis.set_minor_locator(plt.NullLocator())
    shapes = [
        entry(color="#444444", marker=marker, linestyle="", label=example.partition(" ")[2].capitalize())
        for example, marker in markers.items()
    ]
    footnote(figure, "A point is a data set; above the line ARM has the shorter time.")
    legend(figure, shapes)
    return figure


# Figure 4


def fig4(runs: Sequence[Run]) -> Drawing:
    """Fractions of the items in the largest blocks, one chain of each sampler on one data set of Example 1."""
    frames = []
    first = min(run.config["data"]["seed"] for run in runs)
    for sampler in SAMPLERS:
        trace = pick(runs, sampler=sampler, data__seed=first)[0].trace(["chain", "iteration", "largest"])
        frames.append(fractions(trace[trace["chain"] == trace["chain"].min()], most_rows=2000).assign(sampler=sampler))
    plotted = pd.concat(frames, ignore_index=True)
    notes = (
        f"Example 1, data set {first}, first chain of each: fraction of the items in the largest block, in the two "
        f"largest, ... in the five largest. The first {runs[0].config['warmup']} iterations are Gibbs scans alone."
    )
    claims = {c.metric: c for c in published_claims("arm-fig4")}
    by_set = sorted(pick(runs), key=lambda run: int(run.config["data"]["seed"]))
    # mean absolute step of the fractions in the one, two, ... five largest blocks, over all chains of a data set
    jagged: dict[str, list[float]] = {s: [] for s in SAMPLERS}
    for run in by_set:
        each = []
        for _, chain in run.trace(["chain", "iteration", "largest"]).groupby("chain", sort=True):
            kept = chain[chain["iteration"] > run.config["warmup"]]
            stacked = np.cumsum(np.stack(kept["largest"].tolist()), axis=1)
            each.append(np.abs(np.diff(stacked, axis=0)).mean())
        jagged[option(run, "sampler")].append(float(np.mean(each)))
    steps = {s: np.array(values) for s, values in jagged.items()}
    verdicts = []
    for metric, sampler, other in [("more_jagged_than_sm", "arm", "sm"), ("more_jagged_than_gibbs", "sm", "gibbs")]:
        samples = np.log(steps[sampler]) - np.log(steps[other])
        mean, low, high = np.exp(intervals.mean_interval(samples))
        rule = f"the fractions change more in an iteration of {title_of(sampler)} "
        rule += f"({mean:.2f} [{low:.2f}, {high:.2f}] times)"
        verdicts.append(by_majority(claims[metric], samples, samples, rule, above=0.0))
    return Drawing(picture_fig4(plotted), plotted, verdicts, notes)


def picture_fig4(numbers: pd.DataFrame) -> Figure:
    """Stacked areas, a panel for each sampler; strong and weak areas in turn, named at the right."""
    figure, axes = plt.subplots(1, 3, figsize=(FULL, 2.6), sharey=True)
    for ax, sampler in zip(axes, SAMPLERS, strict=True):
        rows = numbers[numbers["sampler"] == sampler]
        below = np.zeros(len(rows))
        names = sorted(x for x in rows if x.startswith("largest_"))
        for k, (name, words) in enumerate(zip(names, ("largest", "2nd", "3rd", "4th", "5th"), strict=True)):
            top = rows[name].to_numpy()
            look = {"color": colour_of(sampler), "alpha": 0.2 if k % 2 else 0.75, "linewidth": 0}
            ax.fill_between(rows["iteration"], below, top, **look)
            if sampler == SAMPLERS[-1]:
                middle = float(below[-1] + top[-1]) / 2
                ax.text(1.02, middle, words, transform=ax.get_yaxis_transform(), va="center", fontsize=7)
            below = top
        ax.set(title=title_of(sampler), xlabel="iteration", ylim=(0, 1), xlim=(0, rows["iteration"].max()))
        ax.grid(False)
        ax.xaxis.set_major_locator(plt.MaxNLocator(4))
    axes[0].set_ylabel("cumulative fraction of the items")
    return figure
