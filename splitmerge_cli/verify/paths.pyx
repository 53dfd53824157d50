"""All execution paths of one step of a sampler: the compiled loop behind the exact checks."""
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from splitmerge_cli.core.model cimport Model
from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.core.sampler cimport Sampler

import numpy as np


class TooManyPaths(Exception):
    """A step has more execution paths than the limit."""


def execution_paths(Model model not None, Rng rng not None, Sampler sampler not None, labels, Py_ssize_t K,
                    parameters=None, bint always_accept=False, Py_ssize_t limit=2_000_000):
    """Enumerate the execution paths of one step from a state: `labels` ``[N]`` from 0, none left out, of `K` clusters,
    and the `parameters` ``[K, P]`` of a model that keeps some. The sampler works on this model and generator. If it is
    to `always_accept`, every proposal is accepted and no acceptance counted: the paths are proposals.

    Returns, by name, labels ``[paths, N]``; K, probability, log_ratio (of the last decision; nan of a null proposal),
    move (index) and proposals (made in the step), ``[paths]``; terms ``[paths, TERMS]``: what each adds to log_ratio;
    parameters, a list of those that the paths end with, or None. Raises `TooManyPaths`, more than `limit`, or
    `ContinuousDraw`: a choice was made that has no list of options.
    """
    cdef int32_t[::1] start = np.ascontiguousarray(labels, dtype=np.int32)
    cdef Py_ssize_t N = model.N, T = len(sampler.TERMS), moves = len(sampler.moves), n = 0, room = 256, t
    cdef int64_t before, after
    held = model.prior_values
    # the state of a collapsed model other than the partition: b0, kappa0, tables of counts
    scales = model.parameters if model.conjugate and model.prior is not None else None
    cdef int32_t[:, ::1] ends
    cdef int32_t[::1] clusters, kinds, made
    cdef double[::1] p, r
    cdef double[:, ::1] values
    if start.shape[0] != N or K > model.kmax or np.min(labels) < 0 or np.max(labels) >= K:
        raise ValueError(f"labels: expected {N} numbers from 0 below K={K}, and K of at most {model.kmax}")
    kept = None if parameters is None else []
    found = {"labels": np.empty((room, N), np.int32), "K": np.empty(room, np.int32), "probability": np.empty(room),
             "log_ratio": np.empty(room), "move": np.empty(room, np.int32), "proposals": np.empty(room, np.int32),
             "terms": np.zeros((room, T))}
    ends, clusters, p, r = found["labels"], found["K"], found["probability"], found["log_ratio"]
    kinds, made, values = found["move"], found["proposals"], found["terms"]
    rng.script_start(always_accept)
    try:
        while True:
            if n == limit:
                raise TooManyPaths(f"more than {limit} paths from one state")
            if n == room:
                room *= 2
                found = {name: np.resize(array, (room, *array.shape[1:])) for name, array in found.items()}
                ends, clusters, p, r = found["labels"], found["K"], found["probability"], found["log_ratio"]
                kinds, made, values = found["move"], found["proposals"], found["terms"]
                PyErr_CheckSignals()
            model.reset(&start[0], K)
            if held:
                model.set_prior_values(held)
            if scales is not None:
                model.set_parameters(scales)
            if kept is not None:
                model.set_parameters(parameters)
            rng.script_begin()
            before = after = 0
            for t in range(moves):
                before += sampler.proposed[t]
            sampler.make_step()
            for t in range(moves):
                after += sampler.proposed[t]
            memcpy(&ends[n, 0], model.z, N * sizeof(int32_t))
            clusters[n] = <int32_t> model.K
            p[n] = rng.path
            r[n] = sampler.last_log_ratio
            kinds[n] = sampler.move
            made[n] = <int32_t> (after - before)
            if T:
                memcpy(&values[n, 0], sampler.value, T * sizeof(double))
            if kept is not None:
                kept.append(model.parameters)
            n += 1
            if not rng.script_next():
                break
    finally:
        rng.script_stop()
        model.set_prior_values(held)
        if scales is not None:
            model.set_parameters(scales)
    return {name: array[:n] for name, array in found.items()} | {"parameters": kept}
