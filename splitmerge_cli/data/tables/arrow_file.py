"""The unpacked size that a file in Arrow's format promises, read before any of it is unpacked.

A packed buffer begins with the number of its bytes unpacked, which is allocated at once. These numbers are added up
from the messages of the file, which are FlatBuffers, without unpacking anything.
"""

import struct
from pathlib import Path

import pyarrow as pa

from splitmerge_cli.data.opening import Limit

_MAGIC = 8
_DICTIONARY, _BATCH = 2, 3
"""Types of messages that have buffers."""


def messages_of(data: bytes) -> pa.BufferReader:
    """The messages of a file in their order; its footer, which may refer to others, is left alone."""
    if not data.startswith(b"ARROW1"):
        raise pa.ArrowInvalid("it does not begin as one")
    return pa.BufferReader(pa.py_buffer(data).slice(_MAGIC))


def check_promises(path: Path, data: bytes) -> None:
    """Raise unless the buffers of a file come to no more than the limit (data.max_bytes) when they are unpacked.

    Raises
    ------
    DataError
        They come to more.
    pyarrow.ArrowInvalid
        A message is damaged.
    """
    limit, total = Limit.current(), 0
    try:
        for message in pa.ipc.MessageReader.open_stream(messages_of(data)):
            total += _unpacked_size(bytes(message.metadata), message.body)
            limit.check(path, total, " unpacked")
    except (struct.error, IndexError) as error:
        raise pa.ArrowInvalid("a damaged message") from error


def _unpacked_size(message: bytes, body: pa.Buffer | None) -> int:
    """Bytes of a message's buffers once they are unpacked."""
    table = struct.unpack_from("<I", message, 0)[0]
    kind = _field(message, table, 1)
    if kind is None or body is None or message[kind] not in (_DICTIONARY, _BATCH):
        return 0
    header = _table(message, table, 2)
    if message[kind] == _DICTIONARY and header is not None:
        header = _table(message, header, 1)
    if header is None or _field(message, header, 3) is None:
        return int(body.size)  # nothing is packed
    buffers = _table(message, header, 2)
    if buffers is None:
        return 0
    total = 0
    for k in range(struct.unpack_from("<I", message, buffers)[0]):
        offset, length = struct.unpack_from("<qq", message, buffers + 4 + 16 * k)
        if length < 8:
            continue
        if offset < 0 or offset + 8 > body.size:
            raise IndexError
        promised = struct.unpack("<q", bytes(body.slice(offset, 8)))[0]
        if promised < -1:
            raise IndexError
        total += length if promised == -1 else promised
    return total


def _field(message: bytes, table: int, number: int) -> int | None:
    """Where a field of a table stands; None if it is not there."""
    layout = table - struct.unpack_from("<i", message, table)[0]
    if layout < 0 or 4 + 2 * number >= struct.unpack_from("<H", message, layout)[0]:
        return None
    offset: int = struct.unpack_from("<H", message, layout + 4 + 2 * number)[0]
    return table + offset if offset else None


def _table(message: bytes, table: int, number: int) -> int | None:
    """Where the table or vector that a field refers to stands."""
    at = _field(message, table, number)
    return None if at is None else at + int(struct.unpack_from("<I", message, at)[0])
