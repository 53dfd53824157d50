"""Large networks: seconds and memory of reading a file of edges, and of the relational model on it.

Every size is a process of its own. Nodes have ten edges on the average, four of five within one of K blocks. Memory is
what the process has beyond its modules: `held` at the end, `peak` at any time, which is while it reads. Bytes an edge
are what `held` has grown from the smallest network.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from bench.memory import megabytes
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.kinds.networks.irm import IRM
from splitmerge_cli.kinds.networks.readers.edges import edges
from splitmerge_cli.runs.initial import give_back
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.split_merge import Dyadic

DEGREE = 10
WITHIN = 0.8


def write(path: Path, N: int, K: int) -> np.ndarray[Any, Any]:
    """A file of edges; returns the blocks of the nodes."""
    rng = np.random.default_rng(0)
    z = rng.integers(K, size=N)
    order = np.argsort(z, kind="stable")
    start = np.searchsorted(z[order], np.arange(K + 1))
    i, j = rng.integers(N, size=(2, N * DEGREE // 2))
    within = rng.random(len(i)) < WITHIN
    targets = start[z[i]] + (rng.random(len(i)) * (start[z[i] + 1] - start[z[i]])).astype(int)
    j[within] = order[targets[within]]
    with path.open("w", encoding="ascii") as file:
        file.write("source,target\n")
        np.savetxt(file, np.column_stack([i, j])[i != j], fmt="%d", delimiter=",")
    return z


def measure(path: Path, labels: Path, N: int, K: int) -> dict[str, float]:
    """Seconds and memory of one size, in this process."""
    import pyarrow.compute
    import pyarrow.csv  # noqa: F401  # a module, too

    empty = megabytes("VmRSS")
    began = perf_counter()
    data = edges(str(path), N=None, nodes=N, base=0)
    give_back()
    read, count = perf_counter() - began, data.values.nnz // 2
    model = IRM.from_data(data)
    model.set_labels(np.load(labels))
    rng = Rng(1)
    gibbs, sams = Gibbs(model, rng), Dyadic(model, rng, allocation="sams")
    gibbs.step()
    began = perf_counter()
    gibbs.step()
    scan = perf_counter() - began
    began = perf_counter()
    for _ in range(20):
        sams.step()
    move = (perf_counter() - began) / 20
    held, peak = megabytes("VmRSS") - empty, megabytes("VmHWM") - empty
    return {"edges": count, "read": read, "scan": scan, "move": move, "held": held, "peak": peak}


def main(quick: bool) -> list[dict[str, Any]]:
    sizes = [(1_000, 10), (10_000, 10), (100_000, 10), (100_000, 100)]
    if not quick:
        sizes += [(200_000, 10), (200_000, 100), (1_000_000, 10), (1_000_000, 100)]
    print("    nodes     edges    K  read, s  scan, s  ns an edge  SAMS, ms  held, MB  peak, MB  bytes an edge")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for N, K in sizes:
            path, labels = Path(folder) / "edges.csv", Path(folder) / "labels.npy"
            np.save(labels, write(path, N, K).astype(np.int32))
            command = [sys.executable, "-m", "bench.networks", str(path), str(labels), str(N), str(K)]
            each = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            rows.append({"N": N, "K": K, **each})
            grown = [each[name] - rows[0][name] for name in ("held", "edges")]
            an_edge = f"{grown[0] / grown[1] * 1e6:.0f}" if grown[1] else ""
            print(
                f"{N:9,}{each['edges']:10,.0f}{K:5}{each['read']:9.2f}{each['scan']:9.3f}"
                f"{each['scan'] / each['edges'] * 1e9:12.0f}{each['move'] * 1e3:10.2f}{each['held']:10.0f}"
                f"{each['peak']:10.0f}{an_edge:>15}",
                flush=True,
            )
    return rows


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))))
