"""Types of the loops over partitions (see ``partition_kernels.pyx``)."""

from typing import Any

from numpy.typing import NDArray

def shared_terms(
    rows: NDArray[Any], size: NDArray[Any], widths: NDArray[Any], weight: NDArray[Any], f: NDArray[Any]
) -> NDArray[Any]: ...
def cross_terms(rows: NDArray[Any], others: NDArray[Any], f: NDArray[Any]) -> NDArray[Any]: ...
def place_blocks(
    order: NDArray[Any],
    begin: int,
    labels: NDArray[Any],
    sizes: NDArray[Any],
    table: NDArray[Any],
    cluster: NDArray[Any],
    size: NDArray[Any],
    weight: NDArray[Any],
    f: NDArray[Any],
    own_f: NDArray[Any],
    grown: NDArray[Any],
    changes: NDArray[Any],
    kept: NDArray[Any],
    kept_at: NDArray[Any],
    used: int,
    fewest: int,
    most: int,
    least_gain: float,
    allowed: int,
    step: int,
) -> tuple[int, int, int, bool]: ...
def join_terms(table: NDArray[Any], weight: NDArray[Any], f: NDArray[Any], k: int) -> NDArray[Any]: ...
