"""Types of recorded draws (see ``recording.pyx``)."""

from typing import final

@final
class Recording:
    N: int
    def __init__(self, N: int) -> None: ...
