"""Data sets with new items behind the old ones, for predictions."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse import csr_array

from splitmerge_cli.data.base import DataError, Dataset
from splitmerge_cli.data.objects import from_object

ROWS = ("tokens", "binary", "points", "mixed")
"""Kinds of data whose items are rows of their own."""


def new_items(dataset: Dataset, new: Any) -> Dataset:
    """New items, as the data of a run are.

    Parameters
    ----------
    dataset : Dataset
        The data of the run.
    new : object
        As `splitmerge_cli.data.objects.from_object` takes it for this kind of data. A table with named columns has
        those of the data, in any order. ``graph``: an array or sparse matrix ``[n, N]``, not 0 where a new node is tied
        to a node of the data.

    Raises
    ------
    DataError
        Other columns, a token that the data do not have, or another number of nodes.
    """
    if dataset.kind == "graph":
        return _ties(dataset, new)
    if isinstance(new, pd.DataFrame) and dataset.columns:
        missing = [column for column in dataset.columns if column not in map(str, new.columns)]
        if missing:
            raise DataError(f"new items: no column '{missing[0]}'; expected {', '.join(dataset.columns)}")
        new = new.rename(columns=str)[dataset.columns]
    if dataset.kind == "mixed":
        return _cells(dataset, new)
    found = from_object(new, dataset.kind)
    if dataset.kind == "tokens":
        return _coded(dataset, found)
    if found.values.shape[1] != dataset.values.shape[1]:
        raise DataError(f"new items: {found.values.shape[1]} columns; expected {dataset.values.shape[1]}")
    return found


def _ties(dataset: Dataset, new: Any) -> Dataset:
    values = new.toarray() if scipy.sparse.issparse(new) else np.asarray(new)
    values = np.atleast_2d(values)
    if values.ndim != 2 or values.shape[1] != dataset.N:
        raise DataError(
            f"new nodes: shape {values.shape}; expected [n, {dataset.N}], their ties to the nodes of the data"
        )
    # held in a data set of another kind: it is no graph
    return Dataset("new nodes", "binary", (values != 0).astype(np.uint8))


def _cells(dataset: Dataset, new: Any) -> Dataset:
    """Cells of a mixed table under the codes that they have in the data; a level that the data do not have is missing,
    as nothing is known of it."""
    frame = new if isinstance(new, pd.DataFrame) else pd.DataFrame(np.asarray(new, dtype=object))
    types, columns = dataset.types or (), dataset.columns or []
    if frame is not new and frame.shape[1] > len(types) and all(map(str.isdecimal, columns)):
        # an array, of which not every column was read
        frame = frame[[int(column) for column in columns if int(column) < frame.shape[1]]]
    if frame.shape[1] != len(types):
        raise DataError(f"new items: {frame.shape[1]} columns; expected {len(types)}")
    values = np.full(frame.shape, np.nan)
    for j, column in enumerate(types):
        cells = frame.iloc[:, j]
        present = np.flatnonzero(cells.notna())
        try:
            if column.levels:
                code = {_level(level): k for k, level in enumerate(column.levels)}
                values[present, j] = [code.get(_level(cell), np.nan) for cell in cells.iloc[present]]
            else:
                values[present, j] = cells.iloc[present].astype(np.float64)
        except (TypeError, ValueError) as error:
            name = dataset.columns[j] if dataset.columns else j + 1
            raise DataError(f"new items: column {name}: {error}; expected numbers ({column.type})") from error
    return Dataset("new items", "mixed", values, columns=dataset.columns, types=types)


def _level(cell: Any) -> str:
    """A level as text, as a file's would be: 1, 1.0 and "1" are the same, and True is "true"."""
    text = str(cell).strip()
    if isinstance(cell, bool | np.bool_):
        return text.lower()
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if number.is_integer() else str(number)


def _coded(dataset: Dataset, found: Dataset) -> Dataset:
    """Tokens under the codes that they have in the data."""
    code = {token: k for k, token in enumerate(dataset.vocabulary or ())}
    of_new = found.vocabulary or []
    for token in of_new:
        if token not in code:
            raise DataError(f"new items: token '{token}' is none of the data's {len(code)}")
    codes = np.array([code[token] for token in of_new], dtype=np.int32)
    return replace(found, values=codes[found.values], vocabulary=dataset.vocabulary)


def stacked(dataset: Dataset, new: Dataset) -> Dataset:
    """The items of the data, then the new ones; without labels and names."""
    if isinstance(dataset.values, csr_array) or isinstance(new.values, csr_array):
        values: Any = csr_array(scipy.sparse.vstack([csr_array(dataset.values), csr_array(new.values)]))
    else:
        # 0 and 1 are bytes, unless a cell is missing
        kept = dataset.values.dtype.kind == "f" or not new.missing
        values = np.concatenate([dataset.values, new.values.astype(dataset.values.dtype) if kept else new.values])
    return replace(dataset, values=values, truth=None, names=None)


def node_added(dataset: Dataset, ties: NDArray[np.uint8]) -> Dataset:
    """The graph with one more node, the last, tied to those where `ties` is 1."""
    column = csr_array(ties[:, None])
    matrix = csr_array(scipy.sparse.block_array([[dataset.values, column], [column.T, None]]), dtype=np.uint8)
    matrix.sort_indices()
    return replace(dataset, values=matrix, truth=None, names=None)
