"""The rows of a list of edges: names of both ends, and weights; and notes on tables that may be such a list."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from splitmerge_cli.data.arrow import array_of
from splitmerge_cli.data.tables import inference, notes, text
from splitmerge_cli.data.tables.columns import index, labels_in, position, words
from splitmerge_cli.data.tables.separators import is_numeric
from splitmerge_cli.data.tables.table import (
    NUMBER,
    Table,
    column_key,
    encode,
    is_of_numbers,
    is_text,
    list_names,
    quote,
)
from splitmerge_cli.data.values import A_WEIGHT, require
from splitmerge_cli.kinds.networks.data import BINARY, COUNT
from splitmerge_cli.kinds.networks.readers import edge_values
from splitmerge_cli.kinds.networks.readers.listed import Listed, Use
from splitmerge_cli.overrides import shell_word, write
from splitmerge_cli.received import DataError

ENDS = ("source", "target")
HEADER_WORDS = {
    *ENDS,
    *("src", "dst", "from", "to", "node1", "node2", "node_1", "node_2", "from_node", "to_node", "from_id", "to_id"),
    *("fromnodeid", "tonodeid", "id1", "id2", "id_1", "id_2", "sender", "receiver", "ego", "alter", "tail", "head"),
    *("recipient", "caller", "callee", "caller_id", "callee_id", "sender_id", "receiver_id", "recipient_id"),
    *("source_id", "target_id", "follower", "followed", "citing", "cited"),
}
"""Names of columns that hold the ends of edges."""
MISSING = ("", "nan", "NaN")
A_NODE = "the name of a node"
NO_WEIGHT = "data.weights=null reads none, data.values=real or levels other ones"
WHOLE = re.compile(r"-?(0|[1-9]\d{0,17})", re.ASCII)
"""A whole number as a name; it fits an int64."""


def names_ends(head: Sequence[str]) -> bool:
    """Whether the cells of a first row name the ends of edges: the first two, or source and target."""
    lower = [cell.strip().lower() for cell in head]
    return len(lower) > 1 and (all(cell in HEADER_WORDS for cell in lower[:2]) or set(ENDS) <= set(lower))


@dataclass(frozen=True)
class Columns:
    """Columns of an edge list that the user asks for."""

    source: str | int | None
    target: str | int | None
    weights: str | int | None
    layer: str | int | None = None

    @property
    def mentioned_columns(self) -> list[str]:
        """Columns that are named."""
        named = (self.source, self.target, self.weights, self.layer)
        return [c for c in named if isinstance(c, str) and c != "auto"]

    def ends(self, names: Sequence[str] | None, width: int) -> tuple[int, int]:
        """Positions of the two ends as far as they are known before the columns have names."""
        positions = position(self.source, width), position(self.target, width)
        if positions[0] is not None and positions[1] is not None:
            return positions[0], positions[1]
        lower = [name.strip().lower() for name in names or []]
        if self.source is None and all(lower.count(end) == 1 for end in ENDS):
            return lower.index(ENDS[0]), lower.index(ENDS[1])
        return 0, 1

    def resolve(self, table: Table, use: Use) -> tuple[int, int, int | None, int | None]:
        """Positions of the two ends, the value and the layer."""
        if self.source is None or self.target is None:
            s, t = self.ends(table.names, table.width)
            if (s, t) == (0, 1) and (unnamed := table.unnamed_columns()):
                # the first two columns that have a name; the others number the rows
                named, keys = [j for j in range(table.width) if j not in unnamed], "data.source and data.target"
                if len(named) < 2:
                    few = f"columns with a name: {len(named)}; expected two, or {keys}, the ends of an edge"
                    raise DataError(f"{table.path}: {few}")
                s, t = named[:2]
                if len(table.columns[0]):
                    left_out = [j for j in unnamed if j < t]
                    table.leave_out(left_out, f"{keys} would read it", f"{keys}, the ends of an edge")
        else:
            s, t = index(table, "data.source", self.source), index(table, "data.target", self.target)
        require(s != t, "data.target", self.target, "another column than data.source")
        layer = None if self.layer is None else index(table, "data.layer", self.layer)
        require(layer not in (s, t), "data.layer", self.layer, "another column than data.source and data.target")
        w = self._weight(table, (s, t, layer), use)
        require(w not in (s, t), "data.weights", self.weights, "another column than data.source and data.target")
        require(w is None or w != layer, "data.layer", self.layer, "another column than data.weights")
        return s, t, w, layer

    def _weight(self, table: Table, taken: tuple[int | None, ...], use: Use) -> int | None:
        """Position of the values: the column that is named, or has the name weight and is no sign; where the user says
        of what form they are, also one of another such name, or the only further column."""
        if self.weights not in (None, "auto"):
            return index(table, "data.weights", self.weights)
        others = [j for j in range(table.width) if j not in (*taken, *table.unnamed_columns())]
        asked, chosen = use.values not in (None, BINARY), list[int]()
        if self.weights is None:
            others = []
        elif table.names is None:
            third = 2 in others and len(table.columns[2])
            chosen = [2] if third and (asked or is_numeric(table.columns[2][0].as_py())) else []
            if chosen and not asked and edge_values.are_times(table.columns[2]):
                chosen = []
                table.note("column 3 holds times: it is not read (data.weights=3 reads it)")
        else:
            chosen = [j for j in others if table.names[j].lower() == "weight"]
            if asked and not chosen:
                only = others if len(others) == 1 and use.values != COUNT else []
                chosen = value_columns(table, others) or only
        if len(chosen) == 1 and not asked and edge_values.are_signed(table.cells(chosen[0])):
            chosen = []
        if len(chosen) != 1 and asked and use.values != COUNT:
            raise DataError(f"data.values={use.values}: {table.path}: no weights; expected data.weights=COLUMN")
        return chosen[0] if len(chosen) == 1 else None


def value_columns(table: Table, others: Sequence[int]) -> list[int]:
    """Columns whose names say that they hold values of edges; else the only further one of numbers, no times."""
    words = {j: name.strip().lower() for j, name in enumerate(table.names or ())}
    if named := [j for j in others if words.get(j) in edge_values.VALUE_WORDS]:
        return named
    left = [
        j
        for j in others
        if j in words and not edge_values.TIME.search(words[j]) and words[j] not in edge_values.LAYER_WORDS
    ]
    cells = table.columns[left[0]] if len(left) == 1 else []
    return left if len(cells) and is_numeric(str(cells[0].as_py())) and not edge_values.are_times(cells) else []


def _layer_columns(table: Table, others: Sequence[int]) -> list[int]:
    """Columns whose names say that they hold layers of edges; else the only further one of few words."""
    if named := [j for j in others if table.names and table.names[j].strip().lower() in edge_values.LAYER_WORDS]:
        return named
    if len(others) != 1 or not table.names or not is_text(table.cells(others[0])):
        return []
    words = pc.unique(table.cells(others[0])).to_pylist()
    few = 2 <= len(words) <= MOST_LAYERS < table.rows
    return list(others) if few and not any(is_numeric(word or "0") for word in words) else []


MOST_LAYERS = 20
"""Different words of a column that are taken for layers, at most."""
DIRECTED = {
    *(("from", "to"), ("sender", "receiver"), ("citing", "cited"), ("follower", "followed"), ("origin", "dest")),
    *(("source", "destination"), ("origin", "destination"), ("giver", "receiver"), ("winner", "loser")),
    *(("sender", "recipient"), ("caller", "callee"), ("caller_id", "callee_id"), ("sender_id", "receiver_id")),
}
"""Names of columns by which an edge has a direction; networkx calls them source and target, whatever the graph."""


@dataclass(frozen=True)
class Rows:
    """The rows of an edge list in the file `path`: as `listed`, whose nodes are the names of the ends in the order of
    their first appearance, sources first where there are two kinds of nodes."""

    path: Path
    listed: Listed
    first: NDArray[np.int64]
    """int64 ``[names]``: where each name appears first, 2 row + (1 where it is the target), ascending."""
    table: tuple[Table, int, int] | None = None
    """Table that the rows come from, and the positions of the ends in it."""
    kinds: int | None = None
    """Number of names in the first of two kinds; the others are in the second."""

    @property
    def names(self) -> list[str]:
        """Names of the ends."""
        return self.listed.names or []

    @classmethod
    def empty(cls, path: Path) -> "Rows":
        """No rows."""
        ends = np.empty((0, 2), dtype=np.int64)
        return cls(path, Listed(str(path), "", [], 0, ends, side_names=ENDS), np.empty(0, dtype=np.int64))

    @classmethod
    def from_table(
        cls, table: Table, columns: Columns, header: str | bool, use: Use | None = None, two_kinds: bool = False
    ) -> "Rows":
        """The rows of a table; `two_kinds`: a name in both columns names two nodes."""
        use = use or Use()
        if table.width < 2:
            raise DataError(
                f"{table.path}: row {table.row(0)}: cells: {table.width}; expected at least 2, the ends of an edge "
                "(data.separator is the sign between cells)"
            )
        if isinstance(table, text.Text) and (_has_header(table, columns) if header == "auto" else header):
            table.take_header()
            table.columns = [column.slice(1) for column in table.columns]
        s, t, w, layer_column = columns.resolve(table, use)
        if not len(table.columns[s]):
            return cls.empty(table.path)
        notes.check_names(table)
        others = [j for j in range(table.width) if j not in (s, t, w, layer_column, *table.unnamed_columns())]
        directed: bool | None = None
        for j in list(others) if table.names else ():
            # as Gephi writes it
            if table.names and table.names[j].strip().lower() == "type":
                types = {str(cell).strip().lower() for cell in pc.unique(table.cells(j)).to_pylist()}
                if types in ({"directed"}, {"undirected"}):
                    directed = types == {"directed"}
                    others.remove(j)
                    break
        ends = [names_of(table, j) for j in (s, t)]
        kinds = None
        if two_kinds:
            first, names, codes = zip(*(_code_names([column], 2, end) for end, column in enumerate(ends)), strict=True)
            kinds = len(names[0])
            first_of, all_names = np.concatenate(first), [*names[0], *names[1]]
            all_codes = np.concatenate([codes[0], codes[1] + kinds], axis=1)
        else:
            first_of, all_names, all_codes = _code_names(ends)
        weight, levels = None, tuple[str, ...]()
        if w is not None:
            weight, levels = (_weights(table, w), ()) if use.is_simple else _values(table, w, use.form)
        layer: NDArray[np.int64] | None = None
        layers: tuple[str, ...] = ("",)
        if layer_column is not None:
            codes_of_layers, words_of_layers = labels_in(table, layer_column, "the name of a layer", "names of layers")
            if (codes_of_layers < 0).any():
                raise table.error(int(np.argmin(codes_of_layers)), layer_column, "the name of a layer")
            layer, layers = codes_of_layers.astype(np.int64), tuple(words_of_layers)
        reads_no_value = w is None and columns.weights is not None and use.values is None
        values_left = value_columns(table, others) if reads_no_value else []
        third = 2 if table.names is None and w is None and others[:1] == [2] else None
        if third is not None and edge_values.are_times(table.cells(third)):
            others, third = others[1:], None
        other = values_left[0] if len(values_left) == 1 else third
        layers_left = [] if layer_column is not None else _layer_columns(table, [j for j in others if j != other])
        if not_read := [table.column(j) for j in others if j != other and j not in layers_left[:1]]:
            verb = "are" if len(not_read) > 1 else "is"
            table.note(
                f"{list_names(not_read)} {verb} not read (data.weights names one of weights, data.layer one of layers)"
            )
        named_ends = None if table.names is None else (table.names[s], table.names[t])
        lower = () if named_ends is None else tuple(map(str.lower, named_ends))
        listed = Listed(
            str(table.path),
            "",
            all_names,
            len(all_names),
            all_codes,
            weight,
            levels,
            layer,
            layers,
            side_names=named_ends or ENDS,
            directed=True if lower in DIRECTED else directed,
            other_values=None if other is None else table.cells(other),
            other_layers=table.names[layers_left[0]] if layers_left and table.names else "",
            notes=table.notes,
            may_be_directed=lower in (ENDS, ("source_id", "target_id")),
        )
        rows = cls(table.path, listed, first_of, (table, s, t), kinds)
        # names that are missing, or that stand for one node in two ways, such as 1 and 1.0
        known = set(all_names)
        for k, name in enumerate(all_names):
            if name in MISSING:
                raise rows.error(k, A_NODE)
            if not name.isdigit() and NUMBER.fullmatch(name) and (value := float(name)).is_integer():
                other_name = str(int(value))
                if other_name != name and other_name in known:
                    raise rows.error(k, f"one way to write a node: there is also '{other_name}'")
        return rows

    def error(self, name: int, expected: str) -> DataError:
        """Build the error for the first cell that holds a name, where something else was `expected`."""
        assert self.table is not None
        table, s, t = self.table
        row, is_target = divmod(int(self.first[name]), 2)
        return table.error(row, t if is_target else s, expected)


def are_whole(column: pa.ChunkedArray) -> bool:
    """Whether a column of text holds whole numbers alone."""
    return bool(pc.all(pc.match_substring_regex(column, rf"^{WHOLE.pattern}$")).as_py())


def names_of(table: Table, j: int) -> pa.ChunkedArray:
    """Column `j` as names of nodes, without spaces around them."""
    column = pc.cast(words(table, j, A_NODE), pa.large_string())
    return pc.utf8_trim_whitespace(pc.coalesce(column, array_of([""], pa.large_string())[0]))


def _code_names(
    ends: Sequence[pa.ChunkedArray], step: int = 1, offset: int = 0
) -> tuple[NDArray[np.int64], list[str], NDArray[np.int64]]:
    """Names in columns: where each appears first, the names in that order, and codes ``[rows, columns]``."""
    by_column, words = encode(pa.chunked_array([chunk for column in ends for chunk in column.chunks]))
    appeared = by_column.reshape(len(ends), -1).T.ravel()
    code, first = np.unique(appeared, return_index=True)
    order = np.argsort(first)
    rank = np.argsort(code[order])
    return step * first[order] + offset, [words[k] for k in code[order]], rank[appeared].reshape(-1, len(ends))


def _values(table: Table, j: int, form: str) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Column `j` as values of a form, and the levels of these."""
    column = table.cells(j)
    if not (is_text(column) or is_of_numbers(column)):
        raise DataError(f"{table.path}: {table.column(j)} holds {column.type}; expected {edge_values.EXPECTED[form]}")
    numbers, levels, bad = edge_values.read_values(column, form)
    if bad is not None:
        raise table.error(bad, j, f"{edge_values.EXPECTED[form]} (data.values={form})")
    return numbers, levels


def _weights(table: Table, j: int) -> NDArray[np.float64]:
    """Column `j` as weights, checked."""
    column, expected = table.columns[j], f"{A_WEIGHT} ({NO_WEIGHT})"
    if is_text(column):
        trimmed = pc.utf8_trim_whitespace(column)
        good = pc.match_substring_regex(trimmed, f"(?i)^({NUMBER.pattern})$").to_numpy()
        if not good.all():
            raise table.error(int(np.argmin(good)), j, expected)
        table.columns[j] = pc.cast(trimmed, pa.float64())
    elif not is_of_numbers(column):
        raise DataError(f"{table.path}: {table.column(j)} holds {column.type}; expected numbers ({NO_WEIGHT})")
    values, bad = edge_values.read_weights(pc.cast(table.columns[j], pa.float64(), safe=False).to_numpy())
    if bad is not None:
        raise table.error(bad, j, expected)
    return values


def _has_header(table: text.Text, columns: Columns) -> bool:
    """Whether the first row names the columns."""
    head = [cell.strip() for cell in table.top[0]]
    if any(column in head for column in columns.mentioned_columns):
        return True
    if len(table.top) == 1:
        return all(cell.lower() in HEADER_WORDS for cell in head[:2])
    if table.heads_index() or (not head[0] and sum(cell.lower() in HEADER_WORDS for cell in head) > 1):
        return True
    s, t = columns.ends(head, table.width)
    if table.counts_columns() and not _is_end_repeated(table, s, t, head):
        raise table.header_error()
    if head[s] == head[t] or WHOLE.fullmatch(head[s]) or WHOLE.fullmatch(head[t]):
        return False
    below = _ends_below(table, s, t)
    if all(are_whole(column) for column in below):
        return True
    # a ragged row is complained of by who parses it
    second = [*table.top[1], *[""] * table.width]
    w = position(columns.weights, table.width) if columns.weights != "auto" else 2
    if w is not None and w < table.width and not is_numeric(head[w]) and is_numeric(second[w]):
        return True
    # however often: a row that repeats them is an error
    if head[s].lower() in HEADER_WORDS and head[t].lower() in HEADER_WORDS:
        return True
    if _is_end_repeated(table, s, t, head) or "" in (head[s], head[t]):
        return False
    # where names repeat, a pair that no other row has anything to do with names the columns
    both = pa.chunked_array([chunk for column in below for chunk in column.chunks])
    if len(table.top) > 1 and len(pc.unique(both)) < len(both):
        table.note(
            f"row {table.row(0)}: {quote(head[s])} and {quote(head[t])} occur nowhere else: they are "
            "read as names of columns (data.header=false reads them as an edge)"
        )
        return True
    raise DataError(
        f"{table.path}: row {table.row(0)}: {quote(head[s])} and {quote(head[t])} occur nowhere else; expected names "
        "of columns or of nodes (data.header=true or false decides)"
    )


def _ends_below(table: text.Text, s: int, t: int) -> list[pa.ChunkedArray]:
    """The ends of the rows below the first."""
    return [pc.utf8_trim_whitespace(table.columns[j].slice(1)) for j in (s, t)]


def _is_end_repeated(table: text.Text, s: int, t: int, head: Sequence[str]) -> bool:
    """Whether an end of the first row ends another one too."""
    ends = (head[s], head[t])
    return any(pc.any(pc.equal(column, end)).as_py() for column in _ends_below(table, s, t) for end in ends)


MANY_PAIRS, REPEATED, SHARED = 20, 1.2, 4
"""A list of edges has so many rows at least, and so many for each name; or one in so many names of the ends that have
fewer stands among the others, too."""
OF_ENDS = re.compile(r"(?i)from|to_|source|target|sender|recei|parent|child|follow|citing|cited")
"""Names of ids that are ends of one kind."""
FRAME_NAMES = {"weights": "weight"}
"""Names by which a column of a data frame is known, where they are not the roles."""


PAIRS = {"why": "two columns of the same names, and in every row another pair"}
TRIPLES = "in each row a relation between two of the same names"
RECURS = 4
"""Rows of each relation of triples, on average."""
WORDS_OF_PAIRS = (2, 3)
"""Cells of a row that is a pair, or a pair and a relation."""


def find_pairs(rows: Sequence[Sequence[Any]], before: int = 0) -> dict[str, Any] | None:
    """Why rows of as many cells are edges, and the `keys` that read them, if their cells, without so many `before`, are
    two or three words of which two are of the same names; None if they are not.

    >>> people = [f"p{k}" for k in range(9)]
    >>> find_pairs([(a, "likes", b) for a in people for b in people if a != b])
    {'why': 'in each row a relation between two of the same names', 'keys': {'data.source': 1, 'data.target': 3, ...
    """
    if not rows or len(rows[0]) - before not in WORDS_OF_PAIRS:
        return None
    pairs = [tuple(row[before : before + 2]) for row in rows]
    if _are_pairs(pairs) and len({*pairs}) == len(rows):
        return PAIRS
    triples = [tuple(row[before:]) for row in rows]
    relations = {triple[1] for triple in triples if len(triple) == 3 and _is_word(triple[1])}
    if relations and RECURS * len(relations) <= len(rows) == len({*triples}):
        ends = [(triple[0], triple[2]) for triple in triples]
        if _are_pairs(ends) and relations.isdisjoint(name for pair in ends for name in pair):
            keys = {"data.source": before + 1, "data.target": before + 3, "data.layer": before + 2}
            return {"why": TRIPLES, "keys": keys}
    return None


def _is_word(cell: Any) -> bool:
    return isinstance(cell, str) and cell != "" and not is_numeric(cell)


def _are_pairs(rows: Sequence[tuple[Any, ...]]) -> bool:
    """Whether both cells of rows are words that recur and name the same things."""
    if len(rows) < MANY_PAIRS or not all(_is_word(cell) for row in rows for cell in row):
        return False
    first, second = ({row[k] for row in rows} for k in (0, 1))
    few, many = sorted((len(first), len(second)))
    return few >= 3 and len(rows) >= REPEATED * many and 2 * len(first & second) >= few


def note_pairs(table: Table, columns: Sequence[int]) -> list[str]:
    """Note that a table may be a list of edges: two columns have the names of ends, such as sender and recipient; or it
    has two columns of words, perhaps with a third one between or behind them, and every row is another pair, of names
    that recur or stand in both columns; in both, if there are further columns of numbers or times. Return the overrides
    that read it so, if any."""
    names = [name.strip().lower() for name in table.names or ()]
    named = next((pair for pair in sorted(DIRECTED) if all(names.count(end) == 1 for end in pair)), None)
    if named is not None:
        roles = {role: names.index(end) for role, end in zip(ENDS, named, strict=True)}
        ends = " and ".join(map(table.column, roles.values()))
        return _note_command(table, f"{ends}: if they are the ends of edges", roles, {})
    ids = [j for j, name in enumerate(table.names or ()) if inference.REPEATED_ID.search(name.strip())]
    if len(ids) == 2 and table.rows >= MANY_PAIRS and _share_names(table, (ids[0], ids[1]), ids) is not None:
        # equal numbers of users and of films are nobody's name
        are_alike = any(OF_ENDS.search((table.names or [])[j]) for j in ids)
        ends = " and ".join(map(table.column, ids))
        roles = dict(zip(ENDS, ids, strict=True))
        why = f"{ends}: every row is another pair of ids: if they are edges of a network"
        return _note_command(table, why, roles, {} if are_alike else {"bipartite": True})
    number = r"^\s*-?[\d.]+([eE][-+]?\d+)?\s*$"
    texts = [j for j in columns if is_text(table.cells(j))]
    texts = [j for j in texts if not edge_values.are_times(table.cells(j))]
    words = [j for j in texts if not pc.all(pc.match_substring_regex(table.cells(j), number)).as_py()]
    if len(words) not in (2, 3) or table.rows < MANY_PAIRS:
        return []
    held = {j: set(_names_in(table, j).dictionary.to_pylist()) for j in words}
    # a third one, the layer, has other words; if no two share some, the first and the last are the ends
    source, target = max(
        combinations(words, 2), key=lambda pair: (len(held[pair[0]] & held[pair[1]]), pair[1] - pair[0])
    )
    roles = {"source": source, "target": target}
    are_shared = _share_names(table, (source, target), words)
    if are_shared is None or (len(columns) > 3 and not are_shared):
        return []
    options: dict[str, Any] = {}
    if layer := set(words) - {source, target}:
        (roles["layer"],) = layer
    others = [k for k in columns if k not in words]
    for k in others if len(columns) == 3 else value_columns(table, others)[:1]:
        described = edge_values.describe_values(table.cells(k))
        roles["weights"] = k
        options |= {"values": described[0]} if described else {}
    if not are_shared:
        options["bipartite"] = True
    same = "three words" if layer else "pair of words"
    return _note_command(table, f"no two rows hold the same {same}: if they are edges of a network", roles, options)


def _names_in(table: Table, j: int) -> pa.DictionaryArray:
    return pc.utf8_trim_whitespace(table.cells(j).cast("string").combine_chunks()).dictionary_encode()


def _share_names(table: Table, ends: tuple[int, int], columns: Sequence[int]) -> bool | None:
    """Whether the ends share names; None where rows of these columns repeat another, or names neither recur nor are
    shared."""
    codes = {str(j): _names_in(table, j) for j in columns}
    first, second = (set(codes[str(j)].dictionary.to_pylist()) for j in ends)
    rows = pa.table({j: column.indices for j, column in codes.items()}).group_by([*codes]).aggregate([])
    few, many = sorted((len(first), len(second)))
    are_shared = SHARED * len(first & second) >= few
    recur = are_shared or table.rows >= REPEATED * many
    return are_shared if few >= 3 and recur and rows.num_rows == table.rows else None


def _note_command(table: Table, why: str, roles: Mapping[str, int], options: dict[str, Any]) -> list[str]:
    """Note the command that reads a table as edges; of a frame the call, with the names of columns that it knows.
    Return the overrides of the command."""
    keys: dict[str, Any] = {role: column_key(table, j) for role, j in roles.items()}
    if (roles["source"], roles["target"]) == (0, 1):  # these are read without being named
        del keys["source"], keys["target"]
    keys |= ({"header": False} if table.names is None else {}) | options
    overrides = ["data=edges", *(f"data.{key}={write(value)}" for key, value in keys.items())]
    command = " ".join(map(shell_word, overrides))
    named = {table.names[j] if table.names else j: FRAME_NAMES.get(role, role) for role, j in roles.items()}
    renamed = {name: role for name, role in named.items() if name != role}
    words = options | ({"layer": "layer"} if "layer" in roles else {})
    arguments = "".join(f", {key}={value!r}" for key, value in words.items())
    call = f'sample("irm", data.rename(columns={renamed!r}){arguments})'
    table.note(f"{why}, {table.command_or_call(command, call)}")
    return overrides
