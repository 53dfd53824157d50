"""Pictures of runs of networks."""

from splitmerge_cli.analysis.plots.runs import Picture
from splitmerge_cli.kinds.networks.plots import network

PICTURES = {
    "network": Picture(
        "Which nodes have the same ties?",
        "matrix of edges sorted by cluster, for each layer; the network with a colour and a mark for each cluster",
        lambda run: run.is_done,
        network.clusters,
    ),
    "blocks": Picture(
        "Which clusters are tied to which?",
        "clusters as circles, with lines or arrows between those that have more edges than all pairs",
        lambda run: run.is_done,
        network.block_graph,
    ),
}
"""Pictures of runs of networks, by name."""
