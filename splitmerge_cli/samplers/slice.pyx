"""Slice sampling of a mixture with infinitely many components (Walker 2007), the order of the components summed out.

A step draws, given the partition, the weights of the components, those without items among them; for each item i a
threshold u_i, uniform below the weight of its component; parameters of the components; and then all labels,
independently of each other:

    P(z_i = k) proportional to  p(x_i | theta_k)  where w_k > u_i, else 0

Only finitely many components have a weight above a threshold. Weights and parameters are forgotten after the step, so
that it leaves the collapsed posterior of the partition invariant; the acceptance probability is 1.

*Weights.* Under the supported priors the weights of the clusters and the sum of all others are, given the partition,
independent gamma numbers, up to the scale of all, on which no label depends (Pitman 1996):

    w_k   gamma(n_k + g)                         a cluster with n_k items
    rest  gamma(r)                               all components without items
    v     beta(1 + g, r - g), then r - g for r   the share of the rest that the next of them takes

with g = 0 and r the concentration in the Dirichlet process; with m components, each of Dirichlet parameter g,
r = (m - K) g. So no component has a number, and none must be exchanged with another: where sticks are broken in the
order of the labels the weights fall with it, and Papaspiliopoulos and Roberts (2008) need moves that switch labels. To
draw the weights given the partition is to draw that order again.

*Thresholds.* The components that have a weight above u are known once u is above what is left of the rest, so sticks
are broken as far as the lowest threshold needs. A threshold is found by going down the weights from the weight of the
item's component: it is above the next one with probability 1 - w_next / w. What is left of the rest counts as a weight.

Cost: a pass of O(N T) densities of T components above a threshold, fewer if the densities of a component are far below
the best after some coordinates, and the statistics of all clusters again. Memory: 16 bytes an item, and of each
component whose weight is known its drawn parameters and 350 bytes. Their number grows with the concentration c: some c
log(rest / u) for the lowest threshold u.
"""
from libc.math cimport INFINITY, expm1, log, log1p
from libc.stdlib cimport qsort
from libc.string cimport memmove

from splitmerge_cli.core.capabilities cimport TILE_ITEMS, DrawnParameters
from splitmerge_cli.core.model cimport Model

cdef extern from "tiles.h":
    bint tile_is_far(const double *row) noexcept nogil
    void tile_raise(const double *row, const double *allowed, double *best, double *least) noexcept nogil
    void tile_weights(const double *allowed, const double *best, double *row) noexcept nogil

cdef enum:
    SCAN                                # MOVES
    MOST_COMPONENTS = 200_000

# sticks are broken in vain from some concentration on: what is left of the rest hardly falls
cdef double MOST_CONCENTRATION = 1000.0


cdef int compare_weights(const void *one, const void *other) noexcept nogil:
    """Order components by their weights, the largest first, equal weights by position."""
    cdef const component_t *a = <const component_t *> one
    cdef const component_t *b = <const component_t *> other
    if a.log_weight != b.log_weight:
        return -1 if a.log_weight > b.log_weight else 1
    return -1 if a.slot < b.slot else 1


cdef class Slice(Sampler):
    """All labels at once, among the components whose weight is above the threshold of an item. The move `scan` counts
    items as proposed and those whose component changed as accepted."""

    MOVES = ("scan",)
    DRAWS_FROM_CONTINUUM = True

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        self.parameters = self.model.capability(DrawnParameters)
        self.tile = self.memory.doubles(TILE_ITEMS * self.parameters.tile_rows)
        self.work = self.memory.doubles(self.parameters.work_size)
        self.floor, self.best = self.memory.doubles(TILE_ITEMS), self.memory.doubles(TILE_ITEMS)
        self.lowest, self.allowed = self.memory.doubles(TILE_ITEMS), self.memory.doubles(TILE_ITEMS)
        self.least = self.memory.doubles(self.model.N)
        self.label, self.order = self.memory.ints(self.model.N), self.memory.ints(self.model.N)
        self.scans = 0

    @classmethod
    def supports(cls, model):
        """Whether parameters of clusters and weights of components can be drawn: (bool, reason)."""
        able, reason = super().supports(model)
        if able and model.capability(DrawnParameters) is None:
            return False, "the model draws no parameters of a cluster given its items"
        if able and (<Model> model).prior.gamma_weights(1) is None:
            return False, f"model.prior={(<Model> model).prior.NAME} draws no weights of components without items"
        if able and not (<Model> model).prior.concentration <= MOST_CONCENTRATION:
            return False, (f"model.concentration: expected {MOST_CONCENTRATION:g} at most, since more takes too many "
                           "components")
        return able, reason

    def couples(self):
        """Whether two chains can be coupled so that they meet: (bool, reason)."""
        return False, "no coupling of components without items, of which both chains have infinitely many, was derived"

    cdef int need(self, Py_ssize_t components) except -1 nogil:
        """Room for this many components."""
        cdef Py_ssize_t old = self.room, room = 2 * components, size = 8 * self.parameters.size
        cdef Py_ssize_t tile = 8 * TILE_ITEMS, one = sizeof(component_t)
        if components <= old:
            return 0
        with gil:
            if components > MOST_COMPONENTS:
                raise MemoryError(f"sampler slice: more than {MOST_COMPONENTS:,} components above a threshold, at a "
                                  f"concentration of {self.model.prior.concentration:g}: another sampler needs none")
            self.components = <component_t *> self.memory.larger(self.components, old * one, room * one)
            self.running = <component_t *> self.memory.larger(self.running, old * one, room * one)
            self.theta = <double *> self.memory.larger(self.theta, old * size, room * size)
            self.score = <double *> self.memory.larger(self.score, old * tile, room * tile)
            self.chance = <double *> self.memory.larger(self.chance, old * 8, room * 8)
            self.number = <int32_t *> self.memory.larger(self.number, old * 4, room * 4)
        self.room = room
        return 0

    # -- a step
    cdef int make_step(self) except -1 nogil:
        cdef Py_ssize_t i, t, changed
        self.propose(SCAN)
        self.draw_weights()
        for i in range(self.model.N):
            self.least[i] = self.draw_threshold(self.log_weight[self.model.z[i]])
            if self.rng.is_halted:
                return 0
        self.model.reserve(self.model.K + 1)
        # of a component without items
        self.model.scratch(self.model.K)
        for t in range(self.n):
            self.parameters.draw_posterior(
                self.rng, min(self.components[t].slot, self.model.K),
                self.theta + self.components[t].slot * self.parameters.size, self.work)
        changed = self.draw_labels()
        if self.rng.is_halted:
            return 0
        self.proposed[SCAN] += self.model.N - 1
        self.accepted[SCAN] += changed
        return self.renumber() if changed else 0

    cdef int draw_weights(self) except -1 nogil:
        """The weights of the clusters, and of the rest; none of the components without items is known yet."""
        cdef Py_ssize_t k
        with gil:
            self.shape, self.left = self.model.prior.gamma_weights(self.model.K)
        self.n = 0
        for k in range(self.model.K):
            self.add_component(self.rng.draw_log_gamma(self.model.size[k] + self.shape))
        self.log_rest = self.rng.draw_log_gamma(self.left) if self.left > 0.0 else -INFINITY
        self.sort_components()
        return 0

    cdef int add_component(self, double log_weight) except -1 nogil:
        """One more, behind the others."""
        self.need(self.n + 1)
        self.components[self.n].log_weight, self.components[self.n].slot = log_weight, <int32_t> self.n
        self.n += 1
        return 0

    cdef int sort_components(self) except -1 nogil:
        """Sort the components by weight; the weights of clusters stay known by their numbers, in `log_weight`."""
        cdef Py_ssize_t t
        if self.n > self.weight_room:
            with gil:
                self.log_weight = <double *> self.memory.larger(
                    self.log_weight, self.weight_room * sizeof(double), 2 * self.n * sizeof(double))
            self.weight_room = 2 * self.n
        for t in range(self.n):
            self.log_weight[self.components[t].slot] = self.components[t].log_weight
        qsort(self.components, self.n, sizeof(component_t), compare_weights)
        for t in range(self.n - 1):
            self.compare_to_next(t)
        return 0

    cdef void compare_to_next(self, Py_ssize_t t) noexcept nogil:
        """drop: by what share of its weight the component is above the next one."""
        self.components[t].drop = -expm1(self.components[t + 1].log_weight - self.components[t].log_weight)

    cdef int break_stick(self) except -1 nogil:
        """One more component without items, out of the rest."""
        cdef double share = 1.0
        cdef Py_ssize_t t, place
        cdef component_t new
        # of the last one of finitely many it is 1
        if self.left - self.shape > 0.5 * self.shape:
            share = self.rng.draw_beta(1.0 + self.shape, self.left - self.shape)
        self.left -= self.shape
        self.add_component(self.log_rest + log(share))
        self.log_rest += log1p(-share)
        new = self.components[self.n - 1]
        place = self.count_above(new.log_weight, self.n - 1)
        memmove(self.components + place + 1, self.components + place, (self.n - 1 - place) * sizeof(component_t))
        self.components[place] = new
        for t in range(max(place - 1, 0), min(place + 1, self.n - 1)):
            self.compare_to_next(t)
        return 0

    cdef Py_ssize_t count_above(self, double log_weight, Py_ssize_t n) noexcept nogil:
        """Count how many of the first n components have at least this weight."""
        cdef Py_ssize_t low = 0, high = n, middle
        while low < high:
            middle = (low + high) // 2
            if self.components[middle].log_weight >= log_weight:
                low = middle + 1
            else:
                high = middle
        return low

    cdef double draw_threshold(self, double log_weight) except? -1.0 nogil:
        """A threshold uniform below this weight, as the log of the least weight above it; all above it are known."""
        cdef double top = log_weight, level, chance
        cdef Py_ssize_t s
        while self.log_rest > top:
            self.break_stick()
        s = self.count_above(top, self.n) - 1
        while True:
            level = self.components[s + 1].log_weight if s + 1 < self.n else -INFINITY
            if level >= self.log_rest and self.components[s].log_weight == top:
                chance = self.components[s].drop
            else:
                level = max(level, self.log_rest)
                chance = -expm1(level - top)
            if level == -INFINITY or self.rng.draw_coin(chance) or self.rng.is_halted:
                return top
            top = level
            if self.log_rest >= level:
                self.break_stick()
                s = self.count_above(top, self.n) - 1
            else:
                s += 1

    cdef void order_items(self) noexcept nogil:
        """order: all items, sorted by cluster."""
        cdef Py_ssize_t i, k, first = 0
        for k in range(self.model.K):
            self.number[k] = <int32_t> first
            first += self.model.size[k]
        for i in range(self.model.N):
            k = self.model.z[i]
            self.order[self.number[k]] = <int32_t> i
            self.number[k] += 1

    cdef Py_ssize_t draw_labels(self) noexcept nogil:
        """label: the component of each item; returns how many changed."""
        cdef Py_ssize_t first = 0, n, t, changed = 0
        self.order_items()
        while first < self.model.N and not self.rng.is_halted:
            n = min(TILE_ITEMS, self.model.N - first)
            self.draw_tile(self.order + first, n)
            for t in range(first, first + n):
                changed += self.label[self.order[t]] != self.model.z[self.order[t]]
            first += TILE_ITEMS
        return changed

    cdef void draw_tile(self, const int32_t *items, Py_ssize_t n) noexcept nogil:
        """New labels of n items. Components that are far below the best one for all of them are left out."""
        cdef Py_ssize_t t, c, slot, running = 0, cluster = self.model.z[items[0]]
        cdef double *row
        cdef double lowest = INFINITY
        cdef const component_t *component
        self.parameters.load_tile(items, n, self.tile)
        for t in range(TILE_ITEMS):
            self.best[t] = self.floor[t] = -INFINITY
            self.lowest[t] = self.least[items[min(t, n - 1)]]
            lowest = min(lowest, self.lowest[t])
        # the first item's cluster first, as it is the cluster of most
        for c in range(-1, self.count_above(lowest, self.n)):
            component = self.components + (self.count_above(self.log_weight[cluster], self.n) - 1 if c < 0 else c)
            slot = component.slot
            row = self.score + running * TILE_ITEMS
            if c >= 0 and slot == self.running[0].slot:
                continue
            self.parameters.score_tile(self.tile, self.theta + slot * self.parameters.size, 0.0, self.floor, row)
            if c >= 0 and tile_is_far(row):
                continue
            self.allow(component.log_weight)
            tile_raise(row, self.allowed, self.best, self.floor)
            self.running[running] = component[0]
            running += 1
        for c in range(running):
            self.allow(self.running[c].log_weight)
            tile_weights(self.allowed, self.best, self.score + c * TILE_ITEMS)
        for t in range(n):
            for c in range(running):
                self.chance[c] = self.score[c * TILE_ITEMS + t]
            self.label[items[t]] = self.running[self.rng.draw_categorical(self.chance, running)].slot
            if self.rng.is_halted:
                return

    cdef void allow(self, double log_weight) noexcept nogil:
        """allowed: for which items of the tile a component of this weight is above the threshold."""
        cdef Py_ssize_t t
        for t in range(TILE_ITEMS):
            self.allowed[t] = 1.0 if self.lowest[t] <= log_weight else 0.0

    cdef int renumber(self) except -1 nogil:
        """Make the labels the partition: components with items, numbered as their first items come."""
        cdef Py_ssize_t i, t, K = 0
        for t in range(self.n):
            self.number[t] = -1
        for i in range(self.model.N):
            t = self.label[i]
            if self.number[t] < 0:
                self.number[t] = <int32_t> K
                K += 1
            self.label[i] = self.number[t]
        return self.model.reset(self.label, K)
