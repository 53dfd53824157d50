"""A run's description of its clusters: files, the table at its end, ``smcmc summary``."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from command_line import read_rejection, run_path
from scipy.stats import multivariate_normal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

import smcmc as sm
import smcmc as smcmc_library
from splitmerge_cli import cli, config, runs, terminal
from splitmerge_cli.analysis import alternatives, predictive
from splitmerge_cli.analysis.pages import runs as pages
from splitmerge_cli.analysis.pages.runs import _count_certain
from splitmerge_cli.analysis.plots.races import subject
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.diagnostics import convergence
from splitmerge_cli.runs import draws, prepare, summaries
from splitmerge_cli.runs.answers import sampled_partitions
from splitmerge_cli.runs.store.read import Run

OPTIONS = ["sampler=sams", "chains=2", "iterations=800", "progress=none"]
TABLE = ["data=csv", "data.path=people.csv", "model=mixed", *OPTIONS]


@pytest.fixture
def people(tmp_path: Path) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    z = np.arange(60) % 2
    frame = pd.DataFrame(
        {
            "name": [f"Person {i}" for i in range(60)],
            "age": rng.normal(30 + 30 * z, 3).round(2),
            "town": np.where(rng.random(60) < 0.1 + 0.8 * z, "Bonn", "Rome"),
        }
    )
    frame.loc[[3, 8], "age"] = np.nan
    frame.to_csv(tmp_path / "people.csv", index=False)
    return frame


def test_a_table(smcmc, people: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    result = smcmc("run", *TABLE)
    run = Run(run_path(result))
    assert {"cluster_summary.csv", "column_summary.csv"} <= set(run.manifest.names)
    clusters, columns, items = run.cluster_summary(), run.column_summary(), run.clusters()
    assert clusters["size"].tolist() == items["cluster"].value_counts().tolist() == [30, 30]
    most_certain = items.loc[items.groupby("cluster")["certainty"].idxmax()].set_index("cluster")["name"]
    assert clusters["prototype"].tolist() == most_certain[clusters["cluster"]].tolist()
    age = columns[columns["column"] == "age"].set_index("cluster")["mean"]
    expected = people["age"].groupby(items["cluster"].to_numpy()).mean()
    np.testing.assert_allclose(age, expected, rtol=1e-5)
    # on stderr: stdout is the folder alone
    assert "2 clusters of 60 rows" in result.stderr and result.stdout.count("\n") == 1
    assert all(line in result.stderr for line in summaries.lines(run, 10))
    again = smcmc("run", *TABLE)
    assert "already finished" in again.stderr and "2 clusters of 60 rows" in again.stderr
    monkeypatch.setattr(terminal, "WIDTH", 80)
    whole = smcmc("summary", "--columns", str(run.path))
    assert whole.exit_code == 0 and max(map(len, whole.stdout.splitlines())) <= 80
    assert "Person" in whole.stdout and "town=Rome" in whole.stdout
    # a run that was made before there were these files
    monkeypatch.setattr(Run, "has_cluster_summary", False)
    older = smcmc("summary", "--columns", str(run.path))
    assert older.stdout == whole.stdout


def test_what_is_not_the_users_own_is_not_described(smcmc) -> None:
    generated = ["data=gaussian", "model=gaussian", "N=40", *OPTIONS]
    result = smcmc("run", *generated)
    run = Run(run_path(result))
    assert not run.has_cluster_summary and "of 40 rows" not in result.stderr
    # but the command shows it
    shown = smcmc("summary", str(run.path))
    assert shown.exit_code == 0 and "of 40 rows" in shown.stdout and "column 1 = " in shown.stdout


def test_a_network(smcmc) -> None:
    result = smcmc("run", "data=networkx", "data.graph=les_miserables", "model=irm", *OPTIONS)
    run = Run(run_path(result))
    clusters = run.cluster_summary()
    assert clusters["telling"].str.contains("Valjean").any() and clusters["density"].max() > 0.5
    assert not (run.path / "column_summary.csv").exists()
    assert "nodes of most ties" in result.stderr
    refused = smcmc("summary", "--columns", str(run.path))
    assert refused.exit_code == 2 and "--columns" in refused.stderr


def test_tokens(smcmc, tmp_path: Path) -> None:
    (tmp_path / "mentions.csv").write_text("token\n" + "Weber\nRoy\nWeber\nRoy\n" * 5)
    result = smcmc("run", "data=csv", "data.path=mentions.csv", "model=emm", "model.label_prior=partition", *OPTIONS)
    assert Run(run_path(result)).cluster_summary()["telling"].str.contains(r"Weber \(10\)").any()


def test_chains_that_have_not_converged(smcmc, people: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convergence, "NOT_CONVERGED", 0.5)
    result = smcmc("run", *TABLE)
    run = Run(run_path(result))
    assert run.summary["convergence"]["converged"] is False
    assert "of the best state: the chains have not converged (R-hat" in result.stderr
    table = run.cluster_summary()
    assert table["certainty"].isna().all() and (table["prototype"] == "").all()
    assert table["size"].sum() == 60


def test_experiments_are_not_described(people: pd.DataFrame) -> None:
    assert summaries.is_described(runs.prepare(config.compose(TABLE)))
    plan = runs.prepare(config.compose(TABLE))
    figure = replace(plan.spec, experiment="sdds-fig3")
    assert not summaries.is_described(replace(plan, spec=figure))


# ---- Levels, answers, cores and outliers of a run: what the command line and Python show of them.

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
    result = CliRunner().invoke(cli.app, words_of_run(table))
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
    shown = smcmc("summary", str(path), "--levels", status=0)
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
    data, model = Dataset("groups", "points", x), config.component("model", "gaussian")
    total = 0.0
    for held in np.array_split(np.arange(90), alternatives.FOLDS):
        rest = np.setdiff1d(np.arange(90), held)
        of = [Dataset("some", "points", x[rows]) for rows in (rest, held)]
        total += predictive.predict(model, *of, [draws.State(one[rest], 1, {})], one[rest]).log_density.sum()
    assert data.N == 90 and found[0] == pytest.approx(total / 90, abs=1e-9)
    # no density of these few is above that of a normal distribution of as many parameters by more than this
    assert found[0] < multivariate_normal(x.mean(axis=0), np.cov(x.T)).logpdf(x).mean() + 1


def test_answers_and_core_of_a_run(smcmc, path) -> None:
    posterior = smcmc_library.Posterior.load(path)
    found = posterior.representatives(2)
    answers = smcmc("summary", str(path), "answers=2")
    assert answers.exit_code == 0 and "answer 1: weight " in answers.stdout
    weights = [float(line.split("weight ")[1][:4]) for line in answers.stdout.splitlines() if "weight" in line]
    assert sum(weights) == pytest.approx(1, abs=0.011)
    numbers = [line.split()[0] for line in answers.stdout.splitlines() if re.match(r" +\d+  ", line)]
    assert numbers == [str(k + 1) for one in found for k in range(one.n_clusters) if (one.labels == k).sum() > 3]
    core = smcmc("summary", str(path), "core=0.9")
    items = posterior.core(0.9).n_items
    assert core.exit_code == 0 and f"core: {items} of 90 rows are together" in core.stdout
    assert posterior.core(0.9).probability >= 0.9
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


# ---- Runs on bundled rows: lines, files, estimators and routing of their arguments.

UNITS = 12


@pytest.fixture(scope="module")
def visits() -> pd.DataFrame:
    """Several visits of subjects from two groups; `w` says how often a row counts."""
    rng = np.random.default_rng(0)
    subject = np.repeat(np.arange(UNITS), rng.integers(2, 6, UNITS))
    x = 8.0 * (subject % 2) + rng.normal(size=len(subject))
    return pd.DataFrame({"subject": [f"s{s}" for s in subject], "x": x, "y": rng.normal(size=len(x)), "w": subject % 3})


def test_a_run_of_units_is_described_by_units(smcmc, visits: pd.DataFrame, tmp_path: Path) -> None:
    visits.drop(columns="w").to_csv(tmp_path / "t.csv", index=False)
    words = ["data=csv", f"data.path={tmp_path / 't.csv'}", "model=gaussian", "data.group=subject", "iterations=60"]
    result = smcmc("run", *words, "seed=1", status=0)
    assert f"clusters of {UNITS} units ({len(visits)} rows)" in result.stderr
    run = Run(Path(result.stdout.splitlines()[-1]))
    clusters = run.clusters()
    assert clusters["unit"].tolist() == visits["subject"].tolist()
    assert (clusters.groupby("unit")[["cluster", "certainty"]].nunique() == 1).all(axis=None)
    assert run.cluster_summary()["size"].sum() == UNITS and run.summary["bundles"]["items"] == UNITS
    assert f"of {UNITS} units (" in str(_count_certain(run)) and f"N = {UNITS} units ({len(visits)} rows)" in subject(
        run
    )


def test_rows_that_count_many_times_start_by_search(smcmc, visits: pd.DataFrame, tmp_path: Path) -> None:
    table = visits.assign(w=20)[["subject", "w"]].assign(side=(visits["x"] > 4).astype(int), day=visits.index % 2)
    table.to_csv(tmp_path / "t.csv", index=False)
    words = ["data=csv", f"data.path={tmp_path / 't.csv'}", "model=bernoulli", "data.columns=[side,day]"]
    result = smcmc("run", *words, "data.weights=w", "iterations=40", "seed=1", "data.truth=subject", status=0)
    assert "init=search, because no initial state is named and a row counts 20 times on average" in result.stderr
    assert Run(Path(result.stdout.splitlines()[-1])).config["init"] == "search"
    # rows of one subject are an item, which counts as often as they do together
    table.assign(w=3).to_csv(tmp_path / "t.csv", index=False)
    joined = smcmc("run", *words, "data.weights=w", "data.group=subject", "iterations=4").stderr
    assert f"an item counts {3 * len(table) / UNITS:.0f} times on average: chains of such items" in " ".join(
        joined.split()
    )
    named = smcmc("run", *words, "data.weights=w", "iterations=40", "seed=1", "init=random")
    assert named.exit_code == 0 and "init=search" not in named.stderr


def test_bad_links_write_nothing(smcmc, visits: pd.DataFrame, tmp_path: Path) -> None:
    visits.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "c.csv").write_text("1,1\n")
    before = sorted(Path().iterdir())
    words = ["data=csv", f"data.path={tmp_path / 't.csv'}", "model=gaussian", "data.columns=[x,y]"]
    result = smcmc("run", *words, f"data.cannot_link={tmp_path / 'c.csv'}")
    assert result.exit_code == 2 and sorted(Path().iterdir()) == before
    assert result.stderr == f"smcmc: {tmp_path / 'c.csv'}: row 1: row 1 twice; expected two rows that stay apart\n"


@pytest.mark.filterwarnings("ignore")
def test_estimators_pass_weights_and_groups_through_pipelines(visits: pd.DataFrame) -> None:
    X, of_fit = visits[["x", "y"]], {"iterations": 30, "chains": 2, "random_state": 1}
    with sklearn.config_context(enable_metadata_routing=True):
        clustering = sm.SplitMergeClustering("gaussian", **of_fit).set_fit_request(sample_weight=True, groups=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), clustering)
        pipeline.fit(X, sample_weight=visits["w"], groups=visits["subject"])
    fitted = pipeline[-1]
    assert len(fitted.labels_) == len(X) and fitted.posterior_.dataset.bundles.n_items == 8
    assert (pd.Series(fitted.labels_).groupby(visits["subject"][visits["w"] > 0]).nunique() == 1).all()
    known = np.where(np.arange(len(X)) < 1, 0, np.where(np.arange(len(X)) == len(X) - 1, 1, -1))
    labels = sm.SplitMergeClustering("gaussian", **of_fit).fit(X, labels=known, must_link=[[0, 1]]).labels_
    assert labels[0] == labels[1] != labels[-1]


@pytest.mark.filterwarnings("ignore")
def test_new_units_of_a_frame_are_predicted_as_one(visits: pd.DataFrame) -> None:
    posterior = sm.sample(
        "gaussian", visits[["subject", "x", "y"]], groups="subject", iterations=30, chains=2, progress="none"
    )
    new = visits[["subject", "x", "y"]].head(3).assign(subject=["a", "a", "b"])
    together, alone = posterior.log_predictive(new), posterior.log_predictive(new[["x", "y"]])
    assert together[0] == together[1] < alone[0] and together[2] == pytest.approx(alone[2])
    assert posterior.membership()["unit"].tolist() == visits["subject"].tolist()
    with pytest.raises(config.ConfigError, match="update: rows have weights, units"):
        posterior.update(new)


def test_new_rows_of_a_file_need_no_names_and_have_no_links(tmp_path: Path) -> None:
    """A cell that looks like the number of a column makes no header of the first row."""
    (tmp_path / "t.csv").write_text("5.5,1,2\n1,2,1\n4,3,3\n")
    (tmp_path / "c.csv").write_text("1,2\n")
    keys = {"data": "csv", "data.path": str(tmp_path / "t.csv"), "model": "gaussian", "data.weights": 3}
    plan = prepare(config.specify_keys(keys | {"data.cannot_link": str(tmp_path / "c.csv")}))
    new = predictive.items_of(plan.data, plan.dataset, str(tmp_path / "t.csv"))
    assert new.values.tolist() == [[5.5, 1.0], [1.0, 2.0], [4.0, 3.0]] and new.bundles is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["data.group=subject", "init=truth", "data.truth=w"], "init=truth: rows 1 and 3 stay together; expected one"),
        (
            ["data.labels=subject", 'model.prior="mfm(components=uniform(11))"'],
            "model.prior=mfm(components=uniform(11)): at most 11 clusters, but an item stays apart from 11 others; "
            "expected a prior of 12 clusters or more",
        ),
    ],
)
def test_a_start_that_no_partition_has_is_refused(smcmc, visits: pd.DataFrame, words: list[str], message: str) -> None:
    rows = visits.assign(w=0)
    rows.loc[2, "w"] = 1
    rows.to_csv("t.csv", index=False)
    words = [*words, "model=gaussian", *([] if "data.truth=w" in words else ["data.drop=[w]"])]
    assert message in read_rejection(smcmc, "run", "t.csv", *words)


@pytest.mark.parametrize("distance", [0.0, 4.0])
def test_clusters_that_the_draws_do_not_hold_are_no_clear_groups(smcmc, distance: float) -> None:
    rng, z = np.random.default_rng(2), np.arange(150) % 2
    shares = np.exp(distance * z[:, None] * np.arange(4))
    draws = {f"q{j}": [rng.choice([*"abcd"], p=p / p.sum()) for p in shares] for j in range(4)}
    pd.DataFrame(draws).to_csv("t.csv", index=False)
    ended = smcmc("run", "t.csv", "seed=0", "progress=none", status=0)
    said = " ".join(ended.stderr.split())
    hardly = "the rows hardly separate into groups: one cluster is nearer to the draws than these are (two rows of a"
    assert (hardly in said, " no clear groups: " in said) == (distance == 0, distance == 0)
    assert "of least expected variation of information has 1 cluster" in said or distance > 0
