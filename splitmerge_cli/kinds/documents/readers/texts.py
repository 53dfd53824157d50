"""Words of texts: runs of letters and digits with their marks, single ideographs and Hangul syllables, and emoji.

They are in lower case and composed (Unicode's form NFC). Marks that follow a letter belong to its word, so that words
of Hindi or Thai are whole; so do the joiners of Persian and the soft hyphen, which is left out.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache

import numpy as np
from scipy.sparse import csr_array

from splitmerge_cli.data.tables.table import quote
from splitmerge_cli.data.values import require
from splitmerge_cli.kinds.documents.corpus import vectorize
from splitmerge_cli.received import DataError

AUTO = "auto"
LETTERS = 2
"""Characters of a word at least, unless one is a word or the user says otherwise."""
NAMED = 3
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
        is_short: Callable[[str], object]
        if text.isascii():
            words = _ASCII_WORD.findall(text.lower())

            def is_short(word: str) -> bool:
                return len(word) < least
        else:
            composed = unicodedata.normalize("NFC", text.translate(_INVISIBLE)).lower()
            words = _word().findall(composed)

            def is_short(word: str) -> bool:
                return len(word) < least and not (self.shortest == AUTO and _WHOLE.fullmatch(word))

        short = [word for word in words if is_short(word)]
        if not short:
            return words
        self.left_out.update(short)
        return [word for word in words if not is_short(word)]

    def notes(self, counts: csr_array, vocabulary: list[str]) -> list[str]:
        """Notes on words that were left out, and on runs of letters that are no words."""
        notes = []
        if self.left_out:
            short = sum(self.left_out.values())
            named = ", ".join(word for word, _ in self.left_out.most_common(NAMED))
            too_short = "one character" if self.shortest == AUTO else f"fewer than {self.shortest} characters"
            keeps = " (data.min_length=1 keeps them)" if self.shortest == AUTO else ""
            notes.append(
                f"words of {too_short} are left out: {short:,} of {short + int(counts.sum()):,}, {named}{keeps}"
            )
        return notes + note_unsegmented(counts, vocabulary)


def require_shortest(shortest: str | int) -> None:
    """Raise a `DataError` that names the configuration key unless `Words` takes the option."""
    whole = isinstance(shortest, int) and not isinstance(shortest, bool) and shortest >= 1
    require(shortest == AUTO or whole, "data.min_length", shortest, "auto, or a whole number, at least 1")


def count_texts(
    texts: Iterable[str], shortest: str | int = AUTO, source: object = "data"
) -> tuple[csr_array, list[str], list[str]]:
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


def note_unsegmented(counts: csr_array, vocabulary: list[str]) -> list[str]:
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
            f"{quote(example)}: topics of whole sentences mean little; expected spaces between words, as a "
            "segmentation program writes them"
        )
    return notes


@cache
def _word() -> re.Pattern[str]:
    """A word of a text that is not of ASCII alone."""
    # no plane above the first has any but selectors of variants
    marks = [code for code in range(0x300, 0x20000) if unicodedata.category(chr(code)) in ("Mn", "Mc", "Me")]
    return re.compile(rf"{_EMOJI}|\w(?:[\w{_ranges(marks)}]|[\u200c\u200d](?=\w))*")


def _ranges(codes: list[int]) -> str:
    """Write ascending character codes as the ranges between the brackets of a regular expression."""
    code_points = np.array(codes)
    first = np.flatnonzero(np.diff(code_points, prepend=-2) > 1)
    last = np.append(first[1:] - 1, len(code_points) - 1)
    return "".join(f"{chr(code_points[a])}-{chr(code_points[b])}" for a, b in zip(first, last, strict=True))
