"""Files drawn for every reader: valid ones with what must be read of them, and damaged ones."""

import csv
import gzip
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import networkx
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import scipy.sparse
from hypothesis import strategies as st


@dataclass(frozen=True)
class Case:
    """Files, who reads them and how; `expected` is what must be read, None where it may be rejected."""

    reader: str
    options: dict[str, Any]
    files: dict[str, bytes]
    expected: Any


CELLS = [
    *("", " ", "nan", "NaN", "inf", "-inf", "1e31", "1e400", "-1e30", "1,5", "1,234.5", "1_0", "0x1", "١", "½", "１"),
    *("1e-400", "true", "None", "NULL", "#", "%", '"', '""', "'", '"a', "a b", "\t", ";", "0", "1", "2", "-1", "1.0"),
    *("99999999999999999999", "2147483648", "-0", "+1", "1:2", "1:", ":1", "0:0", "x:1", "a\u2028b", "é"),
    *("\ufeff", "\x00", "9" * 400, "x" * 3000, "=1+1", "1 2", "1.2.3", "1e", "e1", ".", "-", "𝟏", "\u200b", "\x1a"),
    *("\x0c", "\x85"),
]
WORD = st.text(
    st.characters(codec="utf-8", categories=["L", "N"], include_characters="_ .,'\""), min_size=1, max_size=6
)
WORDS = WORD.map(str.strip).filter(lambda word: word and word.lower() not in ("nan", "") and not word[0].isspace())
NUMBERS = st.floats(-1e30, 1e30, allow_nan=False) | st.integers(-(10**6), 10**6).map(float)


def _grid(rows: list[list[Any]], delimiter: str, draw: Any) -> bytes:
    """A table as text, in one of the ways in which it may be written."""
    out = io.StringIO()
    quoting = draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator=end).writerows(rows)
    text = out.getvalue()
    if draw(st.booleans()):
        text = text.removesuffix(end)
    bom = draw(st.sampled_from(["", "\ufeff"]))
    return (bom + text).encode()


def _pack(name: str, data: bytes, draw: Any) -> tuple[str, bytes]:
    """A file of text, perhaps gzipped."""
    return (f"{name}.gz", gzip.compress(data, mtime=0)) if draw(st.integers(0, 3)) == 0 else (name, data)


def _parquet(frame: pd.DataFrame | pa.Table, draw: Any) -> bytes:
    out = io.BytesIO()
    table = frame if isinstance(frame, pa.Table) else pa.Table.from_pandas(frame, preserve_index=False)
    pq.write_table(table, out, compression=draw(st.sampled_from(["snappy", "zstd", "none", "gzip"])), row_group_size=3)
    return out.getvalue()


def _feather(frame: pd.DataFrame, draw: Any) -> bytes:
    out = io.BytesIO()
    pyarrow.feather.write_feather(frame, out, compression=draw(st.sampled_from(["zstd", "lz4", "uncompressed"])))
    return out.getvalue()


def _npy_bytes(array: Any) -> bytes:
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return out.getvalue()


def _sparse(matrix: Any) -> bytes:
    out = io.BytesIO()
    scipy.sparse.save_npz(out, matrix)
    return out.getvalue()


def _first(labels: list[str]) -> list[int]:
    """Numbers of labels by first appearance."""
    known: dict[str, int] = {}
    return [known.setdefault(label, len(known)) for label in labels]


@st.composite
def table(draw: Any) -> Case:
    """A table of tokens, of 0 and 1, or of points."""
    kind = draw(st.sampled_from(["tokens", "binary", "points"]))
    N, D = draw(st.integers(1, 6)), 1 if kind == "tokens" else draw(st.integers(1, 3))
    cell = {"tokens": WORDS, "binary": st.integers(0, 1), "points": NUMBERS}[kind]
    rows = [[draw(cell) for _ in range(D)] for _ in range(N)]
    labels = [draw(WORDS) for _ in range(N)] if draw(st.booleans()) else None
    expected: Any = [row[0] for row in rows] if kind == "tokens" else rows
    names = [f"c{d}" for d in range(D)]
    options: dict[str, Any] = {"kind": kind}
    if labels:
        options["truth"] = draw(st.sampled_from(["lab", D + 1, -1]))
        names.append("lab")
        rows = [[*row, label] for row, label in zip(rows, labels, strict=True)]
    # an array has no labels beside numbers
    arrays = [] if labels else ["npy", *["npz"] * (kind == "points")]
    how = draw(st.sampled_from(["csv", "tsv", "txt", "parquet", "feather", *arrays]))
    if how in ("csv", "tsv", "txt"):
        header = draw(st.booleans()) or options.get("truth") == "lab"
        options["header"] = header
        texts = [[repr(cell) if isinstance(cell, float) else str(cell) for cell in row] for row in rows]
        data = _grid([names] * header + texts, "," if how == "csv" else "\t", draw)
        name, data = _pack(f"t.{how}", data, draw)
    elif how == "parquet":
        name, data = "t.parquet", _parquet(pd.DataFrame(rows, columns=names), draw)
    elif how == "feather":
        name, data = "t.feather", _feather(pd.DataFrame(rows, columns=names), draw)
    elif how == "npy":
        name, data = "t.npy", _npy_bytes(np.array(rows if D > 1 or draw(st.booleans()) else [row[0] for row in rows]))
    else:
        name, data = "t.npz", _sparse(scipy.sparse.csr_array(np.array(rows)))
        expected = np.array(rows).tolist()
    return Case("csv", options | {"path": name}, {name: data}, (expected, None if labels is None else _first(labels)))


@st.composite
def odd_table(draw: Any) -> Case:
    """A table of other types than those that are read: any result is right, but an error needs its message."""
    kind = draw(st.sampled_from(["tokens", "binary", "points"]))
    how = draw(st.sampled_from(["parquet", "npy", "npz"]))
    dtype = draw(st.sampled_from(DTYPES))
    shape = draw(st.sampled_from([(3,), (3, 2), (0,), (0, 2), (2, 0), (), (1, 2, 2), (3, 1)]))
    if how == "npy":
        array = np.zeros(shape, dtype=dtype)
        if dtype in ("U3", "S3") and draw(st.booleans()):
            texts = ["ab", "é", "", "nan"] if dtype == "U3" else [b"ab", b"\xff"]
            array[...] = draw(st.sampled_from(texts))
        if draw(st.booleans()):
            array = np.asfortranarray(array)
        data = _npy_bytes(array)
    elif how == "npz":
        numeric = dtype if dtype in ("?", "i1", "u8", "f4", "c8") else "f8"
        matrix = scipy.sparse.coo_array(np.arange(6).reshape(3, 2).astype(numeric))
        form = draw(st.sampled_from(["csr", "csc", "coo", "bsr", "dia", "matrix"]))
        matrix = scipy.sparse.csr_matrix(matrix) if form == "matrix" else matrix.asformat(form)
        parts = dict(np.load(io.BytesIO(_sparse(matrix)), allow_pickle=False))
        if parts and draw(st.booleans()):
            part = draw(st.sampled_from(sorted(parts)))
            wrong = [-1, [5, 5], [2**62], "x", [np.nan], [[1, 2]], None]
            value = draw(st.sampled_from([None if value is None else np.array(value) for value in wrong]))
            parts = {key: old for key, old in parts.items() if key != part} | ({} if value is None else {part: value})
        out = io.BytesIO()
        np.savez(out, **parts)
        data = out.getvalue()
    else:
        columns = {f"c{d}": draw(st.sampled_from(COLUMNS)) for d in range(draw(st.integers(0, 3)))}
        names = [draw(st.sampled_from([name, "", "c0", "é"])) for name in columns]
        data = _parquet(pa.Table.from_arrays(list(columns.values()), names), draw)
    options = {"kind": kind, "path": f"t.{how}"}
    if draw(st.booleans()):
        column = draw(st.sampled_from([1, -1, 0, 9, "c0", "", "é", [1], ["c1"], []]))
        options[draw(st.sampled_from(["truth", "columns", "drop"]))] = column
    return Case("csv", options, {f"t.{how}": data}, None)


DTYPES = ["?", "i1", "u8", ">i4", "f2", ">f8", "f4", "g", "c8", "M8[s]", "m8[s]", "U3", "S3", "V4", "i4,f8"]
COLUMNS = [
    pa.array([1, None, 3]),
    pa.array([None, None, None]),
    pa.array([True, False, None]),
    pa.array([1.5, float("nan"), float("inf")]),
    pa.array(["a", None, ""]),
    pa.array([b"a", b"\xff", b""]),
    pa.array([[1], [], None]),
    pa.array([{"a": 1}, {"a": 2}, None]),
    pa.array([0, 1, 2], pa.timestamp("us")),
    pa.array([0, 1, 2], pa.date32()),
    pa.array([0, 1, 2], pa.duration("s")),
    pa.array([1, 2, 3], pa.decimal128(5, 2)),
    pa.array([2**63, 0, 1], pa.uint64()),
    pa.array(["a", "b", "a"]).dictionary_encode(),
    pa.array(["a", "b", None], pa.large_string()),
    pa.array(np.array([0, 1, 1], dtype=np.float16)),
    pa.array([0, 1, 0], pa.int8()),
]


@st.composite
def network(draw: Any) -> Case:
    """A list of edges, or a graph."""
    nodes = draw(st.lists(WORDS.filter(lambda word: word[0] not in "#%"), min_size=2, max_size=6, unique=True))
    if draw(st.booleans()):
        nodes = [str(i) for i in range(len(nodes))]
    ends = st.sampled_from(nodes)
    ties = draw(st.lists(st.tuples(ends, ends).filter(lambda tie: tie[0] != tie[1]), min_size=1, max_size=8))
    weighted = draw(st.booleans())
    expected = sorted([list(tie) for tie in {tuple(sorted(tie)) for tie in ties}])
    how = draw(st.sampled_from(["csv", "tsv", "txt", "parquet", "gml", "graphml"]))
    options: dict[str, Any] = {}
    files: dict[str, bytes] = {}
    if how in ("gml", "graphml"):
        graph = networkx.Graph()
        graph.add_nodes_from(nodes)
        graph.add_edges_from(ties)
        out = io.BytesIO()
        (networkx.write_gml if how == "gml" else networkx.write_graphml)(graph, out)
        name, data = f"e.{how}", out.getvalue()
    else:
        head = [["source", "target", *["weight"] * weighted]]
        rows = [[*tie, *[str(draw(st.integers(1, 9)))] * weighted] for tie in ties]
        if how == "parquet":
            name, data = "e.parquet", _parquet(pd.DataFrame(rows, columns=head[0]), draw)
            if weighted:
                frame = pd.DataFrame(rows, columns=head[0]).astype({"weight": float})
                data = _parquet(frame, draw)
        else:
            delimiter = {"csv": ",", "tsv": "\t", "txt": draw(st.sampled_from([",", "\t", ";"]))}[how]
            separator = {",": "comma", "\t": "tab", ";": "semicolon"}[delimiter]
            options = {"header": True, "separator": separator}
            data = _grid([*head, *rows], delimiter, draw)
            name, data = _pack(f"e.{how}", data, draw)
        if draw(st.booleans()):
            files["nodes.csv"] = _grid([["id", "u"], *([node, "v"] for node in nodes)], ",", draw)
            options["nodes"] = "nodes.csv"
            if draw(st.booleans()):
                options["truth"] = "u"
    truth = [0] * len(nodes) if "truth" in options else None
    return Case("edges", options | {"path": name}, {name: data, **files}, (expected, truth))


@st.composite
def documents(draw: Any) -> Case:
    """Documents in one of the formats."""
    words = draw(st.lists(WORDS, min_size=2, max_size=5, unique=True))
    J = draw(st.integers(1, 4))
    counts = np.array([[draw(st.integers(0, 2)) for _ in words] for _ in range(J)])
    counts[0, 0] = 1
    how = draw(st.sampled_from(["tokens", "parquet", "npz", "ldac", "uci", "text", "folder"]))
    # a drawn word may be a stop word of English: A, else, we
    options: dict[str, Any] = {"stop_words": "none"}
    files: dict[str, bytes] = {}
    expected = [sorted(np.repeat(words, row).tolist()) for row in counts]
    if how in ("npz", "ldac", "uci"):
        files["vocabulary.txt"] = "\n".join(words).encode()
        options["vocabulary"] = "vocabulary.txt"
    if how in ("tokens", "parquet"):
        rows = [[f"d{i}", words[j], int(counts[i, j])] for i, j in zip(*counts.nonzero(), strict=True)]
        expected = [document for document in expected if document]
        if how == "parquet":
            name, data = "d.parquet", _parquet(pd.DataFrame(rows, columns=["doc", "word", "count"]), draw)
        else:
            options["header"] = True
            end = draw(st.sampled_from(",;\t|"))
            name, data = _pack("d.csv", _grid([["doc", "word", "count"], *rows], end, draw), draw)
    elif how == "npz":
        name, data = "d.npz", _sparse(scipy.sparse.csr_array(counts))
    elif how == "ldac":
        pairs = [[f"{j}:{n}" for j, n in enumerate(row) if n] for row in counts]
        name, data = _pack("d.ldac", "\n".join(" ".join([str(len(row)), *row]) for row in pairs).encode(), draw)
    elif how == "uci":
        entries = [f"{i + 1} {j + 1} {counts[i, j]}" for i, j in zip(*counts.nonzero(), strict=True)]
        name, data = _pack("d.txt", "\n".join([str(J), str(len(words)), str(len(entries)), *entries]).encode(), draw)
        options["format"] = "uci"
    else:
        plain = [f"w{chr(97 + j)}" for j in range(len(words))]
        expected = [sorted(np.repeat(plain, row).tolist()) for row in counts]
        texts = [" ".join(np.repeat(plain, row)) for row in counts]
        options["format"] = "text"
        if how == "folder":
            files |= {f"{i}.txt": text.encode() for i, text in enumerate(texts)}
            return Case("corpus", options | {"path": "."}, files, (expected, None))
        texts = [text for text in texts if text]
        expected = [document for document in expected if document]
        name, data = _pack("d.txt", "\n".join(texts).encode(), draw)
    return Case("corpus", options | {"path": name}, {name: data, **files}, (expected, None))


@st.composite
def labels(draw: Any) -> Case:
    """A file with one label a row."""
    words = draw(st.lists(WORDS, min_size=1, max_size=6))
    text = draw(st.sampled_from(["\n", "\r\n"])).join(words)
    data = draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + text.encode() + draw(st.sampled_from([b"", b"\n"]))
    return Case("init", {"path": "labels.txt"}, {"labels.txt": data}, np.unique(words, return_inverse=True)[1].tolist())


def copies(published: dict[str, dict[str, bytes]]) -> st.SearchStrategy[Case]:
    """The small copies of published sets."""
    return st.sampled_from(sorted(published)).map(lambda name: Case(name, {}, published[name], None))


def _text_of(name: str, data: bytes) -> tuple[str, bool] | None:
    try:
        packed = name.endswith(".gz")
        return (gzip.decompress(data) if packed else data).decode(), packed
    except (OSError, UnicodeDecodeError, EOFError):
        return None


def _in_cells(draw: Any, text: str) -> str:
    """Text with a row or a cell of it changed."""
    lines = text.split("\n")
    i = draw(st.integers(0, len(lines) - 1))
    mark = next((mark for mark in ("\t", ",", ";", " ", ":") if mark in lines[i]), ",")
    cells = lines[i].split(mark)
    j = draw(st.integers(0, len(cells) - 1))
    how = draw(st.sampled_from(["cell", "cell", "cell", "cut", "more", "twice", "gone", "row", "top", "swap"]))
    if how == "cell":
        cells[j] = draw(st.sampled_from(CELLS))
    elif how == "cut":
        del cells[j]
    elif how == "more":
        cells.insert(j, draw(st.sampled_from(CELLS)))
    lines[i] = mark.join(cells)
    if how in ("twice", "row", "top"):
        lines.insert(0 if how == "top" else i, lines[i] if how == "twice" else draw(st.sampled_from(CELLS)))
    elif how == "gone":
        del lines[i]
    elif how == "swap":
        lines[0], lines[i] = lines[i], lines[0]
    return "\n".join(lines)


def _recode(draw: Any, text: str) -> bytes:
    how = draw(st.sampled_from(["latin-1", "utf-16", "utf-32", "utf-8-sig", "cp037", "crlf", "cr", "mixed", "lines"]))
    if how == "crlf":
        return text.replace("\n", "\r\n").encode()
    if how == "cr":
        return text.replace("\n", "\r").encode()
    if how == "mixed":
        return text.encode() + "é".encode("latin-1")
    if how == "lines":
        return (text + draw(st.sampled_from(["\n\n", "\n \n", "\r", "\x00", "\n#", "\x1a", '"']))).encode()
    return text.encode(how, "replace")


def _in_bytes(draw: Any, data: bytes, other: bytes) -> bytes:
    """Data with some bytes changed."""
    content = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(0, len(content) - 1)))
        how = draw(st.sampled_from(["flip", "flip", "set", "cut", "insert", "remove", "double", "other"]))
        if how == "flip" and content:
            content[at] ^= 1 << draw(st.integers(0, 7))
        elif how == "set" and content:
            content[at] = draw(st.sampled_from([0, 255, 34, 10, 44, 128]))
        elif how == "cut":
            del content[at:]
        elif how == "insert":
            content[at:at] = draw(st.binary(max_size=8))
        elif how == "remove":
            del content[at : at + draw(st.integers(1, 8))]
        elif how == "double":
            content += content[at:]
        elif how == "other":
            content += other[: draw(st.integers(0, 40))]
    return bytes(content)


ODD_OPTIONS: dict[str, dict[str, list[Any]]] = {
    "csv": {
        "truth": ["lab", 1, -1, 9, 0, "nope"],
        "columns": [[1], ["c0", 1], [1, 1], [], 2, [True], [1.5]],
        "drop": [[1], ["c0"], [], -1, ["zz"]],
    },
    "edges": {
        **{"weights": [None, 3], "comments": [False], "base": [0, 1], "nodes": [3, 9], "scale": [0.5]},
        **{"directed": [True], "values": ["count", "real", "levels", "binary"], "loops": [True], "layer": [1, 3, "u"]},
        **{"bipartite": [True, "u"], "columns": [["u"], [1]], "matrix": [True], "unknown": ["e.csv", "nodes.csv"]},
    },
    "corpus": {
        "columns": [[1], [1, 2], ["word"], []],
        "heldout": [0.5],
        "min_documents": [2],
        "format": ["text"],
        "stop_words": ["auto"],
    },
}


@st.composite
def cases(draw: Any, published: dict[str, dict[str, bytes]]) -> Case:
    """A valid case as it is, or one of its files damaged."""
    makers: list[Callable[[], Any]] = [table, network, documents, labels, lambda: copies(published)]
    case = draw(st.one_of([make() for make in makers]))
    if draw(st.integers(0, 11)) == 0:
        return draw(odd_table())
    if draw(st.integers(0, 9)) < 4 or not case.files:
        return case
    name = draw(st.sampled_from(sorted(case.files)))
    data = case.files[name]
    text = _text_of(name, data)
    for _ in range(draw(st.sampled_from([1, 1, 2, 3]))):
        how = draw(st.sampled_from(["cells", "cells", "coding", "bytes"])) if text else "bytes"
        if how == "bytes":
            data, text = _in_bytes(draw, data, next(iter(case.files.values()))), None
            break
        assert text is not None
        changed = _in_cells(draw, text[0]).encode() if how == "cells" else _recode(draw, text[0])
        data = gzip.compress(changed, mtime=0) if text[1] else changed
        text = _text_of(name, data)
    options = dict(case.options)
    if case.reader == "csv" and draw(st.booleans()):
        options["header"] = draw(st.sampled_from(["auto", True, False]))
    if case.reader in ("edges", "corpus") and draw(st.integers(0, 2)) == 0:
        options.pop("header", None)
        options.pop("separator", None)
    if case.reader in ODD_OPTIONS and draw(st.integers(0, 2)) == 0:
        key = draw(st.sampled_from(sorted(ODD_OPTIONS[case.reader])))
        options[key] = draw(st.sampled_from(ODD_OPTIONS[case.reader][key]))
    if case.reader in ("csv", "corpus", "edges") and draw(st.integers(0, 5)) == 0:
        options["N"] = draw(st.sampled_from([1, 2, 3, 100]))
    return Case(case.reader, options, case.files | {name: data}, None)
