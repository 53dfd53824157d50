"""Rows of a table that are bundled (`splitmerge_cli.data.bundles`): by a column of weights, units or known classes, or
by links: pairs of rows that belong together or apart, in a file or as a program has them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.bundles import COUNTS, ITEMS, ROWS, SAME, Bundles
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.opening import Limit, require_file
from splitmerge_cli.data.tables.cells import cells_of
from splitmerge_cli.data.tables.columns import Wanted, codes, is_number, labels_in
from splitmerge_cli.data.tables.separators import read_list
from splitmerge_cli.data.tables.table import MISSING, WRITTEN, Table, quote
from splitmerge_cli.data.tables.text import PLAIN, Text
from splitmerge_cli.data.values import notes_entry, number_by_appearance, numbered_labels, require
from splitmerge_cli.overrides import shell_word, write
from splitmerge_cli.received import DataError

A_WEIGHT = "a number from 0 on (data.weights)"
COPIES = 2.0
"""Power of a row's likelihood above which the row is like copies, so that a cluster may hold little else."""
A_UNIT = "the name of a unit (data.group)"
A_CLASS = "a known class"
NONE = "none"
MOST = 1_000_000
"""Counts to which fractional weights are rounded, in all; of more rows ten each."""
FINE = 1000
"""Counts of a fractional weight of average size."""
LEAST_SIZE, MOST_SIZE = 1e-100, 1e100
"""The largest weight is between these, so that sums of weights are finite."""
LEAST_UNIT = 1e-6
"""Least power of a row's likelihood."""
LARGEST = 100_000_000
"""Largest sum of whole weights: models hold each row as often as it counts."""
DECIMALS = 6
"""Decimals of fractional weights that are looked for, so that they need no rounding."""


class Column(NamedTuple):
    """A column of a table that is no data: its name, if it has one, what messages call it, its cells, as float64 or,
    with `words`, as codes of these (-1: none), and the error for a cell."""

    name: str | None
    title: str
    cells: NDArray[Any]
    fail: Callable[[int, str], DataError]
    words: list[str]


@dataclass(frozen=True)
class BundleOptions:
    """Keys of bundles that are no columns: `must_link` and `cannot_link` are files, or pairs of rows; see
    `splitmerge_cli.data.tables.files.csv`."""

    must_link: Any = None
    cannot_link: Any = None
    weights_scale: str | None = None
    apart: bool = True
    prior_counts: str | None = None

    def check(self, columns: Sequence[str]) -> None:
        """Reject a value that is none, or that goes without the key that it belongs to; `columns`: the keys of given
        columns."""
        scale = self.weights_scale
        require(scale in (None, ROWS, NONE), "data.weights_scale", scale, f"{ROWS}, {NONE} or null")
        require(scale is None or "weights" in columns, "data.weights_scale", scale, "null without data.weights")
        require(isinstance(self.apart, bool), "data.apart", self.apart, "true or false")
        require(self.apart or "labels" in columns, "data.apart", "false", "true without data.labels")
        counts, linked = self.prior_counts, self.must_link is not None or self.cannot_link is not None
        require(counts in (None, *COUNTS), "data.prior_counts", counts, f"{', '.join(COUNTS)} or null")
        keys = "data.weights, data.group, data.labels and links"
        require(counts is None or linked or bool(columns), "data.prior_counts", counts, f"null without {keys}")


def columns_in(table: Table, wanted: Wanted) -> dict[str, Column]:
    """The columns of weights, units and known classes, by their keys."""
    columns: dict[str, Column] = {}
    for key, j in wanted.find_roles(table).items():
        words, also = list[str](), wanted.missing
        if key == "weights":
            cells = cells_of(table, j, also)
            good = ~cells.missing if cells.is_number is None else cells.is_number & ~cells.missing
            if cells.numbers is None and good.all():
                raise DataError(f"{table.path}: {table.column(j)} holds {cells.other}; expected numbers (data.weights)")
            if not good.all():
                raise table.error(int(np.argmin(good)), j, A_WEIGHT)
            assert cells.numbers is not None
            values: NDArray[Any] = cells.numbers
        elif key == "group":
            absent = {*MISSING, *(str(word).lower() for word in (*WRITTEN, *also))}
            values, words = _without_spaces(*codes(table, j, A_UNIT, absent))
        elif key == "labels":
            plural = "known classes (data.labels)"
            values, words = _without_spaces(*labels_in(table, j, A_CLASS, plural, [*WRITTEN, *also]))
        else:
            continue

        def fail(i: int, expected: str, j: int = j) -> DataError:
            return table.error(i, j, expected)

        name = table.names[j] if table.names else None
        columns[key] = Column(name, f"{table.path}: {table.column(j)}", values, fail, words)
    return columns


def _without_spaces(coded: NDArray[np.int32], words: list[str]) -> tuple[NDArray[np.int32], list[str]]:
    """Codes of words without spaces around them; -1 stays."""
    place: dict[str, int] = {}
    number = [place.setdefault(word.strip(), len(place)) for word in words]
    return np.array([*number, -1], dtype=np.int32)[coded], list(place)


def columns_of(N: int, data: str, given: dict[str, Any]) -> dict[str, Column]:
    """Arrays of a program as `columns_in` has the columns of a table; `data` is the name of the data."""
    columns: dict[str, Column] = {}
    for key, values in given.items():
        if (shape := np.shape(values)) != (N,):
            shown = f"{shape[0]} values" if len(shape) == 1 else f"an array of shape {shape}"
            raise DataError(f"data.{key}: {shown}; expected one for each of {N} rows")

        def fail(i: int, expected: str, values: Any = values) -> DataError:
            return DataError(f"{data}: row {i + 1}: {np.asarray(values)[i]}; expected {expected}")

        of_frame = getattr(values, "name", None)  # a column of a data frame has one
        name = None if of_frame is None else str(of_frame)
        if key == "weights":
            try:
                columns[key] = Column(name, f"{data}: weights", np.asarray(values, dtype=np.float64), fail, [])
            except (TypeError, ValueError) as error:
                raise DataError(f"data.weights: {error}; expected numbers") from error
            continue
        coded = numbered_labels(values)
        first = np.unique(coded, return_index=True)[1]
        words = [str(np.asarray(values)[i]) for i in first if coded[i] >= 0]
        if key == "group" and (coded < 0).any():
            raise fail(int(np.argmin(coded)), A_UNIT)
        if (coded < 0).all():
            raise DataError(f"data.{key}: {data}: no row has one; expected {A_CLASS} of one row at least")
        columns[key] = Column(name, f"{data}: {key}", coded, fail, words)
    return columns


REVIEWED = ["row", "other", SAME]
"""Columns that a file of reviewed pairs has at least; `SAME` is 1, 0 or empty."""


class Links(NamedTuple):
    """Pairs of rows, int64 ``[pairs, 2]`` from 0, what messages call them, where each stands, and notes."""

    title: str
    pairs: NDArray[np.int64]
    place: Callable[[int], str]
    notes: Sequence[str] = ()


def read_links(key: str, link: Any, dataset: Dataset, units: Mapping[str, int]) -> Links | None:
    """The pairs of rows that an option says: in a file of two columns, or an array; None without any. A file has names
    of rows, names of `units` (which stand for their first row), or numbers of rows from 1; an array has names, or
    positions from 0. If a file has reviewed pairs (columns `REVIEWED`), ``must_link`` reads the rows with 1 in the
    column `SAME`, ``cannot_link`` the rows with 0."""
    if link is None:
        return None
    rows: dict[str, int] = dict(units)
    twice = set[str]()
    for i, name in enumerate(dataset.names or ()):
        if rows.setdefault(name, i) != i:
            twice.add(name)
    if isinstance(link, str | Path):
        return _read_link_file(link, key, dataset.N, rows, twice)
    pairs = np.asarray(link)
    shape = pairs.ndim == 2 and pairs.shape[1] == 2
    require(shape, key, f"an array of shape {pairs.shape}", "a file, or pairs of rows [pairs, 2]")
    if pairs.dtype.kind not in "iu":
        for k, pair in enumerate(pairs.tolist()):
            for cell in pair:
                if str(cell) not in rows or str(cell) in twice:
                    raise DataError(f"{key}: pair {k}: {cell!r}; expected {_expect(dataset.N, rows, 0)}")
        pairs = np.array([[rows[str(cell)] for cell in pair] for pair in pairs.tolist()]).reshape(-1, 2)
    bad = ((pairs < 0) | (pairs >= dataset.N)).any(axis=1)
    if bad.any():
        k = int(np.argmax(bad))
        raise DataError(f"{key}: pair {k}: {pairs[k].tolist()}; expected {_expect(dataset.N, {}, 0)}")
    return Links(key, pairs.astype(np.int64), lambda k: f"{key}: pair {k}")


def _expect(N: int, rows: Mapping[str, int], first: int) -> str:
    named = f"the name of one row, such as {quote(next(iter(rows), ''))}"
    return named if rows else f"a row from {first} to {N - 1 + first}"


def _read_link_file(path: str | Path, key: str, N: int, rows: Mapping[str, int], twice: set[str]) -> Links:
    table = read_list(require_file(path, f"a file of two columns, a row of the data in each ({key})"), "auto", True)
    assert table is not None
    if _is_review(table):
        pairs, same, at = _read_reviewed(table, N)
        chosen = same == key.endswith("must_link")
        return Links(str(path), pairs[chosen], lambda k: f"{path}: row {table.row(int(at[chosen][k]))}")
    if table.width != 2:
        raise DataError(f"{path}: row {table.row(0)}: cells: {table.width}; expected 2, a row of the data in each")
    cells = [[str(cell).strip() for cell in table.cells(j).to_pylist()] for j in (0, 1)]
    named = any(cell in rows for column in cells for cell in column)

    def find(cell: str) -> int | None:
        if named:
            return None if cell in twice else rows.get(cell)
        return int(cell) - 1 if PLAIN.fullmatch(cell) and 1 <= int(cell) <= N else None

    if all(column[0] and find(column[0]) is None and not is_number(column[0]) for column in cells):
        table.take_header()
        table.columns = [column.slice(1) for column in table.columns]
        if named:
            head = " and ".join(quote(column[0]) for column in cells)
            table.notes.append(f"{path}: row {table.row(-1)}: {head} name no rows: they are names of columns")
        cells = [column[1:] for column in cells]
    if not cells[0]:
        raise DataError(f"{path}: no pair of rows; expected at least one ({key})")
    pairs = np.empty((len(cells[0]), 2), dtype=np.int64)
    for j, column in enumerate(cells):
        for i, cell in enumerate(column):
            if (row := find(cell)) is None:
                names = rows if named or not PLAIN.fullmatch(cell) else {}
                raise table.error(i, j, f"{_expect(N, names, 1)} ({key})")
            pairs[i, j] = row
    return Links(str(path), pairs, lambda k: f"{path}: row {table.row(k)}", table.notes)


def _is_review(table: Text) -> bool:
    return {*REVIEWED} <= {str(table.cells(j)[0].as_py()).strip() for j in range(table.width)}


def _read_reviewed(table: Text, N: int) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
    """The labelled pairs of a file: rows from 0, whether they belong together, and the line of each."""
    head = [str(table.cells(j)[0].as_py()).strip() for j in range(table.width)]
    table.take_header()
    table.columns = [column.slice(1) for column in table.columns]
    one, other, same = (head.index(name) for name in REVIEWED)
    cells = {j: [str(cell).strip() for cell in table.cells(j).to_pylist()] for j in (one, other, same)}
    for i, cell in enumerate(cells[same]):
        if cell not in ("", "0", "1"):
            raise table.error(i, same, "1 (the two belong together), 0 (they do not) or an empty cell")
    labelled = [i for i, cell in enumerate(cells[same]) if cell]
    if not labelled:
        raise DataError(f"{table.path}: no row has 1 or 0 in the column {quote(SAME)}; expected at least one")
    for j in (one, other):
        for i in labelled:
            if not (PLAIN.fullmatch(cells[j][i]) and 1 <= int(cells[j][i]) <= N):
                raise table.error(i, j, _expect(N, {}, 1))
    pairs = np.array([[int(cells[j][i]) - 1 for j in (one, other)] for i in labelled], dtype=np.int64)
    return pairs, np.array([cells[same][i] == "1" for i in labelled]), np.array(labelled, dtype=np.int64)


def read_review(link: Any, N: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]] | None:
    """The labelled pairs in a file that was reviewed: rows from 0, int64 ``[pairs, 2]``, and whether the two belong
    together; None for anything else, such as a file of two columns."""
    if not isinstance(link, str | Path):
        return None
    try:
        table = read_list(require_file(link, "a file"), "auto", True)
        return None if table is None or not _is_review(table) else _read_reviewed(table, N)[:2]
    except DataError:
        return None


def bundle_rows(dataset: Dataset, columns: dict[str, Column], options: BundleOptions) -> Dataset:
    """A table whose rows are bundled as its `columns` and the `options` say; rows of weight 0 are left out."""
    options.check(list(columns))
    links = {key: getattr(options, key) for key in ("must_link", "cannot_link")}
    if not columns and not any(link is not None for link in links.values()):
        return dataset
    if isinstance(options.must_link, str | Path) and options.must_link == options.cannot_link:
        table = read_list(require_file(options.must_link, "a file of labelled pairs (data.labels)"), "auto", True)
        if table is None or not _is_review(table):
            expected = f"{', '.join(REVIEWED[:-1])} and {SAME}, as both links are to come from it (data.labels)"
            raise DataError(f"{options.must_link}: row 1: expected the columns {expected}")
    group, labels, weights = columns.get("group"), columns.get("labels"), columns.get("weights")
    N, notes = dataset.N, list(dataset.notes)
    counts, unit = None, 1.0
    kept: NDArray[np.int64] | slice = slice(None)
    if weights is not None:
        good = np.isfinite(weights.cells) & (weights.cells >= 0)
        if not good.all():
            raise weights.fail(int(np.argmin(good)), A_WEIGHT)
        if not weights.cells.any():
            raise DataError(f"{weights.title}: every weight is zero; expected a positive one (data.weights)")
        largest = int(np.argmax(weights.cells))
        if not LEAST_SIZE <= weights.cells[largest] <= MOST_SIZE:
            raise weights.fail(largest, f"a largest weight from {LEAST_SIZE:g} to {MOST_SIZE:g} (data.weights)")
        positive = weights.cells > 0
        if zeros := int(N - positive.sum()):
            kept = np.flatnonzero(positive)
            notes.append(f"{weights.title}: {zeros:,} row{'s' * (zeros > 1)} of weight 0 left out (data.weights)")
        counts, unit, note = _read_counts(weights, weights.cells[positive], options.weights_scale)
        notes.append(note)
        if unit != 1.0 and (large := int((counts * unit > COPIES).sum())):
            powers = f"have a power above {COPIES:g} (at most {counts.max() * unit:.2g})"
            copies = "like copies, such rows may form clusters of their own (data.weights)"
            notes.append(f"{weights.title}: {large:,} of {len(counts):,} rows {powers}: {copies}")
        width = dataset.values.shape[1] if dataset.values.ndim > 1 else 1
        Limit.current().check(weights.title, 8 * int(counts.sum()) * width, " as rows that count so often")
    units = None if group is None else _first_rows(group)
    unit_names = {} if group is None or units is None else {group.words[g]: int(i) for g, i in enumerate(units)}
    must, cannot = (read_links(f"data.{key}", links[key], dataset, unit_names) for key in links)
    notes += [note for link in (must, cannot) if link is not None for note in link.notes]
    joins = _Joins(dataset)
    if group is not None and units is not None:
        joins.add("data.group", np.column_stack([units[group.cells], np.arange(N)]))
        notes.append(f"{group.title}: {N:,} rows of {len(units):,} units, whose rows stay together (data.group)")
        notes += _note_constant(dataset, group, units)
    if must is not None:
        joins.add(must.title, must.pairs)
        notes.append(f"{must.title}: pairs of rows that stay together: {len(must.pairs):,}")
    classes = None
    if labels is not None:
        known = np.flatnonzero(labels.cells >= 0)
        if options.apart:
            _check_labels(labels, known, joins)
        joins.add("data.labels", np.column_stack([_first_rows(labels)[labels.cells[known]], known]))
        where = "rows of different classes stay apart" if options.apart else "different classes may share a cluster"
        of_rows = f"{len(known):,} of {len(labels.cells):,} rows have one of {len(labels.words)} known classes"
        notes.append(f"{labels.title}: {of_rows}: rows of a class stay together, {where} (data.labels, data.apart)")
        if options.apart and len(known) == N:
            compared = "data.labels" if labels.name is None else f"data.truth={labels.name} compares them with clusters"
            notes.append(f"{labels.title}: every row has a class, so the clusters are the classes ({compared})")
    items = number_by_appearance(joins.components()).astype(np.int32)
    if labels is not None and options.apart:
        classes = np.full(items.max() + 1, -1, dtype=np.int32)
        classes[items[known]] = labels.cells[known]
    apart = np.zeros((0, 2), dtype=np.int32)
    if cannot is not None:
        apart = _read_apart(cannot, items, joins)
        notes.append(f"{cannot.title}: pairs of rows that stay apart: {len(cannot.pairs):,}")
    names: list[str] | None = None
    if group is not None:
        # of their unit, or of all that are linked
        words: list[list[str]] = [[] for _ in range(items.max() + 1)]
        for item, g in np.unique(np.column_stack([items, group.cells]), axis=0):
            words[item].append(group.words[g])
        names = ["+".join(each) for each in words]
    fractions = "items with fractional weights, of which a prior counts nothing"
    require(options.prior_counts != ROWS or unit == 1.0, "data.prior_counts", options.prior_counts, fractions)
    counted = options.prior_counts or (ITEMS if group is not None or unit != 1.0 else ROWS)
    bundles = replace(Bundles(items, None, unit, counted, apart, classes, names).take(kept), weights=counts)
    meta = dataset.meta | notes_entry(notes) | {"roles": [_describe_role(key, one) for key, one in columns.items()]}
    if group is not None and group.name is not None:
        meta["group"] = group.name
    if not isinstance(kept, slice):
        # rows keep their numbers as names where they have no other
        row_names = [str(i + 1) for i in kept] if dataset.names is None else [dataset.names[i] for i in kept]
        truth = None if dataset.truth is None else dataset.truth[kept]
        dataset = replace(dataset.take(kept), names=row_names, truth=truth)
    return replace(dataset, bundles=bundles, meta=meta)


def _note_constant(dataset: Dataset, group: Column, units: NDArray[np.int64]) -> Iterator[str]:
    """Note columns that are the same in all rows of each unit: they count in each row."""
    sizes = np.bincount(group.cells, minlength=len(units))
    if not isinstance(dataset.values, np.ndarray) or dataset.values.ndim != 2 or 2 * (sizes > 1).sum() < len(units):
        return
    differs = dataset.values != dataset.values[units[group.cells]]
    differs &= ~(np.isnan(dataset.values) & np.isnan(dataset.values[units[group.cells]]))
    names = [dataset.column_names[j] for j in np.flatnonzero(~differs.any(axis=0))]
    if names and dataset.kind.has_columns:
        yield (
            f"{group.title}: each unit has one value of {', '.join(names)} in all its rows, which counts in each row: "
            f"clusters may follow {'it' if len(names) == 1 else 'them'} alone, or be single units "
            f"({shell_word(f'data.drop={write(names)}')})"
        )


def _describe_role(key: str, column: Column) -> tuple[str, str, str, int]:
    """Name of a column that is no data, what it is read as, what it holds, and its missing cells."""
    name = column.name or column.title.rpartition(": ")[2]
    if key == "weights":
        return name, "weight", f"{column.cells.min():g} to {column.cells.max():g}", 0
    noun, plural = ("unit", "units") if key == "group" else ("class", "classes")
    held = f"{len(column.words):,} {plural if len(column.words) != 1 else noun}"
    return name, noun, held, int((column.cells < 0).sum())


def _read_counts(
    column: Column, weights: NDArray[np.float64], scale: str | None
) -> tuple[NDArray[np.int64], float, str]:
    """Positive weights as whole multiples of a unit, that unit, and a note. Whole weights are multiples of 1 unless
    they are scaled."""
    n = len(weights)
    if scale in (None, NONE) and (weights == np.floor(weights)).all():
        if (total := weights.sum()) > LARGEST:
            raise DataError(f"{column.title}: the weights sum to {total:,.10g}; expected at most {LARGEST:,}")
        return weights.astype(np.int64), 1.0, f"{column.title}: {n:,} rows count as {total:,.0f} (data.weights)"
    counts, unit, error = round_weights(weights)
    scaled = "not scaled (data.weights_scale)"
    if scale != NONE:
        unit, scaled = n / float(counts.sum()), f"scaled to sum to {n:,}, the number of rows (data.weights_scale)"
    elif not LEAST_UNIT <= unit <= 1.0:
        raise DataError(
            f"{column.title}: weights of {weights.mean():.4g} on average are read as multiples of {unit:.4g}, which is "
            f"no power from {LEAST_UNIT:g} to 1; expected data.weights_scale=rows, which scales them"
        )
    rounded = f"; they are rounded by at most {100.0 * error:.2g} %" if error else ""
    return counts, unit, f"{column.title}: each weight is a power of its row's likelihood, {scaled}{rounded}"


def round_weights(weights: NDArray[np.float64]) -> tuple[NDArray[np.int64], float, float]:
    """Fractions as whole multiples of a unit: the multiples, the unit, and the largest relative error. Fractions of few
    decimals are exact; others are multiples of a thousandth of their mean, of more for many rows.

    >>> counts, unit, error = round_weights(np.array([0.5, 1.25]))
    >>> counts.tolist(), unit, error
    ([2, 5], 0.25, 0.0)
    """
    most = max(MOST, 10 * len(weights))
    for decimals in range(DECIMALS + 1):
        scaled = weights * 10.0**decimals
        whole = np.rint(scaled)
        if whole.sum() <= 2.0**53 and (np.abs(scaled - whole) <= 1e-12 * scaled).all():
            counts = whole.astype(np.int64)
            common = int(np.gcd.reduce(counts))
            if counts.sum() // common <= most:
                return counts // common, common / 10.0**decimals, 0.0
    unit = max(float(weights.mean()) / FINE, float(weights.sum()) / most)
    counts = np.maximum(np.rint(weights / unit), 1.0)
    return counts.astype(np.int64), unit, float(np.abs(counts * unit / weights - 1.0).max())


def _first_rows(column: Column) -> NDArray[np.int64]:
    """int64 ``[words]``: the first row of each code."""
    first: NDArray[np.int64] = np.full(len(column.words), len(column.cells))
    known = np.flatnonzero(column.cells >= 0)
    np.minimum.at(first, column.cells[known], known)
    return first


class _Joins:
    """Pairs of rows that are to be together, and where they come from."""

    def __init__(self, dataset: Dataset) -> None:
        self.N, self.names = dataset.N, dataset.names
        self.sources: list[tuple[str, NDArray[np.int64]]] = []

    def add(self, source: str, pairs: NDArray[np.int64]) -> None:
        """Add pairs of rows."""
        self.sources.append((source, pairs))

    def _search(self, function: str, *start: int) -> Any:
        """The second result of a search of `scipy.sparse.csgraph` in the graph of the pairs."""
        from scipy.sparse import coo_array, csgraph  # take long to import: few tables need them

        pairs = np.concatenate([np.zeros((0, 2), dtype=np.int64), *(pairs for _, pairs in self.sources)])
        graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(self.N, self.N)).tocsr()
        return getattr(csgraph, function)(graph, *start, directed=False)[1]

    def components(self) -> NDArray[np.int32]:
        """int32 ``[N]``: rows that are to be together have one number."""
        numbers: NDArray[np.int32] = self._search("connected_components")
        return numbers

    def name(self, row: int) -> str:
        """A row as messages name it."""
        return str(row + 1) if self.names is None else f"'{self.names[row]}'"

    def chain(self, one: int, other: int) -> str:
        """The shortest chain of pairs from one row to another, and the sources of these."""
        before = self._search("breadth_first_order", one)
        rows = [other]
        while rows[-1] != one:
            rows.append(int(before[rows[-1]]))
        links = [{a, b} for a, b in zip(rows[1:], rows, strict=False)]
        sources = [source for source, pairs in self.sources if any(set(pair) in links for pair in pairs.tolist())]
        middle = [self.name(row) for row in rows[1:-1][::-1]]
        shown = middle if len(middle) < 5 else [*middle[:2], "...", *middle[-2:]]
        through = f" through {', '.join(shown)}" if shown else ""
        return f"{self.name(one)} and {self.name(other)}{through} ({', '.join(sources)})"


def _check_labels(labels: Column, known: NDArray[np.int64], joins: _Joins) -> None:
    """Raise a `DataError` if rows of different classes are to be together."""
    component = joins.components()[known]
    order = np.lexsort((known, component))
    same = component[order][1:] == component[order][:-1]
    clash = np.flatnonzero(same & (np.diff(labels.cells[known][order]) != 0))
    if len(clash):
        one, other = known[order][clash[0]], known[order][clash[0] + 1]
        words = [f"'{labels.words[labels.cells[row]]}'" for row in (one, other)]
        why = f"rows {joins.chain(int(one), int(other))} are to be together (data.apart=false takes both)"
        raise labels.fail(int(other), f"{words[0]}, because {why}")


def _read_apart(cannot: Links, items: NDArray[np.int32], joins: _Joins) -> NDArray[np.int32]:
    """Pairs of items that are to be apart; a `DataError` if a pair is to be together, too."""
    pairs = items[cannot.pairs]
    together = pairs[:, 0] == pairs[:, 1]
    if together.any():
        k = int(np.argmax(together))
        one, other = map(int, cannot.pairs[k])
        if one == other:
            raise DataError(f"{cannot.place(k)}: row {joins.name(one)} twice; expected two rows that stay apart")
        chain = joins.chain(one, other)
        raise DataError(f"{cannot.place(k)}: rows {chain} are to be together; expected rows that nothing joins")
    return np.unique(np.sort(pairs, axis=1), axis=0).astype(np.int32)
