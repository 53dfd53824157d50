from typing import Any, final

from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.models.normal import Normal

@final
class SparseGaussian(Normal):
    def __init__(
        self,
        x: Any,
        concentration: float | str = ...,
        prior: str = ...,
        covariance: str = ...,
        m0: ArrayLike | None = ...,
        kappa0: float = ...,
        a0: float = ...,
        b0: ArrayLike | None = ...,
    ) -> None: ...
    def statistics(self) -> dict[str, NDArray[Any]]: ...
