"""Results of coupled pairs of chains: bounds of the distance from the posterior, and posterior means without bias."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from splitmerge_cli import received
from splitmerge_cli.diagnostics import intervals, partition_losses
from splitmerge_cli.diagnostics.intervals import Bound, bound, log_of_mean
from splitmerge_cli.runs.store import files, manifest, schema

PAIRS = "pairs.json"
QUANTITIES = ("n_clusters", "K", "log_joint", *(f"largest{s}" for s in range(1, 6)))
"""Functions of the state whose posterior means are estimated, in addition to resampled hyper-parameters; K
counts empty clusters too; `largest`: fractions of the items."""
PARTITION = "the partition"
"""The name that the partition has among what never changed."""
CO_CLUSTERING, LOG_PREDICTIVE = "co_clustering", "log_predictive"
"""Folders of estimates for every pair of items, and for every new item: a file a pair of chains. Tables, too."""
APART = "distances"
"""Folder of `distance_terms`: a file a pair of chains."""
MOST_ITEMS = 300
"""Items up to which co-clustering is estimated: a pair of chains adds to N (N - 1) / 2 sums in every iteration."""
DISTANCES = (0.5, 0.25, 0.1, 0.05)
"""Total variation distances for which the number of iterations is reported."""
SHARES = (0.1, 0.05, 0.01)
"""Wasserstein distances, in shares of the pairs of items, for which it is."""
FEW_STARTS = 5
"""Number of different initial partitions below which they count as few."""
REMEDY = "resume=false starts the certificate again"
"""Advice about a damaged certificate."""


@dataclass(frozen=True)
class Schedule:
    """The iterations of a pair."""

    lag: int
    """By which X is ahead of Y."""
    k: int
    m: int
    """The mean of H_k, ..., H_m estimates a posterior mean."""
    iterations: int
    """Most iterations of X."""
    powers: tuple[float, ...] = ()
    """Powers of each chain's replicas; none without tempering."""


@dataclass(frozen=True)
class Pair:
    """One pair of coupled chains."""

    number: int
    meeting: int | None
    """Iteration of X; None: not within its iterations."""
    iterations: int
    """Iterations that X made."""
    seconds: float
    """Processor time; 0 with ``timing=false``."""
    distance: float
    """At the end: pairs of items that are together in one chain alone, as a share."""
    clusters: tuple[int, int]
    """Clusters that X and Y have at the end."""
    starts: tuple[str, str]
    """Digests of the partitions in which X and Y start (`digest_of`)."""
    start_clusters: tuple[int, int]
    """Clusters of these."""
    unchanged: list[str]
    """The partition and the hyper-parameters that the model resamples, as far as they never changed, in X nor in Y."""
    estimates: dict[str, float]
    """H_{k:m} of `QUANTITIES` and of those hyper-parameters; empty if the chains have not met."""
    co_clustering: str | None = None
    log_predictive: str | None = None
    distances: str | None = None
    """SHA-256 of three files, None for one that is missing: H_{k:m} for every pair of items, for the density of every
    new item, and sums of distances."""


def digest_of(labels: NDArray[np.int32]) -> str:
    """Digest of a partition, whatever the numbers of its clusters."""
    return hashlib.sha256(partition_losses.by_appearance(labels).tobytes()).hexdigest()[:16]


def write_estimates(path: Path, kind: str, pair: int, values: NDArray[Any]) -> str:
    """Write the estimates of one pair of chains, by its number, to one of the folders above; the digest of the file."""
    file = path / kind / f"{pair}.npy"
    file.parent.mkdir(parents=True, exist_ok=True)
    with files.replace_file(file) as part, part.open("wb") as stream:
        np.save(stream, values, allow_pickle=False)
    return manifest.sha256_of(file)


def read_estimates(path: Path, kind: str, pair: int, digest: str | None) -> NDArray[np.float64]:
    """The estimates of one pair of chains; `DamagedRun` names a file that is missing, or not what was written."""
    file = path / kind / f"{pair}.npy"
    with files.report_damage(file, REMEDY):
        content = received.read(file, received.LARGE)
        if hashlib.sha256(content).hexdigest() != digest:
            raise ValueError("not what was written")
        estimates: NDArray[np.float64] = np.load(BytesIO(content), allow_pickle=False).astype(np.float64)
        return estimates


@dataclass(frozen=True)
class Certificate:
    """Pairs of coupled chains, all with one configuration."""

    path: Path
    """Its folder."""
    config: dict[str, Any]
    """The configuration."""
    schedule: Schedule
    pairs: list[Pair]
    """All that were begun, by their numbers."""

    @property
    def met_pairs(self) -> list[Pair]:
        """Pairs that have met."""
        return [pair for pair in self.pairs if pair.meeting is not None]

    @cached_property
    def not_sampled(self) -> list[str]:
        """Unknowns that never changed, in any iteration of any pair."""
        names = self.pairs[0].unchanged if self.pairs else []
        return [name for name in names if all(name in pair.unchanged for pair in self.pairs)]

    @property
    def starts(self) -> int:
        """Different partitions in which the chains start."""
        return len({start for pair in self.pairs for start in pair.starts})

    @cached_property
    def lacks(self) -> list[str]:
        """Reason why there is no bound and no estimate; empty if there is. The pairs that have met are no sample of all
        pairs."""
        n, met = len(self.pairs), len(self.met_pairs)
        if not n:
            return [
                "no pair was begun before the seconds ran out (the pilot comes first, unless --lag and -k are named)"
            ]
        lacking = [f"{n - met} of {n} pairs have not met"] if met < n else []
        return lacking + [f"not sampled: {', '.join(self.not_sampled)}"] * bool(self.not_sampled)

    @cached_property
    def bound(self) -> Bound | None:
        """The estimated upper bound, up to where no pair was longer; None: not known (`lacks`)."""
        if self.lacks:
            return None
        tau = [pair.meeting for pair in self.met_pairs if pair.meeting is not None]
        return bound(tau, self.schedule.lag, np.arange(max(tau) - self.schedule.lag + 1))

    @cached_property
    def wasserstein(self) -> Bound | None:
        """The estimated upper bound of the Wasserstein distance from the posterior: how large a share of the pairs of
        items is expected to be together in one of the two alone, of a partition of the chain and one of the posterior
        that are coupled as well as can be. Co-clustering probabilities are then off by as much, on the average over
        pairs of items. None: not known (`lacks`), or an earlier version made a pair.

        Raises
        ------
        DamagedRun
            A file of a pair of chains is not what was written.
        """
        terms = self._read(APART)
        return None if terms is None else intervals.wasserstein_bound(list(terms))

    def _read(self, kind: str, least: int = 1) -> Iterator[NDArray[np.float64]] | None:
        """The estimates of one kind, pair by pair; None if they are not known (`lacks`), a pair has none, or there
        are fewer than `least` pairs."""
        if self.lacks or len(self.pairs) < least or any(getattr(pair, kind) is None for pair in self.pairs):
            return None
        return (read_estimates(self.path, kind, pair.number, getattr(pair, kind)) for pair in self.pairs)

    def estimates(self) -> pd.DataFrame:
        """Posterior means that need no burn-in.

        Returns
        -------
        pandas.DataFrame
            A row for each of `QUANTITIES` and each hyper-parameter that is resampled: quantity, mean, standard_error,
            low, high (an interval of level 0.95), pairs. No rows where a pair has not met, or something is not sampled.
        """
        columns = ["quantity", "mean", "standard_error", "low", "high", "pairs"]
        n = len(self.pairs)
        if self.lacks or n < 2 or not self.pairs[0].estimates:
            return pd.DataFrame(columns=columns)
        names = list(self.pairs[0].estimates)
        values = np.array([[pair.estimates[name] for name in names] for pair in self.pairs])
        mean, error = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(n)
        return pd.DataFrame({"quantity": names, **self._intervals("mean", mean, error), "pairs": n})

    def shown_estimates(self) -> list[tuple[str, str, str]]:
        """Posterior means as text: quantity, estimate, interval."""
        table = self.estimates()
        means = table.set_index("quantity")["mean"]
        # most models keep no empty clusters
        if len(table) and means["K"] == means["n_clusters"]:
            table = table[table["quantity"] != "K"]
        rows = table[["quantity", "mean", "low", "high"]].itertuples(index=False)
        return [(name, f"{mean:.4g}", f"{low:.4g} to {high:.4g}") for name, mean, low, high in rows]

    def co_clustering(self) -> pd.DataFrame:
        """Posterior probabilities that two items are in one cluster, which need no burn-in.

        Returns
        -------
        pandas.DataFrame
            A row for each pair of items i < j (bundles of rows by their first rows): i, j, probability, standard_error,
            low, high (an interval of level 0.95). An estimate may lie outside of [0, 1]. No rows of more than
            `MOST_ITEMS` items, where a pair of chains has not met, or where something is not sampled.

        Raises
        ------
        DamagedRun
            A file of a pair of chains is not what was written.
        """
        return self._co_clustering_table

    @cached_property
    def _co_clustering_table(self) -> pd.DataFrame:
        columns = ["i", "j", "probability", "standard_error", "low", "high"]
        n, each = len(self.pairs), self._read(CO_CLUSTERING, least=2)
        if each is None:
            return pd.DataFrame(columns=columns)
        # one at a time: all of them together are large
        mean: Any = 0.0
        spread: Any = 0.0
        for number, estimates in enumerate(each, 1):
            before, mean = mean, mean + (estimates - mean) / number
            spread = spread + (estimates - before) * (estimates - mean)
        error = np.sqrt(spread / (n - 1) / n)
        i, j = np.triu_indices(round((1 + np.sqrt(1 + 8 * len(mean))) / 2), 1)
        return pd.DataFrame({"i": i, "j": j, **self._intervals("probability", mean, error)})

    def log_predictive(self) -> pd.DataFrame:
        """Log predictive densities of new items, each alone given the data.

        Returns
        -------
        pandas.DataFrame
            A row a new item: item (from 0), log_density (natural logarithm, in the units of the data), standard_error,
            low, high (an interval of level 0.95). The density is a posterior mean, estimated without bias; its
            logarithm is nan where the estimate is not positive. No rows where no new items were given, a pair of chains
            has not met, or something is not sampled.

        Raises
        ------
        DamagedRun
            A file of a pair of chains is not what was written.
        """
        columns = ["item", "log_density", "standard_error", "low", "high"]
        if self._densities is None:
            return pd.DataFrame(columns=columns)
        log, error = log_of_mean(*self._densities)
        return pd.DataFrame({"item": np.arange(len(log)), **self._intervals("log_density", log, error)})

    def _intervals(
        self, name: str, mean: NDArray[np.float64], error: NDArray[np.float64]
    ) -> dict[str, NDArray[np.float64]]:
        """Columns of estimates over the pairs, their standard errors, and intervals of level 0.95."""
        half = stdtrit(len(self.pairs) - 1, 0.5 + intervals.LEVEL / 2) * error
        return {name: mean, "standard_error": error, "low": mean - half, "high": mean + half}

    @cached_property
    def _densities(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """A logarithm, and the factor of its exponential, for every pair of chains and new item."""
        each = self._read(LOG_PREDICTIVE, least=2)
        if each is None:
            return None
        log, value = np.stack(list(each), axis=1)
        return log, value

    def meetings(self) -> pd.DataFrame:
        """A row a pair: pair, met, meeting (null: not met), iterations, seconds, distance, K_x, K_y, start_x, start_y
        (digests of the partitions at the start)."""
        columns = ["pair", "met", "meeting", "iterations", "seconds", "distance", "K_x", "K_y", "start_x", "start_y"]
        rows = [
            (p.number, p.meeting is not None, p.meeting, p.iterations, p.seconds, p.distance, *p.clusters, *p.starts)
            for p in self.pairs
        ]
        return pd.DataFrame(rows, columns=columns).astype({"meeting": "Int64"})

    def write(self) -> None:
        """Write ``pairs.parquet``, ``estimates.parquet``, the other tables that there are, and a manifest of them."""
        tables = {"pairs": self.meetings(), "estimates": self.estimates()}
        tables |= {CO_CLUSTERING: self.co_clustering(), LOG_PREDICTIVE: self.log_predictive()}
        for name, limit in (("bound", self.bound), ("wasserstein", self.wasserstein)):
            tables[name] = pd.DataFrame()
            if limit is not None:
                tables[name] = pd.DataFrame({"iteration": limit.t, "estimate": limit.estimate, "upper": limit.upper})
        if self.wasserstein is not None:
            tables["wasserstein"]["standard_error"] = self.wasserstein.standard_error
        with schema.SealedFolder(self.path) as folder:
            for name, table in tables.items():
                if len(table) or name in ("pairs", "estimates"):
                    folder.add_parquet(name, table)
                else:
                    # of fewer pairs there may have been one
                    (self.path / f"{name}.parquet").unlink(missing_ok=True)

    def lines(self) -> Iterator[str]:
        """Describe the results of the pairs."""
        n, met, lag = len(self.pairs), len(self.met_pairs), self.schedule.lag
        if not n:
            yield self.lacks[0]
            return
        if met < n:
            apart = [pair for pair in self.pairs if pair.meeting is None]
            farthest = max(apart, key=lambda pair: pair.distance)
            mean = np.mean([pair.distance for pair in apart])
            yield (
                f"no bound: {n - met} of {n} pairs have not met within {self.schedule.iterations:,} iterations; at the "
                f"end {mean:.1%} of the pairs of items are together in one of the two chains alone (at most "
                f"{farthest.distance:.1%}, {farthest.clusters[0]} clusters against {farthest.clusters[1]}). Whatever "
                f"these do later, a Wasserstein bound after {self.schedule.iterations - lag:,} iterations is at least "
                f"{sum(pair.distance for pair in apart) / n:.2g}"
            )
        else:
            tau = np.array([pair.meeting for pair in self.met_pairs])
            yield (
                f"{n} of {n} pairs have met: after {np.median(tau) - lag:g} iterations in the median, "
                f"{np.quantile(tau, 0.95) - lag:.0f} in 95 %, {tau.max() - lag} in all (lag {lag})"
            )
        if self.schedule.powers:
            yield (
                f"a chain includes its replicas, which start in its state, with powers "
                f"{', '.join(f'{power:.3g}' for power in self.schedule.powers)}, chosen by chain 0 of the run: two "
                "chains have met when all their replicas have"
            )
        if self.not_sampled:
            yield (
                f"no bound: {self.lacks[-1]} (unknown, but constant in all {n} pairs, so they show nothing about the "
                "posterior)"
            )
        if (bound := self.bound) is not None:
            if distances := bound.reaches(DISTANCES):
                yield (
                    f"estimated upper bound of the total variation distance from the posterior (95 % limit), for "
                    f"chains from {self.starts_text}: {distances}"
                )
            if self.wasserstein is not None and (distances := self.wasserstein.reaches(SHARES)):
                yield (
                    "estimated upper bound of the Wasserstein distance (95 % limit), the share of the pairs of items "
                    f"that are together in exactly one of the two partitions: {distances}"
                )
            if bound.first_below(DISTANCES[-1]) is None:
                yield f"with {n} pairs the limit cannot fall below {bound.upper.min():.2f}; use more pairs"
            if len(together := self.co_clustering()):
                largest = together["standard_error"].max()
                yield (
                    f"co-clustering of {len(together):,} pairs of items is in co_clustering.parquet, with standard "
                    f"errors of at most {largest:.2g}"
                )
            if self._densities is not None:
                of_items, spread = intervals.log_of_mean_of_items(*self._densities)
                yield (
                    f"log predictive density of {self._densities[0].shape[1]:,} new items: {of_items:.5g} an item, "
                    f"standard error {spread:.2g} (log_predictive.parquet)"
                )
        if self.starts < FEW_STARTS:
            advice = "" if self.config.get("init") == "mixture" else "; init=mixture starts apart"
            yield (
                f"all {2 * n} chains start from {'only ' * (self.starts > 1)}{self.starts_text}: a mode that none of "
                f"them visits is missed, and the bound is then far too small{advice}"
            )

    @property
    def starts_text(self) -> str:
        """The partitions in which the chains start, in words."""
        K = sorted({clusters for pair in self.pairs for clusters in pair.start_clusters})
        clusters = f"of {K[0]} to {K[-1]} clusters" if len(K) > 1 else f"of {K[0]} cluster{'s' * (K[0] != 1)}"
        if self.starts == 1:
            return f"one and the same partition {clusters}"
        return f"{self.starts} partitions {clusters}"


def read_pairs(stored: Path) -> tuple[dict[str, Any], Schedule, dict[int, Pair]]:
    """Read the file of a certificate: its content, its schedule, and the pairs whose outcome is known."""
    stored_pairs = manifest.read_sealed(stored, REMEDY)
    with files.report_damage(stored, REMEDY):
        pairs = {}
        for entry in stored_pairs["pairs"]:
            of_both = {name: tuple(entry[name]) for name in ("clusters", "starts", "start_clusters")}
            pairs[entry["number"]] = Pair(**entry | of_both)
        if not isinstance(stored_pairs["identity"], str) or not set(pairs) <= set(range(stored_pairs["begun"])):
            raise files.DamagedRun(stored, REMEDY)
        schedule = dict(stored_pairs["schedule"])
        powers = tuple(schedule.pop("powers", ()))
        return stored_pairs, Schedule(**schedule, powers=powers), pairs


def open_certificate(path: Path) -> Certificate:
    """Read the certificate of a folder: the pairs that are finished. `DamagedRun` names a file that is not what was
    written."""
    content, schedule, pairs = read_pairs(path / PAIRS)
    return Certificate(path, dict(content.get("config", {})), schedule, [pairs[number] for number in sorted(pairs)])


def find_certificates(folder: Path) -> list[Path]:
    """The folders of all certificates in a folder, in the order of their paths."""
    return sorted(file.parent for file in folder.rglob(PAIRS) if file.is_file())
