"""The levels of a run's clusters: which are merged first, and what that costs."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from scipy.cluster import hierarchy

from splitmerge_cli.analysis.alternatives import dendrogram_of
from splitmerge_cli.analysis.plots import uncertainty
from splitmerge_cli.analysis.plots.runs import option, subject
from splitmerge_cli.analysis.plots.style import FULL, REFERENCE, colour_of, footnote
from splitmerge_cli.diagnostics.cluster_table import count_of, number_clusters, plural_of
from splitmerge_cli.runs.answers import answers_of, kind_of
from splitmerge_cli.runs.clusterings import interval_of_run
from splitmerge_cli.runs.grouping import nouns
from splitmerge_cli.runs.store.read import Run

MOST_LEAVES = 40
"""Most leaves. With more clusters the level with so many is drawn."""
ROW = 0.19
"""Height of a leaf, in inches."""
NUMBER: dict[str, Any] = {
    "va": "center",
    "fontsize": 6.5,
    "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 0.8},
}


def can_draw(run: Run) -> bool:
    """Whether a finished run lists at least two clusters of its items, and partitions to compare them with."""
    merged = not answers_of(kind_of(run)).no_levels and uncertainty.can_draw(run)
    return merged and run.summary["point_estimate"]["n_clusters"] > 1


def dendrogram(run: Run) -> Figure:
    """Draw how clusters are merged, over the expected distance from the posterior."""
    levels = dendrogram_of(run)
    K = levels.n_clusters
    begun = max(0, K - MOST_LEAVES)
    # merging may bring a partition nearer, and lines do not go back
    height = np.maximum.accumulate(levels.expected_loss)
    members: list[list[int]] = [[k] for k in range(K)]
    for a, b in levels.merges:
        members.append(members[a] + members[b])
    # the number of a merge stands for its height, which others may have, too
    links = np.column_stack([levels.merges, np.arange(1, K), list(map(len, members[K:]))]).astype(np.float64)
    tree = hierarchy.dendrogram(links, MOST_LEAVES, "lastp", no_plot=True)
    order = tree["leaves"]
    figure, ax = plt.subplots(figsize=(FULL * 0.8, 1.6 + ROW * len(order)))
    colour = colour_of(option(run, "sampler"))
    low, high = interval_of_run(run)
    if low < K:
        edges = [height[max(0, K - high)], height[min(K - 1, K - low + 1)]]
        label = f"{low} to {high} clusters, 95 % of the posterior"
        ax.axvspan(*edges, color=REFERENCE, alpha=0.12, linewidth=0, label=label)
        ax.legend(loc="lower right", fontsize=6.5)
    for x, y in zip(np.array(tree["dcoord"], np.int64), np.array(tree["icoord"]) / 10 - 0.5, strict=True):
        ax.plot(height[np.maximum(x, begun)], y, color=colour, linewidth=1.1)
        place = (height[x[1]], y[1:3].mean())
        ax.annotate(f"{K - x[1]}", place, (2.5, 0), textcoords="offset points", **NUMBER)
    item, sizes = nouns(run.summary)[0], [int(np.isin(levels.labels, node).sum()) for node in members]
    numbers = [number_clusters(np.array(node), run.first_cluster).tolist() for node in members]
    names = [_name_leaf(numbers[node], count_of(sizes[node], item)) for node in order]
    ax.set_yticks(range(len(order)), names, fontsize=6.5)
    ax.set(ylim=(len(order) - 0.4, -0.6), xlabel="expected variation of information (nats)")
    ax.margins(x=0.04)
    ax.grid(False, axis="y")
    ax.set_title(f"Which clusters are merged first: {subject(run)}")
    footnote(
        figure,
        "Each merge leaves the partition nearest to the posterior; its number counts the\n"
        f"clusters left. Leaves: {count_of(len(order), 'cluster')} with their {plural_of(item)}; numbers as in "
        "clusters.csv.",
    )
    return figure


def _name_leaf(clusters: list[int], size: str) -> str:
    """Numbers of the clusters in a leaf, a few at most, and how many items they have."""
    shown = "+".join(map(str, sorted(clusters)[:3])) + "+…" * (len(clusters) > 3)
    return f"{shown} ({size})"
