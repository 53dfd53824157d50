"""Chinese restaurant process: the partitions of a Dirichlet process mixture.

    p(z | alpha) = Gamma(alpha) / Gamma(alpha + N) alpha^K prod_k Gamma(n_k)        (van Rossum et al. 2018, equation 4)

with a fixed concentration alpha or a gamma prior on it, resampled as Escobar and West (1995) do.
"""
from libc.math cimport lgamma, log
from libc.stdint cimport int32_t

import numpy as np

from splitmerge_cli.core.log_scale cimport log_rising
from splitmerge_cli.core.prior cimport Prior
from splitmerge_cli.core.rng cimport Rng

from splitmerge_cli.core.checks import check_positive
from splitmerge_cli.core.options import Gamma
from splitmerge_cli.core.shared import share

# below this concentration a difference of two log gammas keeps its digits
cdef double MODERATE = 1e6


def _tables(Py_ssize_t N):
    """Weights and log factors of clusters with 0 to N + 1 items."""
    cdef Py_ssize_t n
    cdef double[::1] log_size = np.zeros(N + 2)
    for n in range(1, N + 2):
        log_size[n] = lgamma(n)
    return {"weight": np.arange(N + 2, dtype=np.float64), "log_size": np.asarray(log_size)}


cdef class ChineseRestaurant(Prior):
    """Chinese restaurant process. `concentration`: positive, or a `Gamma`, under which it is resampled."""

    NAME = "crp"

    cdef double log_normaliser          # log of concentration (concentration + 1) ...
    cdef double log_concentration
    cdef double shape, rate             # of the concentration's gamma prior

    def __init__(self, Py_ssize_t N, concentration=1.0):
        self.set_tables(share(_tables, N))
        self.draws_weights = True
        if isinstance(concentration, Gamma):
            self.name_hyperparameters(("concentration",))
            self.shape, self.rate = concentration.shape, concentration.rate
            self.set(concentration.mean)
        else:
            self.set(concentration)

    cdef void set(self, double concentration) noexcept nogil:
        self.concentration = self.value[0] = concentration
        self.log_concentration = log(concentration)
        if concentration < MODERATE and self.n_hyperparameters:
            self.log_normaliser = lgamma(concentration + self.N) - lgamma(concentration)
        else:
            self.log_normaliser = log_rising(concentration, self.N, NULL)

    def set_value(self, str name, double value):
        """Set the present concentration; a ValueError for a value that is not positive."""
        check_positive("concentration", value)
        self.set(value)

    cdef double log_count(self, Py_ssize_t K) noexcept nogil:
        return K * self.log_concentration - self.log_normaliser

    cdef double new_weight(self, Py_ssize_t K) noexcept nogil:
        return self.concentration

    cdef double log_cluster_weight(self, Rng rng, Py_ssize_t n) noexcept nogil:
        """Gamma(n): g(n) = Gamma(n) is the n-th moment of exp(-w) / w dw."""
        return log(<double> n) if rng is None else log(rng.draw_gamma(<double> n))

    def gamma_weights(self, Py_ssize_t K):
        """Shapes of the weights of components: see ``Prior``. Sticks are broken by beta(1, concentration)."""
        return 0.0, self.concentration

    cdef double log_density(self) noexcept nogil:
        if not self.n_hyperparameters:
            return 0.0
        return (self.shape * log(self.rate) - lgamma(self.shape) + (self.shape - 1.0) * self.log_concentration
                - self.rate * self.concentration)

    cdef int resample(self, Rng rng, Py_ssize_t t, const int32_t *sizes, Py_ssize_t K) except -1 nogil:
        """Escobar and West (1995), section 6: an auxiliary eta makes the conditional a mixture of two gammas."""
        cdef double eta = rng.draw_beta(self.concentration + 1.0, self.N), rate, odds, value
        # eta may underflow to 0 when the concentration dwarfs N or is dwarfed
        if eta < 1e-300:
            eta = 1e-300
        rate = self.rate - log(eta)
        odds = (self.shape + K - 1.0) / (self.N * rate)
        value = rng.draw_gamma_of(self.shape + K - (0.0 if rng.draw_coin(odds / (1.0 + odds)) else 1.0), rate)
        self.set(min(max(value, 1e-100), 1e100))
        return 0

    def draw(self, generator):
        """A draw from the prior: (labels, K), ndarray of int32 of shape (N,) and int."""
        cdef Py_ssize_t i
        labels = np.zeros(self.N, dtype=np.int32)
        counts: list = []
        for i in range(self.N):
            u = generator.random() * (i + self.concentration)
            # The seat of an earlier customer chosen uniformly, or a new table.
            labels[i] = labels[int(u)] if u < i else len(counts)
            if u >= i:
                counts.append(i)
        return labels, len(counts)
