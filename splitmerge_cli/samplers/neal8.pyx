"""Auxiliary components: Algorithm 8 of Neal (2000), the "auxiliary variables" of van Rossum et al. 2018, Table 1.

An item chooses among the clusters, item i itself not counted, and m auxiliary ones whose parameters are drawn from
their prior H:

    P(c_i = c) proportional to  n_c p(y_i | theta_c),  and  (alpha / m) p(y_i | theta_a) of each auxiliary component

When the item is alone, its own parameters become the first auxiliary component and m - 1 others are drawn. The
algorithm's last step, an update of theta_c given the items of c, is the sampler `refresh`.

Where the parameters are integrated out, the m components are alike, and count as one of weight alpha: the algorithm is
then Gibbs sampling. The acceptance probability is 1. Cost: an item O(K + m) predictives.
"""
from splitmerge_cli._kernels cimport draw_label
from splitmerge_cli.core.capabilities cimport Uncollapsed
from splitmerge_cli.core.sampler cimport ItemUpdates

from splitmerge_cli.core.options import Count


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
