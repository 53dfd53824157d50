"""The exact joint kernel of two coupled chains, by enumeration of all execution paths of a coupled step.

From it: whether both margins are the transition matrix, whether equal states stay equal, the exact distribution of the
meeting time, and the exact bound of the total variation distance beside the distance itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from compiled.coupled_paths import coupled_paths
from numpy.typing import NDArray

from splitmerge_cli.core import coupled, model
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.core.sampler import Sampler
from splitmerge_cli.verify.enumerate import State
from splitmerge_cli.verify.transitions import Ends, transition_matrix


@dataclass(frozen=True, eq=False)
class JointKernel:
    """A coupled kernel on pairs of n states.

    Attributes
    ----------
    P : ndarray of float, shape (n, n)
        Transition matrix of one chain.
    J : ndarray of float, shape (n, n, n, n)
        Probability of going from (x, y) to (x', y').
    paths : int
        Execution paths from all pairs.
    """

    P: NDArray[np.float64]
    J: NDArray[np.float64]
    paths: int

    @property
    def margin_defect(self) -> float:
        """Largest deviation of a margin, from any pair of states, from the transition matrix."""
        of_x = np.abs(self.J.sum(axis=3) - self.P[:, None, :]).max()
        of_y = np.abs(self.J.sum(axis=2) - self.P[None, :, :]).max()
        return float(max(of_x, of_y))

    @property
    def parting(self) -> float:
        """Largest probability of going from a pair of equal states to one of different states."""
        same = np.einsum("aaij->aij", self.J)
        return float((same.sum(axis=(1, 2)) - np.einsum("aii->a", same)).max())

    def meeting_distribution(self, start: NDArray[np.float64], lag: int, longest: int) -> NDArray[np.float64]:
        """Distribution of the meeting time.

        Parameters
        ----------
        start : ndarray of float, shape (n,)
            Distribution of the start state of each chain.
        lag : int
        longest : int

        Returns
        -------
        ndarray of float, shape (longest + 1,)
            P(tau = t) for t = 0, 1, ..., `longest`; of larger t none.
        """
        ahead = start @ np.linalg.matrix_power(self.P, lag)
        pair = np.outer(ahead, start)
        distribution = np.zeros(longest + 1)
        for t in range(lag, longest + 1):
            met = np.einsum("aa->a", pair)
            distribution[t] = met.sum()
            pair = pair.copy()
            np.fill_diagonal(pair, 0.0)
            pair = np.einsum("ab,abij->ij", pair, self.J)
        return distribution


def total_variation_bound(meeting: NDArray[np.float64], lag: int, t: int) -> float:
    """E max(0, ceil((tau - lag - t) / lag)), a bound of the total variation distance to the target after t iterations
    (Biswas, Jacob and Vanetti 2019, theorem 2.5)."""
    tau = np.arange(len(meeting))
    return float(meeting @ np.maximum(0, -(-(tau - lag - t) // lag)))


def joint_kernel(
    build: Callable[[], model.Model],
    samplers: Callable[[model.Model, Rng], Sampler],
    states: Sequence[State],
    limit: int = 2_000_000,
    coupling: str = "maximal",
) -> JointKernel:
    """Enumerate a coupled step from every pair of states.

    Parameters
    ----------
    build : callable
        Makes a model.
    samplers : callable
        Makes the sampler of a model and a generator.
    states : sequence of State
    limit : int
        Most paths from one pair.
    coupling : str
        Of draws of a cluster, as of `CoupledChains`.

    Raises
    ------
    TooManyPaths
    ContinuousDraw
    """
    rng = Rng(0)
    x, y = build(), build()
    sampler = samplers(x, rng)
    P = transition_matrix(x, rng, sampler, states, limit)
    chains = coupled.CoupledChains(x, y, rng, [sampler], [samplers(y, rng)], 1, coupling=coupling)
    ends = Ends(states)
    n, paths = len(states), 0
    J = np.zeros((n, n, n, n))
    for a, of_x in enumerate(states):
        for b, of_y in enumerate(states):
            found = coupled_paths(chains, 0, of_x, of_y, limit)
            kept = found["parameters"]
            pairs = [
                ends.numbers(
                    {
                        "labels": found["labels"][:, s],
                        "K": found["K"][:, s],
                        "parameters": None if kept is None else [each[s] for each in kept],
                    }
                )
                for s in (0, 1)
            ]
            J[a, b] = np.bincount(pairs[0] * n + pairs[1], found["probability"], n * n).reshape(n, n)
            paths += len(found["K"])
    return JointKernel(P, J, paths)
