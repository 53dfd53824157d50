"""The kept reproduction: what it says of itself, what the documentation says of it, and figures made again."""

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from editions import again, counted, kept, pictures

from splitmerge_cli.papers import claims, declaration, reproduce
from splitmerge_cli.papers.verdicts import AT_EDGE, NOT_REPRODUCED, REPRODUCED, VERDICTS
from splitmerge_cli.runs.store import files, manifest

ROOT = Path(__file__).parents[2]
OURS = ROOT / "docs" / "reproduction"
EXACT = ["sdds-fig1", "sdds-table1"]


@pytest.fixture
def coarse_pictures() -> None:
    """The pictures here are compared with kept ones: they are saved as they are."""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small kept reproduction: two exact figures."""
    folder = tmp_path_factory.mktemp("original")
    assert reproduce.reproduce(EXACT, out=folder / "results") == 0
    assert kept.keep(EXACT, "quick", folder / "results", folder / "kept") == (EXACT, [])
    return folder / "kept"


@pytest.fixture
def folder(original: Path) -> Path:
    """A copy of it in the test's folder."""
    return Path(shutil.copytree(original, "kept"))


def agrees(folder: Path) -> None:
    """Counts, digests and claims of a kept reproduction are those of its files."""
    index = kept.read_index(folder)
    assert not list(kept.find_damage(folder, index, whole=True))
    assert sum(file.stat().st_size for file in folder.iterdir()) <= 8_000_000
    for name, figure in index["figures"].items():
        table, scale = kept.claims_of(folder, name)
        own = table[table["counted"]]
        assert {v: int((own["verdict"] == v).sum()) for v in VERDICTS} == {AT_EDGE: 0} | figure["verdicts"], name
        assert set(table["scale"]) <= {scale}  # none where nothing is claimed
        # rows that were added since the runs are not kept yet
        known = {(c.data, c.sampler, c.metric) for c in claims.published_claims(name)}
        assert set(own[["data", "sampler", "metric"]].itertuples(index=False, name=None)) <= known, name
        assert not own[["data", "sampler", "metric"]].duplicated().any(), name
        numbers = next(file for file in figure["files"] if re.fullmatch(rf"{name}\.csv(\.gz)?", file))
        assert len(pd.read_csv(folder / numbers, keep_default_na=False)) == figure["rows"]["kept"], name
        assert not {"node", "host"} & set(figure["made"][0]["machine"])


def test_what_is_kept_says_of_itself_what_its_files_hold(folder: Path) -> None:
    agrees(folder)
    figures = kept.read_index(folder)["figures"]
    assert figures["sdds-table1"]["verdicts"][NOT_REPRODUCED] == 1
    assert figures["sdds-fig1"]["notes"].startswith("Numbers: exact probabilities")


@pytest.mark.skipif(not (OURS / kept.INDEX).is_file(), reason="the repository keeps no reproduction")
def test_the_reproduction_of_the_repository_says_of_itself_what_its_files_hold() -> None:
    agrees(OURS)


@pytest.mark.slow
def test_a_figure_made_again_is_equal_and_a_changed_digit_is_told(run_script: Callable[..., Any], folder: Path) -> None:
    result = run_script("check", *EXACT, "--kept", "kept")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-2:] == ["sdds-fig1: 12 equal", "sdds-table1: 6 equal"]
    table, _ = kept.claims_of(folder, "sdds-fig1")
    table.loc[1, "ours"] = np.nextafter(table.loc[1, "ours"], 1)
    table.to_csv(folder / "sdds-fig1-claims.csv", index=False, lineterminator="\n")
    result = run_script("check", "sdds-fig1", "--kept", "kept")
    assert result.exit_code == 1 and "sdds-fig1-claims.csv: not what was written" in result.stderr
    index = kept.read_index(folder)
    said = index["figures"]["sdds-fig1"]["files"]["sdds-fig1-claims.csv"]
    file = folder / "sdds-fig1-claims.csv"
    said |= {"bytes": file.stat().st_size, "sha256": kept.sha256_of(file)}
    manifest.write_sealed(folder / kept.INDEX, index)
    result = run_script("check", "sdds-fig1", "--kept", "kept")
    assert result.exit_code == 1, result.output
    last = result.stdout.splitlines()[-1]
    assert last.startswith("sdds-fig1: ") and "11 equal" in last and "1 differs" in last


def test_a_kept_figure_is_drawn_from_its_numbers(folder: Path) -> None:
    for name in EXACT:
        drawn = pictures.draw_kept(folder, name, Path("drawn"))
        assert drawn is not None and drawn.read_bytes() == (folder / f"{name}.png").read_bytes()
    flip(folder / "sdds-table1.csv")
    with pytest.raises(files.DamagedRun, match=r"sdds-table1\.csv"):
        pictures.draw_kept(folder, "sdds-table1", Path("drawn"))


def test_every_figure_has_a_function_that_draws_it_from_its_numbers() -> None:
    assert not [name for name, figure in declaration.figures().items() if kept.picture_of(figure) is None]


@pytest.mark.parametrize("name", ["lshsm-table1", "triadic-table1"])
def test_a_number_of_later_runs_has_a_mark_in_the_table(name: str) -> None:
    verdicts, units = pictures.counted_claims(OURS / "edition-2", name)
    later = verdicts[verdicts["other"]]
    later = later[counted.in_cells(name, later) | counted.in_points(name, later)]
    numbers = pd.read_csv(next((OURS / "edition-2").glob(f"{name}.csv*")))
    draw = kept.picture_of(declaration.figures()[name])
    plain, settled = (
        [text.get_text() for ax in figure.axes for text in ax.texts]
        for figure in (draw(numbers), draw(counted.settle(name, numbers, later, units)))
    )
    # a mean of the triadic table stands in both of its halves
    twice = 0 if name == "lshsm-table1" else counted.in_cells(name, later).sum()
    assert sum("†" in text for text in plain) == 0
    assert sum(text.count("†") for text in settled) == len(later) + twice > 0


@pytest.mark.slow
@pytest.mark.parametrize("place", [OURS, OURS / "edition-2"], ids=["edition-1", "edition-2"])
def test_the_figures_of_the_repository_are_drawn_from_their_numbers(place: Path, tmp_path: Path) -> None:
    for name in kept.read_index(place)["figures"]:
        drawn = pictures.draw_kept(place, name, tmp_path)
        assert drawn is not None and 5_000 < drawn.stat().st_size < 400_000, name


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def link_elsewhere(file: Path) -> None:
    file.replace("elsewhere")
    file.symlink_to(Path("elsewhere").absolute())


def pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


@pytest.mark.parametrize(
    ("file", "damage", "said"),
    [
        ("sdds-fig1.csv", flip, "sdds-fig1.csv: not what was written"),
        ("sdds-fig1.png", flip, "sdds-fig1.png: not what was written"),
        ("sdds-table1.png", Path.unlink, "sdds-table1.png: missing"),
        ("sdds-table1.png", pipe, "sdds-table1.png: a named pipe; expected a regular file"),
        ("sdds-table1.png", link_elsewhere, "expected a regular file in that folder"),
        ("more.csv", Path.touch, "more.csv: not in index.json"),
        ("index.json", flip, "index.json: damaged; expected what keep_figures.py wrote"),
        ("index.json", pipe, "index.json: a named pipe; expected a regular file"),
    ],
)
def test_a_check_reads_every_file_of_the_folder(
    run_script: Callable[..., Any], folder: Path, file: str, damage: Callable[[Path], None], said: str
) -> None:
    damage(folder / file)
    result = run_script("check", "sdds-table1", "--kept", "kept")
    assert result.exit_code == 1 and said in result.stderr and len(result.stderr.splitlines()) == 1
    assert not list(Path("results").glob("check-*"))


NONE: dict[str, Any] = {
    "list": [],
    "figure": {"a": []},
    "no files": {"a": {"scale": "quick"}},
    "scale": {"a": {"scale": "huge", "files": {}}},
    "no claims": {"a": {"scale": "quick", "files": {}}},
    "no digest": {"a": {"scale": "quick", "files": {"a-claims.csv": {}}}},
    "elsewhere": {"a": {"scale": "quick", "files": {f: {"bytes": 1, "sha256": ""} for f in ("a-claims.csv", "../b")}}},
    "deep": {"a": json.loads("[" * 70 + "]" * 70)},
}


@pytest.mark.parametrize("what", NONE)
def test_an_index_that_is_none_is_damaged_whatever_its_seal(run_script: Callable[..., Any], what: str) -> None:
    Path("kept").mkdir()
    manifest.write_sealed(Path("kept", kept.INDEX), {"format": kept.FORMAT, "figures": NONE[what]})
    result = run_script("check", "sdds-table1", "--kept", "kept")
    assert result.exit_code == 1 and "index.json: damaged" in result.stderr


@pytest.mark.parametrize(
    ("ours", "outcome", "good"),
    [(2.0, again.EQUAL, True), (2.4, again.INSIDE, True), (2.6, again.BEYOND, False), (np.nan, again.DIFFERS, False)],
)
def test_a_measured_claim_lies_in_the_kept_interval(ours: float, outcome: str, good: bool) -> None:
    row = {"id": "a", "data": "d", "sampler": "s", "metric": "m", "reading": "", "on": "", "rule": "factor"}
    table = pd.DataFrame([row | {"ours": 2.0, "low": 1.5, "high": 2.5, "verdict": REPRODUCED}])
    found = again.compare("a", table, table.assign(ours=ours))
    assert found.rows["outcome"].tolist() == [outcome] and found.good == good
    assert not again.compare("a", table, table[:0]).good
    alone = table.assign(low=np.nan, high=np.nan)
    assert again.compare("a", alone, alone.assign(ours=9.0)).rows["outcome"].tolist() == [again.NO_INTERVAL]


def test_long_numbers_are_packed_and_thinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "PLAIN", 2000)
    monkeypatch.setattr(kept, "LARGEST", 2000)
    table = pd.DataFrame({"x": np.random.default_rng(0).random(3000)})
    file, rows = kept._write_numbers(table, tmp_path, "a")
    assert file.name == "a.csv.gz" and file.stat().st_size <= 2000
    thinned = pd.read_csv(file)
    assert (
        100 < rows == len(thinned) < 3000 and np.isin(thinned["x"], table["x"].map("{:.6g}".format).astype(float)).all()
    )


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["check", "sdds-fig1", "--kept", "none"], "none/index.json: no such file; expected a folder"),
        (["keep", "sdds-fig1"], "sdds-fig1: results are missing; smcmc reproduce sdds-fig1 --scale quick makes them"),
        (["keep", "sdds-fig1", "--scale", "huge"], "--scale huge: expected quick or paper"),
        (["archive"], "archive sdds --out sdds.zip writes one"),
        (["archive", "sdds-fig1", "--out", "a.zip"], "smcmc reproduce sdds-fig1 --scale quick"),
    ],
)
def test_bad_input_is_answered_by_what_works(run_script: Callable[..., Any], args: list[str], message: str) -> None:
    result = run_script(*args)
    assert result.exit_code == 2 and message in result.stderr
