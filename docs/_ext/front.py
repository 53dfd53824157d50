"""A description of every page for search engines, and tables whose numbers do not wrap, and sources that there are."""

import re
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

DEFAULT = "smcmc: clustering with an unknown number of clusters by split-merge Markov chain Monte Carlo."
"""Description of a page without a paragraph."""
LENGTH = 200
"""Characters of a description, at most."""
WIDE = 10
"""Columns from which on the heads of a table stand upright."""
NUMBER = re.compile(r"[−-]?\d[\d,.]*%?( ?± ?[\d.]+)?( ?\[.*\]| ?\([^)]{1,12}\))?( (s|ms|µs|ns|min|MB|GB))?")
"""Cells that do not wrap: a number with its error or interval; several numbers, and a number with words, may wrap."""


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
    text = (description(page) if page is not None else "") or DEFAULT
    context["metatags"] = f'{context.get("metatags", "")}<meta name="description" content="{escape(text)}">'


def _mark_tables(app: Sphinx, page: nodes.document) -> None:
    for group in page.findall(nodes.tgroup):
        if group["cols"] >= WIDE:
            group.parent["classes"].append("upright")
    for entry in page.findall(nodes.entry):
        if NUMBER.fullmatch(entry.astext().strip()):
            entry["classes"].append("number")


def _forget_compiled(app: Sphinx, env: BuildEnvironment) -> None:
    """Leave modules without a Python source out of the list of sources, whose links would lead nowhere."""
    sources = getattr(env, "_viewcode_modules", {})
    for name in [name for name, source in sources.items() if not source]:
        del sources[name]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register all."""
    app.connect("html-page-context", _describe)
    app.connect("doctree-read", _mark_tables)
    app.connect("env-check-consistency", _forget_compiled)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
