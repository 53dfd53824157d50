"""Records of unknown entities: each cell is a true value of its entity, or a distorted one.

Entity k has a true value y in each field, drawn from phi, which says how often each of the field's values is true. A
record of the entity has the value x in that field with probability

    P(x | y) = (1 - theta) [x = y] + theta psi(x | y)
    psi(x | y) = lambda w(x | y) + (1 - lambda) phi(x)      psi(x | y) = phi(x), where no value has others near it

theta is the field's share of distorted cells, lambda the share of these that are slips: values near the true one, by
their similarity w to it. Some slips give a value that no record has, so that w sums to less than 1. True values are
summed out: a cluster of records has the likelihood

    prod_f sum_y phi(y) prod_i P(x_if | y)

where cells that are missing are left out. Relative to prod_i theta phi(x_if) the term of a value y that no value of the
cluster is or is near to is (1 - lambda)^n, so that the sum runs over values near the cluster's, however many there are.
theta and lambda have beta priors and phi a Dirichlet prior: ``refresh`` draws true values, whether each cell is
distorted and whether it is a slip, then theta, lambda and phi given these, and forgets the former.

Originals: by the above, where half of the records have an error, a quarter of the pairs have two or more. A register
may grow in another way: a record is right, and others repeat it with a slip. So of the entities of 2 to ``MOST_COPIES``
records a share omega has an original, which is any one of the n records x_j, and the others have one error or none:

    1/n sum_j prod_f phi(x_jf) prod_{i != j} Q(x_i | x_j)
    Q(x | y) = (1 - kappa) prod_f [x_f = y_f] + kappa sum_f alpha_f psi(x_f | y_f) prod_{g != f} [x_g = y_g]

kappa is the share of copies with an error, alpha says in which field it is. A cell that is missing in the copy is left
out, and one that is missing in the original is drawn from phi. The likelihood of such an entity is omega times this
plus (1 - omega) times the one above.

Sources: an entity has one record of a source at most. Two lower the log likelihood of a cluster by so much that no
state with such a pair is ever accepted; all numbers stay finite, so that every proposal has a density.

Sources: Steorts (2015); Marchant et al. (2021), where psi is one distribution; here slips and replaced values are two.
Derivation: docs/derivations.md, "Records".
"""
from libc.math cimport INFINITY, ceil, exp, exp2, isnan, lgamma, log, log1p, log2
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy, memset

import numpy as np

from splitmerge_cli.core.memory cimport allocate_or_abort, doubles_of, ints_of, longs_of
from splitmerge_cli.core.model cimport Model
from splitmerge_cli.core.rng cimport Rng

from splitmerge_cli import priors
from splitmerge_cli.core.checks import as_numbers
from splitmerge_cli.core.hyperpriors import Beta, ShareOrBeta
from splitmerge_cli.core.options import Choice, Number, Positive, read_options
from splitmerge_cli.core.shared import as_frozen, freeze, share
from splitmerge_cli.kinds.records.near_pairs import near_pairs_of, prepare, vectors_of
from splitmerge_cli.kinds.records.similar_values import SIMILARITIES
from splitmerge_cli.kinds.records.generated import simulate_records

cdef enum:
    FEW = 8                             # values of a cluster that are looked up one by one
    EQUAL = 4                           # records of one value alone whose log likelihood is kept, from two on
    OTHER = -1                          # true values that no value of a cluster is or is near
    MOST_COPIES = 16                    # records of an entity that may have an original
    STEPS = 9                           # of theta and lambda in a refresh

# theta and lambda are this far from 0 and 1
cdef double LEAST = 1e-9
# a gamma draw at the least: smaller ones have no probability that matters
cdef double LEAST_VALUE = 1e-200
# log of products that are multiplied
cdef double MOST_LOG = 600.0
# what two records of one source cost, in ranges of the log likelihood
cdef double RANGES = 64.0


ctypedef struct cell_t:                 # a value of a field that records of a cluster have
    int32_t value
    int32_t count                       # how many have it
    int32_t after                       # the cell of the next larger value, -1 none


cdef inline double power_of(double r, Py_ssize_t n, bint multiply, double total) noexcept nogil:
    """total r^n, or total + n log r."""
    cdef Py_ssize_t _t
    if not multiply:
        return total + n * log(r) if n else total
    for _t in range(n):
        total *= r
    return total


cdef void draw_within(Rng rng, double a, double b, double *value) noexcept nogil:
    """Draw a share from Beta(a, b). One beyond the ends of its range is a rejected proposal, and the value stays."""
    cdef double drawn = rng.draw_beta(a, b)
    if LEAST <= drawn <= 1.0 - LEAST:
        value[0] = drawn


cdef double draw_near(Rng rng, double a, double b, double width, double *value) noexcept nogil:
    """Move a share by a normal step of its log odds, and return by how much Beta(a, b) and the step change the log
    density."""
    cdef double before = value[0], after
    after = 1.0 / (1.0 + (1.0 - before) / before * exp(-width * rng.draw_normal()))
    if not LEAST <= after <= 1.0 - LEAST:
        return -INFINITY
    value[0] = after
    return a * log(after / before) + b * log((1.0 - after) / (1.0 - before))


cdef void draw_shares(Rng rng, const double *counts, Py_ssize_t m, double *shares) noexcept nogil:
    """Draw m shares, uniform ones before these counts."""
    cdef Py_ssize_t t
    cdef double total = 0.0
    for t in range(m):
        shares[t] = max(exp(rng.draw_log_gamma(1.0 + counts[t])), LEAST_VALUE)
        total += shares[t]
    for t in range(m):
        shares[t] /= total


cdef class Records(Model):
    """Entities whose records have distorted cells. `values`: codes of each field's values from 0, -1 where missing, int
    of shape (N, F); every value occurs. `fields`: for each its ``type`` and ``levels``, the words that the codes stand
    for. `sources`: of each record, from 0; of one an entity has one record at most.

    Cost of a predictive: for each field the values near the record's and the cluster's. Memory: 12 bytes for each
    field and cluster, 12 for each cell of a cluster, 60 for each value. `log_joint` leaves out the density of phi,
    whose small entries would hide all else.
    """

    kind = "records"
    OPTIONS = (
        priors.OPTIONS[0],
        priors.PriorOption("prior", "learned_sizes", "prior of the partition; smcmc list priors lists them"),
        ShareOrBeta("distortion", "beta(1,9)", "share of a field's cells that are distorted: a number between 0 and 1, "
                    "or beta(a,b): resampled for each field", may_be_zero=False),
        ShareOrBeta("similar", "beta(1,1)", "share of distorted cells that are similar to the true value: a number "
                    "between 0 and 1, or beta(a,b): resampled for each field", may_be_zero=False),
        ShareOrBeta("original", 0.0, "share of the entities of several records of which one is right and the "
                    "others are copies with one error or none: a number below 1, or beta(a,b): resampled; 0: none",
                    later=True),
        Choice("similarity", "edit", "how words are compared: edit (letters typed wrong) or jaro_winkler",
               choices=SIMILARITIES),
        Positive("strength", 2.0, "weight of a similar value: exp(-strength x distance), one edit being 1"),
        Number("frequencies", 0.1, "weight of each value in the Dirichlet prior of how often it is true, which is "
               "resampled; 0: fixed, at its share of the cells", least=0.0, most=1e6),
    )
    READS_MISSING = True
    simulate = staticmethod(simulate_records)

    cdef readonly Py_ssize_t F          # fields
    cdef readonly Py_ssize_t S          # sources; 0 without
    cdef readonly object data           # the Prepared of ``record_tables``
    cdef const int32_t *value           # [N, F] number of a value, -1 missing
    cdef const int32_t *begin           # [F + 1] numbers of the first value of each field
    cdef double *phi                    # [U] how often a value is true
    cdef const int64_t *near_begin      # [U + 1]
    cdef const int32_t *near            # [M] values near each, ascending
    cdef const double *alike            # [M] their weights
    # [U] 1 / the sum of the weights of values near each and of those that no record has; 0 in a field without near ones
    cdef const double *norm
    cdef const int32_t *source          # [N]; NULL without
    # -- parameters of fields
    cdef double *theta                  # [F]
    cdef double *lam                    # [F] lambda
    cdef double theta_a, theta_b        # their beta priors; 0 where they are fixed
    cdef double lam_a, lam_b
    cdef double weight_of_value         # Dirichlet prior of phi; 0 where it is the share of the cells
    cdef readonly double original       # omega; 0: no entity has an original
    cdef double original_a, original_b  # its beta prior; 0 where it is fixed
    cdef double copied_wrong            # kappa, with a uniform prior
    cdef double *fault                  # [F] alpha, with a uniform prior
    cdef double *below                  # [U] sum of phi over the values of the field up to each
    cdef int64_t *drawn                 # [U] true values and wrong ones that were drawn from phi
    cdef double *ratio                  # [U] R_x - 1 of a lone cell, while theta is drawn
    cdef int32_t *lone                  # [U] cells that are the only ones of their clusters, while all are drawn
    cdef const int64_t *known           # [F] known cells
    # -- what follows from them
    cdef double *log_phi                # [U]
    cdef double *log_base               # [U] log (theta phi)
    cdef double *same                   # [U] P(x | x) / (theta phi(x))
    cdef double *alone                  # [U] log likelihood of a lone value
    cdef double *together               # [U, EQUAL] of 2 records and more that all have it; NaN until it is asked for
    cdef double *far                    # [F] P(x | y) / (theta phi(x)) of y far from x
    cdef double *most                   # [U] log of the largest factor of a record with this value, or of 1 / `far`
    # -- clusters
    cdef Py_ssize_t W                   # lists of a cluster: F of values, and of its records if it may have an original
    cdef int32_t *head                  # [cap, W] first cell; -1 none
    cdef double *of_field               # [cap, W] log likelihood of a field, of the entity last, where is_valid[k]
    cdef int32_t *records_of            # [cap, S] records of each source
    cdef cell_t *cell
    cdef int32_t free_cell              # first of the free cells, linked by `after`
    cdef int32_t cells                  # cells allocated
    cdef double penalty                 # by which two records of one source lower the log likelihood
    # -- scratch: values of a field in a cluster, ascending, and true values that they may come from
    cdef int32_t *x
    cdef int32_t *n
    cdef int32_t *truth
    cdef double *weight
    cdef int32_t *member                # [MOST_COPIES + 1] records of an entity, with what each weighs as its original
    cdef double *as_original
    cdef double *error                  # [F] weight of each field for the one error of a copy
    cdef int32_t *marked                # [U] records of the cluster that have a value, while it is looked at
    cdef int32_t *seen                  # [U] the look at which a true value was counted
    cdef int32_t look

    def __init__(self, values, fields, sources=None, **options):
        given = read_options("model", self.OPTIONS, options)
        # as it is: of a copy nobody else has what is prepared
        values = np.asarray(values)
        fields = tuple((field.type, tuple(field.levels)) for field in fields)
        if values.ndim != 2 or len(fields) != values.shape[1] or not len(fields):
            raise ValueError(f"values: shape {values.shape}; expected (N, F) with {len(fields)} fields")
        data = share(prepare, values, fields, given["similarity"], given["strength"])
        cdef Py_ssize_t N = values.shape[0], f, k, most = 0
        cdef double span = 16.0
        self.F, self.data = len(fields), data
        self._hold(data)
        self.value, self.begin = ints_of(data.value), ints_of(data.begin)
        self.near_begin, self.near = longs_of(data.near_begin), ints_of(data.near)
        self.alike, self.norm = doubles_of(data.alike), doubles_of(data.norm)
        U = self.begin[self.F]
        self.weight_of_value = given["frequencies"]
        self.phi, self.below = self.memory.doubles(U), self.memory.doubles(U)
        self.drawn = <int64_t *> self.memory.doubles(U)
        memcpy(self.phi, doubles_of(data.share), 8 * U)
        self.known = longs_of(data.known)
        if isinstance(given["distortion"], Beta):
            self.theta_a, self.theta_b = given["distortion"].a, given["distortion"].b
        if isinstance(given["similar"], Beta):
            self.lam_a, self.lam_b = given["similar"].a, given["similar"].b
        self.theta, self.lam = self.memory.doubles(self.F), self.memory.doubles(self.F)
        self.far, self.fault, self.error = (self.memory.doubles(self.F), self.memory.doubles(self.F),
                                            self.memory.doubles(self.F))
        if isinstance(given["original"], Beta):
            self.original_a, self.original_b = given["original"].a, given["original"].b
        self.original = getattr(given["original"], "mean", given["original"])
        self.W = self.F + (self.original > 0.0)
        self.member, self.as_original = self.memory.ints(MOST_COPIES + 1), self.memory.doubles(MOST_COPIES + 1)
        self.copied_wrong = 0.5
        self.log_base, self.same, self.alone = (self.memory.doubles(U), self.memory.doubles(U), self.memory.doubles(U))
        self.together = self.memory.doubles(EQUAL * U)
        self.most, self.log_phi, self.ratio = self.memory.doubles(U), self.memory.doubles(U), self.memory.doubles(U)
        for f in range(self.F):
            self.theta[f] = getattr(given["distortion"], "mean", given["distortion"])
            self.lam[f] = getattr(given["similar"], "mean", given["similar"])
            self.fault[f] = 1.0 / self.F
            most = max(most, self.begin[f + 1] - self.begin[f])
        self.x, self.n, self.truth = self.memory.ints(most + 1), self.memory.ints(most + 1), self.memory.ints(most + 2)
        self.weight = self.memory.doubles(most + 2)
        self.marked, self.seen, self.lone = self.memory.ints(U), self.memory.ints(U), self.memory.ints(U)
        self.free_cell = -1
        if sources is not None:
            sources = as_frozen(np.asarray(sources), np.int32)
            if sources.shape != (N,) or sources.min() < 0:
                raise ValueError(f"sources: expected {N} numbers from 0")
            self.S = int(sources.max()) + 1
            self.source = ints_of(sources)
            self._hold(sources)
        of_records, of_pairs = share(vectors_of, values, data), share(near_pairs_of, values, data, sources)
        # what nobody holds is prepared again for the next chain
        self._hold(of_records)
        self._hold(of_pairs)
        self.vectors, self.near_pairs = of_records.vectors, of_pairs.near_pairs
        self.set_tables()
        self._allocate(N, N)
        self._set_prior(given["prior"].build(N, given["concentration"]))
        if self.S:
            self._require_room(int(np.bincount(sources).max()), given["prior"])
        # every record is an entity of its own
        self.set_labels(np.arange(N, dtype=np.int32))
        if self.S:
            for k in range(self.K):
                span += abs(self.lik(k))
            self.penalty = exp2(ceil(log2(RANGES * span)))

    def __dealloc__(self):
        free(self.cell)

    def _require_room(self, Py_ssize_t most, prior):
        """Raise a ValueError if the prior allows too few entities for a chain to reach every partition in which the
        `most` records of one file are apart: moves of one record do where there is one entity more."""
        needed = min(most + 1, self.N)
        if self.largest_K < needed:
            raise ValueError(f"model.prior={prior}: at most {self.largest_K} entities, but {most} records of one file "
                             f"are apart; expected a prior of {needed} entities or more (data.duplicates)")

    @classmethod
    def from_data(cls, data, **params):
        """The model of a Dataset of records."""
        cls._require(data)
        freeze(data.values)
        return cls(data.values, data.types, data.sources, **params)

    @classmethod
    def most_parameters(cls, data):
        return 3 * data.values.shape[1] + 2

    @property
    def why_not_added(self):
        """str: empty: the values of several records are one multiset."""
        return ""

    cdef void set_tables(self) noexcept nogil:
        """Set all that follows from theta and lambda."""
        cdef Py_ssize_t f, u
        self.set_factors()
        for f in range(self.F):
            for u in range(self.begin[f], self.begin[f + 1]):
                self.x[0], self.n[0] = <int32_t> u, 1
                self.alone[u] = self.log_lik_of(f, 1)
        # bytes of a NaN
        memset(self.together, 255, 8 * EQUAL * self.begin[self.F])

    cdef void set_factors(self) noexcept nogil:
        """Set what weighs true values."""
        cdef Py_ssize_t f, u
        cdef double theta, below, far
        for f in range(self.F):
            theta, below = self.theta[f], 0.0
            far = self.far[f] = 1.0 - self.lam[f] if self.norm[self.begin[f]] > 0.0 else 1.0
            for u in range(self.begin[f], self.begin[f + 1]):
                self.log_base[u] = log(theta * self.phi[u])
                self.log_phi[u] = log(self.phi[u])
                self.same[u] = (1.0 - theta) / (theta * self.phi[u]) + far
                self.most[u] = max(log1p(max((1.0 - theta) / theta, 1.0) / self.phi[u]), -log(far))
                below += self.phi[u]
                self.below[u] = below

    # -- statistics: the values of each field, ascending, with the number of records that have each
    cdef int grow(self, Py_ssize_t cap) except -1:
        cdef Py_ssize_t old = self.cap, width = self.W * cap
        self.head = <int32_t *> self.memory.larger(self.head, 4 * self.W * old, 4 * width)
        memset(self.head + self.W * old, 255, 4 * (width - self.W * old))
        self.of_field = <double *> self.memory.larger(self.of_field, 8 * self.W * old, 8 * width)
        self.records_of = <int32_t *> self.memory.larger(self.records_of, 4 * self.S * old, 4 * self.S * cap)
        return 0

    cdef int32_t new_cell(self, int32_t value, int32_t count, int32_t after) noexcept nogil:
        """A cell, taken from the free ones."""
        cdef int32_t c, room
        cdef cell_t *larger
        if self.free_cell < 0:
            room = max(2 * self.cells, 1024)
            larger = <cell_t *> allocate_or_abort(room * sizeof(cell_t))
            if self.cells:
                memcpy(larger, self.cell, self.cells * sizeof(cell_t))
            free(self.cell)
            self.cell = larger
            for c in range(self.cells, room):
                self.cell[c].after = c + 1 if c + 1 < room else -1
            self.free_cell, self.cells = self.cells, room
        c = self.free_cell
        self.free_cell = self.cell[c].after
        self.cell[c].value, self.cell[c].count, self.cell[c].after = value, count, after
        return c

    cdef void count_value(self, int32_t *first, int32_t value, int32_t count) noexcept nogil:
        """Count a value `count` times more (or less, if that is negative) among the cells from `first` on."""
        cdef int32_t previous = -1, c = first[0]
        while c >= 0 and self.cell[c].value < value:
            previous, c = c, self.cell[c].after
        if c >= 0 and self.cell[c].value == value:
            self.cell[c].count += count
            if self.cell[c].count:
                return
            count = self.cell[c].after
            self.cell[c].after, self.free_cell = self.free_cell, c
        else:
            # memory of cells may move
            count = self.new_cell(value, count, c)
        if previous < 0:
            first[0] = count
        else:
            self.cell[previous].after = count

    cdef void clear(self, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t f
        cdef int32_t c, after
        for f in range(self.W):
            c = self.head[k * self.W + f]
            while c >= 0:
                after = self.cell[c].after
                self.cell[c].after, self.free_cell = self.free_cell, c
                c = after
            self.head[k * self.W + f] = -1
        memset(self.records_of + k * self.S, 0, 4 * self.S)

    cdef void tell(self, Py_ssize_t i, Py_ssize_t k, int sign) noexcept nogil:
        cdef Py_ssize_t f
        for f in range(self.F):
            if self.value[i * self.F + f] >= 0:
                self.count_value(self.head + k * self.W + f, self.value[i * self.F + f], sign)
        if self.W > self.F:
            self.count_value(self.head + k * self.W + self.F, <int32_t> i, sign)
        if self.S:
            self.records_of[k * self.S + self.source[i]] += sign

    cdef void copy(self, Py_ssize_t src, Py_ssize_t dst) noexcept nogil:
        if src == dst:
            return
        self.clear(dst)
        self.absorb(dst, src, 1)
        memcpy(self.of_field + dst * self.W, self.of_field + src * self.W, 8 * self.W)

    cdef void absorb(self, Py_ssize_t dst, Py_ssize_t src, int sign) noexcept nogil:
        cdef Py_ssize_t f, s
        cdef int32_t c
        for f in range(self.W):
            c = self.head[src * self.W + f]
            while c >= 0:
                self.count_value(self.head + dst * self.W + f, self.cell[c].value, sign * self.cell[c].count)
                c = self.cell[c].after
        for s in range(self.S):
            self.records_of[dst * self.S + s] += sign * self.records_of[src * self.S + s]

    # -- the likelihood of a field
    cdef Py_ssize_t gather(self, Py_ssize_t f, Py_ssize_t a, Py_ssize_t b, int32_t value) noexcept nogil:
        """x, n: the values of field f in columns a and b and the value of one more record, ascending, and how many
        records have each; -1: none. Returns how many values there are."""
        cdef int32_t c = self.head[a * self.W + f] if a >= 0 else -1, d = self.head[b * self.W + f] if b >= 0 else -1
        cdef int32_t least
        cdef Py_ssize_t m = 0
        while c >= 0 or d >= 0 or value >= 0:
            least = self.cell[c].value if c >= 0 else value
            if d >= 0 and (c < 0 and value < 0 or self.cell[d].value < least):
                least = self.cell[d].value
            if 0 <= value < least:
                least = value
            self.x[m], self.n[m] = least, 0
            if c >= 0 and self.cell[c].value == least:
                self.n[m] += self.cell[c].count
                c = self.cell[c].after
            if d >= 0 and self.cell[d].value == least:
                self.n[m] += self.cell[d].count
                d = self.cell[d].after
            if value == least:
                self.n[m] += 1
                value = -1
            m += 1
        return m

    cdef inline double weight_near(self, int32_t y, int32_t x) noexcept nogil:
        """Weight of x among the values near y; 0 if it is not near."""
        cdef int64_t low = self.near_begin[y], high = self.near_begin[y + 1], middle
        while low < high:
            middle = (low + high) >> 1
            if self.near[middle] < x:
                low = middle + 1
            else:
                high = middle
        return self.alike[low] if low < self.near_begin[y + 1] and self.near[low] == x else 0.0

    cdef inline double slip(self, Py_ssize_t f, int32_t y, int32_t x, double alike) noexcept nogil:
        """P(x | y) / (theta phi(x)) of x near y."""
        return self.lam[f] * alike * self.norm[y] / self.phi[x] + self.far[f]

    cdef double product_of(self, Py_ssize_t f, int32_t y, Py_ssize_t rest, bint multiply) noexcept nogil:
        """The product over the records of P(x | y) / (theta phi(x)), or its logarithm; the values are marked, of
        `rest` records."""
        cdef double r, total = 1.0 if multiply else 0.0
        cdef Py_ssize_t t
        cdef int64_t e
        if self.marked[y]:
            total = power_of(self.same[y], self.marked[y], multiply, total)
            rest -= self.marked[y]
        for e in range(self.near_begin[y], self.near_begin[y + 1]):
            t = self.marked[self.near[e]]
            if t:
                r = self.slip(f, y, self.near[e], self.alike[e])
                total = power_of(r, t, multiply, total)
                rest -= t
        return power_of(self.far[f], rest, multiply, total)

    cdef double few_products(self, Py_ssize_t f, int32_t y, Py_ssize_t m, Py_ssize_t before) noexcept nogil:
        """``product_of`` few values, multiplied; -1 if one of those before the place `before` is y or near it."""
        cdef double r, total = 1.0
        cdef Py_ssize_t t
        for t in range(m):
            if self.x[t] == y:
                r = self.same[y]
            else:
                r = self.weight_near(y, self.x[t])
                r = self.slip(f, y, self.x[t], r) if r > 0.0 else 0.0
            if r == 0.0:
                r = self.far[f]
            elif t < before:
                return -1.0
            total = power_of(r, self.n[t], True, total)
        return total

    cdef double near_product(self, Py_ssize_t f, int32_t y, Py_ssize_t m, Py_ssize_t own, double alike,
                             int64_t *place) noexcept nogil:
        """``few_products`` of a value near the one at the place `own`: places in the lists of the others only ascend,
        since those near a value do."""
        cdef Py_ssize_t t
        cdef double total = power_of(self.slip(f, y, self.x[own], alike), self.n[own], True, 1.0)
        for t in range(m):
            if t == own:
                continue
            if self.x[t] == y:
                if t < own:
                    return -1.0
                total = power_of(self.same[y], self.n[t], True, total)
                continue
            while place[t] < self.near_begin[self.x[t] + 1] and self.near[place[t]] < y:
                place[t] += 1
            if place[t] < self.near_begin[self.x[t] + 1] and self.near[place[t]] == y:
                if t < own:
                    return -1.0
                total = power_of(self.slip(f, y, self.x[t], self.alike[place[t]]), self.n[t], True, total)
            else:
                total = power_of(self.far[f], self.n[t], True, total)
        return total

    cdef Py_ssize_t weigh_truths(self, Py_ssize_t f, Py_ssize_t m, double *scale) noexcept nogil:
        """truth, weight: the true values that m gathered values are or are near to, and phi(y) prod_i P(x_i | y), over
        prod_i theta phi(x_i) and exp(scale); then ``OTHER``. Returns how many."""
        cdef Py_ssize_t s, t, count = 0, total = 0
        cdef int64_t e
        cdef int64_t[FEW] place
        cdef int32_t y
        cdef bint multiply, few = m <= FEW
        cdef double left = 1.0, w, top = -INFINITY, largest = 0.0
        for t in range(m):
            total += self.n[t]
            largest += self.n[t] * self.most[self.x[t]]
        multiply = largest <= MOST_LOG
        few = few and multiply
        if not few:
            self.look += 1
            for t in range(m):
                self.marked[self.x[t]] = self.n[t]
        for t in range(m):
            if few:
                for s in range(m):
                    place[s] = self.near_begin[self.x[s]]
            for e in range(self.near_begin[self.x[t]] - 1, self.near_begin[self.x[t] + 1]):
                # the value itself, then those near it
                y = self.x[t] if e < self.near_begin[self.x[t]] else self.near[e]
                if not few:
                    if self.seen[y] == self.look:
                        continue
                    self.seen[y] = self.look
                    w = self.product_of(f, y, total, multiply)
                elif e < self.near_begin[self.x[t]]:
                    w = self.few_products(f, y, m, t)
                else:
                    w = self.near_product(f, y, m, t, self.alike[e], place)
                if few and w < 0.0:
                    continue
                left -= self.phi[y]
                self.truth[count] = y
                self.weight[count] = w * self.phi[y] if multiply else w + log(self.phi[y])
                count += 1
        if not few:
            for t in range(m):
                self.marked[self.x[t]] = 0
        # what rounding leaves of nothing is nothing
        if left > 1e-12 and count < self.begin[f + 1] - self.begin[f]:
            self.truth[count] = OTHER
            w = power_of(self.far[f], total, multiply, 1.0 if multiply else 0.0)
            self.weight[count] = left * w if multiply else log(left) + w
            count += 1
        scale[0] = 0.0
        if not multiply:
            for t in range(count):
                top = max(top, self.weight[t])
            for t in range(count):
                self.weight[t] = exp(self.weight[t] - top)
            scale[0] = top
        return count

    cdef double log_lik_of(self, Py_ssize_t f, Py_ssize_t m) noexcept nogil:
        """Log likelihood of m gathered values of field f."""
        cdef double scale, total = 0.0, base = 0.0
        cdef Py_ssize_t t, count
        if m == 0:
            return 0.0
        for t in range(m):
            base += self.n[t] * self.log_base[self.x[t]]
        count = self.weigh_truths(f, m, &scale)
        for t in range(count):
            total += self.weight[t]
        return base + scale + log(total)

    cdef double field_of(self, Py_ssize_t f, Py_ssize_t a, Py_ssize_t b, int32_t value) noexcept nogil:
        """Log likelihood of field f in columns a and b as one, with one more value; -1: none."""
        cdef Py_ssize_t m = self.gather(f, a, b, value), place
        if m != 1 or self.n[0] > EQUAL + 1:
            return self.log_lik_of(f, m)
        if self.n[0] == 1:
            return self.alone[self.x[0]]
        place = EQUAL * self.x[0] + self.n[0] - 2
        if isnan(self.together[place]):
            self.together[place] = self.log_lik_of(f, 1)
        return self.together[place]

    # -- entities with an original
    cdef Py_ssize_t gather_records(self, Py_ssize_t a, Py_ssize_t b, Py_ssize_t i) noexcept nogil:
        """member: the records in columns a and b, and record i; -1: none. Returns how many if they may have an
        original, else 0."""
        cdef Py_ssize_t n = 0, t
        cdef int32_t c
        if self.W == self.F:
            return 0
        for t in range(2):
            c = a if t == 0 else b
            c = self.head[c * self.W + self.F] if c >= 0 else -1
            while c >= 0:
                if n == MOST_COPIES:
                    return 0
                self.member[n] = self.cell[c].value
                n += 1
                c = self.cell[c].after
        if i >= 0:
            self.member[n] = <int32_t> i
            n += 1
        return n if 2 <= n <= MOST_COPIES else 0

    cdef double log_copy(self, Py_ssize_t i, Py_ssize_t j, double *wrong) noexcept nogil:
        """Log probability of record i as a copy of record j. wrong: the share of this that has an error; error: what
        each field weighs as the one that it is in."""
        cdef double p, log_rest = 0.0, one = 0.0, right
        cdef Py_ssize_t f, differs = -1
        cdef int32_t x, y
        for f in range(self.F):
            x, y, p = self.value[i * self.F + f], self.value[j * self.F + f], 1.0
            if x >= 0 and y < 0:
                log_rest += self.log_phi[x]
            elif x >= 0 and x == y:
                p = self.far[f] * self.phi[x]
            elif x >= 0:
                if differs >= 0:
                    return -INFINITY
                differs = f
                p = self.slip(f, y, x, self.weight_near(y, x)) * self.phi[x]
            self.error[f] = self.fault[f] * p
            one += self.error[f]
        if differs >= 0:
            one = self.error[differs]
            memset(self.error, 0, 8 * self.F)
            self.error[differs] = one
        one *= self.copied_wrong
        right = 0.0 if differs >= 0 else 1.0 - self.copied_wrong
        if right + one == 0.0:
            return -INFINITY
        wrong[0] = one / (right + one)
        return log_rest + log(right + one)

    cdef double log_lik_of_copies(self, Py_ssize_t n) noexcept nogil:
        """Log likelihood of the n gathered records if one is the original; as_original: what each of them weighs."""
        cdef double total = 0.0, top = -INFINITY, wrong
        cdef Py_ssize_t f, s, t
        for t in range(n):
            self.as_original[t] = 0.0
            for f in range(self.F):
                if self.value[self.member[t] * self.F + f] >= 0:
                    self.as_original[t] += self.log_phi[self.value[self.member[t] * self.F + f]]
            for s in range(n):
                if s != t:
                    self.as_original[t] += self.log_copy(self.member[s], self.member[t], &wrong)
            top = max(top, self.as_original[t])
        # all have two errors or more
        if top == -INFINITY:
            return top
        for t in range(n):
            self.as_original[t] = exp(self.as_original[t] - top)
            total += self.as_original[t]
        return top + log(total / n)

    cdef double log_lik_of_entity(self, Py_ssize_t n, double apart) noexcept nogil:
        """Log likelihood of the n gathered records as one entity, with an original or not; 0: they have none. `apart`:
        without."""
        cdef double with_one
        if n == 0:
            return apart
        with_one, apart = log(self.original) + self.log_lik_of_copies(n), log1p(-self.original) + apart
        return max(with_one, apart) + log1p(exp(-abs(with_one - apart)))

    # -- probabilities
    cdef double conflicts(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """Pairs of records from one source in columns a and b as one; b may be -1."""
        cdef Py_ssize_t s
        cdef double n, total = 0.0
        for s in range(self.S):
            n = self.records_of[a * self.S + s] + (self.records_of[b * self.S + s] if b >= 0 else 0)
            total += n * (n - 1.0)
        return 0.5 * total

    cdef double cluster_log_lik(self, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t f
        cdef double total = 0.0
        for f in range(self.F):
            self.of_field[k * self.W + f] = self.field_of(f, k, -1, -1)
            total += self.of_field[k * self.W + f]
        if self.W > self.F:
            total = self.of_field[k * self.W + self.F] = self.log_lik_of_entity(self.gather_records(k, -1, -1), total)
        return total - self.penalty * self.conflicts(k, -1) if self.S else total

    cdef double log_union(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        cdef Py_ssize_t f
        cdef double total = 0.0
        for f in range(self.F):
            total += self.field_of(f, a, b, -1)
        total = self.log_lik_of_entity(self.gather_records(a, b, -1), total)
        return total - self.penalty * self.conflicts(a, b) if self.S else total

    cdef double log_pred(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t f
        cdef int32_t x
        cdef double total = 0.0
        # of_field holds
        self.lik(k)
        for f in range(self.F):
            x = self.value[i * self.F + f]
            if x < 0:
                continue
            if self.head[k * self.W + f] < 0:
                total += self.alone[x]
            else:
                total += self.field_of(f, k, -1, x) - self.of_field[k * self.W + f]
        if self.W > self.F:
            for f in range(self.F):
                total += self.of_field[k * self.W + f]
            total = self.log_lik_of_entity(self.gather_records(k, -1, i), total) - self.of_field[k * self.W + self.F]
        return total - self.penalty * self.records_of[k * self.S + self.source[i]] if self.S else total

    # -- theta and lambda
    cdef void draw_cells(self, Rng rng, Py_ssize_t k, double *counts) noexcept nogil:
        """Draw the true values of cluster k and whether its cells are distorted and slips, and add to `counts`: for
        each field distorted cells, those that might be slips, slips; then what `draw_copies` adds. A lone cell of a
        field is left to `draw_lone`."""
        cdef Py_ssize_t f, m, count
        cdef double scale
        if self.W > self.F and self.draw_copies(rng, k, counts):
            return
        for f in range(self.F):
            m = self.gather(f, k, -1, -1)
            if m == 1 and self.n[0] == 1:
                self.lone[self.x[0]] += 1
            elif m:
                count = self.weigh_truths(f, m, &scale)
                self.draw_truth(rng, f, m, count, counts)

    cdef void draw_lone(self, Rng rng, double *counts) noexcept nogil:
        """`draw_cells` of the cells that are the only ones of their clusters, value by value: what their true values
        weigh is the same for all cells of a value."""
        cdef Py_ssize_t f, u, count, _record
        cdef double scale
        for f in range(self.F):
            for u in range(self.begin[f], self.begin[f + 1]):
                if not self.lone[u]:
                    continue
                self.x[0], self.n[0] = <int32_t> u, 1
                count = self.weigh_truths(f, 1, &scale)
                for _record in range(self.lone[u]):
                    self.draw_truth(rng, f, 1, count, counts)

    cdef void draw_truth(self, Rng rng, Py_ssize_t f, Py_ssize_t m, Py_ssize_t count, double *counts) noexcept nogil:
        """Draw the true value of the m gathered values of field f, whose `count` true values are weighed, and what
        became of it in each cell."""
        cdef Py_ssize_t t, _record
        cdef int32_t y = self.truth[rng.draw_categorical(self.weight, count)]
        cdef bint distorted
        cdef double p
        if self.weight_of_value > 0.0:
            self.drawn[y if y >= 0 else self.draw_other(rng, f, count)] += 1
        for t in range(m):
            p, distorted = self.share_of_slips(f, y, self.x[t]), True
            for _record in range(self.n[t]):
                if self.x[t] == y:
                    distorted = rng.draw_coin(self.far[f] / self.same[y])
                counts[3 * f] += distorted
                if distorted:
                    self.draw_slip(rng, f, self.x[t], p, counts)

    cdef inline double share_of_slips(self, Py_ssize_t f, int32_t y, int32_t x) noexcept nogil:
        """Probability that the cell x is a slip, if it is distorted and y is true."""
        cdef double p = self.weight_near(y, x) if y >= 0 and x != y else 0.0
        return 1.0 - self.far[f] / self.slip(f, y, x, p) if p > 0.0 else 0.0

    cdef inline void draw_slip(self, Rng rng, Py_ssize_t f, int32_t x, double p, double *counts) noexcept nogil:
        """Draw whether the distorted cell x is a slip, of probability p, and count it."""
        cdef bint slip = p > 0.0 and rng.draw_coin(p)
        counts[3 * f + 1] += self.norm[self.begin[f]] > 0.0
        counts[3 * f + 2] += slip
        if self.weight_of_value > 0.0:
            self.drawn[x] += not slip

    cdef bint draw_copies(self, Rng rng, Py_ssize_t k, double *counts) noexcept nogil:
        """Draw whether cluster k has an original, which record it is, and the errors of the others. Adds to `counts`
        behind the first 3 F: for each field cells that theta does not speak of, and errors of copies; then copies,
        those with an error, entities that may have an original, and those that have one. Returns whether it has."""
        cdef double *spared = counts + 3 * self.F
        cdef double *of_copies = counts + 5 * self.F
        cdef Py_ssize_t n = self.gather_records(k, -1, -1), f, t, origin, field
        cdef int32_t x, y
        cdef double wrong
        if n == 0:
            return False
        # of_field holds
        self.lik(k)
        of_copies[2] += 1.0
        if not rng.draw_coin(self.original * exp(self.log_lik_of_copies(n) - self.of_field[k * self.W + self.F])):
            return False
        of_copies[3] += 1.0
        origin = rng.draw_categorical(self.as_original, n)
        for t in range(n):
            field = -1
            if t != origin:
                of_copies[0] += 1.0
                self.log_copy(self.member[t], self.member[origin], &wrong)
                if rng.draw_coin(wrong):
                    of_copies[1] += 1.0
                    field = rng.draw_categorical(self.error, self.F)
                    spared[self.F + field] += 1.0
            for f in range(self.F):
                x, y = self.value[self.member[t] * self.F + f], self.value[self.member[origin] * self.F + f]
                if x < 0:
                    continue
                spared[f] += 1.0
                if t == origin or y < 0:
                    # a true value
                    if self.weight_of_value > 0.0:
                        self.drawn[x] += 1
                elif f == field:
                    self.draw_slip(rng, f, x, self.share_of_slips(f, y, x), counts)
        return True

    cdef void draw_errors(self, Rng rng, Py_ssize_t f, const double *counts, double spared) noexcept nogil:
        """Draw theta and lambda of field f given its distorted cells, those that might be slips, and slips. Lone cells
        are not among them: their true values are summed out, as most of them say nothing and would hold theta where it
        is. A lone cell x has the likelihood phi(x) (1 + theta lambda (R_x - 1)), where phi(x) R_x is the probability
        that a slip of a true value gives x."""
        cdef double lone = 0.0, before, after, theta, lam, log_r
        cdef double a = self.theta_a + counts[0], b = self.theta_b - counts[0] - spared
        cdef double lam_a = self.lam_a + counts[2], lam_b = self.lam_b + counts[1] - counts[2]
        cdef Py_ssize_t u, step
        cdef int64_t e
        cdef bint slips = self.norm[self.begin[f]] > 0.0
        for u in range(self.begin[f], self.begin[f + 1]):
            lone += self.lone[u]
            if slips and self.lone[u]:
                self.ratio[u] = -1.0
                for e in range(self.near_begin[u], self.near_begin[u + 1]):
                    self.ratio[u] += self.phi[self.near[e]] * self.alike[e] * self.norm[self.near[e]] / self.phi[u]
        b += self.known[f] - lone
        before = self.log_lik_of_lone(f, slips, self.theta[f] * self.lam[f])
        for step in range(STEPS):
            theta, lam, log_r = self.theta[f], self.lam[f], 0.0
            if step % 3 == 0:
                # given the other cells
                if self.theta_a > 0.0:
                    draw_within(rng, a, b, &theta)
                if self.lam_a > 0.0:
                    draw_within(rng, lam_a, lam_b, &lam)
            elif step % 3 == 1 and self.theta_a > 0.0:
                log_r = draw_near(rng, a, b, 2.0 / (1.0 + step), &theta)
            elif step % 3 == 2 and self.lam_a > 0.0:
                log_r = draw_near(rng, lam_a, lam_b, 2.0 / (1.0 + step), &lam)
            after = self.log_lik_of_lone(f, slips, theta * lam)
            if not rng.draw_accept(log_r + after - before):
                continue
            self.theta[f], self.lam[f], before = theta, lam, after

    cdef double log_lik_of_lone(self, Py_ssize_t f, bint slips, double slipping) noexcept nogil:
        """Log likelihood of field f's lone cells where a share `slipping` are slips, less the one without slips."""
        cdef double total = 0.0
        cdef Py_ssize_t u
        if slips:
            for u in range(self.begin[f], self.begin[f + 1]):
                if self.lone[u]:
                    total += self.lone[u] * log1p(slipping * self.ratio[u])
        return total

    cdef int32_t draw_other(self, Rng rng, Py_ssize_t f, Py_ssize_t count) noexcept nogil:
        """Draw a true value by phi that is none of the `count` gathered ones."""
        cdef int32_t low, high, middle
        cdef double u
        cdef Py_ssize_t t
        while True:
            low, high = self.begin[f], self.begin[f + 1] - 1
            u = rng.next() * self.below[high]
            while low < high:
                middle = (low + high) >> 1
                if self.below[middle] > u:
                    high = middle
                else:
                    low = middle + 1
            for t in range(count):
                if self.truth[t] == low:
                    break
            else:
                return low

    cdef void draw_phi(self, Rng rng) noexcept nogil:
        """Draw phi given the values that were drawn from it, and forget these."""
        cdef Py_ssize_t f, u
        cdef double total
        for f in range(self.F):
            total = 0.0
            for u in range(self.begin[f], self.begin[f + 1]):
                self.phi[u] = max(exp(rng.draw_log_gamma(self.weight_of_value + self.drawn[u])), LEAST_VALUE)
                self.drawn[u] = 0
                total += self.phi[u]
            for u in range(self.begin[f], self.begin[f + 1]):
                self.phi[u] /= total

    cdef Py_ssize_t refresh_parameters(self, Rng rng) noexcept nogil:
        """Draw originals, true values and what became of them in each cell, then all shares given these."""
        cdef Py_ssize_t f, t, size = 8 * (5 * self.F + 4)
        cdef double *counts = <double *> allocate_or_abort(size)
        cdef double *of_copies = counts + 5 * self.F
        memset(counts, 0, size)
        rng.begin_clusters(self.name, self.K)
        for t in range(self.K):
            self.draw_cells(rng, rng.cluster_in_turn(self.name, t), counts)
        rng.end_clusters()
        for f in range(self.F):
            self.draw_errors(rng, f, counts + 3 * f, counts[3 * self.F + f])
        if self.weight_of_value > 0.0:
            self.set_factors()
            self.draw_lone(rng, counts)
            self.draw_phi(rng)
        memset(self.lone, 0, 4 * self.begin[self.F])
        if self.original_a > 0.0:
            draw_within(rng, self.original_a + of_copies[3], self.original_b + of_copies[2] - of_copies[3],
                        &self.original)
        if self.W > self.F:
            draw_within(rng, 1.0 + of_copies[1], 1.0 + of_copies[0] - of_copies[1], &self.copied_wrong)
            draw_shares(rng, counts + 4 * self.F, self.F, self.fault)
        free(counts)
        self.parameters_changed()
        return self.K

    cdef void parameters_changed(self) noexcept nogil:
        self.set_tables()
        memset(self.is_valid, 0, self.cap)

    cdef bint same_parameters(self, Model other, const int32_t *twin) noexcept nogil:
        return (not memcmp(self.theta, (<Records> other).theta, 8 * self.F)
                and not memcmp(self.lam, (<Records> other).lam, 8 * self.F)
                and not memcmp(self.fault, (<Records> other).fault, 8 * self.F)
                and self.copied_wrong == (<Records> other).copied_wrong
                and self.original == (<Records> other).original
                and not memcmp(self.phi, (<Records> other).phi, 8 * self.begin[self.F]))

    @property
    def refreshes(self):
        return bool(self.hyperparameters) or self.weight_of_value > 0.0 or self.W > self.F

    @property
    def hyperparameters(self):
        """tuple of str: the prior's, then shares that are resampled: distorted ones of all cells, slips of these,
        entities with an original of those with several records."""
        return (*self.prior.hyperparameters, *(("distortion",) if self.theta_a > 0.0 else ()),
                *(("similar",) if self.lam_a > 0.0 else ()), *(("original",) if self.original_a > 0.0 else ()))

    cdef Py_ssize_t write_hyperparameters(self, double *out) noexcept nogil:
        cdef Py_ssize_t f, t = Model.write_hyperparameters(self, out)
        cdef double known = 0.0, distorted = 0.0, slips = 0.0
        for f in range(self.F):
            known += self.known[f]
            distorted += self.known[f] * self.theta[f]
            slips += self.known[f] * self.theta[f] * self.lam[f]
        if self.theta_a > 0.0:
            out[t] = distorted / known
            t += 1
        if self.lam_a > 0.0:
            out[t] = slips / distorted
            t += 1
        if self.original_a > 0.0:
            out[t] = self.original
            t += 1
        return t

    cdef double log_extra(self) noexcept nogil:
        cdef Py_ssize_t f
        cdef double total = Model.log_extra(self)
        for f in range(self.F):
            total += log_beta(self.theta_a, self.theta_b, self.theta[f]) + log_beta(self.lam_a, self.lam_b, self.lam[f])
        if self.W > self.F:
            # uniform shares of fields
            total += log_beta(self.original_a, self.original_b, self.original) + lgamma(self.F)
        return total

    @property
    def parameters(self):
        """ndarray of float64, shape (P + U, 1): the ``recorded_parameters``, and phi of each value where it is
        resampled; None where all are fixed."""
        of_fields, U = self.recorded_parameters, self.begin[self.F]
        if self.weight_of_value == 0.0:
            return of_fields
        return np.concatenate([of_fields, np.asarray(<double[:U]> self.phi)[:, None]])

    @property
    def recorded_parameters(self):
        """ndarray of float64, shape (P, 1): theta of each field, lambda of each; where entities may have originals,
        alpha of each, kappa and omega. Without phi, which may be as long as the records."""
        cdef Py_ssize_t f
        if self.theta_a == 0.0 and self.lam_a == 0.0 and self.weight_of_value == 0.0 and self.W == self.F:
            return None
        shares = [*(self.theta[f] for f in range(self.F)), *(self.lam[f] for f in range(self.F))]
        if self.W > self.F:
            shares += [*(self.fault[f] for f in range(self.F)), self.copied_wrong, self.original]
        return np.array(shares)[:, None]

    def set_parameters(self, values):
        """Set all shares, and phi where it is given, as ``parameters`` gives them. A ValueError for another number of
        values, one that is not between 0 and 1, or where all are fixed."""
        cdef Py_ssize_t f, u, P
        held = self.parameters
        if held is None:
            raise ValueError("model Records keeps no parameters: distortion, similar and frequencies are fixed")
        P = len(self.recorded_parameters)
        size = P if np.size(values) == P else held.size
        given = as_numbers("parameters", values, size).reshape(-1)
        # a field of one value has that value
        below = np.append(given[:2 * self.F], given[P - 2:P])
        if not ((given > 0.0) & (given <= 1.0)).all() or not (below < 1.0).all():
            raise ValueError(f"parameters: expected numbers between 0 and 1, got {given}")
        for f in range(self.F):
            self.theta[f], self.lam[f] = given[f], given[self.F + f]
            if self.W > self.F:
                self.fault[f] = given[2 * self.F + f]
            if size > P:
                for u in range(self.begin[f], self.begin[f + 1]):
                    self.phi[u] = given[P + u]
        if self.W > self.F:
            self.copied_wrong, self.original = given[P - 2], given[P - 1]
        self.parameters_changed()

    def statistics(self):
        """dict of ndarray: how many records of each cluster have each value, shape (K, U), a copy."""
        cdef Py_ssize_t k, f
        cdef int32_t c
        counts = np.zeros((self.K, self.begin[self.F]))
        for k in range(self.K):
            for f in range(self.F):
                c = self.head[k * self.W + f]
                while c >= 0:
                    counts[k, self.cell[c].value] = self.cell[c].count
                    c = self.cell[c].after
        return {"counts": counts}

    def match_weights(self, pairs):
        """How much the model's terms speak for two records being one entity, not two: natural logarithms of ratios.

        `pairs`: of records, int of shape (P, 2). Returns float64 of shape (P, F + 2): the likelihood ratio of each
        field, 0 where a cell is missing; what one of the two being the original of the other changes; and the prior
        ratio of a pair over two single records, among as many entities as there are.
        """
        cdef const int32_t[:, ::1] ends = np.ascontiguousarray(pairs, dtype=np.int32)
        cdef double[:, ::1] out = np.zeros((len(ends), self.F + 2))
        cdef Py_ssize_t p, f, K = max(self.K, 2)
        cdef int32_t[2] sizes = [1, 1]
        cdef int32_t pair = 2, x, y
        cdef double together, field
        for p in range(len(ends)):
            together = 0.0
            for f in range(self.F):
                x, y = self.value[ends[p, 0] * self.F + f], self.value[ends[p, 1] * self.F + f]
                if x >= 0 and y >= 0:
                    self.x[0], self.x[1], self.n[0], self.n[1] = min(x, y), max(x, y), 1 + (x == y), 1
                    field = self.log_lik_of(f, 2 - (x == y))
                    out[p, f] = field - self.alone[x] - self.alone[y]
                    together += field
                elif max(x, y) >= 0:
                    together += self.alone[max(x, y)]
            if self.W > self.F:
                self.member[0], self.member[1] = ends[p, 0], ends[p, 1]
                out[p, self.F] = self.log_lik_of_entity(2, together) - together
            out[p, self.F + 1] = self.log_prior(&pair, 1, K - 1) - self.log_prior(sizes, 2, K)
        return np.asarray(out)

    def true_values(self):
        """The most probable true value of every cluster in each field, given its records and all shares.

        Only values that a record has or is near to are compared: any other has no cell that speaks for it. Returns its
        codes as in the data, int32 of shape (K, F), -1 where all cells are missing, and its probability, float64 of
        shape (K, F), then NaN.
        """
        cdef int32_t[:, ::1] values = np.full((self.K, self.F), -1, dtype=np.int32)
        cdef double[:, ::1] probability = np.full((self.K, self.F), np.nan)
        cdef Py_ssize_t k, f, m, t, best, count, n, s
        cdef double total, scale, left, of_original = 0.0
        cdef int32_t y
        for k in range(self.K):
            self.lik(k)
            n = self.gather_records(k, -1, -1)
            if n:
                total, of_original = self.log_lik_of_copies(n), 0.0
                n = n if total > -INFINITY else 0
                for s in range(n):
                    of_original += self.as_original[s]
                scale = exp(total - self.of_field[k * self.W + self.F])
                of_original = self.original * scale / of_original if n else 0.0
            for f in range(self.F):
                m = self.gather(f, k, -1, -1)
                if not m:
                    continue
                count = self.weigh_truths(f, m, &scale)
                best, total, left = 0, 0.0, 1.0
                for t in range(count):
                    total += self.weight[t]
                # the value of the original, where it has one
                for s in range(n):
                    y = self.value[self.member[s] * self.F + f]
                    if y >= 0:
                        left -= of_original * self.as_original[s]
                for t in range(count):
                    self.weight[t] *= left / total
                    for s in range(n):
                        if self.value[self.member[s] * self.F + f] == self.truth[t] >= 0:
                            self.weight[t] += of_original * self.as_original[s]
                    if self.truth[t] >= 0 and self.weight[t] > self.weight[best]:
                        best = t
                values[k, f] = self.truth[best] - self.begin[f]
                probability[k, f] = self.weight[best]
        return np.asarray(values), np.asarray(probability)


cdef double log_beta(double a, double b, double x) noexcept nogil:
    """Log density of Beta(a, b); 0 where a is."""
    if a == 0.0:
        return 0.0
    return lgamma(a + b) - lgamma(a) - lgamma(b) + (a - 1.0) * log(x) + (b - 1.0) * log1p(-x)
