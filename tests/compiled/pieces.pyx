"""The pieces of models and priors that samplers use, one call each."""
from libc.stdint cimport int32_t, int64_t, uint64_t

import numpy as np

from splitmerge_cli.core.capabilities cimport TILE_ITEMS, DrawnParameters
from splitmerge_cli.core.model cimport Model
from splitmerge_cli.core.prior cimport Prior
from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.core.threads cimport Stream
from splitmerge_cli.kinds.documents.hdp_state cimport Topics
from splitmerge_cli.kinds.tables.models.normal cimport RowWeights

from splitmerge_cli.verify.pieces import scan

cdef extern from "philox.h":
    uint64_t philox_next(void *state) noexcept nogil


def _align(Py_ssize_t n):
    """Numbers on a cache-line boundary."""
    room = np.empty(n + 8)
    start = (-room.ctypes.data % 64) // 8
    return room[start:start + n]


# ---------------------------------------------------------------------------------------------------- statistics
def join(Model model not None, Py_ssize_t i, Py_ssize_t k):
    """Count item i in the statistics of cluster k."""
    model.join(i, k)


def leave(Model model not None, Py_ssize_t i, Py_ssize_t k):
    """Take item i out of the statistics of cluster k."""
    model.leave(i, k)


def shake(Model model not None, int64_t pairs, Py_ssize_t k):
    """Add items to cluster k and remove them again, that many pairs, with up to half of the items in it at once."""
    cdef int64_t t
    cdef Py_ssize_t behind = model.N // 2
    for t in range(pairs + behind):
        if t < pairs:
            model.join(t % model.N, k)
        if t >= behind:
            model.leave((t - behind) % model.N, k)


# ---------------------------------------------------------------------------------------------------- the partition
def move(Model model not None, Py_ssize_t i, Py_ssize_t k):
    """Put item i into cluster k, K a new one."""
    model.move(i, k)


def list_members(Model model not None, Py_ssize_t a, Py_ssize_t b):
    """Return the items of clusters a and b, the same twice for one: ndarray of int32."""
    cdef int32_t[::1] v = np.empty(model.N, dtype=np.int32)
    cdef Py_ssize_t n = model.members(a, b, &v[0])
    return np.asarray(v)[:n]


# ------------------------------------------------------------------------------------------------- probabilities
def log_pred(Model model not None, Py_ssize_t i, Py_ssize_t k):
    """Log predictive of item i in cluster k, which does not count it."""
    return model.log_pred(i, k)


def log_lik(Model model not None, Py_ssize_t k):
    """Log marginal likelihood of cluster k."""
    return model.cluster_log_lik(k)


def log_union(Model model not None, Py_ssize_t a, Py_ssize_t b):
    """Log marginal likelihood of clusters a and b as one."""
    return model.log_union(a, b)


def odds(Model model not None, Py_ssize_t i, Py_ssize_t a, Py_ssize_t b, Py_ssize_t own, bint sized):
    """Odds of item i in cluster b over a, on the linear and on the log scale."""
    return model.odds(i, a, b, own, sized), model.log_odds(i, a, b, own, sized)


def scan_by_definition(Model model not None, Py_ssize_t i):
    """The weights of `scan`, by the definition that a model overrides."""
    model.begin_scan()
    Model.scan(model, i)
    return np.array([model.w[k] for k in range(model.options())])


def scan_with_auxiliaries(Model model not None, Py_ssize_t i, Py_ssize_t m):
    """Weights of item i with m auxiliary components in the place of a new cluster, by `scan` and by definition."""
    model.auxiliaries = m
    model.reserve(model.K + m)
    for k in range(m):
        model.scratch(model.K + k)
    found = scan(model, i), scan_by_definition(model, i)
    model.auxiliaries = 1
    return found


def scan_unplaced(Model model not None, Py_ssize_t i):
    """Weights of item i, taken out of a cluster of others for the time, by `scan` and by definition."""
    cdef Py_ssize_t own = model.z[i]
    model.take_out(i)
    found = scan(model, i), scan_by_definition(model, i)
    model.put(i, own)
    return found


def choice(Model model not None, Py_ssize_t i, int32_t[::1] clusters):
    """Weights of item i in these clusters, of which the first is its own, on the linear and on the log scale."""
    cdef Py_ssize_t m = clusters.shape[0]
    cdef double[::1] w = np.empty(m), lw = np.empty(m)
    model.begin_scan()
    model.choice(i, &clusters[0], m, &w[0])
    model.log_choice(i, &clusters[0], m, &lw[0])
    return np.asarray(w), np.asarray(lw)


# ---------------------------------------------------------------------------------------------- capabilities, priors
def draw_scores(Model model not None, Rng rng, int32_t[::1] items, Py_ssize_t k):
    """Log densities of up to TILE_ITEMS items, each up to a constant of its own, given parameters drawn for cluster k;
    without a generator given what to expect of them."""
    cdef DrawnParameters drawn = model.capability(DrawnParameters)
    cdef double[::1] theta = np.empty(drawn.size), work = np.empty(max(1, drawn.work_size))
    cdef double[::1] tile = _align(TILE_ITEMS * drawn.tile_rows), out = _align(TILE_ITEMS)
    cdef double[::1] floor = np.full(TILE_ITEMS, -np.inf)
    drawn.draw_posterior(rng, k, &theta[0], &work[0])
    drawn.load_tile(&items[0], items.shape[0], &tile[0])
    drawn.score_tile(&tile[0], &theta[0], 0.0, &floor[0], &out[0])
    return np.array(out)[:items.shape[0]]


def draw_from_posterior(Model model not None, Rng rng, Py_ssize_t k):
    """How the parameters of cluster k are distributed, as numbers, and a draw: two arrays."""
    cdef DrawnParameters drawn = model.capability(DrawnParameters)
    cdef double[::1] theta = np.empty(drawn.size), work = np.empty(max(1, drawn.work_size))
    cdef double[::1] posterior = np.empty(drawn.posterior_size)
    drawn.write_posterior(k, &posterior[0], &work[0])
    drawn.draw_posterior(rng, k, &theta[0], &work[0])
    return np.array(posterior), np.array(theta)


def log_density(Model model not None, double[::1] posterior, double[::1] theta):
    cdef DrawnParameters drawn = model.capability(DrawnParameters)
    return drawn.log_density(&posterior[0], &theta[0])


def to_normal(Model model not None, double[::1] posterior, double[::1] theta):
    """Parameters that are about standard normal, and the log determinant of the map."""
    cdef DrawnParameters drawn = model.capability(DrawnParameters)
    cdef double[::1] zeta = np.empty(drawn.dimension)
    log_det = drawn.to_normal(&posterior[0], &theta[0], &zeta[0])
    return np.array(zeta), log_det


def from_normal(Model model not None, double[::1] posterior, double[::1] zeta):
    """The inverse map, and the same."""
    cdef DrawnParameters drawn = model.capability(DrawnParameters)
    cdef double[::1] theta = np.empty(drawn.size)
    log_det = drawn.from_normal(&posterior[0], &zeta[0], &theta[0])
    return np.array(theta), log_det


def draw_word(Topics model not None, Rng rng not None, Py_ssize_t w):
    """Probabilities of word w under topics that are drawn, up to a factor of each: ndarray of float64, shape (K,)."""
    cdef double[::1] row = np.zeros(model.K)
    model.draw_word(rng, w, &row[0])
    return np.asarray(row)


def log_prob(Prior prior not None, sizes):
    """Log probability of a partition with clusters of these sizes, up to a constant."""
    cdef int32_t[::1] v = np.ascontiguousarray(sizes, dtype=np.int32)
    return prior.log_prob(&v[0], v.shape[0], v.shape[0])


def prior_weights(Prior prior not None, sizes):
    """Weights of joining each cluster of these sizes, and of a new one: (list of float, float)."""
    return [prior.weight[<Py_ssize_t> n] for n in sizes], prior.new_weight(len(sizes))


def resample_prior(Prior prior not None, Rng rng not None, Py_ssize_t t, sizes):
    """Resample the t-th hyper-parameter of a prior given these sizes."""
    cdef int32_t[::1] v = np.ascontiguousarray(sizes, dtype=np.int32)
    prior.resample(rng, t, &v[0], v.shape[0])


def stream_words(Stream stream not None, key, uint64_t number, uint64_t purpose, Py_ssize_t n):
    """The first n words of a stream: list of int."""
    cdef uint64_t[2] k
    k[0], k[1] = key
    stream.begin(k, number, purpose)
    return [philox_next(&stream.state) for _ in range(n)]


# ------------------------------------------------------------------------------------------- weights of rows
def draw_row_weights(RowWeights weights not None, Rng rng not None, distances, Py_ssize_t times):
    """The degrees of freedom after each of so many draws given squared distances of the rows: float64 ``[times]``."""
    cdef Py_ssize_t i, t
    cdef double[::1] found = np.empty(times)
    for i in range(weights.n):
        weights.distance[i] = distances[i]
    for t in range(times):
        weights.draw(rng)
        found[t] = weights.nu
    return np.asarray(found)
