"""An outcome of a table: effects in each cluster, predictions for new rows, and whether it helps to form clusters."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from splitmerge_cli.analysis.predictive import build_predictive, by_state, check_missing, predict, take_state
from splitmerge_cli.config import Component, ConfigError
from splitmerge_cli.core.options import read_options
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.bundles import Bundles
from splitmerge_cli.data.dataset import ColumnType, Dataset
from splitmerge_cli.data.objects import as_pandas
from splitmerge_cli.fits import short_fits, stored_draws
from splitmerge_cli.fits.objects import warn_of_data
from splitmerge_cli.kinds.tables.models.ordered_levels import tables_of_levels
from splitmerge_cli.kinds.tables.models.outcome_cells import is_regressed, term_names
from splitmerge_cli.runs.draws import Draws, State, draws_of
from splitmerge_cli.runs.initial import construct
from splitmerge_cli.runs.store.read import Run
from splitmerge_cli.samplers.refresh import Refresh

LEVEL = 0.95
"""Probability of an interval."""
VALUES = 4_000
"""Outcomes that are drawn for each new row, about; quantiles of these are the interval."""
BLOCK = 1_000
"""New rows whose outcomes are drawn at once."""
SWEEPS = 20
"""Updates of the latent outcomes in a partition that was drawn without them."""
OF_OUTCOME = ("outcome", "effects", "slope_weight")
"""Options that only a model with an outcome has."""
PER_COLUMN = ("m0", "b0", "rate", "cuts", "resolution")
"""Options that may have a number for each column."""
STATES = 200
"""Draws over which held-out densities are averaged."""
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
    """Effects on the outcome in each cluster of a partition, `labels` ``[N]`` from 0, with intervals, by the draws
    `states` of a run.

    In each draw the coefficients of every cluster are drawn given its rows. The effect of a cluster of the partition is
    the mean over its rows of the coefficients of the clusters that these are in, a number of every draw that does not
    depend on what clusters are called.

    Returns `outcome`, its name; `type`; `latent`, whether the coefficients are of a probit regression; `scale`, on
    which a regressed outcome has them, if it has one; and `rows`, each [cluster from 0, term, mean, low, high].
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
    levels = column.levels[1:] if column.type == "binary" else column.levels
    terms = [f"P({level})" for level in levels] or ["rate"]
    if regressed:
        terms = term_names(dataset, [e - 1 for e in options["effects"]])
        terms = ["intercept", *terms] if terms else ["mean"]
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
    """Predict the outcome of n new rows like the data of a run, each alone, whatever outcome they have.

    A draw counts by the density that it gives the other columns of the row, and within it each cluster by the
    probability that the row joins it given these. `level` is the probability of the interval of a number, between
    quantiles of draws by `seed`. A `ConfigError`: a model without an outcome; errors of
    `splitmerge_cli.analysis.predictive.predict`.
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


@dataclass(frozen=True)
class OutcomeGain:
    """Held-out log densities of an outcome, in nats a row, with and without it in forming the clusters."""

    outcome: str
    rows: int
    with_outcome: float
    without_outcome: float
    error: float
    """Standard error of the difference, over the held-out rows."""

    @property
    def difference(self) -> float:
        """float: how much is gained by clusters that the outcome helps to form."""
        return self.with_outcome - self.without_outcome

    def __str__(self) -> str:
        return (
            f"held-out log density of {self.outcome} a row, over {self.rows:,} rows: {self.with_outcome:.3f} if it "
            f"helps to form the clusters, {self.without_outcome:.3f} if it does not (difference {self.difference:.3f}, "
            f"standard error {self.error:.3f})"
        )


class OutcomeAnswers(stored_draws.StoredDraws):
    """The part of a `Posterior` with an outcome (``model.outcome``)."""

    def predict_outcome(self, new: Any, *, level: float = 0.9, states: int | None = None) -> stored_draws.Table:
        """Predict the outcome of new rows given their other columns, averaged over the draws.

        Parameters
        ----------
        new : object
            n rows, in the form of the data. An outcome that they have is not looked at; a data frame need not have
            the column.
        level : float
            Probability of the interval of a number.
        states : int, optional
            As in `predict_proba`.

        Returns
        -------
        pandas.DataFrame
            A row for each new one. A real or count outcome: columns mean, low, high, in the units of the data; an
            outcome on a scale (``data.scale``) has its mean on that scale, such as the geometric mean. With levels: a
            column for each level, its probability.

        Raises
        ------
        ConfigError
            The model has no outcome, or `level` is not between 0 and 1.

        Examples
        --------
        >>> rows = {"x": [0.1, 0.2, 5.1, 5.3], "y": [1.0, 1.1, 7.0, 7.2]}
        >>> found = sample({"name": "mixed", "outcome": "y"}, rows, iterations=200, chains=2, progress="none")
        >>> list(found.predict_outcome({"x": [5.2], "y": [0.0]}))
        ['mean', 'low', 'high']
        """
        self._warn()
        if not 0.0 < level < 1.0:
            raise ConfigError(f"level: {level}; expected a number between 0 and 1")
        draws = draws_of(self.run, states, self._recorded_partitions)
        table = as_pandas(new)
        # a data frame need not have the column
        if isinstance(table, pd.DataFrame) and self._model.as_typed.get("outcome") is not None:
            new = table if self._outcome in map(str, table.columns) else table.assign(**{self._outcome: np.nan})
        items = self.dataset.kind.new_items(self.dataset, new)
        warn_of_data(items)
        found = predict_outcome(self._model, self.dataset, items, draws, level, self.run.config["seed"])
        if found.probability is not None:
            return stored_draws.Table(found.probability, columns=list(found.levels))
        return stored_draws.Table({"mean": found.mean, "low": found.low, "high": found.high})

    def effects(self) -> stored_draws.Table:
        """Effects on the outcome in each cluster of `labels`.

        Returns
        -------
        pandas.DataFrame
            Columns cluster (numbered from 1), term, mean, low, high (95 %). A real outcome, or a binary one with
            effects: the intercept, where real effects are at their means and others at their first level, and the
            effect of each column in its units; of a binary outcome coefficients of a probit regression. Others: the
            probability of each level, or the rate. Each is, in a draw, the mean over the rows of the cluster of what
            holds for the cluster that a row is in then, so that it does not depend on how a draw numbers clusters.

        Raises
        ------
        ConfigError
            The model has no outcome, or the run is not finished.
        """
        self._warn()
        if not self.complete or (found := self.run.summary.get("outcome")) is None:
            raise ConfigError(f"{self.path}: expected a finished run of a model with model.outcome=COLUMN")
        table = stored_draws.Table(found["rows"], columns=["cluster", "term", "mean", "low", "high"])
        return table.assign(cluster=table["cluster"] + self.run.first_cluster)

    def outcome_gain(self, held_out: float = 0.2, *, seed: int = 0) -> OutcomeGain:
        """Whether the outcome helps to form clusters that predict it: its held-out log density with and without.

        Two short fits see a part of the rows: the model of this run, and the same model without outcome and effects,
        whose clusters are then given the outcome.

        Parameters
        ----------
        held_out : float
            Share of the rows that are held out.
        seed : int
            Of the division of the rows and of the fits.

        Raises
        ------
        ConfigError
            The model has no outcome, options for single columns, or no other column; rows are bundles; or `held_out`
            leaves no rows.
        """
        model, dataset = self._model, self.dataset
        options = dict(model.as_typed)
        if options.get("outcome") is None:
            raise ConfigError(f"model={model.name} without an outcome; expected model.outcome=COLUMN")
        if dataset.bundles is not None:
            raise ConfigError("data.weights, data.group: expected none, since rows are held out one by one")
        for key in PER_COLUMN:
            if isinstance(options.get(key), list):
                raise ConfigError(f"model.{key}: expected one number for all columns")
        known = np.flatnonzero(~np.isnan(dataset.values[:, dataset.column_names.index(self._outcome)]))
        share = held_out if 0.0 < held_out < 1.0 else 0.0  # NaN is none
        chosen = np.random.default_rng(seed).permutation(known)[: round(share * len(known))]
        if not len(chosen) or len(chosen) >= len(known):
            raise ConfigError(f"held_out: {held_out}; expected a share that leaves rows on both sides")
        rest = np.setdiff1d(np.arange(dataset.N), chosen)
        train, test = dataset.take(rest), dataset.take(np.sort(chosen))
        of_model = {"name": model.name} | options
        fits = short_fits.sample_by(None, seed)
        whole = fits(of_model)(train)
        own = [self._outcome, *map(self._name_of, model.as_typed.get("effects") or ())]
        of_others = {key: value for key, value in of_model.items() if key not in OF_OUTCOME}
        others = fits(of_others)(without_columns(train, own))
        found = [outcome_densities(whole.model, train, test, fit.thin(STATES)) for fit in (whole, others)]
        difference = found[0] - found[1]
        error = float(difference.std(ddof=1) / np.sqrt(len(difference))) if len(difference) > 1 else float("nan")
        return OutcomeGain(self._outcome, len(chosen), float(found[0].mean()), float(found[1].mean()), error)

    @property
    def _outcome(self) -> str:
        return self._name_of(self._model.as_typed.get("outcome"))

    def _name_of(self, column: Any) -> str:
        return self.dataset.column_names[column - 1] if isinstance(column, int) else str(column)


def gain_lines(run: Run, share: float) -> Iterator[str]:
    """A line on whether the outcome of a run helps to form its clusters, by a share of the rows that is held out."""
    if not 0.0 < share < 1.0:
        raise ConfigError(f"outcome={share:g}: expected a share of the rows, between 0 and 1")
    yield str(OutcomeAnswers(run).outcome_gain(share, seed=run.config["seed"]))


def without_columns(dataset: Dataset, names: list[str]) -> Dataset:
    """A table without some of its columns; a `ConfigError` if none is left."""
    kept = [j for j, name in enumerate(dataset.column_names) if name not in names]
    if not kept:
        raise ConfigError("model.outcome: no other column to form clusters of; expected some")
    values: NDArray[np.float64] = np.ascontiguousarray(dataset.values[:, kept])
    further: dict[str, Any] = {}
    for key in ("columns", "types", "positions", "scales"):
        all_of = getattr(dataset, key)
        further[key] = None if all_of is None else type(all_of)(all_of[j] for j in kept)
    return replace(dataset, values=values, **further)
