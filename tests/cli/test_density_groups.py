"""Clusters are not components: what a run says of clusters without a gap of density between them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import smcmc as smcmc_library
from cli.calls import run_path
from splitmerge_cli.config import ConfigError
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.runs.grouping import find_groups
from splitmerge_cli.runs.store.read import Run
from splitmerge_cli.runs.store.summary import Summary

SHORT = ["model=gaussian", "model.covariance=full", "iterations=400", "chains=2", "progress=none"]


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """A lognormal group of 150 rows, a normal one of 60 far from it, and one row far from both."""
    rng = np.random.default_rng(3)
    x = np.concatenate([np.exp(rng.normal(size=(150, 2))), 60 + rng.normal(size=(60, 2)), [[-300.0, 300.0]]])
    return pd.DataFrame(x, columns=["a", "b"])


@pytest.fixture(scope="module")
def posterior(table) -> smcmc_library.Posterior:
    model = {"name": "gaussian", "covariance": "full", "b0": "hierarchical", "kappa0": "hierarchical"}
    return smcmc_library.sample(model, table, chains=2, iterations=1000, progress="none")


def test_a_run_names_its_groups(smcmc, table, posterior) -> None:
    run, labels = posterior.run, np.asarray(posterior.run.summary["point_estimate"]["labels"])
    groups = run.summary["groups"]
    assert len(groups) == labels.max() + 1 > 3
    with pytest.raises(ValueError, match="groups of another number of clusters"):
        Summary.model_validate(run.summary | {"groups": [*groups, 0]})
    found = posterior.groups
    assert found.dtype == np.int32 and np.array_equal(found, np.array(groups)[labels])
    # two groups, and the row that is far from both
    rows = np.repeat([0, 1], [150, 60])
    largest = [np.bincount(found[:210][rows == k]).argmax() for k in (0, 1)]
    assert largest[0] != largest[1] and (found[:210] == np.array(largest)[rows]).mean() > 0.95
    assert (found == found[-1]).sum() == 1

    shown = smcmc("summary", str(run.path))
    (line,) = [line for line in shown.stdout.splitlines() if " form 2 groups: " in line]
    assert line.endswith(f" (the density has no gap within a group); smcmc summary {run.path} --groups describes them")
    described = smcmc("summary", str(run.path), "--groups")
    assert described.exit_code == 0 and described.stdout.startswith("2 groups of clusters: ")
    sizes = np.bincount(found)
    for group in largest:
        assert any(line.split()[:2] == [str(group), str(sizes[group])] for line in described.stdout.splitlines())
    assert "outlier" in described.stdout


def test_the_end_of_a_run_names_its_groups(smcmc, table, tmp_path) -> None:
    path = tmp_path / "one.csv"
    table[:150].to_csv(path, index=False)
    result = smcmc("run", "data=csv", f"data.path={path}", *SHORT, "model.b0=hierarchical", "model.kappa0=hierarchical")
    assert " form 1 group: 0+" in result.stderr
    run = Run(Path(run_path(result)))
    groups, labels = run.summary["groups"], run.summary["point_estimate"]["labels"]
    assert len(groups) == max(labels) + 1


def test_nothing_is_said_where_each_cluster_is_a_group(smcmc) -> None:
    result = smcmc("run", "data=gaussian", "data.D=2", "data.components=2", "data.separation=8", "N=60", *SHORT)
    run = Run(run_path(result))
    K = run.summary["point_estimate"]["n_clusters"]
    assert K >= 2 and run.summary["groups"] == list(range(K)) and " form " not in result.stderr
    assert smcmc("summary", str(run.path), "--groups").stdout.startswith("2 groups of clusters: 0 = 0, 1 = 1\n")


def test_rows_with_missing_cells_are_left_out(table) -> None:
    x = table.to_numpy()[:210].copy()
    labels = np.repeat([0, 1, 2], [100, 50, 60])
    draws = {0: np.repeat([0, 1], [150, 60])[None].astype(np.int32)}
    x[:40, 0] = np.nan
    assert find_groups(Dataset("some", "points", x), labels, draws) == [0, 0, 1]
    x[100:150] = np.nan, 1.0
    assert find_groups(Dataset("some", "points", x), labels, draws) == [0, 1, 2]
    x[:, 0] = 5.0
    assert find_groups(Dataset("some", "points", x), labels, draws) is None


def test_other_models_have_no_groups(smcmc) -> None:
    result = smcmc("run", "data=jain_neal", "N=20", "iterations=40", "chains=2", "progress=none")
    run = Run(run_path(result))
    assert "groups" not in run.summary
    refused = smcmc("summary", str(run.path), "--groups")
    assert refused.exit_code == 2 and "groups of clusters were not looked for" in refused.stderr
    with pytest.raises(ConfigError, match="were not looked for"):
        _ = smcmc_library.Posterior(run).groups
