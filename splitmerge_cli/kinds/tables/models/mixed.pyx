"""Mixture of tables with columns of several types, independent within a cluster, parameters integrated out.

    binary        x ~ Bernoulli(p), p ~ Beta(beta1, beta0)
    categorical   x ~ Categorical(p), p ~ Dirichlet(alpha, ..., alpha)
    ordinal       x is a normal number cut into levels: ``ordered_levels.pyx``
    count         x ~ Poisson(r), r ~ Gamma(shape, rate); zeros=apart: P(x = 0) = p as of a binary column of code 1, and
                  x - 1 ~ Poisson(r) given x > 0
    real          x ~ N(mu, v), v ~ InvGamma(a0, b0), mu | v ~ N(m0, v / kappa0); zeros=apart: P(x = s) = p likewise, s
                  the one number that many cells of the column hold, and x is normal given that it is another

The likelihood of a cluster is the product over its columns of the marginal likelihood of the cells that are there: a
missing cell has no factor, and n below is the number of observed cells of the column in the cluster. With n_v of them
at level v, and s their sum, the predictive of one more cell is

    binary, categorical   (n_v + alpha_v) / (n + sum of alpha)
    count                 ((rate + n) / (rate + n + 1))^A (A)_x / (x! (rate + n + 1)^x),   A = shape + s

(docs/derivations.md). A likelihood to the power zeta (``model.power``) has zeta times the counts and sums ("A power of
the likelihood" there): what was a logarithm of n + a is that of Gamma(a + zeta (n + 1)) over Gamma(a + zeta n), and
rates are held over zeta. Real columns are a `DenseGaussian` of their own: diag, or full where they are jointly normal.
Source: Gelman et al. 2013, *Bayesian Data Analysis*, sections 2.4, 2.6, 3.3, 3.4.
"""
cimport cython
from libc.math cimport INFINITY, exp, log, log1p
from libc.string cimport memset

from pkgutil import resolve_name

import numpy as np

from splitmerge_cli.core.capabilities cimport TILE_ITEMS, DrawnParameters
from splitmerge_cli.core.memory cimport bytes_of, doubles_of, ints_of, longs_of
from splitmerge_cli.core.model cimport Model
from splitmerge_cli.core.sums cimport BY_COLUMN, INTS, BY_LANE, LONGS, ROOM, STALE

from splitmerge_cli import priors
from splitmerge_cli.core.capabilities import Noise
from splitmerge_cli.core.checks import as_numbers
from splitmerge_cli.core.options import (
    Choice, Gamma, Number, Numbers, NumbersOrGamma, Positive, PositiveOrGamma, read_options,
)
from splitmerge_cli.core.checks import Rows
from splitmerge_cli.core.shared import Prepared, as_array, freeze, share
from splitmerge_cli.kinds.tables.models.count_vectors import rising_of, tables_of
from splitmerge_cli.kinds.tables.models.gaussian_independent import DiagonalGaussian
from splitmerge_cli.kinds.tables.models.mixed_cells import (
    APART, ZEROS, defaults_of, part_zeros, prepare, real_columns, spikes_of, types_of,
)
from splitmerge_cli.kinds.tables.models.ordered_levels import tables_of_levels
from splitmerge_cli.kinds.tables.models.normal import HIERARCHICAL, NOISE, POWER, RESOLUTION, SELECT, TAILS
from splitmerge_cli.kinds.tables.models.outcome_cells import (
    OPTIONS as OF_OUTCOME, OUTCOME, outcome_kinds, place_columns, prepare as prepare_outcome, require_effects,
    split_reals,
)
from splitmerge_cli.kinds.tables.models.real_columns import per_column, settle_resolution
from splitmerge_cli.kinds.tables.simulated import simulate_table_with_noise

SHARDS = "splitmerge_cli.kinds.tables.models.mixed_shards:MixedShards"
SELECTED = "splitmerge_cli.kinds.tables.models.selected_columns:SelectedColumns"
"""Class of a table with indicators of columns, which has a `Mixed` for each."""
NOISY = "splitmerge_cli.kinds.tables.models.background:add_to_table"
LONGEST_TABLE = 1 << 16
"""Entries of the table of rising factorials of `shape`: larger sums of counts are worth two logarithms, and a longer
table would hold numbers with fewer digits after the point."""

cdef extern from "mixed_lanes.h":
    double log_rise(const double *rise, int64_t length, double zeta, double shape, int64_t s, int64_t x) noexcept nogil
    double log_rise_far(double a, double x) noexcept nogil
    void score_mixed(const double *block, const int32_t *code, Py_ssize_t C, Py_ssize_t levels, const int32_t *tally,
                     Py_ssize_t P, const double *rise, int64_t length, double zeta, double shape,
                     double *power) noexcept nogil
    void tile_mixed(const double *theta, Py_ssize_t C, Py_ssize_t levels, Py_ssize_t P, const double *x,
                    double log_weight, double *out) noexcept nogil

# what a tile of real columns is scored above: anything
cdef double[TILE_ITEMS] NO_FLOOR
for _t in range(TILE_ITEMS):
    NO_FLOOR[_t] = -INFINITY


def of_one_type(values, str type, known=None, **options):
    """The mixture of a table ``[N, D]`` of float, NaN where a cell is missing, whose columns are all of this type, a
    word of ``TYPES``; options of other types are not wanted."""
    freeze(values)
    return Mixed.build(values, (type,) * values.shape[1], known, options)


# for the calibration: a prior that does not depend on the data, columns that are not recorded to a resolution
_FIXED = {"concentration": "gamma(2,2)", "m0": 0, "b0": 1, "resolution": 0, "rate": 0.3}


@cython.final
cdef class Mixed(Scaled):
    """Mixture of tables with binary, categorical, count and real columns, any of whose cells may be missing. `x`: float
    of shape (N, D), NaN where a cell is missing: codes from 0 (binary, categorical), whole numbers from 0 (count),
    numbers (real). `types`: of each column a word of ``TYPES``, or an object with `type` and `levels`
    (``data.dataset.ColumnType``); with the word ``categorical`` alone, the largest code is the last level. `known`:
    rows that are data; those behind are new ones, which are kept aside. `standard`: first rows, by which effects are
    standardised; by default the `known` ones. By default the mean of the rates' prior is that of a column's counts, and
    the prior of real columns spreads over the data as that of ``gaussian``; a column without spread counts as one of
    variance 1.

    Cost: an item against K clusters O(D K), in blocks of eight clusters; a change of a cluster O(D + levels). Memory:
    12 bytes an item; a cluster 12 bytes a level, 48 a column of counts, 56 a real column; shared by the models of the
    same data, 4 bytes a discrete or count cell, 8 a real one and 100 an item; b0 or kappa0 resampled: 40 bytes an item
    more. Sums of reals are exact (docs/decisions/0006), and so is that of the log x! of counts, rounded to multiples of
    a unit. A resampled scale stays between 1e-10 and 1e10 of the variance of its column.
    """

    kind = "mixed"
    READS_MISSING = True
    CAPABILITIES = (MixedParameters, SHARDS, Noise)
    simulate = staticmethod(simulate_table_with_noise)
    CALIBRATION = {
        "diag": {"options": _FIXED | {"covariance": "diag"}},
        "full": {"options": _FIXED | {"covariance": "full"}},
        "diag, gaps": {"options": _FIXED, "gaps": 0.15},
        "diag, b0": {"options": _FIXED | {"b0": "gamma(4,4)"}},
        "diag, tails, gaps": {"options": _FIXED | {"tails": "t"}, "gaps": 0.15},
        "diag, zeros, gaps": {"options": _FIXED | {"zeros": APART}, "gaps": 0.15},
    }
    OPTIONS = (
        *priors.OPTIONS,
        Positive("beta1", 0.5, "binary columns: pseudo-count of code 1"),
        Positive("beta0", 0.5, "binary columns: pseudo-count of code 0"),
        Positive("alpha", 0.5, "categorical columns: pseudo-count of every level"),
        Numbers("cuts", None, "ordinal columns: cuts between the levels, column after column; null: such that the "
                "whole column is standard normal", optional=True, least=-100.0, most=100.0),
        Number("shape", 1.0, "count columns: shape of the rates' gamma prior", least=1e-3, most=1e6),
        Numbers("rate", None, "count columns: rate of that prior, a number or one per count column; null: shape over "
                "the column's mean", optional=True, least=1e-9, most=1e9),
        Numbers("m0", None, "real columns: prior mean of the means, a number or one per real column; null: the mean "
                "of the data", optional=True, least=-1e100, most=1e100),
        PositiveOrGamma("kappa0", 0.1, "real columns: the prior's weight on m0, in cells; gamma(shape,rate): resampled",
                        least=1e-9, most=1e9, hierarchical=HIERARCHICAL),
        Choice("covariance", "diag", "real columns: diag: independent; full: jointly normal within a cluster; smcmc "
               "run and sample also take auto: the one that predicts held-out rows best", choices=("diag", "full"),
               later=True),
        Number("a0", 2.0, "real columns: shape of the variances' prior", least=1e-3, most=1e6),
        NumbersOrGamma("b0", None, "real columns: scale of the variances' prior, a number or one per real column; null:"
                       " a tenth of the data's variance; gamma(shape,rate), in units of that variance: resampled",
                       optional=True, least=1e-100, most=1e100, hierarchical=HIERARCHICAL),
        RESOLUTION,
        POWER,
        TAILS,
        SELECT,
        ZEROS,
        *OF_OUTCOME,
        *NOISE,
    )

    def __init__(self, x, types, known=None, standard=None, **options):
        given = read_options("model", self.OPTIONS, {"resolution": "none"} | options)
        values, columns = (x.values, x.summary) if isinstance(x, Rows) else (as_array(x), None)
        if values.ndim != 2 or not values.size and columns is None:
            raise ValueError(f"x: expected a table of shape (N, D), got {values.shape}")
        if values.dtype != np.float64:
            values = values.astype(np.float64)
        kinds, levels = types_of(values, types, columns)
        for key in ("select", "noise"):
            if given[key]:
                shown = str(given[key]).lower()
                raise ValueError(f"model.{key}={shown}: expected Mixed.build, which makes such models")
        self.covariance, self.D, self.types, of_table = given["covariance"], values.shape[1], kinds, kinds
        if columns is not None and given["outcome"] is not None:
            raise ValueError("model.outcome: expected none of rows in shards")
        kinds = outcome_kinds(kinds, given)
        of_clusters, of_outcome = split_reals(of_table, kinds, given)
        given |= of_clusters
        self.zeta = given["power"]
        self.log_zeta = log(self.zeta)
        # of one column both are one model, which needs no missing cells drawn
        is_full, is_tailed = self.covariance == "full" and kinds.count("real") > 1, given["tails"] == "t"
        if is_tailed and "real" not in kinds:
            raise ValueError("model.tails=t: the table has no real column; expected model.tails=normal")
        if is_full or is_tailed:
            if columns is not None:
                key, expected = ("covariance=full", "diag") if is_full else ("tails=t", "normal")
                raise ValueError(f"model.{key}: expected {expected} of rows in shards")
        self.zeros = given["zeros"]
        cells = values
        if self.zeros == APART:
            spikes = spikes_of(kinds, types)
            if all(spike is None for spike in spikes):
                raise ValueError(
                    "model.zeros=apart: the table has no column of counts, and no real column with one number in "
                    "many of its cells; expected model.zeros=poisson")
            if columns is not None:
                raise ValueError("model.zeros=apart: expected poisson of rows in shards")
            parted = share(part_zeros, values, kinds, levels, spikes)
            self._hold(parted)
            cells, kinds, levels = parted.values, parted.kinds, parted.levels
        prepared = cells, kinds, levels, given["shape"], given["rate"], self.zeta, given["cuts"]
        data = share(prepare, *prepared) if columns is None else Prepared(prepare(*prepared, columns))
        if "real" in kinds:
            self._take_reals(x if columns is not None else cells, kinds, known, is_full, given)
        else:
            for key in ("b0", "kappa0"):
                if isinstance(given[key], Gamma):
                    raise ValueError(f"model.{key}={given[key]}: expected a number: the table has no real column")
            self.kappa0 = given["kappa0"] / self.zeta
        cdef Py_ssize_t N = values.shape[0] if columns is None else x.total
        self.beta1, self.beta0, self.alpha = given["beta1"], given["beta0"], given["alpha"]
        self.shape, self.a0 = given["shape"], given["a0"] / self.zeta
        self._hold(data)
        self.C, self.P, self.S = data.C, data.P, data.S
        self.nominal = self.C - len(data.cuts)
        self.levels, self.constant_unit = data.levels, self.zeta * data.constant_unit
        self.sums, self.rows = self.P + 1, self.levels + 5 * self.P
        self.code, self.tally = ints_of(data.code), ints_of(data.tally)
        self.there, self.constant = bytes_of(data.there), longs_of(data.constant)
        self.keep(&self.sum, LONGS, self.sums, BY_COLUMN)
        self.keep(&self.count, INTS, self.levels, BY_COLUMN)
        self.keep(&self.seen, INTS, self.S, BY_COLUMN)
        self.keep(&self.at, ROOM, self.rows, BY_LANE)
        self.keep(&self.stale, STALE)
        self.keep(&self.stale_own, STALE)
        self.keep(&self.power, ROOM)
        self.slot, self.slot_discrete = ints_of(data.slot), ints_of(data.slot_discrete)
        self.slot_count, self.rate = ints_of(data.slot_count), doubles_of(data.rate)
        self.first, self.table_of, self.total_of = ints_of(data.first), ints_of(data.table_of), ints_of(data.total_of)
        self.total = N
        if OUTCOME in kinds:
            standard = (N if known is None else min(known, N)) if standard is None else standard
            self._regress(values, of_table, levels, standard, given, of_outcome)
        if data.cuts:
            if columns is not None:
                raise ValueError("types: ordinal: expected another type for rows in shards")
            self.ordered = OrderedLevels(share(tables_of_levels, data.cuts, self.zeta), data)
        self._allocate(values.shape[0], N)
        self._set_prior(given["prior"].build(N, given["concentration"]))
        by_count = share(tables_of, N, self.beta0, self.beta1, self.alpha, data.totals, self.zeta)
        self._hold(by_count)
        self.log_add, self.rise_add = doubles_of(by_count.log_of), doubles_of(by_count.rise)
        self.log_all, self.rise_all = self.log_add + 3 * (N + 2), self.rise_add + 3 * (N + 2)
        self.length = min(data.largest + 1, LONGEST_TABLE)
        by_sum = share(rising_of, self.shape, self.length, self.zeta)
        self._hold(by_sum)
        self.rise = doubles_of(by_sum.rise)
        self._start()

    def _take_reals(self, values, kinds, known, bint is_full, given):
        """Make the real columns a part of their own."""
        cdef DenseGaussian joint
        shape, R = FullGaussian if is_full else DiagonalGaussian, kinds.count("real")
        for key in ("m0", "b0", "resolution"):
            if not isinstance(given[key], str):
                per_column(f"model.{key}", given[key], R, "real columns")
        if isinstance(values, Rows):
            reals = [kind == "real" for kind in kinds]
            rows = Rows(np.ascontiguousarray(values.values[:, reals]), values.total, values.summary.part(reals))
        else:
            apart = share(real_columns, values, kinds)
            self._hold(apart)
            rows = apart.values
        joint = shape(rows, known, **{
            key: given[key] for key in ("m0", "kappa0", "a0", "b0", "resolution", "power", "tails")})
        self.joint, self.weights = joint, joint.weights
        self.imputed = joint if is_full and joint.n_imputed else None
        self.scale_prior, self.kappa0 = joint.scale_prior, joint.kappa0
        self.shape0, self.n_means = joint.shape0, joint.n_means

    def _regress(self, values, kinds, levels, known, given, of_outcome):
        """Make the outcome a part of its own."""
        for key in ("b0", "kappa0"):
            if isinstance(given[key], Gamma):
                raise ValueError(f"model.{key}={given[key]}: expected a number with model.outcome")
        outcome = given["outcome"] - 1
        # a latent outcome has the variance 1
        kappa0 = 1.0 if kinds[outcome] == "binary" else given["kappa0"]
        weight = kappa0 if given["slope_weight"] is None else given["slope_weight"]
        data = share(prepare_outcome, values, kinds, levels, outcome, tuple(j - 1 for j in given["effects"]), known,
                     self.total, weight, *(of_outcome[key] for key in ("m0", "b0", "resolution")))
        self.regression = Regression(data, len(values), known, self.total, kappa0, given["a0"], self.zeta)

    @classmethod
    def from_data(cls, data, **params):
        """The model of a Dataset, whose values become read-only: all models of it share them."""
        cls._require(data)
        freeze(data.values)
        return cls.build(
            data.values, data.types, None, place_columns(data, settle_resolution(data, params, by_cell=True)))

    @classmethod
    def build(cls, values, types, known, params):
        """The model with or without indicators of columns, or a background of noise."""
        if params.get("noise"):
            return resolve_name(NOISY)(cls, values, types, known, dict(params))
        if not params.get("select"):
            return cls(values, types, known, **params)
        if params.get("tails") == "t":
            raise ValueError("model.select=true: expected model.tails=normal, got t")
        return resolve_name(SELECTED)(values, types, known, **params)

    @classmethod
    def with_new(cls, data, whole, **params):
        cls._require(whole)
        freeze(whole.values)
        params = cls.with_defaults_of(data, **params)
        require_effects(whole, params, "new items: ")
        return cls.build(whole.values, whole.types, data.N, params)

    @classmethod
    def with_more(cls, data, whole, **params):
        params = cls.with_defaults_of(data, **params)
        if params.get("outcome") is None:
            return cls.from_data(whole, **params)
        cls._require(whole)
        freeze(whole.values)
        return cls(whole.values, whole.types, None, data.N, **params)

    @classmethod
    def with_defaults_of(cls, data, **params):
        return defaults_of(cls, data, params)

    @property
    def why_not_added(self):
        """str: of jointly normal cells, or of rows with weights, what their model says; of latent outcomes, which each
        row has, that they do not add up."""
        if self.regression is not None and self.regression.is_latent:
            return "model.effects: expected none of a binary outcome, since each row has a latent outcome of its own"
        return "" if self.joint is None else self.joint.why_not_added

    # -- statistics
    cdef int grow(self, Py_ssize_t cap) except -1:
        if self.joint is not None:
            self.joint._reserve(cap - 3)
        if self.ordered is not None:
            self.ordered.widen(cap)
        if self.regression is not None:
            self.regression.widen(cap)
        return Scaled.grow(self, cap)

    cdef void clear(self, Py_ssize_t k) noexcept nogil:
        Scaled.clear(self, k)
        if self.joint is not None:
            self.joint.scratch(k)
        if self.regression is not None:
            self.regression.clear(k)

    cdef void tell(self, Py_ssize_t i, Py_ssize_t k, int sign) noexcept nogil:
        cdef Py_ssize_t c
        cdef int32_t *count = self.count + k * self.levels
        cdef int32_t *seen = self.seen + k * self.S
        cdef int64_t *sum = self.sum + k * self.sums
        cdef const int32_t *code = self.code + i * self.C
        cdef const int32_t *tally = self.tally + i * self.P
        cdef const uint8_t *there = self.there + i * self.S
        for c in range(self.C):
            count[code[c]] += sign
        for c in range(self.S):
            seen[c] += sign * there[c]
        for c in range(self.P):
            if tally[c] > 0:
                sum[c] += sign * <int64_t> tally[c]
        sum[self.P] += sign * self.constant[i]
        if self.joint is not None:
            if sign > 0:
                self.joint.join(i, k)
            else:
                self.joint.leave(i, k)
        if self.regression is not None:
            self.regression.tell(i, k, sign)

    cdef void copy(self, Py_ssize_t src, Py_ssize_t dst) noexcept nogil:
        Scaled.copy(self, src, dst)
        if self.joint is not None:
            self.joint.copy_column(src, dst)
        if self.regression is not None:
            self.regression.copy(src, dst)

    cdef void absorb(self, Py_ssize_t dst, Py_ssize_t src, int sign) noexcept nogil:
        Scaled.absorb(self, dst, src, sign)
        if self.joint is not None:
            self.joint.absorb_column(dst, src, sign)
        if self.regression is not None:
            self.regression.absorb(dst, src, sign)

    cdef void settle(self, Py_ssize_t k) noexcept nogil:
        """Bring what scores an item against cluster k up to date: the rows of ``score_mixed``."""
        cdef Py_ssize_t c, r, M = self.total + 2
        cdef double *row = self.at + (k >> 3) * 8 * self.rows + (k & 7)
        cdef const int32_t *count = self.count + k * self.levels
        cdef const int64_t *sum = self.sum + k * self.sums
        cdef const double *log_all
        cdef double rate
        self.stale[k] = False
        self.stale_own[k] = True
        if self.joint is not None and self.joint.stale[k]:
            # of a cluster whose rows are in shards nobody else says it
            self.joint.size[k] = self.size[k]
            self.joint.settle(k)
        for c in range(self.nominal):
            log_all = self.log_all + self.total_of[c] * M + self.cells(k, self.slot_discrete[c])
            for r in range(self.first[c], self.first[c + 1]):
                row[8 * r] = self.log_add[self.table_of[r] * M + count[r]] - log_all[0]
        if self.ordered is not None:
            self.ordered.settle(k, count, row + 8 * self.first[self.nominal])
        row += 8 * self.levels
        for c in range(self.P):
            rate = self.rate[c] + self.cells(k, self.slot_count[c])
            row[0] = -(self.shape + self.zeta * sum[c]) * log1p(1.0 / rate)
            if sum[c] < self.length:
                row[0] -= self.rise[sum[c]]
            row[8] = -self.zeta * (log(rate + 1.0) + self.log_zeta)
            (<int64_t *> row)[16] = sum[c]
            row += 40
        if self.regression is not None:
            self.regression.settle(k)

    # -- b0 and kappa0 resampled
    cdef void scales_changed(self) noexcept nogil:
        self.joint.scales_changed()
        self.kappa0 = self.scale_prior.kappa0 / self.zeta
        self.forget_scores()

    cdef Py_ssize_t refresh_parameters(self, Rng rng) noexcept nogil:
        """The scales, then the weights of rows, or the missing cells of jointly normal columns."""
        if self.scale_prior is not None:
            Scaled.refresh_parameters(self, rng)
        if self.weights is not None:
            self.joint.reset(self.z, self.K)
            self.joint.refresh_weights(rng)
            self.forget_scores()
        if self.imputed is not None:
            self.imputed.impute(rng, self.z, self.K)
            self.forget_scores()
        if self.regression is not None and self.regression.is_latent:
            self.regression.refresh(rng, self.z, self.K)
            self.forget_scores()
        return self.K

    cdef void weights_changed(self) noexcept nogil:
        self.joint.reset(self.z, self.K)
        self.forget_scores()

    cdef bint same_parameters(self, Model other, const int32_t *twin) noexcept nogil:
        if self.regression is not None and not self.regression.equals((<Mixed> other).regression):
            return False
        if self.joint is not None:
            return self.joint.same_parameters((<Mixed> other).joint, twin)
        return Scaled.same_parameters(self, other, twin)

    @property
    def why_not_coupled(self):
        """str: latent outcomes and missing cells are drawn."""
        if self.regression is not None and self.regression.is_latent:
            return ("model.effects: draws of latent outcomes cannot be coupled; expected no effects on a binary "
                    "model.outcome")
        return "" if self.imputed is None else self.imputed.why_not_coupled

    @property
    def n_imputed(self):
        """int: missing cells, and latent outcomes, that are a part of the state."""
        return ((0 if self.imputed is None else self.imputed.n_imputed)
                + (0 if self.regression is None else self.regression.n_latent))

    @property
    def reaches(self):
        """ndarray of float64: how far from the middle of its column each missing cell that is a part of the state may
        be."""
        return np.empty(0) if self.imputed is None else self.imputed.reaches

    @property
    def refreshes(self):
        """bool: whether the state holds more than the partition."""
        return self.n_imputed > 0 or bool(self.hyperparameters)

    @property
    def parameters(self):
        """ndarray of float64, shape (P, 1): latent outcomes, then the scales, then the missing cells, as a
        ``FullGaussian`` gives them."""
        found = Scaled.parameters.__get__(self) if self.joint is None else self.joint.parameters
        if self.regression is None or not self.regression.n_latent:
            return found
        latent = self.regression.latent[:, None]
        return latent if found is None else np.concatenate([latent, found])

    def set_parameters(self, values):
        """Set what ``parameters`` gives; errors as there."""
        if self.regression is not None and self.regression.n_latent:
            latent, values = np.split(as_numbers("parameters", values).reshape(-1), [self.regression.n_latent])
            self.regression.take_latent(latent, self.z)
            self.forget_scores()
            if not len(values):
                return
        if self.imputed is None:
            Scaled.set_parameters(self, values)
            return
        self.imputed.take_parameters(values, self.z)
        self.kappa0 = self.joint.kappa0
        self.forget_scores()

    cdef void draw_cluster(self, Rng rng, Py_ssize_t k) noexcept nogil:
        self.joint.size[k] = self.size[k]
        self.joint.draw_cluster(rng, k)

    def capability(self, kind):
        """As of every model; none where rows have weights, or an outcome effects, which the parameters of a cluster do
        not hold."""
        return None if self.weights is not None or self.regression is not None else Scaled.capability(self, kind)

    cdef double pseudo_count(self, Py_ssize_t r) noexcept nogil:
        """Pseudo-count of a level, by its row."""
        cdef int32_t table = self.table_of[r]
        return self.beta0 if table == 0 else self.beta1 if table == 1 else self.alpha

    # -- probabilities
    cdef void score(self, Py_ssize_t i, Py_ssize_t block, Py_ssize_t own) noexcept nogil:
        cdef double mine = 0.0, of_reals = 0.0
        cdef double *power = self.power + block
        if self.joint is None:
            memset(power, 0, 8 * sizeof(double))
        else:
            self.score_reals(i, block, own)
            if not self.C and not self.P and self.regression is None:
                return
            if own >= 0:
                of_reals = self.power[own]
        score_mixed(self.at + block * self.rows, self.code + i * self.C, self.C, self.levels, self.tally + i * self.P,
                    self.P, self.rise, self.length, self.zeta, self.shape, power)
        if self.regression is not None:
            self.regression.add_scores(i, block, power)
        if own >= 0:
            if self.score_own(i, own, &mine):
                self.power[own] = of_reals + mine
            else:
                self.count_out(i, block, own)

    cdef void score_reals(self, Py_ssize_t i, Py_ssize_t block, Py_ssize_t own) noexcept nogil:
        """``score`` of the real columns, which write to ``power`` here."""
        cdef double *theirs = self.joint.power
        self.joint.power = self.power
        self.joint.score(i, block, own)
        self.joint.power = theirs

    cdef void settle_own(self, Py_ssize_t k) noexcept nogil:
        """Bring the rows that score an item which cluster k counts up to date; ``settle`` has been called."""
        cdef Py_ssize_t c
        cdef double rate
        cdef double *row = self.at + (k >> 3) * 8 * self.rows + (k & 7) + 8 * self.levels
        self.stale_own[k] = False
        if self.ordered is not None:
            self.ordered.settle_own(k, self.count + k * self.levels)
        for c in range(self.P):
            rate = self.rate[c] + self.cells(k, self.slot_count[c]) - 1.0
            # of no observed cell nobody asks
            row[24] = log1p(1.0 / rate) if rate > 0.0 else 0.0
            row[32] = self.zeta * (log(rate + 1.0) + self.log_zeta) if rate > -1.0 else 0.0
            row += 40

    cdef bint score_own(self, Py_ssize_t i, Py_ssize_t k, double *out) noexcept nogil:
        """Log predictive of item i but for its real cells in cluster k, which counts it, given the others there, on the
        scale of ``power``: in closed form from the rows of ``score_mixed``; False where that would lose digits."""
        cdef Py_ssize_t c, M = self.total + 2
        cdef const int32_t *count = self.count + k * self.levels
        cdef const int32_t *code = self.code + i * self.C
        cdef const int64_t *sum = self.sum + k * self.sums
        cdef const double *row = self.at + (k >> 3) * 8 * self.rows + (k & 7) + 8 * self.levels
        cdef int64_t v, s
        cdef double total = 0.0
        if self.stale_own[k]:
            self.settle_own(k)
        for c in range(self.nominal):
            if code[c]:
                total += (self.log_add[self.table_of[code[c]] * M + count[code[c]] - 1]
                          - self.log_all[self.total_of[c] * M + self.cells(k, self.slot_discrete[c]) - 1])
        if self.ordered is not None:
            total += self.ordered.own_score(k, code + self.nominal)
        for c in range(self.P):
            v = self.tally[i * self.P + c]
            if v >= 0:
                s = sum[c] - v
                total += (log_rise(self.rise, self.length, self.zeta, self.shape, s, v)
                          - (self.shape + self.zeta * s) * row[24] - v * row[32])
            row += 40
        out[0] = total
        return self.regression is None or self.regression.add_own_score(i, k, out)

    cdef double log_rest(self, Py_ssize_t i) noexcept nogil:
        """The part of item i's log predictive that ``power`` leaves out."""
        cdef double units = 0.0 if self.joint is None else self.zeta * self.joint.log_units_of(i)
        return self.constant[i] * self.constant_unit - units

    cdef double log_pred(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        return Scaled.log_pred(self, i, k) + self.log_rest(i)

    cdef double log_of(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        cdef Py_ssize_t c, r, n, M = self.total + 2
        cdef bint both = b >= 0
        # without a second cluster the first stands in, and nothing of it is read twice
        cdef Py_ssize_t e = b if both else a
        cdef const int32_t *count = self.count + a * self.levels
        cdef const int32_t *count2 = self.count + e * self.levels
        cdef const int64_t *sum = self.sum + a * self.sums
        cdef const int64_t *sum2 = self.sum + e * self.sums
        cdef int64_t s = sum[self.P] + (sum2[self.P] if both else 0)
        cdef double rate, total = s * self.constant_unit
        for c in range(self.nominal):
            n = self.cells(a, self.slot_discrete[c]) + (self.cells(e, self.slot_discrete[c]) if both else 0)
            total -= self.rise_all[self.total_of[c] * M + n]
            for r in range(self.first[c], self.first[c + 1]):
                total += self.rise_add[self.table_of[r] * M + count[r] + (count2[r] if both else 0)]
        if self.ordered is not None:
            total += self.ordered.log_lik(count, count2 if both else NULL)
        for c in range(self.P):
            n = self.cells(a, self.slot_count[c]) + (self.cells(e, self.slot_count[c]) if both else 0)
            s = sum[c] + (sum2[c] if both else 0)
            rate = self.rate[c]
            # (rate / (rate + n))^shape / (rate + n)^s
            total += (log_rise(self.rise, self.length, self.zeta, self.shape, 0, s) - self.shape * log1p(n / rate)
                      - s * self.zeta * (log(rate + n) + self.log_zeta))
        if self.joint is not None and not self.apart:
            self.joint.size[a], self.joint.size[e] = self.size[a], self.size[e]
            total += self.joint.log_union(a, e) if both else self.joint.cluster_log_lik(a)
        return total if self.regression is None else total + self.regression.log_lik(a, b)

    def log_densities(self, Py_ssize_t first):
        """In closed form where columns are jointly normal, from the points as they were given. Under a power the
        density itself, not its power, with the parameters' posterior under the power."""
        cdef Py_ssize_t i, k
        cdef double[:, ::1] density = np.empty((self.N - first, self.K))
        if self.zeta == 1.0:
            self.apart = True
            try:
                found = super().log_densities(first)
            finally:
                self.apart = False
        else:
            self.begin_scan()
            for i in range(first, self.N):
                for k in range(self.K):
                    # the last of the clusters are the new items; behind it stands an empty column
                    density[i - first, k] = self.log_density_of(i, k + (k == self.K - 1))
            found = np.asarray(density)
        if self.regression is not None and self.regression.is_latent:
            for i in range(first, self.N):
                for k in range(self.K):
                    density[i - first, k] = self.regression.log_probability(i, k + (k == self.K - 1))
            found = found + np.asarray(density)
        if self.joint is None:
            return found
        self.joint.K = self.K
        return found + self.joint.log_densities(first)

    def left_out_densities(self):
        """Missing cells of jointly normal columns, the weight of the row, and its latent outcome are integrated out."""
        if self.regression is not None and self.regression.is_latent:
            regression, self.regression = self.regression, None
            try:
                found = self.left_out_densities()
            finally:
                self.regression = regression
                self.forget_scores()
            return found + self.regression.left_out_probabilities(self.labels, self.K)
        if self.imputed is None and self.weights is None:
            return super().left_out_densities()
        joint, self.joint = self.joint, None
        try:
            found = super().left_out_densities()
        finally:
            self.joint = joint
            self.forget_scores()
        if self.imputed is not None:
            return found + self.imputed.left_out_closed(self.labels, self.K)
        self.joint.reset(self.z, self.K)
        return found + self.joint.left_out_densities()

    cdef double log_density_of(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        """Log predictive density of item i in cluster k, which does not count it, but for jointly normal columns; the
        posterior of the parameters has the power."""
        cdef Py_ssize_t c, r, n
        cdef const int32_t *code = self.code + i * self.C
        cdef const int64_t *sum = self.sum + k * self.sums
        cdef double b, a, of_all, total = self.constant[i] * self.constant_unit / self.zeta
        for c in range(self.nominal):
            if code[c]:
                of_all = self.zeta * self.cells(k, self.slot_discrete[c])
                for r in range(self.first[c], self.first[c + 1]):
                    of_all += self.pseudo_count(r)
                total += log((self.pseudo_count(code[c]) + self.zeta * self.count[k * self.levels + code[c]])
                             / of_all)
        if self.ordered is not None:
            total += self.ordered.log_density(self.count + k * self.levels, code + self.nominal)
        for c in range(self.P):
            n = self.tally[i * self.P + c]
            if n >= 0:
                a = self.shape + self.zeta * sum[c]
                b = self.zeta * (self.rate[c] + self.cells(k, self.slot_count[c]))
                total += log_rise_far(a, n) - a * log1p(1.0 / b) - n * log(b + 1.0)
        return total if self.regression is None else total + self.regression.log_density(i, k)

    def statistics(self):
        """dict of ndarray of int, one row a cluster, copies: counts (K, levels), of all discrete columns one after
        another; seen (K, D), observed cells; sums (K, P + 1), of counts and of the logs that an item has in every
        cluster; joint, of real columns, as a ``DenseGaussian`` gives them."""
        cdef Py_ssize_t k, c, K = self.K
        if self.joint is not None:
            self.joint.K = K
        return ({} if self.joint is None else {"joint": self.joint.statistics()["counts"]}) | {
            "counts": np.array([[self.count[k * self.levels + c] for c in range(1, self.levels)] for k in range(K)]),
            "seen": np.array([[self.cells(k, self.slot[c]) for c in range(self.D)] for k in range(K)]),
            "sums": np.array([[self.sum[k * self.sums + c] for c in range(self.sums)] for k in range(K)]),
        }


@cython.final
cdef class MixedParameters(DrawnParameters):
    """Parameters of a cluster that are drawn given its items, and forgotten."""

    cdef Mixed model
    cdef DrawnParameters joint          # of the real columns, or None

    def __init__(self, Mixed model not None):
        self.model = model
        self.size = model.levels + 2 * model.P
        self.tile_rows = model.C + model.P
        if model.joint is not None:
            self.joint = model.joint.capability(DrawnParameters)
            self.size += self.joint.size
            self.tile_rows += self.joint.tile_rows
            self.work_size = self.joint.work_size

    cdef void draw_posterior(self, Rng rng, Py_ssize_t k, double *theta, double *work) noexcept nogil:
        """theta: what ``tile_mixed`` reads, Dirichlet probabilities and gamma rates, and what the real columns have; of
        a power such that a cell's density has it."""
        cdef Py_ssize_t c, r
        cdef double zeta = self.model.zeta, pseudo
        cdef const int32_t *count = self.model.count + k * self.model.levels
        cdef const int64_t *sum = self.model.sum + k * self.model.sums
        cdef double shape, rate, top, total
        theta[0] = 0.0
        for c in range(self.model.nominal):
            top = -INFINITY
            for r in range(self.model.first[c], self.model.first[c + 1]):
                pseudo = self.model.pseudo_count(r) + zeta * count[r]
                theta[r] = log(pseudo) if rng is None else rng.draw_log_gamma(pseudo)
                top = max(top, theta[r])
            total = 0.0
            for r in range(self.model.first[c], self.model.first[c + 1]):
                total += exp(theta[r] - top)
            for r in range(self.model.first[c], self.model.first[c + 1]):
                theta[r] = zeta * (theta[r] - (top + log(total)))
        if self.model.ordered is not None:
            self.model.ordered.draw(rng, count, theta)
        theta += self.model.levels
        for c in range(self.model.P):
            shape = self.model.shape + zeta * sum[c]
            rate = zeta * (self.model.rate[c] + self.model.cells(k, self.model.slot_count[c]))
            theta[0] = (log(shape) if rng is None else rng.draw_log_gamma(shape)) - log(rate)
            theta[1] = zeta * exp(theta[0])
            theta[0] *= zeta
            theta += 2
        if self.joint is not None:
            self.model.joint.size[k] = self.model.size[k]
            self.joint.draw_posterior(rng, k, theta, work)

    cdef void load_tile(self, const int32_t *items, Py_ssize_t n, double *tile) noexcept nogil:
        cdef Py_ssize_t t, c, i, C = self.model.C, P = self.model.P
        for t in range(TILE_ITEMS):
            i = items[min(t, n - 1)]
            for c in range(C):
                tile[TILE_ITEMS * c + t] = self.model.code[i * C + c]
            for c in range(P):
                tile[TILE_ITEMS * (C + c) + t] = self.model.tally[i * P + c]
        if self.joint is not None:
            self.joint.load_tile(items, n, tile + TILE_ITEMS * (C + P))

    cdef void score_tile(self, const double *tile, const double *theta, double log_weight, const double *floor,
                         double *out) noexcept nogil:
        cdef Py_ssize_t t
        cdef double[TILE_ITEMS] more
        tile_mixed(theta, self.model.C, self.model.levels, self.model.P, tile, log_weight, out)
        if self.joint is not None:
            self.joint.score_tile(tile + TILE_ITEMS * (self.model.C + self.model.P),
                                  theta + self.model.levels + 2 * self.model.P, 0.0, NO_FLOOR, more)
            for t in range(TILE_ITEMS):
                out[t] += more[t]

    cdef void count_items(self, const int32_t *items, Py_ssize_t n, Py_ssize_t k, double *work) noexcept nogil:
        cdef Py_ssize_t t
        for t in range(n):
            self.model.add(items[t], k)
