"""A finished run goes on: the longer one ends with the bytes of one that was made at once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from splitmerge_cli import runs
from splitmerge_cli.config import ConfigError, compose
from splitmerge_cli.runs.continuation import are_recorded
from splitmerge_cli.runs.progress import ChainProgress, Reporter
from splitmerge_cli.runs.recorders.spacing import Spacing
from splitmerge_cli.runs.store import schema
from splitmerge_cli.runs.store.read import Run

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


class Lines(Reporter):
    """Keeps the lines, and fails the run after so many batches."""

    def __init__(self, batches: int = 10**9) -> None:
        self.said: list[str] = []
        self._batches = batches

    def say(self, line: str) -> None:
        self.said.append(line)

    def update(self, chain: int, at: ChainProgress) -> None:
        self._batches -= 1
        if self._batches < 0:
            raise RuntimeError("stopped by the test")


def make(*args: str, lines: Lines | None = None) -> Path:
    return runs.run(compose([*args]), lines)


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


def test_also_when_it_is_broken_off_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FIRST_BATCH", "BATCH"):
        monkeypatch.setattr(f"splitmerge_cli.runs.drive.{name}", 0.005)
    args = [*RECORDS, "thin=50"]
    make(*args, "iterations=10000", "out=parts")
    for batches in (2, 3):
        with pytest.raises(RuntimeError, match="stopped by the test"):
            make(*args, "iterations=40000", "out=parts", lines=Lines(batches))
    path = runs.run_dir(compose([*args, "iterations=40000", "out=parts"]))
    assert Run(path).trace()["iteration"].max() > 10_000
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
    iterations = [Run(path).summary["iterations"][0] for path in (short, longer)]
    assert iterations[0] < iterations[1]
    assert read_content(longer) == read_content(make(*asked, "until.ess=800", "out=whole"))


def test_what_would_have_ended_before_begins_anew() -> None:
    records = [*RECORDS, "trace.partitions=8"]
    make(*records, "iterations=6000")
    again = make(*records, "until.rhat=1.5", lines=(lines := Lines()))
    assert any(line.startswith("starts again: until stops at 1,000 iterations") for line in lines.said)
    assert Run(again).summary["iterations"] == [1000, 1000]
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
        assert are_recorded(wanted, by, upto) or not at[0] <= at[1]
        assert not are_recorded(wanted, by, upto) or at[0] <= at[1]


def change_type(table: str, column: str, type_: pa.DataType) -> Any:
    """The columns of tables, one of another type."""
    columns_of = schema._columns_of

    def changed(name: str) -> Any:
        types, marks = columns_of(name)
        return (types | {column: type_} if name == table else types), marks

    return changed


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
    assert Run(longer).complete and read_content(longer) == read_content(whole)


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
    with pytest.raises(ConfigError) as raised:
        make(*args)
    assert difference in str(raised.value) and "expected resume=false" in str(raised.value)
    assert content() == before
    assert Run(make(*args, "resume=false")).complete
