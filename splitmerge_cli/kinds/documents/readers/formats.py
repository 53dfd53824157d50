"""Formats of corpora: a table of document and word, texts.

Each reader returns all documents of its file, the empty ones too, and the vocabulary.
"""

import re
from collections.abc import Iterator, Sequence
from io import BytesIO, TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from splitmerge_cli.data.opening import Limit, check_rows
from splitmerge_cli.data.tables import separators
from splitmerge_cli.data.tables.columns import codes, index, numbers, position
from splitmerge_cli.data.tables.columns import words as words_of
from splitmerge_cli.data.tables.formats import JSON, read_feather, read_json, read_parquet, read_sheet
from splitmerge_cli.data.tables.table import MOST_COLUMNS, NAMELESS, NUMBER, Table, is_text, list_names, quote
from splitmerge_cli.data.tables.text import Text
from splitmerge_cli.data.values import LARGEST, require
from splitmerge_cli.kinds.documents.corpus import Corpus, Tokens, check_size, starts_of, tokens_of
from splitmerge_cli.kinds.documents.readers.words import AUTO, UNSPACED, count_texts, read_vocabulary
from splitmerge_cli.received import DataError


class Read(NamedTuple):
    """A corpus, its vocabulary, and what the user should know of how they were read."""

    corpus: Corpus
    vocabulary: list[str]
    notes: Sequence[str] = ()


Cells = Sequence[Sequence[str | None]]
"""The first cells of each column as text."""
LINE_BYTES = 40
"""Memory that a document of a text takes at least."""
LOOKED_AT = 200
"""Rows that are looked at for a column of texts."""
LONGEST_TERM = 3
"""Words of a cell from which on it is a text, no term."""
MOST_OTHERS = 50
"""Most columns of a table that is read for its texts."""
MOST_WORDS = 0.85
"""Share of a table's words in columns of texts from which on the table is read for these."""
DOCUMENT_NAMES = {"doc", "docs", "document", "documents", "doc_id", "docid", "document_id", "doc_name"}
WORD_NAMES = {"word", "words", "token", "tokens", "term", "terms"}
COUNT_NAMES = {"count", "counts", "n", "freq", "frequency", "tf"}
NAMES = DOCUMENT_NAMES | {"id", "ids", "name", "names", "file", "filename"}
"""Names of columns for documents, words and counts, in lower case; of columns for the names of texts."""
CHOOSE = (
    "data.columns=[DOCUMENT,WORD] or [DOCUMENT,WORD,COUNT] chooses them, by name or number; data.columns=[TEXT] reads "
    "one column of texts; data.format says what else a file holds"
)
ONE_SHEET = "one sheet; save the sheet of the texts as a .csv file"
COUNT = f"a count, a whole number from 0 to {LARGEST}"


# a table


def read_tokens(
    table: Table,
    columns: Sequence[str | int] | None,
    header: str | bool,
    vocabulary: Path | None,
    encoding: str,
    N: int | None,
) -> Read:
    """A table of document and word, a row per token, or of document, word and count; options as of
    `splitmerge_cli.kinds.documents.readers.files.corpus`. Raises a `DataError` if it is not as said, a word is not in
    the vocabulary, or N is larger than the number of documents.
    """
    path = table.path
    has_names = _parse_tokens(table, columns, header) if isinstance(table, Text) else True
    document, word, count = _resolve(table, columns)
    table.columns = [pc.utf8_trim_whitespace(c) if is_text(c) else c for c in table.columns]
    if columns is None:
        table.leave_out(table.unnamed_columns(), "data.columns would read it", CHOOSE)
    document_of_row, names = codes(table, document, "the name of a document")
    coded, distinct = codes(table, word, "a word", {""})
    if columns is None and sum(len(text.split()) > LONGEST_TERM for text in distinct) > len(distinct) / 2:
        key = table.names[word] if table.names else word + 1
        expected_word = f"one word in each row (data.columns=[{key}] reads the column as texts, a document a row)"
        raise table.error(0, word, expected_word)
    alone = len(document_of_row) > 1 and document_of_row[0] not in document_of_row[1:] and coded[0] not in coded[1:]
    if header == "auto" and not has_names and isinstance(table, Text) and alone:
        if table.counts_columns():
            raise table.header_error()
        # any other first row with a count is none of names
        if count is None:
            raise DataError(
                f"{path}: row 1: {quote(names[0])} and {quote(distinct[0])}, which occur nowhere else; expected names "
                "of columns or a token (data.header=true or false decides)"
            )
    many = np.ones(len(document_of_row), dtype=np.int64)
    if count is not None:
        values = numbers(table, count, "data.columns chooses the columns")
        bad = ~((values >= 0) & (values <= LARGEST) & (values == np.floor(values)))
        if bad.any():
            raise table.error(int(np.argmax(bad)), count, COUNT)
        many = values.astype(np.int64)
    if vocabulary is not None:
        words = read_vocabulary(vocabulary, None, encoding)
        number = {known: w for w, known in enumerate(words)}
        coded = np.array([number.get(one, -1) for one in distinct], dtype=np.int32)[coded]
        if (coded < 0).any():
            raise table.error(int(np.argmax(coded < 0)), word, f"a word of {vocabulary}")
        distinct = words
    J = number_to_take(path, N, len(names))
    rows = np.flatnonzero(document_of_row < J)
    rows = rows[np.argsort(document_of_row[rows], kind="stable")]
    if vocabulary is None and len(names) > J:
        # the words of these documents alone, still as they appear
        used, coded_rows = np.unique(coded[rows], return_inverse=True)
        distinct, coded[rows] = [distinct[w] for w in used], coded_rows
    upto = starts_of(many[rows])
    check_size(int(upto[-1]), path)
    tokens = Tokens(
        np.repeat(coded[rows], many[rows]), upto[starts_of(np.bincount(document_of_row[rows], minlength=J))]
    )
    return Read(Corpus(tokens, len(distinct), names[:J]), distinct, table.notes)


def read_text_columns(
    table: Table, columns: Sequence[str | int], header: str | bool, N: int | None, shortest: str | int = AUTO
) -> Read:
    """Columns of texts, a document a row; words as of `read_texts`. Other parameters as of `read_tokens`.

    The documents have the names of a column such as id or doc, where its cells differ.
    """
    path = table.path
    if isinstance(table, Text):
        if header is True or (header == "auto" and _names_texts(table, columns[0])):
            table.take_header()
        table.parse([{}])
    read = [index(table, "data.columns", column) for column in columns]
    names = _identifiers(table, read)
    texts = [words_of(table, j, "a text").slice(0, N).to_pylist() for j in read]
    number_to_take(path, N, table.rows)
    joined = (" ".join(str(part) for part in parts if part) for parts in zip(*texts, strict=True))
    counts, vocabulary, notes = count_texts(joined, shortest, path)
    documents = None if names is None else names[: len(texts[0])]
    return Read(Corpus(tokens_of(counts, path), len(vocabulary), documents), vocabulary, [*table.notes, *notes])


def _identifiers(table: Table, texts: Sequence[int]) -> list[str] | None:
    """The names of the documents in a table of texts: cells of a column named so, or of the first without a name, that
    differ from row to row."""
    for j, name in enumerate(table.names or []):
        if j in texts or not (name.strip().lower() in NAMES or (j == 0 and NAMELESS.fullmatch(name))):
            continue
        column = table.cells(j)
        if not (is_text(column) or pa.types.is_integer(column.type)) or column.null_count:
            continue
        cells = [str(cell).strip() for cell in column.to_pylist()]
        if all(cells) and len(set(cells)) == len(cells):
            return cells
    return None


def text_columns(table: Table) -> list[str | int]:
    """Names, or numbers without a name, of the columns that `_find_texts` finds."""
    names, cells = _look_at(table)
    return [names[j] if names and names.count(names[j]) == 1 and names[j] else j + 1 for j in _find_texts(cells)]


def is_of_texts(table: Table) -> bool:
    """Whether a table is read for its texts (`_choose_texts`)."""
    # a wide table takes long to look at, and texts hardly make most of it
    return table.width <= MOST_OTHERS and bool(_choose_texts(_look_at(table)[1]))


def texts_of(data: Any) -> Any | None:
    """The columns of a pandas Series or data frame that are read for their texts, as of a file: a Series, named by the
    column, or by the columns that it joins. None of anything else."""
    frame = data.to_frame() if hasattr(data, "to_frame") else data
    if not hasattr(frame, "iloc") or frame.shape[1] > MOST_OTHERS:
        return None
    first = frame.head(LOOKED_AT)
    cells = [[cell if isinstance(cell, str) else "0" for cell in first.iloc[:, j]] for j in range(first.shape[1])]
    chosen = _choose_texts(cells)
    if len(chosen) < 2:
        return frame.iloc[:, chosen[0]] if chosen else None
    texts = frame.iloc[:, chosen]
    return texts.fillna("").agg(" ".join, axis=1).rename(tuple(texts.columns))


def _choose_texts(cells: Cells) -> list[int]:
    """The columns of texts that a table is read for (`_find_texts`); none with two other columns or more that have more
    than a few words in no text."""
    texts, words = _find_texts(cells), _count_words(cells)
    of_texts = sum(count for count, column in zip(words, cells, strict=True) if _are_texts(column))
    return texts if len(cells) <= 2 or of_texts >= MOST_WORDS * sum(words) else []


def _find_texts(cells: Cells) -> list[int]:
    """The columns of texts, all of them, or the one that has twice the words of any other."""
    words = _count_words(cells)
    texts = sorted((j for j, column in enumerate(cells) if _are_texts(column)), key=lambda j: -words[j])
    return texts[:1] if len(texts) > 1 and words[texts[0]] >= 2 * words[texts[1]] else sorted(texts)


def _look_at(table: Table) -> tuple[Sequence[str] | None, Cells]:
    """The names of the columns, and the first cells of each as text."""
    if not isinstance(table, Text):
        # whatever is no string is one word
        first = [(is_text(column), column.slice(0, LOOKED_AT)) for column in table.columns]
        return table.names, [part.to_pylist() if of_words else ["0"] * len(part) for of_words, part in first]
    names = table.names
    rows = [row for _, row in islice(table.lines(), LOOKED_AT + 1)]
    if all(len(cell.split()) < LONGEST_TERM for cell in rows[0]):
        names = [cell.strip() for cell in rows[0]]
    return names, [[row[j] for row in rows[1:] if j < len(row)] for j in range(table.width)]


def _count_words(cells: Cells) -> list[int]:
    """The words of each column."""
    return [sum(len(_words_of(cell)) for cell in column if cell) for column in cells]


def _words_of(cell: str) -> list[str]:
    """The words of a text, or about as many pieces where its language puts no spaces between them."""
    if cell.isascii():
        return cell.split()
    return [piece for word in cell.split() for piece in UNSPACED.findall(word) or [word]]


def _are_texts(cells: Sequence[str | None]) -> bool:
    """Whether more than half of the cells that are not empty have more words than a term, at least half of them with
    a letter, which times and readings of instruments have not."""
    held = [_words_of(cell) for cell in cells if cell and cell.strip()]
    lettered = [sum(any(map(str.isalpha, word)) for word in words) for words in held]
    texts = sum(len(words) > LONGEST_TERM and 2 * n >= len(words) for words, n in zip(held, lettered, strict=True))
    return 2 * texts > len(held) > 0


def open_table(path: Path, encoding: str, separator: str = "auto", usual: str | None = None) -> Table:
    """A table of documents in any of the formats; of a text the first row may still name the columns.

    What ends the cells of a text is found as `data=csv` finds it, except that spaces between words separate nothing,
    and what is `usual` may differ from what the ending of its name says.
    """
    suffix = separators.suffix_of(path)
    if suffix == ".parquet":
        return read_parquet(path, MOST_COLUMNS)
    if suffix == ".feather":
        return read_feather(path)
    if suffix in JSON:
        return read_json(path)
    if suffix == ".xlsx":
        return read_sheet(path, ask=ONE_SHEET)
    data, before, named = separators.without_separator_line(separators.read_text(path, encoding))
    usual = separators.BY_SUFFIX.get(suffix, "comma") if usual is None else usual
    layout_found = separators.layout(data, usual, named if separator == "auto" and named else separator)
    if layout_found.separator == "space":
        data = separators.tabs(path, data, before)
    data, notes = separators.with_row_names(path, data, layout_found.delimiter)
    table = Text(path, data, layout_found.delimiter, before, MOST_COLUMNS, separators.DECIMALS[layout_found.decimal])
    table.notes += notes
    if separator == "auto" and layout_found.separator != usual:
        table.notes.append(f"{path}: {separators.WORDS[layout_found.separator]} ends a cell (data.separator)")
    return table


def _names_texts(table: Text, column: str | int) -> bool:
    """Whether the first row of a table names its columns: by the name that is asked for, or as a word above texts."""
    j = position(column, table.width)
    if j is None:
        return column in [cell.strip() for cell in table.top[0]]
    first, *others = (len(row[j].split()) if j < len(row) else 0 for row in table.top)
    return first == 1 and max(others, default=0) > 1


def _parse_tokens(table: Text, columns: Sequence[str | int] | None, header: str | bool) -> bool:
    """Parse a text of tokens; return whether its first row surely names the columns."""
    named = _has_header(table, columns) if header == "auto" else bool(header)
    if named:
        table.take_header()
        if len(table.top) == 1:
            raise DataError(f"{table.path}: the file has a header but no row of data; expected at least one row")
    count = _resolve(table, columns)[2]

    def misfit(cell: str) -> str | None:
        return None if NUMBER.fullmatch(table.number(cell.strip(" \t"))) else COUNT

    if count is None:
        table.parse([{}])
    else:
        # a count may be written as 2.0
        table.parse([{count: pa.float64()}], misfit)
    return named


def _has_header(table: Text, columns: Sequence[str | int] | None) -> bool:
    """Whether the first row of a table names its columns, as far as that row tells."""
    head = [cell.strip() for cell in table.top[0]]
    if table.heads_index():
        return True
    if columns is None:
        if names_tokens(head):
            return True
        counts = head[2:] if len(head) == 3 else []
    else:
        if any(column in head for column in columns if isinstance(column, str)):
            return True
        counts = [head[j] for column in columns[2:] if (j := position(column, len(head))) is not None]
    # an empty cell or a NaN is a faulty count, not a name
    return any(re.match(r"[^\W\d]", cell) and cell.lower() not in ("nan", "inf", "infinity") for cell in counts)


def names_tokens(head: Sequence[str]) -> bool:
    """Whether the cells of a first row name columns of documents and words."""
    lower = {cell.strip().lower() for cell in head}
    return bool(lower & DOCUMENT_NAMES and lower & WORD_NAMES)


def _resolve(table: Table, columns: Sequence[str | int] | None) -> tuple[int, int, int | None]:
    """Positions of document, word and perhaps count."""
    if columns is not None:
        positions = [index(table, "data.columns", column) for column in columns]
        if len(set(positions)) < len(positions):
            raise DataError(f"data.columns={list(columns)}: {table.path}: expected each column once")
        return positions[0], positions[1], positions[2] if len(positions) == 3 else None
    names = [name.strip().lower() for name in table.names or []]
    read = [j for j in range(table.width) if j not in table.unnamed_columns()]
    kinds = [[j for j in read if names and names[j] in known] for known in (DOCUMENT_NAMES, WORD_NAMES, COUNT_NAMES)]
    if all(len(kind) == 1 for kind in kinds[:2]) and len(kinds[2]) == len(read) - 2 <= 1:
        return kinds[0][0], kinds[1][0], kinds[2][0] if kinds[2] else None
    if len(read) == 1 and isinstance(table, Text) and (other := table.other_delimiter()) is not None:
        raise DataError(
            f"{table.path}: one column, and {other} as often in each row; expected data.separator, the sign that ends "
            "a cell"
        )
    if len(read) == 1:
        raise DataError(f"{table.path}: one column; data.columns=[{read[0] + 1}] reads it as texts, a document a row")
    if len(read) not in (2, 3) or (kinds[0] and kinds[1]):
        named = f" ({list_names(table.names)})" if table.names else ""
        raise DataError(
            f"{table.path}: {table.width} columns{named}; expected document and word, or document, word and count "
            f"({CHOOSE})"
        )
    return read[0], read[1], read[2] if len(read) == 3 else None


# texts


def texts_in(folder: Path) -> list[Path]:
    """The files of a folder and of those in it, in the order of their names; hidden ones (.NAME) are left out. Raises a
    `DataError` if there is none.
    """
    paths = (path for path in folder.rglob("*") if not path.is_dir())
    files = [path for path in paths if not any(part.startswith(".") for part in path.relative_to(folder).parts)]
    if not files:
        raise DataError(f"{folder}: the folder is empty; expected a file for each document")
    return sorted(files)


def _texts_of(folder: Path, files: list[Path], encoding: str) -> Iterator[str]:
    """Yield the text of each file in a folder, up to the limit."""
    limit, total = Limit.current(), 0
    for file in files:
        data = separators.read_text(file, encoding)
        total += len(data)
        limit.check(folder, total, " unpacked")
        yield data.decode("utf-8")


def read_texts(path: Path, encoding: str, N: int | None, shortest: str | int = AUTO) -> Read:
    """Texts: the files of a folder, or the lines of a file; words as `splitmerge_cli.kinds.documents.readers.words`
    finds them, of at least so many characters (`shortest`).

    They are in the order of the alphabet. Where all files are in folders of the folder, these are the categories. The
    empty lines at the end of a file are no documents.
    """
    names, labels, categories = None, None, None
    if path.is_dir():
        files = texts_in(path)
        files = files[: number_to_take(path, N, len(files))]
        parts = [file.relative_to(path).parts for file in files]
        names = ["/".join(part) for part in parts]
        if all(len(part) > 1 for part in parts):
            categories = list(dict.fromkeys(part[0] for part in parts))
            number = {category: k for k, category in enumerate(categories)}
            labels = np.array([number[part[0]] for part in parts], dtype=np.int32)
        texts = _texts_of(path, files, encoding)
    else:
        data = separators.read_text(path, encoding)
        if not data.strip():
            raise DataError(f"{path}: the file is empty; expected a document a line")
        lines = data.count(b"\n") + 1
        check_rows(path, lines, LINE_BYTES, "rows")
        # decoded line by line; a line alone ends a document
        opened = TextIOWrapper(BytesIO(data), "utf-8", newline="\n")
        texts = (line.removesuffix("\n") for line in islice(opened, number_to_take(path, N, lines)))
    counts, words, notes = count_texts(texts, shortest, path)
    return Read(Corpus(tokens_of(counts, path), len(words), names, labels, categories), words, notes)


def number_to_take(path: Path, N: int | None, documents: int) -> int:
    """How many documents to take; a `DataError` if there are fewer."""
    good = N is None or (isinstance(N, int) and not isinstance(N, bool) and 1 <= N <= documents)
    require(good, "N", N, f"a whole number from 1 to {documents}, the documents of {path}, or null")
    return N or documents
