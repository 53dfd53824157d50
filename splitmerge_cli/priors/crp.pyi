"""Types of the Chinese restaurant process (see ``crp.pyx``)."""

from splitmerge_cli.core.options import Gamma
from splitmerge_cli.core.prior import Prior

class ChineseRestaurant(Prior):
    def __init__(self, N: int, concentration: float | Gamma = ...) -> None: ...
