"""The separator and the decimal sign of a text table, found by its first rows."""

import csv as csv_module
import re
from collections.abc import Sequence
from io import StringIO
from itertools import islice
from typing import NamedTuple

from splitmerge_cli.data.tables.table import NUMBER

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "space": " "}
DECIMALS = {"point": ".", "comma": ","}
BY_SUFFIX = {".csv": "comma", ".tsv": "tab", ".txt": "tab", ".data": "comma", ".dat": "comma", "": "comma"}
"""The separator of a table whose rows do not tell, by the ending of its name."""
WORDS = {
    "comma": "a comma",
    "semicolon": "a semicolon",
    "tab": "a tab",
    "pipe": "a vertical bar",
    "space": "a run of spaces",
}
LOOKED_AT = 100
"""Rows that are looked at."""
_BYTES = 1 << 20
_SEP_LINE = re.compile(rb'"?sep=([,;\t])"?\r?\n')
"""The first line by which spreadsheet programs say what separates cells."""
_WITH_COMMA = re.compile(r"[-+]?\d*,\d+(e[-+]?\d+)?", re.ASCII | re.IGNORECASE)
_WITH_POINT = re.compile(r"[-+]?\d*\.\d+(e[-+]?\d+)?", re.ASCII | re.IGNORECASE)


class Layout(NamedTuple):
    """How the rows of a text table are written: keys of `SEPARATORS` and `DECIMALS`."""

    separator: str
    decimal: str = "point"

    @property
    def delimiter(self) -> str:
        """The character that ends a cell; runs of spaces become tabs (`splitmerge_cli.data.tables.free_text.tabs`)."""
        return "\t" if self.separator == "space" else SEPARATORS[self.separator]


def layout(data: bytes, default: str, separator: str = "auto", decimal: str = "auto") -> Layout:
    """Find how a text from `read_text` is written, as far as the user does not say it (``auto``).

    The separator is the first that gives all rows that are looked at the same number of cells, two at least, without
    another separator in any of them, but for a decimal comma: the default one, then semicolon, tab, pipe and comma.
    Runs of spaces separate if there is no other one and all cells below the first row are numbers. Else it is the
    default.

    Numbers have a decimal comma if a semicolon ends the cells and there are such numbers, but none with a point.
    """
    if separator != "auto" and decimal != "auto":
        return Layout(separator, decimal)
    lines = _first_lines(data)
    if separator == "auto":
        separator = _separator(lines, default)
    if decimal == "auto":
        decimal = "point"
        cells = [cell.strip() for row in _rows(lines, separator) for cell in row] if separator == "semicolon" else []
        if any(map(_WITH_COMMA.fullmatch, cells)) and not any(map(_WITH_POINT.fullmatch, cells)):
            decimal = "comma"
    return Layout(separator, decimal)


def without_separator_line(data: bytes) -> tuple[bytes, int, str | None]:
    """The rows of a text without the line ``sep=;`` of spreadsheet programs, the number of lines that were taken off,
    and the separator that it names."""
    line = _SEP_LINE.match(data)
    if line is None:
        return data, 0, None
    return data[line.end() :], 1, next(name for name, end in SEPARATORS.items() if end == line[1].decode())


def _first_lines(data: bytes) -> str:
    """The text of the first rows; empty where not even one is short enough to be looked at."""
    part = data[:_BYTES]
    if len(part) < len(data):
        part = part[: part.rfind(b"\n") + 1]
    # a character is not cut: parts end with lines
    return part.decode("utf-8", errors="replace")


def _rows(lines: str, separator: str) -> list[list[str]]:
    if separator == "space":
        return [line.split() for line in islice(lines.splitlines(), LOOKED_AT)]
    reader = csv_module.reader(StringIO(lines, newline=""), delimiter=SEPARATORS[separator])
    try:
        return [cells or [""] for cells in islice(reader, LOOKED_AT)]
    except csv_module.Error:  # a stray carriage return: who parses the file reports it
        return []


def _separator(lines: str, default: str) -> str:
    regular = []
    for candidate in dict.fromkeys([default, "semicolon", "tab", "pipe", "comma"]):
        rows = _rows(lines, candidate)
        if not rows or len(rows[0]) < 2 or any(len(row) != len(rows[0]) for row in rows):
            continue
        others = [end for name, end in SEPARATORS.items() if name not in (candidate, "space") and end in lines]
        if not others or all(_is_whole(cell, others) for row in rows for cell in row):
            return candidate
        regular.append(candidate)
    if default in regular or not lines.strip():
        return default
    if regular:
        return regular[0]
    rows = _rows(lines, "space")
    spaced = len(rows) > 1 and len(rows[0]) > 1 and all(len(row) == len(rows[0]) for row in rows)
    single = all(len(row) == 1 for row in _rows(lines, default))
    if spaced and single and all(NUMBER.fullmatch(cell) for row in rows[1:] for cell in row):
        return "space"
    return default


def _is_whole(cell: str, others: Sequence[str]) -> bool:
    """Whether a cell holds none of the other separators, or is a number with a decimal comma."""
    return not any(end in cell for end in others) or _WITH_COMMA.fullmatch(cell.strip()) is not None
