# The allocation loops, over any model. See _kernels.pyx.
from libc.stdint cimport int8_t, int32_t

from splitmerge_cli.core.model cimport Model
from splitmerge_cli.core.recording cimport NAMED
from splitmerge_cli.core.rng cimport Rng

cdef enum:                              # blocks of draws, one an item
    COINS, LAUNCH, RESTRICTED, SEQUENTIAL  # the last plus m: among m sides

cdef inline Py_ssize_t draw_label(Model model, Rng rng, Py_ssize_t i) noexcept nogil:
    """A cluster for item i, or a new one, by the weights of its scan."""
    cdef const int32_t *names = model.option_names(i)
    if model.auxiliaries > 1:
        model.name_auxiliaries(model.auxiliaries)
    return rng.draw_option(NAMED, i, model.w, model.options(), names)


cdef Py_ssize_t full_scan(Model model, Rng rng, Py_ssize_t first, Py_ssize_t n) except -1 nogil
cdef void draw_sides(Rng rng, const int32_t *items, Py_ssize_t n, int8_t *in_a) noexcept nogil
cdef void coin_allocation(Model model, Rng rng, const int32_t *items, Py_ssize_t n, Py_ssize_t a, Py_ssize_t b,
                          int8_t *in_a) noexcept nogil
cdef double sequential_allocation(Model model, Rng rng, const int32_t *items, Py_ssize_t n, Py_ssize_t a, Py_ssize_t b,
                                  int8_t *in_a, bint forced, bint sized) noexcept nogil
cdef double sequential_allocation_among(Model model, Rng rng, const int32_t *items, Py_ssize_t n, Py_ssize_t first,
                                        Py_ssize_t m, int8_t *side, Py_ssize_t anchor, bint forced) noexcept nogil
cdef double restricted_scan(Model model, Rng rng, const int32_t *items, Py_ssize_t n, Py_ssize_t a, Py_ssize_t b,
                            int8_t *in_a, const int8_t *target, bint scored) noexcept nogil
