"""Types of the mixture of finite parameters (see ``finite.pyx``)."""

from collections.abc import Sequence

from numpy.typing import ArrayLike

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
