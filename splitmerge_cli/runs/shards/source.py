"""Messages to the shards.

Tables of numbers whose rows are read where they are wanted: .npy, .parquet (a file, or a folder of them), .zarr.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.opening import require_file
from splitmerge_cli.data.values import FINITE, first_rounded, place_not_finite
from splitmerge_cli.received import DataError, reject_machine_error


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
    """A table in a place that every worker sees; holds no rows.

    Attributes
    ----------
    path : str
    rows : int
    names : tuple of str
        Columns that are read.
    files : tuple of (str, int)
        Files of parquet, and the rows of each.
    missing : bool
        Whether cells may be missing: NaN, or null in parquet.
    binary : bool
        Whether all cells have to be 0 or 1.
    rounded : tuple of str
        Columns whose whole numbers may lose digits as float64; in others these are codes, which are no numbers.
    """

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
        message names file, row and column).
        """
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
            yield from _parquet().read_blocks(self.files, list(self.names), first, end, step)
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
    Raises `DataError` (there is no such file, it is no table of numbers, or it has no such column).
    """
    place = Path(path).absolute()
    if not place.exists():
        require_file(path, "a .npy or .parquet file, a folder of .parquet files, or a .zarr array")
    if place.suffix == ".parquet" or (place.is_dir() and place.suffix != ".zarr"):
        names, files = _parquet().find_columns(place, columns, drop)
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


def _parquet() -> Any:
    """The module that reads .parquet, whose library takes memory that a worker without such files keeps."""
    from splitmerge_cli.runs.shards import parquet

    return parquet


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
