"""Formats of corpora that hold counts of words: a sparse matrix, UCI's bag of words, LDA-C.

Each reader returns all documents of its file, the empty ones too, and the vocabulary.
"""

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.opening import Limit, check_rows
from splitmerge_cli.data.tables.encoded import read_text
from splitmerge_cli.data.tables.table import quote
from splitmerge_cli.data.values import LARGEST
from splitmerge_cli.kinds.documents.corpus import Corpus, Tokens, check_size, starts_of, tokens_of
from splitmerge_cli.kinds.documents.readers import bag_of_words
from splitmerge_cli.kinds.documents.readers.counts import WORD_BYTES, read_counts, read_vocabulary
from splitmerge_cli.kinds.documents.readers.formats import Read
from splitmerge_cli.received import DataError

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
    counts = bag_of_words.parse(path)
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
    declared, starts, words_read, counts = _pairs(data)
    words = _words_or_numbers(path, vocabulary, encoding, int(words_read.max(initial=0)) + 1, 0)
    many = np.diff(starts)
    rows = np.repeat(np.arange(len(many)), many)

    def reject(bad: NDArray[np.bool_], expected: str) -> None:
        if bad.any():
            pair = int(np.argmax(bad))
            row = int(rows[pair])
            pair_text = f"{words_read[pair]}:{counts[pair]}"
            raise DataError(_place(path, row + 1, pair - int(starts[row]) + 2, pair_text, expected))

    reject(words_read >= len(words), f"a word from 0 to {len(words) - 1}, the lines of {vocabulary}")
    reject((counts < 1) | (counts > LARGEST) | (words_read >= LARGEST), PAIR)
    if (declared != many).any():
        row = int(np.argmax(declared != many))
        raise DataError(_place(path, row + 1, 1, str(declared[row]), f"{many[row]}, the pairs of the row"))
    order = np.lexsort((words_read, rows))
    again = np.zeros(len(order), dtype=bool)
    again[order[1:]] = (np.diff(words_read[order]) == 0) & (np.diff(rows[order]) == 0)
    reject(again, "every word of a document once")
    upto = starts_of(counts)
    check_size(int(upto[-1]), path)
    tokens = Tokens(np.repeat(words_read.astype(np.int32), counts), upto[starts])
    return Read(Corpus(tokens, len(words)), words)


def _pairs(data: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Number of pairs that each line declares, the start of each document's pairs, and words and counts of all
    pairs."""
    numbers = np.fromstring(data.replace(b":", b" ").decode("ascii"), dtype=np.int64, sep=" ")
    text = np.frombuffer(data, dtype=np.uint8)
    starts = np.searchsorted(np.flatnonzero(text == ord(":")), np.flatnonzero(text == ord("\n")))
    starts = np.append(0, starts).astype(np.int64)
    heads = 2 * starts[:-1] + np.arange(len(starts) - 1)
    rest = np.delete(numbers, heads)
    return numbers[heads], starts, rest[::2], rest[1::2]


def _misfit(path: Path, data: bytes) -> DataError:
    """Describe the first field that does not fit LDA-C's format."""
    for row, line in enumerate(data.split(b"\n")[:-1], start=1):
        fields = line.decode("utf-8").split()
        if not fields:
            return DataError(f"{path}: row {row}: an empty line; expected the number of different words, 0 if none")
        for field, text in enumerate(fields, start=1):
            expected = "the number of different words of the document" if field == 1 else PAIR
            if not re.fullmatch(r"\d{1,10}" if field == 1 else r"\d{1,10}:\d{1,10}", text, re.ASCII):
                return DataError(_place(path, row, field, text, expected))
    return DataError(f"{path}: expected rows of M WORD:COUNT ... WORD:COUNT")


def _place(path: Path, row: int, field: int, cell: str, expected: str) -> str:
    return f"{path}: row {row}, field {field}: {quote(cell)}; expected {expected}"
