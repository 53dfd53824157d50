"""Exact figures of Wang & Russell 2015: computed from the compiled proposals, without sampling.

`smcmc reproduce` stores these tables; `smcmc plot` draws from them.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from splitmerge_cli.config import RunSpecification
from splitmerge_cli.data.base import Dataset
from splitmerge_cli.verify.pieces import allocation_steps
from splitmerge_cli.verify.proposals import proposal_table

ALLOCATED = "AABBCC"
"""Table 1: the entity that is split, and each mention's side."""
SIDES = "001111"

MENTIONS = "AABBCCCC"
STATES = ["00001122", "00112233", "00001111"]
"""Figures 1 and 2: the state x of section 4.1, and what a smart split and a smart merge make of it."""


def _model(spec: RunSpecification, mentions: str) -> Any:
    tokens = sorted(set(mentions))
    data = Dataset("example", "tokens", np.array([tokens.index(t) for t in mentions], np.int32), vocabulary=tokens)
    return spec.model.target.from_data(data, **spec.model.options)


def allocation(spec: RunSpecification) -> pd.DataFrame:
    """Table 1: the probability of each step in the sequential allocation, under the code's own proposal; columns step
    (1 ..), token, side (1 or 2), probability."""
    sides = [int(s) for s in SIDES]
    steps = allocation_steps(_model(spec, ALLOCATED), list(range(len(ALLOCATED))), sides)
    columns = {"token": list(ALLOCATED), "side": [s + 1 for s in sides], "probability": steps}
    return pd.DataFrame({"step": range(1, len(steps) + 1), **columns})


def words(labels: Sequence[int]) -> str:
    """Return the clusters of `MENTIONS` in alphabetical order, joined by ``|``; empty entities are left out."""
    clusters: dict[int, str] = {}
    for token, label in zip(MENTIONS, labels, strict=True):
        clusters[label] = clusters.get(label, "") + token
    return "|".join(sorted(clusters.values()))


def proposals(spec: RunSpecification) -> pd.DataFrame:
    """Figures 1 and 2: what each move of the experiment's sampler proposes from the states of section 4.1.

    Columns state, move, target (clusters as by `words`), probability (given the move). Proposals that differ in which
    mentions of a token they place, or in empty entities, only are summed.
    """
    model = _model(spec, MENTIONS)
    tables = []
    for state in STATES:
        labels = tuple(int(label) for label in state)
        table = proposal_table(model, spec.samplers[0], (labels, max(labels) + 1))
        table["target"] = [words(target) for target, _ in table["target_state"]]
        sums = table.groupby(["move", "target"], as_index=False)["probability"].sum()
        sums["probability"] /= sums.groupby("move")["probability"].transform("sum")
        sums.insert(0, "state", words(labels))
        tables.append(sums.sort_values(["move", "probability"], ascending=[True, False]))
    return pd.concat(tables, ignore_index=True)
