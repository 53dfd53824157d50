"""The reference samplers of Rana et al. 2013 leave their target invariant. States hold weights, so the balance is one
of densities: entry by entry at points of the simplex, and by quadrature over it; what Algorithm 1 leaves out
(docs/derivations-topics.md).
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from enumerated import ScriptedStream, partitions
from plain import Cluster, theta_of
from plain_topics import HDP, Topics, TopicStream, log_rising
from reference_smag import SMAG, Gibbs, Refresh, TopicRGSM, TopicSDDS, TopicSS
from scipy import stats
from scipy.special import gammaln, roots_genlaguerre, roots_jacobi

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


# ---- p(z), and the density of z with the weights


def chinese_restaurant_franchise(model):
    """p(partition) by seating: every document's tokens at tables, then all tables at dishes, no formula between."""
    seatings = [{(): 1.0}]
    for j in range(model.J):
        tokens = [i for i in range(model.N) if model.docs[i] == j]
        seatings.append(crp([(i,) for i in tokens], model.alpha0))
    law: dict[tuple, float] = {}
    for chosen in itertools.product(*(s.items() for s in seatings)):
        tables = [table for seating, _ in chosen for table in seating]
        p = math.prod(q for _, q in chosen)
        for dishes, q in crp(tables, model.gamma).items():
            law[tuple(sorted(dishes))] = law.get(tuple(sorted(dishes)), 0.0) + p * q
    return law


def crp(units, concentration):
    """Probabilities of all partitions of units, each a tuple of tokens, one seated after the other."""
    law = {(): 1.0}
    for n, unit in enumerate(units):
        after: dict[tuple, float] = {}
        for tables, p in law.items():
            sizes = [sum(set(u) <= set(t) for u in units[:n]) for t in tables]
            for k, size in enumerate(sizes):
                joined = (*tables[:k], tuple(sorted(tables[k] + unit)), *tables[k + 1 :])
                after[joined] = after.get(joined, 0.0) + p * size / (n + concentration)
            after[*tables, unit] = p * concentration / (n + concentration)
        law = after
    return law


@pytest.mark.parametrize("docs", [DOCS, [0, 1, 0, 1, 2, 2], [0, 0, 0, 0, 1, 1]], ids=str)
def test_probability_of_a_partition_is_that_of_the_franchise(docs):
    model = corpus(6, docs=docs)
    seated, total = chinese_restaurant_franchise(model), 0.0
    for labels in partitions(6):
        clusters = blocks(labels)
        log_prior = model.log_p(clusters) - sum(map(model.log_g, clusters))
        assert math.exp(log_prior) == pytest.approx(seated[tuple(sorted(map(tuple, clusters)))], rel=1e-11)
        total += math.exp(log_prior)
    assert total == pytest.approx(1.0, abs=1e-12)


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


@pytest.mark.parametrize("gamma", [0.3, 1.6])
def test_weights_integrate_to_the_probability_of_the_partition(gamma):
    model = corpus(5, gamma)
    for labels in partitions(5):
        K = max(labels) + 1
        if K > 3:
            continue
        total = 0.0
        for weights, w in simplex(K, gamma, 5):
            state = Topics(model, labels, weights)
            total += w * math.exp(state.log_joint() - (gamma - 1) * state.log_unseen)
        assert total == pytest.approx(math.exp(model.log_p(state.clusters)), rel=1e-10)


def test_joint_density_with_the_unseen_weight():
    model = corpus(4)
    for labels in partitions(4):
        clusters = blocks(labels)
        t, w = roots_jacobi(8, model.gamma - 1, 0.0)
        unseen = (1 - t) / 2
        densities = [math.exp(model.log_p(clusters, math.log(x)) - (model.gamma - 1) * math.log(x)) for x in unseen]
        assert w @ densities / 2**model.gamma == pytest.approx(math.exp(model.log_p(clusters)), rel=1e-10)


def test_words_of_a_topic_multiply():
    model, order = corpus(6), [2, 0, 5, 3, 1]
    assert sum(model.log_predictive(i, order[:t]) for t, i in enumerate(order)) == pytest.approx(model.log_g(order))
    assert model.log_predictive(0, []) == pytest.approx(-math.log(3))


def test_rising_factorial_of_what_underflows():
    assert log_rising(math.log(0.7), 3) == pytest.approx(math.log(0.7 * 1.7 * 2.7))
    assert log_rising(-2000.0, 4) == pytest.approx(-2000.0 + math.log(6))
    assert log_rising(-2000.0, 0) == 0.0


# ---- Continuous draws, scripted: a path's probability has their density in it


class PointStream(ScriptedStream):
    """Continuous draws take one of the values given, each a pair (value, weight): a path's probability has the density
    there times the weight in it. `fits`: the global weights that may be drawn."""

    def __init__(self, shares=((0.5, 1.0),), sticks=((0.5, 1.0),), fits=()) -> None:
        super().__init__()
        self.shares, self.sticks, self.fits, self.grows = shares, sticks, fits, None

    def beta(self, a, b):
        norm = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b))
        return self.shares[self.choose([w * norm * u ** (a - 1) * (1 - u) ** (b - 1) for u, w in self.shares])][0]

    def log_stick(self, gamma):
        b = self.sticks[self.choose([w * gamma * (1 - b) ** (gamma - 1) for b, w in self.sticks])][0]
        return math.log(b), math.log1p(-b)

    def log_dirichlet(self, tables, gamma):
        shapes, fits = np.array([*tables, gamma]), [fit for fit in self.fits if len(fit[0]) == len(tables) + 1]
        norm = gammaln(shapes.sum()) - gammaln(shapes).sum()
        chosen = self.choose([w * math.exp(norm + float((shapes - 1) @ np.log(beta))) for beta, w in fits])
        return [math.log(x) for x in fits[chosen][0]]

    def accept(self, log_r):
        """`grows` is set: weigh a split by r and a merge by 1, which balances where min(1, r) does, and has no kink."""
        return super().accept(log_r) if self.grows is None else self.coin(math.exp(log_r) if self.grows else 1.0)


def copied(state):
    twin = Topics(state.model, [0], [0.5, 0.5])
    twin.clusters = [Cluster(t, theta_of(t)) for t in state.clusters]
    twin.log_unseen = state.log_unseen
    return twin


def walks(make_ref, state, stream, act=lambda ref: ref.step()):
    """Every end of a kernel from a state, with its probability, or density."""
    for _ in stream.paths():
        end = copied(state)
        act(make_ref(end, stream))
        yield end, stream.probability


def flows(make_ref, state, stream, act=lambda ref: ref.step()):
    """{state without numbering: [a state, density of getting there]}."""
    flow: dict[tuple, list] = {}
    for end, p in walks(make_ref, state, stream, act):
        flow.setdefault(key(end), [end, 0.0])[1] += p
    return flow


# ---- Split-merge, alone

KINDS = list(itertools.product(("pair", "coin"), ("before", "after")))


def build(choice="pair", weights="before", ref=SMAG, **options):
    return lambda state, stream: ref(state, stream, choice=choice, weights=weights, **options)


def split_imbalances(make_ref, model):
    """Of every split between points: log of the flow there less log of the flow back, volumes counted."""
    for x in points(model):
        for y, there in flows(make_ref, x, PointStream(shares=[(0.3, 1.0), (0.7, 1.0)])).values():
            if y.K != x.K + 1:
                continue
            back = flows(make_ref, y, PointStream())
            (parted,) = (t for t in x.clusters if not any(list(t) == list(s) for s in y.clusters))
            back_to_x = back.get(key(x), [None, 0.0])[1]
            yield x.log_joint() + math.log(there) - y.log_joint() - parted.theta - math.log(back_to_x or 1e-300)


@pytest.mark.parametrize(("choice", "weights"), KINDS)
def test_splits_balance_merges(choice, weights):
    found = list(split_imbalances(build(choice, weights, p=1.7), corpus(4)))
    assert len(found) == 62  # 31 pairs of partitions, two shares each
    np.testing.assert_allclose(found, 0, atol=1e-9)


@pytest.mark.parametrize("weights", ["before", "after"])
@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_share_that_is_nothing_is_no_split(weights, share):
    class Rounded(TopicStream):
        def beta(self, a, b):
            return share

    state = Topics(corpus(4), [0, 0, 0, 0], [0.4, 0.6])
    ref = build("pair", weights)(state, Rounded(0))
    ref.step()
    assert (state.K, ref.null, ref.accepted) == (1, 1, 0)


GENERIC = {
    "ssdm": (TopicSDDS, {"kernel": "ssdm"}),
    "smds": (TopicSDDS, {"kernel": "smds"}),
    "ss": (TopicSS, {}),
    "rgsm-0": (TopicRGSM, {"t": 0}),
    "rgsm-1": (TopicRGSM, {"t": 1}),
}


@pytest.mark.parametrize("name", GENERIC)
def test_split_merge_of_mixtures_works_on_topics(name):
    """With u and its density, nothing else is changed but the target."""
    ref, options = GENERIC[name]

    class Sharp(ref):
        p = 1.7

    found = list(split_imbalances(lambda state, stream: Sharp(state, stream, **options), corpus(4)))
    assert len(found) == 62
    np.testing.assert_allclose(found, 0, atol=1e-9)


def test_volume_of_a_split():
    """What the reference does to (beta_k, u), differentiated."""

    def divided(beta_k, u):
        state = Topics(corpus(2), [0, 0], [beta_k, 1 - beta_k])
        ends = [end for end, _ in walks(build(), state, PointStream(shares=[(u, 1.0)])) if end.K == 2]
        return np.exp([ends[0].clusters[k].theta for k in sorted(range(2), key=lambda k: ends[0].clusters[k])])

    at, h = np.array([0.55, 0.3]), 1e-6
    columns = [(divided(*(at + h * e)) - divided(*(at - h * e))) / (2 * h) for e in np.eye(2)]
    assert abs(np.linalg.det(np.array(columns))) == pytest.approx(0.55, rel=1e-6)


# ---- Gibbs

ORDERS = ("topics", "buckets")


def gibbs(order="topics", ref=Gibbs, **options):
    return lambda state, stream: ref(state, stream, order=order, **options)


def update_imbalances(make_ref, model):
    """Of every update of one token: log of the flow there less log of the flow back, volumes counted."""
    for x in points(model):
        for i in range(model.N):
            alone = [i] in [list(t) for t in x.clusters]
            for y, there in flows(make_ref, x, PointStream(), lambda ref, i=i: ref.update(i)).values():
                if key(x) == key(y):
                    continue
                # what the token's new topic takes of beta_u: for the way back too, if it was alone
                b = min(math.exp(x.clusters[x.cluster_of(i)].theta - y.log_unseen), 0.99) if alone else 0.5
                back = flows(make_ref, y, PointStream(sticks=[(b, 1.0)]), lambda ref, i=i: ref.update(i))
                back_to_x = back.get(key(x), [None, 0.0])[1]
                found = x.log_joint() + math.log(there) - y.log_joint() - math.log(back_to_x or 1e-300)
                created = [i] in [list(t) for t in y.clusters]
                yield found - created * x.log_unseen + alone * y.log_unseen


@pytest.mark.parametrize("order", ORDERS)
def test_one_token_is_in_balance(order):
    found = list(update_imbalances(gibbs(order), corpus(5)))
    assert len(found) > 700
    np.testing.assert_allclose(found, 0, atol=1e-9)


def test_buckets_are_the_same_weights():
    for x in points(corpus(6)):
        for i in range(6):
            topics = [Cluster([m for m in t if m != i], t.theta) for t in x.clusters]
            ref, sums = Gibbs(x, None), [0.0] * (x.K + 1)
            for k, weight in ref.buckets(i, topics):
                sums[k] += weight
            np.testing.assert_allclose(sums, [weight for _, weight in ref.options(i, topics)], rtol=1e-13)


# ---- Both, over the whole simplex: no volume is put in by hand


def rule(n, a, b, density):
    """Nodes u in (0, 1) and weights, exact for a polynomial times u^a (1 - u)^b, the density that the stream counts."""
    t, w = roots_jacobi(n, b, a)
    nodes = (t + 1) / 2
    return list(zip(nodes, w / 2 ** (a + b + 1) / density(nodes), strict=True))


def integrals(model, n, kernel):
    """Of moments of the weights over every partition: of the target, and of what the kernel adds to it."""
    totals, changes = {}, {}
    for labels in partitions(model.N):
        for weights, w in simplex(max(labels) + 1, model.gamma, n):
            x = Topics(model, labels, weights)
            mass, z = w * math.exp(x.log_joint() - (model.gamma - 1) * x.log_unseen), partition_of(x)
            totals[z] = totals.get(z, 0.0) + mass * moments(x)
            for y, p in kernel(x):
                for end, flow in [(y, mass * p), (x, -mass * p)]:
                    changes[partition_of(end)] = changes.get(partition_of(end), 0.0) + flow * moments(end)
    return totals, changes


def partition_of(state):
    return tuple(sorted(map(tuple, state.clusters)))


def moments(state):
    with_0 = math.exp(state.clusters[state.cluster_of(0)].theta)
    unseen = math.exp(state.log_unseen)
    return np.array([1.0, unseen, with_0, with_0**2, unseen * with_0])


class Told(SMAG):
    """Tells the stream what it is asked to accept."""

    def decide(self, proposal, log_r):
        self.stream.grows = len(proposal) > self.state.K
        super().decide(proposal, log_r)


INTEGRATED = {
    "split-merge, pair": (build("pair", "before", Told, p=2.0), lambda ref: ref.step()),
    "split-merge, coin": (build("coin", "before", Told, p=1.0), lambda ref: ref.step()),
    "split-merge, weights after": (build("coin", "after", Told), lambda ref: ref.step()),
    "one token, second of its document": (gibbs(), lambda ref: ref.update(1)),
    "one token, alone in its document": (gibbs("buckets"), lambda ref: ref.update(2)),
}


def unrest(make_ref, act, n=4):
    """Largest relative change of a moment that a kernel makes to the target."""
    model = corpus(3, gamma=1.6, docs=[0, 0, 1])
    share = rule(n, 0, 0, lambda u: 1.0)
    stick = rule(n, 0, model.gamma - 1, lambda b: (1 - b) ** (model.gamma - 1))

    def kernel(x):
        return walks(make_ref, x, PointStream(shares=share, sticks=stick), act)

    totals, changes = integrals(model, n, kernel)
    return max(np.abs(changes[z] / totals[z]).max() for z in totals)


@pytest.mark.parametrize("name", INTEGRATED)
def test_kernel_leaves_the_target_as_it_is(name):
    """A split-merge adds up polynomials, which a few points integrate exactly; an update of a token does not."""
    assert unrest(*INTEGRATED[name], n=4) < 1e-13 if "split" in name else unrest(*INTEGRATED[name], n=8) < 1e-6


# ---- Equations 9 and 10


def refresh_imbalances(make_ref, model):
    """Between two points of the simplex, for every partition."""
    for s, x in enumerate(points(model)):
        y = Topics(model, x.labels, some_weights(x.K, seed=100 + s))
        there, back = (
            sum(p for _, p in walks(make_ref, a, PointStream(fits=[(weights_of(b), 1.0)]))) for a, b in ((x, y), (y, x))
        )
        yield x.log_joint() + math.log(there) - y.log_joint() - math.log(back)


def weights_of(state):
    return [*(math.exp(t.theta) for t in state.clusters), math.exp(state.log_unseen)]


def test_weights_are_in_balance_given_the_topics():
    found = list(refresh_imbalances(Refresh, corpus(6, docs=[0, 0, 0, 0, 1, 1])))
    assert len(found) == 203
    np.testing.assert_allclose(found, 0, atol=1e-9)


def test_coins_are_the_law_of_equation_9():
    """Stirling numbers of the first kind, summed over the documents of a topic."""
    model = corpus(6, docs=[0, 0, 0, 0, 1, 1])
    x, a = Topics(model, [0] * 6, [0.35, 0.65]), 0.35 * model.alpha0
    counts = np.zeros(7)
    stream = ScriptedStream()
    for _ in stream.paths():
        counts[Refresh(x, stream).tables_of(x.clusters[0])] += stream.probability
    s4, s2 = {1: 6, 2: 11, 3: 6, 4: 1}, {1: 1, 2: 1}
    expected = np.zeros(7)
    for (m, s), (k, t) in itertools.product(s4.items(), s2.items()):
        expected[m + k] += s * t * a ** (m + k)
    np.testing.assert_allclose(counts, expected / expected.sum(), atol=1e-14)


@pytest.mark.parametrize("gamma", [0.02, 1.6])
def test_drawn_weights_have_their_laws(gamma):
    """Kolmogorov and Smirnov, 2,000 draws of one seed each."""
    stream = TopicStream(5)
    drawn = [stream.log_dirichlet([2, 1, 4], gamma) for _ in range(2000)]
    np.testing.assert_allclose(np.logaddexp.reduce(drawn, axis=1), 0, atol=1e-12)
    for k, m in enumerate([2, 1, 4]):
        assert stats.kstest(np.exp([d[k] for d in drawn]), stats.beta(m, 7 - m + gamma).cdf).pvalue > 0.01
    # the law of -log beta_u where beta_u itself is nought as a double
    rest = [-d[-1] * gamma for d in drawn]
    assert stats.kstest(rest, lambda x: stats.beta(gamma, 7).sf(np.exp(-x / gamma))).pvalue > 0.01
    sticks = [stream.log_stick(gamma) for _ in range(2000)]
    assert stats.kstest([-rest * gamma for _, rest in sticks], stats.expon.cdf).pvalue > 0.01
    assert all(math.isfinite(log_b) for log_b, _ in sticks)
    np.testing.assert_allclose([np.logaddexp(*stick) for stick in sticks], 0, atol=1e-12)


# ---- Hyper-parameters


class HyperStream(ScriptedStream):
    """Auxiliary variables take the values given, one after the other; a gamma is 1, its shape kept."""

    def __init__(self, values) -> None:
        super().__init__()
        self.values, self.at = values, 0

    def beta(self, a, b):
        u = self.values[self.at]
        self.at += 1
        self.probability *= stats.beta.pdf(u, a, b)
        return u

    def gamma(self, shape):
        self.shape = shape
        return 1.0


def hyper_density(model, ref, act, name, there, values):
    """Density of the new value, with the auxiliary variables at `values`."""
    here, total = getattr(model, name), 0.0
    stream = HyperStream(values)
    for _ in stream.paths():
        setattr(model, name, here)
        stream.at = 0
        act(ref(Topics(model, [0, 1, 0, 2, 1, 0], [0.2, 0.3, 0.1, 0.4]), stream))
        total += stream.probability * stats.gamma.pdf(there, stream.shape, scale=getattr(model, name))
    setattr(model, name, here)
    return total


def log_posterior(name, x, tables, lengths):
    """Given the number of tables, all else integrated out; K = 3."""
    log_p = stats.gamma.logpdf(x, 1.3, scale=1 / 0.7)
    if name == "gamma":
        return log_p + 3 * math.log(x) + math.lgamma(x) - math.lgamma(x + tables)
    return log_p + tables * math.log(x) + sum(math.lgamma(x) - math.lgamma(x + n) for n in lengths)


@pytest.mark.parametrize("name", ["gamma", "alpha0"])
@pytest.mark.parametrize("tables", [3, 5])
def test_hyper_parameters_given_the_tables(name, tables):
    """The flow between two values, for every value of the auxiliary variables; a document without tokens has none."""
    assert hyper_imbalance(Refresh, name, tables) < 1e-9


def hyper_imbalance(ref, name, tables):
    model = HDP([0, 0, 0, 2, 2, 3], WORDS, 3, (1.3, 0.7), (1.3, 0.7), 0.4)
    act = getattr(ref, f"draw_{name}")
    values, log_flow = [0.6, 0.2, 0.35], {}
    for here, there in [(0.4, 2.1), (2.1, 0.4)]:
        setattr(model, name, here)
        flow = hyper_density(model, ref, lambda b: act(b, tables), name, there, values)
        log_flow[here] = log_posterior(name, here, tables, [3, 2, 1]) + math.log(flow)
    return abs(log_flow[0.4] - log_flow[2.1])


def test_gamma_given_the_weights():
    """One gamma draw: K more in the shape, -log beta_u in the rate."""
    model = corpus(6, gamma=(1.3, 0.7))
    x, stream = Topics(model, [0, 1, 0, 2, 1, 0], [0.2, 0.3, 0.1, 0.4]), HyperStream([])
    logs = []
    for gamma in (0.4, 2.1):
        model.gamma = gamma
        logs.append(x.log_joint())
    Refresh(x, stream).draw_gamma_given_weights()
    drawn = stats.gamma.logpdf([0.4, 2.1], stream.shape, scale=model.gamma)
    assert logs[1] - logs[0] == pytest.approx(drawn[1] - drawn[0], abs=1e-10)


class Listening(TopicStream):
    """Keeps what was drawn, and of what."""

    def __init__(self, model):
        super().__init__(0)
        self.model, self.heard = model, []

    def coin(self, p):
        self.heard.append(("coin", p))
        return super().coin(p)

    def gamma(self, shape):
        self.heard.append(("gamma", self.model.gamma, self.model.alpha0))
        return super().gamma(shape)

    def log_dirichlet(self, tables, gamma):
        self.heard.append(("weights", gamma))
        return TopicStream(1).log_dirichlet(tables, gamma)


@pytest.mark.parametrize("given", ["tables", "weights"])
def test_order_of_a_refresh(given):
    """gamma given the tables has the weights integrated out: they are drawn anew after it, and with the new one."""
    model = HDP([0, 0, 0], [0, 1, 2], 3, (1.3, 0.7), (2.0, 1.0), 0.4)
    old = model.gamma
    stream = Listening(model)
    Refresh(Topics(model, [0, 0, 0], [0.25, 0.75]), stream, gamma_given=given).step()
    assert stream.heard[0] == ("coin", 0.5 / 1.5)
    assert stream.heard[1] == ("coin", 0.5 / 2.5)
    names = [h[0] for h in stream.heard]
    if given == "tables":
        assert names == ["coin", "coin", "coin", "gamma", "coin", "gamma", "weights"]
        assert stream.heard[-1] == ("weights", model.gamma)
    else:
        assert names == ["coin", "coin", "coin", "gamma", "weights", "gamma"]
        assert stream.heard[-2] == ("weights", old)


# ---- Each term left out is found


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
    """A merge whose union has the weight of one of the two."""

    def merged(self, c, d):
        proposal, union = super().merged(c, d)
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


def worst(imbalances):
    return max(map(abs, imbalances))


@pytest.mark.parametrize("fault", SPLIT_FAULTS)
@pytest.mark.parametrize("weights", ["before", "after"])
def test_faults_of_a_split_are_found(fault, weights):
    assert worst(split_imbalances(build("coin", weights, fault, p=1.7), corpus(4))) > 0.05


@pytest.mark.parametrize("fault", [NoVolume, NoGamma, NoDensityOfShares])
def test_the_integrals_find_them_too(fault):
    """Those that are of the volume put in by hand above."""

    class Fault(Told, fault):
        pass

    assert unrest(build("pair", "before", Fault, p=2.0), lambda ref: ref.step(), n=3) > 0.05


class NewAsIfAllWereUnseen(Gibbs):
    def new_weight(self):
        return self.model.alpha0 / self.model.V


class NewTopicTakesNothing(Gibbs):
    def new_topic(self):
        before = self.state.log_unseen
        topic = super().new_topic()
        self.state.log_unseen = before
        return topic


class GivesNothingBack(Gibbs):
    def give_back(self, topic):
        pass


class GivesBackTooSoon(Gibbs):
    """The weight of the token's own topic is added to beta_u before the draw, and stays on offer as well."""

    def new_weight(self):
        alone = [t.theta for t in self.state.clusters if len(t) == 1]
        return super().new_weight() + self.model.alpha0 * sum(map(math.exp, alone)) / self.model.V


class CountsItself(Gibbs):
    def options(self, i, topics):
        return super().options(i, self.state.clusters)


TOKEN_FAULTS = [NewAsIfAllWereUnseen, NewTopicTakesNothing, GivesNothingBack, GivesBackTooSoon, CountsItself]


@pytest.mark.parametrize("fault", TOKEN_FAULTS)
def test_faults_of_an_update_are_found(fault):
    assert worst(update_imbalances(gibbs(ref=fault), corpus(4))) > 0.05


class OneTableEach(Refresh):
    def tables_of(self, topic):
        return sum(self.model.n_doc(j, topic) > 0 for j in range(self.model.J))


class TokensForTables(Refresh):
    def tables_of(self, topic):
        return len(topic)


class TablesByTopic(Refresh):
    """As if all tokens of a topic were of one document."""

    def tables_of(self, topic):
        a = math.exp(self.log_alpha0(topic))
        return 1 + sum(self.stream.coin(a / (a + t)) for t in range(1, len(topic)))


class NothingUnseen(Refresh):
    def weighted(self, topics, tables):
        gamma, self.model.gamma = self.model.gamma, 1.0
        drawn = super().weighted(topics, tables)
        self.model.gamma = gamma
        return drawn


@pytest.mark.parametrize("fault", [OneTableEach, TokensForTables, TablesByTopic, NothingUnseen])
def test_faults_of_the_weights_are_found(fault):
    assert worst(refresh_imbalances(fault, corpus(5))) > 0.05


class NoCoinOfADocument(Refresh):
    def draw_alpha0(self, tables):
        self.stream, stream = Certain(self.stream), self.stream
        super().draw_alpha0(tables)
        self.stream = stream


class NoCoinOfGamma(Refresh):
    def draw_gamma(self, tables):
        self.stream, stream = Certain(self.stream), self.stream
        super().draw_gamma(tables)
        self.stream = stream


class Certain:
    """A stream whose coins are all false."""

    def __init__(self, stream):
        self.beta, self.gamma, self.coin = stream.beta, stream.gamma, lambda p: False


@pytest.mark.parametrize(("name", "fault"), [("alpha0", NoCoinOfADocument), ("gamma", NoCoinOfGamma)])
def test_faults_of_hyper_parameters_are_found(name, fault):
    assert hyper_imbalance(fault, name, 4) > 0.05


# ---- Algorithm 1 as printed


def on_nodes(make_ref, model, n):
    """Law of the partition that a kernel keeps, weights drawn anew with every move: on nodes of the simplex."""
    fits, all_states = [], []
    for K in range(1, model.N + 1):
        fits += [(beta, w / beta[-1] ** (model.gamma - 1)) for beta, w in simplex(K, model.gamma, n)]
    for labels in itertools.product(range(model.N), repeat=model.N):
        if set(labels) == set(range(max(labels) + 1)):
            all_states += [Topics(model, labels, beta) for beta, _ in fits if len(beta) == max(labels) + 2]
    position = {numbered(x): s for s, x in enumerate(all_states)}
    P = np.zeros((len(all_states), len(all_states)))
    for s, x in enumerate(all_states):
        for y, p in walks(make_ref, x, PointStream(fits=fits)):
            P[s, position[numbered(y)]] += p
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-10)
    law, found = stationary(P), {}
    for x, p in zip(all_states, law, strict=True):
        found[partition_of(x)] = found.get(partition_of(x), 0.0) + p
    return found


def numbered(state):
    """With the order of the topics, which equation 11 reads."""
    return tuple((tuple(t), round(math.exp(t.theta), 9)) for t in state.clusters)


def stationary(P):
    equations = np.vstack([P.T - np.eye(len(P)), np.ones(len(P))])
    return np.linalg.lstsq(equations, np.append(np.zeros(len(P)), 1.0), rcond=None)[0]


def posterior(model):
    law = {tuple(sorted(map(tuple, blocks(z)))): math.exp(model.log_p(blocks(z))) for z in partitions(model.N)}
    total = sum(law.values())
    return {z: p / total for z, p in law.items()}


def visited(reference, state, moves):
    """Shares of the partitions that a chain goes through."""
    counts: dict[tuple, float] = {}
    for _ in range(moves):
        for ref in reference:
            ref.step()
        z = partition_of(state)
        counts[z] = counts.get(z, 0) + 1 / moves
    return counts


def distance(p, q):
    """Total variation."""
    return 0.5 * sum(abs(p.get(z, 0.0) - q.get(z, 0.0)) for z in set(p) | set(q))


def topics_in(law):
    return sum(len(z) * p for z, p in law.items())


def as_printed(form="text", ref=SMAG):
    return build(mode="as_printed", form=form, ref=ref)


# (gamma, alpha0): printed split-merge has too few topics with the first, too many with the second
FEW, MANY = (1.6, 0.9), (0.3, 6.0)


@pytest.mark.parametrize("docs", [[0, 0], [0, 1]], ids=["one-document", "two-documents"])
@pytest.mark.parametrize(("form", "nodes"), [("text", 4), ("box", 3)])
@pytest.mark.parametrize(("hyper", "sign"), [(FEW, -1), (MANY, 1)])
def test_printed_algorithm_is_biased_as_predicted(hyper, sign, form, nodes, docs):
    """Two tokens of two words: the law by quadrature; alpha0 in place of gamma/(u(1 - u)) says in which direction."""
    model = corpus(2, *hyper, docs=docs, words=[0, 1])
    law, true = on_nodes(as_printed(form), model, nodes), posterior(model)
    assert distance(law, true) > 0.1
    assert sign * (topics_in(law) - topics_in(true)) > 0.1
    state = Topics(model, [0, 0], [0.5, 0.5])
    seen = visited([as_printed(form)(state, TopicStream(1))], state, 4000)
    assert topics_in(seen) == pytest.approx(topics_in(law), abs=0.035)


class Weighed(SMAG):
    """Keeps what it would decide."""

    def decide_both(self, proposal, log_unseen, log_r):
        if len(proposal) < self.state.K:
            self.stream.ratios.add(round(log_r, 9))


def ratios_of_merges(form, labels, weights):
    fits = [([0.5, 0.5], 1.0), ([0.4, 0.3, 0.3], 1.0), ([0.4, 0.2, 0.3, 0.1], 1.0)]
    stream, state = PointStream(fits=fits), Topics(corpus(4), labels, weights)
    stream.ratios = set()
    for _ in walks(as_printed(form, Weighed), state, stream):
        pass
    return stream.ratios


def test_a_merge_of_the_reference_never_reads_the_present_split():
    """Whatever two topics are merged, with whatever weights: it weighs the union against a split of its own."""
    one, other = ([0, 0, 1, 1], [0.1, 0.5, 0.4]), ([0, 1, 1, 1], [0.3, 0.3, 0.4])
    assert ratios_of_merges("box", *one) == ratios_of_merges("box", *other)
    assert not ratios_of_merges("text", *one) & ratios_of_merges("text", *other)


# ---- Chains


@pytest.mark.parametrize(("choice", "weights"), KINDS)
def test_split_merge_keeps_the_unseen_weight(choice, weights):
    """Alone it has the law of the partition given beta_u."""
    model = corpus(4)
    state = Topics(model, [0, 0, 1, 2], [0.3, 0.2, 0.1, 0.4])
    given = {z: math.exp(model.log_p(list(z), math.log(0.4))) for z in posterior(model)}
    given = {z: p / sum(given.values()) for z, p in given.items()}
    seen = visited([build(choice, weights)(state, TopicStream(2))], state, 6000)
    assert state.log_unseen == math.log(0.4)
    assert distance(seen, given) < 0.06


@pytest.mark.parametrize("kernel", ["gibbs", "pair", "coin"])
def test_chains_with_random_hyper_parameters(kernel):
    """The posterior of the partition, gamma and alpha0 summed out over their priors."""
    model = corpus(4, gamma=(2.0, 1.5), alpha0=(1.5, 1.0))
    state, stream = Topics(model, [0, 0, 1, 2], [0.3, 0.2, 0.1, 0.4]), TopicStream(3)
    move = Gibbs(state, stream) if kernel == "gibbs" else SMAG(state, stream, choice=kernel)
    seen = visited([move, Refresh(state, stream)], state, 6000)
    assert distance(seen, over_hyper_parameters(corpus(4), (2.0, 1.5), (1.5, 1.0))) < 0.06


def over_hyper_parameters(model, gamma, alpha0, n=12):
    """The posterior, by Gauss-Laguerre rules for the two gamma priors."""
    nodes = [[(x / rate, w) for x, w in zip(*roots_genlaguerre(n, a - 1), strict=True)] for a, rate in (gamma, alpha0)]
    law = dict.fromkeys(posterior(model), 0.0)
    for (model.gamma, w), (model.alpha0, v) in itertools.product(*nodes):
        for z in law:
            law[z] += w * v * math.exp(model.log_p(list(z)))
    total = sum(law.values())
    return {z: p / total for z, p in law.items()}
