"""Types of the mixture and the topics of finite parameters (see ``finite.pyx``)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.core.capabilities import DrawnParameters, Topics
from splitmerge_cli.core.model import Model
from splitmerge_cli.core.prior import Prior
from splitmerge_cli.verify.enumerate import State

class FiniteWeights(Prior):
    def __init__(
        self, N: int, values: Sequence[float], masses: Sequence[float], concentration: float = ...
    ) -> None: ...

class FiniteMixture(Model):
    def __init__(self, table: ArrayLike, base: ArrayLike, prior: Prior) -> None: ...
    def log_posterior(self, state: State) -> float: ...

class FiniteParameters(DrawnParameters):
    def __init__(self, model: FiniteMixture) -> None: ...

class FiniteTopics(Topics):
    def __init__(
        self, words: ArrayLike, starts: ArrayLike, candidates: ArrayLike, base: ArrayLike, alpha0: float
    ) -> None: ...
    def log_posterior(self, state: State) -> float: ...
    @property
    def words(self) -> NDArray[np.int32]: ...
    def count_words(self) -> NDArray[np.int32]: ...
