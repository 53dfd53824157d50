"""Pictures of runs of tables."""

from dataclasses import replace

from splitmerge_cli.analysis.plots import run as runs_of_all_kinds
from splitmerge_cli.analysis.plots.races import Picture
from splitmerge_cli.kinds.tables.plots import columns, points

PICTURES = {
    "credible_ball": replace(runs_of_all_kinds.PICTURES["credible_ball"], draw=points.credible_ball),
    "points": Picture(
        "Where are the clusters?",
        "scatter plot of two columns, marks and colours by cluster, with the line or ellipse fitted to each",
        points.can_draw,
        points.clusters,
        in_column=True,
    ),
    "cluster_means": Picture(
        "What is each cluster like?",
        "heat map of columns by cluster; the colour of a mean or share is its distance from all items",
        columns.can_draw,
        columns.cluster_means,
    ),
    "pairs": Picture(
        "In which columns do the clusters differ most?",
        "scatter plots of the columns that the summary names, against each other; stacked histograms on the diagonal",
        columns.can_pair,
        columns.pairs,
    ),
    "projection": Picture(
        "Are the clusters apart?",
        "scatter plots of all items along two principal components and along two directions that separate the clusters",
        columns.can_draw,
        columns.projection,
    ),
}
"""Pictures of runs of tables, by name."""
