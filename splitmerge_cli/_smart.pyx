"""Smart proposals of paper 000, shared by SDDS and SS: what to split, what to merge with, and both probabilities.

Each is the line of Algorithm 2 or 3 that its docstring names. A forward choice draws; its reverse is computed in the
state that the move would lead to.
"""
from libc.math cimport exp, fabs, log1p

from splitmerge_cli._kernels cimport SplitMerge, exp_weights, log_sum_exp


cdef class SmartMoves(SplitMerge):
    """Smart split (Algorithm 2, lines 3-7) and smart merge (Algorithm 3, lines 3-5), with their probabilities."""

    TERMS = ("target", "labels", "forward", "reverse")
    DIVIDES_WEIGHTS = True

    cdef Py_ssize_t choose_split(self, double *log_f) except -1 nogil:
        """Algorithm 2, line 5: a cluster c with probability proportional to 1/g(c); `log_f` becomes its logarithm."""
        cdef Py_ssize_t k, c, K = self.model.K
        cdef double log_W
        self.need(K)
        for k in range(K):
            self.lw[k] = -self.model.lik(k)
        log_W = exp_weights(self.lw, K, self.lw + K)
        c = self.rng.draw_categorical(self.lw + K, K)
        log_f[0] = self.lw[c] - log_W
        return c

    cdef Py_ssize_t draw_smart_split(self, Py_ssize_t *n, double *log_q) except -2 nogil:
        """Algorithm 2, lines 4-7: a cluster, and its n items on two sides, in scratch columns K and K + 1.

        `log_q` becomes log f_split + log p_seq. Returns -1 when a side must not be empty but is.
        """
        cdef Py_ssize_t a = self.model.K, b = self.model.K + 1
        cdef double log_f
        cdef Py_ssize_t c = self.choose_split(&log_f)
        self.stage_two(c, c)
        n[0] = self.model.members(c, c, self.items)
        log_q[0] = log_f + self.allocate(n[0], a, b, False, False)
        return -1 if self.side_empty(a, b) else c

    cdef double log_f_split_of_union(self, Py_ssize_t i, Py_ssize_t j) except? -1 nogil:
        """log f_split of the union of clusters i and j in the state where they are merged."""
        cdef Py_ssize_t k, n = 0
        self.need(self.model.K)
        for k in range(self.model.K):
            if k != i and k != j:
                self.lw[n] = -self.model.lik(k)
                n += 1
        self.lw[n] = -self.model.log_pair_lik(i, j)
        return self.lw[n] - log_sum_exp(self.lw, n + 1)

    cdef double log_p_seq_of_pair(self, Py_ssize_t i, Py_ssize_t j) except? -1 nogil:
        """log probability that the sequential allocation of the union gives clusters i and j, in this order."""
        cdef Py_ssize_t t, n = self.model.members(i, j, self.items)
        self.model.reserve(self.model.K)
        self.stage_two(i, j)
        for t in range(n):
            self.in_a[t] = self.model.z[self.items[t]] == i
        return self.allocate(n, self.model.K, self.model.K + 1, True, False)

    cdef Py_ssize_t choose_partner(self, Py_ssize_t i) except -1 nogil:
        """Algorithm 3, line 5: cluster j with probability proportional to g(i u j)/g(i)."""
        cdef Py_ssize_t k, n = 0
        cdef double *w
        self.need(self.model.K)
        w = self.lw + self.model.K
        for k in range(self.model.K):
            if k != i:
                self.lw[n] = self.model.log_pair_lik(i, k)
                n += 1
        exp_weights(self.lw, n, w)
        n = self.model.K - 1
        while n > i:
            w[n] = w[n - 1]
            n -= 1
        w[i] = 0.0
        return self.rng.draw_categorical(w, self.model.K)

    cdef double log_f_merge_both(self, Py_ssize_t a, Py_ssize_t b, double log_union_ab,
                                 Py_ssize_t skip) except? -1 nogil:
        """log [f(b given a) + f(a given b)] in the state of all clusters but `skip`, together with a and b (which may
        be scratch)."""
        cdef Py_ssize_t k, side, n, s
        cdef double r[2]
        self.need(self.model.K)
        for side in range(2):
            s = b if side else a
            self.lw[0] = log_union_ab
            n = 1
            for k in range(self.model.K):
                if k != a and k != b and k != skip:
                    self.lw[n] = self.model.log_pair_lik(s, k)
                    n += 1
            r[side] = log_union_ab - log_sum_exp(self.lw, n)
        return max(r[0], r[1]) + log1p(exp(-fabs(r[0] - r[1])))

    cdef bint side_empty(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        return not self.model.allows_empty and (self.model.size[a] == 0 or self.model.size[b] == 0)
