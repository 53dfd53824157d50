"""Ways to call the command line: in this process (quick), or in one of its own (to be killed)."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.calls import read_rejection
from splitmerge_cli import terminal
from splitmerge_cli.cli import app


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test writes to a folder of its own."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def _whole_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of commands in this process are whole, whatever their length: `test_width` looks at folded ones."""
    monkeypatch.setattr(terminal, "WIDTH", 10_000)


@pytest.fixture(autouse=True)
def _coarse_pictures(coarse_pictures: None) -> None:
    """Commands are not there to look at their pictures."""


@pytest.fixture
def smcmc() -> Callable[..., Any]:
    """``smcmc(*args)`` in this process, perhaps with standard input: a result with exit_code, stdout, stderr."""

    def call(*args: str, input: str | None = None) -> Any:
        result = CliRunner().invoke(app, list(args), input=input)
        # an error that is not turned into a message is a defect, whatever the exit status
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
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
def spawn(tmp_path: Path) -> Callable[..., Any]:
    """``spawn(*args)`` starts smcmc in a process group of its own, in the test's folder."""
    started: list[subprocess.Popen[str]] = []

    def call(*args: str, **options: Any) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "splitmerge_cli", *args],
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
