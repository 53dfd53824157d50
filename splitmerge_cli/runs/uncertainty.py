"""Uncertainty of a run's point estimate, as its files describe it."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from splitmerge_cli.data.arrow import array_of
from splitmerge_cli.diagnostics.around_estimate import Bound, credible_ball
from splitmerge_cli.diagnostics.similarity import co_clustering, membership
from splitmerge_cli.runs.store import schema
from splitmerge_cli.runs.store.store import RunStore

LEVEL = 0.95
"""Probability of the credible ball."""
MOST_ITEMS = 2_000
"""Items up to which the co-clustering of every pair is stored: 2 million rows."""


def membership_of(
    labels: NDArray[np.int32], sampled: NDArray[np.int32], items: NDArray[np.int32] | None = None
) -> dict[str, NDArray[Any]]:
    """The columns `schema.MEMBERSHIP` of ``clusters.csv``, each ``[N]``, given sampled partitions ``[M, N]`` and, where
    some rows are one item, the item of each row."""
    certainty = membership(sampled, labels, items)
    return dict(
        zip(schema.MEMBERSHIP, [certainty.certainty, certainty.second, certainty.second_probability], strict=True)
    )


def credible_ball_of(labels: NDArray[np.int32], sampled: NDArray[np.int32], listed: bool) -> dict[str, Any]:
    """Summary of the credible ball around the estimate; `listed`: with the labels of its bounds."""
    ball = credible_ball(labels, sampled, LEVEL)

    def describe_bound(bound: Bound) -> dict[str, Any]:
        return {
            "n_clusters": bound.n_clusters,
            "distance": bound.distance,
            "equals": len(bound.partitions),
            **({"labels": bound.partitions[0].tolist()} if listed else {}),
        }

    bounds = {"horizontal": ball.horizontal, "vertical_upper": ball.upper, "vertical_lower": ball.lower}
    return {name: getattr(ball, name) for name in ("loss", "level", "radius", "share", "partitions")} | {
        name: describe_bound(bound) for name, bound in bounds.items()
    }


def write_similarity(store: RunStore, sampled: NDArray[np.int32]) -> None:
    """Write the co-clustering of every pair of at most `MOST_ITEMS` items, pairs that were never together left out."""
    if sampled.shape[1] > MOST_ITEMS:
        return
    together = np.triu(co_clustering(sampled), k=1)
    row, other = np.nonzero(together)
    columns = schema.recorded_columns(schema.SIMILARITY)
    each = zip((row + 1, other + 1, together[row, other]), columns, strict=True)
    arrays = [array_of(values, field.type) for values, field in each]
    store.write_parts(schema.SIMILARITY, [pa.Table.from_arrays(arrays, schema=columns)])
