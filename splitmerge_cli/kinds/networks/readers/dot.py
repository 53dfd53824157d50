"""Networks in the language of Graphviz (.dot, .gv): nodes, edges and their attributes; subgraphs are flattened."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from splitmerge_cli.data.tables.table import quote
from splitmerge_cli.kinds.networks.readers.attributed import Attributed, as_number
from splitmerge_cli.received import DataError

_TOKEN = re.compile(
    r'(?P<blank>\s+|//[^\n]*|/\*.*?\*/|\#[^\n]*)|"(?P<quoted>(?:[^"\\]|\\.)*)"'
    r"|(?P<sign>->|--|[{}\[\];,=:])|(?P<word>-?\.?\w+(?:\.\w*)*)",
    re.DOTALL,
)
_WORDS = ("node", "edge", "graph")
"""Words that set the looks of all nodes or edges below."""


class _Tokens:
    """The signs and words of a text, one at a time."""

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.text, self.row = path, text, 1
        self.tokens = self.read()
        self.kind, self.now = next(self.tokens)

    def read(self) -> Iterator[tuple[str, str]]:
        at = 0
        while at < len(self.text):
            match = _TOKEN.match(self.text, at)
            if match is None:
                raise self.error(self.text[at], "a word, a text in quotes or a sign of the language of Graphviz")
            kind = str(match.lastgroup)
            if kind != "blank":
                yield kind, match[kind].replace('\\"', '"')
            self.row += match[0].count("\n")
            at = match.end()
        while True:
            yield "end", ""

    def error(self, cell: str, expected: str) -> DataError:
        return DataError(f"{self.path}: row {self.row}: {quote(cell)}; expected {expected}")

    def skip(self, sign: str) -> bool:
        """Go beyond a sign if it is the present one."""
        if is_here := self.kind == "sign" and self.now == sign:
            self.kind, self.now = next(self.tokens)
        return is_here

    def name(self, expected: str = "a name") -> str:
        """The present word or text, beyond which the tokens go."""
        if self.kind not in ("word", "quoted"):
            raise self.error(self.now, expected)
        word = self.now
        self.kind, self.now = next(self.tokens)
        return word

    def attributes(self) -> dict[str, Any]:
        """``[key=value, ...]``, perhaps several or none."""
        attributes = {}
        while self.skip("["):
            while not self.skip("]"):
                key = self.name("an attribute, key=value")
                attributes[key] = as_number(self.name("a value")) if self.skip("=") else "true"
                _ = self.skip(",") or self.skip(";")
        return attributes


def parse_dot(path: Path, text: str) -> Attributed:
    """Read the text of a .dot file; raises a `DataError` that names the row."""
    tokens = _Tokens(path, text)
    word = tokens.name("graph or digraph").lower()
    word = tokens.name("graph or digraph").lower() if word == "strict" else word
    if word not in ("graph", "digraph"):
        raise tokens.error(word, "graph or digraph")
    if tokens.kind != "sign":
        tokens.name()
    if not tokens.skip("{"):
        raise tokens.error(tokens.now, "{")
    number: dict[str, int] = {}
    nodes: list[dict[str, Any]] = []
    ends: list[tuple[int, int]] = []
    edges: list[dict[str, Any]] = []

    def node(name: str) -> int:
        if name not in number:
            number[name] = len(nodes)
            nodes.append({})
        if tokens.skip(":"):
            tokens.name("a port")
        return number[name]

    depth = 1
    while depth:
        if tokens.skip("}"):
            depth -= 1
        elif tokens.skip("{"):
            depth += 1
        elif not (tokens.skip(";") or tokens.skip(",")):
            name = tokens.name("a node, or }")
            if name.lower() == "subgraph" and tokens.kind != "sign":
                tokens.name()
            elif name.lower() in _WORDS:
                tokens.attributes()
            elif tokens.skip("="):
                tokens.name("a value")
            elif name.lower() != "subgraph":
                path_of_nodes = [node(name)]
                while tokens.skip("->") or tokens.skip("--"):
                    path_of_nodes.append(node(tokens.name("a node: edges of groups in braces are not read")))
                attributes = tokens.attributes()
                if len(path_of_nodes) == 1:
                    nodes[path_of_nodes[0]].update(attributes)
                for pair in pairwise(path_of_nodes):
                    ends.append(pair)
                    edges.append(attributes)
    if not nodes:
        raise DataError(f"{path}: no node; expected at least one")
    return Attributed(
        list(number), nodes, np.array(ends, dtype=np.int64).reshape(-1, 2), edges, word == "digraph", usual=1.0
    )
