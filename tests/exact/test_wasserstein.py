"""The bound of the Wasserstein distance beside the distance: linear programmes on all partitions of four items."""

from functools import cache, partial

import numpy as np
import pytest
from joint_kernels import JointKernel, joint_kernel, total_variation_bound
from numpy.typing import NDArray
from scipy.optimize import linprog

from splitmerge_cli.core.coupled import CoupledChains
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.diagnostics.intervals import TIMES, distance_terms, wasserstein_bound
from splitmerge_cli.kinds.tables.models.bernoulli import Bernoulli
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.split_merge import Dyadic
from splitmerge_cli.verify import cases, transitions

LAGS, LONGEST = (1, 5, 60), 600
SAMPLERS = {"gibbs": Gibbs, "sams": partial(Dyadic, allocation="sams")}


@cache
def case() -> cases.Case:
    return cases.small_case(Bernoulli, 4, 1, {"concentration": 1.3})


@cache
def kernel_of(sampler: str) -> JointKernel:
    return joint_kernel(case().build, SAMPLERS[sampler], case().states)


@cache
def metric() -> NDArray[np.float64]:
    """The distance of each partition from each."""
    labels = np.array([state[0] for state in case().states])
    together = (labels[:, :, None] == labels[:, None, :])[:, *np.triu_indices(4, 1)]
    return (together[:, None] != together[None]).mean(axis=2)


def transport(p: NDArray[np.float64], q: NDArray[np.float64], cost: NDArray[np.float64]) -> float:
    """The least expected cost of a joint distribution with margins p and q."""
    n = len(p)
    rows, columns = np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))
    found = linprog(cost.ravel(), A_eq=np.vstack([rows, columns]), b_eq=np.concatenate([p, q]))
    assert found.status == 0
    return float(found.fun)


def distributions(kernel: JointKernel, start: NDArray[np.float64], times: int) -> list[NDArray[np.float64]]:
    found = [start]
    for _ in range(times - 1):
        found.append(found[-1] @ kernel.P)
    return found


def expected_distances(kernel: JointKernel, start: NDArray[np.float64], lag: int) -> NDArray[np.float64]:
    """E d(X_s, Y_{s - lag}) for s = lag, lag + 1, ..."""
    pair = np.outer(start @ np.linalg.matrix_power(kernel.P, lag), start)
    found = []
    for _ in range(LONGEST):
        found.append((pair * metric()).sum())
        pair = np.einsum("ab,abij->ij", pair, kernel.J)
    assert found[-1] < 1e-9
    return np.array(found)


def test_the_programme_is_the_distance() -> None:
    """Between two states it is the metric; by the metric of equal or not it is the total variation distance."""
    one, other = np.eye(15)[[2, 7]]
    assert transport(one, other, metric()) == pytest.approx(metric()[2, 7])
    p, q = np.random.default_rng(0).dirichlet(np.ones(15), 2)
    assert transport(p, q, 1.0 - np.eye(15)) == pytest.approx(transitions.total_variation(p, q))
    assert transport(p, q, metric()) < transitions.total_variation(p, q)


@pytest.mark.parametrize("lag", LAGS)
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_the_exact_bound_lies_above_the_exact_distance(sampler: str, lag: int) -> None:
    kernel, pi = kernel_of(sampler), np.asarray(case().pi)
    start = np.eye(15)[0]
    apart = expected_distances(kernel, start, lag)
    bound, meeting = distance_terms(apart, lag), kernel.meeting_distribution(start, lag, LONGEST)
    short = 0
    for t, now in enumerate(distributions(kernel, start, 15)):
        distance = transport(now, pi, metric())
        assert distance <= bound[t] + 1e-9
        assert bound[t] <= total_variation_bound(meeting, lag, t) + 1e-9
        # without its first term, that of j = 1, it is no bound where the lag is long
        short += distance > bound[t] - apart[t] + 1e-3
    assert short > 0 or lag < max(LAGS)


@pytest.mark.parametrize(("sampler", "lag"), [("gibbs", 2), ("sams", 5)])
def test_the_estimated_bound_is_that_of_the_joint_kernel(sampler: str, lag: int) -> None:
    kernel, start, pi = kernel_of(sampler), np.eye(15)[0], np.asarray(case().pi)
    x, y, rng = case().build(), case().build(), Rng(11)
    samplers, labels = [[SAMPLERS[sampler](model, rng)] for model in (x, y)], np.array(case().states[0][0])
    terms = []
    for _ in range(3_000):
        x.set_labels(labels)
        y.set_labels(labels)
        chains = CoupledChains(x, y, rng, *samplers, lag)
        found = chains.advance(LONGEST)
        terms.append(distance_terms(found["distance"][lag : chains.meeting], lag))
    bound = wasserstein_bound(terms)
    exact = distance_terms(expected_distances(kernel, start, lag), lag)[: len(bound.t)]
    assert (np.abs(bound.estimate - np.minimum(exact, 1.0)) < 4 * bound.standard_error + 5e-3).all()
    assert (bound.upper >= bound.estimate).all() and bound.t.tolist() == TIMES[: len(bound.t)].tolist()
    for t, now in enumerate(distributions(kernel, start, min(15, len(bound.t)))):
        assert transport(now, pi, metric()) <= bound.estimate[t] + 4 * bound.standard_error[t] + 5e-3


def test_every_iteration_has_its_distance() -> None:
    x, y, rng = case().build(), case().build(), Rng(3)
    x.set_labels(np.zeros(4, dtype=int))
    y.set_labels(np.arange(4))
    chains = CoupledChains(x, y, rng, [Gibbs(x, rng)], [Gibbs(y, rng)], 3)
    for _ in range(60):
        [distance] = chains.advance(1, until_met=False)["distance"][-1:]
        if chains.iteration < 3:
            assert np.isnan(distance)
        elif chains.meeting < 0:
            assert distance == chains.distance > 0
        else:
            assert distance == 0
    assert chains.meeting > 3
