"""Choice of words in a corpus: stop words, rare and common ones are left out."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.base import DataError, Dataset, require
from splitmerge_cli.data.corpora.corpus import Corpus, Tokens, dataset

STOP_WORDS = (None, "english")


def require_words(stop_words: str | None, min_documents: int, max_share: float) -> None:
    """Raise a `DataError` that names the configuration key unless `keep_words` takes the options."""
    require(stop_words in STOP_WORDS, "data.stop_words", stop_words, "null or english")
    whole = isinstance(min_documents, int) and not isinstance(min_documents, bool)
    require(whole and min_documents >= 0, "data.min_documents", min_documents, "a whole number, at least 0")
    number = isinstance(max_share, int | float) and not isinstance(max_share, bool)
    require(number and 0 < max_share <= 1, "data.max_share", max_share, "a share, greater than 0 and at most 1")


def keep_words(
    whole: Dataset, stop_words: str | None = None, min_documents: int = 0, max_share: float = 1.0
) -> Dataset:
    """Leave out some words of the documents.

    Parameters
    ----------
    whole : Dataset
        Kind ``documents``, nothing held out, without a truth.
    stop_words : {None, "english"}
        ``english``: the words of scikit-learn's English list are left out, in upper or lower case.
    min_documents : int
        Words that fewer documents have are left out; 0: none, so that the vocabulary stays as it is.
    max_share : float
        Words that more than this share of the documents have are left out; 1: none.

    Returns
    -------
    Dataset
        Documents may have become empty. ``meta["left_out"]``: number of words of the vocabulary and of tokens that are
        left out.

    Raises
    ------
    DataError
        An option out of range, or no word that occurs is left.
    """
    require_words(stop_words, min_documents, max_share)
    options = {"stop_words": stop_words, "min_documents": min_documents, "max_share": max_share}
    corpus, vocabulary = whole.values, whole.vocabulary
    assert isinstance(corpus, Corpus) and vocabulary is not None and whole.truth is None
    found = _documents_with(corpus)
    kept = (found >= min_documents) & (found <= max_share * corpus.tokens.J)
    if stop_words is not None:
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        kept &= np.array([word.lower() not in ENGLISH_STOP_WORDS for word in vocabulary])
    tokens = _drop_words(corpus.tokens, kept)
    if not len(tokens.words):
        given = ", ".join(f"data.{key}={'null' if value is None else value}" for key, value in options.items())
        expected = f"one at least of the {int((found > 0).sum())} words that the {corpus.tokens.J} documents have"
        raise DataError(f"{given}: no word of {whole.name} is left; expected {expected}")
    meta = dict(whole.meta)
    options = meta.pop("documents")["options"] | options
    meta["left_out"] = {
        "words": corpus.V - int(kept.sum()),
        "tokens": len(corpus.tokens.words) - len(tokens.words),
    }
    if not kept.all():
        vocabulary = [vocabulary[w] for w in np.flatnonzero(kept)]
        corpus = replace(corpus, tokens=tokens, V=len(vocabulary))
    return dataset(whole.name, corpus, vocabulary, meta=meta, options=options)


def _documents_with(corpus: Corpus) -> NDArray[np.int64]:
    """int64 ``[V]``: in how many documents each word is."""
    place = corpus.tokens.documents() * np.int64(corpus.V) + corpus.tokens.words
    if (np.diff(place) < 0).any():
        place.sort()
    first = np.diff(place, prepend=-1) > 0
    return np.bincount(place[first] % corpus.V, minlength=corpus.V)


def _drop_words(tokens: Tokens, kept: NDArray[np.bool_]) -> Tokens:
    """Drop the tokens of all words but those `kept` (bool ``[V]``), and number these anew."""
    if kept.all():
        return tokens
    rest = tokens.take(kept[tokens.words])
    number = np.cumsum(kept, dtype=np.int32) - np.int32(1)
    return Tokens(number[rest.words], rest.starts)
