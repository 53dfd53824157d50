"""Simulation-based calibration: data sets from the prior and the model of a configuration, and whether the posterior
that a run samples covers what they were made from.

A data set is drawn in the order of the model: hyper-parameters from their priors, a partition from its prior,
parameters of each cluster, data. A chain on the data, started at another draw from the prior, gives L thinned draws.
Were they independent draws from the posterior, the state that made the data would be one more of them, so that the rank
of any quantity of it among theirs is uniform on 0 .. L, equal values in random order (Talts et al. 2018, theorem 1), of
quantities that depend on the data as well (Modrak et al. 2023). The laws of data here are NumPy alone: they share no
code with the likelihoods that they test.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom, invwishart

from splitmerge_cli.config import RunSpecification, specify
from splitmerge_cli.core.options import Gamma
from splitmerge_cli.data.base import ColumnType, Dataset
from splitmerge_cli.diagnostics.credible_ball import SAME, credible_ball
from splitmerge_cli.diagnostics.partition_losses import distances
from splitmerge_cli.diagnostics.point_estimate import estimate_partition, interval_of_clusters
from splitmerge_cli.diagnostics.similarity import co_clustering
from splitmerge_cli.runs.build import Builder
from splitmerge_cli.runs.datasets import build_model

Rng = np.random.Generator
Labels = NDArray[np.int64]

DRAWS = 199
"""Draws of a chain on one data set that ranks are among: 0 .. 199, of which .95 are 190. As many before them, of which
the centre of the ball comes: one that comes of the draws themselves is nearer to them than to the state that made the
data."""
BURN = 25
"""Draws that are left out at the beginning."""
LEVEL = 0.95
BINS = 20
"""Equal parts of the ranks, which are kept."""
SIMULATIONS = 20_000
"""Samples of uniform ranks that deviations are compared with."""
SETS = ("K", "ball", "pairs")
"""Quantities with a set of level `LEVEL`: interval of K, credible ball, set of together and apart for each pair."""


# -- laws of data: the parameters of K clusters from their prior, then data; `of`: the model's options
def _binary(rng: Rng, z: Labels, of: Mapping[str, Any], D: int) -> Dataset:
    p = rng.beta(of["beta1"], of["beta0"], (z.max() + 1, D))
    return Dataset("simulated", "binary", (rng.random((len(z), D)) < p[z]).astype(np.uint8))


def _reals(rng: Rng, z: Labels, of: Mapping[str, Any], D: int) -> NDArray[np.float64]:
    """Points of normal clusters: inverse gamma variances, or an inverse Wishart covariance of 2 a0 + D - 1 degrees of
    freedom and scale 2 b0 I; then means."""
    K, covariance = int(z.max()) + 1, of["covariance"]
    if covariance == "full":
        scale = 2.0 * of["b0"] * np.eye(D)
        S = [np.atleast_2d(invwishart.rvs(2 * of["a0"] + D - 1, scale, random_state=rng)) for _ in range(K)]
        root = np.linalg.cholesky(np.array(S))
    else:
        variance = of["b0"] / rng.gamma(of["a0"], 1.0, (K, 1 if covariance == "iso" else D))
        root = np.sqrt(variance)[:, :, None] * np.eye(D)
    mean = of["m0"] + np.einsum("kde,ke->kd", root, rng.normal(size=(K, D))) / math.sqrt(of["kappa0"])
    return mean[z] + np.einsum("nde,ne->nd", root[z], rng.normal(size=(len(z), D)))


def _points(rng: Rng, z: Labels, of: Mapping[str, Any], D: int) -> Dataset:
    return Dataset("simulated", "points", _reals(rng, z, of, D))


def _rates(rng: Rng, z: Labels, of: Mapping[str, Any], D: int) -> NDArray[np.int64]:
    return rng.poisson(rng.gamma(of["shape"], 1.0 / of["rate"], (z.max() + 1, D))[z])


def _mixed(rng: Rng, z: Labels, of: Mapping[str, Any], D: int) -> Dataset:
    """A binary column, a categorical one of three levels, one of counts and D real ones."""
    table = [_binary(rng, z, of, 1).values, _shares(rng, z, of["alpha"], 3, np.ones(len(z), dtype=int)).argmax(axis=1)]
    table += [_rates(rng, z, of, 1), _reals(rng, z, of, D)]
    types = [ColumnType("binary", ("0", "1")), ColumnType("categorical", ("0", "1", "2")), ColumnType("count")]
    values = np.column_stack(table).astype(np.float64)
    return Dataset("simulated", "mixed", values, types=(*types, *[ColumnType("real")] * D))


def _shares(rng: Rng, z: Labels, alpha: float, L: int, totals: NDArray[np.int64]) -> NDArray[np.int64]:
    p = rng.dirichlet(np.full(L, alpha), z.max() + 1)
    return np.array([rng.multinomial(n, p[k]) for n, k in zip(totals, z, strict=True)])


def _count_vectors(rng: Rng, z: Labels, of: Mapping[str, Any], D: int) -> Dataset:
    if "rate" in of:
        return Dataset("simulated", "counts", _rates(rng, z, of, D).astype(np.int32))
    # the totals of rows are given
    made = _shares(rng, z, of["alpha"], D, 3 + np.arange(len(z)) % 4)
    return Dataset("simulated", "counts", made.astype(np.int32))


def _network(rng: Rng, z: Labels, of: Mapping[str, Any], D: int) -> Dataset:
    from scipy.sparse import csr_array

    p = np.triu(rng.beta(of["beta1"], of["beta0"], (z.max() + 1,) * 2))
    p = np.maximum(p, p.T)
    upper = np.triu(rng.random((len(z),) * 2) < p[np.ix_(z, z)], 1).astype(np.uint8)
    return Dataset("simulated", "graph", csr_array(upper + upper.T))


def _tokens(rng: Rng, z: Labels, of: Mapping[str, Any], D: int) -> Dataset:
    tokens = _shares(rng, z, of["alpha"], D, np.ones(len(z), dtype=int)).argmax(axis=1).astype(np.int32)
    return Dataset("simulated", "tokens", tokens, vocabulary=[str(w) for w in range(D)])


def _corpus(rng: Rng, z: Labels, of: Mapping[str, Any], D: int) -> Dataset:
    """Documents of four tokens over D words."""
    from splitmerge_cli.data.corpora.corpus import Corpus, Tokens

    words = _shares(rng, z, of["eta"], D, np.ones(len(z), dtype=int)).argmax(axis=1).astype(np.int32)
    starts = np.append(np.arange(0, len(z), 4), len(z)).astype(np.int64)
    return Dataset("simulated", "documents", Corpus(Tokens(words, starts), D), vocabulary=[str(w) for w in range(D)])


def _lines(rng: Rng, z: Labels, of: Mapping[str, Any], D: int) -> Dataset:
    """Points at given places; intercept and slope in units of the noise where that is unknown."""
    K, x = int(z.max()) + 1, np.linspace(-2.0, 2.0, len(z))
    sigma = np.full(K, of["sigma1"])
    if of["noise"] == "nig":
        # inverse gamma of shape a0, mean sigma1^2
        sigma = of["sigma1"] * np.sqrt((of["a0"] - 1.0) / rng.gamma(of["a0"], 1.0, K))
    theta = rng.normal(size=(K, 2)) * of["sigma0"] * (sigma / of["sigma1"])[:, None]
    y = theta[z, 0] + theta[z, 1] * x + sigma[z] * rng.normal(size=len(z))
    return Dataset("simulated", "points", np.column_stack([x, y]))


LAWS: dict[str, Callable[[Rng, Labels, Mapping[str, Any], int], Dataset]] = {
    "bernoulli": _binary,
    "gaussian": _points,
    "mixed": _mixed,
    "dirichlet_multinomial": _count_vectors,
    "gamma_poisson": _count_vectors,
    "irm": _network,
    "emm": _tokens,
    "hdp": _corpus,
    "lines": _lines,
}
"""Law of the data of each model, which a new model needs to be calibrated."""


@dataclass(frozen=True)
class Setting:
    """A model with its options, and the size of its data sets.

    Attributes
    ----------
    model : str
    options : dict
        Of the model, as text of the configuration. Those that default to what the data are like have numbers here: a
        prior that depends on the data is none that data can be drawn from.
    sampler : str
    N, D : int
        Items, and columns, tokens or words.
    thin : int
        Iterations from one draw to the next, so many that draws are hardly correlated.
    gaps : float
        Probability of a cell being missing.
    """

    model: str
    options: Mapping[str, Any] = field(default_factory=dict)
    sampler: str = "sams"
    N: int = 16
    D: int = 2
    thin: int = 8
    gaps: float = 0.0

    def specify(self, options: Mapping[str, Any] | None = None) -> RunSpecification:
        """The specification of its runs, with these options of the model in place of its own."""
        options = {**self.options, **(options or {})}
        return specify(
            [
                f"model={self.model}",
                f"sampler={self.sampler}",
                "schedule.moves=2",
                "init=prior",
                "K0=null",
                f"thin={self.thin}",
                *(f"model.{key}={value}" for key, value in options.items()),
            ]
        )


_CRP = {"concentration": "gamma(2,2)"}
_NORMAL = {"m0": 0, "b0": 1, "resolution": 0}
SETTINGS: dict[str, Setting] = {
    "bernoulli": Setting("bernoulli", {**_CRP, "beta1": 0.5, "beta0": 0.5}, D=4),
    **{f"gaussian {c}": Setting("gaussian", {**_CRP, **_NORMAL, "covariance": c}) for c in ("diag", "iso", "full")},
    "gaussian diag, mfm": Setting("gaussian", {"prior": "mfm", **_NORMAL}),
    "gaussian diag, kappa0": Setting("gaussian", {**_CRP, **_NORMAL, "kappa0": "gamma(2,10)"}),
    "gaussian full, gaps": Setting("gaussian", {**_CRP, **_NORMAL, "covariance": "full"}, gaps=0.15),
    **{f"mixed {c}": Setting("mixed", {**_CRP, **_NORMAL, "rate": 0.3, "covariance": c}) for c in ("diag", "full")},
    "mixed diag, gaps": Setting("mixed", {**_CRP, **_NORMAL, "rate": 0.3}, gaps=0.15),
    "dirichlet_multinomial": Setting("dirichlet_multinomial", _CRP, D=4),
    "gamma_poisson": Setting("gamma_poisson", {**_CRP, "rate": 0.3}),
    "irm": Setting("irm", {**_CRP, "beta1": 0.5, "beta0": 0.5}, thin=16),
    "emm": Setting("emm", {"n_tokens": 6, "alpha": 0.2, "mu": 1.0, "sigma": 0.7, "kmax": 12}, D=6, thin=32),
    "lines": Setting("lines", {**_CRP, "sigma0": 3}),
    "lines nig": Setting("lines", {**_CRP, "sigma0": 3, "noise": "nig"}),
    "hdp": Setting("hdp", {"eta": 0.3}, sampler="smag", N=20, D=5, thin=20),
}


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one data set showed.

    Attributes
    ----------
    ranks : dict of str to int
        Of the state that made the data among the draws, by quantity.
    covered, stated, randomised : dict of str to float
        By quantity of `SETS`: whether the state is in the set that a run gives (of pairs the share), the posterior
        probability of that set, and whether it is in the randomised set of exactly `LEVEL`.
    """

    ranks: dict[str, int]
    covered: dict[str, float]
    stated: dict[str, float]
    randomised: dict[str, float]


@dataclass(frozen=True, eq=False)
class Drawn:
    """A data set, and what made it.

    Attributes
    ----------
    dataset : Dataset
    labels : ndarray of int32, shape (N,)
    K : int
        Clusters, of a model that keeps empty ones those included.
    hyperparameters : dict of str to float
        Those that have a prior.
    hidden : ndarray of float
        The missing cells, row after row.
    """

    dataset: Dataset
    labels: NDArray[np.int32]
    K: int
    hyperparameters: dict[str, float]
    hidden: NDArray[np.float64]


def draw_data(setting: Setting, spec: RunSpecification, rng: Rng) -> Drawn:
    """Draw hyper-parameters, a partition and data from the prior and the model."""
    law, options = LAWS[setting.model], dict(spec.model.options)
    drawn = {
        name: float(rng.gamma(value.shape, 1.0 / value.rate))
        for name, value in options.items()
        if isinstance(value, Gamma)
    }
    fixed = replace(spec.model, options=options | drawn)
    # a partition has its prior whatever the data are
    model = build_model(fixed, law(rng, np.zeros(setting.N, dtype=np.int64), fixed.options, setting.D))
    labels, K = model.prior_labels(rng)
    _, dense = np.unique(labels, return_inverse=True)
    dataset, hidden = law(rng, dense.astype(np.int64), fixed.options, setting.D), np.empty(0)
    if setting.gaps:
        values = np.array(dataset.values, dtype=np.float64)
        missing = rng.random(values.shape) < setting.gaps
        # a row without a cell is left out by readers
        missing[missing.all(axis=1), 0] = False
        hidden, values[missing] = values[missing], np.nan
        dataset = replace(dataset, values=values)
    return Drawn(dataset, labels, K, drawn, hidden)


def calibrate(setting: Setting, number: int, spec: RunSpecification, fitted: RunSpecification | None = None) -> Outcome:
    """Draw data set `number` of a setting, sample its posterior and compare.

    Parameters
    ----------
    setting : Setting
    number : int
        Of the data set; a seed, of the chain as well.
    spec : RunSpecification
        As `Setting.specify` returns it.
    fitted : RunSpecification, optional
        That of the chain, where it is another one.
    """
    rng = np.random.default_rng([20, number])
    made = draw_data(setting, spec, rng)
    labels, drawn = made.labels, made.hyperparameters
    chain = Builder(fitted or spec, made.dataset, None, False, setting.thin).chain(number)
    found = chain.advance(setting.thin * (BURN + 2 * DRAWS))
    first = BURN + 1 + DRAWS
    partitions = found["partition_labels"][BURN + 1 :]
    before, after = partitions[:DRAWS], partitions[DRAWS:]
    model = chain.model
    model.set_labels(labels, made.K if model.allows_empty else None)
    truth = np.unique(labels, return_inverse=True)[1].astype(np.int32)
    sizes = np.bincount(truth)
    scales = [drawn["kappa0"]] if "kappa0" in drawn else []
    cells = list(made.hidden) if setting.options.get("covariance") == "full" else []
    if scales or cells:
        # the state holds them beside the partition
        model.set_parameters([*scales, *cells])
    draws: dict[str, NDArray[Any]] = {
        "K": found["n_clusters"][first:],
        "largest": found["largest"][first:, 0],
        "pair": after[:, 0] == after[:, 1],
        "log likelihood": found["log_lik"][first:],
    }
    true: dict[str, float] = {
        "K": len(sizes),
        "largest": sizes.max() / setting.N,
        "pair": truth[0] == truth[1],
        "log likelihood": model.log_lik_total(),
    }
    if model.allows_empty:
        draws["K with empty ones"], true["K with empty ones"] = found["K"][first:], made.K
    if cells:
        draws["missing cell"], true["missing cell"] = found["partition_parameters"][first:, len(scales)], cells[0]
    for name in sorted(set(drawn) & set(found)):
        draws[name], true[name] = found[name][first:], drawn[name]
    centre = estimate_partition(before).labels
    draws["distance"], true["distance"] = distances(centre, after), float(distances(centre, truth[None])[0])
    ranks = {name: rank_of(true[name], draws[name], rng) for name in true}

    # what a run says, of all draws
    low, high = interval_of_clusters(partitions)
    inside = [low <= K <= high for K in found["n_clusters"][BURN + 1 :]]
    estimate = estimate_partition(partitions).labels
    ball = credible_ball(estimate, partitions, LEVEL)
    off = float(distances(estimate, truth[None])[0])
    covered = {"K": low <= len(sizes) <= high, "ball": off <= ball.radius + SAME}
    stated = {"K": float(np.mean(inside)), "ball": ball.share}
    beyond = round((1 - LEVEL) / 2 * (DRAWS + 1))
    randomised = {"K": beyond <= ranks["K"] <= DRAWS - beyond, "ball": ranks["distance"] < LEVEL * (DRAWS + 1) - 0.5}
    p, together = _pairs(partitions, truth)
    certain, right = np.maximum(p, 1 - p), together == (p >= 0.5)
    both = certain < LEVEL
    covered["pairs"], stated["pairs"] = (both | right).mean(), np.where(both, 1.0, certain).mean()
    # the likelier answer, and the other one as often as makes the level; or the likelier one less often
    other = np.where(both, (LEVEL - certain) / np.maximum(1 - certain, 1e-12), 0.0)
    randomised["pairs"] = np.where(right, np.minimum(1.0, LEVEL / certain), other).mean()
    return Outcome(ranks, *({k: float(v) for k, v in each.items()} for each in (covered, stated, randomised)))


def _pairs(partitions: NDArray[np.int32], truth: NDArray[np.int32]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Co-clustering of every pair of items, and whether they are together in truth."""
    a, b = np.triu_indices(len(truth), 1)
    return np.asarray(co_clustering(partitions))[a, b].astype(np.float64), truth[a] == truth[b]


def rank_of(value: float, draws: NDArray[Any], rng: Rng) -> int:
    """The number of draws below a value, of those that equal it a uniform number."""
    draws = np.asarray(draws, dtype=float)
    # log likelihoods and distances are sums in different orders
    gap = draws - value
    same = np.abs(gap) <= 1e-9 * max(1.0, abs(value))
    return int(((gap < 0) & ~same).sum() + rng.integers(same.sum() + 1))


def bin_ranks(ranks: Sequence[int]) -> NDArray[np.int64]:
    """Numbers of ranks in `BINS` equal parts, ``[BINS]``."""
    return np.bincount(np.asarray(ranks) * BINS // (DRAWS + 1), minlength=BINS)


@cache
def _probabilities(n: int) -> NDArray[np.float64]:
    """Two-sided probability of each cumulative count of n uniform ranks at each inner edge, ``[BINS - 1, n + 1]``."""
    z, count = np.arange(1, BINS)[:, None] / BINS, np.arange(n + 1)
    return 2 * np.minimum(binom.cdf(count, n, z), binom.sf(count - 1, n, z))


def _extremity(counts: NDArray[np.int64], n: int) -> NDArray[np.float64]:
    """The least of these probabilities, of counts in equal parts, ``[.., BINS]``."""
    cumulative = counts.cumsum(axis=-1)[..., :-1]
    return _probabilities(n)[np.arange(BINS - 1), cumulative].min(axis=-1)


@cache
def _null_extremities(n: int) -> NDArray[np.float64]:
    """The least probabilities of `SIMULATIONS` samples of n uniform ranks, sorted."""
    counts = np.random.default_rng(n).multinomial(n, np.full(BINS, 1 / BINS), size=SIMULATIONS)
    return np.sort(_extremity(counts, n))


def uniformity(counts: ArrayLike) -> float:
    """P value of ranks, as counts of `bin_ranks`, being uniform: of the largest deviation of their distribution, in all
    edges at once, by simulation (Säilynoja, Bürkner and Vehtari 2022, section 2).

    Examples
    --------
    >>> uniformity([10] * 20) > 0.99, uniformity([40] + [10] * 18 + [0]) < 0.01
    (True, True)
    """
    given = np.asarray(counts, dtype=np.int64)
    null = _null_extremities(int(given.sum()))
    value = _extremity(given, int(given.sum()))
    return float((np.searchsorted(null, value * (1 + 1e-9), side="right") + 1) / (SIMULATIONS + 1))


def band(n: int, level: float = LEVEL) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The simultaneous band of the distribution function of n uniform ranks at the inner edges, less its mean."""
    gamma = np.quantile(_null_extremities(n), 1 - level)
    z = np.arange(1, BINS) / BINS
    return binom.ppf(gamma / 2, n, z) / n - z, binom.ppf(1 - gamma / 2, n, z) / n - z
