"""Leave-one-out predictive densities from the draws of one fit (docs/derivations.md, "Leave-one-out densities").

In a collapsed mixture the normaliser of item i's Gibbs update is p(x_i | z_-i, x_-i). Its harmonic mean over the
posterior is p(x_i | x_-i): no second fit is needed. The weights of the draws, one over the normalisers, are smoothed by
a generalised Pareto distribution, whose shape says where too few draws matter (Vehtari, Gelman and Gabry 2017).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from splitmerge_cli.analysis.predictive import build_predictive, log_jacobian, take_state
from splitmerge_cli.config import Component
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.diagnostics.point_estimate import counts_larger
from splitmerge_cli.runs.draws import State

UNRELIABLE = 0.7
"""Shape of the Pareto distribution above which a density is not to be relied on (Vehtari, Gelman and Gabry 2017)."""
FEWEST = 5
"""Largest weights from which a Pareto distribution is fitted, at least."""


@dataclass(frozen=True)
class LeaveOneOut:
    """Leave-one-out densities of the items."""

    log_density: NDArray[np.float64]
    """float64 ``[N]``, or ``[items]`` where items are bundles of rows: log p(x_i | all other items), natural logarithm,
    in the units of the data."""
    shape: NDArray[np.float64]
    """float64 ``[N]``: shape k of the Pareto distribution of the largest weights; -inf where all weights are equal.
    Above `UNRELIABLE` the density rests on a few draws."""
    n_clusters: float = math.nan
    """Median over the draws of the number of clusters that are no outliers; NaN where it is not known."""


def leave_one_out(model: Component, dataset: Dataset, states: Sequence[State]) -> LeaveOneOut:
    """Estimate leave-one-out densities from draws of one posterior. `dataset`: whose rows do not depend on each other
    given their clusters; `states`: draws, each as probable as the others. Raises `ConfigError` (a model whose clusters
    keep parameters or weights) or `ValueError` (a model without densities of single items; a power of the likelihood).
    """
    built = build_predictive(model, dataset, dataset)
    jacobian = dataset.sum_by_item(log_jacobian(model, dataset))
    log_predictive = np.empty((len(states), len(jacobian)))
    for row, state in enumerate(states):
        take_state(built, state, state.labels, state.K)
        log_density, log_weight = built.left_out_predictive()
        log_predictive[row] = np.logaddexp.reduce(log_density + log_weight, axis=1)
    log_ratios, shape = smooth_tails(-log_predictive)
    log_density = logsumexp(log_ratios + log_predictive, axis=0) - logsumexp(log_ratios, axis=0)
    labels = np.stack([state.labels for state in states])
    return LeaveOneOut(log_density + jacobian, shape, float(np.median(counts_larger(labels, dataset.row_sizes))))


def smooth_tails(log_ratios: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Replace the largest importance ratios of each column by quantiles of a fitted Pareto distribution. `log_ratios`:
    float64 ``[draws, items]``, natural logarithm, up to a constant for each item. Returns smoothed, of the same shape,
    at most 0; with fewer than `FEWEST` large ratios they are the ratios themselves; float64 ``[items]``: k; -inf where
    nothing is fitted.

    Notes
    -----
    Source: Vehtari, Simpson, Gelman, Yao and Gabry 2024, algorithm 1; the fit of Zhang and Stephens 2009, with the
    prior of k of that paper's appendix.
    """
    draws, items = log_ratios.shape
    log_weights = log_ratios - log_ratios.max(axis=0)
    shape = np.full(items, -np.inf)
    tail = min(draws // 5, int(np.ceil(3 * np.sqrt(draws))))
    if tail < FEWEST:
        return log_weights, shape
    order = np.argsort(log_weights, axis=0, kind="stable")
    largest = order[-tail:]
    cutoff = np.take_along_axis(log_weights, order[-tail - 1 : draws - tail], axis=0)
    excess = np.exp(np.take_along_axis(log_weights, largest, axis=0)) - np.exp(cutoff)
    fitted = np.flatnonzero(excess[0] > 0.0)
    if not len(fitted):
        return log_weights, shape
    k, sigma = _fit_pareto(excess[:, fitted])
    # a weak prior at 1/2, worth ten draws
    k = (k * tail + 5.0) / (tail + 10.0)
    p = ((np.arange(tail) + 0.5) / tail)[:, None]
    quantiles = np.where(
        np.abs(k) < 1e-12, -sigma * np.log1p(-p), sigma * np.expm1(-k * np.log1p(-p)) / np.where(k == 0, 1, k)
    )
    smoothed = np.minimum(np.log(np.exp(cutoff[:, fitted]) + quantiles), 0.0)
    log_weights[largest[:, fitted], fitted] = smoothed
    shape[fitted] = k
    return log_weights, shape


def _fit_pareto(excess: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Shape and scale of generalised Pareto distributions, one for each column of sorted positive numbers.

    Source: Zhang and Stephens 2009, section 3; k there is -k here.
    """
    n = len(excess)
    grid = 30 + int(np.sqrt(n))
    quartile = excess[int(n / 4 + 0.5) - 1]
    theta = (1.0 - np.sqrt(grid / (np.arange(1, grid + 1) - 0.5)))[:, None] / (3.0 * quartile) + 1.0 / excess[-1]
    # [grid, items]
    k = np.log1p(-theta[:, None, :] * excess).mean(axis=1)
    log_lik = n * (np.log(-theta / k) - k - 1.0)
    weight = np.exp(log_lik - logsumexp(log_lik, axis=0))
    theta_hat = (weight * theta).sum(axis=0)
    k_hat = np.log1p(-theta_hat * excess).mean(axis=0)
    return k_hat, -k_hat / theta_hat
