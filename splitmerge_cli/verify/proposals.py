"""Proposals of a compiled sampler before acceptance: a table for understanding a move; and, from one enumeration, its
transition matrix, the one of its printed form, and the matrices of all mutants.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from splitmerge_cli.config import Component
from splitmerge_cli.core.model import Model
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.core.sampler import Sampler
from splitmerge_cli.runs.initial import build_sampler
from splitmerge_cli.verify.enumerate import State
from splitmerge_cli.verify.paths import TooManyPaths
from splitmerge_cli.verify.transitions import Ends, list_paths, paths_from

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
        """Whether the log ratio is the sum of the named terms that count.

        A sampler in Python that does not ``add`` them has none; a Gibbs update needs none.
        """
        is_made = np.isfinite(self.log_ratio)
        gap = np.abs(self._sum(self.counted)[is_made] - self.log_ratio[is_made])
        return bool(self.terms) and bool((gap < ROUNDING).all())

    def _sum(self, counted: NDArray[np.bool_], sign: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        values = self.values[:, counted]
        with np.errstate(invalid="ignore"):
            return np.asarray((values if sign is None else values * sign[counted]).sum(axis=1))

    def matrix(self, omit: Collection[str] = (), flip: Collection[str] = (), printed: bool = False) -> NDArray[Any]:
        """The transition matrix with acceptance min(1, exp(sum of terms)).

        With terms left out, or of opposite sign, it is a mutant's ratio; `printed` counts the printed term, too.
        """
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
    """Enumerate every proposal of a sampler.

    Raises `SeveralProposals` if a step makes several, each on what the last one left, `TooManyPaths` for more than
    `limit`, and `ContinuousDraw`.
    """
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
