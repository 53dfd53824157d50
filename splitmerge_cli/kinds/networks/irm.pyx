"""Infinite relational model, all parameters of blocks integrated out (Kemp et al. 2006; Herlau et al. 2014): simple
networks, and networks as they are: directed, weighted, with layers, unknown pairs, two kinds of nodes, degrees, columns
of nodes.

Between blocks k and l, of m pairs of nodes of which it is known whether they are edges, a relation has e edges:

    p = B(e + beta1, m - e + beta0) / B(beta1, beta0)                                      Bernoulli edges
    p = rate^shape Gamma(shape + s) / (Gamma(shape) (rate + m)^(shape + s)) prod 1 / x!    Poisson counts x of sum s
    p = B(shape + s, 1 + r (rate + m)) / B(shape, 1 + r rate) prod Gamma(r + x) / (Gamma(r) x!)    negative binomial

times the marginal likelihood of the edges' values: normal with a normal-inverse-gamma prior, or categorical with a
Dirichlet prior. A directed relation has both directions, k to l and l to k; within a block they are one. Of a simple
network (Herlau et al. 2014, section 3.2) the product runs over k <= l; the printed k < l leaves out the pairs within a
block.

*Degrees corrected* (Karrer and Newman 2011): edges are Poisson with mean theta_i theta_j lambda_kl, half of it for a
loop of an undirected relation, and theta of the n nodes of a block add up to n. With theta / n Dirichlet(propensity),
m is n_k n_l (within: n^2 / 2; directed: n^2), and a block of total degree D gains

    n^D Gamma(n a) / Gamma(n a + D) prod_i Gamma(a + d_i) / Gamma(a),    a = propensity, d_i: degree of node i

for each direction. Derivation: docs/derivations.md, "Networks as they are".

*Negative binomial counts* (``precision``): a pair's rate is r times a gamma variable of shape r, times the odds of its
blocks, whose share of success is Beta(shape, 1 + r rate). The mean of a rate is then shape / rate whatever r, and
counts are Poisson as r grows. r is fixed, or has a gamma prior and is resampled for each layer, given the partition.
Derivation: docs/derivations.md, "Counts that scatter".

*Shares of edges that are learned* (``density=learned``): beta1 and beta0 are mean and weight of a beta distribution,
one within blocks and one between two, for each layer. The mean has a uniform prior, the weight a gamma prior, and both
are resampled given the partition. Derivation: docs/derivations.md, "Shares that are learned".

*Connected parts* (``parts``; Barbu and Zhu 2005). A Gibbs scan moves single nodes, and a group of nodes that fits
several blocks stays in one of them, since each of its nodes fits the others. So some steps follow each scan that move
such a part as a whole. A node is drawn, and q in 1/4, ..., 1; each entry of two nodes of its block holds with
probability q; the part S is what holds together with the node. S has the density

    pi(S in block k) (1 - q)^(entries between S and the rest of block k)

over the other blocks and one of its own: the second factor is the probability that S, drawn from the same node there,
is the part. Blocks are drawn, as many as `parts`, by v(k) = share of the other nodes + share of the entries of S to
other nodes, 1/4 for its own; S goes to one of them, or stays, by the density over v (Andrieu, Doucet and Holenstein
2010). Parts of more than `PART_ENTRIES` entries stay, and so do parts that a block of their own is not allowed to.
Derivation: docs/derivations.md, "Connected parts".

*Two kinds of nodes* share no block: a block of both has a likelihood so small that no state with one is accepted. All
numbers stay finite, so that every proposal has a density.

The likelihood of a block depends on the others: the model is *coupled*. Scratch columns are staged in the place of live
ones: what is counted in them has edges to the other live blocks and to the staged columns, and no other.

The statistics of two blocks are a cell (``cells.h``). Where a cell is one number, of Bernoulli edges without a
direction, the model is *plain*: the same sums, counted and read faster. Log likelihoods are exact sums of multiples of
their unit, so that labels are the whole state.
"""
cimport cython
from libc.math cimport INFINITY, exp, llrint, log, log1p
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from pkgutil import resolve_name

import numpy as np
import scipy.sparse

from splitmerge_cli._kernels cimport full_scan
from splitmerge_cli.core.capabilities cimport Coupled
from splitmerge_cli.core.memory cimport doubles_of, ints_of, longs_of
from splitmerge_cli.core.model cimport Model
from splitmerge_cli.core.recording cimport NAMED
from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.core.sums cimport BY_COLUMN, INTS, LONGS, ROOM, ROOM_INTS
from splitmerge_cli.kinds.networks.cells cimport EXACT_EDGES, FAR_BITS, LEVEL_VALUES, MOST_SLOTS, NO_VALUES, RATES
from splitmerge_cli.kinds.networks.cells cimport REAL_VALUES, SCATTERED, add_gains, add_numbers, add_own, cell_lik
from splitmerge_cli.kinds.networks.cells cimport beta_t, count_neighbours, far_t, fill_logs, fill_rise, fill_row, form_t
from splitmerge_cli.kinds.networks.cells cimport log_gamma, log_rising, pairs_between, part_lik, part_t, rise_t, row_t
from splitmerge_cli.kinds.networks.cells cimport sum_row, within_lik
from splitmerge_cli.kinds.networks.shares cimport draw_shares, log_risings

from splitmerge_cli.core.checks import as_numbers
from splitmerge_cli.core.hyperpriors import draw_hyperparameter, log_density as log_hyperprior
from splitmerge_cli.core.options import Gamma, read_options
from splitmerge_cli.core.shared import as_array, share
from splitmerge_cli.kinds.networks.data import Relations, network_of, tally
from splitmerge_cli.kinds.networks.layout import COUNT, LEARNED, LEAST_PRECISION, LEVELS, MOST_PRECISION, OPTIONS
from splitmerge_cli.kinds.networks.layout import PLAIN, REAL, SHARES, Sizes, degree_tables, half_gammas, prepare
from splitmerge_cli.kinds.networks.layout import require_simple, rises
from splitmerge_cli.kinds.networks.simulated import simulate_network

cdef extern from "<math.h>" nogil:
    long double lgammal(long double x)

MIXED = "splitmerge_cli.kinds.tables.models.mixed:Mixed"
"""The model of columns of nodes."""

cdef enum:
    # entries of a table at the most: 32 MiB; of pairs of more than MANY nodes 4 MiB, as most of what they need is past
    # its end
    LONGEST = 1 << 22
    SHORTER = 1 << 19
    MANY = 1 << 16
    # of one that is filled again in iterations: 32 KiB
    REFILLED = 1 << 12
    # columns behind the live ones that a sampler may use
    SCRATCH = 6
    # numbers of a cell for each of which it is kept what one more adds
    MOST_UNITS = 2
    # degrees below which it is kept what a node of such a degree adds within each block
    DEGREES = 64
    # updates of what is resampled before a chain begins
    START_DRAWS = 5
    # nodes of a scan for each part that is moved after it, and entries of the nodes of a part at the most
    NODES_PER_PART = 10
    PART_ENTRIES = 1000
    # log2 of what a block of both kinds of nodes costs, in units: far beyond RANGE of ``layout.py``
    PENALTY = 58


@cython.final
cdef class IRM(Coupled):
    """Infinite relational model. `network`: a sparse or dense array of 0 and 1, shape (N, N), symmetric, with an empty
    diagonal; or a ``kinds.networks.data.Relations``, whose simple network `vectors`, sparse of shape (N, N), is what
    samplers find nodes by that are alike. A MemoryError: more blocks at a time than 2 GiB hold, some 8,000 of a simple
    network.

    Cost: an item against all K blocks O(degree + K touched), touched being the number of blocks that hold neighbours of
    it (at most the degree); against a block of a state O(touched); a change of the partition O(degree + K); an item
    against a staged block O(degree + K); a set of items against all blocks O(degrees + K^2). Memory: 16 bytes, and 8
    for each number of a cell (of one or two up to 24), a block and block; shared by the models of the same network, 4
    bytes an edge and direction (16 where edges are more than that), and tables of at most 4 million numbers.
    Source: Kemp et al. 2006, section 2; Herlau et al. 2014, section 3.2; Karrer & Newman 2011; mathematics:
    docs/derivations.md.
    """

    kind = "graph"
    simulate = staticmethod(simulate_network)
    CALIBRATION = {"": {"options": {"concentration": "gamma(2,2)", "beta1": 0.5, "beta0": 0.5}, "thin": 16}}
    OPTIONS = OPTIONS

    cdef readonly double beta1, beta0
    cdef readonly Model columns         # the model of the nodes' columns, which share the partition; or None
    cdef double power                   # of the likelihood, by which the columns' is multiplied
    cdef object precision_prior         # of the precisions, a Gamma; None: they are fixed, or there are none
    cdef list learned                   # the first part of each layer whose shares of edges are resampled, and the one
    # behind its last
    cdef list scattered                 # for each layer of negative binomial counts the numbers of its first part and
    # of the one behind its last, its counts that differ, and how often each is there
    cdef double fixed_aside             # `log_lik_aside` without what depends on precisions
    cdef form_t form
    cdef int V                          # numbers of a cell
    cdef int G                          # degrees of a node that count
    cdef bint sided                     # two kinds of nodes

    cdef const int64_t *start           # [N + 1]
    cdef const int32_t *neighbour       # [entries]
    cdef const int32_t *slot            # [entries]; not read where the model is plain
    cdef const int64_t *value           # [entries]; not read where the model is plain
    cdef bint has_loops                 # whether any node has an entry with itself
    cdef const int64_t *loop_start      # [N + 1] these entries
    cdef const int32_t *loop_slot
    cdef const int64_t *loop_value
    cdef const int32_t *mirror          # [V] the slot of the other direction
    cdef const int32_t *counts_as       # [V] how a value is counted, at the slot of edges
    cdef const int32_t *side            # [N] kind of a node
    cdef const int64_t *degree          # [N, all groups]
    cdef int groups                     # columns of `degree`
    cdef double propensity
    cdef const double *log_n            # [N + 2] log n
    cdef const double *log_gammas       # [N + 2] log Gamma(n propensity)
    cdef double one                     # 1 / units in one
    cdef int64_t *cells                 # [cap, cap, V]
    cdef int64_t *zero                  # [cap, cap] zero[j, k]: block j with block k of one more node without edges
    cdef int64_t *now                   # [cap, cap] now[j, k]: block j with block k; symmetric
    cdef int64_t *single                # [units, cap, cap] what one more in a number of the cell of j adds to `zero`
    cdef int units                      # numbers of a cell where that is kept: V of few that are sums of edges; or 0
    cdef double *logs                   # [cap, n_logs, cap] of the rates of block j and block k with one more node
    cdef int n_logs
    cdef double *log_room               # [n_logs, cap]
    cdef int64_t *base                  # [cap] what one more node without edges adds to a block
    cdef int64_t *score                 # [cap] of a scan
    cdef int64_t *rest                  # [cap, V] cells of the item's block without it
    cdef int64_t *nothing               # [cap, V] 0
    cdef int64_t *with_it               # [cap] likelihoods of these cells, with the item in the other block and without
    cdef int64_t *without
    cdef int64_t *lone                  # [2, cap] each block with a node of either kind without edges
    cdef int64_t[2] all_lone            # the sum of that
    cdef int64_t *degrees               # [cap, G] of a block
    cdef int32_t *n0                    # [cap] nodes of either kind
    cdef int32_t *n1
    cdef int32_t *grown0                # [cap] the same with one more node
    cdef int32_t *grown1
    # what is computed where it is asked for, and kept while a block stays, by the time of its last change
    cdef int64_t time
    cdef int64_t *since                 # [cap] the last change of a block
    cdef int64_t *by_degree             # [DEGREES, G, cap] what a node's degree adds in a block it has no edge to
    cdef int64_t *by_degree_time
    cdef int32_t *changed               # [cap] row and column of `zero` to be recomputed
    cdef int32_t *listed                # [cap] row and column of `zero` are counted in `base`
    cdef bint any_changed
    # the edges of one item
    cdef Py_ssize_t counted             # which item, -1 none
    cdef int64_t *count                 # [cap, V] with each column
    cdef int32_t *is_touched            # [cap]
    cdef int32_t *touched               # [cap] columns that it has entries with
    cdef Py_ssize_t n_touched
    cdef int64_t *loop                  # [V] with itself
    # the part that moves
    cdef int32_t *part                  # [N] its nodes
    cdef int32_t *in_part               # [N]
    cdef double *v                      # [cap] by which blocks are drawn
    cdef Py_ssize_t tries               # blocks that are drawn
    cdef int32_t *tried                 # [tries + 1] its own first
    cdef double *tried_w                # [tries + 1]
    # scratch columns that stand in the place of live ones
    cdef bint staged
    cdef Py_ssize_t span                # columns there are: live ones, and the staged ones behind
    cdef int32_t *seen0                 # [cap] nodes of either kind, 0 of those whose place is taken
    cdef int32_t *seen1
    cdef int32_t *spot                  # [N] staged column of an item, -1 none
    cdef int32_t *placed                # [N] items that have one
    cdef Py_ssize_t n_placed

    def __init__(self, network, vectors=None, **options):
        given = read_options("model", self.OPTIONS, options)
        if not isinstance(network, Relations):
            if not scipy.sparse.issparse(network):
                network = as_array(network)
            elif network.format != "csr":
                network = scipy.sparse.csr_array(network)
            vectors = network if scipy.sparse.issparse(network) else None
            if given["degrees"] != PLAIN or given["density"] is not None:
                network = Relations.of_graph(require_simple(network))
        data = share(prepare, network)
        relations = network if isinstance(network, Relations) else data.outline
        cdef Py_ssize_t N = relations.N
        self._hold(data)
        self.vectors = data.graph if vectors is None and network is not relations else vectors
        self.V, self.sided = len(data.mirror), relations.sides is not None
        if self.V > MOST_SLOTS:
            raise ValueError(f"relations: {self.V} numbers for each pair of blocks; expected at most {MOST_SLOTS}: "
                             "fewer layers, or fewer levels")
        self.start, self.neighbour = longs_of(data.start), ints_of(data.neighbour)
        self.slot, self.value = ints_of(data.slot), longs_of(data.value)
        self.loop_start, self.loop_slot = longs_of(data.loop_start), ints_of(data.loop_slot)
        self.loop_value, self.has_loops = longs_of(data.loop_value), data.loop_start.max() > 0
        self.mirror, self.counts_as = ints_of(data.mirror), ints_of(data.forms)
        self.side, self.degree = ints_of(data.side), longs_of(data.degree)
        self.groups = data.degree.shape[1]
        self.counted, self.power = -1, 1.0
        self.beta1, self.beta0 = given["beta1"], given["beta0"]
        self.spot, self.placed = self.memory.ints(N), self.memory.ints(N)
        self.part, self.in_part = self.memory.ints(N), self.memory.ints(N)
        self.tries, self.scans_itself = given["parts"], given["parts"] > 0
        self.tried, self.tried_w = self.memory.ints(self.tries + 1), self.memory.doubles(self.tries + 1)
        memset(self.spot, 255, N * sizeof(int32_t))
        self.loop = <int64_t *> self.memory.doubles(self.V)
        self._set_parts(relations, data, given)
        if relations.columns is not None:
            # its prior is not read
            self.columns = resolve_name(MIXED).from_data(relations.columns)
            self.log_lik_aside += self.columns.log_lik_aside
        self.fixed_aside = self.log_lik_aside
        self.parameters_changed()
        self._keep_columns()
        self._allocate(N, N)
        self._set_prior(given["prior"].build(N, given["concentration"]))
        if self.sided and self.prior.hyperparameters:
            raise ValueError(f"model.prior, model.concentration: {self.prior.hyperparameters[0]} would be resampled; "
                             "expected numbers with two kinds of nodes (data.bipartite), which are never mixed")
        if self.sided and self.largest_K < len(np.unique(relations.sides)):
            raise ValueError(f"model.prior={given['prior']}: at most {self.largest_K} cluster, but nodes of two kinds "
                             "(data.bipartite) share none")
        self.set_labels(self.keep_apart(np.zeros(N, dtype=np.int32)))

    @classmethod
    def from_data(cls, data, **params):
        """The model of a Dataset."""
        cls._require(data)
        if cls.is_simple(data, params):
            return cls(data.values, **params)
        return cls(network_of(data), data.values, **params)

    @classmethod
    def with_more(cls, data, whole, **params):
        if not cls.is_simple(data, params):
            raise ValueError("new nodes: expected a simple undirected network and model.degrees=plain; of others only "
                             "pairs of nodes that are there are predicted")
        return super().with_more(data, whole, **params)

    @staticmethod
    def is_simple(data, params):
        """Whether the model reads the simple network of a Dataset."""
        return (data.relations is None and params.get("degrees", PLAIN) == PLAIN
                and params.get("density") is None)

    @classmethod
    def with_defaults_of(cls, data, **params):
        if cls.is_simple(data, params):
            return params
        given = read_options("model", cls.OPTIONS, params)
        sizes = Sizes(network_of(data), given)
        if given["density"] == LEARNED:
            return {**params, "rate": sizes.rates}
        return {**params, "rate": sizes.rates, "density": [beta1 / (beta1 + beta0) for beta1, beta0 in sizes.betas]}

    cdef int _set_parts(self, relations, data, given) except -1:
        """Set the parts of a cell, their tables, and the unit of log likelihoods."""
        cdef Py_ssize_t N = relations.N, p
        cdef int64_t most
        cdef part_t *part
        sizes = Sizes(relations, given)
        self.one, self.propensity = sizes.unit, given["propensity"]
        self.log_lik_aside = sizes.log_constant(relations, data.degree, given)
        self.precision_prior = given["precision"] if isinstance(given["precision"], Gamma) else None
        self.scattered, self.learned = [], []
        self.form.n, self.form.V, self.form.sided = len(data.parts), self.V, self.sided
        self.form.part = <part_t *> self.memory.doubles(self.form.n * sizeof(part_t) // 8 + 1)
        for p in range(self.form.n):
            part, placed = &self.form.part[p], data.parts[p]
            r = placed["relation"]
            layer = relations.layers[r]
            part.slot, part.unknown, part.first = placed["slot"], placed["unknown"], placed["first"]
            part.directed, part.loops, part.corrected = layer.directed, layer.loops, sizes.corrected
            part.n_levels, part.per, part.log_row = len(layer.levels), 1.0 / self.one, -1
            part.values = {REAL: REAL_VALUES, LEVELS: LEVEL_VALUES}.get(layer.form_number, NO_VALUES)
            if sizes.corrected or layer.form_number == COUNT:
                part.edges, part.shape, part.rate = RATES, given["shape"], sizes.rates[r]
                part.offset, part.exposure = part.shape * log(part.rate), 0.5 if sizes.corrected else 1.0
                self._fill(&part.rise, part.shape, sizes.sums[r] + 2)
                if sizes.precisions[r] is not None:
                    part.edges, part.precision = SCATTERED, sizes.precisions[r]
                    if part.first:
                        values, times = np.unique(layer.value, return_counts=True)
                        self.scattered.append((p, p + 1 + layer.directed, values, times.astype(np.float64)))
                elif part.unknown < 0 and part.values == NO_VALUES:
                    # both directions have the same
                    self.n_logs += part.first
                    part.log_row = self.n_logs - 1
            else:
                most, is_learned = sizes.pairs[r] + 2 * N + 8, given["density"] == LEARNED
                if part.first:
                    beta1, beta0 = sizes.betas[r]
                    self._fill_shares(&part.between, beta1, beta0, sizes.sums[r], most, N, is_learned)
                    part.within = part.between
                    if is_learned:
                        self._fill_shares(&part.within, beta1, beta0, sizes.sums[r], most, N, is_learned)
                        self.learned.append((p, p + 1 + layer.directed))
                else:
                    part.between, part.within = self.form.part[p - 1].between, self.form.part[p - 1].within
            if part.values == REAL_VALUES:
                half = share(half_gammas, given["a0"], given["b0"], len(layer.ends) + 2)
                self._hold(half)
                part.half = doubles_of(half.half)
                part.kappa0, part.a0, part.b0 = given["kappa0"], given["a0"], given["b0"]
                part.step, part.square = placed["step"], placed["step"] ** 2
                if part.first:
                    self.log_lik_aside -= len(layer.ends) * log(placed["spread"])
            elif part.values == LEVEL_VALUES:
                self._fill(&part.level, given["alpha"], len(layer.ends) + 2)
                self._fill(&part.all_levels, given["alpha"] * len(layer.levels), len(layer.ends) + 2)
        part = self.form.part
        self.form.plain = self.V == 1 and part.edges == EXACT_EDGES and not self.sided
        if self.V <= MOST_UNITS and not self.sided:
            # else numbers are sums of values too, or of unknown pairs
            self.units = self.V if self.V == sum(layer.directed + 1 for layer in relations.layers) else 0
        if sizes.corrected:
            self.G = data.degree.shape[1]
            by_size = share(degree_tables, N, self.propensity)
            self._hold(by_size)
            self.log_n, self.log_gammas = doubles_of(by_size.log_n), doubles_of(by_size.log_gammas)
        return 0

    cdef int _fill_shares(self, beta_t *beta, double beta1, double beta0, int64_t edges, int64_t most, Py_ssize_t N,
                          bint is_learned) except -1:
        """Fill the tables of a prior of the share of edges."""
        self._fill(&beta.edge, beta1, edges + 2 if is_learned else most, N, is_learned)
        self._fill(&beta.gap, beta0, most, N, is_learned)
        self._fill(&beta.pair, beta1 + beta0, most, N, is_learned)
        beta.weight, beta.mean = beta1 + beta0, beta1 / (beta1 + beta0)
        beta.near = beta.pair.far == NULL
        return 0

    cdef int _fill(self, rise_t *table, double b, int64_t most, Py_ssize_t N=0, bint refilled=False) except -1:
        cdef int64_t length = min(most, REFILLED if refilled else LONGEST if N <= MANY else SHORTER)
        if refilled:
            table.at = <int64_t *> self.memory.doubles(length)
        else:
            held = share(rises, b, self.one, length)
            self._hold(held)
            table.at = longs_of(held.at)
        table.length = length
        if length < most:
            table.far = <far_t *> self.memory.doubles(2 << FAR_BITS)
        # 0: not filled yet
        table.b, table.base, table.per = 0 if refilled else b, lgammal(b), 1.0 / self.one
        return 0

    cdef int _keep_columns(self) except -1:
        """Name what follows the blocks, but for what is of pairs of blocks."""
        self.keep(&self.n0, INTS)
        self.keep(&self.n1, INTS)
        self.keep(&self.degrees, LONGS, self.G, BY_COLUMN)
        self.keep(&self.count, ROOM, self.V, BY_COLUMN)
        self.keep(&self.rest, ROOM, self.V, BY_COLUMN)
        self.keep(&self.nothing, ROOM, self.V, BY_COLUMN)
        self.keep(&self.lone, ROOM, 2)
        self.keep(&self.log_room, ROOM, self.n_logs)
        self.keep(&self.base, ROOM)
        self.keep(&self.score, ROOM)
        self.keep(&self.with_it, ROOM)
        self.keep(&self.without, ROOM)
        self.keep(&self.v, ROOM)
        self.keep(&self.grown0, ROOM_INTS)
        self.keep(&self.grown1, ROOM_INTS)
        self.keep(&self.seen0, ROOM_INTS)
        self.keep(&self.seen1, ROOM_INTS)
        self.keep(&self.since, ROOM)
        self.keep(&self.by_degree, ROOM, DEGREES * self.G)
        self.keep(&self.by_degree_time, ROOM, DEGREES * self.G)
        self.keep(&self.changed, ROOM_INTS)
        self.keep(&self.listed, ROOM_INTS)
        self.keep(&self.is_touched, ROOM_INTS)
        self.keep(&self.touched, ROOM_INTS)
        return 0

    @classmethod
    def has_powers(cls):
        return True

    def temper(self, power):
        """Raise the likelihood of every partition to a power, for a replica of a chain (`core/tempering.py`)."""
        self.one *= power
        self.power *= power
        self.parameters_changed()

    # -- what is resampled of the edges: precisions of counts, and the priors of shares
    cdef int parameters_changed(self) except -1:
        """Set all that depends on what is resampled."""
        cdef Py_ssize_t p, k
        cdef beta_t *beta
        self.log_lik_aside = self.fixed_aside
        for first, end, values, times in self.scattered:
            for p in range(first, end):
                self.set_precision(p, p + 1, self.form.part[p].precision)
            self.log_lik_aside += self.power * log_risings(self.form.part[<Py_ssize_t> first].precision, values, times)
        for first, end in self.learned:
            for own in range(2):
                beta = self.shares(first, own)
                if beta.edge.b == beta.mean * beta.weight and beta.pair.b == beta.weight:
                    continue
                fill_rise(&beta.edge, beta.mean * beta.weight)
                fill_rise(&beta.gap, (1.0 - beta.mean) * beta.weight)
                fill_rise(&beta.pair, beta.weight)
            # both directions have the same
            for p in range(first + 1, end):
                self.form.part[p].between = self.form.part[p - 1].between
                self.form.part[p].within = self.form.part[p - 1].within
        for k in range(self.K if self.scattered or self.learned else 0):
            self.change(k)
        return 0

    cdef inline beta_t *shares(self, Py_ssize_t p, bint own) noexcept nogil:
        """The prior of a part's shares of edges, within blocks or between two."""
        return &self.form.part[p].within if own else &self.form.part[p].between

    cdef double log_layer(self, Py_ssize_t first, Py_ssize_t end) noexcept nogil:
        """Log likelihood of a layer's parts `first` to `end` - 1, without what depends on no block."""
        cdef Py_ssize_t p, k, j
        cdef int64_t total = 0
        cdef const part_t *part
        for p in range(first, end):
            part = &self.form.part[p]
            for k in range(self.K):
                for j in range(k + part.first):
                    total += part_lik(part, self.cell(k, j), self.pairs_of(part, k, j), j == k)
        return total * self.one

    cdef inline int64_t pairs_of(self, const part_t *part, Py_ssize_t k, Py_ssize_t j) noexcept nogil:
        """Pairs of nodes in two blocks, by plain degrees; within a block as its first part has them."""
        cdef int64_t n = self.n0[k]
        if j != k:
            return pairs_between(n, self.n1[k], self.n0[j], self.n1[j], self.sided)
        return 0 if self.sided else n * (n - 1) // (1 if part.directed else 2) + (n if part.loops else 0)

    cdef void set_precision(self, Py_ssize_t first, Py_ssize_t end, double precision) noexcept nogil:
        cdef Py_ssize_t p
        cdef part_t *part
        for p in range(first, end):
            part = &self.form.part[p]
            part.precision = precision
            part.offset = log_rising(1.0 + precision * part.rate, part.shape)

    cdef Py_ssize_t refresh_parameters(self, Rng rng) noexcept nogil:
        """Draw, given the partition, the precision of each layer of counts, by slice sampling of its logarithm, and
        mean and weight of the shares of edges that are learned, those within blocks or those between two."""
        with gil:
            if self.precision_prior is None and not self.learned:
                return 0
            if self.precision_prior is not None:
                for first, end, values, times in self.scattered:
                    self._draw_precision(rng, first, end, values, times)
            for first, end in self.learned:
                own = rng.draw_index(2)
                draw_shares(self.shares(first, own), self._count_shares(first, end, own), self.power, rng)
            self.parameters_changed()
        return self.K

    def _draw_precision(self, Rng rng, Py_ssize_t first, Py_ssize_t end, values, times):
        def log_likelihood(precision):
            if not LEAST_PRECISION <= precision <= MOST_PRECISION:
                return -INFINITY
            self.set_precision(first, end, precision)
            return self.log_layer(first, end) + self.power * log_risings(precision, values, times)

        drawn = draw_hyperparameter(self.precision_prior, self.form.part[first].precision, log_likelihood,
                                    lambda: rng.beta(1.0, 1.0))
        self.set_precision(first, end, drawn)

    def _count_shares(self, Py_ssize_t first, Py_ssize_t end, bint own):
        """Edges, missing edges and pairs of a layer's cells, within blocks or between two: for each of the three the
        numbers that differ, and how often they are there."""
        cdef Py_ssize_t p, k, j, n = 0
        cdef const part_t *part
        found = np.empty((2, self.K if own else (end - first) * self.K * (self.K - 1) // 2), dtype=np.int64)
        cdef int64_t[:, ::1] at = found
        for p in range(first, first + 1 if own else end):
            part = &self.form.part[p]
            for k in range(self.K):
                for j in range(k if own else 0, k + own):
                    at[0, n], at[1, n] = self.cell(k, j)[part.slot], self.pairs_of(part, k, j)
                    if part.unknown >= 0:
                        at[1, n] -= self.cell(k, j)[part.unknown]
                    n += 1
        return [tally(numbers) for numbers in (found[0], found[1] - found[0], found[1])]

    def start_parameters(self, Rng rng not None):
        cdef int _t
        for _t in range(START_DRAWS * (1 + (len(self.learned) > 0)) if self.parameters is not None else 0):
            self.refresh_parameters(rng)

    cdef list _list_parameters(self):
        """Resampled numbers: the precision of each layer of counts; then for each other layer mean and weight of its
        shares of edges, within blocks and between two."""
        cdef beta_t *beta
        values = []
        if self.precision_prior is not None:
            values += [self.form.part[<Py_ssize_t> first].precision for first, *_ in self.scattered]
        for first, _ in self.learned:
            for own in (True, False):
                beta = self.shares(first, own)
                values += [beta.mean, beta.weight]
        return values

    @property
    def parameters(self):
        """ndarray of float64, shape (P, 1): the precision of each layer of counts, then of each other layer the mean
        and weight of the shares of edges within blocks and those between two, where they are resampled; None where
        nothing is."""
        values = self._list_parameters()
        return np.array(values)[:, None] if values else None

    def set_parameters(self, values):
        """Set what is resampled, as ``parameters`` gives it. A ValueError for another number of values, one that is out
        of range, or where nothing is resampled."""
        cdef beta_t *beta
        present = self._list_parameters()
        if not present:
            raise ValueError("model IRM keeps no parameters: nothing of the edges is resampled")
        numbers = as_numbers("parameters", values, len(present)).reshape(-1)
        n = len(present) - 4 * len(self.learned)
        lowest, highest = np.full(len(present), LEAST_PRECISION), np.full(len(present), MOST_PRECISION)
        lowest[n::2], highest[n::2] = SHARES.least, SHARES.most
        if not ((numbers >= lowest) & (numbers <= highest)).all():
            raise ValueError(f"parameters: expected numbers from {lowest} to {highest}, got {numbers}")
        for precision, (first, end, *_) in zip(numbers[:n], self.scattered if n else [], strict=True):
            self.set_precision(first, end, precision)
        for t, (first, _) in enumerate(self.learned):
            for own in range(2):
                beta = self.shares(first, own)
                at = n + 4 * t + 2 * (1 - own)
                beta.mean = numbers[at]
                beta.weight = numbers[at + 1]
        self.parameters_changed()

    cdef bint same_parameters(self, Model other, const int32_t *twin) noexcept nogil:
        with gil:
            return self._list_parameters() == (<IRM> other)._list_parameters()

    @property
    def hyperparameters(self):
        """tuple of str: the prior's, and what is resampled of the edges, of several layers numbered from 1."""
        names = list(self.prior.hyperparameters)
        n_counts = 0 if self.precision_prior is None else len(self.scattered)
        for of_layer, n in ((["precision"], n_counts), (SHARES.names, len(self.learned))):
            names += [name if n == 1 else f"{name}{t + 1}" for t in range(n) for name in of_layer]
        return tuple(names)

    cdef Py_ssize_t write_hyperparameters(self, double *out) noexcept nogil:
        cdef Py_ssize_t t = Model.write_hyperparameters(self, out)
        with gil:
            for value in self._list_parameters():
                out[t] = value
                t += 1
        return t

    cdef double log_extra(self) noexcept nogil:
        cdef double total = Model.log_extra(self)
        with gil:
            values = self._list_parameters()
            n = len(values) - 4 * len(self.learned)
            for t, value in enumerate(values):
                prior = self.precision_prior if t < n else (SHARES.weight if (t - n) % 2 else SHARES.mean)
                total += log_hyperprior(prior, value)
        return total

    # -- two kinds of nodes
    def keep_apart(self, labels):
        """The labels of nodes, ndarray of int32 of shape (N,), where nodes of different kinds share no block: the
        second kind leaves a block of both for a new one."""
        chosen = np.array(labels, dtype=np.int32)
        if not self.sided:
            return chosen
        side = np.array([self.side[i] for i in range(self.N)])
        both = np.intersect1d(chosen[side == 0], chosen[side == 1])
        chosen[(side == 1) & np.isin(chosen, both)] += chosen.max() + 1
        chosen = np.unique(chosen, return_inverse=True)[1].astype(np.int32)
        too_many = self.prior is not None and chosen.max() >= self.largest_K
        return np.unique(side, return_inverse=True)[1].astype(np.int32) if too_many else chosen

    def separate(self):
        """Move nodes that share a block with one of the other kind, as in ``keep_apart``."""
        if self.sided:
            self.set_labels(self.keep_apart(self.labels))

    def prior_labels(self, generator):
        labels = self.keep_apart(self.prior.draw(generator)[0])
        return labels, int(labels.max()) + 1

    # -- the edges of one item
    cdef void look(self, Py_ssize_t i) noexcept nogil:
        """Count the entries of item i with every column, and with itself."""
        cdef int64_t t
        cdef int32_t k
        cdef Py_ssize_t s
        cdef const int32_t *touched = self.touched
        cdef int64_t *count = self.count
        if self.counted == i:
            return
        for s in range(self.n_touched):
            self.is_touched[touched[s]] = False
            if self.form.plain:
                count[touched[s]] = 0
            else:
                memset(count + touched[s] * self.V, 0, self.V * sizeof(int64_t))
        self.counted, self.n_touched = i, 0
        if self.has_loops:
            memset(self.loop, 0, self.V * sizeof(int64_t))
            for t in range(self.loop_start[i], self.loop_start[i + 1]):
                self.count_entry(self.loop, self.loop_slot[t], self.loop_value[t])
        if self.form.plain and not self.staged:
            self.n_touched = count_neighbours(self.neighbour + self.start[i], self.start[i + 1] - self.start[i], self.z,
                                              count, self.touched)
            return
        for t in range(self.start[i], self.start[i + 1]):
            k = self.z[self.neighbour[t]]
            if k >= 0 and (not self.staged or self.seen0[k] + self.seen1[k] != 0):
                self.touch(k, t)
            if self.staged:
                k = self.spot[self.neighbour[t]]
                if k >= 0:
                    self.touch(k, t)

    cdef inline void touch(self, int32_t k, int64_t t) noexcept nogil:
        if not self.is_touched[k]:
            self.is_touched[k] = True
            self.touched[self.n_touched] = k
            self.n_touched += 1
        if self.form.plain:
            self.count[k] += 1
        else:
            self.count_entry(self.count + k * self.V, self.slot[t], self.value[t])

    cdef inline void count_entry(self, int64_t *cell, int32_t slot, int64_t value) noexcept nogil:
        """Count an entry in a cell."""
        if self.counts_as[slot] == 1:
            cell[slot] += value
            return
        cell[slot] += 1
        if self.counts_as[slot] == 2:
            cell[slot + 1] += value
            cell[slot + 2] += value * value
        elif self.counts_as[slot] == 3:
            cell[slot + 1 + value] += 1

    # -- statistics
    cdef int grow(self, Py_ssize_t cap) except -1:
        cdef Py_ssize_t k, old = self.cap, width = 8 * self.V
        if <int64_t> cap * cap * (width + 16 + 8 * (self.n_logs + self.units)) > <int64_t> 1 << 31:
            raise MemoryError(f"more than {old - SCRATCH} blocks at a time")
        Coupled.grow(self, cap)
        self.cells = <int64_t *> self.memory.larger_rows(self.cells, old * width, cap * width, old, cap)
        self.zero = <int64_t *> self.memory.larger_rows(self.zero, old * 8, cap * 8, old, cap)
        self.now = <int64_t *> self.memory.larger_rows(self.now, old * 8, cap * 8, old, cap)
        self.single = <int64_t *> self.memory.larger(self.single, 0, cap * self.units * cap * 8)
        self.logs = <double *> self.memory.larger(self.logs, 0, cap * self.n_logs * cap * 8)
        if self.G:
            memset(self.by_degree_time, 255, DEGREES * self.G * cap * 8)
        for k in range(self.K):
            self.change(k)
        if self.columns is not None:
            self.columns._reserve(cap + 1)
        return 0

    cdef inline int64_t *cell(self, Py_ssize_t k, Py_ssize_t j) noexcept nogil:
        return self.cells + (k * self.cap + j) * self.V

    cdef inline void change(self, Py_ssize_t k) noexcept nogil:
        self.changed[k] = self.any_changed = True
        self.time += 1
        self.since[k] = self.time

    cdef inline void turn(self, int64_t *to, const int64_t *cell) noexcept nogil:
        """A cell seen from the other block."""
        cdef Py_ssize_t v
        for v in range(self.V):
            to[v] = cell[self.mirror[v]]

    cdef inline void fold(self, int64_t *within, const int64_t *cell, int64_t sign) noexcept nogil:
        """Add what joins two sets of nodes to what is within their union: all directions are one."""
        cdef Py_ssize_t v
        for v in range(self.V):
            # the first direction comes first
            within[min(v, self.mirror[v])] += sign * cell[v]

    cdef void unstage(self) noexcept nogil:
        cdef Py_ssize_t t
        if self.staged:
            for t in range(self.n_placed):
                self.spot[self.placed[t]] = -1
            self.n_placed = 0
            self.staged = False
            self.counted = -1

    cdef void stage(self, const int32_t *clusters, Py_ssize_t m, Py_ssize_t first, Py_ssize_t n) noexcept nogil:
        cdef Py_ssize_t t
        self.unstage()
        self.staged = True
        self.counted = -1
        self.span = first + n
        memcpy(self.seen0, self.n0, self.K * sizeof(int32_t))
        memcpy(self.seen1, self.n1, self.K * sizeof(int32_t))
        memset(self.seen0 + self.K, 0, (self.span - self.K) * sizeof(int32_t))
        memset(self.seen1 + self.K, 0, (self.span - self.K) * sizeof(int32_t))
        for t in range(m):
            self.seen0[clusters[t]] = self.seen1[clusters[t]] = 0
        for t in range(n):
            self.scratch(first + t)

    cdef void clear(self, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t x, end = min(self.K + SCRATCH, self.cap)
        self.counted = -1
        Coupled.clear(self, k)
        memset(self.cell(k, 0), 0, self.cap * self.V * sizeof(int64_t))
        for x in range(end):
            memset(self.cell(x, k), 0, self.V * sizeof(int64_t))
        if self.columns is not None:
            self.columns.scratch(k)
        if self.listed[k]:
            self.listed[k] = False
            for x in range(end):
                self.base[x] -= self.zero[k * self.cap + x] - self.now[k * self.cap + x]
                self.zero[k * self.cap + x] = self.zero[x * self.cap + k] = 0
                self.now[k * self.cap + x] = self.now[x * self.cap + k] = 0
            self.base[k] = 0
        self.changed[k] = k < self.K
        self.any_changed |= k < self.K
        self.time += 1
        self.since[k] = self.time

    cdef void tell(self, Py_ssize_t i, Py_ssize_t k, int sign) noexcept nogil:
        cdef Py_ssize_t t, v, g
        cdef int32_t other
        cdef int64_t *cell
        cdef int64_t *back
        cdef const int64_t *c
        cdef bint live = k < self.K
        if live:
            self.unstage()
            self.change(k)
        self.look(i)
        for t in range(self.n_touched):
            other = self.touched[t]
            c = self.count + other * self.V
            if other == k:
                self.fold(self.cell(k, k), c, sign)
                continue
            cell = self.cell(k, other)
            for v in range(self.V):
                cell[v] += sign * c[v]
            if live or other >= self.K:
                back = self.cell(other, k)
                for v in range(self.V):
                    back[v] += sign * c[self.mirror[v]]
        self.fold(self.cell(k, k), self.loop, sign)
        for g in range(self.G):
            self.degrees[k * self.G + g] += sign * self.degree[i * self.groups + g]
        if self.side[i]:
            self.n1[k] += sign
        else:
            self.n0[k] += sign
        if self.columns is not None:
            if sign > 0:
                self.columns.join(i, k)
            else:
                self.columns.leave(i, k)
        if self.staged:
            self.seen0[k], self.seen1[k] = self.n0[k], self.n1[k]
            if sign > 0:
                if self.spot[i] == -1:
                    self.placed[self.n_placed] = <int32_t> i
                    self.n_placed += 1
                self.spot[i] = <int32_t> k
            else:
                # in the list still: it comes back at once
                self.spot[i] = -2

    cdef void copy(self, Py_ssize_t src, Py_ssize_t dst) noexcept nogil:
        """Column `dst` gets the cells of `src`, whose row is right."""
        cdef Py_ssize_t x, end = min(self.K + SCRATCH, self.cap)
        cdef int64_t[MOST_SLOTS] within
        self.unstage()
        self.counted = -1
        Coupled.copy(self, src, dst)
        # the cell within, which the column would overwrite
        memcpy(within, self.cell(src, src), self.V * sizeof(int64_t))
        for x in range(end):
            memcpy(self.cell(dst, x), self.cell(src, x), self.V * sizeof(int64_t))
            self.turn(self.cell(x, dst), self.cell(src, x))
        memcpy(self.cell(dst, dst), within, self.V * sizeof(int64_t))
        if self.columns is not None:
            self.columns.copy_column(src, dst)
        self.change(dst)

    cdef void absorb(self, Py_ssize_t dst, Py_ssize_t src, int sign) noexcept nogil:
        cdef Py_ssize_t x, v
        cdef int64_t[MOST_SLOTS] within
        self.unstage()
        self.counted = -1
        Coupled.absorb(self, dst, src, sign)
        memcpy(within, self.cell(dst, dst), self.V * sizeof(int64_t))
        for v in range(self.V):
            within[v] += self.cell(src, src)[v]
        self.fold(within, self.cell(dst, src), 1)
        for x in range(self.K):
            for v in range(self.V):
                self.cell(dst, x)[v] += self.cell(src, x)[v]
            self.turn(self.cell(x, dst), self.cell(dst, x))
        memcpy(self.cell(dst, dst), within, self.V * sizeof(int64_t))
        if self.columns is not None:
            self.columns.absorb_column(dst, src, 1)
        self.change(dst)

    cdef void begin_scan(self) noexcept nogil:
        self.unstage()
        Coupled.begin_scan(self)

    # -- likelihoods of cells, in units
    cdef inline row_t row_of(self, const int64_t *row, const int64_t *add, Py_ssize_t leave_out, int64_t b0,
                             int64_t b1) noexcept nogil:
        """All blocks of the state but one, against one of b0 and b1 nodes, whose cells with them are `row`, and `add`
        besides each."""
        return row_t(row, add, False, self.n0, self.n1, self.K, leave_out, leave_out, 0, 0, b0, b1)

    cdef inline int64_t log_cell(self, const int64_t *cell, int64_t a0, int64_t a1, int64_t b0,
                                 int64_t b1) noexcept nogil:
        """Log likelihood of a cell of blocks of these sizes."""
        return cell_lik(&self.form, cell, pairs_between(a0, a1, b0, b1, self.sided))

    cdef inline int64_t of_block(self, const int64_t *within, int64_t n0, int64_t n1, const int64_t *degrees,
                                 const int64_t *more, int64_t sign) noexcept nogil:
        """Log likelihood within a block of these nodes and degrees; `more`: of a node that is added or taken out."""
        cdef int64_t total = within_lik(&self.form, within, n0, n1)
        cdef int64_t n = n0 + n1, D
        cdef Py_ssize_t g
        if n0 and n1:
            total -= <int64_t> 1 << PENALTY
        for g in range(self.G):
            D = degrees[g]
            if more != NULL:
                D += sign * more[g]
            if n:
                total += self.of_degrees(n, D)
        return total

    cdef inline int64_t of_degrees(self, int64_t n, int64_t D) noexcept nogil:
        return llrint(self.form.part.per * (D * self.log_n[n] + self.log_gammas[n]
                                            - log_gamma(n * self.propensity + D)))

    cdef inline int64_t log_within(self, Py_ssize_t k) noexcept nogil:
        return self.of_block(self.cell(k, k), self.n0[k], self.n1[k], self.degrees + k * self.G, NULL, 0)

    cdef inline int64_t log_within_changed(self, Py_ssize_t i, Py_ssize_t k, int64_t sign) noexcept nogil:
        """`log_within` of column k with item i, looked at, added or taken out."""
        cdef int64_t[MOST_SLOTS] cell
        cdef int32_t side = self.side[i]
        if self.form.plain:
            cell[0] = self.cell(k, k)[0] + sign * (self.count[k] + self.loop[0])
            return within_lik(&self.form, cell, self.n0[k] + sign, 0)
        memcpy(cell, self.cell(k, k), self.V * sizeof(int64_t))
        if self.is_touched[k]:
            self.fold(cell, self.count + k * self.V, sign)
        self.fold(cell, self.loop, sign)
        return self.of_block(cell, self.n0[k] + sign * (1 - side), self.n1[k] + sign * side, self.degrees + k * self.G,
                             self.degree + i * self.groups, sign)

    cdef inline void fill_rest(self, Py_ssize_t k, Py_ssize_t end) noexcept nogil:
        """Fill `rest` with the cells of column k, which counts the item looked at, without it."""
        cdef const int64_t *cell = self.cell(k, 0)
        cdef Py_ssize_t v
        for v in range(end * self.V):
            self.rest[v] = cell[v] - self.count[v]

    # -- probabilities
    cdef inline Py_ssize_t sizes_seen(self, Py_ssize_t k, const int32_t **n0, const int32_t **n1) noexcept nogil:
        """Sizes of the columns that column k has cells with, itself included; returns where they end."""
        if k < self.K or not self.staged:
            n0[0], n1[0] = self.n0, self.n1
            return self.K
        n0[0], n1[0] = self.seen0, self.seen1
        return self.span

    cdef row_t row_seen(self, Py_ssize_t k) noexcept nogil:
        """All columns that column k has cells with, against it."""
        cdef row_t row = self.row_of(self.cell(k, 0), self.nothing, k, self.n0[k], self.n1[k])
        row.K = self.sizes_seen(k, &row.n0, &row.n1)
        return row

    cdef inline int64_t gain_against(self, Py_ssize_t k, Py_ssize_t own, int64_t a0, int64_t a1, int64_t d0,
                                     int64_t d1, int64_t b0, int64_t b1) noexcept nogil:
        """What the item looked at, d0 and d1 nodes of either kind, adds to column k of a0 and a1 against its own, of b0
        and b1 without it."""
        cdef int64_t[MOST_SLOTS] rest
        cdef int64_t[MOST_SLOTS] whole
        cdef Py_ssize_t v
        for v in range(self.V):
            rest[v] = self.cell(k, own)[v] - self.count[k * self.V + self.mirror[v]]
            whole[v] = rest[v] + self.count[own * self.V + v]
        return self.log_cell(whole, a0 + d0, a1 + d1, b0, b1) - self.log_cell(rest, a0, a1, b0, b1)

    cdef int64_t gain(self, Py_ssize_t i, Py_ssize_t k, Py_ssize_t own) noexcept nogil:
        """Log likelihood that item i, looked at, adds in column k, in units; `own`, unless -1, is the column that
        counts it, and is taken without it."""
        cdef row_t row = self.row_seen(k)
        cdef Py_ssize_t end = row.K
        cdef int64_t d1 = self.side[i], d0 = 1 - d1, total
        if k == own:
            total = self.log_within(k) - self.log_within_changed(i, k, -1) + sum_row(&self.form, &row, self.without)
            self.fill_rest(k, end)
            row.row, row.b0, row.b1 = self.rest, row.b0 - d0, row.b1 - d1
            return total - sum_row(&self.form, &row, self.without)
        total = self.log_within_changed(i, k, 1) - self.log_within(k)
        if 0 <= own < end:
            # without the item, which the cell counts with column k
            row.b = own
            total += self.gain_against(k, own, row.b0, row.b1, d0, d1, row.n0[own] - d0, row.n1[own] - d1)
        total -= sum_row(&self.form, &row, self.without)
        row.add, row.every, row.b0, row.b1 = self.count, True, row.b0 + d0, row.b1 + d1
        return total + sum_row(&self.form, &row, self.without)

    cdef double log_pred(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        cdef double total
        self.look(i)
        total = self.gain(i, k, -1) * self.one
        return total if self.columns is None else total + self.power * self.columns.log_pred(i, k)

    cdef double log_odds(self, Py_ssize_t i, Py_ssize_t a, Py_ssize_t b, Py_ssize_t own, bint sized) noexcept nogil:
        cdef double r
        self.look(i)
        r = (self.gain(i, b, own) - self.gain(i, a, own)) * self.one
        if self.columns is not None:
            r += self.power * self.columns.log_odds(i, a, b, own, False)
        if sized:
            r += log(self.weight_of(b, own == b)) - log(self.weight_of(a, own == a))
        return r

    cdef void choice(self, Py_ssize_t i, const int32_t *clusters, Py_ssize_t m, double *w) noexcept nogil:
        cdef Py_ssize_t t
        self.log_choice(i, clusters, m, w)
        for t in range(1, m):
            w[t] = exp(w[t] - w[0])
        w[0] = 1.0

    cdef void log_choice(self, Py_ssize_t i, const int32_t *clusters, Py_ssize_t m, double *lw) noexcept nogil:
        cdef Py_ssize_t t, k, own = self.z[i]
        self.unstage()
        if self.any_changed:
            self.renew()
        self.look(i)
        for t in range(m):
            k = clusters[t]
            # a block of the other kind of nodes has kept what adds one of its own
            lw[t] = (self.gain(i, k, own) if k == own or self.sided else self.score_one(i, k, own)) * self.one
            lw[t] += log(self.weight_of(k, k == own))
            if self.columns is not None and k != own:
                lw[t] += self.power * self.columns.log_odds(i, own, k, own, False)

    cdef void renew(self) noexcept nogil:
        """Recompute the changed part of what is kept of pairs of blocks."""
        cdef Py_ssize_t d, k, p, cap = self.cap, K = self.K
        cdef int64_t total
        cdef int64_t *zero
        cdef int64_t *now
        cdef double *logs
        cdef row_t row
        for k in range(K):
            self.grown1[k] = self.n1[k] + (self.n1[k] > 0)
            self.grown0[k] = self.n0[k] + (self.n1[k] == 0)
        for d in range(K):
            if not self.changed[d]:
                continue
            self.changed[d] = False
            zero, now, logs = self.zero + d * cap, self.now + d * cap, self.logs + d * self.n_logs * cap
            for k in range(K):
                self.base[k] -= zero[k] - now[k]
            row = self.row_of(self.cell(d, 0), self.nothing, d, self.grown0[d], self.grown1[d])
            fill_logs(&self.form, &row, self.log_room, cap)
            fill_row(&self.form, &row, self.log_room, cap, self.with_it)
            row.b0, row.b1 = self.n0[d], self.n1[d]
            fill_row(&self.form, &row, NULL, 0, now)
            row.n0, row.n1 = self.grown0, self.grown1
            fill_logs(&self.form, &row, logs, cap)
            fill_row(&self.form, &row, logs, cap, zero)
            # what a node adds within a block depends on its degrees, which are counted later
            now[d] = self.log_within(d)
            zero[d] = self.with_it[d] = self.of_block(self.cell(d, d), self.grown0[d], self.grown1[d],
                                                      self.degrees + d * self.G, NULL, 0)
            total = 0
            for k in range(K):
                self.base[k] += zero[k] - now[k]
                self.now[k * cap + d] = now[k]
                self.zero[k * cap + d] = self.with_it[k]
                total += self.with_it[k] - now[k]
                for p in range(self.n_logs):
                    self.logs[(k * self.n_logs + p) * cap + d] = self.log_room[p * cap + k]
            self.base[d] = total
            self.listed[d] = True
            for p in range(self.units):
                self.fill_single(d, p)
        for p in range(1 + self.sided):
            row = self.row_of(self.nothing, self.nothing, -1, 1 - p, p)
            fill_row(&self.form, &row, NULL, 0, self.lone + p * cap)
            self.all_lone[p] = 0
            for k in range(K):
                self.all_lone[p] += self.lone[p * cap + k]
        self.any_changed = False

    cdef void fill_single(self, Py_ssize_t d, Py_ssize_t v) noexcept nogil:
        """Renew `single` of number v where block d is one of the two."""
        cdef int64_t[MOST_UNITS] edge
        cdef int64_t *single = self.single + v * self.cap * self.cap
        cdef int64_t *of_row = single + d * self.cap
        cdef Py_ssize_t k
        memset(edge, 0, MOST_UNITS * sizeof(int64_t))
        edge[self.mirror[v]] = 1
        cdef row_t row = self.row_of(self.cell(d, 0), edge, d, self.grown0[d], 0)
        fill_row(&self.form, &row, self.log_room, self.cap, self.with_it)
        edge[self.mirror[v]] = 0
        edge[v] = 1
        row.n0, row.b0 = self.grown0, self.n0[d]
        fill_row(&self.form, &row, self.logs + d * self.n_logs * self.cap, self.cap, of_row)
        for k in range(self.K):
            of_row[k] -= self.zero[d * self.cap + k]
            single[k * self.cap + d] = self.with_it[k] - self.zero[k * self.cap + d]
        of_row[d] = 0

    cdef inline const int64_t *unit_gains(self, Py_ssize_t j, const int64_t *seen_from) noexcept nogil:
        """Gains of block j's cell by these numbers in addition, against every block, where they are kept; else NULL."""
        cdef Py_ssize_t v, found = 0
        cdef int64_t total = 0
        for v in range(self.units):
            total += seen_from[v]
            if seen_from[v]:
                found = v
        return self.single + (found * self.cap + j) * self.cap if total == 1 else NULL

    cdef int64_t score_all(self, Py_ssize_t i) noexcept nogil:
        """Fill `score` with what item i adds to each block that does not count it, in units; returns what it adds as
        a block of its own."""
        cdef Py_ssize_t t, k, j, own = self.z[i], K = self.K, cap = self.cap
        cdef int64_t d1 = self.side[i], d0 = 1 - d1, b0, b1, new_block, stay
        # whether a block that it has no edges to takes it in otherwise than the nodes that were counted there
        cdef bint has_loop = self.has_loops and self.loop_start[i + 1] > self.loop_start[i]
        # the degree alone
        cdef bint by_degree = self.G > 0 and not self.sided and not has_loop
        cdef bint every = (self.G > 0 or self.sided or has_loop) and not by_degree
        cdef int64_t *score = self.score
        cdef const int64_t *c
        cdef const int64_t *kept
        cdef const int64_t *zero
        cdef const int64_t *now
        cdef int64_t[MOST_SLOTS] seen_from
        cdef row_t row
        if self.any_changed:
            self.renew()
        self.look(i)
        memcpy(score, self.base, K * sizeof(int64_t))
        new_block = self.of_lone(i) + self.all_lone[d1]
        for t in range(self.n_touched):
            j = self.touched[t]
            c, b0, b1 = self.count + j * self.V, self.n0[j], self.n1[j]
            new_block += self.log_cell(c, d0, d1, b0, b1) - self.lone[d1 * cap + j]
            if j == own:
                continue
            if not every:
                score[j] += self.log_within_changed(i, j, 1) - self.zero[j * cap + j]
            self.turn(seen_from, c)
            kept = self.unit_gains(j, seen_from)
            if kept != NULL:
                add_numbers(kept, K, score)
                continue
            row = self.row_of(self.cell(j, 0), seen_from, j, b0, b1)
            row.b, row.d0, row.d1 = own, d0, d1
            add_gains(&self.form, &row, self.zero + j * cap, self.logs + j * self.n_logs * cap, cap, score)
        for k in range(K if every else 0):
            if k != own:
                score[k] += self.log_within_changed(i, k, 1) - self.zero[k * cap + k]
        if by_degree:
            self.add_degrees(i, own)
        if own < 0:
            return new_block
        # against its own block, without the item
        b0, b1 = self.n0[own] - d0, self.n1[own] - d1
        c = self.count + own * self.V
        new_block += self.log_cell(c, d0, d1, b0, b1) - self.log_cell(c, d0, d1, self.n0[own], self.n1[own])
        zero, now = self.zero + own * cap, self.now + own * cap
        stay = now[own] - self.log_within_changed(i, own, -1)
        if self.form.plain:
            score[own] = stay + add_own(&self.form, self.cell(own, 0), self.count, self.n0, K, own, b0, c[0], now, zero,
                                        score)
            return new_block
        self.turn(seen_from, c)
        self.fill_rest(own, K)
        row = self.row_of(self.rest, self.nothing, own, b0, b1)
        fill_row(&self.form, &row, NULL, 0, self.without)
        row.add, row.d0, row.d1 = seen_from, d0, d1
        fill_row(&self.form, &row, NULL, 0, self.with_it)
        for k in range(K):
            if k != own:
                score[k] += self.with_it[k] - self.without[k] + now[k] - zero[k]
                stay += now[k] - self.without[k]
        score[own] = stay
        return new_block

    cdef void add_degrees(self, Py_ssize_t i, Py_ssize_t own) noexcept nogil:
        """Add to `score` what the degrees of item i, looked at, add within the blocks that it has no edges to."""
        cdef Py_ssize_t g, k, cap = self.cap
        cdef int64_t d, D, n
        cdef int64_t *kept
        cdef int64_t *time
        for g in range(self.G):
            d = self.degree[i * self.groups + g]
            kept = self.by_degree + (min(d, DEGREES - 1) * self.G + g) * cap
            time = self.by_degree_time + (min(d, DEGREES - 1) * self.G + g) * cap
            for k in range(self.K):
                if k == own or self.is_touched[k]:
                    continue
                if time[k] < self.since[k] or d >= DEGREES - 1:
                    n, D = self.grown0[k] + self.grown1[k], self.degrees[k * self.G + g]
                    kept[k] = self.of_degrees(n, D + d) - self.of_degrees(n, D)
                    time[k] = self.time
                self.score[k] += kept[k]

    cdef int64_t score_one(self, Py_ssize_t i, Py_ssize_t k, Py_ssize_t own) noexcept nogil:
        """`score_all` for one block k other than `own`, of item i, looked at."""
        cdef Py_ssize_t t, j, v
        cdef int64_t total = self.base[k] + self.log_within_changed(i, k, 1) - self.zero[k * self.cap + k]
        cdef int64_t a = self.n0[k]
        cdef const int64_t *c
        cdef const int64_t *kept
        cdef int64_t[MOST_SLOTS] seen_from
        cdef int64_t[MOST_SLOTS] whole
        for t in range(self.n_touched):
            j = self.touched[t]
            if j == k or j == own:
                continue
            c = self.count + j * self.V
            self.turn(seen_from, c)
            kept = self.unit_gains(j, seen_from)
            if kept != NULL:
                total += kept[k]
                continue
            for v in range(self.V):
                whole[v] = self.cell(k, j)[v] + c[v]
            total += self.log_cell(whole, a + 1, 0, self.n0[j], 0) - self.zero[j * self.cap + k]
        total += self.gain_against(k, own, a, 0, 1, 0, self.n0[own] - 1, 0)
        return total + self.now[own * self.cap + k] - self.zero[own * self.cap + k]

    cdef inline int64_t of_lone(self, Py_ssize_t i) noexcept nogil:
        """Log likelihood within a block of item i alone."""
        cdef int64_t[MOST_SLOTS] cell
        cdef int64_t d = self.side[i]
        if self.form.plain:
            return within_lik(&self.form, self.loop, 1, 0)
        memset(cell, 0, self.V * sizeof(int64_t))
        self.fold(cell, self.loop, 1)
        return self.of_block(cell, 1 - d, d, self.degree + i * self.groups, NULL, 0)

    cdef void log_scan(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t k, own = self.z[i], K = self.K, a = max(own, 0)
        cdef int64_t new_block
        cdef bint alone = own >= 0 and self.size[own] == 1
        self.unstage()
        new_block = self.score_all(i)
        for k in range(K):
            self.w[k] = self.score[k] * self.one + log(self.weight_of(k, k == own))
        self.w[K] = -INFINITY if alone else new_block * self.one + log(self.weight_new)
        if self.columns is not None:
            for k in range(K + (not alone)):
                # the first scan of a start sees no cluster
                if K and k != a:
                    self.w[k] += self.power * self.columns.log_odds(i, a, k, own, False)

    cdef void scan(self, Py_ssize_t i) noexcept nogil:
        if self.columns is None:
            self.weigh_scores(self.z[i], self.score, self.score_all(i), self.one)
        else:
            Model.scan(self, i)

    # -- connected parts
    cdef Py_ssize_t own_scan(self, Rng rng, Py_ssize_t first, Py_ssize_t n) except -1 nogil:
        cdef Py_ssize_t _t, changed
        self.scans_itself = False
        changed = full_scan(self, rng, first, n)
        self.scans_itself = True
        for _t in range(1 + n // NODES_PER_PART):
            if rng.is_halted:
                break
            self._move_part(rng)
        return changed

    def move_part(self, Rng rng not None):
        """Draw a connected part of a block, and put it into a block again."""
        self.keep_lists()
        self._move_part(rng)

    cdef int _move_part(self, Rng rng) except -1 nogil:
        cdef Py_ssize_t i = rng.draw_index(self.N), own = self.z[i], s = own, k, t, n
        cdef int64_t x, outside = 0
        cdef double q = 0.25 * (1 + rng.draw_index(4)), top = -INFINITY
        n = self.find_part(rng, i, q)
        for t in range(n):
            self.in_part[self.part[t]] = False
        if n == 0 or n == self.N or (n < self.size[own] and not self.has_room()):
            return 0
        if n < self.size[own]:
            s = self.K
            for t in range(n):
                self.move(self.part[t], s)
        memset(self.score, 0, self.K * sizeof(int64_t))
        for t in range(n):
            for x in range(self.start[self.part[t]], self.start[self.part[t] + 1]):
                self.score[self.z[self.neighbour[x]]] += 1
                outside += self.z[self.neighbour[x]] != s
        for k in range(self.K):
            self.v[k] = self.size[k] / <double> (self.N - n) + self.score[k] / <double> max(outside, 1)
        self.v[s] = 0.25
        self.unstage()
        self.tried[0] = <int32_t> own
        for t in range(self.tries + 1):
            if t:
                self.tried[t] = <int32_t> rng.draw_option(NAMED, -1, self.v, self.K, self.name)
            for k in range(t):
                if self.tried[k] == self.tried[t]:
                    self.tried_w[t] = self.tried_w[k]
                    break
            else:
                self.tried_w[t] = self.log_joining(s, self.tried[t], q)
            top = max(top, self.tried_w[t])
        for t in range(self.tries + 1):
            self.tried_w[t] = exp(self.tried_w[t] - top)
        k = self.tried[rng.draw_categorical(self.tried_w, self.tries + 1)]
        if k != s:
            self.commit_merge(k, s)
        return 0

    cdef double log_joining(self, Py_ssize_t s, Py_ssize_t k, double q) noexcept nogil:
        """Log density of the part, which is block s, in block k less that as block s, and less log v."""
        cdef int32_t[2] both
        if k == s:
            return -log(self.v[s])
        if q == 1.0 and self.score[k]:
            return -INFINITY
        both[0], both[1] = <int32_t> k, <int32_t> s
        return (self.log_merge_prior(k, s) + self.log_union(k, s) - self.log_lik(both, 2)
                + (self.score[k] * log1p(-q) if q < 1.0 else 0.0) - log(self.v[k]))

    cdef Py_ssize_t find_part(self, Rng rng, Py_ssize_t i, double q) noexcept nogil:
        """Find the part of node i's block that entries which hold connect with it: how many nodes, 0 if they have too
        many entries."""
        cdef Py_ssize_t t = 0, n = 1
        cdef int64_t x, entries = 0
        cdef int32_t j
        self.part[0], self.in_part[i] = <int32_t> i, True
        while t < n:
            i = self.part[t]
            t += 1
            entries += self.start[i + 1] - self.start[i]
            if n > 1 and entries > PART_ENTRIES:
                while n:
                    n -= 1
                    self.in_part[self.part[n]] = False
                return 0
            for x in range(self.start[i], self.start[i + 1]):
                j = self.neighbour[x]
                if self.z[j] == self.z[i] and not self.in_part[j] and (q == 1.0 or rng.draw_coin(q)):
                    self.part[n], self.in_part[j] = j, True
                    n += 1
        return n

    cdef double cluster_log_lik(self, Py_ssize_t k) noexcept nogil:
        cdef double total = self.log_within(k) * self.one
        return total if self.columns is None else total + self.power * self.columns.lik(k)

    cdef int64_t log_within_union(self, Py_ssize_t a, Py_ssize_t b, const int64_t *between) noexcept nogil:
        """`log_within` of columns a and b as one block; `between`: their cell."""
        cdef int64_t[MOST_SLOTS] cell
        cdef int64_t[MOST_SLOTS] degrees
        cdef Py_ssize_t v, g
        for v in range(self.V):
            cell[v] = self.cell(a, a)[v] + self.cell(b, b)[v]
        self.fold(cell, between, 1)
        for g in range(self.G):
            degrees[g] = self.degrees[a * self.G + g] + self.degrees[b * self.G + g]
        return self.of_block(cell, self.n0[a] + self.n0[b], self.n1[a] + self.n1[b], degrees, NULL, 0)

    cdef double log_pair_lik(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        return self.with_columns(self.log_within_union(a, b, self.cell(max(a, b), min(a, b))) * self.one, a, b)

    cdef inline double with_columns(self, double total, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        return total if self.columns is None else total + self.power * self.columns.log_union(a, b)

    cdef double log_lik(self, const int32_t *ks, Py_ssize_t m) noexcept nogil:
        cdef Py_ssize_t s, t, k
        cdef bint is_all = ks == self.numbers and m == self.K
        cdef row_t row
        cdef int64_t total = 0
        cdef double of_columns = 0.0
        for s in range(m):
            k = ks[s]
            row = self.row_seen(k)
            if is_all:
                row.K = k
            total += self.log_within(k) + sum_row(&self.form, &row, self.without)
            if self.columns is not None:
                of_columns += self.columns.lik(k)
            # pairs among them once
            for t in range(0 if is_all else s):
                total -= self.log_cell(self.cell(k, ks[t]), self.n0[k], self.n1[k], self.n0[ks[t]], self.n1[ks[t]])
        return total * self.one + self.power * of_columns

    cdef double log_union(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        cdef Py_ssize_t low = min(a, b), high = max(a, b)
        cdef row_t row = self.row_seen(high)
        cdef int64_t total = self.log_within_union(a, b, self.cell(high, low))
        row.add, row.every, row.b = self.cell(low, 0), True, low
        row.b0, row.b1 = self.n0[a] + self.n0[b], self.n1[a] + self.n1[b]
        total += sum_row(&self.form, &row, self.without)
        return self.with_columns(total * self.one, a, b)

    def statistics(self):
        """dict of ndarray: `cells`, int64 of shape (K, K, V): edges and sums of values between blocks, relation after
        relation, a directed one out and in (within: on the diagonal); `degrees`, (K, G); a copy."""
        return {"cells": np.array([[[self.cell(k, j)[v] for v in range(self.V)] for j in range(self.K)]
                                   for k in range(self.K)], dtype=np.int64).reshape(self.K, self.K, self.V),
                "degrees": np.array([[self.degrees[k * self.G + g] for g in range(self.G)] for k in range(self.K)],
                                    dtype=np.int64).reshape(self.K, self.G)}
