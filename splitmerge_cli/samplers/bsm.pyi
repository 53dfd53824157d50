from numpy.typing import ArrayLike

from splitmerge_cli._dyadic import PairMoves
from splitmerge_cli._kernels import Model, Rng
from splitmerge_cli._past import Learner, Past

class BSM(PairMoves):
    def __init__(
        self,
        model: Model,
        rng: Rng,
        t: int = ...,
        adaptation: str = ...,
        freeze: int = ...,
        mode: str = ...,
    ) -> None: ...
    @property
    def learner(self) -> Learner: ...
    def learn_from(self, past: Past | None, chain: int) -> None: ...
    def fix(self, za: ArrayLike | None = ..., zb: ArrayLike | None = ..., i: int = ..., j: int = ...) -> None: ...
