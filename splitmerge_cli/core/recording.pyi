"""Types of recorded draws (see ``recording.pyx``)."""

from typing import final

COUPLINGS: tuple[str, ...]

@final
class Recording:
    N: int
    how: int
    def __init__(self, N: int, how: str = ...) -> None: ...
