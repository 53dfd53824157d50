"""Text files as UTF-8: unpacked, decoded, without a byte order mark."""

import codecs
from pathlib import Path

from splitmerge_cli.data import standard_input
from splitmerge_cli.data.opening import CHUNK, GZIP, Limit, content
from splitmerge_cli.data.values import require
from splitmerge_cli.received import DataError


def suffix_of(path: Path) -> str:
    """Ending of a file's name in lower case, before .gz if it has that too; empty for a name without one.

    For standard input the ending that goes with its first bytes, empty for text.
    """
    if standard_input.is_standard_input(path):
        return standard_input.suffix(standard_input.read(Limit.current().read))
    suffixes = [s.lower() for s in path.suffixes[-2:]]
    return suffixes[-2] if suffixes[-1:] == [GZIP] and len(suffixes) == 2 else "".join(suffixes[-1:])


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
    """Content of a text file as UTF-8, unpacked if its name ends in .gz, without byte order mark and last line ends.

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
