"""Columns of names and addresses, as people write them: two spellings are two words to every model but that of
records."""

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from itertools import pairwise

from splitmerge_cli.data.tables.inference import LONG, SOME
from splitmerge_cli.data.tables.table import Table, quote

_NAMED = re.compile(
    r"(?i)((first|last|full|sur|given|family|middle|maiden|street|company|customer|client|author|product|contact|user"
    r"|business|restaurant|patient|person|employee)[_ .-]?)?(names?|address(es)?)|addr|street|surname|authors?|e-?mail"
    r"|company|employer|organi[sz]ation|venue|customer|client|mentions?"
)
"""Names of columns that hold names or addresses."""
_LOOKS = re.compile(
    r"[A-Z][\w.'’-]*,?( (\w\. ?)?[A-Z][\w.'’-]*)+|[\w.+-]+@[\w-]+\.[\w.-]+"
    r"|\d+\w? .*(?i:\b(st|street|ave|avenue|road|rd|lane|ln|drive|dr|blvd|way|square|court|ct|place)\b).*"
)
"""Names of several words, mail addresses, and street addresses that begin with a number."""
_NEAR = 0.85
"""Share of equal letters from which on two words may be one, misspelt."""
_MOST = 5_000
"""Words, in alphabetical order, among which a pair of such is looked for."""


def near_pair(words: Sequence[str]) -> tuple[str, str] | None:
    """Find two words, neighbours in the alphabet, that may be one; None: all differ. Words that differ in digits alone
    are two: these tell things apart.

    >>> near_pair(["Smith, Jon", "item 12", "item 13", "Smith, John"])
    ('Smith, John', 'Smith, Jon')
    """
    for one, other in pairwise(sorted(words, key=str.casefold)[:_MOST]):
        first, second = (re.sub(r"\d", "", word).casefold() for word in (one, other))
        if min(len(first), len(second)) > 3 and first != second:
            matcher = SequenceMatcher(a=first, b=second, autojunk=False)
            if matcher.quick_ratio() >= _NEAR and matcher.ratio() >= _NEAR:
                return one, other
    return None


def say_names(table: Table, j: int, words: Sequence[str], present: int, by_name: bool = False) -> str:
    """Describe column `j`, whose different cells are `words`, if it looks like names or addresses; empty of any other.

    Where it is left out (`by_name`), its name has to tell it, and two cells to be near.
    """
    if len(words) <= SOME or sum(map(len, words)) > LONG * len(words):
        return ""
    named = table.names is not None and _NAMED.fullmatch(table.names[j].strip()) is not None
    if not named and (
        by_name or 2 * sum(_LOOKS.fullmatch(word.strip()) is not None for word in words[:_MOST]) < len(words[:_MOST])
    ):
        return ""
    pair = near_pair(words)
    if pair is None and (by_name or 2 * len(words) <= present):
        return ""
    such = f", so {quote(pair[0])} and {quote(pair[1])} are simply two different words here" if pair else ""
    return f"it looks like names or addresses: only model=records compares letters{such}; {_command(table)}"


def say_records(table: Table, words: Mapping[int, Sequence[str]]) -> str:
    """Describe columns that are left out for their many different `words`, if two or more of them have words that are
    near each other, as names of people have; empty otherwise."""
    pairs = {j: pair for j, of_column in words.items() if (pair := near_pair(of_column)) is not None}
    if len(pairs) < 2:
        return ""
    shown = ", ".join(f"{table.column(j)} with {quote(one)} and {quote(other)}" for j, (one, other) in pairs.items())
    return f"words that are nearly equal: {shown}. If rows may be of one person, firm or place: {_command(table)}"


def _command(table: Table) -> str:
    return table.command_or_call("model=records", 'sample("records", data)') + " finds rows of one entity"
