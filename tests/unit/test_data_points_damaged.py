"""Tables of numbers that were damaged: rejected in one line, or read whole."""

import gzip
import io
import random
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csr_array

from splitmerge_cli.data.base import DataError
from splitmerge_cli.data.tables import files

FUZZED = 600
"""Damaged files that are tried."""


CELLS = ["x", "nan", "NaN", "inf", "-inf", "1e999", "-1e31", "1e30", "1,5", "1.000,5", '"1"', '"', '""', "1_0"]
CELLS += ["0x1", "1e", "--1", "NA", "null", "1;2", "True", "2020-01-01", "", " 1 ", "\ufeff1", '"1\n2"', "\x00"]
CELLS += ["\u0661", "\t", "1 2", "\r", "\n", "\u2028", "1" * 400, "0." + "0" * 400]
ARRAYS = ["f8", "i8", "f2", "u8", "?", "c16", "U3", "S3", "M8[s]", "g", ">f8", "V3", [("a", "f8"), ("b", "i8")], "O"]
SHAPES = [(3, 2), (3,), (), (0, 2), (3, 0), (2, 2, 2), (1, 1)]
COLUMNS = [[1.0, 2.0], [1, None], [True, None], ["a", "b"], [b"a", b"b"], [[1], [2]], [{"a": 1}, None], [None, None]]


def damaged_text(rng: random.Random, delimiter: str) -> bytes:
    width = rng.randint(1, 3)
    rows = [
        [f"{rng.gauss(0, 10.0 ** rng.randint(-12, 12)):.6g}" for _ in range(width)] for _ in range(rng.randint(1, 7))
    ]
    if rng.random() < 0.5:
        rows.insert(0, ["x", "y", "who"][:width])
    for _ in range(rng.randint(0, 3)):
        row, what = rng.choice(rows), rng.random()
        if what < 0.7 and row:
            row[rng.randrange(len(row))] = rng.choice(CELLS)
        elif what < 0.8:
            row.append("1")
        elif row:
            row.pop()
    end = rng.choice(["\n", "\r\n", "\r"])
    return (end.join(delimiter.join(row) for row in rows) + rng.choice(["", end])).encode()


def damaged_array(rng: random.Random) -> bytes:
    file = io.BytesIO()
    np.save(file, np.zeros(rng.choice(SHAPES), dtype=rng.choice(ARRAYS)), allow_pickle=True)
    return file.getvalue()


def damaged_sparse(rng: random.Random) -> bytes:
    file = io.BytesIO()
    arrays: dict[str, object] = {"format": "csr", "shape": [2, 2], "data": [1.0, 2.0], "indices": [0, 1]}
    arrays |= {"indptr": [0, 1, 2]}
    for _ in range(rng.randint(0, 2)):
        name = rng.choice(["shape", "data", "indices", "indptr"])
        values = list(arrays[name])  # type: ignore[call-overload]
        values[rng.randrange(len(values))] = rng.choice([-1, 0, 1, 2, 3, 2**31, 2**62, -(2**40), 0.5])
        arrays[name] = rng.choice([values, values[1:], [*values, 1], np.array(values, dtype="f4")])
    arrays["format"] = rng.choice(["csr", "csr", "csc", "coo", "bsr", "dia"])
    np.savez(file, **{name: np.array(array) for name, array in arrays.items()})  # type: ignore[arg-type]
    return file.getvalue()


def damaged_parquet(rng: random.Random) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table({"x": [1.0, 2.0], "y": rng.choice(COLUMNS)}), file)
    return file.getvalue()


def with_bytes_changed(rng: random.Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(changed)) if changed else 0
        what = rng.random()
        if what < 0.6 and changed:
            changed[place] = rng.randrange(256)
        elif what < 0.8:
            del changed[place:]
        else:
            changed[place:place] = rng.randbytes(rng.randint(1, 5))
    return bytes(changed)


def options(rng: random.Random) -> dict[str, object]:
    offered = {
        "truth": ["who", 1, -1, 9, 0, "nope"],
        "columns": [[1], ["x", "y"], ["x", 1], [1, 1], [], "y", 2, [True], [1.5]],
        "drop": [[1], ["x"], [], -1, ["zz"]],
        "header": [True, False],
        "N": [1, 2, 100],
    }
    return {key: rng.choice(values) for key, values in offered.items() if rng.random() < 0.15}


@pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.gz", "npy", "npz", "parquet"])
def test_damaged_files_are_refused_or_read_whole(tmp_path: Path, suffix: str) -> None:
    rng = random.Random(suffix)
    path = tmp_path / f"x.{suffix}"
    rejected = 0
    for _ in range(FUZZED // 5):
        if suffix == "npy":
            content = damaged_array(rng)
        elif suffix == "npz":
            content = damaged_sparse(rng)
        elif suffix == "parquet":
            content = damaged_parquet(rng)
        else:
            content = damaged_text(rng, "\t" if suffix == "tsv" else ",")
            content = gzip.compress(content, mtime=0) if suffix.endswith("gz") else content
        path.write_bytes(with_bytes_changed(rng, content) if rng.random() < 0.4 else content)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                data = files.csv(path, rng.choice(["points", "points", "binary", "tokens"]), **options(rng))
        except DataError as error:
            rejected += 1
            assert "\n" not in str(error)
        else:
            numbers = data.values.data if isinstance(data.values, csr_array) else data.values
            assert data.N >= 1 and (np.isfinite(numbers) | np.isnan(numbers)).all()
    assert 0 < rejected < FUZZED // 5
