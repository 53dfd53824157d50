"""Mixture of products of Bernoulli attributes with Beta priors, probabilities integrated out.

p(x | z) = prod_k prod_d B(n_kd1 + beta1, n_kd0 + beta0) / B(beta1, beta0); z ~ Chinese restaurant process, or uniform
over partitions. Sources: papers 000, section 5.2, and 003, section 3.1.
"""
from libc.math cimport fabs, lgamma, log, log10
from libc.stdint cimport int32_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memcpy

import numpy as np

from splitmerge_cli._kernels cimport Model, doubles, exp_weights, release

cdef extern from *:
    """
    #include <stdint.h>
    #include <stddef.h>
    /* Eight clusters at a time: out[l] = prod_d (count[2 d + x_d][l] + beta[x_d]), with four partial products to hide
       the latency of a multiplication. Each lane rounds alike on every instruction set. */
    #if defined(__GNUC__)
    typedef double lanes_t __attribute__((vector_size(64), aligned(64)));
    static inline void product_of_lanes(const double *count, const uint8_t *x, ptrdiff_t D, ptrdiff_t cap,
                                        const double *beta, double *out)
    {
        lanes_t p0 = {1, 1, 1, 1, 1, 1, 1, 1}, p1 = p0, p2 = p0, p3 = p0;
        ptrdiff_t d = 0;
        const ptrdiff_t step = 2 * cap;
        for (; d + 4 <= D; d += 4) {
            p0 *= *(const lanes_t *)(count + (x[d] ? cap : 0)) + beta[x[d]];
            p1 *= *(const lanes_t *)(count + step + (x[d + 1] ? cap : 0)) + beta[x[d + 1]];
            p2 *= *(const lanes_t *)(count + 2 * step + (x[d + 2] ? cap : 0)) + beta[x[d + 2]];
            p3 *= *(const lanes_t *)(count + 3 * step + (x[d + 3] ? cap : 0)) + beta[x[d + 3]];
            count += 4 * step;
        }
        for (; d < D; d++) {
            p0 *= *(const lanes_t *)(count + (x[d] ? cap : 0)) + beta[x[d]];
            count += step;
        }
        *(lanes_t *)out = (p0 * p1) * (p2 * p3);
    }
    #else
    static void product_of_lanes(const double *count, const uint8_t *x, ptrdiff_t D, ptrdiff_t cap,
                                 const double *beta, double *out)
    {
        for (int l = 0; l < 8; l++) {
            double p[4] = {1, 1, 1, 1};
            ptrdiff_t d, full = D - D % 4;
            for (d = 0; d < D; d++)
                p[d < full ? d % 4 : 0] *= count[(2 * d + x[d]) * cap + l] + beta[x[d]];
            out[l] = (p[0] * p[1]) * (p[2] * p[3]);
        }
    }
    #endif
    """
    void product_of_lanes(const double *count, const uint8_t *x, Py_ssize_t D, Py_ssize_t cap,
                          const double *beta, double *out) noexcept nogil

PRIORS = ("crp", "uniform")


cdef class Bernoulli(Model):
    """Mixture of products of Bernoulli attributes.

    Parameters
    ----------
    x : array_like of 0 and 1, shape (N, D)
    concentration : float
        Of the Chinese restaurant process, positive.
    beta1, beta0 : float
        Beta prior of every attribute: pseudo-counts of ones and of zeros, positive.
    prior : {'crp', 'uniform'}
        Prior of the partition; `uniform` gives every partition the same probability and leaves `concentration` unused.

    Raises
    ------
    ValueError
        For data that are not binary or a parameter out of range.

    Notes
    -----
    Cost: an item against K clusters O(D K), in blocks of eight clusters; a cluster's likelihood O(D). Memory: N D
    bytes, 16 D (K + 3) for the counts, 60 bytes an item.
    A product over attributes stays a plain product while it cannot leave the range of a double (35 attributes at N =
    10,000); beyond that, it is taken in pieces whose logarithms are added.
    Source: paper 000, section 5.2; paper 003, section 3.1.
    """

    kind = "binary"

    cdef readonly Py_ssize_t D
    cdef readonly double concentration, beta1, beta0
    cdef readonly str prior
    cdef uint8_t *x                     # [N, D]
    cdef double *count                  # [D, 2, cap] items of a cluster with value v of attribute d; whole numbers
    cdef double beta[2]
    cdef double *power                  # [N + 2] (n + beta1 + beta0)^-D, where plain products serve; else to the -piece
    cdef double *log_den                # [N + 2] log(n + beta1 + beta0)
    cdef double *log_rise1              # [N + 2] log of beta1 (beta1 + 1) ... (beta1 + n - 1)
    cdef double *log_rise0
    cdef double *log_rise_all           # [N + 2] the same of beta1 + beta0
    cdef double *log_gamma              # [N + 2] log Gamma(n), n >= 1
    cdef double log_rising              # log of concentration (concentration + 1) ... : the prior's normaliser
    cdef double *lanes                  # [8] one block of a scan in pieces
    cdef bint is_uniform                # prior == 'uniform'
    cdef Py_ssize_t piece               # attributes whose product cannot leave the range of a double

    def __init__(self, x, double concentration=1.0, double beta1=0.1, double beta0=0.1, str prior="crp"):
        values = np.asarray(x)
        if values.ndim != 2 or values.size == 0:
            raise ValueError("x: expected a table of 0 and 1 with at least one row and one column")
        if not ((values == 0) | (values == 1)).all():
            raise ValueError("x: a value is neither 0 nor 1")
        for name, value in (("concentration", concentration), ("beta1", beta1), ("beta0", beta0)):
            if not 0 < value < float("inf"):
                raise ValueError(f"model.{name}: expected a positive number, got {value}")
        if prior not in PRIORS:
            raise ValueError(f"model.prior: expected one of {', '.join(PRIORS)}, got {prior!r}")
        cdef Py_ssize_t n, N = values.shape[0]
        cdef double both = beta1 + beta0, widest
        self.D = values.shape[1]
        self.concentration, self.beta1, self.beta0, self.prior = concentration, beta1, beta0, prior
        self.is_uniform = prior == "uniform"
        self.beta[0], self.beta[1] = beta0, beta1
        widest = max(fabs(log10(N + both)), fabs(log10(beta1)), fabs(log10(beta0)), fabs(log10(both)), 0.01)
        self.piece = max(1, <Py_ssize_t> (140.0 / widest))
        self._allocate(N, N)
        cdef uint8_t[:, ::1] v = np.ascontiguousarray(values, dtype=np.uint8)
        self.x = <uint8_t *> doubles(N * self.D // 8 + 1)
        memcpy(self.x, &v[0, 0], N * self.D)
        self.power = doubles(N + 2)
        self.log_den = doubles(N + 2)
        self.log_rise1 = doubles(N + 2)
        self.log_rise0 = doubles(N + 2)
        self.log_rise_all = doubles(N + 2)
        self.log_gamma = doubles(N + 2)
        self.lanes = doubles(8)
        for n in range(N + 2):
            self.log_den[n] = log(n + both)
            self.power[n] = (n + both) ** -<double> min(self.D, self.piece)
            self.log_rise1[n] = lgamma(n + beta1) - lgamma(beta1)
            self.log_rise0[n] = lgamma(n + beta0) - lgamma(beta0)
            self.log_rise_all[n] = lgamma(n + both) - lgamma(both)
            self.log_gamma[n] = lgamma(n) if n else 0.0
            if prior == "crp":
                self.alloc[n] = n if n else concentration
            else:
                self.alloc[n] = 1.0
            self.scan_table[n] = self.alloc[n] * self.power[n] if self.D <= self.piece else self.alloc[n]
        self.log_rising = lgamma(concentration + N) - lgamma(concentration)
        self.set_labels(np.zeros(N, dtype=np.int32))

    def __dealloc__(self):
        free(self.x)
        free(self.count)
        free(self.power)
        free(self.log_den)
        free(self.log_rise1)
        free(self.log_rise0)
        free(self.log_rise_all)
        free(self.log_gamma)
        free(self.lanes)

    # -- statistics
    cdef int grow(self, Py_ssize_t cap) except -1:
        cdef double *count = doubles(2 * self.D * cap)
        cdef Py_ssize_t r
        if self.count != NULL:
            for r in range(2 * self.D):
                memcpy(count + r * cap, self.count + r * self.cap, self.cap * sizeof(double))
            release(self.count)
        self.count = count
        return 0

    cdef void clear(self, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t r
        for r in range(2 * self.D):
            self.count[r * self.cap + k] = 0.0

    cdef void add(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t d
        cdef uint8_t *x = self.x + i * self.D
        cdef double *row = self.count + k
        for d in range(self.D):
            row[self.cap if x[d] else 0] += 1.0
            row += 2 * self.cap

    cdef void remove(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t d
        cdef uint8_t *x = self.x + i * self.D
        cdef double *row = self.count + k
        for d in range(self.D):
            row[self.cap if x[d] else 0] -= 1.0
            row += 2 * self.cap

    cdef void copy(self, Py_ssize_t src, Py_ssize_t dst) noexcept nogil:
        cdef Py_ssize_t r
        for r in range(2 * self.D):
            self.count[r * self.cap + dst] = self.count[r * self.cap + src]

    cdef void absorb(self, Py_ssize_t dst, Py_ssize_t src) noexcept nogil:
        cdef Py_ssize_t r
        for r in range(2 * self.D):
            self.count[r * self.cap + dst] += self.count[r * self.cap + src]

    # -- probabilities
    cdef double log_pred(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t d, end, start = 0
        cdef uint8_t *x = self.x + i * self.D
        cdef double *row = self.count + k
        cdef double p, total = -self.D * self.log_den[self.size[k]]
        while start < self.D:
            p = 1.0
            end = min(start + self.piece, self.D)
            for d in range(start, end):
                p *= row[self.cap if x[d] else 0] + self.beta[x[d]]
                row += 2 * self.cap
            total += log(p)
            start = end
        return total

    cdef double odds(self, Py_ssize_t i, Py_ssize_t a, Py_ssize_t b, Py_ssize_t own, bint sized) noexcept nogil:
        cdef Py_ssize_t d, step = 2 * self.cap, D = self.D
        cdef Py_ssize_t na = self.size[a] - (own == a), nb = self.size[b] - (own == b)
        cdef uint8_t *x = self.x + i * D
        cdef double *row = self.count
        cdef double *here
        cdef double beta[2]
        cdef double beta_a[2]
        cdef double pa = 1.0, pb = 1.0, qa = 1.0, qb = 1.0, r
        if D > self.piece:
            return Model.odds(self, i, a, b, own, sized)
        # The own contribution is one in every attribute's count.
        beta_a[0] = self.beta[0] - (own == a)
        beta_a[1] = self.beta[1] - (own == a)
        beta[0] = self.beta[0] - (own == b)
        beta[1] = self.beta[1] - (own == b)
        for d in range(0, D - 1, 2):
            here = row + (self.cap if x[d] else 0)
            pa *= here[a] + beta_a[x[d]]
            pb *= here[b] + beta[x[d]]
            here = row + step + (self.cap if x[d + 1] else 0)
            qa *= here[a] + beta_a[x[d + 1]]
            qb *= here[b] + beta[x[d + 1]]
            row += 2 * step
        if D & 1:
            here = row + (self.cap if x[D - 1] else 0)
            pa *= here[a] + beta_a[x[D - 1]]
            pb *= here[b] + beta[x[D - 1]]
        r = (pb * qb) * self.power[nb] / ((pa * qa) * self.power[na])
        if sized:
            r *= self.alloc[nb] / self.alloc[na]
        return r

    cdef void scan(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t k, d, own = self.z[i], n = self.size[own] - 1, D = self.D, cap = self.cap
        cdef uint8_t *x = self.x + i * D
        cdef double *row = self.count + own
        cdef double *w = self.w
        cdef double *W = self.W
        cdef double p = 1.0, q = 1.0
        cdef double beta[2]
        if D > self.piece:
            self.scan_in_pieces(i)
            return
        for k in range(0, self.K + 1, 8):
            product_of_lanes(self.count + k, x, D, cap, self.beta, w + k)
        for k in range((self.K + 8) & ~7):
            w[k] *= W[k]
        # The item's own cluster without it, which saves taking it out and putting it back.
        beta[0] = self.beta[0] - 1.0
        beta[1] = self.beta[1] - 1.0
        for d in range(0, D - 1, 2):
            p *= row[cap if x[d] else 0] + beta[x[d]]
            q *= row[2 * cap + (cap if x[d + 1] else 0)] + beta[x[d + 1]]
            row += 4 * cap
        if D & 1:
            p *= row[cap if x[D - 1] else 0] + beta[x[D - 1]]
        w[own] = p * q * self.scan_table[n]
        if n == 0:
            w[self.K] = 0.0

    cdef void scan_in_pieces(self, Py_ssize_t i) noexcept nogil:
        """``scan`` for many attributes: logarithms of products of `piece` attributes."""
        cdef Py_ssize_t k, own = self.z[i], m = self.K + 1, start, length
        cdef double *w = self.w
        cdef bint alone = self.size[own] == 1
        cdef Py_ssize_t block, lane
        self.leave(i, own)
        for k in range(m):
            w[k] = log(self.alloc[self.size[k]]) - self.D * self.log_den[self.size[k]]
        start = 0
        while start < self.D:
            length = min(self.piece, self.D - start)
            for block in range(0, m, 8):
                product_of_lanes(self.count + 2 * start * self.cap + block, self.x + i * self.D + start, length,
                                 self.cap, self.beta, self.lanes)
                for lane in range(min(8, m - block)):
                    w[block + lane] += log(self.lanes[lane])
            start += length
        self.join(i, own)
        exp_weights(w, m, w)
        if alone:
            w[m - 1] = 0.0

    cdef double cluster_log_lik(self, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t _d
        cdef double *row = self.count + k
        cdef double total = -self.D * self.log_rise_all[self.size[k]]
        for _d in range(self.D):
            total += self.log_rise0[<Py_ssize_t> row[0]] + self.log_rise1[<Py_ssize_t> row[self.cap]]
            row += 2 * self.cap
        return total

    cdef double log_union(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        cdef Py_ssize_t _d
        cdef double *row = self.count
        cdef double total = -self.D * self.log_rise_all[self.size[a] + self.size[b]]
        for _d in range(self.D):
            total += (self.log_rise0[<Py_ssize_t> (row[a] + row[b])]
                      + self.log_rise1[<Py_ssize_t> (row[self.cap + a] + row[self.cap + b])])
            row += 2 * self.cap
        return total

    cdef double log_prior(self, const int32_t *sizes, Py_ssize_t m, Py_ssize_t K) noexcept nogil:
        cdef Py_ssize_t t
        cdef double total
        if self.is_uniform:
            return 0.0
        total = K * log(self.concentration) - self.log_rising
        for t in range(m):
            total += self.log_gamma[sizes[t]]
        return total

    def prior_labels(self, generator):
        """A draw from the prior: (labels, K), ndarray of int32 of shape (N,) and int.

        A uniform partition is drawn exactly by Stam's urns: k urns with probability proportional to k^N / k!, an urn
        for each item, empty ones dropped.
        """
        cdef Py_ssize_t i
        if self.prior == "crp":
            labels = np.zeros(self.N, dtype=np.int32)
            counts: list = []
            for i in range(self.N):
                u = generator.random() * (i + self.concentration)
                # The seat of an earlier customer chosen uniformly, or a new table.
                labels[i] = labels[int(u)] if u < i else len(counts)
                if u >= i:
                    counts.append(i)
            return labels, len(counts)
        k = np.arange(1, self.N + 200)
        from scipy.special import gammaln
        log_p = self.N * np.log(k) - gammaln(k + 1)
        p = np.exp(log_p - np.logaddexp.reduce(log_p))
        urns = generator.integers(generator.choice(k, p=p / p.sum()), size=self.N)
        _, first, labels = np.unique(urns, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[labels].astype(np.int32), len(first)

    def statistics(self):
        """dict of ndarray: counts, shape (K, D, 2), a copy."""
        return {"counts": np.array([[[self.count[(2 * d + v) * self.cap + k] for v in range(2)] for d in range(self.D)]
                                    for k in range(self.K)])}
