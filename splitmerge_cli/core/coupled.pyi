"""Types of coupled chains (see ``coupled.pyx``)."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.core.model import Model
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.core.sampler import Sampler

class CoupledChains:
    def __init__(
        self,
        x: Model,
        y: Model,
        rng: Rng,
        samplers_x: Sequence[Sampler],
        samplers_y: Sequence[Sampler],
        lag: int,
        weights: Sequence[float] | None = None,
        coupling: str = ...,
        replicas_x: Sequence[Model] = ...,
        replicas_y: Sequence[Model] = ...,
    ) -> None: ...
    x: Final[Model]
    y: Final[Model]
    rng: Final[Rng]
    samplers_x: Final[list[Sampler]]
    samplers_y: Final[list[Sampler]]
    models_x: Final[list[Model]]
    models_y: Final[list[Model]]
    lag: Final[int]
    iteration: Final[int]
    meeting: Final[int]
    @property
    def distance(self) -> float: ...
    def weights_of_states(self, k: int, m: int) -> tuple[float, float]: ...
    def gather(self, k: int, m: int) -> None: ...
    @property
    def co_clustering(self) -> NDArray[np.float64]: ...
    def step(self, t: int = 0) -> None: ...
    def advance(self, iterations: int, until_met: bool = True) -> dict[str, NDArray[Any]]: ...
    def halt(self) -> None: ...
