"""Rows of counts with exposures: equalities, new rows, rows left out, readers, and bad exposures.

Kernels are enumerated with the other cases of ``gamma_poisson``.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import logsumexp
from test_predictive_exact import log_joints

import smcmc
from splitmerge_cli.core.simulation import Given
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.data.tables.files import csv
from splitmerge_cli.kinds.tables.models.gamma_poisson import GammaPoisson
from splitmerge_cli.kinds.tables.models.multinomial import Multinomial
from splitmerge_cli.kinds.tables.simulated import simulate_rates
from splitmerge_cli.received import DataError

X = np.array([[3, 0, 1], [1, 1, 0], [0, 4, 2], [7, 1, 1], [0, 0, 0]], dtype=np.int32)
E = np.array([1.5, 0.25, 3.0, 2.0, 0.7])
OPTIONS = {"shape": 1.3, "rate": 0.5}


def test_a_mutant_without_exposures_is_told_apart():
    z = np.array([0, 0, 1, 1, 0], dtype=np.int32)
    model = GammaPoisson(X, exposure=E, **OPTIONS)
    model.set_labels(z)
    assert abs(model.log_lik_total() - GammaPoisson.reference_log_lik(X, z, **OPTIONS)) > 0.1


def test_equal_exposures_are_another_rate():
    """Exposures of c each: the rates' prior in units of c, and unit exposures: no change at all."""
    z = np.array([0, 1, 1, 0, 2], dtype=np.int32)
    for c in (1.0, 4.0):
        exposed, plain = (
            GammaPoisson(X, exposure=np.full(5, c), shape=1.3, rate=0.5),
            GammaPoisson(X, shape=1.3, rate=0.5 / c),
        )
        exposed.set_labels(z)
        plain.set_labels(z)
        assert exposed.log_lik_total() == pytest.approx(plain.log_lik_total(), abs=1e-9)


@pytest.mark.parametrize("power", [1.0, 0.4])
def test_density_of_new_rows(power):
    """Negative binomial given the sums of the cluster."""
    data = Dataset("t", "counts", X, exposure=E)
    new = Dataset("n", "counts", np.array([[2, 0, 5], [0, 1, 0]], dtype=np.int32), exposure=np.array([0.5, 6.0]))
    model = GammaPoisson.with_new(data, data.kind.stack(data, new), power=power, **OPTIONS)
    z = np.array([0, 0, 1, 1, 1, 2, 2], dtype=np.int32)
    model.set_labels(z)
    found = model.log_predictive(5)[0]
    for i, e in enumerate(new.exposure):
        for k in range(3):
            of = z[:5] == k
            shape, rate = 1.3 + power * X[of].sum(axis=0), 0.5 + power * E[of].sum()
            expected = stats.nbinom.logpmf(new.values[i], shape, rate / (rate + e)).sum()
            assert found[i, k] == pytest.approx(expected, abs=1e-9)


def test_left_out_density_is_a_ratio_of_evidences():
    model = GammaPoisson(X, exposure=E, **OPTIONS)
    states, joint = log_joints(model)
    inverse = []
    for labels in states:
        model.set_labels(labels)
        inverse.append(-logsumexp(np.add(*model.left_out_predictive()), axis=1))
    found = -logsumexp(np.stack(inverse) + (joint - logsumexp(joint))[:, None], axis=0)
    for i in range(5):
        rest = np.delete(np.arange(5), i)
        _, of_rest = log_joints(GammaPoisson(X[rest], exposure=E[rest], **OPTIONS))
        assert found[i] == pytest.approx(logsumexp(joint) - logsumexp(of_rest), abs=1e-9)


def test_simulated_rows_have_their_exposures():
    data = Dataset("t", "counts", np.full((4_000, 2), 3, dtype=np.int32), exposure=np.repeat([1.0, 10.0], 2_000))
    given = Given(data, np.zeros(4_000, dtype=np.int64), {"shape": 1.0, "rate": 1.0})
    made = simulate_rates(np.random.default_rng(1), given)
    ratio = made[2_000:].mean() / made[:2_000].mean()
    assert ratio == pytest.approx(10.0, rel=0.1)
    assert made[:2_000].mean() == pytest.approx(24_001 / 22_000 / 2, rel=0.06)


FRAME = pd.DataFrame({"a": X[:4, 0], "hours": E[:4], "b": X[:4, 1], "c": X[:4, 2]})


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".xlsx"])
def test_readers_find_the_column(suffix, tmp_path):
    path = tmp_path / f"t{suffix}"
    {".csv": FRAME.to_csv, ".parquet": FRAME.to_parquet, ".xlsx": FRAME.to_excel}[suffix](path, index=False)
    for exposure in ("hours", 2):
        found = csv(path, "counts", exposure=exposure)
        np.testing.assert_array_equal(found.values, X[:4])
        np.testing.assert_array_equal(found.exposure, E[:4])
    totals = csv(path, "counts", drop=["hours"], exposure="total")
    np.testing.assert_array_equal(totals.exposure, X[:4].sum(axis=1))


def test_arrays_and_frames_have_exposures(tmp_path):
    np.save(tmp_path / "t.npy", X[:4])
    np.testing.assert_array_equal(csv(tmp_path / "t.npy", "counts", exposure="total").exposure, X[:4].sum(axis=1))
    of_frame, of_array = from_object(FRAME, "counts", exposure="hours"), from_object(X, "counts", exposure=E)
    np.testing.assert_array_equal(of_frame.exposure, E[:4])
    np.testing.assert_array_equal(of_frame.values, X[:4])
    np.testing.assert_array_equal(of_array.exposure, E)


BAD = {
    "0": r"row 3.*'hours'.*0.*expected a positive number \(data.exposure\)",
    "-2": r"row 3.*'hours'.*-2.*expected a positive number \(data.exposure\)",
    "": "row 3.*'hours'",
    "much": "row 3.*'hours'",
}


@pytest.mark.parametrize("cell", BAD)
def test_bad_exposures_are_named(cell, tmp_path):
    rows = ["a,hours,b", "3,1.5,0", f"1,{cell},2", "4,2,2"]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    with pytest.raises(DataError, match=BAD[cell]):
        csv(tmp_path / "t.csv", "counts", exposure="hours")


def test_other_bad_exposures(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n3,1\n0,0\n2,1\n")
    for options, message in (
        ({"exposure": "hours"}, "data.exposure=hours: "),
        ({"exposure": "total"}, "data.exposure: .*row 2: 0; expected a positive number"),
        ({"exposure": "b", "columns": ["a", "b"]}, "expected each column once, and data.exposure not at all"),
        ({"exposure": "b", "repeated": "once"}, "data.repeated"),
    ):
        with pytest.raises(DataError, match=message):
            csv(tmp_path / "t.csv", "counts", **options)
    with pytest.raises(DataError, match=r"data\.exposure=b.*points have none"):
        csv(tmp_path / "t.csv", "points", exposure="b")
    with pytest.raises(DataError, match="3 numbers; expected one for each of 5 rows"):
        from_object(X, "counts", exposure=E[:3])
    with pytest.raises(ValueError, match=r"data\.exposure is for model=gamma_poisson"):
        Multinomial.from_data(from_object(X, "counts", exposure=E))


def test_a_run_with_exposures_predicts_new_rows():
    posterior = smcmc.sample(
        "gamma_poisson", FRAME, chains=2, iterations=50, seed=1, options={"data.exposure": "hours"}
    )
    twice = pd.concat([FRAME, FRAME]).assign(hours=np.repeat([1.0, 30.0], 4))
    density = posterior.log_predictive(twice)
    assert len(density) == 8 and not np.allclose(density[:4], density[4:])
    with pytest.raises(DataError, match="no exposures"):
        posterior.log_predictive(FRAME.drop(columns="hours"))
