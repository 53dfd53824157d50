"""The user's own documents: which of the formats a file has, and the data set that it makes."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.opening import ARCHIVES, readable, require_file, sha256_of, unpack
from splitmerge_cli.data.tables.columns import header_key
from splitmerge_cli.data.tables.encoded import (
    CONVERTERS,
    TEXT_CONVERTERS,
    require_encoding,
    suffix_of,
    unknown_format,
)
from splitmerge_cli.data.tables.json_lines import JSON_LINES
from splitmerge_cli.data.tables.separators import BY_SUFFIX, SEPARATORS
from splitmerge_cli.data.values import notes_entry, require
from splitmerge_cli.kinds.documents.corpus import dataset
from splitmerge_cli.kinds.documents.readers import formats
from splitmerge_cli.kinds.documents.readers.bag_of_words import ROW
from splitmerge_cli.kinds.documents.readers.formats import LONGEST_TERM, Read, names_tokens, number_to_take, texts_in
from splitmerge_cli.kinds.documents.readers.split import require_split, split
from splitmerge_cli.kinds.documents.readers.texts import AUTO, require_shortest
from splitmerge_cli.kinds.documents.readers.word_counts import read_ldac, read_npz, read_uci
from splitmerge_cli.kinds.documents.readers.words import keep_words, note_short_documents, require_words
from splitmerge_cli.received import DataError

FORMATS = ("auto", "tokens", "npz", "ldac", "uci", "text")
ENDINGS = dict.fromkeys((".csv", ".tsv", ".parquet", ".feather", ".xlsx", *JSON_LINES), "tokens")
ENDINGS |= {".npz": "npz", ".ldac": "ldac", ".lda-c": "ldac"}
"""Format by the ending of the name; the first lines decide for all other files."""
FOREIGN = {".npy", ".mat", ".mtx", ".mm", ".pkl", *CONVERTERS, *TEXT_CONVERTERS, *ARCHIVES}
NO_TEXTS = {".parquet", ".xlsx", ".feather", *JSON_LINES}
"""Endings of tables that are no text files."""
TABLES = {*NO_TEXTS, *BY_SUFFIX}
"""Endings of tables, of which one column may hold texts."""
HEAD = 1 << 16
"""Bytes that are looked at to tell a format."""
WHAT = "a table of document and word, sparse counts (.npz), LDA-C, UCI's bag of words, texts, or a folder of texts"


def corpus(
    path: str | Path,
    format: str = "auto",
    vocabulary: str | Path | None = None,
    columns: Sequence[str | int] | None = None,
    header: str | bool = "auto",
    encoding: str = "utf-8",
    stop_words: str | Path | None = "auto",
    min_documents: int = 0,
    max_share: float = 1.0,
    N: int | None = None,
    heldout: float = 0.0,
    heldout_by: str = "document",
    split_seed: int = 0,
    separator: str = "auto",
    min_length: str | int = AUTO,
) -> Dataset:
    """Read documents.

    Parameters
    ----------
    path : str or Path
        A file, or a folder of texts.
    format : {"auto", "tokens", "npz", "ldac", "uci", "text"}
        ``tokens``: a table (text, .parquet, .feather, .xlsx) of document and word, a row per token, or of document,
        word and count. ``npz``: a sparse matrix of counts ``[documents, words]``, as ``scipy.sparse.save_npz`` writes
        it. ``ldac``: lines ``M WORD:COUNT ... WORD:COUNT``, words numbered from 0. ``uci``: three lines with the
        numbers of documents, words and entries, then lines of document, word and count, numbered from 1. ``text``: a
        file with a document a line, or a folder with a file for each, whose words are found by
        `splitmerge_cli.kinds.documents.readers.texts`. ``auto``: by the ending of the name or, where that decides
        nothing, by the first lines. Text files may be gzipped.
    vocabulary : str or Path, optional
        A file with the words, one a line: needed for ``npz``; for ``ldac`` and ``uci`` the words are their numbers
        without it, for ``tokens`` the words of the table; not for ``text``.
    columns : sequence of str or int, optional
        ``tokens``: the columns of document, word and perhaps count, by name or number (1 is the first), or one of
        texts, a document a row, split into words as in ``text``; by default the one column that holds texts, in a
        table that has one; else those with such names, or the first, second and third, but for first ones that have no
        name and count the rows.
    header : {"auto", True, False}
        ``tokens``: whether the first line of a text file names the columns. ``auto``: it does if it holds a name given
        in `columns`, names such as doc and word, or a word where counts are, or begins with an empty cell above
        cells that count the rows.
    encoding : str
        Encoding of all text.
    stop_words, min_documents, max_share
        Which words are left out, as `splitmerge_cli.kinds.documents.readers.words.keep_words` takes it.
    N : int, optional
        Take the first N documents; all by default.
    heldout, heldout_by, split_seed
        What is held out, as `splitmerge_cli.kinds.documents.readers.split.split` takes it.
    separator : {"auto", "comma", "semicolon", "tab", "pipe", "space"}
        ``tokens``: what ends the cells of a text file; ``auto``: see
        `splitmerge_cli.data.tables.separators.layout`.
    min_length : "auto" or int
        ``text``: characters of a word at least. ``auto``: two, but one ideograph, Hangul syllable or emoji is a word.

    Returns
    -------
    Dataset
        Kind ``documents``, empty ones among them. Words and documents of a table are in the order of their first
        appearance, its tokens in the order of the rows. Texts in folders of the folder have these for labels.

    Raises
    ------
    DataError
        The file is missing, empty, or not as said (the message names the row); no document has a word; an option is
        out of range.
    """
    require(format in FORMATS, "data.format", format, f"one of {', '.join(FORMATS)}")
    listed = isinstance(columns, list | tuple) and len(columns) in (1, 2, 3)
    good = columns is None or (listed and all(isinstance(c, str | int) and not isinstance(c, bool) for c in columns))
    expected = "columns of document, word and perhaps count, such as [doc,word] or [1,2,3], one of texts, or null"
    require(good, "data.columns", columns, expected)
    require_encoding(encoding)
    header = header_key("data.header", header)
    require(separator in ("auto", *SEPARATORS), "data.separator", separator, f"one of auto, {', '.join(SEPARATORS)}")
    require_shortest(min_length)
    require_words(stop_words, min_documents, max_share)
    require_split(heldout, heldout_by, split_seed)
    require(bool(str(path)), "data.path", path, WHAT)
    path = Path(path) if Path(path).is_dir() else require_file(path, WHAT)
    if format == "auto":
        format = _find_format(path, encoding, columns, separator)
    if path.is_dir() and format != "text":
        raise DataError(f"data.format={format}: {path} is a folder; expected a file (a folder is read as text)")
    require(columns is None or format == "tokens", "data.columns", columns, f"null with data.format={format}")
    as_text = format == "tokens" and suffix_of(path) not in NO_TEXTS
    require(separator == "auto" or as_text, "data.separator", separator, f"auto: {path} is no table in a text file")
    require(vocabulary is None or format != "text", "data.vocabulary", vocabulary, "null: texts bring their own words")
    words = None if vocabulary is None else require_file(vocabulary, "the words, one a line")
    read: Read
    if format == "tokens":
        table, found_column = formats.open_table(path, encoding, separator), None
        if columns is None and words is None and (found_column := formats.text_column(table)) is not None:
            columns = [found_column]
        if columns is None or len(columns) != 1:
            read = formats.read_tokens(table, columns, header, words, encoding, N)
        else:
            require(words is None, "data.vocabulary", vocabulary, "null: texts bring their own words")
            read = formats.read_text_column(table, columns[0], header, N, min_length)
            if found_column is not None:
                how = f"column {found_column} is read as texts, a document a row (data.columns chooses another)"
                read = read._replace(notes=[*read.notes, f"{path}: {how}"])
            format = "text"
    elif format == "text":
        read = formats.read_texts(path, encoding, N, min_length)
    else:
        read = {"npz": read_npz, "ldac": read_ldac, "uci": read_uci}[format](path, words, encoding)
    texts = format == "text"
    require(texts or min_length == AUTO, "data.min_length", min_length, f"{AUTO}: the words of {path} are given")
    whole = _whole(path, read, N, format, {"min_length": min_length} if texts else {})
    chosen = keep_words(whole, stop_words, min_documents, max_share, texts, encoding)
    return split(note_short_documents(chosen), heldout, heldout_by, split_seed)


def _whole(path: Path, read: Read, N: int | None, format: str, options: dict[str, Any]) -> Dataset:
    """The first N documents of what was read, nothing held out."""
    parsed, vocabulary, notes = read
    J = parsed.tokens.J if format in ("tokens", "text") else number_to_take(path, N, parsed.tokens.J)
    if J < parsed.tokens.J:
        parsed = replace(parsed, tokens=parsed.tokens.first(J))
    if not len(parsed.tokens.words):
        raise DataError(f"{path}: documents: {J}, tokens: none; expected at least one token")
    meta = {"path": str(path), "format": format} | notes_entry(notes)
    return dataset(path.name.split(".")[0] or path.name, parsed, vocabulary, meta=meta, options=options)


def _find_format(path: Path, encoding: str, columns: Sequence[str | int] | None = None, separator: str = "auto") -> str:
    """Find the format of a file or folder, of which `columns` or cells that end with a `separator` are asked for."""
    if path.is_dir():
        return "text"
    suffix = suffix_of(path)
    if suffix in TABLES and (separator != "auto" or columns is not None):
        return "tokens"
    if suffix in FOREIGN:
        raise unknown_format(path, suffix, f"{WHAT} (data.format=NAME)")
    return ENDINGS.get(suffix) or format_of_lines(path, encoding)


def format_of_lines(path: Path, encoding: str) -> str:
    """The format that the first lines of a file have."""
    lines = _first_lines(path, encoding)
    head = [re.fullmatch(r"\d+", line) is not None for line in lines[:3]]
    if len(lines) > 3 and all(head) and ROW.fullmatch(lines[3].encode()):
        return "uci"
    if any(":" in line for line in lines) and all(re.fullmatch(r"\d+(\s+\d+:\d+)*", line) for line in lines):
        return "ldac"
    if (end := _ends_cells([line for line in lines if line])) is not None:
        raise DataError(
            f"{path}: the first rows may be cells of a table or texts with {end}s; expected data.format=tokens "
            "(document and word in each row) or data.format=text (a document a row)"
        )
    return "text"


def _ends_cells(lines: list[str]) -> str | None:
    """Name the sign that may end the cells of a table of tokens; None if the lines are texts."""
    for end, name in ("\t", "tab"), (";", "semicolon"), ("|", "vertical bar"), (",", "comma"):
        rows = [line.split(end) for line in lines]
        if {len(row) for row in rows} not in ({2}, {3}):
            continue
        # texts have other signs as well, and sentences between them
        terms = all(len(cell.split()) <= LONGEST_TERM for row in rows for cell in row)
        counts = len(rows) > 1 and all(len(row) == 3 and row[2].strip().isdecimal() for row in rows[1:])
        if end == "\t" or (terms and (names_tokens(rows[0]) or counts)):
            return name
    return None


def _first_lines(path: Path, encoding: str) -> list[str]:
    """Whole lines at the beginning of a file, spaces around them left out."""
    with readable(path) as file:
        data = unpack(path, file).read(HEAD)
    # the reader complains of what cannot be decoded
    lines = [
        line.strip() for line in data.decode(encoding, "replace").removeprefix("\ufeff").rstrip("\r\n").split("\n")
    ]
    return lines[:-1] if len(data) == HEAD and len(lines) > 1 else lines


def digest(path: str | Path) -> str:
    """SHA-256 of a file, or of the names and contents of all texts in a folder; a `DataError` if one cannot be read."""
    path = Path(path)
    if not path.is_dir():
        return sha256_of(path)
    sha256 = hashlib.sha256()
    for file in texts_in(path):
        sha256.update(f"{file.relative_to(path).as_posix()}\0{sha256_of(file)}\n".encode("utf-8", "surrogateescape"))
    return sha256.hexdigest()


# a folder of texts is identified by all that it holds (`splitmerge_cli.runs.identity.file_digest`)
corpus.digest_folder = digest  # type: ignore[attr-defined]
