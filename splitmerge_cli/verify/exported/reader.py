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
END = b"\n}\n"


def read_file(name: str) -> str:
    """The text of a file; a ValueError names a file that is not byte for byte what was exported."""
    paths = FOLDER / "manifest.json", FOLDER / name
    manifest, content = (path.read_bytes() if path.is_file() else b"" for path in paths)
    listed, _, seal = manifest.rpartition(b',\n  "sha256": "')  # the digest of all the rest
    if seal != f'{hashlib.sha256(listed + END).hexdigest()}"'.encode() + END:
        raise ValueError("manifest.json: not what was exported; expected a new export")
    if (file := json.loads(listed + END)["files"].get(name)) is None:
        raise ValueError(f"{name}: not in this folder; read_index() lists the posteriors")
    if hashlib.sha256(content).hexdigest() != file["sha256"]:
        raise ValueError(f"{name}: not what was exported; expected a new export")
    return content.decode()


def read_index() -> list[dict[str, Any]]:
    """A line for each posterior: id, kind, model, prior, N."""
    return list(json.loads(read_file("index.json"))["posteriors"])


def read_posterior(id: str) -> dict[str, Any]:
    """A posterior: model, prior, hyperparameters, data (arrays, NaN for missing cells), and its reference: of an
    enumerated one arrays labels (states, N), K and probability, of a certified one (mean, standard error) by name."""
    contents = json.loads(read_file(f"posteriors/{id}.json"))
    contents["data"] = {key: np.array(value, dtype=float if key == "x" else int) if key in ARRAYS else value
                     for key, value in json.loads(read_file(contents["data"]["file"])).items()}  # fmt: skip
    rows = list(csv.DictReader(read_file(contents["reference"]["file"]).splitlines()))
    if contents["kind"] == "certified":
        return contents | {"reference": {r["quantity"]: (float(r["mean"]), float(r["standard_error"])) for r in rows}}
    labels = np.array([[int(label) for label in row["labels"]] for row in rows])
    K, probability = (np.array([float(row[name]) for row in rows]) for name in ("K", "probability"))
    return contents | {"reference": {"labels": labels, "K": K.astype(int), "probability": probability}}


if __name__ == "__main__":
    try:
        for one in map(read_posterior, sys.argv[1:] or [entry["id"] for entry in read_index()]):
            of = one["reference"]
            means = list(of["n_clusters"]) if one["kind"] == "certified" else [of["probability"] @ of["K"]]
            print(f"{one['id']}: {one['model']}, {one['N']} items, E[K] =", " +- ".join(f"{m:.6g}" for m in means))
    except (OSError, ValueError) as error:
        sys.exit(str(error))
