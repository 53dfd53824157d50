"""Small copies of the published sets."""

import gzip
import hashlib
import os
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array, save_npz

from splitmerge_cli.data import downloads
from splitmerge_cli.kinds.tables import generated

N = 20
WORDS = ["heart", "lung", "The", "flow", "vein", "blood"]


def uci(counts: csr_array) -> str:
    """Counts as UCI's bags of words have them."""
    entries = [f"{i + 1} {j + 1} {counts[i, j]}" for i, j in zip(*counts.nonzero(), strict=True)]
    return "\n".join([*map(str, counts.shape), str(len(entries)), *entries]) + "\n"


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
