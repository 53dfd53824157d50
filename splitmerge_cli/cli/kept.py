"""Commands on what is kept of figures: the kept reproduction, and archives."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from splitmerge_cli.cli.base import (
    ConfigDir,
    Edition,
    Figures,
    Out,
    Scale,
    app,
    complain,
    console,
    explain_errors,
)
from splitmerge_cli.config import ConfigError
from splitmerge_cli.papers import archive as archives
from splitmerge_cli.papers import kept
from splitmerge_cli.papers.again import compare, reproduce_again
from splitmerge_cli.papers.discovery import figures, select
from splitmerge_cli.papers.editions import kept_folder
from splitmerge_cli.papers.reproduce import command
from splitmerge_cli.papers.verdict_tables import parsed_claims
from splitmerge_cli.received import reject_machine_error


@app.command()
@explain_errors
def keep(
    ids: Figures,
    scale: Scale = "quick",
    out: Out = Path("results"),
    to: Annotated[Path, typer.Option("--to", metavar="FOLDER", help="Folder to keep them in.")] = Path(
        "docs/reproduction"
    ),
    edition: Edition = 1,
    config_dir: ConfigDir = None,
) -> None:
    """Keep pictures, numbers and claims of figures, small enough for a repository.

    Edition N (from 2 on) is kept in the subfolder edition-N.
    """

    to, done, missing = kept.keep_edition(ids, checked_scale(scale), out, to, config_dir, edition)
    size = sum(file.stat().st_size for file in to.iterdir() if file.is_file())
    typer.echo(f"{to}: {len(done)} figures kept, {size / 1e6:.1f} MB in all")
    if missing:
        complain(
            f"{', '.join(missing)}: results are missing; {command(missing, scale, out, config_dir, edition)} makes them"
        )
        raise typer.Exit(2)


def check_kept(
    ids: Sequence[str],
    scale: str | None,
    out: Path,
    folder: Path,
    workers: int | None,
    config_dir: str | None,
    edition: int = 1,
) -> int:
    """Make figures again and compare them with the kept ones; return the exit status, 1 if something differs."""
    folder = kept_folder(folder, edition)
    read = kept.read_index(folder)
    # the whole folder is checked, because a figure is read together with its numbers and pictures
    damage = list(kept.find_damage(folder, read, whole=True))
    for line in damage:
        complain(f"{folder}: {line}")
    if damage:
        return 1
    index = read["figures"]
    names = [name for name in select(ids, config_dir) if name in ids or name in index]
    kept_claims = {name: kept.claims_of(folder, name) for name in names}
    for name in kept_claims:
        if "rules" not in index[name]:
            complain(f"{name}: no rules were kept, so a change of the rules would not be noticed")
    changed = kept.rule_changes(read, list(kept_claims), config_dir)
    for line in changed:
        complain(f"{folder}: rules: {line}")
    if not kept_claims:
        complain(f"{folder}: {', '.join(ids)}: not kept; smcmc keep {' '.join(ids)} --to {folder} adds them")
        return 2
    for name, (_, kept_scale) in kept_claims.items():
        if scale not in (None, kept_scale):
            complain(
                f"{name}: kept at {kept_scale} scale, made again at {scale} scale; the runs differ, so intervals may "
                "not agree"
            )
    figures = {name: (claims, scale or kept_scale) for name, (claims, kept_scale) in kept_claims.items()}
    return max(_check_again(figures, out, workers, config_dir, edition), int(bool(changed)))


def _check_again(
    figures: Mapping[str, tuple[pd.DataFrame, str]],
    out: Path,
    workers: int | None,
    config_dir: str | None,
    edition: int = 1,
) -> int:
    """Make figures in a new folder of `out`, and compare them with their kept claims."""
    new = out / f"check-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    status, lines = 0, []
    for scale in dict.fromkeys(scale for _, scale in figures.values()):
        names = [name for name, (_, kept_scale) in figures.items() if kept_scale == scale]
        failed, claims = reproduce_again(names, scale, new, workers, config_dir, edition)
        if failed:
            return failed
        for name in names:
            compared = compare(name, figures[name][0], claims[name])
            console().print(compared)
            lines.append(compared.line())
            status = max(status, int(not compared.good))
    for line in lines:
        typer.echo(line)
    return status


@app.command()
@explain_errors
def archive(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID|PAPER|all]...", show_default=False, help="Figures to pack.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE.zip", help="The archive to write.")] = None,
    check: Annotated[
        Path | None,
        typer.Option("--check", metavar="FILE.zip", help="Verify an archive, and make one of its figures again."),
    ] = None,
    figure: Annotated[
        str | None,
        typer.Option("--figure", metavar="ID", help="With --check, make this figure again. Default: the cheapest."),
    ] = None,
    scale: Scale = "quick",
    results: Annotated[Path, typer.Option("--results", help="The folder of the results.")] = Path("results"),
    workers: Annotated[int | None, typer.Option(min=1, help="With --check, number of runs at the same time.")] = None,
    config_dir: ConfigDir = None,
) -> None:
    """Pack figures with their runs and claims (RO-Crate), or verify an archive."""
    if (check is None) == (out is None):
        example = "smcmc archive sdds --out sdds.zip writes one, smcmc archive --check sdds.zip verifies it"
        raise ConfigError(f"expected --out FILE.zip or --check FILE.zip: {example}")
    if check is not None:
        if ids:
            raise ConfigError(f"{ids[0]}: expected --figure {ids[0]}, because --check takes one figure")
        raise typer.Exit(_check_archive(check, figure, results, workers, config_dir))

    assert out is not None
    if figure is not None:
        raise ConfigError(
            f"--figure {figure}: expected --check with it (smcmc archive {figure} --out {out} packs the figure)"
        )
    names, digest = archives.write(ids or ["all"], checked_scale(scale), results, out, config_dir)
    typer.echo(f"{out}: {', '.join(names)}; {out.stat().st_size / 1e6:.1f} MB, SHA-256 {digest}")


def _check_archive(file: Path, figure: str | None, results: Path, workers: int | None, config_dir: str | None) -> int:
    """Verify an archive; make one of its figures again if nothing is damaged."""
    contents = archives.check(file)
    for line in contents.damage:
        complain(f"{file}: {line}")
    if contents.damage:
        return 1
    typer.echo(f"{file}: all {contents.files} files are unchanged; figures: {', '.join(contents.figures)}")
    known = {name: facts for name, facts in contents.figures.items() if name in figures(config_dir)}
    name = figure or (archives.cheapest(known) if known else "")
    if name not in known or name not in contents.claims:
        raise ConfigError(
            f"{file}: {name or 'figures'}: expected one of {', '.join(known) or 'the names of smcmc list'}"
        )
    try:
        claims = parsed_claims(BytesIO(contents.claims[name]))
    except Exception as error:  # digests that fit what is no table
        reject_machine_error(error, file)
        raise ConfigError(f"{file}: {name}-claims.csv: expected the claims of a figure") from error
    return _check_again({name: (claims, known[name]["scale"])}, results, workers, config_dir)


def checked_scale(scale: str) -> str:

    if scale not in ("quick", "paper"):
        raise ConfigError(f"--scale {scale}: expected quick or paper")
    return scale
