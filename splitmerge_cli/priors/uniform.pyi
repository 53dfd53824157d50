"""Types of the uniform prior (see ``uniform.pyx``)."""

from splitmerge_cli.core.prior import Prior

class Uniform(Prior):
    def __init__(self, N: int, concentration: float = ...) -> None: ...
