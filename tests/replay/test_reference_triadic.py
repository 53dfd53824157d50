"""The reference samplers of van Rossum et al. 2018 leave their target invariant, on tiny data with every random choice
enumerated; and what cannot be enumerated, draws from continuous distributions, is checked against those distributions
(docs/derivations.md).
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import reference_triadic
from enumerated import canonical, remembering, row, states, target, transition_matrix
from often import often
from plain import EMM, Bernoulli
from plain_continuous import CandidateLines, Gaussian, Lines

POINTS = [[-1.0, 0.4], [0.5, 1.9], [2.0, -0.6], [1.0, 0.1]]
CANDIDATES = [[0.2, 0.9], [1.0, -0.8]]


def points(n):
    return np.array(POINTS[:n])


def gaussian(covariance, n=4, **kwargs):
    return Gaussian(points(n), 1.2, covariance, m0=[0.3, 0.5], kappa0=0.4, a0=1.6, b0=0.7, **kwargs)


def candidates(n=3, lines=CANDIDATES, **kwargs):
    kwargs = {"prior": "crp", **kwargs}
    return CandidateLines(points(n), 1.2, 3.0, 0.9, candidates=lines, **kwargs)


MODELS = {
    "emm": EMM([0, 0, 1], n_tokens=3, alpha=0.7, mu=0.6, sigma=0.8, kmax=4),
    "emm-tight": EMM([0, 0, 1, 2], n_tokens=3, alpha=0.1, mu=0.6, sigma=0.8, kmax=2),
    "bernoulli": Bernoulli([[1, 1], [1, 0], [0, 1], [0, 0]], concentration=1.3, beta1=0.4, beta0=0.6),
    "bernoulli-uniform": Bernoulli([[1, 1], [1, 0], [0, 1], [1, 1]], 1.0, beta1=0.3, beta0=0.6, prior="uniform"),
    "lines-known": Lines(points(4), 0.8, 3.0, 0.7),
    "lines-nig": Lines(points(4), 0.8, 3.0, 0.7, noise="nig", a0=1.8),
    "gaussian-diag": gaussian("diag"),
    "gaussian-iso": gaussian("iso", n=3),
    "gaussian-full": gaussian("full"),
    "candidates": candidates(),
    "candidates-three": candidates(lines=[*CANDIDATES, [-0.5, 0.1]]),
    "candidates-uniform": candidates(prior="uniform"),
}
MODELS = {name: remembering(model) for name, model in MODELS.items()}
TRIADIC = {
    f"triadic-{form}-{allocation}": {"form": form, "allocation": allocation, "beta": beta}
    for (form, beta), allocation in itertools.product([("symmetrised", 0.3), ("ordered", 0.45)], ["random", "sams"])
}
REFERENCES = {
    "dyadic-random": (reference_triadic.Dyadic, {"allocation": "random"}),
    "dyadic-sams": (reference_triadic.Dyadic, {"allocation": "sams"}),
    "dyadic-gibbs-0": (reference_triadic.Dyadic, {"allocation": "gibbs", "t": 0}),
    "dyadic-gibbs-1": (reference_triadic.Dyadic, {"allocation": "gibbs", "t": 1}),
    **{name: (reference_triadic.Triadic, options) for name, options in TRIADIC.items()},
}
SCANS = {
    "neal8-1": (reference_triadic.Neal8, {"m": 1}),
    "neal8-2": (reference_triadic.Neal8, {"m": 2}),
    "neal8-3-site": (reference_triadic.Neal8, {"m": 3, "scan": "site"}),
}


def build(name, mode="exact", **more):
    ref, options = (REFERENCES | SCANS)[name]
    return lambda state, stream: ref(state, stream, mode=mode, **{**options, **more})


def check(make_ref, model, reversible=True):
    all_states = list(states(model))
    pi, P = target(model, all_states), transition_matrix(make_ref, model, all_states)
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-13)
    np.testing.assert_allclose(pi @ P, pi, atol=1e-14)
    if reversible:
        flow = pi[:, None] * P
        np.testing.assert_allclose(flow, flow.T, atol=1e-14)


@pytest.mark.parametrize("model", often(MODELS, ["lines-known", "gaussian-full", "candidates", "bernoulli", "emm"]))
@pytest.mark.parametrize("name", REFERENCES)
def test_split_and_merge_are_reversible(name, model):
    check(build(name), model)


@pytest.mark.parametrize("name", [n for n in REFERENCES if "gibbs" not in n])
def test_four_items_with_parameters(name):
    check(build(name), remembering(candidates(4)))


@pytest.mark.parametrize("name", ["dyadic-sams", "dyadic-gibbs-0", *TRIADIC])
def test_no_reference_reads_the_numbering(name):
    """A state gives the same row whatever numbers its clusters carry, so that states may be lumped over them."""
    for model in (MODELS["emm"], MODELS["candidates"]):
        all_states = list(states(model))
        position = {canonical(c): s for s, c in enumerate(all_states)}
        for clusters in all_states:
            orders = list(itertools.permutations(clusters))
            rows = [row(build(name), model, order, position) for order in orders]
            np.testing.assert_allclose(rows, np.broadcast_to(rows[0], np.shape(rows)), atol=1e-14)


def stationary_distance(make_ref, model):
    """Total variation between the stationary distribution of a reference and the target."""
    all_states = list(states(model))
    pi, P = target(model, all_states), transition_matrix(make_ref, model, all_states)
    n = len(pi)
    distribution = np.linalg.lstsq(np.vstack([P.T - np.eye(n), np.ones(n)]), np.eye(n + 1)[n], rcond=None)[0]
    return 0.5 * np.abs(distribution - pi).sum()


AS_PRINTED_MODELS = ["lines-known", "gaussian-full", "candidates", "bernoulli"]


@pytest.mark.parametrize("model", AS_PRINTED_MODELS)
def test_as_printed_dyadic_is_exact_for_random_splits_only(model):
    """Equation 9 is the proposal ratio of the random split."""
    assert stationary_distance(build("dyadic-random", "as_printed"), MODELS[model]) < 1e-12
    assert stationary_distance(build("dyadic-sams", "as_printed"), MODELS[model]) > 0.005
    assert stationary_distance(build("dyadic-random", "as_printed", q_ratio="one"), MODELS[model]) > 0.03


@pytest.mark.parametrize("model", often(AS_PRINTED_MODELS, ["bernoulli"]))
@pytest.mark.parametrize("allocation", ["random", "sams"])
@pytest.mark.parametrize("redraw", [False, True])
@pytest.mark.parametrize("q_ratio", ["formula", "one"])
def test_as_printed_triadic_is_biased(q_ratio, redraw, allocation, model):
    """Even where the printed q is the true one, with the pair redrawn or not: the drop has its probability too."""
    make_ref = build(f"triadic-symmetrised-{allocation}", "as_printed", redraw=redraw, q_ratio=q_ratio)
    assert stationary_distance(make_ref, MODELS[model]) > 0.02


class RolesByCluster(reference_triadic.Triadic):
    """i is the item alone in its cluster, j the duplicate that is kept, and not the order in which they were drawn."""

    def split_or_merge(self, i, j, *log_calls):
        c_i, c_j = self.state.cluster_of(i), self.state.cluster_of(j)
        if c_i != c_j and self.dropped_shares(i):
            i, j = j, i
        super().split_or_merge(i, j, *log_calls)

    def drop(self, of, n_S):
        self.of = of
        return super().drop(of, n_S)

    def dropped_shares(self, i):
        return self.of.count(self.state.cluster_of(i)) == 2


def test_roles_by_cluster_need_a_swap_and_roles_by_order_do_not():
    """The order of the triple is as likely as its reverse; roles that the state decides are not, and it matters only
    where side A draws parameters and side B keeps its own."""
    options = REFERENCES["triadic-symmetrised-sams"][1]

    def by_cluster(state, stream):
        return RolesByCluster(state, stream, **options)

    assert stationary_distance(by_cluster, MODELS["candidates"]) > 1e-3
    assert stationary_distance(by_cluster, MODELS["lines-known"]) < 1e-12
    assert stationary_distance(build("triadic-symmetrised-sams"), MODELS["candidates"]) < 1e-12


@pytest.mark.parametrize("name", SCANS)
@pytest.mark.parametrize("model", ["candidates", "candidates-uniform", "bernoulli", "emm"])
def test_neal8_leaves_the_target_invariant(name, model):
    check(build(name), MODELS[model], reversible=name == "neal8-3-site")
