"""Particle Gibbs split-merge (Bouchard-Côté, Doucet and Roth 2017): the clusters of two items are drawn again, as one
cluster or as two, by a conditional sequential Monte Carlo sampler that keeps the present sides as one of its paths.

Two anchors i and j, uniform. Their clusters, n other items in a uniform order, become one cluster M or two, A with i
and B with j; let gamma be the target of what the items placed so far form. A particle that splits puts the next item on
a side with probability proportional to gamma, so its weight grows by what does not depend on the side taken:

    w <- w [g_A p(x | A) + g_B p(x | B)]        g: the prior's weight of joining a cluster of this size

When the effective number of particles falls below `threshold` times their number, ancestors are drawn by weight, but
for the particle that follows the present sides. Z, the product of the mean weights, estimates the sum of gamma over all
splits. One of the paths is the next state:

    merged=counted    all particles split; M is a further path, of weight gamma(M); particle k has Z w_k / sum(w)
    merged=drawn      each particle draws whether it merges i and j, as in the paper; here by a fair coin

    selection=gibbs         a path by weight, the present one included; as in the paper
    selection=forced        another path l by weight, accepted with (W - w_c) / (W - w_l), c the present one, W the sum
                            of all (Liu 1996; Chopin and Singh 2015)
    selection=metropolis    one cluster for two, or two for one: accepted with the summed weight of the paths with as
                            many over the number of the others, then one of them by weight

All leave the posterior as it is, with any number of particles and any threshold. One particle, counted and not gibbs,
is `sams`. Counted, by metropolis and without ancestors, the summed weight is at least the target of the present sides
over P, which bounds the ratio of a merge: most are rejected before any allocation.

Cost: 2 P + 1 predictives an item, P particles; those that are the same so far count once.
"""
from libc.math cimport INFINITY, exp, log
from libc.stdint cimport int8_t, int32_t
from libc.string cimport memset

from splitmerge_cli.core.capabilities cimport Coupled
from splitmerge_cli.core.log_scale cimport exp_weights, log_sum_exp
from splitmerge_cli.core.rng cimport ALONE
from splitmerge_cli.samplers.split_merge cimport MERGE, SPLIT, SplitMerge

from splitmerge_cli.core.options import Choice, Count, Number

cdef enum:
    REALLOCATE = 2                      # MOVES, after the frame's

cdef enum:
    SELECTION, START, STEPS             # TERMS

cdef enum:
    METROPOLIS, FORCED, GIBBS           # how a path is taken

# below this a weight is computed on the log scale
cdef double TINY = 1e-280


cdef class PGSM(SplitMerge):
    """Particle Gibbs split-merge: any two items, conditional sequential Monte Carlo over one side or two.

    The terms `start` and `steps` are of the weights: what the two anchors give, and what each further item gives.
    Memory: 2 P bytes an item, and 2 P + 1 clusters.
    """

    OPTIONS = (
        Count("particles", 2, "number of particles, one of which follows the present sides", least=1, most=64),
        Number("threshold", 0.0, "ancestors are drawn when the effective number of particles falls below this share of "
               "their number; 0: never", least=0.0, most=1.0),
        Choice("merged", "counted", "how one cluster is proposed: counted (one more path, with its exact "
               "weight) or drawn (each particle draws whether it merges, as in the paper; by a fair coin)",
               choices=("counted", "drawn")),
        Choice("selection", "metropolis", "how a path is chosen: metropolis (from one cluster to two and back, "
               "accepted or not), forced (any other path, accepted or not) or gibbs (any, by weight, as in the paper)",
               choices=("metropolis", "forced", "gibbs")),
        *SplitMerge.OPTIONS,
    )
    MOVES = (*SplitMerge.MOVES, "reallocate")
    TERMS = ("selection", "start", "steps")
    PRINTED_TERM = None
    SMALL = {"particles": 2, "threshold": 0.99}  # ancestors on some paths
    FORMS = {"exact": (
        {"merged": "counted", "selection": "metropolis"}, {"merged": "counted", "selection": "forced"},
        {"merged": "counted", "selection": "gibbs"}, {"merged": "drawn", "selection": "gibbs"},
    )}

    cdef Py_ssize_t P                   # particles
    cdef double threshold
    cdef bint counted
    cdef int selection                  # METROPOLIS, FORCED or GIBBS
    cdef bint is_bounded                # the ratio of a merge has a bound
    # -- the move
    cdef bint apart                     # the anchors are in two clusters now: particle 0 follows these
    cdef bint is_conditioned            # particle 0 follows the present state
    cdef Py_ssize_t classes             # of particles that split, the same so far; columns: M, A and B of each class
    cdef double log_mean                # sum of the logs of the mean weights at which ancestors were drawn
    cdef double log_merged              # log weight of M
    cdef int8_t *splits                 # [P] whether a particle has two sides
    cdef double *lw                     # [P] log weights since ancestors were last drawn
    cdef int32_t *of_class              # [P]
    cdef int32_t *taken                 # [P] side that the first particle of a class takes; -1 before
    cdef int32_t *other                 # [P] class of those that take the other; -1: none
    cdef double *log_w                  # [P] log of the factor of the weights, of a class
    cdef double *to_a                   # [P] probability of side A, of a class
    cdef double *w                      # [2 P + 1] weights of an item by column, or of the particles
    cdef double *option                 # [P + 1] log weights of the paths
    cdef double *others                 # [P] weights of all but one
    cdef int32_t *offspring             # [P]
    cdef int8_t *side                   # [N, P] whether the item is on side A
    cdef int8_t *ancestor               # [N, P] that were drawn before the item, where `renewed`
    cdef int8_t *renewed                # [N]

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        self.P, self.threshold = self.options["particles"], self.options["threshold"]
        self.counted = self.options["merged"] == "counted"
        self.selection = ("metropolis", "forced", "gibbs").index(self.options["selection"])
        # two particles are effectively one at the least
        self.is_bounded = self.selection == METROPOLIS and self.counted and self.threshold * self.P <= 1.0
        if self.P < 2 and not self.counted:
            # it has no other path to take
            raise ValueError("sampler.particles=1: expected 2 or more with sampler.merged=drawn")
        self.splits = self.memory.flags(self.P)
        self.lw, self.w = self.memory.doubles(self.P), self.memory.doubles(2 * self.P + 1)
        self.option = self.memory.doubles(self.P + 1)
        self.others = self.memory.doubles(self.P)
        self.log_w, self.to_a = self.memory.doubles(self.P), self.memory.doubles(self.P)
        self.offspring, self.of_class = self.memory.ints(self.P), self.memory.ints(self.P)
        self.taken, self.other = self.memory.ints(self.P), self.memory.ints(self.P)
        self.side, self.ancestor = self.memory.flags(model.N * self.P), self.memory.flags(model.N * self.P)
        self.renewed = self.memory.flags(model.N)

    @classmethod
    def supports(cls, model):
        """Whether parameters are integrated out and clusters do not depend on each other: (bool, reason)."""
        if isinstance(model, Coupled):
            return False, ("clusters' likelihoods depend on each other: an item's predictive on a side of one particle "
                           "would have to leave out the sides of all others")
        return super().supports(model)

    cdef int make_step(self) except -1 nogil:
        cdef Py_ssize_t i = -1, j = -1, ci, cj, K = self.model.K
        self.propose(SPLIT)
        if not self.anchors.draw(self.rng, self.model, &i, &j):
            return self.null()
        ci, cj = self.model.z[i], self.model.z[j]
        self.apart = ci != cj
        if self.apart:
            self.turn_to(MERGE)
            if not self.survives_without_weights(ci, cj):
                return 0
        elif not self.model.has_room():
            # the weight of every path with two clusters is 0
            return self.null()
        self.sides.open(ci, cj, i, j)
        self.model.reserve(K + 2 * self.P + 1)
        self.sides.gather()
        self.sides.draw_order()
        self.sides.put_in_order()
        self.start()
        self.allocate()
        return self.take_a_path()

    cdef bint survives_without_weights(self, Py_ssize_t ci, Py_ssize_t cj) noexcept nogil:
        """Whether the merge survives a bound of its ratio: the mean weight of the particles is at least the weight of
        the one that follows the present sides, of whose weight their target is a part, over P."""
        cdef bint is_whole = self.on[SELECTION] and self.on[START] and self.on[STEPS]
        if not (self.is_bounded and is_whole and self.rng.role == ALONE):
            return True
        return self.survives(self.log_merge_ratio(ci, cj) - self.log_orders(self.model.K) + log(<double> self.P))

    cdef void start(self) noexcept nogil:
        """Stage the columns, with the anchors, and start the particles: those that split are all the same."""
        cdef Py_ssize_t p, K = self.model.K
        cdef int32_t[2] old
        cdef double log_start
        old[0], old[1] = <int32_t> self.sides.ci, <int32_t> self.sides.cj
        self.is_conditioned = self.apart or not self.counted
        self.model.stage(old, 2, K, 3)
        self.model.join(self.sides.i, K)
        self.model.join(self.sides.j, K)
        self.model.join(self.sides.i, K + 1)
        self.model.join(self.sides.j, K + 2)
        log_start = self.log_start(K if self.apart else K + 1) if self.on[START] else 0.0
        self.log_mean, self.log_merged = 0.0, -log_start if self.counted else 0.0
        self.classes = 1
        for p in range(self.P):
            if self.counted:
                self.splits[p] = True
            elif p == 0:
                self.splits[p] = self.apart
            else:
                self.splits[p] = self.rng.draw_coin(0.5)
            self.of_class[p] = 0
            self.lw[p] = 0.0 if self.counted or not self.splits[p] else log_start

    cdef double log_start(self, Py_ssize_t clusters) noexcept nogil:
        """log target of the anchors in two of this many clusters less the log target of them in one."""
        cdef int32_t[3] columns
        cdef int32_t[2] sizes
        cdef Py_ssize_t s
        cdef double log_r
        for s in range(3):
            columns[s] = <int32_t> (self.model.K + s)
        sizes[0] = sizes[1] = 1
        log_r = self.model.log_prior(sizes, 2, clusters)
        sizes[0] = 2
        log_r -= self.model.log_prior(sizes, 1, clusters - 1)
        return (log_r + self.model.log_lik(columns + 1, 2) - self.model.log_lik(columns, 1)
                + self.log_orders(clusters))

    cdef void allocate(self) noexcept nogil:
        """Allocate the items, in their order, in all particles."""
        cdef Py_ssize_t t, p, i, c, P = self.P, K = self.model.K
        cdef bint on_log_scale, to_a
        cdef double log_merged
        for t in range(self.sides.n):
            if self.rng.is_halted:
                return
            self.renewed[t] = self.threshold > 0.0 and self.is_degenerate()
            if self.renewed[t]:
                self.draw_ancestors(self.ancestor + t * P)
            i = self.sides.items[t]
            on_log_scale = self.weigh(i)
            log_merged = self.w[0] if on_log_scale else log(self.w[0])
            for c in range(self.classes):
                self.weigh_sides(c, on_log_scale)
                self.taken[c] = self.other[c] = -1
            for p in range(P):
                if not self.splits[p]:
                    if self.on[STEPS]:
                        self.lw[p] += log_merged
                    continue
                c = self.of_class[p]
                if self.on[STEPS]:
                    self.lw[p] += self.log_w[c]
                if p == 0 and self.apart:
                    to_a = not self.sides.present[t]
                else:
                    to_a = self.rng.draw_coin(self.to_a[c])
                self.side[t * P + p] = to_a
                if self.taken[c] < 0:
                    self.taken[c] = to_a
                elif self.taken[c] != to_a:
                    self.of_class[p] = self.part(c, to_a)
            for c in range(self.classes):
                self.model.join(i, K + 1 + 2 * c + (self.taken[c] == 0))
            if self.counted and self.on[STEPS]:
                self.log_merged += log_merged
            self.model.join(i, K)

    cdef int32_t part(self, Py_ssize_t c, bint to_a) noexcept nogil:
        """The class that particles of class c go to with an item on this side, not on that which the first took."""
        if self.other[c] < 0:
            self.other[c] = <int32_t> self.classes
            self.copy_sides(c, self.classes)
            self.taken[self.classes] = to_a
            self.classes += 1
        return self.other[c]

    cdef bint weigh(self, Py_ssize_t i) noexcept nogil:
        """w: weights of item i by column, up to a common factor; True: their logarithms, where one leaves the range of
        a double."""
        cdef Py_ssize_t c, s, n = 2 * self.classes + 1, K = self.model.K
        cdef bint all_in_range
        self.model.weigh(i, K, n, self.w)
        all_in_range = self.w[0] > TINY
        for c in range(self.classes):
            all_in_range &= self.w[2 * c + 1] + self.w[2 * c + 2] > TINY
        if all_in_range:
            return False
        for s in range(n):
            self.w[s] = self.model.log_pred(i, K + s) + self.model.log_weight(i, K + s)
        return True

    cdef void weigh_sides(self, Py_ssize_t c, bint on_log_scale) noexcept nogil:
        """log_w and to_a of class c, from w."""
        cdef double a = self.w[2 * c + 1], b = self.w[2 * c + 2], top = 0.0
        if on_log_scale:
            top = max(a, b)
            a, b = exp(a - top), exp(b - top)
        self.log_w[c] = top + log(a + b)
        self.to_a[c] = a / (a + b)

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
        for _draw in range(first, P):
            self.offspring[self.rng.draw_categorical(self.w, P)] += 1
        for p in range(P):
            self.lw[p] = 0.0
            ancestor[p] = <int8_t> (p if self.offspring[p] else -1)
        for p in range(P):
            for _copy in range(1, self.offspring[p]):
                while ancestor[dead] >= 0:
                    dead += 1
                ancestor[dead] = <int8_t> p
                self.splits[dead], self.of_class[dead] = self.splits[p], self.of_class[p]
        self.close_classes()

    cdef void close_classes(self) noexcept nogil:
        """Close the classes that no particle is of; the last ones take their places."""
        cdef Py_ssize_t p, c = 0
        memset(self.taken, 0, self.classes * sizeof(int32_t))
        for p in range(self.P):
            if self.splits[p]:
                self.taken[self.of_class[p]] = 1
        while c < self.classes:
            if self.taken[c]:
                c += 1
                continue
            self.classes -= 1
            self.taken[c] = self.taken[self.classes]
            if c < self.classes and self.taken[c]:
                self.copy_sides(self.classes, c)
                for p in range(self.P):
                    if self.of_class[p] == self.classes:
                        self.of_class[p] = <int32_t> c

    cdef void copy_sides(self, Py_ssize_t source, Py_ssize_t to) noexcept nogil:
        """The columns of a class become the columns of another."""
        cdef Py_ssize_t s, first = self.model.K + 1
        for s in range(2):
            self.model.copy_column(first + 2 * source + s, first + 2 * to + s)

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
        if self.selection == METROPOLIS:
            return self.change_number(now, m)
        if self.selection == GIBBS:
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

    cdef int change_number(self, Py_ssize_t now, Py_ssize_t m) except -1 nogil:
        """Take one of the paths with one cluster where there are two now, or two where there is one."""
        cdef Py_ssize_t k, taken, n = 0, n_alike = 0
        cdef double log_others
        for k in range(m):
            if self.is_merged(k) != self.is_merged(now):
                self.others[n] = self.option[k]
                n += 1
        log_others = log_sum_exp(self.others, n)
        if log_others == -INFINITY:
            return self.null()
        exp_weights(self.others, n, self.w)
        for k in range(m):
            if self.is_merged(k) == self.is_merged(now):
                self.others[n_alike] = self.option[k]
                n_alike += 1
        if not self.decide(self.term(SELECTION, log_others - log_sum_exp(self.others, n_alike))):
            return 0
        taken = self.rng.draw_categorical(self.w, n) if n > 1 else 0
        for k in range(m):
            if self.is_merged(k) != self.is_merged(now):
                if taken == 0:
                    return self.commit(k)
                taken -= 1
        return 0

    cdef bint is_merged(self, Py_ssize_t path) noexcept nogil:
        return path == self.P or not self.splits[path]

    cdef void name_move(self, Py_ssize_t path) noexcept nogil:
        """The move under way is that to this path."""
        if self.apart and not self.is_merged(path) and path != 0:
            self.turn_to(REALLOCATE)

    cdef int commit(self, Py_ssize_t path) except -1 nogil:
        """Make this path the state."""
        cdef int32_t[2] clusters
        cdef Py_ssize_t t, a, P = self.P, p = path
        if self.is_merged(path):
            if self.apart:
                self.model.commit_merge(self.sides.ci, self.sides.cj)
            return 0
        # back along its ancestors
        for t in range(self.sides.n - 1, -1, -1):
            self.sides.in_a[t] = self.side[t * P + p]
            if self.renewed[t]:
                p = self.ancestor[t * P + p]
        a = self.model.K + 1 + 2 * self.of_class[path]
        for t in range(2):
            self.model.copy_column(a + t, self.model.K + t)
        if not self.apart:
            return self.accept_split()
        for t in range(self.sides.n):
            self.sides.in_a[t] = not self.sides.in_a[t]
        clusters[0], clusters[1] = <int32_t> self.sides.ci, <int32_t> self.sides.cj
        return self.model.commit_sides(clusters, 2, self.sides.items, self.sides.in_a, self.sides.n)
