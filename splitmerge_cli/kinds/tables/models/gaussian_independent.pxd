# Parameters of independent normal columns that are drawn. See gaussian_independent.pyx.
from splitmerge_cli.core.capabilities cimport DrawnParameters
from splitmerge_cli.kinds.tables.models.dense_gaussian cimport DenseGaussian


cdef class DenseParameters(DrawnParameters):
    cdef DenseGaussian model

    cdef void fetch(self, Py_ssize_t i) noexcept nogil
