"""Six nodes in three blocks, with a relation of every form: for links, and networks that are drawn."""

from typing import Any

import numpy as np
from relation_cases import relation

from splitmerge_cli.kinds.networks.data import Relation

LABELS = np.array([0, 0, 0, 1, 1, 2])
SIDES = np.array([0, 0, 0, 1, 1, 0], dtype=np.int8)
OPTIONS: dict[str, Any] = {"beta1": 0.7, "beta0": 1.3, "shape": 0.8, "rate": 0.5, "alpha": 0.6, "degrees": "plain"}
OPTIONS |= {"propensity": 1.5, "kappa0": 0.5, "a0": 1.5, "b0": 0.8}
FORMS: dict[str, dict[str, Any]] = {
    "simple": {},
    "loops": {"loops": True},
    "directed": {"directed": True},
    "directed, loops": {"directed": True, "loops": True},
    "two kinds": {"sides": SIDES},
}


def draw_relation(seed: int, form: str = "binary", sides: Any = None, **more: Any) -> Relation:
    """A relation of the six nodes, with two unknown pairs, one half of all pairs edges."""
    return relation(seed, len(LABELS), form, sides=sides, unknown=2, **more)


def list_pairs(sides: Any, directed: bool = False, loops: bool = False) -> list[tuple[int, int]]:
    """All pairs of a relation, one by one."""
    every = [(i, j) for i in range(len(LABELS)) for j in range(len(LABELS))]
    if sides is not None:
        return [(i, j) for i, j in every if sides[i] == 0 and sides[j] == 1]
    return [(i, j) for i, j in every if (i < j or (directed and i != j) or (loops and i == j))]
