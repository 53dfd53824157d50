"""Numbers and days as people write them: currencies, percentages, units, signs between thousands, dates.

A column is converted as a whole or not at all: its cells have to agree on the sign before the decimals, on the currency
and on whether they are percentages. What stays open, as in a column of nothing but ``1.200 €``, is asked about.
Units of one quantity are converted to the commonest.
"""

import re
from datetime import date
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from splitmerge_cli.data.arrow import array_of
from splitmerge_cli.data.tables import cells, table

_CURRENCY = r"R\$|[$€£¥₹]|eur|usd|gbp|chf|jpy|inr|aud|cad"
_NUMBER = re.compile(
    rf"""(?:[<>≤≥]=?\ ?)?(?P<open>\()?(?P<sign>[-+−])?\ ?(?P<before>{_CURRENCY})?\ ?(?P<inner>[-+−])?
    (?P<digits>[0-9][0-9.,'’\ \xa0\u202f]*?|[.,][0-9]+)(?P<unit>\ ?°?[^\W\d_](?:[^\W\d_]|[/²³]){{0,8}}\.?)??
    \ ?(?P<after>%|{_CURRENCY})?(?P<close>\))?""",
    re.VERBOSE | re.IGNORECASE,
)
_THOUSANDS = r"'’ \xa0\u202f"
_BY_DECIMAL = {
    decimal: re.compile(
        rf"(\d+|\d{{1,3}}(?:([{other}{_THOUSANDS}])\d{{3}})(?:\2\d{{3}})*)?({re.escape(decimal)}\d+)?", re.ASCII
    )
    for decimal, other in ((".", ","), (",", "."))
}
"""How digits are written where a point or a comma stands before the decimals."""
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_TIME = r"(?:[t ,]+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:[.,]\d+)?))? ?(?P<half>[ap]m)?.*)?"
_FORMS = tuple(
    re.compile(form + _TIME, re.IGNORECASE | re.ASCII)
    for form in (
        r"(?P<year>\d{4})(?:-(?P<month>\d{1,2})-|/(?P<month2>\d{1,2})/)(?P<day>\d{1,2})",
        r"(?P<year>(?:19|20)\d{2})(?P<month>\d{2})(?P<day>\d{2})",
        r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4}|\d{2})",
        r"(?P<first>\d{1,2})(?P<cut>[/-])(?P<second_>\d{1,2})(?P=cut)(?P<year>\d{4}|\d{2})",
        r"(?P<day>\d{1,2})[-. ]*(?P<name>[a-z]{3})[a-z]*\.?[-., ]*(?P<year>\d{4}|\d{2})",
        r"(?P<name>[a-z]{3})[a-z]*\.? ?(?P<day>\d{1,2}),? ?(?P<year>\d{4})",
        r"(?P<year>\d{4})[-/](?P<month>0[1-9]|1[0-2])",
        r"(?P<name>[a-z]{3})[a-z]*\.?[-., ]*(?P<year>\d{4})",
        r"(?P<year>\d{4})[- ]?q(?P<quarter>[1-4])",
    )
)
DATE_TYPES = ("date", "date_dmy", "date_mdy")
"""Types of data.types that are read as days; the last two say what stands first in 3/4/2020."""
EPOCH = date(1970, 1, 1).toordinal()
PIVOT = 69
"""Years of two digits from here on are of the last century, as POSIX has it."""


class Written(NamedTuple):
    """A converted column: float64 ``[N]``, NaN where a cell is missing, and their unit, if any; without values, the
    first row that stands against it and what was expected there."""

    values: NDArray[np.float64] | None
    row: int = 0
    expected: str = ""
    unit: str = ""


def _by_word(
    text: pa.ChunkedArray, missing: NDArray[np.bool_]
) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
    """The different cells, the code of each cell (-1: missing), and the first row of each."""
    codes = np.full(len(missing), -1, dtype=np.int64)
    codes[~missing], words = table.encode(text.filter(array_of(~missing)))
    first = np.full(len(words), len(codes), dtype=np.int64)
    np.minimum.at(first, codes[~missing], np.flatnonzero(~missing))
    return list(map(str, words)), codes, first


def _spread(values: list[float], codes: NDArray[np.int64], unit: str = "") -> Written:
    return Written(np.append(np.array(values, dtype=np.float64), np.nan)[codes], unit=unit)


def numbers_written(
    text: pa.ChunkedArray, missing: NDArray[np.bool_], decimal: str | None = None, unit: str = ""
) -> Written:
    """Convert numbers with a currency, a percent sign, a unit, signs between thousands, or brackets for a minus. The
    decimal sign is the one with which every cell is a number. Where both are, it is `decimal` or, without that, commas
    alone stand between thousands (``1,200``), and points alone are asked about (``1.200 €``). 12% becomes 12, and <0.5
    becomes 0.5. The cells of the text have no spaces around them. Units become `unit`, by default the commonest.

    >>> import numpy as np, pyarrow as pa
    >>> cells = pa.chunked_array([["$1,200.50", "-$3", "($7)"]])
    >>> numbers_written(cells, np.zeros(3, dtype=bool)).values
    array([1200.5,   -3. ,   -7. ])
    """
    words, codes, first = _by_word(text, missing)
    matches: list[re.Match[str]] = []
    for k, word in enumerate(cells.join_feet(words)):
        parts = _NUMBER.fullmatch(word.strip("'\""))
        if parts is None or bool(parts["open"]) != bool(parts["close"]) or (parts["before"] and parts["after"]):
            return Written(None, int(first[k]), "a number")
        matches.append(parts)
    marks = [(parts["before"] or parts["after"] or "").lower() for parts in matches]
    percent = sum(mark == "%" for mark in marks)
    for k, mark in enumerate(marks):
        if 0 < percent < len(marks) and mark != marks[0]:
            return Written(None, int(first[k]), f"percent signs in all cells or in none, as in {words[0]!r}")
        if mark and (other := next(one for one in marks if one)) != mark:
            return Written(None, int(first[k]), f"one currency, as in {words[marks.index(other)]!r}")
    digits = [parts["digits"].strip() for parts in matches]
    possible = {sign for sign, form in _BY_DECIMAL.items() if all(map(form.fullmatch, digits))}
    if not possible:
        decimals = set(_BY_DECIMAL)
        for k, number in enumerate(digits):
            decimals &= {sign for sign, form in _BY_DECIMAL.items() if form.fullmatch(number)}
            if not decimals:
                return Written(None, int(first[k]), "a number whose decimals begin as in the cells above")
    if len(possible) == 2 and decimal is None:
        pointed = next((k for k, number in enumerate(digits) if "." in number), None)
        if pointed is not None:
            return Written(None, int(first[pointed]), "a cell that shows whether points are before decimals")
        possible = {"."}
    own_units = [parts["unit"] or "" for parts in matches]
    is_expected = bool(unit) and all(cells.is_convertible(own or unit, unit) for own in own_units)
    has_factors = not is_expected and cells.are_factors(own_units)
    base = "" if has_factors else unit or cells.commonest(own_units, np.bincount(codes[codes >= 0]).tolist())
    for k, own in enumerate(own_units) if base and not has_factors else ():
        if own and not cells.is_convertible(own, base):
            return Written(None, int(first[k]), f"a unit that can be converted to {base}")
        if not own and not unit:
            example = words[next(k for k, other in enumerate(own_units) if other)]
            return Written(None, int(first[k]), f"a unit in every cell or in none, as in {example!r}")
    sign = decimal if decimal in possible else min(possible, key="., ".index)
    values = []
    for parts, number, own in zip(matches, digits, own_units, strict=True):
        plain = re.sub(rf"[{_THOUSANDS}{',' if sign == '.' else '.'}]", "", number).replace(sign, ".")
        minus = sum(parts[name] in ("-", "−") for name in ("sign", "inner")) + bool(parts["open"])
        value = -float(plain) if minus % 2 else float(plain)
        values.append(cells.multiply(value, own) if has_factors else cells.convert(value, own or base, base))
    return _spread(values, codes, base)


def days_written(text: pa.ChunkedArray, missing: NDArray[np.bool_], type: str = "date") -> Written:
    """Convert dates to days since 1970-01-01, times to parts of a day; time zones are not looked at, and a month or a
    quarter alone is its first day. A cell in which
    one of them is above 12 shows whether a day or a month comes first in 3/4/2020; else `type` says it, one of
    `DATE_TYPES`.

    >>> import numpy as np, pyarrow as pa
    >>> days_written(pa.chunked_array([["1970-01-02", "3 Jan 1970 12:00"]]), np.zeros(2, dtype=bool)).values
    array([1. , 2.5])
    """
    words, codes, first = _by_word(text, missing)
    matches: list[dict[str, str | None]] = []
    for k, word in enumerate(words):
        match = next((match for form in _FORMS if (match := form.fullmatch(word))), None)
        if match is None:
            return Written(None, int(first[k]), "a date")
        matches.append(match.groupdict())
    either = [k for k, parts in enumerate(matches) if parts.get("first")]
    day_first = [k for k in either if int(matches[k]["first"] or 0) > 12]
    month_first = [k for k in either if int(matches[k]["second_"] or 0) > 12]
    if type != "date":
        day_first, month_first = (either[:1], []) if type == "date_dmy" else ([], either[:1])
    if day_first and month_first:
        return Written(None, int(first[month_first[0]]), f"a day before the month, as in {words[day_first[0]]!r}")
    if either and not day_first and not month_first:
        return Written(None, int(first[either[0]]), "a date that distinguishes day and month, or date_dmy or date_mdy")
    values = []
    for k, parts in enumerate(matches):
        try:
            values.append(_days(parts, bool(day_first)))
        except ValueError:
            return Written(None, int(first[k]), "a day of the calendar")
    return _spread(values, codes)


def _days(parts: dict[str, str | None], day_first: bool) -> float:
    """Convert the parts of a date to days since 1970-01-01; raises a ValueError if there is no such day."""
    number = {name: int(parts.get(name) or 0) for name in ("year", "day", "first", "second_", "hour", "minute")}
    year, day = number["year"], number["day"]
    if len(parts["year"] or "") < 4:
        year += 1900 if year >= PIVOT else 2000
    month = int(parts.get("month") or parts.get("month2") or 3 * int(parts.get("quarter") or 0) - 2)
    day = day if "day" in parts else 1
    if parts.get("first"):
        day, month = (number[name] for name in (("first", "second_") if day_first else ("second_", "first")))
    elif name := (parts.get("name") or "").lower():
        month = MONTHS.index(name) + 1
    hour = number["hour"]
    if half := parts["half"]:
        hour = hour % 12 + 12 * (half.lower() == "pm")
    second = float((parts["second"] or "0").replace(",", "."))
    return date(year, month, day).toordinal() - EPOCH + (hour + (number["minute"] + second / 60) / 60) / 24


def days_of_column(column: pa.ChunkedArray) -> NDArray[np.float64] | None:
    """Convert dates or times of Arrow to days since 1970-01-01, null to NaN; None: the column has another type."""
    if not (pa.types.is_timestamp(column.type) or pa.types.is_date(column.type)):
        return None
    stamps = pc.cast(pc.cast(column, pa.timestamp("us"), safe=False), pa.int64())
    days: NDArray[np.float64] = pc.divide(pc.cast(stamps, pa.float64(), safe=False), 86_400e6).to_numpy()
    return days
