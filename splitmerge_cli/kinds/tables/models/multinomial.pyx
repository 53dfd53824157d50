"""Mixture of multinomial distributions with Dirichlet priors, probabilities integrated out.

Item i has counts x_i1, ..., x_iD with total n_i: x_i ~ Multinomial(n_i, p_k), p_k ~ Dirichlet(alpha, ..., alpha).

    p(x | z) = prod_i n_i! / prod_d x_id!  prod_k prod_d (alpha)_(s_kd) / (D alpha)_(s_k)

with s_kd the sum of column d over cluster k, s_k its total and (a)_n rising factorials. With a power zeta the first
product has it, and (a)_n is Gamma(a + zeta n) / Gamma(a).
"""
from libc.stdint cimport int64_t

import numpy as np
from scipy.special import gammaln

from splitmerge_cli.kinds.tables.models.count_vectors cimport GivenTotals, log_rise, log_rise_far

from splitmerge_cli import priors
from splitmerge_cli.core.options import read_options
from splitmerge_cli.kinds.tables.models.count_vectors import PSEUDO_COUNT
from splitmerge_cli.kinds.tables.models.normal import POWER
from splitmerge_cli.kinds.tables.simulated import simulate_shares


cdef class Multinomial(GivenTotals):
    """Mixture of multinomial distributions: clusters differ in the shares of the columns, not in totals.

    Cost: an item against K clusters O(K) for each of its counts that is not 0; a cluster's likelihood O(D). Memory:
    8 D (K + 3) for the sums; shared by the models of the same data, 8 bytes a count that is not 0, 24 an item and at
    most 2.5 MB of tables.
    """

    OPTIONS = (*priors.OPTIONS, PSEUDO_COUNT, POWER)
    why_not_added = ""
    simulate = staticmethod(simulate_shares)
    CALIBRATION = {"": {"options": {"concentration": "gamma(2,2)"}, "D": 4}}

    def __init__(self, x, **options):
        given = read_options("model", self.OPTIONS, options)
        data = self.take_table(x, given, given["power"])
        cdef Py_ssize_t N = len(data.total)
        self._allocate(N, N)
        self._set_prior(given["prior"].build(N, given["concentration"]))
        self._start()

    @classmethod
    def reference_log_lik(cls, values, labels, *, alpha, power=1.0, **options):
        """float: log likelihood by adding the items one after the other to urns (Polya's), for tests."""
        total = 0.0
        for k in set(labels):
            urn = np.full(values.shape[1], alpha)
            for row in values[labels == k]:
                total += power * (gammaln(row.sum() + 1) - gammaln(row + 1).sum()) + gammaln(urn.sum())
                total -= gammaln(urn).sum()
                urn += power * row
                total += gammaln(urn).sum() - gammaln(urn.sum())
        return total

    cdef double log_rest(self, Py_ssize_t i, Py_ssize_t k, bint counted) noexcept nogil:
        cdef int64_t total = self.total_sum[k] - counted * self.total[i]
        return -log_rise(self.rise_all, self.length_all, self.zeta, self.all_alpha, total, self.total[i])

    cdef double log_rest_density(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        return -log_rise_far(self.all_alpha + self.zeta * self.total_sum[k], self.total[i])

    cdef double log_of(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        cdef int64_t total = self.total_sum[a] + (self.total_sum[b] if b >= 0 else 0)
        return self.log_column_terms(a, b) - log_rise_far(self.all_alpha, self.zeta * total)
