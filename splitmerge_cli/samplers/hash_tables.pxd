# Hash tables of the items' vectors, and sums of the probabilities of drawing from them. See docs/design.md.
from libc.stdint cimport int32_t, int64_t

from splitmerge_cli.core.capabilities cimport PlugIn
from splitmerge_cli.core.memory cimport Memory
from splitmerge_cli.core.rng cimport Rng


cdef class HashTables:
    cdef readonly Py_ssize_t N, D
    cdef readonly int bits, tables
    cdef readonly object vectors        # what was hashed
    cdef public object source           # what it was made of, where that is another object
    cdef readonly object seed
    cdef readonly object directions     # float32 [D, tables * bits]
    cdef readonly object mean           # float64 [D], or None
    cdef readonly object bucket         # int32 [N, tables]
    cdef readonly object opposite       # int32 [buckets]
    cdef readonly object starts         # int32 [buckets + 1]
    cdef readonly object members        # int32 [items in buckets]
    cdef object known                   # the statistics
    # the same, to be read without Python
    cdef const int32_t *_bucket
    cdef const int32_t *_opposite
    cdef const int32_t *_starts
    cdef const int32_t *_members
    cdef object __weakref__

    cdef Py_ssize_t query(self, Py_ssize_t u, Py_ssize_t table, bint opposite, Py_ssize_t *size) noexcept nogil
    cdef Py_ssize_t answers(self, Py_ssize_t u, bint opposite) noexcept nogil
    cdef Py_ssize_t draw(self, Rng rng, Py_ssize_t u, bint opposite) noexcept nogil


cdef class HashSums:
    cdef Memory memory                  # of its arrays
    cdef readonly HashTables tables
    cdef readonly bint united           # the union reading
    cdef int32_t *count                 # [buckets] table reading: items of a set in each bucket
    cdef int32_t *seen                  # [N] union reading: the last query that found the item
    cdef int32_t *within                # [N] the last set that holds it
    cdef int32_t *found                 # [N] items of the union of a query
    cdef int32_t queries, sets

    cdef Py_ssize_t draw(self, Rng rng, Py_ssize_t u, bint opposite) noexcept nogil
    cdef void mark(self, const int32_t *items, Py_ssize_t n) noexcept nogil
    cdef Py_ssize_t count_marked(self, Py_ssize_t n) noexcept nogil
    cdef void begin_union(self) noexcept nogil
    cdef Py_ssize_t join_bucket(self, Py_ssize_t b, Py_ssize_t n) noexcept nogil
    cdef Py_ssize_t unite(self, Py_ssize_t u, bint opposite) noexcept nogil
    cdef double sum(self, const int32_t *a, Py_ssize_t na, const int32_t *b, Py_ssize_t nb, bint opposite,
                    bint outside) noexcept nogil
    cdef double united_sum(self, const int32_t *a, Py_ssize_t na, const int32_t *b, Py_ssize_t nb, bint opposite,
                           bint outside) noexcept nogil
    cdef double sum_between(self, const int32_t *a, Py_ssize_t na, const int32_t *b, Py_ssize_t nb,
                            bint opposite) noexcept nogil
    cdef double sum_printed(self, Collisions chances, const int32_t *a, Py_ssize_t na, const int32_t *b, Py_ssize_t nb,
                            bint opposite) noexcept nogil


cdef class Collisions:
    cdef Memory memory                  # of its arrays
    cdef readonly HashTables tables
    cdef double *unit                   # [N, D] centred items of length 1; dense items
    cdef object rows                    # sparse items: the arrays behind the next three
    cdef const int64_t *first           # [N + 1]
    cdef const int32_t *column          # [entries]
    cdef const double *entry            # [entries]
    cdef double *length                 # [N] of the centred item
    cdef double *on_mean                # [N] inner product with the mean
    cdef double of_mean                 # square of the mean's length
    cdef int64_t *keys                  # [slots] pair of items, -1: free
    cdef double *kept                   # [slots] their p
    cdef Py_ssize_t slots
    cdef readonly Py_ssize_t filled     # pairs that are kept
    cdef public Py_ssize_t looked_up, served  # probabilities asked for, and found

    cdef double chance(self, Py_ssize_t u, Py_ssize_t v, bint opposite) noexcept nogil
    cdef double of_similarity(self, double p) noexcept nogil
    cdef double similarity(self, Py_ssize_t u, Py_ssize_t v) noexcept nogil
    cdef double cosine(self, Py_ssize_t u, Py_ssize_t v) noexcept nogil
    cdef double sparse_cosine(self, Py_ssize_t u, Py_ssize_t v) noexcept nogil


cdef class Estimates:
    cdef Memory memory                  # of its arrays
    cdef readonly Collisions chances
    cdef readonly HashTables tables
    cdef HashSums unions
    cdef object codes, firsts           # the arrays behind the next two
    cdef const int32_t *code            # [buckets] ascending within a table
    cdef const int32_t *first           # [tables + 1] buckets of each table
    cdef object centre, directions
    cdef const double *mean_of_all      # [D]
    cdef const float *direction         # [D, tables * bits]
    cdef double *mean                   # [D] of the cluster
    cdef double *sums                   # [tables * bits]
    cdef int32_t *query                 # [tables] codes of the mean

    cdef double of_cluster(self, PlugIn densities, Py_ssize_t k, const int32_t *items, Py_ssize_t n) noexcept nogil
    cdef Py_ssize_t bucket_of(self, Py_ssize_t table, int32_t code) noexcept nogil
