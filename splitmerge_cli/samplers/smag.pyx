"""Split-merge of topics (paper 002, section 3.3 and Algorithm 1).

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
    calls        that topics and tokens are chosen for the merge, over the same for the split:
                 pair    two tokens of the corpus: 1
                 coin    half and half; a topic and two of its tokens, or two topics and a token of each:
                         n (n-1)/((K+1) n_1 n_2)

`weights`: before: u ~ Beta(p, p), then the tokens; after: the tokens with half of beta_k each, then u ~ Beta of the
tables that the sides would have. Either is exact. beta_u stays, so that alone it reaches only the states with this
beta_u: the schedules draw all weights after each move.

As printed (`mode=literal`) all weights are drawn anew by equations 9 and 10 within the proposal, and count in
equation 11 alone; equation 11 counts the token that opens a topic twice; the choices are not counted. `text`: a merge
is weighed against the present state; `box`: against a dummy split drawn for it, so that the present sides never enter.
It works on the state itself: O(N) a move.

Cost of a move: the tokens of its topics, n (O(V + documents) for their likelihoods).
"""
from libc.math cimport lgamma, log
from libc.stdint cimport int32_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from splitmerge_cli._dyadic cimport PairMoves
from splitmerge_cli._kernels cimport Model, Rng, ints, larger, log_add

from splitmerge_cli._kernels import check_count, check_range

CHOICES = ("coin", "pair")
WEIGHTS = ("before", "after")
PRINTED_FORMS = ("text", "box")

cdef enum:
    SPLIT, MERGE                        # MOVES

cdef enum:
    TARGET, CALLS, ALLOCATION, PRINTED, SHARES  # TERMS

cdef double LOG_2 = log(2.0)


cdef class SMAG(PairMoves):
    """Split-merge of topics.

    Parameters
    ----------
    model : Model
        Whose clusters have weights.
    rng : Rng
    choice : {'coin', 'pair'}
        Who says whether to split or to merge, and what.
    weights : {'before', 'after'}
        When the weight of a split topic is divided.
    p : float
        before: u ~ Beta(p, p).
    tries : int
        Proposals in a step, at least 1.
    form : {'text', 'box'}
        literal: how a merge is weighed.
    mode : {'exact', 'literal'}
    """

    MOVES = ("split", "merge")
    TERMS = ("target", "calls", "allocation", "printed", "shares")
    NEEDS_CONJUGATE = True
    DIVIDES_WEIGHTS = True

    cdef readonly str choice, weights, form
    cdef readonly double p
    cdef readonly int tries
    cdef bint by_pair, before, literal, box
    cdef int32_t *kept                  # [N] literal: topics of the tokens, to go back to
    cdef double *kept_weights           # [kept_room] and their log weights
    cdef Py_ssize_t kept_room, kept_K

    def __init__(self, Model model not None, Rng rng not None, str choice="coin", str weights="before", p=1.0,
                 tries=1, str form="text", str mode="exact"):
        super().__init__(model, rng, "sams", 0, mode)
        for key, value, offered in (("choice", choice, CHOICES), ("weights", weights, WEIGHTS),
                                    ("form", form, PRINTED_FORMS)):
            if value not in offered:
                raise ValueError(f"sampler.{key}: expected one of {', '.join(offered)}, got {value!r}")
        check_range("sampler.p", p, 1e-3, 1e3)
        check_count("sampler.tries", tries, 1, 10_000)
        self.choice, self.weights, self.form, self.p, self.tries = choice, weights, form, p, tries
        self.by_pair, self.before, self.literal = choice == "pair", weights == "before", mode == "literal"
        self.box = form == "box"
        if self.literal:
            self.kept = ints(model.N)

    def __dealloc__(self):
        free(self.kept)
        free(self.kept_weights)

    @classmethod
    def supports(cls, model):
        """Whether this sampler can serve the model: (bool, reason)."""
        able, reason = super().supports(model)
        if able and not model.weighted:
            return False, "its moves divide and add the weights of topics (model=hdp)"
        return able, reason

    cdef int make_step(self) except -1 nogil:
        cdef int _try
        for _try in range(self.tries):
            self.bounded = False
            if self.by_pair and not self.literal:
                self.move_by_pair()
            else:
                self.move_by_coin()
        return 0

    cdef int move_by_pair(self) except -1 nogil:
        """Section 3.3: two random words of the corpus, in one topic or in two."""
        cdef Py_ssize_t i, j
        self.propose(SPLIT)
        if self.model.N < 2:
            return self.null()
        i = self.rng.draw_index(self.model.N)
        j = self.rng.draw_index(self.model.N - 1)
        j += j >= i
        if self.model.z[i] == self.model.z[j]:
            return self.split(self.model.z[i], i, j)
        self.proposed[SPLIT] -= 1
        self.propose(MERGE)
        return self.merge(self.model.z[i], self.model.z[j], i, j)

    cdef int move_by_coin(self) except -1 nogil:
        """Algorithm 1: t ~ Bern(0.5); a random topic, or two; section 4: two words of one topic, or one of each."""
        cdef Py_ssize_t c, d, i, j, K = self.model.K
        if self.rng.draw_index(2) == 0:
            self.propose(SPLIT)
            c = self.rng.draw_index(K)
            if self.model.size[c] == 1:
                return self.null()
            self.two_of(c, &i, &j)
            return self.split_as_printed(c, i, j) if self.literal else self.split(c, i, j)
        self.propose(MERGE)
        if K == 1:
            return self.null()
        c = self.rng.draw_index(K)
        d = self.rng.draw_index(K - 1)
        d += d >= c
        if self.literal:
            return self.merge_as_printed(c, d)
        i = self.one_of(c)
        return self.merge(c, d, i, self.one_of(d))

    cdef void two_of(self, Py_ssize_t c, Py_ssize_t *i, Py_ssize_t *j) noexcept nogil:
        """Two different tokens of topic c, in random order."""
        cdef Py_ssize_t n = self.model.members(c, c, self.items), a = self.rng.draw_index(n)
        cdef Py_ssize_t b = self.rng.draw_index(n - 1)
        i[0], j[0] = self.items[a], self.items[b + (b >= a)]

    cdef Py_ssize_t one_of(self, Py_ssize_t c) noexcept nogil:
        """A token of topic c."""
        cdef Py_ssize_t n = self.model.members(c, c, self.items)
        return self.items[self.rng.draw_index(n)]

    # ---------------------------------------------------------------------------------------------------- exact

    cdef int split(self, Py_ssize_t c, Py_ssize_t i, Py_ssize_t j) except -1 nogil:
        """Propose to split topic c, with token i on side A and j on side B."""
        cdef Py_ssize_t n, a = self.model.K, b = a + 1
        cdef double log_q, u_a = self.p, u_b = self.p, half
        self.model.reserve(a)
        # half of the weight each
        self.stage_two(c, c)
        if self.before and not self.model.divide(self.rng, c, a, u_a, u_b):
            return self.null()
        n = self.gather(c, c, i, j)
        self.shuffle(n)
        log_q = self.allocate_sides(n, i, j, False)
        if not self.before:
            half = self.model.log_beta[c] - LOG_2
            u_a, u_b = self.model.expected_tables(a, half), self.model.expected_tables(b, half)
            if not self.model.divide(self.rng, c, a, u_a, u_b):
                return self.null()
        if self.decide(self.term(TARGET, self.log_divided_ratio(c, a, b))
                       - self.term(SHARES, self.log_q_share(self.model.log_beta[c], u_a, u_b))
                       - self.term(ALLOCATION, log_q)
                       + self.term(CALLS, self.log_calls(a, self.model.size[a], self.model.size[b]))):
            self.accept_split(c, n, j)
        return 0

    cdef int merge(self, Py_ssize_t c, Py_ssize_t d, Py_ssize_t i, Py_ssize_t j) except -1 nogil:
        """Propose to merge topics c, of token i, and d, of token j."""
        cdef Py_ssize_t n, a = self.model.K, b = a + 1
        cdef int32_t n_c = self.model.size[c], n_d = self.model.size[d]
        cdef double log_q, log_r, both, u_a = self.p, u_b = self.p
        self.model.reserve(a)
        # leaves the present sides in columns a and b
        log_r = self.term(TARGET, self.log_merge_ratio(c, d))
        both = log_add(self.model.log_beta[c], self.model.log_beta[d])
        if not self.before:
            u_a, u_b = self.model.expected_tables(a, both - LOG_2), self.model.expected_tables(b, both - LOG_2)
        log_r += self.term(SHARES, self.log_q_share(both, u_a, u_b)) - self.term(CALLS, self.log_calls(a - 1, n_c, n_d))
        n = n_c + n_d - 2
        self.draw_order(n)
        if self.refused(log_r):
            return 0
        self.gather(c, d, i, j)
        self.put_in_order(n)
        self.stage_two(c, d)
        if self.before:
            self.model.set_weight(a, self.model.log_beta[c])
            self.model.set_weight(b, self.model.log_beta[d])
        log_q = self.allocate_sides(n, i, j, True)
        if self.settled(log_r + self.term(ALLOCATION, log_q)):
            self.model.commit_merge(c, d)
        return 0

    cdef double allocate_sides(self, Py_ssize_t n, Py_ssize_t i, Py_ssize_t j, bint forced) noexcept nogil:
        """Equations 16 and 17: items[:n], in their order, to sides A (with i) and B (with j); returns log q_alloc."""
        self.model.join(i, self.model.K)
        self.model.join(j, self.model.K + 1)
        if forced:
            self.take_present(n)
        return self.allocate(n, self.model.K, self.model.K + 1, forced, True)

    cdef double log_q_share(self, double log_beta, double p, double q) noexcept nogil:
        """log density of the share u of side A of this weight, Beta(p, q)."""
        cdef Py_ssize_t a = self.model.K
        return (lgamma(p + q) - lgamma(p) - lgamma(q) + (p - 1.0) * (self.model.log_beta[a] - log_beta)
                + (q - 1.0) * (self.model.log_beta[a + 1] - log_beta))

    cdef double log_calls(self, Py_ssize_t K, Py_ssize_t n_1, Py_ssize_t n_2) noexcept nogil:
        """log of how much likelier the merge of two topics, of K + 1, is called than the split of their union."""
        cdef double n = n_1 + n_2
        if self.by_pair:
            return 0.0
        return log(n) + log(n - 1.0) - log(K + 1.0) - log(<double> n_1) - log(<double> n_2)

    # ---------------------------------------------------------------------------------------------- as printed

    cdef int split_as_printed(self, Py_ssize_t c, Py_ssize_t i, Py_ssize_t j) except -1 nogil:
        """Algorithm 1, "If split"."""
        cdef double log_r = -self.log_printed(), log_q
        self.keep()
        log_q = self.make_split(c, i, j)
        log_r += self.log_printed() - log_q
        if not self.decide(self.term(PRINTED, log_r)):
            self.go_back()
        return 0

    cdef int merge_as_printed(self, Py_ssize_t c, Py_ssize_t d) except -1 nogil:
        """Algorithm 1, "if merge": weighed against the present state (text), or against a dummy split (box)."""
        cdef Py_ssize_t n, i, j, a, union_of = min(c, d)
        cdef double before = self.log_printed(), merged, log_q
        self.keep()
        self.model.commit_merge(c, d)
        self.model.refresh_weights(self.rng)
        merged = self.log_printed()
        a = self.model.K
        if self.box:
            self.keep_weights(self.kept_room // 2)
            self.two_of(union_of, &i, &j)
            log_q = self.make_split(union_of, i, j)
            before = self.log_printed()
            self.model.commit_merge(union_of, a)
            self.take_weights(self.kept_room // 2)
        else:
            i = self.one_kept(c)
            j = self.one_kept(d)
            n = self.gather(union_of, union_of, i, j)
            self.shuffle(n)
            for a in range(n):
                self.present[a] = self.kept[self.items[a]] != c
            self.model.reserve(self.model.K)
            self.stage_two(union_of, union_of)
            log_q = self.allocate_sides(n, i, j, True)
        if not self.decide(self.term(PRINTED, log_q + merged - before)):
            self.go_back()
        return 0

    cdef double make_split(self, Py_ssize_t c, Py_ssize_t i, Py_ssize_t j) except? -1 nogil:
        """Split topic c of the state itself by equations 16 and 17, and draw all weights; returns log q_alloc."""
        cdef Py_ssize_t n
        cdef double log_q
        self.model.reserve(self.model.K)
        self.stage_two(c, c)
        n = self.gather(c, c, i, j)
        self.shuffle(n)
        log_q = self.allocate_sides(n, i, j, False)
        self.accept_split(c, n, j)
        self.model.refresh_weights(self.rng)
        return log_q

    cdef double log_printed(self) noexcept nogil:
        """Equations 11 (12, 13) and 14 (15): log P(C | beta) + log L(C | x)."""
        return self.model.log_configuration() + self.model.log_lik(self.model.numbers, self.model.K)

    cdef int keep(self) except -1 nogil:
        """Remember the state."""
        memcpy(self.kept, self.model.z, self.model.N * sizeof(int32_t))
        self.kept_K = self.model.K
        if 2 * self.kept_K + 4 > self.kept_room:
            with gil:
                self.kept_weights = <double *> larger(self.kept_weights, 0, (4 * self.kept_K + 8) * sizeof(double))
                self.kept_room = 4 * self.kept_K + 8
        self.keep_weights(0)
        return 0

    cdef void keep_weights(self, Py_ssize_t at) noexcept nogil:
        memcpy(self.kept_weights + at, self.model.log_beta, self.model.K * sizeof(double))
        self.kept_weights[at + self.model.K] = self.model.log_unseen

    cdef void take_weights(self, Py_ssize_t at) noexcept nogil:
        memcpy(self.model.log_beta, self.kept_weights + at, self.model.K * sizeof(double))
        self.model.log_unseen = self.kept_weights[at + self.model.K]

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
                self.items[n] = <int32_t> t
                n += 1
        return self.items[self.rng.draw_index(n)]
