"""Every compiled kernel, alone, against the enumerated posterior: the whole transition matrix, all random choices
enumerated.

A Gibbs scan beside a wrong kernel hides it almost entirely, so no test here combines kernels, but the one that says so.
"""

import numpy as np
import pytest
import small_cases

from splitmerge_cli.core.rng import Rng
from splitmerge_cli.models.bernoulli import Bernoulli
from splitmerge_cli.models.emm import EMM
from splitmerge_cli.models.gaussian import Gaussian
from splitmerge_cli.models.irm import IRM
from splitmerge_cli.models.lines import Lines
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.neal8 import Neal8
from splitmerge_cli.samplers.refresh import Refresh
from splitmerge_cli.samplers.triadic import Triadic
from splitmerge_cli.verify.cases import sampled_frequencies, small_case
from splitmerge_cli.verify.enumerate import normalise
from splitmerge_cli.verify.transitions import (
    balance_defect,
    irreducible,
    stationarity_defect,
    stationary,
    total_variation,
    transition_matrix,
    walk,
)

CASES = {
    "emm": (EMM, 4, 0, {}),
    "emm-partition": (EMM, 4, 1, {"labels": "partition"}),
    "emm-as_printed": (EMM, 4, 2, {"labels": "as_printed", "alpha": 0.1}),
    "emm-small-alpha": (EMM, 4, 3, {"alpha": 0.001}),
    "emm-room": (EMM, 3, 4, {"kmax": 5, "n_tokens": 4, "mu": 2.0}),
    "emm-tight": (EMM, 4, 5, {"kmax": 2}),
    "emm-one": (EMM, 1, 6, {"kmax": 3}),
    "bernoulli": (Bernoulli, 4, 0, {}),
    "bernoulli-five": (Bernoulli, 5, 1, {"concentration": 0.4}),
    "bernoulli-uniform": (Bernoulli, 4, 2, {"prior": "uniform"}),
    "bernoulli-sharp": (Bernoulli, 4, 3, {"beta1": 0.01, "beta0": 0.02}),
    "bernoulli-one": (Bernoulli, 1, 4, {}),
    "bernoulli-two": (Bernoulli, 2, 5, {"concentration": 3.0}),
    "lines": (Lines, 4, 0, {}),
    "lines-sharp": (Lines, 4, 1, {"sigma1": 0.3, "sigma0": 10.0}),
    "lines-nig": (Lines, 4, 2, {"noise": "nig", "a0": 1.2}),
    "lines-uniform": (Lines, 3, 3, {"prior": "uniform"}),
    "lines-kept": (Lines, 3, 4, {"conjugate": False, "candidates": [[0.0, 1.0], [1.0, -0.5]]}),
    "gaussian-diag": (Gaussian, 4, 0, {}),
    "gaussian-iso": (Gaussian, 4, 1, {"covariance": "iso", "concentration": 0.3}),
    "gaussian-full": (Gaussian, 4, 2, {"covariance": "full"}),
    "irm": (IRM, 4, 0, {"beta1": 0.6, "beta0": 1.7}),
    "irm-five": (IRM, 5, 1, {"concentration": 0.4}),
    "irm-uniform": (IRM, 4, 0, {"prior": "uniform"}),
    "irm-sharp": (IRM, 4, 0, {"beta1": 0.01, "beta0": 0.02, "concentration": 2.0}),
    "irm-one": (IRM, 1, 0, {}),
    "irm-two": (IRM, 2, 1, {"beta1": 0.3}),
    "gaussian-uniform": (Gaussian, 3, 3, {"covariance": "full", "prior": "uniform", "b0": [0.01, 4.0]}),
}
KEPT = "lines-kept"
# the forms of lshsm, in which other terms count and other models are served, have tests of their own: test_lshsm.py
SAMPLERS = {name: made for name, made in small_cases.SAMPLERS.items() if not name.startswith("lshsm")}
REVERSIBLE = [name for name in SAMPLERS if name != "gibbs"]


def build(case_name):
    model_class, size, seed, params = CASES[case_name]
    return small_case(model_class, size, seed, params)


def sampler_on(case, name, **options):
    sampler_class, given = SAMPLERS[name]
    if name == "srm" and case.model.N > 4:
        # the relabellings of five items are too many to walk
        options["relabel"] = False
    return sampler_class(case.model, Rng(0), **given, **options)


def serves(case_name, name):
    """Whether a sampler is made for the model of a case."""
    return SAMPLERS[name][0].supports(build(case_name).model)[0]


def pairs(cases, names=tuple(SAMPLERS)):
    return [(case_name, name) for case_name in cases for name in names if serves(case_name, name)]


@pytest.mark.parametrize("case_name", CASES)
def test_log_joint_is_the_enumerated_posterior(case_name):
    case = build(case_name)
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


def test_the_factors_left_out_of_mutants_are_no_factors():
    for case_name, name, term in [
        ("bernoulli", "rgsm-0", "orders"),
        ("bernoulli", "rm-coin", "spread"),
        ("emm", "rm-coin", "spread"),
    ]:
        case = build(case_name)
        sampler = sampler_on(case, name)
        P = transition_matrix(case.model, sampler.rng, sampler, case.states)
        sampler.omit(term)
        np.testing.assert_array_equal(P, transition_matrix(case.model, sampler.rng, sampler, case.states))


@pytest.mark.parametrize("case_name", ["emm-one", "emm-room", "bernoulli-two"])
def test_several_tries_in_a_step_are_exact(case_name):
    case = build(case_name)
    sampler = sampler_on(case, "rgsm-0", r=2)
    P = transition_matrix(case.model, sampler.rng, sampler, case.states)
    once = sampler_on(case, "rgsm-0")
    Q = transition_matrix(case.model, once.rng, once, case.states)
    np.testing.assert_allclose(P, Q @ Q, atol=1e-13)
    assert stationarity_defect(P, case.pi) < 1e-12


@pytest.mark.parametrize(("case_name", "name"), pairs(CASES))
def test_exact(case_name, name):
    case = build(case_name)
    sampler = sampler_on(case, name)
    P = transition_matrix(case.model, sampler.rng, sampler, case.states)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    assert stationarity_defect(P, case.pi) < 1e-12
    if name in REVERSIBLE:
        assert balance_defect(P, case.pi) < 1e-12


@pytest.mark.parametrize(
    ("case_name", "name"),
    pairs(
        ["emm", "emm-tight", "bernoulli", "bernoulli-uniform", "irm", "lines", "lines-nig", KEPT, "gaussian-full"],
        [n for n in SAMPLERS if not n.startswith(("gibbs", "neal8"))],
    ),
)
def test_round_trip(case_name, name):
    """The log ratios from x to y are, negated, those from y to x."""
    case = build(case_name)
    sampler = sampler_on(case, name)
    ratios: dict[tuple, set[float]] = {}
    for state in case.states:
        for target, _, log_ratio, _ in walk(case.model, sampler.rng, sampler, state, always_accept=True):
            if target != state and np.isfinite(log_ratio):
                ratios.setdefault((state, target), set()).add(round(log_ratio, 9) + 0.0)
    assert ratios
    for (x, y), there in ratios.items():
        back = {round(-r, 9) + 0.0 for r in ratios.get((y, x), set())}
        np.testing.assert_allclose(sorted(there), sorted(back), atol=3e-9)


@pytest.mark.parametrize("name", [n for n in SAMPLERS if SAMPLERS[n][0].PRINTED_TERM == "labels"])
@pytest.mark.parametrize(
    "case_name", ["emm", "emm-small-alpha", "bernoulli", "bernoulli-uniform", "irm", "gaussian-diag"]
)
def test_printed_law(case_name, name):
    """Counted as printed, the law is exactly pi 2^K / K! (EMM), or pi with each cluster's weight doubled (no empty
    clusters)."""
    case = build(case_name)
    sampler = sampler_on(case, name, mode="as_printed")
    K = np.array([s[1] for s in case.states])
    factor = K * np.log(2.0)
    if case.model.allows_empty:
        factor = factor - np.array([np.log(np.arange(1, k + 1)).sum() for k in K])
    law = normalise(np.log(case.pi) + factor)
    P = transition_matrix(case.model, sampler.rng, sampler, case.states)
    assert stationarity_defect(P, law) < 1e-12
    assert total_variation(law, case.pi) > 0.05
    assert stationarity_defect(P, case.pi) > 1e-5


AS_PRINTED_TRIADIC = [(q, redraw) for q in ("formula", "one") for redraw in (True, False)]


@pytest.mark.parametrize(("q_ratio", "redraw"), AS_PRINTED_TRIADIC)
@pytest.mark.parametrize("allocation", ["sams", "random"])
@pytest.mark.parametrize("case_name", ["bernoulli", "irm", "lines", KEPT, "gaussian-diag", "emm-room"])
def test_as_printed_triadic_is_biased(case_name, allocation, q_ratio, redraw):
    """As printed, the stationary law is off by .02 to .55: the sub-call's own pair, or the duplicate dropped without a
    factor, or the ratio of q."""
    case = build(case_name)
    sampler = Triadic(
        case.model, Rng(0), beta=0.1, allocation=allocation, mode="as_printed", q_ratio=q_ratio, redraw=redraw
    )
    P = transition_matrix(case.model, sampler.rng, sampler, case.states)
    assert stationarity_defect(P, case.pi) > 1e-3
    if irreducible(P):
        assert 0.02 < total_variation(stationary(P), case.pi) < 0.55


@pytest.mark.parametrize("case_name", ["bernoulli", "irm", "lines", KEPT])
def test_as_printed_dyadic_is_exact_for_coins_alone(case_name):
    """Equation 9 is the ratio of fair coins: with them as_printed is exact, and with SAMS it is not."""
    case = build(case_name)
    for name, exact in [("dyadic-random", True), ("sams", False)]:
        sampler = sampler_on(case, name, mode="as_printed")
        P = transition_matrix(case.model, sampler.rng, sampler, case.states)
        assert (stationarity_defect(P, case.pi) < 1e-12) == exact


@pytest.mark.parametrize("update", ["draw", "metropolis"])
@pytest.mark.parametrize("noise", [0.3, 1.5])
def test_refresh_of_parameters_is_exact(update, noise):
    case = small_case(Lines, 3, 2, CASES[KEPT][3] | {"refresh": update, "steps": 2, "sigma1": noise})
    sampler = Refresh(case.model, Rng(0))
    P = transition_matrix(case.model, sampler.rng, sampler, case.states)
    assert balance_defect(P, case.pi) < 1e-12
    # nothing but parameters changes
    for t, state in enumerate(case.states):
        assert all(case.states[to][0] == state[0] for to in np.flatnonzero(P[t]))


@pytest.mark.parametrize("m", [1, 2, 3])
def test_algorithm_8_with_parameters(m):
    case = build(KEPT)
    sampler = Neal8(case.model, Rng(0), m=m, scan="site")
    P = transition_matrix(case.model, sampler.rng, sampler, case.states)
    assert balance_defect(P, case.pi) < 1e-12
    assert irreducible(P)
    scan = Neal8(case.model, Rng(0), m=1)
    assert stationarity_defect(transition_matrix(case.model, scan.rng, scan, case.states), case.pi) < 1e-12


SAMPLED = {
    "neal8": (Neal8, {"m": 3}),
    "sams": SAMPLERS["sams"],
    "triadic": SAMPLERS["triadic"],
}
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
    """Parameters from a continuum and a random concentration: frequencies of partitions against the law in which both
    are integrated out."""
    case = small_case(model_class, 4, 3, params)
    rng = Rng(17)
    sampler_class, given = SAMPLED[name]
    samplers = [sampler_class(case.model, rng, **given), Refresh(case.model, rng)]
    frequencies, noise = sampled_frequencies(case, samplers, rng, 100_000)
    assert noise < 0.02
    assert total_variation(frequencies, case.partitions[1]) < 3 * noise


def test_a_frozen_concentration_is_found():
    """The check above sees a concentration that is never resampled."""
    case = small_case(Bernoulli, 4, 3, {"concentration": "gamma(0.3,0.1)"})
    rng = Rng(17)
    frequencies, noise = sampled_frequencies(case, [Gibbs(case.model, rng)], rng, 100_000)
    assert total_variation(frequencies, case.partitions[1]) > 10 * noise


MUTANTS = [
    (case_name, name, term)
    for case_name in ("emm", "bernoulli", "irm", "lines", KEPT, "gaussian-diag")
    for name in SAMPLERS
    if serves(case_name, name)
    for term in SAMPLERS[name][0].TERMS
    # `labels` and `printed` count in as_printed mode only; orders have a factor only where empty clusters are kept;
    # coins spread every redistribution of the same items with the same probability; the ordered form drops no item
    if term not in ("labels", "printed")
    and (case_name == "emm" or term != "orders" or not name.startswith(("rgsm", "dyadic", "sams", "triadic")))
    and (name, term) not in [("rm-coin", "spread"), ("triadic-ordered", "dropped")]
]


@pytest.mark.parametrize(("case_name", "name", "term"), MUTANTS)
def test_mutant_is_found(case_name, name, term):
    case = build(case_name)
    sampler = sampler_on(case, name)
    sampler.omit(term)
    P = transition_matrix(case.model, sampler.rng, sampler, case.states)
    assert stationarity_defect(P, case.pi) > 1e-5


def test_gibbs_hides_a_wrong_kernel():
    """Why kernels are tested alone: the same mutant, alone and beside a Gibbs scan."""
    case = build("bernoulli")
    sampler = sampler_on(case, "ssdm", mode="as_printed")
    P = transition_matrix(case.model, sampler.rng, sampler, case.states)
    gibbs = Gibbs(case.model, Rng(0))
    G = transition_matrix(case.model, gibbs.rng, gibbs, case.states)
    alone = total_variation(stationary(P), case.pi)
    beside = total_variation(stationary(P @ G), case.pi)
    assert alone > 0.1
    assert beside < alone / 10


@pytest.mark.parametrize("name", ["sdds", "ssdm", "smds", "ss"])
@pytest.mark.parametrize("case_name", ["emm", "bernoulli"])
def test_irreducible_alone(case_name, name):
    case = build(case_name)
    sampler = sampler_on(case, name)
    assert irreducible(transition_matrix(case.model, sampler.rng, sampler, case.states))


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
            "labels": str(rng.choice(["labelled", "partition", "as_printed"])),
        }
        return small_case(EMM, size, seed, params)
    params = {"concentration": float(np.exp(rng.normal(0, 1))), "prior": str(rng.choice(["crp", "uniform"]))}

    def positive(spread=1.0):
        return float(np.exp(rng.normal(0, spread)))

    if seed % 4 == 0:
        model_class = Bernoulli if seed % 8 else IRM
        return small_case(model_class, size, seed, params | {"beta1": positive(1.5), "beta0": positive(1.5)})
    if seed % 8 == 2:
        noise = {"noise": str(rng.choice(["known", "nig"])), "a0": 1.0 + positive()}
        return small_case(Lines, size, seed, params | {"sigma0": positive(2.0), "sigma1": positive(2.0)} | noise)
    form = {"covariance": str(rng.choice(["diag", "iso", "full"])), "kappa0": positive(2.0), "a0": positive()}
    return small_case(Gaussian, size, seed, params | form | {"b0": positive(2.0), "m0": float(rng.normal())})


@pytest.mark.parametrize("seed", range(24))
def test_exact_on_random_cases(seed):
    case = random_case(seed)
    for name in SAMPLERS:
        if not SAMPLERS[name][0].supports(case.model)[0]:
            continue
        sampler = sampler_on(case, name)
        P = transition_matrix(case.model, sampler.rng, sampler, case.states)
        assert stationarity_defect(P, case.pi) < 1e-11, name


@pytest.mark.parametrize("case_name", ["emm", "bernoulli"])
def test_rgsm_5_samples_the_posterior(case_name):
    """RGSM(5, 1, 1) has too many choices to enumerate: its frequencies, with Gibbs and birth-death to reach every state
    of the EMM."""
    case = build(case_name)
    rng = Rng(11)
    samplers = [SAMPLERS["rgsm-0"][0](case.model, rng, t=5)]
    if case.model.allows_empty:
        samplers.append(SAMPLERS["birth_death"][0](case.model, rng))
        samplers.append(Gibbs(case.model, rng))
    frequencies, noise = sampled_frequencies(case, samplers, rng, 200_000)
    assert noise < 0.01
    assert total_variation(frequencies, case.pi) < 3 * noise


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case_name", "name"),
    pairs(["emm", "emm-as_printed", "bernoulli", "bernoulli-uniform", "irm", "lines", "lines-nig", "gaussian-full"]),
)
def test_long_run_frequencies(case_name, name):
    """Two million steps from the random stream, not the script: draws and scripts must agree."""
    case = build(case_name)
    rng = Rng(5)
    sampler_class, given = SAMPLERS[name]
    samplers = [sampler_class(case.model, rng, **given)]
    if case.model.allows_empty and name not in ("sdds", "ssdm", "smds", "ss"):
        samplers += [SAMPLERS["birth_death"][0](case.model, rng), Gibbs(case.model, rng)]
    frequencies, noise = sampled_frequencies(case, samplers, rng, 2_000_000)
    assert total_variation(frequencies, case.pi) < 3 * noise


@pytest.mark.slow
@pytest.mark.parametrize(("model_class", "size"), [(EMM, 5), (Bernoulli, 6), (IRM, 5), (Lines, 5), (Gaussian, 5)])
@pytest.mark.parametrize("name", ["sdds", "ss", "rgsm-0", "rm-coin", "birth_death", "gibbs-site", "triadic"])
def test_exact_on_more_items(model_class, size, name):
    case = small_case(model_class, size, 9)
    sampler = sampler_on(case, name)
    P = transition_matrix(case.model, sampler.rng, sampler, case.states, limit=20_000_000)
    assert stationarity_defect(P, case.pi) < 1e-12
