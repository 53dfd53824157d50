"""Answers about entities, of which the items of a run are records: their merged records, pairs of records with
probabilities, pairs for a person to label; tables, and lines of text.

The tables of a finished run are ``entities.csv``, ``pairs.csv``, ``thresholds.csv`` and ``review.csv``. The last is to
be filled in, so it is not sealed: its column `same` is 1 for two records of one entity, 0 for records of two, and the
file is then ``data.labels`` of the next run. ``review.html`` is a page on which a person labels the same pairs.
"""

import csv
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.analysis.pages import html
from splitmerge_cli.config import Component, ConfigError
from splitmerge_cli.data.bundles import SAME
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.diagnostics import agreement, mixing, partition_losses, point_estimate, small_clusters
from splitmerge_cli.diagnostics.cluster_table import FIRST, count_of, number_clusters, shorten, span
from splitmerge_cli.diagnostics.summary import measure
from splitmerge_cli.extras import pandas as pd
from splitmerge_cli.kinds.records import labelling, near_pairs, weights
from splitmerge_cli.runs import answers, initial, judgement
from splitmerge_cli.runs.store.files import write_text
from splitmerge_cli.runs.store.read import Run

if TYPE_CHECKING:
    from splitmerge_cli.diagnostics.summary import Row
    from splitmerge_cli.runs.plan import Plan
    from splitmerge_cli.runs.recorders import Late
    from splitmerge_cli.runs.store.store import RunStore

LEAST = 0.05
"""Probability from which on a pair is listed; a pair between this and 1 less this is uncertain."""
ENTITIES = "entities.csv"
PAIRS = "pairs.csv"
THRESHOLDS = "thresholds.csv"
REVIEW, LABELLING = "review.csv", "review.html"
"""Pairs of records for a person to label: not in the manifest, since it is to be filled in."""
MOST_REVIEWED = 100
"""Pairs of `REVIEW` that are not labelled yet, at most."""
SHOWN = 10
"""Pairs to label that a run prints."""
WIDE = 64
"""Letters of a record in a line, at most."""
APART = 0.5
"""Difference between chains in the probability of a pair that is worth a line."""
ONE = "share of pairs that differ in one field"
COPIES = "beta(1,1)"
"""`model.original` where copies of records are looked for: any share of the entities has them."""
SEVERAL = "share of pairs that differ in several fields"
BOTH = "pairs that agree in both, over as many by chance"
BINS = 10
"""Bins of probabilities in which pairs are compared with the truth."""


class Entities(answers.Answers):
    """The answers of kinds whose items are records of entities (`splitmerge_cli.data.dataset.Kind.answers`)."""

    describes_clusters = False
    # most entities have a few records, however many records there are; and whether one of two records is the original
    # makes little difference to them, so that this share mixes slowly and is not part of any answer
    unjudged, within = ("largest", "original"), ""

    @staticmethod
    def estimate(
        partitions: NDArray[np.int32], dataset: Dataset, loss: str = "vi", interval: tuple[int, int] | None = None
    ) -> point_estimate.Estimate:
        """The estimate by components, of any number of entities."""
        return small_clusters.estimate_by_components(partitions, loss, dataset.items)

    @staticmethod
    def central(partitions: NDArray[np.int32], apart: Any) -> point_estimate.Estimate:
        return small_clusters.minimise_by_components(partitions)

    @staticmethod
    def write(
        plan: "Plan", store: "RunStore", labels: ArrayLike, late: Mapping[int, "Late"], certainty: ArrayLike | None
    ) -> dict[str, Any]:
        """Write `ENTITIES`, `PAIRS` and `REVIEW`; the entry ``entities`` of the summary describes them."""
        dataset, labels = plan.dataset, np.asarray(labels, dtype=np.int32)
        store.keep_text(ENTITIES, _as_csv(_merge(plan, labels, late, certainty)))
        sizes = np.bincount(np.bincount(labels))
        entry: dict[str, Any] = {"sizes": [[int(n), int(sizes[n])] for n in np.flatnonzero(sizes)]}
        entry["equal_apart"] = count_equal_apart(dataset, labels)
        if dataset.truth is not None:
            known = dataset.truth >= 0
            entry["agreement"] = agreement.pair_scores(dataset.truth[known], labels[known])
        if not late:
            return {"entities": entry | {"why_no_pairs": weights.NONE_RECORDED}}
        draws = {c: rows.labels for c, rows in late.items()}
        try:
            pairs = small_clusters.find_linked_pairs(draws)
        except point_estimate.TooManyClusters as error:
            return {"entities": entry | {"why_no_pairs": str(error)}}
        store.keep_text(PAIRS, _as_csv(list_pairs(dataset, pairs, labels)))
        store.keep_text(THRESHOLDS, _as_csv(weights.list_thresholds(pairs, dataset.truth)))
        labelled = _read_review(plan.data.values.get("must_link"), dataset.N)
        review = list_review(dataset, pairs, labelled=labelled, draws=draws)
        write_text(plan.path / REVIEW, _as_csv(review))
        if len(review):
            write_text(plan.path / LABELLING, labelling.page_of_pairs(review, f"Pairs of records: {dataset.name}"))
        entry |= _describe_pairs(dataset, pairs) | {"to_review": int((review[SAME] == "").sum())}
        if not entry["pairs"] and dataset.values.shape[1] > 1:
            model: Any = initial.build_model(plan.model, replace(dataset, bundles=None))
            entry["none_near"] = near_pairs.most_alike(dataset.values, model.data, model.near_pairs.pairs) < 2
        return {"entities": entry}

    @staticmethod
    def thin_draws(partitions: NDArray[np.int32]) -> NDArray[np.int32]:
        return partitions

    @staticmethod
    def more_moves(moves: int) -> None:
        """An iteration is a pass over the near pairs already."""

    @staticmethod
    def explain_unlike(quantities: Collection[str]) -> Iterator[str]:
        if {ONE, SEVERAL} & set(quantities):
            yield "the probabilities of pairs and the interval suppose that errors do not depend on each other"
        if BOTH in quantities:
            yield "a field that follows from another counts twice: data.drop leaves it out"

    @staticmethod
    def another_model(
        unlike: Sequence[Mapping[str, Any]],
        summary: Mapping[str, Any],
        model: Mapping[str, Any],
        data: Mapping[str, Any],
        named: Collection[str],
    ) -> tuple[str, dict[str, Any]] | None:
        """Originals, where more records of one entity differ in one field alone than independent errors make."""
        alone = any(one["quantity"] == ONE and one["observed"] > one["high"] for one in unlike)
        if not alone or model["original"] != 0.0:
            return None
        return "some records may be copies of others, with one error or none:", {"model.original": COPIES}

    @staticmethod
    def so_far(plan: "Plan", run: Run, late: Callable[[], Mapping[int, "Late"]]) -> Iterator[str]:
        dataset, labels, draws = plan.dataset, partition_losses.by_size(run.best_state()), late()
        yield f"{labels.max() + 1:,} entities of {len(labels):,} records, the best state so far"
        write_text(plan.path / ENTITIES, _as_csv(_merge(plan, labels, draws, None)))
        yield f"{ENTITIES}: the merged record of each entity so far"
        with suppress(point_estimate.TooManyClusters):
            if draws:
                pairs = small_clusters.find_linked_pairs({c: rows.labels for c, rows in draws.items()})
                write_text(plan.path / PAIRS, _as_csv(list_pairs(dataset, pairs, labels)))
                yield f"{PAIRS}: pairs of probability {LEAST:g} or more, from {pairs.draws.sum():,} draws so far"

    @staticmethod
    def judge(partitions: Mapping[int, NDArray[np.int32]]) -> list["Row"]:
        """Rows of a diagnosis that judge the number of pairs of records in one entity, by the partitions ``[M, N]`` of
        the second half of each chain; none of too few."""
        draws = min(map(len, partitions.values()), default=0)
        if draws < mixing.MIN_DRAWS:
            return []
        last = [rows[len(rows) - draws :] for rows in partitions.values()]
        series = np.array([[small_clusters.count_pairs(row) for row in rows] for rows in last])
        return [*measure("pairs", series)[1], ("mean/pairs", None, float(series.mean()), None)]

    @staticmethod
    def headline(run: Run) -> str:
        return _describe_count(run)

    @staticmethod
    def next_keys(run: Run, data: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
        if (keys := keys_of_review(run, data)) is None:
            return None
        page = f"open {run.path / LABELLING}, which saves {labelling.SAVED}, or fill the column {SAME}"
        return f"to label the pairs, {page} of {run.path / REVIEW} (1: one entity, 0: two), then:", keys

    @staticmethod
    def comparable(run: Run) -> Run:
        """The run: its pairs are weighed where there is another one."""
        return run

    @staticmethod
    def compare(found: Sequence[Run]) -> Any:
        return weights.compare_runs(found)

    @staticmethod
    def section(run: Run) -> html.Markup | None:
        """Lines of the terminal, and the table by threshold; None without one."""
        if not (rows := _read_thresholds(run)):
            return None
        shown = [line for line in islice(Entities.lines(run), 1, None) if line[:1] != " " and line[-1:] != ":"]
        # the name of a file stays as it is
        sentences = [line if line.partition(":")[0].endswith(".csv") else line[:1].upper() + line[1:] for line in shown]
        heads = ["least probability", *(name.replace("_", " ") for name in list(rows[0])[1:])]
        cells = [[row["probability"], *(_round(*cell) for cell in list(row.items())[1:])] for row in rows]
        expected = "Precision, recall and F1 are what the posterior expects if these pairs are taken for matches."
        known = " True: compared with the true entities." if len(heads) > 5 else ""
        listed = html.table(
            heads, cells, f"Pairs of at least so much probability. {expected}{known}", range(len(heads))
        )
        return html.join([*(html.paragraph(f"{line}.") for line in sentences), listed])

    @staticmethod
    def lines(run: Run, columns: bool = False) -> Iterator[str]:
        """Describe the entities of a finished run, its pairs and its files."""
        if columns:
            raise ConfigError(f"--columns: {run.path}: entities; {ENTITIES} has the merged record of each")
        summary = run.summary
        entry, chosen = summary["entities"], summary["point_estimate"]
        yield _describe_count(run, f", 95 % interval {span(*answers.interval_of_run(run))}")
        fewest, most = answers.interval_of_run(run)
        if not fewest <= chosen["n_clusters"] <= most and judgement.judgement_of(run).converged is not False:
            yield (
                "the interval is the answer to how many entities there are; the estimate lies outside, as it joins "
                "every pair that is about as likely as not"
            )
        yield f"records of an entity: {_describe_sizes(entry['sizes'])}"
        if scores := entry.get("agreement"):
            shown = f"precision {scores['precision']:.4f}, recall {scores['recall']:.4f}, F1 {scores['f1']:.4f}"
            yield f"pairs of records in one entity, compared with the truth: {shown}"
        if equal := entry.get("equal_apart"):
            yield (
                f"{equal:,} records equal a record of another entity in every column: more columns would tell whether "
                "they are one"
            )
        yield f"{ENTITIES}: the merged record of each entity; clusters.csv: the entity of each record"
        if why := entry.get("why_no_pairs"):
            yield f"no probabilities of pairs: {why}"
            return
        low, high = LEAST, 1 - LEAST
        yield (
            f"{PAIRS}: {count_of(entry['pairs'], 'pair')} of probability {low:g} or more, from "
            f"{entry['draws']:,} draws; "
            f"{entry['uncertain']:,} {'is' if entry['uncertain'] == 1 else 'are'} uncertain ({low:g} to {high:g})"
        )
        if entry.get("none_near"):
            yield (
                "no near pair of records agrees in more than one column, exactly or but for typing errors: words in "
                "another order, or shortened, are other words; write what is the same in one form, or add columns"
            )
        if rows := _read_thresholds(run):
            half = next(row for row in rows if float(row["probability"]) == APART)
            expected = [f"{key} {float(half[key]):.3f}" for key in ("precision", "recall") if half[key]]
            counted = f"{count_of(int(half['pairs']), 'pair')} of probability {APART:g} or more"
            shown = f"; expected of the {counted}: {' and '.join(expected)}" if expected and int(half["pairs"]) else ""
            yield f"{THRESHOLDS}: precision and recall by least probability{shown}"
        if entry["apart"]:
            yield (
                f"chains differ by more than {APART:g} in the probability of "
                f"{count_of(entry['apart'], 'pair')}: at most {entry['spread']:.2f}"
            )
        path = run.path / REVIEW
        if not entry["to_review"] or not path.is_file():
            return
        first = f", the first {SHOWN}" * (entry["to_review"] > SHOWN)
        yield f"{count_of(entry['to_review'], 'pair')} to label in {LABELLING} or {REVIEW}{first}:"
        # both records of a pair on lines of their own
        for row, one, other in read_review_rows(path, SHOWN)[1]:
            texts, wide = align_records([one, other], WIDE), max(len(row["row"]), len(row["other"]))
            yield f"  {float(row['probability']):.2f}  {row['row']:>{wide}}: {texts[0]}"
            yield f"        {row['other']:>{wide}}: {texts[1]}"


def _read_thresholds(run: Run) -> list[dict[str, str]]:
    """The rows of `THRESHOLDS`; none of a run that was made before there were any, or has no pairs."""
    return read_rows(run, THRESHOLDS) if THRESHOLDS in run.manifest.names else []


def read_rows(run: Run, file: str) -> list[dict[str, str]]:
    """Rows of a finished run's file."""
    return list(csv.DictReader(StringIO(run.content(file).decode(), newline="")))


def _round(name: str, cell: str) -> str:
    """A number of pairs, or a share of three digits; a dash for a missing one.

    >>> _round("pairs", "1200"), _round("recall", "1"), _round("precision", "")
    ('1,200', '1.000', '–')
    """
    return f"{int(cell):,}" if name == "pairs" else f"{float(cell):.3f}" if cell else "–"


def _merge(
    plan: "Plan", labels: NDArray[np.int32], late: Mapping[int, "Late"], certainty: ArrayLike | None
) -> "pd.DataFrame":
    """The table of entities, with the means of the parameters over the draws."""
    parameters = [rows.parameters for rows in late.values() if rows.parameters is not None]
    mean = np.concatenate(parameters).mean(axis=0) if parameters else None
    return list_entities(plan.model, plan.dataset, labels, mean, certainty)


def count_equal_apart(dataset: Dataset, labels: NDArray[np.int32]) -> int:
    """Records without a missing cell that equal a record of another entity in every field.

    Equal records of one file are two entities, so they do not count if each other entity has one of them.
    """
    full = np.flatnonzero((dataset.values >= 0).all(axis=1))
    if len(full) == 0:
        return 0
    row = np.unique(dataset.values[full], axis=0, return_inverse=True)[1].ravel()
    entities = np.bincount(np.unique(np.column_stack((row, labels[full])), axis=0)[:, 0])
    least = np.ones(len(entities), dtype=np.int64)
    if dataset.sources is not None:
        of_file, counts = np.unique(np.column_stack((row, dataset.sources[full])), axis=0, return_counts=True)
        np.maximum.at(least, of_file[:, 0], counts)
    return int(np.bincount(row)[entities > least].sum())


def keys_of_review(run: Run, data: Mapping[str, Any]) -> dict[str, Any] | None:
    """The keys with which the next run reads the labelled pairs of a finished run with these options of `data`; None if
    it has none to label, its data take none, or links come from other files."""
    path, links = Path(run.path) / REVIEW, ("must_link", "cannot_link")
    entry, N = run.summary.get("entities") or {}, run.summary.get("N", 0)
    if not entry.get("to_review") or not {*links} <= data.keys() or not path.is_file() or data.get("weights"):
        return None
    former = {data[key] for key in links} - {None}
    if former and (len(former) > 1 or _read_review(former.pop(), N) is None):
        return None
    return {f"data.{key}": str(path) for key in (links if former else ("labels",))}


def _describe_count(run: Run, interval: str = "") -> str:
    """How many entities there are, with the interval if the chains agree."""
    count = f"{count_of(run.summary['point_estimate']['n_clusters'], 'entity')} of {run.summary['N']:,} records"
    is_apart = judgement.judgement_of(run).converged is False
    return count + (", of the best state: the chains have not converged" if is_apart else interval)


def _describe_sizes(sizes: Sequence[Sequence[int]]) -> str:
    """How many entities have so many records.

    >>> _describe_sizes([[1, 8000], [2, 100], [5, 1], [9, 1]])
    '1 in 8,000 entities, 2 in 100, 5 or more in 2'
    >>> _describe_sizes([[1, 1], [2, 13]])
    '1 in 1 entity, 2 in 13'
    """
    few = [[n, count] for n, count in sizes if n < 5]
    parts = [f"{n} in {count:,}" for n, count in few]
    if more := sum(count for n, count in sizes if n >= 5):
        parts.append(f"5 or more in {more:,}")
    first, *others = parts
    return ", ".join([f"{first} {'entity' if first.endswith(' 1') else 'entities'}", *others])


def _describe_pairs(dataset: Dataset, pairs: small_clusters.LinkedPairs) -> dict[str, Any]:
    """Numbers of pairs for the summary; with the truth, by bins of probability: pairs, their mean probability, and the
    share that are of one entity."""
    p = pairs.probability
    entry: dict[str, Any] = {
        "draws": int(pairs.draws.sum()),
        "pairs": int((p >= LEAST).sum()),
        "uncertain": int(((p >= LEAST) & (p <= 1 - LEAST)).sum()),
        "apart": int((pairs.spread > APART).sum()),
        "spread": float(pairs.spread.max(initial=0.0)),
    }
    if dataset.truth is not None:
        both = dataset.truth[pairs.ends]
        known = (both >= 0).all(axis=1)
        place = np.minimum((p[known] * BINS).astype(int), BINS - 1)
        counts = np.bincount(place, minlength=BINS)
        sums = [np.bincount(place, weights, BINS) for weights in (p[known], (both[:, 0] == both[:, 1])[known])]
        entry["calibration"] = [
            [int(n), *(float(each[b] / n) for each in sums)] for b, n in enumerate(counts.tolist()) if n
        ]
    return entry


def _read_review(path: Any, N: int) -> Any:
    """Reviewed pairs in a file, as `splitmerge_cli.data.tables.bundled.read_review` returns them."""
    from splitmerge_cli.data.tables.bundled import read_review  # a run without records needs no tables

    return read_review(path, N)


_BETWEEN = " | "


def align_records(records: Sequence[Sequence[str]], width: int) -> list[str]:
    """A line for each record in which fields stand below each other; the longest cells are shortened, and an empty
    cell is a dash.

    >>> for line in align_records([["a long title of a paper", "Smith", ""], ["a long title", "", "1998"]], 26):
    ...     print(line)
    a long …per | Smith | –
    a long …tle | –     | 1998
    """
    cells = [[cell or "–" for cell in record] for record in records]
    longest = [max(map(len, field)) for field in zip(*cells, strict=True)]
    room = width - len(_BETWEEN) * (len(longest) - 1)
    most = next((n for n in range(width, 2, -1) if sum(min(n, each) for each in longest) <= room), 2)
    widths = [min(most, each) for each in longest]
    lines = [
        _BETWEEN.join(shorten(cell, n).ljust(n) for cell, n in zip(record, widths, strict=True)) for record in cells
    ]
    return [shorten(line.rstrip(), width) for line in lines]


def read_review_rows(path: Path, most: int) -> tuple[list[str], list[tuple[dict[str, str], list[str], list[str]]]]:
    """The names of the fields; and `most` pairs that are not labelled yet, each with the fields of both records."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row.get(SAME) == ""][:most]
    fields = [name for name in (rows or [dict[str, str]()])[0] if f"{name}{_OTHER}" in rows[0]]
    return fields, [(row, [row[name] for name in fields], [row[name + _OTHER] for name in fields]) for row in rows]


_OTHER = " (other)"
"""Behind the name of a field: of the second record."""


def texts_of(dataset: Dataset, values: NDArray[np.int32]) -> dict[str, NDArray[np.object_]]:
    """The words of codes ``[n, F]`` by field; an empty text where -1."""
    return {
        name: np.array([*column.levels, ""], dtype=object)[values[:, f]]
        for f, (name, column) in enumerate(zip(dataset.column_names, dataset.types or (), strict=True))
    }


def list_entities(
    model: Component,
    dataset: Dataset,
    labels: NDArray[np.int32],
    parameters: NDArray[np.float64] | None,
    certainty: ArrayLike | None,
    first: int = FIRST,
) -> "pd.DataFrame":
    """A row for each entity: its number, from `first` on, number of records, mean `certainty` of these, and its merged
    record: the most probable true value of each field, empty if all are missing. `labels`: int32 ``[N]``, from 0;
    `parameters`: posterior means of the model's, if it has some; `certainty`: float ``[N]``."""
    built = initial.build_model(model, replace(dataset, bundles=None))
    built.set_labels(labels)
    if parameters is not None:
        built.set_parameters(parameters[:, None])
    K = int(labels.max()) + 1
    records = np.bincount(labels)
    sure = np.full(K, np.nan) if certainty is None else np.bincount(labels, np.asarray(certainty)) / records
    columns = {"entity": number_clusters(np.arange(K), first), "records": records, "certainty": sure.round(6)}
    fields = texts_of(dataset, built.true_values()[0])  # type: ignore[attr-defined]
    return weights.frame_of([*columns.items(), *fields.items()])


def list_pairs(
    dataset: Dataset,
    pairs: small_clusters.LinkedPairs,
    labels: NDArray[np.int32],
    least: float = LEAST,
    first: int = FIRST,
) -> "pd.DataFrame":
    """A row for each pair of records that are of one entity with a probability of at least `least`, the most probable
    first: row, other (numbers of records, the first being `first`), name, other_name (where records have names),
    probability, standard_error (Monte Carlo, from the spread of the chains; missing with one chain), and together (1:
    in one entity of `labels`)."""
    chosen = np.flatnonzero(pairs.probability >= least)
    chosen = chosen[np.argsort(-pairs.probability[chosen], kind="stable")]
    i, j = pairs.ends[chosen].T
    named = {}
    if dataset.names is not None:
        names = np.array(dataset.names, dtype=object)
        named = {"name": names[i], "other_name": names[j]}
    columns: dict[str, Any] = {"row": i + first, "other": j + first, **named}
    columns |= {"probability": pairs.probability[chosen], "standard_error": pairs.standard_error[chosen].round(6)}
    return weights.frame_of([*columns.items(), ("together", (labels[i] == labels[j]).astype(int))])


def list_review(
    dataset: Dataset,
    pairs: small_clusters.LinkedPairs,
    most: int = MOST_REVIEWED,
    first: int = FIRST,
    labelled: tuple[NDArray[np.int64], NDArray[np.bool_]] | None = None,
    draws: Mapping[int, NDArray[np.int32]] | None = None,
) -> "pd.DataFrame":
    """A row for each pair of records that a person should label: at most `most`, those first that change the answer
    most, after the pairs that are `labelled` (rows from 0, and whether each is of one entity). Columns row, other,
    same (empty, or 1 or 0), probability (missing of labelled ones), and the fields of both records side by side: NAME
    and NAME (other).

    Records that certain pairs join are one group, and of the pairs between two groups one is enough. `draws`:
    partitions ``[M, N]`` by chain, which show how much the other uncertain pairs depend on one; without them the pairs
    nearest to probability 0.5 come first.
    """
    p = pairs.probability
    # nobody can tell whose an empty record is
    told = (dataset.values >= 0).any(axis=1)[pairs.ends].all(axis=1)
    doubt = np.flatnonzero((p >= LEAST) & (p <= 1 - LEAST) & told)
    gain = p * (1 - p) if draws is None else weights.reduce_variance(pairs, draws, doubt)
    doubt = doubt[np.argsort(-(gain[doubt] if draws is None else gain).round(9), kind="stable")]
    sure = pairs.ends[p > 1 - LEAST]
    group = partition_losses.find_components(sure[:, 0], sure[:, 1], dataset.N)
    groups = np.sort(group[pairs.ends[doubt]], axis=1)
    doubt = doubt[np.sort(np.unique(groups, axis=0, return_index=True)[1])][:most]
    ends, same, shown = pairs.ends[doubt], [""] * len(doubt), p[doubt]
    if labelled is not None:
        ends = np.concatenate([labelled[0], ends])
        same = [*(str(int(one)) for one in labelled[1]), *same]
        shown = np.concatenate([np.full(len(labelled[1]), np.nan), shown])
    i, j = ends.T
    both = [texts_of(dataset, dataset.values[rows]) for rows in (i, j)]
    columns: dict[str, Any] = {"row": i + first, "other": j + first, SAME: same, "probability": shown}
    for name in both[0]:
        columns |= {name: both[0][name], f"{name}{_OTHER}": both[1][name]}
    return weights.frame_of(list(columns.items()))


def _as_csv(table: "pd.DataFrame") -> str:
    return str(table.to_csv(index=False, lineterminator="\n", float_format="%.6g"))
