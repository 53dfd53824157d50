"""Uncertainty of a run's clusters: files, messages, pictures."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from command_line import run_path

from splitmerge_cli.api.posterior import Posterior
from splitmerge_cli.config import compose
from splitmerge_cli.diagnostics import around_estimate, cluster_table, point_estimate, similarity
from splitmerge_cli.diagnostics.agreement import SCORES
from splitmerge_cli.diagnostics.partition_losses import by_size, distances
from splitmerge_cli.diagnostics.summary import second_half
from splitmerge_cli.runs import answers, finish, prepare
from splitmerge_cli.runs.store.read import Run
from splitmerge_cli.runs.summaries import describe_interval

MIXED = ["data=gaussian", "data.D=2", "data.components=2", "data.separation=3", "model=gaussian", "N=24"]
MIXED += ["sampler=sams", "chains=2", "iterations=1200", "progress=none"]
STUCK = ["data=jain_neal", "N=60", "init=prior", "sampler=rm", "schedule=move_only", "chains=3", "iterations=200"]
STUCK += ["progress=none"]


def test_a_default_run_says_how_uncertain_its_clusters_are(smcmc) -> None:
    result = smcmc("run", *MIXED)
    run = Run(run_path(result))
    assert "no sign of non-convergence: largest R-hat " in result.stderr
    summary = run.summary
    assert summary["convergence"]["converged"] and summary["convergence"]["rhat"] < 1.1
    pooled = np.concatenate(list(answers.second_half_partitions(run.path, 24, summary["iterations"]).values()))
    estimate, least = summary["point_estimate"], summary["least_expected_vi"]
    labels = np.array(estimate["labels"])
    interval = point_estimate.interval_of_counts(second_half(run.trace())["n_clusters"])
    assert estimate["interval"] == list(interval)
    # without outliers, as the first line has the number
    listed = point_estimate.counts_larger(pooled)
    assert summary["n_clusters_95"] == list(point_estimate.interval_of_counts(listed)) and summary["outliers_apart"]
    assert summary["as_the_estimate"] == np.mean(listed == point_estimate.count_larger(estimate["labels"]))
    assert estimate["labels"] == point_estimate.estimate_partition(pooled, interval=interval).labels.tolist()
    assert estimate["expected_vi"] == pytest.approx(distances(labels, point_estimate.thin_partitions(pooled)).mean())
    assert least["labels"] == by_size(point_estimate.minimise_expected_loss(pooled).labels).tolist()
    assert least["expected_vi"] <= estimate["expected_vi"]
    assert interval[0] <= estimate["n_clusters"] <= interval[1]
    # 1,200 iterations, every fourth: the late halves of two chains
    assert len(pooled) == summary["credible_ball"]["partitions"] == 300
    clusters, expected = run.clusters(), similarity.membership(pooled, labels)
    assert list(clusters) == ["row", "cluster", "certainty", "second", "second_probability"]
    np.testing.assert_array_equal(clusters["cluster"] - 1, labels)
    np.testing.assert_allclose(clusters["certainty"], expected.certainty, atol=1e-6)
    np.testing.assert_array_equal(clusters["second"].fillna(0) - 1, expected.second)
    np.testing.assert_allclose(clusters["second_probability"], expected.second_probability, atol=1e-6)
    # numbers of six digits
    assert (clusters["certainty"] + clusters["second_probability"] <= 1 + 2e-6).all()
    pairs, whole = run.similarity(), np.eye(24)
    assert (pairs["row"] < pairs["other"]).all() and (pairs["probability"] > 0).all()
    for row, other, probability in pairs[["row", "other", "probability"]].itertuples(index=False):
        whole[row - 1, other - 1] = whole[other - 1, row - 1] = probability
    np.testing.assert_allclose(whole, similarity.co_clustering(pooled), atol=1e-12)
    assert {"similarity.parquet", "clusters.csv"} <= set(run.manifest.names)
    ball, said = around_estimate.credible_ball(labels, pooled), summary["credible_ball"]
    assert (said["radius"], said["share"]) == (ball.radius, ball.share) and said["share"] >= said["level"] == 0.95
    assert said["horizontal"]["labels"] == ball.horizontal.partitions[0].tolist()
    assert said["vertical_upper"]["n_clusters"] == ball.upper.n_clusters
    assert said["vertical_lower"]["n_clusters"] == ball.lower.n_clusters


@pytest.mark.parametrize(
    "model",
    [
        ["model=gaussian", "data=gaussian", "N=40", "model.concentration=4.0", "chains=2"],
        ["model=emm", "data=emm", "N=30", "K0=6", "chains=1"],
        ["model=irm", "data=network", "N=30", "chains=2", "seed=3"],
        ["model=hdp", "data=synthetic_documents", "N=5", "data.length=30", "chains=2"],
    ],
    ids=lambda words: words[0],
)
def test_all_commands_show_one_interval_which_is_that_of_all_draws(smcmc, model) -> None:
    made = smcmc("run", *model, "iterations=398", "trace.partitions=40", "progress=none")
    path = run_path(made)
    run, posterior = Run(path), Posterior.load(path)
    trace = run.trace()
    late = np.sort(trace.loc[trace["iteration"] > 199, "n_clusters"].to_numpy())
    k = int(np.ceil(0.025 * len(late))) - 1
    low, high = int(late[k]), int(late[len(late) - 1 - k])
    # of so few recorded partitions the interval is another
    assert point_estimate.interval_of_counts(posterior.partitions.max(axis=1) + 1) != (low, high)
    shown = cluster_table.span(low, high)
    line = next(describe_interval((low, high), run.summary, "topic" if run.has_table("topics") else "cluster"))
    number = line.partition(" (second halves of")[0]
    assert number.endswith(f": {shown}") or f": {shown} in " in number
    outside = not low <= run.summary["point_estimate"]["n_clusters"] <= high
    for text in (made.stderr, smcmc("diagnose", str(path)).stdout):
        assert " ".join(text.split()).count(line) == text.count("(second halves of") == 1
        assert (", outside this interval: " in " ".join(text.split())) == outside
    if not run.has_table("topics"):
        assert line in " ".join(smcmc("summary", str(path)).stdout.split())
        assert f"the posterior has {shown} clusters" in smcmc("summary", str(path), "--levels").stdout
    assert f" {low}–{high} " in smcmc("compare", str(path)).stdout
    assert smcmc("report", str(path)).exit_code == 0
    page = " ".join((path / "report.html").read_text().split())
    assert f"{line[0].upper()}{line[1:]}." in page
    assert (", outside this interval: " in page) == outside
    assert posterior.n_clusters_interval == (low, high) and f"(95 %: {shown}" in repr(posterior)
    assert ("the estimate lies outside" in repr(posterior)) == outside


def test_chains_that_have_not_converged_have_no_estimate(smcmc) -> None:
    result = smcmc("run", *STUCK)
    run = Run(run_path(result))
    summary = run.summary
    assert summary["convergence"]["converged"] is False
    assert "not converged: R-hat of" in result.stderr and "iterations=1600" in result.stderr
    assert summary["point_estimate"]["labels"] == summary["highest_log_joint"]["labels"]
    assert "have not converged" in summary["point_estimate"]["note"]
    assert "highest log joint" in summary["point_estimate"]["criterion"]
    assert summary["credible_ball"] is None and not run.has_similarity
    clusters = run.clusters()
    assert (clusters["cluster"] - 1).tolist() == summary["highest_log_joint"]["labels"]
    # what diagnose prints is the score of clusters.csv
    truth = prepare(compose(STUCK)).dataset.truth
    said = smcmc("diagnose", str(run.path)).stdout
    assert f"ari {SCORES['ari'](truth, clusters['cluster'].to_numpy()):.3f}," in said
    assert clusters[["certainty", "second", "second_probability"]].isna().all(axis=None)
    # the traces, and the number of clusters of each chain
    assert smcmc("plot", str(run.path)).exit_code == 0
    assert (run.path / "n_clusters.png").is_file() and not (run.path / "credible_ball.png").exists()


@pytest.mark.parametrize(("args", "written"), [(MIXED, ""), (STUCK, " of the best state")])
def test_what_is_scored_is_what_is_written(smcmc, args: list[str], written: str) -> None:
    """At the end of the run, when it is found again, in the diagnosis, and in its files."""
    made, found = smcmc("run", *args), smcmc("run", *args)
    run = Run(run_path(made))
    truth, clusters = prepare(compose(args)).dataset.truth, run.clusters()["cluster"]
    scores = {name: agreement(truth, clusters) for name, agreement in SCORES.items()}
    line = f"agreement{written} with the truth: " + ", ".join(f"{name} {value:.3f}" for name, value in scores.items())
    for text in (made.stderr, found.stderr, smcmc("diagnose", str(run.path)).stdout):
        assert line in text.splitlines()
    assert {name: run.summary["diagnostics"][f"{name}/point"] for name in SCORES} == pytest.approx(scores)


def test_one_chain_is_estimated_and_cannot_show_convergence(smcmc) -> None:
    result = smcmc("run", *MIXED, "chains=1")
    summary = Run(run_path(result)).summary
    assert (
        "cannot tell whether the chain has converged: one chain cannot show it, because R-hat compares chains"
        in result.stderr
    )
    assert summary["convergence"]["converged"] is None
    assert "one chain" in summary["point_estimate"]["note"]
    assert {"expected_vi", "interval"} <= summary["point_estimate"].keys()
    assert summary["credible_ball"]["partitions"] == 150
    # four chains of three draws each are no chain alone
    (Path() / "few.csv").write_text("1,2\n2,1\n5,5\n6,5\n")
    few = smcmc("run", "data=csv", "data.path=few.csv", "model=gaussian", "chains=4", "iterations=4", "progress=none")
    assert "of 4 rows; cannot tell whether the chains have converged: fewer than 4 draws" in few.stderr
    assert "one chain" not in few.stderr


def test_a_run_without_partitions_is_another_run(smcmc) -> None:
    path = run_path(smcmc("run", *MIXED, "trace.partitions=0"))
    assert Run(path).clusters()["certainty"].isna().all()
    assert run_path(smcmc("run", *MIXED)) != path


@pytest.mark.slow
def test_no_matrix_of_more_items_than_that(smcmc, monkeypatch) -> None:
    monkeypatch.setattr(finish, "MOST_ITEMS", 23)
    run = Run(run_path(smcmc("run", *MIXED)))
    assert not run.has_similarity and run.summary["credible_ball"]
    assert smcmc("plot", str(run.path)).exit_code == 0
    assert (run.path / "co_clustering.png").is_file()


@pytest.mark.parametrize(
    ("keys", "every", "doubled"),
    [
        (["iterations=10000"], 20, None),
        (["iterations=1200"], 4, None),
        (["iterations=3"], 4, None),
        (["trace.partitions=7"], 7, None),
        (["trace.partitions=0", "budget=5"], 0, None),
        (["iterations=10000", "schedule=move_only"], 20, None),
        (["iterations=10000", "schedule=move_only", "N=5000"], 500, None),
        (["budget=5"], 4, 250),
        (["budget=5", "schedule=move_only", "N=5000"], 500, 250),
        (["iterations=10000", "N=100000", "chains=4"], 100, None),
        (["budget=9", "N=100000", "chains=4"], 4, 50),
    ],
)
def test_which_partitions_are_recorded(keys, every, doubled) -> None:
    spacing = prepare(compose(["chains=1", *keys])).recorder.spacing
    assert (spacing.every, spacing.doubled_after) == (every, doubled)


def test_an_item_is_with_its_own_cluster_or_with_the_second_instead(smcmc) -> None:
    """Draws join clusters of nearby points: mean co-clustering with both adds up to more than 1."""
    made = smcmc("run", *MIXED, "data.separation=1.5", "model.concentration=2.0", "iterations=400")
    path = run_path(made)
    run, posterior = Run(path), Posterior.load(path)
    labels = run.clusters()["cluster"].to_numpy() - 1
    together = [means for _, means in similarity.mean_co_clustering(posterior.partitions, labels)]
    assert (np.sort(np.concatenate(together), axis=1)[:, -2:].sum(axis=1) > 1).any()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for frame in (run.clusters(), posterior.membership()):
            assert (frame["certainty"] + frame["second_probability"] <= 1 + 2e-6).all()
    assert smcmc("report", str(path)).exit_code == 0
    page = (path / "report.html").read_text()
    assert "there instead" in page and "its probability" not in page and "belong with probability" not in page
