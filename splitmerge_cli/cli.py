"""The command line: typer commands, nothing else.

Modules are imported where they are used, so that ``--help`` is quick.
"""

import functools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer

from splitmerge_cli import interrupts

if TYPE_CHECKING:
    from splitmerge_cli.diagnostics.topic_report import RunTopics
    from splitmerge_cli.results.read import Run

app = typer.Typer(
    name="smcmc",
    help="The reference laboratory for split-merge MCMC.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
data_app = typer.Typer(help="Data sets: list, info NAME, fetch NAME.", no_args_is_help=True)
app.add_typer(data_app, name="data")


def _say_version(wanted: bool) -> None:
    if wanted:
        from splitmerge_cli import __version__

        typer.echo(f"smcmc {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


_RUN_HELP = """Run one sampler on one data set: smcmc run sampler=sdds data=emm N=500

Groups (smcmc list shows their choices): sampler, model, data, schedule (alone, site, sweep, or a weighted list:
'schedule=[{sdds: 1}, {rgsm: {weight: 2, t: 3}}]'). Options of a choice: sampler.mode=literal model.alpha=0.1

Your own data: data=csv data.path=FILE with model=lines (columns x, y), gaussian (numbers), bernoulli (0/1) or emm (one
column of tokens); data.columns, data.drop and data.truth choose the columns. data=corpus data.path=FILE (or a folder)
with model=hdp: documents, their topics; data.heldout=0.2 perplexity.every=10 evaluates documents that are held out.

experiment=ID takes the settings of a figure (smcmc list figures).

Keys: N, seed, chains, iterations, budget (seconds of sampling per chain), thin, K0 or init (one, singletons, random,
prior, truth, or a file), trace.partitions (record every n-th partition), perplexity (every, method, particles), timing,
resume, workers, out, progress (auto, bars, lines, none). smcmc run --cfg job shows them all with their values.

The folder of the run is the last line on stdout. A finished run is not repeated; an unfinished one is continued."""

_SWEEP_HELP = """Run a grid: smcmc sweep sampler=sdds,rgsm N=100,200 'seed=range(3)'

Keys are those of smcmc run; several values make a grid. hydra/launcher=joblib (processes, the default) or basic (one
after another) chooses the engine, hydra.launcher.n_jobs the number of jobs at the same time. Finished runs are skipped,
unfinished ones continued; a job that fails, or whose process is killed, does not stop the others. Runs that another
process writes are waited for: two sweeps of one grid share the work."""

DISAGREE = 1.1
"""R-hat above which a run says that its chains disagree."""

_F = TypeVar("_F", bound=Callable[..., None])


def _explained(command: _F) -> _F:
    """Turn the errors that are the user's to mend into one message and an exit status."""

    @functools.wraps(command)
    def wrapper(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except typer.Exit:
            raise
        except (KeyboardInterrupt, Exception) as error:
            told = _told(error)
            if told is None:
                raise
            _fail(*told)

    return wrapper  # type: ignore[return-value]


def _told(error: BaseException) -> tuple[str, int] | None:
    """Message and exit status of an error that is the user's to mend; None for any other."""
    if isinstance(error, ValueError | RuntimeError):
        from splitmerge_cli.runner import ConfigError, DamagedRun, DataError, Interrupted, RunError

        if isinstance(error, Interrupted):
            return str(error), interrupts.STATUS
        # a library may turn an interruption into an error of its own
        if interrupts.seen():
            return "interrupted", interrupts.STATUS
        if isinstance(error, ConfigError | DataError):
            return str(error), 2
        if isinstance(error, RunError | DamagedRun):
            return str(error), 1
        return None
    if isinstance(error, KeyboardInterrupt) or interrupts.seen():
        return "interrupted", interrupts.STATUS
    if isinstance(error, MemoryError):
        return f"not enough memory: {error}", 1
    if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):  # whose reader has seen enough
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error), 2
    return None


def _fail(message: str, status: int) -> NoReturn:
    _complain(message)
    interrupts.say("")  # what there is to say is said
    try:
        sys.stdout.flush()
    except OSError:
        # a full disk: what is left in the buffer would fail again at the end of the process
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise typer.Exit(status)


def _complain(message: str) -> None:
    """One line on stderr; a line break that the message quotes is shown as such."""
    typer.echo("smcmc: " + "\\n".join(message.splitlines()), err=True)


def _complete_override(incomplete: str) -> list[str]:
    """Completions of a ``KEY=VALUE``: names of keys, then the choices of a group."""
    from splitmerge_cli.config import complete

    # bash takes "=" for a word of its own: the key is then the word before it
    words = os.environ.get("COMP_WORDS", "").split()[: int(os.environ.get("COMP_CWORD", "0")) + 1]
    if words[-1:] == ["="]:
        words.append("")
    if words[-2:-1] == ["="]:
        return [override.partition("=")[2] for override in complete(f"{words[-3]}={words[-1]}")]
    return complete(incomplete)


def _complete_figure(incomplete: str) -> list[str]:
    from splitmerge_cli.papers.experiments import list_figures

    return [name for name, _ in list_figures() if name.startswith(incomplete)]


Overrides = Annotated[
    list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", autocompletion=_complete_override, show_default=False)
]
_LEARNT = (
    "These chains learn from each other: that they agree says less than it does of others. Compare restarts, runs with "
    "other seeds."
)
_CFG = ("job", "hydra", "all")
_INFO = ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")
Cfg = Annotated[str | None, typer.Option("--cfg", "-c", help="Show the configuration: job, hydra or all.")]
Resolve = Annotated[bool, typer.Option("--resolve", help="With --cfg: resolve interpolations.")]
Package = Annotated[str | None, typer.Option("--package", "-p", help="With --cfg: this part alone.")]
Info = Annotated[
    str | None, typer.Option("--info", help="Hydra's account: all, config, defaults, plugins, searchpath.")
]
ConfigDir = Annotated[
    str | None, typer.Option("--config-dir", help="A folder of your own: configuration groups, perhaps a paper.")
]
Out = Annotated[Path, typer.Option("--out", help="The folder of the results.")]
Scale = Annotated[str, typer.Option("--scale", help="quick (minutes) or paper (the paper's sizes).")]
Figures = Annotated[list[str], typer.Argument(metavar="ID|PAPER|all ...", autocompletion=_complete_figure)]


@app.command(help=_RUN_HELP)
@_explained
def run(
    overrides: Overrides = None,
    cfg: Cfg = None,
    resolve: Resolve = False,
    package: Package = None,
    info: Info = None,
    config_dir: ConfigDir = None,
) -> None:
    overrides = overrides or []
    if _shows(cfg, resolve, package, info):
        _show(overrides, cfg, resolve, package, info, config_dir)
        return
    from splitmerge_cli import runner
    from splitmerge_cli.config import compose

    plan = runner.prepare(compose(overrides, config_dir))
    for note in plan.dataset.notes:
        _complain(f"note: {note}")
    if plan.done:
        typer.echo("done before; resume=false repeats it", err=True)
    path = runner.run(plan)
    _say_topics(path)
    for warning in _warnings(path):
        typer.echo(warning, err=True)
    typer.echo(path)


def _say_topics(path: Path) -> None:
    """The top words of a run of topics."""
    from splitmerge_cli.results.read import Run

    run = Run(path)
    if not run.has_topics:
        return
    from rich.console import Console

    from splitmerge_cli.diagnostics.topic_report import headline, overview, perplexity_line

    console = Console(stderr=True) if sys.stderr.isatty() else Console(stderr=True, width=160)
    console.print(headline(run.summary), highlight=False)
    console.print(overview(run.summary))
    if line := perplexity_line(run.summary):
        console.print(line, highlight=False)


def _warnings(path: Path) -> Iterator[str]:
    """What to say of a run whose chains tell different stories, or could not move."""
    from splitmerge_cli.results.read import Run

    summary = Run(path).summary
    of = {name: summary["diagnostics"].get(f"rhat/{name}") for name in ("n_clusters", "log_joint")}
    name, rhat = max(of.items(), key=lambda item: item[1] or 0.0)
    if (rhat or 0.0) >= DISAGREE:
        yield f"the chains disagree (R-hat of {name}: {rhat:.3g}); run longer, and see smcmc diagnose {path}"
    tables = summary.get("hash_tables")
    if tables and tables["empty"] == tables["empty_opposite"] == 1.0:
        yield (
            f"lshsm proposed nothing: no item finds another in its hash tables ({tables['without_direction']} of "
            f"{summary['N']} items equal the mean and have no direction); fewer than sampler.bits={tables['bits']} may"
        )


def _shows(cfg: str | None, resolve: bool, package: str | None, info: str | None) -> bool:
    """Whether the options ask for the configuration instead of a run; refuses those that make no sense."""
    from splitmerge_cli.config import ConfigError

    for option, value, known in [("--cfg", cfg, _CFG), ("--info", info, _INFO)]:
        if value is not None and value not in known:
            raise ConfigError(f"{option} {value}: expected one of {', '.join(known)}")
    for option, given in [("--resolve", resolve), ("--package", package is not None)]:
        if given and cfg is None:
            raise ConfigError(f"{option}: says how --cfg shows the configuration; expected --cfg job beside it")
    return cfg is not None or info is not None


def _show(
    overrides: list[str], cfg: str | None, resolve: bool, package: str | None, info: str | None, config_dir: str | None
) -> None:
    """Let Hydra show what it composes."""
    import hydra
    from omegaconf import OmegaConf

    from splitmerge_cli.config import ConfigError, compose_raw, rewrite, search_path_overrides

    composed = compose_raw(overrides, config_dir)  # for its messages: Hydra's own name no alternative
    if package is not None and package != "_global_" and not OmegaConf.is_config(OmegaConf.select(composed, package)):
        raise ConfigError(f"--package {package}: no such part of the configuration; expected one such as model")
    argv = ["smcmc", *rewrite(overrides), *search_path_overrides(None)]
    for option, value in [("--cfg", cfg), ("--package", package), ("--info", info), ("--config-dir", config_dir)]:
        argv += [option, value] if value else []
    before, sys.argv = sys.argv, argv + ["--resolve"] * resolve
    try:
        hydra.main(version_base="1.3", config_path="pkg://splitmerge_cli.conf", config_name="config")(lambda _: None)()
    finally:
        sys.argv = before


@app.command(help=_SWEEP_HELP)
@_explained
def sweep(
    overrides: Overrides = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Compose and check every job; run none.")] = False,
    cfg: Cfg = None,
    resolve: Resolve = False,
    package: Package = None,
    info: Info = None,
    config_dir: ConfigDir = None,
) -> None:
    from splitmerge_cli import sweep as sweeps

    given, own = sweeps.split_hydra(overrides or [])
    jobs = sweeps.expand(given, config_dir)
    if _shows(cfg, resolve, package, info):
        _show([*jobs[0], *own], cfg, resolve, package, info, config_dir)
        return
    if dry_run:
        outcomes = sweeps.check_jobs(jobs, config_dir, own)
    else:
        progress = next((arg.partition("=")[2] for arg in given if arg.startswith("progress=")), "auto")
        outcomes = sweeps.run_jobs(jobs, progress=progress, launcher=own, config_dir=config_dir)
    refused = {o.error: o for o in outcomes[::-1] if o.status == "refused"}
    if refused:
        for error, outcome in list(refused.items())[::-1]:
            _complain(f"{' '.join(outcome.overrides)}: {error}")
        raise typer.Exit(2)
    for note in dict.fromkeys(note for outcome in outcomes for note in outcome.notes):
        _complain(f"note: {note}")
    _print_outcomes(outcomes)
    if line := sweeps.interruption(outcomes):
        _fail(f"{line}; the same command continues the sweep", interrupts.STATUS)
    if any(o.status == "failed" for o in outcomes):
        raise typer.Exit(1)


def _print_outcomes(outcomes: list[Any]) -> None:
    from collections import Counter

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table("job", "status", "run", box=None)
    for o in outcomes:
        if o.status != "interrupted" or o.begun:
            status = o.status + " elsewhere" * o.elsewhere
            table.add_row(Text(" ".join(o.overrides)), status, Text(str(o.path) if o.path else ""))
    # a terminal's width would break the paths of a pipe
    console = Console() if sys.stdout.isatty() else Console(width=10_000)
    console.print(table)
    for o in outcomes:
        if o.error:
            _complain(f"{' '.join(o.overrides)}: {o.error}")
    counts = Counter(o.status for o in outcomes)
    typer.echo(f"{len(outcomes)} jobs: " + ", ".join(f"{n} {status}" for status, n in sorted(counts.items())))


@app.command()
@_explained
def reproduce(
    ids: Figures,
    scale: Scale = "quick",
    out: Out = Path("results"),
    workers: Annotated[
        int | None, typer.Option(min=1, help="Runs at the same time; by default one per processor.")
    ] = None,
    config_dir: ConfigDir = None,
) -> None:
    """Run what figures need (skipping what is done), draw them, check their claims."""
    from splitmerge_cli.papers import reproduce as papers

    raise typer.Exit(papers.reproduce(ids, _scale(scale), out, workers, config_dir))


@app.command()
@_explained
def plot(
    targets: Annotated[list[str], typer.Argument(metavar="ID|PAPER|all|RUN ...", autocompletion=_complete_figure)],
    scale: Scale = "quick",
    out: Out = Path("results"),
    config_dir: ConfigDir = None,
) -> None:
    """Draw figures, or the traces of a run, from stored results only."""
    from splitmerge_cli.papers import reproduce as papers

    raise typer.Exit(papers.plot(targets, _scale(scale), out, config_dir))


@app.command()
@_explained
def report(out: Out = Path("results"), config_dir: ConfigDir = None) -> None:
    """Write results/report.html: every figure, the papers' numbers beside ours, verdicts."""
    from splitmerge_cli.papers.report import report as write_report

    typer.echo(write_report(out, config_dir))


def _scale(scale: str) -> str:
    from splitmerge_cli.config import ConfigError

    if scale not in ("quick", "paper"):
        raise ConfigError(f"--scale {scale}: expected quick or paper")
    return scale


@app.command()
@_explained
def diagnose(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs, or folders above them.")],
    config_dir: ConfigDir = None,
) -> None:
    """Show R-hat, effective sample size, autocorrelation time, acceptance per move, scores against the truth.

    Of several runs of topics also how far their topics agree.
    """
    from rich.console import Console

    from splitmerge_cli.config import ConfigError, learns
    from splitmerge_cli.diagnostics.summary import diagnose as diagnose_table
    from splitmerge_cli.diagnostics.summary import table
    from splitmerge_cli.results.files import DamagedRun
    from splitmerge_cli.results.read import find_runs
    from splitmerge_cli.runner import open_run

    console = Console() if sys.stdout.isatty() else Console(width=200)
    status, of_topics = 0, []
    for path in runs:
        found = find_runs(path)
        if not found:
            raise ConfigError(f"{path}: no run here; expected a folder that smcmc run printed")
        for one in found:
            try:
                one = open_run(one.path, config_dir)
                frame = one.diagnostics() if one.done else diagnose_table(one.trace(), one.moves())
                console.print(table(frame, title=f"{one.path} ({one.status['state']})"))
                if learns(one.config):
                    console.print(_LEARNT, highlight=False)
                if one.done and one.has_topics:
                    of_topics.append(_topics_of(one))
            except (ConfigError, DamagedRun, FileNotFoundError) as error:
                _complain(str(error))
                status = max(status, 2 if isinstance(error, ConfigError) else 1)
    if len(of_topics) > 1:
        from splitmerge_cli.diagnostics.topic_report import between_runs

        console.print(between_runs(of_topics))
    raise typer.Exit(status)


def _topics_of(run: "Run") -> "RunTopics":
    """The topics of a run's best chain."""
    from splitmerge_cli.diagnostics.topic_report import RunTopics

    words, summary = run.topic_words(["chain", "topic", "word", "count"]), run.summary
    words = words[words["chain"] == summary["topics_of"]["chain"]]
    eta, V = summary["hyperparameters"]["eta"], summary["documents"]["words"]
    return RunTopics(str(run.path), words, run.tokens(["document", "word", "topic"]), eta, V)


@app.command()
@_explained
def verify(
    args: Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", show_default=False)] = None,
    config_dir: ConfigDir = None,
) -> None:
    """Compare samplers with the enumerated posterior of small data, alone and with Gibbs.

    smcmc verify sampler=sdds,ss model=emm mode=both size=4 seed=0 iterations=200000 sampler.kernel=ssdm model.alpha=0.1

    sampler and model default to all; mode is exact, literal or both; size is the number of items; iterations the length
    of a sampled check beside the exact one (0: none). Exit status 1 when an exact sampler is not exact.
    """
    from splitmerge_cli.config import ConfigError
    from splitmerge_cli.verify.command import verify as verify_command

    pairs = [arg.partition("=") for arg in args or []]
    for key, equals, value in pairs:
        if not key or not equals or not value:
            raise ConfigError(f"{key}{equals}{value}: expected KEY=VALUE")
    raise typer.Exit(verify_command({key: value for key, _, value in pairs}, config_dir))


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
@_explained
def bench(
    ctx: typer.Context,
    scaling: Annotated[bool, typer.Option("--scaling", help="Growth with N, D and K.")] = False,
) -> None:
    """Measure kernels and whole iterations against a plain C baseline (needs a checkout of the repository)."""
    root = Path(__file__).resolve().parents[1]
    if not (root / "bench" / "__main__.py").is_file():
        _fail("bench: the benchmarks are part of the repository, not of the package; run it in a checkout", 2)
    command = [sys.executable, "-m", "bench", *["--scaling"] * scaling, *ctx.args]
    raise typer.Exit(subprocess.run(command, cwd=root, check=False).returncode)


@app.command("list")
@_explained
def list_(
    what: Annotated[str, typer.Argument(metavar="samplers|models|data|figures|schedules")], config_dir: ConfigDir = None
) -> None:
    """List samplers, models, data sets, schedules or figures; of a folder of your own the figures."""
    from splitmerge_cli.config import ConfigError, describe

    entries: Sequence[tuple[str, ...]]
    groups = {"samplers": "sampler", "models": "model", "data": "data", "schedules": "schedule"}
    if what == "figures":
        from splitmerge_cli.papers.discovery import paper_names
        from splitmerge_cli.papers.experiments import list_figures

        names = paper_names(config_dir)
        entries = [(name, names[name], title) for name, title in list_figures(config_dir)]
    elif config_dir is not None:
        raise ConfigError(f"--config-dir {config_dir}: expected list figures; the other lists are those of the package")
    elif what in groups:
        entries = describe(groups[what])
    else:
        raise ConfigError(f"list {what}: expected samplers, models, data, figures or schedules")
    _print_entries(entries)


def _print_entries(entries: Sequence[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(*entries, strict=True)]
    for entry in entries:
        typer.echo("  ".join(f"{cell:<{width}}" for cell, width in zip(entry, widths, strict=True)).rstrip())


@data_app.command("list")
@_explained
def data_list() -> None:
    """List the data sets: name, kind, number of items, where they are, what they are."""
    from splitmerge_cli.config import describe

    head = ("name", "kind", "N", "where", "what")
    _print_entries([head, *((name, *_data_facts(name), title) for name, title in describe("data"))])


def _data_facts(name: str) -> tuple[str, str, str]:
    """Kind, number of items and place of a data set."""
    from splitmerge_cli.config import choice, compose, locate, plain, unshared
    from splitmerge_cli.data.published import sets

    if name in sets.SETS:
        of = sets.SETS[name]
        return of.kind, of.N, sets.listed(name)
    options = choice("data", name)
    if "path" in options:
        # a table is of the kind that the model reads
        kind, items = ("the model's", "rows of the file") if "kind" in options else ("documents", "those of the file")
        if "nodes" in options:
            kind, items = "graph", "nodes of the file"
        return kind, items, "data.path=FILE"
    given = unshared("data", plain(compose([f"data={name}"]).data))
    generated = given.get("N") is not None
    if generated:
        given["N"] = min(given["N"], 100)  # enough to tell the kind
    made = locate(given.pop("_target_"))(**{key: value for key, value in given.items() if key != "name"})
    return (made.kind, "any", "generated") if generated else (made.kind, str(made.N), "here")


@data_app.command("info")
@_explained
def data_info(name: str) -> None:
    """Show what a data set is, where a published one comes from, and its options with their defaults."""
    import inspect

    from splitmerge_cli.config import choice, locate, shared, show
    from splitmerge_cli.data.published import sets

    options = choice("data", name) | shared("data")
    typer.echo(inspect.getdoc(locate(options.pop("_target_"))))
    if name in sets.SETS:
        typer.echo("\nThe published set\n-----------------\n" + sets.describe(name))
    typer.echo(f"\nOptions of data={name}\n" + "-" * len(f"Options of data={name}"))
    for key, value in options.items():
        if key != "name":
            typer.echo(f"data.{key}=FILE (needed)" if value == "???" else f"data.{key}={show(value)}")


@data_app.command("fetch")
@_explained
def data_fetch(name: str) -> None:
    """Download a published data set to the folder SMCMC_DATA (default: the user's cache)."""
    from splitmerge_cli.config import choice
    from splitmerge_cli.data.published import sets
    from splitmerge_cli.data.transfer import shown

    options = choice("data", name)
    if name in sets.SETS:
        with shown() as report:
            path = sets.fetch(name, report)
        for note in sets.unverified(name):
            _complain(f"note: {note}")
        typer.echo(path)
    elif "path" in options:
        typer.echo(f"{name}: reads a file of yours (data.path=FILE); there is nothing to fetch")
    else:
        typer.echo(f"{name}: is here or generated; there is nothing to fetch")


@app.command("sys-info")
@_explained
def sys_info() -> None:
    """Show versions, commit and machine: what a report of a problem should contain."""
    import json

    from splitmerge_cli.results import provenance

    info = {"versions": provenance.versions(), "commit": provenance.commit(), "machine": provenance.machine()}
    typer.echo(json.dumps(info, indent=2))
