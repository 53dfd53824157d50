"""Pitman-Yor process: the weight of a new cluster grows with their number."""

import numpy as np
from scipy.special import gammaln

from splitmerge_cli.core.hyperpriors import ShareOrBeta
from splitmerge_cli.core.prior import TablePrior


class PitmanYor(TablePrior):
    """p(z) = prod_{j < K} (theta + j d) / (theta)_N prod_k (1 - d)_{n_k - 1}. Source: Pitman and Yor (1997)."""

    NAME = "toy_pitman_yor"
    OPTIONS = (ShareOrBeta("discount", 0.5, "of every cluster; beta(a,b): resampled"),)

    def tables(self, concentration, discount):
        n = np.arange(self.N + 1)
        log_g = np.zeros(self.N + 1)
        log_g[1:] = gammaln(n[1:] - discount) - gammaln(1.0 - discount)
        log_f = np.concatenate([[0.0], np.cumsum(np.log(concentration + n[:-1] * discount))])
        return log_g, log_f + gammaln(concentration) - gammaln(concentration + self.N)

    @classmethod
    def log_probability(cls, sizes, concentration, discount):
        """One customer after the other."""
        total, seated = 0.0, 0
        for k, n in enumerate(sizes):
            for t in range(n):
                weight = t - discount if t else concentration + k * discount
                total += np.log(weight / (seated + concentration))
                seated += 1
        return total
