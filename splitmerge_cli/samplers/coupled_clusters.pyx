"""Parameters and weights of clusters that two coupled chains draw (`subcluster` in ``Coupled``).

The chain that leads records what it draws for each cluster, and from what. The chain that follows takes the same
parameters as often as it can, for all matched clusters together (a maximal coupling), or else their reflection along
the axis in which the two posteriors differ. Each chain alone draws from its own posteriors.
"""
from libc.math cimport exp, expm1, fabs, lgamma, log, log1p, sqrt
from libc.string cimport memcpy, memset

from splitmerge_cli.core.recording cimport BLOCK, draw_t
from splitmerge_cli.core.rng cimport LEAD, Rng

cdef enum:
    OF_SHARE = 6                        # purpose of the stream; the others: subcluster_items.pxd
    NOTE = -7                           # key of what is recorded of a cluster

cdef enum:                              # how weights are distributed
    CONSTANT, GAMMA_WEIGHTS, OTHER_WEIGHTS

# clusters whose parameters are more standard deviations apart are not shared
cdef double FAR = 5.0


cdef class CoupledClusters:
    """Shares the parameters of clusters between two coupled chains."""

    def __init__(self, Model model not None, DrawnParameters parameters, Rng rng not None):
        self.memory = Memory()
        self.model, self.parameters, self.rng = model, parameters, rng

    cdef int need(self, Py_ssize_t clusters) except -1 nogil:
        """Room for this many clusters."""
        cdef Py_ssize_t held = self.parameters.posterior_size, room = 2 * clusters
        cdef Py_ssize_t row = 8 * room * (self.parameters.dimension + 1)
        if clusters <= self.room:
            return 0
        with gil:
            self.posterior = <double *> self.memory.larger(self.posterior, 0, 8 * room * max(held, 1))
            self.note = <double *> self.memory.larger(self.note, 0, 8 * (2 + held + self.parameters.size))
            self.theirs = <const double **> self.memory.larger(self.theirs, 0, 8 * room)
            self.zeta = <double *> self.memory.larger(self.zeta, 0, row)
            self.axis = <double *> self.memory.larger(self.axis, 0, row)
            self.image = <double *> self.memory.larger(self.image, 0, 8 * room * self.parameters.size)
            self.image_weight = <double *> self.memory.larger(self.image_weight, 0, 8 * room)
            self.weights = self._kind_of_weights()
        self.room = room
        return 0

    cdef int _kind_of_weights(self) except -1:
        """A weight has the moments g(n + j) / g(n), which tell its distribution: it is 1, or gamma of shape n."""
        cdef Py_ssize_t n
        cdef const double *log_size = self.model.prior.log_size
        cdef bint constant = True, gamma = True
        for n in range(1, self.model.N):
            constant = constant and log_size[n] == log_size[n + 1]
            gamma = gamma and fabs(log_size[n + 1] - log_size[n] - log(<double> n)) < 1e-9 * (1.0 + log(<double> n))
        return CONSTANT if constant else GAMMA_WEIGHTS if gamma else OTHER_WEIGHTS

    cdef void couple(self, Stream stream, const uint64_t *key, double *work, double *theta,
                     double *log_weight) noexcept nogil:
        """Record the parameters and weights that have been drawn for all clusters, or put the other chain's, or
        their reflection, in their place."""
        cdef Py_ssize_t k, K = self.model.K, size = self.parameters.size, held = self.parameters.posterior_size
        cdef double below
        self.theta, self.log_weight = theta, log_weight
        if not held or self.weights == OTHER_WEIGHTS:
            return
        if self.rng.role == LEAD:
            self.write_notes(work)
            return
        if not self.match_posteriors(work):
            return
        stream.begin(key, 0, OF_SHARE)
        for k in range(K):
            if self.theirs[k] != NULL:
                memcpy(self.image + k * size, self.theirs[k] + 2 + held, size * sizeof(double))
                self.image_weight[k] = self.theirs[k][1]
        below = (self.log_density(True, self.image, self.image_weight)
                 - self.log_density(False, self.image, self.image_weight))
        if log1p(-stream.rng.next()) <= below:
            for k in range(K):
                if self.theirs[k] != NULL:
                    memcpy(self.theta + k * size, self.image + k * size, size * sizeof(double))
                    self.log_weight[k] = self.image_weight[k]
            return
        if self.reflect_theirs(stream.rng, below):
            return
        while not self.rng.is_halted:
            for k in range(K):
                if self.theirs[k] != NULL:
                    self.parameters.draw_posterior(stream.rng, k, theta + k * size, work)
                    log_weight[k] = self.model.prior.log_cluster_weight(stream.rng, self.model.size[k])
            if self.is_of_rest(stream.rng):
                return

    cdef void write_notes(self, double *work) noexcept nogil:
        """Record what was drawn, and from what."""
        cdef Py_ssize_t k, size = self.parameters.size, held = self.parameters.posterior_size
        for k in range(self.model.K):
            self.note[0], self.note[1] = self.model.size[k], self.log_weight[k]
            self.parameters.write_posterior(k, self.note + 2, work)
            memcpy(self.note + 2 + held, self.theta + k * size, size * sizeof(double))
            self.rng.recording.add(BLOCK, NOTE, self.note, 2 + held + size, 0.0, NULL, self.model.name[k])

    cdef bint match_posteriors(self, double *work) noexcept nogil:
        """Find the notes on matched clusters that are not far, and the axis along which the two chains differ; whether
        there are such clusters."""
        cdef Py_ssize_t k, t, K = self.model.K, held = self.parameters.posterior_size
        cdef Py_ssize_t dimension = self.parameters.dimension + 1
        cdef double total = 0.0, one
        cdef draw_t *r = self.rng.recording.find(BLOCK, NOTE, 0)
        self.rng.recording.order_clusters(self.model.name, K)
        for k in range(K):
            self.theirs[k] = NULL
        while r != NULL:
            # the names of K clusters are 0, ..., K - 1
            if r.taken < K:
                k = self.rng.recording.turn[r.taken]
                self.theirs[k] = self.rng.recording.weights + r.weights
                self.parameters.write_posterior(k, self.posterior + k * held, work)
            r = self.rng.recording.find(BLOCK, NOTE, 0)
        memset(self.zeta, 0, K * dimension * sizeof(double))
        self.from_normal(False, self.image, self.image_weight)
        self.to_normal(True, self.image, self.image_weight)
        for k in range(K):
            one = 0.0
            for t in range(k * dimension, (k + 1) * dimension):
                one += self.zeta[t] * self.zeta[t]
            if one > FAR * FAR:
                self.theirs[k] = NULL
            total += one if self.theirs[k] != NULL else 0.0
        for k in range(K):
            for t in range(k * dimension, (k + 1) * dimension):
                self.axis[t] = self.zeta[t] / sqrt(total) if self.theirs[k] != NULL and total > 0.0 else 0.0
        for k in range(K):
            if self.theirs[k] != NULL:
                return True
        return False

    cdef bint reflect_theirs(self, Rng rng, double below) noexcept nogil:
        """Take the reflection of what the other chain has drawn, whose density here over that there is exp(`below`);
        False: not taken."""
        cdef double has = self.log_density(False, self.image, self.image_weight) + log(-expm1(below)), wants
        has -= self.to_normal(False, self.image, self.image_weight)
        self.reflect()
        has += self.from_normal(True, self.theta, self.log_weight)
        wants = self.log_density(True, self.theta, self.log_weight)
        below = self.log_density(False, self.theta, self.log_weight) - wants
        return below < 0.0 and log1p(-rng.next()) <= wants + log(-expm1(below)) - has

    cdef bint is_of_rest(self, Rng rng) noexcept nogil:
        """Whether what was drawn is of the rest, which no reflection reaches."""
        cdef double density = self.log_density(True, self.theta, self.log_weight), theirs, has, below
        below = self.log_density(False, self.theta, self.log_weight) - density
        if not below < 0.0:
            return False
        has = self.to_normal(True, self.theta, self.log_weight)
        self.reflect()
        has -= self.from_normal(False, self.image, self.image_weight)
        theirs = self.log_density(False, self.image, self.image_weight)
        has += theirs - density
        theirs = self.log_density(True, self.image, self.image_weight) - theirs
        has = exp(has) * -expm1(theirs) if theirs < 0.0 else 0.0
        return rng.next() < -expm1(below) - has

    cdef void reflect(self) noexcept nogil:
        cdef Py_ssize_t t, n = self.model.K * (self.parameters.dimension + 1)
        cdef double along = 0.0
        for t in range(n):
            along += self.axis[t] * self.zeta[t]
        for t in range(n):
            self.zeta[t] -= 2.0 * along * self.axis[t]

    cdef double log_density(self, bint by_this_chain, const double *theta, const double *log_weight) noexcept nogil:
        """log density of the parameters and the log weights of all clusters that are shared, as this chain draws them
        (`by_this_chain`) or as the other one does."""
        cdef Py_ssize_t k, n, held = self.parameters.posterior_size
        cdef double total = 0.0
        for k in range(self.model.K):
            if self.theirs[k] != NULL:
                total += self.parameters.log_density(self.posterior + k * held if by_this_chain else self.theirs[k] + 2,
                                                     theta + k * self.parameters.size)
                if self.weights == GAMMA_WEIGHTS:
                    n = self.model.size[k] if by_this_chain else <Py_ssize_t> self.theirs[k][0]
                    total += n * log_weight[k] - exp(log_weight[k]) - lgamma(<double> n)
        return total

    cdef double to_normal(self, bint by_this_chain, const double *theta, const double *log_weight) noexcept nogil:
        """Fill `zeta`; returns the log determinant of the map."""
        cdef Py_ssize_t k, held = self.parameters.posterior_size, dimension = self.parameters.dimension + 1
        cdef double n, total = 0.0
        memset(self.zeta, 0, self.model.K * dimension * sizeof(double))
        for k in range(self.model.K):
            if self.theirs[k] != NULL:
                total += self.parameters.to_normal(self.posterior + k * held if by_this_chain else self.theirs[k] + 2,
                                                   theta + k * self.parameters.size, self.zeta + k * dimension)
                if self.weights == GAMMA_WEIGHTS:
                    n = self.model.size[k] if by_this_chain else self.theirs[k][0]
                    self.zeta[(k + 1) * dimension - 1] = sqrt(n) * (log_weight[k] - log(n))
                    total += 0.5 * log(n)
        return total

    cdef double from_normal(self, bint by_this_chain, double *theta, double *log_weight) noexcept nogil:
        """The inverse; returns the same."""
        cdef Py_ssize_t k, held = self.parameters.posterior_size, dimension = self.parameters.dimension + 1
        cdef double n, total = 0.0
        for k in range(self.model.K):
            if self.theirs[k] != NULL:
                total += self.parameters.from_normal(self.posterior + k * held if by_this_chain else self.theirs[k] + 2,
                                                     self.zeta + k * dimension, theta + k * self.parameters.size)
                log_weight[k] = 0.0
                if self.weights == GAMMA_WEIGHTS:
                    n = self.model.size[k] if by_this_chain else self.theirs[k][0]
                    log_weight[k] = log(n) + self.zeta[(k + 1) * dimension - 1] / sqrt(n)
                    total += 0.5 * log(n)
        return total
