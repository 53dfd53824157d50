# Gibbs scans of the tokens of documents. See hdp_scan.pyx.
from libc.stdint cimport int32_t

from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.models.hdp_state cimport HDPState


cdef class HDPScan(HDPState):
    cdef double *mass_of                # [cap] alpha0 beta_k; 0 of an emptied topic
    cdef double *per                    # [cap] 1/(V eta + n_k)
    cdef double *share                  # [cap] (alpha0 beta_k + n_jk)/(V eta + n_k)
    cdef double *run                    # [cap] running sums of a draw, place by place in the blocks of eight topics
    cdef double unseen                  # alpha0 beta_u
    cdef double of_document             # sum of n_jk/(V eta + n_k)
    cdef double of_all                  # sum of alpha0 beta_k/(V eta + n_k)
    cdef Py_ssize_t emptied             # topics that lost their last token in this scan, still in the list

    cdef bint lanes_pay(self, Py_ssize_t n) noexcept nogil
    cdef void begin_sweep(self) noexcept nogil
    cdef void sum_all(self) noexcept nogil
    cdef void end_sweep(self, bint relink) noexcept nogil
    cdef void delete_emptied(self) noexcept nogil
    cdef Py_ssize_t open_topic(self, Rng rng) except -1 nogil
    cdef void close_topic(self, Py_ssize_t k) noexcept nogil
    cdef void follow_move(self, Py_ssize_t i, Py_ssize_t old, Py_ssize_t k, bint relink) noexcept nogil
    cdef int place_documents(self, Rng rng, const int32_t *documents, Py_ssize_t n) except -1 nogil
    # -- by lists
    cdef int scan_by_lists(self, Rng rng, Py_ssize_t j, Py_ssize_t first, Py_ssize_t end, bint relink) except -1 nogil
    cdef void begin_document(self) noexcept nogil
    cdef void end_document(self) noexcept nogil
    cdef int resample(self, Rng rng, Py_ssize_t i, bint relink) except -1 nogil
    cdef void came(self, Py_ssize_t w, Py_ssize_t k) noexcept nogil
    cdef Py_ssize_t of_other_buckets(self, double u, int32_t old, double per, double of_document,
                                     double of_all) noexcept nogil
    cdef void leave_document(self, int32_t k) noexcept nogil
    cdef void enter_document(self, int32_t k) noexcept nogil
    cdef int place(self, Rng rng, Py_ssize_t i) except -1 nogil
    # -- in lanes
    cdef int scan_in_lanes(self, Rng rng, Py_ssize_t j, Py_ssize_t first, Py_ssize_t end, bint relink) except -1 nogil
    cdef int resample_lanes(self, Rng rng, Py_ssize_t i, bint relink) except -1 nogil
    cdef void came_in_lanes(self, Py_ssize_t w, Py_ssize_t k) noexcept nogil
    cdef int place_in_lanes(self, Rng rng, Py_ssize_t i) except -1 nogil
