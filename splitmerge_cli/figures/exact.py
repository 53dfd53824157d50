"""What the exact figures of paper 000 show: computed from the compiled proposals, without sampling.

`smcmc reproduce` stores these tables; `smcmc plot` draws from them.
"""

from typing import Any

import numpy as np
import pandas as pd
from hydra.utils import get_object

from splitmerge_cli.data.base import Dataset
from splitmerge_cli.verify.proposals import allocation_steps

ALLOCATED = "AABBCC"
"""Table 1: the entity that is split, and the side of each of its mentions."""
SIDES = "001111"

START = ("AABB", "CC", "CC")
"""Section 4.1: the state x of Figures 1 and 2, and the others in them."""
AFTER_SPLIT = ("AA", "BB", "CC", "CC")
AFTER_MERGE = ("AABB", "CCCC")


def _model(cfg: Any, mentions: str) -> Any:
    tokens = sorted(set(mentions))
    data = Dataset("example", "tokens", np.array([tokens.index(t) for t in mentions], np.int32), vocabulary=tokens)
    options = {key: value for key, value in cfg.model.items() if key not in ("name", "_target_")}
    return get_object(cfg.model["_target_"]).from_data(data, **options)


def allocation(cfg: Any) -> pd.DataFrame:
    """Table 1: probability of each step of the sequential allocation, under the code's own proposal.

    Parameters
    ----------
    cfg : DictConfig
        The configuration of the experiment, for its model.

    Returns
    -------
    pandas.DataFrame
        Columns step (1 ..), token, side (1 or 2), probability.
    """
    sides = [int(s) for s in SIDES]
    steps = allocation_steps(_model(cfg, ALLOCATED), list(range(len(ALLOCATED))), sides)
    return pd.DataFrame(
        {
            "step": range(1, len(steps) + 1),
            "token": list(ALLOCATED),
            "side": [s + 1 for s in sides],
            "probability": steps,
        }
    )


def words(labels: Any, mentions: str) -> tuple[str, ...]:
    """The clusters of a state as strings of tokens, in alphabetical order; empty entities are left out."""
    clusters: dict[int, str] = {}
    for item, label in enumerate(labels):
        clusters[int(label)] = clusters.get(int(label), "") + mentions[item]
    return tuple(sorted("".join(sorted(tokens)) for tokens in clusters.values()))


def proposals(cfg: Any) -> pd.DataFrame:
    """Figures 1 and 2: what each move of SS and SDDS proposes from the states of section 4.

    Parameters
    ----------
    cfg : DictConfig
        The configuration of the experiment, for its model and its sampler.

    Returns
    -------
    pandas.DataFrame
        Columns state, move, target (clusters joined by ``|``, empty entities left out), probability (given the move).
    """
