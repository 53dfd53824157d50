"""Arrow IPC streams that only grow, so that what was written survives a kill.

A parquet file whose writer was killed is unreadable; a stream loses only its torn last message. A checkpoint
remembers the length of each stream, and a resumed chain cuts the stream there before it goes on.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa


class Stream:
    """A stream open for appending.

    Parameters
    ----------
    path : Path
        The file; created unless `length` is given.
    schema : pyarrow.Schema
        Columns of every batch.
    length : int
        Bytes to keep of an existing file; 0 starts anew.
    """

    def __init__(self, path: Path, schema: pa.Schema, length: int = 0) -> None:
        self.schema = schema
        self._file = path.open("r+b" if length else "wb")
        self._file.truncate(length)
        self._file.seek(length)
        if not length:
            self._file.write(schema.serialize())

    def append(self, batch: pa.RecordBatch) -> None:
        """Add a batch; an empty one leaves no trace, so that the file does not depend on how rows were batched."""
        if batch.num_rows:
            self._file.write(batch.serialize())

    def sync(self) -> int:
        """Force everything to the disk; the length in bytes."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.tell()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read(path: Path) -> Iterator[pa.RecordBatch]:
    """Batches of a stream, up to its end or its torn last message."""
    if not path.is_file():
        return
    with path.open("rb") as file:
        try:
            reader = pa.ipc.open_stream(file)
            while True:
                yield reader.read_next_batch()
        except (StopIteration, pa.ArrowInvalid, OSError, EOFError):
            return
