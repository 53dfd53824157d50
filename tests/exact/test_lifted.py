"""Lifted moves on states with a direction, from their formula: what is stationary, and that the compiled step is the
mean of their powers."""

from itertools import combinations

import numpy as np
import pytest
from every_sampler import case_of

from splitmerge_cli.core.rng import Rng
from splitmerge_cli.samplers.nonreversible import Nonreversible
from splitmerge_cli.verify.transitions import balance_defect, stationarity_defect, transition_matrix

Clusters = frozenset[frozenset[int]]


def clusters_of(labels) -> Clusters:
    return frozenset(frozenset(np.flatnonzero(np.array(labels) == k).tolist()) for k in set(labels))


class Fibre:
    """The states (A, B, v) of the items of two clusters, the others held, and one lifted move between them.

    Attributes
    ----------
    pi : ndarray of float
        Of the partition of each, half of it.
    L : ndarray of float
    """

    def __init__(self, union: frozenset[int], others: Clusters, weight: dict[Clusters, float]) -> None:
        sides = [frozenset(a) for n in range(len(union) + 1) for a in combinations(sorted(union), n)]
        self.states = [(a, union - a, v) for a in sides for v in (1, -1)]
        self.parts = [others | {side for side in (a, b) if side} for a, b, _ in self.states]
        self.pi = np.array([weight[part] / 2 for part in self.parts])
        number = {state: t for t, state in enumerate(self.states)}
        self.L = np.zeros((len(self.states),) * 2)
        for t, (a, b, v) in enumerate(self.states):
            origin, to = (a, b) if v == 1 else (b, a)
            for i in origin:
                moved = (a - {i}, b | {i}) if v == 1 else (a | {i}, b - {i})
                end = number[*moved, v]
                ratio = self.pi[end] / self.pi[t] * len(origin) / (len(to) + 1)
                self.L[t, end] += min(1.0, ratio) / len(origin)
            self.L[t, number[a, b, -v]] += 1.0 - self.L[t].sum()


@pytest.mark.parametrize("case_name", ["bernoulli", "irm-uneven", "gaussian-uniform"])
def test_a_step_is_the_mean_of_powers_of_the_lifted_move(case_name):
    case, most = case_of(case_name), 3
    parts = [clusters_of(labels) for labels, _ in case.states]
    weight, number = dict(zip(parts, case.pi, strict=True)), {part: t for t, part in enumerate(parts)}
    P, N = np.zeros((len(parts),) * 2), case.model.N
    for part in parts:
        K = len(part)
        pairs = [(a, frozenset(), len(a) / (N * (K + 1))) for a in part]
        pairs += [(a, b, len(a | b) / (N * K)) for a, b in combinations(part, 2)]
        P[number[part], number[part]] += 1.0 - sum(chance for _, _, chance in pairs)
        for a, b, chance in pairs:
            fibre = Fibre(a | b, part - {a, b}, weight)
            assert stationarity_defect(fibre.L, fibre.pi) < 1e-15
            if len(a | b) > 2:
                assert balance_defect(fibre.L, fibre.pi) > 1e-6
            start = np.array([float(state[:2] == (a, b)) / 2 for state in fibre.states])
            for m in range(1, most + 1):
                for end, reached in zip(fibre.parts, start @ np.linalg.matrix_power(fibre.L, m), strict=True):
                    P[number[part], number[end]] += chance * reached / most
    sampler = Nonreversible(case.model, Rng(0), moves=most)
    np.testing.assert_allclose(transition_matrix(case.model, sampler.rng, sampler, case.states), P, atol=1e-13)
    assert balance_defect(P, case.pi) < 1e-15
