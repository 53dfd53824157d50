"""Notes on tables that may be networks."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from splitmerge_cli.data.tables.table import Table, column_key, is_text
from splitmerge_cli.kinds.networks.readers.edge_rows import DIRECTED
from splitmerge_cli.kinds.networks.readers.edge_values import describe_values
from splitmerge_cli.overrides import path_word, shell_word, write

MANY_PAIRS, REPEATED = 20, 1.2
"""A list of edges has so many rows at least, and so many for each name."""


def note_pairs(table: Table, columns: Sequence[int]) -> None:
    """Note that a table may be a list of edges: two columns have the names of ends, such as sender and recipient; or it
    has two columns of words, perhaps with a third one between or behind them, and every row is another pair."""
    options: dict[str, Any]
    names = [name.strip().lower() for name in table.names or ()]
    named = next((pair for pair in sorted(DIRECTED) if all(names.count(end) == 1 for end in pair)), None)
    if named is not None:
        source, target = (names.index(end) for end in named)
        columns_named = f"{table.column(source)} and {table.column(target)}"
        options = {"source": column_key(table, source), "target": column_key(table, target), "directed": True}
        _note_command(table, f"{columns_named}: if they are the ends of edges", options)
        return
    words = [j for j in columns if is_text(table.cells(j)) and not pc.all(_are_numbers(table, j)).as_py()]
    if len(columns) not in (2, 3) or len(words) < 2 or table.rows < MANY_PAIRS:
        return
    codes = {j: pc.utf8_trim_whitespace(table.cells(j)).combine_chunks().dictionary_encode() for j in words}
    i, j = words[0], words[-1]
    first, second = (set(codes[k].dictionary.to_pylist()) for k in (i, j))
    pairs = np.stack([codes[k].indices.to_numpy(zero_copy_only=False) for k in words], axis=1)
    few, many = sorted((len(first), len(second)))
    if few < 3 or table.rows < REPEATED * many or len(np.unique(pairs, axis=0)) < table.rows:
        return
    shared = 2 * len(first & second) >= few
    options = {"source": column_key(table, i), "target": column_key(table, j)}
    if (i, j) == (0, 1):
        options = {}
    if len(words) == 3:
        options["layer"] = column_key(table, words[1])
    for k in set(columns) - set(words):
        described = describe_values(table.cells(k))
        options |= {"weights": column_key(table, k)} | ({"values": described[0]} if described else {})
    if table.names is None:
        options["header"] = False
    options["directed" if shared else "bipartite"] = True
    _note_command(table, "every row is another pair of words: if they are edges of a network", options)


def _note_command(table: Table, why: str, options: Mapping[str, Any]) -> None:
    words = " ".join(shell_word(f"data.{key}={write(value)}") for key, value in options.items())
    table.notes.append(f"{table.path}: {why}, smcmc run data=edges {path_word(table.path)} {words}")


def _are_numbers(table: Table, j: int) -> pa.ChunkedArray:
    return pc.match_substring_regex(table.cells(j), r"^\s*-?[\d.]+([eE][-+]?\d+)?\s*$")
