"""The documentation: its table is that of the classes, its links lead somewhere, its lines are short."""

import re
import tomllib
from pathlib import Path

import pytest
import write_readme

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    file
    for file in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    # a page that moved is a link to where it is now; what a build of the site made is not of the repository
    if not file.is_symlink() and not {"_build", "_generated"} & set(file.parts)
)


def test_version_that_is_cited() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"{{{version}}}" in (ROOT / "docs" / "cite.md").read_text(encoding="utf-8")


def prose(file: Path) -> list[tuple[int, str]]:
    """Lines with their numbers, without blocks of code."""
    lines, code = [], False
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            code = not code
        elif not code:
            lines.append((number, line))
    return lines


def anchors(file: Path) -> set[str]:
    """The headings of a page as GitHub names them in links."""
    heads = [re.sub(r"[^\w\- ]", "", line.lstrip("# ").lower()) for _, line in prose(file) if line.startswith("#")]
    return {head.replace(" ", "-") for head in heads}


def cells(text: str) -> dict[tuple[str, str], str]:
    """Cells of a table by the heads of row and column."""
    head, _, *rows = [line.strip("| \n").split(" | ") for line in text.strip().splitlines()]
    return {(row[0], name): cell for row in rows for name, cell in zip(head[1:], row[1:], strict=True)}


def test_table_of_samplers_and_models() -> None:
    """Its cells are right. A sampler or model that is new may still lack its row or column."""
    text = write_readme.SAMPLERS.read_text(encoding="utf-8")
    found = cells(text.partition(write_readme.BEGIN)[2].partition(write_readme.END)[0])
    assert found and found.items() <= cells(write_readme.table()).items(), "run python scripts/write_readme.py"


@pytest.mark.parametrize("file", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links(file: Path) -> None:
    text = "\n".join(line for _, line in prose(file))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"https?:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (file.parent / path).resolve() if path else file
        assert there.exists(), f"{file.name}: no {target}"
        if anchor:
            assert anchor in anchors(there), f"{file.name}: no heading {target}"
