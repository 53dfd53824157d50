"""Lists in text files as they come (the first row shows the separator, comments stand at the top), and pairs of rows
that belong together or apart, from such a file or as a program has them.
"""

import csv as csv_module
import re
from collections.abc import Callable, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data import bundles, values
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.opening import require_file
from splitmerge_cli.data.tables import columns, separators
from splitmerge_cli.data.tables.table import MOST_COLUMNS, NUMBER, quote
from splitmerge_cli.data.tables.text import PLAIN, Text
from splitmerge_cli.received import DataError

SEPARATORS = {"comma": ",", "tab": "\t", "semicolon": ";", "space": "\t"}
"""Ends of cells by their names; runs of spaces are read as tabs."""


def is_numeric(cell: str | None) -> bool:
    """Whether a cell of text is a finite number."""
    return cell is not None and NUMBER.fullmatch(cell.strip()) is not None


def read_list(path: Path, separator: str, comments: bool, empty: bool = False, two_kinds: bool = False) -> Text | None:
    """A parsed text file, every cell a string; None if it holds comments alone and may (`empty`). The separator is a
    key of `SEPARATORS`; ``auto``: a comma in .csv and a tab in .tsv where the first row has one, else what that row
    holds. With `comments`, lines at the top that begin with # or % are none of its rows; one may say that names in both
    columns stand for `two_kinds` of nodes."""
    data = separators.read_text(path)
    if (null := data.find(b"\0")) >= 0:
        line = data.count(b"\n", 0, null) + 1
        raise DataError(f"{path}: row {line}: byte 0x00; expected UTF-8 text")
    start = 0
    while comments and data[start : start + 1] in (b"#", b"%", b"\n", b"\r"):
        end = data.find(b"\n", start) + 1 or len(data)
        # reject what a first comment says to be something else
        comment = data[start:end]
        if comment.startswith(b"%%MatrixMarket"):
            raise DataError(f"{path}: row 1: a file of Matrix Market; expected the ending .mtx, or a list of edges")
        if re.match(rb"%\s*bip\b", comment) and not two_kinds:
            raise DataError(
                f"{path}: row 1: a two-mode network, in which one number may name two nodes; expected "
                "data.bipartite=true"
            )
        start = end
    before, data = data.count(b"\n", 0, start), data[start:]
    if not data.strip() and start and empty:
        return None
    if re.match(rb"\*(vertices|network|arcs|edges)", data, re.IGNORECASE):
        raise DataError(f"{path}: row {before + 1}: a file of Pajek; expected the ending .net, or a list of edges")
    if comments and (late := re.search(rb"^[#%]", data, re.MULTILINE)):
        line = before + data.count(b"\n", 0, late.start()) + 1
        raise DataError(
            f"{path}: row {line}: a comment below the first row; expected comments at the top alone "
            "(data.comments=false takes such lines for rows)"
        )
    if separator == "auto":
        usual = {".csv": "comma", ".tsv": "tab"}.get(separators.suffix_of(path))
        separator = _separator(data)
        if usual and (separator == "space" or SEPARATORS[usual] in _first_row(data)):
            separator = usual
    if separator == "space":
        data = tabs(path, data, before)
    data, notes = separators.with_row_names(path, data, SEPARATORS[separator])
    table = Text(path, data, SEPARATORS[separator], before, MOST_COLUMNS)
    table.notes += notes
    table.parse([{}])
    return table


def _separator(data: bytes) -> str:
    """Name of the separator in the first row."""
    line = _first_row(data)
    if "\t" in line and not all(map(is_numeric, line.split())):
        return "tab"
    return "comma" if "," in line else "semicolon" if ";" in line else "space"


def _first_row(data: bytes) -> str:
    """The first row without what stands in quotes."""
    end = data.find(b"\n")
    return re.sub(r'"[^"]*"', "", data[: None if end < 0 else end].decode("utf-8"))


def tabs(path: Path, data: bytes, before: int = 0) -> bytes:
    """Rows from `read_text`, whose cells runs of spaces and tabs separate, with one tab between cells. A quote that
    stands within a cell or is not closed is refused; `before`: number of lines before the rows."""
    if b'"' not in data:
        data = data.replace(b"\r\n", b"\n").replace(b" ", b"\t")
        # a regular expression would keep every cell of a large file
        while b"\t\t" in data:
            data = data.replace(b"\t\t", b"\t")
        return data.replace(b"\n\t", b"\n").replace(b"\t\n", b"\n").removeprefix(b"\t").removesuffix(b"\t")
    text = data.decode("utf-8").replace("\t", " ")
    reader = csv_module.reader(StringIO(text, newline=""), delimiter=" ", skipinitialspace=True, strict=True)
    out = StringIO(newline="")
    writer = csv_module.writer(out, delimiter="\t", lineterminator="\n")
    try:
        for cells in reader:
            writer.writerow(cells[:-1] if cells and not cells[-1] else cells)
    except csv_module.Error as error:
        raise DataError(
            f"{path}: row {before + reader.line_num}: a quote that does not end its cell; expected quotes around whole "
            "cells"
        ) from error
    return out.getvalue().encode("utf-8").rstrip(b"\n")


REVIEWED = ["row", "other", bundles.SAME]
"""Columns that a file of reviewed pairs has at least; `SAME` is 1, 0 or empty."""


class Links(NamedTuple):
    """Pairs of rows, int64 ``[pairs, 2]`` from 0, what messages call them, where each stands, and notes."""

    title: str
    pairs: NDArray[np.int64]
    place: Callable[[int], str]
    notes: Sequence[str] = ()


def read_links(key: str, link: Any, dataset: Dataset, units: Mapping[str, int]) -> Links | None:
    """The pairs of rows that an option says: in a file of two columns, or an array; None without any. A file has names
    of rows, names of `units` (which stand for their first row), or numbers of rows from 1; an array has names, or
    positions from 0. Of a file of reviewed pairs (columns `REVIEWED`) ``must_link`` reads the rows with 1 in the column
    `SAME`, ``cannot_link`` those with 0."""
    if link is None:
        return None
    rows: dict[str, int] = dict(units)
    twice = set[str]()
    for i, name in enumerate(dataset.names or ()):
        if rows.setdefault(name, i) != i:
            twice.add(name)
    if isinstance(link, str | Path):
        return _read_file(link, key, dataset.N, rows, twice)
    pairs = np.asarray(link)
    shape = pairs.ndim == 2 and pairs.shape[1] == 2
    values.require(shape, key, f"an array of shape {pairs.shape}", "a file, or pairs of rows [pairs, 2]")
    if pairs.dtype.kind not in "iu":
        for k, pair in enumerate(pairs.tolist()):
            for cell in pair:
                if str(cell) not in rows or str(cell) in twice:
                    raise DataError(f"{key}: pair {k}: {cell!r}; expected {_expect(dataset.N, rows, 0)}")
        pairs = np.array([[rows[str(cell)] for cell in pair] for pair in pairs.tolist()]).reshape(-1, 2)
    bad = ((pairs < 0) | (pairs >= dataset.N)).any(axis=1)
    if bad.any():
        k = int(np.argmax(bad))
        raise DataError(f"{key}: pair {k}: {pairs[k].tolist()}; expected {_expect(dataset.N, {}, 0)}")
    return Links(key, pairs.astype(np.int64), lambda k: f"{key}: pair {k}")


def _expect(N: int, rows: Mapping[str, int], first: int) -> str:
    named = f"the name of one row, such as {quote(next(iter(rows), ''))}"
    return named if rows else f"a row from {first} to {N - 1 + first}"


def _read_file(path: str | Path, key: str, N: int, rows: Mapping[str, int], twice: set[str]) -> Links:
    table = read_list(require_file(path, f"a file of two columns, a row of the data in each ({key})"), "auto", True)
    assert table is not None
    if _is_review(table):
        pairs, same, at = _read_reviewed(table, N)
        chosen = same == key.endswith("must_link")
        return Links(str(path), pairs[chosen], lambda k: f"{path}: row {table.row(int(at[chosen][k]))}")
    if table.width != 2:
        raise DataError(f"{path}: row {table.row(0)}: cells: {table.width}; expected 2, a row of the data in each")
    cells = [[str(cell).strip() for cell in table.cells(j).to_pylist()] for j in (0, 1)]
    named = any(cell in rows for column in cells for cell in column)

    def find(cell: str) -> int | None:
        if named:
            return None if cell in twice else rows.get(cell)
        return int(cell) - 1 if PLAIN.fullmatch(cell) and 1 <= int(cell) <= N else None

    if all(column[0] and find(column[0]) is None and not columns.is_number(column[0]) for column in cells):
        table.take_header()
        table.columns = [column.slice(1) for column in table.columns]
        if named:
            head = " and ".join(quote(column[0]) for column in cells)
            table.notes.append(f"{path}: row {table.row(-1)}: {head} name no rows: they are names of columns")
        cells = [column[1:] for column in cells]
    if not cells[0]:
        raise DataError(f"{path}: no pair of rows; expected at least one ({key})")
    pairs = np.empty((len(cells[0]), 2), dtype=np.int64)
    for j, column in enumerate(cells):
        for i, cell in enumerate(column):
            if (row := find(cell)) is None:
                names = rows if named or not PLAIN.fullmatch(cell) else {}
                raise table.error(i, j, f"{_expect(N, names, 1)} ({key})")
            pairs[i, j] = row
    return Links(str(path), pairs, lambda k: f"{path}: row {table.row(k)}", table.notes)


def _is_review(table: Text) -> bool:
    return {*REVIEWED} <= {str(table.cells(j)[0].as_py()).strip() for j in range(table.width)}


def _read_reviewed(table: Text, N: int) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
    """The labelled pairs of a file: rows from 0, whether they belong together, and the line of each."""
    head = [str(table.cells(j)[0].as_py()).strip() for j in range(table.width)]
    table.take_header()
    table.columns = [column.slice(1) for column in table.columns]
    one, other, same = (head.index(name) for name in REVIEWED)
    cells = {j: [str(cell).strip() for cell in table.cells(j).to_pylist()] for j in (one, other, same)}
    for i, cell in enumerate(cells[same]):
        if cell not in ("", "0", "1"):
            raise table.error(i, same, "1 (the two belong together), 0 (they do not) or an empty cell")
    labelled = [i for i, cell in enumerate(cells[same]) if cell]
    if not labelled:
        raise DataError(f"{table.path}: no row has 1 or 0 in the column {quote(bundles.SAME)}; expected at least one")
    for j in (one, other):
        for i in labelled:
            if not (PLAIN.fullmatch(cells[j][i]) and 1 <= int(cells[j][i]) <= N):
                raise table.error(i, j, _expect(N, {}, 1))
    pairs = np.array([[int(cells[j][i]) - 1 for j in (one, other)] for i in labelled], dtype=np.int64)
    return pairs, np.array([cells[same][i] == "1" for i in labelled]), np.array(labelled, dtype=np.int64)


def read_review(link: Any, N: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]] | None:
    """The labelled pairs in a file that was reviewed: rows from 0, int64 ``[pairs, 2]``, and whether the two belong
    together; None for anything else, such as a file of two columns."""
    if not isinstance(link, str | Path):
        return None
    try:
        table = read_list(require_file(link, "a file"), "auto", True)
        return None if table is None or not _is_review(table) else _read_reviewed(table, N)[:2]
    except DataError:
        return None
