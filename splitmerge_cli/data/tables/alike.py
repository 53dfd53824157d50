"""Neighbouring columns of whole numbers that are alike, as species, pixels and answers are: all are read as one type.

One column alone does not show what its neighbours do: a species with the values 0, 1 and 2 looks like a category, one
with larger values like a count or a real number. Columns that stand side by side are alike if most of them begin and
end at the same two numbers (a scale), or if most begin at 0 and hold that most often, and some are counts when read
alone. A short scale is categorical; all else are counts. So are columns of large numbers whose rows have totals that
differ as in samples of unequal size.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.tables.inference import MOST_NUMBERS, SOME_FROM_0

FEWEST = 5
"""Columns that hold three values or more, at least, among those that are alike."""
WIDE = 10
"""Columns of mostly zeros, at least, among which others of whole numbers that overlap them are counts, too."""
ON_SCALE = 0.75
"""Share of the columns that begin and end at the same two numbers, on a scale."""
COUNTS = 0.1
"""Share of the columns that are counts when read alone, at least, where all are read as counts."""
EXPECTED = 3.0
"""Rows with 2 or more that a Poisson distribution expects: a column of 0 and 1 for which it expects more is no count.
"""


UNEQUAL = 0.3
"""Columns of large numbers are counts if row totals have at least this standard deviation over mean. Five tables of
measurements (digits, letters, linnerud, satellite, vehicle) have 0.11 to 0.20."""


@dataclass(frozen=True)
class Numbers:
    """A column of whole numbers from 0 on: its place, type, different values, and the rows that hold each."""

    j: int
    type: str
    different: NDArray[np.float64]
    rows: NDArray[np.int64]

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest value."""
        return float(self.different[0]), float(self.different[-1])

    @property
    def is_mostly_0(self) -> bool:
        """Whether 0 is the commonest value."""
        return self.ends[0] == 0 and int(np.argmax(self.rows)) == 0

    @property
    def is_flag(self) -> bool:
        """Whether the values are 0 and 1 in a way that counts are not, or any other two without 0."""
        if len(self.different) > 2 or self.ends[0] == 0 < self.ends[1] - 1:
            return False
        mean = self.rows[-1] / self.rows.sum()
        return self.ends != (0, 1) or bool(self.rows.sum() * (1 - np.exp(-mean) * (1 + mean)) > EXPECTED)


def whole_numbers(j: int, type: str, present: NDArray[np.float64]) -> Numbers | None:
    """The column of these cells, none of them missing; None if they are not whole numbers from 0 on."""
    is_whole = ((present >= 0) & (present == np.floor(present))).all()
    return Numbers(j, type, *np.unique(present, return_counts=True)) if is_whole else None


def read_alike(columns: Sequence[Numbers | None], cells: Callable[[int], NDArray[np.float64] | None]) -> dict[int, str]:
    """Types of columns that are to be read as their neighbours, by position. `columns`: in the order of the table; None
    stands for any other column. `cells`: the numbers of the column at a position; None where cells are missing.
    """
    types: dict[int, str] = {}
    for _, neighbours in groupby(columns, key=lambda one: one is None):
        run = [one for one in neighbours if one is not None]
        numbers = [one for one in run if not one.is_flag]
        if len(run) >= FEWEST and {one.type for one in run} <= {"real", "count"} and _are_samples(run, cells):
            types |= {one.j: "count" for one in run if one.type != "count"}
        elif len({one.type for one in numbers}) > 1:
            members, type = _choose_type(numbers)
            # a binary column is one of two categories
            same = {type, "binary"} if type == "categorical" else {type}
            types |= {one.j: type for one in members if one.type not in same}
    return types


def _are_samples(run: Iterable[Numbers], cells: Callable[[int], NDArray[np.float64] | None]) -> bool:
    """Whether row totals differ as in samples of unequal size."""
    totals: NDArray[np.float64] | float = 0.0
    for one in run:
        if (numbers := cells(one.j)) is None:
            return False
        totals = totals + numbers
    return float(np.std(totals)) >= UNEQUAL * float(np.mean(totals))


def _choose_type(numbers: list[Numbers]) -> tuple[list[Numbers], str]:
    """The columns that are alike, and their type; no columns where too few are."""
    several = [one.ends for one in numbers if len(one.different) > 2]
    zeros = [one for one in numbers if one.is_mostly_0]
    are_zeros, ends = 2 * len(zeros) > len(numbers), max(set(several), key=several.count, default=(0, 0))
    if len(several) < FEWEST:
        return [], ""
    if several.count(ends) >= ON_SCALE * len(several):
        members = [one for one in numbers if ends[0] <= one.ends[0] and one.ends[1] <= ends[1]]
        different = np.unique(np.concatenate([one.different for one in members]))
        if len(different) <= (SOME_FROM_0 if are_zeros else MOST_NUMBERS):
            return members, "categorical"
    counts = sum(one.type == "count" for one in numbers)
    if not are_zeros or sum(len(one.different) > 2 for one in zeros) < FEWEST or counts < COUNTS * len(numbers):
        return [], ""
    if len(zeros) < WIDE:
        return zeros, "count"
    largest = max(one.ends[1] for one in zeros)
    near = [one for one in numbers if one.ends[0] <= largest]
    beyond = [one for one in near if one.ends[1] > largest]
    # a few species are common; more columns of larger numbers are something else
    return [one for one in near if one not in beyond or WIDE * len(beyond) < len(near)], "count"
