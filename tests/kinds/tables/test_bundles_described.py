"""Clusters of bundled rows: weights count as repeated rows in every description, units count once."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from splitmerge_cli.config import read_component
from splitmerge_cli.data.bundles import Bundles
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.data.tables.repeats import draw_rows, folds
from splitmerge_cli.diagnostics import cluster_table
from splitmerge_cli.diagnostics.point_estimate import estimate_partition
from splitmerge_cli.diagnostics.similarity import membership
from splitmerge_cli.kinds.tables.quantities import TIE
from splitmerge_cli.runs import checks, summaries
from splitmerge_cli.runs.draws import State
from splitmerge_cli.runs.grouping import why_not_joined

LABELS = np.array([0, 0, 1, 1, 2, 0, 1, 2])
COUNTS = np.array([1, 3, 2, 1, 4, 2, 5, 1])


def mixed_frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=8), "n": rng.integers(0, 90, 8), "c": list("aabcbbca"), "b": [0, 1] * 4})
    frame.loc[3, "x"] = np.nan
    return frame


@pytest.mark.parametrize("kind", ["mixed", "points", "tokens"])
def test_weighted_rows_are_described_as_repeated_rows(kind: str) -> None:
    frame = mixed_frame()[["x", "n"]] if kind == "points" else mixed_frame()
    data = frame["c"].tolist() if kind == "tokens" else frame
    types = {} if kind != "mixed" else {"types": {"n": "count", "c": "categorical", "b": "binary"}}
    options = {"columns": list(frame), **types} if kind != "tokens" else {}
    once = from_object(data, kind, weights=COUNTS, **options)
    rows = np.repeat(np.arange(8), COUNTS)
    repeated_data = [data[i] for i in rows] if kind == "tokens" else frame.iloc[rows].reset_index(drop=True)
    repeated = from_object(repeated_data, kind, **options)
    tables = (
        summaries.describe_clusters(once, LABELS, None, {}),
        summaries.describe_clusters(repeated, LABELS[rows], None, {}),
    )
    for ours, theirs in zip(*tables, strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            pd.testing.assert_frame_equal(pd.DataFrame(ours), pd.DataFrame(theirs))


def test_units_count_once_and_are_named() -> None:
    items = np.array([0, 0, 1, 1, 2, 0, 1, 2], dtype=np.int32)
    data = Dataset("t", "points", np.arange(16.0).reshape(8, 2), bundles=Bundles(items, names=["ann", "bob", "cat"]))
    table = cluster_table.describe_clusters(
        data, np.array([0, 0, 1, 1, 1, 0, 1, 1]), np.array([0.5, 0.5, 1, 1, 0.7, 0.5, 1, 0.7])
    )
    assert table["size"].tolist() == [2, 1] and table["prototype"] == ["bob", "ann"]
    assert table["certainty"].tolist() == pytest.approx([0.85, 0.5])
    facts = {"N": 8, "bundles": data.bundles.entry}
    assert summaries.count([0, 0, 1, 1, 1, 0, 1, 1], facts) == "2 clusters of 3 units (8 rows)"
    weighed = replace(data, bundles=Bundles(np.arange(8, dtype=np.int32), COUNTS))
    facts = {"N": 8, "bundles": weighed.bundles.entry}
    assert summaries.count([0, 0, 1, 1, 1, 0, 1, 1], facts) == "2 clusters of 8 rows, which count as 19"
    assert "units" in why_not_joined(data)


def test_small_units_are_not_called_outliers_where_all_clusters_are_small() -> None:
    data = Dataset(
        "t", "points", np.zeros((100, 1)), bundles=Bundles(np.arange(100, dtype=np.int32) // 2, names=["u"] * 50)
    )
    chosen = {"n_clusters": 50, "labels": (np.arange(100) // 2).tolist(), "expected_vi": 0.0}
    facts = {"N": 100, "chains": 4, "bundles": data.bundles.entry, "point_estimate": chosen, "least_expected_vi": None}
    assert not any("outliers" in line for line in summaries.describe_interval((49, 51), facts))


def test_frequencies_are_checked_as_repeated_rows() -> None:
    """A table of frequencies, whose rows without these are balanced: the columns go together."""
    frame = pd.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]})
    data = from_object(frame, "mixed", types={"a": "binary", "b": "binary"}, weights=[40, 5, 5, 40])
    model = read_component("model", "mixed", {})
    states = [State(np.zeros(4, dtype=np.int32), 0, {}, None)]
    (tie,) = [each for each in checks.check_fit(model, data, states).checks if each.quantity == TIE]
    assert tie.observed == pytest.approx(70 / 90) and tie.is_unlike
    powers = from_object(frame, "mixed", types={"a": "binary", "b": "binary"}, weights=[0.5, 1, 1, 2.5])
    assert "powers of the likelihood" in str(checks.explain_unchecked(model, powers))


def test_an_estimate_and_its_certainty_are_of_items() -> None:
    """One unit of many rows counts as much as a unit of one."""
    items = np.array([0] * 6 + [1, 2], dtype=np.int32)
    of_items = np.array([[0, 0, 1], [0, 0, 0], [0, 1, 1], [0, 1, 1]])
    draws = of_items[:, items]
    estimate = estimate_partition(draws, items=items)
    assert estimate.labels[[0, 6, 7]].tolist() == estimate_partition(of_items).labels.tolist()
    assert estimate.expected_loss == estimate_partition(of_items).expected_loss
    sure, alone = membership(draws, estimate.labels, items), membership(of_items, estimate.labels[[0, 6, 7]])
    assert np.array_equal(sure.certainty, alone.certainty[items]) and np.array_equal(sure.second, alone.second[items])


def test_rows_that_are_held_out_are_whole_items() -> None:
    items = np.repeat(np.arange(40, dtype=np.int32), 5)
    data = Dataset("t", "points", np.random.default_rng(0).normal(size=(200, 1)), bundles=Bundles(items))
    rows = draw_rows(data, seed=1, most_rows=52)
    assert len(rows) == 50 and np.bincount(items[rows]).max() == 5 and len(np.unique(items[rows])) == 10
    assert len(draw_rows(data, seed=1, most_rows=3)) == 10  # two items at least
    for held in folds(data, rows, 3):
        assert not np.isin(items[np.setdiff1d(np.arange(200), held)], items[held]).any()
    alone = replace(data, bundles=None)
    assert np.array_equal(draw_rows(alone, 1, 52), np.random.default_rng(1).permutation(200)[:52])


def test_values_of_rows_are_summed_by_item() -> None:
    items = np.array([0, 0, 1, 1, 2, 0, 1, 2], dtype=np.int32)
    data = Dataset("t", "points", np.zeros((8, 1)), bundles=Bundles(items, COUNTS))
    assert data.sum_by_item(np.arange(8.0)).tolist() == [13.0, 37.0, 23.0]
    assert data.first_rows_of(np.array([7, 5, 1, 6])).tolist() == [1, 6, 7]
