"""Formulas of the pages: each becomes MathML that browsers show as it is meant."""

import re
from pathlib import Path

import pytest

pytest.importorskip("latex2mathml", reason="needs pip install -e '.[site]'")
from mathml import mathml

DOCS = Path(__file__).resolve().parents[2] / "docs"
FORMULA = re.compile(r"^ *\$\$\n(.*?)\n *\$\$|(?<![\\$])\$([^$\n]+)\$", re.M | re.S)
PAGES = [file for file in sorted(DOCS.glob("*.md")) + sorted((DOCS / "samplers").glob("*.md")) if not file.is_symlink()]


@pytest.mark.parametrize(
    "file", [file for file in PAGES if "$" in file.read_text(encoding="utf-8")], ids=lambda p: p.stem
)
def test_no_latex_is_left(file: Path) -> None:
    text = re.sub(r"```.*?```|`[^`]*`", "", file.read_text(encoding="utf-8"), flags=re.S)
    for block, inline in FORMULA.findall(text):
        shown = re.sub(r"<[^>]*>", "", mathml(block or inline, "block" if block else "inline"))
        assert not re.search(r"\\|(?<!#)&(?!#|lt;|gt;|amp;)", shown), block or inline


def test_repairs() -> None:
    assert '<mo lspace="0.17em" rspace="0.17em">log</mo><mi>p</mi>' in mathml(r"\log p", "inline")
    assert '<mo lspace="0.17em" rspace="0em">log</mo><mo stretchy="false">' in mathml(r"\log(p)", "inline")
    assert "<mo>&#x0223C;</mo>" in mathml(r"x \sim y", "inline")
    assert "<mi>Beta</mi>" in mathml(r"\mathrm{Beta}(a, b)", "inline")
    assert 'lspace="0em" rspace="0em">&#x0007C;</mo>' in mathml(r"\lvert x \rvert", "inline")
    assert "text-align: right" in mathml(r"\begin{aligned} a &= b \\ &= c \end{aligned}", "block")
