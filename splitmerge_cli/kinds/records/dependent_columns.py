"""Columns of records that follow from another one, as a town does from a postcode: their agreement counts twice.

Two measures, both corrected for chance:

* Rows: in how many the cell of one column is a part of the cell of the other, as a year is of a date.
* Pairs of records with the same value in one column: how many agree in the other. Duplicates agree in every column,
  whether or not one follows from another, so that a mixture of duplicates and different entities is fitted by all
  columns, and the share of the latter is compared with the share of duplicates, which have errors, too.
"""

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import OSA
from rapidfuzz.process import cpdist

from splitmerge_cli.data.dataset import ColumnType

LEAST_SHARE = 0.4
"""Share of a column that follows from another, from which on it is left out."""
LEAST_COLUMNS = 3
"""Fewest columns: two that agree leave none that shows whether the records are of one entity."""
MOST_PAIRS, MOST_ROWS = 5000, 1000
"""Pairs of records that are compared for each column, and rows."""
LEAST_RECORDS = 10
"""Fewest records that share their values with others of other entities."""
DIFFERENT = 0.1
"""Fewest pairs of different entities among those with the same value: of fewer, most may be duplicates with errors."""
LETTERS, MOST_EDITS = 5, 2
"""Two words are alike if they differ by one edit in so many letters, and most edits: short ones, and codes, are often
near."""
KEPT, LEAST_KEPT = 0.9, 0.6
"""Share of duplicates that agree in a column: at first, and at the least."""
LEAST_GAIN = 4.0
"""Log likelihood that is lost at the least if half of `LEAST_SHARE` follows."""
STEPS = 30
"""Steps of EM."""
COVERED = 0.8
"""Share of a text that its parts cover, from which on it holds nothing else."""

_DIGIT = re.compile(r"\d")
Pairs = NDArray[np.bool_]


class Follows(NamedTuple):
    """The columns `of` which one is a function, and for what share of rows, or of pairs with the same value, it is."""

    of: list[int]
    share: float


def find_followers(values: NDArray[np.int32], types: tuple[ColumnType, ...]) -> dict[int, Follows]:
    """Find the columns that follow from others that stay, by the codes ``[N, F]`` and types of the fields."""
    N, F = values.shape
    if N < 2 or F < LEAST_COLUMNS:
        return {}
    return _Columns(values, types).find()


class _Columns:
    """The columns that are compared: those in `left` remain."""

    def __init__(self, values: NDArray[np.int32], types: tuple[ColumnType, ...]) -> None:
        self.values, self.types = values, types
        self.N, self.F = values.shape
        self.rng = np.random.default_rng(0)
        self.texts = [np.array(field.levels, dtype=object) for field in types]
        known = values >= 0
        counts = [np.bincount(values[known[:, f], f]) for f in range(self.F)]
        self.entropy = [float(-(c / c.sum() * np.log(c / c.sum())).sum()) for c in counts]
        a = self.rng.integers(self.N, size=MOST_PAIRS)
        both, alike = self.compare(a, (a + self.rng.integers(1, self.N, size=MOST_PAIRS)) % self.N)
        # no column is ever, or never, alike by chance
        self.base = (alike.sum(axis=0) + 0.5) / (both.sum(axis=0) + 1.0)
        self.left = list(range(self.F))

    def compare(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> tuple[Pairs, Pairs]:
        """Whether pairs of records have both cells of each column ``[pairs, F]``, and whether these are alike."""
        x, y = self.values[a], self.values[b]
        both = (x >= 0) & (y >= 0)
        alike = both & (x == y)
        for f, field in enumerate(self.types):
            if field.type != "string":
                continue
            rows = np.flatnonzero(both[:, f] & ~alike[:, f])
            one, other = self.texts[f][x[rows, f]], self.texts[f][y[rows, f]]
            letters = [
                min(map(len, pair)) * (not _DIGIT.search("".join(pair))) for pair in zip(one, other, strict=True)
            ]
            limit = np.minimum(np.array(letters, dtype=int) // LETTERS, MOST_EDITS)
            if len(rows):
                alike[rows, f] = cpdist(one, other, scorer=OSA.distance, score_cutoff=MOST_EDITS) <= limit
        return both, alike

    def find(self) -> dict[int, Follows]:
        found = self.find_parts()
        for parent in sorted(self.left, key=self.entropy.__getitem__):
            shares = self.shares_given(parent)
            for child in [f for f in self.left if f != parent]:
                if parent not in self.left or shares[child] < LEAST_SHARE:
                    continue
                kept, out = parent, child
                back = self.shares_given(child)[parent]
                if back >= LEAST_SHARE and self.entropy[child] > self.entropy[parent]:
                    kept, out, shares[child] = child, parent, back
                found[out] = Follows([kept], float(shares[child]))
                self.left.remove(out)
        return found

    def find_parts(self) -> dict[int, Follows]:
        """Columns whose cells are parts of another one's, or of which others are all parts; they are taken from
        `left`."""
        rows = self.rng.permutation(self.N)[:MOST_ROWS]
        words = [[str(texts[x]) if x >= 0 else "" for x in self.values[rows, f]] for f, texts in enumerate(self.texts)]
        length = [_mean_length(column) for column in words]
        letters = [_mean_length(["".join(filter(str.isalnum, word)) for word in column]) for column in words]
        found: dict[int, Follows] = {}
        # the longest first; of two copies the first stays
        for whole in sorted(self.left, key=lambda f: (-length[f], f)):
            later = [f for f in self.left if (length[f], -f) < (length[whole], -whole)]
            shares = {f: self.share_within(words[f], words[whole], whole) for f in later} if whole in self.left else {}
            parts = [f for f, share in shares.items() if share >= LEAST_SHARE]
            if len(parts) > 1 and sum(length[f] for f in parts) >= COVERED * letters[whole]:
                found[whole] = Follows(parts, min(shares[f] for f in parts))
            else:
                found |= {f: Follows([whole], shares[f]) for f in parts}
            self.left = [f for f in self.left if f not in found]
        return found

    def share_within(self, part: list[str], whole: list[str], of: int) -> float:
        """The share of the rows with a `part` in which it is within the `whole` of the column `of`, more than in rows
        drawn by chance; 0 where that is not certain."""

        def is_within(word: str, text: str) -> bool:
            if self.types[of].type != "date":
                return word in text
            return word == text or word.lstrip("0") in [number.lstrip("0") for number in text.split("-") if number]

        present = [i for i, word in enumerate(part) if word]
        if len(present) < 2 * LEAST_RECORDS:
            return 0.0
        rate = sum(is_within(part[i], whole[i]) for i in present) / len(present)
        by_chance = sum(is_within(part[i], whole[i - len(whole) // 2]) for i in present) / len(present)
        error = np.sqrt(max(rate * (1.0 - rate), 1.0 / len(present)) / len(present))
        certain = rate - error - by_chance > LEAST_SHARE / 2 * (1.0 - by_chance)
        return float((rate - by_chance) / (1.0 - by_chance)) if certain else 0.0

    def shares_given(self, parent: int) -> NDArray[np.float64]:
        """The share of each column ``[F]`` that follows from `parent`; 0 where that is not certain."""
        a, b = self.pairs_within(parent)
        shares, present = np.zeros(self.F), (self.values >= 0)
        if not len(a):
            return shares
        both, alike = self.compare(a, b)
        used = np.unique(np.concatenate((a, b)))
        records = len(used) - len(np.unique(self.values[used, parent]))
        for child in [f for f in self.left if f != parent]:
            room, known = 1.0 - self.base[child], both[:, child]
            kept = present[present[:, child], parent].mean()
            others = [f for f in self.left if f not in (parent, child)]
            # duplicates agree, too: a column that follows does so in all pairs
            raw = (alike[known, child].mean() - self.base[child]) / room if known.any() else 0.0
            if not others or records < LEAST_RECORDS or kept * raw < LEAST_SHARE * LEAST_KEPT:
                continue
            columns = [child, *others]
            data = both[np.ix_(known, columns)], alike[np.ix_(known, columns)], self.base[columns]
            free, rate, of_same, different = _fit_pairs(*data)
            least = _fit_pairs(*data, rate=self.base[child] + room * LEAST_SHARE / 2)[0]
            # pairs of the same records are not independent
            gain = (free - least) * min(records / known.sum(), 1.0)
            if gain > LEAST_GAIN and different > DIFFERENT:
                # errors part duplicates, too
                shares[child] = kept * min((rate - self.base[child]) / max(of_same - self.base[child], 1e-9), 1.0)
        return shares

    def pairs_within(self, parent: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pairs of records with the same value, drawn from all of these."""
        records = self.rng.permutation(np.flatnonzero(self.values[:, parent] >= 0))
        records = records[np.argsort(self.values[records, parent], kind="stable")]
        codes = self.values[records, parent]
        found, step, size = [np.empty((0, 2), dtype=np.int64)], 1, 0
        while size < 2 * MOST_PAIRS:
            here = np.flatnonzero(codes[step:] == codes[: len(codes) - step])
            if not len(here):
                break
            found.append(np.column_stack((records[here], records[here + step])))
            step, size = step + 1, size + len(here)
        pairs = self.rng.permutation(np.concatenate(found))[:MOST_PAIRS]
        return pairs[:, 0], pairs[:, 1]


def _mean_length(words: list[str]) -> float:
    """The mean number of letters of the words that are not empty."""
    return sum(map(len, words)) / max(sum(map(bool, words)), 1)


def _fit_pairs(
    both: Pairs, alike: Pairs, base: NDArray[np.float64], rate: float | None = None
) -> tuple[float, float, float, float]:
    """Fit a mixture of duplicates and different entities to pairs ``[pairs, columns]``, by EM.

    Columns of different entities agree as by chance (`base`), the first one at a `rate` of its own. Returns the log
    likelihood, this rate, that of duplicates, and the share of pairs of different entities.
    """
    agrees, differs = alike.astype(float), (both & ~alike).astype(float)
    same, chance, duplicates = np.full(len(base), KEPT), base.copy(), 0.5
    chance[0] = KEPT if rate is None else rate
    for _step in range(STEPS):
        of_same = agrees @ np.log(same) + differs @ np.log1p(-same) + np.log(duplicates)
        of_chance = agrees @ np.log(chance) + differs @ np.log1p(-chance) + np.log1p(-duplicates)
        total = np.logaddexp(of_same, of_chance)
        weight = np.exp(of_same - total)
        duplicates = float(np.clip(weight.mean(), 0.001, 0.999))
        same = np.clip((weight @ agrees + KEPT) / (weight @ (agrees + differs) + 1.0), LEAST_KEPT, 0.999)
        if rate is None:
            different = 1.0 - weight
            chance[0] = np.clip((different @ agrees[:, 0]) / max(different.sum(), 1e-9), base[0], 0.999)
    return float(total.sum()), float(chance[0]), float(same[0]), 1.0 - duplicates
