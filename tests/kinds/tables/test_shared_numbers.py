"""Clusters whose rows share numbers to the last digit, as rows of one town have its tax."""

import shlex

import numpy as np
import pandas as pd
import pytest

from splitmerge_cli.config import specify
from splitmerge_cli.config.specification import command_of
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.kinds.tables.answers import FOLLOWERS, SHARED, ColumnAnswers, find_shared
from splitmerge_cli.kinds.tables.quantities import TIE

TOWNS, ROWS = 14, 12
TOWN = np.repeat(np.arange(TOWNS), ROWS)


def homes(**columns: np.ndarray) -> pd.DataFrame:
    """Homes of fourteen towns: numbers of their own, and a tax and a rate that the homes of a town share."""
    rng = np.random.default_rng(0)
    tax, rate = (rng.normal(300, 50, TOWNS)[TOWN].round(1) for _ in range(2))
    x = {"rooms": rng.normal(6, 1, len(TOWN)), "tax": tax, "age": rng.normal(60, 20, len(TOWN)), "rate": rate}
    return pd.DataFrame(x | columns)


def test_columns_that_the_rows_of_a_cluster_share_are_counted() -> None:
    found = find_shared(from_object(homes(), "mixed"), TOWN)
    assert found == {"clusters": TOWNS, "alike": TOWNS, "columns": ["tax", "rate"], "following": []}
    assert find_shared(from_object(homes(), "points"), TOWN) == found
    # half of the clusters are enough, and a column that few of them share is not named
    halves = np.where(TOWN < 7, TOWN, 7 + np.arange(len(TOWN)) % 7)
    few = homes(rate=np.where(TOWN < 1, 7.0, homes()["rooms"]))
    assert find_shared(from_object(few, "mixed"), halves) == {
        "clusters": 14,
        "alike": 7,
        "columns": ["tax"],
        "following": [],
    }
    # a sum of the two is data once they are not
    more = homes(sum=homes()["tax"] + homes()["rate"])
    assert (find_shared(from_object(more, "mixed"), TOWN) or {})["following"] == ["sum"]
    assert find_shared(from_object(few, "mixed"), np.where(TOWN < 6, TOWN, 6 + np.arange(len(TOWN)) % 8)) is None


@pytest.mark.parametrize(
    ("columns", "labels"),
    [
        # no cluster shares anything
        ({}, np.arange(len(TOWN)) % TOWNS),
        # too few clusters
        ({}, np.minimum(TOWN, 3)),
        # a spike is a number of its own, and columns of few numbers are categories at best
        ({"tax": np.where(TOWN < 11, 0.0, homes()["rooms"]), "rate": (TOWN % 3).astype(float)}, TOWN),
        # nothing else is left
        ({name: homes()["tax"] + k for k, name in enumerate(["rooms", "age", "rate"])}, TOWN),
        # missing cells are not alike
        ({"tax": np.where(np.arange(len(TOWN)) % ROWS, homes()["tax"], np.nan), "rate": homes()["age"]}, TOWN),
    ],
)
def test_other_clusters_share_no_numbers(columns: dict[str, np.ndarray], labels: np.ndarray) -> None:
    for kind in ("mixed", "points"):
        assert find_shared(from_object(homes(**columns), kind), labels) is None


def test_the_other_columns_are_advised_once() -> None:
    summary = {SHARED: {"clusters": 40, "alike": 34, "columns": ["tax", "rate", 3], "following": ["sum"]}}
    (line,) = ColumnAnswers.further_lines(summary, 1)
    assert line.startswith("in 34 of 40 clusters all rows share one number of tax, rate or 3: a density is highest")
    words = ["data=csv", "data.path=t.csv", "data.drop=[a]", "data.scale={tax: log,rooms: log}", "model.zeros=apart"]
    spec = specify([*words, "model=mixed", "init=best", "data.types={tax: real,b: count}"])
    asked = spec.model.values, spec.data.values, spec.given_keys.keys
    why, changed = ColumnAnswers.another_model([], summary | {"chosen": {"zeros": []}}, *asked)  # type: ignore[misc]
    found = shlex.split(command_of(spec, changed) or "")
    assert why == "without these columns:" and "data.drop=[a,tax,rate,3,sum]" in found and "model=auto" in found
    assert "data.types={b: count}" in found and "data.scale=auto" in found and "init=best" not in found
    # the model that the user named stays, and so do the scales of other columns
    _, changed = ColumnAnswers.another_model([], summary, *asked)  # type: ignore[misc]
    found = shlex.split(command_of(spec, changed) or "")
    assert {"model=mixed", "model.zeros=apart", "data.scale={rooms: log}", "init=best"} <= {*found}
    spec = specify([*words[:2], "model=mixed", "data.columns=[tax,b]"])
    assert ColumnAnswers.another_model([], summary, spec.model.values, spec.data.values, ()) is None


def test_levels_that_follow_are_left_out_where_a_tie_of_theirs_is_what_the_model_lacks() -> None:
    def advice(subject: str, columns: str = "null") -> object:
        unlike = [{"subject": "a and b", "quantity": f"residual {TIE}"}, {"subject": subject, "quantity": TIE}]
        spec = specify(["data=csv", "data.path=t.csv", f"data.columns={columns}", "model=mixed"])
        asked = spec.model.values, spec.data.values, spec.given_keys.keys
        return ColumnAnswers.another_model(unlike, {FOLLOWERS: ["country", 7]}, *asked)

    left = {"data.drop": ["country", 7], "data.types": None}
    why, changed = advice("city and country")  # type: ignore[misc]
    assert why == "without levels that follow from others:" and {**left, **changed} == left
    assert advice("e and 7") is not None
    assert advice("city and e") is None
    assert advice("city and country", "[city,country]") is None
