"""Split-merge of topics (Rana et al. 2013, section 3.3 and Algorithm 1).

A split divides the tokens of a topic, of all documents, and its weight; a merge joins the tokens of two topics and adds
their weights. Two tokens, i and j, stand on different sides; the others are allocated one after the other, in a random
order, with probability proportional to (equations 16 and 17, where the "- 1" would make a weight negative)

    (alpha0 beta_side + n_j,side)(eta + n_side,w)/(V eta + n_side)          q_alloc: the product of the steps

Exact ratio of a split of topic k into (1, 2) with weights beta_1 = u beta_k, beta_2 = (1 - u) beta_k; a merge is the
inverse, with the u that would undo it (docs/derivations-topics.md):

    target       gamma/(u (1-u)) . prod_j <alpha0 beta_1>_{n_j1} <alpha0 beta_2>_{n_j2}/<alpha0 beta_k>_{n_jk}
                 . DM(1) DM(2)/DM(k)
    shares       1/q(u)
    allocation   1/q_alloc
    anchors      that topics and tokens are chosen for the merge, over the same for the split:
                 pair    two tokens of the corpus: 1
                 coin    a split with probability s; a topic and two of its tokens, or two topics and a token of each:
                         (1-s)/s . n (n-1)/((K+1) n_1 n_2)

`weights`: before: u ~ Beta(p, p), then the tokens; after: the tokens with half of beta_k each, then u ~ Beta of the
tables that the sides would have. Either is exact. beta_u stays, so that alone it reaches only the states with this
beta_u: the schedules draw all weights after each move.

As printed (`mode=as_printed`) it is another sampler (Algorithm 1), which works on the state itself, O(N) a move. All
weights are drawn again by equations 9 and 10 within the proposal, and count in equation 11 alone; equation 11 counts
the token that opens a topic twice; the choices of topics and tokens are not counted. `form`:

    text   a merge is weighed against the present state (section 3.3)
    box    against a dummy split drawn for it, so that the present sides never enter (the box of Algorithm 1)

Cost of a move: the tokens of its topics, n (O(V + documents) for their likelihoods).
"""
from libc.math cimport NAN, lgamma, log, log1p
from libc.stdint cimport int32_t
from libc.string cimport memcpy

from splitmerge_cli._kernels cimport sequential_allocation
from splitmerge_cli.core.capabilities cimport Weighted
from splitmerge_cli.core.log_scale cimport log_add
from splitmerge_cli.samplers.split_merge cimport MERGE, PRINTED, SPLIT, Allocation, Sides, SplitMerge

from splitmerge_cli.core.options import Choice, Count, Number

cdef enum:
    SHARES = 5                          # TERMS after SplitMerge's

cdef double LOG_2 = log(2.0)


cdef class WeightedSequential(Allocation):
    """Equations 16 and 17: items in a random order; the weight is divided before or after."""

    cdef bint before                    # the weight is divided first, else by the tables that the sides would have
    cdef double p                       # before: the share of side A is Beta(p, p)
    cdef double u_a, u_b                # the parameters of the Beta distribution of the share

    def __init__(self, bint before, double p):
        self.before, self.p = before, p

    cdef double draw(self, Sides s) noexcept nogil:
        cdef double log_q
        self.u_a = self.u_b = self.p
        s.gather()
        # half of the weight each
        s.stage()
        if self.before and not (<Weighted> s.model).divide(s.rng, s.ci, s.a, self.p, self.p):
            return NAN
        s.draw_order()
        s.put_in_order()
        log_q = sequential_allocation(s.model, s.rng, s.items, s.n, s.a, s.a + 1, s.in_a, False, True)
        if not self.before:
            self.set_shares_by_tables(s, (<Weighted> s.model).log_beta[s.ci] - LOG_2)
            if not (<Weighted> s.model).divide(s.rng, s.ci, s.a, self.u_a, self.u_b):
                return NAN
        return log_q

    cdef void set_shares_by_tables(self, Sides s, double half) noexcept nogil:
        """Set the Beta parameters to the tables that the sides would have with this weight each."""
        self.u_a = (<Weighted> s.model).expected_tables(s.a, half)
        self.u_b = (<Weighted> s.model).expected_tables(s.a + 1, half)

    cdef void prepare(self, Sides s) noexcept nogil:
        s.draw_order()

    cdef double score(self, Sides s) noexcept nogil:
        s.gather()
        s.stage()
        if self.before:
            (<Weighted> s.model).set_weight(s.a, (<Weighted> s.model).log_beta[s.ci])
            (<Weighted> s.model).set_weight(s.a + 1, (<Weighted> s.model).log_beta[s.cj])
        s.put_in_order()
        s.take_present()
        return sequential_allocation(s.model, s.rng, s.items, s.n, s.a, s.a + 1, s.in_a, True, True)


cdef class SMAG(SplitMerge):
    """Split-merge of topics: two tokens, or topics and tokens of theirs, as anchors; sequential allocation."""

    OPTIONS = (
        Choice("choice", "coin", "coin: split or merge by a fair coin, then topics (Algorithm 1); pair: by a random "
               "pair of tokens", choices=("coin", "pair")),
        Choice("weights", "before", "the share u of a split's first side: before (u ~ Beta(p,p), then tokens) or after "
               "(tokens, then u)", choices=("before", "after")),
        Number("split", 0.5, "choice=coin: probability that a step proposes a split, not a merge (section 4)",
               least=0.01, most=0.99, later=True),
        Number("p", 1.0, "weights=before: u ~ Beta(p,p)", least=1e-3, most=1e3),
        Count("tries", 1, "number of proposals in a step", least=1),
        Choice("form", "text", "mode=as_printed: text (section 3.3) or box (Algorithm 1's dummy split)",
               choices=("text", "box")),
        *SplitMerge.OPTIONS,
    )
    TERMS = (*SplitMerge.TERMS, "shares")
    DIVIDES_WEIGHTS = True
    FORMS = {
        "exact": (
            {"choice": "pair", "weights": "before"},
            {"choice": "pair", "weights": "after"},
            {"choice": "coin", "weights": "before"},
            {"choice": "coin", "weights": "after"},
            {"choice": "coin", "weights": "before", "split": 0.3},
        ),
        "as_printed": ({"form": "text"}, {"form": "box"}),
    }

    cdef WeightedSequential weights
    cdef int tries
    cdef bint by_pair
    cdef double share                   # of splits among proposals, choice == 'coin'
    # -- as printed
    cdef bint box                       # form == 'box'
    cdef int32_t *kept                  # [N] topics of the tokens, to go back to
    cdef double *kept_weights           # [kept_room] and their log weights
    cdef Py_ssize_t kept_room, kept_K

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        options = self.options
        self.tries, self.by_pair, self.box = options["tries"], options["choice"] == "pair", options["form"] == "box"
        self.share = options["split"]
        if self.as_printed:
            self.kept = self.memory.ints(self.model.N)
        self.allocation = self.weights = WeightedSequential(options["weights"] == "before", options["p"])

    @classmethod
    def supports(cls, model):
        """Whether this sampler supports the model: (bool, reason)."""
        able, reason = super().supports(model)
        if able and not isinstance(model, Weighted):
            return False, "its moves divide and add the weights of topics (model=hdp)"
        return able, reason

    cdef int make_step(self) except -1 nogil:
        cdef int _try
        for _try in range(self.tries):
            if self.by_pair and not self.as_printed:
                # section 3.3: two random words of the corpus, in one topic or in two
                self.split_or_merge()
            else:
                self.move_by_coin()
        return 0

    cdef int move_by_coin(self) except -1 nogil:
        """Algorithm 1: t ~ Bern(0.5), by a user's probability in section 4; a random topic, or two; section 4: two
        words of one topic, or one of each."""
        cdef Py_ssize_t c, d, i, j, K = self.model.K
        # stored chains drew a fair coin so
        if self.rng.draw_index(2) == 0 if self.share == 0.5 else self.rng.draw_coin(self.share):
            self.propose(SPLIT)
            c = self.rng.draw_index(K)
            if self.model.size[c] == 1:
                return self.null()
            self.two_of(c, &i, &j)
            return self.split_as_printed(c, i, j) if self.as_printed else self.split(c, i, j)
        self.propose(MERGE)
        if K == 1:
            return self.null()
        self.rng.draw_two(K, &c, &d)
        if self.as_printed:
            return self.merge_as_printed(c, d)
        i = self.one_of(c)
        return self.merge(c, d, i, self.one_of(d))

    cdef Py_ssize_t one_of(self, Py_ssize_t c) noexcept nogil:
        """A token of topic c."""
        cdef Py_ssize_t n = self.model.members(c, c, self.sides.items)
        return self.sides.items[self.rng.draw_index(n)]

    cdef bint divide_weight(self) noexcept nogil:
        """The allocation has done it."""
        return True

    cdef double log_anchors(self, bint merging) except? -1 nogil:
        cdef double n_1, n_2, n
        if self.by_pair:
            return 0.0
        n_1 = self.model.size[self.sides.ci if merging else self.sides.a]
        n_2 = self.model.size[self.sides.cj if merging else self.sides.a + 1]
        n = n_1 + n_2
        return (log1p(-self.share) - log(self.share)
                + log(n) + log(n - 1.0) - log(self.model.K - merging + 1.0) - log(n_1) - log(n_2))

    cdef double log_own(self, bint merging) noexcept nogil:
        """Less the log density of the share u of side A, of a split; a merge has it."""
        cdef Py_ssize_t a = self.sides.a
        cdef double p, q, log_beta = self.weighted.log_beta[self.sides.ci]
        if merging:
            # the target's ratio left the present sides, counted, in the columns
            log_beta = log_add(log_beta, self.weighted.log_beta[self.sides.cj])
            self.weights.u_a = self.weights.u_b = self.weights.p
            if not self.weights.before:
                self.weights.set_shares_by_tables(self.sides, log_beta - LOG_2)
        p, q = self.weights.u_a, self.weights.u_b
        log_beta = (lgamma(p + q) - lgamma(p) - lgamma(q)
                    + (p - 1.0) * (self.weighted.log_beta[a] - log_beta)
                    + (q - 1.0) * (self.weighted.log_beta[a + 1] - log_beta))
        return self.term(SHARES, log_beta if merging else -log_beta)

    # -- as printed
    cdef void two_of(self, Py_ssize_t c, Py_ssize_t *i, Py_ssize_t *j) noexcept nogil:
        """Two different tokens of topic c, in random order."""
        cdef Py_ssize_t a, b, n = self.model.members(c, c, self.sides.items)
        self.rng.draw_two(n, &a, &b)
        i[0], j[0] = self.sides.items[a], self.sides.items[b]

    cdef int split_as_printed(self, Py_ssize_t c, Py_ssize_t i, Py_ssize_t j) except -1 nogil:
        """Algorithm 1, "If split"."""
        cdef double log_r = -self.log_of_state(), log_q
        self.keep()
        log_q = self.make_split(c, i, j)
        log_r += self.log_of_state() - log_q
        if not self.decide(self.term(PRINTED, log_r)):
            self.go_back()
        return 0

    cdef int merge_as_printed(self, Py_ssize_t c, Py_ssize_t d) except -1 nogil:
        """Algorithm 1, "if merge": weighed against the present state (text), or against a dummy split (box)."""
        cdef Py_ssize_t i, j, a, union_of = min(c, d)
        cdef double before = self.log_of_state(), merged, log_q
        self.keep()
        self.model.commit_merge(c, d)
        self.weighted.refresh_weights(self.rng)
        merged = self.log_of_state()
        a = self.model.K
        if self.box:
            self.keep_weights(self.kept_room // 2)
            self.two_of(union_of, &i, &j)
            log_q = self.make_split(union_of, i, j)
            before = self.log_of_state()
            self.model.commit_merge(union_of, a)
            self.take_weights(self.kept_room // 2)
        else:
            i = self.one_kept(c)
            j = self.one_kept(d)
            self.sides.open(union_of, union_of, i, j)
            self.sides.gather()
            self.sides.draw_order()
            self.sides.put_in_order()
            for a in range(self.sides.n):
                self.sides.in_a[a] = self.kept[self.sides.items[a]] == c
            self.sides.stage()
            log_q = self.allocate(True)
        if not self.decide(self.term(PRINTED, log_q + merged - before)):
            self.go_back()
        return 0

    cdef double make_split(self, Py_ssize_t c, Py_ssize_t i, Py_ssize_t j) except? -1 nogil:
        """Split topic c of the state itself by equations 16 and 17, and draw all weights; returns log q_alloc."""
        cdef double log_q
        self.sides.open(c, c, i, j)
        self.sides.gather()
        self.sides.stage()
        self.sides.draw_order()
        self.sides.put_in_order()
        log_q = self.allocate(False)
        self.accept_split()
        self.weighted.refresh_weights(self.rng)
        return log_q

    cdef double allocate(self, bint forced) noexcept nogil:
        """Equations 16 and 17; returns log q_alloc."""
        return sequential_allocation(self.model, self.rng, self.sides.items, self.sides.n, self.sides.a,
                                     self.sides.a + 1, self.sides.in_a, forced, True)

    cdef double log_of_state(self) noexcept nogil:
        """Equations 11 (12, 13) and 14 (15): log P(C | beta) + log L(C | x)."""
        return self.weighted.log_configuration() + self.model.log_lik(self.model.numbers, self.model.K)

    cdef int keep(self) except -1 nogil:
        """Remember the state."""
        memcpy(self.kept, self.model.z, self.model.N * sizeof(int32_t))
        self.kept_K = self.model.K
        if 2 * self.kept_K + 4 > self.kept_room:
            with gil:
                self.kept_weights = <double *> self.memory.larger(self.kept_weights, 0, 8 * (4 * self.kept_K + 8))
                self.kept_room = 4 * self.kept_K + 8
        self.keep_weights(0)
        return 0

    cdef void keep_weights(self, Py_ssize_t offset) noexcept nogil:
        memcpy(self.kept_weights + offset, self.weighted.log_beta, self.model.K * sizeof(double))
        self.kept_weights[offset + self.model.K] = self.weighted.log_unseen

    cdef void take_weights(self, Py_ssize_t offset) noexcept nogil:
        memcpy(self.weighted.log_beta, self.kept_weights + offset, self.model.K * sizeof(double))
        self.weighted.log_unseen = self.kept_weights[offset + self.model.K]

    cdef int go_back(self) except -1 nogil:
        """To the state that was kept, label for label."""
        self.model.reset(self.kept, self.kept_K)
        self.take_weights(0)
        return 0

    cdef Py_ssize_t one_kept(self, Py_ssize_t c) noexcept nogil:
        """A token of what was topic c."""
        cdef Py_ssize_t t, n = 0
        for t in range(self.model.N):
            if self.kept[t] == c:
                self.sides.items[n] = <int32_t> t
                n += 1
        return self.sides.items[self.rng.draw_index(n)]
