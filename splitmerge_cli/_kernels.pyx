"""The compiled core: generator, model and sampler base classes, and the moves' shared building blocks.

(a) *Dispatch.* A model is an abstract class with virtual ``nogil`` methods that score one item against a batch of
    clusters. Fused types, function tables and a kernel per (model, sampler) pair were measured and gained nothing; a
    Python call per move costs five times a move.
(b) *Columns.* Statistics live in arrays whose fastest axis is the cluster, so that a Gibbs scan runs over contiguous
    clusters and vectorises. Columns 0..K-1 are the live clusters; the columns behind them are scratch, where proposals
    are built. A rejected proposal needs no undo.
(c) *Weights.* A scan works with products of probabilities, not with sums of logarithms, and what depends on a cluster's
    size alone comes from a table.
(d) *Order.* Items of a cluster are visited in item order. The linked lists of members serve relabelling only: nothing
    reads their order, so that labels and generator state are the whole state of a chain.
(e) *Choices.* Every random choice goes through five methods of :class:`Rng`; a script can take their place, which is
    how the exact transition matrix of the compiled code is built (``splitmerge_cli.verify``).
"""
cimport cython
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport INFINITY, NAN, exp, fabs, log
from libc.stdint cimport int8_t, int32_t, int64_t
from libc.stdlib cimport abort, free, qsort, realloc
from libc.string cimport memcpy, memset

cdef extern from "Python.h":
    Py_ssize_t PY_SSIZE_T_MAX

cdef extern from "stdlib.h" nogil:
    int posix_memalign(void **out, size_t alignment, size_t size)

import numpy as np


# --------------------------------------------------------------------------------------------------------- memory

cdef void *aligned(Py_ssize_t n, size_t size) except NULL:
    """Zeroed memory for n things of this size, on a cache-line boundary. Raises MemoryError."""
    cdef void *p = NULL
    cdef size_t nbytes
    if n < 0 or <size_t> n > (PY_SSIZE_T_MAX >> 1) // size:
        raise MemoryError(f"{n} numbers are more than any memory holds")
    nbytes = n * size if n else 64
    if posix_memalign(&p, 64, nbytes) != 0 or p == NULL:
        raise MemoryError(f"{nbytes} bytes could not be allocated")
    memset(p, 0, nbytes)
    return p


cdef double *doubles(Py_ssize_t n) except NULL:
    return <double *> aligned(n, sizeof(double))


cdef int32_t *ints(Py_ssize_t n) except NULL:
    return <int32_t *> aligned(n, sizeof(int32_t))


cdef int8_t *flags(Py_ssize_t n) except NULL:
    return <int8_t *> aligned(n, 1)


cdef void release(void *p) noexcept nogil:
    free(p)


cdef void *larger(void *old, size_t old_bytes, size_t new_bytes) except NULL:
    """A zeroed aligned block that begins with the old one's content; the old one is freed."""
    cdef void *p = aligned(new_bytes, 1)
    copy_rows(p, new_bytes, old, old_bytes, 1)
    free(old)
    return p


cdef void copy_rows(void *to, size_t to_bytes, const void *rows, size_t row_bytes, Py_ssize_t n) noexcept nogil:
    """Copy n rows of `row_bytes` to the beginnings of n rows of `to_bytes`; nothing where there are none yet, NULL."""
    cdef Py_ssize_t r
    if rows != NULL:
        for r in range(n):
            memcpy(<char *> to + r * to_bytes, <const char *> rows + r * row_bytes, row_bytes)


def check_positive(str key, value):
    """Refuse what is no number from 1e-100 to 1e100, beyond which products of probabilities leave a double."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 1e-100 <= value <= 1e100:
        raise ValueError(f"{key}: expected a positive number from 1e-100 to 1e100, got {value}")


def check_range(str key, value, least, most):
    """Refuse what is no number from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        raise ValueError(f"{key}: expected a number from {least:g} to {most:g}, got {value}")


def as_numbers(str key, values):
    """These values as a contiguous array of float64.

    Raises
    ------
    ValueError
        They are no real numbers; the message names `key`.
    """
    given = np.asarray(values)
    if given.dtype.kind not in "iuf":
        raise ValueError(f"{key}: expected numbers, got {given.dtype}")
    return np.ascontiguousarray(given, dtype=np.float64)


def check_count(str key, value, least, most):
    """Refuse what is no whole number from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= value <= most:
        raise ValueError(f"{key}: expected a whole number from {least} to {most}, got {value}")


# ------------------------------------------------------------------------------------------------ log-scale helpers

cdef double log_rising(double a, Py_ssize_t n, double *out) noexcept nogil:
    """log of the rising factorial a (a + 1) ... (a + n - 1); out[0..n], unless NULL, becomes that of its beginnings.

    A running sum, which unlike a difference of two log gammas keeps its digits for a large a.
    """
    cdef Py_ssize_t i
    cdef long double total = 0.0
    for i in range(n + 1):
        if out != NULL:
            out[i] = <double> total
        if i < n:
            total += log(a + i)
    return <double> total

cdef double log_sum_exp(const double *lw, Py_ssize_t m) noexcept nogil:
    """log sum_k exp(lw[k]); -inf for no terms."""
    cdef Py_ssize_t k
    cdef double top = -INFINITY, total = 0.0
    for k in range(m):
        if lw[k] > top:
            top = lw[k]
    if top == -INFINITY:
        return top
    for k in range(m):
        total += exp(lw[k] - top)
    return top + log(total)


cdef double exp_weights(const double *lw, Py_ssize_t m, double *w) noexcept nogil:
    """w[k] = exp(lw[k] - max(lw)), linear weights with no overflow; returns log sum_k exp(lw[k])."""
    cdef Py_ssize_t k
    cdef double top = -INFINITY, total = 0.0
    for k in range(m):
        if lw[k] > top:
            top = lw[k]
    for k in range(m):
        w[k] = exp(lw[k] - top)
        total += w[k]
    return top + log(total)


# ------------------------------------------------------------------------------------------------------- generator

class ContinuousDraw(Exception):
    """A scripted generator was asked for a draw from a continuous law."""


@cython.final
cdef class Rng:
    """Random choices of one chain, from one NumPy PCG64DXSM stream.

    Parameters
    ----------
    seed : int
        Seed of the run, at least 0.
    chain : int
        Number of the chain: the stream is ``SeedSequence(seed, spawn_key=(chain,))``, so it does not depend on how many
        chains run.

    Notes
    -----
    Between ``script_start`` and ``script_stop`` the choices follow a script in place of the stream: each pass between
    ``script_begin`` and ``script_next`` takes one path through the tree of all choices, and ``script_probability`` is
    the probability of that path. Normal, gamma and beta draws have no list of options: a script meets none.
    """

    def __cinit__(self, seed=0, chain=0):
        if not isinstance(seed, (int, np.integer)) or seed < 0:
            raise ValueError(f"seed: expected an integer of at least 0, got {seed!r}")
        self.bit_generator = np.random.PCG64DXSM(np.random.SeedSequence(int(seed), spawn_key=(int(chain),)))
        self.bg = <bitgen_t *> PyCapsule_GetPointer(self.bit_generator.capsule, "BitGenerator")
        self.scripted = False
        self.always_accept = False
        self.path = 1.0

    def __dealloc__(self):
        free(self.choice)
        free(self.following)

    @property
    def state(self):
        """dict: state of the stream, fit for JSON."""
        return self.bit_generator.state

    @state.setter
    def state(self, value):
        try:
            self.bit_generator.state = value
        except (TypeError, KeyError, OverflowError) as error:
            raise ValueError(f"state of a generator: expected what `state` gave: {error}") from None

    def halt(self):
        """Let scans that use this generator end at once, from whatever thread: their chain is given up.

        The state that an iteration leaves is then no draw of anything, but whole: the model may be freed.
        """
        self.halted = True

    def random(self):
        """The next double of the stream."""
        return self.next()

    def normal(self):
        """Standard normal."""
        return self.draw_normal()

    def gamma(self, double shape):
        """Gamma of this shape and scale 1."""
        return self.draw_gamma(shape)

    def beta(self, double a, double b):
        """Beta(a, b)."""
        return self.draw_beta(a, b)

    def index(self, Py_ssize_t n):
        """Uniform on 0..n-1."""
        return self.draw_index(n)

    def coin(self, double p):
        """True with probability p."""
        return bool(self.draw_coin(p))

    def accept(self, double log_r):
        """Metropolis-Hastings decision for a log ratio; draws only when it is negative."""
        return bool(self.draw_accept(log_r))

    def categorical(self, weights):
        """Option k with probability weights[k] / sum(weights)."""
        cdef double[::1] w = np.ascontiguousarray(weights, dtype=np.float64)
        return self.draw_categorical(&w[0], w.shape[0])

    cdef Py_ssize_t scripted_choice(self, const double *w, Py_ssize_t m, double total) noexcept nogil:
        cdef Py_ssize_t t = self.depth, k
        if t == self.room:
            self.room = 2 * t + 64
            self.choice = <int32_t *> realloc(self.choice, self.room * sizeof(int32_t))
            self.following = <int32_t *> realloc(self.following, self.room * sizeof(int32_t))
            if self.choice == NULL or self.following == NULL:
                abort()
        if t == self.length:
            k = 0
            if w != NULL:
                while k < m - 1 and not w[k] > 0.0:
                    k += 1
            self.choice[t] = <int32_t> k
            self.length += 1
        self.depth += 1
        k = self.choice[t] + 1
        if w != NULL:
            while k < m and not w[k] > 0.0:
                k += 1
        self.following[t] = <int32_t> k if k < m else -1
        k = self.choice[t]
        self.path *= (w[k] if w != NULL else 1.0) / total
        return k

    def script_start(self, bint always_accept=False):
        """Follow a script from here on.

        With `always_accept`, every proposal is accepted and no factor counted for it: the paths are proposals.
        """
        self.scripted = True
        self.continuous = False
        self.always_accept = always_accept
        self.length = 0
        self.script_begin()

    def script_begin(self):
        """Go back to the root of the tree of choices, to take the path that the script holds."""
        self.depth = 0
        self.path = 1.0

    def script_probability(self):
        """Probability of the choices made since ``script_begin``."""
        return self.path

    def script_next(self):
        """Turn the script to the next path; False when all were taken. Raises ContinuousDraw after one."""
        cdef Py_ssize_t t = self.depth - 1
        if self.continuous:
            raise ContinuousDraw("a normal, gamma or beta draw has no list of options")
        while t >= 0 and self.following[t] < 0:
            t -= 1
        if t < 0:
            return False
        self.choice[t] = self.following[t]
        self.length = t + 1
        return True

    def script_stop(self):
        """Draw from the stream again."""
        self.scripted = False
        self.always_accept = False


# ----------------------------------------------------------------------------------------------------------- model

cdef int compare_ints(const void *a, const void *b) noexcept nogil:
    return (<const int32_t *> a)[0] - (<const int32_t *> b)[0]


cdef class Model:
    """A partition of N items with the statistics of its clusters, the likelihood of the items in them, and the prior.

    A model in a file of its own supplies the statistics of a cluster (``clear``, ``add``, ``remove``, ``copy``,
    ``absorb``, ``grow``), the log marginal likelihood of a cluster and of the union of two, the log predictive, the log
    prior, and, for speed, ``odds`` and ``scan``.

    Where a method takes a cluster's number, it may be a live or a scratch one. Log values are natural logarithms.

    ``odds(i, a, b, own, sized)``
        pred(i | b) / pred(i | a), linear scale, may be 0 or inf. `own` is a or b where item i is counted in that
        cluster (its contribution is excluded), else -1.
        With `sized`, times the prior's weights alloc[size b] / alloc[size a].
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

    def __cinit__(self, *args, **kwargs):
        self.conjugate = True
        self.version = 1
        self.auxiliaries = 1
        self.concentration = NAN

    cdef int _allocate(self, Py_ssize_t n_items, Py_ssize_t kmax) except -1:
        """Memory of the state of `n_items` items; called once by a model's constructor."""
        self.N = n_items
        self.kmax = kmax
        self.z = ints(n_items)
        self.after = ints(n_items)
        self.before = ints(n_items)
        if not self.weighted:
            self.alloc = doubles(n_items + 2)
            self.scan_table = doubles(n_items + 2)
        self._reserve(1)
        return 0

    def __dealloc__(self):
        free(self.z)
        free(self.size)
        free(self.head)
        free(self.after)
        free(self.before)
        free(self.ll)
        free(self.known)
        free(self.numbers)
        free(self.alloc)
        free(self.scan_table)
        free(self.W)
        free(self.w)
        free(self.log_beta)

    # -- what a model supplies
    cdef int grow(self, Py_ssize_t cap) except -1:
        """Make room for `cap` columns of statistics, keeping those of the present ``self.cap``."""
        raise RuntimeError(f"{type(self).__name__} supplies no statistics")

    cdef void clear(self, Py_ssize_t k) noexcept nogil:
        pass

    cdef void add(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        pass

    cdef void remove(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        pass

    cdef void copy(self, Py_ssize_t src, Py_ssize_t dst) noexcept nogil:
        pass

    cdef void absorb(self, Py_ssize_t dst, Py_ssize_t src) noexcept nogil:
        pass

    cdef double log_pred(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        return NAN

    cdef double cluster_log_lik(self, Py_ssize_t k) noexcept nogil:
        return NAN

    cdef double log_union(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        return NAN

    cdef double log_prior(self, const int32_t *sizes, Py_ssize_t m, Py_ssize_t K) noexcept nogil:
        return NAN

    # -- what a model whose clusters have a place among the vectors may supply beside it
    cdef void locate(self, Py_ssize_t k, double *mean) noexcept nogil:
        """mean[:D]: posterior mean of the mean of cluster k, in the units of ``vectors``."""
        pass

    cdef double log_plug_in(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        """Log density of item i with the parameters of cluster k put at their estimates."""
        return NAN

    # -- what a model whose clusters have weights, which groups of items share, supplies beside it (HDP)
    cdef bint divide(self, Rng rng, Py_ssize_t c, Py_ssize_t a, double p, double q) noexcept nogil:
        """Give scratch columns a and a + 1 the shares u and 1 - u of the weight of cluster c, u ~ Beta(p, q); False if
        one of them got nothing. Does nothing, True, where clusters have no weights."""
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
        """Log prior of the partition given the weights, as paper 002 prints it (equation 11)."""
        return NAN

    # -- what a coupled model, in which the likelihood of a cluster depends on the others, supplies beside it
    cdef void stage(self, const int32_t *clusters, Py_ssize_t m, Py_ssize_t first, Py_ssize_t n) noexcept nogil:
        """Make n scratch columns from `first` on empty clusters that stand in the place of these m live ones (which may
        name one twice), until the next ``stage``, ``begin_scan`` or change of the state."""
        cdef Py_ssize_t s
        for s in range(n):
            self.scratch(first + s)

    cdef double log_pair_lik(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """Log marginal likelihood of clusters a and b as one, by itself: as ``lik`` counts it."""
        return self.log_union(a, b)

    # -- what a model that is not conjugate supplies beside it: the parameters of a cluster are copied with its
    # statistics by `copy`, and are left alone by `clear`, `add`, `remove` and `absorb`
    cdef void draw_parameters(self, Rng rng, Py_ssize_t k) noexcept nogil:
        """Parameters of column k, from their prior."""
        pass

    cdef void copy_parameters(self, Py_ssize_t src, Py_ssize_t dst) noexcept nogil:
        pass

    cdef Py_ssize_t refresh_parameters(self, Rng rng) noexcept nogil:
        """Update the parameters of every cluster given its items; returns how many clusters changed theirs."""
        return 0

    cdef void resample_concentration(self, Rng rng) noexcept nogil:
        pass

    cdef void traced(self, double *out) noexcept nogil:
        """Present values of ``hyperparameters``."""
        if self.random_concentration:
            out[0] = self.concentration

    cdef double log_extra(self) noexcept nogil:
        """log density of parameters and of a random concentration: what `log_prior` leaves out, since moves of the
        partition draw parameters from their prior and keep the concentration."""
        return 0.0

    # -- defaults, slow but right, that a model may override
    cdef double log_weight(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        """log of the prior's weight of item i, which is not counted in it, in column k."""
        return log(self.alloc[self.size[k]])

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

    cdef Py_ssize_t sweep(self, Rng rng, Py_ssize_t first, Py_ssize_t n) except -1 nogil:
        """Gibbs updates of items first, ..., first + n - 1 in turn; returns how many changed their cluster."""
        cdef Py_ssize_t i, k, changed = 0
        self.begin_scan()
        for i in range(first, first + n):
            if rng.halted:
                break
            self.scan(i)
            k = rng.draw_categorical(self.w, self.options())
            if k != self.z[i]:
                self.move(i, k)
                changed += 1
        return changed

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

    cdef double log_lik(self, const int32_t *ks, Py_ssize_t m) noexcept nogil:
        """Every likelihood term that touches these clusters, counted once."""
        cdef Py_ssize_t t
        cdef double total = 0.0
        for t in range(m):
            total += self.lik(ks[t])
        return total

    # -- room
    cdef int reserve(self, Py_ssize_t clusters) except -1 nogil:
        """Make sure of columns for this many live clusters and three scratch ones."""
        if clusters + 3 > self.cap:
            with gil:
                self._reserve(clusters)
        return 0

    cdef int _reserve(self, Py_ssize_t clusters) except -1:
        cdef Py_ssize_t cap = self.cap if self.cap else 8, old = self.cap, k
        while clusters + 3 > cap:
            cap *= 2
        if cap == self.cap:
            return 0
        self.grow(cap)
        self.size = <int32_t *> larger(self.size, old * 4, cap * 4)
        self.head = <int32_t *> larger(self.head, old * 4, cap * 4)
        self.ll = <double *> larger(self.ll, old * 8, cap * 8)
        self.known = <int8_t *> larger(self.known, old, cap)
        self.numbers = <int32_t *> larger(self.numbers, old * 4, cap * 4)
        self.W = <double *> larger(self.W, old * 8, cap * 8)
        self.w = <double *> larger(self.w, old * 8, cap * 8)
        for k in range(old, cap):
            self.head[k] = -1
            self.numbers[k] = <int32_t> k
        self.cap = cap
        return 0

    # -- membership
    cdef void link(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        cdef int32_t first = self.head[k]
        self.z[i] = <int32_t> k
        self.before[i] = -1
        self.after[i] = first
        if first >= 0:
            self.before[first] = <int32_t> i
        self.head[k] = <int32_t> i

    cdef void unlink(self, Py_ssize_t i) noexcept nogil:
        cdef int32_t prev = self.before[i], then = self.after[i]
        if prev >= 0:
            self.after[prev] = then
        else:
            self.head[self.z[i]] = then
        if then >= 0:
            self.before[then] = prev

    cdef Py_ssize_t members(self, Py_ssize_t a, Py_ssize_t b, int32_t *items) noexcept nogil:
        """Items of clusters a and b (the same twice for one cluster), in item order; returns how many."""
        cdef Py_ssize_t i, n = self.size[a], bits = 1
        cdef int32_t k
        if b != a:
            n += self.size[b]
        while (1 << bits) < n:
            bits += 1
        if 8 * n * bits >= self.N:
            # One pass over all labels; the position is written whether it stays or not, so the loop does not branch.
            # It stops at the last member, before it could write past the items of the two clusters.
            bits = 0
            i = 0
            while bits < n:
                items[bits] = <int32_t> i
                bits += (self.z[i] == a) | (self.z[i] == b)
                i += 1
            return n
        n = 0
        k = self.head[a]
        while k >= 0:
            items[n] = k
            n += 1
            k = self.after[k]
        if b != a:
            k = self.head[b]
            while k >= 0:
                items[n] = k
                n += 1
                k = self.after[k]
        qsort(items, n, sizeof(int32_t), compare_ints)
        return n

    # -- changes of the state
    cdef void take_out(self, Py_ssize_t i) noexcept nogil:
        """Take item i out of the partition: it is not placed, z[i] = -1, until ``put``. Its cluster may become
        empty."""
        cdef Py_ssize_t k = self.z[i]
        self.leave(i, k)
        self.unlink(i)
        self.z[i] = -1
        self.price(k)
        self.version += 1

    cdef void put(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        """Put item i, which is not placed, into live cluster k."""
        self.join(i, k)
        self.link(i, k)
        self.price(k)
        self.version += 1

    cdef int reset(self, const int32_t *labels, Py_ssize_t K) except -1 nogil:
        """Make this the partition and count all statistics afresh."""
        cdef Py_ssize_t i, k, columns = max(K, self.K)
        self.reserve(K)
        self.K = K
        memset(self.W, 0, self.cap * sizeof(double))
        memset(self.z, 255, self.N * sizeof(int32_t))
        for k in range(columns):
            self.scratch(k)
            self.head[k] = -1
        for i in range(self.N):
            self.join(i, labels[i])
            self.link(i, labels[i])
        self.begin_scan()
        self.version += 1
        return 0

    cdef void begin_scan(self) noexcept nogil:
        """Make ready for ``scan``: an empty column behind the clusters, and the prior weights of all options.

        W[k] is 0 for every k > K at any time, so a scan may run over whole blocks of eight columns.
        """
        cdef Py_ssize_t k
        if not self.allows_empty:
            self.scratch(self.K)
        for k in range(self.K):
            self.price(k)
        self.W[self.K] = self.fresh()

    cdef int move(self, Py_ssize_t i, Py_ssize_t k) except -1 nogil:
        """Put item i into cluster k; k = K opens a new one. Without empty clusters an emptied cluster is deleted."""
        cdef Py_ssize_t old = self.z[i]
        if k == self.K:
            self.append_empty()
        self.leave(i, old)
        self.unlink(i)
        self.join(i, k)
        self.link(i, k)
        self.price(old)
        self.price(k)
        self.version += 1
        if self.size[old] == 0 and not self.allows_empty:
            self.delete(old)
        return 0

    cdef int append_empty(self) except -1 nogil:
        """One more cluster, with no items, behind the others."""
        self.reserve(self.K + 1)
        self.scratch(self.K)
        self.head[self.K] = -1
        self.K += 1
        self.price(self.K - 1)
        # The column behind is the next "new cluster" of a scan that is under way.
        self.scratch(self.K)
        self.W[self.K] = self.fresh()
        self.version += 1
        return 0

    cdef void delete(self, Py_ssize_t k) noexcept nogil:
        """Delete cluster k, which has no members; the last cluster takes its number."""
        cdef Py_ssize_t last = self.K - 1
        cdef int32_t i
        if k != last:
            self.copy(last, k)
            self.size[k] = self.size[last]
            self.ll[k] = self.ll[last]
            self.known[k] = self.known[last]
            self.W[k] = self.W[last]
            self.head[k] = self.head[last]
            i = self.head[k]
            while i >= 0:
                self.z[i] = <int32_t> k
                i = self.after[i]
        self.W[self.K] = 0.0
        self.K = last
        self.head[last] = -1
        self.scratch(last)
        self.W[last] = self.fresh()
        self.version += 1

    cdef int commit_split(self, Py_ssize_t c, const int32_t *to_b, Py_ssize_t n) except -1 nogil:
        """Put scratch column K (side A) in the place of cluster c; scratch column K + 1 (side B), which holds the n
        items `to_b`, becomes cluster K.
        """
        cdef Py_ssize_t a = self.K, t
        self.reserve(self.K + 1)
        self.copy(a, c)
        self.copy(a + 1, a)
        self.size[c] = self.size[a]
        self.size[a] = self.size[a + 1]
        self.ll[c] = self.ll[a]
        self.known[c] = self.known[a]
        self.ll[a] = self.ll[a + 1]
        self.known[a] = self.known[a + 1]
        self.head[a] = -1
        self.K += 1
        for t in range(n):
            self.unlink(to_b[t])
            self.link(to_b[t], a)
        self.version += 1
        return 0

    cdef void commit_merge(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """Clusters i and j become one, numbered min(i, j), with the parameters of j."""
        cdef Py_ssize_t keep = i if i < j else j, gone = j if i < j else i
        cdef int32_t t
        if not self.conjugate:
            self.copy_parameters(j, keep)
        self.absorb(keep, gone)
        self.size[keep] += self.size[gone]
        self.known[keep] = False
        while self.head[gone] >= 0:
            t = self.head[gone]
            self.unlink(t)
            self.link(t, keep)
        self.delete(gone)

    cdef int commit_sides(self, const int32_t *clusters, Py_ssize_t m, const int32_t *items, const int8_t *side,
                          Py_ssize_t n) except -1 nogil:
        """Scratch columns K, ..., K + m - 1 take the place of these m clusters, the last of which may be K (a new one);
        items[t] goes to clusters[side[t]].
        """
        cdef Py_ssize_t t, s, k, scratch = self.K
        self.reserve(self.K + 1)
        for s in range(m):
            k = clusters[s]
            if k == scratch:
                self.K += 1
                self.head[k] = -1
            self.copy(scratch + s, k)
            self.size[k] = self.size[scratch + s]
            self.ll[k] = self.ll[scratch + s]
            self.known[k] = self.known[scratch + s]
        for t in range(n):
            self.unlink(items[t])
            self.link(items[t], clusters[side[t]])
        self.version += 1
        return 0

    # -- Python side
    @classmethod
    def from_data(cls, data, **params):
        """The model of a Dataset.

        Parameters
        ----------
        data : Dataset
            Its ``kind`` must be this class's ``kind``.
        **params
            Passed to the constructor.

        Raises
        ------
        ValueError
            When the kind differs or a parameter is out of range; the message names the key.
        """
        if data.kind != cls.kind:
            raise ValueError(f"model {cls.__name__} takes {cls.kind} data, the data set {data.name} is {data.kind}")
        return cls(data.values, **params)

    @property
    def n_clusters(self):
        """int: clusters that hold items."""
        cdef Py_ssize_t k, n = 0
        for k in range(self.K):
            n += self.size[k] > 0
        return n

    @property
    def labels(self):
        """ndarray of int32, shape (N,): cluster number of each item, a copy."""
        out = np.empty(self.N, dtype=np.int32)
        cdef int32_t[::1] v = out
        memcpy(&v[0], self.z, self.N * sizeof(int32_t))
        return out

    @property
    def sizes(self):
        """ndarray of int32, shape (K,): items in each cluster, a copy."""
        out = np.empty(self.K, dtype=np.int32)
        cdef int32_t[::1] v = out
        memcpy(&v[0], self.size, self.K * sizeof(int32_t))
        return out

    def set_labels(self, labels, K=None):
        """Set the partition and count all statistics afresh.

        Parameters
        ----------
        labels : array_like of int, shape (N,)
            Cluster numbers from 0. Numbers that no item has are closed up, except where the model keeps empty clusters.
        K : int, optional
            Number of clusters, the empty ones included (models that keep them); default: the largest number plus one.

        Raises
        ------
        ValueError
            For a wrong length, a negative number, or more clusters than ``kmax``.
        """
        given = np.asarray(labels)
        if given.shape != (self.N,) or not np.issubdtype(given.dtype, np.integer):
            raise ValueError(f"labels: expected {self.N} integers, got shape {given.shape} of {given.dtype}")
        if given.min() < 0:
            raise ValueError("labels: a cluster number is negative")
        if not self.allows_empty:
            if K is not None and K != len(np.unique(given)):
                raise ValueError(
                    f"K: this model keeps no empty clusters, the labels have {len(np.unique(given))} clusters, not {K}"
                )
            if int(given.max()) + 1 != len(np.unique(given)):
                given = np.unique(given, return_inverse=True)[1]
        count = int(given.max()) + 1
        if K is not None:
            if isinstance(K, bool) or not isinstance(K, (int, np.integer)):
                raise ValueError(f"K: expected a whole number, got {K!r}")
            if K < count:
                raise ValueError(f"K: {K} clusters, but the labels use {count}")
            count = K
        if count > self.kmax:
            raise ValueError(f"K: {count} clusters, but the model allows at most {self.kmax}")
        cdef int32_t[::1] v = np.ascontiguousarray(given, dtype=np.int32)
        self.reset(&v[0], count)

    def prior_labels(self, generator):
        """A draw from the prior, where the model offers one: (labels, K), ndarray of int32 of shape (N,) and int."""
        raise ValueError(f"model {type(self).__name__} offers no draw from its prior")

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
        """bool: whether the state holds more than the partition: parameters, or a random concentration."""
        return not self.conjugate or self.random_concentration or self.weighted

    @property
    def hyperparameters(self):
        """tuple of str: names of those that are resampled, in the order of ``traced``."""
        return ("concentration",) if self.random_concentration else ()

    @property
    def parameters(self):
        """ndarray of float64, shape (K, P): the parameters of every cluster, a copy; None where they are integrated
        out."""
        return None

    def set_parameters(self, values):
        """Set the parameters of every cluster, ndarray of shape (K, P)."""
        raise ValueError(f"model {type(self).__name__} keeps no parameters")

    def set_concentration(self, double value):
        """Set the present concentration."""
        raise ValueError(f"model {type(self).__name__} has no concentration")

    def start_parameters(self, Rng rng not None):
        """Draw the parameters of every cluster given its items: the start of a chain."""

    # For tests: the pieces that samplers use, one call each.
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

    def _sweep(self, Rng rng, Py_ssize_t first, Py_ssize_t n):
        return self.sweep(rng, first, n)

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


# --------------------------------------------------------------------------------------------------------- sampler

# of what a stored state may hold
MOST_COUNT = 1 << 62
MOST_SECONDS = 1e100


cdef class Sampler:
    """One kind of move on the state of a model.

    A sampler in a file of its own names its MOVES and the TERMS of its log ratio, and writes ``make_step``: propose,
    sum the terms, ``decide``, and commit what was accepted.

    Parameters
    ----------
    model : Model
    rng : Rng
    mode : {'exact', 'literal'}
        `exact` is proved reversible; `literal` counts as the paper prints it, where that differs (the term
        LITERAL_TERM).
    """

    MOVES = ()
    TERMS = ()
    LITERAL_TERM = None
    NEEDS_CONJUGATE = True
    """Whether it needs a model whose parameters are integrated out."""
    DIVIDES_WEIGHTS = False
    """Whether it serves a model whose clusters have weights: a split divides one, a merge adds two."""

    def __cinit__(self, *args, **kwargs):
        cdef int t
        for t in range(MAX_TERMS):
            self.on[t] = True
        self.scans = 1
        self.last_log_ratio = NAN
        if len(self.MOVES) > MAX_MOVES or len(self.TERMS) > MAX_TERMS:
            raise RuntimeError("more moves or terms than the base class has room for")

    def __init__(self, Model model not None, Rng rng not None, str mode="exact"):
        if mode not in ("exact", "literal"):
            raise ValueError(f"sampler.mode: expected exact or literal, got {mode!r}")
        able, reason = self.supports(model)
        if not able:
            raise ValueError(f"sampler {type(self).__name__}: {reason}")
        self.model = model
        self.rng = rng
        self.mode = mode
        if self.LITERAL_TERM is not None and mode == "exact":
            self.omit(self.LITERAL_TERM)

    @classmethod
    def supports(cls, model):
        """Whether this sampler can serve the model: (bool, reason)."""
        if cls.NEEDS_CONJUGATE and not model.conjugate:
            return False, ("it needs the parameters integrated out (model.conjugate=true); "
                           "neal8, dyadic, sams, triadic and lshsm do without")
        if model.weighted and not cls.DIVIDES_WEIGHTS:
            return False, ("topics have weights, and no density of the weights that its moves would need was derived; "
                           "gibbs, smag, dyadic, sams, rgsm, sdds and ss serve them")
        return True, ""

    cdef int make_step(self) except -1 nogil:
        return 0

    cdef int null(self) noexcept nogil:
        """The move is void: the state stays and nothing is drawn."""
        self.void_moves[self.move] += 1
        self.last_log_ratio = NAN
        return 0

    def step(self):
        """Make one step."""
        self.make_step()

    def omit(self, *terms):
        """Leave these terms out of the log ratio: a mutant, for tests that must fail."""
        for name in terms:
            self.on[self.TERMS.index(name)] = False

    @property
    def last_move(self):
        """str: name of the last move."""
        return self.MOVES[self.move]

    def counts(self):
        """list of dict: move, proposed, accepted, null, seconds, since the sampler was made."""
        return [
            {"move": name, "proposed": self.proposed[t], "accepted": self.accepted[t], "null": self.void_moves[t],
             "seconds": self.seconds[t]}
            for t, name in enumerate(self.MOVES)
        ]

    def tally(self):
        """dict of dict of int: what this sampler counted beside its moves; empty for most."""
        return {}

    def set_tally(self, tally):
        """Take up what ``tally`` gave, to go on with a chain."""

    def set_counts(self, rows):
        """Take up counts that ``counts`` gave, to go on with a chain.

        Raises
        ------
        ValueError
            They are not those of this sampler's moves.
        """
        if not isinstance(rows, (list, tuple)) or len(rows) != len(self.MOVES):
            raise ValueError(f"counts: expected a row for each of {', '.join(self.MOVES)}")
        for row, move in zip(rows, self.MOVES):
            if not isinstance(row, dict) or row.keys() != {"move", "proposed", "accepted", "null", "seconds"}:
                raise ValueError(f"counts of {move}: expected move, proposed, accepted, null and seconds")
            if row["move"] != move:
                raise ValueError(f"counts of {row['move']} given for {move}")
            for name in ("proposed", "accepted", "null"):
                check_count(f"counts of {move}: {name}", row[name], 0, MOST_COUNT)
            check_range(f"counts of {move}: seconds", row["seconds"], 0.0, MOST_SECONDS)
        for t, row in enumerate(rows):
            self.proposed[t] = row["proposed"]
            self.accepted[t] = row["accepted"]
            self.void_moves[t] = row["null"]
            self.seconds[t] = row["seconds"]


cdef class PythonSampler(Sampler):
    """A sampler written in Python, to try out a move before it is compiled: slow, but verified and run like any other.

    A subclass names MOVES and TERMS and defines ``python_step``, which calls ``begin`` with the move's name and then
    either ``void`` or ``accepts`` with the log ratio; all random choices go through ``self.rng``.
    """

    cdef int make_step(self) except -1 nogil:
        with gil:
            self.python_step()
        return 0

    def python_step(self):
        """Make one step: the subclass's own."""
        raise TypeError(f"{type(self).__name__} defines no python_step")

    def begin(self, str move):
        """Start a move of this name."""
        self.propose(self.MOVES.index(move))

    def accepts(self, double log_ratio):
        """Whether the proposal is accepted; a refused one must be undone by the caller."""
        return bool(self.decide(log_ratio))

    def void(self):
        """The move is void: the state stays."""
        self.null()


cdef class SplitMerge(Sampler):
    """What all split-merge moves share: the target's ratio, allocation to two sides, and the commit.

    Memory: 5 bytes an item.

    The term `labels` is the one in which the paper's count of labels differs from the model's (docs/decisions/0002): it
    multiplies a split from K clusters by 2/(K+1) where empty clusters are kept, by 2 where not.
    """

    TERMS = ("target", "labels")
    LITERAL_TERM = "labels"

    def __init__(self, Model model not None, Rng rng not None, str mode="exact"):
        super().__init__(model, rng, mode)
        self.items = ints(model.N)
        self.in_a = flags(model.N)
        self._need(8)

    def __dealloc__(self):
        free(self.items)
        free(self.in_a)
        free(self.lw)

    cdef int need(self, Py_ssize_t clusters) except -1 nogil:
        """Room for the log weights of this many clusters, and columns for them in the model."""
        if 2 * clusters + 8 > self.lw_room:
            with gil:
                self._need(clusters)
        return self.model.reserve(clusters)

    cdef int _need(self, Py_ssize_t clusters) except -1:
        self.lw = <double *> larger(self.lw, self.lw_room * 8, 2 * (2 * clusters + 8) * 8)
        self.lw_room = 2 * (2 * clusters + 8)
        return 0

    cdef void stage_two(self, Py_ssize_t ci, Py_ssize_t cj) noexcept nogil:
        """Two empty sides, scratch columns K and K + 1, in the place of these clusters (or of one, named twice)."""
        cdef int32_t[2] old
        old[0], old[1] = <int32_t> ci, <int32_t> cj
        self.model.stage(old, 2, self.model.K, 2)

    cdef double log_label_term(self, Py_ssize_t K) noexcept nogil:
        """log c(K) of a split from K clusters in literal mode."""
        return log(2.0 / (K + 1)) if self.model.allows_empty else log(2.0)

    cdef double log_orders(self, Py_ssize_t clusters) noexcept nogil:
        """log of the labellings of a split state over those of the merged one, where empty clusters are kept; else
        0."""
        return log(<double> clusters) if self.model.allows_empty else 0.0

    cdef double log_split_ratio(self, Py_ssize_t c, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """log pi'/pi of putting scratch columns a, b in the place of cluster c, whose weight, where it has one, they
        share uniformly at random."""
        if not self.model.divide(self.rng, c, a, 1.0, 1.0):
            return -INFINITY
        return self.log_divided_ratio(c, a, b)

    cdef double log_divided_ratio(self, Py_ssize_t c, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """log pi'/pi of putting scratch columns a, b with the weights that they have in the place of cluster c."""
        cdef int32_t old = <int32_t> c
        cdef int32_t new[2]
        new[0] = <int32_t> a
        new[1] = <int32_t> b
        return self.model.log_lik(new, 2) - self.model.log_lik(&old, 1) + self.model.log_split_prior(c, a, b)

    cdef double log_merge_ratio(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """log pi'/pi of making clusters i and j one."""
        cdef int32_t old[2]
        old[0] = <int32_t> i
        old[1] = <int32_t> j
        return self.model.log_union(i, j) - self.model.log_lik(old, 2) + self.model.log_merge_prior(i, j)

    cdef double allocate(self, Py_ssize_t n, Py_ssize_t a, Py_ssize_t b, bint forced, bint sized) noexcept nogil:
        """Put items[:n], in order, into columns a and b by their predictive given those already there.

        `forced`: follow in_a, draw nothing; else in_a is drawn. `sized`: the prior's weights count too. Returns the log
        probability of the sides taken.
        """
        cdef Py_ssize_t t, i
        cdef double o, p, product = 1.0, total = 0.0
        cdef double side[2]
        for t in range(n):
            i = self.items[t]
            o = self.model.odds(i, a, b, -1, sized)
            side[1] = 1.0 / (1.0 + o)
            side[0] = o * side[1] if o < 1e300 else 1.0
            if not forced:
                self.in_a[t] = self.rng.draw_coin(side[1])
            p = side[self.in_a[t]]
            if p < 1e-280:
                # Off the range of a double: p is the odds themselves.
                total -= fabs(self.model.log_odds(i, a, b, -1, sized))
            else:
                product *= p
                if product < 1e-20:
                    total += log(product)
                    product = 1.0
            self.model.join(i, a if self.in_a[t] else b)
        return total + log(product)

    cdef double restricted_scan(self, Py_ssize_t n, Py_ssize_t a, Py_ssize_t b, const int8_t *target,
                                bint scored) noexcept nogil:
        """One restricted Gibbs scan of items[:n] over columns a and b, which hold them already.

        `target`: sides to force (draws nothing), or NULL. Returns the log probability of the sides taken when `scored`,
        else 0.
        """
        cdef Py_ssize_t t, i, own
        cdef bint to_a
        cdef double o, p, product = 1.0, total = 0.0
        cdef double side[2]
        for t in range(n):
            if self.rng.halted:
                break
            i = self.items[t]
            own = a if self.in_a[t] else b
            o = self.model.odds(i, a, b, own, True)
            side[1] = 1.0 / (1.0 + o)
            to_a = self.rng.draw_coin(side[1]) if target == NULL else target[t]
            if scored:
                side[0] = o * side[1] if o < 1e300 else 1.0
                p = side[to_a]
                if p < 1e-280:
                    total -= fabs(self.model.log_odds(i, a, b, own, True))
                else:
                    product *= p
                    if product < 1e-20:
                        total += log(product)
                        product = 1.0
            if to_a != self.in_a[t]:
                self.model.leave(i, own)
                self.model.join(i, a if to_a else b)
                self.in_a[t] = to_a
        return total + log(product)

    cdef int accept_split(self, Py_ssize_t c, Py_ssize_t n, Py_ssize_t extra) except -1 nogil:
        """Commit the split of cluster c by in_a[:n]; `extra` is one more item of side B, or -1."""
        cdef Py_ssize_t t, k = 0
        for t in range(n):
            if not self.in_a[t]:
                self.items[k] = self.items[t]
                k += 1
        if extra >= 0:
            self.items[k] = <int32_t> extra
            k += 1
        return self.model.commit_split(c, self.items, k)
