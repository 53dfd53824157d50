"""Notes on tables that may be networks."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from splitmerge_cli.data.tables.table import Table, column_key, is_text
from splitmerge_cli.kinds.networks.readers.edge_rows import DIRECTED, ENDS
from splitmerge_cli.kinds.networks.readers.edge_values import describe_values
from splitmerge_cli.overrides import shell_word, write

MANY_PAIRS, REPEATED = 20, 1.2
"""A list of edges has so many rows at least, and so many for each name."""
FRAME_NAMES = {"weights": "weight"}
"""Names by which a column of a data frame is known, where they are not the roles."""


def note_pairs(table: Table, columns: Sequence[int]) -> None:
    """Note that a table may be a list of edges: two columns have the names of ends, such as sender and recipient; or it
    has two columns of words, perhaps with a third one between or behind them, and every row is another pair."""
    names = [name.strip().lower() for name in table.names or ()]
    named = next((pair for pair in sorted(DIRECTED) if all(names.count(end) == 1 for end in pair)), None)
    if named is not None:
        roles = {role: names.index(end) for role, end in zip(ENDS, named, strict=True)}
        ends = " and ".join(map(table.column, roles.values()))
        _note_command(table, f"{ends}: if they are the ends of edges", roles, {"directed": True})
        return
    words = [j for j in columns if is_text(table.cells(j)) and not pc.all(_are_numbers(table, j)).as_py()]
    if len(columns) not in (2, 3) or len(words) < 2 or table.rows < MANY_PAIRS:
        return
    codes = {j: pc.utf8_trim_whitespace(table.cells(j)).combine_chunks().dictionary_encode() for j in words}
    roles = {"source": words[0], "target": words[-1]}
    first, second = (set(codes[k].dictionary.to_pylist()) for k in roles.values())
    pairs = np.stack([codes[k].indices.to_numpy(zero_copy_only=False) for k in words], axis=1)
    few, many = sorted((len(first), len(second)))
    if few < 3 or table.rows < REPEATED * many or len(np.unique(pairs, axis=0)) < table.rows:
        return
    options: dict[str, Any] = {}
    if len(words) == 3:
        roles["layer"] = words[1]
    for k in set(columns) - set(words):
        described = describe_values(table.cells(k))
        roles["weights"] = k
        options |= {"values": described[0]} if described else {}
    options["directed" if 2 * len(first & second) >= few else "bipartite"] = True
    _note_command(table, "every row is another pair of words: if they are edges of a network", roles, options)


def _note_command(table: Table, why: str, roles: Mapping[str, int], options: dict[str, Any]) -> None:
    """Note the command that reads a table as edges; of a frame the call, with the names of columns that it knows."""
    keys: dict[str, Any] = {role: column_key(table, j) for role, j in roles.items()}
    if (roles["source"], roles["target"]) == (0, 1):  # these are read without being named
        del keys["source"], keys["target"]
    keys |= ({"header": False} if table.names is None else {}) | options
    command = " ".join(["data=edges", *(shell_word(f"data.{key}={write(value)}") for key, value in keys.items())])
    renamed = {table.names[j] if table.names else j: FRAME_NAMES.get(role, role) for role, j in roles.items()}
    words = options | ({"layer": "layer"} if "layer" in roles else {})
    arguments = ", ".join(f"{key}={value!r}" for key, value in words.items())
    call = f'sample("irm", data.rename(columns={renamed!r}), {arguments})'
    table.notes.append(f"{table.path}: {why}, {table.command_or_call(command, call)}")


def _are_numbers(table: Table, j: int) -> pa.ChunkedArray:
    return pc.match_substring_regex(table.cells(j), r"^\s*-?[\d.]+([eE][-+]?\d+)?\s*$")
