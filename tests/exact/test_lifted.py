"""Lifted moves on states with a direction, from their formula: what is stationary, and that the compiled step is the
mean of their powers; directions that are kept beside the partition."""

from itertools import combinations, product

import numpy as np
import pytest
from every_sampler import case_of

from splitmerge_cli.analysis.coupled_pairs import check_coupling
from splitmerge_cli.config import ConfigError, component, specify
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.core.sampler import PythonSampler
from splitmerge_cli.kinds.tables.models.bernoulli import Bernoulli
from splitmerge_cli.kinds.tables.models.gaussian import Gaussian
from splitmerge_cli.runs.plan import prepare
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.nonreversible import Nonreversible
from splitmerge_cli.verify import cases, kernel, paths
from splitmerge_cli.verify.transitions import balance_defect, state_of, stationarity_defect, transition_matrix

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
        self.turned = [number[a, b, -v] for a, b, v in self.states]


def pairs_of(part: Clusters, N: int) -> list[tuple[frozenset[int], frozenset[int], float]]:
    """The pairs of clusters, or of one and none, with their probabilities."""
    K = len(part)
    pairs = [(a, frozenset[int](), len(a) / (N * (K + 1))) for a in part]
    return pairs + [(a, b, len(a | b) / (N * K)) for a, b in combinations(part, 2)]


THREE = [cases.small_case(Bernoulli, 3, 0), cases.small_case(Gaussian, 3, 1)]


@pytest.mark.parametrize(
    ("case", "moves"), [*((case_of(name), 3) for name in ("bernoulli", "irm-uneven", "gaussian-uniform"))]
    + [(case, 0) for case in THREE]
)  # fmt: skip
def test_a_step_is_the_mean_of_powers_of_the_lifted_move(case, moves):
    """By default there are twice as many powers as the two clusters have items."""
    parts = [clusters_of(labels) for labels, _ in case.states]
    weight, number = dict(zip(parts, case.pi, strict=True)), {part: t for t, part in enumerate(parts)}
    P, N = np.zeros((len(parts),) * 2), case.model.N
    for part in parts:
        pairs = pairs_of(part, N)
        P[number[part], number[part]] += 1.0 - sum(chance for _, _, chance in pairs)
        for a, b, chance in pairs:
            fibre = Fibre(a | b, part - {a, b}, weight)
            assert stationarity_defect(fibre.L, fibre.pi) < 1e-15
            if len(a | b) > 2:
                assert balance_defect(fibre.L, fibre.pi) > 1e-6
            start = np.array([float(state[:2] == (a, b)) / 2 for state in fibre.states])
            most = moves or 2 * len(a | b)
            for m in range(1, most + 1):
                for end, reached in zip(fibre.parts, start @ np.linalg.matrix_power(fibre.L, m), strict=True):
                    P[number[part], number[end]] += chance * reached / most
    sampler = Nonreversible(case.model, Rng(0), moves=moves)
    np.testing.assert_allclose(transition_matrix(case.model, sampler.rng, sampler, case.states), P, atol=1e-13)
    assert balance_defect(P, case.pi) < 1e-15


def test_lifted_moves_are_counted_one_by_one():
    """One lifted move in each step of two items: proposed, or null without an item to move, and never twice."""
    case = cases.small_case(Bernoulli, 2, 0)
    sampler = Nonreversible(case.model, Rng(0), moves=1)
    for steps in range(1, 60):
        sampler.step()
        assert sampler.counts()[0]["proposed"] == steps


# -- directions that are kept
class Beside(PythonSampler):
    """A step of each sampler from given directions of the first; notes those that the paths end with."""

    MOVES = ("steps",)

    def __init__(self, kept: Nonreversible, *others) -> None:
        super().__init__(kept.model, kept.rng)
        self.kept, self.others, self.start, self.ends = kept, others, (), []

    def python_step(self) -> None:
        self.kept.set_own_state({"directions": np.packbits(self.start).tobytes().hex()})
        for sampler in (self.kept, *self.others):
            sampler.step()
        packed = np.frombuffer(bytes.fromhex(self.kept.own_state()["directions"]), dtype=np.uint8)
        self.ends.append(tuple(np.unpackbits(packed, count=len(self.start)).tolist()))


def states_with_directions(case, directions):
    """States with directions, and their probabilities."""
    bits = list(product((0, 1), repeat=directions))
    return {(x, v): t for t, (x, v) in enumerate(product(case.states, bits))}, np.repeat(case.pi, len(bits)) / len(bits)


def extended_matrix(case, steps):
    number, pi = states_with_directions(case, steps.kept.options["directions"])
    P = np.zeros((len(number),) * 2)
    for (x, v), t in number.items():
        steps.start, steps.ends = v, []
        found = paths.execution_paths(case.model, steps.rng, steps, *x)
        for labels, K, p, end in zip(found["labels"], found["K"], found["probability"], steps.ends, strict=True):
            P[t, number[state_of(labels, int(K)), end]] += p
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    return P, pi


def mix(x: int) -> int:
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ x >> shift) * factor % 2**64
    return x ^ x >> 31


def formula(case, directions, most, exchanges=True):
    """Matrix of a step; without the exchange of two directions, where they change places, a mutant."""
    number, pi = states_with_directions(case, directions)
    of = {clusters_of(x[0]): x for x, _ in number}
    weight = {part: case.pi[case.states.index(x)] for part, x in of.items()}
    P, N = np.zeros((len(number),) * 2), case.model.N

    def place(a, b):
        least = [min(side, default=N) for side in (a, b)]
        return mix(min(least) << 32 | max(least)) % directions, least[0] > least[1]

    for part, x in of.items():
        pairs = [pair for pair in pairs_of(part, N) if len(pair[0] | pair[1]) > 1]
        for v in product((0, 1), repeat=directions):
            P[number[x, v], number[x, v]] += 1.0 - sum(chance for *_, chance in pairs)
        for a, b, chance in pairs:
            fibre = Fibre(a | b, part - {a, b}, weight)
            turn = (1.0 - 1.0 / N) * np.eye(len(fibre.L)) + np.eye(len(fibre.L))[fibre.turned] / N
            L = sum(np.linalg.matrix_power(turn @ fibre.L, m) for m in range(1, most + 1)) / most
            before, turned = place(a, b)
            for v in product((0, 1), repeat=directions):
                t = fibre.states.index((a, b, 1 if v[before] != turned else -1))
                for end, (to_a, to_b, way) in enumerate(fibre.states):
                    after, turned_after = place(to_a, to_b)
                    w = list(v)
                    if exchanges:
                        w[before] = w[after]
                    w[after] = int((way == 1) != turned_after)
                    P[number[x, v], number[of[fibre.parts[end]], tuple(w)]] += chance * L[t, end]
    return P, pi


@pytest.mark.parametrize(("case_name", "directions", "most"), [("bernoulli", 3, 1), ("irm-uneven", 3, 2)])
def test_the_formula_of_directions_that_are_kept(case_name, directions, most):
    case = case_of(case_name)
    P, pi = formula(case, directions, most)
    assert stationarity_defect(P, pi) < 1e-15 < 1e-5 < balance_defect(P, pi)
    assert stationarity_defect(*formula(case, directions, most, exchanges=False)) > 1e-5
    compiled, _ = extended_matrix(case, Beside(Nonreversible(case.model, Rng(0), moves=most, directions=directions)))
    np.testing.assert_allclose(compiled, P, atol=1e-13)


# a Gibbs site in between multiplies the paths
BESIDE = [("bernoulli", 3, 2, None), ("emm", 2, 2, None), ("bernoulli", 2, 1, "site"), ("emm", 1, 1, "site")]


@pytest.mark.parametrize(("case_name", "directions", "moves", "scan"), [*BESIDE, ("gaussian-diag", 1, 2, "site")])
def test_directions_that_are_kept_are_uniform_beside_the_posterior(case_name, directions, moves, scan):
    case, rng = case_of(case_name), Rng(0)
    sampler = Nonreversible(case.model, rng, moves=moves, directions=directions)
    steps = Beside(sampler, *([Gibbs(case.model, rng, scan=scan)] if scan else []))
    assert stationarity_defect(*extended_matrix(case, steps)) < 1e-12


@pytest.mark.parametrize("term", Nonreversible.TERMS)
def test_mutants_with_directions_that_are_kept_are_found(term):
    case = case_of("bernoulli")
    sampler = Nonreversible(case.model, Rng(0), moves=1, directions=2)
    sampler.omit(term)
    assert stationarity_defect(*extended_matrix(case, Beside(sampler))) > 1e-3


KEPT = ["data=jain_neal", "N=20", "sampler=nonreversible", "sampler.directions=100", "seed=3"]


@pytest.mark.parametrize("further", [[], ["schedule=move_only"], ["tempering.levels=2"]])
def test_a_chain_goes_on_with_its_directions(further):
    whole, first, rest = (prepare(specify(KEPT + further)).builder.chain(0) for _ in range(3))
    expected = whole.advance(40)["log_joint"]
    begun = first.advance(15)["log_joint"]
    rest.state = first.state
    np.testing.assert_array_equal(np.r_[begun, rest.advance(25)["log_joint"]], expected)
    assert repr(rest.state["own"]) == repr(whole.state["own"])
    for damaged in (None, [None] * len(first.state["own"]), [{"directions": "00"}] * len(first.state["own"])):
        with pytest.raises(ValueError, match="state of"):
            rest.state = first.state | {"own": damaged}


def test_directions_that_are_kept_are_not_coupled():
    with pytest.raises(ConfigError, match=r"expected sampler\.directions=0"):
        check_coupling(specify([*KEPT, "iterations=100"]))


def test_steps_with_directions_that_are_kept_are_not_enumerated_on_partitions():
    kept = component("sampler", "nonreversible").with_options(directions=5)
    assert kernel.kernel_of(case_of("bernoulli"), kept).why == "keeps a state"
