"""A sample from the posterior over partitions, and its estimates."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.analysis.alternatives import predictive_densities
from splitmerge_cli.analysis.pages import html
from splitmerge_cli.analysis.predictive import Prediction, predict
from splitmerge_cli.api.updating import update
from splitmerge_cli.config import ConfigError
from splitmerge_cli.diagnostics import around_estimate, cluster_table, partition_losses, similarity
from splitmerge_cli.diagnostics.cluster_table import number_clusters, plural_of, span
from splitmerge_cli.diagnostics.point_estimate import Estimate
from splitmerge_cli.extras import name_missing
from splitmerge_cli.fits.objects import DataNote, warn, warn_of_data
from splitmerge_cli.fits.stored_draws import Table
from splitmerge_cli.kinds.documents import Documents, stored
from splitmerge_cli.kinds.documents import stored as documents
from splitmerge_cli.kinds.networks.links import LinkAnswers
from splitmerge_cli.kinds.records.linkage import EntityAnswers
from splitmerge_cli.kinds.tables.outcomes import OutcomeAnswers
from splitmerge_cli.runs import checks, grouping, summaries
from splitmerge_cli.runs.answers import answers_of, interval_of_run, searched_interval
from splitmerge_cli.runs.draws import draws_of
from splitmerge_cli.runs.store import schema

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Posterior(OutcomeAnswers, LinkAnswers, EntityAnswers):
    """A sample from the posterior over partitions: the run that made it, and the data.

    Draws are the recorded states of the second halves of the chains, in the order of the chains. Whatever summarises
    them warns (`NotConverged`) where `caution` says why not to believe it.

    Parameters
    ----------
    run : Run
    dataset : Dataset, optional
        The data; by default they are loaded again where they are needed.
    temporary : str, optional
        A folder that is removed when nobody holds the run any more.

    Attributes
    ----------
    run : Run
        The tables of the run: `trace`, `moves`, `diagnostics` and others, as data frames.
    """

    def __repr__(self) -> str:
        return "Posterior(" + ", ".join(value for _, value in self._facts()) + ")"

    def _repr_html_(self) -> str:
        return html.facts(self._facts())

    def _facts(self) -> list[tuple[str, str]]:
        """Clusters, verdict, sampler and chains in words."""
        config, run = self.run.config, self.run
        unit = plural_of(self._model.kind.cluster)
        how = f"{config['sampler']['name']} on {config['model']['name']}"
        if (missing := run.missing) is not None:
            return [("not finished", missing), ("sampler", how)]
        K = grouping.listed_clusters(run.summary)
        counted = f"{K:,} {unit if K != 1 else unit[:-1]}"
        if schema.APART in run.summary:
            counted = grouping.count_listed(self._labels, run.summary)
        judged = self._convergence
        if judged.converged is False:
            number, verdict = "the best state", f"not converged ({judged.description})"
        else:
            low, high = self.n_clusters_interval
            number = f"95 %: {span(low, high)}{'' if low <= K <= high else '; the estimate lies outside'}"
            verdict = f"no sign of non-convergence ({judged.description})" if judged.converged else str(self.caution)
        n_chains, iterations = config["chains"], min(run.summary["iterations"])
        return [
            (unit, f"{counted} ({number})"),
            ("verdict", checks.put_first(run.summary, judged, verdict)),
            *([("groups", groups)] if (groups := grouping.describe_groups(run.summary)) else []),
            ("sampler", how),
            ("chains", f"{n_chains} chain{'s' * (n_chains != 1)} of {iterations:,} iterations"),
            ("draws", f"{len(self._recorded_partitions):,} draws"),
        ]

    @property
    def n_items(self) -> int:
        """int: number of items."""
        return int(self.run.summary["N"]) if self.complete else len(self._labels)

    @property
    def misfit(self) -> Table:
        """pandas.DataFrame: quantities that the model does not describe, the worst first, as in the last lines of a
        run.

        Columns subject, quantity, observed, low, high: 95 % of the data sets that the model makes lie between the last
        two. No rows if nothing was found or checked (``run.summary["fit"]["unchecked"]`` says why).

        Examples
        --------
        >>> points = [[0.0], [0.1], [5.0], [5.2]]
        >>> len(sample("gaussian", points, iterations=200, chains=2, progress="none").misfit)
        0
        """
        unlike = checks.find_unlike(self.run.summary) if self.complete else []
        return Table(unlike, columns=["subject", "quantity", "observed", "low", "high"])

    # -- the partition
    @property
    def labels(self) -> NDArray[np.int32]:
        """ndarray of int32, ``[N]``: the cluster of each item, from 0, as columns of `predict_proba`. Tables, files and
        pictures number clusters from 1: ``labels + 1``.

        The partition of least expected loss, as `point_estimate` finds it; if the chains have not converged, or are
        not finished, the state of highest log joint density.
        Documents: the topics of the tokens, of more than 100,000 tokens in the last state of the best chain.
        """
        self._warn()
        return self._labels

    @cached_property
    def _labels(self) -> NDArray[np.int32]:
        if not self.complete:
            return partition_losses.by_size(self.run.best_state())
        return answers_of(self.dataset.kind).labels(self.run).astype(np.int32)

    @property
    def n_clusters_interval(self) -> tuple[int, int]:
        """tuple of int: the 95 % interval of the number of clusters, from all draws of the second halves, as all
        commands show it."""
        return interval_of_run(self.run)

    def point_estimate(self, loss: Literal["vi", "binder"] = "vi") -> NDArray[np.int32]:
        """The partition of least expected loss with as many clusters as the 95 % interval of K, as a search finds it.

        Parameters
        ----------
        loss : {"vi", "binder"}
            Variation of information, or Binder's loss.

        Returns
        -------
        ndarray of int32, ``[N]``
            Labels from 0, the largest cluster first.

        Warns
        -----
        NotConverged
            See `caution`.
        """
        self._warn()
        return self._estimate(loss).labels

    @cached_property
    def _of_documents(self) -> bool:
        return isinstance(self._model.kind, Documents)

    @cached_property
    def _estimates(self) -> dict[str, Estimate]:
        return {}

    def _estimate(self, loss: str) -> Estimate:
        if loss not in self._estimates:
            found = answers_of(self.dataset.kind)
            interval = searched_interval(self.run)
            self._estimates[loss] = found.estimate(self.partitions, self.dataset, loss, interval)
        return self._estimates[loss]

    @property
    def _facts_of_rows(self) -> Mapping[str, Any]:
        return self.run.summary if self.complete else {}

    @cached_property
    def _dendrogram(self) -> around_estimate.Dendrogram:
        apart = grouping.rows_apart(self._labels, self._facts_of_rows)
        return around_estimate.merge_clusters(self._labels, self.partitions, apart=apart)

    def at(self, clusters: int) -> NDArray[np.int32]:
        """The partition of `labels` at a coarser level: clusters are merged, pair by pair, where the expected variation
        of information rises least.

        Parameters
        ----------
        clusters : int
            How many are left, from 1 to the number in `labels`. With fewer than the posterior has, which `levels`
            says, the level is no estimate of it.

        Returns
        -------
        ndarray of int32, ``[N]``
            Labels from 0 in the order of first appearance.
        """
        self._warn()
        return self._dendrogram.cut(clusters)

    def levels(self, density: bool = False) -> Table:
        """A row for each level of `at`.

        Parameters
        ----------
        density : bool
            Whether the column log_density is added, of held-out items.

        Returns
        -------
        pandas.DataFrame
            Columns clusters, expected_vi (expected variation of information, in nats), and posterior: ``coarser`` than
            the 95 % interval of the number of clusters, ``within`` or ``finer``.
        """
        self._warn()
        low, high = self.n_clusters_interval
        numbers = np.arange(self._dendrogram.n_clusters, 0, -1)
        position = np.select([numbers < low, numbers > high], ["coarser", "finer"], "within")
        table = Table({"clusters": numbers, "expected_vi": self._dendrogram.expected_loss, "posterior": position})
        if density:
            of_levels = predictive_densities(self.run, [self._dendrogram.cut(int(k)) for k in numbers], self.dataset)
            table["log_density"] = np.nan if of_levels is None else of_levels
        return table

    @property
    def groups(self) -> NDArray[np.int32]:
        """ndarray of int32, ``[N]``: the groups of rows between whose clusters the density has no gap.

        With ``options={"gap": 0.25}`` groups are the clusters of a run (`labels`), and levels, certainties and interval
        are theirs.

        Raises
        ------
        ConfigError
            The groups were not looked for: one cluster, other data than dense real columns, too many clusters or
            columns, or chains that have not converged or are not finished.
        """
        summary = self.run.summary if self.run.is_done else {}
        if (summary.get(schema.JOINED_BY) or {"why_not": ""})["why_not"] is None:
            return self.labels
        if (summary_groups := summary.get(schema.GROUPS)) is None:
            raise ConfigError(
                f"{self.run.path}: no groups of clusters were computed; expected a finished run on dense real "
                "columns, none of them a sum of others, with several clusters, but not many"
            )
        self._warn()
        return np.asarray(summary_groups["labels"], dtype=np.int32)

    def representatives(self, answers: int) -> list[around_estimate.Representative]:
        """Several partitions that represent the posterior, with weights, the largest weight first.

        Each draw belongs to the nearest of them by variation of information, and each has the least expected distance
        from its draws.
        """
        self._warn()
        return around_estimate.representatives(self.partitions, answers)

    def core(self, level: float = 0.95) -> around_estimate.ItemCore:
        """The most items, as a search finds them, that are together as listed, all at once, with a probability of at
        least `level`."""
        self._warn()
        return around_estimate.find_item_core(self.partitions, level)

    def similarity(self, items: ArrayLike | None = None) -> NDArray[np.float64]:
        """Co-clustering of items: the share of the draws in which two are in one cluster.

        Parameters
        ----------
        items : array_like of int, optional
            Rows that are wanted, by number from 0; by default all, of 10,000 items at most.

        Returns
        -------
        ndarray of float64, ``[N, N]`` or ``[len(items), N]``
        """
        self._warn()
        if items is None:
            return similarity.co_clustering(self.partitions)
        return similarity.co_clustering_rows(self.partitions, items)

    def credible_ball(self, level: float = 0.95, loss: Literal["vi", "binder"] = "vi") -> around_estimate.CredibleBall:
        """The credible ball around the point estimate: its radius, and the partitions at its edge.

        Parameters
        ----------
        level : float
            Share of the posterior that it holds at least.
        loss : {"vi", "binder"}
            The distance, and the loss of the point estimate.
        """
        self._warn()
        return around_estimate.credible_ball(self._estimate(loss).labels, self.partitions, level, loss)

    def membership(self) -> Table:
        """How certain the cluster of each item is.

        Returns
        -------
        pandas.DataFrame
            One row for each item, by name where it has one: unit (where rows of one unit stay together), cluster
            (numbered from 1), certainty (probability of being in one cluster with a random other member; of one alone
            the probability of being alone), second (the other cluster that it is most likely in instead; missing: in
            none) and second_probability (of being with a random member of `second` and not with one of its own
            cluster). Members are units where rows have some.
        """
        self._warn()
        return self._membership()

    def _membership(self) -> Table:
        labels = self._labels
        memberships = similarity.membership(self.partitions, labels, self.dataset.items)
        first = self.run.first_cluster
        second = pd.arrays.IntegerArray(number_clusters(memberships.second, first), memberships.second < 0)
        columns = (number_clusters(labels, first), memberships.certainty, second, memberships.second_probability)
        names, units = self.dataset.names or range(len(labels)), self.dataset.unit_names
        table = dict(zip(("cluster", *schema.MEMBERSHIP), columns, strict=True))
        if (apart := self._facts_of_rows.get(schema.APART)) is not None:
            table[apart["word"]] = np.array(apart["probability"])
        return Table(table if units is None else {schema.UNIT: units} | table, pd.Index(names, name="item"))

    # -- in the data's own terms
    def cluster_summary(self) -> Table:
        """A row for each cluster of `labels`: size, certainty, a prototype, where it differs most.

        Documents: top words, and the mean certainty of the tokens if the run recorded partitions.
        """
        self._warn()
        first = self.run.first_cluster
        if self._of_documents:
            eta = documents.eta_of(self.run.config)
            table = Table(stored.summary(self.dataset, self._labels, eta, first_cluster=first))
            if len(self._recorded_partitions):
                sure = self._membership()["certainty"].groupby(self._labels).mean()
                table.insert(3, "certainty", sure[table["cluster"] - first].to_numpy())
            return table
        certainty = self._membership()["certainty"]
        table = Table(cluster_table.describe_clusters(self.dataset, self._labels, certainty, first_cluster=first))
        summaries.mark_apart(table, self._labels, self._facts_of_rows, first)
        return table

    def topic_word(self) -> NDArray[np.float64]:
        """Documents: posterior means of the probabilities of words in each topic of `labels`.

        Returns
        -------
        ndarray of float64, ``[K, V]``
            Words in the order of ``dataset.vocabulary``; rows sum to 1.

        Raises
        ------
        ConfigError
            The model is another than ``hdp``.
        """
        if not self._of_documents:
            raise ConfigError(f"model={self.run.config['model']['name']} has no topics; expected model=hdp")
        self._warn()
        return stored.topic_word(self.dataset, self._labels, documents.eta_of(self.run.config))

    def column_summary(self) -> Table:
        """A row for each cluster of `labels` and column of a table: mean, interval, divergence from the rest.

        Raises
        ------
        ConfigError
            The data are no table of columns.
        """
        frame = cluster_table.describe_columns(self.dataset, self._labels, first_cluster=self.run.first_cluster)
        if frame is None:
            raise ConfigError(f"model={self.run.config['model']['name']} has no columns; expected a table")
        self._warn()
        # of a number there is no level, which is None beside words
        return Table(frame | {"level": pd.Series(frame["level"], dtype=object)})

    # -- new items
    def predict_proba(self, new: Any, *, states: int | None = None, standard_error: bool = False) -> Any:
        """Probability that new items join each cluster of `labels`.

        Parameters
        ----------
        new : object
            n items, in the form of the data; a network: ties of new nodes to the nodes of the data, ``[n, N]``.
            Documents: texts, lists of words or counts; words that the data do not have are left out, with a warning.
        states : int, optional
            Draws that are averaged, at most. By default 200 (documents: 50), then twice as many again and again, up to
            4,000 (800), until the standard error is at most 0.01 for 99 % of the items.
        standard_error : bool
            Whether the Monte Carlo standard errors are returned, too.

        Returns
        -------
        ndarray of float64, ``[n, K + 1]``
            Means over the draws; the last column: a cluster of its own. Rows sum to 1. Documents: expected proportions
            of the topics, the last column being all topics that no token of the data has. With `standard_error` a pair:
            these, and their standard errors of the same shape, by the spread of batches of successive draws.
        """
        probability = self._predict(new, "probability", states)
        return (probability.probability, probability.probability_error) if standard_error else probability.probability

    def predict(self, new: Any, *, states: int | None = None) -> NDArray[np.int32]:
        """The most probable cluster of `labels` for new items; -1: a cluster of its own. Documents: the largest topic.

        Parameters as for `predict_proba`; returns int32 ``[n]``.
        """
        probability = self.predict_proba(new, states=states)
        best = probability.argmax(axis=1).astype(np.int32)
        best[best == probability.shape[1] - 1] = -1
        return best

    def log_predictive(self, new: Any, *, states: int | None = None, standard_error: bool = False) -> Any:
        """Log predictive density of new items, each alone, averaged over the draws.

        Parameters as for `predict_proba`; returns float64 ``[n]``, natural logarithm, in the units of the data, with
        `standard_error` a pair with their Monte Carlo standard errors (nats), float64 ``[n]``. Documents: the
        probability of all words together, in their order, 0 of an empty document; a particle filter estimates it, so
        that the logarithm is a little low.
        """
        density = self._predict(new, "density", states)
        return (density.log_density, density.log_density_error) if standard_error else density.log_density

    def _predict(self, new: Any, wanted: Literal["density", "probability"], states: int | None) -> Prediction:
        self._warn()
        if self._recorded_partitions.empty:
            self.partitions  # noqa: B018 - says why there are none
        if self._of_documents:
            limits = documents.FIRST_STATES, documents.MOST_STATES
            draws = draws_of(self.run, states, self._recorded_partitions, *limits)
            return documents.predict(self.run, self._model, self.dataset, new, draws, self._labels, wanted)
        draws = draws_of(self.run, states, self._recorded_partitions)
        new_items = self.dataset.kind.new_items(self.dataset, new)
        warn_of_data(new_items)
        return predict(self._model, self.dataset, new_items, draws, self._labels, wanted)

    def update(
        self,
        new: Any,
        *,
        iterations: int | None = None,
        seed: int | None = None,
        store: str | Path | None = None,
        progress: str = "auto",
    ) -> "Posterior":
        """Sample from the posterior of the data and new items, starting from the recorded states.

        The settings stay the same. Each chain starts from the last recorded partition of the same chain, in
        which each new item joins a cluster drawn from its predictive probabilities, or founds one of its own.

        Parameters
        ----------
        new : object
            As for `predict`.
        iterations : int, optional
            Iterations of each chain; by default as many as this run has.
        seed : int, optional
            By default one more than the seed of this run.
        store, progress
            See `splitmerge_cli.sample`.

        Returns
        -------
        Posterior
            The posterior of all items, the new ones last. R-hat does not show what all chains of this run missed.

        Raises
        ------
        ConfigError
            This run is not finished, or is of documents; a model whose clusters keep parameters.
        DataError
            The new items are not like the data.
        """
        return Posterior(*update(self.run, self.dataset, new, iterations, seed, store, progress))

    # -- pictures
    @name_missing
    def plot(self, kind: str = "traces") -> "Figure":
        """A picture of the sample, as ``smcmc plot`` draws it.

        Parameters
        ----------
        kind : str
            ``traces``, or another that ``smcmc plot --list RUN`` names.

        Raises
        ------
        ConfigError
            There is no picture of this name for such a run.
        """
        from splitmerge_cli.analysis.plots.run import available, pictures
        from splitmerge_cli.analysis.plots.style import absent_letters, use_style

        with use_style(display=True):
            for _, figure in pictures(self.run, [kind]):
                if (note := absent_letters()) is not None:
                    warn(note, DataNote)
                if kind != "traces":  # which show whether the chains have converged
                    self._warn()
                return figure
        why = "" if self.caution is None else f" ({self.caution})"
        raise ConfigError(f"kind={kind}: expected one of {', '.join(available(self.run))}{why}")
