"""Choices of ``auto`` are kept in OUT/choices, and read where data and options are the same."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import splitmerge_cli as sm
from splitmerge_cli import config, runs
from splitmerge_cli.analysis.alternatives import LeaveOneOut
from splitmerge_cli.api import selection
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.data.tables.repeats import keep_together
from splitmerge_cli.fits import candidates, short_fits
from splitmerge_cli.runs.store import manifest

ARGS = ["data=csv", "data.path=t.csv", "model=auto"]


class _Stub:
    """In place of a short run: scales of their own predict best, then full covariances, then counts."""

    def __init__(self, model: dict[str, Any], data: Dataset) -> None:
        reals = sum(column.type == "real" for column in data.types or ())
        value = 4.0 * (data.scales is not None) + 2.0 * (model.get("covariance") == "full") - 0.5 * reals
        value -= 9.0 * (model.get("tails") == "t")
        self.density = np.full(data.N, value)

    def leave_one_out(self, states: int) -> LeaveOneOut:
        return LeaveOneOut(self.density, np.zeros(len(self.density)))


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The covariances of the short runs that are made."""
    made: list[str] = []

    def short(*given: object) -> Callable[..., Any]:
        def sample(model: dict[str, Any], iterations: int) -> Callable[[Dataset], _Stub]:
            made.append(str(model.get("covariance")))
            return lambda data: _Stub(model, data)

        return sample

    monkeypatch.setattr(short_fits, "sample_by", short)
    return made


@pytest.fixture
def table() -> pd.DataFrame:
    """Skewed columns, counts, words; t.csv holds them."""
    rng = np.random.default_rng(0)
    skewed = np.exp(rng.normal(size=(60, 2))).round(3)
    frame = pd.DataFrame({"x": skewed[:, 0], "y": skewed[:, 1], "n": rng.poisson(3, 60), "w": [*"abc"] * 20})
    frame.to_csv("t.csv", index=False)
    return frame


def _settle(*words: str) -> tuple[config.RunSpecification, list[str]]:
    lines: list[str] = []
    settled = selection.settle(config.specify([*ARGS, *words], leave_to_data=True), lines.append)
    assert not settled.spec.to_choose
    return settled.spec, lines


@pytest.mark.parametrize("header", [True, False])
def test_the_same_choice_is_not_made_twice(table: pd.DataFrame, fits: list[str], header: bool) -> None:
    """Whatever the length of the run: also where columns are named by their numbers."""
    table.to_csv("t.csv", index=False, header=header)
    first, lines = _settle()
    scales = {"x": "log", "y": "log"} if header else {1: "log", 2: "log"}
    assert dict(first.data.values["scale"]) == scales and first.values["model"]["covariance"] == "full"
    (file,) = Path("results/choices").iterdir()
    made = len(fits)
    again, said = _settle("iterations=30", "chains=2", "resume=true")
    assert len(fits) == made and len(said) == 1 and len(lines) > 1
    assert said[0].startswith("model=mixed ") and said[0].endswith(
        f"model.covariance=full model.tails=normal, as {file} says"
    )
    assert again.with_(iterations=None, chains=4).values == first.values
    assert runs.run_id(_settle()[0]) == runs.run_id(first)


@pytest.mark.parametrize(
    "other", ["seed=1", "model.a0=3", "sampler=gibbs", "data.columns=[x,y]", "resume=false", "rows"]
)
def test_another_choice_is_made(table: pd.DataFrame, fits: list[str], other: str) -> None:
    _settle()
    made = len(fits)
    if other == "rows":
        table[1:].to_csv("t.csv", index=False)
    _settle(*([] if other == "rows" else [other]))
    assert len(fits) > made


def test_a_choice_among_other_candidates_is_made_again(
    table: pd.DataFrame, fits: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a version makes it that knows another candidate."""
    _settle()
    made = len(fits)
    _settle()
    assert len(fits) == made
    monkeypatch.setattr(selection.candidates, "COVARIANCES", ("iso", "diag", "full", "factor"))
    _settle()
    assert len(fits) > made


@pytest.mark.parametrize("word", ["resume=true", "resume=false", "damaged"])
def test_a_choice_that_was_interrupted_goes_on_from_its_fits(
    table: pd.DataFrame, fits: list[str], monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    monkeypatch.setattr(candidates, "LASTING", -1.0)
    left_out = _Stub.leave_one_out

    def interrupt(stub: _Stub, states: int) -> LeaveOneOut:
        if len(fits) == 5:
            raise KeyboardInterrupt
        return left_out(stub, states)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(_Stub, "leave_one_out", interrupt)
        _settle()
    (file,) = Path("results/choices").iterdir()
    assert file.suffix == ".fits"
    if word == "damaged":
        file.write_bytes(file.read_bytes()[:-9])
    before = len(fits)
    settled, _ = _settle(*([word] if word != "damaged" else []))
    made = len(fits) - before
    (kept,) = Path("results/choices").iterdir()
    assert kept.suffix == ".json"
    again, _ = _settle("resume=false")
    assert (
        len(fits) - before - made == made + 4 * (word == "resume=true")
        and again.values["model"] == settled.values["model"]
    )


def test_a_choice_that_fails_leaves_no_fits(
    table: pd.DataFrame, fits: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "LASTING", -1.0)
    monkeypatch.setattr(candidates, "format_covariances", lambda table: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        _settle()
    assert fits and not list(Path("results/choices").iterdir())


@pytest.mark.parametrize("damage", ["flipped", "cut", "of another run", "of other keys"])
def test_a_damaged_choice_is_made_again(table: pd.DataFrame, fits: list[str], damage: str) -> None:
    first, _ = _settle()
    (file,) = Path("results/choices").iterdir()
    content = file.read_bytes()
    if damage == "flipped":
        file.write_bytes(content.replace(b"full", b"diag"))
    elif damage == "cut":
        file.write_bytes(content[:-9])
    else:
        stored = manifest.read_sealed(file)
        stored |= {"id": "0"} if damage == "of another run" else {"changes": "{data.path: /etc/passwd}"}
        manifest.write_sealed(file, stored)
    again, lines = _settle()
    assert lines[0] == f"{file}: damaged; the choice is made again" and again.values == first.values
    assert file.read_bytes() != content[:-9] and manifest.recall(file, print) is not None


def test_a_folder_that_cannot_be_written_is_left_to_the_run(table: pd.DataFrame, fits: list[str]) -> None:
    Path("results").write_text("a file")
    assert _settle()[0].values["model"]["covariance"] == "full"


def test_each_step_has_a_line(table: pd.DataFrame, fits: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """If it takes long, and none with progress=none; what several comparisons ask for is fitted once."""
    monkeypatch.setattr(short_fits, "STEP_EVERY", 0.0)
    lines = [line for line in _settle()[1] if "leave-one-out" not in line]
    steps = [line for line in lines if line.endswith(" a row") or " (s.e. 0.000)" in line or " dropped," in line]
    assert steps == [
        "counts as counts: 1.000 nats a row",
        "counts as counts, model.zeros=apart: 1.000 nats a row, 0.000 behind (s.e. 0.000)",
        "counts as real numbers: 0.500 nats a row, 0.500 behind (s.e. 0.000)",
        "counts as counts, model.zeros=apart: dropped, not clearly ahead of as counts",
        "counts as real numbers: dropped, more than 4 standard errors behind",
        "columns as they are: 1.000 nats a row",
        "columns on a scale of their own: 5.000 nats a row, 4.000 ahead (s.e. 0.000)",
        "columns as they are: dropped, more than 4 standard errors behind",
        "data.scale=auto: x log, y log, 4.000 nats a row ahead (s.e. 0.000)",
        "covariance diag: 3.000 nats a row",
        "covariance full: 5.000 nats a row, 2.000 ahead (s.e. 0.000)",
        "covariance diag: dropped, more than 4 standard errors behind",
        "tails normal: 5.000 nats a row",
        "tails t: -4.000 nats a row, 9.000 behind (s.e. 0.000)",
        "tails t: dropped, more than 4 standard errors behind",
        "model.tails=auto: normal; t is 9.000 nats a row behind (s.e. 0.000)",
    ]
    assert fits == ["full", "full", "full", "full", "diag", "full"]
    _, quiet = _settle("progress=none", "resume=false")
    monkeypatch.setattr(short_fits, "STEP_EVERY", 1e9)
    for lines in (quiet, _settle("resume=false")[1]):
        assert not any(": 1.000 nats a row" in line or " dropped," in line for line in lines)
    assert quiet[-2].startswith("model.covariance=auto: full, ") and quiet[-2].endswith(
        ": diag 2.000 behind (s.e. 0.000)"
    )


@pytest.mark.parametrize("progress", ["lines", "none"])
def test_an_object_is_fitted_once_for_all_comparisons(
    table: pd.DataFrame,
    fits: list[str],
    progress: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(short_fits, "STEP_EVERY", 0.0)
    found = sm.sample(table, iterations=2, chains=1, progress=progress, options={"trace.partitions": 1})
    assert fits == ["full", "full", "full", "full", "diag", "full"]
    assert found.run.config["model"]["covariance"] == "full" and found.dataset.scales is not None
    assert (" dropped, " in capsys.readouterr().out) == (progress != "none")


def test_columns_that_numbers_name_are_read_as_real_ones(fits: list[str]) -> None:
    """The first is named 0, so that the number of each is the name of the next."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({0: rng.poisson(3, 60), 1: rng.normal(size=60), 2: rng.poisson(2, 60), 3: [*"abc"] * 20})
    found = sm.sample(frame, iterations=2, chains=1, progress="none", options={"trace.partitions": 1})
    assert [column.type for column in found.dataset.types or ()] == ["real", "real", "real", "categorical"]


@pytest.mark.parametrize("power", [1.0, 0.5])
def test_readings_are_compared_on_the_same_rows(monkeypatch: pytest.MonkeyPatch, power: float) -> None:
    """Rows that repeat others are copies only in the reading that has real columns."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(900, size=(40, 2)), rng.integers(2, size=(40, 3))])[rng.integers(40, size=100)]
    as_counts, as_reals = (
        from_object(pd.DataFrame(rows, columns=[*"abcde"]), "mixed", types=dict.fromkeys("ab", word))
        for word in ("count", "real")
    )
    recorded = [replace(reading, is_recorded=True) for reading in (as_counts, as_reals)]
    assert [len(keep_together(one, np.arange(100))) for one in recorded] == [100, len(np.unique(rows, axis=0))]

    class Held(_Stub):
        def log_predictive(self, new: Dataset, states: int) -> np.ndarray:
            return new.values[:, 0] * 1.0

    compared: list[np.ndarray] = []
    monkeypatch.setattr(candidates, "_difference", lambda by_row: (compared.append(by_row), (0.0, 1.0))[1])
    fits = candidates.Fits(lambda model, iterations=None: lambda data: Held(dict(model), data))  # type: ignore[arg-type]
    candidates.compare_readings(
        "counts", {"power": power}, dict(zip(("as counts", "as real numbers"), recorded, strict=True)), fits, print
    )
    distinct = len(np.unique(rows, axis=0))
    assert {len(each) for each in compared} == {100 if power < 1 else distinct}
    # the densities are in the order of the rows, whatever the folds
    assert power == 1.0 or not np.any(compared)


@pytest.mark.parametrize(
    ("ahead", "unreliable", "clusters", "taken", "said"),
    [
        (1.4, 10, None, "full", "full, by the leave-one-out log predictive density"),
        (1.4, 11, None, "diag", "diag, as good as full within 1.5 s.e. of the density, and simpler"),
        (2.5, 11, None, "full", "full, by the leave-one-out log predictive density"),
        (0.5, 10, None, "diag", "diag, as good as full within 1 s.e. of the density, and simpler"),
        (4.5, 11, None, "full", "full, by the leave-one-out log predictive density"),
        (0.5, 10, (8, 3), "full", "full, by the leave-one-out log predictive density"),
        (-0.5, 10, (8, 3), "full", "full, as good as diag within 1 s.e. of the density, with 3 clusters instead of 8"),
        (0.5, 10, (1, 3), "diag", "diag, as good as full within 1 s.e. of the density, with 1 cluster instead of 3"),
        (0.5, 10, (3, 3), "full", "full, by the leave-one-out log predictive density"),
        (-0.5, 10, (3, 3), "diag", "diag, by the leave-one-out log predictive density"),
        (-1.5, 10, (8, 3), "diag", "diag, by the leave-one-out log predictive density"),
        (
            -1.4,
            11,
            (8, 3),
            "full",
            "full, as good as diag within 1.5 s.e. of the density, with 3 clusters instead of 8",
        ),
    ],
)
def test_of_equal_densities_the_fewest_clusters_are_taken(
    monkeypatch: pytest.MonkeyPatch,
    ahead: float,
    unreliable: int,
    clusters: tuple[int, int] | None,
    taken: str,
    said: str,
) -> None:
    """Densities that rest on few draws need more than one error, unless all others are dropped."""
    noise = np.random.default_rng(0).normal(size=100)
    noise -= noise.mean()

    def leave_out(fits: object, options: dict[str, Any], dataset: Dataset, *rest: object) -> LeaveOneOut:
        rows = noise + ahead * noise.std() / 10 if options["covariance"] == "full" else np.zeros(100)
        shape = np.where(np.arange(100) < unreliable, 0.71, 0.7)
        n_clusters = math.nan if clusters is None else clusters[options["covariance"] == "full"]
        return LeaveOneOut(rows, shape, n_clusters)

    monkeypatch.setattr(candidates.Fits, "leave_out", leave_out)
    monkeypatch.setattr(candidates, "COVARIANCES", ("diag", "full"))
    data = from_object(np.random.default_rng(1).normal(size=(100, 2)), "points")
    table = candidates.covariances(config.component("model", "gaussian"), data, candidates.Fits(lambda *_: None))
    assert table["covariance"][0] == taken and table["few_draws"] == [unreliable / 100] * 2
    line = candidates.format_covariances(table).splitlines()[-1]
    assert said in line


@pytest.mark.parametrize(
    ("ahead", "rows", "fits_made"),
    [
        (-2.5, 100, [100, 100]),  # the harder one would need to gain 3.5 errors
        (-1.5, 100, [100, 100, 400, 400]),
        (3.5, 100, [100, 100, 400, 400]),
        (4.5, 100, [100, 100]),
        (15.0, 1_000, [25, 25, 100, 100]),  # a fit that takes long
        (25.0, 1_000, [25, 25]),
    ],
)
def test_what_can_hardly_be_taken_is_not_fitted_again(
    monkeypatch: pytest.MonkeyPatch, ahead: float, rows: int, fits_made: list[int]
) -> None:
    made: list[int] = []
    noise = np.random.default_rng(0).normal(size=rows)
    noise -= noise.mean()

    def leave_out(fits: object, options: dict[str, Any], dataset: Dataset, _: object, iterations: int) -> LeaveOneOut:
        made.append(iterations)
        gain = noise + ahead * noise.std() / rows**0.5 if options["covariance"] == "full" else np.zeros(rows)
        return LeaveOneOut(gain, np.zeros(rows))

    monkeypatch.setattr(candidates.Fits, "leave_out", leave_out)
    monkeypatch.setattr(candidates, "COVARIANCES", ("diag", "full"))
    monkeypatch.setattr(candidates, "COSTLY", 10**9 if rows == 100 else 0)
    data = from_object(np.random.default_rng(1).normal(size=(rows, 2)), "points")
    table = candidates.covariances(config.component("model", "gaussian"), data, candidates.Fits(lambda *_: None))
    assert made == fits_made and table["covariance"][0] == ("full" if ahead > 1.0 else "diag")


def test_a_run_that_is_interrupted_keeps_its_choice(
    smcmc: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(candidates, "ROUNDS", (20, 40))
    rng = np.random.default_rng(0)
    pd.DataFrame(rng.normal(size=(40, 2)), columns=["x", "y"]).to_csv("t.csv", index=False)
    args = ["run", *ARGS, "iterations=20", "chains=2", "progress=none"]

    def stop(*given: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("splitmerge_cli.runs.drive.await_chains", stop)
        patch.setattr(short_fits, "sample_by", lambda *given: lambda model, length: lambda data: _Stub(model, data))
        assert smcmc(*args).exit_code == 130
    monkeypatch.setattr(candidates, "covariances", None)
    ended = smcmc(*args, status=0)
    said = " ".join(ended.stderr.split())
    assert "model.covariance=full model.tails=normal model.noise=0.0, as results/choices/" in said
    summary = sm.Posterior.load(ended.stdout.split()[-1]).run.summary
    assert summary["chosen"]["model.covariance"][0]["covariance"] == "full"


@pytest.mark.parametrize("command", ["sweep", "race --seeds 1"])
def test_jobs_keep_their_choice(
    smcmc: Any, table: pd.DataFrame, fits: list[str], command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = [*command.split(), *ARGS, "sampler=sams,gibbs", "iterations=2", "chains=1", "progress=none"]
    monkeypatch.setattr("splitmerge_cli.runs.sweeps.sweep.run_jobs", lambda *given, **more: [])
    for _ in range(2):
        smcmc(*args)
        assert fits == ["full", "full", "full", "full", "diag", "full"]


def test_without_times_files_of_a_choice_are_equal(smcmc) -> None:
    """Whether the choice is made or recalled from a run with times."""
    rng = np.random.default_rng(3)
    pd.DataFrame(rng.normal(size=(40, 2)) + 4 * (np.arange(40) % 2)[:, None]).to_csv("t.csv", index=False)
    words = ["run", "t.csv", "iterations=20", "chains=2", "progress=none"]
    for out in ("a", "b"):
        assert smcmc(*words, "timing=false", f"out={out}").exit_code == 0
    assert smcmc(*words, "out=c").exit_code == smcmc(*words, "timing=false", "out=c").exit_code == 0
    kept = [next(Path(out, "choices").glob("*.json")).read_bytes() for out in ("a", "b", "c")]
    assert kept[0] == kept[1] != kept[2]
    chosen = [
        json.loads(file.read_text())["chosen"]
        for out in ("a", "b", "c")
        for file in Path(out).glob("*/*/summary.json")
        if "timing: false" in (file.parent / "config.yaml").read_text()
    ]
    assert len(chosen) == 3 and chosen[0] == chosen[1] == chosen[2]
