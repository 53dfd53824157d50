"""Mathematics as MathML, which browsers show without scripts."""

import re

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

UPRIGHT = re.compile(r'(?:<mi mathvariant="normal">[^<]</mi>){2,}')
"""A word in roman letters, which the converter sets letter by letter."""
REPAIRS = {
    # a tilde by itself is an accent
    r"<mi>&#x0007E;</mi>": "<mo>&#x0223C;</mo>",
    # slashes and bars of absolute values have no space beside them
    r"<mo>&#x000(2F|7C);</mo>": r'<mo stretchy="false" lspace="0em" rspace="0em">&#x000\1;</mo>',
    # names of functions have space on both sides, before a bracket on one
    r"<mi>(exp|log|max|min)</mi>(?=<mo [^>]*>(?:&#x00028;|\())": r'<mo lspace="0.17em" rspace="0em">\1</mo>',
    r"<mi>(exp|log|max|min)</mi>": r'<mo lspace="0.17em" rspace="0.17em">\1</mo>',
    # browsers leave out the attribute, and put space between all columns
    r'columnalign="(left|right)"': r'style="text-align: \1; padding-\1: 0"',
}
"""Repairs of what browsers show otherwise than TeX does: patterns, and what replaces them."""


def mathml(latex: str, display: str) -> str:
    """MathML of a formula, `inline` or as a `block`."""
    text: str = convert(latex.replace("{aligned}", "{split}"), display=display)
    text = UPRIGHT.sub(lambda word: f"<mi>{re.sub('<[^>]*>', '', word[0])}</mi>", text)
    for pattern, better in REPAIRS.items():
        text = re.sub(pattern, better, text)
    return text


def _inline(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def _block(self: HTML5Translator, node: nodes.math_block) -> None:
    text = node.astext()
    # formulas side by side: they stand below each other where the page is narrow
    parts = [text] if r"\begin" in text else [part for part in text.split(r"\qquad") if part.strip()]
    self.body.append(f'<div class="formula">{"".join(mathml(part, "block") for part in parts)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
