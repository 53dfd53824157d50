"""The outcome in each cluster of a run: effects, or probabilities and rates, with intervals."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.config import Component, ConfigError
from splitmerge_cli.core.options import read_options
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.dataset import ColumnType, Dataset
from splitmerge_cli.kinds.tables.models.ordered_levels import tables_of_levels
from splitmerge_cli.kinds.tables.models.outcome_cells import is_regressed, term_names
from splitmerge_cli.runs.datasets import construct
from splitmerge_cli.runs.draws import State

LEVEL = 0.95
"""Probability of an interval."""
Array = NDArray[np.float64]


def options_of(model: Component, dataset: Dataset) -> dict[str, Any]:
    """Options of the model, none left to the data; a `ConfigError` if it has no outcome."""
    options: dict[str, Any] = {}
    if model.as_typed.get("outcome") is not None:
        found = construct(model, lambda: model.target.with_defaults_of(dataset, **model.options))
        options = read_options("model", model.target.OPTIONS, found)
    if options.get("outcome") is None:
        raise ConfigError(f"model={model.name} without an outcome; expected model.outcome=COLUMN")
    return options


def count_rows(dataset: Dataset, model: Component) -> tuple[Dataset, NDArray[np.int64], dict[str, float]]:
    """Return the table with every row as often as it counts, the rows of the data that these are, and the option of
    the model that fractions of rows change."""
    rows = np.arange(dataset.N)
    if (bundles := dataset.bundles) is None:
        return dataset, rows, {}
    powers = {} if bundles.unit == 1.0 else {"power": model.options["power"] * bundles.unit}
    return dataset.with_repeats, np.repeat(rows, bundles.counts), powers


def find_effects(
    model: Component, dataset: Dataset, states: Sequence[State], labels: NDArray[Any], seed: int = 0
) -> dict[str, Any]:
    """Effects on the outcome in each cluster of a partition, with intervals.

    In each draw the coefficients of every cluster are drawn given its rows. The effect of a cluster of the partition
    `labels` is the mean over its rows of the coefficients of the clusters that these are in, a number of every draw
    that does not depend on what clusters are called.

    Parameters
    ----------
    model, dataset
        Of the run.
    states : sequence of State
        Draws.
    labels : ndarray of int, shape (N,)
        A partition, from 0.
    seed : int

    Returns
    -------
    dict
        `outcome`, its name; `type`; `latent`, whether the coefficients are of a probit regression; `scale`, on which
        a regressed outcome has them, if it has one; and `rows`, each [cluster from 0, term, mean, low, high].
    """
    rng = Rng(seed, 1)
    dataset, rows, powers = count_rows(dataset, model)
    options = options_of(model, dataset) | powers
    j = options["outcome"] - 1
    column = (dataset.types or ())[j]
    labels = labels[rows]
    sizes = np.bincount(labels)
    regressed = is_regressed(column.type, options)
    built: Any = None
    if regressed:
        built = construct(model, lambda: model.target.from_data(dataset, **{**model.options, **powers}))
    terms = ["intercept", *term_names(dataset, [e - 1 for e in options["effects"]])] if regressed else _levels(column)
    draws = np.empty((len(states), len(sizes), len(terms)))
    for s, state in enumerate(states):
        numbers, own = np.unique(state.labels[rows], return_inverse=True)
        K = len(numbers)
        if built is not None:
            built.set_labels(own.astype(np.int32))
            if built.parameters is not None:
                built.set_parameters(np.asarray(state.parameters))
            coefficients = built.regression.draw(rng, K)
        else:
            coefficients = _draw_levels(rng, dataset, column, j, own, K, options)
        shared = np.zeros((len(sizes), K))
        np.add.at(shared, (labels, own), 1.0)
        draws[s] = shared @ coefficients / sizes[:, None]
    low, high = np.quantile(draws, [0.5 - LEVEL / 2, 0.5 + LEVEL / 2], axis=0)
    mean = draws.mean(axis=0)
    listed = [
        [k, term, *(float(values[k, t]) for values in (mean, low, high))]
        for k in range(len(sizes))
        for t, term in enumerate(terms)
    ]
    latent = bool(built is not None and built.regression.is_latent)
    scale = None if dataset.scales is None or not regressed else dataset.scales[j]
    of_scale = {} if scale is None else {"scale": str(scale)}
    return {"outcome": dataset.column_names[j], "type": column.type, "latent": latent, **of_scale, "rows": listed}


def _levels(column: ColumnType) -> list[str]:
    levels = column.levels[1:] if column.type == "binary" else column.levels
    return [f"P({level})" for level in levels] or ["rate"]


def _draw_levels(
    rng: Rng, dataset: Dataset, column: ColumnType, j: int, labels: NDArray[Any], K: int, options: Mapping[str, Any]
) -> Array:
    """Draw probabilities for the levels of a column, or its rate, in each cluster, given its cells: ``[K, terms]``."""
    generator = np.random.Generator(rng.bit_generator)
    x, zeta = dataset.values[:, j], options["power"]
    there = ~np.isnan(x)
    if column.type == "count":
        shape, rate = rate_posterior(dataset, j, labels, K, options)
        return np.asarray(generator.gamma(shape) / rate)[:, None]
    L = len(column.levels)
    counts = np.zeros((K, L))
    np.add.at(counts, (labels[there], x[there].astype(int)), zeta)
    if column.type == "ordinal":
        first = sum(len(each.levels) - 1 for each in (dataset.types or ())[:j] if each.type == "ordinal")
        tables = tables_of_levels([options["cuts"][first : first + L - 1]], 1.0)
        log_weight = tables["log_prior"] + counts @ tables["log_q"].reshape(L, -1)
        point = (log_weight + generator.gumbel(size=log_weight.shape)).argmax(axis=1)
        return np.asarray(tables["density"].reshape(L, -1).T[point])
    pseudo = [options["beta0"], options["beta1"]] if column.type == "binary" else [options["alpha"]] * L
    drawn = np.array([generator.dirichlet(row) for row in counts + pseudo])
    return drawn[:, 1:] if column.type == "binary" else drawn


def rate_posterior(
    dataset: Dataset, j: int, labels: NDArray[Any], K: int, options: Mapping[str, Any]
) -> tuple[Array, Array]:
    """Return shape and rate of the gamma posterior of a count column's mean, in each of K clusters."""
    types, x = dataset.types or (), dataset.values[:, j]
    there = ~np.isnan(x)
    rates = np.broadcast_to(options["rate"], sum(column.type == "count" for column in types))
    rate = rates[sum(column.type == "count" for column in types[:j])]
    total, n = (np.bincount(labels[there], weights, K) for weights in (x[there], None))
    return options["shape"] + options["power"] * total, rate + options["power"] * n
