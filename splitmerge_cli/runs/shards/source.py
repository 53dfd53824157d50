"""Tables of numbers whose rows are read where they are wanted (.npy, .zarr, .parquet: a file, or a folder of them), the
shards that hold them, and messages to these."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from splitmerge_cli.core import capabilities, checks
from splitmerge_cli.core.model import Model
from splitmerge_cli.data.opening import require_file
from splitmerge_cli.data.values import FINITE, first_rounded, place_not_finite
from splitmerge_cli.received import DataError, reject_machine_error
from splitmerge_cli.runs.shards.items import ShardItems
from splitmerge_cli.runs.store.files import replace_file
from splitmerge_cli.runs.store.manifest import sha256_of


class Shards(Protocol):
    """Shards, and how they are asked."""

    def all(self, method: str, *args: Any) -> list[Any]:
        """Answers of all shards to one message, in their order."""

    def each(self, method: str, args: Sequence[Sequence[Any]], shards: Sequence[int] | None = None) -> list[Any]:
        """Answers of these shards, by default all, to messages of their own, in this order."""


class ShardLost(RuntimeError):
    """A worker that held a shard is gone."""


ENDINGS = (".npy", ".parquet", ".zarr")
BLOCK = 1 << 24
"""Bytes of numbers that are converted at the same time."""


@dataclass(frozen=True)
class Source:
    """A table in a place that every worker sees; holds no rows. `names` are the columns that are read, `files` the
    files of parquet, with the rows of each. Cells may be `missing` (NaN, or null in parquet), or have to be 0 or 1
    (`binary`). `rounded` are columns whose whole numbers may lose digits as float64; in others these are codes, which
    are no numbers."""

    path: str
    rows: int
    names: tuple[str, ...]
    files: tuple[tuple[str, int], ...] = field(default=(), repr=False)
    missing: bool = False
    binary: bool = False
    rounded: tuple[str, ...] = ()

    def read(self, first: int, end: int) -> NDArray[np.float64]:
        """Rows `first` to before `end`, shape (end - first, D); NaN where a cell is missing. Raises `DataError` (a cell
        is no finite number, loses digits, is missing where none may be, or neither 0 nor 1 where all have to be; the
        message names file, row and column)."""
        out = np.empty((end - first, len(self.names)))
        row = 0
        for block, long in self._blocks(first, end):
            for j, whole in long.items():
                if self.names[j] not in self.rounded and (i := first_rounded(whole)) is not None:
                    raise DataError(
                        f"{self.path}: row {first + row + i + 1}, column {self.names[j]}: {whole[i]} has more digits "
                        "than a number keeps, as codes do; expected numbers (data.drop leaves the column out; "
                        "data.columns, or data.types={NAME:real}, reads it, rounded)"
                    )
            out[row : row + len(block)] = block
            here = out[row : row + len(block)]
            known = np.where(np.isnan(here), 0.0, here) if self.missing else here
            bad = place_not_finite(known)
            expected = FINITE
            if bad is None and self.binary and len(others := np.argwhere(known * (known - 1.0))):
                bad, expected = (int(others[0, 0]), int(others[0, 1])), "0 or 1"
            if bad is not None:
                i, d = bad
                cell = here[i, d]
                if np.isnan(cell):
                    expected = "a number (model=mixed reads rows with missing cells)"
                raise DataError(
                    f"{self.path}: row {first + row + i + 1}, column {self.names[d]}: {cell:g}; expected {expected}"
                )
            row += len(block)
        if row != end - first:
            raise DataError(f"{self.path}: {row} of the rows {first + 1} to {end}; expected all: has the file changed?")
        return out

    def _blocks(self, first: int, end: int) -> Iterator[tuple[NDArray[Any], dict[int, NDArray[Any]]]]:
        """Read the rows in blocks; each comes with its columns that hold 64-bit integers."""
        step = max(1, BLOCK // (8 * len(self.names)))
        if self.files:
            yield from read_blocks(self.files, list(self.names), first, end, step)
            return
        array = _array(Path(self.path))
        width = len(self.names)
        if isinstance(array, np.memmap) and array.flags.c_contiguous:
            # read, not mapped: pages of a map count as memory of the worker
            begin = array.offset + first * width * array.itemsize
            with open(self.path, "rb") as file:
                file.seek(begin)
                for start in range(first, end, step):
                    n = min(step, end - start)
                    yield _with_long(np.fromfile(file, dtype=array.dtype, count=n * width).reshape(-1, width))
            return
        for start in range(first, end, step):
            block = np.asarray(array[start : min(start + step, end)])
            yield _with_long(block.reshape(len(block), -1))


def open_source(
    path: str, columns: Sequence[str] | None = None, drop: Sequence[str] | None = None, missing: bool = False
) -> Source:
    """A table by its path. `path`: path of a .npy file, a .parquet file, a folder of .parquet files, or a .zarr array.
    `columns`: columns of parquet in their order; by default all except `drop`. `missing`: whether cells may be missing.
    Raises `DataError` (there is no such file, it is no table of numbers, or it has no such column)."""
    place = Path(path).absolute()
    if not place.exists():
        require_file(path, "a .npy or .parquet file, a folder of .parquet files, or a .zarr array")
    if place.suffix == ".parquet" or (place.is_dir() and place.suffix != ".zarr"):
        names, files = find_columns(place, columns, drop)
        return Source(str(place), sum(rows for _, rows in files), names, files, missing)
    if place.suffix not in ENDINGS:
        raise DataError(f"{path}: expected a .npy or .parquet file, a folder of .parquet files, or a .zarr array")
    if columns or drop:
        raise DataError(f"{path}: data.columns and data.drop choose columns of .parquet, which have names")
    array = _array(place)
    if array.ndim in (1, 2) and not all(array.shape):
        raise DataError(f"{path}: no {'columns' if array.shape[0] else 'rows'}; expected at least one")
    if array.ndim not in (1, 2) or array.dtype.kind not in "fiub":
        raise DataError(f"{path}: {array.dtype} of shape {tuple(array.shape)}; expected numbers, [rows, columns]")
    width = 1 if array.ndim == 1 else array.shape[1]
    return Source(str(place), int(array.shape[0]), tuple(str(j + 1) for j in range(width)), missing=missing)


def _with_long(block: NDArray[Any]) -> tuple[NDArray[Any], dict[int, NDArray[Any]]]:
    return block, dict(enumerate(block.T)) if block.dtype.kind in "iu" and block.dtype.itemsize == 8 else {}


def _array(place: Path) -> Any:
    if place.suffix == ".npy":
        try:
            return np.load(place, mmap_mode="r", allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise DataError(f"{place}: not a readable .npy file of numbers: {error}") from error
    try:
        import zarr
    except ImportError as error:
        raise DataError(f"{place}: {error}; pip install 'smcmc[zarr]' installs it") from error
    try:
        opened = zarr.open(str(place), mode="r")
        if not hasattr(opened, "shape"):
            raise ValueError("a group of arrays; expected one array")
        return opened
    except Exception as error:  # damaged metadata raise all kinds
        reject_machine_error(error, place)
        raise DataError(f"{place}: not a readable .zarr array: {error}") from error


ROWS = 1 << 18
"""Rows that are written at the same time."""


def read_blocks(
    files: Sequence[tuple[str, int]], names: list[str], first: int, end: int, step: int
) -> Iterator[tuple[NDArray[Any], dict[int, NDArray[Any]]]]:
    """Rows `first` to before `end` of these files, each with the number of its rows, at most `step` at a time; and
    those columns, by their places, whose whole numbers have 64 bits, null being 0."""
    from pyarrow.parquet import ParquetFile  # takes memory that a worker without such files keeps

    row = 0
    for name, rows in files:
        if row >= end or row + rows <= first:
            row += rows
            continue
        file = ParquetFile(name)
        for group in range(file.metadata.num_row_groups):
            n, here = file.metadata.row_group(group).num_rows, row
            row += n
            if here >= end or row <= first:
                continue
            for batch in file.iter_batches(step, row_groups=[group], columns=names):
                low, high = max(first - here, 0), min(end - here, batch.num_rows)
                here += batch.num_rows
                if low < high:
                    columns = batch.select(names).slice(low, high - low).columns
                    # a cell that is null becomes NaN
                    cells = (column.cast("double", safe=False) for column in columns)
                    block = np.column_stack([column.to_numpy(zero_copy_only=False) for column in cells])
                    kinds = [column.type for column in columns]
                    long = [j for j, kind in enumerate(kinds) if pa.types.is_integer(kind) and kind.bit_width == 64]
                    yield block, {j: columns[j].fill_null(0).to_numpy() for j in long}


def find_columns(
    place: Path, columns: Sequence[str] | None, drop: Sequence[str] | None
) -> tuple[tuple[str, ...], tuple[tuple[str, int], ...]]:
    """Names of the columns that are read from a file or a folder of files, and the files with their numbers of rows.
    Raises `DataError` (there is no such file, it is no table of numbers, or it has no such column)."""
    from pyarrow.parquet import ParquetFile

    files = sorted(place.glob("*.parquet")) if place.is_dir() else [place]
    if not files:
        raise DataError(f"{place}: no .parquet file in this folder")
    parts: list[tuple[str, int]] = []
    names: tuple[str, ...] = ()
    for file in files:
        try:
            opened = ParquetFile(file)
        except (pa.ArrowException, OSError) as error:
            reject_machine_error(error, file)
            raise DataError(f"{file}: not a readable parquet file: {error}") from error
        present = opened.schema_arrow.names
        for name in (*(columns or ()), *(drop or ())):
            if name not in present:
                raise DataError(f"{file}: no column {name}; expected one of {', '.join(map(str, present))}")
        wanted = tuple(columns or (name for name in present if name not in (drop or ())))
        if names and wanted != names:
            raise DataError(f"{file}: columns {', '.join(wanted)}; expected {', '.join(names)} as in {files[0]}")
        names = wanted
        for name in names:
            kind = opened.schema_arrow.field(name).type
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
                raise DataError(f"{file}: column {name}: {kind}; expected numbers (data.drop leaves columns out)")
        parts.append((str(file), opened.metadata.num_rows))
    rows = sum(n for _, n in parts)
    if not names or not rows:
        raise DataError(f"{place}: {rows} rows of {len(names)} columns; expected at least one of each")
    return names, tuple(parts)


class Shard:
    """Rows of a table, from one to before another. `first`, `end`: numbers of the rows. Raises `DataError` (a cell is
    no finite number, or missing where none may be; the message names file, row and column)."""

    def __init__(self, source: Source, first: int, end: int) -> None:
        self.first, self.end = first, end
        self.values: np.ndarray | None = source.read(first, end)
        self.items: ShardItems | None = None

    def call(self, method: str, args: Sequence[Any]) -> Any:
        """Call a method of the shard or its items."""
        function = getattr(self, method, None)
        return (getattr(self.items, method) if function is None else function)(*args)

    def columns(self) -> checks.Columns:
        """Facts about the columns here."""
        assert self.values is not None
        return checks.Columns.from_rows(self.values)

    def build(
        self,
        model: type[Model],
        columns: checks.Columns,
        params: dict[str, Any],
        near: int,
        threads: int,
    ) -> None:
        """Make the model of these rows, which takes their place, and the items."""
        assert self.values is not None
        values, self.values = self.values, None
        shards = model.find_capability(capabilities.Shards)
        assert shards is not None
        shard = shards.build_shard(values, columns, **params)
        self.items = ShardItems(shard, self.first, columns.rows, near, threads)

    def write(self, path: str, numbers: NDArray[np.int32]) -> None:
        """Write row numbers, from 1, and `numbers` of clusters to a .parquet file."""
        from pyarrow.parquet import ParquetWriter

        assert self.items is not None
        labels, schema = numbers[self.items.labels()], pa.schema([("row", pa.int64()), ("cluster", pa.int32())])
        # piece by piece, and without pandas, whose import takes as much memory as millions of rows
        with replace_file(Path(path)) as temporary, ParquetWriter(temporary, schema) as writer:
            for start in range(0, len(labels), ROWS):
                part = labels[start : start + ROWS]
                rows = np.arange(self.first + start + 1, self.first + start + len(part) + 1)
                writer.write_table(pa.table([rows, part], schema=schema))

    def save(self, path: str) -> str:
        """Write the labels, ndarray of int32, to a .npy file; returns its SHA-256."""
        assert self.items is not None
        labels = self.items.labels()
        with replace_file(Path(path)) as temporary, temporary.open("wb") as file:
            np.save(file, labels)
        return sha256_of(Path(path))
