"""Figures of van Rossum et al. 2018 from small runs; pictures of a run's points."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from figure_runs import draw, make_runs, options

from splitmerge_cli.analysis.plots import races, style
from splitmerge_cli.config import compose
from splitmerge_cli.kinds.tables.plots import points
from splitmerge_cli.papers import claims, reproduce
from splitmerge_cli.papers.triadic import runs as triadic_runs
from splitmerge_cli.papers.triadic import table as triadic_table
from splitmerge_cli.papers.verdicts import REPRODUCED
from splitmerge_cli.received import DataError
from splitmerge_cli.runs import run as make_run
from splitmerge_cli.runs.store.read import Run

pytestmark = pytest.mark.usefixtures("coarse_pictures")

SETS = 2
SHORT = {"iterations": "30", "budget": "0.01", "trace.partitions": "30"}
"""Values that jobs of the tests have in place of their own."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The runs of Table 1 at quick scale, short, on small generated sets."""
    out = tmp_path_factory.mktemp("results")
    jobs = []
    for job in options("triadic-table1", "quick", out, stand_in=True):
        if int(job["data.seed"]) < SETS:
            short = {key: value for key, value in SHORT.items() if job.get(key, "null") != "null"}
            jobs.append({"iterations": SHORT["iterations"]} | job | short)
    return make_runs(jobs, N=40, thin=1)


# which runs


# from runs to numbers


def test_settings_and_methods_are_told_from_the_runs(runs):
    found = {(triadic_runs.setting_of(r), triadic_runs.method_of(r)) for r in runs}
    three = {"dyadic", "neal8", "triadic"}
    as_printed = {"as_printed_formula", "as_printed_one"}
    for setting in triadic_runs.SETTINGS:
        expected = three - {"neal8"} if setting == "main_scan" else three
        if setting in ("main", "kept"):
            expected = expected | as_printed
        assert {m for s, m in found if s == setting} == expected
    assert "generated" in triadic_runs.describe_data(runs) and triadic_runs.is_stand_in(runs)


def test_scores_are_those_of_the_diagnoses(runs):
    scores = triadic_runs.Scores(runs)
    run = triadic_runs.select_runs(runs, "kept", "triadic")[1]
    stored = run.diagnostics().set_index(["quantity", "chain"])["value"]
    of_run = scores.chains[(scores.chains["setting"] == "kept") & (scores.chains["method"] == "triadic")]
    of_run = of_run[of_run["set"] == 1].set_index("chain")
    for c in (0, 1):
        assert of_run.loc[c, "ari_last"] == stored["ari/last", c]
        assert of_run.loc[c, "rand_best_lik"] == stored["rand/best_lik", c]
    means = scores.by_set("kept", "triadic", "ari_last")
    assert means[1] == pytest.approx(of_run["ari_last"].mean()) and len(means) == SETS
    other = scores.by_set("kept", "dyadic", "ari_last")
    assert scores.difference("kept", "triadic", "dyadic", "ari_last") == pytest.approx(means - other)
    kept = scores.chains[["setting", "method"]].eq(["kept", "triadic"]).all(axis=1)
    assert kept.sum() == 2 * SETS


def test_paths_hold_the_last_row_before(runs):
    run = triadic_runs.select_runs(runs, "main", "triadic")[0]
    trace = run.trace()
    expected = trace[trace["iteration"] == 7].groupby("chain")["ari"].first().mean()
    assert triadic_table.paths([run], "iteration", np.array([7.5]))[0, 0] == pytest.approx(expected)


# figures


def test_table1_draws_all_settings_and_judges_under_each(runs):
    drawing = draw(triadic_table.table1, runs)
    scores = triadic_runs.Scores(runs)
    plotted = drawing.plotted.set_index(["panel", "setting", "method", "score"])["value"].dropna()
    mean = scores.by_set("narrow", "neal8", "purity_last").mean()
    assert plotted["mean", "narrow", "neal8", "purity_last"] == pytest.approx(mean)
    difference = scores.difference("main_timed", "triadic", "dyadic", "ari_last").mean()
    assert plotted["triadic minus row", "main_timed", "dyadic", "ari_last"] == pytest.approx(difference)
    kinds = [v.claim.metric for v in drawing.verdicts]
    assert kinds.count("outperforms_dyadic") == 9 and kinds.count("outperforms_neal8") == 8
    assert kinds.count("adjusted_rand_index") == 3 * 3 + 2 * 2
    readings = {v.reading for v in drawing.verdicts}
    assert all(v.on == "generated data" for v in drawing.verdicts)
    assert any("as_printed, q = 1" in reading for reading in readings)
    said = drawing.notes
    assert "Both exact" in said and "after equally many moves" in said and "after equal time" in said


def test_fig1_counts_moves_between_neighbours(runs):
    main = [r for r in runs if triadic_runs.setting_of(r) == "main"]
    drawing = draw(triadic_runs.fig1, main)
    table = drawing.plotted
    assert table.groupby(["method", "set", "chain"])["share"].sum().to_numpy() == pytest.approx(1)
    assert (table["before"] - table["after"]).abs().eq(1).all()
    run = triadic_runs.select_runs(main, "main", "triadic")[1]
    split = run.moves().query("move == 'split_2_3' and chain == 1").iloc[0]
    row = table.query("method == 'triadic' and set == 1 and chain == 1 and move == 'split_2_3'").iloc[0]
    assert (row["proposed"], row["accepted"]) == (split["proposed"], split["accepted"])
    verdicts = {v.claim.metric: v for v in drawing.verdicts}
    assert verdicts["no_direct_transition_between_1_and_3"].verdict == REPRODUCED
    less = verdicts["less_asymmetry_than_dyadic"]
    # from n = 4 on, and in the limit log 1.5 / log 2
    assert less.verdict == REPRODUCED and 0.55 < less.ours < np.log(1.5) / np.log(2)
    assert any("none between 1 and 3" in text.get_text() for text in drawing.figure.axes[0].texts)


def test_fig2_draws_two_last_states(runs):
    main = [r for r in runs if triadic_runs.setting_of(r) == "main"]
    drawing = draw(triadic_runs.fig2, main)
    assert len(drawing.figure.axes) == 2 and drawing.plotted["set"].nunique() == 2
    number = int(drawing.plotted["set"].iloc[0])
    run = triadic_runs.select_runs(main, "main", "triadic")[number]
    last = run.partitions()
    last = last[last["iteration"] == 30]["labels"]
    shown = drawing.plotted.loc[drawing.plotted["set"] == number, "cluster"].to_numpy()
    assert any(np.array_equal(shown, labels) for labels in last)
    assert len(drawing.verdicts) == len(claims.published_claims("triadic-fig2"))


def test_fig3_shows_the_chains_and_the_papers_means(runs):
    main = [r for r in runs if triadic_runs.setting_of(r) == "main"]
    drawing = draw(triadic_table.fig3, main)
    assert len(drawing.plotted) == 3 * SETS * 2
    paper = {(c.sampler, c.metric): c.value for c in claims.published_claims("triadic-table1")}
    drawn = [line.get_ydata()[0] for line in drawing.figure.axes[2].lines if line.get_marker() == "D"]
    assert drawn == [paper[method, "adjusted_rand_index"] for method in triadic_table.ORDER]
    assert {v.claim.metric for v in drawing.verdicts} == {c.metric for c in claims.published_claims("triadic-fig3")}


def test_errors_of_a_clustering_of_lines():
    t = np.linspace(-5, 5, 20)
    lines = [np.column_stack([t, slope * t + 1]) for slope in (0.0, 0.1, 3.0)]
    x, truth = np.concatenate(lines), np.repeat([0, 1, 2], 20)
    perfect = triadic_runs.errors_of(x, truth, truth)
    assert perfect == triadic_runs.Errors((), np.inf, (), 0, 0)
    labels = np.where(truth == 1, 0, truth)
    labels[45:49] = 3
    wrong = triadic_runs.errors_of(x, truth, labels)
    assert wrong.merged == (0, 1) and wrong.angle == pytest.approx(np.degrees(np.arctan(0.1)))
    assert wrong.broken == (2,) and (wrong.second, wrong.clusters) == (4, 2)
    # a line of few points counts for nothing
    assert triadic_runs.errors_of(x[:9], truth[:9], np.arange(9)) == triadic_runs.Errors((), np.inf, (), 0, 0)


# points


def test_ridge_is_the_posterior_mean():
    x = np.random.default_rng(0).normal(size=(7, 2))
    sigma0, sigma1 = 3.0, 0.5
    X = np.column_stack([np.ones(7), x[:, 0]])
    # by the joint normal distribution of parameters and observations
    gain = sigma0**2 * X.T @ np.linalg.inv(sigma1**2 * np.eye(7) + sigma0**2 * X @ X.T)
    assert points.ridge(x, sigma0, sigma1) == pytest.approx(tuple(gain @ x[:, 1]))


def test_segments_stay_beside_their_points():
    x = np.array([[0.0, 0.0], [1.0, 10.0]])
    assert points.segment(x, 0.0, 10.0) == pytest.approx(x)
    steep = points.segment(x, -5.0, 20.0)
    assert steep == pytest.approx(np.array([[0.25, 0.0], [0.75, 10.0]]))
    assert points.segment(x, 100.0, 0.1)[:, 0] == pytest.approx([0, 1])
    assert points.segment(x, 3.0, 0.0) == pytest.approx(np.array([[0, 3.0], [1, 3.0]]))


def test_clusters_are_styled_by_size():
    assert [len(items) for items in style.by_size([2, 0, 0, 1, 0, 2])] == [3, 2, 1]
    many = [style.style_of(k) for k in range(len(style.COLOURS) * len(style.MARKERS))]
    assert len(set(many)) == len(many)


@pytest.fixture
def table(tmp_path, monkeypatch) -> Path:
    """A user's own file of points."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    t = rng.uniform(-5, 5, 30)
    rows = np.concatenate([np.column_stack([t, 1 + 2 * t]), np.column_stack([t, 4 - t])]) + rng.normal(0, 0.05, (60, 2))
    path = tmp_path / "mine.csv"
    pd.DataFrame(rows, columns=["along", "up"]).to_csv(path, index=False)
    return path


def own_run(table: Path, *overrides: str) -> Run:
    return Run(
        make_run(
            compose(
                ["data=csv", f"data.path={table}", "sampler=triadic", "iterations=200", "progress=none", *overrides]
            )
        )
    )


@pytest.mark.slow
def test_points_that_are_gone_or_changed_are_refused(table):
    run = own_run(table, "model=lines")
    table.write_text(table.read_text().replace("along", "across"))
    with pytest.raises(DataError, match=r"mine.csv: it was changed since the run; expected the file that .* read"):
        reproduce.plot([str(run.path)])
    table.unlink()
    with pytest.raises(DataError, match=r"mine.csv: no such file; expected the file that .* read"):
        reproduce.plot([str(run.path)])
    assert not (run.path / "points.png").exists() and (run.path / "traces.png").is_file()


def test_points_in_more_dimensions_and_tokens_have_no_such_picture(table, tmp_path):
    rows = pd.read_csv(table)
    rows["third"] = rows["up"] ** 2
    rows.to_csv(table, index=False)
    assert not points.can_draw(own_run(table, "model=gaussian"))
    assert not points.can_draw(Run(make_run(compose(["N=20", "iterations=5", "progress=none"]))))


def test_the_climb_does_not_stretch_the_strips_of_the_log_joint(table):
    run = own_run(table, "model=lines", "model.sigma1=0.05", "init=one_cluster", "schedule=full_scan", "chains=2")
    trace = run.trace()
    late = trace.loc[trace["iteration"] > 20, "log_joint"].min()
    assert trace["log_joint"].min() < late - 100
    figure = draw(races.traces, run)
    low, _ = figure.axes[0].get_title(loc="left").replace("−", "-").removeprefix("log joint: ").split(" to ")
    assert float(low) == pytest.approx(late, abs=1)
    assert "what lies beyond is cut off" in figure.get_supxlabel().replace("\n", " ")
    assert "N = 60" in figure.legends[0].get_title().get_text()


def test_a_figure_whose_data_are_gone_does_not_stop_the_others(tmp_path, monkeypatch, capsys):
    names = ["sdds-fig1", "sdds-fig2"]
    assert reproduce.reproduce(names, "quick", tmp_path) == 0
    drawn = []

    def draw(entry, *_):
        drawn.append(entry.id)
        if entry.id == names[0]:
            raise DataError("mine.csv: no such file")

    monkeypatch.setattr(reproduce, "_draw", draw)
    capsys.readouterr()
    assert reproduce.plot(names, "quick", tmp_path) == 2
    assert drawn == names and capsys.readouterr().err == "smcmc: sdds-fig1: mine.csv: no such file\n"
