from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli._mixture import Mixture

NOISES: tuple[str, ...]
REFRESHES: tuple[str, ...]

@final
class Lines(Mixture):
    def __init__(
        self,
        x: ArrayLike,
        concentration: float | str = ...,
        sigma0: float = ...,
        sigma1: float = ...,
        noise: str = ...,
        a0: float = ...,
        prior: str = ...,
        conjugate: bool = ...,
        refresh: str = ...,
        steps: int = ...,
        candidates: Any = ...,
    ) -> None: ...
    @property
    def sigma0(self) -> float: ...
    @property
    def sigma1(self) -> float: ...
    @property
    def a0(self) -> float: ...
    @property
    def b0(self) -> float: ...
    @property
    def noise(self) -> str: ...
    @property
    def refresh(self) -> str: ...
    @property
    def steps(self) -> int: ...
    @property
    def n_candidates(self) -> int: ...
    def fitted(self) -> NDArray[np.float64]: ...
    def statistics(self) -> dict[str, NDArray[Any]]: ...
