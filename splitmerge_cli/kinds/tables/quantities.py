"""Quantities of tables in clusters, which posterior predictive checks compare with replications."""

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.runs import checks

MOST_COLUMNS = 50
"""Columns that are drawn of a table: those with most cells that are not 0."""
ZEROS = "share of zeros"
TIE = "residual dependence within clusters"
PAIR = 60
"""Cells that take as long as a pair of columns."""


class Table(checks.Quantities):
    """Single columns, and the association of two columns within clusters."""

    effects: ClassVar = {
        checks.SKEWNESS: checks.Effect(0.3),
        checks.KURTOSIS: checks.Effect(0.5),
        checks.DISPERSION: checks.Effect(0.3, is_share=True),
        ZEROS: checks.Effect(0.03),
        TIE: checks.Effect(0.2, is_more=True),
    }

    def __init__(self, dataset: Dataset, cells: int | None = None) -> None:
        x, D = dataset.values, dataset.values.shape[1]
        names = dataset.column_names
        self.unchecked: list[str] = []
        chosen = np.arange(D)
        if D > MOST_COLUMNS:
            filled = np.bincount(x.nonzero()[1], minlength=D)
            chosen = self.columns = np.sort(np.argsort(-filled, kind="stable")[:MOST_COLUMNS])
            self.unchecked.append(f"{D - MOST_COLUMNS:,} of {D:,} columns, those with most cells that are 0")
        if (step := -(-dataset.N * len(chosen) // (cells or checks.MOST_CELLS))) > 1:
            self.rows = np.arange(0, dataset.N, step)
            x = x[self.rows]
            self.unchecked.append(f"all rows but {len(self.rows):,} of {dataset.N:,}, evenly spaced")
        x = x[:, chosen]
        self.values = np.asarray(x.toarray() if hasattr(x, "toarray") else x, dtype=np.float64)
        types = dataset.kind.types_of(dataset)
        self.of_columns = [(str(names[j]), types[j].type, len(types[j].levels)) for j in chosen]
        self._has_words = any(one.type == "ordinal" and not one.levels[0].isdecimal() for one in types)
        self._missing = np.isnan(self.values)
        if any(levels and form != "ordinal" for _, form, levels in self.of_columns):
            why = "shares of a cluster always fit; its ties to other columns are checked"
            self.unchecked.append(f"a binary or categorical column alone: {why}")
        if any(form == "ordinal" for _, form, _ in self.of_columns):
            self.unchecked.append(
                "an ordinal column alone: a cluster fits the shares of its levels with two numbers, so shares with "
                "two peaks do not fit; its ties to other columns are checked"
            )
        if self._missing.any():
            self.unchecked.append("whether cells are missing by chance: the model takes that as given")

    @staticmethod
    def count_work(dataset: Dataset, cells: int) -> int:
        """Its cells, and the pairs of its columns."""
        N, D = dataset.values.shape
        return int(N * D + PAIR * min(D, MOST_COLUMNS) ** 2)

    def take(self, replication: Any) -> checks.Array:
        """The cells that the data have."""
        return np.where(self._missing, np.nan, replication)

    def expect(self, x: checks.Array, labels: checks.Labels) -> checks.Array:
        """Return what the cells of a column are expected to be, given their clusters: the means of these."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return (checks.sum_by_cluster(x, labels) / checks.sum_by_cluster(~np.isnan(x), labels))[labels]

    def measure(self, x: checks.Array, labels: checks.Labels) -> checks.Found:
        """Third and fourth moments of real columns, spread and zeros of counts, association of every two columns."""
        measured: checks.Found = {}
        scores: list[checks.Array] = []
        of_column: list[int] = []
        for j, (name, form, levels) in enumerate(self.of_columns):
            cells = x[:, j]
            known = ~np.isnan(cells)
            # a column for each level, of two levels one
            features = [np.where(known, cells == level, np.nan) for level in range(levels == 2, levels)] or [cells]
            expected = self.expect(features[0], labels)
            residual = features[0] - expected
            if form == "real":
                z = checks.standardize(residual, labels)
                measured[name, checks.SKEWNESS] = checks.mean_of_finite(z * z * z)
                measured[name, checks.KURTOSIS] = checks.mean_of_finite((z * z) ** 2)
            elif form == "count":
                with np.errstate(invalid="ignore", divide="ignore"):
                    residual = np.where(expected > 0, residual / np.sqrt(expected), np.where(known, 0.0, np.nan))
                measured[name, checks.DISPERSION] = checks.mean_of_finite(residual[expected > 0] ** 2)
                measured[name, ZEROS] = checks.mean_of_finite(np.where(known, cells == 0, np.nan))
            scores += [residual, *(feature - self.expect(feature, labels) for feature in features[1:])]
            of_column += [j] * len(features)
        return measured | _average(measured) | self._ties(np.stack(scores, axis=1), np.array(of_column))

    def describe(self, check: checks.Check) -> dict[str, Any]:
        """Whether a tie is one of real columns, and whether ordinal columns hold words, which are no numbers."""
        if not check.quantity.endswith(TIE):
            return {}
        forms = {name: form for name, form, _ in self.of_columns}
        named = [name for name in check.subject.split(" and ") if name in forms]
        are_reals = all(forms[name] == "real" for name in named or forms)
        return {"of_reals": are_reals} | ({"of_words": True} if self._has_words else {})

    def _ties(self, values: checks.Array, of_column: NDArray[np.int64]) -> checks.Found:
        """Residual association of every two columns: root of the summed squared correlations between their scores."""
        known = ~np.isnan(values)
        values = np.where(known, values, 0.0)
        products, squares = values.T @ values, values * values
        squares = (
            squares.T @ known if not known.all() else np.broadcast_to(squares.sum(axis=0)[:, None], products.shape)
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            correlation = products / np.sqrt(squares * squares.T)
        correlation = np.nan_to_num(correlation, nan=0.0, posinf=0.0, neginf=0.0)
        D = len(self.of_columns)
        home = np.zeros((len(of_column), D))
        home[np.arange(len(of_column)), of_column] = 1.0
        ties = np.sqrt(home.T @ correlation**2 @ home)
        names = [name for name, _, _ in self.of_columns]
        return {(f"{names[a]} and {names[b]}", TIE): float(ties[a, b]) for a in range(D) for b in range(a + 1, D)}


def _average(values_by_key: checks.Found) -> checks.Found:
    """Return the averages over columns: many small differences add up. Skewness of either sign counts."""
    values: dict[str, list[float]] = {}
    for (_, quantity), value in values_by_key.items():
        values.setdefault(quantity, []).append(value)
    averages: checks.Found = {}
    for quantity, of_columns in values.items():
        if len(of_columns) > 1:
            has_sign = quantity == checks.SKEWNESS
            mean = checks.mean_of_finite(np.square(of_columns) if has_sign else np.array(of_columns))
            name = f"{'root mean square' if has_sign else 'mean'} {quantity}"
            averages[f"{len(of_columns)} columns", name] = math.sqrt(mean) if has_sign else mean
    return averages


class Shares(Table):
    """Rows of given totals: what is expected of a count is its row's total times the share of its column."""

    def __init__(self, dataset: Dataset, cells: int | None = None) -> None:
        super().__init__(dataset, cells)
        totals = np.asarray(dataset.values.sum(axis=1), dtype=np.float64).ravel()
        self._totals = totals if self.rows is None else totals[self.rows]
        self.unchecked.append("the totals of rows: the model takes them as given")

    def expect(self, x: checks.Array, labels: checks.Labels) -> checks.Array:
        """Totals of the rows times the share of the column in their cluster."""
        totals = checks.sum_by_cluster(self._totals, labels)
        return self._totals * (checks.sum_by_cluster(x, labels) / np.where(totals > 0, totals, 1.0))[labels]
