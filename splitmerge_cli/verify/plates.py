"""Single moves of the compiled samplers of Herlau et al. 2014, step by step, for figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.config import Component
from splitmerge_cli.core.model import Model
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.runs.datasets import build_sampler
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.reconfiguration import Reconfiguration
from splitmerge_cli.verify.enumerate import State, state_of
from splitmerge_cli.verify.transitions import list_paths

Labels = NDArray[np.int32]
Plate = tuple[str, Labels]
TRIES, SCANS = 400, (50, 100)
"""Moves that are made from a state, and Gibbs scans after which chains are looked at, for an example."""


@dataclass(frozen=True)
class Move:
    """One reconfiguration move."""

    plates: list[Plate]
    """Shape (N,)): what the sampler recorded: state, refinement, launch, blocks, singles (the proposal). -1: not
    placed; in the refinement labels number the blocks of c, and items outside are -1."""
    pair: tuple[int, int]
    """i and j."""
    log_ratio: float
    """Log acceptance ratio; for a rejected move a bound."""
    accepted: bool

    def plate(self, name: str) -> Labels:
        """The labels of one plate."""
        return next(labels for plate_name, labels in self.plates if plate_name == name)


def gibbs_states(model: Model, chains: int, scans: Sequence[int], seed: int = 0) -> list[list[Labels]]:
    """Return the states that Gibbs chains from random starts reach after numbers of scans, by chain."""
    found = []
    for chain in range(chains):
        rng = Rng(seed, chain)
        gibbs = Gibbs(model, rng)
        model.set_labels(np.random.default_rng([seed, chain]).integers(5, size=model.N).astype(np.int32))
        states = []
        for scan in range(max(scans) + 1):
            if scan:
                gibbs.step()
            if scan in scans:
                states.append(model.labels)
        found.append(states)
    return found


def reconfigurations(
    model: Model,
    sampler: Component,
    state: ArrayLike,
    za: ArrayLike,
    zb: ArrayLike,
    tries: int,
    pair: tuple[int, int] = (-1, -1),
    seed: int = 0,
) -> Iterator[Move]:
    """Make so many moves of `arm` from one state, with two partitions that it learns from, all labels ``[N]``.

    Items are visited in item order (``relabel=false``), in a move and its reverse. The pair is (i, j); (-1, -1): drawn
    by each move.
    """
    rng = Rng(seed)
    built = build_sampler(sampler.with_options(relabel=False), model, rng)
    assert isinstance(built, Reconfiguration)
    built.record = True
    built.fix(np.asarray(za, np.int32), np.asarray(zb, np.int32), *pair)
    for _ in range(tries):
        model.set_labels(np.asarray(state, np.int32))
        built.step()
        if not built.plates:
            # z_a and z_b agree on all pairs
            return
        accepted = is_same_partition(model.labels, built.plates[-1][1])
        yield Move(list(built.plates), built.pair, built.last_log_ratio, accepted)


def is_same_partition(a: ArrayLike, b: ArrayLike) -> bool:
    """Whether two labellings are one partition."""
    return state_of(a, 0)[0] == state_of(b, 0)[0]


def has_all_plates(move: Move) -> bool:
    """Whether a move has all plates of the paper's figure.

    It is an accepted split; other blocks are out and find places, then single items move in and out; the number of
    clusters stays.
    """
    state, end = move.plate("state"), move.plate("singles")
    inside = move.plate("refinement") >= 0
    i, j = move.pair
    taken_out = len(set(move.plate("refinement")[move.plate("launch") < 0].tolist()))
    blocks = move.plate("blocks")
    joined = (end == end[i]) | (end == end[j])
    return bool(
        move.accepted
        and state[i] == state[j]
        and taken_out >= 2
        and len(set(state.tolist())) == len(set(end.tolist()))
        and (joined & ~inside).any()
        and (inside & (blocks != end)).any()
    )


def find_example(model: Model, sampler: Component, seed: int = 0) -> tuple[Move, Move]:
    """Find a move that shows all plates, from a state of three Gibbs chains, and the move that undoes it.

    Among the moves from the states of three chains after `SCANS[1]` scans (z_a is the chain's own after `SCANS[0]`, z_b
    another's) the one of highest acceptance ratio for which `has_all_plates` holds and whose reverse was found; a
    RuntimeError where there is none.
    """
    states = gibbs_states(model, 3, SCANS, seed)
    found: list[tuple[Move, Labels, Labels]] = []
    for own_start, other in product(range(3), repeat=2):
        if own_start != other:
            za, zb = states[own_start][0], states[other][1]
            moves = reconfigurations(model, sampler, states[own_start][1], za, zb, TRIES, seed=seed)
            found += [(move, za, zb) for move in moves if has_all_plates(move)]
    for move, za, zb in sorted(found, key=lambda each: -each[0].log_ratio):
        end = move.plate("singles")
        for back in reconfigurations(model, sampler, end, za, zb, 20 * TRIES, move.pair, seed):
            if is_same_partition(back.plate("singles"), move.plate("state")):
                return move, back
    raise RuntimeError(f"no move from the states of seed {seed} shows all plates and was undone again")


def option_probabilities(model: Model, options: Sequence[ArrayLike]) -> NDArray[np.float64]:
    """Probability of each partition in a Gibbs update with these options, shape (options,)."""
    log_q = []
    for labels in options:
        model.set_labels(np.asarray(labels, np.int32))
        log_q.append(model.log_joint())
    weights = np.exp(np.array(log_q) - max(log_q))
    return np.asarray(weights / weights.sum(), np.float64)


def proposal_probability(
    model: Model, sampler: Component, state: State, end: Sequence[int], pair: tuple[int, int]
) -> float:
    """Probability with which a move of `arm`, its partitions fixed to one block and singletons, proposes `end`.

    With these two partitions c is all singletons, so that `variant=sarm` is Algorithm 2 on the given pair, in item
    order. The compiled sampler's choices are enumerated.
    """
    rng = Rng()
    built = build_sampler(sampler.with_options(relabel=False), model, rng)
    N = model.N
    built.fix(np.zeros(N, np.int32), np.arange(N, dtype=np.int32), *pair)  # type: ignore[attr-defined]
    paths = list_paths(model, rng, built, state, always_accept=True)
    return sum(p for reached, p, _, _ in paths if reached[0] == tuple(end))
