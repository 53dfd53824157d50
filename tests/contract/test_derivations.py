"""The derivations: the code that a section names is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").glob("derivations*.md"))
TERMS = {"B", "allocation", "anchors", "branch", "dropped", "dumb", "orders", "pair", "target", "splitmerge_cli"}
"""Words in code type that are no functions."""


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_code_of_a_section(page: Path) -> None:
    """Each paragraph has files, and functions or classes of the file before them."""
    paragraphs = re.findall(r"^\*Code.*?(?=\n\n|\Z)", page.read_text(encoding="utf-8"), re.M | re.S)
    assert paragraphs
    for paragraph in paragraphs:
        source = ""
        for name in re.findall(r"`([^`]+)`", paragraph):
            if "/" in name:
                file = (
                    name
                    if name.startswith(("scripts/", "tests/"))
                    else f"splitmerge_cli/{name.removeprefix('splitmerge_cli/')}"
                )
                source = (ROOT / file).read_text(encoding="utf-8")
            elif name not in TERMS:
                assert all(re.search(rf"\b{part}\b", source) for part in name.split(".")), f"{file}: no {name}"
