"""Distributions of the partition under the reference samplers of Rana et al. 2013. Algorithm 1 as printed is biased as
predicted; chains of the exact samplers have the posterior (docs/derivations-topics.md).
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from enumerated import partitions
from enumerated_topics import KINDS, PointStream, blocks, build, corpus, partition_of, simplex, walks
from plain_topics import Topics, TopicStream
from reference_smag import SMAG, Gibbs, Refresh
from scipy.special import roots_genlaguerre


def posterior(model):
    distribution = {tuple(sorted(map(tuple, blocks(z)))): math.exp(model.log_p(blocks(z))) for z in partitions(model.N)}
    total = sum(distribution.values())
    return {z: p / total for z, p in distribution.items()}


def visit_shares(reference, state, moves):
    """Shares of the partitions that a chain goes through."""
    counts: dict[tuple, float] = {}
    for _ in range(moves):
        for ref in reference:
            ref.step()
        z = partition_of(state)
        counts[z] = counts.get(z, 0) + 1 / moves
    return counts


def distance(p, q):
    """Total variation."""
    return 0.5 * sum(abs(p.get(z, 0.0) - q.get(z, 0.0)) for z in set(p) | set(q))


# ---- Algorithm 1 as printed


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
    distribution, found = stationary(P), {}
    for x, p in zip(all_states, distribution, strict=True):
        found[partition_of(x)] = found.get(partition_of(x), 0.0) + p
    return found


def ordered_state(state):
    """With the order of the topics, which equation 11 reads."""
    return tuple((tuple(t), round(math.exp(t.theta), 9)) for t in state.clusters)


def stationary(P):
    equations = np.vstack([P.T - np.eye(len(P)), np.ones(len(P))])
    return np.linalg.lstsq(equations, np.append(np.zeros(len(P)), 1.0), rcond=None)[0]


def topics_in(distribution):
    return sum(len(z) * p for z, p in distribution.items())


def as_printed(form="text", ref=SMAG):
    return build(mode="as_printed", form=form, ref=ref)


# (gamma, alpha0): printed split-merge has too few topics with the first, too many with the second
FEW, MANY = (1.6, 0.9), (0.3, 6.0)


@pytest.mark.parametrize("docs", [[0, 0], [0, 1]], ids=["one-document", "two-documents"])
@pytest.mark.parametrize(("form", "nodes"), [("text", 4), ("box", 3)])
@pytest.mark.parametrize(("hyper", "sign"), [(FEW, -1), (MANY, 1)])
def test_printed_algorithm_is_biased_as_predicted(hyper, sign, form, nodes, docs):
    """Two tokens of two words: the bias by quadrature; alpha0 in place of gamma/(u(1 - u)) tells its direction."""
    model = corpus(2, *hyper, docs=docs, words=[0, 1])
    distribution, true = on_nodes(as_printed(form), model, nodes), posterior(model)
    assert distance(distribution, true) > 0.1
    assert sign * (topics_in(distribution) - topics_in(true)) > 0.1
    state = Topics(model, [0, 0], [0.5, 0.5])
    seen = visit_shares([as_printed(form)(state, TopicStream(1))], state, 4000)
    assert topics_in(seen) == pytest.approx(topics_in(distribution), abs=0.035)


class Weighed(SMAG):
    """Keeps what it would decide."""

    def decide_both(self, proposal, log_unseen, log_r):
        if len(proposal) < self.state.K:
            self.stream.ratios.add(round(log_r, 9))


def ratios_of_merges(form, labels, weights):
    fits = [([0.5, 0.5], 1.0), ([0.4, 0.3, 0.3], 1.0), ([0.4, 0.2, 0.3, 0.1], 1.0)]
    stream, state = PointStream(fits=fits), Topics(corpus(4), labels, weights)
    stream.ratios = set()
    for _ in walks(as_printed(form, Weighed), state, stream):
        pass
    return stream.ratios


def test_a_merge_of_the_reference_never_reads_the_present_split():
    """Whatever two topics are merged, with whatever weights: it weighs the union against a split of its own."""
    one, other = ([0, 0, 1, 1], [0.1, 0.5, 0.4]), ([0, 1, 1, 1], [0.3, 0.3, 0.4])
    assert ratios_of_merges("box", *one) == ratios_of_merges("box", *other)
    assert not ratios_of_merges("text", *one) & ratios_of_merges("text", *other)


# ---- Chains


@pytest.mark.parametrize(("choice", "weights"), KINDS)
def test_split_merge_keeps_the_unseen_weight(choice, weights):
    """Alone it has the distribution of the partition given beta_u."""
    model = corpus(4)
    state = Topics(model, [0, 0, 1, 2], [0.3, 0.2, 0.1, 0.4])
    given = {z: math.exp(model.log_p(list(z), math.log(0.4))) for z in posterior(model)}
    given = {z: p / sum(given.values()) for z, p in given.items()}
    seen = visit_shares([build(choice, weights)(state, TopicStream(2))], state, 6000)
    assert state.log_unseen == math.log(0.4)
    assert distance(seen, given) < 0.06


@pytest.mark.parametrize("kernel", ["gibbs", "pair", "coin"])
def test_chains_with_random_hyper_parameters(kernel):
    """The posterior of the partition, gamma and alpha0 summed out over their priors."""
    model = corpus(4, gamma=(2.0, 1.5), alpha0=(1.5, 1.0))
    state, stream = Topics(model, [0, 0, 1, 2], [0.3, 0.2, 0.1, 0.4]), TopicStream(3)
    move = Gibbs(state, stream) if kernel == "gibbs" else SMAG(state, stream, choice=kernel)
    seen = visit_shares([move, Refresh(state, stream)], state, 6000)
    assert distance(seen, over_hyper_parameters(corpus(4), (2.0, 1.5), (1.5, 1.0))) < 0.06


def over_hyper_parameters(model, gamma, alpha0, n=12):
    """The posterior, by Gauss-Laguerre rules for the two gamma priors."""
    nodes = [[(x / rate, w) for x, w in zip(*roots_genlaguerre(n, a - 1), strict=True)] for a, rate in (gamma, alpha0)]
    distribution = dict.fromkeys(posterior(model), 0.0)
    for (model.gamma, w), (model.alpha0, v) in itertools.product(*nodes):
        for z in distribution:
            distribution[z] += w * v * math.exp(model.log_p(list(z)))
    total = sum(distribution.values())
    return {z: p / total for z, p in distribution.items()}
