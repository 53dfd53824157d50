"""Networks with directions, weights, layers, unknown pairs, two kinds of nodes and columns of nodes: what is read."""

import gzip
import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse

from splitmerge_cli.api.recognition import recognise
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.data.values import digest_of
from splitmerge_cli.kinds.networks.data import KEYS, keep, network_of
from splitmerge_cli.kinds.networks.generated import generate
from splitmerge_cli.kinds.networks.readers import objects
from splitmerge_cli.kinds.networks.readers.edges import edges
from splitmerge_cli.kinds.networks.readers.listed import Use
from splitmerge_cli.received import DataError

Read = Callable[..., Dataset]


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Read:
    """``read(text, name, **options)``: a file of that content, read."""
    monkeypatch.chdir(tmp_path)

    def from_text(text: str, name: str = "e.csv", **options: Any) -> Dataset:
        Path(name).write_text(text)
        return edges(name, **options)

    return from_text


def ties(dataset: Dataset, layer: int = 0) -> dict[str, Any]:
    """Edges of a layer by the names of their ends, with their values: ``{"ab": 2.0}``; unknown pairs: None."""
    assert dataset.relations is not None and dataset.names is not None
    relation, names = dataset.relations.layers[layer], dataset.names
    values = [1.0] * len(relation.ends) if relation.value is None else relation.value.tolist()
    found = {names[i] + names[j]: value for (i, j), value in zip(relation.ends.tolist(), values, strict=True)}
    shown = {pair: relation.levels[int(value)] for pair, value in found.items()} if relation.levels else found
    return shown | {names[i] + names[j]: None for i, j in relation.unknown.tolist()}


def test_an_edge_of_a_matrix_in_both_directions_with_one_value_is_one_edge() -> None:
    matrix = pd.DataFrame([[0, 2, np.nan], [2, 0, 5], [np.nan, 5, 1]], index=list("abc"), columns=list("abc"))
    assert ties(from_object(matrix, "graph", values="count", loops=True)) == {"ab": 2, "bc": 5, "cc": 1, "ac": None}


def test_layers_unknown_pairs_and_signs(read: Read) -> None:
    Path("u.csv").write_text("from,to,kind\nb,c,works\n")
    text = "from,to,kind,sign\na,b,likes,+\nb,c,likes,-\na,c,works,+\n"
    found = read(text, layer="kind", values="levels", unknown="u.csv", directed=True)
    assert ties(found) == {"ab": "+", "bc": "-"} and ties(found, 1) == {"ac": "+", "bc": None}
    assert "layers: likes (2), works (1), unknown pairs: 1" in found.notes[0]
    Path("u.csv").write_text("a,z\n")
    with pytest.raises(DataError, match=r"u.csv: row 1, column 2: 'z'; expected a node of e.csv"):
        read(text, unknown="u.csv", header=True)


def test_levels_of_no_edge(read: Read) -> None:
    Path("nodes.csv").write_text("id\na\nb\nc\n")
    for text in ("source,target,weight\n", "source,target,weight\na,b,\n"):
        (layer,) = network_of(read(text, nodes="nodes.csv", values="levels")).layers
        assert not len(layer.ends) and layer.form == "binary"


def test_names_of_two_kinds_may_coincide(read: Read) -> None:
    relations = read("user,book,n\n2,1,3\n1,1,1\n1,x,2\n", bipartite=True, values="count").relations
    assert relations is not None and relations.sides is not None
    assert relations.sides.tolist() == [0, 0, 1, 1] and relations.side_names == ("user", "book")


def test_columns_of_nodes_and_the_nodes_that_are_kept(read: Read) -> None:
    Path("n.csv").write_text("id,age,sex\na,30,m\nb,31,f\nc,,m\nd,40,f\n")
    options: dict[str, Any] = {"nodes": "n.csv", "columns": ["age", "sex"], "types": {"age": "count"}}
    found = read("a,b\nb,c\nc,a\n", **options)
    assert found.relations is not None and (table := found.relations.columns) is not None
    assert [column.type for column in table.types or ()] == ["count", "binary"] and table.missing == 1
    kept = keep(found, 1.0, 3)
    assert kept.relations is not None and kept.relations.N == 3 and kept.relations.columns.N == 3
    graph = nx.Graph([("a", "b"), ("b", "c")])
    nx.set_node_attributes(graph, {"a": 3.5, "b": 4.0, "c": 7.25}, "age")
    by_attribute = from_object(graph, "graph", columns=["age"])
    frame = pd.DataFrame({"age": [7.25, 3.5, 4.0]}, index=list("cab"))
    assert digest_of(by_attribute) == digest_of(from_object(graph, "graph", nodes=frame)) != digest_of(found)


PAJEK = '*Vertices 3\n1 "Ann B"\n2 Bob\n*Arcs\n1 2 2\n*Edges\n2 3 1\n'
DOT = 'digraph "x" {\n node [shape=box]; // looks\n "Ann B" -> Bob [weight=2, label="y"];\n Bob -> 3 -> Bob; }\n'


@pytest.mark.parametrize(("name", "text"), [("p.net", PAJEK), ("g.gv", DOT), ("g.dot", DOT)])
def test_graphs_of_pajek_and_graphviz(read: Read, name: str, text: str) -> None:
    found = read(text, name, directed=True, values="count")
    assert ties(found) == {"Ann BBob": 2, "Bob3": 1, "3Bob": 1}
    notes = read(text, name).notes
    assert any("left out: directions, weights (2 values, 1 to 2); this uses them: smcmc run" in note for note in notes)
    assert recognise(name).data == "edges"


NAMED = '{"nodes": [{"name": "Ann B"}, {"name": "Bob"}, {"name": "3"}], "links": %s}'
LINKS = (
    '[{"source": 0, "target": 1, "weight": 2}, {"source": 1, "target": 2, "weight": 1}, '
    '{"source": 2, "target": 1, "weight": 1}]'
)


@pytest.mark.parametrize("key", ["links", "edges"])
def test_node_link_json_as_networkx_writes_it(read: Read, key: str) -> None:
    graph = nx.DiGraph()
    graph.add_node("Ann B", club=["a", "list"], team="x")
    graph.add_edge("Ann B", "Bob", weight=2)
    graph.add_edges_from([("Bob", 3), (3, "Bob")], weight=1)
    found = read(json.dumps(nx.node_link_data(graph, edges=key)), "g.json", directed=True, values="count")
    assert ties(found) == {"Ann BBob": 2, "Bob3": 1, "3Bob": 1}
    assert recognise("g.json")[:2] == ("edges", "its lists of nodes and links")
    assert "left out: directions, weights" in " ".join(read(Path("g.json").read_text(), "g.json").notes)
    Path("g.json.gz").write_bytes(gzip.compress(Path("g.json").read_bytes()))
    assert recognise("g.json.gz").data == "edges"
    assert edges("g.json.gz", directed=True, values="count").names == found.names == ["Ann B", "Bob", "3"]


def test_links_of_json_may_write_a_name_as_a_number(read: Read) -> None:
    """They are no positions then: the first node is 1."""
    nodes = [{"id": "1"}, {"id": "2"}, {"id": "3"}]
    links = [{"source": 1, "target": 2}, {"source": "2", "target": 3}]
    text = json.dumps({"nodes": nodes, "links": links})
    assert ties(read(text, "g.json", directed=True)) == {"12": 1, "23": 1}
    whole = text.replace('"id": "', '"id": ').replace('"}', "}").replace('"2"', "2")
    with pytest.raises(DataError, match="links: 2: 'target': '4'; expected a node"):
        read(whole.replace('"target": 3', '"target": 4'), "h.json")


def test_links_of_json_name_nodes_or_count_them_from_0(read: Read) -> None:
    by_position = read(NAMED % LINKS, "g.json", directed=True, values="count")
    by_name = LINKS
    for end in ("source", "target"):
        for position, name in enumerate(("Ann B", "Bob", "3")):
            by_name = by_name.replace(f'"{end}": {position}', f'"{end}": "{name}"')
    assert digest_of(read(NAMED % by_name, "h.json", directed=True, values="count")) == digest_of(by_position)
    assert ties(by_position) == {"Ann BBob": 2, "Bob3": 1, "3Bob": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (NAMED % '[{"source": 0, "target": 3}]', "g.json: links: 1: 'target': '3'; expected a node"),
        (NAMED % '[{"source": 0}]', "links: 1: 'target': none; expected a node"),
        (NAMED % '[[0, 1]]', r"links: 1: '\[0, 1\]'; expected an object"),
        (NAMED % '{"a": 1}', "'links': no list; expected a list of objects"),
        ('{"nodes": [{"id": 1}]}', "no key 'links'; expected a list"),
        ('{"edges": []}', "no key 'nodes'; expected a list"),
        ('{"nodes": [], "links": []}', "no node; expected at least one"),
        ('{"nodes": [{"id": 1}, {"id": 1}], "links": []}', "two nodes are called '1'"),
        ('{"nodes": [{"id": 1}, ', "expected one object of JSON with nodes and links"),
    ],
)  # fmt: skip
def test_node_link_json_that_is_no_network(read: Read, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(text, "g.json")


def test_json_of_rows_stays_a_table(read: Read) -> None:
    rows = [{"source": "a", "target": "b"}, {"source": "b", "target": "c"}]
    assert read(json.dumps(rows), "e.json").names == ["a", "b", "c"]
    Path("t.json").write_text("\n".join(json.dumps({"x": k, "links": k}) for k in range(5)))
    assert recognise("t.json").data == "csv"


def test_a_network_of_two_modes() -> None:
    graph = nx.Graph([("a", "x"), ("b", "x")])
    nx.set_node_attributes(graph, {"a": 1, "b": 1, "x": 0}, "bipartite")
    assert ties(from_object(graph, "graph", bipartite=True)) == {"xa": 1, "xb": 1}


def test_matrices_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ties_of = np.array([[0, 2, 0, 1], [0, 0, 0, 0], [0, 0, 3, 0], [1, 0, 1, 0]])
    np.save("a.npy", ties_of)
    scipy.sparse.save_npz("a.npz", scipy.sparse.csr_array(ties_of))
    scipy.io.mmwrite("a.mtx", scipy.sparse.coo_array(ties_of))
    expected = from_object(ties_of, "graph", directed=True, values="count", loops=True)
    for name in ("a.npy", "a.npz", "a.mtx"):
        assert digest_of(edges(name, directed=True, values="count", loops=True)) == digest_of(expected)
    Path("e.csv").write_text(",a,b,c\na,0,1,2\nb,0,0,NA\nc,3,1,0\n")
    assert recognise("e.csv")[:2] == ("edges", "its first row and column hold the same names")


@pytest.mark.parametrize("head", [",tea,north,south", "name,tea,north,south"])
def test_a_matrix_of_two_kinds_is_recognised_by_its_names(tmp_path: Path, head: str) -> None:
    file = tmp_path / "m.csv"
    file.write_text(f"{head}\nrevere,1,0,1\nadams,0,1,1\nwarren,1,1,0\nyoung,1,1,1\n")
    found = edges(file, bipartite=True)
    assert (found.N, network_of(found).sides.sum(), len(network_of(found).layers[0].ends)) == (7, 3, 9)
    if head.startswith("name"):
        frame = pd.read_csv(file)
        frame.to_parquet(tmp_path / "m.parquet")
        frame.to_json(tmp_path / "m.json", orient="records")
        frame.to_excel(tmp_path / "m.xlsx", index=False)
        for other in ("m.parquet", "m.json", "m.xlsx"):
            assert digest_of(edges(tmp_path / other, bipartite=True)) == digest_of(found), other
    # numbers of things, or names that come again, are ends of edges
    file.write_text("name,club,from,to\nrevere,3,1,0\nadams,2,0,5\nwarren,3,2,0\nyoung,1,1,1\n")
    assert edges(file, bipartite=True).N == 7
    file.write_text("name,club,from,to\nrevere,0,1,0\nrevere,2,0,5\nwarren,0,2,0\nyoung,1,1,1\n")
    assert edges(file, bipartite=True).N == 6
    # an unnamed column beside two of ends is none of names
    file.write_text(",name,club\na,revere,tea\nb,adams,north\nc,young,tea\n")
    with pytest.raises(DataError, match="expected the name of a node"):
        edges(file, bipartite=True)


def test_a_call_that_uses_more_is_one_that_python_takes() -> None:
    graph = nx.Graph([(0, 1, {"weight": 3}), (1, 2, {"weight": 1})])
    nx.set_node_attributes(graph, {0: "a", 1: "b", 2: "a"}, "club")
    nodes = pd.DataFrame({"age": [1.5, 2.5, 2.0]})
    for more, call in (
        ({"columns": ["club"]}, "values='count', options={'data.columns': ['club']}"),
        ({"nodes": nodes}, "values='count', nodes=nodes"),
    ):
        notes = from_object(graph, "graph", **more).meta["notes"]
        assert any(note.endswith(f"this uses them: smcmc.sample(data, {call})") for note in notes)


def test_objects_of_other_libraries() -> None:
    class Edge(dict):  # as igraph's, of which only this much is used
        def attributes(self) -> dict[str, Any]:
            return dict(self)

    class Graph:
        vs, es = [Edge(name=name) for name in "abc"], [Edge(weight=2.0), Edge(weight=1.0)]
        vcount = len

        def is_directed(self) -> bool:
            return True

        def get_edgelist(self) -> list[tuple[int, int]]:
            return [(0, 1), (2, 1)]

    found = from_object(Graph(), "graph", directed=True, values="count")
    assert ties(found) == {"ab": 2, "cb": 1}
    frame = pd.DataFrame({"source": ["a", "c"], "target": ["b", "b"], "weight": [2, 1]})
    # the only further column of numbers, whatever its name
    frame = frame.rename(columns={"weight": "lent"})
    assert ties(from_object(frame, "graph", directed=True, values="count")) == {"ab": 2, "cb": 1}
    with pytest.raises(DataError, match=r"^new nodes: expected data that are a simple undirected network"):
        found.kind.new_items(found, [[1, 0, 1]])
    note = "data: left out: directions, weights (2 values, 1 to 2); this uses them: smcmc.sample(data, directed=True, "
    assert from_object(Graph(), "graph").notes[1] == f"{note}values='count')"
    unknown = from_object(Graph(), "graph", unknown=[("c", "a"), ("c", "b")])
    assert ties(unknown) == {"ab": 1, "ac": None, "bc": None}
    assert "data: edges that data.unknown lists: 1; their pairs are unknown" in unknown.notes


def test_small_networks_of_networkx_have_their_forms() -> None:
    counted = objects.network("les_miserables", values="count").relations
    assert counted is not None and counted.layers[0].value is not None and counted.layers[0].value.sum() == 820
    women = objects.network("davis", bipartite=True).relations
    assert women is not None and women.sides is not None and np.bincount(women.sides).tolist() == [18, 14]
    families = objects.network("florentine", layer="relation").relations
    assert families is not None and [len(layer.ends) for layer in families.layers] == [20, 15]


@pytest.mark.parametrize(
    "options",
    [
        {"directed": True, "values": "count", "degrees": 1.0},
        {"bipartite": True, "values": "levels", "unknown": 0.1},
        {"values": "real", "layers": 2, "loops": True, "columns": True},
        {"directed": True, "values": "binary"},
    ],
)
def test_planted_blocks_of_all_forms(options: dict[str, Any]) -> None:
    found = generate(60, blocks=3, seed=1, **options)
    assert found.relations is not None and found.truth is not None
    assert len(np.bincount(found.truth)) == (6 if "bipartite" in options else 3)
    assert {layer.form for layer in found.relations.layers} == {options.get("values", "binary")}
    assert digest_of(found) == digest_of(generate(60, blocks=3, seed=1, **options))
    # blocks differ from each other, layer by layer
    assert all(np.ptp(np.bincount(found.truth[layer.ends].sum(axis=1))) > 5 for layer in found.relations.layers)


def test_clusters_are_described_by_what_their_edges_have(read: Read) -> None:
    here = np.array([True, True, False, False])
    found = read("a,b,2\na,c,4\nd,a,6\nc,d,1\na,a,5\n", directed=True, values="count", header=False, loops=True)
    row = found.kind.describe(found, here, 1)
    assert row["telling"] == "a (3 out, 2 in); b (0 out, 1 in)" and (row["value"], row["value_outside"]) == (3.5, 5)
    assert [row[key] for key in ("density", "density_outside", "density_from_outside")] == [2 / 4, 1 / 4, 1 / 4]
    found = read(",x,y\na,1,\nb,-1,1\n", bipartite=True, matrix=True, values="levels")
    row = found.kind.describe(found, here, 1)
    assert row["kind"] == "row" and row["density_outside"] == 1 and np.isnan(row["density"]) and row["value"] == ""
    assert row["value_outside"] == "1" and row["telling"] == "b (2); a (1)"


def test_keys_of_relations_are_those_that_readers_take() -> None:
    assert set(KEYS) == {field.name for field in fields(Use)} - {"types", "encoding"}


def test_edges_of_two_signs_that_are_read_as_one_are_named(read: Read) -> None:
    text = "from,to,sign\na,b,1\nb,c,-1\na,c,+1\n"
    note = next(note for note in read(text).notes if "left out" in note)
    assert "weights (2 values, -1 to 1, edges below 0 count as the others); this uses them: " in note
    assert note.endswith("data.values=levels")
    assert network_of(read(text, values="levels")).layers[0].levels == ("-1", "1")
