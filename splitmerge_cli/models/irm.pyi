"""Types of the infinite relational model (see ``irm.pyx``)."""

from typing import Any

from numpy.typing import NDArray

from splitmerge_cli.core.capabilities import Coupled

def csr(adjacency: Any) -> Any: ...

class IRM(Coupled):
    def __init__(self, adjacency: Any, **options: Any) -> None: ...
    @property
    def beta1(self) -> float: ...
    @property
    def beta0(self) -> float: ...
    def statistics(self) -> dict[str, NDArray[Any]]: ...
