"""Races: samplers compared on one posterior, their table, figure and, where asked for, certificates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from splitmerge_cli.analysis.coupled_pairs import MIXTURE, check_coupling
from splitmerge_cli.analysis.plots import race as plots
from splitmerge_cli.analysis.plots.style import save, use_style
from splitmerge_cli.analysis.race import Race
from splitmerge_cli.api import certifying
from splitmerge_cli.config import ConfigError, RunSpecification
from splitmerge_cli.config.groups import main_values

FIGURE = "race"


def efficiencies(jobs: Sequence[RunSpecification], pairs: int, workers: int | None = None) -> Iterator[str]:
    """Certify every sampler of a race by so many `pairs` of coupled chains, `jobs` being its runs, and say what its
    estimates cost: the variance of the estimate of one pair times the processor seconds of a pair."""
    own = {key: main_values()[key] for key in ("seed", "chains", "budget")} | {"init": MIXTURE}
    own |= {} if workers is None else {"workers": workers}
    asked: list[RunSpecification] = []
    for job in jobs:
        config = job.with_(own)
        if config in asked:
            continue
        asked.append(config)
        try:
            found = certifying.make_certificate(check_coupling(config), pairs)
        except ConfigError as error:
            yield f"{config.sampler_name}: {error}"
            continue
        estimates, sampler = found.estimates(), found.config["sampler"]["name"]
        if not len(estimates):
            yield f"{sampler}: {'; '.join(found.lacks)}"
            continue
        of = estimates.set_index("quantity")
        seconds = float(np.mean([pair.seconds for pair in found.pairs]))
        cost = of["standard_error"] ** 2 * of["pairs"] * seconds
        yield (
            f"{sampler}: variance x seconds of an estimate without bias {cost['n_clusters']:.3g} (n_clusters), "
            f"{cost['log_joint']:.3g} (log joint)"
        )


def write_race(race: Race, out: Path) -> Path:
    """Write the tables and the figure of a race to a folder of `out`, and return it."""
    folder = race.write(out)
    with use_style():
        save(plots.times(race), folder / FIGURE)
    return folder
