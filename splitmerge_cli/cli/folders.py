"""The runs and certificates in folders that a user names."""

from pathlib import Path

import typer
from rich.table import Table

from splitmerge_cli.analysis.certificate import Certificate, find_certificates, open_certificate
from splitmerge_cli.cli.base import console
from splitmerge_cli.config import ConfigError
from splitmerge_cli.runs.store.read import Run, find_runs


def runs_in(path: Path) -> list[Run]:
    """Find the run of a folder, those below it, or those of its sweep or race; raises `ConfigError` without one."""
    found = find_runs(path)
    if not found and certificates_in(path):
        raise ConfigError(
            f"{path}: a certificate, whose coupled chains are no runs; expected runs (smcmc diagnose {path} shows it)"
        )
    if not found:
        raise ConfigError(
            f"{path}: no run here; expected a folder that smcmc run, sweep, race or certify printed, or one above"
        )
    return found


def certificates_in(path: Path) -> list[Path]:
    """The folders of certificates at or below a folder without runs."""
    return [] if find_runs(path) else find_certificates(path)


def show_certificates(paths: list[Path]) -> list[Path]:
    """Print the certificates among some folders, and return the other folders."""
    others = []
    for path in paths:
        found = certificates_in(path)
        for each in found:
            typer.echo(f"{each} (certificate)")
            show_certificate(open_certificate(each))
        if not found:
            others.append(path)
    return others


def show_certificate(found: Certificate) -> None:
    """Print the lines of a certificate, and the posterior means."""
    for line in found.lines():
        typer.echo(line)
    shown = found.shown_estimates()
    if len(shown):
        table = Table("posterior mean of", "estimate", "95 % interval", box=None)
        for row in shown:
            table.add_row(*row)
        console().print(table)
