"""Data sets of what a Python program holds: arrays, data frames, sparse matrices, graphs, documents."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from splitmerge_cli.data.base import DataError, Dataset, numbered_labels


def from_object(data: Any, kind: str, truth: Any = None, name: str = "data") -> Dataset:
    """The data set that a model of this kind of data reads.

    Parameters
    ----------
    data : object
        ``points``: an array, a data frame (pandas; polars, or what else has ``to_pandas``) or a sparse matrix
        ``[N, D]`` of numbers. ``binary``: the same of 0 and 1, or booleans. Of both, cells of arrays and frames may be
        missing: NaN, None, pandas.NA. ``tokens``: a sequence of N strings or
        numbers. ``graph``: a networkx graph, or a symmetric matrix ``[N, N]`` of which an entry that is not 0 is an
        edge; directions, weights and self-loops are left out. ``documents``: texts, each a string or a sequence of
        words, in a sequence, a Series or a data frame of one column; or a matrix or data frame ``[documents, words]``
        of counts. ``mixed``: a data frame, or an array, whose columns are
        read as those of a file are (`splitmerge_cli.data.tables.inference`). A `Dataset` is returned as it is.
    kind : str
        As `Dataset` has it.
    truth : array_like, optional
        True label of each item, of any type; None or NaN: not known.
    name : str
        For titles.

    Raises
    ------
    DataError
        The object is not as said; the message names row and column.
    """
    if isinstance(data, Dataset):
        if truth is not None:
            raise DataError("truth: expected None beside a Dataset, which holds its own")
        return data
    labels = None if truth is None else numbered_labels(truth)
    if kind not in _READERS:
        raise DataError(f"data: {type(data).__name__}; data of kind {kind} are made by a reader of splitmerge_cli.data")
    return _READERS[kind](data, labels, name)


def _frame(data: Any) -> tuple[Any, list[str] | None, list[str] | None]:
    """Values of a table, names of its columns and of its rows, where it has them."""
    if not isinstance(data, pd.DataFrame) and not issparse(data) and hasattr(data, "to_pandas"):
        data = data.to_pandas()
    if isinstance(data, pd.DataFrame):
        counted = isinstance(data.index, pd.RangeIndex)
        return data.to_numpy(), [str(c) for c in data.columns], None if counted else [str(i) for i in data.index]
    if issparse(data):
        return data, None, None
    try:
        return np.asarray(data), None, None
    except ValueError as error:
        raise DataError(f"data: {error}; expected rows of the same length") from error


def _table(data: Any, what: str) -> tuple[Any, list[str] | None, list[str] | None]:
    values, columns, names = _frame(data)
    if values.ndim != 2:
        shape = "a row; data.reshape(-1, 1) makes it a column" if values.ndim == 1 else f"{values.ndim} dimensions"
        raise DataError(f"data: {shape}; expected {what} [N, D]")
    return values, columns, names


def _with_nan(values: Any) -> Any:
    """Values of a table with NaN for whatever else stands for a missing cell."""
    if not isinstance(values, np.ndarray) or values.dtype != object:
        return values
    return np.where(pd.isna(values), np.nan, values)


def _points(data: Any, truth: NDArray[np.int32] | None, name: str) -> Dataset:
    values, columns, names = _table(data, "numbers")
    values = _with_nan(values)
    if issparse(values):
        matrix = csr_array(values).astype(np.float64)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        return Dataset(name, "points", matrix, truth, columns=columns, names=names)
    if values.dtype not in (np.float32, np.float64):
        values = _as_numbers(values, columns)
    # the caller's array stays writable, and what the models read does not change
    values = np.array(values, order="C")
    return Dataset(name, "points", values, truth, columns=columns, names=names)


def _as_numbers(values: NDArray[Any], columns: list[str] | None) -> NDArray[np.float64]:
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    out = np.empty(values.shape)
    for j in range(values.shape[1]):
        try:
            out[:, j] = values[:, j].astype(np.float64)
        except (TypeError, ValueError):
            for i, cell in enumerate(values[:, j]):
                try:
                    float(cell)
                except (TypeError, ValueError):
                    called = f" ('{columns[j]}')" if columns else ""
                    raise DataError(
                        f"data: row {i + 1}, column {j + 1}{called}: {cell!r}; expected a number. A table whose "
                        "columns are of several types: model='mixed'"
                    ) from None
            raise
    return out


def _binary(data: Any, truth: NDArray[np.int32] | None, name: str) -> Dataset:
    values, columns, names = _table(data, "0 and 1")
    values = _with_nan(values.toarray() if issparse(values) else values)
    absent = pd.isna(values)
    good = np.isin(values, [0, 1]) | absent
    if not good.all():
        i, j = (int(k) for k in np.argwhere(~good)[0])
        called = f" ('{columns[j]}')" if columns else ""
        raise DataError(f"data: row {i + 1}, column {j + 1}{called}: {values[i, j]}; expected 0 or 1")
    if not values.size:
        raise DataError("data: no items; expected at least one")
    found = np.ascontiguousarray(values, dtype=np.float64 if absent.any() else np.uint8)
    return Dataset(name, "binary", found, truth, columns=columns, names=names)


def _tokens(data: Any, truth: NDArray[np.int32] | None, name: str) -> Dataset:
    values, _, names = _frame(data)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise DataError(f"data: {values.ndim} dimensions; expected a sequence of tokens")
    codes, seen = pd.factorize(values)
    if (codes < 0).any():
        raise DataError(f"data: item {int(np.argmax(codes < 0)) + 1}: no token; expected a string or a number")
    return Dataset(name, "tokens", codes.astype(np.int32), truth, vocabulary=[str(s) for s in seen], names=names)


def _graph(data: Any, truth: NDArray[np.int32] | None, name: str) -> Dataset:
    from splitmerge_cli.data.graphs.adjacency import adjacency, sizes

    names: list[str] | None = None
    if hasattr(data, "nodes") and hasattr(data, "edges"):
        names = [str(node) for node in data.nodes]
        number = {node: k for k, node in enumerate(data.nodes)}
        ends = np.array([(number[a], number[b]) for a, b, *_ in data.edges], dtype=np.int64).reshape(-1, 2)
        N = len(number)
    else:
        values, names, _ = _table(data, "an adjacency matrix")
        if values.shape[0] != values.shape[1]:
            raise DataError(f"data: shape {values.shape}; expected an adjacency matrix [N, N]")
        N = values.shape[0]
        ends = np.stack(values.nonzero(), axis=1).astype(np.int64)
    ends = np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1)
    ends = np.unique(ends, axis=0) if len(ends) else ends
    matrix = adjacency(N, ends[:, 0], ends[:, 1])
    return Dataset(name, "graph", matrix, truth, names=names, meta=sizes(matrix))


def _documents(data: Any, truth: NDArray[np.int32] | None, name: str) -> Dataset:
    from splitmerge_cli.data.corpora.corpus import Corpus, dataset, tokens_of

    data, names = texts_of(data)
    vocabulary: list[str] | None = None
    if has_counts(data):
        counts, vocabulary, names = counts_of(data)
    else:
        counts, vocabulary = _counted(data)
    words = vocabulary or [f"word {k}" for k in range(counts.shape[1])]
    corpus = Corpus(tokens_of(counts), counts.shape[1], names, truth)
    return dataset(name, corpus, words)


def texts_of(data: Any) -> tuple[Any, list[str] | None]:
    """The texts in a Series, a data frame of one column or an array, and their names; what is none of these as it is.

    Raises
    ------
    DataError
        A single text.
    """
    if isinstance(data, str):
        raise DataError("data: a single text; expected a sequence of texts, such as [text]")
    if not isinstance(data, pd.DataFrame | pd.Series) and hasattr(data, "to_pandas"):
        data = data.to_pandas()
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
    return issparse(data) or isinstance(data, np.ndarray | pd.DataFrame)


def counts_of(data: Any) -> tuple[csr_array, list[str] | None, list[str] | None]:
    """Counts of words, int32 ``[documents, words]``, the words and the names of the documents where there are any.

    Raises
    ------
    DataError
        A count is negative or no whole number.
    """
    values, vocabulary, names = _table(data, "counts of words")
    try:
        counts = csr_array(values)
        # of a data frame of several types
        counts = counts.astype(np.float64) if counts.dtype.kind not in "biuf" else counts
    except (TypeError, ValueError) as error:
        raise DataError(f"data: {error}; expected counts of words, or texts") from error
    whole = counts.dtype.kind in "biu" or (counts.data == np.floor(counts.data)).all()
    if not whole or (len(counts.data) and counts.data.min() < 0):
        raise DataError("data: a count of a word that is negative or no whole number")
    counts = counts.astype(np.int32)
    counts.sum_duplicates()
    counts.eliminate_zeros()
    return counts, vocabulary, names


def _counted(documents: Iterable[str | Sequence[str]]) -> tuple[csr_array, list[str]]:
    """Counts of words of texts; words as scikit-learn's CountVectorizer finds them, or as they are given."""
    from sklearn.feature_extraction.text import CountVectorizer

    each = list(documents)
    texts = all(isinstance(document, str) for document in each)
    options: dict[str, Any] = {} if texts else {"analyzer": list}
    if not texts and any(isinstance(document, str) for document in each):
        raise DataError("data: texts and lists of words; expected the one or the other")
    if not texts and not all(isinstance(word, str) for document in each for word in document):
        raise DataError("data: a word that is no string; expected texts, sequences of words, or an array of counts")
    vectorizer = CountVectorizer(dtype=np.int32, **options)
    try:
        counts = csr_array(vectorizer.fit_transform(each))
    except (ValueError, TypeError) as error:
        raise DataError(f"data: {error}; expected texts, or sequences of words") from error
    counts.sort_indices()
    return counts, [str(word) for word in vectorizer.get_feature_names_out()]


def _mixed(data: Any, truth: NDArray[np.int32] | None, name: str) -> Dataset:
    import pyarrow as pa

    from splitmerge_cli.data.tables.mixed import read_mixed
    from splitmerge_cli.data.tables.parquet import from_arrow
    from splitmerge_cli.data.tables.wanted import Wanted

    if not isinstance(data, pd.DataFrame):
        values, columns, names = _table(data, "cells")
        data = pd.DataFrame(values.toarray() if issparse(values) else values, columns=columns, index=names)
        data.columns = data.columns.map(str)
    try:
        # a categorical column is one of the values that it has
        plain = data.astype({c: object for c in data.columns if isinstance(data[c].dtype, pd.CategoricalDtype)})
        table = pa.Table.from_pandas(plain.rename(columns=str), preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DataError(f"data: {error}; expected a value of one type in each column") from error
    found = read_mixed(from_arrow(name, table), Wanted("mixed", None, None, []), None, name)
    _, _, names = _frame(data)
    return replace(found, truth=truth, names=found.names if names is None else names)


_READERS = {
    "points": _points,
    "binary": _binary,
    "tokens": _tokens,
    "graph": _graph,
    "documents": _documents,
    "mixed": _mixed,
}
