"""Models: statistics, chain rule, predictives, unions, scans, membership; each against a definition."""

from fractions import Fraction
from math import log

import numpy as np
import pytest
import scores
from compiled import pieces
from small_cases import MODELS, SAMPLERS, check_resumption, check_walk_weights

from splitmerge_cli.core.chain import Chain
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.kinds.tables.models import count_vectors, gamma_poisson
from splitmerge_cli.kinds.tables.models.bernoulli import Bernoulli
from splitmerge_cli.kinds.tables.models.gamma_poisson import GammaPoisson
from splitmerge_cli.kinds.tables.models.multinomial import Multinomial
from splitmerge_cli.kinds.tables.models.overdispersed_multinomial import OverdispersedMultinomial
from splitmerge_cli.kinds.tokens.emm import EMM
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.split_merge import RGSM, Dyadic
from splitmerge_cli.samplers.triadic import Triadic
from splitmerge_cli.verify.enumerate import bernoulli_log_weight, normalise


def scatter(model, clusters=6, seed=0):
    model.set_labels(np.random.default_rng(seed).permutation(np.arange(model.N) % clusters).astype(np.int32))


def test_add_and_remove_return_the_statistics(model):
    scatter(model)
    before, sizes, joint = model.statistics(), model.sizes, model.log_joint()
    rng = np.random.default_rng(1)
    for _ in range(2000):
        i, k = rng.integers(model.N), rng.integers(model.K)
        pieces.join(model, i, k)
        pieces.leave(model, i, k)
    after = model.statistics()
    for name, values in before.items():
        np.testing.assert_array_equal(after[name], values)
    np.testing.assert_array_equal(model.sizes, sizes)
    assert model.log_joint() == joint


@pytest.mark.parametrize("name", [name for name in MODELS if name.startswith(("lines", "gaussian", "mixed", "sparse"))])
def test_ten_million_changes_leave_no_trace(name):
    """Sums are whole numbers: after ten million pairs of additions and removals every bit is as before."""
    model = MODELS[name]()
    model.set_labels(np.arange(model.N) % 4)
    before, joint = model.statistics(), model.log_joint()
    pieces.shake(model, 10_000_000, 3)
    for name, values in model.statistics().items():
        np.testing.assert_array_equal(values, before[name])
    assert model.log_joint() == joint


def test_chain_rule(independent):
    """Log predictives, item after item, add up to the cluster's log likelihood."""
    model = independent
    scatter(model, clusters=1)
    items = np.random.default_rng(2).permutation(model.N)
    for i in items:
        pieces.leave(model, i, 0)
    total = 0.0
    for i in items:
        total += pieces.log_pred(model, i, 0)
        pieces.join(model, i, 0)
    assert total == pytest.approx(pieces.log_lik(model, 0), abs=1e-9)


def test_union_is_the_merged_cluster(independent):
    model = independent
    scatter(model)
    labels = model.labels
    expected = pieces.log_union(model, 1, 4)
    assert expected == pytest.approx(pieces.log_union(model, 4, 1), abs=1e-12)
    for i in np.flatnonzero(labels == 4):
        pieces.move(model, i, 1)
    merged = model.labels[np.flatnonzero(labels == 1)[0]]
    assert pieces.log_lik(model, merged) == pytest.approx(expected, abs=1e-9)


def test_odds_are_ratios_of_predictives(model):
    scatter(model)
    labels = model.labels
    for i in range(0, model.N, 7):
        for a, b in [(0, 3), (5, 2), (labels[i], (labels[i] + 1) % 6), ((labels[i] + 2) % 6, labels[i])]:
            own = int(labels[i]) if labels[i] in (a, b) else -1
            for sized in (False, True):
                linear, logarithm = pieces.odds(model, i, a, b, own, sized)
                assert np.log(linear) == pytest.approx(logarithm, abs=1e-10)
            if own >= 0:
                pieces.leave(model, i, own)
            expected = pieces.log_pred(model, i, b) - pieces.log_pred(model, i, a)
            if own >= 0:
                pieces.join(model, i, own)
            assert pieces.odds(model, i, a, b, own, False)[1] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("clusters", [1, 6, 7, 8, 9, 12])
def test_scan_is_the_conditional(model, clusters):
    """The fast scan against predictive times prior weight, own contribution taken out; blocks of eight clusters at
    their edges."""
    scatter(model, clusters)
    for i in range(model.N):
        scores.check_scan(model, i, rtol=1e-10)
    check_walk_weights(model)


@pytest.mark.parametrize("attributes", [1, 2, 3, 4, 5, 33, 120, 700])
def test_many_attributes_leave_no_double(attributes):
    """Hundreds of probabilities are multiplied in pieces; the result is the one by logarithms."""
    rng = np.random.default_rng(attributes)
    x = rng.integers(2, size=(40, attributes)).astype(np.uint8)
    model = Bernoulli(x, beta1=1e-3, beta0=2e-3)
    model.set_labels(np.arange(40) % 9)
    for i in range(0, 40, 3):
        scores.check_scan(model, i, atol=1e-290)
        linear, logarithm = pieces.odds(model, i, (i + 1) % 9, (i + 2) % 9, -1, True)
        assert linear == pytest.approx(np.exp(logarithm), rel=1e-9) or logarithm > 700
    check_walk_weights(model)
    labels, weight = tuple(int(k) for k in model.labels), bernoulli_log_weight(x, 1.0, 1e-3, 2e-3, "crp")
    constant = bernoulli_log_weight(x, 1.0, 1e-3, 2e-3, "crp")(((0,) * 40, 1))
    model_constant = Bernoulli(x, beta1=1e-3, beta0=2e-3).log_joint()
    assert model.log_joint() - model_constant == pytest.approx(weight((labels, 9)) - constant, rel=1e-9)


def test_random_moves_keep_everything_in_step(build, model):
    """Thousands of moves, births and deaths of clusters: statistics, sizes, lists and scans as if counted afresh."""
    scatter(model, clusters=3)
    rng = np.random.default_rng(3)
    for step in range(3000):
        i = int(rng.integers(model.N))
        most = model.K + (model.kmax > model.K)
        k = int(rng.integers(most)) if rng.random() < 0.7 else int(rng.integers(min(3, most)))
        if k != model.labels[i] and not (k == model.K and model.sizes[model.labels[i]] == 1):
            pieces.move(model, i, k)
        if step % 100 == 0:
            other = build()
            other.set_labels(model.labels, model.K if model.allows_empty else None)
            counted, afresh = model.statistics(), other.statistics()
            for name in afresh:
                np.testing.assert_array_equal(counted[name], afresh[name])
            np.testing.assert_array_equal(model.sizes, other.sizes)
            assert model.log_joint() == pytest.approx(other.log_joint(), abs=1e-9)
            np.testing.assert_allclose(pieces.scan(model, i), pieces.scan(other, i), rtol=1e-12)
            for k in range(model.K):
                np.testing.assert_array_equal(pieces.list_members(model, k, k), np.flatnonzero(model.labels == k))


def test_a_state_goes_on_to_the_bit(build):
    """Labels are the whole state: a chain taken up elsewhere makes the same moves, of statistics counted afresh."""

    def chain():
        model, rng = build(), Rng(5)
        moves = [sampler for sampler in (Triadic, Dyadic, Gibbs) if sampler.supports(model)[0]]
        return Chain(model, rng, [sampler(model, rng) for sampler in moves])

    first, second = check_resumption(chain, 100, 200)
    other = build()
    other.set_labels(second.model.labels, second.model.K if second.model.allows_empty else None)
    for model in (first.model, second.model):
        for name, values in other.statistics().items():
            np.testing.assert_array_equal(model.statistics()[name], values)


@pytest.mark.parametrize("n", [1, 2, 9, 60, 900])
def test_members_come_in_item_order(n):
    """By one pass over the labels or from the lists, whichever is shorter: the same."""
    rng = np.random.default_rng(n)
    model = Bernoulli(rng.integers(2, size=(4000, 2)).astype(np.uint8))
    labels = np.zeros(4000, dtype=np.int32)
    chosen = rng.permutation(4000)[: 2 * n]
    labels[chosen[:n]], labels[chosen[n:]] = 1, 2
    model.set_labels(labels)
    for i in rng.permutation(chosen):  # lists in an order of their own
        home = int(model.labels[i])
        pieces.move(model, i, 0)
        pieces.move(model, i, min(home, model.K))
    final = model.labels
    for k in range(1, model.K):
        np.testing.assert_array_equal(pieces.list_members(model, k, k), np.flatnonzero(final == k))
    if model.K == 3:
        np.testing.assert_array_equal(pieces.list_members(model, 1, 2), np.flatnonzero(final > 0))


@pytest.mark.parametrize("alpha", [1e-100, 1e-10, 1.0, 1e10, 1e100])
def test_log_joint_keeps_its_digits(alpha):
    """Rising factorials by exact integers and logarithms of fractions, for parameters of any size."""
    tokens = np.array([0, 0, 1, 0, 2, 1], dtype=np.int32)
    model = EMM(tokens, n_tokens=3, alpha=alpha, kmax=2)
    model.set_labels([0, 0, 0, 1, 1, 1])
    expected = 0.0
    for members in (tokens[:3], tokens[3:]):
        a, value = Fraction(alpha), Fraction(1)
        for n, token in enumerate(members):
            value *= (a + int((members[:n] == token).sum())) / (3 * a + n)
        expected += log(value.numerator) - log(value.denominator)
    assert model.log_lik_total() == pytest.approx(expected, rel=1e-12)
    for sampler, given in SAMPLERS.values():
        if not sampler.supports(model)[0]:
            continue
        move = sampler(model, Rng(1), **given)
        for _ in range(200):
            move.step()
            assert np.isfinite(model.log_joint())


@pytest.mark.parametrize("beta1", [1e-100, 1e100])
@pytest.mark.parametrize("beta0", [1e-100, 1.0, 1e100])
@pytest.mark.parametrize("concentration", [1e-100, 1e100])
def test_extreme_parameters_leave_no_weight_undefined(beta1, beta0, concentration):
    rng = np.random.default_rng(0)
    model = Bernoulli(rng.integers(2, size=(20, 5)), beta1=beta1, beta0=beta0, concentration=concentration)
    for sampler, given in SAMPLERS.values():
        model.set_labels(np.arange(20) % 4)
        move = sampler(model, Rng(1), **given)
        for _ in range(50):
            move.step()
        assert np.isfinite(model.log_joint())
        scores.check_scan(model, 3, atol=1e-200)


def test_emm_prior_labels():
    model = EMM(np.zeros(3, dtype=np.int32), kmax=4, mu=0.7, sigma=0.9)
    generator = np.random.default_rng(1)
    K = np.array([model.prior_labels(generator)[1] for _ in range(20_000)])
    k = np.arange(1, 5)
    expected = normalise(-np.log(k) - (np.log(k) - 0.7) ** 2 / (2 * 0.9**2))
    np.testing.assert_allclose(np.bincount(K, minlength=5)[1:] / len(K), expected, atol=0.015)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: EMM(np.array([0, 5]), n_tokens=3), "n_tokens"),
        (lambda: EMM(np.array([0, -1])), "negative"),
        (lambda: EMM(np.array([0.5])), "integers"),
        (lambda: EMM(np.array([0]), kmax=0), "model.kmax"),
        (lambda: EMM(np.array([0]), kmax=2**63 - 1), "model.kmax"),
        (lambda: EMM(np.array([0]), n_tokens=2**58), "model.n_tokens"),
        (lambda: EMM(np.array([0]), alpha=1e300), "model.alpha"),
        (lambda: EMM(np.array([0]), alpha=True), "model.alpha"),
        (lambda: EMM(np.array([0]), mu=float("nan")), "model.mu"),
        (lambda: EMM(np.array([0]), label_prior="none"), "model.label_prior"),
        (lambda: Bernoulli(np.array([[0, 2]])), "neither 0 nor 1"),
        (lambda: Bernoulli(np.array([[0.0, np.nan]])), "neither 0 nor 1"),
        (lambda: Bernoulli(np.zeros((0, 3))), "at least one row"),
        (lambda: Bernoulli(np.array([[0]]), concentration=float("inf")), "model.concentration"),
        (lambda: Bernoulli(np.array([[0]]), beta1=-0.1), "model.beta1"),
        (lambda: Bernoulli(np.array([[0]]), prior="dirichlet"), "model.prior"),
    ],
)
def test_bad_parameters_are_named(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_bad_labels_are_refused(emm, bernoulli):
    with pytest.raises(ValueError, match="60 integers"):
        emm.set_labels([0, 1])
    with pytest.raises(ValueError, match="negative"):
        emm.set_labels(np.full(60, -1))
    with pytest.raises(ValueError, match="at most 12"):
        emm.set_labels(np.arange(60))
    with pytest.raises(ValueError, match="labels use 4"):
        emm.set_labels(np.arange(60) % 4, 3)
    with pytest.raises(ValueError, match="no empty clusters"):
        bernoulli.set_labels(np.arange(60) % 4, 5)
    bernoulli.set_labels(np.arange(60) % 4 * 10)
    assert bernoulli.K == 4


# ---- Mixtures on vectors of counts: weights of an item against the likelihood by another route, with tables of
# logarithms and without, while chains change the clusters.

CONCENTRATION = 4.0
COUNT_MODELS = {
    "multinomial": (Multinomial, {"alpha": 0.7}),
    "poisson": (GammaPoisson, {"shape": 0.8, "rate": 0.3}),
    "poisson, exposures": (GammaPoisson, {"shape": 0.8, "rate": 0.3, "exposure": np.linspace(0.5, 3.0, 10)}),
    "poisson, a rate each": (GammaPoisson, {"shape": 1.5, "rate": [0.2, 1e-3, 2.0, 5.0]}),
}


@pytest.fixture(params=["whole", "short", "none"])
def tables(request, monkeypatch):
    """Tables that have all sums and sizes, some of them, or the first alone."""
    if request.param != "whole":
        most = 9 if request.param == "short" else 1
        monkeypatch.setattr(count_vectors, "LONGEST_TABLE", most)
        monkeypatch.setattr(count_vectors, "LONGEST_TOTALS", 4 * most)
        monkeypatch.setattr(gamma_poisson, "LARGEST_TABLE", 2 * most)


def vectors():
    """Ten items of four columns: one empty, two with counts in a column of their own."""
    x = np.random.default_rng(4).poisson([3.0, 0.4, 1.0, 0.0], size=(10, 4)).astype(np.int32)
    x[2] = 0
    x[[5, 6], 3] = 6, 9
    return x


def check_weights(model, kind, options, x):
    """Log likelihoods, and weights and odds of every item, are those of ``reference_log_lik``."""

    def log_lik(labels):
        return kind.reference_log_lik(x, labels, **options)

    labels, K = model.labels, model.K
    assert model.log_lik_total() == pytest.approx(log_lik(labels), abs=1e-9)
    for a, b in [(0, K - 1)] if K > 1 else []:
        union = pieces.log_union(model, a, b)
        alone = pieces.log_lik(model, a) + pieces.log_lik(model, b)
        assert union - alone == pytest.approx(log_lik(np.where(labels == b, a, labels)) - log_lik(labels), abs=1e-9)
    for i in range(len(x)):
        others = np.bincount(np.delete(labels, i), minlength=K)
        lw = np.full(K + 1, -np.inf)
        # an item that is alone has its own cluster for the new one
        for k in range(K + (others[labels[i]] > 0)):
            moved = labels.copy()
            moved[i] = k
            lw[k] = log_lik(moved) + np.log(others[k] if k < K and others[k] else CONCENTRATION)
        w = pieces.scan(model, i)
        np.testing.assert_allclose(w / w.sum(), np.exp(lw - np.logaddexp.reduce(lw)), rtol=1e-9, atol=1e-200)
        for k in set(range(K)) - {labels[i]}:
            for pair, sign in (((labels[i], k), 1), ((k, labels[i]), -1)):
                _, log_odds = pieces.odds(model, i, *pair, labels[i], True)
                assert log_odds == pytest.approx(sign * (lw[k] - lw[labels[i]]), abs=1e-9)


@pytest.mark.parametrize("name", COUNT_MODELS)
def test_weights_are_those_of_the_likelihood(name, tables):
    kind, options = COUNT_MODELS[name]
    x, rng = vectors(), Rng(3)
    model = kind(x, concentration=CONCENTRATION, **options)
    model.set_labels([0, 1, 2, 0, 1, 2, 0, 1, 3, 0])
    check_weights(model, kind, options, x)
    pieces.move(model, 8, 4)
    pieces.move(model, 2, 1)
    check_weights(model, kind, options, x)
    chain = Chain(model, rng, [Dyadic(model, rng, allocation="sams"), RGSM(model, rng), Gibbs(model, rng, scan="site")])
    clusters = []
    for _ in range(12):
        chain.advance(5)
        check_weights(model, kind, options, x)
        clusters.append(model.K)
    assert min(clusters) < max(clusters)


@pytest.mark.parametrize("name", COUNT_MODELS)
def test_an_item_that_is_not_placed(name, tables):
    kind, options = COUNT_MODELS[name]
    model = kind(vectors(), **options)
    model.set_labels([0, 1, 1, 0, 1, 1, 0, 1, 0, 0])
    for i in range(10):
        scores.agree(*pieces.scan_unplaced(model, i), atol=1e-200)


@pytest.mark.parametrize("kind", [Multinomial, GammaPoisson])
def test_items_without_any_counts(kind):
    model = kind(np.zeros((3, 2), dtype=np.int32))
    w = pieces.scan(model, 0)
    assert model.log_lik_total() == pytest.approx(0.0 if kind is Multinomial else -2 * np.log(4.0))
    assert w.argmax() == 0


def test_weights_of_overdispersed_rows_with_and_without_tables(monkeypatch):
    """Tables of logarithms: with all sums that there can be, and with the first ones."""
    x, labels = vectors(), np.array([0, 0, 1, 0, 1, 1, 0, 2, 0, 1], dtype=np.int32)
    whole = OverdispersedMultinomial(x, alpha=0.7)
    monkeypatch.setattr(count_vectors, "LONGEST_TABLE", 2)
    monkeypatch.setattr(count_vectors, "LONGEST_TOTALS", 8)
    short = OverdispersedMultinomial(x, alpha=0.7)
    for model in (whole, short):
        model.set_labels(labels)
    for i in range(len(x)):
        np.testing.assert_allclose(pieces.scan(short, i), pieces.scan(whole, i), rtol=1e-12)
