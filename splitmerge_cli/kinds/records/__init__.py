"""Records: rows of a table with typing errors, several of which may be of one entity."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.dataset import ColumnType, Dataset, Kind
from splitmerge_cli.received import DataError

FIELD_TYPES = ("categorical", "string", "number", "date")
"""Types of fields."""
SHORT = 60
"""Characters of a value in a description."""


class Records(Kind):
    """Records: int32 ``[N, F]``, codes from 0 for the values in each field, -1 where a cell is missing.

    `types` hold a `ColumnType` for each field, one of `FIELD_TYPES`, whose levels are the distinct values: text,
    numbers as text, dates as YYYY-MM-DD. `sources` (int32 ``[N]``) hold the file of each record where an entity has at
    most one record of a file.
    """

    name = "records"
    item = "record"
    cluster = "entity"
    model = "records"
    generator = "splitmerge_cli.kinds.records.generated:generate"
    reading = "splitmerge_cli.kinds.records.reader:RecordsReading"
    quantities = "splitmerge_cli.kinds.records.linkage:RecordQuantities"
    text_types = ("string",)
    say_words = "splitmerge_cli.kinds.records.columns:say_names"
    say_columns = "splitmerge_cli.kinds.records.columns:say_records"
    any_columns = True
    takes_sources = True
    growing = (
        "with model.prior=crp clusters grow with the number of records, but an entity has few of them: "
        "model.prior=learned_sizes, the default, expects many small clusters"
    )
    start = "splitmerge_cli.runs.starts:RowStart"
    # from a few random clusters records would first have to part
    init, has_near_pairs = "pairs", True
    sampler, why_sampler = "sams", ": splits, merges and exchanges of near pairs"
    answers = "splitmerge_cli.kinds.records.entities:Entities"
    cases = "splitmerge_cli.kinds.records.generated:CASES"
    # matrices, trees and balls of thousands of entities show nothing
    pictures = (
        *("traces", "n_clusters", "entity_sizes", "pair_probabilities", "pair_calibration", "uncertain_pairs"),
        "match_weights",
    )
    drawings = "splitmerge_cli.kinds.records.pictures:PICTURES"

    def why_table(self, table: Any) -> str:
        from splitmerge_cli.kinds.records.recognition import rows_of_a_table

        if (found := rows_of_a_table(table)) is None:
            return ""
        a, b = found.rows
        return f"rows agree but for typing errors, such as rows {a} and {b}"

    def part_of(self, data: Any) -> Any | None:
        from splitmerge_cli.fits import objects as program
        from splitmerge_cli.kinds.records.recognition import rows_of_a_frame

        if (found := rows_of_a_frame(data)) is None:
            return None
        a, b = found.rows
        why = f"rows agree but for typing errors, such as those at positions {a} and {b}"
        program.warn(
            f"data: read as records of entities ({why}); sample('mixed', data) reads a table", program.DataNote
        )
        return data

    def check(self, dataset: Dataset) -> None:
        x, name, types = dataset.values, dataset.name, dataset.types
        if not isinstance(x, np.ndarray) or x.ndim != 2 or x.shape[1] == 0 or x.dtype != np.int32:
            described = f"{getattr(x, 'dtype', type(x).__name__)} of shape {getattr(x, 'shape', 'unknown')}"
            raise DataError(f"{name}: {described}; expected int32 [N, F], F at least 1")
        if types is None or len(types) != x.shape[1]:
            raise DataError(f"{name}: types of fields: {len(types or ())}; expected {x.shape[1]}")
        for j, field in enumerate(types):
            title = dataset.columns[j] if dataset.columns else f"field {j + 1}"
            if field.type not in FIELD_TYPES:
                raise DataError(f"{name}: {title}: type {field.type}; expected one of {', '.join(FIELD_TYPES)}")
            V = len(field.levels)
            if x[:, j].min(initial=0) < -1 or x[:, j].max(initial=0) >= max(V, 1):
                i = int(np.argmax((x[:, j] < -1) | (x[:, j] >= V)))
                raise DataError(f"{name}: {dataset.place(i, j)}: {x[i, j]}; expected a code from -1 to {V - 1}")
            counts = np.bincount(x[x[:, j] >= 0, j], minlength=V)
            if V == 0 or counts.min() == 0:
                absent = f"no record has the value {field.levels[int(np.argmin(counts))]!r}" if V else "no value"
                raise DataError(f"{name}: {title}: {absent}; expected every level among the records")
        sources = dataset.sources
        if sources is not None and (sources.shape != (len(x),) or sources.dtype != np.int32 or sources.min() < 0):
            raise DataError(f"{name}: sources; expected int32 [{len(x)}], at least 0")

    def join(self, first: Any, other: Any, names: Any) -> Any:
        from splitmerge_cli.kinds.records.reader import Joined

        return Joined(first, other, names)

    def take(self, dataset: Dataset, rows: NDArray[np.int64] | slice) -> dict[str, Any]:
        """Values that do not occur in these rows are no levels."""
        return keep_levels(dataset.values[rows], dataset.types or ())

    def example_options(self, N: int) -> dict[str, Any]:
        return {"entities": (N + 1) // 2}

    def outline(self, N: int, D: int) -> Dataset:
        """D fields of three strings each, the first two of which are similar."""
        field = ColumnType("string", ("maria", "marie", "ruth"))
        values = np.tile((np.arange(N, dtype=np.int32) % 3)[:, None], D)
        return Dataset("simulated", self, values, types=(field,) * D)

    def types_of(self, dataset: Dataset) -> tuple[ColumnType, ...]:
        return dataset.types or ()

    def reader_options(self, dataset: Dataset) -> dict[str, Any]:
        if "typed" not in dataset.meta:
            return {}
        types = dict(zip(dataset.column_keys, (field.type for field in dataset.types or ()), strict=True))
        # a file of new records is read alone, by the names of either file
        alone = {"other": None, "files": None, "duplicates": False, "names": dataset.meta["names"] or None}
        return {"columns": list(types), "drop": None, "truth": None, "types": types, **alone}

    def describe(self, dataset: Dataset, here: NDArray[np.bool_], first: int) -> dict[str, Any]:
        """The commonest value of each field."""
        described = {}
        for name, field, codes in zip(dataset.column_names, dataset.types or (), dataset.values[here].T, strict=True):
            counts = np.bincount(codes[codes >= 0], minlength=1)
            value = field.levels[int(np.argmax(counts))] if counts.any() else ""
            described[name] = value if len(value) <= SHORT else f"{value[: SHORT - 3]}..."
        return described


def keep_levels(values: NDArray[np.int32], types: Sequence[ColumnType]) -> dict[str, Any]:
    """The `values` and `types` of records with these codes, by the levels that occur."""
    values, fields = values.copy(), []
    for j, field in enumerate(types):
        seen = np.unique(values[values[:, j] >= 0, j])
        place = np.full(len(field.levels) + 1, -1, dtype=np.int32)
        place[seen] = np.arange(len(seen))
        values[:, j] = place[values[:, j]]
        fields.append(replace(field, levels=tuple(field.levels[k] for k in seen)))
    return {"values": values, "types": tuple(fields)}
