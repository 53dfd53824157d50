"""Arrow IPC streams that only grow, so that what was written survives a kill.

A parquet file whose writer was killed is unreadable; a stream loses only its torn last message. A checkpoint
remembers the length and the checksum of each stream; a resumed chain checks the stream and cuts it there before it
goes on.
"""

import mmap
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import pyarrow as pa

from splitmerge_cli.received import Refused, member
from splitmerge_cli.runs.store.files import naming, open_new, report_damage


class Mark(NamedTuple):
    """A place in a stream: so many bytes, with this CRC-32."""

    length: int
    crc: int


class Stream:
    """A stream open for appending. `path`: the file; created unless `mark` is given. `schema`: columns of every batch.
    `mark`: the part to keep of an existing file; None starts again. Raises `DamagedRun` (the file does not hold what
    was marked, or has other columns).
    """

    def __init__(self, path: Path, schema: pa.Schema, mark: Mark | None = None) -> None:
        self.path, self.schema = path, schema
        self._file: BinaryIO
        if mark:
            stored = _read_before(path, mark)
            with report_damage(path):
                if not pa.ipc.open_stream(stored).schema.equals(schema):
                    raise Refused(path, "other columns")
            self._file = path.open("r+b")
            self._file.truncate(mark.length)
            self._file.seek(mark.length)
            self._crc = mark.crc
        else:
            self._file = open_new(path)
            self._crc = 0
            self._write(schema.serialize())

    def _write(self, data: pa.Buffer) -> None:
        with naming(self.path):
            self._file.write(data)
        self._crc = zlib.crc32(data, self._crc)

    def append(self, batch: pa.RecordBatch) -> None:
        """Add a batch; an empty one leaves no trace, so that the file does not depend on how rows were batched."""
        if batch.num_rows:
            self._write(batch.serialize())

    def sync(self) -> Mark:
        """Force everything to the disk; how far that is."""
        with naming(self.path):
            self._file.flush()
            os.fsync(self._file.fileno())
        return Mark(self._file.tell(), self._crc)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def schema_of(path: Path, mark: Mark) -> pa.Schema:
    """Columns of a stream that was written up to a mark; a `DamagedRun` if it does not hold what was marked."""
    stored = _read_before(path, mark)
    with report_damage(path):
        return pa.ipc.open_stream(stored).schema


def _read_before(path: Path, mark: Mark) -> pa.Buffer:
    """The marked bytes of a stream."""
    with report_damage(path), member(path) as file:
        data = pa.py_buffer(mmap.mmap(file.fileno(), mark.length, access=mmap.ACCESS_READ))
        if Mark(data.size, zlib.crc32(data)) != mark:
            raise ValueError("not what was written")
    return data


def read_marked(path: Path, mark: Mark) -> Iterator[pa.RecordBatch]:
    """Batches of a stream up to a mark, all of them. Raises `DamagedRun` (the file does not hold what was marked)."""
    with report_damage(path):
        stream = pa.ipc.open_stream(_read_before(path, mark))
    while True:
        with report_damage(path):
            try:
                batch = stream.read_next_batch()
            except StopIteration:
                return
            batch.validate(full=True)
        yield batch
