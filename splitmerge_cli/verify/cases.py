"""Small cases with a known posterior: a model on a few items, all its states, and their exact probabilities."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli._chain import Chain
from splitmerge_cli._kernels import Model, Rng, Sampler, check_count
from splitmerge_cli.verify.enumerate import (
    State,
    bernoulli_log_weight,
    emm_log_weight,
    emm_states,
    mixture_states,
    normalise,
    state_of,
)


@dataclass(frozen=True)
class Case:
    """A small posterior.

    Attributes
    ----------
    model : Model
    states : list of State
        Every state.
    pi : ndarray of float, shape (n_states,)
        Their exact probabilities.
    title : str
        The data and parameters, for people.
    """

    model: Model
    states: list[State]
    pi: NDArray[np.float64]
    title: str


MOST_ENTITIES = 20
"""Largest kmax whose states are enumerated."""


def emm_case(build: Callable[..., Model], size: int, seed: int, params: Mapping[str, Any]) -> Case:
    """`size` mentions of up to three tokens; kmax is `size` unless given."""
    options: dict[str, Any] = {"alpha": 0.5, "mu": 1.0, "sigma": 1.0, "kmax": size, "labels": "labelled", "n_tokens": 3}
    options |= params
    check_count("model.kmax", options["kmax"], 1, MOST_ENTITIES)
    tokens = np.random.default_rng(seed).integers(3, size=size).astype(np.int32)
    model = build(tokens, **options)
    states = emm_states(size, options["kmax"])
    weight = emm_log_weight(tokens, *(options[k] for k in ("n_tokens", "alpha", "mu", "sigma", "labels")))
    title = f"tokens {' '.join(map(str, tokens))}, {_show(options)}"
    return Case(model, states, normalise([weight(s) for s in states]), title)


def bernoulli_case(build: Callable[..., Model], size: int, seed: int, params: Mapping[str, Any]) -> Case:
    """`size` rows of three binary attributes."""
    options: dict[str, Any] = {"concentration": 1.3, "beta1": 0.6, "beta0": 0.9, "prior": "crp"} | dict(params)
    x = np.random.default_rng(seed).integers(2, size=(size, 3)).astype(np.uint8)
    model = build(x, **options)
    states = mixture_states(size)
    weight = bernoulli_log_weight(x, *(options[k] for k in ("concentration", "beta1", "beta0", "prior")))
    rows = " ".join("".join(map(str, row)) for row in x)
    return Case(model, states, normalise([weight(s) for s in states]), f"rows {rows}, {_show(options)}")


CASES: dict[str, Callable[[Callable[..., Model], int, int, Mapping[str, Any]], Case]] = {
    "EMM": emm_case,
    "Bernoulli": bernoulli_case,
}
"""The small case of each model class. A new model adds its own, with a log weight in ``verify.enumerate``."""


def small_case(model: type[Model], size: int = 4, seed: int = 0, params: Mapping[str, Any] | None = None) -> Case:
    """The small case of a model class.

    Raises
    ------
    ValueError
        For a class without one, or parameters out of range.
    """
    if model.__name__ not in CASES:
        raise ValueError(f"model {model.__name__} has no enumerable small case in splitmerge_cli/verify/cases.py")
    return CASES[model.__name__](model, size, seed, params or {})


def sampled_frequencies(
    case: Case, samplers: list[Sampler], rng: Rng, iterations: int, batches: int = 40
) -> tuple[NDArray[np.float64], float]:
    """Run a chain and count its states.

    Parameters
    ----------
    case : Case
    samplers : list of Sampler
        A cycle: each steps once an iteration.
    rng : Rng
        The samplers' generator.
    iterations : int
    batches : int
        Batches of the noise estimate.

    Returns
    -------
    frequencies : ndarray of float, shape (n_states,)
    noise : float
        Total variation to expect of an exact sampler: half the summed mean absolute error of every frequency, from
        batch means.
    """
    index = {s: t for t, s in enumerate(case.states)}
    start = case.states[int(np.argmax(case.pi))]
    case.model.set_labels(np.array(start[0], dtype=np.int32), start[1] if case.model.allows_empty else None)
    chain = Chain(case.model, rng, samplers, thin=iterations, partitions=1)
    counts = np.zeros((batches, len(case.states)))
    for b in range(batches):
        wanted = iterations // batches
        while wanted:
            before = chain.iteration
            out = chain.advance(wanted)
            wanted -= chain.iteration - before
            rows, times = np.unique(
                np.column_stack([out["partition_labels"], out["partition_K"]]), axis=0, return_counts=True
            )
            for row, n in zip(rows, times, strict=True):
                counts[b, index[state_of(row[:-1], int(row[-1]))]] += n
    per_batch = counts / counts.sum(axis=1, keepdims=True)
    error = per_batch.std(axis=0, ddof=1) / np.sqrt(batches)
    return per_batch.mean(axis=0), float(0.5 * np.sqrt(2 / np.pi) * error.sum())


def _show(options: Mapping[str, Any]) -> str:
    return " ".join(f"{k}={v}" for k, v in options.items())
