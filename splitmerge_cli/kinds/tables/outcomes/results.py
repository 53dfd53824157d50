"""Answers about an outcome: predictions, effects of clusters, and whether it helps to form them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from splitmerge_cli.config import ConfigError
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.objects import as_pandas
from splitmerge_cli.fits.frames import Table
from splitmerge_cli.fits.short_fits import sample_by
from splitmerge_cli.fits.stored_draws import StoredDraws
from splitmerge_cli.kinds.tables.outcomes.predictions import outcome_densities, predict_outcome
from splitmerge_cli.runs.draws import draws_of
from splitmerge_cli.runs.store.read import Run

OF_OUTCOME = ("outcome", "effects", "slope_weight")
"""Options that only a model with an outcome has."""
PER_COLUMN = ("m0", "b0", "rate", "cuts", "resolution")
"""Options that may have a number for each column."""
STATES = 200
"""Draws over which held-out densities are averaged."""


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


class OutcomeAnswers(StoredDraws):
    """The part of a `Posterior` with an outcome (``model.outcome``)."""

    def predict_outcome(self, new: Any, *, level: float = 0.9, states: int | None = None) -> Table:
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
        items = self.dataset.kind.new_items(self.dataset, self._with_outcome(new))
        found = predict_outcome(self._model, self.dataset, items, draws, level, self.run.config["seed"])
        if found.probability is not None:
            return Table(found.probability, columns=list(found.levels))
        return Table({"mean": found.mean, "low": found.low, "high": found.high})

    def effects(self) -> Table:
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
        table = Table(found["rows"], columns=["cluster", "term", "mean", "low", "high"])
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
        fits = sample_by(None, seed)
        whole = fits(of_model)(train)
        others = fits({key: value for key, value in of_model.items() if key not in OF_OUTCOME})(
            without_columns(train, [self._outcome, *self._effects])
        )
        found = [outcome_densities(whole.model, train, test, fit.thin(STATES)) for fit in (whole, others)]
        difference = found[0] - found[1]
        error = float(difference.std(ddof=1) / np.sqrt(len(difference))) if len(difference) > 1 else float("nan")
        return OutcomeGain(self._outcome, len(chosen), float(found[0].mean()), float(found[1].mean()), error)

    @property
    def _outcome(self) -> str:
        return self._name_of(self._model.as_typed.get("outcome"))

    @property
    def _effects(self) -> list[str]:
        return [self._name_of(column) for column in self._model.as_typed.get("effects") or ()]

    def _name_of(self, column: Any) -> str:
        return self.dataset.column_names[column - 1] if isinstance(column, int) else str(column)

    def _with_outcome(self, new: Any) -> Any:
        """New rows with a column for the outcome, if they are a data frame without it."""
        table = as_pandas(new)
        if not isinstance(table, pd.DataFrame) or self._model.as_typed.get("outcome") is None:
            return new
        return table if self._outcome in map(str, table.columns) else table.assign(**{self._outcome: np.nan})


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

    def of_kept(values: Any) -> Any:
        return None if values is None else type(values)(values[j] for j in kept)

    values: NDArray[np.float64] = np.ascontiguousarray(dataset.values[:, kept])
    return replace(
        dataset,
        values=values,
        columns=of_kept(dataset.columns),
        types=of_kept(dataset.types),
        positions=of_kept(dataset.positions),
        scales=of_kept(dataset.scales),
    )
