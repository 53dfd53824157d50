"""Parts that pages of the reproduction share: cells, tables, bars of verdicts, in Markdown with some HTML."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from splitmerge_cli.papers.claims import Claim
from splitmerge_cli.papers.overview import Counts, LatestFigure
from splitmerge_cli.papers.verdict_tables import interval, with_unit
from splitmerge_cli.papers.verdicts import NOT_REPRODUCED, NOT_TESTABLE, REPRODUCED, UNDECIDED

FOLDER = "reproduction"
PAGES = Path(__file__).resolve().parents[1] / "_generated"
"""Folder of the generated pages."""
CLASSES = {REPRODUCED: "yes", NOT_REPRODUCED: "no", UNDECIDED: "open", NOT_TESTABLE: "untestable"}
"""Classes of site.css, by verdict."""
NOT_KEPT = "not kept yet"
WIDE = """---
html_theme.sidebar_secondary.remove: true
---
"""
"""Front matter: the tables of these pages need the width of the list of headings."""
MINUS = "−"
DIFFERENCE = re.compile(r"^ours - published = [^;]*; ")
"""Beginning of a reason that repeats two columns of the table."""


def place_of(figure: LatestFigure) -> str:
    """The folder of a kept figure within docs."""
    return FOLDER if figure.edition == 1 else f"{FOLDER}/{figure.folder.name}"


def cell(value: object) -> str:
    """A cell of a Markdown table; numbers with four digits, nothing for what is missing."""
    if isinstance(value, float):
        return "" if pd.isna(value) else f"{value:.4g}".replace("-", MINUS)
    return " ".join(escape_text(str(value)).split())


def escape_text(text: str) -> str:
    """Text of which nothing is read as Markdown."""
    for sign in "\\`*_<>|$[]{}":
        text = text.replace(sign, f"\\{sign}")
    return text


def table(head: Sequence[str], rows: Iterable[Sequence[object]], raw: Iterable[int] = ()) -> str:
    """A Markdown table; the columns `raw` are Markdown already. Counts, or - for none, are set to the right."""
    rows, as_they_are = [list(row) for row in rows], set(raw)
    numbers = [bool(rows) and all(isinstance(row[i], int) or row[i] == "-" for row in rows) for i in range(len(head))]
    lines = [" | ".join(head), " | ".join("--:" if number else "---" for number in numbers)]
    lines += [" | ".join(str(c) if i in as_they_are else cell(c) for i, c in enumerate(row)) for row in rows]
    return "\n" + "".join(f"| {line} |\n" for line in lines) + "\n"


def label_cell(name: str, text: str) -> str:
    """A cell with the name of its column, which a phone shows: there a row is a block."""
    return f'<span class="label">{name}</span> {text}' if text else ""


def download(file: Path, name: str) -> str:
    """Link to a copied file of the repository, from a generated page."""
    return f"{{download}}`{name} <{os.path.relpath(file, PAGES)}>`"


def code(text: str, language: str = "sh") -> str:
    """A block of code."""
    return f"\n```{language}\n{text}\n```\n"


def toctree(names: Iterable[str]) -> str:
    """The pages below a page."""
    return "\n```{toctree}\n:hidden:\n\n" + "\n".join(names) + "\n```\n"


def verdict(name: str, counted: bool = True) -> str:
    """A verdict, coloured; one that is not counted in brackets."""
    if not counted:
        return f'<span class="verdict">({name})</span>'
    return f'<span class="verdict {CLASSES.get(name, "absent")}">{name}</span>'


def bar(counts: Counts) -> str:
    """The verdicts as a stacked bar with a legend: no script, and no colour without its word and number."""
    shares = [(name, CLASSES[name], number) for name, number in counts.verdicts.items()]
    if counts.n_absent:
        shares.append((NOT_KEPT, "absent", counts.n_absent))
    said = ", ".join(f"{number} {name}" for name, _, number in shares)
    parts = [f'<span class="{css}" style="flex-grow: {number}"></span>' for _, css, number in shares if number]
    legend = [f'<li><span class="sign {css}"></span>{number} {escape(name)}</li>' for name, css, number in shares]
    return (
        f'\n<div class="verdicts">\n<div class="bar" role="img" aria-label="{counts.claims} claims: {escape(said)}">'
        f"{''.join(parts)}</div>\n<ul>{''.join(legend)}</ul>\n</div>\n\n"
    )


def claims_table(frame: pd.DataFrame, link: bool = False) -> str:
    """Claims beside what was measured, the reason below each claim; columns without content are left out.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows of ``ID-claims.csv``.
    link : bool
        Begin each claim with a link to the page of its figure, where the reason is.
    """
    readings = [", ".join(part for part in (r.reading, r.on) if part) for r in frame.itertuples(index=False)]
    shared = readings[0] if len(set(readings)) == 1 and not link else ""
    columns: dict[str, list[str]] = {}
    for r, reading in zip(frame.itertuples(index=False), readings, strict=True):
        units = f"{r.n} {r.of}" if r.n else "exact" if r.rule in ("exact", "holds") else ""
        cells = {
            "verdict": verdict(r.verdict, r.counted),
            "claim": _claim(r, "" if reading == shared else reading, link),
            "published": _number(r.published, r.unit),
            "ours": _number(r.ours, r.unit),
            "95 % interval": cell(interval(r.low, r.high)).replace("-", MINUS).replace(", ", ",&nbsp;"),
            "n": units,
        }
        for i, (name, text) in enumerate(cells.items()):
            columns.setdefault(name, []).append(label_cell(name, text) if i > 1 else text)
    shown = {name: cells for name, cells in columns.items() if any(cells)}
    said = f"\nRead as: {cell(shared)}.\n" if shared else ""
    rows = zip(*shown.values(), strict=True)
    return f'{said}\n<div class="cards claims">\n{table(list(shown), rows, range(len(shown)))}\n</div>\n'


def readings_table(frame: pd.DataFrame) -> str:
    """Claims with their verdicts under other readings, a row for each; numbers and reasons are in ``ID-claims.csv``.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows of ``ID-claims.csv`` that are not counted.
    """
    rows = []
    for (data, sampler, metric), claim in frame.groupby(["data", "sampler", "metric"], sort=False):
        where = ", ".join(part for part in (data, sampler) if part)
        readings = [
            f"{cell(', '.join(part for part in (r.reading, r.on) if part))}: {verdict(r.verdict, counted=False)}"
            for r in claim.itertuples(index=False)
        ]
        rows.append([cell(f"{where}: {metric}" if where else metric).replace("\\_", " "), "<br>".join(readings)])
    return f'\n<div class="cards claims">\n{table(["claim", "read as"], rows, range(2))}\n</div>\n'


def _claim(r: Any, reading: str, link: bool) -> str:
    """Return a claim's statement, the words of the paper, the reading, and the reason of the verdict."""
    where = ", ".join(part for part in (r.data, r.sampler) if part)
    figure = f"[{r.id}]({r.id}.md) " if link else ""
    lines = [figure + cell(f"{where}: {str(r.metric).replace('_', ' ')}" if where else r.metric.replace("_", " "))]
    if r.statement:
        lines.append(f'<span class="statement">{cell(r.statement)}</span>')
    if reading:
        lines.append(f'<span class="soft">read as: {cell(reading)}</span>')
    if r.reason and not link:
        lines.append(f'<span class="soft">{cell(DIFFERENCE.sub("", str(r.reason)))}</span>')
    return "<br>".join(lines)


def _number(value: float, unit: str) -> str:
    return "" if pd.isna(value) else cell(with_unit(value, unit)).replace("-", MINUS)


def verdict_table(claims: Sequence[Claim], kept: Mapping[str, pd.DataFrame]) -> str:
    """The counted verdicts on claims that words refer to; or that they are not stored yet."""
    rows = []
    for claim in claims:
        frame = kept.get(claim.id)
        if frame is None:
            rows.append(missing_row(claim))
            continue
        own = (frame["data"] == claim.data) & (frame["sampler"] == claim.sampler) & (frame["metric"] == claim.metric)
        rows += frame[own & frame["counted"]].to_dict("records")
    return claims_table(pd.DataFrame(rows), link=True)


def missing_row(claim: Claim) -> dict[str, object]:
    """The row of a claim whose figure is not kept."""
    none = float("nan")
    row = {"id": claim.id, "data": claim.data, "sampler": claim.sampler, "metric": claim.metric, "unit": claim.unit}
    row |= {"statement": claim.statement, "reading": claim.reading, "rule": "", "verdict": NOT_KEPT, "of": ""}
    return row | {
        "published": claim.value,
        "ours": none,
        "low": none,
        "high": none,
        "n": 0,
        "counted": True,
        "on": "",
        "reason": "",
    }
