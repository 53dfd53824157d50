"""Reproduce, draw and report: from the name of a figure to its runs, its picture and its verdicts.

An experiment file ``conf/experiment/ID.yaml`` holds the settings of a figure's runs. Its ``hydra.sweeper.params`` are
the grid that every scale shares; ``reproduce.quick`` and ``reproduce.paper`` are lists of further overrides, each of
which is expanded together with that grid. ``reproduce.each`` names settings that every one of them runs in turn, or
those that an entry names itself (``each``); what a setting says stands in place of the grid's. A figure that is drawn
from the runs of others names them (``reproduce.of``), and which settings it needs (``reproduce.only``); it may add runs
of its own. ``reproduce.stand_in`` says what is generated at quick scale where a published data set is absent. An exact
figure has no ``reproduce``: its table is computed and stored.
"""

import difflib
import shlex
import sys
from collections.abc import Mapping, Sequence, Set
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import pandas as pd
from hydra.utils import get_method
from omegaconf import DictConfig, OmegaConf
from rich.console import Console

from splitmerge_cli.config import ConfigError, compose, describe, plain
from splitmerge_cli.data.base import DataError
from splitmerge_cli.data.published import sets
from splitmerge_cli.figures import claims
from splitmerge_cli.figures.base import Drawing, Entry, manifest_of
from splitmerge_cli.results.files import replaced
from splitmerge_cli.results.manifest import MANIFEST, Manifest, write_manifest
from splitmerge_cli.results.store import STATUS
from splitmerge_cli.sweep import JobOutcome, expand, find_job, interruption, open_run, run_jobs

FOLDER = "figures"
TABLE = "table.csv"


def list_figures() -> list[tuple[str, str]]:
    """Id and title of every figure and table."""
    return describe("experiment")


def entries() -> dict[str, Entry]:
    """How each figure is drawn, by its id."""
    # they bring in matplotlib: late, so that lists and completion are quick
    from splitmerge_cli.figures import arm, lshsm, sdds, smag, triadic

    papers = (sdds, lshsm, smag, arm, triadic)
    return {entry.id: entry for paper in papers for entry in paper.FIGURES}


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
            papers = ", ".join(dict.fromkeys(i.partition("-")[0] for i in known))
            raise ConfigError(f"{name}: no such figure; expected all, {papers}, or one of {', '.join(known)}.{hint}")
        chosen += found
    return list(dict.fromkeys(chosen))


def jobs(name: str, scale: str, out: Path, stand_in: bool = False) -> list[list[str]]:
    """Overrides of every run that a figure needs; none for an exact figure.

    `stand_in`: with generated data in place of the published ones, for an experiment that has such.
    """
    own = _plan(name)
    found = []
    for source in own["of"]:
        found += _jobs_of(source, scale, stand_in, own.get("only"))
    found += _jobs_of(name, scale, stand_in)
    # of a network that stands in for a published one there is one size
    return [[*job, _out(out)] for job in dict.fromkeys(map(tuple, found))]


def _jobs_of(source: str, scale: str, stand_in: bool, only: Sequence[str] | None = None) -> list[list[str]]:
    """The jobs of an experiment's own entries at a scale; `only`: of these settings."""
    plan = _plan(source)
    found = []
    for entry in plan.get(scale, []):
        for chosen in entry.get("each", plan["each"]):
            if only is None or chosen in only:
                setting = plan["each"][chosen]
                grid = _without(entry | plan["shared"], {"each", *setting}) | setting
                found += [[f"experiment={source}", *job] for job in expand(_overrides(grid))]
    return [_stood_in(job, plan["stand_in"]) for job in found] if stand_in else found


def _stood_in(job: Sequence[str], stand_ins: Sequence[Mapping[str, Any]]) -> list[str]:
    """A job with generated data in place of the published ones, where those are absent.

    A job names its published set; one that names no data has the only one, that of the experiment.
    """
    of_experiment = len(stand_ins) == 1 and not any(override.startswith("data=") for override in job)
    for instead in stand_ins:
        of_job = f"data={instead['published']}"
        if of_job in job or of_experiment:
            kept = [_renamed(override, instead.get("keys", {})) for override in job[1:] if override != of_job]
            return [job[0], f"data={instead['data']}", *filter(None, kept), *_overrides(instead.get("set", {}))]
    return list(job)


def _plan(name: str) -> dict[str, Any]:
    """What an experiment's file has under ``reproduce``; its grid as `shared`, and `each` with one nameless setting."""
    file = resources.files("splitmerge_cli.conf.experiment") / f"{name}.yaml"
    settings = OmegaConf.create(file.read_text(encoding="utf-8"))
    assert isinstance(settings, DictConfig)
    values = plain(settings, resolve=False)
    shared = OmegaConf.select(settings, "hydra.sweeper.params") or {}
    plan = {"each": {"": {}}, "shared": dict(shared)} | values.get("reproduce", {})
    of = plan.get("of", [])
    plan["of"] = [of] if isinstance(of, str) else list(of)
    if "stand_in" not in plan:
        plan["stand_in"] = [instead for source in plan["of"] for instead in _plan(source)["stand_in"]]
    if isinstance(plan["stand_in"], Mapping):
        plan["stand_in"] = [plan["stand_in"]]
    return plan


def _without(grid: Mapping[str, object], keys: Set[str]) -> dict[str, object]:
    return {key: value for key, value in grid.items() if key not in keys}


def _renamed(override: str, keys: Mapping[str, str | None]) -> str:
    """An override under another key; empty if that is null."""
    key, _, value = override.partition("=")
    new = keys.get(key, key)
    return f"{new}={value}" if new else ""


def _needs_stand_in(name: str, scale: str) -> bool:
    """Whether generated data stand in for the published ones of a figure: at quick scale, where these are absent.

    Raises
    ------
    ConfigError
        They are absent at another scale.
    """
    own = _plan(name)
    sources = dict.fromkeys([*own["of"], name])
    absent = [
        str(instead["published"])
        for source in sources
        for instead in _plan(source)["stand_in"]
        if not sets.present(instead["published"])
    ]
    if not absent:
        return False
    if scale != "quick":
        where = sets.folder() / absent[0]
        raise ConfigError(
            f"{name} --scale {scale}: {where}: the published data are not there; expected them in the folder that the "
            f"environment variable {sets.VARIABLE} names (smcmc data info {absent[0]} says where they "
            "come from; --scale quick generates others)"
        )
    return True


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
        Exit status: 0, or 1 if a run failed (the other figures are drawn all the same), 130 after an interruption
        (nothing is drawn).

    Raises
    ------
    ConfigError
        An unknown figure, or an experiment that cannot be run.
    """
    names, out, status = select(ids), Path(out), 0
    known = entries()
    wanted = {name: jobs(name, scale, out, _needs_stand_in(name, scale)) for name in names}
    # figures may share runs
    distinct = list(dict.fromkeys(tuple(job) for each in wanted.values() for job in each))
    outcomes = dict(zip(distinct, run_jobs(distinct, workers), strict=True))
    if refused := [o for o in outcomes.values() if o.status == "refused"]:
        raise ConfigError(f"{' '.join(refused[0].overrides)}: {refused[0].error}")
    if line := interruption(list(outcomes.values())):
        print(f"smcmc: {line}; the same command continues it", file=sys.stderr)
        return 130
    for name in names:
        own = [outcomes[tuple(job)] for job in wanted[name]]
        incomplete = [o for o in own if not o.complete]
        if incomplete:
            _explain(name, incomplete, len(own))
            status = 1
            continue
        if known[name].compute:
            _compute(known[name], out)
        _draw(known[name], [o.path for o in own if o.path], scale, out)
    return status


def _explain(name: str, incomplete: Sequence[JobOutcome], runs: int) -> None:
    """One line on the runs that a figure lacks."""
    first = incomplete[0]
    where = " ".join(first.overrides)
    others = "" if len(incomplete) == 1 else f" (the first of {len(incomplete)} that failed)"
    print(f"smcmc: {name}: {len(incomplete)} of {runs} runs failed: {where}: {first.error}{others}", file=sys.stderr)


def _compute(entry: Entry, out: Path) -> None:
    assert entry.compute is not None
    table = get_method(f"splitmerge_cli.figures.{entry.compute}")(compose([f"experiment={entry.id}", _out(out)]))
    (out / entry.id).mkdir(parents=True, exist_ok=True)
    _write_csv(table, out / entry.id / TABLE)
    write_manifest(out / entry.id / MANIFEST, [TABLE])


def _write_csv(frame: pd.DataFrame, path: Path) -> None:
    with replaced(path) as part:
        frame.to_csv(part, index=False)


def _draw(entry: Entry, runs: Sequence[Path], scale: str, out: Path) -> None:
    """Draw a figure from what is stored; write picture, data and verdicts, and print the verdicts."""
    from splitmerge_cli.figures.style import save, styled

    with styled():
        if entry.compute:
            remedy = f"{command([entry.id], scale, out)} computes it anew"
            table = Manifest(out / entry.id / MANIFEST, remedy).check(TABLE)
            drawing = entry.draw(pd.read_csv(table, keep_default_na=False))
        else:
            drawing = entry.draw([open_run(path) for path in runs])
        paths = save(drawing.figure, out / FOLDER / entry.id)
    paths += _write_tables(entry.id, drawing, scale, out / FOLDER)
    write_manifest(manifest_of(out / FOLDER, entry.id), [path.name for path in paths])
    console = Console() if sys.stdout.isatty() else Console(width=200)
    console.print(claims.table(claims.frame(drawing.verdicts, scale)))
    for path in paths:
        print(path)


def _write_tables(name: str, drawing: Drawing, scale: str, folder: Path) -> list[Path]:
    paths = [folder / f"{name}.csv", folder / f"{name}-claims.csv"]
    _write_csv(drawing.plotted, paths[0])
    _write_csv(claims.frame(drawing.verdicts, scale), paths[1])
    return paths


def plot(
    targets: Sequence[str],
    scale: str = "quick",
    out: str | Path = "results",
    config_dir: str | Path | None = None,
) -> int:
    """Draw from stored results only.

    Parameters
    ----------
    targets : sequence of str
        Figures as for `reproduce`, and folders of runs (their traces are drawn into the folder, and their points in
        two dimensions or their network with the clusters found).
    scale : {"quick", "paper"}
        Which runs of a figure.
    out : str or Path
        The folder of the results.
    config_dir : str or Path, optional
        The folder of the user's own groups, for runs that name one of them.

    Returns
    -------
    int
        Exit status: 0, or 2 if results are missing (the command that makes them is then printed) or the data that a
        figure shows.

    Raises
    ------
    ConfigError, DataError
        An unknown figure; the configuration of a given run is none that could be run; its data cannot be loaded again.
    DamagedRun
        A file of a run is not what was written.
    """
    out = Path(out)
    runs = [Path(target) for target in targets if (Path(target) / STATUS).is_file()]
    names = select([target for target in targets if not (Path(target) / STATUS).is_file()])
    missing, status = [], 0
    known, finished = entries(), _Finished()
    for name in names:
        found = finished.all(jobs(name, scale, out))
        if found is None and scale == "quick":
            found = finished.all(jobs(name, scale, out, stand_in=True))
        if found is None or (known[name].compute and not (out / name / TABLE).is_file()):
            missing.append(name)
            continue
        try:
            _draw(known[name], found, scale, out)
        except DataError as error:
            print(f"smcmc: {name}: {error}", file=sys.stderr)
            status = 2
    for path in runs:
        _plot_run(path, config_dir)
    if missing:
        which = f"{', '.join(missing)}: results are missing"
        print(f"smcmc: {which}; this makes them: {command(missing, scale, out)}", file=sys.stderr)
        status = 2
    return status


class _Finished:
    """Looks up finished jobs, each once: figures may share runs."""

    def __init__(self) -> None:
        self.path = cache(find_job)

    def all(self, wanted: Sequence[Sequence[str]]) -> list[Path] | None:
        """The folders of all jobs; None as soon as one is missing."""
        paths = []
        for job in wanted:
            path = self.path(tuple(job))
            if path is None:
                return None
            paths.append(path)
        return paths


def _plot_run(path: Path, config_dir: str | Path | None) -> None:
    from splitmerge_cli.figures.run import pictures
    from splitmerge_cli.figures.style import save, styled

    with styled():
        for name, figure in pictures(open_run(path, config_dir)):
            for written in save(figure, path / name):
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

    Raises
    ------
    DamagedRun
        A file of a figure is not what was written.
    """
    from splitmerge_cli.figures.page import page

    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    path = out / "report.html"
    captions = {name: entry.caption for name, entry in entries().items()}
    with replaced(path) as part:
        part.write_text(page(list_figures(), captions, out / FOLDER, out), encoding="utf-8")
    return path
