"""Particle Gibbs split-merge beside what test_transition_matrix.py enumerates of every sampler: numbers of particles,
thresholds, mutants of the weights, and the samplers that it contains or improves on.
"""

import numpy as np
import pytest
from enumerations import enumeration
from every_sampler import case_of

from splitmerge_cli.core.rng import Rng
from splitmerge_cli.kinds.lines.model import Lines
from splitmerge_cli.kinds.tables.models.bernoulli import Bernoulli
from splitmerge_cli.kinds.tables.models.gaussian import Gaussian
from splitmerge_cli.samplers.pgsm import PGSM
from splitmerge_cli.samplers.split_merge import Dyadic
from splitmerge_cli.verify import cases, transitions

FORMS = [
    {"merged": merged, "selection": selection}
    for merged in ("counted", "drawn")
    for selection in ("metropolis", "forced", "gibbs")
]
MODELS = ("bernoulli", "gaussian-diag", "emm", "lines")


def matrix(case, **options):
    return enumeration(case, PGSM, **options).matrix


@pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(form.values()))
@pytest.mark.parametrize(("particles", "threshold"), [(2, 0.0), (2, 1.0), (3, 0.0), (3, 0.7)])
def test_exact_with_any_particles_and_threshold(particles, threshold, form):
    case = cases.small_case(Bernoulli, 4 if particles == 2 else 3, 1)
    P = matrix(case, particles=particles, threshold=threshold, **form)
    assert transitions.balance_defect(P, case.pi) < 1e-12


def test_ancestors_of_items_that_follow():
    """Five items: where all particles split, weights differ before the third allocation for the first time."""
    case = cases.small_case(Gaussian, 5, 1)
    P = matrix(case, particles=2, threshold=0.99, selection="forced")
    assert transitions.balance_defect(P, case.pi) < 1e-12
    # on some paths, not on all: other kernels with the same posterior
    for threshold in (0.0, 1.0):
        assert np.abs(P - matrix(case, particles=2, threshold=threshold, selection="forced")).max() > 1e-4


@pytest.mark.parametrize(("size", "seed", "particles"), [(4, 3, 2), (4, 3, 3), (5, 1, 2)])
def test_early_rejection_by_a_bound_that_is_met(size, seed, particles):
    """A merge is rejected before any allocation by a bound that counts the mean weight of P particles as 1/P of that of
    the first: here some ratios are above it without this factor, so that it would reject too often."""
    case = cases.small_case(Gaussian, size, seed, {"concentration": 5.0, "b0": 0.05})
    assert transitions.balance_defect(matrix(case, particles=particles), case.pi) < 1e-12


@pytest.mark.parametrize("selection", ["metropolis", "forced"])
@pytest.mark.parametrize("model", MODELS)
def test_one_particle_is_sams(model, selection):
    case = case_of(model)
    sams = enumeration(case, Dyadic, allocation="sams").matrix
    np.testing.assert_allclose(matrix(case, particles=1, selection=selection), sams, atol=1e-13)


@pytest.mark.parametrize("model", MODELS)
def test_metropolis_changes_the_number_as_often_or_more(model):
    """From one cluster to two, and back, at least as often as by weight; never from two to other two."""
    case = case_of(model)
    more = matrix(case, selection="metropolis") - matrix(case, selection="gibbs")
    K = np.array([len(set(state[0])) for state in case.states])
    other = K[:, None] != K
    assert more[other].min() > -1e-13
    assert more[other].max() > 1e-3
    np.fill_diagonal(more, 0.0)
    assert matrix(case, selection="metropolis")[~other & ~np.eye(len(K), dtype=bool)].max() == 0.0


@pytest.mark.parametrize("merged", ["counted", "drawn"])
@pytest.mark.parametrize("model", MODELS)
def test_forced_moves_as_often_or_more(model, merged):
    """Peskun: no entry off the diagonal is smaller than that of gibbs, and some are larger."""
    case = case_of(model)
    more = matrix(case, merged=merged, selection="forced") - matrix(case, merged=merged, selection="gibbs")
    np.fill_diagonal(more, 0.0)
    assert more.min() > -1e-13
    assert more.max() > 1e-3


@pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(form.values()))
@pytest.mark.parametrize("term", ["start", "steps"])
@pytest.mark.parametrize("model", MODELS)
def test_mutants_of_the_weights_are_found(model, term, form):
    case = case_of(model)
    sampler = PGSM(case.model, Rng(0), particles=2, threshold=0.9, **form)
    sampler.omit(term)
    P = transitions.transition_matrix(case.model, sampler.rng, sampler, case.states)
    assert transitions.stationarity_defect(P, case.pi) > 1e-4


@pytest.mark.parametrize("selection", ["forced", "gibbs"])
def test_moves_are_named_by_what_they_do(selection):
    """A split adds a cluster, a merge takes one away, and two that stay two are a reallocation."""
    model = case_of("gaussian-diag").model
    sampler, done = PGSM(model, Rng(2), particles=3, selection=selection), dict.fromkeys(PGSM.MOVES, 0)
    for _ in range(400):
        K, before = model.K, {row["move"]: row["accepted"] for row in sampler.counts()}
        sampler.step()
        for row in sampler.counts():
            if row["accepted"] > before[row["move"]]:
                assert {"split": 1, "merge": -1, "reallocate": 0}[row["move"]] == model.K - K
                done[row["move"]] += 1
    assert min(done.values()) > 5


def test_one_particle_that_draws_whether_it_merges():
    with pytest.raises(ValueError, match=r"sampler\.particles=1: expected 2 or more"):
        PGSM(case_of("bernoulli").model, Rng(0), particles=1, merged="drawn")


POINTS = np.array([[0.0, -1.0], [0.0, 1.0], [0.0, 0.0], [0.001, 0.0], [0.002, 1.0]])


@pytest.mark.parametrize("labels", [(0, 0, 0, 0, 0), (0, 1, 0, 1, 1), (0, 0, 1, 1, 0)])
def test_weights_that_leave_the_range_of_a_double(labels):
    """Points between two anchors, which fit the one cluster of both and neither of the two: of one particle the log
    ratio of every proposal is that of sams."""
    model = Lines(POINTS, concentration=1.3, sigma0=1.0, sigma1=0.01)
    found = []
    for sampler_class, options in ((Dyadic, {"allocation": "sams"}), (PGSM, {"particles": 1})):
        rng = Rng()
        sampler = sampler_class(model, rng, **options)
        paths = transitions.list_paths(model, rng, sampler, (labels, max(labels) + 1), always_accept=True)
        found.append(sorted((state, ratio) for state, _, ratio, _ in paths))
    sams, one = found
    assert [state for state, _ in sams] == [state for state, _ in one]
    np.testing.assert_allclose([r for _, r in one], [r for _, r in sams], rtol=1e-9, atol=1e-9)
    assert max(abs(r) for _, r in sams) > 745
