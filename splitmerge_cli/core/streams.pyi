"""Types of streams by counter (see ``streams.pyx``)."""

from collections.abc import Sequence

from splitmerge_cli.core.rng import Rng

class Stream:
    @property
    def rng(self) -> Rng: ...
    def _words(self, key: Sequence[int], number: int, purpose: int, n: int) -> list[int]: ...
