"""Rows of edges from what is written in another form: graphs whose nodes and edges have attributes, in files or objects
of networkx and igraph; matrices of ties, adjacency matrices [N, N] or incidence matrices of two kinds of nodes.
"""

import re
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from splitmerge_cli.data import dataset, opening
from splitmerge_cli.data.tables import formats, scaled, separators
from splitmerge_cli.data.tables.table import NUMBER, Table, quote
from splitmerge_cli.data.tables.text import Text
from splitmerge_cli.data.values import A_WEIGHT, is_sparse, numbered_labels, place_of
from splitmerge_cli.extras import sparse
from splitmerge_cli.kinds.networks.data import BINARY, COUNT
from splitmerge_cli.kinds.networks.readers import edge_values
from splitmerge_cli.kinds.networks.readers.listed import Listed, Use
from splitmerge_cli.received import DataError, reject_machine_error

SIDES = ("bipartite", "type")
"""Attributes of nodes that tell two kinds of them apart, as networkx and igraph name them."""
NO_COLUMNS = {*SIDES, "label", "id", "name", "x", "y", "z", "pos", "shape", "graphics"}
"""Attributes of nodes that describe no node, or how it is drawn."""
HOW = "data.weights=null reads none, data.values=real or levels negative ones"


class Attributed(NamedTuple):
    """A graph as it is written: names of the nodes, ends of the edges, and what each has.

    ``sides``, ``side_names``: where the format has two kinds of nodes. ``directed`` None: the format does not say.
    ``usual``: the weight of an edge without one, in formats that define it.
    """

    names: list[str] | None
    nodes: Sequence[dict[str, Any]]
    ends: NDArray[np.int64]
    edges: Sequence[dict[str, Any]]
    directed: bool | None
    sides: NDArray[np.int8] | None = None
    side_names: tuple[str, str] = ("row", "column")
    usual: float | None = None


def as_number(text: str) -> float | str:
    """The number that a text is; the text, if it is none."""
    return float(text) if NUMBER.fullmatch(text) else text


def as_pairs(ends: Sequence[Any]) -> NDArray[np.int64]:
    """Ends of edges as an array ``[edges, 2]``, of no edges, too."""
    return np.array(ends, dtype=np.int64).reshape(-1, 2)


Wrong = Callable[[int, str, Any], str]
"""Names the edge of that position, its attribute and the value of it, as messages begin."""


def rows_of_graph(
    graph: Attributed,
    place: str,
    name: str,
    use: Use,
    wrong: Wrong,
    weights: str | int | None = "auto",
    truth: str | int | None = None,
    default: Any = None,
) -> Listed:
    """The rows of a graph with attributes; `default`: the weight of an edge without one in a simple network."""
    key = _values_key(graph, weights, use)
    weight, other, levels = None, None, tuple[str, ...]()
    if key is not None:
        cells = [attributes.get(key, default if use.is_simple else graph.usual) for attributes in graph.edges]
        if use.is_simple:
            weight, bad = edge_values.read_weights(cells)
            expected = f"{A_WEIGHT} ({HOW})"
        else:
            weight, levels, bad = edge_values.read_values(cells, use.form)
            expected = edge_values.EXPECTED[use.form]
        if bad is not None:
            raise DataError(f"{wrong(bad, key, cells[bad])}; expected {expected}")
    elif use.values not in (None, BINARY, COUNT):
        raise DataError(f"data.values={use.values}: {place}: edges have no weights; expected data.weights=ATTRIBUTE")
    elif (
        use.values is None
        and (key := _single_key(graph.edges, edge_values.VALUE_WORDS)) is not None
        and weights is not None
    ):
        other = [attributes.get(key) for attributes in graph.edges]
    layer, layers = None, tuple[str, ...](("",))
    if use.layer is not None:
        layer_of_edge = [attributes.get(str(use.layer)) for attributes in graph.edges]
        if None in layer_of_edge:
            k = layer_of_edge.index(None)
            a, b = (quote(graph.names[node]) if graph.names else str(node + 1) for node in graph.ends[k])
            problem = f"edge {k + 1} ({a}, {b}) has no such attribute; expected one of each"
            raise DataError(f"data.layer={use.layer}: {place}: {problem}")
        layer = numbered_labels([str(name) for name in layer_of_edge]).astype(np.int64)
        layers = tuple(dict.fromkeys(map(str, layer_of_edge))) or ("",)
    sides, side_names = _sides(graph, place, use)
    notes, labels = list[str](), None
    if truth is not None:
        true = [attributes.get(str(truth)) for attributes in graph.nodes]
        labels = numbered_labels([None if label in (None, "") else str(label) for label in true])
        if (missing := int((labels < 0).sum())) == len(labels):
            raise DataError(f"{place}: no node has the attribute '{truth}'; expected data.truth on one at least")
        if missing:
            lacking = f"{missing} of {len(labels)} nodes have no attribute '{truth}'"
            notes.append(f"{place}: {lacking}: scores are over the others")
    return Listed(
        place,
        name,
        graph.names,
        len(graph.nodes),
        graph.ends,
        weight,
        levels,
        layer,
        layers,
        sides,
        side_names,
        graph.directed,
        labels,
        None if use.columns is None else _columns(graph, place, use),
        other,
        _single_key(graph.edges, edge_values.LAYER_WORDS) or "",
        [] if use.columns is not None else _node_columns(graph, truth),
        notes,
    )


def _single_key(rows: Sequence[dict[str, Any]], words: set[str]) -> str | None:
    """The only attribute with one of these names that rows have; None without one."""
    keys = {key for attributes in rows for key in attributes if key.lower() in words}
    return keys.pop() if len(keys) == 1 else None


def _values_key(graph: Attributed, weights: str | int | None, use: Use) -> Any:
    if weights != "auto" or any("weight" in attributes for attributes in graph.edges):
        return "weight" if weights == "auto" else weights
    if use.values in (None, BINARY):
        return None
    keys = {key for attributes in graph.edges for key in attributes if key not in ("id", "key", use.layer)}
    return _single_key(graph.edges, edge_values.VALUE_WORDS) or (keys.pop() if len(keys) == 1 else None)


def _sides(graph: Attributed, place: str, use: Use) -> tuple[NDArray[np.int8] | None, tuple[str, str]]:
    """Which of two kinds each node is, by the format, an attribute of the nodes or the ends of the edges."""
    keys = SIDES if use.bipartite in (True, False) else (str(use.bipartite),)
    for key in () if graph.sides is not None else keys:
        kinds = [attributes.get(key) for attributes in graph.nodes]
        names = sorted({str(kind) for kind in kinds if kind is not None})
        if None not in kinds and len(names) == 2:
            return np.array([names.index(str(kind)) for kind in kinds], dtype=np.int8), (names[0], names[1])
        if key not in SIDES:
            kinds_listed = ", ".join(names[:5]) or "none"
            raise DataError(
                f"data.bipartite={key}: {place}: nodes of kinds {kinds_listed}; expected an attribute of two values "
                "that every node has"
            )
    if graph.sides is None and use.two_kinds:
        what = "no node attribute 'bipartite' or 'type'; expected one, data.bipartite=ATTRIBUTE, or edges that go from "
        return sides_of_ends(graph.ends, len(graph.nodes), f"{place}: {what}"), graph.side_names
    return graph.sides, graph.side_names


def sides_of_ends(ends: NDArray[np.int64], N: int, otherwise: str) -> NDArray[np.int8]:
    """The kind of each node, 0 for sources and 1 for targets; a `DataError` if a node is both or none."""
    roles = np.zeros((N, 2), dtype=bool)
    roles[ends[:, 0], 0] = roles[ends[:, 1], 1] = True
    if (roles.sum(axis=1) != 1).any():
        raise DataError(f"{otherwise}one kind of node to the other")
    return roles[:, 1].astype(np.int8)


def _columns(graph: Attributed, place: str, use: Use) -> dataset.Dataset:
    """Attributes of nodes as a mixed table."""
    columns = [str(column) for column in use.columns or ()]
    for column in columns:
        if not any(column in attributes for attributes in graph.nodes):
            known = ", ".join(dict.fromkeys(key for attributes in graph.nodes for key in attributes)) or "none"
            raise DataError(f"data.columns={column}: {place}: nodes have no such attribute; expected one of {known}")
    table = {key: [attributes.get(key) for attributes in graph.nodes] for key in columns}
    return dataset.get_kind("mixed").from_object(table, None, place, whole=True, types=use.types)


def _node_columns(graph: Attributed, truth: str | int | None) -> list[str]:
    """Attributes of nodes that could describe them: some of them share a value."""
    keys = dict.fromkeys(key for attributes in graph.nodes for key in attributes)
    left = [key for key in keys if str(key).lower() not in NO_COLUMNS and key != truth]
    return [key for key in left if 1 < len({str(node.get(key)) for node in graph.nodes}) < len(graph.nodes)]


CROSS, DASH = "[xX✓✔]", "[-–—]"
"""Cells that people write by hand into a matrix of ties."""
MARK = re.compile(f"{CROSS}|{DASH}")
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
    if is_sparse(values):
        entries = sparse.coo_array(values)
        entries.sum_duplicates()
        kept = entries.data != 0
        row, column, cells = entries.row[kept], entries.col[kept], entries.data[kept]
    else:
        numeric = int | float | np.number | np.bool_
        is_entry = np.frompyfunc(lambda cell: not (isinstance(cell, numeric) and cell == 0), 1, 1)
        row, column = np.nonzero(is_entry(values) if values.dtype == object else values != 0)
        cells = values[row, column]
    levels: tuple[str, ...] = ()
    if form is None:
        weight, bad = edge_values.read_weights(cells)
        expected = f"{A_WEIGHT} ({NO_EDGE}; {OTHERS})"
    else:
        weight, levels, bad = edge_values.read_values(cells, form)
        expected = f"{edge_values.EXPECTED[form]} ({NO_EDGE})"
    if bad is not None:
        raise DataError(f"{entry(int(row[bad]), int(column[bad]))}: {cells[bad]}; expected {expected}")
    return np.stack([row, column], axis=1).astype(np.int64), weight, levels


def read_matrix(path: Path, suffix: str, use: Use) -> Listed:
    """The matrix of a .npy, .npz or .mtx file."""
    if suffix == ".npz":
        values = scaled.read_sparse(path)
    elif suffix == ".mtx":
        values = _load_mtx(path)
    else:
        values = formats.load_npy(path)
        if values.ndim != 2 or values.dtype.kind not in "biuf":
            raise DataError(f"{path}: {values.dtype}, shape {values.shape}; expected a matrix of numbers")
    return listed_matrix(values, str(path), path.name.split(".")[0], use)


def _load_mtx(path: Path) -> Any:
    """A matrix in the format of Matrix Market."""
    from scipy.io import mminfo, mmread

    data = opening.content(path, 4)
    try:
        rows, columns, entries, form, field, _ = mminfo(BytesIO(data))
        least = entries // 2 if form == "array" else entries  # of a symmetric matrix one half is written
        if least > len(data):
            raise ValueError(f"{len(data)} bytes do not hold {least} entries")
        opening.check_rows(path, rows + columns, scaled.EMPTY_BYTES, "rows and columns")
        if form == "array":
            opening.Limit.current().check(path, 8 * rows * columns, " as numbers")
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
    as columns, `SQUARE` at least, of numbers alone. With two kinds of nodes it is one if its rows are the one kind and
    its columns the other (`is_crossed`).
    """
    may_be_square = table.rows in (table.width, table.width + 1)
    may_be_crossed = wanted == "auto" and header is not False and use.two_kinds and not table.heads_index()
    is_asked = wanted is True or (may_be_crossed and is_crossed(table.top[0], [one.slice(1) for one in table.columns]))
    if wanted is False or table.width < 3 or not (is_asked or may_be_square):
        return None
    head = [cell.strip() for cell in table.top[0]]
    first = [str(cell).strip() for cell in table.columns[0].to_pylist()]
    # a first column that counts the rows names no node
    index = int(header is not False and table.heads_index())
    both_named = len(first) == len(head) and first[1:] == head[1:] and len(set(first[1:])) == len(first) - 1
    # of a few rows these may be pairs below numbers of columns, as pandas writes them
    both_named &= is_asked or not index or len(head) > SQUARE
    if both_named and header is not False:
        row_names, skip, index = first[1:], 1, 0
    elif is_asked:
        is_row = all(separators.is_numeric(cell) or cell in edge_values.UNKNOWN for cell in head)
        named = header is True or (header == "auto" and not is_row)
        skip = int(named)
        row_names = first[skip:] if (named and not head[0]) or not all(map(separators.is_numeric, first[skip:])) else []
        row_names = [] if index else row_names
    else:
        named = header is True or (header == "auto" and not any(map(separators.is_numeric, head[index:])))
        skip, row_names = int(named), []
        if table.rows - skip != table.width - index or table.rows - skip < SQUARE:
            return None
    columns = range(1 if row_names else index, table.width)

    def place_in_file(i: int, d: int) -> str:
        return f"{table.path}: row {table.row(i + skip)}, column {columns[d] + 1}"

    values, blanks = np.empty((table.rows - skip, len(columns))), 0
    opening.Limit.current().check(table.path, 8 * values.size, " as numbers")
    for d, j in enumerate(columns):
        cells = table.columns[j].slice(skip)
        if both_named:  # a cross is a tie, a dash is none
            cells = pc.utf8_trim_whitespace(pc.cast(cells, pa.large_string()))
            cells = pc.replace_substring_regex(pc.replace_substring_regex(cells, f"^{CROSS}$", "1"), f"^{DASH}$", "")
        numbers, _, bad = edge_values.read_values(cells, "real")
        if bad is not None:
            if is_asked or both_named:
                expected = f"{edge_values.EXPECTED['real']}, or an empty cell for an unknown pair"
                raise DataError(f"{place_in_file(bad, d)}: '{cells[bad].as_py()}'; expected {expected}")
            return None
        if use.values is None and np.isnan(numbers).any():
            # as people write matrices of ties by hand; whoever names their form has unknown pairs
            empty = pc.equal(pc.utf8_trim_whitespace(pc.cast(cells, pa.large_string())), "").to_numpy()
            numbers[empty] = 0.0
            blanks += int(empty.sum())
        values[:, d] = numbers
    if not (is_asked or both_named or _looks_like_ties(values)):
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
        place_in_file,
    )
    if blanks:
        listed.notes.append(
            f"{table.path}: {blanks:,} empty cells are read as 0, no edge (data.values=binary reads them as unknown "
            "pairs)"
        )
    if wanted == "auto":
        listed.notes.append(f"{table.path}: read as a matrix of ties (data.matrix=false reads a list of edges)")
    return listed


def is_crossed(head: Sequence[str], columns: Sequence[pa.ChunkedArray]) -> bool:
    """Whether the rows of a table are things of one kind, its columns of another: the first column has different names,
    the others, of which `head` has the names, have numbers. Where the first has a name, too, these may be the ends and
    weights of edges, unless there are three or more, with a 0 in each and names that are no numbers."""
    corner, *names = (name.strip() for name in head)
    if corner and (len(names) < 3 or any(map(separators.is_numeric, names))):
        return False
    first, *others = (["" if cell is None else str(cell).strip() for cell in one.to_pylist()] for one in columns)
    if len(set(first)) < len(first) or (corner and any(map(separators.is_numeric, first))):
        return False
    numbers = [[cell for cell in cells if separators.is_numeric(cell)] for cells in others]
    unknown = (cell in edge_values.UNKNOWN for cells in others for cell in cells if not separators.is_numeric(cell))
    return all(unknown) and (not corner or all(0.0 in map(float, cells) for cells in numbers))


def matrix_of_columns(table: Table, use: Use) -> Listed | None:
    """A matrix between two kinds of nodes (`is_crossed`) in a file that is no text; None if it is a list of edges."""
    if not (use.two_kinds and table.names and table.width > 2 and is_crossed(table.names, table.columns)):
        return None
    first, *others = (column.to_pylist() for column in table.columns)
    values = np.array(others, dtype=float).T
    listed = listed_matrix(values, str(table.path), table.title, use, list(map(str, first)), table.names[1:])
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
        others = [cell for j, cell in enumerate(cells[1:], 1) if j != number and not MARK.fullmatch(cell)]
        if not all(separators.is_numeric(cell) or cell in edge_values.UNKNOWN for cell in others):
            return False
        has_gap |= any(cell in edge_values.UNKNOWN or not float(cell) for cell in others)
    # of a symmetric matrix without names the first row is the first column
    named = len(set(head[1:])) == len(head) - 1
    return named and number + 1 == len(head) > (SQUARE if table.heads_index() else 2) and has_gap


def are_ties(values: NDArray[np.float64]) -> bool:
    """Whether a symmetric matrix has nothing on its diagonal, and not all pairs have a tie."""
    return not np.diag(values).any() and _looks_like_ties(values)


def symmetric_values(table: Text) -> NDArray[np.float64] | None:
    """The numbers of a text that is a symmetric matrix, NaN where a cell is missing: `SQUARE` rows or more, which need
    no names; None if it is none."""
    named = not table.top[0][0].strip()
    index, width, values = int(named or table.heads_index()), table.width, list[list[float]]()
    N = width - index
    for number, (_, row) in enumerate(table.lines()):
        if named and not number:
            # the names of the columns, numbers though they may be
            continue
        cells = [cell.strip() for cell in row[index:]]
        if len(values) == N or len(row) != width:
            return None
        if all(separators.is_numeric(cell) or cell in edge_values.UNKNOWN for cell in cells):
            values.append([float("nan") if cell in edge_values.UNKNOWN else float(cell) for cell in cells])
            # most tables end here, at their second row
            if not np.array_equal(values[-1][: len(values)], [row[len(values) - 1] for row in values], equal_nan=True):
                return None
        elif number:
            return None
    return np.array(values) if len(values) == N >= SQUARE else None


def note_matrix(table: Table, columns: Sequence[int]) -> None:
    """Note that a table may be a matrix of ties: as many rows as columns, and nothing on the diagonal."""
    N = len(columns)
    if N == table.rows > SQUARE and all(_is_no_tie(table.cells(j)[k].as_py()) for k, j in enumerate(columns)):
        cells = (cell for j in columns for k, cell in enumerate(table.cells(j).to_pylist()) if columns[k] != j)
        if any(map(_is_no_tie, cells)):
            command = table.command_or_call("data=edges", 'sample("irm", data.to_numpy())')
            table.note(f"{N} rows, as many columns and a diagonal of 0: if they are ties between {N} nodes, {command}")


def _is_no_tie(cell: Any) -> bool:
    written = str(cell or "").strip()
    return not written or (separators.is_numeric(written) and float(written) == 0)


def _looks_like_ties(values: NDArray[np.float64]) -> bool:
    """Whether a matrix may hold ties: some pairs have none. A matrix of distances or correlations has no 0."""
    R, C = values.shape
    off = ~np.eye(R, C, dtype=bool)
    return R == C and bool((values[off] == 0).any() or np.isnan(values[off]).any())
