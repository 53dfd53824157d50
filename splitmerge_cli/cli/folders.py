"""Find runs and certificates in the folders that a user names."""

from pathlib import Path

import typer
from rich.table import Table

from splitmerge_cli.analysis.certificate import Certificate, find_certificates, open_certificate
from splitmerge_cli.cli.base import console, print_line
from splitmerge_cli.config import ConfigError
from splitmerge_cli.runs.store.read import Run, find_runs


def runs_in(path: Path) -> list[Run]:
    """Find the run of a folder, the runs below it, or the runs of its sweep or race; raise `ConfigError` without
    one."""
    runs = find_runs(path)
    if not runs and certificates_in(path):
        raise ConfigError(
            f"{path}: this is a certificate, not a run; expected runs (smcmc diagnose {path} shows the certificate)"
        )
    if not runs:
        raise ConfigError(
            f"{path}: no run here; expected a folder that smcmc run, sweep, race or certify printed, or a folder "
            "above it"
        )
    return runs


def certificates_in(path: Path) -> list[Path]:
    """The folders of certificates at or below a folder without runs."""
    return [] if find_runs(path) else find_certificates(path)


def show_certificates(paths: list[Path]) -> list[Path]:
    """Print the certificates among some folders, and return the other folders."""
    others = []
    for path in paths:
        certificates = certificates_in(path)
        for each in certificates:
            typer.echo(f"{each} (certificate)")
            show_certificate(open_certificate(each))
        if not certificates:
            others.append(path)
    return others


def show_certificate(certificate: Certificate) -> None:
    """Print the lines of a certificate, and the posterior means."""
    for line in certificate.lines():
        print_line(line)
    shown = certificate.shown_estimates()
    if len(shown):
        table = Table("posterior mean of", "estimate", "95 % interval", box=None)
        for row in shown:
            table.add_row(*row)
        console().print(table)
