"""The command line: typer commands, nothing else. The module of a command is imported when it is called."""

from importlib import import_module

from splitmerge_cli.cli.base import COMMANDS, app

__all__ = ["app", "import_all"]


def import_all() -> None:
    """Import the modules of all commands, as pages and tests about them need it."""
    for command in COMMANDS.values():
        import_module(f"splitmerge_cli.cli.{command.module}")
