"""Types of the normal mixtures (see ``gaussian.pyx``)."""

from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.core.capabilities import DrawnParameters, PlugIn, Shards
from splitmerge_cli.models.normal import Normal
from splitmerge_cli.models.scale_prior import Scaled

COLUMNS: int
LEAST_SCALE: float
REACH: float

@final
class Gaussian(Normal):
    @property
    def n_imputed(self) -> int: ...
    @property
    def reaches(self) -> NDArray[np.float64]: ...
    def __init__(self, x: ArrayLike, **options: Any) -> None: ...
    # a SparseGaussian of sparse points, a Mixed of points with missing cells
    @classmethod
    def from_data(cls, data: Any, **params: Any) -> Scaled: ...  # type: ignore[override]
    def log_marginals(
        self, points: NDArray[Any], absent: NDArray[Any], mean: NDArray[Any], psi: NDArray[Any], n: int
    ) -> NDArray[Any]: ...
    def statistics(self) -> dict[str, NDArray[Any]]: ...

class PointsSummary:
    N: int
    centre: Any
    span: Any
    widest: Any
    units: Any
    mean: Any
    variance: Any
    def __init__(
        self, N: int, low: ArrayLike, high: ArrayLike, covariance: str, mean: Any = None, variance: Any = None
    ) -> None: ...

@final
class GaussianParameters(DrawnParameters):
    def __init__(self, model: Gaussian) -> None: ...

@final
class GaussianShards(Shards):
    def __init__(self, model: Gaussian) -> None: ...

@final
class GaussianPlugIn(PlugIn):
    def __init__(self, model: Gaussian) -> None: ...
