"""Largest number of iterations of a chain if the user names no length. Model and data decide it.

A limit in seconds would let a busy machine end the same configuration elsewhere.
"""

import numpy as np

from splitmerge_cli.config import RunSpecification
from splitmerge_cli.data.dataset import Dataset

WORK = 500_000_000
"""Most values that a chain visits if the user names no length: half a minute, at 50 ns each."""
LEAST, MOST = 1_000, 100_000
"""Fewest and most iterations of such a chain, whatever its data."""
ANSWER = 10
"""Values that take as long as an ordinal cell."""
TOKENS = 50_000_000
"""Topics of tokens that a chain draws at most, some seven seconds at 130 ns each: chains of documents begin with 150
scans (`HDP.start_sequentially`), after which their log joint density no longer rises."""
LEAST_SCANS, MOST_SCANS = 200, 10_000
"""Fewest and most iterations of such a chain."""


def count_ordinal(dataset: Dataset) -> int:
    """Count the ordinal columns of a table."""
    return sum(one.type == "ordinal" for one in dataset.types or ())


def most_iterations(spec: RunSpecification, dataset: Dataset) -> int:
    """Iterations that a chain makes at most if nobody names a length: `WORK` over the number of values, a value of a
    row of reals that are jointly normal being as many as a quarter of its columns, and one more, and an ordinal one as
    many as `ANSWER`; of documents `TOKENS` over the number of tokens.

    Adaptive samplers, whose chains keep every state, make no more than the default of a fixed length.
    """
    if spec.model.kind.has_topics:
        limit = max(LEAST_SCANS, min(MOST_SCANS, TOKENS // dataset.N))
        return min(limit, spec.default_iterations) if spec.is_adaptive else limit
    values = dataset.values
    size = values.size if isinstance(values, np.ndarray) else getattr(values, "nnz", 0) + dataset.N
    if spec.model.options.get("covariance") == "full":
        size += size * values.shape[1] // 4
    size += (ANSWER - 1) * dataset.N * count_ordinal(dataset)
    # replicas move as often as the chain
    limit = max(LEAST, min(MOST, WORK // size) // (1 + spec.tempering.levels))
    return min(limit, spec.default_iterations) if spec.is_adaptive else limit
