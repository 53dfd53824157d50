"""Enumerated posteriors over partitions, written so that any other program can be tested against them.

Every case is small data, a model with all its hyper-parameters, and the probability of every state, from the formulas
of `splitmerge_cli.verify.enumerate` and `splitmerge_cli.verify.continuous`, which share no code with the samplers.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from splitmerge_cli.config import ConfigError
from splitmerge_cli.results.manifest import sha256_of
from splitmerge_cli.results.tables import SealedFolder
from splitmerge_cli.verify import continuous
from splitmerge_cli.verify.enumerate import (
    State,
    bernoulli_log_weight,
    emm_log_weight,
    emm_states,
    hdp_log_weight,
    irm_log_weight,
    mixture_states,
    normalise,
    state_of,
)

INDEX = "index.json"
BATCHES = 20
"""Batches of successive draws; their spread gives the noise of a sample."""
CHANCE = 0.001
"""Largest probability that an exact sample counts as different: by total variation, E[K] or one state."""


@dataclass(frozen=True)
class Posterior:
    """One case.

    Attributes
    ----------
    id, model : str
    data : dict
        What the items are; arrays as nested lists, NaN as None.
    hyperparameters : dict
        All of them; a pair under the name of a prior's is (shape, rate) of a gamma density that it is integrated over.
    states : callable
        Makes the list of states.
    log_weight : callable
        Takes a state; up to a constant.
    """

    id: str
    model: str
    data: dict[str, Any]
    hyperparameters: dict[str, Any]
    states: Callable[[], list[State]]
    log_weight: Callable[[State], float]

    @property
    def n_items(self) -> int:
        """int: N."""
        return int(self.data["N"])

    def table(self) -> pd.DataFrame:
        """Every state: labels (from 0, by first appearance), K (clusters, empty ones among them), probability, log."""
        states = self.states()
        log_weight = np.array([self.log_weight(state) for state in states])
        probability = normalise(log_weight)
        return pd.DataFrame(
            {
                "labels": [np.asarray(state[0], dtype=np.int8) for state in states],
                "K": np.array([state[1] for state in states], dtype=np.int16),
                "probability": probability,
                "log_probability": np.log(np.where(probability > 0, probability, 1.0))
                + np.where(probability > 0, 0.0, -np.inf),
            }
        )


def cases() -> list[Posterior]:
    """All cases, by id."""
    makers = _bernoulli_cases, _emm_cases, _irm_cases, _gaussian_cases, _lines_cases, _mixed_cases, _hdp_cases
    return sorted((case for make in makers for case in make()), key=lambda case: case.id)


def write(folder: Path) -> list[dict[str, Any]]:
    """Enumerate all cases into a folder: a parquet file each, ``index.json`` with data and summaries, and a manifest.

    Parameters
    ----------
    folder : Path
        Made where it is not there.

    Returns
    -------
    list of dict
        The entries of the index: id, model, N, states, mean_K, mean_clusters (not empty), co_clustering ``[N, N]``,
        data, hyperparameters, file, sha256.
    """
    entries = []
    with SealedFolder(folder) as files:
        for case in cases():
            table = case.table()
            path = files.add_parquet(case.id, table)
            labels, p = np.stack(table["labels"].to_list()), table["probability"].to_numpy()
            together = np.einsum("s,sij->ij", p, (labels[:, :, None] == labels[:, None, :]).astype(float))
            entries.append(
                {
                    "id": case.id,
                    "model": case.model,
                    "N": case.n_items,
                    "states": len(table),
                    "mean_K": float(p @ table["K"]),
                    "mean_clusters": float(p @ (labels.max(axis=1) + 1)),
                    "co_clustering": np.round(together, 12).tolist(),
                    "data": case.data,
                    "hyperparameters": case.hyperparameters,
                    "file": path.name,
                    "sha256": sha256_of(path),
                }
            )
        files.add_sealed(INDEX, {"format": 1, "posteriors": entries})
    return entries


@dataclass(frozen=True)
class Comparison:
    """A sample compared with an enumerated posterior.

    Attributes
    ----------
    total_variation : float
        Between the frequencies of the states and their probabilities.
    noise : float
        What an exact sampler of this length and autocorrelation is expected to have.
    mean_K, exact_mean_K, error_mean_K : float
        Mean of K in the sample, in the posterior, and the standard error of the former.
    draws : int
    worst : tuple
        Labels of the state whose frequency is the most standard errors away, its frequency and its probability.
    agrees : bool
        No further than chance: total variation, E[K] and the worst state, each by the quantile of a third of `CHANCE`.
    """

    total_variation: float
    noise: float
    mean_K: float
    exact_mean_K: float
    error_mean_K: float
    draws: int
    worst: tuple[tuple[int, ...], float, float]
    agrees: bool


def check(case: Posterior, labels: ArrayLike, K: ArrayLike | None = None) -> Comparison:
    """Compare draws of partitions with an enumerated posterior.

    Parameters
    ----------
    labels : array_like of int
        ``[draws, N]``, successive draws of a chain, or of chains one after the other; any numbering of clusters.
    K : array_like of int, optional
        ``[draws]``, clusters with the empty ones; by default those that hold an item.

    Raises
    ------
    ConfigError
        Other numbers of items, too few draws, or a state of which the model has none.
    """
    draws = np.asarray(labels)
    if draws.ndim != 2 or draws.shape[1] != case.n_items:
        raise ConfigError(f"samples: shape {draws.shape}; expected [draws, {case.n_items}], the items of {case.id}")
    if len(draws) < 10 * BATCHES:
        raise ConfigError(f"samples: {len(draws)} draws; expected {10 * BATCHES} at least")
    exact = case.table()
    number = {(tuple(z.tolist()), int(k)): i for i, (z, k) in enumerate(zip(exact["labels"], exact["K"], strict=True))}
    found = np.empty(len(draws), dtype=np.int64)
    for i, row in enumerate(draws):
        z = state_of(row, 0)[0]
        state = (z, max(z) + 1 if K is None else int(np.asarray(K)[i]))
        if state not in number:
            raise ConfigError(f"samples: row {i + 1}: labels {list(z)} with K={state[1]}: {case.id} has no such state")
        found[i] = number[state]
    p = exact["probability"].to_numpy()
    batches = [np.bincount(part, minlength=len(p)) / len(part) for part in np.array_split(found, BATCHES)]
    frequency = np.bincount(found, minlength=len(p)) / len(found)
    # what was never seen has no spread of its own: that of independent draws
    error = np.maximum(np.std(batches, axis=0, ddof=1) / np.sqrt(BATCHES), np.sqrt(p * (1 - p) / len(found)))
    clusters = exact["K"].to_numpy()
    of_batch = [float(np.mean(clusters[part])) for part in np.array_split(found, BATCHES)]
    error_K = float(np.std(of_batch, ddof=1) / np.sqrt(BATCHES))
    mean_K, exact_K = float(clusters[found].mean()), float(p @ clusters)
    off = np.abs(frequency - p) / np.where(error > 0, error, np.inf)
    worst = int(off.argmax())
    distance, noise = 0.5 * np.abs(frequency - p).sum(), 0.5 * np.sqrt(2 / np.pi) * error.sum()
    # of the sum of absolute errors, as if those of different states were independent
    spread = 0.5 * np.sqrt((1 - 2 / np.pi) * (error**2).sum())
    far = stats.t.ppf(1 - CHANCE / 3 / np.array([1, 2, 2 * len(p)]), BATCHES - 1)
    agrees = distance <= noise + far[0] * spread and abs(mean_K - exact_K) <= far[1] * error_K and off[worst] <= far[2]
    return Comparison(
        total_variation=float(distance),
        noise=float(noise),
        mean_K=mean_K,
        exact_mean_K=exact_K,
        error_mean_K=error_K,
        draws=len(found),
        worst=(tuple(exact["labels"][worst].tolist()), float(frequency[worst]), float(p[worst])),
        agrees=bool(agrees),
    )


# cases


def _nest(x: ArrayLike) -> Any:
    """Return nested lists for JSON, None for NaN."""
    values = np.asarray(x)
    if values.dtype.kind != "f":
        return values.tolist()
    if values.ndim > 1:
        return [_nest(row) for row in values]
    return [None if np.isnan(value) else round(float(value), 12) for value in values]


def _mixture(
    id: str, model: str, N: int, data: dict[str, Any], make: Callable[..., Any], hyper: dict[str, Any], *x: Any
) -> Posterior:
    """A mixture without empty clusters."""
    states = partial(mixture_states, N)
    return Posterior(id, model, {"N": N, **data}, hyper, states, make(*x, **hyper))


def _bernoulli_cases() -> Iterator[Posterior]:
    settings = [
        ("bernoulli-n4", 4, 2, {"concentration": 1.0, "beta1": 1.0, "beta0": 1.0, "prior": "crp"}),
        ("bernoulli-n6", 6, 4, {"concentration": 1.7, "beta1": 0.4, "beta0": 0.7, "prior": "crp"}),
        ("bernoulli-n6-uniform", 6, 4, {"concentration": 1.0, "beta1": 1.0, "beta0": 1.0, "prior": "uniform"}),
        ("bernoulli-n6-gamma", 6, 4, {"concentration": (2.0, 1.5), "beta1": 0.4, "beta0": 0.7, "prior": "crp"}),
        ("bernoulli-n8", 8, 5, {"concentration": 0.5, "beta1": 0.5, "beta0": 0.5, "prior": "crp"}),
        ("bernoulli-n9", 9, 6, {"concentration": 1.0, "beta1": 0.3, "beta0": 0.3, "prior": "crp"}),
        ("bernoulli-n10", 10, 3, {"concentration": 1.0, "beta1": 1.0, "beta0": 1.0, "prior": "crp"}),
    ]
    for id, N, D, hyper in settings:
        x = np.random.default_rng(N + D).integers(2, size=(N, D)).astype(np.uint8)
        yield _mixture(id, "bernoulli", N, {"x": _nest(x)}, bernoulli_log_weight, hyper, x)


def _emm_cases() -> Iterator[Posterior]:
    for label_prior in ("labelled", "partition", "as_printed"):
        for N, kmax in ((5, 6), (7, 4)):
            tokens = np.random.default_rng(N).integers(3, size=N).astype(np.int32)
            hyper: dict[str, Any] = {"alpha": 0.3, "mu": 1.0, "sigma": 0.8, "label_prior": label_prior}
            weight = emm_log_weight(tokens, 3, **hyper)
            data = {"N": N, "tokens": _nest(tokens), "n_tokens": 3}
            name = label_prior.replace("_", "-")
            states = partial(emm_states, N, kmax)
            yield Posterior(f"emm-n{N}-{name}", "emm", data, {**hyper, "kmax": kmax}, states, weight)


def _irm_cases() -> Iterator[Posterior]:
    settings = [
        ("irm-n4", 4, {"concentration": 1.0, "beta1": 1.0, "beta0": 1.0, "prior": "crp"}),
        ("irm-n6", 6, {"concentration": 1.4, "beta1": 0.6, "beta0": 1.7, "prior": "crp"}),
        ("irm-n6-gamma", 6, {"concentration": (1.5, 1.0), "beta1": 1.0, "beta0": 1.0, "prior": "crp"}),
        ("irm-n8", 8, {"concentration": 1.0, "beta1": 1.0, "beta0": 1.0, "prior": "crp"}),
        ("irm-n8-uniform", 8, {"concentration": 1.0, "beta1": 1.0, "beta0": 1.0, "prior": "uniform"}),
    ]
    for id, N, hyper in settings:
        upper = np.triu(np.random.default_rng(N).random((N, N)) < 0.5, 1)
        A = (upper | upper.T).astype(np.uint8)
        yield _mixture(id, "irm", N, {"adjacency": _nest(A)}, irm_log_weight, hyper, A)


def _gaussian_cases() -> Iterator[Posterior]:
    fixed: dict[str, Any] = {"concentration": 1.0, "prior": "crp", "m0": 0.0, "kappa0": 0.3, "a0": 1.5, "b0": 0.7}
    settings: list[tuple[str, int, int, dict[str, Any]]] = [
        ("gaussian-diag-n6", 6, 2, {"covariance": "diag"}),
        ("gaussian-iso-n6", 6, 2, {"covariance": "iso"}),
        ("gaussian-full-n6", 6, 2, {"covariance": "full"}),
        ("gaussian-diag-n6-1d", 6, 1, {"covariance": "diag"}),
        ("gaussian-full-n7-3d", 7, 3, {"covariance": "full"}),
        ("gaussian-diag-n8", 8, 2, {"covariance": "diag"}),
        ("gaussian-diag-n6-gamma", 6, 2, {"covariance": "diag", "concentration": (2.0, 2.0)}),
        ("gaussian-diag-n6-uniform", 6, 2, {"covariance": "diag", "prior": "uniform"}),
        ("gaussian-diag-n5-b0", 5, 1, {"covariance": "diag", "b0": (0.5, 0.5)}),
        ("gaussian-iso-n5-kappa0", 5, 2, {"covariance": "iso", "kappa0": (0.5, 0.5)}),
    ]
    for id, N, D, changed in settings:
        rng = np.random.default_rng(10 * N + D)
        x = np.round(rng.normal(size=(N, D)) + 2.5 * (np.arange(N) % 2)[:, None], 3)
        hyper = {**fixed, **changed}
        yield _mixture(id, "gaussian", N, {"x": _nest(x)}, continuous.gaussian_log_weight, hyper, x)


def _lines_cases() -> Iterator[Posterior]:
    fixed: dict[str, Any] = {"concentration": 1.2, "sigma0": 3.0, "sigma1": 0.7, "a0": 1.5, "prior": "crp"}
    for id, N, changed in (
        ("lines-n6", 6, {"noise": "known"}),
        ("lines-n6-nig", 6, {"noise": "nig"}),
        ("lines-n8", 8, {"noise": "known", "concentration": 0.5}),
    ):
        rng = np.random.default_rng(N)
        abscissa = rng.uniform(-2, 2, N)
        side = np.arange(N) % 2
        y = np.where(side, 1.5 * abscissa + 1, -abscissa) + rng.normal(0, 0.7, N)
        x = np.round(np.column_stack([abscissa, y]), 3)
        yield _mixture(id, "lines", N, {"x": _nest(x)}, continuous.lines_log_weight, {**fixed, **changed}, x)


def _mixed_cases() -> Iterator[Posterior]:
    types, levels = ("real", "binary", "categorical", "count"), (0, 2, 3, 0)
    options = {"beta1": 0.4, "beta0": 0.6, "alpha": 0.7, "shape": 1.3, "rate": 0.4, "m0": 0.0, "kappa0": 0.3}
    for id, N, missing in (("mixed-n6", 6, 0.0), ("mixed-n6-missing", 6, 0.3), ("mixed-n7-missing", 7, 0.2)):
        rng = np.random.default_rng(N + int(10 * missing))
        half = np.arange(N) % 2
        x = np.column_stack(
            [
                np.round(rng.normal(2.0 * half, 1.0), 3),
                rng.random(N) < 0.2 + 0.6 * half,
                (rng.integers(2, size=N) + half) % 3,
                rng.poisson(1.0 + 3.0 * half),
            ]
        ).astype(float)
        x[rng.random(x.shape) < missing] = np.nan
        hyper: dict[str, Any] = {"concentration": 0.8, **options, "a0": 1.5, "b0": 0.5, "prior": "crp"}
        data = {"N": N, "x": _nest(x), "types": list(types), "levels": list(levels)}
        weight = continuous.mixed_log_weight(x, types, levels, **hyper)
        yield Posterior(id, "mixed", data, hyper, partial(mixture_states, N), weight)


def _hdp_cases() -> Iterator[Posterior]:
    for id, lengths, gamma, alpha0 in (
        ("hdp-n5", (3, 2), 1.0, 1.0),
        ("hdp-n6", (2, 2, 2), 1.5, 0.7),
        ("hdp-n6-gamma", (3, 3), (1.0, 1.0), (1.0, 1.0)),
        ("hdp-n7", (4, 3), 0.5, 2.0),
    ):
        N, V = sum(lengths), 3
        docs = np.repeat(np.arange(len(lengths)), lengths)
        words = np.random.default_rng(N).integers(V, size=N)
        hyper: dict[str, Any] = {"gamma": gamma, "alpha0": alpha0, "eta": 0.5}
        data = {"N": N, "documents": _nest(docs), "words": _nest(words), "vocabulary": V}
        weight = hdp_log_weight(docs, words, V, **hyper)
        yield Posterior(id, "hdp", data, hyper, partial(mixture_states, N), weight)
