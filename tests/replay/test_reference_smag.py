"""The reference split-merge of Rana et al. 2013 is in balance at points of the simplex, and the errors of the paper are
found there (docs/derivations-topics.md).
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from enumerated import partitions
from enumerated_topics import (
    DOCS,
    KINDS,
    PointStream,
    blocks,
    build,
    corpus,
    flows,
    key,
    partition_of,
    points,
    simplex,
    walks,
)
from plain_topics import Topics
from reference_smag import SMAG

from splitmerge_cli.verify.transitions import stationary_distribution


def split_imbalances(make_ref, model):
    """Return log of the flow there less log of the flow back, of every split between points, volumes counted."""
    for x in points(model):
        for y, there in flows(make_ref, x, PointStream(shares=[(0.3, 1.0), (0.7, 1.0)])).values():
            if y.K != x.K + 1:
                continue
            back = flows(make_ref, y, PointStream())
            (parted,) = (t for t in x.clusters if not any(list(t) == list(s) for s in y.clusters))
            back_to_x = back.get(key(x), [None, 0.0])[1]
            yield x.log_joint() + math.log(there) - y.log_joint() - parted.theta - math.log(back_to_x or 1e-300)


# ---- Errors that errata.csv lists: one term left out, or counted twice


class FirstTokensTwice(SMAG):
    """As equation 11: alpha0 for every topic once more."""

    def log_target(self, topics):
        return super().log_target(topics) + len(topics) * math.log(self.model.alpha0)


class NoGamma(SMAG):
    """gamma^K, what a new topic costs."""

    def log_target(self, topics):
        return super().log_target(topics) - len(topics) * math.log(self.model.gamma)


class NoWeightsInTheDensity(SMAG):
    """1/beta_k of every topic."""

    def log_target(self, topics):
        return super().log_target(topics) + sum(t.theta for t in topics)


class NoVolume(SMAG):
    def log_volume(self, topic):
        return 0.0


FAULTS = [FirstTokensTwice, NoGamma, NoWeightsInTheDensity, NoVolume]


@pytest.mark.parametrize(
    ("fault", "choice", "weights"),
    [
        *((fault, "coin", weights) for fault in FAULTS for weights in ("before", "after")),
        *((None, *kind) for kind in KINDS),
    ],
)
def test_faults_of_a_split_are_found(fault, choice, weights):
    """Without one, splits balance merges."""
    found = list(split_imbalances(build(choice, weights, fault or SMAG, p=1.7), corpus(4)))
    assert len(found) == 62  # 31 pairs of partitions, two shares each
    assert max(map(abs, found)) > 0.05 if fault else max(map(abs, found)) < 1e-9


# ---- Algorithm 1 of Rana et al. 2013 as printed: the distribution of the partition.


def posterior(model):
    weights = {tuple(sorted(map(tuple, blocks(z)))): math.exp(model.log_p(blocks(z))) for z in partitions(model.N)}
    return {z: weight / sum(weights.values()) for z, weight in weights.items()}


def on_nodes(make_ref, model, n):
    """Stationary distribution of the partition, weights drawn anew with every move: on nodes of the simplex."""
    fits, all_states = [], []
    for K in range(1, model.N + 1):
        fits += [(beta, w / beta[-1] ** (model.gamma - 1)) for beta, w in simplex(K, model.gamma, n)]
    for labels in itertools.product(range(model.N), repeat=model.N):
        if set(labels) == set(range(max(labels) + 1)):
            all_states += [Topics(model, labels, beta) for beta, _ in fits if len(beta) == max(labels) + 2]
    position = {ordered_state(x): s for s, x in enumerate(all_states)}
    P = np.zeros((len(all_states), len(all_states)))
    for s, x in enumerate(all_states):
        for y, p in walks(make_ref, x, PointStream(fits=fits)):
            P[s, position[ordered_state(y)]] += p
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-10)
    distribution, found = stationary_distribution(P), {}
    for x, p in zip(all_states, distribution, strict=True):
        found[partition_of(x)] = found.get(partition_of(x), 0.0) + p
    return found


def ordered_state(state):
    """With the order of the topics, which equation 11 reads."""
    return tuple((tuple(t), round(math.exp(t.theta), 9)) for t in state.clusters)


def topics_in(distribution):
    return sum(len(z) * p for z, p in distribution.items())


def as_printed(form="text", ref=SMAG):
    return build(mode="as_printed", form=form, ref=ref)


# (gamma, alpha0): printed split-merge has too few topics with the first, too many with the second
FEW, MANY = (1.6, 0.9), (0.3, 6.0)


# ---- The target of the topics: p(z), the density of z with the weights, and its parts (docs/derivations-topics.md).


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
