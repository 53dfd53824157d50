"""Why a run was not completed."""

from pathlib import Path


class RunError(RuntimeError):
    """A run that could not be completed; the message says why and what is left."""


class Interrupted(RunError):
    """A run stopped by Ctrl-C, SIGTERM or SIGHUP; it can be continued."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"interrupted; the same command continues it: {path}")
        self.path = path


class WrittenElsewhere(RunError):
    """A run that another process writes."""
