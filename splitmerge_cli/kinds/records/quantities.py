"""Quantities of records, for checks of the model: in how many fields records of one entity differ, and whether fields
depend on each other."""

from itertools import combinations
from typing import Any

import numpy as np

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.runs.quantities import BOTH, ONE, SEVERAL, Found, Labels, Quantities

MOST_CELLS = 2_000_000
"""Cells of records that are drawn, at most."""
MOST_FIELDS = 8
"""Fields of which each two are looked at: the first ones."""
LEAST = 10.0
"""Pairs of entities that agree in two fields by chance, at least, where the fields are compared."""


def _count_pairs(values: Labels) -> float:
    """Pairs of equal values."""
    n = np.unique(values, return_counts=True)[1]
    return float((n * (n - 1.0)).sum() / 2.0)


class Records(Quantities):
    """Codes of fields, int32 ``[N, F]``, -1 where a cell is missing."""

    def __init__(self, dataset: Dataset, cells: int | None = None) -> None:
        self.values = dataset.values
        self._missing = dataset.values < 0
        self._names = [str(name) for name in dataset.column_names]
        self.unchecked = ["fields one by one: their values' shares are learned", "whether cells are missing by chance"]
        if len(self._names) > MOST_FIELDS:
            self.unchecked.append(f"whether fields depend on each other, but for the first {MOST_FIELDS}")

    @staticmethod
    def explain_unmeasured(dataset: Dataset) -> str | None:
        if dataset.values.size > MOST_CELLS:
            return f"records of more than {MOST_CELLS:,} cells; here are {dataset.values.size:,}"
        return None

    @staticmethod
    def count_work(dataset: Dataset, cells: int) -> int:
        """Its cells, and its pairs of fields."""
        N, F = dataset.values.shape
        return int(N * (F + min(F, MOST_FIELDS) ** 2 / 2))

    def take(self, replication: Any) -> Any:
        return np.where(self._missing, -1, replication)

    def measure(self, x: Any, labels: Labels) -> Found:
        """Pairs of records that follow each other in an entity; and for every two fields pairs of entities, by their
        first records."""
        order = np.argsort(labels, kind="stable")
        here = np.flatnonzero(labels[order][1:] == labels[order][:-1])
        a, b = x[order[here]], x[order[here + 1]]
        differ = ((a != b) & (a >= 0) & (b >= 0)).sum(axis=1)
        found = {
            ("records of one entity", name): float(of.mean()) if len(of) else np.nan
            for name, of in ((ONE, differ == 1), (SEVERAL, differ > 1))
        }
        first = x[order[np.append(0, np.flatnonzero(np.diff(labels[order])) + 1)]].astype(np.int64)
        for f, g in combinations(range(min(x.shape[1], MOST_FIELDS)), 2):
            both = first[(first[:, f] >= 0) & (first[:, g] >= 0)][:, [f, g]]
            together = _count_pairs(both[:, 0] << 32 | both[:, 1])
            by_chance = (
                _count_pairs(both[:, 0]) * _count_pairs(both[:, 1]) / max(len(both) * (len(both) - 1) / 2.0, 1.0)
            )
            found[f"{self._names[f]}, {self._names[g]}", BOTH] = together / by_chance if by_chance >= LEAST else np.nan
        return found
