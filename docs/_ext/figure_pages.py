"""The page of a figure or table: picture, claims beside what was measured, and where both come from."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import parts
import table_pages
from parts import cell

from splitmerge_cli.papers.claims import Claim, published_claims
from splitmerge_cli.papers.declaration import FigureSet, Paper, PaperFigure
from splitmerge_cli.papers.overview import LatestFigure

DIGITS = 12
"""Digits of a commit."""
CLAIM = ["data", "sampler", "metric"]
"""Columns that name a claim of a figure."""


def page(
    owner: FigureSet, figure: PaperFigure, title: str, source: Path, kept: LatestFigure | None, claims: Any
) -> str:
    """The page.

    Parameters
    ----------
    of : FigureSet
        The paper or comparison.
    figure : PaperFigure
    title : str
    source : Path
        The folder docs.
    kept : LatestFigure or None
        None where it is not kept.
    claims : pandas.DataFrame or None
        Its kept claims.
    """
    above = owner.citation.partition(":")[0] if isinstance(owner, Paper) else "All comparisons"
    head = f"# {cell(title)}\n\n[{cell(above)}]({owner.key}.md).\n\n"
    if kept is None or claims is None:
        return head + _missing_figure(figure) + _configuration(owner, figure, source)
    figure_entry = kept.entry
    return (
        head
        + _picture(figure, title, kept)
        + _numbers(figure, kept)
        + (_claims(claims) if len(claims) else "")
        + _command_section(figure_entry)
        + _configuration(owner, figure, source)
        + _origin(kept)
    )


def _missing_figure(figure: PaperFigure) -> str:
    claims = published_claims(figure.id)
    return (
        f"{cell(figure.caption)}\n\n```{{note}}\nThis figure is not kept in `docs/reproduction` yet. These commands "
        "make its runs, draw it, judge its\nclaims and keep it:\n```\n"
        + parts.code(f"smcmc reproduce {figure.id} --scale paper\nsmcmc keep {figure.id} --scale paper")
        + (_claims_section(claims) if claims else "")
    )


def _claims_section(claims: Sequence[Claim]) -> str:
    return "\n## What the paper claims\n" + parts.claims_table(pd.DataFrame(map(parts.missing_row, claims)))


def _picture(figure: PaperFigure, title: str, kept: LatestFigure) -> str:
    figure_entry, folder = kept.entry, parts.place_of(kept)
    alternative = cell(figure.shows or title)
    # a picture with a width is a link to itself in full size
    text = (
        f"```{{image}} ../{folder}/{figure.id}.png\n:alt: {alternative}\n:width: 100%\n```\n\n{cell(figure.caption)}\n"
    )
    if figure_entry.get("notes"):
        text += "".join(f"\n{cell(paragraph)}\n" for paragraph in figure_entry["notes"].split("\n\n"))
    words = {
        ".png": "picture",
        "-claims.csv": "claims with reasons",
        "-units.csv": "values by unit",
        "-units.csv.gz": "values by unit, packed",
        ".csv": "numbers",
        ".csv.gz": "numbers, packed",
    }
    links = []
    files = dict.fromkeys(figure_entry["files"], folder)
    if kept.claims_folder != kept.folder:
        # a supplement has claims and units alone
        again = sorted(file.name for file in kept.claims_folder.glob(f"{figure.id}-*"))
        files = {name: folder for name in files if not name.startswith(f"{figure.id}-")}
        files |= dict.fromkeys(again, f"{parts.FOLDER}/{kept.claims_folder.name}")
    for name, place in files.items():
        label = next((label for ending, label in words.items() if name.endswith(ending)), name)
        links.append(f"[{label}](../{place}/{name})")
    rows = figure_entry["rows"]
    thinned = "" if rows["kept"] == rows["plotted"] else f" {rows['kept']:,} of {rows['plotted']:,} plotted rows."
    return f"{text}\nDownload: {', '.join(links)}.{thinned}\n"


def _numbers(figure: PaperFigure, kept: LatestFigure) -> str:
    """A table's numbers as a table, beside its picture."""
    if figure.id not in table_pages.TABLES:
        return ""
    (name,) = (name for name in kept.entry["files"] if name.startswith(f"{figure.id}.csv"))
    return table_pages.section(figure.id, pd.read_csv(kept.folder / name))


def _claims(claims: pd.DataFrame) -> str:
    counted = claims[claims["counted"]]
    spreads = " Behind ± stands the spread that the paper prints." if parts.has_spreads(counted) else ""
    text = f"\n## Claims\n\nRows below a sentence of the paper judge it, too.{spreads}\n{parts.claims_table(counted)}"
    if others := len(claims) - len(counted):
        pairs = claims[~claims["counted"]].merge(counted[[*CLAIM, "verdict"]], on=CLAIM, suffixes=("", "_counted"))
        differing = int((pairs["verdict"] != pairs["verdict_counted"]).sum())
        text += (
            f"\nThe file has {others} more verdicts on these claims, under readings that do not count; "
            f"{differing} of them differ.\n"
        )
    return text


def _command_section(figure_entry: Mapping[str, Any]) -> str:
    return "\n## Make it again\n" + parts.code(figure_entry["command"])


def _configuration(owner: FigureSet, figure: PaperFigure, source: Path) -> str:
    """The experiment's file, to download."""
    name = f"experiment/{figure.id}.yaml"
    for file in (owner.folder / name, source.parent / "conf" / name):
        if file.is_file():
            return f"\nConfiguration: {parts.download(file, name)}\n"
    return ""


def _origin(kept: LatestFigure) -> str:
    figure_entry = kept.entry
    text = f"\n## Where it comes from\n\nEdition {kept.edition}, {cell(figure_entry['scale'])} scale. "
    for name, seeds in figure_entry["runs"].items():
        text += f"{sum(map(len, seeds.values()))} runs of {cell(name)} with {_seeds(list(seeds))}. "
    text += (
        f"All chains sampled for {figure_entry['seconds']:,.0f} s. "
        if figure_entry["runs"]
        else "The numbers are computed. "
    )
    commits = dict.fromkeys(made["commit"] for made in figure_entry["made"])
    if commits:
        text += f"Made with commit {' and '.join(map(_commit, commits))}. "
    return f"{text}[Runs, machines, digests](../{parts.place_of(kept)}/index.json).\n"


def _commit(commit: str) -> str:
    name, _, changed = commit.partition("+")
    return f"<code>{cell(name[:DIGITS])}</code>{' with changes' if changed else ''}"


def _seeds(seeds: list[str]) -> str:
    """Seeds in words: a range where they are one."""
    numbers = sorted(int(seed) for seed in seeds)
    if len(numbers) == 1:
        return f"seed {numbers[0]}"
    if numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"seeds {numbers[0]} to {numbers[-1]}"
    return f"seeds {', '.join(map(str, numbers))}"
