"""Small files of the user's own in the formats that are read, but spreadsheets and Feather, and small copies of the
published sets.
"""

import gzip
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import networkx
import numpy as np
import pandas as pd
from scipy.io import mmwrite
from scipy.sparse import coo_array, csr_array, save_npz

from splitmerge_cli.data import downloads
from splitmerge_cli.kinds.tables import generated

N = 20
WORDS = ["heart", "lung", "The", "flow", "vein", "blood"]


def all_files(folder: Path) -> dict[str, tuple[str, ...]]:
    """Write the user's own files and the copies; what reads each of the files, by a name of it."""
    _copies(folder / "published")
    return own(folder)


def own(folder: Path) -> dict[str, tuple[str, ...]]:
    """Write one file in each of these formats."""
    rng = np.random.default_rng(1)
    points = pd.DataFrame(rng.normal(size=(N, 2)).round(3), columns=["x", "y"]).assign(site=_cycle("abc"))
    binary = pd.DataFrame(rng.integers(2, size=(N, 4)), columns=list("pqrs")).assign(site=_cycle("abc"))
    tokens = pd.DataFrame({"token": rng.choice(WORDS, size=N), "site": _cycle("ab")})
    pairs = {(min(a, b), max(a, b)) for a, b in rng.integers(N, size=(60, 2)).tolist() if a != b}
    edges = pd.DataFrame(sorted(pairs), columns=["source", "target"]).assign(weight=1.5)
    counts = csr_array(rng.poisson(0.7, size=(8, len(WORDS))).astype(np.int32))
    long = [(f"d{i}", WORDS[j], int(counts[i, j])) for i, j in zip(*counts.nonzero(), strict=True)]
    table = pd.DataFrame(long, columns=["doc", "word", "count"])
    texts = "\n".join(" ".join(rng.choice(WORDS, size=6)) for _ in range(8))
    found: dict[str, tuple[str, ...]] = {}

    def put(name: str, write: Callable[[Path], object], *overrides: str) -> None:
        write(folder / name)
        found[name] = (*overrides, f"data.path={name}")

    for kind, model, frame in [
        ("points", "gaussian", points),
        ("binary", "bernoulli", binary),
        ("tokens", "emm", tokens),
    ]:
        csv = ("data=csv", f"model={model}", "data.truth=site")
        put(f"{kind}.csv", lambda path, frame=frame: frame.to_csv(path, index=False), *csv)
        put(f"{kind}.tsv.gz", lambda path, frame=frame: frame.to_csv(path, index=False, sep="\t"), *csv)
        put(f"{kind}.parquet", lambda path, frame=frame: frame.to_parquet(path), *csv)
    put(
        "lines.txt",
        lambda path: points.to_csv(path, index=False, sep="\t"),
        "data=csv",
        "model=lines",
        "data.drop=[site]",
    )
    xy = points[["x", "y"]].to_numpy()
    put("points.npy", lambda path: np.save(path, xy.astype(np.float32)), "data=csv", "model=gaussian")
    put("words.npz", lambda path: save_npz(path, csr_array(xy * (xy > 0))), "data=csv", "model=gaussian")
    put("edges.csv", lambda path: edges.to_csv(path, index=False), "data=edges")
    put("edges.parquet", lambda path: edges.to_parquet(path), "data=edges")
    lists = "\n".join(f"{a} {b}" for a, b, _ in edges.itertuples(index=False))
    put("edges.txt.gz", lambda path: path.write_bytes(gzip.compress(lists.encode())), "data=edges")
    nodes = "id,region\n" + "\n".join(f"{i},{'uvw'[i % 3]}" for i in range(N))
    (folder / "nodes.csv").write_text(nodes)
    put(
        "tied.csv",
        lambda path: edges.to_csv(path, index=False),
        "data=edges",
        "data.nodes=nodes.csv",
        "data.truth=region",
    )
    put("graph.gml", lambda path: _graph(path, edges), "data=edges")
    put("graph.graphml", lambda path: _graph(path, edges), "data=edges")
    counted = ("data=edges", "data.directed=true", "data.values=count")
    arcs = "\n".join(f"{a + 1} {b + 1} 2" for a, b, _ in edges.itertuples(index=False))
    put("graph.net", lambda path: path.write_text(f"*Vertices {N}\n*Arcs\n{arcs}\n"), *counted)
    drawn = "\n".join(f'  {a} -> "{b}" [weight=3];' for a, b, _ in edges.itertuples(index=False))
    put("graph.gv", lambda path: path.write_text(f"digraph {{\n{drawn}\n}}\n"), *counted)
    linked = {
        "nodes": [{"id": i} for i in range(N)],
        "links": [{"source": a, "target": b, "weight": w} for a, b, w in edges.itertuples(index=False)],
    }
    put("graph.json", lambda path: path.write_text(json.dumps(linked)), "data=edges")
    ties = coo_array((np.ones(len(edges)), (edges["source"], edges["target"])), shape=(N, N))
    put("ties.mtx", lambda path: mmwrite(path, ties), "data=edges", "data.directed=true")
    named = pd.DataFrame(ties.toarray(), index=range(N), columns=range(N)).map("{:g}".format)
    put("ties.csv", lambda path: named.to_csv(path), "data=edges", "data.values=real")
    put("documents.csv", lambda path: table.to_csv(path, index=False), "data=corpus")
    put("documents.parquet", lambda path: table.to_parquet(path), "data=corpus")
    (folder / "vocabulary.txt").write_text("\n".join(WORDS))
    vocabulary = "data.vocabulary=vocabulary.txt"
    put("documents.npz", lambda path: save_npz(path, counts), "data=corpus", vocabulary)
    put("documents.ldac", lambda path: path.write_text(ldac(counts)), "data=corpus", vocabulary)
    put("docword.txt", lambda path: path.write_text(uci(counts)), "data=corpus")
    put("texts.txt", lambda path: path.write_text(texts), "data=corpus", "data.format=text")

    def in_folders(path: Path) -> None:
        for k, text in enumerate(texts.splitlines()):
            (path / "uv"[k % 2]).mkdir(parents=True, exist_ok=True)
            (path / "uv"[k % 2] / f"{k}.txt").write_text(text)

    put("texts", in_folders, "data=corpus")
    (folder / "labels.txt").write_text("\n".join("uvw"[i % 3] for i in range(N)))
    return found


def ldac(counts: csr_array) -> str:
    """Counts as LDA-C has them."""
    rows = [dict(zip(row.indices.tolist(), row.data.tolist(), strict=True)) for row in counts]
    return "\n".join(" ".join([str(len(row)), *(f"{j}:{n}" for j, n in row.items())]) for row in rows) + "\n"


def uci(counts: csr_array) -> str:
    """Counts as UCI's bags of words have them."""
    entries = [f"{i + 1} {j + 1} {counts[i, j]}" for i, j in zip(*counts.nonzero(), strict=True)]
    return "\n".join([*map(str, counts.shape), str(len(entries)), *entries]) + "\n"


def _graph(path: Path, edges: pd.DataFrame) -> None:
    graph = networkx.from_pandas_edgelist(edges, edge_attr="weight")
    (networkx.write_gml if path.suffix == ".gml" else networkx.write_graphml)(networkx.relabel_nodes(graph, str), path)


def _copies(folder: Path) -> None:
    """Put a small set in the place of every published one whose files are of known names."""
    os.environ[downloads.VARIABLE] = str(folder.resolve())
    generated.ROWS = N
    rng = np.random.default_rng(2)
    counts = csr_array(rng.poisson(0.7, size=(N, len(WORDS))).astype(np.int32))
    names = ["doc,name,ohsumed_file,label,group,category", *(f"{i},f{i},f{i},{'AB'[i % 2]},B,B" for i in range(N))]
    points = [
        "dataset,x,y,cluster",
        *(f"0,{x:.3f},{y:.3f},{k % 3}" for k, (x, y) in enumerate(rng.normal(size=(N, 2)))),
    ]
    ties = ["source,target,weight", *(f"{i},{(i + d) % N},1.5" for i in range(N) for d in (1, 3))]
    nodes = ["id,name,region", *(f"{i},n{i},r{i % 4}" for i in range(N))]
    proteins = [" ".join(f"{x:.2f}" for x in row) for row in rng.normal(size=(N, generated.FEATURES))]
    texts = {
        "points.csv.gz": "\n".join(points),
        "edges.csv.gz": "\n".join(ties),
        "nodes.csv.gz": "\n".join(nodes),
        "docs.csv.gz": "\n".join(names),
        "KDDCUP04Bio.txt": "\n".join(proteins),
        "docword.pubmed.txt.gz": uci(counts),
    }
    for name, of in list(downloads.SETS.items()):
        place = downloads.place(name)
        place.mkdir(parents=True, exist_ok=True)
        files = []
        for file in of.files:
            path = place / file.name
            if file.name == "counts.npz":
                save_npz(path, counts)
            elif text := texts.get(file.name) or ("\n".join(WORDS) if file.name.startswith("vocab") else ""):
                path.write_bytes(gzip.compress(text.encode(), mtime=0) if path.suffix == ".gz" else text.encode())
            else:
                break  # a new one: absent, and rejected as such
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            files.append(downloads.File(file.name, None, digest if file.sha256 else None))
        else:
            downloads.SETS[name] = downloads.Published(**vars(of) | {"files": tuple(files)})


def _cycle(words: str) -> list[str]:
    """The letters in turn, one for each item."""
    return [words[i % len(words)] for i in range(N)]
