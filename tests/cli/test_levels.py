"""Levels, answers, cores and outliers of a run: what the command line and Python show of them."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from typer.testing import CliRunner

import smcmc as smcmc_library
from splitmerge_cli.analysis import alternatives
from splitmerge_cli.analysis.pages import runs as pages
from splitmerge_cli.analysis.predictive import predict
from splitmerge_cli.cli import app
from splitmerge_cli.config import component
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.runs import summaries
from splitmerge_cli.runs.clusterings import sampled_partitions
from splitmerge_cli.runs.draws import State
from splitmerge_cli.runs.store.read import Run

FAR = 83
"""Row of the one item far from all others, from 0."""


@pytest.fixture(scope="module")
def table(tmp_path_factory) -> Path:
    """Three groups of 30 rows, near each other, and one row far away."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(90, 2)) + np.repeat([[0, 0], [2.5, 0], [0, 9]], 30, axis=0)
    x[FAR] = [60, -60]
    path = tmp_path_factory.mktemp("levels") / "groups.csv"
    pd.DataFrame({"x": x[:, 0], "y": x[:, 1]}).to_csv(path, index=False)
    return path


def words_of_run(table: Path) -> list[str]:
    """The command that clusters the table."""
    keys = ["model=gaussian", "iterations=1500", "chains=2", "progress=none", f"out={table.parent / 'out'}"]
    return ["run", str(table), *keys]


@pytest.fixture(scope="module")
def path(table) -> Path:
    """The run on the table."""
    result = CliRunner().invoke(app, words_of_run(table))
    assert result.exit_code == 0, result.output
    found = Path(result.stdout.splitlines()[-1])
    assert "1 outlier of 90 rows" in result.stderr and "outliers, at most 3 together (cluster " in result.stderr
    assert f"): {FAR + 1}\n" in result.stderr
    return found


def read_numbers(lines: list[str]) -> dict[int, int]:
    """Sizes of the clusters in the printed table, by number."""
    rows = (re.match(r" +(\d+) +(\d+) +\d+%", line) for line in lines)
    return {int(row[1]): int(row[2]) for row in rows if row}


def test_a_cluster_has_the_same_number_everywhere(smcmc, table, path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers count from 1, by size: lines of both commands, files, frames, page, pictures, predictions."""
    monkeypatch.setattr(pages, "_pictures", lambda *_: iter(()))
    monkeypatch.setattr(pages, "sections_of_fit", lambda _: iter(()))
    run, posterior = Run(path), smcmc_library.Posterior.load(path)
    items = pd.read_csv(path / "clusters.csv")
    K, sizes = items["cluster"].max(), items["cluster"].value_counts().to_dict()
    assert set(sizes) == set(range(1, K + 1)) and sizes[K] == 1
    assert [sizes[k] for k in range(1, K + 1)] == sorted(sizes.values(), reverse=True)
    printed = smcmc(*words_of_run(table)).stderr
    listed = {k: size for k, size in sizes.items() if k < K}
    for lines in (printed, smcmc("summary", str(path)).stdout):
        assert read_numbers(lines.splitlines()) == listed and f"(cluster {K}): {FAR + 1}\n" in lines
    for frame in (pd.read_csv(path / "cluster_summary.csv"), posterior.cluster_summary()):
        assert dict(zip(frame["cluster"], frame["size"], strict=True)) == sizes
    assert smcmc("report", str(path)).exit_code == 0
    cells = re.findall(r'<tr><td class="n">(\d+)</td><td class="n">(\d+)</td>', (path / "report.html").read_text())
    assert {int(k): int(size) for k, size in cells} == listed
    member = posterior.membership()
    for frame in (items, member):
        assert set(frame["second"].dropna()) <= set(sizes) - {K}
    assert (member["cluster"].to_numpy() == items["cluster"]).all()
    # arrays count from 0: column k of the probabilities is cluster k + 1
    x = pd.read_csv(table)
    sure = (items["certainty"] > 0.95).to_numpy()
    assert (posterior.predict(x[sure], states=20) + 1 == items["cluster"][sure]).mean() > 0.95
    columns = pd.read_csv(path / "column_summary.csv").set_index(["cluster", "column"])["mean"]
    assert columns[1, "x"] == pytest.approx(x["x"][items["cluster"] == 1].mean(), rel=1e-5)
    assert f"cluster {K - 1}\n" in smcmc("summary", "--columns", str(path)).stdout
    axes = [posterior.plot(name).axes[0] for name in ("points", "co_clustering")]
    for texts in (axes[0].texts, axes[1].get_xticklabels()):
        assert [text.get_text() for text in texts] == list(map(str, listed))
    # a run that was made before has the numbers of its files, from 0
    monkeypatch.setattr(Run, "first_cluster", 0)
    monkeypatch.setattr(Run, "has_cluster_summary", False)
    lines = list(summaries.lines(run))
    assert read_numbers(lines) == {k - 1: size for k, size in listed.items()}
    assert any(f"(cluster {K - 1}): {FAR + 1}" in line for line in lines)


def test_levels_of_a_run(smcmc, path) -> None:
    run = Run(path)
    levels = alternatives.dendrogram_of(run)
    assert levels.labels.tolist() == run.summary["point_estimate"]["labels"]
    shown = smcmc("summary", str(path), "--levels")
    assert shown.exit_code == 0, shown.output
    *lines, best = shown.stdout.splitlines()[2 : 3 + levels.n_clusters]
    rows = [line.split()[:3] for line in lines]
    highest = max(rows, key=lambda row: float(row[2]))[0]
    assert best == f"held-out density is highest at {highest} cluster{'s' * (highest != '1')}"
    assert [int(row[0]) for row in rows] == list(range(levels.n_clusters, 0, -1))
    np.testing.assert_allclose([float(row[1]) for row in rows], levels.expected_loss, atol=1e-3)
    low, high = run.summary["n_clusters_95"]
    assert f"the posterior has {low} to {high} clusters (95 %)" in " ".join(shown.stdout.split())
    two = smcmc("summary", str(path), "clusters=2")
    assert two.exit_code == 0 and two.stdout.startswith(
        "2 clusters of 90 rows, merged from the clusters of the run; the posterior has"
    )
    assert f"{levels.expected_loss[-2]:.3f}" in two.stdout and "differs most in" in two.stdout


def test_held_out_densities_are_those_of_the_others(path, table) -> None:
    """One cluster at fixed hyper-parameters: the mean of the densities that the model gives to each fold."""
    run = Run(path)
    one = np.zeros(90, dtype=np.int32)
    found = alternatives.predictive_densities(run, [one, alternatives.dendrogram_of(run).cut(2)])
    assert found is not None and found[1] > found[0]
    x = pd.read_csv(table)[["x", "y"]].to_numpy()
    data, model = Dataset("groups", "points", x), component("model", "gaussian")
    total = 0.0
    for held in np.array_split(np.arange(90), alternatives.FOLDS):
        rest = np.setdiff1d(np.arange(90), held)
        of = [Dataset("some", "points", x[rows]) for rows in (rest, held)]
        total += predict(model, *of, [State(one[rest], 1, {})], one[rest]).log_density.sum()
    assert data.N == 90 and found[0] == pytest.approx(total / 90, abs=1e-9)
    # no density of these few is above that of a normal distribution of as many parameters by more than this
    assert found[0] < multivariate_normal(x.mean(axis=0), np.cov(x.T)).logpdf(x).mean() + 1


def test_answers_and_core_of_a_run(smcmc, path) -> None:
    answers = smcmc("summary", str(path), "answers=2")
    assert answers.exit_code == 0 and "answer 1: weight " in answers.stdout
    weights = [float(line.split("weight ")[1][:4]) for line in answers.stdout.splitlines() if "weight" in line]
    assert sum(weights) == pytest.approx(1, abs=0.011)
    core = smcmc("summary", str(path), "core=0.9")
    posterior = smcmc_library.Posterior.load(path)
    items = posterior.core(0.9).n_items
    assert core.exit_code == 0 and f"core: {items} of 90 rows are together" in core.stdout
    assert posterior.core(0.9).probability >= 0.9
    found = posterior.representatives(2)
    assert [f"{one.weight:.2f}" for one in found] == [f"{weight:.2f}" for weight in weights]


def test_levels_in_python(path) -> None:
    posterior = smcmc_library.Posterior.load(path)
    levels = posterior.levels(density=True)
    assert levels["clusters"].tolist() == list(range(posterior.labels.max() + 1, 0, -1))
    assert levels["posterior"].iloc[-1] == "coarser" and np.isfinite(levels["log_density"]).all()
    assert posterior.at(2).max() == 1 and posterior.at(1).max() == 0
    assert sampled_partitions(Run(path)).shape == posterior.partitions.shape
    summary = posterior.cluster_summary()
    assert {"size", "certainty"} <= set(summary) and summary["certainty"].between(0, 1).all()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["clusters=40"], "clusters=40: expected from 1 to"),
        (["clusters=many"], "clusters=many: expected a whole number, such as clusters=5"),
        (["core=2"], "core=2.0: expected above 0"),
        (["answers=0"], "answers=0: expected at least 1"),
        (["parts=3"], "parts=3: expected the folder of a run, or one of clusters=, answers=, core="),
        (["--columns", "clusters=2"], "--columns: expected alone"),
    ],
)
def test_words_that_summary_does_not_know(smcmc, path, words, said) -> None:
    result = smcmc("summary", str(path), *words)
    assert result.exit_code == 2 and said in result.stderr
    assert smcmc("summary", "clusters=2").exit_code == 2


@pytest.mark.parametrize(("word", "number"), [("K=7", "7"), ("n_clusters=3", "3"), ("clusters=many", "5")])
def test_a_number_of_clusters_names_the_command(smcmc, word, number) -> None:
    result = smcmc("run", "data=gaussian", word)
    assert result.exit_code == 2 and f"`smcmc summary RUN clusters={number}`" in result.stderr


def test_the_dendrogram_draws_every_cluster(smcmc, path) -> None:
    result = smcmc("plot", str(path), "--only", "dendrogram")
    assert result.exit_code == 0 and (path / "dendrogram.png").is_file()
    figure = smcmc_library.Posterior.load(path).plot("dendrogram")
    ax = figure.axes[0]
    K = Run(path).summary["point_estimate"]["n_clusters"]
    assert len(ax.get_yticks()) == K and len(ax.lines) == K - 1
    assert sorted(int(text.get_text()) for text in ax.texts) == list(range(1, K))
