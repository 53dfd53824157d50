"""Reproduce and plot: from the name of a figure to its runs, its picture and its verdicts."""

import inspect
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pandas as pd

from splitmerge_cli import received, terminal
from splitmerge_cli.analysis.plots.run import all_pictures, available, pictures
from splitmerge_cli.analysis.plots.style import absent_letters, save, use_style
from splitmerge_cli.config import ConfigError, compose, specify
from splitmerge_cli.overrides import shell_word
from splitmerge_cli.papers import experiments
from splitmerge_cli.papers.claims import published_claims
from splitmerge_cli.papers.declaration import PaperFigure, figures, function_of, paper_of, select
from splitmerge_cli.papers.drawing import Drawing, caption_of, manifest_of
from splitmerge_cli.papers.verdict_tables import VerdictTable, frame, limit_to_quick, summarise, units_frame
from splitmerge_cli.runs.initial import open_run
from splitmerge_cli.runs.store import manifest, read
from splitmerge_cli.runs.store.files import STATUS, replace_file, write_text
from splitmerge_cli.runs.sweeps.sweep import find_run, interruption, read_jobs, run_jobs

TABLE = "table.csv"


def command(names: Sequence[str], scale: str, out: Path, config_dir: str | Path | None = None, edition: int = 1) -> str:
    """The command that makes these figures from nothing."""
    of_edition = "" if edition == 1 else f" --edition {edition}"
    return f"smcmc reproduce {' '.join(names)} --scale {scale}{of_edition}{folders(out, config_dir)}"


def folders(out: str | Path, config_dir: str | Path | None) -> str:
    """Return a command's options for the results folder and for the user's own configuration folder."""
    named = "" if str(out) == "results" else f" --out {shell_word(str(out))}"
    return named if config_dir is None else f"{named} --config-dir {shell_word(str(config_dir))}"


def reproduce(
    ids: Sequence[str],
    scale: str = "quick",
    out: str | Path = "results",
    workers: int | None = None,
    config_dir: str | Path | None = None,
    edition: int = 1,
    overrides: Sequence[str] = (),
    everything: bool = False,
) -> int:
    """Run what figures need and is not there yet, draw them, and check their claims.

    `ids` as `splitmerge_cli.papers.declaration.select` takes them, at a `scale` of quick or paper; results are in the
    folder `out`. So many `workers` make runs at the same time, by default one per processor; runs whose seconds count
    are made one at a time, after the others (`splitmerge_cli.papers.experiments.timed_jobs`). `config_dir` is a folder
    of the user's own, with its groups, and its paper if it holds one; `edition` says whose seeds (`shift_seeds`);
    `overrides` take the place of what the runs have. With `everything` all claims are printed with their reasons and
    other readings, not the few lines of `summarise`.

    Returns the exit status: 0, or 1 if a run failed (the other figures are drawn all the same), 130 after an
    interruption (nothing is drawn). A `ConfigError` of an unknown figure, or an experiment that cannot be run.
    """
    names, out, status = select(ids, config_dir), Path(out), 0
    known, overrides = figures(config_dir), experiments.check_overrides(overrides)
    for name in names:
        function_of(known[name], known[name].draw)  # what cannot be drawn fails before hours of runs
    # likewise an override that an exact figure has no key for
    more = [experiments.out_override(out), *overrides]
    specs = {name: compose([f"experiment={name}", *more], config_dir) for name in names if known[name].compute}
    wanted, timed = _plan(names, scale, out, config_dir, edition, overrides)
    # figures may share runs
    distinct = list(dict.fromkeys(job for each in wanted.values() for job in each))
    specs_of, rejected = read_jobs(distinct, config_dir)
    made = rejected or run_jobs(specs_of, workers, timed=timed)
    if rejected := [o for o in made if o.status == "rejected"]:
        raise ConfigError(f"{' '.join(rejected[0].overrides)}: {rejected[0].error}")
    outcomes = dict(zip(distinct, made, strict=True))
    if line := interruption(list(outcomes.values())):
        print(f"smcmc: {line}; the same command continues it", file=sys.stderr)
        return 130
    folder = out / (experiments.figures_folder(edition) + experiments.folder_suffix(overrides))
    tables = folder if overrides else out
    for name in names:
        figure_outcomes = [outcomes[job] for job in wanted[name]]
        incomplete = [o for o in figure_outcomes if not o.complete]
        if incomplete:
            failed = f"{len(incomplete)} of {len(figure_outcomes)} runs failed: {' '.join(incomplete[0].overrides)}"
            others = "" if len(incomplete) == 1 else f" (the first of {len(incomplete)} that failed)"
            print(f"smcmc: {name}: {failed}: {incomplete[0].error}{others}", file=sys.stderr)
            status = 1
            continue
        if compute := known[name].compute:
            (tables / name).mkdir(parents=True, exist_ok=True)
            table_of, spec = function_of(known[name], compute), specs[name]
            parts = {key: getattr(spec, key, spec) for key in inspect.signature(table_of).parameters}
            _write_csv(table_of(**parts), tables / name / TABLE)
            manifest.write_manifest(tables / name / manifest.MANIFEST, [TABLE])
        paths = [o.path for o in figure_outcomes if o.path]
        _draw(known[name], paths, scale, tables, config_dir, folder, overrides, everything)
    return status


def _plan(
    names: Sequence[str],
    scale: str,
    out: Path,
    config_dir: str | Path | None,
    edition: int,
    overrides: Sequence[str],
) -> tuple[dict[str, list[tuple[str, ...]]], set[tuple[str, ...]]]:
    """Return the runs of every figure, each once, and the runs whose seconds count."""
    wanted, timed = {}, set()
    for name in names:
        which = name, scale, out, experiments.needs_stand_in(name, scale, config_dir), config_dir, edition
        words = experiments.jobs(*which)
        new = [tuple(job) for job in experiments.override_jobs(words, overrides, config_dir)]
        counted = experiments.timed_jobs(*which)
        timed |= {job for old, job in zip(words, new, strict=True) if tuple(old) in counted}
        # an override may make runs equal
        wanted[name] = list(dict.fromkeys(new))
    return wanted, timed


def _write_csv(frame: pd.DataFrame, path: Path) -> None:
    with replace_file(path) as part:
        frame.to_csv(part, index=False)


def _draw(
    entry: PaperFigure,
    runs: Sequence[Path | read.Run],
    scale: str,
    out: Path,
    config_dir: str | Path | None,
    folder: Path,
    overrides: Sequence[str] = (),
    everything: bool = False,
) -> None:
    """Draw a figure from what is stored; write picture, data and verdicts to a folder, and print the verdicts."""
    with use_style():
        drawing = draw_figure(entry, runs, scale, out, config_dir)
        paths = save(drawing.figure, folder / entry.id)
    claims = frame(drawing.verdicts, published_claims(entry.id), scale)
    if scale == "quick" and runs:
        lengths = [each.config["iterations"] for each in runs if isinstance(each, read.Run)]
        claims = limit_to_quick(claims, min(filter(None, lengths), default=0))
    tables = {"": drawing.plotted, "-claims": claims, "-units": units_frame(drawing.verdicts)}
    for end, table in tables.items():
        paths.append(folder / f"{entry.id}{end}.csv")
        _write_csv(table, paths[-1])
    paths.append(caption_of(folder, entry.id))
    changed = f"With {', '.join(overrides)} in place of the chosen settings." if overrides else ""
    write_text(paths[-1], "\n\n".join(filter(None, [entry.whole_caption, changed, drawing.notes])) + "\n")
    manifest.write_manifest(manifest_of(folder, entry.id), [path.name for path in paths])
    # a comparison has no verdicts
    if drawing.verdicts and everything:
        terminal.console(200).print(VerdictTable(claims))
    elif drawing.verdicts:
        place = dict(experiments.list_figures(config_dir))[entry.id].partition(":")[0]
        paper = paper_of(entry.id)
        named = f"{place} of {paper.name}" if paper is not None else place
        print("\n".join(summarise(claims, f"{named}, {scale} scale")))
    for path in paths if everything else paths[:1]:
        print(f"picture  {path}" if path.suffix == ".png" else path)
    if drawing.verdicts and not everything:
        print(f"claims   {folder / f'{entry.id}-claims.csv'} (rules, reasons, other readings)")


def draw_figure(
    entry: PaperFigure, runs: Sequence[Path | read.Run], scale: str, out: Path, config_dir: str | Path | None = None
) -> Drawing:
    """A figure, drawn in the style that is set, from its runs, or from its table in `out` where it is exact; errors as
    of `plot`."""
    draw = function_of(entry, entry.draw)
    if entry.compute:
        remedy = f"{command([entry.id], scale, out, config_dir)} computes it again"
        table = manifest.Manifest(out / entry.id / manifest.MANIFEST, remedy).check(TABLE)
        drawing: Drawing = draw(pd.read_csv(table, keep_default_na=False))
    else:
        drawing = draw([open_run(path, config_dir) for path in runs])
    return drawing


def plot(
    targets: Sequence[str],
    scale: str = "quick",
    out: str | Path = "results",
    config_dir: str | Path | None = None,
    only: Sequence[str] | None = None,
    edition: int = 1,
    column: bool = False,
    everything: bool = False,
) -> int:
    """Draw from stored results only: figures as for `reproduce`, and what `splitmerge_cli.analysis.plots.run.PICTURES`
    draws of folders of runs, into these.

    `only` names pictures of a run, by default all that it has; with `column` they are drawn at the width of a column,
    those that can be read so. Other parameters as for `reproduce`.

    Returns the exit status: 0, or 2 if results are missing (the command that makes them is then printed), or the data
    that a figure shows. A `ConfigError` of an unknown figure or a run that could not be configured, a `DataError` of
    data that cannot be loaded again, a `DamagedRun` of a file that is not what was written.
    """
    out = Path(out)
    runs = [Path(target) for target in targets if (Path(target) / STATUS).is_file()]
    names = select([target for target in targets if not (Path(target) / STATUS).is_file()], config_dir)
    if column and names:
        raise ConfigError(f"--width column: {names[0]} is a figure of a paper, which has one width; expected runs")
    missing, status = [], 0
    folder = out / experiments.figures_folder(edition)
    known, finished = figures(config_dir), Finished(config_dir, edition)
    for name in names:
        finished_runs = finished.find(known[name], scale, out)
        if finished_runs is None:
            missing.append(name)
            continue
        try:
            _draw(known[name], finished_runs, scale, out, config_dir, folder, (), everything)
        except received.DataError as error:
            print(f"smcmc: {name}: {error}", file=sys.stderr)
            status = 2
    for path in runs:
        _plot_run(path, config_dir, only, column)
    if missing:
        which = f"{', '.join(missing)}: results are missing"
        print(f"smcmc: {which}; this makes them: {command(missing, scale, out, config_dir, edition)}", file=sys.stderr)
        status = 2
    return status


class Finished:
    """Looks up what figures are drawn from, each run once: figures may share runs."""

    def __init__(self, config_dir: str | Path | None = None, edition: int = 1) -> None:
        self._config_dir, self._edition = config_dir, edition
        self._run = cache(lambda job: find_run(specify(job, config_dir)))

    def find(self, entry: PaperFigure, scale: str, out: Path) -> list[read.Run] | None:
        """The runs of a figure, none of an exact one; None where something that it is drawn from is missing."""
        if entry.compute and not (out / entry.id / TABLE).is_file():
            return None
        runs = self._all(experiments.jobs(entry.id, scale, out, False, self._config_dir, self._edition))
        if runs is None and scale == "quick":
            runs = self._all(experiments.jobs(entry.id, scale, out, True, self._config_dir, self._edition))
        return runs

    def _all(self, wanted: Sequence[Sequence[str]]) -> list[read.Run] | None:
        """The runs of all jobs; None as soon as one is missing."""
        runs = []
        for job in wanted:
            if (run := self._run(tuple(job))) is None:
                return None
            runs.append(run)
        return runs


def show_pictures(targets: Sequence[str], config_dir: str | Path | None = None) -> None:
    """Print what can be drawn of runs, and of the other targets that they are figures; a `ConfigError` of an unknown
    figure, a `DataError` if the data of a run cannot be loaded again."""
    for target in targets:
        if (Path(target) / STATUS).is_file():
            print(target)
            for name in available(open_run(Path(target), config_dir)):
                print(terminal.hang(f"  {name:18} ", all_pictures()[name].shows))
        else:
            for name in select([target], config_dir):
                print(f"{name}  figure of a paper")


def _plot_run(path: Path, config_dir: str | Path | None, only: Sequence[str] | None, column: bool) -> None:
    run = open_run(path, config_dir)
    if only is not None and (absent := [name for name in only if name not in all_pictures()]):
        raise ConfigError(f"--only {absent[0]}: expected one of {', '.join(all_pictures())}")
    if column and only is not None and (wide := [name for name in only if not all_pictures()[name].in_column]):
        narrow = ", ".join(name for name, picture in all_pictures().items() if picture.in_column)
        raise ConfigError(f"--width column: {wide[0]} needs the width of a page; expected of {narrow}")
    drawn = []
    with use_style():
        for name, figure in pictures(run, only, column):
            drawn.append(name)
            for written in save(figure, path / name):
                print(written)
    if (note := absent_letters()) is not None:
        print(f"smcmc: note: {note}", file=sys.stderr)
    if only is not None and (absent := [name for name in only if name not in drawn]):
        raise ConfigError(f"--only {absent[0]}: {path} has none; expected one of {', '.join(available(run))}")
