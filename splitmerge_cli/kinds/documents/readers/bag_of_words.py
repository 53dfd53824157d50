"""Formats of corpora that hold counts of words: a sparse matrix, UCI's bag of words, LDA-C. Each reader returns all
documents of its file, the empty ones too, and the vocabulary.

Texts of counts as the UCI collection "Bag of Words" has them are converted once into arrays that are then mapped. Three
lines say how many documents, words and entries there are; every further line is an entry: document, word, count,
numbered from 1, documents in ascending order. The arrays are in a folder next to the text. It appears whole or not at
all, and is made again when the text is another.
"""

import json
import os
import re
import shutil
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from splitmerge_cli.data.opening import Limit, check_rows, open_file, sha256_of, unpack
from splitmerge_cli.data.tables.separators import read_text
from splitmerge_cli.data.tables.table import quote
from splitmerge_cli.data.values import LARGEST
from splitmerge_cli.extras import sparse
from splitmerge_cli.kinds.documents.corpus import Corpus, Tokens, check_size, starts_of, tokens_of
from splitmerge_cli.kinds.documents.readers.formats import Read
from splitmerge_cli.kinds.documents.readers.words import WORD_BYTES, read_counts, read_vocabulary
from splitmerge_cli.received import DataError, reject_machine_error

CHUNK = 1 << 24
"""Bytes of text that are read at the same time."""
LARGE = 10_000_000
"""Bytes of a file from which its reading shows how far it is."""
DOCUMENT_BYTES = 32
"""Memory that a document takes, whatever it holds."""
HEADER = ("documents", "words", "entries")
ROW = re.compile(rb"\d+ \d+ \d+")
RECORD = "source.json"
ARRAYS = ("indptr", "indices", "counts")
_FIELDS = ("document", "word", "count")
_PARSE = pyarrow.csv.ParseOptions(delimiter=" ", quote_char=False, ignore_empty_lines=False)
_TYPES = pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(_FIELDS, pa.int64()), null_values=[])

Entries = NDArray[np.int64]
"""``[3, n]``: document, word and count of each entry."""


def digest(path: Path) -> str:
    """SHA-256 of a text: that found when it was converted, if neither its size nor its time has changed since. Raises
    a `DataError` if it cannot be read.
    """
    record = _record(path)
    if record is not None and _stamp(path).items() <= record.items():
        return str(record["sha256"])
    return sha256_of(path)


def read(path: Path, documents: int | None = None) -> "sparse.csr_array":
    """Counts ``[documents, words]`` of a text, mapped from its arrays; the first reading of a text makes these.

    The text is gzipped if its name ends in .gz. The counts are int32, not writable; the indices of a row ascend; a
    document without a word is an empty row. Raises a `DataError` if there are fewer documents, the text is none of
    this kind (the message names the row), or the arrays cannot be written.
    """
    sha256 = digest(path)
    record = _record(path)
    if record is None or record["sha256"] != sha256:
        record = _convert(path, sha256)
    elif record != (now := record | _stamp(path)):
        # where this cannot be written the text is only hashed again at the next reading
        part = folder_of(path) / f".{RECORD}.{os.getpid()}"
        with suppress(OSError):
            part.write_text(json.dumps(now), encoding="utf-8")
            part.replace(folder_of(path) / RECORD)
    D, W = record["documents"], record["words"]
    if documents is not None and documents > D:
        raise DataError(f"data.documents={documents}: expected at most {D}, the number of documents of {path}, or null")
    n = D if documents is None else documents
    folder = folder_of(path)
    try:
        indptr, indices, counts = (
            np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)) for name in ARRAYS
        )
        end = int(indptr[n])
        # of one type with the indices, which would be copied otherwise
        upto = indptr[: n + 1].astype(indices.dtype if end <= LARGEST else np.int64)
        return sparse.csr_array((counts[:end], indices[:end], upto), shape=(n, W))
    except (OSError, EOFError, ValueError, IndexError) as error:
        reject_machine_error(error, path)
        raise DataError(
            f"{folder}: damaged: {error}; expected the arrays of {path.name} (without this folder they are made again)"
        ) from error


def parse(path: Path) -> "sparse.csr_array":
    """As `read`, all counts of a text that fits into memory; nothing is written. Raises a `DataError` if it is none
    of this kind, holds more than the limit (data.max_bytes), or says that it has more documents than memory takes.
    """
    with _Text(path, "read", Limit.current()) as text:
        check_rows(f"{path}: row 1", text.D, DOCUMENT_BYTES, "documents")
        blocks = [entries.astype(np.int32) for entries in text.documents()]
    # the text held what its header says
    document, word, count = np.concatenate(blocks, axis=1)
    many = np.bincount(document, minlength=text.D + 1)
    return sparse.csr_array((count, word - np.int32(1), np.cumsum(many)), shape=(text.D, text.W))


def folder_of(path: Path) -> Path:
    """The folder with the arrays of a text."""
    return path.with_name(f"{path.name}.arrays")


def _stamp(path: Path) -> dict[str, int]:
    """Size and time of a file, which change with its content."""
    status = path.stat()
    return {"size": status.st_size, "mtime_ns": status.st_mtime_ns}


def _record(path: Path) -> dict[str, Any] | None:
    """Read what the arrays of a text were made from and what they hold; None without arrays."""
    try:
        record = json.loads((folder_of(path) / RECORD).read_bytes())
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) and {*HEADER, "sha256"} <= record.keys() else None


def _convert(path: Path, sha256: str) -> dict[str, Any]:
    """Make the arrays of a text, and return their record."""
    folder = folder_of(path)
    part = folder.with_name(f".{folder.name}.{os.getpid()}")
    record: dict[str, Any] = {"sha256": sha256, **_stamp(path)}
    try:
        part.mkdir()
        with _Text(path, "converted once") as text:
            check_rows(f"{path}: row 1", text.D, DOCUMENT_BYTES, "documents")
            record |= dict(zip(HEADER, (text.D, text.W, text.entries), strict=True))
            _write_arrays(text, part)
        (part / RECORD).write_text(json.dumps(record), encoding="utf-8")
        if folder.exists():
            shutil.rmtree(folder)
        try:
            part.rename(folder)
        except OSError:
            # another process may have been faster
            if (theirs := _record(path)) is None or theirs["sha256"] != sha256:
                raise
    except OSError as error:  # errors of the text are no longer OSErrors
        raise DataError(
            f"{folder}: cannot be written: {error.strerror or error}; expected room for the arrays of {path.name}"
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return record


def _write_arrays(text: "_Text", part: Path) -> None:
    lengths = np.zeros(text.D + 1, dtype=np.int64)
    with (part / "indices.npy").open("wb") as indices, (part / "counts.npy").open("wb") as counts:
        for file in (indices, counts):
            kind = {"descr": "<i4", "fortran_order": False, "shape": (text.entries,)}
            np.lib.format.write_array_header_1_0(file, kind)
        for document, word, count in text.documents():
            first = int(document[0])
            many = np.bincount(document - first)
            lengths[first : first + len(many)] += many
            indices.write((word - 1).astype("<i4").data)
            counts.write(count.astype("<i4").data)
    np.save(part / "indptr.npy", np.cumsum(lengths))


class _Text:
    """A text while it is read: what is `done` with it, for the progress, and how much of it is held in memory at most.

    `D`, `W` and `entries` are what its header says, `line` is the number of lines that were read.
    """

    def __init__(self, path: Path, done: str, limit: Limit | None = None) -> None:
        self.path, self.line, self.done, self.limit = path, 0, done, limit
        self.size = 0
        self._open = ExitStack()

    def __enter__(self) -> "_Text":
        try:
            self._raw = self._open.enter_context(open_file(self.path))
        except OSError as error:
            raise DataError(f"{self.path}: cannot be read: {error.strerror}") from error
        self._stream = unpack(self.path, self._raw)
        try:
            self.D, self.W, self.entries = (self._read_size(name) for name in HEADER)
            if self.entries > self.D * self.W:
                raise DataError(f"{self.path}: row 3: {self.entries} entries; expected at most {self.D * self.W}")
        except BaseException:
            self._open.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def documents(self) -> Iterator[Entries]:
        """Checked entries of whole documents, words of a document in ascending order."""
        rest = np.empty((3, 0), dtype=np.int64)
        for new in self._entries():
            entries = np.concatenate([rest, new], axis=1)
            # the last document may go on
            cut = int(np.searchsorted(entries[0], entries[0, -1]))
            if entries.shape[1] - cut > self.W:
                cut = entries.shape[1]
            if cut:
                yield self._sort_words(entries[:, :cut], self.line - entries.shape[1])
            rest = entries[:, cut:]
        if rest.size:
            yield self._sort_words(rest, self.line - rest.shape[1])
        if (n_entries := self.line - len(HEADER)) != self.entries:
            raise DataError(
                f"{self.path}: ends after row {self.line}: {n_entries} entries; expected {self.entries} (row 3)"
            )

    def _sort_words(self, entries: Entries, before: int) -> Entries:
        """Sort the entries of each document by word; `before`: number of the lines before them."""
        place = entries[0] * self.W + entries[1]
        if (place[1:] > place[:-1]).all():
            return entries
        order = np.argsort(place, kind="stable")
        again = np.flatnonzero(np.diff(place[order]) == 0)
        if len(again):
            i = int(order[again + 1].min())
            document, word = entries[:2, i]
            raise self._error(
                before + i + 1, f"word {word} of document {document} again", "every word of a document once"
            )
        return entries[:, order]

    def _entries(self) -> Iterator[Entries]:
        """Entries block by block, checked one by one."""
        last = 1
        for block in self._blocks():
            options = pyarrow.csv.ReadOptions(column_names=list(_FIELDS), block_size=1 << 22)
            try:
                parsed = pyarrow.csv.read_csv(pa.py_buffer(block), options, _PARSE, _TYPES)
            except pa.ArrowInvalid as error:
                raise self._misfit(block, error) from error
            entries = np.stack([parsed[name].to_numpy() for name in _FIELDS])
            self._check(entries, last)
            last = int(entries[0, -1])
            self.line += entries.shape[1]
            if self.line - len(HEADER) > self.entries:
                row = self.entries + len(HEADER) + 1
                raise self._error(row, "an entry more", f"{self.entries} entries, as row 3 says")
            yield entries

    def _blocks(self) -> Iterator[bytes]:
        """The text below its header, in blocks of whole lines."""
        size = self.path.stat().st_size
        with ExitStack() as stack:
            report = None
            if size >= LARGE:
                from splitmerge_cli.data import downloads

                report = stack.enter_context(downloads.show_progress())
            rest = b""
            while chunk := self._read(CHUNK):
                if report is not None:
                    report(f"{self.path.name} ({self.done})", self._raw.tell(), size)
                data = rest + chunk
                end = data.rfind(b"\n") + 1
                rest = data[end:]
                if len(rest) > CHUNK:
                    raise self._error(self.line + 1, "a line without an end", "document, word and count")
                if end:
                    yield data[:end]
            if rest:
                yield rest

    def _read(self, size: int) -> bytes:
        if self.limit is not None:
            size = min(size, self.limit.size - self.size + 1)
        with self._translate_read_errors():
            data = self._stream.read(size)
        self.size += len(data)
        if self.limit is not None and self.size > self.limit.size:
            raise self.limit.error(self.path, f"more than {self.limit.size} bytes unpacked")
        return data

    def _read_size(self, name: str) -> int:
        """Read the next line of the header: the number of documents, words or entries."""
        with self._translate_read_errors():
            line = self._stream.readline(CHUNK).strip()
        self.line += 1
        number = int(line) if re.fullmatch(rb"\d{1,19}", line) else 0
        largest = LARGEST if name != "entries" else 2**62
        if not 1 <= number <= largest:
            order = "the first three lines say documents, words, entries"
            expected = f"the number of {name}, from 1 to {largest} ({order})"
            raise self._error(self.line, quote(line.decode("utf-8", "replace")), expected)
        return number

    @contextmanager
    def _translate_read_errors(self) -> Iterator[None]:
        try:
            yield
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{self.path}: cannot be read beyond row {self.line}: {error}") from error

    def _misfit(self, block: bytes, failure: pa.ArrowInvalid) -> DataError:
        """Describe the first line that is no entry."""
        for row, line in enumerate(block.split(b"\n"), start=self.line + 1):
            line = line.removesuffix(b"\r")
            if not ROW.fullmatch(line) or max(map(int, line.split())) >= 2**63:
                expected = "document, word and count: three whole numbers with a space between them"
                return self._error(row, quote(line[:80].decode("utf-8", "replace")), expected)
        return DataError(f"{self.path}: cannot be parsed: {failure}")

    def _check(self, entries: Entries, last: int) -> None:
        """Reject the first entry that is out of range, or whose document comes before the one above."""
        limits = (self.D, self.W, LARGEST)
        faults = [
            (int(np.argmax(bad)), i)
            for i, (numbers, limit) in enumerate(zip(entries, limits, strict=True))
            if (bad := (numbers < 1) | (numbers > limit)).any()
        ]
        falls = np.diff(entries[0], prepend=last) < 0
        if falls.any():
            faults.append((int(np.argmax(falls)), 3))
        if not faults:
            return
        entry, fault = min(faults)
        row = self.line + entry + 1
        if fault == 3:
            before = last if entry == 0 else entries[0, entry - 1]
            raise self._error(row, f"document {entries[0, entry]} after {before}", "documents in ascending order")
        raise self._error(row, f"{_FIELDS[fault]} {entries[fault, entry]}", f"a whole number from 1 to {limits[fault]}")

    def _error(self, row: int, problem: str, expected: str) -> DataError:
        return DataError(f"{self.path}: row {row}: {problem}; expected {expected}")


MOST_WORDS = 10_000_000
"""Largest size of a vocabulary whose words are numbers."""
PAIR = f"WORD:COUNT, two whole numbers, the count from 1 to {LARGEST}"
_LDAC = re.compile(rb"(?:[ \t]*+\d{1,10}+(?:[ \t]++\d{1,10}+:\d{1,10}+)*+[ \t]*+\r?+\n)*+")


def read_npz(path: Path, vocabulary: Path | None, encoding: str) -> Read:
    """Counts ``[documents, words]`` in a sparse matrix of ``scipy.sparse.save_npz``; the vocabulary is needed."""
    counts = read_counts(path)
    if vocabulary is None:
        raise DataError(
            f"data.vocabulary=null: {path}: expected a text file with its {counts.shape[1]} words, one a line"
        )
    words = read_vocabulary(vocabulary, counts.shape[1], encoding)
    return Read(Corpus(tokens_of(counts, path), len(words)), words)


def read_uci(path: Path, vocabulary: Path | None, encoding: str) -> Read:
    """Three lines that say the numbers of documents, words and entries, then lines of document, word and count.

    Without a vocabulary the words are their numbers, from 1.
    """
    counts = parse(path)
    words = _words_or_numbers(path, vocabulary, encoding, counts.shape[1], 1)
    if len(words) != counts.shape[1]:
        raise DataError(f"{vocabulary}: {len(words)} lines; expected {counts.shape[1]}, the words of {path} (row 2)")
    return Read(Corpus(tokens_of(counts, path), len(words)), words)


def _words_or_numbers(path: Path, vocabulary: Path | None, encoding: str, words: int, first: int) -> list[str]:
    """The words of a vocabulary file; without one their numbers."""
    if vocabulary is not None:
        return read_vocabulary(vocabulary, None, encoding)
    if words > MOST_WORDS:
        raise DataError(
            f"{path}: word {words - 1 + first}; expected at most {MOST_WORDS} words without data.vocabulary"
        )
    check_rows(path, words, WORD_BYTES, "words")
    return [str(w) for w in range(first, first + words)]


# LDA-C


def read_ldac(path: Path, vocabulary: Path | None, encoding: str) -> Read:
    """Lines ``M WORD:COUNT ... WORD:COUNT``: a document with M different words, numbered from 0.

    Without a vocabulary the words are their numbers, up to the largest. Raises a `DataError` if a line is not as
    said, has another number of pairs, a word twice, or one that is not in the vocabulary.
    """
    data = read_text(path, encoding) + b"\n"
    if not data.strip():
        raise DataError(f"{path}: the file is empty; expected at least one row")
    if not _LDAC.fullmatch(data):
        raise _misfit(path, data)
    Limit.current().check(path, 8 * (2 * data.count(b":") + data.count(b"\n")), " as numbers")
    numbers = np.fromstring(data.replace(b":", b" ").decode("ascii"), dtype=np.int64, sep=" ")
    text = np.frombuffer(data, dtype=np.uint8)
    starts = np.searchsorted(np.flatnonzero(text == ord(":")), np.flatnonzero(text == ord("\n")))
    starts = np.append(0, starts).astype(np.int64)
    heads = 2 * starts[:-1] + np.arange(len(starts) - 1)
    declared, pairs = numbers[heads], np.delete(numbers, heads)
    words_read, counts = pairs[::2], pairs[1::2]
    words = _words_or_numbers(path, vocabulary, encoding, int(words_read.max(initial=0)) + 1, 0)
    many = np.diff(starts)
    rows = np.repeat(np.arange(len(many)), many)

    def reject(bad: NDArray[np.bool_], expected: str) -> None:
        if bad.any():
            pair = int(np.argmax(bad))
            row, shown = int(rows[pair]), f"{words_read[pair]}:{counts[pair]}"
            raise _error_at(path, row + 1, pair - int(starts[row]) + 2, shown, expected)

    reject(words_read >= len(words), f"a word from 0 to {len(words) - 1}, the lines of {vocabulary}")
    reject((counts < 1) | (counts > LARGEST) | (words_read >= LARGEST), PAIR)
    if (declared != many).any():
        row = int(np.argmax(declared != many))
        raise _error_at(path, row + 1, 1, str(declared[row]), f"{many[row]}, the pairs of the row")
    order = np.lexsort((words_read, rows))
    again = np.zeros(len(order), dtype=bool)
    again[order[1:]] = (np.diff(words_read[order]) == 0) & (np.diff(rows[order]) == 0)
    reject(again, "every word of a document once")
    upto = starts_of(counts)
    check_size(int(upto[-1]), path)
    tokens = Tokens(np.repeat(words_read.astype(np.int32), counts), upto[starts])
    return Read(Corpus(tokens, len(words)), words)


def _misfit(path: Path, data: bytes) -> DataError:
    """Describe the first field that does not fit LDA-C's format."""
    for row, line in enumerate(data.split(b"\n")[:-1], start=1):
        fields = line.decode("utf-8").split()
        if not fields:
            return DataError(f"{path}: row {row}: an empty line; expected the number of different words, 0 if none")
        for field, text in enumerate(fields, start=1):
            expected = "the number of different words of the document" if field == 1 else PAIR
            if not re.fullmatch(r"\d{1,10}" if field == 1 else r"\d{1,10}:\d{1,10}", text, re.ASCII):
                return _error_at(path, row, field, text, expected)
    return DataError(f"{path}: expected rows of M WORD:COUNT ... WORD:COUNT")


def _error_at(path: Path, row: int, field: int, cell: str, expected: str) -> DataError:
    return DataError(f"{path}: row {row}, field {field}: {quote(cell)}; expected {expected}")
