"""Data sets of what a Python program holds, and new items beside them."""

from typing import Any

import networkx
import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pytest
import scipy.sparse

from splitmerge_cli.data import reading, values
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.kinds import get_kind
from splitmerge_cli.received import DataError

FRAME = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4, 5, 6]}, index=["x", "y", "z"])


def test_the_callers_array_stays_its_own() -> None:
    x = np.zeros((3, 2))
    found = from_object(x, "points")
    found.values.flags.writeable = False
    x[0, 0] = 5
    assert found.values[0, 0] == 0


@pytest.mark.parametrize(
    "graph",
    [
        networkx.path_graph(3),
        networkx.DiGraph([(0, 1), (1, 0), (1, 2), (2, 2)]),
        networkx.MultiGraph([(0, 1), (0, 1), (1, 2)]),
        np.array([[0, 2, 0], [2, 0, 1], [0, 1, 0]]),
        scipy.sparse.csr_array(np.array([[5, 2, 0], [0, 0, 1], [0, 0, 0]])),
    ],
)
def test_graphs_become_simple(graph: Any) -> None:
    assert from_object(graph, "graph").values.toarray().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]


def test_stop_words_of_texts_are_left_out() -> None:
    texts = ["the cat sat on the mat", "a dog and the cat"]
    assert (from_object(texts, "documents").vocabulary or [])[-2:] == ["sat", "the"]
    found = from_object(texts, "documents", stop_words="auto")
    assert found.vocabulary == ["cat", "dog", "mat", "sat"] and "the English list" in found.meta["notes"][1]
    assert from_object(texts, "documents", stop_words="auto", min_documents=2).vocabulary == ["cat"]
    # words that somebody chose stay, unless a list is named
    words = [text.split() for text in texts]
    assert "the" in (from_object(words, "documents", stop_words="auto").vocabulary or [])
    assert from_object(words, "documents", stop_words="english").vocabulary == ["cat", "dog", "mat", "sat"]
    with pytest.raises(DataError, match=r"data.stop_words=auto: .*points has no words"):
        from_object([[0.0], [1.0]], "points", stop_words="auto")


def test_documents_are_texts_words_or_counts() -> None:
    texts = from_object(["red blue", "blue blue green"], "documents")
    words = from_object([["red", "blue"], ["blue", "blue", "green"]], "documents")
    counts = from_object(pd.DataFrame([[1, 0, 1], [2, 1, 0]], columns=["blue", "green", "red"]), "documents")
    for found in (texts, words, counts):
        assert found.vocabulary == ["blue", "green", "red"]
        assert found.values.tokens.words.tolist() == [0, 2, 0, 0, 1]


@pytest.mark.parametrize(
    ("data", "kind", "said"),
    [
        ([[1, 2], [3]], "points", "expected rows of the same length"),
        (np.zeros(2), "points", "such as the one column data.reshape(-1, 1)"),
        ([1.0], "points", "one dimension; expected numbers [N, D], such as the one column [[value] for value in data]"),
        ({"a": [1.0, 2.0], "b": [1.0]}, "points", "columns of 'a' 2, 'b' 1 values"),
        ({"a": [1.0, 2.0], "b": [1.0]}, "points", "expected columns of the same length"),
        ({"a": pd.Series([1.0]), "b": pd.Series([1.0], index=[1])}, "points", "columns with different indexes"),
        ({"a": "one text"}, "points", "'a' holds a single text; expected a column"),
        ((row for row in [[1.0]]), "points", "an object of type generator; expected numbers"),
        (None, "points", "an object of type NoneType; expected numbers"),
        (pd.DataFrame({"a": [1, 2], "b": ["x", "3"]}), "points", "row 1, column 2 ('b'): 'x'; expected a number"),
        ([[1.0, np.inf]], "points", "row 1, column 2: inf"),
        ([[0, 1], [1, 2]], "binary", "row 2, column 2: 2; expected 0 or 1"),
        (np.zeros((0, 2)), "binary", "no items"),
        (["a", None], "tokens", "item 2: no token"),
        (np.zeros((2, 3)), "graph", "expected an adjacency matrix"),
        (["one", ["two"]], "documents", "one or the other"),
        ([[0.5, 1.0]], "documents", "not a whole number"),
        ([["a", 1.0]], "documents", "a word is not a string"),
    ],
)
def test_what_is_wrong_is_said(data: Any, kind: str, said: str) -> None:
    with pytest.raises(DataError) as raised:
        from_object(data, kind)
    assert said in str(raised.value)


def test_a_digest_is_of_values_and_names() -> None:
    one, same = from_object(FRAME, "points"), from_object(FRAME.copy(), "points")
    others = [FRAME.rename(columns={"a": "c"}), FRAME * 2, FRAME.reset_index(drop=True), FRAME.iloc[::-1]]
    assert values.digest_of(one) == values.digest_of(same)
    assert len({values.digest_of(one), *(values.digest_of(from_object(other, "points")) for other in others)}) == 5


def test_data_are_held_as_long_as_somebody_has_them() -> None:
    one = from_object(FRAME + 0.125, "points")
    digest = reading.hold(one)
    assert reading.find_dataset(digest) is one
    del one
    with pytest.raises(DataError, match="not here"):
        reading.find_dataset(digest)


def test_new_tokens_are_those_of_the_data() -> None:
    data = from_object(["a", "b", "a"], "tokens")
    assert data.kind.new_items(data, ["b", "a", "b"]).values.tolist() == [1, 0, 1]
    with pytest.raises(DataError, match="token 'c' is none of the data's 2"):
        data.kind.new_items(data, ["c"])


def test_cells_behind_a_mask_are_missing() -> None:
    masked = np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], mask=[[False, True], [False, False]])
    assert np.isnan(from_object(masked, "points").values).tolist() == [[False, True], [False, False]]


COMPLEX = np.array([[1 + 2j, 0], [0, 1]])


@pytest.mark.parametrize("kind", ["points", "mixed", "binary", "counts", "graph", "documents"])
@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame, scipy.sparse.csr_array])
def test_complex_numbers_are_rejected(kind: str, make: Any) -> None:
    with pytest.raises(DataError, match="complex numbers; expected real ones"):
        from_object(make(COMPLEX), kind)


@pytest.mark.parametrize("kind", ["points", "mixed"])
def test_columns_of_new_items_are_found_by_name_whatever_holds_them(kind: str) -> None:
    """A frame of polars and a mapping have their own order."""
    dataset = from_object(pd.DataFrame({"a": [1.5, 2.5, 3.5, 1.0], "b": [4.5, 5.0, 6.5, 7.5]}), kind)
    stacked = dataset.kind.stack(dataset, dataset.kind.new_items(dataset, [[7.25, 8.0]]))
    assert stacked.values.tolist()[-1] == [7.25, 8.0]
    for wrong, said in [(pd.DataFrame({"a": [1.5]}), "no column 'b'"), ([[1.0]], "1 column; expected 2")]:
        with pytest.raises(DataError, match=said):
            dataset.kind.new_items(dataset, wrong)
    new = {"b": [7.5], "a": [2.25]}
    for table in new, polars.DataFrame(new), polars.DataFrame(new).lazy(), pa.table(new), pd.DataFrame(new):
        assert get_kind(kind).new_items(dataset, table).values.tolist() == [[2.25, 7.5]]
    sparse = get_kind(kind).new_items(dataset, scipy.sparse.csr_array([[2.25, 0.0]]))
    assert isinstance(sparse.values, np.ndarray) and sparse.values.tolist() == [[2.25, 0.0]]
    with pytest.raises(DataError, match="complex numbers"):
        get_kind(kind).new_items(dataset, np.array([[1j, 2.0]]))


WEIGHTS = [-2.0, np.nan, np.inf, -np.inf, 1e31, "x", None]


@pytest.mark.parametrize("weight", WEIGHTS, ids=str)
@pytest.mark.parametrize("form", ["array", "sparse", "frame", "graph", "directed", "several"])
def test_weights_of_edges_are_not_negative(form: str, weight: Any) -> None:
    """The rule of the files: a number, at least 0."""
    numbers = isinstance(weight, float)
    matrix = np.array([[0, 1.5, weight], [1.5, 0, 0], [weight, 0, 0]], dtype=None if numbers else object)
    kinds = {"graph": networkx.Graph, "directed": networkx.DiGraph, "several": networkx.MultiGraph}
    if form in kinds:
        data: Any = kinds[form]([("a", "b", {"weight": 1.5}), ("a", "c", {"weight": weight})])
        place = r"edge \('a', 'c'\), 'weight': "
    elif form == "sparse":
        if not numbers:
            return  # there are none of objects
        data, place = scipy.sparse.csr_array(matrix), "row 1, column 3: "
    else:
        data = pd.DataFrame(matrix) if form == "frame" else matrix
        place = r"row 1, column 3( \('2'\))?: "
    with pytest.raises(DataError, match=rf"^data: {place}.*; expected a number, at least 0 and at most 1e\+30"):
        from_object(data, "graph")


def test_a_weight_of_0_is_no_edge() -> None:
    matrix = np.array([[0, 0.25, 0], [0.25, 0, 0], [0, 0, 0]])
    graph = networkx.Graph([(0, 1, {"weight": 0.25}), (1, 2, {"weight": 0.0})])
    for data in (matrix, scipy.sparse.csr_array(matrix), pd.DataFrame(matrix), graph):
        assert from_object(data, "graph").values.toarray().tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    assert from_object(graph, "graph").notes[-1] == "data: pairs of weight 0: 1; they are no edges"
    # new nodes are read by the same rule
    with pytest.raises(DataError, match=r"^data: row 1, column 2: -1; expected a number, at least 0"):
        get_kind("graph").new_items(from_object(matrix, "graph"), [[1, -1, 0]])
    assert get_kind("graph").new_items(from_object(matrix, "graph"), [[0.5, 0, 2]]).values.tolist() == [[1, 0, 1]]
