"""Topics whose weights are part of the state: points of the simplex, quadrature over it, and every end of a kernel with
its density.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from enumerated import ScriptedStream, partitions
from plain import Cluster, theta_of
from plain_topics import HDP, Topics
from reference_smag import SMAG
from scipy.special import gammaln, roots_jacobi

DOCS, WORDS = [0, 0, 0, 1, 1, 2], [0, 0, 1, 2, 0, 1]


def corpus(N, gamma=1.6, alpha0=0.9, eta=0.4, docs=DOCS, words=WORDS):
    return HDP(docs[:N], words[:N], 3, gamma, alpha0, eta)


def blocks(labels):
    return [[i for i, k in enumerate(labels) if k == b] for b in range(max(labels) + 1)]


def some_weights(K, seed=0):
    """A point of the simplex that nobody chose."""
    weights = np.random.default_rng([seed, K]).gamma(2.0, size=K + 1)
    return list(weights / weights.sum())


def points(model, seed=0):
    """Every partition of the tokens, each with some weights."""
    for s, labels in enumerate(partitions(model.N)):
        yield Topics(model, labels, some_weights(max(labels) + 1, seed + s))


def key(state):
    """The state without its numbering; weights to nine digits, beta_u is what they leave."""
    return tuple(sorted((tuple(t), round(math.exp(t.theta), 9)) for t in state.clusters))


def partition_of(state):
    return tuple(sorted(map(tuple, state.clusters)))


def simplex(K, gamma, n):
    """Nodes (beta_1, ..., beta_K, beta_u), and weights of the integral of f(beta) beta_u^(gamma - 1) over them.

    By broken sticks, each by a Gauss-Jacobi rule of n points.
    """
    rules = []
    for k in range(K):
        t, w = roots_jacobi(n, gamma - 1 + K - 1 - k, 0.0)
        rules.append(list(zip((t + 1) / 2, w / 2 ** (gamma + K - 1 - k), strict=True)))
    for chosen in itertools.product(*rules):
        rest, weights = 1.0, []
        for t, _ in chosen:
            weights.append(rest * t)
            rest *= 1 - t
        yield [*weights, rest], math.prod(w for _, w in chosen)


# ---- Continuous draws, scripted: a path's probability has their density in it


class PointStream(ScriptedStream):
    """Continuous draws take one of the values given, each a pair (value, weight): a path's probability has the density
    there times the weight in it. `fits`: the global weights that may be drawn."""

    def __init__(self, shares=((0.5, 1.0),), fits=()) -> None:
        super().__init__()
        self.shares, self.fits = shares, fits

    def beta(self, a, b):
        norm = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b))
        return self.shares[self.choose([w * norm * u ** (a - 1) * (1 - u) ** (b - 1) for u, w in self.shares])][0]

    def log_dirichlet(self, tables, gamma):
        shapes, fits = np.array([*tables, gamma]), [fit for fit in self.fits if len(fit[0]) == len(tables) + 1]
        norm = gammaln(shapes.sum()) - gammaln(shapes).sum()
        chosen = self.choose([w * math.exp(norm + float((shapes - 1) @ np.log(beta))) for beta, w in fits])
        return [math.log(x) for x in fits[chosen][0]]


def copy_state(state):
    twin = Topics(state.model, [0], [0.5, 0.5])
    twin.clusters = [Cluster(t, theta_of(t)) for t in state.clusters]
    twin.log_unseen = state.log_unseen
    return twin


def walks(make_ref, state, stream):
    """Every end of a kernel from a state, with its probability, or density."""
    for _ in stream.paths():
        end = copy_state(state)
        make_ref(end, stream).step()
        yield end, stream.probability


def flows(make_ref, state, stream):
    """{state without numbering: [a state, density of getting there]}."""
    flow: dict[tuple, list] = {}
    for end, p in walks(make_ref, state, stream):
        flow.setdefault(key(end), [end, 0.0])[1] += p
    return flow


# ---- Kernels

KINDS = list(itertools.product(("pair", "coin"), ("before", "after")))


def build(choice="pair", weights="before", ref=SMAG, **options):
    return lambda state, stream: ref(state, stream, choice=choice, weights=weights, **options)
