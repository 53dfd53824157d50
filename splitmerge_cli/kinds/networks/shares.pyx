"""The prior of shares of edges that are learned: mean and weight of a beta distribution, drawn given all cells.

Source: docs/derivations.md, "Shares that are learned". Each draw is as ``hyperpriors.draw_hyperparameter`` makes it,
without the interpreter, which chains in threads would wait for after each scan of a network.
"""
from libc.math cimport INFINITY, exp, floor, log, log1p

from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.kinds.networks.cells cimport beta_t, log_rising

from splitmerge_cli.core import hyperpriors
from splitmerge_cli.kinds.networks.layout import LEAST_PRECISION, MOST_PRECISION, SHARES

cdef double WIDTH = hyperpriors.WIDTH
cdef double LEAST = SHARES.least, MOST = SHARES.most, LIGHTEST = LEAST_PRECISION, HEAVIEST = MOST_PRECISION
cdef double A = SHARES.mean.a, B = SHARES.mean.b, SHAPE = SHARES.weight.shape, RATE = SHARES.weight.rate


cdef double log_risings(double precision, const double[::1] numbers, const double[::1] times) noexcept nogil:
    """Sum over counts x of log Gamma(precision + x) - log Gamma(precision): of `numbers` that differ, each as often as
    `times` says."""
    cdef Py_ssize_t t
    cdef double total = 0.0
    for t in range(numbers.shape[0]):
        total += times[t] * log_rising(precision, numbers[t])
    return total


cdef class Shares:
    """Edges, missing edges and pairs of the cells whose shares have one prior, and what of it is drawn."""
    cdef const double[::1] edges, gaps, pairs
    cdef const double[::1] edge_times, gap_times, pair_times
    cdef double mean, weight, power
    cdef bint of_mean

    cdef double log_density(self, double t) noexcept nogil:
        """Log density at the logit of the mean, or at the logarithm of the weight, up to a constant."""
        cdef double mean = self.mean, weight = self.weight, log_p
        if self.of_mean:
            mean = 1.0 / (1.0 + exp(-t))
            log_p = -A * log1p(exp(-t)) - B * log1p(exp(t))
        else:
            weight = exp(t)
            log_p = SHAPE * t - RATE * weight
        if not (LEAST <= mean <= MOST and LIGHTEST <= weight <= HEAVIEST):
            return -INFINITY
        return log_p + self.power * (log_risings(mean * weight, self.edges, self.edge_times)
                                     + log_risings((1.0 - mean) * weight, self.gaps, self.gap_times)
                                     - log_risings(weight, self.pairs, self.pair_times))

    cdef void draw(self, Rng rng) noexcept nogil:
        """Draw the mean or the weight by slice sampling: ``hyperpriors.draw_by_slice``."""
        cdef double present = log(self.mean) - log1p(-self.mean) if self.of_mean else log(self.weight)
        cdef double level = self.log_density(present) + log1p(-rng.draw_beta(1.0, 1.0))
        cdef double offset = WIDTH * rng.draw_beta(1.0, 1.0)
        cdef double low = offset + WIDTH * floor((present - offset) / WIDTH), high = low + WIDTH, new
        while self.log_density(low) > level:
            low -= WIDTH
        while self.log_density(high) > level:
            high += WIDTH
        while True:
            new = low + (high - low) * rng.draw_beta(1.0, 1.0)
            if self.log_density(new) >= level:
                break
            if new < present:
                low = new
            else:
                high = new
        if self.of_mean:
            self.mean = 1.0 / (1.0 + exp(-new))
        else:
            self.weight = exp(new)


cdef int draw_shares(beta_t *beta, list tallies, double power, Rng rng) except -1:
    """Draw mean, then weight. `tallies`: for edges, missing edges and pairs of all cells the numbers that differ,
    and how often they are there; `power`: of the likelihood."""
    cdef Shares shares = Shares()
    (shares.edges, shares.edge_times), (shares.gaps, shares.gap_times), (shares.pairs, shares.pair_times) = tallies
    shares.mean, shares.weight, shares.power = beta.mean, beta.weight, power
    with nogil:
        shares.of_mean = True
        shares.draw(rng)
        shares.of_mean = False
        shares.draw(rng)
    beta.mean, beta.weight = shares.mean, shares.weight
    return 0
