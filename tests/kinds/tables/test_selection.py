"""``auto``: the model that reads a table, the covariance that predicts it best."""

from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, save_npz

import splitmerge_cli as sm
from splitmerge_cli.api import selection
from splitmerge_cli.config import ConfigError, component, specify, specify_keys
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.data.tables.files import csv
from splitmerge_cli.fits import candidates
from splitmerge_cli.kinds.tables import choice
from splitmerge_cli.runs import prepare
from splitmerge_cli.runs.store.read import Run

pytestmark = pytest.mark.usefixtures("commands")

FEW: dict[str, Any] = {"iterations": 20, "chains": 2, "progress": "none", "options": {"trace.partitions": 2}}


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "ROUNDS", (20, 40))


@pytest.fixture
def tilted_cloud() -> np.ndarray:
    x = np.random.default_rng(0).normal(size=60)
    return np.column_stack([x, x + np.random.default_rng(1).normal(scale=0.05, size=60)])


def test_the_covariance_that_predicts_best_is_taken(smcmc, tilted_cloud: np.ndarray, tmp_path: Path) -> None:
    pd.DataFrame(tilted_cloud, columns=["x", "y"]).to_csv(tmp_path / "points.csv", index=False)
    args = ["data=csv", "data.path=points.csv", "model=gaussian", "iterations=20", "chains=2", "progress=none"]
    result = smcmc("run", *args, "model.covariance=auto")
    assert "model.covariance=auto: full, by the leave-one-out log predictive density" in result.stderr
    assert Run(result.stdout.split()[-1]).config["model"]["covariance"] == "full"
    # the run is that of the word itself
    assert smcmc("run", *args, "model.covariance=full").stdout == result.stdout


@pytest.mark.parametrize(
    "command", [pytest.param("race --seeds 1", marks=pytest.mark.slow), "sweep --dry-run", "certify --pairs 2"]
)
def test_jobs_of_one_data_set_share_the_choice(smcmc, tilted_cloud: np.ndarray, tmp_path: Path, command: str) -> None:
    pd.DataFrame(tilted_cloud, columns=["x", "y"]).to_csv(tmp_path / "points.csv", index=False)
    samplers = "sampler=sams" if command.startswith("certify") else "sampler=sams,sdds"
    args = ["data=csv", "data.path=points.csv", "model=gaussian", "iterations=50", samplers]
    result = smcmc(*command.split(), *args, "model.covariance=auto")
    assert result.stderr.count("model.covariance=auto: full, by the leave-one-out log predictive density") == 1
    configs = [path.read_text() for path in (tmp_path / "results").rglob("config.yaml")]
    assert all("covariance: full" in config for config in configs)
    assert len(configs) == (4 if command.startswith("race") else 0)


def test_the_table_is_of_densities_given_the_other_rows(
    tilted_cloud: np.ndarray, capsys: pytest.CaptureFixture[str]
) -> None:
    found = sm.sample({"name": "gaussian", "covariance": "auto"}, tilted_cloud, **FEW)
    assert found.run.config["model"]["covariance"] == "full"
    best, *_, worst = found.run.summary["chosen"]["model.covariance"]
    assert best["covariance"] == "full" and best["difference"] == 0 and worst["difference"] > 0.5
    # nothing predicts better than the truth does: 0.38 for these rows
    assert -0.8 < best["log_density"] < 0.38
    assert f"{worst['covariance']} {worst['difference']:.3f} behind" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("table", "model"),
    [
        (pd.DataFrame({"a": [0, 1, 1, 0], "b": [1, 1, 0, 0]}), "bernoulli"),
        (pd.DataFrame({"a": [0.5, 1.25, 1.75, 0.125], "b": [1.5, 1, 7, 9.25]}), "gaussian"),
        (pd.DataFrame({"a": [0.5, 1.25, None, 0.125], "b": [1.5, 1, 7, 9.25]}), "mixed"),
        (pd.DataFrame({"a": [0.5, 1.25, 1.75, 0.125], "b": ["x", "y", "x", "y"]}), "mixed"),
        (networkx.path_graph(4), "irm"),
        (["a text", "of a few", "a text", "words"], "hdp"),
        ([["one", "word"], ["or", "more", "words"]], "hdp"),
        (pd.Series([["two", "words"], ["in", "each"]]), "hdp"),
        ([["two", "cells"], ["in", "each"], ["two", "rows"], ["in", "it"]], "mixed"),
        (csr_array(np.eye(4, dtype=bool)), "bernoulli"),
        (csr_array(np.diag([0.0, 1.0, 3.0, 1.0])), "multinomial"),
        (csr_array(np.diag([0.0, 1.5, 3.0, 1.0])), "gaussian"),
        (csr_array(np.diag([0, -1, 3, 1])), "gaussian"),
    ],
)
def test_the_model_that_reads_the_data(table: Any, model: str) -> None:
    assert selection.model_for_object(table)[0] == model


def test_a_sparse_matrix_of_real_numbers_is_read_as_it_is(smcmc) -> None:
    """As a file it ended in an error, as an object its zeros were compared with a probability of their own."""
    rng = np.random.default_rng(0)
    cells = csr_array(np.where(rng.random((30, 8)) < 0.3, rng.normal(size=(30, 8)), 0.0))
    save_npz("t.npz", cells)
    ended = smcmc("run", "t.npz", "iterations=5", "chains=2", "progress=none")
    assert ended.exit_code == 0 and "model=auto: model=gaussian" in ended.stderr
    assert sm.sample("auto", cells, **FEW).run.config["model"]["name"] == "gaussian"


@pytest.mark.parametrize(("largest", "model"), [(2, "bernoulli"), (5, "multinomial")])
def test_a_sparse_file_of_counts_is_read_as_the_matrix_is(smcmc, largest: int, model: str) -> None:
    """As a file it was read as real numbers, of which 60 rows of counts made dozens of clusters."""
    cells = csr_array(np.random.default_rng(0).integers(0, largest, (30, 8)))
    save_npz("t.npz", cells)
    ended = smcmc("run", "t.npz", "iterations=5", "chains=2", "progress=none")
    assert ended.exit_code == 0 and f"model=auto: model={model}" in ended.stderr
    run = sm.sample("auto", cells, **FEW).run
    assert run.config["model"]["name"] == model
    data = csv("t.npz", str(selection.kind_of_model(model)), columns=[3, 1], N=20)
    assert np.array_equal(data.values, cells.toarray()[:20, [2, 0]])


def test_two_words_are_left_to_mixed(smcmc) -> None:
    """They are binary, but `bernoulli` reads 0 and 1."""
    pd.DataFrame({"sex": ["female", "male"] * 10}).to_csv("t.csv", index=False)
    result = smcmc("run", "data=csv", "data.path=t.csv", "model=auto", "iterations=20", "chains=2", "progress=none")
    assert result.exit_code == 0 and "model=auto: model=mixed" in result.stderr


def test_a_frame_with_ids_is_read_without_them() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"name": [f"n{i}" for i in range(30)], "x": rng.normal(size=30), "y": rng.normal(size=30)})
    found = sm.sample("auto", frame, **FEW)
    assert found.run.config["model"]["name"] == "gaussian" and found.dataset.columns == ["x", "y"]
    assert np.isfinite(found.log_predictive(frame)).all()
    np.testing.assert_array_equal(sm.Posterior.load(found.path, frame).labels, found.labels)


def _spikes_in_a_wide_table(rng: np.random.Generator) -> pd.DataFrame:
    cells = np.where(rng.random((20, 40)) < 0.4, 0.0, rng.normal(size=(20, 40)).round(3))
    return pd.DataFrame(cells, columns=[f"v{j}" for j in range(40)])


def _shares_beside_names(rng: np.random.Generator) -> pd.DataFrame:
    shares = np.array([[0.6, 0.2, 0.1, 0.1], [0.1, 0.2, 0.6, 0.1]])[rng.integers(2, size=80)]
    rows = [
        rng.multinomial(total, share) for total, share in zip(rng.negative_binomial(3, 0.1, 80), shares, strict=True)
    ]
    return pd.DataFrame(rows, columns=list("abcd")).assign(id=[f"row{n}" for n in range(80)])


def _whole_numbers(rng: np.random.Generator) -> pd.DataFrame:
    return pd.DataFrame(rng.poisson(np.array([20, 60])[rng.integers(2, size=(80, 1))], size=(80, 3)), columns=[*"abc"])


def _numbers_beside_words(rng: np.random.Generator) -> pd.DataFrame:
    words = [f"{word} of {number % 25}" for number, word in enumerate(["some"] * 40 + ["none"] * 40)]
    return pd.DataFrame(rng.normal(size=(80, 2)), columns=["x", "y"]).assign(remark=words)


@pytest.mark.parametrize(
    ("make", "options", "model"),
    [
        (_numbers_beside_words, {"data.columns": ["x", "y"]}, "gaussian"),
        (_spikes_in_a_wide_table, {}, "gaussian"),
        (_shares_beside_names, {}, "multinomial"),
        (_whole_numbers, {"data.types": {"a": "real"}}, "mixed"),
    ],
)
def test_a_frame_is_read_as_its_file_is(make: Any, options: dict[str, Any], model: str, tmp_path: Path) -> None:
    frame = make(np.random.default_rng(1))
    frame.to_csv(tmp_path / "t.csv", index=False)
    keys = {"iterations": 2, "chains": 2, "progress": "none"}
    of_file = specify_keys(keys | options | {"data": "csv", "data.path": str(tmp_path / "t.csv"), "model": "auto"})
    settled = selection.settle(of_file, lambda line: None).spec
    found = sm.sample("auto", frame, options=options, **keys)
    assert found.run.config["model"]["name"] == settled.model.name == model
    read = prepare(settled).dataset
    np.testing.assert_array_equal(found.dataset.values, read.values)
    assert (found.dataset.types, found.dataset.columns) == (read.types, read.columns)
    kept = frame[options.get("data.columns", list(frame))]
    np.testing.assert_array_equal(sm.Posterior.load(found.path, kept).labels, found.labels)


def test_weighted_rows_are_not_compared_with_vectors_that_have_no_weight(tmp_path: Path) -> None:
    frame = _shares_beside_names(np.random.default_rng(1)).assign(id=np.arange(80) % 3 + 0.5)
    frame.to_csv(tmp_path / "t.csv", index=False)
    named = {"data": "csv", "data.path": str(tmp_path / "t.csv"), "data.weights": "id", "model": "auto"}
    chosen = selection.settle(specify_keys(named | {"progress": "none"}), lambda line: None).chosen
    assert chosen is not None
    assert all(row["counts"].startswith("as ") for row in chosen["counts"])


def test_what_is_left_out_is_named(capsys: pytest.CaptureFixture[str], tilted_cloud: np.ndarray) -> None:
    tilted_cloud[3, 0] = np.nan
    sm.sample({"name": "gaussian", "covariance": "auto"}, tilted_cloud, **FEW)
    said = capsys.readouterr().out.splitlines()
    assert [line for line in said if line.startswith("model.covariance=iso is left out: ") and "a missing cell" in line]
    assert said[-1].startswith("model.covariance=auto: full, by the leave-one-out log predictive density: diag ")


def test_real_columns_beside_words_are_compared(capsys: pytest.CaptureFixture[str], tilted_cloud: np.ndarray) -> None:
    frame = pd.DataFrame(tilted_cloud, columns=[f"x{d}" for d in range(tilted_cloud.shape[1])])
    frame["word"] = np.array(["a", "b", "c"])[np.arange(len(frame)) % 3]
    found = sm.sample("auto", frame, **FEW)
    said = capsys.readouterr().out
    assert "model.covariance=auto: full, by the leave-one-out log predictive density" in said
    assert found.run.config["model"]["name"] == "mixed"
    assert found.run.config["model"]["covariance"] == "full"


@pytest.mark.slow
def test_counts_are_read_as_what_predicts_them(
    smcmc, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whole numbers that go with a real column, and counts that do not; of a file and of a data frame."""
    monkeypatch.setattr(candidates, "ROUNDS", (50, 200))
    rng = np.random.default_rng(0)
    x = rng.normal(20.0, 6.0, 80)
    together = pd.DataFrame({"x": x.round(2), "n": (0.45 * x + rng.normal(0, 0.3, 80)).round().clip(0).astype(int)})
    apart = pd.DataFrame({"x": x.round(2), "n": rng.poisson(0.7, 80)})
    for frame, how, type_ in ((together, "as real numbers", "real"), (apart, "as counts", "count")):
        frame.to_csv("t.csv", index=False)
        args = ["data=csv", "data.path=t.csv", "model=auto", "iterations=20", "chains=2", "progress=none"]
        ended = smcmc("run", *(args := [*args, f"out={type_}"]))
        said = f"counts (n) {how}, by the leave-one-out log predictive probability"
        assert said in ended.stderr
        run = Run(ended.stdout.split()[-1])
        assert run.summary["chosen"]["counts"][0]["counts"] == how
        lines: list[str] = []
        again = selection.settle(specify(args, leave_to_data=True), lines.append)
        assert again.chosen == run.summary["chosen"] and again.spec.values == run.config
        assert len(lines) == 1 and lines[0].startswith("model=mixed ") and f"as {type_}/choices/" in lines[0]
        if type_ == "count":
            continue
        found = sm.sample("auto", frame, **FEW)
        assert said in capsys.readouterr().out
        assert [column.type for column in found.dataset.types or ()][1] == type_
        assert found.run.summary["chosen"]["counts"][0]["counts"] == how
    assert selection.settle(specify([*args, "data.types={n: count}"], leave_to_data=True), print).chosen is None


@pytest.mark.parametrize("source", ["file", "frame"])
def test_skewed_columns_get_scales_of_their_own(
    smcmc, capsys: pytest.CaptureFixture[str], source: str, tmp_path: Path
) -> None:
    frame = pd.DataFrame(np.exp(np.random.default_rng(0).normal(size=(200, 2))), columns=["a", "b"])
    frame = frame.assign(c=np.random.default_rng(1).normal(size=200))
    frame.to_csv("t.csv", index=False)
    said = "data.scale=auto: a log, b log, 0."
    if source == "frame":
        run = sm.sample(frame, **FEW).run
        assert said in capsys.readouterr().out
    else:
        args = ["t.csv", "iterations=20", "chains=2", "progress=none"]
        ended = smcmc("run", *args)
        assert ended.stderr.count(said) == 1 and " nats a row ahead (s.e. 0." in ended.stderr
        run = Run(ended.stdout.split()[-1])
        assert run.config["data"]["scale"] == {"a": "log", "b": "log"}
        again = smcmc("run", *args)
        assert again.stdout == ended.stdout and "data.scale={a: log,b: log}" in again.stderr
        assert said not in again.stderr
        assert ", medians)" in run.content("cluster_summary.csv").decode()
    assert run.summary["chosen"]["data.scale"][0]["columns"] == "on a scale of their own"
    assert run.summary["scales"] == {"a": "log", "b": "log"}


def test_who_names_no_scale_gets_none(smcmc, capsys: pytest.CaptureFixture[str], tilted_cloud: np.ndarray) -> None:
    frame = pd.DataFrame(np.exp(tilted_cloud), columns=["a", "b"])
    assert sm.sample(frame, **FEW | {"options": {"data.scale": "none"}}).dataset.scales is None
    assert sm.sample("gaussian", frame, **FEW).dataset.scales is None
    # numbers of the prior are in the units of the columns
    assert sm.sample({"name": "auto", "b0": 0.5}, frame, **FEW).dataset.scales is None
    assert "data.scale" not in capsys.readouterr().out
    pd.DataFrame(tilted_cloud, columns=["a", "b"]).to_csv("t.csv", index=False)
    args = ["data=csv", "data.path=t.csv", "iterations=20", "chains=2", "progress=none"]
    named = smcmc("run", *args, "model=gaussian", "data.scale=auto")
    assert "data.scale=auto: columns as they are: none is clearly skewed" in named.stderr
    assert "data.scale" not in smcmc("run", *args, "model=auto").stderr


def test_the_help_of_the_covariance_names_auto(smcmc) -> None:
    assert "auto" in " ".join(smcmc("model", "info", "gaussian").stdout.split())


def test_of_one_column_nothing_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail_if_sampled(model: Any, iterations: int | None = None) -> Any:
        raise AssertionError

    dataset = from_object(np.arange(12.0).reshape(-1, 1), "points")
    table = candidates.covariances(component("model", "gaussian"), dataset, candidates.Fits(fail_if_sampled))
    assert table["covariance"] == ["diag"] and np.isnan(table["log_density"]).all()


@pytest.mark.slow
def test_scales_come_from_the_data(smcmc, tilted_cloud: np.ndarray) -> None:
    pd.DataFrame(tilted_cloud, columns=["x", "y"]).to_csv("points.csv", index=False)
    args = ["data=csv", "data.path=points.csv", "model=auto", "iterations=20", "chains=2", "progress=none"]
    model = Run(smcmc("run", *args).stdout.split()[-1]).config["model"]
    assert (model["name"], model["b0"], model["kappa0"]) == ("gaussian", "hierarchical", "hierarchical")
    kept = Run(smcmc("run", *args, "model.b0=0.5", "model.covariance=diag").stdout.split()[-1]).config["model"]
    assert (kept["covariance"], kept["b0"], kept["kappa0"]) == ("diag", 0.5, "hierarchical")
    of_array = sm.sample("auto", tilted_cloud, **FEW).run.config["model"]
    assert {key: of_array[key] for key in ("covariance", "b0", "kappa0")} == {
        key: model[key] for key in ("covariance", "b0", "kappa0")
    }


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["data=jain_neal", "model=bernoulli", "model.covariance=auto"], "model=bernoulli has no covariance to choose"),
        (["data=csv", "data.path=none.csv", "model=auto"], "none.csv: no such file"),
    ],
)
def test_what_cannot_be_chosen_is_said(smcmc, args: list[str], said: str) -> None:
    result = smcmc("run", *args)
    assert result.exit_code == 2 and said in result.stderr and not Path("results").exists()


def test_one_row_holds_nothing_out() -> None:
    with pytest.raises(ConfigError, match="1 row; expected at least two"):
        sm.sample({"name": "gaussian", "covariance": "auto"}, np.ones((1, 2)), **FEW)


@pytest.mark.slow
def test_a_power_is_taken_once(smcmc, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With the model that reads the table, as the command that repeats it names; a finished run says what it was."""
    monkeypatch.setattr(choice, "POWERS", (1.0, 0.4))
    rows = np.random.default_rng(0).random((60, 4)) < np.repeat([[0.1], [0.9]], 30, axis=0)
    pd.DataFrame(rows.astype(int), columns=[*"abcd"]).to_csv(tmp_path / "rows.csv", index=False)
    args = ["run", "data=csv", "data.path=rows.csv", "model=auto", "iterations=20", "progress=none"]
    first = smcmc(*args, "model.power=auto")
    assert "nats a row" in first.stderr or "no lower power" in first.stderr
    folder = first.stdout.split()[-1]
    taken = Run(folder).config["model"]["power"]
    assert [point["power"] for point in Run(folder).summary["chosen"]["model.power"]] == [1.0, 0.4]
    again = smcmc(*args, "model.power=auto")
    assert f"model.power={taken}, as results/choices/" in again.stderr and again.stdout == first.stdout
    assert smcmc(*args, f"model.power={taken:g}").stdout == first.stdout


@pytest.mark.parametrize("words", [["model=irm", "data=network"], ["model=auto", "data=network"], ["data=emm"]])
def test_a_model_without_a_power_says_which_have_one(smcmc, words: list[str]) -> None:
    result = smcmc("run", *words, "N=20", "model.power=auto")
    assert result.exit_code == 2 and "expected one of bernoulli, gamma_poisson" in result.stderr
    assert not Path("results").exists()
