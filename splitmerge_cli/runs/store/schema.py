"""Tables of a run: their columns (a kind of data may have tables of its own, `Kind.tables`), their streams while
chains run, and folders of them with a manifest of all.

Arrow IPC streams only grow. A parquet file whose writer was killed is unreadable; a stream loses only its torn last
message. A checkpoint remembers the length and the checksum of each stream; a resumed chain checks the stream and cuts
it there before it goes on.
"""

import mmap
import os
import re
import zlib
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from splitmerge_cli.data.bundles import BUNDLES as BUNDLES
from splitmerge_cli.data.dataset import kinds
from splitmerge_cli.extras import pandas as pd
from splitmerge_cli.received import Refused, member
from splitmerge_cli.runs.store import files, manifest

TRACE = "trace"
MOVES = "moves"
PARTITIONS = "partitions"
DIAGNOSTICS = "diagnostics"
JOINED = "joined"
"""Partitions whose clusters are joined, where ``gap`` asks for that."""
SIMILARITY = "similarity"

METADATA_KEY = b"smcmc"
"""Key of the provenance, as JSON, in the metadata of every parquet file."""

_TYPES = {
    "int": pa.int32(),
    "long": pa.int64(),
    "real": pa.float64(),
    "text": pa.string(),
    "word": pa.dictionary(pa.int32(), pa.string()),  # words come up again and again
    "ints": pa.list_(pa.int32()),
    "reals": pa.list_(pa.float64()),
    "texts": pa.list_(pa.string()),
}
# NAME:TYPE of each column; "?": a value may be missing; "~": it may be infinite
_TABLES = {
    TRACE: "chain:int iteration:long seconds:real log_joint:real log_lik:real n_clusters:int K:int largest:reals",
    MOVES: "chain:int move:text proposed:long accepted:long null:long seconds:real",
    PARTITIONS: "chain:int iteration:long K:int labels:ints",
    JOINED: "chain:int iteration:long labels:ints",
    DIAGNOSTICS: "quantity:text chain:int? value:real?~ note:text?",
    SIMILARITY: "row:int other:int probability:real",
}
_PROVENANCE = {"run_id": pa.string(), "sampler": pa.string(), "seed": pa.int64()}


@cache
def _columns_of(table: str) -> tuple[dict[str, pa.DataType], dict[str, str]]:
    """Types and marks of a table's columns, by name; tables are of any run, or of one kind of data."""
    text = _TABLES.get(table) or next(kind.tables[table] for kind in kinds().values() if table in kind.tables)
    columns = [re.fullmatch(r"(\w+):(\w+)(\W*)", one).groups() for one in text.split()]  # type: ignore[union-attr]
    return {name: _TYPES[word] for name, word, _ in columns}, {name: marks for name, _, marks in columns}


def _is_of_every_chain(table: str) -> bool:
    """Whether a table has rows for every chain, once the run is finished."""
    return table == TRACE or any(table in kind.tables_of_chains for kind in kinds().values())


SCORES = ("nmi", "ari")
"""Columns of the trace if the truth is known."""
OPTIONAL = SCORES
"""Columns of the trace that only some runs have. A new one is named here, and nowhere else but where it is recorded.
Before them stand hyper-parameters that are resampled, which models and priors name (`hyperparameters`)."""
PARAMETERS = "parameters"
"""Column of the partitions where b0 or kappa0 is resampled: b0 in the order of the columns (one with covariance=iso),
kappa0, those that are resampled."""

WEIGHT = "weight"
"""Column of ``clusters.csv`` where rows have weights (``model.tails=t``): the posterior mean."""
MEMBERSHIP = ("certainty", "second", "second_probability")
UNIT = "unit"
"""Column of ``clusters.csv``: the unit of each row, where rows of one unit stay together."""
CLUSTERS = ("row", "cluster", "name", UNIT, *MEMBERSHIP, WEIGHT)
"""Columns of ``clusters.csv``: `name` where the items have names; of runs made earlier `MEMBERSHIP` is missing."""
INTERVAL = "n_clusters_95"
"""Key of ``summary.json``: the 95 % interval of the number of clusters. Runs made before there was this key lack it."""
OUTLIERS_APART = "outliers_apart"
"""Entry of the summary: whether `INTERVAL` and `AS_THE_ESTIMATE` leave out clusters that are listed as outliers."""
APART = "apart"
"""Key of ``summary.json``: the rows of no cluster (`splitmerge_cli.runs.grouping.find_apart`), where there are any."""
AS_THE_ESTIMATE = "as_the_estimate"
"""Key of ``summary.json``: share of draws that have as many clusters as the point estimate."""
FIRST_CLUSTER = "first_cluster"
"""Key of ``summary.json``: the number of the first cluster in all tables. Runs made earlier have 0."""
GROUPS = "density_groups"
"""Key of ``summary.json``: the groups of clusters without a gap of density between them, where they were looked for."""
JOINED_BY = "joined"
"""Key of ``summary.json``: the `gap` by which the clusters of the run were joined, the 95 % interval of the number of
components (`components`), and, where they were not joined, `why_not`."""
FIT = "fit"
"""Key of ``summary.json``: what the model does not describe. Runs made before there was this key lack it."""
COPY_OF = "copy_of"
"""Last column of ``clusters.csv`` where rows that repeat others are read once: the row that a row repeats."""
CLUSTER_SUMMARY = ("cluster", "size", "share", "certainty", "prototype", "telling", "density", "density_outside")
"""Columns of ``cluster_summary.csv``: the last two of networks, which may have more (`Kind.describe_clusters`)."""
COLUMN_SUMMARY = ("cluster", "column", "level", "mean", "low", "high", "divergence")
"""Columns of ``column_summary.csv``."""


def recorded_columns(table: str, optional: Collection[str] = ()) -> pa.Schema:
    """Columns of `table`, such as `TRACE`, without provenance: what a chain writes while it runs. `optional`: which of
    `OPTIONAL` and which hyper-parameters the trace has, and `PARAMETERS` where the partitions have them."""
    extra = {}
    if table == TRACE:
        names = (*hyperparameters(optional), *(name for name in OPTIONAL if name in optional))
        extra = dict.fromkeys(names, pa.float64())
    elif table == PARTITIONS and PARAMETERS in optional:
        extra = {PARAMETERS: pa.list_(pa.float64())}
    return pa.schema(_columns_of(table)[0] | extra)


def hyperparameters(columns: Iterable[str]) -> list[str]:
    """Columns of a trace that are resampled hyper-parameters."""
    others = {*_columns_of(TRACE)[0], *_PROVENANCE, *OPTIONAL, PARAMETERS}
    return [name for name in columns if name not in others]


def row_bytes(table: str, width: int, optional: Collection[str] = (), parameters: int = 0) -> int:
    """Bytes of a `table` row in memory and in a stream, its list (if it has one) being of length `width`, the list of
    `PARAMETERS` of length `parameters`."""
    size = 0
    for field in recorded_columns(table, optional):
        many = pa.types.is_list(field.type)
        value = field.type.value_type if many else field.type
        length = parameters if field.name == PARAMETERS else width
        size += (length if many else 1) * value.bit_width // 8 + (4 if many else 0)
    return size


def full(table: str, optional: Collection[str] = (), metadata: bytes | None = None) -> pa.Schema:
    """Columns of `table` in its parquet file, with `metadata` under the key ``smcmc``."""
    schema = pa.schema([*recorded_columns(table, optional), *pa.schema(_PROVENANCE)])
    return schema if metadata is None else schema.with_metadata({METADATA_KEY: metadata})


def find_difference(columns: pa.Schema, expected: pa.Schema) -> str:
    """Describe the first column that is not as expected, for messages; empty if all are."""
    for field in expected:
        if field.name not in columns.names:
            return f"no column '{field.name}'"
        if (other := columns.field(field.name).type) != field.type:
            return f"column '{field.name}' holds {other}; expected {field.type}"
    for name in columns.names:
        if name not in expected.names:
            return f"a column '{name}'; expected none of this name"
    return ""


def check_columns(table: str, columns: pa.Schema, whole: bool) -> None:
    """Raise `Refused` unless a file with these columns has the columns of `table`, in any order. `whole`: whether it is
    the parquet file of a finished run, with provenance, or a stream."""
    optional = [name for name in (*OPTIONAL, PARAMETERS) if name in columns.names]
    if table == TRACE:
        optional += hyperparameters(columns.names)
    expected = full(table, optional) if whole else recorded_columns(table, optional)
    if difference := find_difference(columns, expected):
        raise Refused(table, f"{difference}, as another version of the program may have recorded it")


def check_rows(table: str, rows: pa.Table, chains: int, done: bool) -> None:
    """Raise a `ValueError` unless the rows of `table`, in the columns that were read, can belong to a run of so many
    chains, which is finished (`done`) or not."""
    import pyarrow.compute as pc

    rows.validate(full=True)
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        marks = _columns_of(table)[1].get(name, "")
        # a list has no gaps either
        values = pc.list_flatten(column) if pa.types.is_list(column.type) else column
        if "?" not in marks and (column.null_count or values.null_count):
            raise ValueError(f"{name}: a value is missing")
        if len(column) and pa.types.is_list(column.type) and pc.min(pc.list_value_length(column)).as_py() == 0:
            raise ValueError(f"{name}: an empty list")
        if pa.types.is_integer(values.type) and (pc.min(values).as_py() or 0) < 0:
            raise ValueError(f"{name}: a number below 0")
        finite = not pa.types.is_floating(values.type) or "~" in marks or values.null_count == len(values)
        if not finite and not pc.all(pc.is_finite(values)).as_py():
            raise ValueError(f"{name}: a number that is not finite")
    if "chain" in rows.column_names and len(rows):
        numbers = set(pc.unique(rows["chain"]).to_pylist()) - {None}
        if not numbers <= set(range(chains)):
            raise ValueError("rows of a chain that the run does not have")
        if done and _is_of_every_chain(table) and len(numbers) < chains:
            raise ValueError("a chain without rows")
    if done and _is_of_every_chain(table) and not len(rows):
        raise ValueError("no rows")


class Mark(NamedTuple):
    """A place in a stream: so many bytes, with this CRC-32."""

    length: int
    crc: int


class Stream:
    """A stream open for appending batches of the columns `schema`. `mark`: the part to keep of an existing file; None
    starts again. Raises `DamagedRun` (the file does not hold what was marked, or has other columns)."""

    def __init__(self, path: Path, schema: pa.Schema, mark: Mark | None = None) -> None:
        self.path, self.schema = path, schema
        self._crc = 0 if mark is None else mark.crc
        if mark is None:
            self._file: BinaryIO = files.open_new(path)
            self._write(schema.serialize())
            return
        stored = read_before(path, mark)
        with files.report_damage(path):
            if not pa.ipc.open_stream(stored).schema.equals(schema):
                raise Refused(path, "other columns")
        self._file = path.open("r+b")
        self._file.truncate(mark.length)
        self._file.seek(mark.length)

    def _write(self, data: pa.Buffer) -> None:
        with files.naming(self.path):
            self._file.write(data)
        self._crc = zlib.crc32(data, self._crc)

    def append(self, batch: pa.RecordBatch) -> None:
        """Add a batch; an empty one leaves no trace, so that the file does not depend on how rows were batched."""
        if batch.num_rows:
            self._write(batch.serialize())

    def sync(self) -> Mark:
        """Force everything to the disk; how far that is."""
        with files.naming(self.path):
            self._file.flush()
            os.fsync(self._file.fileno())
        return Mark(self._file.tell(), self._crc)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_before(path: Path, mark: Mark) -> pa.Buffer:
    """The bytes of a stream up to a mark; a `DamagedRun` if it does not hold what was marked."""
    with files.report_damage(path), member(path) as file:
        data = pa.py_buffer(mmap.mmap(file.fileno(), mark.length, access=mmap.ACCESS_READ))
        if Mark(data.size, zlib.crc32(data)) != mark:
            raise ValueError("not what was written")
    return data


def read_marked(path: Path, mark: Mark) -> Iterator[pa.RecordBatch]:
    """Batches of a stream up to a mark, all of them. Raises `DamagedRun` (the file does not hold what was marked)."""
    with files.report_damage(path):
        stream = pa.ipc.open_stream(read_before(path, mark))
    while True:
        with files.report_damage(path):
            try:
                batch = stream.read_next_batch()
            except StopIteration:
                return
            batch.validate(full=True)
        yield batch


class SealedFolder:
    """A folder, made where it is not there, while its files are written. At the end its manifest lists them; stopped
    before, it has none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._names: list[str] = []

    def __enter__(self) -> "SealedFolder":
        self.path.mkdir(parents=True, exist_ok=True)
        (self.path / files.MANIFEST).unlink(missing_ok=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            manifest.write_manifest(self.path / files.MANIFEST, self._names)

    def add_file(self, name: str) -> Path:
        """The path of a file that somebody else writes; `name` may lead into a folder of this one."""
        self._names.append(name)
        return self.path / name

    def add_parquet(self, name: str, table: "pd.DataFrame") -> Path:
        """Write a table as ``NAME.parquet``, whole or not at all."""
        path = self.add_file(f"{name}.parquet")
        with files.replace_file(path) as temporary:
            table.to_parquet(temporary, index=False)
        return path

    def add_csv(self, name: str, table: "pd.DataFrame") -> None:
        """Write a table as ``NAME.csv``, whole or not at all."""
        files.write_text(self.add_file(f"{name}.csv"), table.to_csv(index=False, lineterminator="\n"))

    def add_text(self, name: str, text: str) -> None:
        """Write a text file, whole or not at all."""
        files.write_text(self.add_file(name), text)

    def add_json(self, name: str, value: Any) -> Path:
        """Write a JSON file, whole or not at all; its path."""
        path = self.add_file(name)
        files.write_text(path, files.json_text(value))
        return path
