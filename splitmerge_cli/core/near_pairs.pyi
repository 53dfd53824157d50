"""Types for pairs of items that may belong together (see ``near_pairs.pyx``)."""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

class NearPairs:
    def __init__(self, pairs: ArrayLike, N: int, share: float = ...) -> None: ...
    def __len__(self) -> int: ...
    N: Final[int]
    share: Final[float]
    pairs: Final[NDArray[np.int32]]
    begin: Final[NDArray[np.int64]]
    other: Final[NDArray[np.int32]]
