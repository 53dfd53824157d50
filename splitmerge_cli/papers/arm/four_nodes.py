"""Figure 3: how often each partition of the 4-node network is visited."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import NDArray

from splitmerge_cli.analysis.plots.runs import pick
from splitmerge_cli.analysis.plots.style import FULL, REFERENCE, entry, legend, look_of, mark, mark_alone, title_of
from splitmerge_cli.papers.claims import published_claims
from splitmerge_cli.papers.drawing import Drawing
from splitmerge_cli.papers.verdicts import Verdict, by_noise, exactly
from splitmerge_cli.runs.store.read import Run
from splitmerge_cli.runs.stored import dataset_of
from splitmerge_cli.verify.enumerate import irm_log_weight, mixture_states, normalise, state_of
from splitmerge_cli.verify.transitions import total_variation


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
        f"{_name(m)} {total_variation(f.mean, exact):.4f} (noise {f.noise:.4f})" for m, f in frequency_by_method.items()
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
    looks = {_name(method): _look(method) for method in METHODS}
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


def _look(method: str) -> dict[str, Any]:
    """Colour and marker."""
    return look_of(METHODS[method][0]) | ({"color": "#E69F00"} | mark("v") if method == "population" else {})


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
            away = total_variation(frequency.mean, exact)
            verdicts.append(by_noise(claim, frequency.restarts, exact, away, frequency.noise, words))
    return verdicts
