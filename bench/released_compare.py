"""Compare draws of chains with an enumerated distribution: total variation, its value by chance, and clusters."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from bench.released_distributions import Distribution

CHANCE = 0.001
"""Rate at which an exact program may seem to differ, in each row, by either of two signs."""
REPLICATES = 4000


def compare(states: NDArray[np.int64], distribution: Distribution, seed: int = 0) -> dict[str, Any]:
    """The numbers of a row.

    Parameters
    ----------
    states : ndarray of int, shape (chains, draws)
        Places of the draws in the distribution.
    distribution : Distribution
    seed : int
        Seed of the simulated noise.

    Returns
    -------
    dict
        ``total_variation``: between the frequencies of all draws and the distribution. ``independent_mean``,
        ``independent_95``: mean and 95 % quantile of the distance of as many independent draws. ``chains_mean``,
        ``chains_95``: the same of an exact sampler whose chains scatter as these do, by resampling whole chains.
        ``mean_K`` with its standard error over chains ``error_K``, ``exact_K``. ``mode``: the likeliest number of
        clusters, ``at_mode`` its frequency, ``error_mode``, ``exact_mode``. ``differs``: total variation is beyond both
        noises, or E[K] off, by more than chance (`CHANCE`).
    """
    rng = np.random.default_rng(seed)
    chains, draws = states.shape
    p = distribution.probability
    by_chain = np.stack([np.bincount(chain, minlength=len(p)) for chain in states]) / draws
    frequency = by_chain.mean(axis=0)
    independent = _distances(rng.multinomial(chains * draws, p, REPLICATES) / (chains * draws), p)
    weights = rng.multinomial(chains, np.full(chains, 1 / chains), REPLICATES) / chains
    # resampled chains scatter a little less than chains do
    resampled = _distances(weights @ by_chain, frequency) * np.sqrt(chains / (chains - 1))
    K = distribution.clusters[states].mean(axis=1)
    mode = int(np.bincount(distribution.clusters, p).argmax())
    share = (distribution.clusters[states] == mode).mean(axis=1)
    distance, exact_K = 0.5 * np.abs(frequency - p).sum(), float(p @ distribution.clusters)
    # chains that all agree have no scatter: use the scatter of independent draws
    error_K = float(
        max(K.std(ddof=1) / np.sqrt(chains), np.sqrt(p @ (distribution.clusters - exact_K) ** 2 / states.size))
    )
    far = max(np.quantile(independent, 1 - CHANCE / 2), np.quantile(resampled, 1 - CHANCE / 2))
    off = abs(K.mean() - exact_K) > stats.t.ppf(1 - CHANCE / 4, chains - 1) * error_K
    return {
        "chains": chains,
        "draws": draws,
        "states": len(p),
        "total_variation": float(distance),
        "independent_mean": float(independent.mean()),
        "independent_95": float(np.quantile(independent, 0.95)),
        "chains_mean": float(resampled.mean()),
        "chains_95": float(np.quantile(resampled, 0.95)),
        "mean_K": float(K.mean()),
        "error_K": error_K,
        "exact_K": exact_K,
        "mode": mode,
        "at_mode": float(share.mean()),
        "error_mode": float(share.std(ddof=1) / np.sqrt(chains)),
        "exact_mode": float(p[distribution.clusters == mode].sum()),
        "differs": bool(distance > far or off),
    }


def _distances(frequencies: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Total variation of each row from p."""
    distances: NDArray[np.float64] = 0.5 * np.abs(frequencies - p).sum(axis=1)
    return distances
