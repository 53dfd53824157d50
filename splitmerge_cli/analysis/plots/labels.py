"""Text inside a picture: written where it covers no other text."""

from collections.abc import Iterable, Sequence
from typing import Any

import matplotlib.patheffects as effects
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from splitmerge_cli.analysis.plots.style import SMALLEST, plain_text
from splitmerge_cli.diagnostics.cluster_table import shorten

FURTHER = (5.0, 10.0)
"""Points from a place to a text that would cover another at the place itself."""
ENDS = 3
"""Letters that a common beginning or end has at least, where it is cut out."""


def shorten_names(names: Sequence[str], most_letters: int) -> list[str]:
    """Shorten names to at most so many letters: long ones lose the words that all begin or end with, then are cut.

    Examples
    --------
    >>> shorten_names(["item 1 of the form", "item 2 of the form"], 10)
    ['…1…', '…2…']
    """
    if all(len(name) <= most_letters for name in names):
        return list(names)
    begin = _common(names)
    begin = begin[: begin.rfind(" ") + 1]
    end = _common([name[len(begin) :][::-1] for name in names])[::-1]
    end = end[end.find(" ") :] if " " in end else ""
    begin, end = (part if len(part) > ENDS else "" for part in (begin, end))
    middle = [name[len(begin) : len(name) - len(end)] for name in names]
    if len(names) < 2 or not all(middle):
        return [shorten(name, most_letters) for name in names]
    return [shorten(f"{'…' if begin else ''}{name}{'…' if end else ''}", most_letters) for name in middle]


def _common(names: Sequence[str]) -> str:
    first, last = min(names), max(names)
    same = next((k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[:same]


def write_apart(
    ax: Axes,
    places: NDArray[np.float64],
    texts: Sequence[str],
    order: Iterable[int],
    offset: float = 0.0,
    marks: float = 0.0,
    **style: Any,
) -> list[int]:
    """Write texts at or next to places ``[n, 2]`` of the data, in `order`; a text that would cover another is
    left out. The limits of the axes are final.

    `offset`: points from the place to the text, which stands on any of four sides; 0: on the place itself, or, where
    another text is, `FURTHER` away. `marks`:
    points that a mark at every place is wide, which no text covers; 0: it may. Returns those that were written.
    """
    figure = ax.figure
    assert isinstance(figure, Figure)
    boxes: list[Any] = []
    written = []
    inside = ax.get_window_extent()
    pixels = ax.transData.transform(places)
    room = marks / 2 * figure.dpi / 72
    halo = [effects.withStroke(linewidth=1.6, foreground="white")]
    sides = [(1, 0), (-1, 0), (0, 1), (0, -1)]
    tried = [(dx, dy, offset) for dx, dy in sides] if offset else [(0, 0, 0.0)]
    tried += [] if offset else [(dx, dy, far) for far in FURTHER for dx, dy in sides]
    aligned = {1: "left", -1: "right", 0: "center"}
    above = {1: "bottom", -1: "top", 0: "center"}
    for k in order:
        for dx, dy, distance in tried:
            text = ax.annotate(
                plain_text(texts[k]),
                places[k],
                (dx * distance, dy * distance),
                textcoords="offset points",
                ha=aligned[dx],
                va=above[dy],
                path_effects=halo,
                annotation_clip=False,
                **{"fontsize": SMALLEST, "zorder": 8} | style,
            )
            box = text.get_window_extent()
            within = inside.x0 <= box.x0 and box.x1 <= inside.x1 and inside.y0 <= box.y0 and box.y1 <= inside.y1
            covers = marks and box.padded(room).count_contains(pixels)
            if within and not covers and not any(box.overlaps(other) for other in boxes):
                boxes.append(box)
                written.append(k)
                break
            text.remove()
    return written
