"""Findings of the fuzzing, each as the smallest example of its class."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from broken_runs import break_off
from rich.console import Console
from scipy.sparse import csr_array

from splitmerge_cli import config, runs
from splitmerge_cli.analysis.plots.style import save, use_style
from splitmerge_cli.data import downloads
from splitmerge_cli.diagnostics import restarts, summary
from splitmerge_cli.kinds.networks import pictures as network
from splitmerge_cli.kinds.networks.generated import usair97
from splitmerge_cli.kinds.tables.plots import points
from splitmerge_cli.received import DataError
from splitmerge_cli.runs.progress import ChainProgress, reporter
from splitmerge_cli.runs.store import manifest, schema
from splitmerge_cli.runs.store.files import LISTED_RUNS, DamagedRun
from splitmerge_cli.runs.store.read import Run, find_runs

POINTS = ["data=gaussian", "N=12", "data.components=2", "chains=2", "iterations=12", "timing=false", "progress=none"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(runs.run(config.compose([*POINTS, f"out={tmp_path}"])))


def seal(run: Run) -> Run:
    """The run with digests that fit what is there."""
    manifest.write_manifest(run.path / "manifest.json", run.manifest.names)
    return Run(run.path)


# figures and tables


def test_names_of_the_users_own_are_drawn_as_they_are() -> None:
    text = "$a_{$"
    tied = csr_array(np.array([[0, 1], [1, 0]], dtype=np.uint8))
    with use_style():
        figure, ax = points.plt.subplots()
        places = np.array([[0.0, 0.0], [1.0, 1.0]])
        network.draw_network(ax, tied, np.array([0, 1]), places)
        figure.canvas.draw()
        assert network.write_names(ax, tied, places, [text, "b"]) == 2
        assert [drawn.get_text().replace(r"\$", "$") for drawn in ax.texts] == [text, "b"]
        save(figure, Path("drawn"))


@pytest.mark.parametrize("text", ["[/x]", "[red]x"])
def test_what_a_file_says_is_no_markup(text: str) -> None:
    console = Console(width=100, record=True)
    rows = [(text, None, 1.0, text)]
    console.print(restarts.table(pd.DataFrame(rows, columns=["quantity", "chain", "value", "note"]), title=text))
    assert console.export_text().count(text) == 3


def test_a_log_joint_beyond_all_digits_is_a_short_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("splitmerge_cli.runs.progress.LINE_EVERY", 0.0)
    lines = reporter("lines")
    lines.start(1)
    lines.update(0, ChainProgress(1, 0.5, 1.0, 1, -1e200, 0.0))
    lines.stop()
    assert max(map(len, capsys.readouterr().err.splitlines())) < 100


# readers


def test_a_published_file_without_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(downloads.VARIABLE, ".")
    Path("usair97").mkdir()
    pd.DataFrame({"source": ["1"], "target": ["2"]}).to_csv("usair97/edges.csv.gz", index=False)
    pd.DataFrame({"id": ["1", "2"], "other": ["a", "b"]}).to_csv("usair97/nodes.csv.gz", index=False)
    files = tuple(downloads.File(name) for name in ("edges.csv.gz", "nodes.csv.gz"))
    of = downloads.SETS["usair97"]
    monkeypatch.setitem(downloads.SETS, "usair97", downloads.Published(**vars(of) | {"files": files}))
    with pytest.raises(DataError, match=r"nodes\.csv\.gz: columns id, other; expected one named name"):
        usair97()


# runs that somebody made

TABLES: dict[str, Callable[[pa.Table], pa.Table]] = {
    "a column that is gone": lambda rows: rows.drop_columns(["log_joint"]),
    "a column of another type": lambda rows: rows.set_column(0, "chain", rows["chain"].cast(pa.string())),
    "no rows": lambda rows: rows.slice(0, 0),
    "a chain that is gone": lambda rows: rows.filter(pa.compute.equal(rows["chain"], 0)),
    "a chain too many": lambda rows: pa.concat_tables(
        [rows, rows.slice(0, 1).set_column(0, rows.schema.field(0), pa.array([7], pa.int32()))]
    ),
    "a missing value": lambda rows: rows.set_column(3, rows.schema.field(3), pa.nulls(len(rows), pa.float64())),
    "a NaN": lambda rows: rows.set_column(3, rows.schema.field(3), pa.array([np.nan] * len(rows))),
    "a number below 0": lambda rows: rows.set_column(1, rows.schema.field(1), pa.array([-1] * len(rows), pa.int64())),
    "empty lists": lambda rows: rows.set_column(
        7, rows.schema.field(7), pa.array([[]] * len(rows), pa.list_(pa.float64()))
    ),
}


@pytest.mark.parametrize("what", TABLES)
def test_a_table_that_no_run_has_is_damaged(run: Run, what: str) -> None:
    file = run.path / "trace.parquet"
    pq.write_table(TABLES[what](pq.read_table(file, partitioning=None)), file)
    received = runs.open_run(seal(run).path)
    with pytest.raises(DamagedRun, match=r"trace\.parquet"):
        received.trace()


CLUSTERS: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "a row that is gone": lambda rows: rows.iloc[1:],
    "a cluster below 0": lambda rows: rows.assign(cluster=-1),
    "a certainty above 1": lambda rows: rows.assign(certainty=1.5),
    "a probability that is a word": lambda rows: rows.assign(second_probability="x"),
    "a second cluster between two": lambda rows: rows.assign(second=0.5),
    "no clusters": lambda rows: rows.drop(columns="cluster"),
}


@pytest.mark.parametrize("what", CLUSTERS)
def test_clusters_that_no_run_has_are_damaged(run: Run, what: str) -> None:
    file = run.path / "clusters.csv"
    CLUSTERS[what](pd.read_csv(file)).to_csv(file, index=False)
    received = runs.open_run(seal(run).path)
    with pytest.raises(DamagedRun, match=r"clusters\.csv"):
        received.clusters()


def test_a_list_of_runs_that_was_changed_is_damaged(run: Run) -> None:
    with schema.SealedFolder(Path("listed/sweeps/one")) as files:
        files.add_text(LISTED_RUNS, f"{run.path}\n")
    assert [found.path for found in find_runs("listed")] == [run.path]
    Path("listed/sweeps/one", LISTED_RUNS).write_text(f"{run.path}\n\n")
    with pytest.raises(DamagedRun, match=LISTED_RUNS):
        find_runs("listed")


SUMMARIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a count that is text": lambda said: said | {"N": "12"},
    "labels of another number": lambda said: said | {"highest_log_joint": said["highest_log_joint"] | {"labels": [0]}},
    "labels below 0": lambda said: said | {"point_estimate": said["point_estimate"] | {"labels": [-1] * 12}},
    "another number of chains": lambda said: said | {"chains": 3},
    "a chain more than configured": lambda said: (
        said | {"chains": 3, "iterations": [*said["iterations"], 12], "seconds": [*said["seconds"], 0.0]}
    ),
    "diagnostics that are text": lambda said: said | {"diagnostics": {"rhat/log_joint": "x"}},
    "hash tables without counts": lambda said: said | {"hash_tables": {"empty": 1.0}},
    "a list": lambda said: [said],
}


@pytest.mark.parametrize("what", SUMMARIES)
def test_a_summary_that_no_run_has_is_damaged(run: Run, what: str) -> None:
    file = run.path / "summary.json"
    file.write_text(json.dumps(SUMMARIES[what](json.loads(file.read_text()))))
    received = seal(run)
    with pytest.raises(DamagedRun, match=r"summary\.json"):
        _ = received.summary
    # nor is such a run taken for one that was made before
    with pytest.raises(DamagedRun, match=r"summary\.json"):
        runs.is_done(run.path)


@pytest.mark.parametrize(("key", "value"), [("moves", [1]), ("moves", [{"move": 1}]), ("moves", None)])
def test_a_checkpoint_that_no_run_has_is_damaged(key: str, value: Any) -> None:
    break_off(*POINTS, "chains=1", "iterations=5000")
    run = runs.open_run(next(Path("results").glob("*/*")))
    assert len(summary.diagnose(run.trace(), run.moves().to_dict("records")))
    file = run.path / "work/chain-0.npz"
    saved = manifest.load(file)
    saved["outcome"][key] = value
    manifest.save(file, saved)
    with pytest.raises(DamagedRun, match=r"chain-0\.npz"):
        run.moves()


@pytest.mark.parametrize(
    ("group", "changed", "error", "said"),
    [
        ("model", {"kappa0": 0.0}, config.ConfigError, r"model\.kappa0"),
        ("data", {"N": 9}, DataError, "data of 9 items; expected the 12 of the run"),
    ],
)
def test_what_cannot_be_built_is_not_drawn(
    run: Run, monkeypatch: pytest.MonkeyPatch, group: str, changed: dict[str, Any], error: type[Exception], said: str
) -> None:
    monkeypatch.setitem(run.__dict__, "config", run.config | {group: run.config[group] | changed})
    with pytest.raises(error, match=rf"config\.yaml: {said}"):
        runs.dataset_of(run)
