"""Helpers of the tests that call the command line."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from splitmerge_cli.runs.store.read import find_runs


def wait_for(condition: Callable[[], Any], process: subprocess.Popen[str], seconds: float = 600.0) -> Any:
    """Wait until `condition` is true while `process` runs, on however busy a machine; its value."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := condition():
            return value
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    raise AssertionError("timed out")


def run_path(result: Any) -> Path:
    """Folder of the run that a command made."""
    assert result.exit_code == 0, result.output
    return Path(result.stdout.splitlines()[-1])


def read_rejection(smcmc: Callable[..., Any], *args: str) -> str:
    """The one line of a command that is rejected, with exit status 2; nothing is written."""
    before = sorted(Path().rglob("*"))
    result = smcmc(*args)
    assert result.exit_code == 2 and result.stdout == "", result.output
    assert len(result.stderr.strip().splitlines()) == 1
    assert sorted(Path().rglob("*")) == before
    return str(result.stderr)


def parquet_bytes(path: Path, files: int = 4) -> dict[str, bytes]:
    """Content of the parquet files of a run, by name."""
    found = {file.name: file.read_bytes() for file in path.glob("*.parquet")}
    # that of converged chains alone
    assert len(found.keys() - {"similarity.parquet"}) == files
    return found


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(each) for each in found.stdout.split()]


def check_same_as_joblib(smcmc: Callable[..., Any], args: list[str]) -> None:
    """Check that every run under results has the bytes of the same sweep by joblib."""
    assert smcmc("sweep", *args, "out=here").exit_code == 0
    runs = list(find_runs("results"))
    assert runs
    for run in runs:
        assert parquet_bytes(run.path) == parquet_bytes(Path("here", *run.path.parts[1:]))
