"""A stored reproduction in numbers, by paper: the source of the README's table and of the site."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from splitmerge_cli.papers.claims import published_claims
from splitmerge_cli.papers.declaration import Paper
from splitmerge_cli.papers.discovery import papers
from splitmerge_cli.papers.kept import INDEX, claims_of, read_index
from splitmerge_cli.papers.verdicts import VERDICTS, counts, expected_errors


@dataclass(frozen=True)
class Counts:
    """Claims of a figure, of a paper or of all, and how many of them have each verdict.

    Attributes
    ----------
    claims : int
        Published claims.
    figures : int
        Figures and tables.
    kept : int
        How many of these are kept.
    verdicts : mapping of str to int
        Number of counted verdicts of what is kept, by verdict.
    wrong : float
        How many of these verdicts are expected to be wrong by chance, at most.
    """

    claims: int
    figures: int
    kept: int
    verdicts: Mapping[str, int]
    wrong: float

    @property
    def n_absent(self) -> int:
        """int: claims of figures that are not kept."""
        return self.claims - sum(self.verdicts.values())


def kept_claims(folder: Path) -> dict[str, pd.DataFrame]:
    """The claims of every figure that a folder keeps, by id; none where the folder has no index.

    Raises
    ------
    ConfigError
        The index is none.
    DamagedRun
        A file of claims cannot be read.
    """
    if not (folder / INDEX).is_file():
        return {}
    return {name: claims_of(folder, name)[0] for name in read_index(folder)["figures"]}


def count(ids: Sequence[str], kept: Mapping[str, pd.DataFrame]) -> Counts:
    """Count the claims of figures.

    Parameters
    ----------
    ids : sequence of str
    kept : mapping of str to pandas.DataFrame
        See `kept_claims`.
    """
    frames = [kept[name] for name in ids if name in kept]
    found = counts(frames)
    return Counts(
        claims=sum(len(published_claims(name)) for name in ids),
        figures=len(ids),
        kept=len(frames),
        verdicts={verdict: int(found[verdict]) for verdict in VERDICTS},
        wrong=expected_errors(pd.concat(frames)) if frames else 0.0,
    )


def by_paper(kept: Mapping[str, pd.DataFrame]) -> list[tuple[Paper, Counts]]:
    """The papers, each with the counts of its claims."""
    return [(paper, count([figure.id for figure in paper.figures], kept)) for paper in papers()]


def total(kept: Mapping[str, pd.DataFrame]) -> Counts:
    """The counts of all papers together."""
    return count([figure.id for paper in papers() for figure in paper.figures], kept)


def table(kept: Mapping[str, pd.DataFrame]) -> list[list[str]]:
    """The table ``paper | claims | reproduced | ...``: its head, a row for each paper, and the sums.

    Claims of figures that are not kept have a column of their own, while there are any.

    Parameters
    ----------
    kept : mapping of str to pandas.DataFrame
        See `kept_claims`.
    """
    whole = total(kept)
    rows = [(paper.name, found) for paper, found in by_paper(kept)] + [("all", whole)]
    head = ["paper", "claims", *VERDICTS] + (["not kept yet"] if whole.n_absent else [])
    return [head] + [
        [
            name,
            str(found.claims),
            *map(str, found.verdicts.values()),
            *([str(found.n_absent)] if whole.n_absent else []),
        ]
        for name, found in rows
    ]
