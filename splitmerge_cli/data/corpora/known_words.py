"""New documents under the words of a corpus."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from splitmerge_cli.data.corpora.corpus import Tokens, tokens_of, vectorize
from splitmerge_cli.data.corpora.objects import check_words
from splitmerge_cli.data.corpora.texts import AUTO, Words
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.objects import counts_of, has_counts, texts_of
from splitmerge_cli.received import DataError


@dataclass(frozen=True)
class NewDocuments:
    """Documents of which the words that a corpus does not have are left out: how many tokens these were (`unseen`),
    and up to three of the words, the commonest.
    """

    tokens: Tokens
    unseen: int
    examples: list[str]


def known_words(dataset: Dataset, new: Any) -> NewDocuments:
    """New documents under the words of a corpus.

    They are as `splitmerge_cli.data.objects.from_object` takes them, or a `Dataset` of them. Columns of a data frame
    of counts are found by name; another matrix has a column for each word of the vocabulary. Raises a `DataError` for
    another number of columns, or where no word of any document is known.
    """
    vocabulary = list(dataset.vocabulary or ())
    code = {word: k for k, word in enumerate(vocabulary)}
    data, words = texts_of(new)[0], None
    if isinstance(data, Dataset):
        tokens, words = data.values.tokens, list(data.vocabulary or ())
        ones = np.ones(len(tokens.words), dtype=np.int32)
        counts = csr_array((ones, (tokens.documents(), tokens.words)), shape=(tokens.J, data.values.V))
        counts.sum_duplicates()
    elif has_counts(data):
        counts, words, _ = counts_of(data)
    else:
        shortest = dataset.meta.get("documents", {}).get("options", {}).get("min_length", AUTO)
        counts, words = _count_words(data, Words(shortest))
    if words is None:
        if counts.shape[1] != len(vocabulary):
            raise DataError(f"new documents: {counts.shape[1]} words; expected the {len(vocabulary)} of the data")
        words = vocabulary
    column = np.array([code.get(word, -1) for word in words], dtype=np.int64)
    known = column >= 0
    totals: NDArray[np.int64] = np.asarray(counts.sum(axis=0), dtype=np.int64).ravel()
    left = np.flatnonzero(~known & (totals > 0))
    if totals.sum() and not totals[known].sum():
        raise DataError(
            f"new documents: none of their words, such as '{words[left[0]]}', is among the {len(vocabulary)} of the "
            "data"
        )
    placed = csr_array(counts[:, known]).tocoo()
    shape = counts.shape[0], len(vocabulary)
    found = csr_array((placed.data, (placed.row, column[known][placed.col])), shape=shape)
    found.sum_duplicates()
    commonest = left[np.argsort(-totals[left], kind="stable")]
    return NewDocuments(tokens_of(found), int(totals[left].sum()), [words[k] for k in commonest[:3]])


def _count_words(documents: Any, find_words: Words) -> tuple[csr_array, list[str]]:
    """Count the words of texts, or of sequences of words, which may be empty."""
    each = [find_words(document) if isinstance(document, str) else list(document) for document in documents]
    check_words(each)
    return vectorize(each, analyzer=list) if any(each) else (csr_array((len(each), 0), dtype=np.int32), [])
