"""Figures across papers, from small runs; what they are folded with: papers are counted without them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import write_auto
from editions import overview
from figure_runs import draw, make_runs

from splitmerge_cli.config import ConfigError, resolution
from splitmerge_cli.papers import declaration, experiments, report, reproduce
from splitmerge_cli.papers.comparisons import figures as comparison_figures
from splitmerge_cli.runs.store.read import Run

pytestmark = pytest.mark.usefixtures("coarse_pictures")

SMALL = {"budget": 0.01, "N": 25, "thin": 1}
SAMPLERS = ("gibbs", "sams", "lshsm")


def make_small_runs(jobs: list[list[str]], **more: object) -> list[Run]:
    """The small runs of jobs, each once: sizes are what tells some apart."""
    given = [dict(override.split("=", 1) for override in job) | SMALL | more for job in jobs]
    return make_runs([dict(job) for job in dict.fromkeys(tuple(job.items()) for job in given)])


@pytest.fixture(scope="module")
def matrix_runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Runs of the matrix at quick scale, of three samplers."""
    out = tmp_path_factory.mktemp("results")
    jobs = experiments.jobs("matrix", "quick", out)
    return make_small_runs([job for job in jobs if any(f"sampler={name}" in job for name in SAMPLERS)])


def test_chains_of_a_data_set_are_raced_with_each_other(matrix_runs: list[Run]) -> None:
    table = comparison_figures.table(matrix_runs)
    assert table["data"].unique().tolist() == ["separation=1.5", "separation=6.0"]
    assert set(table["schedule"]) == {"gibbs", "sams", "lshsm", "5 sams"}
    assert table.groupby(["data", "schedule"])["start"].apply(sorted).tolist() == [["many", "one"]] * 8
    behind = comparison_figures.losses(table)
    assert (behind.min(axis=1) == 0).all() and (behind.to_numpy() >= 0).all()
    assert np.allclose(comparison_figures.relative_times(table)["gaussian"], np.exp(behind.mean()))


def test_the_matrix_is_drawn(matrix_runs: list[Run]) -> None:
    drawing = draw(comparison_figures.matrix, matrix_runs)
    assert len(drawing.plotted) == len(matrix_runs) and drawing.verdicts == ()
    assert "Gaussian 2 (" in drawing.notes
    texts = [text.get_text() for text in drawing.figure.axes[0].texts]
    times = comparison_figures.relative_times(drawing.plotted)["gaussian"]
    assert sorted(map(float, texts)) == sorted(round(t, 1) for t in times)


def test_the_choice_is_drawn(matrix_runs: list[Run]) -> None:
    drawing = draw(comparison_figures.auto, matrix_runs)
    assert set(drawing.plotted["schedule"]) == {resolution.AUTO, "gibbs", "sams", "lshsm", "5 sams"}
    assert (drawing.plotted["worst"] >= drawing.plotted["median"]).all()


def test_scaling_is_drawn(tmp_path: Path) -> None:
    jobs = [["experiment=scaling", "sampler=sams", f"out={tmp_path}", "data.separation=3"]]
    sizes = [{"data.components": "3", "data.D": d} for d in ("2", "4")] + [{"data.components": "5", "data.D": "2"}]
    runs = [run for size in sizes for run in make_small_runs(jobs, **size)]
    runs += make_small_runs(jobs, **{**sizes[0], "N": 40})
    drawing = draw(comparison_figures.scaling, runs)
    assert drawing.plotted["items"].tolist() == [25, 25, 25, 40]
    assert (drawing.plotted["iteration"] > 0).all()
    drawn = {ax.get_xlabel(): len(ax.lines[0].get_xdata()) for ax in drawing.figure.axes[3:]}
    assert drawn == {"items N": 2, "dimensions D": 2, "clusters K": 2}


def test_exactness_is_computed_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exact kernels keep the posterior to rounding; as printed they do not, and a table shows it without a model."""
    monkeypatch.setattr(comparison_figures, "ALL", ("sdds", "gibbs"))
    asked = comparison_figures.records
    monkeypatch.setattr(comparison_figures, "records", lambda keys: asked({**keys, "model": "emm"}))
    assert reproduce.reproduce(["exactness"], "quick", tmp_path) == 0
    table = pd.read_csv(tmp_path / "exactness" / "table.csv")
    exact, printed = (table[table["mode"] == mode] for mode in ("exact", "as_printed"))
    assert exact[["defect", "gibbs_defect"]].max().max() < 1e-12 and set(exact["verdict"]) == {"exact"}
    assert printed["defect"].min() > 1e-3 and set(exact["sampler"]) == {"sdds", "gibbs"}
    caption = (tmp_path / "figures" / "exactness-caption.txt").read_text(encoding="utf-8")
    assert f"{len(printed)} of {len(printed)} forms have another stationary distribution" in caption
    # a figure without claims is on the page of all figures
    assert 'id="exactness"' in report.report(tmp_path).read_text(encoding="utf-8")


def test_comparisons_are_no_papers() -> None:
    names = {figure.id for each in declaration.comparisons() for figure in each.figures}
    assert {"matrix", "exactness", "scaling", "auto"} <= names <= set(declaration.figures())
    assert all(isinstance(each, declaration.Paper) for each in declaration.papers())
    assert not names & {figure.id for paper in declaration.papers() for figure in paper.figures}
    assert overview.total({}).figures == len(declaration.figures()) - len(names)
    assert declaration.paper_of("matrix") is None and isinstance(declaration.set_of("matrix"), declaration.Comparison)
    assert declaration.select(["comparisons"]) == sorted(names)


def test_a_comparison_of_the_users_own(tmp_path: Path) -> None:
    (tmp_path / "comparison.py").write_text(
        "from splitmerge_cli.papers.declaration import Comparison, PaperFigure\n"
        "COMPARISON = Comparison(key='mine', title='Mine', figures=(PaperFigure('twice', 'Two.', 'two.draw'),))\n"
    )
    assert declaration.select(["mine"], tmp_path) == ["twice"]
    wrong = tmp_path / "wrong"
    wrong.mkdir()
    (wrong / "comparison.py").write_text("COMPARISON = 3\n")
    with pytest.raises(ConfigError, match="COMPARISON=3: expected a Comparison"):
        declaration.figures(wrong)


def test_what_auto_takes_follows_from_the_kept_matrix() -> None:
    assert write_auto.TARGET.read_text(encoding="utf-8") == write_auto.text(), "run python scripts/write_auto.py"
