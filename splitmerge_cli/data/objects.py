"""Data sets of what a Python program holds: arrays, data frames, sparse matrices, graphs, documents."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from splitmerge_cli.data import values
from splitmerge_cli.data.dataset import OF_NETWORKS, Dataset, Kind, get_kind
from splitmerge_cli.data.tables import notes, repeats, scaled
from splitmerge_cli.data.tables.bundled import BundleOptions, bundle_rows, columns_of
from splitmerge_cli.data.tables.columns import TOTAL, as_list, index
from splitmerge_cli.data.tables.table import EXACT, IN_MEMORY, Table, long_digits
from splitmerge_cli.data.values import is_sparse, notes_entry, numbered_labels, place_of, require
from splitmerge_cli.extras import pandas as pd
from splitmerge_cli.extras import sparse
from splitmerge_cli.received import DataError


def from_object(
    data: Any,
    kind: Kind | str,
    truth: Any = None,
    name: str = "data",
    *,
    columns: Sequence[str | int] | None = None,
    types: Mapping[str | int, str | Sequence[str]] | None = None,
    repeated: str = "keep",
    scale: scaled.ScaleOption = None,
    reduce: scaled.ReduceOption = None,
    exposure: Any = None,
    weights: Any = None,
    weights_scale: str | None = None,
    group: Any = None,
    labels: Any = None,
    files: Any = None,
    apart: bool = True,
    must_link: Any = None,
    cannot_link: Any = None,
    prior_counts: str | None = None,
    **words: Any,
) -> Dataset:
    """Convert an object to the data set that models of a kind read; a `Dataset` is returned as it is.

    ``points``, ``binary``, ``counts`` and ``mixed`` take an array, a data frame (pandas, polars, pyarrow, or what else
    has Arrow's interface) or a sparse matrix; ``tokens`` a sequence of strings or numbers; ``graph`` a graph of
    networkx or igraph, a data frame of edges, or a matrix ``[N, N]``; ``documents`` texts, each a string or a sequence
    of words, or counts ``[documents, words]``. `truth` is a label of each item, None or NaN where it is not known.

    All options are as the keys ``data.`` of the same names of a file; `exposure`, `weights`, `group`, `labels` and
    `files` may be arrays, and links pairs of positions from 0. No stop word is left out where nothing is given. Raises
    a `DataError` that names row and column.
    """
    if isinstance(data, Dataset):
        if truth is not None:
            raise DataError("truth: expected None with a Dataset, which has its own true labels")
        return data
    of_kind, true_labels = get_kind(kind), None if truth is None else numbered_labels(truth)
    own = of_kind.object_options
    any_columns = of_kind.any_columns or "types" in own
    has_columns = of_kind.has_columns or any_columns
    require(files is None or of_kind.takes_sources, "data.files", files, f"null: {kind} have none")
    require(types is None or any_columns, "data.types", types, f"null: only model=mixed takes it, not {kind}")
    require(columns is None or has_columns, "data.columns", columns, f"null: {kind} has no columns")
    require(exposure is None or of_kind.takes_exposure, "data.exposure", exposure, f"null: {kind} have none")
    require(exposure is None or repeated == "keep", "data.repeated", repeated, "keep with data.exposure")
    for key, value in words.items():
        lacks = "is no network" if key in OF_NETWORKS else "has no words"
        require(key in of_kind.object_options, f"data.{key}", value, f"null: {kind} {lacks}")
    data, durations_note = in_seconds(data)
    if "columns" in own:
        words |= {key: value for key, value in (("columns", columns), ("types", types)) if value is not None}
        columns = types = None
    of_rows = {"exposure": exposure, "weights": weights, "group": group, "labels": labels, "files": files}
    data, of_rows = take_columns(data, {key: value for key, value in of_rows.items() if value is not None})
    bundled = {key: value for key, value in of_rows.items() if key not in ("exposure", "files")}
    for key, value in (bundled | {"must_link": must_link, "cannot_link": cannot_link}).items():
        require(value is None or bool(of_kind.text_types), f"data.{key}", "...", f"null: {kind} is no table")
    column_types: dict[str, Any] = words if types is None else {"types": types}
    if columns is None:
        dataset = of_kind.from_object(data, true_labels, name, **column_types)
    else:
        cells, names, _ = table_of(data, "cells")
        width = cells.shape[1]
        table = object_table(names, width)
        chosen = [index(table, "data.columns", column) for column in as_list("data.columns", columns) or []]
        data = as_pandas(data)
        data = data.iloc[:, chosen] if isinstance(data, pd.DataFrame) else cells[:, chosen]
        column_types["whole"] = True
        dataset = of_kind.from_object(data, true_labels, name, **column_types)
        positions = values.positions_in([chosen[j] for j in dataset.positions or range(len(chosen))], width)
        dataset = replace(dataset, positions=positions, meta=dataset.meta | values.width_entry(chosen, width))
    if files is not None:
        sources = numbered_labels(of_rows["files"])
        good = len(sources) == dataset.N and sources.min() >= 0
        require(good, "data.files", "...", f"a file of each of {dataset.N} records")
        dataset = replace(dataset, sources=sources)
    if exposure is not None:
        dataset = with_exposure(dataset, of_rows["exposure"])
        if isinstance(exposure, str) and exposure != TOTAL:
            dataset = replace(dataset, meta=dataset.meta | {"exposure": exposure})
    if durations_note:
        dataset = replace(dataset, meta=dataset.meta | notes_entry([*dataset.notes, durations_note]))
    options = BundleOptions(must_link, cannot_link, weights_scale, apart, prior_counts)
    dataset = bundle_rows(dataset, columns_of(dataset.N, name, bundled), options)
    return scaled.reduce_columns(scaled.read_scales(repeats.read_repeated(dataset, repeated), scale), reduce)


def take_columns(
    data: Any, options: dict[str, Any], keys: Sequence[str] = ("exposure", "weights", "group", "labels", "files")
) -> tuple[Any, dict[str, Any]]:
    """A table without the columns that options of these `keys` name, and the options with the columns themselves."""
    names = {key: options[key] for key in keys if isinstance(options.get(key), str)}
    if names.get("exposure") == TOTAL:
        del names["exposure"]
    if not names:
        return data, options
    data = as_pandas(data)
    for key, column in names.items():
        if not isinstance(data, pd.DataFrame) or column not in data:
            total = f", or {TOTAL}" if key == "exposure" else ""
            raise DataError(f"data.{key}={column}: no such column; expected one of a data frame{total}")
    return data.drop(columns=list(names.values())), options | {key: data[column] for key, column in names.items()}


def with_exposure(dataset: Dataset, exposure: Any) -> Dataset:
    """The data set with exposures, all positive: an array, or ``total``, the sums of the rows."""
    of_totals = isinstance(exposure, str)
    exposures = np.asarray(dataset.values.sum(axis=1) if of_totals else exposure, dtype=np.float64).ravel()
    if len(exposures) != dataset.N:
        raise DataError(f"data.exposure: {len(exposures)} numbers; expected one for each of {dataset.N} rows")
    good = (exposures > 0) & np.isfinite(exposures)
    if not good.all():
        i = int(np.argmin(good))
        raise DataError(f"data.exposure: {dataset.name}: row {i + 1}: {exposures[i]:g}; expected a positive number")
    return replace(dataset, exposure=exposures, meta=dataset.meta | ({"exposure": TOTAL} if of_totals else {}))


def object_table(columns: list[str] | None, width: int) -> Table:
    """A table without cells of an object's columns, for notes."""
    table = Table(IN_MEMORY, [pa.chunked_array([pa.nulls(0)])] * width, columns)
    table.tell_names_apart()
    return table


def as_pandas(data: Any) -> Any:
    """Tables and columns of other libraries as pandas has them: by their ``to_pandas``, or the Arrow interface
    (``__arrow_c_stream__``), which copies no number; a query that is not yet run (``LazyFrame``) is run. A mapping of
    columns, rows that are mappings and an array with names of fields become a data frame. Anything else as it is."""
    if isinstance(data, pd.DataFrame | pd.Series) or is_sparse(data):
        return data
    if hasattr(data, "collect_schema") and hasattr(data, "collect"):
        data = data.collect()
    if isinstance(data, Mapping):
        return _frame_of_columns(data)
    if isinstance(data, np.ma.MaskedArray):
        numeric = data.dtype.kind in "biuf"
        return np.ma.filled(data.astype(np.float64 if numeric else object), np.nan if numeric else None)
    fields = isinstance(data, np.ndarray) and data.dtype.names is not None
    if fields or (isinstance(data, list | tuple) and data and all(isinstance(row, Mapping) for row in data)):
        return pd.DataFrame(data)
    if hasattr(data, "to_pandas"):
        # a column of whole numbers with gaps would become floats
        library = type(data).__module__.split(".")[0]
        frame = data.to_pandas(**({"integer_object_nulls": True} if library in ("pyarrow", "polars") else {}))
        # polars 1.37 and earlier does not tell pandas that the levels of an Enum have an order
        if library == "polars" and isinstance(frame, pd.DataFrame):
            enums = [name for name, dtype in data.schema.items() if type(dtype).__name__ == "Enum"]
            frame = frame.assign(**{name: frame[name].cat.as_ordered() for name in enums})
        return frame
    return pa.table(data).to_pandas() if hasattr(data, "__arrow_c_stream__") else data


def in_seconds(data: Any) -> tuple[Any, str]:
    """A table whose durations are numbers of seconds, and a note on them; anything else as it is, without a note."""
    if isinstance(data, np.ndarray) and data.dtype.kind == "m":
        return data / np.timedelta64(1, "s"), "data: durations are read as seconds"
    data = as_pandas(data)
    if not isinstance(data, pd.DataFrame):
        return data, ""
    columns = [column for _, column in data.items()]
    lasting = [j for j, column in enumerate(columns) if pd.api.types.infer_dtype(column).startswith("timedelta")]
    if not lasting:
        return data, ""
    for j in lasting:
        columns[j] = pd.to_timedelta(columns[j]).dt.total_seconds()
    names = ", ".join(str(data.columns[j]) for j in lasting)
    return pd.concat(columns, axis=1), f"data: durations are read as seconds: {names}"


def _frame_of_columns(data: Mapping[Any, Any]) -> "pd.DataFrame":
    columns = {name: as_pandas(column) for name, column in data.items()}
    for name, column in columns.items():
        if isinstance(column, str) or not hasattr(column, "__len__"):
            raise DataError(f"data: '{name}' holds {_describe(column)}; expected a column of values for each name")
    lengths = {name: len(column) for name, column in columns.items()}
    try:
        frame = pd.DataFrame(columns)
    except ValueError as error:
        shown = ", ".join(f"'{name}' {length}" for name, length in lengths.items())
        raise DataError(f"data: columns of {shown} values: {error}; expected columns of the same length") from error
    if any(length != len(frame) for length in lengths.values()):
        raise DataError("data: columns with different indexes; expected columns with the same index, or lists")
    return frame


def _describe(data: Any) -> str:
    return "a single text" if isinstance(data, str) else f"an object of type {type(data).__name__}"


def frame_of(data: Any) -> tuple[Any, list[str] | None, list[str] | None]:
    """Values of a table, which are real, and the names of its columns and of its rows, where it has them."""
    data = as_pandas(data)
    types = data.dtypes if isinstance(data, pd.DataFrame) else [getattr(data, "dtype", None)]
    if any(getattr(dtype, "kind", "") == "c" for dtype in types):
        raise DataError("data: complex numbers; expected real ones, such as data.real")
    if isinstance(data, pd.DataFrame):
        counted = isinstance(data.index, pd.RangeIndex)
        values = data.to_numpy()
        whole = [j for j, kind in enumerate(data.dtypes) if pd.api.types.is_integer_dtype(kind) and kind.itemsize == 8]
        if values.dtype.kind == "f" and any(_is_long(data.iloc[:, j].dropna().to_numpy()) for j in whole):
            values = data.to_numpy(dtype=object)
        return values, [str(c) for c in data.columns], None if counted else [str(i) for i in data.index]
    if is_sparse(data):
        return data, None, None
    try:
        values = np.asarray(data)
        if isinstance(data, list | tuple) and values.dtype.kind == "f" and (np.abs(values) >= EXACT).any():
            exact = np.array(data, dtype=object)
            values = exact if _is_long(exact.ravel()) else values
    except ValueError as error:
        raise DataError(f"data: {error}; expected rows of the same length") from error
    # of a list the numbers are known only now
    return (values, None, None) if values.dtype.kind != "c" else frame_of(values)


def _is_long(cells: NDArray[Any]) -> bool:
    """Whether cells hold a whole number that loses digits as float64."""
    if cells.dtype == object:
        return any(isinstance(cell, int | np.integer | Decimal) and cell != _as_float(cell) for cell in cells)
    return cells.dtype.kind in "iu" and cells.itemsize == 8 and long_digits(pa.chunked_array([cells])) is not None


def holds_long_digits(data: Any) -> bool:
    """Whether a table has a column of whole numbers that lose digits as float64."""
    values = frame_of(data)[0]
    if not isinstance(values, np.ndarray) or values.ndim != 2 or values.dtype.kind not in "iuO":
        return False
    return any(_is_long(values[:, j]) for j in range(values.shape[1]))


def _as_float(cell: Any) -> Any:
    """A whole number as float64; any other number as it is."""
    try:
        return float(cell) if int(cell) == cell else cell
    except (OverflowError, ValueError):  # too large, or a NaN of Decimal
        return cell if cell != cell else np.inf


def table_of(data: Any, expected: str) -> tuple[Any, list[str] | None, list[str] | None]:
    """As `frame_of`, of a table of two dimensions; a Series is one column. `expected`: what the cells are, for
    messages."""
    data = as_pandas(data)
    values, columns, names = frame_of(data.to_frame() if isinstance(data, pd.Series) else data)
    if values.ndim == 1:
        column = "data.reshape(-1, 1)" if isinstance(data, np.ndarray) else "[[value] for value in data]"
        raise DataError(f"data: one dimension; expected {expected} [N, D], such as the one column {column}")
    if values.ndim != 2:
        shape = f"{values.ndim} dimensions" if values.ndim else _describe(data)
        raise DataError(f"data: {shape}; expected {expected} [N, D]")
    return values, columns, names


def with_nan(values: Any) -> Any:
    """Values of a table with NaN for whatever else stands for a missing cell."""
    if not isinstance(values, np.ndarray) or values.dtype != object:
        return values
    return np.where(pd.isna(values), np.nan, values)


def numbers_of(table: Table, values: NDArray[Any], expected: str, whole: bool) -> NDArray[np.float64]:
    """Convert cells to float64; of words that name the items, NaN. The `table` has the names of the columns, and notes
    how columns of texts were read; `expected` says what a cell is, for messages; `whole`: every column is data."""
    long = [j for j in range(values.shape[1]) if not whole and values.dtype.kind in "iuO" and _is_long(values[:, j])]
    for j in long:
        table.columns[j] = pa.chunked_array([pa.array(_as_texts(values[:, j]), pa.string())])
        notes.set_aside(table, j)
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    out = np.full(values.shape, np.nan)
    for j in range(values.shape[1]):
        if j in table.left_out:
            continue
        cells = values[:, j]
        try:
            out[:, j] = cells.astype(np.float64)
        except (TypeError, ValueError):
            table.columns[j] = pa.chunked_array([pa.array(_as_texts(cells), pa.string())])
            if not whole and notes.set_aside(table, j):
                continue
            if (written := notes.written_column(table, j)) is not None:
                out[:, j] = written.to_numpy()
                continue
            for i, cell in enumerate(cells):
                try:
                    float(cell)
                except (TypeError, ValueError):
                    place = place_of(i, j, table.names)
                    way = "A table whose columns are of several types: model='mixed'"
                    raise DataError(f"data: {place}: {cell!r}; expected {expected}. {way}") from None
            raise
    return out


def _as_texts(cells: NDArray[Any]) -> list[str | None]:
    """Cells as they are written; None of missing ones."""
    return [None if missing else str(cell) for cell, missing in zip(cells, pd.isna(cells), strict=True)]


def texts_of(data: Any) -> tuple[Any, list[str] | None]:
    """The texts in a Series, a data frame of one column or an array, and their names; anything else as it is."""
    if isinstance(data, str):
        raise DataError("data: a single text; expected a sequence of texts, such as [text]")
    data = as_pandas(data)
    if isinstance(data, pd.DataFrame) and data.shape[1] == 1 and not pd.api.types.is_numeric_dtype(data.dtypes.iloc[0]):
        data = data.iloc[:, 0]
    if isinstance(data, pd.Series):
        counted = isinstance(data.index, pd.RangeIndex)
        return data.to_list(), None if counted else [str(i) for i in data.index]
    if isinstance(data, np.ndarray) and data.dtype.kind in "OUT" and (data.ndim == 1 or data.shape[1:] == (1,)):
        return data.ravel().tolist(), None
    if isinstance(data, list | tuple) and data and isinstance(data[0], list | tuple) and data[0]:
        # rows of counts
        return (np.asarray(data) if isinstance(data[0][0], Real) else data), None
    return data, None


def has_counts(data: Any) -> bool:
    """Whether documents, after `texts_of`, are a matrix of counts."""
    return is_sparse(data) or isinstance(data, np.ndarray | pd.DataFrame)


def counts_of(data: Any) -> "tuple[sparse.csr_array, list[str] | None, list[str] | None]":
    """Counts of words, int32 ``[documents, words]``, the words and the names of the documents where there are any."""
    values, vocabulary, names = table_of(data, "counts of words")
    try:
        counts = sparse.csr_array(values)
        # of a data frame of several types
        counts = counts.astype(np.float64) if counts.dtype.kind not in "biuf" else counts
    except (TypeError, ValueError) as error:
        raise DataError(f"data: {error}; expected counts of words, or texts") from error
    whole = counts.dtype.kind in "biu" or (counts.data == np.floor(counts.data)).all()
    if not whole or (len(counts.data) and counts.data.min() < 0):
        raise DataError("data: a count is negative or not a whole number")
    counts = counts.astype(np.int32)
    counts.sum_duplicates()
    counts.eliminate_zeros()
    return counts, vocabulary, names
