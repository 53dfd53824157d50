"""Parts that the figures of all papers share: the result of drawing, its parts, lines and files; chains that climb."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from numpy.typing import NDArray

from splitmerge_cli.analysis.plots.style import FULL, marks_along
from splitmerge_cli.papers.verdicts import Verdict
from splitmerge_cli.runs.store.read import Run


@dataclass(frozen=True)
class Drawing:
    """A drawn figure, the `plotted` numbers in long form, which are written next to the picture, and the `verdicts` on
    the claims that the paper makes with it. `notes` say what holds for these runs: sizes, what bands and marks are;
    plain text that stands under the picture after the caption, empty where the picture says all."""

    figure: Figure
    plotted: pd.DataFrame
    verdicts: Sequence[Verdict]
    notes: str = ""


def in_parts(first: float, second: float) -> tuple[Figure, SubFigure, SubFigure]:
    """A figure in two parts of these heights in inches: what the paper shows, and below it what is added here."""
    figure = plt.figure(figsize=(FULL, first + second))
    paper, added = figure.subfigures(2, 1, squeeze=False, height_ratios=[first, second])[:, 0]
    for part, words in ((paper, "as in the paper"), (added, "added here")):
        part.suptitle(words, x=0.01, ha="left", fontsize=8, fontweight="bold")
    return figure, paper, added


def draw_lines(
    ax: Axes,
    numbers: pd.DataFrame,
    of: str,
    x: str,
    look_of: Callable[[str], Mapping[str, Any]],
    shade: float = 0.0,
    centre: str = "median",
    width: float = 1.3,
) -> None:
    """Draw a line over `x` for each value of the column `of`, with marks that do not meet; with a band from `low` to
    `high` where `shade` is above 0."""
    lines = dict(list(numbers.groupby(of, sort=False)))
    for place, (name, rows) in enumerate(lines.items()):
        look, middle = look_of(str(name)), rows[centre].to_numpy()
        if shade:
            ax.fill_between(rows[x], rows["low"], rows["high"], color=look["color"], alpha=shade, linewidth=0)
        ax.plot(rows[x], middle, linewidth=width, zorder=3, **look, **marks_along(middle, place, len(lines)))


@dataclass(frozen=True)
class Climb:
    """The ascent of one chain: iteration, seconds, log likelihood and log joint of each recorded row, float64
    ``[rows]``."""

    iteration: NDArray[np.float64]
    seconds: NDArray[np.float64]
    log_lik: NDArray[np.float64]
    log_joint: NDArray[np.float64]
    data: int = field(default=0, kw_only=True)
    """The seed of its data set."""

    @property
    def pace(self) -> float:
        """Seconds an iteration."""
        return float(self.seconds[-1] / max(self.iteration[-1], 1.0))

    def axis_values(self, axis: str) -> NDArray[np.float64]:
        """Iterations or seconds of the rows."""
        return self.iteration if axis == "iteration" else self.seconds

    def reaches(self, level: float, axis: str = "seconds") -> float:
        """Iterations or seconds until the log joint first is at `level`; infinite if never."""
        there = np.flatnonzero(self.log_joint >= level)
        return float(self.axis_values(axis)[there[0]]) if len(there) else np.inf

    def column_at(self, column: NDArray[np.float64], axis: str, where: NDArray[np.float64]) -> NDArray[np.float64]:
        """A column at points of an axis: the value of the last row before each."""
        return column[np.searchsorted(self.axis_values(axis), where, side="right") - 1]

    def late_median(self, column: NDArray[np.float64]) -> float:
        """Median of a column in the second half of its time."""
        return float(np.median(column[self.seconds > self.seconds[-1] / 2]))


def climbs_of(run: Run) -> list[Climb]:
    """The ascents of a run's chains."""
    columns = ["iteration", "seconds", "log_lik", "log_joint"]
    chains = run.trace(["chain", *columns]).groupby("chain", sort=True)
    seed = int(run.config["data"].get("seed") or 0)
    return [Climb(*(chain[name].to_numpy(float) for name in columns), data=seed) for _, chain in chains]


def caption_of(folder: Path, name: str) -> Path:
    """The caption of a drawn figure and, after an empty line, its notes, in the folder of the figures."""
    return folder / f"{name}-caption.txt"


def manifest_of(folder: Path, name: str) -> Path:
    """Return the manifest of a drawn figure's files, in the figures' folder."""
    return folder / f"{name}-manifest.json"
