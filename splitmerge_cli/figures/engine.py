"""Reproduce, draw and report: from the name of a figure to its runs, its picture and its verdicts.

An experiment file ``conf/experiment/ID.yaml`` holds the settings of a figure's runs. Its ``hydra.sweeper.params`` are
the grid that every scale shares; ``reproduce.quick`` and ``reproduce.paper`` are lists of further overrides, each of
which is expanded together with that grid. An exact figure has no ``reproduce``: its table is computed and stored.
"""

import difflib
import shlex
import sys
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path

import pandas as pd
from omegaconf import OmegaConf
from rich.console import Console

from splitmerge_cli.config import ConfigError, compose, describe
from splitmerge_cli.figures import claims
from splitmerge_cli.figures.base import Drawing, Entry
from splitmerge_cli.results.files import replaced
from splitmerge_cli.results.read import Run
from splitmerge_cli.results.store import STATUS
from splitmerge_cli.sweep import JobOutcome, expand, find_job, run_jobs

FOLDER = "figures"
TABLE = "table.csv"


def list_figures() -> list[tuple[str, str]]:
    """Id and title of every figure and table."""
    return describe("experiment")


def entries() -> dict[str, Entry]:
    """How each figure is drawn, by its id."""
    from splitmerge_cli.figures import sdds  # brings in matplotlib: late, so that lists and completion are quick

    return {entry.id: entry for entry in sdds.FIGURES}


def select(names: Sequence[str]) -> list[str]:
    """Ids that `names` ask for: ids, papers (``sdds``), or ``all``.

    Raises
    ------
    ConfigError
        A name that is none of these.
    """
    known = [name for name, _ in list_figures()]
    chosen: list[str] = []
    for name in names:
        found = [i for i in known if name in ("all", i, i.partition("-")[0])]
        if not found:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise ConfigError(f"{name}: no such figure; expected all, sdds, or one of {', '.join(known)}.{hint}")
        chosen += found
    return list(dict.fromkeys(chosen))


def jobs(name: str, scale: str, out: Path) -> list[list[str]]:
    """Overrides of every run that a figure needs; none for an exact figure."""
    file = resources.files("splitmerge_cli.conf.experiment") / f"{name}.yaml"
    settings = OmegaConf.create(file.read_text(encoding="utf-8"))
    shared = _overrides(OmegaConf.select(settings, "hydra.sweeper.params") or {})
    return [
        [f"experiment={name}", *job, _out(out)]
        for grid in OmegaConf.select(settings, f"reproduce.{scale}") or []
        for job in expand([*_overrides(grid), *shared])
    ]


def _overrides(grid: Mapping[str, object]) -> list[str]:
    return [f"{key}={value}" for key, value in grid.items()]


def _out(out: Path) -> str:
    # quoted: a path may hold what Hydra's grammar reads otherwise
    return "out='{}'".format(str(out).replace("'", "\\'"))


def command(names: Sequence[str], scale: str, out: Path) -> str:
    """The command that makes these figures from nothing."""
    where = "" if str(out) == "results" else f" --out {shlex.quote(str(out))}"
    return f"smcmc reproduce {' '.join(names)} --scale {scale}{where}"


def reproduce(ids: Sequence[str], scale: str = "quick", out: str | Path = "results", workers: int | None = None) -> int:
    """Run what figures need and is not there yet, draw them, and check their claims.

    Parameters
    ----------
    ids : sequence of str
        See `select`.
    scale : {"quick", "paper"}
    out : str or Path
        The folder of the results.
    workers : int, optional
        Runs at the same time; one per processor by default.

    Returns
    -------
    int
        Exit status: 0, or 1 if a run failed (the other figures are drawn all the same), 130 after an interruption.

    Raises
    ------
    ConfigError
        An unknown figure, or an experiment that cannot be run.
    """
    names, out, status = select(ids), Path(out), 0
    known = entries()
    wanted = {name: jobs(name, scale, out) for name in names}
    outcomes = run_jobs([job for each in wanted.values() for job in each], workers)
    if refused := [o for o in outcomes if o.status == "refused"]:
        raise ConfigError(f"{' '.join(refused[0].overrides)}: {refused[0].error}")
    for name in names:
        own, outcomes = outcomes[: len(wanted[name])], outcomes[len(wanted[name]) :]
        incomplete = [o for o in own if not o.complete]
        if incomplete:
            _explain(name, incomplete)
            status = max(status, 130 if any(o.status == "interrupted" for o in incomplete) else 1)
            continue
        if known[name].compute:
            _compute(known[name], out)
        _draw(known[name], [o.path for o in own if o.path], scale, out)
    return status


def _explain(name: str, incomplete: Sequence[JobOutcome]) -> None:
    for outcome in incomplete:
        where = " ".join(outcome.overrides)
        print(f"smcmc: {name}: {where}: {outcome.status}: {outcome.error or ''}", file=sys.stderr)


def _compute(entry: Entry, out: Path) -> None:
    from splitmerge_cli.figures import exact

    assert entry.compute is not None
    table = getattr(exact, entry.compute)(compose([f"experiment={entry.id}", _out(out)]))
    (out / entry.id).mkdir(parents=True, exist_ok=True)
    _write_csv(table, out / entry.id / TABLE)


def _write_csv(frame: pd.DataFrame, path: Path) -> None:
    with replaced(path) as part:
        frame.to_csv(part, index=False)


def _draw(entry: Entry, runs: Sequence[Path], scale: str, out: Path) -> None:
    """Draw a figure from what is stored; write picture, data and verdicts, and print the verdicts."""
    from splitmerge_cli.figures.style import save, styled

    with styled():
        if entry.compute:
            drawing = entry.draw(pd.read_csv(out / entry.id / TABLE, keep_default_na=False))
        else:
            drawing = entry.draw([Run(path) for path in runs])
        paths = save(drawing.figure, out / FOLDER / entry.id)
    paths += _write_tables(entry.id, drawing, scale, out / FOLDER)
    console = Console() if sys.stdout.isatty() else Console(width=200)
    console.print(claims.table(claims.frame(drawing.verdicts, scale)))
    for path in paths:
        print(path)


def _write_tables(name: str, drawing: Drawing, scale: str, folder: Path) -> list[Path]:
    paths = [folder / f"{name}.csv", folder / f"{name}-claims.csv"]
    _write_csv(drawing.plotted, paths[0])
    _write_csv(claims.frame(drawing.verdicts, scale), paths[1])
    return paths


def plot(targets: Sequence[str], scale: str = "quick", out: str | Path = "results") -> int:
    """Draw from stored results only.

    Parameters
    ----------
    targets : sequence of str
        Figures as for `reproduce`, and folders of runs (their traces are drawn into the folder).
    scale : {"quick", "paper"}
        Which runs of a figure.
    out : str or Path
        The folder of the results.

    Returns
    -------
    int
        Exit status: 0, or 2 if results are missing; the command that makes them is then printed.
    """
    out = Path(out)
    runs = [Path(target) for target in targets if (Path(target) / STATUS).is_file()]
    names = select([target for target in targets if not (Path(target) / STATUS).is_file()])
    missing = []
    known = entries()
    for name in names:
        found = _finished(jobs(name, scale, out))
        if found is None or (known[name].compute and not (out / name / TABLE).is_file()):
            missing.append(name)
        else:
            _draw(known[name], found, scale, out)
    for path in runs:
        _plot_run(path)
    if missing:
        which = f"{', '.join(missing)}: results are missing"
        print(f"smcmc: {which}; this makes them: {command(missing, scale, out)}", file=sys.stderr)
        return 2
    return 0


def _finished(wanted: Sequence[Sequence[str]]) -> list[Path] | None:
    """The folders of all jobs; None as soon as one is missing."""
    paths = []
    for job in wanted:
        path = find_job(job)
        if path is None:
            return None
        paths.append(path)
    return paths


def _plot_run(path: Path) -> None:
    from splitmerge_cli.figures.run import traces
    from splitmerge_cli.figures.style import save, styled

    with styled():
        figure = traces(Run(path))
        for written in save(figure, path / "traces"):
            print(written)


def report(out: str | Path = "results") -> Path:
    """Write one page with every figure that was drawn, its claims and verdicts, and the errata.

    Parameters
    ----------
    out : str or Path
        The folder of the results.

    Returns
    -------
    Path
        ``OUT/report.html``, which holds its pictures and opens without a server.
    """
    from splitmerge_cli.figures.page import page

    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    path = out / "report.html"
    captions = {name: entry.caption for name, entry in entries().items()}
    with replaced(path) as part:
        part.write_text(page(list_figures(), captions, out / FOLDER, out), encoding="utf-8")
    return path
