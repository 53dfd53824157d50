"""The samplers of Wang & Russell 2015: smart-dumb/dumb-smart, smart-smart, random mixing, birth and death.

Smart and dumb proposals, which SDDS and SS combine, have clusters as anchors, and no anchor items.

    what to split    dumb   any cluster                                          1/K
                     smart  cluster c, proportional to 1/g(c)                    f_split(c)
    what to merge    dumb   any two clusters                                     2/(K (K - 1))
                     smart  any cluster A, then B proportional to g(A u B)/g(A)  [f(B|A) + f(A|B)]/K
    the sides        dumb   coins, no side empty                                 2^-(n-1)
                     smart  sequential, in item order, from two empty sides      2 p_seq(A, B)

g(C) is the marginal likelihood of the items of C, P(m_E | E) in the paper. A forward choice draws; its reverse is
computed in the state that the move would lead to. The sides {A, B} come in two orders, and a pair of clusters is drawn
in two.

`clusters=near`, for models with near pairs (``core/near_pairs.pyx``), chooses clusters through items, so that a move
costs what the neighbours of its items cost, however many clusters there are. N items, of which a are in A; s the share
of draws that are near pairs; e(A, B) near pairs between A and B, of P:

    what to split    dumb and smart   the cluster of any item; null if it is alone      n/N
    what to merge    dumb    the clusters of a pair of items that is drawn; null: one   s e(A, B)/P
                                                                                        + (1 - s) 2 a b/(N (N - 1))
                     smart   A of any item; B by r(B|A) with probability s, else of     a/N [s r(B|A) + (1 - s) b/N]
                             any item; null if that is A, or A has no candidates        + b/N [s r(A|B) + (1 - s) a/N]

r(B|A) is proportional to g(A u B)/g(B) among the clusters that share a near pair with A. 1 - s keeps every pair of
clusters possible.

SDDS, smart-dumb/dumb-smart (Algorithms 2 and 3), has two kernels:

    ssdm     smart split, by f_split(c) and p_seq(A, B)      dumb merge of any two clusters
    smds     dumb split of any cluster, by coins             smart merge, by f(B|A)

The exact log ratio of a split K -> K+1 of cluster c (n items) into (A, B) is log Delta + log reverse - log forward; a
merge is its inverse, evaluated from the merged state:

    kernel                      forward                   reverse, EMM           reverse, no empty clusters
    smart split / dumb merge    f_split(c) p_seq(A, B)    1/K                    1/(K (K+1))
    dumb split / smart merge    2^-(n-1) / K              f(B|A) + f(A|B)        [f(B|A) + f(A|B)] / (K+1)
    both smart (SS)             2 f_split(c) p_seq(A, B)  f(B|A) + f(A|B)        [f(B|A) + f(A|B)] / (K+1)

Delta is pi'/pi. The paper's 2/(K(K-1)) of a dumb merge is, seen from the split, 2/((K+1)K). Where empty clusters are
kept, a state with K+1 clusters has K+1 labellings for every one of a state with K: that factor, the term `orders`, is
in `reverse` here. As printed (mode=as_printed) labels count as in the paper (docs/decisions/0002). The paper introduces
SS to show how the two smart proposals defeat each other.

Derivation: docs/derivations.md. Cost of a move: O(n) predictives and O(K) likelihoods; a smart merge, and the reverse
of a dumb split, O(K) unions.

Random mixing (Pasula et al. 2003; sections 3.3 and 5.1): redistribute two clusters' items.

Two clusters are chosen at random, perhaps the same one twice: then it is a split. A side that comes out empty: a merge.
Else: a re-mix at the same K. Exact ratios, r(a, b) the probability of one redistribution into a + b items:

    split of n items into a + b    Delta * 2 K^2 / (K+1)       r(n, 0) / r(a, b)    EMM
                                   Delta * 2 (K / (K+1))^2     r(n, 0) / r(a, b)    no empty clusters
    merge                          the inverse, from the merged state
    re-mix                         Delta * r(old) / r(new)

`redistribution` is "randomly chosen split point" read as: `cut`, shuffle then cut uniformly, r = a! b! / (n+1)!;
`coin`, section 3.3, r = 2^-n. A proposal with an empty old or new part is null, except the merge of two clusters that
hold items. Cost: O(n) statistics.

Birth and death of a cluster (section 3.3: "they lead to very slow mixing").

With empty clusters kept (EMM): a birth appends an empty cluster, a death removes one of the E empty ones. Exact ratio
of a birth K -> K+1, E counted before it:

    Delta (K+1) / (E+1)

Without (docs/decisions/0005): a birth makes item i, chosen uniformly, a cluster of its own; a death puts a lone item
into another cluster, chosen uniformly. Exact ratio of a birth:

    Delta / K

A death is the inverse. With empty clusters the move alone leaves the items where they are: combine it with Gibbs scans.
Cost: O(K); without empty clusters the statistics of O(1) items.
"""
cimport cython
from libc.math cimport exp, fabs, lgamma, log, log1p
from libc.stdint cimport int8_t, int32_t

from splitmerge_cli.core.capabilities cimport Coupled
from splitmerge_cli.core.log_scale cimport exp_weights, log_sum_exp
from splitmerge_cli.core.near_pairs cimport NearPairs
from splitmerge_cli.core.recording cimport NAMED
from splitmerge_cli.samplers.split_merge cimport (
    ALLOCATION, ANCHORS, MERGE, ORDERS, PRINTED, SPLIT, TARGET, Allocation, Coins, Sequential, Sides, SplitMerge,
)

from splitmerge_cli.core.near_pairs import NoNearPairs
from splitmerge_cli.core.options import Choice
from splitmerge_cli.core.sampler import PARTITION

cdef enum:                              # MOVES of SS; of SDDS; of RM, after the frame's; of BirthDeath
    BOTH_SMART_SPLIT, BOTH_SMART_MERGE
    SMART_SPLIT = 0, DUMB_MERGE, DUMB_SPLIT, SMART_MERGE
    REMIX = 2
    BIRTH = 0, DEATH

KERNELS = ("both", "ssdm", "smds")

cdef double LOG_2 = log(2.0)


cdef class SmartAllocation(Allocation):
    """Sequential allocation in item order, by the predictive alone; or coins."""

    cdef bint smart                     # one item after the other; else by coins
    cdef Sequential sequential
    cdef Coins coins

    def __init__(self):
        self.sequential, self.coins = Sequential(shuffled=False, sized=False), Coins()

    cdef double draw(self, Sides s) noexcept nogil:
        return self.sequential.draw(s) if self.smart else self.coins.draw(s)

    cdef double score(self, Sides s) noexcept nogil:
        return self.sequential.score(s) if self.smart else self.coins.score(s)


cdef class SmartMoves(SplitMerge):
    """Smart and dumb splits and merges; an abstract class."""

    OPTIONS = (
        Choice("clusters", "auto", "how clusters are chosen: all (among all K, as in the paper), near (through items "
               "and their near pairs) or auto (near for a model with near pairs, else all)",
               choices=("auto", "all", "near"), later=True),
        *SplitMerge.OPTIONS,
    )
    DIVIDES_WEIGHTS = True
    STAYS = ()                          # clusters are split and merged whether or not they are empty

    cdef SmartAllocation sides_by
    cdef bint smart_split, smart_merge  # of the kernel under way: whether its split, and its merge, is smart
    cdef Coupled coupled                # the model, where its clusters depend on each other; else None
    cdef double log_f                   # log f_split of the cluster that was chosen
    cdef double *lw                     # [lw_room] log weights over clusters, and behind them weights
    cdef Py_ssize_t lw_room
    # -- clusters=near
    cdef NearPairs near                 # pairs through which clusters are chosen; None: among all
    cdef int8_t *in_b                   # [N] side of an item of the move
    cdef Py_ssize_t opened              # the cluster whose items are on the sides of a split; -1: none
    cdef int32_t *candidate             # [lw_room] clusters near a side
    cdef int32_t *names                 # [lw_room] and their names
    cdef int8_t *taken                  # [lw_room] by column: whether it is among them

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        able = self.model.near_pairs is not None and not self.model.allows_empty and not self.as_printed
        if self.options["clusters"] == "near" and not able:
            raise NoNearPairs("sampler.clusters=near: expected a model with near pairs and sampler.mode=exact; "
                              "sampler.clusters=all asks for neither")
        if able and self.options["clusters"] != "all":
            self.near, self.in_b = self.model.near_pairs, self.memory.flags(self.model.N)
        self.opened = -1
        self.allocation = self.sides_by = SmartAllocation()
        self.coupled = model if isinstance(model, Coupled) else None
        self.need(8)

    cdef void use(self, bint smart_split, bint smart_merge) noexcept nogil:
        """Say which kernel the next move is of."""
        self.smart_split, self.smart_merge = smart_split, smart_merge
        self.sides_by.smart = smart_split

    cdef int propose_split(self, int move) except -1 nogil:
        """Algorithm 2, lines 3 to 7; Algorithm 3, lines 6 to 9."""
        cdef Py_ssize_t c
        self.propose(move)
        if self.model.K == self.model.kmax:
            return self.null()
        if self.near is not None:
            c = self.model.z[self.rng.draw_index(self.model.N)]
            return self.null() if self.model.size[c] == 1 else self.split(c, -1, -1)
        c = self.choose_split() if self.smart_split else self.draw_cluster(self.model.K)
        return self.split(c, -1, -1)

    cdef int propose_merge(self, int move) except -1 nogil:
        """Algorithm 2, lines 8 to 10; Algorithm 3, lines 3 to 5."""
        cdef Py_ssize_t i, j, K = self.model.K
        self.propose(move)
        if K == 1:
            return self.null()
        if self.near is not None:
            if self.smart_merge:
                i = self.model.z[self.rng.draw_index(self.model.N)]
                if self.rng.draw_coin(self.near.share):
                    self.need(K)
                    j = self.draw_candidate(i)
                else:
                    j = self.model.z[self.rng.draw_index(self.model.N)]
            else:
                self.near.draw(self.rng, &i, &j)
                i, j = self.model.z[i], self.model.z[j]
            if j < 0 or i == j:
                return self.null()
        elif self.smart_merge:
            i = self.draw_cluster(K)
            j = self.choose_partner(i)
        else:
            self.draw_two_clusters(K, &i, &j)
        return self.merge(i, j, -1, -1)

    cdef double log_anchors(self, bint merging) except? -1 nogil:
        cdef Py_ssize_t a = self.sides.ci, b = self.sides.cj, K = self.model.K - merging
        cdef double log_p
        if self.near is not None:
            return self.log_near(merging)
        # of K clusters in the merged state, K + 1 in the split one
        if not self.smart_merge:
            log_p = LOG_2 - log(<double> K)
        elif merging:
            log_p = self.log_f_merge_both(a, b, self.log_pair_lik(a, b), -1)
        else:
            log_p = self.log_f_merge_both(K, K + 1, self.model.lik(a), a)
        log_p -= log(<double> (K + 1))
        if not self.smart_split:
            return log_p + log(<double> K)
        return log_p - (self.log_f_split_of_union(a, b) if merging else self.log_f)

    cdef Py_ssize_t choose_split(self) except -1 nogil:
        """Algorithm 2, line 5: a cluster c with probability proportional to 1/g(c)."""
        cdef Py_ssize_t k, c, K = self.model.K
        cdef double log_W
        self.need(K)
        for k in range(K):
            self.lw[k] = -self.model.lik(k)
        log_W = exp_weights(self.lw, K, self.lw + K)
        c = self.draw_cluster_by(self.lw + K, K)
        self.log_f = self.lw[c] - log_W
        return c

    cdef double log_f_split_of_union(self, Py_ssize_t i, Py_ssize_t j) except? -1 nogil:
        """log f_split for the union of clusters i and j in the state where they are merged."""
        cdef Py_ssize_t k, n = 0
        self.need(self.model.K)
        for k in range(self.model.K):
            if k != i and k != j:
                self.lw[n] = -self.model.lik(k)
                n += 1
        self.lw[n] = -self.log_pair_lik(i, j)
        return self.lw[n] - log_sum_exp(self.lw, n + 1)

    cdef Py_ssize_t choose_partner(self, Py_ssize_t i) except -1 nogil:
        """Algorithm 3, line 5: cluster j with probability proportional to g(i u j)/g(i)."""
        cdef Py_ssize_t k, n = 0
        cdef double *w
        self.need(self.model.K)
        w = self.lw + self.model.K
        for k in range(self.model.K):
            if k != i:
                self.lw[n] = self.log_pair_lik(i, k)
                n += 1
        exp_weights(self.lw, n, w)
        n = self.model.K - 1
        while n > i:
            w[n] = w[n - 1]
            n -= 1
        w[i] = 0.0
        return self.draw_cluster_by(w, self.model.K)

    cdef double log_f_merge_both(self, Py_ssize_t a, Py_ssize_t b, double log_union_ab,
                                 Py_ssize_t skip) except? -1 nogil:
        """log [f(b given a) + f(a given b)] in the state of all clusters but `skip`, together with a and b (which may
        be scratch)."""
        cdef Py_ssize_t k, side, n, s
        cdef double r[2]
        self.need(self.model.K)
        for side in range(2):
            s = b if side else a
            self.lw[0] = log_union_ab
            n = 1
            for k in range(self.model.K):
                if k != a and k != b and k != skip:
                    self.lw[n] = self.log_pair_lik(s, k)
                    n += 1
            r[side] = log_union_ab - log_sum_exp(self.lw, n)
        return max(r[0], r[1]) + log1p(exp(-fabs(r[0] - r[1])))

    # -- clusters=near
    @cython.final
    cdef inline Py_ssize_t column_of(self, Py_ssize_t i) noexcept nogil:
        """The column of item i: of a split under way its side's, else its cluster."""
        return self.model.K + self.in_b[i] if self.model.z[i] == self.opened else self.model.z[i]

    cdef double log_near(self, bint merging) except? -1 nogil:
        """``log_anchors`` of clusters that are chosen through items and their near pairs."""
        cdef Py_ssize_t t, n = self.sides.n, a = self.sides.ci, b = self.sides.cj
        cdef double N = self.model.N, s = self.near.share, p, of_a, of_b
        self.need(self.model.K + 2)
        if merging:
            self.sides.gather()
        else:
            self.opened, a, b = a, self.model.K, self.model.K + 1
        for t in range(n):
            self.in_b[self.sides.items[t]] = self.sides.present[t] if merging else not self.sides.in_a[t]
        if self.smart_merge:
            of_a, of_b = self.model.size[a] / N, self.model.size[b] / N
            p = of_a * (s * self.chance(0, a, b) + (1.0 - s) * of_b)
            p += of_b * (s * self.chance(1, b, a) + (1.0 - s) * of_a)
        else:
            p = self.pair_chance(a, b)
        self.opened = -1
        return log(p) - log(n / N)

    cdef double pair_chance(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """Probability that a pair of items that is drawn has one in side A and one in B, columns a and b."""
        cdef Py_ssize_t t, e
        cdef double N = self.model.N, s = self.near.share if self.near.P else 0.0, between = 0.0
        for t in range(self.sides.n):
            if not self.in_b[self.sides.items[t]]:
                for e in range(self.near.first[self.sides.items[t]], self.near.first[self.sides.items[t] + 1]):
                    if self.column_of(self.near.near[e]) == b:
                        between += self.near.chance[e]
        return (s * between + (1.0 - s) * 2.0 * self.model.size[a] * self.model.size[b] / (N * (N - 1.0)))

    cdef double chance(self, Py_ssize_t side, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """r(b given a) of the columns of a side (0: A) and of the other."""
        cdef Py_ssize_t t, m = self.weigh_candidates(self.sides.items, self.sides.n, side, a)
        for t in range(m):
            if self.candidate[t] == b:
                return exp(self.lw[t] - log_sum_exp(self.lw, m))
        return 0.0

    cdef Py_ssize_t draw_candidate(self, Py_ssize_t a) noexcept nogil:
        """A cluster by r(. given a); -1 without any."""
        cdef Py_ssize_t t, m = self.model.members(a, a, self.sides.items)
        m = self.weigh_candidates(self.sides.items, m, -1, a)
        if m == 0:
            return -1
        exp_weights(self.lw, m, self.lw + m)
        if self.model.name != NULL:
            for t in range(m):
                self.names[t] = self.model.name[self.candidate[t]]
        return self.candidate[self.rng.draw_option(NAMED, -1, self.lw + m, m,
                                                   NULL if self.model.name == NULL else self.names)]

    cdef Py_ssize_t weigh_candidates(self, const int32_t *items, Py_ssize_t n, Py_ssize_t side,
                                     Py_ssize_t a) noexcept nogil:
        """candidate[:m], lw[:m]: columns that share a near pair with column a, the items of a side (-1: all of these),
        and their log weights; returns m."""
        cdef Py_ssize_t t, e, k, m = 0
        for t in range(n):
            if side >= 0 and self.in_b[items[t]] != side:
                continue
            for e in range(self.near.first[items[t]], self.near.first[items[t] + 1]):
                k = self.column_of(self.near.near[e])
                if k != a and not self.taken[k]:
                    self.taken[k] = True
                    self.candidate[m] = <int32_t> k
                    m += 1
        for t in range(m):
            k = self.candidate[t]
            self.taken[k] = False
            self.lw[t] = self.log_pair_lik(a, k) - self.model.lik(k)
        return m

    cdef double log_pair_lik(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """Log marginal likelihood of clusters a and b as one, alone: g of their union."""
        return self.model.log_union(a, b) if self.coupled is None else self.coupled.log_pair_lik(a, b)

    cdef int need(self, Py_ssize_t clusters) except -1 nogil:
        """Room for the log weights of this many clusters, and columns for them in the model."""
        if 2 * clusters + 8 > self.lw_room:
            with gil:
                self.lw = <double *> self.memory.larger(self.lw, self.lw_room * 8, 2 * (2 * clusters + 8) * 8)
                if self.near is not None:
                    self.candidate = <int32_t *> self.memory.larger(self.candidate, 0, 8 * (2 * clusters + 8))
                    self.names = <int32_t *> self.memory.larger(self.names, 0, 8 * (2 * clusters + 8))
                    self.taken = <int8_t *> self.memory.larger(self.taken, 0, 2 * (2 * clusters + 8))
            self.lw_room = 2 * (2 * clusters + 8)
        return self.model.reserve(clusters)


cdef class SDDS(SmartMoves):
    """Smart-dumb/dumb-smart sampler."""

    OPTIONS = (
        Choice("kernel", "both", "ssdm: only smart split/dumb merge; smds: only smart merge/dumb split; both: one of "
               "the two, uniformly, in each step", choices=KERNELS),
        *SmartMoves.OPTIONS,
    )
    MOVES = ("smart_split", "dumb_merge", "dumb_split", "smart_merge")

    cdef int which                      # 0 both, 1 ssdm, 2 smds

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        self.which = KERNELS.index(self.options["kernel"])

    cdef int make_step(self) except -1 nogil:
        """Section 5.1: one of the two kernels; line 2 of its algorithm: split or merge."""
        cdef bint smart_merges = self.rng.draw_index(2) == 1 if self.which == 0 else self.which == 2
        cdef bint merge = self.rng.draw_index(2) == 1
        self.use(not smart_merges, smart_merges)
        if merge:
            return self.propose_merge(SMART_MERGE if smart_merges else DUMB_MERGE)
        return self.propose_split(DUMB_SPLIT if smart_merges else SMART_SPLIT)


cdef class SS(SmartMoves):
    """Smart-smart sampler."""

    MOVES = ("smart_split", "smart_merge")

    cdef int make_step(self) except -1 nogil:
        """Line 2 of Algorithms 2 and 3: split or merge."""
        self.use(True, True)
        if self.rng.draw_index(2) == 1:
            return self.propose_merge(BOTH_SMART_MERGE)
        return self.propose_split(BOTH_SMART_SPLIT)


cdef class RM(SplitMerge):
    """Random mixing sampler. Term `anchors`: the choice of the two clusters; `allocation`: r."""

    OPTIONS = (
        Choice("redistribution", "cut", "cut: shuffle, then a uniform split point; coin: a fair coin per item",
               choices=("cut", "coin")),
        *SplitMerge.OPTIONS,
    )
    MOVES = (*SplitMerge.MOVES, "remix")

    cdef bint cut

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        self.cut = self.options["redistribution"] == "cut"

    cdef double log_r(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """log r(a, b)."""
        if self.cut:
            return lgamma(a + 1.0) + lgamma(b + 1.0) - lgamma(a + b + 2.0)
        return -(a + b) * LOG_2

    cdef double log_pair(self, Py_ssize_t K) noexcept nogil:
        """log of the pair choice's part of a split from K clusters."""
        return LOG_2 + 2 * log(K / (K + 1.0))

    cdef void redistribute(self, Py_ssize_t n) noexcept nogil:
        """Sides of items[:n]; `cut` leaves the items shuffled."""
        cdef Py_ssize_t t, s
        if self.cut:
            self.sides.draw_order()
            self.sides.put_in_order()
            s = self.rng.draw_index(n + 1)
            for t in range(n):
                self.sides.in_a[t] = t < s
        else:
            for t in range(n):
                self.sides.in_a[t] = self.rng.draw_coin(0.5)

    cdef int make_step(self) except -1 nogil:
        cdef Py_ssize_t K = self.model.K, e1, e2, t, n, na = 0
        e1 = self.draw_cluster(K)
        e2 = self.draw_cluster(K)
        if e1 == e2:
            self.propose(SPLIT)
            if K == self.model.kmax:
                return self.null()
        else:
            self.propose(REMIX)
            if self.model.size[e1] == 0 or self.model.size[e2] == 0:
                return self.null()
        self.sides.open(e1, e2, -1, -1)
        self.sides.gather()
        n = self.sides.n
        self.redistribute(n)
        for t in range(n):
            na += self.sides.in_a[t]
        if e1 != e2 and (na == 0 or na == n):
            self.turn_to(MERGE)
            return self.decide_merge(e1, e2, n)
        if na == 0 or na == n:
            return self.null()
        self.sides.stage()
        for t in range(n):
            self.model.join(self.sides.items[t], K if self.sides.in_a[t] else K + 1)
        if e1 == e2:
            return self.decide_split(e1, na, n)
        return self.decide_remix(e1, e2, na, n)

    cdef int decide_split(self, Py_ssize_t c, Py_ssize_t na, Py_ssize_t n) except -1 nogil:
        cdef Py_ssize_t K = self.model.K
        if self.decide(self.term(TARGET, self.log_split_ratio(c, K, K + 1))
                       + self.term(ORDERS, self.log_orders(K + 1))
                       + self.term(ANCHORS, self.log_pair(K))
                       + self.term(ALLOCATION, self.log_r(n, 0) - self.log_r(na, n - na))
                       + self.term(PRINTED, self.log_label_count(K))):
            self.accept_split()
        return 0

    cdef int decide_merge(self, Py_ssize_t i, Py_ssize_t j, Py_ssize_t n) except -1 nogil:
        cdef Py_ssize_t K = self.model.K
        if self.decide(self.term(TARGET, self.log_merge_ratio(i, j))
                       + self.term(ORDERS, -self.log_orders(K))
                       + self.term(ANCHORS, -self.log_pair(K - 1))
                       + self.term(ALLOCATION, self.log_r(self.model.size[i], self.model.size[j]) - self.log_r(n, 0))
                       + self.term(PRINTED, -self.log_label_count(K - 1))):
            self.model.commit_merge(i, j)
        return 0

    cdef int decide_remix(self, Py_ssize_t i, Py_ssize_t j, Py_ssize_t na, Py_ssize_t n) except -1 nogil:
        cdef int32_t both[2]
        cdef Py_ssize_t t
        cdef int32_t[4] ks
        cdef Py_ssize_t K = self.model.K
        ks[0], ks[1], ks[2], ks[3] = <int32_t> K, <int32_t> (K + 1), <int32_t> i, <int32_t> j
        if self.decide(self.term(TARGET, self.log_ratio_of(ks, 2, 2))
                       + self.term(ALLOCATION, self.log_r(self.model.size[i], self.model.size[j])
                                   - self.log_r(na, n - na))):
            both[0], both[1] = <int32_t> min(i, j), <int32_t> max(i, j)
            for t in range(n):
                self.sides.in_a[t] = not self.sides.in_a[t]
            self.model.commit_sides(both, 2, self.sides.items, self.sides.in_a, n)
        return 0


cdef class BirthDeath(SplitMerge):
    """Birth-death sampler. Term `anchors`: the choice of the cluster, or of the item and its new cluster."""

    MOVES = ("birth", "death")
    STAYS = (PARTITION,)                # empty clusters alone are born and die

    cdef int make_step(self) except -1 nogil:
        cdef bint death = self.rng.draw_index(2) == 1
        self.propose(DEATH if death else BIRTH)
        if self.model.allows_empty:
            return self.death_of_empty() if death else self.birth_of_empty()
        return self.death_of_lone_item() if death else self.birth_of_lone_item()

    cdef Py_ssize_t count_empty(self) noexcept nogil:
        cdef Py_ssize_t k, n = 0
        for k in range(self.model.K):
            n += self.model.size[k] == 0
        return n

    cdef double log_prior_of(self, Py_ssize_t K) noexcept nogil:
        return self.model.log_prior(self.model.size, 0, K)

    cdef int birth_of_empty(self) except -1 nogil:
        cdef Py_ssize_t K = self.model.K
        cdef double r
        if K == self.model.kmax:
            return self.null()
        r = (self.term(TARGET, self.log_prior_of(K + 1) - self.log_prior_of(K))
             + self.term(PRINTED, self.log_label_count(K))
             + self.term(ORDERS, self.log_orders(K + 1))
             + self.term(ANCHORS, -log(self.count_empty() + 1.0)))
        if self.decide(r):
            self.model.append_empty()
        return 0

    cdef int death_of_empty(self) except -1 nogil:
        cdef Py_ssize_t K = self.model.K, E = self.count_empty(), e, k = -1
        cdef double r
        if E == 0 or K == 1:
            return self.null()
        e = self.rng.draw_index(E)
        while e >= 0:
            k += 1
            e -= self.model.size[k] == 0
        r = (self.term(TARGET, self.log_prior_of(K - 1) - self.log_prior_of(K))
             + self.term(PRINTED, -self.log_label_count(K - 1))
             + self.term(ORDERS, -self.log_orders(K))
             + self.term(ANCHORS, log(<double> E)))
        if self.decide(r):
            self.model.delete(k)
        return 0

    cdef int birth_of_lone_item(self) except -1 nogil:
        cdef Py_ssize_t i = self.rng.draw_index(self.model.N), c = self.model.z[i], K = self.model.K
        cdef double r
        if self.model.size[c] == 1:
            return self.null()
        self.model.reserve(K)
        self.model.begin_scan()
        r = (self.term(TARGET, self.model.log_odds(i, c, K, c, True))
             + self.term(PRINTED, self.log_label_count(K))
             + self.term(ANCHORS, -log(<double> K)))
        if self.decide(r):
            self.model.move(i, K)
        return 0

    cdef int death_of_lone_item(self) except -1 nogil:
        cdef Py_ssize_t i = self.rng.draw_index(self.model.N), c = self.model.z[i], k, K = self.model.K
        cdef double r
        if self.model.size[c] != 1 or K == 1:
            return self.null()
        k = self.draw_other_cluster(K, c)
        r = (self.term(TARGET, self.log_merge_ratio(c, k))
             + self.term(PRINTED, -self.log_label_count(K - 1))
             + self.term(ANCHORS, log(K - 1.0)))
        if self.decide(r):
            self.model.commit_merge(c, k)
        return 0
