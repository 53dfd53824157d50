"""The plain side of the topics: the hierarchical Dirichlet process with its topics integrated out, nothing cached.

A token is an item, a topic a cluster of tokens with its global weight: `theta` is log beta_k. What is left for the
topics that hold no token, beta_u, is kept beside them, in logs too.
"""

from __future__ import annotations

import math

import numpy as np
from plain import Cluster, Clusters, State, Stream

from splitmerge_cli.verify.enumerate import hdp_log_weight, state_of


def log_add(a: float, b: float) -> float:
    return float(np.logaddexp(a, b))


def log_rising(log_a: float, n: int) -> float:
    """log of the rising factorial <a>_n, for an a that may be too small for a double."""
    a = math.exp(log_a)
    return log_a + math.lgamma(a + n) - math.lgamma(a + 1) if n else 0.0


class TopicStream(Stream):
    def log_dirichlet(self, tables: list[int], gamma: float) -> list[float]:
        """Logs of a draw of Dirichlet(tables, gamma)."""
        draw = self.generator.standard_gamma
        logs = [math.log(draw(m)) for m in tables]
        logs.append(math.log(draw(gamma + 1)) + math.log1p(-self.random()) / gamma)
        return [x - float(np.logaddexp.reduce(logs)) for x in logs]


class HDP:
    """Rana et al. 2013, section 3.1: tokens of documents, topics ~ Dirichlet(eta) integrated out.

    Parameters
    ----------
    docs, words : sequence of int, length N
        Document and word of each token.
    V : int
        Size of the vocabulary.
    gamma, alpha0, eta : float
    """

    def __init__(self, docs, words, V, gamma, alpha0, eta) -> None:
        self.docs, self.words, self.V, self.eta = list(docs), list(words), V, eta
        self.N = len(self.docs)
        self.J = max(docs) + 1
        self.gamma, self.alpha0 = gamma, alpha0
        self.length = [self.docs.count(j) for j in range(self.J)]

    def n_doc(self, j: int, tokens: list[int]) -> int:
        """n_jk: how many of a topic's tokens are of document j."""
        return sum(self.docs[i] == j for i in tokens)

    def n_word(self, w: int, tokens: list[int]) -> int:
        return sum(self.words[i] == w for i in tokens)

    def log_g(self, tokens: list[int]) -> float:
        """Log probability of a topic's words, one token after the other."""
        log_p = math.lgamma(self.V * self.eta) - math.lgamma(self.V * self.eta + len(tokens))
        for w in {self.words[i] for i in tokens}:
            log_p += math.lgamma(self.eta + self.n_word(w, tokens)) - math.lgamma(self.eta)
        return log_p

    def log_predictive(self, i: int, tokens: list[int]) -> float:
        """Log probability of token i's word, given the other tokens of a topic; 1/V for an empty topic."""
        return math.log((self.eta + self.n_word(self.words[i], tokens)) / (self.V * self.eta + len(tokens)))

    def log_rising_of(self, topic: Cluster) -> float:
        """log of the product over documents of <alpha0 beta_k>_{n_jk}."""
        log_a = math.log(self.alpha0) + topic.theta
        return sum(log_rising(log_a, self.n_doc(j, topic)) for j in range(self.J))

    def log_documents(self) -> float:
        """log of the product over documents of <alpha0>_{n_j}."""
        return sum(log_rising(math.log(self.alpha0), n) for n in self.length)

    def log_prior(self, topics: list[Cluster], log_unseen: float) -> float:
        """Log density of the tokens' partition and the weights beta_1, ..., beta_K."""
        log_p = len(topics) * math.log(self.gamma) + (self.gamma - 1) * log_unseen
        log_p += sum(self.log_rising_of(topic) - topic.theta for topic in topics)
        return log_p - self.log_documents()

    def log_joint(self, topics: list[Cluster], log_unseen: float) -> float:
        return self.log_prior(topics, log_unseen) + sum(self.log_g(topic) for topic in topics)

    def log_p(self, clusters: Clusters, log_unseen: float | None = None) -> float:
        """Log probability of a partition and the words up to a constant, the weights integrated out; given log beta_u
        where that is a number."""
        labels = [next(k for k, tokens in enumerate(clusters) if i in tokens) for i in range(self.N)]
        hyper = self.gamma, self.alpha0, self.eta
        weight = hdp_log_weight(self.docs, self.words, self.V, *hyper, log_unseen)
        return weight(state_of(labels, len(clusters)))

    def log_configuration(self, topics: list[Cluster], log_unseen: float) -> float:
        """Equation 11 as printed: beta_{u_k} is what the weights from the k-th topic on add up to, in list order."""
        log_p, log_rest = len(topics) * math.log(self.alpha0), log_unseen
        for topic in reversed(topics):
            log_rest = log_add(log_rest, topic.theta)
            log_p += log_rest + self.log_rising_of(topic)
        return log_p - self.log_documents()


class Topics(State):
    """A model, its topics with their weights, and the weight of what no topic holds."""

    model: HDP

    def __init__(self, model: HDP, labels, weights) -> None:
        """`weights`: beta_1, ..., beta_K, beta_u."""
        super().__init__(model, labels, len(weights) - 1, [math.log(w) for w in weights[:-1]])
        self.log_unseen = math.log(weights[-1])

    def log_joint(self) -> float:
        return self.model.log_joint(self.clusters, self.log_unseen)
