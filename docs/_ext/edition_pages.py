"""The page of editions: verdicts by paper of each, which moved, under which rules and when, in Markdown."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pandas as pd
import parts
from editions import overview
from editions.kept import SUPPLEMENTS
from editions.overview import Edition
from parts import cell

from splitmerge_cli.papers.experiments import SHIFT

TITLE = "Editions"
MOVED = "moved-verdicts.csv"
"""File of the verdicts that differ between editions."""
DIGITS = 12
"""Shown of a commit."""


def page(
    editions: Sequence[Edition],
    titles: Mapping[str, str],
    supplements: Sequence[tuple[int, Mapping[str, Any]]] = (),
) -> str:
    """The page.

    Parameters
    ----------
    editions : sequence of Edition
        Two at least, by number.
    titles : mapping of str to str
        Of every figure, by id.
    supplements : sequence of tuple
        Number and index of editions that judge single claims.
    """
    first, *later = editions
    text = (
        f"# {TITLE}\n\nWould other seeds give other verdicts? An edition makes the figures again with seeds that are\n"
        f"larger by {SHIFT:,}, under rules that were committed before its runs.\n"
        "The readings of a later edition were chosen in knowledge of the first.\n"
        + _rules(editions)
        + _by_paper(editions)
    )
    for each in later:
        text += _moved_section(first, each) + _absent_section(first, each, titles)
    for number, index in supplements:
        text += _supplement_section(number, index)
    return text


def _supplement_section(number: int, index: Mapping[str, Any]) -> str:
    """Describe a supplement: its claims, rules and runs, or the file of corrections that it comes from."""
    figures = index["figures"]
    n_claims = sum(len(figure["judged"]) for figure in figures.values())
    commits = sorted({str(rules["commit"] or "edited")[:DIGITS] for rules in index["rules"].values()})
    rows = [
        [f"[{cell(name)}]({name}.md)", len(figure["judged"]), cell(_n_runs(figure))] for name, figure in figures.items()
    ]
    (file,) = index["fixed by"]
    if "corrections" in file:
        words = "verdicts that corrected rules\nor readings change, from the units that were kept"
        text = f"Edition {number} has {n_claims} {words}. They count.\n`docs/{file}` says what was wrong."
        return f"\n## Edition {number}\n\n{text}\n" + parts.table(
            ["figure", "claims"], [row[:2] for row in rows], raw=(0,)
        )
    return (
        f"\n## Edition {number}\n\nEdition {number} judges {n_claims} claims: again, where edition "
        f"{index[SUPPLEMENTS]} left them\nundecided, from more units; and for the first time, where it had no row. "
        "Its verdicts count. "
        f"`docs/{file}` fixed claims, seeds and runs before\nthe runs; rules: commit {', '.join(commits)}.\n"
        + parts.table(["figure", "claims", "runs"], rows, raw=(0, 2))
    )


def _n_runs(figure: Mapping[str, Any]) -> str:
    return str(sum(len(ids) for by_seed in figure["runs"].values() for ids in by_seed.values()))


def _rules(editions: Sequence[Edition]) -> str:
    rows = []
    for each in editions:
        began = "not kept" if each.began is None else cell(format_time(each.began))
        if not each.rules:
            rows.append([str(each.number), "not kept", "not kept", "not kept", began])
        for entry in each.rules:
            commit, committed, digest = (str(entry[key] or "") for key in ("commit", "committed", "digest"))
            commit = f"<code>{cell(commit[:DIGITS])}</code>" if commit else "edited, or no checkout"
            rows.append(
                [
                    str(each.number),
                    f'<code class="digest">{cell(digest)}</code>',
                    commit,
                    cell(format_time(committed)),
                    began,
                ]
            )
    head = [
        "edition",
        "SHA-256 of the rules",
        "commit that changed them last",
        "its time (UTC)",
        "first run began (UTC)",
    ]
    return "\n## Rules\n" + parts.table(head, rows, raw=range(5))


def format_time(time: str) -> str:
    """Return a time in UTC, to the second; a dash for none."""
    return f"{datetime.fromisoformat(time).astimezone(UTC):%Y-%m-%d %H:%M:%S}" if time else "-"


def _by_paper(editions: Sequence[Edition]) -> str:
    head, *rows = overview.editions_table(editions)
    counted = [[*row[:3], *map(int, row[3:])] for row in rows]
    return (
        "\n## Verdicts\n\nOf the figures and tables that all editions have at the same scale;\n"
        "claims that share a number count once.\n" + parts.table(head, counted)
    )


def list_moved(editions: Sequence[Edition]) -> pd.DataFrame:
    """List the verdicts that moved from the first edition, for a file in the page's folder."""
    first, *later = editions
    moved = [overview.list_moved(overview.pair_verdicts(first, each)).assign(edition=each.number) for each in later]
    return pd.concat(moved)


def _moved_section(first: Edition, later: Edition) -> str:
    pairs = overview.pair_verdicts(first, later)
    moved = overview.list_moved(pairs)
    reread = int(moved["reread"].sum())
    text = (
        f"\n## What moved from edition {first.number} to edition {later.number}\n\n"
        f"{len(moved)} of {len(pairs)} verdicts. {len(moved) - reread} of them keep their reading, rule and\n"
        f"tolerance, so other seeds moved them, or another way to the interval. {{download}}`Each of them <{MOVED}>`.\n"
    )
    rows = [
        [parts.verdict(before), parts.verdict(after), len(claims), int(claims["reread"].sum())]
        for (before, after), claims in moved.groupby(["before", "after"], sort=False)
    ]
    head = [f"edition {first.number}", f"edition {later.number}", "claims", "reading changed"]
    return text + (parts.table(head, rows, raw=range(2)) if rows else "")


def _absent_section(first: Edition, later: Edition, titles: Mapping[str, str]) -> str:
    names = overview.list_absent(first, later)
    if not names:
        return f"\nEdition {later.number} has every figure of edition {first.number}.\n"
    listed = "".join(f"- [{cell(titles[name])}]({name}.md) ({cell(name)})\n" for name in names)
    return f"\n## Not made again in edition {later.number}\n\n{listed}"
