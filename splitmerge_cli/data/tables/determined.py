"""Columns that others determine, as inches follow from centimetres, a total from its parts, a code from its word.

Such a column tells nothing new, yet a model counts it as evidence of its own: of the irises with the sepal length in
inches as a fifth column, the adjusted Rand index falls from .90 to .57. Three things are looked for:

* a number, or its logarithm, that is a linear function of another number, or its logarithm;
* a linear function of several numbers;
* levels that stand for those of another column, one for one.

All but for the rounding of every column. The column with the most missing cells follows from the others; of several,
the last.
"""

import math
from collections.abc import Callable, Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.dataset import ColumnType
from splitmerge_cli.data.tables.notes import note_left_out
from splitmerge_cli.data.tables.table import Table, column_key

FEWEST = 10
"""Rows at least; for each coefficient of a linear function, `PER_COEFFICIENT` more."""
PER_COEFFICIENT = 3
SCREENED = 1000
"""Rows that are looked at first."""
MOST_COLUMNS = 60
"""Columns of numbers, at most: of more, one counts little."""
LARGEST_ERROR = 0.05
"""Largest standard deviation of the errors over that of the column."""
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
STEPS = 10.0 ** np.arange(6, -13, -1)
"""Steps to which a column may be rounded."""
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
        table.notes.append(f"{table.path}: {table.column(columns[d])} counts twice: {found.pop(d)}")
    table.determined = [column_key(table, columns[d]) for d in found]
    reasons = {columns[d]: f"{why}, and it would count twice" for d, why in found.items()}
    for j in list(reasons)[SHOWN:]:
        reasons[j] = "other columns say the same, and they would count twice"
    note_left_out(table, reasons, {columns[d]: otherwise(d) for d in found})
    return [d for d in range(len(columns)) if d not in found]


def find_determined(
    x: NDArray[np.float64], names: Sequence[str], types: Sequence[ColumnType | None] = ()
) -> dict[int, str]:
    """Find the columns of a table that others determine, and why.

    Parameters
    ----------
    x
        The cells, float64 ``[N, D]``, NaN where one is missing; of a column with levels, their codes.
    names
        What each column is called.
    types
        Their types; without them all are numbers.

    Returns
    -------
    dict
        How a column follows from others, none of which follows from it, by its position.

    Examples
    --------
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
    numbers = [d for d in range(x.shape[1]) if d not in leveled and missing[d] < len(x)]
    numbers = [d for d in numbers if np.nanmin(x[:, d]) < np.nanmax(x[:, d])]
    kept: list[_Number] = []
    for d in sorted(numbers, key=lambda d: (missing[d], d)) if len(numbers) <= MOST_COLUMNS else ():
        number = _Number(names[d], x[:, d])
        function = (_of_one(number, kept) or _of_several(number, kept)) if d in may_follow else None
        if function is None:
            kept.append(number)
        else:
            found[d] = f"{function}, but for rounding"
    first: dict[bytes, int] = {}
    for d in sorted(leveled, key=lambda d: (missing[d], d)):
        # codes in the order of their first rows, so that columns that name the same groups are equal
        _, rows, inverse, counts = np.unique(
            x[:, d], return_index=True, return_inverse=True, return_counts=True, equal_nan=True
        )
        k = first.setdefault(np.argsort(np.argsort(rows))[inverse].tobytes(), d)
        arrangements = math.lgamma(len(x) + 1) - sum(math.lgamma(n + 1) for n in counts)
        if k != d and arrangements > 2 * math.log(len(leveled)) - math.log(CHANCE):
            found[d] = f"{names[k]} says the same in other words"
    return dict(sorted(found.items()))


class _Number:
    """A column of numbers ``[N]``, in its own units or as logarithms, with the largest error of rounding of each."""

    def __init__(self, name: str, cells: NDArray[np.float64]) -> None:
        self.name, self.known = name, ~np.isnan(cells)
        present = cells[self.known]
        few = present[:SCREENED]
        step = next((step for step in STEPS if _is_multiple(few, step) and _is_multiple(present, step)), 0.0)
        self.forms = {"{}": (cells, np.full(len(cells), step / 2 + EXACT * np.abs(present).max()))}
        if present.min() > 0:
            self.forms["log({})"] = (np.log(cells), self.forms["{}"][1] / cells)
        self.units = {form: _as_unit(values) for form, (values, _) in self.forms.items()}


def _as_unit(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values of mean 0 and length 1, so that a product is a correlation; a missing one counts as the mean."""
    centred = np.nan_to_num(values - np.nanmean(values))
    return centred / np.linalg.norm(centred)


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
                if number.known.all() and abs(number.units[form] @ other.units[term]) < CORRELATED:
                    continue
                fit = _fit(y[number.known], x[number.known, None], error[number.known], error_of_x[number.known, None])
                if fit is not None:
                    same = "the same" if form == "{}" else "the same as its logarithm"
                    return f"{_written(fit, [term.format(other.name)], error[number.known].max())} says {same}"
    return None


def _of_several(number: _Number, others: Sequence[_Number]) -> str | None:
    """Write a number as a linear function of several others."""
    others = [other for other in others if (number.known <= other.known).all()]
    y, error = (values[number.known] for values in number.forms["{}"])
    while len(others) > 1 and len(y) >= FEWEST + PER_COEFFICIENT * len(others):
        x, errors = (np.column_stack([other.forms["{}"][i][number.known] for other in others]) for i in (0, 1))
        if (fit := _fit(y, x, error, errors)) is None:
            return None
        matters = np.abs(fit[:-1]) * x.std(axis=0) > error.max()
        if matters.all():
            names = [other.name for other in others]
            more = f"a linear function of {', '.join(names[:SHOWN])} and {len(names) - SHOWN} more"
            return f"{_written(fit, names, error.max()) if len(names) <= SHOWN else more} says the same"
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


def _written(fit: NDArray[np.float64], names: Sequence[str], error: float) -> str:
    """A linear function as text, without a constant that rounding explains."""
    terms = [(c, name) for c, name in zip(fit, [*names, ""], strict=True) if name or abs(c) > SLACK * error]
    text = ""
    for coefficient, name in sorted(terms, key=lambda term: term[0] < 0):
        size = f"{abs(coefficient):.3g}"
        term = f"{size} * {name}" if name and size != "1" else name or f"{abs(coefficient):.6g}"
        sign = "-" if coefficient < 0 else "+"
        text += f" {sign} {term}" if text else term if coefficient > 0 else f"-{term}"
    return text
