from splitmerge_cli._kernels import Model, Rng
from splitmerge_cli._smart import SmartMoves

class SDDS(SmartMoves):
    def __init__(self, model: Model, rng: Rng, kernel: str = ..., mode: str = ...) -> None: ...
    @property
    def kernel(self) -> str: ...
