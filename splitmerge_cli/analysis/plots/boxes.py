"""Drawing clusterings of tokens: boxes of coloured letters, and arrows as wide as they are probable."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from splitmerge_cli.analysis.plots.style import superscript

LETTERS = {"A": "#2F5F94", "B": "#C05468", "C": "#B5851A"}
SPLIT, MERGE = "#96210F", "#2E8B57"
"""Dark red and a lighter green: a print in grey tells them apart."""
SIDE = 1.0
GAP = 0.12
PAD = 0.22
SPACE = 0.55
WIDEST = 11.0
"""Line width, in points, of an arrow of probability 1."""
THINNEST = 0.9
POINT = 0.1
"""About one point in data units, at the scale of these drawings (a letter is 0.14 in)."""


@dataclass(frozen=True)
class Placed:
    """A drawn state: its centre and width in data units."""

    x: float
    width: float


def _box(ax: Axes, corner: tuple[float, float], size: tuple[float, float], rounding: float, **look: Any) -> None:
    """A box of this width and height with round corners."""
    ax.add_patch(FancyBboxPatch(corner, *size, boxstyle=f"round,pad=0,rounding_size={rounding}", **look))


def letter(ax: Axes, x: float, y: float, token: str, side: float = SIDE, size: float = 7.5) -> None:
    """One token, centred at (x, y), in letters of so many points."""
    look = {"facecolor": LETTERS[token], "edgecolor": "none", "zorder": 3}
    _box(ax, (x - side / 2, y - side / 2), (side, side), 0.18 * side, **look)
    ax.text(x, y, token, color="white", ha="center", va="center_baseline", fontsize=size, fontweight="bold", zorder=4)


def state(ax: Axes, x: float, y: float, clusters: Sequence[str], name: str) -> Placed:
    """A clustering as a row of boxes around (x, y), its name above."""
    widths = [len(tokens) * SIDE + (len(tokens) - 1) * GAP + 2 * PAD for tokens in clusters]
    width = sum(widths) + SPACE * (len(clusters) - 1)
    height = SIDE + 2 * PAD
    left_edge = x - width / 2
    for tokens, w in zip(clusters, widths, strict=True):
        look = {"facecolor": "#f4f4f2", "edgecolor": "#9a9a94", "linewidth": 0.8, "zorder": 2}
        _box(ax, (left_edge, y - height / 2), (w, height), 0.3, **look)
        for k, token in enumerate(tokens):
            letter(ax, left_edge + PAD + SIDE / 2 + k * (SIDE + GAP), y, token)
        left_edge += w + SPACE
    ax.text(x, y + height / 2 + 0.35, name, ha="center", va="bottom", fontsize=8.5, color="#222222", fontstyle="italic")
    return Placed(x, width)


def arrow(
    ax: Axes,
    start: tuple[float, float],
    end: tuple[float, float],
    probability: float,
    colour: str,
    preferred: bool = True,
) -> None:
    """An arrow as wide as its probability (but never too thin to be seen); dashed if it is not the preferred move."""
    width = max(THINNEST, WIDEST * probability)
    # the head covers the end of the line, which would show at its point
    length = (2.2 + 0.75 * width) * POINT
    direction = 1 if end[0] > start[0] else -1
    neck = end[0] - direction * length
    dashes = "-" if preferred else (0, (3.5, 2.5)) if width < 2 else (0, (1.6, 0.9))
    look: dict[str, Any] = {"color": colour, "linewidth": width, "linestyle": dashes, "zorder": 1}
    x = [start[0], neck + direction * 0.05]
    ax.plot(x, [start[1], end[1]], solid_capstyle="butt", dash_capstyle="butt", **look)
    half = (1.6 + 0.85 * width) * POINT
    ax.fill([neck, end[0], neck], [end[1] - half, end[1], end[1] + half], color=colour, linewidth=0, zorder=1)


def label(ax: Axes, x: float, y: float, move: str, probability: float, colour: str, above: bool) -> None:
    """Name and probability of a move, above or below the point (x, y)."""
    text = f"{move.replace('_', ' ')}\n{probability_text(probability)}"
    ax.text(x, y, text, ha="center", va="bottom" if above else "top", color=colour, fontsize=7.5, linespacing=1.2)


def probability_text(p: float) -> str:
    """A probability in three significant digits; powers of ten where it is tiny."""
    if p == 0:
        return "0"
    if p >= 1e-3:
        return f"{p:.3f}" if p < 0.9995 or p == 1 else f"1 − {_power(1 - p)}"
    return _power(p)


def _power(p: float) -> str:
    mantissa, exponent = f"{p:.1e}".split("e")
    return f"{mantissa} × 10{superscript(int(exponent))}"
