"""Drawing clusterings of tokens: boxes of coloured letters, and arrows as wide as they are probable."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

LETTERS = {"A": "#4477AA", "B": "#CC6677", "C": "#DDAA33"}
SPLIT, MERGE = "#C03221", "#2E8B57"
SIDE = 1.0
GAP = 0.12
PAD = 0.22
SPACE = 0.55
WIDEST = 11.0
"""Line width, in points, of an arrow of probability 1."""
THINNEST = 0.9


@dataclass(frozen=True)
class Placed:
    """A drawn state: its centre and extent in data units."""

    x: float
    y: float
    width: float
    height: float


def letter(ax: Axes, x: float, y: float, token: str, side: float = SIDE) -> None:
    """One token, centred at (x, y)."""
    ax.add_patch(
        FancyBboxPatch(
            (x - side / 2, y - side / 2),
            side,
            side,
            boxstyle=f"round,pad=0,rounding_size={0.18 * side}",
            facecolor=LETTERS[token],
            edgecolor="none",
            zorder=3,
        )
    )
    ax.text(x, y, token, color="white", ha="center", va="center_baseline", fontsize=7.5, fontweight="bold", zorder=4)


def state(ax: Axes, x: float, y: float, clusters: Sequence[str], name: str, above: bool = True) -> Placed:
    """A clustering as a row of boxes around (x, y), its name above or below."""
    widths = [len(tokens) * SIDE + (len(tokens) - 1) * GAP + 2 * PAD for tokens in clusters]
    width = sum(widths) + SPACE * (len(clusters) - 1)
    height = SIDE + 2 * PAD
    left = x - width / 2
    for tokens, w in zip(clusters, widths, strict=True):
        ax.add_patch(
            FancyBboxPatch(
                (left, y - height / 2),
                w,
                height,
                boxstyle="round,pad=0,rounding_size=0.3",
                facecolor="#f4f4f2",
                edgecolor="#9a9a94",
                linewidth=0.8,
                zorder=2,
            )
        )
        for k, token in enumerate(tokens):
            letter(ax, left + PAD + SIDE / 2 + k * (SIDE + GAP), y, token)
        left += w + SPACE
    offset = height / 2 + 0.28
    ax.text(
        x,
        y + offset if above else y - offset,
        name,
        ha="center",
        va="bottom" if above else "top",
        fontsize=8.5,
        color="#222222",
    )
    return Placed(x, y, width, height)


def arrow(
    ax: Axes,
    start: tuple[float, float],
    end: tuple[float, float],
    probability: float,
    colour: str,
    text: str,
    at: tuple[float, float],
    preferred: bool = True,
    ha: str = "center",
    bend: float = 0.0,
) -> None:
    """An arrow as wide as its probability (but never too thin to be seen), its number beside it."""
    width = max(THINNEST, WIDEST * probability)
    ax.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle=f"-|>,head_length={0.5 + 0.12 * width**0.5},head_width={0.22 + 0.07 * width**0.5}",
            mutation_scale=9,
            linewidth=width,
            linestyle="-" if preferred else (0, (2.2, 1.4) if width > 1.5 else (4, 3)),
            color=colour,
            capstyle="butt",
            joinstyle="miter",
            shrinkA=0,
            shrinkB=0,
            connectionstyle=f"arc3,rad={bend}",
            zorder=1,
        )
    )
    ax.text(*at, text, ha=ha, va="center", color=colour, fontsize=7.5, linespacing=1.25, zorder=5)


def probability_text(p: float) -> str:
    """A probability in three significant digits; powers of ten where it is tiny."""
    if p == 0:
        return "0"
    if p >= 1e-3:
        return f"{p:.3f}" if p < 0.9995 or p == 1 else f"1 − {_power(1 - p)}"
    return _power(p)


def _power(p: float) -> str:
    mantissa, exponent = f"{p:.1e}".split("e")
    return rf"${mantissa}\times10^{{{int(exponent)}}}$"
