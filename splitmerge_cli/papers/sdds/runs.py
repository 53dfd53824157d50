"""Run lengths of Wang & Russell 2015, names of targets, samplers of runs: shared by its figures."""

from collections.abc import Sequence

from splitmerge_cli.plots.runs import values
from splitmerge_cli.results.read import Run

ITERATIONS = {100: 10_000, 200: 50_000, 500: 200_000}
"""Length of the paper's runs, by N."""
TARGETS = {"as_printed": "ratios as printed", "labelled": "model as defined"}
DRAWN = ("sdds", "ss", "rgsm", "rm", "gibbs")
"""Samplers in the order in which they are drawn: each line leaves a part of those before it uncovered."""
STEPS = {"full_scan": "full Gibbs scan", "single_site": "one Gibbs site"}


def samplers_of(runs: Sequence[Run]) -> list[str]:
    """Samplers of runs, in the order in which they are drawn."""
    present = values(runs, "sampler")
    return [name for name in DRAWN if name in present]
