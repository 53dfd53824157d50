"""The user's own data: text tables (.csv, .tsv, .txt; also gzipped), .parquet, .feather, .xlsx, .npy, .npz."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy.sparse import csr_array

from splitmerge_cli.data.base import KINDS, DataError, Dataset, holds_nan, noted, require
from splitmerge_cli.data.opening import Limit, existing
from splitmerge_cli.data.standard_input import StandardInput
from splitmerge_cli.data.tables import missing as missing_cells
from splitmerge_cli.data.tables.columns import codes, header_key, matrix_of, true_labels
from splitmerge_cli.data.tables.encoded import require_encoding, suffix_of
from splitmerge_cli.data.tables.matrices import Matrix, read_numbers, read_sparse
from splitmerge_cli.data.tables.mixed import NoMixedTable, read_mixed
from splitmerge_cli.data.tables.notes import check_names, note_classes, note_distinct, note_identifiers, note_name
from splitmerge_cli.data.tables.npy import read_npy
from splitmerge_cli.data.tables.parquet import read_feather, read_parquet
from splitmerge_cli.data.tables.separators import BY_SUFFIX, DECIMALS, SEPARATORS
from splitmerge_cli.data.tables.spreadsheet import read_sheet
from splitmerge_cli.data.tables.table import NUMBER, Table, is_missing
from splitmerge_cli.data.tables.text import Text
from splitmerge_cli.data.tables.text_tables import PARSED_AS, TRUTH_VALUES, Written, misfit, parsed, read_written
from splitmerge_cli.data.tables.wanted import Wanted, as_list

FORMATS = ".csv, .tsv, .txt, .data, .dat (also .gz), .parquet, .feather, .xlsx, .npy, .npz"
_ARROW = {".parquet": read_parquet, ".feather": read_feather, ".npy": read_npy}
_CHOOSE = "data.columns and data.drop choose"


def csv(
    path: str | Path,
    kind: str,
    truth: str | int | None = None,
    header: str | bool = "auto",
    columns: Sequence[str | int] | str | int | None = None,
    drop: Sequence[str | int] | str | int | None = None,
    N: int | None = None,
    types: Mapping[str | int, str] | None = None,
    missing: Sequence[str | int | float] | str | int | float | None = None,
    separator: str = "auto",
    decimal: str = "auto",
    encoding: str = "utf-8",
    sheet: str | int | None = None,
) -> Dataset:
    """Read a table, one item per row.

    Parameters
    ----------
    path : str or Path
        A text file (.csv, .tsv, .txt, .data, .dat or without an ending, optionally .gz), .parquet, .feather, .xlsx or
        .npy; ``points`` also a sparse matrix in .npz, as ``scipy.sparse.save_npz`` writes it. ``-``: standard input,
        which is read once and held in memory; text, .parquet, .feather and .xlsx are told apart by their first bytes.
    kind : {"tokens", "binary", "points", "mixed"}
        ``tokens``: one column of tokens, any strings or integers. ``binary``: columns of 0 and 1, or of true and false,
        or yes and no. ``points``: columns of numbers. ``mixed``: columns of several types;
        `splitmerge_cli.data.tables.inference` says what each column is read as. Of the last three cells may be missing.
    truth : str or int, optional
        Column of the true labels, by name or by number: 1 is the first, -1 the last.
    header : {"auto", True, False}
        Whether the first line of a text file names the columns; see `splitmerge_cli.data.tables.text_tables`.
    columns : sequence of str or int, optional
        Columns of the data, in this order, each as in `truth`; by default all but those of `truth` and `drop`, and but
        pandas' index or the numbers of the rows: the first columns that have no name and count 0, 1, ... or 1, 2, ...;
        and but columns that have neither a name nor a value.
    drop : sequence of str or int, optional
        Columns to leave out.
    N : int, optional
        Take the first N rows; all by default.
    types : mapping, optional
        ``mixed``: types of columns (binary, categorical, count, real; ordinal, which is read as categorical; skip).
    missing : sequence or str or number, optional
        But of ``tokens``: what stands in cells that are missing, besides `splitmerge_cli.data.tables.table.WRITTEN`.
    separator : {"auto", "comma", "semicolon", "tab", "pipe", "space"}
        What ends the cells of a text; ``auto``: see `splitmerge_cli.data.tables.separators.layout`. Of tokens, unless a
        column is named or numbered, a comma in .csv and a tab in .tsv and .txt.
    decimal : {"auto", "point", "comma"}
        What stands before the decimals of the numbers of a text.
    encoding : str
        Of a text.
    sheet : str or int, optional
        Sheet of an .xlsx file, by name or number; by default the only one that holds cells.

    Returns
    -------
    Dataset
        Tokens and true labels are coded in the order of their first appearance. ``points`` are float64; float32 if that
        is the type of an .npy file; sparse if they are in .npz, entries of the same place added up. A large .npy file
        of floating-point numbers is mapped, not read, unless columns are left out: it must then stay as it is. The
        notes say what was left out, which first line was taken for names without being asked for, which separator was
        told by the rows, and what the columns of ``mixed`` are read as.

    Raises
    ------
    DataError
        The file is missing, empty or not readable as such; a row is ragged; a cell is (``tokens``) empty or NaN,
        (``binary``) not 0 or 1, or (``points``) no number of magnitude 1e30 at most; a column of ``mixed`` cannot be
        read; a quote is not closed; a column that is asked for is unknown, or two have its name; no column is left; N
        is larger than the number of rows.
    """
    if kind in KINDS and kind not in PARSED_AS:
        reader = {"graph": "a graph is read by data=edges", "documents": "documents are read by data=corpus"}[kind]
        raise DataError(f"data.kind={kind}: data=csv reads tables; {reader}")
    require(kind in PARSED_AS, "data.kind", kind, f"one of {', '.join(PARSED_AS)}")
    header = header_key("data.header", header)
    require(N is None or N >= 1, "N", N, "at least 1")
    require(types is None or kind == "mixed", "data.types", types, f"null: only model=mixed takes it, not {kind}")
    require(missing is None or kind != "tokens", "data.missing", missing, "null: tokens have no missing cells")
    for key, given, known in ("separator", separator, SEPARATORS), ("decimal", decimal, DECIMALS):
        require(given in ("auto", *known), f"data.{key}", given, f"one of auto, {', '.join(known)}")
    require_encoding(encoding)
    listed = as_list("data.columns", columns)
    wanted = Wanted(kind, truth, listed, as_list("data.drop", drop) or [], types, missing_cells.asked(missing))
    require(wanted.columns != [], "data.columns", columns, "at least one column")
    require(not (columns and drop), "data.drop", drop, "null beside data.columns, which names all that are read")
    path = existing(path, f"a table ({FORMATS})")
    suffix = suffix_of(path)
    if isinstance(path, StandardInput) and suffix == ".npy":
        raise DataError(
            f"{path}: an .npy file; expected text, .parquet, .feather or .xlsx (data.path=FILE reads others)"
        )
    as_text = suffix in BY_SUFFIX
    _check_options(path, as_text, suffix, {"separator": separator, "decimal": decimal, "encoding": encoding}, sheet)
    if kind == "points" and (matrix := _matrix(path, suffix)) is not None:
        return _points(matrix, wanted, N)
    if as_text:
        table: Table = read_written(path, wanted, header, Written(suffix, separator, decimal, encoding))
    elif suffix == ".xlsx":
        table = parsed(read_sheet(path, sheet), wanted, header)
    elif suffix in _ARROW:
        table = _ARROW[suffix](path)
    elif suffix == ".npz":
        raise NoMixedTable(
            f"{path}: a sparse matrix is read as points (model=gaussian); expected a table for kind {kind}"
        )
    else:
        saved = "; save it as .xlsx or .csv" if suffix in (".xls", ".ods", ".xlsb", ".sav", ".dta", ".json") else ""
        raise DataError(f"{path}: unknown format '{suffix}'; expected one of {FORMATS}{saved}")
    return _dataset(table, wanted, N, header)


def _check_options(path: Path, as_text: bool, suffix: str, texts: Mapping[str, str], sheet: object) -> None:
    """Reject options of other formats."""
    for key, value in texts.items():
        default = "utf-8" if key == "encoding" else "auto"
        require(as_text or value == default, f"data.{key}", value, f"{default}: {path} is no text")
    require(sheet is None or suffix == ".xlsx", "data.sheet", sheet, f"null: {path} is no .xlsx file")


def _matrix(path: Path, suffix: str) -> Matrix | None:
    """The file as a matrix that need not pass through columns, where it is one."""
    if suffix == ".npy":
        return read_numbers(path)
    return Matrix(path, read_sparse(path)) if suffix == ".npz" else None


def _points(matrix: Matrix, wanted: Wanted, N: int | None) -> Dataset:
    rows, width = matrix.values.shape
    _check_rows(matrix, rows, width, N)
    matrix.values = matrix.values[:N]
    t, kept = wanted.resolve(matrix)
    labels = None if t is None else true_labels(matrix, t, wanted.missing)
    x = matrix.points(kept, wanted.missing)
    wanted.note(matrix)
    if wanted.columns is None:
        note_identifiers(matrix, kept, x)
    if not isinstance(x, csr_array) and holds_nan(x):
        missing_cells.note(matrix, kept, x)
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


def _dataset(table: Table, wanted: Wanted, N: int | None, header: str | bool) -> Dataset:
    rows, name = table.rows, _name(table)
    _check_rows(table, rows, table.width, N)
    check_names(table)
    wanted.note(table)
    if wanted.kind == "mixed":
        return read_mixed(table, wanted, N, name)
    table.take(N)
    t, kept = wanted.resolve(table)
    if wanted.kind == "tokens":
        table.hint, table.hinted = f"missing cells are read by {wanted.as_mixed(table)}", frozenset(kept)
    labels = None if t is None else true_labels(table, t, wanted.missing)
    meta: dict[str, Any] = {"path": str(table.path), "rows": rows}
    if wanted.kind == "tokens":
        tokens, vocabulary = codes(table, kept[0], "a token")
        note_distinct(table, kept[0], tokens, len(vocabulary))
        if header == "auto":
            note_name(table, kept[0], tokens, len(vocabulary))
        meta |= noted(table.notes)
        return Dataset(
            name, wanted.kind, tokens, labels, vocabulary=vocabulary, names=table.names_of_items(), meta=meta
        )
    binary = wanted.kind == "binary"
    x: NDArray[Any] = _binary(table, kept, wanted) if binary else matrix_of(table, kept, _CHOOSE, wanted.missing)
    if not binary and wanted.columns is None:
        note_identifiers(table, kept, x)
    if wanted.truth is None and wanted.columns is None:
        note_classes(table, kept, x)
    if x.dtype == np.float64 and holds_nan(x):
        missing_cells.note(table, kept, x)
    columns = [table.names[j] for j in kept] if table.names else None
    meta |= noted(table.notes)
    return Dataset(name, wanted.kind, x, labels, columns=columns, names=table.names_of_items(), meta=meta)


def _binary(table: Table, columns: Sequence[int], wanted: Wanted) -> NDArray[np.uint8 | np.float64]:
    """Columns of nothing but 0 and 1 as uint8 ``[rows, columns]``; where cells are missing as float64, these NaN."""
    block = table.block(columns)
    Limit.now().check(table.path, table.rows * len(columns), " as numbers")
    x = np.empty((table.rows, len(columns)), dtype=np.uint8)
    bad: tuple[int, int] | None = None
    absent: dict[int, NDArray[np.bool_]] = {}
    for d, j in enumerate(columns):
        values = _zeros_and_ones(table, j, wanted) if block is None else block[:, d]
        gaps = missing_cells.in_numbers(values, wanted.missing) if values.dtype.kind == "f" else np.zeros(1, dtype=bool)
        good = (values == 0) | (values == 1) | gaps
        if not good.all() and (bad is None or int(np.argmin(good)) < bad[0]):
            bad = int(np.argmin(good)), j
        x[:, d] = np.where(good & ~gaps, values, 0)
        if gaps.any():
            absent[d] = gaps
    if bad is not None:
        raise _not_binary(table, *bad)
    if not absent:
        return x
    with_missing = x.astype(np.float64)
    for d, gaps in absent.items():
        with_missing[gaps, d] = np.nan
    return with_missing


def _not_binary(table: Table, i: int, j: int) -> DataError:
    expected = misfit("binary", str(table.cells(j)[i].as_py()), table) if isinstance(table, Text) else None
    return table.error(i, j, expected or "0 or 1")


def _zeros_and_ones(table: Table, j: int, wanted: Wanted) -> NDArray[Any]:
    """Column `j` as numbers, words for 0 and 1 among them; NaN where a cell is missing, 2 of other words."""
    column = table.cells(j)
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        encoded = pc.dictionary_encode(column, null_encoding="encode").combine_chunks()
        values = np.array([_truth_value(table, word, wanted) for word in encoded.dictionary.to_pylist()])
        if isinstance(table, Text) or not (values == 2).any():
            return values[encoded.indices.to_numpy()]
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        raise DataError(f"{table.path}: {table.column(j)} holds {kind}; expected numbers, each 0 or 1")
    if pa.types.is_boolean(kind):
        column = pc.cast(column, pa.uint8())
    return column.to_numpy()


def _truth_value(table: Table, word: str | None, wanted: Wanted) -> float:
    """0 or 1 of a word or, in a text, a number; NaN of what stands for a missing cell, 2 of anything else."""
    plain = (word or "").strip(" \t")
    if is_missing(plain) or plain in map(str, wanted.missing):
        return np.nan
    if isinstance(table, Text) and NUMBER.fullmatch(number := table.number(plain)) and float(number) in (0, 1):
        return float(number)
    return TRUTH_VALUES.get(plain.lower(), 2)
