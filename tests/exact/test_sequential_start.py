"""The sequential start: its distribution against products of each item's probability given those before it."""

from collections import defaultdict
from itertools import permutations

import numpy as np
import pytest
from compiled import pieces
from scipy.special import logsumexp, roots_jacobi
from small_cases import MODELS, NETWORK

from splitmerge_cli.core.rng import Rng
from splitmerge_cli.kinds.documents.generated import synthetic_documents
from splitmerge_cli.kinds.documents.hdp import HDP
from splitmerge_cli.kinds.lines.model import Lines
from splitmerge_cli.kinds.networks.irm import IRM
from splitmerge_cli.kinds.tables.models.bernoulli import Bernoulli
from splitmerge_cli.kinds.tables.models.gaussian import Gaussian
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.refresh import Refresh

POINTS = np.array([[0.1, -0.4], [2.3, 1.9], [-0.2, 0.3], [2.0, 2.6]])
ROWS = np.array([[0, 1, 1], [1, 1, 0], [0, 0, 1], [0, 1, 1]], dtype=np.uint8)
GRAPH = NETWORK[:4, :4] | NETWORK[:4, :4].T | np.eye(4, k=1, dtype=bool) | np.eye(4, k=-1, dtype=bool)
NORMAL = {"concentration": 0.8, "m0": 0.5, "kappa0": 0.3, "a0": 1.5, "b0": 0.7}
# of the items of these numbers alone
PARTS = {
    "bernoulli": lambda items: Bernoulli(ROWS[items], concentration=1.7, beta1=0.4, beta0=0.7),
    "gaussian": lambda items: Gaussian(POINTS[items], **NORMAL),
    "gaussian-full": lambda items: Gaussian(POINTS[items], covariance="full", **NORMAL),
    "irm": lambda items: IRM(GRAPH[np.ix_(items, items)].astype(np.uint8), concentration=1.4, beta1=0.6, beta0=1.7),
    "lines": lambda items: Lines(POINTS[items], concentration=1.2, sigma0=3.0, sigma1=0.7),
}


def growth_strings(n):
    """Partitions of n items, numbers of clusters by first item."""
    found = [()]
    for _ in range(n):
        found = [(*each, k) for each in found for k in range(max(each, default=-1) + 2)]
    return found


def canonical(labels):
    seen = {}
    return tuple(seen.setdefault(k, len(seen)) for k in labels)


def expected_distribution(build, n):
    """By partition: the mean over orders of the product of P(item | those before), each a quotient of joint
    densities of the items so far, over their partitions."""
    distribution = defaultdict(float)
    for order in permutations(range(n)):
        log_joint = {}
        for t in range(1, n + 1):
            model = build(list(order[:t]))
            for labels in growth_strings(t):
                model.set_labels(np.array(labels))
                log_joint[labels] = model.log_joint()
        for labels in growth_strings(n):
            log_p = 0.0
            for t in range(1, n):
                here = labels[:t]
                options = [log_joint[(*here, k)] for k in range(max(here) + 2)]
                log_p += options[labels[t]] - logsumexp(options)
            found = np.empty(n, dtype=int)
            found[list(order)] = labels
            distribution[canonical(found)] += np.exp(log_p) / 24.0
    return distribution


@pytest.mark.parametrize("name", PARTS)
def test_distribution(name):
    model, rng, distribution = PARTS[name]([0, 1, 2, 3]), Rng(0), defaultdict(float)
    rng.script_start()
    while True:
        rng.script_begin()
        model.start_sequentially(rng)
        distribution[canonical(model.labels)] += rng.script_probability()
        if not rng.script_next():
            break
    expected = expected_distribution(PARTS[name], 4)
    assert sum(distribution.values()) == pytest.approx(1.0, abs=1e-12)
    assert distribution == pytest.approx(expected, rel=1e-9)


def test_distribution_after_given_items():
    """Items 1 and 3 stand in one cluster, and the others follow: given these two they are as of the joint densities."""
    model, rng, distribution = PARTS["gaussian"]([0, 1, 2, 3]), Rng(0), defaultdict(float)
    rng.script_start()
    while True:
        rng.script_begin()
        model.start_from(rng, [1, 3], [0, 0])
        distribution[canonical(model.labels)] += rng.script_probability()
        if not rng.script_next():
            break
    expected = defaultdict(float)
    for first, second in ((0, 2), (2, 0)):
        few, all_items = PARTS["gaussian"]([1, 3, first]), PARTS["gaussian"]([1, 3, first, second])
        joint = {}
        for labels in ((0, 0, 0), (0, 0, 1)):
            few.set_labels(np.array(labels))
            joint[labels] = few.log_joint()
        for labels in joint:
            options = {}
            for k in range(max(labels) + 2):
                all_items.set_labels(np.array([*labels, k]))
                options[k] = all_items.log_joint()
            for k, value in options.items():
                found = np.empty(4, dtype=int)
                found[[1, 3, first, second]] = [*labels, k]
                log_p = joint[labels] - logsumexp(list(joint.values())) + value - logsumexp(list(options.values()))
                expected[canonical(found)] += np.exp(log_p) / 2
    assert distribution == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", [name for name in MODELS if name != "emm"])
def test_state(name):
    """Statistics, lists and weights are those of the labels; a second start forgets the first."""
    model, again = MODELS[name](), MODELS[name]()
    model.set_labels(np.arange(60) % 11)
    for seed in (1, 2):
        model.start_sequentially(Rng(seed))
        again.set_labels(model.labels)
        # where tables stay what they were, one cluster may be all that they allow
        assert model.K == again.K and (model.K > 1 or name == "overdispersed_multinomial")
        assert model.log_joint() == pytest.approx(again.log_joint(), rel=1e-10)
        np.testing.assert_array_equal(model.sizes, again.sizes)
        for i in range(0, 60, 7):
            found, expected = pieces.scan(model, i), pieces.scan(again, i)
            np.testing.assert_allclose(found / found.sum(), expected / expected.sum(), rtol=1e-8, atol=1e-12)
        np.testing.assert_array_equal(pieces.list_members(model, 0, 1), pieces.list_members(again, 0, 1))
    first = model.labels
    again.start_sequentially(Rng(2))
    np.testing.assert_array_equal(again.labels, first)


def test_what_cannot_start_so():
    uncollapsed = Lines(POINTS, conjugate=False)
    with pytest.raises(ValueError, match="does not integrate out"):
        uncollapsed.start_sequentially(Rng(1))
    with pytest.raises(ValueError, match="does not integrate out"):
        uncollapsed.start_from(Rng(1), [0], [0])
    with pytest.raises(ValueError, match="kmax"):
        MODELS["emm"]().start_sequentially(Rng(1), MODELS["emm"]().kmax + 1)
    for items, labels, said in (([0, 0], [0, 1], "different ones"), ([9], [0], "0 to 3"), ([1], [1], "each with")):
        with pytest.raises(ValueError, match=said):
            Lines(POINTS).start_from(Rng(1), items, labels)
    with pytest.raises(ValueError, match="K0=3: clusters are opened as items come"):
        MODELS["gaussian"]().start_sequentially(Rng(1), 3)
    for K0 in (0, 5):
        with pytest.raises(ValueError, match=f"K0={K0}: expected 1 to 4, the number of tokens"):
            HDP([0, 1, 1, 0], [0, 2, 4], 2).start_sequentially(Rng(1), K0)


# ---- topics: documents that are placed, given tokens that are

WORDS, STARTS = np.array([0, 1, 1, 2, 0, 1, 2, 2]), np.array([0, 2, 5, 7, 8])
KNOWN = np.array([-1, -1, 0, 0, 1, -1, -1, 1])
WEIGHTS = np.array([0.5, 0.2, 0.3])


def placing_distribution(V, gamma, alpha0, eta, documents):
    """By labels: equation 8 of one token after the other; the share of a new topic, Beta(1, gamma), by quadrature."""
    nodes, of_node = roots_jacobi(6, gamma - 1.0, 0.0)
    shares, of_node = (1.0 + nodes) / 2.0, of_node / of_node.sum()
    tokens = [(i, j) for j in documents for i in range(STARTS[j], STARTS[j + 1])]
    distribution = defaultdict(float)

    def place(at, z, weights, p):
        if at == len(tokens):
            distribution[tuple(z[i] for i in range(len(WORDS)))] += p
            return
        (i, j), K = tokens[at], len(weights) - 1
        here = np.bincount([z[e] for e in z if STARTS[j] <= e < STARTS[j + 1]], minlength=K)
        size = np.bincount(list(z.values()), minlength=K)
        same = np.bincount([z[e] for e in z if WORDS[e] == WORDS[i]], minlength=K)
        w = (alpha0 * weights[:-1] + here) * (eta + same) / (V * eta + size)
        w = np.append(w, alpha0 * weights[-1] / V)
        w *= p / w.sum()
        for k in range(K):
            place(at + 1, z | {i: k}, weights, w[k])
        for b, q in zip(shares, of_node, strict=True):
            place(at + 1, z | {i: K}, np.append(weights[:-1], weights[-1] * np.array([b, 1 - b])), w[K] * q)

    place(0, {i: k for i, k in enumerate(KNOWN) if k >= 0}, WEIGHTS, 1.0)
    return distribution


# of few words all topics are weighed; of many, lists are gone through
@pytest.mark.parametrize("V", [3, 90])
@pytest.mark.parametrize(("gamma", "alpha0", "eta"), [(1.6, 0.9, 0.3), (0.7, 6.0, 1.1)])
def test_placing(V, gamma, alpha0, eta):
    documents, tries = np.array([2, 0], dtype=np.int32), 100_000
    distribution = placing_distribution(V, gamma, alpha0, eta, documents)
    assert sum(distribution.values()) == pytest.approx(1.0, abs=1e-12)
    model, rng, found = HDP(WORDS, STARTS, V, gamma=gamma, alpha0=alpha0, eta=eta), Rng(3), defaultdict(int)
    parameters = np.append(np.log(WEIGHTS), [gamma, alpha0])
    for _ in range(tries):
        model._place(rng, KNOWN.astype(np.int32), parameters, documents)
        found[tuple(model.labels)] += 1
    assert set(found) <= set(distribution)
    for labels, p in distribution.items():
        assert abs(found[labels] / tries - p) < 4.5 * np.sqrt(p * (1 - p) / tries) + 2 / tries, labels


@pytest.mark.parametrize("V", [40, 4000])
@pytest.mark.parametrize("settled", [100, 5000])
@pytest.mark.parametrize("random", [False, True], ids=["fixed", "random"])
def test_state_of_topics(V, settled, random):
    """Counts are those of the labels, weights sum to 1; a scan goes on from it. From a sample of samples, or all."""
    generator = np.random.default_rng(2)
    lengths = generator.multinomial(3000, np.full(120, 1 / 120))
    lengths[3] += lengths[[5, 119]].sum()
    lengths[[5, 119]] = 0
    words = generator.integers(10, size=3000) + 10 * np.repeat(generator.integers(4, size=120), lengths)
    options = {"eta": 0.1} | ({} if random else {"gamma": 2.0, "alpha0": 1.0})
    model, again = (HDP(words, np.append(0, np.cumsum(lengths)), V, **options) for _ in range(2))
    model.start_sequentially(Rng(4), settled=settled)
    again.set_labels(model.labels)
    assert model.K == again.K > 1
    assert np.exp(model.log_weights).sum() == pytest.approx(1.0)
    np.testing.assert_array_equal(model.word_topics().toarray(), again.word_topics().toarray())
    again.set_parameters(model.parameters)
    assert model.log_joint() == pytest.approx(again.log_joint(), rel=1e-12)
    for each in (model, again):
        Gibbs(each, Rng(5)).step()
    np.testing.assert_array_equal(model.labels, again.labels)


@pytest.mark.parametrize(("settled", "scans"), [(64, 150), (63, 50), (15, 16), (3, 5)])
def test_scans_after_a_sample(settled, scans):
    """A random start takes 150 scans; a start from a sample of a quarter takes a third of the sample's."""
    model = HDP(np.arange(64) % 2, np.arange(65), 2)
    assert model._settle(Rng(1), 2, settled) == scans


@pytest.mark.parametrize("lengths", [[3], [0, 7, 0], [0, 1, 0, 1], [1, 1, 1, 9]])
def test_few_documents(lengths):
    n = sum(lengths)
    model = HDP(np.arange(n) % 2, np.append(0, np.cumsum(lengths)), 2)
    model.start_sequentially(Rng(1), settled=1)
    assert model.sizes.sum() == n and (model.sizes > 0).all()


def test_topics_are_found():
    """A start from a sample finds 20 true topics better than the same scans from topics at random."""
    data = synthetic_documents(400, length=60, topics=20, words=500, eta=0.05, alpha0=0.5, seed=3)
    log_joint = {}
    for name in ("sequential", "random"):
        model, rng = HDP.from_data(data, gamma=1.0, alpha0=0.5, eta=0.05), Rng(1)
        if name == "sequential":
            model.start_sequentially(rng, 40, settled=7_000)
        else:
            model.set_labels(np.random.default_rng(1).integers(40, size=model.N))
        model.start_parameters(rng)
        samplers = Gibbs(model, rng), Refresh(model, rng)
        for _ in range(3):
            for sampler in samplers:
                sampler.step()
        log_joint[name] = model.log_joint()
    assert log_joint["sequential"] > log_joint["random"] + 1000
