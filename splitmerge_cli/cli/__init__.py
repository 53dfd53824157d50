"""The command line: typer commands, nothing else.

Modules are imported where they are used, so that ``--help`` is quick.
"""

from splitmerge_cli.cli import running  # noqa: I001 - the order of the commands in the help
from splitmerge_cli.cli import certificates
from splitmerge_cli.cli import races
from splitmerge_cli.cli import shards
from splitmerge_cli.cli import results
from splitmerge_cli.cli import comparing
from splitmerge_cli.cli import kept
from splitmerge_cli.cli import lists
from splitmerge_cli.cli import posteriors
from splitmerge_cli.cli.base import app

__all__ = ["app", "certificates", "comparing", "kept", "lists", "posteriors", "races", "results", "running", "shards"]
