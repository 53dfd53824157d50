"""Samples of any program, compared with an enumerated posterior over partitions."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from splitmerge_cli.config import ConfigError
from splitmerge_cli.verify.enumerate import state_of
from splitmerge_cli.verify.small_posteriors import Posterior as Posterior
from splitmerge_cli.verify.small_posteriors import cases as cases

BATCHES = 20
"""Batches of successive draws; their spread gives the noise of a sample."""
CHANCE = 0.001
"""Largest probability that an exact sample counts as different: by total variation, E[K] or one state."""


@dataclass(frozen=True)
class Comparison:
    """A sample compared with an enumerated posterior."""

    total_variation: float
    """Between the frequencies of the states and their probabilities."""
    noise: float
    """Distance that an exact sampler of this length and autocorrelation is expected to have."""
    mean_K: float
    exact_mean_K: float
    error_mean_K: float
    """Mean of K in the sample, in the posterior, and the standard error of the former."""
    draws: int
    worst: tuple[tuple[int, ...], float, float]
    """Labels of the state whose frequency is the most standard errors away, its frequency and its probability."""
    agrees: bool
    """No further than chance: total variation, E[K] and the worst state, each by the quantile of a third of
    `CHANCE`."""


def check(case: Posterior, labels: ArrayLike, K: ArrayLike | None = None) -> Comparison:
    """Compare draws of partitions with an enumerated posterior.

    `labels` ``[draws, N]`` are successive draws of a chain, or of chains one after the other, clusters numbered in any
    way; `K` ``[draws]`` their clusters with the empty ones, by default those that hold an item. A `ConfigError` names
    other numbers of items, too few draws, or a state of which the model has none.
    """
    draws = np.asarray(labels)
    if draws.ndim != 2 or draws.shape[1] != case.n_items:
        raise ConfigError(f"samples: shape {draws.shape}; expected [draws, {case.n_items}], the items of {case.id}")
    if len(draws) < 10 * BATCHES:
        raise ConfigError(f"samples: {len(draws)} draws; expected {10 * BATCHES} at least")
    exact = case.table()
    number = {(tuple(z.tolist()), int(k)): i for i, (z, k) in enumerate(zip(exact["labels"], exact["K"], strict=True))}
    states = np.empty(len(draws), dtype=np.int64)
    for i, row in enumerate(draws):
        z = state_of(row, 0)[0]
        state = (z, max(z) + 1 if K is None else int(np.asarray(K)[i]))
        if state not in number:
            raise ConfigError(f"samples: row {i + 1}: labels {list(z)} with K={state[1]}: {case.id} has no such state")
        states[i] = number[state]
    p = exact["probability"].to_numpy()
    batches = [np.bincount(part, minlength=len(p)) / len(part) for part in np.array_split(states, BATCHES)]
    frequency = np.bincount(states, minlength=len(p)) / len(states)
    # a state that was never seen has no spread of its own: use the spread of independent draws
    error = np.maximum(np.std(batches, axis=0, ddof=1) / np.sqrt(BATCHES), np.sqrt(p * (1 - p) / len(states)))
    clusters = exact["K"].to_numpy()
    of_batch = [float(np.mean(clusters[part])) for part in np.array_split(states, BATCHES)]
    error_K = float(np.std(of_batch, ddof=1) / np.sqrt(BATCHES))
    mean_K, exact_K = float(clusters[states].mean()), float(p @ clusters)
    off = np.abs(frequency - p) / np.where(error > 0, error, np.inf)
    worst = int(off.argmax())
    distance, noise = 0.5 * np.abs(frequency - p).sum(), 0.5 * np.sqrt(2 / np.pi) * error.sum()
    # of the sum of absolute errors, as if errors of different states were independent
    spread = 0.5 * np.sqrt((1 - 2 / np.pi) * (error**2).sum())
    far = stats.t.ppf(1 - CHANCE / 3 / np.array([1, 2, 2 * len(p)]), BATCHES - 1)
    agrees = distance <= noise + far[0] * spread and abs(mean_K - exact_K) <= far[1] * error_K and off[worst] <= far[2]
    return Comparison(
        total_variation=float(distance),
        noise=float(noise),
        mean_K=mean_K,
        exact_mean_K=exact_K,
        error_mean_K=error_K,
        draws=len(states),
        worst=(tuple(exact["labels"][worst].tolist()), float(frequency[worst]), float(p[worst])),
        agrees=bool(agrees),
    )
