"""``smcmc shards``."""

from typing import Annotated

import typer

from splitmerge_cli.cli.base import Overrides, app, complain, console, explain_errors, print_line
from splitmerge_cli.config import compose
from splitmerge_cli.runs.shards.run import check, read_summary, run_on_shards, source_of


@app.command()
@explain_errors
def shards(
    overrides: Overrides = None,
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
    words = overrides or []
    fixed = [] if any(one.startswith("sampler=") for one in words) else ["sampler=subcluster"]
    spec = compose(["data=csv", *fixed, *words]).with_fixed_length()
    check(spec, words)
    source = source_of(spec)
    with console().status("") as status:
        path = run_on_shards(
            spec,
            source,
            address,
            count,
            checkpoint,
            tell=lambda iteration, K: status.update(f"iteration {iteration}, {K} clusters"),
            say=complain,
        )
    summary = read_summary(path)
    low, high = summary["n_clusters_95"]
    iterations, K = summary["iterations"], summary["n_clusters"]
    print_line(
        f"{K} clusters after {iterations:,} iterations; {low} to {high} in 95 % of the second half. One chain cannot "
        "show convergence: compare another seed."
    )
    typer.echo(path)
