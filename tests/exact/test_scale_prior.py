"""Scales of normal mixtures with a gamma prior: their conditional given the partition by quadrature, the joint chain of
partition and scales against the posterior with the scales integrated out, and what follows from their values.
"""

import numpy as np
import pytest
from compiled import pieces
from scipy import stats
from small_cases import check_resumption, usual_chain

from splitmerge_cli.core.chain import Chain
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.kinds.tables.models import gaussian
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.refresh import Refresh
from splitmerge_cli.samplers.split_merge import RGSM, Dyadic
from splitmerge_cli.samplers.triadic import Triadic
from splitmerge_cli.samplers.wang_russell import SDDS, BirthDeath
from splitmerge_cli.verify import cases, continuous, kernel, transitions

POINTS = np.array([[0.1, 1.3], [0.4, 0.9], [-0.3, 1.1], [2.6, -1.0], [3.1, -0.2], [1.2, 4.0]])
LABELS = (0, 0, 0, 1, 1, 2)
FIXED = {"m0": 0.5, "kappa0": 0.4, "a0": 1.5, "b0": 0.8}
SPREAD = POINTS.var(axis=0)
B0, KAPPA0 = (1.2, 2.5), (1.7, 3.0)
COVARIANCES = ["diag", "iso", "full"]
GRID = np.linspace(-14.0, 6.0, 401)


def gamma_text(prior):
    return "gamma({},{})".format(*prior)


def unit_of(covariance):
    return np.full(2, SPREAD.mean()) if covariance == "iso" else SPREAD


def conditional(covariance, key, a0=FIXED["a0"]):
    """Cumulative distribution function of log b0_1 or log kappa0 given the partition, on GRID."""

    def log_lik(**values):
        given = FIXED | {"a0": a0} | values
        options = (given[name] for name in ("m0", "kappa0", "a0", "b0"))
        return continuous.gaussian_log_weight(POINTS, 1.0, "uniform", covariance, *options)((LABELS, 3))

    if key == "kappa0":
        log_p = stats.gamma.logpdf(np.exp(GRID), KAPPA0[0], scale=1 / KAPPA0[1])
        log_p += [log_lik(kappa0=np.exp(t)) for t in GRID]
    else:
        unit = unit_of(covariance)
        log_p = stats.gamma.logpdf(np.exp(GRID), B0[0], scale=unit[0] / B0[1])
        if covariance == "full":
            # the scale of the other column, to which the likelihood ties it, summed out
            second = np.linspace(-9.0, 5.0, 57)
            density = stats.gamma.logpdf(np.exp(second), B0[0], scale=unit[1] / B0[1]) + second
            log_p += [np.logaddexp.reduce([log_lik(b0=[np.exp(t), np.exp(s)]) for s in second] + density) for t in GRID]
        else:
            log_p += [log_lik(b0=np.exp(t) if covariance == "iso" else [np.exp(t), 0.8]) for t in GRID]
    total = np.cumsum(np.exp(log_p + GRID - (log_p + GRID).max()))
    return lambda value: np.interp(np.log(value), GRID, total / total[-1])


def draw_scales(covariance, key, draws=4000, thin=12):
    """b0_1 or kappa0 of a chain that refreshes them at a fixed partition."""
    model = gaussian.Gaussian(POINTS, covariance=covariance, **FIXED | {key: gamma_text(B0 if key == "b0" else KAPPA0)})
    model.set_labels(np.array(LABELS))
    rng = Rng(11)
    refresh, found = Refresh(model, rng), []
    for _ in range(draws):
        for _ in range(thin):
            refresh.step()
        found.append(model.parameters[0, 0])
    assert model.labels.tolist() == list(LABELS)
    return np.array(found)


@pytest.mark.parametrize(
    ("covariance", "key"),
    [
        # the conditional of b0 under a full covariance is a sum over the grid of the other
        pytest.param(c, key, marks=[pytest.mark.slow] if (c, key) == ("full", "b0") else [])
        for c in COVARIANCES
        for key in ("b0", "kappa0")
    ],
)
def test_draws_given_the_partition_have_their_conditional(covariance, key):
    """By Kolmogorov and Smirnov; and the test would see a shape that is off by a half."""
    values = draw_scales(covariance, key)
    assert stats.kstest(values, conditional(covariance, key)).pvalue > 1e-3
    if key == "b0":
        assert stats.kstest(values, conditional(covariance, key, FIXED["a0"] + 0.5)).pvalue < 1e-9


JOINT = {
    "diag": {"covariance": "diag", "b0": "gamma(0.7,1)", "kappa0": "gamma(0.6,2)", "concentration": "gamma(2,1)"},
    "iso": {"covariance": "iso", "b0": "gamma(0.7,1)", "kappa0": "gamma(0.6,2)"},
    "full": {"covariance": "full", "b0": "gamma(0.7,1)"},
}
MOVES = {
    "gibbs": (Gibbs, {}),
    "sams": (Dyadic, {"allocation": "sams"}),
    "dyadic-gibbs": (Dyadic, {"allocation": "gibbs", "t": 1}),
    "sdds": (SDDS, {}),
    "triadic": (Triadic, {"beta": 0.3}),
    "rgsm": (RGSM, {"t": 1}),
    "birth_death": (BirthDeath, {}),
}


@pytest.mark.parametrize(
    ("covariance", "name"),
    [
        # each sampler with one covariance, each covariance with two samplers or three: the others are slow
        pytest.param(covariance, name, marks=() if (a + b) % len(JOINT) == 0 else pytest.mark.slow)
        for a, covariance in enumerate(JOINT)
        for b, name in enumerate(MOVES)
    ],
)
def test_joint_chain_has_the_posterior_of_partitions(covariance, name):
    """Its partitions have the posterior with the scales integrated out, within noise; which is far from that with the
    scales held."""
    case = cases.small_case(gaussian.Gaussian, 4, 2, JOINT[covariance])
    before = case.model.parameters
    sampler, options = MOVES[name]
    rng = Rng(5)
    samplers = [sampler(case.model, rng, **options), Refresh(case.model, rng)]
    if name == "birth_death":
        # it alone changes nothing but singletons
        samplers.insert(1, Gibbs(case.model, rng, scan="site"))
    frequencies, noise = kernel.sampled_frequencies(case, samplers, rng, 200_000)
    distance = transitions.total_variation(frequencies, case.partitions[1])
    assert distance < 3 * noise
    assert transitions.total_variation(case.pi, case.partitions[1]) > 6 * noise
    np.testing.assert_array_equal(case.model.parameters, before)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_likelihoods_are_those_of_the_present_scales(covariance):
    """Nothing that was computed before a refresh is left: all is as of a model that was made with these scales."""
    model = gaussian.Gaussian(POINTS, covariance=covariance, b0="gamma(1,2)", kappa0="gamma(2,3)")
    rng = Rng(3)
    Chain(model, rng, [Dyadic(model, rng), Gibbs(model, rng), Refresh(model, rng)]).advance(50)
    model.set_labels(np.array(LABELS))
    model.log_joint()
    for i in range(6):
        pieces.scan(model, i)
    Refresh(model, rng).step()
    *b0, kappa0 = model.parameters[:, 0].tolist()
    fixed = gaussian.Gaussian(POINTS, covariance=covariance, b0=b0 if len(b0) > 1 else b0[0], kappa0=kappa0)
    fixed.set_labels(np.array(LABELS))
    assert model.kappa0 == kappa0
    assert model.log_lik_total() == pytest.approx(fixed.log_lik_total(), abs=1e-11)
    assert pieces.log_union(model, 0, 1) == pytest.approx(pieces.log_union(fixed, 0, 1), abs=1e-11)
    for i in range(6):
        scans = [pieces.scan(m, i) for m in (model, fixed)]
        np.testing.assert_allclose(scans[0] / scans[0].sum(), scans[1] / scans[1].sum(), rtol=1e-11)
        assert pieces.log_pred(model, i, 3) == pytest.approx(pieces.log_pred(fixed, i, 3), abs=1e-11)
        assert pieces.odds(model, i, 0, 1, LABELS[i] if LABELS[i] < 2 else -1, True) == pytest.approx(
            pieces.odds(fixed, i, 0, 1, LABELS[i] if LABELS[i] < 2 else -1, True), rel=1e-11
        )
    shape = stats.gamma.logpdf(b0, 1.0, scale=unit_of(covariance)[: len(b0)] / 2).sum()
    shape += stats.gamma.logpdf(kappa0, 2.0, scale=1 / 3)
    assert model.log_joint() == pytest.approx(fixed.log_joint() + shape, abs=1e-11)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_a_state_with_scales_goes_on_to_the_bit(covariance):
    def chain():
        options = {"b0": "hierarchical", "kappa0": "hierarchical", "concentration": "gamma(1,1)"}
        return usual_chain(
            gaussian.Gaussian(np.repeat(POINTS, 4, axis=0) * [1e-3, 7.0], covariance=covariance, **options), 6
        )

    first, second = check_resumption(chain, recorded={"concentration", "b0", "kappa0"})
    np.testing.assert_array_equal(second.model.parameters, first.model.parameters)


def test_the_law_does_not_depend_on_scale_or_place():
    """Rates are over the variances of the columns, so scaling and moving the data leaves every move as it was."""
    for covariance in ("diag", "full"):
        runs = []
        for points in (POINTS, POINTS * [2.0**20, 2.0**-30] + np.array([2.0**23, 0.0])):
            model = gaussian.Gaussian(points, covariance=covariance, b0="hierarchical", kappa0="hierarchical")
            rows = usual_chain(model, 4).advance(60)
            runs.append((model.labels, rows["b0"]))
        np.testing.assert_array_equal(runs[0][0], runs[1][0])
        np.testing.assert_allclose(runs[0][1], runs[1][1], rtol=1e-6)


def test_what_is_fixed_keeps_its_chain():
    """Draw by draw: a number for kappa0 and b0 is what it was, and there is nothing to refresh."""
    model = gaussian.Gaussian(POINTS)
    assert model.hyperparameters == ()
    assert model.parameters is None
    assert not model.refreshes
    with pytest.raises(ValueError, match="b0 and kappa0 are fixed"):
        model.set_parameters([[1.0]])


def test_scales_are_set_and_read():
    model = gaussian.Gaussian(POINTS, b0="gamma(1,2)", kappa0="gamma(3,2)")
    assert model.hyperparameters == ("b0", "kappa0")
    np.testing.assert_allclose(model.parameters[:, 0], [*SPREAD / 2, 1.5], rtol=1e-12)
    model.set_parameters([[0.25], [3.0], [0.5]])
    np.testing.assert_array_equal(model.parameters[:, 0], [0.25, 3.0, 0.5])
    assert gaussian.Gaussian(POINTS, covariance="iso", b0="gamma(1,2)").parameters.shape == (1, 1)
    assert gaussian.Gaussian(POINTS, kappa0="gamma(1,2)").parameters.shape == (1, 1)
    for values, message in (
        ([[0.25], [3.0]], "expected 3 numbers, got 2"),
        ([[0.25], [-3.0], [0.5]], "expected finite positive numbers"),
        ([[0.25], [3.0], [np.nan]], "expected finite positive numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            model.set_parameters(values)
    np.testing.assert_array_equal(model.parameters[:, 0], [0.25, 3.0, 0.5])
    # a state is no option: what a chain may draw depends on its data, what it drew is taken by a model of any other
    model.set_parameters([[1e-14], [1e14], [1e-10]])
    np.testing.assert_array_equal(model.parameters[:, 0], [1e-14, 1e14, 1e-10])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"b0": "gamma(1)"}, "model.b0"),
        ({"b0": "gamma(0,1)"}, "shape of gamma"),
        ({"b0": "shared"}, "or gamma\\(shape,rate\\) or hierarchical"),
        ({"kappa0": "gamma(1,0)"}, "rate of gamma"),
        ({"kappa0": "none"}, "or gamma\\(shape,rate\\) or hierarchical"),
        ({"kappa0": [1.0]}, "model.kappa0"),
        ({"covariance": "full", "b0": "hierarchical", "m0": 1e7}, "no digits of the covariances"),
    ],
)
def test_refusals_name_the_key(options, message):
    with pytest.raises(ValueError, match=message):
        gaussian.Gaussian(POINTS, **options)


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("points", [np.array([[1.5, -2.0]]), np.full((8, 2), 3.25), POINTS * 1e-12, POINTS * 1e12])
def test_degenerate_points_give_a_chain(points, covariance):
    model = gaussian.Gaussian(points, covariance=covariance, b0="hierarchical", kappa0="hierarchical")
    out = usual_chain(model, 1).advance(300)
    for key in ("log_joint", "log_lik", "b0", "kappa0"):
        assert np.isfinite(out[key]).all()
