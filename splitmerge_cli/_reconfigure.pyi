import numpy as np
from numpy.typing import NDArray

from splitmerge_cli._kernels import Model, Rng, Sampler

class Reconfiguration(Sampler):
    record: bool
    def __init__(self, model: Model, rng: Rng, relabel: bool = ..., mode: str = ...) -> None: ...
    @property
    def relabel(self) -> bool: ...
    @property
    def plates(self) -> list[tuple[str, NDArray[np.int32]]]: ...
    @property
    def pair(self) -> tuple[int, int]: ...
