"""The bibliography: all works of docs/articles/references.yaml, by subject."""

from pathlib import Path

import yaml
from articles import entry

PARTS = {
    "papers": "The five papers that are reproduced",
    "samplers": "Samplers",
    "models": "Models and priors",
    "convergence": "Convergence and tests",
    "results": "Estimates, scores and predictions",
    "numerics": "Numerics and random numbers",
    "data": "Data",
}
"""Headings of the values of `part`, in their order."""


def sections(file: Path) -> str:
    """Return the works as Markdown, a section for each part, by author and year."""
    works = yaml.safe_load(file.read_text(encoding="utf-8")).values()
    if unknown := {one["part"] for one in works} - set(PARTS):
        raise ValueError(f"{file}: part {', '.join(sorted(unknown))}: expected one of {', '.join(PARTS)}")
    text = ""
    for part, head in PARTS.items():
        of_part = [one for one in works if one["part"] == part]
        of_part.sort(key=lambda one: (one["name"].removeprefix("van "), one["year"]))
        text += f"\n## {head}\n\n" + "".join(f"- {entry(one)}\n" for one in of_part)
    return text
