"""Rows that repeat others: when chance makes them, each read once, in terms of the table's rows, and in one fold; a run
says that no model describes copies, and prints the command of each row once."""

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import run_path

import splitmerge_cli as sm
from splitmerge_cli.analysis.alternatives import LeaveOneOut
from splitmerge_cli.config import component
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.data.tables.files import csv
from splitmerge_cli.data.tables.repeats import are_copies, copies_in, folds, items_of_rows
from splitmerge_cli.fits.candidates import Fits, covariances
from splitmerge_cli.kinds import get_kind
from splitmerge_cli.kinds.tables.choice import calibrate
from splitmerge_cli.runs.store.read import Run


@pytest.fixture
def frame() -> pd.DataFrame:
    """Two groups of ten points, each row five times, in an order of their own."""
    x = np.random.default_rng(0).normal(size=(20, 2))
    x[10:] += 8.0
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(20), 5))
    return pd.DataFrame(x[rows], columns=["x", "y"]).assign(group=np.where(rows < 10, "a", "b"))


def write(frame: pd.DataFrame, folder: Path) -> Path:
    frame.to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


def grid(step: float, size: tuple[int, int], copies: int = 0) -> np.ndarray:
    """Points recorded to a step; some rows are there once more."""
    rng = np.random.default_rng(3)
    x = np.round(rng.normal(size=size) / step) * step if step else rng.normal(size=size)
    return np.concatenate([x, x[:copies]])


@pytest.mark.parametrize(
    ("x", "copies"),
    [
        (grid(0.0, (200, 3)), False),
        (grid(0.0, (200, 3), 2), True),
        (grid(0.0, (200, 1), 3), False),
        (np.repeat(grid(0.0, (100, 1)), 5, axis=0), True),
        (np.tile(grid(0.0, (4, 1)), (9, 1)), True),
        (np.tile(grid(0.001, (60, 1)), (6, 1)), True),
        (np.tile(grid(0.01, (60, 2)), (3, 1)), True),
        (grid(0.01, (200, 4), 40), True),
        # 200 columns, of which no two rows agree in nearly all
        (grid(0.1, (60, 200), 6), True),
        # recorded to a step, fine or coarse
        (grid(0.1, (200, 1)), False),
        (grid(0.001, (500, 1)), False),
        (grid(1.0, (1000, 1)), False),
        (grid(0.1, (200, 2)), False),
        (grid(0.1, (2000, 2)), False),
        (grid(0.5, (300, 3)), False),
        (grid(1.0, (1000, 2)), False),
        (np.append(grid(0.1, (400, 1)), [[0.15]], axis=0), False),
    ],
)
def test_chance_makes_rows_equal_as_often_as_one_step_apart(x: np.ndarray, copies: bool) -> None:
    assert are_copies(x, items_of_rows(x), range(x.shape[1])) is copies


def test_rows_of_common_values_or_gaps_are_no_copies() -> None:
    """Hours of which many are 40 and some are missing, incomes that are 0 together, a weight by region, as surveys
    have them; copies among them are copies."""
    rng = np.random.default_rng(4)
    answers = rng.integers(0, 4, size=(1500, 2)).astype(float)
    hours = np.where(rng.random(1500) < 0.4, 40.0, np.round(rng.normal(40.0, 12.0, 1500)))
    hours[rng.random(1500) < 0.4] = np.nan
    incomes = rng.lognormal(9.0, 1.0, size=(1500, 2))
    incomes[rng.random(1500) < 0.2] = 0.0
    weight = np.array([1.31, 2.775, 4.08, 9.9913])[answers[:, 0].astype(int)]
    for reals in (hours[:, None], incomes, weight[:, None]):
        x = np.column_stack([answers, reals])
        items = items_of_rows(x)
        assert items.max() < 1499 and not are_copies(x, items, range(2, x.shape[1]))
    x = np.concatenate([x := np.column_stack([answers, incomes]), x[:200]])
    assert are_copies(x, items_of_rows(x), [2, 3])


def test_few_data_on_a_grid_are_seldom_taken_for_copies() -> None:
    """At most two of 300 tables with 100 rows each, some equal by chance, are taken for copied ones."""
    rng = np.random.default_rng(5)
    tables = [np.round(rng.normal(size=(100, 2)), 1) for _ in range(300)]
    items = [items_of_rows(x) for x in tables]
    assert sum(found.max() < 99 for found in items) > 200
    assert sum(are_copies(x, found, [0, 1]) for x, found in zip(tables, items, strict=True)) <= 2


def test_copies_are_looked_for_where_there_are_densities(frame: pd.DataFrame) -> None:
    assert copies_in(from_object(frame[["x", "y"]], "points")) is not None
    assert copies_in(from_object(frame, "mixed")) is not None
    assert copies_in(from_object((frame[["x", "y"]] > 0).astype(int), "binary")) is None
    levels = pd.DataFrame({"c": list("abcd") * 10, "d": list("xxyy") * 10})
    assert copies_in(from_object(levels, "mixed")) is None
    # generated points are taken as they are
    assert copies_in(get_kind("points").example(20)) is None


def test_once_keeps_truth_and_names(frame: pd.DataFrame, tmp_path: Path) -> None:
    named = frame.assign(name=[f"row{i}" for i in range(100)])[["name", "x", "y", "group"]]
    named.loc[7, "group"] = "c"
    data = csv(write(named, tmp_path), "points", truth="group", repeated="once")
    first = np.flatnonzero(~frame.duplicated(["x", "y"]))
    assert data.names == [f"row{i}" for i in first] and data.copies is not None
    assert data.copies.names == [f"row{i}" for i in range(100)]
    assert np.array_equal(data.values, frame[["x", "y"]].to_numpy()[first])
    assert np.array_equal(data.values[data.copies.items], frame[["x", "y"]].to_numpy())
    assert data.truth is not None and len(data.truth) == 20
    assert "with another true label than the row that they repeat" in data.notes[-1]


def parts(dataset: Dataset, rows: np.ndarray) -> list[list[int]]:
    return [part.tolist() for part in folds(dataset, rows, 5)]


def test_folds_without_copies_are_as_they_were() -> None:
    for x in (grid(0.0, (53, 2)), grid(0.5, (53, 2))):
        data, rows = from_object(x, "points"), np.random.default_rng(0).permutation(53)
        assert parts(data, rows) == [part.tolist() for part in np.array_split(rows, 5)]
    assert parts(data, rows[:3]) == [[rows[0]], [rows[1]], [rows[2]]]


class Stub:
    """A posterior that knows what it was given."""

    complete = True

    def __init__(self, seen: list[Any], data: Dataset) -> None:
        self.seen, self.data, self.partitions = seen, data, np.zeros((2, data.N), dtype=np.int32)

    def log_predictive(self, held: Dataset, states: int | None = None) -> np.ndarray:
        self.seen.append((self.data.values, held.values))
        return np.zeros(held.N)

    def leave_one_out(self, states: int) -> LeaveOneOut:
        """Each row is predicted from all others."""
        x = self.data.values
        self.seen.extend((np.delete(x, i, axis=0), x[i : i + 1]) for i in range(len(x)))
        return LeaveOneOut(np.zeros(len(x)), np.zeros(len(x)))


def test_what_is_chosen_by_held_out_rows_has_not_seen_them(frame: pd.DataFrame) -> None:
    data, seen = from_object(frame[["x", "y"]], "points"), list[Any]()
    model = component("model", "gaussian")
    covariances(model, data, Fits(lambda *_: lambda part: Stub(seen, part)))
    covariances(model.with_options(power=0.5), data, Fits(lambda _: lambda part: Stub(seen, part)))
    calibrate({"name": "gaussian"}, data, lambda _: lambda part: Stub(seen, part))
    assert len(seen) > 10
    for given, held in seen:
        assert not set(map(tuple, given)) & set(map(tuple, held))


def test_a_run_lists_all_rows(frame: pd.DataFrame, tmp_path: Path) -> None:
    path, out = write(frame[["x", "y"]], tmp_path), tmp_path / "r"
    options = {"data.repeated": "once", "data.header": True}
    with pytest.warns(
        sm.DataNote, match="80 of 100 rows repeat another row: each of the 20 different rows is one item"
    ):
        posterior = sm.sample("gaussian", path, chains=2, iterations=2000, store=out, options=options, progress="none")
    listed = pd.read_csv(posterior.path / "clusters.csv")
    assert listed["row"].tolist() == list(range(1, 101))
    assert len(set(zip(listed["cluster"], frame["group"], strict=True))) == 2
    items = posterior.dataset.copies.items  # type: ignore[union-attr]
    first = np.unique(items, return_index=True)[1]
    expected = np.where(first[items] == np.arange(100), np.nan, first[items] + 1)
    assert np.array_equal(listed["copy_of"], expected, equal_nan=True)
    assert posterior.run.summary["N"] == 20
    found = posterior.run.clusters()
    assert found["name"].tolist() == [str(i + 1) for i in first] and "copy_of" not in found
    assert posterior.cluster_summary()["size"].tolist() == [10, 10]
    assert set(posterior.cluster_summary()["prototype"]) <= {str(i + 1) for i in first}
    # new rows are items of their own, equal though they are
    assert posterior.predict(frame[["x", "y"]]).shape == (100,)
    # a partition of the rows of the table, or of the items, begins a chain
    for labels in (listed["cluster"], posterior.labels):
        (tmp_path / "start.csv").write_text("\n".join(map(str, labels)) + "\n")
        started = options | {"init": str(tmp_path / "start.csv")}
        assert sm.sample("gaussian", path, chains=1, iterations=2, options=started, progress="none").n_items == 20


def test_an_estimator_labels_all_rows(frame: pd.DataFrame) -> None:
    model = sm.SplitMergeClustering("gaussian", iterations=1000, random_state=0, options={"data.repeated": "once"})
    labels = model.fit_predict(frame[["x", "y"]])
    assert labels.shape == (100,) and model.n_clusters_ == 2 and model.similarity_.shape == (100, 100)
    assert len(set(zip(labels, frame["group"], strict=True))) == 2


def test_a_sample_of_an_object_is_found_again(frame: pd.DataFrame, tmp_path: Path) -> None:
    data, once = frame[["x", "y"]], {"data.repeated": "once"}
    made = sm.sample("gaussian", data, chains=1, iterations=5, store=tmp_path / "r", options=once, progress="none")
    assert sm.Posterior.load(made.path, data).dataset.N == 20


# the command that a run prints


@pytest.fixture
def path(commands: None, tmp_path: Path) -> Path:
    """Two groups of 50 points, each row five times."""
    x = np.random.default_rng(0).normal(size=(100, 2))
    x[50:] += 6.0
    return write(pd.DataFrame(np.repeat(x, 5, axis=0), columns=["x", "y"]), tmp_path)


def test_a_chosen_covariance_is_chosen_again(smcmc, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("splitmerge_cli.fits.short_fits.ITERATIONS", 20)
    args = ["data=csv", f"data.path={path}", "model=gaussian", "model.covariance=auto", "iterations=50"]
    said = smcmc("run", *args).stderr
    command = next(line for line in said.splitlines() if line.startswith("next: smcmc run"))
    assert "data.repeated=once" in command and "model.covariance=auto" in command


def test_few_copies_are_reported_alone(smcmc, commands: None, tmp_path: Path) -> None:
    path = write(pd.DataFrame(grid(0.0, (100, 2), 2), columns=["x", "y"]), tmp_path)
    said = smcmc("run", "data=csv", f"data.path={path}", "model=gaussian", "iterations=50").stderr
    assert "2 of 102 rows repeat another row" in said
    assert "does not describe" not in said and "next: smcmc run" in said and "each different row once" not in said


def test_the_command_that_is_printed_finds_the_groups(smcmc, path: Path) -> None:
    result = smcmc("run", "data=csv", f"data.path={path}", "model=gaussian", "iterations=1000", "seed=1")
    said = result.stderr
    assert "400 of 500 rows repeat another row, more than by chance: no density describes copies" in said
    assert "the model does not describe these data: 400 of 500 rows repeat another row" in said
    assert "each different row once:\n" in said
    judged = smcmc("diagnose", str(run_path(result))).stdout
    for text in (said, judged, repr(sm.Posterior.load(run_path(result)))):
        words = " ".join(text.split())
        assert 0 <= words.rindex("the model does not describe these data: 400 of 500 ") < words.index("no sign of non-")
    command = next(line for line in said.splitlines() if line.startswith("next: smcmc run"))
    assert "data.repeated=once" in command
    result = smcmc(*shlex.split(command.removeprefix("next: smcmc ")))
    assert Run(run_path(result)).summary["point_estimate"]["n_clusters"] == 2
    assert "each of the 100 different rows is one item" in result.stderr
    assert "does not describe" not in result.stderr and "data.repeated=once" not in result.stderr
