"""A folder for temporary runs. It is removed however the process ends."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_GUARD = 'read -r _; rm -rf -- "$1"'
"""A shell that waits for the end of its input, which comes when the process at the other end ends."""


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Context with a temporary folder, which a second process removes where this one is killed in it."""
    folder = tempfile.mkdtemp(prefix="smcmc-")
    guard = None
    # without a shell the folder is removed unless the process is killed
    with suppress(OSError):
        guard = subprocess.Popen(
            ["sh", "-c", _GUARD, "sh", folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if guard is not None and guard.stdin is not None:
            guard.stdin.close()
            guard.wait()
