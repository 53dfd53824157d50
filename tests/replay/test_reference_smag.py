"""The reference split-merge of Rana et al. 2013 is in balance at points of the simplex, and the errors of the paper are
found there (docs/derivations-topics.md).
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from enumerated_topics import KINDS, PointStream, build, corpus, flows, key, points
from plain_topics import Topics, TopicStream
from reference_smag import SMAG, TopicRGSM, TopicSAMS


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


@pytest.mark.parametrize(("choice", "weights"), KINDS)
def test_splits_balance_merges(choice, weights):
    found = list(split_imbalances(build(choice, weights, p=1.7), corpus(4)))
    assert len(found) == 62  # 31 pairs of partitions, two shares each
    np.testing.assert_allclose(found, 0, atol=1e-9)


@pytest.mark.parametrize("weights", ["before", "after"])
@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_share_that_is_nothing_is_no_split(weights, share):
    class Rounded(TopicStream):
        def beta(self, a, b):
            return share

    state = Topics(corpus(4), [0, 0, 0, 0], [0.4, 0.6])
    ref = build("pair", weights)(state, Rounded(0))
    ref.step()
    assert (state.K, ref.null, ref.accepted) == (1, 1, 0)


GENERIC = {
    "rgsm-0": (TopicRGSM, {"t": 0}),
    "rgsm-1": (TopicRGSM, {"t": 1}),
    "sams": (TopicSAMS, {}),
    "coins": (TopicSAMS, {"allocation": "random"}),
}


@pytest.mark.parametrize("name", GENERIC)
def test_split_merge_of_mixtures_works_on_topics(name):
    """With u and its density, nothing else is changed but the target."""
    ref, options = GENERIC[name]

    class Sharp(ref):
        p = 1.7

    found = list(split_imbalances(lambda state, stream: Sharp(state, stream, **options), corpus(4)))
    assert len(found) == 62
    np.testing.assert_allclose(found, 0, atol=1e-9)


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


@pytest.mark.parametrize("fault", [FirstTokensTwice, NoGamma, NoWeightsInTheDensity, NoVolume])
@pytest.mark.parametrize("weights", ["before", "after"])
def test_faults_of_a_split_are_found(fault, weights):
    assert max(map(abs, split_imbalances(build("coin", weights, fault, p=1.7), corpus(4)))) > 0.05
