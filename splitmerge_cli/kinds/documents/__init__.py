"""Documents: the items are their tokens, the clusters topics."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from splitmerge_cli.config.errors import ConfigError
from splitmerge_cli.data.dataset import Dataset, Kind
from splitmerge_cli.received import DataError

TOPICS, TOPIC_WORDS, TOPIC_DOCUMENTS, TOPIC_SIZES = "topics", "topic_words", "topic_documents", "topic_sizes"
TOKENS, PERPLEXITY = "tokens", "perplexity"
HELDOUT = "heldout"
"""Evaluations of held-out documents while a chain runs; `PERPLEXITY` is made of them."""
WORDS = {"stop_words": "auto"}
"""Options that leave out words of an object, as in data=corpus."""

ONE_DOCUMENT = (
    "a single document has two words or more, and one document cannot show topics, which are words that are in some "
    "documents and not in others; expected a line or a file for each document, such as the paragraphs of a text"
)
NO_TWO_WORDS = "no document has two words, so nothing shows which words share a topic"
EQUAL_DOCUMENTS = "all documents hold the same words as often, and equal documents cannot show topics"


class Documents(Kind):
    """A `splitmerge_cli.kinds.documents.corpus.Corpus`, whose training tokens are the items."""

    name = "documents"
    item = "token"
    cluster = "topic"
    model = "hdp"
    generator = "splitmerge_cli.kinds.documents.generated:nested_topics"
    reader = "corpus"
    reading = "splitmerge_cli.kinds.documents.readers.files:DocumentsReading"
    object_options = ("stop_words", "min_documents", "max_share", "min_length")
    object_init = "sequential"  # as data=corpus
    no_update = "documents cannot be added to a posterior; expected sample() of all documents"
    tables: ClassVar = {
        TOPICS: "chain:int topic:int tokens:long share:real weight:real documents:long coherence:real? top_words:texts "
        "top_probabilities:reals",
        TOPIC_WORDS: "chain:int topic:int word:word count:long probability:real",
        TOPIC_DOCUMENTS: "chain:int document:int name:text? topic:int count:long probability:real",
        TOPIC_SIZES: "chain:int iteration:long sizes:ints",
        TOKENS: "document:int position:int word:word topic:int",
        PERPLEXITY: "chain:int iteration:long seconds:real method:text log_lik:real tokens:long perplexity:real~ "
        "averaged:real~",
        # log_lik: of each document
        HELDOUT: "chain:int iteration:long seconds:real tokens:long log_lik:reals",
    }
    tables_of_chains = (TOPICS, TOPIC_WORDS, TOPIC_DOCUMENTS, TOPIC_SIZES)
    summary = "splitmerge_cli.kinds.documents.stored:SummaryOfTopics"
    iterations = 1_000
    # 20 million topics of tokens take three seconds, at 130 ns each. Chains begin with 150 scans
    # (`HDP.start_sequentially`); after 50 iterations they predict held-out words as well as after 500
    limits = (100, 10_000, 20_000_000)
    no_search = "has topics; expected a model of clusters of items"
    recorder = "splitmerge_cli.kinds.documents.recorder:TopicRecorder"
    quantities = "splitmerge_cli.kinds.documents.recorder:DocumentQuantities"
    answers = "splitmerge_cli.kinds.documents.topic_report:TopicAnswers"
    pictures = (*Kind.pictures, "topics")
    drawings = "splitmerge_cli.kinds.documents.plots:PICTURES"

    def require_rows(self, asked: str) -> None:
        raise ConfigError(f"{asked}; expected rows of a table")

    def check(self, dataset: Dataset) -> None:
        from splitmerge_cli.kinds.documents.corpus import Corpus

        x, name = dataset.values, dataset.name
        if not isinstance(x, Corpus):
            raise DataError(f"{name}: {type(x).__name__}; expected a Corpus")
        words = "none" if dataset.vocabulary is None else len(dataset.vocabulary)
        if words != x.V:
            raise DataError(f"{name}: words of the vocabulary: {words}; expected {x.V}")
        if x.shape[0] == 0:
            raise DataError(f"{name}: documents: {x.tokens.J}, tokens: none; expected at least one token")

    def options_of_object(self, summary: Mapping[str, Any]) -> dict[str, Any]:
        return dict(summary["documents"]["options"] if summary else WORDS)

    def outline(self, N: int, D: int) -> Dataset:
        """Documents of four tokens."""
        from splitmerge_cli.kinds.documents.corpus import Corpus, Tokens

        tokens = Tokens(np.zeros(N, dtype=np.int32), np.append(np.arange(0, N, 4), N).astype(np.int64))
        return Dataset("simulated", self, Corpus(tokens, D), vocabulary=[str(word) for word in range(D)])

    def recognises(self, data: Any) -> bool:
        if not isinstance(data, list | tuple):
            return False
        # rows of as many words each may be a table
        return all(isinstance(item, str) for item in data) or (_are_words(data) and len({*map(len, data)}) > 1)

    def part_of(self, data: Any) -> Any | None:
        is_whole = self.recognises(data) or (hasattr(data, "to_list") and _are_words(data.to_list()))
        return data if is_whole else self._reading().texts_of(data)


def _are_words(items: Sequence[Any]) -> bool:
    """Whether all items are sequences of words."""
    return all(isinstance(item, list | tuple) and all(isinstance(word, str) for word in item) for item in items)
