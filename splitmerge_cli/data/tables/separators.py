"""From the bytes of a text table to its separator and decimal sign: unpacked, decoded, without a byte order mark, and
split as its first rows show; and lists in text files as they come: the first row shows the separator, comments stand at
the top.
"""

import codecs
import csv as csv_module
import re
import shlex
from collections import Counter
from collections.abc import Sequence
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from splitmerge_cli import overrides, received
from splitmerge_cli.data import opening, values
from splitmerge_cli.data.opening import CHUNK, Limit, content, unpacked_name
from splitmerge_cli.data.tables.table import MOST_COLUMNS, NUMBER, is_missing
from splitmerge_cli.data.tables.text import Text


def suffix_of(path: Path) -> str:
    """Ending of a file's name in lower case, once it is unpacked; empty for a name without one. For standard input the
    ending that goes with its first bytes, empty for text."""
    if opening.is_standard_input(path):
        return opening.suffix_of(opening.read_input(Limit.current().read))
    return unpacked_name(path).suffix.lower()


def _with_pandas(call: str, package: str = "") -> tuple[str, str]:
    return f"import pandas; pandas.{call}({{file!r}}).to_csv({{csv!r}}, index=False)", package


CONVERTERS = {
    ".arff": (
        "import pandas; from scipy.io import arff; table = pandas.DataFrame(arff.loadarff({file!r})[0]); "
        "table.map(lambda v: v.decode() if isinstance(v, bytes) else v).to_csv({csv!r}, index=False)",
        "",
    ),
    ".dta": _with_pandas("read_stata"),
    ".mm": ("import scipy.io, scipy.sparse as s; s.save_npz({npz!r}, s.csr_array(scipy.io.mmread({file!r})))", ""),
    ".svmlight": (
        "import numpy; from sklearn.datasets import load_svmlight_file as f; x, y = f({file!r}); "
        "numpy.savetxt({csv!r}, numpy.c_[x.toarray(), y], '%.17g', ',')",
        "scikit-learn",
    ),
    ".sas7bdat": _with_pandas("read_sas"),
    ".sav": _with_pandas("read_spss", "pyreadstat"),
    ".xls": _with_pandas("read_excel", "xlrd"),
    ".ods": _with_pandas("read_excel", "odfpy"),
    ".rds": ("import pyreadr; pyreadr.read_r({file!r})[None].to_csv({csv!r}, index=False)", "pyreadr"),
}
"""Formats of other programs: what Python runs to write a table, and the package that it needs."""
CONVERTERS |= dict.fromkeys((".libsvm", ".svm"), CONVERTERS[".svmlight"])
SVMLIGHT = re.compile(rb"([-+]?[\d.]+(,[-+]?[\d.]+)*( qid:\d+)?( \d+:[-+.\deE]+)+[ \t\r]*(#.*)?(\n|$)){2}")
"""Rows of a label and of pairs INDEX:VALUE, as LIBSVM and SVMlight write tables."""
TEXT_CONVERTERS = {".pdf": "pdftotext {file} {text}"}
TEXT_CONVERTERS |= dict.fromkeys((".docx", ".odt", ".epub", ".rtf"), "pandoc --to=plain --output={text} {file}")
"""Formats of texts that other programs turn into plain ones."""


def unknown_format(path: Path, suffix: str, expected: str) -> received.DataError:
    """Build the error for a file of a format that is not read, with the command that converts it if there is one."""
    return received.DataError(f"{path}: unknown format '{suffix}'; expected {expected}{conversion(path, suffix)}")


def conversion(path: Path, suffix: str) -> str:
    """The end of a message: the command that makes a format that is read out of this one, if there is one."""
    if suffix in CONVERTERS:
        code, package = CONVERTERS[suffix]
        needs = f" (needs pip install {package})" if package else ""
        command = code.format(file=str(path), csv=f"{path}.csv", npz=f"{path}.npz")
        return f". To convert it{needs}: python -c {shlex.quote(command)}"
    if suffix in TEXT_CONVERTERS:
        names = {"file": overrides.shell_word(str(path)), "text": overrides.shell_word(f"{path}.txt")}
        return f". To convert it: {TEXT_CONVERTERS[suffix].format(**names)}"
    return ""


def require_encoding(encoding: str) -> None:
    """Raise a `DataError` unless `encoding` names a text encoding (data.encoding)."""
    good = isinstance(encoding, str)
    try:
        # nothing would be decoded by any name; not all that decode put another character for a fault
        b"x".decode(encoding if good else "", "replace")
    except UnicodeDecodeError:
        pass
    except (LookupError, ValueError):
        good = False
    values.require(good, "data.encoding", encoding, "the name of an encoding of text, such as utf-8, latin-1 or utf-16")


def read_text(path: Path, encoding: str | None = None) -> bytes:
    """Content of a text file (data.encoding; by default UTF-8) as UTF-8, unpacked, without byte order mark and last
    line ends. With an `encoding`, the character 0 must not be in it."""
    data = content(path)
    try:
        if encoding is None or codecs.lookup(encoding).name == "utf-8":
            _check_utf8(data)
        else:
            data = data.decode(encoding).encode("utf-8")
            Limit.current().check(path, len(data), " in UTF-8")
    except UnicodeDecodeError as error:
        if what := next((what for first, what in FOREIGN.items() if data.startswith(first)), None):
            raise received.DataError(f"{path}: {what}; expected text, such as a .csv or .txt file") from error
        line = data.count(b"\n", 0, error.start) + 1
        expected = f"text in {encoding} (data.encoding)"
        if encoding is None:
            expected = "UTF-8 text (iconv -f latin1 -t utf-8 FILE > NEW writes it)"
        if encoding == "utf-8":
            other = "utf-16" if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "latin-1"
            expected = f"UTF-8 text (data.encoding={other} may read it)"
        raise received.DataError(f"{path}: row {line}: byte {data[error.start]:#04x}; expected {expected}") from error
    except UnicodeError as error:
        raise received.DataError(f"{path}: {error}; expected text in {encoding} (data.encoding)") from error
    if encoding is not None:
        _reject_null(path, data, f"text in {encoding} (data.encoding)")
    return data.removeprefix(b"\xef\xbb\xbf").rstrip(b"\r\n")


FOREIGN = {
    b"%PDF": "a PDF, whose text is to be extracted first",
    b"\x89PNG": "an image",
    b"\xff\xd8\xff": "an image",
    b"GIF8": "an image",
    b"PK\x03\x04": "a zip archive, as are .xlsx, which needs its ending, and .docx, which is to be saved as text first",
    b"\xd0\xcf\x11\xe0": "a file of an old office program, whose text is to be saved as text first",
}
"""Kinds of files that are no text, by their first bytes."""


def _reject_null(path: Path, data: bytes, expected: str) -> None:
    if (null := data.find(b"\0")) >= 0:
        line = data.count(b"\n", 0, null) + 1
        raise received.DataError(f"{path}: row {line}: byte 0x00; expected {expected}")


def _check_utf8(data: bytes) -> None:
    """Raise a `UnicodeDecodeError` with its place in `data` unless they are UTF-8."""
    start, view = 0, memoryview(data)
    while start < len(data):
        end = start + CHUNK
        try:
            # a character that is cut is left to the next part
            start += codecs.utf_8_decode(view[start:end], "strict", end >= len(data))[1]
        except UnicodeDecodeError as error:
            raise UnicodeDecodeError("utf-8", data, start + error.start, start + error.end, error.reason) from None


SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "space": " "}
DECIMALS = {"point": ".", "comma": ","}
BY_SUFFIX = dict.fromkeys((".csv", ".data", ".dat", ""), "comma") | dict.fromkeys((".tsv", ".tab", ".txt"), "tab")
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
ALIKE = 0.9
"""Share of these, from the first of the usual width on, that must have that width for a separator that does not suit
all of them."""
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
        """The character that ends a cell; runs of spaces become `tabs`."""
        return "\t" if self.separator == "space" else SEPARATORS[self.separator]


def layout(data: bytes, default: str, separator: str = "auto", decimal: str = "auto") -> Layout:
    """Find how a text from `read_text` is written, as far as the user does not say it (``auto``): by the rules of
    docs/files.md, "How a text is written". Separators are tried in the order default, semicolon, tab, pipe and comma,
    runs of spaces last; without any it is the default.
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
    spaces = separator == "space"
    text = "\n".join(map(str.strip, lines.replace("\t", " ").splitlines())) if spaces else lines
    reader = csv_module.reader(StringIO(text, newline=""), delimiter=SEPARATORS[separator], skipinitialspace=spaces)
    try:
        return [cells or [""] for cells in islice(reader, LOOKED_AT)]
    except csv_module.Error:  # a stray carriage return: who parses the file reports it
        return []


def _separator(lines: str, default: str) -> str:
    regular, nearly = [], dict[str, tuple[bool, int]]()
    for candidate in dict.fromkeys([default, "semicolon", "tab", "pipe", "comma"]):
        rows = _rows(lines, candidate)
        widths = [len(row) for row in rows]
        usual, rows_alike = Counter(widths).most_common(1)[0] if rows else (1, 0)
        if usual < 2:
            continue
        if rows_alike < len(rows):
            # rows of a title may stand above
            if rows_alike >= ALIKE * (len(rows) - widths.index(usual)):
                nearly[candidate] = widths[0] == usual, rows_alike
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
    single = all(len(row) == 1 for row in _rows(lines, default))
    if len(rows) > 1 and single and _are_spaced(rows[0], rows[1:]):
        return "space"
    # the reader names the row that has a cell too few or too many
    return max(nearly, key=lambda name: nearly[name], default=default)


def _are_spaced(top: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether words between spaces are the cells of a table, not of sentences."""
    width = len(rows[0])
    if width < 2 or any(len(row) != width for row in rows) or width - len(top) not in (0, 1):
        return False
    numbers = [_are_numbers([row[i] for row in rows]) for i in range(width)]
    # names of the rows have no name of their own
    named = numbers[width - len(top) :]
    pairs = zip(named, top, strict=True)
    return all(numbers) or any(is_number and not NUMBER.fullmatch(cell) for is_number, cell in pairs)


def _are_numbers(cells: Sequence[str]) -> bool:
    known = [cell for cell in cells if not is_missing(cell)]
    return bool(known) and all(map(NUMBER.fullmatch, known))


def with_row_names(path: Path, data: bytes, delimiter: str) -> tuple[bytes, list[str]]:
    """A text whose first row names every column, and a note where it named all but the first, which names the rows.

    So writes ``write.table`` of R: the first row holds words, two at least, one fewer than the cells of each row below.
    A single row below may as well have a cell too many.
    """
    reader = csv_module.reader(StringIO(_first_lines(data), newline=""), delimiter=delimiter)
    try:
        top, *rows = islice(reader, LOOKED_AT)
    except (ValueError, csv_module.Error):
        return data, []
    words = len(top) > 1 and not any(NUMBER.fullmatch(cell.strip()) for cell in top)
    if not words or len(rows) < 2 or any(len(row) != len(top) + 1 for row in rows):
        return data, []
    note = f"{path}: row 1 has one cell fewer than the others: the first column, without a name, names rows"
    return delimiter.encode() + data, [note]


def _is_whole(cell: str, others: Sequence[str]) -> bool:
    """Whether a cell holds none of the other separators, or is a number with a decimal comma."""
    return not any(end in cell for end in others) or _WITH_COMMA.fullmatch(cell.strip()) is not None


def is_numeric(cell: str | None) -> bool:
    """Whether a cell of text is a finite number."""
    return cell is not None and NUMBER.fullmatch(cell.strip()) is not None


LIST_SEPARATORS = ("comma", "tab", "semicolon", "space")
"""Separators of a list, by their names."""


def read_list(
    path: Path,
    separator: str,
    comments: bool,
    empty: bool = False,
    two_kinds: bool = False,
    encoding: str | None = None,
) -> Text | None:
    """A parsed text file, every cell a string; None if it holds comments alone and may (`empty`). The separator is one
    of `LIST_SEPARATORS`; ``auto``: a comma in .csv and a tab in .tsv where the first row has one, else what that row
    holds. With `comments`, lines at the top that begin with # or % are none of its rows; one may say that names in both
    columns stand for `two_kinds` of nodes. Attributes as networkx writes them, ``{'weight': 2}``, become the weight."""
    data = read_text(path, encoding)
    _reject_null(path, data, "UTF-8 text")
    start = 0
    while comments and data[start : start + 1] in (b"#", b"%", b"\n", b"\r"):
        end = data.find(b"\n", start) + 1 or len(data)
        # reject what a first comment says to be something else
        comment = data[start:end]
        if comment.startswith(b"%%MatrixMarket"):
            raise received.DataError(
                f"{path}: row 1: a file of Matrix Market; expected the ending .mtx, or a list of edges"
            )
        if re.match(rb"%\s*bip\b", comment) and not two_kinds:
            problem = "a two-mode network, in which one number may name two nodes"
            raise received.DataError(f"{path}: row 1: {problem}; expected data.bipartite=true")
        start = end
    before, data = data.count(b"\n", 0, start), data[start:]
    if not data.strip() and start and empty:
        return None
    if re.match(rb"\*(vertices|network|arcs|edges)", data, re.IGNORECASE):
        raise received.DataError(
            f"{path}: row {before + 1}: a file of Pajek; expected the ending .net, or a list of edges"
        )
    if comments and (late := re.search(rb"^[#%]", data, re.MULTILINE)):
        line = before + data.count(b"\n", 0, late.start()) + 1
        expected = "comments at the top alone (data.comments=false takes such lines for rows)"
        raise received.DataError(f"{path}: row {line}: a comment below the first row; expected {expected}")
    if separator in ("auto", "space") and data.partition(b"\n")[0].rstrip().endswith(b"}"):
        data = re.sub(rb"\{(?:.*'weight': ([^,}\n]*))?.*\}[ \t]*$", rb"\1", data, flags=re.MULTILINE)
    if separator == "auto":
        # without what stands in quotes
        top = re.sub(r'"[^"]*"', "", data.partition(b"\n")[0].decode("utf-8"))
        if "\t" in top and not all(map(is_numeric, top.split())):
            separator = "tab"
        else:
            separator = "comma" if "," in top else "semicolon" if ";" in top else "space"
        usual = {".csv": "comma", ".tsv": "tab", ".tab": "tab"}.get(suffix_of(path))
        # words between spaces may be one name, numbers are not
        is_usual = separator == "space" and not (top.split()[1:] and all(map(is_numeric, top.split())))
        if usual and (is_usual or SEPARATORS[usual] in top):
            separator = usual
    if separator == "space":
        data = tabs(path, data, before)
    delimiter = Layout(separator).delimiter
    data, notes = with_row_names(path, data, delimiter)
    table = Text(path, data, delimiter, before, MOST_COLUMNS)
    table.notes += notes
    table.parse([{}])
    return table


def tabs(path: Path, data: bytes, before: int = 0) -> bytes:
    """Rows from `read_text`, whose cells runs of spaces and tabs separate, with one tab between cells. A quote that
    stands within a cell or is not closed is refused; `before`: number of lines before the rows."""
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
        problem = f"row {before + reader.line_num}: a quote that does not end its cell"
        raise received.DataError(f"{path}: {problem}; expected quotes around whole cells") from error
    return out.getvalue().encode("utf-8").rstrip(b"\n")
