"""Types of the gamma priors of scales (see ``scale_prior.pyx``)."""

from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.core.model import Model
from splitmerge_cli.core.options import Gamma

LEAST_SCALE: float
MOST_SCALE: float

def start_value(value: Gamma | float, least: float, most: float) -> float: ...

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
    def kappa0(self) -> float: ...
    @property
    def a0(self) -> float: ...
