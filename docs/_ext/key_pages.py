"""Reference of all keys, from the schema of a configuration, the options of classes and the files of conf."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

import parts
from word_pages import words

from splitmerge_cli import priors
from splitmerge_cli.config import choice, choices, show
from splitmerge_cli.config.components import file_comments, option_rows
from splitmerge_cli.config.groups import describe, main_values
from splitmerge_cli.config.schema import HELP_OF_SHARED, RUNTIME_KEYS, all_keys

GROUPS = {
    "data": "what is read: a file of yours (`csv`, `edges`, `corpus`), a generated or a published set",
    "model": "the [model](models/index.md) of a cluster; `auto`: the one that fits the columns of a table",
    "sampler": "the [sampler](samplers/index.md); `auto`: the one [for the model](which-sampler.md)",
    "schedule": "what an iteration consists of",
}
"""Groups whose choices are files of ``conf/GROUP``, and what each chooses."""
PAGES = {"model": "models", "sampler": "samplers"}
"""Folders of the pages of choices, by group."""
OF_PRIORS = {option.name for option in priors.OPTIONS}
"""Keys of every mixture, which docs/models/prior.md explains."""
FILES = ("csv", "edges", "corpus")
"""Choices of `data` that read a file of the user's own."""
LAUNCHER = "hydra/launcher"
LIMITS = re.compile(r" from 1e-\d+ to 1e\+\d+| to \d{10,}\b")
"""Limits of a key that no one meets."""
MISSING = "???"
"""Default of a key that needs a value."""


class Row(NamedTuple):
    """A key of the configuration, in words."""

    key: str
    default: str
    expected: str
    meaning: str


@cache
def own_keys() -> list[Row]:
    """The keys that belong to no choice of a group."""
    rows = [Row(key, show(option.default), option.expected_or_null, option.help) for key, option in all_keys()]
    return rows + [Row(key, "null", "a whole number or null", help) for key, help in HELP_OF_SHARED.items()]


@cache
def keys_of(group: str, name: str) -> list[Row]:
    """The keys of a choice."""
    if group == "schedule":
        # all schedules share the meaning of their keys
        comments = {key: comment for one in choices(group) for key, comment in file_comments(group, one).items()}
        values = {key: value for key, value in choice(group, name).items() if key != "name"}
        kinds = {"moves": "a whole number from 1", "mix": "a list of samplers and weights"}
        return [Row(f"{group}.{key}", show(value), kinds[key], comments[key]) for key, value in values.items()]
    return [Row(*row) for row in option_rows(group, name)]


def merged_keys(group: str, names: Iterable[str] | None = None) -> list[tuple[Row, list[str]]]:
    """The keys of a group's choices, or of these, by the alphabet, each with the choices that have it so."""
    names_by_row: dict[Row, list[str]] = {}
    for name in choices(group) if names is None else names:
        for row in keys_of(group, name):
            names_by_row.setdefault(row, []).append(name)
    return sorted(names_by_row.items(), key=lambda item: (item[0].key.lower(), item[1]))


def part() -> str:
    """All keys: groups, those of a run, those of choices, those of sweeps."""
    unidentified = {*RUNTIME_KEYS, *HELP_OF_SHARED}
    run_keys = [row for row in own_keys() if row.key != "experiment"]
    groups = [_group(name) for name in GROUPS]
    figures = ("`experiment=null`", "the settings of a [figure](figures.md)", "`smcmc list figures`")
    groups.append(dict(zip(groups[0], figures, strict=True)))
    text = "\n## Groups\n\n`GROUP=NAME` takes a choice with the defaults of its keys.\n"
    text += cards(groups)
    text += "\n## Keys of a run\n" + table((row, []) for row in run_keys if row.key not in unidentified)
    text += (
        "\n## Keys that change nothing that is computed\n\nThey are no part of the [id of a run]"
        "(run-files.md).\n" + table((row, []) for row in run_keys if row.key in unidentified)
    )
    text += (
        "\n## Keys of models and samplers\n\nThe page of a model or sampler has its keys, and so has "
        "`smcmc model info NAME` or\n`smcmc sampler info NAME`. The keys `model.prior`, `model.concentration` and "
        "others of [priors](models/prior.md) belong\nto every mixture.\n"
    )
    for group, names in (("schedule", choices("schedule")), ("data", FILES)):
        rows = [[f"`{group}={name}`", parts.cell(meaning)] for name, meaning in describe(group) if name in names]
        text += f"\n## Keys of `{group}`\n{parts.table(['choice', 'what it is'], rows, range(2))}"
        text += table(merged_keys(group, names)) if group == "schedule" else _list_keys(merged_keys(group, names))
    text += "\n`smcmc data list` lists the generated and published sets.\n"
    comments = file_comments(LAUNCHER, "dask")
    rows = [[f"`hydra.launcher.{key}`", words(meaning)] for key, meaning in comments.items()]
    text += "\n## Keys of sweeps\n\n[Sweeps on other machines](clusters.md) has the keys of Slurm. Those of "
    return text + "`hydra/launcher=dask`:\n" + parts.table(["key", "meaning"], rows, range(2))


def _list_keys(rows: Iterable[tuple[Row, list[str]]]) -> str:
    """Keys with their defaults and choices, whose meaning another page explains."""
    lines = [[f"`{row.key}`", _default(row.default), ", ".join(f"`{name}`" for name in names)] for row, names in rows]
    return "\n[What is read](files.md) says what each key means, and so does `smcmc data info NAME`.\n" + parts.table(
        ["key", "default", "of"], lines, range(3)
    )


def _group(group: str) -> dict[str, str]:
    default = next(entry[group] for entry in main_values()["defaults"] if isinstance(entry, dict) and group in entry)
    names = f"[all]({PAGES[group]}/index.md)" if group in PAGES else ", ".join(f"`{name}`" for name in choices(group))
    return {"group, default": f"`{group}={default}`", "what it chooses": GROUPS[group], "choices": names}


def link(group: str, name: str, heading: str = "") -> str:
    """A choice, linked where it has a page."""
    return f"[`{name}`]({PAGES[group]}/{name}.md{heading})" if group in PAGES else f"`{name}`"


def _default(default: str) -> str:
    if default == MISSING:
        return "needed"
    return "the key `N`" if default == "${N}" else f"`{default}`"


def _expected(row: Row, explained: bool) -> str:
    """Return what a key takes, without limits that no one meets and, where they are explained, its choices."""
    expected = row.expected
    kinds = expected.removeprefix("one of ").split(", ") if expected.startswith("one of ") else []
    if explained and kinds and all(f"{kind}:" in row.meaning for kind in kinds):
        return "a word"
    shorter = LIMITS.sub("", expected).replace("a name or text", "text")
    return words(re.sub(r"\b\d{5,}\b", lambda match: f"{int(match[0]):,}", shorter))


def table(rows: Iterable[tuple[Row, list[str]]], links: Mapping[str, str] | None = None) -> str:
    """A table of keys, below each the choices that have it, where there are any.

    Parameters
    ----------
    rows : iterable of (Row, list of str)
        Keys, and the names of their choices.
    links : mapping, optional
        Where a key leads to, which has its meaning.
    """
    lines = []
    for row, names in rows:
        key = f"`{row.key}`"
        line = {"key": f"[{key}]({links[row.key]})" if links else key}
        if names:
            group, _, short = row.key.partition(".")
            heading = f"#{short}" if group == "model" and short not in OF_PRIORS else ""
            line["key"] += "<br>of " + ", ".join(link(group, name, heading) for name in names)
        line |= {"default": _default(row.default), "expected": _expected(row, explained=not links)}
        meaning = "" if links else words(row.meaning.replace("``", "`"))
        lines.append(line | {"meaning": meaning})
    return cards(lines)


def cards(lines: list[dict[str, str]]) -> str:
    """A table of lines of Markdown by the head of their column; on a phone each line is a block."""
    head = [name for name in lines[0] if any(line[name] for line in lines)]
    return parts.cards(head, ([line[name] for name in head] for line in lines))
