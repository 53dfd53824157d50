"""Topics as arrays: their counts, top words, coherence, and how well the topics of two states agree.

The topics of a run's chains at their last states: tables of topics, of their words, documents and tokens.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any
from unicodedata import category

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array, csr_array

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.diagnostics.agreement import nmi
from splitmerge_cli.diagnostics.cluster_table import number_clusters
from splitmerge_cli.diagnostics.summary import Row
from splitmerge_cli.kinds.documents.corpus import Corpus, Tokens

TOP = 10
"""Words that show a topic, and over which its coherence is taken."""
RELEVANCE = 0.6
"""Weight of a word's probability in its relevance to a topic: with 0.6 readers named topics best (Sievert and Shirley
2014, section 4)."""
MATCHED = 0.5
"""Similarity of two topics from which they count as the same, ..."""
LARGE = 0.01
"""... if both hold this share of the tokens: the posterior means of smaller ones are alike for want of tokens."""
MOST = 2000
"""Topics of a state that are matched at most, the largest: the time grows with the third power of their number."""
_ROUNDING = 1e-12


def shorten_word(word: str, letters: int) -> str:
    """Shorten a word to so many letters at most, and replace what moves a cursor or sets colours."""
    short = word if len(word) <= letters else f"{word[: letters - 1]}…"
    return "".join("\N{REPLACEMENT CHARACTER}" if category(letter) == "Cc" else letter for letter in short)


def counts(labels: NDArray[np.int32], columns: NDArray[np.int32], shape: tuple[int, int]) -> csr_array:
    """Tokens by topic (rows) and something else of theirs, the word or the document: int64 ``shape``, indices of a row
    ascending, no stored zeros.

    `labels` and `columns` are int32 ``[N]``, below the numbers of `shape`.
    """
    table = csr_array((np.ones(len(labels), dtype=np.int64), (labels, columns)), shape=shape)
    table.sum_duplicates()
    return table


def by_size(labels: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Number topics by descending size, among equals by ascending number: int32 ``[N]``, renumbered, and int64 ``[K]``,
    the old number of each topic."""
    order = np.argsort(-np.bincount(labels), kind="stable")
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return rank[labels], order


def rows_of(table: csr_array) -> NDArray[np.int32]:
    """Row of every entry."""
    return np.repeat(np.arange(table.shape[0], dtype=np.int32), np.diff(table.indptr))


def relevant_entries(words: csr_array, eta: float, most_words: int = TOP) -> list[NDArray[np.int64]]:
    """Where the words stand that are most relevant to each topic, most first, among equals by ascending number: for
    each topic positions in ``words.indices`` and ``words.data``, `most_words` at most.

    The relevance of a word is w log phi + (1 - w) log(phi / p): phi is its probability in the topic, of posterior mean
    (eta + n_kw) / (V eta + n_k), p its share of all tokens, w is `RELEVANCE`. `words` are the tokens ``[K, V]`` by
    topic and word, as of `counts`.

    Source: Sievert and Shirley 2014, section 3.1.
    """
    # terms that are the same for all words of a topic, or of the corpus, change no order
    share = np.log(words.sum(axis=0)[words.indices])
    relevance = np.log(eta + words.data) - (1.0 - RELEVANCE) * share
    rows = [slice(begin, end) for begin, end in pairwise(words.indptr)]
    return [row.start + np.argsort(-relevance[row], kind="stable")[:most_words] for row in rows]


def coherence(top: Sequence[NDArray[np.int64]], tokens: Tokens) -> NDArray[np.float64]:
    """Normalised pointwise mutual information of the top words of each topic, mean over their pairs: float64 ``[K]``,
    NaN for a topic of a single word.

    A pair has log(p_ab / (p_a p_b)) / -log p_ab, p the share of the documents that hold a, b, or both: -1 for words
    that never meet, 0 for independent ones (and for two that every document holds), 1 for words that never part.
    Empty documents do not count.

    Source: Bouma 2009; Roeder, Both and Hinneburg 2015 (there with a sliding window; here a window is a document).
    """
    shown, position = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *top]), return_inverse=True)
    column = np.full(max(int(tokens.words.max(initial=0)), int(shown.max(initial=0))) + 1, -1, dtype=np.int32)
    column[shown] = np.arange(len(shown), dtype=np.int32)
    code = column[tokens.words]
    held = code >= 0
    document = tokens.documents()[held]
    present = csc_array((np.ones(len(document), dtype=np.int64), (document, code[held])), (tokens.J, len(shown)))
    present.sum_duplicates()
    present.data[:] = 1
    documents = int(np.count_nonzero(tokens.lengths))
    each = np.split(position, np.cumsum([len(of_topic) for of_topic in top]))
    return np.array([_npmi(present[:, columns], documents) for columns in each[: len(top)]], dtype=np.float64)


def _npmi(present: csc_array, documents: int) -> float:
    """Mean over the pairs of columns; `present` is 1 where a document holds a word."""
    if present.shape[1] < 2:
        return np.nan
    together = (present.T @ present).toarray() / documents
    a, b = np.triu_indices(len(together), 1)
    alone, both = np.diag(together), together[a, b]
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.log(both / (alone[a] * alone[b])) / -np.log(both)
    return float(np.where(both == 0, -1.0, np.where(both == 1, 0.0, value)).mean())


@dataclass(frozen=True)
class Topics:
    """K distributions over V words, as the square roots of their probabilities: ``floor[k] + extra[k, w]``."""

    floor: NDArray[np.float64]
    """``[K]``"""
    extra: csr_array
    """float64 ``[K, V]``"""
    shares: NDArray[np.float64]
    """``[K]``, share of the tokens that each topic holds."""

    @classmethod
    def of_counts(cls, words: csr_array, eta: float) -> "Topics":
        """Posterior means (eta + n_kw) / (V eta + n_k) of tokens ``[K, V]`` by topic and word."""
        sizes = words.sum(axis=1)
        total = words.shape[1] * eta + sizes
        floor = np.sqrt(eta / total)
        row = rows_of(words)
        extra = csr_array((np.sqrt((eta + words.data) / total[row]) - floor[row], words.indices, words.indptr))
        extra.resize(words.shape)
        return cls(floor, extra, sizes / sizes.sum())

    @classmethod
    def of_probabilities(cls, probabilities: ArrayLike, shares: ArrayLike) -> "Topics":
        """Topics ``[K, V]`` that are given as they are, and the share ``[K]`` of the tokens of each."""
        roots = np.sqrt(np.asarray(probabilities, dtype=np.float64))
        return cls(np.zeros(len(roots)), csr_array(roots), np.asarray(shares, dtype=np.float64))

    def part(self, chosen: NDArray[np.int64]) -> "Topics":
        """Some of them."""
        return Topics(self.floor[chosen], self.extra[chosen], self.shares[chosen])

    def probabilities(self) -> NDArray[np.float64]:
        """All of them, ``[K, V]``."""
        return (self.floor[:, None] + self.extra.toarray()) ** 2


def true_topics(dataset: Dataset) -> Topics | None:
    """The true topics of documents that were generated."""
    probabilities, truth = dataset.values.topics, dataset.truth
    if probabilities is None or truth is None:
        return None
    return Topics.of_probabilities(probabilities, np.bincount(truth, minlength=len(probabilities)) / len(truth))


def similarity(a: Topics, b: Topics) -> NDArray[np.float64]:
    """1 less the Hellinger distance between topics, each of `a` with each of `b`, float64 ``[K_a, K_b]``: 1 for equal
    topics, 0 for topics that share no word."""
    # the sum over words of (f + x)(g + y), from the entries of x and y that are not 0
    affinity = (a.extra @ b.extra.T).toarray()
    affinity += np.multiply.outer(a.floor, a.extra.shape[1] * b.floor + b.extra.sum(axis=1))
    affinity += np.multiply.outer(a.extra.sum(axis=1), b.floor)
    # equal topics are so but for rounding
    gap = np.where(affinity > 1.0 - _ROUNDING, 0.0, 1.0 - affinity)
    return 1.0 - np.sqrt(np.minimum(gap, 1.0))


@dataclass(frozen=True)
class Match:
    """Topics of two states, matched one to one."""

    pairs: NDArray[np.int64]
    """``[n, 2]``: topic of the first, of the second; n is the smaller number of topics, or `MOST`."""
    each: NDArray[np.float64]
    """``[n]``, similarity of each pair."""
    similarity: float
    """Mean over the tokens of both states: a pair weighs what its two topics hold, a topic without partner has 0."""
    matched: int
    """Pairs of similarity `MATCHED` at least, both of share `LARGE` at least."""
    large: tuple[int, int]
    """Topics of that share of the first, of the second."""

    def is_shared(self, K: int) -> NDArray[np.bool_]:
        """Which of the K topics of the second state have a partner of similarity `MATCHED` at least, bool ``[K]``."""
        has_partner = np.zeros(K, dtype=bool)
        has_partner[self.pairs[self.each >= MATCHED, 1]] = True
        return has_partner


def match(a: Topics, b: Topics) -> Match:
    """Match topics over the same words one to one so that the sum of the similarities is largest (Hungarian method); of
    more than `MOST` topics the largest."""
    from scipy.optimize import linear_sum_assignment

    ours, theirs = (np.sort(np.argsort(-x.shares, kind="stable")[:MOST]) for x in (a, b))
    alike = similarity(a.part(ours), b.part(theirs))
    pairs = linear_sum_assignment(alike, maximize=True)
    rows, columns, each = ours[pairs[0]], theirs[pairs[1]], alike[pairs]
    ours, theirs = a.shares[rows], b.shares[columns]
    same = (each >= MATCHED) & (np.minimum(ours, theirs) >= LARGE)
    large = int((a.shares >= LARGE).sum()), int((b.shares >= LARGE).sum())
    return Match(np.stack([rows, columns], axis=1), each, float(each @ (ours + theirs)) / 2, int(same.sum()), large)


class ChainTopics:
    """The topics of one state, numbered by descending size. `labels`: int32 ``[N]``, topic of every token, numbered by
    first appearance; `weights`: float64 ``[K + 1]``, weight of each of these topics, and of all others last; `alpha0`,
    `eta`: concentrations of a document's mixture and of a topic's words.
    """

    def __init__(
        self,
        corpus: Corpus,
        vocabulary: Sequence[str],
        labels: NDArray[np.int32],
        weights: NDArray[np.float64],
        alpha0: float,
        eta: float,
    ) -> None:
        self.corpus, self.vocabulary, self.alpha0, self.eta = corpus, vocabulary, alpha0, eta
        self.labels, order = by_size(labels)
        self.weights = weights[order]
        K = len(order)
        self.words = counts(self.labels, corpus.tokens.words, (K, len(vocabulary)))
        self.documents = counts(self.labels, corpus.tokens.documents(), (K, corpus.tokens.J))
        self.sizes = self.words.sum(axis=1)
        self.shares = self.sizes / self.sizes.sum()
        self.shown = relevant_entries(self.words, eta)
        self.top = [self.words.indices[position] for position in self.shown]

    @property
    def K(self) -> int:
        """Number of topics."""
        return len(self.sizes)

    @cached_property
    def coherence(self) -> NDArray[np.float64]:
        """See `topics.coherence`."""
        return coherence(self.top, self.corpus.tokens)

    @cached_property
    def distributions(self) -> Topics:
        """Their words' posterior means."""
        return Topics.of_counts(self.words, self.eta)

    def word_probability(self) -> NDArray[np.float64]:
        """Posterior mean (eta + n_kw) / (V eta + n_k) of every entry of `words`."""
        return (self.eta + self.words.data) / (self.words.shape[1] * self.eta + self.sizes)[rows_of(self.words)]

    def overview(self, matches: Sequence[Match] = ()) -> list[dict[str, Any]]:
        """Entries for the summary, one per topic; `matches` has the matches of all other chains' topics with these."""
        same = sum((match.is_shared(self.K) for match in matches), np.ones(self.K, dtype=np.int64))
        return [
            {
                "topic": number_clusters(k),
                "tokens": int(self.sizes[k]),
                "share": float(self.shares[k]),
                "coherence": float(c) if np.isfinite(c := self.coherence[k]) else None,
                "chains": int(same[k]),
                "top_words": [self.vocabulary[w] for w in self.top[k]],
            }
            for k in range(self.K)
        ]


def _encode_names(codes: NDArray[Any], names: Sequence[str]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(names, pa.string()))


def topics_table(chain: int, state: ChainTopics) -> pa.Table:
    """A row per topic: ``topics.parquet``."""
    probability = state.word_probability()
    return pa.table(
        {
            "chain": np.full(state.K, chain, dtype=np.int32),
            "topic": number_clusters(np.arange(state.K, dtype=np.int32)),
            "tokens": state.sizes,
            "share": state.shares,
            "weight": state.weights,
            "documents": np.diff(state.documents.indptr).astype(np.int64),
            "coherence": pa.array(state.coherence, from_pandas=True),
            "top_words": [[state.vocabulary[w] for w in of_topic] for of_topic in state.top],
            "top_probabilities": [list(probability[position]) for position in state.shown],
        }
    )


def words_table(chain: int, state: ChainTopics) -> pa.Table:
    """A row per topic and word that it holds: ``topic_words.parquet``."""
    return pa.table(
        {
            "chain": np.full(state.words.nnz, chain, dtype=np.int32),
            "topic": number_clusters(rows_of(state.words)),
            "word": _encode_names(state.words.indices, state.vocabulary),
            "count": state.words.data,
            "probability": state.word_probability(),
        }
    )


def documents_table(chain: int, state: ChainTopics) -> pa.Table:
    """A row per document and topic that it holds, document by document: ``topic_documents.parquet``."""
    held = csr_array(state.documents.T)
    document, names = rows_of(held), state.corpus.documents
    length = state.corpus.tokens.lengths[document]
    mean = (held.data + state.alpha0 * state.weights[held.indices]) / (length + state.alpha0)
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
    tokens = state.corpus.tokens
    document = tokens.documents()
    return pa.table(
        {
            "document": document,
            "position": (np.arange(len(document)) - tokens.starts[document]).astype(np.int32),
            "word": _encode_names(tokens.words, state.vocabulary),
            "topic": number_clusters(state.labels),
        }
    )


def match_chains(states: Sequence[ChainTopics], best: int) -> dict[int, Match]:
    """The topics of every other chain, matched with the topics of chain `best`."""
    best_topics = states[best].distributions
    return {c: match(state.distributions, best_topics) for c, state in enumerate(states) if c != best}


def agreement_rows(
    states: Sequence[ChainTopics], best: int, matches: Mapping[int, Match], truth: Topics | None
) -> list[Row]:
    """Agreement of the chains' topics with chain `best`, and with the true ones if they are known.

    ``topic_similarity/chains``, ``topics_matched/chains``, ``nmi/chains``: each chain against `best`, by
    `match_chains`, and over all the mean of these. ``topic_similarity/truth``, ``topics_matched/truth``: each chain,
    and over all the agreement of `best`. See `splitmerge_cli.kinds.documents.topics.Match`.
    """

    def measure(found: Mapping[int, Match], against: str) -> dict[str, dict[int, float]]:
        similarity = {c: m.similarity for c, m in found.items()}
        matched = {c: float(m.matched) for c, m in found.items()}
        return {f"topic_similarity/{against}": similarity, f"topics_matched/{against}": matched}

    rows: list[Row] = []
    if matches:
        note = f"with chain {best}: highest log joint"
        agreement = {"nmi/chains": {c: nmi(states[best].labels, states[c].labels) for c in matches}}
        for name, each in (measure(matches, "chains") | agreement).items():
            rows += [(name, None, float(np.mean(list(each.values()))), note)]
            rows += [(name, c, value, None) for c, value in each.items()]
    if truth is not None:
        found = {c: match(state.distributions, truth) for c, state in enumerate(states)}
        note = f"chain {best}: highest log joint; {found[best].large[1]} true topics"
        for name, each in measure(found, "truth").items():
            rows += [(name, None, each[best], note), *((name, c, value, None) for c, value in each.items())]
    return rows


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
