"""The diagnosis of one run: one row per quantity and chain."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.diagnostics import mixing
from splitmerge_cli.diagnostics.agreement import SCORES
from splitmerge_cli.diagnostics.partition_losses import distances

NO_SERIES = ("chain", "iteration", "seconds", "nmi", "ari", "run_id", "sampler", "seed")
"""Columns of a trace that are not diagnosed; every other one is."""
OF_ALL_RUNS = (
    *("mean", "rhat", "rhat_classic", "ess", "ess_tail", "tau"),
    *("acceptance", "null", "accepting", "seconds_per_iteration"),
    *("found", "arrivals", "mcse"),
)
"""Kinds of quantity that every diagnosis has, besides scores."""
FOUND, ARRIVALS, ACCEPTING = "found", "arrivals", "accepting"
"""Rows of `count_found`, of `count_arrivals`, and of moves: chains that accepted one in their second halves."""
MCSE = "mcse"
"""Rows of `splitmerge_cli.diagnostics.convergence.report_errors`."""
DISTANCE = "distance"
"""Variation of information, in nats, between a recorded partition and the last of the first chain, after Duttweiler et
al.: chains in different partitions may have as many clusters, as large ones, and as high a density."""
FEW_DISTANCES = 40
"""Distances that a chain must have: from fewer R-hat exceeds 1.1 by chance in more than 1 of 400 pairs of chains."""
TRIED = 1_000
"""Proposals of a move, in all chains together, from which on it matters that none was accepted."""
TRUE_LABELS = "true_labels"
"""How many items are scored, where that is not all."""
COLUMNS = ["quantity", "chain", "value", "note"]
SUMS = ("log_joint", "log_lik")
"""Columns that are sums over clusters."""
ROUNDING = 1e-13
"""Share of the largest log density by which sums of the same numbers in another order may differ."""
LONGEST = 100_000
"""Draws of a chain beyond which every m-th is looked at: an effective sample size of millions takes minutes and
gigabytes where the chain has not mixed."""


Row = tuple[str, int | None, float, str | None]
"""quantity, chain (None: over all chains), value, note."""


@dataclass(frozen=True)
class Clustering:
    """One way to take a clustering from a chain, and from all chains of a run."""

    chains: Mapping[int, ArrayLike]
    """Labels ``[N]`` by chain; a chain may have none."""
    over_all: ArrayLike | None
    """Labels ``[N]``; None if no clustering stands for all chains."""
    note: str
    """Where `over_all` comes from, or why it is None."""


def second_half(trace: Mapping[Any, Any]) -> dict[str, NDArray[np.float64]]:
    """The series of a trace, the first half of every chain dropped: float64 ``[chains, draws]`` for each column but
    `NO_SERIES`, chains in ascending order, cut to the length of the shortest (a time budget stops chains at different
    iterations).

    The columns are as in ``trace.parquet``; `largest` may hold the list of the five largest fractions, which become
    the series `largest`, ``largest2``, ...
    """
    iteration, by_chain = np.asarray(trace["iteration"]), _rows_by_chain(trace["chain"]).values()
    parts = [rows[iteration[rows] > iteration[rows].max() / 2] if len(rows) > 1 else rows for rows in by_chain]
    draws = min(map(len, parts))
    rows = np.stack([part[len(part) - draws :] for part in parts])
    series = {name: np.asarray(trace[name]) for name in trace if name not in NO_SERIES}
    if "largest" in series:
        fractions = series.pop("largest")
        by_size = np.stack(fractions.tolist()) if fractions.dtype == object else fractions.reshape(len(iteration), -1)
        series |= {f"largest{s + 1}" if s else "largest": by_size[:, s] for s in range(by_size.shape[1])}
    return {name: x[rows].astype(float) for name, x in series.items()}


def series_of(
    trace: Mapping[Any, Any], partitions: Mapping[int, NDArray[np.int32]] | None = None
) -> dict[str, NDArray[np.float64]]:
    """The series by which chains are judged, each ``[chains, draws]``: `second_half`, and `DISTANCE` where every chain
    has recorded `mixing.MIN_DRAWS` partitions, ``[M, N]`` of the second half of each chain, by its number."""
    series = second_half(trace)
    late = [partitions[c] for c in sorted(partitions)] if partitions else []
    if late and len(late) == len(next(iter(series.values()))) and min(map(len, late)) >= mixing.MIN_DRAWS:
        # a budget ends chains at different iterations
        draws = min(map(len, late))
        series[DISTANCE] = np.stack([distances(late[0][-1], labels[len(labels) - draws :]) for labels in late])
    return series


def measure(name: str, series: NDArray[np.float64]) -> tuple[NDArray[np.float64], list[Row]]:
    """The draws of a quantity that are looked at, and the rows of a diagnosis by which chains are judged.

    The rows are ``rhat``, ``rhat_classic``, ``ess`` (bulk) and ``ess_tail`` over all chains; `DISTANCE`, of which few
    draws are recorded, has no ``ess``.
    """
    every = -(-series.shape[1] // LONGEST)
    x = without_rounding(name, series[:, ::every])
    whys = mixing.why_no_rhat(x), mixing.why_no_rhat(x, split=False)
    rows: list[Row] = [
        (f"rhat/{name}", None, mixing.rhat(x), whys[0]),
        (f"rhat_classic/{name}", None, mixing.rhat_classic(x), whys[1]),
    ]
    if name != DISTANCE:
        note = mixing.why_no_ess(x) or (f"from every {every}-th recorded draw" if every > 1 else None)
        rows += [(f"ess/{name}", None, mixing.ess(x), note), (f"ess_tail/{name}", None, mixing.ess_tail(x), note)]
    elif x.shape[1] < FEW_DISTANCES:
        few = f"fewer than {FEW_DISTANCES} distances per chain"
        rows = [row if row[3] is not None else (*row[:2], np.nan, few) for row in rows]
    return x, rows


def without_rounding(name: str, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Draws of a quantity; of log densities those that differ by rounding alone are one number: the smallest of each
    run of values that are no more than `ROUNDING` of the largest magnitude apart.

    The log density of a partition is summed in the order of its clusters' numbers, which is no part of the state: of
    two chains at one partition it may differ in the last digit, which no measure of mixing is to see.

    Examples
    --------
    >>> without_rounding("log_joint", np.array([[-0.3, -0.1 - 0.2], [-0.5, -0.3]])).tolist()
    [[-0.30000000000000004, -0.30000000000000004], [-0.5, -0.30000000000000004]]
    """
    if name not in SUMS:
        return x
    values, place = np.unique(x, return_inverse=True)
    largest = np.abs(values[np.isfinite(values)]).max(initial=0.0)
    with np.errstate(invalid="ignore"):  # infinite densities have no distance
        begins = np.r_[True, ~(np.diff(values) <= ROUNDING * largest)]
    return values[np.flatnonzero(begins)[np.cumsum(begins) - 1]][place].reshape(x.shape)


def _rows_by_chain(chains: ArrayLike) -> dict[int, NDArray[np.intp]]:
    chain_of_row = np.asarray(chains)
    return {c: np.flatnonzero(chain_of_row == c) for c in sorted(set(chain_of_row.tolist()))}


def diagnose(
    trace: Mapping[Any, Any],
    moves: Iterable[Mapping[Any, Any]],
    further: Iterable[Row] = (),
    partitions: Mapping[int, NDArray[np.int32]] | None = None,
) -> list[Row]:
    """Diagnose the chains of a run by their traces (columns as in ``trace.parquet``), the counts of each move at the
    end of each chain (as of ``Sampler.counts`` or ``moves.parquet``, which does not say when a move was last accepted)
    and their `partitions` (as of `series_of`); `further` rows are added. A note says why a value is NaN, or how it was
    taken.

    Quantities of the second half of each chain are ``mean/X``, ``rhat/X``, ``rhat_classic/X`` and ``ess_tail/X`` (all
    chains), ``ess/X``, ``tau/X`` in recorded draws (all chains: the mean of those defined; of more than `LONGEST` draws
    from every m-th), for X in every column of the trace but `NO_SERIES`, and, without ESS and time, `DISTANCE`. The
    whole chain has ``acceptance/MOVE``, ``null/MOVE`` (share of null proposals), ``seconds_per_iteration``; and
    ``accepting/MOVE``, the number of chains that accepted such a move in their second halves, of moves that were
    proposed at least `TRIED` times.
    """
    chains = list(_rows_by_chain(trace["chain"]))
    rows: list[Row] = []
    for name, whole in series_of(trace, partitions).items():
        x, judged = measure(name, whole)
        rows += judged
        if name != DISTANCE:
            rows += [(f"ess/{name}", c, mixing.ess(s), mixing.why_no_ess(s)) for c, s in zip(chains, x, strict=True)]
            tau = -(-whole.shape[1] // LONGEST) * mixing.autocorrelation_times(x)
            defined = tau[np.isfinite(tau)]
            note = f"defined in {len(defined)} of {len(tau)} chains" if len(defined) < len(tau) else None
            rows.append((f"tau/{name}", None, defined.mean() if len(defined) else np.nan, note))
            rows += [(f"tau/{name}", c, t, mixing.why_no_ess(s)) for c, t, s in zip(chains, tau, x, strict=True)]
        rows.append((f"mean/{name}", None, whole.mean(), None))
        rows += [(f"mean/{name}", c, s.mean(), None) for c, s in zip(chains, whole, strict=True)]
    return [*rows, *_moves(list(moves), trace), *_pace(trace), *further]


def count_found(trace: Mapping[Any, Any], searches: bool) -> list[Row]:
    """Rows of a diagnosis on chains none of whose draws differ in the second halves; none if some do: ``found/chains``,
    the chains that reached the state independently, and ``found/draws`` of the second halves of all chains.

    `searches` says whether each chain has a start of its own that is built from the data (item by item). Otherwise the
    chains count that were elsewhere in their first halves.
    """
    series = {name: without_rounding(name, x) for name, x in second_half(trace).items()}
    if not all(np.all(x == x[0, 0]) for x in series.values()):
        return []
    at_end, draws = series["log_joint"], series["log_joint"].size
    count = len(at_end)
    if not searches:
        whole = np.asarray(trace["log_joint"], dtype=float)
        apart = np.abs(whole - at_end[0, 0]) > ROUNDING * np.abs(whole).max()
        count = sum(bool(apart[rows].any()) for rows in _rows_by_chain(trace["chain"]).values())
    return [(f"{FOUND}/chains", None, float(count), None), (f"{FOUND}/draws", None, float(draws), None)]


def count_arrivals(trace: Mapping[Any, Any], largest_K: int | None = None, smallest_K: int = 1) -> list[Row]:
    """Rows of a diagnosis on chains all of which have one number of clusters in their second halves; none if some
    draw has another: ``arrivals/clusters``, that number, and ``arrivals/from_fewer`` and ``arrivals/from_more``, the
    chains that had fewer and more clusters before; there is no row of a side where none can be.

    The trace includes the start state of each chain; `largest_K` and `smallest_K` are the most clusters that there can
    be, where that is known, and the fewest.
    """
    late = second_half(trace)["K"]
    if np.any(late != late[0, 0]):
        return []
    whole, each = np.asarray(trace["K"]), _rows_by_chain(trace["chain"]).values()
    fewer, more = (sum(bool(apart[rows].any()) for rows in each) for apart in (whole < late[0, 0], whole > late[0, 0]))
    K = int(late[0, 0])
    sides = [("clusters", K, None), ("from_fewer", fewer, smallest_K), ("from_more", more, largest_K)]
    return [(f"{ARRIVALS}/{name}", None, float(value), None) for name, value, end in sides if end != K]


def score(clusterings: Mapping[str, Clustering], truth: ArrayLike) -> list[Row]:
    """Rows of a diagnosis that compare clusterings, by their names, with the true clusters ``[N]``.

    Quantities are ``SCORE/NAME`` for nmi, ari, purity, rand and accuracy. An item whose true number is negative is left
    out; where there is one, ``true_labels`` is the number of the others.
    """
    rows: list[Row] = []
    true = np.asarray(truth)
    known = np.flatnonzero(true >= 0)
    if len(known) < len(true):
        rows.append((TRUE_LABELS, None, float(len(known)), f"the scores are over {len(true)} items"))

    def agree(agreement: Callable[[ArrayLike, ArrayLike], float], labels: ArrayLike) -> float:
        return agreement(true[known], np.asarray(labels)[known])

    for name, clustering in clusterings.items():
        for kind, agreement in SCORES.items():
            quantity, labels = f"{kind}/{name}", clustering.over_all
            rows.append((quantity, None, np.nan if labels is None else agree(agreement, labels), clustering.note))
            rows += [(quantity, c, agree(agreement, labels), None) for c, labels in clustering.chains.items()]
    return rows


def _moves(moves: Sequence[Mapping[Any, Any]], trace: Mapping[Any, Any]) -> list[Row]:
    iteration, by_chain = np.asarray(trace["iteration"]), _rows_by_chain(trace["chain"])
    half = {chain: iteration[rows].max() / 2 for chain, rows in by_chain.items()}
    chains = list(by_chain)
    rows: list[Row] = []
    for move in dict.fromkeys(counts["move"] for counts in moves):
        every = [counts for counts in moves if counts["move"] == move]
        if sum(counts["proposed"] for counts in every) >= TRIED and all("last_accepted" in counts for counts in every):
            late = sum(counts["last_accepted"] > half[counts["chain"]] for counts in every)
            rows.append((f"{ACCEPTING}/{move}", None, float(late), None))
        for column, name in [("accepted", "acceptance"), ("null", "null")]:
            for chain in [None, *chains]:
                part = [counts for counts in moves if counts["move"] == move and chain in (None, counts["chain"])]
                proposed = sum(counts["proposed"] for counts in part)
                value = sum(counts[column] for counts in part) / proposed if proposed else np.nan
                rows.append((f"{name}/{move}", chain, value, None if proposed else "never proposed"))
    return rows


def _pace(trace: Mapping[Any, Any]) -> list[Row]:
    columns = [np.asarray(trace[name]) for name in ("seconds", "iteration")]
    last = {chain: [x[rows].max() for x in columns] for chain, rows in _rows_by_chain(trace["chain"]).items()}
    seconds, iterations = (np.sum(each) for each in zip(*last.values(), strict=True))
    note = None if seconds > 0 else "timing=false: no times were recorded"

    def pace(seconds: float, iterations: int) -> float:
        return seconds / iterations if iterations and note is None else np.nan

    of_all: dict[int | None, Any] = {None: (seconds, iterations)}
    return [("seconds_per_iteration", c, pace(*made), note) for c, made in (of_all | last).items()]
