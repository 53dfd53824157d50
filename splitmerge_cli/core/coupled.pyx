"""Two chains that are coupled: each is a chain of its own, and they meet.

X is ahead of Y by a lag. X makes `lag` iterations alone; from then on an iteration of X and one of Y are made together,
step by step: X makes a step and its draws are recorded, Y makes the same step and couples its draws with those recorded
(``core/recording.pyx``). Once they are in the same state they stay in it, and Y need not be simulated any more.

Clusters of X and Y are matched before every step, or part of a scan, by the number of items that they have in common:
the largest number first. A draw of a cluster is a maximal coupling over matched clusters; a cluster that an item founds
in one chain is matched with that which it founds in the other.

A chain with replicas under other powers of the likelihood (``core/tempering.py``) is all of them: a step of a replica
is coupled with the same replica of the other chain, a swap by one uniform number, and the chains have met when
each replica of X is in the state of Y's.

Sources: Jacob, O'Leary and Atchade 2020 (unbiased estimates); Biswas, Jacob and Vanetti 2019 (lags); Nguyen, Trippe and
Broderick 2022 (labels of partitions).
"""
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, qsort
from libc.string cimport memset

import numpy as np

from splitmerge_cli.core.memory cimport Memory, doubles
from splitmerge_cli.core.model cimport Model
from splitmerge_cli.core.partition cimport LARGEST
from splitmerge_cli.core.recording cimport cell_t
from splitmerge_cli.core.rng cimport ALONE, FOLLOW, LEAD, Rng
from splitmerge_cli.core.sampler cimport Sampler

# through plain pointers, since Python references may not be handled without the interpreter lock
ctypedef int (*part_t)(void *sampler, Py_ssize_t part) except -1 nogil
ctypedef Py_ssize_t (*parts_t)(void *sampler) noexcept nogil

cdef int part_of(Sampler s, Py_ssize_t part) except -1 nogil:
    return s.make_part(part)


cdef Py_ssize_t parts_of(Sampler s) noexcept nogil:
    return s.parts()


cdef part_t PART = <part_t> part_of
cdef parts_t PARTS = <parts_t> parts_of

# the same of two models
ctypedef int (*match_t)(void *chains, void *x, void *y) except -1 nogil
ctypedef bint (*same_t)(void *chains, void *x, void *y) noexcept nogil

cdef int match_of(CoupledChains chains, Model x, Model y) except -1 nogil:
    return chains.match(x, y)


cdef bint is_same(CoupledChains chains, Model x, Model y) noexcept nogil:
    return chains.are_equal(x, y)


cdef match_t MATCH = <match_t> match_of
cdef same_t SAME = <same_t> is_same


cdef int by_key(const void *a, const void *b) noexcept nogil:
    cdef int64_t p = (<const int64_t *> a)[0], q = (<const int64_t *> b)[0]
    return (p > q) - (p < q)


cdef int by_items(const void *a, const void *b) noexcept nogil:
    cdef int64_t p = (<const cell_t *> a).items, q = (<const cell_t *> b).items
    if p != q:
        return 1 if p < q else -1
    return by_key(a, b)


cdef enum:
    HYPER = 3 + LARGEST                 # column of the first hyper-parameter


cdef void record_of(Model m, double *row) noexcept nogil:
    row[0] = m.five_largest(row + 3)
    row[1] = m.K
    row[2] = m.log_lik_all() + m.log_prior_all() + m.log_extra()
    m.write_hyperparameters(row + HYPER)


cdef void add_pairs(double *total, int32_t *z, Py_ssize_t N, double weight) noexcept nogil:
    """Add a weight to every pair of items that are in one cluster, pairs (0, 1), (0, 2), ..., (1, 2), ..."""
    cdef Py_ssize_t i, j
    for i in range(N - 1):
        for j in range(i + 1, N):
            total[j - i - 1] += weight * (z[i] == z[j])
        total += N - 1 - i


cdef class CoupledChains:
    """Two coupled chains, X and Y: models of the same data and options, each in its start state, and one generator.

    `samplers_x`, `samplers_y`: the same, on x and on y, with `weights` of the first ones, as in `Chain`. `lag`:
    iterations by which X is ahead. `coupling`: how draws of a cluster are coupled, ``maximal``, ``common`` or
    ``transport`` (``core/recording.pyx``). `replicas_x`, `replicas_y`: other models that samplers work on, in the order
    in which they correspond.

    ``iteration`` is the one of X; Y has made `lag` fewer, or none. ``meeting`` is the first iteration t of X, at least
    `lag`, at which X is in the state of Y after t - `lag`; -1: not yet.
    """

    cdef Memory memory                  # of its arrays
    cdef readonly Model x, y
    cdef readonly Rng rng
    cdef readonly list samplers_x, samplers_y
    cdef readonly list models_x, models_y  # of the chain, then of its replicas
    cdef readonly int64_t lag, iteration, meeting
    cdef void **steps_x
    cdef void **steps_y
    cdef double *weights                # [n_drawn]
    cdef Py_ssize_t n_steps
    cdef void **levels_x                # [n_levels] models
    cdef void **levels_y
    cdef Py_ssize_t n_levels
    cdef int32_t *level                 # [n_steps] which model a sampler works on
    cdef Py_ssize_t n_drawn             # of the first so many samplers one, drawn by weight, makes a step; 0: each does
    cdef bint begun                     # the start was recorded
    cdef Py_ssize_t columns             # of a row
    cdef int32_t *dense                 # [4 N + 64, kmax at least] items in common, where clusters are few
    cdef int64_t *keys                  # [N]
    cdef cell_t *cells                  # [N]
    cdef int32_t *match_of_x            # [room] cluster of Y, or -1
    cdef int32_t *match_of_y
    cdef Py_ssize_t match_room
    cdef double *together               # [N (N - 1) / 2] weighted sums of what is together; NULL: not asked for
    cdef int64_t k, m                   # of the estimates in `together`

    def __init__(self, Model x not None, Model y not None, Rng rng not None, samplers_x, samplers_y, int64_t lag,
                 weights=None, str coupling="maximal", replicas_x=(), replicas_y=()):
        self.memory = Memory()
        cdef Py_ssize_t t
        if x.N != y.N or type(x) is not type(y):
            raise ValueError("models: expected two of the same class and data")
        if x.prior is None:
            raise ValueError("models: expected a prior of the partition")
        if lag < 1:
            raise ValueError(f"lag: expected at least 1, got {lag}")
        self.samplers_x, self.samplers_y = list(samplers_x), list(samplers_y)
        if len(self.samplers_x) != len(self.samplers_y) or not self.samplers_x:
            raise ValueError("samplers: expected the same ones for both chains, and at least one")
        self.models_x, self.models_y = [x, *replicas_x], [y, *replicas_y]
        if len(self.models_x) != len(self.models_y):
            raise ValueError("replicas: expected as many of one chain as of the other")
        for one, other in zip(self.models_x, self.models_y):
            if (<Model?> one).N != x.N or (<Model?> other).N != x.N or type(one) is not type(other):
                raise ValueError("replicas: expected two of the same class and data")
            if (<Model> one).prior is None or (<Model> one).kmax != x.kmax or (<Model> other).kmax != x.kmax:
                raise ValueError("replicas: expected a prior of the partition, and as many clusters at most")
        level_x, level_y = ([], [])
        for models, samplers, found in ((self.models_x, self.samplers_x, level_x),
                                        (self.models_y, self.samplers_y, level_y)):
            number = {id(model): level for level, model in enumerate(models)}
            for s in samplers:
                if id((<Sampler?> s).model) not in number or (<Sampler> s).rng is not rng:
                    raise ValueError("samplers: every one must work on its chain's model and on the common generator")
                found.append(number[id((<Sampler> s).model)])
        if level_x != level_y:
            raise ValueError("samplers: expected the same ones for both chains, and at least one")
        if weights is not None and not 0 < len(weights) <= len(self.samplers_x):
            raise ValueError("weights: expected one number for each of the first samplers")
        self.x, self.y, self.rng, self.lag, self.meeting = x, y, rng, lag, -1
        self.n_steps = len(self.samplers_x)
        self.steps_x = <void **> self.memory.doubles(self.n_steps)
        self.steps_y = <void **> self.memory.doubles(self.n_steps)
        for t in range(self.n_steps):
            self.steps_x[t], self.steps_y[t] = <void *> self.samplers_x[t], <void *> self.samplers_y[t]
        self.n_levels = len(self.models_x)
        self.levels_x = <void **> self.memory.doubles(self.n_levels)
        self.levels_y = <void **> self.memory.doubles(self.n_levels)
        for t in range(self.n_levels):
            self.levels_x[t], self.levels_y[t] = <void *> self.models_x[t], <void *> self.models_y[t]
        self.level = self.memory.ints(self.n_steps)
        for t in range(self.n_steps):
            self.level[t] = level_x[t]
        if weights is not None:
            self.n_drawn = len(weights)
            self.weights = self.memory.doubles(self.n_drawn)
            for t in range(self.n_drawn):
                self.weights[t] = weights[t]
        self.columns = HYPER + len(x.hyperparameters)
        # where empty clusters are kept there may be more of them than items
        self.dense = self.memory.ints(max(4 * x.N + 64, x.kmax))
        self.keys = <int64_t *> self.memory.doubles(x.N)
        self.cells = <cell_t *> self.memory.doubles(2 * x.N)
        for model in (*self.models_x, *self.models_y):
            (<Model?> model).name_clusters()
        rng.couple(max(x.N, x.kmax), coupling)

    def __dealloc__(self):
        free(self.together)

    # -- clusters in common
    cdef Py_ssize_t count_common(self, Model x, Model y) noexcept nogil:
        """Pairs of clusters that have items in common, in `cells`, by key; returns how many."""
        cdef Py_ssize_t i, n = 0, N = x.N
        cdef int64_t columns = y.K, all_cells = x.K * columns, c
        if all_cells <= 4 * N + 64:
            memset(self.dense, 0, all_cells * sizeof(int32_t))
            for i in range(N):
                self.dense[x.z[i] * columns + y.z[i]] += 1
            for c in range(all_cells):
                if self.dense[c]:
                    self.cells[n].key, self.cells[n].items = c, self.dense[c]
                    n += 1
            return n
        for i in range(N):
            self.keys[i] = x.z[i] * columns + y.z[i]
        qsort(self.keys, N, sizeof(int64_t), by_key)
        for i in range(N):
            if i and self.keys[i] == self.keys[i - 1]:
                self.cells[n - 1].items += 1
            else:
                self.cells[n].key, self.cells[n].items = self.keys[i], 1
                n += 1
        return n

    cdef int match(self, Model x, Model y) except -1 nogil:
        """Name clusters: a cluster of X and one of Y that are matched have the same name."""
        cdef Py_ssize_t k, t, n, room
        cdef int32_t a, b, name = 0, other
        if max(x.K, y.K) > self.match_room:
            room = 2 * max(x.K, y.K) + 8
            with gil:
                self.match_of_x = <int32_t *> self.memory.larger(self.match_of_x, self.match_room * 4, room * 4)
                self.match_of_y = <int32_t *> self.memory.larger(self.match_of_y, self.match_room * 4, room * 4)
            self.match_room = room
        for k in range(x.K):
            self.match_of_x[k] = -1
            x.name[k] = -1
        for k in range(y.K):
            self.match_of_y[k] = -1
            y.name[k] = -1
        n = self.count_common(x, y)
        qsort(self.cells, n, sizeof(cell_t), by_items)
        for t in range(n):
            a = <int32_t> (self.cells[t].key // y.K)
            b = <int32_t> (self.cells[t].key - a * <int64_t> y.K)
            if self.match_of_x[a] < 0 and self.match_of_y[b] < 0:
                self.match_of_x[a], self.match_of_y[b] = b, a
                x.name[a] = y.name[b] = name
                name += 1
        # clusters that have nothing in common, the empty ones among them, in their order
        other = name
        for k in range(x.K):
            if x.name[k] < 0:
                x.name[k] = name
                name += 1
        for k in range(y.K):
            if y.name[k] < 0:
                y.name[k] = other
                other += 1
        self.rng.recording.tabulate(self.cells, n, x.name, x.size, x.z, x.K, y.name, y.size, y.z, y.K, x.N)
        return 0

    cdef bint equal(self) noexcept nogil:
        """Whether X and Y are in the same state, and so are their replicas."""
        cdef Py_ssize_t t
        for t in range(self.n_levels):
            if not SAME(<void *> self, self.levels_x[t], self.levels_y[t]):
                return False
        return True

    cdef bint are_equal(self, Model x, Model y) noexcept nogil:
        """Whether two models are in the same state."""
        cdef Py_ssize_t i, k
        cdef int32_t *twin = self.dense
        if x.K != y.K:
            return False
        for k in range(x.prior.n_hyperparameters):
            if x.prior.value[k] != y.prior.value[k]:
                return False
        for k in range(x.K):
            twin[k] = -1
        for i in range(x.N):
            k = x.z[i]
            if twin[k] < 0:
                twin[k] = y.z[i]
                if x.size[k] != y.size[twin[k]]:
                    return False
            elif twin[k] != y.z[i]:
                return False
        return x.same_parameters(y, twin)

    # -- iterations
    cdef int step_together(self, Py_ssize_t t) except -1 nogil:
        """A step of sampler t in both chains."""
        cdef Py_ssize_t part
        for part in range(PARTS(self.steps_x[t])):
            MATCH(<void *> self, self.levels_x[self.level[t]], self.levels_y[self.level[t]])
            self.rng.recording.clear()
            self.rng.take_role(LEAD)
            PART(self.steps_x[t], part)
            self.rng.take_role(FOLLOW)
            PART(self.steps_y[t], part)
        self.rng.take_role(ALONE)
        return 0

    cdef int step_alone(self, Py_ssize_t t) except -1 nogil:
        cdef Py_ssize_t part
        for part in range(PARTS(self.steps_x[t])):
            PART(self.steps_x[t], part)
        return 0

    cdef int iterate(self) except -1 nogil:
        cdef bint together = self.iteration >= self.lag and self.meeting < 0
        cdef Py_ssize_t t, step, drawn = 0
        if self.n_drawn:
            drawn = self.rng.draw_categorical(self.weights, self.n_drawn)
        for t in range(max(self.n_drawn - 1, 0), self.n_steps):
            step = drawn if t < self.n_drawn else t
            if together:
                self.step_together(step)
            else:
                self.step_alone(step)
        self.iteration += 1
        if self.meeting < 0 and self.iteration >= self.lag and self.equal():
            self.meeting = self.iteration
        return 0

    def step(self, Py_ssize_t t=0):
        """A step of one sampler in both chains, whatever the lag: for checks (``splitmerge_cli.verify``)."""
        self.step_together(t)

    def advance(self, int64_t iterations, bint until_met=True):
        """Make that many more iterations of X. `until_met`: stop when the chains have met. Returns arrays with a row
        for each iteration t of X, the start among them: iteration; distance, of X after t and Y after t - lag, nan
        before the start of Y; and of both, shape (rows, 2), nan of Y before its start and from the meeting on:
        n_clusters, K, log_joint; largest, shape (rows, 2, 5), fractions of the items in the five largest clusters;
        hyperparameters, shape (rows, 2, H), those that the model names."""
        cdef Py_ssize_t room = max(0, iterations) + 1, n = 0
        cdef int64_t last = self.iteration + iterations
        cdef double[:, :, ::1] rows
        cdef double[::1] apart
        out, gap = np.full((room, 2, self.columns), np.nan), np.full(room, np.nan)
        at = np.empty(room, dtype=np.int64)
        cdef int64_t[::1] when = at
        rows, apart = out, gap
        with nogil:
            if not self.begun:
                self.begun = True
                self.record(&rows[0, 0, 0])
                when[0] = 0
                n = 1
                self.add_together()
            while self.iteration < last and not (until_met and self.meeting >= 0) and not self.rng.is_halted:
                self.iterate()
                when[n] = self.iteration
                self.record(&rows[n, 0, 0])
                if self.iteration >= self.lag:
                    apart[n] = self.share_apart() if self.meeting < 0 else 0.0
                n += 1
                self.add_together()
        out = out[:n]
        hyperparameters = out[:, :, HYPER:]
        return {"iteration": at[:n], "distance": gap[:n], "n_clusters": out[:, :, 0], "K": out[:, :, 1],
                "log_joint": out[:, :, 2], "largest": out[:, :, 3:HYPER], "hyperparameters": hyperparameters}

    cdef void record(self, double *row) noexcept nogil:
        """Write the row of both chains."""
        record_of(self.x, row)
        if self.iteration >= self.lag and not 0 <= self.meeting <= self.iteration:
            record_of(self.y, row + self.columns)

    def gather(self, int64_t k, int64_t m):
        """Ask for the estimates of co-clustering, before the first iteration; they are whole when X has made `m`
        iterations and the chains have met. The mean of the estimates H_k, ..., H_m is taken."""
        if self.begun:
            raise ValueError("gather: expected chains that have not begun")
        if not 0 <= k <= m:
            raise ValueError(f"k={k}, m={m}: expected 0 <= k <= m")
        free(self.together)
        self.together = doubles(max(1, self.x.N * (self.x.N - 1) // 2))
        self.k, self.m = k, m

    cdef void weigh(self, int64_t k, int64_t m, double *of_x, double *of_y) noexcept nogil:
        """Weights of the present states in the mean of the estimates H_k, ..., H_m: X after t stands in H_t itself, for
        k <= t <= m, and with Y after t - lag in the corrections of H_l for l = t - j lag, k <= l <= m, j >= 1: as many
        as there are such j, and none once the chains have met."""
        cdef int64_t t = self.iteration, most, least, corrections = 0
        cdef double each = 1.0 / (m - k + 1)
        if t > k and (self.meeting < 0 or t < self.meeting):
            most = (t - k) // self.lag
            least = max(1, (t - m + self.lag - 1) // self.lag)
            corrections = max(0, most - least + 1)
        of_x[0] = ((k <= t <= m) + corrections) * each
        of_y[0] = -corrections * each

    def weights_of_states(self, int64_t k, int64_t m):
        """Weights of the present states of X and of Y in the mean of the estimates H_k, ..., H_m: (float, float)."""
        cdef double of_x, of_y
        if not 0 <= k <= m:
            raise ValueError(f"k={k}, m={m}: expected 0 <= k <= m")
        self.weigh(k, m, &of_x, &of_y)
        return of_x, of_y

    cdef void add_together(self) noexcept nogil:
        """Add what this iteration has in the estimates of co-clustering."""
        cdef double of_x, of_y
        if self.together == NULL:
            return
        self.weigh(self.k, self.m, &of_x, &of_y)
        if of_x > 0.0:
            add_pairs(self.together, self.x.z, self.x.N, of_x)
        if of_y < 0.0:
            add_pairs(self.together, self.y.z, self.y.N, of_y)

    @property
    def co_clustering(self):
        """ndarray of float64, shape (N (N - 1) / 2,): estimates of the posterior probabilities that two items are in
        one cluster, of pairs (0, 1), (0, 2), ..., (1, 2), ...; see `gather`."""
        cdef Py_ssize_t n = self.x.N * (self.x.N - 1) // 2
        if self.together == NULL:
            raise ValueError("co_clustering: expected chains that gather it")
        return np.array(<double[:n]> self.together) if n else np.empty(0)

    def halt(self):
        """Let ``advance`` return soon, from whatever thread: the chains have no state any more."""
        self.rng.halt()

    @property
    def distance(self):
        """float: share of all item pairs that only one chain has together: Binder's (1978) distance."""
        return self.share_apart()

    cdef double share_apart(self) noexcept nogil:
        cdef Py_ssize_t t, n = self.count_common(self.x, self.y), k
        cdef double apart = 0.0, N = self.x.N
        for k in range(self.x.K):
            apart += <double> self.x.size[k] * self.x.size[k]
        for k in range(self.y.K):
            apart += <double> self.y.size[k] * self.y.size[k]
        for t in range(n):
            apart -= 2.0 * self.cells[t].items * self.cells[t].items
        return apart / (N * (N - 1.0)) if N > 1 else 0.0
