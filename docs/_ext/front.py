"""What every page has besides its text: a description for search engines, and numbers that do not wrap in tables."""

import re
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

LENGTH = 200
"""Characters of a description, at most."""
NUMBER = re.compile(r"[−-]?\d[\d,. ]*%?( ?± ?[\d.]+)?( ?\[.*\]| ?\(.*\))?( (s|ms|µs|ns|min|MB|GB))?")


def description(page: nodes.document) -> str:
    """The first paragraphs of a page, as text, cut between words."""
    text = ""
    for paragraph in page.findall(nodes.paragraph):
        if isinstance(paragraph.parent, nodes.section):
            text = f"{text} {' '.join(paragraph.astext().split())}".strip()
            if len(text) >= LENGTH / 2:
                break
    return text if len(text) <= LENGTH else text[: LENGTH - 3].rsplit(" ", 1)[0].rstrip(".,:;") + " ..."


def _describe(app: Sphinx, name: str, template: str, context: dict[str, Any], page: nodes.document | None) -> None:
    if page is not None and (text := description(page)):
        context["metatags"] += f'<meta name="description" content="{escape(text)}">'


def _mark_numbers(app: Sphinx, page: nodes.document) -> None:
    for entry in page.findall(nodes.entry):
        if NUMBER.fullmatch(entry.astext().strip()):
            entry["classes"].append("number")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register both."""
    app.connect("html-page-context", _describe)
    app.connect("doctree-read", _mark_numbers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
