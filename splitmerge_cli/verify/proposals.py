"""What a compiled sampler proposes from a state, before acceptance: for figures and for understanding a move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from splitmerge_cli.core.model import Model
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.verify.enumerate import State
from splitmerge_cli.verify.transitions import build_sampler, walk


def proposal_table(model: Model, sampler: Mapping[str, Any], state: State) -> pd.DataFrame:
    """Every proposal from a state, with its probability.

    Parameters
    ----------
    model : Model
    sampler : mapping
        The sampler's configuration.
    state : State
        (labels numbered by first appearance, K).

    Returns
    -------
    DataFrame
        move, target_state, probability (of proposing it; null moves are those whose target is the state itself with
        log_ratio nan), log_ratio (of the acceptance, natural log). Paths of one move to one state with one ratio are
        summed.
    """
    rng = Rng()
    paths = walk(model, rng, build_sampler(model, rng, sampler), state, always_accept=True)
    table = pd.DataFrame(paths, columns=["target_state", "probability", "log_ratio", "move"])
    table["log_ratio"] = table["log_ratio"].round(9)
    grouped = table.groupby(["move", "target_state", "log_ratio"], dropna=False, sort=True)["probability"].sum()
    return grouped.reset_index()[["move", "target_state", "probability", "log_ratio"]]


def allocation_steps(model: Model, order: Sequence[int], sides: Sequence[int]) -> list[float]:
    """Probability of each step of a sequential allocation to two sides that begin empty.

    Parameters
    ----------
    model : Model
    order : sequence of int
        Items in the order of allocation.
    sides : sequence of int
        0 for side A, 1 for side B, for each of them.

    Returns
    -------
    list of float
        Probability of the side taken, given those before. Source: paper 000, equation 5 and Table 1.
    """
    return model._allocation_steps(np.asarray(order, dtype=np.int32), np.asarray(sides, dtype=np.int32))
