"""Types of the normal mixture for sparse points (see ``sparse_gaussian.pyx``)."""

from typing import Any, final

from numpy.typing import NDArray

from splitmerge_cli.kinds.tables.models.normal import Normal

@final
class SparseGaussian(Normal):
    def __init__(self, x: Any, **options: Any) -> None: ...
    def statistics(self) -> dict[str, NDArray[Any]]: ...
