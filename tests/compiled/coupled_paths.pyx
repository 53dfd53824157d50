"""All execution paths of one step of two coupled chains."""
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t
from libc.string cimport memcpy

from splitmerge_cli.core.model cimport Model
from splitmerge_cli.core.rng cimport Rng

import numpy as np

from splitmerge_cli.verify.paths import TooManyPaths


def coupled_paths(chains, Py_ssize_t step, state_x, state_y, Py_ssize_t limit=2_000_000):
    """Enumerate the execution paths of one coupled step from a pair of states.

    Parameters
    ----------
    chains : CoupledChains
    step : int
        Which of their samplers makes it.
    state_x, state_y : (labels, K) or (labels, K, parameters)
        As `execution_paths` takes them.
    limit : int
        Most paths.

    Returns
    -------
    dict
        labels, shape (paths, 2, N), K, shape (paths, 2), and probability, shape (paths,); parameters, of a model that
        keeps them a list of those of both chains that the paths end with, else None.

    Raises
    ------
    TooManyPaths
    ContinuousDraw
        A choice was made that has no list of options.
    """
    cdef Model x = chains.x, y = chains.y
    cdef Rng rng = chains.rng
    cdef int32_t[::1] start_x = np.ascontiguousarray(state_x[0], dtype=np.int32)
    cdef int32_t[::1] start_y = np.ascontiguousarray(state_y[0], dtype=np.int32)
    cdef Py_ssize_t N = x.N, K_x = state_x[1], K_y = state_y[1], n = 0, room = 1024
    labels, K, probability = np.empty((room, 2, N), np.int32), np.empty((room, 2), np.int32), np.empty(room)
    cdef int32_t[:, :, ::1] ends = labels
    cdef int32_t[:, ::1] clusters = K
    cdef double[::1] p = probability
    values = [np.array(state[2]) for state in (state_x, state_y) if len(state) == 3]
    kept = [] if values else None
    rng.script_start()
    try:
        while True:
            if n == limit:
                raise TooManyPaths(f"more than {limit} paths from one pair of states")
            if n == room:
                room *= 2
                labels, K = np.resize(labels, (room, 2, N)), np.resize(K, (room, 2))
                probability = np.resize(probability, room)
                ends, clusters, p = labels, K, probability
                PyErr_CheckSignals()
            x.reset(&start_x[0], K_x)
            y.reset(&start_y[0], K_y)
            if kept is not None:
                x.set_parameters(values[0])
                y.set_parameters(values[1])
            rng.script_begin()
            chains.step(step)
            memcpy(&ends[n, 0, 0], x.z, N * sizeof(int32_t))
            memcpy(&ends[n, 1, 0], y.z, N * sizeof(int32_t))
            clusters[n, 0], clusters[n, 1] = <int32_t> x.K, <int32_t> y.K
            if kept is not None:
                kept.append((x.parameters, y.parameters))
            p[n] = rng.path
            n += 1
            if not rng.script_next():
                break
    finally:
        rng.script_stop()
    return {"labels": labels[:n], "K": K[:n], "probability": probability[:n], "parameters": kept}
