"""Documents of objects: texts, lists of words, counts of words; new documents under the words of a corpus."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from splitmerge_cli.data.dataset import Dataset, Labels
from splitmerge_cli.data.objects import counts_of, has_counts, texts_of
from splitmerge_cli.data.reading import KindReading
from splitmerge_cli.data.values import notes_entry, require
from splitmerge_cli.kinds.documents.corpus import Corpus, Tokens, dataset, tokens_of, vectorize
from splitmerge_cli.kinds.documents.readers.texts import AUTO, Words, count_texts
from splitmerge_cli.kinds.documents.readers.words import keep_words, note_short_documents
from splitmerge_cli.received import DataError


class DocumentsReading(KindReading):
    """Reads texts, or words that are counted."""

    def from_object(
        self,
        data: Any,
        truth: Labels,
        name: str,
        stop_words: str | None = None,
        min_documents: int = 0,
        max_share: float = 1.0,
        min_length: str | int = "auto",
    ) -> Dataset:
        """Convert an object; words are left out as of a file
        (`splitmerge_cli.kinds.documents.readers.words.keep_words`).
        """
        data, names = texts_of(data)
        data = data if has_counts(data) else list(data)
        texts = not has_counts(data) and all(isinstance(document, str) for document in data)
        require(texts or min_length == AUTO, "data.min_length", min_length, f"{AUTO}: the words are given")
        vocabulary: list[str] | None
        notes: list[str] = []
        if has_counts(data):
            counts, vocabulary, names = counts_of(data)
        elif texts:
            counts, vocabulary, notes = count_texts(data, min_length)
        else:
            counts, vocabulary = _count_words(data)
        words = vocabulary or [f"word {k}" for k in range(counts.shape[1])]
        meta, options = notes_entry(notes), {"min_length": min_length} if texts else {}
        from_counts = dataset(
            name, Corpus(tokens_of(counts), counts.shape[1], names, truth), words, None, meta, options
        )
        if stop_words == AUTO and not texts:
            # words that somebody chose
            stop_words = None
        if (stop_words, min_documents, max_share) == (None, 0, 1.0):
            return note_short_documents(from_counts)
        return note_short_documents(keep_words(from_counts, stop_words, min_documents, max_share, texts))


def _count_words(documents: Sequence[Sequence[str]]) -> tuple[csr_array, list[str]]:
    if any(isinstance(document, str) for document in documents):
        raise DataError("data: texts mixed with lists of words; expected one or the other")
    check_words(documents)
    try:
        return vectorize(documents, analyzer=list)
    except (ValueError, TypeError) as error:
        raise DataError(f"data: {error}; expected texts, or sequences of words") from error


def check_words(documents: Iterable[Iterable[Any]]) -> None:
    """Raise a `DataError` if a word of these sequences is no string."""
    if not all(isinstance(word, str) for document in documents for word in document):
        raise DataError("data: a word is not a string; expected texts, sequences of words, or an array of counts")


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
        counts, words = _count_known(data, Words(shortest))
    if words is None:
        if counts.shape[1] != len(vocabulary):
            raise DataError(f"new documents: {counts.shape[1]} words; expected the {len(vocabulary)} of the data")
        words = vocabulary
    column = np.array([code.get(word, -1) for word in words], dtype=np.int64)
    known = column >= 0
    totals: NDArray[np.int64] = np.asarray(counts.sum(axis=0), dtype=np.int64).ravel()
    unknown = np.flatnonzero(~known & (totals > 0))
    if totals.sum() and not totals[known].sum():
        raise DataError(
            f"new documents: none of their words, such as '{words[unknown[0]]}', is among the {len(vocabulary)} of the "
            "data"
        )
    placed = csr_array(counts[:, known]).tocoo()
    shape = counts.shape[0], len(vocabulary)
    known_counts = csr_array((placed.data, (placed.row, column[known][placed.col])), shape=shape)
    known_counts.sum_duplicates()
    commonest = unknown[np.argsort(-totals[unknown], kind="stable")]
    return NewDocuments(tokens_of(known_counts), int(totals[unknown].sum()), [words[k] for k in commonest[:3]])


def _count_known(documents: Any, find_words: Words) -> tuple[csr_array, list[str]]:
    """Count the words of texts, or of sequences of words, which may be empty."""
    each = [find_words(document) if isinstance(document, str) else list(document) for document in documents]
    check_words(each)
    return vectorize(each, analyzer=list) if any(each) else (csr_array((len(each), 0), dtype=np.int32), [])
