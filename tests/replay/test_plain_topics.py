"""The target of the topics: p(z), the density of z with the weights, and its parts (docs/derivations-topics.md)."""

from __future__ import annotations

import itertools
import math

import pytest
from enumerated import partitions
from enumerated_topics import DOCS, blocks, corpus, simplex
from plain_topics import Topics, log_rising


def chinese_restaurant_franchise(model):
    """p(partition) by seating: every document's tokens at tables, then all tables at dishes, no formula between."""
    seatings = [{(): 1.0}]
    for j in range(model.J):
        tokens = [i for i in range(model.N) if model.docs[i] == j]
        seatings.append(crp([(i,) for i in tokens], model.alpha0))
    distribution: dict[tuple, float] = {}
    for chosen in itertools.product(*(s.items() for s in seatings)):
        tables = [table for seating, _ in chosen for table in seating]
        p = math.prod(q for _, q in chosen)
        for dishes, q in crp(tables, model.gamma).items():
            distribution[tuple(sorted(dishes))] = distribution.get(tuple(sorted(dishes)), 0.0) + p * q
    return distribution


def crp(units, concentration):
    """Probabilities of all partitions of units, each a tuple of tokens, one seated after the other."""
    distribution = {(): 1.0}
    for n, unit in enumerate(units):
        after: dict[tuple, float] = {}
        for tables, p in distribution.items():
            sizes = [sum(set(u) <= set(t) for u in units[:n]) for t in tables]
            for k, size in enumerate(sizes):
                joined = (*tables[:k], tuple(sorted(tables[k] + unit)), *tables[k + 1 :])
                after[joined] = after.get(joined, 0.0) + p * size / (n + concentration)
            after[*tables, unit] = p * concentration / (n + concentration)
        distribution = after
    return distribution


@pytest.mark.parametrize("docs", [DOCS, [0, 1, 0, 1, 2, 2], [0, 0, 0, 0, 1, 1]], ids=str)
def test_probability_of_a_partition_is_that_of_the_franchise(docs):
    model = corpus(6, docs=docs)
    seated, log_ratios = chinese_restaurant_franchise(model), []
    assert sum(seated.values()) == pytest.approx(1.0, abs=1e-12)
    for clusters in map(blocks, partitions(6)):
        log_prior = model.log_p(clusters) - sum(map(model.log_g, clusters))
        log_ratios.append(log_prior - math.log(seated[tuple(sorted(map(tuple, clusters)))]))
    assert max(log_ratios) - min(log_ratios) < 1e-11


@pytest.mark.parametrize("gamma", [0.3, 1.6])
def test_weights_integrate_to_the_probability_of_the_partition(gamma):
    model, log_ratios = corpus(5, gamma), []
    for labels in partitions(5):
        K = max(labels) + 1
        if K > 3:
            continue
        total = 0.0
        for weights, w in simplex(K, gamma, 5):
            state = Topics(model, labels, weights)
            total += w * math.exp(state.log_joint() - (gamma - 1) * state.log_unseen)
        log_ratios.append(math.log(total) - model.log_p(state.clusters))
    assert max(log_ratios) - min(log_ratios) < 1e-10


def test_words_of_a_topic_multiply():
    model, order = corpus(6), [2, 0, 5, 3, 1]
    assert sum(model.log_predictive(i, order[:t]) for t, i in enumerate(order)) == pytest.approx(model.log_g(order))
    assert model.log_predictive(0, []) == pytest.approx(-math.log(3))


def test_rising_factorial_of_what_underflows():
    assert log_rising(math.log(0.7), 3) == pytest.approx(math.log(0.7 * 1.7 * 2.7))
    assert log_rising(-2000.0, 4) == pytest.approx(-2000.0 + math.log(6))
    assert log_rising(-2000.0, 0) == 0.0
