# Weights of a scan from log predictives. See powers.pyx.
from splitmerge_cli.core.model cimport Model


cdef void weigh_powers(Model model, double *power, Py_ssize_t own) noexcept nogil
