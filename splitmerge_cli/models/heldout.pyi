"""Types of the log likelihood of held-out tokens (see ``heldout.pyx``)."""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.core.rng import Rng

METHODS: tuple[str, ...]

@final
class Reader:
    def __new__(
        cls,
        word_topics: Any,
        weights: NDArray[np.float64],
        alpha0: float,
        eta: float,
        rng: Rng,
        longest: int,
        particles: int,
        keep_topics: bool,
    ) -> Reader: ...

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
