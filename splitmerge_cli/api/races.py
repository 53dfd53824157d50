"""Races: samplers compared on one posterior, their table, figure and, where asked for, certificates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from splitmerge_cli.api import certificates
from splitmerge_cli.config import ConfigError, compose
from splitmerge_cli.plots import race as plots
from splitmerge_cli.plots.style import save, use_style
from splitmerge_cli.studies.certify import MIXTURE, check_coupling
from splitmerge_cli.studies.race import Race

FIGURE = "race"


@dataclass(frozen=True)
class Efficiency:
    """Cost of a posterior mean without bias.

    Attributes
    ----------
    sampler : str
    n_clusters, log_joint : float
        Variance of the estimate of one pair of coupled chains times the processor seconds of a pair; nan: not known.
    note : str
        Why it is not known.
    """

    sampler: str
    n_clusters: float
    log_joint: float
    note: str = ""

    def __str__(self) -> str:
        if self.note:
            return f"{self.sampler}: {self.note}"
        return (
            f"{self.sampler}: variance x seconds of an estimate without bias {self.n_clusters:.3g} (n_clusters), "
            f"{self.log_joint:.3g} (log joint)"
        )


def efficiencies(
    jobs: Sequence[Sequence[str]], pairs: int, config_dir: str | Path | None = None
) -> Iterator[Efficiency]:
    """Certify every sampler of a race, and say what its estimates cost.

    Parameters
    ----------
    jobs : sequence of sequences of str
        The runs of the race.
    pairs : int
        Pairs of coupled chains of each sampler.
    config_dir : str or Path, optional
        A folder with the user's own groups.
    """
    own = ("init", "seed", "chains", "budget")
    asked = dict.fromkeys(tuple(key for key in job if key.partition("=")[0] not in own) for job in jobs)
    for keys in asked:
        config = compose([*keys, f"init={MIXTURE}"], config_dir)
        try:
            found = certificates.make_certificate(check_coupling(config), pairs)
        except ConfigError as error:
            yield Efficiency(config.sampler_name, np.nan, np.nan, str(error))
            continue
        estimates = found.estimates()
        if not len(estimates):
            yield Efficiency(found.config["sampler"]["name"], np.nan, np.nan, "; ".join(found.lacks))
            continue
        of = estimates.set_index("quantity")
        seconds = float(np.mean([pair.seconds for pair in found.pairs]))
        cost = of["standard_error"] ** 2 * of["pairs"] * seconds
        yield Efficiency(found.config["sampler"]["name"], float(cost["n_clusters"]), float(cost["log_joint"]))


def write_race(race: Race, out: Path) -> Path:
    """Write the tables and the figure of a race to a folder of `out`, and return it."""
    folder = race.write(out)
    with use_style():
        save(plots.times(race), folder / FIGURE)
    return folder
