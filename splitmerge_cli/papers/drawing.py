"""Result of drawing a paper's figure, and the manifest of its files."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure, SubFigure

from splitmerge_cli.analysis.plots.style import FULL
from splitmerge_cli.papers.verdicts import Verdict


@dataclass(frozen=True)
class Drawing:
    """A drawn figure.

    Attributes
    ----------
    figure : matplotlib.figure.Figure
    plotted : pandas.DataFrame
        The plotted numbers, in long form; written next to the picture.
    verdicts : sequence of Verdict
        On the claims that the paper makes with this figure.
    notes : str
        What holds for these runs: sizes, what bands and marks are. Plain text that stands under the picture after the
        caption; empty where the picture says all.
    """

    figure: Figure
    plotted: pd.DataFrame
    verdicts: Sequence[Verdict]
    notes: str = ""


def in_parts(first: float, second: float, title: str = "as in the paper") -> tuple[Figure, SubFigure, SubFigure]:
    """A figure in two parts of these heights in inches: what the paper shows, and below it what is added here."""
    figure = plt.figure(figsize=(FULL, first + second))
    paper, added = figure.subfigures(2, 1, squeeze=False, height_ratios=[first, second])[:, 0]
    for part, words in ((paper, title), (added, "added here")):
        part.suptitle(words, x=0.01, ha="left", fontsize=8, fontweight="bold")
    return figure, paper, added


def caption_of(folder: Path, name: str) -> Path:
    """The caption of a drawn figure and, after an empty line, its notes, in the folder of the figures."""
    return folder / f"{name}-caption.txt"


def manifest_of(folder: Path, name: str) -> Path:
    """Return the manifest of a drawn figure's files, in the figures' folder."""
    return folder / f"{name}-manifest.json"
