"""Types of the mixture for tables with several column types (see ``mixed.pyx``)."""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.core.capabilities import DrawnParameters, Shards
from splitmerge_cli.core.options import Gamma
from splitmerge_cli.models.scale_prior import Scaled

TYPES: tuple[str, ...]
LONGEST_TABLE: int
JOINT: str
HIERARCHICAL: Gamma

def of_one_type(values: NDArray[Any], type: str, known: int | None = None, **options: Any) -> Mixed: ...

@final
class Mixed(Scaled):
    @property
    def D(self) -> int: ...
    @property
    def types(self) -> tuple[str, ...]: ...
    @property
    def beta1(self) -> float: ...
    @property
    def beta0(self) -> float: ...
    @property
    def alpha(self) -> float: ...
    @property
    def shape(self) -> float: ...
    @property
    def covariance(self) -> str: ...
    @property
    def zeta(self) -> float: ...
    @property
    def n_imputed(self) -> int: ...
    @property
    def reaches(self) -> NDArray[np.float64]: ...
    def __init__(self, x: ArrayLike, types: Sequence[Any], known: int | None = None, **options: Any) -> None: ...
    def statistics(self) -> dict[str, NDArray[Any]]: ...

@final
class MixedParameters(DrawnParameters):
    def __init__(self, model: Mixed) -> None: ...

@final
class MixedShards(Shards):
    def __init__(self, model: Mixed) -> None: ...
