"""Rows of a table in shards, in other processes, which send the statistics of a ``Mixed``."""
cimport cython

import numpy as np

from splitmerge_cli.core.capabilities cimport Shards
from splitmerge_cli.kinds.tables.models.mixed cimport Mixed

from splitmerge_cli.core.checks import Rows
from splitmerge_cli.kinds.tables.models.mixed_cells import with_moments


@cython.final
cdef class MixedShards(Shards):
    cdef Mixed mixed

    @classmethod
    def suits(cls, model):
        """Whether the real columns are independent, zeros have no probability of their own, and no column is ordinal:
        bool."""
        return model.covariance == "diag" and model.zeros == "poisson" and "ordinal" not in model.types

    def __init__(self, Mixed model not None):
        super().__init__(model)
        self.mixed = model
        if model.joint is not None:
            self.column_bytes += model.joint.packed_bytes()

    @classmethod
    def build_shard(cls, values, columns, **params):
        # nobody asks a shard for the prior
        return Mixed(Rows(values, len(values), columns), columns.types)

    @classmethod
    def build_whole(cls, columns, packed, **params):
        rows = Rows(np.empty((0, len(columns.types))), columns.rows, with_moments(columns, bytes(packed)))
        return Mixed(rows, columns.types, **params)

    cdef void write_column(self, Py_ssize_t k, char *to) noexcept nogil:
        if self.mixed.joint is not None:
            self.mixed.joint.pack(k, to)
            to += self.mixed.joint.packed_bytes()
        self.model.pack(k, to)

    cdef void add_column(self, Py_ssize_t k, const char *packed) noexcept nogil:
        if self.mixed.joint is not None:
            self.mixed.joint.add_packed(k, packed)
            packed += self.mixed.joint.packed_bytes()
        self.model.add_packed(k, packed)
