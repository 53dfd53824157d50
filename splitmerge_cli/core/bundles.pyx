"""Items that are bundles of rows: any mixture whose statistics of a cluster are sums over rows.

A `Bundles` holds the model of all rows and uses its columns. What the rows of an item add to a cluster is a column,
too, so an item of more than one row has a column of its own, which is added to a cluster or taken out (``absorb``). An
item costs the same, however many rows it counts as.

*The prior* counts rows or items. With rows the posterior is exactly the posterior of the table with each row repeated,
given that rows of one item share a cluster:

    p(partition | data)  proportional to  f(K) prod_k g(m_k) L_k,      m_k: rows of cluster k

A sampler counts items, so the factors g(m_k) are counted with the likelihood L_k, and the prior of the items is f(K)
alone (`RowsCounted`). With items the prior is f(K) prod_k g(n_k), n_k items, and rows enter L_k alone.

*Apart.* A pair of items that may not share a cluster lowers the log likelihood of a cluster that holds both by so much
that no state with such a pair is ever accepted. All numbers stay finite, so that every proposal has a density.

Derivation: docs/derivations.md, "Bundles of rows".
"""
cimport cython
from libc.math cimport INFINITY, ceil, exp, exp2, log, log2
from libc.stdint cimport int8_t, int32_t, int64_t
from libc.string cimport memcpy, memset

from types import SimpleNamespace

import numpy as np

from splitmerge_cli.core.blocks cimport weigh_powers
from splitmerge_cli.core.memory cimport copy_ints
from splitmerge_cli.core.model cimport Model
from splitmerge_cli.core.near_pairs cimport NearPairs
from splitmerge_cli.core.prior cimport Prior
from splitmerge_cli.core.rng cimport Rng

from splitmerge_cli.core.options import read_options

cdef enum:
    # what a pair that is apart costs, in ranges of the log likelihood: the larger, the fewer digits are left next to it
    RANGES = 64

# largest weight of a scan below which weights may have lost digits
cdef double LEAST_WEIGHT = 1e-200


@cython.final
cdef class RowsCounted(Prior):
    """The prior of items where the likelihood counts the factors by rows of a cluster: f(K). `N` items; `rows`: the
    prior of the rows."""

    cdef Prior rows                     # the prior of the rows

    def __init__(self, Py_ssize_t N, Prior rows not None):
        self.rows, self.by_count = rows, True
        self.set_tables(SimpleNamespace(weight=np.ones(N + 2), log_size=np.zeros(N + 2)))
        self.name_hyperparameters(rows.hyperparameters)
        self.take_values()

    cdef void take_values(self) noexcept nogil:
        self.concentration = self.rows.concentration
        memcpy(self.value, self.rows.value, sizeof(self.value))

    cdef double log_count(self, Py_ssize_t K) noexcept nogil:
        return self.rows.log_count(K)

    cdef double new_weight(self, Py_ssize_t K) noexcept nogil:
        return self.rows.new_weight(K) * exp(-self.rows.log_size[1])

    cdef double log_density(self) noexcept nogil:
        return self.rows.log_density()

    def set_value(self, str name, double value):
        self.rows.set_value(name, value)
        self.take_values()

    @property
    def present(self):
        return self.rows.present

    def with_items(self, N):
        return RowsCounted(N, self.rows)


@cython.final
cdef class Bundles(Model):
    """A mixture of items that are bundles of rows. `rows`: the model of all rows, each repeated as often as it counts,
    whose statistics are sums over rows. `bundles`, a ``data.bundles.Bundles``: the item of each row before any is
    repeated, how often each counts, and items that are apart. `prior`: of the partition of items; without one the prior
    of `rows` counts rows.

    Cost: an item that is one row and counts once costs what it costs without bundles; another one costs a union of two
    columns for each cluster. Items that are apart from others: a change of a cluster costs as many steps as there are
    such items. Memory: a column of statistics for each item of more than one row, and what `rows` needs.
    """

    cdef readonly Model rows            # the model of all rows: its columns hold the statistics
    cdef Prior of_rows                  # whose factors by size the likelihood counts; None if the prior counts items
    cdef Py_ssize_t banked              # items with a column of their own in `rows`, behind the `cap` first ones
    cdef int32_t *slot                  # [N] place of an item there; -1 of a row that counts once
    cdef int32_t *row                   # [N] its first row in `rows`
    cdef int32_t *mass                  # [N] rows that it counts as
    cdef double *power                  # [cap] log predictives of an item
    cdef bint behind                    # the weights of `rows` are behind
    cdef bint plain                     # the prior's factors are counted with its weights, not with the likelihood
    # -- items that may not share a cluster
    cdef Py_ssize_t L                   # items that are apart from any
    cdef int32_t *link                  # [N] number of such an item, -1 of others
    cdef int32_t *apart_begin           # [L + 1]
    cdef int32_t *apart                 # [pairs, both ways] numbers of items
    cdef int32_t *partners              # [cap, L] items of a column that an item is apart from
    cdef int8_t *holds                  # [cap, L] whether a column holds the item
    cdef int64_t *conflicts             # [cap] pairs of a column that are apart
    cdef double penalty                 # by which each lowers its log likelihood

    def __init__(self, Model rows not None, bundles, Prior prior=None):
        cdef Py_ssize_t i
        if rows.why_not_added:
            raise ValueError(rows.why_not_added)
        self.rows = rows
        counts, items = bundles.counts, bundles.items
        N = bundles.n_items
        mass = bundles.mass
        if mass.sum() != rows.N:
            raise ValueError(f"bundles: {mass.sum()} rows, but the model has {rows.N}")
        self.items = items
        starts = np.concatenate([[0], np.cumsum(counts)])[bundles.first_rows]
        self.slot, self.row, self.mass = self.memory.ints(N), self.memory.ints(N), self.memory.ints(N)
        for i in range(N):
            self.row[i], self.mass[i] = starts[i], mass[i]
            self.slot[i] = <int32_t> self.banked if mass[i] > 1 else -1
            self.banked += mass[i] > 1
        if isinstance(rows.vectors, np.ndarray):
            # the mean of its rows
            self.vectors = np.zeros((N, rows.vectors.shape[1]))
            np.add.at(self.vectors, items.repeat(counts), rows.vectors / mass[items.repeat(counts), None])
        self._take_apart(N, bundles.pairs_apart)
        if rows.near_pairs is not None:
            of_rows = items.repeat(counts)[rows.near_pairs.pairs]
            apart = of_rows[:, 0] != of_rows[:, 1]
            odds = rows.near_pairs.odds
            self.near_pairs = NearPairs(of_rows[apart], N, rows.near_pairs.share, None if odds is None else odds[apart])
        # the columns of items are filled before any item is counted
        self._allocate(N, N)
        self._fill_bank(np.repeat(items, counts), mass)
        if prior is None:
            self.of_rows = rows.prior
            prior = RowsCounted(N, rows.prior)
        self._set_prior(prior)
        if self.L:
            self._set_penalty()
        self.set_labels(self.keep_apart(np.zeros(N, dtype=np.int32)))

    cdef int _take_apart(self, Py_ssize_t N, pairs) except -1:
        """Take pairs of items that may not share a cluster."""
        cdef Py_ssize_t t
        linked = np.unique(pairs)
        self.L = len(linked)
        self.link = self.memory.ints(N)
        memset(self.link, 255, N * sizeof(int32_t))
        for t in range(self.L):
            self.link[<Py_ssize_t> linked[t]] = <int32_t> t
        both = np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0)
        begin = np.searchsorted(both[:, 0], linked, side="left")
        self.apart_begin, self.apart = self.memory.ints(self.L + 1), self.memory.ints(max(len(both), 1))
        for t in range(self.L):
            self.apart_begin[t] = begin[t]
        self.apart_begin[self.L] = len(both)
        for t in range(len(both)):
            self.apart[t] = both[t, 1]
        return 0

    cdef int _fill_bank(self, items, mass) except -1:
        """Fill the columns of items: each counts the rows of its item."""
        cdef Py_ssize_t t, k
        cdef const int32_t[::1] item = np.ascontiguousarray(items, dtype=np.int32)
        for t in range(self.banked):
            self.rows.scratch(self.cap + t)
        for t in range(item.shape[0]):
            k = self.slot[item[t]]
            if k >= 0:
                self.rows.join(t, self.cap + k)
        return 0

    cdef int _set_penalty(self) except -1:
        """Set the penalty: far beyond what any change of the partition adds to the log likelihood."""
        cdef double span = 16.0
        for labels in (np.zeros(self.N, dtype=np.int32), np.arange(self.N, dtype=np.int32)):
            Model.set_labels(self, labels)
            span += sum(abs(self.lik(k)) for k in range(self.K))
        self.penalty = exp2(ceil(log2(RANGES * span)))
        return 0

    def keep_apart(self, labels):
        """The labels of items, ndarray of int32 of shape (N,), with items that are apart in different clusters: one
        that shares the cluster of an earlier item goes to the next cluster that holds none of the items it is apart
        from, which may be a new one; to a new one where items have near pairs, as most clusters hold strangers."""
        cdef Py_ssize_t i, t, number
        chosen = np.array(labels, dtype=np.int32)
        K = int(chosen.max()) + 1
        for i in range(self.N):
            number = self.link[i]
            if number < 0:
                continue
            taken = {int(chosen[self.apart[t]])
                     for t in range(self.apart_begin[number], self.apart_begin[number + 1]) if self.apart[t] < i}
            if chosen[i] in taken:
                new = (K,) if self.near_pairs is not None and K < self.largest_K else ()
                others = (*new, *range(chosen[i] + 1, K), *range(chosen[i]), K)
                chosen[i] = next(k for k in others if k not in taken)
                K = max(K, chosen[i] + 1)
        return np.unique(chosen, return_inverse=True)[1].astype(np.int32) if not self.allows_empty else chosen

    def separate(self):
        """Move items that share a cluster with one that they are apart from, as in ``keep_apart``."""
        if self.L:
            self.set_labels(self.keep_apart(self.labels))

    def set_labels(self, labels, K=None):
        """Set the partition; labels of all rows, before any is repeated, do as well as labels of items. A ValueError as
        of ``Model.set_labels``, and for rows of one item with different labels."""
        chosen = np.asarray(labels)
        if chosen.shape == self.items.shape and chosen.shape != (self.N,):
            first = np.unique(self.items, return_index=True)[1]
            of_items = chosen[first]
            if (other := np.flatnonzero(of_items[self.items] != chosen)).size:
                i = int(other[0])
                raise ValueError(f"labels: rows {int(first[self.items[i]]) + 1} and {i + 1} are one item, but have "
                                 "different labels")
            chosen = of_items
        Model.set_labels(self, chosen, K)

    # -- statistics: the columns of `rows`
    cdef int grow(self, Py_ssize_t cap) except -1:
        cdef Py_ssize_t t, old = self.cap
        # one more, for a cluster without an item
        self.rows._reserve(cap + self.banked + 1)
        self.power = <double *> self.memory.larger(self.power, 8 * old, 8 * cap)
        # the largest first, since they may overlap
        for t in range(self.banked - 1, -1, -1):
            if old:
                self.rows.copy_column(old + t, cap + t)
        self.partners = <int32_t *> self.memory.larger(self.partners, 4 * old * self.L, 4 * cap * self.L)
        self.holds = <int8_t *> self.memory.larger(self.holds, old * self.L, cap * self.L)
        self.conflicts = <int64_t *> self.memory.larger(self.conflicts, 8 * old, 8 * cap)
        for t in range(old, cap):
            self.rows.scratch(t)
        return 0

    cdef void clear(self, Py_ssize_t k) noexcept nogil:
        self.behind = True
        self.rows.scratch(k)
        if self.L:
            memset(self.partners + k * self.L, 0, 4 * self.L)
            memset(self.holds + k * self.L, 0, self.L)
            self.conflicts[k] = 0

    cdef void tell(self, Py_ssize_t i, Py_ssize_t k, int sign) noexcept nogil:
        cdef Py_ssize_t t, number = self.link[i], column = self.cap + self.slot[i]
        cdef int32_t *partners = self.partners + k * self.L
        if self.slot[i] < 0:
            if sign > 0:
                self.rows.join(self.row[i], k)
            else:
                self.rows.leave(self.row[i], k)
        else:
            self.rows.absorb(k, column, sign)
            self.rows.size[k] = self.rows.size[k] + sign * self.mass[i]
            self.rows.is_valid[k] = False
        if k < self.K:
            self.rows.update_prior_weight(k)
        if number >= 0:
            self.conflicts[k] += sign * partners[number]
            self.holds[k * self.L + number] = sign > 0
            for t in range(self.apart_begin[number], self.apart_begin[number + 1]):
                partners[self.link[self.apart[t]]] += sign

    cdef void copy(self, Py_ssize_t src, Py_ssize_t dst) noexcept nogil:
        self.behind = True
        self.rows.copy_column(src, dst)
        if self.L:
            memcpy(self.partners + dst * self.L, self.partners + src * self.L, 4 * self.L)
            memcpy(self.holds + dst * self.L, self.holds + src * self.L, self.L)
            self.conflicts[dst] = self.conflicts[src]

    cdef void absorb(self, Py_ssize_t dst, Py_ssize_t src, int sign) noexcept nogil:
        cdef Py_ssize_t t
        self.behind = True
        self.rows.absorb_column(dst, src, sign)
        # clusters are made one only where no item of one is apart from one of the other: no state has conflicts
        for t in range(self.L):
            self.partners[dst * self.L + t] += sign * self.partners[src * self.L + t]
            self.holds[dst * self.L + t] += <int8_t> (sign * self.holds[src * self.L + t])

    cdef int64_t conflicts_between(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """Pairs that are apart, one of each in either column."""
        cdef Py_ssize_t t
        cdef int64_t total = 0
        for t in range(self.L):
            if self.holds[b * self.L + t]:
                total += self.partners[a * self.L + t]
        return total

    # -- probabilities
    cdef double log_factor(self, Py_ssize_t rows) noexcept nogil:
        """log g of so many rows, where the prior counts rows."""
        return 0.0 if self.of_rows is None or not rows else self.of_rows.log_size[rows]

    cdef double cluster_log_lik(self, Py_ssize_t k) noexcept nogil:
        cdef double total = self.rows.lik(k) + (0.0 if self.plain else self.log_factor(self.rows.size[k]))
        return total - self.penalty * self.conflicts[k] if self.L else total

    cdef double log_union(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        cdef double total = self.rows.log_union(a, b) + self.log_factor(self.rows.size[a] + self.rows.size[b])
        if self.L:
            total -= self.penalty * (self.conflicts[a] + self.conflicts[b] + self.conflicts_between(a, b))
        return total

    cdef double log_pred(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t rows = self.rows.size[k]
        cdef double total = 0.0 if self.plain else self.log_factor(rows + self.mass[i]) - self.log_factor(rows)
        if self.slot[i] < 0:
            total += self.rows.log_pred(self.row[i], k)
        else:
            total += self.rows.log_union(k, self.cap + self.slot[i]) - self.rows.lik(k)
        if self.link[i] >= 0:
            total -= self.penalty * self.partners[k * self.L + self.link[i]]
        return total

    cdef double log_weight(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t rows = self.rows.size[k]
        cdef double total = Model.log_weight(self, i, k)
        if not self.plain:
            return total
        # the prior's probability given that the item stays apart from others
        if self.link[i] >= 0 and self.partners[k * self.L + self.link[i]]:
            return -INFINITY
        return total + self.log_factor(rows + self.mass[i]) - self.log_factor(rows)

    # -- an item that is one row: as the model of rows scores it
    cdef double odds(self, Py_ssize_t i, Py_ssize_t a, Py_ssize_t b, Py_ssize_t own, bint sized) noexcept nogil:
        cdef Py_ssize_t in_a, in_b
        cdef double r
        if self.slot[i] >= 0 or self.link[i] >= 0:
            return Model.odds(self, i, a, b, own, sized)
        r = self.rows.odds(self.row[i], a, b, own, False)
        if not self.plain:
            in_a, in_b = self.rows.size[a] - (own == a), self.rows.size[b] - (own == b)
            r *= exp(self.log_factor(in_b + 1) - self.log_factor(in_b) - self.log_factor(in_a + 1)
                     + self.log_factor(in_a))
        return r * self.weight_of(b, own == b) / self.weight_of(a, own == a) if sized else r

    cdef void count_changed(self) noexcept nogil:
        self.behind = True
        Model.count_changed(self)

    cdef void begin_scan(self) noexcept nogil:
        self.behind = True
        Model.begin_scan(self)

    cdef void score_bundle(self, Py_ssize_t i, Py_ssize_t own) noexcept nogil:
        """power[k]: log predictive of an item with its own column in cluster k without it, or in a new one."""
        cdef Py_ssize_t k, bank = self.cap + self.slot[i], others = self.cap + self.banked, rows
        if own < 0:
            self.rows.log_unions(bank, 0, self.K + 1, self.power)
        else:
            # with its own cluster the item would count twice, and there may be more rows than tables reach
            self.rows.log_unions(bank, 0, own, self.power)
            self.rows.log_unions(bank, own + 1, self.K - own, self.power + own + 1)
            # the cluster without the item
            self.rows.copy_column(own, others)
            self.rows.absorb(others, bank, -1)
            self.rows.size[others] = self.rows.size[others] - self.mass[i]
            self.rows.is_valid[others] = False
            self.power[own] = self.rows.lik(own)
        for k in range(self.K + 1):
            rows = self.rows.size[k] - (self.mass[i] if k == own else 0)
            self.power[k] += (self.log_factor(rows + self.mass[i]) - self.log_factor(rows)
                              - self.rows.lik(others if k == own else k))
            if self.link[i] >= 0:
                self.power[k] -= self.penalty * self.partners[k * self.L + self.link[i]]

    cdef void catch_up(self) noexcept nogil:
        """Bring the weights in `rows` up to date."""
        self.rows.K = self.K
        self.rows.count_changed()
        self.rows.begin_scan()
        memset(self.rows.W + self.K + 1, 0, (self.cap - self.K - 1) * sizeof(double))
        self.behind = False

    cdef void scan(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t k, own = self.z[i]
        cdef double largest = 0.0
        if self.slot[i] >= 0:
            self.score_bundle(i, own)
            weigh_powers(self, self.power, own)
            return
        if self.behind:
            self.catch_up()
        self.rows.z[self.row[i]] = <int32_t> own
        self.rows.scan(self.row[i])
        memcpy(self.w, self.rows.w, self.options() * sizeof(double))
        if self.of_rows is None:
            for k in range(self.options()):
                if self.w[k] > 0.0:
                    self.w[k] *= self.weight_of(k, own == k) / self.rows.weight_of(k, own == k)
        if self.link[i] >= 0:
            for k in range(self.K):
                if self.partners[k * self.L + self.link[i]]:
                    self.w[k] = 0.0
        if self.link[i] >= 0 or self.of_rows is None:
            for k in range(self.options()):
                largest = max(largest, self.w[k])
            # next to a cluster that is ruled out here alone all others may have left the range of a double
            if largest < LEAST_WEIGHT:
                Model.scan(self, i)

    cdef double log_lik_all(self) noexcept nogil:
        """The log likelihood of the rows alone."""
        cdef Py_ssize_t k
        cdef double total = 0.0
        for k in range(self.K):
            total += self.rows.lik(k)
        return total + self.rows.log_lik_aside

    cdef double log_prior_all(self) noexcept nogil:
        cdef Py_ssize_t k
        cdef double total = Model.log_prior_all(self)
        for k in range(self.K):
            total += self.log_factor(self.rows.size[k])
            if self.L:
                total -= self.penalty * self.conflicts[k]
        return total

    # -- what the rows have in common
    cdef void forget(self) noexcept nogil:
        """Forget the likelihoods of all columns, and weights."""
        self.behind = True
        memset(self.is_valid, 0, self.cap)
        memset(self.rows.is_valid, 0, self.rows.cap)

    cdef Py_ssize_t refresh_parameters(self, Rng rng) noexcept nogil:
        cdef Py_ssize_t changed
        self.rows.K = self.K
        changed = self.rows.refresh_parameters(rng)
        self.forget()
        return changed

    cdef bint same_parameters(self, Model other, const int32_t *twin) noexcept nogil:
        return self.rows.same_parameters((<Bundles> other).rows, twin)

    cdef int resample_hyperparameter(self, Rng rng, Py_ssize_t t) except -1 nogil:
        if self.of_rows is None:
            return Model.resample_hyperparameter(self, rng, t)
        self.of_rows.resample(rng, t, self.rows.size, self.K)
        self.tables_changed()
        return 0

    cdef void tables_changed(self) noexcept nogil:
        """Where the prior counts rows, the model of rows has it, too, and clusters have its factors."""
        if self.of_rows is not None:
            (<RowsCounted> self.prior).take_values()
            self.rows.K = self.K
            self.rows.tables_changed()
            self.forget()
        Model.tables_changed(self)

    cdef Py_ssize_t write_hyperparameters(self, double *out) noexcept nogil:
        cdef Py_ssize_t t, of_prior = self.rows.prior.n_hyperparameters, all_of_them
        all_of_them = self.rows.write_hyperparameters(out)
        for t in range(of_prior):
            out[t] = self.prior.value[t]
        return all_of_them

    cdef double log_extra(self) noexcept nogil:
        return self.rows.log_extra() - self.rows.prior.log_density() + self.prior.log_density()

    @property
    def hyperparameters(self):
        """tuple of str: of the model of rows."""
        return self.rows.hyperparameters

    @property
    def refreshes(self):
        """bool: of the model of rows."""
        return self.rows.refreshes

    @property
    def parameters(self):
        """ndarray: ``parameters`` of the model of rows."""
        return self.rows.parameters

    @property
    def recorded_parameters(self):
        """ndarray: ``recorded_parameters`` of the model of rows."""
        return self.rows.recorded_parameters

    def set_parameters(self, values):
        """Set ``parameters`` of the model of rows."""
        self.rows.set_parameters(values)
        self.forget()

    def prior_labels(self, generator):
        """A start: items one after the other, by the prior's weights of the rows, none next to one it is apart from."""
        cdef Py_ssize_t i
        if self.of_rows is None:
            labels = self.prior.draw(generator)[0]
        else:
            labels, rows = np.zeros(self.N, dtype=np.int32), []
            for i in range(self.N):
                weights = [self.log_factor(n + self.mass[i]) - self.log_factor(n) for n in rows]
                weights.append(log(self.prior.new_weight(len(rows))) + self.log_factor(self.mass[i]))
                p = np.exp(np.array(weights) - max(weights))
                k = int(generator.choice(len(p), p=p / p.sum()))
                labels[i] = k
                rows[k:k + 1] = [self.mass[i] + (rows[k] if k < len(rows) else 0)]
        labels = self.keep_apart(labels)
        return labels, int(labels.max()) + 1

    def left_out_predictive(self):
        self.plain = True
        try:
            return Model.left_out_predictive(self)
        finally:
            self.plain = False

    def log_predictive(self, Py_ssize_t first):
        """As of any model, for the items from `first` on. Where the prior counts rows, a new item counts as its rows;
        `log_weight` has a row for each new item, if one has several rows."""
        cdef Py_ssize_t k, rows, m = self.K - 1
        log_density, log_weight = Model.log_predictive(self, first)
        if self.of_rows is None:
            return log_density, log_weight
        masses, place = np.unique([self.mass[i] for i in range(first, self.N)], return_inverse=True)
        weights = np.empty((len(masses), m + 1))
        for t, mass in enumerate(masses.tolist()):
            for k in range(m):
                rows = self.rows.size[k]
                weights[t, k] = self.log_factor(rows + <Py_ssize_t> mass) - self.log_factor(rows)
            whole = self.of_rows.with_items(self.rows.N - self.rows.size[m] + mass)
            weights[t, m] = log((<Prior> whole).new_weight(m)) + self.log_factor(mass) - self.log_factor(1)
        weights -= np.logaddexp.reduce(weights, axis=1, keepdims=True)
        return log_density, weights[place] if masses.max() > 1 else weights[0]

    def log_densities(self, Py_ssize_t first):
        """Densities as the model of rows has them for an item that is one row; of several, from likelihoods."""
        cdef Py_ssize_t i
        self.catch_up()
        density = self.rows.log_densities(self.row[first])
        mass = np.array([self.mass[i] for i in range(first, self.N)])
        density = density[np.cumsum(mass) - mass]
        if (mass > 1).any():
            self.plain = True
            density[mass > 1] = Model.log_densities(self, first)[mass > 1]
            self.plain = False
        return density

    @property
    def zeta(self):
        """float: the power of the likelihood."""
        return getattr(self.rows, "zeta", 1.0)

    @property
    def row_sizes(self):
        """ndarray of int32, shape (K,): rows in each cluster, a copy."""
        return copy_ints(self.rows.size, self.K)


def build(cls, dataset, options, whole=None):
    """Return the model of a Dataset with bundles; or of the items of `whole`, with options as on `dataset` (see
    ``Model.with_new``). `cls`: the model of the rows; `whole`: the items of `dataset`, and new ones behind them."""
    bundles = dataset.bundles if whole is None else whole.bundles
    if options.get("tails") == "t":
        raise ValueError("model.tails=t: rows of one item are added up, but with these tails each row has a weight of "
                         "its own; expected model.tails=normal")
    given = read_options("model", cls.OPTIONS, options)
    if bundles.unit != 1.0:
        if "power" not in given:
            raise ValueError("data.weights: fractions are a power of the likelihood, which this model does not have; "
                             "expected whole numbers")
        options = {**options, "power": given["power"] * bundles.unit}
    if whole is None:
        rows = cls.from_data(dataset.with_repeats, **options)
    elif len(np.unique(bundles.items[dataset.N:])) == whole.N - dataset.N:
        rows = cls.with_new(dataset.with_repeats, whole.with_repeats, **options)
    elif float(options.get("power", given.get("power", 1.0))) != 1.0:
        raise ValueError("data.group: rows of a new unit have no joint density under a power of the likelihood "
                         "(model.power, fractions of data.weights); expected new rows without units")
    else:
        # models may keep new rows aside, out of columns, but rows of a new item are added up in one
        rows = cls.with_more(dataset.with_repeats, whole.with_repeats, **options)
    prior = None
    if bundles.prior_counts == "items" and "prior" in given:
        prior = given["prior"].build(bundles.n_items, given["concentration"])
    model = Bundles(rows, bundles, prior)
    if whole is None and model.L:
        _require_room(model, given)
    return model


def _require_room(Bundles model, options):
    """Raise a ValueError if the prior allows too few clusters for a chain to reach every partition that keeps items
    apart: moves of one item do where there are two more clusters than items that one is apart from, or where all items
    that are apart from any are apart from each other, which leaves them one place each."""
    partners = np.diff([model.apart_begin[t] for t in range(model.L + 1)])
    most = int(partners.max())
    needed = model.L if partners.min() == model.L - 1 else most + 2
    if model.largest_K < needed:
        raise ValueError(
            f"model.prior={options['prior']}: at most {model.largest_K} clusters, but an item stays apart from {most} "
            f"others; expected a prior of {needed} clusters or more (data.cannot_link, data.labels)"
        )
