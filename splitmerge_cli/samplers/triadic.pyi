from splitmerge_cli._dyadic import PairMoves
from splitmerge_cli._kernels import Model, Rng

FORMS: tuple[str, ...]

class Triadic(PairMoves):
    def __init__(
        self,
        model: Model,
        rng: Rng,
        beta: float = ...,
        allocation: str = ...,
        form: str = ...,
        mode: str = ...,
        q_ratio: str = ...,
        redraw: bool = ...,
    ) -> None: ...
    @property
    def beta(self) -> float: ...
    @property
    def form(self) -> str: ...
    @property
    def redraw(self) -> bool: ...
