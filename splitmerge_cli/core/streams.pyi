"""Types of streams by counter (see ``streams.pyx``)."""

from splitmerge_cli.core.rng import Rng

class Stream:
    @property
    def rng(self) -> Rng: ...
