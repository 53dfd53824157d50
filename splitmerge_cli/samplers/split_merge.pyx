"""Split-merge moves: anchors x allocation, in one frame.

*Anchors* say what the move is about: two items, of one cluster (a split) or of two (a merge): any two, or two about
which partitions of the chain history differ (hashed pairs stand in ``lshsm.pyx``); or clusters
(``wang_russell.pyx``). An *allocation* puts the other items on two sides, A and B, or scores the present sides:

    Coins             fair coins                                                                     q = 2^-n
    Sequential        one after the other, each with probability proportional to the side's predictive of it
                      (times the prior's weight)                                        q = product of the steps
    RestrictedGibbs   t restricted Gibbs scans from a launch state of coins, or, the first scan being sequential, from
                      the anchors alone; and a last one                                           q of the last scan

Sources: Wang & Russell 2015, Algorithms 2 and 3 (coins; sequential, in item order, from two empty sides); Dahl 2003 and
van Rossum et al. 2018, section 2.2 (sequential, in a uniform order, next to the anchors); Jain and Neal 2004
(restricted Gibbs).

The frame, `SplitMerge`, does the rest. Log ratio of a split from K clusters to K + 1, a sum of named terms; a merge is
the inverse of the split that would undo it, evaluated from the merged state:

    target      log pi'/pi: likelihood and prior
    orders      log (K + 1) where empty clusters are kept: labellings of the split state over labellings of the merged
    anchors     log probability that the split state calls this merge, over that the merged state calls this split
    allocation  - log q: the probability of the sides
    printed     as the paper prints it (mode=as_printed): what that has more than the exact ratio; left out otherwise

Parameters that are not integrated out: side A draws new ones from their prior, B keeps the cluster's, and a
merged cluster has B's. The prior density cancels; the likelihood is conditional on the parameters.

Early rejection: log q is at most 0, so a merge's ratio without it is an upper bound. All that the score of the present
sides draws is drawn first; then the decision is made in two stages, against the bound and against the whole
(``Sampler.survives``, ``Sampler.decide``). Chains do not depend on it.

Samplers that are anchors x allocation and no more:

Dyadic (van Rossum et al. 2018, section 2.1; Jain and Neal 2004), and SAMS, its sequentially allocated form (section
2.2; Dahl 2003): any two items, an allocation of choice. As printed (`mode=as_printed`) the ratio of q is 2^n whatever
the allocation (`q_ratio=formula`, equation 9), or left out (`one`). For coins equation 9 is exact. Cost of a step, n
items in the selected clusters: `random` O(n), `sams` n pairs of predictives, `gibbs` (t + 1) n pairs.

RGSM(t, r, g) (Jain and Neal 2004), the competitor ("SM") in Wang and Russell 2015, Luo and Shrivastava 2018 and Herlau
et al. 2014: any two items, restricted Gibbs scans. r tries are made in a step; g is the number of full Gibbs scans that
the schedule `full_scan` adds. With `launch=anchors` no item is placed at random first: the first of the t scans puts
them one after the other next to i and j (a variation of Dahl 2003, as Herlau et al. 2014, section 1.3, tell it).
Nothing of the launch state depends on the present sides, so the ratio is the same. Exact ratio of a split K -> K+1:

    Delta (K+1) / q(A, B given launch)    EMM, predictive alone
    Delta       / q(A, B given launch)    no empty clusters, predictive times size

bSM (Herlau et al. 2014, section 3.6.2): as RGSM, but i and j, and where the launch state puts some of the items, come
from two partitions z_a and z_b of the chains' history: items that both put with i begin on i's side, those that both
put with j on j's; the rest by fair coins.

    c_i = z_a(i) n z_b(i) n (z(i) u z(j))        exact: the same for the split and for its merge
    c_i = z_a(i) n z_b(i) n z(i)                 as printed ("c is the coarsest common refinement"): in the merged state
                                                 z(i) is another set than in the split one, and the move is not
                                                 reversible (`mode=as_printed`)

With the same pair, the allocations of Dahl and Newcomb 2022: the pair is more likely the nearer its share of
co-clustering in the history is to 1/2, and the other items are put with i or j one after the other, in a uniform order,

    sams         with probability proportional to the side's size times the predictive of the item   (Dahl 2003)
    similarity   with probability proportional to 1 + the sum, over the items of the side, of how many of z_a and z_b
                 join the item with them: twice the similarity, estimated from two draws. No predictives.

Neither reads z, so q is the probability of the present sides.
"""
from libc.math cimport INFINITY, NAN, isnan, log

from splitmerge_cli._kernels cimport coin_allocation, draw_sides, restricted_scan, sequential_allocation
from splitmerge_cli.core.history cimport AdaptiveProposal, History
from splitmerge_cli.core.rng cimport ALONE

from splitmerge_cli.core.history import ADAPTATION
from splitmerge_cli.core.options import Choice, Count

cdef double LOG_2 = log(2.0)

SCANS = Count("t", 5, "restricted Gibbs scans of the launch state")
ALLOCATIONS = ("random", "sams", "gibbs")
Q_RATIO = Choice("q_ratio", "formula", "mode=as_printed: the printed ratio of allocation probabilities: formula (as "
                 "for coins, whatever the allocation) or one", choices=("formula", "one"))


def allocation_option(default, choices=ALLOCATIONS):
    """The option ``allocation`` of a sampler."""
    return Choice("allocation", default, "how items get to the sides: random (coins), sams (sequential, Dahl 2003) or "
                  "gibbs (restricted scans)" if "gibbs" in choices else
                  "how items get to the sides: random (coins) or sams (sequential, Dahl 2003)", choices=choices)


def allocation_of(name, t=0):
    """The Allocation of this name."""
    if name == "random":
        return Coins()
    return Sequential() if name == "sams" else RestrictedGibbs(t)


cdef class Sides:
    """The items of the clusters that a move changes, and the sides on which they stand.

    Memory: 10 bytes an item.
    """

    def __init__(self, Model model not None, Rng rng not None):
        self.memory = Memory()
        model.keep_lists()
        self.model, self.rng = model, rng
        self.items = self.memory.ints(model.N)
        self.in_a = self.memory.flags(model.N)
        self.present = self.memory.flags(model.N)
        self.order = self.memory.ints(model.N)

    cdef int open(self, Py_ssize_t ci, Py_ssize_t cj, Py_ssize_t i, Py_ssize_t j) except -1 nogil:
        """Begin a move on these clusters (a split: the same twice), with these anchors or -1."""
        self.ci, self.cj, self.i, self.j = ci, cj, i, j
        self.a = self.model.K
        self.n = self.model.size[ci] - (i >= 0) - (j >= 0)
        if cj != ci:
            self.n += self.model.size[cj]
        return self.model.reserve(self.model.K)

    cdef void gather(self) noexcept nogil:
        """items[:n], in item order, and their present sides."""
        cdef Py_ssize_t t, k, n = 0
        for t in range(self.model.members(self.ci, self.cj, self.items)):
            k = self.items[t]
            if k != self.i and k != self.j:
                self.items[n] = <int32_t> k
                self.present[n] = self.model.z[k] != self.ci
                n += 1

    cdef void draw_order(self) noexcept nogil:
        """Draw a uniform order of n items, for ``put_in_order``."""
        self.rng.draw_order(self.items, self.n, self.order)

    cdef void put_in_order(self) noexcept nogil:
        """The order drawn, of the items with their present sides."""
        cdef Py_ssize_t t
        cdef int32_t s
        for t in range(self.n - 1, 0, -1):
            s = self.order[t]
            self.items[t], self.items[s] = self.items[s], self.items[t]
            self.present[t], self.present[s] = self.present[s], self.present[t]

    cdef void stage(self) noexcept nogil:
        """Stage two sides, in scratch columns, in the place of the selected clusters; with the anchors, if any."""
        cdef int32_t[2] old
        old[0], old[1] = <int32_t> self.ci, <int32_t> self.cj
        self.model.stage(old, 2, self.a, 2)
        if self.i >= 0:
            self.model.join(self.i, self.a)
            self.model.join(self.j, self.a + 1)

    cdef void take_present(self) noexcept nogil:
        """in_a: the present sides."""
        cdef Py_ssize_t t
        for t in range(self.n):
            self.in_a[t] = self.present[t] == 0

    cdef bint side_empty(self) noexcept nogil:
        """Whether a side must not be empty but is."""
        return not self.model.allows_empty and (self.model.size[self.a] == 0 or self.model.size[self.a + 1] == 0)


cdef class Anchors:
    """Draws the two items that a move is about; an abstract class.

    The probability of a pair does not depend on the state: it cancels. Anchors for which it does supply the term
    `anchors` of their sampler (``SplitMerge.log_anchors``).
    """

    cdef bint draw(self, Rng rng, Model model, Py_ssize_t *i, Py_ssize_t *j) except -1 nogil:
        """Draw two different items; False without two that qualify."""
        return False


cdef class UniformPair(Anchors):
    """Any two items; where the model has near pairs (``core/near_pairs.pyx``), mostly one of these."""

    cdef bint draw(self, Rng rng, Model model, Py_ssize_t *i, Py_ssize_t *j) except -1 nogil:
        if model.N < 2:
            return False
        if model.near_pairs is not None:
            model.near_pairs.draw(rng, i, j)
        else:
            rng.draw_two(model.N, i, j)
        return True


cdef class HistoryPair(Anchors):
    """Two items that one partition of the chain history joins and another parts."""

    cdef readonly AdaptiveProposal adaptive

    def __init__(self, AdaptiveProposal adaptive not None):
        self.adaptive = adaptive

    cdef bint draw(self, Rng rng, Model model, Py_ssize_t *i, Py_ssize_t *j) except -1 nogil:
        return self.adaptive.draw(rng, i, j)


cdef class Allocation:
    """Puts items on two sides; an abstract class.

    ``log q`` is the log probability of the sides {A, B}: given the anchors, or, of a move without, of the two in either
    order.
    """

    cdef double draw(self, Sides s) noexcept nogil:
        """Gather the items and allocate them, counted in the columns of the sides; returns log q, nan where that is no
        proposal."""
        return NAN

    cdef void prepare(self, Sides s) noexcept nogil:
        """Draw all that ``score`` needs."""
        pass

    cdef double score(self, Sides s) noexcept nogil:
        """log q of the present sides, at most 0; draws nothing."""
        return 0.0


cdef class Coins(Allocation):
    """Fair coins."""

    cdef double draw(self, Sides s) noexcept nogil:
        s.gather()
        s.stage()
        coin_allocation(s.model, s.rng, s.items, s.n, s.a, s.a + 1, s.in_a)
        return NAN if s.side_empty() else self.score(s)

    cdef double score(self, Sides s) noexcept nogil:
        """log q, equal for all sides; without anchors, in either order."""
        return -s.n * LOG_2 if s.i >= 0 else -(s.n - 1) * LOG_2


cdef class Sequential(Allocation):
    """One item after the other. `shuffled`: in a uniform order, else in item order; `sized`: the prior's weights count.
    """

    def __init__(self, bint shuffled=True, bint sized=True):
        self.shuffled, self.sized = shuffled, sized

    cdef double draw(self, Sides s) noexcept nogil:
        cdef double log_q
        s.gather()
        s.stage()
        if self.shuffled:
            s.draw_order()
            s.put_in_order()
        log_q = sequential_allocation(s.model, s.rng, s.items, s.n, s.a, s.a + 1, s.in_a, False, self.sized)
        if s.side_empty():
            return NAN
        return log_q if s.i >= 0 else log_q + LOG_2

    cdef void prepare(self, Sides s) noexcept nogil:
        if self.shuffled:
            if s.rng.role != ALONE:
                s.gather()
            s.draw_order()

    cdef double score(self, Sides s) noexcept nogil:
        cdef double log_q
        s.gather()
        s.stage()
        if self.shuffled:
            s.put_in_order()
        s.take_present()
        log_q = sequential_allocation(s.model, s.rng, s.items, s.n, s.a, s.a + 1, s.in_a, True, self.sized)
        return log_q if s.i >= 0 else log_q + LOG_2


cdef class RestrictedGibbs(Allocation):
    """Restricted Gibbs scans. `t`: scans of the launch state; `sequential`: the first of them puts the items next to
    the anchors, one after the other."""

    def __init__(self, int t, bint sequential=False):
        self.t, self.sequential = t, sequential

    cdef double draw(self, Sides s) noexcept nogil:
        self.prepare(s)
        return restricted_scan(s.model, s.rng, s.items, s.n, s.a, s.a + 1, s.in_a, NULL, True)

    cdef void prepare(self, Sides s) noexcept nogil:
        cdef Py_ssize_t t
        s.gather()
        s.stage()
        if self.sequential:
            sequential_allocation(s.model, s.rng, s.items, s.n, s.a, s.a + 1, s.in_a, False, True)
        else:
            self.launch(s)
            for t in range(s.n):
                s.model.join(s.items[t], s.a if s.in_a[t] else s.a + 1)
        for _scan in range(self.t - self.sequential):
            restricted_scan(s.model, s.rng, s.items, s.n, s.a, s.a + 1, s.in_a, NULL, False)

    cdef void launch(self, Sides s) noexcept nogil:
        """in_a: the launch state, by fair coins."""
        draw_sides(s.rng, s.items, s.n, s.in_a)

    cdef double score(self, Sides s) noexcept nogil:
        cdef Py_ssize_t t
        for t in range(s.n):
            s.present[t] = not s.present[t]
        return restricted_scan(s.model, s.rng, s.items, s.n, s.a, s.a + 1, s.in_a, s.present, True)


cdef class SplitMerge(Sampler):
    """The frame of split-merge moves; an abstract class.

    A sampler sets ``allocation``, and ``anchors`` where these are not any two items. A step that is not a move by these
    calls ``split`` and ``merge`` with clusters. It overrides ``log_anchors`` where the choice of anchors depends on the
    state, ``log_own`` for terms of its own, and ``log_printed``.
    """

    MOVES = ("split", "merge")
    TERMS = ("target", "orders", "anchors", "allocation", "printed")
    PRINTED_TERM = "printed"

    def __init__(self, Model model not None, Rng rng not None, **options):
        super().__init__(model, rng, **options)
        self.sides, self.anchors = Sides(model, rng), UniformPair()
        self.weighted = model if isinstance(model, Weighted) else None
        self.uncollapsed = model if isinstance(model, Uncollapsed) and not model.conjugate else None

    # -- the frame
    cdef int make_step(self) except -1 nogil:
        return self.split_or_merge()

    cdef int split_or_merge(self) except -1 nogil:
        """Draw two items and split their cluster, or merge their clusters: the first two of MOVES."""
        cdef Py_ssize_t i = -1, j = -1
        self.propose(SPLIT)
        if not self.anchors.draw(self.rng, self.model, &i, &j):
            return self.null()
        if self.model.z[i] == self.model.z[j]:
            return self.split(self.model.z[i], i, j)
        self.turn_to(MERGE)
        return self.merge(self.model.z[i], self.model.z[j], i, j)

    cdef int split(self, Py_ssize_t c, Py_ssize_t i, Py_ssize_t j) except -1 nogil:
        """Propose to split cluster c, with anchors i on side A and j on side B, or -1 without."""
        cdef Py_ssize_t K = self.model.K
        cdef double log_q, log_r
        if K == self.model.kmax:
            return self.null()
        self.sides.open(c, c, i, j)
        if self.uncollapsed is not None:
            self.uncollapsed.draw_parameters(self.rng, K)
            self.uncollapsed.copy_parameters(c, K + 1)
        log_q = self.allocation.draw(self.sides)
        if isnan(log_q):
            return self.null()
        log_r = -INFINITY
        if self.divide_weight():
            log_r = self.term(TARGET, self.log_split_ratio(c, K, K + 1))
        log_r += self.term(ORDERS, self.log_orders(K + 1)) + self.term(ALLOCATION, -log_q)
        log_r += self.term(ANCHORS, self.log_anchors(False))
        log_r += self.log_own(False)
        if self.on[PRINTED] or self.rng.always_accept:
            log_r += self.term(PRINTED, self.log_printed(K, log_q))
        if self.decide(log_r):
            self.accept_split()
            self.after_commit(False)
        return 0

    cdef int merge(self, Py_ssize_t ci, Py_ssize_t cj, Py_ssize_t i, Py_ssize_t j) except -1 nogil:
        """Propose to merge two clusters, with anchors i and j that would split them again, or -1 without."""
        cdef Py_ssize_t K = self.model.K
        cdef double log_q, log_r
        self.sides.open(ci, cj, i, j)
        if self.uncollapsed is not None:
            self.uncollapsed.copy_parameters(ci, K)
            self.uncollapsed.copy_parameters(cj, K + 1)
        log_r = self.term(TARGET, self.log_merge_ratio(ci, cj)) + self.term(ORDERS, -self.log_orders(K))
        log_r += self.log_own(True)
        log_r += self.term(ANCHORS, -self.log_anchors(True))
        self.allocation.prepare(self.sides)
        # log q is at most 0, but of two empty clusters without anchors
        if self.sides.n > 0 and not self.survives_without_q(log_r):
            return 0
        log_q = self.allocation.score(self.sides)
        log_r += self.term(ALLOCATION, log_q)
        if self.on[PRINTED] or self.rng.always_accept:
            log_r += self.term(PRINTED, -self.log_printed(K - 1, log_q))
        if self.decide(log_r):
            self.model.commit_merge(ci, cj)
            self.after_commit(True)
        return 0

    # -- what an algorithm defines in addition to its anchors and its allocation
    cdef double log_anchors(self, bint merging) except? -1 nogil:
        """log probability that the split state calls the merge of the sides, over that the merged state calls their
        split. `merging`: the present state is the split one, and the sides are clusters ci and cj."""
        return 0.0

    cdef double log_own(self, bint merging) noexcept nogil:
        """Sum of further terms, in the direction of the move: a merge has the terms of its split, negated."""
        return 0.0

    cdef double log_printed(self, Py_ssize_t K, double log_q) noexcept nogil:
        """Term that the printed ratio of a split from K clusters has more than the exact one: by default, how it counts
        labels (docs/decisions/0002)."""
        return self.log_label_count(K)

    cdef void after_commit(self, bint merging) noexcept nogil:
        """Called after a split or a merge was committed."""
        pass

    # -- pieces
    cdef bint survives_without_q(self, double log_bound) noexcept nogil:
        """Whether the proposal survives its log ratio without a log q, at most 0, that is left to score. A printed
        ratio may have no q."""
        return self.on[PRINTED] or not self.on[ALLOCATION] or self.survives(log_bound)

    cdef bint divide_weight(self) noexcept nogil:
        """Divide the weight of the cluster that is split uniformly at random, where it has one; False if a side got
        nothing."""
        return self.weighted is None or self.weighted.divide(self.rng, self.sides.ci, self.sides.a, 1.0, 1.0)

    cdef double log_orders(self, Py_ssize_t clusters) noexcept nogil:
        """log ratio of the numbers of labellings, split state over merged, where empty clusters are kept; else 0."""
        return log(<double> clusters) if self.model.allows_empty else 0.0

    cdef double log_label_count(self, Py_ssize_t K) noexcept nogil:
        """log c(K): how the papers count the labels of a split from K clusters: 2/(K + 1) where empty clusters are
        kept, 2 where not."""
        return log(2.0 / (K + 1)) if self.model.allows_empty else log(2.0)

    cdef int accept_split(self) except -1 nogil:
        """Commit the split into the sides."""
        cdef Py_ssize_t t, k = 0
        cdef int32_t *items = self.sides.items
        for t in range(self.sides.n):
            if not self.sides.in_a[t]:
                items[k] = items[t]
                k += 1
        if self.sides.j >= 0:
            items[k] = <int32_t> self.sides.j
            k += 1
        return self.model.commit_split(self.sides.ci, items, k)


cdef class Dyadic(SplitMerge):
    """Dyadic split-merge: any two items, an allocation of choice."""

    OPTIONS = (allocation_option("random"), SCANS, Q_RATIO, *SplitMerge.OPTIONS)
    NEEDS_CONJUGATE = False
    DIVIDES_WEIGHTS = True

    cdef bint formula

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        self.allocation = allocation_of(self.options["allocation"], self.options["t"])
        self.formula = self.options["q_ratio"] == "formula"

    cdef double log_printed(self, Py_ssize_t K, double log_q) noexcept nogil:
        return log_q + (self.sides.n * LOG_2 if self.formula else 0.0)


cdef class RGSM(SplitMerge):
    """Restricted Gibbs split-merge: any two items, restricted Gibbs scans."""

    OPTIONS = (
        SCANS,
        Count("r", 1, "number of split-merge tries in a step", least=1),
        Count("g", 1, "full Gibbs scans after a step, with schedule=full_scan"),
        Choice("launch", "coins", "where the launch state begins: coins (all items by fair coins), or anchors (the two "
               "items alone; the first of the t scans adds the others one by one)", choices=("coins", "anchors"),
               later=True),
        *SplitMerge.OPTIONS,
    )
    DIVIDES_WEIGHTS = True
    SMALL = {"t": 1}
    FORMS = {"exact": ({}, {"launch": "anchors"})}

    cdef readonly int t, r, g

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        self.t, self.r, self.g = (self.options[name] for name in "trg")
        self.scans = self.g
        sequential = self.options["launch"] == "anchors"
        if sequential and self.t == 0:
            raise ValueError("sampler.t=0: expected at least 1 with sampler.launch=anchors, whose first scan adds the "
                             "items")
        self.allocation = RestrictedGibbs(self.t, sequential)

    cdef int make_step(self) except -1 nogil:
        cdef int _try
        for _try in range(self.r):
            self.split_or_merge()
        return 0


cdef class InformedLaunch(RestrictedGibbs):
    """Restricted Gibbs scans from a launch state that two partitions suggest. `adaptive` has drawn them; `as_printed`:
    c_i within z(i)."""

    cdef AdaptiveProposal adaptive
    cdef bint as_printed

    def __init__(self, int t, AdaptiveProposal adaptive not None, bint as_printed):
        super().__init__(t)
        self.adaptive, self.as_printed = adaptive, as_printed

    cdef void launch(self, Sides s) noexcept nogil:
        cdef Py_ssize_t t
        for t in range(s.n):
            if self.is_kept_with(s, s.items[t], s.i):
                s.in_a[t] = True
            elif self.is_kept_with(s, s.items[t], s.j):
                s.in_a[t] = False
            else:
                s.in_a[t] = s.rng.draw_coin(0.5)

    cdef bint is_kept_with(self, Sides s, Py_ssize_t h, Py_ssize_t i) noexcept nogil:
        """Whether item h, from the clusters of the move, is in c_i."""
        return (self.adaptive.za[h] == self.adaptive.za[i] and self.adaptive.zb[h] == self.adaptive.zb[i]
                and (not self.as_printed or s.model.z[h] == s.model.z[i]))


cdef class BySimilarity(Allocation):
    """One item after the other, by how often two partitions of the history join it with the items of a side. `adaptive`
    has drawn them.

    Memory: 16 bytes an item.
    """

    cdef Memory memory                  # of its arrays
    cdef AdaptiveProposal adaptive
    cdef int32_t *count                 # [4, N] items on side A and on side B, by block of z_a and then by block of z_b

    def __init__(self, AdaptiveProposal adaptive not None):
        self.memory = Memory()
        self.adaptive = adaptive
        self.count = self.memory.ints(4 * adaptive.N)

    cdef double draw(self, Sides s) noexcept nogil:
        s.gather()
        s.stage()
        s.draw_order()
        s.put_in_order()
        return self.allocate(s, False)

    cdef void prepare(self, Sides s) noexcept nogil:
        s.draw_order()

    cdef double score(self, Sides s) noexcept nogil:
        s.gather()
        s.put_in_order()
        s.take_present()
        return self.allocate(s, True)

    cdef double allocate(self, Sides s, bint forced) noexcept nogil:
        """Put the items on the sides drawn, or, `forced`, follow in_a; returns log q."""
        cdef Py_ssize_t t, h, N = self.adaptive.N
        cdef const int32_t *za = self.adaptive.za
        cdef const int32_t *zb = self.adaptive.zb
        cdef double a, b, log_q = 0.0
        for t in range(-2, s.n):
            h = s.i if t == -2 else s.j if t == -1 else s.items[t]
            self.count[za[h]] = self.count[N + za[h]] = self.count[2 * N + zb[h]] = self.count[3 * N + zb[h]] = 0
        self.put(s.i, True)
        self.put(s.j, False)
        for t in range(s.n):
            h = s.items[t]
            a = 1.0 + self.count[za[h]] + self.count[2 * N + zb[h]]
            b = 1.0 + self.count[N + za[h]] + self.count[3 * N + zb[h]]
            if not forced:
                s.in_a[t] = s.rng.draw_coin(a / (a + b))
                s.model.join(h, s.a if s.in_a[t] else s.a + 1)
            log_q += log((a if s.in_a[t] else b) / (a + b))
            self.put(h, s.in_a[t])
        return log_q

    cdef void put(self, Py_ssize_t h, bint in_a) noexcept nogil:
        cdef Py_ssize_t N = self.adaptive.N
        self.count[(0 if in_a else N) + self.adaptive.za[h]] += 1
        self.count[(2 * N if in_a else 3 * N) + self.adaptive.zb[h]] += 1


cdef class BSM(SplitMerge):
    """Split-merge of a pair that the chain history suggests: restricted Gibbs scans from a launch state that comes from
    it, too, or sequential allocation."""

    OPTIONS = (
        SCANS,
        Choice("allocation", "gibbs", "how items get to the sides: gibbs (restricted scans from the launch state), "
               "sams (sequential, Dahl 2003) or similarity (sequential, by co-clustering in the history, Dahl and "
               "Newcomb 2022)", choices=("gibbs", "sams", "similarity"), later=True),
        *ADAPTATION, *SplitMerge.OPTIONS,
    )
    PRINTED_TERM = None
    NOT_WITH_EMPTY = "; the chain history compares partitions"
    SMALL = {"t": 1}

    cdef readonly AdaptiveProposal adaptive

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        # the printed launch state is another proposal, with the same ratio
        self.omit("printed")
        self.adaptive = AdaptiveProposal(self.model.N, *[self.options[o.name] for o in ADAPTATION])
        self.anchors = HistoryPair(self.adaptive)
        if self.options["allocation"] == "sams":
            self.allocation = Sequential()
        elif self.options["allocation"] == "similarity":
            self.allocation = BySimilarity(self.adaptive)
        else:
            self.allocation = InformedLaunch(self.options["t"], self.adaptive, self.as_printed)

    def adapt_to(self, History history, Py_ssize_t chain):
        """Learn from this history, as the chain of this number."""
        self.adaptive.adapt_to(history, chain)

    def fix(self, za=None, zb=None, Py_ssize_t i=-1, Py_ssize_t j=-1):
        """Use these partitions, and this pair unless i is -1, in place of drawn ones; with no arguments draw again."""
        self.adaptive.fix(za, zb, i, j)
