"""The user's own documents: which of the formats a file has, and the data set that it makes; documents of objects:
texts, lists of words, counts of words.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from splitmerge_cli.data import objects, reading
from splitmerge_cli.data.dataset import Dataset, Labels
from splitmerge_cli.data.opening import ARCHIVES, readable, require_file, sha256_of, unpack
from splitmerge_cli.data.tables import separators
from splitmerge_cli.data.tables.columns import header_key
from splitmerge_cli.data.tables.formats import JSON
from splitmerge_cli.data.tables.table import list_names
from splitmerge_cli.data.values import notes_entry, require
from splitmerge_cli.kinds.documents.corpus import Corpus, dataset, tokens_of, vectorize
from splitmerge_cli.kinds.documents.readers import formats
from splitmerge_cli.kinds.documents.readers import words as choice
from splitmerge_cli.kinds.documents.readers.bag_of_words import ROW, read_ldac, read_npz, read_uci
from splitmerge_cli.received import DataError

FORMATS = ("auto", "tokens", "npz", "ldac", "uci", "text")
ENDINGS = dict.fromkeys((".csv", ".tsv", ".tab", ".parquet", ".feather", ".xlsx", *JSON), "tokens")
ENDINGS |= {".npz": "npz", ".ldac": "ldac", ".lda-c": "ldac"}
"""Format by the ending of the name; the first lines decide for all other files."""
FOREIGN = {".npy", ".mat", ".mtx", ".mm", ".pkl", *separators.TEXT_CONVERTERS, *ARCHIVES}
FOREIGN |= separators.CONVERTERS.keys() - set(JSON)
NO_TEXTS = {".parquet", ".xlsx", ".feather", *JSON}
"""Endings of tables that are no text files."""
TABLES = {*NO_TEXTS, *separators.BY_SUFFIX}
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
    min_length: str | int = choice.AUTO,
) -> Dataset:
    """Read documents.

    Options: ``conf/data/corpus.yaml``.

    Formats: ``tokens``, a table (text, .parquet, .feather, .xlsx) of document and word, a row per token, or of
    document, word and count, or of one column of texts; ``npz``, a sparse matrix of counts ``[documents, words]``, as
    ``scipy.sparse.save_npz`` writes it; ``ldac``, lines ``M WORD:COUNT ... WORD:COUNT``, words numbered from 0;
    ``uci``, three lines with the numbers of documents, words and entries, then lines of document, word and count,
    numbered from 1; ``text``, a file with a document a line, or a folder with a file for each. Text files may be
    gzipped. `vocabulary` is needed for ``npz``; for ``ldac`` and ``uci`` the words are their numbers without it, for
    ``tokens`` the words of the table; not for ``text``.

    By default `columns` are those that hold texts, in a table that has one; else those with such names, or the
    first, second and third, but for first ones that have no name and count the rows. ``header=auto`` takes the first
    line for names if it holds a name given in `columns`, names such as doc and word, or a word where counts are, or
    begins with an empty cell above cells that count the rows.

    Words and documents of a table are in the order of their first appearance, its tokens in the order of the rows;
    documents may be empty. Texts in folders of the folder have these for labels. A `DataError`: the file is missing,
    empty, or not as said (the message names the row); no document has a word; an option is out of range.
    """
    require(format in FORMATS, "data.format", format, f"one of {', '.join(FORMATS)}")
    listed = isinstance(columns, list | tuple) and len(columns) in (1, 2, 3)
    good = columns is None or (listed and all(isinstance(c, str | int) and not isinstance(c, bool) for c in columns))
    expected = "columns of document, word and perhaps count, such as [doc,word] or [1,2,3], one of texts, or null"
    require(good, "data.columns", columns, expected)
    separators.require_encoding(encoding)
    header = header_key("data.header", header)
    signs = ("auto", *separators.SEPARATORS)
    require(separator in signs, "data.separator", separator, f"one of {', '.join(signs)}")
    choice.require_shortest(min_length)
    choice.require_words(stop_words, min_documents, max_share)
    choice.require_split(heldout, heldout_by, split_seed)
    require(bool(str(path)), "data.path", path, WHAT)
    path = Path(path) if Path(path).is_dir() else require_file(path, WHAT)
    if format == "auto":
        format = _find_format(path, encoding, columns, separator)
    if path.is_dir() and format != "text":
        raise DataError(f"data.format={format}: {path} is a folder; expected a file (a folder is read as text)")
    require(columns is None or format == "tokens", "data.columns", columns, f"null with data.format={format}")
    as_text = format == "tokens" and separators.suffix_of(path) not in NO_TEXTS
    require(separator == "auto" or as_text, "data.separator", separator, f"auto: {path} is no table in a text file")
    require(vocabulary is None or format != "text", "data.vocabulary", vocabulary, "null: texts bring their own words")
    words = None if vocabulary is None else require_file(vocabulary, "the words, one a line")
    read: formats.Read
    if format == "tokens":
        table = formats.open_table(path, encoding, separator)
        texts_found = [] if words is not None else formats.text_columns(table)
        are_found = columns is None and bool(texts_found)
        columns = texts_found if are_found else columns
        if columns is None or (len(columns) != 1 and not {*columns} <= {*texts_found}):
            read = formats.read_tokens(table, columns, header, words, encoding, N)
        else:
            require(words is None, "data.vocabulary", vocabulary, "null: texts bring their own words")
            read = formats.read_text_columns(table, columns, header, N, min_length)
            if are_found:
                how = f"column {columns[0]} is read as texts, a document a row (data.columns chooses another)"
                if len(columns) > 1:
                    shown, first = list_names([*map(str, columns)]), f"data.columns=[{columns[0]}]"
                    how = f"columns {shown} are texts, joined to a document a row ({first} reads one)"
                others = table.width - len(columns) - (read.corpus.documents is not None)
                how += f"; the other column{'s take' if others > 1 else ' takes'} no part" if others else ""
                read = read._replace(notes=[*read.notes, f"{path}: {how}"])
            format = "text"
    elif format == "text":
        read = formats.read_texts(path, encoding, N, min_length)
    else:
        read = {"npz": read_npz, "ldac": read_ldac, "uci": read_uci}[format](path, words, encoding)
        if words is None:
            read = read._replace(notes=[f"{path}: words are shown by their numbers (data.vocabulary=FILE names them)"])
    texts = format == "text"
    given = f"auto: the words of {path} are given"
    require(texts or min_length == choice.AUTO, "data.min_length", min_length, given)
    parsed, vocabulary_read, notes = read
    J = parsed.tokens.J if format in ("tokens", "text") else formats.number_to_take(path, N, parsed.tokens.J)
    if J < parsed.tokens.J:
        parsed = replace(parsed, tokens=parsed.tokens.first(J))
    if not len(parsed.tokens.words):
        raise DataError(f"{path}: documents: {J}, tokens: none; expected at least one token")
    meta, options = {"path": str(path), "format": format} | notes_entry(notes), {"min_length": min_length}
    name = path.name.split(".")[0] or path.name
    whole = dataset(name, parsed, vocabulary_read, meta=meta, options=options if texts else {})
    chosen = choice.keep_words(whole, stop_words, min_documents, max_share, texts, encoding)
    return choice.split(choice.note_short_documents(chosen), heldout, heldout_by, split_seed)


def _find_format(path: Path, encoding: str, columns: Sequence[str | int] | None = None, separator: str = "auto") -> str:
    """Find the format of a file or folder, of which `columns` or cells that end with a `separator` are asked for."""
    if path.is_dir():
        return "text"
    suffix = separators.suffix_of(path)
    if suffix in TABLES and (separator != "auto" or columns is not None):
        return "tokens"
    if suffix in FOREIGN:
        raise separators.unknown_format(path, suffix, f"{WHAT} (data.format=NAME)")
    return ENDINGS.get(suffix) or format_of_lines(path, encoding)


def format_of_lines(path: Path, encoding: str) -> str:
    """The format that the first lines of a file have."""
    with readable(path) as file:
        data = unpack(path, file).read(HEAD)
    # the reader complains of what cannot be decoded
    text = data.decode(encoding, "replace").removeprefix("\ufeff").rstrip("\r\n")
    lines = [line.strip() for line in text.split("\n")]
    if len(data) == HEAD and len(lines) > 1:
        # the last one may go on
        lines.pop()
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
        terms = all(len(cell.split()) <= formats.LONGEST_TERM for row in rows for cell in row)
        counts = len(rows) > 1 and all(len(row) == 3 and row[2].strip().isdecimal() for row in rows[1:])
        if end == "\t" or (terms and (formats.names_tokens(rows[0]) or counts)):
            return name
    return None


def digest(path: str | Path) -> str:
    """SHA-256 of a file, or of the names and contents of all texts in a folder; a `DataError` if one cannot be read."""
    path = Path(path)
    if not path.is_dir():
        return sha256_of(path)
    sha256 = hashlib.sha256()
    for file in formats.texts_in(path):
        sha256.update(f"{file.relative_to(path).as_posix()}\0{sha256_of(file)}\n".encode("utf-8", "surrogateescape"))
    return sha256.hexdigest()


# a folder of texts is identified by all that it holds (`splitmerge_cli.runs.identity.file_digest`)
corpus.digest_folder = digest  # type: ignore[attr-defined]


class DocumentsReading(reading.KindReading):
    """Reads texts, or words that are counted."""

    texts_of = staticmethod(formats.texts_of)

    def from_object(
        self,
        data: Any,
        truth: Labels,
        name: str,
        stop_words: str | None = None,
        min_documents: int = 0,
        max_share: float = 1.0,
        min_length: str | int = "auto",
    ) -> Dataset:
        """Convert an object; words are left out as of a file (`words.keep_words`)."""
        data, names = objects.texts_of(data)
        are_counts, notes = objects.has_counts(data), list[str]()
        data = data if are_counts else list(data)
        texts = not are_counts and all(isinstance(document, str) for document in data)
        require(texts or min_length == choice.AUTO, "data.min_length", min_length, "auto: the words are given")
        vocabulary: list[str] | None
        if are_counts:
            counts, vocabulary, names = objects.counts_of(data)
        elif texts:
            counts, vocabulary, notes = choice.count_texts(data, min_length)
        else:
            if any(isinstance(document, str) for document in data):
                raise DataError("data: texts mixed with lists of words; expected one or the other")
            check_words(data)
            try:
                counts, vocabulary = vectorize(data, analyzer=list)
            except (ValueError, TypeError) as error:
                raise DataError(f"data: {error}; expected texts, or sequences of words") from error
        words = vocabulary or [f"word {k}" for k in range(counts.shape[1])]
        options = {"min_length": min_length} if texts else {}
        whole = Corpus(tokens_of(counts), counts.shape[1], names, truth)
        from_counts = dataset(name, whole, words, None, notes_entry(notes), options)
        if stop_words == choice.AUTO and not texts:
            # words that somebody chose
            stop_words = None
        if (stop_words, min_documents, max_share) == (None, 0, 1.0):
            return choice.note_short_documents(from_counts)
        return choice.note_short_documents(choice.keep_words(from_counts, stop_words, min_documents, max_share, texts))


def check_words(documents: Iterable[Iterable[Any]]) -> None:
    """Raise a `DataError` if a word of these sequences is no string."""
    if not all(isinstance(word, str) for document in documents for word in document):
        raise DataError("data: a word is not a string; expected texts, sequences of words, or an array of counts")
