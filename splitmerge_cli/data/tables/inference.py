"""Types of columns in a mixed table, by their cells: binary, categorical, count, real, or none. The table of
docs/files.md, "Columns of several types", has the rules in their order; values that are missing do not count. A column
that others determine (`splitmerge_cli.data.tables.notes.find_determined`) is left out afterwards.

A density has no bound where many rows hold exactly the same number, so numbers that repeat like this are no real
column. A quantity has rare values at its ends; codes, years of a study and doses do not: each is held by many rows.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.dataset import ColumnType
from splitmerge_cli.data.tables.cells import DATE, DAY, Cells
from splitmerge_cli.data.tables.table import EXACT, NUMBER, Table, column_key, quote
from splitmerge_cli.data.tables.written import DATE_TYPES, days_of_column, days_written, numbers_written
from splitmerge_cli.data.values import FINITE, LARGEST, MAGNITUDE
from splitmerge_cli.overrides import shell_word, write

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


ORDINAL = "ordinal"
SOME = 10
"""Different values that are categories wherever they are not all different."""
SOME_FROM_0 = 5
"""As `SOME`, for whole numbers that begin with 0: more are counts."""
MOST = 100
"""Most words of a column that is read as categories without being asked to, and most levels of an ordinal one."""
LARGEST_CODE = 20
"""Largest whole number that is taken for the code of a category."""
NEARLY_ALL = 0.9
"""Share of the rows that hold another word each, from which on a column of many words names the items."""
MOST_NUMBERS = 12
"""Most numbers that are read as categories whatever they are: as many as there are months."""
FREQUENT = 5
"""Fewest rows that hold each of them."""
REPEATED = 3
"""Rows that hold each of a few words and numbers, on average, where these are categories."""
ROUNDED_STEP = 1e-9
"""Largest difference of two numbers that count as one, as a share of the column's range."""
SPIKE, MORE = 0.2, 2.0
"""Least share of a column's cells that hold a spike, and times as many as hold any other number."""
RARE, ALONE = 0.02, 10.0
"""Both for a spike that fewer cells hold: it has to stand out."""
TAIL = 20
"""The tail of counts: fewer than one in so many rows hold the largest."""
COMPARED = "model=auto compares whether that number has a probability of its own in every cluster"
"""The comparison of a number that many cells hold."""
FEW = 3
"""Rows below which no column counts them: that may well be chance."""
TYPICAL_COUNT = 10
LARGEST_COUNT = 1000
"""Upper limits of the median count, and of the largest."""
LONG = 60
"""Mean number of characters from which on text is free."""
ROUNDED = "if it held longer whole numbers, their last digits were already lost; write codes as text"
"""Warning about numbers beyond those that are all float64."""
_SUBJECT = "(individual|subject|participant|respondent|patient|person|animal|household|customer|account)"
NAMED_AS_ID = re.compile(
    r"(?i:id|ids|uid|uuid|guid|idx|index|key|name|names|row|rowid|rownum|record|case|nr|no|number|serial|isbn|issn|ean|gtin|upc)"
    r"|(?i:.*[_ .-](id|ids|uid|uuid|idx|index|key|nr|no|number))|\w*[a-z](Id|ID)|Unnamed: \d+"
    r"|(?i:\w*id[_ .-]?(num|nr|no|number)|row[_ .-]?names?)"
    rf"|(?i:{_SUBJECT}[_ .-]?(num|nr|no|number)?)"
)
"""Names of columns that tell the items apart."""
REPEATED_ID = re.compile(
    r"(?i:(^|[_ .-])(uu?)?id$)|(^|[_ .-])[fhmpcs]id$|[a-z]I[dD]$"
    r"|(?i:^(user|person|subject|patient|family|house(hold)?|town|school|firm|group|customer|case|choice)id$)"
)
"""Names of columns that hold an id, though it may repeat; paid and acid are no ids."""
REPEATED_SUBJECT = re.compile(rf"(?i){_SUBJECT}s?[_ .-]?(num|nr|no|number)?")
"""Names of columns that hold an id where they have more than `SOME` values; fewer may be a number of persons."""
MEASURES_TIME = re.compile(r"(?i).*(time|second|minute|hour|day|week|month|quarter|year|age|wave|visit|round|period).*")
COORDINATES = ("x", "y", "z")
"""Names of columns that are data though they count the rows: points along a line."""
NAMED_AS_CLASS = re.compile(
    r"(?i:(true|class|cluster|known)?[_ .-]?(target|class|classes|label|labels|cluster|clusters)|y[_ .-]true"
    r"|truth|ground[_ .-]?truth|species|diagnosis|outcome|survived|variety|cultivar)"
)
"""Names of columns that hold the classes of the items."""
NAMED_AS_WEIGHT = re.compile(
    r"(?i:(fnl|final|p|samp|sampling|survey|design|post|poststrat|person|hh|household|analysis|expansion|raked)[_ .-]?"
    r"(weight|weights|wgt|wght|wt)|freq|perwt|hhwt|wtfinl|wtssall|anweight|pspwght)"
)
"""Names of columns that say how many people or cases a row stands for; a ``weight`` alone may be a body's."""


NAMED_AS_ANGLE = re.compile(
    r"(?i)(.*[_ .-])?(wind[_ .-]?)?(dir(ection)?|angle|bearing|azimuth|heading|aspect|phase)([_ .-]?(deg(rees?)?|°))?"
)
"""Names of columns whose numbers from 0 to 360 may be degrees of a circle."""


SCALES = (
    "strongly disagree/totally disagree/completely disagree, disagree, somewhat disagree/slightly disagree, "
    "neutral/neither agree nor disagree/undecided, somewhat agree/slightly agree, agree, "
    "strongly agree/totally agree/completely agree",
    "never, almost never, rarely/seldom, occasionally, sometimes, often/frequently, very often, almost always, always",
    "none, very low, low, medium/moderate/average, high, very high",
    "very small, small, medium, large, very large",
    "very bad/very poor, bad/poor, fair, average/acceptable, good, very good, excellent",
    "very dissatisfied, dissatisfied, neutral, satisfied, very satisfied",
    "very unlikely, unlikely, neutral, likely, very likely",
    "none, mild, moderate, severe",
    "very unhappy, unhappy, neutral, happy, very happy",
    "f, e, d-, d, d+, c-, c, c+, b-, b, b+, a-, a, a+",
    "xxs, xs, s, m, l, xl, xxl, xxxl",
    "not at all, a little/slightly, somewhat, moderately, quite a bit, very/very much, extremely",
)
"""Answers in their order; a sign divides words of one place."""
CODES = (
    *(-one for one in (1, 7, 8, 9, 77, 88, 98, 99, 777, 888, 998, 999, 9999, 99999)),
    *(9, 77, 88, 97, 98, 99, 777, 888, 997, 998, 999, 7777, 8888, 9998, 9999, 99999),
)
"""Numbers that stand for missing cells in many surveys."""
CODE_WORDS = re.compile(
    r"(?i)unknown|un(specified|determined|classified)|refused|missing|dk|no (answer|response|data)|nr|none given"
    r"|(do not|don['’]?t) know|not (known|stated|reported|specified|recorded|given|applicable|available|answered)"
    r"|prefer not to (say|answer|disclose)|declined( to answer)?"
)
"""Words that do so."""
_END = r"[$€£]?(?P<{0}>\d+(?:,\d{{3}})*(?:\.\d+)?)(?P<{0}_k>k)?"
RANGE = re.compile(
    r"(?i)(?P<below><=?|≤|under |below |less than |up to )? ?(?P<more>>=?|≥|over |above |more than )? ?"
    rf"{_END.format('first')} ?(?:(?P<to>-|–|to) ?{_END.format('last')})?"
    r"(?P<plus>\+| and over| and older| or more| and more)?(?: ?[a-z%]{1,6})?"
)
"""A range of numbers, as answers are grouped."""


@dataclass(frozen=True)
class Reading:
    """A column as it is read, or why it is not read.

    Its type and values (float64 ``[N]``, NaN where a cell is missing) are None if it is not read. `why` it is left
    out, and whether its cells are the `names` of the items. What is wrong with a column that is rejected (`problem`),
    with its place, and what would read it all the same (`ways`). How it is read (`said`), where that is another way
    than its cells are written, and what may be `codes` of missing cells.
    """

    type: ColumnType | None = None
    values: NDArray[np.float64] | None = None
    why: str = ""
    names: bool = False
    problem: str = ""
    ways: tuple[str, ...] = ()
    said: str = ""
    codes: tuple[str | int, ...] = ()

    def saying(self, note: str) -> "Reading":
        """The column with one more note on how it is read."""
        return replace(self, said=f"{self.said}; {note}" if self.said else note)


def infer(cells: Cells, key: str, chosen: bool = False) -> Reading:
    """Read a column by the rules; `key`: the column as it is typed, `chosen`: the user names it, so it is no id."""
    name = (cells.table.names or [""] * (cells.j + 1))[cells.j]
    if not cells.present:
        return Reading(why="it holds no value")
    if cells.other is not None:
        return _foreign(cells, key, chosen)
    if cells.numbers is not None and not cells.category and not cells.is_coded:
        reading = _of_numbers(cells, key, name, chosen)
        may_be_rounded = np.abs(cells.numbers[~cells.missing]).max() >= EXACT
        if reading.type is None:
            return replace(reading, why=f"{reading.why}; {ROUNDED}") if may_be_rounded else reading
        reading = reading.saying(ROUNDED) if may_be_rounded and reading.type.levels else reading
        return reading if chosen else _warn_of_codes(cells, reading)
    codes, words = cells.values(spelled=True)
    note = ""
    if not cells.category and len(words) < cells.present and len(words) <= MOST:
        codes, words, note = merge_spellings(codes, words)
    if len(words) == 1:
        return Reading(why=f"every value is {quote(words[0])}")
    if cells.category:
        return _in_order(cells, codes, words) if cells.j in cells.table.orders else _as_levels(codes, words)
    reading = _of_words(cells, key, codes, words, chosen)
    levels = reading.type.levels if reading.type is not None else ()
    if note and levels:
        reading = reading.saying(f"{note} (data.types={{{key}:categorical}} reads words as they are written)")
    if scale := in_scale(levels):
        order = f"data.types={{{key}:{ORDINAL}}}"
        reading = reading.saying(f"its words have an order, {scale[0]} to {scale[-1]}, in which {order} reads them")
    missing = [word for word in levels if CODE_WORDS.fullmatch(word)]
    if missing and not chosen and len(levels) > len(missing) + 1:
        reading = _note_codes(reading, missing, int(np.isin(codes, [words.index(word) for word in missing]).sum()))
    if not cells.is_long or cells.numbers is None:
        return reading
    assert cells.text is not None
    way = f"data.types={{{key}:real}}"
    if reading.problem:
        return replace(reading, ways=(*reading.ways, f"{way} reads it as numbers, rounded"))
    if reading.type is None:
        return replace(reading, ways=(f"{way} would read it, rounded",))
    if not chosen and REPEATED_ID.search(name):
        return _repeated_id(key, *cells.values())
    shown = quote(str(cells.text[cells.first(~cells.missing)].as_py()))
    note = f"whole numbers such as {shown}, longer than a number keeps, are words ({way} reads them rounded)"
    return replace(reading, said=note)


def _warn_of_codes(cells: Cells, reading: Reading) -> Reading:
    """A column of numbers, with a note where some may be codes of missing cells: the only ones below 0, or apart from
    all others by more than these differ."""
    assert cells.numbers is not None
    present = cells.numbers[~cells.missing]
    if not {present.min(), present.max()} & {*CODES}:
        return reading
    different, rows = np.unique(present, return_counts=True)
    is_code = np.isin(different, CODES)
    ends = {"below": different < 0, "above": np.logical_and.accumulate(is_code[::-1])[::-1] & (different > 0)}
    for end, at in ends.items():
        rest = different[~at]
        if not at.any() or not is_code[at].all() or rows[at].sum() < FEW or len(rest) < 2:
            continue
        if end == "below" or different[at].min() - rest.max() >= rest.max() - rest.min():
            return _note_codes(reading, [int(number) for number in different[at]], int(rows[at].sum()))
    return reading


def _note_codes(reading: Reading, words: Sequence[str | int], rows: int) -> Reading:
    """A column with a note on words or numbers that may be codes of missing cells, and the rows that hold them."""
    *first, last = (quote(word) if isinstance(word, str) else str(word) for word in words)
    held = f"{', '.join(first)} and {last} stand in" if first else f"{last} stands in"
    said = f"{held} {rows} row{'s' * (rows > 1)}, as {'codes' if first else 'a code'} of missing cells may"
    return replace(reading.saying(said), codes=tuple(words))


def in_scale(words: Sequence[str]) -> list[str]:
    """The words of a column in the order that one of the `SCALES` gives them; empty where none does."""
    for scale in SCALES:
        places = {word: k for k, alike in enumerate(scale.split(", ")) for word in alike.split("/")}
        ordered = {places.get(word.casefold(), -1): word for word in words}
        # letters alone name groups more often than they are grades
        are_letters = {*map(str.casefold, words)} <= {*"abcdef"}
        if -1 not in ordered and len(ordered) == len(words) > 2 and not are_letters:
            return [ordered[k] for k in sorted(ordered)]
    if len(words) > 2 and _are_seasons(words):
        return sorted(words)
    ends = [_range_of(word) for word in words]
    if len(words) < 3 or any(end is None for end in ends):
        return []
    ranges = sorted((end, word) for end, word in zip(ends, words, strict=True) if end is not None)
    do_not_overlap = all(one[1] <= other[0] for (one, _), (other, _) in pairwise(ranges))
    return [word for _, word in ranges] if do_not_overlap else []


def _range_of(word: str) -> tuple[float, float] | None:
    """The ends of a range such as 18-24, <20k or 65 and over; None of any other word."""
    if (match := RANGE.fullmatch(word.strip())) is None:
        return None
    if [bool(match["below"]), bool(match["to"]), bool(match["more"] or match["plus"])].count(True) != 1:
        return None
    first, last = (
        float(match[end].replace(",", "")) * (1000 if match[f"{end}_k"] else 1) if match[end] else math.inf
        for end in ("first", "last")
    )
    if match["last_k"] and not match["first_k"]:
        first *= 1000
    if last < first and match["to"]:
        return None
    return (-math.inf, first) if match["below"] else (first, last)


def _repeated_id(key: str, codes: NDArray[np.int64], words: list[str]) -> Reading:
    """An id that stands in several rows: a column that is left out."""
    counts = np.bincount(codes[codes >= 0])
    often = f"{words[int(np.argmax(counts))]} stands in {counts.max()} rows"
    group = shell_word(f"data.group={key}")
    why = f"it is an id that repeats ({often}); each row is one item; {group} makes one item of the rows of each id"
    return Reading(why=why, ways=(f"data.types={{{key}:categorical}} would read it",))


def _of_numbers(cells: Cells, key: str, name: str, chosen: bool) -> Reading:
    """A column of numbers alone; parameters as of `infer`, and the name of the column."""
    assert cells.numbers is not None
    present = cells.numbers[~cells.missing]
    low, high = present.min(), present.max()
    if low == high:
        return Reading(why=f"every value is {quote(cells.values()[1][0])}")
    different, counts = np.unique(present, return_counts=True)
    whole = bool((different == np.floor(different)).all())
    if whole and len(different) == 2:
        return _as_levels(*cells.values())
    if not chosen and whole and (why := tells_apart(present, name, len(present) == len(cells.missing))) is not None:
        ways = () if why == "every value differs" else (f"data.types={{{key}:real}} would read it",)
        if why.startswith("it numbers groups"):
            ways = (f"{shell_word(f'data.group={key}')} makes one item of the rows of each",)
        return Reading(why=why, ways=ways)
    if not chosen and whole and _are_dates(different):
        ways = (f"data.types={{{key}:date}} reads it as days since 1970-01-01",)
        return Reading(why=f"it holds dates, as {low:.0f}", ways=ways)
    is_subject = len(different) > SOME and REPEATED_SUBJECT.fullmatch(name) is not None
    if not chosen and whole and len(different) < len(present) and (is_subject or REPEATED_ID.search(name)):
        return _repeated_id(key, *cells.values())
    consecutive = different[0] == 0 and different[-1] == len(different) - 1 > 2
    has_tail = consecutive and TAIL * counts[-1] < counts.sum() and 10 * counts[-1] <= counts.max()
    if whole and np.median(present) <= TYPICAL_COUNT and has_tail:
        return _as_numbers(cells, "count")
    most_values = SOME if low > 0 else SOME_FROM_0
    if whole and low >= 0 and high <= LARGEST_CODE and len(different) <= min(most_values, len(present) // 2):
        return _as_levels(*cells.values())
    if _are_levels(counts):
        note = f"{len(different)} different numbers, each in {counts.min()} rows at least, are read as categories"
        return replace(_as_levels(*cells.values()), said=f"{note} (data.types={{{key}:real}} reads them as numbers)")
    if whole and low >= 0 and high <= LARGEST_COUNT and np.median(present) <= TYPICAL_COUNT:
        return _as_numbers(cells, "count")
    reading = _as_numbers(cells, "real")
    if chosen or reading.type is None or reading.type.spike is None:
        return reading
    note = f"{counts.max() / len(present):.0%} of the rows hold {reading.type.spike[0]:.15g}"
    note += f": {COMPARED} (model=mixed model.zeros=apart); data.drop={shell_word(f'[{key}]')} leaves the column out"
    return replace(reading, said=note)


def _are_dates(different: NDArray[np.float64]) -> bool:
    """Whether whole numbers are days such as 20240131."""
    month, day = different // 100 % 100, different % 100
    known = (different >= 19_000_101) & (different <= 20_991_231) & (different == np.floor(different))
    known &= (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    return len(different) >= FEW and bool(known.all())


def _are_seasons(words: Sequence[str]) -> bool:
    """Whether words are years with the next one, such as 2005-06, and no months of years."""
    years = [re.fullmatch(r"(\d{4})[-/](\d{2})", word) for word in words]
    return all(match and (int(match[1]) + 1 - int(match[2])) % 100 == 0 for match in years)


def _are_levels(counts: NDArray[np.int64]) -> bool:
    """Whether values are so few, and each in so many rows, that they are categories whatever they are."""
    return bool(len(counts) <= MOST_NUMBERS and counts.min() >= max(FREQUENT, counts.sum() / (TAIL * len(counts))))


def tells_apart(values: NDArray[np.floating], name: str, complete: bool = True) -> str | None:
    """Describe a column of numbers, none of them NaN, that tells the rows apart and nothing else; None of a column of
    data. `complete`: no cell is missing."""
    named = NAMED_AS_ID.fullmatch(name) is not None
    if len(values) < FEW or name.strip().lower() in COORDINATES:
        return None
    first, last = float(values[0]), float(values[-1])
    if complete and last - first == len(values) - 1 and first.is_integer() and (np.diff(values) == 1).all():
        if first in (0, 1):
            return f"it counts the rows from {first:g}"
        if named or len(values) >= SOME:
            return f"it counts up by one from {first:g}"
    if not first.is_integer() or not (values == np.floor(values)).all():
        return None
    steps, size = np.diff(values), int(np.argmax(values != first))
    blocks = complete and first in (0, 1) and size > 1 and len(values) >= SOME * size and len(values) % size == 0
    ends = np.arange(1, len(values)) % max(size, 1) == 0
    if blocks and not MEASURES_TIME.fullmatch(name) and (steps == ends).all():
        return f"it numbers groups of {size} rows from {first:g}"
    if not named:
        return None
    if len(np.unique(values)) == len(values):
        return "every value differs"
    # as R's crabs number the animals of each species and sex
    restarts = steps != 1
    again = complete and FEW * restarts.sum() < len(values) and (values[1:][restarts] == first).all()
    return f"it counts the rows from {first:g}, again and again" if again else None


def read_as_type(cells: Cells, type: str) -> Reading:
    """Read a column as one of the types that data.types may name."""
    if type in DATE_TYPES:
        return _as_days(cells, type)
    if cells.other is not None:
        return _foreign(cells, column_key(cells.table, cells.j), True)
    if type in ("count", "real"):
        if cells.numbers is None and cells.are_decorated().any() and type == "real":
            return as_written(cells, cells.decimal or ".", "(data.types)")
        if cells.numbers is None:
            assert cells.text is not None and cells.is_number is not None
            i = cells.first(~(cells.is_number | cells.missing))
            expected = "a number" if type == "real" else "a whole number from 0"
            return Reading(problem=str(cells.table.error(i, cells.j, f"{expected} (data.types)")))
        reading = _as_numbers(cells, type)
        if reading.problem or not cells.is_long or cells.text is None:
            return reading
        i = cells.first(~cells.missing)
        shown = quote(str(cells.text[i].as_py()))
        return replace(reading, said=f"whole numbers such as {shown} are rounded, {cells.numbers[i]:.17g}")
    codes, words = cells.values(spelled=True)
    if type == "binary" and len(words) != 2:
        shown = ", ".join(words[:5]) + ", ..." * (len(words) > 5)
        problem = f"{cells.table.path}: {cells.table.column(cells.j)}: {len(words)} values ({shown}); expected 2"
        return Reading(problem=f"{problem} (data.types)")
    if type == ORDINAL and cells.numbers is None and (scale := in_scale(words)):
        cells.table.orders.setdefault(cells.j, scale)
    if type == ORDINAL and cells.j in cells.table.orders:
        return _in_order(cells, codes, words)
    if type == ORDINAL and cells.numbers is None:
        order = f"data.types={{{column_key(cells.table, cells.j)}:[{','.join(words[:5])}]}}, in their order"
        expected = f"numbers, whose order is known, or {order} (data.types)"
        return Reading(problem=str(cells.table.error(cells.first(~cells.missing), cells.j, expected)))
    if type == ORDINAL and len(words) > MOST:
        problem = f"{cells.table.path}: {cells.table.column(cells.j)}: {len(words)} levels; expected {MOST} at most"
        return Reading(problem=f"{problem} (data.types)")
    return _as_levels(codes, words, type)


def as_written(cells: Cells, decimal: str | None, prefix: str = "") -> Reading:
    """A column of numbers with currencies, percent signs, units or signs between thousands as real numbers. `decimal`
    stands before the decimals where the cells leave it open; messages say what asks for numbers (`prefix`). The table
    has the unit of the column, or receives it."""
    assert cells.text is not None
    numbers = numbers_written(cells.text, cells.missing, decimal, cells.table.units.get(cells.j, ""))
    if numbers.values is None:
        return Reading(problem=str(cells.table.error(numbers.row, cells.j, f"{numbers.expected} {prefix}".strip())))
    decorated, limits = cells.are_decorated(), cells.are_limits()
    i, unit = cells.first(decorated & ~limits), ""
    if numbers.unit:
        cells.table.units[cells.j] = numbers.unit
        other = decorated & ~cells.matches(rf"[^\pL°]{re.escape(numbers.unit)}$")
        i, unit = cells.first(other) if other.any() else i, f" {numbers.unit}"
    value = f"{numbers.values[i]:.6g}{unit}" if unit else f"{numbers.values[i]:.12g}"
    said = [f"cells such as {quote(str(cells.text[i].as_py()))} are read as numbers, {value}"]
    if limits.any():
        limit = str(cells.text[cells.first(limits)].as_py())
        way = f"{shell_word(f'data.missing={write([limit])}')} reads it as missing"
        said = said if (decorated & ~limits).any() else []
        several = "limits such as {} are" if limits.sum() > 1 else "limit, {}, is"
        said.append(f"{limits.sum()} {several.format(quote(limit))} read as the number behind the sign ({way})")
        # equal cells among others that differ are what a cluster is made of
        said[-1] += "; rows with this number may become a cluster" * bool(limits.sum() >= FREQUENT)
    reading = _as_numbers(replace(cells, numbers=numbers.values), "real")
    return replace(reading, said="; ".join(said))


def _as_days(cells: Cells, type: str) -> Reading:
    """A column of dates as days since 1970-01-01."""
    days = days_of_column(cells.table.cells(cells.j)) if cells.other == "date" else None
    if days is None:
        text = cells.text
        if text is None and cells.numbers is not None and _are_dates(cells.numbers[~cells.missing]):
            text = cells.table.cells(cells.j).cast("int64").cast("string")
        if text is None:
            i = cells.first(~cells.missing)
            return Reading(problem=str(cells.table.error(i, cells.j, "a date (data.types)")))
        dates = days_written(text, cells.missing, type)
        if dates.values is None:
            return Reading(problem=str(cells.table.error(dates.row, cells.j, f"{dates.expected} (data.types)")))
        days = dates.values
    days = np.where(cells.missing, np.nan, days)
    return replace(_as_numbers(replace(cells, numbers=days), "real"), said="dates are days since 1970-01-01")


def _as_levels(codes: NDArray[np.int64], words: list[str], type: str | None = None) -> Reading:
    # in their order the 0 of two comes first: 0 and 1, false and true, no and yes, n and y, off and on
    type = type or ("binary" if len(words) == 2 else "categorical")
    return Reading(ColumnType(type, tuple(words)), np.where(codes >= 0, codes, np.nan).astype(np.float64))


def _in_order(cells: Cells, codes: NDArray[np.int64], words: list[str]) -> Reading:
    """A column of words whose order the table has; levels that no row holds are left out."""
    order = cells.table.orders[cells.j]
    places = np.array([Levels(order).code(word) for word in words], dtype=np.float64)
    if (unknown := np.isnan(places)).any():
        i = cells.first(codes == int(unknown.argmax()))
        return Reading(problem=str(cells.table.error(i, cells.j, f"one of {', '.join(order)} (data.types)")))
    held, ranks = np.unique(places, return_inverse=True)
    levels, without = [order[int(k)] for k in held], [word for k, word in enumerate(order) if k not in held]
    said = f"levels that no row holds: {', '.join(without)}" if without else ""
    values = np.where(codes >= 0, ranks[codes], -1)
    return replace(_as_levels(values, levels, "binary" if len(levels) == 2 else ORDINAL), said=said)


def _as_numbers(cells: Cells, type: str) -> Reading:
    assert cells.numbers is not None
    values = cells.numbers
    good = np.abs(values) <= MAGNITUDE
    expected = FINITE
    if type == "count":
        good = (values >= 0) & (values <= LARGEST) & (values == np.floor(values))
        expected = "a whole number from 0 (data.types)"
    if (bad := ~(good | cells.missing)).any():
        return Reading(problem=str(cells.table.error(cells.first(bad), cells.j, expected)))
    return Reading(ColumnType(type, spike=find_spike(values) if type == "real" else None), values)


def find_spike(column: NDArray[np.float64]) -> tuple[float, float] | None:
    """The number that so many cells of a column hold that it may have a probability of its own, and the least
    difference between two that are not one number with rounding errors; None without such a number, or another two."""
    cells = column[~np.isnan(column)]
    numbers, rows = np.unique(cells, return_counts=True)
    if len(numbers) < 3:
        return None
    # a scale of few numbers has many rows at each
    more, most = np.sort(rows)[-2:]
    bars = ((share * len(cells), times * more) for share, times in ((SPIKE, MORE), (RARE, ALONE)))
    if most < max(MOST_NUMBERS, min(map(max, bars))):
        return None
    steps = np.diff(numbers)
    return float(numbers[rows.argmax()]), float(steps[steps > ROUNDED_STEP * (numbers[-1] - numbers[0])].min())


def _of_words(cells: Cells, key: str, codes: NDArray[np.int64], words: list[str], chosen: bool) -> Reading:
    """A column of text that is not of numbers alone."""
    table, j, present = cells.table, cells.j, cells.present
    assert cells.is_number is not None
    as_categories = f"data.types={{{key}:categorical}} reads it as categories"
    if 2 * (dates := cells.matches(DATE)).sum() >= present and not _are_seasons(words):
        return _dates(cells, key, chosen, cells.first(dates))
    if len(words) == 2:
        return _as_levels(codes, words)
    numeric = int(cells.is_number.sum())
    mixture = f"numbers and words, {len(words)} different ones in {present} rows"
    decorated, limits = cells.are_decorated(), cells.are_limits()
    few = len(words) <= SOME and REPEATED * len(words) <= present
    few |= _are_levels(np.bincount(codes[codes >= 0]))
    if 2 * (numeric + decorated.sum()) >= present and decorated.any() and not (few and limits.any()):
        reading = as_written(cells, cells.decimal)
        if reading.problem:
            as_points = [f"data.types={{{key}:real}} reads points as decimal ones"] * ("points" in reading.problem)
            return replace(reading, ways=(*as_points, *_as_missing(cells, decorated), as_categories))
        # doses may be categories, and rooms counts, as they would be without their unit
        if j in table.units and reading.values is not None:
            alone = _of_numbers(replace(cells, numbers=reading.values, text=None), key, "", True)
            said = f"{reading.said}; {alone.said}" if alone.said else reading.said
            reading = reading if alone.type is None else replace(alone, said=said)
        return reading
    if numeric < present and 2 * numeric >= present and not cells.is_coded:
        if few:
            return replace(_as_levels(codes, words), said=f"{mixture}, are read as categories")
        i = cells.first(~(cells.is_number | cells.missing))
        expected = f"a number, as in {numeric} of {present} rows"
        return Reading(problem=str(table.error(i, j, expected)), ways=(*_as_missing(cells, decorated), as_categories))
    if sum(map(len, words)) > LONG * len(words) and len(words) > SOME:
        if chosen:
            description = f"free text, {len(words)} different ones; expected words of a few kinds"
            return _reject(cells, description, as_documents(cells.table, key))
        return Reading(why=f"it holds free text, {len(words)} different cells", ways=(as_documents(cells.table, key),))
    if len(words) == present:
        # merged cells hold their value in the first of their rows
        merged = not cells.missing[0] and 2 * present <= len(cells.missing)
        ways = ("if cells are merged, write each value into all of its rows",) * merged
        return Reading(why="every value differs", names=True, ways=ways)
    most_words = max(SOME, min(MOST, present // 2))
    # one word among many numbers marks cells without a number, such as times of events that have not come
    is_marked = len(words) > SOME and len(np.unique(codes[cells.is_number])) == len(words) - 1
    as_missing = _as_missing(cells, decorated) if is_marked else ()
    marked = [way.replace("it as missing", "the numbers alone") for way in as_missing]
    if len(words) <= most_words:
        if marked:
            return replace(_as_levels(codes, words), said=f"{mixture}, are read as categories: {marked[0]}")
        counts = np.bincount(codes[codes >= 0])
        if chosen or len(words) <= SOME or counts.min() < max(2, counts.max()):
            return _as_levels(codes, words)
        group = shell_word(f"data.group={key}")
        again = f"each of {len(words)} words stands in {counts[0]} rows, as in repeated measurements"
        return replace(_as_levels(codes, words), said=f"{again}: {group} keeps the rows of each together")
    description = mixture if marked else f"{len(words)} different words in {present} rows"
    if chosen:
        return _reject(cells, f"{description}; expected at most {most_words}", as_categories)
    is_names = len(words) >= NEARLY_ALL * present
    return Reading(why=f"{description}, more than {most_words}", names=is_names, ways=(*marked, as_categories))


def _as_missing(cells: Cells, decorated: NDArray[np.bool_]) -> Iterator[str]:
    """The option that reads the first word among numbers as missing, where it is one word, perhaps with a unit."""
    assert cells.text is not None and cells.is_number is not None
    words = ~(cells.is_number | decorated | cells.missing)
    word = str(cells.text[cells.first(words)].as_py()) if words.any() else ""
    if re.fullmatch(r"[\w.-]+( [\w.%/-]+)?", word, re.ASCII):
        yield f"data.missing={write([word]) if ' ' in word else f'[{word}]'} reads it as missing"


def as_documents(table: Table, key: str) -> str:
    """The command that reads a column as documents."""
    keys = f"data=corpus {shell_word(f'data.columns=[{key}]')}"
    return table.command_or_call(keys, f'sample("hdp", data["{key}"])') + " reads it as documents"


def _reject(cells: Cells, description: str, *ways: str) -> Reading:
    """Reject a column for `description`, at its first cell."""
    return Reading(problem=f"{cells.table.place(cells.first(~cells.missing), cells.j)}: {description}", ways=ways)


def _foreign(cells: Cells, key: str, chosen: bool) -> Reading:
    if cells.other == "date":
        return _dates(cells, key, chosen, cells.first(~cells.missing))
    return _reject(cells, f"the column holds {cells.other}")


def _dates(cells: Cells, key: str, chosen: bool, i: int) -> Reading:
    """A column of dates or times, row `i` one of them: left out, rejected where it is `chosen`."""
    days = days_of_column(cells.table.cells(cells.j)) is not None or cells.matches(DAY).any()
    description, ways = "times", tuple[str, ...]()
    if days:
        description, ways = "dates", (f"data.types={{{key}:date}} reads it as days since 1970-01-01",)
    if chosen:
        return Reading(problem=f"{cells.table.place(i, cells.j)}: no model reads {description}", ways=ways)
    return Reading(why=f"it holds {description}, as {cells.table.show_cell(i, cells.j)}", ways=ways)
