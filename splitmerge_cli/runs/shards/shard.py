"""A shard: some rows of a table, read where they are to stay, and the items of a chain that they are."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.core.capabilities import Shards
from splitmerge_cli.core.checks import Columns
from splitmerge_cli.core.model import Model
from splitmerge_cli.runs.shards.items import ShardItems
from splitmerge_cli.runs.shards.source import Source
from splitmerge_cli.runs.store.files import replace_file
from splitmerge_cli.runs.store.manifest import sha256_of


class Shard:
    """Rows of a table, from one to before another. `first`, `end`: numbers of the rows. Raises `DataError` (a cell is
    no finite number, or missing where none may be; the message names file, row and column).
    """

    def __init__(self, source: Source, first: int, end: int) -> None:
        self.first, self.end = first, end
        self.values: np.ndarray | None = source.read(first, end)
        self.items: ShardItems | None = None

    def call(self, method: str, args: Sequence[Any]) -> Any:
        """Call a method of the shard or its items."""
        function = getattr(self, method, None)
        return (getattr(self.items, method) if function is None else function)(*args)

    def columns(self) -> Columns:
        """Facts about the columns here."""
        assert self.values is not None
        return Columns.from_rows(self.values)

    def build(
        self,
        model: type[Model],
        columns: Columns,
        params: dict[str, Any],
        near: int,
        threads: int,
    ) -> None:
        """Make the model of these rows, which takes their place, and the items."""
        assert self.values is not None
        values, self.values = self.values, None
        shards = model.find_capability(Shards)
        assert shards is not None
        shard = shards.build_shard(values, columns, **params)
        self.items = ShardItems(shard, self.first, columns.rows, near, threads)

    def write(self, path: str, numbers: NDArray[np.int32]) -> None:
        """Write row numbers, from 1, and `numbers` of clusters to a .parquet file."""
        from splitmerge_cli.runs.shards.parquet import write_labels

        assert self.items is not None
        write_labels(Path(path), self.first, numbers[self.items.labels()])

    def save(self, path: str) -> str:
        """Write the labels, ndarray of int32, to a .npy file; returns its SHA-256."""
        assert self.items is not None
        labels = self.items.labels()
        with replace_file(Path(path)) as temporary, temporary.open("wb") as file:
            np.save(file, labels)
        return sha256_of(Path(path))
