"""The cells of a column: which are missing, which are numbers, which values there are, and the units behind numbers:
factors such as k and M, one unit in all cells, or units of one quantity.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from splitmerge_cli.data.arrow import array_of, numbers_of
from splitmerge_cli.data.tables import table as tables
from splitmerge_cli.data.tables.table import Table
from splitmerge_cli.data.tables.text import Text
from splitmerge_cli.data.values import require

NONE = "None"
"""Word of `WRITTEN` that may be a level (`splitmerge_cli.data.tables.cells.find_none_levels`)."""


def read_option(missing: object) -> list[str | int | float]:
    """Read the option data.missing as a list; one value may stand without its brackets."""
    if missing is None:
        return []
    listed = [missing] if isinstance(missing, str | int | float) else missing
    good = isinstance(listed, Sequence) and all(type(v) in (str, int, float) for v in listed)
    require(good, "data.missing", missing, "the contents of missing cells, such as [-99,unknown]")
    return list(listed)  # type: ignore[call-overload]


def in_text(
    cells: pa.ChunkedArray, also: Sequence[str | int | float] = (), has_none: bool = False
) -> NDArray[np.bool_]:
    """Which cells of text, spaces around them stripped, are missing; numbers of `also` are looked for `in_numbers`, and
    ``None`` is a level if the column `has_none`."""
    known = array_of([*(word for word in tables.WRITTEN if not has_none or word != NONE), *map(str, also)], cells.type)
    is_missing: NDArray[np.bool_] = numbers_of(pc.or_(pc.is_null(cells), pc.is_in(cells, known)))
    return is_missing


def in_numbers(values: NDArray[np.floating], also: Sequence[str | int | float] = ()) -> NDArray[np.bool_]:
    """Which numbers are missing: NaN, and the numbers in `also`."""
    is_missing = np.isnan(values)
    for value in also:
        try:
            is_missing |= values == float(value)
        except (ValueError, OverflowError):  # a word
            continue
    return is_missing


def mark_missing(x: NDArray[Any], also: Sequence[str | int | float]) -> NDArray[Any]:
    """Put NaN in place of the numbers of `also`; an array without any of them is returned as it is."""
    is_marked = in_numbers(x, also) & ~np.isnan(x) if also else np.zeros(0, dtype=bool)
    return np.where(is_marked, np.nan, x) if is_marked.any() else x


def note_missing(table: Table, read: Sequence[int], values: NDArray[np.floating]) -> None:
    """Let a table note which of the columns `read` have missing cells, and how many; `values`: ``[rows, columns]``."""
    absent = np.isnan(values)
    if not absent.any():
        return
    columns: list[int] = np.flatnonzero(absent.any(axis=0)).tolist()
    names = table.names
    counted = [f"{names[read[d]] if names else f'column {read[d] + 1}'} {int(absent[:, d].sum())}" for d in columns]
    nothing = int(absent.all(axis=1).sum())
    empty = f"; rows without any value: {nothing}" if nothing else ""
    table.note(f"missing cells: {tables.list_names(counted)}{empty}")


FACTORS = {"k": 1e3, "K": 1e3, "M": 1e6, "mn": 1e6, "Mio": 1e6, "G": 1e9, "B": 1e9, "bn": 1e9, "T": 1e12}
"""Letters that stand for thousands, millions and so on."""
NEXT_TO_FACTORS = {"m": 1e6, "b": 1e9}
"""Letters that do so next to one of the `FACTORS`."""
SECONDS_OF_DAY, SECONDS_OF_YEAR = 86_400.0, 86_400.0 * 365.25
QUANTITIES: tuple[dict[str, float], ...] = (
    {"nm": 1e-9, "µm": 1e-6, "um": 1e-6, "mm": 1e-3, "cm": 1e-2, "dm": 0.1, "m": 1.0, "km": 1e3}
    | {"in": 0.0254, "inch": 0.0254, "ft": 0.3048, "feet": 0.3048, "yd": 0.9144, "mi": 1609.344, "mile": 1609.344},
    {"µg": 1e-6, "ug": 1e-6, "mg": 1e-3, "g": 1.0, "kg": 1e3, "t": 1e6, "oz": 28.349523125, "lb": 453.59237},
    {"ms": 1e-3, "s": 1.0, "sec": 1.0, "second": 1.0, "min": 60.0, "minute": 60.0, "h": 3600.0, "hr": 3600.0}
    | {"hour": 3600.0, "d": SECONDS_OF_DAY, "day": SECONDS_OF_DAY, "wk": 7 * SECONDS_OF_DAY, "week": 7 * SECONDS_OF_DAY}
    | {
        "mo": SECONDS_OF_YEAR / 12,
        "month": SECONDS_OF_YEAR / 12,
        "y": SECONDS_OF_YEAR,
        "yr": SECONDS_OF_YEAR,
        "year": SECONDS_OF_YEAR,
    },
    {"µl": 1e-6, "ul": 1e-6, "ml": 1e-3, "cl": 1e-2, "dl": 0.1, "l": 1.0, "hl": 100.0},
    {"m/s": 1.0, "km/h": 1 / 3.6, "kmh": 1 / 3.6, "mph": 0.44704, "kn": 1852 / 3600},
    {"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12},
    {"k": 1.0, "°k": 1.0, "°c": 1.0, "c": 1.0, "°f": 5 / 9, "f": 5 / 9},
)
"""The units of each quantity, with the number of a common unit that each of them is."""
ZERO = {"°c": 273.15, "c": 273.15, "°f": 459.67 * 5 / 9, "f": 459.67 * 5 / 9}
"""Kelvin at zero of a scale of temperatures."""
_FEET = r"^(\d+) ?(?:['′’]|ft\.?|feet|foot) ?"
FEET_AND_INCHES = _FEET + r"""((?:1[01]|\d)(?:[.,]\d+)?) ?(?:["″”]|''|′′|in\.?|inch(?:es)?)?$"""
"""Feet and fewer than 12 inches: 5'7", 5 ft 7 in; of more they would be minutes and seconds."""
FEET = r"^(\d+) ?['′’]()$"
"""Feet alone, in a column of these."""
DIGITS = 12
"""Digits of a converted number, so that 1.58 m are 158 cm."""


def are_read(units: Collection[str], bare: bool) -> bool:
    """Whether a column with these units, and perhaps `bare` numbers, is one of numbers: the units are factors, one unit
    in all cells, or known ones. Single letters of several quantities may be codes.

    >>> are_read({"cm", "m"}, False), are_read({"k", "M"}, True), are_read({"A", "B"}, False), are_read({"a"}, True)
    (True, True, False, False)
    """
    names = set(map(_name, units))
    quantities = [quantity for quantity in QUANTITIES if not quantity.keys().isdisjoint(names)]
    if are_factors(units) or (len(names) == 1 and not bare):
        return True
    is_known = names <= {name for quantity in quantities for name in quantity}
    has_words = max(map(len, names)) > 1
    return is_known and (has_words or (len(quantities) == 1 and not bare))


def are_factors(units: Collection[str]) -> bool:
    """Whether letters behind numbers are factors: 586k and 1.5M, but not 300 K alone."""
    letters = {unit.strip(" .") for unit in units if unit}
    is_kelvin = set(units) == {" K"}
    return not is_kelvin and not letters.isdisjoint(FACTORS) and letters <= FACTORS.keys() | NEXT_TO_FACTORS.keys()


def commonest(units: Sequence[str], rows: Sequence[int]) -> str:
    """The unit in most rows, the first of several; `rows` hold each of the units. Empty without units."""
    counts = Counter[str]()
    for unit, n in zip(units, rows, strict=True):
        counts[_name(unit)] += n if unit else 0
    name = max(counts, key=counts.__getitem__, default="")
    return next((unit.strip() for unit in units if unit and _name(unit) == name), "")


def is_convertible(unit: str, base: str) -> bool:
    """Whether both are one unit, or of one quantity."""
    names = {_name(unit), _name(base)}
    return len(names) == 1 or any(names <= quantity.keys() for quantity in QUANTITIES)


def convert(value: float, unit: str, base: str) -> float:
    """Convert a number of a unit to another.

    >>> convert(1.58, "m", "cm"), convert(68, "°F", "°C")
    (158.0, 20.0)
    """
    name, to = _name(unit), _name(base)
    if name == to:
        return value
    sizes = next(quantity for quantity in QUANTITIES if {name, to} <= quantity.keys())
    return float(f"{(value * sizes[name] + ZERO.get(name, 0.0) - ZERO.get(to, 0.0)) / sizes[to]:.{DIGITS}g}")


def join_feet(words: list[str]) -> list[str]:
    """Write feet and inches as inches, if a word holds both.

    >>> join_feet(["5′7″", "6′", "170 cm"])
    ['67 in', '72 in', '170 cm']
    """
    if not any(re.fullmatch(FEET_AND_INCHES, word) for word in words):
        return words
    found = [re.fullmatch(FEET_AND_INCHES, word) or re.fullmatch(FEET, word) for word in words]
    return [
        f"{12 * int(parts[1]) + float(parts[2].replace(',', '.') or 0):.{DIGITS}g} in" if parts else word
        for parts, word in zip(found, words, strict=True)
    ]


def multiply(value: float, unit: str) -> float:
    """Multiply a number by the factor behind it, if there is one."""
    letter = unit.strip(" .")
    return float(f"{value * (FACTORS | NEXT_TO_FACTORS)[letter]:.{DIGITS}g}") if letter else value


def _name(unit: str) -> str:
    """A unit as `QUANTITIES` names it, in the singular."""
    name = unit.replace(" ", "").removesuffix(".").casefold().replace("μ", "µ")
    single = name.removesuffix("es") if name == "inches" else name.removesuffix("s")
    return single if len(name) > 2 and any(single in quantity for quantity in QUANTITIES) else name


_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_TIME = r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[ap]m)?( ?(z|utc|[-+]\d{2}:?\d{2}))?"
_DAY = (
    r"(\d{4}-\d{1,2}-\d{1,2}|\d{4}/\d{1,2}/\d{1,2}|\d{1,2}/\d{1,2}/(\d{4}|\d{2})|\d{1,2}\.\d{1,2}\.(\d{4}|\d{2})"
    rf"|\d{{1,2}}-\d{{1,2}}-\d{{4}}|\d{{1,2}}[-. ]*{_MONTH}[-., ]*(\d{{4}}|\d{{2}})|{_MONTH} ?\d{{1,2}},? ?\d{{4}}"
    rf"|\d{{4}}[-/](0[1-9]|1[0-2])|{_MONTH}[-., ]*\d{{4}}|\d{{4}}[- ]?q[1-4])"
)
DATE = rf"(?i)^({_DAY}([t ,]+{_TIME})?|{_TIME})$"
"""Dates, months, quarters and times of day as they are written."""
DAY = rf"(?i)^{_DAY}"
"""Dates alone."""
PADDED = r"^0\d+$"
"""Digits that are no number: their zeros at the front tell them apart."""
_NO_LEVELS = rf"(?i)^({tables.NUMBER.pattern}|true|false)$|{DATE}|{tables.DECORATED}"
"""Cells among which Python writes ``None`` for a missing one."""
_BEFORE_UNIT = rf"^(?:{tables.LIMIT})?[-+−]?[{tables.CURRENCY}]? ?(\d[\d.,'’ \x{{a0}}\x{{202f}}]*\d|\d|[.,]\d+)"
_UNIT = rf"( ?°?\pL[\pL/²³]{{0,8}}\.?) ?[{tables.CURRENCY}]?$"
"""A number before its unit, and the unit."""


@dataclass(frozen=True)
class Cells:
    """The cells of column `j` in a table: which are missing (bool ``[N]``), and the numbers (float64 ``[N]``, NaN where
    a cell is missing; None of words).

    Of text the cells without spaces around them, and which of them are numbers; whole numbers that lose digits as
    float64 are text whatever their type is. What else the column holds (`other`: ``date``, or the name of its type), so
    that it is read as nothing; whether the file says that its values are true and false (`boolean`), a cell is of
    digits that begin with 0 (`is_padded`), or of more digits than float64 keeps (`is_long`).
    """

    table: Table
    j: int
    missing: NDArray[np.bool_]
    numbers: NDArray[np.float64] | None
    text: pa.ChunkedArray | None = None
    is_number: NDArray[np.bool_] | None = None
    other: str | None = None
    boolean: bool = False
    is_padded: bool = False
    is_long: bool = False

    @property
    def is_coded(self) -> bool:
        """Whether digits are codes, each of which is a word: some begin with 0, or lose digits as a number."""
        return self.is_padded or self.is_long

    @property
    def category(self) -> bool:
        """Whether the file declares its values to be categories."""
        return self.j in self.table.categories

    @property
    def decimal(self) -> str | None:
        """The decimal comma where the numbers of the file have one; else None."""
        return "," if isinstance(self.table, Text) and self.table.decimal == "," else None

    @property
    def present(self) -> int:
        """Number of cells that are not missing."""
        return int(len(self.missing) - self.missing.sum())

    def first(self, which: NDArray[np.bool_]) -> int:
        """The first row for which `which` holds."""
        return int(np.argmax(which))

    def matches(self, pattern: str) -> NDArray[np.bool_]:
        """Which cells of text match a regular expression; of other columns none."""
        if self.text is None:
            return np.zeros(len(self.missing), dtype=bool)
        is_match: NDArray[np.bool_] = numbers_of(pc.match_substring_regex(self.text, pattern), False)
        return is_match & ~self.missing

    def are_decorated(self) -> NDArray[np.bool_]:
        """Which cells are numbers, but not of digits alone: with a currency, a percent sign, a unit and the like; with
        the sign of a limit where all cells are numbers, or half of them are without that sign."""
        is_number = np.zeros(len(self.missing), dtype=bool) if self.is_number is None else self.is_number
        feet = self.matches(FEET_AND_INCHES)
        feet |= self.matches(FEET) & feet.any()
        decorated = self.matches(tables.DECORATED) & ~is_number & ~feet
        has_unit = self.matches(_BEFORE_UNIT + _UNIT) & ~decorated & ~is_number & ~feet
        limits = self.are_limits()
        numbers = decorated | has_unit | is_number | feet
        if 2 * (numbers & ~limits).sum() < self.present and numbers.sum() < self.present:
            decorated, has_unit = decorated & ~limits, has_unit & ~limits
        if self.text is None or not (has_unit | feet).any():
            return decorated
        own = pc.unique(pc.replace_substring_regex(self.text.filter(array_of(has_unit)), _BEFORE_UNIT + _UNIT, r"\2"))
        bare = bool((decorated | is_number).any())
        names = own.to_pylist() + ["in"] * bool(feet.any())
        return decorated | has_unit | feet if are_read(names, bare) else decorated

    def are_limits(self) -> NDArray[np.bool_]:
        """Which cells begin with the sign of a limit."""
        return self.matches(f"^{tables.LIMIT}")

    def values(self, spelled: bool = False) -> tuple[NDArray[np.int64], list[str]]:
        """Code of every cell (-1 where it is missing), and what the codes stand for, in ascending order as numbers, or
        in alphabetical order; `spelled`: 1.1 and 1.10 are two values, as categories may be."""
        if self.numbers is None or self.is_coded:
            return self._words(sorted)
        codes = np.full(len(self.missing), -1, dtype=np.int64)
        is_present = ~self.missing
        values, codes[is_present] = np.unique(self.numbers[is_present], return_inverse=True)
        if self.text is not None:
            as_written = self._words(partial(sorted, key=lambda word: (float(self._with_point(word)), word)))
            if spelled or len(as_written[1]) == len(values):
                return as_written
        return codes, [_as_word(value, self.boolean) for value in values.tolist()]

    def _words(self, order: Callable[[list[str]], list[str]]) -> tuple[NDArray[np.int64], list[str]]:
        """Codes and values as of `values`, of the cells as they are written; 1.0 is 1, as tables write it with gaps."""
        assert self.text is not None
        is_present = ~self.missing
        text = self.text.filter(array_of(is_present))
        if self.numbers is not None and not self.is_coded:
            text = pc.replace_substring_regex(text, r"^([-+]?\d+)[.,]0$", r"\1")
        appeared, words = tables.encode(text)
        ordered = order(words)
        position = {word: k for k, word in enumerate(ordered)}
        codes = np.full(len(self.missing), -1, dtype=np.int64)
        codes[is_present] = np.array([position[word] for word in words], dtype=np.int64)[appeared]
        return codes, [self._with_point(word) for word in ordered]

    def _with_point(self, word: str) -> str:
        """A number with a decimal point, whatever the file has; a word as it is."""
        return word if self.numbers is None or self.decimal is None or "." in word else word.replace(self.decimal, ".")


def _as_word(value: float, boolean: bool) -> str:
    if boolean:
        return "true" if value else "false"
    return str(int(value)) if value.is_integer() and abs(value) < tables.EXACT else repr(value)


def find_none_levels(table: Table, columns: Sequence[int], also: Sequence[str | int | float]) -> list[int]:
    """The columns of words in which ``None`` is a level; a note names them. Among numbers, dates, true and false it is
    a missing cell, as Python writes it, and then in columns of words, too; so it is where no other word comes twice."""
    levels, of_words, elsewhere = list[int](), list[int](), list[int]()
    for j in columns if NONE not in map(str, also) else ():
        column = table.cells(j)
        if not tables.is_text(column) or not pc.any(pc.match_substring_regex(column, rf"^\s*{NONE}\s*$")).as_py():
            continue
        cells = cells_of(table, j, also)
        if j in table.categories:  # declared by the table itself
            levels.append(j)
        elif cells.matches(_NO_LEVELS).any():
            elsewhere.append(j)
        elif len(cells.values()[1]) < cells.present:
            of_words.append(j)
    if of_words and elsewhere:
        names = tables.list_names([tables.column_key(table, j) for j in elsewhere])
        table.note(f"None is a missing cell in columns of words, too, as in {names}")
    levels += [] if elsewhere else of_words
    if levels:
        names = tables.list_names([tables.column_key(table, j) for j in levels])
        table.note(f"None is a level of {names} (data.missing=[None] reads it as missing)")
    return levels


def cells_of(table: Table, j: int, also: Sequence[str | int | float] = (), has_none: bool = False) -> Cells:
    """The cells of column `j`; `also`: what else stands for a missing one; `has_none`: ``None`` is a level."""
    column = table.cells(j)
    if not tables.is_text(column) and (digits := tables.long_digits(column)) is not None:
        column = digits
    kind, types = column.type, pa.types
    if tables.is_text(column):
        return _of_text(table, j, column, also, has_none)
    if types.is_null(kind):
        return Cells(table, j, np.ones(len(column), dtype=bool), np.full(len(column), np.nan))
    if not tables.is_of_numbers(column):
        dated = types.is_temporal(kind)
        absent = numbers_of(pc.is_null(column))
        return Cells(table, j, absent, None, other="date" if dated else str(kind))
    numbers = numbers_of(pc.cast(column, pa.float64(), safe=False), np.nan)
    absent = in_numbers(numbers, also)
    return Cells(table, j, absent, np.where(absent, np.nan, numbers), boolean=types.is_boolean(kind))


def _of_text(table: Table, j: int, column: pa.ChunkedArray, also: Sequence[str | int | float], has_none: bool) -> Cells:
    text = pc.utf8_trim_whitespace(column)
    absent = in_text(text, also, has_none)
    none = pa.nulls(1, text.type)[0]
    plain = pc.if_else(array_of(absent), none, text)
    if isinstance(table, Text) and table.decimal != ".":
        with_comma = pc.match_substring_regex(plain, r"^[-+]?\d*,\d+([eE][-+]?\d+)?$")
        plain = pc.if_else(with_comma, pc.replace_substring(plain, table.decimal, "."), plain)
    numeric = pc.match_substring_regex(plain, f"(?i)^({tables.NUMBER.pattern})$")
    is_number: NDArray[np.bool_] = numbers_of(numeric, False)
    cells = Cells(table, j, absent, None, text, is_number)
    if not is_number.any():
        return cells
    is_padded, is_long = bool(cells.matches(PADDED).any()), tables.has_long_digits(plain)
    numbers = numbers_of(pc.cast(pc.if_else(numeric, plain, none), pa.float64()), np.nan)
    if also and not (is_padded or is_long):  # -99.0 is the missing -99, too
        absent = absent | (in_numbers(numbers, also) & is_number)
        numbers = np.where(absent, np.nan, numbers)
    whole = bool((is_number | absent).all())
    return Cells(table, j, absent, numbers if whole else None, text, is_number, is_padded=is_padded, is_long=is_long)
