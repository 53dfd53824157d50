"""Matrices of ties: adjacency matrices [N, N], and incidence matrices of two kinds of nodes, in files and in memory."""

from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from splitmerge_cli.data.opening import Limit, check_rows, content
from splitmerge_cli.data.tables.formats import load_npy
from splitmerge_cli.data.tables.free_text import is_numeric
from splitmerge_cli.data.tables.scaled import EMPTY_BYTES, read_sparse
from splitmerge_cli.data.tables.text import Text
from splitmerge_cli.data.values import A_WEIGHT, is_sparse, place_of
from splitmerge_cli.extras import sparse
from splitmerge_cli.kinds.networks.readers.adjacency import read_weights
from splitmerge_cli.kinds.networks.readers.edge_values import EXPECTED, UNKNOWN, read_values
from splitmerge_cli.kinds.networks.readers.listed import Listed, Use
from splitmerge_cli.received import DataError, reject_machine_error

SQUARE = 5
"""Rows from which on a square table of numbers without names is no list of edges."""
NO_EDGE = "0: no edge"
OTHERS = "data.values=real or levels reads negative ones, data.values=binary a missing one as an unknown pair"
Place = Callable[[int, int], str]
"""Names an entry, by row and column from 0, as messages begin."""


def listed_matrix(
    values: Any,
    place: str,
    name: str,
    use: Use,
    row_names: Sequence[str] | None = None,
    column_names: Sequence[str] | None = None,
    entry: Place | None = None,
) -> Listed:
    """The entries of a matrix that are not 0 as edges; NaN: a missing value. Numbers, or of objects."""
    R, C = values.shape
    if R != C and not use.two_kinds:
        raise DataError(
            f"{place}: shape {values.shape}; expected an adjacency matrix [N, N], or data.bipartite=true for two kinds "
            "of nodes, rows and columns"
        )
    entry = entry or (lambda i, j: f"{place}: {place_of(i, j, column_names)}")
    ends, weight, levels = read_entries(values, None if use.is_simple else use.form, entry)
    names = list(row_names) if row_names else list(column_names) if column_names else None
    sides = None
    if use.two_kinds:
        ends[:, 1] += R
        sides = (np.arange(R + C) >= R).astype(np.int8)
        names = [*(row_names or map(str, range(1, R + 1))), *(column_names or map(str, range(1, C + 1)))]
    N = R + C if use.two_kinds else R
    return Listed(place, name, names, N, ends, weight, levels, sides=sides, is_matrix=True)


def read_entries(
    values: Any, form: str | None, entry: Place
) -> tuple[NDArray[np.int64], NDArray[np.float64], tuple[str, ...]]:
    """Rows and columns, int64 ``[entries, 2]``, of the entries that are not 0, their values and the levels of these;
    `form` None: weights of a simple network."""
    row, column, cells = _entries(values)
    levels: tuple[str, ...] = ()
    if form is None:
        weight, bad = read_weights(cells)
        expected = f"{A_WEIGHT} ({NO_EDGE}; {OTHERS})"
    else:
        weight, levels, bad = read_values(cells, form)
        expected = f"{EXPECTED[form]} ({NO_EDGE})"
    if bad is not None:
        raise DataError(f"{entry(int(row[bad]), int(column[bad]))}: {cells[bad]}; expected {expected}")
    return np.stack([row, column], axis=1).astype(np.int64), weight, levels


def _entries(values: Any) -> tuple[NDArray[np.int64], NDArray[np.int64], Any]:
    """Rows, columns and values of the entries that are not 0."""
    if is_sparse(values):
        entries = sparse.coo_array(values)
        entries.sum_duplicates()
        kept = entries.data != 0
        return entries.row[kept], entries.col[kept], entries.data[kept]
    differ = np.frompyfunc(_is_entry, 1, 1)(values).astype(bool) if values.dtype == object else values != 0
    row, column = np.nonzero(differ)
    return row, column, values[row, column]


def _is_entry(cell: Any) -> bool:
    return not (isinstance(cell, int | float | np.number | np.bool_) and cell == 0)


def read_matrix(path: Path, suffix: str, use: Use) -> Listed:
    """The matrix of a .npy, .npz or .mtx file."""
    name = path.name.split(".")[0]
    if suffix == ".npz":
        return listed_matrix(read_sparse(path), str(path), name, use)
    if suffix == ".mtx":
        return listed_matrix(_load_mtx(path), str(path), name, use)
    array = load_npy(path)
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise DataError(f"{path}: {array.dtype}, shape {array.shape}; expected a matrix of numbers")
    return listed_matrix(array, str(path), name, use)


def _load_mtx(path: Path) -> Any:
    """A matrix in the format of Matrix Market."""
    from scipy.io import mminfo, mmread

    data = content(path, 4)
    try:
        rows, columns, entries, form, field, _ = mminfo(BytesIO(data))
        least = entries // 2 if form == "array" else entries  # of a symmetric matrix one half is written
        if least > len(data):
            raise ValueError(f"{len(data)} bytes do not hold {least} entries")
        check_rows(path, rows + columns, EMPTY_BYTES, "rows and columns")
        if form == "array":
            Limit.current().check(path, 8 * rows * columns, " as numbers")
        if field == "complex":
            raise ValueError("it holds complex numbers")
        return mmread(BytesIO(data))
    except DataError:
        raise
    except Exception as error:  # the reader raises all kinds on a damaged file
        reject_machine_error(error, path)
        raise DataError(f"{path}: not a readable .mtx file: {error or type(error).__name__}") from error


def matrix_of_text(table: Text, use: Use, header: str | bool, wanted: str | bool) -> Listed | None:
    """A matrix of ties in a text, or None if it is a list of edges; `wanted`: the option data.matrix.

    ``auto``: a table is a matrix if its first row and its first column hold the same names, or if it has as many rows
    as columns, `SQUARE` at least, of numbers alone.
    """
    may_be_square = table.rows in (table.width, table.width + 1)
    if wanted is False or table.width < 3 or not (wanted is True or may_be_square):
        return None
    head = [cell.strip() for cell in table.top[0]]
    first = [str(cell).strip() for cell in table.columns[0].to_pylist()]
    # a first column that counts the rows names no node
    index = int(header is not False and table.heads_index())
    both_named = len(first) == len(head) and first[1:] == head[1:] and len(set(first[1:])) == len(first) - 1
    # of a few rows these may be pairs below numbers of columns, as pandas writes them
    both_named &= wanted is True or not index or len(head) > SQUARE
    if both_named and header is not False:
        row_names, skip, index = first[1:], 1, 0
    elif wanted is True:
        named = header is True or (header == "auto" and not all(is_numeric(cell) or cell in UNKNOWN for cell in head))
        skip = int(named)
        row_names = first[skip:] if (named and not head[0]) or not all(map(is_numeric, first[skip:])) else []
        row_names = [] if index else row_names
    else:
        named = header is True or (header == "auto" and not any(map(is_numeric, head[index:])))
        skip, row_names = int(named), []
        if table.rows - skip != table.width - index or table.rows - skip < SQUARE:
            return None
    columns = range(1 if row_names else index, table.width)
    values, blanks = np.empty((table.rows - skip, len(columns))), 0
    Limit.current().check(table.path, 8 * values.size, " as numbers")
    for d, j in enumerate(columns):
        cells = table.columns[j].slice(skip)
        numbers, _, bad = read_values(cells, "real")
        if bad is not None:
            if wanted is True or both_named:
                raise DataError(
                    f"{table.path}: row {table.row(bad + skip)}, column {j + 1}: "
                    f"'{cells[bad].as_py()}'; expected {EXPECTED['real']}, or an empty cell for an unknown pair"
                )
            return None
        if use.values is None and np.isnan(numbers).any():
            # as people write matrices of ties by hand; whoever names their form has unknown pairs
            empty = pc.equal(pc.utf8_trim_whitespace(pc.cast(cells, pa.large_string())), "").to_numpy()
            numbers[empty] = 0.0
            blanks += int(empty.sum())
        values[:, d] = numbers
    if not (wanted is True or both_named or _looks_like_ties(values)):
        return None
    column_names = head[columns[0] :] if skip else None
    if not use.two_kinds and row_names and column_names and row_names != column_names:
        raise DataError(
            f"{table.path}: names of rows and of columns differ; expected the same nodes in the same order, or "
            "data.bipartite=true for two kinds of nodes"
        )
    listed = listed_matrix(
        values,
        str(table.path),
        table.title,
        use,
        row_names or None,
        column_names,
        lambda i, j: f"{table.path}: row {table.row(i + skip)}, column {columns[j] + 1}",
    )
    if blanks:
        listed.notes.append(
            f"{table.path}: {blanks:,} empty cells are read as 0, no edge (data.values=binary reads them as unknown "
            "pairs)"
        )
    if wanted == "auto":
        listed.notes.append(f"{table.path}: read as a matrix of ties (data.matrix=false reads a list of edges)")
    return listed


def is_named_matrix(table: Text) -> bool:
    """Whether a text is a matrix of ties whose rows and columns have the same names; not all pairs have one."""
    head, number, has_gap = [cell.strip() for cell in table.top[0]], 0, False
    for number, (_, row) in enumerate(table.lines()):
        cells = [cell.strip() for cell in row]
        if number >= len(head) or len(cells) != len(head) or (number and cells[0] != head[number]):
            return False
        if not number:
            continue
        if not all(is_numeric(cell) or cell in UNKNOWN for cell in cells[1:]):
            return False
        has_gap |= any(j != number and (cell in UNKNOWN or not float(cell)) for j, cell in enumerate(cells[1:], 1))
    # of a symmetric matrix without names the first row is the first column
    named = len(set(head[1:])) == len(head) - 1
    return named and number + 1 == len(head) > (SQUARE if table.heads_index() else 2) and has_gap


def is_symmetric_matrix(table: Text) -> bool:
    """Whether a text is a symmetric matrix of numbers with nothing on its diagonal, where not all pairs have a tie:
    `SQUARE` rows or more, which need no names."""
    index, width, values = int(table.heads_index()), table.width, list[list[float]]()
    N = width - index
    for number, (_, row) in enumerate(table.lines()):
        cells = [cell.strip() for cell in row[index:]]
        if len(values) == N or len(row) != width:
            return False
        if all(is_numeric(cell) or cell in UNKNOWN for cell in cells):
            values.append([float("nan") if cell in UNKNOWN else float(cell) for cell in cells])
            # most tables end here, at their first row
            if values[-1][len(values) - 1] != 0.0:
                return False
        elif number:
            return False
    if len(values) != N or N < SQUARE:
        return False
    ties = np.array(values)
    return np.array_equal(ties, ties.T, equal_nan=True) and _looks_like_ties(ties)


def _looks_like_ties(values: NDArray[np.float64]) -> bool:
    """Whether a matrix may hold ties: some pairs have none. A matrix of distances or correlations has no 0."""
    R, C = values.shape
    off = ~np.eye(R, C, dtype=bool)
    return R == C and bool((values[off] == 0).any() or np.isnan(values[off]).any())
