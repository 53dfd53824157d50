"""The history of adaptive samplers: partitions of the chains of a run (Herlau et al. 2014, section 2.4).

A move is made from two of them, z_a and z_b, and a pair of items that one of the two joins and the other parts. The
option `adaptation` says which two:

    paper        z_a from the chain's own later half, z_b from the later halves of all chains: at iteration t + 1
                 the states floor(t/2), ..., t. The window grows: the distribution of a chain is right in the limit
                 (diminishing adaptation).
    frozen       the same while t <= freeze, then always the window of t = freeze: from there on the kernel is fixed,
                 and exact. The iterations before are burn-in.
    population   the present states of two other chains, the chains being updated one after the other: exact at any t,
                 for the joint distribution of all chains.

Within its window every state is as probable as another, or, with `past=likelihood`, as its likelihood says ("using the
likelihood of previous states as a weight", section 2.4): what is drawn does not depend on the present state, so that
the ratio of a move is the same.

Labels are kept in 1, 2 or 4 bytes each, and what no window reaches any more is dropped: S T n / 2 bytes for S chains of
T iterations with up to 256 clusters.
"""
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset

import numpy as np

from splitmerge_cli.core.log_scale cimport exp_weights
from splitmerge_cli.core.memory cimport Memory, copy_ints, doubles

from splitmerge_cli.core.checks import check_count
from splitmerge_cli.core.options import Choice, Count

ADAPTATION = (
    Choice("adaptation", "paper", "which partitions of the chain history are drawn: paper (a growing window), frozen "
           "(a fixed window after `freeze` iterations) or population (the present states of other chains)",
           choices=("paper", "frozen", "population")),
    Count("freeze", 1000, "adaptation=frozen: the iteration after which nothing new is learnt", least=1, most=1 << 53),
    Choice("past", "uniform", "how a partition is drawn from its window: uniform, or in proportion to its likelihood",
           choices=("uniform", "likelihood"), later=True),
)
"""The options of a sampler that adapts to the chain history."""

cdef extern from *:
    """
    /* Counts that one chain sets while others, in the same round, read them. */
    #define get_count(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
    #define set_count(p, n) __atomic_store_n((p), (n), __ATOMIC_RELEASE)"""
    int64_t get_count(const int64_t *p) noexcept nogil
    void set_count(int64_t *p, int64_t n) noexcept nogil

cdef enum:
    TRIES = 100
    HEADER = 16                         # bytes before the labels of a state: their width, and at 8 the log likelihood
    LOG_LIK = 8


cdef class History:
    """The partitions of S chains on N items, by iteration. `freeze`: nothing is recorded after this iteration;
    `present_only`: no more than the last partition of each chain is kept; `weighs`: each has its log likelihood.

    Chains may record and read at the same time, each its own number of iterations, as long as none is more than one
    iteration ahead of another.
    """

    def __init__(self, Py_ssize_t S, Py_ssize_t N, freeze=None, bint present_only=False, bint weighs=False):
        if S < 1 or N < 1:
            raise ValueError(f"S={S}, N={N}: expected at least 1 of each")
        self.S, self.N = S, N
        self.freeze = -1 if freeze is None else freeze
        self.present_only, self.weighs = present_only, weighs
        self.made = <int64_t *> doubles(S)
        self.kept = <int64_t *> doubles(S)
        self.state = <void ****> doubles(S)
        for s in range(S):
            self.state[s] = <void ***> doubles(CHUNKS)

    def __dealloc__(self):
        cdef Py_ssize_t s
        cdef int64_t t, c
        if self.state != NULL:
            for s in range(self.S):
                if self.state[s] != NULL:
                    for t in range(self.kept[s], self.end(s)):
                        self.drop(s, t)
                    for c in range(CHUNKS):
                        free(self.state[s][c])
                    free(self.state[s])
        free(self.state)
        free(self.made)
        free(self.kept)

    cdef int64_t end(self, Py_ssize_t chain) noexcept nogil:
        """The first state of a chain that is not recorded."""
        cdef int64_t made = get_count(self.made + chain)
        return made if self.freeze < 0 else min(made, self.freeze + 1)

    cdef int64_t oldest(self, int64_t end) noexcept nogil:
        """The first state that is kept of a chain of which those before `end` were recorded: one that is an iteration
        behind reads from floor((end - 2) / 2) on."""
        return max(0, end - 2) if self.present_only else max(0, end - 2) // 2

    cdef void **place(self, Py_ssize_t chain, int64_t t) except NULL nogil:
        cdef int64_t c = t // CHUNK
        if c >= CHUNKS or self.state[chain][c] == NULL:
            if c < CHUNKS:
                self.state[chain][c] = <void **> calloc(CHUNK, sizeof(void *))
            if c >= CHUNKS or self.state[chain][c] == NULL:
                with gil:
                    raise MemoryError(f"the history of {t} iterations")
        return self.state[chain][c] + t % CHUNK

    cdef void drop(self, Py_ssize_t chain, int64_t t) noexcept nogil:
        cdef void **slot
        if self.state[chain][t // CHUNK] != NULL:
            slot = self.state[chain][t // CHUNK] + t % CHUNK
            free(slot[0])
            slot[0] = NULL

    cdef int record(self, Py_ssize_t chain, const int32_t *labels, double log_lik) except -1 nogil:
        """The next partition of a chain, numbered by first appearance, and its log likelihood."""
        cdef int64_t t = self.made[chain], oldest = self.oldest(t + 1)
        cdef Py_ssize_t i, width
        cdef int32_t most = 0
        cdef void **slot
        cdef char *out
        if self.freeze >= 0 and t > self.freeze:
            set_count(self.made + chain, t + 1)
            return 0
        for i in range(self.N):
            if labels[i] > most:
                most = labels[i]
        width = 1 if most < 1 << 8 else 2 if most < 1 << 16 else 4
        slot = self.place(chain, t)
        slot[0] = malloc(HEADER + self.N * width)
        if slot[0] == NULL:
            with gil:
                raise MemoryError(f"the history of {t} iterations")
        out = <char *> slot[0]
        out[0] = <char> width
        memcpy(out + LOG_LIK, &log_lik, sizeof(double))
        out += HEADER
        for i in range(self.N):
            if width == 1:
                (<uint8_t *> out)[i] = <uint8_t> labels[i]
            elif width == 2:
                (<uint16_t *> out)[i] = <uint16_t> labels[i]
            else:
                (<int32_t *> out)[i] = labels[i]
        set_count(self.made + chain, t + 1)
        for t in range(self.kept[chain], oldest):
            set_count(self.kept + chain, t + 1)
            self.drop(chain, t)
        return 0

    cdef const char *find(self, Py_ssize_t chain, int64_t t) except NULL nogil:
        """A chain's stored bytes after iteration t, which must be one that is kept."""
        if not get_count(self.kept + chain) <= t < self.end(chain):
            with gil:
                raise RuntimeError(f"the history of chain {chain} does not hold iteration {t}: expected chains that "
                                   "learn from each other to advance together")
        return <const char *> self.state[chain][t // CHUNK][t % CHUNK]

    cdef double log_lik(self, Py_ssize_t chain, int64_t t) except? -1.0 nogil:
        """The log likelihood of a chain after iteration t."""
        cdef double value
        memcpy(&value, self.find(chain, t) + LOG_LIK, sizeof(double))
        return value

    cdef int read(self, Py_ssize_t chain, int64_t t, int32_t *out) except -1 nogil:
        """The partition of a chain after iteration t."""
        cdef const char *stored = self.find(chain, t)
        cdef int width = stored[0]
        cdef Py_ssize_t i
        stored += HEADER
        if width == 1:
            for i in range(self.N):
                out[i] = (<const uint8_t *> stored)[i]
        elif width == 2:
            for i in range(self.N):
                out[i] = (<const uint16_t *> stored)[i]
        else:
            memcpy(out, stored, self.N * sizeof(int32_t))
        return 0

    def check_chain(self, Py_ssize_t chain):
        """Raise a ValueError unless there is a chain of this number."""
        if not 0 <= chain < self.S:
            raise ValueError(f"chain={chain}: expected 0 to {self.S - 1}")

    def add(self, Py_ssize_t chain, labels, double log_lik=0.0):
        """Record a partition of a chain, labels of shape (N,), and its log likelihood, after its last."""
        cdef int32_t[::1] v = by_appearance(labels, self.N)
        self.check_chain(chain)
        self.record(chain, &v[0], log_lik)

    def kept_states(self, Py_ssize_t chain):
        """States of a chain: the number made, the first kept, and those kept, ndarray of shape (states, N); where they
        are weighed also their log likelihoods, ndarray of shape (states,)."""
        self.check_chain(chain)
        cdef int64_t t, end = self.end(chain), first = self.kept[chain]
        cdef int width = 1
        row = np.empty(self.N, dtype=np.int32)
        cdef int32_t[::1] v = row
        for t in range(first, end):
            width = max(width, <int> (<const char *> self.state[chain][t // CHUNK][t % CHUNK])[0])
        # at once in its final width: a history of this size is never held twice as wide
        out = np.empty((max(end - first, 0), self.N), dtype={1: np.uint8, 2: np.uint16, 4: np.int32}[width])
        for t in range(first, end):
            self.read(chain, t, &v[0])
            out[t - first] = row
        kept = int(self.made[chain]), int(first), out
        return (*kept, np.array([self.log_lik(chain, t) for t in range(first, end)])) if self.weighs else kept

    def restore(self, Py_ssize_t chain, made, first, states, log_liks=None):
        """Take up what ``kept_states`` gave. A ValueError where it is nothing that a history of this kind gives; the
        history is then as before."""
        cdef int32_t[::1] v
        cdef int64_t t, end, start
        self.check_chain(chain)
        check_count("history: made", made, 0, 1 << 62)
        end = made if self.freeze < 0 else min(made, self.freeze + 1)
        start = self.oldest(end)
        check_count("history: first", first, start, start)
        given = np.asarray(states)
        if given.shape != (end - start, self.N) or given.dtype.kind not in "iu":
            raise ValueError(f"history: expected {end - start} states of {self.N} integers, got shape {given.shape} of "
                             f"{given.dtype}")
        for t, labels in enumerate(given, start):
            check_appearance(f"history: state {t}", labels, self.N)
        weights = np.zeros(end - start) if not self.weighs else np.asarray(log_liks)
        if weights.shape != (end - start,) or weights.dtype.kind != "f" or not np.isfinite(weights).all():
            raise ValueError(f"history: expected {end - start} finite log likelihoods")
        for t in range(self.kept[chain], self.end(chain)):
            self.drop(chain, t)
        self.made[chain] = self.kept[chain] = start
        for labels, log_lik in zip(given, weights, strict=True):
            v = np.ascontiguousarray(labels, dtype=np.int32)
            self.record(chain, &v[0], log_lik)
        self.made[chain] = made


def by_appearance(labels, Py_ssize_t N):
    """Labels numbered by first appearance, ndarray of int32 of shape (N,)."""
    numbers = np.asarray(labels)
    if numbers.shape != (N,) or not np.issubdtype(numbers.dtype, np.integer):
        raise ValueError(f"labels: expected {N} integers, got shape {numbers.shape} of {numbers.dtype}")
    _, first, number = np.unique(numbers, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[number].astype(np.int32)


def check_appearance(str what, labels, Py_ssize_t N):
    """Raise a ValueError unless these are N integers numbered by first appearance: they support as indices. O(N)."""
    numbers = np.asarray(labels)
    if numbers.shape != (N,) or numbers.dtype.kind not in "iu":
        raise ValueError(f"{what}: expected {N} integers, got shape {numbers.shape} of {numbers.dtype}")
    cdef Py_ssize_t i
    cdef int32_t most = -1
    # what does not fit becomes another number out of order
    cdef int64_t[::1] v = np.ascontiguousarray(numbers, dtype=np.int64)
    for i in range(N):
        if not 0 <= v[i] <= most + 1:
            raise ValueError(f"{what}: expected labels numbered by first appearance, got {numbers[i]} for item {i}")
        most = max(most, <int32_t> v[i])


cdef class AdaptiveProposal:
    """One chain's view of the history: it draws two partitions and a pair of items about which they disagree. Of `N`
    items; `adaptation`: paper, frozen or population; `freeze`: frozen: the iteration after which nothing new is learnt,
    at least 1; `past`: uniform or likelihood."""

    def __init__(self, Py_ssize_t N, str adaptation="paper", freeze=1000, str past="uniform"):
        for option, value in zip(ADAPTATION, (adaptation, freeze, past), strict=True):
            option.read(value, "sampler")
        self.N, self.adaptation, self.freeze = N, adaptation, freeze
        self.population, self.by_likelihood = adaptation == "population", past == "likelihood"
        self.memory = Memory()
        self.za, self.zb = self.memory.ints(N), self.memory.ints(N)
        self.first, self.then, self.seen = self.memory.ints(N), self.memory.ints(N), self.memory.ints(N)
        self.size_a, self.size_b, self.disagree = self.memory.ints(N), self.memory.ints(N), self.memory.ints(N)

    def new_history(self, Py_ssize_t S):
        """The history that chains of this adaptation share. A ValueError for fewer chains than it needs."""
        if self.population and S < 3:
            raise ValueError(f"sampler.adaptation=population: learns from two other chains; expected chains=3 or more, "
                             f"got {S}")
        freeze = self.freeze if self.adaptation == "frozen" else None
        return History(S, self.N, freeze, self.population, self.by_likelihood)

    def adapt_to(self, History history, Py_ssize_t chain):
        """Learn from this history, as the chain of this number."""
        if history is not None and not (history.N == self.N and 0 <= chain < history.S):
            raise ValueError(f"chain {chain} of {self.N} items; the history is one of {history.S} chains of "
                             f"{history.N} items")
        self.history, self.chain = history, chain

    def fix(self, za=None, zb=None, Py_ssize_t i=-1, Py_ssize_t j=-1):
        """Use these two partitions, and this pair unless i is -1, in place of drawn ones; with no arguments draw
        again."""
        cdef int32_t[::1] a, b
        self.fixed = za is not None
        if self.fixed:
            a, b = by_appearance(za, self.N), by_appearance(zb, self.N)
            memcpy(self.za, &a[0], self.N * sizeof(int32_t))
            memcpy(self.zb, &b[0], self.N * sizeof(int32_t))
            if i >= 0 and (i == j or not (i < self.N and 0 <= j < self.N)
                           or (a[i] == a[j]) == (b[i] == b[j])):
                raise ValueError(f"pair {i}, {j}: expected two items that one of the partitions joins, the other not")
        self.fixed_i, self.fixed_j = i, j

    def partitions(self):
        """The last z_a and z_b: two ndarrays of int32, shape (N,)."""
        return copy_ints(self.za, self.N), copy_ints(self.zb, self.N)

    cdef int draw(self, Rng rng, Py_ssize_t *i, Py_ssize_t *j) except -1 nogil:
        """Draw z_a, z_b and the pair; False without two that differ."""
        if not self.fixed and not self.draw_partitions(rng):
            return False
        if self.fixed and self.fixed_i >= 0:
            i[0], j[0] = self.fixed_i, self.fixed_j
            return True
        return self.draw_pair(rng, i, j)

    cdef int draw_partitions(self, Rng rng) except -1 nogil:
        """Two partitions that differ, in at most 100 tries."""
        cdef int64_t t, window
        cdef Py_ssize_t a, b, _try
        if self.history is None or self.history.made[self.chain] == 0:
            return False
        t = self.history.made[self.chain] - 1
        if self.history.freeze >= 0 and t > self.history.freeze:
            t = self.history.freeze
        window = t - t // 2 + 1
        for _try in range(TRIES):
            if self.population:
                self.draw_two_chains(rng, &a, &b)
                self.history.read(a, self.history.made[a] - 1, self.za)
                self.history.read(b, self.history.made[b] - 1, self.zb)
            else:
                self.read_state(rng, self.chain, 1, t // 2, window, self.za)
                self.read_state(rng, 0, self.history.S, t // 2, window, self.zb)
            if memcmp(self.za, self.zb, self.N * sizeof(int32_t)) != 0:
                return True
        return False

    cdef int draw_two_chains(self, Rng rng, Py_ssize_t *a, Py_ssize_t *b) except -1 nogil:
        """Two other chains, uniform or by the likelihoods of their present states."""
        cdef Py_ssize_t s, S = self.history.S
        if not self.by_likelihood:
            a[0] = rng.draw_index(S - 1)
            a[0] += a[0] >= self.chain
            b[0] = rng.draw_index(S - 2)
            b[0] += b[0] >= min(a[0], self.chain)
            b[0] += b[0] >= max(a[0], self.chain)
            return 0
        self.make_room(S)
        for s in range(S):
            self.lw[s] = -INFINITY if s == self.chain else self.history.log_lik(s, self.history.made[s] - 1)
        a[0] = self.draw_weighed(rng, S)
        self.lw[a[0]] = -INFINITY
        b[0] = self.draw_weighed(rng, S)
        return 0

    cdef int read_state(self, Rng rng, Py_ssize_t first, Py_ssize_t chains, int64_t begin, int64_t window,
                        int32_t *out) except -1 nogil:
        """Draw a state of these chains among their states from `begin` on, uniform or by likelihood."""
        cdef int64_t r, m = chains * window
        if self.by_likelihood:
            self.make_room(m)
            for r in range(m):
                self.lw[r] = self.history.log_lik(first + r // window, begin + r % window)
            r = self.draw_weighed(rng, m)
        else:
            r = rng.draw_index(m)
        return self.history.read(first + r // window, begin + r % window, out)

    cdef int make_room(self, Py_ssize_t m) except -1 nogil:
        """Room for m log weights, and behind them weights."""
        if m > self.room:
            with gil:
                self.lw = <double *> self.memory.larger(self.lw, 2 * self.room * sizeof(double), 4 * m * sizeof(double))
                self.room = 2 * m
        return 0

    cdef Py_ssize_t draw_weighed(self, Rng rng, Py_ssize_t m) noexcept nogil:
        """One of the log weights lw[:m]."""
        exp_weights(self.lw, m, self.lw + m)
        return rng.draw_categorical(self.lw + m, m)

    cdef bint draw_pair(self, Rng rng, Py_ssize_t *i, Py_ssize_t *j) noexcept nogil:
        """A pair, uniform among the ordered ones that one partition joins and the other parts; False if there is
        none. O(N)."""
        cdef Py_ssize_t g, h
        cdef int32_t a
        cdef int64_t total = 0, r
        memset(self.size_a, 0, self.N * sizeof(int32_t))
        memset(self.size_b, 0, self.N * sizeof(int32_t))
        memset(self.first, 255, self.N * sizeof(int32_t))
        for h in range(self.N - 1, -1, -1):
            a = self.za[h]
            self.size_a[a] += 1
            self.size_b[self.zb[h]] += 1
            self.then[h] = self.first[a]
            self.first[a] = <int32_t> h
        for a in range(<int32_t> self.N):
            if self.first[a] < 0:
                break
            h = self.first[a]
            while h >= 0:
                self.seen[self.zb[h]] = 0
                h = self.then[h]
            h = self.first[a]
            while h >= 0:
                self.seen[self.zb[h]] += 1
                h = self.then[h]
            h = self.first[a]
            while h >= 0:
                self.disagree[h] = self.size_a[a] + self.size_b[self.zb[h]] - 2 * self.seen[self.zb[h]]
                total += self.disagree[h]
                h = self.then[h]
        if total == 0:
            return False
        r = rng.draw_index(total)
        g = 0
        while r >= self.disagree[g]:
            r -= self.disagree[g]
            g += 1
        i[0] = g
        h = -1
        while r >= 0:
            h += 1
            r -= (self.za[h] == self.za[g]) != (self.zb[h] == self.zb[g])
        j[0] = h
        return True
