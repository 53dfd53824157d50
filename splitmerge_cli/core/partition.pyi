"""Types of partitions (see ``partition.pyx``)."""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

class Partition:
    N: Final[int]
    total: Final[int]
    K: Final[int]
    kmax: Final[int]
    allows_empty: Final[bool]
    items: Final[NDArray[np.int32] | None]
    @property
    def n_clusters(self) -> int: ...
    @property
    def labels(self) -> NDArray[np.int32]: ...
    @property
    def sizes(self) -> NDArray[np.int32]: ...
    def set_labels(self, labels: ArrayLike, K: int | None = ...) -> None: ...
