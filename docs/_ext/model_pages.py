"""Model pages in Markdown: the table of a model's keys, from the code."""

import key_pages
import parts

from splitmerge_cli.config import choices, component
from splitmerge_cli.config.components import option_rows, title

KEYS = "## Hyper-parameters\n"
"""Heading below which the table of keys stands."""


def overview() -> str:
    """The table of all models."""
    rows = [
        [f"[`{name}`]({name}.md)", parts.cell(title("model", name)), f"`{component('model', name).kind.name}`"]
        for name in choices("model")
    ]
    return parts.table(["model", "what it is", "data"], rows, range(3))


def complete(text: str, name: str) -> str:
    """The text of a model's page with its keys."""
    if name not in choices("model"):
        return text
    before, heading, after = text.partition(KEYS)
    return f"{before}{heading}{_keys(name)}{after}"


def _keys(name: str) -> str:
    rows = option_rows("model", name)
    keys = {row.key: row.key.partition(".")[2] for row in rows}
    links = {whole: f"{'prior.md' if key in key_pages.OF_PRIORS else ''}#{key}" for whole, key in keys.items()}
    return key_pages.table(((key_pages.Row(*row), []) for row in rows), links)
