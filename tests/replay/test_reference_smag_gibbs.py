"""The reference Gibbs update of one token is in balance at points of the simplex (docs/derivations-topics.md)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from enumerated_topics import PointStream, corpus, flows, gibbs, key, points
from plain import Cluster
from reference_smag import Gibbs

ORDERS = ("topics", "buckets")


def update_imbalances(make_ref, model):
    """Return log of the flow there less log of the flow back, of every update of one token, volumes counted."""
    for x in points(model):
        for i in range(model.N):
            alone = [i] in [list(t) for t in x.clusters]
            for y, there in flows(make_ref, x, PointStream(), lambda ref, i=i: ref.update(i)).values():
                if key(x) == key(y):
                    continue
                # what the token's new topic takes of beta_u: for the way back too, if it was alone
                b = min(math.exp(x.clusters[x.cluster_of(i)].theta - y.log_unseen), 0.99) if alone else 0.5
                back = flows(make_ref, y, PointStream(sticks=[(b, 1.0)]), lambda ref, i=i: ref.update(i))
                back_to_x = back.get(key(x), [None, 0.0])[1]
                found = x.log_joint() + math.log(there) - y.log_joint() - math.log(back_to_x or 1e-300)
                created = [i] in [list(t) for t in y.clusters]
                yield found - created * x.log_unseen + alone * y.log_unseen


@pytest.mark.parametrize("order", ORDERS)
def test_one_token_is_in_balance(order):
    found = list(update_imbalances(gibbs(order), corpus(5)))
    assert len(found) > 700
    np.testing.assert_allclose(found, 0, atol=1e-9)


def test_buckets_are_the_same_weights():
    for x in points(corpus(6)):
        for i in range(6):
            topics = [Cluster([m for m in t if m != i], t.theta) for t in x.clusters]
            ref, sums = Gibbs(x, None), [0.0] * (x.K + 1)
            for k, weight in ref.buckets(i, topics):
                sums[k] += weight
            np.testing.assert_allclose(sums, [weight for _, weight in ref.options(i, topics)], rtol=1e-13)
