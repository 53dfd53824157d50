from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.core.model import Model

LABELS: tuple[str, ...]
MOST: int

class EMM(Model):
    def __init__(
        self,
        tokens: ArrayLike,
        n_tokens: int | None = ...,
        alpha: float = ...,
        mu: float = ...,
        sigma: float = ...,
        kmax: int = ...,
        labels: str = ...,
    ) -> None: ...
    @property
    def L(self) -> int: ...
    @property
    def alpha(self) -> float: ...
    @property
    def mu(self) -> float: ...
    @property
    def sigma(self) -> float: ...
    @property
    def label_law(self) -> str: ...
    @classmethod
    def from_data(cls, data: Any, n_tokens: int | None = ..., **params: Any) -> EMM: ...
    def prior_labels(self, generator: np.random.Generator) -> tuple[NDArray[np.int32], int]: ...
    def statistics(self) -> dict[str, NDArray[Any]]: ...
