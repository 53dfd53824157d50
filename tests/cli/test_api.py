"""The Python library: it makes the runs of the command line, and tells what they say."""

import pickle
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas as pd
import pytest
import xarray
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import splitmerge_cli as sm
from splitmerge_cli import config, received
from splitmerge_cli.runs.store.read import Run

pytestmark = pytest.mark.filterwarnings("ignore::splitmerge_cli.NotConverged")

FEW: dict[str, Any] = {"iterations": 60, "chains": 2, "progress": "none", "options": {"trace.partitions": 2}}


@pytest.fixture(scope="module")
def iris() -> pd.DataFrame:
    return load_iris(as_frame=True).data


@pytest.fixture(scope="module")
def posterior(iris: pd.DataFrame) -> sm.Posterior:
    return sm.sample({"name": "gaussian", "covariance": "full"}, iris, seed=2, **FEW)


def test_it_makes_the_run_of_the_command_line(smcmc, tmp_path: Path) -> None:
    """Equal configuration, data and seed make equal chains."""
    points = np.random.default_rng(0).normal(size=(30, 2))
    np.save(tmp_path / "points.npy", points)
    args = ["data=csv", f"data.path={tmp_path / 'points.npy'}", "model=gaussian", "iterations=60", "chains=2"]
    path = smcmc("run", *args, "trace.partitions=2", "progress=none").stdout.split()[-1]
    theirs, ours = Run(path), sm.sample("gaussian", points, **FEW).run
    for table in ("trace", "partitions", "moves"):
        one, other = (
            getattr(run, table)().drop(columns=["seconds", "run_id"], errors="ignore") for run in (theirs, ours)
        )
        pd.testing.assert_frame_equal(one, other)
    named = sm.sample("gaussian", tmp_path / "points.npy", **FEW)
    assert named.run.path.name == Path(path).name


def test_an_option_may_be_an_array() -> None:
    points = np.random.default_rng(0).normal(size=(20, 2))
    scales, few = np.array([0.5, 2.0]), FEW | {"iterations": 8}
    one, other = (sm.sample({"name": "gaussian", "b0": b0}, points, **few) for b0 in (scales, scales.tolist()))
    assert one.run.path.name == other.run.path.name and one.run.config["model"]["b0"] == scales.tolist()


def test_draws_are_of_the_second_halves(posterior: sm.Posterior) -> None:
    assert posterior.complete and posterior.partitions.shape == (30, 150)
    tree = posterior.traces
    assert tree["posterior"]["K"].shape == (2, 30) and tree["warmup_posterior"]["K"].shape == (2, 30)
    trace = posterior.run.trace()
    late = trace[(trace["chain"] == 1) & (trace["iteration"] > 30)]
    np.testing.assert_array_equal(tree["sample_stats"]["lp"].to_numpy()[1], late["log_joint"])


def test_a_tree_is_written_and_read(posterior: sm.Posterior, tmp_path: Path) -> None:
    posterior.traces.to_netcdf(tmp_path / "traces.nc")
    found = xarray.open_datatree(tmp_path / "traces.nc")
    np.testing.assert_array_equal(found["posterior"]["K"], posterior.traces["posterior"]["K"])


def test_what_it_says_of_the_partition(posterior: sm.Posterior) -> None:
    labels = posterior.labels
    together = posterior.similarity()
    np.testing.assert_allclose(together, together.T)
    draws = posterior.partitions
    assert together[3, 140] == np.mean(draws[:, 3] == draws[:, 140])
    np.testing.assert_allclose(posterior.similarity([3]), together[[3]])
    found = posterior.membership()
    assert (found["cluster"] == labels + 1).all() and found["certainty"].between(0, 1).all()
    ball = posterior.credible_ball(0.9)
    assert ball.share >= 0.9 and ball.lower.n_clusters >= ball.upper.n_clusters
    assert posterior.point_estimate("binder").shape == (150,)


def test_clusters_in_the_datas_own_terms(posterior: sm.Posterior, iris: pd.DataFrame) -> None:
    table, columns = posterior.cluster_summary(), posterior.column_summary()
    labels = posterior.labels
    assert table["size"].sum() == 150 and table["size"].is_monotonic_decreasing
    setosa = int(labels[0]) + 1
    row = columns[(columns["cluster"] == setosa) & (columns["column"] == "petal length (cm)")].iloc[0]
    assert row["mean"] == pytest.approx(iris.loc[labels == labels[0], "petal length (cm)"].mean())
    assert row["low"] < row["mean"] < row["high"] and row["divergence"] > 1
    assert "petal" in table.set_index("cluster").loc[setosa, "telling"]


def test_new_rows(posterior: sm.Posterior, iris: pd.DataFrame) -> None:
    probability = posterior.predict_proba(iris)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    assert np.mean(posterior.predict(iris) == posterior.labels) > 0.9
    far = iris.head(1) + 1000
    assert posterior.predict(far).tolist() == [-1] and posterior.log_predictive(far)[0] < -30


def test_a_narrow_terminal_hides_no_column(posterior: sm.Posterior, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    for table in (posterior.cluster_summary(), posterior.cluster_summary().head(2), posterior.column_summary()):
        # what pandas takes a terminal to be
        with pd.option_context("display.max_columns", 4):
            lines = repr(table).splitlines()
        assert all(len(line) <= 70 for line in lines)
        assert set(table.columns) <= set(" ".join(lines).split())


def test_a_picture_of_what_has_not_converged_warns(posterior: sm.Posterior) -> None:
    assert posterior.caution is not None
    for category in (sm.NotConverged, ConvergenceWarning):
        with pytest.warns(category, match="have not converged"):
            posterior.plot("n_clusters")


def test_a_folder_is_passed_on(posterior: sm.Posterior, iris: pd.DataFrame, tmp_path: Path) -> None:
    shutil.copytree(posterior.path, tmp_path / "received")
    found = sm.Posterior.load(tmp_path / "received", iris)
    assert (found.partitions == posterior.partitions).all() and found.caution == posterior.caution


def test_it_pickles(posterior: sm.Posterior) -> None:
    found = pickle.loads(pickle.dumps(posterior))
    assert found.path != posterior.path and (found.labels == posterior.labels).all()
    assert found.dataset.columns == posterior.dataset.columns


def test_a_temporary_folder_goes_with_the_object() -> None:
    found = sm.sample("bernoulli", np.eye(6), **FEW)
    folder = found.path
    assert folder.is_dir()
    del found
    assert not folder.exists()


def test_a_store_is_a_run_that_is_not_made_again(tmp_path: Path) -> None:
    first = sm.sample("bernoulli", np.eye(6), store=tmp_path, **FEW)
    begun = (first.path / "status.json").stat().st_mtime_ns
    again = sm.sample("bernoulli", np.eye(6), store=tmp_path, **FEW)
    assert again.path == first.path and (again.path / "status.json").stat().st_mtime_ns == begun
    loaded = sm.Posterior.load(first.path, np.eye(6))
    assert (loaded.predict(np.eye(6)[:1]) == first.predict(np.eye(6)[:1])).all()
    with pytest.raises(config.ConfigError, match="data: expected the data of"):
        sm.Posterior.load(first.path, np.zeros((6, 6)))


def test_true_labels_are_a_part_of_the_data_that_are_loaded(tmp_path: Path) -> None:
    truth = ["a", None, "b", "a", "a", float("nan")]
    found = sm.sample("bernoulli", np.eye(6), truth=truth, store=tmp_path, **FEW)
    assert found.dataset.truth.tolist() == [0, -1, 1, 0, 0, -1]
    loaded = sm.Posterior.load(found.path, np.eye(6), truth)
    assert (loaded.predict(np.eye(6)[:1]) == found.predict(np.eye(6)[:1])).all()
    with pytest.raises(config.ConfigError, match="including true labels"):
        sm.Posterior.load(found.path, np.eye(6))
    # over the items that have one
    known, point = [0, 2, 3, 4], np.array(found.run.summary["point_estimate"]["labels"])
    said = found.run.summary["diagnostics"]
    assert said["ari/point"] == pytest.approx(adjusted_rand_score([0, 1, 0, 0], point[known]))
    assert said["true_labels"] == 4 and len(point) == 6


WORDS = pd.DataFrame(
    {
        "sex": ["female", "male", None, "female"] * 6,
        "x": np.r_[np.linspace(0, 1, 12), np.linspace(5, 6, 12)],
        "land": "US",
        "isle": ["a", "b", "c"] * 8,
    }
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", ["mixed", "auto", {"name": "mixed", "alpha": 0.5}])
def test_an_estimator_takes_a_data_frame_with_words(model: Any) -> None:
    estimator = clone(sm.SplitMergeClustering(model, iterations=50, chains=2, random_state=1))
    fitted = make_pipeline(estimator).fit(WORDS)[-1]
    assert fitted.posterior_.run.config["model"]["name"] == "mixed"
    assert fitted.n_features_in_ == 4 and list(fitted.feature_names_in_) == list(WORDS.columns)
    assert fitted.predict(WORDS.head(3)).shape == (3,) and np.isfinite(fitted.score(WORDS))
    np.testing.assert_allclose(fitted.predict_proba(WORDS.head(2)).sum(axis=1), 1)
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(WORDS[["x", "sex"]])
    # the same cells without names
    cells = WORDS.to_numpy(object)
    again = clone(estimator).fit(cells)
    assert (again.labels_ == fitted.labels_).all() and (again.predict(cells[:3]) == fitted.predict(WORDS[:3])).all()


def test_a_prediction_names_levels_that_the_data_do_not_have() -> None:
    table = pd.DataFrame({"x": np.arange(40) * 7.5 % 11, "size": ["small", "large"] * 20})
    posterior = sm.sample("mixed", table, seed=1, **FEW)
    new = pd.DataFrame({"size": ["Small ", "huge", None], "x": [1.5, 2.5, 3.5]})
    with pytest.warns(
        sm.DataNote, match="new items: 1 of 3 cells of 'size' are read as missing: .* do not have 'huge'"
    ):
        found = posterior.predict_proba(new)
    np.testing.assert_array_equal(found, posterior.predict_proba(new.assign(size=["small", None, None])))


def test_an_estimator_of_numbers_says_what_reads_words() -> None:
    with pytest.raises(ValueError, match=r"'female'; expected numbers, or model='mixed' or 'auto'"):
        sm.SplitMergeClustering("gaussian").fit(WORDS)


def test_an_interruption_gives_what_there_is() -> None:
    threading.Timer(2.0, lambda: __import__("os").kill(__import__("os").getpid(), 2)).start()
    found = sm.sample(
        "gaussian",
        np.random.default_rng(0).normal(size=(200, 2)),
        budget=60,
        chains=2,
        progress="none",
        options={"trace.partitions": 10},
    )
    assert not found.complete and len(found.partitions) > 1
    assert found.labels.shape == (200,)


def test_draws_of_a_budget_weigh_the_same() -> None:
    """Such a run records ever more rarely; its draws are those of one spacing."""
    found = sm.sample("bernoulli", np.eye(6), budget=0.2, chains=2, progress="none")
    recorded = found.run.partitions()
    for chain, rows in found._recorded_partitions.groupby("chain"):
        spacing = np.diff(rows["iteration"])
        every = recorded.loc[recorded["chain"] == chain, "iteration"]
        assert len(spacing) and (spacing == spacing[0]).all() and (every.diff().dropna() <= spacing[0]).all()


def test_until_goes_on_as_long_as_chains_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("splitmerge_cli.runs.judgement.FIRST", 50)
    few = {key: value for key, value in FEW.items() if key != "iterations"}
    points = np.concatenate([np.zeros((10, 1)), np.ones((10, 1)) * 50]) + np.random.default_rng(0).normal(size=(20, 1))
    found = sm.sample("gaussian", points, until=1.2, **few)
    assert found.rhat < 1.2 and found.run.summary["until"]["reached"]
    # what never changes has an R-hat of 1: points of which the chains make this and that
    points = np.random.default_rng(0).normal(size=(20, 1))
    short = sm.sample("gaussian", points, until=1.0000001, iterations=100, **few)
    assert short.run.summary["iterations"] == [100, 100]


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: sm.sample("gausian", np.eye(3)), config.ConfigError, "model=gausian"),
        (lambda: sm.sample({"covariance": "full"}, np.eye(3)), config.ConfigError, "a mapping without a name"),
        (lambda: sm.sample("gaussian", np.eye(3), "nuts"), config.ConfigError, "sampler=nuts"),
        (lambda: sm.sample("gaussian", np.eye(3), until=0.9), config.ConfigError, "until.rhat=0.9"),
        (lambda: sm.sample("gaussian", np.eye(3), options={"colour": 1}), config.ConfigError, "colour"),
        (lambda: sm.sample("bernoulli", np.eye(3) * 2), received.DataError, "expected 0 or 1"),
        (lambda: sm.sample("gaussian", "no such file.csv"), received.DataError, "no such file"),
    ],
)
def test_bad_input_is_said(call: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        call()


def test_rhat_of_one_chain_shows_nothing() -> None:
    found = sm.sample("bernoulli", np.eye(6), **(FEW | {"chains": 1}))
    assert np.isnan(found.rhat) and not found.converged


def test_blocks_of_a_network() -> None:
    graph = networkx.karate_club_graph()
    found = sm.SplitMergeBlocks(iterations=100, chains=2, random_state=3, options={"trace.partitions": 2}).fit(graph)
    assert found.labels_.shape == (34,) and found.n_clusters_ == found.labels_.max() + 1
    assert found.similarity_.shape == (34, 34)
    ties = networkx.to_numpy_array(graph)[:2]
    assert found.predict_proba(ties).shape == (2, found.n_clusters_ + 1) and found.score(ties) < 0
    assert found.converged_ == found.posterior_.converged


ESTIMATORS = [
    sm.SplitMergeClustering(iterations=20, chains=2, options={"trace.partitions": 1}),
    sm.SplitMergeClustering("gaussian", iterations=20, chains=2, options={"trace.partitions": 1}),
    sm.SplitMergeBlocks(iterations=1000),
    sm.SplitMergeTopics(iterations=20, chains=2, options={"trace.partitions": 1}),
]


@pytest.mark.parametrize("method", ["predict", "predict_proba", "score_samples", "score"])
def test_an_estimator_that_is_not_fitted_says_so(method: str) -> None:
    with pytest.raises(NotFittedError):
        getattr(sm.SplitMergeClustering("gaussian"), method)(np.zeros((3, 2)))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: f"{type(e).__name__}-{e.model}")
def test_scikit_learns_checks(estimator: Any) -> None:
    # the check takes what has `predict_proba` and reads sparse tables for a classifier
    is_table = isinstance(estimator, sm.SplitMergeClustering)
    sparse = {f"check_estimator_sparse_{kind}": "not a classifier" for kind in ("array", "matrix")}
    # weights have the posterior of repeated rows that stay together, but other draws
    weights = {f"check_sample_weight_equivalence_on_{kind}_data": "chains draw" for kind in ("dense", "sparse")}
    check_estimator(estimator, expected_failed_checks=sparse | weights if is_table else None)


def test_showing_an_estimator_computes_no_similarity(iris: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook shows what a cell ends with; the matrix of many rows would fill the memory, or raise."""
    estimator = sm.SplitMergeClustering("gaussian", chains=2, iterations=60, random_state=0).fit(iris)
    assert estimator.similarity_.shape == (150, 150)
    monkeypatch.setattr(type(estimator.posterior_), "similarity", lambda *_: pytest.fail("computed"))
    assert "labels_" in estimator._repr_html_()


def test_an_estimator_in_short(iris: pd.DataFrame) -> None:
    of_run = {"iterations": 60, "chains": 2, "random_state": 1, "options": {"trace.partitions": 2}}
    estimator = sm.SplitMergeClustering("gaussian", **of_run)
    labels = estimator.fit_predict(iris)
    assert (labels == estimator.labels_).all() and list(estimator.feature_names_in_) == list(iris.columns)
    assert estimator.score(iris) == pytest.approx(np.mean(estimator.posterior_.log_predictive(iris.to_numpy())))
    framed = estimator.set_output(transform="pandas").transform(iris)
    assert list(framed) == list(estimator.get_feature_names_out()) and len(framed.columns) == estimator.n_clusters_
    assert (framed.to_numpy() == estimator.predict_proba(iris)[:, :-1]).all()
    again = sm.SplitMergeClustering(**estimator.get_params()).fit(iris)
    assert (again.labels_ == labels).all()


def test_a_seed_that_cannot_be_is_named_before_any_fit(iris: pd.DataFrame) -> None:
    # a third of the rows hold 0: fits compare two readings
    table = iris.assign(rain=np.where(np.arange(len(iris)) % 3, iris.iloc[:, 0], 0.0))
    for seed in (-1, 1.5, "x"):
        with pytest.raises(config.ConfigError, match=f"^seed={seed}: expected a whole number from 0 to "):
            sm.sample(table, seed=seed, **FEW)


def test_a_generator_draws_the_seed(iris: pd.DataFrame) -> None:
    """SPEC 7; a whole number is the seed itself."""
    of_run = {"iterations": 20, "chains": 1, "progress": "none"}
    seeds = [
        sm.sample("gaussian", iris, rng=rng, **of_run).run.config["seed"]
        for rng in (5, np.random.default_rng(1), np.random.default_rng(1), np.random.default_rng(2))
    ]
    assert seeds[0] == 5 and seeds[1] == seeds[2] != seeds[3]
    with pytest.raises(config.ConfigError, match="seed=3, rng: expected one of them"):
        sm.sample("gaussian", iris, seed=3, rng=5)
    with pytest.raises(config.ConfigError, match="rng: str; expected a whole number"):
        sm.sample("gaussian", iris, rng="five")


def test_the_random_numbers_of_a_program_stay_what_they_are() -> None:
    """In a process of its own: what draws does so when it is imported."""
    code = (
        "import random; import numpy as np; import splitmerge_cli as sm\n"
        "before = random.getstate(); np.random.seed(1); drawn = np.random.rand(); np.random.seed(1)\n"
        "sm.sample('gaussian', np.eye(8), iterations=4, chains=2, progress='none')\n"
        "assert before == random.getstate() and drawn == np.random.rand()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
