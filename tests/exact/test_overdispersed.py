"""Rows with shares of their own: tables and exposures against their exact distributions, the joint chain against the
posterior by quadrature, densities against ratios of evidences, and states that resume."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln, logsumexp
from small_cases import check_resumption

from splitmerge_cli.analysis.alternatives import leave_one_out
from splitmerge_cli.config import component
from splitmerge_cli.core.chain import Chain
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.kinds.tables.models import overdispersed_multinomial
from splitmerge_cli.kinds.tables.models.overdispersed_multinomial import OverdispersedMultinomial, draw_tables
from splitmerge_cli.runs.draws import State
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.refresh import Refresh
from splitmerge_cli.samplers.split_merge import RGSM
from splitmerge_cli.samplers.wang_russell import SDDS
from splitmerge_cli.verify import cases, continuous, kernel, transitions
from splitmerge_cli.verify.enumerate import mixture_states

OPTIONS = {"alpha": 0.7, "shape": 1.5, "rate": 0.4}
X = np.array([[6, 0, 1], [2, 2, 0], [0, 3, 1], [5, 1, 0], [0, 0, 0]], dtype=np.int32)


def chain_of(model, rng, *samplers):
    return Chain(model, rng, [*(make(model, rng) for make in samplers), Refresh(model, rng)])


def log_evidence(x, z):
    return continuous.scattered_counts_log_weight(x, 1.0, "uniform", **OPTIONS)((tuple(z), max(z) + 1))


@pytest.mark.parametrize("samplers", [(), (Gibbs,), (SDDS, RGSM)], ids=["refresh alone", "gibbs", "split-merge"])
def test_joint_chain_has_the_posterior_by_quadrature(samplers):
    """``refresh`` alone, whose draws of clusters reach every partition, too."""
    case = cases.small_case(OverdispersedMultinomial, 4, 3)
    rng = Rng(11)
    moves = [*(make(case.model, rng) for make in samplers), Refresh(case.model, rng)]
    frequencies, noise = kernel.sampled_frequencies(case, moves, rng, 60_000)
    assert transitions.total_variation(frequencies, case.partitions[1]) < 3.0 * noise
    # held tables and exposures have another one
    assert transitions.total_variation(frequencies, case.pi) > 10.0 * noise


@pytest.mark.parametrize("a, x", [(0.3, 5), (2.5, 40), (0.7, 3000), (80.0, 300)])
def test_tables_are_those_of_the_restaurant(a, x):
    """The number of tables is a sum of independent coins, one for each customer: mean, variance, and all of it."""
    p = a / (a + np.arange(x))
    drawn = np.array([draw_tables(Rng(seed), a, x) for seed in range(20_000)])
    mean, variance = p.sum(), (p * (1 - p)).sum()
    assert drawn.min() >= 1
    assert abs(drawn.mean() - mean) < 4.5 * np.sqrt(variance / len(drawn))
    assert drawn.var() == pytest.approx(variance, rel=0.05)
    # the first customer behind those who are seated one by one: each place by its probability
    if x <= 40:
        exact = np.ones(1)
        for one in p:
            exact = np.convolve(exact, [1 - one, one])
        counts = np.bincount(drawn, minlength=x + 1)
        few = exact * len(drawn) > 5
        assert stats.chisquare(counts[few], exact[few] / exact[few].sum() * counts[few].sum()).pvalue > 1e-4


def test_density_of_new_rows_is_a_ratio_of_evidences(monkeypatch):
    """The mean over states of one partition, with tables and exposures by their posterior."""
    new = np.array([[3, 0, 1], [0, 0, 7], [0, 0, 0]], dtype=np.int32)
    z, data = np.array([0, 0, 1, 0, 1], dtype=np.int32), Dataset("t", "counts", X)
    whole = data.kind.stack(data, Dataset("n", "counts", new))
    monkeypatch.setattr(overdispersed_multinomial, "MOST_RESEATED", 0)
    monkeypatch.setattr(overdispersed_multinomial, "PRIOR_DRAWS", 20_000)
    alone = OverdispersedMultinomial(X, **OPTIONS)
    model = OverdispersedMultinomial.with_new(data, whole, **OPTIONS)
    alone.set_labels(z)
    refresh, densities = Refresh(alone, Rng(5)), []
    for _ in range(6_000):
        refresh.step()
        model.set_labels(np.append(z, [2, 2, 2]).astype(np.int32))
        model.set_parameters(alone.parameters)
        densities.append(model.log_predictive(len(X))[0])
    mean = logsumexp(densities, axis=0) - np.log(len(densities))
    for i, row in enumerate(new):
        for k in range(3):
            expected = log_evidence(np.vstack([X, row]), [*z, k]) - log_evidence(X, z)
            assert mean[i, k] == pytest.approx(expected, abs=0.06), (i, k)


def test_leave_one_out_density_is_a_ratio_of_evidences(monkeypatch):
    monkeypatch.setattr(overdispersed_multinomial, "PRIOR_DRAWS", 20_000)
    model, rng = OverdispersedMultinomial(X, **OPTIONS), Rng(8)
    chain, states = chain_of(model, rng, Gibbs), []
    for _ in range(4_000):
        chain.advance(1)
        states.append(State(model.labels, model.K, {}, model.parameters))
    options = component("model", "overdispersed_multinomial").with_options(**OPTIONS)
    found = leave_one_out(options, Dataset("t", "counts", X), states).log_density

    def log_total(x):
        weight = continuous.scattered_counts_log_weight(x, 1.0, "crp", **OPTIONS)
        return logsumexp([weight(state) for state in mixture_states(len(x))]) - gammaln(len(x) + 1)

    expected = [log_total(X) - log_total(np.delete(X, i, axis=0)) for i in range(len(X))]
    np.testing.assert_allclose(found, expected, atol=0.08)


def test_states_resume_and_bad_ones_are_rejected():
    def chain():
        rng = Rng(3)
        model = OverdispersedMultinomial(X, concentration=1.5, **OPTIONS)
        return chain_of(model, rng, SDDS, Gibbs)

    check_resumption(chain)
    model = OverdispersedMultinomial(X, **OPTIONS)
    state = model.parameters
    bad = (-1, 0.0, "0 tables"), (-1, 2.5, "tables"), (0, -1.0, "exposures"), (5, np.nan, "finite")
    for place, value, message in bad:
        changed = state.copy()
        changed[place] = value
        with pytest.raises(ValueError, match=message):
            model.set_parameters(changed)
    with pytest.raises(ValueError, match="numbers; expected"):
        model.set_parameters(state[:-1])
