# How a split-merge move puts items on two sides. See allocations.pyx.
from splitmerge_cli.samplers.split_merge cimport Allocation, Sides


cdef class Coins(Allocation):
    pass


cdef class Sequential(Allocation):
    cdef bint shuffled                  # in a uniform order, not in item order
    cdef bint sized                     # the prior's weights count


cdef class RestrictedGibbs(Allocation):
    cdef readonly int t                 # scans of the launch state

    cdef void launch(self, Sides s) noexcept nogil
