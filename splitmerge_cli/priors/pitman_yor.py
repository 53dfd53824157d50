"""Pitman-Yor process: the weight of a new cluster grows with their number.

    p(z) = prod_{j < K} (c + j d) / (c)_N  prod_k (1 - d)_{n_k - 1}

with strength c (``model.concentration``) and discount d; (x)_n = x (x + 1) ... (x + n - 1). With d = 0 it is the
Chinese restaurant process; the larger d, the more small clusters, and K grows as N^d. Source: Pitman and Yor (1997).
"""

from math import lgamma
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.core.hyperpriors import ShareOrBeta
from splitmerge_cli.core.prior import Prior, TablePrior


class PitmanYor(TablePrior):
    """Pitman-Yor process. `concentration`: the strength c, positive, or a `Gamma`, under which it is resampled;
    `discount`: d, from 0 to less than 1, or a `Beta`, under which it is resampled.

    Examples
    --------
    The second of two items joins the first with probability (1 - d) / (1 + c).

    >>> PitmanYor(2, 1.0, discount=0.5).log_probability(np.array([2]), 1.0, 0.5) == np.log(0.25)
    np.True_
    """

    NAME = "pitman_yor"
    OPTIONS = (ShareOrBeta("discount", "beta(1,9)", "a number from 0 to less than 1, or beta(a,b): resampled"),)

    def tables(self, concentration: float, **options: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """log g(n) and log f(K), for 0 to N; entry 0 is not read."""
        d, n = options["discount"], np.arange(self.N, dtype=np.float64)
        log_g, log_f = np.zeros(self.N + 1), np.zeros(self.N + 1)
        np.log(n[1:] - d).cumsum(out=log_g[2:])
        log_f[1:] = np.log(concentration + d * n).cumsum() - np.log(concentration + n).sum()
        return log_g, log_f

    def log_density_of(self, sizes: NDArray[Any], concentration: float, **options: Any) -> float:
        """log probability of a partition with clusters of these sizes."""
        d, K = options["discount"], len(sizes)
        total = np.log(concentration + d * np.arange(K)).sum() - K * lgamma(1.0 - d)
        total += sum(lgamma(n - d) for n in sizes)
        return float(total) - self.log_rise(concentration)

    def draw(self, generator: np.random.Generator) -> tuple[NDArray[np.int32], int]:
        """A draw from the prior, one item after the other: the sum of the weights of joining i items is i + c."""
        return Prior.draw(self, generator)

    @classmethod
    def log_probability(cls, sizes: NDArray[Any], concentration: float, discount: float = 0.0) -> float:  # type: ignore[override]
        """log probability: one item after the other."""
        total, seated = 0.0, 0
        for k, size in enumerate(sizes):
            for n in range(size):
                weight = n - discount if n else concentration + discount * k
                total += np.log(weight / (concentration + seated))
                seated += 1
        return float(total)
