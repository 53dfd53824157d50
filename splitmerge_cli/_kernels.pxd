# The compiled core: what a sampler may ask of a generator and of a model. See docs/design.md.
cimport cython
from libc.math cimport INFINITY, exp, log, log1p
from libc.stdint cimport int8_t, int32_t, int64_t
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport random_beta, random_standard_gamma, random_standard_normal


cdef enum:
    FEW = 16                            # options of a draw that is made without a branch


@cython.final
cdef class Rng:
    cdef readonly object bit_generator  # the NumPy PCG64DXSM whose stream this is
    cdef bitgen_t *bg                   # its C interface
    cdef bint scripted                  # choices follow a script in place of the stream (verify)
    cdef bint always_accept             # scripted only: accept() says yes and adds no factor: proposals alone
    cdef double path                    # scripted: probability of the choices made since script_begin
    cdef Py_ssize_t depth, length, room  # scripted: choices made; choices known; size of the two arrays
    cdef int32_t *choice                # scripted: the option taken at each depth
    cdef int32_t *following             # scripted: the next option of positive probability, or -1
    cdef bint continuous                # scripted: a draw was made that has no list of options
    cdef readonly bint halted           # long scans end at once; the state that they leave is thrown away

    cdef Py_ssize_t scripted_choice(self, const double *w, Py_ssize_t m, double total) noexcept nogil

    @cython.final
    cdef inline double next(self) noexcept nogil:
        return self.bg.next_double(self.bg.state)

    @cython.final
    cdef inline double draw_normal(self) noexcept nogil:
        """Standard normal."""
        if self.scripted:
            self.continuous = True
            return 0.0
        return random_standard_normal(self.bg)

    @cython.final
    cdef inline double draw_gamma(self, double shape) noexcept nogil:
        """Gamma of this shape and scale 1."""
        if self.scripted:
            self.continuous = True
            return shape
        return random_standard_gamma(self.bg, shape)

    @cython.final
    cdef inline double draw_beta(self, double a, double b) noexcept nogil:
        if self.scripted:
            self.continuous = True
            return a / (a + b)
        return random_beta(self.bg, a, b)

    @cython.final
    cdef inline Py_ssize_t draw_index(self, Py_ssize_t n) noexcept nogil:
        """Uniform on 0..n-1."""
        if self.scripted:
            return self.scripted_choice(NULL, n, <double> n)
        return <Py_ssize_t> (self.next() * n)

    @cython.final
    cdef inline bint draw_coin(self, double p) noexcept nogil:
        """True with probability p."""
        cdef double w[2]
        if self.scripted:
            w[0] = p
            w[1] = 1.0 - p
            return self.scripted_choice(w, 2, 1.0) == 0
        return self.next() < p

    @cython.final
    cdef inline bint draw_accept(self, double log_r) noexcept nogil:
        """Metropolis-Hastings decision; a draw only when log_r < 0. False for nan.

        A ratio that is 1 but for rounding counts as 1, so that the stream does not depend on the order of a sum.
        """
        if self.scripted and self.always_accept:
            return True
        if log_r >= -1e-12:
            return True
        if self.scripted:
            return self.draw_coin(exp(log_r))
        return self.next() < exp(log_r)

    @cython.final
    cdef inline Py_ssize_t draw_categorical(self, const double *w, Py_ssize_t m) noexcept nogil:
        """Option k with probability w[k] / sum(w); never one of weight 0."""
        cdef Py_ssize_t k, passed = 0
        cdef double total = 0.0, c = 0.0, u
        for k in range(m):
            total += w[k]
        if self.scripted:
            return self.scripted_choice(w, m, total)
        u = self.next() * total
        if m <= FEW:
            # No early end: a branch that nobody can foresee costs more than the rest of a short row.
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


cdef class Model:
    # -- sizes
    cdef readonly Py_ssize_t N      # items
    cdef readonly Py_ssize_t K      # clusters kept (EMM: with the empty ones); numbered 0..K-1
    cdef readonly Py_ssize_t kmax   # the most clusters allowed
    cdef Py_ssize_t cap             # columns allocated: live clusters and scratch; a multiple of 8
    # -- kind of model
    cdef readonly bint allows_empty  # empty clusters are part of the state (EMM)
    cdef readonly bint conjugate     # parameters integrated out
    cdef readonly object vectors     # the items as vectors, [N, D] dense or sparse, as they were given; None without
    cdef readonly bint coupled       # the likelihood of a cluster depends on the others (IRM)
    cdef readonly bint weighted      # clusters have weights, part of the state, shared by groups of items (HDP)
    cdef readonly bint plug_in       # offers the density of an item given a cluster's estimated parameters
    cdef readonly bint random_concentration  # the concentration has a prior of its own and is resampled
    cdef readonly double concentration  # present value (Chinese restaurant process); nan for models without
    cdef Py_ssize_t auxiliaries     # components that stand for "a new cluster" in a scan: 1, in algorithm 8 more
    # -- the state
    cdef int32_t *z                 # [N] cluster of each item; -1: not placed, in the course of a move
    cdef int32_t *size              # [cap] items in each cluster, scratch included
    cdef int32_t *head              # [cap] first member of each live cluster, -1 none (order: history, read by nothing)
    cdef int32_t *after             # [N] next member of the same cluster, -1 none
    cdef int32_t *before            # [N] previous member, -1 none
    cdef int64_t version            # grows with every change of the partition
    # -- caches
    cdef double *ll                 # [cap] log marginal likelihood of a cluster, where known[k]
    cdef int8_t *known              # [cap]
    cdef int32_t *numbers           # [cap] 0, 1, 2, ...: "all clusters" for log_lik
    # -- the prior's allocation weight, linear scale, by the size of the cluster joined; entry 0: an empty or new
    # cluster; NULL where it depends on more than the size
    cdef double *alloc              # [N + 1]
    cdef double *scan_table         # [N + 1] alloc times whatever of the likelihood depends on the size alone
    cdef double *W                  # [cap] scan_table[size[k]] of the options of a scan, 0 past them
    cdef double *w                  # [cap] weights of the last scan
    cdef double *log_beta           # [cap] log weight of each cluster, scratch included; NULL where they have none
    cdef double log_unseen          # log weight of all that no cluster holds

    # -- statistics: what a model supplies. `k` may be a scratch cluster.
    cdef int grow(self, Py_ssize_t cap) except -1
    cdef void clear(self, Py_ssize_t k) noexcept nogil
    cdef void add(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil
    cdef void remove(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil
    cdef void copy(self, Py_ssize_t src, Py_ssize_t dst) noexcept nogil
    cdef void absorb(self, Py_ssize_t dst, Py_ssize_t src) noexcept nogil
    cdef double log_pred(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil
    cdef double cluster_log_lik(self, Py_ssize_t k) noexcept nogil
    cdef double log_union(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cdef double log_prior(self, const int32_t *sizes, Py_ssize_t m, Py_ssize_t K) noexcept nogil
    cdef double odds(self, Py_ssize_t i, Py_ssize_t a, Py_ssize_t b, Py_ssize_t own, bint sized) noexcept nogil
    cdef void scan(self, Py_ssize_t i) noexcept nogil
    cdef void choice(self, Py_ssize_t i, const int32_t *clusters, Py_ssize_t m, double *w) noexcept nogil
    cdef void log_choice(self, Py_ssize_t i, const int32_t *clusters, Py_ssize_t m, double *lw) noexcept nogil
    cdef void weigh(self, Py_ssize_t i, Py_ssize_t first, Py_ssize_t m, double *w) noexcept nogil
    cdef double log_weight(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil
    cdef double log_prior_all(self) noexcept nogil
    cdef double log_split_prior(self, Py_ssize_t c, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cdef double log_merge_prior(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil
    cdef Py_ssize_t sweep(self, Rng rng, Py_ssize_t first, Py_ssize_t n) except -1 nogil
    # -- of a model whose clusters have weights
    cdef bint divide(self, Rng rng, Py_ssize_t c, Py_ssize_t a, double p, double q) noexcept nogil
    cdef void set_weight(self, Py_ssize_t k, double log_beta) noexcept nogil
    cdef double expected_tables(self, Py_ssize_t k, double log_beta) noexcept nogil
    cdef void refresh_weights(self, Rng rng) noexcept nogil
    cdef double log_configuration(self) noexcept nogil
    # -- of a model with plug_in
    cdef void locate(self, Py_ssize_t k, double *mean) noexcept nogil
    cdef double log_plug_in(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil
    # -- of a coupled model
    cdef void stage(self, const int32_t *clusters, Py_ssize_t m, Py_ssize_t first, Py_ssize_t n) noexcept nogil
    cdef double log_pair_lik(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    # -- parameters: of a model that is not conjugate
    cdef void draw_parameters(self, Rng rng, Py_ssize_t k) noexcept nogil
    cdef void copy_parameters(self, Py_ssize_t src, Py_ssize_t dst) noexcept nogil
    cdef Py_ssize_t refresh_parameters(self, Rng rng) noexcept nogil
    cdef void resample_concentration(self, Rng rng) noexcept nogil
    cdef void traced(self, double *out) noexcept nogil
    cdef double log_extra(self) noexcept nogil
    # -- offered to samplers, the same for every model unless overridden
    cdef double log_lik(self, const int32_t *ks, Py_ssize_t m) noexcept nogil
    cdef double log_odds(self, Py_ssize_t i, Py_ssize_t a, Py_ssize_t b, Py_ssize_t own, bint sized) noexcept nogil

    cdef int _allocate(self, Py_ssize_t n_items, Py_ssize_t kmax) except -1
    cdef int reserve(self, Py_ssize_t clusters) except -1 nogil
    cdef int _reserve(self, Py_ssize_t clusters) except -1
    cdef void log_scan(self, Py_ssize_t i) noexcept nogil
    cdef void take_out(self, Py_ssize_t i) noexcept nogil
    cdef void put(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil
    cdef int reset(self, const int32_t *labels, Py_ssize_t K) except -1 nogil
    cdef void begin_scan(self) noexcept nogil
    cdef int move(self, Py_ssize_t i, Py_ssize_t k) except -1 nogil
    cdef int append_empty(self) except -1 nogil
    cdef void delete(self, Py_ssize_t k) noexcept nogil
    cdef int commit_split(self, Py_ssize_t c, const int32_t *to_b, Py_ssize_t n) except -1 nogil
    cdef void commit_merge(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil
    cdef int commit_sides(self, const int32_t *clusters, Py_ssize_t m, const int32_t *items, const int8_t *side,
                          Py_ssize_t n) except -1 nogil
    cdef Py_ssize_t members(self, Py_ssize_t a, Py_ssize_t b, int32_t *items) noexcept nogil
    cdef void link(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil
    cdef void unlink(self, Py_ssize_t i) noexcept nogil

    @cython.final
    cdef inline Py_ssize_t options(self) noexcept nogil:
        """Options of a Gibbs draw: the clusters and, without empty clusters, a new one (algorithm 8: several)."""
        return self.K if self.allows_empty else self.K + self.auxiliaries

    @cython.final
    cdef inline void price(self, Py_ssize_t k) noexcept nogil:
        """Bring W[k] up to date with the size of cluster k."""
        if self.scan_table != NULL:
            self.W[k] = self.scan_table[self.size[k]]

    @cython.final
    cdef inline double fresh(self) noexcept nogil:
        """W of a new cluster, or of what is past the options."""
        return 0.0 if self.allows_empty or self.scan_table == NULL else self.scan_table[0]

    @cython.final
    cdef inline void scratch(self, Py_ssize_t k) noexcept nogil:
        """Make column k an empty cluster."""
        self.size[k] = 0
        self.known[k] = False
        self.clear(k)

    @cython.final
    cdef inline void join(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        """Count item i in the statistics of cluster k (labels and lists stay)."""
        self.size[k] += 1
        self.known[k] = False
        self.add(i, k)

    @cython.final
    cdef inline void leave(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        """Take item i out of the statistics of cluster k (labels and lists stay)."""
        self.size[k] -= 1
        self.known[k] = False
        self.remove(i, k)

    @cython.final
    cdef inline double lik(self, Py_ssize_t k) noexcept nogil:
        """Log marginal likelihood of cluster k, kept until the cluster changes."""
        if not self.known[k]:
            self.ll[k] = self.cluster_log_lik(k)
            self.known[k] = True
        return self.ll[k]


cdef enum:
    MAX_MOVES = 8
    MAX_TERMS = 8


cdef class Sampler:
    cdef readonly Model model
    cdef readonly Rng rng
    cdef readonly str mode
    cdef readonly int scans             # full Gibbs scans that the schedule `sweep` makes after each step
    cdef readonly double last_log_ratio  # of the last decision; nan when the move was null
    cdef int move                       # index in MOVES of the move under way
    cdef bint on[MAX_TERMS]             # which terms of the ratio count (all, but in literal mode and for mutants)
    cdef int64_t proposed[MAX_MOVES]
    cdef int64_t accepted[MAX_MOVES]
    cdef int64_t void_moves[MAX_MOVES]
    cdef double seconds[MAX_MOVES]

    cdef int make_step(self) except -1 nogil

    @cython.final
    cdef inline void propose(self, int move) noexcept nogil:
        """Start a move of this kind."""
        self.move = move
        self.proposed[move] += 1
        self.last_log_ratio = 0.0

    @cython.final
    cdef inline double term(self, int name, double value) noexcept nogil:
        """A named term of the log ratio; 0 when it is switched off."""
        return value if self.on[name] else 0.0

    @cython.final
    cdef inline bint decide(self, double log_ratio) noexcept nogil:
        """Metropolis-Hastings: accept the proposal or leave the state."""
        self.last_log_ratio = log_ratio
        if self.rng.draw_accept(log_ratio):
            self.accepted[self.move] += 1
            return True
        return False

    cdef int null(self) noexcept nogil


cdef class SplitMerge(Sampler):
    cdef int32_t *items                 # [N] the items at stake, in item order
    cdef int8_t *in_a                   # [N] whether items[t] goes to side A
    cdef double *lw                     # [lw_room] log weights over clusters
    cdef Py_ssize_t lw_room

    cdef int need(self, Py_ssize_t clusters) except -1 nogil
    cdef int _need(self, Py_ssize_t clusters) except -1
    cdef void stage_two(self, Py_ssize_t ci, Py_ssize_t cj) noexcept nogil
    cdef double log_label_term(self, Py_ssize_t K) noexcept nogil
    cdef double log_orders(self, Py_ssize_t clusters) noexcept nogil
    cdef double log_split_ratio(self, Py_ssize_t c, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cdef double log_divided_ratio(self, Py_ssize_t c, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cdef double log_merge_ratio(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil
    cdef double allocate(self, Py_ssize_t n, Py_ssize_t a, Py_ssize_t b, bint forced, bint sized) noexcept nogil
    cdef double restricted_scan(self, Py_ssize_t n, Py_ssize_t a, Py_ssize_t b, const int8_t *target,
                                bint scored) noexcept nogil
    cdef int accept_split(self, Py_ssize_t c, Py_ssize_t n, Py_ssize_t extra) except -1 nogil


cdef inline double log_add(double a, double b) noexcept nogil:
    """log(exp(a) + exp(b))."""
    cdef double top = a if a > b else b
    if top == -INFINITY:
        return top
    return top + log1p(exp((b if a > b else a) - top))


cdef double log_rising(double a, Py_ssize_t n, double *out) noexcept nogil
cdef double log_sum_exp(const double *lw, Py_ssize_t m) noexcept nogil
cdef double exp_weights(const double *lw, Py_ssize_t m, double *w) noexcept nogil
cdef double *doubles(Py_ssize_t n) except NULL
cdef int32_t *ints(Py_ssize_t n) except NULL
cdef int8_t *flags(Py_ssize_t n) except NULL
cdef void copy_rows(void *to, size_t to_bytes, const void *rows, size_t row_bytes, Py_ssize_t n) noexcept nogil
cdef void *larger(void *old, size_t old_bytes, size_t new_bytes) except NULL
cdef void release(void *p) noexcept nogil
