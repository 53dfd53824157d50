# What a sampler is made of. See docs/design.md.
cimport cython
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from splitmerge_cli.core.memory cimport Memory
from splitmerge_cli.core.model cimport Model
from splitmerge_cli.core.recording cimport NAMED
from splitmerge_cli.core.rng cimport Rng


cdef enum:
    MAX_MOVES = 8
    MAX_TERMS = 8


cdef class Sampler:
    cdef Memory memory              # of its arrays
    cdef readonly Model model
    cdef readonly Rng rng
    cdef readonly dict options          # values of OPTIONS, as read
    cdef readonly tuple moves           # names of its moves on this model: MOVES, and what a sampler adds to them
    cdef readonly bint as_printed       # mode=as_printed
    cdef public int threads             # that a step may use; what it does does not depend on it
    cdef readonly int scans             # full Gibbs scans that the schedule `full_scan` makes after each step
    cdef readonly double last_log_ratio  # of the last decision; nan when the move was null
    cdef readonly bint rejected_early   # last_log_ratio is an upper bound: not all terms were evaluated
    cdef int move                       # index in MOVES of the move under way
    cdef bint on[MAX_TERMS]             # which terms of the ratio count (all, but in as_printed mode and for mutants)
    cdef double value[MAX_TERMS]        # what each term adds to the ratio of the last proposal, counted or not
    cdef int64_t proposed[MAX_MOVES]
    cdef int64_t accepted[MAX_MOVES]
    cdef int64_t null_proposals[MAX_MOVES]
    cdef int64_t noted[MAX_MOVES]       # accepted, when a chain last looked
    cdef int64_t last_accepted[MAX_MOVES]  # the last iteration of the chain in which one was; 0: none
    cdef double seconds[MAX_MOVES]

    cdef int make_step(self) except -1 nogil
    cdef Py_ssize_t parts(self) noexcept nogil
    cdef int make_part(self, Py_ssize_t part) except -1 nogil
    cdef double log_split_ratio(self, Py_ssize_t c, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cdef double log_merge_ratio(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil

    @cython.final
    cdef inline void propose(self, int move) noexcept nogil:
        """Start a move of this kind."""
        self.move = move
        self.proposed[move] += 1
        self.last_log_ratio = 0.0
        self.rejected_early = False
        memset(self.value, 0, MAX_TERMS * sizeof(double))
        self.rng.threshold_drawn = False

    @cython.final
    cdef inline void note_accepted(self, int64_t iteration) noexcept nogil:
        """Note which moves the iteration has accepted."""
        cdef int t
        for t in range(MAX_MOVES):
            if self.accepted[t] != self.noted[t]:
                self.noted[t] = self.accepted[t]
                self.last_accepted[t] = iteration

    @cython.final
    cdef inline void turn_to(self, int move) noexcept nogil:
        """The move under way is of another kind than was announced."""
        self.proposed[self.move] -= 1
        self.propose(move)

    @cython.final
    cdef inline double term(self, int name, double value) noexcept nogil:
        """Contribution of a named term to the log ratio, in the direction of the move; 0 when it is switched off."""
        self.value[name] = value
        return value if self.on[name] else 0.0

    @cython.final
    cdef inline bint survives(self, double log_bound) noexcept nogil:
        """Whether the proposal survives an upper bound of its log ratio: else it is rejected early. What is evaluated
        between this and ``decide`` must draw nothing."""
        if self.rng.draw_bound(log_bound):
            return True
        self.last_log_ratio = log_bound
        self.rejected_early = True
        return False

    @cython.final
    cdef inline bint decide(self, double log_ratio) noexcept nogil:
        """Metropolis-Hastings: accept the proposal or leave the state."""
        self.last_log_ratio = log_ratio
        if self.rng.draw_accept(log_ratio):
            self.accepted[self.move] += 1
            return True
        return False

    cdef double log_ratio_of(self, const int32_t *ks, Py_ssize_t new, Py_ssize_t old) noexcept nogil
    cdef int null(self) noexcept nogil

    # -- choices of clusters: they go by the names of clusters where chains are coupled, and by their numbers else
    @cython.final
    cdef inline Py_ssize_t draw_cluster(self, Py_ssize_t K) noexcept nogil:
        """Uniform on the first K clusters."""
        return self.rng.draw_cluster(K, self.model.name)

    @cython.final
    cdef inline Py_ssize_t draw_other_cluster(self, Py_ssize_t K, Py_ssize_t i) noexcept nogil:
        """Uniform on the first K clusters but i."""
        return self.rng.draw_other_cluster(K, self.model.name, i)

    @cython.final
    cdef inline void draw_two_clusters(self, Py_ssize_t K, Py_ssize_t *i, Py_ssize_t *j) noexcept nogil:
        """Two different ones of the first K clusters, every ordered pair as likely as another."""
        self.rng.draw_two_clusters(K, self.model.name, i, j)

    @cython.final
    cdef inline Py_ssize_t draw_cluster_by(self, const double *w, Py_ssize_t K) noexcept nogil:
        """Cluster k with probability w[k] / sum(w)."""
        return self.rng.draw_option(NAMED, -1, w, K, self.model.name)


cdef class ItemUpdates(Sampler):
    cdef readonly bint full             # of all items in turn

    cdef Py_ssize_t update_items(self, Py_ssize_t first, Py_ssize_t n) except -1 nogil
    cdef int update(self, Py_ssize_t first, Py_ssize_t n) except -1 nogil
