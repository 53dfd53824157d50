"""Clustering of real sets that scikit-learn and networkx carry, beside other programs.

What is compared first is the log predictive density of rows that were held out, over five folds, because it needs no
truth; then the adjusted Rand index against the classes of a set, the number of clusters, and seconds.
"""

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import networkx
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import BayesianGaussianMixture
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

import splitmerge_cli as smcmc
from bench import real_documents

SEED = 0
FOLDS = 5
MOST = 20
"""Components of the variational mixture, of which it may leave some empty."""

Labels = NDArray[Any]
Method = Callable[[NDArray[np.float64], int], tuple[Labels, Any, str]]
"""Of rows and the true number of classes: labels, what scores new rows (or None), a remark."""


def sampled(covariance: str, iterations: int) -> Method:
    """The Gaussian mixture of this program, of four chains."""

    def fit(x: NDArray[np.float64], _: int) -> tuple[Labels, Any, str]:
        found = smcmc.sample(
            {"name": "gaussian", "covariance": covariance}, x, "sams", iterations=iterations, seed=SEED, progress="none"
        )
        return found.labels, found.log_predictive, "" if found.converged else "not converged"

    return fit


def variational(x: NDArray[np.float64], _: int) -> tuple[Labels, Any, str]:
    """scikit-learn's variational mixture."""
    found = BayesianGaussianMixture(n_components=min(MOST, len(x) // 2), max_iter=1000, random_state=SEED).fit(x)
    return found.predict(x), found.score_samples, "" if found.converged_ else "not converged"


def kmeans(x: NDArray[np.float64], K: int) -> tuple[Labels, Any, str]:
    """k-means, told the true number of classes."""
    return KMeans(K, n_init=10, random_state=SEED).fit_predict(x), None, "told K"


def hdbscan(x: NDArray[np.float64], _: int) -> tuple[Labels, Any, str]:
    """HDBSCAN; noise is a cluster of its own here."""
    labels = HDBSCAN(copy=True).fit_predict(x)
    return labels, None, f"{np.mean(labels < 0):.0%} noise"


def methods(iterations: int) -> dict[str, Method]:
    return {
        **{f"smcmc, {covariance}": sampled(covariance, iterations) for covariance in ("diag", "full")},
        "BayesianGaussianMixture": variational,
        "KMeans": kmeans,
        "HDBSCAN": hdbscan,
    }


def tables() -> Iterator[tuple[str, NDArray[np.float64], Labels]]:
    """The sets, raw and standardised; digits as their first eight principal components."""
    for name in ("iris", "wine", "breast_cancer"):
        found = getattr(datasets, f"load_{name}")()
        yield name, found.data, found.target
        yield f"{name}, standardised", StandardScaler().fit_transform(found.data), found.target


def row(name: str, called: str, fit: Method, x: NDArray[np.float64], truth: Labels) -> dict[str, Any]:
    """One set and one method."""
    K = len(np.unique(truth))
    began = time.perf_counter()
    labels, score, remark = fit(x, K)
    seconds = time.perf_counter() - began
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
        "ARI": adjusted_rand_score(truth, labels),
        "K": len(np.unique(labels)),
        "true K": K,
        "seconds": seconds,
        "remark": remark,
    }


def networks(iterations: int) -> Iterator[dict[str, Any]]:
    """Blocks of the karate club, beside communities of Louvain's method."""
    graph = networkx.karate_club_graph()
    truth = [graph.nodes[node]["club"] for node in graph]

    def blocks() -> tuple[Labels, str]:
        found = smcmc.sample("irm", graph, iterations=iterations, seed=SEED, progress="none")
        return found.labels, "" if found.converged else "not converged"

    def louvain() -> tuple[Labels, str]:
        found = networkx.community.louvain_communities(graph, weight=None, seed=SEED)
        return np.array([next(k for k, nodes in enumerate(found) if node in nodes) for node in graph]), ""

    for called, fit in (("smcmc, irm", blocks), ("Louvain", louvain)):
        began = time.perf_counter()
        labels, remark = fit()
        yield {
            "set": "karate",
            "method": called,
            "held-out log density": np.nan,
            "error": np.nan,
            "ARI": adjusted_rand_score(truth, labels),
            "K": len(np.unique(labels)),
            "true K": 2,
            "seconds": time.perf_counter() - began,
            "remark": remark,
        }


def main(quick: bool) -> list[dict[str, Any]]:
    """Print the table as Markdown; `quick`: fewer iterations."""
    warnings.simplefilter("ignore")
    iterations = 200 if quick else 2000
    rows = [
        row(name, called, fit, x, truth) for name, x, truth in tables() for called, fit in methods(iterations).items()
    ]
    rows += networks(iterations)
    print("| set | method | held-out log density | ARI | K (true) | seconds | |")
    print("|---|---|---|---|---|---|---|")
    for found in rows:
        density = found["held-out log density"]
        shown = "-" if np.isnan(density) else f"{density:.2f} ± {found['error']:.2f}"
        counts = f"{found['K']} ({found['true K']})"
        cells = (found["set"], found["method"], shown, f"{found['ARI']:.2f}", counts, f"{found['seconds']:.1f}")
        print(f"| {' | '.join(cells)} | {found['remark']} |")
    print()
    of_documents = real_documents.main(quick)
    known = pd.DataFrame(rows).astype(object).where(lambda frame: frame.notna(), None)
    return list(known.to_dict("records")) + of_documents
