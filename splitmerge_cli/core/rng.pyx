"""Random choices, through a handful of primitives that a script can take the place of.

That is how the exact transition matrix of the compiled code is built (``splitmerge_cli.verify``).
"""
cimport cython
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport exp, lgamma, log, log1p
from libc.stdlib cimport abort, free, realloc

from splitmerge_cli.core.recording cimport BLOCK, BLOCK_END, CLUSTERS, MARK, MAXIMAL, ORDER, PART, TRANSPORT, draw_t

import numpy as np


class ContinuousDraw(Exception):
    """A scripted generator was asked for a draw from a continuous distribution."""


cdef double log_density(int kind, double a, double b, double x) noexcept nogil:
    """log density at x, with parameters a and b; standard normal: 0, as it is one and the same."""
    cdef double z
    if kind == GAMMA:
        return (a - 1.0) * log(x) - x - lgamma(a)
    if kind == BETA:
        return (a - 1.0) * log(x) + (b - 1.0) * log1p(-x) - lgamma(a) - lgamma(b) + lgamma(a + b)
    if kind == GAMMA_OF:
        return a * log(b) + (a - 1.0) * log(x) - b * x - lgamma(a)
    if kind == NORMAL_OF:
        z = (x - a) / b
        return -0.5 * z * z - log(b)
    if kind == LOG_NORMAL:
        z = log(x / a) / b
        return -0.5 * z * z - log(b) - log(x)
    return 0.0


@cython.final
cdef class Rng:
    """Random choices of one chain, by its number, from one NumPy PCG64DXSM stream:
    ``SeedSequence(seed, spawn_key=(chain,))``, so that it does not depend on how many chains run.

    Between ``script_start`` and ``script_stop`` the choices follow a script in place of the stream: each pass between
    ``script_begin`` and ``script_next`` takes one path through the tree of all choices, and ``script_probability`` is
    the probability of that path. Normal, gamma and beta draws have no list of options: a script meets none.
    """

    def __cinit__(self, seed=0, chain=0):
        if not isinstance(seed, (int, np.integer)) or seed < 0:
            raise ValueError(f"seed: expected an integer of at least 0, got {seed!r}")
        self.bit_generator = np.random.PCG64DXSM(np.random.SeedSequence(int(seed), spawn_key=(int(chain),)))
        self.bg = <bitgen_t *> PyCapsule_GetPointer(self.bit_generator.capsule, "BitGenerator")
        self.path = 1.0

    def __dealloc__(self):
        free(self.choice)
        free(self.following)
        free(self.residual)

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
        """Let scans that use this generator end at once, from whatever thread: their chain is given up. The state that
        an iteration leaves is then no draw of anything, but whole: the model may be freed."""
        self.is_halted = True

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
        """Follow a script from here on. With `always_accept`, every proposal is accepted and no factor counted for it:
        the paths are proposals."""
        self.scripted = self.directed = True
        self.continuous = False
        self.always_accept = always_accept
        self.length = 0
        self.script_begin()

    def script_begin(self):
        """Begin the execution path that the script holds."""
        self.depth = 0
        self.path = 1.0
        self.threshold_drawn = False

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
        self.scripted = self.always_accept = self.threshold_drawn = False
        self.directed = self.role != ALONE

    # -- of chains that are coupled

    cdef Py_ssize_t own_choice(self, const double *w, Py_ssize_t m, double total) noexcept nogil:
        """A draw that depends on nothing recorded."""
        cdef Py_ssize_t k
        cdef double c = 0.0, u
        if self.scripted:
            return self.scripted_choice(w, m, total)
        u = self.next() * total
        if w == NULL:
            return <Py_ssize_t> u
        for k in range(m):
            c += w[k]
            if u < c:
                return k
        k = m - 1
        while k > 0 and not w[k] > 0.0:
            k -= 1
        return k

    cdef Py_ssize_t directed_choice(self, int kind, Py_ssize_t key, const double *w, Py_ssize_t m, double total,
                                    const int32_t *names) noexcept nogil:
        cdef Py_ssize_t k
        cdef draw_t *r
        if self.role == ALONE:
            return self.scripted_choice(w, m, total)
        if self.role == LEAD:
            k = self.own_choice(w, m, total)
            self.recording.add(kind, key, w, m, total, names, k)
            return k
        r = self.recording.find(kind, key, m)
        if r == NULL:
            return self.own_choice(w, m, total)
        return self.coupled_choice(r, w, m, total, names)

    cdef Py_ssize_t coupled_choice(self, const draw_t *r, const double *w, Py_ssize_t m, double total,
                                   const int32_t *names) noexcept nogil:
        """A maximal coupling with a recorded draw: given that this took x, of probability p(x) among the options p,
        and with q of the options here, x with probability min(1, q(x)/p(x)), else one of the rest, proportional to
        q - p where that is positive. Options are the same where their names are."""
        cdef const int32_t *theirs = self.recording.names + r.names if r.names >= 0 else NULL
        cdef double *by_name = self.recording.by_name
        cdef Py_ssize_t k, same = -1
        cdef double p = self.recording.probability(r, r.taken), q, rest = 0.0
        cdef int32_t name = theirs[r.taken] if theirs != NULL else r.taken
        cdef double coin[2]
        if theirs != NULL and names != NULL and self.recording.how != MAXIMAL and self.recording.tabled:
            self.make_room(m)
            rest = self.recording.joint(r, w, m, total, names, self.residual)
            return self.own_choice(self.residual, m, rest)
        if names == NULL:
            same = name if name < m else -1
        elif name >= 0:
            for k in range(m):
                if names[k] == name:
                    same = k
                    break
        if same >= 0:
            q = (w[same] if w != NULL else 1.0) / total / p
            if q >= 1.0 - 1e-12:
                return same
            coin[0], coin[1] = q, 1.0 - q
            if self.own_choice(coin, 2, 1.0) == 0:
                return same
        self.make_room(m)
        if theirs != NULL:
            for k in range(r.m):
                if theirs[k] >= 0:
                    by_name[theirs[k]] += self.recording.probability(r, k)
        for k in range(m):
            q = (w[k] if w != NULL else 1.0) / total
            if k == same:
                q = 0.0
            elif theirs == NULL:
                q -= self.recording.probability(r, k) if k < r.m else 0.0
            elif names[k] >= 0:
                q -= by_name[names[k]]
            # what is left of two equal numbers is rounding
            self.residual[k] = q if q > 1e-15 else 0.0
            rest += self.residual[k]
        if theirs != NULL:
            for k in range(r.m):
                if theirs[k] >= 0:
                    by_name[theirs[k]] = 0.0
        if not rest > 0.0:
            return same if same >= 0 else self.own_choice(w, m, total)
        return self.own_choice(self.residual, m, rest)

    cdef void make_room(self, Py_ssize_t m) noexcept nogil:
        if m > self.residual_room:
            self.residual_room = 2 * m + 16
            self.residual = <double *> realloc(self.residual, self.residual_room * sizeof(double))
            if self.residual == NULL:
                abort()

    cdef bint coupled_decision(self, double log_r, bint last) noexcept nogil:
        """A stage of a decision, u < r, by the same u in both chains: for two options that is a maximal coupling. What
        is known of u is recorded: the number itself; scripted, an interval in which it is uniform, and a stage is a
        choice between the parts of it that are below r and above."""
        cdef draw_t *r
        cdef double p = exp(log_r) if log_r < -1e-12 else 1.0 if log_r >= -1e-12 else 0.0
        cdef double w[2]
        cdef bint below
        if not self.threshold_drawn:
            self.low, self.high = 0.0, 1.0
            if self.role == LEAD:
                w[0], w[1] = 0.0, 1.0
                self.recording.add(DECISION, -1, w, 2, 1.0, NULL, -1)
                self.decision = self.recording.n - 1
            else:
                r = self.recording.find(DECISION, -1, 0)
                if r != NULL:
                    self.low, self.high = self.recording.weights[r.weights], self.recording.weights[r.weights + 1]
        if p >= self.high:
            below = True
        elif p <= self.low:
            below = False
        elif self.scripted:
            w[0], w[1] = p - self.low, self.high - p
            below = self.scripted_choice(w, 2, self.high - self.low) == 0
            if below:
                self.high = p
            else:
                self.low = p
        else:
            # uniform between 0 and 1, or it would be known
            self.low = self.high = self.next()
            below = self.low < p
        if self.role == LEAD:
            r = self.recording.draws + self.decision
            self.recording.weights[r.weights], self.recording.weights[r.weights + 1] = self.low, self.high
        self.threshold_drawn = below and not last
        return below

    cdef Py_ssize_t another_cluster(self, Py_ssize_t K, const int32_t *names, Py_ssize_t i) noexcept nogil:
        """One of the other clusters, uniformly."""
        cdef Py_ssize_t k
        cdef double *w = <double *> realloc(NULL, K * sizeof(double))
        if w == NULL:
            abort()
        for k in range(K):
            w[k] = k != i
        k = self.directed_choice(NAMED, -1, w, K, K - 1.0, names)
        free(w)
        return k

    cdef double directed_value(self, int kind, double a, double b) noexcept nogil:
        """A draw from a continuous distribution, maximally coupled with the recorded one where that is of the same
        family."""
        cdef double value, p, q
        cdef double parameters[2]
        cdef draw_t *r = NULL
        if self.scripted:
            self.continuous = True
            return a / (a + b) if kind == BETA else a / b if kind == GAMMA_OF else a
        if self.role == FOLLOW:
            r = self.recording.find(kind, -1, 0)
        if r == NULL:
            value = self.own_value(kind, a, b)
            if self.role == LEAD:
                parameters[0], parameters[1] = a, b
                self.recording.add(kind, -1, parameters, 2, value, NULL, 0)
            return value
        value = r.total
        p, q = self.recording.weights[r.weights], self.recording.weights[r.weights + 1]
        if p == a and q == b:
            return value
        if log1p(-self.next()) + log_density(kind, p, q, value) <= log_density(kind, a, b, value):
            return value
        while True:
            value = self.own_value(kind, a, b)
            if log1p(-self.next()) + log_density(kind, a, b, value) > log_density(kind, p, q, value):
                return value

    cdef double own_value(self, int kind, double a, double b) noexcept nogil:
        if kind == BETA:
            return random_beta(self.bg, a, b)
        if kind == GAMMA or kind == GAMMA_OF:
            return random_standard_gamma(self.bg, a) / (b if kind == GAMMA_OF else 1.0)
        if kind == NORMAL:
            return random_standard_normal(self.bg)
        if kind == NORMAL_OF:
            return a + b * random_standard_normal(self.bg)
        return a * exp(b * random_standard_normal(self.bg))

    cdef void directed_order(self, const int32_t *items, Py_ssize_t n, int32_t *order) noexcept nogil:
        """Order the chain that follows: the items that both chains have as in the other, and the rest at uniform
        places among them. The order is uniform, whatever the items."""
        cdef Py_ssize_t t, s, at
        cdef int32_t i
        cdef draw_t *r = self.recording.find(ORDER, -1, 0) if self.role == FOLLOW else NULL
        if r == NULL:
            for t in range(n - 1, 0, -1):
                order[t] = <int32_t> self.own_choice(NULL, t + 1, t + 1.0)
            if self.role == LEAD:
                for t in range(n):
                    self.recording.list[t] = items[t]
                for t in range(n - 1, 0, -1):
                    s = order[t]
                    self.recording.list[t], self.recording.list[s] = self.recording.list[s], self.recording.list[t]
                self.recording.add(ORDER, -1, NULL, n, 0.0, self.recording.list, -1)
            return
        for t in range(self.recording.common_order(r, items, n), n):
            at = self.own_choice(NULL, t + 1, t + 1.0)
            i = self.recording.list[t]
            for s in range(t, at, -1):
                self.recording.list[s] = self.recording.list[s - 1]
            self.recording.list[at] = i
        self.recording.swaps_of(items, n, order)

    cdef void begin_clusters(self, const int32_t *names, Py_ssize_t K) noexcept nogil:
        """Announce draws for K clusters with these names, one each (``cluster_in_turn``)."""
        if self.role == ALONE:
            return
        self.recording.order_clusters(names, K)
        if self.role == LEAD:
            self.recording.add(BLOCK, CLUSTERS, NULL, 0, 0.0, NULL, -1)
        else:
            self.recording.in_clusters = self.recording.find(BLOCK, CLUSTERS, 0) != NULL

    cdef Py_ssize_t named_cluster(self, const int32_t *names, Py_ssize_t t) noexcept nogil:
        cdef Py_ssize_t k = self.recording.turn[t]
        if self.role == LEAD:
            self.recording.add(MARK, names[k], NULL, 0, 0.0, NULL, -1)
        else:
            self.recording.follow_cluster(names[k])
        return k

    cdef void end_clusters(self) noexcept nogil:
        if self.role == LEAD:
            self.recording.add(MARK, BLOCK_END, NULL, 0, 0.0, NULL, -1)
        elif self.role == FOLLOW:
            self.recording.leave_clusters()

    cdef Py_ssize_t part(self) noexcept nogil:
        """Number of items in a part of a scan, after which clusters are matched again."""
        return 1 if self.recording is not None and self.recording.how == TRANSPORT else PART

    cdef void take_role(self, int role) noexcept nogil:
        """Record draws from here on, or couple them with those recorded, or neither."""
        self.role = role
        self.directed = self.scripted or role != ALONE
        self.threshold_drawn = False

    def couple(self, N, how="maximal"):
        """Generate for two chains that take turns (``core/coupled.pyx``), with N items, or that many clusters if more;
        draws of a cluster are coupled in this way."""
        self.recording = Recording(N, how)
