"""From texts to a corpus: words; vocabularies and counts in files; the choice of words, whereby stop words, rare and
common ones are left out; and the split, by which whole documents are held out, or words of every document.

Words of texts are runs of letters and digits with their marks, single ideographs and Hangul syllables, and emoji. They
are in lower case and composed (Unicode's form NFC). Marks that follow a letter belong to its word, so that words
of Hindi or Thai are whole; so do the joiners of Persian and the soft hyphen, which is left out.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from itertools import compress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data import opening, values
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.tables import scaled, separators, table
from splitmerge_cli.extras import sparse
from splitmerge_cli.kinds.documents import EQUAL_DOCUMENTS, NO_TWO_WORDS, ONE_DOCUMENT
from splitmerge_cli.kinds.documents.corpus import BY, Corpus, Heldout, Tokens, dataset, vectorize
from splitmerge_cli.received import DataError

ENGLISH = "english"
AUTO = "auto"
LANGUAGES = (
    *("arabic", "bulgarian", "catalan", "czech", "danish", "dutch", "finnish", "french", "german", "hindi"),
    *("hungarian", "indonesian", "italian", "malaysian", "norwegian", "polish", "portuguese", "romanian", "russian"),
    *("slovak", "spanish", "swedish", "ukrainian"),
)
"""Other languages whose list of the package stop-words has a fifth of the tokens there and more than any other list, by
the frequencies of the package wordfreq 3.1."""
NAMED = (None, "none", ENGLISH, AUTO, *LANGUAGES)
"""Values of ``data.stop_words`` that name no file."""
EXPECTED = "none, english or another language (german, ...), auto or a file with a word a line"
OF_LIST, OF_OTHERS = 0.2, 0.3
"""Shares of the tokens in the English list, or in another one, from which on texts are taken as of that language. By
wordfreq the first is 0.46 in English, and at most 0.12 (Dutch) in the other languages it has small lists of; the second
is 0.32 (Slovak) to 0.61 in a language of its own, but for Arabic (0.24)."""
FEWEST_TOKENS = 200
"""Tokens from which on they tell a language other than English."""
FEWEST = 20
"""Documents from which on words of texts in another language are left out by how many documents have them."""
SHOWN = 3
"""Documents that a note names at most."""
EVERYWHERE, BOILERPLATE = 0.95, 0.1
"""Words in this share of the texts or more are noted, if they have at least that share of the tokens, and are at most
that share of the words."""
COMMON = 0.5
"""Share of the documents above which a word distinguishes none of them."""
WORD_BYTES = 70
"""Memory that a word of a vocabulary takes at least."""


def read_counts(path: Path) -> "sparse.csr_array":
    """Counts of words ``[documents, words]`` from an .npz file that ``scipy.sparse.save_npz`` wrote: int32, no stored
    zeros, indices of a row ascending; a `DataError` if it holds no sparse matrix, or an entry that is no count.
    """
    x = scaled.read_sparse(path)
    good = values.first_entry(x, lambda data: ~((data >= 1) & (data <= values.LARGEST) & (data == np.floor(data))))
    if good is not None:
        i, j = good
        expected = f"a count, a whole number from 0 to {values.LARGEST}"
        raise DataError(f"{path}: row {i + 1}, column {j + 1}: {x[i, j]:g}; expected {expected}")
    return x.astype(np.int32)


def read_vocabulary(path: Path, words: int | None = None, encoding: str | None = None) -> list[str]:
    """The words of a text file, one a line, perhaps gzipped: so many `words`, by default any number.

    Raises a `DataError` if it cannot be read, has another number of lines, an empty line, or a word twice.
    """
    data = separators.read_text(path, encoding)
    opening.check_rows(path, data.count(b"\n") + 1, WORD_BYTES, "rows")
    lines = [line.strip() for line in data.decode("utf-8").split("\n")]
    if words is not None and len(lines) != words:
        raise DataError(f"{path}: {len(lines)} lines; expected {words}, one for each word")
    seen: dict[str, int] = {}
    for row, word in enumerate(lines, start=1):
        if not word:
            raise DataError(f"{path}: row {row}: an empty line; expected a word")
        if seen.setdefault(word, row) != row:
            raise DataError(f"{path}: row {row}: '{word}', which is row {seen[word]} too; expected each word once")
    return lines


def require_words(stop_words: str | Path | None, min_documents: int, max_share: float) -> None:
    """Raise a `DataError` that names the configuration key unless `keep_words` takes the options."""
    text = stop_words is None or (isinstance(stop_words, str | Path) and str(stop_words) != "")
    values.require(text, "data.stop_words", stop_words, EXPECTED)
    whole = isinstance(min_documents, int) and not isinstance(min_documents, bool)
    values.require(whole and min_documents >= 0, "data.min_documents", min_documents, "a whole number, at least 0")
    number = isinstance(max_share, int | float) and not isinstance(max_share, bool)
    values.require(number and 0 < max_share <= 1, "data.max_share", max_share, "a share, greater than 0 and at most 1")


def keep_words(
    whole: Dataset,
    stop_words: str | Path | None = None,
    min_documents: int = 0,
    max_share: float = 1.0,
    texts: bool = False,
    encoding: str = "utf-8",
) -> Dataset:
    """Leave out some words of documents, of which nothing is held out, and which have no truth.

    `stop_words`: ``none`` or None: no word is left out. ``english``: the words of scikit-learn's English list, in upper
    or lower case; one of `LANGUAGES`: the list of the package stop-words. ``auto``: the list that has most of the
    tokens, if those are 0.2 (English) or 0.3 of them (other languages, of 200 tokens or more); else, of `texts` of 20
    documents or more, words that more than half of the documents have. Any other: a file with a word a line, in this
    `encoding`. Words are left out that fewer than `min_documents` have (0: none, so that the vocabulary stays as it
    is), or more than the share `max_share` of them (1: none). `texts`: the words were found in texts, not given as
    counts of words that somebody chose.

    Documents may have become empty. ``meta["left_out"]``: number of words of the vocabulary and of tokens that are left
    out. What ``auto`` leaves out is a note. A `DataError`: an option out of range, no such file, or no word that occurs
    is left.
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
    tokens = corpus.tokens
    if not is_kept.all():
        rest, number = tokens.take(is_kept[tokens.words]), np.cumsum(is_kept, dtype=np.int32) - np.int32(1)
        tokens = Tokens(number[rest.words], rest.starts)
    occurs = documents_by_word > 0
    if not len(tokens.words):
        options_text = ", ".join(f"data.{key}={'null' if value is None else value}" for key, value in options.items())
        expected = f"one at least of the {occurs.sum()} words that the {corpus.tokens.J} documents have"
        raise DataError(f"{options_text}: no word of {whole.name} is left; expected {expected}")
    meta = dict(whole.meta)
    options = meta.pop("documents")["options"] | options
    lost = len(corpus.tokens.words) - len(tokens.words)
    meta["left_out"] = {"words": corpus.V - int(is_kept.sum()), "tokens": lost}
    if why_stopped is not None:
        share = float(stopped[corpus.tokens.words].mean())
        note = (
            f"data.stop_words=auto: {why_stopped}: {(stopped & occurs).sum()} words with "
            f"{share:.0%} of the tokens are left out (data.stop_words=none keeps them)"
        )
        meta["notes"] = [*meta.get("notes", ()), note]
    everywhere = is_kept & (documents_by_word >= EVERYWHERE * corpus.tokens.J)
    share = float(everywhere[corpus.tokens.words].sum() / len(tokens.words))
    is_of_few = everywhere.sum() <= BOILERPLATE * is_kept.sum()
    if texts and corpus.tokens.J >= FEWEST and is_of_few and share >= BOILERPLATE:
        order = sorted(np.flatnonzero(everywhere), key=lambda w: -documents_by_word[w])
        many = f"{len(order)} with {share:.0%} of the tokens"
        named = ", ".join(vocabulary[w] for w in order[:SHOWN]) + ", ..." * (len(order) > SHOWN)
        note = (
            f"words in {EVERYWHERE:.0%} of the documents or more: {many} ({named}); such are tags of "
            "pages and headers of mails (data.max_share=0.9 leaves them out)"
        )
        meta["notes"] = [*meta.get("notes", ()), note]
    if not is_kept.all():
        vocabulary = list(compress(vocabulary, is_kept))
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
    return replace(whole, meta=whole.meta | values.notes_entry(notes))


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
    lowered = [word.lower() for word in vocabulary]
    if stop_words not in NAMED:
        try:
            file = opening.require_file(str(stop_words), EXPECTED)
        except DataError as error:
            raise DataError(f"data.stop_words={error}") from error
        listed = {word.lower() for word in read_vocabulary(file, None, encoding)}
        return _in_list(lowered, listed), None
    if stop_words != AUTO:
        return _in_list(lowered, _list_of(str(stop_words))), None
    words = corpus.tokens.words
    known = (ENGLISH, *LANGUAGES) if len(words) >= FEWEST_TOKENS else (ENGLISH,)
    lists = {language: _in_list(lowered, _list_of(language)) for language in known}
    language = max(lists, key=lambda language: lists[language][words].mean())
    if lists[language][words].mean() >= (OF_LIST if language == ENGLISH else OF_OTHERS):
        return lists[language], f"the {language.capitalize()} list"
    common = documents > COMMON * corpus.tokens.J
    if texts and corpus.tokens.J >= FEWEST and common.any():
        return common, f"words in more than {COMMON:.0%} of the documents"
    return none, None


def _list_of(language: str) -> frozenset[str]:
    """Words that texts of a language have for its grammar, in lower case."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
    from stop_words import get_stop_words

    return ENGLISH_STOP_WORDS if language == ENGLISH else frozenset(get_stop_words(language))


def _in_list(words: Sequence[str], listed: frozenset[str] | set[str]) -> NDArray[np.bool_]:
    return np.array([word in listed for word in words], dtype=bool)


def _documents_with(corpus: Corpus) -> NDArray[np.int64]:
    """int64 ``[V]``: in how many documents each word is."""
    place = corpus.tokens.documents() * np.int64(corpus.V) + corpus.tokens.words
    if (np.diff(place) < 0).any():
        place.sort()
    first = np.diff(place, prepend=-1) > 0
    return np.bincount(place[first] % corpus.V, minlength=corpus.V)


LETTERS = 2
"""Characters of a word at least, unless one is a word or the user says otherwise."""
MOST_NAMED = 3
"""Words that a note names at most."""
UNSEGMENTED = 0.2
"""Share of the characters from which on runs without spaces are noted."""

_IDEOGRAPHS = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_HANGUL = "\uac00-\ud7a3"
_KANA = "\u3041-\u30ff\uff66-\uff9f"
_SKIN = "[\U0001f3fb-\U0001f3ff]?"
_PICTURE = f"[\u231a\u231b\u23e9-\u23f3\u2600-\u27bf\u2b50\u2b55\U0001f300-\U0001faff]{_SKIN}"
_EMOJI = f"(?:[\U0001f1e6-\U0001f1ff]{{2}}|{_PICTURE}(?:\u200d{_PICTURE})*)"
_WHOLE = re.compile(f"[{_IDEOGRAPHS}{_HANGUL}]|{_EMOJI}")
"""A word of one character, or an emoji of several."""
_INVISIBLE = dict.fromkeys([0xAD, 0xFE0E, 0xFE0F, 0xFEFF, *range(0xE0100, 0xE01F0)])
"""Soft hyphens and selectors of variants, which belong to no word."""
_LONGEST = {
    "Chinese or Japanese": (5.0, f"[{_IDEOGRAPHS}{_KANA}]"),
    "Thai, Lao, Burmese or Khmer": (10.0, "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]"),
}
"""Languages without spaces between words: letters of a word at most, in the mean, where it is one; their letters."""
UNSPACED = re.compile("|".join(f"{letter}{{1,{longest:.0f}}}" for longest, letter in _LONGEST.values()))
"""About a word of such a language."""
_ASCII_WORD = re.compile(r"\w+")


class Words:
    """Words of texts, found one text after another, and those that were too short (`left_out`).

    `shortest`: characters of a word at least; ``auto``: two, but one ideograph, Hangul syllable or emoji is a word.
    """

    def __init__(self, shortest: str | int = AUTO) -> None:
        require_shortest(shortest)
        self.shortest = shortest
        self.left_out: Counter[str] = Counter()

    def __call__(self, text: str) -> list[str]:
        """Find the words of a text."""
        least = LETTERS if isinstance(self.shortest, str) else self.shortest
        if text.isascii():
            words = _ASCII_WORD.findall(text.lower())
        else:
            words = _word().findall(unicodedata.normalize("NFC", text.translate(_INVISIBLE)).lower())
        short = [w for w in words if len(w) < least and not (self.shortest == AUTO and _WHOLE.fullmatch(w))]
        if not short:
            return words
        self.left_out.update(short)
        return [word for word in words if word not in self.left_out]

    def notes(self, counts: "sparse.csr_array", vocabulary: list[str]) -> list[str]:
        """Notes on words that were left out, and on runs of letters that are no words."""
        notes = []
        if self.left_out:
            short = sum(self.left_out.values())
            named = ", ".join(word for word, _ in self.left_out.most_common(MOST_NAMED))
            too_short = "one character" if self.shortest == AUTO else f"fewer than {self.shortest} characters"
            keeps = " (data.min_length=1 keeps them)" if self.shortest == AUTO else ""
            notes.append(
                f"words of {too_short} are left out: {short:,} of {short + int(counts.sum()):,}, {named}{keeps}"
            )
        return notes + note_unsegmented(counts, vocabulary)


def require_shortest(shortest: str | int) -> None:
    """Raise a `DataError` that names the configuration key unless `Words` takes the option."""
    whole = isinstance(shortest, int) and not isinstance(shortest, bool) and shortest >= 1
    values.require(shortest == AUTO or whole, "data.min_length", shortest, "auto, or a whole number, at least 1")


def count_texts(
    texts: Iterable[str], shortest: str | int = AUTO, source: object = "data"
) -> "tuple[sparse.csr_array, list[str], list[str]]":
    """Count the words of texts: int32 ``[documents, words]``, the words in the order of the alphabet, notes for the
    user.

    Messages and notes name the `source`; a `DataError` is raised where no text has a word.
    """
    words = Words(shortest)
    try:
        counts, vocabulary = vectorize(texts, analyzer=words)
    except DataError:
        raise
    except ValueError as error:
        raise DataError(f"{source}: no word; expected at least one, of two letters or digits or more") from error
    return counts, vocabulary, [f"{source}: {note}" for note in words.notes(counts, vocabulary)]


def note_unsegmented(counts: "sparse.csr_array", vocabulary: list[str]) -> list[str]:
    """Note on words that are whole sentences, of a language that puts no spaces between words."""
    number = np.asarray(counts.sum(axis=0)).ravel()
    total = float(number @ np.array([len(word) for word in vocabulary]))
    notes = []
    for language, (longest, letter) in _LONGEST.items():
        letters = np.array([len(re.findall(letter, word)) for word in vocabulary])
        theirs = 2 * letters > np.array([len(word) for word in vocabulary])
        held = float(number[theirs] @ letters[theirs])
        if held < UNSEGMENTED * total or held <= longest * number[theirs].sum():
            continue
        example = vocabulary[int(np.argmax(np.where(theirs, letters, 0)))]
        notes.append(
            f"words of {language} have {held / number[theirs].sum():.0f} letters on average, such as "
            f"{table.quote(example)}: topics of whole sentences mean little; expected spaces between words, as a "
            "segmentation program writes them"
        )
    return notes


@cache
def _word() -> re.Pattern[str]:
    """A word of a text that is not of ASCII alone."""
    # no plane above the first has any but selectors of variants
    codes = range(0x300, 0x20000)
    marks = np.array([code for code in codes if unicodedata.category(chr(code)) in ("Mn", "Mc", "Me")])
    # ascending codes as the ranges between the brackets of a regular expression
    first = np.flatnonzero(np.diff(marks, prepend=-2) > 1)
    last = np.append(first[1:] - 1, len(marks) - 1)
    ranges = "".join(f"{chr(marks[a])}-{chr(marks[b])}" for a, b in zip(first, last, strict=True))
    return re.compile(rf"{_EMOJI}|\w(?:[\w{ranges}]|[\u200c\u200d](?=\w))*")


def require_split(heldout: float, heldout_by: str, split_seed: int) -> None:
    """Raise a `DataError` that names the configuration key unless `split` takes the options."""
    number = isinstance(heldout, int | float) and not isinstance(heldout, bool)
    values.require(number and 0 <= heldout < 1, "data.heldout", heldout, "a share, at least 0 and less than 1")
    values.require(heldout_by in BY, "data.heldout_by", heldout_by, f"one of {', '.join(BY)}")
    good = isinstance(split_seed, int) and split_seed >= 0
    values.require(good, "data.split_seed", split_seed, "a whole number, at least 0")


def split(whole: Dataset, heldout: float = 0.0, heldout_by: str = "document", split_seed: int = 0) -> Dataset:
    """Hold out a share of documents, at least 0 (nothing) and less than 1.

    By ``document``: round(heldout J) documents, drawn uniformly; of the tokens of each a random half, rounded up, is
    `observed`, so that a document of one token is observed whole and leaves nothing to predict. By ``word``: tokens of
    every document, drawn uniformly, heldout n of n, rounded up or down such that all documents together come to
    heldout N (systematic sampling: a token is held out with probability heldout); but one token at least stays.
    `split_seed` is independent of the seeds of the data and of the chains.

    Truth, labels, names and mixtures belong to the training part; tokens keep their order. A `DataError`: an option out
    of range; nothing is held out, nothing is left to predict, or no token to train with.
    """
    require_split(heldout, heldout_by, split_seed)
    options = {"heldout": heldout, "heldout_by": heldout_by, "split_seed": split_seed}
    corpus, truth = whole.values, whole.truth
    if heldout > 0:
        # a stream of its own: the data may have been made with the same number for a seed
        rng = np.random.default_rng(np.random.SeedSequence(split_seed, spawn_key=(1,)))
        by_document = heldout_by == "document"
        corpus, documents = (_by_document if by_document else _by_word)(whole.name, corpus, heldout, rng)
        truth = None if truth is None else truth[documents]
    meta = dict(whole.meta)
    options = meta.pop("documents")["options"] | options
    assert whole.vocabulary is not None
    return dataset(whole.name, corpus, whole.vocabulary, truth, meta, options)


def _by_document(
    name: str, corpus: Corpus, heldout: float, rng: np.random.Generator
) -> tuple[Corpus, NDArray[np.bool_]]:
    """The corpus with documents held out, and which tokens of the whole it trains with."""
    tokens, J = corpus.tokens, corpus.tokens.J
    many = int(np.floor(heldout * J + 0.5))
    if not 1 <= many < J:
        raise DataError(
            f"data.heldout={heldout}: {many} of the {J} documents of {name}; expected at least one to hold out and "
            "one to train with"
        )
    held = np.zeros(J, dtype=bool)
    held[rng.choice(J, size=many, replace=False)] = True
    theirs = tokens.pick(held)
    observed = _sample(theirs, (theirs.lengths + 1) // 2, rng)
    if observed.all():
        raise DataError(
            f"data.heldout={heldout}: no held-out document of {name} has two tokens; expected one to estimate its "
            "mixture and one to predict"
        )
    training = tokens.pick(~held)
    if not len(training.words):
        raise DataError(f"data.heldout={heldout}: no token of {name} is left to train with; expected at least one")
    ours, names = None, None
    if corpus.documents is not None:
        ours, names = (list(compress(corpus.documents, chosen)) for chosen in (~held, held))
    training_corpus = replace(
        corpus,
        tokens=training,
        documents=ours,
        labels=None if corpus.labels is None else corpus.labels[~held],
        mixtures=None if corpus.mixtures is None else corpus.mixtures[~held],
        heldout=Heldout("document", theirs, observed, names),
    )
    return training_corpus, np.repeat(~held, tokens.lengths)


def _by_word(name: str, corpus: Corpus, heldout: float, rng: np.random.Generator) -> tuple[Corpus, NDArray[np.bool_]]:
    """The corpus with words held out, and which tokens of the whole it trains with."""
    tokens = corpus.tokens
    upto = np.floor(heldout * tokens.starts + rng.random()).astype(np.int64)
    many = np.minimum(np.diff(upto), np.maximum(tokens.lengths - 1, 0))
    if not many.any():
        raise DataError(
            f"data.heldout={heldout}: none of the {len(tokens.words)} tokens of {name}, of which each document keeps "
            "one; expected at least one to hold out"
        )
    held = _sample(tokens, many, rng)
    theirs = tokens.take(held)
    observed = np.zeros(len(theirs.words), dtype=bool)
    return replace(corpus, tokens=tokens.take(~held), heldout=Heldout("word", theirs, observed)), ~held


def _sample(tokens: Tokens, many: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Sample `many` (int64 ``[J]``) tokens of each document uniformly: bool ``[n]``."""
    order = np.lexsort((rng.random(len(tokens.words)), tokens.documents()))
    place = np.arange(len(order)) - np.repeat(tokens.starts[:-1], tokens.lengths)
    sampled = np.empty(len(order), dtype=bool)
    sampled[order] = place < np.repeat(many, tokens.lengths)
    return sampled
