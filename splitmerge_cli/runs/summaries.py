"""The clusters of a run in the data's own terms: their files, and lines of text."""

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from splitmerge_cli import config, overrides, terminal
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.diagnostics import cluster_table
from splitmerge_cli.diagnostics.convergence import convergence
from splitmerge_cli.diagnostics.point_estimate import FEW_ITEMS, count_larger, is_outlying
from splitmerge_cli.diagnostics.summary import Row
from splitmerge_cli.runs import grouping, identity, initial, judgement
from splitmerge_cli.runs.answers import answers_of, interval_of_run, kind_of
from splitmerge_cli.runs.plan import Plan
from splitmerge_cli.runs.store import read, schema
from splitmerge_cli.runs.store.files import CLUSTER_SUMMARY, CLUSTERS, COLUMN_SUMMARY, report_damage
from splitmerge_cli.runs.store.store import RunStore

NUMBERS = {
    CLUSTER_SUMMARY: ("cluster", "size", "share", "certainty"),
    COLUMN_SUMMARY: ("cluster", "mean", "low", "high", "divergence"),
}
WORDS = {CLUSTER_SUMMARY: ("prototype", "telling"), COLUMN_SUMMARY: ("column", "level")}
"""Columns that are shown."""
NAMED = 10
"""Outliers that are named."""
CLEAR = 0.6
"""Share of the draws (half, and two Monte Carlo errors) below which the first line has the interval of its number."""
MOST_ROWS = 100_000
"""Clusters times columns up to which `COLUMN_SUMMARY` is written."""


def set_apart(rows: list[dict[str, str]], N: float) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """The clusters of N items, the largest first, and those that are listed as outliers; of outliers alone all are
    clusters. Rows of no cluster come behind the clusters."""
    apart = [row for row in rows if row.get(schema.APART)]
    clusters, of_clusters = [row for row in rows if row not in apart], N - sum(int(row["size"]) for row in apart)
    outliers = [row for row in clusters if is_outlying(int(row["size"]), of_clusters)]
    if len(outliers) == len(clusters):
        return [*clusters, *apart], []
    return [*(row for row in clusters if row not in outliers), *apart], outliers


def is_described(plan: Plan) -> bool:
    """Whether a run describes its clusters: its data come from a file or a program, or have named items, and it is no
    experiment."""
    is_users_own = identity.of_data(plan.digests) or plan.data.name == "given" or plan.dataset.names is not None
    may_be = not plan.is_experiment and plan.recorder.describes
    return bool(is_users_own) and may_be and answers_of(plan.dataset.kind).describes_clusters


def write(
    store: RunStore, dataset: Dataset, labels: ArrayLike, certainty: ArrayLike | None, summary: Mapping[str, Any]
) -> None:
    """Write ``cluster_summary.csv`` and, for a table of moderate size, ``column_summary.csv`` of a run with this
    summary."""
    clusters, columns = describe_clusters(dataset, labels, certainty, summary)
    for name, table in ((CLUSTER_SUMMARY, clusters), (COLUMN_SUMMARY, columns)):
        if table is not None:
            text = StringIO()
            rows = csv.DictWriter(text, table, lineterminator="\n")
            rows.writeheader()
            rows.writerows(as_text(table, "%.6g"))
            store.keep_text(name, text.getvalue())


def describe_clusters(
    dataset: Dataset,
    labels: ArrayLike,
    certainty: ArrayLike | None,
    summary: Mapping[str, Any],
    first: int = cluster_table.FIRST,
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Columns by name with an entry for each cluster; and for each cluster and column of a table, up to `MOST_ROWS`.
    The first cluster has the number `first`; the `summary` of the run says which rows are of no cluster."""
    known = dataset.kind.statistics(dataset, labels)
    clusters = cluster_table.describe_clusters(dataset, labels, certainty, 1, known, first)
    K, first_columns = len(clusters["cluster"]), list(schema.CLUSTER_SUMMARY[:6])
    filled = {"certainty": [np.nan] * K, "prototype": [""] * K, "telling": [""] * K} | clusters
    clusters = {name: filled[name] for name in dict.fromkeys([*first_columns, *clusters])}
    mark_apart(clusters, labels, summary, first)
    if known is None or known.divergence.size > MOST_ROWS:
        return clusters, None
    return clusters, cluster_table.describe_columns(dataset, labels, known, first)


def mark_apart(clusters: Any, labels: ArrayLike, summary: Mapping[str, Any], first: int = cluster_table.FIRST) -> None:
    """Name what rows of no cluster are, in a column of its own and in place of what their cluster differs in;
    `clusters`: columns by name, or a data frame."""
    if (is_apart := grouping.rows_apart(labels, summary)) is None:
        return
    word = summary[schema.APART]["word"]
    marked = np.isin(clusters["cluster"], cluster_table.number_clusters(np.unique(np.asarray(labels)[is_apart]), first))
    clusters[schema.APART] = np.where(marked, word, "").tolist()
    clusters["telling"] = np.where(marked, word, np.array(list(clusters["telling"]), dtype=object)).tolist()


def lines(
    run: read.Run, most_clusters: int | None = None, width: int = cluster_table.WIDTH, columns: bool = False
) -> Iterator[str]:
    """Describe the clusters of a finished run in lines of `width` letters, at most so many clusters (None: all), and
    the columns of every cluster, if they are asked for; a run without files about its clusters loads its data again.
    Raises `ConfigError` or `DataError` (the data cannot be loaded again; clusters that have no such lines; `columns` of
    data that have none, or too many)."""
    return map(terminal.one_line, _lines(run, most_clusters, width, columns))


def _lines(run: read.Run, most_clusters: int | None, width: int, columns: bool) -> Iterator[str]:
    answers = answers_of(kind_of(run))
    if why := answers.why_no_clusters(run):
        raise config.ConfigError(why)
    if (own := answers.lines(run, columns)) is not None:
        yield from own
        return
    rows, of_columns = tables(run)
    rows, outliers = set_apart(rows, grouping.total_size(run.summary))
    yield from cluster_table.cluster_lines(rows, headline(run), most_clusters, width)
    if most_clusters is not None and len(rows) > most_clusters:
        yield f"{len(rows) - most_clusters} more: smcmc summary {overrides.shell_word(str(run.path))}"
    yield from edge_lines(rows[:most_clusters])
    yield from outlier_lines(run, run.summary["point_estimate"]["labels"], outliers)
    yield from answers.further_lines(run.summary, run.first_cluster, most_clusters)
    yield from answers.far_lines(run)
    yield from joined_lines(run.summary)
    yield from interval_lines(run)
    if not columns:
        return
    if of_columns is None:
        raise config.ConfigError(
            f"--columns: {run.path}: no columns, or too many; expected a table of up to {MOST_ROWS} means"
        )
    for row in rows:
        yield ""
        yield f"cluster {row['cluster']}"
        yield from cluster_table.column_lines([r for r in of_columns if r["cluster"] == row["cluster"]], width)


def edge_lines(rows: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """Describe the edges of clusters, where a network has relations, a line for each cluster and layer."""
    edges = " ".join(row.get("edges", "") for row in rows)
    if edges.strip():
        counted = " or mean count," if cluster_table.MEAN_COUNT in edges else ""
        yield f"share of pairs with an edge,{counted} within a cluster and with the strongest other:"
    for row in rows:
        for entry in filter(None, row.get("edges", "").split("; ")):
            yield f"  {row['cluster']}: {entry}"


def outlier_lines(run: read.Run, labels: Sequence[int], outliers: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """Name the items of small clusters, at most `NAMED`; `labels` has one label for every item."""
    if not outliers:
        return
    outlying = {int(row["cluster"]) for row in outliers}
    items = [i for i, k in enumerate(labels) if cluster_table.number_clusters(k, run.first_cluster) in outlying]
    if (sizes := grouping.row_sizes(run.summary, whole=True)) is not None:
        items = [i for i in items if sizes[i] > 0]  # the first row of each unit
    numbers = ", ".join([*map(str, sorted(outlying)[:NAMED]), *["..."] * (len(outlying) > NAMED)])
    clusters = f"cluster{'s' * (len(outlying) != 1)} {numbers}"
    word = cluster_table.plural_of(grouping.kind_of_summary(run.summary).outlier)
    yield f"{word}, at most {FEW_ITEMS} together ({clusters}): {name_items(run, items)}"


def name_items(run: read.Run, items: Sequence[int]) -> str:
    """Name items of a run by their numbers from 0, `NAMED` at most."""
    # without pandas, as in `_read`
    with report_damage(run.path / CLUSTERS):
        rows = csv.DictReader(StringIO(run.content(CLUSTERS).decode(), newline=""), strict=True)
        of_items = (row for row in rows if not row.get(schema.COPY_OF))
        first = list(islice(of_items, max(items[:NAMED], default=-1) + 1))
        names = [first[i].get(schema.UNIT) or first[i].get("name") or first[i]["row"] for i in items[:NAMED]]
    listed = [cluster_table.shorten(name, cluster_table.PROTOTYPE) for name in names]
    return ", ".join(listed) + f" and {len(items) - NAMED:,} more" * (len(items) > NAMED)


def joined_lines(summary: Mapping[str, Any]) -> Iterator[str]:
    """Describe how many components were joined into the clusters of a run, or why they were not joined."""
    if (joined := summary.get(schema.JOINED_BY)) is None:
        return
    low, high = joined["components"]
    if why_not := joined["why_not"]:
        yield f"gap={joined['gap']:g} joins no clusters: {why_not}"
        return
    number = cluster_table.span(low, high)
    yield (
        f"a cluster joins components of the model ({number} of them, 95 %) between which the density falls by "
        f"less than {1 - math.exp(-joined['gap']):.0%} (gap={joined['gap']:g}); gap=0 lists the components"
    )


def interval_lines(run: read.Run) -> Iterator[str]:
    """Lines about the number of clusters of a finished run, see `describe_interval`; none if its chains have not
    converged: a range over chains that differ describes none of them."""
    if judgement.judgement_of(run).converged is False:
        return iter(())
    return describe_interval(interval_of_run(run), run.summary, grouping.nouns(run.summary)[1])


def describe_interval(interval: tuple[int, int], summary: Mapping[str, Any], unit: str = "cluster") -> Iterator[str]:
    """Describe the 95 % interval of the number of clusters. A further line reports an estimate outside of it, another a
    partition of least expected variation of information outside of it, with the reason and what the run gives instead.
    `interval`: see `splitmerge_cli.runs.answers.interval_of_run`; `summary`: ``summary.json``; `unit`: word for a
    cluster, see `splitmerge_cli.runs.grouping.nouns`."""
    chains = f"{summary['chains']} chain{'s' * (summary['chains'] != 1)}"
    low, high = interval
    number, share = grouping.listed_clusters(summary), summary.get(schema.AS_THE_ESTIMATE)
    labels = summary["point_estimate"].get("labels")
    apart, units = "", cluster_table.plural_of(unit)
    if labels and count_larger(labels, grouping.row_sizes(summary)) < summary["point_estimate"]["n_clusters"]:
        word = cluster_table.plural_of(grouping.kind_of_summary(summary).outlier)
        without = " and ".join([word, *([summary[schema.APART]["word"]] if schema.APART in summary else [])])
        apart = f" without {without}" if summary.get(schema.OUTLIERS_APART) else f" and {word}"
    if low == high:
        amount = "at least 95%" if share is None or number != low else _name_share(share)
        line = f"number of {units}{apart}: {low:,} in {amount} of the draws (second halves of {chains})"
    else:
        line = f"95 % interval of the number of {units}{apart}: {low:,} to {high:,} (second halves of {chains})"
        if share is not None:
            line += f"; {_name_share(share)} of the draws have {number:,}, as the estimate"
    yield line
    chosen, least = summary["point_estimate"], summary["least_expected_vi"]
    if not low <= number <= high:
        why = "it is the state of highest log joint density, which may differ from most draws"
        if "expected_vi" in chosen:
            few = f"too few of them have as many {units} as most draws"
            why = f"it averages {chosen['partitions']:,} partitions, and {few}"
        yield f"the estimate has {cluster_table.count_of(number, unit)}, outside this interval: {why}"
    if "expected_vi" not in chosen or least is None:
        return
    low, high = chosen.get("interval") or interval
    K = least["n_clusters"]
    why = "the draws separate different items, and joining these costs less than any one of the splits"
    why = why if low > K else "items that change clusters between draws would be separated"
    if not low <= K <= high:
        yield (
            f"the partition of least expected variation of information has {cluster_table.count_of(K, unit)}: {why}"
            + "; the estimate is the best within the interval" * (low <= chosen["n_clusters"] <= high)
        )


def _name_share(share: float) -> str:
    """A share of the draws in words: no number stands for all of them, or none, but that itself."""
    shown = f"{share:.0%}"
    return {"0%": "fewer than 1%", "100%": "more than 99%"}.get(shown, shown) if 0 < share < 1 else f"{share:.0%}"


def unfinished_lines(run: read.Run, diagnosis: Sequence[Row]) -> Iterator[str]:
    """Describe an unfinished run and its diagnosis so far; whether its chains have converged is unknown."""
    yield f"not finished: {run.missing}"
    judged = convergence(diagnosis)
    if judged.not_sampled:
        yield judged.description
    elif judged.quantity is not None:
        yield f"largest so far: {judged.description}"


def score_line(run: read.Run) -> str | None:
    """Describe the agreement between the clusters of a finished run and the true ones; None if the truth is unknown."""
    summary = run.summary
    chosen = summary["point_estimate"]
    name, written = "last", " of the last state"  # of long documents, of which no other is listed
    if "expected_vi" in chosen:
        name, written = "point", ""
    elif "labels" in chosen:
        name, written = "best", " of the best state"
    values = [(*key.partition("/")[::2], value) for key, value in summary["diagnostics"].items() if value is not None]
    scores = [f"{score} {value:.3f}" for score, estimate, value in values if estimate == name]
    known = summary["diagnostics"].get("true_labels")
    some = "" if known is None else f" ({cluster_table.count_of(round(known), grouping.nouns(summary)[0])})"
    truth = "the truth" if run.config["data"].get("truth") is None else "data.truth"
    return f"agreement{written} with {truth}{some}: {', '.join(scores)}" if scores else None


def tables(run: read.Run) -> tuple[list[dict[str, str]], list[dict[str, str]] | None]:
    """Read the rows of ``cluster_summary.csv`` and ``column_summary.csv`` as text; None if there are no columns.

    A run without these files loads its data again.
    """
    if run.has_cluster_summary:
        return _read(run, CLUSTER_SUMMARY), _read(run, COLUMN_SUMMARY) if COLUMN_SUMMARY in run.manifest.names else None
    certainty, labels = run.clusters()["certainty"], run.summary["point_estimate"]["labels"]
    sure = None if certainty.isna().any() else certainty
    clusters, columns = describe_clusters(initial.dataset_of(run), labels, sure, run.summary, run.first_cluster)
    return as_text(clusters), None if columns is None else as_text(columns)


def _read(run: read.Run, name: str) -> list[dict[str, str]]:
    # without pandas: loading it takes longer than printing all lines about a finished run
    content = run.content(name)
    with report_damage(run.path / name):
        text = content.decode()
        rows = list(csv.DictReader(StringIO(text, newline=""), strict=True))
        numbers = NUMBERS[name]
        for row in rows:
            # a cell too many stands under None, one too few is None
            if None in row or None in row.values() or not {*numbers, *WORDS[name]} <= row.keys():
                raise ValueError("other columns")
            for column in (*numbers, "density", "density_outside"):
                float(row.get(column) or 0)
            int(row.get("size", 0))
        return rows


def as_text(table: Mapping[str, Any], of_numbers: str = "") -> list[dict[str, str]]:
    """Convert columns to rows of text by column name; a missing value is empty, and real numbers have the format
    `of_numbers`, if it is given."""

    def text(value: Any) -> str:
        if value is None or value != value:
            return ""
        return of_numbers % value if of_numbers and isinstance(value, float) else str(value)

    columns = [[text(value) for value in getattr(column, "tolist", lambda c=column: c)()] for column in table.values()]
    return [dict(zip(table, row, strict=True)) for row in zip(*columns, strict=True)]


def count(labels: ArrayLike, summary: Mapping[str, Any]) -> str:
    """Format the numbers of clusters and outliers of a partition, and of what: items, or units or weights of rows."""
    return f"{grouping.count_listed(labels, summary)} of {grouping.describe_rows(summary)}"


def headline(run: read.Run) -> str:
    """Format the numbers of clusters and outliers of a finished run, and whether they represent all chains."""
    summary, chosen = run.summary, run.summary["point_estimate"]
    readings, judged = grouping.describe_readings(summary), judgement.judgement_of(run)
    if "labels" in chosen:
        counted = count(chosen["labels"], summary) + readings
    else:
        number = cluster_table.count_of(chosen["n_clusters"], "cluster")
        counted = f"{number} of {grouping.describe_rows(summary)}{readings}"
    if judged.converged is False:
        return f"{counted}, of the best state: the chains have not converged ({judged.description})"
    if judged.converged is None:
        if run.config["chains"] == 1:
            return f"{counted}; one chain cannot show whether it has converged"
        return f"{counted}; cannot tell whether the chains have converged: {judged.note}"
    if "expected_vi" not in summary["point_estimate"]:
        return f"{counted}, of the best state"
    if not readings and summary.get(schema.AS_THE_ESTIMATE, 1.0) < CLEAR:
        counted += f" ({cluster_table.span(*summary[schema.INTERVAL])}, 95 %)"
    if grouping.is_undivided(summary):
        counted = f"no clear groups: {counted}"
    return f"{counted}, the point estimate of all chains"
