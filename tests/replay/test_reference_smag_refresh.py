"""The reference refresh of topics leaves the weights (equations 9 and 10) and the hyper-parameters in balance
(docs/derivations-topics.md).
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from enumerated import ScriptedStream
from enumerated_topics import WORDS, PointStream, corpus, points, some_weights, walks
from plain_topics import HDP, Topics, TopicStream
from reference_smag import Refresh
from scipy import stats

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


def test_coins_have_the_distribution_of_equation_9():
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
def test_drawn_weights_have_their_distributions(gamma):
    """Kolmogorov and Smirnov, 2,000 draws of one seed each."""
    stream = TopicStream(5)
    drawn = [stream.log_dirichlet([2, 1, 4], gamma) for _ in range(2000)]
    np.testing.assert_allclose(np.logaddexp.reduce(drawn, axis=1), 0, atol=1e-12)
    for k, m in enumerate([2, 1, 4]):
        assert stats.kstest(np.exp([d[k] for d in drawn]), stats.beta(m, 7 - m + gamma).cdf).pvalue > 0.01
    # the distribution of -log beta_u where beta_u itself is nought as a double
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


def test_order_of_a_refresh():
    """gamma has the weights integrated out: they are drawn anew after it, and with the new one."""
    model = HDP([0, 0, 0], [0, 1, 2], 3, (1.3, 0.7), (2.0, 1.0), 0.4)
    stream = Listening(model)
    Refresh(Topics(model, [0, 0, 0], [0.25, 0.75]), stream).step()
    assert stream.heard[:2] == [("coin", 0.5 / 1.5), ("coin", 0.5 / 2.5)]
    assert [h[0] for h in stream.heard] == ["coin", "coin", "coin", "gamma", "coin", "gamma", "weights"]
    assert stream.heard[-1] == ("weights", model.gamma)
