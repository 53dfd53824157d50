from typing import Any

from numpy.typing import ArrayLike

from splitmerge_cli.core.model import Model
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.core.sampler import Sampler

class TooManyPaths(Exception): ...

def execution_paths(
    model: Model,
    rng: Rng,
    sampler: Sampler,
    labels: ArrayLike,
    K: int,
    parameters: ArrayLike | None = None,
    always_accept: bool = False,
    limit: int = 2_000_000,
) -> dict[str, Any]: ...
