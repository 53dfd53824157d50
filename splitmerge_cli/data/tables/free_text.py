"""Lists in text files as they come: the first row shows the separator, comments stand at the top."""

import csv as csv_module
import re
from io import StringIO
from pathlib import Path

from splitmerge_cli.data.tables.encoded import read_text, suffix_of
from splitmerge_cli.data.tables.table import MOST_COLUMNS, NUMBER
from splitmerge_cli.data.tables.text import Text
from splitmerge_cli.received import DataError

SEPARATORS = {"comma": ",", "tab": "\t", "semicolon": ";", "space": "\t"}
"""Ends of cells by their names; runs of spaces are read as tabs."""


def is_numeric(cell: str | None) -> bool:
    """Whether a cell of text is a finite number."""
    return cell is not None and NUMBER.fullmatch(cell.strip()) is not None


def read_list(path: Path, separator: str, comments: bool, empty: bool = False, two_kinds: bool = False) -> Text | None:
    """A parsed text file, every cell a string; None if it holds comments alone and may (`empty`).

    The separator is a key of `SEPARATORS`; ``auto``: a comma in .csv and a tab in .tsv where the first row has one,
    else what that row holds.
    With `comments`, lines at the top that begin with # or % are none of its rows; one of these may say that names in
    both columns stand for `two_kinds` of nodes. Raises a `DataError` if it cannot be read, is empty or ragged, holds a
    comment below the first row, or has another format.
    """
    data = read_text(path)
    if (null := data.find(b"\0")) >= 0:
        line = data.count(b"\n", 0, null) + 1
        raise DataError(f"{path}: row {line}: byte 0x00; expected UTF-8 text")
    start = 0
    while comments and data[start : start + 1] in (b"#", b"%", b"\n", b"\r"):
        end = data.find(b"\n", start) + 1 or len(data)
        _check_banner(path, data[start:end], two_kinds)
        start = end
    before, data = data.count(b"\n", 0, start), data[start:]
    if not data.strip() and start and empty:
        return None
    if re.match(rb"\*(vertices|network|arcs|edges)", data, re.IGNORECASE):
        raise DataError(f"{path}: row {before + 1}: a file of Pajek; expected the ending .net, or a list of edges")
    if comments and (late := re.search(rb"^[#%]", data, re.MULTILINE)):
        line = before + data.count(b"\n", 0, late.start()) + 1
        raise DataError(
            f"{path}: row {line}: a comment below the first row; expected comments at the top alone "
            "(data.comments=false takes such lines for rows)"
        )
    if separator == "auto":
        usual = {".csv": "comma", ".tsv": "tab"}.get(suffix_of(path))
        separator = _separator(data)
        if usual and (separator == "space" or SEPARATORS[usual] in _first_row(data)):
            separator = usual
    if separator == "space":
        data = tabs(path, data, before)
    table = Text(path, data, SEPARATORS[separator], before, MOST_COLUMNS)
    table.parse([{}])
    return table


def _check_banner(path: Path, comment: bytes, two_kinds: bool) -> None:
    """Reject what a first comment says to be something else."""
    if comment.startswith(b"%%MatrixMarket"):
        raise DataError(f"{path}: row 1: a file of Matrix Market; expected the ending .mtx, or a list of edges")
    if re.match(rb"%\s*bip\b", comment) and not two_kinds:
        raise DataError(
            f"{path}: row 1: a two-mode network, in which one number may name two nodes; expected data.bipartite=true"
        )


def _separator(data: bytes) -> str:
    """Name of the separator in the first row."""
    line = _first_row(data)
    if "\t" in line and not all(map(is_numeric, line.split())):
        return "tab"
    return "comma" if "," in line else "semicolon" if ";" in line else "space"


def _first_row(data: bytes) -> str:
    """The first row without what stands in quotes."""
    end = data.find(b"\n")
    return re.sub(r'"[^"]*"', "", data[: None if end < 0 else end].decode("utf-8"))


def tabs(path: Path, data: bytes, before: int = 0) -> bytes:
    """Rows from `read_text`, whose cells runs of spaces and tabs separate, with one tab between cells.

    Raises a `DataError` if a quote stands within a cell or is not closed; `before`: number of lines before the
    rows.
    """
    if b'"' not in data:
        data = data.replace(b"\r\n", b"\n").replace(b" ", b"\t")
        # a regular expression would keep every cell of a large file
        while b"\t\t" in data:
            data = data.replace(b"\t\t", b"\t")
        return data.replace(b"\n\t", b"\n").replace(b"\t\n", b"\n").removeprefix(b"\t").removesuffix(b"\t")
    text = data.decode("utf-8").replace("\t", " ")
    reader = csv_module.reader(StringIO(text, newline=""), delimiter=" ", skipinitialspace=True, strict=True)
    out = StringIO(newline="")
    writer = csv_module.writer(out, delimiter="\t", lineterminator="\n")
    try:
        for cells in reader:
            writer.writerow(cells[:-1] if cells and not cells[-1] else cells)
    except csv_module.Error as error:
        raise DataError(
            f"{path}: row {before + reader.line_num}: a quote that does not end its cell; expected quotes around whole "
            "cells"
        ) from error
    return out.getvalue().encode("utf-8").rstrip(b"\n")
