"""Types that the normal mixtures share (see ``normal.pyx``)."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.core.options import Gamma, Number, Resolution
from splitmerge_cli.data.base import Dataset
from splitmerge_cli.models.scale_prior import Scaled

COVARIANCES: tuple[str, ...]
HIERARCHICAL: Gamma
LEAST_SCALE: float
POWER: Number
RESOLUTION: Resolution
MOST_SCALE: float
SAME: float
OFF_GRID: float

def prior_of(
    covariance: str,
    m0: ArrayLike | None,
    b0: ArrayLike | Gamma | None,
    mean: NDArray[np.float64],
    variance: NDArray[np.float64],
    span: NDArray[np.float64],
    centre: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def find_resolution(column: ArrayLike) -> float: ...
def settle_resolution(data: Dataset, params: dict[str, Any]) -> dict[str, Any]: ...
def resolutions_of(
    given: ArrayLike | str, D: int, columns: Iterable[ArrayLike] | None, what: str = "columns"
) -> NDArray[np.float64]: ...
def variance_of(covariance: str, variance: NDArray[np.float64]) -> NDArray[np.float64]: ...
def unit_of(covariance: str, b0: ArrayLike | Gamma | None, variance: NDArray[np.float64]) -> NDArray[np.float64]: ...
def with_unit(b0: Gamma, unit: ArrayLike) -> Gamma: ...

class Normal(Scaled):
    @property
    def D(self) -> int: ...
    @property
    def covariance(self) -> str: ...
    @property
    def zeta(self) -> float: ...
