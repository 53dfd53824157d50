"""Algorithm 1 of Rana et al. 2013 as printed: the distribution of the partition, and what a merge reads."""

from __future__ import annotations

import itertools
import math

import numpy as np
from enumerated import partitions
from enumerated_topics import PointStream, blocks, build, corpus, partition_of, simplex, walks
from plain_topics import Topics
from reference_smag import SMAG

from splitmerge_cli.verify.transitions import stationary_distribution


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
