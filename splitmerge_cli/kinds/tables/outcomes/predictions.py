"""Predictions of an outcome for new rows, given their other columns, averaged over the draws of a run."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from splitmerge_cli.analysis.predictive import build_predictive, by_state, check_missing, predict, take_state
from splitmerge_cli.config import Component
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.bundles import Bundles
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.kinds.tables.outcomes.draws import count_rows, options_of, rate_posterior
from splitmerge_cli.runs.draws import Draws, State
from splitmerge_cli.samplers.refresh import Refresh

VALUES = 4_000
"""Outcomes that are drawn for each new row, about; quantiles of these are the interval."""
BLOCK = 1_000
"""New rows whose outcomes are drawn at once."""
SWEEPS = 20
"""Updates of the latent outcomes in a partition that was drawn without them."""
Array = NDArray[np.float64]


@dataclass(frozen=True)
class OutcomePrediction:
    """Predictions of an outcome for n new rows."""

    mean: Array | None
    """float64 ``[n]``: in the units of the data, taken on the outcome's scale if it has one; None of an outcome of
    levels."""
    low: Array | None
    high: Array | None
    probability: Array | None
    """float64 ``[n, L]``: of each level; None of numbers."""
    levels: tuple[str, ...]


def predict_outcome(
    model: Component, dataset: Dataset, new: Dataset, states: Sequence[State], level: float = 0.9, seed: int = 0
) -> OutcomePrediction:
    """Predict the outcome of new rows, each alone, whatever outcome they have.

    A draw counts by the density that it gives the other columns of the row, and within it each cluster by the
    probability that the row joins it given these.

    Parameters
    ----------
    model, dataset
        Of the run.
    new : Dataset
        n rows like the data.
    states : sequence of State
    level : float
        Probability of the interval.
    seed : int
        Of the draws whose quantiles are the interval of a number.

    Raises
    ------
    ConfigError
        A model without an outcome; errors of `splitmerge_cli.analysis.predictive.predict`.
    """
    options = options_of(model, count_rows(dataset, model)[0])
    j = options["outcome"] - 1
    column = (dataset.types or ())[j]
    check_missing(model, dataset, new)
    masked = _mask(new, j)
    if column.levels:
        L = len(column.levels)
        log_density = predict(model, dataset, _with_levels(masked, j, L), states, states[0].labels, "density")
        first = np.cumsum(np.append(0, np.repeat(_unit_sizes(new), L)))[:-1]
        probability = softmax(log_density.log_density[first].reshape(-1, L), axis=1)
        return OutcomePrediction(None, None, None, probability, column.levels)
    generator = np.random.default_rng(seed)
    size = BLOCK if new.items is None else new.N  # rows of one item stay together
    begins = range(0, new.N, size)
    blocks = (masked if size >= new.N else masked.take(slice(begin, begin + size)) for begin in begins)
    parts = [_draw_outcomes(model, dataset, block, states, j, options, level, generator) for block in blocks]
    mean, low, high = np.concatenate(parts, axis=1)
    return OutcomePrediction(mean, low, high, None, ())


def outcome_densities(model: Component, dataset: Dataset, new: Dataset, states: Sequence[State]) -> Array:
    """Return the log predictive density of each new row's outcome given its other columns, float64 ``[n]``.

    It is in the units of the data; NaN where the outcome is missing.

    Parameters are as in `predict_outcome`. If the states were drawn without the outcome, latent outcomes are drawn
    given their partitions.
    """
    j = options_of(model, dataset)["outcome"] - 1
    completed = _with_latent(model, dataset, states)
    log_joint, log_rest = (
        logsumexp([logsumexp(density + weight, axis=1) for _, density, weight in found], axis=0)
        for found in (by_state(model, dataset, table, completed) for table in (new, _mask(new, j)))
    )
    return np.where(np.isnan(new.values[:, j]), np.nan, log_joint - log_rest)


def _mask(new: Dataset, j: int) -> Dataset:
    values = np.array(new.values)
    values[:, j] = np.nan
    return replace(new, values=values, truth=None, names=None, copies=None)


def _unit_sizes(new: Dataset) -> NDArray[np.int64]:
    """int64 ``[n]``: rows of the item that each row is a part of."""
    return np.ones(new.N, dtype=np.int64) if new.items is None else np.bincount(new.items)[new.items]


def _with_levels(masked: Dataset, j: int, L: int) -> Dataset:
    """Rows without an outcome, each L times, once with each level; with the other rows of its item, which have none."""
    if masked.items is None:
        rows = own = np.repeat(np.arange(masked.N), L)
        bundles = None
    else:
        members = [np.flatnonzero(masked.items == item) for item in masked.items for _ in range(L)]
        rows, own = np.concatenate(members), np.repeat(np.arange(masked.N), L * _unit_sizes(masked))
        bundles = Bundles(np.repeat(np.arange(len(members), dtype=np.int32), [len(each) for each in members]))
    values = masked.values[rows]
    values[rows == own, j] = np.tile(np.arange(L), masked.N)
    return replace(masked, values=values, bundles=bundles)


def _with_latent(model: Component, dataset: Dataset, states: Sequence[State]) -> Sequence[State]:
    """States with latent outcomes, where the model has these and the states do not."""
    built: Any = build_predictive(model, dataset, dataset)
    # latent outcomes do not go with bundles of rows
    regression = getattr(built, "regression", None)
    n = 0 if regression is None else regression.n_latent
    most = 0 if built.parameters is None else len(built.parameters)
    held = 0 if states[0].parameters is None else len(np.ravel(states[0].parameters))
    if not n or held == most:
        return states
    completed, rng = [], Rng(0, 2)
    for state in states:
        built.set_labels(state.labels)
        latent = built.regression.latent
        rest = np.empty(0) if state.parameters is None else np.ravel(state.parameters)
        built.set_parameters(np.concatenate([latent, rest]))
        refresh = Refresh(built, rng)
        for _ in range(SWEEPS):
            refresh.step()
        completed.append(replace(state, parameters=np.concatenate([built.regression.latent, rest])))
    return completed


def _draw_outcomes(
    component: Component,
    dataset: Dataset,
    new: Dataset,
    states: Sequence[State],
    j: int,
    options: dict[str, Any],
    level: float,
    generator: np.random.Generator,
) -> Array:
    """Return mean and interval for the outcome in each new row, ``[3, n]``."""
    draws = Draws.from_states(states)
    chosen = [draws[s] for s in range(draws.looks[0] if draws.looks else len(draws))]
    each = max(1, VALUES // len(chosen))
    whole = dataset.kind.stack(dataset, new)
    model: Any = build_predictive(component, dataset, whole)
    first = dataset.N if whole.items is None else int(whole.items[dataset.N])
    # the rows of an item share its density
    of_rows = slice(None) if whole.items is None else whole.items[dataset.N :] - first
    # items that are bundles of rows stand over a model of these
    regression = getattr(model, "rows", model).regression
    repeated, repeats, powers = count_rows(dataset, component)
    options = options | powers
    log_p, means, values = np.empty((len(chosen), new.N)), np.empty((len(chosen), new.N)), []
    rows = np.arange(new.N)[:, None]
    for s, state in enumerate(chosen):
        labels = np.concatenate([state.labels, np.full(new.N, state.K, dtype=np.int32)])
        take_state(model, state, labels, state.K + 1)
        log_density, log_weight = model.log_predictive(first)
        log_joint = (log_density + log_weight)[of_rows]
        log_p[s] = logsumexp(log_joint, axis=1)
        share = np.exp(log_joint - log_p[s][:, None])
        # the option behind the clusters is an empty one
        u = generator.random((new.N, each))
        k = np.minimum((share.cumsum(axis=1)[:, None, :] < u[:, :, None]).sum(axis=2), state.K)
        if regression is None:
            shape, rate = rate_posterior(repeated, j, state.labels[repeats], state.K + 1, options)
            means[s] = share @ (shape / rate)
            values.append(generator.poisson(generator.gamma(shape[k]) / rate[k]).astype(np.float64))
            continue
        location, scale, freedom = regression.predictive(regression.N - new.N, [*range(state.K), state.K + 1])
        means[s] = (share * location).sum(axis=1)
        values.append(location[rows, k] + scale[rows, k] * generator.standard_t(freedom[k]))
    weight = softmax(log_p, axis=0)
    drawn, weights = np.concatenate(values, axis=1), np.repeat(weight.T, each, axis=1) / each
    mean = (weight * means).sum(axis=0)
    scale_of = None if dataset.scales is None else dataset.scales[j]
    if scale_of is not None:
        # the mean on the scale: in the units of the data Student's t may have none
        mean, drawn = scale_of.undo(mean), scale_of.undo(drawn)
    order = drawn.argsort(axis=1)
    below = np.take_along_axis(weights, order, axis=1).cumsum(axis=1)
    sorted_values = np.take_along_axis(drawn, order, axis=1)
    ends = [
        sorted_values[rows[:, 0], np.minimum((below < p).sum(axis=1), drawn.shape[1] - 1)]
        for p in (0.5 - level / 2, 0.5 + level / 2)
    ]
    return np.stack([mean, *ends])
