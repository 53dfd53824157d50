"""Networks in the format of Pajek (.net): arcs, edges, lists and matrices of them, two modes, several relations."""

import re
from pathlib import Path
from typing import Any

import numpy as np

from splitmerge_cli.data.opening import check_rows
from splitmerge_cli.data.tables.table import quote
from splitmerge_cli.kinds.networks.readers.attributed import Attributed, as_number
from splitmerge_cli.received import DataError

NODE_BYTES = 300
LAYER = "relation"
"""Attribute of edges that holds the relation of a file with several."""
_CELL = re.compile(r'"([^"]*)"|(\S+)')


def parse_pajek(path: Path, text: str) -> Attributed:
    """Read the text of a .net file; raises a `DataError` that names the row."""
    reader = _Reader(path)
    for number, line in enumerate(text.splitlines(), 1):
        reader.row = number
        if (line := line.strip()) and line[0] != "%":
            reader.read(line)
    if not reader.names:
        raise DataError(f"{path}: no node; expected *Vertices and their number")
    ends = np.array(reader.ends, dtype=np.int64).reshape(-1, 2)
    edges = reader.edges
    if reader.directed and reader.both_ways:
        # among arcs an edge stands for two of them
        ends = np.concatenate([ends, ends[reader.both_ways, ::-1]])
        edges = [*edges, *(edges[k] for k in reader.both_ways)]
    sides = None
    if reader.first:
        sides = (np.arange(len(reader.names)) >= reader.first).astype(np.int8)
    return Attributed(reader.names, [{} for _ in reader.names], ends, edges, reader.directed, sides, usual=1.0)


class _Reader:
    """Reads a file, section by section; `first`: how many nodes the first of two modes has."""

    def __init__(self, path: Path) -> None:
        self.path, self.row, self.section, self.relation = path, 0, "", ""
        self.names: list[str] = []
        self.first, self.filled = 0, 0
        self.ends: list[tuple[int, int]] = []
        self.edges: list[dict[str, Any]] = []
        self.both_ways: list[int] = []
        self.directed = False

    def error(self, cell: str, expected: str) -> DataError:
        return DataError(f"{self.path}: row {self.row}: {quote(cell)}; expected {expected}")

    def read(self, line: str) -> None:
        if line[0] == "*":
            self.open(line)
            return
        cells = [quoted or plain for quoted, plain in _CELL.findall(line)]
        {
            "vertices": self.vertex,
            "arcs": self.edge,
            "edges": self.edge,
            "arcslist": self.edges_of,
            "edgeslist": self.edges_of,
            "matrix": self.matrix_row,
        }.get(self.section, lambda cells: None)(cells)

    def open(self, line: str) -> None:
        """A line that begins a section."""
        word, *rest = line[1:].split(None, 1)
        self.section, rest_text = word.lower().split(":")[0], " ".join(rest)
        self.filled = 0
        if self.section == "vertices":
            numbers = rest_text.split()
            if not numbers or not all(re.fullmatch(r"\d{1,9}", n) for n in numbers):
                raise self.error(line, "*Vertices and their number")
            check_rows(self.path, int(numbers[0]), NODE_BYTES, "nodes")
            self.names = [str(k + 1) for k in range(int(numbers[0]))]
            self.first = int(numbers[1]) if len(numbers) > 1 else 0
        elif self.section in ("arcs", "arcslist", "matrix"):
            self.directed = self.directed or not self.first
        if relation := re.search(r':\s*(\d+)\s*(?:"([^"]*)")?', line):
            self.relation = relation[2] or relation[1]

    def node(self, cell: str) -> int:
        if not re.fullmatch(r"\d{1,9}", cell) or not 1 <= int(cell) <= len(self.names):
            raise self.error(cell, f"a node from 1 to {len(self.names)}")
        return int(cell) - 1

    def vertex(self, cells: list[str]) -> None:
        node = self.node(cells[0])
        if len(cells) > 1:
            self.names[node] = cells[1]

    def add(self, i: int, j: int, weight: str | None) -> None:
        """An edge of the open section."""
        attributes: dict[str, Any] = {} if weight is None else {"weight": as_number(weight)}
        if self.relation:
            attributes[LAYER] = self.relation
        if self.section.startswith("edges") and i != j:
            self.both_ways.append(len(self.ends))
        self.ends.append((i, j))
        self.edges.append(attributes)

    def edge(self, cells: list[str]) -> None:
        if len(cells) < 2:
            raise self.error(" ".join(cells), "two nodes, and perhaps a weight")
        self.add(self.node(cells[0]), self.node(cells[1]), cells[2] if len(cells) > 2 else None)

    def edges_of(self, cells: list[str]) -> None:
        source = self.node(cells[0])
        for cell in cells[1:]:
            self.add(source, self.node(cell), None)

    def matrix_row(self, cells: list[str]) -> None:
        across = len(self.names) - self.first
        if len(cells) != across or self.filled >= (self.first or across):
            raise self.error(" ".join(cells)[:20], f"{self.first or across} rows of {across} numbers")
        for j, cell in enumerate(cells):
            if cell not in ("0", "0.0"):
                self.add(self.filled, self.first + j, cell)
        self.filled += 1
