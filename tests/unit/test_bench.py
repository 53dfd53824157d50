"""The rows of `make bench`, one round each: the plain C takes the same steps, no times. ``python -m bench.tables``: a
row for each table of a folder, and two states compared.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bench import rows, tables

pytestmark = pytest.mark.xdist_group("bench")
ROWS = rows.rows()


@pytest.mark.parametrize("row", ROWS, ids=[f"{row.name}: {row.what}" for row in ROWS])
def test_the_plain_c_takes_the_same_steps(row: rows.Row) -> None:
    result = rows.measure(replace(row, peers={}), 1)
    assert result.probability_gap < 1e-9
    assert result.same_labels or not row.same


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    z = np.repeat([0, 1], 30)
    pd.DataFrame({"truth": z, "x": 10 * z + rng.normal(size=60), "y": rng.normal(size=60)}).to_csv(
        tmp_path / "two.csv", index=False
    )
    return tmp_path


def test_a_row_has_what_the_command_found(folder: Path) -> None:
    row = tables.measure(folder / "two.csv", 0, folder, ["iterations=200", "chains=2", "model=gaussian"])
    assert (row["table"], row["rows"], row["columns"], row["true"]) == ("two", 60, 2, 2)
    assert row["clusters"] == 2
    assert row["low"] <= 2 <= row["high"]
    assert row["ari"] == 1.0
    # two normal groups, equally large, of variance 1 in both columns
    assert row["density"] == pytest.approx(-np.log(2) - np.log(2 * np.pi) - 1, abs=0.4)
    assert row["seconds"] > 0
    assert row["verdict"] in tables.VERDICTS.values()


def test_a_command_that_fails_has_a_row_with_its_message(folder: Path) -> None:
    row = tables.measure(folder / "two.csv", 0, folder, ["model.covariance=round"])
    assert row["verdict"].startswith("failed: ")
    assert "model.covariance" in row["verdict"]
    assert "ari" not in row


def test_compare_marks_what_fell_by_more_than_its_bound() -> None:
    kept = {"seed": 0, "rows": 9, "clusters": 2, "density": -1.0, "seconds": 1.0, "verdict": "yes"}
    before = pd.DataFrame([kept | {"table": name, "ari": 0.5} for name in "abc"])
    after = pd.DataFrame([kept | {"table": "a", "ari": 0.49}, kept | {"table": "b", "ari": 0.4}])
    both = tables.compare(before, after)
    assert both["table"].tolist() == ["a", "b"]
    assert both["worse"].tolist() == ["", "worse"]
