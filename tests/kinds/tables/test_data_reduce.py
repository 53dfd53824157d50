"""Real columns as principal components (data.reduce): rank, densities of whole rows, new rows, descriptions."""

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import trapezoid
from scipy.stats import multivariate_normal
from sklearn.decomposition import PCA

import smcmc
from splitmerge_cli.analysis.predictive import items_of
from splitmerge_cli.config import specify
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.data.tables.files import csv
from splitmerge_cli.data.tables.scaled import densities_by_rank, find_rank, fit_components
from splitmerge_cli.data.values import digest_of
from splitmerge_cli.diagnostics.cluster_table import describe_columns
from splitmerge_cli.kinds.tables.choice import find_scales
from splitmerge_cli.received import DataError

pytestmark = [
    pytest.mark.filterwarnings("ignore::splitmerge_cli.fits.objects.DataNote"),
    pytest.mark.filterwarnings("ignore::splitmerge_cli.fits.objects.NotConverged"),
]
SHORT = {"iterations": 300, "chains": 2, "progress": "none"}


def draw_types(N: int, D: int, K: int, distance: float, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    z = np.arange(N) % K
    x = rng.normal(0.0, distance, (K, D))[z] + rng.normal(size=(N, D))
    return pd.DataFrame(3.0 + 2.0 * x, columns=[f"g{d}" for d in range(D)]), z


@pytest.mark.parametrize(("N", "D"), [(40, 5), (9, 30)], ids=["rows", "columns"])
def test_held_out_densities_are_those_of_probabilistic_principal_components(N: int, D: int) -> None:
    x = np.random.default_rng(1).normal(size=(N, D)) * np.arange(1, D + 1)
    train, test = x[:-3], x[-3:]
    found = densities_by_rank(train, test, 3)
    variance, directions = np.linalg.eigh(np.cov(train.T, bias=True))
    variance, directions = variance[::-1], directions[:, ::-1]
    for r in range(4):
        rest = variance[r:].mean()
        covariance = rest * np.eye(D) + (directions[:, :r] * (variance[:r] - rest)) @ directions[:, :r].T
        np.testing.assert_allclose(found[:, r], multivariate_normal(train.mean(axis=0), covariance).logpdf(test))
    if N > D:  # with more columns than rows scikit-learn divides by the wrong number of directions
        n = len(train)
        theirs = PCA(2).fit(np.sqrt((n - 1) / n) * (train - train.mean(axis=0)))
        scores = theirs.score_samples(np.zeros((1, D)))
        np.testing.assert_allclose(densities_by_rank(train, train.mean(axis=0)[None], 2)[0, 2], scores[0])


def test_the_density_of_scores_and_what_is_left_out_is_one_of_rows() -> None:
    x = np.random.default_rng(2).normal(size=(30, 4)) @ np.diag([5.0, 2.0, 1.0, 0.5]) + 7.0
    found = fit_components(x, 2)
    scores = found.scores(x)
    of_scores = multivariate_normal(np.zeros(2), np.cov(scores.T, bias=True)).logpdf(scores)
    y = (x - x.mean(axis=0)) / x.std(axis=0)
    whole = densities_by_rank(y, y, 2)[:, 2] - np.log(x.std(axis=0)).sum()
    np.testing.assert_allclose(of_scores + found.log_rest(x), whole, atol=1e-7)


def test_a_column_of_equal_numbers_is_in_no_component() -> None:
    """Though their mean may be off by a rounding."""
    x = np.random.default_rng(2).normal(size=(6, 3))
    x[:, 1] = 0.1
    found = fit_components(x, 2)
    assert found.deviation[1] == 1.0 and abs(found.directions[:, 1]).max() < 1e-12


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("N", "D", "K", "distance"), [(65, 1024, 5, 0.5), (52, 200, 3, 0.7)])
def test_K_clusters_have_K_less_one_components(N: int, D: int, K: int, distance: float, seed: int) -> None:
    frame, _ = draw_types(N, D, K, distance, seed)
    assert find_rank(frame.to_numpy()) == K - 1


def test_weak_directions_are_counted_that_predict_badly() -> None:
    """Five types that differ in 60 of 1,024 columns by two standard deviations: one component predicts best."""
    for seed in range(3):
        rng = np.random.default_rng([seed, 7])
        mean = np.zeros((5, 1024))
        mean[:, :60] = rng.normal(0, 2, (5, 60))
        rank = find_rank(mean[np.arange(65) % 5] + rng.normal(size=(65, 1024)))
        assert rank in (4, 5)


def test_one_component_is_the_least() -> None:
    assert find_rank(np.random.default_rng(0).normal(size=(30, 60))) == 1
    assert find_rank(np.arange(3.0)[:, None] * np.ones(2)) == 1


@pytest.mark.parametrize("kind", ["points", "mixed"])
def test_files_objects_and_new_rows_are_reduced_alike(kind: str, tmp_path: Path) -> None:
    frame, _ = draw_types(30, 8, 3, 2.0)
    if kind == "mixed":
        frame.insert(2, "word", list("uvw") * 10)
    frame.to_csv(tmp_path / "t.csv", index=False)
    of_file, of_frame = csv(tmp_path / "t.csv", kind, reduce="pca"), from_object(frame, kind, reduce="pca")
    np.testing.assert_array_equal(of_file.values, of_frame.values)
    r = of_frame.meta["reduced"]["components"]
    assert of_frame.column_names == [f"component {j + 1}" for j in range(r)] + ["word"] * (kind == "mixed")
    assert [column.type for column in of_frame.kind.types_of(of_frame)][:r] == ["real"] * r
    np.testing.assert_allclose(of_frame.values[:, :r].mean(axis=0), 0.0, atol=1e-8)
    again = from_object(frame, kind, reduce=r)
    np.testing.assert_array_equal(again.values, of_frame.values)
    digests = {digest_of(data) for data in (of_frame, again, pickle.loads(pickle.dumps(of_frame)))}
    assert len(digests | {digest_of(from_object(frame, kind))}) == 2
    new = of_file.kind.new_items(of_file, frame.iloc[:5, ::-1])
    np.testing.assert_array_equal(new.values, of_file.values[:5])
    np.testing.assert_allclose(new.log_jacobian, of_file.log_jacobian[:5])
    np.testing.assert_array_equal(of_file.take(slice(5)).log_jacobian, of_file.log_jacobian[:5])
    assert of_file.kind.stack(of_file, new).values.shape == (35, of_file.values.shape[1])
    described = describe_columns(of_file, np.arange(30) % 3)
    assert list(dict.fromkeys(described["column"])) == list(frame.columns)
    np.testing.assert_allclose(described["mean"][:3], [frame["g0"][k::3].mean() for k in range(3)])


def test_scales_come_before_components() -> None:
    frame, _ = draw_types(30, 4, 2, 2.0)
    scaled = from_object(np.exp(frame), "points", scale=dict.fromkeys(frame, "log"), reduce=2)
    plain = from_object(frame, "points", reduce=2)
    np.testing.assert_allclose(scaled.values, plain.values, atol=1e-8)
    np.testing.assert_allclose(scaled.log_jacobian, plain.log_jacobian - frame.sum(axis=1), atol=1e-6)
    assert not find_scales(scaled)


def test_auto_reduces_more_columns_than_rows() -> None:
    frame, _ = draw_types(20, 30, 2, 2.0)
    assert from_object(frame, "points", reduce="auto").reduction is not None
    assert from_object(frame, "points", reduce="auto").notes == [
        "30 real columns are reduced to 1 principal component (51 % of the variance); data.reduce=none reads them as "
        "they are"
    ]
    frame.iloc[2, 0] = np.nan
    for whole in (frame, frame.iloc[:, 1:20]):
        assert from_object(whole, "points", reduce="auto").reduction is None


@pytest.mark.parametrize(
    ("reduce", "message"),
    [
        ("tsne", "data.reduce=tsne: expected none, pca, auto, or a number of components"),
        (True, "data.reduce=True: expected none"),
        (0, "data.reduce=0: expected none"),
        (6, "data.reduce=6: expected at most 5 components"),
    ],
)
def test_other_words_are_rejected(reduce: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        from_object(draw_types(30, 5, 2, 2.0)[0], "points", reduce=reduce)  # type: ignore[arg-type]


def test_missing_cells_and_tables_without_real_columns_are_rejected() -> None:
    frame, _ = draw_types(30, 5, 2, 2.0)
    data = from_object(frame, "points", reduce=2)
    frame.iloc[2, 1] = np.nan
    with pytest.raises(DataError, match=r"data.reduce: row 3, column 2 \('g1'\): a missing cell"):
        data.kind.new_items(data, frame)
    with pytest.raises(
        DataError, match=r"data.reduce=pca: data: row 3, column 2 \('g1'\): a missing cell; expected none"
    ):
        from_object(frame, "points", reduce="pca")
    with pytest.raises(DataError, match="expected at least 2 real columns, not sparse, and 3 rows"):
        from_object(np.eye(4, dtype=int), "binary", reduce="pca")


def test_a_density_of_new_rows_integrates_to_one() -> None:
    frame, _ = draw_types(30, 2, 2, 3.0)
    posterior = smcmc.sample("gaussian", frame, options={"data.reduce": 1}, **SHORT)
    axes = [np.linspace(low - 60.0, high + 60.0, 401) for low, high in zip(frame.min(), frame.max(), strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    density = np.exp(posterior.log_predictive(points.reshape(-1, 2), states=3)).reshape(401, 401)
    assert abs(trapezoid(trapezoid(density, axes[1]), axes[0]) - 1.0) < 1e-2


def test_a_run_is_read_and_predicts_again(tmp_path: Path) -> None:
    frame, z = draw_types(40, 60, 3, 1.0)
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.iloc[:6].to_csv(tmp_path / "new.csv", index=False)
    options = {"data.reduce": "auto"}
    of_frame = smcmc.sample("gaussian", frame, options=options, store=tmp_path / "frame", **SHORT)
    again = smcmc.Posterior.load(of_frame.path, data=frame)
    np.testing.assert_array_equal(again.predict(frame), of_frame.predict(frame))
    assert again.run.summary["reduced"] == {"columns": 60, "components": 2}
    of_file = smcmc.sample("gaussian", tmp_path / "t.csv", options=options, store=tmp_path / "file", **SHORT)
    spec = specify(["data=csv", f"data.path={tmp_path / 't.csv'}", "model=gaussian", "data.reduce=auto"])
    new = items_of(spec.data, of_file.dataset, str(tmp_path / "new.csv"))
    np.testing.assert_array_equal(new.values, of_file.dataset.values[:6])
    estimate = of_file.point_estimate()
    assert len(set(zip(estimate, z, strict=True))) == 3
    assert np.bincount(estimate).tolist() == [14, 13, 13]


@pytest.mark.parametrize(("reduce", "D"), [({}, 1), ({"data.reduce": "none"}, 45)])
def test_model_auto_asks_for_components_unless_they_are_named(
    reduce: dict[str, str], D: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("splitmerge_cli.fits.candidates.ROUNDS", (40, 40))
    frame, _ = draw_types(20, 45, 2, 1.5)
    options = reduce | {"model.covariance": "diag"}
    assert smcmc.sample(frame, options=options, **SHORT).dataset.values.shape == (20, D)
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert smcmc.sample("auto", tmp_path / "t.csv", options=options, **SHORT).dataset.values.shape == (20, D)


def test_a_stored_choice_of_a_reduced_table_is_recalled(smcmc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("splitmerge_cli.fits.candidates.ROUNDS", (40, 40))
    monkeypatch.chdir(tmp_path)
    frame, _ = draw_types(40, 45, 2, 1.5)
    # many cells hold one number, which components do not
    frame.iloc[:18, 3] = 0.0
    frame.to_csv("t.csv", index=False)
    first, second = (smcmc("run", "t.csv", "iterations=40", "progress=none", "seed=0", status=0) for _ in range(2))
    assert "principal component" in first.stderr and "of the rows hold 0" not in first.stderr
    assert "results/choices/" in second.stderr and "damaged" not in second.stderr
    # many columns are counted, though few components are read
    assert "columns: " in first.stderr and "column   " not in first.stderr
    # read as they are, its spike is compared
    whole = smcmc(
        "run", "t.csv", "data.reduce=none", "model.covariance=diag", "iterations=40", "progress=none", "seed=0"
    )
    assert "45% of the rows hold 0" in whole.stderr
