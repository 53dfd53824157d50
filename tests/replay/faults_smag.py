"""Split-merge of Rana et al. 2013 with one term of its ratio left out or wrong."""

from __future__ import annotations

import math

from reference_smag import SMAG


class NoVolume(SMAG):
    def log_volume(self, topic):
        return 0.0


class NoDensityOfShares(SMAG):
    def log_q_shares(self, topic, A, B):
        return 0.0


class NoGamma(SMAG):
    """gamma^K, what a new topic costs."""

    def log_target(self, topics):
        return super().log_target(topics) - len(topics) * math.log(self.model.gamma)


class NoWeightsInTheDensity(SMAG):
    """1/beta_k of every topic."""

    def log_target(self, topics):
        return super().log_target(topics) + sum(t.theta for t in topics)


class NoDocuments(SMAG):
    """Rising factorials."""

    def log_target(self, topics):
        return super().log_target(topics) - sum(map(self.model.log_rising_of, topics))


class FirstTokensTwice(SMAG):
    """As equation 11: alpha0 for every topic once more."""

    def log_target(self, topics):
        return super().log_target(topics) + len(topics) * math.log(self.model.alpha0)


class NoWords(SMAG):
    def log_target(self, topics):
        return super().log_target(topics) - sum(map(self.model.log_g, topics))


class NoAllocation(SMAG):
    def log_ratio_split(self, small, topic, big, A, B, log_q):
        return super().log_ratio_split(small, topic, big, A, B, 0.0)


class NoChoiceOfTopics(SMAG):
    def log_call_split(self, small, topic):
        return super().log_call_split(small, topic) + math.log(len(small))

    def log_call_merge(self, big, A, B):
        return super().log_call_merge(big, A, B) + math.log(len(big) * (len(big) - 1))


class NoChoiceOfTokens(SMAG):
    def log_call_split(self, small, topic):
        return super().log_call_split(small, topic) + math.log(len(topic) * (len(topic) - 1))

    def log_call_merge(self, big, A, B):
        return super().log_call_merge(big, A, B) + math.log(len(A) * len(B))


class OneTokenIsEnough(SMAG):
    """A merge whose reverse is counted without the order of its two tokens."""

    def log_call_merge(self, big, A, B):
        return super().log_call_merge(big, A, B) + math.log(2)


class KeepsOneWeight(SMAG):
    """A merge whose union has the weight of one topic alone."""

    def merge_topics(self, c, d):
        proposal, union = super().merge_topics(c, d)
        union.theta = self.state.clusters[c].theta
        return proposal, union


SPLIT_FAULTS = [
    NoVolume,
    NoDensityOfShares,
    NoGamma,
    NoWeightsInTheDensity,
    NoDocuments,
    FirstTokensTwice,
    NoWords,
    NoAllocation,
    NoChoiceOfTopics,
    NoChoiceOfTokens,
    OneTokenIsEnough,
    KeepsOneWeight,
]
