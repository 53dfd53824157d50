"""The runs on networks: which they are, what they cost in Gibbs sweeps, and R-hat between restarts."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from splitmerge_cli.analysis.plots.races import option, pick
from splitmerge_cli.diagnostics.intervals import excess_interval, leave_one_out, mean_interval
from splitmerge_cli.diagnostics.restarts import between_restarts, late, mean_and_spread, standardised_iterations
from splitmerge_cli.papers.claims import Claim
from splitmerge_cli.papers.verdicts import Estimate, Verdict, jackknife
from splitmerge_cli.runs.store.read import Run

NETWORKS = {"nips234": "nips", "hagmann998": "hagmann", "usair97": "usair", "caltech36": "caltech"}
"""Published networks, and how claims call them; in the order of the seeds, from 1, of what stands in for them."""
TITLES = {"nips": "NIPS", "hagmann": "Hagmann", "usair": "USAir", "caltech": "Caltech"}
STARTS = {"random": "20 random blocks", "one_cluster": "one block", "singletons": "singletons"}
INDEPENDENT = ("gibbs", "sm")
"""Samplers whose chains share nothing; the others propose from the history of all chains in a run."""
LENGTH = 1000
"""Iterations of ARM in the paper's comparisons of variants; its Table 3 has twice as many too."""


def is_stand_in(runs: Iterable[Run]) -> bool:
    """Whether generated networks stand in for published ones."""
    return any(option(run, "data") not in NETWORKS for run in runs)


def network_of(run: Run) -> str:
    """The network of a run, or that for which it stands in."""
    name = option(run, "data")
    return NETWORKS[name] if name in NETWORKS else list(NETWORKS.values())[run.config["data"]["seed"] - 1]


def level_of(run: Run) -> str:
    """Network and scale as claims name them; of a generated network its number of nodes."""
    if option(run, "data") in NETWORKS:
        return f"{network_of(run)} scale={run.config['data']['scale']:g}"
    return f"{network_of(run)} (generated, n = {run.config['N']})"


def level_title(level: str) -> str:
    """Return the name and the scale of a level, for people."""
    network, _, rest = level.partition(" ")
    return f"{TITLES[network]} {rest.removeprefix('scale=')}"


def levels(runs: Iterable[Run]) -> list[str]:
    """The levels of runs, as `sort_levels` orders them."""
    return sort_levels(map(level_of, runs))


def sort_levels(names: Iterable[str]) -> list[str]:
    """Different levels by network and then from the largest to the smallest."""

    def place(level: str) -> tuple[int, float]:
        network, _, rest = level.partition(" ")
        return list(TITLES).index(network), -float(rest.removeprefix("scale=") if "scale" in rest else 1)

    return sorted(set(names), key=place)


def starts(runs: Iterable[Run]) -> list[str]:
    """The start states of runs, in the order of `STARTS`."""
    present = {run.config["init"] or "random" for run in runs}
    return [start for start in STARTS if start in present]


@dataclass(frozen=True)
class Cell:
    """The restarts of one sampler on one network from one start: a run for each, by seed, of so many chains (S)."""

    runs: list[Run]
    level: str
    start: str
    sampler: str
    chains: int

    @property
    def length(self) -> int:
        """Iterations of every chain."""
        return int(self.runs[0].config["iterations"])

    @property
    def cost(self) -> float:
        """Time of an iteration in Gibbs sweeps, over all restarts (Gibbs: 1)."""
        each = [standardised_iterations(run.moves(), 1) for run in self.runs]
        return float(np.nanmean(np.concatenate(each)))

    def acceptance(self) -> NDArray[np.float64]:
        """Share of all proposals accepted, of each restart."""
        rates = []
        for run in self.runs:
            moves = run.moves()
            proposals = moves[moves["move"].isin(["split", "merge"])]
            rates.append(proposals["accepted"].sum() / proposals["proposed"].sum())
        return np.array(rates)

    def traces(self, length: float) -> list[pd.DataFrame]:
        """The log joint of every restart, cut after an iteration."""
        traces = [run.trace(["chain", "iteration", "log_joint"]) for run in self.runs]
        return [trace[trace["iteration"] <= length] for trace in traces]


class Cells:
    """All restarts of runs, asked for by level, start, sampler and number of chains."""

    def __init__(self, runs: Sequence[Run]) -> None:
        grouped: dict[tuple[str, str, str, int], list[Run]] = {}
        for run in pick(runs):
            key = (level_of(run), run.config["init"] or "random", option(run, "sampler"), run.config["chains"])
            grouped.setdefault(key, []).append(run)
        self.cells = {key: Cell(members, *key) for key, members in grouped.items()}

    def find(self, level: str, start: str, sampler: str, chains: int | None = None) -> Cell | None:
        """The restarts of one sampler; of the fewest chains, if their number is not given."""
        candidates = [cell for key, cell in sorted(self.cells.items()) if key[:3] == (level, start, sampler)]
        return next((cell for cell in candidates if chains in (None, cell.chains)), None)


@dataclass(frozen=True)
class Rhat:
    """R-hat of the log joint between restarts: `values` of every number of a chain, classic, of the second half,
    ``[S]``; `iterations`, where the chains were cut, and what that cost, in Gibbs `sweeps`; `short`: the chains ended
    before the budget did; `draws`, the log joint that it was taken from, ``[restarts, S, draws]``; `shared`: the chains
    of a restart share their history."""

    values: NDArray[np.float64]
    restarts: int
    iterations: float
    sweeps: float
    short: bool
    draws: NDArray[np.float64]
    shared: bool

    @property
    def estimate(self) -> Estimate:
        """The mean over chains, see `estimate_rhat`."""
        return estimate_rhat(self.draws, self.shared)

    @property
    def mean(self) -> float:
        """Mean over the chains."""
        return mean_and_spread(self.values)[0]

    @property
    def spread(self) -> float:
        """Standard deviation over the chains."""
        return mean_and_spread(self.values)[1]


def estimate_rhat(draws: NDArray[np.float64], shared: bool) -> Estimate:
    """R-hat between restarts, mean over chains, by leaving out one unit at a time: a chain number, or a restart where
    the chains of one share their history.

    The interval is one of log(R-hat - 1), except where a mean is not above 1. `draws`: ``[restarts, S, draws]``.
    """
    if shared:
        unit, n = "restarts", len(draws)
        whole, without = leave_one_out(lambda kept: between_restarts(draws[kept]).mean, n)
    else:
        x = between_restarts(draws).classic
        x = x[np.isfinite(x)]
        unit, n = "chain numbers", len(x)
        whole, without = leave_one_out(lambda kept: mean_and_spread(x[kept])[0], n)
    above = whole > 1 and (without > 1).all()
    return jackknife(whole, without, excess_interval if above else mean_interval, unit)


def rhat_at(cell: Cell, arm: Cell, length: int, restarts: int | None = None) -> Rhat:
    """R-hat of a sampler at the cost that ARM, from the same start on the same network, has for `length` iterations, in
    Gibbs sweeps; over at most so many `restarts`."""
    sweeps = length * arm.cost
    cut = float(length) if cell.sampler == "arm" else sweeps / cell.cost
    draws = late(cell.traces(cut)[:restarts])
    short = cut > cell.length * 1.001
    shared = cell.sampler not in INDEPENDENT
    return Rhat(between_restarts(draws).classic, len(draws), min(cut, cell.length), sweeps, short, draws, shared)


def unit_of(runs: Iterable[Run]) -> str:
    """Name networks as units: all published ones there are, or generated ones."""
    return "networks" if is_stand_in(runs) else "published networks"


def name_networks(runs: Sequence[Run], verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Verdicts that name networks which are not the published ones."""
    return [replace(v, on="generated networks" if is_stand_in(runs) else "") for v in verdicts]


def describe_networks(runs: Sequence[Run]) -> str:
    """The networks in words."""
    return "Generated networks in place of the published ones" if is_stand_in(runs) else "Published networks"


def describe_restarts(runs: Sequence[Run]) -> str:
    """Restarts and chains in words."""
    seeds: defaultdict[tuple[object, str], set[object]] = defaultdict(set)
    for run in runs:
        seeds[run.config["init"], run.config["sampler"]["name"]].add(run.config["seed"])
    counts = sorted({len(of_cell) for of_cell in seeds.values()})
    chains = sorted({run.config["chains"] for run in runs})
    return f"{' or '.join(map(str, counts))} restarts of S = {', '.join(map(str, chains))} chains"


def value_of(claims: Sequence[Claim], level: str, sampler: str, metric: str) -> Claim | None:
    """The published number of a level, a sampler and a metric; None where the paper has none."""
    return next((c for c in claims if (c.data, c.sampler, c.metric) == (level, sampler, metric)), None)
