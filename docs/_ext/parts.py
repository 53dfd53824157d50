"""Parts that pages of the reproduction share: cells, tables, bars of verdicts, in Markdown with some HTML."""

import os
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from editions.counted import AT_99
from editions.overview import Counts, LatestFigure

from splitmerge_cli.papers.claims import Claim
from splitmerge_cli.papers.verdict_tables import interval, with_unit
from splitmerge_cli.papers.verdicts import AT_EDGE, NOT_REPRODUCED, NOT_TESTABLE, REPRODUCED, UNDECIDED

FOLDER = "reproduction"
PAGES = Path(__file__).resolve().parents[1] / "_generated"
"""Folder of the generated pages."""
CLASSES = {
    REPRODUCED: "yes",
    NOT_REPRODUCED: "no",
    UNDECIDED: "open",
    AT_EDGE: "edge",
    NOT_TESTABLE: "untestable",
}
"""Classes of site.css, by verdict."""
NOT_KEPT = "not kept yet"
WIDE = """---
html_theme.sidebar_secondary.remove: true
---
"""
"""Front matter: the tables of these pages need the width of the list of headings."""
MINUS = "−"
SPREAD = "printed with spread "
"""Begin of statements that are no sentence of a paper, but the spread printed with its number."""
MANY = 12
"""Numbers of a printed table from which on they have a table of their own."""
FEW = 6
"""Claims of a finding up to which their verdicts stand below it."""
SHORT = {REPRODUCED: "yes", NOT_REPRODUCED: "no", UNDECIDED: "open", AT_EDGE: AT_EDGE, NOT_TESTABLE: NOT_TESTABLE}
INSTEAD = "; in its place "
"""Divides the reason why a claim is not testable from what was measured instead."""


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


def cards(
    head: Sequence[str], rows: Iterable[Sequence[str]], classes: str = "", labels: Sequence[str] | None = None
) -> str:
    """A table of Markdown that a phone shows as a block per row, each cell with its label.

    Parameters
    ----------
    head : sequence of str
    rows : iterable of sequence of str
    classes : str
        More classes of site.css.
    labels : sequence of str, optional
        Labels of the cells, empty for none; by default the head of every column but the first. site.css reads them
        from variables, so that the page does not repeat them in every row.
    """
    labels = ["", *head[1:]] if labels is None else labels
    style = "; ".join(f"--label{i}: '{label}: '" for i, label in enumerate(labels, 1) if label)
    shown = table(head, rows, range(len(head)))
    return f'\n<div class="{" ".join(["cards", classes]).strip()}" style="{style}">\n{shown}\n</div>\n'


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
    listed = ", ".join(f"{number} {name}" for name, _, number in shares)
    parts = [f'<span class="{css}" style="flex-grow: {number}"></span>' for _, css, number in shares if number]
    legend = [f'<li><span class="sign {css}"></span>{number} {escape(name)}</li>' for name, css, number in shares]
    return (
        f'\n<div class="verdicts">\n<div class="bar" role="img" aria-label="{counts.claims} claims: {escape(listed)}">'
        f"{''.join(parts)}</div>\n<ul>{''.join(legend)}</ul>\n</div>\n\n"
    )


def claims_table(frame: pd.DataFrame, link: bool = False) -> str:
    """Claims with the numbers that were measured; columns without content are left out.

    Numbers of a printed table are a table of their own (`_grid`). Claims of one sentence and reading stand together,
    and the first of them has both. The file of claims has the reason of each verdict; the table gives it once for each
    data set, where no number was measured. Spreads that a paper prints are in the file alone.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows of ``ID-claims.csv``.
    link : bool
        Begin each claim with a link to the page of its figure, which has sentence and reading.
    """
    frame = frame.assign(
        reading=[", ".join(part for part in (r.reading, r.on) if part) for r in frame.itertuples(index=False)]
    )
    is_spread = frame["statement"].astype(str).str.startswith(SPREAD)
    frame = frame.assign(statement=frame["statement"].mask(is_spread, "").fillna(""))
    is_number = (frame["statement"] == "") & frame["published"].notna() & frame["ours"].notna()
    if not link and is_number.sum() >= MANY:
        return _grid(frame[is_number]) + (claims_table(frame[~is_number]) if not is_number.all() else "")
    frame = frame.iloc[np.lexsort([pd.factorize(frame[key])[0] for key in ("reading", "statement")])]
    shared = frame["reading"].iloc[0] if frame["reading"].nunique() == 1 and not link else ""
    if shared:
        frame["reading"] = ""
    columns: dict[str, list[str]] = {}
    above = ("", "")
    said: set[tuple[str, str]] = set()
    kinds = Counter(r.of for r in frame.itertuples(index=False) if r.n)
    most_often = kinds.most_common(1)[0][0] if kinds and len(frame) > 1 else ""
    for r in frame.itertuples(index=False):
        number = str(r.n) if r.of == most_often else f"{r.n} {r.of}"
        units = number if r.n else "exact" if r.rule in ("exact", "holds") else ""
        cells = {
            "verdict": verdict(r.verdict, r.counted),
            "claim": _claim(r, above, said, link),
            "published": _number(r.published, r.unit),
            "ours": _number(r.ours, r.unit if pd.isna(r.published) else ""),
            "95 % interval": _interval(r),
            "n": units,
        }
        above = (r.statement, r.reading)
        for name, text in cells.items():
            columns.setdefault(name, []).append(text)
    shown = {name: cells for name, cells in columns.items() if any(cells)}
    head = [f"n ({most_often})" if name == "n" and most_often else name for name in shown]
    intro = f"\nRead as: {cell(shared)}.\n" if shared else ""
    return intro + cards(head, zip(*shown.values(), strict=True), "claims", ["", "", *head[2:]])


def _interval(r: Any) -> str:
    """The interval of a claim, with its level if that is not 95 %."""
    text = cell(interval(r.low, r.high)).replace("-", MINUS).replace(", ", ",&nbsp;")
    return f"{text} (99&nbsp;%)" if text and AT_99 in r.reason else text


def _claim(r: Any, above: tuple[str, str], said: set[tuple[str, str]], link: bool) -> str:
    """A claim, with the sentence of the paper and the reading if they differ from the row above.

    ``said`` has the reasons that stand above, with their data.
    """
    where = ", ".join(part for part in (r.data, r.sampler) if part)
    figure = f"[{r.id}]({r.id}.md) " if link else ""
    lines = [figure + cell(f"{where}: {str(r.metric).replace('_', ' ')}" if where else r.metric.replace("_", " "))]
    is_new = r.statement != above[0]
    if r.statement and is_new and not link:
        lines.append(f'<span class="statement">{cell(r.statement)}</span>')
    if not link and ((r.reading != "") if is_new else (r.reading != above[1])):
        lines.append(f'<span class="soft">read as: {cell(r.reading or "it stands")}</span>')
    if r.reason and pd.isna(r.ours) and not link:
        why = r.reason.partition(INSTEAD)[0]
        if (r.data, why) not in said:
            lines.append(f'<span class="soft">{cell(why)}</span>')
        said.add((r.data, why))
    return "<br>".join(lines)


def _grid(frame: pd.DataFrame) -> str:
    """The numbers of a printed table: a cell has ours, the printed one and the verdict."""
    several = frame["metric"].nunique() > 1
    by, across = (["data", "sampler"], "metric") if several else (["data"], "sampler")
    units = {r.metric: r.unit for r in frame.itertuples(index=False)}
    what = ", ".join(f"{name.replace('_', ' ')}{f' in {unit}' if unit else ''}" for name, unit in units.items())
    readings = dict.fromkeys(f"{r.sampler}: {r.reading}" for r in frame.itertuples(index=False) if r.reading)
    if frame["reading"].nunique() == 1:
        readings = dict.fromkeys(frame["reading"].unique())
    read = f" Read as: {cell('; '.join(readings))}." if any(readings) else ""
    columns = list(dict.fromkeys(frame[across]))
    cells = {
        (*(getattr(r, key) for key in by), getattr(r, across)): f"{_number(r.ours, '')} ({_number(r.published, '')}) "
        f'<span class="verdict {CLASSES[r.verdict]}">{SHORT[r.verdict]}</span>'
        for r in frame.itertuples(index=False)
    }
    rows = [
        [*map(cell, key), *(cells.get((*key, column), "") for column in columns)]
        for key in dict.fromkeys(frame[by].itertuples(index=False, name=None))
    ]
    head = [*by, *(column.replace("_", " ") for column in columns)]
    return (
        f"\n{what[:1].upper()}{cell(what[1:])}: ours, the paper's in brackets, and whether it is reproduced. Intervals "
        f"and units are in the file of claims.{read}\n{cards(head, rows, 'numbers')}"
    )


def _number(value: float, unit: str) -> str:
    return "" if pd.isna(value) else cell(with_unit(value, unit)).replace("-", MINUS)


def verdict_table(claims: Sequence[Claim], kept: Mapping[str, pd.DataFrame], above: Container[Claim] = ()) -> str:
    """The counted verdicts on claims that words refer to, but for those above; or that they are not stored yet.

    Of many claims the pages of the figures have the numbers.
    """
    rows = []
    if not (here := [claim for claim in claims if claim not in above]):
        return "\nIts verdicts stand above.\n"
    if len(here) > FEW:
        return f"\n{verdict_counts(here, kept)}.\n"
    for claim in here:
        frame = kept.get(claim.id)
        if frame is None:
            rows.append(missing_row(claim))
            continue
        is_claim = (
            (frame["data"] == claim.data) & (frame["sampler"] == claim.sampler) & (frame["metric"] == claim.metric)
        )
        rows += frame[is_claim & frame["counted"]].to_dict("records")
    return claims_table(pd.DataFrame(rows), link=True)


def verdict_counts(claims: Sequence[Claim], kept: Mapping[str, pd.DataFrame]) -> str:
    """The number of counted verdicts on claims that words refer to, by figure, which has their numbers."""
    counts: dict[str, Counter[str]] = {}
    for claim in claims:
        frame, verdicts = kept.get(claim.id), [NOT_KEPT]
        if frame is not None:
            is_claim = (frame[["data", "sampler", "metric"]] == [claim.data, claim.sampler, claim.metric]).all(axis=1)
            is_claim &= frame["counted"]
            verdicts = frame.loc[is_claim, "verdict"].tolist()
        counts.setdefault(claim.id, Counter()).update(verdicts)
    return "; ".join(
        f"[{name}]({name}.md): " + ", ".join(f"{number} {verdict(word)}" for word, number in by_verdict.items())
        for name, by_verdict in counts.items()
    )


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
