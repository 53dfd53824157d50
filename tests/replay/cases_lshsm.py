"""Small cases for the samplers of Luo & Shrivastava 2018: models, tables, kernels, and a kernel's distribution."""

from __future__ import annotations

import itertools
import math

import numpy as np
from enumerated import canonical, remembering, states, target, transition_matrix
from plain import Bernoulli, Mixture
from plain_continuous import Gaussian, Lines
from plain_network import IRM
from reference_lshsm import LSHSM, Tables

POINTS = np.array([[-1.0, 0.4], [0.5, 1.9], [2.0, -0.6], [1.0, 0.1], [-0.7, -1.5]])
ROWS = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1]])
STAR = np.array([[0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 1], [1, 0, 1, 0]])  # the network of Herlau et al. 2014
MODELS = {
    "gaussian": Gaussian(POINTS[:4], 1.2, "diag", m0=[0.3, 0.5], kappa0=0.4, a0=1.6, b0=0.7),
    "gaussian-uniform": Gaussian(POINTS[:4], 1.0, "iso", m0=[0.3, 0.5], kappa0=0.4, a0=1.6, b0=0.7, prior="uniform"),
    "lines": Lines(POINTS[:4], 0.8, 3.0, 0.7),
    "bernoulli": Bernoulli(ROWS, concentration=1.3, beta1=0.4, beta0=0.6),
    "irm": IRM(STAR),
}
VECTORS = {"bernoulli": ROWS, "irm": STAR}
MODELS = {name: remembering(model) if name != "irm" else model for name, model in MODELS.items()}
STATES = {name: list(states(model)) for name, model in MODELS.items()}
PI = {name: target(model, STATES[name]) for name, model in MODELS.items()}

PROPOSALS = ("paired", "paired_sequential", "sums")
READINGS = ("table", "union")
KINDS = list(itertools.product(PROPOSALS, READINGS))
# (bits, tables, seed)
TABLES = [(1, 1, 0), (1, 2, 1), (1, 4, 2), (2, 3, 3), (3, 4, 4)]


def tables_for(name, bits, tables, seed):
    return Tables.draw(VECTORS.get(name, POINTS[: MODELS[name].N]), bits, tables, seed)


def build(tables, proposal, reading, ref=LSHSM, mode="exact", likelihood=None):
    options = {"tables": tables, "proposal": proposal, "reading": reading, "likelihood": likelihood}
    return lambda state, stream: ref(state, stream, mode=mode, **options)


class Weights(Mixture):
    """A target whose partitions have weights that nobody chose, small whole numbers."""

    def __init__(self, N, seed):
        super().__init__(N, 1.0)
        rng = np.random.default_rng(seed)
        self.weights = {canonical(c): int(rng.integers(1, 9)) for c in states(self)}

    def log_joint(self, clusters):
        return math.log(self.weights[canonical(clusters)])


# ---- The distribution that a kernel has


def stationary(P):
    """The stationary distribution by elimination of states (Grassmann, Taksar and Heyman), which subtracts nothing."""
    P, n = P.copy(), len(P)
    for s in range(n - 1, 0, -1):
        P[:s, s] /= P[s, :s].sum()
        P[:s, :s] += np.outer(P[:s, s], P[s, :s])
    distribution = np.zeros(n)
    distribution[0] = 1.0
    for s in range(1, n):
        distribution[s] = distribution[:s] @ P[:s, s]
    return distribution / distribution.sum()


def distance(p, q):
    """Total variation."""
    return 0.5 * np.abs(p - q).sum()


def stationary_distance(make_ref, model):
    """Total variation between the stationary distribution of a reference and the target."""
    return distance(stationary(transition_matrix(make_ref, MODELS[model], STATES[model])), PI[model])
