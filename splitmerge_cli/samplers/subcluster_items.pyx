"""The passes of `subcluster` over all items, in several threads.

The sampler (``subcluster.pyx``) decides what is to be done with clusters; `Items` does it to what is in them. Both see
the same columns of statistics. Items in shards, on other machines, are the same class there, and one here that asks
them (``splitmerge_cli/runs/shards``): what goes between them are parameters, one way, and sums of whole numbers, the
other. So nothing here may depend on which items are neighbours, or on the order in which anything is summed.
"""
from libc.math cimport INFINITY, exp, fabs, log1p
from libc.string cimport memcpy, memset

from splitmerge_cli.core.recording cimport OF_ITEM as FOR_ITEM
from splitmerge_cli.core.rng cimport ALONE, Rng
from splitmerge_cli.core.threads cimport Stream, Threads, philox, philox_double, task_t

cdef extern from "tiles.h":
    bint tile_is_far(const double *row) noexcept nogil
    void tile_raise(const double *row, const double *allowed, double *best, double *least) noexcept nogil
    void tile_weights(const double *allowed, const double *best, double *row) noexcept nogil
    void tile_pick(const double *weights, Py_ssize_t m, double *u, double *sum, double *pick) noexcept nogil

cdef extern from "log_sums.h":
    void log_sum_add(whole *sum, double log_p) noexcept nogil
    void log_sum_join(whole *sum, const whole *more) noexcept nogil
    double log_sum_value(const whole *sum) noexcept nogil

cdef enum:
    TILES = 16                          # of a task of LABELS
    RUN = 256                           # items of a task of a round, at most
    PARTS = 16                          # of the labels of chains that are coupled, about: their draws are recorded
    LABELS = 3                          # kind of the block of their draws


cdef class Worker:
    """Workspace of a thread."""

    def __cinit__(self, Items items):
        self.memory = Memory()
        cdef DrawnParameters parameters = items.parameters
        self.items = items
        self.stream = Stream()
        self.tile = self.memory.doubles(TILE_ITEMS * parameters.tile_rows)
        self.best, self.least = self.memory.doubles(TILE_ITEMS), self.memory.doubles(TILE_ITEMS)
        self.allowed, self.first = self.memory.doubles(TILE_ITEMS), self.memory.doubles(TILE_ITEMS)
        self.work, self.theta = self.memory.doubles(parameters.work_size), self.memory.doubles(parameters.size)
        self.others = self.memory.ints(items.near)
        self.number = items.pool.n

    cdef int need(self, Py_ssize_t clusters) except -1:
        if clusters > self.room:
            self.weights = <double *> self.memory.larger(self.weights, 0, 8 * clusters * TILE_ITEMS)
            self.clusters = <int32_t *> self.memory.larger(self.clusters, 0, 4 * clusters)
            self.names = <int32_t *> self.memory.larger(self.names, 0, 4 * clusters)
            self.chances = <double *> self.memory.larger(self.chances, 0, 8 * clusters)
            self.room = clusters
        return 0


cdef void take_task(Worker w, Py_ssize_t task) noexcept nogil:
    if not w.items.rng.is_halted:
        w.items.task_of(w.items, w, task)


cdef task_t TAKE = <task_t> take_task


cdef class Items:
    """The items of a model, and what a step of `subcluster` does with them. `model`: one that draws parameters; `rng`:
    if its choices follow a script (``verify``), the choices of the items do, one after the other; `near`: items among
    which the neighbour of an item is found."""

    def __init__(self, Model model not None, Rng rng not None, Py_ssize_t near):
        self.memory = Memory()
        self.model, self.rng, self.near = model, rng, near
        self.parameters = model.capability(DrawnParameters)
        self.N = model.N
        self.threads = 1
        self.coupled = CoupledClusters(model, self.parameters, rng)
        self.pool = Threads()
        # who asks the shards has none
        n = max(model.N, 1)
        self.order, self.other, self.label = self.memory.ints(n), self.memory.ints(n), self.memory.ints(n)
        self.place = <uint64_t *> self.memory.doubles(n)
        self.side, self.before = self.memory.flags(n), self.memory.flags(n)
        self._need(1)

    # -- room
    cdef int need(self, Py_ssize_t clusters) except -1 nogil:
        """Room for this many clusters, and a worker for each thread."""
        if clusters > self.room or self.pool.lack(self.threads):
            with gil:
                self._need(clusters)
        return self.model.reserve(clusters)

    cdef int _need(self, Py_ssize_t clusters) except -1:
        cdef Py_ssize_t old = self.room, room = max(2 * clusters, old), P = self.parameters.size
        cdef Worker worker
        if clusters > old:
            self.start = <Py_ssize_t *> self.memory.larger(self.start, 0, 8 * (room + 2))
            self.next = <Py_ssize_t *> self.memory.larger(self.next, 0, 8 * (room + 2))
            self.founder = <uint64_t *> self.memory.larger(self.founder, 0, 8 * room)
            self.theta = <double *> self.memory.larger(self.theta, 0, 16 * room * P)
            self.log_weight = <double *> self.memory.larger(self.log_weight, 0, 16 * room)
            self.block = <int32_t *> self.memory.larger(self.block, 4 * old, 4 * room)
            self.first = <int32_t *> self.memory.larger(self.first, 0, 8 * room)
            self.turn = <int32_t *> self.memory.larger(self.turn, 0, 4 * room)
            self.changed = <int8_t *> self.memory.larger(self.changed, 0, 2 * room)
            self.log_q = <whole *> self.memory.larger(self.log_q, 0, 32 * room)
            self.now = <int32_t *> self.memory.larger(self.now, 8 * old, 8 * room)
            self.room = room
        while self.pool.lack(self.threads):
            self.pool.add(Worker(self))
        for worker in self.pool.workers:
            worker.need(self.room)
        return 0

    cdef int need_runs(self, Py_ssize_t runs) except -1 nogil:
        if runs > self.runs_room:
            with gil:
                self.run_of = <Py_ssize_t *> self.memory.larger(self.run_of, 0, 32 * runs)
                self.run_log_q = <whole *> self.memory.larger(self.run_log_q, 0, 64 * runs)
                self.runs_room = 2 * runs
        return 0

    # -- tasks
    cdef void run(self, pass_t task_of, Py_ssize_t tasks) noexcept nogil:
        """Do the tasks of a pass; one after the other where choices follow a script."""
        self.task_of = task_of
        self.pool.run(TAKE, 1 if self.rng.directed else self.threads, tasks)

    cdef void sort(self, const int32_t *key, int32_t *order, Py_ssize_t *start, Py_ssize_t keys) noexcept nogil:
        """order: the items with a key from 0 on, by key and in item order; start[k]: the first with key k."""
        cdef Py_ssize_t i, k, place
        memset(start, 0, (keys + 1) * sizeof(Py_ssize_t))
        for i in range(self.model.N):
            start[key[i] + 1] += 1
        for k in range(keys):
            start[k + 1] += start[k]
        # each cluster's place while it fills, then set back by one cluster
        for i in range(self.model.N):
            place = start[key[i]]
            order[place] = <int32_t> i
            start[key[i]] = place + 1
        for k in range(keys, 0, -1):
            start[k] = start[k - 1]
        start[0] = 0

    cdef inline void words_of(self, Py_ssize_t item, uint64_t number, uint64_t purpose, uint64_t *words) noexcept nogil:
        """The four words that an item has for a purpose in this step; `number` tells rounds apart."""
        cdef uint64_t[4] counter
        counter[0], counter[1], counter[2], counter[3] = <uint64_t> (self.offset + item), number, purpose, 0
        philox(self.key, counter, words)

    cdef bint coin_of(self, Py_ssize_t item) noexcept nogil:
        """A fair coin of the item, the same throughout a step."""
        cdef uint64_t[4] words
        self.words_of(item, 0, OF_COIN, words)
        return words[0] & 1

    # -- labels
    cdef int begin(self) except -1 nogil:
        """Begin a step, of this key."""
        return 0

    cdef Py_ssize_t draw_labels(self) except -1 nogil:
        """Draw the labels of all items, given parameters, weights and founders; returns how many changed."""
        self.begin_labels()
        return self.relabel(self.model.K)

    cdef int begin_labels(self) except -1 nogil:
        """Founders, parameters and weights."""
        cdef Py_ssize_t i, K = self.model.K
        self.need(K)
        self.find_founders(K)
        if self.rng.scripted or self.rng.role == ALONE:
            self.rng.begin_clusters(self.model.name, K)
            self.run(draw_cluster, K)
            self.rng.end_clusters()
        else:
            self.coupled.need(K)
            self.run(draw_shared, 1)
        if self.rng.role != ALONE:
            # in one order, whatever the clusters
            for i in range(self.model.N):
                self.other[i] = <int32_t> i
        return 0

    cdef Py_ssize_t label_tasks(self) noexcept nogil:
        return (self.model.N + TILES * TILE_ITEMS - 1) // (TILES * TILE_ITEMS)

    cdef Py_ssize_t label_parts(self) noexcept nogil:
        """In how many parts labels are drawn, so that the record of a part is small."""
        cdef Py_ssize_t tasks = self.label_tasks(), each = (tasks + PARTS - 1) // PARTS
        return (tasks + each - 1) // each

    cdef int draw_part(self, Py_ssize_t part) except -1 nogil:
        """Draw some of the labels."""
        cdef Py_ssize_t tasks = self.label_tasks(), each = (tasks + PARTS - 1) // PARTS
        cdef Py_ssize_t n = min(each, tasks - part * each), first = part * each * TILES * TILE_ITEMS
        self.first_task = part * each
        if self.rng.role != ALONE:
            self.rng.recording.order_clusters(self.model.name, self.model.K)
        self.rng.begin_items(LABELS, self.other + first, min(n * TILES * TILE_ITEMS, self.model.N - first), -1)
        self.run(draw_tiles, n)
        self.rng.end_items()
        return 0

    cdef int find_founders(self, Py_ssize_t K) except -1 nogil:
        cdef Py_ssize_t i, k
        self.sort(self.model.z, self.order, self.start, K)
        if self.rng.scripted:
            # other[t]: the item that is t-th
            for i in range(self.model.N):
                self.label[i] = <int32_t> i
            self.rng.draw_order(self.label, self.model.N, self.other)
            for i in range(self.model.N - 1, 0, -1):
                k = self.other[i]
                self.label[i], self.label[k] = self.label[k], self.label[i]
            for i in range(self.model.N):
                self.place[self.label[i]] = i
        self.run(find_founder, K)
        return 0

    cdef Py_ssize_t relabel(self, Py_ssize_t K) except -1 nogil:
        self.first_task = 0
        self.run(draw_tiles, self.label_tasks())
        return self.end_labels()

    cdef Py_ssize_t end_labels(self) except -1 nogil:
        """Take over the labels that were drawn; returns how many changed."""
        cdef Py_ssize_t i, K = self.model.K, moved = 0
        if self.rng.is_halted:
            return 0
        self.sort(self.label, self.other, self.next, K)
        self.run(recount, K)
        for i in range(self.model.N):
            if self.model.z[i] != self.label[i]:
                self.set_label(i, self.label[i])
                moved += 1
        self.model.begin_scan()
        self.model.version += 1
        return moved

    cdef void set_label(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        self.model.unlink(i)
        self.model.link(i, k)

    cdef void draw_from(self, Worker w, Rng rng, Py_ssize_t k) noexcept nogil:
        """Parameters and weight of cluster k."""
        self.parameters.draw_posterior(rng, k, self.theta + k * self.parameters.size, w.work)
        self.log_weight[k] = self.model.prior.log_cluster_weight(rng, self.model.size[k])

    # -- labels, tile by tile
    cdef void draw_tile(self, Worker w, const int32_t *items, Py_ssize_t n) noexcept nogil:
        """New labels of n items."""
        cdef Py_ssize_t t, k, c, i, running = 0, cluster = self.model.z[items[0]]
        cdef bint coupled = self.rng.role != ALONE
        cdef double *row
        cdef uint64_t farthest = 0
        cdef uint64_t[4] words
        self.parameters.load_tile(items, n, w.tile)
        w.nearest = ~(<uint64_t> 0)
        for t in range(TILE_ITEMS):
            w.best[t] = w.least[t] = -INFINITY
            i = items[min(t, n - 1)]
            w.own[t] = self.model.z[i]
            w.reach[t] = self.place[i] if self.place[i] != self.founder[w.own[t]] else 0
            w.nearest, farthest = min(w.nearest, w.reach[t]), max(farthest, w.reach[t])
        # the cluster of the first item first, as it holds most, with a large density; then as they are numbered,
        # or named
        for c in range(-1, self.model.K):
            k = cluster if c < 0 else self.rng.recording.turn[c] if coupled else c
            row = w.first if c < 0 else w.weights + running * TILE_ITEMS
            if c >= 0 and k == cluster:
                memcpy(row, w.first, TILE_ITEMS * sizeof(double))
            else:
                if self.founder[k] >= farthest and not self.holds_any(w, k):
                    continue
                self.parameters.score_tile(w.tile, self.theta + k * self.parameters.size, self.log_weight[k], w.least,
                                           row)
                if tile_is_far(row):
                    continue
                self.allow(w, k)
                tile_raise(row, w.allowed, w.best, w.least)
            if c >= 0:
                w.clusters[running] = <int32_t> k
                if coupled:
                    w.names[running] = self.model.name[k]
                running += 1
        for c in range(running):
            self.allow(w, w.clusters[c])
            tile_weights(w.allowed, w.best, w.weights + c * TILE_ITEMS)
        if self.rng.directed:
            for t in range(n):
                for c in range(running):
                    w.chances[c] = w.weights[c * TILE_ITEMS + t]
                k = self.rng.draw_option(FOR_ITEM, items[t], w.chances, running, w.names)
                self.label[items[t]] = w.clusters[k]
            return
        for t in range(n):
            self.words_of(items[t], 0, OF_ITEM, words)
            w.first[t] = philox_double(words[1])
        tile_pick(w.weights, running, w.first, w.best, w.least)
        for t in range(n):
            self.label[items[t]] = w.clusters[<Py_ssize_t> w.least[t]]

    cdef void allow(self, Worker w, Py_ssize_t k) noexcept nogil:
        """w.allowed: which items of the tile may take cluster k."""
        cdef Py_ssize_t t
        if self.founder[k] < w.nearest:
            for t in range(TILE_ITEMS):
                w.allowed[t] = 1.0
        else:
            for t in range(TILE_ITEMS):
                w.allowed[t] = self.founder[k] < w.reach[t] or w.own[t] == k

    cdef bint holds_any(self, Worker w, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t t
        for t in range(TILE_ITEMS):
            if w.own[t] == k:
                return True
        return False

    # -- a round of splits and merges
    cdef int gather(self) except -1 nogil:
        """Items by block, the order of the blocks by first item, and columns for the sides."""
        cdef Py_ssize_t i, b, turns = 0
        # items of no block come last
        for b in range(self.blocks):
            self.changed[b] = False
        for i in range(self.model.N):
            b = self.block[self.model.z[i]]
            self.label[i] = <int32_t> (self.blocks if b < 0 else b)
            if b >= 0 and not self.changed[b]:
                self.changed[b] = True
                self.turn[turns] = <int32_t> b
                turns += 1
        self.sort(self.label, self.order, self.start, self.blocks + 1)
        self.make_runs()
        # behind all that splits may add
        self.column = self.model.K + self.blocks + 3
        return self.model.reserve(self.column + 2 * self.blocks)

    cdef int make_runs(self) except -1 nogil:
        cdef Py_ssize_t b, first
        self.need_runs(self.model.N // RUN + self.blocks)
        self.runs = 0
        for b in range(self.blocks):
            self.next[b] = self.runs
            first = self.start[b]
            while first < self.start[b + 1]:
                self.run_of[2 * self.runs], self.run_of[2 * self.runs + 1] = b, first
                self.runs += 1
                first += RUN
        self.next[self.blocks] = self.runs
        return 0

    cdef int found_sides(self, const Py_ssize_t *founders) except -1 nogil:
        """Two items of each block, by their rank in it, alone on its sides; all others are nowhere yet."""
        cdef Py_ssize_t s
        for s in range(2 * self.blocks):
            self.model.scratch(self.column + s)
            self.model.join(self.order[self.start[s // 2] + founders[s]], self.column + s)
            self.changed[s] = True
        self.counted = False
        memset(self.side, 0, self.model.N)
        return 0

    cdef int send_to_sides(self) except -1 nogil:
        """Every item to the side where it is likelier, given what to expect of the sides."""
        self.run(send, self.runs)
        self.run(count_side, 2 * self.blocks)
        self.counted = True
        return 0

    cdef int draw_sides(self, Py_ssize_t number) except -1 nogil:
        """A side drawn for each item of a split, the sides that there are scored of a merge."""
        cdef Py_ssize_t b, s, n, r
        self.number = number
        for b in range(self.blocks):
            s = self.first[2 * b]
            if self.first[2 * b + 1] >= 0:
                for n in range(self.start[b], self.start[b + 1]):
                    self.side[n] = self.model.z[self.order[n]] != s
        self.run(draw_run, self.runs)
        for b in range(self.blocks):
            self.changed[2 * b] = self.changed[2 * b + 1] = self.first[2 * b + 1] < 0
            memset(self.log_q + 2 * b, 0, 2 * sizeof(whole))
            for r in range(2 * self.next[b], 2 * self.next[b + 1]):
                log_sum_join(self.log_q + 2 * b + r % 2, self.run_log_q + r)
        self.counted = False
        self.run(count_side, 2 * self.blocks)
        return 0

    cdef double log_q_of(self, Py_ssize_t b) noexcept nogil:
        """log probability of the two sides of a block, in either order."""
        cdef double one = log_sum_value(self.log_q + 2 * b), two = log_sum_value(self.log_q + 2 * b + 1)
        return max(one, two) + log1p(exp(-fabs(one - two)))

    cdef void score_sides(self, Worker w, Py_ssize_t b, const int32_t *items, Py_ssize_t n) noexcept nogil:
        """w.weights: log weights of n items on side 0, then on side 1."""
        cdef Py_ssize_t s
        self.parameters.load_tile(items, n, w.tile)
        for s in range(TILE_ITEMS):
            w.least[s] = -INFINITY
        for s in range(2):
            self.parameters.score_tile(w.tile, self.theta + (2 * b + s) * self.parameters.size,
                                       self.log_weight[2 * b + s], w.least, w.weights + s * TILE_ITEMS)

    # -- neighbours
    cdef int draw_pairs(self, Py_ssize_t batch) except -1 nogil:
        """Pairs drawn, drawn + 1, ... of this step, `batch` of them."""
        self.model.reserve(self.model.K + 3 + self.pool.n)
        self.run(draw_pair, batch)
        return 0

    cdef Py_ssize_t cluster_of(self, Py_ssize_t t) noexcept nogil:
        """Present cluster of item t among the pairs; 0 and 1 are the first pair."""
        return self.model.z[self.pair[t]]

    cdef Py_ssize_t draw_others(self, Rng rng, int32_t *pair, int32_t *others) noexcept nogil:
        """The first item of a pair, and others[:n] among which its neighbour is found, or once in eight times drawn: n
        is then 1."""
        cdef Py_ssize_t n = self.near, t
        pair[0] = <int32_t> rng.draw_index(self.N)
        if n == 1 or rng.draw_coin(0.125):
            n = 1
        for t in range(n):
            others[t] = <int32_t> rng.draw_index(self.N - 1)
            others[t] += others[t] >= pair[0]
        pair[1] = others[0]
        return n

    cdef void choose_pair(self, Worker w, Rng rng, int32_t *pair) noexcept nogil:
        """An item, and the likeliest with it of `near` random others."""
        cdef Py_ssize_t k = self.model.K + 3 + w.number, n = self.draw_others(rng, pair, w.others), likely
        cdef double top = -INFINITY
        if n == 1:
            return
        self.model.scratch(k)
        self.model.join(pair[0], k)
        self.parameters.draw_posterior(None, k, w.theta, w.work)
        likely = self.likeliest(w, w.theta, w.others, n, &top)
        if likely >= 0:
            pair[1] = w.others[likely]

    cdef Py_ssize_t likeliest(self, Worker w, const double *theta, const int32_t *items, Py_ssize_t n,
                              double *top) noexcept nogil:
        """The place of the first of n items that is likelier than `top` and all others, which is then its log density;
        -1 none."""
        cdef Py_ssize_t first = 0, t, m, best = -1
        for t in range(TILE_ITEMS):
            w.least[t] = -INFINITY
        while first < n:
            m = min(n - first, TILE_ITEMS)
            self.parameters.load_tile(items + first, m, w.tile)
            self.parameters.score_tile(w.tile, theta, 0.0, w.least, w.best)
            for t in range(m):
                if w.best[t] > top[0]:
                    top[0] = w.best[t]
                    best = first + t
            first += m
        return best

    cdef int part(self, Py_ssize_t c, Py_ssize_t t) except -1 nogil:
        """Columns K and K + 1: cluster c parted by fair coins, the first item of pair t on the first side, its other on
        the second."""
        cdef Py_ssize_t r, n = self.model.members(c, c, self.order), K = self.model.K
        cdef Py_ssize_t i = self.pair[2 * t], j = self.pair[2 * t + 1], item
        cdef bint to_b
        self.model.scratch(K)
        self.model.scratch(K + 1)
        self.on_b = 0
        for r in range(n):
            item = self.order[r]
            if item == i or item == j:
                to_b = item == j
            elif self.rng.scripted:
                to_b = self.rng.draw_coin(0.5)
            else:
                to_b = self.coin_of(item)
            self.model.join(item, K + to_b)
            if to_b:
                self.other[self.on_b] = <int32_t> item
                self.on_b += 1
        return 0

    # -- changes of the state
    cdef void begin_changes(self) noexcept nogil:
        """From here on `now` says what has become of the clusters and of the second sides of the blocks."""
        cdef Py_ssize_t k
        self.before_changes = self.model.K
        for k in range(self.model.K):
            self.now[k] = <int32_t> k
        for k in range(self.blocks):
            self.now[self.before_changes + k] = -1

    cdef int take_merge(self, Py_ssize_t i, Py_ssize_t j) except -1 nogil:
        """Make clusters i and j one."""
        cdef int32_t keep = <int32_t> min(i, j), gone = <int32_t> max(i, j), last = <int32_t> (self.model.K - 1)
        cdef Py_ssize_t e
        for e in range(self.before_changes + self.blocks):
            if self.now[e] == gone:
                self.now[e] = keep
            elif self.now[e] == last:
                self.now[e] = gone
        self.model.commit_merge(i, j)
        return 0

    cdef int take_split(self, Py_ssize_t b) except -1 nogil:
        """Put the sides of block b in the place of its cluster."""
        cdef Py_ssize_t a = self.column + 2 * b, s, K = self.model.K
        for s in range(2):
            self.model.copy_column(a + s, K + s)
        self.now[self.before_changes + b] = <int32_t> K
        return self.put_sides(b)

    cdef int put_sides(self, Py_ssize_t b) except -1 nogil:
        cdef Py_ssize_t t, n = 0
        for t in range(self.start[b], self.start[b + 1]):
            if self.side[t]:
                self.other[n] = self.order[t]
                n += 1
        return self.model.commit_split(self.now[self.first[2 * b]], self.other, n)

    cdef int take_part(self, Py_ssize_t c) except -1 nogil:
        """Put columns K and K + 1 in the place of cluster c."""
        self.need(self.model.K + 1)
        return self.model.commit_split(c, self.other, self.on_b)

    cdef int end_changes(self) except -1 nogil:
        """All changes of a round, or of a batch of pairs, have been taken."""
        return 0


# ------------------------------------------------------------------------------------- the tasks of each pass
cdef void find_founder(Items self, Worker w, Py_ssize_t k) noexcept nogil:
    """Place cluster k's items in the order that this step has, and find its founder."""
    cdef Py_ssize_t t, i
    cdef uint64_t[4] words
    self.founder[k] = ~(<uint64_t> 0)
    for t in range(self.start[k], self.start[k + 1]):
        i = self.order[t]
        if not self.rng.scripted:
            self.words_of(i, 0, OF_ITEM, words)
            self.place[i] = words[0]
        self.founder[k] = min(self.founder[k], self.place[i])


cdef void draw_cluster(Items self, Worker w, Py_ssize_t k) noexcept nogil:
    if self.rng.scripted:
        self.draw_from(w, self.rng, self.rng.cluster_in_turn(self.model.name, k))
        return
    # clusters that are matched have one stream: what is drawn differs as little as their items do
    w.stream.begin(self.key, k if self.rng.role == ALONE else self.model.name[k], OF_CLUSTER)
    self.draw_from(w, w.stream.rng, k)


cdef void draw_shared(Items self, Worker w, Py_ssize_t task) noexcept nogil:
    """Parameters and weights of all clusters, of one of two chains that are coupled."""
    cdef Py_ssize_t k
    for k in range(self.model.K):
        draw_cluster(self, w, k)
    self.coupled.couple(w.stream, self.key, w.work, self.theta, self.log_weight)


cdef void draw_tiles(Items self, Worker w, Py_ssize_t task) noexcept nogil:
    cdef Py_ssize_t first = (self.first_task + task) * TILES * TILE_ITEMS
    cdef Py_ssize_t end = min(first + TILES * TILE_ITEMS, self.model.N)
    cdef const int32_t *items = self.order if self.rng.role == ALONE else self.other
    while first < end and not self.rng.is_halted:
        self.draw_tile(w, items + first, min(TILE_ITEMS, end - first))
        first += TILE_ITEMS


cdef void recount(Items self, Worker w, Py_ssize_t k) noexcept nogil:
    """Statistics of cluster k with the new labels; the old ones still stand in z."""
    cdef Py_ssize_t t, changes = 0, n = self.next[k + 1] - self.next[k]
    cdef const int32_t *old = self.order + self.start[k]
    cdef const int32_t *new = self.other + self.next[k]
    for t in range(self.start[k + 1] - self.start[k]):
        changes += self.label[old[t]] != k
    for t in range(n):
        changes += self.model.z[new[t]] != k
    if changes == 0:
        return
    self.model.is_valid[k] = False
    self.model.size[k] = <int32_t> n
    if 2 * changes >= n:
        self.model.clear(k)
        self.parameters.count_items(new, n, k, w.work)
        return
    for t in range(self.start[k + 1] - self.start[k]):
        if self.label[old[t]] != k:
            self.model.remove(old[t], k)
    for t in range(n):
        if self.model.z[new[t]] != k:
            self.model.add(new[t], k)


cdef void draw_pair(Items self, Worker w, Py_ssize_t task) noexcept nogil:
    w.stream.begin(self.key, self.drawn + task, OF_PAIR)
    if self.rng.scripted:
        self.choose_pair(w, self.rng, self.pair + 2 * task)
    else:
        self.choose_pair(w, w.stream.rng, self.pair + 2 * task)


cdef void expect(Items self, Worker w, Py_ssize_t task) noexcept nogil:
    """Expected parameters of side task % 2 of block task // 2."""
    cdef Py_ssize_t k = self.column + task
    if self.changed[task]:
        self.parameters.draw_posterior(None, k, self.theta + task * self.parameters.size, w.work)
        # an empty side as one of one item, or it would stay empty
        self.log_weight[task] = self.model.prior.log_cluster_weight(None, max(self.model.size[k], 1))


cdef void send(Items self, Worker w, Py_ssize_t task) noexcept nogil:
    cdef Py_ssize_t b = self.run_of[2 * task], first = self.run_of[2 * task + 1], t, n
    cdef Py_ssize_t end = min(first + RUN, self.start[b + 1])
    # what one side loses the other gains: both have changed, or neither
    cdef bint going = self.changed[2 * b]
    while first < end:
        n = min(TILE_ITEMS, end - first)
        if going:
            self.score_sides(w, b, self.order + first, n)
        for t in range(n):
            self.before[first + t] = self.side[first + t]
            if going:
                self.side[first + t] = w.weights[TILE_ITEMS + t] > w.weights[t]
        first += n


cdef void draw_run(Items self, Worker w, Py_ssize_t task) noexcept nogil:
    cdef Py_ssize_t b = self.run_of[2 * task], first = self.run_of[2 * task + 1], t, n
    cdef Py_ssize_t end = min(first + RUN, self.start[b + 1])
    cdef bint merging = self.first[2 * b + 1] >= 0
    cdef double more, log_0, log_1
    cdef whole *log_q = self.run_log_q + 2 * task
    cdef uint64_t[4] words
    memset(log_q, 0, 2 * sizeof(whole))
    while first < end:
        n = min(TILE_ITEMS, end - first)
        self.score_sides(w, b, self.order + first, n)
        for t in range(n):
            more = w.weights[TILE_ITEMS + t] - w.weights[t]
            # log probabilities of the sides
            log_1 = -log1p(exp(-fabs(more)))
            log_0 = log_1 - fabs(more)
            if more < 0.0:
                log_0, log_1 = log_1, log_0
            if self.rng.scripted and not merging:
                self.side[first + t] = self.rng.draw_coin(exp(log_1))
            elif not merging:
                self.words_of(self.order[first + t], self.number, OF_SIDE, words)
                self.side[first + t] = philox_double(words[0]) < exp(log_1)
            log_sum_add(log_q, log_1 if self.side[first + t] else log_0)
            log_sum_add(log_q + 1, log_0 if self.side[first + t] else log_1)
        first += n


cdef void count_side(Items self, Worker w, Py_ssize_t task) noexcept nogil:
    """Statistics of side task % 2 of block task // 2."""
    cdef Py_ssize_t b = task // 2, k = self.column + task, t, n = 0, changes = 0, filled = 0
    cdef int8_t s = task & 1
    cdef int32_t[RUN] items
    if not self.changed[task]:
        return
    for t in range(self.start[b], self.start[b + 1]):
        n += self.side[t] == s
        changes += self.side[t] != self.before[t]
    if self.counted:
        self.changed[task] = changes > 0
    if self.counted and 2 * changes < n:
        for t in range(self.start[b], self.start[b + 1]):
            if self.side[t] != self.before[t]:
                if self.side[t] == s:
                    self.model.add(self.order[t], k)
                else:
                    self.model.remove(self.order[t], k)
    else:
        self.model.clear(k)
        for t in range(self.start[b], self.start[b + 1]):
            if self.side[t] == s:
                items[filled] = self.order[t]
                filled += 1
                if filled == RUN:
                    self.parameters.count_items(items, filled, k, w.work)
                    filled = 0
        self.parameters.count_items(items, filled, k, w.work)
    self.model.size[k] = <int32_t> n
    self.model.is_valid[k] = False
