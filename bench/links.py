"""Edges of real networks held out: log score and AUC of block models, of other programs' partitions, and of degrees.

A tenth of the edges, of counts of their units, is removed, three times; every method sees the rest. Partitions predict
by the block densities of `splitmerge_cli.kinds.networks.link_scores`, so the estimator is one.
"""

import importlib.util
import json
import random
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.cluster import SpectralClustering

from bench import graph_tool
from bench.real import processor_seconds
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.fits.short_fits import sample_by
from splitmerge_cli.kinds.networks.link_scores import score_links
from splitmerge_cli.kinds.networks.links import SHARE, fit_links, hold_out_links, with_relations
from splitmerge_cli.kinds.networks.readers.edges import edges

FOLDS, ITERATIONS = 3, 500
OPTIONS = {"beta1": 1.0, "beta0": 1.0, "propensity": 1.0, "shape": 1.0, "rate": None}
GRAPH_TOOL = """
import json, sys, numpy as np, graph_tool.all as gt
task = json.load(sys.stdin)
gt.openmp_set_num_threads(1); gt.seed_rng(1); np.random.seed(1)
graph = gt.Graph(directed=task["directed"]); graph.add_vertex(task["N"]); graph.add_edge_list(task["edges"])
sides = {name: graph.new_vp("int", task["sides"]) for name in ("clabel", "pclabel") if task["sides"]}
state = gt.minimize_blockmodel_dl(graph, state_args={"deg_corr": task["corrected"], **sides})
draws = [state.multiflip_mcmc_sweep(niter=10) and state.b.a.tolist() for _ in range(100)]
json.dump(draws, sys.stdout)
"""


def folder_of(package: str) -> Path | None:
    """The folder of a package, which is not imported; None: it is not installed."""
    spec = importlib.util.find_spec(package)
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


def write_networks(folder: Path) -> Iterator[tuple[str, Dataset]]:
    """Write the networks of packages that are installed, and read each in its own form."""
    davis = networkx.davis_southern_women_graph()
    davis.graph.clear()
    networkx.write_graphml_xml(davis, folder / "davis.graphml")
    networkx.write_gml(networkx.les_miserables_graph(), folder / "lesmis.gml")
    for name in ("karate_club", "florentine_families"):
        networkx.write_edgelist(getattr(networkx, f"{name}_graph")(), folder / f"{name}.edgelist", data=False)
        yield name, edges(folder / f"{name}.edgelist")
    yield "les miserables", edges(folder / "lesmis.gml")
    yield "les miserables, counts", edges(folder / "lesmis.gml", values="count")
    yield "davis, bipartite", edges(folder / "davis.graphml", bipartite=True)
    if folder_of("sknetwork"):
        from sknetwork.data import toy_graphs

        for toy in (toy_graphs.painters(True), toy_graphs.art_philo_science(True)):
            np.savetxt(folder / "toy.txt", np.argwhere(toy["adjacency"].toarray()), fmt="n%d")
            yield f"{toy['name']}, directed", edges(folder / "toy.txt", directed=True)
        np.savetxt(folder / "movies.csv", toy_graphs.movie_actor().toarray(), fmt="%d", delimiter=",")
        yield "movie_actor, bipartite", edges(folder / "movies.csv", bipartite=True, matrix=True)
    if place := folder_of("hypernetx"):
        table = pd.read_csv(place / "utils/toys/HarryPotter_Characters.csv", encoding="latin1")
        traits = table.melt(
            "Name", ["Gender", "House", "Species", "Blood status", "Hair colour", "Eye colour"]
        ).dropna()
        traits["trait"] = traits["variable"] + ": " + traits["value"]
        traits[["Name", "trait"]].drop_duplicates().to_csv(folder / "potter.csv", index=False)
        yield "harrypotter, bipartite", edges(folder / "potter.csv", bipartite=True)
    if place := folder_of("graspologic"):
        np.save(folder / "larva.npy", np.loadtxt(place / "datasets/drosophila/left_adjacency.csv"))
        yield "drosophila, directed", edges(folder / "larva.npy", directed=True)
        yield "drosophila, directed counts", edges(folder / "larva.npy", directed=True, values="count")
    place = folder_of("pykeen") or folder
    for name in ("nations", "umls", "kinships") if place != folder else ():
        parts = ((place / f"datasets/{name}/{part}.txt").read_text() for part in ("train", "valid", "test"))
        (folder / f"{name}.txt").write_text("".join(parts))
        yield name, edges(folder / f"{name}.txt", header=False, source=1, target=3, layer=2, directed=True)


def partitions(rest: Dataset) -> Iterator[tuple[str, float, list[NDArray[Any]]]]:
    """Name, processor seconds, and partitions of other methods; they see layers as one network."""
    matrix, relations = rest.values, rest.relations
    sides = None if relations is None else relations.sides
    layers = [np.argwhere(np.triu(matrix.toarray()))] if relations is None else [one.ends for one in relations.layers]
    base = np.zeros(rest.N, dtype=int) if sides is None else sides.astype(int)
    fits: dict[str, Any] = {"one block": lambda: base}
    if folder_of("leidenalg"):
        import igraph
        import leidenalg

        graph = igraph.Graph(rest.N, np.argwhere(np.triu(matrix.toarray())).tolist())
        fits["Louvain"] = lambda: graph.community_multilevel().membership
        fits["Leiden"] = lambda: leidenalg.find_partition(graph, leidenalg.ModularityVertexPartition, seed=1).membership
        K = max(len(graph.community_multilevel()), 2)
        spectral = SpectralClustering(K, affinity="precomputed", random_state=1)
        fits["spectral"] = lambda: spectral.fit_predict(matrix.toarray())
    for corrected in (False, True) if (python := graph_tool.interpreter()) else ():
        task = {"N": rest.N, "edges": np.unique(np.concatenate(layers), axis=0).tolist(), "corrected": corrected}
        task |= {"sides": [] if sides is None else sides.tolist()}
        task["directed"] = relations is not None and any(layer.directed for layer in relations.layers)
        run = partial(
            subprocess.check_output, [python, "-W", "ignore", "-c", GRAPH_TOOL], input=json.dumps(task), text=True
        )
        fits[f"graph-tool, deg_corr={corrected}"] = lambda run=run: json.loads(run())
    for name, fit in fits.items():
        random.seed(1)
        began, draws = processor_seconds(), np.atleast_2d(fit())
        labels = [np.unique(draw * 2 + base if sides is not None else draw, return_inverse=True)[1] for draw in draws]
        yield name, processor_seconds() - began, labels


def main(quick: bool) -> list[dict[str, Any]]:
    """Print a row for each network and method: mean log score of a pair, AUC, blocks, processor seconds."""
    warnings.simplefilter("ignore")
    rows = []
    print("| network | method | degrees | log score of a pair | AUC | blocks | seconds |", "|---" * 7 + "|", sep="\n")
    with tempfile.TemporaryDirectory() as folder:
        for name, dataset in write_networks(Path(folder)):
            scores: dict[tuple[str, str], list[tuple[float, ...]]] = {}
            for fold in range(1 if quick else FOLDS):
                held = hold_out_links(dataset, SHARE, 0, fold)
                for form in ("plain", "corrected"):
                    began = processor_seconds()
                    score, K = fit_links(
                        {"name": "irm", "degrees": form}, dataset, held, sample_by(None, 0), ITERATIONS
                    )
                    row = (score.per_pair, score.auc, K, processor_seconds() - began)
                    scores.setdefault(("smcmc", form), []).append(row)
                for method, seconds, draws in partitions(with_relations(dataset, held.rest)):
                    for form in ("plain", "corrected"):
                        score = score_links(held, [(labels, OPTIONS | {"degrees": form}) for labels in draws])
                        K = float(np.mean([labels.max() + 1 for labels in draws]))
                        scores.setdefault((method, form), []).append((score.per_pair, score.auc, K, seconds))
            for (method, form), every in scores.items():
                per_pair, auc, K, seconds = np.mean(every, axis=0)
                cells = f"{per_pair:.4f} | {auc:.3f} | {K:.1f} | {seconds:.1f}"
                print(f"| {name} | {method} | {form} | {cells} |", flush=True)
                rows.append({"set": name, "method": method, "degrees": form, "log score": per_pair})
    return rows
