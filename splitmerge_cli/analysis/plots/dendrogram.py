"""The levels of a run's clusters: which are merged first, and what that costs."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from splitmerge_cli.analysis.alternatives import dendrogram_of
from splitmerge_cli.analysis.plots import uncertainty
from splitmerge_cli.analysis.plots.runs import option, subject
from splitmerge_cli.analysis.plots.style import FULL, REFERENCE, colour_of, count_of, footnote
from splitmerge_cli.runs.clusterings import interval_of_run
from splitmerge_cli.runs.store.read import Run

MOST_LEAVES = 40
"""Leaves at most: of more clusters the level with so many is drawn."""
ROW = 0.19
"""Height of a leaf, in inches."""
NUMBER: dict[str, Any] = {
    "va": "center",
    "fontsize": 6.5,
    "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 0.8},
}


def can_draw(run: Run) -> bool:
    """Whether a finished run lists at least two clusters of its items, and partitions to hold them against."""
    return not run.has_topics and uncertainty.can_draw(run) and run.summary["point_estimate"]["n_clusters"] > 1


def dendrogram(run: Run) -> Figure:
    """Draw how clusters are merged, over the expected distance from the posterior."""
    levels = dendrogram_of(run)
    K = levels.n_clusters
    begun = max(0, K - MOST_LEAVES)
    # merging may bring a partition nearer, and lines do not go back
    height = np.maximum.accumulate(levels.expected_loss)
    sizes = np.append(np.bincount(levels.labels), np.zeros(K - 1, dtype=np.int64))
    members: list[list[int]] = [[k] for k in range(K)]
    for t, (a, b) in enumerate(levels.merges):
        members.append(members[a] + members[b])
        sizes[K + t] = sizes[a] + sizes[b]
    gone = set(levels.merges[:begun].ravel().tolist())
    leaves = [node for node in range(K + begun) if node not in gone]
    order = [node for node in _order_leaves(levels.merges, 2 * K - 2, set(leaves)) if node in leaves]
    place = {node: float(at) for at, node in enumerate(order)}
    start = dict.fromkeys(order, height[begun])
    figure, ax = plt.subplots(figsize=(FULL * 0.8, 1.6 + ROW * len(order)))
    colour = colour_of(option(run, "sampler"))
    low, high = interval_of_run(run)
    if low < K:
        edges = [height[max(0, K - high)], height[min(K - 1, K - low + 1)]]
        said = f"{low} to {high} clusters, 95 % of the posterior"
        ax.axvspan(*edges, color=REFERENCE, alpha=0.12, linewidth=0, label=said)
        ax.legend(loc="lower right", fontsize=6.5)
    for t in range(begun, K - 1):
        a, b = levels.merges[t].tolist()
        x = height[t + 1]
        for node in (a, b):
            ax.plot([start[node], x], [place[node]] * 2, color=colour, linewidth=1.1, solid_capstyle="projecting")
        ax.plot([x, x], [place[a], place[b]], color=colour, linewidth=1.1)
        place[K + t], start[K + t] = (place[a] + place[b]) / 2, x
        ax.annotate(f"{K - t - 1}", (x, place[K + t]), (2.5, 0), textcoords="offset points", **NUMBER)
    names = [_name_leaf(members[node], int(sizes[node])) for node in order]
    ax.set_yticks(range(len(order)), names, fontsize=6.5)
    ax.set(ylim=(len(order) - 0.4, -0.6), xlabel="expected variation of information (nats)")
    ax.margins(x=0.04)
    ax.grid(False, axis="y")
    ax.set_title(f"Which clusters are merged first: {subject(run)}")
    footnote(
        figure,
        "Each merge is the one after which the partition is nearest to the posterior; its number is that of the\n"
        f"clusters left. Leaves: {count_of(len(order), 'cluster')} with their items; numbers as in clusters.csv.",
    )
    return figure


def _order_leaves(merges: NDArray[np.int64], top: int, leaves: set[int]) -> list[int]:
    """Nodes below the last merge, so that what is merged stands together; of two the larger number first."""
    K, waiting, found = len(merges) + 1, [top], []
    while waiting:
        node = waiting.pop()
        if node in leaves:
            found.append(node)
        else:
            waiting.extend(sorted(merges[node - K].tolist()))
    return found


def _name_leaf(clusters: list[int], size: int) -> str:
    """Numbers of the clusters in a leaf, a few at most, and how many items they have."""
    shown = "+".join(map(str, sorted(clusters)[:3])) + "+…" * (len(clusters) > 3)
    return f"{shown} ({count_of(size, 'item')})"
