"""The topics of a run's chains at their last states: tables of topics, of their words, documents and tokens."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import csr_array

from splitmerge_cli.diagnostics.agreement import nmi
from splitmerge_cli.diagnostics.cluster_table import number_clusters
from splitmerge_cli.kinds.documents import topics
from splitmerge_cli.kinds.documents.topics import Topics

Row = tuple[str, int | None, float, str | None]
"""quantity, chain (None: over all chains), value, note."""


@dataclass(frozen=True)
class Documents:
    """Tokens of documents, one document after the other."""

    words: NDArray[np.int32]
    """``[N]``"""
    starts: NDArray[np.int64]
    """``[J + 1]``"""
    vocabulary: Sequence[str]
    """``[V]``"""
    names: Sequence[str] | None
    """``[J]``, where they have names."""

    @cached_property
    def document(self) -> NDArray[np.int32]:
        """Document of every token, ``[N]``."""
        return topics.document_of(self.starts)


class ChainTopics:
    """The topics of one state, numbered by descending size. `labels`: int32 ``[N]``, topic of every token, numbered by
    first appearance; `weights`: float64 ``[K + 1]``, weight of each of these topics, and of all others last; `alpha0`,
    `eta`: concentrations of a document's mixture and of a topic's words.
    """

    def __init__(
        self, data: Documents, labels: NDArray[np.int32], weights: NDArray[np.float64], alpha0: float, eta: float
    ) -> None:
        self.data, self.alpha0, self.eta = data, alpha0, eta
        self.labels, order = topics.by_size(labels)
        self.weights = weights[order]
        K = len(order)
        self.words = topics.counts(self.labels, data.words, (K, len(data.vocabulary)))
        self.documents = topics.counts(self.labels, data.document, (K, len(data.starts) - 1))
        self.sizes = self.words.sum(axis=1)
        self.shares = self.sizes / self.sizes.sum()
        self._shown = topics.relevant_entries(self.words, eta)
        self.top = [self.words.indices[position] for position in self._shown]

    @property
    def K(self) -> int:
        """Number of topics."""
        return len(self.sizes)

    @cached_property
    def coherence(self) -> NDArray[np.float64]:
        """See `topics.coherence`."""
        return topics.coherence(self.top, self.data.words, self.data.starts)

    @cached_property
    def distributions(self) -> Topics:
        """Their words' posterior means."""
        return Topics.of_counts(self.words, self.eta)

    def word_probability(self) -> NDArray[np.float64]:
        """Posterior mean (eta + n_kw) / (V eta + n_k) of every entry of `words`."""
        per_topic = np.diff(self.words.indptr)
        return (self.eta + self.words.data) / np.repeat(self.words.shape[1] * self.eta + self.sizes, per_topic)

    def top_probabilities(self) -> list[NDArray[np.float64]]:
        """Posterior means as `word_probability`, of the words in `top`."""
        probability = self.word_probability()
        return [probability[position] for position in self._shown]

    def overview(self, matches: Sequence[topics.Match] = ()) -> list[dict[str, Any]]:
        """Entries for the summary, one per topic; `matches` has the matches of all other chains' topics with these."""
        same = sum((match.is_shared(self.K) for match in matches), np.ones(self.K, dtype=np.int64))
        return [
            {
                "topic": number_clusters(k),
                "tokens": int(self.sizes[k]),
                "share": float(self.shares[k]),
                "coherence": float(c) if np.isfinite(c := self.coherence[k]) else None,
                "chains": int(same[k]),
                "top_words": [self.data.vocabulary[w] for w in self.top[k]],
            }
            for k in range(self.K)
        ]


def _encode_names(codes: NDArray[Any], names: Sequence[str]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(names, pa.string()))


def _rows(table: csr_array) -> NDArray[np.int32]:
    """Row of every entry."""
    return np.repeat(np.arange(table.shape[0], dtype=np.int32), np.diff(table.indptr))


def topics_table(chain: int, state: ChainTopics) -> pa.Table:
    """A row per topic: ``topics.parquet``."""
    return pa.table(
        {
            "chain": np.full(state.K, chain, dtype=np.int32),
            "topic": number_clusters(np.arange(state.K, dtype=np.int32)),
            "tokens": state.sizes,
            "share": state.shares,
            "weight": state.weights,
            "documents": np.diff(state.documents.indptr).astype(np.int64),
            "coherence": pa.array(state.coherence, from_pandas=True),
            "top_words": [[state.data.vocabulary[w] for w in of_topic] for of_topic in state.top],
            "top_probabilities": [list(of_topic) for of_topic in state.top_probabilities()],
        }
    )


def words_table(chain: int, state: ChainTopics) -> pa.Table:
    """A row per topic and word that it holds: ``topic_words.parquet``."""
    return pa.table(
        {
            "chain": np.full(state.words.nnz, chain, dtype=np.int32),
            "topic": number_clusters(_rows(state.words)),
            "word": _encode_names(state.words.indices, state.data.vocabulary),
            "count": state.words.data,
            "probability": state.word_probability(),
        }
    )


def documents_table(chain: int, state: ChainTopics) -> pa.Table:
    """A row per document and topic that it holds, document by document: ``topic_documents.parquet``."""
    held = csr_array(state.documents.T)
    document, names = _rows(held), state.data.names
    lengths = np.diff(state.data.starts)
    mean = (held.data + state.alpha0 * state.weights[held.indices]) / (lengths[document] + state.alpha0)
    return pa.table(
        {
            "chain": np.full(held.nnz, chain, dtype=np.int32),
            "document": document,
            "name": pa.nulls(held.nnz, pa.string()) if names is None else pa.array(names, pa.string()).take(document),
            "topic": number_clusters(held.indices.astype(np.int32)),
            "count": held.data,
            "probability": mean,
        }
    )


def tokens_table(state: ChainTopics) -> pa.Table:
    """A row per token: ``tokens.parquet``."""
    data = state.data
    position = np.arange(len(data.words), dtype=np.int64) - data.starts[data.document]
    return pa.table(
        {
            "document": data.document,
            "position": position.astype(np.int32),
            "word": _encode_names(data.words, data.vocabulary),
            "topic": number_clusters(state.labels),
        }
    )


def match_chains(states: Sequence[ChainTopics], best: int) -> dict[int, topics.Match]:
    """The topics of every other chain, matched with the topics of chain `best`."""
    best_topics = states[best].distributions
    return {c: topics.match(state.distributions, best_topics) for c, state in enumerate(states) if c != best}


def agreement_rows(
    states: Sequence[ChainTopics], best: int, matches: Mapping[int, topics.Match], truth: Topics | None
) -> list[Row]:
    """Agreement of the chains' topics with chain `best`, and with the true ones if they are known.

    ``topic_similarity/chains``, ``topics_matched/chains``, ``nmi/chains``: each chain against `best`, by
    `match_chains`, and over all the mean of these. ``topic_similarity/truth``, ``topics_matched/truth``: each chain,
    and over all the agreement of `best`. See `splitmerge_cli.kinds.documents.topics.Match`.
    """
    rows: list[Row] = []
    if matches:
        note = f"with chain {best}: highest log joint"
        rows += _mean_rows("topic_similarity/chains", {c: m.similarity for c, m in matches.items()}, note)
        rows += _mean_rows("topics_matched/chains", {c: float(m.matched) for c, m in matches.items()}, note)
        rows += _mean_rows("nmi/chains", {c: nmi(states[best].labels, states[c].labels) for c in matches}, note)
    if truth is not None:
        each = [topics.match(state.distributions, truth) for state in states]
        note = f"chain {best}: highest log joint; {each[best].large[1]} true topics"
        similarity, matched = [match.similarity for match in each], [float(match.matched) for match in each]
        for name, values in [("topic_similarity", similarity), ("topics_matched", matched)]:
            rows.append((f"{name}/truth", None, values[best], note))
            rows += [(f"{name}/truth", c, value, None) for c, value in enumerate(values)]
    return rows


def _mean_rows(quantity: str, each: dict[int, float], note: str) -> list[Row]:
    over_all: Row = (quantity, None, float(np.mean(list(each.values()))), note)
    return [over_all, *((quantity, c, value, None) for c, value in each.items())]


def from_words(frame: pd.DataFrame, eta: float, vocabulary: pd.Index, V: int | None = None) -> Topics:
    """The topics of one chain of ``topic_words.parquet``, its columns topic, word, count, over a vocabulary that holds
    all of its words; `V` is how many words there are where they are more."""
    column = vocabulary.get_indexer(frame["word"].astype(str))
    # each topic has a word, so the first number is there: 1, or 0 of a run made earlier
    topic = frame["topic"].to_numpy() - frame["topic"].min()
    K = int(topic.max()) + 1
    return Topics.of_counts(
        csr_array((frame["count"].to_numpy(), (topic, column)), shape=(K, V or len(vocabulary))), eta
    )
