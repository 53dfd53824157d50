"""Networks by the default command, compared with graph-tool: blocks, description length, edges held out, seconds.

The networks are those that graph-tool brings, as simple and undirected, and planted ones. A tenth of the edges is
removed; each method sees the rest, and all its nodes. Partitions predict by the block densities of
`splitmerge_cli.kinds.networks.link_scores` with one prior, so the estimator is one; the better of the two forms of
degrees counts, chosen by the scores themselves. Description lengths, in nats of the rest, are graph-tool's for every
partition: the least of its plain, corrected and nested forms.
"""

import csv
import json
import subprocess
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import networkx
import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

import smcmc
from bench import graph_tool
from bench.real import processor_seconds
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.kinds.networks.link_scores import score_links
from splitmerge_cli.kinds.networks.links import SHARE, draws_with_options, hold_out_links
from splitmerge_cli.runs.draws import states_of

NAMES = ["karate", "dolphins", "lesmis", "adjnoun", "polbooks", "football", "celegansneural", "serengeti-foodweb"]
NAMES += ["netscience", "polblogs", "power"]
PLANTED = (
    # nodes, blocks, ties of a node, share of them within its block, whether degrees have a heavy tail
    (300, 5, 12, 0.6, False),
    (300, 5, 16, 0.7, True),
    (600, 30, 12, 0.6, False),
    (1000, 8, 20, 0.7, True),
    (1000, 40, 14, 0.6, False),
)
OPTIONS = {"beta1": 1.0, "beta0": 1.0, "density": None, "propensity": 1.0, "shape": 1.0, "rate": None}
DRAWS = 100
READ = """
import json, sys, numpy as np, graph_tool.all as gt
found = gt.collection.data[sys.argv[1]]
truth = [str(found.vp["value"][v]) for v in found.vertices()] if "value" in found.vp else None
json.dump({"N": found.num_vertices(), "edges": found.get_edges()[:, :2].tolist(), "truth": truth}, sys.stdout)
"""
FIT = """
import json, sys, time, numpy as np, graph_tool.all as gt
task = json.load(sys.stdin)
gt.openmp_set_num_threads(1)
graph = gt.Graph(directed=False); graph.add_vertex(task["N"]); graph.add_edge_list(task["edges"])
simple = {"multigraph": False}
def length(labels):
    states = [gt.BlockState(graph, b=np.array(labels), deg_corr=corrected) for corrected in (False, True)]
    return min(state.entropy(**simple) for state in states)
if "labels" in task:
    json.dump(length(task["labels"]), sys.stdout)
    sys.exit()
found = {}
for name, minimise, corrected in (
    ("plain", gt.minimize_blockmodel_dl, False),
    ("corrected", gt.minimize_blockmodel_dl, True),
    ("nested", gt.minimize_nested_blockmodel_dl, True),
):
    gt.seed_rng(1); np.random.seed(1)
    began = time.process_time()
    state = minimise(graph, state_args={"deg_corr": corrected})
    seconds = time.process_time() - began
    lowest = state.get_levels()[0] if name == "nested" else state
    best = lowest.b.a.tolist()
    draws = []
    for _ in range(task["draws"]):
        state.multiflip_mcmc_sweep(niter=10)
        draws.append((state.get_levels()[0] if name == "nested" else state).b.a.tolist())
    found[name] = {"labels": best, "draws": draws, "seconds": seconds, "length": length(best)}
json.dump(found, sys.stdout)
"""


def ask(script: str, *words: str, task: Any = None) -> Any:
    """The output of a script in the Python that has graph-tool."""
    python = graph_tool.interpreter()
    if python is None:
        raise SystemExit("graph-tool is not installed: apt install python3-graph-tool")
    command = [python, "-W", "ignore", "-c", script, *words]
    return json.loads(subprocess.check_output(command, input=json.dumps(task), text=True))


def plant(N: int, K: int, degree: float, within: float, tails: bool) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Edges and blocks of a planted network."""
    rng = np.random.default_rng(N + K)
    z = np.sort(rng.integers(K, size=N))
    weight = rng.pareto(1.5, N).clip(0, 30) + 1 if tails else np.ones(N)
    rate = np.outer(weight, weight)
    same = z[:, None] == z
    rate *= np.where(same, within / rate[same].sum(), (1 - within) / rate[~same].sum()) * N * degree
    return np.argwhere(np.triu(rng.random((N, N)) < rate, 1)), z


def write_networks() -> Iterator[tuple[str, int, NDArray[Any], NDArray[Any] | None]]:
    """Name, number of nodes, edges and published or planted groups of each network."""
    for name in NAMES:
        found = ask(READ, name)
        truth = found["truth"] and np.unique(found["truth"], return_inverse=True)[1]
        yield name, found["N"], np.array(found["edges"]), truth
    for N, K, degree, within, tails in PLANTED:
        edges, z = plant(N, K, degree, within, tails)
        yield f"{K} planted blocks, {N:,} nodes" + ", heavy tails" * tails, N, edges, z


def graph_of(N: int, edges: NDArray[Any]) -> networkx.Graph:
    """The simple network."""
    graph = networkx.Graph()
    graph.add_nodes_from(range(N))
    graph.add_edges_from((int(i), int(j)) for i, j in edges if i != j)
    return graph


def score(held: Any, draws: Sequence[NDArray[Any]]) -> tuple[float, float]:
    """Log score of a pair and AUC by the one estimator, in its better form."""
    by_form = [score_links(held, [(z, OPTIONS | {"degrees": form}) for z in draws]) for form in ("plain", "corrected")]
    best = max(by_form, key=lambda one: one.per_pair)
    return best.per_pair, best.auc


def rows_of(name: str, dataset: Dataset, truth: NDArray[Any] | None) -> Iterator[dict[str, Any]]:
    """A row for each method on a network."""
    held = hold_out_links(dataset, SHARE, 0)
    ends = held.rest.layers[0].ends
    began = processor_seconds()
    found = smcmc.sample(graph_of(dataset.N, ends), seed=1, progress="none")
    seconds = processor_seconds() - began
    states = states_of(found.run, DRAWS)
    z = np.array(found.run.summary["point_estimate"]["labels"])
    draws = [np.unique(state.labels, return_inverse=True)[1] for state in states]
    of_model = score_links(held, draws_with_options(found._model, found.dataset, states))
    methods = {"smcmc": (z, draws, seconds), **{
        f"graph-tool {form}": (np.array(one["labels"]), [np.array(draw) for draw in one["draws"]], one["seconds"])
        for form, one in ask(FIT, task={"N": dataset.N, "edges": ends.tolist(), "draws": DRAWS}).items()
    }}  # fmt: skip
    for method, (labels, every, spent) in methods.items():
        per_pair, auc = score(held, [np.unique(draw, return_inverse=True)[1] for draw in every])
        length = ask(FIT, task={"N": dataset.N, "edges": ends.tolist(), "labels": labels.tolist()})
        yield {
            "network": name, "nodes": dataset.N, "edges": len(ends), "method": method,
            "blocks": len(np.unique(labels)), "description length": round(length),
            "log score": round(1e3 * per_pair, 2), "AUC": round(auc, 3),
            "log score of the model": round(1e3 * of_model.per_pair, 2) if method == "smcmc" else None,
            "ARI": None if truth is None else round(adjusted_rand_score(truth, labels), 2),
            "R-hat": round(found.rhat, 2) if method == "smcmc" else None,
            "processor s": round(spent, 1),
        }  # fmt: skip


def main(quick: bool) -> list[dict[str, Any]]:
    """Write a row for each network and method, as csv; log scores are of a thousand pairs."""
    warnings.simplefilter("ignore")
    rows: list[dict[str, Any]] = []
    table = csv.writer(sys.stdout, lineterminator="\n")
    for name, N, edges, truth in write_networks():
        if quick and N > 200:
            continue
        dataset = from_object(graph_of(N, edges), "graph")
        for row in rows_of(name, dataset, truth):
            if not rows:
                table.writerow(row)
            rows.append(row)
            table.writerow(row.values())
            sys.stdout.flush()
    return rows
