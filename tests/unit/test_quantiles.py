"""Quantiles without SciPy are those of SciPy."""

import numpy as np
import pytest
from scipy.special import ndtri, stdtrit

from splitmerge_cli.diagnostics import mixing


def test_normal_quantiles_have_fourteen_digits() -> None:
    shares = np.concatenate([np.random.default_rng(0).random(20_000), 10.0 ** -np.linspace(1, 17, 500), [0.5]])
    np.testing.assert_allclose(mixing.normal_quantile(shares), ndtri(shares), rtol=1e-14)
    assert mixing.normal_quantile(0.975).shape == () and mixing.normal_quantile(np.ones((0, 2))).shape == (0, 2)


@pytest.mark.parametrize("p", [0.9, 0.975, 0.999])
def test_quantiles_of_t_have_ten_digits(p: float) -> None:
    for freedom in (np.arange(1.0, 150.0), np.array([[0.0, 2.5], [499.0, 501.0]]), np.array([1e4, 1e5, 1e6])):
        np.testing.assert_allclose(mixing.student_quantile(p, freedom), stdtrit(freedom, p), rtol=2e-9)


@pytest.mark.parametrize("freedom", [np.array([0.3, 2.0]), np.array([1.1]), np.arange(0.0, 400.0)])
def test_few_or_many_degrees_of_freedom_are_left_to_scipy(freedom: np.ndarray) -> None:
    np.testing.assert_array_equal(mixing.student_quantile(0.975, freedom), stdtrit(freedom, 0.975))
