"""Tables of counts whose rows have shares of their own: ``model=auto`` finds the model, and the types."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from smcmc import sample
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.fits.objects import as_vectors, log_totals
from splitmerge_cli.kinds.tables.models.gamma_poisson import GammaPoisson

pytestmark = pytest.mark.usefixtures("commands")


def scattered_rows(seed, N=120, D=30, K=3):
    """Rows of K types, Dirichlet-multinomial with concentrations from 20 to 50, totals from 400 to 3,000; the types."""
    rng = np.random.default_rng(seed)
    z, shares = rng.integers(K, size=N), rng.dirichlet(np.ones(D), K)
    concentration, totals = rng.uniform(20, 50, K), rng.integers(400, 3001, N)
    rows = [rng.multinomial(n, rng.dirichlet(concentration[k] * shares[k])) for n, k in zip(totals, z, strict=True)]
    return np.array(rows), z


@pytest.mark.parametrize("seed", [0, pytest.param(4, marks=pytest.mark.slow)])
def test_types_of_scattered_rows_are_found(seed):
    x, truth = scattered_rows(seed)
    posterior = sample("overdispersed_multinomial", x, chains=2, iterations=300, seed=1)
    assert adjusted_rand_score(truth, posterior.labels) > 0.95


@pytest.mark.slow
def test_auto_takes_the_model_of_scattered_rows(capsys):
    x, truth = scattered_rows(1, N=60, D=10, K=2)
    posterior = sample("auto", x, chains=2, iterations=300, seed=1)
    assert "model=overdispersed_multinomial, by the leave-one-out" in capsys.readouterr().out
    assert adjusted_rand_score(truth, posterior.labels) > 0.9


def test_totals_have_one_negative_binomial_distribution():
    """With equal moments a gamma-Poisson predictive: shape and rate such that one more row has these moments."""
    totals = np.array([3, 11, 4, 9, 0])
    for i, found in enumerate(log_totals(totals)):
        others = np.delete(totals, i)
        mean, variance = others.mean(), others.var()
        rate = mean / (variance - mean)
        model = GammaPoisson(totals[[i], None], shape=mean * rate, rate=rate)
        assert found == pytest.approx(model.log_lik_total(), abs=1e-9)


def test_vectors_are_tables_of_whole_numbers():
    x, _ = scattered_rows(0, N=20, D=6)
    x[:, 5] = np.arange(20) % 2
    table = from_object(x, "mixed")
    np.testing.assert_array_equal(as_vectors(table).values, x)
    assert as_vectors(from_object(x[:, :2], "mixed")) is None
    assert as_vectors(from_object(x - 0.5, "mixed")) is None
    holes = x.astype(float)
    holes[3, 2] = np.nan
    assert as_vectors(from_object(holes, "mixed")) is None
