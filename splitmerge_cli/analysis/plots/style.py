"""Style of all figures: the style sheet, widths, one colour per sampler, byte-stable files; marks of items in the
colours of their clusters, and text inside a picture, written where it covers no other text.
"""

import logging
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import resources
from pathlib import Path
from textwrap import fill
from typing import Any
from zlib import crc32

import matplotlib
import matplotlib.patheffects as effects
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontEntry, FontProperties, fontManager, get_font
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.config import figure_styles
from splitmerge_cli.diagnostics.cluster_table import shorten
from splitmerge_cli.runs.grouping import name_clusters, rows_apart
from splitmerge_cli.runs.store import files, read

FULL, HALF = 183 / 25.4, 89 / 25.4
"""Widths of a figure in inches: of a page, 183 mm, and of a column, 89 mm."""
SMALLEST = 6.0
"""Points of the smallest text of a picture at the width at which it is printed."""
CYCLE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Colours of samplers whose files name none."""
SAMPLER_MARKERS = ("o", "s", "^", "v", "P", "X", "d", "p")
"""Markers of samplers whose files name none."""
AREAS = {"*": 1.7, "P": 1.25, "X": 1.25, "d": 1.2, "^": 1.1, "v": 1.1, "<": 1.1, ">": 1.1, "s": 0.9, "D": 0.85}
"""Sizes at which markers look as large as a disc."""
REFERENCE = "#111111"
"""Colour of exact values and of what the paper printed."""
LINE = 130
"""Letters in a line of a note below a figure of full width."""
TITLE = 38
"""Letters in a line of a title at the width of a column."""
LISTED = 10
"""Letters that a note lists."""
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _look(sampler: str, key: str, otherwise: tuple[str, ...]) -> str:
    """How a sampler's file has it drawn, or else one of several ways, by its name."""
    return str(figure_styles().get(sampler, {}).get(key, otherwise[crc32(sampler.encode()) % len(otherwise)]))


def title_of(sampler: str) -> str:
    """Name of a sampler in pictures."""
    return _look(sampler, "title", (sampler,))


def colour_of(sampler: str) -> str:
    """Colour of a sampler: the same in every picture. Samplers that a paper compares differ in lightness too, for
    prints in grey."""
    return _look(sampler, "colour", CYCLE)


def dashes_of(sampler: str) -> Any:
    """Dashes of a sampler's line: they leave a part of lines below uncovered, and tell apart samplers of one marker."""
    dashes = figure_styles().get(sampler, {}).get("dashes")
    return "-" if dashes is None else (0, tuple(dashes))


def marker_of(sampler: str) -> str:
    """Marker of a sampler; with `dashes_of` it tells the sampler without its colour."""
    return _look(sampler, "marker", SAMPLER_MARKERS)


def look_of(sampler: str, dashed: bool = True) -> dict[str, Any]:
    """Colour, dashes and marker of a sampler's line; not `dashed`: without its dashes."""
    dashes = dashes_of(sampler) if dashed else "-"
    return {"color": colour_of(sampler), "linestyle": dashes, **mark(marker_of(sampler))}


CHAINS = ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (5, 1.2, 1.2, 1.2)))
"""Dashes that the chains of one sampler take in turn."""


def chain_look(colour: str, place: int, n_chains: int) -> dict[str, Any]:
    """Dashes and shade that tell one chain of a sampler from the `n_chains` others."""
    light = 0.55 * place / max(1, n_chains - 1)
    shade = tuple(x + light * (1 - x) for x in to_rgb(colour))
    return {"color": shade, "linestyle": CHAINS[place % len(CHAINS)]}


def mark(marker: str, size: float = 4.2) -> dict[str, Any]:
    """A marker of about such a size, in points, whose edge is seen where another is below."""
    edge = {"markeredgecolor": "white", "markeredgewidth": 0.3}
    return {"marker": marker, "markersize": size * AREAS.get(marker, 1.0), **edge}


def mark_alone(look: dict[str, Any], size: float = 1.0) -> dict[str, Any]:
    """The mark of a line without the line, so many times as large."""
    return look | {"linestyle": "", "markersize": size * look["markersize"]}


def hollow(look: dict[str, Any], size: float = 1.0) -> dict[str, Any]:
    """A mark alone, white within: what was not reached, or what the paper printed."""
    edge = {"markeredgecolor": look["color"], "markeredgewidth": 0.9, "markerfacecolor": "white"}
    return mark_alone(look, size) | edge


def marks_along(values: ArrayLike, place: int, n_lines: int) -> dict[str, Any]:
    """Marks of a long line through these values, at a share of the panel from each other; marks of lines at other
    places, of so many, stand between."""
    # Matplotlib fails on marks of a line that has no point
    return {"markevery": (0.22 * (place + 0.5) / n_lines, 0.22)} if np.isfinite(values).any() else {}


FONTS = (
    *("Noto Sans CJK", "Noto Sans", "Source Han Sans", "WenQuanYi", "IPA", "Droid Sans Fallback", "Hiragino"),
    *("PingFang", "Microsoft YaHei", "SimHei", "MS Gothic", "Yu Gothic", "Malgun Gothic", "Arial Unicode MS"),
)
"""How the names of fonts begin that are taken first for letters that the style's own font has not."""
_absent: set[str] = set()
"""Letters of the pictures in this style that no font has."""


@cache
def _letters_of(path: str) -> frozenset[int]:
    """Code points that a font has; none of one that Matplotlib cannot read."""
    try:
        return frozenset(get_font(path).get_charmap())
    except (OSError, RuntimeError):
        return frozenset()


def _fallbacks() -> list[FontEntry]:
    """Upright fonts of usual weight that are installed, `FONTS` first."""

    def rank(font: FontEntry) -> tuple[int, str]:
        preferred = (k for k, name in enumerate(FONTS) if font.name.startswith(name))
        return next(preferred, len(FONTS)), font.name

    # one of coloured bitmaps has no size that could be set, the last resort nothing but boxes
    usual = (f for f in fontManager.ttflist if f.style == "normal" and f.weight in (400, "normal", "regular"))
    return sorted((f for f in usual if "Color" not in f.name and not f.name.startswith("Last Resort")), key=rank)


def draw_in_fonts(draw: Callable[[], Figure]) -> Figure:
    """Draw a figure in fonts that have its letters: texts keep the fonts of the moment when their axes were made, so a
    figure that needs more fonts is drawn again."""
    before = matplotlib.rcParams["font.family"]
    figure = draw()
    if matplotlib.rcParams["font.family"] != before:
        plt.close(figure)
        figure = draw()
    if matplotlib.rcParams["font.family"] != ["sans-serif"]:
        figure.draw_without_rendering()  # labels of ticks are made here, while the fonts are set
    return figure


def absent_letters() -> str | None:
    """The line about letters that no installed font has, and that stand as boxes in the pictures; None without any."""
    if not _absent:
        return None
    letters = sorted(_absent)
    _absent.clear()
    more = f" and {len(letters) - LISTED} more letters" if len(letters) > LISTED else ""
    shown = ", ".join(letters[:LISTED])
    return f"pictures show boxes for {shown}{more}: no installed font has them; one such as Noto Sans CJK would"


@contextmanager
def use_style(display: bool = False) -> Iterator[None]:
    """Draw in the project's style; without a display, unless the caller has one. `absent_letters` says what is not
    drawn."""
    sheet = resources.files("splitmerge_cli.analysis.plots") / "style.mplstyle"
    # embedding a font in a PDF is no news
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    if display:
        # a backend that is loaded later would have its settings reset with the style
        plt.draw_if_interactive()
    with resources.as_file(sheet) as path, matplotlib.rc_context():
        if not display:
            matplotlib.use("agg")
        matplotlib.style.use(["default", path])
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"Glyph \d+ .*missing from font")
            yield


def sampler_handles(samplers: Sequence[str]) -> list[Line2D]:
    """Legend entries of samplers."""
    return [entry(label=title_of(x), linewidth=1.8, **look_of(x)) for x in samplers]


def entry(**look: Any) -> Line2D:
    """A single entry of a legend: its `label`, and the looks of a line."""
    return Line2D([], [], **look)


def legend(figure: Figure, *rows: Sequence[Artist]) -> None:
    """One legend for all panels, above them, in rows of entries."""
    columns = max(len(row) for row in rows)
    blank = entry(linestyle="", label="")
    # a legend is filled column by column
    handles = [row[k] if k < len(row) else blank for k in range(columns) for row in rows]
    figure.legend(handles=handles, loc="outside upper left", ncols=columns, columnspacing=1.4, handlelength=2.4)


def plain_text(text: str) -> str:
    """Text of the user's own, of which Matplotlib is to set nothing as mathematics, in fonts that have its letters."""
    # let installed fonts supply the letters that the font of the style lacks
    families = matplotlib.rcParams["font.family"]
    needed = {letter for letter in text if ord(letter) > 0x7E and letter.isprintable()}
    for family in families if needed else ():
        known = _letters_of(fontManager.findfont(FontProperties(family=[family])))
        needed = {letter for letter in needed if ord(letter) not in known}
    for font in _fallbacks() if needed else ():
        known = _letters_of(font.fname)
        if any(ord(letter) in known for letter in needed):
            families = matplotlib.rcParams["font.family"] = [*families, font.name]
            needed = {letter for letter in needed if ord(letter) not in known}
    _absent.update(needed)
    return text.replace("$", r"\$")


def superscript(number: int) -> str:
    """An exponent as text; in a formula it would be smaller than `SMALLEST`."""
    return str(number).translate(_RAISED)


def powers(axis: Axis) -> None:
    """Label a logarithmic axis with powers of ten."""
    axis.set_major_formatter(FuncFormatter(lambda x, _: f"10{superscript(round(np.log10(x)))}" if x > 0 else ""))
    axis.set_minor_formatter(NullFormatter())


def log_ticks(axis: Axis) -> None:
    """Ticks of a logarithmic axis at powers of ten, of a short one also at three times these."""
    low, high = axis.get_view_interval()
    short = high / low < 20
    axis.set_major_locator(LogLocator(subs=(1.0, 3.0) if short else (1.0,), numticks=6))
    if short:
        axis.set_major_formatter("{x:,g}")
    else:
        powers(axis)
    axis.set_minor_locator(NullLocator())


def footnote(figure: Figure, text: str, line: int = LINE) -> None:
    """Write below all panels what a reader of the picture alone must know, in lines of `line` letters; a figure of a
    paper has one at most, the rest goes into the notes of its drawing."""
    text = "\n".join(fill(part, line, break_on_hyphens=False) for part in text.splitlines())
    figure.supxlabel(text, x=0.01, ha="left", fontsize=7, color="#444444")


def narrow(figure: Figure) -> None:
    """Set a figure at the width of a column: titles and notes in shorter lines, legends in more rows; panels of a fixed
    aspect are lower, too."""
    ratio = min(1.0, HALF / figure.get_figwidth())
    if any(ax.get_aspect() != "auto" for ax in figure.axes):
        figure.set_figheight(figure.get_figheight() * (0.4 + 0.6 * ratio))
    figure.set_figwidth(HALF)
    for ax in figure.axes:
        lines = ax.get_title(loc="left").splitlines()
        ax.set_title("\n".join(fill(line, TITLE) for line in lines), loc="left")
    if note := figure.get_supxlabel():
        footnote(figure, " ".join(note.split()), round(LINE * HALF / FULL))
    for each in list(figure.legends):
        handles = each.legend_handles
        each.remove()
        size: dict[str, Any] = {"ncols": min(4, len(handles)), "handlelength": 2.0, "fontsize": 7}
        figure.legend(handles=handles, loc="outside upper left", **size)


def save(figure: Figure, stem: Path) -> list[Path]:
    """Write ``STEM.png`` and ``STEM.pdf``, and close the figure; equal figures give equal bytes."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = [stem.with_name(f"{stem.name}.png"), stem.with_name(f"{stem.name}.pdf")]
    for path, metadata in zip(paths, [{"Software": None}, {"CreationDate": None}], strict=True):
        with files.replace_file(path) as part:
            figure.savefig(part, format=path.suffix[1:], metadata=metadata)
    plt.close(figure)
    return paths


FURTHER = (5.0, 10.0)
"""Points from a place to a text that would cover another at the place itself."""
ENDS = 3
"""Letters that a common beginning or end has at least, where it is cut out."""


def shorten_names(names: Sequence[str], most_letters: int) -> list[str]:
    """Shorten names to at most so many letters: long ones lose the words that all begin or end with, then are cut
    at their ends, or within where the ends alone differ.

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
    if len(names) > 1 and all(middle):
        names = [f"{'…' if begin else ''}{name}{'…' if end else ''}" for name in middle]
    # without its middle "strongly disagree" would read as "strongly agree"
    cut = [name if len(name) <= most_letters else f"{name[: most_letters - 1]}…" for name in names]
    return cut if len({*cut}) == len({*names}) > 1 else [shorten(name, most_letters) for name in names]


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
    """Write texts at or next to places ``[n, 2]`` of the data, in `order`; a text that would cover another is left out
    and not returned. `offset`: points from the place to the text, which stands on any of four sides; 0: on the place
    itself, or, where another text is, `FURTHER` away. `marks`: points that a mark at every place is wide, which no text
    covers; 0: it may. The limits of the axes are final."""
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
            look: dict[str, Any] = {"ha": aligned[dx], "va": above[dy], "path_effects": halo, "annotation_clip": False}
            look |= {"textcoords": "offset points", "fontsize": SMALLEST, "zorder": 8} | style
            text = ax.annotate(plain_text(texts[k]), places[k], (dx * distance, dy * distance), **look)
            box = text.get_window_extent()
            within = inside.x0 <= box.x0 and box.x1 <= inside.x1 and inside.y0 <= box.y0 and box.y1 <= inside.y1
            covers = marks and box.padded(room).count_contains(pixels)
            if within and not covers and not any(box.overlaps(other) for other in boxes):
                boxes.append(box)
                written.append(k)
                break
            text.remove()
    return written


COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#882255", "#8A8A2B")
MARKERS = ("o", "s", "^", "D", "v", "P")
"""Clusters by size: colours and markers in turn, so that clusters differ without colours too."""
ALONE = "#777777"
"""Colour of points that are alone in their cluster."""
RASTER = 3_000
"""Points from which on a PDF holds an image of them."""

Points = NDArray[np.float64]


def style_of(rank: int) -> tuple[str, str]:
    """Colour and marker of a cluster by its rank in size, 0 the largest."""
    # 24 ranks take each colour with three markers, the next 24 with the others
    return COLOURS[rank % len(COLOURS)], MARKERS[(rank + rank // 24) % len(MARKERS)]


def by_size(labels: ArrayLike) -> list[NDArray[np.int64]]:
    """Items of every cluster, the largest cluster first."""
    labels = np.asarray(labels)
    clusters = [np.flatnonzero(labels == k) for k in np.unique(labels)]
    return sorted(clusters, key=lambda items: (-len(items), items[0]))


def order_items(labels: ArrayLike, rank: ArrayLike | None = None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Order items by cluster, the largest first, in it by `rank`, the highest first: int64 ``[N]``; and the ends of the
    clusters, ``[K]``."""
    high = np.zeros(len(np.asarray(labels))) if rank is None else np.asarray(rank)
    clusters = [items[np.argsort(-high[items], kind="stable")] for items in by_size(labels)]
    return np.concatenate(clusters), np.cumsum([len(items) for items in clusters])


def scatter(
    ax: Axes,
    points: Points,
    labels: ArrayLike,
    size: float = 11.0,
    unsure: ArrayLike | None = None,
    looks: Mapping[int, tuple[str, str]] | None = None,
    alone: ArrayLike | None = None,
) -> None:
    """Draw points ``[N, 2]`` in the colours of their clusters, marks of `size` points squared; those alone in one are
    small grey crosses (`alone`, ``[N]``, where the points are some of all items), those that are `unsure`, ``[N]``, are
    open. `looks` has the colour and marker of each cluster, by default by its rank in size."""
    labels = np.asarray(labels)
    single = (np.bincount(labels) == 1)[labels] if alone is None else np.asarray(alone)
    open_ = np.zeros(len(labels), dtype=bool) if unsure is None else np.asarray(unsure)
    raster = len(labels) > RASTER
    for rank, items in enumerate(by_size(labels)):
        colour, marker = style_of(rank) if looks is None else looks[int(labels[items[0]])]
        if single[items[0]]:
            x, y = points[items].T
            ax.scatter(x, y, s=size, marker="x", color=ALONE, linewidth=0.8, zorder=5, rasterized=raster)
            continue
        filled: dict[str, Any] = {"color": colour, "edgecolor": "white", "linewidth": 0.25}
        hollow: dict[str, Any] = {"facecolor": "white", "edgecolor": colour, "linewidth": 0.7}
        for these, drawn in ((items[~open_[items]], filled), (items[open_[items]], hollow)):
            if len(these):
                x, y = points[these].T
                ax.scatter(x, y, s=size, marker=marker, zorder=5, rasterized=raster, **drawn)


def write_numbers(ax: Axes, points: Points, labels: ArrayLike, names: Sequence[str]) -> None:
    """Write names of clusters, the largest first, in the middle of the points ``[N, 2]`` of each that has several; the
    layout of the figure is final."""
    clusters = [points[items][~np.isnan(points[items]).any(axis=1)] for items in by_size(labels)]
    several = [(name, places) for name, places in zip(names, clusters, strict=True) if len(places) > 1]
    middles = np.array([np.median(places, axis=0) for _, places in several]).reshape(-1, 2)
    bold: dict[str, Any] = {"fontsize": 8, "fontweight": "bold", "color": "#111111"}
    write_apart(ax, middles, [name for name, _ in several], range(len(several)), **bold)


def numbers_by_size(run: read.Run, labels: ArrayLike) -> list[str]:
    """Numbers of clusters as the files of a run have them, the largest cluster first."""
    found = np.asarray(labels)
    names = name_clusters(found, run.summary, run.first_cluster)
    return [names[found[items[0]]] for items in by_size(found)]


def looks_of(run: read.Run, labels: ArrayLike) -> dict[int, tuple[str, str]]:
    """Choose a colour and a marker for each cluster by its rank, the largest first; rows of no cluster follow as grey
    dots."""
    found = np.asarray(labels)
    clusters, is_apart = [int(found[items[0]]) for items in by_size(found)], rows_apart(found, run.summary)
    apart = [] if is_apart is None else np.unique(found[is_apart]).tolist()
    looks = {k: style_of(rank) for rank, k in enumerate(k for k in clusters if k not in apart)}
    return looks | dict.fromkeys(apart, (ALONE, "."))
