"""Pages of words: findings, doubtful claims, errata, and settings that the papers leave out."""

import re
from collections.abc import Mapping, Sequence

import pandas as pd
import parts
import sensitivity
from findings import claims_of, findings
from parts import cell

from splitmerge_cli.papers import claims as tables
from splitmerge_cli.papers.claims import Claim
from splitmerge_cli.papers.declaration import Paper

ERRATA = {"printed": "Printed", "correct": "Correct", "why": "Why", "effect": "Effect"}
"""Columns of ``errata.csv`` that are shown, and their labels."""
MISPRINT = "none: a misprint in the text"
"""Effect in ``errata.csv`` of an error that changes nothing; the page leaves it out."""
NONE = "none"
"""Text in ``errata.csv`` where no command shows an error."""
SPAN = re.compile(r"(`[^`]+`)")


def words(text: str) -> str:
    """A cell in which keys between backticks stay code."""
    return "".join(
        part if SPAN.fullmatch(part) else parts.escape_text(part) for part in SPAN.split(" ".join(text.split()))
    )


def list_findings(paper: Paper, kept: Mapping[str, pd.DataFrame] | None = None) -> str:
    """The titles of a paper's findings, numbered; where `kept` is given, with text and the verdicts they rest on."""
    text, shown = "", list[Claim]()
    for number, finding in enumerate(findings(paper).findings, 1):
        if kept is None:
            text += f"{number}. {finding.title}\n"
        else:
            claims = claims_of(finding.claims)
            verdicts = parts.verdict_table(claims, kept, shown)
            shown += claims
            text += f"\n### {number}. {finding.title.rstrip('.')}\n\n{finding.text}\n{verdicts}"
    return text


def doubtful(known: Sequence[Paper], kept: Mapping[str, pd.DataFrame]) -> str:
    """The page of doubtful claims."""
    text = (
        "# Doubtful claims\n\nWhich claims of the papers could we not obtain from the algorithms as "
        "published, or\nnot as they stand? Each is followed by the verdicts on what it rests on and by the command "
        "that makes\nthe runs.\n"
    )
    for paper in known:
        claims = findings(paper).doubtful
        if not claims:
            continue
        text += f"\n## {paper.name}\n"
        for claim in claims:
            text += f"\n### {claim.title.rstrip('.')}\n\n{claim.text}\n"
            text += parts.verdict_table(claims_of(claim.claims), kept) + parts.code(claim.command)
    return text


def errata(known: Sequence[Paper]) -> str:
    """The page of errata."""
    text = (
        "# Errata\n\nWhat is misprinted or wrong in the papers, and what is right? Where it matters for a sampler, the "
        "exact\nform is the default and the printed one is an option (`sampler.mode=as_printed`). A command shows the "
        "error.\nAn error without a size is a misprint in the text.\n"
    )
    for paper in known:
        text += f"\n## {paper.name}\n"
        for number, row in enumerate(tables.errata(paper).to_dict("records"), 1):
            text += f"\n### {number}. {cell(row['where'])}\n\n"
            shown = {column: label for column, label in ERRATA.items() if row[column] != MISPRINT}
            text += "".join(f"- **{label}**: {words(row[column])}\n" for column, label in shown.items())
            if row["command"] != NONE:
                text += parts.code(row["command"])
    return text


def settings(known: Sequence[Paper], measured: sensitivity.Settings | None = None) -> str:
    """Write the page on settings that the papers leave out and on the readings of their claims; `measured`: how
    verdicts depend on the settings."""
    measured = measured or {}
    text = (
        "# Settings that the papers leave out\n\nWhat was chosen where a paper names no start, form or setting, and "
        "how is each claim read?\n\n"
        "The column *sensitivity* counts the verdicts that move under other values, in runs that are often smaller\n"
        "than the kept ones ([how](../figures.md#how-much-a-setting-decides)). What moves to or from undecided may\n"
        "do so by chance. [Every such verdict](../reproduction-sensitivity.csv) is in a file.\n"
    )
    for paper in known:
        text += f"\n## {paper.name}\n"
        text += f"\n### {paper.name}: settings\n"
        rows = tables.settings(paper).to_numpy().tolist()
        lines = [[*row[:-1], sensitivity.summarise(row[-1], measured.get((paper.key, row[0])))] for row in rows]
        text += _table(["setting", "in the paper", "chosen", "why", "sensitivity"], lines)
        text += (
            f"\n### {paper.name}: readings of the claims\n\nHow each claim is measured and judged, and why: "
            f"{parts.download(paper.folder / 'readings.csv', 'readings.csv')}. `*` stands for any name. The first\n"
            "row that fits a claim is the claim's own. [Figures](../figures.md#how-a-claim-is-judged) has the rules.\n"
        )
    return text


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    return parts.cards(head, ([cell(first), *map(words, rest)] for first, *rest in lines), "words")
