"""lshsm, compiled and alone: the whole transition matrix, for every proposal and reading and several draws of the hash
tables, each of which is a kernel of its own.
"""

import itertools

import numpy as np
import pytest
from every_sampler import KEPT

from splitmerge_cli.core.rng import Rng
from splitmerge_cli.kinds.lines.model import Lines
from splitmerge_cli.kinds.networks.irm import IRM
from splitmerge_cli.kinds.tables.models.bernoulli import Bernoulli
from splitmerge_cli.kinds.tables.models.gaussian import Gaussian
from splitmerge_cli.kinds.tokens.emm import EMM
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.lshsm import LSHSM
from splitmerge_cli.verify import cases, kernel, transitions

CASES = {
    "gaussian": (Gaussian, 4, 0, {}),
    "gaussian-five": (Gaussian, 5, 1, {"covariance": "full"}),
    "gaussian-uniform": (Gaussian, 4, 2, {"covariance": "iso", "prior": "uniform"}),
    "bernoulli": (Bernoulli, 4, 0, {}),
    "bernoulli-five": (Bernoulli, 5, 1, {"concentration": 0.4}),
    "lines": (Lines, 4, 0, {}),
    "irm": (IRM, 4, 0, {"beta1": 0.6, "beta0": 1.7}),
}
PROPOSALS = ("paired", "paired_sequential", "sums")
READINGS = ("table", "union")
KINDS = list(itertools.product(PROPOSALS, READINGS))
# (bits, tables, tables_seed)
SHAPES = [(1, 1, 0), (1, 2, 1), (1, 4, 2), (2, 2, 3), (3, 4, 4), (3, 1, 1)]


def build(case_name):
    model_class, size, seed, params = CASES[case_name]
    return cases.small_case(model_class, size, seed, params)


def sampler_on(case, proposal, reading, shape=(1, 2, 0), **options):
    bits, tables, seed = shape
    shaped = {"bits": bits, "tables": tables, "tables_seed": seed, **options}
    return LSHSM(case.model, Rng(0), proposal=proposal, reading=reading, **shaped)


def matrix(case, sampler):
    return transitions.transition_matrix(case.model, sampler.rng, sampler, case.states)


def connects(tables, N):
    """Whether the pairs of items that the tables may give, near or opposite, connect all items."""
    reached, front = {0}, [0]
    while front:
        u = front.pop()
        for v in set(range(N)) - reached:
            if any(tables.probability(u, v, opposite=opposite) > 0 for opposite in (False, True)):
                reached.add(v)
                front.append(v)
    return len(reached) == N


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("case_name", CASES)
@pytest.mark.parametrize(("proposal", "reading"), KINDS)
def test_exact(proposal, reading, case_name, shape):
    """Reversible whatever the tables hold; every state is reached just where they connect all items."""
    case = build(case_name)
    sampler = sampler_on(case, proposal, reading, shape)
    P = matrix(case, sampler)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    assert transitions.stationarity_defect(P, case.pi) < 1e-12
    assert transitions.balance_defect(P, case.pi) < 1e-12
    assert transitions.is_irreducible(P) == connects(sampler.tables, case.model.N)


def test_the_shapes_tried_connect_and_do_not():
    case = build("gaussian-five")
    found = [connects(sampler_on(case, "paired", "table", shape).tables, 5) for shape in SHAPES]
    assert found == [True, True, True, True, True, False]


@pytest.mark.parametrize("centre", [True, False])
@pytest.mark.parametrize(("proposal", "reading"), KINDS)
def test_exact_without_a_centre(proposal, reading, centre):
    """Rows of zeros have no direction then: they are moved by no query of their own, and no other finds them."""
    case = cases.small_case(Bernoulli, 4, 3)
    sampler = sampler_on(case, proposal, reading, (1, 2, 5), centre=centre)
    P = matrix(case, sampler)
    assert transitions.balance_defect(P, case.pi) < 1e-12
    assert transitions.is_irreducible(P) == connects(sampler.tables, 4)


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize(("proposal", "reading"), KINDS)
def test_exact_on_one_two_and_three_items(proposal, reading, size):
    case = cases.small_case(Gaussian, size, 2)
    P = matrix(case, sampler_on(case, proposal, reading, (1, 1, 0)))
    assert transitions.balance_defect(P, case.pi) < 1e-12
    assert transitions.is_irreducible(P)
    if size == 1:
        np.testing.assert_array_equal(P, [[1.0]])


@pytest.mark.parametrize("proposal", PROPOSALS)
def test_other_tables_are_another_kernel(proposal):
    case = build("gaussian-five")
    P, Q, again = (matrix(case, sampler_on(case, proposal, "table", (2, 2, seed))) for seed in (1, 2, 1))
    assert np.abs(P - Q).max() > 1e-3
    np.testing.assert_array_equal(P, again)


def test_what_is_refused():
    """Mentions are no vectors; sums has no draw for the parameters of a new cluster; the paper prints sums alone."""
    able, reason = LSHSM.supports(cases.small_case(EMM, 3).model)
    assert not able
    assert reason
    kept = cases.small_case(Lines, 3, 4, KEPT)
    for case, proposal, mode in [(kept, "sums", "exact"), (build("gaussian"), "paired", "as_printed")]:
        with pytest.raises(ValueError, match=r"sampler\.(proposal|mode)="):
            sampler_on(case, proposal, "table", mode=mode)


@pytest.mark.parametrize("proposal", ["paired", "paired_sequential"])
def test_clusters_that_keep_parameters(proposal):
    case = cases.small_case(Lines, 3, 4, KEPT)
    for seed in range(3):
        P = matrix(case, sampler_on(case, proposal, "table", (1, 2, seed)))
        assert transitions.balance_defect(P, case.pi) < 1e-12


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("case_name", ["gaussian", "bernoulli", "lines"])
def test_as_printed_is_biased(case_name, reading):
    """Equations 3 to 6 as printed."""
    case = build(case_name)
    P = matrix(case, sampler_on(case, "sums", reading, mode="as_printed"))
    assert 0.02 < transitions.total_variation(transitions.stationary_distribution(P), case.pi) < 0.6


def lss_sampler(case, reading, shape=(1, 2, 0), **options):
    return sampler_on(case, "sums", reading, shape, mode="as_printed", likelihood="lss", **options)


ISO_UNIFORM = {"covariance": "iso", "prior": "uniform"}
# Total variation from the posterior that an enumeration in plain Python gave, with the same directions.
PREDICTED = [
    ({}, "table", (1, 1, 0), 0.495),
    ({}, "union", (1, 2, 1), 0.436),
    ({}, "table", (1, 4, 2), 0.284),
    ({}, "union", (2, 3, 3), 0.499),
    (ISO_UNIFORM, "table", (1, 2, 1), 0.417),
    (ISO_UNIFORM, "union", (1, 4, 2), 0.347),
    (ISO_UNIFORM, "table", (2, 4, 3), 0.400),
]


@pytest.mark.parametrize(("params", "reading", "shape", "predicted"), PREDICTED)
def test_the_sampled_likelihood_is_further_off(params, reading, shape, predicted):
    """Equation 11 beside equations 3 to 6."""
    case = cases.small_case(Gaussian, 4, 0, params)
    printed = matrix(case, sampler_on(case, "sums", reading, shape, mode="as_printed"))
    P = matrix(case, lss_sampler(case, reading, shape))
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    assert transitions.is_irreducible(P)
    assert transitions.total_variation(transitions.stationary_distribution(P), case.pi) == pytest.approx(
        predicted, abs=1e-3
    )
    assert transitions.total_variation(transitions.stationary_distribution(printed), case.pi) < 0.1


@pytest.mark.parametrize("reading", READINGS)
def test_the_sampled_likelihood_may_be_left_out(reading):
    """Without the prior's share and the estimate, the ratio is that of the marginal likelihood without the target's."""
    case = cases.small_case(Gaussian, 4, 0, {"prior": "uniform"})
    P = []
    for likelihood in ("lss", "marginal"):
        sampler = sampler_on(case, "sums", reading, mode="as_printed", likelihood=likelihood)
        sampler.omit("target", "estimate")
        P.append(matrix(case, sampler))
    np.testing.assert_array_equal(*P)


LIKELIHOODS_REFUSED = [
    ("gaussian", "exact", "lss"),
    ("gaussian-five", "as_printed", "lss"),  # covariance=full
    ("bernoulli", "as_printed", "lss"),
    ("irm", "as_printed", "lss"),
    ("gaussian", "as_printed", "sampled"),
]


@pytest.mark.parametrize(("case_name", "mode", "likelihood"), LIKELIHOODS_REFUSED)
def test_likelihoods_that_are_refused(case_name, mode, likelihood):
    """The sampled one is the printed version's, of normal densities with variances of their own."""
    case = build(case_name)
    with pytest.raises(ValueError, match=r"sampler\.likelihood"):
        sampler_on(case, "sums", "table", mode=mode, likelihood=likelihood)


@pytest.mark.parametrize("reading", READINGS)
def test_sums_follow_what_other_samplers_do(reading):
    """The sums that a sampler keeps are those of one that has just been made, in the same state, after moves of its own
    and after scans by another sampler."""
    x = np.random.default_rng(4).normal(size=(12, 2))
    model, rng = Gaussian(x, concentration=3.0), Rng(5)
    options = {"proposal": "sums", "reading": reading, "bits": 1, "tables": 3}
    sampler, scan, accepted = LSHSM(model, rng, **options), Gibbs(model, rng), 0
    for t in range(300):
        if t % 3 == 0:
            scan.step()
        other, again = Gaussian(x, concentration=3.0), Rng()
        other.set_labels(model.labels)
        again.state = rng.state
        fresh = LSHSM(other, again, **options)
        before = model.labels
        for each in (sampler, fresh):
            each.step()
        np.testing.assert_array_equal(model.labels, other.labels)
        assert fresh.last_log_ratio == pytest.approx(sampler.last_log_ratio, rel=1e-9, abs=1e-9, nan_ok=True)
        accepted += not np.array_equal(before, model.labels)
    assert accepted > 10


@pytest.mark.parametrize(("proposal", "reading"), KINDS)
def test_a_chain_samples_the_posterior(proposal, reading):
    """From the random stream, not the script: draws and scripts must agree."""
    case = build("gaussian-five")
    sampler = sampler_on(case, proposal, reading)
    frequencies, noise = kernel.sampled_frequencies(case, [sampler], sampler.rng, 100_000)
    assert noise < 0.03
    assert transitions.total_variation(frequencies, case.pi) < 3 * noise
