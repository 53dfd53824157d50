"""Rows of a table in shards, in other processes, which send the statistics of a ``Mixed``."""
cimport cython
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

import numpy as np

from splitmerge_cli.core.capabilities cimport Shards
from splitmerge_cli.kinds.tables.models.mixed cimport Mixed

from splitmerge_cli.core.rows import Rows
from splitmerge_cli.kinds.tables.models.mixed_cells import with_moments

cdef extern from "fixed_point.h":
    ctypedef struct whole:
        pass


@cython.final
cdef class MixedShards(Shards):
    cdef Mixed model

    @classmethod
    def suits(cls, model):
        """Whether the real columns are independent, and no column is ordinal: bool."""
        return model.covariance == "diag" and "ordinal" not in model.types

    def __init__(self, Mixed model not None):
        self.model = model
        self.column_bytes = (24 * model.R + 8 * model.sums + 4 * model.levels + 4 * model.S + 15) // 16 * 16

    @classmethod
    def build_shard(cls, values, columns, **params):
        # nobody asks a shard for the prior
        return Mixed(Rows(values, len(values), columns), columns.types)

    @classmethod
    def build_whole(cls, columns, packed, **params):
        rows = Rows(np.empty((0, len(columns.types))), columns.rows, with_moments(columns, bytes(packed)))
        return Mixed(rows, columns.types, **params)

    cdef void write_column(self, Py_ssize_t k, char *to) noexcept nogil:
        cdef Py_ssize_t P = self.model.P, R = self.model.R
        cdef int64_t *sum = <int64_t *> (to + 16 * R)
        cdef int32_t *count = <int32_t *> (sum + P + R + 1)
        if R:
            memcpy(to, self.model.reals.squares_of(k), 16 * R)
            memcpy(sum + P, self.model.reals.sums_of(k), 8 * R)
        memcpy(sum, self.model.sum + k * self.model.sums, 8 * P)
        sum[P + R] = self.model.sum[k * self.model.sums + P]
        memcpy(count, self.model.count + k * self.model.levels, 4 * self.model.levels)
        memcpy(count + self.model.levels, self.model.seen + k * self.model.S, 4 * self.model.S)

    cdef void add_column(self, Py_ssize_t k, const char *packed) noexcept nogil:
        cdef Py_ssize_t c, P = self.model.P, R = self.model.R
        cdef const int64_t *sum = <const int64_t *> (packed + 16 * R)
        cdef const int32_t *count = <const int32_t *> (sum + P + R + 1)
        cdef int64_t *own_sum = self.model.sum + k * self.model.sums
        cdef int32_t *own_count = self.model.count + k * self.model.levels
        cdef int32_t *own_seen = self.model.seen + k * self.model.S
        if R:
            self.model.reals.add_column(k, sum + P, <const whole *> packed, 1)
        for c in range(P):
            own_sum[c] += sum[c]
        own_sum[P] += sum[P + R]
        for c in range(self.model.levels):
            own_count[c] += count[c]
        for c in range(self.model.S):
            own_seen[c] += count[self.model.levels + c]
        self.model.stale[k] = True
