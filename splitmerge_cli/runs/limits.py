"""Largest number of iterations of a chain if the user names no length. Model and data decide it.

A limit in seconds would let a busy machine end the same configuration elsewhere.
"""

import numpy as np

from splitmerge_cli.config import RunSpecification
from splitmerge_cli.data.dataset import Dataset

WORK = 250_000_000
"""Most values that a chain visits if the user names no length: 12 s, at 50 ns each; four chains take 50 s."""
START_WORK = WORK // 3
"""Most values that the start of a chain visits."""
LEAST, MOST = 100, 100_000
"""Fewest and most iterations of such a chain, whatever its data."""
ANSWER = 10
"""Values that take as long as an ordinal cell."""


def count_ordinal(dataset: Dataset) -> int:
    """Count the ordinal columns of a table."""
    return sum(one.type == "ordinal" for one in dataset.types or ())


def count_values(spec: RunSpecification, dataset: Dataset) -> int:
    """Count the values that an iteration visits.

    A value of a jointly normal row counts as a quarter of its columns, and one more, a value of a row with a weight
    (``model.tails=t``) twice, and an ordinal one as `ANSWER`.
    """
    values = dataset.values
    size = values.size if isinstance(values, np.ndarray) else getattr(values, "nnz", 0) + dataset.N
    if spec.model.options.get("covariance") == "full":
        size += size * values.shape[1] // 4
    size *= 1 + (spec.model.options.get("tails") == "t")
    return int(size + (ANSWER - 1) * dataset.N * count_ordinal(dataset))


def most_iterations(spec: RunSpecification, dataset: Dataset) -> int:
    """Iterations that a chain makes at most where nobody names a length: `WORK` over the number of values
    (`count_values`), or as the kind of the data limits them.

    Adaptive samplers, whose chains keep every state, make no more than the default of a fixed length.
    """
    if (own := spec.model.kind.limits) is not None:
        limit = max(own[0], min(own[1], own[2] // dataset.N))
        return min(limit, spec.default_iterations) if spec.is_adaptive else limit
    # replicas move as often as the chain
    limit = max(LEAST, min(MOST, WORK // count_values(spec, dataset)) // (1 + spec.tempering.levels))
    return min(limit, spec.default_iterations) if spec.is_adaptive else limit
