"""What all figures share: the style sheet, one colour per sampler, byte-stable files."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

COLOURS = {
    "sdds": "#D55E00",
    "rgsm": "#0072B2",
    "ss": "#009E73",
    "rm": "#CC79A7",
    "gibbs": "#5F5F5F",
}
LINES: dict[str, Any] = {"sdds": "-", "rgsm": "-", "ss": "-", "rm": "--", "gibbs": "-"}
NAMES = {"sdds": "SDDS", "rgsm": "RGSM", "ss": "SS", "rm": "RM", "gibbs": "Gibbs"}
REFERENCE = "#111111"
"""Colour of exact values and of what the paper printed."""


@contextmanager
def styled() -> Iterator[None]:
    """Draw in the project's style, without a display."""
    sheet = resources.files("splitmerge_cli.figures") / "style.mplstyle"
    # embedding a font in a PDF is no news
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    with resources.as_file(sheet) as path, matplotlib.rc_context():
        matplotlib.use("agg")
        matplotlib.style.use(["default", path])
        yield


def sampler_legend(figure: Figure, samplers: list[str], extra: list[Line2D] | None = None) -> None:
    """One legend for all panels, above them."""
    handles = [
        Line2D([], [], color=COLOURS[name], linestyle=LINES[name], label=NAMES[name], linewidth=2) for name in samplers
    ]
    handles += extra or []
    figure.legend(handles=handles, loc="outside upper left", ncols=len(handles), columnspacing=1.4)


def save(figure: Figure, stem: Path) -> list[Path]:
    """Write ``STEM.png`` and ``STEM.pdf``; equal figures give equal bytes."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = [stem.with_name(f"{stem.name}.png"), stem.with_name(f"{stem.name}.pdf")]
    for path, metadata in zip(paths, [{"Software": None}, {"CreationDate": None}], strict=True):
        # through a temporary name: a figure is whole or not there
        part = path.with_name(f".{path.name}.part")
        figure.savefig(part, format=path.suffix[1:], metadata=metadata)
        part.replace(path)
    plt.close(figure)
    return paths
