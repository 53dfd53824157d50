"""Columns that tell the clusters apart, by the draws of a run with ``model.select``."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from splitmerge_cli.runs.store import schema

MOST_NAMES = 10
"""Columns that are named in a line."""


def find_informative(path: Path, columns: Sequence[str], iterations: Sequence[int]) -> dict[str, float] | None:
    """Probability of each column that it tells clusters apart: its share of the recorded states in the second halves
    of the chains, which made so many `iterations`; None if none was recorded."""
    file = path / f"{schema.PARTITIONS}.parquet"
    if not file.exists():
        return None
    table = pq.read_table(file, columns=["chain", "iteration", schema.PARAMETERS])
    chain, iteration = (table[name].to_numpy() for name in ("chain", "iteration"))
    late = np.flatnonzero(iteration > np.asarray(iterations)[chain] / 2)
    if not len(late):
        return None
    inside = np.stack(table[schema.PARAMETERS].take(late).to_numpy())
    return dict(zip(columns, inside.mean(axis=0).round(4).tolist(), strict=True))


def describe_informative(summary: Mapping[str, Any]) -> Iterator[str]:
    """A line on the columns that tell the clusters apart with a probability above one half, the most certain first."""
    if not (probability := summary.get("informative")):
        return
    names = sorted((name for name, p in probability.items() if p > 0.5), key=lambda name: -probability[name])
    more = f", and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    listed = f": {', '.join(names[:MOST_NAMES])}{more}" if names else ""
    verb = "tells" if len(names) == 1 else "tell"
    yield f"{len(names) or 'none'} of {len(probability)} columns {verb} the clusters apart{listed}"
