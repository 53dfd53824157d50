from typing import Any

from numpy.typing import NDArray

from splitmerge_cli._mixture import Mixture

def csr(adjacency: Any) -> Any: ...

class IRM(Mixture):
    def __init__(
        self,
        adjacency: Any,
        concentration: float | str = ...,
        beta1: float = ...,
        beta0: float = ...,
        prior: str = ...,
    ) -> None: ...
    @property
    def beta1(self) -> float: ...
    @property
    def beta0(self) -> float: ...
    def statistics(self) -> dict[str, NDArray[Any]]: ...
