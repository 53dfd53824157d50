"""Figure 3: distributions of the scores over data sets and seeds."""

from collections.abc import Sequence
from itertools import pairwise

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from splitmerge_cli.analysis.plots.style import FULL, REFERENCE, colour_of, entry
from splitmerge_cli.diagnostics.intervals import mean_interval
from splitmerge_cli.papers.claims import published_claims
from splitmerge_cli.papers.drawing import Drawing
from splitmerge_cli.papers.triadic.runs import (
    CLAIMED,
    METRICS,
    Scores,
    colour_key,
    describe_data,
    name_data,
    name_sets,
    select_runs,
)
from splitmerge_cli.papers.verdicts import by_sign
from splitmerge_cli.runs.store.read import Run

ORDER = ("dyadic", "neal8", "triadic")
SHORT_NAMES = ("dyadic", "auxiliary\nvariables", "triadic")


def fig3(runs: Sequence[Run]) -> Drawing:
    """Violins of the three scores of the three samplers."""
    scores = Scores([r for method in ORDER for r in select_runs(runs, "main", method)])
    notes = f"Last states. {describe_data(runs)}, σ₁ = 1, lines integrated out. Numbers: means."
    columns = ["method", "set", "chain", *(f"{score}_last" for score in METRICS)]
    numbers = scores.chains[columns]
    claims = {c.metric: c for c in published_claims("triadic-fig3")}
    verdicts = []
    for score in METRICS:
        rises = {f"{b} - {a}": scores.difference("main", b, a, f"{score}_last") for a, b in pairwise(ORDER)}
        verdicts.append(by_sign(claims[f"{CLAIMED[score]}_rises"], rises, unit=name_sets(runs)))
    gains = {score: scores.difference("main", "triadic", "dyadic", f"{score}_last") for score in METRICS}
    more = {f"gain in ARI - gain in {METRICS[s]}": gains["ari"] - gains[s] for s in ("purity", "rand")}
    verdicts.append(by_sign(claims["adjusted_rand_index_gains_most"], more, unit=name_sets(runs)))
    return Drawing(picture_fig3(numbers), numbers, name_data(runs, verdicts), notes)


def picture_fig3(numbers: pd.DataFrame) -> Figure:
    """A panel for each score with a violin for each sampler."""
    paper = {(c.sampler, c.metric): c.value for c in published_claims("triadic-table1")}
    figure, axes = plt.subplots(1, len(METRICS), figsize=(FULL, 2.9), sharey=True)
    for ax, (score, name) in zip(axes, METRICS.items(), strict=True):
        means: list[str] = []
        for k, method in enumerate(ORDER):
            rows = numbers[numbers["method"] == method]
            chains = rows[f"{score}_last"].to_numpy(float)
            colour = colour_of(colour_key(method))
            (body,) = ax.violinplot(chains, positions=[k], widths=0.85, showextrema=False)["bodies"]
            body.set(facecolor=colour, alpha=0.55, edgecolor=colour)
            mean, low, high = mean_interval(rows.groupby("set")[f"{score}_last"].mean())
            ax.plot([k, k], [low, high], color=REFERENCE, linewidth=1.2, zorder=3)
            ax.plot(k, mean, "o", color=REFERENCE, markersize=4, zorder=3)
            ax.plot(k + 0.22, paper[method, CLAIMED[score]], "D", color=REFERENCE, markerfacecolor="white", zorder=4)
            means.append(f"{mean:.3f}")
        ax.set_title(name)
        ax.set_xticks(range(len(ORDER)), [f"{m}\n{n}" for m, n in zip(means, SHORT_NAMES, strict=True)])
        ax.set_xlim(-0.6, len(ORDER) - 0.4)
    axes[0].set_ylim(min(0.0, axes[0].get_ylim()[0]), 1.02)
    handles = [
        entry(color=REFERENCE, marker="o", label="mean, 95 % interval over data sets"),
        entry(color=REFERENCE, marker="D", markerfacecolor="white", linestyle="", label="mean in the paper"),
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=2)
    return figure
