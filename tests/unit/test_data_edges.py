"""The user's own networks: lists of edges and graphs in files, with one clear message for each bad file."""

import gzip
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from splitmerge_cli.data.base import DataError, Dataset
from splitmerge_cli.data.graphs.adjacency import keep
from splitmerge_cli.data.graphs.edges import edges
from splitmerge_cli.data.tables import files

FUZZED = 400
"""Damaged lists of edges that are tried."""


def pairs(graph: Dataset) -> set[tuple[str, str]]:
    """The edges as pairs of names, in alphabetical order."""
    assert graph.names is not None
    row, column = graph.values.nonzero()
    return {tuple(sorted((graph.names[i], graph.names[j]))) for i, j in zip(row, column, strict=True)}


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Dataset]:
    """``read(text, name, **options)``: a file of that content, read."""

    def from_text(text: str | bytes, name: str = "e.csv", **options: Any) -> Dataset:
        path = tmp_path / name
        content = text if isinstance(text, bytes) else text.encode()
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return edges(path, **options)

    return from_text


@pytest.fixture
def nodes(tmp_path: Path) -> str:
    """A file of nodes a, b, z with their sides."""
    (tmp_path / "nodes.csv").write_text("id,side\na,left\nb,right\nz,left\n")
    return str(tmp_path / "nodes.csv")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("e.csv", "a,b\nb,c\na,c\n"),
        ("e.csv", "\ufeffa, b\r\n b ,c\r\na,c\r\n"),
        ("e.csv", "source,target\na,b\nb,c\na,c"),
        ("e.csv", "Source,Target,Type\na,b,x\nb,c,x\na,c,y\n"),
        ("e.csv", "id,target,source\n1,a,b\n2,b,c\n3,c,a\n"),
        ("e.csv.gz", '"a","b"\n"b","c"\na,c\n'),
        ("e.tsv", "a\tb\nb\tc\na\tc\n"),
        ("e.txt", "a\tb\nb\tc\na\tc\n"),
        ("e.txt.gz", "# Nodes: 3\n# FromNodeId ToNodeId\na b\nb c\na c\n"),
        ("out.abc", "% sym unweighted\n% 3 3 3\na b\nb  c\n a\tc \n"),
        ("e.edges", "a b 1\nb c 2.5\na c 1e-3\n"),
        ("e.txt", "a;b\nb;c\na;c\n"),
        ("e", '"a" b\nb "c"\na  c\n'),
        ("e.csv", "a,b\nb,a\nb,c\nc,c\na,c\na,c\n"),
    ],
)
def test_formats_of_text_agree(read: Callable[..., Dataset], name: str, text: str) -> None:
    graph = read(text, name)
    assert pairs(graph) == {("a", "b"), ("b", "c"), ("a", "c")} and graph.kind.name == "graph"
    assert sorted(graph.names or []) == ["a", "b", "c"] and graph.truth is None


def test_parquet(tmp_path: Path) -> None:
    pd.DataFrame({"x": ["q"] * 3, "source": [1.0, 2.0, 1.0], "target": ["2", "3", "3"]}).to_parquet(
        tmp_path / "e.parquet"
    )
    graph = edges(tmp_path / "e.parquet")
    assert graph.names == ["1", "2", "3"] and graph.values.nnz == 6
    ties = pd.DataFrame({"a": pd.Categorical(["x", "y"]), "b": ["y", "z"], "weight": [1, 0]})
    ties.to_parquet(tmp_path / "e.parquet")
    assert pairs(edges(tmp_path / "e.parquet")) == {("x", "y")}
    assert pairs(edges(tmp_path / "e.parquet", weights=None)) == {("x", "y"), ("y", "z")}


@pytest.mark.parametrize("suffix", ["graphml", "gml", "graphml.gz", "gml.gz"])
def test_graphs_of_networkx(tmp_path: Path, suffix: str) -> None:
    graph = nx.MultiDiGraph()
    graph.add_node("New York", side="left")
    graph.add_node("b", side="right")
    graph.add_node("alone", side="left")
    for a, b, weight in (("New York", "b", 0.5), ("b", "New York", 0.25), ("b", "b", 1.0), ("b", "alone", 0.0)):
        graph.add_edge(a, b, weight=weight)
    path = tmp_path / f"g.{suffix}"
    (nx.write_gml if "gml" in suffix.split(".") else nx.write_graphml)(graph, path)
    read = edges(path, truth="side")
    assert read.names == ["New York", "b", "alone"] and pairs(read) == {("New York", "b")}
    assert read.truth is not None and read.truth.tolist() == [0, 1, 0]
    assert {k: read.meta[k] for k in ("self_loops", "reversed", "below_threshold", "isolated")} == {
        "self_loops": 1,
        "reversed": 1,
        "below_threshold": 1,
        "isolated": 1,
    }
    assert edges(path, threshold=0.75).values.nnz == 0 and edges(path, threshold=0.7).values.nnz == 2
    for options, message in (
        ({"nodes": 3}, "data.nodes=3: expected its default"),
        ({"header": True}, "data.header=True: expected its default"),
        ({"base": 0}, "data.base=0: expected its default"),
        ({"truth": "none"}, "no node has the attribute 'none'"),
        ({"weights": "none"}, r"edge 1 \('New York', 'b'\), 'none': no such attribute; expected a number"),
    ):
        with pytest.raises(DataError, match=message):
            edges(path, **options)


def test_nodes_without_a_true_label(read: Callable[..., Dataset], tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("id,side\na,left\nb,right\nc,\n")
    found = read("a,b\nb,c\n", nodes=str(tmp_path / "nodes.csv"), truth="side")
    assert found.truth is not None and found.truth.tolist() == [0, 1, -1]
    assert "has no true label in 1 of 3 rows" in found.notes[-1]
    # of the nodes that are kept, too
    assert (kept := keep(found, 1.0, 2).truth) is not None and kept.tolist() == [0, -1]
    graph = nx.path_graph(3)
    graph.nodes[1]["side"] = "left"
    nx.write_gml(graph, tmp_path / "g.gml")
    found = edges(tmp_path / "g.gml", truth="side")
    assert found.truth is not None and found.truth.tolist() == [-1, 0, -1]
    assert "2 of 3 nodes have no attribute 'side'" in found.notes[-1]


def test_gml_without_labels(read: Callable[..., Dataset]) -> None:
    graph = read("graph [ node [ id 4 ] node [ id 7 ] edge [ source 4 target 7 ] ]", "g.gml")
    assert graph.names == ["4", "7"] and graph.values.nnz == 2
    assert read("graph [ node [ id 4 ] ]", "g.gml").values.nnz == 0


def test_nodes_without_edges(read: Callable[..., Dataset], nodes: str) -> None:
    graph = read("a,b\n", nodes=nodes, truth="side")
    assert graph.names == ["a", "b", "z"] and graph.meta["isolated"] == 1
    assert graph.truth is not None and graph.truth.tolist() == [0, 1, 0]
    assert read("source,target\n", nodes=nodes).values.nnz == 0
    assert read("# nothing yet\n", nodes=nodes).N == 3
    # numbers from 0 or from 1 are the nodes themselves; others are followed by those without an edge
    assert read("2,0\n", nodes=4).names == ["0", "1", "2", "3"]
    assert read("2,4\n", nodes=4).names == ["1", "2", "3", "4"]
    assert read("2,5\n", nodes=4).names == ["2", "5", "", ""]
    assert read("b,a\n", nodes=3).names == ["b", "a", ""]
    assert read("a,a\n", nodes=1).N == 1
    Path(nodes).write_text("z\na\nb\n")
    assert read("z,b\n", nodes=nodes).names == ["z", "a", "b"]
    Path(nodes).write_text("airport,side\n3,x\n1,y\n")
    assert read("1,3\n", nodes=nodes).names == ["3", "1"]
    pd.DataFrame({"id": [3, 1], "side": ["x", "y"]}).to_parquet(f"{nodes}.parquet")
    graph = read("1,3\n", nodes=f"{nodes}.parquet", truth=2)
    assert graph.names == ["3", "1"] and graph.truth is not None and graph.truth.tolist() == [0, 1]


def test_numbers_that_may_count_from_0_or_from_1_are_asked_about(read: Callable[..., Dataset]) -> None:
    asked = (
        r"^data.nodes=4: the nodes that .*e.csv names, 1 to 3, may be of 0 to 3 or of 1 to 4; expected data.base=0 or"
    )
    with pytest.raises(DataError, match=asked):
        read("2,1\n1,3\n", nodes=4)
    assert read("2,1\n1,3\n", nodes=4, base=0).names == ["0", "1", "2", "3"]
    from_one = read("2,1\n1,3\n", nodes=4, base=1)
    assert from_one.names == ["1", "2", "3", "4"] and pairs(from_one) == {("1", "2"), ("1", "3")}
    # one of them alone fits
    for base in (None, 1):
        assert read("2,1\n1,3\n", nodes=3, base=base).names == ["1", "2", "3"]
    for base in (None, 0):
        assert read("2,0\n1,3\n", nodes=4, base=base).names == ["0", "1", "2", "3"]
    # without an edge there is nothing to be read in two ways
    assert read("source,target\n", nodes=2).names == ["0", "1"]
    assert read("source,target\n", nodes=2, base=1).names == ["1", "2"]
    # without data.nodes the nodes are those that end an edge
    assert read("5,1\n1,3\n", base=0).names == read("5,1\n1,3\n", base=1).names == ["1", "3", "5"]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("1,2\n2,3\n", {"nodes": 2, "base": 1}, r".*e.csv: row 2, column 2: '3'; expected a whole number from 1 to 2"),
        ("1,2\n0,2\n", {"nodes": 9, "base": 1}, r".*row 2, column 1: '0'; .* 1 to 9 \(data.base=1, data.nodes=9\)"),
        ("0,1\n1,2\n", {"nodes": 2, "base": 0}, ".*row 2, column 2: '2'; expected a whole number from 0 to 1"),
        ("1,2\n1,b\n", {"nodes": 4, "base": 1}, ".*row 2, column 2: 'b'; expected a whole number from 1 to 4"),
        ("1,2\n1,02\n", {"nodes": 4, "base": 1}, ".*row 2, column 2: '02'; expected a whole number from 1 to 4"),
        ("1,2\n-1,2\n", {"base": 0}, r".*row 2, column 1: '-1'; expected a whole number from 0 on \(data.base=0\)"),
        ("a,b\n", {"base": 0}, ".*row 1, column 1: 'a'; expected a whole number from 0 on"),
        ("1,2\n", {"base": 2}, "data.base=2: expected 0 or 1, the number of the first node, or null"),
        ("1,2\n", {"base": True}, "data.base=True: expected 0 or 1"),
        ("1,2\n", {"base": "0"}, "data.base=0: expected 0 or 1"),
        ("1,2\n", {"base": 0, "nodes": "n.csv"}, "data.base=0: expected null beside data.nodes=FILE"),
    ],
)
def test_numbers_that_are_no_nodes(
    read: Callable[..., Dataset], text: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=f"^{message}"):
        read(text, **options)


def test_the_order_of_the_nodes(read: Callable[..., Dataset]) -> None:
    assert read("10,2\n2,33\n-1,10\n").names == ["-1", "2", "10", "33"]
    assert read("b,a\na,10\n").names == ["b", "a", "10"]


def test_weights(read: Callable[..., Dataset]) -> None:
    text = "p,q,w\na,b,.2\nb,a,.4\nb,c,.5\nc,d,0\n"
    assert pairs(read(text, weights="w")) == {("a", "b"), ("b", "c")}
    assert pairs(read(text, weights=3, threshold=0.5)) == {("a", "b")}
    assert pairs(read(text, weights=-1, header="true")) == {("a", "b"), ("b", "c")}
    assert pairs(read(text, weights=None, header="true")) == {("a", "b"), ("b", "c"), ("c", "d")}
    # rows that are counted
    assert pairs(read("a,b\nb,a\nb,c\n", threshold=1)) == {("a", "b")}
    # a third column that is no number is no weight
    assert read("a b x\nb c y\n", "e.txt").values.nnz == 4


@pytest.mark.parametrize(
    ("text", "header", "names"),
    [
        ("city,other\n1,2\n", "auto", ["1", "2"]),
        ("from,to\nx,y\n", "auto", ["x", "y"]),
        ("from,to\nto,y\n", "auto", ["to", "y"]),
        ("city,other\nx,y\n", True, ["x", "y"]),
        ("city,other\nx,y\n", "False", ["city", "other", "x", "y"]),
        ("city,other,n\nx,y,3\n", "auto", ["x", "y"]),
        ("u,v\nv,w\n", "auto", ["u", "v", "w"]),
        ("source,target\n", False, ["source", "target"]),
        ("a,b", "auto", ["a", "b"]),
    ],
)
def test_names_of_columns(read: Callable[..., Dataset], text: str, header: Any, names: list[str]) -> None:
    assert read(text, header=header).names == names


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("", "e.csv", "e.csv: the file is empty; expected at least one row"),
        ("\n\n", "e.csv", "e.csv: the file is empty"),
        ("# nothing\n", "e.csv", "e.csv: the file is empty"),
        ("source,target\n", "e.csv", r"e.csv: no edge \(rows: 0\); expected at least one, or data.nodes"),
        ("a,a\nb,b\n", "e.csv", r"e.csv: no edge \(rows: 2; self-loops: 2, pairs not above the threshold: 0\)"),
        ("a,b,0\n", "e.csv", r"e.csv: no edge \(rows: 1; self-loops: 0, pairs not above the threshold: 1\)"),
        ("a,b\nb,c,d\n", "e.csv", "e.csv: row 2: cells: 3; expected 2, as in row 1"),
        ("# x\na b\nb c\nd\n", "e.txt", "e.txt: row 4: cells: 1; expected 2, as in row 2"),
        ("a,b\nb,\n", "e.csv", "e.csv: row 2, column 2: an empty cell; expected the name of a node"),
        ("source,target\nb,a\n , c\n", "e.csv", r"e.csv: row 3, column 1 \('source'\): an empty cell"),
        ("a,b\n\nb,c\n", "e.csv", "e.csv: row 2, column 1: an empty cell"),
        ("a,b\nnan,b\n", "e.csv", "e.csv: row 2, column 1: 'nan'; expected the name of a node"),
        ('a,b\n"x\ny",c\nb,\n', "e.csv", "e.csv: row 4, column 2: an empty cell"),
        ("a,b,1\nb,c,-1\n", "e.csv", "e.csv: row 2, column 3: '-1'; expected a number, at least 0"),
        ("a,b,1\nb,c,nan\n", "e.csv", "e.csv: row 2, column 3: 'nan'; expected a number, at least 0"),
        ("a,b,1\nb,c,inf\n", "e.csv", "e.csv: row 2, column 3: 'inf'; expected a number"),
        (
            "a,b,1\nb,c,1e31\n",
            "e.csv",
            r"row 2, column 3: '1e31'; expected a number, at least 0 and at most 1e\+30",
        ),
        ("a,b,1\nb,c,\n", "e.csv", "e.csv: row 2, column 3: an empty cell; expected a number"),
        ("a b 1\nb c x\n", "e.txt", r"e.txt: row 2, column 3: 'x'; expected a number.*data.weights=null"),
        ("1,2\n1.0,3\n", "e.csv", "e.csv: row 2, column 1: '1.0'; expected one way to write a node: .* '1'"),
        ("1,2\n3,1e0\n", "e.csv", "e.csv: row 2, column 2: '1e0'; expected one way"),
        ("Rome,Oslo\nBonn,Kyiv\n", "e.csv", "e.csv: row 1: 'Rome' and 'Oslo' stand nowhere else; .*data.header="),
        ("a\nb\n", "e.csv", "e.csv: row 1: cells: 1; expected at least 2, the ends of an edge"),
        ("a;b\n", "e.csv", "e.csv: row 1: cells: 1; .*data.separator"),
        ('a,"b\nb,c\n', "e.csv", "e.csv: row 1: a quote that does not end its cell"),
        ('a "b\nb c\n', "e.txt", "e.txt: row .*: a quote that does not end its cell"),
        (b"\x89PNG\r\n\x1a\n\0", "e.csv", "e.csv: row 1: byte 0x89; expected UTF-8 text"),
        (b"a,b\nb,\0c\n", "e.csv", "e.csv: row 2: byte 0x00; expected UTF-8 text"),
        ("a,b\n# x\nb,c\n", "e.csv", "e.csv: row 2: a comment below the first row"),
        ("% bip unweighted\n1 2\n", "out.x", "out.x: row 1: a two-mode network"),
        ("%%MatrixMarket matrix\n3 3 1\n1 2\n", "e.txt", "e.txt: row 1: a file of Matrix Market"),
        ("*Vertices 3\n", "e.txt", "e.txt: row 1: a file of Pajek"),
        ("x", "e.npy", "e.npy: unknown format '.npy'; expected one of text"),
        ("x", "e.parquet", "e.parquet: not a readable parquet file"),
        ("graph [", "e.gml", "e.gml: not a readable .gml file"),
        ("graph [ ]", "e.gml", "e.gml: no node; expected at least one"),
        ("<graphml>", "e.graphml", "e.graphml: not a readable .graphml file"),
        ("graph [ node [ id 1 ] edge [ source 1 target 2 ] ]", "e.gml", "e.gml: not a readable .gml file"),
    ],
)
def test_files_that_are_refused(read: Callable[..., Dataset], text: str | bytes, name: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as info:
        read(text, name)
    assert "\n" not in str(info.value)


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf, 1e31])
def test_weights_of_parquet_are_refused_as_those_of_text(tmp_path: Path, weight: float) -> None:
    file = tmp_path / "e.parquet"
    pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"], "weight": [1.0, weight]}).to_parquet(file)
    with pytest.raises(DataError, match=r"row 2, column 3 \('weight'\): .*; expected a number, at least 0 and at most"):
        edges(file)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": 1}, "data.target=null: expected a column, as the other end has one"),
        ({"source": 1, "target": 1}, "data.target=1: expected another column than data.source"),
        ({"source": "q", "target": 2}, "data.source=q: .* has no such column"),
        ({"source": 1, "target": 4}, "data.target=4: .* has no such column; expected a number from 1 to 2"),
        ({"weights": "w"}, "data.weights=w: .* has no such column"),
        ({"weights": 1}, "data.weights=1: expected another column than data.source and data.target"),
        ({"threshold": -1.0}, "data.threshold=-1.0: expected a number from 0"),
        ({"threshold": float("nan")}, "data.threshold=nan: expected a number from 0"),
        ({"separator": "pipe"}, "data.separator=pipe: expected one of auto, comma, tab, semicolon, space"),
        ({"header": "maybe"}, "data.header=maybe: expected auto, true or false"),
        ({"nodes": 0}, "data.nodes=0: expected a whole number from 1"),
        ({"nodes": 2}, "data.nodes=2: expected at least 3, the nodes that .* names"),
        ({"nodes": "none.csv"}, r"none.csv: no such file; expected a file that names the nodes \(data.nodes\)"),
        ({"truth": "side"}, "data.truth=side: expected null, or data.nodes=FILE beside it"),
        ({"scale": 2.0}, "data.scale=2.0: expected a number above 0"),
        ({"N": 4}, "N=4: expected a whole number from 1 to 3"),
    ],
)
def test_options_that_are_refused(read: Callable[..., Dataset], options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=f"^{message}"):
        read("a,b\nb,c\n", **options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id\na\nb\n", r"e.csv: row 2, column 2: 'c'; expected a node of .*nodes.csv"),
        (
            "id\na\nb\nc\na\n",
            r"nodes.csv: row 5, column 1 \('id'\): 'a'; expected every node once: it is also in row 2",
        ),
        ("id,side\na,1\n,1\n", r"nodes.csv: row 3, column 1 \('id'\): an empty cell; expected the name of a node"),
        ("id,side\na,1\nb\n", "nodes.csv: row 3: cells: 1; expected 2, as in row 1"),
        ("id,side\na,\nb,\nc,\n", r"nodes.csv: column 2 \('side'\): every cell is empty; expected true labels"),
        ("id,which\na,1\nb,2\nc,1\n", "data.truth=side: .*nodes.csv has no such column; expected one of id, which"),
        ("airport,x\na,1\nb,2\nc,1\n", "nodes.csv: row 1: 'airport' ends no edge; expected names of columns"),
        ("", "nodes.csv: the file is empty"),
        ("id,side\n", "nodes.csv: no row of data; expected at least one node"),
    ],
)
def test_lists_of_nodes_that_are_refused(read: Callable[..., Dataset], nodes: str, text: str, message: str) -> None:
    Path(nodes).write_text(text)
    with pytest.raises(DataError, match=message):
        read("a,b\nb,c\n", nodes=nodes, truth="side")


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none.csv: no such file; expected a list of edges"):
        edges(tmp_path / "none.csv")
    with pytest.raises(DataError, match="a folder; expected a list of edges"):
        edges(tmp_path)


def test_a_graph_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("a,b\n")
    with pytest.raises(DataError, match=r"^data.kind=graph: data=csv reads tables; expected data=edges data.path="):
        files.csv(tmp_path / "e.csv", "graph")


@pytest.mark.parametrize("separator", [",", "\t", " ", ";"])
def test_large_lists_agree_with_a_plain_reading(read: Callable[..., Dataset], separator: str) -> None:
    rows = np.random.default_rng(0).integers(3000, size=(100_000, 2))
    text = "\n".join(f"{a}{separator}{b}" for a, b in rows.tolist())
    graph = read(text, "e.txt")
    expected = {(min(a, b), max(a, b)) for a, b in rows.tolist() if a != b}
    assert graph.names == [str(n) for n in range(3000)] and graph.values.nnz == 2 * len(expected)
    row, column = graph.values.nonzero()
    assert expected == {(a, b) for a, b in zip(row.tolist(), column.tolist(), strict=True) if a < b}


def draw_edges(rng: random.Random) -> str:
    """A short list of edges, as likely as not with something wrong in it."""
    cells = [
        "a",
        "b",
        "c",
        "1",
        "2",
        "1.0",
        "new york",
        "é",
        "#x",
        "%",
        '"q r"',
        '"',
        "",
        " ",
        "nan",
        "-1",
        "1e400",
        "*",
    ]
    separator = rng.choice([",", ",", "\t", " ", ";", ", "])
    lines = [
        separator.join(
            rng.choice(cells[: rng.choice([5, 5, len(cells)])]) for _ in range(rng.choice([2, 2, 3, 3, 1, 4]))
        )
        if rng.random() < 0.15
        else separator.join(rng.choice(cells[:5]) for _ in range(2))
        for _ in range(rng.randrange(8))
    ]
    top = rng.choice(["", "", "", "# c\n", "source,target\n", "% sym\n\n", "\ufeff"])
    return top + rng.choice(["\n", "\n", "\r\n"]).join(lines) + rng.choice(["", "\n", "\n\n"])


def test_damaged_lists_are_read_or_refused(read: Callable[..., Dataset]) -> None:
    rng, rejected = random.Random(1), 0
    for _ in range(FUZZED):
        content = draw_edges(rng).encode()
        if rng.random() < 0.2 and content:
            at = rng.randrange(len(content))
            content = content[:at] + bytes([rng.randrange(256)]) + content[at + 1 :]
        options = {
            "weights": rng.choice(["auto", "auto", None, 3]),
            "header": rng.choice(["auto", "auto", True, False]),
        }
        options |= {"separator": rng.choice(["auto", "auto", "space", "comma"]), "comments": rng.random() < 0.8}
        options |= {"base": rng.choice([None, None, 0, 1])}
        options |= {"nodes": rng.choice([None, None, 3, 9]), "scale": rng.choice([1.0, 1.0, 0.5])}
        try:
            graph = read(content, rng.choice(["e.csv", "e.txt", "e.tsv", "e"]), **options)
        except DataError as error:
            rejected += 1
            assert "\n" not in str(error)
        else:
            assert graph.N >= 1 and graph.names is not None and len(graph.names) == graph.N
            assert graph.values.nnz or options["nodes"] or options["scale"] < 1
    assert 0 < rejected < FUZZED
