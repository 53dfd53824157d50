"""Draws of a released Python program, run by the interpreter that has it: a job as JSON on stdin, draws on stdout.

``python released_worker.py PROGRAM``. The programs are called by their public functions, with one seed for each chain.
"""

import json
import logging
import sys
import warnings
from importlib.metadata import version
from typing import Any

Job = dict[str, Any]
Chains = list[list[Any]]


def graph_tool(job: Job) -> Job:
    """Labels of nodes; and the description length of every partition, by the program's own ``entropy``."""
    import graph_tool.all as gt
    import numpy as np

    gt.openmp_set_num_threads(1)
    graph = gt.Graph(directed=False)
    graph.add_vertex(job["N"])
    graph.add_edge_list(job["edges"])
    terms = {"multigraph": False}

    def state(labels: Any) -> Any:
        return gt.BlockState(graph, b=np.array(labels), deg_corr=job["deg_corr"])

    chains = []
    for seed in range(job["chains"]):
        gt.seed_rng(seed + 1)
        np.random.seed(seed + 1)  # noqa: NPY002 - the program draws from it, too
        blocks = state(np.zeros(job["N"], dtype=int))
        sweep = getattr(blocks, job["sweep"])
        sweep(niter=job["burn_in"], entropy_args=terms)
        draws = []
        for _ in range(job["draws"]):
            sweep(niter=job["thin"], entropy_args=terms)
            draws.append(blocks.get_blocks().a.tolist())
        chains.append(draws)
    lengths = [float(state(labels).entropy(**terms)) for labels in job["partitions"]]
    return {"version": gt.__version__.split()[0], "chains": chains, "entropy": lengths}


def tomotopy(job: Job) -> Job:
    """Topics of tokens."""
    import tomotopy as tp

    chains = []
    for seed in range(job["chains"]):
        shared = {"tw": tp.TermWeight.ONE, "min_cf": 0, "seed": seed + 1, "eta": job["eta"], "alpha": job["alpha"]}
        if job["kind"] == "hdp":
            model = tp.HDPModel(initial_k=2, gamma=job["gamma"], **shared)
        else:
            model = tp.LDAModel(k=job["K"], **shared)
        for words in job["documents"]:
            model.add_doc([str(word) for word in words])
        model.optim_interval = 0
        model.train(job["burn_in"], workers=1)
        read = [[model.vocabs[w] for w in doc.words] for doc in model.docs]
        if read != [[str(word) for word in words] for words in job["documents"]]:
            raise SystemExit("tomotopy has put the words in another order")
        draws = []
        for _ in range(job["draws"]):
            model.train(job["thin"], workers=1)
            draws.append([int(topic) for doc in model.docs for topic in doc.topics])
        chains.append(draws)
    return {"version": version("tomotopy"), "chains": chains}


def lda(job: Job) -> Job:
    """Counts of the last state of a fit: for each topic those of documents, then of words. Every draw is a fit."""
    logging.getLogger("lda").addHandler(logging.StreamHandler())
    logging.getLogger("lda").setLevel(logging.ERROR)
    import lda as package
    import numpy as np

    counts = np.array(job["counts"])
    draws = []
    for seed in range(job["chains"] * job["draws"]):
        model = package.LDA(
            n_topics=job["K"], n_iter=job["burn_in"], alpha=job["alpha"], eta=job["eta"], random_state=seed
        )
        model.fit(counts)
        draws.append(np.hstack([model.ndz_.T, model.nzw_]).tolist())
    return {"version": version("lda"), "chains": _chains(draws, job["chains"])}


def dpmmlearn(job: Job) -> Job:
    """Labels of points. Every draw is a fit, of which the last state is kept (``use_best_iter=False``)."""
    import numpy as np
    from dpmmlearn import DPMM
    from dpmmlearn.probability import NormInvChi2, NormInvWish

    x = np.array(job["x"])
    prior = NormInvChi2(*job["prior"]) if x.ndim == 1 else NormInvWish(*job["prior"])
    draws = []
    for seed in range(job["chains"] * job["draws"]):
        model = DPMM(
            prior, job["alpha"], max_iter=job["burn_in"], use_best_iter=False, verbose=False, random_state=seed
        )
        draws.append(model.fit(x).labels_.tolist())
    return {"version": version("dpmmlearn"), "chains": _chains(draws, job["chains"])}


def _chains(draws: list[Any], n: int) -> Chains:
    """Independent draws in groups, so that they are counted as those of other programs."""
    size = len(draws) // n
    return [draws[i * size : (i + 1) * size] for i in range(n)]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    json.dump(globals()[sys.argv[1]](json.load(sys.stdin)), sys.stdout)
