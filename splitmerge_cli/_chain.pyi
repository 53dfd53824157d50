"""Types of the compiled driver (see ``_chain.pyx``)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli._kernels import Model, Rng, Sampler

class Chain:
    """One Markov chain: a model, its generator, and a schedule of samplers, all owned by this chain."""

    def __init__(
        self,
        model: Model,
        rng: Rng,
        samplers: Sequence[Sampler],
        weights: Sequence[float] | None = ...,
        thin: int = ...,
        partitions: int = ...,
        truth: NDArray[np.int32] | None = ...,
        timing: bool = ...,
    ) -> None: ...
    @property
    def model(self) -> Model: ...
    @property
    def rng(self) -> Rng: ...
    @property
    def samplers(self) -> list[Sampler]: ...
    @property
    def timing(self) -> bool: ...
    @property
    def iteration(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def log_joint(self) -> float: ...
    @property
    def best_log_joint(self) -> float: ...
    @property
    def best_iteration(self) -> int: ...
    @property
    def best_labels(self) -> NDArray[np.int32]: ...
    def advance(self, iterations: int, budget: float = ..., wall: float = ...) -> dict[str, NDArray[Any]]: ...
    def moves(self) -> list[dict[str, Any]]: ...
    @property
    def state(self) -> dict[str, Any]: ...
    @state.setter
    def state(self, value: dict[str, Any]) -> None: ...
