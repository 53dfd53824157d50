"""Types of tasks on several threads (see ``threads.pyx``)."""

class Threads:
    @property
    def n(self) -> int: ...
