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

COLUMNS = ("where", "printed", "correct", "effect")
"""Columns of ``errata.csv`` that are shown."""
MISPRINT = "none: a misprint in the text"
"""Effect in ``errata.csv`` of an error that changes nothing; the page lists these last, in one line each."""
MOVED = re.compile(r"of (\d+) verdicts move under (\d+) other values?")
"""Words for a number of verdicts in the articles, which the page explains once."""
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
        "published, or\nnot as they stand? The verdicts that each rests on, with their numbers, are on the pages of "
        "the\nfigures; the command makes the runs.\n"
    )
    for paper in known:
        claims = findings(paper).doubtful
        if not claims:
            continue
        text += f"\n## {paper.name}\n"
        for claim in claims:
            text += f"\n### {claim.title.rstrip('.')}\n\n{claim.text}\n"
            text += f"\n{parts.verdict_counts(claims_of(claim.claims), kept)}.\n{parts.code(claim.command)}"
    return text


def errata(known: Sequence[Paper]) -> str:
    """The page of errata."""
    text = (
        "# Errata\n\nWhat is misprinted or wrong in the papers, and what is right? Where it matters for a sampler, the "
        "exact\nform is the default and the printed one is an option (`sampler.mode=as_printed`). `errata.csv` of a "
        "paper says\nwhy, and has the command that shows each error.\n"
    )
    for paper in known:
        rows = tables.errata(paper).to_dict("records")
        text += f"\n## {paper.name}\n\nFile: {parts.download(paper.folder / 'errata.csv', 'errata.csv')}.\n"
        wrong, misprints = ([row for row in rows if (row["effect"] == MISPRINT) == is_one] for is_one in (False, True))
        text += _table(["where", "printed", "correct", "effect"], [[row[key] for key in COLUMNS] for row in wrong])
        if misprints:
            text += "\nMisprints in the text, without effect:\n"
            text += _table(["where", "printed", "correct"], [[row[key] for key in COLUMNS[:3]] for row in misprints])
    return text


def settings(known: Sequence[Paper], measured: sensitivity.Settings | None = None) -> str:
    """Write the page on settings that the papers leave out and on the readings of their claims; `measured`: how
    verdicts depend on the settings."""
    measured = measured or {}
    text = (
        "# Settings that the papers leave out\n\nWhat was chosen where a paper names no start, form or setting, and "
        "how is each claim read?\n\n"
        "The column *sensitivity* counts the verdicts that move under other values, in runs that are often smaller\n"
        "than the kept ones ([how](../figures.md#how-much-a-setting-decides)): *2 to 3 of 52 (4)* under four other\n"
        "values, two or three by the value. What moves to or from undecided may do so by chance. [Every such\n"
        "verdict](../reproduction-sensitivity.csv) is in a file. `settings.csv` of a paper says why each value was\n"
        "chosen. `readings.csv` says how each claim is measured and judged, by the\n"
        "[rules](../figures.md#how-a-claim-is-judged), and why: `*` stands for any name, and the first row that\n"
        "fits a claim is the claim's own.\n"
    )
    for paper in known:
        files = (parts.download(paper.folder / name, name) for name in ("settings.csv", "readings.csv"))
        text += f"\n## {paper.name}\n\nFiles: {', '.join(files)}.\n"
        rows = tables.settings(paper).itertuples(index=False)
        lines = [
            [r.setting, r.paper, r.chosen, sensitivity.summarise(r.sensitivity, measured.get((paper.key, r.setting)))]
            for r in rows
        ]
        lines = [[*line[:3], MOVED.sub(r"of \1 (\2)", line[3])] for line in lines]
        text += _table(["setting", "in the paper", "chosen", "sensitivity"], lines)
    return text


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    return parts.cards(head, ([cell(first), *map(words, rest)] for first, *rest in lines), "words")
