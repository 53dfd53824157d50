"""Tables of JSON lines (.jsonl, .ndjson): an object in each row of a text, whose keys name the columns."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from splitmerge_cli.data.opening import Limit
from splitmerge_cli.data.tables.encoded import read_text
from splitmerge_cli.data.tables.table import Table, list_names
from splitmerge_cli.received import DataError, parse_json

JSON_LINES = (".jsonl", ".ndjson")
CELL_BYTES = 64
"""Memory that a cell takes while it is read, apart from its text."""
LARGEST_INT = 1 << 53
"""Whole numbers beyond it are words: as numbers they would lose digits."""


def read_json_lines(path: Path) -> Table:
    """Read a file of JSON lines into columns; a cell whose key an object lacks is missing, and keys of lists and
    objects are left out. Raises a `DataError` for a row that is no object, or for more cells than the limit
    (data.max_bytes).
    """
    limit, lines = Limit.current(), read_text(path).split(b"\n")
    columns: dict[str, list[Any]] = {}
    nested: dict[str, None] = {}
    for i, line in enumerate(lines):
        try:
            row = parse_json(line)
        except ValueError as error:
            raise DataError(f"{path}: row {i + 1}: {error}; expected an object of JSON in each row") from error
        if not isinstance(row, dict):
            raise DataError(f"{path}: row {i + 1}: no object of JSON; expected one in each row")
        for key, value in row.items():
            if isinstance(value, dict | list):
                nested[key] = None
                continue
            if key not in columns:
                limit.check(path, (len(columns) + 1) * len(lines) * CELL_BYTES, " of cells")
                columns[key] = [None] * len(lines)
            columns[key][i] = value
    names = [name for name in columns if name not in nested]
    table = Table(path, [_column(columns[name]) for name in names], names)
    if nested:
        shown = list_names([repr(name) for name in nested])
        table.notes.append(f"{path}: {shown}: left out, as rows hold lists or objects of it")
    return table


def _column(values: list[Any]) -> pa.ChunkedArray:
    """Cells as numbers or as true and false, where all are; else as text."""
    types = {type(value) for value in values} - {type(None)}
    if types == {bool}:
        return pa.chunked_array([pa.array(values, pa.bool_())])
    if (
        types
        and types <= {int, float}
        and all(abs(value or 0) <= LARGEST_INT for value in values if type(value) is int)
    ):
        return pa.chunked_array([pa.array(values, pa.float64() if float in types else pa.int64())])
    text = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
    return pa.chunked_array([pa.array(text, pa.string())])
