"""Figures of Rana et al. 2013: which runs, when topics are found, what is confused, what is held out, what is drawn."""

import numpy as np
import pandas as pd
import pytest
from figure_runs import draw, make_runs, options

from splitmerge_cli.analysis.plots.style import use_style
from splitmerge_cli.config import compose
from splitmerge_cli.kinds.documents.generated import nested_topics
from splitmerge_cli.papers import claims, verdicts
from splitmerge_cli.papers.smag import counts as smag_counts
from splitmerge_cli.papers.smag import runs as smag_runs
from splitmerge_cli.papers.smag.runs import Curve, Curves, Where
from splitmerge_cli.runs.store.read import Run


@pytest.fixture(scope="module")
def jobs_in(tmp_path_factory):
    """Folder for jobs, none of which is run, and for the runs of Figure 3."""
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def synthetic(jobs_in):
    """The runs of Figure 3 on small corpora, the longest and the shortest."""
    whole = options("smag-fig3", "quick", jobs_in)
    early = [job for job in whole if job.get("iterations") == "10"]
    late = [job for job in whole if job.get("iterations", "1000") in ("300", "1000")]
    return make_runs(early, **{"chains": 2, "iterations": 5, "data.length": 20}) + make_runs(
        late, **{"chains": 2, "iterations": 12, "data.length": 20}
    )


@pytest.fixture(scope="module")
def heldout_runs(tmp_path_factory):
    """The runs of Figure 5a on generated documents, two splits."""
    whole = options("smag-fig5a", "quick", tmp_path_factory.mktemp("results"), stand_in=True)
    jobs = [job for job in whole if job["seed"] in "01"]
    return make_runs(jobs, **{"N": 20, "data.words": 30, "budget": 600, "iterations": 12, "perplexity.every": 3})


# which runs


# when topics are found


def test_hitting_time_is_the_first_row_with_as_many():
    K = [[1, 5, 10, 9, 10], [1, 2, 3, 3, 9], [1, 12, 1, 1, 1]]
    assert smag_counts.hitting_times(K).tolist() == [2, np.inf, 1]
    assert smag_counts.settled_count([[1, 1, 10, 10, 9], [10, 10, 3, 4, 4]]).tolist() == [10, 4]


def test_median_of_hitting_times_counts_those_that_never_reach():
    assert smag_counts.middle([5, 7, 9, np.inf, np.inf, np.inf, np.inf])[0] == np.inf
    centre, low, high = smag_counts.middle([5, 7, 9, 11, 12, 13, np.inf])
    assert (centre, low, high) == (11, 5, np.inf)


def test_what_was_accepted_by_then(synthetic):
    runs = smag_runs.beginnings(synthetic, "groups4", "one_cluster", "coin")
    table = smag_counts.acceptance(runs)
    assert sorted(set(table["iteration"])) == [5, 12] and len(table) == 4
    assert (table["proposed"] == table["iteration"]).all() and table["share"].between(0, 1).all()
    # the shorter runs are the beginnings of the longer ones
    short, long = (smag_runs.beginnings(synthetic, "groups4", "one_cluster", "coin")[k].trace() for k in (0, -1))
    short, long = sorted((short, long), key=len)
    same = short.merge(long, on=["chain", "iteration"])
    assert len(same) == len(short) and (same["log_joint_x"] == same["log_joint_y"]).all()


def test_all_methods_start_from_the_same_state(synthetic):
    for setting in smag_runs.SETTINGS:
        starts = set()
        for method in smag_runs.METHODS:
            for run in smag_runs.select(synthetic, setting, "random", method):
                trace = run.trace()
                starts.add(tuple(trace.loc[trace["iteration"] == 0, "log_lik"]))
        assert len(starts) == 1


# what is confused


def test_the_truth_is_not_confused():
    data = nested_topics(6, length=200, seed=1)
    state = smag_counts.confuse(data.truth, data, eta=0.1)
    assert state.diagonal == 1 and state.confusion.shape == (10, 11) and state.matched == 10
    assert state.overlap == pytest.approx(1, abs=0.1)
    # numbers of topics do not matter
    other = smag_counts.confuse(9 - data.truth, data, eta=0.1)
    assert other.diagonal == 1 and np.array_equal(other.mixtures, state.mixtures)


def test_one_topic_confuses_all_and_topics_too_many_have_no_partner():
    data = nested_topics(6, length=200, seed=1)
    one = smag_counts.confuse(np.zeros(data.N, np.int32), data, eta=0.1)
    assert one.diagonal == pytest.approx(0.1) and one.matched <= 1
    halves = (2 * data.truth + np.arange(data.N) % 2).astype(np.int32)
    many = smag_counts.confuse(halves, data, eta=0.1)
    assert many.confusion[:, -1].sum() == pytest.approx(5, abs=0.5)
    assert np.allclose(many.confusion.sum(axis=1), 1)


def test_best_possible_is_the_posterior_of_a_token():
    data = nested_topics(3, length=50, seed=2)
    best = smag_counts.best_possible(data)
    corpus = data.values
    # token by token
    by_hand = np.zeros((10, 10))
    for n, word in enumerate(corpus.tokens.words):
        weight = corpus.mixtures[n // 50] * corpus.topics[:, word]
        by_hand[data.truth[n]] += weight / weight.sum()
    by_hand /= np.maximum(np.bincount(data.truth, minlength=10), 1)[:, None]
    assert np.allclose(best.confusion[:, :10], by_hand) and not best.confusion[:, 10].any()


# what is held out


def curve(*values: float) -> Curve:
    n = np.arange(1, len(values) + 1)
    return Curve(pd.DataFrame({"iteration": 10 * n, "seconds": 0.5 * n, "value": values}))


def test_final_is_of_the_last_tenth_of_the_time():
    assert curve(*range(100, 80, -1)).final == pytest.approx(np.mean([83, 82, 81]))
    at = curve(3, 2, 1).values_at("iteration", np.array([5, 10, 25, 30, 31]))
    assert np.isnan(at[[0, -1]]).all() and at[1:-1].tolist() == [3, 1.5, 1]


def test_differences_are_paired_by_split(heldout_runs):
    curves = Curves(heldout_runs)
    assert len(curves.places) == 4
    where = Where("completion", "one_cluster")
    gibbs, own = curves.chains_of(where, "gibbs"), curves.chains_of(where, "coin")
    assert curves.differences(where, "coin").tolist() == [own[k].final - gibbs[k].final for k in (0, 1)]
    # what is drawn differs by split as the differences do
    shifted = {method: [c.final for c in curves.shifted_curves(where, method)] for method in ("gibbs", "coin")}
    assert shifted["gibbs"] == pytest.approx([curves.level(where)] * 2)
    assert np.subtract(shifted["coin"], shifted["gibbs"]) == pytest.approx(curves.differences(where, "coin"))
    # of completion probabilities are averaged over states, of fold-in each state counts
    run = next(r for r in heldout_runs if r.config["perplexity"]["method"] == "completion")
    assert np.array_equal(_values(run), run.table("perplexity")["averaged"])
    run = next(r for r in heldout_runs if r.config["perplexity"]["method"] == "fold_in")
    assert np.array_equal(_values(run), run.table("perplexity")["perplexity"])


def _values(run: Run) -> np.ndarray:
    curves = Curves([run])
    return curves.chains_of(curves.places[0], smag_runs.method_of(run))[run.config["seed"]].frame["value"].to_numpy()


def test_perplexity_is_judged_as_split_merge_less_gibbs(heldout_runs):
    curves = Curves(heldout_runs)
    claim = claims.published_claims("smag-fig5a")[0]
    where = Where("fold_in", "one_cluster")
    for chain in curves.chains_of(where, "coin").values():
        chain.frame["value"] = 50.0
    for seed, chain in curves.chains_of(where, "gibbs").items():
        chain.frame["value"] = 60.0 + 0.01 * seed
    verdict = smag_runs.judge(claim, curves, where, "coin")
    assert verdict.ours == pytest.approx(-10.005) and verdict.low < verdict.ours < verdict.high < 0
    assert verdict.verdict == verdicts.REPRODUCED and verdict.on == "generated documents"


# figures


def test_fig2_is_the_papers():
    table = smag_runs.groups(compose(["experiment=smag-fig2"]).data)
    drawing = draw(smag_runs.fig2, table)
    assert {v.verdict for v in drawing.verdicts} == {verdicts.REPRODUCED}
    assert {v.claim.metric for v in drawing.verdicts} == {c.metric for c in claims.published_claims("smag-fig2")}
    bags = table[table["panel"] == "groups"]
    assert bags["value"].sum() == 4000 and len(bags) == 40


def test_fig3_and_fig4_judge_every_claim_under_every_setting(synthetic):
    with use_style():
        fig3 = smag_counts.fig3(synthetic)
        fig4 = smag_counts.fig4([r for r in synthetic if smag_runs.setting_of(r) != "docs200"])
    for drawing, name in ((fig3, "smag-fig3"), (fig4, "smag-fig4")):
        judged = {(v.claim.sampler, v.claim.metric) for v in drawing.verdicts}
        assert judged == {(c.sampler, c.metric) for c in claims.published_claims(name)}
        for form in smag_runs.FORMS.values():
            assert any(v.reading.endswith(form) for v in drawing.verdicts)
    assert {v.reading.partition(",")[0] for v in fig3.verdicts} == set(smag_runs.SETTINGS.values())
    titles = " ".join(ax.get_title(loc="left") for ax in fig3.figure.axes)
    assert "γ = Γ(1,1), α₀ = Γ(1,1), η = 0.5" in titles and "γ = 0.1, α₀ = 0.5, η = 1" in titles
    assert set(fig3.plotted["method"]) == set(smag_runs.METHODS)
    # chains of 12 iterations say nothing about 1,000
    never = [v for v in fig3.verdicts if v.claim.sampler == "gibbs"]
    assert never and all(v.verdict == verdicts.UNDECIDED for v in never)
    assert fig4.plotted.groupby(["setting", "method", "panel", "row"])["value"].sum().between(-1e-9, 1 + 1e-9).all()


def test_fig5_says_what_stands_in(heldout_runs):
    with use_style():
        drawing, other = smag_runs.fig5a(heldout_runs), smag_runs.fig5b(heldout_runs)
    assert {v.claim.id for v in other.verdicts} == {"smag-fig5b"}
    about = [v.claim.metric for v in drawing.verdicts]
    assert set(about) == {"final_perplexity_minus_gibbs", "perplexity_minus_gibbs_by_iteration"}
    assert len(about) == 2 * 2 * 2 * len(smag_runs.FORMS)
    assert set(drawing.plotted["axis"].dropna()) == {"iteration", "seconds"}
    note = drawing.notes
    assert note.startswith("Generated documents in place of the published ones") and "evaluations not counted" in note


def test_settings_are_told_apart_by_their_hyper_parameters(synthetic):
    run = synthetic[0]
    assert smag_runs.setting_of(run) == "groups4"
    fixed = replace_model(run, gamma=0.1)
    assert smag_runs.setting_of(fixed) == "nearest"


def replace_model(run: Run, **model: object) -> Run:
    """Return the run with other options of its model."""
    other = Run(run.path)
    other.config = run.config | {"model": run.config["model"] | model}
    return other
