"""Calls of the command line: in this process (quick), or in one of its own (to be killed)."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from splitmerge_cli import cli, terminal
from splitmerge_cli.runs.store.read import find_runs


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, coarse_pictures: None) -> None:
    """Every test of commands writes to a folder of its own. Lines of commands in this process are whole, whatever their
    length: `test_width` looks at folded ones. Commands are not there to look at their pictures."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(terminal, "WIDTH", 10_000)


@pytest.fixture
def smcmc() -> Callable[..., Any]:
    """``smcmc(*args)`` in this process, perhaps with standard input: a result with exit_code, stdout, stderr. The exit
    status is `status` where that is given."""

    def call(*args: str, input: str | None = None, status: int | None = None) -> Any:
        result = CliRunner().invoke(cli.app, list(args), input=input)
        # an error that is not turned into a message is a defect, whatever the exit status
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        assert status in (None, result.exit_code), result.output
        return result

    return call


@pytest.fixture
def check_rejection(smcmc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """``check_rejection(args, named)``: a command is rejected, with one line that says `named`; no published data."""
    monkeypatch.setenv("SMCMC_DATA", str(tmp_path / "nothing"))

    def check(args: list[str], named: str) -> None:
        assert named in read_rejection(smcmc, *args)

    return check


@pytest.fixture
def python(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """``python(*args)`` starts Python in a process group of its own, in the test's folder."""
    started: list[subprocess.Popen[str]] = []

    def call(*args: str, **options: Any) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, *args],
            cwd=tmp_path,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            **{"stdout": subprocess.PIPE} | options,
        )
        started.append(process)
        return process

    yield call
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def spawn(python: Callable[..., Any]) -> Callable[..., Any]:
    """``spawn(*args)`` starts smcmc so."""
    return partial(python, "-m", "splitmerge_cli")


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
