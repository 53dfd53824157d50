"""How a split-merge move puts items on two sides: by coins, one after the other, or by restricted Gibbs scans.

    Coins             fair coins                                                                     q = 2^-n
    Sequential        one after the other, each with probability proportional to the side's predictive of it
                      (times the prior's weight)                                        q = product of the steps
    RestrictedGibbs   t restricted Gibbs scans from a launch state of coins, and a last one       q of the last scan

Sources: Wang & Russell 2015, Algorithms 2 and 3 (coins; sequential, in item order, from two empty sides); Dahl 2003 and
van Rossum et al. 2018, section 2.2 (sequential, in a uniform order, next to the anchors); Jain and Neal 2004
(restricted Gibbs).
"""
from libc.math cimport NAN, log

from splitmerge_cli._kernels cimport coin_allocation, draw_sides, restricted_scan, sequential_allocation
from splitmerge_cli.core.rng cimport ALONE

from splitmerge_cli.core.options import Choice, Count

cdef double LOG_2 = log(2.0)

SCANS = Count("t", 5, "restricted Gibbs scans of the launch state")
ALLOCATIONS = ("random", "sams", "gibbs")


def allocation_option(default, choices=ALLOCATIONS):
    """The option ``allocation`` of a sampler."""
    return Choice("allocation", default, "how items get to the sides: random (coins), sams (sequential, Dahl 2003) or "
                  "gibbs (restricted scans)" if "gibbs" in choices else
                  "how items get to the sides: random (coins) or sams (sequential, Dahl 2003)", choices=choices)


def allocation_of(name, t=0):
    """The Allocation of this name."""
    if name == "random":
        return Coins()
    return Sequential() if name == "sams" else RestrictedGibbs(t)


cdef class Coins(Allocation):
    """Fair coins."""

    cdef double draw(self, Sides s) noexcept nogil:
        s.gather()
        s.stage()
        coin_allocation(s.model, s.rng, s.items, s.n, s.a, s.a + 1, s.in_a)
        return NAN if s.side_empty() else self.score(s)

    cdef double score(self, Sides s) noexcept nogil:
        """log q, equal for all sides; without anchors, in either order."""
        return -s.n * LOG_2 if s.i >= 0 else -(s.n - 1) * LOG_2


cdef class Sequential(Allocation):
    """One item after the other. `shuffled`: in a uniform order, else in item order; `sized`: the prior's weights count.
    """

    def __init__(self, bint shuffled=True, bint sized=True):
        self.shuffled, self.sized = shuffled, sized

    cdef double draw(self, Sides s) noexcept nogil:
        cdef double log_q
        s.gather()
        s.stage()
        if self.shuffled:
            s.draw_order()
            s.put_in_order()
        log_q = sequential_allocation(s.model, s.rng, s.items, s.n, s.a, s.a + 1, s.in_a, False, self.sized)
        if s.side_empty():
            return NAN
        return log_q if s.i >= 0 else log_q + LOG_2

    cdef void prepare(self, Sides s) noexcept nogil:
        if self.shuffled:
            if s.rng.role != ALONE:
                s.gather()
            s.draw_order()

    cdef double score(self, Sides s) noexcept nogil:
        cdef double log_q
        s.gather()
        s.stage()
        if self.shuffled:
            s.put_in_order()
        s.take_present()
        log_q = sequential_allocation(s.model, s.rng, s.items, s.n, s.a, s.a + 1, s.in_a, True, self.sized)
        return log_q if s.i >= 0 else log_q + LOG_2


cdef class RestrictedGibbs(Allocation):
    """Restricted Gibbs scans. `t`: scans of the launch state."""

    def __init__(self, int t):
        self.t = t

    cdef double draw(self, Sides s) noexcept nogil:
        self.prepare(s)
        return restricted_scan(s.model, s.rng, s.items, s.n, s.a, s.a + 1, s.in_a, NULL, True)

    cdef void prepare(self, Sides s) noexcept nogil:
        cdef Py_ssize_t t
        s.gather()
        s.stage()
        self.launch(s)
        for t in range(s.n):
            s.model.join(s.items[t], s.a if s.in_a[t] else s.a + 1)
        for _scan in range(self.t):
            restricted_scan(s.model, s.rng, s.items, s.n, s.a, s.a + 1, s.in_a, NULL, False)

    cdef void launch(self, Sides s) noexcept nogil:
        """in_a: the launch state, by fair coins."""
        draw_sides(s.rng, s.items, s.n, s.in_a)

    cdef double score(self, Sides s) noexcept nogil:
        cdef Py_ssize_t t
        for t in range(s.n):
            s.present[t] = not s.present[t]
        return restricted_scan(s.model, s.rng, s.items, s.n, s.a, s.a + 1, s.in_a, s.present, True)
