"""The calibration curve by which ``model.power=auto`` took a power."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from splitmerge_cli.analysis.plots.runs import option, subject
from splitmerge_cli.analysis.plots.style import FULL, REFERENCE, colour_of
from splitmerge_cli.runs.store.read import Run


def can_draw(run: Run) -> bool:
    """Whether the power of a finished run was taken from a calibration curve."""
    return run.is_done and "model.power" in (run.summary.get("chosen") or {})


def calibration(run: Run) -> Figure:
    """Draw fit over number of clusters, a point for each power."""
    chosen = run.summary["chosen"]
    curve = pd.DataFrame(chosen["model.power"])
    figure, ax = plt.subplots(figsize=(FULL * 0.6, 3.0), layout="constrained")
    colour = colour_of(option(run, "sampler"))
    ax.plot(curve["clusters"], curve["fit"], color=colour, marker="o", markersize=3.5, linewidth=1.0)
    chosen_point = curve[curve["taken"]]
    ax.plot(chosen_point["clusters"], chosen_point["fit"], "o", color="none", markeredgecolor=REFERENCE, markersize=9)
    least, labelled = 0.1 * (curve["clusters"].max() - curve["clusters"].min()), list[float]()
    for _, row in curve.sort_values("taken", ascending=False, kind="stable").iterrows():
        # points of much the same number of clusters lie on top of each other
        if all(abs(row["clusters"] - place) > least for place in labelled):
            place = (row["clusters"], row["fit"])
            ax.annotate(f"{row['power']:g}", place, (5, -10), textcoords="offset points", fontsize=6.5)
            labelled.append(row["clusters"])
    ax.margins(0.08, 0.1)
    ax.set(xlabel="clusters with at least 2 % of the rows", ylabel="held-out log density, nats a row")
    ax.set_title(f"{subject(run)}: powers on {chosen['rows']:,} rows", fontsize=7.5)
    return figure
