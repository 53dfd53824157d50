"""The runs of Luo & Shrivastava 2018: which they are, how far each chain has climbed and when, and who leads whom;
Figures 1 to 3, log likelihood against iteration and sampling time."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from splitmerge_cli.analysis.plots.races import option
from splitmerge_cli.analysis.plots.style import entry, footnote, hollow, legend, log_ticks, look_of, mark_alone
from splitmerge_cli.config import figure_styles
from splitmerge_cli.diagnostics.intervals import geometric_interval
from splitmerge_cli.papers import claims, drawing
from splitmerge_cli.papers.verdicts import NOT_TESTABLE, Verdict, by_edge, by_majority, estimate, no_run, untestable
from splitmerge_cli.runs.store.read import Run

METHODS = {
    "rgsm": "RGSM",
    "sdds": "SDDS",
    "sams": "SAMS",
    "gibbs": "Gibbs",
    "paired_sequential": "LSHSM, one by one",
    "sums": "LSHSM, Algorithm 1",
    "paired": "LSHSM, coins",
    "as_printed": "LSHSM as printed",
}
"""Samplers, and the forms of LSHSM, in the order of legends and tables."""
DASHES: dict[str, Any] = {"sums": (0, (4, 1.5)), "paired": (0, (1, 1)), "as_printed": (0, (4, 1.2, 1, 1.2))}
FORMS = {"paired_sequential": "items one by one", "sums": "Algorithm 1, exact"}
"""Forms of LSHSM under which claims are judged."""
STARTS = {"one_cluster": "from one cluster", "singletons": "from singletons"}
SETS = {"s1": "S1", "s2": "S2", "s3": "S3", "kdd_like": "KDDCUP04Bio", "ohsumed23": "PubMed"}
"""Data sets, and what claims call them or what they stand for."""
STOOD_IN = 1000
"""Seed of the generated data that stand in for ohsumed23: none of the runs' seeds, which are data sets as well."""
TOLERANCE = 0.02
"""A chain has reached the level when this share of the climb is left: what a plot can show."""


def method_of(run: Run) -> str:
    """The sampler of a run; of LSHSM its form."""
    sampler = run.config["sampler"]
    if sampler["name"] != "lshsm":
        return str(sampler["name"])
    return "as_printed" if sampler["mode"] == "as_printed" else str(sampler["proposal"])


def is_stand_in(run: Run) -> bool:
    """Whether generated data stand in for ohsumed23."""
    return option(run, "data") == "kdd_like" and run.config["data"]["seed"] == STOOD_IN


def data_of(run: Run) -> str:
    """The data set as claims call it, or that for which it stands."""
    return "PubMed" if is_stand_in(run) else SETS[option(run, "data")]


def style_of(method: str) -> dict[str, Any]:
    """Colour, marker and dashes of a line: all forms of LSHSM in one colour, with one marker."""
    look = look_of(method if method in figure_styles() else "lshsm", dashed=False)
    return look | {"linestyle": DASHES.get(method, "-")}


def in_order(methods: Iterable[str]) -> list[str]:
    """Different samplers and forms, in the order of `METHODS`."""
    present = set(methods)
    return [method for method in METHODS if method in present]


@dataclass(frozen=True)
class Lead:
    """Which of two chains reaches the level first, on one data set: `ratio` of the second's to the first's iterations
    or seconds to the level, where one that has not reached it counts with all that it made (a `bound`), NaN where
    neither has left its start; 1 if the first is `ahead`, one half if both are there at once; `lower`: neither reaches
    the level, and they are compared at a lower one, that both reached."""

    ratio: float
    ahead: float
    bound: bool
    lower: bool


def lead(first: drawing.Climb, second: drawing.Climb, level: float, axis: str) -> Lead:
    """Compare two chains from the same start on the same data; where no chain from anywhere found a better state than
    that, there is nothing to compare."""
    pair = (first, second)
    if level <= first.log_joint[0]:
        return Lead(np.nan, 0.0, True, True)
    lower = all(np.isinf(c.reaches(level, axis)) for c in pair)
    if lower:
        # the level that both reached; if one has not left the start, what the other reached soon
        start = float(first.log_joint[0])
        low, high = sorted(float(c.log_joint.max()) - start for c in pair)
        level = start + max((1 - TOLERANCE) * low, TOLERANCE * high) if high > 0 else np.inf
    a, b = (c.reaches(level, axis) for c in pair)
    if not np.isfinite([a, b]).any():
        return Lead(np.nan, 0.0, True, True)
    # a chain that has not reached the level counts with all that it made, and never for less than what the other needed
    seconds_a, bt = (
        t if np.isfinite(t) else max(c.axis_values(axis)[-1], min(a, b)) for t, c in zip((a, b), pair, strict=True)
    )
    least = 1.0 if axis == "iteration" else 1e-6
    return Lead(
        max(bt, least) / max(seconds_a, least), float(np.heaviside(b - a, 0.5)), bool(np.isinf([a, b]).any()), lower
    )


class Climbs:
    """The ascents of all chains, one a run, by what they ran on (`by`; by default their data set), from where and
    how."""

    def __init__(self, runs: Sequence[Run], by: Any = data_of) -> None:
        self.chains: dict[tuple[Any, str, str], dict[int, drawing.Climb]] = {}
        self._data: dict[tuple[Any, int], str] = {}
        best: dict[str, tuple[float, float]] = {}
        for run in sorted(runs, key=lambda r: int(r.config["seed"])):
            (climb,), on, seed = drawing.climbs_of(run), by(run), int(run.config["seed"])
            self.chains.setdefault((on, run.config["init"], method_of(run)), {})[seed] = climb
            # seeds may share their data
            data = self._data[on, seed] = f"{run.config['N']} {run.config['data']}"
            top = int(climb.log_joint.argmax())
            if climb.log_joint[top] > best.get(data, (-np.inf, 0.0))[0]:
                best[data] = float(climb.log_joint[top]), float(climb.log_lik[top])
        self.best = {key: best[data][0] for key, data in self._data.items()}
        self.best_log_lik = {key: best[data][1] for key, data in self._data.items()}

    def chains_of(self, on: Any, start: str) -> dict[str, dict[int, drawing.Climb]]:
        """The chains on one data set from one start, by method and seed."""
        return {m: self.chains[on, start, m] for m in METHODS if (on, start, m) in self.chains}

    def unit(self, on: Any) -> str:
        """Name the units that seeds stand for: data sets, or chains on one data set."""
        data = [data for (where, _), data in self._data.items() if where == on]
        return "data sets" if len(set(data)) == len(data) else "chains"

    def level(self, on: Any, start: str, seed: int) -> float:
        """The level: all but `TOLERANCE` of the climb to the best log joint that any chain found."""
        first = next(chains[seed] for chains in self.chains_of(on, start).values() if seed in chains)
        low, high = float(first.log_joint[0]), self.best[on, seed]
        return high - TOLERANCE * (high - low)

    def hitting_times(self, on: Any, start: str, method: str, axis: str) -> NDArray[np.float64]:
        """Iterations or seconds to the level, ``[seeds]``; infinite where a chain has not reached the level."""
        chains = self.chains_of(on, start).get(method, {})
        return np.array([c.reaches(self.level(on, start, seed), axis) for seed, c in chains.items()])

    def leads(self, on: Any, start: str, first: str, second: str, axis: str) -> list[Lead]:
        """`first` against `second` on every data set that both ran on."""
        chains = self.chains_of(on, start)
        a, b = chains.get(first, {}), chains.get(second, {})
        return [lead(a[seed], b[seed], self.level(on, start, seed), axis) for seed in a if seed in b]

    def reached_text(self, on: Any, start: str, method: str) -> str:
        """How many chains reached the level, in words."""
        times = self.hitting_times(on, start, method, "seconds")
        return f"{int(np.isfinite(times).sum())} of {len(times)}"


def judge_ratio(claim: claims.Claim, leads: Sequence[Lead], reading: str, unit: str = "data sets") -> Verdict:
    """Judge how many times sooner the level is reached, by the geometric mean."""
    told = [x for x in leads if np.isfinite(x.ratio)]
    if not told:
        why = "neither sampler left its start" if leads else "no run"
        return no_run(claim, why, "at_least", reading)
    note = f"; geometric mean over {len(told)} {unit if len(told) > 1 else unit.removesuffix('s')}"
    if lower := sum(x.lower for x in told):
        note += f"; on {lower} neither reached it and the level is the one that both reached"
    if bounds := sum(x.bound for x in told):
        note += f"; {bounds} of the ratios are bounds, because one of the two did not reach the level"
    ratios = [x.ratio for x in told]
    return by_least(claim, ratios, reading, unit, f"{geometric_interval(ratios)[0]:.3g} times sooner{note}")


def by_least(claim: claims.Claim, ratios: Sequence[float], reading: str, unit: str, reason: str) -> Verdict:
    """Judge "so many times": reproduced at or above the claim's tolerance, however far above."""
    return by_edge(claim, estimate(ratios, geometric_interval, unit), reason, reading)


AXES = {"iteration": "iteration", "seconds": "seconds of sampling"}
LEVEL = (
    f"Level: {1 - TOLERANCE:.0%} of the climb of the log joint from the start to the best "
    "that any sampler found on that data set."
)
BEST = "Best: the log likelihood of the state of highest log joint that any sampler found on that data set."
PRINTED = ("rgsm", "sdds", "sums")
"""Lines of the paper's figures, LSHSM in the form that counts."""


def fig1(runs: Sequence[Run]) -> drawing.Drawing:
    """Log likelihood against iteration, S1 to S3."""
    return _synthetic("lshsm-fig1", runs, "iteration")


def fig2(runs: Sequence[Run]) -> drawing.Drawing:
    """Log likelihood against sampling time, S1 to S3."""
    return _synthetic("lshsm-fig2", runs, "seconds")


def _synthetic(name: str, runs: Sequence[Run], axis: str) -> drawing.Drawing:
    climbs = Climbs(runs)
    on = [data for data in SETS.values() if any(data_of(run) == data for run in runs)]
    numbers = pd.concat([lines(climbs, data, start, axis) for start in STARTS for data in on], ignore_index=True)
    sizes = {data: next(run.config["N"] for run in runs if data_of(run) == data) for data in on}
    sets, present = len({run.config["seed"] for run in runs}), set(map(method_of, runs))
    coins = "Coins: pair and coins, no sums. " * ("paired" in present)
    printed = "As printed: equations 3 to 6, biased. " * ("as_printed" in present)
    notes = (
        f"{sets} data sets of each size, a chain on each. Moves alone, no Gibbs scans. {BEST} {LEVEL} LSHSM, one by "
        "one: the pair by hashing, the other items by sequential allocation, as in SAMS (whose pair is uniform). "
        "Algorithm 1: splits by coins, exact sums in place of equations 3 to 6. "
        f"{coins}{printed}Coin splits never leave one cluster; from there the forms of coins are left out but one."
    )
    return drawing.Drawing(_draw_synthetic(numbers, sizes), numbers, _verdicts(name, climbs, axis), notes)


def _draw_synthetic(numbers: pd.DataFrame, sizes: Mapping[str, int] | None = None) -> Figure:
    """The paper's panels, one for each data set, and below them one for each start and data set, with their `sizes`."""
    on, (axis,) = list(dict.fromkeys(numbers["data"])), set(numbers["axis"])
    figure, paper, added = drawing.in_parts(2.1, 4.8)
    _draw_printed(paper, numbers, "{}", bands=True)
    axes = added.subplots(len(STARTS), len(on), sharex="col", sharey="col", squeeze=False)
    for row, start in zip(axes, STARTS, strict=True):
        for ax, data in zip(row, on, strict=True):
            draw(ax, numbers[(numbers["start"] == start) & (numbers["data"] == data)])
            ax.set_title(f"{data}, N = {sizes[data]:,}" if sizes else data)
        row[0].set_ylabel(f"start: {STARTS[start].removeprefix('from ')}\nlog likelihood − best")
    for ax in axes[-1]:
        ax.set_xlabel(AXES[axis])
    _legend(figure, numbers)
    footnote(figure, "Lines and bands: medians and ranges over data sets.")
    return figure


picture_fig1 = picture_fig2 = _draw_synthetic


def _legend(figure: Figure, numbers: pd.DataFrame) -> None:
    """The samplers and what a mark on the axis is, in two rows."""
    key = [entry(label=METHODS[m], linewidth=1.8, **style_of(m)) for m in in_order(numbers["method"])]
    key.append(entry(linestyle="", label="on the axis: median to the level"))
    half = -(-len(key) // 2)
    legend(figure, key[:half], key[half:])


def lines(climbs: Climbs, data: str, start: str, axis: str) -> pd.DataFrame:
    """The numbers of one panel: medians and ranges of every method at points `x` of an axis, as far as all chains go;
    log likelihoods less the best state's on the same data."""
    frames = []
    for method, chains in climbs.chains_of(data, start).items():
        along = [climb.axis_values(axis) for climb in chains.values()]
        first = max(min(float(x[min(1, len(x) - 1)]) for x in along), 1e-6)
        where = np.geomspace(first, max(min(float(x[-1]) for x in along), first), 250)
        values = np.stack(
            [c.column_at(c.log_lik, axis, where) - climbs.best_log_lik[data, seed] for seed, c in chains.items()]
        )
        ends = {"median": np.median(values, axis=0), "low": values.min(axis=0), "high": values.max(axis=0)}
        middle = float(np.median(climbs.hitting_times(data, start, method, axis)))
        about = {"data": data, "start": start, "method": method, "axis": axis, "median_to_level": middle}
        frames.append(pd.DataFrame({"x": where, **ends, "chains": len(chains), **about}))
    return pd.concat(frames, ignore_index=True)


def draw(ax: Axes, numbers: pd.DataFrame, bands: bool = True, logs: bool = True) -> None:
    """Draw one panel from its `lines`; `bands`: with the ranges over data sets; not `logs`: from 0 on."""
    drawing.draw_lines(ax, numbers, "method", "x", style_of, shade=0.09 * bands, width=1.2)
    # from shortly before anything happens; a chain that made no iteration has no place on the axis
    every = [frame for _, frame in numbers.groupby("method", sort=False)]
    begun = [f for f in every if f["x"].iloc[0] < f["x"].iloc[-1]] or every
    ax.set(xscale="log" if logs else "linear")
    ax.set_xlim(left=max(min(f["x"].iloc[0] for f in begun), min(map(_rises, begun)) / 5) if logs else 0)
    low = ax.get_xlim()[0]
    on_axis: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "clip_on": False, "zorder": 4}
    for method, middle in numbers.groupby("method", sort=False)["median_to_level"].first().items():
        style = style_of(str(method))
        look = mark_alone(style, 1.4) if style["linestyle"] == "-" else hollow(style, 1.3)
        if np.isfinite(middle):
            # one that was there from the start stands at the edge
            ax.plot(max(middle, low), 0.0, **look, **on_axis)
    if logs:
        log_ticks(ax.xaxis)
    else:
        # as far as lines rise
        ax.set_xlim(right=min(1.5 * max(map(_levels_off, every)), ax.get_xlim()[1]))
        ax.xaxis.set_major_locator(MaxNLocator(3))
        ax.xaxis.set_major_formatter(FuncFormatter(_thousands))
    ax.yaxis.set_major_locator(MaxNLocator(5))
    ax.yaxis.set_major_formatter(FuncFormatter(_thousands))


def _rises(frame: pd.DataFrame) -> float:
    """Where the median first has left its start."""
    span = frame["high"].max() - frame["low"].min()
    up = np.flatnonzero((frame["median"] - frame["median"].iloc[0]).abs() > 0.01 * span)
    return float(frame["x"].iloc[up[0] if len(up) else -1])


def _levels_off(frame: pd.DataFrame) -> float:
    """Where the median has made 98 % of its climb."""
    climb = frame["median"] - frame["median"].iloc[0]
    return float(frame["x"][climb >= 0.98 * climb.iloc[-1]].iloc[0])


def _thousands(y: float, _: int) -> str:
    text = f"{y:,.4g}" if abs(y) < 1e4 else f"{y / 1e3:,.4g}k" if abs(y) < 1e6 else f"{y / 1e6:,.4g}M"
    return text.replace("-", "−")


def _readings(claim: claims.Claim, climbs: Climbs) -> Iterator[tuple[str, str, str]]:
    """Starts from which there are chains, forms of LSHSM that a claim is about, and both in words."""
    about_lshsm = "lshsm" in (claim.sampler, claim.metric.removeprefix("leads_"))
    for start, title in STARTS.items():
        chains = climbs.chains_of(claim.data, start)
        for form in (FORMS if about_lshsm else [""]) if chains else ():
            if not form or form in chains:
                yield start, form, ", ".join(filter(None, [title, f"LSHSM: {FORMS[form]}" if form else ""]))


def _verdicts(name: str, climbs: Climbs, axis: str) -> list[Verdict]:
    """Every claim of a figure, from each start and for each form of LSHSM."""
    return [
        _verdict(claim, climbs, start, form, axis, reading)
        for claim in claims.published_claims(name)
        for start, form, reading in _readings(claim, climbs)
    ]


def _verdict(claim: claims.Claim, climbs: Climbs, start: str, form: str, axis: str, reading: str) -> Verdict:
    """Judge who reaches the level first, how many times sooner, or what an iteration costs."""
    chains, unit = climbs.chains_of(claim.data, start), climbs.unit(claim.data)
    if claim.metric == "times_faster":
        # against SDDS or RGSM, the faster one
        leads = []
        for seed, climb in chains.get(form, {}).items():
            level = climbs.level(claim.data, start, seed)
            others = [chains[m][seed] for m in ("sdds", "rgsm") if seed in chains.get(m, {})]
            against = (lead(climb, other, level, "seconds") for other in others)
            leads.append(min(against, key=lambda x: np.nan_to_num(x.ratio, nan=np.inf)))
        return judge_ratio(claim, leads, reading, unit)
    if claim.metric == "cost_below_sdds":
        lshsm, sdds = chains.get(form, {}), chains.get("sdds", {})
        ratios = [sdds[seed].pace / lshsm[seed].pace for seed in lshsm if seed in sdds]
        if not ratios:
            return no_run(claim, rule="at_least", reading=reading)
        reason = f"an iteration of SDDS costs {geometric_interval(ratios)[0]:.3g} times that of LSHSM"
        return by_least(claim, ratios, reading, unit, reason)
    pair = claim.sampler, claim.metric.removeprefix("leads_")
    first, second = (form if name == "lshsm" else name for name in pair)
    compared = climbs.leads(claim.data, start, first, second, axis)
    reached = [f"{METHODS[m]} {climbs.reached_text(claim.data, start, m)}" for m in (first, second)]
    rule = f"{METHODS[first]} reaches the level first (reached: {', '.join(reached)}; if neither, the one both reach)"
    ratios, ahead = [x.ratio for x in compared], [x.ahead for x in compared]
    return by_majority(claim, ratios, ahead, rule, reading, summary=geometric_interval, unit=unit)


# Figure 3: large data


def fig3(runs: Sequence[Run]) -> drawing.Drawing:
    """Log likelihood against iteration and sampling time on what stands for KDDCUP04Bio and PubMed."""
    climbs = Climbs(runs)
    panels = product(("KDDCUP04Bio", "PubMed"), STARTS, AXES)
    frames = [lines(climbs, data, start, axis) for data, start, axis in panels if climbs.chains_of(data, start)]
    numbers = pd.concat(frames, ignore_index=True)
    standing = {data: _standing(runs, data) for data in dict.fromkeys(numbers["data"])}
    seeds = len({run.config["seed"] for run in runs})
    each = f"{seeds} data sets of kdd_like, a chain of each; {seeds} chains of each on the other: medians"
    budgets = {start: run.config["budget"] for start in STARTS for run in runs if run.config["init"] == start}
    # by start where that matters
    times = [f"{seconds:g} s of sampling {STARTS[start]}" for start, seconds in budgets.items()]
    if len(set(budgets.values())) == 1:
        times = [f"{next(iter(budgets.values())):g} s of sampling"]
    about = "kdd_like: generated in the manner of KDDCUP04Bio, 74 columns."
    if any(is_stand_in(run) for run in runs):
        about += " In place of ohsumed23, which is absent, another such set."
    elif any(data_of(run) == "PubMed" for run in runs):
        about += " ohsumed23: abstracts of MEDLINE, in PubMed's words (incomplete, out of date)."
    notes = (
        f"{each if seeds > 1 else 'One chain of each'}, {' and '.join(times)}; moves alone, no Gibbs scans. {about} "
        f"{BEST} {LEVEL} LSHSM, one by one: the pair by hashing, the other items by sequential allocation, as in SAMS. "
        "Algorithm 1: splits by coins, exact sums; it never leaves one cluster, and is shown from singletons."
    )
    return drawing.Drawing(picture_fig3(numbers, standing), numbers, _fig3_verdicts(climbs, runs), notes)


def _fig3_verdicts(climbs: Climbs, runs: Sequence[Run]) -> list[Verdict]:
    """The verdicts on Figure 3: none on a claim itself, whose data cannot be had; what stands in gives the numbers."""
    verdicts = []
    tolerances = {claim.metric: claim.tolerance for claim in reversed(claims.published_claims("lshsm-fig2"))}
    for claim in claims.published_claims("lshsm-fig3"):
        here = [run for run in runs if data_of(run) == claim.data]
        if not here:
            verdicts.append(no_run(claim))
            continue
        stands = _standing(here, claim.data).partition(" for ")[0]
        for start, form, reading in _readings(claim, climbs):
            if claim.metric == "time_to_converge":
                method = form or claim.sampler
                times = climbs.hitting_times(claim.data, start, method, "seconds")
                reached = climbs.reached_text(claim.data, start, method)
                reason = (
                    "seconds of a machine and a program of 2018; the ratio is what can be compared; other data; "
                    f"{METHODS[method]} reached the level: {reached}"
                )
                verdict = untestable(claim, times, reason, reading)
            else:
                # what stands in is judged as Figure 2 is, though the claim itself has no rule
                ruled = replace(claim, tolerance=tolerances.get(claim.metric, np.nan))
                on_stand_in = _verdict(ruled, climbs, start, form, "iteration", reading)
                reason = (
                    f"the data cannot be had; on what stands in for them {on_stand_in.verdict}: {on_stand_in.reason}"
                )
                verdict = replace(on_stand_in, claim=claim, verdict=NOT_TESTABLE, reason=reason, needed=None)
            verdicts.append(replace(verdict, on=stands))
    return verdicts


def picture_fig3(numbers: pd.DataFrame, standing: Mapping[str, str] | None = None) -> Figure:
    """The paper's panels in a row, from singletons, and below them a row for each data set; `standing`: what stands for
    it, with its size."""
    on = list(dict.fromkeys(numbers["data"]))
    panels = list(product(STARTS, AXES))
    figure, paper, added = drawing.in_parts(2.1, 2.1 * len(on) + 0.5)
    # data sets differ in level by more than samplers do
    _draw_printed(paper, numbers, "for {}", bands=False)
    axes = added.subplots(len(on), len(panels), squeeze=False)
    for row, data in zip(axes, on, strict=True):
        for ax, (start, axis) in zip(row, panels, strict=True):
            here = numbers[(numbers["data"] == data) & (numbers["start"] == start)]
            chosen = here[here["axis"] == axis]
            if chosen.empty:
                ax.axis("off")
                continue
            draw(ax, chosen, bands=False)
            ax.tick_params(labelsize=6.5)
            ax.set_xlabel(AXES[axis], fontsize=7)
            ax.set_title(STARTS[start], fontsize=7.5)
            ax.set_ylim(here["median"].min() - 0.06 * np.ptp(here["median"]), None)
            ax.tick_params(labelleft=axis == "iteration")
        name = (standing or {}).get(data, f"for {data}").replace(" for ", "\nfor ")
        row[0].set_ylabel(f"{name}\nlog likelihood − best")
    _legend(figure, numbers)
    footnote(figure, "Medians over three data sets (kdd_like) or three chains (ohsumed23) at most.")
    return figure


def _draw_printed(part: SubFigure, numbers: pd.DataFrame, title: str, bands: bool) -> None:
    """The paper's panels: three samplers from the start that counts, a panel for each data set and axis."""
    printed = numbers[(numbers["start"] == "singletons") & numbers["method"].isin(PRINTED)]
    panels = list(printed.groupby(["data", "axis"], sort=False))
    for ax, ((data, axis), rows) in zip(part.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        draw(ax, rows, bands, logs=False)
        ax.tick_params(labelsize=6.5)
        ax.set_xlabel(AXES[axis], fontsize=7)
        ax.set_title(title.format(data), fontsize=7.5)
    part.axes[0].set_ylabel("log likelihood − best")


def _standing(runs: Sequence[Run], data: str) -> str:
    """Name a data set, with its size."""
    run = next(r for r in runs if data_of(r) == data)
    name = "generated" if is_stand_in(run) else {"KDDCUP04Bio": "kdd_like", "PubMed": "ohsumed23"}[data]
    return f"{name} (N = {run.summary['N']:,}) for {data}"
