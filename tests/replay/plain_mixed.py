"""The plain side of the replay for tables with columns of several types and missing cells.

A cluster's likelihood is written column by column as a closed form, a predictive from the posterior of the column, so
that the two check each other (test_reference.py).
"""

from __future__ import annotations

import math

import numpy as np
from plain import Mixture
from plain_continuous import log_student
from scipy import stats
from scipy.special import betaln, gammaln


class Mixed(Mixture):
    """Mixture of independent columns: `types` of words, `levels` of numbers, x with NaN where a cell is missing.

    `m0` and `b0` are numbers, or lists of one for each real column; `rate` is a number, or one for each count column.
    """

    def __init__(
        self, x, types, levels, concentration, beta1, beta0, alpha, shape, rate, m0, kappa0, a0, b0, prior="crp"
    ) -> None:
        super().__init__(len(x), concentration, prior)
        self.x, self.types, self.shape, self.kappa0, self.a0 = np.asarray(x, dtype=float), types, shape, kappa0, a0
        self.pseudo = {
            j: np.array([beta0, beta1]) if kind == "binary" else np.full(levels[j], alpha)
            for j, kind in enumerate(types)
            if kind in ("binary", "categorical")
        }
        self.rate = self.by_column("count", rate)
        self.m0, self.b0 = self.by_column("real", m0), self.by_column("real", b0)

    def by_column(self, kind: str, value) -> dict[int, float]:
        columns = [j for j, type_of in enumerate(self.types) if type_of == kind]
        return dict(zip(columns, np.broadcast_to(value, len(columns)), strict=True))

    def observed_cells(self, items: list[int], j: int):
        cells = self.x[items, j] if items else np.zeros(0)
        return cells[~np.isnan(cells)]

    def log_g(self, items: list[int]) -> float:
        return sum(self.log_column(self.observed_cells(items, j), j) for j in range(len(self.types)))

    def log_column(self, cells, j: int) -> float:
        """Marginal likelihood of the observed cells of column j."""
        n, kind = len(cells), self.types[j]
        if kind == "binary":
            zeros, ones = self.pseudo[j]
            return float(betaln(ones + cells.sum(), zeros + n - cells.sum()) - betaln(ones, zeros))
        if kind == "categorical":
            a = self.pseudo[j]
            counts = np.bincount(cells.astype(int), minlength=len(a))
            return float((gammaln(a + counts) - gammaln(a)).sum() + gammaln(a.sum()) - gammaln(a.sum() + n))
        if kind == "count":
            a, b, s = self.shape, self.rate[j], cells.sum()
            return float(
                gammaln(a + s) - gammaln(a) + a * math.log(b) - (a + s) * math.log(b + n) - gammaln(cells + 1).sum()
            )
        m0, b0 = self.m0[j], self.b0[j]
        kappa, a = self.kappa0 + n, self.a0 + n / 2
        mean = (self.kappa0 * m0 + cells.sum()) / kappa
        b = b0 + 0.5 * (((cells - mean) ** 2).sum() + self.kappa0 * (m0 - mean) ** 2)
        return float(
            gammaln(a) - gammaln(self.a0) + self.a0 * math.log(b0) - a * math.log(b)
            + 0.5 * math.log(self.kappa0 / kappa) - n / 2 * math.log(2 * math.pi)
        )  # fmt: skip

    def log_predictive(self, i: int, items: list[int]) -> float:
        """Product over the columns that the item has: a missing cell has no factor."""
        columns = [j for j in range(len(self.types)) if not np.isnan(self.x[i, j])]
        return sum(self.log_cell(self.x[i, j], self.observed_cells(items, j), j) for j in columns)

    def log_cell(self, cell: float, cells, j: int) -> float:
        """A level's share of counts and pseudo-counts; a negative binomial; Student's t."""
        n, kind = len(cells), self.types[j]
        if kind in ("binary", "categorical"):
            a = self.pseudo[j]
            return math.log(((cells == cell).sum() + a[int(cell)]) / (n + a.sum()))
        if kind == "count":
            rate = self.rate[j] + n
            return float(stats.nbinom.logpmf(cell, self.shape + cells.sum(), rate / (rate + 1)))
        m0, kappa, a = self.m0[j], self.kappa0 + n, self.a0 + n / 2
        mean = (self.kappa0 * m0 + cells.sum()) / kappa
        b = self.b0[j] + 0.5 * (((cells - mean) ** 2).sum() + self.kappa0 * (m0 - mean) ** 2)
        return log_student(cell, mean, b / a * (kappa + 1) / kappa, 2 * a)
