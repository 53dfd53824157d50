"""Points of two columns, the clusters found in them, and what is fitted to each cluster."""

from collections.abc import Callable, Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse
from numpy.typing import ArrayLike

from splitmerge_cli.analysis.plots import uncertainty
from splitmerge_cli.analysis.plots.races import option, subject
from splitmerge_cli.analysis.plots.style import (
    CHAINS,
    FULL,
    MARKERS,
    Points,
    by_size,
    footnote,
    looks_of,
    numbers_by_size,
    plain_text,
    scatter,
    style_of,
    write_numbers,
)
from splitmerge_cli.runs import grouping, initial
from splitmerge_cli.runs.store.read import Run

UNSURE = 0.8
"""Certainty of an item below which its mark is open."""
DEVIATIONS = 2.0
"""Standard deviations that an ellipse spans to each side."""


def ridge(points: Points, sigma0: float, sigma1: float) -> tuple[float, float]:
    """Posterior mean of intercept and slope given the points ``[n, 2]`` of a line, whose prior is N(0, sigma0^2 I).

    Noise of standard deviation `sigma1`; with an unknown variance (``noise=nig``) the mean is the same. Source: the
    table of `docs/derivations.md`, "Models of lines and Gaussians".
    """
    X = np.column_stack([np.ones(len(points)), points[:, 0]])
    precision = X.T @ X + (sigma1 / sigma0) ** 2 * np.eye(2)
    intercept, slope = np.linalg.solve(precision, X.T @ points[:, 1])
    return float(intercept), float(slope)


def segment(points: Points, intercept: float, slope: float) -> Points:
    """The two ends ``[2, 2]`` of the part of a line next to the points: inside the box around them.

    A line that misses the box is drawn over the range of x.
    """
    (left, bottom), (right, top) = points.min(axis=0), points.max(axis=0)
    ends = np.array([left, right])
    if slope:
        low, high = sorted([(bottom - intercept) / slope, (top - intercept) / slope])
        if max(left, low) < min(right, high):
            ends = np.array([max(left, low), min(right, high)])
    return np.column_stack([ends, intercept + slope * ends])


def fitted_lines(ax: Axes, points: Points, labels: ArrayLike, model: Mapping[str, Any]) -> None:
    """Draw the fitted line of every cluster with two points or more, in its colour, with its marker at the ends."""
    for rank, items in enumerate(by_size(labels)):
        if len(items) > 1:
            colour, marker = style_of(rank)
            ends = segment(points[items], *ridge(points[items], model["sigma0"], model["sigma1"]))
            dashes = CHAINS[rank // len(MARKERS) % len(CHAINS)]
            ax.plot(*ends.T, color=colour, linewidth=1.5, marker=marker, markersize=6, linestyle=dashes, zorder=4)


def ellipses(ax: Axes, points: Points, labels: ArrayLike, model: dict[str, Any]) -> None:
    """Draw two standard deviations of every cluster with three points or more, shaped as the model allows; points with
    a missing cell do not count."""
    for rank, items in enumerate(by_size(labels)):
        placed = points[items][~np.isnan(points[items]).any(axis=1)]
        if len(placed) > 2:
            colour, _ = style_of(rank)
            covariance = np.cov(placed.T)
            if model["covariance"] != "full":
                covariance = np.diag(np.diag(covariance))
            if model["covariance"] == "iso":
                covariance = np.eye(2) * np.trace(covariance) / 2
            variances, axes = np.linalg.eigh(covariance)
            width, height = 2 * DEVIATIONS * np.sqrt(np.maximum(variances, 0))
            angle = np.degrees(np.arctan2(axes[1, 0], axes[0, 0]))
            place = placed.mean(axis=0)
            ax.add_patch(Ellipse(place, width, height, angle=angle, fill=False, edgecolor=colour, lw=1.4, zorder=4))


FITS: dict[str, tuple[Callable[[Axes, Points, ArrayLike, dict[str, Any]], None], str]] = {
    "lines": (fitted_lines, "Lines: posterior mean given the points of the cluster."),
    "gaussian": (ellipses, f"Ellipses: {DEVIATIONS:g} standard deviations of the points of the cluster."),
}
"""Drawing over the clusters of a model, and the note that explains it."""


def can_draw(run: Run) -> bool:
    """Whether a run is finished and its items are points in two dimensions, not sparse ones."""
    if not run.is_done or option(run, "model") not in FITS:
        return False
    x = initial.dataset_of(run).values
    return isinstance(x, np.ndarray) and x.shape[1] == 2


def clusters(run: Run) -> Figure:
    """Draw the points of a run in the colours of its point estimate, with what is fitted to each cluster."""
    dataset = initial.dataset_of(run)
    estimate = run.summary["point_estimate"]
    labels = np.array(estimate["labels"])
    figure, ax = plt.subplots(figsize=(FULL, 5.4))
    x = np.asarray(dataset.values, dtype=np.float64)
    unsure = run.clusters()["certainty"].to_numpy(dtype=float) < UNSURE
    scatter(ax, x, labels, size=14.0, unsure=unsure, looks=looks_of(run, labels))
    draw, caption = FITS[option(run, "model")]
    if dataset.items is not None and dataset.unit_names is not None:
        # from left to right, in the colour of the cluster
        colour_of = {int(labels[items[0]]): style_of(rank)[0] for rank, items in enumerate(by_size(labels))}
        for unit in np.unique(dataset.items):
            rows = np.flatnonzero(dataset.items == unit)
            ends = x[rows[np.argsort(x[rows, 0], kind="stable")]].T
            ax.plot(*ends, color=colour_of[int(labels[rows[0]])], linewidth=0.6, alpha=0.5, zorder=2)
        caption += " Thin lines join the points of a unit."
    in_clusters = slice(None) if (is_apart := grouping.rows_apart(labels, run.summary)) is None else ~is_apart
    draw(ax, x[in_clusters], labels[in_clusters], run.config["model"])
    placed = x[~np.isnan(x).any(axis=1)]
    if absent := len(x) - len(placed):
        caption += f" {absent} point{'s' * (absent > 1)} with a missing cell {'are' if absent > 1 else 'is'} not drawn."
    spans = np.ptp(placed, axis=0) if len(placed) else np.zeros(2)
    # one unit is as long on both axes, unless the picture would be a strip
    if spans.min() > 0 and spans.max() / spans.min() < 4:
        ax.set_aspect("equal", adjustable="datalim")
    names = dataset.column_titles
    ax.set(xlabel=plain_text(names[0]), ylabel=plain_text(names[1]))
    ax.grid(False)
    ax.set_title(f"{subject(run)}: {grouping.count_listed(labels, run.summary)}")
    caption += " Crosses: alone in a cluster." * bool((np.bincount(labels) == 1).any())
    marks = f" Open marks: certainty below {UNSURE:g}." if unsure.any() else ""
    footnote(
        figure,
        f"Numbers: clusters, as in clusters.csv. Estimate: {plain_text(estimate['criterion'])}.\n{caption}{marks}",
    )
    figure.canvas.draw()
    write_numbers(ax, x, labels, numbers_by_size(run, labels))
    return figure


def credible_ball(run: Run) -> Figure:
    """Draw the credible ball, points of two columns at their places."""
    places = np.asarray(initial.dataset_of(run).values, dtype=np.float64) if can_draw(run) else None
    return uncertainty.credible_ball(run, places)
