"""Races: compare samplers on one posterior in a table and a figure, on request with certificates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from splitmerge_cli.analysis.coupled_pairs import MIXTURE, check_coupling
from splitmerge_cli.analysis.plots import races as plots
from splitmerge_cli.analysis.plots.style import save, use_style
from splitmerge_cli.analysis.race import Race
from splitmerge_cli.api import certifying
from splitmerge_cli.config import ConfigError, RunSpecification
from splitmerge_cli.config.groups import main_values

FIGURE = "race"


def efficiencies(jobs: Sequence[RunSpecification], pairs: int, workers: int | None = None) -> Iterator[str]:
    """Certify every sampler of a race by so many `pairs` of coupled chains, `jobs` being its runs, and say what its
    estimates cost: the variance of the estimate of one pair times the processor seconds of a pair."""
    changed = {key: main_values()[key] for key in ("seed", "chains", "budget")} | {"init": MIXTURE}
    changed |= {} if workers is None else {"workers": workers}
    jobs_to_certify: list[RunSpecification] = []
    for job in jobs:
        config = job.with_(changed)
        if config in jobs_to_certify:
            continue
        jobs_to_certify.append(config)
        try:
            certificate = certifying.make_certificate(check_coupling(config), pairs)
        except ConfigError as error:
            yield f"{config.sampler_name}: {error}"
            continue
        estimates, sampler = certificate.estimates(), certificate.config["sampler"]["name"]
        if not len(estimates):
            yield f"{sampler}: {'; '.join(certificate.lacks)}"
            continue
        by_quantity = estimates.set_index("quantity")
        seconds = float(np.mean([pair.seconds for pair in certificate.pairs]))
        cost = by_quantity["standard_error"] ** 2 * by_quantity["pairs"] * seconds
        yield (
            f"{sampler}: variance x seconds of an unbiased estimate {cost['n_clusters']:.3g} (n_clusters), "
            f"{cost['log_joint']:.3g} (log joint)"
        )


def write_race(race: Race, out: Path) -> Path:
    """Write the tables and the figure of a race to a folder of `out`, and return it."""
    folder = race.write(out)
    with use_style():
        save(plots.times(race), folder / FIGURE)
    return folder
