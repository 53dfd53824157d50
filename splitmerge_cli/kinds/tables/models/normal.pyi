"""Types that the normal mixtures share (see ``normal.pyx``)."""

from splitmerge_cli.core.options import Choice, Gamma, Number, Resolution
from splitmerge_cli.kinds.tables.models.scale_prior import Scaled

COVARIANCES: tuple[str, ...]
HIERARCHICAL: Gamma
POWER: Number
RESOLUTION: Resolution
TAILS: Choice

class Normal(Scaled):
    @property
    def D(self) -> int: ...
    @property
    def covariance(self) -> str: ...
    @property
    def zeta(self) -> float: ...
