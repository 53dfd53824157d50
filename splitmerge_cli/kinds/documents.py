"""Documents: the items are their tokens, the clusters topics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from splitmerge_cli.kinds.base import Kind, Labels
from splitmerge_cli.received import DataError

if TYPE_CHECKING:
    from splitmerge_cli.data.base import Dataset


class Documents(Kind):
    """A `splitmerge_cli.data.corpora.corpus.Corpus`, whose training tokens are the items."""

    name = "documents"
    item = "token"
    model = "hdp"
    generator = "splitmerge_cli.data.generated.documents:nested_topics"
    reader = "corpus"
    has_rows = False
    has_topics = True
    recorder = "splitmerge_cli.runs.recorders.topics:TopicRecorder"
    quantities = "splitmerge_cli.studies.quantities:Documents"
    pictures = (*Kind.pictures, "topics")

    def check(self, dataset: Dataset) -> None:
        from splitmerge_cli.data.corpora.corpus import Corpus

        x, name = dataset.values, dataset.name
        if not isinstance(x, Corpus):
            raise DataError(f"{name}: {type(x).__name__}; expected a Corpus")
        words = "none" if dataset.vocabulary is None else len(dataset.vocabulary)
        if words != x.V:
            raise DataError(f"{name}: words of the vocabulary: {words}; expected {x.V}")
        if x.shape[0] == 0:
            raise DataError(f"{name}: documents: {x.tokens.J}, tokens: none; expected at least one token")

    def outline(self, N: int, D: int) -> Dataset:
        """Documents of four tokens."""
        import numpy as np

        from splitmerge_cli.data.base import Dataset
        from splitmerge_cli.data.corpora.corpus import Corpus, Tokens

        tokens = Tokens(np.zeros(N, dtype=np.int32), np.append(np.arange(0, N, 4), N).astype(np.int64))
        return Dataset("simulated", self.name, Corpus(tokens, D), vocabulary=[str(word) for word in range(D)])

    def recognises(self, data: Any) -> bool:
        return isinstance(data, list | tuple) and all(isinstance(item, str) for item in data)

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
        from splitmerge_cli.data.base import notes_entry, require
        from splitmerge_cli.data.corpora.corpus import Corpus, dataset, tokens_of
        from splitmerge_cli.data.corpora.words import AUTO, keep_words, note_short_documents
        from splitmerge_cli.data.objects import count_words, counts_of, has_counts, texts_of

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
