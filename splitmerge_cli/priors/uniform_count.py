"""Uniform on the number of clusters; given that number, on the ways in which N is a sum of that many sizes.

    p(z) = 1/N  K! prod_k n_k! / (N! C(N - 1, K - 1))

K clusters in an order have sizes n_1, ..., n_K with probability 1 / C(N - 1, K - 1), and hold the items in any of
N! / prod_k n_k! ways; a partition has K! orders. Without a number that is more likely than another beforehand, the data
alone say how many clusters there are.
"""

from math import lgamma, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.core.prior import TablePrior


class UniformCount(TablePrior):
    """Uniform on the number of clusters, and on their sizes given it. `concentration` is not used.

    Examples
    --------
    Two items are one cluster or two with equal probabilities.

    >>> prior = UniformCount(2)
    >>> round(float(np.exp(prior.log_probability(np.array([2]), 1.0))), 12)
    0.5
    """

    NAME = "uniform_count"
    TAKES_CONCENTRATION = False

    def tables(self, concentration: float, **options: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """log g(n) and log f(K), for 0 to N; entry 0 is not read."""
        N, log_factorial = self.N, np.zeros(self.N + 1)
        np.log(np.arange(1.0, N + 1)).cumsum(out=log_factorial[1:])
        log_f = np.zeros(N + 1)
        log_f[1:] = log_factorial[1:] + log_factorial[:-1] + log_factorial[N - 1 :: -1]
        return log_factorial, log_f - log(N) - log_factorial[N] - log_factorial[N - 1]

    @classmethod
    def log_probability(cls, sizes: NDArray[Any], concentration: float) -> float:  # type: ignore[override]
        """log probability, factor by factor."""
        N, K = int(np.sum(sizes)), len(sizes)
        log_ways = lgamma(N) - lgamma(K) - lgamma(N - K + 1.0)
        log_p = lgamma(K + 1.0) - lgamma(N + 1.0) - log_ways - log(N)
        return float(log_p + sum(lgamma(n + 1.0) for n in sizes))
