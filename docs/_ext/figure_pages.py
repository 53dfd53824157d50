"""The page of a figure or table: picture, claims beside what was measured, and where both come from."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import parts
from editions.counted import describe_runs
from editions.kept import COMMAND, read_index
from editions.overview import LatestFigure
from editions.pictures import counted_claims
from parts import cell

from splitmerge_cli.papers.claims import Claim, published_claims
from splitmerge_cli.papers.declaration import FigureSet, Paper, PaperFigure

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
        + (_claims(claims) if len(claims) else "")
        + _command_section(figure_entry)
        + _origin(figure.id, kept)
        + _configuration(owner, figure, source)
    )


def _missing_figure(figure: PaperFigure) -> str:
    claims = published_claims(figure.id)
    return (
        f"{cell(figure.whole_caption)}\n\n```{{note}}\nThis figure is not kept in `docs/reproduction` yet. These "
        "commands make its runs, draw it, judge its\nclaims and keep it:\n```\n"
        + parts.code(f"smcmc reproduce {figure.id} --scale paper\n{COMMAND} keep {figure.id} --scale paper")
        + (_claims_section(claims) if claims else "")
    )


def _claims_section(claims: Sequence[Claim]) -> str:
    return "\n## What the paper claims\n" + parts.claims_table(pd.DataFrame(map(parts.missing_row, claims)))


def _picture(figure: PaperFigure, title: str, kept: LatestFigure) -> str:
    figure_entry, folder = kept.entry, parts.place_of(kept)
    alternative = cell(figure.shows or title)
    # a picture with a width is a link to itself in full size
    text = f"```{{image}} ../{folder}/{figure.id}.png\n:alt: {alternative}\n:width: 100%\n```\n\n"
    text += f"{cell(figure.whole_caption)}\n"
    if runs := describe_runs(figure.id, counted_claims(kept.folder, figure.id)[0]):
        text += f"\n{cell(runs)} The strip below the picture has all numbers that count and are no cells.\n"
    if figure_entry.get("notes"):
        text += "".join(f"\n{cell(paragraph)}\n" for paragraph in figure_entry["notes"].split("\n\n"))
    words = {
        "-claims.csv": "claims",
        "-units.csv": "units",
        "-units.csv.gz": "units",
        ".csv": "numbers",
        ".csv.gz": "numbers",
    }
    links = []
    files = dict.fromkeys(figure_entry["files"], folder)
    if kept.claims_folder != kept.folder:
        # a supplement has claims and units alone
        again = sorted(file.name for file in kept.claims_folder.glob(f"{figure.id}-*"))
        files = {name: folder for name in files if not name.startswith(f"{figure.id}-")}
        files |= dict.fromkeys(again, f"{parts.FOLDER}/{kept.claims_folder.name}")
    for name, place in files.items():
        if name.endswith(".png"):
            continue  # it is a link to itself
        label = next((label for ending, label in words.items() if name.endswith(ending)), name)
        links.append(f"[{label}](../{place}/{name})")
    rows = figure_entry["rows"]
    thinned = "" if rows["kept"] == rows["plotted"] else f" {rows['kept']:,} of {rows['plotted']:,} plotted rows."
    return f"{text}\nDownload: {', '.join(links)}.{thinned}\n"


def _claims(claims: pd.DataFrame) -> str:
    counted = claims[claims["counted"]]
    text = f"\n## Claims\n{parts.claims_table(counted)}"
    if others := len(claims) - len(counted):
        pairs = claims[~claims["counted"]].merge(counted[[*CLAIM, "verdict"]], on=CLAIM, suffixes=("", "_counted"))
        differing = int((pairs["verdict"] != pairs["verdict_counted"]).sum())
        text += f"\nUnder readings that do not count the file has {others} more verdicts; {differing} of them differ.\n"
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


def _origin(name: str, kept: LatestFigure) -> str:
    figure_entry = kept.entry
    text = f"\nEdition {kept.edition}, {cell(figure_entry['scale'])} scale; "
    n_runs = sum(len(ids) for by_seed in figure_entry["runs"].values() for ids in by_seed.values())
    text += f"{n_runs} runs, {figure_entry['seconds']:,.0f} s of sampling" if n_runs else "computed, without runs"
    commits = dict.fromkeys(made["commit"] for made in figure_entry["made"])
    if commits:
        text += f"; commit {' and '.join(map(_commit, commits))}"
    text += f". [Runs, seeds, machines, digests](../{parts.place_of(kept)}/index.json)."
    if kept.claims_folder != kept.folder:
        index = read_index(kept.claims_folder)
        judged = len(index["figures"][name]["judged"])
        text += f" Verdicts from [edition {index['edition']}](editions.md): {judged}."
    return f"{text}\n"


def _commit(commit: str) -> str:
    name, _, changed = commit.partition("+")
    return f"<code>{cell(name[:DIGITS])}</code>{' with changes' if changed else ''}"
