"""Runs of tables with noise (model.noise): what is chosen, printed, written, counted and rejected."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

import splitmerge_cli as sm
from splitmerge_cli.analysis.plots import style
from splitmerge_cli.diagnostics.agreement import ari
from splitmerge_cli.diagnostics.cluster_table import count_of
from splitmerge_cli.diagnostics.partition_losses import by_appearance
from splitmerge_cli.fits.candidates import Ranking
from splitmerge_cli.kinds.tables import choice
from splitmerge_cli.runs.grouping import count_listed, find_apart, join_apart, row_sizes, rows_apart
from splitmerge_cli.runs.recorders import Late
from splitmerge_cli.runs.store.read import Run

pytestmark = pytest.mark.usefixtures("commands")

MODEL = {"name": "gaussian", "covariance": "full", "b0": "hierarchical", "kappa0": "hierarchical"}


def draw(seed: int, D: int, noise: float = 0.1, n: int = 300) -> tuple[pd.DataFrame, Any]:
    """Rows of two normal groups and of noise, label 2."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 2
    x = rng.normal(size=(n, D)) + np.where(labels[:, None] == 1, 5.0, 0.0)
    is_noise = rng.permutation(n) < noise * n
    x[is_noise] = rng.uniform(-5.0, 10.0, (int(is_noise.sum()), D))
    return pd.DataFrame(x.round(4), columns=list("abcde")[:D]), np.where(is_noise, 2, labels)


def agree(frame: pd.DataFrame, labels: Any, truth: Any) -> bool:
    """Whether labels agree with the truth as well as those of the densities that made the rows, but for 0.02."""
    x, D = frame.to_numpy(), frame.shape[1]
    log_normal = [-0.5 * ((x - centre) ** 2).sum(axis=1) - 0.5 * D * np.log(2 * np.pi) for centre in (0.0, 5.0)]
    log_density = np.log([[0.45], [0.45], [0.1]]) + np.stack([*log_normal, np.full(len(x), -D * np.log(15.0))])
    return ari(labels, truth) > ari(log_density.argmax(axis=0), truth) - 0.02


def test_noise_is_chosen_named_and_not_counted(smcmc, tmp_path: Path) -> None:
    frame, truth = draw(0, 2)
    frame.assign(truth=truth).rename(lambda i: f"item-{i}").to_csv(tmp_path / "noisy.csv")
    result = smcmc("run", "noisy.csv", "data.truth=truth", "iterations=400", "progress=none")
    run = Run(result.stdout.split()[-1])
    said = " ".join(result.stderr.split())
    assert "model.noise=auto: 0.01, a background of noise; none is" in said
    assert run.config["model"]["noise"] == 0.01
    clusters, apart = run.clusters(), run.summary["apart"]
    # behind the clusters
    k = clusters["cluster"].max() - 1
    rows = int((clusters["cluster"] == k + 1).sum())
    assert f"2 clusters and {rows} noise rows of 300 rows" in said
    assert 0.05 < apart["share"][1] < 0.1 < apart["share"][2] < 0.2
    first = clusters["name"][clusters["cluster"] == k + 1].iloc[:10]
    assert f"spread evenly over the box of the data: {', '.join(map(str, first))} and" in said
    assert agree(frame, run.summary["point_estimate"]["labels"], truth)
    assert run.summary["n_clusters_95"][0] == 2
    # files
    table = pd.read_csv(run.path / "clusters.csv")
    assert table["noise"][truth == 2].mean() > 0.7 and table["noise"][truth != 2].mean() < 0.05
    described = pd.read_csv(run.path / "cluster_summary.csv")
    assert described["apart"].fillna("").tolist() == ["", "", "noise"]
    # the choice is stored: the same command fits nothing
    again = smcmc("run", "noisy.csv", "data.truth=truth", "iterations=400", "progress=none", "resume=true")
    assert again.stdout.split()[-1] == result.stdout.split()[-1]
    summary = smcmc("summary", str(run.path))
    assert f"2 clusters and {rows} noise rows of 300 rows" in summary.stdout


def test_noise_is_asked_for_where_a_part_of_the_rows_is_compared(smcmc, tmp_path: Path) -> None:
    frame, _ = draw(1, 2, n=choice.MOST_ROWS + 200)
    frame.to_csv(tmp_path / "many.csv", index=False)
    keys = "iterations=50", "progress=none", "model.covariance=diag", "model.tails=normal", "model.noise=auto"
    result = smcmc("run", "many.csv", "model=gaussian", *keys)
    assert "model.noise=auto: 0.01, a background of noise; none is" in " ".join(result.stderr.split())


@pytest.fixture(scope="module")
def noisy() -> sm.Posterior:
    """A run of few draws, whose noise is the second largest cluster."""
    frame, truth = draw(4, 3, noise=0.3)
    few: dict[str, Any] = {"iterations": 300, "chains": 2, "progress": "none", "options": {"trace.partitions": 10}}
    return sm.sample(MODEL | {"noise": 0.01}, frame[truth != 1], **few)


def test_noise_is_noise_in_every_view_of_a_run(smcmc, noisy: sm.Posterior) -> None:
    """And no cluster in any; its number is the last."""
    run, N = noisy.run, noisy.n_items
    rows = int((noisy.labels == noisy.labels.max()).sum())
    K = int(noisy.labels.max())
    counted = count_of(K, "cluster")

    def show(*words: str) -> str:
        return " ".join(smcmc("summary", str(run.path), *words).stdout.split())

    assert f"{counted} and {rows} noise rows of {N} rows" in show()
    # fewer draws than an interval needs count it no more than many do
    assert sum(len(labels) for labels in noisy.partitions[:, :1]) < 100
    assert "without outliers and noise" in show() and noisy.n_clusters_interval[0] == 1
    assert f"1 cluster and {rows} noise rows of {N} rows" in show("clusters=1")
    assert smcmc("summary", str(run.path), f"clusters={K + 1}").exit_code == 2
    assert f"levels of {K}" in show("--levels")
    assert " noise rows, mean distance" in show("answers=1") and show("answers=1").endswith(" noise")
    assert " of cluster noise" not in show("core=0.5") and "of noise" in show("core=0.5")
    # Python
    assert f"{counted} and {rows} noise rows" in repr(noisy)
    assert ((noisy.at(1) == 1) == (noisy.labels == K)).all()
    assert noisy.levels()["clusters"].tolist() == list(range(K, 0, -1))
    assert noisy.cluster_summary()["apart"].tolist() == [""] * K + ["noise"]
    assert noisy.membership()["noise"][noisy.labels == K].mean() > 0.5
    for one in noisy.representatives(2):
        assert count_listed(one.labels, run.summary).endswith(" noise rows")
    # draws, whose clusters of noise are one
    is_apart = rows_apart(noisy.partitions, run.summary)
    assert is_apart is not None
    assert all(len(set(draw[of_draw])) <= 1 for draw, of_draw in zip(noisy.partitions, is_apart, strict=True))


def test_pictures_name_noise_and_draw_it_grey(noisy: sm.Posterior) -> None:
    looks = style.looks_of(noisy.run, noisy.labels)
    assert list(looks)[-1] == noisy.labels.max()
    assert [colour == style.ALONE for colour, _ in looks.values()] == [False] * (len(looks) - 1) + [True]
    assert style.numbers_by_size(noisy.run, noisy.labels).count("noise") == 1
    for name in ("pairs", "cluster_means", "co_clustering", "credible_ball"):
        written = [text.get_text() for text in noisy.plot(name).findobj(Text)]
        assert any("noise" in text for text in written), name


@pytest.mark.parametrize("D", [2, 4])
def test_without_noise_nothing_is_fitted_and_nothing_is_said(D: int, caplog: pytest.LogCaptureFixture) -> None:
    frame, truth = draw(1, D, noise=0.0)
    posterior = sm.sample("auto", frame, iterations=200, progress="none")
    assert posterior.run.config["model"]["noise"] == 0.0
    assert "model.noise" not in posterior.run.summary["chosen"]
    assert "apart" not in posterior.run.summary
    assert ari(posterior.labels, truth) > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_tenth_of_noise_is_found_in_two_to_five_columns(seed: int) -> None:
    frame, truth = draw(10 + seed, 2 + seed)
    posterior = sm.sample("auto", frame, progress="none")
    assert agree(frame, posterior.labels, truth)
    assert posterior.run.summary["n_clusters_95"][0] == 2


def test_what_does_not_go_together_ends_with_one_message(smcmc, tmp_path: Path) -> None:
    frame, _ = draw(0, 2, n=40)
    frame.to_csv(tmp_path / "noisy.csv", index=False)
    frame.iloc[2, 1] = np.nan
    frame.to_csv(tmp_path / "gaps.csv", index=False)
    told = ["model=gaussian", "model.noise=0.01", "iterations=20", "chains=2", "progress=none"]
    for path, keys, message in (
        (
            "noisy.csv",
            ["model.tails=t"],
            "model.noise=0.01: model.tails=t, which describes rows far away, too; expected",
        ),
        ("noisy.csv", ["model.select=true"], "model.noise=0.01: model.select=true; expected model.select=false"),
        ("noisy.csv", ["model.box=[0,1]"], "model.box: expected a number, or one for each of 4 ends of columns"),
        ("noisy.csv", ["model.box=[1,0,0,1]"], "model.box: expected the lowest and the highest value of each column"),
        ("noisy.csv", ["model.noise=0.9"], "model.noise=0.9: expected a number from 0 to 0.5"),
        ("noisy.csv", ["sampler=subcluster"], "sampler=subcluster: does not support model=gaussian"),
        ("gaps.csv", ["model.covariance=full"], "model.noise=0.01, model.covariance=full: row 3, column 2 ('b')"),
    ):
        result = smcmc("run", "data=csv", f"data.path={path}", *told, *keys, f"out={tmp_path / 'out'}")
        assert result.exit_code == 2
        assert message in result.stderr
        assert not (tmp_path / "out").exists()
    # of independent columns cells may be missing
    assert smcmc("run", "data=csv", "data.path=gaps.csv", *told).exit_code == 0


def test_densities_checks_and_groups_of_a_run_with_noise() -> None:
    frame, truth = draw(2, 3)
    short: dict[str, Any] = {"iterations": 300, "chains": 2, "progress": "none", "options": {"trace.partitions": 2}}
    posterior = sm.sample(MODEL | {"noise": 0.01}, frame, **short)
    density = posterior.log_predictive(pd.DataFrame([[0.0] * 3, [30.0] * 3], columns=list("abc")))
    assert np.isfinite(density).all() and density[0] > density[1] + 5.0
    without = sm.sample(MODEL, frame, **short)
    gain = posterior.leave_one_out().log_density - without.leave_one_out().log_density
    assert gain.mean() > 2.0 * gain.std() / np.sqrt(len(gain))
    assert posterior.run.summary["fit"]["draws"] > 0
    # groups leave the noise out, and stay apart from it
    joined = sm.sample(MODEL | {"noise": 0.01}, frame, **short | {"options": {"trace.partitions": 2, "gap": 0.25}})
    assert joined.run.summary["joined"]["why_not"] is None
    assert agree(frame, joined.labels, truth)


def test_noise_of_a_table_with_categories_is_chosen_and_found() -> None:
    """Uniform over the levels, too. Columns on scales have densities in the units of the data, as noise has."""
    frame, truth = draw(5, 3)
    rng = np.random.default_rng(5)
    usual = np.where(truth == 2, rng.integers(3, size=len(truth)), truth)
    frame["colour"] = np.array(["red", "green", "blue"])[np.where(rng.random(len(truth)) < 0.1, 2, usual)]
    frame["a"] = np.exp(frame["a"] / 4.0)
    auto = {"name": "mixed", "covariance": "full", "b0": "hierarchical", "kappa0": "hierarchical", "noise": "auto"}
    posterior = sm.sample(auto, frame, iterations=400, progress="none", options={"data.scale": {"a": "log"}}, seed=2)
    assert posterior.run.config["model"]["noise"] == 0.01
    is_noise = rows_apart(posterior.labels, posterior.run.summary)
    assert is_noise is not None and is_noise[truth == 2].mean() > 0.7 and is_noise[truth != 2].mean() < 0.03
    assert posterior.run.summary["fit"]["draws"] > 0


def test_rows_apart_have_one_label_and_no_size() -> None:
    labels = np.array([[0, 0, 1, 1, 2, 3], [0, 0, 0, 1, 1, 1]], dtype=np.int32)
    apart = np.array([[0, 0, 0, 0, 1, 1], [0] * 6], dtype=bool)
    assert join_apart(labels.copy(), apart).tolist() == [[0, 0, 1, 1, 2, 2], [0, 0, 0, 1, 1, 1]]
    assert join_apart(labels, None) is labels
    late = Late(np.arange(2), join_apart(labels.copy(), apart), apart=apart)
    found = find_apart({0: late.take([0]), 1: late.take([0])}, "noise")
    assert found is not None
    assert found["share"] == [pytest.approx(1 / 3)] * 3
    assert find_apart({0: late.take([1])}, "noise") is None
    summary = {"point_estimate": {"labels": [0, 0, 1, 1, 2, 2]}, "apart": found}
    assert row_sizes(summary) == [1.0, 1.0, 1.0, 1.0, 0.0, 0.0]
    assert row_sizes(summary, whole=True) is None
    many = np.repeat(by_appearance([0, 1, 2]), 20)[None]
    assert Late(np.arange(1), many, apart=many == 2).count_clusters().tolist() == [2]


def test_the_gain_of_a_uniform_component() -> None:
    """Nothing where no row is less probable than noise."""
    assert choice._gain_of_noise(np.full(11, 1.0), np.zeros(11)) == pytest.approx((0.0, 0.0), abs=1e-6)
    gain, share = choice._gain_of_noise(np.append(np.full(10, 1.0), -40.0), np.zeros(11))
    assert gain > 30.0 and 0.0 < share < 0.5


def test_rows_that_are_spread_evenly_are_no_background(smcmc, tmp_path: Path) -> None:
    even = np.random.default_rng(0).random((120, 2)).round(4)
    pd.DataFrame(even, columns=["u", "v"]).to_csv(tmp_path / "t.csv", index=False)
    result = smcmc("run", "t.csv", "seed=0", "iterations=40", "progress=none", status=0)
    assert "noise" not in result.stderr


@pytest.mark.parametrize("model", ["lines", "gamma_poisson"])
def test_a_model_without_a_background_is_not_asked_for_one(smcmc, tmp_path: Path, model: str) -> None:
    """The noise of lines is something else."""
    pd.DataFrame({"x": [1, 2, 3, 4], "y": [2, 4, 6, 9]}).to_csv(tmp_path / "few.csv", index=False)
    result = smcmc("run", "few.csv", f"model={model}", "model.noise=auto")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == f"smcmc: model.noise=auto: model={model} has no noise to choose"
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("difference", "side"), [(0.1, "0.100 nats a row behind ("), (-0.1, "ahead, fewer than 2 errors (")]
)
def test_a_background_that_is_ahead_and_not_taken_says_why(difference: float, side: str) -> None:
    table = {"noise": ["0", "0.01"], "difference": [0.0, difference], "standard_error": [0.0, 0.06]}
    assert side in choice.format_noise(Ranking(table, {}))
