"""In Python: what a posterior says of itself, its warnings, misspelt arguments, and how it goes on with new items."""

import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import smcmc
from splitmerge_cli.api import updating
from splitmerge_cli.diagnostics.partition_losses import by_appearance
from splitmerge_cli.runs.draws import last_states
from splitmerge_cli.runs.initial import read_labels

QUICK = {"chains": 3, "iterations": 300, "progress": "none"}


@pytest.fixture(scope="module")
def points() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 2)) + 8 * (np.arange(40) % 2)[:, None]
    return pd.DataFrame(x, columns=["a", "b"], index=[f"r{i}" for i in range(40)])


@pytest.fixture(scope="module")
def posterior(points) -> smcmc.Posterior:
    return smcmc.sample("gaussian", points, "sams", **QUICK)


def test_repr_tells_clusters_verdict_and_sampler(posterior) -> None:
    K = posterior.run.summary["point_estimate"]["n_clusters"]
    for text in (repr(posterior), posterior._repr_html_()):
        assert f"{K} cluster" in text and "sams on gaussian" in text
        assert ("no sign of non-convergence (R-hat" if posterior.converged else "not converged") in text
    assert posterior._repr_html_().startswith("<div")


def test_chains_that_have_not_converged_warn_every_time(points) -> None:
    one = smcmc.sample("gaussian", points, "sams", chains=1, iterations=50, progress="none")
    assert "cannot tell" in repr(one)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            one.labels  # noqa: B018
    assert [issubclass(each.category, smcmc.NotConverged) for each in caught] == [True] * 3


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"iteratons": 3}, "iteratons: no such argument. Did you mean iterations?"),
        ({"init": "prior"}, "Expected options={'init': VALUE}, because it is a key of the command line"),
    ],
)
def test_a_misspelt_argument_is_answered(points, given, said) -> None:
    with pytest.raises(TypeError) as error:
        smcmc.sample("gaussian", points, **given)
    assert said in str(error.value)


def test_a_misspelt_argument_of_an_estimator_is_answered() -> None:
    with pytest.raises(TypeError, match="Did you mean iterations"):
        smcmc.SplitMergeClustering(iteratons=3)
    assert smcmc.SplitMergeClustering(iterations=3).get_params()["iterations"] == 3


def test_update_starts_from_the_recorded_states(posterior, points, tmp_path) -> None:
    new = pd.DataFrame([[0.1, 0.2], [8.1, 7.9], [0.0, -0.3]], columns=["a", "b"], index=["n0", "n1", "n2"])
    after = posterior.update(new, iterations=120, store=tmp_path)
    assert after.n_items == 43 and after.complete
    assert after.run.config["chains"] == 3 and after.run.config["seed"] == 1
    assert after.dataset.names == [*points.index, *new.index]
    starts, _ = read_labels(after.run.config["init"])
    for row, state in zip(starts, last_states(posterior.run), strict=True):
        assert (by_appearance(row[:40]) == by_appearance(state.labels)).all()
    labels = after.run.summary["highest_log_joint"]["labels"]
    assert labels[0] == labels[40] == labels[42] != labels[41]
    # new items are where the predictive says, a share of the draws
    model, (whole, found) = posterior._model, updating.stack_items(posterior.dataset, new)
    assert whole.N == 43
    draws = [
        updating.start_states(posterior.run, model, posterior.dataset, found, np.random.default_rng(seed))
        for seed in range(30)
    ]
    with_first = np.mean([[row[40] == row[0] for row in of] for of in draws])
    expected = posterior.predict_proba(new)[0, posterior.run.summary["point_estimate"]["labels"][0]]
    assert with_first == pytest.approx(expected, abs=0.15)


@pytest.mark.parametrize("prior", ["mfm(components=uniform(3))", "dynamic_mfm(components=uniform(3))"])
def test_update_where_the_prior_allows_few_clusters(points, tmp_path, prior) -> None:
    """Four new rows, each far from all others, of which one at most may have a cluster of its own: the start is a
    possible state, and so is every draw."""
    options = {"model.prior": prior, "sampler.selection": "gibbs", "schedule": "move_only"}
    before = smcmc.sample("gaussian", points, "pgsm", options=options, store=tmp_path, **QUICK)
    new = pd.DataFrame(
        [[99.0, 99.0], [-99.0, 99.0], [99.0, -99.0], [-99.0, -99.0]], columns=["a", "b"], index=[*"wxyz"]
    )
    for posterior in (before, before.update(new, iterations=50, store=tmp_path)):
        trace = posterior.run.trace()
        assert trace["K"].max() <= 3 and np.isfinite(trace["log_joint"]).all()


def test_update_of_a_network() -> None:
    graph = nx.planted_partition_graph(2, 10, 0.9, 0.05, seed=1)
    before = smcmc.sample("irm", graph, "sams", **QUICK)
    ties = np.zeros((1, 20))
    ties[0, :9] = 1
    after = before.update(ties, iterations=100)
    labels = after.run.summary["highest_log_joint"]["labels"]
    assert labels[20] == labels[0]


def test_update_says_what_does_not_fit(posterior) -> None:
    with pytest.raises(ValueError, match="no column 'b'"):
        posterior.update(pd.DataFrame({"a": [1.0]}))
