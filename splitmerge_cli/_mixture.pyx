"""The prior of mixtures without empty clusters: the Chinese restaurant process, or uniform over partitions.

    p(z | alpha) = Gamma(alpha) / Gamma(alpha + N) alpha^K prod_k Gamma(n_k)            (paper 004, equation 4)

with a fixed concentration alpha or a gamma prior on it, resampled as Escobar and West (1995) do.
"""
import math
import re

from libc.math cimport lgamma, log
from libc.stdint cimport int32_t
from libc.stdlib cimport free

import numpy as np

from splitmerge_cli._kernels cimport Model, Rng, doubles, log_rising

from splitmerge_cli._kernels import check_positive

PRIORS = ("crp", "uniform")

GAMMA = re.compile(r"gamma\(\s*([-+.0-9eE]+)\s*,\s*([-+.0-9eE]+)\s*\)")

# below this concentration a difference of two log gammas keeps its digits
cdef double MODERATE = 1e6


def gamma_prior(text, key="model.concentration"):
    """Shape and rate of a concentration given as ``gamma(shape,rate)``.

    Raises
    ------
    ValueError
        For anything else, or a shape or rate out of range.
    """
    match = GAMMA.fullmatch(text.strip())
    try:
        shape, rate = (float(number) for number in match.groups())
    except (AttributeError, ValueError):
        raise ValueError(
            f"{key}: expected a positive number or gamma(shape,rate), got {text!r}"
        ) from None
    for name, value in (("shape", shape), ("rate", rate)):
        if not 1e-3 <= value <= 1e6:
            raise ValueError(f"{key}: {name} of gamma: expected 0.001 to 1e6, got {value:g}")
    return shape, rate


def quantum(widest, Py_ssize_t N, terms=1):
    """The least power of two of which `widest`, the largest magnitude of N values (or such magnitudes of columns), is
    at most 2^48 multiples, and few enough that n times a sum of n `terms` squares stays below 2^126 (see ``_whole.h``);
    1 for values that are all 0.

    Raises
    ------
    ValueError
        For more than 2^30 values.
    """
    if N > 1 << 30:
        raise ValueError(f"{N} items; expected at most 2^30")
    digits = min(48, 62 - math.ceil(math.log2(N) + 0.5 * math.log2(terms)))
    # squares of the quantum stay numbers, too
    power = np.maximum(np.frexp(widest)[1] - digits, -250)
    return np.where(np.asarray(widest) > 0.0, np.ldexp(1.0, power), 1.0)[()]


cdef class Mixture(Model):
    """A model whose partition has this prior; an abstract class.

    A model calls ``_prior`` in its constructor after ``_allocate``. One whose ``scan_table`` holds more than the
    prior's weights then fills that, and sets ``unit``.
    """

    cdef int _prior(self, concentration, prior) except -1:
        """Check the prior's options; set the allocation weights."""
        cdef Py_ssize_t n
        if prior not in PRIORS:
            raise ValueError(f"model.prior: expected one of {', '.join(PRIORS)}, got {prior!r}")
        self.prior = prior
        self.is_uniform = prior == "uniform"
        if isinstance(concentration, str):
            self.shape, self.rate = gamma_prior(concentration)
            if self.is_uniform:
                raise ValueError("model.concentration: prior=uniform has none to resample; expected a number")
            self.random_concentration = True
            self.concentration = self.shape / self.rate
        else:
            check_positive("model.concentration", concentration)
            self.concentration = concentration
        self.log_gamma = doubles(self.N + 2)
        for n in range(self.N + 2):
            self.log_gamma[n] = lgamma(n) if n else 0.0
            if self.is_uniform:
                self.alloc[n] = 1.0
            else:
                self.alloc[n] = n if n else self.concentration
            self.scan_table[n] = self.alloc[n]
        self._price(self.concentration)
        return 0

    cdef void _price(self, double concentration) noexcept nogil:
        """Set all that depends on the concentration."""
        if self.unit == 0.0:
            self.unit = 1.0
        if not self.is_uniform:
            self.alloc[0] = concentration
            self.scan_table[0] = concentration * self.unit
        self.concentration = concentration
        if concentration < MODERATE and self.random_concentration:
            self.log_normaliser = lgamma(concentration + self.N) - lgamma(concentration)
        else:
            self.log_normaliser = log_rising(concentration, self.N, NULL)

    def __dealloc__(self):
        free(self.log_gamma)

    def set_concentration(self, double value):
        """Set the present concentration.

        Raises
        ------
        ValueError
            For a value that is not positive.
        """
        check_positive("concentration", value)
        self._price(value)

    cdef double log_prior(self, const int32_t *sizes, Py_ssize_t m, Py_ssize_t K) noexcept nogil:
        cdef Py_ssize_t t
        cdef double total
        if self.is_uniform:
            return 0.0
        total = K * log(self.concentration) - self.log_normaliser
        for t in range(m):
            total += self.log_gamma[sizes[t]]
        return total

    cdef double log_extra(self) noexcept nogil:
        """log density of a random concentration."""
        if not self.random_concentration:
            return 0.0
        return (self.shape * log(self.rate) - lgamma(self.shape) + (self.shape - 1.0) * log(self.concentration)
                - self.rate * self.concentration)

    cdef void resample_concentration(self, Rng rng) noexcept nogil:
        """Escobar and West (1995), section 6: an auxiliary eta makes the conditional a mixture of two gammas."""
        cdef double eta = rng.draw_beta(self.concentration + 1.0, self.N), rate, odds, value
        # eta may underflow to 0 when the concentration dwarfs N or is dwarfed
        if eta < 1e-300:
            eta = 1e-300
        rate = self.rate - log(eta)
        odds = (self.shape + self.K - 1.0) / (self.N * rate)
        value = rng.draw_gamma(self.shape + self.K - (0.0 if rng.draw_coin(odds / (1.0 + odds)) else 1.0)) / rate
        self._price(min(max(value, 1e-100), 1e100))

    def prior_labels(self, generator):
        """A draw from the prior: (labels, K), ndarray of int32 of shape (N,) and int.

        A uniform partition is drawn exactly by Stam's urns: k urns with probability proportional to k^N / k!, an urn
        for each item, empty ones dropped.
        """
        cdef Py_ssize_t i
        if not self.is_uniform:
            labels = np.zeros(self.N, dtype=np.int32)
            counts: list = []
            for i in range(self.N):
                u = generator.random() * (i + self.concentration)
                # The seat of an earlier customer chosen uniformly, or a new table.
                labels[i] = labels[int(u)] if u < i else len(counts)
                if u >= i:
                    counts.append(i)
            return labels, len(counts)
        k = np.arange(1, self.N + 200)
        from scipy.special import gammaln
        log_p = self.N * np.log(k) - gammaln(k + 1)
        p = np.exp(log_p - np.logaddexp.reduce(log_p))
        urns = generator.integers(generator.choice(k, p=p / p.sum()), size=self.N)
        _, first, labels = np.unique(urns, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[labels].astype(np.int32), len(first)
