"""Types of items that are bundles of rows (see ``bundles.pyx``)."""

from collections.abc import Mapping
from typing import Any, Final, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.core.model import Model
from splitmerge_cli.core.prior import Prior

@final
class RowsCounted(Prior):
    def __init__(self, N: int, rows: Prior) -> None: ...

@final
class Bundles(Model):
    rows: Final[Model]
    @property
    def zeta(self) -> float: ...
    @property
    def recorded_parameters(self) -> NDArray[np.float64] | None: ...
    @property
    def row_sizes(self) -> NDArray[np.int32]: ...
    def __init__(self, rows: Model, bundles: Any, prior: Prior | None = None) -> None: ...
    def keep_apart(self, labels: ArrayLike) -> NDArray[np.int32]: ...
    def separate(self) -> None: ...

def build(cls: type[Model], dataset: Any, options: Mapping[str, Any], whole: Any = None) -> Model: ...
