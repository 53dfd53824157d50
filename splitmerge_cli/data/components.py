"""Principal components of real columns, how many of them there are, and the density of what they leave out
(docs/derivations.md, "Columns reduced to principal components")."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FOLDS = 10
SHUFFLED = 10
"""Tables of permuted columns."""
MOST = 50
"""Principal components that are considered."""
LEAST_VARIANCE = 1e-12
"""Least variance in a direction that is left out: rounding errors, where columns determine each other."""
DIGITS = 9
"""Digits of a score behind the point, which all libraries of linear algebra agree on."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Components:
    """Principal components of standardised columns, fitted to rows.

    Attributes
    ----------
    mean, deviation : numpy.ndarray
        float64 ``[D]``, of the columns; a constant column has deviation 1.
    directions : numpy.ndarray
        float64 ``[r, D]``, orthonormal.
    residual : float
        Variance, in each of the D - r other directions, of standardised rows.
    share : float
        Share of the variance of the standardised columns that the components have.
    """

    mean: Numbers
    deviation: Numbers
    directions: Numbers
    residual: float
    share: float

    def scores(self, x: Numbers) -> Numbers:
        """Coordinates of rows ``[N, D]`` along the directions, ``[N, r]``."""
        return np.asarray(np.round((x - self.mean) / self.deviation @ self.directions.T, DIGITS))

    def log_rest(self, x: Numbers) -> Numbers:
        """Log density to add to the scores', ``[N]``, to get the density of the rows ``[N, D]``: normal residuals, and
        the Jacobian of standardising."""
        r, D = self.directions.shape
        rows = (x - self.mean) / self.deviation
        remaining = (rows**2).sum(axis=1) - ((rows @ self.directions.T) ** 2).sum(axis=1)
        normal = (D - r) * np.log(2.0 * np.pi * self.residual) + remaining / self.residual
        return np.asarray(-0.5 * normal - np.log(self.deviation).sum())


def fit_components(x: Numbers, r: int) -> Components:
    """Fit r principal components to rows ``[N, D]``, r at most D and N - 1."""
    mean, spread = x.mean(axis=0), x.std(axis=0)
    deviation = np.where(spread > 0.0, spread, 1.0)
    variance, directions = _principal((x - mean) / deviation)
    directions = directions[:r]
    # either sign is right: the largest entry is positive
    largest = np.abs(directions).argmax(axis=1)[:, None]
    directions = directions * np.sign(np.take_along_axis(directions, largest, axis=1))
    total = max(variance.sum(), LEAST_VARIANCE)
    residual = max(variance[r:].sum() / max(x.shape[1] - r, 1), LEAST_VARIANCE)
    return Components(mean, deviation, directions, residual, float(variance[:r].sum() / total))


def find_rank(x: Numbers) -> int:
    """The number of principal components to read rows ``[N, D]`` by, one at least: the larger of two.

    The first predicts held-out rows best, which have the density of probabilistic principal components (Tipping and
    Bishop 1999): the fewest components whose mean is within one standard error of the best. With few rows it is too
    small, since directions that are not known well predict badly. The second comes from `count_above_chance`.
    """
    N = len(x)
    spread = x.std(axis=0)
    rows = (x - x.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    fold = np.random.default_rng(0).permutation(N) % min(FOLDS, N)
    largest_rank = max(1, min(MOST, N - int(np.bincount(fold).max()) - 1, x.shape[1] - 1))
    density = np.empty((N, largest_rank + 1))
    for k in range(fold.max() + 1):
        density[fold == k] = densities_by_rank(rows[fold != k], rows[fold == k], largest_rank)
    behind = density[:, [density.mean(axis=0).argmax()]] - density
    within = behind.mean(axis=0) <= behind.std(axis=0) / np.sqrt(N)
    return max(1, int(within.argmax()), count_above_chance(rows, largest_rank))


def count_above_chance(rows: Numbers, largest_rank: int) -> int:
    """Count the first principal components, `largest_rank` at most, of more variance than columns without correlation
    have: than in each of `SHUFFLED` tables whose columns are permuted (parallel analysis, Horn 1965)."""
    generator = np.random.default_rng(0)
    chance = np.zeros(largest_rank)
    for _ in range(SHUFFLED):
        chance = np.maximum(chance, _variances(generator.permuted(rows, axis=0))[:largest_rank])
    above = _variances(rows)[:largest_rank] > chance
    return int(np.append(above, False).argmin())


def densities_by_rank(train: Numbers, test: Numbers, largest_rank: int) -> Numbers:
    """Log densities of the rows in `test` under 0, 1, ..., `largest_rank` probabilistic principal components that are
    fitted to `train`, ``[rows, most + 1]``."""
    D = train.shape[1]
    mean = train.mean(axis=0)
    variance, directions = _principal(train - mean)
    variances, rows = np.maximum(variance[:largest_rank], LEAST_VARIANCE), test - mean
    squares = (rows @ directions[:largest_rank].T) ** 2
    log_kept, explained, scaled = (
        np.concatenate([np.zeros((len(part), 1)), np.cumsum(part, axis=1)], axis=1)
        for part in (np.log(variances)[None], squares, squares / variances)
    )
    remaining_dimensions = D - np.arange(largest_rank + 1)
    residual = np.maximum(
        (variance.sum() - np.append(0.0, np.cumsum(variance[:largest_rank]))) / remaining_dimensions, LEAST_VARIANCE
    )
    squared = ((rows**2).sum(axis=1, keepdims=True) - explained) / residual
    return np.asarray(
        -0.5 * (D * np.log(2.0 * np.pi) + log_kept + remaining_dimensions * np.log(residual) + scaled + squared)
    )


def _variances(rows: Numbers) -> Numbers:
    """Variances of centred rows along their principal directions, the largest first."""
    N, D = rows.shape
    return np.asarray(np.linalg.eigvalsh(rows @ rows.T if N < D else rows.T @ rows)[::-1] / N)


def _principal(rows: Numbers) -> tuple[Numbers, Numbers]:
    """Variances of centred rows along their principal directions, the largest first, and the directions."""
    _, lengths, directions = np.linalg.svd(rows, full_matrices=False)
    return lengths**2 / len(rows), directions
