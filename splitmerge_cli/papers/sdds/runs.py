"""Run lengths of Wang & Russell 2015, names of targets, samplers of runs: shared by its figures."""

from collections.abc import Sequence
from math import log

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from splitmerge_cli.analysis.plots.runs import values
from splitmerge_cli.runs.store.read import Run

ITERATIONS = {100: 10_000, 200: 50_000, 500: 200_000}
"""Length of the paper's runs, by N."""
TARGETS = {"as_printed": "ratios as printed", "labelled": "model as defined"}
DRAWN = ("sdds", "ss", "rgsm", "rm", "gibbs")
"""Samplers in the order in which they are drawn: each line leaves a part of those before it uncovered."""
STEPS = {"full_scan": "full Gibbs scan", "single_site": "one Gibbs site"}
SINGLE_SITE = f"{TARGETS['as_printed']}, {STEPS['single_site']}"
LOCATIONS = {log(10): "model as defined", 0.5: "model as defined, location 0.5"}
"""Locations in the prior of K that its mean is judged under: for ten entities, and as the paper prints it."""


def share_accepted(runs: Sequence[Run], move: str) -> NDArray[np.float64]:
    """Return the accepted share of a move's proposals, ``[chains]``; NaN where it was never proposed."""
    moves = pd.concat([r.moves() for r in runs])
    moves = moves[moves["move"] == move]
    return (moves["accepted"] / moves["proposed"].where(moves["proposed"] > 0)).to_numpy(float)


def samplers_of(runs: Sequence[Run]) -> list[str]:
    """Samplers of runs, in the order in which they are drawn."""
    present = values(runs, "sampler")
    return [name for name in DRAWN if name in present]
