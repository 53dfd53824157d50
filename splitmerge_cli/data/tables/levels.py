"""The levels of a column: spellings of one word, and levels that are looked up as they are written or meant."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.tables.table import NUMBER, quote

SHORT_FORMS: tuple[Mapping[str, str], ...] = (
    {"y": "yes", "n": "no"},
    {"t": "true", "f": "false"},
    {"m": "male", "f": "female"},
)
"""Letters that stand for words where a column holds nothing else."""
SHORTEST = 3
"""Letters of a word that capital letters do not tell apart: AA, Aa and aa are three genotypes."""


def spellings(words: Iterable[str]) -> dict[str, list[str]]:
    """The words of a column by what they mean: capital letters and `SHORT_FORMS` tell no words apart.

    Examples
    --------
    >>> spellings(["yes", "YES", "Y", "No"]), spellings(["AA", "Aa", "male", "Male"])
    ({'yes': ['yes', 'YES', 'Y'], 'no': ['No']}, {'AA': ['AA'], 'Aa': ['Aa'], 'male': ['male', 'Male']})
    """
    plain = {word: word.casefold() for word in words}
    known = next((forms for forms in SHORT_FORMS if {*plain.values()} <= {*forms, *forms.values()}), None)
    words_by_meaning: dict[str, list[str]] = defaultdict(list)
    for word, folded in plain.items():
        usual = len(word) >= SHORTEST and word in (folded, word.upper(), word.capitalize(), word.title())
        words_by_meaning[known.get(folded, folded) if known else folded if usual else word].append(word)
    return dict(words_by_meaning)


def merge_spellings(codes: NDArray[np.int64], words: list[str]) -> tuple[NDArray[np.int64], list[str], str]:
    """Codes and words of a column whose spellings of one word are one level, the commonest, and a note on them."""
    groups = list(spellings(words).values())
    if len(groups) == len(words):
        return codes, words, ""
    rows = dict(zip(words, np.bincount(codes[codes >= 0], minlength=len(words)).tolist(), strict=True))
    names = {max(group, key=rows.__getitem__): group for group in groups}
    levels = sorted(names, key=str.casefold)
    level_of = {word: levels.index(name) for name, group in names.items() for word in group}
    merged = np.append([level_of[word] for word in words], -1)[codes]
    several = [(name, [quote(word) for word in group]) for name, group in names.items() if len(group) > 1]
    note = "; ".join(f"{', '.join(group)} are one level, {quote(name)}" for name, group in several)
    return merged, levels, note


class Levels:
    """The levels of a column, found as they are written or, where one alone is meant, by number (1 and 1.0) or as
    `spellings` of one word."""

    def __init__(self, levels: Sequence[str]) -> None:
        self.by_word = {level: k for k, level in enumerate(levels)}
        numbers = [_number_of(level) for level in levels]
        self.by_number = {number: k for k, number in enumerate(numbers) if numbers.count(number) == 1}

    def code(self, cell: Any) -> float:
        """Return the code of a cell, NaN where no level is meant."""
        word = str(cell).strip()
        word = word.lower() if isinstance(cell, bool | np.bool_) else word
        if word in self.by_word:
            return self.by_word[word]
        if (number := _number_of(word)) is not None:
            return self.by_number.get(number, np.nan)
        alike = next(group for group in spellings([*self.by_word, word]).values() if word in group)
        return self.by_word[alike[0]] if len(alike) == 2 else np.nan


def _number_of(word: str) -> Decimal | None:
    """The number that a word writes, to its last digit; None of any other word."""
    return Decimal(word) if NUMBER.fullmatch(word) else None
