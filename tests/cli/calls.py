"""Helpers of the tests that call the command line."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def wait_for(condition: Callable[[], Any], process: subprocess.Popen[str], seconds: float = 600.0) -> Any:
    """Wait until `condition` is true while `process` runs, on however busy a machine; its value."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := condition():
            return value
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    raise AssertionError("timed out")


def parquet_bytes(path: Path, files: int = 4) -> dict[str, bytes]:
    """Content of the parquet files of a run, by name."""
    found = {file.name: file.read_bytes() for file in path.glob("*.parquet")}
    # that of converged chains alone
    assert len(found.keys() - {"similarity.parquet"}) == files
    return found
