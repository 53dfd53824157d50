"""Tables in .xlsx files: a sheet is read as the text table that it would be saved as."""

import csv as csv_module
import re
from collections.abc import Iterator
from datetime import date, datetime, time
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from splitmerge_cli.data.opening import Limit, content
from splitmerge_cli.data.tables.table import list_names
from splitmerge_cli.data.tables.text import Text
from splitmerge_cli.received import DataError, reject_machine_error

TIMES = 4
"""How many times its text a file takes: its words are objects of their own while it is read."""
KEPT_DIGITS = 15
"""Digits of a number that spreadsheet programs keep."""
_NOT_STORED = re.compile(rb"</f>\s*(<v\s*/>|<v>\s*</v>|</c>)")
"""A formula without the value that it had when the file was saved."""


class Sheet(Text):
    """The rows of a sheet; a cell that holds a line break is no more than a cell."""

    def lines(self) -> Iterator[tuple[int, list[str]]]:
        for number, (_, cells) in enumerate(super().lines(), start=self.before + 1):
            yield number, cells


def read_sheet(path: Path, sheet: str | int | None = None, ask: str = "", skip: tuple[int, int] = (0, 0)) -> Sheet:
    """A sheet of an .xlsx file: the cells that are stored, empty rows and columns around them left out.

    The `sheet` is a name or a number (1 the first), by default the only one that holds cells; `ask` says what is
    expected where several do, and `skip` how many rows at the top and the bottom are left out. Raises a `DataError` if
    it is no such file, holds more than the limit (data.max_bytes), or there is no one such sheet.
    """
    import openpyxl

    data = content(path)
    try:
        formulas = _check_members(path, data)
        book = openpyxl.load_workbook(BytesIO(data), read_only=True, data_only=True)
        sheet_chosen = _choose_sheet(path, book.worksheets, sheet, ask)
        before, text, longest = _as_text(path, sheet_chosen, skip)
    except DataError:
        raise
    except Exception as error:  # a damaged file raises all kinds
        reject_machine_error(error, path)
        raise DataError(f"{path}: not a readable .xlsx file: {error or type(error).__name__}") from error
    table = Sheet(path, text, ",", before)
    if longest >= 10**KEPT_DIGITS:
        table.notes.append(
            f"{path}: a spreadsheet keeps {KEPT_DIGITS} digits of a number, and there are longer ones, such as "
            f"'{longest}': write codes as text"
        )
    if formulas:
        table.notes.append(
            f"{path}: formulas without a stored value are read as empty cells (a spreadsheet program stores values "
            "when it saves a file)"
        )
    return table


def _check_members(path: Path, data: bytes) -> bool:
    """See that a file is within the limit; whether its formulas lack values."""
    with ZipFile(BytesIO(data)) as archive:
        members = archive.infolist()
        Limit.current(TIMES).check(path, sum(member.file_size for member in members), " unpacked")
        sheets = [member for member in members if member.filename.endswith(".xml")]
        return any(_NOT_STORED.search(archive.read(member)) for member in sheets)


def _choose_sheet(path: Path, sheets: list[Any], sheet: str | int | None, ask: str) -> Any:
    names = [each.title for each in sheets]
    for each in sheets:
        each.reset_dimensions()  # what a file says of them may be wrong
    if sheet is None:
        filled = [each for each in sheets if any(any(map(_is_there, row)) for row in each.iter_rows(values_only=True))]
        if len(filled) > 1:
            # a name where that needs no quotes
            name = filled[0].title
            key = name if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) else names.index(name) + 1
            raise DataError(
                f"{path}: sheets that hold cells: {list_names([each.title for each in filled])}; expected "
                + (ask or f"data.sheet={key}, or another of them")
            )
        if not filled:
            raise DataError(f"{path}: the file is empty; expected a sheet with at least one row")
        return filled[0]
    if str(sheet) in names:
        return sheets[names.index(str(sheet))]
    if str(sheet).isdecimal() and 1 <= int(sheet) <= len(sheets):
        return sheets[int(sheet) - 1]
    raise DataError(f"data.sheet={sheet}: {path} has no such sheet; expected one of {list_names(names)}, or its number")


def _is_there(value: object) -> bool:
    return value is not None and value != ""


def _as_text(path: Path, sheet: Any, skip: tuple[int, int]) -> tuple[int, bytes, float]:
    """Number of empty rows at the top, the others with commas, and the largest whole number."""
    limit = Limit.current()
    rows: list[list[str]] = []
    before, size, longest = 0, 0, 0.0
    for values in sheet.iter_rows(values_only=True):
        cells = [_cell(value) for value in values]
        longest = max([longest, *(abs(value) for value in values if type(value) in (int, float) and value % 1 == 0)])
        while cells and not cells[-1]:
            cells.pop()
        if not cells and not rows:
            before += 1
            continue
        size += sum(map(len, cells)) + len(cells)
        limit.check(path, size, " as cells")
        rows.append(cells)
    while rows and not rows[-1]:
        rows.pop()
    top = max(0, skip[0] - before)
    rows, before = rows[top : len(rows) - skip[1]], before + top
    width = max(map(len, rows), default=0)
    if not rows:
        raise DataError(f"{path}: sheet {sheet.title} is empty; expected at least one row")
    limit.check(path, len(rows) * width, " as cells")
    out = StringIO(newline="")
    csv_module.writer(out, lineterminator="\n").writerows(cells + [""] * (width - len(cells)) for cells in rows)
    return before, out.getvalue().removesuffix("\n").encode("utf-8"), longest


def _cell(value: object) -> str:
    """A cell as it would stand in a text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, datetime):
        midnight = value.time() == time()
        return value.date().isoformat() if midnight else value.isoformat(" ", "seconds")
    if isinstance(value, date | time):
        return value.isoformat()
    return str(value).strip()
