"""The user's own data: text tables (.csv with commas, .tsv and .txt with tabs; also gzipped), .parquet, .npy, .npz."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import csr_array

from splitmerge_cli.data.base import FINITE, KINDS, MAGNITUDE, DataError, Dataset, noted, require
from splitmerge_cli.data.opening import Limit, existing
from splitmerge_cli.data.tables.columns import codes, header_key, index, is_number, matrix_of, position
from splitmerge_cli.data.tables.encoded import read_text, suffix_of
from splitmerge_cli.data.tables.matrices import Matrix, read_numbers, read_sparse
from splitmerge_cli.data.tables.npy import read_npy
from splitmerge_cli.data.tables.parquet import read_parquet
from splitmerge_cli.data.tables.table import MISSING, NUMBER, Table, quoted
from splitmerge_cli.data.tables.text import Text

DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
FORMATS = ".csv, .tsv, .txt (also .gz), .parquet, .npy, .npz"
HEADER_WORDS = {"token", "tokens", "mention", "mentions", "word", "words"}

_PARSED_AS = {"tokens": [pa.string()], "binary": [pa.uint8(), pa.float64()], "points": [pa.float64()]}
"""Types that a text file's columns of data are tried as."""
FEW = 3
"""Rows below which it is not said that the first column counts them: that may well be chance."""
_CHOOSE = "data.columns and data.drop choose"


def csv(
    path: str | Path,
    kind: str,
    truth: str | int | None = None,
    header: str | bool = "auto",
    columns: Sequence[str | int] | str | int | None = None,
    drop: Sequence[str | int] | str | int | None = None,
    N: int | None = None,
) -> Dataset:
    """Read a table, one item per row.

    Parameters
    ----------
    path : str or Path
        A .csv, .tsv or .txt file (optionally .gz), .parquet or .npy; ``points`` also a sparse matrix in .npz, as
        ``scipy.sparse.save_npz`` writes it.
    kind : {"tokens", "binary", "points"}
        ``tokens``: one column of tokens, any strings or integers. ``binary``: columns of 0 and 1. ``points``: columns
        of numbers.
    truth : str or int, optional
        Column of the true labels, by name or by number: 1 is the first, -1 the last.
    header : {"auto", True, False}
        Whether the first line of a text file names the columns. ``auto``: it does if it holds a name given as `truth`,
        in `columns` or in `drop`; for ``binary`` and ``points`` if it holds words and no number; for ``tokens`` if a
        cell is "token", "mention" or "word" (or the plural), or if it is the only token that is not a number. A first
        line whose first cell is empty above cells that count the rows does; of numbers alone see
        `splitmerge_cli.data.tables.Text.names_by_number`.
    columns : sequence of str or int, optional
        Columns of the data, in this order, each as in `truth`; by default all but those of `truth` and `drop`, and but
        pandas' index or the numbers of the rows: the first columns that have no name and count 0, 1, ... or 1, 2, ...
    drop : sequence of str or int, optional
        Columns to leave out.
    N : int, optional
        Take the first N rows; all by default.

    Returns
    -------
    Dataset
        Tokens and true labels are coded in the order of their first appearance. ``points`` are float64; float32 if that
        is the type of an .npy file; sparse if they are in .npz, entries of the same place added up. A large .npy file
        of floating-point numbers is mapped, not read, unless columns are left out: it must then stay as it is. The
        notes say what was left out, and which first line was taken for names, without being asked for.

    Raises
    ------
    DataError
        The file is missing, empty or not readable as such; a row is ragged; a cell is empty, NaN, (``binary``) not 0
        or 1, or (``points``) no number of magnitude 1e30 at most; a quote is not closed; a column that is asked for is
        unknown, or two have its name; no column is left; N is larger than the number of rows.
    """
    if kind in KINDS and kind not in _PARSED_AS:
        reader = {"graph": "a graph is read by data=edges", "documents": "documents are read by data=corpus"}[kind]
        raise DataError(f"data.kind={kind}: data=csv reads tables; {reader}")
    require(kind in _PARSED_AS, "data.kind", kind, f"one of {', '.join(_PARSED_AS)}")
    header = header_key("data.header", header)
    require(N is None or N >= 1, "N", N, "at least 1")
    wanted = _Wanted(kind, truth, _listed("data.columns", columns), _listed("data.drop", drop) or [])
    require(wanted.columns != [], "data.columns", columns, "at least one column")
    require(not (columns and drop), "data.drop", drop, "null beside data.columns, which names all that are read")
    path = existing(path, f"a table ({FORMATS})")
    suffix = suffix_of(path)
    if kind == "points" and (matrix := _matrix(path, suffix)) is not None:
        return _points(matrix, wanted, N)
    if suffix in DELIMITERS:
        table: Table = _text(path, wanted, header, DELIMITERS[suffix])
    elif suffix == ".parquet":
        table = read_parquet(path)
    elif suffix == ".npy":
        table = read_npy(path)
    elif suffix == ".npz":
        raise DataError(f"{path}: a sparse matrix is read as points (model=gaussian); expected a table for kind {kind}")
    else:
        raise DataError(f"{path}: unknown format '{suffix}'; expected one of {FORMATS}")
    return _dataset(table, wanted, N)


@dataclass(frozen=True)
class _Wanted:
    """What is read of a file, as the user says it."""

    kind: str
    truth: str | int | None
    columns: list[str | int] | None
    drop: list[str | int]

    @property
    def mentioned(self) -> list[str | int]:
        """Columns that are named or numbered anywhere."""
        return [*([] if self.truth is None else [self.truth]), *(self.columns or []), *self.drop]

    def resolve(self, table: Table) -> tuple[int | None, list[int]]:
        """Positions of the true labels and of the data among the columns."""
        labels = None if self.truth is None else index(table, "data.truth", self.truth)
        if self.columns is not None:
            kept = [index(table, "data.columns", column) for column in self.columns]
            count = Counter(kept)
            for column, j in zip(self.columns, kept, strict=True):
                if j == labels or count[j] > 1:
                    raise DataError(f"data.columns={column}: {table.path}: expected each column once, data.truth not")
        else:
            left_out = {index(table, "data.drop", column) for column in self.drop} | {labels, *table.unnamed()}
            kept = [j for j in range(table.width) if j not in left_out]
        if not kept:
            raise DataError(f"{table.path}: no column is left for the data; expected at least one")
        if self.kind == "tokens" and len(kept) != 1:
            rest = "" if labels is None else " besides data.truth"
            raise DataError(
                f"{table.path}: {len(kept)} columns{rest}; expected 1 column of tokens (data.columns=[NAME])"
            )
        return labels, kept

    def note(self, table: Table) -> None:
        """Let a table note what is left out, or kept, of its columns though nobody asked for that."""
        if self.columns is not None:
            return
        asked = {index(table, "data.drop", column) for column in self.drop}
        if self.truth is not None:
            asked.add(index(table, "data.truth", self.truth))
        ask = "data.drop=[{n}], which leaves it out, or data.columns, which says all that is read"
        table.leave_out([j for j in table.unnamed() if j not in asked], "data.columns would read it", ask)
        others = table.width - len(asked)
        if table.names is None and 0 not in asked and others > 1 and self.kind == "points":
            start = table.counts_from(0)
            if start is not None and len(table.cells(0)) >= FEW:
                table.notes.append(
                    f"{table.path}: column 1 counts the rows from {start} and is read as data (data.drop=[1] leaves it "
                    "out)"
                )
        if self.kind == "tokens" and isinstance(table, Text) and (found := table.other_delimiter()):
            table.notes.append(
                f"{table.path}: every row holds {found}, which is read as part of the token (cells end with a comma in "
                ".csv, with a tab in .tsv and .txt)"
            )


def _listed(key: str, value: Sequence[str | int] | str | int | None) -> list[str | int] | None:
    """Columns as a list; one may stand without its brackets."""
    if value is None:
        return None
    listed = [value] if isinstance(value, str | int) else value
    good = isinstance(listed, Sequence) and all(isinstance(v, str | int) and not isinstance(v, bool) for v in listed)
    require(good, key, value, "names or numbers of columns, such as [x,y] or [1,2]")
    return list(listed)


def _text(path: Path, wanted: _Wanted, header: str | bool, delimiter: str) -> Text:
    """A parsed text file."""
    table = Text(path, read_text(path), delimiter)
    if _has_header(table, wanted) if header == "auto" else header:
        table.take_header()
        if len(table.top) == 1:
            raise DataError(f"{path}: the file holds a header and no row of data; expected at least one row")
    t, kept = wanted.resolve(table)
    # numbers are read as bytes; a file that writes them as 0.0 and 1.0 fails and is read once more as floats
    kinds = [dict.fromkeys(kept, number) for number in _PARSED_AS[wanted.kind]]
    # those without a name are looked at before they are left out
    asked = {*kept, *table.unnamed(), *([] if t is None else [t])}
    table.parse(kinds, None if wanted.kind == "tokens" else lambda cell: _misfit(wanted.kind, cell), sorted(asked))
    return table


def _has_header(table: Text, wanted: _Wanted) -> bool:
    head = [cell.strip() for cell in table.top[0]]
    if any(isinstance(column, str) and column in head for column in wanted.mentioned):
        return True
    # true labels, and columns that are not read, may be words: they do not tell
    chosen = _positions(wanted.columns or [], len(head)) or set(range(len(head)))
    told = sorted(chosen - _positions([wanted.truth, *wanted.drop], len(head)))
    if table.heads_index():
        return True
    if wanted.kind != "tokens":
        # an empty cell or a NaN is a faulty number, not a name
        words = [head[j] for j in told if not is_number(head[j]) and head[j].lower() not in MISSING]
        if words and any(is_number(head[j]) for j in told):
            raise DataError(
                f"{table.path}: row 1: {quoted(words[0])} beside numbers; expected names alone or numbers alone "
                "(data.header=true or false says which)"
            )
        return bool(words) or table.names_by_number(told, wanted.kind == "binary")
    if HEADER_WORDS & {head[j].lower() for j in told}:
        return True
    if len(told) != 1 or len(table.top) == 1:
        return False
    if is_number(head[told[0]]):
        # pandas calls the column of a list 0
        if head[told[0]] == "0" and not any(
            is_number(cells[told[0]]) for cells in table.below() if len(cells) == len(head)
        ):
            raise table.asks()
        return False
    rows = islice(table.lines(), 1, None)
    return all(is_number(cells[told[0]]) for _, cells in rows if len(cells) == len(head))


def _positions(columns: Sequence[str | int | None], width: int) -> set[int]:
    """Positions of the columns that are given as numbers of columns."""
    return {j for column in columns if (j := position(column, width)) is not None}


def _misfit(kind: str, cell: str) -> str | None:
    """What is expected in place of a cell of text; None if the cell is well."""
    number = NUMBER.fullmatch(cell.strip(" \t"))
    if kind == "binary":
        return None if number and float(cell) in (0, 1) else "0 or 1"
    if number:
        return None if abs(float(cell)) <= MAGNITUDE else FINITE
    parts = [part for part in re.split(r"[;\s]", cell) if part]
    if parts and all(NUMBER.fullmatch(part.replace(",", "")) for part in parts):
        if len(parts) > 1:
            return "a number (cells end with a comma in .csv, with a tab in .tsv and .txt)"
        return "a number with a decimal point and without commas"
    return "a number (data.columns and data.drop choose the columns)"


def _matrix(path: Path, suffix: str) -> Matrix | None:
    """The file as a matrix that need not pass through columns, where it is one."""
    if suffix == ".npy":
        return read_numbers(path)
    return Matrix(path, read_sparse(path)) if suffix == ".npz" else None


def _points(matrix: Matrix, wanted: _Wanted, N: int | None) -> Dataset:
    rows, width = matrix.values.shape
    _check_rows(matrix, rows, width, N)
    matrix.values = matrix.values[:N]
    t, kept = wanted.resolve(matrix)
    labels = None if t is None else codes(matrix, t, "a true label")[0]
    x = matrix.points(kept)
    wanted.note(matrix)
    meta = {"path": str(matrix.path), "rows": rows} | noted(matrix.notes)
    if isinstance(x, csr_array):
        meta["nonzeros"] = x.nnz
    return Dataset(_name(matrix), wanted.kind, x, labels, meta=meta)


def _check_rows(table: Table, rows: int, width: int, N: int | None) -> None:
    if not rows or not width:
        raise DataError(f"{table.path}: no rows or no columns; expected at least one of each")
    require(N is None or rows >= N, "N", N, f"at most {rows}, the number of rows of {table.path}")


def _name(table: Table) -> str:
    return table.path.name.split(".")[0]


def _dataset(table: Table, wanted: _Wanted, N: int | None) -> Dataset:
    rows = table.rows
    _check_rows(table, rows, table.width, N)
    wanted.note(table)
    table.take(N)
    t, kept = wanted.resolve(table)
    labels = None if t is None else codes(table, t, "a true label")[0]
    meta = {"path": str(table.path), "rows": rows} | noted(table.notes)
    name = _name(table)
    if wanted.kind == "tokens":
        tokens, vocabulary = codes(table, kept[0], "a token")
        return Dataset(name, wanted.kind, tokens, labels, vocabulary=vocabulary, meta=meta)
    x = _binary(table, kept) if wanted.kind == "binary" else matrix_of(table, kept, _CHOOSE)
    names = [table.names[j] for j in kept] if table.names else None
    return Dataset(name, wanted.kind, x, labels, columns=names, meta=meta)


def _binary(table: Table, columns: Sequence[int]) -> NDArray[np.uint8]:
    """Columns as uint8 ``[rows, columns]``, checked to hold nothing but 0 and 1."""
    block = table.block(columns)
    Limit.now().check(table.path, table.rows * len(columns), " as numbers")
    x = np.empty((table.rows, len(columns)), dtype=np.uint8)
    if block is None:
        for d, j in enumerate(columns):
            x[:, d] = _binary_column(table, j)
        return x
    for i, row in enumerate(block):
        good = (row == 0) | (row == 1)
        if not good.all():
            raise table.error(i, columns[int(np.argmin(good))], "0 or 1")
        x[i] = row
    return x


def _binary_column(table: Table, j: int) -> NDArray[Any]:
    """Column `j`, checked to hold nothing but 0 and 1."""
    column = table.columns[j]
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        raise DataError(f"{table.path}: {table.column(j)} holds {kind}; expected numbers, each 0 or 1")
    values = column.to_numpy()
    good = (values == 0) | (values == 1)
    if not good.all():
        raise table.error(int(np.argmin(good)), j, "0 or 1")
    return values
