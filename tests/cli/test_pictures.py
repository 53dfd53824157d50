"""Pictures of wide tables and of networks: what they show, and that their text can be read."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from printing import problems

from splitmerge_cli.analysis.plots import races, style, uncertainty
from splitmerge_cli.analysis.plots.run import all_pictures, pictures
from splitmerge_cli.kinds.tables.plots import columns
from splitmerge_cli.runs import open_run
from splitmerge_cli.runs.store.read import Run

OPTIONS = ["sampler=sams", "chains=2", "iterations=600", "progress=none"]


@pytest.fixture(autouse=True)
def _style() -> Iterator[None]:
    with style.use_style():
        yield
    columns.plt.close("all")


def run_of(smcmc, *args: str) -> Run:
    result = smcmc("run", *args, *OPTIONS, status=0)
    return open_run(Path(result.stdout.splitlines()[-1]))


def is_within(place: float, limits: np.ndarray) -> bool:
    room = 1e-6 * np.ptp(limits)
    return bool(limits.min() - room <= place <= limits.max() + room)


def texts(figure: Figure) -> list[Text]:
    """All text that is drawn."""
    figure.canvas.draw()
    found = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    shown = [ax for ax in figure.axes if ax.axison and ax.get_visible()]
    # tick labels of hidden axes, and those beyond the limits, are not drawn
    every = [tick for ax in figure.axes for axis in (ax.xaxis, ax.yaxis) for tick in axis.majorTicks + axis.minorTicks]
    ticks = {label for tick in every for label in (tick.label1, tick.label2)}
    drawn = {
        tick.label1
        for ax in shown
        for axis in (ax.xaxis, ax.yaxis)
        for tick in axis._update_ticks()
        if tick.label1.get_visible() and is_within(tick.get_loc(), axis.get_view_interval())
    }
    named = {label for ax in figure.axes for label in (ax.xaxis.label, ax.yaxis.label) if ax not in shown}
    return [text for text in found if text not in named and (text not in ticks or text in drawn)]


def check(figure: Figure) -> str:
    """Every text is large enough, inside of the picture, and no two labels of an axis overlap; returns all text."""
    found = texts(figure)
    renderer = figure.canvas.get_renderer()
    width, height = figure.canvas.get_width_height()
    assert figure.get_figwidth() <= 7.21 and figure.get_figheight() <= 9.7
    for text in found:
        assert text.get_fontsize() >= style.SMALLEST, text
        box = text.get_window_extent(renderer)
        inside = box.x0 >= -2 and box.x1 <= width + 2 and box.y0 >= -2 and box.y1 <= height + 2
        assert inside, (text, box)
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            labels = [t for t in axis.get_ticklabels() if t in found and t.get_text()]
            boxes = [t.get_window_extent(renderer).shrunk(0.9, 0.8) for t in labels]
            assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[k + 1 :]), labels
    return "\n".join(text.get_text() for text in found)


def mixed_table(path: Path) -> None:
    rng = np.random.default_rng(0)
    z = np.arange(90) % 3
    frame = pd.DataFrame(
        {
            "income of the whole household in the last completed year": rng.normal(20000 + 30000 * z, 3000).round(1),
            "visits": rng.poisson(1 + 5 * z),
            "price in $": rng.normal(z % 2, 0.2).round(3),
            "member": np.where(rng.random(90) < 0.2 + 0.3 * z, "yes", "no"),
            "town": rng.choice(["Bonn", "Rome", "Frankfurt (Oder)"], 90),
        }
    )
    frame.to_csv(path, index=False)
    frame = frame.mask(rng.random(frame.shape) < 0.1)
    frame.to_csv(path, index=False)


def test_a_table_of_several_types(smcmc, tmp_path: Path) -> None:
    mixed_table(tmp_path / "people.csv")
    run = run_of(smcmc, "data=csv", "data.path=people.csv", "model=mixed")
    drawn = dict(pictures(run))
    # what the clusters are, how many, how certain; the chains come last
    expected = ["cluster_means", "pairs", "projection", "n_clusters", "dendrogram"]
    assert list(drawn) == [*expected, "co_clustering", "credible_ball", "traces"]
    said = {name: check(figure) for name, figure in drawn.items()}
    # the file's name, not the data set's
    assert all("on people, N = 90" in text and "csv," not in text for text in said.values())
    assert "town=Frankfurt (Oder)" in said["cluster_means"] and "member=yes" in said["cluster_means"]
    assert r"price in \$" in said["pairs"] and "of variance" in said["projection"] and "left out" in said["pairs"]
    means = drawn["cluster_means"].axes[1].images[0].get_array()
    assert means.shape == (3 + 1 + 3, run.summary["point_estimate"]["n_clusters"])


@pytest.mark.slow  # the largest pictures
def test_forty_clusters_and_sixty_columns(smcmc, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    z = np.arange(200) % 40
    x = rng.normal(0, 4, (40, 60))[z] + rng.normal(0, 0.5, (200, 60))
    names = [f"measurement number {j:02d} of the long questionnaire" for j in range(60)]
    pd.DataFrame(x.round(3), columns=names).to_csv(tmp_path / "wide.csv", index=False)
    run = run_of(smcmc, "data=csv", "data.path=wide.csv", "model=gaussian", "model.covariance=diag")
    assert run.summary["point_estimate"]["n_clusters"] > 20
    said = {name: check(figure) for name, figure in pictures(run, ["pairs", "projection", "cluster_means"])}
    assert "4 rows in which the clusters differ less are left out" in said["cluster_means"]
    # names that begin and end alike stay distinct
    assert sum(f"…{j:02d}…" in said["cluster_means"] for j in range(60)) == 56


def test_blocks_have_the_numbers_that_the_caption_promises() -> None:
    """From 0.005 on, where both clusters have at least 1 in 12 items: 12 and 11 of 24 have, 1 has not."""
    labels = np.repeat([0, 1, 2], [12, 11, 1])
    apart = np.repeat([0, 1, 0], [12, 11, 1])
    _, ax = columns.plt.subplots()
    uncertainty._blocks(ax, np.stack([labels, apart, apart]), labels, apart, {})
    assert [text.get_text() for text in ax.texts] == ["1.00", "1.00"]
    # the largest and the smallest cluster are parts of cluster 0 of the estimate; the smallest is too narrow for a name
    assert [label.get_text() for label in ax.get_yticklabels()] == ["0.1", "1"]
    uncertainty._blocks(ax, np.stack([labels, np.zeros(24, int)]), labels, apart, {})
    assert sorted(text.get_text() for text in ax.texts[2:]) == ["0.50", "0.50", "1.00", "1.00"]


def test_clusters_are_named_by_those_of_the_point_estimate() -> None:
    estimate = np.array([5, 5, 5, 5, 6, 6, 7, 7])
    assert uncertainty.name_parts([0, 0, 0, 1, 2, 2, 2, 2], estimate, {}) == ["6+7", "5.1", "5.2"]
    # a tenth of the items at least
    assert uncertainty.name_parts(np.zeros(21, int), np.repeat([0, 1, 2], [17, 3, 1]), {}) == ["0+1"]


@pytest.mark.slow
def test_the_command_lists_and_chooses(smcmc, tmp_path: Path) -> None:
    mixed_table(tmp_path / "people.csv")
    run = run_of(smcmc, "data=csv", "data.path=people.csv", "model=mixed")
    listed = smcmc("plot", "--list", str(run.path))
    assert listed.exit_code == 0 and f"  {'pairs':19}{all_pictures()['pairs'].shows}" in listed.stdout
    assert "network" not in listed.stdout and not list(run.path.glob("*.png"))
    smcmc("plot", "--only", "pairs,traces", str(run.path), status=0)
    assert sorted(p.name for p in run.path.glob("*.png")) == ["pairs.png", "traces.png"]
    absent = smcmc("plot", "--only", "network", str(run.path))
    assert absent.exit_code == 2 and "--only network" in absent.stderr and "cluster_means" in absent.stderr
    unknown = smcmc("plot", "--only", "nothing", str(run.path))
    assert unknown.exit_code == 2 and "--only nothing" in unknown.stderr
    # without the data all but what shows them is drawn, and the message names the file
    (tmp_path / "people.csv").unlink()
    gone = smcmc("plot", str(run.path))
    assert gone.exit_code == 2 and "people.csv" in gone.stderr and (run.path / "n_clusters.png").is_file()


@pytest.mark.slow
def test_pictures_at_the_width_of_a_column(smcmc) -> None:
    run = run_of(smcmc, "data=lines", "model=lines", "N=60")
    drawn = dict(pictures(run, column=True))
    assert {"n_clusters", "points"} <= set(drawn) <= {k for k, each in all_pictures().items() if each.in_column}
    for figure in drawn.values():
        assert figure.get_figwidth() == pytest.approx(style.HALF)
        # what a narrow note has is more lines
        assert not [problem for problem in problems(figure) if not problem.startswith("a note of ")]
    assert smcmc("plot", "--width", "column", str(run.path)).exit_code == 0
    wide = smcmc("plot", "--width", "column", "--only", "projection", str(run.path))
    assert wide.exit_code == 2 and "projection needs the width of a page" in wide.stderr
    paper = smcmc("plot", "--width", "column", "sdds-fig3")
    assert paper.exit_code == 2 and "sdds-fig3 is a figure of a paper" in paper.stderr
    assert smcmc("plot", "--width", "3", str(run.path)).exit_code == 2


def test_chains_stand_apart(smcmc) -> None:
    """Each has its strip of traces and ranks, and a line of its own colour and dashes among the running means."""
    run = run_of(smcmc, "data=emm", "model=emm", "N=30")
    figure = dict(pictures(run, ["traces"]))["traces"]
    said = check(figure)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["chain 0", "chain 1"]
    strips, ranks, means = figure.axes[:3]
    assert strips.get_title(loc="left").startswith("log joint: ") and "clusters K: " in said
    assert [label.get_text() for label in strips.get_yticklabels()] == ["chain 0", "chain 1"]
    first, second = (line.get_ydata() for line in strips.lines)
    assert first.max() < 0.5 < second.min()
    assert ranks.get_title(loc="left") == f"ranks, R-hat {run.summary['diagnostics']['rhat/log_joint']:.3f}"
    assert len({line.get_color() for line in means.lines}) == len({line.get_linestyle() for line in means.lines}) == 2
    # the last value of a running mean is that of the diagnosis
    means_of_half = run.trace().query("iteration > 300").groupby("chain")["log_joint"].mean()
    np.testing.assert_allclose([line.get_ydata()[-1] for line in means.lines], means_of_half)


def test_ranks_of_equal_chains_are_uniform_and_of_others_are_not() -> None:
    x = np.random.default_rng(0).normal(size=(4, 2000))
    for same in (x, x.round()):  # ties are in random order
        counts = races.count_ranks(same)
        assert counts.shape == (4, 20) and (counts.sum(axis=1) == 2000).all()
        assert abs(counts / 100 - 1).max() < 0.4
    apart = races.count_ranks(x + np.array([[0], [0], [0], [9]]))
    assert apart[3, :15].sum() == 0 and (apart[3, 15:] == 400).all()
