"""Keep figures in docs/reproduction, check them, and pack them with their runs.

    python scripts/keep_figures.py keep ID|PAPER|all --scale paper --to FOLDER
    python scripts/keep_figures.py check ID|PAPER|all --kept FOLDER
    python scripts/keep_figures.py archive [ID|PAPER|all ...] --out FILE.zip
    python scripts/keep_figures.py archive --check FILE.zip [--figure ID]

`smcmc reproduce` makes what is kept and packed. The first exits with 2 if results are missing, the others with 1 if
something differs or is damaged.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from editions import archive as archives
from editions import kept
from editions.again import compare, reproduce_again

from splitmerge_cli import terminal
from splitmerge_cli.cli.base import ConfigDir, Edition, Figures, Out, Scale, Workers, complain, explain_errors
from splitmerge_cli.cli.figures import checked_scale
from splitmerge_cli.config import ConfigError
from splitmerge_cli.papers.declaration import figures, select
from splitmerge_cli.papers.reproduce import command
from splitmerge_cli.papers.verdict_tables import parsed_claims
from splitmerge_cli.received import reject_machine_error

KEPT = Path("docs/reproduction")

app = typer.Typer(name="keep_figures.py", help=__doc__, add_completion=False, pretty_exceptions_enable=False)


@app.command()
@explain_errors
def keep(
    ids: Figures,
    scale: Scale = "quick",
    out: Out = Path("results"),
    to: Annotated[Path, typer.Option("--to", metavar="FOLDER", help="Folder to keep them in.")] = KEPT,
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


@app.command()
@explain_errors
def check(
    ids: Figures,
    scale: Annotated[str | None, typer.Option("--scale", help="Size of the runs. Default: as kept.")] = None,
    out: Out = Path("results"),
    folder: Annotated[Path, typer.Option("--kept", metavar="FOLDER", help="What keep wrote.")] = KEPT,
    workers: Workers = None,
    edition: Edition = 1,
    config_dir: ConfigDir = None,
) -> None:
    """Compare every file with its digest, make the runs again in a new folder, and compare the claims."""
    folder = kept.kept_folder(folder, edition)
    read = kept.read_index(folder)
    # the whole folder is checked, because a figure is read together with its numbers and pictures
    damage = list(kept.find_damage(folder, read, whole=True))
    for line in damage:
        complain(f"{folder}: {line}")
    if damage:
        raise typer.Exit(1)
    index = read["figures"]
    names = [name for name in select(ids, config_dir) if name in ids or name in index]
    if not names:
        complain(f"{folder}: {', '.join(ids)}: not kept; {kept.COMMAND} keep {' '.join(ids)} --to {folder} adds them")
        raise typer.Exit(2)
    kept_claims = {name: kept.claims_of(folder, name) for name in names}
    for name, (_, kept_scale) in kept_claims.items():
        if "rules" not in index[name]:
            complain(f"{name}: no rules were kept, so a change of the rules would not be noticed")
        if scale not in (None, kept_scale):
            complain(
                f"{name}: kept at {kept_scale} scale, made again at {scale} scale; the runs differ, so intervals may "
                "not agree"
            )
    changed = kept.rule_changes(read, names, config_dir)
    for line in changed:
        complain(f"{folder}: rules: {line}")
    chosen = None if scale is None else checked_scale(scale)
    again = {name: (claims, chosen or kept_scale) for name, (claims, kept_scale) in kept_claims.items()}
    raise typer.Exit(max(_check_again(again, out, workers, config_dir, edition), int(bool(changed))))


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
            terminal.console(160).print(compared)
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
    workers: Workers = None,
    config_dir: ConfigDir = None,
) -> None:
    """Pack figures with their runs and claims (RO-Crate), or verify an archive."""
    if (check is None) == (out is None):
        example = "archive sdds --out sdds.zip writes one, archive --check sdds.zip verifies it"
        raise ConfigError(f"expected --out FILE.zip or --check FILE.zip: {example}")
    if check is not None:
        if ids:
            raise ConfigError(f"{ids[0]}: expected --figure {ids[0]}, because --check takes one figure")
        raise typer.Exit(_check_archive(check, figure, results, workers, config_dir))

    assert out is not None
    if figure is not None:
        raise ConfigError(
            f"--figure {figure}: expected --check with it (archive {figure} --out {out} packs the figure)"
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


if __name__ == "__main__":
    app()
