"""Types of recorded draws (see ``recording.pyx``)."""

class Recording:
    N: int
    def __init__(self, N: int) -> None: ...
