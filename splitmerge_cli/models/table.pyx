"""Items against blocks of eight clusters: what mixtures of tables and of dense points share."""
from libc.math cimport INFINITY, NAN, exp

from splitmerge_cli.core.model cimport Model
from splitmerge_cli.models.scale_prior cimport Scaled

cdef extern from "simd_math.h":
    pass

cdef extern from *:
    """
    static inline void weigh_block(const double *W, const double *power, double top, double *w)
    {
        EACH_LANE(h)
            LANES_TO(w + h) = LANES_AT(W + h) * lanes_exp(LANES_AT(power + h) - top);
    }
    """
    void weigh_block(const double *W, const double *power, double top, double *w) noexcept nogil


cdef void weigh_powers(Model model, double *power, Py_ssize_t own) noexcept nogil:
    """The weights of a scan, ``w`` of the model, from log predictives of an item in all clusters and in a new one;
    `own`: its cluster, whose log predictive is that given the others there, or -1. `power` is written over."""
    cdef Py_ssize_t k, m = model.K + 1, rest = model.size[own] - 1 if own >= 0 else -1
    cdef double top = -INFINITY, w_own = 0.0
    if own >= 0:
        if rest == 0:
            # alone, its own cluster stands for the new one
            power[own] = power[model.K]
        w_own = model.W[own]
        model.W[own] = model.scan_weight(rest)
    # not of a new cluster that the prior rules out: it may outweigh all others
    for k in range(m if model.new_cluster_weight > 0.0 else model.K):
        if power[k] > top:
            top = power[k]
    if not power[model.K] <= top:
        power[model.K] = top
    # what columns past the options hold may be beyond what an exponential takes
    for k in range(m, (m + 7) & ~7):
        power[k] = top
    for k in range(0, m, 8):
        weigh_block(model.W + k, power + k, top, model.w + k)
    if own >= 0:
        model.W[own] = w_own
        if rest == 0:
            model.w[m - 1] = 0.0


cdef class Table(Scaled):
    """A mixture of tables that scores an item against blocks of eight clusters; an abstract class."""

    cdef void settle(self, Py_ssize_t k) noexcept nogil:
        """Bring what scores an item against cluster k up to date."""
        pass

    cdef void score(self, Py_ssize_t i, Py_ssize_t block) noexcept nogil:
        """power[k] of item i for the eight clusters from `block` on."""
        pass

    cdef double score_own(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        """Log predictive of item i in cluster k, which counts it, given the others there, on the scale of ``power``;
        ``settle`` has been called."""
        return NAN

    cdef double direct(self, Py_ssize_t i, Py_ssize_t k, bint counted) noexcept nogil:
        """Log predictive of item i in cluster k, which counts it or not: from the statistics."""
        return NAN

    cdef double odds(self, Py_ssize_t i, Py_ssize_t a, Py_ssize_t b, Py_ssize_t own, bint sized) noexcept nogil:
        cdef Py_ssize_t block = a & ~7
        cdef double r
        if self.stale[a]:
            self.settle(a)
        if self.stale[b]:
            self.settle(b)
        self.score(i, block)
        if (b & ~7) != block:
            self.score(i, b & ~7)
        if own >= 0:
            self.power[own] = self.score_own(i, own) if self.size[own] > 1 else self.direct(i, own, True)
        r = exp(self.power[b] - self.power[a])
        return r * self.weight_of(b, own == b) / self.weight_of(a, own == a) if sized else r

    cdef void scan(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t k, own = self.z[i], m = self.K + 1
        for k in range(m):
            if self.stale[k]:
                self.settle(k)
        for k in range(0, m, 8):
            self.score(i, k)
        if own >= 0 and self.size[own] > 1:
            self.power[own] = self.score_own(i, own)
        weigh_powers(self, self.power, own)
