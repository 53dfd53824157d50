"""The user's own networks: lists of edges and graphs in files, with one clear message for each bad file."""

import gzip
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from splitmerge_cli.api.recognition import recognise
from splitmerge_cli.config import specify
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.tables.files import csv
from splitmerge_cli.kinds.networks import generated as network
from splitmerge_cli.kinds.networks import generated as published_graphs
from splitmerge_cli.kinds.networks.data import adjacency, keep, merge
from splitmerge_cli.kinds.networks.readers import objects
from splitmerge_cli.kinds.networks.readers.edges import edges
from splitmerge_cli.received import DataError


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


def test_nodes_of_a_parquet_file(read: Callable[..., Dataset], tmp_path: Path) -> None:
    pd.DataFrame({"id": [3, 1], "side": ["x", "y"]}).to_parquet(tmp_path / "nodes.parquet")
    graph = read("1,3\n", nodes=str(tmp_path / "nodes.parquet"), truth=2)
    assert graph.names == ["3", "1"] and graph.truth is not None and graph.truth.tolist() == [0, 1]


@pytest.mark.parametrize("separator", [",", "\t", " ", ";"])
def test_large_lists_agree_with_a_plain_reading(read: Callable[..., Dataset], separator: str) -> None:
    rows = np.random.default_rng(0).integers(3000, size=(100_000, 2))
    text = "\n".join(f"{a}{separator}{b}" for a, b in rows.tolist())
    graph = read(text, "e.txt")
    expected = {(min(a, b), max(a, b)) for a, b in rows.tolist() if a != b}
    assert graph.names == [str(n) for n in range(3000)] and graph.values.nnz == 2 * len(expected)
    row, column = graph.values.nonzero()
    assert expected == {(a, b) for a, b in zip(row.tolist(), column.tolist(), strict=True) if a < b}


MATRIX = np.array([[0, 1, 1, 0], [1, 0, 0, 0], [1, 0, 0, 1], [0, 0, 1, 0]])


@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize("written", ["a.csv", "b.csv", "c.tsv", "d.txt", "e.xlsx"])
def test_adjacency_matrices_as_programs_write_them(tmp_path: Path, written: str, empty: bool) -> None:
    names = list("pqrs")
    frame = pd.DataFrame(MATRIX, index=names, columns=names)
    frame = frame.replace(0, "") if empty else frame
    path = tmp_path / written
    if path.suffix == ".xlsx":
        frame.to_excel(path)
    else:
        frame.to_csv(path, sep={"a": ",", "b": ";", "c": "\t", "d": ";"}[path.stem])
    assert recognise(path).data == "edges"
    network = edges(path)
    assert network.names == names and network.meta["edges"] == 3
    np.testing.assert_array_equal(network.values.toarray(), MATRIX)
    assert any("empty cells are read as 0" in note for note in network.notes) == empty
    if empty and path.suffix == ".csv":  # whoever names the form of the values has unknown pairs
        (layer,) = edges(path, values="binary").relations.layers
        assert len(layer.unknown) == 3


@pytest.mark.parametrize(
    ("times", "is_read"),
    [
        ([1415731200 + 7 * k for k in range(24)], False),
        ([1415731200000 + 7 * k for k in range(24)], False),
        ([f"2014-11-{k + 1:02d}" for k in range(24)], False),
        ([f"2014-11-{k + 1:02d}T10:20:00" for k in range(24)], False),
        ([k % 4 + 1 for k in range(24)], True),
        ([1000 + 13 * k for k in range(24)], True),
    ],
)
def test_times_are_no_weights(tmp_path: Path, times: list[Any], is_read: bool) -> None:
    path = tmp_path / "mails.txt"
    pairs = [(i, j) for i in range(1, 9) for j in range(i + 1, 9)][:24]
    path.write_text("".join(f"{i} {j} {t}\n" for (i, j), t in zip(pairs, times, strict=True)))
    assert (recognise(path).data == "edges") is not is_read
    network = edges(path)
    notes = " ".join(network.notes)
    assert ("column 3 holds times" in notes) is (not is_read and isinstance(times[0], int))
    assert ("weights (" in notes) is is_read
    assert ("values=count" in notes) is (is_read and len(set(times)) < 5)


@pytest.mark.parametrize(
    ("head", "offered"),
    [
        *[(head, True) for head in ("source,target", "from,to", "Sender,Recipient", "caller_id,callee_id")],
        ("node1,node2", False),
    ],
)
def test_directions_are_offered(read: Callable[..., Dataset], head: str, offered: bool) -> None:
    web = read(f"{head}\na,b\na,c\nb,c\nc,d\n")  # no pair in both directions
    assert any("data.directed=true" in note for note in web.notes) == offered
    both = read(f"{head}\na,b\nb,a\na,c\nc,a\n")  # each edge twice
    assert not any("directions, if" in note for note in both.notes)


def test_a_table_with_columns_of_ends_gets_the_command_that_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "calls.csv"
    rows = [f"2024-01-{k % 28 + 1:02d},u{k % 5},u{(k * k + 1) % 7},{k % 9}" for k in range(40)]
    path.write_text("\n".join(["date,Caller,Callee,minutes", *rows]))
    (note,) = [note for note in csv(path, kind="mixed").notes if "data=edges" in note]
    words = shlex.split(note.partition("smcmc run ")[2])
    assert specify(words).data.options["source"] == "Caller"
    network = edges(path, "Caller", "Callee", directed=True)
    assert network.relations is not None and network.relations.layers[0].directed


# ---- Networks: the adjacency matrix, generated ones, the published ones and those of networkx.

# the data set


def matrix(rows: list[list[int]]) -> csr_array:
    return csr_array(np.array(rows, dtype=np.uint8))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros((2, 2), dtype=np.uint8), r"ndarray of uint8, shape \(2, 2\); expected a csr_array \[N, N\] of uint8"),
        (csr_array(np.zeros((2, 3), dtype=np.uint8)), r"shape \(2, 3\)"),
        (csr_array(np.zeros((2, 2))), "of float64"),
        (matrix([[0, 1], [0, 0]]), "expected a symmetric matrix"),
        (matrix([[0, 2], [2, 0]]), "an entry that is not 1"),
        (matrix([[1, 0], [0, 0]]), "an entry on the diagonal"),
        (csr_array((np.zeros(2, dtype=np.uint8), [1, 0], [0, 1, 2]), shape=(2, 2)), "no stored zero"),
        (csr_array((np.ones(4, dtype=np.uint8), [2, 1, 0, 0], [0, 2, 3, 4]), shape=(3, 3)), "out of order"),
        (csr_array((2, 0), dtype=np.uint8), "expected a csr_array"),
        (csr_array((0, 0), dtype=np.uint8), "no items"),
    ],
)
def test_a_graph_is_a_simple_symmetric_matrix(values: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Dataset("made", "graph", values)


def test_sizes_of_a_graph_are_checked() -> None:
    values = matrix([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    assert Dataset("made", "graph", values, names=["a", "b", "c"]).N == 3
    with pytest.raises(DataError, match="2 names for 3 items"):
        Dataset("made", "graph", values, names=["a", "b"])
    with pytest.raises(DataError, match="2 true labels for 3 items"):
        Dataset("made", "graph", values, truth=np.zeros(2, dtype=np.int32))


def test_merging_agrees_with_the_paper() -> None:
    """The transpose added, what is not above the threshold and the diagonal dropped: dense matrices."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        source, target = rng.integers(9, size=(2, 60))
        weight = rng.integers(4, size=60).astype(float)
        for weights, threshold in ((None, 0.0), (weight, 0.0), (weight, 3.0), (None, 1.0)):
            i, j, left_out = merge(9, source, target, weights, threshold)
            dense = np.zeros((9, 9))
            np.add.at(dense, (source, target), 1.0 if weights is None else weights)
            expected = dense + dense.T > threshold
            np.fill_diagonal(expected, False)
            np.testing.assert_array_equal(adjacency(9, i, j).toarray(), expected)
            assert left_out["self_loops"] == (source == target).sum()
            rows = 60 - left_out["self_loops"] - left_out["repeated"] - left_out["reversed"]
            assert rows == len(i) + left_out["below_threshold"]


# down-sampling


def test_nodes_of_highest_degree_are_kept_in_their_order() -> None:
    rng = np.random.default_rng(1)
    graph = network.generate(30, structure="random", p=0.2, seed=3)
    graph = Dataset(
        "g", "graph", graph.values, rng.integers(4, size=30).astype(np.int32), names=list(map(str, range(30)))
    )
    degree = np.diff(graph.values.indptr)
    order = sorted(range(30), key=lambda node: (-degree[node], -node))
    for scale, m in ((0.8, 24), (0.5, 15), (0.02, 1), (0.95, 28)):
        kept = keep(graph, scale)
        chosen = sorted(order[:m])
        assert kept.N == m == round(scale * 30) and kept.names == [str(node) for node in chosen]
        np.testing.assert_array_equal(kept.values.toarray(), graph.values.toarray()[np.ix_(chosen, chosen)])
        assert kept.truth is not None and graph.truth is not None
        together = graph.truth[chosen][:, None] == graph.truth[chosen]
        np.testing.assert_array_equal(kept.truth[:, None] == kept.truth, together)
        assert keep(graph, N=m).names == kept.names
    assert keep(graph) is graph and keep(graph, N=30) is graph


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scale": 0.0}, "data.scale=0.0: expected a number above 0, at most 1"),
        ({"scale": 1.1}, "data.scale=1.1: expected a number above 0"),
        ({"scale": float("nan")}, "data.scale=nan: expected a number above 0"),
        ({"scale": 0.01}, "data.scale=0.01: expected a share that keeps at least one of 9 nodes"),
        ({"scale": 0.5, "N": 3}, "data.scale=0.5: expected 1 with N=3"),
        ({"N": 0}, "N=0: expected a whole number from 1 to 9"),
        ({"N": 10}, "N=10: expected a whole number from 1 to 9"),
    ],
)
def test_parts_that_cannot_be_kept(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=f"^{message}"):
        keep(network.generate(9, structure="grid"), **options)


# generated networks


def test_planted_blocks_have_their_densities() -> None:
    graph = network.generate(1001, blocks=4, p_in=0.3, p_out=0.02, seed=5)
    assert graph.truth is not None and np.bincount(graph.truth).tolist() == [251, 250, 250, 250]
    same = graph.truth[:, None] == graph.truth
    off = ~np.eye(1001, dtype=bool)
    dense = graph.values.toarray()
    for of, p in ((same & off, 0.3), (~same, 0.02)):
        assert dense[of].mean() == pytest.approx(p, abs=5 * np.sqrt(2 * p / of.sum()))
    assert not np.array_equal(graph.truth, np.sort(graph.truth))


@pytest.mark.parametrize("p", [0.0, 1e-300, 1e-9, 0.3, 1.0])
def test_random_graphs_of_any_density(p: float) -> None:
    graph = network.generate(200, structure="random", p=p, seed=1)
    share = graph.values.nnz / (200 * 199)
    assert graph.truth is None and share == pytest.approx(p, abs=0.02) and (p not in (0, 1) or share == p)
    assert network.generate(1, structure="random", p=p).values.nnz == 0
    planted = network.generate(7, blocks=7, p_in=1, p_out=p)
    assert planted.values.nnz == (0 if p < 0.1 else 42 if p == 1 else planted.values.nnz)


def test_every_pair_is_as_likely() -> None:
    counts = sum(
        network.generate(5, structure="random", p=0.5, seed=s).values.toarray().astype(int) for s in range(2000)
    )
    assert counts[~np.eye(5, dtype=bool)] == pytest.approx(1000, abs=5 * np.sqrt(500))
    counts = sum(
        network.generate(6, blocks=2, p_in=0.5, p_out=0.5, seed=s).values.toarray().astype(int) for s in range(2000)
    )
    assert counts[~np.eye(6, dtype=bool)] == pytest.approx(1000, abs=5 * np.sqrt(500))


def test_pairs_are_numbered_without_rounding() -> None:
    for start in (0, 2**40, 2**52, 2**60):
        number = start + np.arange(2000)
        larger, smaller = network._pair(number)
        assert (larger * (larger - 1) // 2 + smaller == number).all() and ((smaller >= 0) & (smaller < larger)).all()


@pytest.mark.parametrize(
    ("N", "options", "sides"),
    [
        (100, {}, [10, 10]),
        (60, {"dimensions": 3}, [5, 4, 3]),
        (7, {"dimensions": 1}, [7]),
        (12, {"sides": [3, 4]}, [3, 4]),
    ],
)
def test_grids_are_regular(N: int, options: dict[str, Any], sides: list[int]) -> None:
    graph = network.generate(N, structure="grid", **options)
    assert graph.meta["sides"] == sides and (np.diff(graph.values.indptr) == 2 * len(sides)).all()
    expected = nx.grid_graph(sides[::-1], periodic=True)
    assert nx.is_isomorphic(nx.from_scipy_sparse_array(graph.values), expected)


# those of networkx


@pytest.mark.parametrize(
    ("name", "N", "ties", "clusters"),
    [
        ("karate", 34, 78, [17, 17]),
        ("davis", 32, 89, [18, 14]),
        ("florentine", 15, 20, None),
        ("les_miserables", 77, 254, None),
    ],
)
def test_networks_of_networkx(name: str, N: int, ties: int, clusters: list[int] | None) -> None:
    graph = objects.network(name)
    assert (graph.N, graph.values.nnz // 2, graph.kind.name, graph.name) == (N, ties, "graph", name)
    assert graph.names is not None and len(set(graph.names)) == N
    assert (None if graph.truth is None else np.bincount(graph.truth).tolist()) == clusters
    if name == "davis":
        assert graph.truth is not None and (graph.values[graph.truth == 0][:, graph.truth == 0]).nnz == 0
    half, three = objects.network(name, scale=0.5), objects.network(name, N=3)
    assert [round(N / 2), 3] == [half.N, three.N]


# the published ones


def test_a_published_network(publish: Callable[..., Path]) -> None:
    nodes = 'id,pajek_id,name,x,y\n0,1,"A, B",1,1\n1,2,"NA",1,1\n2,3,"C",1,1\n3,4,"C",1,1\n'
    ties = "source,target,weight\n0,2,0.5\n1,2,0\n2,3,.1\n"
    folder = publish("usair97", {published_graphs.EDGES: ties, published_graphs.NODES: nodes})
    graph = published_graphs.usair97()
    assert graph.names == ["A, B", "NA", "C", "C"] and graph.values.sum(axis=0).tolist() == [1, 0, 2, 1]
    assert "path" not in graph.meta and graph.meta["below_threshold"] == 1 and graph.name == "usair97"
    assert published_graphs.usair97(scale=0.5).names == ["C", "C"]
    (folder / published_graphs.NODES).write_bytes(gzip.compress(b"id,name\n"))
    with pytest.raises(DataError, match=r"nodes.csv.gz: SHA-256 [0-9a-f]{64}; expected [0-9a-f]{64}"):
        published_graphs.usair97()
