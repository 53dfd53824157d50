"""Arrow arrays of a run against those that pyarrow itself makes of the same values."""

import numpy as np
import pyarrow as pa
import pytest

from splitmerge_cli.data.arrow import array_of, numbers_of
from splitmerge_cli.runs.store.files import table_of


@pytest.mark.parametrize(
    ("values", "type"),
    [
        (np.arange(3), pa.int32()),
        (np.array([0.5, np.inf]), pa.float64()),
        (np.empty(0), pa.int64()),
        ([1, None, 3], pa.int32()),
        ([1.5, float("nan"), np.float64(2)], pa.float64()),
        (["a", None, "", "é" * 40], pa.string()),
        ([None] * 9, pa.string()),
        ([], pa.string()),
        (["a", None, "é"], pa.large_string()),
        (np.arange(19) % 3 == 0, pa.bool_()),
        (np.arange(3, dtype=np.float32), pa.float32()),
    ],
)
def test_arrays_are_those_of_pyarrow(values, type):
    found = array_of(values, type)
    found.validate(full=True)
    assert found.equals(pa.array(values, type=type, from_pandas=isinstance(values, list)))


def test_tables_are_those_of_pyarrow():
    columns = pa.schema([("name", pa.string()), ("count", pa.int64())])
    values = [["a", None], [1, 2]]
    assert table_of(values, columns).equals(pa.table(values, schema=columns))
    assert table_of([[], []], columns).equals(columns.empty_table())


@pytest.mark.parametrize("begin", [0, 3, 9])
@pytest.mark.parametrize(("values", "missing"), [([True, None, False] * 4, False), ([1.5, None, 2.0] * 4, np.nan)])
def test_missing_values_are_what_stands_for_them(begin, values, missing):
    column = pa.chunked_array([pa.array(values), pa.array(values)]).slice(begin, 14)
    expected = [missing if value is None else value for value in (values * 2)[begin : begin + 14]]
    np.testing.assert_array_equal(numbers_of(column, missing), expected)


@pytest.mark.parametrize("begin", [0, 2])
def test_numbers_of_parts_of_columns(begin):
    numbers = pa.chunked_array([pa.array([1, 2, 3, 4]), pa.array([], pa.int64()), pa.array([5])])[begin:]
    assert numbers_of(numbers).tolist() == numbers.to_pylist()
    lists = pa.chunked_array([pa.array([[1, 2], [3, 4], [5, 6]]), pa.array([[7, 8]])])[begin:]
    assert numbers_of(lists).tolist() == [number for row in lists.to_pylist() for number in row]
