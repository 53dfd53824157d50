from numpy.typing import ArrayLike

from splitmerge_cli._kernels import Model, Rng
from splitmerge_cli._past import Learner, Past
from splitmerge_cli._reconfigure import Reconfiguration

VARIANTS: tuple[str, ...]

class ARM(Reconfiguration):
    def __init__(
        self,
        model: Model,
        rng: Rng,
        variant: str = ...,
        adaptation: str = ...,
        freeze: int = ...,
        relabel: bool = ...,
        mode: str = ...,
    ) -> None: ...
    @property
    def variant(self) -> str: ...
    @property
    def learner(self) -> Learner: ...
    def learn_from(self, past: Past | None, chain: int) -> None: ...
    def fix(self, za: ArrayLike | None = ..., zb: ArrayLike | None = ..., i: int = ..., j: int = ...) -> None: ...
