"""Quantities of points about lines, which posterior predictive checks compare with replications."""

import math

import numpy as np

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.runs import checks


class Lines(checks.Quantities):
    """Points about the least-squares lines of clusters."""

    def __init__(self, dataset: Dataset, cells: int | None = None) -> None:
        step = -(-2 * dataset.N // checks.MOST_CELLS)
        self.rows = np.arange(0, dataset.N, step) if step > 1 else None
        x = np.asarray(dataset.values, dtype=np.float64)
        self.values = x if self.rows is None else x[self.rows]
        self.x, self.y = dataset.columns or ["x", "y"]
        self.unchecked = [f"where the points lie along {self.x}: the model takes that as given"]

    def measure(self, points: checks.Array, labels: checks.Labels) -> checks.Found:
        """Moments of the distances from the lines, and what of them depends on the place along a line."""
        x, y = points.T
        n = checks.sum_by_cluster(np.ones(len(x)), labels)
        n = np.where(n > 0, n, 1.0)
        x, y = (coordinate - (checks.sum_by_cluster(coordinate, labels) / n)[labels] for coordinate in (x, y))
        square = checks.sum_by_cluster(x**2, labels)
        residual = y - (checks.sum_by_cluster(x * y, labels) / np.where(square > 0, square, 1.0))[labels] * x
        # two points leave only what rounding does
        residual = np.where(n[labels] > 2, residual, np.nan)
        r, place = checks.standardize(residual, labels), checks.standardize(x, labels)

        def mean_square(distances: checks.Array) -> float:
            """Root mean square, over points, of the mean of their cluster."""
            mean = checks.sum_by_cluster(distances, labels) / np.maximum(
                checks.sum_by_cluster(~np.isnan(distances), labels), 1.0
            )
            return math.sqrt(float(n @ mean**2 / len(x)))

        return {
            (self.y, f"standard deviation about the lines of {self.x}"): math.sqrt(checks.mean_of_finite(residual**2)),
            (self.y, "skewness about the lines"): checks.mean_of_finite(r**3),
            (self.y, "kurtosis about the lines (normal: 3)"): checks.mean_of_finite(r**4),
            (self.y, f"curvature: tie of the distance from the line to {self.x} squared"): mean_square(r * place**2),
            (self.y, f"change of spread: tie of the squared distance to {self.x}"): mean_square(r**2 * place),
        }
