"""Runs that are not finished: no message reads as if they were."""

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import splitmerge_cli as sm
from splitmerge_cli import runs
from splitmerge_cli.config import compose
from splitmerge_cli.received import DataError
from splitmerge_cli.runs import drive
from splitmerge_cli.runs.store.files import lock_file
from splitmerge_cli.runs.store.manifest import read_sealed, write_sealed
from splitmerge_cli.runs.store.read import Run

TEXTS = ["cats chase mice", "mice fear cats", "stocks fell today", "today stocks rose"] * 3
HAS = "interrupted with 2 of 4 chains, at least 200 of 2,000 iterations each"
KEYS = {
    name: [*keys, f"data.path={name}.csv", "iterations=2000", "trace.partitions=4", "progress=none"]
    for name, keys in [("table", ["data=csv", "model=bernoulli"]), ("texts", ["data=corpus"])]
}
NO_SUMMARY = {
    "caution",
    "complete",
    "converged",
    "dataset",
    "effects",
    "entities",
    "link_scores",
    "load",
    "n_clusters_interval",
    "n_items",
    "outcome_gain",
    "pairs",
    "partitions",
    "path",
    "predict_links",
    "predict_outcome",
    "review",
    "rhat",
    "traces",
    "update",
}
"""Attributes of a posterior that summarise no draws, or draws of records (`tests/unit/test_entities.py`)."""
NOT_YET = {"plot", "groups", "misfit"}
"""Attributes that only a finished run has, in whole or in part."""
CALLS: dict[str, Callable[[sm.Posterior], Any]] = {
    "labels": lambda found: found.labels,
    **{
        name: lambda found, name=name: getattr(found, name)() for name in ("point_estimate", "similarity", "membership")
    },
    **{name: lambda found, name=name: getattr(found, name)() for name in ("credible_ball", "cluster_summary")},
    **{name: lambda found, name=name: getattr(found, name)() for name in ("levels", "core")},
    **{name: lambda found, name=name: getattr(found, name)(1) for name in ("at", "representatives")},
    "column_summary": lambda found: found.column_summary(),
    "leave_one_out": lambda found: found.leave_one_out(),
    "topic_word": lambda found: found.topic_word(),
    **{
        name: lambda found, name=name: getattr(found, name)(np.eye(6) if found.n_items == 6 else TEXTS[:1])
        for name in ("predict", "predict_proba", "log_predictive")
    },
}
"""How each summary is asked for."""


@contextmanager
def interrupt_runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Ctrl-C when two chains have made a tenth of their iterations, and the others none."""
    whole = drive._drive

    def partly(plan: Any, stores: Any, stop: Any, batch: Any, on_progress: Any, end: int) -> None:
        if stores[0].chain < 2:
            whole(plan, stores, stop, batch, on_progress, end // 10)

    with monkeypatch.context() as patched:
        patched.setattr(drive, "_drive", partly)
        yield


@pytest.fixture
def paths(monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Folders of two runs that read files, one a table and one texts."""
    Path("table.csv").write_text("\n".join(",".join(map(str, row)) for row in np.eye(6, dtype=int)))
    Path("texts.csv").write_text(
        "document,word\n" + "".join(f"{i},{w}\n" for i, t in enumerate(TEXTS) for w in t.split())
    )
    found = {}
    for name, keys in KEYS.items():
        with interrupt_runs(monkeypatch), pytest.raises(runs.Interrupted) as error:
            runs.run(compose(keys))
        found[name] = error.value.path
    return found


def test_it_is_not_converged_and_every_summary_says_what_is_missing(paths: dict[str, Path]) -> None:
    posterior = sm.Posterior.load(paths["table"])
    # what there is of the chains agrees
    assert posterior.rhat < 1.1 and not posterior.converged and HAS in repr(posterior)
    assert {name for name in dir(sm.Posterior) if not name.startswith("_")} == NO_SUMMARY | CALLS.keys() | NOT_YET
    for name, call in CALLS.items():
        of = sm.Posterior.load(paths["texts" if name == "topic_word" else "table"])
        with pytest.warns(sm.NotConverged, match=HAS) as told:
            call(of)
        assert [warning.filename for warning in told] == [__file__], name
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in NO_SUMMARY - {"load"}:
            getattr(posterior, name)
        posterior.plot()
        with pytest.raises(runs.ConfigError, match=HAS):
            posterior.plot("n_clusters")
        with pytest.raises(runs.ConfigError, match="groups"):
            _ = posterior.groups
        assert not len(posterior.misfit)


def test_its_clusters_are_the_best_state_so_far(paths: dict[str, Path]) -> None:
    posterior = sm.Posterior.load(paths["table"])
    trace = posterior.run.trace()
    with pytest.warns(sm.NotConverged):
        labels = posterior.labels
    best = trace.loc[trace["log_joint"].idxmax()]
    assert len(np.unique(labels)) == best["n_clusters"]


def test_no_message_advises_to_discard_it(paths: dict[str, Path]) -> None:
    """Files that only a finished run has, or one of another kind, are not there (yet); nothing is damaged."""
    finished = sm.sample("bernoulli", np.eye(6), iterations=10, progress="none")
    for run, said in [(finished.run, "such a run has no"), *((Run(path), HAS) for path in paths.values())]:
        absent = set()
        for name in set(dir(Run)) - {"best_state", "content"}:
            try:
                if not name.startswith("_") and callable(found := getattr(run, name)):
                    found()
            except FileNotFoundError as error:
                assert said in str(error) and "resume" not in str(error)
                absent.add(name)
        assert {"topics", "tokens", "perplexity", "documents"} <= absent
        assert (run is finished.run) != ({"summary", "manifest", "clusters", "diagnostics"} <= absent)


def test_its_data_are_those_that_it_read(paths: dict[str, Path]) -> None:
    Path("table.csv").write_text("\n".join(["1,0,1,0,1,0"] * 6))
    with pytest.raises(DataError, match=r"table\.csv: it was changed since the run"):
        _ = sm.Posterior.load(paths["table"]).dataset


def test_the_commands_say_what_is_missing(smcmc: Callable[..., Any], paths: dict[str, Path]) -> None:
    path = str(paths["table"])
    told = smcmc("diagnose", path)
    assert told.exit_code == 0 and told.stdout.startswith(f"not finished: {HAS}") and "converged" not in told.stdout
    assert HAS in (refused := smcmc("summary", path)).stderr and refused.exit_code == 2
    # and the same command does continue it
    assert smcmc("run", *KEYS["table"]).stdout.strip() == path
    assert sm.Posterior.load(path).caution is None


@pytest.mark.parametrize("name", ["config.yaml", "status.json"])
def test_damage_that_costs_nothing(smcmc: Callable[..., Any], paths: dict[str, Path], name: str) -> None:
    """Chains are continued whatever happened to these; the message does not say to begin anew."""
    (file := paths["table"] / name).write_text("{")
    told = smcmc("diagnose", str(paths["table"])).stderr
    assert f"{name}: damaged; " in told and "that began the run continues it" in told and "resume" not in told
    if "once it is removed" in told:
        file.unlink()
    continued, whole = [], drive._drive
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            drive,
            "_drive",
            lambda plan, stores, *of: (continued.append(stores[0].read_checkpoint()), whole(plan, stores, *of)),
        )
        assert smcmc("run", *KEYS["table"]).exit_code == 0
    assert [saved["outcome"]["iterations"] for saved in continued if saved] == [200, 200]


@pytest.mark.parametrize(
    ("state", "said"), [("failed", "failed (RunError: full) with 2"), ("running", "still running")]
)
def test_whatever_state_it_is_in(paths: dict[str, Path], state: str, said: str) -> None:
    status = paths["table"] / "status.json"
    write_sealed(status, read_sealed(status) | {"state": state, "error": "RunError: full"})
    with lock_file(paths["table"] / "work" / "lock"):
        found = sm.Posterior.load(paths["table"])
        assert not found.converged and said in (found.caution or "")


def test_an_estimator_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    estimator = sm.SplitMergeClustering("bernoulli", iterations=2000, random_state=1)
    with interrupt_runs(monkeypatch), pytest.warns(sm.NotConverged, match=HAS) as told:
        estimator.fit(np.eye(6))
    assert told[0].filename == __file__ and not estimator.converged_
    # its folder goes with the object: the same call begins anew
    assert "with store=FOLDER the same call would continue it" in str(told[0].message)
    for name in ("predict", "predict_proba", "score_samples", "score"):
        with pytest.warns(sm.NotConverged, match=HAS):
            getattr(estimator, name)(np.eye(6))
    with pytest.warns(sm.NotConverged, match=HAS):
        _ = estimator.similarity_


def test_a_run_that_has_stored_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drive, "_drive", lambda *_: None)
    found = sm.sample("bernoulli", np.eye(6), progress="none")
    assert "interrupted with 0 of 4 chains" in repr(found) and not found.converged
    expected = pytest.raises(FileNotFoundError, match="no recorded partition yet: interrupted with 0 of 4 chains")
    with pytest.warns(sm.NotConverged), expected:
        found.similarity()
    assert json.loads((found.path / "status.json").read_text())["state"] == "interrupted"
