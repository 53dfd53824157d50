"""Columns that tell the clusters apart, and columns that do not: ``model.select`` of mixed tables and of points.

Column d has an indicator g_d. One that is in has parameters of its type in each cluster, one that is out a single set
for all rows, with the same prior:

    p(x, g | z) = p(g) prod_d f_d(all rows)^(1 - g_d) (prod_k f_d(rows of cluster k))^g_d

with f_d the marginal likelihood of the column, of the cells that are there (``mixed.pyx``). Each column is in with
probability rho, rho uniform and integrated out: p(g) = s! (D - s)! / (D + 1)! for s columns that are in. The indicators
are a part of the state. Given the partition ``refresh`` draws one after the other,

    P(g_d = 1 | z, the others) = (1 + s_d) B_d / ((1 + s_d) B_d + D - s_d)
    B_d = prod_k f_d(rows of cluster k) / f_d(all rows)

with s_d the others that are in (docs/derivations.md, "Columns that tell clusters apart"). Every column is a `Mixed` of
its own, and moves of the partition ask the columns that are in. (Tadesse, Sha and Vannucci 2005, with joint normal
distributions.)
"""
cimport cython
from libc.math cimport exp, lgamma
from libc.stdint cimport int32_t

import numpy as np

from splitmerge_cli.core.model cimport Model
from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.core.sums cimport ROOM, STALE
from splitmerge_cli.kinds.tables.models.mixed cimport Mixed
from splitmerge_cli.kinds.tables.models.normal cimport Table

from splitmerge_cli.core.checks import as_numbers
from splitmerge_cli.core.options import Gamma, read_options
from splitmerge_cli.core.checks import Rows
from splitmerge_cli.core.shared import as_array, share
from splitmerge_cli.kinds.tables.models.mixed_cells import cuts_of, types_of
from splitmerge_cli.kinds.tables.models.real_columns import per_column

OF_TYPE = {"rate": "count", "m0": "real", "b0": "real", "resolution": "real"}
"""Options with a number for each column of a type."""


def split_columns(values):
    """The columns of a table, each as a table, read-only."""
    columns = [np.array(values[:, [j]], dtype=np.float64) for j in range(values.shape[1])]
    for column in columns:
        column.flags.writeable = False
    return {"columns": columns}


def options_by_column(values, kinds, levels, given):
    """Options by column, each for a model of its own."""
    common = {key: given[key] for key in ("beta1", "beta0", "alpha", "shape", "kappa0", "a0", "power")}
    found = [common | {"prior": "uniform"} for _ in kinds]
    cuts = iter(cuts_of(values, kinds, levels, given["cuts"]))
    for j in range(len(kinds)):
        if kinds[j] == "count":
            found[j]["zeros"] = given["zeros"]
        if kinds[j] == "ordinal":
            found[j]["cuts"] = list(next(cuts)) or None
    for key, kind in OF_TYPE.items():
        where = [j for j in range(len(kinds)) if kinds[j] == kind]
        by_column = given[key]
        if by_column is None or isinstance(by_column, str):
            by_column = [by_column] * len(where)
        else:
            by_column = per_column(f"model.{key}", by_column, len(where), f"{kind} columns").tolist()
        for j, value in zip(where, by_column, strict=True):
            found[j][key] = value
    return found


@cython.final
cdef class Column:
    """One column of the table, and the columns behind it."""

    cdef Mixed own
    cdef Column after                   # None: the last
    cdef readonly bint inside
    cdef double alone                   # log likelihood of all rows as one cluster

    def __init__(self, Mixed own not None, Column after):
        self.own, self.after, self.inside = own, after, True

    cdef int reserve(self, Py_ssize_t cap) except -1:
        self.own._reserve(cap - 3)
        return 0 if self.after is None else self.after.reserve(cap)

    # -- statistics, of the columns that are in
    cdef void clear(self, Py_ssize_t k) noexcept nogil:
        if self.inside:
            self.own.scratch(k)
        if self.after is not None:
            self.after.clear(k)

    cdef void count(self, Py_ssize_t i, Py_ssize_t k, bint joins) noexcept nogil:
        if self.inside and joins:
            self.own.join(i, k)
        elif self.inside:
            self.own.leave(i, k)
        if self.after is not None:
            self.after.count(i, k, joins)

    cdef void copy(self, Py_ssize_t src, Py_ssize_t dst) noexcept nogil:
        if self.inside:
            self.own.copy(src, dst)
            self.own.size[dst] = self.own.size[src]
        if self.after is not None:
            self.after.copy(src, dst)

    cdef void absorb(self, Py_ssize_t dst, Py_ssize_t src, int sign) noexcept nogil:
        if self.inside:
            self.own.absorb(dst, src, sign)
            self.own.size[dst] = self.own.size[dst] + sign * self.own.size[src]
        if self.after is not None:
            self.after.absorb(dst, src, sign)

    # -- scores, of the columns that are in
    cdef void settle(self, Py_ssize_t k) noexcept nogil:
        if self.inside and self.own.stale[k]:
            self.own.settle(k)
        if self.after is not None:
            self.after.settle(k)

    cdef void add_scores(self, Py_ssize_t i, Py_ssize_t block, double *power) noexcept nogil:
        cdef Py_ssize_t k
        if self.inside:
            self.own.score(i, block)
            for k in range(block, block + 8):
                power[k] += self.own.power[k]
        if self.after is not None:
            self.after.add_scores(i, block, power)

    cdef double score_own(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        return ((self.own.score_own(i, k) if self.inside else 0.0)
                + (0.0 if self.after is None else self.after.score_own(i, k)))

    cdef double direct(self, Py_ssize_t i, Py_ssize_t k, bint counted) noexcept nogil:
        return ((self.own.direct(i, k, counted) if self.inside else 0.0)
                + (0.0 if self.after is None else self.after.direct(i, k, counted)))

    cdef double log_pred(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        return ((self.own.log_pred(i, k) if self.inside else 0.0)
                + (0.0 if self.after is None else self.after.log_pred(i, k)))

    cdef double log_density(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        return ((self.own.log_density_of(i, k) if self.inside else 0.0)
                + (0.0 if self.after is None else self.after.log_density(i, k)))

    cdef double log_lik(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        return ((self.own.log_of(a, b) if self.inside else 0.0)
                + (0.0 if self.after is None else self.after.log_lik(a, b)))

    # -- the columns that are out
    cdef double log_lik_aside(self) noexcept nogil:
        return (0.0 if self.inside else self.alone) + (0.0 if self.after is None else self.after.log_lik_aside())

    cdef double density_aside(self, Py_ssize_t i) noexcept nogil:
        """Log predictive density of item i, which no cluster counts."""
        return ((0.0 if self.inside else self.own.log_density_of(i, 0))
                + (0.0 if self.after is None else self.after.density_aside(i)))

    cdef double left_out_aside(self, Py_ssize_t i) noexcept nogil:
        """Log predictive of item i given all others."""
        cdef double rest = 0.0 if self.after is None else self.after.left_out_aside(i)
        if self.inside:
            return rest
        return rest + self.own.direct(i, 0, True) + self.own.constant[i] * self.own.constant_unit

    cdef void place(self, const int32_t *labels, Py_ssize_t K, Py_ssize_t N) noexcept nogil:
        """Count the first N items in the clusters of these labels; if it is out, in cluster 0."""
        cdef Py_ssize_t k, i
        for k in range(max(K, 1)):
            self.own.scratch(k)
        for i in range(N):
            if labels[i] >= 0:
                self.own.join(i, labels[i] if self.inside else 0)

    cdef void place_all(self, const int32_t *labels, Py_ssize_t K, Py_ssize_t N) noexcept nogil:
        self.place(labels, K, N)
        if self.after is not None:
            self.after.place_all(labels, K, N)

    # -- the indicators
    cdef void weigh_alone(self, const int32_t *labels, Py_ssize_t N) noexcept nogil:
        """Set ``alone``; all items have label 0."""
        self.place(labels, 1, N)
        self.alone = self.own.log_of(0, -1)
        if self.after is not None:
            self.after.weigh_alone(labels, N)

    cdef Py_ssize_t draw(self, Rng rng, const int32_t *labels, Py_ssize_t K, Py_ssize_t N, Py_ssize_t n,
                         Py_ssize_t D) noexcept nogil:
        """Draw this indicator given the others, then those behind it; n of D columns are in. Returns how many then
        are."""
        cdef double gain = -self.alone
        cdef bint was_inside = self.inside
        cdef Py_ssize_t k
        self.inside = True
        if not was_inside:
            self.place(labels, K, N)
        for k in range(K):
            gain += self.own.log_of(k, -1)
        n -= was_inside
        self.inside = rng.draw_coin(1.0 / (1.0 + exp(-gain) * (D - n) / (1.0 + n)))
        n += self.inside
        return n if self.after is None else self.after.draw(rng, labels, K, N, n, D)

    cdef bint equals(self, Column other) noexcept nogil:
        return self.inside == other.inside and (self.after is None or self.after.equals(other.after))

    cdef Py_ssize_t count_inside(self) noexcept nogil:
        return self.inside + (0 if self.after is None else self.after.count_inside())


@cython.final
cdef class SelectedColumns(Table):
    """Mixture of tables, with indicators of the columns that tell the clusters apart. Arguments are those of `Mixed`.

    Cost: as of `Mixed` with the columns that are in, in loops of one column each; ``refresh`` O(N D). Memory: for each
    column what a `Mixed` of one column has.
    """

    kind = "mixed"
    READS_MISSING = True
    OPTIONS = Mixed.OPTIONS
    simulate = Mixed.simulate
    CAPABILITIES = ()

    cdef Column first
    cdef readonly Py_ssize_t D
    cdef readonly tuple types
    cdef readonly double zeta

    def __init__(self, x, types, known=None, **options):
        given = read_options("model", self.OPTIONS, {"resolution": "none"} | options)
        if isinstance(x, Rows):
            raise ValueError("model.select=true: expected false for rows in shards")
        if given["covariance"] != "diag":
            raise ValueError(f"model.select=true: expected model.covariance=diag, got {given['covariance']}")
        if given["outcome"] is not None or given["effects"]:
            raise ValueError("model.select=true: expected no model.outcome and model.effects")
        if isinstance(given["b0"], Gamma) or isinstance(given["kappa0"], Gamma):
            raise ValueError("model.select=true: expected numbers for model.b0 and model.kappa0, which are then known")
        values = as_array(x)
        if values.ndim != 2 or not values.size:
            raise ValueError(f"x: expected a table of shape (N, D), got {values.shape}")
        kinds, levels = types_of(values, types)
        by_column = options_by_column(values, kinds, levels, given)
        apart = share(split_columns, values)
        self._hold(apart)
        if set(kinds) == {"real"} and not np.isnan(values).any():
            self.vectors = values
        self.D, self.types, self.zeta = len(kinds), kinds, given["power"]
        for j in reversed(range(self.D)):
            self.first = Column(Mixed(apart.columns[j], types[j:j + 1], known, **by_column[j]), self.first)
        self.keep(&self.power, ROOM)
        self.keep(&self.stale, STALE)
        self._allocate(values.shape[0], values.shape[0])
        self._set_prior(given["prior"].build(self.N, given["concentration"]))
        self.first.weigh_alone(self.memory.ints(self.N), self.N)
        self._start()

    # -- statistics
    cdef int grow(self, Py_ssize_t cap) except -1:
        self.first.reserve(cap)
        return Table.grow(self, cap)

    cdef void clear(self, Py_ssize_t k) noexcept nogil:
        self.first.clear(k)
        self.mark_changed(k)

    cdef void tell(self, Py_ssize_t i, Py_ssize_t k, int sign) noexcept nogil:
        self.first.count(i, k, sign > 0)

    cdef void copy(self, Py_ssize_t src, Py_ssize_t dst) noexcept nogil:
        self.first.copy(src, dst)
        self.mark_changed(dst)

    cdef void absorb(self, Py_ssize_t dst, Py_ssize_t src, int sign) noexcept nogil:
        self.first.absorb(dst, src, sign)
        self.mark_changed(dst)

    # -- scores
    cdef void settle(self, Py_ssize_t k) noexcept nogil:
        self.first.settle(k)
        self.stale[k] = False

    cdef void score(self, Py_ssize_t i, Py_ssize_t block) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(block, block + 8):
            self.power[k] = 0.0
        self.first.add_scores(i, block, self.power)

    cdef double score_own(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        return self.first.score_own(i, k)

    cdef double direct(self, Py_ssize_t i, Py_ssize_t k, bint counted) noexcept nogil:
        return self.first.direct(i, k, counted)

    cdef double log_pred(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        return self.first.log_pred(i, k)

    cdef double log_of(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        return self.first.log_lik(a, b)

    # -- the indicators in the state of a chain
    cdef void columns_changed(self) noexcept nogil:
        cdef Py_ssize_t k
        self.log_lik_aside = self.first.log_lik_aside()
        for k in range(self.cap):
            self.stale[k] = True
            self.is_valid[k] = False

    cdef Py_ssize_t refresh_parameters(self, Rng rng) noexcept nogil:
        """Draw the indicators, one after the other, given the partition and the others."""
        self.first.draw(rng, self.z, self.K, self.N, self.first.count_inside(), self.D)
        self.columns_changed()
        return self.K

    cdef bint same_parameters(self, Model other, const int32_t *twin) noexcept nogil:
        return self.first.equals((<SelectedColumns> other).first)

    @property
    def hyperparameters(self):
        """tuple of str: the prior's, and the number of selected columns."""
        return (*self.prior.hyperparameters, "informative")

    cdef Py_ssize_t write_hyperparameters(self, double *out) noexcept nogil:
        cdef Py_ssize_t t = Model.write_hyperparameters(self, out)
        out[t] = self.first.count_inside()
        return t + 1

    cdef double log_extra(self) noexcept nogil:
        cdef Py_ssize_t n = self.first.count_inside()
        return Model.log_extra(self) + lgamma(1.0 + n) + lgamma(1.0 + self.D - n) - lgamma(2.0 + self.D)

    @property
    def parameters(self):
        """ndarray of float64, shape (D, 1): 1 of a column that is in, else 0."""
        column, found = self.first, []
        while column is not None:
            found.append([1.0 * column.inside])
            column = (<Column> column).after
        return np.array(found)

    def set_parameters(self, values):
        """Set the indicators, as ``parameters`` gives them. A ValueError for another number of values, or one that is
        not 0 or 1."""
        cdef Column column = self.first
        given = as_numbers("parameters", values).reshape(-1)
        if given.shape != (self.D,) or not ((given == 0.0) | (given == 1.0)).all():
            raise ValueError(f"parameters: expected {self.D} numbers, each 0 or 1, got {given}")
        for value in given:
            column.inside = value == 1.0
            column = column.after
        self.first.place_all(self.z, self.K, self.N)
        self.columns_changed()

    # -- densities of items
    def log_densities(self, Py_ssize_t first):
        """The density itself under a power, with the parameters' posterior under the power; of a column that is out
        given all known rows."""
        cdef Py_ssize_t i, k
        cdef double aside
        cdef double[:, ::1] density = np.empty((self.N - first, self.K))
        self.begin_scan()
        self.first.place_all(self.z, self.K, first)
        for i in range(first, self.N):
            aside = self.first.density_aside(i)
            for k in range(self.K):
                # the last of the clusters are the new items; behind it stands an empty column
                density[i - first, k] = aside + self.first.log_density(i, k + (k == self.K - 1))
        self.first.place_all(self.z, self.K, self.N)
        return np.asarray(density)

    def left_out_densities(self):
        """As of any model, and the columns that are out, given all other items."""
        cdef Py_ssize_t i
        found = super().left_out_densities()
        self.first.place_all(self.z, self.K, self.N)
        for i in range(self.N):
            found[i] += self.first.left_out_aside(i)
        return found
