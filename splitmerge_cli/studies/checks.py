"""Posterior predictive checks: whether data that the model makes look like the data of a run.

Given a recorded partition and its hyper-parameters the parameters of every cluster are drawn from their posterior,
which is conjugate, and data are drawn from these: a replication, in the partition's clusters and with the cells missing
that are missing in the data. A quantity of the data is compared with that of the replications, each pair in the same
partition (Gelman, Meng and Stern 1996; docs/derivations.md, "Posterior predictive checks").
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.config import Component, ConfigError
from splitmerge_cli.core.options import Gamma, read_options
from splitmerge_cli.data.base import Dataset
from splitmerge_cli.studies.predictive import State

Array = NDArray[np.float64]

DRAWS = 100
"""Replications."""
EXTREME = 0.02
"""Two-sided share below which the data are unlike the replications: none of these is as far on the same side."""
MOST_CELLS = 2_000_000
"""Cells up to which all rows are compared; of a larger table some, evenly spaced, enter the ties of columns."""
MOST_NODES = 2_000
"""Nodes of a network that is replicated."""
TIES = 8
"""Pairs of columns that are listed."""
OF_MODEL = {
    "bernoulli": ("beta1", "beta0"),
    "mixed": ("beta1", "beta0", "alpha", "shape", "rate", "m0", "kappa0", "a0", "b0"),
    "gaussian": ("m0", "kappa0", "a0", "b0"),
    "gamma_poisson": ("shape", "rate"),
    "irm": ("beta1", "beta0"),
    "hdp": ("eta",),
}
"""Models that are replicated, and the options of their priors."""


@dataclass(frozen=True)
class Check:
    """A quantity of the data beside those of the replications.

    Attributes
    ----------
    subject : str
        The column, the two columns, or what of a network.
    quantity : str
        In words.
    observed : float
        Mean over the partitions.
    median, low, high : float
        Of the replications: median, 2.5 and 97.5 % quantiles.
    share : float
        Two-sided: twice the share of pairs in which the replication is as far on the same side, this data set counted
        as one more; at most 1.
    """

    subject: str
    quantity: str
    observed: float
    median: float
    low: float
    high: float
    share: float

    @property
    def is_unlike(self) -> bool:
        """Whether the data are unlike the replications."""
        return self.share < EXTREME


@dataclass(frozen=True)
class Fit:
    """The checks of a run, and what is not checked, in words."""

    checks: list[Check]
    unchecked: list[str]
    draws: int = 0


def explain_unchecked(model: Component, dataset: Dataset) -> str | None:
    """Why a model of such data is not replicated; None: it is."""
    options = model.options
    if model.name not in OF_MODEL:
        return f"no replications are drawn from model={model.name}"
    if options.get("power") not in (None, 1, 1.0):
        return f"the likelihood is tempered, to a power of {options['power']}, so it makes no data"
    if model.name == "gaussian" and not isinstance(dataset.values, np.ndarray):
        return "no replications are drawn of sparse points"
    if model.name == "gaussian" and options.get("covariance") != "diag" and dataset.missing:
        return f"no replications are drawn of model.covariance={options['covariance']} with missing cells"
    if model.name == "mixed" and options.get("covariance", "diag") != "diag":
        return f"no replications of a mixed table are drawn with model.covariance={options['covariance']}"
    if model.name == "irm" and dataset.N > MOST_NODES:
        return f"replications are drawn of networks of up to {MOST_NODES:,} nodes; here are {dataset.N:,}"
    return None


def check_fit(model: Component, dataset: Dataset, states: Sequence[State], seed: int = 0) -> Fit:
    """Check how well the model of a run describes its data.

    Parameters
    ----------
    model : Component
    dataset : Dataset
        Of the run.
    states : sequence of State
        Draws of its posterior, which are taken in turn for `DRAWS` replications.
    seed : int
        Of the replications.
    """
    if (reason := explain_unchecked(model, dataset)) is not None:
        return Fit([], [reason])
    if not states:
        return Fit([], ["no partitions are recorded: trace.partitions=10 records some"])
    rng = np.random.default_rng(seed)
    prior = prior_of(model, dataset)
    of: Any = {"irm": _network, "hdp": _corpus}.get(model.name, _table)(model, dataset)
    seen: dict[tuple[str, str], tuple[list[float], list[float]]] = {}
    for state in islice(cycle(states), max(DRAWS, len(states))):
        parameters = replicate_parameters(model, prior, state)
        labels = np.unique(state.labels, return_inverse=True)[1]
        made = of.draw(rng, labels, parameters)
        for key, value in of.quantities(made, labels).items():
            seen.setdefault(key, ([], []))[1].append(value)
        for key, value in of.quantities(of.values, labels).items():
            seen[key][0].append(value)
    checks = [_check(key, np.array(data), np.array(made)) for key, (data, made) in seen.items()]
    return Fit(checks, of.unchecked, max(DRAWS, len(states)))


def _check(key: tuple[str, str], data: Array, made: Array) -> Check:
    both = np.isfinite(data) & np.isfinite(made)
    if not both.any():
        return Check(*key, math.nan, math.nan, math.nan, math.nan, 1.0)
    data, made = data[both], made[both]
    fewer = min((made >= data).sum(), (made <= data).sum())
    low, median, high = np.quantile(made, [0.025, 0.5, 0.975], method="inverted_cdf")
    share = min(1.0, 2.0 * (fewer + 1) / (len(made) + 1))
    return Check(*key, float(data.mean()), float(median), float(low), float(high), float(share))


def prior_of(model: Component, dataset: Dataset) -> dict[str, Any]:
    """Options of the clusters' prior, defaults filled in from the data."""
    found = model.target.with_defaults_of(dataset, **model.options)
    given = read_options("model", model.target.OPTIONS, found)
    return {key: given[key] for key in OF_MODEL[model.name]} | {"covariance": given.get("covariance", "diag")}


def replicate_parameters(model: Component, prior: Mapping[str, Any], state: State) -> dict[str, Any]:
    """The prior of a state: scales that are resampled have their recorded values."""
    found = dict(prior)
    resampled = [key for key in ("b0", "kappa0") if isinstance(prior.get(key), Gamma)]
    if resampled:
        if state.parameters is None:
            raise ConfigError("trace.partitions: the partitions were recorded without b0 and kappa0")
        scales = np.asarray(state.parameters, dtype=float)
        if "kappa0" in resampled:
            found["kappa0"], scales = scales[-1], scales[:-1]
        if "b0" in resampled:
            found["b0"] = scales
    return found


# -- tables
class _Table:
    """A table whose columns are independent within a cluster, or (gaussian: full) normal together.

    `columns`: (name, type, levels) of each. `values`: float64 ``[N, D]``, NaN where a cell is missing.
    """

    def __init__(self, values: Array, columns: Sequence[tuple[str, str, tuple[str, ...]]], together: str) -> None:
        self.values, self.columns, self.together = values, columns, together
        step = max(1, -(-values.size // MOST_CELLS))
        self._rows = np.arange(0, len(values), step)
        self._missing = np.isnan(values)
        self.unchecked = []
        if any(levels for _, _, levels in columns):
            self.unchecked.append(
                "a binary or categorical column by itself: shares of a cluster fit whatever they are; its ties to "
                "other columns are checked"
            )
        if self._missing.any():
            self.unchecked.append("whether cells are missing by chance: the model takes that as given")

    def draw(self, rng: np.random.Generator, labels: NDArray[np.int64], prior: Mapping[str, Any]) -> Array:
        """A replication: float64 ``[N, D]``."""
        made = np.empty_like(self.values)
        reals = [j for j, (_, form, _) in enumerate(self.columns) if form == "real"]
        if self.together != "diag":
            draw = _draw_iso if self.together == "iso" else _draw_full
            made[:] = draw(rng, self.values, labels, prior)
            return made
        counted = [j for j, (_, form, _) in enumerate(self.columns) if form == "count"]
        for j, (_, form, levels) in enumerate(self.columns):
            x = self.values[:, j]
            if form == "real":
                place = reals.index(j)
                own = {key: _number_at(prior[key], place) for key in ("m0", "kappa0", "a0", "b0")}
                made[:, j] = _draw_real(rng, x, labels, **own)
            elif form == "count":
                rate = _number_at(prior["rate"], counted.index(j))
                made[:, j] = _draw_count(rng, x, labels, prior["shape"], rate)
            else:
                pseudo = [prior["beta0"], prior["beta1"]] if form == "binary" else [prior["alpha"]] * len(levels)
                made[:, j] = _draw_level(rng, x, labels, np.array(pseudo, dtype=float))
        made[self._missing] = np.nan
        return made

    def quantities(self, x: Array, labels: NDArray[np.int64]) -> dict[tuple[str, str], float]:
        """The quantities that are compared, by subject and name."""
        found: dict[tuple[str, str], float] = {}
        scores: list[Array] = []
        of_column: list[int] = []
        for j, (name, form, levels) in enumerate(self.columns):
            residual, spread = _residuals(x[:, j], labels, len(levels))
            if form == "real":
                z = residual[:, 0] / np.sqrt(spread)
                found[name, "skewness within clusters"] = _mean(z**3)
                found[name, "kurtosis within clusters (normal: 3)"] = _mean(z**4)
            elif form == "count":
                mean = x[:, j] - residual[:, 0]
                with np.errstate(invalid="ignore", divide="ignore"):
                    ratio = np.where(mean > 0, residual[:, 0] ** 2 / mean, np.nan)
                found[name, "variance over mean within clusters"] = _mean(ratio)
                found[name, "share of zeros"] = _mean(np.where(np.isnan(x[:, j]), np.nan, x[:, j] == 0))
            scores.append(residual)
            of_column += [j] * residual.shape[1]
        return found | self._ties(np.concatenate(scores, axis=1), np.array(of_column))

    def _ties(self, scores: Array, of_column: NDArray[np.int64]) -> dict[tuple[str, str], float]:
        """Residual association of every two columns: root of the summed squared correlations between their scores."""
        own = scores[self._rows]
        there = ~np.isnan(own)
        own = np.where(there, own, 0.0)
        products, squares = own.T @ own, (own**2).T @ there
        with np.errstate(invalid="ignore", divide="ignore"):
            correlation = products / np.sqrt(squares * squares.T)
        correlation = np.nan_to_num(correlation, nan=0.0, posinf=0.0, neginf=0.0)
        D = len(self.columns)
        home = np.zeros((len(of_column), D))
        home[np.arange(len(of_column)), of_column] = 1.0
        ties = np.sqrt(home.T @ correlation**2 @ home)
        names = [name for name, _, _ in self.columns]
        return {
            (f"{names[a]} and {names[b]}", "residual tie within clusters"): float(ties[a, b])
            for a in range(D)
            for b in range(a + 1, D)
        }


def _table(model: Component, dataset: Dataset) -> _Table:
    from splitmerge_cli.kinds import get_kind

    values = np.asarray(dataset.values.toarray() if hasattr(dataset.values, "toarray") else dataset.values, dtype=float)
    names = dataset.columns or [str(j + 1) for j in range(values.shape[1])]
    types = get_kind(dataset.kind).types_of(dataset)
    columns = [(str(name), of.type, tuple(of.levels)) for name, of in zip(names, types, strict=True)]
    return _Table(values, columns, str(model.options.get("covariance", "diag")))


def _number_at(value: Any, place: int) -> float:
    """A parameter of one column: a number for all, or one for each."""
    return float(value) if np.ndim(value) == 0 else float(np.asarray(value)[place])


def _mean(x: Array) -> float:
    there = x[np.isfinite(x)]
    return float(there.mean()) if there.size else math.nan


def _sums(x: Array, labels: NDArray[np.int64]) -> Array:
    """Sums of the cells that are there by cluster, ``[K]``."""
    return np.bincount(labels, np.nan_to_num(x), minlength=int(labels.max()) + 1).astype(np.float64)


def _residuals(x: Array, labels: NDArray[np.int64], levels: int) -> tuple[Array, Array]:
    """Cells less the mean of their cluster, ``[N, F]``, a column for each level of a discrete column, of two levels
    one; and the variance of their cluster, ``[N]`` (nan of a discrete column, and where a cluster has no variance)."""
    there = ~np.isnan(x)
    n = _sums(there.astype(float), labels)
    features = [x] if not levels else [np.where(there, x == level, np.nan) for level in range(levels == 2, levels)]
    with np.errstate(invalid="ignore", divide="ignore"):
        residual = np.stack([of - (_sums(of, labels) / n)[labels] for of in features], axis=1)
        if levels:
            return residual, np.full(len(x), np.nan)
        variance = _sums(residual[:, 0] ** 2, labels) / n
    return residual, np.where(variance > 0, variance, np.nan)[labels]


def _draw_level(rng: np.random.Generator, x: Array, labels: NDArray[np.int64], pseudo: Array) -> Array:
    """Levels: Dirichlet given the counts of a cluster, then a level for each item."""
    K, L = int(labels.max()) + 1, len(pseudo)
    there = ~np.isnan(x)
    counts = np.zeros((K, L))
    np.add.at(counts, (labels[there], x[there].astype(np.int64)), 1.0)
    gammas = np.maximum(rng.standard_gamma(counts + pseudo), 1e-300)
    steps = np.cumsum(gammas / gammas.sum(axis=1, keepdims=True), axis=1)[labels]
    return np.asarray(np.minimum((rng.random(len(x))[:, None] > steps).sum(axis=1), L - 1), dtype=np.float64)


def _draw_count(rng: np.random.Generator, x: Array, labels: NDArray[np.int64], shape: float, rate: float) -> Array:
    """Counts: gamma given the sum of a cluster, then Poisson."""
    n = _sums((~np.isnan(x)).astype(float), labels)
    return rng.poisson((rng.standard_gamma(shape + _sums(x, labels)) / (rate + n))[labels]).astype(float)


def _draw_real(
    rng: np.random.Generator, x: Array, labels: NDArray[np.int64], m0: float, kappa0: float, a0: float, b0: float
) -> Array:
    """Reals: variance inverse gamma and mean normal given the cells of a cluster, then normal."""
    n = _sums((~np.isnan(x)).astype(float), labels)
    mean = _sums(x - m0, labels) / np.maximum(n, 1)
    scatter = _sums((x - m0 - mean[labels]) ** 2, labels)
    kappa = kappa0 + n
    b = b0 + 0.5 * scatter + 0.5 * kappa0 * n / kappa * mean**2
    variance = b / rng.standard_gamma(a0 + 0.5 * n)
    centre = m0 + n * mean / kappa + np.sqrt(variance / kappa) * rng.standard_normal(len(n))
    return np.asarray(centre[labels] + np.sqrt(variance)[labels] * rng.standard_normal(len(x)))


def _draw_iso(rng: np.random.Generator, x: Array, labels: NDArray[np.int64], prior: Mapping[str, Any]) -> Array:
    """Points of round clusters: one variance for all columns of a cluster."""
    D = x.shape[1]
    m0 = np.broadcast_to(np.asarray(prior["m0"], dtype=float), D)
    n = np.bincount(labels).astype(float)
    mean = np.stack([_sums(x[:, d] - m0[d], labels) / n for d in range(D)], axis=1)
    scatter = sum(_sums((x[:, d] - m0[d] - mean[labels, d]) ** 2, labels) for d in range(D))
    kappa = _number_at(prior["kappa0"], 0) + n
    b = (
        _number_at(prior["b0"], 0)
        + 0.5 * scatter
        + 0.5 * _number_at(prior["kappa0"], 0) * n / kappa * (mean**2).sum(axis=1)
    )
    variance = b / rng.standard_gamma(_number_at(prior["a0"], 0) + 0.5 * n * D)
    centre = m0 + (n / kappa)[:, None] * mean
    centre = centre + np.sqrt(variance / kappa)[:, None] * rng.standard_normal(mean.shape)
    return np.asarray(centre[labels] + np.sqrt(variance)[labels, None] * rng.standard_normal(x.shape))


def _draw_full(rng: np.random.Generator, x: Array, labels: NDArray[np.int64], prior: Mapping[str, Any]) -> Array:
    """Points of tilted clusters: covariance inverse Wishart and mean normal given the points of a cluster."""
    from scipy.stats import invwishart

    D, kappa0 = x.shape[1], _number_at(prior["kappa0"], 0)
    m0 = np.broadcast_to(np.asarray(prior["m0"], dtype=float), D)
    b0 = np.broadcast_to(np.asarray(prior["b0"], dtype=float), D)
    made = np.empty_like(x)
    # in units of the prior's scales, so that columns of any units are near one another
    unit = np.sqrt(b0)
    for k in range(int(labels.max()) + 1):
        here = np.flatnonzero(labels == k)
        points, n = (x[here] - m0) / unit, len(here)
        mean = points.mean(axis=0)
        off = points - mean
        kappa = kappa0 + n
        scale = 2.0 * np.eye(D) + off.T @ off + kappa0 * n / kappa * np.outer(mean, mean)
        drawn = invwishart.rvs(2.0 * _number_at(prior["a0"], 0) + D - 1 + n, scale, random_state=rng)
        factor = np.linalg.cholesky(np.atleast_2d(drawn))
        centre = n / kappa * mean + factor @ rng.standard_normal(D) / math.sqrt(kappa)
        made[here] = m0 + unit * (centre + rng.standard_normal((n, D)) @ factor.T)
    return made


# -- networks
class _Network:
    """A simple undirected network: bool ``[N, N]``, the upper triangle."""

    def __init__(self, matrix: NDArray[np.bool_]) -> None:
        self.values = matrix
        self.unchecked = ["directions and weights of ties: the model reads whether two nodes are tied"]

    def draw(self, rng: np.random.Generator, labels: NDArray[np.int64], prior: Mapping[str, Any]) -> NDArray[np.bool_]:
        """A replication: probabilities of ties between blocks, beta given the ties, then ties."""
        size = np.bincount(labels).astype(float)
        home = np.zeros((len(labels), len(size)))
        home[np.arange(len(labels)), labels] = 1.0
        ties = home.T @ (self.values | self.values.T) @ home
        pairs = np.outer(size, size)
        # pairs within a block are counted twice
        ties[np.diag_indices(len(size))] /= 2.0
        pairs[np.diag_indices(len(size))] = size * (size - 1) / 2.0
        share = np.triu(rng.beta(prior["beta1"] + ties, prior["beta0"] + pairs - ties))
        share = share + np.triu(share, 1).T
        return np.asarray(np.triu(rng.random(self.values.shape) < share[np.ix_(labels, labels)], 1))

    def quantities(self, upper: NDArray[np.bool_], labels: NDArray[np.int64]) -> dict[tuple[str, str], float]:
        """The quantities that are compared, by subject and name."""
        both = (upper | upper.T).astype(np.float32)
        degree = both.sum(axis=1).astype(float)
        size = np.bincount(labels)
        within = degree - (np.bincount(labels, degree) / size)[labels]
        paths = (degree * (degree - 1)).sum()
        closed = float(np.einsum("ij,ji->", both @ both, both))
        return {
            ("ties", "number"): degree.sum() / 2.0,
            ("degrees", "standard deviation within clusters"): math.sqrt(float((within**2).mean())),
            ("degrees", "largest"): float(degree.max()),
            ("degrees", "nodes without a tie"): float((degree == 0).sum()),
            ("ties", "share of paths of two ties that a third closes"): closed / paths if paths else math.nan,
        }


def _network(model: Component, dataset: Dataset) -> _Network:
    return _Network(np.triu(dataset.values.toarray().astype(bool), 1))


# -- documents
class _Corpus:
    """Words of the tokens of documents, int64 ``[N]``, from 0 to V - 1."""

    def __init__(self, words: NDArray[np.int64], documents: NDArray[np.int64], V: int) -> None:
        self.values, self.documents, self.V = words, documents, V
        self.unchecked = ["the order of the words in a document: the model does not read it"]

    def draw(self, rng: np.random.Generator, labels: NDArray[np.int64], prior: Mapping[str, Any]) -> NDArray[np.int64]:
        """A replication: words of each topic, Dirichlet given its tokens, then a word for each token."""
        made = np.empty_like(self.values)
        for k in range(int(labels.max()) + 1):
            here = np.flatnonzero(labels == k)
            gammas = rng.standard_gamma(np.bincount(self.values[here], minlength=self.V) + prior["eta"])
            steps = np.cumsum(gammas)
            made[here] = np.searchsorted(steps, rng.random(len(here)) * steps[-1], side="right")
        return np.minimum(made, self.V - 1)

    def quantities(self, words: NDArray[np.int64], labels: NDArray[np.int64]) -> dict[tuple[str, str], float]:
        """The quantities that are compared, by subject and name."""
        _, pairs = np.unique(self.documents * self.V + words, return_counts=True)
        return {
            ("documents", "tokens per different word"): float(pairs.sum() / len(pairs)),
            ("documents and words", "mutual information within topics (nats)"): self._information(words, labels),
        }

    def _information(self, words: NDArray[np.int64], labels: NDArray[np.int64]) -> float:
        """Mean over tokens of the mutual information of word and document within the token's topic (Mimno and Blei
        2011): words of a topic that come in bursts."""

        def entropy(*of: NDArray[np.int64]) -> float:
            """Sum of n log n over what tokens have in common."""
            key = labels.copy()
            for each in of:
                key = key * (int(each.max()) + 1) + each
            _, n = np.unique(key, return_counts=True)
            return float((n * np.log(n)).sum())

        total = entropy(words, self.documents) + entropy() - entropy(words) - entropy(self.documents)
        return total / len(words)


def _corpus(model: Component, dataset: Dataset) -> _Corpus:
    corpus = dataset.values
    return _Corpus(
        np.asarray(corpus.tokens.words, dtype=np.int64),
        np.asarray(corpus.tokens.documents(), dtype=np.int64),
        int(corpus.V),
    )
