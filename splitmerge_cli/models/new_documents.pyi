"""Types of new documents given one state (see ``new_documents.pyx``)."""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.core.rng import Rng

@final
class Filter:
    def __new__(
        cls,
        word_topics: Any,
        weights: NDArray[np.float64],
        alpha0: float,
        gamma: float,
        eta: float,
        rng: Rng,
        longest: int,
        R: int,
    ) -> Filter: ...

def fold_in(
    word_topics: Any,
    weights: NDArray[np.float64],
    alpha0: float,
    gamma: float,
    eta: float,
    words: NDArray[np.int32],
    starts: NDArray[np.int64],
    seed: Sequence[int],
    particles: int = 0,
    scans: int = 0,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
