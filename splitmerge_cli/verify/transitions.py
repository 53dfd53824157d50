"""The exact transition matrix of a compiled sampler, by enumeration of all its execution paths; its proposals before
acceptance, from which the matrices of the printed form and of all mutants follow, too; and single moves of the samplers
of Herlau et al. 2014, step by step, for figures.

Every choice of a sampler passes through its ``Rng``. A script takes the place of the stream and is turned, path by
path, through all options of positive probability; the product of their probabilities along a path is the path's
probability. So the matrix belongs to the code that runs, not to a formula about it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components

from splitmerge_cli.config import Component
from splitmerge_cli.core.model import Model
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.core.sampler import Sampler
from splitmerge_cli.runs.initial import build_sampler
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.reconfiguration import Reconfiguration
from splitmerge_cli.verify.enumerate import State, normalise, state_of
from splitmerge_cli.verify.paths import TooManyPaths, execution_paths

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
    """Make so many moves of `arm` from one state, with two partitions that it learns from, all labels ``[N]``. Items
    are visited in item order (``relabel=false``), in a move and its reverse. The pair is (i, j); (-1, -1): drawn by
    each move."""
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
    """Whether a move has all plates of the paper's figure: an accepted split; other blocks are out and find places,
    then single items move in and out; the number of clusters stays."""
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
    """A move that shows all plates, and the move that undoes it: among the moves from the states of three Gibbs chains
    after `SCANS[1]` scans (z_a is the chain's own after `SCANS[0]`, z_b another's) the one of highest acceptance ratio
    for which `has_all_plates` holds and whose reverse was found; a RuntimeError where there is none."""
    states: list[list[Labels]] = [[], [], []]
    for chain, of_chain in enumerate(states):
        gibbs = Gibbs(model, Rng(seed, chain))
        model.set_labels(np.random.default_rng([seed, chain]).integers(5, size=model.N).astype(np.int32))
        for scan in range(1, SCANS[1] + 1):
            gibbs.step()
            if scan in SCANS:
                of_chain.append(model.labels)
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
    return normalise(log_q)


def proposal_probability(
    model: Model, sampler: Component, state: State, end: Sequence[int], pair: tuple[int, int]
) -> float:
    """Probability with which a move of `arm`, its partitions fixed to one block and singletons, proposes `end`, by the
    compiled sampler's choices. With these two partitions c is all singletons, so that `variant=sarm` is Algorithm 2 on
    the given pair, in item order."""
    rng = Rng()
    built = build_sampler(sampler.with_options(relabel=False), model, rng)
    N = model.N
    built.fix(np.zeros(N, np.int32), np.arange(N, dtype=np.int32), *pair)  # type: ignore[attr-defined]
    paths = list_paths(model, rng, built, state, always_accept=True)
    return sum(p for reached, p, _, _ in paths if reached[0] == tuple(end))


class Ends:
    """Numbers of the states that paths end in."""

    def __init__(self, states: Sequence[State]) -> None:
        self.index = {state: t for t, state in enumerate(states)}
        self.known: dict[bytes, int] = {}

    def numbers(self, paths: Mapping[str, Any]) -> NDArray[np.int64]:
        """Number the end of each path that `execution_paths` found, shape (paths,); -1: in none of the states."""
        rows = np.column_stack([paths["labels"], paths["K"]])
        if paths["parameters"] is not None:
            return np.array([self._number(*end) for end in zip(rows, paths["parameters"], strict=True)], dtype=np.int64)
        # a row as one number
        base = int(rows.max()) + 1
        codes = rows @ base ** np.arange(rows.shape[1], dtype=np.int64)
        _, first, which = np.unique(codes, return_index=True, return_inverse=True)
        return np.array([self._number(rows[t]) for t in first], dtype=np.int64)[which]

    def _number(self, row: NDArray[np.int32], parameters: NDArray[np.float64] | None = None) -> int:
        key = row.tobytes() + (b"" if parameters is None else parameters.tobytes())
        if key not in self.known:
            self.known[key] = self.index.get(state_of(row[:-1], int(row[-1]), parameters), -1)
        return self.known[key]


def paths_from(
    model: Model, rng: Rng, sampler: Sampler, state: State, always_accept: bool = False, limit: int = 2_000_000
) -> dict[str, Any]:
    """Enumerate the execution paths of one step from a state, at most `limit` (`TooManyPaths`). With `always_accept`
    every proposal is accepted and no acceptance counted: the paths are proposals. A choice that has no list of options
    is a `ContinuousDraw`."""
    parameters = np.array(state[2]) if len(state) == 3 else None
    return execution_paths(model, rng, sampler, state[0], state[1], parameters, always_accept, limit)


def list_paths(
    model: Model, rng: Rng, sampler: Sampler, state: State, always_accept: bool = False
) -> list[tuple[State, float, float, str]]:
    """List the execution paths of one step from a state, as `paths_from` finds them: where the path ends; its
    probability; the log acceptance ratio of its last decision (nan for a null proposal); the move's name."""
    paths = paths_from(model, rng, sampler, state, always_accept)
    parameters = paths["parameters"] or [None] * len(paths["K"])
    reached = [state_of(*end) for end in zip(paths["labels"], map(int, paths["K"]), parameters, strict=True)]
    moves = [sampler.moves[t] for t in paths["move"]]
    return list(zip(reached, paths["probability"].tolist(), paths["log_ratio"].tolist(), moves, strict=True))


def transition_matrix(
    model: Model, rng: Rng, sampler: Sampler, states: Sequence[State], limit: int = 2_000_000
) -> NDArray[np.float64]:
    """Enumerate the transition matrix of one step, shape (n_states, n_states), by `limit` paths at most; rows sum to 1.
    Every decision counts as it is made, early rejection included. The row of a state from which a path leads to none of
    the states is nan."""
    ends = Ends(states)
    P = np.zeros((len(states), len(states)))
    used = 0
    for t, s in enumerate(states):
        paths = paths_from(model, rng, sampler, s, limit=limit - used)
        used += len(paths["K"])
        numbers, probability = ends.numbers(paths), paths["probability"]
        leaves = bool((probability[numbers < 0] > 0.0).any())
        P[t] = np.nan if leaves else np.bincount(numbers[numbers >= 0], probability[numbers >= 0], len(states))
    return P


History = tuple[NDArray[np.int32], NDArray[np.int32]]
"""Two partitions, as labels, that a sampler learns from."""


def example_histories(states: Sequence[State], number: int, seed: int = 0) -> list[History]:
    """Pairs of different partitions to learn from, at most so many: one cluster and singletons, which disagree on every
    pair of items; one cluster and item 0 apart, which agree on all others; the rest are drawn."""
    partitions = list(dict.fromkeys(state[0] for state in states))
    if len(partitions) < 2:
        return []
    rng = np.random.default_rng(seed)
    one = min(partitions, key=max)
    pairs = {
        frozenset((one, other)): (one, other) for other in (max(partitions, key=max), (0,) + (1,) * (len(one) - 1))
    }
    for _ in range(20 * number):
        if len(pairs) >= number:
            break
        a, b = (partitions[k] for k in rng.choice(len(partitions), size=2, replace=False))
        pairs.setdefault(frozenset((a, b)), (a, b))
    return [(np.array(a, dtype=np.int32), np.array(b, dtype=np.int32)) for a, b in pairs.values()]


def disagreements(history: History) -> list[tuple[int, int]]:
    """The pairs i < j that one of the partitions joins and the other does not."""
    za, zb = history
    differ = (za[:, None] == za) != (zb[:, None] == zb)
    return [(int(i), int(j)) for i, j in np.argwhere(np.triu(differ))]


def adaptive_matrices(
    model: Model, rng: Rng, sampler: Any, states: Sequence[State], histories: Sequence[History]
) -> Iterator[tuple[NDArray[np.float64], list[NDArray[np.float64]]]]:
    """Enumerate the transition matrices of an adaptive sampler, one with `fix`, for given partitions to learn from:
    that with the pair of items drawn from those that the two partitions disagree on, and one for each of
    `disagreements`."""
    try:
        for za, zb in histories:
            sampler.fix(za, zb)
            P = transition_matrix(model, rng, sampler, states)
            for_pair = []
            for i, j in disagreements((za, zb)):
                sampler.fix(za, zb, i, j)
                for_pair.append(transition_matrix(model, rng, sampler, states))
            yield P, for_pair
    finally:
        sampler.fix()


def stationary_distribution(P: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the stationary distribution of an irreducible transition matrix, shape (n,)."""
    n = len(P)
    A = np.vstack([P.T - np.eye(n), np.ones(n)])
    return np.asarray(np.linalg.lstsq(A, np.r_[np.zeros(n), 1.0], rcond=None)[0], dtype=np.float64)


def is_irreducible(P: NDArray[np.float64]) -> bool:
    """Whether every state can be reached from every other."""
    return connected_components(P > 0, directed=True, connection="strong")[0] == 1


def stationarity_defect(P: NDArray[np.float64], pi: NDArray[np.float64]) -> float:
    """max |pi P - pi|."""
    return float(np.abs(pi @ P - pi).max())


def balance_defect(P: NDArray[np.float64], pi: NDArray[np.float64]) -> float:
    """max |pi(x) P(x, y) - pi(y) P(y, x)|: 0 for a reversible kernel."""
    flow = pi[:, None] * P
    return float(np.abs(flow - flow.T).max())


def total_variation(p: NDArray[np.float64], q: NDArray[np.float64]) -> float:
    """Half the summed absolute difference of two distributions."""
    return float(0.5 * np.abs(p - q).sum())


ROUNDING = 1e-9
"""Largest difference by rounding: two sums of the same terms that agree within it count as equal."""


class SeveralProposals(Exception):
    """A step is more than one proposal: its matrix does not follow from the proposals of a state."""


@dataclass(frozen=True)
class Proposals:
    """Every proposal of a sampler from every state of a case; P of them, T terms."""

    terms: tuple[str, ...]
    """Terms of the log ratio, by name."""
    counted: NDArray[np.bool_]
    """Shape (T,): which count in the sampler's own ratio."""
    printed: int
    """The term that the printed form adds; -1 without one."""
    origin: NDArray[np.int64]
    target: NDArray[np.int64]
    """Shape (P,): numbers of the states."""
    move: NDArray[np.int64]
    """Shape (P,): number of the move."""
    probability: NDArray[np.float64]
    log_ratio: NDArray[np.float64]
    """Shape (P,): of proposing it; of accepting it (nan: null)."""
    values: NDArray[np.float64]
    """Shape (P, T): what each term adds to log_ratio."""
    states: int

    def has_named_terms(self) -> bool:
        """Whether the log ratio is the sum of named terms; a sampler in Python may not ``add`` them, a Gibbs update
        needs none."""
        is_made = np.isfinite(self.log_ratio)
        gap = np.abs(self._sum(self.counted)[is_made] - self.log_ratio[is_made])
        return bool(self.terms) and bool((gap < ROUNDING).all())

    def _sum(self, counted: NDArray[np.bool_], sign: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        values = self.values[:, counted]
        with np.errstate(invalid="ignore"):
            return np.asarray((values if sign is None else values * sign[counted]).sum(axis=1))

    def matrix(self, omit: Collection[str] = (), flip: Collection[str] = (), printed: bool = False) -> NDArray[Any]:
        """The transition matrix with acceptance min(1, exp(sum of terms)). With terms left out, or of opposite sign, it
        is a mutant's ratio; `printed` counts the printed term, too."""
        log_ratio = self.log_ratio
        if omit or flip or printed:
            counted = self.counted & ~np.isin(self.terms, list(omit))
            if printed:
                counted[self.printed] = True
            log_ratio = self._sum(counted, np.where(np.isin(self.terms, list(flip)), -1.0, 1.0))
            log_ratio = np.where(np.isnan(self.log_ratio), np.nan, log_ratio)
        return self.with_ratio(log_ratio)

    def with_ratio(self, log_ratio: NDArray[np.float64]) -> NDArray[np.float64]:
        """The transition matrix with these log acceptance ratios, shape (P,), nan where there is no proposal."""
        # a ratio that is 1 but for rounding counts as 1, as in the generator; nan is no proposal
        accepted = np.where(np.isnan(log_ratio), 0.0, np.exp(np.minimum(log_ratio, 0.0)))
        accepted[log_ratio >= -1e-12] = 1.0
        n, p = self.states, self.probability
        flat = np.bincount(self.origin * n + self.target, p * accepted, n * n)
        P: NDArray[Any] = flat.reshape(n, n)
        P[np.diag_indices(n)] += np.bincount(self.origin, p * (1.0 - accepted), n)
        return P

    def is_factor(self, term: str) -> bool:
        """Whether a term ever changes a ratio of two different states."""
        is_made = (self.origin != self.target) & ~np.isnan(self.log_ratio)
        return bool((np.abs(self.values[is_made, self.terms.index(term)]) > ROUNDING).any())

    def mutants(self) -> dict[tuple[str, str], NDArray[np.float64]]:
        """Matrix of every mutant that is one: a term that counts left out ("omit") or of opposite sign ("flip")."""
        mutant_by_name = {}
        for term, counts in zip(self.terms, self.counted, strict=True):
            if counts and self.is_factor(term):
                mutant_by_name["omit", term] = self.matrix(omit=(term,))
                mutant_by_name["flip", term] = self.matrix(flip=(term,))
        return mutant_by_name


def proposals(model: Model, rng: Rng, sampler: Sampler, states: Sequence[State], limit: int = 2_000_000) -> Proposals:
    """Enumerate every proposal of a sampler; `SeveralProposals` if a step makes several, each on what is left by the
    last."""
    ends = Ends(states)
    rows: list[dict[str, Any]] = []
    used = 0
    for t, state in enumerate(states):
        rows.append(paths_from(model, rng, sampler, state, always_accept=True, limit=limit - used))
        # a proposal of none of the states is rejected: the state stays
        numbers = ends.numbers(rows[-1])
        rows[-1]["target"] = np.where(numbers < 0, t, numbers)
        used += len(rows[-1]["K"])
        if sampler.TERMS and rows[-1]["proposals"].max() > 1:
            raise SeveralProposals("a step makes several proposals, each on what the last one left")
        if used >= limit:
            raise TooManyPaths(f"more than {limit} proposals")
    printed = sampler.PRINTED_TERM

    def all_of(name: str) -> NDArray[Any]:
        return np.concatenate([row[name] for row in rows])

    return Proposals(
        terms=tuple(sampler.TERMS),
        counted=np.array(sampler.counted_terms, dtype=np.bool_),
        printed=sampler.TERMS.index(printed) if printed else -1,
        origin=np.repeat(np.arange(len(states)), [len(row["K"]) for row in rows]),
        target=all_of("target"),
        move=all_of("move"),
        probability=all_of("probability"),
        log_ratio=all_of("log_ratio"),
        values=all_of("terms"),
        states=len(states),
    )


def proposal_table(model: Model, sampler: Component, state: State) -> pd.DataFrame:
    """Table of every proposal from a state: move, target_state, probability (of proposing it; null proposals are those
    whose target is the state itself with log_ratio nan), log_ratio (of the acceptance, natural log). Paths of one move
    to one state with one ratio are summed."""
    rng = Rng()
    paths = list_paths(model, rng, build_sampler(sampler, model, rng), state, always_accept=True)
    table = pd.DataFrame(paths, columns=["target_state", "probability", "log_ratio", "move"])
    table["log_ratio"] = table["log_ratio"].round(9)
    grouped = table.groupby(["move", "target_state", "log_ratio"], dropna=False, sort=True)["probability"].sum()
    return grouped.reset_index()[["move", "target_state", "probability", "log_ratio"]]
