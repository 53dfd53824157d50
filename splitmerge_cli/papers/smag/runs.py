"""The runs of Rana et al. 2013: which they are, when a chain has found its topics, and what was accepted by then;
Figure 2, the generated corpus, and Figure 5, perplexity of held-out documents, of split-merge and of Gibbs alone."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, PowerNorm
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from numpy.typing import NDArray

from splitmerge_cli.analysis.plots import style
from splitmerge_cli.analysis.plots.races import option, pick
from splitmerge_cli.config import DataSource
from splitmerge_cli.diagnostics.intervals import overlapping_interval
from splitmerge_cli.kinds.documents import PERPLEXITY
from splitmerge_cli.kinds.documents.topics import counts
from splitmerge_cli.papers import claims, drawing
from splitmerge_cli.papers.verdicts import Verdict, by_sign, holds
from splitmerge_cli.runs.store.read import Run

MAP = LinearSegmentedColormap.from_list("shares", ["#FFFFFF", "#9FC1DE", "#3B6FA0", "#12304C"])


def groups(data: DataSource) -> pd.DataFrame:
    """The topics, the groups and their mixtures.

    Columns panel (topics: probabilities of words; groups: tokens of words; mixtures: weights of topics), row (topic or
    group, from 1), column (word, or topic from 1), value.
    """
    dataset = data.function(**data.options)
    corpus, words = dataset.values, list(dataset.vocabulary)
    of_groups = counts(corpus.tokens.documents(), corpus.tokens.words, (corpus.tokens.J, corpus.V)).toarray()
    names = [str(t + 1) for t in range(len(corpus.topics))]
    panels = {"topics": (corpus.topics, words), "groups": (of_groups, words), "mixtures": (corpus.mixtures, names)}
    return pd.concat([long_form(panel, *numbers) for panel, numbers in panels.items()], ignore_index=True)


def long_form(panel: str, values: NDArray[np.float64], columns: Sequence[str]) -> pd.DataFrame:
    """A matrix as rows: panel, row (from 1), column, value."""
    rows, width = values.shape
    cells = {"row": np.repeat(np.arange(1, rows + 1), width), "column": list(columns) * rows}
    return pd.DataFrame({"panel": panel, **cells, "value": values.ravel().astype(float)})


def fig2(table: pd.DataFrame) -> drawing.Drawing:
    """The ten topics, and the four groups as bags of words with their mixtures."""
    by_panel = (table[table["panel"] == panel] for panel in ("topics", "groups", "mixtures"))
    topics, bags, mixtures = (
        rows.pivot(index="row", columns="column", values="value")[list(dict.fromkeys(rows["column"]))]
        for rows in by_panel
    )
    figure = plt.figure(figsize=(style.FULL, 3.1))
    left, right = figure.subfigures(1, 2, width_ratios=[1, 1.35], squeeze=False)[0]
    ax = left.subplots()
    image = shares_map(ax, topics.to_numpy(), [f"{t}" for t in topics.index], list(topics.columns))
    ax.set(title="(a) The ten topics", xlabel="word", ylabel="topic")
    left.colorbar(image, ax=ax, shrink=0.85, pad=0.02, aspect=22, label="probability")
    axes = right.subplots(len(bags), 2, sharex="col", sharey="col")
    for k, (group, row) in enumerate(zip(bags.index, axes, strict=True)):
        for cell, values, colour in ((row[0], bags, "#3B6FA0"), (row[1], mixtures, "#7A7A7A")):
            cell.bar(range(len(values.columns)), values.loc[group], width=0.78, color=colour, linewidth=0)
            cell.set_xticks(range(len(values.columns)), list(values.columns), fontsize=6.5)
            cell.tick_params(length=0, labelsize=6.5)
            cell.locator_params(axis="y", nbins=3)
        row[0].set_ylabel(f"group {group}")
        if k == 0:
            row[0].set_title("(b) The four groups: words")
            row[1].set_title("their mixtures")
    axes[-1][0].set_xlabel("word")
    axes[-1][1].set_xlabel("topic")
    tokens = bags.to_numpy().sum(axis=1)
    notes = (
        f"Topic t is uniform on words t to {len(topics)}. Groups of {tokens[0]:,.0f} words (the paper gives no "
        "number), mixtures uniform on the simplex: data=groups4, data.seed=0."
    )
    phi = topics.to_numpy()
    n_words = (phi > 0).sum(axis=1)
    of_first = f"every word has probability {phi[0, 0]:.3g}"
    of_last = f"words of topics 1 to {len(phi)}: {', '.join(map(str, n_words))}"
    judged = {
        "topics": (len(phi), len(phi) == TRUE_K, f"{len(phi)} topics over {phi.shape[1]} words"),
        "first_topic_uniform": (float(phi[0].max()), bool(np.ptp(phi[0]) < 1e-12), of_first),
        "last_topic_one_word": (float(n_words[-1]), bool(n_words[-1] == 1), of_last),
        "groups": (len(bags), len(bags) == 4, f"{len(bags)} groups, {int(bags.to_numpy().sum()):,} words"),
    }
    verdicts = [holds(claim, *judged[claim.metric]) for claim in claims.published_claims("smag-fig2")]
    return drawing.Drawing(figure, table, verdicts, notes)


def shares_map(ax: Axes, values: NDArray[np.float64], rows: Sequence[str], columns: Sequence[str]) -> AxesImage:
    """A map of shares, rows and columns named, on a square-root scale, because many shares are small."""
    image = ax.imshow(values, aspect="auto", cmap=MAP, norm=PowerNorm(0.5, 0, 1), interpolation="nearest")
    ax.set_xticks(range(len(columns)), columns, fontsize=6.5)
    ax.set_yticks(range(len(rows)), rows, fontsize=6.5)
    ax.tick_params(length=0)
    ax.grid(visible=False)
    ax.spines[:].set(visible=True, color="#CCCCCC")
    return image


METHODS = {
    "gibbs": "Gibbs alone",
    "coin": "split-merge, exact, coin",
    "pair": "split-merge, exact, pair",
    "text": "as printed, text",
    "box": "as printed, Algorithm 1",
}
"""Gibbs scans alone, and with the forms of split-merge, in the order of legends and tables."""
FORMS = {"coin": "exact", "text": "as printed"}
"""Forms of split-merge under which claims are judged."""
STYLES: dict[str, dict[str, Any]] = {
    "gibbs": style.look_of("gibbs"),
    "coin": style.look_of("smag", dashed=False),
    "pair": {"color": "#5A3E99", "linestyle": (0, (5, 1.5)), **style.mark("^")},
    "text": {"color": "#D55E00", "linestyle": (0, (4, 1, 1, 1)), **style.mark("s")},
    "box": {"color": "#CC79A7", "linestyle": (0, (1.5, 1)), **style.mark("v")},
}
STARTS = {"one_cluster": "from one topic", "random": "from five random topics"}
SETTINGS = {"groups4": "four groups", "docs200": "200 documents", "nearest": "40 documents (nearest)"}
"""Generated corpora with their hyper-parameters: the paper's, another, and where its claims come nearest."""
TRUE_K = 10


def method_of(run: Run) -> str:
    """Gibbs alone, or the form of split-merge."""
    sampler = run.config["sampler"]
    if sampler["name"] == "gibbs":
        return "gibbs"
    return str(sampler["form"] if sampler["mode"] == "as_printed" else sampler["choice"])


def start_of(run: Run) -> str:
    """The start of a run."""
    return str(run.config["init"] or "random")


def setting_of(run: Run) -> str:
    """Data and model of a generated corpus: ``groups4`` and ``docs200`` as they are, or ``nearest``."""
    return "nearest" if isinstance(run.config["model"]["gamma"], (int, float)) else str(option(run, "data"))


def settings_of(runs: Iterable[Run]) -> list[str]:
    """The settings of runs, in the order of `SETTINGS`."""
    present = set(map(setting_of, runs))
    return [setting for setting in SETTINGS if setting in present]


def describe_setting(runs: Iterable[Run], setting: str) -> tuple[str, str]:
    """Documents, and hyper-parameters, of a setting in words."""
    run = next(run for run in runs if setting_of(run) == setting)
    data, model = run.config["data"], run.config["model"]
    names = {"γ": model["gamma"], "α₀": model["alpha0"], "η": model["eta"]}
    kept = [f"{k} = {str(v).replace('gamma', 'Γ') if isinstance(v, str) else f'{v:g}'}" for k, v in names.items()]
    return f"{run.config['N']} × {data['length']:,} words, Dir({data['concentration']:g})", ", ".join(kept)


def select(runs: Iterable[Run], setting: str, start: str, method: str) -> list[Run]:
    """The runs of a method on a setting from a start, by seed, of the largest number of iterations."""
    candidates = beginnings(runs, setting, start, method)
    longest = max((run.config["iterations"] for run in candidates), default=0)
    return [run for run in candidates if run.config["iterations"] == longest]


def beginnings(runs: Iterable[Run], setting: str, start: str, method: str) -> list[Run]:
    """Return the runs of a setting, start and method, whatever their number of iterations."""
    return pick(r for r in runs if (setting_of(r), start_of(r), method_of(r)) == (setting, start, method))


def reading(setting: str, start: str, method: str) -> str:
    """How the paper was read, for a verdict."""
    return ", ".join([SETTINGS[setting], STARTS[start], *([FORMS[method]] if method in FORMS else [])])


def describe_seeds(runs: Sequence[Run]) -> str:
    """Data sets and chains in words."""
    seeds = len({run.config["seed"] for run in runs})
    chains = max(run.config["chains"] for run in runs)
    return f"{seeds} data sets, {chains} chains on each" if seeds > 1 else f"One data set, {chains} chains"


EVALUATIONS = {"fold_in": "fold-in", "completion": "completion"}
COLUMNS = {"fold_in": "perplexity", "completion": "averaged"}
"""Evaluations drawn: the perplexity of each state, as in the paper; or of probabilities averaged over states."""
AXES = {"iteration": "iteration", "seconds": "sampling time (s)"}
STARTS_OF_FIG5 = {"one_cluster": "from one topic", "random": "from {K0} random topics"}
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
            columns = {"iteration": "iteration", "seconds": "seconds", COLUMNS[where.evaluation]: "value"}
            curve = Curve(run.table(PERPLEXITY, list(columns)).rename(columns=columns))
            self._of.setdefault((where, method_of(run)), {})[run.config["seed"]] = curve

    @property
    def places(self) -> list[Where]:
        """Every evaluation from every start."""
        present = {where for where, _ in self._of}
        return [w for e in EVALUATIONS for s in STARTS_OF_FIG5 if (w := Where(e, s)) in present]

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
        """Return the final perplexity of a split-merge form less Gibbs alone's, by seed; `by_iteration`: the one at
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


def fig5a(runs: Sequence[Run]) -> drawing.Drawing:
    """Held-out perplexity of NIPS abstracts."""
    return _figure("smag-fig5a", runs)


def fig5b(runs: Sequence[Run]) -> drawing.Drawing:
    """Held-out perplexity of 20 Newsgroups."""
    return _figure("smag-fig5b", runs)


def _figure(name: str, runs: Sequence[Run]) -> drawing.Drawing:
    curves = Curves(runs)
    frames = [_lines(curves, where, axis) for where in curves.places for axis in AXES]
    # final differences from Gibbs alone: mean and interval over splits
    final = []
    for start, evaluation, form in product(STARTS_OF_FIG5, EVALUATIONS, FORMS):
        each = curves.differences(Where(evaluation, start), form)
        final.append((f"{evaluation}{DIFFERENCE}", start, form, *overlapping_interval(HELD_OUT)(each), len(each)))
    columns = ["panel", "start", "method", "value", "low", "high", "chains"]
    numbers = pd.concat([*frames, pd.DataFrame(final, columns=columns)], ignore_index=True)
    config, documents = runs[0].config, runs[0].summary["documents"]
    seeds, prior = len({run.config["seed"] for run in runs}), str(config["model"]["gamma"]).replace("gamma", "Γ")
    name_of_data = NAMES.get(option(runs[0], "data"), "generated documents in place of the published ones")
    notes = (
        f"{name_of_data[0].upper()}{name_of_data[1:]}: {documents['documents']:,} documents to learn from, "
        f"{documents['heldout_documents']:,} held out; η = {config['model']['eta']:g}. {seeds} random splits of the "
        "documents, 80 % to 20 %, and on each a chain of each sampler, of the same start, seed and "
        f"{config['budget']:g} s of sampling (evaluations not counted). γ and α₀ ~ {prior}, drawn anew in each "
        "iteration: a proposal (Gibbs alone: none), a full scan. Curves of a split are shifted so that Gibbs alone "
        "ends at its mean over splits. Fold-in: of a state; a document's mixture is estimated from the very words that "
        "are scored, too low for every sampler. The paper gives no method; this is the likely one. Completion: half of "
        "a document predicted from the other half, probabilities averaged over the second half of the states so far. "
        f"Final: mean over the last {LATE:.0%} of the time; small marks: splits; large ones: their mean and its 95 % "
        "interval, for splits that overlap."
    )
    return drawing.Drawing(_picture(numbers, curves), numbers, _verdicts(name, curves), notes)


def _picture(numbers: pd.DataFrame, curves: Curves | None = None) -> Figure:
    """The paper's panel, and below it all; with `curves` each chain is a thin line, and each split a small mark."""
    rows, columns = len(EVALUATIONS), 2 * len(STARTS_OF_FIG5)
    figure, paper, added = drawing.in_parts(2.2, 5.3)
    axes = added.subplots(rows + 1, columns, height_ratios=[1] * rows + [0.62])
    means = numbers[numbers["axis"].notna()]
    printed = means[(means["panel"] == "fold_in") & (means["start"] == "one_cluster") & means["method"].isin(COMPARED)]
    ax = paper.subplots()
    _draw(ax, printed[printed["axis"] == "iteration"], Where("fold_in", "one_cluster"), "iteration", curves)
    ax.set(xscale="linear", xlim=(0, None), ylabel="perplexity")
    for (evaluation, start), of_place in means.groupby(["panel", "start"], sort=False):
        row, first = list(EVALUATIONS).index(evaluation), 2 * list(STARTS_OF_FIG5).index(start)
        for ax, axis in zip(axes[row, first : first + 2], AXES, strict=True):
            _draw(ax, of_place[of_place["axis"] == axis], Where(evaluation, start), axis, curves)
        axes[row, first + 1].sharey(axes[row, first])
        axes[row, first + 1].tick_params(labelleft=False)
        axes[row, first].set_title(_start(curves.runs, start) if curves else STARTS_OF_FIG5[start].replace("{K0} ", ""))
    for row, method in zip(axes, EVALUATIONS.values(), strict=False):
        row[0].set_ylabel(f"perplexity,\n{method}")
    # two panels of twice the width in the place of the last row, each with a scale of its own
    grid = axes[-1, 0].get_gridspec()
    for ax in axes[-1]:
        ax.remove()
    lower = [added.add_subplot(grid[-1, k : k + 2]) for k in range(0, columns, 2)]
    for ax, start in zip(lower, STARTS_OF_FIG5, strict=True):
        # the mean of each difference, and every split where there are curves
        ticks = []
        differences = numbers[numbers["axis"].isna() & (numbers["start"] == start)]
        for x, row in enumerate(differences.itertuples(index=False)):
            evaluation, look = row.panel.removesuffix(DIFFERENCE), STYLES[row.method]
            if curves:
                splits = curves.differences(Where(evaluation, start), row.method)
                ax.plot(np.full(len(splits), x - 0.12), splits, alpha=0.5, **style.mark_alone(look, 0.7))
            ax.plot(x + 0.12, row.value, **style.mark_alone(look, 1.3))
            ax.vlines(x + 0.12, row.low, row.high, linewidth=1.4, color=look["color"])
            ticks.append(f"{EVALUATIONS[evaluation]},\n{FORMS[row.method]}")
        ax.axhline(0, color=style.REFERENCE, linewidth=0.7, linestyle=(0, (4, 3)))
        ax.set_xticks(range(len(ticks)), ticks, fontsize=6.5)
        ax.set_xlim(-0.6, len(ticks) - 0.4)
    lower[0].set_ylabel("final perplexity\n− that of Gibbs")
    lines = [style.entry(label=METHODS[m], linewidth=1.8, **STYLES[m]) for m in SHOWN]
    style.legend(figure, lines)
    each = "Thin: chains; thick: means over splits. Bottom: small marks are splits, large ones means."
    style.footnote(figure, each if curves else "Lines and marks: means over splits.")
    return figure


picture_fig5a = picture_fig5b = _picture


def _start(runs: Sequence[Run], start: str) -> str:
    return STARTS_OF_FIG5[start].format(K0=next(run.config["K0"] for run in runs if start_of(run) == start))


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
    drawing.draw_lines(ax, numbers, "method", "x", STYLES.__getitem__, centre="value", width=1.4)
    ax.set_xscale("log")
    ax.set_xlabel(AXES[axis])
    style.log_ticks(ax.xaxis)


DIFFERENCE = ": final difference from Gibbs alone"


def _verdicts(name: str, curves: Curves) -> list[Verdict]:
    """The claim for every evaluation, start and form; differences are paired by split."""
    every = product(claims.published_claims(name), curves.places, FORMS)
    return [judge(claim, curves, where, form) for claim, where, form in every]


def judge(claim: claims.Claim, curves: Curves, where: Where, form: str) -> Verdict:
    lower = -curves.differences(where, form, claim.metric.endswith("_by_iteration"))
    words = [EVALUATIONS[where.evaluation], _start(curves.runs, where.start), FORMS[form]]
    on = "" if option(curves.runs[0], "data") in NAMES else "generated documents"
    label = f"Gibbs ({curves.level(where):.1f}) − split-merge"
    verdict = by_sign(claim, {label: lower}, ", ".join(words), overlapping_interval(HELD_OUT), "splits")
    # the claim is of split-merge less Gibbs
    return replace(verdict, ours=-verdict.ours, low=-verdict.high, high=-verdict.low, on=on)
