"""A sample from the posterior over partitions, and what it says."""

import io
import shutil
import tempfile
import weakref
import zipfile
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.api.cautions import DataNote, NotConverged, warn
from splitmerge_cli.api.tables import Table
from splitmerge_cli.config import Component, ConfigError
from splitmerge_cli.data.base import DataError, Dataset
from splitmerge_cli.data.given import hold
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.extras import name_missing
from splitmerge_cli.kinds import get_kind
from splitmerge_cli.results.read import Run
from splitmerge_cli.results.schema import hyperparameters
from splitmerge_cli.runs.stored import specification_of

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

    from splitmerge_cli.diagnostics.convergence import Convergence
    from splitmerge_cli.diagnostics.core import Core
    from splitmerge_cli.diagnostics.credible_ball import CredibleBall
    from splitmerge_cli.diagnostics.levels import Levels
    from splitmerge_cli.diagnostics.point_estimate import Estimate
    from splitmerge_cli.diagnostics.representatives import Representative
    from splitmerge_cli.studies.predictive import Prediction


class Posterior:
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

    def __init__(self, run: Run, dataset: Dataset | None = None, temporary: str | None = None) -> None:
        self.run, self._dataset = run, dataset
        if temporary is not None:
            run.remedy = "with store=FOLDER the same call would continue it"
            weakref.finalize(run, shutil.rmtree, temporary, ignore_errors=True)
        self._estimates: dict[str, Estimate] = {}

    def __repr__(self) -> str:
        return "Posterior(" + ", ".join(value for _, value in self._facts()) + ")"

    def _repr_html_(self) -> str:
        from splitmerge_cli.pages import html

        return html.facts(self._facts())

    def _facts(self) -> list[tuple[str, str]]:
        """Clusters, verdict, sampler and chains in words."""
        config, run = self.run.config, self.run
        what = "topics" if self._of_documents else "clusters"
        how = f"{config['sampler']['name']} on {config['model']['name']}"
        if (missing := run.missing) is not None:
            return [("not finished", missing), ("sampler", how)]
        K = run.summary["point_estimate"]["n_clusters"]
        judged = self._convergence
        if judged.converged is False:
            number, verdict = "the best state", f"not converged ({judged.description})"
        else:
            low, high = self.n_clusters_interval
            number = f"95 %: {low:,} to {high:,}{'' if low <= K <= high else '; the estimate lies outside'}"
            verdict = f"no sign of non-convergence ({judged.description})" if judged.converged else str(self.caution)
        made, iterations = config["chains"], min(run.summary["iterations"])
        return [
            (what, f"{K:,} {what if K != 1 else what[:-1]} ({number})"),
            ("verdict", verdict),
            ("sampler", how),
            ("chains", f"{made} chain{'s' * (made != 1)} of {iterations:,} iterations"),
            ("draws", f"{len(self._recorded_partitions):,} draws"),
        ]

    @classmethod
    def load(cls, path: str | Path, data: Any = None, truth: ArrayLike | None = None) -> Self:
        """The sample of a run's folder, which is checked as a whole.

        Parameters
        ----------
        path : str or Path
            What ``smcmc run`` printed, or `path` of another sample.
        data : object, optional
            The data, where `sample` was given them as an object: predictions need them.
        truth : array_like, optional
            The true labels that `sample` was given with them.

        Raises
        ------
        FileNotFoundError
            There is no run.
        DamagedRun
            A file is not what was written.
        """
        from splitmerge_cli.runs import open_run

        run = open_run(path)
        dataset = None
        if data is not None:
            from splitmerge_cli.api.selection import columns_read, default_words

            kind, wanted = specification_of(run).model.kind, run.config["data"].get("sha256")

            # words that were left out
            words: dict[str, Any] = {}
            if kind.has_topics:
                words = run.summary["documents"]["options"] if run.is_done else default_words(kind)

            def read(given: Any, **options: Any) -> Dataset | None:
                found = from_object(given, kind.name, truth, **options)
                return found if wanted is None or hold(found) == wanted else None

            try:
                dataset = read(data, **words)
            except DataError:
                dataset = None
            # model=auto leaves out what is no data of a frame
            dataset = dataset or read(columns_read(data))
            if dataset is None and kind.has_columns:
                dataset = read(data, repeated="once")
            if dataset is None:
                raise ConfigError(f"data: expected those of {path}, true labels included (digest {wanted[:12]})")
        return cls(run, dataset)

    def __getstate__(self) -> dict[str, Any]:
        """The run's folder and the data, for a pickle.

        A pickle is for your own processes. Reading one runs whatever code it names, so that of a stranger can do
        anything: pass on the folder `path` (`load` checks all of it), or ``traces.to_netcdf(FILE)``.
        """
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
            for file in sorted(self.run.path.rglob("*")):
                if file.is_file():
                    archive.write(file, file.relative_to(self.run.path))
        return {"run": packed.getvalue(), "name": self.run.path.name, "dataset": self._dataset}

    def __setstate__(self, state: dict[str, Any]) -> None:
        folder = tempfile.mkdtemp(prefix="smcmc-")
        path = Path(folder) / state["name"]
        with zipfile.ZipFile(io.BytesIO(state["run"])) as archive:
            archive.extractall(path)
        if state["dataset"] is not None:
            hold(state["dataset"])
        self.__init__(Run(path), state["dataset"], folder)  # type: ignore[misc]

    @property
    def path(self) -> Path:
        """Path: the folder of the run."""
        return self.run.path

    @property
    def complete(self) -> bool:
        """bool: whether all chains made what was asked for; False after Ctrl-C."""
        return self.run.is_done

    @property
    def dataset(self) -> Dataset:
        """Dataset: the data of the run."""
        if self._dataset is None:
            from splitmerge_cli.runs import dataset_of

            self._dataset = dataset_of(self.run)
        return self._dataset

    @property
    def n_items(self) -> int:
        """int: number of items."""
        return int(self.run.summary["N"]) if self.complete else len(self._labels)

    # -- draws
    @cached_property
    def _recorded_partitions(self) -> pd.DataFrame:
        """Recorded partitions of the second halves, of each chain at one spacing."""
        from splitmerge_cli.studies.predictive import recorded_partitions

        return recorded_partitions(self.run)

    @cached_property
    def partitions(self) -> NDArray[np.int32]:
        """ndarray of int32, ``[draws, N]``: the labels of the items in every draw.

        Raises
        ------
        ConfigError
            The run recorded none.
        FileNotFoundError
            The unfinished run has not recorded one yet.
        """
        if self._recorded_partitions.empty:
            if (missing := self.run.missing) is not None and self.run.config["trace"]["partitions"] != 0:
                raise FileNotFoundError(f"{self.path}: no recorded partition yet: {missing}")
            raise ConfigError(
                "trace.partitions: the run recorded no partition; expected options={'trace.partitions': 10}"
            )
        return np.stack(self._recorded_partitions["labels"].to_list()).astype(np.int32)

    @cached_property
    @name_missing
    def traces(self) -> "xarray.DataTree":
        """xarray.DataTree: the traces in ArviZ's form.

        Groups ``posterior`` (K, hyper-parameters) and ``sample_stats`` (lp: log joint density; log_lik) hold the second
        halves of the chains, ``warmup_posterior`` and ``warmup_sample_stats`` the first ones. Chains of unequal length
        are cut to the shortest. ``to_netcdf`` and ``to_zarr`` write it.
        """
        from arviz_base import from_dict

        trace = self.run.trace()
        chains = [chain.sort_values("iteration") for _, chain in trace.groupby("chain")]
        length = min(map(len, chains)) // 2
        of_state = ["K", *hyperparameters(trace.columns)]
        groups: dict[str, dict[str, Any]] = {}
        for prefix, last in (("warmup_", length), ("", 0)):
            rows = [chain.iloc[len(chain) - last - length : len(chain) - last] for chain in chains]
            groups[f"{prefix}posterior"] = {name: np.stack([row[name] for row in rows]) for name in of_state}
            stats = {"lp": "log_joint", "log_lik": "log_lik"}
            groups[f"{prefix}sample_stats"] = {
                name: np.stack([row[column] for row in rows]) for name, column in stats.items()
            }
        return from_dict(
            groups,
            save_warmup=True,
            attrs={"/": {"inference_library": "smcmc", "sampler": self.run.config["sampler"]["name"]}},
        )

    # -- convergence
    @property
    def _convergence(self) -> "Convergence":
        """The judgement on the chains, of an unfinished run as they are so far."""
        from splitmerge_cli.runs.judgement import judgement_of

        return judgement_of(self.run)

    @cached_property
    def rhat(self) -> float:
        """float: the largest R-hat of all quantities that were recorded, as ``smcmc diagnose`` lists them; of an
        unfinished run that of the chains so far. inf where it is infinite because chains keep apart, nan where it is
        undefined: of one chain, of few draws, and where nothing changes."""
        judged = self._convergence
        if judged.rhat is None:
            return float("inf") if judged.converged is False else float("nan")
        return float(judged.rhat)

    @property
    def converged(self) -> bool:
        """bool: whether the run is finished and its chains show no sign of non-convergence, as ``smcmc diagnose`` says:
        `rhat` is below 1.1, and the chains have left the number of clusters that all began with. False where that
        cannot be told, such as of one chain."""
        return self.complete and bool(self._convergence.converged)

    @property
    def caution(self) -> str | None:
        """str or None: why not to believe the results: the run is not finished, and what it has; the
        chains have not converged, or cannot show it. None where they show no sign of non-convergence."""
        if (missing := self.run.missing) is not None:
            return f"the run is not finished: {missing}"
        judged = self._convergence
        if judged.converged:
            return None
        if judged.converged is None:
            return f"cannot tell whether the chains have converged: {judged.note}"
        return f"the chains have not converged ({judged.description}): run more iterations, or another sampler"

    def _warn(self) -> None:
        if (caution := self.caution) is not None:
            warn(caution, NotConverged)

    # -- the partition
    @property
    def labels(self) -> NDArray[np.int32]:
        """ndarray of int32, ``[N]``: the clusters that the run gives, as ``clusters.csv`` lists them.

        The partition of least expected loss, as `point_estimate` finds it; where the chains have not converged, or are
        not finished, the state of highest log joint density: chains that keep apart have no partition in common.
        Documents: the topics of the tokens; of more than 100,000 tokens those of the last state of the best chain.
        """
        self._warn()
        return self._labels

    @cached_property
    def _labels(self) -> NDArray[np.int32]:
        if not self.complete:
            return self.run.best_state()
        labels = self.run.summary["point_estimate"].get("labels")
        if labels is None:  # long documents, whose topics are in a table alone
            labels = self.run.tokens(["topic"])["topic"]
        return np.asarray(labels, dtype=np.int32)

    @property
    def n_clusters_interval(self) -> tuple[int, int]:
        """tuple of int: the 95 % interval of the number of clusters, from all draws of the second halves, as all
        commands show it."""
        from splitmerge_cli.runs.clusterings import interval_of_run

        return interval_of_run(self.run)

    def point_estimate(self, loss: Literal["vi", "binder"] = "vi") -> NDArray[np.int32]:
        """The partition of least expected loss with as many clusters as the 95 % interval of K, as a search finds it.

        Parameters
        ----------
        loss : {"vi", "binder"}
            Variation of information, or Binder's loss; to separate what is together costs more than to join what is
            apart (`splitmerge_cli.diagnostics.point_estimate.COST`).

        Returns
        -------
        ndarray of int32, ``[N]``
            Labels from 0 in the order of first appearance.

        Warns
        -----
        NotConverged
            See `caution`. What chains that have not converged have in common depends on where they began.
        """
        self._warn()
        return self._estimate(loss).labels

    def _estimate(self, loss: str) -> "Estimate":
        from splitmerge_cli.diagnostics.point_estimate import estimate_partition

        if loss not in self._estimates:
            self._estimates[loss] = estimate_partition(self.partitions, loss, self.n_clusters_interval)
        return self._estimates[loss]

    @cached_property
    def _levels(self) -> "Levels":
        from splitmerge_cli.diagnostics.levels import merge_levels

        return merge_levels(self._labels, self.partitions)

    def at(self, clusters: int) -> NDArray[np.int32]:
        """The partition of `labels` at a coarser level: clusters are merged, pair by pair, where the expected variation
        of information rises least.

        Parameters
        ----------
        clusters : int
            How many are left, from 1 to those of `labels`. Where there are fewer than the posterior has, which `levels`
            says, the level is coarser than the posterior, and no estimate of it.

        Returns
        -------
        ndarray of int32, ``[N]``
            Labels from 0 in the order of first appearance.
        """
        self._warn()
        return self._levels.cut(clusters)

    def levels(self, density: bool = False) -> Table:
        """A row for each level of `at`.

        Parameters
        ----------
        density : bool
            Whether the column log_density is added, of held-out items
            (`splitmerge_cli.studies.levels.predictive_densities`).

        Returns
        -------
        pandas.DataFrame
            Columns clusters, expected_vi (expected variation of information, in nats), and posterior: ``coarser`` than
            the 95 % interval of the number of clusters, ``within`` or ``finer``.
        """
        from splitmerge_cli.studies.levels import predictive_densities

        self._warn()
        low, high = self.n_clusters_interval
        numbers = np.arange(self._levels.n_clusters, 0, -1)
        beside = np.select([numbers < low, numbers > high], ["coarser", "finer"], "within")
        found = Table({"clusters": numbers, "expected_vi": self._levels.expected_loss, "posterior": beside})
        if density:
            of_levels = predictive_densities(self.run, [self._levels.cut(int(k)) for k in numbers], self.dataset)
            found["log_density"] = np.nan if of_levels is None else of_levels
        return found

    def representatives(self, answers: int) -> "list[Representative]":
        """Several partitions that stand for the posterior, with weights, that of the largest weight first.

        Each draw belongs to the nearest of them by variation of information, and each has the least expected distance
        from its draws. See `splitmerge_cli.diagnostics.representatives`.
        """
        from splitmerge_cli.diagnostics.representatives import representatives

        self._warn()
        return representatives(self.partitions, answers)

    def core(self, level: float = 0.95) -> "Core":
        """The most items, as a search finds them, that are together as listed, all at once, with a probability of at
        least `level`. See `splitmerge_cli.diagnostics.core`."""
        from splitmerge_cli.diagnostics.core import find_core

        self._warn()
        return find_core(self.partitions, level)

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
        from splitmerge_cli.diagnostics import similarity

        self._warn()
        if items is None:
            return similarity.co_clustering(self.partitions)
        return similarity.co_clustering_rows(self.partitions, items)

    def credible_ball(self, level: float = 0.95, loss: Literal["vi", "binder"] = "vi") -> "CredibleBall":
        """The credible ball around the point estimate: its radius, and the partitions at its edge.

        Parameters
        ----------
        level : float
            Share of the posterior that it holds at least.
        loss : {"vi", "binder"}
            The distance, and the loss of the point estimate.
        """
        from splitmerge_cli.diagnostics.credible_ball import credible_ball

        self._warn()
        return credible_ball(self._estimate(loss).labels, self.partitions, level, loss)

    def membership(self) -> Table:
        """How sure it is where each item belongs.

        Returns
        -------
        pandas.DataFrame
            One row for each item, by name where it has one: cluster (as in `labels`), certainty (probability of being
            in one cluster with a random other member; of one alone the probability of being alone), second (the other
            cluster that it is most likely in instead; -1 where it is in none) and second_probability (of being with a
            random member of `second` and not with one of its own cluster). certainty and second_probability add up to 1
            at most. See `splitmerge_cli.diagnostics.similarity.Membership`.
        """
        self._warn()
        return self._membership()

    def _membership(self) -> Table:
        from splitmerge_cli.diagnostics.similarity import membership

        labels = self._labels
        found = membership(self.partitions, labels)
        return Table(
            {
                "cluster": labels,
                "certainty": found.certainty,
                "second": found.second,
                "second_probability": found.second_probability,
            },
            index=pd.Index(self.dataset.names, name="item")
            if self.dataset.names
            else pd.RangeIndex(len(labels), name="item"),
        )

    # -- in the data's own terms
    @cached_property
    def _model(self) -> Component:
        return specification_of(self.run).model

    @property
    def _of_documents(self) -> bool:
        return self._model.kind.has_topics

    def cluster_summary(self) -> Table:
        """A row for each cluster of `labels`: size, certainty, a prototype, what tells it from the others.

        See `splitmerge_cli.diagnostics.cluster_summary.clusters`; documents:
        `splitmerge_cli.diagnostics.topic_summary.summary`, and the mean certainty of the tokens where the run recorded
        partitions.
        """
        self._warn()
        if self._of_documents:
            from splitmerge_cli.api.documents import eta_of
            from splitmerge_cli.diagnostics.topic_summary import summary

            found = Table(summary(self.dataset, self._labels, eta_of(self.run.config)))
            if len(self._recorded_partitions):
                sure = self._membership()["certainty"].groupby(self._labels).mean()
                found.insert(3, "certainty", sure[found["cluster"]].to_numpy())
            return found
        from splitmerge_cli.diagnostics.cluster_summary import clusters

        return Table(clusters(self.dataset, self._labels, self._membership()["certainty"]))

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
        from splitmerge_cli.api.documents import eta_of
        from splitmerge_cli.diagnostics.topic_summary import topic_word

        if not self._of_documents:
            raise ConfigError(f"model={self.run.config['model']['name']}: has no topics; expected model=hdp")
        self._warn()
        return topic_word(self.dataset, self._labels, eta_of(self.run.config))

    def column_summary(self) -> Table:
        """A row for each cluster of `labels` and column of a table: mean, interval, divergence from the rest.

        See `splitmerge_cli.diagnostics.cluster_summary.columns`.

        Raises
        ------
        ConfigError
            The data are no table of columns.
        """
        from splitmerge_cli.diagnostics.cluster_summary import columns

        if not get_kind(self.dataset.kind).has_columns:
            raise ConfigError(f"model={self.run.config['model']['name']}: has no columns; expected a table of them")
        self._warn()
        return Table(columns(self.dataset, self._labels))

    # -- new items
    def predict_proba(self, new: Any, *, states: int | None = None, standard_error: bool = False) -> Any:
        """Probability that new items join each cluster of `labels`.

        Parameters
        ----------
        new : object
            n items, as the data were given; a network: ties of new nodes to those of the data, ``[n, N]``. Documents:
            texts, lists of words or counts; words that the data do not have are left out, with a warning.
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
        found = self._predict(new, "probability", states)
        return (found.probability, found.probability_error) if standard_error else found.probability

    def predict(self, new: Any, *, states: int | None = None) -> NDArray[np.int32]:
        """The most probable cluster of `labels` for new items; -1: a cluster of its own. Documents: the largest topic.

        Parameters as for `predict_proba`; returns int32 ``[n]``.
        """
        probability = self.predict_proba(new, states=states)
        best = probability.argmax(axis=1).astype(np.int32)
        best[best == probability.shape[1] - 1] = -1
        return best

    def log_predictive(self, new: Any, *, states: int | None = None, standard_error: bool = False) -> Any:
        """Log predictive density of new items, each by itself, averaged over the draws.

        Parameters as for `predict_proba`; returns float64 ``[n]``, natural logarithm, in the units of the data, with
        `standard_error` a pair with their Monte Carlo standard errors (nats), float64 ``[n]``. Documents: the
        probability of all words together, in their order, 0 of an empty document; a particle filter estimates it, so
        that the logarithm is a little low.
        """
        found = self._predict(new, "density", states)
        return (found.log_density, found.log_density_error) if standard_error else found.log_density

    def _predict(self, new: Any, wanted: Literal["density", "probability"], states: int | None) -> "Prediction":
        from splitmerge_cli.studies import predictive

        self._warn()
        if self._recorded_partitions.empty:
            self.partitions  # noqa: B018 - says why there are none
        if self._of_documents:
            from splitmerge_cli.api import documents

            limits = documents.FIRST_STATES, documents.MOST_STATES
            draws = predictive.draws_of(self.run, states, self._recorded_partitions, *limits)
            return documents.predict(self.run, self._model, self.dataset, new, draws, self._labels, wanted)
        draws = predictive.draws_of(self.run, states, self._recorded_partitions)
        found = get_kind(self.dataset.kind).new_items(self.dataset, new)
        return predictive.predict(self._model, self.dataset, found, draws, self._labels, wanted)

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

        The settings are those of this run. Each chain starts from the last recorded partition of the same chain, in
        which each new item joins a cluster drawn from its predictive probabilities, or founds one of its own.

        Parameters
        ----------
        new : object
            As for `predict`.
        iterations : int, optional
            Of each chain; by default as many as this run has.
        seed : int, optional
            By default one more than that of this run.
        store, progress
            See `splitmerge_cli.sample`.

        Returns
        -------
        Posterior
            Of all items, the new ones last. Its chains start as far apart as those of this run ended: R-hat compares
            them, but does not show what all of these have missed.

        Raises
        ------
        ConfigError
            This run is not finished, or is of documents; a model whose clusters keep parameters.
        DataError
            The new items are not like the data.
        """
        from splitmerge_cli.api.updating import update

        return update(self, new, iterations, seed, store, progress)

    # -- pictures
    @name_missing
    def plot(self, kind: str = "traces") -> "Figure":
        """A picture of the sample, as ``smcmc plot`` draws it.

        Parameters
        ----------
        kind : str
            ``traces``, or another that ``smcmc plot`` makes of such a run: ``n_clusters``, ``co_clustering``,
            ``credible_ball``, ``dendrogram``, ``points``, ``pairs``, ``projection``, ``cluster_means``, ``network``,
            ``topics``.

        Raises
        ------
        ConfigError
            There is no picture of this name for such a run.
        """
        from splitmerge_cli.plots.run import available, pictures
        from splitmerge_cli.plots.style import absent_letters, use_style

        with use_style(display=True):
            for _, figure in pictures(self.run, [kind]):
                if (note := absent_letters()) is not None:
                    warn(note, DataNote)
                if kind != "traces":  # which show whether the chains have converged
                    self._warn()
                return figure
        why = "" if self.caution is None else f" ({self.caution})"
        raise ConfigError(f"kind={kind}: expected one of {', '.join(available(self.run))}{why}")
