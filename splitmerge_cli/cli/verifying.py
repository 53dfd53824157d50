"""``smcmc verify``, ``smcmc bench`` and ``smcmc posteriors``: samplers against posteriors that are known."""

import subprocess
import sys
from io import BytesIO
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import pyarrow as pa
import typer
from numpy.typing import NDArray

from splitmerge_cli.cli.base import ConfigDir, app, explain_errors, fail, print_entries
from splitmerge_cli.config import ConfigError
from splitmerge_cli.data.opening import content, limit_bytes, require_file
from splitmerge_cli.data.tables.formats import load_npy, read_parquet
from splitmerge_cli.data.tables.table import MOST_COLUMNS
from splitmerge_cli.overrides import suggest
from splitmerge_cli.received import DataError, reject_machine_error
from splitmerge_cli.verify import large_posteriors as known_posteriors
from splitmerge_cli.verify.command import verify as verify_command
from splitmerge_cli.verify.export import export as write


@app.command()
@explain_errors
def verify(
    args: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=VALUE]...", show_default=False, help="What to check, as in the examples."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Print a table for every small data set.")] = False,
    config_dir: ConfigDir = None,
) -> None:
    """Compare samplers with the enumerated posterior of small data.

    A line for each model names the samplers that are exact. If a sampler is not exact, the line shows the transition
    that is furthest from balance, its move, and the correction that its ratio needs.

    smcmc verify sampler=sdds,ss model=emm mode=both size=4 seed=0 iterations=200000 sampler.kernel=ssdm model.alpha=0.1

    sampler and model default to all. All samplers are dealt out over the small data sets of a model, such that each
    sampler meets each value of the model's options; named ones, and all with --all, are checked on every one. mode is
    exact, as_printed or both. size is the number of items. iterations is the length of a sampled check in addition to
    the exact one (0: none). The exit status is 1 if a sampler that claims to be exact is not.

    smcmc verify 'schedule=[{sams: 1}, {gibbs: 1}]' model=bernoulli 'model.concentration=gamma(2,1)'

    With a schedule, as in `smcmc run`, its iterations are checked instead of the samplers alone.
    """
    pairs = [arg.partition("=") for arg in args or []]
    for key, equals, value in pairs:
        if not key or not equals or not value:
            raise ConfigError(f"{key}{equals}{value}: expected KEY=VALUE")
    raise typer.Exit(verify_command({key: value for key, _, value in pairs}, config_dir, everything))


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
@explain_errors
def bench(
    ctx: typer.Context,
    scaling: Annotated[bool, typer.Option("--scaling", help="Measure the growth of time with N, D and K.")] = False,
) -> None:
    """Measure kernels and whole iterations against a plain C baseline.

    Needs a checkout of the repository.
    """
    root = Path(__file__).resolve().parents[2]
    if not (root / "bench" / "__main__.py").is_file():
        fail("bench: the benchmarks are in the repository, not in the package; run it in a checkout", 2)
    command = [sys.executable, "-m", "bench", *["--scaling"] * scaling, *ctx.args]
    raise typer.Exit(subprocess.run(command, cwd=root, check=False).returncode)


posteriors_app = typer.Typer(help="Posteriors over partitions, to test any program against.", no_args_is_help=True)
app.add_typer(posteriors_app, name="posteriors")
MOST_BYTES = 1 << 30
"""Most bytes that unpacked samples may have: ten million draws of ten items."""


@posteriors_app.command("export")
@explain_errors
def export(
    folder: Annotated[Path, typer.Argument(help="Folder to write to. It is made if needed.")],
) -> None:
    """Write posteriors as data: enumerated ones state by state, large ones as means with standard errors.

    Each has its data, model, hyper-parameters and provenance, and a reader that needs only NumPy. README.md in the
    folder describes the files.
    """
    entries = write(folder)
    large = sum(entry["kind"] == "certified" for entry in entries)
    typer.echo(
        f"{len(entries) - large} enumerated posteriors, {large} certified ones, of "
        f"{len({entry['model'] for entry in entries})} models: {folder}"
    )


@posteriors_app.command("list")
@explain_errors
def list_() -> None:
    """List the cases: id, model, number of items, hyper-parameters."""
    head = ("id", "model", "N", "hyper-parameters")
    rows = [
        (case.id, case.model, str(case.n_items), ", ".join(f"{k}={v}" for k, v in case.hyperparameters.items()))
        for case in known_posteriors.cases()
    ]
    print_entries([head, *rows])


@posteriors_app.command("check")
@explain_errors
def check(
    samples: Annotated[
        Path, typer.Argument(help="Labels of successive draws, one row per draw: .csv, .npy or .parquet.")
    ],
    of: Annotated[str, typer.Option(metavar="ID", help="The posterior, named as in smcmc posteriors list.")],
) -> None:
    """Compare the samples of any program with an enumerated posterior.

    The file has a row for each draw and a column for each item, which holds any number of its cluster. A column headed
    K gives the number of clusters if empty ones count (emm). The exit status is 1 if the samples differ by more than an
    exact sample of this length would once in a thousand times.
    """
    known = {case.id: case for case in known_posteriors.cases()}
    if of not in known:
        hint = suggest(of, known, 0.3)
        raise ConfigError(f"--of {of}: no such posterior; smcmc posteriors list shows them{hint}")
    with limit_bytes(MOST_BYTES, "of samples"):
        comparison = known_posteriors.check(known[of], *_read(samples))
    labels, frequency, probability = comparison.worst
    verdict = "agrees with" if comparison.agrees else "differs from"
    typer.echo(
        f"{samples} {verdict} {of}: total variation {comparison.total_variation:.4f}, "
        f"{comparison.total_variation / comparison.noise:.1f} times the {comparison.noise:.4f} expected from "
        f"{comparison.draws:,} exact "
        "draws with this autocorrelation\n"
        f"E[K]: {comparison.mean_K:.4f} +- {comparison.error_mean_K:.4f}; exact {comparison.exact_mean_K:.4f}\n"
        f"furthest off: {list(labels)}, visited {frequency:.4f}, probability {probability:.4f}"
    )
    raise typer.Exit(0 if comparison.agrees else 1)


def _read(path: Path) -> tuple[NDArray, NDArray | None]:
    """Read labels ``[draws, N]`` and, if the file has it, K ``[draws]``."""
    path = require_file(path, "a file of labels: .csv, .npy or .parquet")
    try:
        if path.suffix == ".npy":
            labels = load_npy(path)
            frame = pd.DataFrame(labels) if labels.ndim == 2 else None
        elif path.suffix == ".parquet":
            # what its pages hold is known when they are unpacked
            table = read_parquet(path, MOST_COLUMNS)
            frame = pa.Table.from_arrays(table.columns, names=table.names).to_pandas()
            if not frame.columns.is_unique:
                raise ConfigError(f"{path}: two columns have one name; expected a column for each item")
            if "labels" in frame:
                spread = pd.DataFrame(np.stack(frame["labels"].to_list()))
                frame = spread.assign(K=frame["K"].to_numpy()) if "K" in frame else spread
        elif path.suffix == ".csv":
            file = BytesIO(content(path, times=2))
            frame = pd.read_csv(file, header=None)
            if not np.issubdtype(np.asarray(frame.iloc[0].to_list()).dtype, np.number):
                file.seek(0)
                frame = pd.read_csv(file)
        else:
            raise ConfigError(f"{path}: expected a file name that ends in .csv, .npy or .parquet")
        if frame is None:
            raise ConfigError(f"{path}: array of shape {labels.shape}; expected [draws, items]")
    except (ConfigError, DataError):
        raise
    except Exception as error:  # whatever the reader makes of the content
        reject_machine_error(error, path)
        raise ConfigError(f"{path}: cannot be read: {' '.join(str(error).split())}") from error
    K = frame.pop("K").to_numpy() if "K" in frame else None
    values = frame.to_numpy()
    for part, x in (("labels", values), ("K", K)):
        if x is None:
            continue
        numbers = pd.DataFrame(x).apply(pd.to_numeric, errors="coerce").to_numpy(dtype=float)
        wrong = np.argwhere(~np.isfinite(numbers) | (numbers != np.round(numbers)))
        if len(wrong):
            row, column = wrong[0]
            raise ConfigError(f"{path}: row {row + 1}, column {column + 1} of the {part}: expected a whole number")
    return values.astype(np.int64), None if K is None else K.astype(np.int64)
