"""Types of the smart proposals (see ``_smart.pyx``)."""

from splitmerge_cli._kernels import SplitMerge

class SmartMoves(SplitMerge): ...
