"""Leave-one-out densities: the harmonic mean of the Gibbs normaliser over the enumerated posterior is the ratio of the
evidences with and without the item (docs/derivations.md, "Leave-one-out densities")."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from small_priors import PACKAGE
from test_predictive_exact import CASES, build, log_joints

from splitmerge_cli.analysis.leave_one_out import FEWEST, leave_one_out, smooth_tails
from splitmerge_cli.config import component
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.kinds.tables.models.gaussian import Gaussian
from splitmerge_cli.runs.draws import State

OF_ROWS = [name for name in CASES if name != "irm"]


def evidence_ratio(options: dict[str, Any], data: Any, i: int) -> float:
    """log p(x_i | x_-i): both evidences by enumeration, what defaults to the data's scale the same in both."""
    rest = np.setdiff1d(np.arange(data.N), [i])
    _, of_all = log_joints(build(options, data, data)[0])
    _, of_rest = log_joints(build(options, data, data.take(rest))[0])
    return float(logsumexp(of_all) - logsumexp(of_rest))


def harmonic_means(model: Any) -> np.ndarray:
    """log p(x_i | x_-i) of every item, from every partition by its posterior."""
    states, joint = log_joints(model)
    inverse = []
    for labels in states:
        model.set_labels(labels)
        log_density, log_weight = model.left_out_predictive()
        np.testing.assert_allclose(logsumexp(log_weight, axis=1), 0, atol=1e-12)
        inverse.append(-logsumexp(log_density + log_weight, axis=1))
    return -logsumexp(np.stack(inverse) + (joint - logsumexp(joint))[:, None], axis=0)


@pytest.mark.parametrize("name", OF_ROWS)
def test_harmonic_mean_is_the_ratio_of_the_evidences(name: str) -> None:
    options, given, _ = CASES[name]
    data = from_object(given, component("model", options["name"]).kind.name)
    found = harmonic_means(build(options, data, data)[0])
    expected = [evidence_ratio(options, data, i) for i in range(data.N)]
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("prior", PACKAGE)
def test_harmonic_mean_under_every_prior(prior: str) -> None:
    """A prior of N items need not be that of N - 1: the evidence without x_i is under the prior of all N."""
    points = np.random.default_rng(4).normal(size=(5, 2)) * 2
    options = {"prior": prior, "m0": 0.0, "b0": 1.0}
    model = Gaussian(points, **options)
    states, joint = log_joints(model)
    found = harmonic_means(model)
    for i in range(5):
        kept = [j for j in range(5) if j != i]
        rest, without = Gaussian(points[kept], **options), []
        for labels in states:
            model.set_labels(labels)
            rest.set_labels(np.unique(labels[kept], return_inverse=True)[1].astype(np.int32))
            without.append(model.log_prior_total() + rest.log_lik_total())
        assert found[i] == pytest.approx(logsumexp(joint) - logsumexp(without), abs=1e-9)


@pytest.mark.parametrize("name", ["full", "mixed"])
def test_missing_cells_of_joint_columns_are_integrated_out(name: str) -> None:
    """Quadrature over the cell of the item itself; cells of other rows stand at their present values."""
    points = np.random.default_rng(5).normal(size=(6, 3)) * [1.0, 20.0, 3.0]
    gaps = [(1, 2), (4, 0), (5, 1)]
    for cell in gaps:
        points[cell] = np.nan
    options = {"covariance": "full", "m0": 0.0, "b0": 1.0, "resolution": "none"}
    sexes = ["f", "m", "f", None, "m", "m"]
    labels = np.array([0, 0, 1, 1, 0, 2], dtype=np.int32)

    def left_out(values: np.ndarray) -> Any:
        if name == "full":
            model = build({"name": "gaussian"} | options, *[from_object(values, "points")] * 2)[0]
        else:
            table = from_object(pd.DataFrame(values, columns=["x", "y", "z"]).assign(sex=sexes), "mixed")
            model = build({"name": "mixed"} | options, table, table)[0]
        model.set_labels(labels)
        log_density, log_weight = model.left_out_predictive()
        return model, logsumexp(log_density + log_weight, axis=1)

    model, found = left_out(points)
    # cells are held from the middles of their columns
    middle = (np.nanmin(points, axis=0) + np.nanmax(points, axis=0)) / 2
    filled = points.copy()
    for cell, value in zip(gaps, model.parameters.ravel(), strict=True):
        filled[cell] = middle[cell[1]] + value
    complete = np.setdiff1d(np.arange(6), [row for row, _ in gaps])
    np.testing.assert_allclose(found[complete], left_out(filled)[1][complete], atol=1e-8)
    for row, column in gaps:
        # tan spreads equal steps over the whole line
        angles = (np.arange(100) + 0.5) / 100 * np.pi - np.pi / 2
        integral = []
        for angle in angles:
            varied = filled.copy()
            varied[row, column] = 10 * np.tan(angle)
            integral.append(left_out(varied)[1][row] + np.log(10 / np.cos(angle) ** 2 * np.pi / 100))
        assert found[row] == pytest.approx(logsumexp(integral), abs=1e-3)


def test_what_has_no_density_of_single_items_is_refused() -> None:
    options, given, _ = CASES["irm"]
    network = from_object(given, "graph")
    with pytest.raises(ValueError, match="no predictive density"):
        build(options, network, network)[0].left_out_predictive()
    with pytest.raises(ValueError, match="power"):
        Gaussian(np.arange(4.0)[:, None], power=0.5).left_out_predictive()


def test_densities_of_draws() -> None:
    """From exact draws, as many of each partition as its probability says, the mean is the harmonic one."""
    options, given, _ = CASES["diag"]
    data = from_object(given, "points")
    model, configured = build(options, data, data)
    states, joint = log_joints(model)
    p = np.exp(joint - logsumexp(joint))
    drawn = np.random.default_rng(0).choice(len(states), size=4_000, p=p)
    found = leave_one_out(configured, data, [State(states[s], int(states[s].max()) + 1, {}) for s in drawn])
    assert np.all(found.shape < 0.7)
    np.testing.assert_allclose(found.log_density, harmonic_means(model), atol=0.05)


def test_tails_are_smoothed() -> None:
    """Ratios of a Pareto distribution of shape 1/2: the fit finds it, and the mean of the weights is nearer."""
    generator = np.random.default_rng(1)
    ratios = np.log(generator.pareto(2.0, size=(2_000, 40)) + 1.0)
    weights, shape = smooth_tails(ratios)
    assert abs(shape.mean() - 0.5) < 0.1
    ordered = np.take_along_axis(weights, np.argsort(ratios, axis=0), axis=0)
    assert np.all(weights <= 0) and np.all(np.diff(ordered, axis=0) >= 0)
    np.testing.assert_array_equal(smooth_tails(np.zeros((100, 2)))[1], -np.inf)
    few = ratios[: 5 * FEWEST - 1, :3]
    np.testing.assert_array_equal(smooth_tails(few)[0], few - few.max(axis=0))
