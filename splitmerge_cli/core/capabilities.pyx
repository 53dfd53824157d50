"""Capabilities of models: samplers ask for what a model is or can do, not for its name.

What the likelihood or the state of a model *is* decides its base class; of these a model has one:

`Coupled`: the likelihood of a cluster depends on the others. `Uncollapsed`: parameters of clusters may be part of the
state. `Weighted`: weights of clusters are part of the state.

What else a model *can do* is a `Capability`, an object that it makes when asked (``model.capability(KIND)``, None
if it cannot); a model names any number of them in ``CAPABILITIES``:

`DrawnParameters`: parameters of a cluster drawn given its items. `Shards`: statistics sent between processes. `PlugIn`:
the density of an item at a cluster's estimated parameters. `Noise`: clusters that are none.

*vectors*, an attribute of every model: the items as vectors, which can be hashed. Why so: docs/decisions/0028.
"""
from libc.math cimport NAN

cdef extern from *:
    """
    #include "simd_math.h"
    /* w[k] = exp(w[k]) W[k] for k < m, m a multiple of 8 */
    static inline void weigh_lanes(double *w, const double *W, Py_ssize_t m)
    {
        for (Py_ssize_t k = 0; k < m; k += LANES)
            LANES_TO(w + k) = lanes_exp(LANES_AT(w + k)) * LANES_AT(W + k);
    }
    """
    void weigh_lanes(double *w, const double *W, Py_ssize_t m) noexcept nogil


cdef class Coupled(Model):
    """A model in which the likelihood of a cluster depends on the others.

    It overrides ``stage`` and ``log_lik``; ``cluster_log_lik`` counts what touches no other cluster, and ``log_union``
    all that touches the union of two.
    """

    cdef double log_pair_lik(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """Log marginal likelihood of clusters a and b as one, alone: as ``lik`` counts it."""
        return NAN

    cdef void weigh_scores(self, Py_ssize_t own, int64_t *score, int64_t new_block, double one) noexcept nogil:
        """Fill w as a scan does, from log likelihoods that an item of cluster `own` (-1 none) adds to each cluster,
        `score` of [cap], and to a new one, in units of `one`."""
        cdef Py_ssize_t k, m = self.options(), end = (m + 7) & ~7, K = self.K
        cdef int64_t n, top
        cdef double *w = self.w
        for k in range(K, m):
            score[k] = new_block
        # not of a new block that the prior rules out: it may outweigh all others
        top = new_block if self.new_cluster_weight > 0.0 else score[0]
        for k in range(K):
            if score[k] > top:
                top = score[k]
        for k in range(m):
            w[k] = (min(score[k], top) - top) * one
        for k in range(m, end):
            w[k] = -1e6
        if own < 0:
            weigh_lanes(w, self.W, end)
            return
        n = self.size[own] - 1
        self.W[own] = self.scan_weight(n)
        weigh_lanes(w, self.W, end)
        self.W[own] = self.scan_table[n + 1]
        if n == 0:
            w[m - 1] = 0.0

    def _check_has_predictive(self):
        raise ValueError(f"model {type(self).__name__}: no predictive density of an item given the clusters alone")


cdef class Uncollapsed(Model):
    """A model that may keep the parameters of its clusters (``conjugate`` is then false).

    Parameters of a cluster are copied with its statistics by ``copy``, and are left alone by ``clear``, ``add``,
    ``remove`` and ``absorb``.
    """

    cdef void draw_parameters(self, Rng rng, Py_ssize_t k) noexcept nogil:
        """Parameters of column k, from their prior."""
        pass

    cdef void copy_parameters(self, Py_ssize_t src, Py_ssize_t dst) noexcept nogil:
        pass

    cdef void commit_merge(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """Clusters i and j become one, numbered min(i, j), with the parameters of j."""
        if not self.conjugate:
            self.copy_parameters(j, i if i < j else j)
        Model.commit_merge(self, i, j)


cdef class Weighted(Model):
    """A model whose clusters have weights, which groups of items share: part of the state, in the place of a prior of
    the partition (HDP)."""

    cdef bint divide(self, Rng rng, Py_ssize_t c, Py_ssize_t a, double p, double q) noexcept nogil:
        """Divide the weight of cluster c: scratch column a gets the share u ~ Beta(p, q), a + 1 the rest. False if
        one of them gets nothing."""
        return True

    cdef void set_weight(self, Py_ssize_t k, double log_beta) noexcept nogil:
        """Set the weight of scratch column k."""
        pass

    cdef double expected_tables(self, Py_ssize_t k, double log_beta) noexcept nogil:
        """Tables to expect of scratch column k, if its weight were this."""
        return NAN

    cdef void refresh_weights(self, Rng rng) noexcept nogil:
        """Draw the weights of all clusters given the partition and the present weights."""
        pass

    cdef double log_configuration(self) noexcept nogil:
        """Log prior of the partition given the weights, as Rana et al. 2013 prints it (equation 11)."""
        return NAN

    @property
    def refreshes(self):
        """bool: whether the state holds more than the partition: the weights, always."""
        return True


cdef class Capability:
    """Something else that a model can do; a subclass holds the model, and its constructor takes it."""

    @classmethod
    def suits(cls, model):
        """Whether a model of a class that names this has it with its options: bool."""
        return True


cdef class DrawnParameters(Capability):
    """Parameters of a cluster can be drawn given its items, and items weighed by them; they are forgotten after a step.

    A constructor sets ``size``, ``tile_rows`` and ``work_size``; and, where it knows densities of the parameters,
    ``posterior_size`` and ``dimension``: then two chains that are coupled may share them. All methods may be called
    from several threads at the same time, with different columns.
    """

    cdef void draw_posterior(self, Rng rng, Py_ssize_t k, double *theta, double *work) noexcept nogil:
        """theta[:size]: the parameters of column k given its items, a draw, or without a generator what to expect.
        `work`: `work_size` numbers of scratch."""
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
        pass

    cdef void write_posterior(self, Py_ssize_t k, double *posterior, double *work) noexcept nogil:
        """posterior[:posterior_size]: the distribution from which ``draw_posterior`` draws, as numbers."""
        pass

    cdef double log_density(self, const double *posterior, const double *theta) noexcept nogil:
        """log density of these parameters, in coordinates that a model chooses; it depends on theta[:size] alone."""
        return NAN

    cdef double to_normal(self, const double *posterior, const double *theta, double *zeta) noexcept nogil:
        """zeta[:dimension]: the parameters by a map that makes them about standard normal; returns the log of the
        absolute value of its determinant, in the coordinates of ``log_density``."""
        return NAN

    cdef double from_normal(self, const double *posterior, const double *zeta, double *theta) noexcept nogil:
        """The inverse map; returns the same, of the map to zeta."""
        return NAN


cdef class Shards(Capability):
    """The items may be in shards, in other processes, which send the statistics of clusters.

    A column is what `Sums` packs. The class methods make the models: of some rows, and of the clusters.
    """

    def __init__(self, Model model not None):
        self.model = model
        self.column_bytes = model.packed_bytes()

    @classmethod
    def build_shard(cls, values, columns, **params):
        """The model for some rows, `values` of shape (n, D), which it may write over; statistics of such models add up
        to the statistics of all rows, of which `columns` says what is known. `params`: as ``from_data`` takes them. A
        ValueError: values out of range."""
        raise TypeError(f"{cls.__name__} builds no shards")

    @classmethod
    def build_whole(cls, columns, packed, **params):
        """The model that has the clusters of a table and no items: the rows are in shards. `packed`: bytes, the
        statistics of all rows, as ``write_column`` gives them; the others as of ``build_shard``."""
        raise TypeError(f"{cls.__name__} builds no shards")

    cdef void write_column(self, Py_ssize_t k, char *to) noexcept nogil:
        """to[:column_bytes]: the statistics of column k, sums of whole numbers; on a boundary of 16 bytes."""
        self.model.pack(k, to)

    cdef void add_column(self, Py_ssize_t k, const char *packed) noexcept nogil:
        """Add to the statistics of column k what ``write_column`` wrote; its size is set by who calls."""
        self.model.add_packed(k, packed)


cdef class PlugIn(Capability):
    """Clusters have a mean among the vectors, and items a density at the estimated parameters."""

    cdef void locate(self, Py_ssize_t k, double *mean) noexcept nogil:
        """mean[:D]: posterior mean of the mean of cluster k, in the units of ``vectors``."""
        pass

    cdef double log_plug_in(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        """Log density of item i with the parameters of cluster k put at their estimates."""
        return NAN


class Noise(Capability):
    """Items may be of no cluster: the clusters of the partition that hold them are noise."""

    def __init__(self, model):
        self.model = model

    @property
    def probabilities(self):
        """ndarray of float64, shape (K,): posterior probability that each cluster is noise, given its items."""
        return self.model.noise_probabilities
