"""Known posteriors that samples of any program are compared with: enumerated ones, and ones too large to enumerate,
which are generated data, a model with all numbers, and means from coupled pairs of chains.

``scripts/certify_posteriors.py`` makes the means and writes ``large_posteriors.csv`` and ``large_runs.csv`` next to
this module: they take minutes. The data are generated again, and compared with the digest that was stored with the
means.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from splitmerge_cli.config import ConfigError
from splitmerge_cli.verify.enumerate import state_of
from splitmerge_cli.verify.small_posteriors import Posterior as Posterior
from splitmerge_cli.verify.small_posteriors import cases as cases
from splitmerge_cli.verify.small_posteriors import nest

BATCHES = 20
"""Batches of successive draws; their spread gives the noise of a sample."""
CHANCE = 0.001
"""Largest probability that an exact sample counts as different: by total variation, E[K] or one state."""


@dataclass(frozen=True)
class Comparison:
    """A sample compared with an enumerated posterior."""

    total_variation: float
    """Between the frequencies of the states and their probabilities."""
    noise: float
    """Distance that an exact sampler of this length and autocorrelation is expected to have."""
    mean_K: float
    exact_mean_K: float
    error_mean_K: float
    """Mean of K in the sample, in the posterior, and the standard error of the former."""
    draws: int
    worst: tuple[tuple[int, ...], float, float]
    """Labels of the state whose frequency is the most standard errors away, its frequency and its probability."""
    agrees: bool
    """No further than chance: total variation, E[K] and the worst state, each by the quantile of a third of
    `CHANCE`."""


def check(case: Posterior, labels: ArrayLike, K: ArrayLike | None = None) -> Comparison:
    """Compare draws of partitions with an enumerated posterior: `labels` ``[draws, N]`` of a chain, or of chains one
    after the other, clusters numbered in any way; `K` ``[draws]`` their clusters with the empty ones, by default those
    that hold an item."""
    draws = np.asarray(labels)
    if draws.ndim != 2 or draws.shape[1] != case.n_items:
        raise ConfigError(f"samples: shape {draws.shape}; expected [draws, {case.n_items}], the items of {case.id}")
    if len(draws) < 10 * BATCHES:
        raise ConfigError(f"samples: {len(draws)} draws; expected {10 * BATCHES} at least")
    exact = case.table()
    number = {(tuple(z.tolist()), int(k)): i for i, (z, k) in enumerate(zip(exact["labels"], exact["K"], strict=True))}
    states = np.empty(len(draws), dtype=np.int64)
    for i, row in enumerate(draws):
        z = state_of(row, 0)[0]
        state = (z, max(z) + 1 if K is None else int(np.asarray(K)[i]))
        if state not in number:
            raise ConfigError(f"samples: row {i + 1}: labels {list(z)} with K={state[1]}: {case.id} has no such state")
        states[i] = number[state]
    p = exact["probability"].to_numpy()
    batches = [np.bincount(part, minlength=len(p)) / len(part) for part in np.array_split(states, BATCHES)]
    frequency = np.bincount(states, minlength=len(p)) / len(states)
    # a state that was never seen has no spread of its own: use the spread of independent draws
    error = np.maximum(np.std(batches, axis=0, ddof=1) / np.sqrt(BATCHES), np.sqrt(p * (1 - p) / len(states)))
    clusters = exact["K"].to_numpy()
    of_batch = [float(np.mean(clusters[part])) for part in np.array_split(states, BATCHES)]
    error_K = float(np.std(of_batch, ddof=1) / np.sqrt(BATCHES))
    mean_K, exact_K = float(clusters[states].mean()), float(p @ clusters)
    off = np.abs(frequency - p) / np.where(error > 0, error, np.inf)
    worst = int(off.argmax())
    distance, noise = 0.5 * np.abs(frequency - p).sum(), 0.5 * np.sqrt(2 / np.pi) * error.sum()
    # of the sum of absolute errors, as if errors of different states were independent
    spread = 0.5 * np.sqrt((1 - 2 / np.pi) * (error**2).sum())
    far = stats.t.ppf(1 - CHANCE / 3 / np.array([1, 2, 2 * len(p)]), BATCHES - 1)
    agrees = distance <= noise + far[0] * spread and abs(mean_K - exact_K) <= far[1] * error_K and off[worst] <= far[2]
    return Comparison(
        total_variation=float(distance),
        noise=float(noise),
        mean_K=mean_K,
        exact_mean_K=exact_K,
        error_mean_K=error_K,
        draws=len(states),
        worst=(tuple(exact["labels"][worst].tolist()), float(frequency[worst]), float(p[worst])),
        agrees=bool(agrees),
    )


FOLDER = Path(__file__).parent
MEANS, RUNS = FOLDER / "large_posteriors.csv", FOLDER / "large_runs.csv"
LARGEST = 5
"""Clusters whose expected sizes are given."""
TOGETHER = 12
"""Pairs of items whose probability to be in one cluster is given."""


@dataclass(frozen=True)
class LargePosterior:
    """One posterior."""

    id: str
    model: str
    hyperparameters: dict[str, Any]
    """All of them; a pair (shape, rate) is a gamma density over which it is integrated."""
    generate: Callable[[np.random.Generator], dict[str, Any]]
    """Makes the data, as in `small_posteriors.Posterior`, from a generator."""
    pairs: int = 300
    """Pairs of chains."""
    iterations: int = 10_000
    """Most iterations of a pair."""
    moves: int = 5
    """Split-merge moves before each scan."""

    @cached_property
    def data(self) -> dict[str, Any]:
        """Data, the same whenever they are made."""
        seed = int.from_bytes(hashlib.sha256(self.id.encode()).digest()[:4], "little")
        return self.generate(np.random.default_rng(seed))

    @property
    def n_items(self) -> int:
        """int: N."""
        return int(self.data["N"])

    @property
    def digest(self) -> str:
        """SHA-256 of the data."""
        return hashlib.sha256(json.dumps(self.data, sort_keys=True).encode()).hexdigest()

    @cached_property
    def items(self) -> NDArray[np.int64]:
        """Pairs of different items that are compared, shape (`TOGETHER`, 2): the first half of one component each, so
        that not all probabilities are about 0."""
        rng, z = np.random.default_rng(self.n_items), np.array(self.data["components"])
        item_lists: list[list[int]] = []
        while len(item_lists) < TOGETHER:
            i, j = sorted(rng.choice(self.n_items, 2, replace=False).tolist())
            if [i, j] not in item_lists and (len(item_lists) >= TOGETHER // 2 or z[i] == z[j]):
                item_lists.append([i, j])
        return np.array(item_lists)

    def quantities(self, hyperparameters: tuple[str, ...]) -> list[str]:
        """Names of what means are given of, `hyperparameters` that are resampled at the end."""
        together = [f"together_{i}_{j}" for i, j in self.items]
        sizes = [f"largest{k}" for k in range(1, LARGEST + 1)]
        return ["n_clusters", "log_likelihood", *sizes, *together, *hyperparameters]


def read_means() -> tuple[pd.DataFrame, pd.DataFrame]:
    """The stored means (id, quantity, mean, standard_error), and the runs that they are of, by id."""
    return pd.read_csv(MEANS), pd.read_csv(RUNS).set_index("id")


def large_posteriors() -> list[LargePosterior]:
    """All of them, in the order of the number of items."""
    return sorted(_all(), key=lambda one: int(one.id.split("-n")[1].split("-")[0]))


# data


Make = Callable[[np.random.Generator], dict[str, Any]]


def _items(N: int, K: int, draw: Callable[[np.random.Generator, NDArray[np.int64]], dict[str, Any]]) -> Make:
    """Items of K components, the first the largest; `draw` makes their data from a generator and the components."""

    def generate(rng: np.random.Generator) -> dict[str, Any]:
        weights = np.arange(K, 0, -1.0) + 1
        z = rng.choice(K, N, p=weights / weights.sum())
        return {"N": N, "components": z.tolist(), **draw(rng, z)}

    return generate


def _points(N: int, D: int, K: int, spread: float, missing: float = 0.0) -> Make:
    """Normal components: centres of standard deviation `spread`, points of 1."""

    def draw(rng: np.random.Generator, z: NDArray[np.int64]) -> dict[str, Any]:
        x = np.round(rng.normal(0, spread, (K, D))[z] + rng.normal(size=(N, D)), 3)
        x[rng.random(x.shape) < missing] = np.nan
        return {"x": nest(x)}

    return _items(N, K, draw)


def _bits(N: int, D: int, K: int, missing: float = 0.0) -> Make:
    def draw(rng: np.random.Generator, z: NDArray[np.int64]) -> dict[str, Any]:
        x = (rng.random((N, D)) < rng.beta(0.6, 0.6, (K, D))[z]).astype(float)
        x[rng.random(x.shape) < missing] = np.nan
        return {"x": nest(x) if missing else x.astype(int).tolist()}

    return _items(N, K, draw)


def _counts(N: int, D: int, K: int, mean: float) -> Make:
    return _items(N, K, lambda rng, z: {"x": rng.poisson(mean * rng.gamma(1.0, 1.0, (K, D))[z]).tolist()})


def _table(N: int, K: int, missing: float = 0.0) -> Make:
    """Two real, two binary, a categorical and two count columns."""

    def draw(rng: np.random.Generator, z: NDArray[np.int64]) -> dict[str, Any]:
        reals = np.round(rng.normal(0, 2, (K, 2))[z] + rng.normal(size=(N, 2)), 3)
        bits = rng.random((N, 2)) < rng.beta(0.5, 0.5, (K, 2))[z]
        shares = rng.dirichlet([0.5] * 3, K)
        codes = (rng.random(N)[:, None] > shares.cumsum(axis=1)[z]).sum(axis=1)
        counts = rng.poisson(rng.gamma(1.0, 3.0, (K, 2))[z])
        x = np.column_stack([reals, bits, np.minimum(codes, 2), counts]).astype(float)
        x[rng.random(x.shape) < missing] = np.nan
        types = ["real", "real", "binary", "binary", "categorical", "count", "count"]
        return {"x": nest(x), "types": types, "levels": [0, 0, 2, 2, 3, 0, 0]}

    return _items(N, K, draw)


def _lines(N: int, K: int, noise: float) -> Make:
    def draw(rng: np.random.Generator, z: NDArray[np.int64]) -> dict[str, Any]:
        intercept, slope = rng.normal(0, 4, (2, K))
        at = rng.uniform(-3, 3, N)
        x = np.column_stack([at, intercept[z] + slope[z] * at + rng.normal(0, noise, N)])
        return {"x": nest(np.round(x, 3))}

    return _items(N, K, draw)


def _network(N: int, K: int, inside: float, outside: float) -> Make:
    def draw(rng: np.random.Generator, z: NDArray[np.int64]) -> dict[str, Any]:
        upper = np.triu(rng.random((N, N)) < np.where(z[:, None] == z, inside, outside), 1)
        return {"edges": np.argwhere(upper).tolist()}

    return _items(N, K, draw)


# posteriors


def _all() -> Iterator[LargePosterior]:
    crp, gamma = {"prior": "crp", "concentration": 1.0}, {"prior": "crp", "concentration": (2.0, 2.0)}
    mfm = {"prior": "mfm(components=bnb(1,4,3))", "concentration": 1.0}
    dynamic = {"prior": "dynamic_mfm(components=poisson(4))", "concentration": 2.0}
    normal = {"m0": 0.0, "kappa0": 0.1, "a0": 2.0, "b0": 1.0, "resolution": 0.0}
    diag, iso, full = ({"covariance": name, **normal} for name in ("diag", "iso", "full"))
    yield LargePosterior("gaussian-diag-n100", "gaussian", {**crp, **diag}, _points(100, 2, 4, 3.0))
    yield LargePosterior("gaussian-full-n200-gamma", "gaussian", {**gamma, **full}, _points(200, 2, 4, 3.0))
    scaled = {**diag, "kappa0": (2.0, 10.0)}
    yield LargePosterior("gaussian-diag-n200-kappa0", "gaussian", {**crp, **scaled}, _points(200, 3, 4, 3.0))
    holes = _points(300, 4, 5, 2.5, 0.1)
    yield LargePosterior("gaussian-diag-n300-missing", "gaussian", {**crp, **diag}, holes)
    coarse = {**diag, "power": 0.5}
    yield LargePosterior("gaussian-diag-n400-power", "gaussian", {**crp, **coarse}, _points(400, 6, 3, 3.0))
    yield LargePosterior(
        "gaussian-diag-n500-dynamic-mfm", "gaussian", {**dynamic, **diag}, _points(500, 5, 5, 2.5), 100
    )
    yield LargePosterior("gaussian-full-n1000-mfm", "gaussian", {**mfm, **full}, _points(1000, 5, 5, 2.5), 100)
    yield LargePosterior("gaussian-diag-n2000", "gaussian", {**crp, **diag}, _points(2000, 10, 8, 1.5), 100)
    yield LargePosterior("gaussian-iso-n10000", "gaussian", {**crp, **iso}, _points(10_000, 3, 5, 3.5), 25)
    beta = {"beta1": 0.5, "beta0": 0.5}
    uniform = {"prior": "uniform", "concentration": 1.0}
    yield LargePosterior("bernoulli-n100", "bernoulli", {**crp, **beta}, _bits(100, 12, 4))
    yield LargePosterior("bernoulli-n100-uniform", "bernoulli", {**uniform, **beta}, _bits(100, 40, 3))
    yield LargePosterior("bernoulli-n300-missing", "bernoulli", {**gamma, **beta}, _bits(300, 20, 5, 0.1))
    yield LargePosterior("bernoulli-n1000-mfm", "bernoulli", {**mfm, **beta}, _bits(1000, 20, 5), 100)
    yield LargePosterior("bernoulli-n5000", "bernoulli", {**crp, **beta}, _bits(5000, 30, 6), 40)
    shares, rates = {"alpha": 0.5}, {"shape": 1.0, "rate": 0.2}
    yield LargePosterior("dirichlet-multinomial-n300", "multinomial", {**crp, **shares}, _counts(300, 8, 5, 3.0))
    yield LargePosterior("gamma-poisson-n500-gamma", "gamma_poisson", {**gamma, **rates}, _counts(500, 5, 5, 5.0))
    table = {**beta, "alpha": 0.5, "shape": 1.0, "rate": 0.3, **diag}
    yield LargePosterior("mixed-n200", "mixed", {**crp, **table}, _table(200, 4))
    yield LargePosterior("mixed-n1000-missing-mfm", "mixed", {**mfm, **table}, _table(1000, 5, 0.05), 100)
    line = {"sigma0": 5.0, "sigma1": 1.0, "a0": 2.0}
    yield LargePosterior("lines-n150", "lines", {**crp, **line, "noise": "known"}, _lines(150, 3, 1.0))
    yield LargePosterior("lines-n400-nig-mfm", "lines", {**mfm, **line, "noise": "nig"}, _lines(400, 3, 0.7))
    yield LargePosterior("irm-n100", "irm", {**crp, "beta1": 1.0, "beta0": 1.0}, _network(100, 4, 0.5, 0.1))
    yield LargePosterior(
        "irm-n300-gamma", "irm", {**gamma, "beta1": 0.5, "beta0": 0.5}, _network(300, 5, 0.35, 0.12), 60
    )
