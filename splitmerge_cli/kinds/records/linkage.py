"""Answers about entities, of which the items are records; and quantities of records that check the model: in how many
fields records of one entity differ, and whether fields depend on each other.
"""

from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.config import ConfigError
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.diagnostics.small_clusters import LinkedPairs, find_linked_pairs
from splitmerge_cli.fits.stored_draws import StoredDraws, Table
from splitmerge_cli.kinds.records import Records, weights
from splitmerge_cli.kinds.records import entities as tables
from splitmerge_cli.kinds.records.entities import BOTH, LEAST, MOST_REVIEWED, ONE, SEVERAL
from splitmerge_cli.runs.checks import Effect, Found, Labels, Quantities
from splitmerge_cli.runs.store.schema import PARAMETERS


class EntityAnswers(StoredDraws):
    """The part of a `Posterior` with the entities of records."""

    @cached_property
    def _labels(self) -> NDArray[np.int32]:
        raise NotImplementedError

    def entities(self) -> Table:
        """The entities of `labels`, each with its merged record.

        Returns
        -------
        pandas.DataFrame
            One row for each entity, as in `cluster_summary` numbered from 1: entity, records (how many it has),
            certainty (mean of `membership` over its records; missing without recorded partitions), and every field: the
            most probable true value given the records of the entity, empty where all of them lack it.

        Raises
        ------
        ConfigError
            The model is of other data.

        Examples
        --------
        >>> people = {"name": ["ann smith", "ann smth", "bob jones"], "year": ["1980", "1980", "1975"]}
        >>> found = sample("records", people, iterations=200, chains=2, progress="none")
        >>> list(found.entities())
        ['entity', 'records', 'certainty', 'name', 'year']
        """
        self._require_records()
        certainty = self._membership()["certainty"].to_numpy() if len(self._recorded_partitions) else None
        of_run = self._model, self.dataset, self._labels, self._mean_parameters()
        return Table(tables.list_entities(*of_run, certainty, self.run.first_cluster))

    def pairs(self, least: float = LEAST) -> Table:
        """Pairs of records that may be of one entity, with their probability.

        Parameters
        ----------
        least : float
            Least probability of a pair. 0: every pair that is in one entity in some draw.

        Returns
        -------
        pandas.DataFrame
            One row for each pair, the most probable first: row, other (positions from 0), name, other_name (where
            records have names), probability (share of the draws in which the two are in one entity), standard_error
            (Monte Carlo, from the spread of the chains; missing with one chain), together (1: in one entity of
            `labels`).

        Raises
        ------
        ConfigError
            The model is of other data; the run recorded no partition.

        Examples
        --------
        >>> people = {"name": ["ann smith", "ann smth", "bob jones"], "year": ["1980", "1980", "1975"]}
        >>> pairs = sample("records", people, iterations=200, chains=2, progress="none").pairs(least=0.0)
        >>> list(pairs)
        ['row', 'other', 'probability', 'standard_error', 'together']
        """
        self._require_records()
        return Table(tables.list_pairs(self.dataset, self._linked_pairs, self._labels, least, 0))

    def review(self, most: int = MOST_REVIEWED) -> Table:
        """Pairs of records that a person should label, those first that change the answer most.

        Parameters
        ----------
        most : int
            Pairs at most.

        Returns
        -------
        pandas.DataFrame
            One row for each pair: row, other (positions from 0), same (empty: 1 or 0 is to be filled in), probability,
            and the fields of both records side by side, NAME and NAME (other). The next sample takes the pairs with 1
            as ``must_link``, the pairs with 0 as ``cannot_link``.

        Raises
        ------
        ConfigError
            As `pairs`.

        Examples
        --------
        >>> people = {"name": ["ann smith", "ann smth", "bob jones"], "year": ["1980", "1980", "1975"]}
        >>> table = sample("records", people, iterations=200, chains=2, progress="none").review()
        >>> list(table)[:4]
        ['row', 'other', 'same', 'probability']
        """
        self._require_records()
        return Table(tables.list_review(self.dataset, self._linked_pairs, most, 0, draws=self._draws_by_chain))

    def match_weights(self, pairs: ArrayLike | None = None) -> Table:
        """Evidence for and against pairs of records being one entity: the terms of the model, in bits.

        Parameters
        ----------
        pairs : array_like of int, shape (P, 2), optional
            Positions of the records of each pair, from 0. By default the pairs of `review`.

        Returns
        -------
        pandas.DataFrame
            One row for each pair: row, other, probability, then weights (log2 of odds): prior (two single records
            becoming one entity), every field (likelihood ratio of the two cells), copies (what one record being the
            original of the other changes, with ``model.original``), the rest (other records of the entities, links, and
            shares that are not certain), and posterior, the sum of these.

        Raises
        ------
        ConfigError
            As `pairs`; a position that no record has, or a pair of one record.

        Examples
        --------
        >>> people = {"name": ["ann smith", "ann smth", "bob jones"], "year": ["1980", "1980", "1975"]}
        >>> found = sample("records", people, iterations=200, chains=2, progress="none")
        >>> list(found.match_weights([[0, 1]]))
        ['row', 'other', 'probability', 'prior', 'name', 'year', 'the rest', 'posterior']
        """
        self._require_records()
        linked = self._linked_pairs
        ends = self.review()[["row", "other"]].to_numpy() if pairs is None else np.asarray(pairs)
        N = len(self._labels)
        whole = ends.ndim == 2 and ends.shape[1] == 2 and (not len(ends) or ends.dtype.kind in "iu")
        if not whole or ((ends < 0) | (ends >= N)).any() or (ends[:, 0] == ends[:, 1]).any():
            raise ConfigError(f"pairs: expected positions of two different records from 0 to {N - 1}, [pairs, 2]")
        state = weights.State(self._labels, self._mean_parameters(), weights.means_of(self.run.trace()))
        return Table(weights.weigh_pairs(self._model, self.dataset, state, linked, ends.astype(np.int64), 0))

    def thresholds(self) -> Table:
        """How many pairs of records have at least some probability, and how good these are expected to be.

        Returns
        -------
        pandas.DataFrame
            One row for each least probability: probability, pairs, and precision, recall and f1 that the posterior
            expects if these pairs are taken for matches; with the truth also true_precision and true_recall.

        Raises
        ------
        ConfigError
            As `pairs`.

        Examples
        --------
        >>> people = {"name": ["ann smith", "ann smth", "bob jones"], "year": ["1980", "1980", "1975"]}
        >>> list(sample("records", people, iterations=200, chains=2, progress="none").thresholds())
        ['probability', 'pairs', 'precision', 'recall', 'f1']
        """
        self._require_records()
        return Table(weights.list_thresholds(self._linked_pairs, self.dataset.truth))

    @cached_property
    def _draws_by_chain(self) -> dict[int, NDArray[np.int32]]:
        recorded = self._recorded_partitions
        if recorded.empty:
            self.partitions  # noqa: B018 - says why there are none
        by_chain = recorded.groupby("chain")["labels"]
        return {int(c): np.stack(rows.to_list()).astype(np.int32) for c, rows in by_chain}

    @cached_property
    def _linked_pairs(self) -> LinkedPairs:
        return find_linked_pairs(self._draws_by_chain)

    def _mean_parameters(self) -> NDArray[np.float64] | None:
        recorded = self._recorded_partitions
        return np.mean(np.stack(recorded[PARAMETERS].to_list()), axis=0) if PARAMETERS in recorded else None

    def _require_records(self) -> None:
        if not isinstance(self._model.kind, Records):
            raise ConfigError(f"model={self._model.name} has no entities; expected records, of model=records")
        self._warn()

    def _membership(self) -> Table:
        raise NotImplementedError


MOST_CELLS = 2_000_000
"""Cells of records that are drawn, at most."""
MOST_FIELDS = 8
"""Fields of which each two are looked at: the first ones."""
LEAST_BY_CHANCE = 10.0
"""Pairs of entities that agree in two fields by chance, at least, where the fields are compared."""


def _count_pairs(values: Labels) -> float:
    """Pairs of equal values."""
    n = np.unique(values, return_counts=True)[1]
    return float((n * (n - 1.0)).sum() / 2.0)


class RecordQuantities(Quantities):
    """Codes of fields, int32 ``[N, F]``, -1 where a cell is missing."""

    effects: ClassVar = {ONE: Effect(0.1), SEVERAL: Effect(0.1), BOTH: Effect(0.5, is_share=True, is_more=True)}

    def __init__(self, dataset: Dataset, cells: int | None = None) -> None:
        self.values = dataset.values
        self._missing = dataset.values < 0
        self._names = [str(name) for name in dataset.column_names]
        self.unchecked = ["fields one by one: their values' shares are learned", "whether cells are missing by chance"]
        if len(self._names) > MOST_FIELDS:
            self.unchecked.append(f"whether fields depend on each other, but for the first {MOST_FIELDS}")

    @staticmethod
    def explain_unmeasured(dataset: Dataset) -> str | None:
        if dataset.values.size > MOST_CELLS:
            return f"records of more than {MOST_CELLS:,} cells; here are {dataset.values.size:,}"
        return None

    @staticmethod
    def count_work(dataset: Dataset, cells: int) -> int:
        """Its cells, and its pairs of fields."""
        N, F = dataset.values.shape
        return int(N * (F + min(F, MOST_FIELDS) ** 2 / 2))

    def take(self, replication: Any) -> Any:
        return np.where(self._missing, -1, replication)

    def measure(self, x: Any, labels: Labels) -> Found:
        """Pairs of records that follow each other in an entity; and for every two fields pairs of entities, by their
        first records."""
        order = np.argsort(labels, kind="stable")
        here = np.flatnonzero(labels[order][1:] == labels[order][:-1])
        a, b = x[order[here]], x[order[here + 1]]
        differ = ((a != b) & (a >= 0) & (b >= 0)).sum(axis=1)
        found = {
            ("records of one entity", name): float(of.mean()) if len(of) else np.nan
            for name, of in ((ONE, differ == 1), (SEVERAL, differ > 1))
        }
        first = x[order[np.append(0, np.flatnonzero(np.diff(labels[order])) + 1)]].astype(np.int64)
        for f, g in combinations(range(min(x.shape[1], MOST_FIELDS)), 2):
            both = first[(first[:, f] >= 0) & (first[:, g] >= 0)][:, [f, g]]
            together = _count_pairs(both[:, 0] << 32 | both[:, 1])
            pairs = max(len(both) * (len(both) - 1) / 2.0, 1.0)
            by_chance = _count_pairs(both[:, 0]) * _count_pairs(both[:, 1]) / pairs
            share = together / by_chance if by_chance >= LEAST_BY_CHANCE else np.nan
            found[f"{self._names[f]}, {self._names[g]}", BOTH] = share
        return found
