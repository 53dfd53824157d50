"""Types of an outcome that is regressed on effects (see ``regression.pyx``)."""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.core.rng import Rng

@final
class Regression:
    @property
    def D(self) -> int: ...
    @property
    def N(self) -> int: ...
    @property
    def n_latent(self) -> int: ...
    @property
    def is_latent(self) -> bool: ...
    @property
    def latent(self) -> NDArray[np.float64]: ...
    @property
    def data(self) -> Any: ...
    def predictive(
        self, first: int, columns: Sequence[int]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]: ...
    def draw(self, rng: Rng, K: int) -> NDArray[np.float64]: ...
