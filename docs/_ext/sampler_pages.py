"""Sampler pages in Markdown, from the code and the stored verification."""

import csv
import re
from functools import cache
from itertools import groupby
from pathlib import Path

import key_pages

from splitmerge_cli.config import choice, choices, locate
from splitmerge_cli.config.components import option_rows, title
from splitmerge_cli.core.model import Model
from splitmerge_cli.kinds.tables.rows import example, support

MODE = "sampler.mode"
"""The option of all samplers, which docs/samplers/index.md explains."""
NO_MODEL = "none: `smcmc verify sampler={}` gives the reasons"


def cell(text: object) -> str:
    """A cell of a Markdown table."""
    return str(text).replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;").replace("\n", " ")


def table(head: list[str], rows: list[list[object]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(cell(c) if i != 1 else c for c in row) + " |\n" for i, row in enumerate(lines))


@cache
def _models() -> dict[str, Model]:
    return {name: example(name) for name in choices("model")}


def overview() -> str:
    """The table of all samplers."""
    rows: list[list[object]] = [[f"[{name}]({name}.md)", title("sampler", name)] for name in choices("sampler")]
    return "\n" + table(["sampler", "what it is"], rows)


def part(source: Path, name: str) -> str:
    """Moves, models, options and verification of a sampler."""
    target = locate(choice("sampler", name)["_target_"])
    supported = [f"`{model}`" for model, built in _models().items() if support(name, built)[0]]
    moves = ", ".join(f"`{move}`" for move in target.MOVES)
    text = f"""

## Models, moves, options

Moves in `moves.parquet`: {moves}.

Models: {", ".join(supported) or NO_MODEL.format(name)}.

"""
    rows = [
        [f"`{row.key}={row.default}`", _expected(row.expected, row.help), row.help]
        for row in option_rows("sampler", name)
        if row.key != MODE
    ]
    text += table(["option, default", "expected", "meaning"], rows) if rows else ""
    return text + _verification(source, name)


def _expected(expected: str, meaning: str) -> str:
    """Return what an option takes, without limits that no one meets and without choices that its meaning names."""
    choices = expected.removeprefix("one of ").split(", ") if expected.startswith("one of ") else []
    named = choices and all(re.search(rf"\b{choice}\b", meaning) for choice in choices)
    return "a word" if named else key_pages.LIMITS.sub("", expected)


def _verification(source: Path, name: str) -> str:
    """The stored verification of a sampler, a line for each mode and verdict."""
    with (source / "samplers" / "verification.csv").open(newline="", encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream) if row["sampler"] == name]
    text = ""
    for (mode, verdict), group in groupby(
        sorted(rows, key=lambda row: (row["mode"] != "exact", row["mode"], row["verdict"])),
        key=lambda row: (row["mode"], row["verdict"]),
    ):
        members = list(group)
        enumerated = [row for row in members if _is_number(row["defect"])]
        mutants = [row["mutants"].split("/") for row in members if "/" in row["mutants"]]
        text += (
            f"- `{mode}`: {verdict} on {len({row['model'] for row in members})} models; "
            f"|πP − π| ≤ {_largest(enumerated, 'defect')}, total variation {_largest(enumerated, 'tv')} "
            f"({len(enumerated)} of {len(members)} cases)"
        )
        if mutants:
            text += f"; {sum(int(a) for a, _ in mutants)} of {sum(int(b) for _, b in mutants)} mutants found"
        text += "\n"
    return f"""
## Verification

`smcmc verify sampler={name} iterations=20000` ([meaning](index.md#verification), [every case](verification.csv)):

{text}"""


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _largest(rows: list[dict[str, str]], column: str) -> str:
    cells = [row[column] for row in rows if row[column]]
    numbers = [text for text in cells if _is_number(text)]
    return max(numbers, key=float).replace("-", "\N{NON-BREAKING HYPHEN}") if numbers else (cells[0] if cells else "-")
