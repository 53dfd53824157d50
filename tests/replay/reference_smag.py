"""The reference split-merge of Rana et al. 2013 (Algorithm 1), exact and as printed.

As in reference.py a ratio is state ratio times proposal ratio, from the proposal probabilities and densities themselves
(docs/derivations-topics.md).
"""

from __future__ import annotations

import math

from plain import Cluster, merge, split
from plain_topics import Topics, log_add
from reference import LOG_2, Reference, drop_items, normalise, sorted_side


class TopicReference(Reference):
    """A state whose weights are part of a proposal."""

    state: Topics

    def log_alpha0(self, topic: Cluster) -> float:
        """log(alpha0 beta_k)."""
        return math.log(self.model.alpha0) + topic.theta


class Refresh(TopicReference):
    """Equations 9 and 10."""

    def tables(self, topics: list[Cluster]) -> list[int]:
        """Equation 9, summed over documents: token by token, each opens a table or not."""
        return [self.tables_of(topic) for topic in topics]

    def tables_of(self, topic: Cluster) -> int:
        a = math.exp(self.log_alpha0(topic))
        counts = [self.model.n_doc(j, topic) for j in range(self.model.J)]
        total = sum(n > 0 for n in counts)
        for t in range(1, max(counts)):
            total += sum(self.stream.coin(a / (a + t)) for n in counts if n > t)
        return total

    def draw_weights(self, topics: list[Cluster], tables: list[int]) -> tuple[list[Cluster], float]:
        """Equation 10: the topics with new weights, and what is left."""
        *weights, log_unseen = self.stream.log_dirichlet(tables, self.model.gamma)
        return [Cluster(topic, weight) for topic, weight in zip(topics, weights, strict=True)], log_unseen


class SMAG(Refresh):
    """Section 3.3. `choice`: pair (a uniform pair of tokens says split or merge) or coin (half and half, then topics).

    `weights` of the two topics of a split: before (u ~ Beta(p, p) divides beta_k, then the tokens are allocated) or
    after (the tokens are allocated with half of beta_k each, then u ~ Beta of the tables to expect).
    `mode` as_printed: Algorithm 1 as printed, `form` text or ref.
    """

    def __init__(self, state, stream, mode="exact", choice="pair", weights="before", p=1.0, form="text") -> None:
        super().__init__(state, stream, mode)
        self.choice, self.weights, self.p, self.form = choice, weights, p, form

    def step(self) -> None:
        if self.mode == "as_printed":
            return self.step_printed()
        return self.by_pair() if self.choice == "pair" else self.by_coin()

    def by_pair(self) -> None:
        if self.model.N < 2:
            return None
        i, j = self.two_of(range(self.model.N))
        c, d = self.state.cluster_of(i), self.state.cluster_of(j)
        return self.split(c, i, j) if c == d else self.merge(c, d, i, j)

    def by_coin(self) -> None:
        topics = self.state.clusters
        if self.stream.index(2) == 0:
            c = self.stream.index(len(topics))
            return self.split(c, *self.two_of(topics[c])) if len(topics[c]) > 1 else None
        if len(topics) == 1:
            return None
        c, d = self.two_of(range(len(topics)))
        return self.merge(c, d, self.one_of(topics[c]), self.one_of(topics[d]))

    def one_of(self, options):
        return options[self.stream.index(len(options))]

    def two_of(self, options):
        """An ordered pair."""
        a = self.stream.index(len(options))
        b = self.stream.index(len(options) - 1)
        return options[a], options[b + (b >= a)]

    def split(self, c: int, i: int, j: int) -> None:
        topics, topic = self.state.clusters, self.state.clusters[c]
        A, B = self.halves(topic, i, j)
        if self.weights == "before" and not self.divide(topic, A, B, self.p, self.p):
            return None
        log_q = self.allocate(A, B, self.shuffle(drop_items(topic, i, j)))
        if self.weights == "after" and not self.divide(topic, A, B, *self.expected_tables(A, B)):
            return None
        proposal = split(topics, c, sorted_side(A), sorted_side(B))
        return self.decide(proposal, self.log_ratio_split(topics, topic, proposal, A, B, log_q))

    def merge(self, c: int, d: int, i: int, j: int) -> None:
        topics = self.state.clusters
        proposal, union = self.merge_topics(c, d)
        A, B = Cluster([i], topics[c].theta), Cluster([j], topics[d].theta)
        if self.weights == "after":
            A.theta = B.theta = union.theta - LOG_2
        log_q = self.allocate(A, B, self.shuffle(drop_items(union, i, j)), forced=topics[c])
        A.theta, B.theta = topics[c].theta, topics[d].theta
        return self.decide(proposal, -self.log_ratio_split(proposal, union, topics, A, B, log_q))

    def merge_topics(self, c: int, d: int) -> tuple[list[Cluster], Cluster]:
        """The topics after the merge of two, and their union, whose weight is the sum of theirs."""
        topics = self.state.clusters
        proposal = merge(topics, c, d)
        union = Cluster(proposal[min(c, d)], log_add(topics[c].theta, topics[d].theta))
        proposal[min(c, d)] = union
        return proposal, union

    def halves(self, topic: Cluster, i: int, j: int) -> tuple[Cluster, Cluster]:
        return Cluster([i], topic.theta - LOG_2), Cluster([j], topic.theta - LOG_2)

    def divide(self, topic: Cluster, A: Cluster, B: Cluster, p: float, q: float) -> bool:
        """Give A the share u ~ Beta(p, q) of the topic's weight and B the rest; whether both got something."""
        u = self.stream.beta(p, q)
        if not 0 < u < 1:
            return False
        A.theta, B.theta = topic.theta + math.log(u), topic.theta + math.log1p(-u)
        return True

    def expected_tables(self, A: Cluster, B: Cluster) -> tuple[float, float]:
        """If each side had half of beta_k."""
        log_a = math.log(self.model.alpha0) + log_add(A.theta, B.theta) - LOG_2
        a = math.exp(log_a)
        counts = ([self.model.n_doc(j, side) for j in range(self.model.J)] for side in (A, B))
        p, q = (sum(a / (a + t) if t else 1.0 for n in side for t in range(n)) for side in counts)
        return p, q

    def allocate(self, A: Cluster, B: Cluster, order: list[int], forced: list[int] | None = None) -> float:
        """Equations 16 and 17 without the "- 1": to A or to B, or as in `forced` (A's tokens)."""
        log_q = 0.0
        for m in order:
            log_p = normalise([self.log_weight(m, side) for side in (A, B)])
            in_A = self.stream.coin(math.exp(log_p[0])) if forced is None else m in forced
            (A if in_A else B).append(m)
            log_q += log_p[0] if in_A else log_p[1]
        return log_q

    def log_weight(self, m: int, side: Cluster) -> float:
        n_doc = self.model.n_doc(self.model.docs[m], side)
        log_prior = log_add(self.log_alpha0(side), math.log(n_doc)) if n_doc else self.log_alpha0(side)
        return log_prior + self.model.log_predictive(m, side)

    # ---- The ratio of a split of `topic` of `small` into A and B of `big`; a merge takes the inverse

    def log_ratio_split(self, small, topic: Cluster, big, A: Cluster, B: Cluster, log_q: float) -> float:
        log_r = self.log_target(big) - self.log_target(small) + self.log_volume(topic)
        log_q_split = self.log_call_split(small, topic) + self.log_q_shares(topic, A, B) + log_q
        return log_r + self.log_call_merge(big, A, B) - log_q_split

    def log_target(self, topics: list[Cluster]) -> float:
        return self.model.log_joint(topics, self.state.log_unseen)

    def log_volume(self, topic: Cluster) -> float:
        """d beta_1 d beta_2 = beta_k d beta_k du."""
        return topic.theta

    def log_q_shares(self, topic: Cluster, A: Cluster, B: Cluster) -> float:
        """Log density of u."""
        p, q = (self.p, self.p) if self.weights == "before" else self.expected_tables(A, B)
        log_norm = math.lgamma(p + q) - math.lgamma(p) - math.lgamma(q)
        return log_norm + (p - 1) * (A.theta - topic.theta) + (q - 1) * (B.theta - topic.theta)

    def log_call_split(self, small, topic: Cluster) -> float:
        """Log probability of this topic and these two tokens, in this order."""
        if self.choice == "pair":
            return -math.log(self.model.N * (self.model.N - 1))
        return -LOG_2 - math.log(len(small)) - math.log(len(topic) * (len(topic) - 1))

    def log_call_merge(self, big, A: Cluster, B: Cluster) -> float:
        if self.choice == "pair":
            return -math.log(self.model.N * (self.model.N - 1))
        return -LOG_2 - math.log(len(big) * (len(big) - 1)) - math.log(len(A) * len(B))

    # ---- Algorithm 1 as printed

    def step_printed(self) -> None:
        self.log_ratio = math.nan
        topics = self.state.clusters
        if self.stream.index(2) == 0:
            c = self.stream.index(len(topics))
            return self.split_printed(c) if len(topics[c]) > 1 else None
        if len(topics) == 1:
            return None
        return self.merge_printed(*self.two_of(range(len(topics))))

    def split_printed(self, c: int) -> None:
        topics = self.state.clusters
        proposal, log_unseen, log_q = self.split_topic(topics, c)
        log_r = self.log_printed(proposal, log_unseen) - self.log_printed(topics, self.state.log_unseen) - log_q
        return self.decide_both(proposal, log_unseen, log_r)

    def merge_printed(self, c: int, d: int) -> None:
        topics = self.state.clusters
        proposal, _ = self.merge_topics(c, d)
        proposal, log_unseen = self.draw_weights(proposal, self.tables(proposal))
        union = proposal[min(c, d)]
        if self.form == "box":
            split_topics, split_unseen, log_q = self.split_topic(proposal, min(c, d))
        else:
            split_topics, split_unseen = topics, self.state.log_unseen
            A, B = self.halves(union, self.one_of(topics[c]), self.one_of(topics[d]))
            log_q = self.allocate(A, B, self.shuffle(drop_items(union, A[0], B[0])), forced=topics[c])
        log_r = log_q + self.log_printed(proposal, log_unseen) - self.log_printed(split_topics, split_unseen)
        return self.decide_both(proposal, log_unseen, log_r)

    def split_topic(self, topics: list[Cluster], c: int) -> tuple[list[Cluster], float, float]:
        """A split as Algorithm 1 proposes it, with all weights drawn anew, and log q of its allocation."""
        A, B = self.halves(topics[c], *self.two_of(topics[c]))
        log_q = self.allocate(A, B, self.shuffle(drop_items(topics[c], A[0], B[0])))
        proposal = split(topics, c, sorted_side(A), sorted_side(B))
        return *self.draw_weights(proposal, self.tables(proposal)), log_q

    def log_printed(self, topics: list[Cluster], log_unseen: float) -> float:
        """Equations 11 to 15."""
        return self.model.log_configuration(topics, log_unseen) + sum(self.model.log_g(topic) for topic in topics)

    def decide_both(self, proposal: list[Cluster], log_unseen: float, log_r: float) -> None:
        if self.decide(proposal, log_r):
            self.state.log_unseen = log_unseen
