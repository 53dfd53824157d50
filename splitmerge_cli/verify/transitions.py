"""The exact transition matrix of a compiled sampler, by walking the tree of all its random choices.

Every choice of a sampler passes through its ``Rng``. A script takes the place of the stream and is turned, path by
path, through all options of positive probability; the product of their probabilities along a path is the path's
probability. So the matrix is that of the code that runs, not of a formula about it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from hydra.utils import get_class
from numpy.typing import NDArray

from splitmerge_cli._kernels import Model, Rng, Sampler
from splitmerge_cli.config import ConfigError
from splitmerge_cli.verify.enumerate import State, state_of


def build_sampler(
    model: Model, rng: Rng, sampler: Mapping[str, Any], extra: Mapping[str, Any] | None = None
) -> Sampler:
    """The sampler of a configuration, with further options.

    Raises
    ------
    ConfigError
        An option is out of range.
    """
    given = {k: v for k, v in sampler.items() if k not in ("name", "_target_")} | dict(extra or {})
    try:
        built = get_class(sampler["_target_"])(model, rng, **given)
    except (TypeError, ValueError, OverflowError) as error:
        raise ConfigError(f"sampler={sampler['name']}: {error}") from error
    assert isinstance(built, Sampler)
    return built


class TooManyPaths(Exception):
    """The tree of choices is larger than the limit."""


def walk(
    model: Model, rng: Rng, sampler: Sampler, state: State, always_accept: bool = False, limit: int = 2_000_000
) -> list[tuple[State, float, float, str]]:
    """Every path of one step from a state.

    Parameters
    ----------
    model, rng, sampler
        The sampler works on this model and generator.
    state : State
    always_accept : bool
        Accept every proposal and count no acceptance: the paths are proposals.
    limit : int
        Most paths.

    Returns
    -------
    list of (state, probability, log_ratio, move)
        Where the path ends; its probability; the log acceptance ratio of its last decision (nan for a null move); the
        move's name.

    Raises
    ------
    TooManyPaths
    ContinuousDraw
        A choice was made that has no list of options.
    """
    paths = []
    labels = np.array(state[0], dtype=np.int32)
    held = model.concentration
    rng.script_start(always_accept)
    try:
        while True:
            model.set_labels(labels, state[1])
            if model.random_concentration:
                model.set_concentration(held)
            if len(state) == 3:
                model.set_parameters(np.array(state[2]))
            rng.script_begin()
            sampler.step()
            reached = state_of(model.labels, model.K, model.parameters if len(state) == 3 else None)
            paths.append((reached, rng.script_probability(), sampler.last_log_ratio, sampler.last_move))
            if not rng.script_next():
                return paths
            if len(paths) >= limit:
                raise TooManyPaths(f"more than {limit} paths from one state")
    finally:
        rng.script_stop()
        if model.random_concentration:
            model.set_concentration(held)


def transition_matrix(
    model: Model, rng: Rng, sampler: Sampler, states: Sequence[State], limit: int = 2_000_000
) -> NDArray[np.float64]:
    """Transition matrix of one step, shape (n_states, n_states), rows sum to 1.

    Raises
    ------
    TooManyPaths
        When more than `limit` paths are needed in all.
    """
    index = {s: t for t, s in enumerate(states)}
    P = np.zeros((len(states), len(states)))
    used = 0
    for t, s in enumerate(states):
        paths = walk(model, rng, sampler, s, limit=limit - used)
        used += len(paths)
        for to, p, _, _ in paths:
            P[t, index[to]] += p
    return P


def stationary(P: NDArray[np.float64]) -> NDArray[np.float64]:
    """The stationary law of an irreducible transition matrix, shape (n,)."""
    n = len(P)
    A = np.vstack([P.T - np.eye(n), np.ones(n)])
    b = np.zeros(n + 1)
    b[-1] = 1.0
    return np.asarray(np.linalg.lstsq(A, b, rcond=None)[0], dtype=np.float64)


def irreducible(P: NDArray[np.float64]) -> bool:
    """Whether every state can be reached from every other."""
    from scipy.sparse.csgraph import connected_components

    return connected_components(P > 0, directed=True, connection="strong")[0] == 1


def stationarity_defect(P: NDArray[np.float64], pi: NDArray[np.float64]) -> float:
    """max |pi P - pi|."""
    return float(np.abs(pi @ P - pi).max())


def balance_defect(P: NDArray[np.float64], pi: NDArray[np.float64]) -> float:
    """max |pi(x) P(x, y) - pi(y) P(y, x)|: 0 for a reversible kernel."""
    flow = pi[:, None] * P
    return float(np.abs(flow - flow.T).max())


def total_variation(p: NDArray[np.float64], q: NDArray[np.float64]) -> float:
    """Half the summed absolute difference of two laws."""
    return float(0.5 * np.abs(p - q).sum())
