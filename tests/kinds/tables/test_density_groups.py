"""Clusters are not components: what a run says of clusters without a gap of density between them, and `gap`."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from command_line import run_path

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.runs import judgement, summaries
from splitmerge_cli.runs.answers import Late
from splitmerge_cli.runs.grouping import WIDE_GAP, are_sure, choose_gap, describe_groups, find_groups
from splitmerge_cli.runs.store import schema
from splitmerge_cli.runs.store.read import Run

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
