"""Samplers that support a model, as the classes report.

Rows of columns that are all alike: what points, 0 and 1, and other numbers have in common.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from splitmerge_cli import config, received
from splitmerge_cli.core.model import Model
from splitmerge_cli.data import arrow, opening, reading, values
from splitmerge_cli.data.dataset import Dataset, Labels
from splitmerge_cli.data.objects import numbers_of, object_table, table_of, with_exposure, with_nan
from splitmerge_cli.data.tables import cells, files, notes, scaled, text
from splitmerge_cli.data.tables.columns import POSITIVE, TOTAL, Wanted, matrix_of, true_labels
from splitmerge_cli.data.tables.table import NUMBER, Table, column_key, is_missing, is_text, quote
from splitmerge_cli.data.values import has_nan, is_sparse, notes_entry, place_of, positions_in, width_entry
from splitmerge_cli.extras import sparse
from splitmerge_cli.runs.initial import build_model


def example(model: str, N: int = 8, **given: Any) -> Model:
    """A small instance of a model on the example of its kind of data, of N items or documents; `given`: its options.
    A ConfigError where there is no such model, or it reads another form of its kind."""
    chosen = config.component("model", model, **given)
    dataset = chosen.kind.example_for(chosen.target, N)
    accepted, reason = chosen.target.accepts(dataset)
    if not accepted:
        raise config.ConfigError(f"model={model}: {reason}")
    return build_model(chosen, dataset)


def support(sampler: str, model: Model) -> tuple[bool, str]:
    """Whether a sampler supports a model, and why not; a ConfigError where there is no such sampler."""
    supported, reason = config.component("sampler", sampler).target.supports(model)
    return bool(supported), reason


WOULD_READ = "data.columns would read it"


class RowsReading(reading.KindReading):
    """Reads tables as the kind says: which numbers are cells (`Kind.fits`), and how they are held (`Kind.dtype`).

    Tables with missing cells are held as float64, these NaN.
    """

    def from_object(self, data: Any, truth: Labels, name: str, whole: bool = False) -> Dataset:
        """Convert an object; `whole`: every column is data, as in new items."""
        kind = self.kind
        values, columns, names = table_of(data, kind.cells)
        table = object_table(columns, values.shape[1])
        if is_sparse(values) and kind.reads_matrices:
            values = sparse.csr_array(values).astype(np.float64)
            values.sum_duplicates()
            values.eliminate_zeros()
            return self._of_object(name, table, values, truth, names, whole)
        values = with_nan(values.toarray() if is_sparse(values) else values)
        if not kind.reads_matrices:
            values = numbers_of(table, values, kind.expected, whole)
        elif values.dtype not in (np.float32, np.float64):
            values = numbers_of(table, values, "a number", whole)

        def fail(i: int, j: int) -> received.DataError:
            return received.DataError(f"data: {place_of(i, j, columns)}: {values[i, j]:g}; expected {kind.expected}")

        # the caller's array stays writable, and what the models read does not change
        values = np.array(values, order="C") if kind.reads_matrices else self._hold(values, fail)
        return self._of_object(name, table, values, truth, names, whole)

    def _of_object(self, name: str, table: Table, values: Any, truth: Labels, names: Any, whole: bool) -> Dataset:
        """Hold the columns of an object that are data; `table` has their names, and notes which are not."""
        width = values.shape[1]
        if not whole and isinstance(values, np.ndarray):
            notes.leave_out_copies(table, lambda j, k: np.array_equal(values[:, j], values[:, k], equal_nan=True))
        columns_read = [j for j in range(width) if j not in table.left_out]
        values = values if len(columns_read) == width else np.take(values, columns_read, axis=1)
        if not whole:
            columns_read, values = self._leave_out(table, columns_read, values)
            if isinstance(values, np.ndarray):
                notes.note_names(table, columns_read, values)
            if isinstance(values, np.ndarray) and self.kind.of_numbers:
                notes.note_numbers(table, columns_read, values)
        columns = [table.names[j] for j in columns_read] if table.names else None
        return Dataset(
            name,
            self.kind,
            values,
            truth,
            columns=columns,
            names=table.item_names if names is None else names,
            meta=notes_entry(table.notes) | width_entry(columns_read, width) | table.entries(columns_read),
            is_recorded=True,
            positions=positions_in(columns_read, width),
        )

    def _leave_out(self, table: Table, columns: Sequence[int], x: Any) -> tuple[list[int], Any]:
        """The columns of those that are read that are data, and their cells; `table` notes which are not. Raises a
        `DataError` if none is left.
        """
        read = list(columns)
        names = [table.names[j] for j in read] if table.names else None
        without = notes.without_data(x, names, self.kind, not table.left_out)
        columns_read = [d for d in range(len(read)) if d not in without]
        notes.note_left_out(table, {read[d]: why for d, why in without.items()}, None, WOULD_READ)
        if isinstance(x, np.ndarray) and self.kind.of_numbers:
            rest = [read[d] for d in columns_read]
            data = notes.leave_out_determined(table, rest, x[:, columns_read], lambda _: WOULD_READ)
            columns_read = [columns_read[d] for d in data]
        if len(columns_read) == len(read):
            return read, x
        if not columns_read:
            reasons = "; ".join(note.partition(": ")[2] for note in table.notes)
            raise received.DataError(f"{table.path}: no column is left for the data ({reasons}); expected at least one")
        x = x[:, columns_read] if not isinstance(x, np.ndarray) else np.take(x, columns_read, axis=1)
        # without its missing cells a table is held as one that has none
        whole = (
            isinstance(x, np.ndarray) and self.kind.dtype is not np.float64 and not (x.dtype.kind == "f" and has_nan(x))
        )
        return [read[d] for d in columns_read], x.astype(self.kind.dtype, copy=False) if whole else x

    def from_table(self, table: Table, wanted: Wanted, N: int | None, header: str | bool) -> Dataset:
        """Convert the first N rows of a table."""
        rows = table.rows
        table.take(N)
        if wanted.columns is None:
            for j in wanted.resolve(table)[1]:
                notes.set_aside(table, j, wanted.missing)
        t, columns_read = wanted.resolve(table)
        for j in columns_read if wanted.columns is not None else ():
            if (digits := table.long_digits(j, wanted.missing)) is not None:
                shown = next(cell for cell in map(str, digits.to_pylist()) if not is_missing(cell))
                rounded = "are rounded: they have more digits than a number keeps"
                table.note(f"{table.column(j)}: whole numbers such as {quote(shown.strip())} {rounded}")
        labels = None if t is None else true_labels(table, t, wanted.missing)
        e = wanted.find_roles(table).get("exposure")
        exposure = None if e is None else matrix_of(table, [e], "data.exposure chooses the column of exposures")[:, 0]
        if e is not None and exposure is not None and not (exposure > 0).all():
            raise table.error(int(np.argmin(exposure > 0)), e, POSITIVE)
        x: Any = self._read_columns(table, columns_read, wanted)
        read = columns_read
        if wanted.columns is None:
            columns_read, x = self._leave_out(table, columns_read, x)
        elif isinstance(x, np.ndarray) and self.kind.of_numbers:
            notes.leave_out_determined(table, columns_read, x, lambda _: WOULD_READ, asked_for=columns_read)
        if wanted.truth is None and wanted.columns is None:
            notes.note_names(table, columns_read, x)
        if isinstance(x, np.ndarray) and self.kind.of_numbers:
            notes.note_numbers(table, columns_read, x)
        if isinstance(x, np.ndarray) and x.dtype.kind == "f" and has_nan(x):
            cells.note_missing(table, columns_read, x)
        columns = [table.names[j] for j in columns_read] if table.names else None
        meta = {"path": str(table.path), "rows": rows} | notes_entry(table.notes)
        meta |= width_entry(columns_read, table.width) | table.entries(columns_read)
        if is_sparse(x):
            meta["nonzeros"] = int(x.nnz)
        # new rows need no weights, units or classes
        if len(columns_read) < len(read) or table.left_out or wanted.roles.keys() - {"truth", "exposure"}:
            meta["typed"] = [column_key(table, j) for j in columns_read]
        names = table.names_of_items()
        positions = positions_in(columns_read, table.width)
        dataset = Dataset(
            table.title, self.kind, x, labels, None, columns, None, names, meta, is_recorded=True, positions=positions
        )
        return with_exposure(dataset, TOTAL) if wanted.exposure == TOTAL else replace(dataset, exposure=exposure)

    def _read_columns(self, table: Table, columns: Sequence[int], wanted: Wanted) -> Any:
        """Columns of a table as they are held; raises a `DataError` that names the first cell that is none."""
        if isinstance(table, scaled.Matrix) and (self.kind.reads_matrices or values.is_csr(table.values)):
            x = table.points(columns, wanted.missing)
            if self.kind.reads_matrices:
                return x
            opening.Limit.current().check(table.path, 8 * table.rows * len(columns), " as numbers")
            return self._hold(x.toarray(), lambda i, j: table.error(i, columns[j], self.kind.expected))
        if self.kind.truth_values:
            return zeros_and_ones(table, columns, wanted)
        for j in columns:
            if is_text(table.cells(j)) and (numbers := notes.written_column(table, j, wanted.missing)) is not None:
                table.columns[j] = numbers
        x = matrix_of(table, columns, "data.columns and data.drop choose", wanted.missing)
        if self.kind.reads_matrices:  # checked where they are read
            return x
        return self._hold(x, lambda i, j: table.error(i, columns[j], self.kind.expected))

    def _hold(self, x: NDArray[Any], fail: Callable[[int, int], received.DataError]) -> NDArray[Any]:
        """Numbers as they are held; raises what `fail` returns for the place of the first that is no cell."""
        absent = np.isnan(x)
        good = self.kind.fits(x) | absent
        if not good.all():
            raise fail(*(int(index) for index in np.argwhere(~good)[0]))
        return np.ascontiguousarray(x, dtype=np.float64 if absent.any() else self.kind.dtype)

    def align(self, dataset: Dataset, new: Any) -> Dataset:
        """Convert new rows; what was fitted as an array may have a resolution, which sparse points have not."""
        if not isinstance(new, Dataset):
            new = new.toarray() if is_sparse(new) and not is_sparse(dataset.values) else new
            if dataset.positions is not None:
                values, columns, _ = table_of(new, self.kind.cells)
                new = dataset.read_columns(values) if columns is None else new
            new = self.kind.from_object(new, None, "new items", whole=True)
        if new.values.shape[1:] != dataset.values.shape[1:]:
            got, expected = new.values.shape[1], dataset.values.shape[1]
            raise received.DataError(f"new items: {got} column{'s' * (got != 1)}; expected {expected}")
        return new


def zeros_and_ones(table: Table, columns: Sequence[int], wanted: Wanted) -> NDArray[np.uint8 | np.float64]:
    """Columns of nothing but 0 and 1 as uint8 ``[rows, columns]``; where cells are missing as float64, these NaN."""
    block = table.block(columns)
    opening.Limit.current().check(table.path, table.rows * len(columns), " as numbers")
    x = np.empty((table.rows, len(columns)), dtype=np.uint8)
    bad: tuple[int, int] | None = None
    absent: dict[int, NDArray[np.bool_]] = {}
    for d, j in enumerate(columns):
        values = _numbers(table, j, wanted) if block is None else block[:, d]
        gaps = cells.in_numbers(values, wanted.missing) if values.dtype.kind == "f" else np.zeros(1, dtype=bool)
        good = (values == 0) | (values == 1) | gaps
        if not good.all() and (bad is None or int(np.argmin(good)) < bad[0]):
            bad = int(np.argmin(good)), j
        x[:, d] = np.where(good & ~gaps, values, 0)
        if gaps.any():
            absent[d] = gaps
    if bad is not None:
        cell = str(table.cells(bad[1])[bad[0]].as_py())
        expected = files.misfit(wanted.kind, cell, table) if isinstance(table, text.Text) else None
        raise table.error(*bad, expected or wanted.kind.expected)
    if not absent:
        return x
    with_missing = x.astype(np.float64)
    for d, gaps in absent.items():
        with_missing[gaps, d] = np.nan
    return with_missing


def _numbers(table: Table, j: int, wanted: Wanted) -> NDArray[Any]:
    """Column `j` as numbers, words for 0 and 1 among them; NaN where a cell is missing, 2 of other words."""
    column = table.cells(j)
    kind = column.type
    if is_text(column):
        encoded = pc.dictionary_encode(column, null_encoding="encode").combine_chunks()
        values = np.array([_truth_value(table, word, wanted) for word in encoded.dictionary.to_pylist()])
        if isinstance(table, text.Text) or not (values == 2).any():
            return values[arrow.numbers_of(encoded.indices)]
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        raise received.DataError(f"{table.path}: {table.column(j)} holds {kind}; expected numbers, each 0 or 1")
    if pa.types.is_boolean(kind):
        column = pc.cast(column, pa.uint8())
    return arrow.numbers_of(column, np.nan)


def _truth_value(table: Table, word: str | None, wanted: Wanted) -> float:
    """0 or 1 of a word or, in a text, a number; NaN of what stands for a missing cell, 2 of anything else."""
    plain = (word or "").strip(" \t")
    if is_missing(plain) or plain in map(str, wanted.missing):
        return np.nan
    if isinstance(table, text.Text) and NUMBER.fullmatch(number := table.number(plain)) and float(number) in (0, 1):
        return float(number)
    return wanted.kind.truth_values.get(plain.lower(), 2)
