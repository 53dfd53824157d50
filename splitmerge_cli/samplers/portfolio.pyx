"""Several split-merge samplers in one, with weights that are learned first and then stay.

A step makes n moves, each of a sampler drawn by weight. All of them leave the posterior as it is, and so does the step,
whatever n and the weights are, as long as these do not depend on the state. They are learned in the first `learning`
steps, in which the chain is not yet Markov, and stay from then on.

What is learned. The work of a move is what it evaluates, in predictives of a Gibbs scan; its change is the number of
pairs of items that it puts together or takes apart, half the change of the sum of squared sizes: a b for a split into a
and b items. Every `EVERY` steps, from sums in which older moves count less,

    share of the work of sampler m   s_m = floor + (1 - M floor) r_m / sum r, r_m the change for the work of its moves
    weight                           proportional to s_m over the mean work of a move of m

and once, when learning ends, n: moves have the part `share` of the work of a step and of a Gibbs scan, N K predictives.
So each sampler has at least the share `floor` of the work of moves. For reversible kernels that bounds what is lost:
the asymptotic variance of a mean times the work is at most 1/s_m times the value of sampler m alone, except for the
variance under the posterior (docs/derivations.md). Work is counted, not timed, so that a chain does not depend on the
machine.

The change for a unit of work stands for the expected squared jump of Pasarica and Gelman (2010). Cost: the cost of the
moves.
"""
from libc.math cimport fabs, isnan
from libc.stdint cimport int64_t

from splitmerge_cli.core.capabilities cimport Weighted
from splitmerge_cli.core.sampler cimport MAX_MOVES, Sampler
from splitmerge_cli.samplers.split_merge cimport SplitMerge

from splitmerge_cli.core.checks import check_count, check_range
from splitmerge_cli.core.options import Count, Flag, Number
from splitmerge_cli.samplers.reconfiguration import SRM
from splitmerge_cli.samplers.wang_russell import SDDS
from splitmerge_cli.samplers.split_merge import RGSM, SCANS, Dyadic

cdef enum:
    EVERY = 20                          # steps between two changes of the weights
    MOST_MOVES = 200                    # of a step

ctypedef struct outcome_t:
    Py_ssize_t items                    # that the move allocated, or would have
    bint rejected_early
    bint accepted
    double log_ratio

# A sampler in C's hands: Python references may not be handled without the interpreter lock.
ctypedef int (*move_t)(void *one, outcome_t *outcome) except -1 nogil


cdef int move_of(SplitMerge one, outcome_t *outcome) except -1 nogil:
    one.sides.n = 0
    step_of(one, outcome)
    outcome.items = one.sides.n
    return 0


cdef int step_of(Sampler one, outcome_t *outcome) except -1 nogil:
    """A step that moves any item."""
    cdef int64_t before = sum_accepted(one)
    one.make_step()
    outcome.items, outcome.rejected_early = one.model.N, one.rejected_early
    outcome.accepted, outcome.log_ratio = sum_accepted(one) > before, one.last_log_ratio
    return 0


cdef int64_t sum_accepted(Sampler one) noexcept nogil:
    cdef Py_ssize_t t
    cdef int64_t total = 0
    for t in range(MAX_MOVES):
        total += one.accepted[t]
    return total


cdef move_t MOVE = <move_t> move_of, STEP = <move_t> step_of

cdef double OVERHEAD = 50.0             # work of a move in addition to items and clusters
cdef double OF_TOPICS = 2.0             # and for each token, where clusters have weights
cdef double KEPT = 0.8                  # part of what was counted that is kept at a change of the weights

MEMBERS = {
    "sams": (Dyadic, {"allocation": "sams"}, 1.5, 4.5, 0.0),
    "ssdm": (SDDS, {"kernel": "ssdm"}, 0.0, 6.0, 6.0),
    "smds": (SDDS, {"kernel": "smds"}, 0.0, 2.5, 5.0),
    "rgsm": (RGSM, {}, 6.0, 6.0, 0.0),
    "srm": (SRM, {}, 12.0, 12.0, 0.0),
}
"""Samplers: class, options, and the work of a move: for each item that it moves before it can be rejected early (of
`rgsm` in each restricted scan) and after that, and for each cluster. The numbers are such as ``python -m bench --work``
finds on generated data, within a factor of two or three."""


cdef class Portfolio(Sampler):
    """Split-merge samplers drawn by weights that are learned, then frozen. The counted moves are named after the
    samplers; the seconds of a step belong to its last one."""

    OPTIONS = (
        Count("learning", 200, "number of steps in which the weights and the number of moves are learned",
              most=1_000_000),
        Count("moves", 5, "moves per step until the number is learned", least=1, most=MOST_MOVES),
        SCANS,
        Flag("relabel", True, "srm: visit the items in a new random order in every move, not in item order"),
        Number("floor", 0.05, "least share of the work of moves of each sampler", least=0.0, most=1.0 / len(MEMBERS)),
        Number("share", 0.3, "share of moves in the work of moves and a Gibbs scan", least=0.01, most=0.99),
        *Sampler.OPTIONS,
    )
    MOVES = tuple(MEMBERS)
    NEEDS_CONJUGATE = False
    DIVIDES_WEIGHTS = True

    cdef readonly list members
    cdef void *member[MAX_MOVES]
    cdef move_t kind[MAX_MOVES]
    cdef double before[MAX_MOVES]       # predictives for each item, before early rejection
    cdef double after[MAX_MOVES]        # and after it
    cdef double unions[MAX_MOVES]       # for each cluster
    cdef double weight[MAX_MOVES]
    cdef double tries[MAX_MOVES]        # what was counted, older moves less
    cdef double work[MAX_MOVES]
    cdef double change[MAX_MOVES]
    cdef Py_ssize_t M, n_moves
    cdef int64_t learning, steps        # steps that are to be learned from; made
    cdef double floor
    cdef double overhead                # work of a move in addition to items and clusters
    cdef double ratio                   # work of a step over the work of a Gibbs scan

    def __init__(self, model, rng, **options):
        cdef Py_ssize_t m
        super().__init__(model, rng, **options)
        able = {name: of for name, of in MEMBERS.items() if of[0].supports(model)[0]}
        self.moves = tuple(able)
        t = self.options["t"]
        own = {RGSM: {"t": t}, SRM: {"relabel": self.options["relabel"]}}
        self.members = [cls(model, rng, **given, **own.get(cls, {})) for cls, given, *_ in able.values()]
        self.M = len(self.members)
        for m, (_, _, before, after, unions) in enumerate(able.values()):
            self.member[m] = <void *> self.members[m]
            self.kind[m] = MOVE if isinstance(self.members[m], SplitMerge) else STEP
            self.before[m] = before * t if isinstance(self.members[m], RGSM) else before
            self.after[m], self.unions[m] = after, unions
        self.learning, self.n_moves, self.floor = (self.options[name] for name in ("learning", "moves", "floor"))
        self.ratio = self.options["share"] / (1.0 - self.options["share"])
        self.overhead = OVERHEAD + (OF_TOPICS * model.N if isinstance(model, Weighted) else 0.0)
        # shares of the work, were all moves to go through: the first sampler all but the least shares of the others
        for m in range(self.M):
            self.weight[m] = self.floor + (1.0 - self.M * self.floor) * (m == 0)
            self.weight[m] /= self.overhead + (self.before[m] + self.after[m]) * model.N

    @classmethod
    def invariants(cls, model, **options):
        """Parts of the state that none of its samplers changes: frozenset of str."""
        able = [(of[0], of[1]) for of in MEMBERS.values() if of[0].supports(model)[0]]
        return frozenset.intersection(*(one.invariants(model, **given) for one, given in able))

    @classmethod
    def small_options(cls, model):
        """One move, one restricted scan, and nothing is learned: dict."""
        return {"learning": 0, "moves": 1, "t": 1} | SRM.small_options(model)

    def couples(self):
        """Chains of which each learns weights of its own do not stay together: (bool, reason)."""
        if self.learning:
            return False, "each chain learns weights of its own; expected sampler.learning=0"
        return super().couples()

    cdef int make_step(self) except -1 nogil:
        cdef Py_ssize_t part
        for part in range(self.n_moves):
            self.make_part(part)
            if self.rng.is_halted:
                break
        if self.steps < self.learning:
            self.steps += 1
            if self.steps % EVERY == 0 or self.steps == self.learning:
                self.learn()
        return 0

    cdef Py_ssize_t parts(self) noexcept nogil:
        return self.n_moves

    cdef int make_part(self, Py_ssize_t part) except -1 nogil:
        """One move of a sampler drawn by weight."""
        cdef Py_ssize_t m = self.rng.draw_categorical(self.weight, self.M)
        cdef outcome_t outcome
        cdef double squares = 0.0
        if self.steps < self.learning:
            squares = self.sum_squares()
        self.move = <int> m
        self.proposed[m] += 1
        self.kind[m](self.member[m], &outcome)
        self.last_log_ratio = outcome.log_ratio
        self.null_proposals[m] += isnan(outcome.log_ratio)
        self.accepted[m] += outcome.accepted
        if self.steps < self.learning:
            self.tries[m] += 1.0
            self.work[m] += self.overhead + self.unions[m] * self.model.K + outcome.items * (
                self.before[m] + (0.0 if outcome.rejected_early else self.after[m]))
            if outcome.accepted:
                self.change[m] += 0.5 * fabs(self.sum_squares() - squares)
        return 0

    cdef double sum_squares(self) noexcept nogil:
        """Sum of the squared sizes of all clusters."""
        cdef Py_ssize_t k
        cdef double total = 0.0
        for k in range(self.model.K):
            total += <double> self.model.size[k] * self.model.size[k]
        return total

    cdef void learn(self) noexcept nogil:
        """Set the weights and the number of moves by what was counted."""
        cdef Py_ssize_t m
        cdef double rates = 0.0, each, total = 0.0
        cdef double cost[MAX_MOVES]
        for m in range(self.M):
            cost[m] = (self.work[m] + self.overhead) / (self.tries[m] + 1.0)
            rates += self.change[m] / (self.work[m] + self.overhead)
        for m in range(self.M):
            each = self.change[m] / (self.work[m] + self.overhead) / rates if rates > 0.0 else 1.0 / self.M
            self.weight[m] = (self.floor + (1.0 - self.M * self.floor) * each) / cost[m]
            total += self.weight[m]
        for m in range(self.M):
            self.weight[m] /= total
            self.tries[m] *= KEPT
            self.work[m] *= KEPT
            self.change[m] *= KEPT
        if self.steps < self.learning:
            return
        # the shares sum to 1, so a move costs 1 / total
        each = self.ratio * self.model.N * self.model.K * total
        self.n_moves = <Py_ssize_t> (1.0 if each < 1.0 else MOST_MOVES if each > MOST_MOVES else each + 0.5)

    @property
    def weights(self):
        """dict of float: probability of each sampler in a move."""
        weights = self.own_state()["weight"]
        return {name: weight / sum(weights) for name, weight in zip(self.moves, weights)}

    def report(self):
        """dict: entries for the summary of a run."""
        learned = min(self.steps, self.learning)
        entries = {"weights": self.weights, "moves": self.n_moves, "learned": learned, "learning": self.learning}
        return {"portfolio": entries}

    def own_state(self):
        """dict: the weights, the number of moves, and what they are learned from."""
        cdef Py_ssize_t m
        return {
            "weight": [self.weight[m] for m in range(self.M)], "tries": [self.tries[m] for m in range(self.M)],
            "work": [self.work[m] for m in range(self.M)], "change": [self.change[m] for m in range(self.M)],
            "moves": self.n_moves, "steps": self.steps,
        }

    def set_own_state(self, value):
        """Take up a state that ``own_state`` gave; a ValueError for anything else."""
        cdef Py_ssize_t m
        check_count("state of portfolio: moves", value["moves"], 1, MOST_MOVES)
        check_count("state of portfolio: steps", value["steps"], 0, self.learning)
        for name in ("weight", "tries", "work", "change"):
            if len(value[name]) != self.M:
                raise ValueError(f"state of portfolio: {name}: expected {self.M} numbers")
            for number in value[name]:
                check_range(f"state of portfolio: {name}", number, 0.0, 1e300)
        if sum(value["weight"]) <= 0.0:
            raise ValueError("state of portfolio: weight: expected a positive one")
        for m in range(self.M):
            self.weight[m], self.tries[m] = value["weight"][m], value["tries"][m]
            self.work[m], self.change[m] = value["work"][m], value["change"][m]
        self.n_moves, self.steps = value["moves"], value["steps"]
