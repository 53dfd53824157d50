"""Documents of objects: texts, lists of words, counts of words."""

from collections.abc import Iterable, Sequence
from typing import Any

from scipy.sparse import csr_array

from splitmerge_cli.data.corpora.corpus import Corpus, dataset, tokens_of, vectorize
from splitmerge_cli.data.corpora.texts import AUTO, count_texts
from splitmerge_cli.data.corpora.words import keep_words, note_short_documents
from splitmerge_cli.data.dataset import Dataset, Labels
from splitmerge_cli.data.objects import counts_of, has_counts, texts_of
from splitmerge_cli.data.reading import KindReading
from splitmerge_cli.data.values import notes_entry, require
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
        """Convert an object; words are left out as of a file (`splitmerge_cli.data.corpora.words.keep_words`)."""
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
        found = dataset(name, Corpus(tokens_of(counts), counts.shape[1], names, truth), words, None, meta, options)
        if stop_words == AUTO and not texts:
            # words that somebody chose
            stop_words = None
        if (stop_words, min_documents, max_share) == (None, 0, 1.0):
            return note_short_documents(found)
        return note_short_documents(keep_words(found, stop_words, min_documents, max_share, texts))


def _count_words(documents: Sequence[Sequence[str]]) -> tuple[csr_array, list[str]]:
    if any(isinstance(document, str) for document in documents):
        raise DataError("data: texts and lists of words; expected the one or the other")
    check_words(documents)
    try:
        return vectorize(documents, analyzer=list)
    except (ValueError, TypeError) as error:
        raise DataError(f"data: {error}; expected texts, or sequences of words") from error


def check_words(documents: Iterable[Iterable[Any]]) -> None:
    """Raise a `DataError` where a word of these sequences is no string."""
    if not all(isinstance(word, str) for document in documents for word in document):
        raise DataError("data: a word that is no string; expected texts, sequences of words, or an array of counts")
