"""Split-merge and Gibbs updates of topics leave the target as it is, by quadrature over the whole simplex. No volume is
put in by hand (docs/derivations-topics.md).
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from enumerated import partitions
from enumerated_topics import PointStream, build, corpus, gibbs, partition_of, simplex, walks
from plain_topics import Topics
from reference_smag import SMAG
from scipy.special import roots_jacobi


def rule(n, a, b, density):
    """Nodes u in (0, 1) and weights, exact for a polynomial times u^a (1 - u)^b, the density that the stream counts."""
    t, w = roots_jacobi(n, b, a)
    nodes = (t + 1) / 2
    return list(zip(nodes, w / 2 ** (a + b + 1) / density(nodes), strict=True))


def integrals(model, n, kernel):
    """Return the moments of the weights over every partition: under the target, and the changes by the kernel."""
    totals, changes = {}, {}
    for labels in partitions(model.N):
        for weights, w in simplex(max(labels) + 1, model.gamma, n):
            x = Topics(model, labels, weights)
            mass, z = w * math.exp(x.log_joint() - (model.gamma - 1) * x.log_unseen), partition_of(x)
            totals[z] = totals.get(z, 0.0) + mass * moments(x)
            for y, p in kernel(x):
                for end, flow in [(y, mass * p), (x, -mass * p)]:
                    changes[partition_of(end)] = changes.get(partition_of(end), 0.0) + flow * moments(end)
    return totals, changes


def moments(state):
    with_0 = math.exp(state.clusters[state.cluster_of(0)].theta)
    unseen = math.exp(state.log_unseen)
    return np.array([1.0, unseen, with_0, with_0**2, unseen * with_0])


class Told(SMAG):
    """Tells the stream what it is asked to accept."""

    def decide(self, proposal, log_r):
        self.stream.grows = len(proposal) > self.state.K
        super().decide(proposal, log_r)


INTEGRATED = {
    "split-merge, pair": (build("pair", "before", Told, p=2.0), lambda ref: ref.step()),
    "split-merge, coin": (build("coin", "before", Told, p=1.0), lambda ref: ref.step()),
    "split-merge, weights after": (build("coin", "after", Told), lambda ref: ref.step()),
    "one token, second of its document": (gibbs(), lambda ref: ref.update(1)),
    "one token, alone in its document": (gibbs("buckets"), lambda ref: ref.update(2)),
}


def unrest(make_ref, act, n=4):
    """Largest relative change of a moment that a kernel makes to the target."""
    model = corpus(3, gamma=1.6, docs=[0, 0, 1])
    share = rule(n, 0, 0, lambda u: 1.0)
    stick = rule(n, 0, model.gamma - 1, lambda b: (1 - b) ** (model.gamma - 1))

    def kernel(x):
        return walks(make_ref, x, PointStream(shares=share, sticks=stick), act)

    totals, changes = integrals(model, n, kernel)
    return max(np.abs(changes[z] / totals[z]).max() for z in totals)


@pytest.mark.parametrize("name", INTEGRATED)
def test_kernel_leaves_the_target_as_it_is(name):
    """A split-merge adds up polynomials, which a few points integrate exactly; an update of a token does not."""
    assert unrest(*INTEGRATED[name], n=4) < 1e-13 if "split" in name else unrest(*INTEGRATED[name], n=8) < 1e-6
