"""Updates of one item at a time: Gibbs sampling, with auxiliary components, and locally informed moves.

Gibbs sampling (Wang & Russell 2015, Algorithm 1; Neal's algorithm 3 without empty clusters). An item is put into
cluster k with probability proportional to the prior's weight times its predictive there, its own contribution excluded.
The acceptance probability is 1, and the printed formula is this one: mode `as_printed` changes nothing. Cost: an item
O(K) predictives (EMM O(K), Bernoulli O(D K)); a scan N of them.

Auxiliary components: algorithm 8 of Neal (2000), the "auxiliary variables" of van Rossum et al. 2018, Table 1.

An item chooses among the clusters, item i itself not counted, and m auxiliary ones whose parameters are drawn from
their prior H:

    P(c_i = c) proportional to  n_c p(y_i | theta_c),  and  (alpha / m) p(y_i | theta_a) of each auxiliary component

When the item is alone, its own parameters become the first auxiliary component and m - 1 others are drawn. The
algorithm's last step, an update of theta_c given the items of c, is the sampler `refresh`.

Where the parameters are integrated out, the m components are alike, and count as one of weight alpha: the algorithm is
then Gibbs sampling. The acceptance probability is 1. Cost: an item O(K + m) predictives.

Locally informed moves of one item (Zanella 2020): the move is drawn by how much it would raise the posterior.

A block S of items is drawn, whatever the state is, and then `moves` moves are made within it. A move puts an item of S
into another cluster, or into one of its own, drawn among all such moves:

    q(x, y) = g(pi(y)/pi(x)) / Z_S(x),      Z_S(x) = sum of g(pi(y)/pi(x)) over the items of S and their options

with a balancing function, g(t) = t g(1/t) (Zanella 2020, section 2):

    sqrt      sqrt(t)
    barker    t / (1 + t)
    min       min(1, t)

so that the exact ratio of Metropolis and Hastings is

    R = Z_S(x) / Z_S(y)

Each move needs one sum, because the sum of the state it ends in is the first of the next. So that sums stay in the
range of a double, sqrt(t) is 1e125 above t = 1e250 and 1e125 t below 1e-250, which is a balancing function, too.

Cost: for each move, Gibbs weights of all items of the block, O(K) predictives each.
"""
from libc.math cimport INFINITY, exp, log, sqrt
from libc.stdint cimport int32_t

from splitmerge_cli._kernels cimport draw_label, full_scan
from splitmerge_cli.core.capabilities cimport Uncollapsed
from splitmerge_cli.core.sampler cimport ItemUpdates, Sampler

from splitmerge_cli.core.options import Choice, Count
from splitmerge_cli.core.sampler import CLUSTERS


cdef class Gibbs(ItemUpdates):
    """Gibbs sampler. The move `gibbs` counts updates of an item as proposed and those that moved it as accepted."""

    MOVES = ("gibbs",)
    DIVIDES_WEIGHTS = True

    cdef Py_ssize_t update_items(self, Py_ssize_t first, Py_ssize_t n) except -1 nogil:
        """Algorithm 1, lines 6-8."""
        return full_scan(self.model, self.rng, first, n)


cdef class Neal8(ItemUpdates):
    """Gibbs sampling with auxiliary components. The move `neal8` counts updates of an item as proposed and those that
    moved it as accepted."""

    OPTIONS = (Count("m", 3, "number of auxiliary components", least=1), *ItemUpdates.OPTIONS)
    MOVES = ("neal8",)
    NEEDS_CONJUGATE = False
    NOT_WITH_EMPTY = ": no component is auxiliary"

    cdef readonly int m
    cdef Uncollapsed uncollapsed        # the model, where it keeps parameters; else None

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        self.m = self.options["m"]
        self.uncollapsed = model if isinstance(model, Uncollapsed) and not model.conjugate else None

    @classmethod
    def small_options(cls, model):
        """Two auxiliary components, one item; where parameters are integrated out, the defaults: dict."""
        return {} if model.conjugate else {"m": 2, "scan": "site"}

    cdef Py_ssize_t update_items(self, Py_ssize_t first, Py_ssize_t n) except -1 nogil:
        cdef Py_ssize_t i, changed = 0
        self.model.auxiliaries = 1 if self.uncollapsed is None else self.m
        self.model.begin_scan()
        for i in range(first, first + n):
            if self.rng.is_halted:
                break
            changed += self.update_item(i)
        self.model.auxiliaries = 1
        return changed

    cdef int update_item(self, Py_ssize_t i) except -1 nogil:
        """Choose the component of item i; returns whether it moved."""
        cdef Py_ssize_t k, t, K = self.model.K, drawn = self.m - (self.model.size[self.model.z[i]] == 1)
        if self.uncollapsed is not None:
            self.model.reserve(K + self.m)
            for t in range(self.m):
                self.model.scratch(K + t)
            for t in range(drawn):
                self.uncollapsed.draw_parameters(self.rng, K + t)
        self.model.scan(i)
        k = draw_label(self.model, self.rng, i)
        if k == self.model.z[i]:
            return 0
        if k > K:
            self.uncollapsed.copy_parameters(k, K)
            k = K
        self.model.move(i, k)
        return 1


cdef enum:
    MOVE                                # MOVES

cdef enum:
    NORMALISERS                         # TERMS

cdef enum:
    SQRT, BARKER, MIN                   # BALANCING
BALANCING = ("sqrt", "barker", "min")

# beyond these sqrt(t) is bent
cdef double LARGE = 1e250
cdef double ROOT = 1e125


cdef double balance(int how, double t) noexcept nogil:
    """g(t), t finite."""
    if how == SQRT:
        return ROOT if t > LARGE else ROOT * t if t * LARGE < 1.0 else sqrt(t)
    if how == BARKER:
        return t / (1.0 + t)
    return t if t < 1.0 else 1.0


cdef class LocallyInformed(Sampler):
    """Locally informed moves of one item. Term `normalisers`: the sum over the moves from here, over the one from
    there. An item that is drawn into the block twice counts twice in both."""

    OPTIONS = (
        Count("items", 32, "items of a block, drawn with replacement; all items if there are no more", least=1),
        Count("moves", 4, "moves within a block", least=1),
        Choice("balancing", "barker", "balancing function of the ratio t of densities: sqrt, barker, t/(1 + t), or "
               "min, min(1, t)", choices=BALANCING),
        *Sampler.OPTIONS,
    )
    MOVES = ("move",)
    TERMS = ("normalisers",)
    SMALL = {"items": 2, "moves": 1}
    STAYS = (CLUSTERS,)
    FORMS = {
        "exact": (
            {"balancing": "sqrt", "moves": 1},
            {"balancing": "barker", "moves": 1},
            {"balancing": "min", "moves": 1},
            {"balancing": "barker", "moves": 2},
        ),
    }

    cdef int how                        # of BALANCING
    cdef int repeats                    # moves in a block
    cdef Py_ssize_t n                   # items of a block
    cdef int32_t *items                 # [n]
    cdef double *sums[2]                # [n] of each item of the block the sum of g: at present, and after the move
    cdef int now                        # which of the two belongs to the present state

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        self.how = BALANCING.index(self.options["balancing"])
        self.repeats = self.options["moves"]
        self.n = min(self.options["items"], self.model.N)
        self.items = self.memory.ints(max(self.n, 1))
        for s in range(2):
            self.sums[s] = self.memory.doubles(max(self.n, 1))

    cdef int make_step(self) except -1 nogil:
        cdef Py_ssize_t t
        cdef int _made
        cdef double Z
        for t in range(self.n):
            self.items[t] = <int32_t> (self.rng.draw_index(self.model.N) if self.n < self.model.N else t)
        self.model.reserve(self.model.K + 1)
        self.model.begin_scan()
        Z = self.sum_block(self.now)
        for _made in range(self.repeats):
            if self.rng.is_halted:
                break
            Z = self.make_move(Z)
        return 0

    cdef double make_move(self, double Z) except -1 nogil:
        """Propose a move within the block from a state whose sum is Z; returns the sum of the state that it leaves."""
        cdef Py_ssize_t i, k, own
        cdef bint alone
        cdef double there
        self.propose(MOVE)
        if not Z > 0.0:
            self.null()
            return Z
        i = self.items[self.rng.draw_categorical(self.sums[self.now], self.n)]
        self.weigh_moves(i)
        k = draw_label(self.model, self.rng, i)
        own = self.model.z[i]
        alone = self.model.size[own] == 1 and not self.model.allows_empty
        self.model.move(i, k)
        there = self.sum_block(1 - self.now)
        if self.decide(self.term(NORMALISERS, log(Z) - log(there))):
            self.now = 1 - self.now
            return there
        # back to its own cluster; where that was deleted, to a new one
        self.model.move(i, self.model.K if alone else own)
        return Z

    cdef double sum_block(self, int which) noexcept nogil:
        """Z_S of the state that the model is in."""
        cdef Py_ssize_t t
        cdef double Z = 0.0
        for t in range(self.n):
            self.sums[which][t] = self.weigh_moves(self.items[t])
            Z += self.sums[which][t]
        return Z

    cdef double weigh_moves(self, Py_ssize_t i) noexcept nogil:
        """Set the model's scan weights to g for every move of item i, 0 for staying; returns their sum."""
        cdef Py_ssize_t k, cluster = self.model.z[i], m = self.model.options()
        cdef double *w = self.model.w
        cdef double total = 0.0, of_own
        self.model.scan(i)
        of_own = w[cluster]
        for k in range(m):
            total += w[k]
        if total < INFINITY and of_own * LARGE > total:
            for k in range(m):
                w[k] = balance(self.how, w[k] / of_own)
        else:
            self.model.log_scan(i)
            w = self.model.w
            of_own = w[cluster]
            for k in range(m):
                # a larger ratio than LARGE has the g of a larger one
                w[k] = balance(self.how, exp(min(w[k] - of_own, 700.0)))
        w[cluster] = 0.0
        total = 0.0
        for k in range(m):
            total += w[k]
        return total
