# Draws of the priors of shares of edges. See shares.pyx.
from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.kinds.networks.cells cimport beta_t

cdef double log_risings(double precision, const double[::1] numbers, const double[::1] times) noexcept nogil
cdef int draw_shares(beta_t *beta, list tallies, double power, Rng rng) except -1
