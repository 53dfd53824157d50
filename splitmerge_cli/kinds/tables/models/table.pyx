"""Items against blocks of eight clusters: what mixtures of tables and of dense points share."""
from libc.math cimport NAN, exp

from splitmerge_cli.core.powers cimport weigh_powers
from splitmerge_cli.kinds.tables.models.scale_prior cimport Scaled

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
