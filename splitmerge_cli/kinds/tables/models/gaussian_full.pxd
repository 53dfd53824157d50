# Normal mixtures with a covariance matrix per cluster. See gaussian_full.pyx.
cimport cython
from libc.stdint cimport int32_t

from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.kinds.tables.models.dense_gaussian cimport DenseGaussian
from splitmerge_cli.kinds.tables.models.missing_cells cimport MissingCells


@cython.final
cdef class FullGaussian(DenseGaussian):
    cdef MissingCells cells             # missing cells, a part of the state; None: no cell is missing

    cdef void impute(self, Rng rng, const int32_t *z, Py_ssize_t K) noexcept nogil
    cdef object psi(self)
    cdef object grain_blocks(self, there)
    cdef int take_parameters(self, values, const int32_t *z) except -1
