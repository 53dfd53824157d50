"""The reference samplers leave their target invariant: transition matrices on tiny data, every choice enumerated.

The replay shows that each compiled sampler equals its reference; this file shows that the reference is right
(docs/derivations.md).
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import reference
from enumerated import ScriptedStream, canonical, remembering, row, states, target, transition_matrix
from often import often
from plain import EMM, Bernoulli, State
from plain_mixed import Mixed
from tables import LEVELS, PRIOR, TYPES, cells

TOKENS = [0, 0, 1, 2]
ITEMS = [[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1]]


def emm(n=3, kmax=4, alpha=0.7, **kwargs):
    return EMM(TOKENS[:n], n_tokens=3, alpha=alpha, mu=0.6, sigma=0.8, kmax=kmax, **kwargs)


def bernoulli(n=4, **kwargs):
    return Bernoulli(ITEMS[:n], concentration=1.3, beta1=0.4, beta0=0.6, **kwargs)


REFERENCES = {
    "sdds": reference.SDDS,
    "ssdm": lambda *a, **k: reference.SDDS(*a, kernel="ssdm", **k),
    "smds": lambda *a, **k: reference.SDDS(*a, kernel="smds", **k),
    "ss": reference.SS,
    "rm-coin": lambda *a, **k: reference.RM(*a, redistribution="coin", **k),
    "rm-cut": lambda *a, **k: reference.RM(*a, redistribution="cut", **k),
    "rgsm-t0": lambda *a, **k: reference.RGSM(*a, t=0, **k),
    "rgsm-t1": lambda *a, **k: reference.RGSM(*a, t=1, **k),
    "rgsm-t2": lambda *a, **k: reference.RGSM(*a, t=2, **k),
    "birth_death": reference.BirthDeath,
    "gibbs-full": reference.Gibbs,
    "gibbs-site": lambda *a, **k: reference.Gibbs(*a, scan="site", **k),
}
MODELS = {
    "emm": emm(),
    "emm-4": emm(n=4, kmax=3),
    "emm-sparse": emm(alpha=0.05),
    "emm-partition": emm(label_prior="partition"),
    "emm-as_printed": emm(label_prior="as_printed"),
    "crp": bernoulli(),
    "uniform": bernoulli(prior="uniform"),
    "mixed": remembering(Mixed(cells(4), TYPES, LEVELS, 1.3, **PRIOR)),
}
REVERSIBLE = [name for name in REFERENCES if name != "gibbs-full"]


@pytest.mark.parametrize("model", often(MODELS, ["emm", "emm-as_printed", "crp"]))
@pytest.mark.parametrize("name", REFERENCES)
def test_exact_reference_leaves_the_target_invariant(name, model):
    all_states = list(states(model))
    pi, P = target(model, all_states), transition_matrix(REFERENCES[name], model, all_states)
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-13)
    np.testing.assert_allclose(pi @ P, pi, atol=1e-14)
    if name in REVERSIBLE:
        flow = pi[:, None] * P
        np.testing.assert_allclose(flow, flow.T, atol=1e-14)


@pytest.mark.parametrize("model", [MODELS["emm"], MODELS["crp"], MODELS["uniform"]], ids=["emm", "crp", "uniform"])
@pytest.mark.parametrize("name", [n for n in REFERENCES if not n.startswith("gibbs") and n != "rgsm-t2"])
def test_as_printed_reference_has_its_own_stationary_distribution(name, model):
    """pi 2^K / K! in the EMM, pi 2^K (the concentration doubled) in a mixture: both far from pi."""

    def log_extra(K):
        return K * math.log(2) - (math.lgamma(K + 1) if model.allows_empty else 0)

    all_states = list(states(model))
    distribution = target(model, all_states, log_extra)
    P = transition_matrix(lambda *a: REFERENCES[name](*a, mode="as_printed"), model, all_states)
    np.testing.assert_allclose(distribution @ P, distribution, atol=1e-14)
    assert 0.5 * np.abs(distribution - target(model, all_states)).sum() > 0.05


def test_doubled_concentration_is_the_printed_distribution_of_a_crp():
    model, doubled = bernoulli(), bernoulli()
    doubled.concentration *= 2
    all_states = list(states(model))
    np.testing.assert_allclose(
        target(model, all_states, lambda K: K * math.log(2)), target(doubled, all_states), atol=1e-15
    )


@pytest.mark.parametrize("name", REVERSIBLE)
def test_no_reference_reads_the_numbering(name):
    """A state gives the same row whatever numbers its clusters carry, so that states may be lumped over them."""
    model = emm()
    all_states = list(states(model))
    position = {canonical(c): s for s, c in enumerate(all_states)}
    for clusters in all_states:
        rows = [
            row(REFERENCES[name], model, list(order), position)
            for order in {tuple(map(tuple, o)) for o in itertools.permutations(clusters)}
        ]
        np.testing.assert_allclose(rows, np.broadcast_to(rows[0], np.shape(rows)), atol=1e-14)


def test_sequential_allocation_gives_table_1():
    """AABBCC into AA and BBCC: steps 1 to 6 of the paper's Table 1, whose last entry must be 0.625 (printed 0.714)."""
    model = EMM([0, 0, 1, 1, 2, 2], n_tokens=3, alpha=1.0, mu=0.0, sigma=1.0, kmax=9)
    ref = reference.SS(State(model, [0] * 6), ScriptedStream())
    steps = [1 / 2, 3 / 5, 5 / 8, 5 / 7, 1 / 2, 5 / 8]
    assert ref.log_p_seq([0, 1], [2, 3, 4, 5]) == pytest.approx(sum(map(math.log, steps)), abs=1e-12)
