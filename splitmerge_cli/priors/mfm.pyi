"""Types for mixtures of finite mixtures (see ``mfm.pyx``)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.core.count_priors import CountPrior
from splitmerge_cli.core.options import Gamma
from splitmerge_cli.core.prior import Prior

DISTRIBUTIONS: dict[str, int]

class MixtureOfFiniteMixtures(Prior):
    def __init__(self, N: int, concentration: float | Gamma = ..., components: CountPrior | str = ...) -> None: ...
    @property
    def present(self) -> dict[str, Any]: ...
    @classmethod
    def log_probability(  # type: ignore[override]
        cls, sizes: NDArray[np.integer], concentration: float, components: CountPrior | str = ...
    ) -> float: ...
    def log_numbers(self) -> NDArray[np.float64]: ...
