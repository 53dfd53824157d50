"""The compiled driver: one chain makes its steps and records its trace without the interpreter."""
from libc.math cimport INFINITY, log
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

cdef extern from "time.h" nogil:
    ctypedef long time_t
    struct timespec:
        time_t tv_sec
        long tv_nsec
    int clock_gettime(int clock, timespec *t)
    int CLOCK_MONOTONIC

import numpy as np

from splitmerge_cli._kernels cimport Model, Rng, Sampler, doubles

# A sampler in C's hands: make_step through a plain pointer, since Python references may not be handled without the
# interpreter lock.
ctypedef int (*step_t)(void *sampler) except -1 nogil
ctypedef void (*book_t)(void *sampler, double seconds) noexcept nogil

cdef enum:
    LARGEST = 5
    # most numbers buffered in one call of advance
    MAX_PARTITION_CELLS = 8_000_000
    MAX_ROWS = 2_000_000

# a chain ends here at the latest
cdef int64_t MAX_ITERATIONS = 1 << 62


cdef int step_of(Sampler s) except -1 nogil:
    return s.make_step()


cdef void book_of(Sampler s, double seconds) noexcept nogil:
    s.seconds[s.move] += seconds


cdef step_t STEP = <step_t> step_of
cdef book_t BOOK = <book_t> book_of


cdef inline double now() noexcept nogil:
    cdef timespec t
    clock_gettime(CLOCK_MONOTONIC, &t)
    return t.tv_sec + 1e-9 * t.tv_nsec


cdef class Agreement:
    """Normalised mutual information and adjusted Rand index of a model's partition with the true labels; kept until the
    partition changes.

    NMI is divided by the arithmetic mean of the two entropies; both are 1 for two partitions that agree entirely. Cost:
    O(N).
    """

    cdef int32_t *truth                 # [N] 0 .. T-1
    cdef int32_t *seen                  # [T] items of the cluster at hand by true label
    cdef double *nlogn                  # [N + 1]
    cdef double truth_nlogn, truth_pairs  # sums over true clusters of n log n and n (n - 1) / 2
    cdef int64_t version
    cdef double nmi, ari

    def __init__(self, Model model, truth):
        given = np.asarray(truth)
        if given.shape != (model.N,):
            raise ValueError(f"truth: expected {model.N} labels, got shape {given.shape}")
        cdef int32_t[::1] v = np.unique(given, return_inverse=True)[1].astype(np.int32)
        cdef Py_ssize_t n
        counts = np.bincount(v)
        self.truth = <int32_t *> doubles(model.N // 2 + 1)
        memcpy(self.truth, &v[0], model.N * sizeof(int32_t))
        self.seen = <int32_t *> doubles(len(counts) // 2 + 1)
        self.nlogn = doubles(model.N + 1)
        for n in range(1, model.N + 1):
            self.nlogn[n] = n * log(n)
        self.truth_nlogn = sum(self.nlogn[n] for n in counts)
        self.truth_pairs = float((counts * (counts - 1) / 2).sum())
        self.version = -1

    def __dealloc__(self):
        free(self.truth)
        free(self.seen)
        free(self.nlogn)

    cdef void update(self, Model m) noexcept nogil:
        cdef Py_ssize_t k
        cdef int32_t i
        cdef double n, N = m.N, cells = 0.0, joint_pairs = 0.0, ours = 0.0, our_pairs = 0.0, expected, top, h1, h2
        if self.version == m.version:
            return
        self.version = m.version
        for k in range(m.K):
            n = m.size[k]
            ours += self.nlogn[m.size[k]]
            our_pairs += n * (n - 1) / 2
            i = m.head[k]
            while i >= 0:
                self.seen[self.truth[i]] += 1
                i = m.after[i]
            i = m.head[k]
            while i >= 0:
                n = self.seen[self.truth[i]]
                if n > 0:
                    cells += self.nlogn[<Py_ssize_t> n]
                    joint_pairs += n * (n - 1) / 2
                    self.seen[self.truth[i]] = 0
                i = m.after[i]
        h1 = log(N) - ours / N
        h2 = log(N) - self.truth_nlogn / N
        # mutual information over the mean entropy
        self.nmi = 1.0 if h1 + h2 < 1e-12 else (log(N) + (cells - ours - self.truth_nlogn) / N) / (0.5 * (h1 + h2))
        expected = our_pairs * self.truth_pairs / (N * (N - 1) / 2) if N > 1 else 0.0
        top = 0.5 * (our_pairs + self.truth_pairs)
        self.ari = 1.0 if top == expected else (joint_pairs - expected) / (top - expected)


cdef class Chain:
    """One Markov chain: a model, its generator, and a schedule of samplers, all owned by this chain.

    Parameters
    ----------
    model : Model
        In its start state.
    rng : Rng
    samplers : sequence of Sampler
        On this model and generator. Without `weights`, each makes a step in every iteration, in this order.
    weights : sequence of float, optional
        One a sampler: each iteration, one sampler drawn by weight makes a step.
    thin : int
        Every thin-th iteration is recorded, and the start state as iteration 0.
    partitions : int
        Every n-th partition is recorded; 0 none.
    truth : array_like of int, shape (N,), optional
        True labels: NMI and ARI are recorded.
    timing : bool
        False records 0 seconds, so that two runs give the same bytes.
    """

    cdef readonly Model model
    cdef readonly Rng rng
    cdef readonly list samplers
    cdef void **steps                   # [n_steps] the samplers
    cdef double *weights                # [n_steps], or NULL for a cycle
    cdef Py_ssize_t n_steps
    cdef Py_ssize_t thin, partitions
    cdef Agreement agreement
    cdef readonly bint timing
    cdef readonly int64_t iteration
    cdef readonly double seconds        # of sampling so far
    cdef bint begun                     # row 0 was recorded
    cdef readonly double best_log_joint
    cdef readonly int64_t best_iteration
    cdef int32_t *best                  # [N]
    cdef readonly double best_log_lik
    cdef readonly int64_t best_lik_iteration
    cdef int32_t *best_lik              # [N]

    def __init__(self, Model model not None, Rng rng not None, samplers, weights=None, Py_ssize_t thin=1,
                 Py_ssize_t partitions=0, truth=None, bint timing=True):
        cdef Py_ssize_t t
        self.samplers = list(samplers)
        if not self.samplers:
            raise ValueError("samplers: a chain needs at least one")
        for s in self.samplers:
            if (<Sampler?> s).model is not model or (<Sampler> s).rng is not rng:
                raise ValueError("samplers: every one must work on the chain's own model and generator")
        if weights is not None and (len(weights) != len(self.samplers) or min(weights) < 0 or sum(weights) <= 0):
            raise ValueError("weights: expected one number of at least 0 a sampler, not all 0")
        if thin < 1:
            raise ValueError(f"thin: expected at least 1, got {thin}")
        if partitions < 0:
            raise ValueError(f"partitions: expected at least 0, got {partitions}")
        self.model, self.rng, self.thin, self.partitions, self.timing = model, rng, thin, partitions, timing
        self.n_steps = len(self.samplers)
        self.steps = <void **> doubles(self.n_steps)
        if weights is not None:
            self.weights = doubles(self.n_steps)
        for t in range(self.n_steps):
            self.steps[t] = <void *> self.samplers[t]
            if weights is not None:
                self.weights[t] = weights[t]
        self.best = <int32_t *> doubles(model.N // 2 + 1)
        self.best_log_joint = -INFINITY
        self.best_lik = <int32_t *> doubles(model.N // 2 + 1)
        self.best_log_lik = -INFINITY
        if truth is not None:
            self.agreement = Agreement(model, truth)

    def __dealloc__(self):
        free(self.steps)
        free(self.weights)
        free(self.best)
        free(self.best_lik)

    @property
    def log_joint(self):
        """float: log prior plus log likelihood of the present state."""
        return self.model.log_joint()

    @property
    def best_labels(self):
        """ndarray of int32, shape (N,): the state of highest log joint among those recorded, numbered by first
        appearance."""
        return self.copied(self.best)

    @property
    def best_lik_labels(self):
        """ndarray of int32, shape (N,): the state of highest log likelihood among those recorded, numbered by first
        appearance."""
        return self.copied(self.best_lik)

    @property
    def last_labels(self):
        """ndarray of int32, shape (N,): the present state, numbered by first appearance."""
        out = np.empty(self.model.N, dtype=np.int32)
        cdef int32_t[::1] v = out
        self.number_by_appearance(&v[0])
        return out

    cdef copied(self, const int32_t *labels):
        out = np.empty(self.model.N, dtype=np.int32)
        cdef int32_t[::1] v = out
        memcpy(&v[0], labels, self.model.N * sizeof(int32_t))
        return out

    cdef void number_by_appearance(self, int32_t *out) noexcept nogil:
        """Labels with clusters numbered 0, 1, ... in the order of their first items."""
        cdef Py_ssize_t i, k
        cdef int32_t n = 0
        # the model's list of all clusters serves as the map, and is put right again at the end
        cdef int32_t *number = self.model.numbers
        for k in range(self.model.K):
            number[k] = -1
        for i in range(self.model.N):
            k = self.model.z[i]
            if number[k] < 0:
                number[k] = n
                n += 1
            out[i] = number[k]
        for k in range(self.model.K):
            number[k] = <int32_t> k

    cdef int one_iteration(self) except -1 nogil:
        cdef Py_ssize_t t
        cdef double start = 0.0, end
        if self.weights != NULL:
            t = self.rng.draw_categorical(self.weights, self.n_steps)
            start = now() if self.timing else 0.0
            STEP(self.steps[t])
            if self.timing:
                end = now()
                self.book(self.steps[t], end - start)
            return 0
        if self.timing:
            start = now()
        for t in range(self.n_steps):
            STEP(self.steps[t])
            if self.timing:
                end = now()
                self.book(self.steps[t], end - start)
                start = end
        return 0

    cdef void book(self, void *sampler, double seconds) noexcept nogil:
        self.seconds += seconds
        BOOK(sampler, seconds)

    def advance(self, int64_t iterations, double budget=INFINITY, double wall=INFINITY):
        """Run at most that many more iterations.

        Parameters
        ----------
        iterations : int
        budget : float
            Stop when ``seconds`` reaches it.
        wall : float
            Stop when this call took that many seconds of real time.

        Returns
        -------
        dict of ndarray
            One row a recorded iteration: iteration, seconds, log_joint, log_lik, n_clusters, K, largest (rows, 5); with
            truth nmi, ari; where it is resampled concentration; partition_iteration, partition_K, partition_labels
            (rows, N). Fewer iterations may have been made than asked for; see ``iteration``.
        """
        iterations = max(0, min(iterations, MAX_ITERATIONS - self.iteration))
        cdef Py_ssize_t room = min(MAX_ROWS, iterations // self.thin + 2), proom = 0, rows = 0, prows = 0
        cdef int64_t last = self.iteration + iterations
        cdef double began = now()
        cdef bint with_truth = self.agreement is not None
        cdef Py_ssize_t N = self.model.N
        if self.partitions:
            proom = max(1, min(MAX_PARTITION_CELLS // N, iterations // self.partitions + 2))
        it = np.empty(room, dtype=np.int64)
        seconds = np.empty(room)
        log_joint = np.empty(room)
        log_lik = np.empty(room)
        n_clusters = np.empty(room, dtype=np.int32)
        K = np.empty(room, dtype=np.int32)
        largest = np.empty((room, LARGEST))
        concentration = np.empty(room if self.model.random_concentration else 0)
        nmi = np.empty(room if with_truth else 0)
        ari = np.empty(room if with_truth else 0)
        p_it = np.empty(proom, dtype=np.int64)
        p_K = np.empty(proom, dtype=np.int32)
        p_labels = np.empty((proom, N if proom else 0), dtype=np.int32)
        cdef int64_t[::1] v_it = it, vp_it = p_it
        cdef double[::1] v_sec = seconds, v_lj = log_joint, v_ll = log_lik, v_nmi = nmi, v_ari = ari
        cdef double[::1] v_concentration = concentration
        cdef int32_t[::1] v_nc = n_clusters, v_K = K, vp_K = p_K
        cdef double[:, ::1] v_top = largest
        cdef int32_t[:, ::1] vp_labels = p_labels
        cdef Model m = self.model
        cdef double lj, ll
        cdef bint first = not self.begun
        with nogil:
            while True:
                if not first:
                    if (self.iteration >= last or rows >= room or (proom and prows >= proom)
                            or self.seconds >= budget or now() - began >= wall):
                        break
                    self.one_iteration()
                    self.iteration += 1
                first = False
                self.begun = True
                if self.iteration % self.thin == 0:
                    ll = m.log_lik(m.numbers, m.K)
                    lj = ll + m.log_prior(m.size, m.K, m.K) + m.log_extra()
                    v_it[rows] = self.iteration
                    v_sec[rows] = self.seconds
                    v_lj[rows] = lj
                    v_ll[rows] = ll
                    v_K[rows] = <int32_t> m.K
                    v_nc[rows] = self.five_largest(&v_top[rows, 0])
                    if m.random_concentration:
                        v_concentration[rows] = m.concentration
                    if with_truth:
                        self.agreement.update(m)
                        v_nmi[rows] = self.agreement.nmi
                        v_ari[rows] = self.agreement.ari
                    rows += 1
                    if lj > self.best_log_joint:
                        self.best_log_joint = lj
                        self.best_iteration = self.iteration
                        self.number_by_appearance(self.best)
                    if ll > self.best_log_lik:
                        self.best_log_lik = ll
                        self.best_lik_iteration = self.iteration
                        self.number_by_appearance(self.best_lik)
                if self.partitions and self.iteration % self.partitions == 0:
                    vp_it[prows] = self.iteration
                    vp_K[prows] = <int32_t> m.K
                    self.number_by_appearance(&vp_labels[prows, 0])
                    prows += 1
        out = {
            "iteration": it[:rows], "seconds": seconds[:rows], "log_joint": log_joint[:rows], "log_lik": log_lik[:rows],
            "n_clusters": n_clusters[:rows], "K": K[:rows], "largest": largest[:rows],
            "partition_iteration": p_it[:prows], "partition_K": p_K[:prows], "partition_labels": p_labels[:prows],
        }
        if self.model.random_concentration:
            out["concentration"] = concentration[:rows]
        if with_truth:
            out["nmi"] = nmi[:rows]
            out["ari"] = ari[:rows]
        return out

    cdef int32_t five_largest(self, double *top) noexcept nogil:
        """Fractions of the items in the five largest clusters; returns the number of clusters that hold items."""
        cdef Py_ssize_t k
        cdef int s
        cdef int32_t n, swap, occupied = 0
        cdef int32_t best[LARGEST]
        for s in range(LARGEST):
            best[s] = 0
        for k in range(self.model.K):
            n = self.model.size[k]
            occupied += n > 0
            if n > best[LARGEST - 1]:
                for s in range(LARGEST):
                    if n > best[s]:
                        swap = best[s]
                        best[s] = n
                        n = swap
        for s in range(LARGEST):
            top[s] = <double> best[s] / self.model.N
        return occupied

    def moves(self):
        """list of dict: move, proposed, accepted, null, seconds of every sampler of the chain, since it began.

        A sampler that stands in the schedule more than once is counted once.
        """
        rows = []
        for s in dict.fromkeys(self.samplers):
            rows.extend(s.counts())
        return rows

    cdef int take(self, labels, int32_t *out) except -1:
        cdef int32_t[::1] v = np.ascontiguousarray(labels, dtype=np.int32)
        memcpy(out, &v[0], self.model.N * sizeof(int32_t))
        return 0

    @property
    def state(self):
        """dict: all that the chain needs to go on as if it had never stopped."""
        return {
            "labels": self.model.labels,
            "K": self.model.K,
            "parameters": self.model.parameters,
            "concentration": self.model.concentration if self.model.random_concentration else None,
            "rng": self.rng.state,
            "iteration": self.iteration,
            "seconds": self.seconds,
            "begun": bool(self.begun),
            "best_labels": self.best_labels,
            "best_log_joint": self.best_log_joint,
            "best_iteration": self.best_iteration,
            "best_lik_labels": self.best_lik_labels,
            "best_log_lik": self.best_log_lik,
            "best_lik_iteration": self.best_lik_iteration,
            "counts": [s.counts() for s in self.samplers],
        }

    @state.setter
    def state(self, value):
        self.model.set_labels(value["labels"], value["K"])
        if value["parameters"] is not None:
            self.model.set_parameters(value["parameters"])
        if value["concentration"] is not None:
            self.model.set_concentration(value["concentration"])
        self.rng.state = value["rng"]
        self.iteration = value["iteration"]
        self.seconds = value["seconds"]
        self.begun = value["begun"]
        self.best_log_joint = value["best_log_joint"]
        self.best_iteration = value["best_iteration"]
        self.best_log_lik = value["best_log_lik"]
        self.best_lik_iteration = value["best_lik_iteration"]
        self.take(value["best_labels"], self.best)
        self.take(value["best_lik_labels"], self.best_lik)
        for s, rows in zip(self.samplers, value["counts"], strict=True):
            s.set_counts(rows)
        if self.agreement is not None:
            self.agreement.version = -1
