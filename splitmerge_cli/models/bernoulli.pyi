"""Types of mixtures of Bernoulli attributes (see ``bernoulli.pyx``)."""

from typing import Any, final

from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.core.capabilities import DrawnParameters, Shards
from splitmerge_cli.core.model import Model

class Bernoulli(Model):
    def __init__(self, x: ArrayLike, **options: Any) -> None: ...
    # a Mixed of rows with missing cells
    @classmethod
    def from_data(cls, data: Any, **params: Any) -> Model: ...  # type: ignore[override]
    @property
    def D(self) -> int: ...
    @property
    def beta1(self) -> float: ...
    @property
    def beta0(self) -> float: ...
    def statistics(self) -> dict[str, NDArray[Any]]: ...

@final
class BernoulliParameters(DrawnParameters):
    def __init__(self, model: Bernoulli) -> None: ...

@final
class BernoulliShards(Shards):
    def __init__(self, model: Bernoulli) -> None: ...
