"""The columns of a table as lines: name, type, range or levels, and gaps."""

from collections.abc import Iterator

import numpy as np

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.tables.mixed import describe_cells
from splitmerge_cli.diagnostics.cluster_table import shorten
from splitmerge_cli.terminal import WIDTH, one_line

LISTED = 12
"""Columns of a table that a run lists at most; of more, how many have each type."""
NAME = 24
"""Letters in the name of a column, at most."""


def table_lines(dataset: Dataset) -> Iterator[str]:
    """Describe each column of a table in a line: its type, range or levels, and gaps."""
    types, scales = dataset.types or (), dataset.scales or [None] * len(dataset.column_names)
    rows = [("column", "read as", "values", "missing")]
    for name, type, scale, cells in zip(dataset.column_names, types, scales, dataset.values_in_units.T, strict=True):
        cells = cells if cells.dtype.kind == "f" else np.where(cells < 0, np.nan, cells)  # codes have -1 in gaps
        missing = int(np.isnan(cells).sum())
        read_as = type.type if scale is None else f"{type.type}, {scale}"
        held = one_line(describe_cells(cells, type))
        rows.append((shorten(one_line(str(name)), NAME), read_as, held, f"{missing:,}" if missing else ""))
    for name, read_as, held, gaps in dataset.meta.get("roles", ()):
        rows.append((shorten(one_line(name), NAME), read_as, held, f"{gaps:,}" if gaps else ""))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    widths[2] = min(widths[2], WIDTH - widths[0] - widths[1] - widths[3] - 8)
    for name, read_as, held, gaps in rows:
        if len(held) > widths[2]:  # the last levels that find no room are left out
            whole = held[: widths[2] - 5].rpartition(", ")[0]
            held = f"{whole}, ..." if whole else shorten(held, widths[2])
        cells = name.ljust(widths[0]), read_as.ljust(widths[1]), held.ljust(widths[2])
        yield f"  {'  '.join(cells)}  {gaps.rjust(widths[3])}".rstrip()
