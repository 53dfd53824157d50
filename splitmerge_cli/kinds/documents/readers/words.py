"""Choice of words in a corpus: stop words, rare and common ones are left out."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.opening import require_file
from splitmerge_cli.data.values import EQUAL_DOCUMENTS, NO_TWO_WORDS, ONE_DOCUMENT, notes_entry, require
from splitmerge_cli.kinds.documents.corpus import Corpus, Tokens, dataset
from splitmerge_cli.kinds.documents.readers.counts import read_vocabulary
from splitmerge_cli.received import DataError

ENGLISH = "english"
AUTO = "auto"
NAMED = (None, "none", ENGLISH, AUTO)
"""Values of ``data.stop_words`` that name no file."""
EXPECTED = "none, english, auto or a file with a word a line"
OF_LIST = 0.2
"""Share of the tokens in the English list from which on texts are taken as English. By the frequencies of the package
wordfreq 3.1 that share is 0.46 in English, and at most 0.12 (Dutch) in the other languages it has small lists of."""
FEWEST = 20
"""Documents from which on words of texts in another language are left out by how many documents have them."""
SHOWN = 3
"""Documents that a note names at most."""
COMMON = 0.5
"""Share of the documents above which a word distinguishes none of them."""


def require_words(stop_words: str | Path | None, min_documents: int, max_share: float) -> None:
    """Raise a `DataError` that names the configuration key unless `keep_words` takes the options."""
    text = stop_words is None or (isinstance(stop_words, str | Path) and str(stop_words) != "")
    require(text, "data.stop_words", stop_words, EXPECTED)
    whole = isinstance(min_documents, int) and not isinstance(min_documents, bool)
    require(whole and min_documents >= 0, "data.min_documents", min_documents, "a whole number, at least 0")
    number = isinstance(max_share, int | float) and not isinstance(max_share, bool)
    require(number and 0 < max_share <= 1, "data.max_share", max_share, "a share, greater than 0 and at most 1")


def keep_words(
    whole: Dataset,
    stop_words: str | Path | None = None,
    min_documents: int = 0,
    max_share: float = 1.0,
    texts: bool = False,
    encoding: str = "utf-8",
) -> Dataset:
    """Leave out some words of the documents.

    Parameters
    ----------
    whole : Dataset
        Kind ``documents``, nothing held out, without a truth.
    stop_words : str or Path, optional
        ``none`` or None: no word is left out. ``english``: the words of scikit-learn's English list, in upper or lower
        case. ``auto``: that list where it has at least 0.2 of the tokens; else, of `texts` of 20 documents or
        more, words that more than half of the documents have. Any other: a file with a word a line.
    min_documents : int
        Words that fewer documents have are left out; 0: none, so that the vocabulary stays as it is.
    max_share : float
        Words that more than this share of the documents have are left out; 1: none.
    texts : bool
        Whether the words were found in texts, not given as counts of words that somebody chose.
    encoding : str
        Encoding of the file of stop words.

    Returns
    -------
    Dataset
        Documents may have become empty. ``meta["left_out"]``: number of words of the vocabulary and of tokens that are
        left out. What ``auto`` leaves out is a note.

    Raises
    ------
    DataError
        An option out of range, no such file, or no word that occurs is left.
    """
    require_words(stop_words, min_documents, max_share)
    options = {
        "stop_words": stop_words if stop_words is None else str(stop_words),
        "min_documents": min_documents,
        "max_share": max_share,
    }
    corpus, vocabulary = whole.values, whole.vocabulary
    assert isinstance(corpus, Corpus) and vocabulary is not None and whole.truth is None
    documents_by_word = _documents_with(corpus)
    stopped, why_stopped = _find_stop_words(corpus, vocabulary, documents_by_word, stop_words, texts, encoding)
    within = (documents_by_word >= min_documents) & (documents_by_word <= max_share * corpus.tokens.J)
    is_kept = within & ~stopped
    if stop_words == AUTO and not (is_kept & (documents_by_word > 0)).any():
        # there are no others
        is_kept, why_stopped = within, None
    tokens = _drop_words(corpus.tokens, is_kept)
    if not len(tokens.words):
        options_text = ", ".join(f"data.{key}={'null' if value is None else value}" for key, value in options.items())
        expected = (
            f"one at least of the {int((documents_by_word > 0).sum())} words that the {corpus.tokens.J} documents have"
        )
        raise DataError(f"{options_text}: no word of {whole.name} is left; expected {expected}")
    meta = dict(whole.meta)
    options = meta.pop("documents")["options"] | options
    meta["left_out"] = {
        "words": corpus.V - int(is_kept.sum()),
        "tokens": len(corpus.tokens.words) - len(tokens.words),
    }
    if why_stopped is not None:
        share = float(stopped[corpus.tokens.words].mean())
        note = (
            f"data.stop_words=auto: {why_stopped}: {int((stopped & (documents_by_word > 0)).sum())} words with "
            f"{share:.0%} of the tokens are left out (data.stop_words=none keeps them)"
        )
        meta["notes"] = [*meta.get("notes", ()), note]
    if not is_kept.all():
        vocabulary = [vocabulary[w] for w in np.flatnonzero(is_kept)]
        corpus = replace(corpus, tokens=tokens, V=len(vocabulary))
    return dataset(whole.name, corpus, vocabulary, meta=meta, options=options)


def note_short_documents(whole: Dataset) -> Dataset:
    """Note which documents have no word, and whether none has two, so that nothing says which words share a topic."""
    corpus, notes = whole.values, list(whole.notes)
    lengths = corpus.tokens.lengths
    if lengths.max() < 2:
        notes.append(NO_TWO_WORDS)
    elif (lengths > 1).sum() == 1:
        notes.append(ONE_DOCUMENT)
    elif (lengths == lengths[0]).all():
        words = np.sort(corpus.tokens.words.reshape(len(lengths), -1), axis=1)
        notes += [EQUAL_DOCUMENTS] if (words == words[0]).all() else []
    empty = np.flatnonzero(lengths == 0)
    if len(empty):
        named = [str(j + 1) if corpus.documents is None else corpus.documents[j] for j in empty[:SHOWN]]
        shown = ", ".join(named) + ", ..." * (len(empty) > SHOWN)
        many = f"{len(empty):,} of {corpus.tokens.J:,}"
        notes.append(f"documents without a word: {many} ({shown}); they have no topic")
    return replace(whole, meta=whole.meta | notes_entry(notes))


def _find_stop_words(
    corpus: Corpus,
    vocabulary: Sequence[str],
    documents: NDArray[np.int64],
    stop_words: str | Path | None,
    texts: bool,
    encoding: str,
) -> tuple[NDArray[np.bool_], str | None]:
    """Which words are stop words, bool ``[V]``; and what ``auto`` took where it leaves out some."""
    none = np.zeros(corpus.V, dtype=bool)
    if stop_words in (None, "none"):
        return none, None
    if stop_words not in NAMED:
        try:
            file = require_file(str(stop_words), EXPECTED)
        except DataError as error:
            raise DataError(f"data.stop_words={error}") from error
        listed = {word.lower() for word in read_vocabulary(file, None, encoding)}
        return _in_list(vocabulary, listed), None
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    english = _in_list(vocabulary, ENGLISH_STOP_WORDS)
    if stop_words == ENGLISH:
        return english, None
    if english[corpus.tokens.words].mean() >= OF_LIST:
        return english, "the English list"
    common = documents > COMMON * corpus.tokens.J
    if texts and corpus.tokens.J >= FEWEST and common.any():
        return common, f"words in more than {COMMON:.0%} of the documents"
    return none, None


def _in_list(vocabulary: Sequence[str], listed: frozenset[str] | set[str]) -> NDArray[np.bool_]:
    return np.array([word.lower() in listed for word in vocabulary], dtype=bool)


def _documents_with(corpus: Corpus) -> NDArray[np.int64]:
    """int64 ``[V]``: in how many documents each word is."""
    place = corpus.tokens.documents() * np.int64(corpus.V) + corpus.tokens.words
    if (np.diff(place) < 0).any():
        place.sort()
    first = np.diff(place, prepend=-1) > 0
    return np.bincount(place[first] % corpus.V, minlength=corpus.V)


def _drop_words(tokens: Tokens, is_kept: NDArray[np.bool_]) -> Tokens:
    """Drop the tokens of all words except `is_kept` (bool ``[V]``), and renumber the kept words."""
    if is_kept.all():
        return tokens
    rest = tokens.take(is_kept[tokens.words])
    number = np.cumsum(is_kept, dtype=np.int32) - np.int32(1)
    return Tokens(number[rest.words], rest.starts)
