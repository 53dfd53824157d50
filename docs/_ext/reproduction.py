"""Pages of reproduced papers, from docs/reproduction and the files of splitmerge_cli.papers, in Markdown."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from splitmerge_cli.papers.declaration import Paper, PaperFigure
from splitmerge_cli.papers.discovery import papers
from splitmerge_cli.papers.experiments import list_figures
from splitmerge_cli.papers.verdicts import VERDICTS

FOLDER = "reproduction"
WORDS = ("data", "sampler", "metric", "reading", "rule", "reason", "statement", "verdict", "scale")
"""Columns of claims that hold words, perhaps none."""
WIDE = """---
html_theme.sidebar_secondary.remove: true
---
"""
"""Front matter: the tables of these pages need the width of the list of headings."""
ABSENT = """Nothing is stored in `docs/reproduction`: `smcmc reproduce all --scale paper` makes the runs, draws the
figures and judges the claims, in `results/figures`.
"""


def cell(value: object) -> str:
    """A cell of a Markdown table; numbers with four digits, nothing for what is missing."""
    if isinstance(value, float):
        return "" if pd.isna(value) else f"{value:.4g}"
    text = str(value)
    for sign in "\\`*_<>|$[]{}":
        text = text.replace(sign, f"\\{sign}")
    return " ".join(text.split())


def table(head: Sequence[str], rows: Iterable[Sequence[object]], raw: int = 0) -> str:
    """A Markdown table whose first `raw` columns are Markdown already."""
    lines = [" | ".join(head), " | ".join(["---"] * len(head))]
    lines += [" | ".join(str(c) if i < raw else cell(c) for i, c in enumerate(row)) for row in rows]
    return "\n" + "".join(f"| {line} |\n" for line in lines) + "\n"


def write(source: Path) -> None:
    """Write the pages into `_generated` beside the sources; files that stay the same are left alone.

    Parameters
    ----------
    source : Path
        The folder docs.
    """
    out, stored = source / "_generated", source / FOLDER
    titles = dict(list_figures())
    pages = {"reproduction": _overview(papers(), stored)}
    for paper in papers():
        pages[paper.key] = _paper(paper, titles, stored)
        for figure in paper.figures:
            pages[figure.id] = _figure(paper, figure, titles[figure.id], stored)
    pages["errata"] = _errata(papers())
    pages["settings"] = _settings(papers())
    out.mkdir(exist_ok=True)
    for name, page in pages.items():
        path, text = out / f"{name}.md", f"{WIDE}\n{page}"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in out.glob("*.md"):
        if path.stem not in pages:
            path.unlink()


def _claims(stored: Path, name: str) -> pd.DataFrame | None:
    path = stored / f"{name}-claims.csv"
    if not path.is_file():
        return None
    frame = pd.read_csv(path, dtype=dict.fromkeys(WORDS, str)).fillna(dict.fromkeys(WORDS, ""))
    return frame.assign(counted=frame["counted"].astype(str) == "True")


def _counts(frames: Iterable[pd.DataFrame | None]) -> list[object]:
    """How many claims have each verdict, - where nothing is stored; readings that are not counted are left out."""
    stored = [frame for frame in frames if frame is not None]
    found = dict.fromkeys(VERDICTS, 0)
    for frame in stored:
        for verdict in frame.loc[frame["counted"], "verdict"]:
            found[verdict] += 1
    return [*found.values()] if stored else ["-"] * len(VERDICTS)


def _toctree(names: Iterable[str]) -> str:
    return "\n```{toctree}\n:hidden:\n\n" + "\n".join(names) + "\n```\n"


def _overview(known: Sequence[Paper], stored: Path) -> str:
    rows = []
    for paper in known:
        counted = _counts(_claims(stored, figure.id) for figure in paper.figures)
        drawn = sum((stored / f"{figure.id}-claims.csv").is_file() for figure in paper.figures)
        rows.append([f"[{paper.name}]({paper.key}.md)", f"{drawn} of {len(paper.figures)}", *counted])
    return (
        "# Reproduction\n\nWhich published claims does this code reproduce?\n\n"
        + ("" if stored.is_dir() else ABSENT)
        + table(["paper", "figures stored", *VERDICTS], rows, raw=1)
        + "Each claim has one verdict, under the reading that was fixed before the runs ([rules](../figures.md)).\n"
        "[Errata](errata.md) lists what is misprinted, [settings](settings.md) what the papers leave out and what was\n"
        "chosen.\n" + _toctree([*(paper.key for paper in known), "errata", "settings"])
    )


def _paper(paper: Paper, titles: dict[str, str], stored: Path) -> str:
    rows = []
    for figure in paper.figures:
        frame = _claims(stored, figure.id)
        scale = "not stored" if frame is None else ", ".join(sorted(set(frame["scale"])))
        rows.append([f"[{cell(titles[figure.id])}]({figure.id}.md)", scale, *_counts([frame])])
    return (
        f"# {paper.name}\n\n{cell(paper.citation)}\n"
        + table(["figure or table", "scale", *VERDICTS], rows, raw=1)
        + f"```\nsmcmc reproduce {paper.key} --scale paper\n```\n"
        + _toctree(figure.id for figure in paper.figures)
    )


def _figure(paper: Paper, figure: PaperFigure, title: str, stored: Path) -> str:
    text = f"# {cell(title)}\n\n"
    picture = stored / f"{figure.id}.png"
    if picture.is_file():
        text += f"![{cell(title)}](../{FOLDER}/{figure.id}.png)\n\n"
    text += f"{cell(figure.caption)}\n\n"
    text += f"```\nsmcmc reproduce {figure.id} --scale paper\n```\n\nOf [{paper.name}]({paper.key}.md).\n"
    files = {
        "picture, PDF": f"{figure.id}.pdf",
        "what is plotted": f"{figure.id}.csv",
        "claims": f"{figure.id}-claims.csv",
    }
    links = [f"[{label}](../{FOLDER}/{name})" for label, name in files.items() if (stored / name).is_file()]
    text += f"\nFiles: {', '.join(links)}.\n" if links else "\nNo result is stored.\n"
    frame = _claims(stored, figure.id)
    if frame is None:
        return text
    counted = frame["counted"]
    text += "\n## Claims\n\n" + _verdicts(frame[counted])
    if not counted.all():
        text += "\n## Other readings\n\nNot counted: they show how much the choice of reading matters.\n"
        text += _verdicts(frame[~counted])
    return text


def _verdicts(frame: pd.DataFrame) -> str:
    rows = []
    for row in frame.to_dict("records"):
        claim = row["statement"] or row["metric"].replace("_", " ")
        where = ", ".join(str(row[key]) for key in ("data", "sampler") if row[key])
        interval = (
            f"{cell(row['ours'])} [{cell(row['low'])}, {cell(row['high'])}]" if pd.notna(row["low"]) else row["ours"]
        )
        rows.append(
            [row["verdict"], claim, where, row["reading"], row["published"], interval, row["rule"], row["reason"]]
        )
    return table(["verdict", "claim", "of", "reading", "published", "here", "rule", "reason"], rows)


def _rows(paper: Paper, name: str) -> list[dict[str, str]]:
    path = paper.folder / name
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def _errata(known: Sequence[Paper]) -> str:
    text = "# Errata\n\nWhat is misprinted in the papers, and what is right.\n"
    for paper in known:
        rows = [[row["where"], row["printed"], row["correct"]] for row in _rows(paper, "errata.csv")]
        text += f"\n## {paper.name}\n" + table(["where", "printed", "correct"], rows)
    return text


def _settings(known: Sequence[Paper]) -> str:
    text = (
        "# Settings that the papers leave out\n\nWhat was chosen where a paper names no start, form or setting, how "
        "each claim is measured and by which\nrule it is judged ([rules](../figures.md)). `*` stands for any name, "
        "an empty cell for all.\n"
    )
    for paper in known:
        rows = []
        for row in _rows(paper, "readings.csv"):
            where = ", ".join(row[key] for key in ("id", "data", "sampler", "metric") if row[key])
            rows.append([where, *(row[key] for key in ("reading", "statistic", "rule", "tolerance", "because"))])
        text += f"\n## {paper.name}\n" + table(["claims", "reading", "statistic", "rule", "tolerance", "because"], rows)
    return text
