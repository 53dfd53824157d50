"""Documents of objects: texts, lists of words, counts of words."""

from typing import Any

from splitmerge_cli.data.corpora.corpus import Corpus, dataset, tokens_of
from splitmerge_cli.data.corpora.words import AUTO, keep_words, note_short_documents
from splitmerge_cli.data.dataset import Dataset, Labels
from splitmerge_cli.data.objects import count_words, counts_of, has_counts, texts_of
from splitmerge_cli.data.reading import KindReading
from splitmerge_cli.data.values import notes_entry, require


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
        vocabulary: list[str] | None = None
        notes: list[str] = []
        if has_counts(data):
            texts = False
            require(min_length == AUTO, "data.min_length", min_length, f"{AUTO}: the words are given")
            counts, vocabulary, names = counts_of(data)
        else:
            data = list(data)
            texts = all(isinstance(document, str) for document in data)
            counts, vocabulary, notes = count_words(data, min_length)
        words = vocabulary or [f"word {k}" for k in range(counts.shape[1])]
        meta, options = notes_entry([f"data: {note}" for note in notes]), {"min_length": min_length} if texts else {}
        found = dataset(name, Corpus(tokens_of(counts), counts.shape[1], names, truth), words, None, meta, options)
        if stop_words == AUTO and not texts:
            # words that somebody chose
            stop_words = None
        if (stop_words, min_documents, max_share) == (None, 0, 1.0):
            return note_short_documents(found)
        return note_short_documents(keep_words(found, stop_words, min_documents, max_share, texts))
