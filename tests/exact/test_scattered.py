"""Negative binomial counts of networks whose precision is resampled: against quadrature, with every other layer, under
powers of the likelihood, and states that resume.

`test_relations.py` has the likelihood itself and every sampler with precisions that are fixed.
"""

from functools import cache
from typing import Any

import numpy as np
import pytest
from compiled import pieces as compiled
from numpy.typing import NDArray
from relation_cases import DEFAULTS, FORMS, dataset_of, log_lik, relation
from scipy import stats
from scipy.special import gammaln, logsumexp
from small_cases import check_resumption

from splitmerge_cli.core.chain import Chain
from splitmerge_cli.core.options import Gamma
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.kinds.networks import layout, start
from splitmerge_cli.kinds.networks.data import Relations
from splitmerge_cli.kinds.networks.irm import IRM
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.refresh import Refresh
from splitmerge_cli.samplers.split_merge import Dyadic
from splitmerge_cli.verify import cases, kernel, transitions
from splitmerge_cli.verify.enumerate import log_prior, mixture_states, normalise

SHAPE, RATE = 1.5, 0.5
OPTIONS = DEFAULTS | {"precision": f"gamma({SHAPE},{RATE})", "concentration": 1.3, "shape": 0.7}
GRID = np.linspace(-9.0, 9.0, 721)
"""Logarithms of precisions."""


def network(name: str) -> Relations:
    return FORMS[name][0]


def options_of(relations: Relations, **changed: Any) -> dict[str, Any]:
    return OPTIONS | ({} if len(relations.layers) == 1 else {"rate": [0.5, 0.8, 1.0]}) | changed


def log_density_by_precision(relations: Relations, z: NDArray[np.int64], power: float = 1.0) -> NDArray[np.float64]:
    """Log density of the precision's logarithm at `GRID`, and of the edges, by another route."""
    options = options_of(relations)
    log_p = [power * log_lik(relations, z, options | {"precision": float(np.exp(t))}) for t in GRID]
    return np.array(log_p) + stats.gamma.logpdf(np.exp(GRID), SHAPE, scale=1 / RATE) + GRID


@cache
def case_of(name: str) -> cases.Case:
    """The posterior of the partition, the precision integrated out."""
    relations = network(name)

    def build() -> IRM:
        return IRM.from_data(dataset_of(relations), **options_of(relations))

    states = mixture_states(relations.N)
    log_p = [
        logsumexp(log_density_by_precision(relations, np.array(labels))) + log_prior(1.3, "crp", np.array(labels))
        for labels, _ in states
    ]
    return cases.Case(build(), build, states, normalise(log_p), name)


@pytest.mark.parametrize("power", [1.0, 0.4])
@pytest.mark.parametrize("name", ["scattered-loops", "scattered-directed-unknown", "layers-scattered"])
def test_a_refresh_draws_the_precision_from_its_conditional(name: str, power: float) -> None:
    relations, labels = network(name), np.array([0, 1, 0, 1])
    model, rng = IRM.from_data(dataset_of(relations), **options_of(relations)), Rng(1)
    model.set_labels(labels)
    if power < 1.0:
        model.temper(power)
    refresh, drawn = Refresh(model, rng), []
    for _ in range(6_000):
        refresh.step()
        drawn.append(model.hyperparameter_values["precision"])
    density = log_density_by_precision(relations, labels, power)
    through = np.cumsum(np.exp(density - logsumexp(density)))
    # a slice takes several steps to forget the one before
    place = np.interp(np.log(drawn[::10]), GRID, through)
    assert stats.kstest(place, "uniform").pvalue > 1e-3
    assert model.parameters.ravel().tolist() == [model.hyperparameter_values["precision"]]


def test_a_power_is_one_of_the_whole_likelihood_at_every_precision() -> None:
    """Replicas swap states by it; what is the same in all states may stay as it is."""
    relations = network("scattered-loops")
    model = IRM.from_data(dataset_of(relations), **options_of(relations))
    model.set_labels(np.array([0, 1, 0, 1]))

    def density(precision: float) -> tuple[float, float]:
        model.set_parameters(np.array([[precision]]))
        return model.log_joint(), model.log_lik_total()

    (joint, lik), (other_joint, other_lik) = density(0.3), density(5.0)
    model.temper(0.4)
    expected = joint - other_joint - 0.6 * (lik - other_lik)
    assert density(0.3)[0] - density(5.0)[0] == pytest.approx(expected, abs=1e-9)


def test_every_layer_of_counts_has_a_precision_of_its_own() -> None:
    one, other = network("scattered").layers[0], network("scattered-loops").layers[0]
    relations = Relations(4, (one, network("reals").layers[0], other))
    model = IRM.from_data(dataset_of(relations), **options_of(relations))
    model.set_labels(np.array([0, 0, 1, 1]))
    assert model.hyperparameters == ("precision1", "precision2")
    model.set_parameters(np.array([[0.3], [5.0]]))
    assert model.hyperparameter_values == {"precision1": 0.3, "precision2": 5.0}
    fixed = options_of(relations, precision=[0.3, 1.0, 5.0])
    assert layout.precisions_of(relations.layers, options_of(relations, precision=Gamma(SHAPE, RATE)), [0.3, 5.0]) == [
        0.3,
        None,
        5.0,
    ]
    assert model.log_lik_total() == pytest.approx(log_lik(relations, model.labels, fixed))
    other_model = IRM.from_data(dataset_of(relations), **fixed)
    other_model.set_labels(model.labels)
    assert other_model.parameters is None and other_model.hyperparameters == ()
    assert other_model.log_lik_total() == pytest.approx(model.log_lik_total(), abs=1e-9)
    prior = stats.gamma.logpdf([0.3, 5.0], SHAPE, scale=1 / RATE).sum()
    assert model.log_joint() - other_model.log_joint() == pytest.approx(prior)


@pytest.mark.parametrize("samplers", [(Gibbs,), (Dyadic, Gibbs)], ids=["gibbs", "split-merge"])
@pytest.mark.parametrize("name", ["scattered", "scattered-directed-unknown"])
def test_the_joint_chain_has_the_posterior_by_quadrature(name: str, samplers: Any) -> None:
    case, rng = case_of(name), Rng(7)
    moves = [*(make(case.model, rng) for make in samplers), Refresh(case.model, rng)]
    frequencies, noise = kernel.sampled_frequencies(case, moves, rng, 40_000)
    assert transitions.total_variation(frequencies, case.pi) < 3.0 * noise


def test_what_is_kept_of_blocks_heeds_a_new_precision() -> None:
    """After a change of the precision scores are those of a model that has it from the start."""
    relations = network("scattered-directed-unknown")
    model = IRM.from_data(dataset_of(relations), **options_of(relations))
    model.set_labels(np.array([0, 1, 0, 2]))
    compiled.scan(model, 0)
    model.set_parameters(np.array([[0.02]]))
    other = IRM.from_data(dataset_of(relations), **options_of(relations, precision=0.02))
    other.set_labels(np.array([0, 1, 0, 2]))
    np.testing.assert_allclose(compiled.scan(model, 0), compiled.scan(other, 0), rtol=1e-9)


def test_counts_are_poisson_as_the_precision_grows() -> None:
    """The prior of rates is the same in the limit, and their mean always."""
    relations = network("counts-directed-unknown")
    options = {key: value for key, value in OPTIONS.items() if key != "precision"}
    poisson = IRM.from_data(dataset_of(relations), **options)
    scattered = IRM.from_data(dataset_of(relations), **options, precision=1e6)
    for labels, _ in mixture_states(4):
        poisson.set_labels(np.array(labels))
        scattered.set_labels(np.array(labels))
        assert scattered.log_lik_total() == pytest.approx(poisson.log_lik_total(), abs=1e-4)


def test_precisions_are_integrated_out() -> None:
    """By Laplace's approximation, which is near where there are many pairs."""
    relations = Relations(14, (relation(3, 14, "count", directed=True),))
    labels = np.arange(14) % 2
    model = IRM.from_data(dataset_of(relations), **options_of(relations))
    model.set_labels(labels)
    expected = logsumexp(log_density_by_precision(relations, labels)) + np.log(GRID[1] - GRID[0])
    expected += log_prior(1.3, "crp", labels) - gammaln(1.3 + 14) + gammaln(1.3)
    assert start.integrate_parameters(model) == pytest.approx(expected, abs=0.1)


def test_a_chain_goes_on_with_its_precision() -> None:
    def make() -> Chain:
        model, rng = case_of("scattered").build(), Rng(5)
        return Chain(model, rng, [Gibbs(model, rng), Refresh(model, rng)])

    first, _ = check_resumption(make, recorded=("precision",))
    assert len(set(first.advance(40)["precision"].tolist())) > 20


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("undirected", {"precision": 1.0}, r"model\.precision=1.0: expected counts of edges"),
        ("counts-loops", {"precision": 2.0, "degrees": "corrected"}, "expected null with model.degrees=corrected"),
        ("layers", {"precision": [1.0, 2.0]}, r"model\.precision: 2 numbers; expected one for each layer, 3"),
        ("counts-loops", {"precision": 0.0}, "expected a number .*, or a list of one for each layer, or gamma"),
    ],
)
def test_refusals(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        IRM.from_data(dataset_of(network(name)), **options)


def test_parameters_are_checked() -> None:
    model = case_of("scattered").build()
    with pytest.raises(ValueError, match="expected 1 numbers"):
        model.set_parameters(np.ones((2, 1)))
    with pytest.raises(ValueError, match="expected numbers from"):
        model.set_parameters(np.zeros((1, 1)))
    with pytest.raises(ValueError, match="nothing of the edges is resampled"):
        IRM.from_data(dataset_of(network("scattered")), precision=1.0).set_parameters(np.ones((1, 1)))
