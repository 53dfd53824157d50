# Mixtures of normal distributions with independent columns. See gaussian_independent.pyx.
from splitmerge_cli.kinds.tables.models.dense_gaussian cimport DenseGaussian


cdef class DiagonalGaussian(DenseGaussian):
    pass
