"""Types of the entity/mention model (see ``emm.pyx``)."""

from typing import Any, Self

from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.core.model import Model

MOST: int

class EMM(Model):
    def __init__(self, tokens: ArrayLike, **options: Any) -> None: ...
    @classmethod
    def from_data(cls, data: Any, n_tokens: int | None = ..., **params: Any) -> Self: ...
    @property
    def L(self) -> int: ...
    @property
    def alpha(self) -> float: ...
    def statistics(self) -> dict[str, NDArray[Any]]: ...
