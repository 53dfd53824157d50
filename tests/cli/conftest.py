import pytest


@pytest.fixture(autouse=True)
def _commands(commands: None) -> None:
    """The fixture of `command_line`, in every test of this folder."""
