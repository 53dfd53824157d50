"""Dynamic mixture of finite mixtures: the Dirichlet parameter of a component's weight falls with their number.

Each of m components has the Dirichlet parameter gamma = alpha / m. Given m

    p(z | m) = m! / (m - K)! Gamma(alpha) / Gamma(alpha + N) prod_k Gamma(n_k + alpha / m) / Gamma(alpha / m)

which has the form of every prior here; with m summed out it has not. So m is a hyper-parameter of the chain's state,
drawn again given the sizes of the clusters. Source: Frühwirth-Schnatter et al. (2021), sections 2 and 3.
"""

from math import lgamma
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.core.hyperpriors import CountPriorOption
from splitmerge_cli.core.prior import Prior, TablePrior


class DynamicMixtureOfFiniteMixtures(TablePrior):
    """Dynamic mixture of finite mixtures, with the number of components a part of the state. `concentration`: alpha,
    the sum of the Dirichlet parameters, or a `Gamma`, under which it is resampled; `components`: prior of their number,
    which is at most 10^9.

    Examples
    --------
    With two components and alpha = 2 two items are together with probability 2/3; chains start with as many components
    as items.

    >>> prior = DynamicMixtureOfFiniteMixtures(2, 2.0, components=CountPriorOption("", 1, "").convert("poisson(1)"))
    >>> prior.values, np.exp(prior.log_probability(np.array([2]), 2.0, 2.0)).round(12)
    ({'components': 2.0}, np.float64(0.666666666667))
    """

    NAME = "dynamic_mfm"
    OPTIONS = (CountPriorOption("components", "bnb(1,4,3)", "prior of the number of components, as in mfm"),)

    def tables(self, concentration: float, **options: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """log g(n) and log f(K) given the number of components, for 0 to N; entry 0 is not read."""
        m, n = options["components"], np.arange(self.N, dtype=np.float64)
        log_g, log_f = np.zeros(self.N + 1), np.full(self.N + 1, -np.inf)
        np.log(n + concentration / m).cumsum(out=log_g[1:])
        possible = min(self.N, int(m))
        log_f[1 : possible + 1] = np.log(m - n[:possible]).cumsum() - np.log(n + concentration).sum()
        return log_g, log_f

    def log_density_of(self, sizes: NDArray[Any], concentration: float, **options: Any) -> float:
        """log probability of a partition with clusters of these sizes given the number of components."""
        m, K = options["components"], len(sizes)
        if m < K:
            return -np.inf
        alone = concentration / m
        total = np.log(m - np.arange(K)).sum() - K * lgamma(alone) + sum(lgamma(n + alone) for n in sizes)
        return float(total) - self.log_rise(concentration)

    def gamma_weights(self, K: int) -> tuple[float, float]:
        """Shapes of the weights of components: alpha / m for each of those without items."""
        m = self.options["components"]
        return self.concentration / m, self.concentration * max(0.0, 1.0 - K / m)

    def draw(self, generator: np.random.Generator) -> tuple[NDArray[np.int32], int]:
        """A draw given the number of components: one item after the other, since the sum of the weights of joining i
        items is i + alpha."""
        return Prior.draw(self, generator)

    @classmethod
    def log_probability(cls, sizes: NDArray[Any], concentration: float, components: float = 1.0) -> float:  # type: ignore[override]
        """log probability given the number of components: one item after the other."""
        total, seated = 0.0, 0
        for k, size in enumerate(sizes):
            for n in range(size):
                weight = n + concentration / components if n else concentration * (1.0 - k / components)
                if weight <= 0.0:
                    return -np.inf
                total += np.log(weight / (concentration + seated))
                seated += 1
        return float(total)
