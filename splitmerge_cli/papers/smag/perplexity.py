"""Figure 5: perplexity of held-out documents, Gibbs alone and with split-merge in the same time."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from numpy.typing import NDArray

from splitmerge_cli.analysis.plots.races import option, pick
from splitmerge_cli.analysis.plots.style import (
    REFERENCE,
    entry,
    footnote,
    legend,
    log_ticks,
    mark_alone,
)
from splitmerge_cli.diagnostics.intervals import overlapping_interval
from splitmerge_cli.kinds.documents import PERPLEXITY
from splitmerge_cli.papers.claims import Claim, published_claims
from splitmerge_cli.papers.drawing import Drawing, draw_lines, in_parts
from splitmerge_cli.papers.smag.runs import FORMS, METHODS, STYLES, method_of, start_of
from splitmerge_cli.papers.verdicts import Verdict, by_sign
from splitmerge_cli.runs.store.read import Run

EVALUATIONS = {"fold_in": "fold-in", "completion": "completion"}
COLUMNS = {"fold_in": "perplexity", "completion": "averaged"}
"""Evaluations drawn: the perplexity of each state, as in the paper; or of probabilities averaged over states."""
AXES = {"iteration": "iteration", "seconds": "sampling time (s)"}
STARTS = {"one_cluster": "from one topic", "random": "from {K0} random topics"}
NAMES = {"nips_abstracts": "NIPS abstracts", "20news_w100": "20 Newsgroups, 100 words"}
SHOWN = ("gibbs", *FORMS)
COMPARED = ("gibbs", "coin")
"""Lines of the paper's figure: Gibbs alone, and split-merge in the form that counts."""
HELD_OUT = 0.2
"""Share of the documents that a split holds out."""
LATE = 0.1
"""Share of the time at the end whose evaluations are the final perplexity."""


class Where(NamedTuple):
    """How perplexity is evaluated, and where the chains start."""

    evaluation: str
    start: str


@dataclass(frozen=True)
class Curve:
    """The evaluations of one chain, in order."""

    frame: pd.DataFrame
    """Columns iteration, seconds, value."""

    @cached_property
    def final(self) -> float:
        """Mean over the evaluations of the last `LATE` of the time."""
        seconds = self.frame["seconds"]
        return float(self.frame.loc[seconds >= (1 - LATE) * seconds.iloc[-1], "value"].mean())

    def values_at(self, axis: str, where: NDArray[np.float64]) -> NDArray[np.float64]:
        """Between evaluations by straight lines; NaN before the first and after the last."""
        return np.interp(where, self.frame[axis], self.frame["value"], left=np.nan, right=np.nan)


class Curves:
    """The chains of runs, by evaluation, start and method; of each by seed."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self.runs = runs
        self._of: dict[tuple[Where, str], dict[int, Curve]] = {}
        for run in pick(runs):
            where = Where(run.config["perplexity"]["method"], start_of(run))
            self._of.setdefault((where, method_of(run)), {})[run.config["seed"]] = _curve(run, where)

    @property
    def places(self) -> list[Where]:
        """Every evaluation from every start."""
        present = {where for where, _ in self._of}
        return [w for e in EVALUATIONS for s in STARTS if (w := Where(e, s)) in present]

    def chains_of(self, where: Where, method: str) -> dict[int, Curve]:
        """The chains of a method, by seed."""
        return self._of[where, method]

    def level(self, where: Where) -> float:
        """Final perplexity of Gibbs alone, mean over seeds."""
        return float(np.mean([chain.final for chain in self.chains_of(where, "gibbs").values()]))

    def shifted_curves(self, where: Where, method: str) -> list[Curve]:
        """Return a method's chains, each less the final perplexity of Gibbs alone with its seed, plus `level`.

        Splits differ far more than samplers do.
        """
        gibbs, level = self.chains_of(where, "gibbs"), self.level(where)
        return [
            Curve(chain.frame.assign(value=chain.frame["value"] - gibbs[seed].final + level))
            for seed, chain in self.chains_of(where, method).items()
        ]

    def differences(self, where: Where, method: str, by_iteration: bool = False) -> NDArray[np.float64]:
        """Return the final perplexity of a split-merge form less that of Gibbs alone, by seed; `by_iteration`: that at
        equal iterations, where the one that made fewer of them ends."""
        gibbs, chains = self.chains_of(where, "gibbs"), self.chains_of(where, method)
        pairs = [(chains[seed], gibbs[seed]) for seed in chains if seed in gibbs]
        if not by_iteration:
            return np.array([first.final - second.final for first, second in pairs])
        differences = []
        for pair in pairs:
            last = np.array([min(chain.frame["iteration"].iloc[-1] for chain in pair)], dtype=float)
            first, second = (chain.values_at("iteration", last)[0] for chain in pair)
            differences.append(float(first - second))
        return np.array(differences)


def _curve(run: Run, where: Where) -> Curve:
    frame = run.table(PERPLEXITY, ["iteration", "seconds", COLUMNS[where.evaluation]])
    return Curve(frame.rename(columns={COLUMNS[where.evaluation]: "value"}))


def fig5a(runs: Sequence[Run]) -> Drawing:
    """Held-out perplexity of NIPS abstracts."""
    return _figure("smag-fig5a", runs)


def fig5b(runs: Sequence[Run]) -> Drawing:
    """Held-out perplexity of 20 Newsgroups."""
    return _figure("smag-fig5b", runs)


def _figure(name: str, runs: Sequence[Run]) -> Drawing:
    curves = Curves(runs)
    frames = [_lines(curves, where, axis) for where in curves.places for axis in AXES]
    numbers = pd.concat([*frames, *(_final(curves, start) for start in STARTS)], ignore_index=True)
    notes = f"{_describe_data(runs)} {_note(runs)}"
    return Drawing(_picture(numbers, curves), numbers, _verdicts(name, curves), notes)


def _picture(numbers: pd.DataFrame, curves: Curves | None = None) -> Figure:
    """The paper's panel, and below it all; with `curves` each chain is a thin line, and each split a small mark."""
    rows, columns = len(EVALUATIONS), 2 * len(STARTS)
    figure, paper, added = in_parts(2.2, 5.3)
    axes = added.subplots(rows + 1, columns, height_ratios=[1] * rows + [0.62])
    means = numbers[numbers["axis"].notna()]
    printed = means[(means["panel"] == "fold_in") & (means["start"] == "one_cluster") & means["method"].isin(COMPARED)]
    ax = paper.subplots()
    _draw(ax, printed[printed["axis"] == "iteration"], Where("fold_in", "one_cluster"), "iteration", curves)
    ax.set(xscale="linear", xlim=(0, None), ylabel="perplexity")
    for (evaluation, start), of_place in means.groupby(["panel", "start"], sort=False):
        row, first = list(EVALUATIONS).index(evaluation), 2 * list(STARTS).index(start)
        for ax, axis in zip(axes[row, first : first + 2], AXES, strict=True):
            _draw(ax, of_place[of_place["axis"] == axis], Where(evaluation, start), axis, curves)
        axes[row, first + 1].sharey(axes[row, first])
        axes[row, first + 1].tick_params(labelleft=False)
        axes[row, first].set_title(_start(curves.runs, start) if curves else STARTS[start].replace("{K0} ", ""))
    for row, method in zip(axes, EVALUATIONS.values(), strict=False):
        row[0].set_ylabel(f"perplexity,\n{method}")
    lower = _join_panels(added, axes[-1])
    for ax, start in zip(lower, STARTS, strict=True):
        _draw_differences(ax, numbers[numbers["axis"].isna() & (numbers["start"] == start)], start, curves)
    lower[0].set_ylabel("final perplexity\n− that of Gibbs")
    lines = [entry(label=METHODS[m], linewidth=1.8, **STYLES[m]) for m in SHOWN]
    legend(figure, lines)
    each = "Thin: chains; thick: means over splits. Bottom: small marks are splits, large ones means."
    footnote(figure, each if curves else "Lines and marks: means over splits.")
    return figure


picture_fig5a = picture_fig5b = _picture


def _start(runs: Sequence[Run], start: str) -> str:
    return STARTS[start].format(K0=next(run.config["K0"] for run in runs if start_of(run) == start))


def _lines(curves: Curves, where: Where, axis: str) -> pd.DataFrame:
    """Mean and range over seeds of every method, as far as all chains go."""
    frames = []
    for method in SHOWN:
        chains = curves.shifted_curves(where, method)
        first = max(chain.frame[axis].iloc[0] for chain in chains)
        last = min(chain.frame[axis].iloc[-1] for chain in chains)
        # rounding must not leave the ends outside
        grid = np.clip(np.geomspace(first, max(last, first), 150), first, max(last, first))
        values = np.stack([chain.values_at(axis, grid) for chain in chains])
        # by seconds, no mean where one chain ended before another began
        stats = {"value": values.mean(axis=0), "low": values.min(axis=0), "high": values.max(axis=0)}
        where_drawn = {"panel": where.evaluation, "start": where.start, "method": method, "axis": axis}
        frames.append(pd.DataFrame({**where_drawn, "x": grid, **stats, "chains": len(chains)}))
    return pd.concat(frames, ignore_index=True)


def _draw(ax: Axes, numbers: pd.DataFrame, where: Where, axis: str, curves: Curves | None) -> None:
    """Draw the mean of every method, and each chain where there are `curves`."""
    for method in numbers["method"].unique():
        for chain in curves.shifted_curves(where, method) if curves else ():
            ax.plot(chain.frame[axis], chain.frame["value"], linewidth=0.5, alpha=0.35, color=STYLES[method]["color"])
    draw_lines(ax, numbers, "method", "x", STYLES.__getitem__, centre="value", width=1.4)
    ax.set_xscale("log")
    ax.set_xlabel(AXES[axis])
    log_ticks(ax.xaxis)


def _join_panels(figure: SubFigure, row: NDArray[np.object_]) -> list[Axes]:
    """Panels of twice the width in the place of a row of panels, each with a scale of its own."""
    grid = row[0].get_gridspec()
    for ax in row:
        ax.remove()
    return [figure.add_subplot(grid[-1, k : k + 2]) for k in range(0, len(row), 2)]


def _final(curves: Curves, start: str) -> pd.DataFrame:
    """Final differences from Gibbs alone from one start, by evaluation and form: mean and interval over splits."""
    rows = []
    for evaluation, form in product(EVALUATIONS, FORMS):
        each = curves.differences(Where(evaluation, start), form)
        panel = f"{evaluation}{DIFFERENCE}"
        rows.append((panel, start, form, *overlapping_interval(HELD_OUT)(each), len(each)))
    return pd.DataFrame(rows, columns=["panel", "start", "method", "value", "low", "high", "chains"])


DIFFERENCE = ": final difference from Gibbs alone"


def _draw_differences(ax: Axes, numbers: pd.DataFrame, start: str, curves: Curves | None) -> None:
    """Draw the mean of each difference, and every split where there are `curves`."""
    ticks = []
    for x, row in enumerate(numbers.itertuples(index=False)):
        evaluation, look = row.panel.removesuffix(DIFFERENCE), STYLES[row.method]
        if curves:
            each = curves.differences(Where(evaluation, start), row.method)
            ax.plot(np.full(len(each), x - 0.12), each, alpha=0.5, **mark_alone(look, 0.7))
        ax.plot(x + 0.12, row.value, **mark_alone(look, 1.3))
        ax.vlines(x + 0.12, row.low, row.high, linewidth=1.4, color=look["color"])
        ticks.append(f"{EVALUATIONS[evaluation]},\n{FORMS[row.method]}")
    ax.axhline(0, color=REFERENCE, linewidth=0.7, linestyle=(0, (4, 3)))
    ax.set_xticks(range(len(ticks)), ticks, fontsize=6.5)
    ax.set_xlim(-0.6, len(ticks) - 0.4)


def _describe_data(runs: Sequence[Run]) -> str:
    run, sizes = runs[0], runs[0].summary["documents"]
    name = NAMES.get(option(run, "data"), "generated documents in place of the published ones")
    learnt = f"{sizes['documents']:,} documents to learn from, {sizes['heldout_documents']:,} held out"
    sentence = f"{name[0].upper()}{name[1:]}: {learnt}"
    return f"{sentence}; η = {run.config['model']['eta']:g}."


def _note(runs: Sequence[Run]) -> str:
    config, seeds = runs[0].config, len({run.config["seed"] for run in runs})
    prior = str(config["model"]["gamma"]).replace("gamma", "Γ")
    return (
        f"{seeds} random splits of the documents, 80 % to 20 %, and on each a chain of each sampler, of the same "
        f"start, seed and {config['budget']:g} s of sampling (evaluations not counted). "
        f"γ and α₀ ~ {prior}, drawn anew in each iteration: a proposal (Gibbs alone: none), a full scan. "
        "Curves of a split are shifted so that Gibbs alone ends at its mean over splits. "
        "Fold-in: of a state; a document's mixture is estimated from the very words that are scored, too low for every "
        "sampler. The paper gives no method; this is the likely one. Completion: half of a document predicted from "
        "the other half, probabilities averaged over the second half of the states so far. "
        f"Final: mean over the last {LATE:.0%} of the time; small marks: splits; large ones: their mean and its "
        "95 % interval, for splits that overlap."
    )


def _verdicts(name: str, curves: Curves) -> list[Verdict]:
    """The claim for every evaluation, start and form; differences are paired by split."""
    return [
        judge(claim, curves, where, form)
        for claim in published_claims(name)
        for where in curves.places
        for form in FORMS
    ]


def judge(claim: Claim, curves: Curves, where: Where, form: str) -> Verdict:
    lower = -curves.differences(where, form, claim.metric.endswith("_by_iteration"))
    words = [EVALUATIONS[where.evaluation], _start(curves.runs, where.start), FORMS[form]]
    on = "" if option(curves.runs[0], "data") in NAMES else "generated documents"
    label = f"Gibbs ({curves.level(where):.1f}) − split-merge"
    verdict = by_sign(claim, {label: lower}, ", ".join(words), overlapping_interval(HELD_OUT), "splits")
    # the claim is of split-merge less Gibbs
    return replace(verdict, ours=-verdict.ours, low=-verdict.high, high=-verdict.low, on=on)
