"""``scripts/keep_figures.py`` in this process, in a folder of the test's own."""

from collections.abc import Callable
from typing import Any

import keep_figures
import pytest
from typer.testing import CliRunner


@pytest.fixture(autouse=True)
def _commands(commands: None) -> None:
    """The fixture of `command_line`, in every test of this folder."""


@pytest.fixture
def run_script() -> Callable[..., Any]:
    """``run_script(*args)``: a result with exit_code, stdout, stderr."""

    def call(*args: str) -> Any:
        result = CliRunner().invoke(keep_figures.app, list(args))
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    return call
