"""Mixture of finite mixtures with at most so many components: a number of clusters beyond is impossible."""

import math

import numpy as np
from scipy.special import gammaln, logsumexp

from splitmerge_cli.core import options, prior


class FiniteMixtures(prior.TablePrior):
    """Components uniform over 1..most, weights Dirichlet(concentration). Source: Miller and Harrison (2018)."""

    NAME = "toy_finite_mixtures"
    OPTIONS = (options.Count("most", 3, "components", least=1, most=100),)

    def tables(self, concentration, most):
        n, m = np.arange(1, self.N + 1), np.arange(1, most + 1)
        log_g = gammaln(concentration + n) - gammaln(concentration)
        log_f = np.full(self.N, -np.inf)
        for K in range(1, min(most, self.N) + 1):
            parts = m[m >= K]
            ways = gammaln(parts + 1) - gammaln(parts - K + 1)
            log_f[K - 1] = logsumexp(ways + gammaln(parts * concentration) - gammaln(parts * concentration + self.N))
        return np.r_[0.0, log_g], np.r_[0.0, log_f]

    @classmethod
    def log_probability(cls, sizes, concentration, most):
        """The components' number summed out, products written out."""
        total = 0.0
        for m in range(len(sizes), most + 1):
            p = math.perm(m, len(sizes)) / most
            for at in range(int(sum(sizes))):
                p /= m * concentration + at
            for n in sizes:
                for t in range(n):
                    p *= concentration + t
            total += p
        return float(np.log(total)) if total else -np.inf
