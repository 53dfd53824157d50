"""Model pages in Markdown: the table of a model's keys, and the samplers that support it, from the code."""

import parts
from key_pages import default_cell, expected_cell
from word_pages import words

from splitmerge_cli import priors
from splitmerge_cli.config import choices, component
from splitmerge_cli.config.info import option_rows, title
from splitmerge_cli.runs.support import example, support

KEYS = "## Hyper-parameters\n"
"""Heading below which the table of keys stands."""
SHARED = {option.name for option in priors.OPTIONS}
"""Keys of every mixture, which one page explains."""


def overview() -> str:
    """The table of all models."""
    rows = [
        [f"[`{name}`]({name}.md)", parts.cell(title("model", name)), f"`{component('model', name).kind.name}`"]
        for name in choices("model")
    ]
    return parts.table(["model", "what it is", "data"], rows, range(3))


def complete(text: str, name: str) -> str:
    """The text of a model's page with its keys and the samplers that support it."""
    if name not in choices("model"):
        return text
    before, heading, after = text.partition(KEYS)
    return f"{before}{heading}{_keys(name)}{after}{_samplers(name)}"


def _keys(name: str) -> str:
    rows = []
    for row in option_rows("model", name):
        key = row.key.partition(".")[2]
        page = "prior.md" if key in SHARED else ""
        rows.append(
            [f"[`{row.key}`]({page}#{key})", default_cell(row.default), expected_cell(row.expected), words(row.help)]
        )
    return parts.table(["key", "default", "expected", "meaning"], rows, range(4))


def _samplers(name: str) -> str:
    model = example(name)
    found = {sampler: support(sampler, model) for sampler in choices("sampler")}
    linked = ", ".join(f"[`{one}`](../samplers/{one}.md)" for one, (able, _) in found.items() if able)
    rows = [[f"`{one}`", words(reason)] for one, (able, reason) in found.items() if not able]
    text = f"\n## Samplers\n\nWith its default options {linked}.\n"
    return text + (parts.table(["not with", "because"], rows, range(2)) if rows else "")
