"""Types of documents given one state (see ``heldout.pyx``)."""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.core.rng import Rng

METHODS: tuple[str, ...]

class Documents: ...

@final
class Reader(Documents): ...

@final
class Filter(Documents): ...

def log_likelihoods(
    word_topics: Any,
    weights: NDArray[np.float64],
    alpha0: float,
    eta: float,
    corpus_tokens: Any,
    heldout: Any,
    labels: NDArray[np.int32] | None,
    method: str,
    particles: int,
    seed: int | Sequence[int] | Rng,
) -> NDArray[np.float64]: ...
def read_new_documents(
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
