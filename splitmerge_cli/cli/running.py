"""``smcmc run``, ``columns``, ``sweep`` and ``shards``; and FILE on the command line, the keys that it stands for:
``data=csv data.path=FILE model=auto``.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from textwrap import fill
from typing import Annotated, Any

import typer

from splitmerge_cli import config, runs, terminal
from splitmerge_cli.cli import base
from splitmerge_cli.config import errors, groups, schema
from splitmerge_cli.data.dataset import READ_AS, Dataset, Kind, kind_of_any_table, kinds, say_models
from splitmerge_cli.data.opening import SIGN
from splitmerge_cli.overrides import PATH, path_word, read, shell_word, write
from splitmerge_cli.runs import interrupts

_RUN_HELP = """Cluster a file, or run one sampler on one data set: smcmc run FILE

\b
FILE                                what clusters it
a table                             model=auto, which chooses; or a model:
  numbers                           gaussian, lines (columns x and y)
  counts                            multinomial, gamma_poisson
  0 and 1                           bernoulli
  columns of several types          mixed
  one column of tokens              emm
  records with typing errors        records
edges: two columns of nodes         irm
documents: texts, or their words    hdp

smcmc columns FILE shows how a table is read; data.columns, data.drop, data.types and data.truth read it differently.
data=csv, data=edges or data=corpus data.path=FILE says what a file is where smcmc run FILE reads it as something else.
data.heldout=0.2 perplexity.every=10 evaluates documents that are held out.

\b
smcmc run penguins.csv
smcmc run penguins.csv model=mixed chains=8 seed=2
smcmc run friends.csv data=edges
smcmc run sampler=sdds data=emm N=500

Groups have choices, which smcmc list shows: sampler, model, data and schedule (move_only, single_site, full_scan, or a
weighted list: 'schedule=[{sdds: 1}, {rgsm: {weight: 2, t: 3}}]'). A choice has options, such as sampler.mode=as_printed
and model.alpha=0.1: smcmc sampler info NAME and smcmc model info NAME explain them. experiment=ID takes the settings of
a figure (smcmc list figures).

Keys, with their defaults (smcmc run --cfg job also shows the options of the choices):

\b
{keys}

The last line, on stdout, is the folder of the run. A finished run is not repeated; an unfinished one is continued."""

_SWEEP_HELP = """Run a grid: smcmc sweep sampler=sdds,rgsm N=100,200 'seed=range(3)'

Keys are the keys of smcmc run; several values make a grid. Quote a value that contains a comma:
"data.path='a,b.csv',c.csv".

--workers N is the number of jobs at the same time (hydra.launcher.n_jobs=N too). hydra/launcher chooses the engine:
joblib (processes, the default), basic (one after another), dask or submitit_slurm (many machines).

Finished runs are skipped, unfinished ones continued. A job that fails, or whose process is killed, does not stop the
others. The sweep waits for runs that another process writes, so two sweeps of one grid share the work."""

_MANY = 1000
"""Number of jobs above which smcmc prints their number before it composes them."""
_WIDE = 30
"""Number of columns from which full covariances are worth a note on time.

208 rows of 60 columns make 164 iterations in 31 processor seconds; their principal components end within 13.
"""
_MISSING = re.compile(": missing cells: [^;]*$")
"""A note that says no more than the list of columns."""
_CFG = ("job", "hydra", "all")
_INFO = ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")


_READ_AS = {"data=csv": "a table", "data=edges": "a network", "data=corpus": "documents"}


def with_file(words: Sequence[str]) -> list[str]:
    """Replace a file among the overrides by the keys that it stands for; print how it is read unless it is a table."""
    overrides: list[str] = []
    files = [word for word in words if "=" not in word and _find_file(word, words) is not None]
    if len(files) > 1:
        model = next(kind.model for kind in kinds().values() if kind.takes_sources)
        second = shell_word(f"data.other={write(files[1], PATH)}")
        raise config.ConfigError(
            f"{files[1]}: a second file; expected one, or for records of both files: smcmc run "
            f"{path_word(files[0])} model={model} {second}"
        )
    for word in words:
        if (path := _find_file(word, words)) is None:
            overrides.append(word)
            continue
        from splitmerge_cli.api.recognition import TABLE, recognise_named

        recognised = recognise_named(path, named := dict(word.partition("=")[::2] for word in words))
        keys = [f"{key}={value}" for key, value in recognised.keys.items() if key not in named]
        overrides += [f"data={recognised.data}", f"data.path={write(path, PATH)}", *keys]
        if recognised.data == TABLE and not any(override.startswith(("model=", "experiment=")) for override in words):
            overrides.append(f"model={recognised.model or 'auto'}")
        if recognised.why:
            key = f"data={recognised.data}"
            # a folder is nothing else
            forms = {} if os.path.isdir(path) else {k: v for k, v in _READ_AS.items() if k != key}
            what = _READ_AS[key]
            if recognised.model:
                from splitmerge_cli.diagnostics.cluster_table import plural_of

                kind = config.component("model", recognised.model).kind
                what, forms = f"{plural_of(kind.item)} of {plural_of(kind.cluster)}", {"model=auto": what}
            others = ", ".join(f"{keys} {path_word(path)} as {form}" for keys, form in forms.items())
            base.note(f"{path}: read as {what} ({recognised.why}){'; ' * bool(others)}{others}")
    return overrides


def _find_file(word: str, words: Sequence[str]) -> str | None:
    """The file, or standard input, that a word among `words` names; None if the word is a key."""
    key, equals, value = word.partition("=")
    if not equals:
        return word if word == SIGN or errors.is_file_name(word) or os.path.exists(word) else None
    if key == "data.path" and not any(word.startswith(("data=", "experiment=")) for word in words):
        # messages name a file so, and its reader only where that is known
        path = str(read(value, PATH))
        return path if path == SIGN or os.path.exists(path) else None
    if key == "data":
        named = value in config.choices("data") or ("," in value and not os.path.exists(value))
        return value if not named and (errors.is_file_name(value) or os.path.exists(value)) else None
    known = {name for name, _ in schema.all_keys()}
    return word if "." not in key and key not in known and os.path.exists(word) else None


def _with_keys(text: str) -> str:
    """Add a line for each key of the configuration to the help."""
    listed = [(f"{key}={errors.show(option.default)}", option.help) for key, option in schema.all_keys()]
    width = max(len(key) for key, _ in listed) + 2
    lines = [
        fill(f"{key:<{width}}{meaning}", base.HELP_WIDTH, subsequent_indent=" " * width) for key, meaning in listed
    ]
    return text.replace("{keys}", "\n".join(lines))


@base.app.command(help=_with_keys(_RUN_HELP))
@base.explain_errors
def run(
    overrides: base.Overrides = None,
    workers: base.Workers = None,
    cfg: base.Cfg = None,
    resolve: base.Resolve = False,
    package: base.Package = None,
    info: base.Info = None,
    config_dir: base.ConfigDir = None,
) -> None:
    overrides = base.with_workers(with_file(overrides or []), workers)
    if _show(overrides, cfg, resolve, package, info, config_dir):
        return
    from splitmerge_cli.runs import advice

    printed: set[str] = set()

    spec = config.specify(overrides, config_dir, leave_to_data=True)

    def tell(dataset: Dataset) -> None:
        path, table = spec.data.values.get("path"), dataset.original
        # the columns of a table that has few, once; the notes that repeat them count as printed
        if table.types and path is not None and path not in printed and len(table.types) <= base.LISTED:
            columns = f"{len(table.types)} column{'s' * (len(table.types) != 1)}"
            typer.echo(f"{terminal.one_line(path)}: {dataset.N:,} rows, {columns}", err=True)
            for line in base.table_lines(table):
                typer.echo(line, err=True)
            printed.update({path, f"{path}: "} | {line for line in dataset.notes if _MISSING.search(line)})
        types = [column.type for column in dataset.types or ()]
        _tell_notes(printed, _without_own(dataset.notes, spec, dataset.kind), types)

    spec, chosen = settle_run(spec, tell)
    # nothing is built if the run was finished before
    if done := runs.finished_run(spec):
        _tell_notes(printed, _without_own(done.summary.get("notes", []), spec, spec.model.kind))
        typer.echo("already finished; resume=false runs it again", err=True)
    else:

        def tell_start(dataset: Dataset) -> None:
            tell(dataset)
            if spec.init in (runs.BEST, runs.SEARCH):
                typer.echo(f"init={spec.init}: short chains look for the start of each chain first", err=True)

        plan = replace(runs.prepare(spec, on_data=tell_start), chosen=chosen)
        is_full = spec.model.values.get("covariance") == "full" and "reduce" in spec.data.values
        D = len(plan.dataset.column_names) if is_full and not plan.dataset.missing else 0
        if D >= _WIDE:
            base.note(f"full covariances of {D} columns take long; data.reduce=pca is faster")
        for caution in plan.cautions:
            base.note(caution)

        def name_sampler(follows: bool) -> str:
            if spec.automatic and follows:
                return f"{spec.automatic}; "
            if spec.automatic:
                typer.echo(terminal.fold(spec.automatic), err=True)
            return ""

        try:
            done = runs.make(plan, on_begin=name_sampler)
        except runs.Interrupted as error:
            from splitmerge_cli.runs.finish import lines_so_far

            interrupts.say(f"smcmc: {error}")
            interrupts.allow(interrupts.ANSWER)
            for line in lines_so_far(plan, advice.MOST_CLUSTERS):
                typer.echo(terminal.fold(line), err=True)
            raise
    advice.say(done, spec)
    typer.echo(done.path)


def settle_run(
    spec: config.RunSpecification, tell: Callable[[Dataset], None] | None = None
) -> tuple[config.RunSpecification, dict[str, Any] | None]:
    """Choose what a run leaves to the data, and the initial state of large tables, and print the choice; `tell`
    receives a table as soon as it is read. Returns the run and how it was chosen."""
    chosen = None
    if spec.to_choose:
        from splitmerge_cli.api.selection import settle

        with base.choosing():
            spec, chosen = settle(spec, lambda line: typer.echo(terminal.fold(line), err=True), tell=tell)
    if spec.undecided:
        say_models(spec.data, spec.words)
    return runs.start_of(spec).choose(base.note), chosen


def _without_own(notes: Iterable[str], spec: Any, kind: Kind) -> list[str]:
    """Leave out the note that a column that the model has for itself may be the true clusters."""
    named = [f"data.truth={spec.given_keys.values[key]} " for key in kind.own_keys if key in spec.given_keys.values]
    return [line for line in notes if not any(one in line for one in named)]


def _tell_notes(printed: set[str], notes: Sequence[str], types: Iterable[str] = ()) -> None:
    """Print notes on the data that were not `printed` yet; the note on types of columns becomes their counts."""
    for line in notes:
        path, is_on_types, _ = line.partition(READ_AS)
        # the bracket names other ways to read a column, which depend on the model
        subject = path if is_on_types else line.rpartition(" (")[0] or line
        if not {subject, line} & printed and (types or not is_on_types):
            printed.add(subject)
            counts = ", ".join(f"{number} {type}" for type, number in Counter(types).most_common())
            shown = f"{path}columns: {counts} (smcmc columns FILE shows each)" if is_on_types else line
            # where the columns are listed their heading names the file
            heading, has_heading, rest = shown.partition(": ")
            base.note(rest if has_heading and heading in printed else shown)


def _show(
    overrides: list[str], cfg: str | None, resolve: bool, package: str | None, info: str | None, config_dir: str | None
) -> bool:
    """Let Hydra show what it composes where the options ask for it instead of a run."""
    for option, value, known in [("--cfg", cfg, _CFG), ("--info", info, _INFO)]:
        if value is not None and value not in known:
            raise config.ConfigError(f"{option} {value}: expected one of {', '.join(known)}")
    if cfg is None and (resolve or package is not None):
        raise config.ConfigError(f"{'--resolve' if resolve else '--package'}: expected --cfg job as well")
    if cfg is None and info is None:
        return False
    from splitmerge_cli.config.composition import for_hydra
    from splitmerge_cli.config.hydra_adapter import has_part, search_path_of, show_config

    words, found = for_hydra(overrides, config_dir), groups.places(config_dir)
    if package is not None and package != "_global_" and not has_part(package, words, found):
        raise config.ConfigError(f"--package {package}: no such part of the configuration; expected one such as model")
    argv = ["smcmc", *words, *search_path_of(groups.places(None))]
    for option, value in [("--cfg", cfg), ("--package", package), ("--info", info), ("--config-dir", config_dir)]:
        argv += [option, value] if value else []
    show_config(argv + ["--resolve"] * resolve)
    return True


@base.app.command(help=_SWEEP_HELP)
@base.explain_errors
def sweep(
    overrides: base.Overrides = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Compose and check every job, but run none.")] = False,
    detach: Annotated[
        bool, typer.Option("--detach", help="Leave the jobs to the Slurm queue. The same command collects them later.")
    ] = False,
    workers: base.Workers = None,
    cfg: base.Cfg = None,
    resolve: base.Resolve = False,
    package: base.Package = None,
    info: base.Info = None,
    config_dir: base.ConfigDir = None,
) -> None:
    from splitmerge_cli.runs.sweeps import sweep as sweeps

    job_words, hydra_words = sweeps.split_hydra(with_file(overrides or []))
    sweeps.check_workers(workers, hydra_words)
    jobs = sweeps.expand(job_words, config_dir)
    if _show([*jobs[0], *hydra_words], cfg, resolve, package, info, config_dir):
        return
    if len(jobs) > _MANY:
        base.complain(f"note: {len(jobs):,} jobs; each is composed and checked first")
    found, wrong = sweeps.read_jobs(jobs, config_dir, leave_to_data=True)
    if wrong:
        # nothing is chosen for jobs that are not made
        order = {tuple(words): number for number, words in enumerate(jobs)}
        outcomes = [*wrong, *sweeps.check_jobs([job for job in found if not job.to_choose], hydra_words, detach)]
        outcomes.sort(key=lambda each: order[tuple(each.overrides)])
    else:
        found = base.settle_jobs(found, f"interrupted: {len(jobs)} to do; the same command continues the sweep")
        if dry_run:
            outcomes = sweeps.check_jobs(found, hydra_words, detach)
        else:
            outcomes = sweeps.run_jobs(found, workers, found[0].progress, hydra_words, detach=detach)
    rejected = {o.error: o for o in outcomes[::-1] if o.status == "rejected"}
    if rejected:
        for error, outcome in list(rejected.items())[::-1]:
            base.complain(f"{' '.join(outcome.overrides)}: {error}")
        raise typer.Exit(2)
    for said in dict.fromkeys(said for outcome in outcomes for said in outcome.notes):
        base.complain(f"note: {said}")
    from rich.table import Table
    from rich.text import Text

    table = Table("job", "status", "run", box=None)
    for o in outcomes:
        if o.status != "interrupted" or o.has_begun:
            table.add_row(Text(" ".join(o.overrides)), o.status + " elsewhere" * o.elsewhere, Text(str(o.path or "")))
    # a terminal's width would break the paths of a pipe
    terminal.console(10_000).print(table)
    for o in outcomes:
        if o.error:
            base.complain(f"{' '.join(o.overrides)}: {o.error}")
    _print_results(outcomes, config_dir)
    counts = Counter(o.status for o in outcomes)
    by_status = ", ".join(f"{n} {status}" for status, n in sorted(counts.items()))
    typer.echo(f"{len(outcomes)} job{'s' * (len(outcomes) != 1)}: {by_status}")
    if line := sweeps.interruption(outcomes):
        base.fail(f"{line}; the same command continues the sweep", interrupts.STATUS)
    if any(o.status == "failed" for o in outcomes):
        raise typer.Exit(1)


def _print_results(outcomes: list[Any], config_dir: str | None) -> None:
    """Print and write the results of a sweep, unless it was interrupted."""
    # the same run may be asked for twice
    done = list({o.path: o for o in reversed(outcomes) if o.complete and o.path}.values())[::-1]
    if not done or any(o.status in ("interrupted", "running elsewhere", "to run", "submitted") for o in outcomes):
        return
    # pandas takes longer than an interrupted sweep has to end
    from splitmerge_cli.analysis import comparison
    from splitmerge_cli.cli.results import print_table
    from splitmerge_cli.runs.store.read import Run

    runs = [Run(o.path, config_dir) for o in done]
    jobs = [comparison.settings(o.overrides) for o in done]
    written = comparison.write_sweep(runs[0].path.parents[1], [" ".join(job) for job in jobs], runs)
    table = comparison.compare(runs, comparison.drop_shared(jobs))
    print_table(table, "job")
    typer.echo(written)


@base.app.command()
@base.explain_errors
def columns(overrides: base.Overrides = None, config_dir: base.ConfigDir = None) -> None:
    """Show how a file is read, column by column: smcmc columns FILE

    Nothing is run or changed. Keys are as in smcmc run: data.types={NAME:TYPE} changes how a column is read,
    data.drop=[NAME] leaves a column out, data.truth=NAME keeps true labels apart.
    """
    from splitmerge_cli.data.tables.mixed import RejectedColumns

    typed = overrides or []
    spec = config.specify(with_file(typed), config_dir, leave_to_data=True)
    if spec.data.values.get("path") is None:
        raise config.ConfigError(
            f"data={spec.data.name}: these data are not read from a file; expected smcmc columns FILE"
        )
    dropped: list[str | int] = []
    try:
        dataset = _load(spec)
    except RejectedColumns as error:
        if not error.drop:
            raise
        base.note(str(error))
        dropped = error.drop
        dataset = _load(spec.with_({"data.drop": dropped}))
    place = spec.data.values["path"]
    typer.echo(f"{place}: {dataset.N:,} {dataset.kind.item}s")
    for line in base.table_lines(dataset.original) if dataset.types is not None else ():
        typer.echo(line)
    for line in dataset.notes:
        if READ_AS not in line:
            base.note(line)
    words = [*typed, *([f"data.drop=[{','.join(map(str, dropped))}]"] if dropped else [])]
    typer.echo(" ".join(["next: smcmc run", *map(shell_word, words)]))


def _load(spec: config.RunSpecification) -> Dataset:
    """Load the data as a table of any columns, or as the named model or the reader that is not of tables reads them."""
    from splitmerge_cli.runs import initial

    any_table = kind_of_any_table()
    kind = spec.model.kind
    if spec.undecided or "model" in spec.to_choose:
        kind = next((one for one in kinds().values() if one.reader == spec.data.name != any_table.reader), any_table)
    return initial.read_data(spec.data.with_options(kind=kind.name) if kind == any_table else spec.data, kind)


@base.app.command()
@base.explain_errors
def shards(
    overrides: base.Overrides = None,
    address: Annotated[
        str | None,
        typer.Option(
            help="Address of a Dask scheduler, such as tcp://127.0.0.1:8786. Default: processes of this machine."
        ),
    ] = None,
    count: Annotated[
        int | None, typer.Option("--shards", min=1, help="Number of parts of the table. Default: one per worker.")
    ] = None,
    checkpoint: Annotated[float, typer.Option(min=0.0, help="Seconds between checkpoints.")] = 60.0,
) -> None:
    """Cluster a table that is too large for one machine.

    smcmc shards data.path=FILE model=gaussian iterations=100

    The run is one chain of the sampler subcluster. Its rows stay with the Dask workers that read them; only sums of
    statistics travel. FILE is a .npy or .parquet file, a folder of .parquet files or a .zarr array of numbers, in a
    place that all workers see. The chain is the same, byte for byte, for any number of shards. Keys are as in smcmc
    run: model.*, sampler.*, seed, iterations, workers (threads of each shard), data.columns, data.drop, data.types (of
    model=mixed), timing, out.

    The same command continues an unfinished run, also with other workers. The last line on stdout is the folder of the
    results.
    """
    from splitmerge_cli.runs.shards.run import check, read_summary, run_on_shards, source_of

    words = overrides or []
    fixed = [] if any(one.startswith("sampler=") for one in words) else ["sampler=subcluster"]
    spec = config.compose(["data=csv", *fixed, *words]).with_fixed_length()
    check(spec, words)
    source = source_of(spec)
    with terminal.console(160).status("") as status:
        path = run_on_shards(
            spec,
            source,
            address,
            count,
            checkpoint,
            tell=lambda iteration, K: status.update(f"iteration {iteration}, {K} clusters"),
            say=base.complain,
        )
    summary = read_summary(path)
    low, high = summary["n_clusters_95"]
    iterations, K = summary["iterations"], summary["n_clusters"]
    base.print_line(
        f"{K} clusters after {iterations:,} iterations; {low} to {high} in 95 % of the second half. One chain cannot "
        "show convergence: compare another seed."
    )
    typer.echo(path)
