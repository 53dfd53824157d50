"""Divide a file of records into blocks that no near pair joins, one file each, for runs of their own.

    python scripts/record_blocks.py FILE BLOCKS FOLDER [KEY=VALUE ...]

writes FOLDER/block-1.csv, ..., with the rows of FILE in their order, and prints the sweep that runs them. KEY=VALUE are
keys of the reader, such as data.drop=[id].
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from splitmerge_cli.config import specify
from splitmerge_cli.core.shared import Prepared
from splitmerge_cli.kinds.records.near_pairs import find_blocks, find_pairs, prepare
from splitmerge_cli.runs.identity import file_digests
from splitmerge_cli.runs.initial import load_dataset


def main(file: str, number: str, folder: str, *keys: str) -> None:
    """Write the blocks."""
    spec = specify(["data=csv", f"data.path={file}", "model=records", *keys])
    dataset = load_dataset(spec.data, spec.model.kind, file_digests(spec.data))
    fields = [(field.type, field.levels) for field in dataset.types or ()]
    options = spec.model.options
    data = Prepared(prepare(dataset.values, fields, options["similarity"], options["strength"]))
    pairs, odds = find_pairs(dataset.values, data, dataset.sources)
    block = find_blocks(pairs, odds, dataset.N, int(number))
    rows = pd.read_csv(file, dtype=str, keep_default_na=False)
    if len(rows) != dataset.N:
        raise SystemExit(f"{file}: {len(rows)} rows, of which {dataset.N} are records; expected all")
    Path(folder).mkdir(parents=True, exist_ok=True)
    paths = [f"{folder}/block-{b + 1}.csv" for b in range(int(number))]
    for b, path in enumerate(paths):
        rows[block == b].to_csv(path, index=False)
    cut = int((block[pairs[:, 0]] != block[pairs[:, 1]]).sum())
    most = f", log odds {odds[block[pairs[:, 0]] != block[pairs[:, 1]]].max():.1f} at most" if cut else ""
    print(f"{dataset.N:,} records in {number} blocks of {np.bincount(block).max():,} at most")
    print(f"{len(pairs):,} near pairs, of which {cut:,} join two blocks{most}; records of two blocks are two entities")
    print(f"smcmc sweep data=csv data.path={','.join(paths)} model=records {' '.join(keys)}".rstrip())


if __name__ == "__main__":
    main(*sys.argv[1:])
