"""Probabilities of allocations that leave the range of a double: clusters whose items would hardly ever be put together
are merged, and what would part them so is scored on the log scale.

The reference is the definition, step by step, with marginal likelihoods by the formulas of ``verify.enumerate``.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest

from splitmerge_cli.core.model import Model
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.kinds.lines.model import Lines
from splitmerge_cli.kinds.tables.models.bernoulli import Bernoulli
from splitmerge_cli.samplers.gibbs import LocallyInformed
from splitmerge_cli.samplers.split_merge import RGSM, Dyadic
from splitmerge_cli.samplers.triadic import Triadic
from splitmerge_cli.samplers.wang_russell import SDDS
from splitmerge_cli.verify import continuous, paths
from splitmerge_cli.verify.enumerate import bernoulli_log_weight

LOG_TINY = math.log(1e-280)

# items 0, 1, 4 and 5 are alike, 2 and 3 far from them; in three clusters or in two, 4 and 5 are with 3
ROWS = np.array([[1] * 4, [1] * 4, [0] * 4, [0] * 4, [1] * 4, [1] * 4], dtype=np.uint8)
SHARP = 1e-80
POINTS = np.array([[-1.0, 0.0], [1.0, 0.001], [0.0, 3.0], [2.0, 4.0], [0.5, 0.0], [-2.0, -0.001]])
NOISE = {"sigma0": 0.05, "sigma1": 0.002}
THREE = [0, 0, 1, 2, 2, 2]
TWO = [0, 0, 0, 1, 1, 1]

LogLik = Callable[[tuple[int, ...]], float]


def bernoulli() -> tuple[Model, LogLik]:
    def log_lik(items: tuple[int, ...]) -> float:
        return bernoulli_log_weight(ROWS[list(items)], 1.0, SHARP, SHARP, "uniform")(((0,) * len(items), 1))

    return Bernoulli(ROWS, concentration=1.3, beta1=SHARP, beta0=SHARP), log_lik


def lines() -> tuple[Model, LogLik]:
    def log_lik(items: tuple[int, ...]) -> float:
        given = NOISE["sigma0"], NOISE["sigma1"], "known", 2.5, "uniform"
        return continuous.lines_log_weight(POINTS[list(items)], 1.0, *given)(((0,) * len(items), 1))

    return Lines(POINTS, concentration=1.3, **NOISE), log_lik


class Reference:
    """Log probabilities of allocations by their definition."""

    def __init__(self, log_lik: LogLik) -> None:
        self.log_lik, self.known, self.least = log_lik, {(): 0.0}, {2: 0.0, 3: 0.0}
        self.steps: dict[tuple[int, tuple[frozenset[int], ...], bool], list[float]] = {}

    def log_of(self, items: Sequence[int]) -> float:
        key = tuple(sorted(items))
        if key not in self.known:
            self.known[key] = self.log_lik(key)
        return self.known[key]

    def step(self, item: int, sides: Sequence[Sequence[int]], to: int, sized: bool) -> float:
        """log probability that an item goes to this side."""
        key = item, tuple(map(frozenset, sides)), sized
        if key not in self.steps:
            log_w = [
                self.log_of([*side, item]) - self.log_of(side) + (math.log(len(side)) if sized else 0.0)
                for side in sides
            ]
            top = max(log_w)
            log_total = top + math.log(sum(math.exp(w - top) for w in log_w))
            self.steps[key] = [w - log_total for w in log_w]
            self.least[len(sides)] = min(self.least[len(sides)], *self.steps[key])
        return self.steps[key][to]

    def sequential(self, order: Sequence[int], sides: list[list[int]], at: dict[int, int], sized: bool) -> float:
        """log q of putting the items, in this order, beside what the sides hold."""
        held, total = [list(side) for side in sides], 0.0
        for item in order:
            total += self.step(item, held, at[item], sized)
            held[at[item]].append(item)
        return total

    def scan(self, items: Sequence[int], sides: list[list[int]], at: dict[int, int]) -> float:
        """log q of a restricted Gibbs scan, in item order, from these sides."""
        held, total = [list(side) for side in sides], 0.0
        for item in items:
            held = [[other for other in side if other != item] for side in held]
            total += self.step(item, held, at[item], True)
            held[at[item]].append(item)
        return total


def of_triples(reference: Reference) -> Iterator[tuple[float, float]]:
    """Merges of three clusters into two: probability of each, and its log q3 - log q2."""
    N = len(THREE)
    for i, j, k in itertools.permutations(range(N), 3):
        if len({THREE[i], THREE[j], THREE[k]}) < 3:
            continue
        number = {THREE[i]: 0, THREE[j]: 1, THREE[k]: 2}
        items = [h for h in range(N) if h not in (i, j)]
        present = {h: number[THREE[h]] for h in items}
        drawn = 1.0 / (N * (N - 1) * (N - 2) * math.factorial(len(items)))
        for order in itertools.permutations(items):
            log_q3 = reference.sequential([h for h in order if h != k], [[i], [j], [k]], present, True)
            for chosen in itertools.product((0, 1), repeat=len(items)):
                log_q2 = reference.sequential(order, [[i], [j]], dict(zip(order, chosen, strict=True)), True)
                yield drawn * math.exp(log_q2), log_q3 - log_q2


def of_pairs(reference: Reference, scans: bool) -> Iterator[tuple[float, float]]:
    """Merges of two clusters: probability of each, and log q of a sequential allocation, or of a restricted scan."""
    N = len(TWO)
    for i, j in itertools.permutations(range(N), 2):
        if TWO[i] == TWO[j]:
            continue
        items = [h for h in range(N) if h not in (i, j)]
        present = {h: int(TWO[h] != TWO[i]) for h in items}
        drawn = 1.0 / (N * (N - 1))
        if scans:
            for launch in itertools.product((0, 1), repeat=len(items)):
                sides = [
                    [anchor, *(h for h, s in zip(items, launch, strict=True) if s == t)]
                    for t, anchor in ((0, i), (1, j))
                ]
                yield drawn * 0.5 ** len(items), reference.scan(items, sides, present)
        else:
            for order in itertools.permutations(items):
                yield (drawn / math.factorial(len(items)), reference.sequential(order, [[i], [j]], present, True))


def of_clusters(reference: Reference) -> Iterator[tuple[float, float]]:
    """Dumb merges of the only two clusters, each way round; the smart split has no sizes and names no side first."""
    at = {h: TWO[h] for h in range(len(TWO))}
    yield 0.5, reference.sequential(range(len(TWO)), [[], []], at, False) + math.log(2.0)


CHECKED = {
    "among three": (Triadic, {"beta": 0.3}, THREE, "merge_3_2", of_triples),
    "sequential": (Dyadic, {"allocation": "sams"}, TWO, "merge", lambda reference: of_pairs(reference, False)),
    "restricted scan": (RGSM, {"t": 0}, TWO, "merge", lambda reference: of_pairs(reference, True)),
    "sequential, without sizes": (SDDS, {"kernel": "ssdm"}, TWO, "dumb_merge", of_clusters),
}


@pytest.mark.parametrize("made", [bernoulli, lines])
@pytest.mark.parametrize("what", CHECKED)
def test_scored_on_the_log_scale(what, made):
    sampler_class, options, labels, move, defined = CHECKED[what]
    model, log_lik = made()
    sampler = sampler_class(model, Rng(0), **options)
    found = paths.execution_paths(model, sampler.rng, sampler, labels, max(labels) + 1, always_accept=True)
    chosen = found["move"] == sampler_class.MOVES.index(move)
    p, value = found["probability"][chosen], found["terms"][chosen, sampler_class.TERMS.index("allocation")]

    reference = Reference(log_lik)
    expected_p, expected = np.array(list(defined(reference))).T
    # a single step, among as many sides
    assert reference.least[3 if sampler_class is Triadic else 2] < LOG_TINY
    assert p.sum() == pytest.approx(expected_p.sum(), rel=1e-9)
    # how often each value comes: mean and mean square, which orders with other sizes tell apart
    for power in (1, 2):
        assert p @ value**power == pytest.approx(expected_p @ expected**power, rel=1e-8)


@pytest.mark.parametrize("balancing", ["sqrt", "barker"])
def test_an_item_far_from_its_cluster_moves(balancing):
    """Where the probability of its own cluster is 0 as a double, too."""
    model = Bernoulli(np.repeat(np.array([[0], [1], [1]], dtype=np.uint8), 3000, axis=1))
    sampler = LocallyInformed(model, Rng(0), balancing=balancing)
    model.set_labels(np.array([0, 0, 1], dtype=np.int32))
    for _ in range(10):
        sampler.step()
    z = model.labels
    assert z[0] != z[1] == z[2]
