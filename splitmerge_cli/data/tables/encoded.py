"""Text files as UTF-8: unpacked, decoded, without a byte order mark."""

import codecs
import shlex
from pathlib import Path

from splitmerge_cli.data import standard_input
from splitmerge_cli.data.opening import CHUNK, Limit, content, unpacked_name
from splitmerge_cli.data.values import require
from splitmerge_cli.overrides import shell_word
from splitmerge_cli.received import DataError


def suffix_of(path: Path) -> str:
    """Ending of a file's name in lower case, once it is unpacked; empty for a name without one.

    For standard input the ending that goes with its first bytes, empty for text.
    """
    if standard_input.is_standard_input(path):
        return standard_input.suffix(standard_input.read(Limit.current().read))
    return unpacked_name(path).suffix.lower()


def _with_pandas(call: str, package: str = "") -> tuple[str, str]:
    return f"import pandas; pandas.{call}({{file!r}}).to_csv({{csv!r}}, index=False)", package


CONVERTERS = {
    ".dta": _with_pandas("read_stata"),
    ".sas7bdat": _with_pandas("read_sas"),
    ".json": _with_pandas("read_json"),
    ".sav": _with_pandas("read_spss", "pyreadstat"),
    ".xls": _with_pandas("read_excel", "xlrd"),
    ".ods": _with_pandas("read_excel", "odfpy"),
    ".rds": ("import pyreadr; pyreadr.read_r({file!r})[None].to_csv({csv!r}, index=False)", "pyreadr"),
}
"""Formats of other programs: what Python runs to write a table, and the package that it needs."""
TEXT_CONVERTERS = {".pdf": "pdftotext {file} {text}"}
TEXT_CONVERTERS |= dict.fromkeys((".docx", ".odt", ".epub", ".rtf"), "pandoc --to=plain --output={text} {file}")
"""Formats of texts that other programs turn into plain ones."""


def unknown_format(path: Path, suffix: str, expected: str) -> DataError:
    """Build the error for a file of a format that is not read, with the command that converts it if there is one."""
    convert = ""
    if suffix in CONVERTERS:
        code, package = CONVERTERS[suffix]
        needs = f" (needs pip install {package})" if package else ""
        command = code.format(file=str(path), csv=f"{path}.csv")
        convert = f". To convert it{needs}: python -c {shlex.quote(command)}"
    elif suffix in TEXT_CONVERTERS:
        names = {"file": shell_word(str(path)), "text": shell_word(f"{path}.txt")}
        convert = f". To convert it: {TEXT_CONVERTERS[suffix].format(**names)}"
    return DataError(f"{path}: unknown format '{suffix}'; expected {expected}{convert}")


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
    require(good, "data.encoding", encoding, "the name of an encoding of text, such as utf-8, latin-1 or utf-16")


def read_text(path: Path, encoding: str | None = None) -> bytes:
    """Content of a text file as UTF-8, unpacked, without byte order mark and last line ends.

    Raises a `DataError` if it cannot be read, holds more than the limit (data.max_bytes), or is not in the `encoding`
    (data.encoding; by default UTF-8); with an `encoding`, if the character 0 is in it.
    """
    data = content(path)
    try:
        if encoding is None or codecs.lookup(encoding).name == "utf-8":
            _check_utf8(data)
        else:
            data = data.decode(encoding).encode("utf-8")
            Limit.current().check(path, len(data), " in UTF-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        expected = "UTF-8 text" if encoding is None else f"text in {encoding} (data.encoding)"
        if encoding == "utf-8":
            other = "utf-16" if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "latin-1"
            expected = f"UTF-8 text (data.encoding={other} may read it)"
        raise DataError(f"{path}: row {line}: byte {data[error.start]:#04x}; expected {expected}") from error
    except UnicodeError as error:
        raise DataError(f"{path}: {error}; expected text in {encoding} (data.encoding)") from error
    if encoding is not None and (null := data.find(b"\0")) >= 0:
        line = data.count(b"\n", 0, null) + 1
        raise DataError(f"{path}: row {line}: byte 0x00; expected text in {encoding} (data.encoding)")
    return data.removeprefix(b"\xef\xbb\xbf").rstrip(b"\r\n")


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
