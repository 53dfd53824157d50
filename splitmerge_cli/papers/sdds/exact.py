"""Exact figures of Wang & Russell 2015: computed from the compiled proposals, without sampling.

`smcmc reproduce` stores these tables; `smcmc plot` draws from them.
"""

from collections.abc import Sequence
from itertools import combinations, product
from math import lgamma
from typing import Any

import numpy as np
import pandas as pd

from splitmerge_cli.config import RunSpecification
from splitmerge_cli.data.dataset import Dataset
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


EQUATION_3 = "_by_equation_3"


def equation_3(labels: Sequence[int], alpha: float) -> pd.DataFrame:
    """Smart merge and smart split by equation 3 from `labels`, 0 to K - 1: every merge, and every split, in proportion
    to the state it leads to; columns move, target (as by `words`), probability.

    All merges lead to one number of entities, and so do all splits, so that the states differ in their marginals alone.
    """
    K = max(labels) + 1
    ends = {"smart_merge": [[a if k == b else k for k in labels] for a, b in combinations(range(K), 2)]}
    ends["smart_split"] = []
    for entity in range(K):
        members = [n for n, k in enumerate(labels) if k == entity]
        for sides in product((entity, K), repeat=len(members)):
            placed = dict(zip(members, sides, strict=True))
            ends["smart_split"].append([placed.get(n, k) for n, k in enumerate(labels)])
    tables = []
    for move, states in ends.items():
        log_weights = np.array([_log_marginal(state, alpha) for state in states])
        weights = np.exp(log_weights - log_weights.max())
        table = pd.DataFrame({"target": [words(state) for state in states], "probability": weights / weights.sum()})
        tables.append(table.groupby("target", as_index=False).sum().assign(move=move + EQUATION_3))
    return pd.concat(tables, ignore_index=True)[["move", "target", "probability"]]


def _log_marginal(labels: Sequence[int], alpha: float) -> float:
    """Log of the product over entities of B(alpha + n) / B(alpha), for the tokens of `MENTIONS`."""
    tokens = sorted(set(MENTIONS))
    total = 0.0
    for entity in set(labels):
        tokens_here = [t for t, k in zip(MENTIONS, labels, strict=True) if k == entity]
        total += sum(lgamma(alpha + tokens_here.count(t)) - lgamma(alpha) for t in tokens)
        total -= lgamma(len(tokens) * alpha + len(tokens_here)) - lgamma(len(tokens) * alpha)
    return total


def proposals(spec: RunSpecification) -> pd.DataFrame:
    """Figures 1 and 2: what each move of the experiment's sampler proposes from the states of section 4.1; columns
    state, move, target (clusters as by `words`), probability (given the move).

    Proposals that differ in which mentions of a token they place, or in empty entities, only are summed. Moves that end
    in `EQUATION_3` are the ones of section 4: all merges or splits, in proportion to the posterior of the states that
    they lead to.
    """
    model = _model(spec, MENTIONS)
    tables = []
    for state in STATES:
        labels = tuple(int(label) for label in state)
        table = proposal_table(model, spec.samplers[0], (labels, max(labels) + 1))
        table["target"] = [words(target) for target, _ in table["target_state"]]
        sums = table.groupby(["move", "target"], as_index=False)["probability"].sum()
        sums["probability"] /= sums.groupby("move")["probability"].transform("sum")
        sums = pd.concat([sums, equation_3(labels, spec.model.options["alpha"])], ignore_index=True)
        sums.insert(0, "state", words(labels))
        tables.append(sums.sort_values(["move", "probability"], ascending=[True, False]))
    return pd.concat(tables, ignore_index=True)
