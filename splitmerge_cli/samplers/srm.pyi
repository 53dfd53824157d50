from splitmerge_cli._kernels import Model, Rng
from splitmerge_cli._reconfigure import Reconfiguration

class SRM(Reconfiguration):
    def __init__(self, model: Model, rng: Rng, relabel: bool = ..., mode: str = ...) -> None: ...
