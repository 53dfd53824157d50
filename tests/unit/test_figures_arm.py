"""Figures and tables of Herlau et al. 2014 from small runs on generated networks."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from figure_runs import draw, make_runs
from scipy.sparse import csr_array

from splitmerge_cli.analysis.plots import style
from splitmerge_cli.config import compose
from splitmerge_cli.diagnostics.restarts import standardised_iterations
from splitmerge_cli.kinds.networks import generated, relation_matrix
from splitmerge_cli.kinds.networks import pictures as network
from splitmerge_cli.papers import claims, experiments, reproduce
from splitmerge_cli.papers.arm import mixtures as arm_mixtures
from splitmerge_cli.papers.arm import moves as arm_moves
from splitmerge_cli.papers.arm import runs as arm_runs
from splitmerge_cli.papers.arm import tables as arm_tables
from splitmerge_cli.papers.verdicts import NOT_REPRODUCED, NOT_TESTABLE, REPRODUCED, UNDECIDED, by_rhat, estimate
from splitmerge_cli.runs import run as make_run
from splitmerge_cli.runs.initial import build_model
from splitmerge_cli.runs.store.read import Run
from splitmerge_cli.verify import transitions

pytestmark = pytest.mark.usefixtures("coarse_pictures")

NETWORKS = ["arm-fig5", "arm-table3", "arm-fig6a", "arm-table4", "arm-table5"]
SHORT = {"gibbs": 60, "sm": 60, "bsm": 60, "sarm": 30, "arm": 24}
"""Iterations that a job of the tests has, by sampler."""


def small(job: list[str], **more: object) -> dict[str, str]:
    """A job of quick scale, made short."""
    own = dict(override.split("=", 1) for override in job)
    own |= {"iterations": str(SHORT[own.get("sampler", "arm")]), "thin": "1", "warmup": "4", "progress": "none"}
    return own | {key: str(value) for key, value in more.items()}


@pytest.fixture(scope="module")
def networks(tmp_path_factory):
    """Runs of Table 4 at quick scale on two generated networks, from two starts."""
    out = tmp_path_factory.mktemp("results")
    jobs = [small(job, K0=6) for job in experiments.jobs("arm-table4", "quick", out, stand_in=True)]
    jobs = [job | {"N": "24"} for job in jobs if job["data.seed"] in "13" and job["seed"] != "2"]
    return make_runs([*jobs, *(job | {"init": "one_cluster", "K0": "null"} for job in jobs)])


@pytest.fixture
def fixed_costs(monkeypatch):
    """Iterations of a fixed cost: the seconds of runs decide where chains are cut, and a busy machine cuts some so
    early that no draws are left for R-hat."""
    costs = {"gibbs": 1.0, "sm": 1.5, "bsm": 2.0, "sarm": 3.0, "arm": 3.0}
    monkeypatch.setattr(arm_runs.Cell, "cost", property(lambda cell: costs[cell.sampler]))


@pytest.fixture(scope="module")
def mixtures(tmp_path_factory):
    """The runs of Table 2 at quick scale, short."""
    out = tmp_path_factory.mktemp("results")
    return make_runs([small(job, chains=2, iterations=60) for job in experiments.jobs("arm-table2", "quick", out)])


# which runs


def test_figures_share_runs(tmp_path):
    jobs = {name: {tuple(j) for j in experiments.jobs(name, "paper", tmp_path)} for name in [*NETWORKS, "arm-table2"]}
    for name, only in (("arm-fig4", 60), ("arm-fig6b", 180)):
        own = {tuple(job) for job in experiments.jobs(name, "paper", tmp_path)}
        assert own <= jobs["arm-table2"] and len(own) == only
    assert jobs["arm-table4"] < jobs["arm-table5"]
    beside = jobs["arm-table5"] - jobs["arm-table4"]
    assert len(beside) == 4 * 2 * 8 and all("experiment=arm-table5" in job for job in beside)
    # of Table 4 the default start alone, and three more numbers of chains
    shared = jobs["arm-fig6a"] & jobs["arm-table4"]
    assert len(shared) == 4 * 5 * 4 and len(jobs["arm-fig6a"] - shared) == 4 * 3 * 4
    assert not any(o.startswith("init=") for job in shared for o in job)


# from runs to numbers


def test_runs_are_told_apart(networks):
    assert arm_runs.is_stand_in(networks) and "Generated" in arm_runs.describe_networks(networks)
    assert arm_runs.starts(networks) == ["random", "one_cluster"]
    levels = arm_runs.levels(networks)
    assert [arm_runs.level_title(level) for level in levels] == [
        "NIPS (generated, n = 24)",
        "USAir (generated, n = 24)",
    ]
    cell = arm_runs.Cells(networks).find(levels[0], "one_cluster", "sarm")
    assert [run.config["seed"] for run in cell.runs] == [0, 1] and cell.chains == 4
    assert arm_runs.level_title("hagmann scale=0.25") == "Hagmann 0.25"
    assert arm_runs.level_title("nips scale=1") == "NIPS 1"


def test_cost_and_acceptance_are_counted_over_restarts(networks):
    cell = arm_runs.Cells(networks).find(arm_runs.levels(networks)[0], "random", "arm")
    moves = cell.runs[1].moves()
    own = moves[moves["move"] != "gibbs"]
    assert cell.acceptance()[1] == own["accepted"].sum() / own["proposed"].sum()
    each = np.concatenate([standardised_iterations(run.moves(), 1) for run in cell.runs])
    assert cell.cost == pytest.approx(each.mean()) and cell.cost > 1


def test_chains_are_cut_at_the_same_cost(networks):
    cells = arm_runs.Cells(networks)
    level = arm_runs.levels(networks)[1]
    arm, gibbs = (cells.find(level, "random", sampler) for sampler in ("arm", "gibbs"))
    assert gibbs.cost == pytest.approx(1)
    found = arm_runs.rhat_at(gibbs, arm, 10)
    assert found.sweeps == pytest.approx(10 * arm.cost)
    assert found.iterations == pytest.approx(min(10 * arm.cost, 60)) and found.short == (10 * arm.cost > 60.06)
    own = arm_runs.rhat_at(arm, arm, 10, restarts=2)
    assert own.iterations == 10 and not own.short and own.restarts == 2
    # the second half of ten iterations, chain by chain
    draws = np.array(
        [
            trace[(trace["iteration"] > 5) & (trace["iteration"] <= 10)]
            .groupby("chain")["log_joint"]
            .agg(list)
            .tolist()
            for trace in (run.trace() for run in arm.runs[:2])
        ]
    )
    n, within = draws.shape[2], draws.var(axis=2, ddof=1).mean(axis=0)
    between = n * draws.mean(axis=2).var(axis=0, ddof=1)
    assert own.values == pytest.approx(np.sqrt(((n - 1) / n * within + between / n) / within))


def test_times_are_means_over_chains(mixtures):
    table = arm_mixtures.times(mixtures)
    assert len(table) == 3 * 3 * 3 and (table["series_indicator"] == 2 * 105).all()
    gibbs = table[table["sampler"] == "gibbs"]
    assert gibbs["normalised_iterations"].to_numpy() == pytest.approx(60)
    gain = arm_mixtures.log_ratios(table, "normalised_iterations", "arm", "gibbs")
    assert len(gain) == 9 and (gain < 0).all()


# rules


CLAIM = claims.Claim(
    "arm-table3", "nips scale=1", "arm", "rhat_T1000", 1.01, "", "printed with spread 0.02", tolerance=2.0
)


@pytest.mark.parametrize(
    ("value", "samples", "verdict"),
    [
        (1.01, [1.1, 1.15, 1.12], REPRODUCED),
        # the mean is compatible with mixing, its interval is not
        (1.01, [1.1, 1.25, 1.1], UNDECIDED),
        (1.01, [2.1, 2.15, 2.12], NOT_REPRODUCED),
        (1.01, [1.0, 1.5, 2.5], UNDECIDED),
        (20.0, [12.0, 12.1, 12.2], REPRODUCED),
        (20.0, [3.0, 3.1, 3.2], NOT_REPRODUCED),
        (1.5, [1.01, 1.02, 1.01], NOT_REPRODUCED),
        (1.5, [np.nan, np.nan], UNDECIDED),
    ],
)
def test_rhat_is_judged_by_mixing(value, samples, verdict):
    assert by_rhat(replace(CLAIM, value=value), estimate(samples, unit="restarts")).verdict == verdict


def test_ratio_of_acceptance_leaves_out_a_restart_of_both():
    x = np.random.default_rng(3).normal(5, 1, 30)
    ratio, low, high = arm_tables.estimate_ratio(x, x[::-1] / 2).interval
    assert ratio == pytest.approx(2) and low < 2 < high


@pytest.mark.parametrize(
    ("rule", "tolerance", "factor", "verdict"),
    [
        ("at_least", 5.0, 7.0, REPRODUCED),
        ("at_least", 5.0, 3.0, NOT_REPRODUCED),
        ("factor", 2.0, 2.1, REPRODUCED),
        ("factor", 2.0, 5.0, NOT_REPRODUCED),
        # the other variant accepted nothing
        ("at_least", 5.0, np.inf, UNDECIDED),
    ],
)
def test_times_the_acceptance_of_another_variant(rule, tolerance, factor, verdict):
    claim = replace(CLAIM, metric="times_sarm", value=2.0, rule=rule, tolerance=tolerance)
    own = np.array([1.0, 1.1, 0.9, 1.05])
    found = arm_tables._judge_times(claim, own, own / factor * [0.98, 1, 1.02, 1], "")
    assert found.verdict == verdict
    if np.isfinite(factor):
        assert found.ours == pytest.approx(factor, rel=0.01) and 0 < found.low < found.ours < found.high
        assert (found.n, found.unit, found.samples[0].interval) == (4, "restarts", "jackknife, geometric")


def test_chains_that_share_their_past_are_one_unit(networks, fixed_costs):
    """R-hat of ARM has the interval of leaving out restarts; chains of SM are independent, and so are their R-hats."""
    cells = arm_runs.Cells(networks)
    level = arm_runs.levels(networks)[0]
    arm, sm = (cells.find(level, "random", sampler) for sampler in ("arm", "sm"))
    of_arm, of_sm = arm_runs.rhat_at(arm, arm, arm.length), arm_runs.rhat_at(sm, arm, arm.length)
    assert of_arm.shared and not of_sm.shared
    assert of_arm.estimate.n == of_arm.restarts == 2 and np.isnan(of_arm.estimate.interval[1])
    assert of_sm.estimate.n == np.isfinite(of_sm.values).sum()
    assert (of_arm.estimate.unit, of_sm.estimate.unit) == ("restarts", "chain numbers")
    assert of_sm.estimate.interval[0] == pytest.approx(of_sm.mean)
    more = replace(of_arm, draws=np.concatenate([of_arm.draws, of_arm.draws + 0.1]), restarts=4)
    centre, low, high = more.estimate.interval
    assert low < centre < high


# figures


def test_tables_3_and_4_have_all_samplers_and_starts(networks, fixed_costs):
    drawing = draw(arm_tables.table4, networks)
    assert len(drawing.plotted) == 2 * 2 * 5 and (drawing.plotted["restarts"] == 2).all()
    said = {v.reading for v in drawing.verdicts}
    assert all(v.on == "generated networks" for v in drawing.verdicts) and any("one block" in r for r in said)
    words = [t.get_text() for t in drawing.figure.axes[0].texts]
    assert "start: one block" in words and "NIPS n = 24" in words
    drawing = draw(arm_tables.table3, [r for r in networks if r.config["sampler"]["name"] in arm_tables.TABLE3])
    assert set(drawing.plotted["arm_iterations"]) == {24, 12}
    assert {v.claim.metric for v in drawing.verdicts} == {
        "lower_than_sm",
        "lower_than_gibbs",
        "doubling_changes_little",
    }


def test_table3_judges_published_networks_by_their_numbers(networks, monkeypatch):
    # as if the generated network were the published one
    monkeypatch.setattr(arm_runs, "level_of", lambda run: "nips scale=0.8")
    monkeypatch.setattr(arm_runs, "is_stand_in", lambda runs: False)
    own = [r for r in networks if r.config["data"]["seed"] == 1 and r.config["sampler"]["name"] in arm_tables.TABLE3]
    table = arm_tables.Table(own, arm_tables.TABLE3, (1.0, 0.5))
    verdicts = table.judge(claims.published_claims("arm-table3"), arm_tables.FULL3)
    assert len(verdicts) == 2 * 6 and all(v.verdict == UNDECIDED and "of the paper's" in v.reason for v in verdicts)
    published = claims.published_claims("arm-table3")
    rows = arm_tables._rhat_rows(table.frame(), ["random"], arm_tables.TABLE3, published, arm_tables.FULL3)
    assert [entry.paper for entry in rows["nips scale=0.8"]] == ["11.2", "2.75", "1.01", "13.3", "2.89", "1.01"]


def test_table5_compares_acceptance_over_restarts(networks):
    drawing = draw(arm_tables.table5, networks)
    level = arm_runs.levels(networks)[0]
    cell = arm_runs.Cells(networks).find(level, "random", "bsm")
    rows = drawing.plotted.query("level == @level and start == 'random' and sampler == 'bsm'")
    assert rows["acceptance_percent"].to_numpy() == pytest.approx(100 * cell.acceptance())
    assert {v.claim.metric for v in drawing.verdicts} == {
        *("above_sarm", "above_bsm", "above_sm"),
        *("times_sarm", "times_sm", "below_half_percent"),
    }
    assert all(v.unit == "restarts" for v in drawing.verdicts)


def test_fig6a_draws_numbers_of_chains(networks, fixed_costs, tmp_path):
    jobs = [small(job, K0=6, N=24) for job in experiments.jobs("arm-fig6a", "quick", tmp_path, stand_in=True)]
    own = [j for j in jobs if j["experiment"] == "arm-fig6a" and j["data.seed"] in "13" and j["chains"] == "2"]
    runs = [*(r for r in networks if r.config["init"] == "random"), *make_runs(own)]
    drawing = draw(arm_runs.fig6a, runs)
    assert set(drawing.plotted["chains"]) == {2, 4} and set(drawing.plotted["sampler"]) == {"arm", "sm"}
    assert [v.claim.data.split()[0] for v in drawing.verdicts] == ["nips", "usair", "networks"]
    assert drawing.verdicts[-1].verdict == NOT_TESTABLE and drawing.verdicts[-1].n == 2


def test_fig5_counts_cost_in_sweeps(tmp_path):
    jobs = [small(job, K0=6, N=24) for job in experiments.jobs("arm-fig5", "quick", tmp_path, stand_in=True)]
    runs = make_runs([job for job in jobs if job["data.seed"] == "3"])
    drawing = draw(arm_runs.fig5, runs)
    traces = {run.config["sampler"]["name"]: arm_runs.trace_of(run) for run in runs}
    assert traces["gibbs"].sweeps == pytest.approx(traces["gibbs"].iteration)
    arm = traces["arm"]
    # the warm-up is Gibbs sweeps, then every iteration costs as much
    assert arm.sweeps[:5] == pytest.approx(range(5)) and np.ptp(np.diff(arm.sweeps[5:])) < 1e-9
    assert np.diff(arm.sweeps)[-1] > 1
    assert {v.claim.metric for v in drawing.verdicts} == {
        *("less_effort_than_sm", "stays_below_sm", "times_slower_than_arm", "ends_above_sm", "does_not_converge")
    }
    level = arm.log_joint[0, 7]
    assert arm.reaches(level)[0] <= arm.sweeps[7] and np.isinf(arm.reaches(1.0)).all()


@pytest.mark.slow  # ten runs for one small figure
def test_fig3_counts_all_partitions(tmp_path):
    jobs = [job for job in experiments.jobs("arm-fig3", "quick", tmp_path) if "seed=0" in job or "seed=1" in job]
    runs = make_runs([dict(o.split("=", 1) for o in job) | {"iterations": "1500", "progress": "none"} for job in jobs])
    drawing = draw(arm_moves.fig3, runs)
    totals = drawing.plotted.groupby("series")["probability"].sum()
    assert totals.to_numpy() == pytest.approx(1) and len(totals) == 5
    exact = drawing.plotted.query("series == 'exact'").set_index("partition")["probability"]
    assert len(exact) == 15 and exact.idxmax() == "1234"
    # by hand: B(5, 3) / B(1, 1) for one block of four; B(2, 1)^4 B(1, 2)^2 for singletons; the prior has 3! to 1
    assert exact["1234"] / exact["1|2|3|4"] == pytest.approx(6 * (24 * 2 / 5040) * 2**6)
    verdicts = {(v.claim.metric, v.claim.sampler, v.reading): v for v in drawing.verdicts}
    assert verdicts["partitions", "any", ""].ours == 15
    assert verdicts["recovers_true_frequency", "gibbs", ""].n == 2


def test_table2_and_fig6b_and_fig4(mixtures):
    with style.use_style():
        table, scatter = arm_mixtures.table2(mixtures), arm_mixtures.fig6b(mixtures)
        example = [r for r in mixtures if r.config["data"]["name"] == "jain_neal_example1"]
        traces = arm_mixtures.fig4(example)
    assert len(table.verdicts) == len(claims.published_claims("arm-table2"))
    assert all("60 of the paper's 2,000" in v.reason for v in table.verdicts)
    assert "105 pairs" in table.notes
    assert len(scatter.verdicts) == 4 and all("data sets" in v.reason for v in scatter.verdicts)
    assert set(traces.plotted["sampler"]) == {"gibbs", "sm", "arm"} and len(traces.verdicts) == 2
    assert traces.plotted[[f"largest_{k}" for k in range(1, 6)]].diff(axis=1).iloc[:, 1:].min().min() >= 0


# moves, plate by plate


@pytest.fixture(scope="module")
def move():
    spec = compose(["experiment=arm-fig1"])
    model = build_model(spec.model, spec.data.function(**spec.data.options))
    return transitions.find_example(model, spec.samplers[0], spec.seed)


def test_the_move_shows_all_plates_and_is_undone(move):
    forth, back = move
    assert [name for name, _ in forth.plates] == ["state", "refinement", "launch", "blocks", "singles"]
    assert transitions.has_all_plates(forth) and forth.pair == back.pair
    assert transitions.is_same_partition(forth.plate("singles"), back.plate("state"))
    assert transitions.is_same_partition(back.plate("singles"), forth.plate("state"))
    i, j = forth.pair
    launch = forth.plate("launch")
    assert launch[i] != launch[j] and min(launch[i], launch[j]) >= 0
    # what is out is inside, and outside nothing has moved yet
    inside = forth.plate("refinement") >= 0
    assert (inside[launch < 0]).all()
    assert transitions.is_same_partition(launch[~inside], forth.plate("state")[~inside])
    # a block goes as a whole
    refinement, placed = forth.plate("refinement"), forth.plate("blocks")
    for block in set(refinement[inside].tolist()):
        assert len(set(placed[refinement == block].tolist())) == 1


@pytest.mark.slow
def test_fig1_and_fig2_are_computed_and_drawn(tmp_path):
    assert reproduce.reproduce(["arm-fig1", "arm-fig2"], "quick", tmp_path) == 0
    fig1 = pd.read_csv(tmp_path / "figures" / "arm-fig1-claims.csv")
    fig2 = pd.read_csv(tmp_path / "figures" / "arm-fig2-claims.csv")
    assert (fig1["verdict"] == REPRODUCED).all() and (fig2["verdict"] == REPRODUCED).all()
    p = pd.read_csv(tmp_path / "figures" / "arm-fig2.csv").groupby(["panel", "path"])["probability"].prod()
    # by hand, for edges 1-2 and 1-3: 2 alone, with 1, or with 3 weigh 1/8, 1/12, 1/6; then 3 likewise
    assert p["a", "upper"] == pytest.approx(1 / 3 * 4 / 9) and p["a", "lower"] == pytest.approx(4 / 9 * 4 / 9)
    assert p["b", "compiled"] == pytest.approx(p["b", "upper"])
    drawing = draw(arm_moves.fig1, pd.read_csv(tmp_path / "arm-fig1" / "table.csv"))
    assert len(drawing.figure.axes) == 10


def test_clusters_stay_in_their_places():
    before, after = np.array([0, 0, 0, 1, 1, -1]), np.array([2, 2, 0, 0, 0, 3])
    first, second = arm_moves.follow([before, after], {0: 4, 1: 1}, 6)
    assert first == {0: 4, 1: 1} and second[2] == 4 and second[0] == 1 and second[3] not in (4, 1)


# a run's network


def test_items_are_sorted_by_cluster_then_degree():
    order, ends = style.order_items([1, 0, 1, 1, 2], [1, 5, 3, 2, 0])
    assert order.tolist() == [2, 3, 0, 1, 4] and ends.tolist() == [3, 4, 5]


def test_density_counts_shares():
    graph = generated.generate(60, blocks=2, p_in=1.0, p_out=0.0, seed=1)
    order, _ = style.order_items(graph.truth, np.zeros(60))
    share = relation_matrix.density(graph.values, order, order, cells=2)
    # nobody is tied to oneself
    assert share == pytest.approx(np.diag([29 / 30, 29 / 30]))


def test_layout_is_the_same_at_every_call_and_holds_small_components_apart():
    matrix = np.zeros((8, 8), np.uint8)
    for a, b in [(0, 1), (1, 2), (0, 2), (2, 3), (4, 5)]:
        matrix[a, b] = matrix[b, a] = 1
    places = network.layout(csr_array(matrix))
    assert np.array_equal(places, network.layout(csr_array(matrix)))
    distance = np.linalg.norm(places, axis=1)
    assert distance[:4].max() <= 1 + 1e-9 and distance[4:].min() > 1
    assert len(np.unique(places.round(6), axis=0)) == 8


def test_a_run_on_a_network_has_its_picture(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "a b\nb c\nc a\nd e\ne f\nf d\nc d\n"
    (tmp_path / "mine.txt").write_text(rows)
    words = ["data=edges", "data.path=mine.txt", "sampler=arm", "iterations=30", "chains=3", "progress=none"]
    run = Run(make_run(compose(words)))
    assert reproduce.plot([str(run.path)]) == 0
    assert (run.path / "network.png").is_file() and (run.path / "traces.png").is_file()
    figure = draw(network.clusters, run)
    assert "6 nodes, 7 edges" in figure.axes[0].get_title(loc="left")
    assert {t.get_text() for t in figure.axes[1].texts} == set("abcdef")
    monkeypatch.setattr(relation_matrix, "MOST_NODES", 3)
    with style.use_style():
        assert len(network.clusters(run).axes) == 1
