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
its own, and moves of the partition ask the columns that are in. Real columns without missing cells and without weights
have the same degree in a cluster, so a row is scored by one product of their factors, as by ``gaussian_independent``.
(Tadesse, Sha and Vannucci 2005, with joint normal distributions.)
"""
cimport cython
from cpython.ref cimport PyObject
from libc.math cimport exp, lgamma, log
from libc.stdint cimport int8_t, int32_t
from libc.string cimport memcmp, memcpy

import numpy as np

from splitmerge_cli.core.model cimport Model
from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.core.sums cimport BY_COLUMN, ROOM, STALE
from splitmerge_cli.kinds.tables.models.dense_gaussian cimport DenseGaussian, numbers_at
from splitmerge_cli.kinds.tables.models.gaussian_independent cimport score_points, settle_column
from splitmerge_cli.kinds.tables.models.mixed cimport Mixed
from splitmerge_cli.kinds.tables.models.normal cimport Scaled

from splitmerge_cli.core.checks import as_numbers
from splitmerge_cli.core.options import Gamma, read_options
from splitmerge_cli.core.checks import Rows
from splitmerge_cli.core.shared import as_array, share
from splitmerge_cli.kinds.tables.models.mixed_cells import cuts_of, spikes_of, types_of
from splitmerge_cli.kinds.tables.models.real_columns import factor_piece, per_column

OF_TYPE = {"rate": "count", "m0": "real", "b0": "real", "resolution": "real"}
"""Options with a number for each column of a type."""


def split_columns(values):
    """The columns of a table, each as a table, read-only."""
    columns = [np.array(values[:, [j]], dtype=np.float64) for j in range(values.shape[1])]
    for column in columns:
        column.flags.writeable = False
    return {"columns": columns}


def options_by_column(values, kinds, levels, spikes, given):
    """Options by column, each for a model of its own."""
    common = {key: given[key] for key in ("beta1", "beta0", "alpha", "shape", "kappa0", "a0", "power")}
    found = [common | {"prior": "uniform"} for _ in kinds]
    cuts = iter(cuts_of(values, kinds, levels, given["cuts"]))
    for j in range(len(kinds)):
        if spikes[j] is not None:
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
cdef class SelectedColumns(Scaled):
    """Mixture of tables, with indicators of the columns that tell the clusters apart. It has the arguments of `Mixed`.

    Cost: as of `Mixed` with the columns that are in, in loops of one column each but for real columns with all cells;
    ``refresh`` O(N D). Memory: for each column what a `Mixed` of one column has, and 24 bytes a cluster.
    """

    kind = "mixed"
    READS_MISSING = True
    OPTIONS = Mixed.OPTIONS
    simulate = Mixed.simulate
    CAPABILITIES = ()
    why_not_added = "model.select=true: expected false for items of several rows (data.weights, data.group)"

    cdef readonly Py_ssize_t D
    cdef readonly tuple types
    cdef readonly double zeta
    cdef list columns                   # a `Mixed` for each
    cdef PyObject **column              # [D] the same
    cdef PyObject **real                # [D] its points, a `DenseGaussian`, where it is scored in a product; else NULL
    cdef int8_t *inside                 # [D] whether a column is in
    cdef int32_t *factor                # [D] columns that are in and scored in a product, the first n_factors
    cdef Py_ssize_t n_factors
    cdef Py_ssize_t piece               # factors whose product cannot leave the range of a double
    cdef bint coarse                    # whether any of these columns is recorded to a resolution
    cdef const double *log_c            # [N + 2] of each of them the part of a predictive that depends on n alone
    cdef double *log_det                # [cap] sum over these that are in of the logarithms of b_n over b0
    cdef double *own_scatter            # [cap, D] b_n less one grain, where columns have a resolution
    cdef double *own_level              # [cap]
    cdef int8_t *stale_own              # [cap]
    cdef double *x                      # [D] cells of the row at hand
    cdef double *mean                   # [D] of the cluster that is settled
    cdef double *scatter                # [D]
    cdef double *alone                  # [D] log likelihood of all rows as one cluster

    cdef void place(self, Py_ssize_t d, const int32_t *labels, Py_ssize_t K, Py_ssize_t N) noexcept nogil:
        """Count the first N items in the clusters of these labels in column d; if it is out, in cluster 0."""
        cdef Py_ssize_t k, i
        for k in range(max(K, 1)):
            (<Mixed> self.column[d]).scratch(k)
        for i in range(N):
            if labels[i] >= 0:
                (<Mixed> self.column[d]).join(i, labels[i] if self.inside[d] else 0)

    def __init__(self, x, types, known=None, **options):
        cdef Py_ssize_t d
        cdef int32_t *together
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
        by_column = options_by_column(values, kinds, levels, spikes_of(kinds, types), given)
        apart = share(split_columns, values)
        self._hold(apart)
        if set(kinds) == {"real"} and not np.isnan(values).any():
            self.vectors = values
        self.D, self.types, self.zeta = len(kinds), kinds, given["power"]
        self.columns = [Mixed(apart.columns[j], types[j:j + 1], known, **by_column[j]) for j in range(self.D)]
        self.column = <PyObject **> self.memory.doubles(self.D)
        self.inside, self.alone = self.memory.flags(self.D), self.memory.doubles(self.D)
        self.real, self.factor = <PyObject **> self.memory.doubles(self.D), self.memory.ints(self.D)
        self.x, self.mean = self.memory.doubles(self.D), self.memory.doubles(self.D)
        self.scatter = self.memory.doubles(self.D)
        for d, column in enumerate(self.columns):
            self.column[d], self.inside[d] = <PyObject *> column, True
        self._find_reals(values.shape[0])
        self.keep_blocks(2 * self.D)
        self.keep(&self.log_det, ROOM)
        self.keep(&self.own_scatter, ROOM, self.D, BY_COLUMN)
        self.keep(&self.own_level, ROOM)
        self.keep(&self.stale_own, STALE)
        self._allocate(values.shape[0], values.shape[0])
        self._set_prior(given["prior"].build(self.N, given["concentration"]))
        together = self.memory.ints(self.N)
        for d in range(self.D):
            self.place(d, together, 1, self.N)
            self.alone[d] = (<Mixed> self.column[d]).log_of(0, -1)
        self.list_factors()
        self._start()

    def _find_reals(self, N):
        """Find the columns of N rows that are scored in a product."""
        cdef Py_ssize_t d
        cdef Mixed column
        widest, location, scale = [], [], []
        for d in range(self.D):
            column = self.columns[d]
            if column.joint is None or column.C or column.joint.gapped or column.weights is not None:
                continue
            self.real[d] = <PyObject *> column.joint
            self.coarse = self.coarse or column.joint.coarse
            # over the power, as the columns have them
            self.kappa0, self.a0, self.log_c = column.joint.kappa0, column.joint.a0, column.joint.log_c
            widest.append(np.abs(numbers_at(column.joint.x, N)).max())
            location.append(column.joint.m0[0])
            scale.append(column.joint.b0[0])
        self.piece = factor_piece(*(np.array(numbers) for numbers in (widest, location, scale)), np.ones(len(widest)))

    cdef void list_factors(self) noexcept nogil:
        cdef Py_ssize_t d
        self.n_factors = 0
        for d in range(self.D):
            if self.inside[d] and self.real[d] != NULL:
                self.factor[self.n_factors] = d
                self.n_factors += 1

    # -- statistics, of the columns that are in
    cdef int grow(self, Py_ssize_t cap) except -1:
        for column in self.columns:
            (<Mixed> column)._reserve(cap - 3)
        return Scaled.grow(self, cap)

    cdef void clear(self, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t d
        for d in range(self.D):
            if self.inside[d]:
                (<Mixed> self.column[d]).scratch(k)
        self.mark_changed(k)

    cdef void tell(self, Py_ssize_t i, Py_ssize_t k, int sign) noexcept nogil:
        cdef Py_ssize_t d
        for d in range(self.D):
            if self.inside[d] and sign > 0:
                (<Mixed> self.column[d]).join(i, k)
            elif self.inside[d]:
                (<Mixed> self.column[d]).leave(i, k)

    cdef void copy(self, Py_ssize_t src, Py_ssize_t dst) noexcept nogil:
        cdef Py_ssize_t d
        for d in range(self.D):
            if self.inside[d]:
                (<Mixed> self.column[d]).copy_column(src, dst)
        self.mark_changed(dst)

    cdef void absorb(self, Py_ssize_t dst, Py_ssize_t src, int sign) noexcept nogil:
        cdef Py_ssize_t d
        for d in range(self.D):
            if self.inside[d]:
                (<Mixed> self.column[d]).absorb_column(dst, src, sign)
        self.mark_changed(dst)

    # -- scores, of the columns that are in
    cdef void settle(self, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t d
        for d in range(self.D):
            if self.inside[d] and self.real[d] == NULL and (<Mixed> self.column[d]).stale[k]:
                (<Mixed> self.column[d]).settle(k)
        self.stale[k] = False
        if self.n_factors:
            self.settle_product(k)

    cdef double posterior_with(self, Py_ssize_t k, double times, double *scatter) noexcept nogil:
        """``mean`` and b_n of the columns in the product, in cluster k with so many times the grain, of which its n
        rows have n; the sum of the logarithms of b_n over b0, as all clusters share these."""
        cdef Py_ssize_t t, n = self.size[k]
        cdef double total = 0.0, off = 1.0, kappa = self.kappa0 + n, pull = self.kappa0 * n / kappa
        cdef PyObject *points
        for t in range(self.n_factors):
            points = self.real[self.factor[t]]
            # a column has one sum and one square in a cluster
            (<DenseGaussian> points).moments((<DenseGaussian> points).sum + k, (<DenseGaussian> points).square + k, n,
                                             self.mean + t, scatter + t)
            settle_column(self.mean + t, scatter + t, (<DenseGaussian> points).m0[0], (<DenseGaussian> points).b0[0],
                          times * (<DenseGaussian> points).grain[0], n, kappa, pull)
            off *= scatter[t] / (<DenseGaussian> points).b0[0]
            if not 1e-200 < off < 1e200:
                total += log(off)
                off = 1.0
        return total + log(off)

    cdef void settle_product(self, Py_ssize_t k) noexcept nogil:
        """As of points with these columns (``dense_gaussian.pyx``)."""
        cdef Py_ssize_t t, n = self.size[k]
        cdef double *row = self.block_of(k)
        cdef double shrink = (self.kappa0 + n) / (self.kappa0 + n + 1.0), log_next
        self.stale_own[k] = True
        self.log_det[k] = log_next = self.posterior_with(k, n, self.scatter)
        if self.coarse:
            # what scores another row has its grain, too
            log_next = self.posterior_with(k, n + 1.0, self.scatter)
        for t in range(self.n_factors):
            row[16 * t], row[16 * t + 8] = self.mean[t], 0.5 * shrink / self.scatter[t]
        self.degree[k] = -self.zeta * (self.a0 + 0.5 * n + 0.5)
        self.level[k] = (self.n_factors * self.log_c[n] - 0.5 * self.zeta * self.log_det[k]
                         + self.degree[k] * (log_next - self.log_det[k]))

    cdef void score(self, Py_ssize_t i, Py_ssize_t block, Py_ssize_t own) noexcept nogil:
        cdef Py_ssize_t d, k
        if self.n_factors:
            self.score_product(i, block, own)
        else:
            for k in range(block, block + 8):
                self.power[k], self.left[k] = 0.0, 1.0
        for d in range(self.D):
            if self.inside[d] and self.real[d] == NULL:
                (<Mixed> self.column[d]).score(i, block, own)
                for k in range(block, block + 8):
                    self.power[k] += (<Mixed> self.column[d]).power[k]
        if own >= 0:
            self.keep_digits(i, block, own)

    cdef void score_product(self, Py_ssize_t i, Py_ssize_t block, Py_ssize_t own) noexcept nogil:
        cdef Py_ssize_t t
        cdef double *turn = self.lane
        cdef double level = 0.0, degree = 0.0
        for t in range(self.n_factors):
            self.x[t] = (<DenseGaussian> self.real[self.factor[t]]).x[i]
        if own >= 0 and not self.coarse:
            turn = self.lane + 8
            memcpy(turn, self.lane, 8 * sizeof(double))
            self.take_out_of(own, turn + own - block, &level, &degree)
        score_points(self.at + block * self.rows, self.x, self.n_factors, self.piece, turn, self.level + block,
                     self.degree + block, self.lane + 32, self.left + block, self.power + block)
        if own >= 0:
            self.power[own] = (self.score_counted(own) if self.coarse
                               else level + degree * self.lane[32 + own - block])

    cdef void take_out_of(self, Py_ssize_t k, double *turn, double *level, double *degree) noexcept nogil:
        cdef Py_ssize_t n = self.size[k] - 1
        cdef double kappa = self.kappa0 + n
        turn[0], degree[0] = -(kappa + 2.0) / kappa, self.zeta * (self.a0 + 0.5 * n)
        level[0] = self.n_factors * self.log_c[n] - 0.5 * self.zeta * self.log_det[k]

    cdef double score_counted(self, Py_ssize_t k) noexcept nogil:
        """Log predictive of the cells in ``x`` in cluster k, which counts them, given the others there, where columns
        have a resolution: the others have one grain less; left[k]."""
        cdef Py_ssize_t t, n = self.size[k]
        cdef double a = self.a0 + 0.5 * (n - 1), kappa = self.kappa0 + n, log_q = 0.0, q = 1.0, e
        cdef const double *row = self.block_of(k)
        cdef double *scatter = self.own_scatter + k * self.D
        if self.stale_own[k]:
            self.stale_own[k] = False
            self.own_level[k] = (self.n_factors * self.log_c[n - 1]
                                 + self.zeta * (a * self.posterior_with(k, n - 1.0, scatter)
                                                - (a + 0.5) * self.log_det[k]))
        for t in range(self.n_factors):
            e = self.x[t] - row[16 * t]
            q *= 1.0 - 0.5 * kappa / (kappa - 1.0) * e * e / scatter[t]
            if q < 1e-150:
                log_q += log(q)
                q = 1.0
        log_q += log(q)
        self.left[k] = exp(log_q)
        return self.own_level[k] + self.zeta * a * log_q

    cdef double log_pred(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t d
        cdef double total = 0.0
        for d in range(self.D - 1, -1, -1):
            if self.inside[d]:
                total += (<Mixed> self.column[d]).log_pred(i, k)
        return total

    cdef double log_of(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        cdef Py_ssize_t d
        cdef double total = 0.0
        for d in range(self.D - 1, -1, -1):
            if self.inside[d]:
                total += (<Mixed> self.column[d]).log_of(a, b)
        return total

    # -- the indicators in the state of a chain
    cdef Py_ssize_t count_inside(self) noexcept nogil:
        cdef Py_ssize_t d, n = 0
        for d in range(self.D):
            n += self.inside[d]
        return n

    cdef void columns_changed(self) noexcept nogil:
        cdef Py_ssize_t d
        self.list_factors()
        self.log_lik_aside = 0.0
        for d in range(self.D - 1, -1, -1):
            if not self.inside[d]:
                self.log_lik_aside += self.alone[d]
        self.forget_scores()

    cdef Py_ssize_t refresh_parameters(self, Rng rng) noexcept nogil:
        """Draw the indicators, one after the other, given the partition and the others."""
        cdef Py_ssize_t d, k, n = self.count_inside()
        cdef double gain
        cdef bint was_inside
        for d in range(self.D):
            gain, was_inside, self.inside[d] = -self.alone[d], self.inside[d], True
            if not was_inside:
                self.place(d, self.z, self.K, self.N)
            for k in range(self.K):
                gain += (<Mixed> self.column[d]).log_of(k, -1)
            n -= was_inside
            self.inside[d] = rng.draw_coin(1.0 / (1.0 + exp(-gain) * (self.D - n) / (1.0 + n)))
            n += self.inside[d]
        self.columns_changed()
        return self.K

    cdef bint same_parameters(self, Model other, const int32_t *twin) noexcept nogil:
        return memcmp(self.inside, (<SelectedColumns> other).inside, self.D) == 0

    @property
    def hyperparameters(self):
        """tuple of str: the prior's, and the number of selected columns."""
        return (*self.prior.hyperparameters, "informative")

    cdef Py_ssize_t write_hyperparameters(self, double *out) noexcept nogil:
        cdef Py_ssize_t t = Model.write_hyperparameters(self, out)
        out[t] = self.count_inside()
        return t + 1

    cdef double log_extra(self) noexcept nogil:
        cdef Py_ssize_t n = self.count_inside()
        return Model.log_extra(self) + lgamma(1.0 + n) + lgamma(1.0 + self.D - n) - lgamma(2.0 + self.D)

    @property
    def parameters(self):
        """ndarray of float64, shape (D, 1): 1 of a column that is in, else 0."""
        return np.array([[1.0 * self.inside[d]] for d in range(self.D)])

    def set_parameters(self, values):
        """Set the indicators, as ``parameters`` gives them. A ValueError for another number of values, or one that is
        not 0 or 1."""
        cdef Py_ssize_t d
        given = as_numbers("parameters", values).reshape(-1)
        if given.shape != (self.D,) or not ((given == 0.0) | (given == 1.0)).all():
            raise ValueError(f"parameters: expected {self.D} numbers, each 0 or 1, got {given}")
        for d in range(self.D):
            self.inside[d] = given[d] == 1.0
            self.place(d, self.z, self.K, self.N)
        self.columns_changed()

    # -- densities of items
    def log_densities(self, Py_ssize_t first):
        """The density itself under a power, with the parameters' posterior under the power; of a column that is out
        given all known rows."""
        cdef Py_ssize_t i, k, d, of
        cdef Mixed column
        found = np.zeros((self.N - first, self.K))
        cdef double[:, ::1] density = found
        self.begin_scan()
        for d in range(self.D):
            column = self.columns[d]
            self.place(d, self.z, self.K, first)
            for k in range(self.K):
                # the last of the clusters are the new items; behind it stands an empty column
                of = k + (k == self.K - 1) if self.inside[d] else 0
                for i in range(first, self.N):
                    density[i - first, k] += column.log_density_of(i, of)
                if column.joint is not None:
                    found[:, k] += column.joint.densities_in(column.joint.given_points(first, self.N), of)
            self.place(d, self.z, self.K, self.N)
        return found

    def left_out_densities(self):
        """As of any model, and the columns that are out, given all other items."""
        cdef Py_ssize_t i, d
        cdef Mixed column
        found = super().left_out_densities()
        for d in range(self.D):
            column = self.columns[d]
            self.place(d, self.z, self.K, self.N)
            column.settle(0)
            for i in range(0 if self.inside[d] else self.N):
                column.score(i, 0, 0)
                found[i] += column.power[0] + column.log_rest(i)
        return found
