"""Notes on how a table came about, by its cells: rows of names, columns that tell the items apart, and columns that
others determine, as inches follow from centimetres, a total from its parts, a code from its word.

A determined column tells nothing new, yet a model counts it as evidence of its own: of the irises with the sepal length
in inches as a fifth column, the adjusted Rand index falls from 0.90 to 0.57. Three things are looked for:

* a number, or its logarithm, that is a linear function of another number, or its logarithm;
* a linear function of several numbers, or of their logarithms, as the logarithm of a product or a power is; levels that
  are numbers are among them, and a product is 0 where a factor is;
* levels that stand for the levels of another column, one for one.

All but for the rounding of every column. The column with the most missing cells follows from the others; of several,
the one that is rounded to far fewer values, else the last.
"""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from pkgutil import resolve_name
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from splitmerge_cli.data.arrow import array_of, numbers_of
from splitmerge_cli.data.dataset import AS_NETWORK, READ_AS, ColumnType, Kind, kinds
from splitmerge_cli.data.tables import inference
from splitmerge_cli.data.tables.cells import DATE, cells_of
from splitmerge_cli.data.tables.table import IN_MEMORY, Table, column_key, is_missing, is_text, list_names, quote
from splitmerge_cli.data.values import BLOCK, is_csr
from splitmerge_cli.overrides import shell_word
from splitmerge_cli.received import DataError

ROUTINE = (READ_AS, AS_NETWORK, "missing cells: ")
"""Parts of the notes that every table or network has."""
NAMES_OF_ITEMS = "they are the names of the items"
LONG_DIGITS = "it holds whole numbers of more digits than a number keeps, as codes do"
"""Why a column is no data to a model of numbers."""
MOST_CLASSES, _HEAD = 50, 1_000
"""Most values of a column that may hold the classes of the rows; rows by which most columns are known to hold none."""
LOOKED_AT = 100
"""Rows of a column that are looked at first."""
LEAST_ROWS = 5
"""Rows from which on the last may be noted as the sum of the others, and all of them as a symmetric matrix."""
NAMED_AS_TOTAL = re.compile(r"(?i)((grand|sub)[ -]?)?totals?|sums?|summe|(ins)?gesamt|means?|averages?|overall")
"""Cells that call a row the total or the mean of the others."""


def ask_kinds(question: str, *told: Any) -> tuple[str, str]:
    """Return the answer of the first kind that has one to a question, such as ``say_words``, and the override that
    reads a table as this kind; both are empty if no kind has one."""
    for kind in kinds().values():
        function = getattr(kind, question)
        if function and (said := resolve_name(function)(*told)):
            return str(said), f"model={kind.model}"
    return "", ""


def check_names(table: Table) -> None:
    """Tell columns that share a name apart; one that holds the same cells as the first of its name is left out. Rows
    that hold the names again, as in files that were put together of several, are refused."""
    table.tell_names_apart()
    leave_out_copies(table, lambda j, k: len(table.columns[j]) > 0 and bool(table.columns[j].equals(table.columns[k])))
    names = [name.strip() for name in table.written or []]
    held = [(column, name) for column, name in zip(table.columns, names, strict=bool(names)) if len(column)]
    if len(held) < 2 or not all(is_text(c) for c, _ in held):
        return
    again = np.ones(len(held[0][0]), dtype=bool)
    for column, name in held:
        # one column after the other, until no row is left
        if not again.any():
            return
        again &= numbers_of(pc.is_in(pc.utf8_trim_whitespace(column), array_of([name], column.type)))
    if again.any():
        problem = f"row {table.row(int(np.argmax(again)))}: the names of the columns again"
        raise DataError(f"{table.path}: {problem}; expected them in the first row alone")


def leave_out_copies(table: Table, are_same: Callable[[int, int], bool]) -> None:
    """Leave out, with a note, columns that have name and cells of another, whose position is the first argument."""
    first: dict[str, int] = {}
    names = [name.strip() for name in table.written or []]
    for j, name in enumerate(names) if len(set(names)) < len(names) else ():
        if (k := first.setdefault(name, j)) != j and name and are_same(k, j):
            table.left_out.add(j)
            table.note(f"{table.column(j)} holds the cells of {table.column(k)}: it is left out")


def set_aside(table: Table, j: int, also: Sequence[str | int | float] = ()) -> bool:
    """Whether a column is no data to a model of numbers, which is then noted: it holds another word in each row, so
    that it names the items, whole numbers that lose digits as numbers, so that they are codes, or dates; `also`:
    what else stands for a missing cell."""
    column = table.cells(j)
    if len(column) < inference.SOME:
        return False
    if (digits := table.long_digits(j, also)) is not None:
        cells = ["" if cell is None else str(cell).strip() for cell in digits.to_pylist()]
        present = [cell for cell in cells if not is_missing(cell)]
        if table.item_names is None and len(set(present)) == len(cells):
            table.item_names = cells
        table.left_out.add(j)
        why = f"{LONG_DIGITS}, such as {quote(present[0])}"
        note_left_out(table, {j: why}, None, "data.columns would read it, rounded")
        return True
    if not is_text(column):
        dated = pa.types.is_temporal(column.type)
    elif (names := table.row_names(j)) is not None:
        if table.item_names is None:
            table.item_names = names
        table.left_out.add(j)
        free = sum(map(len, names)) > inference.LONG * len(names)
        ways = {j: inference.as_documents(table, column_key(table, j))} if free else None
        note_left_out(table, {j: "it holds free text" if free else f"every value differs: {NAMES_OF_ITEMS}"}, ways)
        return True
    else:
        dated = re.search(DATE, str(column[0].as_py()).strip()) is not None
    if dated and not (reading := inference.infer(cells_of(table, j), column_key(table, j))).problem and reading.ways:
        table.left_out.add(j)
        note_left_out(table, {j: reading.why}, {j: f"model=mixed {reading.ways[0]}"})
        return True
    return False


def written_column(table: Table, j: int, also: Sequence[str | int | float] = ()) -> pa.ChunkedArray | None:
    """A column of text with currencies, units and the like as numbers, null where a cell is missing, with a note; None
    of any other column."""
    cells = cells_of(table, j, also)
    if cells.text is None or cells.is_number is None:
        return None
    decorated = cells.are_decorated()
    # what may be a decimal comma and nothing else is for data.decimal to say
    commas = cells.matches(r"^[-+]?\d*,\d+$") & ~cells.matches(r"^[-+]?\d{1,3},\d{3}$")
    if not decorated.any() or 2 * (decorated | cells.is_number).sum() < cells.present or (commas >= decorated).all():
        return None
    reading = inference.as_written(cells, cells.decimal)
    if reading.values is None:
        raise DataError(reading.problem)
    table.note(f"{table.column(j)}: {reading.said}")
    return pa.chunked_array([pa.array(reading.values, from_pandas=True)])


def without_data(x: Any, names: Sequence[str] | None, kind: Kind, alone: bool = True) -> dict[int, str]:
    """The columns that are no data, and why: those that tell the rows apart, and those without two values. A table of
    one column, or of fewer than `inference.SOME` rows, is read as it is, and so are `inference.COORDINATES`; of sparse
    points the first column alone is looked at. Numbers may tell rows apart, 0 and 1 do not; a count is a part of a
    whole, so that it is data though all of its cells are the same. `alone`: the table has no other columns."""
    N, width = x.shape
    if (width < 2 and alone) or N < inference.SOME:
        return {}
    reason_by_column = {}
    sparse = is_csr(x)
    for d in range(1 if sparse else width):
        if names and names[d].strip().lower() in inference.COORDINATES:
            continue
        values = x[:, [d]].toarray().ravel() if is_csr(x) else x[:, d]
        why = inference.tells_apart(values, names[d] if names else "") if kind.of_numbers else None
        why = _without_values(values) if why is None and kind.leaves_out_constants and not sparse else why
        if why is not None:
            reason_by_column[d] = why
    return reason_by_column


def _without_values(values: NDArray[Any]) -> str | None:
    """Describe a column of one value, or none; None of any other."""
    top = values[:LOOKED_AT]
    gaps = values.dtype.kind == "f" and bool(np.isnan(top).any())
    if not gaps and top.min() < top.max():
        return None
    present = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    if not len(present):
        return "it holds no value"
    return f"every value is {quote(f'{present[0]:g}')}" if present.min() == present.max() else None


def note_left_out(
    table: Table, reasons: Mapping[int, str], reads: Mapping[int, str] | None = None, otherwise: str = ""
) -> None:
    """Note which columns are left out, a line for each reason. `reads` says what would read a column, where this is not
    `otherwise`, in which ``{}`` stands for the column as typed."""
    by_reason: dict[str, list[int]] = defaultdict(list)
    for j, why in reasons.items():
        by_reason[why].append(j)
    for why, columns in by_reason.items():
        several = len(columns) > 1
        shown = list_names([table.column(j) for j in columns])
        way = (reads or {}).get(columns[0]) or otherwise.format(column_key(table, columns[0]))
        way = way.replace(" it", " the first", 1) if several else way
        ways = "" if not way or "no value" in why or "is '" in why else f" ({way})"
        plural = re.sub("^it (hold|count|number)s", r"they \1", why).replace("it is an id", "they are ids", 1)
        said = plural.replace("that repeats", "that repeat", 1) if several else why
        table.note(f"{shown} {'are' if several else 'is'} left out: {said}{ways}")


def note_numbers(table: Table, columns: Sequence[int], x: NDArray[Any]) -> None:
    """Note what the `columns` of numbers x ``[N, D]`` are together: a symmetric matrix, or rows and their sums."""
    _note_total(table, columns, x)
    if len(x) == x.shape[1] >= LEAST_ROWS and np.array_equal(x, x.T, equal_nan=True):
        table.note(
            "its numbers are a symmetric matrix: if it holds distances or correlations, its rows are no measurements, "
            "which a model of a table asks for; expected the table that it was computed from"
        )


def _note_total(table: Table, columns: Sequence[int], x: NDArray[Any]) -> None:
    """Note that the last row holds the sums of the others, or of numbers that were rounded to the others, in two of the
    `columns` (numbers `x`) or more, or in the only one; or that a word of its own calls it a total or a mean."""
    if len(x) < LEAST_ROWS or x.size > BLOCK:
        return
    others, last = x[:-1].astype(np.float64), x[-1].astype(np.float64)
    sums = np.nansum(others, axis=0)
    # the errors of so many rounded numbers add up to a third of this, typically
    error = np.sqrt(len(x)) * np.array([_step(column[~np.isnan(column)]) for column in others.T])
    is_largest = np.abs(last) > np.abs(np.nan_to_num(others)).max(axis=0)
    is_sum = is_largest & (np.abs(last - sums) <= error + 1e-9 * np.abs(sums))
    held = int((~np.isnan(last)).sum())
    if held and is_sum.sum() >= max(min(held, 2), held / 2):
        names = list_names([table.column(columns[d]) for d in np.flatnonzero(is_sum).tolist()])
        why = f"is the sum of the others in {names}"
    elif word := _word_of_total(table, len(x)):
        why = f"holds {quote(word)} and may be sums or means of the others"
    else:
        return
    way = "data.iloc[:-1]" if table.path == IN_MEMORY else f"N={len(x) - 1}"
    table.note(f"row {table.row(len(x) - 1)}, the last one, {why}: {way} leaves it out")


def _word_of_total(table: Table, rows: int) -> str:
    """The word by which the last row calls itself a total or a mean; empty if it has none, or others have it, too."""
    for cells in map(table.cells, range(table.width)):
        if is_text(cells) and len(cells) == rows:
            word = cells[-1].as_py() or ""
            if NAMED_AS_TOTAL.fullmatch(word.strip()) and cells.to_pylist().count(word) == 1:
                return str(word.strip())
    return ""


def note_names(table: Table, columns: Sequence[int], x: NDArray[Any]) -> None:
    """Note which of the `columns` (positions, with their numbers or codes `x`) are the classes of the rows, by name,
    as the file says, or as the only one with few values where columns have no names, the first or the last; or by name
    their weights."""
    if len(columns) < 2 or not isinstance(x, np.ndarray) or not len(x):
        return
    few = [] if table.names else [d for d in range(len(columns)) if _count_classes(x[:, d])]
    alone = few[0] if len(few) == 1 and few[0] in (0, len(columns) - 1) else None
    for d, j in enumerate(columns):
        name = table.names[j].strip() if table.names else ""
        if inference.NAMED_AS_WEIGHT.fullmatch(name) and np.nanmin(x[:, d]) > 0:
            key = column_key(table, j)
            drop, weights = shell_word(f"data.drop=[{key}]"), shell_word(f"data.weights={key}")
            people = "if it says how many people or cases a row stands for, it is no measurement"
            table.note(f"{table.column(j)}: {people}: {drop} leaves it out, {weights} counts rows so")
        is_angle = inference.NAMED_AS_ANGLE.fullmatch(name) is not None
        if is_angle and 0 <= np.nanmin(x[:, d]) < 30 and 330 < np.nanmax(x[:, d]) <= 360:
            direction = "0 and 360 are one direction, which no model knows: columns of its sine and its cosine have it"
            table.note(f"{table.column(j)}: if it is an angle, {direction}")
        is_named = j in table.classes or inference.NAMED_AS_CLASS.fullmatch(name) is not None
        if (is_named or d == alone) and (different := _count_classes(x[:, d])):
            key = column_key(table, j)
            ways = f"add data.truth={key} (left out, then compared with the clusters) or data.drop=[{key}]"
            table.note(f"{table.column(j)} has {different} values. If it is a label, {ways}")


def _count_classes(column: NDArray[Any]) -> int:
    """Different values of a column if they are few enough to be classes, else 0."""
    head = column[:_HEAD]
    # most columns are none, which their first rows tell
    if len(np.unique(head)) > MOST_CLASSES or (head != np.floor(head)).sum() > np.isnan(head).sum():
        return 0
    values = column[~np.isnan(column)] if column.dtype.kind == "f" else column
    different = len(np.unique(values))
    is_few = len(values) >= inference.SOME and (values == np.floor(values)).all() and 2 * different <= len(values)
    return different if is_few and 1 < different <= MOST_CLASSES else 0


def note_name(table: Table, j: int, tokens: NDArray[np.int32], words: int) -> None:
    """Note that the first of the tokens in column `j` may be the name of the column."""
    first = table.cells(j)[0].as_py() if table.names is None else None
    if not isinstance(first, str) or (tokens == tokens[0]).sum() > 1:
        return
    known = inference.NAMED_AS_ID.fullmatch(first) or inference.NAMED_AS_CLASS.fullmatch(first)
    if known or (len(tokens) > inference.SOME and 2 * words <= len(tokens) and (np.bincount(tokens) == 1).sum() == 1):
        way = "data.header=true reads it as the name of the column"
        table.note(f"row {table.row(0)}: {quote(first)} is read as a token ({way})")


def note_distinct(table: Table, j: int, tokens: NDArray[np.int32], words: int) -> None:
    """Note that no two tokens of column `j` are the same."""
    if words == len(tokens) >= inference.SOME:
        table.note(
            f"{table.column(j)} holds another token in each row, as identifiers do: model=emm compares whole tokens"
        )


FEWEST = 10
"""Rows at least; for each coefficient of a linear function, `PER_COEFFICIENT` more."""
PER_COEFFICIENT = 3
SCREENED = 1000
"""Rows that are looked at first."""
MOST_COLUMNS = 60
"""Columns of numbers, at most: of more, one counts little."""
LARGEST_ERROR = 0.05
"""Largest standard deviation of the errors, divided by the column's."""
CORRELATED = 0.99
"""Least correlation of what is looked at: one that leaves `LARGEST_ERROR` is larger."""
COARSE = 0.25
"""Largest error of rounding, over the standard deviation, of a column that may be rounded: a coarser one fits anything,
so that it has to be exact."""
SLACK = 1.25
"""Largest error over what rounding explains, as the coefficients are estimated."""
CHANCE = 1e-6
"""Largest probability that the levels of two columns agree by chance."""
EXACT = 1e-9
SINGLE = 1e-6
"""A constant below this share of the cells is none: files that were once of single precision have one."""
STEPS = 10.0 ** np.arange(6, -13, -1)
"""Steps to which a column may be rounded."""
FINER = 1.5
"""Times as many different values as another column has, from which on a column says more than that one."""
SAYS = {"{}": "the same", "log({})": "the same as its logarithm"}
"""The words for a function that equals a number in a form."""
SHOWN = 3
"""Terms of a linear function that are written."""


def leave_out_determined(
    table: Table,
    columns: Sequence[int],
    x: NDArray[np.float64],
    otherwise: Callable[[int], str],
    types: Sequence[ColumnType | None] = (),
    asked_for: Collection[int] = (),
) -> list[int]:
    """The positions in `columns` (with their cells `x` and types) that are data; `table` notes which others determine,
    and what would read them `otherwise`. Those that are `asked_for` stay, with a note.
    """
    found = find_determined(x, [table.names[j] if table.names else f"column {j + 1}" for j in columns], types)
    for d in [d for d in found if columns[d] in asked_for]:
        table.note(f"{table.column(columns[d])} counts twice: {found.pop(d)}")
    table.determined = [column_key(table, columns[d]) for d in found]
    reasons = {columns[d]: f"{why}, and it would count twice" for d, why in found.items()}
    for j in list(reasons)[SHOWN:]:
        reasons[j] = "other columns say the same, and they would count twice"
    note_left_out(table, reasons, {columns[d]: otherwise(d) for d in found})
    kept = [d for d in range(len(columns)) if d not in found]
    follows = find_followers(x, types, kept)
    if any(d in kept for d in follows):
        names = [table.names[j] if table.names else f"column {j + 1}" for j in columns]
        # without these, what says the same in other words would be data
        table.followers = [column_key(table, columns[d]) for d in follows]
        pairs = list_names([f"{names[d]} from {names[k]}" for d, k in follows.items() if d in kept])
        way = f"data.drop=[{','.join(table.followers)}] leaves out what follows"
        table.note(f"levels follow from others ({pairs}): they count twice, and clusters may be these levels ({way})")
    return kept


def find_followers(
    x: NDArray[np.float64], types: Sequence[ColumnType | None], sources: Sequence[int]
) -> dict[int, int]:
    """Columns of levels (codes `x`, NaN where a cell is missing) that follow from another of the `sources`, as
    countries do from cities, and the one of fewest levels from which they do; or from a number, as age groups do."""
    found: dict[int, int] = {}
    leveled = [d for d, type in enumerate(types) if type is not None and type.levels]
    numbers = [k for k in sources if k not in leveled][:MOST_COLUMNS]
    if len(x) < FEWEST or not 0 < len(leveled) <= MOST_COLUMNS:
        return found
    codes = {d: np.where(np.isnan(x[:, d]), -1, x[:, d]).astype(np.int64) for d in leveled}
    counts = {d: np.bincount(own[own >= 0]) for d, own in codes.items()}
    size = {d: int((count > 0).sum()) for d, count in counts.items()}
    for d, own in codes.items():
        known = own >= 0
        arrangements = math.lgamma(known.sum() + 1) - sum(math.lgamma(n + 1) for n in counts[d])
        # with more levels, or with few cells of all levels but one, it may be chance
        most = (arrangements - 2 * math.log(len(leveled)) + math.log(CHANCE)) / math.log(max(size[d], 2))
        for k in sorted((k for k in sources if size.get(k, 0) > size[d] > 1), key=lambda k: size[k]):
            level = np.full(len(counts[k]) + 1, -1)
            level[codes[k][known]] = own[known]
            if size[k] < most and (codes[k][known] >= 0).all() and (level[codes[k][known]] == own[known]).all():
                found[d] = k
                break
        chance = 2 * math.log(len(leveled) + len(numbers)) + math.lgamma(size[d] + 1) - math.log(CHANCE)
        if d not in found and size[d] > 1 and arrangements > chance:
            few = slice(None, None, -(-len(x) // SCREENED))
            for k in numbers:
                if _is_cut(x[few, k], own[few]) and _is_cut(x[:, k], own):
                    found[d] = k
                    break
    return found


def _is_cut(cells: NDArray[np.float64], own: NDArray[np.int64]) -> bool:
    """Whether levels `own` (-1: missing) are ranges of a number that touch. If the gap between two is wider than 99 in
    100 of the gaps within levels, they are groups that the number tells apart."""
    cells, own = cells[own >= 0], own[own >= 0]
    levels = len(np.unique(own))
    if levels < 2 or np.isnan(cells).any():
        return False
    order = np.argsort(cells, kind="stable")
    cells, own = cells[order], own[order]
    steps, ends = np.diff(cells), np.diff(own) != 0
    if ends.sum() != levels - 1 or not (steps[ends] > 0).all():
        return False
    within = steps[(steps > 0) & ~ends]
    # a range of one number, such as 0, has no steps
    alone = np.array([len(np.unique(part)) == 1 for part in np.split(cells, np.flatnonzero(ends) + 1)])
    touches = steps[ends] <= (np.quantile(within, 0.99) if len(within) else math.inf)
    return bool((touches | alone[1:] | alone[:-1]).all())


def find_determined(
    x: NDArray[np.float64], names: Sequence[str], types: Sequence[ColumnType | None] = ()
) -> dict[int, str]:
    """The columns of a table ``[N, D]`` (NaN where a cell is missing; codes where there are levels) that others
    determine, and how each follows from columns of which none follows from it. Without `types` all are numbers.

    >>> cm = np.arange(150.0, 190.0)
    >>> find_determined(np.column_stack([cm, (cm / 2.54).round(1)]), ["cm", "inch"])
    {1: '0.394 * cm says the same, but for rounding'}
    """
    step = -(-len(x) // SCREENED)
    found = _find(x[::step], names, types, range(x.shape[1])) if step > 1 else None
    return found if found == {} else _find(x, names, types, found or range(x.shape[1]))


def _find(
    x: NDArray[np.float64], names: Sequence[str], types: Sequence[ColumnType | None], may_follow: Collection[int]
) -> dict[int, str]:
    """As `find_determined`, of the columns that `may_follow` from others."""
    found: dict[int, str] = {}
    if len(x) < FEWEST:
        return found
    leveled = [d for d, type in enumerate(types) if type is not None and type.levels]
    missing = np.isnan(x).sum(axis=0)
    read = {d: _numbers_of(x[:, d], types[d] if d in leveled else None) for d in range(x.shape[1])}
    cells = {d: of_d for d, of_d in read.items() if of_d is not None and missing[d] < len(x)}
    numbers = [d for d, of_d in cells.items() if np.nanmin(of_d) < np.nanmax(of_d)]
    if len(numbers) > MOST_COLUMNS:
        numbers = [d for d in numbers if d not in leveled]
    kept: dict[int, _Number] = {}
    spans = {form: _Span() for form in SAYS}
    for d in sorted(numbers, key=lambda d: (missing[d], d)) if len(numbers) <= MOST_COLUMNS else ():
        number = _Number(names[d], cells[d])
        follow: dict[int, str] = {}
        # two columns of levels that say the same are found below
        single = {} if d in leveled else {k: other for k, other in kept.items() if k not in leveled}
        for k, other in single.items():
            if k in may_follow and number.is_finer(other) and (function := _of_one(other, [number])):
                follow[k] = f"{function}, but for rounding"
        if d not in may_follow or follow:
            function = None
        else:
            others = list(kept.values())
            function = _of_one(number, list(single.values()))
            for form, span in spans.items():
                if form in number.forms and not (number.there[form].all() and span.is_far(number.units[form])):
                    function = function or _of_several(number, others, form)
        for form, span in spans.items():
            if form in number.forms and number.there[form].all():
                span.add(number.units[form])
        if function:
            follow[d] = f"{function}, but for rounding"
        found |= follow
        kept = {k: other for k, other in {**kept, d: number}.items() if k not in follow}
    first: dict[bytes, int] = {}
    for d in sorted(leveled, key=lambda d: (missing[d], d)):
        # codes in the order of their first rows, so that columns that name the same groups are equal
        _, rows, inverse, counts = np.unique(
            x[:, d], return_index=True, return_inverse=True, return_counts=True, equal_nan=True
        )
        k = first.setdefault(np.argsort(np.argsort(rows))[inverse].tobytes(), d)
        arrangements = math.lgamma(len(x) + 1) - sum(math.lgamma(n + 1) for n in counts)
        if k != d and d not in found and arrangements > 2 * math.log(len(leveled)) - math.log(CHANCE):
            found[d] = f"{names[k]} says the same in other words"
    return dict(sorted(found.items()))


def _numbers_of(codes: NDArray[np.float64], type: ColumnType | None) -> NDArray[np.float64] | None:
    """The numbers that the levels of a column are written as, NaN where a cell is missing; None of words. Without a
    type they are no codes."""
    if type is None:
        return codes
    try:
        levels = np.array([float(level) for level in type.levels])
    except ValueError:
        return None
    if not np.isfinite(levels).all():
        return None
    numbers, known = np.full(len(codes), np.nan), ~np.isnan(codes)
    numbers[known] = levels[codes[known].astype(np.int64)]
    return numbers


class _Number:
    """A column of numbers ``[N]``, in its own units or as logarithms, with the largest error of rounding of each, and
    where it is known in that form: 0 has no logarithm."""

    def __init__(self, name: str, cells: NDArray[np.float64]) -> None:
        self.name, self.known, self.different = name, ~np.isnan(cells), len(np.unique(cells[~np.isnan(cells)]))
        present = cells[self.known]
        self.step = _step(present)
        self.forms = {"{}": (cells, np.full(len(cells), self.step / 2 + EXACT * np.abs(present).max()))}
        self.there, self.is_zero = {"{}": self.known}, cells == 0
        if present.min() >= 0 and self.different - self.is_zero.any() > 1:
            self.there["log({})"] = positive = cells > 0
            logs, errors = (np.full(len(cells), np.nan) for _ in range(2))
            logs[positive], errors[positive] = np.log(cells[positive]), self.forms["{}"][1][positive] / cells[positive]
            self.forms["log({})"] = (logs, errors)
        # of mean 0 and length 1, so that a product is a correlation; a missing value counts as the mean
        centred = {form: np.nan_to_num(values - np.nanmean(values)) for form, (values, _) in self.forms.items()}
        self.units = {form: values / np.linalg.norm(values) for form, values in centred.items()}

    def is_zero_with(self, factors: Sequence["_Number"]) -> bool:
        """Whether one of the factors is 0 in each row where it is."""
        return not (self.is_zero & ~np.any([factor.is_zero for factor in factors], axis=0)).any()

    def is_finer(self, other: "_Number") -> bool:
        """Whether it has far more different values than the other, and is no number of the rows."""
        counts_rows = self.step >= 1 and 2 * self.different > self.known.sum()
        return self.different > FINER * other.different and not counts_rows


class _Span:
    """Linear functions of columns without gaps, so that at little cost most columns are found to be none."""

    def __init__(self) -> None:
        self.basis: list[NDArray[np.float64]] = []

    def is_far(self, unit: NDArray[np.float64]) -> bool:
        """Whether the errors are too large of every linear function that stands for a column of length 1."""
        return float(np.linalg.norm(self._rest(unit))) > LARGEST_ERROR

    def add(self, unit: NDArray[np.float64]) -> None:
        """Take one more column."""
        rest = self._rest(unit)
        if (length := np.linalg.norm(rest)) > EXACT:
            self.basis.append(rest / length)

    def _rest(self, unit: NDArray[np.float64]) -> NDArray[np.float64]:
        # twice, as once leaves what rounding leaves
        for _ in range(2 if self.basis else 0):
            unit = unit - np.array([unit @ other for other in self.basis]) @ np.array(self.basis)
        return unit


def _step(values: NDArray[np.float64]) -> float:
    """The largest of `STEPS` of which all values are multiples; 0 without one."""
    few = values[:SCREENED]
    return next((step for step in STEPS if _is_multiple(few, step) and _is_multiple(values, step)), 0.0)


def _is_multiple(values: NDArray[np.float64], step: float) -> bool:
    """Whether all values are multiples of a step."""
    steps = values / step
    return bool((np.abs(steps - np.rint(steps)) <= EXACT * np.maximum(np.abs(steps), 1.0)).all())


def _of_one(number: _Number, others: Sequence[_Number]) -> str | None:
    """Write a number, or its logarithm, as a linear function of one other."""
    for other in others:
        if not (number.known <= other.known).all():
            continue
        for form, (y, error) in number.forms.items():
            for term, (x, error_of_x) in other.forms.items():
                rows = number.there[form]
                if not (rows <= other.there[term]).all():
                    continue
                if rows.all() and abs(number.units[form] @ other.units[term]) < CORRELATED:
                    continue
                fit = _fit(y[rows], x[rows, None], error[rows], error_of_x[rows, None])
                factors = [other] if term != "{}" and fit is not None and fit[0] > 0 else []
                if fit is not None and (form == "{}" or number.is_zero_with(factors)):
                    rounding = error[rows].max() + error_of_x[rows].max() * abs(fit[0])
                    function = _write_terms(fit, [term.format(other.name)], y[rows], rounding)
                    return f"{function} says {SAYS[form]}"
    return None


def _of_several(number: _Number, others: Sequence[_Number], form: str) -> str | None:
    """Write a number in a form as a linear function of several others in this form."""
    others = [other for other in others if form in other.forms and (number.known <= other.known).all()]
    rows = number.there[form]
    others = [other for other in others if (rows <= other.there[form]).all()]
    y, error = (values[rows] for values in number.forms[form])
    while len(others) > 1 and len(y) >= FEWEST + PER_COEFFICIENT * len(others):
        x, errors = (np.column_stack([other.forms[form][i][rows] for other in others]) for i in (0, 1))
        if (fit := _fit(y, x, error, errors)) is None:
            return None
        size = np.abs(fit[:-1]) * x.std(axis=0)
        matters = size > error.max()
        # cells of many digits give columns that say nothing a coefficient of rounding errors
        if matters.all() and len(others) > 2:
            least = size.argmin()
            matters[least] = _fit(y, np.delete(x, least, 1), error, np.delete(errors, least, 1)) is None
        if matters.all():
            if form != "{}" and len(others) > SHOWN:  # no product that anybody makes
                return None
            # few different rows are a function of anything
            different = len(np.unique(x[:: -(-len(x) // SCREENED)], axis=0))
            factors = [other for other, slope in zip(others, fit, strict=False) if slope > 0]
            is_product = form == "{}" or number.is_zero_with(factors)
            if different < PER_COEFFICIENT * (1 + len(others)) or not is_product:
                return None
            names = [form.format(other.name) for other in others]
            more = f"a linear function of {', '.join(names[:SHOWN])} and {len(names) - SHOWN} more"
            function = _write_terms(fit, names, y, error.max()) if len(names) <= SHOWN else more
            return f"{function} says {SAYS[form]}"
        others = [other for other, is_term in zip(others, matters, strict=True) if is_term]
    return None


def _fit(
    y: NDArray[np.float64], x: NDArray[np.float64], error: NDArray[np.float64], errors: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """The coefficients and the constant of y ``[n]`` as a linear function of x ``[n, p]``, if rounding (`error` ``[n]``
    and `errors` ``[n, p]`` at most) explains what is left; of many rows, a part is looked at first."""
    n, p = x.shape
    for rows in (slice(None, None, -(-n // SCREENED)), slice(None))[n <= SCREENED :]:
        part, target = x[rows], y[rows]
        scale, spread = part.std(axis=0), target.std()
        if len(target) < FEWEST + PER_COEFFICIENT * p or not spread > 0 or not (scale > 0).all():
            return None
        centred, y_centred = part - part.mean(axis=0), target - target.mean()
        if p == 1:
            slopes = y_centred @ centred / scale**2 / len(target)
        else:
            q, r = np.linalg.qr(centred / scale)
            slopes = np.linalg.lstsq(r, q.T @ y_centred, rcond=None)[0] / scale
        left = y_centred - centred @ slopes
        most = error[rows] + errors[rows] @ np.abs(slopes)
        # an error of rounding is uniform
        typical = np.sqrt(np.mean(error[rows] ** 2 + errors[rows] ** 2 @ slopes**2) / 3)
        if error[rows].max() > COARSE * spread:
            most, typical = np.full(len(target), EXACT * np.abs(target).max()), spread
        if (np.abs(left) > SLACK * most).any() or left.std() > min(SLACK * typical, LARGEST_ERROR * spread):
            return None
    return np.append(slopes, target.mean() - part.mean(axis=0) @ slopes)


def _write_terms(fit: NDArray[np.float64], names: Sequence[str], y: NDArray[np.float64], error: float) -> str:
    """Write a linear function as text, without a constant that rounding explains: of the cells of y, or of single
    precision; else the constant has the digits that rounding leaves."""
    least = max(SLACK * error, SINGLE * np.abs(y).max())
    terms = [(c, name) for c, name in zip(fit, [*names, ""], strict=True) if name or abs(c) > least]
    text = ""
    for coefficient, name in sorted(terms, key=lambda term: term[0] < 0):
        size = f"{float(f'{abs(coefficient):.3g}'):.6g}"
        written = (float(f"{abs(coefficient):.{digits}g}") for digits in range(1, 7))
        constant = next((value for value in written if abs(value - abs(coefficient)) <= error), abs(coefficient))
        term = f"{size} * {name}" if name and size != "1" else name or f"{constant:.6g}"
        sign = "-" if coefficient < 0 else "+"
        text += f" {sign} {term}" if text else term if coefficient > 0 else f"-{term}"
    return text
