"""The diagnosis of a run as tables and lines for a terminal; and of restarts: R-hat between them, autocorrelation
times, cost in Gibbs sweeps.

The chains of a run may share their history, so they are not independent; chains of different runs (restarts, which
differ in their seed) are. Source: Herlau et al., sections 3.1 (autocorrelation times), 3.4 (standardised iterations)
and 3.5 (R-hat of the log joint density).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from rich.table import Table
from rich.text import Text

from splitmerge_cli.diagnostics import agreement, mixing
from splitmerge_cli.diagnostics.summary import COLUMNS, OF_ALL_RUNS, TRUE_LABELS, Row, second_half

SWEEPS = ("gibbs", "neal8")
"""Moves of the interlaced sweeps in ``moves.parquet``."""
UPDATES = ("parameters", "concentration")
"""Moves of `refresh`, which proposes none where the model has nothing of the kind to draw."""


def mean_and_spread(values: ArrayLike) -> tuple[float, float]:
    """Mean and standard deviation (n - 1) of the values that are defined; NaN where there are too few."""
    x = np.asarray(values, dtype=np.float64)
    x = x[np.isfinite(x)]
    return (x.mean() if len(x) else np.nan), (x.std(ddof=1) if len(x) > 1 else np.nan)


@dataclass(frozen=True)
class BetweenRestarts:
    """R-hat of each number s of a chain, over the restarts' s-th chains."""

    classic: NDArray[np.float64]
    """float64 ``[S]``: Gelman and Rubin's, sqrt(((n - 1)/n W + B/n) / W); NaN where undefined."""
    ranked: NDArray[np.float64]
    """float64 ``[S]``: the rank-normalised split R-hat; NaN where undefined."""
    undefined: dict[int, str]
    """Why the classic one has no value, by s."""
    constant: list[tuple[int, int]]
    """Restart and number of every chain whose series never changes."""

    @property
    def mean(self) -> float:
        """Mean of the classic one over the s for which it is defined."""
        return mean_and_spread(self.classic)[0]

    @property
    def spread(self) -> float:
        """Its standard deviation over these."""
        return mean_and_spread(self.classic)[1]


def between_restarts(draws: ArrayLike) -> BetweenRestarts:
    """R-hat between restarts, for each number s of a chain; chains of one restart are never pooled.

    `draws` is ``[restarts, S, draws]``, what is to be forgotten dropped (see `late`); a ValueError for other
    dimensions.
    """
    x = np.asarray(draws, dtype=np.float64)
    if x.ndim != 3:
        raise ValueError(f"draws: array of {x.ndim} dimensions; expected [restarts, S, draws]")
    numbers = range(x.shape[1])
    reasons = {s: mixing.why_no_rhat(x[:, s], split=False) for s in numbers}
    stuck = (x == x[..., :1]).all(axis=-1)
    return BetweenRestarts(
        np.array([mixing.rhat_classic(x[:, s]) for s in numbers]),
        np.array([mixing.rhat(x[:, s]) for s in numbers]),
        {s: reason for s, reason in reasons.items() if reason},
        [(int(restart), int(s)) for restart, s in np.argwhere(stuck)],
    )


def late(traces: Sequence[pd.DataFrame]) -> NDArray[np.float64]:
    """The second half of the log joint for every chain of every restart, given their traces: float64
    ``[restarts, S, draws]``, cut to the length of the shortest. A ValueError for different numbers of chains."""
    parts = [second_half(trace)["log_joint"] for trace in traces]
    if len({len(part) for part in parts}) != 1:
        raise ValueError(f"chains of the restarts: {', '.join(str(len(p)) for p in parts)}; expected as many in each")
    draws = min(part.shape[1] for part in parts)
    return np.stack([part[:, part.shape[1] - draws :] for part in parts])


@dataclass(frozen=True)
class Times:
    """Autocorrelation times of a run's chains, in recorded draws."""

    values: NDArray[np.float64]
    """float64 ``[chains]``; NaN where undefined."""
    series: int
    undefined: int
    """Number of series that were looked at, and how many of them never change, so that they have no time."""

    @property
    def mean(self) -> float:
        """Mean over the chains that have one."""
        return mean_and_spread(self.values)[0]


def largest_times(trace: pd.DataFrame, after: int = 0) -> Times:
    """Autocorrelation times of the largest cluster's share of the items, a series for each chain.

    `trace` has chain, iteration and largest of ``trace.parquet``; iterations up to `after` are dropped.
    """
    late = trace[trace["iteration"] > after]
    first = [np.stack(chain["largest"].tolist())[:, 0] for _, chain in late.groupby("chain", sort=True)]
    times = np.array([mixing.autocorrelation_times(x) for x in first])
    return Times(times, len(times), int(np.isnan(times).sum()))


def planted_pairs(truth: ArrayLike, rng: np.random.Generator, each: int = 3) -> NDArray[np.int64]:
    """All pairs of items of which `each` are drawn from every planted cluster, int64 ``[pairs, 2]``: 105 for 5
    clusters.

    `truth` ``[N]`` is the planted cluster of each item; a ValueError if a cluster has fewer items.
    """
    truth = np.asarray(truth)
    members = [np.flatnonzero(truth == cluster) for cluster in np.unique(truth)]
    if (least := min(map(len, members))) < each:
        raise ValueError(f"each={each}: expected at most {least}, the size of the smallest planted cluster")
    items = np.concatenate([rng.choice(cluster_items, each, replace=False) for cluster_items in members])
    return np.array(list(combinations(items.tolist(), 2)), dtype=np.int64).reshape(-1, 2)


def indicator_times(
    partitions: pd.DataFrame, pairs: ArrayLike, after: int = 0, over: Callable[[Any], Any] = np.nanmax
) -> Times:
    """Largest autocorrelation time, over pairs of items, of whether the two are in one cluster: a value for each chain,
    over those pairs that are not together, or apart, all the time. `partitions`: columns chain, iteration, labels of
    ``partitions.parquet``; iterations up to `after` are dropped. `pairs`: int ``[pairs, 2]``; see `planted_pairs`.
    `over`: sums up the times of a chain's pairs, in place of their maximum."""
    i, j = np.asarray(pairs).T
    late = partitions[partitions["iteration"] > after]
    values, undefined, series = [], 0, 0
    for _, chain in late.groupby("chain", sort=True):
        labels = np.stack(chain["labels"].tolist())
        times = mixing.autocorrelation_times((labels[:, i] == labels[:, j]).T)
        missing = np.isnan(times)
        values.append(np.nan if missing.all() else over(times))
        undefined, series = undefined + int(missing.sum()), series + len(times)
    return Times(np.array(values), series, undefined)


def standardised_iterations(moves: pd.DataFrame, iterations: int | Mapping[int, int]) -> pd.Series:
    """Iterations in units of a Gibbs sweep's cost: T times total seconds over seconds within the Gibbs sweeps.

    A full sweep per iteration is taken for granted (``schedule=full_scan``). `moves` has chain, move and seconds of
    ``moves.parquet``; T is one number of `iterations`, or one by chain. Returns float64 by chain; NaN where no time was
    taken, or none within Gibbs sweeps.
    """
    total = moves.groupby("chain")["seconds"].sum()
    swept = moves[moves["move"].isin(SWEEPS)].groupby("chain")["seconds"].sum().reindex(total.index, fill_value=0.0)
    iterations_made = pd.Series(iterations, index=total.index, dtype=float)
    return (iterations_made * total / swept.where(swept > 0)).rename("standardised")


def as_frame(rows: Iterable[Row]) -> pd.DataFrame:
    """The rows of a diagnosis as a frame with `COLUMNS`, as of ``diagnostics.parquet``."""
    frame = pd.DataFrame(list(rows), columns=COLUMNS)
    frame["chain"] = frame["chain"].astype("Int32")
    frame["value"] = frame["value"].astype(float)
    return frame


def table(diagnosis: pd.DataFrame, title: str | None = None) -> Table:
    """The diagnosis for a terminal: a row per quantity, a column for all chains and one for each."""
    chains = sorted(diagnosis["chain"].dropna().unique())
    # what comes from a file, or is the name of a folder, is no markup
    out = Table(title=None if title is None else Text(title), title_justify="left")
    out.add_column("quantity", overflow="fold")
    out.add_column("all", justify="right", overflow="fold")
    for chain in chains:
        out.add_column(f"chain {chain}", justify="right", overflow="fold")
    out.add_column("note", overflow="fold")
    subject, shown_note = None, ""
    for quantity in dict.fromkeys(diagnosis["quantity"]):
        rows = diagnosis[diagnosis["quantity"] == quantity]
        over_all = rows[rows["chain"].isna()]
        cells = [_number(over_all["value"])]
        cells += [_number(rows.loc[rows["chain"] == chain, "value"]) for chain in chains]
        note = next(iter(over_all["note"].dropna()), "") if "note" in rows else ""
        if quantity.partition("/")[2] != subject:
            subject, shown_note = quantity.partition("/")[2], ""
            out.add_section()
        # a note that holds for all of a subject is shown once
        out.add_row(Text(quantity), *cells, Text("" if note == shown_note else note))
        shown_note = note
    return out


def short_table(diagnosis: pd.DataFrame, title: str | None = None) -> Table:
    """The diagnosis for a first look, for a terminal: mean, R-hat, bulk effective sample size and autocorrelation time
    of each column of the trace, over all chains."""
    over_all = _over_all(diagnosis)
    kinds = {"mean": "mean", "R-hat": "rhat", "ESS": "ess", "autocorrelation": "tau"}
    out = Table(title=None if title is None else Text(title), title_justify="left")
    out.add_column("", overflow="fold")
    for heading in kinds:
        out.add_column(heading, justify="right", overflow="fold")
    infinite = set(diagnosis.loc[diagnosis["note"].isin(mixing.INFINITE), "quantity"])

    def cell(quantity: str) -> str:
        return "infinite" if quantity in infinite else _format_value(over_all.get(quantity, np.nan))

    for name in _of_kind(over_all, "mean"):
        out.add_row(Text(name), *(cell(f"{kind}/{name}") for kind in kinds.values()))
    return out


def short_lines(diagnosis: pd.DataFrame) -> Iterator[str]:
    """Yield the lines below `short_table`: accepted shares by move, quantities that a kind of data adds."""
    over_all = _over_all(diagnosis)
    if moves := {name: over_all[f"acceptance/{name}"] for name in _of_kind(over_all, "acceptance")}:
        shares = {name: f"{x:.2%}" if np.isfinite(x) else "never proposed" for name, x in moves.items()}
        told = (f"{name} {share}" for name, share in shares.items() if name not in UPDATES or share != "never proposed")
        yield f"accepted: {', '.join(told)}"
    added = [name for name in over_all if name.partition("/")[0] not in (*OF_ALL_RUNS, *agreement.SCORES, TRUE_LABELS)]
    if known := [f"{name} {over_all[name]:.4g}" for name in added if np.isfinite(over_all[name])]:
        yield ", ".join(known)


def _over_all(diagnosis: pd.DataFrame) -> dict[str, float]:
    """Values over all chains by quantity."""
    rows = diagnosis[diagnosis["chain"].isna()]
    return dict(zip(rows["quantity"], rows["value"], strict=True))


def _of_kind(over_all: Mapping[str, float], kind: str) -> list[str]:
    return [name.removeprefix(f"{kind}/") for name in over_all if name.startswith(f"{kind}/")]


def _number(values: "pd.Series[float]") -> str:
    return _format_value(float(values.iloc[0])) if len(values) else ""


def _format_value(value: float) -> str:
    return f"{value:.4g}" if np.isfinite(value) else "–"
