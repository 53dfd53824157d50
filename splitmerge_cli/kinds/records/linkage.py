"""Answers about entities, of which the items are records."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.config import ConfigError
from splitmerge_cli.diagnostics.small_clusters import LinkedPairs, find_linked_pairs
from splitmerge_cli.fits.frames import Table
from splitmerge_cli.fits.stored_draws import StoredDraws
from splitmerge_cli.kinds.records import Records
from splitmerge_cli.kinds.records.entities import LEAST, MOST_REVIEWED, list_entities, list_pairs, list_review
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
        self._warn()
        recorded = self._recorded_partitions
        certainty = self._membership()["certainty"].to_numpy() if len(recorded) else None
        mean = np.mean(np.stack(recorded[PARAMETERS].to_list()), axis=0) if PARAMETERS in recorded else None
        return Table(list_entities(self._model, self.dataset, self._labels, mean, certainty, self.run.first_cluster))

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
        self._warn()
        return Table(list_pairs(self.dataset, self._linked_pairs, self._labels, least, 0))

    def review(self, most: int = MOST_REVIEWED) -> Table:
        """Pairs of records that a person should label, those with a probability nearest to 0.5 first.

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
        self._warn()
        return Table(list_review(self.dataset, self._linked_pairs, most, 0))

    @cached_property
    def _linked_pairs(self) -> LinkedPairs:
        recorded = self._recorded_partitions
        if recorded.empty:
            self.partitions  # noqa: B018 - says why there are none
        return find_linked_pairs(
            {
                int(chain): np.stack(rows.to_list()).astype(np.int32)
                for chain, rows in recorded.groupby("chain")["labels"]
            }
        )

    def _require_records(self) -> None:
        if not isinstance(self._model.kind, Records):
            raise ConfigError(f"model={self._model.name} has no entities; expected records, of model=records")

    def _membership(self) -> Table:
        raise NotImplementedError
