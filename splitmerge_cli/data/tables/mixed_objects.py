"""Mixed tables of objects, and new rows in the words of the data."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy.sparse import issparse

from splitmerge_cli.data.dataset import Dataset, Labels
from splitmerge_cli.data.objects import as_pandas, frame_of, table_of, with_long_integers
from splitmerge_cli.data.reading import Reading
from splitmerge_cli.data.tables.cells import cells_of
from splitmerge_cli.data.tables.inference import read_as_type
from splitmerge_cli.data.tables.mixed import read_mixed
from splitmerge_cli.data.tables.notes import check_names
from splitmerge_cli.data.tables.parquet import from_arrow
from splitmerge_cli.data.tables.table import NUMBER, Table
from splitmerge_cli.data.tables.wanted import Wanted
from splitmerge_cli.received import DataError, reject_machine_error


class MixedReading(Reading):
    """Reads tables whose columns are of several types."""

    def from_object(
        self,
        data: Any,
        truth: Labels,
        name: str,
        whole: bool = False,
        types: Mapping[str | int, str] | None = None,
    ) -> Dataset:
        """Convert an object; `types` as data.types of a file, `whole`: every column is data."""
        data = as_pandas(data)
        data = data.to_frame() if isinstance(data, pd.Series) else data
        if not isinstance(data, pd.DataFrame):
            values, columns, names = table_of(data, "cells")
            data = pd.DataFrame(values.toarray() if issparse(values) else values, columns=columns, index=names)
            data.columns = data.columns.map(str)
        _, _, names = frame_of(data)
        # several columns may share a name
        plain = data.set_axis(range(data.shape[1]), axis=1)
        categories = {j for j in plain if isinstance(plain[j].dtype, pd.CategoricalDtype)}
        try:
            plain = plain.astype(dict.fromkeys(categories, object)).apply(with_long_integers).rename(columns=str)
            table = from_arrow(name, pa.Table.from_pandas(plain, preserve_index=False))
        except (pa.ArrowException, TypeError, ValueError) as error:
            reject_machine_error(error, name)
            raise DataError(f"data: {error}; expected a value of one type in each column") from error
        table.names, table.categories = [str(column) for column in data.columns], categories
        check_names(table)
        chosen: list[str | int] | None = list(range(1, table.width + 1)) if whole else None
        found = read_mixed(table, Wanted(self.kind, None, chosen, [], types), None, name)
        return replace(found, truth=truth, names=found.names if names is None else names)

    def from_table(self, table: Table, wanted: Wanted, N: int | None, header: str | bool) -> Dataset:
        """Convert the first N rows of a table."""
        return read_mixed(table, wanted, N, table.title)

    def align(self, dataset: Dataset, new: Any) -> Dataset:
        """Code new cells as in the data; a level that the data do not have is missing, as nothing is known of it."""
        if isinstance(new, Dataset) and new.types == dataset.types:
            return new
        types, frame = dataset.types or (), new
        if not isinstance(new, pd.DataFrame):
            values, _, _ = table_of(new, "cells")
            if not issparse(values) and not isinstance(new, pd.Series):
                values = np.asarray(new, dtype=object)  # the cells of a list keep their types
            frame = pd.DataFrame(dataset.read_columns(values.toarray() if issparse(values) else values))
        if frame.shape[1] != len(types):
            raise DataError(f"new items: {frame.shape[1]} columns; expected {len(types)}")
        values = np.full(frame.shape, np.nan)
        for j, column in enumerate(types):
            cells = frame.iloc[:, j]
            present = np.flatnonzero(cells.notna())
            if column.levels:
                levels = _Levels(column.levels)
                values[present, j] = [levels.code(cell) for cell in cells.iloc[present]]
            elif pd.api.types.is_numeric_dtype(cells.dtype):
                values[:, j] = cells.to_numpy(dtype=np.float64, na_value=np.nan)
            else:
                values[:, j] = self._numbers(cells, dataset.meta.get("dates", {}).get(j, column.type))
        return Dataset("new items", self.kind, values, columns=dataset.columns, types=types)

    def _numbers(self, cells: Any, type: str) -> Any:
        """Convert new cells, numbers or dates, as those of the data; raises a `DataError`."""
        try:
            column = pa.table({str(cells.name): pa.array(cells, from_pandas=True)})
        except (pa.ArrowException, TypeError, ValueError) as error:
            reject_machine_error(error, "new items")
            column = pa.table({str(cells.name): pa.array([None if cell != cell else str(cell) for cell in cells])})
        reading = read_as_type(cells_of(from_arrow("new items", column), 0), type)
        if reading.problem:
            raise DataError(reading.problem)
        return reading.values

    def as_given(self, dataset: Dataset) -> Any:
        """The items as a data frame, levels in place of codes."""
        frame = super().as_given(dataset)
        for column, type_ in zip(dataset.columns or (), dataset.types or (), strict=False):
            if type_.levels:
                cells = [None if np.isnan(code) else type_.levels[int(code)] for code in frame[column]]
                frame[column] = pd.Series(cells, dtype=object)
        return frame


class _Levels:
    """The levels of a column, found as they are written or, where one alone is that number, by number: 1 and 1.0."""

    def __init__(self, levels: Sequence[str]) -> None:
        self.by_word = {level: k for k, level in enumerate(levels)}
        numbers = [_number_of(level) for level in levels]
        self.by_number = {number: k for k, number in enumerate(numbers) if numbers.count(number) == 1}

    def code(self, cell: Any) -> float:
        """Return the code of a cell, NaN where no level is meant."""
        word = str(cell).strip()
        word = word.lower() if isinstance(cell, bool | np.bool_) else word
        if word in self.by_word:
            return self.by_word[word]
        number = _number_of(word)
        return np.nan if number is None else self.by_number.get(number, np.nan)


def _number_of(word: str) -> Decimal | None:
    """The number that a word writes, to its last digit; None of any other word."""
    return Decimal(word) if NUMBER.fullmatch(word) else None
