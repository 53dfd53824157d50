"""Answers of a run: its clusterings, those that are scored and the one that represents all, and what a kind adds."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, ClassVar

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli import config, overrides
from splitmerge_cli.data.arrow import numbers_of
from splitmerge_cli.data.dataset import Dataset, Kind
from splitmerge_cli.diagnostics import partition_losses, point_estimate
from splitmerge_cli.diagnostics.summary import Clustering, Row, second_half
from splitmerge_cli.runs import grouping, initial
from splitmerge_cli.runs.plan import Plan
from splitmerge_cli.runs.recorders import Late, Recorder, best
from splitmerge_cli.runs.store import read, schema
from splitmerge_cli.runs.store.store import RunStore

MOVES = 20
"""Moves before each scan that are advised, if a run has fewer."""


class Answers:
    """The answers of kinds whose clusters are described as such; a base of others (`Kind.answers`)."""

    unjudged: ClassVar[tuple[str, ...]] = ()
    """Columns of the trace that judge no chains."""
    within: ClassVar[str] = f", with its number of clusters inside the {100 * point_estimate.LEVEL:.0f} % interval"
    """Words in the criterion of an estimate, on its number of clusters."""

    @staticmethod
    def estimate(
        partitions: NDArray[np.int32], dataset: Dataset, loss: str = "vi", interval: tuple[int, int] | None = None
    ) -> point_estimate.Estimate:
        """The estimate of a run from draws ``[M, N]``, as of `estimate_partition`: items that must be apart are."""
        items, apart, sizes = dataset.items, dataset.pairs_apart, dataset.row_sizes
        return point_estimate.estimate_partition(partitions, loss, interval, items, apart, sizes)

    @staticmethod
    def central(partitions: NDArray[np.int32], apart: NDArray[np.int32] | None) -> point_estimate.Estimate:
        """The partition of least expected variation of information, of any number of clusters, from draws of items."""
        return point_estimate.minimise_expected_loss(partitions, apart=apart)

    @staticmethod
    def thin_draws(partitions: NDArray[np.int32]) -> NDArray[np.int32]:
        """Thin draws ``[M, N]`` to the partitions over which the distance from an estimate is averaged."""
        return point_estimate.thin_partitions(partitions)

    describes_clusters: ClassVar[bool] = True
    """Whether a run writes what each cluster differs most in."""
    longer: ClassVar[str] = "longer chains:"
    """Why longer chains are advised where nothing else helps."""
    no_levels: ClassVar[str] = ""
    """Why clusters are not merged pair by pair; empty: they are."""

    @staticmethod
    def labels(run: read.Run) -> NDArray[np.int64]:
        """The clusters of a finished run, int64 ``[N]``, from 0."""
        return np.asarray(run.summary["point_estimate"]["labels"], dtype=np.int64)

    @staticmethod
    def read_otherwise(data: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
        """How data that are read with these options may be read for chains that do not converge: why, and the keys;
        None: as they are."""
        return None

    @staticmethod
    def more_moves(moves: int) -> tuple[str, dict[str, Any]] | None:
        """Why chains that stay apart may make more `moves` before each scan, and the keys; None: that does not help."""
        return ("make more moves before each scan", {"schedule.moves": MOVES}) if moves < MOVES else None

    @staticmethod
    def another_model(
        unlike: Sequence[Mapping[str, Any]],
        summary: Mapping[str, Any],
        model: Mapping[str, Any],
        data: Mapping[str, Any],
        named: Collection[str],
    ) -> tuple[str, dict[str, Any]] | None:
        """Reason and keys to change, if another model, or another way to read the data, may describe what this model
        does not: the quantities `unlike`, the farthest first. None: nothing is known to. `model`, `data`: as they are
        configured; `named`: keys that somebody gave."""
        return None

    @staticmethod
    def explain_unlike(quantities: Collection[str]) -> Iterator[str]:
        """Lines on what it means for the answers that the model does not describe these quantities."""
        return iter(())

    @staticmethod
    def comparable(run: read.Run) -> Any:
        """Return the part of a finished run that `compare` takes; None: nothing."""
        return None

    @staticmethod
    def compare(found: Sequence[Any]) -> Any:
        """Describe what several runs have in common (`comparable`), for the terminal."""

    @staticmethod
    def so_far(plan: Plan, run: read.Run, late: Callable[[], Mapping[int, "Late"]]) -> Iterator[str] | None:
        """Write tables of a run that was interrupted, and yield lines about it in place of those about its clusters,
        the first of which says what it has found; None: it has those. `late` gives the draws of `write`."""
        return None

    @staticmethod
    def columns(plan: Plan, late: Mapping[int, "Late"]) -> Mapping[str, NDArray[Any]]:
        """Further columns of ``clusters.csv``, ``[N]``; parameters as of `write`."""
        return {}

    @staticmethod
    def write(
        plan: Plan, store: RunStore, labels: ArrayLike, late: Mapping[int, "Late"], certainty: ArrayLike | None
    ) -> dict[str, Any]:
        """Write further tables of a run that ends; returns further entries of its summary. `labels`: ``[N]``, from 0:
        the clusters that the run lists; `late`: by chain the draws of its second half; `certainty`: ``[N]``, of each
        item."""
        return {}

    cannot_show: ClassVar[Mapping[str, str]] = {}
    """Notes on data that show no clusters, which the answer repeats, and what the verdict says first."""
    apart: ClassVar[str] = ""
    """The word for rows of no cluster, if draws may have any."""

    @staticmethod
    def leave_apart(plan: Plan, late: Mapping[int, "Late"]) -> Mapping[int, "Late"]:
        """Draws in which rows of no cluster are marked (`Late.apart`)."""
        return late

    @staticmethod
    def judge(partitions: Mapping[int, NDArray[Any]]) -> list[Row]:
        """Further rows of a diagnosis, by the partitions ``[M, N]`` of the second half of each chain."""
        return []

    @staticmethod
    def headline(run: read.Run) -> str | None:
        """The first line of the page about a finished run; None: the numbers of its clusters and outliers."""
        return None

    @staticmethod
    def section(run: read.Run) -> Any:
        """The table of the page about a finished run (`splitmerge_cli.analysis.pages.html.Markup`) in place of the one
        of clusters; None: it has that."""
        return None

    @staticmethod
    def say(run: read.Run) -> None:
        """Print what a finished run shows before all else, on stderr."""

    @staticmethod
    def why_no_clusters(run: read.Run) -> str | None:
        """Why a finished run has no lines about its clusters; None: it has."""
        return None

    @staticmethod
    def lines(run: read.Run, columns: bool = False) -> Iterator[str] | None:
        """Lines about a finished run in place of those about its clusters; None: it has those. A `ConfigError` if
        `columns` are asked for and there are none."""
        return None

    @staticmethod
    def further_lines(summary: Mapping[str, Any], first: int, most_clusters: int | None = None) -> Iterator[str]:
        """Lines behind those about the clusters of a finished run, the first of them with number `first`."""
        return iter(())

    @staticmethod
    def far_lines(run: read.Run) -> Iterator[str]:
        """Lines that name items far from their clusters."""
        return iter(())

    @staticmethod
    def merging_lines(run: read.Run) -> Iterator[str]:
        """Lines that advise to merge the clusters of a run, where these overlap and held-out rows can compare the
        levels, but no density does."""
        summary = run.summary
        if not grouping.do_overlap(summary) or schema.GROUPS in summary:
            return
        if point_estimate.count_larger(summary["point_estimate"]["labels"], grouping.row_sizes(summary)) > 1:
            yield "to merge the clusters pair by pair and see which level predicts held-out rows best:"
            yield f"next: smcmc summary {overrides.shell_word(str(run.path))} --levels"

    @staticmethod
    def next_keys(run: read.Run, data: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
        """Choose a further step for a run that has converged, and the keys of the next run; None: there is no step."""
        return None


def kind_of(run: read.Run) -> Kind:
    """The kind of the data of a stored run; one without a name where its model is not at hand."""
    try:
        return initial.specification_of(run).model.kind
    except config.ConfigError:
        return Kind()


def answers_of(kind: Kind) -> type[Answers]:
    """The answers of a kind of data."""
    found: type[Answers] = resolve_name(kind.answers) if kind.answers else Answers
    return found


FEWEST = 100
"""With fewer recorded draws the interval for the number of clusters comes from the trace, which has all draws."""


@dataclass(frozen=True)
class Pooled:
    """The estimate over all chains."""

    estimate: "point_estimate.Estimate"
    least: "point_estimate.Estimate"
    """The partition of least expected variation of information, whatever number of clusters it has."""
    interval: tuple[int, int]
    """The 95 % interval of the number of clusters, over all draws; see `interval_of_run`."""
    sampled: NDArray[np.int32]
    """``[M, N]``: the recorded partitions of the second halves of all chains, of which it was made."""
    chains: Mapping[int, NDArray[np.int32]]
    """Such an estimate ``[N]`` for each chain that recorded some, if the truth is known."""


def clusterings_of(
    recorder: Recorder, outcomes: Sequence[Mapping[str, Any]], pooled: Pooled | None, why_not: str | None
) -> dict[str, Clustering]:
    """The clusterings that are scored, by name; `point` is the one that the run writes. `outcomes`: of the chains;
    `pooled`: the estimate over all chains; `why_not`: why the run does not write it; None: it does."""

    def of_outcomes(key: str, criterion: str, meaning: str) -> Clustering:
        chain = best(outcomes, criterion)
        labels = {c: outcome[key] for c, outcome in enumerate(outcomes)}
        return Clustering(labels, labels[chain], f"chain {chain}: highest log {meaning}")

    best_states = {
        "last": of_outcomes("last_labels", "best_log_joint", "joint"),
        "best": of_outcomes("best_labels", "best_log_joint", "joint"),
        "best_lik": of_outcomes("best_lik_labels", "best_log_lik", "likelihood"),
    }
    of_chains = {} if pooled is None else pooled.chains
    listed = "clusters.csv: " * recorder.is_listed
    if pooled is not None and why_not is None:
        note = f"{listed}{pooled.estimate.partitions} partitions of all chains"
        return best_states | {"point": Clustering(of_chains, pooled.estimate.labels, note)}
    # of long documents no state but the last is written
    instead = best_states["best" if recorder.is_listed else "last"]
    labels = None if instead.over_all is None else partition_losses.by_size(instead.over_all)
    return best_states | {"point": Clustering(of_chains, labels, f"{listed}{instead.note}; {why_not}")}


def interval_of_trace(trace: Mapping[Any, Any]) -> tuple[int, int]:
    """The 95 % interval of the number of clusters: its 2.5 and 97.5 % quantiles over the recorded iterations in the
    second halves of all chains. `trace`: columns chain, iteration and n_clusters at least."""
    return point_estimate.interval_of_counts(late_counts(trace))


def late_counts(trace: Mapping[Any, Any]) -> NDArray[np.int64]:
    """The numbers of clusters of which `interval_of_trace` is the interval."""
    columns = ("chain", "iteration", "n_clusters")
    return np.asarray(second_half({name: np.asarray(trace[name]) for name in columns})["n_clusters"])


def interval_of_run(run: "read.Run") -> tuple[int, int]:
    """The 95 % interval of a run's number of clusters, which all commands and `Posterior` show: without outliers, as
    the first line of a result has the number.

    A finished run has it in its summary. It is computed from the trace of an unfinished run, and of a run made before
    summaries had it. See `interval_of_trace`.
    """
    stored = run.summary.get(schema.INTERVAL) if run.is_done else None
    if stored is not None:
        return int(stored[0]), int(stored[1])
    return interval_of_trace(run.trace(["chain", "iteration", "n_clusters"]))


def searched_interval(run: "read.Run") -> tuple[int, int]:
    """The numbers of clusters, outliers included, that the estimate of a run may have."""
    stored = run.summary["point_estimate"].get("interval") if run.is_done else None
    return (int(stored[0]), int(stored[1])) if stored else interval_of_run(run)


def listed_counts(
    recorder: Recorder, sampled: Mapping[int, Late], counts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], bool]:
    """The numbers of clusters in the draws of a run as they are reported, and whether outliers and rows of no cluster
    are left out: they are if the run lists them and has recorded `FEWEST` draws or more, or draws with rows of no
    cluster. Else `counts`, of all clusters and all draws."""
    dataset = recorder.dataset
    is_apart = recorder.is_listed and not recorder.not_estimated and answers_of(dataset.kind).describes_clusters
    are_marked = any(rows.apart is not None and rows.apart.any() for rows in sampled.values())
    if not is_apart or (sum(len(rows.labels) for rows in sampled.values()) < FEWEST and not are_marked):
        return counts, False
    return np.concatenate([rows.count_clusters(dataset.row_sizes) for rows in sampled.values()]), True


def pooled_estimate(
    recorder: Recorder, sampled: Mapping[int, NDArray[np.int32]], interval: tuple[int, int]
) -> tuple[Pooled | None, str | None]:
    """Return the estimate over all chains; or None, and why not. `sampled`: by chain, the partitions that
    `select_draws` gives; `interval`: of the number of clusters."""
    if why := recorder.not_estimated:
        return None, why
    if not sampled:
        return None, "no late partitions were recorded; trace.partitions=10 records more"
    try:
        together, dataset = np.concatenate(list(sampled.values())), recorder.dataset
        answers, items, sizes = answers_of(dataset.kind), dataset.items, dataset.row_sizes
        estimate = answers.estimate(together, dataset, interval=interval)
        of_items = together if items is None else point_estimate.first_rows(together, items)
        least = answers.central(of_items, dataset.pairs_apart)
        if sizes is not None:
            estimate = replace(estimate, labels=partition_losses.by_size(estimate.labels, sizes))
        least = least if items is None else replace(least, labels=least.labels[items])
        each = {}
        if dataset.truth is not None and len(sampled) == 1:
            each = dict.fromkeys(sampled, estimate.labels)
        elif dataset.truth is not None:
            each = {c: answers.estimate(rows, dataset).labels for c, rows in sampled.items()}
    except point_estimate.TooManyClusters as error:
        return None, str(error)
    return Pooled(estimate, least, interval, together, each), None


def sampled_partitions(run: "read.Run") -> NDArray[np.int32]:
    """The partitions ``[M, N]`` that the estimate of a finished run averages; raises `ConfigError` without any."""
    if (joined := joined_partitions(run)) is not None:
        return joined
    summary = run.summary
    by_chain = second_half_partitions(run.path, summary["N"], summary["iterations"])
    if not by_chain:
        raise config.ConfigError(f"{run.path}: no late partitions were recorded; trace.partitions=10 records more")
    draws = np.concatenate(list(by_chain.values()))
    return grouping.join_apart(draws, grouping.rows_apart(draws, summary))


def joined_partitions(run: "read.Run") -> NDArray[np.int32] | None:
    """The partitions ``[M, N]`` of a finished run whose clusters are joined, as ``gap`` asks; None if they are not.

    See `splitmerge_cli.runs.grouping.join_draws`.
    """
    if not run.is_done or (run.summary.get(schema.JOINED_BY) or {"why_not": ""})["why_not"] is not None:
        return None
    labels = run.rows(schema.JOINED, ["labels"])["labels"]
    return numbers_of(labels).reshape(-1, run.summary["N"])


def second_half_partitions(path: Path, N: int, iterations: Sequence[int]) -> dict[int, NDArray[np.int32]]:
    """The partitions of the second half of every chain that an estimate averages, by chain int32 ``[M, N]``; otherwise
    as `late_partitions`."""
    return {c: rows.labels for c, rows in select_draws(late_partitions(path, N, iterations)).items()}


def select_draws(late: Mapping[int, "Late"]) -> dict[int, "Late"]:
    """Select the late partitions that an estimate averages: those with one spacing, so that each weighs the same."""
    chosen = {c: of_one_spacing(np.arange(len(rows.labels)), rows.iterations) for c, rows in late.items()}
    return {c: rows.take(chosen[c]) for c, rows in late.items()}


def late_partitions(path: Path, N: int, iterations: Sequence[int]) -> dict[int, Late]:
    """Recorded partitions of the second half of every chain, thinned by a stride to `most_partitions` of them, by
    chain; chains that have none are left out. `path`: the folder of the run; `N`: items; `iterations` of each chain."""
    with pq.ParquetFile(path / f"{schema.PARTITIONS}.parquet") as file:
        chain, iteration = map(numbers_of, file.read(columns=["chain", "iteration"]).columns)
        of_chain = [np.flatnonzero(chain == c) for c in range(len(iterations))]
        chosen = [rows[late_rows(iteration[rows], made, N)] for rows, made in zip(of_chain, iterations, strict=True)]
        wanted, parts, begin = np.concatenate(chosen), [np.empty((0, N), dtype=np.int32)], 0
        columns = [name for name in ("labels", schema.PARAMETERS) if name in file.schema_arrow.names]
        further: list[NDArray[np.float64]] = []
        for group in range(file.num_row_groups):
            end = begin + file.metadata.row_group(group).num_rows
            here = wanted[(wanted >= begin) & (wanted < end)] - begin
            if len(here):
                table = file.read_row_group(group, columns=columns)
                parts.append(numbers_of(table["labels"]).reshape(-1, N)[here])
                if len(columns) > 1:
                    further.append(numbers_of(table[schema.PARAMETERS]).reshape(len(table), -1)[here])
            begin = end
    ends = np.cumsum([len(numbers) for numbers in chosen])
    each = np.split(np.concatenate(parts), ends[:-1])
    more = np.split(np.concatenate(further), ends[:-1]) if further else [None] * len(each)
    return {c: Late(iteration[chosen[c]], labels, more[c]) for c, labels in enumerate(each) if len(labels)}


def late_draws(recorded: Any, made: Mapping[Any, int]) -> dict[int, Late]:
    """By chain the draws of its second half, after it `made` so many iterations, of a table of recorded partitions."""
    late = {}
    for chain, of_chain in recorded.groupby("chain"):
        at, N = of_chain["iteration"].to_numpy(), len(of_chain["labels"].iloc[0])
        rows = of_chain.iloc[late_rows(at, int(made[chain]), N)]
        if len(rows):
            values = [np.stack(rows[name].to_list()) for name in ("labels", schema.PARAMETERS) if name in rows]
            late[int(chain)] = Late(rows["iteration"].to_numpy(), values[0].astype(np.int32), *values[1:])
    return late


def late_rows(recorded: NDArray[np.int64], iterations_made: int, N: int) -> NDArray[np.int64]:
    """The rows of a chain's second half that are looked at, of those `recorded` at these iterations, int64, ascending;
    the chain has made `iterations_made` on `N` items."""
    numbers, most = np.flatnonzero(recorded > iterations_made / 2), point_estimate.most_partitions(N)
    if len(numbers) <= most:
        return numbers
    numbers = of_one_spacing(numbers, recorded)
    # by a stride, so that the spacing stays one: more than half of `most` remain
    stride = -(-len(numbers) // most)
    return numbers[(len(numbers) - 1) % stride :: stride]


def of_one_spacing(numbers: NDArray[np.int64], iterations: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows of a chain that are one widest spacing apart, so that each weighs the same.

    Counted back from the last row, each stretch of iterations as long as the widest spacing has one row: its last.
    """
    if len(numbers) < 2:
        return numbers
    at = iterations[numbers]
    stretch = (at[-1] - at) // np.diff(at).max()
    return numbers[np.append(stretch[1:] != stretch[:-1], True)]
