from typing import Any, final

from numpy.typing import ArrayLike, NDArray

from splitmerge_cli._mixture import Mixture

COVARIANCES: tuple[str, ...]

@final
class Gaussian(Mixture):
    def __init__(
        self,
        x: ArrayLike,
        concentration: float | str = ...,
        prior: str = ...,
        covariance: str = ...,
        m0: ArrayLike | None = ...,
        kappa0: float = ...,
        a0: float = ...,
        b0: ArrayLike | None = ...,
    ) -> None: ...
    @property
    def D(self) -> int: ...
    @property
    def covariance(self) -> str: ...
    @property
    def kappa0(self) -> float: ...
    @property
    def a0(self) -> float: ...
    def statistics(self) -> dict[str, NDArray[Any]]: ...
