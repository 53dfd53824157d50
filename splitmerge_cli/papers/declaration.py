"""How figures are declared: the figures of a paper, with its citation, and comparisons across papers.

A paper is a folder with ``paper.py``, which says ``PAPER = Paper(...)``, ``claims.csv`` and ``errata.csv``, modules
that draw its figures, and ``experiment/NAME.yaml`` for the runs of each (the first five papers have theirs in
``conf/experiment``). See `splitmerge_cli.papers.discovery` for where such folders are looked for.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class PaperFigure:
    """A figure or table that can be reproduced.

    Attributes
    ----------
    id : str
        The key of the paper, a hyphen and the name: ``sdds-fig3``; of a comparison the name alone. The title is the
        first comment of the experiment's file.
    caption : str
        What is drawn, and how the paper was read.
    draw : str or callable
        The function that takes the runs of the experiment (or, for an exact figure, its computed table) and returns a
        `splitmerge_cli.papers.drawing.Drawing`; or its name, ``MODULE.FUNCTION`` in the paper's folder, which is then
        imported when the figure is drawn. Beside it the module may have ``picture_FUNCTION``, which takes what the
        figure plots, ``ID.csv``, and returns the `matplotlib.figure.Figure`: kept figures are drawn with it.
    compute : str or callable, optional
        Exact figures: the function that takes the configuration of the experiment and returns the table, or its name.
        None: drawn from runs.
    shows : str
        What is seen: the kind of chart and its axes, for readers who do not see the picture.
    differs : mapping of str to str
        In which axes and series the picture differs from the paper's figure, each with the reason.
    """

    id: str
    caption: str
    draw: str | Callable[[Any], Any]
    compute: str | Callable[[Any], Any] | None = None
    shows: str = ""
    differs: Mapping[str, str] = field(default_factory=dict)

    @property
    def difference(self) -> str:
        """str: in what it differs from the paper's figure and why, as a sentence; empty where it does not."""
        listed = "; ".join(f"{what} ({why})" for what, why in self.differs.items())
        return f"Unlike the paper: {listed}." if listed else ""

    @property
    def whole_caption(self) -> str:
        """str: the caption, and in what the picture differs from the paper's figure."""
        return f"{self.caption} {self.difference}".strip()


@dataclass(frozen=True, kw_only=True)
class FigureSet:
    """A folder of figures.

    Attributes
    ----------
    key : str
        The name of its folder within the package.
    title : str
    figures : tuple of PaperFigure
    package : str
        Name under which the modules of its folder are imported; set when it is found.
    folder : Path
        Where its files are; set when it is found.
    """

    key: str
    title: str
    figures: tuple[PaperFigure, ...]
    package: str = ""
    folder: Path = Path()

    @property
    def name(self) -> str:
        """Name in lists: the title."""
        return self.title

    @property
    def citation(self) -> str:
        """Heading above the figures: the title."""
        return self.title


@dataclass(frozen=True, kw_only=True)
class Comparison(FigureSet):
    """Figures of our own across papers: no claims, no errata.

    The module that declares it is ``comparison.py``, with ``COMPARISON = Comparison(...)``.
    """

    @property
    def name(self) -> str:
        """Name in lists."""
        return "across papers"


@dataclass(frozen=True, kw_only=True)
class Paper(FigureSet):
    """A paper, and what is reproduced of it; the ids of its figures begin with its `key`.

    Attributes
    ----------
    authors : tuple of str
        ``Family, Given`` of each.
    venue : str
        Or an identifier.
    """

    authors: tuple[str, ...]
    year: int
    venue: str

    @property
    def name(self) -> str:
        """First author and year: ``Wang & Russell 2015``, ``Herlau et al. 2014``."""
        families = [author.partition(",")[0] for author in self.authors]
        who = " & ".join(families) if len(families) < 3 else f"{families[0]} et al."
        return f"{who} {self.year}"

    @property
    def citation(self) -> str:
        """All authors, year, title and venue."""
        families = [author.partition(",")[0] for author in self.authors]
        who = " & ".join([", ".join(families[:-1]), families[-1]] if len(families) > 1 else families)
        return f"{who} {self.year}: {self.title} ({self.venue})"
