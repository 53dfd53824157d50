from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli._kernels import Model

PRIORS: tuple[str, ...]

class Bernoulli(Model):
    def __init__(
        self,
        x: ArrayLike,
        concentration: float = ...,
        beta1: float = ...,
        beta0: float = ...,
        prior: str = ...,
    ) -> None: ...
    @property
    def D(self) -> int: ...
    @property
    def concentration(self) -> float: ...
    @property
    def beta1(self) -> float: ...
    @property
    def beta0(self) -> float: ...
    @property
    def prior(self) -> str: ...
    def prior_labels(self, generator: np.random.Generator) -> tuple[NDArray[np.int32], int]: ...
    def statistics(self) -> dict[str, NDArray[Any]]: ...
