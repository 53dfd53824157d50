"""Topics as arrays: their counts, top words, coherence, and how well the topics of two states agree."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from unicodedata import category

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array, csr_array

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


def document_of(starts: ArrayLike) -> NDArray[np.int32]:
    """Document of every token, int32 ``[N]``; tokens of document j are those from ``starts[j]`` to ``starts[j+1]``."""
    lengths = np.diff(starts)
    return np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)


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


def coherence(
    top: Sequence[NDArray[np.int64]], words: NDArray[np.int32], starts: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Normalised pointwise mutual information of the top words of each topic, mean over their pairs: float64 ``[K]``,
    NaN for a topic of a single word.

    A pair has log(p_ab / (p_a p_b)) / -log p_ab, p the share of the documents that hold a, b, or both: -1 for words
    that never meet, 0 for independent ones (and for two that every document holds), 1 for words that never part.
    `words` ``[N]`` has the word of every token; documents begin at `starts` ``[J + 1]``, and empty ones do not count.

    Source: Bouma 2009; Roeder, Both and Hinneburg 2015 (there with a sliding window; here a window is a document).
    """
    shown, position = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *top]), return_inverse=True)
    column = np.full(max(int(words.max(initial=0)), int(shown.max(initial=0))) + 1, -1, dtype=np.int32)
    column[shown] = np.arange(len(shown), dtype=np.int32)
    code = column[words]
    held = code >= 0
    document = document_of(starts)[held]
    present = csc_array((np.ones(len(document), dtype=np.int64), (document, code[held])), (len(starts) - 1, len(shown)))
    present.sum_duplicates()
    present.data[:] = 1
    documents = int(np.count_nonzero(np.diff(starts)))
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
        row = np.repeat(np.arange(words.shape[0]), np.diff(words.indptr))
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
