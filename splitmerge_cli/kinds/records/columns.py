"""Columns of records: those that look like names and addresses, as people write them, where two spellings are two words
to every other model; and those that mislead the model of records (docs/data/records.md, "Columns that describe the
record", "Columns that follow from one another").

No measure can distinguish a family of different people from one person with several records and a name that changes. So
only columns are examined whose cells look like codes, days, categories or notes, and the others have to agree.

Duplicates agree in every column, whether or not one follows from another, so that a mixture of duplicates and different
entities is fitted by all columns, and the share of the latter is compared with the share of duplicates.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.dataset import ColumnType
from splitmerge_cli.data.tables.inference import LONG, SOME
from splitmerge_cli.data.tables.table import Table, quote

LEAST_SHARE = 0.4
"""Share of a column that follows from another, from which on it is left out."""
MOST_PAIRS, MOST_ROWS = 5000, 1000
"""Pairs of records that are looked at for each column, and rows."""
LEAST_RECORDS = 10
"""Fewest records that share their values with others; twice as many rows."""
DIFFERENT = 0.1
"""Fewest pairs of different entities among those with the same value: of fewer, most may be duplicates with errors."""
OTHERS = 1.0
"""Fewest records of other entities with a record's value, on average: few share a telephone, as duplicates do."""
KEPT, LEAST_KEPT = 0.9, 0.6
"""Share of duplicates that agree in a column: at first, and at the least."""
LEAST_GAIN = 4.0
"""Log likelihood that is lost at the least if half of `LEAST_SHARE` follows."""
COVERED = 0.8
"""Share of a text's letters in its parts, from which on it holds nothing else."""
YEARS = 25
"""Years that days are spread over, from which on they are of people's lives, not of entries."""
NEARLY_ALL = 0.9
"""Share of different cells, and of those with a digit, from which on a column may number records."""
WORDS = 5.0
"""Words of a cell, on average, from which on a column may hold notes."""
ALIKE_CODES, ALIKE_NOTES = 0.8, 0.6
"""Similarity from which on two codes are alike, but for typing errors, and share of the words of notes."""
LEAST_RECURS = 0.2
"""Share of one entity's pairs that agree in a column, above chance, up to which it describes no entity; twice as many
must be excluded by two standard errors."""
NO_CHANCE = 3.0
"""Log of how many times rarer than one among all pairs of records a coincidence is that shows one entity."""
MOST_CROSSED = 6
"""Columns, those with the most information, each two of which are searched for pairs that may be of one entity."""
MOST_COMPARED = 1000
"""Pairs that are compared in a column."""


class Follows(NamedTuple):
    """The columns `of` which one is a function, and for what share of rows, or of pairs with the same value, it is."""

    of: list[int]
    share: float


def find_followers(values: NDArray[np.int32], types: tuple[ColumnType, ...]) -> dict[int, Follows]:
    """Find the columns that follow from others, by the codes ``[N, F]`` and types of the fields; two columns alone are
    not compared, since none is left that shows whether records are of one entity."""
    N, F = values.shape
    if N < 2 * LEAST_RECORDS or F < 3:
        return {}
    rng = np.random.default_rng(0)
    found = _find_parts(values[rng.permutation(N)[:MOST_ROWS]], types)
    shares = [np.bincount(x[x >= 0]) / (x >= 0).sum() for x in values.T]
    entropy = [float(-(p * np.log(p)).sum()) for p in shares]
    by_chance = np.array([(p**2).sum() for p in shares]) * (1.0 - 1e-6)
    # a chain of columns is taken apart from its coarse end
    for parent in sorted(set(range(F)) - set(found), key=lambda f: (entropy[f], -f)):
        pairs = _draw_pairs(values[:, parent], rng)
        near = np.zeros((len(pairs), F), dtype=bool)
        for f in range(F):
            if types[f].type == "string" and f not in (parent, *found):
                near[:, f] = _are_near(values[pairs, f], types[f].levels)
        for child in range(F):
            left = [f for f in range(F) if f not in (parent, child, *found)]
            # a single one of many columns, as the others are left out, does not show which records are duplicates
            is_shown = len(left) >= min(2, F - 2)
            if child not in found and (entropy[child], -child) < (entropy[parent], -parent) and is_shown:
                share = _share_given(values, near, pairs, by_chance, [parent, child, *left])
                if share >= LEAST_SHARE:
                    found[child] = Follows([parent], share)
    return found


def _find_parts(values: NDArray[np.int32], types: tuple[ColumnType, ...]) -> dict[int, Follows]:
    """Find columns whose cells are parts of another one's, or of which others are all parts."""
    words = [[str(field.levels[x]) if x >= 0 else "" for x in values[:, f]] for f, field in enumerate(types)]
    length = [sum(c.isalnum() for c in "".join(column)) / max(sum(map(bool, column)), 1) for column in words]
    found: dict[int, Follows] = {}
    # the longest first; of two copies the first stays
    order = sorted(range(len(types)), key=lambda f: (-length[f], f))
    for rank, whole in enumerate(order):
        later = [f for f in order[rank + 1 :] if f not in found and whole not in found]
        shares = {f: _share_within(words[f], words[whole], types[whole].type == "date") for f in later}
        parts = [f for f in sorted(later) if shares[f] >= LEAST_SHARE]
        if len(parts) > 1 and sum(length[f] for f in parts) >= COVERED * length[whole]:
            found[whole] = Follows(parts, min(shares[f] for f in parts))
        else:
            found |= {f: Follows([whole], shares[f]) for f in parts}
    return found


def _share_within(part: list[str], whole: list[str], is_date: bool) -> float:
    """The share of the rows with a `part` in which it is within the `whole`, corrected for chance by other rows."""

    def is_within(word: str, text: str) -> bool:
        return word in text if not is_date else word.lstrip("0") in [number.lstrip("0") for number in text.split("-")]

    present = [i for i, word in enumerate(part) if word.strip("0")]
    if len(present) < 2 * LEAST_RECORDS:
        return 0.0
    rate = sum(is_within(part[i], whole[i]) for i in present) / len(present)
    by_chance = sum(is_within(part[i], whole[i - len(whole) // 2]) for i in present) / len(present)
    return (rate - by_chance) / (1.0 - by_chance) if rate > by_chance else 0.0


def _draw_pairs(codes: NDArray[np.signedinteger[Any]], rng: np.random.Generator) -> NDArray[np.int64]:
    """Pairs of records ``[pairs, 2]`` with the same value of a column."""
    records = rng.permutation(np.flatnonzero(codes >= 0))
    records = records[np.argsort(codes[records], kind="stable")]
    codes, found, size = codes[records], [np.empty((0, 2), dtype=np.int64)], 0
    for step in range(1, len(codes)):
        here = np.flatnonzero(codes[step:] == codes[:-step])
        found.append(np.column_stack((records[here], records[here + step])))
        size += len(here)
        if not len(here) or size > 2 * MOST_PAIRS:
            break
    return rng.permutation(np.concatenate(found))[:MOST_PAIRS]


def _share_given(
    values: NDArray[np.int32],
    near: NDArray[np.bool_],
    pairs: NDArray[np.int64],
    by_chance: NDArray[np.float64],
    columns: list[int],
) -> float:
    """The share of the second column that follows from the first, whose values agree in the `pairs`; the other
    `columns` show which are duplicates, also by words that are equal but for an error (`near`, ``[pairs, F]``). 0 where
    it is not certain."""
    parent, child = columns[:2]
    known = (values[pairs, child] >= 0).all(axis=1)
    pairs, near = pairs[known], near[known]
    if not len(pairs):
        return 0.0
    one, other = values[pairs.T][:, :, columns[1:]]
    both, alike, base = (one >= 0) & (other >= 0), (one == other) & (one >= 0), by_chance[columns[1:]]
    alike[:, 1:] |= near[:, columns[2:]]
    share_known = float((values[values[:, child] >= 0, parent] >= 0).mean())
    records = len(np.unique(pairs)) - len(np.unique(values[pairs, parent]))
    room = 1.0 - base[0]
    # what follows agrees in all pairs, of duplicates or not
    if records < LEAST_RECORDS or share_known * (alike[:, 0].mean() - base[0]) < LEAST_SHARE * LEAST_KEPT * room:
        return 0.0
    free, rate, kept, different = _fit_pairs(both, alike, base)
    least = _fit_pairs(both, alike, base, base[0] + room * LEAST_SHARE / 2)[0]
    count = np.bincount(values[values[:, parent] >= 0, parent])
    others = different * float((count * (count - 1)).sum() / count.sum())
    # pairs of the same records are not independent
    if different < DIFFERENT or others < OTHERS or (free - least) * min(records / len(pairs), 1.0) < LEAST_GAIN:
        return 0.0
    share = share_known * min(float((rate - base[0]) / max(kept - base[0], 1e-9)), 1.0)
    error = np.sqrt(share * (1.0 - share) / (different * len(pairs)))
    return share if share - error >= LEAST_SHARE else 0.0


def _are_near(codes: NDArray[np.int32], levels: Sequence[Any]) -> NDArray[np.bool_]:
    """Which pairs of cells ``[pairs, 2]``, some missing (-1), are different words with the same digits that may be one,
    misspelt."""
    from rapidfuzz.distance import Levenshtein

    low, high = np.sort(codes, axis=1).T.astype(np.int64)
    different, place = np.unique((low + 1) * len(levels) + high, return_inverse=True)
    near, words = np.zeros(len(different), dtype=bool), [str(level) for level in levels]
    digits = ["".join(filter(str.isdigit, word)) for word in words]
    for n, key in enumerate(different.tolist()):
        a, b = key // len(levels) - 1, key % len(levels)
        if 0 <= a < b and digits[a] == digits[b]:
            near[n] = Levenshtein.normalized_similarity(words[a], words[b], score_cutoff=ALIKE_CODES) > 0.0
    return near[place]


def _fit_pairs(
    both: NDArray[np.bool_], alike: NDArray[np.bool_], base: NDArray[np.float64], rate: float | None = None
) -> tuple[float, float, float, float]:
    """Fit a mixture of duplicates and different entities to pairs ``[pairs, columns]``, in 30 steps of EM. Columns of
    different entities agree as by chance (`base`), the first one at a `rate` of its own. Returns the log likelihood,
    this rate, the rate of duplicates, and the share of pairs of different entities."""
    agrees, differs = alike.astype(float), (both & ~alike).astype(float)
    same, chance, duplicates = np.full(len(base), KEPT), base.copy(), 0.5
    chance[0] = KEPT if rate is None else rate
    for _step in range(30):
        of_same = agrees @ np.log(same) + differs @ np.log1p(-same) + np.log(duplicates)
        of_chance = agrees @ np.log(chance) + differs @ np.log1p(-chance) + np.log1p(-duplicates)
        total = np.logaddexp(of_same, of_chance)
        weight = np.exp(of_same - total)
        duplicates = float(np.clip(weight.mean(), 0.001, 0.999))
        same = np.clip((weight @ agrees + KEPT) / (weight @ (agrees + differs) + 1.0), LEAST_KEPT, 0.999)
        if rate is None:
            chance[0] = np.clip((1.0 - weight) @ agrees[:, 0] / max((1.0 - weight).sum(), 1e-9), base[0], 0.999)
    return float(total.sum()), float(chance[0]), float(same[0]), 1.0 - duplicates


def find_differing(
    values: NDArray[np.int32], types: Sequence[ColumnType], exempt: Collection[int] = ()
) -> dict[int, float]:
    """Find columns in which records of one entity differ, by the codes ``[N, F]`` and types of the fields.

    The columns that are `exempt` are not examined. Returns the share of pairs of one entity that agree in each column.
    """
    N, F = values.shape
    asked = [f for f in range(F) if f not in exempt and _may_describe_records(values[:, f], types[f])]
    if not asked:
        return {}
    others = [f for f in range(F) if f not in asked]
    # what follows from another column is no further coincidence
    following = find_followers(values[:, others], tuple(types[f] for f in others))
    names = [f for d, f in enumerate(others) if d not in following]
    if len(names) < 2:
        return {}
    rng = np.random.default_rng(0)
    rarity = [-np.log(np.bincount(x[x >= 0]) / max((x >= 0).sum(), 1)) for x in values.T]
    crossed = sorted(names, key=lambda f: -float((rarity[f] * np.exp(-rarity[f])).sum()))[:MOST_CROSSED]
    pairs = np.concatenate([_draw_pairs(_cross(values[:, f], values[:, g]), rng) for f, g in combinations(crossed, 2)])
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    one, other = values[pairs.T]
    known, equal = (one >= 0) & (other >= 0), (one == other) & (one >= 0)
    pairs, equal, one = (part[~(known & ~equal)[:, names].any(axis=1)] for part in (pairs, equal, one))
    information = np.column_stack([np.where(equal[:, f], rarity[f][one[:, f]], 0.0) for f in (*names, *asked)])
    enough = np.log(max(N * (N - 1) / 2, 1.0)) + NO_CHANCE
    found = {}
    for d, f in enumerate(asked, len(names)):
        certain = pairs[np.delete(information, d, axis=1).sum(axis=1) >= enough]
        certain = certain[(values[certain, f] >= 0).all(axis=1)]
        if len(certain) < 2 * LEAST_RECORDS or len(np.unique(certain)) < 2 * LEAST_RECORDS:
            continue
        by_chance = rng.choice(np.flatnonzero(values[:, f] >= 0), (MOST_COMPARED, 2))
        by_chance = by_chance[by_chance[:, 0] != by_chance[:, 1]]
        share, base = (
            _share_alike(values[rows, f], types[f]) for rows in (rng.permutation(certain)[:MOST_COMPARED], by_chance)
        )
        least = base + 2.0 * LEAST_RECURS * (1.0 - base)
        # records of one entity give pairs that are not independent
        error = np.sqrt(least * (1.0 - least) / (len(np.unique(certain)) / 2))
        if share <= min(least - 2.0 * error, base + LEAST_RECURS * (1.0 - base)):
            found[f] = share
    return found


def _may_describe_records(codes: NDArray[np.int32], field: ColumnType) -> bool:
    """Whether cells look like codes that number records, days, categories or notes."""
    if field.type == "date":
        years = [int(str(level)[:4]) for level in field.levels]
        return bool(np.subtract(*np.quantile(years, (0.95, 0.05))) < YEARS)
    if field.type == "categorical" or _are_notes(field):
        return True
    digits = np.mean([any(c.isdigit() for c in level) for level in map(str, field.levels)])
    return bool(min(digits, len(field.levels) / max((codes >= 0).sum(), 1)) >= NEARLY_ALL)


def _are_notes(field: ColumnType) -> bool:
    words = sum(len(str(level).split()) for level in field.levels)
    return field.type == "string" and words >= WORDS * len(field.levels)


def _cross(one: NDArray[np.int32], other: NDArray[np.int32]) -> NDArray[np.int64]:
    """Codes for pairs of values in two columns, -1 where one of them is missing."""
    crossed: NDArray[np.int64] = one.astype(np.int64) * (int(other.max(initial=0)) + 1) + other
    return np.where((one >= 0) & (other >= 0), crossed, -1)


def _share_alike(codes: NDArray[np.int32], field: ColumnType) -> float:
    """The share of pairs ``[pairs, 2]`` of cells that are equal but for typing errors, or a few words of notes."""
    from rapidfuzz.distance import Levenshtein  # other tables are asked for names alone

    notes = _are_notes(field)
    alike = 0
    for a, b in codes.tolist():
        one, other = str(field.levels[a]), str(field.levels[b])
        if a == b or field.type in ("categorical", "date"):
            alike += a == b
        elif notes:
            first, second = set(one.split()), set(other.split())
            alike += len(first & second) >= ALIKE_NOTES * len(first | second)
        else:
            alike += Levenshtein.normalized_similarity(one, other) >= ALIKE_CODES
    return alike / max(len(codes), 1)


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
    # names that hardly repeat, none near another, are of different things
    if pair is None and (by_name or not present / 2 < len(words) < NEARLY_ALL * present):
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
