"""Whether figures can be printed: what is found in one that cannot, and that every figure of a paper is drawn by tests.

The fixture `printable` of conftest.py looks for problems in every figure that a test draws.
"""

import re
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from printing import APART, lightness, problems

from splitmerge_cli.analysis.plots.style import (
    CYCLE,
    FULL,
    HALF,
    chain_look,
    colour_of,
    footnote,
    legend,
    look_of,
    marker_of,
    marks_along,
    powers,
    sampler_handles,
    save,
    superscript,
    title_of,
    use_style,
)
from splitmerge_cli.config import choices, figure_styles
from splitmerge_cli.papers import declaration

TOGETHER = [
    ("sdds", "ss", "rgsm", "rm", "gibbs"),
    ("rgsm", "sdds", "sams", "lshsm"),
    ("gibbs", "sm", "bsm", "sarm", "arm"),
    ("dyadic", "neal8", "triadic"),
    ("gibbs", "smag"),
]
"""Samplers that the figures of a paper compare."""


def plain(width: float = FULL) -> Figure:
    figure, ax = plt.subplots(figsize=(width, 2.0))
    ax.plot([1, 100], [1, 2], **look_of("sdds"))
    ax.plot([1, 100], [2, 1], **look_of("rgsm"))
    legend(figure, sampler_handles(["sdds", "rgsm"]))
    footnote(figure, "One line.")
    return figure


def wide(figure: Figure) -> None:
    figure.set_figwidth(5.0)


def small(figure: Figure) -> None:
    figure.axes[0].set_title("small", fontsize=5.9)


def index(figure: Figure) -> None:
    figure.axes[0].set_title("$K_0$", fontsize=8)


def exponents(figure: Figure) -> None:
    figure.axes[0].set_xscale("log")


def beyond(figure: Figure) -> None:
    figure.text(0.9, 0.5, "far beyond the edge of the page")


def overlapping_texts(figure: Figure) -> None:
    for at in (0.5, 0.51):
        figure.axes[0].text(at, 0.5, "over", transform=figure.axes[0].transAxes)


def two_lines(figure: Figure) -> None:
    footnote(figure, "word " * 60)


def unreadable_line(figure: Figure) -> None:
    figure.axes[0].plot([1, 100], [1.5, 1.5], **look_of("rgsm") | {"color": colour_of("ss")})


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (wide, "127.0 mm wide"),
        (small, "5.9 pt: small"),
        (index, "5.6 pt: $K_0$"),
        (exponents, "4.9 pt: "),
        (beyond, "beyond the page: far"),
        (overlapping_texts, "written over each other: over and over"),
        (two_lines, "a note of 3 lines"),
        (unreadable_line, "differ in colour alone"),
    ],
)
def test_what_cannot_be_printed_is_told(spoil: Callable[[Figure], None], said: str) -> None:
    with use_style():
        figure = plain()
        assert problems(figure) == []
        spoil(figure)
        found = problems(figure)
        plt.close(figure)
    assert found and all(said in problem for problem in found)


def test_a_column_is_a_width_and_powers_of_ten_are_text() -> None:
    with use_style():
        figure = plain(HALF)
        figure.axes[0].set_xscale("log")
        powers(figure.axes[0].xaxis)
        assert problems(figure) == []
        assert "10²" in [label.get_text() for label in figure.axes[0].get_xticklabels()]
        plt.close(figure)
    assert superscript(-15) == "⁻¹⁵"


@pytest.mark.parametrize("width", [FULL, HALF])
def test_a_pdf_is_as_wide_as_it_is_printed_and_holds_lines_and_letters(width: float, tmp_path: Path) -> None:
    with use_style():
        pdf = save(plain(width), tmp_path / "plain")[1].read_bytes()
    box = re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ", pdf)
    assert box and float(box[1]) == pytest.approx(72 * width, abs=0.01)
    assert b"/FontFile2" in pdf and b"/Subtype /Image" not in pdf


def test_lightness_is_that_of_the_cie() -> None:
    # published values of the corners of sRGB
    found = [lightness(colour) for colour in ("#000000", "#FFFFFF", "#FF0000", "#00FF00", "#0000FF", "#777777")]
    assert found == pytest.approx([0, 100, 53.24, 87.73, 32.30, 50.03], abs=0.02)


@pytest.mark.parametrize("samplers", TOGETHER)
def test_samplers_that_are_compared_differ_in_lightness(samplers: tuple[str, ...]) -> None:
    for a, b in combinations(samplers, 2):
        assert abs(lightness(colour_of(a)) - lightness(colour_of(b))) >= APART, (a, b)


def test_no_two_samplers_have_the_same_marker_and_dashes() -> None:
    looks = {name: (style["marker"], str(style.get("dashes"))) for name, style in figure_styles().items()}
    assert set(looks) == set(choices("sampler")) - {"auto"}
    assert len(set(looks.values())) == len(looks)
    colours = [style["colour"] for style in figure_styles().values() if "colour" in style]
    assert len(set(colours)) == len(colours)


@pytest.mark.parametrize("samplers", TOGETHER)
def test_samplers_that_are_compared_have_markers_of_their_own(samplers: tuple[str, ...]) -> None:
    """Where dashes are another thing, a marker is the only sign without colour."""
    assert len({marker_of(name) for name in samplers}) == len(samplers)


def test_chains_of_a_sampler_differ_in_dashes_or_lightness() -> None:
    looks = [chain_look(colour_of("gibbs"), k, 8) for k in range(8)]
    for a, b in combinations(looks, 2):
        assert a["linestyle"] != b["linestyle"] or abs(lightness(a["color"]) - lightness(b["color"])) >= APART


def test_a_sampler_without_a_style_keeps_one_colour_and_its_name() -> None:
    assert colour_of("mine") == colour_of("mine") and colour_of("mine") in CYCLE
    assert title_of("mine") == "mine" and title_of("neal8") == "algorithm 8"


def test_every_figure_is_drawn_by_some_test() -> None:
    files = Path(__file__).parent.glob("test_figures*.py")
    text = "".join(file.read_text(encoding="utf-8") for file in files if file != Path(__file__))
    for name, entry in declaration.figures().items():
        module, _, function = str(entry.draw).rpartition(".")
        drawn = rf"\b(\w+_)?{module}\.{function}[(,]" if entry.compute is None else rf'"{name}"'
        assert re.search(drawn, text), name


def test_a_line_without_a_point_is_drawn_without_marks():
    with use_style():
        figure, ax = plt.subplots()
        none = np.full(3, np.nan)
        ax.plot([1, 2, 3], none, **look_of("sdds"), **marks_along(none, 0, 2))
        ax.plot([1, 2, 3], [1, 2, 3], **look_of("sdds"), **marks_along([1, 2, 3], 1, 2))
        figure.canvas.draw()
        assert ax.lines[0].get_markevery() is None and ax.lines[1].get_markevery() is not None
