"""Types that the normal mixtures share (see ``normal.pyx``)."""

from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.core.model import Model
from splitmerge_cli.core.options import Choice, Gamma, Number, Option, Resolution

COVARIANCES: tuple[str, ...]
DEGREES: NDArray[np.float64]
HIERARCHICAL: Gamma
NOISE: tuple[Option, ...]
POWER: Number
RESOLUTION: Resolution
TAILS: Choice

@final
class RowWeights:
    def __init__(self, N: int, n: int, D: int) -> None: ...
    @property
    def n(self) -> int: ...
    @property
    def nu(self) -> float: ...
    @property
    def values(self) -> NDArray[np.float64]: ...
    def set_values(self, values: ArrayLike) -> None: ...
    def set_cells(self, cells: ArrayLike) -> None: ...

@final
class ScalePrior:
    def __init__(
        self,
        b0: Gamma | None,
        kappa0: Gamma | float,
        start: NDArray[np.float64],
        unit: NDArray[np.float64],
        square: NDArray[np.float64],
        log_unit: float,
        least: float,
    ) -> None: ...
    @property
    def n(self) -> int: ...
    @property
    def of_b0(self) -> bool: ...
    @property
    def of_kappa0(self) -> bool: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def values(self) -> NDArray[np.float64]: ...
    def set_values(self, values: ArrayLike) -> None: ...

class Scaled(Model):
    @property
    def row_weights(self) -> NDArray[np.float64]: ...
    @property
    def kappa0(self) -> float: ...
    @property
    def a0(self) -> float: ...

class Normal(Scaled):
    @property
    def D(self) -> int: ...
    @property
    def covariance(self) -> str: ...
    @property
    def zeta(self) -> float: ...
