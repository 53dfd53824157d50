"""Topics of all tokens given drawn distributions over words, documents in parallel; then a collapsed scan of a few.

The distribution phi_k over words of each topic is drawn given its tokens; the mixtures of documents stay integrated
out. Then documents are independent of each other. A step forgets phi when it is done: what it leaves invariant is the
collapsed posterior of topics and weights.

*Labels.* A place r in the corpus, uniform; tokens in the order r, r + 1, ..., N - 1, 0, ..., r - 1; in each topic the
token that is first in it, the founder, stays. Any other token i, of document j, one after the other in its document,
chooses among the topics whose founder comes before it:

    P(z_i = k) proportional to (alpha0 beta_k + n_jk) phi_k(w(i)),      n_jk without token i

No topic loses its founder or gains an earlier token, so the founders are the same afterwards and no topic is empty:
given order, founders, weights and phi it is a Gibbs scan. The order depends on nothing, and a next step
draws phi from its distribution given the new labels. Without the founders a topic could lose its last token and, as no
token may open one, never come back.

*Collapsed.* So the number of topics changes in the second part alone: a Gibbs scan (equation 8) of a share of the
tokens, in a row from a uniform place on, the first following the last. Without it (``share=0``) the sampler is not
irreducible, and needs other samplers as well.

Magnusson, Jonsson, Villani and Broman (2018), "Sparse partially collapsed MCMC for parallel inference in topic models",
draw phi for a fixed number of topics; Terenin, Magnusson, Jonsson and Draper (2019), "Pólya urn latent Dirichlet
allocation", approximate it. Here it is the exact distribution, and the founders let the number of topics
be random.

Cost: V K gamma draws; a token K products, eight at a time, or, of more than 64 topics, the topics of its document.
Memory: 8 V K bytes and what the model holds.
"""
from libc.math cimport ceil, exp
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from splitmerge_cli._kernels cimport full_scan
from splitmerge_cli.core.memory cimport Memory, doubles
from splitmerge_cli.core.recording cimport PLAIN
from splitmerge_cli.core.sampler cimport Sampler
from splitmerge_cli.core.threads cimport Stream, Threads, philox, philox_double, task_t
from splitmerge_cli.kinds.documents.hdp_state cimport Topics

from splitmerge_cli.core.options import Number
from splitmerge_cli.core.sampler import CLUSTERS

cdef extern from "topic_draws.h" nogil:
    double topic_product(const double *a, const double *b, Py_ssize_t blocks)
    Py_ssize_t topic_draw(const double *share, const double *row, Py_ssize_t blocks, double u,
                          double *rest)

cdef extern from *:
    """
    #define add_one(p) ((void)__atomic_fetch_add((p), 1, __ATOMIC_RELAXED))
    #define add_up(p, n) ((void)__atomic_fetch_add((p), (n), __ATOMIC_RELAXED))
    #define fetch(p) __builtin_prefetch(p)
    """
    void add_one(int32_t *p) noexcept nogil
    void add_up(int64_t *p, int64_t n) noexcept nogil
    void fetch(const void *p) noexcept nogil

cdef enum:
    LABELS, COLLAPSED                   # MOVES

cdef enum:                              # what the tasks of a pass do
    DRAW                                # phi of some words
    WEIGH                               # what all topics weigh, of some words
    TOKENS                              # topics of the tokens of some documents
    CLEAR                               # counts of some words
    COUNT                               # tokens of some documents
    TOPICS                              # topics of some words
    TAKE                                # counts of some words

cdef enum:                              # purposes of the streams of a key
    OF_WORD = 1
    OF_TOKEN = 2
    ONCE_MORE = 3

cdef enum:
    WORDS = 64                          # of a task
    BLOCK = 8192                        # a task has the documents that begin in so many tokens
    FEW = 64                           # topics, all of which are weighed for a token
    AHEAD = 4                           # tokens before a row is read it is fetched


cdef class Worker:
    """Workspace of a thread."""

    cdef Memory memory                  # of its arrays
    cdef PartiallyCollapsed sampler
    cdef Stream stream
    cdef Py_ssize_t room
    cdef int32_t *here                  # [room] n_jk of the document at hand
    cdef int32_t *topics                # [room] topics of the document
    cdef Py_ssize_t n_topics
    cdef double *share                  # [room] (alpha0 beta_k + n_jk)/norm_k
    cdef double *w                      # [room] weights of a draw
    cdef int64_t moved                  # tokens that changed their topic in a task

    def __cinit__(self, PartiallyCollapsed sampler):
        self.memory = Memory()
        self.sampler = sampler
        self.stream = Stream()

    cdef int need(self, Py_ssize_t room) except -1:
        if room > self.room:
            self.here = <int32_t *> self.memory.larger(self.here, 0, 4 * room)
            self.topics = <int32_t *> self.memory.larger(self.topics, 0, 4 * room)
            self.share = <double *> self.memory.larger(self.share, 0, 8 * room)
            self.w = <double *> self.memory.larger(self.w, 0, 8 * room)
            self.room = room
        return 0


cdef void take_task(Worker w, Py_ssize_t task) noexcept nogil:
    w.sampler.work(w, task)


cdef task_t TAKE_TASK = <task_t> take_task


cdef class PartiallyCollapsed(Sampler):
    """Topics of all tokens given drawn distributions over words, documents in parallel, then a collapsed scan of a few.
    The move `labels` counts tokens as proposed, and as accepted if they changed their topic; `collapsed` the tokens of
    the collapsed scan. What a step does depends neither on ``threads`` nor on which thread does what."""

    OPTIONS = (
        Number("share", 0.05, "share of the tokens that a collapsed scan then updates, in which topics open and "
               "close", least=0.0, most=1.0),
        *Sampler.OPTIONS,
    )
    MOVES = ("labels", "collapsed")
    DIVIDES_WEIGHTS = True
    DRAWS_FROM_CONTINUUM = True

    cdef readonly double share
    cdef Topics topics
    cdef Threads pool
    cdef int pass_                      # what the tasks under way do
    cdef bint alone                     # one thread does all of them
    cdef uint64_t[2] key                # of the streams of this step
    cdef int64_t moved                  # tokens that changed their topic in it
    cdef Py_ssize_t blocks              # of eight topics
    # -- topics
    cdef Py_ssize_t room
    cdef Py_ssize_t *founder            # [room] place of the founder in the order
    cdef Py_ssize_t first               # token that is first in the order
    cdef Py_ssize_t latest              # place of the last founder
    cdef double *scale                  # [room] 1/sum of a topic's numbers over all words
    cdef double *base                   # [room] alpha0 beta_k times that; 0 beyond K
    cdef double *mass                   # [room] alpha0 beta_k
    # -- words; counts take the place of phi when that is done with
    cdef Py_ssize_t cells
    cdef double *phi                    # [V, 8 blocks] up to a factor of the topic; 0 beyond K
    cdef double *sums                   # [tasks of words, 8 blocks]
    cdef double *weight                 # [V] sum of base[k] phi

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        self.topics = model
        self.share = self.options["share"]
        self.scans = 0
        self.pool = Threads()
        self.weight = self.memory.doubles(self.topics.V)

    def __dealloc__(self):
        free(self.phi)
        free(self.sums)

    @classmethod
    def invariants(cls, model, **options):
        """Without a collapsed scan no topic opens or closes: frozenset of str."""
        return super().invariants(model) | ({CLUSTERS} if options.get("share") == 0.0 else set())

    @classmethod
    def supports(cls, model):
        """Whether distributions over words can be drawn: (bool, reason)."""
        able, reason = super().supports(model)
        if able and not isinstance(model, Topics):
            return False, "it draws the distributions over words of topics (model=hdp)"
        return able, reason

    # -- room
    cdef int need(self) except -1 nogil:
        """Room for the topics, and a worker for each thread."""
        self.blocks = (self.topics.K + 7) // 8
        if (8 * self.blocks > self.room or self.pool.lack(self.threads)
                or self.topics.V * self.blocks > self.cells):
            with gil:
                self._need()
        return 0

    cdef int _need(self) except -1:
        cdef Py_ssize_t room = self.room, V = self.topics.V
        cdef Worker worker
        if 8 * self.blocks > room:
            room = 8 * self.blocks + 64
            self.founder = <Py_ssize_t *> self.memory.larger(self.founder, 0, 8 * room)
            self.scale = <double *> self.memory.larger(self.scale, 0, 8 * room)
            self.base = <double *> self.memory.larger(self.base, 0, 8 * room)
            self.mass = <double *> self.memory.larger(self.mass, 0, 8 * room)
            self.room = room
        if V * self.blocks > self.cells:
            # not `larger`: nothing is to be kept
            free(self.phi)
            free(self.sums)
            self.phi = self.sums = NULL
            self.cells = 0
            self.phi = doubles(8 * V * self.blocks)
            self.sums = doubles(8 * self.blocks * self.word_tasks())
            self.cells = V * self.blocks
        while self.pool.lack(self.threads):
            self.pool.add(Worker(self))
        for worker in self.pool.workers:
            worker.need(room)
        return 0

    # -- tasks
    cdef Py_ssize_t word_tasks(self) noexcept nogil:
        return (self.topics.V + WORDS - 1) // WORDS

    cdef Py_ssize_t token_tasks(self) noexcept nogil:
        return (self.topics.N + BLOCK - 1) // BLOCK

    cdef void run(self, int pass_, Py_ssize_t tasks) noexcept nogil:
        """Do the tasks of a pass; one after the other where choices follow a script."""
        cdef Py_ssize_t threads = 1 if self.rng.scripted else self.threads
        self.pass_ = pass_
        self.alone = threads <= 1
        self.pool.run(TAKE_TASK, threads, tasks)

    cdef void work(self, Worker w, Py_ssize_t task) noexcept nogil:
        cdef Py_ssize_t v, end = min((task + 1) * WORDS, self.topics.V)
        cdef Py_ssize_t stride = 8 * self.blocks
        if self.pass_ == TOKENS:
            if not self.rng.is_halted:
                self.draw_block(w, task)
        elif self.pass_ == COUNT:
            self.count_block(task)
        elif self.pass_ == CLEAR:
            memset(self.phi + task * WORDS * stride, 0, (end - task * WORDS) * stride * sizeof(double))
        else:
            if self.pass_ == DRAW or self.pass_ == TAKE:
                memset(self.sums + task * stride, 0, stride * sizeof(double))
            for v in range(task * WORDS, end):
                if self.pass_ == DRAW:
                    self.draw_word(w, v, self.sums + task * stride)
                elif self.pass_ == WEIGH:
                    self.weight[v] = topic_product(self.base, self.phi + v * stride, self.blocks)
                elif self.pass_ == TOPICS:
                    self.topics.count_topics(v, self.counts_of(v))
                else:
                    self.take_counts(v, self.sums + task * stride)

    cdef double total(self, Py_ssize_t k) noexcept nogil:
        """Sum for topic k over the tasks of words."""
        cdef Py_ssize_t t
        cdef double total = 0.0
        for t in range(self.word_tasks()):
            total += self.sums[8 * self.blocks * t + k]
        return total

    # -- a step
    cdef int make_step(self) except -1 nogil:
        if not self.rng.scripted:
            self.key[0] = self.rng.bg.next_uint64(self.rng.bg.state)
            self.key[1] = self.rng.bg.next_uint64(self.rng.bg.state)
        self.draw_labels()
        if self.share > 0.0:
            self.scan_share()
        return 0

    cdef int scan_share(self) except -1 nogil:
        """Equation 8 for a share of the tokens, in a row from a uniform place on."""
        cdef Py_ssize_t N = self.topics.N, first = self.rng.draw_index(N), changed
        cdef Py_ssize_t n = min(N, <Py_ssize_t> ceil(self.share * N)), rest = max(0, first + n - N)
        self.propose(COLLAPSED)
        changed = full_scan(self.topics, self.rng, first, n - rest)
        if rest:
            changed += full_scan(self.topics, self.rng, 0, rest)
        self.proposed[COLLAPSED] += n - 1
        self.accepted[COLLAPSED] += changed
        return 0

    cdef int draw_labels(self) except -1 nogil:
        cdef Py_ssize_t k, K = self.topics.K
        self.propose(LABELS)
        self.need()
        self.moved = 0
        self.first = self.rng.draw_index(self.topics.N)
        self.find_founders()
        self.run(DRAW, self.word_tasks())
        memset(self.base, 0, self.room * sizeof(double))
        for k in range(K):
            self.scale[k] = 1.0 / self.total(k)
            self.mass[k] = self.topics.alpha0 * exp(self.topics.log_beta[k])
            self.base[k] = self.mass[k] * self.scale[k]
        if K > FEW:
            self.run(WEIGH, self.word_tasks())
        self.run(TOKENS, self.token_tasks())
        self.run(CLEAR, self.word_tasks())
        self.run(COUNT, self.token_tasks())
        self.run(TOPICS, self.word_tasks())
        self.topics.make_room()
        self.run(TAKE, self.word_tasks())
        for k in range(K):
            self.topics.size[k] = <int32_t> self.total(k)
        self.topics.take_labels()
        self.proposed[LABELS] += self.topics.N - 1
        self.accepted[LABELS] += self.moved
        return 0

    cdef void find_founders(self) noexcept nogil:
        cdef Py_ssize_t place, i = self.first, left = self.topics.K, N = self.topics.N
        cdef int32_t k
        for place in range(self.topics.K):
            self.founder[place] = -1
        for place in range(N):
            k = self.topics.z[i]
            if self.founder[k] < 0:
                self.founder[k] = self.latest = place
                left -= 1
                if left == 0:
                    return
            i = i + 1 if i + 1 < N else 0

    # -- words
    cdef void draw_word(self, Worker w, Py_ssize_t v, double *sums) noexcept nogil:
        cdef Py_ssize_t k
        cdef double *row = self.phi + 8 * self.blocks * v
        if self.rng.scripted:
            self.topics.draw_word(self.rng, v, row)
        else:
            w.stream.begin(self.key, v, OF_WORD)
            self.topics.draw_word(w.stream.rng, v, row)
        for k in range(self.topics.K, 8 * self.blocks):
            row[k] = 0.0
        for k in range(8 * self.blocks):
            sums[k] += row[k]

    cdef int32_t *counts_of(self, Py_ssize_t v) noexcept nogil:
        """[8 blocks] counts of a word, in the place of its phi."""
        return <int32_t *> (self.phi + 8 * self.blocks * v)

    cdef void take_counts(self, Py_ssize_t v, double *sums) noexcept nogil:
        cdef Py_ssize_t k
        cdef const int32_t *counts = self.counts_of(v)
        self.topics.set_counts(v, counts)
        for k in range(8 * self.blocks):
            sums[k] += counts[k]

    # -- tokens
    cdef Py_ssize_t document_from(self, Py_ssize_t token) noexcept nogil:
        """The first document that begins at this token or behind it."""
        cdef Py_ssize_t low = 0, high = self.topics.J, middle
        while low < high:
            middle = (low + high) // 2
            if self.topics.start[middle] < token:
                low = middle + 1
            else:
                high = middle
        return low

    cdef void count_block(self, Py_ssize_t task) noexcept nogil:
        cdef Py_ssize_t i, end = min((task + 1) * BLOCK, self.topics.N)
        cdef int32_t *cell
        for i in range(task * BLOCK, end):
            cell = self.counts_of(self.topics.word[i]) + self.topics.z[i]
            if self.alone:
                cell[0] += 1
            else:
                add_one(cell)

    cdef void draw_block(self, Worker w, Py_ssize_t task) noexcept nogil:
        cdef Py_ssize_t j = self.document_from(task * BLOCK), end = self.document_from((task + 1) * BLOCK), k
        for k in range(8 * self.blocks):
            w.share[k] = self.base[k]
        w.moved = 0
        while j < end and not self.rng.is_halted:
            self.draw_document(w, j)
            j += 1
        add_up(&self.moved, w.moved)

    cdef void draw_document(self, Worker w, Py_ssize_t j) noexcept nogil:
        cdef Py_ssize_t i, t, place, k, until = self.topics.start[j + 1], block = -1
        cdef int32_t *z = self.topics.z
        cdef int32_t topic
        cdef double u
        cdef uint64_t[4] counter
        cdef uint64_t[4] words
        counter[1], counter[2], counter[3] = 0, OF_TOKEN, 0
        w.n_topics = 0
        for i in range(self.topics.start[j], until):
            topic = z[i]
            if w.here[topic] == 0:
                w.topics[w.n_topics] = topic
                w.n_topics += 1
            w.here[topic] += 1
        for t in range(w.n_topics):
            self.set_share(w, w.topics[t])
        for i in range(self.topics.start[j], until):
            if i + AHEAD < self.topics.N:
                for t in range(min(self.blocks, FEW // 8)):
                    fetch(self.phi + 8 * (self.blocks * self.topics.word[i + AHEAD] + t))
            topic = z[i]
            place = i - self.first if i >= self.first else i - self.first + self.topics.N
            if place == self.founder[topic]:
                continue
            if self.rng.scripted:
                k = self.draw_allowed(w, i, place)
            else:
                if i >> 2 != block:
                    block = i >> 2
                    counter[0] = block
                    philox(self.key, counter, words)
                u = philox_double(words[i & 3])
                k = self.draw_topic(w, i, u)
                if place < self.latest and self.founder[k] > place:
                    # given that it is none of those that it may take, another draw among these
                    k = self.draw_allowed(w, i, place)
            if k != topic:
                z[i] = <int32_t> k
                self.exchange(w, topic, <int32_t> k)
        for t in range(w.n_topics):
            k = w.topics[t]
            w.here[k] = 0
            w.share[k] = self.base[k]

    cdef void set_share(self, Worker w, Py_ssize_t k) noexcept nogil:
        w.share[k] = (self.mass[k] + w.here[k]) * self.scale[k]

    cdef void exchange(self, Worker w, int32_t topic, int32_t k) noexcept nogil:
        """A token of the document goes from one topic to topic k."""
        cdef Py_ssize_t t = 0
        w.moved += 1
        w.here[topic] -= 1
        if w.here[topic] == 0:
            while w.topics[t] != topic:
                t += 1
            w.n_topics -= 1
            w.topics[t] = w.topics[w.n_topics]
        if w.here[k] == 0:
            w.topics[w.n_topics] = k
            w.n_topics += 1
        w.here[k] += 1
        self.set_share(w, topic)
        self.set_share(w, k)

    cdef Py_ssize_t draw_topic(self, Worker w, Py_ssize_t i, double u) noexcept nogil:
        """A topic of all, by u: few are all weighed; among many the document's, then all by their weights."""
        cdef Py_ssize_t t, k, topic = self.topics.z[i], v = self.topics.word[i]
        cdef const double *row = self.phi + 8 * self.blocks * v
        cdef double total = 0.0, share, mine, rest
        if self.topics.K <= FEW:
            # what is read right after it was written has to wait: so the token counts in its own topic, which is
            # rejected as often as it weighs too much
            mine = (self.mass[topic] + (w.here[topic] - 1)) * self.scale[topic]
            k = topic_draw(w.share, row, self.blocks, u, &rest)
            if k == topic and rest >= mine * row[topic]:
                share = w.share[topic]
                w.share[topic] = mine
                k = topic_draw(w.share, row, self.blocks, self.other_double(i, 0), &rest)
                w.share[topic] = share
            # -1: weights that are all too small for a double
            return k if k >= 0 else topic
        for t in range(w.n_topics):
            k = w.topics[t]
            total += (w.here[k] - (k == topic)) * self.scale[k] * row[k]
            w.w[t] = total
        u *= total + self.weight[v]
        if u < total:
            t = 0
            while w.w[t] <= u:
                t += 1
            return w.topics[t]
        if not self.weight[v] > 0.0:
            return topic
        k = topic_draw(self.base, row, self.blocks, (u - total) / self.weight[v], &rest)
        return k if k >= 0 else topic

    cdef double other_double(self, Py_ssize_t i, int which) noexcept nogil:
        """A uniform number of the stream of token i for a draw that is made once more."""
        cdef uint64_t[4] counter
        cdef uint64_t[4] words
        counter[0], counter[1], counter[2], counter[3] = i, 0, ONCE_MORE, 0
        philox(self.key, counter, words)
        return philox_double(words[which])

    cdef Py_ssize_t draw_allowed(self, Worker w, Py_ssize_t i, Py_ssize_t place) noexcept nogil:
        """A topic among those whose founder comes before the token."""
        cdef Py_ssize_t k, topic = self.topics.z[i], last = topic
        cdef const double *row = self.phi + 8 * self.blocks * self.topics.word[i]
        cdef double total = 0.0, u
        for k in range(self.topics.K):
            w.w[k] = 0.0
            if self.founder[k] < place:
                w.w[k] = (self.mass[k] + (w.here[k] - (k == topic))) * self.scale[k] * row[k]
            total += w.w[k]
        if self.rng.scripted:
            return self.rng.draw_option(PLAIN, -1, w.w, self.topics.K, NULL)
        u = self.other_double(i, 1) * total
        for k in range(self.topics.K):
            if w.w[k] > 0.0:
                last = k
                if u < w.w[k]:
                    return k
                u -= w.w[k]
        return last
