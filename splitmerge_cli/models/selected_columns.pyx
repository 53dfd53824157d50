"""Columns of a normal mixture that tell the clusters apart, and columns that do not: ``model.select``.

Column d has an indicator g_d. One that is in has a mean and a variance in each cluster, one that is out a single mean
and variance for all rows, with the same prior:

    p(x, g | z) = p(g) prod_d f_d(all rows)^(1 - g_d) (prod_k f_d(rows of cluster k))^g_d

with f_d the marginal likelihood of ``gaussian_independent.pyx``. Each column is in with probability rho, rho uniform
and integrated out: p(g) = s! (D - s)! / (D + 1)! for s columns that are in. The indicators are a part of the state.
Given the partition ``refresh`` draws one after the other,

    P(g_d = 1 | z, the others) = (1 + s_d) B_d / ((1 + s_d) B_d + D - s_d)
    B_d = prod_k f_d(rows of cluster k) / f_d(all rows)

with s_d the others that are in (docs/derivations.md, "Columns that tell clusters apart"). Given the indicators, moves
of the partition see the columns that are in alone: their numbers are copied to the front, so that a scan costs what
these cost. (Tadesse, Sha and Vannucci 2005, with joint normal distributions.)
"""
from libc.math cimport exp, lgamma, log
from libc.stdint cimport int8_t, int32_t

import numpy as np

from splitmerge_cli.core.model cimport Model
from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.models.dense_gaussian cimport DenseGaussian, numbers_at
from splitmerge_cli.models.gaussian_independent cimport DiagonalGaussian

from splitmerge_cli.core.checks import as_numbers


cdef class SelectedGaussian(DiagonalGaussian):
    """Mixture of normal distributions of points, a variance per dimension, with indicators of the columns.

    Notes
    -----
    Cost: as of diag with the columns that are in; ``refresh`` O(N D). Memory: the points once more.
    """

    # no parameters of clusters are drawn, and no shards are asked, while columns come and go
    CAPABILITIES = ()

    cdef Py_ssize_t columns             # all; D: those that are in
    cdef int8_t *inside                 # [columns] the indicators
    cdef const double **of_all          # of all columns: x, m0, b0, grain, middle, units
    cdef double **of_chosen             # of those that are in, which the pointers of the base class lead to
    cdef double *column_c               # [N + 2] log_c and log_n of one column, without b0 and units
    cdef double *column_n
    cdef double *by_cluster             # [columns] log likelihood given the partition, all columns at hand
    cdef double *alone                  # [columns] that of all rows as one cluster

    def __init__(self, x, known=None, **options):
        super().__init__(x, known, **options)
        if self.scale_prior is not None:
            raise ValueError("model.select=true: expected numbers for model.b0 and model.kappa0, which are then known")
        if self.given is None:
            raise ValueError("model.select=true: expected false for rows in shards")
        cdef Py_ssize_t n, d, D = self.D, room = self.total + 2
        self.inside = self.memory.flags(D)
        self.of_all, self.of_chosen = <const double **> self.memory.doubles(6), <double **> self.memory.doubles(6)
        self.of_all[0], self.of_all[1], self.of_all[2] = self.x, self.m0, self.b0
        self.of_all[3], self.of_all[4], self.of_all[5] = self.grain, self.middle, self.units
        self.of_chosen[0] = self.memory.doubles(self.N * D)
        for n in range(1, 6):
            self.of_chosen[n] = self.memory.doubles(D)
        self.column_c, self.column_n = self.memory.doubles(room), self.memory.doubles(room)
        self.own_c, self.own_n = self.memory.doubles(room), self.memory.doubles(room)
        for n in range(room):
            self.column_c[n] = self.log_c[n] / D
            self.column_n[n] = (self.log_n[n] + self.zeta * n * (0.5 * self.log_b0 + self.log_units)) / D
        self.log_c, self.log_n = self.own_c, self.own_n
        self.by_cluster, self.alone = self.memory.doubles(D), self.memory.doubles(D)
        self.columns = D
        # all items are in one cluster
        self.weigh_columns(self.alone)
        for d in range(D):
            self.inside[d] = True
        self.use_columns()

    cdef int grow(self, Py_ssize_t cap) except -1:
        # room for all columns, whichever are in
        cdef Py_ssize_t D = self.D
        self.D = max(self.columns, D)
        self.measure()
        DenseGaussian.grow(self, cap)
        self.D = D
        self.measure()
        return 0

    # -- the columns at hand
    cdef void use_columns(self) noexcept nogil:
        """Take over the indicators: the columns that are in stand in front, and clusters are counted anew."""
        cdef Py_ssize_t d, i, t, n, D = 0
        for d in range(self.columns):
            D += self.inside[d]
        n = 0
        self.log_lik_aside = 0.0
        for d in range(self.columns):
            if not self.inside[d]:
                self.log_lik_aside += self.alone[d] + self.constant_of(d, self.N)
                continue
            for i in range(self.N):
                self.of_chosen[0][i * D + n] = self.of_all[0][i * self.columns + d]
            for t in range(1, 6):
                self.of_chosen[t][n] = self.of_all[t][d]
            n += 1
        self.point_to(<const double **> self.of_chosen, D)

    cdef void point_to(self, const double **columns, Py_ssize_t D) noexcept nogil:
        """Let the base class read these D columns."""
        cdef Py_ssize_t d, n, i, k
        self.D = self.n_means = D
        self.measure()
        self.x, self.m0, self.b0 = columns[0], columns[1], columns[2]
        self.grain, self.middle, self.units = columns[3], columns[4], columns[5]
        self.grains = self.log_b0 = self.log_units = 0.0
        for d in range(D):
            self.grains += self.grain[d]
            self.log_b0 += log(self.b0[d])
            self.log_units += log(self.units[d])
        for n in range(self.total + 2):
            self.own_c[n] = D * self.column_c[n]
            self.own_n[n] = D * self.column_n[n] - self.zeta * n * (0.5 * self.log_b0 + self.log_units)
        for k in range(self.cap):
            self.clear(k)
            self.is_valid[k] = False
        for i in range(self.N):
            if self.z[i] >= 0:
                self.count(self.z[i], self.point(i), 1)

    cdef double constant_of(self, Py_ssize_t d, Py_ssize_t n) noexcept nogil:
        """Share of n points in the log likelihood of column d that no partition changes."""
        return -self.zeta * n * (0.5 * log(self.of_all[2][d]) + log(self.of_all[5][d]))

    cdef void add_columns(self, Py_ssize_t k, double *out) noexcept nogil:
        """Add to `out` the log likelihood of each column in cluster k, but for ``constant_of``; all are at hand."""
        cdef Py_ssize_t d, n = self.size[k]
        self.posterior(self.sums_of(k), self.squares_of(k), n, self.mean, self.scatter)
        for d in range(self.columns):
            out[d] += self.column_n[n] - self.zeta * self.a_n(n) * log(self.scatter[d] / self.b0[d])

    cdef void weigh_columns(self, double *out) noexcept nogil:
        """Log likelihood of each column given the partition, but for ``constant_of``."""
        cdef Py_ssize_t d, k
        self.point_to(self.of_all, self.columns)
        for d in range(self.columns):
            out[d] = 0.0
        for k in range(self.K):
            self.add_columns(k, out)

    # -- the indicators in the state of a chain
    cdef Py_ssize_t refresh_parameters(self, Rng rng) noexcept nogil:
        """Draw the indicators, one after the other, given the partition and the others."""
        cdef Py_ssize_t d, others = self.D
        cdef double odds
        self.weigh_columns(self.by_cluster)
        for d in range(self.columns):
            others -= self.inside[d]
            odds = exp(self.alone[d] - self.by_cluster[d]) * (self.columns - others) / (1.0 + others)
            self.inside[d] = rng.draw_coin(1.0 / (1.0 + odds))
            others += self.inside[d]
        self.use_columns()
        return self.K

    cdef bint same_parameters(self, Model other, const int32_t *twin) noexcept nogil:
        cdef Py_ssize_t d
        for d in range(self.columns):
            if self.inside[d] != (<SelectedGaussian> other).inside[d]:
                return False
        return True

    @property
    def hyperparameters(self):
        """tuple of str: those of the prior, and how many columns are in."""
        return (*self.prior.hyperparameters, "informative")

    cdef Py_ssize_t write_hyperparameters(self, double *out) noexcept nogil:
        cdef Py_ssize_t t = Model.write_hyperparameters(self, out)
        out[t] = self.D
        return t + 1

    cdef double log_extra(self) noexcept nogil:
        return (Model.log_extra(self) + lgamma(1.0 + self.D) + lgamma(1.0 + self.columns - self.D)
                - lgamma(2.0 + self.columns))

    @property
    def parameters(self):
        """ndarray of float64, shape (D, 1): 1 of a column that is in, else 0."""
        return np.array([[1.0 * self.inside[d]] for d in range(self.columns)])

    def set_parameters(self, values):
        """Set the indicators, as ``parameters`` gives them.

        Raises
        ------
        ValueError
            For another number of values, or one that is not 0 or 1.
        """
        cdef Py_ssize_t d
        given = as_numbers("parameters", values).reshape(-1)
        if given.shape != (self.columns,) or not ((given == 0.0) | (given == 1.0)).all():
            raise ValueError(f"parameters: expected {self.columns} numbers, each 0 or 1, got {given}")
        for d in range(self.columns):
            self.inside[d] = given[d] == 1.0
        self.use_columns()

    # -- densities of items
    cdef object given_points(self, Py_ssize_t first, Py_ssize_t last):
        chosen = np.flatnonzero(self.parameters[:, 0]) if self.D < self.columns else slice(None)
        return ((np.asarray(self.given[first:last, chosen], dtype=np.float64) - numbers_at(self.middle, self.D))
                / numbers_at(self.units, self.D))

    def log_densities(self, Py_ssize_t first):
        """As of the base class, and the columns that are out, whose density no cluster changes."""
        aside = self.aside_densities(first)[:, None]
        return super().log_densities(first) + aside if self.D else np.repeat(aside, self.K, axis=1)

    cdef object aside_densities(self, Py_ssize_t first):
        """Log density of the columns that are out of each new point, given those before `first`."""
        cdef Py_ssize_t k, D = self.columns
        cdef double kappa = self.zeta * (self.kappa0 + first), degree = self.zeta * self.a_n(first) + 0.5
        out = np.flatnonzero(self.parameters[:, 0] == 0.0)
        if not out.size:
            return np.zeros(self.N - first)
        self.point_to(self.of_all, D)
        self.scratch(self.K)
        for k in range(self.K - 1):
            self.add_column(self.K, self.sums_of(k), self.squares_of(k))
        self.posterior(self.sums_of(self.K), self.squares_of(self.K), first, self.mean, self.scatter)
        before = np.array(numbers_at(self.scatter, D))
        self.posterior_with(self.sums_of(self.K), self.squares_of(self.K), first, first + 1.0 / self.zeta, self.mean,
                            self.scatter)
        after = np.array(numbers_at(self.scatter, D))
        off = ((np.asarray(self.given[first:], dtype=np.float64) - numbers_at(self.middle, D))
               / numbers_at(self.units, D) - numbers_at(self.mean, D))
        log_q = np.log1p(0.5 * kappa / (kappa + 1.0) / self.zeta / after * off ** 2)
        constant = self.predictive_constant(first, 1.0) / D
        density = (constant - 0.5 * np.log(before) - degree * (log_q + np.log(after / before))
                   - np.log(numbers_at(self.units, D)))
        self.use_columns()
        return density[:, out].sum(axis=1)

    def left_out_densities(self):
        """As of any model, and the columns that are out, given all other items."""
        cdef Py_ssize_t i, d, D = self.columns
        cdef double[::1] without = np.empty(D), aside = np.zeros(self.N)
        found = super().left_out_densities()
        self.point_to(self.of_all, D)
        self.scratch(self.K)
        for i in range(self.N):
            self.count(self.K, self.point(i), 1)
        self.size[self.K] = <int32_t> (self.N - 1)
        for i in range(self.N):
            self.count(self.K, self.point(i), -1)
            without[:] = 0.0
            self.add_columns(self.K, &without[0])
            self.count(self.K, self.point(i), 1)
            for d in range(D):
                if not self.inside[d]:
                    aside[i] += self.alone[d] - without[d] + self.constant_of(d, 1)
        self.scratch(self.K)
        self.use_columns()
        return found + np.asarray(aside)[:, None]
