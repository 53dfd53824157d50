"""Types of what some models are or can do in addition to holding a partition (see ``capabilities.pyx``)."""

from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.core.model import Model
from splitmerge_cli.core.rows import Columns

class Coupled(Model): ...
class Uncollapsed(Model): ...
class Weighted(Model): ...

class Capability:
    @classmethod
    def suits(cls, model: Model) -> bool: ...

class DrawnParameters(Capability):
    def __new__(cls, model: Model) -> Self: ...
    size: Final[int]

class Shards(Capability):
    def __new__(cls, model: Model) -> Self: ...
    column_bytes: Final[int]
    @classmethod
    def build_shard(cls, values: NDArray[Any], columns: Columns, **params: Any) -> Model: ...
    @classmethod
    def build_whole(cls, columns: Columns, packed: bytes, **params: Any) -> Model: ...

class PlugIn(Capability):
    def __new__(cls, model: Model) -> Self: ...

class Noise(Capability):
    def __init__(self, model: Model) -> None: ...
    @property
    def probabilities(self) -> NDArray[np.float64]: ...
