"""Particle Gibbs split-merge (Bouchard-Cote, Doucet and Roth 2017): the clusters of two items are drawn anew, as one
cluster or as two, by a conditional sequential Monte Carlo sampler that keeps the present sides as one of its paths.

Two anchors i and j, uniform. Their clusters, n other items in a uniform order, become one cluster M or two, A with i
and B with j; let gamma be the target of what the items placed so far form. A particle that splits puts the next item on
a side with probability proportional to gamma, so its weight grows by what does not depend on the side taken:

    w <- w [g_A p(x | A) + g_B p(x | B)]        g: the prior's weight of joining a cluster of this size

When the effective number of particles falls below `threshold` times their number, ancestors are drawn by weight, but
for the particle that follows the present sides. Z, the product of the mean weights, estimates the sum of gamma over all
splits. One of the paths is the next state:

    merged=counted    all particles split; M is one more path, of weight gamma(M), beside particle k with Z w_k / sum(w)
    merged=drawn      as in the paper: each particle merges or splits i and j by a fair coin
    selection=gibbs   a path by weight, the present one included; as in the paper
    selection=forced  another path l by weight, accepted with (W - w_c) / (W - w_l), c the present one, W the sum of all
                      (Liu 1996; Chopin and Singh 2015)

All four leave the posterior as it is, with any number of particles and any threshold. One particle, counted and forced,
is `sams`. Cost: 2 P + 1 predictives an item, P particles.
"""
from libc.math cimport INFINITY, exp, log
from libc.stdint cimport int8_t, int32_t
from libc.stdlib cimport free

from splitmerge_cli.core.capabilities cimport Coupled
from splitmerge_cli.core.log_scale cimport exp_weights, log_sum_exp
from splitmerge_cli.core.memory cimport doubles, flags, ints
from splitmerge_cli.samplers.anchors cimport UniformPair
from splitmerge_cli.samplers.split_merge cimport SplitMerge

from splitmerge_cli.core.options import Choice, Count, Number

cdef enum:
    SPLIT, MERGE, REALLOCATE            # MOVES

cdef enum:
    SELECTION, START, STEPS             # TERMS

# below this a weight is computed on the log scale
cdef double TINY = 1e-280


cdef class PGSM(SplitMerge):
    """Particle Gibbs split-merge: any two items, conditional sequential Monte Carlo over one side or two.

    Raises
    ------
    ValueError
        For a single particle with merged=drawn, which has no other path to take.

    Notes
    -----
    The terms `start` and `steps` are of the weights: what the two anchors give, and what each further item gives.
    Memory: 2 P bytes an item, and 2 P + 1 clusters.
    """

    OPTIONS = (
        Count("particles", 2, "particles, that which follows the present sides among them", least=1, most=64),
        Number("threshold", 0.5, "ancestors are drawn when the effective number of particles falls below this share of "
               "their number; 0: never", least=0.0, most=1.0),
        Choice("merged", "counted", "how one cluster comes in: counted (a path of its own beside the particles, with its "
               "exact weight) or drawn (each particle merges or splits by a fair coin, as in the paper)",
               choices=("counted", "drawn")),
        Choice("selection", "forced", "how a path is taken: forced (another one, accepted or not) or gibbs (any, by "
               "weight, as in the paper)", choices=("forced", "gibbs")),
        *SplitMerge.OPTIONS,
    )
    MOVES = ("split", "merge", "reallocate")
    TERMS = ("selection", "start", "steps")
    PRINTED_TERM = None
    FORMS = {"exact": (
        {"merged": "counted", "selection": "forced"}, {"merged": "counted", "selection": "gibbs"},
        {"merged": "drawn", "selection": "forced"}, {"merged": "drawn", "selection": "gibbs"},
    )}

    cdef UniformPair anchors
    cdef Py_ssize_t P                   # particles
    cdef double threshold
    cdef bint counted, forced
    # -- the move
    cdef bint apart                     # the anchors are in two clusters now: particle 0 follows these
    cdef bint is_conditioned            # particle 0 follows the present state
    cdef Py_ssize_t first               # column of side A of particle 0, then B, then those of particle 1, ..., then M
    cdef double log_mean                # sum of the logs of the mean weights at which ancestors were drawn
    cdef double log_merged              # log weight of M
    cdef int8_t *splits                 # [P] whether a particle has two sides
    cdef double *lw                     # [P] log weights since ancestors were last drawn
    cdef double *w                      # [2 P + 1] weights of an item by column, or of the particles
    cdef double *option                 # [P + 1] log weights of the paths
    cdef double *others                 # [P] those of all but one
    cdef int32_t *offspring             # [P]
    cdef int8_t *side                   # [N, P] whether the item is on side A
    cdef int8_t *ancestor               # [N, P] that were drawn before the item, where `renewed`
    cdef int8_t *renewed                # [N]

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        self.P, self.threshold = self.options["particles"], self.options["threshold"]
        self.counted, self.forced = self.options["merged"] == "counted", self.options["selection"] == "forced"
        if self.P < 2 and not self.counted:
            raise ValueError("sampler.particles=1: expected 2 or more with sampler.merged=drawn")
        self.anchors = UniformPair()
        self.splits = flags(self.P)
        self.lw, self.w, self.option = doubles(self.P), doubles(2 * self.P + 1), doubles(self.P + 1)
        self.others = doubles(self.P)
        self.offspring = ints(self.P)
        self.side, self.ancestor = flags(model.N * self.P), flags(model.N * self.P)
        self.renewed = flags(model.N)

    def __dealloc__(self):
        free(self.splits)
        free(self.lw)
        free(self.w)
        free(self.option)
        free(self.others)
        free(self.offspring)
        free(self.side)
        free(self.ancestor)
        free(self.renewed)

    @classmethod
    def supports(cls, model):
        """Whether parameters are integrated out and clusters do not depend on each other: (bool, reason)."""
        if isinstance(model, Coupled):
            return False, ("clusters' likelihoods depend on each other: an item's predictive on a side of one particle "
                           "would have to leave out the sides of all others")
        return super().supports(model)

    @classmethod
    def small_options(cls, model):
        """Two particles, and ancestors on some paths: dict."""
        return {"particles": 2, "threshold": 0.99}

    cdef int make_step(self) except -1 nogil:
        cdef Py_ssize_t i = -1, j = -1, ci, cj, K = self.model.K
        self.propose(SPLIT)
        if not self.anchors.draw(self.rng, self.model, &i, &j):
            return self.null()
        ci, cj = self.model.z[i], self.model.z[j]
        self.apart = ci != cj
        if self.apart:
            self.turn_to(MERGE)
        elif K == self.model.kmax:
            return self.null()
        self.sides.open(ci, cj, i, j)
        self.model.reserve(K + 2 * self.P)
        self.sides.gather()
        self.sides.draw_order()
        self.sides.put_in_order()
        self.start()
        self.allocate()
        return self.take_a_path()

    cdef void start(self) noexcept nogil:
        """Stage the columns, with the anchors, and start the particles."""
        cdef Py_ssize_t p, K = self.model.K, a = K, merged = K + 2 * self.P
        cdef int32_t[2] old
        cdef double log_start
        old[0], old[1] = <int32_t> self.sides.ci, <int32_t> self.sides.cj
        self.first = K
        self.is_conditioned = self.apart or not self.counted
        self.model.stage(old, 2, K, 2 * self.P + 1)
        self.model.join(self.sides.i, merged)
        self.model.join(self.sides.j, merged)
        for p in range(self.P):
            self.model.join(self.sides.i, a + 2 * p)
            self.model.join(self.sides.j, a + 2 * p + 1)
        log_start = self.log_start(a, a + 1, merged, K if self.apart else K + 1) if self.on[START] else 0.0
        self.log_mean = self.log_merged = 0.0
        if self.counted:
            self.log_merged = -log_start
        for p in range(self.P):
            if self.counted:
                self.splits[p] = True
            elif p == 0:
                self.splits[p] = self.apart
            else:
                self.splits[p] = self.rng.draw_coin(0.5)
            self.lw[p] = 0.0 if self.counted or not self.splits[p] else log_start

    cdef double log_start(self, Py_ssize_t a, Py_ssize_t b, Py_ssize_t merged, Py_ssize_t clusters) noexcept nogil:
        """log of the target of the anchors apart, the state then having this many clusters, over that of them
        together."""
        cdef int32_t[2] columns
        cdef int32_t[2] one
        cdef int32_t together = <int32_t> merged, two = 2
        columns[0], columns[1] = <int32_t> a, <int32_t> b
        one[0] = one[1] = 1
        return (self.model.log_lik(columns, 2) - self.model.log_lik(&together, 1)
                + self.model.log_prior(one, 2, clusters) - self.model.log_prior(&two, 1, clusters - 1)
                + self.log_orders(clusters))

    cdef void allocate(self) noexcept nogil:
        """Allocate the items, in their order, in all particles."""
        cdef Py_ssize_t t, p, i, a, P = self.P, merged = self.first + 2 * P
        cdef bint on_log_scale, to_a
        cdef double wa, wb, top, log_w
        for t in range(self.sides.n):
            if self.rng.is_halted:
                return
            self.renewed[t] = self.threshold > 0.0 and self.is_degenerate()
            if self.renewed[t]:
                self.draw_ancestors(self.ancestor + t * P)
            i = self.sides.items[t]
            on_log_scale = self.weigh(i)
            for p in range(P):
                if not self.splits[p]:
                    log_w = self.w[2 * P] if on_log_scale else log(self.w[2 * P])
                else:
                    wa, wb = self.w[2 * p], self.w[2 * p + 1]
                    top = 0.0
                    if on_log_scale:
                        top = max(wa, wb)
                        wa, wb = exp(wa - top), exp(wb - top)
                    log_w = top + log(wa + wb)
                    if p == 0 and self.apart:
                        to_a = not self.sides.present[t]
                    else:
                        to_a = self.rng.draw_coin(wa / (wa + wb))
                    self.side[t * P + p] = to_a
                    self.model.join(i, self.first + 2 * p + (not to_a))
                if self.on[STEPS]:
                    self.lw[p] += log_w
            if self.counted and self.on[STEPS]:
                self.log_merged += self.w[2 * P] if on_log_scale else log(self.w[2 * P])
            self.model.join(i, merged)

    cdef bint weigh(self, Py_ssize_t i) noexcept nogil:
        """w: weights of item i by column, up to a common factor; True: their logarithms, where one leaves the range of
        a double."""
        cdef Py_ssize_t p, s, P = self.P
        cdef bint all_in_range
        self.model.weigh(i, self.first, 2 * P + 1, self.w)
        all_in_range = self.w[2 * P] > TINY
        for p in range(P):
            if self.splits[p]:
                all_in_range &= self.w[2 * p] + self.w[2 * p + 1] > TINY
        if all_in_range:
            return False
        for s in range(2 * P + 1):
            self.w[s] = self.model.log_pred(i, self.first + s) + self.model.log_weight(i, self.first + s)
        return True

    cdef bint is_degenerate(self) noexcept nogil:
        """Whether the effective number of particles is below the threshold; w: their weights."""
        cdef Py_ssize_t p
        cdef double total = 0.0, squares = 0.0
        exp_weights(self.lw, self.P, self.w)
        for p in range(self.P):
            total += self.w[p]
            squares += self.w[p] * self.w[p]
        # weights that are equal but for rounding are equal
        return total * total < self.threshold * self.P * squares * (1.0 - 1e-12)

    cdef void draw_ancestors(self, int8_t *ancestor) noexcept nogil:
        """Draw the particles to go on from by weight, w, but for one that follows the present state; the paths go on in
        the places where they stand, as far as they do."""
        cdef Py_ssize_t p, dead = 0, P = self.P, first = self.is_conditioned
        self.log_mean += log_sum_exp(self.lw, P) - log(<double> P)
        for p in range(P):
            self.offspring[p] = p < first
        for p in range(first, P):
            self.offspring[self.rng.draw_categorical(self.w, P)] += 1
        for p in range(P):
            self.lw[p] = 0.0
            ancestor[p] = <int8_t> (p if self.offspring[p] else -1)
        for p in range(P):
            while self.offspring[p] > 1:
                self.offspring[p] -= 1
                while ancestor[dead] >= 0:
                    dead += 1
                ancestor[dead] = <int8_t> p
                self.splits[dead] = self.splits[p]
                if self.splits[p]:
                    self.copy_sides(p, dead)

    cdef void copy_sides(self, Py_ssize_t source, Py_ssize_t to) noexcept nogil:
        """The columns of a particle become those of another."""
        cdef Py_ssize_t s, k, c
        for s in range(2):
            k, c = self.first + 2 * source + s, self.first + 2 * to + s
            self.model.copy(k, c)
            self.model.size[c] = self.model.size[k]
            self.model.ll[c] = self.model.ll[k]
            self.model.is_valid[c] = self.model.is_valid[k]

    cdef int take_a_path(self) except -1 nogil:
        """Take a path, one of the particles or, as number P, the merged one where that is counted."""
        cdef Py_ssize_t p, P = self.P, m = P + self.counted, now, taken
        cdef double log_others
        for p in range(P):
            self.option[p] = self.log_mean + self.lw[p]
            if self.counted:
                self.option[p] -= log(<double> P)
        self.option[P] = self.log_merged
        now = P if self.counted and not self.apart else 0
        if not self.forced:
            exp_weights(self.option, m, self.w)
            taken = self.rng.draw_categorical(self.w, m)
            self.name_move(taken)
            if taken != now:
                self.accepted[self.move] += 1
                return self.commit(taken)
            return 0
        log_others = self.weigh_others(now, m)
        if log_others == -INFINITY:
            return self.null()
        exp_weights(self.others, m - 1, self.w)
        taken = self.rng.draw_categorical(self.w, m - 1)
        taken += taken >= now
        self.name_move(taken)
        if self.decide(self.term(SELECTION, log_others - self.weigh_others(taken, m))):
            return self.commit(taken)
        return 0

    cdef double weigh_others(self, Py_ssize_t path, Py_ssize_t m) noexcept nogil:
        """others: log weights of all paths but one; returns the log of their sum."""
        cdef Py_ssize_t k, n = 0
        for k in range(m):
            if k != path:
                self.others[n] = self.option[k]
                n += 1
        return log_sum_exp(self.others, n)

    cdef bint is_merged(self, Py_ssize_t path) noexcept nogil:
        return path == self.P or not self.splits[path]

    cdef void name_move(self, Py_ssize_t path) noexcept nogil:
        """The move under way is that to this path."""
        if self.apart and not self.is_merged(path) and path != 0:
            self.turn_to(REALLOCATE)

    cdef int commit(self, Py_ssize_t path) except -1 nogil:
        """Make this path the state."""
        cdef int32_t[2] clusters
        cdef Py_ssize_t t, P = self.P, p = path
        if self.is_merged(path):
            if self.apart:
                self.model.commit_merge(self.sides.ci, self.sides.cj)
            return 0
        # back along its ancestors
        for t in range(self.sides.n - 1, -1, -1):
            self.sides.in_a[t] = self.side[t * P + p]
            if self.renewed[t]:
                p = self.ancestor[t * P + p]
        if path != 0:
            self.copy_sides(path, 0)
        if not self.apart:
            return self.accept_split()
        for t in range(self.sides.n):
            self.sides.in_a[t] = not self.sides.in_a[t]
        clusters[0], clusters[1] = <int32_t> self.sides.ci, <int32_t> self.sides.cj
        return self.model.commit_sides(clusters, 2, self.sides.items, self.sides.in_a, self.sides.n)
