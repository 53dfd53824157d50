"""One random bit of one random file of what was written, by kind: named as damage, or what is read is the same."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keep_figures
import numpy as np
import pandas as pd
import pytest
from broken_runs import BreakingShards, break_off
from editions import archive, kept
from typer.testing import CliRunner

from splitmerge_cli import cli, config, runs
from splitmerge_cli.analysis import coupled_pairs
from splitmerge_cli.analysis.race import race_of
from splitmerge_cli.api.certifying import write_race
from splitmerge_cli.kinds.documents.stored import documents_of
from splitmerge_cli.received import DataError
from splitmerge_cli.runs.shards.run import ShardedRun, bounds_of, read_summary
from splitmerge_cli.runs.shards.source import Shard, ShardLost, open_source
from splitmerge_cli.runs.store.files import DamagedRun
from splitmerge_cli.runs.store.manifest import MANIFEST, Manifest
from splitmerge_cli.runs.store.read import Run, find_runs
from splitmerge_cli.runs.store.store import ChainStore
from splitmerge_cli.runs.sweeps import queued_jobs
from splitmerge_cli.runs.sweeps.job import RemoteTask, Task

RUN = ["N=20", "iterations=200", "timing=false", "progress=none"]

Reader = Callable[[], Any]


def digest(value: Any) -> Any:
    """Something to compare: of tables and arrays their bytes."""
    if isinstance(value, pd.DataFrame):
        return hashlib.sha256(value.to_json(double_precision=15).encode()).hexdigest(), list(value.columns)
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, dict):
        return {key: digest(one) for key, one in value.items()}
    return [digest(one) for one in value] if isinstance(value, list | tuple) else value


def of_clusters() -> Reader:
    path = runs.run(config.compose([*RUN, "out=here"]))
    tables = ("trace", "partitions", "moves", "diagnostics", "similarity", "clusters", "cluster_summary")

    def read() -> Any:
        run = runs.open_run(path)
        has = {"similarity": run.has_similarity, "cluster_summary": run.has_cluster_summary}
        found = [getattr(run, table)() for table in tables if has.get(table, True)]
        return digest([run.config, run.status, run.summary, run.provenance, *found])

    return read


def of_topics() -> Reader:
    asked = ["data=docs200", "N=4", "data.length=6", "data.heldout=0.5", "perplexity.every=5", "sampler=smag"]
    path = runs.run(config.compose([*asked, "chains=2", "iterations=40", "timing=false", "progress=none", "out=here"]))
    tables = ("trace", "moves", "diagnostics", "topics", "topic_words", "topic_documents", "topic_sizes", "tokens")

    def read() -> Any:
        run = runs.open_run(path)
        found = [run.table(table) for table in tables]
        return digest([run.config, run.status, run.summary, *found, documents_of(run), run.table("perplexity")])

    return read


def of_an_unfinished_run() -> Reader:
    break_off("N=20", "chains=1", "iterations=20000", "timing=false", "progress=none", "out=here")
    path = find_runs("here")[0].path

    def read() -> Any:
        run = runs.open_run(path)
        return digest(
            [run.config, run.trace(), run.partitions(), run.moves(), ChainStore(path / "work", 0).read_checkpoint()]
        )

    return read


def of_submissions() -> Reader:
    """The note on a job, and what the job wrote of its end."""
    path = Path("here/sdds-emm/0123456789ab").absolute()
    remote = RemoteTask(Task({}, ""), path, "here", "0", None)

    class Job:
        job_id = "7"

    class Executor:
        def map_array(self, call: Any, tasks: Any, results: list[Path]) -> list[Job]:
            # the version of the package is another
            call(tasks[0], results[0])
            return [Job()]

    engine = queued_jobs.QueuedJobs.__new__(queued_jobs.QueuedJobs)
    engine.cluster, engine.folder, engine.detach = "slurm", Path("here/.submitit/%j").absolute(), True
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "_executor", lambda folder: Executor())
        assert engine.run([remote]) == [("submitted", None)]

    def read() -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(queued_jobs, "in_queue", lambda jobs, folder: set(jobs))
            job, result = engine._waiting(queued_jobs.note_of(path))
        status, error = queued_jobs._read_result(result)
        if ": damaged; " in str(error):
            raise DamagedRun(Path(str(error).partition(": damaged")[0]))
        return job.job_id, str(job.paths.folder), status, error

    return read


def of_a_certificate() -> Reader:
    asked = ["model=bernoulli", "data=jain_neal", "N=12", "sampler=gibbs", "schedule=move_only", "init=mixture"]
    plan = coupled_pairs.check_coupling(
        config.compose([*asked, "iterations=400", "timing=false", "progress=none", "out=here"])
    )

    def read() -> Any:
        found = coupled_pairs.certify(plan, 4, lag=20, k=20, m=40)
        if not (found.path / MANIFEST).is_file():
            found.write()
        manifest = Manifest(found.path / MANIFEST)
        manifest.check_all()
        tables = [pd.read_parquet(found.path / name) for name in manifest.names]
        return digest([list(found.lines()), found.estimates(), found.co_clustering(), found.meetings(), *tables])

    return read


def of_a_race() -> Reader:
    asked = ["N=20", "chains=2", "iterations=200", "progress=none", "trace.partitions=1", "out=here"]
    paths = [runs.run(config.compose([*asked, f"sampler={sampler}"])) for sampler in ("sams", "sdds")]
    folder = write_race(race_of([Run(path) for path in paths]), Path("here"))

    def read() -> Any:
        manifest = Manifest(folder / MANIFEST)
        manifest.check_all()
        race = race_of([Run(path) for path in paths])
        return digest([list(race.lines()), race.table(), *[(folder / name).read_bytes() for name in manifest.names]])

    return read


def make_sharded_run(left: int) -> ShardedRun:
    """A run on two shards, which are lost after so many messages."""
    generator = np.random.default_rng(6)
    np.save("x.npy", generator.normal(size=(60, 2)) + 5.0 * generator.integers(3, size=60)[:, None])
    asked = ["model=gaussian", "model.m0=0.5", "model.b0=0.4", "model.concentration=gamma(2,1)", "sampler=subcluster"]
    spec = config.compose(["data=csv", "data.path=x.npy", *asked, "iterations=12", "timing=false", "out=here"])
    source, bounds = open_source("x.npy"), bounds_of(60, 2)
    shards = BreakingShards([Shard(source, *bound) for bound in bounds])
    run = ShardedRun(spec, source, shards, bounds)
    shards.left = left
    return run


def of_finished_shards() -> Reader:
    run = make_sharded_run(0)
    run.run()

    def read() -> Any:
        path = run.run()
        tables = [pd.read_parquet(file) for file in sorted(path.rglob("*.parquet"))]
        return digest([read_summary(path), *tables])

    return read


def of_unfinished_shards() -> Reader:
    run = make_sharded_run(60)
    with pytest.raises(ShardLost):
        run.run(every=0.0)
    assert list(run.path.glob("checkpoint-*/*.npy"))

    def read() -> Any:
        rows = run._restore()
        labels = [shard.items.labels() for shard in run.shards.shards]  # type: ignore[attr-defined]
        return digest([rows, labels, run.model.K, run.chain.state])

    return read


def run_command(*args: str) -> None:
    result = CliRunner().invoke(cli.app, list(args))
    assert result.exit_code == 0, result.output


def run_script(*args: str) -> None:
    result = CliRunner().invoke(keep_figures.app, list(args))
    assert result.exit_code == 0, result.output


def of_a_kept_folder() -> Reader:
    run_command("reproduce", "sdds-fig1")
    run_script("keep", "sdds-fig1", "--to", "here")
    folder = Path("here")

    def read() -> Any:
        index = kept.read_index(folder)
        for damage in kept.find_damage(folder, index):
            raise DamagedRun(folder / damage.split(": ")[1])
        return digest([index, kept.claims_of(folder, "sdds-fig1")[0]])

    return read


def of_an_archive() -> Reader:
    run_command("reproduce", "sdds-fig1")
    run_script("archive", "sdds-fig1", "--out", "here/a.zip")

    def read() -> Any:
        try:
            found = archive.check(Path("here/a.zip"))
        except (config.ConfigError, DataError) as error:
            raise DamagedRun(Path("here/a.zip")) from error
        if found.damage:
            raise DamagedRun(Path("here/a.zip"))
        return found.files, found.figures, found.claims

    return read


KINDS = {
    "clusters": of_clusters,
    "topics": of_topics,
    "unfinished": of_an_unfinished_run,
    "submissions": of_submissions,
    "certificate": of_a_certificate,
    "race": of_a_race,
    "shards": of_finished_shards,
    "unfinished-shards": of_unfinished_shards,
    "kept": of_a_kept_folder,
    "archive": of_an_archive,
}


@pytest.mark.parametrize("many", [20, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
def test_no_flipped_bit_is_believed(kind: str, many: int) -> None:
    read = KINDS[kind]()
    expected = read()
    files = [file for file in sorted(Path("here").rglob("*")) if file.is_file() and file.stat().st_size]
    rng = np.random.default_rng(many)
    named = 0
    for _ in range(many):
        file = files[rng.integers(len(files))]
        whole = file.read_bytes()
        content, bit = bytearray(whole), int(rng.integers(8 * len(whole)))
        content[bit // 8] ^= 1 << bit % 8
        file.write_bytes(content)
        try:
            assert read() == expected, f"{file}, bit {bit}: believed"
        except DamagedRun as error:
            assert file.name in str(error) and len(str(error).splitlines()) == 1, str(error)
            named += 1
        file.write_bytes(whole)
    assert read() == expected
    assert named > many / 4, f"{named} of {many} were named"
    print(json.dumps({"kind": kind, "flips": many, "named": named, "same": many - named}))
