"""Enumerations of samplers on small cases, shared by tests; and whether their terms are those of the inverse."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from splitmerge_cli.core.rng import Rng
from splitmerge_cli.core.sampler import Sampler
from splitmerge_cli.verify.cases import Case
from splitmerge_cli.verify.transitions import Proposals, proposals, transition_matrix

INVERSE = {"forward": "reverse", "reverse": "forward"}
"""Terms that change places in the inverse of a move; any other has there what it has here, negated."""


class Enumeration:
    """Matrix and proposals of one sampler on one case, enumerated at their first use.

    Parameters
    ----------
    case : Case
    built : Sampler
        On the case's model.
    limit : int
        Most paths of a matrix.
    """

    def __init__(self, case: Case, built: Sampler, limit: int = 2_000_000) -> None:
        self.case, self.sampler, self.limit = case, built, limit

    @cached_property
    def matrix(self) -> NDArray[np.float64]:
        """The transition matrix, every decision as it is made."""
        return transition_matrix(self.case.model, self.sampler.rng, self.sampler, self.case.states, self.limit)

    @cached_property
    def proposals(self) -> Proposals:
        """Every proposal, before its decision."""
        return proposals(self.case.model, self.sampler.rng, self.sampler, self.case.states, self.limit)


_ENUMERATED: dict[tuple[Any, ...], Enumeration] = {}
MOST_KEPT = 24
"""Enumerations that a process keeps; the oldest goes."""


def enumeration(case: Case, sampler: type[Sampler], **options: Any) -> Enumeration:
    """Return the enumeration of a sampler with these options on a case, shared by all callers."""
    key = case, sampler, repr(sorted(options.items()))
    if key not in _ENUMERATED:
        if len(_ENUMERATED) == MOST_KEPT:
            del _ENUMERATED[next(iter(_ENUMERATED))]
        _ENUMERATED[key] = Enumeration(case, sampler(case.model, Rng(0), **options))
    return _ENUMERATED[key]


def _unique_rows(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows without repetitions: `numpy.unique`, which compares whole rows, takes ten times as long."""
    rows = rows[np.lexsort(rows.T)]
    return rows[np.append(True, (rows[1:] != rows[:-1]).any(axis=1))[: len(rows)]]


def round_trip_defect(made: Proposals) -> float:
    """Largest difference between the terms of a proposal and those, negated, of the nearest among the inverses; inf
    where a proposal has none. (Proposals of ratio 0 or without bound have none.)"""
    chosen = (made.origin != made.target) & np.isfinite(made.log_ratio)
    order = [made.terms.index(INVERSE.get(name, name)) for name in made.terms]
    values = np.where(made.counted, made.values, 0.0) if made.has_named_terms() else np.empty((len(made.origin), 0))
    there = np.column_stack([made.log_ratio, values])[chosen]
    back = -np.column_stack([made.log_ratio, values[:, order] if values.shape[1] else values])[chosen]
    # states far apart, so that the nearest proposal joins the same two
    far = 1e4 * (1.0 + np.abs(there).max(initial=0.0))
    pair = np.column_stack([made.origin, made.target])[chosen] * far
    there = _unique_rows(np.column_stack([pair, there]).round(11))
    back = _unique_rows(np.column_stack([pair[:, ::-1], back]).round(11))
    if not len(there):
        return 0.0
    distance = max(cKDTree(a).query(b)[0].max() for a, b in ((there, back), (back, there)))
    return float(distance) if distance < far / 2 else np.inf
