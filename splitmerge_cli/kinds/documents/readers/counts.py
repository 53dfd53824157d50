"""Documents as counts of words, and the points that they make: words are chosen, their counts weighed."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.opening import check_rows
from splitmerge_cli.data.tables.scaled import read_sparse
from splitmerge_cli.data.tables.separators import read_text
from splitmerge_cli.data.values import BLOCK, LARGEST, first_entry, require, require_size
from splitmerge_cli.extras import sparse
from splitmerge_cli.received import DataError

WEIGHTS = ("tfidf", "log", "counts", "binary")
WORD_BYTES = 70
"""Memory that a word of a vocabulary takes at least."""


@dataclass(frozen=True)
class Documents:
    """Counts of words in documents, the words, and where known the true categories and the names of the documents.

    The counts are a csr_array, int32 ``[documents, words]``, of 1 or more, indices of a row ascending, perhaps mapped
    from files; the categories int32 ``[documents]``, numbered by first appearance.
    """

    counts: "sparse.csr_array"
    vocabulary: list[str]
    truth: NDArray[np.int32] | None = None
    categories: list[str] | None = None
    names: list[str] | None = None


def read_counts(path: Path) -> "sparse.csr_array":
    """Counts of words ``[documents, words]`` from an .npz file that ``scipy.sparse.save_npz`` wrote: int32, no stored
    zeros, indices of a row ascending; a `DataError` if it holds no sparse matrix, or an entry that is no count.
    """
    x = read_sparse(path)
    good = first_entry(x, lambda data: ~((data >= 1) & (data <= LARGEST) & (data == np.floor(data))))
    if good is not None:
        i, j = good
        expected = f"a count, a whole number from 0 to {LARGEST}"
        raise DataError(f"{path}: row {i + 1}, column {j + 1}: {x[i, j]:g}; expected {expected}")
    return x.astype(np.int32)


def read_vocabulary(path: Path, words: int | None = None, encoding: str | None = None) -> list[str]:
    """The words of a text file, one a line, perhaps gzipped: so many `words`, by default any number.

    Raises a `DataError` if it cannot be read, has another number of lines, an empty line, or a word twice.
    """
    data = read_text(path, encoding)
    check_rows(path, data.count(b"\n") + 1, WORD_BYTES, "rows")
    lines = [line.strip() for line in data.decode("utf-8").split("\n")]
    if words is not None and len(lines) != words:
        raise DataError(f"{path}: {len(lines)} lines; expected {words}, one for each word")
    seen: dict[str, int] = {}
    for row, word in enumerate(lines, start=1):
        if not word:
            raise DataError(f"{path}: row {row}: an empty line; expected a word")
        if seen.setdefault(word, row) != row:
            raise DataError(f"{path}: row {row}: '{word}', which is row {seen[word]} too; expected each word once")
    return lines


def keep_words(documents: Documents, min_documents: int = 1) -> Documents:
    """Keep the words that occur in at least `min_documents` documents; a `DataError` for no whole number of at least
    1, or where no word is left.
    """
    require_size("data.min_documents", min_documents)
    counts = documents.counts
    n_documents = np.zeros(counts.shape[1], dtype=np.int64)
    for start in range(0, counts.nnz, BLOCK):
        n_documents += np.bincount(counts.indices[start : start + BLOCK], minlength=len(n_documents))
    columns = np.flatnonzero(n_documents >= min_documents)
    if not len(columns):
        most_documents = int(n_documents.max())
        expected = (
            f"at most {most_documents}, the documents of the most common word"
            if most_documents
            else "a word in some document"
        )
        raise DataError(f"data.min_documents={min_documents}: no word is left; expected {expected}")
    vocabulary = [documents.vocabulary[j] for j in columns]
    return replace(documents, counts=counts[:, columns], vocabulary=vocabulary)


def weigh(counts: "sparse.csr_array", weights: str = "tfidf") -> "sparse.csr_array":
    """Weights of the words in every document, in place of their counts (int32 ``[documents, words]``): float64,
    entries where the counts have them.

    ``tfidf``: count (1 + log((1 + documents) / (1 + documents with the word))), every document then scaled to length 1
    (one without a word stays 0). ``log``: log(1 + count). ``counts``: as they are. ``binary``: 1. Raises a `DataError`
    for another name.
    """
    require(weights in WEIGHTS, "data.weights", weights, f"one of {', '.join(WEIGHTS)}")
    x = sparse.csr_array((counts.data.astype(np.float64), counts.indices, counts.indptr), shape=counts.shape)
    if weights == "log":
        np.log1p(x.data, out=x.data)
    elif weights == "binary":
        x.data[:] = 1.0
    elif weights == "tfidf":
        from sklearn.feature_extraction.text import TfidfTransformer

        x = sparse.csr_array(TfidfTransformer().fit(x).transform(x, copy=False))
        x.sort_indices()
    return x


def points(
    name: str, documents: Documents, weights: str = "tfidf", min_documents: int = 1, terms: str | None = None
) -> Dataset:
    """Documents as sparse points, a column for each word that is kept (`keep_words`), weighed (`weigh`); their `terms`
    of use are kept with them.

    ``meta["documents"]`` holds the number of documents, of those without a word (empty), of words that are kept and of
    the whole vocabulary, of entries and tokens that are kept, and the options.
    """
    words = keep_words(documents, min_documents)
    x = weigh(words.counts, weights)
    sizes: dict[str, Any] = {
        "documents": x.shape[0],
        "empty": int((np.diff(x.indptr) == 0).sum()),
        "words": x.shape[1],
        "vocabulary": len(documents.vocabulary),
        "entries": int(x.nnz),
        "tokens": int(words.counts.data.sum(dtype=np.int64)),
        "weights": weights,
        "min_documents": min_documents,
    }
    meta: dict[str, Any] = {"documents": sizes | ({"terms": terms} if terms else {})}
    meta |= {"truth": "no labels are published"} if words.truth is None else {"categories": words.categories}
    return Dataset(name, "points", x, words.truth, columns=words.vocabulary, names=words.names, meta=meta)
