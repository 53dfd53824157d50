"""Models: a partition with the likelihood of the items in its clusters and a prior.

(a) *Dispatch.* A model is an abstract class with virtual ``nogil`` methods that score one item against a batch of
    clusters. Fused types, function tables and a kernel per (model, sampler) pair were measured and gained nothing; a
    Python call per move costs five times a move.
(b) *Columns.* The fastest axis of all statistics is the cluster, so that a Gibbs scan runs over contiguous clusters and
    vectorises.
(c) *Weights.* A scan works with products of probabilities, not with sums of logarithms, and what depends on a cluster's
    size alone comes from a table.
"""
from libc.math cimport INFINITY, NAN, exp, log
from libc.string cimport memset

from pkgutil import resolve_name

import numpy as np

from splitmerge_cli.core.log_scale cimport exp_weights
from splitmerge_cli.core.memory cimport doubles_of

from splitmerge_cli.core.shared import freeze, share


def _multiply(weights, by_size, name):
    """The prior's weights by size, times an array of `by_size`."""
    return {"weight": weights.weight * getattr(by_size, name)}


def draw_permutation(Rng rng not None, Py_ssize_t n):
    """ndarray of int32, shape (n,): 0, ..., n - 1 in a uniform order."""
    found = np.arange(n, dtype=np.int32)
    cdef Py_ssize_t t, other
    cdef int32_t[::1] order = found
    with nogil:
        for t in range(n - 1, 0, -1):
            other = rng.draw_index(t + 1)
            order[t], order[other] = order[other], order[t]
    return found


cdef void take_all_out(Model m) noexcept nogil:
    """Leave no item in a cluster, and no cluster."""
    cdef Py_ssize_t k
    for k in range(m.K):
        m.scratch(k)
        m.head[k] = -1
    memset(m.W, 0, m.cap * sizeof(double))
    memset(m.z, 255, m.N * sizeof(int32_t))
    m.K = 0
    m.count_changed()


cdef int place_others(Model m, Rng rng, const int32_t *order) except -1 nogil:
    """Put all items that are in no cluster into one, in this order, each by its weights given those before it."""
    cdef Py_ssize_t t, k
    m.begin_scan()
    for t in range(m.N):
        if m.z[order[t]] >= 0:
            continue
        m.scan(order[t])
        k = rng.draw_categorical(m.w, m.options())
        if k == m.K:
            m.append_empty()
        m.put(order[t], k)
    return 0


cdef class Model(Partition):
    """A partition of N items with the statistics of its clusters, the likelihood of the items in them, and the prior.

    A model in a file of its own must implement three methods: how an item counts in the statistics of a cluster
    (``tell``), the log marginal likelihood of a cluster or of the union of two (``log_of``), and the log predictive
    (``log_pred``). It may override ``odds`` and ``scan`` for speed, and declare ``CAPABILITIES``. Its constructor names
    the arrays of its statistics (``keep``), then calls ``_allocate`` and ``_set_prior``.

    Where a method takes a cluster's number, it may be a live or a scratch one. Log values are natural logarithms.

    ``odds(i, a, b, own, sized)``
        pred(i | b) / pred(i | a), linear scale, may be 0 or inf. `own` is a or b where item i is counted in that
        cluster (its contribution is excluded), else -1.
        With `sized`, times the ratio of the prior's weights, ``weight_of``.
    ``cluster_log_lik(k)``, ``log_union(a, b)``
        Of a coupled model the first counts what touches no other cluster; ``log_lik`` counts all, and ``log_union`` all
        that touches the union of two clusters.
    ``scan(i)``
        Fills ``w[0:options()]`` with the linear weights, up to a common factor, of putting item i into each cluster or
        a new one: its own contribution excluded; when it is alone, its own cluster stands for the new one.
        ``begin_scan`` has been called. The item may be one that is not placed.
    ``log_prior(sizes, m, K)``
        The prior's terms for clusters of these m sizes and for the number K of clusters: what changes when these
        clusters are replaced.
    """

    kind = ""
    reference_log_lik = None
    """Class method (values, labels, **options) -> float: the log likelihood by another route than the statistics, for
    tests and ``smcmc verify``; None: its kind has its case (`Kind.cases`), or its states cannot be enumerated."""
    simulate = None
    """Static method (Generator, ``core.simulation.Given``) -> values of a Dataset: draws parameters of clusters given
    items, and items given these, for posterior predictive checks and calibration; None: neither is made."""
    CALIBRATION = {}
    """Settings of the calibration by simulated data: by a name, which is empty if there is one, the fields of
    ``Setting`` in ``scripts/calibration.py`` but the model; none if it has none."""
    QUANTITIES = ""
    """The subclass of ``runs.checks.Quantities`` that measures data in checks, as module:name; empty: its kind's."""
    READS_MISSING = False               # whether cells of a table may be missing
    TAKES_EXPOSURE = False              # whether rows may have exposures
    HAS_GIVEN_TOTALS = False            # whether a row's density is that among all rows of its total
    OPTIONS = ()
    """Its options; see ``core/options.py``."""
    CAPABILITIES = ()
    """Subclasses of `Capability` that it can be asked for, or their names, as module:name; see
    ``core/capabilities.pyx``."""

    def __cinit__(self, *args, **kwargs):
        self.conjugate = True
        self.auxiliaries = 1

    @classmethod
    def find_capability(cls, kind):
        """The class by which models of this class have a capability, a subclass of `kind`; None if they have not."""
        classes = (resolve_name(own) if isinstance(own, str) else own for own in cls.CAPABILITIES)
        return next((own for own in classes if issubclass(own, kind)), None)

    @property
    def why_not_added(self):
        """str: why the statistics of several rows cannot be added to stand for one item; empty if they can."""
        return (f"model {type(self).__name__}: what it knows of a cluster is no sum over rows; expected neither "
                "data.weights nor data.group")

    @property
    def why_not_coupled(self):
        """str: why two chains cannot draw as one what the state holds more than the partition; empty if they can."""
        return ""

    def capability(self, kind):
        """The capability of this kind, an object that holds the model; None if it has none with its options."""
        found = self.find_capability(kind)
        return found(self) if found is not None and found.suits(self) else None

    cdef int _set_prior(self, Prior prior) except -1:
        """Take this prior of the partition. A model whose scans multiply its weights by what of the likelihood depends
        on the size alone then calls ``_scale_scan_table``."""
        if prior.weight == NULL:
            raise TypeError(f"prior {type(prior).__name__} set no tables")
        self.prior = prior
        self.alloc = prior.weight
        # weight of an empty cluster that is kept; the weights of new ones are set again with every change of their
        # number
        self.weight_alone = self.weight_new = self.alloc[0]
        self.scan_table, self.unit, self.scan_alone = self.alloc, 1.0, self.weight_alone
        if prior.shared is not None:
            self._hold(prior.shared)
        self.prior_changed()
        return 0

    cdef int _scale_scan_table(self, by_size, str name, double unit) except -1:
        """Multiply the weights of scans by this array of `by_size`, which is held; `unit`: the factor of a new
        cluster."""
        if self.prior.shared is None:
            # the prior's tables change with its hyper-parameters
            self.factor, self.own_table = doubles_of(getattr(by_size, name)), self.memory.doubles(self.prior.N + 2)
            self.scan_table = self.own_table
        else:
            weights = share(_multiply, self.prior.shared, by_size, name)
            self._hold(weights)
            self.scan_table = doubles_of(weights.weight)
        self.unit = unit
        self.scan_alone = self.weight_alone * unit
        self.tables_changed()
        return 0

    cdef int _hold(self, prepared) except -1:
        """Hold read-only data or tables that pointers of this model lead into."""
        self.shared = (*(self.shared or ()), prepared)
        return 0

    cdef void prior_changed(self) noexcept nogil:
        """Set all that depends on the prior's parameters, or on the number of clusters."""
        if not self.allows_empty:
            # what a lone item's own cluster stands for: a new one next to the others
            self.weight_alone = self.prior.new_weight(max(self.K - 1, 0))
            self.scan_alone = self.weight_alone * self.unit
            self.weight_new = self.prior.new_weight(self.K)
            self.new_cluster_weight = self.weight_new * self.unit

    cdef void tables_changed(self) noexcept nogil:
        """Set all that depends on the prior's hyper-parameters."""
        cdef Py_ssize_t n
        if self.own_table != NULL:
            for n in range(self.prior.N + 2):
                self.own_table[n] = self.alloc[n] * self.factor[n]
        self.prior_changed()

    cdef void count_changed(self) noexcept nogil:
        if self.prior is not None and self.prior.by_count:
            self.prior_changed()

    cdef double log_pred(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        return NAN

    cdef double log_union(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        return self.log_of(a, b)

    cdef void stage(self, const int32_t *clusters, Py_ssize_t m, Py_ssize_t first, Py_ssize_t n) noexcept nogil:
        """Make n scratch columns from `first` on empty clusters that stand in the place of these m live ones (which may
        name one twice), until the next ``stage``, ``begin_scan`` or change of the state. Where clusters depend on each
        other, or have weights, the columns depend on which they replace."""
        cdef Py_ssize_t s
        for s in range(n):
            self.scratch(first + s)

    # -- the prior
    cdef double log_prior(self, const int32_t *sizes, Py_ssize_t m, Py_ssize_t K) noexcept nogil:
        return self.prior.log_prob(sizes, m, K)

    cdef double log_weight(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        """log of the prior's weight of item i, which is not counted in it, in column k."""
        return log(self.weight_of(k, False))

    cdef double log_prior_all(self) noexcept nogil:
        """Log prior of the state; ``log_extra`` not counted."""
        return self.log_prior(self.size, self.K, self.K)

    cdef double log_lik_all(self) noexcept nogil:
        """Log likelihood of the state."""
        return self.log_lik(self.numbers, self.K) + self.log_lik_aside

    cdef double log_split_prior(self, Py_ssize_t c, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """log prior ratio of a split: the state with scratch columns a, b in the place of cluster c, over this one. If
        clusters have weights, it is a ratio of densities in them, times the ratio of volumes."""
        cdef int32_t sizes[2]
        sizes[0] = self.size[a]
        sizes[1] = self.size[b]
        return self.log_prior(sizes, 2, self.K + 1) - self.log_prior(self.size + c, 1, self.K)

    cdef double log_merge_prior(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """log prior ratio of a merge: the state with clusters i and j made one, over this one. A model whose clusters
        have weights leaves the two, counted, in scratch columns K and K + 1."""
        cdef int32_t sizes[2]
        cdef int32_t n
        sizes[0] = self.size[i]
        sizes[1] = self.size[j]
        n = sizes[0] + sizes[1]
        return self.log_prior(&n, 1, self.K - 1) - self.log_prior(sizes, 2, self.K)

    cdef Py_ssize_t refresh_parameters(self, Rng rng) noexcept nogil:
        """Update the parts of the state other than the partition and the prior's hyper-parameters, given the partition;
        returns how many clusters changed."""
        return 0

    cdef bint same_parameters(self, Model other, const int32_t *twin) noexcept nogil:
        """Whether another model in the same partition, whose cluster twin[k] is k here, has the same parameters."""
        return True

    cdef int resample_hyperparameter(self, Rng rng, Py_ssize_t t) except -1 nogil:
        """Draw the t-th of the prior's hyper-parameters given the partition and the others."""
        self.prior.resample(rng, t, self.size, self.K)
        self.tables_changed()
        return 0

    cdef Py_ssize_t write_hyperparameters(self, double *out) noexcept nogil:
        """out: present values of ``hyperparameters``; returns how many."""
        cdef Py_ssize_t t
        if self.prior is None:
            return 0
        for t in range(self.prior.n_hyperparameters):
            out[t] = self.prior.value[t]
        return self.prior.n_hyperparameters

    cdef double log_extra(self) noexcept nogil:
        """log density of parameters and hyper-parameters: what `log_prior` leaves out, since moves of the partition
        draw parameters from their prior and keep hyper-parameters."""
        return self.prior.log_density()

    # -- defaults, slow but right, that a model may override
    cdef double log_lik(self, const int32_t *ks, Py_ssize_t m) noexcept nogil:
        """Every likelihood term that touches these clusters, counted once."""
        cdef Py_ssize_t t
        cdef double total = 0.0
        for t in range(m):
            total += self.lik(ks[t])
        return total

    cdef void log_unions(self, Py_ssize_t b, Py_ssize_t first, Py_ssize_t m, double *out) noexcept nogil:
        """out[t]: ``log_union`` of column first + t with column b, for t below m."""
        cdef Py_ssize_t t
        for t in range(m):
            out[t] = self.log_union(first + t, b)

    cdef double odds(self, Py_ssize_t i, Py_ssize_t a, Py_ssize_t b, Py_ssize_t own, bint sized) noexcept nogil:
        return exp(self.log_odds(i, a, b, own, sized))

    cdef double log_odds(self, Py_ssize_t i, Py_ssize_t a, Py_ssize_t b, Py_ssize_t own, bint sized) noexcept nogil:
        """log odds, where the linear ones leave the range of a double."""
        cdef double r
        if own >= 0:
            self.leave(i, own)
        r = self.log_pred(i, b) - self.log_pred(i, a)
        if sized:
            r += self.log_weight(i, b) - self.log_weight(i, a)
        if own >= 0:
            self.join(i, own)
        return r

    cdef void weigh(self, Py_ssize_t i, Py_ssize_t first, Py_ssize_t m, double *w) noexcept nogil:
        """Linear weights, up to a common factor, of putting item i into columns first, ..., first + m - 1, which do not
        count it: the prior's by size times the predictive."""
        cdef Py_ssize_t s
        for s in range(m):
            w[s] = self.log_pred(i, first + s) + self.log_weight(i, first + s)
        exp_weights(w, m, w)

    cdef void scan(self, Py_ssize_t i) noexcept nogil:
        # not an override of it: this is the definition
        Model.log_scan(self, i)
        exp_weights(self.w, self.options(), self.w)

    cdef void log_scan(self, Py_ssize_t i) noexcept nogil:
        """The logarithms of what ``scan`` fills w with, up to a common term; item i may be one that is not placed."""
        cdef Py_ssize_t k, own = self.z[i], m = self.options()
        cdef bint alone = own >= 0 and self.size[own] == 1 and not self.allows_empty
        if own >= 0:
            self.leave(i, own)
        for k in range(m):
            if k >= self.K and self.auxiliaries > 1:
                # a lone item's own cluster is one of them
                self.w[k] = self.log_pred(i, k) + log(
                    (self.weight_alone if alone else self.weight_new) / self.auxiliaries)
                continue
            self.w[k] = self.log_pred(i, k) + self.log_weight(i, k)
            if alone and k == own:
                self.w[k] -= log(<double> self.auxiliaries)
        if own >= 0:
            self.join(i, own)
        if alone:
            self.w[m - 1] = -INFINITY

    cdef void choice(self, Py_ssize_t i, const int32_t *clusters, Py_ssize_t m, double *w) noexcept nogil:
        """The weights whose logarithms ``log_choice`` gives; infinite or 0 where they leave the range of a double."""
        cdef Py_ssize_t t
        w[0] = 1.0
        for t in range(1, m):
            w[t] = self.odds(i, clusters[0], clusters[t], clusters[0], True)

    cdef void log_choice(self, Py_ssize_t i, const int32_t *clusters, Py_ssize_t m, double *lw) noexcept nogil:
        """Log weights, up to a common term, of putting item i into these live clusters, of which the first is its own:
        its own contribution excluded, the prior's weights counted; alone in its cluster, its own stands for a new
        one."""
        cdef Py_ssize_t t, k, own = self.z[i]
        self.leave(i, own)
        for t in range(m):
            k = clusters[t]
            lw[t] = self.log_pred(i, k) + self.log_weight(i, k)
        self.join(i, own)

    cdef Py_ssize_t own_scan(self, Rng rng, Py_ssize_t first, Py_ssize_t n) except -1 nogil:
        """Gibbs updates of items first, ..., first + n - 1 in turn, of a model that ``scans_itself``; returns how many
        changed their cluster."""
        return 0

    cdef int place_all(self, Rng rng, const int32_t *order) except -1 nogil:
        """Put all items into clusters again, in this order, each by its weights given the items before it."""
        take_all_out(self)
        return place_others(self, rng, order)

    # -- Python side
    @classmethod
    def accepts(cls, data):
        """Whether the model reads a Dataset, by default data of its ``kind`` without missing cells: (bool, reason)."""
        if data.kind.name != cls.kind:
            return False, f"reads {cls.kind}, not {data.kind}"
        if data.exposure is not None and not cls.TAKES_EXPOSURE:
            return False, "data.exposure is for model=gamma_poisson"
        if not cls.READS_MISSING and data.missing:
            return False, f"{data.first_missing}, which model=gaussian and model=mixed read"
        return True, ""

    @classmethod
    def from_data(cls, data, **params):
        """The model of a Dataset, whose arrays become read-only: all models of it share them. `params` are passed to
        the constructor. A ValueError if the data are not accepted or a parameter is out of range names the key."""
        cls._require(data)
        freeze(data.values)
        return cls(data.values, **params)

    @classmethod
    def _require(cls, data):
        """Raise a ValueError unless the model accepts a data set."""
        accepted, reason = cls.accepts(data)
        if not accepted:
            raise ValueError(reason)

    cdef int _start(self) except -1:
        """Put all items in one cluster; a model without items has no cluster."""
        if self.N:
            self.set_labels(np.zeros(self.N, dtype=np.int32))
        return 0

    @classmethod
    def with_defaults_of(cls, data, **params):
        """Options with numbers for those that default to what the data are like, as `params`, which ``from_data``
        takes, mean on the Dataset, for a model of other data: dict."""
        return params

    @classmethod
    def with_new(cls, data, whole, **params):
        """The model of a Dataset's items and of new ones behind them, for ``log_predictive``: of `data` without these,
        and `whole` with them. `params`: as ``from_data`` takes them; they mean what they mean on `data`."""
        return cls.with_more(data, whole, **params)

    @classmethod
    def with_more(cls, data, whole, **params):
        """As ``with_new``, for new items that are counted in columns as any other."""
        return cls.from_data(whole, **cls.with_defaults_of(data, **params))

    @classmethod
    def has_powers(cls):
        """bool: whether replicas of a chain can move under powers of the likelihood: an option, or `temper`."""
        return any(option.name == "power" for option in cls.OPTIONS)

    def temper(self, power):
        """Raise the likelihood of every partition to a power; for models with powers but without that option."""
        raise NotImplementedError

    @classmethod
    def most_parameters(cls, data):
        """int: numbers of ``parameters`` on a Dataset, at most: by default a scale of each column, and kappa0."""
        return data.values.shape[1] + 1

    def log_predictive(self, Py_ssize_t first):
        """Log predictive densities of the items from `first` on, each alone, given the partition of the items before:
        log p(x_i | cluster k and what is in it), natural logarithm, float64 (N - first, K), the last column being a new
        cluster; and log of the prior's probability that one more item joins each of these, normalised, float64 (K,),
        -inf for a new cluster where the number of clusters is part of the state. These are the weights by which a Gibbs
        update chooses, for N = `first` + 1 items.

        The items from `first` on, `first` from 1 to N - 1, are the last cluster, which counts for nothing here: else a
        ValueError, as for a model that keeps parameters, whose clusters' likelihoods depend on each other, or that has
        no prior of the partition. Cost: two likelihoods of a cluster for each item and cluster.
        """
        cdef Py_ssize_t k, m = self.K - 1, n = self.N - first
        self._check_has_predictive()
        if not 0 < first < self.N or m < 1 or self.size[m] != n or (self.labels[first:] != m).any():
            raise ValueError(f"expected items {first} to {self.N - 1} in the last cluster, alone")
        log_density, weight = self.log_densities(first), np.empty(m + 1)
        for k in range(m):
            weight[k] = self.alloc[self.size[k]] if self.size[k] else self.weight_alone
        # of one more item, not of all new ones
        weight[m] = 0.0 if self.allows_empty else (<Prior> self.prior.with_items(first + 1)).new_weight(m)
        with np.errstate(divide="ignore"):
            return log_density, np.log(weight / weight.sum())

    def _check_has_predictive(self):
        if not self.conjugate or self.prior is None:
            raise ValueError(f"model {type(self).__name__}: no predictive density of an item given the clusters alone")

    def log_densities(self, Py_ssize_t first):
        """`log_density` of ``log_predictive``, which has checked the state."""
        cdef Py_ssize_t i, k, column, m = self.K - 1, n = self.N - first
        cdef double[:, ::1] log_density = np.empty((n, m + 1))
        cdef double[::1] before = np.empty(m + 1)
        # behind the clusters, the last of which are the new items: an empty column
        cdef Py_ssize_t empty = m + 1
        self.begin_scan()
        for k in range(m):
            before[k] = self.cluster_log_lik(k)
        before[m] = 0.0
        # `log_pred` may leave out what does not depend on the cluster; a difference of likelihoods does not
        for i in range(first, self.N):
            for k in range(m + (not self.allows_empty)):
                column = k if k < m else empty
                self.join(i, column)
                log_density[i - first, k] = self.cluster_log_lik(column) - before[k]
                self.leave(i, column)
            if self.allows_empty:
                log_density[i - first, m] = -INFINITY
        return np.asarray(log_density)

    def left_out_predictive(self):
        """Log predictive densities of every item given the partition of all others, its own contribution excluded:
        log p(x_i | cluster k and what is in it but i), natural logarithm, float64 (N, K + 1), the last column being a
        new cluster; -inf for the cluster that a lone item leaves, which the last column stands for, and in the last
        column where the number of clusters is part of the state. And log of the prior's probability that item i joins
        each of these given the others, normalised, float64 (N, K + 1).

        The logarithm of the sum over k of density times weight is ``log p(x_i | z_-i, x_-i)``, the normaliser of the
        Gibbs update of item i. A ValueError: a model that keeps parameters, whose clusters' likelihoods depend on each
        other, or that has no prior of the partition; a power of the likelihood. Cost: a Gibbs scan, and a likelihood of
        a lone item for each.
        """
        cdef Py_ssize_t i, k
        cdef double[:, ::1] log_weight = np.full((self.N, self.K + 1), -INFINITY)
        self._check_has_predictive()
        if getattr(self, "zeta", 1.0) != 1.0:
            raise ValueError(f"model {type(self).__name__}: a power of the likelihood, under which the normaliser of a "
                             "Gibbs update is no density")
        log_density = self.left_out_densities()
        for i in range(self.N):
            self.leave(i, self.z[i])
            for k in range(self.K + (not self.allows_empty)):
                if self.stands_for_option(k):
                    log_weight[i, k] = self.log_weight(i, k)
            # a lone item has no new cluster other than the one that it leaves, which the last column stands for
            if not self.size[self.z[i]] and not self.allows_empty:
                log_weight[i, self.K] = self.log_weight(i, self.z[i])
            self.join(i, self.z[i])
        weights = np.asarray(log_weight)
        return log_density, weights - np.logaddexp.reduce(weights, axis=1, keepdims=True)

    cdef bint stands_for_option(self, Py_ssize_t k) noexcept nogil:
        """Whether an item that is left out may join column k: not the cluster that it leaves empty."""
        return self.size[k] > 0 or self.allows_empty or k >= self.K

    def left_out_densities(self):
        """`log_density` of ``left_out_predictive``, which has checked the model."""
        cdef Py_ssize_t i, k, own, empty = self.K
        cdef double rest
        cdef double[:, ::1] log_density = np.full((self.N, self.K + 1), -INFINITY)
        self.begin_scan()
        for i in range(self.N):
            own = self.z[i]
            self.leave(i, own)
            # `log_pred` may leave out what does not depend on the cluster
            self.join(i, empty)
            rest = self.cluster_log_lik(empty)
            self.leave(i, empty)
            rest -= self.log_pred(i, empty)
            for k in range(self.K + (not self.allows_empty)):
                if self.stands_for_option(k):
                    log_density[i, k] = self.log_pred(i, k) + rest
            self.join(i, own)
        return np.asarray(log_density)

    @property
    def largest_K(self):
        """int: the most clusters that model and prior allow, at the present values of the hyper-parameters."""
        cdef Py_ssize_t low = 1, high = self.kmax, middle
        if self.prior is None:
            return high
        # beyond a number of clusters that a prior rules out it rules out all
        while low < high:
            middle = (low + high + 1) // 2
            if self.prior.log_count(middle) > -INFINITY:
                low = middle
            else:
                high = middle - 1
        return low

    def prior_labels(self, generator):
        """A draw from the prior, where the model offers one: (labels, K), ndarray of int32 of shape (N,) and int."""
        if self.prior is None:
            raise ValueError(f"model {type(self).__name__} offers no draw from its prior")
        return self.prior.draw(generator)

    def set_near_pairs(self, NearPairs near_pairs not None):
        """Let samplers that are built from here on draw their anchors among these pairs, of as many items."""
        if near_pairs.N != self.N:
            raise ValueError(f"near_pairs: pairs of {near_pairs.N} items, but the model has {self.N}")
        self.near_pairs = near_pairs

    def separate(self):
        """Move items that may not share a cluster apart: nothing, where any may."""

    def log_lik_total(self):
        """float: log likelihood of all items given the partition."""
        return self.log_lik_all()

    def log_prior_total(self):
        """float: log prior of the state."""
        return self.log_prior_all() + self.log_extra()

    def log_joint(self):
        """float: log prior plus log likelihood of the state."""
        return self.log_lik_total() + self.log_prior_total()

    @property
    def refreshes(self):
        """bool: whether the state holds more than the partition: parameters, weights, or hyper-parameters."""
        return not self.conjugate or bool(self.hyperparameters)

    @property
    def hyperparameters(self):
        """tuple of str: names of those that are resampled, the prior's first: columns of the trace."""
        return () if self.prior is None else self.prior.hyperparameters

    @property
    def hyperparameter_values(self):
        """dict of str to float: the present values of ``hyperparameters``, as traces have them."""
        names = self.hyperparameters
        cdef double[::1] values = np.zeros(max(1, len(names)))
        self.write_hyperparameters(&values[0])
        return {name: values[t] for t, name in enumerate(names)}

    @property
    def prior_values(self):
        """dict of str to float: present values of the prior's hyper-parameters that are resampled, a part of the
        state."""
        return {} if self.prior is None else self.prior.values

    def set_prior_values(self, values):
        """Set hyper-parameters of the prior that are resampled: a mapping of str to float. A ValueError for a name that
        is not among them, or a value out of range."""
        for name, value in values.items():
            if name not in self.prior_values:
                raise ValueError(f"model {type(self).__name__} resamples no {name} of its prior")
            self.prior.set_value(name, value)
        if values:
            self.tables_changed()

    @property
    def parameters(self):
        """ndarray of float64, shape (K, P): the parameters of every cluster, a copy; None if they are integrated
        out."""
        return None

    @property
    def recorded_parameters(self):
        """ndarray of float64 or None: what is recorded of ``parameters`` with a partition, its first ones."""
        return self.parameters

    def set_parameters(self, values):
        """Set the parameters of every cluster, ndarray of shape (K, P)."""
        raise ValueError(f"model {type(self).__name__} keeps no parameters")

    def start_parameters(self, Rng rng not None):
        """Draw the parameters of every cluster given its items: the start of a chain."""

    def start_sequentially(self, Rng rng not None, K0=None):
        """Put all items into clusters again, in a uniform order, each by the probabilities of the clusters, and of a
        new one, given the items placed before it: a start of a chain. One pass, as long as a Gibbs scan or so. `K0`:
        clusters to begin with, where empty ones are kept; None there: a draw from the prior. A ValueError for a `K0`
        where clusters are opened as items come, or one above ``kmax``; for a model that does not integrate out the
        parameters of clusters."""
        if K0 is not None and not self.allows_empty:
            raise ValueError(f"K0={K0}: clusters are opened as items come; expected K0=null")
        self._check_items_come_one_by_one()
        cdef Py_ssize_t clusters = 0
        if self.allows_empty:
            clusters = self.prior_labels(np.random.Generator(rng.bit_generator))[1] if K0 is None else K0
            if clusters > self.kmax:
                raise ValueError(f"K0={K0}: expected at most model.kmax={self.kmax}")
        cdef int32_t[::1] order = draw_permutation(rng, self.N)
        with nogil:
            if self.allows_empty:
                take_all_out(self)
                while self.K < clusters:
                    self.append_empty()
                place_others(self, rng, &order[0])
            else:
                self.place_all(rng, &order[0])

    def _check_items_come_one_by_one(self):
        if not self.conjugate:
            raise ValueError("a model that does not integrate out the parameters of clusters cannot start so")

    def start_from(self, Rng rng not None, items, labels):
        """Put some items, n different ones, into clusters that are given (their `labels`, 0 .. K-1, each with an item),
        then all others, in a uniform order, each by the probabilities of the clusters, and of a new one, given the
        items placed before it: a start of a chain. A ValueError for a model that cannot ``start_sequentially``, or
        items or labels that are not as said."""
        if self.allows_empty:
            raise ValueError("a model that keeps empty clusters cannot start so")
        self._check_items_come_one_by_one()
        cdef int32_t[::1] order = draw_permutation(rng, self.N)
        cdef int32_t[::1] given = np.full(self.N, -1, dtype=np.int32)
        numbers, clusters = np.asarray(items), np.asarray(labels)
        if numbers.shape != clusters.shape or len(np.unique(numbers)) < numbers.size:
            raise ValueError("items: expected different ones, with a label each")
        if numbers.size:
            if numbers.min() < 0 or numbers.max() >= self.N:
                raise ValueError(f"items: expected numbers from 0 to {self.N - 1}")
            if not np.array_equal(np.unique(clusters), np.arange(clusters.max() + 1)):
                raise ValueError("labels: expected clusters numbered from 0, each with an item")
            np.asarray(given)[numbers] = clusters
        cdef Py_ssize_t t, n = clusters.max() + 1 if clusters.size else 0
        if n > self.kmax:
            raise ValueError(f"labels: {n} clusters, but the model allows at most {self.kmax}")
        with nogil:
            take_all_out(self)
            while self.K < n:
                self.append_empty()
            for t in range(self.N):
                if given[t] >= 0:
                    self.put(t, given[t])
            place_others(self, rng, &order[0])
