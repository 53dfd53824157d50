# Mixture of tables with columns of several types. See mixed.pyx.
cimport cython
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t

from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.kinds.tables.models.dense_gaussian cimport DenseGaussian
from splitmerge_cli.kinds.tables.models.gaussian_full cimport FullGaussian
from splitmerge_cli.kinds.tables.models.ordered_levels cimport OrderedLevels
from splitmerge_cli.kinds.tables.models.regression cimport Regression
from splitmerge_cli.kinds.tables.models.normal cimport Scaled


@cython.final
cdef class Mixed(Scaled):
    cdef readonly Py_ssize_t D
    cdef readonly double zeta           # power of the likelihood; rates, kappa0 and a0 are over it
    cdef double log_zeta
    cdef readonly tuple types           # [D] words of TYPES
    cdef readonly str covariance        # of the real columns
    cdef readonly str zeros             # of the columns of counts, and of reals with a spike
    cdef DenseGaussian joint            # the real columns: its sizes are the clusters' here, its labels stale except in
    # ``refresh``; None: there are none
    cdef FullGaussian imputed           # `joint` where its missing cells are a part of the state, else None
    cdef readonly Regression regression  # an outcome that has effects, or is real; None: there is none
    cdef bint apart                     # the likelihood is asked for without them
    cdef readonly double beta1, beta0, alpha, shape
    cdef OrderedLevels ordered          # ordinal columns, the last of the discrete ones; None: there are none
    cdef Py_ssize_t C, P                # discrete and count columns
    cdef Py_ssize_t nominal             # discrete columns without an order
    cdef Py_ssize_t S                   # columns with missing cells
    cdef Py_ssize_t levels              # 1 + levels of all discrete columns
    cdef Py_ssize_t sums                # P + 1
    cdef Py_ssize_t length              # of the table of rising factorials
    # -- the data; shared
    cdef const int32_t *code            # [N, C] row of the cell's level, from 1; 0: missing
    cdef const int32_t *tally           # [N, P] counts; -1: missing
    cdef const uint8_t *there           # [N, S] 1 where the cell of a column with missing ones is observed
    cdef const int64_t *constant        # [N] log of what an item's predictive has in every cluster, in units
    cdef double constant_unit
    # -- the columns; shared
    cdef const int32_t *slot            # [D] number among the columns with missing cells, -1: none is missing
    cdef const int32_t *slot_discrete   # [C]
    cdef const int32_t *slot_count      # [P]
    cdef const int32_t *first           # [C + 1] row of a column's level 0
    cdef const int32_t *table_of        # [levels] table of a level's pseudo-count
    cdef const int32_t *total_of        # [C] table of the sum of a column's pseudo-counts
    cdef const double *rate             # [P]
    # -- tables; shared
    cdef const double *log_add          # [3, N + 2] log(n + beta0), of beta1, of alpha
    cdef const double *log_all          # [totals, N + 2] log(n + sum of a column's pseudo-counts)
    cdef const double *rise_add         # [3, N + 2] log rising factorials of the same
    cdef const double *rise_all         # [totals, N + 2]
    cdef const double *rise             # [length] of `shape`
    # -- statistics of a cluster, one after another
    cdef int32_t *count                 # [cap, levels] cells of each level; the first: missing ones
    cdef int32_t *seen                  # [cap, S] observed cells
    cdef int64_t *sum                   # [cap, P + 1] of counts, of `constant`
    # -- what follows from them, and `at`: see score_mixed
    cdef int8_t *stale_own              # [cap] whether what scores an item of the cluster itself is

    cdef void settle_own(self, Py_ssize_t k) noexcept nogil
    cdef double pseudo_count(self, Py_ssize_t r) noexcept nogil
    cdef void score_reals(self, Py_ssize_t i, Py_ssize_t block, Py_ssize_t own) noexcept nogil
    cdef bint score_own(self, Py_ssize_t i, Py_ssize_t k, double *out) noexcept nogil
    cdef double log_rest(self, Py_ssize_t i) noexcept nogil
    cdef double log_density_of(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil

    cdef inline Py_ssize_t cells(self, Py_ssize_t k, int32_t slot) noexcept nogil:
        """Observed cells of a column in cluster k."""
        return self.size[k] if slot < 0 else self.seen[k * self.S + slot]
