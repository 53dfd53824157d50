"""Figures 1 and 2 of Herlau et al. 2014: computed from the compiled walk, plate by plate.

`smcmc reproduce` stores these tables; `smcmc plot` draws from them.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from splitmerge_cli.config import RunSpecification, component
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.verify.enumerate import State
from splitmerge_cli.verify.plates import Move, find_example, option_probabilities, proposal_probability


def _dataset(spec: RunSpecification) -> Dataset:
    dataset = spec.data.function(**spec.data.options)
    assert isinstance(dataset, Dataset)
    return dataset


def _model(spec: RunSpecification, dataset: Dataset) -> Any:
    return spec.model.target.from_data(dataset, **spec.model.options)


def plates(spec: RunSpecification) -> pd.DataFrame:
    """Figure 1: a move, and the move that undoes it, by the data, model, sampler and seed of the experiment.

    Columns way (forth, back), plate, item, label (-1: not placed; in the refinement the block of c, -1 outside), i, j,
    log_ratio.
    """
    forth, back = find_example(_model(spec, _dataset(spec)), spec.samplers[0], spec.seed)
    return pd.concat([_rows("forth", forth), _rows("back", back)], ignore_index=True)


def _rows(way: str, move: Move) -> pd.DataFrame:
    i, j = move.pair
    frames = [
        pd.DataFrame({"way": way, "plate": name, "item": np.arange(len(labels)), "label": labels})
        for name, labels in move.plates
    ]
    return pd.concat(frames).assign(i=i, j=j, log_ratio=move.log_ratio)


THREE: tuple[State, tuple[int, ...]] = (((0, 0, 1), 2), (0, 1, 1))
"""(a): {1,2},{3}, and where both paths lead: {1},{2,3}."""
FOUR: tuple[State, tuple[int, ...]] = (((0, 0, 0, 1), 2), (0, 1, 2, 0))
"""(b): {1,2,3},{4}; a split of i = 1 and j = 2, with h = 3 and k = 4; and {1,4},{2},{3}."""

Step = tuple[int, tuple[int, ...], Sequence[tuple[int, ...]]]
"""The item that is updated, where it goes, and all its options; states as labels."""


def _a(first: tuple[int, ...]) -> list[Step]:
    """Updates of items 2 and 3: 2 goes to `first`, 3 joins it."""
    second = [(0, 1, 0), (0, 1, 1), (0, 1, 2)]
    return [(1, first, [(0, 0, 1), (0, 1, 1), (0, 1, 2)]), (2, (0, 1, 1), second)]


def _b(first: tuple[int, ...], stays: tuple[int, ...]) -> list[Step]:
    """Updates of h = 3 and k = 4: 3 goes to `first`, where 4 may stay, or go to i = 1 or j = 2."""
    options = [(0, 1, 0, 2), (0, 1, 1, 2), (0, 1, 2, 2), (0, 1, 2, 3)]
    return [(2, first, options), (3, FOUR[1], [stays, (0, 1, 2, 0), (0, 1, 2, 1)])]


PATHS = {
    ("a", "upper"): (THREE[0], _a((0, 1, 2))),
    ("a", "lower"): (THREE[0], _a((0, 1, 1))),
    ("b", "upper"): (FOUR[0], _b((0, 1, 2, 3), (0, 1, 2, 3))),
    ("b", "lower"): (FOUR[0], _b((0, 1, 2, 2), (0, 1, 2, 2))),
}
"""The paths of Figure 2, by panel."""


def paths(spec: RunSpecification) -> pd.DataFrame:
    """Figure 2: two paths to one partition, twice, on the experiment's network of four nodes; of panel (a) its first
    three.

    Columns panel, path (upper, lower; of (b) also `compiled`: the probability with which the compiled walk of a split
    of items 1 and 2 proposes the end), step, item (from 1), start, end (labels as text), probability.
    """
    dataset = _dataset(spec)
    rows = []
    for (panel, path), (start, steps) in PATHS.items():
        n = len(start[0])
        part = Dataset("part", "graph", dataset.values[:n][:, :n])
        model, state = _model(spec, part), start[0]
        for number, (item, end, options) in enumerate(steps, start=1):
            p = option_probabilities(model, options)[list(options).index(end)]
            rows.append((panel, path, number, item + 1, _text(state), _text(end), float(p)))
            state = end
    p = proposal_probability(_model(spec, dataset), component("sampler", "sarm"), *FOUR, (0, 1))
    rows.append(("b", "compiled", 1, 0, _text(FOUR[0][0]), _text(FOUR[1]), p))
    return pd.DataFrame(rows, columns=["panel", "path", "step", "item", "start", "end", "probability"])


def _text(labels: Sequence[int]) -> str:
    return " ".join(map(str, labels))
