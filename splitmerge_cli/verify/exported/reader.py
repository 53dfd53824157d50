"""Read the posteriors in the folder of this file, with NumPy alone; ``python reader.py [ID]`` prints E[K]."""

import csv
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent
ARRAYS = "x", "adjacency", "edges", "components", "tokens", "documents", "words"


def read_file(name: str, digest: str) -> str:
    """The text of a file; a ValueError where it is not the one with this SHA-256."""
    content = (FOLDER / name).read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        raise ValueError(f"{name}: not what was exported")
    return content.decode()


def read_index() -> list[dict[str, Any]]:
    """A line for each posterior: id, kind, model, prior, N."""
    return list(json.loads((FOLDER / "index.json").read_text())["posteriors"])


def read_posterior(id: str) -> dict[str, Any]:
    """A posterior: model, prior, hyperparameters, data (arrays, NaN for missing cells), and its reference: of an
    enumerated one arrays labels (states, N), K and probability, of a certified one (mean, standard error) by name."""
    found = json.loads((FOLDER / "posteriors" / f"{id}.json").read_text())
    data = json.loads(read_file(found["data"]["file"], found["data"]["sha256"]))
    found["data"] = {key: np.array(value, dtype=float if key == "x" else int) if key in ARRAYS else value
                     for key, value in data.items()}  # fmt: skip
    rows = list(csv.DictReader(read_file(found["reference"]["file"], found["reference"]["sha256"]).splitlines()))
    if found["kind"] == "certified":
        return found | {"reference": {r["quantity"]: (float(r["mean"]), float(r["standard_error"])) for r in rows}}
    labels = np.array([[int(label) for label in row["labels"]] for row in rows])
    K, probability = (np.array([float(row[name]) for row in rows]) for name in ("K", "probability"))
    return found | {"reference": {"labels": labels, "K": K.astype(int), "probability": probability}}


if __name__ == "__main__":
    for id in sys.argv[1:] or [entry["id"] for entry in read_index()]:
        one = read_posterior(id)
        of = one["reference"]
        means = list(of["n_clusters"]) if one["kind"] == "certified" else [of["probability"] @ of["K"]]
        print(f"{id}: {one['model']}, {one['N']} items, E[K] =", " +- ".join(f"{mean:.6g}" for mean in means))
