from typing import Any

from numpy.typing import ArrayLike, NDArray

from splitmerge_cli._mixture import Mixture

class Bernoulli(Mixture):
    def __init__(
        self,
        x: ArrayLike,
        concentration: float | str = ...,
        beta1: float = ...,
        beta0: float = ...,
        prior: str = ...,
    ) -> None: ...
    @property
    def D(self) -> int: ...
    @property
    def beta1(self) -> float: ...
    @property
    def beta0(self) -> float: ...
    def statistics(self) -> dict[str, NDArray[Any]]: ...
