"""Quantities of data in clusters, which posterior predictive checks compare with replications.

A class is named by a kind of data, or by a model that reads what its kind does not say. It chooses what is drawn, and
measures it.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.dataset import Dataset

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
Found = dict[tuple[str, str], float]
"""Values by subject (a column, two of them, or what of a network) and name."""

MOST_COLUMNS = 50
"""Columns that are drawn of a table: those with most cells that are not 0."""
MOST_CELLS = 1_000_000
"""Cells up to which all rows are drawn; of a larger table some, evenly spaced."""
SKEWNESS = "skewness within clusters"
KURTOSIS = "kurtosis within clusters (normal: 3)"
DISPERSION = "variance over mean within clusters"
ZEROS = "share of zeros"
TIE = "residual dependence within clusters"
SPREAD = "standard deviation within clusters"
CLOSED = "share of paths of two ties that a third closes"
RECIPROCITY = "share of edges that go both ways"
REPEATS = "tokens per different word"
BURSTS = "mutual information within topics (nats)"
ONE = "share of pairs that differ in one field"
SEVERAL = "share of pairs that differ in several fields"
BOTH = "pairs that agree in both, over as many by chance"
PAIR = 60
"""Cells that take as long as a pair of columns."""


class Quantities:
    """Measures of data in clusters."""

    values: Any
    """The data, as `measure` takes them."""
    rows: Labels | None = None
    columns: Labels | None = None
    """The part of a table that is drawn; None: all."""
    unchecked: list[str]
    """Aspects that are not looked at."""

    def __init__(self, dataset: Dataset, cells: int | None = None) -> None:
        raise NotImplementedError

    @staticmethod
    def explain_unmeasured(dataset: Dataset) -> str | None:
        """Why such data are not measured; None: they are."""
        return None

    @staticmethod
    def count_work(dataset: Dataset, cells: int) -> int:
        """Cells of a table that take about as long as a replication: some 100 ns each."""
        return 20 * dataset.N

    def take(self, replication: Any) -> Any:
        """A replication, as `values` are."""
        return replication

    def measure(self, x: Any, labels: Labels) -> Found:
        """Quantities of data in these clusters; nan where one cannot be told."""
        raise NotImplementedError


# -- tables
class Table(Quantities):
    """Single columns, and the association of two columns within clusters."""

    def __init__(self, dataset: Dataset, cells: int | None = None) -> None:
        x, D = dataset.values, dataset.values.shape[1]
        names = dataset.column_names
        self.unchecked: list[str] = []
        chosen = np.arange(D)
        if D > MOST_COLUMNS:
            filled = np.bincount(x.nonzero()[1], minlength=D)
            chosen = self.columns = np.sort(np.argsort(-filled, kind="stable")[:MOST_COLUMNS])
            self.unchecked.append(f"{D - MOST_COLUMNS:,} of {D:,} columns, those with most cells that are 0")
        if (step := -(-dataset.N * len(chosen) // (cells or MOST_CELLS))) > 1:
            self.rows = np.arange(0, dataset.N, step)
            x = x[self.rows]
            self.unchecked.append(f"all rows but {len(self.rows):,} of {dataset.N:,}, evenly spaced")
        x = x[:, chosen]
        self.values = np.asarray(x.toarray() if hasattr(x, "toarray") else x, dtype=np.float64)
        types = dataset.kind.types_of(dataset)
        self.of_columns = [(str(names[j]), types[j].type, len(types[j].levels)) for j in chosen]
        self._missing = np.isnan(self.values)
        if any(levels and form != "ordinal" for _, form, levels in self.of_columns):
            self.unchecked.append(
                "a binary or categorical column alone: shares of a cluster always fit; its ties to "
                "other columns are checked"
            )
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

    def take(self, replication: Any) -> Array:
        """The cells that the data have."""
        return np.where(self._missing, np.nan, replication)

    def expect(self, x: Array, labels: Labels) -> Array:
        """Return what the cells of a column are expected to be, given their clusters: the means of these."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return (_sums(x, labels) / _sums(~np.isnan(x), labels))[labels]

    def measure(self, x: Array, labels: Labels) -> Found:
        """Third and fourth moments of real columns, spread and zeros of counts, association of every two columns."""
        measured: Found = {}
        scores: list[Array] = []
        of_column: list[int] = []
        for j, (name, form, levels) in enumerate(self.of_columns):
            cells = x[:, j]
            known = ~np.isnan(cells)
            # a column for each level, of two levels one
            features = [np.where(known, cells == level, np.nan) for level in range(levels == 2, levels)] or [cells]
            expected = self.expect(features[0], labels)
            residual = features[0] - expected
            if form == "real":
                z = _standardize(residual, labels)
                measured[name, SKEWNESS] = _mean(z * z * z)
                measured[name, KURTOSIS] = _mean((z * z) ** 2)
            elif form == "count":
                with np.errstate(invalid="ignore", divide="ignore"):
                    residual = np.where(expected > 0, residual / np.sqrt(expected), np.where(known, 0.0, np.nan))
                measured[name, DISPERSION] = _mean(residual[expected > 0] ** 2)
                measured[name, ZEROS] = _mean(np.where(known, cells == 0, np.nan))
            scores += [residual, *(feature - self.expect(feature, labels) for feature in features[1:])]
            of_column += [j] * len(features)
        return measured | _average(measured) | self._ties(np.stack(scores, axis=1), np.array(of_column))

    def _ties(self, values: Array, of_column: NDArray[np.int64]) -> Found:
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


def _average(values_by_key: Found) -> Found:
    """Return the averages over columns: many small differences add up. Skewness of either sign counts."""
    values: dict[str, list[float]] = {}
    for (_, quantity), value in values_by_key.items():
        values.setdefault(quantity, []).append(value)
    return {
        (f"{len(column_values)} columns", f"{'root mean square' if quantity == SKEWNESS else 'mean'} {quantity}"): (
            math.sqrt(_mean(np.square(column_values))) if quantity == SKEWNESS else _mean(np.array(column_values))
        )
        for quantity, column_values in values.items()
        if len(column_values) > 1
    }


class Shares(Table):
    """Rows of given totals: what is expected of a count is its row's total times the share of its column."""

    def __init__(self, dataset: Dataset, cells: int | None = None) -> None:
        super().__init__(dataset, cells)
        totals = np.asarray(dataset.values.sum(axis=1), dtype=np.float64).ravel()
        self._totals = totals if self.rows is None else totals[self.rows]
        self.unchecked.append("the totals of rows: the model takes them as given")

    def expect(self, x: Array, labels: Labels) -> Array:
        """Totals of the rows times the share of the column in their cluster."""
        totals = _sums(self._totals, labels)
        return self._totals * (_sums(x, labels) / np.where(totals > 0, totals, 1.0))[labels]


class Lines(Quantities):
    """Points about the least-squares lines of clusters."""

    def __init__(self, dataset: Dataset, cells: int | None = None) -> None:
        step = -(-2 * dataset.N // MOST_CELLS)
        self.rows = np.arange(0, dataset.N, step) if step > 1 else None
        x = np.asarray(dataset.values, dtype=np.float64)
        self.values = x if self.rows is None else x[self.rows]
        self.x, self.y = dataset.columns or ["x", "y"]
        self.unchecked = [f"where the points lie along {self.x}: the model takes that as given"]

    def measure(self, points: Array, labels: Labels) -> Found:
        """Moments of the distances from the lines, and what of them depends on the place along a line."""
        x, y = points.T
        n = _sums(np.ones(len(x)), labels)
        n = np.where(n > 0, n, 1.0)
        x, y = (coordinate - (_sums(coordinate, labels) / n)[labels] for coordinate in (x, y))
        square = _sums(x**2, labels)
        residual = y - (_sums(x * y, labels) / np.where(square > 0, square, 1.0))[labels] * x
        # two points leave only what rounding does
        residual = np.where(n[labels] > 2, residual, np.nan)
        r, place = _standardize(residual, labels), _standardize(x, labels)

        def mean_square(distances: Array) -> float:
            """Root mean square, over points, of the mean of their cluster."""
            mean = _sums(distances, labels) / np.maximum(_sums(~np.isnan(distances), labels), 1.0)
            return math.sqrt(float(n @ mean**2 / len(x)))

        return {
            (self.y, f"standard deviation about the lines of {self.x}"): math.sqrt(_mean(residual**2)),
            (self.y, "skewness about the lines"): _mean(r**3),
            (self.y, "kurtosis about the lines (normal: 3)"): _mean(r**4),
            (self.y, f"curvature: tie of the distance from the line to {self.x} squared"): mean_square(r * place**2),
            (self.y, f"change of spread: tie of the squared distance to {self.x}"): mean_square(r**2 * place),
        }


def _sums(x: NDArray[Any], labels: Labels) -> Array:
    """Sums of the cells that are there by cluster, ``[K]``."""
    return np.bincount(labels, np.nan_to_num(x), minlength=int(labels.max()) + 1).astype(np.float64)


def _standardize(residual: Array, labels: Labels) -> Array:
    """Residuals over the standard deviation of their cluster; nan where that is 0."""
    known = ~np.isnan(residual)
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = _sums(residual**2, labels) / _sums(known, labels)
        return np.where(variance[labels] > 0, residual / np.sqrt(variance[labels]), np.nan)


def _mean(x: Array) -> float:
    finite = x[np.isfinite(x)]
    return float(finite.mean()) if finite.size else math.nan


# -- what is no table
class Tokens(Quantities):
    """Codes of tokens, int ``[N]``."""

    def __init__(self, dataset: Dataset, cells: int | None = None) -> None:
        self.values = np.asarray(dataset.values, dtype=np.int64)
        self.unchecked = ["the order of the tokens, and their letters: the model does not read them"]

    def take(self, replication: NDArray[Any]) -> NDArray[np.int64]:
        """The codes."""
        return replication.astype(np.int64)

    def measure(self, tokens: NDArray[np.int64], labels: Labels) -> Found:
        """How many tokens there are, in all and in a cluster, and how often."""
        V = int(tokens.max()) + 1
        pairs, counts = np.unique(labels * V + tokens, return_counts=True)
        home, token = np.divmod(pairs, V)
        K = int(labels.max()) + 1
        commonest = np.zeros(K, dtype=np.int64)
        np.maximum.at(commonest, home, counts)
        _, where = np.unique(token, return_inverse=True)
        shared = np.bincount(where)[where] > 1
        return {
            ("tokens", "different ones"): float(where.max() + 1),
            ("tokens", "different ones in a cluster, mean"): len(pairs) / K,
            ("tokens", "share that are the commonest of their cluster"): commonest.sum() / len(tokens),
            ("tokens", "share that stand in other clusters, too"): counts[shared].sum() / len(tokens),
        }
