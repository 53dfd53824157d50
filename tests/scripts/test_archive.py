"""Archives: their contents, messages about damage, and files that no archive of ours holds."""

import hashlib
import json
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from editions import archive, crate

from splitmerge_cli.papers.reproduce import reproduce


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of two exact figures."""
    folder = tmp_path_factory.mktemp("archive")
    assert reproduce(["sdds-fig1", "sdds-table1"], out=folder / "results") == 0
    archive.write(["sdds-fig1", "sdds-table1"], "quick", folder / "results", folder / "a.zip")
    return folder / "a.zip"


def rewritten(
    original: Path, change: Callable[[dict[str, bytes]], None], attributes: dict[str, int] | None = None
) -> Path:
    """The archive with other content, in the test's folder."""
    with zipfile.ZipFile(original) as zipped:
        held = {name: zipped.read(name) for name in zipped.namelist()}
    change(held)
    with zipfile.ZipFile("changed.zip", "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, content in held.items():
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (attributes or {}).get(name, 0)
            zipped.writestr(entry, content)
    return Path("changed.zip")


def test_an_archive_is_a_crate_whose_parts_are_there(original: Path) -> None:
    with zipfile.ZipFile(original) as zipped:
        names = set(zipped.namelist())
        graph = json.loads(zipped.read(crate.METADATA))["@graph"]
        sums = dict(reversed(line.split("  ")) for line in zipped.read(archive.SUMS).decode().splitlines())
        environment = json.loads(zipped.read(archive.ENVIRONMENT))
        assert sums == {name: hashlib.sha256(zipped.read(name)).hexdigest() for name in names - {archive.SUMS}}
    by_id = {entity["@id"]: entity for entity in graph}
    assert len(by_id) == len(graph)
    assert by_id[crate.METADATA]["about"] == {"@id": "./"}
    root = by_id["./"]
    assert {"name", "description", "datePublished", "license"} <= root.keys()
    for part in root["hasPart"]:
        assert by_id[part["@id"]]["name"] and any(name.startswith(part["@id"]) for name in names)
    made = [entity for entity in graph if entity["@type"] == "CreateAction"]
    assert [action["name"] for action in made] == [
        "smcmc reproduce sdds-fig1 --scale quick",
        "smcmc reproduce sdds-table1 --scale quick",
    ]
    assert all(result["@id"] in names for action in made for result in action["result"])
    assert environment["distributions"]["numpy"] and "node" not in environment["machine"]


def test_an_archive_is_verified_and_a_figure_of_it_made_again(run_script: Callable[..., Any], original: Path) -> None:
    result = run_script("archive", "--check", str(original), "--figure", "sdds-table1")
    assert result.exit_code == 0, result.output
    assert "all 21 files are unchanged; figures: sdds-fig1, sdds-table1" in result.stdout
    assert result.stdout.splitlines()[-1] == "sdds-table1: 6 equal"


def test_a_claim_with_digests_that_fit_is_compared(run_script: Callable[..., Any], original: Path) -> None:
    def change(held: dict[str, bytes]) -> None:
        name = "figures/sdds-table1-claims.csv"
        before = hashlib.sha256(held[name]).hexdigest().encode()
        held[name] = held[name].replace(b",0.625,", b",0.626,")
        held[archive.SUMS] = held[archive.SUMS].replace(before, hashlib.sha256(held[name]).hexdigest().encode())

    result = run_script("archive", "--check", str(rewritten(original, change)), "--figure", "sdds-table1")
    assert result.exit_code == 1, result.output
    assert "differs" in result.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "content", "mode", "status", "message"),
    [
        # damage
        ("figures/sdds-fig1.csv", b"x", 0, 1, "figures/sdds-fig1.csv: not what was written"),
        ("sdds-fig1/table.csv", None, 0, 1, "sdds-fig1/table.csv: missing"),
        ("more.py", b"raise SystemExit", 0, 1, "more.py: not in SHA256SUMS"),
        (archive.SUMS, b"nonsense", 0, 1, "SHA256SUMS: not what was written"),
        # what no archive of ours holds
        ("../out.txt", b"", 0, 2, "expected a path within the archive"),
        ("/etc/out", b"", 0, 2, "expected a path within the archive"),
        ("a/./b", b"", 0, 2, "expected a path within the archive"),
        ("a\\b", b"", 0, 2, "expected a path within the archive"),
        ("link", b"/etc/passwd", stat.S_IFLNK | 0o777, 2, "a link or another special file"),
        pytest.param("bomb", bytes(1 << 25), 0, 2, "unpacks to more than 250 times its size", id="bomb"),
    ],
)
def test_another_file_in_an_archive_is_told_by_name(
    run_script: Callable[..., Any],
    original: Path,
    name: str,
    content: bytes | None,
    mode: int,
    status: int,
    message: str,
) -> None:
    def change(held: dict[str, bytes]) -> None:
        held.pop(name, None)
        held.update({} if content is None else {name: content})

    path = rewritten(original, change, {name: mode << 16})
    result = run_script("archive", "--check", str(path))
    assert result.exit_code == status and message in result.stderr
    assert {file.name for file in Path().iterdir()} == {"changed.zip"}


def test_other_files_are_rejected(run_script: Callable[..., Any]) -> None:
    Path("a.txt").write_text("no zip")
    with zipfile.ZipFile("b.zip", "w") as zipped:
        zipped.writestr("a.txt", "x")
    for path, message in [
        ("a.txt", "no zip"),
        ("b.zip", "no SHA256SUMS"),
        ("c.zip", "no such file"),
        (".", "a folder"),
    ]:
        result = run_script("archive", "--check", path)
        assert result.exit_code == 2 and message in result.stderr, path
