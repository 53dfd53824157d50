"""Claims that were added after an edition, ``added.csv`` of a paper's folder.

A figure's own code does not judge them: a supplement does.
"""

import numpy as np
import pandas as pd

from splitmerge_cli.papers.claims import PUBLISHED, READINGS, Claim
from splitmerge_cli.papers.declaration import Paper, paper_of

ADDED = [*PUBLISHED, *READINGS[4:], "added", "source"]
"""Columns of ``added.csv``: those of a claim and of its reading, when it was added, and what judges it."""


def added_rows(paper: Paper) -> pd.DataFrame:
    """The rows of a paper's ``added.csv`` (`ADDED`, of str)."""
    rows = pd.read_csv(paper.folder / "added.csv", keep_default_na=False, dtype=str, encoding="utf-8")
    assert list(rows) == ADDED, paper.folder
    return rows


def added_claims(figure: str) -> list[Claim]:
    """The claims of a figure that were added."""
    paper = paper_of(figure)
    rows = added_rows(paper).to_dict("records") if paper is not None else []
    return [
        Claim(
            **{name: row[name] for name in ADDED[:-2]}
            | {name: float(row[name]) if row[name] else np.nan for name in ("value", "tolerance")}
        )
        for row in rows
        if row["id"] == figure
    ]
