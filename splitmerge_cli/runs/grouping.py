"""Clusters without a gap of density between them: joined as ``gap`` asks, or named at the end of a run."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.config import ConfigError, class_of
from splitmerge_cli.data.dataset import Dataset, Kind, get_kind
from splitmerge_cli.diagnostics import partition_losses, similarity, small_clusters
from splitmerge_cli.diagnostics import point_estimate as estimates
from splitmerge_cli.diagnostics.cluster_table import count_of, number_clusters, span
from splitmerge_cli.runs.recorders import Late
from splitmerge_cli.runs.store import schema

OVERLAPPING = 0.6
"""Mean certainty of the items below which clusters overlap. It is 0.75 or more in data sets of the models, 0.5 in one
group that is not normal."""
DRAWS = (100, 400)
"""Draws whose clusters are joined; and where these leave open whether nearly all have one number of groups."""
BATCHES = 5
"""Batches of draws, each with a density of its own, whose spread is the Monte Carlo error of that share."""
GAP, WIDE_GAP = 0.25, 1.25
"""Nats by which the density falls between groups; and where no cluster stands clearly apart (docs/how-many.md)."""
PIECES = 3
"""Groups, at least, that are pieces of one where none stands clearly apart. Two are two groups with a pass between."""


def rows_apart(partitions: ArrayLike, summary: Mapping[str, Any]) -> NDArray[np.bool_] | None:
    """Which rows are of no cluster in partitions ``[N]`` or ``[M, N]`` of a run's rows, its estimate, draws or levels:
    the rows of a cluster whose rows are of none in most draws, on average. None: no row of the run is."""
    if (apart := summary.get(schema.APART)) is None:
        return None
    labels = np.asarray(partitions)
    rows = []
    for row in np.atleast_2d(labels):
        means = np.bincount(row, apart["probability"]) / np.maximum(np.bincount(row), 1)
        rows.append((means > 0.5)[row])
    return np.array(rows, dtype=bool).reshape(labels.shape)


def row_sizes(summary: Mapping[str, Any], labels: ArrayLike | None = None, whole: bool = False) -> list[float] | None:
    """Size that each row of a run adds to its cluster in the partition `labels`, by default the estimate; None: 1.
    Unless the partition counts as a `whole`, a row of no cluster adds nothing."""
    sizes: list[float] | None = summary.get(schema.BUNDLES, {}).get("sizes")
    labels = summary.get("point_estimate", {}).get("labels") if labels is None else labels
    if whole or labels is None or (is_apart := rows_apart(labels, summary)) is None:
        return sizes
    return np.where(is_apart, 0.0, 1.0 if sizes is None else sizes).tolist()


def name_clusters(labels: ArrayLike, summary: Mapping[str, Any], first: int) -> list[str]:
    """Name each cluster in a partition of a run's rows: by its number, or by the word for rows of no cluster."""
    found = np.asarray(labels)
    names = [str(number_clusters(k, first)) for k in range(int(found.max()) + 1)]
    if (is_apart := rows_apart(found, summary)) is not None:
        for k in np.unique(found[is_apart]):
            names[k] = summary[schema.APART]["word"]
    return names


def find_apart(draws: Mapping[int, Late], word: str) -> dict[str, Any] | None:
    """For the summary: the `word` for rows of no cluster, the `probability` of each row that it is one, and their
    `share` of all rows, mean and 95 % interval. None if no draw has any."""
    marked = [rows.apart for rows in draws.values() if rows.apart is not None]
    if not marked or not (apart := np.concatenate(marked)).any():
        return None
    probability, shares = apart.mean(axis=0), apart.mean(axis=1)
    ends = np.quantile(shares, [0.5 - estimates.LEVEL / 2, 0.5 + estimates.LEVEL / 2])
    return {
        "word": word,
        "probability": probability.round(6).tolist(),
        "share": [float(shares.mean()), *ends.tolist()],
    }


def is_undivided(summary: Mapping[str, Any]) -> bool:
    """Whether one cluster is nearer to the draws than the clusters of the estimate are, and no density was looked at
    for groups."""
    least, chosen = summary.get("least_expected_vi"), summary["point_estimate"]
    looked = {schema.GROUPS, schema.JOINED_BY} & summary.keys()
    several = chosen["n_clusters"] > 1 and not has_one_and_outliers(chosen.get("labels"), row_sizes(summary))
    return several and least is not None and least["n_clusters"] == 1 and not looked


def do_overlap(summary: Mapping[str, Any]) -> bool:
    """Whether the draws cut the rows at places that differ from draw to draw."""
    fit = summary.get(schema.FIT) or {}
    certainty = fit.get("certainty")
    # where draws are joined, a low certainty means that there may be one group or several
    return (
        certainty is not None
        and certainty < OVERLAPPING
        and fit["unchecked"] is None
        and schema.JOINED_BY not in summary
        and summary["point_estimate"]["n_clusters"] > 1
    )


def total_size(summary: Mapping[str, Any]) -> float:
    """Return the size of all clusters together."""
    return float(summary.get(schema.BUNDLES, {}).get("size", summary["N"]))


def has_units(summary: Mapping[str, Any]) -> bool:
    """Whether sizes count units of several rows."""
    return bool(summary.get(schema.BUNDLES, {}).get("units"))


def kind_of_summary(summary: Mapping[str, Any]) -> Kind:
    """The kind of the data of a run by its summary; one without a name for a model that is not at hand."""
    try:
        return get_kind(class_of("model", summary.get("model", "")).kind)
    except ConfigError:
        return Kind()


def nouns(summary: Mapping[str, Any]) -> tuple[str, str]:
    """The data's own words for an item and a cluster of a run, in the singular: row and cluster, for one."""
    kind = kind_of_summary(summary)
    return "unit" if has_units(summary) else kind.item if kind.name else "item", kind.cluster


def count_listed(labels: ArrayLike, summary: Mapping[str, Any] | None = None, noun: str = "cluster") -> str:
    """Count a partition's clusters, outliers and rows of no cluster in words, as the first line of a result has them.
    `summary`: ``summary.json`` of the run whose rows it is of.

    Examples
    --------
    >>> count_listed([0] * 60 + [1] * 40 + [2])
    '2 clusters and 1 outlier'
    """
    found, facts = np.asarray(labels), summary or {}
    sizes_of_rows = row_sizes(facts, found)
    sizes, clusters = np.bincount(found, sizes_of_rows), estimates.count_larger(found, sizes_of_rows)
    are_outliers = clusters < np.count_nonzero(sizes)
    outliers = sum(size for size in sizes.tolist() if estimates.is_outlying(size, sizes.sum())) if are_outliers else 0
    word = kind_of_summary(facts).outlier
    counted = [count_of(clusters, noun), *([count_of(round(outliers), word)] if outliers else [])]
    if (is_apart := rows_apart(found, facts)) is not None and is_apart.any():
        rows = np.ones(len(found)) if (whole := row_sizes(facts, whole=True)) is None else np.asarray(whole)
        counted.append(count_of(round(rows[is_apart].sum()), f"{facts[schema.APART]['word']} {nouns(facts)[0]}"))
    return f"{', '.join(counted[:-1])} and {counted[-1]}" if len(counted) > 1 else counted[0]


def describe_rows(summary: Mapping[str, Any]) -> str:
    """Count the items of a run in the data's own word: units, or rows that count more than once."""
    if schema.BUNDLES not in summary:
        return count_of(summary["N"], nouns(summary)[0])
    bundles, rows = summary[schema.BUNDLES], f"{summary['N']:,} rows"
    if bundles["units"]:
        return f"{bundles['items']:,} units ({rows})"
    return rows + f", which count as {bundles['size']:,.10g}" * (bundles["size"] != summary["N"])


def listed_clusters(summary: Mapping[str, Any]) -> int:
    """The number of clusters of a run as its interval has it: without outliers, if these are apart there."""
    chosen = summary["point_estimate"]
    if "labels" not in chosen or not summary.get(schema.OUTLIERS_APART):
        return int(chosen["n_clusters"])
    return estimates.count_larger(chosen["labels"], row_sizes(summary))


def has_one_and_outliers(labels: Any, sizes_of_rows: ArrayLike | None = None) -> bool:
    """Whether a partition has one cluster, of nearly all items, and outliers."""
    if labels is None:
        return False
    sizes, clusters = np.bincount(np.asarray(labels), sizes_of_rows), estimates.count_larger(labels, sizes_of_rows)
    return bool(sizes.max() > (1 - estimates.FEW_SHARE) * sizes.sum()) and clusters == 1


def why_not_joined(dataset: Dataset) -> str | None:
    """Reason why the clusters of a data set cannot be joined; None if they can."""
    types = dataset.kind.types_of(dataset)
    if dataset.row_sizes is not None:
        return "the density between clusters is known for rows alone, without weights, units, classes or links"
    if not isinstance(dataset.values, np.ndarray) or {column.type for column in types} != {"real"}:
        return "the density between clusters needs real columns in a dense table"
    return None


def join_draws(
    dataset: Dataset, late: Mapping[int, Late], gaps: Sequence[float], most: int = DRAWS[0]
) -> tuple[list[dict[int, Late]], str | None]:
    """Join the clusters of draws (`splitmerge_cli.diagnostics.small_clusters`): for each gap the joined draws by chain;
    and why there are none. `late`: by chain, the draws that an estimate averages; `most`: draws in all, at most."""
    if why := why_not_joined(dataset):
        return [], why
    if not late:
        return [], "no late partitions were recorded; trace.partitions=10 records more"
    chosen = [
        (chain, int(row))
        for chain, rows in late.items()
        for row in estimates.evenly_spaced(len(rows.labels), max(1, most // len(late)))
    ]
    # the first of them come from all chains, as many clusters leave only these
    chosen = [chosen[m] for m in np.argsort([row for _, row in chosen], kind="stable")]
    draws = np.stack([late[chain].labels[row] for chain, row in chosen])
    try:
        grouped = small_clusters.join_clusters(dataset.values, draws, gaps)
    except (ValueError, np.linalg.LinAlgError) as error:
        return [], str(error)
    joined: list[dict[int, Late]] = [{} for _ in grouped]
    for labels, of_gap in zip(grouped, joined, strict=True):
        for chain, rows in late.items():
            if positions := [m for m in range(len(labels)) if chosen[m][0] == chain]:
                here = rows.take([chosen[m][1] for m in positions])
                of_gap[chain] = replace(here, labels=join_apart(labels[positions], here.apart))
    return joined, None


def join_apart(labels: NDArray[np.int32], apart: NDArray[np.bool_] | None) -> NDArray[np.int32]:
    """Partitions ``[M, N]`` in which all rows of no cluster have one label, and no other row has it."""
    if apart is None:
        return labels
    for m in np.flatnonzero(apart.any(axis=1)):
        labels[m] = partition_losses.by_appearance(np.where(apart[m], labels[m].max() + 1, labels[m]))
    return labels


def find_groups(dataset: Dataset, labels: ArrayLike, late: Mapping[int, Late]) -> dict[str, Any] | None:
    """Find the groups of clusters without a gap of density between them, by the estimate `labels` ``[N]`` and the draws
    that it averages, by chain.

    Returns for the summary the `gap` that is advised, the number of groups that are not listed as outliers
    (`n_groups`), its 95 % `interval`, the `labels` of the groups ``[N]``, `n_clusters`, clusters of the estimate (if it
    has one, of the median draw) that are not listed as outliers, and `share`, the share of the draws with `n_groups`,
    with its Monte Carlo error. None if both are one cluster, and where they cannot be joined.
    """
    n_clusters, found = _count(labels, late), None
    if n_clusters == 1 and late:
        n_clusters = int(np.median(np.concatenate([rows.count_clusters() for rows in late.values()])))
    for most in DRAWS if n_clusters > 1 else ():
        joined = join_draws(dataset, late, (GAP, WIDE_GAP), most)[0]
        if not joined:
            return found
        narrow, wide = (_estimate(of_gap) for of_gap in joined)
        is_one = _count(wide, joined[1]) == 1 and _count(narrow, joined[0]) >= PIECES
        gap, groups, draws = (WIDE_GAP, wide, joined[1]) if is_one else (GAP, narrow, joined[0])
        counts, number = np.concatenate([rows.count_clusters() for rows in draws.values()]), _count(groups, draws)
        share = float(np.mean(counts == number))
        error = _error_of_share(dataset, late, gap, most, number)
        found = {
            "gap": gap,
            "n_clusters": n_clusters,
            "n_groups": number,
            "interval": list(estimates.interval_of_counts(counts)),
            "labels": groups.tolist(),
            "share": [share, error],
        }
        if abs(share - estimates.LEVEL) > 2 * error or len(counts) < most:
            break
    return found


def _error_of_share(dataset: Dataset, late: Mapping[int, Late], gap: float, most: int, number: int) -> float:
    """Estimate the Monte Carlo standard error of a share, the draws with this number of groups, by batches of draws
    that are joined by a density of their own."""
    shares = []
    for batch in range(BATCHES):
        part = {c: rows.take(slice(batch, None, BATCHES)) for c, rows in late.items()}
        part = {c: rows for c, rows in part.items() if len(rows.labels)}
        joined = join_draws(dataset, part, (gap,), most // BATCHES)[0]
        if joined:
            shares += [np.mean(np.concatenate([rows.count_clusters() for rows in joined[0].values()]) == number)]
    return float(np.std(shares, ddof=1) / math.sqrt(len(shares))) if len(shares) > 1 else 1.0


def _count(labels: ArrayLike, draws: Mapping[int, Late]) -> int:
    """The number of clusters of an estimate from draws that are not listed as outliers, nor of no cluster."""
    is_apart = rows_apart(labels, {schema.APART: find_apart(draws, "")})
    return estimates.count_larger(labels, None if is_apart is None else np.where(is_apart, 0.0, 1.0))


def _estimate(joined: Mapping[int, Late]) -> NDArray[np.int32]:
    draws = np.concatenate([rows.labels for rows in joined.values()])
    return estimates.estimate_partition(draws, interval=estimates.interval_of_counts(draws.max(axis=1) + 1)).labels


def are_apart(groups: Mapping[str, Any]) -> bool:
    """Whether each cluster is a group, given what `find_groups` found."""
    return bool(groups["n_groups"] >= groups["n_clusters"])


def are_sure(groups: Mapping[str, Any], labels: NDArray[np.int32], draws: NDArray[np.int32]) -> bool:
    """Whether some clusters are parts of a group in nearly all draws, by more than the Monte Carlo error, or the draws
    ``[M, N]`` overlap: groups are what a run with ``gap=null`` lists."""
    share, error = groups["share"]
    if are_apart(groups) or share - 2 * error > estimates.LEVEL:
        return not are_apart(groups)
    return float(np.mean(similarity.membership(draws, labels).certainty)) < OVERLAPPING


def describe_readings(summary: Mapping[str, Any]) -> str:
    """Describe how many groups and components a run has, where these differ; empty where they do not."""
    joined, stored = summary.get(schema.JOINED_BY), summary.get(schema.GROUPS)
    if joined is not None and joined["why_not"] is None:
        groups, components = listed_clusters(summary), joined["components"]
    elif stored is not None and not are_apart(stored):
        groups, components = stored["n_groups"], summary[schema.INTERVAL]
    else:
        return ""
    return f" ({count_of(groups, 'group')} by density; {span(components[0], components[1], 'component')}, 95 %)"


def describe_fall(groups: Mapping[str, Any]) -> str:
    """Describe how far the density falls between groups, or between the clusters of one group."""
    amount = "at least" if are_apart(groups) else "less than"
    return f"the density falls by {amount} {1 - math.exp(-groups['gap']):.0%} between"


def describe_groups(summary: Mapping[str, Any]) -> str | None:
    """Describe the groups that the clusters of a run form; None if each is a group, or if nobody looked."""
    stored = summary.get(schema.GROUPS)
    if stored is None or are_apart(stored):
        return None
    groups, (low, high) = stored["n_groups"], stored["interval"]
    # if the estimate is one cluster, most draws have more
    clusters = "the clusters of most draws" if listed_clusters(summary) == 1 else f"the {stored['n_clusters']} clusters"
    number = f"95 %: {span(low, high, 'group')}"
    fall = describe_fall(stored)
    if groups > 1:
        return (
            f"{clusters} form {groups} groups ({number}): {fall} clusters of one group, which are parts of it, or "
            "groups that overlap"
        )
    known = "the rows do not separate into groups" if high == 1 else "the rows may be one group"
    return f"{known} ({number}): {fall} {clusters}, which are parts of one group, or groups that overlap"


def choose_gap(summary: Mapping[str, Any], gap: float | None) -> tuple[str, dict[str, Any]] | None:
    """Reason for joining the clusters of a group, and the key that does it; None where a run has joined some."""
    if gap or describe_groups(summary) is None:
        return None
    return "join each group into one cluster:", {"gap": summary[schema.GROUPS]["gap"]}
