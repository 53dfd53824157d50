"""Estimators in the manner of scikit-learn: clusterings of tables, topics of documents, blocks of networks.

>>> from smcmc import SplitMergeClustering
>>> labels = SplitMergeClustering(random_state=1).fit_predict(X)
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from splitmerge_cli.api import posterior, sampling, selection, updating
from splitmerge_cli.data.objects import as_pandas, holds_long_digits
from splitmerge_cli.kinds.documents import stored as documents

_MOST_SEED = 2**31 - 1


def _constructor(usual: str, **own: tuple[Any, Any]) -> Callable[..., None]:
    """Make the constructor of an estimator whose default model is `usual`, and which has `own` parameters, each a type
    and a default; scikit-learn reads its signature."""

    def __init__(
        self: "_Sampled",
        model: str | Mapping[str, Any] = usual,
        *,
        sampler: str | Mapping[str, Any] | None = None,
        chains: int = 4,
        iterations: int | None = None,
        random_state: Any = None,
        options: Mapping[str, Any] | None = None,
        n_jobs: int | None = None,
        progress: str = "none",
        **further: Any,
    ) -> None:
        self.model, self.sampler, self.chains, self.iterations = model, sampler, chains, iterations
        self.random_state, self.options, self.n_jobs, self.progress = random_state, options, n_jobs, progress
        for name, (_, default) in own.items():
            setattr(self, name, further.get(name, default))

    head, *others, _ = inspect.signature(__init__).parameters.values()
    added = [inspect.Parameter(k, inspect.Parameter.KEYWORD_ONLY, default=v, annotation=t) for k, (t, v) in own.items()]
    parameters = [head, others[0], *added, *others[1:]]
    __init__.__signature__ = inspect.Signature(parameters, return_annotation=None)  # type: ignore[attr-defined]
    return sampling.answer_misspelt(__init__)


class _Sampled(BaseEstimator):
    """Common part of the estimators: the chains and their posterior.

    Fitting, and whatever an estimator reports of its posterior, warns (`NotConverged`) where `caution` has a reason
    not to believe it.
    """

    posterior_: posterior.Posterior
    model: str | Mapping[str, Any]
    sampler: str | Mapping[str, Any] | None
    chains: int
    iterations: int | None
    random_state: Any
    options: Mapping[str, Any] | None
    n_jobs: int | None
    progress: str

    def _sample(self, data: Any, of_rows: Mapping[str, Any] | None = None) -> None:
        """Run the chains; `of_rows`: options of what is known of rows."""
        seed = self.random_state
        if not isinstance(seed, int | np.integer) or isinstance(seed, bool):
            seed = check_random_state(seed).randint(_MOST_SEED)
        keys: dict[str, Any] = {"chains": self.chains, "iterations": self.iterations, "seed": int(seed)}
        keys["workers"] = self.n_jobs if self.n_jobs is not None and self.n_jobs > 0 else None
        keys["progress"] = updating.choose_progress(self.progress)
        chosen = self.model, data, self.sampler
        options = {**(self.options or {}), **(of_rows or {})}

        def settle_in(out: str) -> Any:
            # what was chosen stands in `model_`: an estimator prints nothing
            return sampling.specify_sample(*chosen, keys | {"out": out}, None, options, say=lambda line: None)

        self.posterior_ = posterior.Posterior(*updating.make(settle_in, None))
        self.converged_ = self.posterior_.converged
        self.model_ = {key: value for key, value in self.posterior_.run.config["model"].items() if key != "_target_"}

    def predict(self, X: Any) -> NDArray[np.int32]:
        """The most probable cluster, block or topic of each new item, as `labels_` numbers them, int32 ``[n]``.

        -1: most probably one of its own; of a document a topic that no fitted token has.

        Parameters
        ----------
        X : object
            n items, as those that were fitted; of a network ``[n, N]``, not 0 where a new node is tied to one of them.
        """
        new = self._new(X)
        return self.posterior_.predict(new)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability that each new item joins each cluster, float64 ``[n, n_clusters_ + 1]``; the last column is
        for a new one.

        For documents the expected proportions of the topics; the last column: topics that no fitted token has.
        """
        new = self._new(X)
        return self.posterior_.predict_proba(new)

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Log predictive density of each new item (all words of a document), natural logarithm, float64 ``[n]``."""
        new = self._new(X)
        return self.posterior_.log_predictive(new)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log predictive density of new items, natural logarithm."""
        return float(np.mean(self.score_samples(X)))

    def _new(self, X: Any) -> Any:
        check_is_fitted(self, "posterior_")
        return self._check_input(X, reset=False)

    def _check_input(self, X: Any, reset: bool) -> Any:
        return X


class _Clustered(_Sampled):
    """Estimators whose items are clustered as they are given."""

    def _set_labels(self) -> None:
        copies = self.posterior_.dataset.copies
        # rows that repeat others may be read once; labels are of all rows
        self._items = slice(None) if copies is None else copies.items
        self.labels_: NDArray[np.int32] = self.posterior_.labels[self._items]
        self.n_clusters_ = int(self.labels_.max()) + 1

    def __dir__(self) -> list[str]:
        """Names as scikit-learn lists them, reading each attribute, but for ``similarity_``: a matrix of all items."""
        return [name for name in object.__dir__(self) if name != "similarity_" and hasattr(self, name)]

    @property
    def similarity_(self) -> NDArray[np.float64]:
        """ndarray of float64, ``[N, N]``: co-clustering of the items that were fitted."""
        check_is_fitted(self, "posterior_")
        return self.posterior_.similarity()[self._items][:, self._items]


class SplitMergeClustering(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, _Clustered):
    """Clusters of table rows, their number unknown: a Dirichlet process mixture by split-merge MCMC.

    Parameters
    ----------
    model : str or mapping
        ``auto``: what reads the table as it is, words and gaps among its columns, with the covariance that predicts
        rows best, as ``model=auto`` of the command line (see `splitmerge_cli.api.selection`). Or ``gaussian``,
        ``bernoulli``, ``mixed`` or another that reads tables. A mapping gives options in addition to its `name`, such
        as ``{"name": "gaussian", "covariance": "full"}``.
    sampler : str or mapping, optional
        See ``smcmc list samplers``; None: what races found the fastest.
    chains : int
    iterations : int, optional
        Iterations of each chain; None: until they are long enough, as of `splitmerge_cli.sample`.
    random_state : int, RandomState or None
        Random state of the chains; an int makes fits repeatable.
    options : mapping, optional
        Other keys of ``smcmc run``.
    n_jobs : int, optional
        Chains that run at the same time; None or -1: as many as there are processors.
    progress : {"none", "auto", "bars", "lines"}

    Attributes
    ----------
    labels_ : ndarray of int32, ``[N]``
        Partition of least expected variation of information; the best state where the chains have not converged. From
        0, as scikit-learn requires: frames, pictures and files number the clusters from 1.
    n_clusters_ : int
    similarity_ : ndarray of float64, ``[N, N]``
        Share of the draws in which two rows are in one cluster.
    converged_ : bool
        Whether R-hat of all that was recorded is below 1.1.
    model_ : dict
        Name and options of the model that was sampled: of ``auto``, what was chosen.
    posterior_ : Posterior
        The sample.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, ``[n_features_in_]``
        Where the table names its columns.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from smcmc import SplitMergeClustering
    >>> found = SplitMergeClustering(random_state=1).fit(load_iris().data)
    >>> found.n_clusters_, found.model_["name"], found.model_["covariance"]
    (3, 'gaussian', 'full')
    """

    __init__ = _constructor(selection.AUTO)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        tags.input_tags.string = tags.input_tags.categorical = not self._of_numbers
        return tags

    @property
    def _of_numbers(self) -> bool:
        """Whether the model reads numbers alone."""
        return self._model_name != selection.AUTO and selection.kind_of_model(self._model_name).is_numeric

    @property
    def _model_name(self) -> str:
        return str(self.model if isinstance(self.model, str) else self.model.get("name"))

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        must_link: ArrayLike | None = None,
        cannot_link: ArrayLike | None = None,
    ) -> Self:
        """Run the chains.

        Parameters
        ----------
        X : array_like, sparse matrix or data frame
            ``[N, D]`` of numbers, for ``mixed`` and ``auto`` of any columns; NaN where a cell is missing. What
            `splitmerge_cli.sample` takes as a table is a data frame here: a mapping of columns, a ``LazyFrame``.
        y : None
            Not used.
        sample_weight : array_like, optional
            How often each row counts: whole numbers; fractions are powers of the rows' likelihoods. Rows of weight 0
            are not fitted, and get the labels of new rows.
        groups : array_like, optional
            Unit of each row: the rows of one unit stay together.
        labels : array_like, optional
            Known class of each row; -1, None or NaN where it is not known. Rows of one class stay together, rows of
            different classes apart.
        must_link, cannot_link : array_like of int, optional
            Pairs of rows ``[pairs, 2]`` by position that stay together, or apart.
        """
        X = self._check_input(X, reset=True)
        known = None if labels is None else pd.Series(labels).replace(-1, None)
        weights = None if sample_weight is None else np.asarray(sample_weight)
        links = {"must_link": must_link, "cannot_link": cannot_link}
        self._sample(X, sampling.row_options(weights=weights, group=groups, labels=known, **links))
        self._set_labels()
        if weights is not None and not (weights > 0).all():
            fitted, self.labels_ = self.labels_, np.empty(len(weights), dtype=np.int32)
            self.labels_[weights > 0] = fitted
            self.labels_[weights <= 0] = self.predict(X[weights <= 0])
        self._n_features_out = self.n_clusters_
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """float64 ``[n, n_clusters_]``: probability that each row joins each cluster, as features of a pipeline.

        `predict_proba` without its last column, which stands for a new cluster.
        """
        return self.predict_proba(X)[:, :-1]

    def _check_input(self, X: Any, reset: bool) -> Any:
        """Check a table as scikit-learn does; where the model reads more than numbers a data frame stays one."""
        X = as_pandas(X)
        X = X.to_frame() if isinstance(X, pd.Series) else X
        if self._of_numbers:
            options: dict[str, Any] = {"dtype": np.float64, "accept_sparse": "csr", "ensure_all_finite": "allow-nan"}
            try:
                checked = validate_data(self, X, reset=reset, **options)
                # the table itself where whole numbers lose digits as such
                checked = as_pandas(X) if holds_long_digits(X) else checked
                # names tell an id from a measurement
                names = getattr(self, "feature_names_in_", None)
                return checked if names is None or not hasattr(X, "columns") else pd.DataFrame(checked, columns=names)
            except ValueError as error:
                if "could not convert string" not in str(error):
                    raise
                raise ValueError(f"{error}; expected numbers, or model='mixed' or 'auto', which read words") from error
        framed = hasattr(X, "columns")
        options = {"skip_check_array": True}
        if not framed:
            # one row cannot be held out to choose by
            least = 2 if reset and self._model_name == selection.AUTO else 1
            options = {
                "dtype": None,
                "accept_sparse": "csr",
                "ensure_all_finite": "allow-nan",
                "ensure_min_samples": least,
            }
        checked = validate_data(self, X, reset=reset, **options)
        return X if framed else checked


class SplitMergeBlocks(ClusterMixin, _Clustered):
    """Blocks of nodes in a network, their number unknown: the infinite relational model by split-merge MCMC.

    Parameters as for `SplitMergeClustering`, but `model`, by default ``irm``, and `directed`, `values`, `loops`,
    `layer` and `bipartite`, as of `splitmerge_cli.sample`: what is read of a network beyond the simple undirected one.

    Attributes
    ----------
    labels_, n_clusters_, similarity_, converged_, model_, posterior_
        As of `SplitMergeClustering`.

    Examples
    --------
    >>> import networkx
    >>> from smcmc import SplitMergeBlocks
    >>> SplitMergeBlocks(random_state=1).fit(networkx.karate_club_graph()).labels_
    """

    __init__ = _constructor(
        "irm",
        directed=(bool, False),
        values=(str | None, None),
        loops=(bool, False),
        layer=(str | None, None),
        bipartite=(bool | str, False),
    )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any = None, unknown: Any = None, nodes: Any = None) -> Self:
        """Run the chains.

        Parameters
        ----------
        X : graph of networkx or igraph, data frame of edges, or array or sparse matrix ``[N, N]``
            A matrix: not 0 where two nodes are tied; ``[N, M]`` of two kinds of nodes.
        y : None
            Not used.
        unknown : sequence of pairs, optional
            Pairs of nodes of which it is not known whether they are edges.
        nodes : data frame, optional
            A row for each node, whose columns share the clusters with the edges.
        """
        use = {key: getattr(self, key) for key in ("directed", "values", "loops", "layer", "bipartite")}
        use = {key: value for key, value in use.items() if value not in (None, False)}
        self._sample(X, sampling.row_options(**use, unknown=unknown, nodes=nodes))
        self._set_labels()
        return self


class SplitMergeTopics(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, _Sampled):
    """Topics of documents, their number unknown: the hierarchical Dirichlet process by split-merge MCMC.

    Documents are a list or Series of texts (words as ``data=corpus`` finds them), a list of lists of words, or a matrix
    ``[n_docs, n_words]`` of counts: an array, a sparse matrix as `CountVectorizer` returns it, or a data frame whose
    columns are the words. Words of new documents that were not fitted are left out, with an `UnseenWords` warning.

    Parameters as for `SplitMergeClustering`, but `model`, by default ``hdp``, whose options are gamma, alpha0 and eta.

    Attributes
    ----------
    n_topics_, n_clusters_ : int
        Topics.
    topic_word_ : ndarray of float64, ``[n_topics_, n_words]``
        Probabilities of the words in each topic; rows sum to 1.
    vocabulary_ : ndarray of str, ``[n_words]``
        The words, where the documents name them.
    labels_ : ndarray of int32, ``[n_docs]``
        The topic that most tokens of each document have; -1 for a document without a token. The topic of every token is
        ``posterior_.labels``.
    converged_, model_, posterior_
        As in `SplitMergeClustering`. Topics are numbered as in ``posterior_.labels``: topics of the best state if the
        chains have not converged.
    n_features_in_ : int
        Words, where counts were fitted.
    feature_names_in_ : ndarray of str, ``[n_words]``
        The words, where a data frame of counts was fitted.

    Examples
    --------
    >>> from smcmc import SplitMergeTopics
    >>> texts = ["cats chase mice", "mice fear cats", "stocks fell today", "today stocks rose"] * 5
    >>> SplitMergeTopics(iterations=500, random_state=1).fit_transform(texts).shape
    (20, 2)
    """

    __init__ = _constructor("hdp")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Run the chains.

        Parameters
        ----------
        X : sequence of str, sequence of sequences of str, or counts ``[n_docs, n_words]``
            Documents.
        y : None
            Not used.

        Raises
        ------
        DataError
            A ValueError: a count that is negative or no whole number, documents that are all empty.
        """
        X = self._check_input(X, reset=True)
        self._sample(X)
        if not hasattr(self, "n_features_in_") or hasattr(self, "feature_names_in_"):
            self.vocabulary_ = np.array(self.posterior_.dataset.vocabulary)
        labels = self.posterior_.labels
        self.n_topics_ = self.n_clusters_ = self._n_features_out = int(labels.max()) + 1
        self.topic_word_: NDArray[np.float64] = self.posterior_.topic_word()
        self.labels_: NDArray[np.int32] = documents.largest(self.posterior_.dataset, labels)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """float64 ``[n_docs, n_topics_]``: expected proportions of the topics in each document; rows sum to 1.

        `predict_proba` without its last column, which stands for topics that no fitted token has.
        """
        proportions = self.predict_proba(X)[:, :-1]
        return proportions / proportions.sum(axis=1, keepdims=True)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log predictive probability of a token, natural logarithm; documents count by their tokens.

        Raises
        ------
        ValueError
            The documents have no token.
        """
        X = self._new(X)
        encoded = documents.encode_documents(self.posterior_.dataset, X)
        if not len(encoded.words):
            raise ValueError("X: no document has a token; expected at least one")
        return float(self.posterior_.log_predictive(encoded).sum() / len(encoded.words))

    def perplexity(self, X: Any) -> float:
        """exp(-score(X)): the smaller, the better; as many equally probable words would be as hard to predict."""
        return float(np.exp(-self.score(X)))

    def _check_input(self, X: Any, reset: bool) -> Any:
        """Check documents; counts as scikit-learn checks a table."""
        if hasattr(X, "__array__") and not hasattr(X, "shape"):
            X = np.asarray(X)
        if not documents.is_counted(X):
            return X
        counts = validate_data(self, X, accept_sparse="csr", dtype="numeric", reset=reset)
        check_non_negative(counts, type(self).__name__)
        # the columns of a data frame are the words
        return X if hasattr(X, "columns") else counts
