"""The infinite relational model against its definition."""

import numpy as np
import pytest
import scipy.sparse
from scipy.special import betaln
from scores import check_scan

from splitmerge_cli.core.rng import Rng
from splitmerge_cli.kinds.networks.irm import IRM
from splitmerge_cli.samplers.gibbs import Gibbs

BETA = 0.6, 1.7


def graph(N: int, p: float, seed: int) -> np.ndarray:
    upper = np.triu(np.random.default_rng(seed).random((N, N)) < p, 1)
    return (upper | upper.T).astype(np.uint8)


def log_lik(adjacency: np.ndarray, labels: np.ndarray, beta1: float, beta0: float) -> float:
    """Herlau et al. 2014, section 3.2, with the sum over k <= k'."""
    total = 0.0
    for k in np.unique(labels):
        for other in np.unique(labels[labels >= k]):
            block = adjacency[np.ix_(labels == k, labels == other)]
            pairs = block.size if k != other else len(block) * (len(block) - 1) / 2
            edges = block.sum() if k != other else block.sum() / 2
            total += betaln(edges + beta1, pairs - edges + beta0) - betaln(beta1, beta0)
    return float(total)


@pytest.mark.parametrize("clusters", [1, 2, 7, 8, 9, 20, 40])
def test_likelihood_and_counts(clusters: int) -> None:
    adjacency = graph(40, 0.25, clusters)
    model = IRM(adjacency, beta1=BETA[0], beta0=BETA[1])
    labels = np.random.default_rng(clusters).permutation(np.arange(40) % clusters)
    model.set_labels(labels)
    assert model.log_lik_total() == pytest.approx(log_lik(adjacency, labels, *BETA), rel=1e-11)
    edges = model.statistics()["cells"][:, :, 0]
    for k in range(clusters):
        for other in range(clusters):
            count = adjacency[np.ix_(labels == k, labels == other)].sum()
            assert edges[k, other] == (count if k != other else count // 2)


def test_graphs_beyond_the_tables() -> None:
    """More pairs than a table has entries: the entries history its end are computed."""
    N = 3000
    rng = np.random.default_rng(0)
    ends = np.unique(np.sort(rng.integers(N, size=(6000, 2)), axis=1), axis=0)
    ends = ends[ends[:, 0] != ends[:, 1]]
    upper = scipy.sparse.coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(N, N))
    model = IRM(upper + upper.T, beta1=BETA[0], beta0=BETA[1])
    pairs = N * (N - 1) / 2
    expected = betaln(len(ends) + BETA[0], pairs - len(ends) + BETA[1]) - betaln(*BETA)
    assert model.log_lik_total() == pytest.approx(expected, rel=1e-8)
    model.set_labels(np.arange(N) // 1500)
    for i in (0, 2999):
        check_scan(model, i, rtol=1e-6)


@pytest.mark.parametrize(
    ("adjacency", "message"),
    [
        ([[0, 1], [0, 0]], "symmetric"),
        ([[0, 2], [2, 0]], "neither 0 nor 1"),
        ([[0, 1], [1, 1]], "node 1 has an edge to itself"),
        (np.zeros((2, 3)), "square"),
        (np.zeros((0, 0)), "at least one row"),
    ],
)
def test_no_simple_graph(adjacency: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        IRM(adjacency)


@pytest.mark.parametrize("key", ["beta1", "beta0"])
@pytest.mark.parametrize("value", [0.0, -1.0, 1e-7, 1e7, float("nan"), True])
def test_parameters_out_of_range(key: str, value: float) -> None:
    with pytest.raises(ValueError, match=rf"model\.{key}=.*: expected a number from 1e-06 to 1e\+06"):
        IRM(graph(4, 0.5, 0), **{key: value})


@pytest.mark.parametrize("adjacency", [np.zeros((1, 1)), np.zeros((6, 6)), 1 - np.eye(6)])
def test_no_edges_and_all_edges(adjacency: np.ndarray) -> None:
    model = IRM(adjacency)
    sampler = Gibbs(model, Rng(0))
    for _ in range(50):
        sampler.step()
    assert model.log_lik_total() == pytest.approx(log_lik(adjacency.astype(int), model.labels, 1.0, 1.0), abs=1e-12)
