"""Types of the compiled driver (see ``chain.pyx``)."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.core.checks import MOST_SECONDS as MOST_SECONDS
from splitmerge_cli.core.history import History
from splitmerge_cli.core.model import Model
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.core.sampler import Sampler

class Rows:
    def __init__(self, chain: Chain, iterations: int) -> None: ...
    def collect(self) -> dict[str, NDArray[Any]]: ...

def advance_together(
    chains: Sequence[Chain], iterations: int, budget: float = ..., wall: float = ..., workers: int = ...
) -> list[dict[str, NDArray[Any]]]: ...

class Halted(Exception): ...

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
        warmup: tuple[Sampler, int] | None = ...,
        sizes: bool = ...,
    ) -> None: ...
    model: Final[Model]
    rng: Final[Rng]
    samplers: Final[list[Sampler]]
    timing: Final[bool]
    iteration: Final[int]
    seconds: Final[float]
    @property
    def log_joint(self) -> float: ...
    best_log_joint: Final[float]
    best_iteration: Final[int]
    @property
    def best_labels(self) -> NDArray[np.int32]: ...
    best_log_lik: Final[float]
    best_lik_iteration: Final[int]
    @property
    def best_lik_labels(self) -> NDArray[np.int32]: ...
    @property
    def last_labels(self) -> NDArray[np.int32]: ...
    def advance(self, iterations: int, budget: float = ..., wall: float = ...) -> dict[str, NDArray[Any]]: ...
    def set_threads(self, threads: int) -> None: ...
    def stop(self) -> None: ...
    def halt(self) -> None: ...
    def adapt_to(self, history: History, number: int) -> None: ...
    def counted_samplers(self) -> list[Sampler]: ...
    def moves(self) -> list[dict[str, Any]]: ...
    @property
    def state(self) -> dict[str, Any]: ...
    @state.setter
    def state(self, value: dict[str, Any]) -> None: ...
