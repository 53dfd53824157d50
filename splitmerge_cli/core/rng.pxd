# What a sampler or a model may ask of a generator. See docs/design.md.
cimport cython
from libc.math cimport exp, log
from libc.stdint cimport int32_t
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport random_beta, random_standard_gamma, random_standard_normal


cdef enum:
    FEW = 16                            # options of a draw that is made without a branch


@cython.final
cdef class Rng:
    cdef readonly object bit_generator  # the NumPy PCG64DXSM whose stream this is
    cdef bitgen_t *bg                   # its C interface
    cdef bint scripted                  # choices follow a script in place of the stream (verify)
    cdef bint always_accept             # scripted only: accept() says yes and adds no factor: proposals alone
    cdef double path                    # scripted: probability of the choices made since script_begin
    cdef Py_ssize_t depth, length, room  # scripted: choices made; choices known; size of the two arrays
    cdef int32_t *choice                # scripted: the option taken at each depth
    cdef int32_t *following             # scripted: the next option of positive probability, or -1
    cdef bint continuous                # scripted: a draw was made that has no list of options
    cdef bint threshold_drawn           # the decision under way has passed an upper bound of its log ratio
    cdef double threshold               # log u of that decision; scripted: the bound that it passed
    cdef readonly bint halted           # long scans end at once; the state that they leave is thrown away

    cdef Py_ssize_t scripted_choice(self, const double *w, Py_ssize_t m, double total) noexcept nogil

    @cython.final
    cdef inline double next(self) noexcept nogil:
        return self.bg.next_double(self.bg.state)

    @cython.final
    cdef inline double draw_normal(self) noexcept nogil:
        """Standard normal."""
        if self.scripted:
            self.continuous = True
            return 0.0
        return random_standard_normal(self.bg)

    @cython.final
    cdef inline double draw_gamma(self, double shape) noexcept nogil:
        """Gamma of this shape and scale 1."""
        if self.scripted:
            self.continuous = True
            return shape
        return random_standard_gamma(self.bg, shape)

    @cython.final
    cdef inline double draw_beta(self, double a, double b) noexcept nogil:
        if self.scripted:
            self.continuous = True
            return a / (a + b)
        return random_beta(self.bg, a, b)

    @cython.final
    cdef inline Py_ssize_t draw_index(self, Py_ssize_t n) noexcept nogil:
        """Uniform on 0..n-1."""
        if self.scripted:
            return self.scripted_choice(NULL, n, <double> n)
        return <Py_ssize_t> (self.next() * n)

    @cython.final
    cdef inline void draw_two(self, Py_ssize_t n, Py_ssize_t *i, Py_ssize_t *j) noexcept nogil:
        """Two different ones of 0..n-1, every ordered pair as likely as another; n at least 2."""
        i[0] = self.draw_index(n)
        j[0] = self.draw_index(n - 1)
        j[0] += j[0] >= i[0]

    @cython.final
    cdef inline bint draw_coin(self, double p) noexcept nogil:
        """True with probability p."""
        cdef double w[2]
        if self.scripted:
            w[0] = p
            w[1] = 1.0 - p
            return self.scripted_choice(w, 2, 1.0) == 0
        return self.next() < p

    @cython.final
    cdef inline bint draw_bound(self, double log_bound) noexcept nogil:
        """First stages of a Metropolis-Hastings decision: whether the proposal survives this upper bound of its log
        ratio, which may be called again with ever lower bounds; ``draw_accept`` makes the last stage.

        u < r decides; since r <= bound, u >= bound rejects early. It is one draw for all stages. Scripted, a stage is
        a choice of probability bound / the bound before: the same law, by the same code.
        """
        cdef double before = 0.0
        if (self.scripted and self.always_accept) or not log_bound < -1e-12:
            return True
        if self.scripted:
            if self.threshold_drawn:
                before = self.threshold
            self.threshold_drawn = log_bound >= before or self.draw_coin(exp(log_bound - before))
            self.threshold = log_bound if log_bound < before else before
            return self.threshold_drawn
        if not self.threshold_drawn:
            self.threshold = log(self.next())
        self.threshold_drawn = self.threshold < log_bound
        return self.threshold_drawn

    @cython.final
    cdef inline bint draw_accept(self, double log_r) noexcept nogil:
        """Metropolis-Hastings decision; a draw only when log_r < 0, and none where ``draw_bound`` made it. False for
        nan.

        A ratio that is 1 but for rounding counts as 1, so that the stream does not depend on the order of a sum.
        """
        if self.scripted and self.always_accept:
            return True
        if self.threshold_drawn:
            self.threshold_drawn = False
            if not self.scripted:
                return self.threshold < log_r
            return log_r >= self.threshold or self.draw_coin(exp(log_r - self.threshold))
        if log_r >= -1e-12:
            return True
        if self.scripted:
            return self.draw_coin(exp(log_r))
        return self.next() < exp(log_r)

    @cython.final
    cdef inline Py_ssize_t draw_categorical(self, const double *w, Py_ssize_t m) noexcept nogil:
        """Option k with probability w[k] / sum(w); never one of weight 0."""
        cdef Py_ssize_t k, passed = 0
        cdef double total = 0.0, c = 0.0, u
        for k in range(m):
            total += w[k]
        if self.scripted:
            return self.scripted_choice(w, m, total)
        u = self.next() * total
        if m <= FEW:
            # No early end: a unpredictable branch costs more than the rest of a short row.
            for k in range(m):
                c += w[k]
                passed += not u < c
            if passed < m:
                return passed
        else:
            for k in range(m):
                c += w[k]
                if u < c:
                    return k
        # u rounded up to the total: the last option that has any weight
        k = m - 1
        while k > 0 and not w[k] > 0.0:
            k -= 1
        return k
