"""Figures from small runs: what is drawn, stored, judged and said."""

import re
from dataclasses import replace
from datetime import date
from html import unescape

import numpy as np
import pandas as pd
import pytest
from figure_runs import draw, options

from splitmerge_cli import __version__
from splitmerge_cli.analysis.plots import races, style
from splitmerge_cli.config import ConfigError, compose
from splitmerge_cli.diagnostics.summary import second_half
from splitmerge_cli.overrides import shell_word
from splitmerge_cli.papers import claims, declaration, experiments, report, reproduce, verdict_tables
from splitmerge_cli.papers.drawing import Climb
from splitmerge_cli.papers.lshsm.runs import STOOD_IN
from splitmerge_cli.papers.sdds import exact, running_means, speed
from splitmerge_cli.papers.verdicts import NOT_REPRODUCED, NOT_TESTABLE, REPRODUCED, UNDECIDED, by_majority
from splitmerge_cli.runs import prepare
from splitmerge_cli.runs import run as make_run
from splitmerge_cli.runs.store.read import Run
from splitmerge_cli.runs.sweeps.sweep import JobOutcome

EXACT = ["sdds-fig1", "sdds-fig2", "sdds-table1"]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return tmp_path_factory.mktemp("results") / "it's, here"


@pytest.fixture(scope="module")
def make(results):
    """Make a small run (or find it) and return it."""

    def _make(*overrides):
        return Run(make_run(compose([*overrides, experiments.out_override(results), "progress=none"])))

    return _make


@pytest.fixture(scope="module")
def make_all(make):
    """Make the runs of a figure with some settings, one for each of these choices."""

    def _make_all(name, settings, choices):
        return [make(f"experiment={name}", *settings, *choice) for choice in choices]

    return _make_all


READINGS = [
    ("schedule=full_scan", "model.label_prior=as_printed"),
    ("schedule=single_site", "model.label_prior=as_printed"),
    ("schedule=full_scan", "model.label_prior=labelled"),
]


@pytest.fixture(scope="module")
def figures_folder(results):
    """The exact figures, reproduced."""
    assert reproduce.reproduce(EXACT, "quick", results) == 0
    return results / report.FOLDER


def test_selection():
    names = [name for name, _ in experiments.list_figures()]
    assert declaration.select(["all"]) == names
    assert declaration.select(["sdds"]) == [n for n in names if n.startswith("sdds-")]
    assert declaration.select(["sdds-fig4", "sdds-fig3", "sdds-fig4"]) == ["sdds-fig4", "sdds-fig3"]
    with pytest.raises(ConfigError, match=r"^results/sams-csv: no such folder; expected a folder of runs"):
        declaration.select(["results/sams-csv"])
    with pytest.raises(ConfigError, match=r"sdds-fig33: no such figure.*Did you mean sdds-fig3\?"):
        declaration.select(["sdds-fig33"])


@pytest.mark.parametrize("scale", ["quick", pytest.param("paper", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", [n for n, e in declaration.figures().items() if e.compute is None])
def test_experiments_compose(name, scale, tmp_path):
    # the published data need not be here
    jobs = experiments.jobs(name, scale, tmp_path, stand_in=True)
    assert len({tuple(job) for job in jobs}) == len(jobs)
    for job in (jobs[0], jobs[-1]):
        assert prepare(compose(job)).spec.experiment in (*experiments._plan(name)["of"], name)


PUBLISHED = {
    **dict.fromkeys(("arm-fig5", "arm-table3", "arm-fig6a", "arm-table4", "arm-table5"), ("nips234", {"network"})),
    **dict.fromkeys(("lshsm-fig3", "lshsm-cache"), ("ohsumed23", {"kdd_like"})),
    "lshsm-table1": ("ohsumed23", {"kdd_like", "s1", "s2", "s3"}),
    **dict.fromkeys(("smag-fig5a", "smag-fig5b"), ("", {"synthetic_documents"})),
    **dict.fromkeys(("triadic-fig1", "triadic-fig2", "triadic-fig3", "triadic-table1"), ("noparama_lines", {"lines"})),
}
"""Figures of published data: the first set that they miss, and what their jobs read where generated data stand in."""


@pytest.mark.parametrize("name", PUBLISHED)
def test_generated_data_stand_in_at_quick_scale_alone(no_data, tmp_path, name):
    missing, instead = PUBLISHED[name]
    assert experiments.needs_stand_in(name, "quick")
    own, jobs = options(name, "quick", tmp_path), options(name, "quick", tmp_path, stand_in=True)
    assert [job["experiment"] for job in jobs] == [job["experiment"] for job in own]
    assert {job["data"] for job in jobs} == instead
    if name.startswith("arm"):
        assert {job["data.seed"] for job in jobs} >= set("123") and not any("data.scale" in job for job in jobs)
    if name.startswith("lshsm"):
        for one, other in zip(own, jobs, strict=True):
            stands_in = one["data"] == "ohsumed23"
            assert other["data"] == ("kdd_like" if stands_in else one["data"])
            assert not stands_in or other["data.seed"] == str(STOOD_IN)
    with pytest.raises(ConfigError, match=rf"{name} --scale paper: .*{missing}: .*SMCMC_DATA") as info:
        reproduce.reproduce([name], "paper", tmp_path)
    assert "\n" not in str(info.value) and not list(tmp_path.rglob("status.json"))


def test_data_that_are_there_or_generated_have_no_stand_in(no_data, tmp_path):
    for name in ("arm-table2", "lshsm-fig1", "lshsm-fig2", "lshsm-speed", "smag-fig3", "sdds-fig3"):
        assert not any(experiments.needs_stand_in(name, scale) for scale in ("quick", "paper"))
    folder = tmp_path / "nothing" / "noparama_lines"
    folder.mkdir(parents=True)
    (folder / "points.csv.gz").touch()
    assert not experiments.needs_stand_in("triadic-table1", "quick")


# exact figures


def test_table1_is_equation_5(figures_folder):
    table = pd.read_csv(figures_folder / "sdds-table1.csv")
    assert table["probability"].tolist() == pytest.approx([1 / 2, 3 / 5, 5 / 8, 5 / 7, 1 / 2, 5 / 8])
    verdicts = pd.read_csv(figures_folder / "sdds-table1-claims.csv")["verdict"].tolist()
    assert verdicts == [REPRODUCED] * 5 + [NOT_REPRODUCED]


def test_proposals_are_those_of_the_algorithms(figures_folder):
    """A few probabilities worked out by hand from Algorithms 2 and 3."""
    smart = pd.read_csv(figures_folder / "sdds-fig1.csv").set_index(["state", "move", "target"])["probability"]
    both = pd.read_csv(figures_folder / "sdds-fig2.csv").set_index(["state", "move", "target"])["probability"]
    for table in (smart, both):
        assert table.groupby(level=[0, 1]).sum().to_numpy() == pytest.approx(1)
    # one pair of six
    assert both["AA|BB|CC|CC", "dumb_merge", "AABB|CC|CC"] == pytest.approx(1 / 6)
    # the entity (1/2), then six of the sixteen ways to put four C on two sides
    assert both["AABB|CCCC", "dumb_split", "AABB|CC|CC"] == pytest.approx(1 / 2 * 6 / 16)
    # from AABB both CC are equally good, from CC the other CC is nearly certain
    g = {"CCCC": 1 / 3, "AABBCC": 0.0}  # in the limit alpha -> 0
    expected = 2 / 3 * g["CCCC"] / (g["CCCC"] + g["AABBCC"])
    assert smart["AABB|CC|CC", "smart_merge", "AABB|CCCC"] == pytest.approx(expected, abs=1e-4)


def test_fig1_and_fig2_judge_by_the_numbers(figures_folder):
    tables = [pd.read_csv(figures_folder / f"sdds-fig{k}-claims.csv") for k in (1, 2)]
    assert all((table.loc[table["counted"], "reading"] == "smart moves by equation 3").all() for table in tables)
    (one, by_algorithm), (two, also) = (
        [table[table["counted"] == flag].set_index("metric") for flag in (True, False)] for table in tables
    )
    assert set(one["verdict"]) == set(two["verdict"]) == {REPRODUCED}
    assert one.loc["reverse_merge_unlikely", "ours"] == pytest.approx(0.00017, abs=5e-6)
    # from {AA} {BB} {CC} {CC} Algorithm 3 that starts at A has no preference: 1/6, as much as the dumb merge
    assert by_algorithm.loc["reverse_merge_unlikely", "ours"] == pytest.approx(1 / 6)
    assert also.loc["dumb_merge_keeps_its_share", "verdict"] == NOT_REPRODUCED
    assert also.loc["dumb_split_keeps_its_share", "verdict"] == REPRODUCED


def test_words_leave_out_empty_entities():
    assert exact.words([0, 0, 2, 2, 3, 3, 3, 3]) == "AA|BB|CCCC"


# figures from runs


@pytest.mark.usefixtures("coarse_pictures")
def test_fig3_draws_running_means(make_all, results):
    choices = [(f"sampler={name}", *reading) for name in ("rm", "rgsm", "ss", "sdds") for reading in READINGS]
    runs = make_all("sdds-fig3", ["N=100", "thin=1", "iterations=30", "chains=6"], choices)
    drawing = draw(running_means.fig3, runs)
    at = drawing.plotted[(drawing.plotted["sampler"] == "sdds") & (drawing.plotted["target"] == "labelled")]
    trace = races.pick(runs, sampler="sdds", model__label_prior="labelled")[0].trace()
    means = trace[trace["iteration"] > 0].groupby("chain")["K"].mean()
    last = at[at["iteration"] == 30].iloc[0]
    assert (last["low"], last["median"], last["high"]) == pytest.approx((means.min(), means.median(), means.max()))
    verdicts = {(v.claim.sampler, v.claim.metric, v.reading): v for v in drawing.verdicts}
    assert len(verdicts) == 11
    assert verdicts["model", "exact_posterior_mean_K", "model as defined, location 0.5"].verdict == NOT_REPRODUCED
    # six chains on one data set are one witness
    of_rm = verdicts["rm", "does_not_reach_K", "ratios as printed, one Gibbs site"]
    assert of_rm.n == 1 and of_rm.verdict == UNDECIDED and of_rm.is_counted
    said = [text.get_text() for text in drawing.figure.legends[0].get_texts()]
    assert {"median of 6 chains", "band: range of chains"} <= set(said)
    titles = [ax.get_title(loc="left") for ax in drawing.figure.axes]
    assert titles == ["N = 100, E[K] = 10.1", "N = 100, E[K] = 63.2"]


def test_fig2_says_why_its_ratios_are_equal(results, figures_folder):
    drawing = draw(exact.fig2, pd.read_csv(results / "sdds-fig2" / reproduce.TABLE))
    assert drawing.notes == f"{exact.NOTES_OF_PROPOSALS} {exact.EQUAL}"
    # under the picture, too
    said = (figures_folder / "sdds-fig2-caption.txt").read_text(encoding="utf-8")
    assert said == f"{declaration.figures()['sdds-fig2'].caption}\n\n{drawing.notes}\n"


def test_fig4_counts_settled_chains(make_all):
    choices = [(f"sampler={s}", f"K0={K0}", *reading) for s in ("rm", "sdds") for K0 in (1, 10) for reading in READINGS]
    runs = make_all("sdds-fig4", ["thin=1", "iterations=20", "chains=2"], choices)
    drawing = draw(running_means.fig4, runs)
    settled = drawing.plotted[drawing.plotted["panel"] == "settled"].set_index(["sampler", "K0", "schedule"])
    for run in races.pick(runs, model__label_prior="as_printed"):
        key = (races.option(run, "sampler"), run.config["K0"], races.option(run, "schedule"))
        K = second_half(run.trace())["K"].mean(axis=1)
        assert settled.loc[key, "share"] == (np.mean(np.abs(K - 10) <= 1) > 0.5)
    readings = {v.reading for v in drawing.verdicts}
    assert readings == {"full Gibbs scan", "one Gibbs site"}


@pytest.mark.slow
def test_fig5_takes_rates_and_times_from_the_runs(make_all):
    choices = [
        (f"N={N}", f"sampler={name}", *reading)
        for N in (100, 200, 500)
        for name in ("rgsm", "ss", "sdds")
        for reading in READINGS
    ]
    runs = make_all("sdds-fig5", ["iterations=60", "chains=2"], choices)
    drawing = draw(speed.fig5, runs)
    assert drawing.notes.startswith("Each sampler under the reading that counts")
    plotted = drawing.plotted.set_index(["panel", "N", "sampler", "series"])
    run = races.pick(runs, N=100, sampler="sdds", schedule="full_scan", model__label_prior="as_printed")[0]
    moves = run.moves()
    splits = moves[moves["move"] == "smart_split"]
    rate = plotted.loc["split acceptance", 100, "sdds", "smart_split, ratios as printed"]["centre"]
    assert rate == pytest.approx((splits["accepted"] / splits["proposed"]).mean())
    scan, alone = (
        plotted.loc["ms per iteration", 500, "rgsm", what]["centre"]
        for what in ("move and full Gibbs scan", "move alone")
    )
    assert 0 < alone < scan
    assert {v.verdict for v in drawing.verdicts if v.claim.metric == "time_per_iteration"} == {NOT_TESTABLE}
    ratios = drawing.plotted[drawing.plotted["panel"] == "time ratio"]
    assert set(ratios["series"]) == {*speed.TIMED, speed.OWN_STEPS}


def test_fig6_and_traces(make_all):
    samplers = ("sdds", "rgsm", "gibbs")
    choices = [(f"N={N}", f"sampler={name}") for N in (100, 1000) for name in samplers]
    runs = make_all("sdds-fig6", ["iterations=80", "chains=2"], choices)
    large = make_all("sdds-fig6", ["N=10000", "iterations=3", "chains=2"], [(f"sampler={name}",) for name in samplers])
    with style.use_style():
        drawing = speed.fig6([*runs, *large])
        traced = running_means.traces(runs)
    assert len(drawing.verdicts) == len(claims.published_claims("sdds-fig6"))
    assert all("lead: " in ax.get_title(loc="left") and not ax.texts for ax in drawing.figure.axes)
    assert "Level: 99%" in drawing.figure.get_supxlabel()
    assert drawing.notes.startswith("The climb of the log joint")
    assert set(traced.plotted["sampler"]) == {"sdds", "rgsm", "gibbs"}
    fractions = traced.plotted[[f"largest_{k}" for k in range(1, 6)]].to_numpy()
    assert np.all(np.diff(fractions, axis=1) >= -1e-12) and fractions.max() <= 1 + 1e-9


def test_leads_count_what_has_not_reached_the_level_with_all_its_time():
    def climb(times, heights):
        rows = np.arange(len(times), dtype=float)
        return Climb(rows, np.array(times, float), np.array(heights, float), np.array(heights, float))

    first = [climb([0, 1, 2], [0, 5, 9]), climb([0, 1, 2], [0, 0, 0]), climb([0, 1, 2], [0, 0, 0])]
    second = [climb([0, 4, 8], [0, 0, 9]), climb([0, 4, 8], [0, 9, 9]), climb([0, 4, 8], [0, 0, 0])]
    leads = speed._leads(first, second, levels={0: 9})
    assert leads[:2].tolist() == [8 - 2, 4 - 2] and np.isnan(leads[2])


# files


def test_files_are_equal_byte_for_byte(figures_folder, results, tmp_path):
    assert reproduce.plot(["sdds-fig1"], "quick", results) == 0
    before = {p.name: p.read_bytes() for p in figures_folder.glob("sdds-fig1*")}
    assert len(before) == 7
    assert reproduce.plot(["sdds-fig1"], "quick", results) == 0
    assert {p.name: p.read_bytes() for p in figures_folder.glob("sdds-fig1*")} == before
    table = pd.read_csv(results / "sdds-fig1" / reproduce.TABLE)
    with style.use_style():
        paths = style.save(exact.fig1(table).figure, tmp_path / "again")
    assert [p.read_bytes() for p in paths] == [before["sdds-fig1.png"], before["sdds-fig1.pdf"]]


@pytest.mark.parametrize(
    ("status", "exit_status", "said"),
    [
        (
            "failed",
            1,
            [r"sdds-fig3: \d+ of \d+ runs failed: .*: it broke \(the first of \d+ that failed\)", "sdds-fig4: .*"],
        ),
        ("interrupted", 130, [r"interrupted: \d+ to do; the same command continues it"]),
        ("running elsewhere", 130, [r"interrupted: \d+ running elsewhere; the same command continues it"]),
    ],
)
def test_reproduce_says_in_one_line_what_is_missing(
    monkeypatch, capsys, tmp_path, status: str, exit_status: int, said: list[str]
):
    def run_jobs(jobs, workers, timed):
        assert not timed
        error = "it broke" if status == "failed" else None
        return [JobOutcome(job.words, status, tmp_path, error) for job in jobs]

    monkeypatch.setattr(reproduce, "run_jobs", run_jobs)
    assert reproduce.reproduce(["sdds-fig3", "sdds-fig4"], "quick", tmp_path) == exit_status
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == len(said)
    for line, pattern in zip(lines, said, strict=True):
        assert re.fullmatch(f"smcmc: {pattern}", line)
    assert not list(tmp_path.iterdir())


def test_plot_names_the_command_that_is_missing(tmp_path, capsys):
    assert reproduce.plot(["sdds-fig1", "sdds-traces"], "quick", tmp_path) == 2
    assert f"smcmc reproduce sdds-fig1 sdds-traces --scale quick --out {tmp_path}" in capsys.readouterr().err
    assert not (tmp_path / report.FOLDER).exists()


def test_report_shows_figures_verdicts_errata_and_commands(figures_folder, results):
    text = report.report(results).read_text(encoding="utf-8")
    assert text.count("data:image/png;base64,") == len(EXACT)
    assert "erratum" in text and "Table 1" in text and NOT_REPRODUCED in text
    assert f"smcmc reproduce sdds-fig3 --out {shell_word(str(results))}" in unescape(text)
    assert "<script" not in text
    assert f"{date.today().isoformat()}, smcmc {__version__}" in text


def test_report_begins_with_its_contents(figures_folder, results):
    text = report.report(results).read_text(encoding="utf-8")
    contents = text[text.index("<nav") : text.index("</nav>")]
    links = re.findall('href="#([^"]*)"', contents)
    papers = [f"{paper.key}-errata" for paper in declaration.papers()]
    names = [name for name, _ in experiments.list_figures()]
    assert links == [*sorted(names, key=lambda name: declaration.paper_of(name) is None), *papers]
    assert all(f'id="{link}"' in text for link in links)
    # of Table 1, five claims are reproduced and one is not; beside them what the repository keeps at paper scale
    row = contents[contents.index("#sdds-table1") :].partition("</tr>")[0]
    kept = pd.read_csv(report.KEPT, index_col="id").loc["sdds-table1"]
    beside = [f"5 ({kept.iloc[0]})", f"1 ({kept.iloc[1]})", "", "", ""]
    assert re.findall(r'<td class="n"><span class="\w+">([^<]*)</span></td>', row) == beside
    assert contents.index("At quick scale; in brackets what is kept at paper scale") < contents.index("#sdds-table1")


def test_report_has_no_empty_columns_and_says_what_is_undecided():
    claim = replace(claims.published_claims("sdds-fig5")[0], reading="")
    few = by_majority(claim, [1, 0], [True, False], "rule")
    html = report._table(verdict_tables.frame([few], [claim], "quick"))
    assert ">reading</th>" not in html and ">why</th>" in html
    assert f'<span class="v open">{UNDECIDED}</span>' in html


def test_report_of_nothing_says_what_to_do(tmp_path):
    text = report.page(declaration.papers(), dict(experiments.list_figures()), tmp_path)
    assert "No figure has been drawn yet" in text
