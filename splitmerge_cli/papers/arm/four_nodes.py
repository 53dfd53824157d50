"""Exact figures of Herlau et al. 2014: Figures 1 and 2, from the compiled walk, plate by plate, and Figure 3, how often
each partition of the 4-node network is visited.

`smcmc reproduce` stores these tables; `smcmc plot` draws from them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import NDArray

from splitmerge_cli.analysis.plots.races import pick
from splitmerge_cli.analysis.plots.style import FULL, REFERENCE, entry, legend, look_of, mark, mark_alone, title_of
from splitmerge_cli.config import RunSpecification, component
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.papers.claims import published_claims
from splitmerge_cli.papers.drawing import Drawing
from splitmerge_cli.papers.verdicts import Verdict, by_noise, exactly
from splitmerge_cli.runs.initial import dataset_of
from splitmerge_cli.runs.store.read import Run
from splitmerge_cli.verify import transitions
from splitmerge_cli.verify.enumerate import State, irm_log_weight, mixture_states, normalise, state_of


def _dataset(spec: RunSpecification) -> Dataset:
    dataset = spec.data.function(**spec.data.options)
    assert isinstance(dataset, Dataset)
    return dataset


def _model(spec: RunSpecification, dataset: Dataset) -> Any:
    return spec.model.target.from_data(dataset, **spec.model.options)


def plates(spec: RunSpecification) -> pd.DataFrame:
    """Figure 1: a move, and the move that undoes it, by the data, model, sampler and seed of the experiment.

    Columns way (forth, back), plate, item, label (-1: not placed; in the refinement the block of c, -1 outside), i, j,
    log_ratio.
    """
    forth, back = transitions.find_example(_model(spec, _dataset(spec)), spec.samplers[0], spec.seed)
    return pd.concat([_rows("forth", forth), _rows("back", back)], ignore_index=True)


def _rows(way: str, move: transitions.Move) -> pd.DataFrame:
    i, j = move.pair
    frames = [
        pd.DataFrame({"way": way, "plate": name, "item": np.arange(len(labels)), "label": labels})
        for name, labels in move.plates
    ]
    return pd.concat(frames).assign(i=i, j=j, log_ratio=move.log_ratio)


THREE: tuple[State, tuple[int, ...]] = (((0, 0, 1), 2), (0, 1, 1))
"""(a): {1,2},{3}, and where both paths lead: {1},{2,3}."""
FOUR: tuple[State, tuple[int, ...]] = (((0, 0, 0, 1), 2), (0, 1, 2, 0))
"""(b): {1,2,3},{4}; a split of i = 1 and j = 2, with h = 3 and k = 4; and {1,4},{2},{3}."""

Step = tuple[int, tuple[int, ...], Sequence[tuple[int, ...]]]
"""The item that is updated, where it goes, and all its options; states as labels."""


def _a(first: tuple[int, ...]) -> list[Step]:
    """Updates of items 2 and 3: 2 goes to `first`, 3 joins it."""
    second = [(0, 1, 0), (0, 1, 1), (0, 1, 2)]
    return [(1, first, [(0, 0, 1), (0, 1, 1), (0, 1, 2)]), (2, (0, 1, 1), second)]


def _b(first: tuple[int, ...], stays: tuple[int, ...]) -> list[Step]:
    """Updates of h = 3 and k = 4: 3 goes to `first`, where 4 may stay, or go to i = 1 or j = 2."""
    options = [(0, 1, 0, 2), (0, 1, 1, 2), (0, 1, 2, 2), (0, 1, 2, 3)]
    return [(2, first, options), (3, FOUR[1], [stays, (0, 1, 2, 0), (0, 1, 2, 1)])]


PATHS = {
    ("a", "upper"): (THREE[0], _a((0, 1, 2))),
    ("a", "lower"): (THREE[0], _a((0, 1, 1))),
    ("b", "upper"): (FOUR[0], _b((0, 1, 2, 3), (0, 1, 2, 3))),
    ("b", "lower"): (FOUR[0], _b((0, 1, 2, 2), (0, 1, 2, 2))),
}
"""The paths of Figure 2, by panel."""


def paths(spec: RunSpecification) -> pd.DataFrame:
    """Figure 2: two paths to one partition, twice, on the experiment's network of four nodes; of panel (a) its first
    three.

    Columns panel, path (upper, lower; of (b) also `compiled`: the probability with which the compiled walk of a split
    of items 1 and 2 proposes the end), step, item (from 1), start, end (labels as text), probability.
    """
    dataset = _dataset(spec)
    rows = []
    for (panel, path), (start, steps) in PATHS.items():
        n = len(start[0])
        part = Dataset("part", "graph", dataset.values[:n][:, :n])
        model, state = _model(spec, part), start[0]
        for number, (item, end, options) in enumerate(steps, start=1):
            p = transitions.option_probabilities(model, options)[list(options).index(end)]
            rows.append((panel, path, number, item + 1, _text(state), _text(end), float(p)))
            state = end
    p = transitions.proposal_probability(_model(spec, dataset), component("sampler", "sarm"), *FOUR, (0, 1))
    rows.append(("b", "compiled", 1, 0, _text(FOUR[0][0]), _text(FOUR[1]), p))
    return pd.DataFrame(rows, columns=["panel", "path", "step", "item", "start", "end", "probability"])


def _text(labels: Sequence[int]) -> str:
    return " ".join(map(str, labels))


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
        partitions, times = np.unique(labels, axis=0, return_counts=True)
        counts = np.zeros(len(states))
        for row, n in zip(partitions, times, strict=True):
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
    frequency_by_method = {m: frequencies(_of_method(runs, m), names) for m in METHODS if _of_method(runs, m)}
    blocks = ["|".join(_blocks(states[k][0])) for k in order]
    first = next(iter(frequency_by_method.values()))
    distances = "; ".join(
        f"{_name(m)} {transitions.total_variation(f.mean, exact):.4f} (noise {f.noise:.4f})"
        for m, f in frequency_by_method.items()
    )
    notes = (
        f"Partitions of the nodes 1 to 4 (edges 1-2, 1-3, 1-4, 3-4) by exact probability. Samplers alone, "
        f"{len(first.restarts)} restarts of {first.chains} chains of {first.iterations:,} iterations. Below: "
        f"frequency minus exact probability, ± two standard errors over restarts. "
        f"Total variation from the exact distribution: {distances}."
    )
    plotted = pd.concat(
        [
            pd.DataFrame(
                {"partition": blocks, "series": _name(m), "probability": f.mean[order], "error": f.error[order]}
            )
            for m, f in frequency_by_method.items()
        ]
        + [pd.DataFrame({"partition": blocks, "series": "exact", "probability": exact[order]})],
        ignore_index=True,
    )
    return Drawing(picture_fig3(plotted), plotted, _fig3_verdicts(frequency_by_method, exact), notes)


def picture_fig3(numbers: pd.DataFrame) -> Figure:
    """Bars of the exact probabilities with a mark for each sampler, and below the differences."""
    series = dict(list(numbers.groupby("series", sort=False)))
    exact = series.pop("exact")["probability"].to_numpy()
    population = {"color": "#E69F00"} | mark("v")
    looks = {_name(m): look_of(METHODS[m][0]) | (population if m == "population" else {}) for m in METHODS}
    figure, (above, below) = plt.subplots(2, 1, figsize=(FULL, 4.4), sharex=True, height_ratios=[1, 1.5])
    places = np.arange(len(exact))
    above.bar(places, exact, width=0.86, color="#dddddd", zorder=1)
    below.axhline(0, color=REFERENCE, linewidth=0.7)
    below.vlines(places[1:] - 0.5, 0, 1, color="#e6e6e6", linewidth=0.6, transform=below.get_xaxis_transform())
    shift = np.linspace(-0.3, 0.3, len(series))
    for x, (name, rows) in zip(shift, series.items(), strict=True):
        look, frequency = mark_alone(looks[name]), rows["probability"].to_numpy()
        above.plot(places + x, frequency, **look)
        below.errorbar(places + x, frequency - exact, 2 * rows["error"].to_numpy(), elinewidth=0.9, **look)
    below.set_xticks(places, numbers["partition"][: len(places)], rotation=45, ha="right", fontsize=6.5)
    above.set(ylabel="probability", xlim=(-0.6, len(places) - 0.4))
    below.set_ylabel("frequency − exact,\n± two standard errors")
    handles = [entry(label=name, **mark_alone(looks[name])) for name in series]
    legend(figure, [Patch(color="#dddddd", label="exact probability"), *handles])
    return figure


def _of_method(runs: Sequence[Run], method: str) -> list[Run]:
    sampler = METHODS[method][0]
    here = pick(runs, sampler=sampler)
    if sampler != "arm":
        return here
    return pick(here, sampler__adaptation="population" if method == "population" else "paper")


def _name(method: str) -> str:
    return METHODS[method][1] or title_of(method)


def _blocks(labels: Sequence[int]) -> list[str]:
    """The blocks of a partition, items numbered from 1."""
    return ["".join(str(i + 1) for i, k in enumerate(labels) if k == block) for block in range(max(labels) + 1)]


def _fig3_verdicts(frequency_by_method: dict[str, Frequencies], exact: NDArray[np.float64]) -> list[Verdict]:
    verdicts = []
    for claim in published_claims("arm-fig3"):
        if claim.metric == "partitions":
            verdicts.append(exactly(claim, len(exact)))
            continue
        for method, frequency in frequency_by_method.items():
            if METHODS[method][0] != claim.sampler:
                continue
            words = "adaptation: population" if method == "population" else ""
            away = transitions.total_variation(frequency.mean, exact)
            verdicts.append(by_noise(claim, frequency.restarts, exact, away, frequency.noise, words))
    return verdicts
