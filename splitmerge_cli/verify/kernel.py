"""The kernel of a sampler on a small case: its transition matrices, its balance, its mutants."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.config import Component
from splitmerge_cli.core.rng import ContinuousDraw, Rng
from splitmerge_cli.core.sampler import Sampler
from splitmerge_cli.runs.datasets import build_sampler
from splitmerge_cli.verify.cases import Case
from splitmerge_cli.verify.paths import TooManyPaths
from splitmerge_cli.verify.proposals import SeveralProposals, proposals
from splitmerge_cli.verify.transitions import (
    adaptive_matrices,
    balance_defect,
    disagreements,
    example_histories,
    is_irreducible,
    transition_matrix,
)

EXACT = 1e-10
"""Largest max |pi P - pi| of an exact kernel."""

TABLES_SEEDS = (0, 1)
"""Draws of the hash tables (lshsm), each of which makes a kernel of its own."""


@dataclass(frozen=True)
class Kernel:
    """Transition matrices, balance and mutants of a sampler on a case."""

    matrices: list[NDArray[np.float64]]
    """The transition matrix; of an adaptive sampler one for each pair of partitions to learn from, of one with hash
    tables one for each draw of them; none if the choices cannot be listed."""
    balance: float = np.nan
    """max |pi_a P_ab - pi_b P_ba|; of an adaptive sampler the largest over fixed (i, j, z_a, z_b)."""
    why: str = ""
    """Why there is no matrix."""
    mutants: tuple[int, int] = (0, 0)
    """Mutants that leave balance, and all of them: each term of the log ratio left out, and of opposite sign. None
    if the ratio is not the sum of named terms."""

    @property
    def is_connected(self) -> bool:
        """Whether every state is reached from every other."""
        return bool(self.matrices) and all(is_irreducible(P) for P in self.matrices)


def kernel_of(case: Case, sampler: Component, options_given: Container[str] = ()) -> Kernel:
    """Enumerate the transition matrices of a sampler on a case, or find why it has none. Hash tables are drawn by each
    of `TABLES_SEEDS` unless the user has given ``tables_seed``."""
    if "tables_seed" in sampler.options and "tables_seed" not in options_given:
        seeded = [sampler.with_options(tables_seed=seed) for seed in TABLES_SEEDS]
        drawn = [kernel_of(case, one, ("tables_seed",)) for one in seeded]
        matrices = [P for kernel in drawn for P in kernel.matrices]
        return Kernel(matrices, max(kernel.balance for kernel in drawn), drawn[0].why, drawn[0].mutants)
    rng = Rng(0)
    built = build_sampler(sampler, case.model, rng)
    if not built.enumerates():
        return Kernel([], why="keeps a state")
    histories = example_histories(case.states, 4 if case.model.N < 6 else 2) if hasattr(built, "fix") else []
    try:
        if not histories:
            P = transition_matrix(case.model, rng, built, case.states)
            return Kernel([P], balance_defect(P, case.pi), "", _count_mutants(case, built))
        found = list(adaptive_matrices(case.model, rng, built, case.states, histories))
        built.fix(*histories[0], *disagreements(histories[0])[0])  # type: ignore[attr-defined]
        mutants = _count_mutants(case, built)
    except TooManyPaths:
        return Kernel([], why="too many paths")
    except ContinuousDraw:
        return Kernel([], why="continuous")
    for_pairs = [balance_defect(Q, case.pi) for _, for_pair in found for Q in for_pair]
    return Kernel([P for P, _ in found], max(for_pairs), "", mutants)


def _count_mutants(case: Case, built: Sampler) -> tuple[int, int]:
    """Count the mutants of a kernel that are found, and all.

    A kernel with several proposals in a step has none, nor one whose ratio is not made of named terms.
    """
    if not built.TERMS or built.mode != "exact":
        return 0, 0
    try:
        proposals_made = proposals(case.model, built.rng, built, case.states)
    except SeveralProposals:
        return 0, 0
    mutants = proposals_made.mutants() if proposals_made.has_named_terms() else {}
    return sum(balance_defect(P, case.pi) > EXACT for P in mutants.values()), len(mutants)
