"""Types of the split-merge of topics (see ``smag.pyx``)."""

from splitmerge_cli._dyadic import PairMoves
from splitmerge_cli._kernels import Model, Rng

CHOICES: tuple[str, ...]
WEIGHTS: tuple[str, ...]
PRINTED_FORMS: tuple[str, ...]

class SMAG(PairMoves):
    def __init__(
        self,
        model: Model,
        rng: Rng,
        choice: str = ...,
        weights: str = ...,
        p: float = ...,
        tries: int = ...,
        form: str = ...,
        mode: str = ...,
    ) -> None: ...
    @property
    def choice(self) -> str: ...
    @property
    def weights(self) -> str: ...
    @property
    def form(self) -> str: ...
    @property
    def p(self) -> float: ...
    @property
    def tries(self) -> int: ...
