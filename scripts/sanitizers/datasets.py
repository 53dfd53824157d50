"""Small data sets of each kind: an ordinary one, and the edges."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array

N = 24
"""Items of an ordinary data set: more than two blocks of eight clusters from singletons."""


MIXED_TYPES = ("binary", "categorical", "count", "real")
"""Column types of mixed tables, by turns."""


def _graph(edges: np.ndarray) -> csr_array:
    both = np.triu(np.asarray(edges, dtype=bool), 1)
    return csr_array((both | both.T).astype(np.uint8))


def _corpus(*documents: Sequence[int], V: int) -> Any:
    from splitmerge_cli.kinds.documents.corpus import Corpus, Tokens, starts_of

    words = np.array([word for document in documents for word in document], dtype=np.int32)
    return Corpus(Tokens(words, starts_of(np.array([len(document) for document in documents]))), V)


@cache
def data() -> dict[str, dict[str, Any]]:
    """Values of data sets by kind and name; the first of a kind is the ordinary one. A kind that is not listed here has
    its example."""
    from splitmerge_cli.kinds import kinds

    rng = np.random.default_rng(1)
    binary = (rng.random((N, 6)) < np.where(np.arange(N) % 2, 0.8, 0.2)[:, None]).astype(np.uint8)
    points = rng.normal(size=(N, 2)) + 3.0 * (np.arange(N) % 3)[:, None]
    holes = np.where(rng.random((N, 5)) < 0.4, rng.normal(size=(N, 5)), 0.0)
    holes[3] = 0.0
    at_home = np.arange(N)[:, None] % 2 == np.arange(N) % 2
    types = [MIXED_TYPES[j % 4] for j in range(24)]
    cells = {"binary": 2, "categorical": 4, "count": 7}
    generator = np.random.default_rng(2)
    table = np.column_stack(
        [generator.integers(cells[t], size=N) if t in cells else generator.normal(size=N) for t in types]
    )
    gaps = np.where(generator.random(table.shape) < 0.2, np.nan, table)
    gaps[3] = np.nan
    many = table[:12, :8].copy()
    # past the end of the table of rising factorials
    many[:, 2] = generator.integers(30_000, size=12)
    documents = [rng.integers(4 * (j % 2), 4 * (j % 2) + 4, size=6).tolist() for j in range(4)]
    words = _corpus(*documents, V=8)
    return {name: {"ordinary": kind.example(N)} for name, kind in kinds().items()} | {
        "tokens": {
            "ordinary": rng.integers(5, size=N).astype(np.int32),
            "one_item": np.zeros(1, dtype=np.int32),
            "two_items": np.arange(2, dtype=np.int32),
            "alike": np.zeros(9, dtype=np.int32),
            "distinct": np.arange(9, dtype=np.int32),
        },
        "binary": {
            "ordinary": binary,
            "one_item": binary[:1],
            "two_items": binary[:2],
            "alike": np.ones((9, 3), dtype=np.uint8),
            "one_column": binary[:12, :1],
            "constant_column": np.column_stack([binary[:12], np.zeros(12, dtype=np.uint8)]),
            "many_columns": rng.integers(2, size=(12, 150)).astype(np.uint8),
        },
        "points": {
            "ordinary": points,
            "one_item": points[:1],
            "two_items": points[:2],
            "alike": np.ones((9, 2)),
            "constant_column": points[:12] * [1.0, 0.0],
            "pairs": np.repeat(points[:6], 2, axis=0),
            "far": points[:12] + np.array([1e6, 0.0]),
            "float32": points[:12].astype(np.float32),
            "one_column": points[:12, :1],
            "many_columns": rng.normal(size=(12, 19)),
            "sparse": csr_array(holes),
            "sparse_one_item": csr_array(holes[:1]),
            "sparse_empty": csr_array((7, 3)),
            "sparse_wide": csr_array(np.where(rng.random((9, 400)) < 0.1, 1.0, 0.0)),
        },
        "mixed": {
            "ordinary": gaps[:, :8],
            "complete": table[:12, :8],
            "one_item": table[:1, :4],
            "one_empty_item": gaps[3:4, :4],
            "two_items": gaps[:2, :4],
            "alike": np.ones((9, 4)),
            "one_column": gaps[:12, :1],
            "empty": np.full((9, 4), np.nan),
            "large_counts": many,
            "many_columns": gaps[:12],
        },
        "graph": {
            "ordinary": _graph(rng.random((N, N)) < np.where(at_home, 0.7, 0.1)),
            "one_item": _graph(np.zeros((1, 1))),
            "two_items": _graph(np.ones((2, 2))),
            "two_apart": _graph(np.zeros((2, 2))),
            "complete": _graph(np.ones((9, 9))),
            "empty": _graph(np.zeros((9, 9))),
            "star": _graph(np.arange(9)[:, None] == np.zeros(9)),
            "cliques": _graph(at_home[:12, :12]),
            "bipartite": _graph(~at_home[:12, :12]),
            # past the end of the tables of log factorials
            "large": csr_array(diags_array([np.ones(2899)] * 2, offsets=[-1, 1]), dtype=np.uint8),
        },
        "documents": {
            "ordinary": words,
            "one_item": _corpus([0], V=1),
            "two_items": _corpus([0, 1], V=2),
            "one_word": _corpus([0, 0, 0], [0, 0, 0, 0], V=1),
            "one_token_each": _corpus(*([j % 3] for j in range(9)), V=4),
            "empty_documents": _corpus([], documents[0], [], documents[1], [], V=8),
            "one_document": _corpus([*documents[0], *documents[1]], V=8),
        },
    }


def dataset(kind: str, name: str) -> Any:
    """The Dataset of this name."""
    from splitmerge_cli.data.dataset import ColumnType, Dataset

    values = data()[kind][name]
    if isinstance(values, Dataset):
        return values
    vocabulary = types = None
    if kind == "tokens":
        vocabulary = [str(t) for t in range(int(values.max()) + 1)]
    elif kind == "documents":
        vocabulary = [str(t) for t in range(values.V)]
    elif kind == "mixed":
        levels = {"binary": ("no", "yes"), "categorical": tuple("abcd")}
        kinds = [MIXED_TYPES[j % 4] for j in range(values.shape[1])]
        types = tuple(ColumnType(kind_of_column, levels.get(kind_of_column, ())) for kind_of_column in kinds)
    return Dataset(name, kind, values, vocabulary=vocabulary, types=types)
