"""Types for pairs of items that may belong together (see ``near_pairs.pyx``)."""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

LIKELY: Final[float]

class NoNearPairs(ValueError): ...

class NearPairs:
    def __init__(self, pairs: ArrayLike, N: int, share: float = ..., odds: ArrayLike | None = ...) -> None: ...
    def __len__(self) -> int: ...
    N: Final[int]
    share: Final[float]
    pairs: Final[NDArray[np.int32]]
    begin: Final[NDArray[np.int64]]
    other: Final[NDArray[np.int32]]
    chances: Final[NDArray[np.float64]]
    odds: Final[NDArray[np.float64] | None]
    moves: Final[int]
    @property
    def likely(self) -> NDArray[np.int32]: ...

def alias_table(chance: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int32]]: ...
