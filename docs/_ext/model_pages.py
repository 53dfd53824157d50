"""Model pages in Markdown: the table of a model's keys, and the samplers that support it, from the code."""

from dataclasses import astuple

import key_pages
import parts
from word_pages import words

from splitmerge_cli.config import choices, component
from splitmerge_cli.config.info import option_rows, title
from splitmerge_cli.core.model import Model
from splitmerge_cli.runs.support import example, support

FORM = "model.conjugate"
"""Key of a model that has an uncollapsed form."""
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
    """The text of a model's page with its keys and the samplers that support it."""
    if name not in choices("model"):
        return text
    before, heading, after = text.partition(KEYS)
    return f"{before}{heading}{_keys(name)}{after}{_samplers(name)}"


def _keys(name: str) -> str:
    rows = option_rows("model", name)
    keys = {row.key: row.key.partition(".")[2] for row in rows}
    links = {whole: f"{'prior.md' if key in key_pages.OF_PRIORS else ''}#{key}" for whole, key in keys.items()}
    return key_pages.table(((key_pages.Row(*astuple(row)), []) for row in rows), links)


def _list_samplers(model: Model) -> str:
    able = [name for name in choices("sampler") if support(name, model)[0]]
    return ", ".join(f"[`{name}`](../samplers/{name}.md)" for name in able)


def _samplers(name: str) -> str:
    found = {sampler: support(sampler, example(name)) for sampler in choices("sampler")}
    rows = [[f"`{one}`", words(reason)] for one, (able, reason) in found.items() if not able]
    text = f"\n## Samplers\n\nWith its default options {_list_samplers(example(name))}.\n"
    if f"{FORM}=true" in (f"{row.key}={row.default}" for row in option_rows("model", name)):
        text += f"\nWith `{FORM}=false` {_list_samplers(example(name, conjugate=False))}.\n"
    return text + (parts.table(["not with", "because"], rows, range(2)) if rows else "")
