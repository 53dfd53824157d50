"""Samplers: moves on the state of a model, the named terms of their log ratios, and their counts."""
from libc.math cimport NAN

from splitmerge_cli.core.capabilities cimport Weighted

from splitmerge_cli.core.checks import MOST_COUNT, MOST_SECONDS, check_count, check_range
from splitmerge_cli.core.options import Choice, read_options

PARTITION, CLUSTERS, EMPTY = "partition", "number of clusters", "number of empty clusters"
"""Parts of the state, other than hyper-parameters, that a sampler may leave unchanged: see `Sampler.invariants`."""


COUNTED = "proposed", "accepted", "null", "last_accepted"
"""Whole numbers that are counted of a move."""


cdef class Sampler:
    """One kind of move on the state of a model.

    A sampler in a file of its own names its MOVES and the TERMS of its log ratio, and writes ``make_step``: propose,
    sum the terms, ``decide``, and commit what was accepted. A ValueError: one of its `options` (``OPTIONS``) that is
    not as expected (the message names its key), or a model that it does not support.
    """

    OPTIONS = (
        Choice("mode", "exact", "exact: reversible; as_printed: as the paper prints it",
               choices=("exact", "as_printed")),
    )
    """Its options; see ``core/options.py``."""
    MOVES = ()
    TERMS = ()
    PRINTED_TERM = None
    """The term that mode=as_printed adds: what the paper prints less what is exact."""
    NEEDS_CONJUGATE = True
    """Whether it needs a model whose parameters are integrated out."""
    DRAWS_FROM_CONTINUUM = False
    """Whether its moves draw from a continuum, so that its kernel cannot be enumerated but on a finite base measure."""
    DIVIDES_WEIGHTS = False
    """Whether it supports a model whose clusters have weights: a split divides one, a merge adds two."""
    NOT_WITH_EMPTY = ""
    """Why it does not support a model that keeps its empty clusters; empty: it does."""
    SMALL = {}
    """Options with which ``verify`` enumerates few execution paths; the user's own come on top."""
    STAYS = (EMPTY,)
    """What no step changes where the model keeps empty clusters: see ``invariants``."""
    FORMS = {}
    """Options of each form that ``verify`` checks, by mode: ``{"exact": ({"scan": "full"}, {"scan": "site"})}``. A mode
    that is not named has one form, of the defaults."""

    def __cinit__(self, *args, **kwargs):
        cdef int t
        for t in range(MAX_TERMS):
            self.on[t] = True
        self.scans = self.threads = 1
        self.memory = Memory()
        self.last_log_ratio = NAN
        if len(self.MOVES) > MAX_MOVES or len(self.TERMS) > MAX_TERMS:
            raise RuntimeError("more moves or terms than the base class has room for")

    def __init__(self, Model model not None, Rng rng not None, **options):
        self.options = read_options("sampler", self.OPTIONS, options)
        able, reason = self.supports(model)
        if not able:
            raise ValueError(f"sampler {type(self).__name__}: {reason}")
        self.model = model
        self.rng = rng
        self.moves = self.MOVES
        self.as_printed = self.options["mode"] == "as_printed"
        if self.PRINTED_TERM is not None and not self.as_printed:
            self.omit(self.PRINTED_TERM)

    @classmethod
    def supports(cls, model):
        """Whether this sampler supports the model: (bool, reason)."""
        if cls.NOT_WITH_EMPTY and model.allows_empty:
            return False, f"the model keeps its empty clusters{cls.NOT_WITH_EMPTY}"
        if cls.NEEDS_CONJUGATE and not model.conjugate:
            return False, "it needs the parameters integrated out (model.conjugate=true)"
        if isinstance(model, Weighted) and not cls.DIVIDES_WEIGHTS:
            return False, "clusters have weights, and no density of the weights that its moves would need was derived"
        return True, ""

    @classmethod
    def small_options(cls, model):
        """``SMALL``, or what depends on the model: dict."""
        return dict(cls.SMALL)

    @classmethod
    def invariants(cls, model, **options):
        """Parts of the state that no step of this sampler with these options changes: frozenset of str. `PARTITION`,
        `CLUSTERS` (empty ones among them), `EMPTY`, where the model keeps empty clusters, and names of hyper-parameters
        that are resampled. Samplers that have one in common do not reach every state together; without one they do on
        the enumerated small cases (``tests/exact/test_schedules.py``)."""
        return frozenset(model.hyperparameters).union(cls.STAYS if model.allows_empty else ())

    def couples(self):
        """Whether two chains of this sampler can be coupled so that they meet: (bool, reason)."""
        if hasattr(self, "fix"):
            return False, "it learns from the history of several chains, so one chain alone is not Markov"
        if isinstance(self.model, Weighted):
            return False, ("a state is the cluster of each item and the weights of all clusters: two chains are "
                           "hardly ever in the same one")
        return True, ""

    def enumerates(self):
        """Whether a step depends on the state of the model alone, so that ``verify`` can enumerate it: bool."""
        return True

    @property
    def mode(self):
        """str: 'exact' or 'as_printed'."""
        return self.options["mode"]

    cdef int make_step(self) except -1 nogil:
        return 0

    cdef Py_ssize_t parts(self) noexcept nogil:
        """Parts of a step, which chains that are coupled make in turns: ``make_part(0)``, ... make the step."""
        return 1

    cdef int make_part(self, Py_ssize_t part) except -1 nogil:
        return self.make_step()

    cdef double log_split_ratio(self, Py_ssize_t c, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """log pi'/pi of putting scratch columns a, b in the place of cluster c."""
        cdef int32_t old = <int32_t> c
        cdef int32_t new[2]
        new[0] = <int32_t> a
        new[1] = <int32_t> b
        return self.model.log_lik(new, 2) - self.model.log_lik(&old, 1) + self.model.log_split_prior(c, a, b)

    cdef double log_merge_ratio(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """log pi'/pi of making clusters i and j one."""
        cdef int32_t old[2]
        old[0] = <int32_t> i
        old[1] = <int32_t> j
        return self.model.log_union(i, j) - self.model.log_lik(old, 2) + self.model.log_merge_prior(i, j)

    cdef double log_ratio_of(self, const int32_t *ks, Py_ssize_t new, Py_ssize_t old) noexcept nogil:
        """log pi'/pi of putting ks[:new], scratch columns, in the place of the clusters behind them, `old` of these; at
        most 5 in all."""
        cdef int32_t[5] sizes
        cdef Py_ssize_t s, K = self.model.K
        for s in range(new + old):
            sizes[s] = self.model.size[ks[s]]
        return (self.model.log_lik(ks, new) - self.model.log_lik(ks + new, old)
                + self.model.log_prior(sizes, new, K + new - old) - self.model.log_prior(sizes + new, old, K))

    cdef int null(self) noexcept nogil:
        """A null proposal: the state stays and nothing is drawn."""
        self.null_proposals[self.move] += 1
        self.last_log_ratio = NAN
        return 0

    def step(self):
        """Make one step."""
        with nogil:
            self.make_step()

    def omit(self, *terms):
        """Leave these terms out of the log ratio: a mutant, for tests that must fail."""
        for name in terms:
            self.on[self.TERMS.index(name)] = False

    @property
    def counted_terms(self):
        """tuple of bool: whether each of TERMS counts in the log ratio."""
        return tuple([bool(self.on[t]) for t in range(len(self.TERMS))])

    def counts(self):
        """list of dict: move, proposed, accepted, null, seconds, since the sampler was made; and last_accepted, the
        iteration of the chain in which the move was last accepted (0: in none)."""
        return [
            {"move": name, "proposed": self.proposed[t], "accepted": self.accepted[t], "null": self.null_proposals[t],
             "seconds": self.seconds[t], "last_accepted": self.last_accepted[t]}
            for t, name in enumerate(self.moves)
        ]

    def tally(self):
        """dict of dict of int: what this sampler counted in addition to its moves; empty for most."""
        return {}

    def set_tally(self, tally):
        """Take up what ``tally`` gave, to go on with a chain."""

    def own_state(self):
        """dict, or None for most samplers: what a chain needs to continue in addition to the state of its model."""
        return None

    def set_own_state(self, value):
        """Take up a state that ``own_state`` gave; a ValueError for anything else."""
        if value is not None:
            raise ValueError(f"{type(self).__name__} has no state of its own")

    def set_counts(self, rows):
        """Take up counts that ``counts`` gave, to go on with a chain; a ValueError where they are of other moves."""
        if not isinstance(rows, (list, tuple)) or len(rows) != len(self.moves):
            raise ValueError(f"counts: expected a row for each of {', '.join(self.moves)}")
        for row, move in zip(rows, self.moves):
            if not isinstance(row, dict) or row.keys() != {"move", "seconds", *COUNTED}:
                raise ValueError(f"counts of {move}: expected move, proposed, accepted, null, seconds and "
                                 "last_accepted")
            if row["move"] != move:
                raise ValueError(f"counts of {row['move']} given for {move}")
            for name in COUNTED:
                check_count(f"counts of {move}: {name}", row[name], 0, MOST_COUNT)
            check_range(f"counts of {move}: seconds", row["seconds"], 0.0, MOST_SECONDS)
        for t, row in enumerate(rows):
            self.proposed[t] = row["proposed"]
            self.accepted[t] = self.noted[t] = row["accepted"]
            self.last_accepted[t] = row["last_accepted"]
            self.null_proposals[t] = row["null"]
            self.seconds[t] = row["seconds"]


cdef class ItemUpdates(Sampler):
    """Updates of single items, which are always accepted: all in turn, or one that is drawn; an abstract class."""

    OPTIONS = (
        Choice("scan", "full", "full: a step updates every item in turn; site: one item, drawn uniformly",
               choices=("full", "site")),
        *Sampler.OPTIONS,
    )
    STAYS = (CLUSTERS,)

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        self.full = self.options["scan"] == "full"
        self.scans = 0

    cdef Py_ssize_t update_items(self, Py_ssize_t first, Py_ssize_t n) except -1 nogil:
        """Update items first, ..., first + n - 1; returns how many changed their cluster."""
        return 0

    cdef int update(self, Py_ssize_t first, Py_ssize_t n) except -1 nogil:
        cdef Py_ssize_t changed = self.update_items(first, n)
        self.move = 0
        self.last_log_ratio = 0.0
        self.proposed[0] += n
        self.accepted[0] += changed
        return 0

    cdef int make_step(self) except -1 nogil:
        if self.full:
            return self.update(0, self.model.N)
        return self.update(self.rng.draw_index(self.model.N), 1)

    cdef Py_ssize_t parts(self) noexcept nogil:
        return 1 + (self.model.N - 1) // self.rng.part() if self.full else 1

    cdef int make_part(self, Py_ssize_t part) except -1 nogil:
        cdef Py_ssize_t items = self.rng.part()
        if not self.full:
            return self.make_step()
        return self.update(part * items, min(items, self.model.N - part * items))


cdef class PythonSampler(Sampler):
    """A sampler written in Python, to try out a move before it is compiled: slow, but verified and run like any other.

    A subclass names MOVES and TERMS and defines ``python_step``, which calls ``begin`` with the move's name and then
    either ``null_proposal`` or ``accepts`` with the log ratio; all random choices go through ``self.rng``.
    """

    cdef int make_step(self) except -1 nogil:
        with gil:
            self.python_step()
        return 0

    def python_step(self):
        """Make one step: the subclass's own."""
        raise TypeError(f"{type(self).__name__} defines no python_step")

    def begin(self, str move):
        """Start a move of this name."""
        self.propose(self.moves.index(move))

    def add(self, str name, double value):
        """Return what a named term adds to the log ratio; 0 when it is left out."""
        return self.term(self.TERMS.index(name), value)

    def accepts(self, double log_ratio):
        """Whether the proposal is accepted; a rejected one must be undone by the caller."""
        return bool(self.decide(log_ratio))

    def null_proposal(self):
        """There is no proposal: the state stays."""
        self.null()
