"""Types of the prior on entities (see ``entities.pyx``)."""

from splitmerge_cli.core.prior import Prior

MOST: int

class Entities(Prior):
    def __init__(self, N: int, mu: float, sigma: float, kmax: int, labels: str) -> None: ...
