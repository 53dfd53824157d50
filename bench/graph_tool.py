"""Sweeps of graph-tool's block model compared with ours, if graph-tool is installed, in its own process.

Its model is another one: the microcanonical stochastic block model (``BlockState`` with ``deg_corr=False``, simple
graph), whose state has a description length in place of a likelihood with beta priors. A node's change costs it the
same sums over the blocks that hold its neighbours.
"""

import json
import os
import shutil
import subprocess
import sys
from functools import cache
from typing import Any

import numpy as np

from splitmerge_cli.data.dataset import Dataset

SWEEPS = """
import json, statistics, sys, time
import graph_tool.all as gt
import numpy as np

given = json.load(sys.stdin)
gt.openmp_set_num_threads(1)
gt.seed_rng(1)
np.random.seed(1)
graph = gt.Graph(directed=False)
graph.add_vertex(given["N"])
graph.add_edge_list(given["edges"])
found = {}
sweeps = (
    ("graph-tool Gibbs", "gibbs_sweep"),
    ("single-flip", "mcmc_sweep"),
    ("multiflip", "multiflip_mcmc_sweep"),
)
for name, sweep in sweeps:
    state = gt.BlockState(graph, b=np.array(given["labels"]), deg_corr=False)
    times, blocks = [], []
    for batch in range(6):
        began = time.thread_time()
        getattr(state, sweep)(niter=given["sweeps"], entropy_args={"multigraph": False})
        times.append(time.thread_time() - began)
        blocks.append(state.get_nonempty_B())
    K = statistics.median_low(blocks[1:])
    found[f"{name} (K={K})"] = 1e6 * statistics.median(times[1:]) / given["sweeps"]
json.dump(found, sys.stdout)
"""


@cache
def interpreter() -> str | None:
    """The Python that has graph-tool: this one or the system's; None if neither has."""
    for python in (sys.executable, shutil.which("python3", path=os.defpath)):
        if python and subprocess.run([python, "-c", "import graph_tool"], capture_output=True).returncode == 0:
            return python
    return None


def sweeps_us(data: Dataset, model: Any) -> dict[str, float]:
    """CPU microseconds of a sweep over all nodes in one thread, by the kind of sweep; empty without graph-tool.

    Each starts from the model's present blocks; the median of five batches of 20 sweeps, after one that is not counted,
    and the number of blocks that it stood at.
    """
    python = interpreter()
    if python is None:
        return {}
    edges = np.argwhere(np.triu(data.values.toarray())).tolist()
    job = {"N": data.N, "edges": edges, "labels": model.labels.tolist(), "sweeps": 20}
    done = subprocess.run([python, "-c", SWEEPS], input=json.dumps(job), capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"bench: graph-tool failed: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return {}
    timing: dict[str, float] = json.loads(done.stdout)
    return timing
