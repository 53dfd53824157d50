"""Mixtures on vectors of counts: weights of an item against the likelihood by another route, with tables of logarithms
and without, while chains change the clusters."""

import numpy as np
import pytest
from compiled import pieces

from splitmerge_cli.core.chain import Chain
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.kinds.tables.models import count_vectors, gamma_poisson
from splitmerge_cli.kinds.tables.models.gamma_poisson import GammaPoisson
from splitmerge_cli.kinds.tables.models.multinomial import Multinomial
from splitmerge_cli.kinds.tables.models.overdispersed_multinomial import OverdispersedMultinomial
from splitmerge_cli.samplers.dyadic import Dyadic
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.rgsm import RGSM

CONCENTRATION = 4.0
MODELS = {
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


@pytest.mark.parametrize("name", MODELS)
def test_weights_are_those_of_the_likelihood(name, tables):
    kind, options = MODELS[name]
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


@pytest.mark.parametrize("name", MODELS)
def test_an_item_that_is_not_placed(name, tables):
    kind, options = MODELS[name]
    model = kind(vectors(), **options)
    model.set_labels([0, 1, 1, 0, 1, 1, 0, 1, 0, 0])
    for i in range(10):
        fast, slow = pieces.scan_unplaced(model, i)
        np.testing.assert_allclose(fast / fast.sum(), slow / slow.sum(), rtol=1e-9, atol=1e-200)


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
