"""Corpora: documents of words one after the other, what is held out of them, and the data sets that they make."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.opening import memory
from splitmerge_cli.data.values import LARGEST
from splitmerge_cli.extras import sparse
from splitmerge_cli.received import DataError

BY = ("document", "word")
"""Ways to hold out tokens: whole documents, or some words of each."""
TOKEN_BYTES = 100
"""Memory that a run of one chain needs for a token at least, at its peak."""


@dataclass(frozen=True)
class Tokens:
    """Documents of words, one after the other, perhaps empty ones; a `DataError` unless they are so."""

    words: NDArray[np.int32]
    """``[n]``, word of each token, 0 .. V - 1."""
    starts: NDArray[np.int64]
    """``[J + 1]``, ascending from 0 to n: tokens of document j are ``words[starts[j] : starts[j + 1]]``."""

    def __post_init__(self) -> None:
        _check_array("words", self.words, np.int32, 1)
        _check_array("starts", self.starts, np.int64, 1)
        check_size(len(self.words))
        if len(self.words) and (least := int(self.words.min())) < 0:
            raise DataError(f"token {int(np.argmin(self.words))}: word {least}; expected at least 0")
        starts = self.starts
        if not len(starts) or starts[0] != 0 or starts[-1] != len(self.words) or (np.diff(starts) < 0).any():
            raise DataError(f"starts of documents; expected them ascending from 0 to {len(self.words)}, the tokens")

    @property
    def J(self) -> int:
        """Number of documents."""
        return len(self.starts) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """int64 ``[J]``: number of tokens of each document."""
        return np.diff(self.starts)

    def documents(self) -> NDArray[np.int32]:
        """int32 ``[n]``: document of each token."""
        return np.repeat(np.arange(self.J, dtype=np.int32), self.lengths)

    def take(self, is_kept: NDArray[np.bool_]) -> "Tokens":
        """Keep some tokens of the documents; `is_kept`: bool ``[n]``."""
        upto = np.concatenate([[0], np.cumsum(is_kept)])
        return Tokens(self.words[is_kept], upto[self.starts])

    def pick(self, chosen: NDArray[np.bool_]) -> "Tokens":
        """Keep some of the documents; `chosen`: bool ``[J]``."""
        words = self.words[np.repeat(chosen, self.lengths)]
        return Tokens(words, starts_of(self.lengths[chosen]))

    def first(self, documents: int) -> "Tokens":
        """The first so many documents."""
        starts = self.starts[: documents + 1]
        return Tokens(self.words[: starts[-1]], starts)


@dataclass(frozen=True)
class Heldout:
    """Tokens that the chains do not see; a `DataError` unless they are so."""

    by: str
    """Whether whole documents are held out, or some words of each: one of `BY`."""
    tokens: Tokens
    """By word: the J training documents; by document: the documents that are held out."""
    observed: NDArray[np.bool_]
    """``[n]``. By document: the half of each from which its mixture is estimated; by word: all False."""
    documents: list[str] | None = None
    """Names of the documents (by document)."""

    def __post_init__(self) -> None:
        if self.by not in BY:
            raise DataError(f"held out by {self.by}; expected one of {', '.join(BY)}")
        _check_array("observed", self.observed, np.bool_, 1, len(self.tokens.words))
        if self.by == "word" and (self.observed.any() or self.documents is not None):
            raise DataError("held out by word; expected no token observed, and no names")
        _check_length("names of held-out documents", self.documents, self.tokens.J)


@dataclass(frozen=True)
class Corpus:
    """A corpus: J training documents over V words, and the held-out part; a `DataError` if it is inconsistent."""

    tokens: Tokens
    V: int
    documents: list[str] | None = None
    """``[J]``, names."""
    labels: NDArray[np.int32] | None = None
    """``[J]``, category of each document, where known."""
    categories: list[str] | None = None
    heldout: Heldout | None = None
    topics: NDArray[np.float64] | None = None
    """``[T, V]``, the true topics of a generated corpus: probabilities of the words."""
    mixtures: NDArray[np.float64] | None = None
    """``[J, T]``, the true mixtures of its training documents: probabilities of the topics."""

    def __post_init__(self) -> None:
        if not 1 <= self.V <= LARGEST:
            raise DataError(f"{self.V} words; expected a vocabulary of 1 to {LARGEST}")
        for tokens in (self.tokens, *([self.heldout.tokens] if self.heldout else [])):
            if len(tokens.words) and (largest_word := int(tokens.words.max())) >= self.V:
                raise DataError(
                    f"token {int(np.argmax(tokens.words))}: word {largest_word}; expected 0 to {self.V - 1}"
                )
        J = self.tokens.J
        _check_length("names of documents", self.documents, J)
        if self.labels is None and self.categories is not None:
            raise DataError("names of categories without the categories of the documents; expected both")
        if self.labels is not None:
            _check_array("labels", self.labels, np.int32, 1, J)
            n = LARGEST if self.categories is None else len(self.categories)
            if J and not 0 <= self.labels.min() <= self.labels.max() < n:
                raise DataError(f"categories {self.labels.min()} to {self.labels.max()}; expected 0 to {n - 1}")
        if self.heldout and self.heldout.by == "word" and self.heldout.tokens.J != J:
            raise DataError(f"held-out words of {self.heldout.tokens.J} documents; expected {J}")
        if (self.topics is None) != (self.mixtures is None):
            raise DataError("only true topics or only mixtures; expected both or neither")
        if self.topics is not None and self.mixtures is not None:
            _check_array("topics", self.topics, np.float64, 2, None, self.V)
            _check_array("mixtures", self.mixtures, np.float64, 2, J, len(self.topics))

    @property
    def shape(self) -> tuple[int]:
        """Number of training tokens, the items of a data set."""
        return (len(self.tokens.words),)


def _check_array(called: str, x: Any, kind: Any, ndim: int, *lengths: int | None) -> None:
    """Reject what is no array of the type, the number of dimensions and the lengths (None: any)."""
    good = isinstance(x, np.ndarray) and x.dtype == kind and x.ndim == ndim
    if not good or any(n not in (None, length) for n, length in zip(lengths, x.shape, strict=False)):
        length = f"{x.dtype} of shape {x.shape}" if isinstance(x, np.ndarray) else type(x).__name__
        shape = [*lengths, *[None] * (ndim - len(lengths))]
        sizes = ", ".join("any" if n is None else str(n) for n in shape)
        raise DataError(f"{called}: {length}; expected {np.dtype(kind)} [{sizes}]")


def _check_length(called: str, x: list[str] | None, n: int) -> None:
    if x is not None and len(x) != n:
        raise DataError(f"{len(x)} {called}; expected {n}")


def starts_of(lengths: NDArray[np.integer]) -> NDArray[np.int64]:
    """int64 ``[n + 1]``: where parts of these lengths start, one after the other, and where the last ends."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def check_size(tokens: int, source: object = None) -> None:
    """Raise a `DataError` if there are more tokens (`source` a file) than a model can number, or memory can hold."""
    where = "" if source is None else f"{source}: "
    if tokens > LARGEST:
        raise DataError(f"{where}{tokens} tokens; expected at most {LARGEST}")
    if tokens > (largest := memory() // TOKEN_BYTES):
        raise DataError(f"{where}{tokens} tokens; expected at most {largest}, which this machine's memory holds")


def tokens_of(counts: "sparse.csr_array", source: object = None) -> Tokens:
    """The tokens behind counts (int32 ``[documents, words]``, 1 or more), each document's in the order of the
    vocabulary; a `DataError` that names the file they are `source` for more than a model can number, or memory can
    hold.
    """
    upto = starts_of(counts.data)
    check_size(int(upto[-1]), source)
    return Tokens(np.repeat(counts.indices.astype(np.int32), counts.data), upto[counts.indptr])


def vectorize(texts: Iterable[Any], **options: Any) -> "tuple[sparse.csr_array, list[str]]":
    """Count words with scikit-learn's CountVectorizer: int32 ``[documents, words]``, sorted, and the words."""
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(dtype=np.int32, **options)
    counts = sparse.csr_array(vectorizer.fit_transform(texts))
    counts.sort_indices()
    return counts, [str(word) for word in vectorizer.get_feature_names_out()]


def dataset(
    name: str,
    corpus: Corpus,
    vocabulary: list[str],
    truth: NDArray[np.int32] | None = None,
    meta: dict[str, Any] | None = None,
    options: dict[str, Any] | None = None,
) -> Dataset:
    """A data set of documents with so many words; `truth`: true topic of each training token, `options`: what the data
    were made with. Raises a `DataError` if no training document has a token.

    ``meta["documents"]`` holds the number of training documents, of those without a token (empty), of words of the
    vocabulary, of training tokens, of held-out documents (by word: those with such a token), of held-out tokens and of
    those to predict among them, and the options.
    """
    held = corpus.heldout
    sizes: dict[str, Any] = {
        "documents": corpus.tokens.J,
        "empty": int((corpus.tokens.lengths == 0).sum()),
        "words": corpus.V,
        "tokens": len(corpus.tokens.words),
        "heldout_documents": 0,
        "heldout_tokens": 0,
        "predicted_tokens": 0,
    }
    if held is not None:
        lengths = held.tokens.lengths
        sizes["heldout_documents"] = held.tokens.J if held.by == "document" else int((lengths > 0).sum())
        sizes["heldout_tokens"] = len(held.tokens.words)
        sizes["predicted_tokens"] = int((~held.observed).sum())
    meta = {"documents": sizes | {"options": options or {}}} | (meta or {})
    return Dataset(name, "documents", corpus, truth, vocabulary=vocabulary, meta=meta)
