"""Clusters are not components: what a run says of clusters without a gap of density between them, and `gap`."""

import shlex
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from command_line import run_path

import smcmc as smcmc_library
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.diagnostics.cluster_table import span
from splitmerge_cli.diagnostics.point_estimate import count_larger, counts_larger, interval_of_counts
from splitmerge_cli.runs import judgement, summaries
from splitmerge_cli.runs.answers import Late
from splitmerge_cli.runs.grouping import GAP, WIDE_GAP, are_sure, choose_gap, describe_groups, find_groups
from splitmerge_cli.runs.store import schema
from splitmerge_cli.runs.store.read import Run
from splitmerge_cli.runs.store.summary import Summary

pytestmark = pytest.mark.usefixtures("commands")

OPTIONS = ["model=gaussian", "model.covariance=full", "model.b0=hierarchical", "model.kappa0=hierarchical"]
SHORT = ["iterations=600", "chains=2", "progress=none"]


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """A lognormal group of 150 rows, a normal one of 60 far from it."""
    rng = np.random.default_rng(3)
    x = np.concatenate([np.exp(rng.normal(size=(150, 2))), 60 + rng.normal(size=(60, 2))])
    return pd.DataFrame(x, columns=["a", "b"])


def test_nothing_is_said_where_each_cluster_is_a_group(smcmc) -> None:
    result = smcmc(
        "run", "data=gaussian", "data.D=2", "data.components=2", "data.separation=8", "N=60", *OPTIONS, *SHORT
    )
    found = Run(run_path(result)).summary["density_groups"]
    assert found["n_groups"] == found["n_clusters"] == 2 and " form " not in result.stderr


@pytest.fixture(scope="module")
def draws() -> tuple[Dataset, dict[int, Late]]:
    """Rows on a line in five pieces, and draws that cut it at one place each."""
    rng = np.random.default_rng(5)
    x = np.linspace(0, 4.99, 300)
    labels = np.clip(x + rng.uniform(-0.1, 0.1, (40, 1)), 0, 4.99).astype(np.int32)
    return Dataset("line", "points", x[:, None]), {0: Late(np.arange(40), labels)}


def test_the_first_line_has_the_interval_unless_most_draws_have_its_number(monkeypatch) -> None:
    monkeypatch.setattr(judgement, "judgement_of", lambda _: SimpleNamespace(converged=True))
    summary = {
        "model": "mixed",
        "N": 344,
        "point_estimate": {"expected_vi": 0.4, "n_clusters": 7},
        "n_clusters_95": [6, 8],
    }

    def head(share: float) -> str:
        run = SimpleNamespace(summary=summary | {schema.AS_THE_ESTIMATE: share}, config={"chains": 4})
        return summaries.headline(run)

    assert head(0.55) == "7 clusters of 344 rows (6 to 8, 95 %), the point estimate of all chains"
    assert head(0.65) == "7 clusters of 344 rows, the point estimate of all chains"


def test_pieces_none_of_which_stands_apart_are_one_group(draws) -> None:
    dataset, late = draws
    found = find_groups(dataset, late[0].labels[0], late)
    assert found["n_clusters"] == 5 and found["n_groups"] == 1 and found["gap"] == WIDE_GAP
    summary = {"density_groups": found, "point_estimate": {"n_clusters": 5}}
    line = describe_groups(summary)
    assert line.startswith("the rows do not separate into groups (95 %: 1 group): the density falls by less than 71% ")
    spec = type("Spec", (), {"gap": 0.0})
    assert choose_gap(summary, spec.gap)[1] == {"gap": WIDE_GAP}
    assert choose_gap(summary, 0.25) is None


def test_groups_are_looked_for_where_the_estimate_is_one_cluster_and_most_draws_have_more(draws) -> None:
    dataset, late = draws
    one = np.zeros(300, dtype=np.int32)
    found = find_groups(dataset, one, late)
    assert found["n_clusters"] == 5 and found["n_groups"] == 1 and are_sure(found, one, late[0].labels)
    line = describe_groups({"density_groups": found, "point_estimate": {"n_clusters": 1}})
    assert " between the clusters of most draws, which are parts of one group" in line
    assert find_groups(dataset, one, {0: Late(np.arange(40), np.zeros((40, 300), dtype=np.int32))}) is None


def test_groups_are_listed_where_the_draws_agree_or_clusters_overlap() -> None:
    groups = {"n_clusters": 2, "n_groups": 1, "interval": [1, 2], "share": [0.7, 0.02]}
    labels = np.repeat([0, 1], 50).astype(np.int32)
    certain, uncertain = np.tile(labels, (10, 1)), np.random.default_rng(1).integers(2, size=(10, 100), dtype=np.int32)
    assert not are_sure(groups, labels, certain) and are_sure(groups, labels, uncertain)
    assert are_sure(groups | {"share": [0.99, 0.01]}, labels, certain)
    # within its Monte Carlo error
    assert not are_sure(groups | {"share": [0.99, 0.03]}, labels, certain)
    assert not are_sure(groups | {"n_groups": 2, "interval": [2, 2]}, labels, uncertain)


def test_two_pieces_with_a_pass_between_them_are_two_groups(draws) -> None:
    dataset, late = draws
    rows = late[0].labels[0] < 2
    two = {0: Late(late[0].iterations, np.minimum(late[0].labels[:, rows], 1))}
    found = find_groups(Dataset("line", "points", dataset.values[rows]), two[0].labels[0], two)
    assert found["n_clusters"] == found["n_groups"] == 2 and describe_groups({"density_groups": found}) is None


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["data=jain_neal", "N=20"], "gap=0.5: expected 0, because the density between clusters needs real columns"),
        (["data=gaussian", "gap=-1"], "gap=-1: expected a number from 0 to 100"),
    ],
)
def test_what_cannot_be_joined_is_refused(smcmc, words, why) -> None:
    result = smcmc("run", *SHORT, "gap=0.5", *words)
    assert result.exit_code == 2 and why in result.stderr


def test_clusters_that_were_not_joined_are_the_components(smcmc) -> None:
    words = ["data=gaussian", "data.D=2", "data.components=2", "data.separation=8", "N=60", *OPTIONS, *SHORT]
    result = smcmc("run", *words, "gap=0.25", "trace.partitions=0")
    assert "gap=0.25 joins no clusters: no late partitions were recorded" in result.stderr


def test_a_last_cluster_without_complete_rows_stays_apart() -> None:
    x = np.vstack([np.random.default_rng(1).normal(size=(40, 2)), [[5.0, np.nan]] * 4])
    x[:20] += 9.0
    labels = np.repeat([0, 1, 2], [20, 20, 4]).astype(np.int32)
    found = find_groups(Dataset("t", "points", x), labels, {0: Late(np.arange(4), np.tile(labels, (4, 1)))})
    assert found is not None and found["labels"] == labels.tolist()


def test_the_last_lines_name_the_groups_and_the_next_command_lists_them(smcmc, table, tmp_path) -> None:
    file = tmp_path / "two.csv"
    table.to_csv(file, index=False)
    result = smcmc("run", "data=csv", f"data.path={file}", *OPTIONS, *SHORT, "iterations=1500")
    run, lines = Run(run_path(result)), result.stderr.splitlines()
    found = run.summary["density_groups"]
    assert found["n_clusters"] > found["n_groups"] == 2 and found["gap"] == GAP
    (line,) = [line for line in lines if " clusters form 2 groups (95 %: " in line]
    assert lines[lines.index(line) + 1] == "join each group into one cluster:"
    assert line in smcmc("diagnose", str(run.path)).output and line.removesuffix("overlap") in describe_groups(
        run.summary
    )
    posterior = smcmc_library.Posterior(run)
    assert line in dict(posterior._facts())["groups"]
    rows = np.repeat([0, 1], [150, 60])
    assert (posterior.groups[rows == 1] == posterior.groups[-1]).all() and posterior.groups[0] != posterior.groups[-1]
    with pytest.raises(ValueError, match="labels of another number of items"):
        Summary.model_validate(run.summary | {"density_groups": found | {"labels": found["labels"][1:]}})

    following = next(line for line in lines if line.startswith("next: "))
    assert following.endswith(f" gap={GAP}")
    again = smcmc(*shlex.split(following)[2:])
    joined = Run(run_path(again))
    assert count_larger(joined.summary["point_estimate"]["labels"]) == 2 and again.stderr.count("next:") == 0
    # the components, looked at once more, do not lead back to the clusters that join them
    once_more = smcmc(*shlex.split(following)[2:-1], "seed=0", "resume=false").stderr.splitlines()
    assert line in once_more and not any(each.startswith("next:") and "gap=" in each for each in once_more)
    # the chains are the same: none of them is made again, and the components are those of the first run
    assert f"continues after the 1,500 iterations of {run.path}" in again.stderr
    assert run.trace(["n_clusters"]).equals(joined.trace(["n_clusters"]))
    low, high = run.summary["n_clusters_95"]
    components = (
        f"a cluster joins components of the model ({span(low, high)} of them, 95 %) between which the density falls "
    )
    assert any(line.startswith(components) for line in again.stderr.splitlines())
    # levels, certainties and predictions are those of the joined clusters
    found = smcmc_library.Posterior(joined)
    assert found.partitions.max() < found.run.partitions()["K"].max() and len(found.partitions) <= 100
    assert found.at(1).max() == 0 and found.membership()["certainty"].between(0, 1).all()
    assert found.n_clusters_interval == interval_of_counts(counts_larger(found.partitions))
    of_new = found.predict(table.iloc[[0, -1]])
    assert of_new.tolist() == found.labels[[0, -1]].tolist()
    assert np.array_equal(found.groups, found.labels)
    # null: where the draws agree
    automatic = smcmc("run", "data=csv", f"data.path={file}", *OPTIONS, *SHORT, "iterations=1500", "gap=null")
    summary = Run(run_path(automatic)).summary
    share, error = run.summary["density_groups"]["share"]
    sure = share - 2 * error > 0.95
    assert ("gap=0 lists the components" in automatic.stderr) == sure
    assert summary.get("joined") == (joined.summary["joined"] if sure else None)
    assert summary.get("density_groups") == (None if sure else run.summary["density_groups"])
    # both numbers stand in the first line, whichever clusters are listed
    for result in (automatic, again):
        assert " by density; " in result.stderr and " components, 95 %)" in " ".join(result.stderr.split())
