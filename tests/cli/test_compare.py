"""``smcmc compare``, and the table and file that end a sweep."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest
from command_line import run_path
from sklearn.metrics import adjusted_rand_score

from splitmerge_cli.analysis import comparison
from splitmerge_cli.runs import initial
from splitmerge_cli.runs.store import manifest, read

QUICK = ["chains=2", "iterations=40", "progress=none", "timing=false"]


def write_table(path: str, rows: list[int], names: bool = False) -> None:
    """Two groups of points: the rows of a table, perhaps with their names."""
    lines = [",x,y"] if names else ["x,y"]
    for i in rows:
        cells = f"{10 * (i % 2) + 0.13 * i:.2f},{0.37 * (i % 7):.2f}"
        lines.append(f"n{i},{cells}" if names else cells)
    Path(path).write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("launcher", ["basic", pytest.param("joblib", marks=pytest.mark.slow)])
def test_a_sweep_ends_with_a_table_and_a_file(smcmc, launcher) -> None:
    grid = ["sweep", "sampler=sams", "data=emm", "N=30", "seed=0,1", *QUICK]
    files = []
    for out, how in (("one", "basic"), ("two", launcher)):
        result = smcmc(*grid, f"out={out}", f"workers={len(files) + 1}", f"hydra/launcher={how}", status=0)
        files.append(next(Path(out).glob("sweeps/*/sweep.csv")))
        lines = result.stdout.splitlines()
        assert lines[-1] == "2 jobs: 2 done"
        assert lines[-2] == str(files[-1])
        head = next(line for line in lines if "R-hat" in line)
        assert [word for word in ("K", "95 %", "ESS/s", "seconds", "ARI") if word not in head] == []
        assert any(line.split()[0] == "seed=1" for line in lines)
    # neither the number of workers nor the launcher is in it
    assert files[0].read_bytes() == files[1].read_bytes()
    manifest.Manifest(files[0].parent / "manifest.json").check_all()
    table = pd.read_csv(files[0])
    assert [job.startswith(f"sampler=sams data=emm N=30 seed={k}") for k, job in enumerate(table["job"])] == [True] * 2
    assert not table["job"].str.contains("workers|progress|out=").any()
    assert (table["seconds"] == 0).all() and table["ess_per_second"].isna().all()
    for row in table.itertuples():
        summary = read.Run(Path("one") / row.run).summary
        assert row.n_clusters == summary["point_estimate"]["n_clusters"]
        assert row.ari == pytest.approx(summary["diagnostics"]["ari/point"])
    assert "2 jobs: 2 skipped" in smcmc(*grid, "out=one").stdout


def test_compare_says_how_far_apart_estimates_are(smcmc) -> None:
    write_table("a.csv", list(range(24)))
    write_table("b.csv", list(range(20)))
    base = ["run", "sampler=sams", "model=gaussian", "data=csv", *QUICK]
    for more in (["data.path=a.csv"], ["data.path=a.csv", "data.columns=[x]"], ["data.path=b.csv"]):
        assert smcmc(*base, *more).exit_code == 0
    result = smcmc("compare", "results", "results", status=0)
    runs = read.find_runs("results")
    found, apart = comparison.measure_distances(runs)
    assert len(found) == 3 and len(apart) == 2
    same = [k for k, run in enumerate(runs) if "a.csv" in run.config["data"]["path"]]
    row = found[(found["a"] == same[0]) & (found["b"] == same[1])].iloc[0]
    labels = [comparison.labels_of(runs[k]) for k in same]
    assert row["ari"] == pytest.approx(adjusted_rand_score(*labels))
    assert found["vi"].isna().sum() == 2
    assert "no distance, because the items differ" in result.stdout
    assert "b.csv, 20 items" in result.stdout
    assert "data.columns=" in result.stdout


def test_items_of_two_files_are_matched_by_name(smcmc) -> None:
    write_table("a.csv", list(range(24)), names=True)
    write_table("b.csv", list(range(24))[::-1], names=True)
    base = ["run", "sampler=sams", "model=gaussian", "data=csv", *QUICK]
    for name in ("a", "b"):
        assert smcmc(*base, f"data.path={name}.csv").exit_code == 0
    runs = read.find_runs("results")
    found, apart = comparison.measure_distances(runs)
    frames = [run.clusters().set_index("name")["cluster"] for run in runs]
    assert found["ari"].iloc[0] == pytest.approx(adjusted_rand_score(frames[0], frames[1][frames[0].index]))
    assert not apart


@pytest.mark.parametrize(
    ("K", "low", "high", "said"),
    [
        (3, 2, 4, ["3", "2–4"]),
        (2, 2, 4, ["2", "2–4"]),
        (4, 2, 4, ["4", "2–4"]),
        (1, 2, 4, ["1 (outside)", "2–4"]),
        (1_205, 2, 1_204, ["1,205 (outside)", "2–1,204"]),
        (7, None, None, ["7 (best state)", "–"]),
        (7, pd.NA, pd.NA, ["7 (best state)", "–"]),
    ],
)
def test_an_estimate_outside_its_interval_is_marked(K, low, high, said) -> None:
    assert list(comparison.clusters_of({"n_clusters": K, "low": low, "high": high})) == said


@pytest.mark.parametrize(
    ("jobs", "labels"),
    [
        ([["a=1", "b=2"]], ["a=1 b=2"]),
        ([["a=1", "b=2"], ["a=1", "b=3"]], ["b=2", "b=3"]),
        ([["a=1"], ["a=1", "b=3"]], ["a=1", "b=3"]),
    ],
)
def test_what_jobs_share_is_left_out(jobs: list[list[str]], labels: list[str]) -> None:
    assert comparison.drop_shared(jobs) == labels


@pytest.mark.parametrize(("x", "offered"), [("abc", False), (("0.5", "1.5", "2.25"), True)], ids=["words", "numbers"])
def test_a_covariance_is_offered_where_a_column_is_real(smcmc, x: Sequence[str], offered: bool) -> None:
    rows = [f"{'uvw'[i % 3]},{x[i % 7 % 3]}" for i in range(40)]
    Path("t.csv").write_text("\n".join(["a,b", *rows]) + "\n")
    types = "data.types={a:categorical,b:" + ("real}" if offered else "categorical}")
    run = run_path(smcmc("run", "data=csv", "data.path=t.csv", "model=mixed", types, "iterations=20"))
    lines = [line for aspect, line in comparison.commands(initial.open_run(run)) if aspect == "model"]
    assert any("model.covariance" in line for line in lines) == offered
