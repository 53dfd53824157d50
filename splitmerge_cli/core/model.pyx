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
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

import numpy as np

from splitmerge_cli.core.memory cimport doubles_of
from splitmerge_cli.core.partition cimport Partition
from splitmerge_cli.core.prior cimport Prior
from splitmerge_cli.core.rng cimport Rng

from splitmerge_cli.core.shared import freeze


def _aligned(Py_ssize_t n):
    """Numbers on a cache-line boundary."""
    room = np.empty(n + 8)
    start = (-room.ctypes.data % 64) // 8
    return room[start:start + n]


cdef class Model(Partition):
    """A partition of N items with the statistics of its clusters, the likelihood of the items in them, and the prior.

    A model in a file of its own supplies the statistics of a cluster (``clear``, ``add``, ``remove``, ``copy``,
    ``absorb``, ``grow``), the log marginal likelihood of a cluster and of the union of two, the log predictive, and,
    for speed, ``odds`` and ``scan``. Its constructor calls ``_allocate`` and then ``_set_prior``.

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
    READS_MISSING = False               # whether cells of a table may be missing
    OPTIONS = ()
    """Its options; see ``core/options.py``."""

    def __cinit__(self, *args, **kwargs):
        self.conjugate = True
        self.auxiliaries = 1

    cdef int _set_prior(self, Prior prior) except -1:
        """Take this prior of the partition. A model whose ``scan_table`` holds more than the prior's weights then calls
        ``_set_scan_table``."""
        if prior.weight == NULL:
            raise TypeError(f"prior {type(prior).__name__} set no tables")
        self.prior = prior
        self.alloc = prior.weight
        # of an empty cluster that is kept; what new ones weigh is set anew with every change of their number
        self.weight_alone = self.weight_new = self.alloc[0]
        self._hold(prior.shared)
        return self._set_scan_table(prior.shared.weight, 1.0)

    cdef int _set_scan_table(self, table, double unit) except -1:
        """Take this table of weights by size, an array that is held; `unit`: its entry for a new cluster, over the
        prior's."""
        self.scan_table = doubles_of(table)
        self.unit = unit
        self.scan_alone = self.weight_alone * unit
        self.prior_changed()
        return 0

    cdef int _hold(self, prepared) except -1:
        """Hold read-only data or tables that pointers of this model lead into."""
        self.shared = (*(self.shared or ()), prepared)
        return 0

    cdef void prior_changed(self) noexcept nogil:
        """Set all that depends on the prior's parameters, or on the number of clusters."""
        if not self.allows_empty:
            # what a lone item's own cluster stands for: a new one beside the others
            self.weight_alone = self.prior.new_weight(max(self.K - 1, 0))
            self.scan_alone = self.weight_alone * self.unit
            self.weight_new = self.prior.new_weight(self.K)
            self.new_cluster_weight = self.weight_new * self.unit

    cdef void count_changed(self) noexcept nogil:
        if self.prior is not None and self.prior.by_count:
            self.prior_changed()

    cdef double log_pred(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        return NAN

    cdef double log_union(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        return NAN

    # -- what a coupled model, in which the likelihood of a cluster depends on the others, overrides
    cdef void stage(self, const int32_t *clusters, Py_ssize_t m, Py_ssize_t first, Py_ssize_t n) noexcept nogil:
        """Make n scratch columns from `first` on empty clusters that stand in the place of these m live ones (which may
        name one twice), until the next ``stage``, ``begin_scan`` or change of the state."""
        cdef Py_ssize_t s
        for s in range(n):
            self.scratch(first + s)

    cdef double log_pair_lik(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """Log marginal likelihood of clusters a and b as one, by itself: as ``lik`` counts it."""
        return self.log_union(a, b)

    # -- the prior
    cdef double log_prior(self, const int32_t *sizes, Py_ssize_t m, Py_ssize_t K) noexcept nogil:
        return self.prior.log_prob(sizes, m, K)

    cdef double log_weight(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        """log of the prior's weight of item i, which is not counted in it, in column k."""
        return log(self.weight_of(k, False))

    cdef double log_prior_all(self) noexcept nogil:
        """Log prior of the state; ``log_extra`` not counted."""
        return self.log_prior(self.size, self.K, self.K)

    cdef double log_split_prior(self, Py_ssize_t c, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """log ratio of the priors of the state with scratch columns a, b in the place of cluster c, and of this one.

        Where clusters have weights it is a ratio of densities in them, times that of volumes.
        """
        cdef int32_t sizes[2]
        sizes[0] = self.size[a]
        sizes[1] = self.size[b]
        return self.log_prior(sizes, 2, self.K + 1) - self.log_prior(self.size + c, 1, self.K)

    cdef double log_merge_prior(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """log ratio of the priors of the state with clusters i and j made one, and of this one.

        A model whose clusters have weights leaves the two, counted, in scratch columns K and K + 1.
        """
        cdef int32_t sizes[2]
        cdef int32_t n
        sizes[0] = self.size[i]
        sizes[1] = self.size[j]
        n = sizes[0] + sizes[1]
        return self.log_prior(&n, 1, self.K - 1) - self.log_prior(sizes, 2, self.K)

    cdef Py_ssize_t refresh_parameters(self, Rng rng) noexcept nogil:
        """Update what the state holds beside the partition and the prior's own parameters, given the partition; returns
        how many clusters changed."""
        return 0

    cdef bint same_parameters(self, Model other, const int32_t *twin) noexcept nogil:
        """Whether another model in the same partition, whose cluster twin[k] is k here, has the same parameters."""
        return True

    cdef void resample_hyperparameters(self, Rng rng) noexcept nogil:
        """Draw the prior's own parameters given the partition."""
        self.prior.resample(rng, self.K)
        self.prior_changed()

    cdef void traced(self, double *out) noexcept nogil:
        """Present values of ``hyperparameters``."""
        out[0] = self.prior.concentration

    cdef double log_extra(self) noexcept nogil:
        """log density of parameters and of a random concentration: what `log_prior` leaves out, since moves of the
        partition draw parameters from their prior and keep the concentration."""
        return self.prior.log_density()

    # -- parameters that are drawn given a cluster, and forgotten: supplied where `n_parameters` is not 0
    cdef void draw_posterior(self, Rng rng, Py_ssize_t k, double *theta, double *work) noexcept nogil:
        """theta[:n_parameters]: the parameters of column k given its items, a draw, or without a generator what to
        expect. `work`: `work_size` numbers of scratch.

        This and the next three may be called from several threads at the same time, with different columns.
        """
        pass

    cdef void load_tile(self, const int32_t *items, Py_ssize_t n, double *tile) noexcept nogil:
        """Write these n items, at most TILE_ITEMS, as a tile (``tiles.h``): `tile_rows` rows; what is past the n-th is
        the last item again."""
        pass

    cdef void score_tile(self, const double *tile, const double *theta, double log_weight, const double *floor,
                         double *out) noexcept nogil:
        """out[t] = log_weight + log density of item t of the tile, up to a term of the item alone; -inf for all where
        all would be below `floor`."""
        pass

    cdef void count_items(self, const int32_t *items, Py_ssize_t n, Py_ssize_t k, double *work) noexcept nogil:
        """Add n items to the statistics of column k, nothing else of which changes."""
        cdef Py_ssize_t t
        for t in range(n):
            self.add(items[t], k)

    # -- statistics that are sent from shard to shard: supplied where `column_bytes` is not 0
    cdef void write_column(self, Py_ssize_t k, char *to) noexcept nogil:
        """to[:column_bytes]: the statistics of column k, sums of whole numbers; on a boundary of 16 bytes."""
        pass

    cdef void add_column(self, Py_ssize_t k, const char *packed) noexcept nogil:
        """Add to the statistics of column k what ``write_column`` wrote; its size is set by who calls."""
        pass

    # -- defaults, slow but right, that a model may override
    cdef double log_lik(self, const int32_t *ks, Py_ssize_t m) noexcept nogil:
        """Every likelihood term that touches these clusters, counted once."""
        cdef Py_ssize_t t
        cdef double total = 0.0
        for t in range(m):
            total += self.lik(ks[t])
        return total

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
        cdef double top = -INFINITY
        for s in range(m):
            w[s] = self.log_pred(i, first + s) + self.log_weight(i, first + s)
            if w[s] > top:
                top = w[s]
        for s in range(m):
            w[s] = exp(w[s] - top)

    cdef void scan(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t k, m = self.options()
        cdef double top = -INFINITY
        # not an override of it: this is the definition
        Model.log_scan(self, i)
        for k in range(m):
            if self.w[k] > top:
                top = self.w[k]
        for k in range(m):
            self.w[k] = exp(self.w[k] - top)

    cdef void log_scan(self, Py_ssize_t i) noexcept nogil:
        """The logarithms of what ``scan`` fills w with, up to a common term; item i may be one that is not placed."""
        cdef Py_ssize_t k, own = self.z[i], m = self.options()
        cdef bint alone = own >= 0 and self.size[own] == 1 and not self.allows_empty
        if own >= 0:
            self.leave(i, own)
        for k in range(m):
            self.w[k] = self.log_pred(i, k) + self.log_weight(i, k)
            if k >= self.K and self.auxiliaries > 1:
                # a lone item's own cluster is one of them
                self.w[k] += log((self.weight_alone if alone else self.weight_new) / self.weight_new / self.auxiliaries)
            elif alone and k == own:
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
        """Put all items into clusters anew, in this order, each by its weights given those before it."""
        cdef Py_ssize_t t, k
        for k in range(self.K):
            self.scratch(k)
            self.head[k] = -1
        memset(self.W, 0, self.cap * sizeof(double))
        memset(self.z, 255, self.N * sizeof(int32_t))
        self.K = 0
        self.count_changed()
        self.begin_scan()
        for t in range(self.N):
            self.scan(order[t])
            k = rng.draw_categorical(self.w, self.options())
            if k == self.K:
                self.append_empty()
            self.put(order[t], k)
        return 0

    # -- Python side
    @classmethod
    def accepts(cls, data):
        """Whether the model reads a Dataset, and why not: by default those of its ``kind`` without missing cells.

        Returns
        -------
        accepted : bool
        reason : str
            Empty where it is accepted.
        """
        if data.kind != cls.kind:
            return False, f"reads {cls.kind}, not {data.kind}"
        if not cls.READS_MISSING and data.missing:
            return False, f"{data.first_missing}, which model=gaussian and model=mixed read"
        return True, ""

    @classmethod
    def from_data(cls, data, **params):
        """The model of a Dataset, whose arrays become read-only: all models of it share them.

        Parameters
        ----------
        data : Dataset
            One that the model accepts.
        **params
            Passed to the constructor.

        Raises
        ------
        ValueError
            When it is not accepted or a parameter is out of range; the message names the key.
        """
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
        """All items in one cluster; where there are none, no cluster."""
        if self.N:
            self.set_labels(np.zeros(self.N, dtype=np.int32))
        return 0

    @classmethod
    def of_shard(cls, values, columns, **params):
        """The model of some rows of a table, whose statistics are those of the other rows' models.

        Parameters
        ----------
        values : ndarray, shape (n, D)
            The rows, which the model may write over.
        columns : Columns
            What is known of all rows.
        **params
            As ``from_data`` takes them.

        Raises
        ------
        ValueError
            For values out of range, or a model whose items cannot be in shards.
        """
        raise ValueError(f"model {cls.__name__}: its items cannot be in shards")

    @classmethod
    def of_shards(cls, columns, packed, **params):
        """The model of the clusters of a table whose rows are in shards: it holds no items.

        Parameters
        ----------
        columns : Columns
        packed : bytes
            The statistics of all rows, as ``write_column`` gives them.
        **params
            As ``from_data`` takes them.
        """
        raise ValueError(f"model {cls.__name__}: its items cannot be in shards")

    @classmethod
    def with_defaults_of(cls, data, **params):
        """The same options, those that default to what the data are like as numbers: what `params` mean on `data`, for
        a model of other data.

        Parameters
        ----------
        data : Dataset
        **params
            As ``from_data`` takes them.

        Returns
        -------
        dict
        """
        return params

    @classmethod
    def with_new(cls, data, whole, **params):
        """The model of a Dataset's items and of new ones behind them, for ``log_predictive``.

        Parameters
        ----------
        data, whole : Dataset
            Without the new items, and with them.
        **params
            As ``from_data`` takes them; they mean what they mean on `data`.
        """
        return cls.from_data(whole, **cls.with_defaults_of(data, **params))

    def log_predictive(self, Py_ssize_t first):
        """Log predictive densities of the items from `first` on, each by itself, given the partition of those before.

        The items from `first` on are the last cluster, which counts for nothing here.

        Parameters
        ----------
        first : int
            The first of them, from 1 to N - 1.

        Returns
        -------
        log_density : ndarray of float64, shape (N - first, K)
            log p(x_i | cluster k and what is in it), natural logarithm; the last column is a new cluster.
        log_weight : ndarray of float64, shape (K,)
            log of the prior's probability that one more item joins each of these, normalised; -inf for a new cluster
            where the number of clusters is part of the state.

        Raises
        ------
        ValueError
            The items from `first` on are not the last cluster; or a model that keeps parameters, whose clusters'
            likelihoods depend on each other, or that has no prior of the partition.

        Notes
        -----
        Cost: two likelihoods of a cluster for each item and cluster. The weights are those by which a Gibbs update
        chooses, for N = `first` + 1 items.
        """
        cdef Py_ssize_t k, m = self.K - 1, n = self.N - first
        if not self.conjugate or self.coupled or self.prior is None:
            raise ValueError(f"model {type(self).__name__}: no predictive density of an item given the clusters alone")
        if not 0 < first < self.N or m < 1 or self.size[m] != n or (self.labels[first:] != m).any():
            raise ValueError(f"expected items {first} to {self.N - 1} in the last cluster, alone")
        log_density, weight = self.log_densities(first), np.empty(m + 1)
        for k in range(m):
            weight[k] = self.alloc[self.size[k]] if self.size[k] else self.weight_alone
        weight[m] = 0.0 if self.allows_empty else self.prior.new_weight(m)
        with np.errstate(divide="ignore"):
            return log_density, np.log(weight / weight.sum())

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

    @property
    def concentration(self):
        """float: the present concentration of the prior; nan where it has none."""
        return NAN if self.prior is None else self.prior.concentration

    @property
    def random_concentration(self):
        """bool: whether the concentration has a prior of its own and is resampled."""
        return self.prior is not None and self.prior.random

    def prior_labels(self, generator):
        """A draw from the prior, where the model offers one: (labels, K), ndarray of int32 of shape (N,) and int."""
        if self.prior is None:
            raise ValueError(f"model {type(self).__name__} offers no draw from its prior")
        return self.prior.draw(generator)

    def log_lik_total(self):
        """float: log likelihood of all items given the partition."""
        return self.log_lik(self.numbers, self.K)

    def log_prior_total(self):
        """float: log prior of the state."""
        return self.log_prior_all() + self.log_extra()

    def log_joint(self):
        """float: log prior plus log likelihood of the state."""
        return self.log_lik_total() + self.log_prior_total()

    @property
    def refreshes(self):
        """bool: whether the state holds more than the partition: parameters, weights, or a random concentration."""
        return not self.conjugate or self.random_concentration

    @property
    def hyperparameters(self):
        """tuple of str: names of those that are resampled, in the order of ``traced``."""
        return ("concentration",) if self.random_concentration else ()

    @property
    def hyperparameter_values(self):
        """dict of str to float: the present values of ``hyperparameters``, as traces have them."""
        names = self.hyperparameters
        cdef double[::1] values = np.zeros(max(1, len(names)))
        self.traced(&values[0])
        return {name: values[t] for t, name in enumerate(names)}

    @property
    def parameters(self):
        """ndarray of float64, shape (K, P): the parameters of every cluster, a copy; None where they are integrated
        out."""
        return None

    def set_parameters(self, values):
        """Set the parameters of every cluster, ndarray of shape (K, P)."""
        raise ValueError(f"model {type(self).__name__} keeps no parameters")

    def set_concentration(self, double value):
        """Set the present concentration of the prior.

        Raises
        ------
        ValueError
            For a value that is not positive, or a prior without one.
        """
        if self.prior is None:
            raise ValueError(f"model {type(self).__name__} has no concentration")
        self.prior.set_concentration(value)
        self.prior_changed()

    def start_parameters(self, Rng rng not None):
        """Draw the parameters of every cluster given its items: the start of a chain."""

    def start_sequentially(self, Rng rng not None, K0=None):
        """Put all items into clusters anew, in a uniform order, each by the probabilities of the clusters, and of a
        new one, given the items placed before it: a start of a chain. One pass, as long as a Gibbs scan or so.

        Parameters
        ----------
        rng : Rng
        K0 : None
            Of topics: how many they begin with.

        Raises
        ------
        ValueError
            For a `K0`, since clusters are opened as items come; for a model that keeps empty clusters, whose number the
            items placed before do not tell, or that does not integrate out the parameters of clusters.

        Examples
        --------
        >>> from splitmerge_cli.core.rng import Rng
        >>> from splitmerge_cli.models.gaussian import Gaussian
        >>> model = Gaussian([[-9.0], [9.1], [-9.1], [9.0]])
        >>> model.start_sequentially(Rng(1))
        >>> bool(model.labels[0] == model.labels[2] != model.labels[1])
        True
        """
        if K0 is not None:
            raise ValueError(f"K0={K0}: only topics begin with a number of them; clusters are opened as items come")
        if self.allows_empty:
            raise ValueError("a model that keeps empty clusters cannot start so")
        if not self.conjugate:
            raise ValueError("a model that does not integrate out the parameters of clusters cannot start so")
        cdef int32_t[::1] order = self._order(rng, self.N)
        with nogil:
            self.place_all(rng, &order[0])

    def _order(self, Rng rng, Py_ssize_t n):
        """ndarray of int32, shape (n,): 0, ..., n - 1 in a uniform order."""
        found = np.arange(n, dtype=np.int32)
        cdef Py_ssize_t t, other
        cdef int32_t[::1] order = found
        with nogil:
            for t in range(n - 1, 0, -1):
                other = rng.draw_index(t + 1)
                order[t], order[other] = order[other], order[t]
        return found

    # For tests: the pieces that samplers use, one call each.
    def _scores(self, Rng rng, int32_t[::1] items, Py_ssize_t k):
        """Log densities of up to TILE_ITEMS items, each up to a constant of its own, given parameters drawn for cluster
        k; without a generator given what to expect of them."""
        cdef double[::1] theta = np.empty(self.n_parameters), work = np.empty(max(1, self.work_size))
        cdef double[::1] tile = _aligned(TILE_ITEMS * self.tile_rows), out = _aligned(TILE_ITEMS)
        cdef double[::1] floor = np.full(TILE_ITEMS, -np.inf)
        self.draw_posterior(rng, k, &theta[0], &work[0])
        self.load_tile(&items[0], items.shape[0], &tile[0])
        self.score_tile(&tile[0], &theta[0], 0.0, &floor[0], &out[0])
        return np.array(out)[:items.shape[0]]

    def _log_pred(self, Py_ssize_t i, Py_ssize_t k):
        return self.log_pred(i, k)

    def _cluster_log_lik(self, Py_ssize_t k):
        return self.cluster_log_lik(k)

    def _log_union(self, Py_ssize_t a, Py_ssize_t b):
        return self.log_union(a, b)

    def _odds(self, Py_ssize_t i, Py_ssize_t a, Py_ssize_t b, Py_ssize_t own, bint sized):
        return self.odds(i, a, b, own, sized), self.log_odds(i, a, b, own, sized)

    def _scan(self, Py_ssize_t i):
        self.begin_scan()
        self.scan(i)
        return np.array([self.w[k] for k in range(self.options())])

    def _scan_by_definition(self, Py_ssize_t i):
        self.begin_scan()
        Model.scan(self, i)
        return np.array([self.w[k] for k in range(self.options())])

    def _scan_unplaced(self, Py_ssize_t i):
        """Weights of item i, taken out of a cluster of others for the time, by ``scan`` and by definition."""
        cdef Py_ssize_t own = self.z[i]
        self.take_out(i)
        found = self._scan(i), self._scan_by_definition(i)
        self.put(i, own)
        return found

    def _choice(self, Py_ssize_t i, int32_t[::1] clusters):
        cdef Py_ssize_t m = clusters.shape[0]
        cdef double[::1] w = np.empty(m), lw = np.empty(m)
        self.begin_scan()
        self.choice(i, &clusters[0], m, &w[0])
        self.log_choice(i, &clusters[0], m, &lw[0])
        return np.asarray(w), np.asarray(lw)

    def _allocation_steps(self, int32_t[::1] order, int32_t[::1] sides):
        """Probability of each step of a sequential allocation, in scratch columns."""
        cdef Py_ssize_t t, a = self.K, b = self.K + 1
        cdef double o
        cdef int32_t c = self.z[order[0]]
        self.reserve(self.K)
        self.stage(&c, 1, a, 2)
        out = []
        for t in range(order.shape[0]):
            o = self.odds(order[t], a, b, -1, False)
            out.append(1.0 / (1.0 + o) if sides[t] == 0 else 1.0 / (1.0 + 1.0 / o))
            self.join(order[t], a if sides[t] == 0 else b)
        return out

    def _join(self, Py_ssize_t i, Py_ssize_t k):
        self.join(i, k)

    def _leave(self, Py_ssize_t i, Py_ssize_t k):
        self.leave(i, k)

    def _shake(self, int64_t pairs, Py_ssize_t k):
        """Add items to cluster k and remove them again, that many pairs, with up to half of the items in it at once."""
        cdef int64_t t
        cdef Py_ssize_t behind = self.N // 2
        for t in range(pairs + behind):
            if t < pairs:
                self.join(t % self.N, k)
            if t >= behind:
                self.leave((t - behind) % self.N, k)

    def _move(self, Py_ssize_t i, Py_ssize_t k):
        self.move(i, k)

    def _members(self, Py_ssize_t a, Py_ssize_t b):
        cdef int32_t[::1] v = np.empty(self.N, dtype=np.int32)
        cdef Py_ssize_t n = self.members(a, b, &v[0])
        return np.asarray(v)[:n]
