"""A finished run goes on: the longer one ends with the bytes of one that was made at once."""

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import splitmerge_cli as sm
from splitmerge_cli import config, received, runs
from splitmerge_cli.kinds import documents
from splitmerge_cli.runs import continuation, drive, progress
from splitmerge_cli.runs.recorders import Spacing
from splitmerge_cli.runs.store import files, manifest, read, schema

COMMON = ["timing=false", "progress=none", "seed=7", "chains=2"]
RECORDS = ["sampler=sams", "model=bernoulli", "data=jain_neal", "N=40", *COMMON]
KINDS = {
    "tokens": (["sampler=sdds", "N=60", "thin=3"], 300),
    "records": (["sampler=rgsm", "data=jain_neal", "N=40"], 400),
    "scales": (
        [
            *("sampler=sdds", "model=gaussian", "model.b0=hierarchical", "model.kappa0=gamma(2,1)", "data=gaussian"),
            *("model.covariance=full", "N=60"),
        ],
        200,
    ),
    "weights": (["sampler=sams", "model=gaussian", "model.tails=t", "data=gaussian", "N=60"], 200),
    "lines, uncollapsed": (
        [
            *("sampler=triadic", "model=lines", "data=lines", "model.conjugate=false", "model.noise=nig", "N=30"),
            *("model.refresh=metropolis", "model.concentration=gamma(2,1)"),
        ],
        200,
    ),
    "hash tables": (["sampler=lshsm", "model=gaussian", "data=gaussian", "N=80"], 200),
    "adaptive": (["sampler=arm", "data=network", "N=30", "warmup=20"], 150),
    "topics": (["sampler=smag", "data=docs200", "N=20", "data.heldout=.2", "perplexity.every=4"], 8),
    "weighted schedule": (["schedule=[{sdds: 2}, {rgsm: {weight: 1, t: 3}}, {gibbs: 1}]", "data=jain_neal"], 200),
}


class Lines(progress.Reporter):
    """Keeps the lines, and fails the run after so many batches."""

    def __init__(self, batches: int = 10**9) -> None:
        self.said: list[str] = []
        self._batches = batches

    def say(self, line: str) -> None:
        # a busy machine takes so long for the tables that a line says it
        if not line.startswith("sampling has finished"):
            self.said.append(line)

    def update(self, chain: int, at: progress.ChainProgress) -> None:
        self._batches -= 1
        if self._batches < 0:
            raise RuntimeError("stopped by the test")


def make(*args: str, lines: Lines | None = None) -> Path:
    return runs.run(config.compose([*args]), lines)


def read_content(path: Path) -> dict[str, bytes]:
    """Every file but those that hold times and the folder."""
    left_out = ("status.json", "manifest.json", "config.yaml")
    return {file.name: file.read_bytes() for file in path.iterdir() if file.is_file() and file.name not in left_out}


@pytest.mark.parametrize("kind", KINDS)
def test_a_longer_run_goes_on_and_ends_with_the_same_bytes(tmp_path: Path, kind: str) -> None:
    args, iterations = KINDS[kind]
    args = [*args, *COMMON]
    make(*args, f"iterations={iterations}", "workers=2", "out=parts")
    lines = Lines()
    longer = make(*args, f"iterations={2 * iterations}", "workers=1", "out=parts", lines=lines)
    assert len(lines.said) == 1 and f"continues after the {iterations:,} iterations of parts" in lines.said[0]
    whole = make(*args, f"iterations={2 * iterations}", "out=whole", lines=(alone := Lines()))
    assert not alone.said and longer.name == whole.name
    assert read_content(longer) == read_content(whole)


def test_what_would_have_ended_before_begins_anew() -> None:
    records = [*RECORDS, "trace.partitions=8"]
    make(*records, "iterations=6000")
    again = make(*records, "until.rhat=1.5", lines=(lines := Lines()))
    assert any(line.startswith("starts again: until stops at 1,000 iterations") for line in lines.said)
    assert read.Run(again).summary["iterations"] == [1000, 1000]
    assert read_content(again) == read_content(make(*records, "until.rhat=1.5", "out=whole"))


def go_on_after(name: str, damage: Callable[[Path], Any]) -> list[str]:
    short = make(*RECORDS, "iterations=40", f"out={name}")
    damage(short)
    longer = make(*RECORDS, "iterations=80", f"out={name}", lines=(lines := Lines()))
    assert read_content(longer) == read_content(make(*RECORDS, "iterations=80", "out=whole"))
    return lines.said


def test_a_damaged_run_is_not_believed() -> None:
    def flip(path: Path) -> None:
        file = next(path.glob("states-*.npz"))
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes(data)

    assert go_on_after("flipped", flip) == []
    assert go_on_after("removed", lambda path: next(path.glob("states-*.npz")).unlink()) == []


def test_a_run_whose_partitions_are_others_begins_anew_and_says_so() -> None:
    make(*RECORDS, "iterations=3000")  # every 6th
    path = make(*RECORDS, "iterations=4000", lines=(lines := Lines()))  # every 8th
    assert len(lines.said) == 1 and lines.said[0].startswith("starts again: ")
    assert lines.said[0].endswith("recorded every 6th partition, this run records every 8th")
    assert read_content(path) == read_content(make(*RECORDS, "iterations=4000", "out=whole"))


def test_resume_false_begins_anew() -> None:
    make(*RECORDS, "iterations=40")
    make(*RECORDS, "iterations=80", "resume=false", lines=(lines := Lines()))
    assert not lines.said


@pytest.mark.parametrize(
    ("wanted", "by"),
    [
        (Spacing(8), Spacing(4)),
        (Spacing(6), Spacing(4)),
        (Spacing(0), Spacing(4)),
        (Spacing(4), Spacing(0)),
        (Spacing(4, 10), Spacing(4, 10)),
        (Spacing(4, 10), Spacing(4)),
        (Spacing(4), Spacing(4, 10)),
        (Spacing(64), Spacing(4, 10)),
        (Spacing(8, 5), Spacing(4, 10)),
    ],
)
def test_which_partitions_were_recorded(wanted: Spacing, by: Spacing) -> None:
    for upto in (0, 30, 100, 700):
        at = [
            {i for i in range(upto + 1) if s.every and i % s.every == 0 and s.is_recorded(np.array([i]))[0]}
            for s in (wanted, by)
        ]
        assert continuation.are_recorded(wanted, by, upto) or not at[0] <= at[1]
        assert not continuation.are_recorded(wanted, by, upto) or at[0] <= at[1]


def change_type(table: str, column: str, type_: pa.DataType) -> Any:
    """The columns of tables, one of another type."""
    columns_of = schema._columns_of

    def change(name: str) -> Any:
        types, marks = columns_of(name)
        return (types | {column: type_} if name == table else types), marks

    return change


VERSIONS: dict[str, tuple[str, Any, str]] = {
    "a column more": ("OPTIONAL", ("ari",), "no column 'nmi'"),
    "another type in the trace": (
        "_columns_of",
        change_type(schema.TRACE, "K", pa.int64()),
        "column 'K' holds int64; expected int32",
    ),
    "another type in the partitions": (
        "_columns_of",
        change_type(schema.PARTITIONS, "labels", pa.list_(pa.int64())),
        "column 'labels' holds list<",
    ),
    "a column less": ("OPTIONAL", ("nmi", "ari"), ""),
}
"""Columns of an earlier version of the program, and how messages describe the difference; empty: none that matters."""
VERSIONED = ["sampler=sdds", "data=emm", "N=30", *COMMON]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_run_of_another_version_goes_on_or_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    name, value, difference = VERSIONS[version]
    with monkeypatch.context() as earlier:
        earlier.setattr(schema, name, value)
        make(*VERSIONED, "iterations=100", "out=parts")
    if not difference:
        monkeypatch.setattr(schema, "OPTIONAL", ("ari",))
    whole = make(*VERSIONED, "iterations=200", "out=whole")
    longer = make(*VERSIONED, "iterations=200", "out=parts", lines=(lines := Lines()))
    (said,) = lines.said
    if difference:
        assert said.startswith("starts again: ") and difference in said
    else:
        assert said.startswith("continues after the 100 iterations")
    assert read.Run(longer).complete and read_content(longer) == read_content(whole)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_interrupted_run_of_another_version_is_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    name, value, difference = VERSIONS[version]
    args = [*VERSIONED, "iterations=2000", "out=parts"]
    with monkeypatch.context() as earlier:
        earlier.setattr(schema, name, value)
        for batch in ("FIRST_BATCH", "BATCH"):
            earlier.setattr(f"splitmerge_cli.runs.drive.{batch}", 1e-3)
        with pytest.raises(RuntimeError, match="stopped by the test"):
            make(*args, lines=Lines(4))
    if not difference:
        monkeypatch.setattr(schema, "OPTIONAL", ("ari",))
        difference = "a column 'nmi'; expected none of this name"
    (path,) = Path("parts").glob("*/*")

    def content() -> dict[Path, bytes]:
        # the room for the last words of a run is made anew
        return {file: file.read_bytes() for file in path.rglob("*") if file.is_file() and file.name != "reserve"}

    before = content()
    with pytest.raises(config.ConfigError) as raised:
        make(*args)
    assert difference in str(raised.value) and "expected resume=false" in str(raised.value)
    assert content() == before
    assert read.Run(make(*args, "resume=false")).complete


# ---- Runs that are not finished: no message reads as if they were.

TEXTS = ["cats chase mice", "mice fear cats", "stocks fell today", "today stocks rose"] * 3
OF_DOCUMENTS = (documents.TOPICS, documents.PERPLEXITY)
HAS = "interrupted with 2 of 4 chains, at least 200 of 2,000 iterations each"
KEYS = {
    name: [*keys, f"data.path={name}.csv", "iterations=2000", "trace.partitions=4", "progress=none"]
    for name, keys in [("table", ["data=csv", "model=bernoulli"]), ("texts", ["data=corpus"])]
}
NO_SUMMARY = {
    *("caution", "complete", "converged", "dataset", "effects", "entities", "link_scores", "load", "match_weights"),
    *("n_clusters_interval", "n_items", "outcome_gain", "pairs", "partitions", "path", "predict_links"),
    *("predict_outcome", "review", "rhat", "thresholds", "traces", "update"),
}
"""Attributes of a posterior that summarise no draws, or draws of records (`tests/kinds/records/test_entities.py`)."""
NOT_YET = {"plot", "groups", "misfit"}
"""Attributes that only a finished run has, in whole or in part."""
SUMMARIES = ["point_estimate", "similarity", "membership", "credible_ball", "cluster_summary", "levels", "core"]
SUMMARIES += ["column_summary", "leave_one_out", "topic_word"]
CALLS: dict[str, Callable[[sm.Posterior], Any]] = {
    "labels": lambda found: found.labels,
    **{name: lambda found, name=name: getattr(found, name)() for name in SUMMARIES},
    **{name: lambda found, name=name: getattr(found, name)(1) for name in ("at", "representatives")},
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
            runs.run(config.compose(keys))
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
    for run, said in [(finished.run, "such a run has no"), *((read.Run(path), HAS) for path in paths.values())]:
        absent = set()
        for name in (set(dir(read.Run)) - {"best_state", "content", "file", "table", "has_table"}) | set(OF_DOCUMENTS):
            try:
                if name in OF_DOCUMENTS:
                    run.table(name)
                elif not name.startswith("_") and callable(found := getattr(run, name)):
                    found()
            except FileNotFoundError as error:
                assert said in str(error) and "resume" not in str(error)
                absent.add(name)
        assert set(OF_DOCUMENTS) <= absent
        assert (run is finished.run) != ({"summary", "manifest", "clusters", "diagnostics"} <= absent)


def test_its_data_are_those_that_it_read(paths: dict[str, Path]) -> None:
    Path("table.csv").write_text("\n".join(["1,0,1,0,1,0"] * 6))
    with pytest.raises(received.DataError, match=r"table\.csv: it was changed since the run"):
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
    manifest.write_sealed(status, manifest.read_sealed(status) | {"state": state, "error": "RunError: full"})
    with files.lock_file(paths["table"] / "work" / "lock"):
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


def test_also_when_it_is_broken_off_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FIRST_BATCH", "BATCH"):
        monkeypatch.setattr(f"splitmerge_cli.runs.drive.{name}", 0.005)
    args = [*RECORDS, "thin=50"]
    make(*args, "iterations=10000", "out=parts")
    for batches in (2, 3):
        with pytest.raises(RuntimeError, match="stopped by the test"):
            make(*args, "iterations=40000", "out=parts", lines=Lines(batches))
    path = runs.run_dir(config.compose([*args, "iterations=40000", "out=parts"]))
    assert read.Run(path).trace()["iteration"].max() > 10_000
    lines = Lines()
    longer = make(*args, "iterations=40000", "out=parts", lines=lines)
    assert not lines.said  # what it has itself is more
    assert read_content(longer) == read_content(make(*args, "iterations=40000", "out=whole"))


def test_of_several_runs_the_longest_goes_on() -> None:
    for iterations in (40, 80, 400):
        make(*RECORDS, "trace.partitions=8", f"iterations={iterations}")
    longer = make(*RECORDS, "trace.partitions=8", "iterations=200", lines=(lines := Lines()))
    assert "continues after the 80 iterations" in lines.said[0]
    assert read_content(longer) == read_content(make(*RECORDS, "trace.partitions=8", "iterations=200", "out=whole"))


def test_a_run_that_stops_when_it_is_long_enough_goes_on() -> None:
    asked = [*RECORDS, "until.rhat=1.05"]
    short = make(*asked, "until.ess=200")
    longer = make(*asked, "until.ess=800", lines=(lines := Lines()))
    assert any("continues after the" in line for line in lines.said)
    iterations = [read.Run(path).summary["iterations"][0] for path in (short, longer)]
    assert iterations[0] < iterations[1]
    assert read_content(longer) == read_content(make(*asked, "until.ess=800", "out=whole"))
