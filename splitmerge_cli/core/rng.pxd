# What a sampler or a model may ask of a generator. See docs/design.md.
cimport cython
from libc.math cimport exp, log
from libc.stdint cimport int32_t, uint32_t, uint64_t

from splitmerge_cli.core.recording cimport (
    BETA, DECISION, GAMMA, GAMMA_OF, LOG_NORMAL, NAMED, NORMAL, NORMAL_OF, OF_ITEM, PLAIN, Recording, draw_t,
)


# declared here, since numpy's .pxd declares all of numpy: Cython would read it once for each module
cdef extern from "numpy/random/bitgen.h":
    ctypedef struct bitgen_t:
        void *state
        uint64_t (*next_uint64)(void *state) noexcept nogil
        uint32_t (*next_uint32)(void *state) noexcept nogil
        double (*next_double)(void *state) noexcept nogil
        uint64_t (*next_raw)(void *state) noexcept nogil


cdef extern from "numpy/random/distributions.h":
    double random_beta(bitgen_t *generator, double a, double b) noexcept nogil
    double random_standard_gamma(bitgen_t *generator, double shape) noexcept nogil
    double random_standard_normal(bitgen_t *generator) noexcept nogil


cdef extern from *:
    """
    /* What one thread sets while others read it. */
    typedef _Atomic(int) flag_t;"""
    ctypedef bint flag_t


cdef enum:
    FEW = 16                            # options of a draw that is made without a branch


cdef enum:                              # what a generator does for two chains that are coupled
    ALONE                               # nothing: its chain is not
    LEAD                                # its draws are recorded
    FOLLOW                              # its draws are coupled with those recorded


@cython.final
cdef class Rng:
    cdef readonly object bit_generator  # the NumPy PCG64DXSM whose stream this is
    cdef bitgen_t *bg                   # its C interface
    cdef bint directed                  # scripted, or coupled: draws take the slow path
    cdef bint scripted                  # choices follow a script in place of the stream (verify)
    cdef bint always_accept             # scripted only: accept() says yes and adds no factor: proposals alone
    cdef double path                    # scripted: probability of the choices made since script_begin
    cdef Py_ssize_t depth, length, room  # scripted: choices made; choices known; size of the two arrays
    cdef int32_t *choice                # scripted: the option taken at each depth
    cdef int32_t *following             # scripted: the next option of positive probability, or -1
    cdef bint continuous                # scripted: a draw was made that has no list of options
    cdef bint threshold_drawn           # the decision under way has passed an upper bound of its log ratio
    cdef double threshold               # log u of that decision; scripted: the bound that it passed
    cdef readonly flag_t is_halted      # long scans end at once; the state that they leave is thrown away
    cdef int role                       # ALONE, LEAD or FOLLOW
    cdef Recording recording            # of the step of the chain that leads; None if chains are not coupled
    cdef double low, high               # of chains that are coupled: between them lies the u of the decision under way
    cdef Py_ssize_t decision            # where it is recorded
    cdef double *residual               # scratch of a coupled draw
    cdef Py_ssize_t residual_room

    cdef Py_ssize_t scripted_choice(self, const double *w, Py_ssize_t m, double total) noexcept nogil
    cdef Py_ssize_t own_choice(self, const double *w, Py_ssize_t m, double total) noexcept nogil
    cdef Py_ssize_t directed_choice(self, int kind, Py_ssize_t key, const double *w, Py_ssize_t m, double total,
                                    const int32_t *names) noexcept nogil
    cdef Py_ssize_t coupled_choice(self, const draw_t *r, const double *w, Py_ssize_t m, double total,
                                   const int32_t *names) noexcept nogil
    cdef void make_room(self, Py_ssize_t m) noexcept nogil
    cdef Py_ssize_t another_cluster(self, Py_ssize_t K, const int32_t *names, Py_ssize_t i) noexcept nogil
    cdef bint coupled_decision(self, double log_r, bint last) noexcept nogil
    cdef void take_role(self, int role) noexcept nogil
    cdef double own_value(self, int kind, double a, double b) noexcept nogil
    cdef double directed_value(self, int kind, double a, double b) noexcept nogil
    cdef void directed_order(self, const int32_t *items, Py_ssize_t n, int32_t *order) noexcept nogil
    cdef void begin_clusters(self, const int32_t *names, Py_ssize_t K) noexcept nogil
    cdef Py_ssize_t named_cluster(self, const int32_t *names, Py_ssize_t t) noexcept nogil
    cdef void end_clusters(self) noexcept nogil
    cdef Py_ssize_t part(self) noexcept nogil

    @cython.final
    cdef inline double next(self) noexcept nogil:
        return self.bg.next_double(self.bg.state)

    @cython.final
    cdef inline double draw_normal(self) noexcept nogil:
        """Standard normal."""
        if self.directed:
            return self.directed_value(NORMAL, 0.0, 0.0)
        return random_standard_normal(self.bg)

    @cython.final
    cdef inline double draw_gamma(self, double shape) noexcept nogil:
        """Gamma of this shape and scale 1."""
        if self.directed:
            return self.directed_value(GAMMA, shape, 0.0)
        return random_standard_gamma(self.bg, shape)

    @cython.final
    cdef inline double draw_log_gamma(self, double shape) noexcept nogil:
        """log of a gamma draw with this shape and scale 1, however small the shape (Marsaglia and Tsang 2000, section
        6)."""
        if shape >= 1.0:
            return log(self.draw_gamma(shape))
        return log(self.draw_gamma(shape + 1.0)) - self.draw_gamma(1.0) / shape

    @cython.final
    cdef inline double draw_beta(self, double a, double b) noexcept nogil:
        if self.directed:
            return self.directed_value(BETA, a, b)
        return random_beta(self.bg, a, b)

    @cython.final
    cdef inline double draw_gamma_of(self, double shape, double rate) noexcept nogil:
        """Gamma of this shape and rate: of chains that are coupled, the value itself is."""
        if self.directed:
            return self.directed_value(GAMMA_OF, shape, rate)
        return random_standard_gamma(self.bg, shape) / rate

    @cython.final
    cdef inline double draw_normal_of(self, double at, double shift, double s, double root) noexcept nogil:
        """Normal of mean `at` + `shift` and standard deviation `s` / `root`, summed up in that order."""
        if self.directed:
            return self.directed_value(NORMAL_OF, at + shift, s / root)
        return at + (s * random_standard_normal(self.bg) / root + shift)

    @cython.final
    cdef inline double draw_log_normal(self, double median, double s, double root) noexcept nogil:
        """Log-normal with this median; its logarithm has the standard deviation `s` / `root`."""
        if self.directed:
            return self.directed_value(LOG_NORMAL, median, s / root)
        return median * exp(s * random_standard_normal(self.bg) / root)

    @cython.final
    cdef inline Py_ssize_t draw_index(self, Py_ssize_t n) noexcept nogil:
        """Uniform on 0..n-1."""
        if self.directed:
            return self.directed_choice(PLAIN, -1, NULL, n, <double> n, NULL)
        return <Py_ssize_t> (self.next() * n)

    @cython.final
    cdef inline void draw_two(self, Py_ssize_t n, Py_ssize_t *i, Py_ssize_t *j) noexcept nogil:
        """Two different ones of 0..n-1, every ordered pair as likely as another; n at least 2."""
        i[0] = self.draw_index(n)
        j[0] = self.draw_index(n - 1)
        j[0] += j[0] >= i[0]

    @cython.final
    cdef inline bint draw_coin(self, double p) noexcept nogil:
        """True with probability p."""
        return self.draw_coin_of(-1, p)

    @cython.final
    cdef inline bint draw_coin_of(self, Py_ssize_t item, double p) noexcept nogil:
        """True with probability p, for an item of the block that is open."""
        cdef double w[2]
        if self.directed:
            w[0] = p
            w[1] = 1.0 - p
            return self.directed_choice(PLAIN if item < 0 else OF_ITEM, item, w, 2, 1.0, NULL) == 0
        return self.next() < p

    @cython.final
    cdef inline bint draw_bound(self, double log_bound) noexcept nogil:
        """First stages of a Metropolis-Hastings decision: whether the proposal survives this upper bound of its log
        ratio, which may be called again with ever lower bounds; ``draw_accept`` makes the last stage. u < r decides;
        since r <= bound, u >= bound rejects early. It is one draw for all stages. Scripted, a stage is a choice of
        probability bound / the bound before: the same distribution, by the same code."""
        cdef double before = 0.0
        if (self.scripted and self.always_accept) or not log_bound < -1e-12:
            return True
        if self.role != ALONE:
            return self.coupled_decision(log_bound, False)
        if self.scripted:
            if self.threshold_drawn:
                before = self.threshold
            self.threshold_drawn = log_bound >= before or self.draw_coin(exp(log_bound - before))
            self.threshold = log_bound if log_bound < before else before
            return self.threshold_drawn
        if not self.threshold_drawn:
            self.threshold = log(self.next())
        self.threshold_drawn = self.threshold < log_bound
        return self.threshold_drawn

    @cython.final
    cdef inline bint draw_accept(self, double log_r) noexcept nogil:
        """Metropolis-Hastings decision; a draw only when log_r < 0, and none where ``draw_bound`` made it. False for
        nan. A ratio that is 1 but for rounding counts as 1, so that the stream does not depend on the order of a sum.
        """
        if self.scripted and self.always_accept:
            return True
        if self.role != ALONE:
            return self.coupled_decision(log_r, True)
        if self.threshold_drawn:
            self.threshold_drawn = False
            if not self.scripted:
                return self.threshold < log_r
            return log_r >= self.threshold or self.draw_coin(exp(log_r - self.threshold))
        if log_r >= -1e-12:
            return True
        if self.scripted:
            return self.draw_coin(exp(log_r))
        return self.next() < exp(log_r)

    @cython.final
    cdef inline Py_ssize_t draw_categorical(self, const double *w, Py_ssize_t m) noexcept nogil:
        """Option k with probability w[k] / sum(w); never one of weight 0."""
        return self.draw_option(PLAIN, -1, w, m, NULL)

    @cython.final
    cdef inline Py_ssize_t draw_option(self, int kind, Py_ssize_t key, const double *w, Py_ssize_t m,
                                       const int32_t *names) noexcept nogil:
        """The same: where chains are coupled, a draw of this kind, among options of these names."""
        cdef Py_ssize_t k, passed = 0
        cdef double total = 0.0, c = 0.0, u
        for k in range(m):
            total += w[k]
        if self.directed:
            return self.directed_choice(kind, key, w, m, total, names)
        u = self.next() * total
        if m <= FEW:
            # No early end: a unpredictable branch costs more than the rest of a short row.
            for k in range(m):
                c += w[k]
                passed += not u < c
            if passed < m:
                return passed
        else:
            for k in range(m):
                c += w[k]
                if u < c:
                    return k
        # u rounded up to the total: the last option that has any weight
        k = m - 1
        while k > 0 and not w[k] > 0.0:
            k -= 1
        return k

    @cython.final
    cdef inline Py_ssize_t draw_cluster(self, Py_ssize_t K, const int32_t *names) noexcept nogil:
        """Uniform on 0..K-1, clusters of these names."""
        if self.role != ALONE:
            return self.directed_choice(NAMED, -1, NULL, K, <double> K, names)
        return self.draw_index(K)

    @cython.final
    cdef inline void draw_two_clusters(self, Py_ssize_t K, const int32_t *names, Py_ssize_t *i,
                                       Py_ssize_t *j) noexcept nogil:
        """Two different ones of K clusters of these names, every ordered pair as likely as another."""
        i[0] = self.draw_cluster(K, names)
        j[0] = self.draw_other_cluster(K, names, i[0])

    @cython.final
    cdef inline Py_ssize_t draw_other_cluster(self, Py_ssize_t K, const int32_t *names, Py_ssize_t i) noexcept nogil:
        """Uniform on 0..K-1 but i."""
        cdef Py_ssize_t j
        if self.role != ALONE:
            return self.another_cluster(K, names, i)
        j = self.draw_index(K - 1)
        return j + (j >= i)

    @cython.final
    cdef inline void draw_order(self, const int32_t *items, Py_ssize_t n, int32_t *order) noexcept nogil:
        """A uniform order of n items, as swaps of t = n - 1, ..., 1 with order[t]. Of chains that are coupled, the
        items are read; else they need not be known yet."""
        cdef Py_ssize_t t
        if self.role != ALONE:
            self.directed_order(items, n, order)
            return
        for t in range(n - 1, 0, -1):
            order[t] = <int32_t> self.draw_index(t + 1)

    @cython.final
    cdef inline void begin_items(self, int kind, const int32_t *items, Py_ssize_t n, Py_ssize_t skip) noexcept nogil:
        """A draw for each of these items but `skip` follows, in this order (``draw_coin_of``, ``draw_option``)."""
        if self.role == LEAD:
            self.recording.open_block(kind, items, n, skip)
        elif self.role == FOLLOW:
            self.recording.follow_block(kind)

    @cython.final
    cdef inline void end_items(self) noexcept nogil:
        if self.role == FOLLOW:
            self.recording.close_block()

    @cython.final
    cdef inline Py_ssize_t cluster_in_turn(self, const int32_t *names, Py_ssize_t t) noexcept nogil:
        """Number of the cluster whose draws follow, between ``begin_clusters`` and ``end_clusters``: t, or, of chains
        that are coupled, that which is t-th in the order of names. Its draws may not depend on those for others."""
        return t if self.role == ALONE else self.named_cluster(names, t)
