"""Whether a figure can be printed: its width, the size of its text, and what is left of it in grey."""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Tick
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.typing import ColorType

from splitmerge_cli.analysis.plots.style import FULL, HALF, SMALLEST
from splitmerge_cli.config import figure_styles

APART = 8.0
"""Lightness (CIE L*, of 100) by which samplers differ that a paper compares."""
SCRIPT = 0.7
"""Size of indices and exponents of a formula, of that of its text."""
EDGE = 1.0
"""Points by which the box around a text may leave the page: it is larger than the letters."""
THIN = 1.0
"""Points of a line below which it stands for a chain, and is known by the colour of a thicker one."""


def lightness(colour: ColorType) -> float:
    """CIE L* of a colour, 0 (black) to 100."""
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in to_rgb(colour)]
    luminance = float(np.dot([0.2126, 0.7152, 0.0722], linear))
    return 116 * luminance ** (1 / 3) - 16 if luminance > 0.008856 else 903.3 * luminance


def problems(figure: Figure) -> list[str]:
    """Find what keeps a figure from being printed as it is.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        Of a paper, in the project's style.

    Returns
    -------
    list of str
        A width other than 183 or 89 mm; text below 6 pt (with indices and exponents), beyond the page or over other
        text; a note of more than one line; lines of one panel that stand for samplers, or are in a legend, and differ
        in neither dashes nor marks.
    """
    # the layout is made as the figure is drawn
    figure.draw_without_rendering()
    width = figure.get_figwidth()
    found = [] if min(abs(width - FULL), abs(width - HALF)) < 1e-6 else [f"{25.4 * width:.1f} mm wide"]
    note = figure.get_supxlabel()
    if "\n" in note:
        found.append(f"a note of {len(note.splitlines())} lines")
    texts = list(_texts(figure))
    found += [problem for text in texts for problem in _of_text(figure, text)]
    found += _overlaps(figure, texts)
    return found + [problem for ax in figure.axes for problem in _of_lines(figure, ax)]


def _texts(figure: Figure) -> Iterator[Text]:
    """Texts that are drawn."""
    hidden: set[object] = set()
    for ax in figure.axes:
        if not ax.get_visible():
            hidden |= set(ax.findobj(Text))
        for axis in (ax.xaxis, ax.yaxis):
            if not (ax.axison and axis.get_visible()):
                hidden |= set(axis.findobj(Text))
            low, high = sorted(axis.get_view_interval())
            ticks: list[Tick] = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
            hidden |= {x for tick in ticks if not low <= tick.get_loc() <= high for x in (tick.label1, tick.label2)}
    yield from (x for x in figure.findobj(Text) if x not in hidden and x.get_visible() and x.get_text().strip())


def _of_text(figure: Figure, text: Text) -> Iterator[str]:
    said = _text_of(text)
    formula = "$" in said and any(sign in said for sign in "^_")
    size = float(text.get_fontsize()) * (SCRIPT if formula else 1.0)
    if size < SMALLEST:
        yield f"{size:.1f} pt: {said}"
    box, page, edge = text.get_window_extent(), figure.bbox, EDGE * figure.dpi / 72
    outside = (page.x0 - box.x0, box.x1 - page.x1, page.y0 - box.y0, box.y1 - page.y1)
    if max(outside) > edge:
        yield f"{max(outside) * 72 / figure.dpi:.1f} pt beyond the page: {said}"


def _overlaps(figure: Figure, texts: Sequence[Text]) -> Iterator[str]:
    """Texts that are written over each other; a box is higher than its letters, most of all that of several lines."""
    room = 2 * EDGE * figure.dpi / 72
    boxes = [(text, text.get_window_extent()) for text in texts]
    for (a, one), (b, other) in combinations(boxes, 2):
        across = min(one.x1, other.x1) - max(one.x0, other.x0)
        down = min(one.y1, other.y1) - max(one.y0, other.y0)
        if min(across, down) > room:
            yield f"written over each other: {_text_of(a)} and {_text_of(b)}"


def _text_of(text: Text) -> str:
    return text.get_text().replace("\n", " / ")


def _of_lines(figure: Figure, ax: Axes) -> Iterator[str]:
    kinds: dict[tuple[str, str, str, bool], set[str]] = {}
    for line in ax.lines:
        if not line.get_visible() or len(line.get_xdata()) == 0:  # type: ignore[arg-type]
            continue
        kind = _kind(line)
        if kind is not None:
            kinds.setdefault(kind, set()).add(str(line.get_color()))
    named = {str(style["colour"]) for style in figure_styles().values() if "colour" in style}
    named |= {str(x.get_color()) for x in _entries(figure, ax)}
    for kind, colours in kinds.items():
        for a, b in combinations(sorted(colours & named), 2):
            yield f"panel {ax.get_title() or ax.get_ylabel()!r}: {a} and {b} differ in colour alone ({kind})"


def _entries(figure: Figure, ax: Axes) -> list[Line2D]:
    """Lines in the legends of a panel and its figure."""
    legends = [x for x in [ax.get_legend(), *figure.legends] if isinstance(x, Legend)]
    return [line for each in legends for line in each.get_lines()]


def _kind(line: Line2D) -> tuple[str, str, str, bool] | None:
    """Dashes and mark of a line; None of a thin one."""
    marker = str(line.get_marker())
    marked = marker not in ("None", "none", "", " ")
    dashes = str(line._dash_pattern) if line.get_linestyle() != "None" else ""  # type: ignore[attr-defined]
    if not marked and (not dashes or line.get_linewidth() < THIN):
        return None
    return dashes, marker if marked else "", str(line.get_fillstyle()), marked and line.get_markerfacecolor() == "white"
