"""``model=auto`` reads ratings in their order, as categories or as real numbers, as predicts rows best."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from splitmerge_cli.analysis.alternatives import LeaveOneOut
from splitmerge_cli.api import selection
from splitmerge_cli.config import specify
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.fits import short_fits
from splitmerge_cli.fits.candidates import Fits, compare_readings
from splitmerge_cli.fits.objects import CATEGORIES, COUNTS, ORDERED, REALS, add_types, columns_of

pytestmark = pytest.mark.usefixtures("commands")

TYPES = {ORDERED: "ordinal", CATEGORIES: "categorical", REALS: "real"}


@pytest.fixture
def table() -> pd.DataFrame:
    """Two ratings, a code of three levels, words, numbers with a gap, counts."""
    n = np.random.default_rng(1).permutation(120)
    table = pd.DataFrame({"q1": 1 + n % 6, "q2": n * 7 % 5, "code": 1 + n % 3, "w": [*"abcd"] * 30, "x": n / 7})
    return table.assign(gap=[1, 2, 3, 5, 7] * 24, n=np.random.default_rng(0).poisson(3, 120))


@pytest.fixture
def best(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The type whose columns predict best, in place of short runs."""
    wanted: list[str] = []

    class Stub:
        def __init__(self, data: Dataset) -> None:
            types = [column.type for column in data.types or ()]
            self.density = np.full(data.N, float(types.count(wanted[0]))) - np.arange(data.N) % 2

        def leave_one_out(self, states: int) -> LeaveOneOut:
            return LeaveOneOut(self.density, np.zeros(len(self.density)))

    def short(*given: object) -> Callable[..., Any]:
        return lambda model, iterations: Stub

    monkeypatch.setattr(short_fits, "sample_by", short)
    return wanted


def test_ratings_are_categories_without_a_gap(table: pd.DataFrame) -> None:
    data = from_object(table, "mixed")
    assert [*columns_of("ratings", data)] == ["q1", "q2"] and [*columns_of("counts", data)] == ["n"]
    assert [*columns_of("ratings", from_object(table, "mixed", types={"q1": "ordinal"}))] == ["q2"]
    # a scale that another column has whole, and one of which it is no part
    scale = table.assign(q3=[1, 2, 4, 6] * 30, q4=[1, 2, 4, 7] * 30)
    read = from_object(scale, "mixed", types={"q3": "categorical", "q4": "categorical"})
    assert [*columns_of("ratings", read)] == ["q1", "q2", "q3"]


def test_words_in_an_order_are_ratings_but_no_numbers(table: pd.DataFrame, best: list[str]) -> None:
    answers = ["never", "rarely", "often", "always"]
    table = table[["w", "x"]].assign(answer=[answers[k] for k in table["q1"] % 4])
    words = from_object(table, "mixed")
    assert [*columns_of("ratings", words)] == ["answer"]
    assert add_types({}, "ratings", words) == {ORDERED: {"answer": "ordinal"}, CATEGORIES: {"answer": "categorical"}}
    both = from_object(table.assign(q=[1, 2, 3, 4, 5] * 24), "mixed")
    assert add_types({}, "ratings", both)[REALS] == {"answer": "categorical", "q": "real"}
    best.append("ordinal")
    table.to_csv("t.csv", index=False)
    lines: list[str] = []
    settled = selection.settle(specify(["data=csv", "data.path=t.csv", "model=auto"], leave_to_data=True), lines.append)
    assert settled.spec.data.values["types"] == {"answer": "ordinal"}
    assert any(line.endswith("data.types={NAME:ordinal|categorical} changes how a column is read") for line in lines)
    read = from_object(table, "mixed", types={"answer": "ordinal"})
    assert dict(zip(read.columns or (), read.types or (), strict=True))["answer"].levels == tuple(answers)


def test_counts_of_two_values_are_no_real_numbers() -> None:
    data = from_object(
        pd.DataFrame({"n": [0, 1, 2, 3] * 30, "rare": [1, *[0] * 118, np.nan]}),
        "mixed",
        types={"n": "count", "rare": "count"},
    )
    types = add_types({}, "counts", data)
    assert types == {COUNTS: {"n": "count", "rare": "count"}, REALS: {"n": "real", "rare": "categorical"}}


@pytest.mark.parametrize("name", TYPES)
def test_the_reading_that_predicts_best_is_taken(table: pd.DataFrame, best: list[str], name: str) -> None:
    best.append(TYPES[name])
    table.to_csv("t.csv", index=False)
    lines: list[str] = []
    settled = selection.settle(specify(["data=csv", "data.path=t.csv", "model=auto"], leave_to_data=True), lines.append)
    types = dict(settled.spec.data.values["types"] or {})
    expected = {} if name == CATEGORIES else {"q1": TYPES[name], "q2": TYPES[name]}
    assert {key: types[key] for key in types if key.startswith("q")} == expected
    assert settled.chosen is not None and settled.chosen["ratings"][0]["ratings"] == name
    said, how = next(line for line in lines if "\ndata.types=" in line).splitlines()
    assert said.startswith(f"ratings (q1, q2) {name}, ") and how.startswith(
        "data.types={NAME:ordinal|categorical|real} changes"
    )
    # a type that is given is not compared, nor a reading that takes fewer rows
    words = ["data=csv", "data.path=t.csv", "model=auto", "data.types={q1: categorical, q2: ordinal}"]
    named = selection.settle(specify(words, leave_to_data=True), lines.append)
    assert "ratings" not in (named.chosen or {})
    fewer = {ORDERED: from_object(table, "mixed"), REALS: from_object(table[:90], "mixed")}
    taken = compare_readings("ratings", {}, fewer, Fits(short_fits.sample_by(), 0, lines.append), lines.append)
    assert taken["ratings"] == [ORDERED]
    assert "ratings as real numbers: left out, because 30 repeated rows would be read once" in lines
