"""Every compiled kernel, alone, against the enumerated posterior: all its proposals enumerated once, and once all its
execution paths, decisions included.

From the proposals follow the transition matrix, the round trip of every term, the distribution as printed and all
mutants. A Gibbs scan beside a wrong kernel hides it almost entirely, so no test here combines kernels, but for one, by
its name.
"""

import numpy as np
import pytest
from enumerations import Enumeration, enumeration
from every_sampler import (
    CASES,
    KEPT,
    MODELS,
    SAMPLERS,
    case_for,
    case_of,
    check_terms,
    chooses,
    is_adaptive,
    is_supported,
    pairs,
    with_slow,
)

from splitmerge_cli.core.rng import Rng
from splitmerge_cli.core.sampler import Sampler
from splitmerge_cli.kinds.lines.model import Lines
from splitmerge_cli.kinds.networks.irm import IRM
from splitmerge_cli.kinds.tables.models.bernoulli import Bernoulli
from splitmerge_cli.kinds.tables.models.gaussian import Gaussian
from splitmerge_cli.kinds.tokens.emm import EMM
from splitmerge_cli.samplers.chaperones import Chaperones
from splitmerge_cli.samplers.gibbs import Gibbs, LocallyInformed, Neal8
from splitmerge_cli.samplers.refresh import Refresh
from splitmerge_cli.samplers.split_merge import RGSM, Dyadic
from splitmerge_cli.samplers.triadic import Triadic
from splitmerge_cli.verify import cases, kernel, transitions
from splitmerge_cli.verify.enumerate import normalise
from splitmerge_cli.verify.paths import execution_paths

CANDIDATES = "lines-conjugate-candidates"


def enumerate_kernel(case_name: str, name: str, **options) -> Enumeration:
    form = SAMPLERS[name]
    return enumeration(case_for(case_name, name), form.sampler, **form.options | options)


def matrix(case, sampler_class: type[Sampler], **options):
    return Enumeration(case, sampler_class(case.model, Rng(0), **options)).matrix


def test_everything_is_found():
    """All of conf/sampler but those that draw from a continuum (of topics; `subcluster`, `partially_collapsed`, which
    tests of their own enumerate on finite base measures), on all of verify.cases but these."""
    found = {c for c, _ in pairs()}
    assert {CASES[c][0] for c in found} == set(MODELS) - {"HDP"}
    left = {s.split("-")[0] for s in SAMPLERS} - {s.split("-")[0] for _, s in pairs()}
    assert left == {"arm", "sarm", "bsm", "slice", "smag", "subcluster", "partially_collapsed", "drawn_topics"}
    assert {CASES[c][0] for c, _ in pairs(learning=True)} == set(MODELS) - {"HDP", "EMM"}


@pytest.mark.parametrize("case_name", [c for c in CASES if any(is_supported(c, s) for s in SAMPLERS)])
def test_log_joint_is_the_enumerated_posterior(case_name):
    case = case_of(case_name)
    log_joint = []
    for labels, K, *parameters in case.states:
        case.model.set_labels(np.array(labels), K if case.model.allows_empty else None)
        if parameters:
            case.model.set_parameters(np.array(parameters[0]))
        # of unlabelled states: K! / (K - T)! labellings where empty clusters are kept
        ways = np.log(np.arange(K - max(labels), K + 1)).sum() if case.model.allows_empty else 0.0
        log_joint.append(case.model.log_joint() + ways)
    # the enumeration of the points factorises whole covariance matrices, which costs it digits
    np.testing.assert_allclose(normalise(log_joint), case.pi, rtol=1e-11 if case.model.kind != "points" else 1e-8)


@pytest.mark.parametrize(("case_name", "name"), with_slow(pairs()))
def test_exact(case_name, name):
    """Stationary, and reversible but for the scans in item order; early rejection changes no probability; the terms of
    every proposal are, negated, those of its inverse; every mutant, a term left out or turned round, is found."""
    case, found = case_for(case_name, name), enumerate_kernel(case_name, name)
    P = found.matrix
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    assert transitions.stationarity_defect(P, case.pi) < 1e-12
    if found.sampler.TERMS or SAMPLERS[name].options.get("scan") == "site" or name == "refresh":
        assert transitions.balance_defect(P, case.pi) < 1e-12
    # of several proposals in a step, each on what the last one left, the terms are those of a step of one
    if found.sampler.TERMS and SAMPLERS[name].options.get("moves", 1) == 1:
        check_terms(found)


@pytest.mark.parametrize(
    ("case_name", "name", "term"),
    [("bernoulli", "rgsm", "allocation"), ("emm", "sdds", "target"), ("irm", "srm", "reverse")],
)
def test_a_mutant_is_the_sampler_without_the_term(case_name, name, term):
    """The matrix computed from the proposals is that of the compiled code with the term switched off."""
    case, form = case_of(case_name), SAMPLERS[name]
    sampler = form.sampler(case.model, Rng(0), **form.options)
    sampler.omit(term)
    P = transitions.transition_matrix(case.model, sampler.rng, sampler, case.states)
    np.testing.assert_allclose(enumerate_kernel(case_name, name).proposals.matrix(omit=[term]), P, atol=1e-13)


@pytest.mark.parametrize("case_name", ["emm-one", "emm-room", "bernoulli-two"])
def test_several_tries_in_a_step_are_exact(case_name):
    case = case_of(case_name)
    P, Q = (matrix(case, RGSM, t=0, r=r) for r in (2, 1))
    np.testing.assert_allclose(P, Q @ Q, atol=1e-13)
    assert transitions.stationarity_defect(P, case.pi) < 1e-12


def test_options_that_repeat_a_move_are_heeded():
    """Proposals in a step; updates that had a choice, of which one scan makes one for each item at most."""
    model = cases.small_case(Bernoulli, 6, 1).model
    for sampler, given, most in (
        (RGSM, {"r": 3}, 3),
        (LocallyInformed, {"moves": 3}, 3),
        (Chaperones, {"scans": 2}, 12),
    ):
        built, proposed = sampler(model, Rng(3), **given), [0]
        for _ in range(60):
            built.step()
            proposed.append(sum(row["proposed"] for row in built.counts()))
        steps = np.diff(proposed)
        assert (steps == most).all() if most == 3 else model.N < steps.max() <= most


@pytest.mark.parametrize("t", [0, 1, 2])
def test_launch_scans_are_those_that_were_asked_for(t):
    """A split of four items: two coins, then two choices in each scan, of which the last is scored."""
    model, rng = cases.small_case(Bernoulli, 4, 1).model, Rng(0)
    paths = execution_paths(model, rng, RGSM(model, rng, t=t), (0, 0, 0, 0), 1, None, True, 100_000)
    # of 12 pairs
    assert len(paths["K"]) == 12 * 4 * 4 ** (t + 1)


# samplers that print a count of labels in place of the exact one, and nothing else
LABELS_AS_PRINTED = ["rm", "rm-redistribution=coin", "birth_death", "rgsm", "sdds", "sdds-kernel=ssdm"]
LABELS_AS_PRINTED += ["sdds-kernel=smds", "ss"]


@pytest.mark.parametrize("name", LABELS_AS_PRINTED)
@pytest.mark.parametrize(
    "case_name", ["emm", "emm-small-alpha", "bernoulli", "bernoulli-uniform", "irm", "gaussian-diag"]
)
def test_printed_distribution(case_name, name):
    """Counted as printed, the distribution is exactly pi 2^K / K! (EMM), or pi with each cluster's weight doubled (no
    empty clusters)."""
    case = case_of(case_name)
    K = np.array([s[1] for s in case.states])
    factor = K * np.log(2.0)
    if case.model.allows_empty:
        factor = factor - np.array([np.log(np.arange(1, k + 1)).sum() for k in K])
    printed = normalise(np.log(case.pi) + factor)
    P = enumerate_kernel(case_name, name).proposals.matrix(printed=True)
    assert transitions.stationarity_defect(P, printed) < 1e-12
    assert transitions.total_variation(printed, case.pi) > 0.05
    assert transitions.stationarity_defect(P, case.pi) > 1e-5
    if case_name in ("emm", "bernoulli"):
        np.testing.assert_allclose(enumerate_kernel(case_name, name, mode="as_printed").matrix, P, atol=1e-13)


AS_PRINTED_TRIADIC = [(q, redraw) for q in ("formula", "one") for redraw in (True, False)]


@pytest.mark.parametrize(("q_ratio", "redraw"), AS_PRINTED_TRIADIC)
@pytest.mark.parametrize("allocation", ["sams", "random"])
@pytest.mark.parametrize("case_name", ["bernoulli", "irm", "lines", CANDIDATES, "gaussian-diag", "emm-room"])
def test_as_printed_triadic_is_biased(case_name, allocation, q_ratio, redraw):
    """As printed, the stationary distribution is off by 0.02 to 0.55: the sub-call's own pair, or the duplicate dropped
    without a factor, or the ratio of q."""
    case = case_of(case_name)
    P = matrix(case, Triadic, beta=0.1, allocation=allocation, mode="as_printed", q_ratio=q_ratio, redraw=redraw)
    assert transitions.stationarity_defect(P, case.pi) > 1e-3
    if transitions.is_irreducible(P):
        assert 0.02 < transitions.total_variation(transitions.stationary_distribution(P), case.pi) < 0.55


@pytest.mark.parametrize("case_name", ["bernoulli", "irm", "lines", CANDIDATES])
def test_as_printed_dyadic_is_exact_for_coins_alone(case_name):
    """Equation 9 is the ratio of fair coins: with them as_printed is exact, and with SAMS it is not."""
    case = case_of(case_name)
    for allocation, exact in [("random", True), ("sams", False)]:
        P = matrix(case, Dyadic, allocation=allocation, mode="as_printed")
        assert (transitions.stationarity_defect(P, case.pi) < 1e-12) == exact


@pytest.mark.parametrize("update", ["draw", "metropolis"])
@pytest.mark.parametrize("noise", [0.3, 1.5])
def test_refresh_of_parameters_is_exact(update, noise):
    case = cases.small_case(Lines, 3, 2, KEPT | {"refresh": update, "steps": 2, "sigma1": noise})
    P = matrix(case, Refresh)
    assert transitions.balance_defect(P, case.pi) < 1e-12
    # nothing but parameters changes
    for t, state in enumerate(case.states):
        assert all(case.states[to][0] == state[0] for to in np.flatnonzero(P[t]))


@pytest.mark.parametrize("m", [1, 2, 3])
def test_algorithm_8_with_parameters(m):
    case = case_of(CANDIDATES)
    P = matrix(case, Neal8, m=m, scan="site")
    assert transitions.balance_defect(P, case.pi) < 1e-12
    assert transitions.is_irreducible(P)
    assert transitions.stationarity_defect(matrix(case, Neal8, m=1), case.pi) < 1e-12


# ---- Chains from the random stream, where choices cannot be listed

SAMPLED = {"neal8": (Neal8, {"m": 3}), "sams": (Dyadic, {"allocation": "sams"}), "triadic": (Triadic, {"beta": 0.3})}
CONTINUA = [
    (Lines, {"conjugate": False}),
    (Lines, {"conjugate": False, "noise": "nig", "refresh": "metropolis"}),
    (Lines, {"concentration": "gamma(2,1)"}),
    (Lines, {"concentration": "gamma(0.7,0.5)", "conjugate": False, "noise": "nig"}),
    (Bernoulli, {"concentration": "gamma(2,1)"}),
    (IRM, {"concentration": "gamma(2,1)"}),
    (Gaussian, {"concentration": "gamma(1.5,2)", "covariance": "full"}),
]


@pytest.mark.parametrize("name", SAMPLED)
@pytest.mark.parametrize(("model_class", "params"), CONTINUA)
def test_continuous_draws_at_noise_level(model_class, params, name):
    """Parameters from a continuum and a random concentration: frequencies of partitions against the posterior in which
    both are integrated out."""
    case = cases.small_case(model_class, 4, 3, params)
    rng = Rng(17)
    sampler_class, given = SAMPLED[name]
    samplers = [sampler_class(case.model, rng, **given), Refresh(case.model, rng)]
    frequencies, noise = kernel.sampled_frequencies(case, samplers, rng, 100_000)
    assert noise < 0.02
    assert transitions.total_variation(frequencies, case.partitions[1]) < 3 * noise


def test_a_frozen_concentration_is_found():
    """The check above sees a concentration that is never resampled."""
    case = cases.small_case(Bernoulli, 4, 3, {"concentration": "gamma(0.3,0.1)"})
    rng = Rng(17)
    frequencies, noise = kernel.sampled_frequencies(case, [Gibbs(case.model, rng)], rng, 100_000)
    assert transitions.total_variation(frequencies, case.partitions[1]) > 10 * noise


# ---- Kernels together, and cases that nobody chose


@pytest.mark.parametrize("name", ["sdds", "sdds-kernel=ssdm", "sdds-kernel=smds", "ss"])
@pytest.mark.parametrize("case_name", ["emm", "bernoulli"])
def test_irreducible_alone(case_name, name):
    assert transitions.is_irreducible(enumerate_kernel(case_name, name).matrix)


def random_case(seed):
    """A case nobody chose."""
    rng = np.random.default_rng(1000 + seed)
    size = int(rng.integers(2, 5))
    if seed % 2:
        params = {
            "alpha": float(np.exp(rng.normal(-1, 2))),
            "mu": float(rng.normal(0, 2)),
            "sigma": float(np.exp(rng.normal(0, 0.7))),
            "kmax": int(rng.integers(1, size + 2)),
            "n_tokens": int(rng.integers(3, 6)),
            "label_prior": str(rng.choice(["labelled", "partition", "as_printed"])),
        }
        return cases.small_case(EMM, size, seed, params)
    params = {"concentration": float(np.exp(rng.normal(0, 1))), "prior": str(rng.choice(["crp", "uniform"]))}

    def positive(spread=1.0):
        return float(np.exp(rng.normal(0, spread)))

    if seed % 4 == 0:
        model_class = Bernoulli if seed % 8 else IRM
        return cases.small_case(model_class, size, seed, params | {"beta1": positive(1.5), "beta0": positive(1.5)})
    if seed % 8 == 2:
        noise = {"noise": str(rng.choice(["known", "nig"])), "a0": 1.0 + positive()}
        return cases.small_case(Lines, size, seed, params | {"sigma0": positive(2.0), "sigma1": positive(2.0)} | noise)
    form = {"covariance": str(rng.choice(["diag", "iso", "full"])), "kappa0": positive(2.0), "a0": positive()}
    return cases.small_case(Gaussian, size, seed, params | form | {"b0": positive(2.0), "m0": float(rng.normal())})


@pytest.mark.parametrize("seed", range(24))
def test_exact_on_random_cases(seed):
    case = random_case(seed)
    for name, form in SAMPLERS.items():
        sampler_class, options = form
        if is_adaptive(name) or name == "refresh" or sampler_class.DRAWS_FROM_CONTINUUM:
            continue
        if not chooses(form, case.model):
            continue
        if sampler_class.supports(case.model)[0]:
            assert transitions.stationarity_defect(matrix(case, sampler_class, **options), case.pi) < 1e-11, name


@pytest.mark.parametrize(("model_class", "size"), [(EMM, 5), (Bernoulli, 6), (IRM, 5), (Lines, 5), (Gaussian, 5)])
@pytest.mark.parametrize("name", ["sdds", "ss", "rgsm", "rm-redistribution=coin", "birth_death", "gibbs-scan=site"])
def test_exact_on_more_items(model_class, size, name):
    sampler_class, options = SAMPLERS[name]
    case = cases.small_case(model_class, size, 9)
    sampler = sampler_class(case.model, Rng(0), **options)
    P = transitions.transition_matrix(case.model, sampler.rng, sampler, case.states, limit=20_000_000)
    assert transitions.stationarity_defect(P, case.pi) < 1e-12
