"""Factors of covariance matrices: lower triangular, row after row without what is above the diagonal."""
from libc.math cimport log, sqrt

from splitmerge_cli.core.rng cimport Rng

cdef extern from *:
    """
    /* Sum of products, in four partial sums to hide the latency of an addition. */
    static inline double inner(const double *a, const double *b, ptrdiff_t n)
    {
        double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
        ptrdiff_t r = 0;
        for (; r + 4 <= n; r += 4) {
            s0 += a[r] * b[r];
            s1 += a[r + 1] * b[r + 1];
            s2 += a[r + 2] * b[r + 2];
            s3 += a[r + 3] * b[r + 3];
        }
        for (; r < n; r++)
            s0 += a[r] * b[r];
        return (s0 + s1) + (s2 + s3);
    }
    """
    double inner(const double *a, const double *b, Py_ssize_t n) noexcept nogil


cdef double factorise(double *a, Py_ssize_t D) noexcept nogil:
    """Cholesky factor of a packed positive definite matrix, in place, reciprocals on its diagonal; returns the log of
    the determinant."""
    cdef Py_ssize_t r, c
    cdef double total = 0.0, product = 1.0, v
    cdef double *row = a
    cdef double *col
    for r in range(D):
        col = a
        for c in range(r):
            row[c] = (row[c] - inner(row, col, c)) * col[c]
            col += c + 1
        v = row[r] - inner(row, row, r)
        product *= v
        if not 1e-200 < product < 1e200:
            total += log(product)
            product = 1.0
        row[r] = 1.0 / sqrt(v)
        row += r + 1
    return total + log(product)


cdef void solve_rows(const double *a, Py_ssize_t D, double[:, ::1] rows) noexcept nogil:
    """Put L^-1 r in place of each row r, the lower triangular L as `factorise` leaves it in `a`.

    No library: one that solves for a few rows with several threads waits for these a hundred times as long.
    """
    cdef Py_ssize_t n, i, j
    cdef const double *row
    cdef double total
    for n in range(rows.shape[0]):
        row = a
        for i in range(D):
            total = rows[n, i]
            for j in range(i):
                total = total - row[j] * rows[n, j]
            rows[n, i] = total * row[i]
            row = row + i + 1


cdef double draw_factor(Rng rng, Py_ssize_t D, double a, double kappa, double *work) noexcept nogil:
    """A lower triangular F with F'F the inverse of a covariance matrix, and a mean: work[:D] in place of m_n, F behind
    it, L and L^-1, of D (D + 1) / 2 numbers each. Returns the sum of the logs of the diagonal of F.

    F = A' L^-1, L the Cholesky factor of Psi_n in `work`, A upper triangular: on the diagonal roots of chi-squares
    of 2 a - D + 1, ..., 2 a degrees of freedom, above it standard normals (Bartlett 1933, from the last
    coordinate to the first). The mean is m_n + F^-1 z / sqrt(kappa). Without a generator what to expect.
    """
    cdef Py_ssize_t r, c, s, squares = D * (D + 1) // 2
    cdef double *mean = work
    cdef double *L = work + D
    cdef double *inverse = L + squares
    cdef double *F = inverse + squares
    cdef double *v = F + squares
    cdef double *row
    cdef double *into
    cdef double weight, total = 0.0
    for r in range(D):
        into = inverse + r * (r + 1) // 2
        row = L + r * (r + 1) // 2
        for c in range(r):
            into[c] = 0.0
        for s in range(r):
            for c in range(s + 1):
                into[c] -= row[s] * inverse[s * (s + 1) // 2 + c]
        for c in range(r):
            into[c] *= row[r]
        into[r] = row[r]
    for r in range(D):
        into = F + r * (r + 1) // 2
        weight = a - 0.5 * (D - 1 - r)
        weight = sqrt(2.0 * (weight if rng is None else rng.draw_gamma(weight)))
        for c in range(r + 1):
            into[c] = weight * inverse[r * (r + 1) // 2 + c]
        if rng is not None:
            for s in range(r):
                weight = rng.draw_normal()
                for c in range(s + 1):
                    into[c] += weight * inverse[s * (s + 1) // 2 + c]
        total += log(into[r])
    if rng is not None:
        for r in range(D):
            row = F + r * (r + 1) // 2
            v[r] = (rng.draw_normal() - inner(row, v, r)) / row[r]
        for r in range(D):
            mean[r] += v[r] / sqrt(kappa)
    return total
