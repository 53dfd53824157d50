"""Quantities of records, for checks of the model: in how many fields records of one entity differ, and whether fields
depend on each other."""

from itertools import combinations
from typing import Any

import numpy as np

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.runs.quantities import BOTH, Found, Labels, Quantities

MOST_CELLS = 2_000_000
"""Cells of records that are drawn, at most."""
MOST_FIELDS = 8
"""Fields of which each two are looked at: the first ones."""
ONE = "share of pairs that differ in one field"
SEVERAL = "share of pairs that differ in several fields"


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
            known = (first[:, f] >= 0) & (first[:, g] >= 0)
            n = np.unique(first[known, f] << 32 | first[known, g], return_counts=True)[1]
            found[f"{self._names[f]}, {self._names[g]}", BOTH] = float((n * (n - 1.0)).sum() / 2.0)
        return found
