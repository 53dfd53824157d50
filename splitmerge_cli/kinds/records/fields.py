"""Fields of records: distinct values, in order, and their codes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.dataset import ColumnType, Dataset


def code_fields(
    columns: Sequence[Sequence[str | None]], types: Sequence[str]
) -> tuple[NDArray[np.int32], tuple[ColumnType, ...]]:
    """Code the cells of each field, None where one is missing: numbers in ascending order, words in alphabetical order.

    Examples
    --------
    >>> values, types = code_fields([["ann", None, "bo"], ["7", "12", "7"]], ["string", "number"])
    >>> values.tolist(), types[1].levels
    ([[0, 0], [-1, 1], [1, 0]], ('7', '12'))
    """
    values = np.full((len(columns[0]), len(columns)), -1, dtype=np.int32)
    fields = []
    for j, (cells, type) in enumerate(zip(columns, types, strict=True)):
        levels = sorted({cell for cell in cells if cell is not None}, key=float if type == "number" else None)
        code = {level: k for k, level in enumerate(levels)}
        values[:, j] = [-1 if cell is None else code[cell] for cell in cells]
        fields.append(ColumnType(type, tuple(levels)))
    return values, tuple(fields)


def words_of(dataset: Dataset) -> list[list[str | None]]:
    """The cells of each field as words, None where one is missing."""
    fields = zip(dataset.types or (), dataset.values.T, strict=True)
    return [[None if code < 0 else field.levels[code] for code in codes] for field, codes in fields]


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
