"""Sizes of errors in the papers that no command of smcmc computes: each test prints what `errata.csv` states.

``python -m pytest -s -q tests/unit/test_errata_numbers.py -k NAME`` shows the numbers of one.
"""

from itertools import combinations, product
from math import exp, log, pi

import numpy as np
import pytest
from enumerations import Enumeration
from numpy.typing import NDArray
from scipy.special import gammaln

from splitmerge_cli.core.rng import Rng
from splitmerge_cli.kinds.documents.hdp import HDP
from splitmerge_cli.kinds.documents.smag import SMAG
from splitmerge_cli.kinds.networks.irm import IRM
from splitmerge_cli.kinds.tables.models.bernoulli import Bernoulli
from splitmerge_cli.kinds.tokens.emm import EMM
from splitmerge_cli.papers.claims import published_claims
from splitmerge_cli.papers.sdds.exact import mean_K, mean_K_by_cap
from splitmerge_cli.samplers.refresh import Refresh
from splitmerge_cli.samplers.triadic import Triadic
from splitmerge_cli.verify import cases, transitions
from splitmerge_cli.verify.enumerate import normalise, partitions, state_of
from splitmerge_cli.verify.kernel import sampled_frequencies
from splitmerge_cli.verify.pieces import allocation_steps

Matrix = NDArray[np.float64]


def print_result(text: str) -> None:
    """Prints a result on a line of its own, whatever pytest has printed before it."""
    print(f"\n{text}")


# ---- Wang & Russell 2015


def marginal(tokens: list[int], vocabulary: int, alpha: float) -> float:
    """g of an entity: the marginal likelihood of its mentions."""
    n = np.bincount(tokens, minlength=vocabulary)
    log_g = gammaln(vocabulary * alpha) - gammaln(vocabulary * alpha + n.sum())
    return exp(log_g + (gammaln(alpha + n) - gammaln(alpha)).sum())


def gibbs_distance(tokens: list[int], vocabulary: int, alpha: float, with_itself: bool) -> float:
    """Total variation between the distribution of Algorithm 1 with two entities and the posterior."""
    states = list(product(range(2), repeat=len(tokens)))
    scan = np.eye(len(states))
    for n, token in enumerate(tokens):
        update = np.zeros_like(scan)
        for s, state in enumerate(states):
            others = [m for m in range(len(tokens)) if with_itself or m != n]
            inside = [[tokens[m] for m in others if state[m] == k] for k in range(2)]
            weights = [(alpha + part.count(token)) / (vocabulary * alpha + len(part)) for part in inside]
            for k in range(2):
                update[s, states.index((*state[:n], k, *state[n + 1 :]))] += weights[k] / sum(weights)
        scan = scan @ update
    g = [
        [marginal([t for t, c in zip(tokens, z, strict=True) if c == k], vocabulary, alpha) for k in (0, 1)]
        for z in states
    ]
    return transitions.total_variation(transitions.stationary_distribution(scan), normalise(np.log(g).sum(axis=1)))


def test_gibbs_counts_with_the_mention_itself() -> None:
    """Algorithm 1 of Wang & Russell 2015 with counts n_kl as the text has them: of all mentions."""
    assert gibbs_distance([2, 1, 1, 0], 3, 0.5, with_itself=False) < 1e-12
    found = {alpha: gibbs_distance([2, 1, 1, 0], 3, alpha, with_itself=True) for alpha in (0.5, 0.001)}
    print_result("; ".join(f"alpha {alpha}: total variation {distance:.3f}" for alpha, distance in found.items()))
    assert found == pytest.approx({0.5: 0.024, 0.001: 0.086}, abs=5e-4)


@pytest.mark.parametrize(
    ("tokens", "alpha", "distance"),
    [([0, 0, 1, 1, 2, 2], 1.0, 0.044), ([0, 0, 1, 1, 2, 2], 0.001, 0.332), ([0, 0, 1, 1], 0.001, 0.249)],
    ids=["AABBCC-1", "AABBCC-0.001", "AABB-0.001"],
)
def test_sequential_split_is_no_exact_sample(tokens: list[int], alpha: float, distance: float) -> None:
    """Section 1 of Wang & Russell 2015: the compiled allocation against the posterior over all splits."""
    model = EMM(np.array(tokens, np.int32), n_tokens=3, alpha=alpha, kmax=4, mu=1.0, sigma=1.0)
    splits = [list(sides) for sides in product((0, 1), repeat=len(tokens))]
    allocated = np.array([np.prod(allocation_steps(model, list(range(len(tokens))), sides)) for sides in splits])
    parts = [[[t for t, s in zip(tokens, sides, strict=True) if s == k] for k in (0, 1)] for sides in splits]
    exact = normalise([sum(log(marginal(part, 3, alpha)) for part in pair) for pair in parts])
    found = transitions.total_variation(allocated, exact)
    print_result(f"{len(tokens)} mentions, alpha {alpha}: total variation {found:.3f}")
    assert allocated.sum() == pytest.approx(1.0) and found == pytest.approx(distance, abs=6e-4)


@pytest.mark.slow
def test_mean_of_K_without_a_largest_K() -> None:
    """Section 5.1 of Wang & Russell 2015, "the correct posterior K=10": at its concentration, which names no cap."""
    for mu, expected in ((0.5, [47.0, 26.0, 10.5]), (log(10), [139.4, 195.3, 129.2])):
        means = [mean_K_by_cap(N, mu)[-1] for N in (100, 200, 500)]
        print_result(f"location {mu:.3g}, no largest K: E[K] {', '.join(f'{mean:.1f}' for mean in means)}")
        assert means == pytest.approx(expected, abs=0.06)
    by_cap = mean_K_by_cap(500, log(10))
    assert by_cap[:-1] == pytest.approx([11.3, 14.9, 45.5, 111.3, 126.6], abs=0.05)
    # it has converged, and the sum that the figure draws is its limit
    assert mean_K_by_cap(500, log(10), caps=[20_000]) == pytest.approx(by_cap[-1:], abs=0.01)
    limit = mean_K(100, 10, 10, 100, log(10), 1.0)
    assert mean_K_by_cap(100, log(10), alpha=1e-9, caps=[100]) == pytest.approx([limit], abs=1e-4)


# ---- Herlau et al. 2014

EDGES = {(0, 1), (0, 2), (0, 3), (2, 3)}
FOUR = list(partitions(4))


def relational(inside: bool) -> Matrix:
    """Posterior of the partitions on the paper's network, with the pairs inside blocks or without."""
    weights = []
    for z in FOUR:
        sizes = np.bincount(z)
        total = gammaln(sizes).sum()
        for k, m in combinations(range(len(sizes) + 1), 2) if inside else combinations(range(len(sizes)), 2):
            blocks = {k, m - 1} if inside else {k, m}
            pairs = [pair for pair in combinations(range(4), 2) if {z[pair[0]], z[pair[1]]} == blocks]
            edges = sum(pair in EDGES for pair in pairs)
            total += gammaln(edges + 1) + gammaln(len(pairs) - edges + 1) - gammaln(len(pairs) + 2)
        weights.append(total)
    return normalise(weights)


def test_likelihood_without_the_pairs_inside_blocks() -> None:
    """Section 3.2 of Herlau et al. 2014: the sum over k < k'."""
    exact = relational(inside=True)
    np.testing.assert_allclose(exact, cases.small_case(IRM, 4, 0).pi, atol=1e-12)
    found = transitions.total_variation(relational(inside=False), exact)
    print_result(f"{len(FOUR)} partitions; total variation {found:.3f}")
    assert found == pytest.approx(0.633, abs=5e-4)


def updates(offers: int) -> list[Matrix]:
    """Gibbs updates of each node, the block of a node that is alone offered so often."""
    exact, found = cases.small_case(IRM, 4, 0).pi, []
    for i in range(4):
        P = np.zeros((15, 15))
        for s, z in enumerate(FOUR):
            options = [*dict.fromkeys(k for m, k in enumerate(z) if m != i), 9]
            ends = [FOUR.index(state_of([*z[:i], k, *z[i + 1 :]], 0)[0]) for k in options]
            weights = exact[ends] * np.where(np.array(options) == 9, offers if z.count(z[i]) == 1 else 1, 1)
            P[s, ends] = weights / weights.sum()
        found.append(P)
    return found


def test_a_block_of_its_own_offered_twice() -> None:
    """Equation 7 of Herlau et al. 2014: I = z and the empty set, where z holds the block of the node itself."""
    exact = cases.small_case(IRM, 4, 0).pi
    far = []
    for offers in (1, 2):
        each = updates(offers)
        kernels = np.linalg.multi_dot(each), np.mean(each, axis=0)
        far.append([transitions.total_variation(transitions.stationary_distribution(P), exact) for P in kernels])
    print_result(f"total variation {far[1][0]:.3f} (scan), {far[1][1]:.3f} (random node)")
    assert max(far[0]) < 1e-12 and far[1] == pytest.approx([0.081, 0.086], abs=5e-4)


def test_gains_in_table_5() -> None:
    """Section 4 of Herlau et al. 2014 says "a factor 5-10" of NIPS and Hagmann, and "double" of bSM over SM."""
    rate = {(c.data, c.sampler): c.value for c in published_claims("arm-table5") if c.metric == "acceptance_percent"}
    names = list(dict.fromkeys(data for data, _ in rate))
    gains = {name: (rate[name, "arm"] / rate[name, "sarm"], rate[name, "bsm"] / rate[name, "sm"]) for name in names}
    for name, (blocks, history) in gains.items():
        print_result(f"{name}: ARM/sARM {blocks:.1f}, bSM/SM {history:.1f}")
    assert sorted(round(blocks, 1) for blocks, _ in gains.values()) == [8.1, 11.7, 12.6, 14.2]
    assert sorted(round(history, 1) for _, history in gains.values()) == [2.1, 2.6, 2.8, 3.6]


# ---- Luo & Shrivastava 2018


def test_printed_probability_of_a_split_exceeds_one() -> None:
    """Equation 3 beside the probability that a query -u of one group finds an item of the other, v drawn from S."""
    rng, bits, count = np.random.default_rng(0), 10, 40
    x = np.concatenate([rng.normal(3, 1, (count, 5)), rng.normal(-3, 1, (count, 5))])
    x -= x.mean(axis=0)
    codes = np.einsum("tbd,nd->ntb", np.random.default_rng(0).normal(size=(10, bits, 5)), x) > 0
    cosine = x @ x.T / np.outer(np.linalg.norm(x, axis=1), np.linalg.norm(x, axis=1))
    once = 1 - (1 - (1 - np.arccos(np.clip(-cosine, -1, 1)) / pi) ** bits) ** 10
    printed = drawn = 0.0
    for u in range(2 * count):
        found = (codes == ~codes[u]).all(axis=2).any(axis=1)
        found[u] = False
        other = np.arange(2 * count) // count != u // count
        share = found[other].sum() / found.sum()
        drawn += share / (2 * count)
        # as printed u is of C_u alone
        printed += once[u, other].sum() * share / (2 * count) if u < count else 0.0
    print_result(f"equation 3: {printed:.1f}; probability: {drawn:.2f}")
    assert drawn <= 1 and printed == pytest.approx(18.5, abs=0.05)


def test_times_printed_are_not_five_times_faster() -> None:
    """Section 4.3.1 and Figure 3 of Luo & Shrivastava 2018: the second best over LSHSM."""
    times = {(c.data, c.sampler): c.value for c in published_claims("lshsm-fig3") if c.metric == "time_to_converge"}
    ratios = [
        min(times[name, "sdds"], times[name, "rgsm"]) / times[name, "lshsm"] for name in ("KDDCUP04Bio", "PubMed")
    ]
    print_result(f"KDDCUP04Bio {ratios[0]:.1f} times, PubMed {ratios[1]:.1f} times")
    assert ratios == pytest.approx([3.6, 3.3], abs=0.05)


# ---- Rana et al. 2013


def test_second_word_of_a_document_given_the_first() -> None:
    """Section 3.3 of Rana et al. 2013: H_ji of the words with j' < j and i' < i has none of the same document."""
    joint = []
    for second in range(3):
        model = HDP(np.array([0, second], np.int32), [0, 2], 3, gamma=1.0, alpha0=1.0, eta=0.4)
        model.set_labels(np.array([0, 0]), None)
        model.set_parameters([log(0.5), log(0.5), 1.0, 1.0])
        joint.append(model.log_joint())
    again = float(normalise(joint)[0])
    print_result(f"the same word again {again:.3f}, as printed {1 / 3:.3f}, ratio {again * 3:.2f}")
    assert again == pytest.approx(1.4 / 2.2) and again * 3 == pytest.approx(1.91, abs=0.005)


# ---- van Rossum et al. 2018


@pytest.mark.parametrize(("term", "distance"), [("branch", 0.053), ("dropped", 0.104)])
def test_triadic_without_a_factor(term: str, distance: float) -> None:
    """beta of equation 12, which lines 11 and 13 do not reach; the factor 3/2 or 2/3 of the item that is dropped."""
    case = cases.small_case(Bernoulli, 4, 0)
    kernel = Enumeration(case, Triadic(case.model, Rng(0), beta=0.1, allocation="sams"))
    exact, without = (transitions.stationary_distribution(kernel.proposals.matrix(omit=omit)) for omit in ([], [term]))
    found = transitions.total_variation(without, case.pi)
    print_result(f"without {term}: total variation {found:.3f}")
    assert transitions.total_variation(exact, case.pi) < 1e-12 and found == pytest.approx(distance, abs=6e-4)


def test_purity_of_table_1() -> None:
    """Figure 3's caption says that all three metrics rise from left to right."""
    purity = {c.sampler: c.value for c in published_claims("triadic-table1") if c.metric == "purity"}
    print_result(f"purity {purity['neal8']} above {purity['triadic']}")
    assert purity["neal8"] - purity["triadic"] == pytest.approx(0.0083)


@pytest.mark.parametrize("hyper", [(1.6, 0.9), (0.3, 6.0)], ids=["gamma-large", "alpha0-large"])
def test_split_of_a_topic_without_its_choices(hyper: tuple[float, float]) -> None:
    """Section 3.3, Rana et al. 2013: q = 1, not the probability that selects topics and words; five tokens."""
    case = cases.small_case(HDP, 5, 0, {"gamma": hyper[0], "alpha0": hyper[1]})
    far = []
    for omitted in ([], ["anchors"]):
        rng = Rng(0)
        move = SMAG(case.model, rng, choice="coin")
        move.omit(*omitted)
        frequencies, noise = sampled_frequencies(case, [move, Refresh(case.model, rng)], rng, 40_000)
        far.append(transitions.total_variation(frequencies, case.pi))
    print_result(
        f"gamma {hyper[0]}, alpha0 {hyper[1]}: total variation {far[1]:.2f}, exact {far[0]:.2f}, noise {noise:.2f}"
    )
    assert far[0] < 3 * noise and far[1] > 4 * noise
