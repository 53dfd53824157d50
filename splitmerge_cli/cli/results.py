"""``smcmc diagnose`` and ``smcmc summary``: convergence and clusters of runs."""

from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any

import typer

from splitmerge_cli import received, terminal
from splitmerge_cli.analysis import alternatives
from splitmerge_cli.cli.base import ConfigDir, app, complain, console, explain_errors, print_line
from splitmerge_cli.cli.comparing import runs_in, show_certificates
from splitmerge_cli.config import ConfigError
from splitmerge_cli.diagnostics.restarts import as_frame, short_lines, short_table, table
from splitmerge_cli.kinds import kinds
from splitmerge_cli.runs import advice, initial, judgement, open_run, summaries
from splitmerge_cli.runs.answers import Answers, answers_of, kind_of
from splitmerge_cli.runs.store.files import DamagedRun

_LEARNT = "These chains learn from each other, so their agreement is weaker evidence. Compare runs with other seeds."

OF_KINDS = {key: entry for kind in kinds().values() for key, entry in kind.summary_keys.items()}
"""Keys of ``smcmc summary`` that runs of some kinds have (`splitmerge_cli.data.dataset.Kind.summary_keys`)."""
KEYS = {"clusters": 5, "answers": 5, "core": 0.95} | {key: example for key, (example, _, _) in OF_KINDS.items()}
"""Keys of ``smcmc summary``, each with an example of its value."""
HELP = f"""Show the clusters of runs: sizes, certainty, and what each differs most in.

clusters=5 merges the clusters of the run, the cheapest pair first, until 5 are left. answers=3 shows three
partitions that represent the posterior, with weights. core=0.95 shows the items that are together as listed, all at
once, with that probability. {" ".join(f"{key}={example:g} {text}." for key, (example, text, _) in OF_KINDS.items())}

The numbers are in cluster_summary.csv and column_summary.csv. A run without these files loads its data again.
"""


@app.command()
@explain_errors
def diagnose(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs, or folders above them.")],
    everything: Annotated[
        bool, typer.Option("--all", help="Show every quantity of every chain, and why a value is missing.")
    ] = False,
    config_dir: ConfigDir = None,
) -> None:
    """Show whether chains have converged, with R-hat and ESS, and what to do next.

    Several runs of documents are also compared with each other.
    """
    shown = console(200)
    status, answers, found = 0, Answers, list[Any]()
    for path in show_certificates(runs):
        for one in runs_in(path):
            try:
                one = open_run(one.path, config_dir)
                rows = [] if one.is_done else judgement.evidence_of(one)
                frame = one.diagnostics() if one.is_done else as_frame(rows)
                for line in advice.verdict(one) if one.is_done else summaries.unfinished_lines(one, rows):
                    print_line(line)
                title = f"{one.path} ({one.status['state']})"
                shown.print(table(frame, title) if everything else short_table(frame, title))
                for line in () if everything else short_lines(frame):
                    print_line(line)
                for line in summaries.interval_lines(one) if one.is_done else ():
                    print_line(line)
                if one.is_done and (scores := summaries.score_line(one)):
                    print_line(scores)
                if initial.specification_of(one).is_adaptive:
                    print_line(_LEARNT)
                if one.is_done and (of_run := answers_of(kind_of(one)).comparable(one)) is not None:
                    answers = answers_of(kind_of(one))
                    found.append(of_run)
            except (ConfigError, DamagedRun, FileNotFoundError) as error:
                complain(str(error))
                status = max(status, 2 if isinstance(error, ConfigError) else 1)
    if len(found) > 1:
        shown.print(answers.compare(found))
    raise typer.Exit(status)


@app.command(help=HELP)
@explain_errors
def summary(
    words: Annotated[
        list[str],
        typer.Argument(metavar="RUN|KEY=VALUE...", help="Folders of runs, or folders above them, and what to show."),
    ],
    columns: Annotated[
        bool,
        typer.Option("--columns", help="Also show the columns of every cluster: mean or share, interval, divergence."),
    ] = False,
    levels: Annotated[
        bool,
        typer.Option(
            "--levels", help="Merge the clusters pair by pair, and show expected distance and held-out density."
        ),
    ] = False,
    config_dir: ConfigDir = None,
) -> None:
    """Show the clusters of runs (`HELP`)."""
    width = terminal.width()
    runs, shown = _read_words(words)
    if columns and (levels or shown):
        raise ConfigError(f"--columns: expected alone, without --levels or {'=, '.join(KEYS)}=")
    status = 0
    for path in runs if levels or columns or shown else show_certificates(runs):
        runs_below = runs_in(path)
        for one in runs_below:
            try:
                one = open_run(one.path, config_dir)
                if not one.is_done:
                    raise ConfigError(f"{one.path}: expected a finished run, got one that is {one.missing}")
                if len(runs) > 1 or len(runs_below) > 1:
                    typer.echo(one.path)
                if not (levels or shown):
                    for line in summaries.lines(one, width=width, columns=columns):
                        print_line(line)
                    continue

                answers = [alternatives.dendrogram_lines(one)] if levels else []
                answers += [alternatives.cut_lines(one, int(value), width) for value in shown.get("clusters", ())]
                answers += [alternatives.answer_lines(one, int(value), width) for value in shown.get("answers", ())]
                answers += [alternatives.core_lines(one, value) for value in shown.get("core", ())]
                for key, (_, _, lines_of) in OF_KINDS.items():
                    answers += [resolve_name(lines_of)(one, value) for value in shown.get(key, ())]
                for lines in answers:
                    for line in lines:
                        print_line(line)
            except (ConfigError, received.DataError, DamagedRun) as error:
                complain(str(error))
                status = max(status, 1 if isinstance(error, DamagedRun) else 2)
    raise typer.Exit(status)


def _read_words(words: list[str]) -> tuple[list[Path], dict[str, list[float]]]:
    """Separate folders of runs from keys such as ``clusters=5``; raise `ConfigError` for another key or value."""
    runs: list[Path] = []
    shown: dict[str, list[float]] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or Path(word).exists():
            runs.append(Path(word))
            continue
        if key not in KEYS:
            raise ConfigError(f"{word}: expected the folder of a run, or one of {', '.join(f'{k}=' for k in KEYS)}")
        read, such_as = type(KEYS[key]), KEYS[key]
        try:
            shown.setdefault(key, []).append(read(value))
        except ValueError:
            kind = "a number from 0 to 1" if read is float else "a whole number"
            raise ConfigError(f"{word}: expected {kind}, such as {key}={such_as}") from None
    if not runs:
        raise ConfigError(f"{' '.join(words)}: expected the folder of a run as well")
    return runs, shown
