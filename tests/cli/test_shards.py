"""``smcmc shards``: a table whose rows stay with the workers of Dask."""

import hashlib
import os
import re
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from broken_runs import BreakingShards
from command_line import wait_for
from local_shards import LocalShards

from cli.test_sweep import free_port, scheduler
from splitmerge_cli.config import ConfigError, compose
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.diagnostics import cluster_table, partition_losses
from splitmerge_cli.kinds.tables.models import gaussian, mixed
from splitmerge_cli.received import DataError
from splitmerge_cli.runs.interrupts import Interrupted
from splitmerge_cli.runs.shards.run import CHECKPOINT, ShardedRun, bounds_of, run_on_shards, source_of
from splitmerge_cli.runs.shards.source import Shard, ShardLost, open_source
from splitmerge_cli.samplers.subcluster import Subcluster

pytest.importorskip("distributed", reason="Dask is not installed")

N = 2_000
NUMBERS = ["model=gaussian", "model.m0=0.5", "model.b0=0.4", "sampler=subcluster"]


@pytest.fixture
def points(monkeypatch, tmp_path: Path) -> np.ndarray:
    """Points in files of each format, in the working directory."""
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(6)
    x = generator.normal(size=(N, 3)) + 5.0 * generator.integers(3, size=N)[:, None]
    np.save("x.npy", x)
    table = pd.DataFrame(x, columns=["a", "b", "c"]).assign(name="somebody")
    table.to_parquet("x.parquet", row_group_size=300, index=False)
    Path("parts").mkdir()
    for part, first in enumerate(range(0, N, 700)):
        table.iloc[first : first + 700].to_parquet(f"parts/{part}.parquet", index=False)
    return x


def labels_of(path: Path) -> np.ndarray:
    parts = pd.concat([pd.read_parquet(part) for part in sorted((path / "labels").glob("*.parquet"))])
    assert (parts["row"] == np.arange(1, N + 1)).all()
    return parts["cluster"].to_numpy()


def run_unsharded(x: np.ndarray, iterations: int) -> np.ndarray:
    """Clusters by size from 1, as files have them."""
    model = gaussian.Gaussian(x, m0=0.5, b0=0.4)
    sampler = Subcluster(model, Rng(0))
    for _ in range(iterations):
        sampler.step()
    return cluster_table.number_clusters(partition_losses.by_size(model.labels))


def digest(path: Path) -> str:
    trace = pd.read_parquet(path / "trace.parquet")
    return hashlib.sha256(trace.to_csv(index=False).encode() + labels_of(path).tobytes()).hexdigest()


def test_the_rows_of_every_format(points) -> None:
    for path, drop in [("x.npy", None), ("x.parquet", ["name"]), ("parts", ["name"])]:
        source = open_source(path, drop=drop)
        assert source.rows == N and len(source.names) == 3
        for first, end in [(0, N), (0, 1), (299, 1401), (N - 1, N), (5, 5)]:
            assert (source.read(first, end) == points[first:end]).all()
    assert (open_source("x.parquet", columns=["c", "a"]).read(3, 5) == points[3:5, [2, 0]]).all()


def test_whole_numbers_and_truth_values_of_parquet(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame({"flag": [True, False], "large": [2**60, -3], "small": np.array([1, 2], dtype=np.uint8)})
    table.to_parquet("x.parquet")
    assert open_source("x.parquet").read(0, 2).tolist() == [[1.0, 2.0**60, 1.0], [0.0, -3.0, 2.0]]


@pytest.mark.parametrize("code", [2**53 + 1, -(2**60) - 1, 2**63 - 1, 2**64 - 1])
def test_codes_of_many_digits_are_no_numbers(monkeypatch, tmp_path: Path, code: int) -> None:
    """No reader rounds a whole number that nobody asked for: one that loses digits is a code."""
    monkeypatch.chdir(tmp_path)
    numbers = np.array([7, 8, code, 9], dtype=np.uint64 if code >= 2**63 else np.int64)
    pd.DataFrame(
        {"x": [0.5] * 4, "code": pd.array([7, None, code, 9], dtype="UInt64" if code > 0 else "Int64")}
    ).to_parquet("x.parquet")
    np.save("x.npy", np.column_stack([np.zeros(4, dtype=numbers.dtype), numbers]))
    for path, column in [("x.parquet", "code"), ("x.npy", "2")]:
        source = open_source(path, missing=True)
        with pytest.raises(DataError, match=f"{path}: row 3, column {column}: {code} has more digits than a number"):
            source.read(1, 4)
        assert source.read(3, 4)[0, 1] == 9.0
    asked = compose(["data=csv", "data.path=x.parquet", "data.columns=[code,x]", "model=gaussian"])
    assert source_of(asked).read(2, 4).tolist() == [[float(code), 0.5], [9.0, 0.5]]
    typed = compose(["data=csv", "data.path=x.npy", "model=mixed", "data.types={2:real}"])
    assert source_of(typed).read(0, 4)[:, 1].tolist() == [7.0, 8.0, float(code), 9.0]


def test_the_rows_of_a_zarr_array(points) -> None:
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    zarr.create_array(store="x.zarr", shape=points.shape, chunks=(170, 2), dtype=points.dtype)[:] = points
    assert (open_source("x.zarr").read(100, 701) == points[100:701]).all()


@pytest.mark.slow
def test_a_killed_workers_rows_go_to_another(spawn, points) -> None:
    asked = ["data.path=x.npy", *NUMBERS, "iterations=100", "timing=false", "--checkpoint", "0.2"]
    with scheduler(3, Path.cwd()) as (address, workers):
        process = spawn("shards", *asked, "--address", address)
        wait_for(lambda: list(Path("results").glob(f"shards-*/{CHECKPOINT}")), process, 60.0)
        os.kill(workers[0].pid, signal.SIGKILL)
        stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 0, stderr
    assert "lost" in stderr and stderr.count("\n") == 1
    assert "One chain cannot show convergence" in " ".join(stdout.split())
    assert (labels_of(Path(stdout.splitlines()[-1])) == run_unsharded(points, 100)).all()


def run_of(shards: int, left: int = 0, *more: str) -> ShardedRun:
    source = open_source("x.npy")
    bounds = bounds_of(N, shards)
    shards = BreakingShards([Shard(source, *bound) for bound in bounds])
    spec = compose(["data=csv", "data.path=x.npy", *NUMBERS, "iterations=12", "timing=false", *more])
    run = ShardedRun(spec, source, shards, bounds)
    shards.left = left
    return run


def test_a_run_goes_on_from_its_checkpoint_with_other_shards(points) -> None:
    whole = run_of(1, 0, "out=whole").run()
    changed = (whole / "run.json").stat().st_mtime_ns
    # finished: nothing is made again
    assert run_of(2, 0, "out=whole").run() == whole and (whole / "run.json").stat().st_mtime_ns == changed
    parts = run_of(3, 40)
    with pytest.raises(ShardLost):
        parts.run(every=0.0)
    assert (parts.path / CHECKPOINT).is_file()
    assert digest(run_of(2).run()) == digest(whole)


def test_no_scheduler(points) -> None:
    spec = compose(["data=csv", "data.path=x.npy", *NUMBERS])
    with pytest.raises(ValueError, match="--address=tcp"):
        run_on_shards(spec, open_source("x.npy"), f"tcp://127.0.0.1:{free_port()}", patience=1.0)


def test_a_cell_that_is_missing_is_named(points) -> None:
    points[1234, 1] = np.nan
    np.save("bad.npy", points)
    pd.DataFrame(points, columns=["a", "b", "c"]).to_parquet("bad.parquet", row_group_size=500)
    for path, column in [("bad.npy", "2"), ("bad.parquet", "b")]:
        with pytest.raises(DataError, match=f"row 1235, column {column}: nan; expected a number"):
            open_source(path).read(1000, N)
    points[1234, 1] = np.inf
    np.save("bad.npy", points)
    with pytest.raises(DataError, match="row 1235, column 2: inf"):
        open_source("bad.npy").read(0, N)
    binary = np.zeros((N, 3), dtype=np.int8)
    binary[1234, 2] = -1
    binary[1700, 0] = 2
    np.save("bad.npy", binary)
    source = replace(open_source("bad.npy"), binary=True)
    with pytest.raises(DataError, match="row 1235, column 3: -1; expected 0 or 1"):
        source.read(1000, N)
    assert source.read(0, 1234).sum() == 0


def test_interrupted_after_a_checkpoint(points, monkeypatch) -> None:
    run = run_of(2, 0, "iterations=9")

    def interrupt(iteration: int, K: int) -> None:
        if iteration == 5:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="the same command continues it: results/shards-"):
        run.run(0.0, interrupt)
    assert (run.path / CHECKPOINT).is_file()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["data.path=none.npy"], "none.npy: no such file"),
        (["data.path=x.npy", "chains=3"], "chains=3: a run on shards does not take this key"),
        (["data.path=x.npy", "sampler=sams"], "sampler=sams: expected subcluster"),
        (["data.path=x.parquet"], "column name: large_string; expected numbers"),
        (["data.path=x.parquet", "data.drop=[nobody]"], "no column nobody"),
        (["data.path=x.npy", "data.drop=[a]"], "choose columns of .parquet"),
        (["data.path=words.txt"], "words.txt: expected a .npy or .parquet file"),
        (["data.path=empty"], "no .parquet file in this folder"),
        (["data.path=torn.npy"], "not a readable .npy file"),
        (["data.path=x.npy", "iterations=0"], "iterations=0"),
        (["data.path=none.npy", "model=emm"], "model=emm: expected model=bernoulli, gaussian or mixed, whose items"),
        (["data.path=rows.npy"], "rows.npy: no rows; expected at least one"),
        (["data.path=columns.npy"], "columns.npy: no columns; expected at least one"),
        (["data.path=x.npy", "--address", "foo"], "--address=foo: missing port number in address 'foo'; expected one"),
    ],
)
def test_what_is_not_taken_is_said(smcmc, points, args: list[str], message: str) -> None:
    Path("words.txt").write_text("word\n")
    Path("empty").mkdir()
    np.save("rows.npy", np.zeros((0, 3)))
    np.save("columns.npy", np.zeros((3, 0)))
    Path("torn.npy").write_bytes(Path("x.npy").read_bytes()[:50])
    result = smcmc("shards", "model=gaussian", *args, status=2)
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not Path("results").exists()


@pytest.fixture
def columns(points) -> pd.DataFrame:
    """Columns of several types, some of whose cells are missing, in a .parquet file."""
    generator = np.random.default_rng(1)
    side = points[:, 0] > 5.0
    table = pd.DataFrame(
        {
            "length": points[:, 1],
            "colour": generator.integers(3, size=N) + side,
            "eggs": pd.array(generator.poisson(2.0 + 5.0 * side), dtype="Int64"),
            "female": generator.random(N) < 0.5,
        }
    )
    table.loc[::7, "length"] = np.nan
    table.loc[::5, "eggs"] = pd.NA
    table.to_parquet("mixed.parquet", row_group_size=300, index=False)
    return table


def test_columns_of_several_types(columns) -> None:
    asked = ["data.types={colour:categorical,eggs:count}", "model=mixed", "sampler=subcluster", "iterations=15"]
    found = []
    for shards in (1, 3):
        spec = compose(["data=csv", "data.path=mixed.parquet", *asked, "timing=false", f"out=of-{shards}"])
        source, bounds = source_of(spec), bounds_of(N, shards)
        run = ShardedRun(spec, source, LocalShards([Shard(source, *bound) for bound in bounds]), bounds)
        assert run.model.types == ("real", "categorical", "count", "binary")
        found.append(run.run())
    assert found[0].name == found[1].name
    assert digest(found[0]) == digest(found[1])
    wanted = mixed.Mixed(columns.to_numpy(float, na_value=np.nan), run.model.types)
    wanted.set_labels(labels_of(found[0]).copy())
    last = pd.read_parquet(found[0] / "trace.parquet").iloc[-1]
    assert last["n_clusters"] == wanted.n_clusters > 1
    assert last["log_joint"] == pytest.approx(wanted.log_joint(), rel=1e-9)


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ("{}", "columns of whole numbers; choose categorical, count or real: data.types={colour:count,eggs:count}"),
        ("{color:count}", "no column color; expected one of length, colour, eggs, female"),
        ("{eggs:number}", "eggs: number; expected binary, categorical, count, real"),
        ("{length:count}", "length: count: values from"),
        ("{eggs:binary}", "eggs: binary: values from 0 to"),
    ],
)
def test_types_that_cannot_be(columns, types: str, message: str) -> None:
    spec = compose(["data=csv", "data.path=mixed.parquet", "model=mixed", "sampler=subcluster", f"data.types={types}"])
    source = source_of(spec)
    with pytest.raises(ConfigError, match=re.escape(message)):
        ShardedRun(spec, source, LocalShards([Shard(source, 0, N)]), [(0, N)])


def test_types_are_those_of_mixed(smcmc, points) -> None:
    result = smcmc("shards", "data.path=x.npy", "model=gaussian", "data.types={1:real}")
    assert result.exit_code == 2 and "data.types: expected model=mixed" in result.stderr


def test_a_model_is_named(smcmc, points) -> None:
    result = smcmc("shards", "data.path=x.npy")
    assert result.exit_code == 2 and "model: expected model=bernoulli, gaussian or mixed" in result.stderr
