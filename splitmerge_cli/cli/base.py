"""The application, its commands in the order of the help, the parts that they share, and the answers to errors that a
user can mend.
"""

import functools
import inspect
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, NoReturn, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import OptionInfo

from splitmerge_cli import config, extras, plugins, runs, terminal
from splitmerge_cli.overrides import shell_word
from splitmerge_cli.runs import interrupts

if TYPE_CHECKING:
    from splitmerge_cli.config import RunSpecification
    from splitmerge_cli.data.dataset import Dataset


class Command(NamedTuple):
    """The module of a command, and its line in the list of commands."""

    group: str
    module: str
    help: str


CLUSTER, JUDGE, COMPARE, LISTS, PAPERS, DEVELOPERS = (
    *("Cluster", "Judge a run", "Compare", "Look up", "The papers", "For developers"),
)

COMMANDS = {
    "run": Command(CLUSTER, "running", "Cluster a file, or run one sampler on one data set: smcmc run FILE"),
    "columns": Command(CLUSTER, "running", "Show how a file is read, column by column: smcmc columns FILE"),
    "summary": Command(
        CLUSTER, "results", "Show the clusters of runs: sizes, certainty, and what each differs most in."
    ),
    "plot": Command(CLUSTER, "figures", "Draw the pictures of runs, or figures of the papers, from stored results."),
    "report": Command(CLUSTER, "figures", "Write one page of HTML about runs; without runs, about the papers."),
    "shards": Command(CLUSTER, "running", "Cluster a table that is too large for one machine."),
    "diagnose": Command(
        JUDGE, "results", "Show whether chains have converged, with R-hat and ESS, and what to do next."
    ),
    "certify": Command(JUDGE, "racing", "Bound the distance of a chain from its posterior."),
    "sweep": Command(COMPARE, "running", "Run a grid: smcmc sweep sampler=sdds,rgsm N=100,200 'seed=range(3)'"),
    "compare": Command(COMPARE, "results", "Compare finished runs: clusters, convergence, cost, and their distances."),
    "race": Command(COMPARE, "racing", "Compare samplers on one posterior: which reaches it first."),
    "list": Command(LISTS, "components", "List samplers, models, priors, data sets, schedules or figures."),
    "data": Command(LISTS, "components", "Data sets: list, info NAME, fetch NAME."),
    "model": Command(LISTS, "components", "Models: list, info NAME."),
    "sampler": Command(LISTS, "components", "Samplers: list, info NAME."),
    "reproduce": Command(PAPERS, "figures", "Make the runs of figures, draw the figures, check their claims."),
    "verify": Command(DEVELOPERS, "verifying", "Compare samplers with the enumerated posterior of small data."),
    "posteriors": Command(DEVELOPERS, "verifying", "Posteriors over partitions, to test any program against."),
    "bench": Command(DEVELOPERS, "verifying", "Measure kernels and whole iterations against a plain C baseline."),
    "sys-info": Command(DEVELOPERS, "components", "Show versions, commit and machine, for a report of a problem."),
}


HELP_WIDTH = 78
"""Letters in a line of help, in a terminal of 80."""


class LazyGroup(TyperGroup):
    """The commands of `COMMANDS`. A command is one line of help until it is called; then its module is imported."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        lines: dict[str, Any] = {name: TyperCommand(name, help=command.help) for name, command in COMMANDS.items()}
        self.commands = lines | dict(self.commands)
        for name, command in self.commands.items():
            command.rich_help_panel = COMMANDS[name].group

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _reject_flags("smcmc", [self], list(takewhile(lambda word: word.startswith("-"), args)))
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        if args[0] not in self.commands and ("=" in args[0] or os.path.isfile(args[0])):
            complain(f"{args[0]}: expected a command in front, such as {shlex.join(['smcmc', 'run', *args])}")
            raise typer.Exit(2)
        name, command, rest = super().resolve_command(ctx, args)
        if name is None or command is None:
            return name, command, rest
        _import_module_of(name)
        command = typer.main.get_group(app).commands[name]
        each_command = (command, *getattr(command, "commands", {}).values())
        for each in each_command:
            # help whose paragraphs a terminal wraps: each is one line, except for tables, which begin
            # with a backspace
            paragraphs = inspect.cleandoc(each.help or "").split("\n\n")
            each.help = "\n\n".join(each if each.startswith("\b") else " ".join(each.split()) for each in paragraphs)
        _reject_flags(" ".join(("smcmc", name)), each_command, rest)
        return name, command, rest


_GRID, _SHOW = "smcmc sweep makes a grid of runs without it", "smcmc run and smcmc sweep show the configuration with it"
_GROUPS = "smcmc run --config-dir FOLDER adds a folder of choices, and experiment=ID takes the settings of a figure"
_OF_HYDRA = dict.fromkeys(("-m", "--multirun"), _GRID)
_OF_HYDRA |= dict.fromkeys(("-r", "--run"), "smcmc run makes one run without it")
_OF_HYDRA |= dict.fromkeys(("-c", "--cfg", "--resolve", "-p", "--package", "--info"), _SHOW) | {"-i": "--info shows it"}
_OF_HYDRA |= dict.fromkeys(("-cn", "--config-name", "-cp", "--config-path", "-cd", "--config-dir"), _GROUPS)
_OF_HYDRA |= dict.fromkeys(("-sc", "--shell-completion"), "smcmc --install-completion completes words in a shell")
_OF_HYDRA |= {"--hydra-help": "-h shows the help"}
_OF_HYDRA["--experimental-rerun"] = "the command that made a run continues it"
"""Flags of Hydra, which commands do not take, and what takes their place."""


def _reject_flags(name: str, commands: Sequence[Any], words: Sequence[str]) -> None:
    """End with a message for a flag of Hydra that none of the commands takes; ``-cn`` would
    else be read as the flag ``-c`` and its value."""
    known = {word for command in commands for option in command.params for word in option.opts}
    for flag in (word.partition("=")[0] for word in takewhile(lambda word: word != "--", words)):
        if flag in _OF_HYDRA and flag not in known:
            complain(f"{flag}: a flag of Hydra, not of {name}; {_OF_HYDRA[flag]}")
            raise typer.Exit(2)


app = typer.Typer(
    name="smcmc",
    cls=LazyGroup,
    help="Cluster a table, a network or documents, and infer the number of clusters: smcmc run FILE. The reference "
    "laboratory for split-merge MCMC.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _say_version(wanted: bool) -> None:
    if wanted:
        from splitmerge_cli.version import __version__

        typer.echo(f"smcmc {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


_F = TypeVar("_F", bound=Callable[..., None])


def explain_errors(command: _F) -> _F:
    """Turn an error that a user can mend into one message and an exit status."""

    @functools.wraps(command)
    def wrapper(*args: Any, **kwargs: Any) -> None:
        with terminal.escape_output():
            try:
                for words in kwargs.values():
                    if isinstance(words, list):
                        takes_hydra = kwargs.get("cfg") or kwargs.get("info") or command.__name__ in _TAKES_HYDRA
                        _reject_words(command, words, bool(takes_hydra))
                command(*args, **kwargs)
            except typer.Exit:
                raise
            except (KeyboardInterrupt, Exception) as error:
                if (answer := _answer(error)) is None:
                    if not (foreign := plugins.find_foreign(error)):
                        raise
                    answer = foreign, 2
                if getattr(error, "dataset", None) is not None:
                    _show_undecided(error)
                elif hasattr(error, "ways"):
                    _show_rejected(error, command.__name__, kwargs.get("overrides") or [])
                else:
                    fail(*answer)
                raise typer.Exit(2) from None

    return wrapper  # type: ignore[return-value]


_TAKES_HYDRA = ("sweep", "race")
"""Commands whose jobs a launcher of Hydra makes."""


@explain_errors
def _import_module_of(command: str) -> None:
    import_module(f"splitmerge_cli.cli.{COMMANDS[command].module}")


def _reject_words(command: Callable[..., None], words: Sequence[object], takes_hydra: bool) -> None:
    """Raise a `ConfigError` for an option of the command that is typed as a key (``pairs=20``), and for a key of Hydra
    where it takes none."""
    typed = [str(word).partition("=") for word in words if "=" in str(word) and not os.path.exists(str(word))]
    of_hydra = [word for word in words if not takes_hydra and str(word).startswith(("hydra.", "hydra/"))]
    if not typed and not of_hydra:
        return
    from splitmerge_cli.config.schema import all_keys

    options, keys = _options_of(command), {key for key, _ in all_keys()}
    for key, _, value in typed:
        option = options.get(key.replace("_", "-"))
        if option is not None and key not in keys:
            expected = option[0] if option[1] else f"{option[0]} {value}"
            raise config.ConfigError(
                f"{key}={value}: an option of smcmc {command.__name__}, not a key; expected {expected}"
            )
    if of_hydra:
        raise config.ConfigError(
            f"{of_hydra[0]}: smcmc {command.__name__} reads no keys of Hydra; out=FOLDER names the folder of results, "
            "and smcmc sweep takes a launcher"
        )


def _options_of(command: Callable[..., None]) -> dict[str, tuple[str, bool]]:
    """Options of a command by the names that a user types: how each is written, and whether it takes no value."""
    options: dict[str, tuple[str, bool]] = {}
    for name, parameter in inspect.signature(command, eval_str=True).parameters.items():
        for info in getattr(parameter.annotation, "__metadata__", ()):
            if isinstance(info, OptionInfo):
                # typer takes the first declaration for a default
                declared = [each for each in map(str, (info.default, *(info.param_decls or ()))) if each[:1] == "-"]
                for written in declared or [f"--{name.replace('_', '-')}"]:
                    options[written.lstrip("-")] = written, parameter.annotation.__origin__ is bool
    return options


def _answer(error: BaseException) -> tuple[str, int] | None:
    """Message and exit status of an error that a user can mend; None for any other."""
    if isinstance(error, ModuleNotFoundError):
        explanation = extras.explain(error)
        return None if explanation is None else (explanation, 2)
    if isinstance(error, ImportError) and "failed to map segment" in str(error):  # the linker's word for it
        return f"not enough memory: {' '.join(str(error).split())}", 1
    if isinstance(error, ValueError | RuntimeError):
        if isinstance(error, runs.Interrupted):
            return str(error), interrupts.STATUS
        # a library may turn an interruption into an error of its own
        if interrupts.is_interrupted():
            return "interrupted", interrupts.STATUS
        if isinstance(error, runs.ConfigError | runs.DataError):
            return str(error), 2
        if isinstance(error, runs.RunError | runs.DamagedRun):
            return str(error), 1
        return None
    if isinstance(error, KeyboardInterrupt) or interrupts.is_interrupted():
        return "interrupted", interrupts.STATUS
    if isinstance(error, MemoryError):
        return f"not enough memory: {error}", 1
    if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):  # whose reader has seen enough
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error), 2
    return None


def fail(message: str, status: int) -> NoReturn:
    complain(message)
    interrupts.say("")  # the message stands already
    try:
        sys.stdout.flush()
    except OSError:
        # a full disk: what is left in the buffer would fail again at the end of the process
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise typer.Exit(status)


def _show_undecided(error: Any) -> None:
    """Print the table that an `UndecidedModel` has, its notes, and the commands that cluster it."""
    from splitmerge_cli.data.tables.notes import ROUTINE

    dataset = error.dataset
    path, *_ = str(error).partition(": ")
    complain(f"{path}: {dataset.N:,} rows, {len(dataset.types)} column{'s' * (len(dataset.types) != 1)}, no model")
    lines = list(table_lines(dataset.original))
    hidden = len(lines) - 1 - LISTED
    for line in (*lines[: 1 + LISTED], *([f"  and {hidden:,} more: smcmc columns FILE"] if hidden > 0 else [])):
        typer.echo(line, err=True)
    for line in dataset.notes:
        if not any(part in line for part in ROUTINE):
            note(line.removeprefix(f"{path}: "))
    typer.echo("each of these clusters it:", err=True)
    _offer(error.commands)


def _show_rejected(error: Any, command: str, typed: Sequence[str]) -> None:
    """Print, in short lines, what is wrong with a column and the commands that read the table."""
    for part in f"smcmc: {error.problem}".split("; "):
        typer.echo(terminal.fold(terminal.printable(part)), err=True)
    commands = []
    for way in error.ways:
        keys = {override.partition("=")[0] for override in way}
        others = [word for word in typed if word.partition("=")[0] not in keys]
        commands.append(" ".join(["smcmc", command, *map(shell_word, [*others, *way])]))
    _offer(commands)


def _offer(commands: Iterable[str]) -> None:
    """Print commands on stderr, one of which goes on."""
    for number, command in enumerate(commands):
        typer.echo(terminal.printable(f"{'or' if number else 'next'}: {command}"), err=True)


def complain(message: str) -> None:
    """Print one line on stderr. A line break within the message is shown as such."""
    typer.echo("smcmc: " + terminal.printable("\\n".join(message.splitlines())), err=True)


def note(message: str) -> None:
    """Print a note on stderr, folded to the width of the terminal."""
    typer.echo(terminal.fold(f"smcmc: note: {terminal.one_line(message)}"), err=True)


@contextmanager
def choosing(words: str = "") -> Iterator[None]:
    """Context for short runs that store nothing; a line (by default the command as it was typed) reports an
    interruption."""
    if not words:
        typed = shlex.join(["smcmc", *sys.argv[1:]])
        goes_on = "the same command goes on from the fits of half a second or more"
        words = f"interrupted before the run began; {goes_on}\nnext: {typed}"
    try:
        with interrupts.Saying(f"smcmc: {words}"):
            yield
    except (KeyboardInterrupt, Exception) as error:
        if not isinstance(error, KeyboardInterrupt) and not interrupts.is_interrupted():
            raise
        message, _, advice = words.partition("\n")
        complain(message)
        typer.echo(terminal.printable(advice), err=True, nl=bool(advice))
        interrupts.say("")  # the message stands already
        raise typer.Exit(interrupts.STATUS) from None


def settle_jobs(jobs: "list[RunSpecification]", words: str = "") -> "list[RunSpecification]":
    """Replace ``auto`` in jobs by what it stands for, choose initial states of large tables, and print the choices;
    `words` are printed if that is interrupted, as by `choosing`."""
    from splitmerge_cli.config.specification import name_beside
    from splitmerge_cli.runs.starts import start_of

    if any(job.to_choose for job in jobs):
        from splitmerge_cli.api import selection

        with choosing(words):
            jobs = selection.settle_jobs(jobs, functools.partial(typer.echo, err=True))
    lines: dict[str, None] = {}
    settled = []
    for job in jobs:
        try:
            with_start = start_of(job).choose(lines.setdefault)
        except (runs.ConfigError, runs.DataError):  # whoever makes it says what is wrong
            with_start = job
        settled.append(job if with_start is job else name_beside(with_start, job))
    for line in lines:
        complain(f"note: {line}")
    return settled


def _complete_override(incomplete: str) -> list[str]:
    """Completions of a ``KEY=VALUE``: names of keys, then the choices of a group."""
    # bash takes "=" for a word of its own: the key is then the word before it
    words = os.environ.get("COMP_WORDS", "").split()[: int(os.environ.get("COMP_CWORD", "0")) + 1]
    if words[-1:] == ["="]:
        words.append("")
    if words[-2:-1] == ["="]:
        return [override.partition("=")[2] for override in config.complete(f"{words[-3]}={words[-1]}")]
    return config.complete(incomplete)


def complete_figure(incomplete: str) -> list[str]:
    from splitmerge_cli.papers.experiments import list_figures

    return [name for name, _ in list_figures() if name.startswith(incomplete)]


Overrides = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[KEY=VALUE]...",
        autocompletion=_complete_override,
        show_default=False,
        help="Keys of smcmc run and their values.",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Number of runs at the same time. Default: one per processor."),
]
Cfg = Annotated[str | None, typer.Option("--cfg", "-c", help="Show the configuration: job, hydra or all.")]
Resolve = Annotated[bool, typer.Option("--resolve", help="With --cfg, resolve interpolations.")]
Package = Annotated[str | None, typer.Option("--package", "-p", help="With --cfg, show only this part.")]
Info = Annotated[
    str | None, typer.Option("--info", help="Show what Hydra reports: all, config, defaults, plugins or searchpath.")
]
ConfigDir = Annotated[
    str | None, typer.Option("--config-dir", help="A folder with your own configuration groups or paper.")
]
Out = Annotated[Path, typer.Option("--out", help="The folder of the results.")]
Scale = Annotated[str, typer.Option("--scale", help="Size of the runs: quick (minutes) or paper (the paper's sizes).")]
Edition = Annotated[
    int,
    typer.Option(
        "--edition", min=1, metavar="N", help="Seeds of edition N: each seed of the files plus (N - 1) million."
    ),
]
Figures = Annotated[
    list[str],
    typer.Argument(
        metavar="ID|PAPER|all ...", autocompletion=complete_figure, help="Names from smcmc list figures, or all."
    ),
]


def with_workers(overrides: Sequence[str], workers: int | None) -> list[str]:
    """Add ``--workers`` to the overrides of one run as its key `workers`."""
    if workers is None:
        return list(overrides)
    for override in overrides:
        if override.startswith("workers=") and override != f"workers={workers}":
            raise config.ConfigError(f"--workers {workers} and {override}: expected one of the two")
    return [*(override for override in overrides if override != f"workers={workers}"), f"workers={workers}"]


LISTED = 12
"""Columns of a table that a run lists at most; of more, how many have each type."""
NAME = 24
"""Letters in the name of a column, at most."""


def table_lines(dataset: "Dataset") -> Iterator[str]:
    """Describe each column of a table in a line: its type, range or levels, and gaps."""
    import numpy as np

    from splitmerge_cli.data.tables.mixed import describe_cells
    from splitmerge_cli.diagnostics.cluster_table import shorten

    types, scales = dataset.types or (), dataset.scales or [None] * len(dataset.column_names)
    columns = []
    for name, type, scale, cells in zip(dataset.column_names, types, scales, dataset.values_in_units.T, strict=True):
        cells = cells if cells.dtype.kind == "f" else np.where(cells < 0, np.nan, cells)  # codes have -1 in gaps
        read_as = type.type if scale is None else f"{type.type}, {scale}"
        columns.append((str(name), read_as, terminal.one_line(describe_cells(cells, type)), int(np.isnan(cells).sum())))
    rows = [("column", "read as", "values", "missing")]
    for name, read_as, held, gaps in (*columns, *dataset.meta.get("roles", ())):
        rows.append((shorten(terminal.one_line(name), NAME), read_as, held, f"{gaps:,}" if gaps else ""))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    widths[2] = min(widths[2], terminal.WIDTH - widths[0] - widths[1] - widths[3] - 8)
    for name, read_as, held, gaps in rows:
        if len(held) > widths[2]:  # the last levels that find no room are left out
            whole = held[: widths[2] - 5].rpartition(", ")[0]
            held = f"{whole}, ..." if whole else shorten(held, widths[2])
        cells = name.ljust(widths[0]), read_as.ljust(widths[1]), held.ljust(widths[2])
        yield f"  {'  '.join(cells)}  {gaps.rjust(widths[3])}".rstrip()


def print_entries(entries: Sequence[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(*entries, strict=True)]
    for *cells, last in entries:
        lead = "".join(f"{cell:<{width}}  " for cell, width in zip(cells, widths, strict=False))
        typer.echo(terminal.hang(lead, last).rstrip())


def print_line(line: str) -> None:
    """Print a line on stdout, folded to its width."""
    typer.echo(terminal.fold(line, terminal.width()))
