"""Random choices, through a handful of primitives that a script can take the place of.

That is how the exact transition matrix of the compiled code is built (``splitmerge_cli.verify``).
"""
cimport cython
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int32_t
from libc.stdlib cimport abort, free, realloc

import numpy as np


class ContinuousDraw(Exception):
    """A scripted generator was asked for a draw from a continuous law."""


@cython.final
cdef class Rng:
    """Random choices of one chain, from one NumPy PCG64DXSM stream.

    Parameters
    ----------
    seed : int
        Seed of the run, at least 0.
    chain : int
        Number of the chain: the stream is ``SeedSequence(seed, spawn_key=(chain,))``, so it does not depend on how many
        chains run.

    Notes
    -----
    Between ``script_start`` and ``script_stop`` the choices follow a script in place of the stream: each pass between
    ``script_begin`` and ``script_next`` takes one path through the tree of all choices, and ``script_probability`` is
    the probability of that path. Normal, gamma and beta draws have no list of options: a script meets none.
    """

    def __cinit__(self, seed=0, chain=0):
        if not isinstance(seed, (int, np.integer)) or seed < 0:
            raise ValueError(f"seed: expected an integer of at least 0, got {seed!r}")
        self.bit_generator = np.random.PCG64DXSM(np.random.SeedSequence(int(seed), spawn_key=(int(chain),)))
        self.bg = <bitgen_t *> PyCapsule_GetPointer(self.bit_generator.capsule, "BitGenerator")
        self.path = 1.0

    def __dealloc__(self):
        free(self.choice)
        free(self.following)

    @property
    def state(self):
        """dict: state of the stream, fit for JSON."""
        return self.bit_generator.state

    @state.setter
    def state(self, value):
        try:
            self.bit_generator.state = value
        except (TypeError, KeyError, OverflowError) as error:
            raise ValueError(f"state of a generator: expected what `state` gave: {error}") from None

    def halt(self):
        """Let scans that use this generator end at once, from whatever thread: their chain is given up.

        The state that an iteration leaves is then no draw of anything, but whole: the model may be freed.
        """
        self.halted = True

    def random(self):
        """The next double of the stream."""
        return self.next()

    def normal(self):
        """Standard normal."""
        return self.draw_normal()

    def gamma(self, double shape):
        """Gamma of this shape and scale 1."""
        return self.draw_gamma(shape)

    def beta(self, double a, double b):
        """Beta(a, b)."""
        return self.draw_beta(a, b)

    def index(self, Py_ssize_t n):
        """Uniform on 0..n-1."""
        return self.draw_index(n)

    def coin(self, double p):
        """True with probability p."""
        return bool(self.draw_coin(p))

    def accept(self, double log_r):
        """Metropolis-Hastings decision for a log ratio; draws only when it is negative."""
        return bool(self.draw_accept(log_r))

    def categorical(self, weights):
        """Option k with probability weights[k] / sum(weights)."""
        cdef double[::1] w = np.ascontiguousarray(weights, dtype=np.float64)
        return self.draw_categorical(&w[0], w.shape[0])

    cdef Py_ssize_t scripted_choice(self, const double *w, Py_ssize_t m, double total) noexcept nogil:
        cdef Py_ssize_t t = self.depth, k
        if t == self.room:
            self.room = 2 * t + 64
            self.choice = <int32_t *> realloc(self.choice, self.room * sizeof(int32_t))
            self.following = <int32_t *> realloc(self.following, self.room * sizeof(int32_t))
            if self.choice == NULL or self.following == NULL:
                abort()
        if t == self.length:
            k = 0
            if w != NULL:
                while k < m - 1 and not w[k] > 0.0:
                    k += 1
            self.choice[t] = <int32_t> k
            self.length += 1
        self.depth += 1
        k = self.choice[t] + 1
        if w != NULL:
            while k < m and not w[k] > 0.0:
                k += 1
        self.following[t] = <int32_t> k if k < m else -1
        k = self.choice[t]
        self.path *= (w[k] if w != NULL else 1.0) / total
        return k

    def script_start(self, bint always_accept=False):
        """Follow a script from here on.

        With `always_accept`, every proposal is accepted and no factor counted for it: the paths are proposals.
        """
        self.scripted = True
        self.continuous = False
        self.always_accept = always_accept
        self.length = 0
        self.script_begin()

    def script_begin(self):
        """Go back to the root of the tree of choices, to take the path that the script holds."""
        self.depth = 0
        self.path = 1.0
        self.threshold_drawn = False

    def script_probability(self):
        """Probability of the choices made since ``script_begin``."""
        return self.path

    def script_next(self):
        """Turn the script to the next path; False when all were taken. Raises ContinuousDraw after one."""
        cdef Py_ssize_t t = self.depth - 1
        if self.continuous:
            raise ContinuousDraw("a normal, gamma or beta draw has no list of options")
        while t >= 0 and self.following[t] < 0:
            t -= 1
        if t < 0:
            return False
        self.choice[t] = self.following[t]
        self.length = t + 1
        return True

    def script_stop(self):
        """Draw from the stream again."""
        self.scripted = self.always_accept = self.threshold_drawn = False
