"""All execution paths of one step of a sampler: the compiled loop behind the exact checks."""
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from splitmerge_cli.core.coupled cimport CoupledChains
from splitmerge_cli.core.model cimport Model
from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.core.sampler cimport Sampler

import numpy as np

from splitmerge_cli.models.scale_prior import Scaled


class TooManyPaths(Exception):
    """A step has more execution paths than the limit."""


def execution_paths(Model model not None, Rng rng not None, Sampler sampler not None, labels, Py_ssize_t K,
                    parameters=None, bint always_accept=False, Py_ssize_t limit=2_000_000):
    """Enumerate the execution paths of one step from a state.

    Parameters
    ----------
    model, rng, sampler
        The sampler works on this model and generator.
    labels : array_like of int, shape (N,)
        Numbers from 0, none left out.
    K : int
    parameters : ndarray of float, shape (K, P), optional
        Of a model that keeps parameters.
    always_accept : bool
        Accept every proposal and count no acceptance: the paths are proposals.
    limit : int
        Most paths.

    Returns
    -------
    dict
        labels, shape (paths, N); K, probability, log_ratio (of the last decision; nan of a null proposal), move (index)
        and proposals (made in the step), shape (paths,); terms, shape (paths, TERMS): what each adds to log_ratio;
        parameters, a list of those that the paths end with, or None.

    Raises
    ------
    TooManyPaths
    ContinuousDraw
        A choice was made that has no list of options.
    """
    cdef int32_t[::1] start = np.ascontiguousarray(labels, dtype=np.int32)
    cdef Py_ssize_t N = model.N, T = len(sampler.TERMS), moves = len(sampler.moves), n = 0, room = 256, t
    cdef int64_t before, after
    held = model.prior_values
    # b0 and kappa0, whatever the partition
    scales = model.parameters if isinstance(model, Scaled) else None
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


def coupled_paths(CoupledChains chains not None, Py_ssize_t step, state_x, state_y, Py_ssize_t limit=2_000_000):
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
