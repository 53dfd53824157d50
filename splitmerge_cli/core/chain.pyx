"""The compiled driver: chains make their steps and record their traces without the interpreter.

A chain advances alone or, if its sampler learns from the chains' history, together with the others in rounds of
one iteration each.
"""
import threading

from libc.math cimport INFINITY, exp2, floor, log, log2, round
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport qsort
from libc.string cimport memcpy

cdef extern from "time.h" nogil:
    ctypedef long time_t
    struct timespec:
        time_t tv_sec
        long tv_nsec
    int clock_gettime(int clock, timespec *t)
    int CLOCK_MONOTONIC

import numpy as np

from splitmerge_cli.core.history cimport History
from splitmerge_cli.core.memory cimport Memory, copy_ints, ints_of, longs_of
from splitmerge_cli.core.model cimport Model
from splitmerge_cli.core.partition cimport LARGEST
from splitmerge_cli.core.rng cimport Rng, flag_t
from splitmerge_cli.core.sampler cimport Sampler

from splitmerge_cli.core.checks import MOST_SECONDS, check_count, check_range
from splitmerge_cli.core.history import check_appearance
from splitmerge_cli.core.shared import as_array, share

cdef extern from "barrier.h" nogil:
    ctypedef struct barrier_t:
        int threads
        int arrived
        int round
        int failed
    int barrier_arrive(barrier_t *b)
    int barrier_round(barrier_t *b)
    void barrier_release(barrier_t *b)
    void barrier_fail(barrier_t *b)
    int barrier_wait(barrier_t *b, int round)

# A sampler in C's hands: make_step through a plain pointer, since Python references may not be handled without the
# interpreter lock.
ctypedef int (*step_t)(void *sampler, int64_t iteration, double *clock) except -1 nogil

cdef enum:
    # most numbers buffered in one call of advance
    MAX_PARTITION_CELLS = 8_000_000
    MAX_ROWS = 2_000_000
    MAX_SIZES = 1_000_000

# a chain ends here at the latest
cdef int64_t MAX_ITERATIONS = 1 << 62


cdef int step_of(Sampler s, int64_t iteration, double *clock) except -1 nogil:
    """A step, whose seconds are booked and the clock set on; NULL: not timed."""
    cdef double began = 0.0 if clock == NULL else clock[0]
    s.make_step()
    s.note_accepted(iteration)
    if clock != NULL:
        clock[0] = read_clock()
        s.seconds[s.move] += clock[0] - began
    return 0


cdef step_t STEP = <step_t> step_of


cdef int descending(const void *a, const void *b) noexcept nogil:
    return (<const int32_t *> b)[0] - (<const int32_t *> a)[0]


cdef inline double read_clock() noexcept nogil:
    cdef timespec t
    clock_gettime(CLOCK_MONOTONIC, &t)
    return t.tv_sec + 1e-9 * t.tv_nsec


class Halted(Exception):
    """An iteration was broken off; the chain has no state any more."""


cdef of_rows(Model model, labels):
    """Labels of rows, of labels of items, each ndarray with the items last; the same where every row is an item."""
    return labels if model.items is None else labels[..., model.items]


def _consecutive(truth):
    """True labels, numbered 0, 1, ...; -1 if they are not known."""
    labels, known = np.full(len(truth), -1, dtype=np.int32), truth >= 0
    labels[known] = np.unique(truth[known], return_inverse=True)[1]
    return {"truth": labels}


def _entropies(Py_ssize_t N):
    """n log n of 0 to N items, in units of 1 / per."""
    cdef Py_ssize_t n
    cdef int64_t[::1] nlogn = np.zeros(N + 1, dtype=np.int64)
    cdef double per = exp2(floor(60 - log2(N * log(N) + 1)))
    for n in range(1, N + 1):
        nlogn[n] = <int64_t> round(per * n * log(n))
    return {"nlogn": np.asarray(nlogn), "per": per}


cdef class Agreement:
    """Normalised mutual information and adjusted Rand index of a model's partition with the true labels, over the items
    that have one; kept until the partition changes.

    NMI is divided by the arithmetic mean of the two entropies; both are 1 for two partitions that agree entirely. Sums
    of n log n are fixed-point, so that they do not depend on the order of a cluster's items, which is no part of the
    state of a chain. Cost: O(N).
    """

    cdef Memory memory                  # of its arrays
    cdef tuple held                     # what all chains of a run share
    cdef const int32_t *truth           # [N] 0 .. T-1; -1 of an item without one
    cdef Py_ssize_t known               # items with one
    cdef int32_t *seen                  # [T] items of the cluster at hand by true label
    cdef const int64_t *nlogn           # [N + 1] n log n in units of 1 / per
    cdef double per                     # a power of 2: sums of nlogn stay below 2^61
    cdef int64_t truth_nlogn            # sums over true clusters of n log n
    cdef double truth_pairs             # and of n (n - 1) / 2
    cdef int64_t version
    cdef double nmi, ari

    def __init__(self, Model model, truth):
        self.memory = Memory()
        given = as_array(truth)
        if given.shape != (model.N,):
            raise ValueError(f"truth: expected {model.N} labels, got shape {given.shape}")
        model.keep_lists()
        labels, sums = share(_consecutive, given), share(_entropies, model.N)
        self.held = labels, sums
        self.truth, self.nlogn, self.per = ints_of(labels.truth), longs_of(sums.nlogn), sums.per
        counts = np.bincount(labels.truth[labels.truth >= 0])
        self.known = counts.sum()
        self.seen = self.memory.ints(len(counts))
        self.truth_nlogn = sum(self.nlogn[n] for n in counts)
        self.truth_pairs = float((counts * (counts - 1) / 2).sum())
        self.version = -1

    cdef void update(self, Model m) noexcept nogil:
        cdef Py_ssize_t k
        cdef Py_ssize_t known
        cdef int32_t i
        cdef int64_t whole = self.nlogn[self.known], cells = 0, ours = 0
        cdef double n, N = self.known, joint_pairs = 0.0, our_pairs = 0.0, expected, top, h1, h2
        if self.version == m.version:
            return
        self.version = m.version
        m.relist()
        for k in range(m.K):
            known = 0
            i = m.head[k]
            while i >= 0:
                if self.truth[i] >= 0:
                    self.seen[self.truth[i]] += 1
                    known += 1
                i = m.after[i]
            n = known
            ours += self.nlogn[known]
            our_pairs += n * (n - 1) / 2
            i = m.head[k]
            while i >= 0:
                n = self.seen[self.truth[i]] if self.truth[i] >= 0 else 0
                if n > 0:
                    cells += self.nlogn[<Py_ssize_t> n]
                    joint_pairs += n * (n - 1) / 2
                    self.seen[self.truth[i]] = 0
                i = m.after[i]
        # entropies, times N and `per`; mutual information over the mean of both
        h1 = whole - ours
        h2 = whole - self.truth_nlogn
        top = whole - ours - self.truth_nlogn + cells
        self.nmi = 1.0 if h1 + h2 < 1e-12 * self.per * N else top / (0.5 * (h1 + h2))
        expected = our_pairs * self.truth_pairs / (N * (N - 1) / 2) if N > 1 else 0.0
        top = 0.5 * (our_pairs + self.truth_pairs)
        self.ari = 1.0 if top == expected else (joint_pairs - expected) / (top - expected)


cdef class Rows:
    """The rows that a call of ``Chain.advance`` records: room for a number of them, and how many were filled."""

    cdef Py_ssize_t room, rows, partition_room, partition_rows
    cdef dict arrays
    cdef int64_t[::1] iteration, partition_iteration
    cdef double[::1] seconds, log_joint, log_lik, nmi, ari
    cdef double[:, ::1] hyper
    cdef tuple hyper_names
    cdef int32_t[::1] sizes
    cdef int64_t[::1] sizes_end
    cdef Py_ssize_t sizes_room, sizes_used
    cdef int32_t[::1] n_clusters, K, partition_K
    cdef double[:, ::1] largest
    cdef int32_t[:, ::1] partition_labels
    cdef bint parameters                # whether they are recorded
    cdef Model model

    def __init__(self, Chain chain, int64_t iterations):
        cdef Py_ssize_t N = chain.model.N
        self.model = chain.model
        # of a mixture that is collapsed: what all clusters have in common
        held = chain.model.recorded_parameters if chain.model.conjugate and chain.model.prior is not None else None
        cdef Py_ssize_t P = 0 if held is None else held.size
        self.parameters = P > 0
        self.room = min(MAX_ROWS, iterations // chain.thin + 2)
        if chain.partitions:
            self.partition_room = max(1, min(MAX_PARTITION_CELLS // max(N, P), iterations // chain.partitions + 2))
        scored = self.room if chain.agreement is not None else 0
        self.arrays = {
            "iteration": np.empty(self.room, dtype=np.int64), "seconds": np.empty(self.room),
            "log_joint": np.empty(self.room), "log_lik": np.empty(self.room),
            "n_clusters": np.empty(self.room, dtype=np.int32), "K": np.empty(self.room, dtype=np.int32),
            "largest": np.empty((self.room, LARGEST)),
            "partition_iteration": np.empty(self.partition_room, dtype=np.int64),
            "partition_K": np.empty(self.partition_room, dtype=np.int32),
            "partition_labels": np.empty((self.partition_room, N if self.partition_room else 0), dtype=np.int32),
            "nmi": np.empty(scored), "ari": np.empty(scored),
        }
        (self.iteration, self.seconds, self.log_joint, self.log_lik, self.n_clusters, self.K, self.largest,
         self.partition_iteration, self.partition_K, self.partition_labels, self.nmi, self.ari) = self.arrays.values()
        if P:
            self.arrays["partition_parameters"] = np.empty((self.partition_room, P))
        self.hyper_names = chain.model.hyperparameters
        self.hyper = np.empty((self.room, max(1, len(self.hyper_names))))
        # the sizes of one more row have room at any time
        self.sizes_room = MAX_SIZES + chain.model.kmax if chain.sizes else 0
        self.sizes = np.empty(self.sizes_room, dtype=np.int32)
        self.sizes_end = np.empty(self.room if chain.sizes else 0, dtype=np.int64)

    def collect(self):
        """dict of ndarray: the rows that were filled; no columns that the chain does not have."""
        out = {}
        for name, values in self.arrays.items():
            rows = self.partition_rows if name.startswith("partition_") else self.rows
            if len(values) or name not in ("nmi", "ari"):
                out[name] = values[:rows]
        if self.partition_room:
            out["partition_labels"] = of_rows(self.model, out["partition_labels"])
        for t, name in enumerate(self.hyper_names):
            out[name] = np.array(self.hyper[:self.rows, t])
        if self.sizes_room:
            out["sizes"] = np.asarray(self.sizes)[:self.sizes_used]
            out["sizes_end"] = np.asarray(self.sizes_end)[:self.rows]
        return out

    cdef void record_sizes(self, Model m) noexcept nogil:
        """Sizes of all clusters, the largest first."""
        cdef int32_t *out = &self.sizes[self.sizes_used]
        memcpy(out, m.size, m.K * sizeof(int32_t))
        qsort(out, m.K, sizeof(int32_t), descending)
        self.sizes_used += m.K
        self.sizes_end[self.rows] = self.sizes_used


cdef class Chain:
    """One Markov chain: a model in its start state, its generator, and a schedule of samplers, all owned by this chain.

    `samplers`: on this model and generator; without `weights` each makes a step in every iteration, in this order.
    `weights`, of the first samplers: one of these, drawn by weight, makes a step, then each of the others. `thin`:
    every thin-th iteration is recorded, the start as iteration 0. `partitions`: every n-th partition is recorded; 0
    none. `truth`: labels of shape (N,), with which NMI and ARI are recorded. `timing`: False records 0 seconds, so that
    two runs give the same bytes. `warmup`: a sampler that alone makes a step in each of the first iterations, and how
    many. `sizes`: the sizes of all clusters are recorded.
    """

    cdef Memory memory                  # of its arrays
    cdef readonly Model model
    cdef readonly Rng rng
    cdef readonly list samplers
    cdef void **steps                   # [n_steps] the samplers
    cdef double *weights                # [n_drawn]
    cdef Py_ssize_t n_steps
    cdef Py_ssize_t n_drawn             # of the first so many samplers one, drawn by weight, makes a step; 0: each does
    cdef Py_ssize_t thin, partitions
    cdef Agreement agreement
    cdef readonly bint timing
    cdef bint sizes                     # the sizes of all clusters are recorded
    cdef readonly int64_t iteration
    cdef readonly double seconds        # of sampling so far
    cdef flag_t stopping                # `advance` returns after the iteration at hand
    cdef bint begun                     # row 0 was recorded
    cdef readonly double best_log_joint
    cdef readonly int64_t best_iteration
    cdef int32_t *best                  # [N]
    cdef readonly double best_log_lik
    cdef readonly int64_t best_lik_iteration
    cdef int32_t *best_lik              # [N]
    cdef Sampler warmer                 # makes the steps of the first `warmup` iterations
    cdef int64_t warmup
    cdef History history                # where its partitions are recorded, for adaptive samplers; None: nowhere
    cdef Py_ssize_t number              # of this chain in it
    cdef int32_t *present               # [N]

    def __init__(self, Model model not None, Rng rng not None, samplers, weights=None, Py_ssize_t thin=1,
                 Py_ssize_t partitions=0, truth=None, bint timing=True, warmup=None, bint sizes=False):
        self.memory = Memory()
        cdef Py_ssize_t t
        self.samplers = list(samplers)
        if not self.samplers:
            raise ValueError("samplers: a chain needs at least one")
        self.warmer, self.warmup = warmup or (self.samplers[0], 0)
        for s in [*self.samplers, self.warmer]:
            if (<Sampler?> s).model is not model or (<Sampler> s).rng is not rng:
                raise ValueError("samplers: every one must work on the chain's own model and generator")
        if weights is not None and not (0 < len(weights) <= len(self.samplers) and min(weights) >= 0 < sum(weights)):
            raise ValueError("weights: expected one number of at least 0 for each of the first samplers, not all 0")
        if thin < 1:
            raise ValueError(f"thin: expected at least 1, got {thin}")
        if partitions < 0:
            raise ValueError(f"partitions: expected at least 0, got {partitions}")
        self.model, self.rng, self.thin, self.partitions, self.timing = model, rng, thin, partitions, timing
        self.sizes = sizes
        self.n_steps = len(self.samplers)
        self.steps = <void **> self.memory.doubles(self.n_steps)
        for t in range(self.n_steps):
            self.steps[t] = <void *> self.samplers[t]
        if weights is not None:
            self.n_drawn = len(weights)
            self.weights = self.memory.doubles(self.n_drawn)
            for t in range(self.n_drawn):
                self.weights[t] = weights[t]
        self.best = self.memory.ints(model.N)
        self.best_log_joint = -INFINITY
        self.best_lik = self.memory.ints(model.N)
        self.best_log_lik = -INFINITY
        self.present = self.memory.ints(model.N)
        if truth is not None:
            self.agreement = Agreement(model, truth)

    def set_threads(self, int threads):
        """Let every step use this many threads where its sampler can; what it does does not depend on it."""
        for sampler in [*self.samplers, self.warmer]:
            (<Sampler> sampler).threads = max(threads, 1)

    def stop(self):
        """Let ``advance`` return after the iteration that it makes, from whatever thread, now and ever after."""
        self.stopping = True

    def halt(self):
        """Break off the iteration that is being made, from whatever thread: `Halted` is raised where it is made. Full
        scans and restricted ones end within an item; what else an iteration does is done to its end."""
        self.stopping = True
        self.rng.halt()

    def adapt_to(self, History history not None, Py_ssize_t number):
        """Record every partition in this history, as the chain of this number, and let the samplers that can learn from
        it."""
        self.history, self.number = history, number
        for s in self.samplers:
            if hasattr(s, "adapt_to"):
                s.adapt_to(history, number)

    @property
    def log_joint(self):
        """float: log prior plus log likelihood of the present state."""
        return self.model.log_joint()

    @property
    def best_labels(self):
        """ndarray of int32, shape (rows,): the state of highest log joint among those recorded, numbered by first
        appearance."""
        return of_rows(self.model, copy_ints(self.best, self.model.N))

    @property
    def best_lik_labels(self):
        """ndarray of int32, shape (rows,): the state of highest log likelihood among those recorded, numbered by first
        appearance."""
        return of_rows(self.model, copy_ints(self.best_lik, self.model.N))

    @property
    def last_labels(self):
        """ndarray of int32, shape (rows,): the present state, numbered by first appearance."""
        self.number_by_appearance(self.present)
        return of_rows(self.model, copy_ints(self.present, self.model.N))

    cdef void number_by_appearance(self, int32_t *out) noexcept nogil:
        """Labels with clusters numbered 0, 1, ... in the order of their first items."""
        cdef Py_ssize_t i, k
        cdef int32_t n = 0
        # the model's list of all clusters supports as the map, and is put right again at the end
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
        cdef Py_ssize_t t, drawn = 0
        cdef double began = read_clock() if self.timing else 0.0, now = began
        cdef double *clock = &now if self.timing else NULL
        if self.iteration < self.warmup:
            STEP(<void *> self.warmer, self.iteration + 1, clock)
        else:
            if self.n_drawn:
                drawn = self.rng.draw_categorical(self.weights, self.n_drawn)
            for t in range(max(self.n_drawn - 1, 0), self.n_steps):
                STEP(self.steps[drawn if t < self.n_drawn else t], self.iteration + 1, clock)
        self.seconds += now - began
        return 0

    def advance(self, int64_t iterations, double budget=INFINITY, double wall=INFINITY):
        """Run at most that many more iterations, until ``seconds`` reaches the `budget`, or this call took `wall`
        seconds of real time; `Halted` is raised after ``halt``.

        Returns arrays by name, one row a recorded iteration: iteration, seconds, log_joint, log_lik, n_clusters, K,
        largest (rows, 5); with truth nmi, ari; the model's ``hyperparameters``; partition_iteration, partition_K,
        partition_labels (rows, N), and partition_parameters (rows, P) of a collapsed mixture that has ``parameters``;
        with sizes the sizes of all clusters in descending order, row after row, and sizes_end (rows,). Fewer iterations
        may have been made than asked for; see ``iteration``.
        """
        iterations = max(0, min(iterations, MAX_ITERATIONS - self.iteration))
        cdef Rows out = Rows(self, iterations)
        cdef int64_t last = self.iteration + iterations
        cdef double began = read_clock()
        with nogil:
            while not (self.begun and (self.iteration >= last or self.full(out) or self.seconds >= budget
                                       or read_clock() - began >= wall or self.stopping)):
                self.iterate(out)
        return out.collect()

    cdef bint full(self, Rows out) noexcept nogil:
        """Whether there is no room for a further row."""
        return (out.rows >= out.room or (out.partition_room > 0 and out.partition_rows >= out.partition_room)
                or (self.sizes and out.sizes_used + self.model.kmax > out.sizes_room))

    cdef int iterate(self, Rows out) except -1 nogil:
        """One iteration, or at the very first the start as it is; and what is to be recorded of it."""
        cdef double lj, ll
        cdef Py_ssize_t row = out.rows
        if self.begun:
            self.one_iteration()
            if self.rng.is_halted:
                raise Halted
            self.iteration += 1
        self.begun = True
        if self.history is not None:
            self.number_by_appearance(self.present)
            ll = self.model.log_lik_all() if self.history.weighs else 0.0
            self.history.record(self.number, self.present, ll)
        if self.iteration % self.thin == 0:
            ll = self.model.log_lik_all()
            lj = ll + self.model.log_prior_all() + self.model.log_extra()
            out.iteration[row] = self.iteration
            out.seconds[row] = self.seconds
            out.log_joint[row] = lj
            out.log_lik[row] = ll
            out.K[row] = <int32_t> self.model.K
            out.n_clusters[row] = self.model.five_largest(&out.largest[row, 0])
            self.model.write_hyperparameters(&out.hyper[row, 0])
            if self.sizes:
                out.record_sizes(self.model)
            if self.agreement is not None:
                self.agreement.update(self.model)
                out.nmi[row] = self.agreement.nmi
                out.ari[row] = self.agreement.ari
            out.rows += 1
            if lj > self.best_log_joint:
                self.best_log_joint = lj
                self.best_iteration = self.iteration
                self.number_by_appearance(self.best)
            if ll > self.best_log_lik:
                self.best_log_lik = ll
                self.best_lik_iteration = self.iteration
                self.number_by_appearance(self.best_lik)
        if self.partitions and self.iteration % self.partitions == 0:
            out.partition_iteration[out.partition_rows] = self.iteration
            out.partition_K[out.partition_rows] = <int32_t> self.model.K
            self.number_by_appearance(&out.partition_labels[out.partition_rows, 0])
            if out.parameters:
                # few states are recorded
                with gil:
                    out.arrays["partition_parameters"][out.partition_rows] = self.model.recorded_parameters[:, 0]
            out.partition_rows += 1
        return 0

    def moves(self):
        """list of dict: move, proposed, accepted, null, seconds, last_accepted, as ``Sampler.counts``, for every
        sampler since the chain began; one that stands in the schedule more than once is counted once."""
        rows = []
        for s in self.counted_samplers():
            rows.extend(s.counts())
        return rows

    def counted_samplers(self):
        """list of Sampler: each of the chain's samplers once, the one that warms up last unless it is among them."""
        return list(dict.fromkeys([*self.samplers, *([self.warmer] if self.warmup else [])]))

    cdef int take(self, labels, int32_t *out) except -1:
        cdef int32_t[::1] v = np.ascontiguousarray(labels, dtype=np.int32)
        check_appearance("best labels", labels, self.model.N)
        memcpy(out, &v[0], self.model.N * sizeof(int32_t))
        return 0

    @property
    def state(self):
        """dict: all that the chain needs to go on as if it had never stopped."""
        own = [s.own_state() for s in self.counted_samplers()]
        return ({} if all(state is None for state in own) else {"own": own}) | {
            "labels": self.model.labels,
            "K": self.model.K,
            "parameters": self.model.parameters,
            "hyperparameters": self.model.prior_values,
            "rng": self.rng.state,
            "iteration": self.iteration,
            "seconds": self.seconds,
            "begun": bool(self.begun),
            "best_labels": copy_ints(self.best, self.model.N),
            "best_log_joint": self.best_log_joint,
            "best_iteration": self.best_iteration,
            "best_lik_labels": copy_ints(self.best_lik, self.model.N),
            "best_log_lik": self.best_log_lik,
            "best_lik_iteration": self.best_lik_iteration,
            "counts": [s.counts() for s in self.counted_samplers()],
            "tallies": [s.tally() for s in self.counted_samplers()],
            "history": None if self.history is None else self.history.kept_states(self.number),
        }

    @state.setter
    def state(self, value):
        """Raises a ValueError for what is not the state of such a chain; this one may then be in another state than
        before, though a sound one."""
        try:
            self.check_state(value)
            self.take_up(value)
        except (AttributeError, IndexError, KeyError, OverflowError, TypeError) as error:
            raise ValueError(f"state of a chain: {type(error).__name__}: {error}") from error

    cdef int check_state(self, value) except -1:
        """Reject numbers out of range, and a state of another kind of chain."""
        for key, most in (("iteration", MAX_ITERATIONS), ("best_iteration", value["iteration"]),
                          ("best_lik_iteration", value["iteration"])):
            check_count(f"state of a chain: {key}", value[key], 0, most)
        check_range("state of a chain: seconds", value["seconds"], 0.0, MOST_SECONDS)
        for key in ("best_log_joint", "best_log_lik"):
            check_range(f"state of a chain: {key}", value[key], -INFINITY, INFINITY)
        if not isinstance(value["begun"], bool):
            raise ValueError(f"state of a chain: begun: expected true or false, got {value['begun']!r}")
        for key, kept in (("parameters", self.model.parameters is not None), ("history", self.history is not None)):
            if (value[key] is not None) != kept:
                raise ValueError(f"state of a chain: {key}: {'expected' if kept else 'expected none'}")
        if value["hyperparameters"].keys() != self.model.prior_values.keys():
            expected = ", ".join(self.model.prior_values) or "none"
            raise ValueError(f"state of a chain: hyperparameters: expected {expected}, got {value['hyperparameters']}")
        if self.history is not None and value["history"][0] != value["iteration"] + value["begun"]:
            raise ValueError(f"state of a chain: history: expected {value['iteration'] + value['begun']} states made, "
                             f"got {value['history'][0]}")
        return 0

    cdef int take_up(self, value) except -1:
        if self.model.N:                # items that are elsewhere are put into clusters there
            self.model.set_labels(value["labels"], value["K"])
        if value["parameters"] is not None:
            self.model.set_parameters(value["parameters"])
        self.model.set_prior_values(value["hyperparameters"])
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
        for s, rows in zip(self.counted_samplers(), value["counts"], strict=True):
            # a state of an earlier version does not say when a move was last accepted: not after its own iteration
            s.set_counts([{"last_accepted": self.iteration if row["accepted"] else 0} | row for row in rows])
        for s, tally in zip(self.counted_samplers(), value["tallies"], strict=True):
            s.set_tally(tally)
        for s, own in zip(self.counted_samplers(), value.get("own") or [None] * len(value["counts"]), strict=True):
            s.set_own_state(own)
        if self.history is not None:
            self.history.restore(self.number, *value["history"])
        if self.agreement is not None:
            self.agreement.version = -1
        return 0


# ---------------------------------------------------------------------------------------------------- chains together

ctypedef int (*iterate_t)(void *chain, void *rows) except -1 nogil
ctypedef bint (*ends_t)(void *chain, void *rows, double *seconds) noexcept nogil


cdef int iterate_of(Chain chain, Rows rows) except -1 nogil:
    return chain.iterate(rows)


cdef bint ends(Chain chain, Rows rows, double *seconds) noexcept nogil:
    """Whether a chain can go no further; its seconds are added."""
    seconds[0] += chain.seconds
    return chain.stopping or chain.full(rows)


cdef iterate_t ITERATE = <iterate_t> iterate_of
cdef ends_t ENDS = <ends_t> ends


cdef class Together:
    """Chains that advance in rounds of one iteration each, on a number of threads that meet after every round."""

    cdef Memory memory                  # of its arrays
    cdef list chains, rows
    cdef void **chain                   # [S]
    cdef void **row                     # [S]
    cdef Py_ssize_t S, threads
    cdef int64_t rounds, made           # rounds to make at the most; made
    cdef double budget, wall, began
    cdef bint stop
    cdef barrier_t barrier
    cdef object error

    def __init__(self, chains, int64_t iterations, double budget, double wall, Py_ssize_t threads):
        self.memory = Memory()
        cdef Py_ssize_t s
        self.chains = list(chains)
        self.S = len(self.chains)
        self.threads = max(1, min(threads, self.S))
        history = (<Chain> self.chains[0]).history
        if history is not None and history.present_only:
            # a chain sees what those before it did in the same round
            self.threads = 1
        self.rows = [Rows(c, iterations) for c in self.chains]
        self.chain = <void **> self.memory.doubles(self.S)
        self.row = <void **> self.memory.doubles(self.S)
        for s in range(self.S):
            self.chain[s], self.row[s] = <void *> self.chains[s], <void *> self.rows[s]
        self.rounds, self.budget, self.wall, self.began = iterations, budget, wall, read_clock()
        self.barrier.threads = <int> self.threads
        # the start is a round of its own
        self.rounds += not (<Chain> self.chains[0]).begun
        self.settle()

    cdef void settle(self) noexcept nogil:
        """Decide for all chains whether there is a further round."""
        cdef Py_ssize_t s
        cdef double seconds = 0.0
        cdef bint ended = False
        for s in range(self.S):
            ended |= ENDS(self.chain[s], self.row[s], &seconds)
        self.stop = (self.made >= self.rounds or ended
                     or (self.made > 0 and (seconds >= self.budget * self.S or read_clock() - self.began >= self.wall)))

    def work(self, Py_ssize_t worker):
        """Make the rounds of chains worker, worker + threads, ..."""
        cdef Py_ssize_t s
        cdef int at
        try:
            with nogil:
                while not self.stop:
                    s = worker
                    while s < self.S:
                        ITERATE(self.chain[s], self.row[s])
                        s += self.threads
                    at = barrier_round(&self.barrier)
                    if barrier_arrive(&self.barrier):
                        self.made += 1
                        self.settle()
                        barrier_release(&self.barrier)
                    elif barrier_wait(&self.barrier, at):
                        break
        except BaseException as error:
            self.error = error
            barrier_fail(&self.barrier)

    def run(self):
        """Make all rounds; returns the rows of every chain."""
        others = [threading.Thread(target=self.work, args=(w,), daemon=True) for w in range(1, self.threads)]
        for other in others:
            other.start()
        self.work(0)
        for other in others:
            other.join()
        if self.error is not None:
            raise self.error
        return [(<Rows> rows).collect() for rows in self.rows]


def advance_together(chains, int64_t iterations, double budget=INFINITY, double wall=INFINITY, Py_ssize_t workers=1):
    """Run chains of adaptive samplers at most that many more iterations, in rounds of one iteration each. All are at
    the same iteration. They stop when their mean ``seconds`` reaches `budget`, or when this call took `wall` seconds of
    real time. `workers`: threads, at the most; one where a chain must see what those before it did in the same round.
    What the chains do does not depend on it. Returns of each chain what ``Chain.advance`` returns."""
    if len({chain.iteration for chain in chains}) > 1:
        raise ValueError("chains: expected all at the same iteration")
    iterations = max(0, min(iterations, MAX_ITERATIONS - (<Chain> chains[0]).iteration))
    return Together(chains, iterations, budget, wall, workers).run()
