"""Writing a run: streams and checkpoints while the chains run, parquet files at the end.

While it runs, a run's folder holds ``config.yaml``, ``status.json`` and ``work/`` (a lock, and the streams and the
checkpoint of each chain). At the end the parquet files are written whole, then the manifest of all files, and ``work/``
goes. What that takes is imported then: the first iterations do not wait for it.
"""

import csv
import hashlib
import io
import json
import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from splitmerge_cli.diagnostics.cluster_table import number_clusters
from splitmerge_cli.runs.store import files, manifest, schema

STREAMED = (schema.TRACE, schema.PARTITIONS)
"""Tables that every chain writes while it runs."""
RESERVE = "reserve"
"""In `WORK`: room for the last words of a run whose disk is full."""
_RESERVED = 1 << 16
TOGETHER = "chains.npz"
"""In `WORK`: the checkpoint of chains that advance together, so that all are stored at one iteration."""

_GROUP_VALUES = 4_000_000
"""About so many numbers make a row group; its rows depend on the data alone, never on how they were batched."""


class ChainStore:
    """The files of one chain in the run's `work` folder while it runs: the `streamed` tables, and the `optional`
    columns that its trace and partitions have (`schema.recorded_columns`)."""

    def __init__(
        self, work: Path, chain: int, optional: Collection[str] = (), streamed: Sequence[str] = STREAMED
    ) -> None:
        self.chain = chain
        self.work = work
        self.own_checkpoint = work / f"chain-{chain}.npz"
        self._schemas = {table: schema.recorded_columns(table, optional) for table in streamed}
        self._paths = {table: work / f"chain-{chain}.{table}.arrows" for table in self._schemas}
        self.streams: dict[str, schema.Stream] = {}
        """The open streams."""

    def find_other_columns(self) -> str:
        """Describe how the streams of an interrupted chain differ from what it records; empty if it can go on. Raises
        `DamagedRun` (a file does not hold what was written to it)."""
        if not self.checkpoint_path.exists():
            return ""
        marks = self._load_checkpoint()["marks"]
        for table, path in self._paths.items():
            if table not in marks:
                return f"no table of {table}"
            with files.report_damage(path):
                columns = pa.ipc.open_stream(schema.read_before(path, schema.Mark(*marks[table]))).schema
            if difference := schema.find_difference(columns, self._schemas[table]):
                return f"{table}: {difference}"
        return ""

    def open_into(self, chain: Any) -> None:
        """Open the streams, and let a chain go on where its last checkpoint was, if there is one. Raises `DamagedRun`
        (a file does not hold what was written to it, or the checkpoint none of such a chain)."""
        saved = self.read_checkpoint()
        for table, path in self._paths.items():
            mark = saved["marks"][table] if saved else None
            self.streams[table] = schema.Stream(path, self._schemas[table], mark)
        if saved is not None:
            with files.report_damage(self.checkpoint_path):
                chain.state = saved["state"]

    def read_checkpoint(self) -> dict[str, Any] | None:
        """Read the last checkpoint: `state` of the chain, `outcome` so far, `finished`, `marks`; or None. Raises
        `DamagedRun` (the checkpoint is not what was written)."""
        path = self.checkpoint_path
        if not path.exists():
            return None
        stored = self._load_checkpoint()
        with files.report_damage(path):
            marks = {table: schema.Mark(*stored["marks"][table]) for table in self._paths}
            return {key: stored[key] for key in ("state", "outcome", "finished")} | {"marks": marks}

    def _load_checkpoint(self) -> Any:
        path = self.checkpoint_path
        return manifest.load(path, "chains", self.chain) if path.name == TOGETHER else manifest.load(path)

    @property
    def checkpoint_path(self) -> Path:
        """The file of the last checkpoint."""
        together = self.work / TOGETHER
        return together if together.exists() else self.own_checkpoint

    def append(self, rows: dict[str, Any]) -> None:
        """Add the rows that ``Chain.advance`` returned."""
        for table, stream in self.streams.items():
            prefix = "partition_" if table == schema.PARTITIONS else ""
            # others are evaluated now and then
            if {f"{prefix}{name}" for name in stream.schema.names if name != "chain"} <= rows.keys():
                stream.append(_batch(stream.schema, self.chain, rows, prefix))

    def append_to(self, table: str, row: dict[str, Any]) -> None:
        """Add a row, its values in lists of one, to a table that is written now and then."""
        self.streams[table].append(_batch(self._schemas[table], self.chain, row, ""))

    def begin_with(self, rows: Mapping[str, pa.Table]) -> None:
        """Open the streams with the `rows` of this chain that a finished run recorded, by table; a checkpoint is to
        follow."""
        for table, path in self._paths.items():
            self.streams[table] = schema.Stream(path, self._schemas[table])
            for batch in rows[table].to_batches() if table in rows else []:
                self.streams[table].append(batch)

    def close(self) -> None:
        """Close the streams."""
        for stream in self.streams.values():
            stream.close()

    def read(self, table: str) -> Iterator[pa.RecordBatch]:
        """Rows of a stream up to the last checkpoint."""
        saved = self.read_checkpoint()
        assert saved is not None
        return schema.read_marked(self._paths[table], saved["marks"][table])

    def table(self, table: str, chains: int) -> pa.Table:
        """Read the rows as a table, checked to belong to a run with so many chains; a `DamagedRun` if they do not."""
        with files.report_damage(self._paths[table]):
            batches = list(self.read(table))
            recorded = pa.Table.from_batches(batches, batches[0].schema if batches else self._schemas[table])
            schema.check_columns(table, recorded.schema, whole=False)
            schema.check_rows(table, recorded, chains, done=False)
        return recorded


def save_checkpoints(
    chains: Sequence[ChainStore],
    states: Iterable[dict[str, Any]],
    outcomes: Iterable[dict[str, Any]],
    finished: bool,
    together: bool,
) -> None:
    """Store what a resumed run needs of chains, after their rows so far are on the disk. `states`, `outcomes`: of each
    ``Chain.state``, and what the summary needs: `moves`, `iterations`, `seconds`, `best_log_joint`, `best_iteration`,
    `best_labels`, the same three of `best_log_lik`, and `last_labels`; `finished`: whether the chains are complete;
    `together`: whether they advance together, so that all are stored in one file."""
    entries = [
        {"state": chain_state, "outcome": outcome, "finished": finished}
        | {"marks": {table: stream.sync() for table, stream in chain.streams.items()}}
        for chain, chain_state, outcome in zip(chains, states, outcomes, strict=True)
    ]
    if together:
        manifest.save(chains[0].work / TOGETHER, {"chains": entries})
    else:
        for chain, entry in zip(chains, entries, strict=True):
            manifest.save(chain.own_checkpoint, entry)


def _batch(columns: pa.Schema, chain: int, rows: dict[str, Any], prefix: str) -> pa.RecordBatch:
    """Rows of ``Chain.advance`` as a record batch; the columns of the result named with `prefix`.

    Lists of one length are rows of an array; of lists of any length the values stand one after the other, with a column
    NAME_end that says where each ends.
    """
    n = len(rows[f"{prefix}iteration"])
    arrays = []
    for field in columns:
        if field.name == "chain":
            arrays.append(files.array_of(np.full(n, chain), field.type))
            continue
        values = np.ascontiguousarray(rows[prefix + field.name])
        if (ends := rows.get(f"{prefix}{field.name}_end")) is not None:
            offsets = files.array_of(np.concatenate([[0], ends]).astype(np.int32), pa.int32())
            numbers = files.array_of(values.ravel(), field.type.value_type)
            arrays.append(pa.ListArray.from_arrays(offsets, numbers))
        else:
            arrays.append(files.array_of(values, field.type))
    return pa.record_batch(arrays, schema=columns)


class RunStore:
    """The folder of one run, open for writing. `provenance` (configuration, versions, commit, seed, machine) is the
    metadata of every parquet file; `run_id`, `sampler` and `seed` are columns that distinguish rows of several runs;
    `optional` and `streamed` are as of `ChainStore`; `contents` holds the text files that were written, for whoever
    would read them again."""

    def __init__(
        self,
        path: Path,
        provenance: dict[str, Any],
        run_id: str,
        sampler: str,
        seed: int,
        optional: Collection[str],
        streamed: Sequence[str] = STREAMED,
    ) -> None:
        self.path = path
        self.work = path / files.WORK
        self.optional = optional
        self.streamed = streamed
        self.contents: dict[str, bytes] = {}
        self._written: list[str] = []
        self.provenance = provenance
        self._constants = {"run_id": run_id, "sampler": sampler, "seed": seed}
        self._status: dict[str, Any] = {}
        self._lock: os.stat_result | None = None

    @contextmanager
    def session(self) -> Iterator[None]:
        """Create the folder and hold its lock. Raises `Locked` (another process writes this run)."""
        if self.work.is_symlink():  # what is cleared there would be of another folder
            raise files.DamagedRun(
                self.work, f"remove it, {os.readlink(self.work)} is left as it is", "a link; expected a folder"
            )
        with files.lock_file(self.work / files.LOCK):
            self._lock = (self.work / files.LOCK).stat()
            with files.naming(self.work / RESERVE), files.open_new(self.work / RESERVE) as reserve:
                reserve.write(bytes(_RESERVED))
            yield

    @property
    def is_gone(self) -> bool:
        """Whether the folder that a session holds was removed or replaced meanwhile."""
        try:
            return self._lock is not None and not os.path.samestat(self._lock, (self.work / files.LOCK).stat())
        except OSError:
            return True

    def clear_work(self) -> None:
        """Remove what a finished run does not need."""
        # another process that waits for the lock may keep the folder
        shutil.rmtree(self.work, ignore_errors=True)

    def clear(self) -> None:
        """Remove everything except the lock: the run starts again."""
        for item in [*self.path.iterdir(), *self.work.iterdir()]:
            if item in (self.work, self.work / files.LOCK, self.work / RESERVE):
                continue
            if item.is_dir() and not item.is_symlink():
                shutil.rmtree(item)
            else:
                item.unlink()

    def write_config(self, text: str) -> None:
        """Write ``config.yaml``; the status holds its digest."""
        self.keep_text(files.CONFIG, text)
        self._status["config_sha256"] = hashlib.sha256(self.contents[files.CONFIG]).hexdigest()

    def write_status(self, state: str, **fields: Any) -> None:
        """Write ``status.json``: `state` (running, done, failed, interrupted) and `fields`, kept until changed."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._status = {"started": now} | self._status | fields | {"state": state, "updated": now}
        self.contents[files.STATUS] = manifest.write_sealed(self.path / files.STATUS, self._status)

    def write_failure(self, error: str) -> None:
        """Write the status of a failed run, even on a full disk: its reserve makes room."""
        (self.work / RESERVE).unlink(missing_ok=True)
        self.write_status("failed", error=error)

    def chain(self, chain: int) -> ChainStore:
        """The files of one chain."""
        return ChainStore(self.work, chain, self.optional, self.streamed)

    def write_streamed(self, table: str, chains: Iterable[ChainStore], width: int) -> None:
        """Turn the streams of all chains into a parquet file; `width` is the number of values in a row."""
        rows = max(1, _GROUP_VALUES // width)
        batches = (batch for chain in chains for batch in chain.read(table))
        self.write_parts(table, _regroup(batches, schema.recorded_columns(table, self.optional), rows))

    def write_rows(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        """Write the rows of a table, each with a value for every column; None and NaN are missing values."""
        known = schema.recorded_columns(table, self.optional)
        values = [list(column) for column in zip(*rows, strict=True)] or [[]] * len(known)
        self.write_parts(table, [files.table_of(values, known)])

    def write_columns(self, table: str, columns: Sequence[NDArray[Any]]) -> None:
        """Write a table of these columns, in the order of its own."""
        self.write_parts(table, [files.table_of(columns, schema.recorded_columns(table))])

    def write_parts(self, table: str, parts: Iterable[pa.Table]) -> None:
        """Write a table that is made part by part; each becomes a row group."""
        columns = schema.full(table, self.optional, json.dumps(self.provenance, sort_keys=True).encode())
        with (
            files.replace_file(self.path / f"{table}.parquet") as temporary,
            pq.ParquetWriter(temporary, columns, compression="zstd", write_page_checksum=True) as writer,
        ):
            for group in parts:
                for name, value in self._constants.items():
                    field = columns.field(name)
                    constant = pa.repeat(files.array_of([value], field.type)[0], group.num_rows)
                    group = group.append_column(field, constant)
                # a cast imports pandas
                if not group.schema.equals(columns):
                    group = group.cast(columns)
                writer.write_table(group, row_group_size=max(1, group.num_rows))
        self._written.append(f"{table}.parquet")

    def write_states(self, name: str, states: dict[str, Any]) -> None:
        """Write the states of the chains at the end, from which another run can go on."""
        manifest.save(self.path / name, states)
        self._written.append(name)

    def write_clusters(
        self,
        labels: list[int],
        names: list[str] | None = None,
        membership: Mapping[str, NDArray[Any]] | None = None,
        item_of_row: NDArray[np.int32] | None = None,
        further: Mapping[str, NDArray[np.float64]] | None = None,
        units: list[str] | None = None,
    ) -> None:
        """Write ``clusters.csv``: the point estimate, `row` and `cluster` counted from 1, `name` where known.

        `membership` has the columns `schema.MEMBERSHIP`, what is missing being NaN or below 0; without it
        they are empty. Where rows that repeat others are read once, `item_of_row` is the item that each row of the
        table is, `names` are the names of the rows, and `copy_of` is the row that a row repeats. `further` are columns
        with a number for each item, and `units` the units of the rows.
        """
        items = list(range(len(labels))) if item_of_row is None else item_of_row.tolist()
        table: dict[str, Iterable[Any]] = {
            "row": range(1, len(items) + 1),
            "cluster": [number_clusters(labels[i]) for i in items],
        }
        if names is not None:
            table["name"] = names
        if units is not None:
            table[schema.UNIT] = units
        for column in schema.MEMBERSHIP:
            values = [-1] * len(labels) if membership is None else membership[column].round(6).tolist()
            number = number_clusters if column == "second" else float
            shown = [number(value) if value >= 0 else None for value in values]
            table[column] = [shown[i] for i in items]
        for column, numbers in (further or {}).items():
            table[column] = numbers.round(6)[items].tolist()
        if item_of_row is not None:
            first: dict[int, int] = {}
            rows = [first.setdefault(item, row) for row, item in enumerate(items, start=1)]
            table[schema.COPY_OF] = [None if copied == row else copied for row, copied in enumerate(rows, start=1)]
        self.keep_columns(files.CLUSTERS, table)

    def keep_columns(self, name: str, table: Mapping[str, Iterable[Any]]) -> None:
        """Write columns by name, each of as many cells, as `keep_text` does, with commas."""
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows([table, *zip(*table.values(), strict=True)])
        self.keep_text(name, text.getvalue())

    def keep_text(self, name: str, text: str) -> None:
        """Write a text file, whole or not at all, and keep its content."""
        files.write_text(self.path / name, text)
        self.contents[name] = text.encode()

    def finish(self) -> None:
        """Say that the run is done and of what files it consists; remove its streams and checkpoints."""
        self.write_status("done", share=1.0)
        names = {*self.contents, *self._written}
        self.contents[files.MANIFEST] = manifest.write_manifest(self.path / files.MANIFEST, names, self.contents)
        self.clear_work()


def _regroup(batches: Iterable[pa.RecordBatch], columns: pa.Schema, rows: int) -> Iterator[pa.Table]:
    """Regroup rows into tables of exactly `rows` rows, but for the last."""
    pending: list[pa.RecordBatch] = []
    held = 0
    for batch in batches:
        pending.append(batch)
        held += batch.num_rows
        if held < rows:
            continue
        table = pa.Table.from_batches(pending, columns)
        for begin in range(0, held - rows + 1, rows):
            yield table.slice(begin, rows).combine_chunks()
        pending = table.slice(held // rows * rows).to_batches()
        held %= rows
    if held:
        yield pa.Table.from_batches(pending, columns).combine_chunks()
