"""Kept pictures show the readings that count: the numbers that the counted verdicts name are those drawn.

Every picture has them in the cells of its table or on the strip below it, whichever edition judged them last."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from editions.counted import LEFT, RIGHT, in_cells, mark_of, scale_of, settle, share_of, strip, strip_row
from editions.kept import picture_of
from editions.overview import LatestFigure, latest_figures
from editions.pictures import counted_claims as last_claims
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text

from splitmerge_cli.analysis.plots.style import colour_of, use_style
from splitmerge_cli.papers import declaration, verdict_tables
from splitmerge_cli.papers.arm.tables import plus_minus
from splitmerge_cli.papers.verdicts import NOT_REPRODUCED, REPRODUCED

pytestmark = pytest.mark.xdist_group("pictures")
KEPT = Path(__file__).resolve().parents[2] / "docs" / "reproduction" / "edition-2"


def read(name: str) -> pd.DataFrame:
    """A kept table, packed or not."""
    return pd.read_csv(next(KEPT.glob(f"{name}.csv*")), keep_default_na=False, na_values=[""])


@cache
def last_edition(name: str) -> tuple[Path, pd.DataFrame, pd.DataFrame]:
    """The folder of a figure's last edition, its counted claims, and the units that they rest on."""
    folder = latest()[name].folder
    return folder, *last_claims(folder, name)


@cache
def latest() -> dict[str, LatestFigure]:
    """Every figure in its last edition: indices of all editions are read for it."""
    return latest_figures(KEPT.parent)


PAPERS = [figure.id for paper in declaration.papers() for figure in paper.figures]
WORDS = {"arm": lambda x: plus_minus(x, np.nan), "lshsm": lambda x: f"{x:.2f}", "triadic": lambda x: f"{x:.3f}"}
WORDS["arm-table2"] = lambda x: f"{x:,.0f}" if x >= 1_000 else f"{x:.1f}"
"""How a table, or all tables of a paper, write a number."""


def texts(figure: Figure) -> list[str]:
    """All texts of a figure."""
    return [text.get_text() for ax in figure.axes for text in ax.texts]


@pytest.fixture
def draw() -> Iterator[object]:
    """Draw a kept figure from its numbers."""

    def picture(name: str, numbers: pd.DataFrame | None = None) -> Figure:
        function = picture_of(declaration.figures()[name])
        assert function is not None
        return function(read(name) if numbers is None else numbers)

    with use_style():
        yield picture
    plt.close("all")


def points(figure: Figure, axes: slice = slice(None)) -> set[tuple[str, float, float]]:
    """Colour and place of every point that panels draw."""
    found = set()
    for line in (line for ax in figure.axes[axes] for line in ax.lines):
        places = zip(np.atleast_1d(line.get_xdata()), np.atleast_1d(line.get_ydata()), strict=True)
        found |= {(to_hex(line.get_markerfacecolor()), float(x), float(y)) for x, y in places}
    return found


def draw_last_edition(draw, name: str) -> tuple[Figure, pd.DataFrame]:
    """Draw a kept figure with the numbers of later editions, and return it with its counted claims."""
    _, claims, units = last_edition(name)
    return draw(name, settle(name, read(name), claims[claims["other"]], units)), claims


def test_filled_shares_are_those_that_count(draw):
    figure, claims = draw_last_edition(draw, "sdds-fig4")
    shares = {(colour, y) for colour, _, y in points(figure, slice(8, None)) if colour != "#ffffff"}
    for claim in claims.query("metric in ('posterior_mean_K', 'does_not_reach_K') and published == 10").itertuples():
        k, n = share_of(claim)
        share = k / n if claim.metric == "posterior_mean_K" else 1 - k / n
        assert any(colour == to_hex(colour_of(claim.sampler)) and np.isclose(y, share) for colour, y in shares), claim


def test_r_hat_by_number_of_chains_is_that_of_the_last_edition(draw):
    figure, claims = draw_last_edition(draw, "arm-fig6a")
    drawn = {round(y, 2) for _, _, y in points(figure)}
    for claim in claims.query("metric == 'improves_with_chains'").itertuples():
        told = re.findall(r"\d+: (\d+\.\d+)", claim.reason)
        assert len(told) == 4 and drawn >= {float(rhat) for rhat in told}, claim.data


@pytest.mark.parametrize("name", PAPERS)
def test_no_text_of_the_strip_touches_another_or_a_scale(name):
    _, claims, _ = last_edition(name)
    with use_style():
        below = strip(name, claims, declaration.figures()[name].difference)
        if below is None:
            return
        renderer = below.canvas.get_renderer()
        width = below.bbox.width
        rows: dict[float, list[tuple[float, float]]] = {}
        for text in filter(Text.get_text, below.axes[0].texts):
            box = text.get_window_extent(renderer)
            rows.setdefault(text.get_position()[1], []).append((box.x0, box.x1))
        for boxes in rows.values():
            boxes.sort()
            assert boxes[-1][1] <= width, name
            assert all(one[1] < other[0] for one, other in pairwise(boxes)), (name, boxes)
            if len(boxes) > 2:
                assert boxes[0][1] < 0.01 * width + 0.98 * width * (LEFT - 0.02), name
    plt.close("all")


def differences_of_the_page() -> dict[str, tuple[str, str]]:
    """The table of docs/figures.md: the figures that differ from the paper's, in what, and why."""
    page = (KEPT.parents[1] / "figures.md").read_text(encoding="utf-8")
    rows = page.partition("| figure | differs in | why |\n|---|---|---|\n")[2].partition("\n\n")[0].splitlines()
    return {name: (what.strip(), why.strip()) for _, name, what, why, _ in (row.split("|") for row in rows)}


def test_captions_give_every_difference_that_the_page_lists_and_no_other():
    listed = {
        name: tuple(words)
        for key, *words in ((key, *both) for key, both in differences_of_the_page().items())
        for name in re.findall("`([^`]+)`", key)
    }
    declared = {
        name: ("; ".join(figure.differs), "; ".join(figure.differs.values()))
        for name, figure in declaration.figures().items()
        if figure.differs
    }
    assert listed == declared


@pytest.mark.parametrize("name", [name for name in PAPERS if declaration.figures()[name].differs])
def test_page_picture_and_caption_say_in_what_a_figure_differs_and_why(name):
    figure = declaration.figures()[name]
    _, claims, _ = last_edition(name)
    on_picture = " ".join(texts(strip(name, claims, figure.difference)))
    for what, why in figure.differs.items():
        assert f"{what} ({why})" in figure.whole_caption
        assert f"{what} ({why})" in on_picture


@pytest.mark.parametrize("name", PAPERS)
def test_each_counted_number_is_among_those_drawn(draw, name):
    folder, claims, units = last_edition(name)
    claims = claims[claims["ours"].notna()]
    cells = claims[in_cells(name, claims)]
    below = strip(name, claims)
    rows = set() if below is None else set(texts(below))
    for claim in claims.drop(cells.index).itertuples():
        assert mark_of(claim) or not claim.other
        words = f"{claim.data}, {claim.sampler}: {claim.metric.replace('_', ' ')}{mark_of(claim)}"
        assert words in rows and any(text.startswith(verdict_tables.number(claim.ours)) for text in rows), claim
    if cells.empty:
        return
    compute = declaration.figures()[name].compute
    numbers = pd.read_csv(next(folder.glob(f"{name}.csv*")), keep_default_na=compute is None)
    numbers = settle(name, numbers, claims[claims["other"]], units)
    drawn = {words for text in texts(draw(name, numbers)) for words in text.replace("*", "").replace("†", "").split()}
    words = WORDS.get(name, WORDS[name.partition("-")[0]])
    for claim in cells.itertuples():
        assert words(claim.ours) in drawn, (claim.data, claim.sampler, claim.metric)


@pytest.mark.parametrize("name", PAPERS)
def test_a_line_on_the_strip_lies_within_the_band_where_it_is_reproduced(name):
    _, claims, _ = last_edition(name)
    for claim in claims[claims["ours"].notna()].itertuples():
        ours, below, above, _, ends = strip_row(claim)
        if not np.isfinite([below, above]).all() or np.isnan(ends).any() or "sets of four" in claim.reason:
            continue
        place = scale_of(claim)
        low, high = (np.clip(place(end), LEFT, RIGHT) for end in ends)
        first, last = place(below), place(above)
        assert LEFT <= first <= place(ours) <= last <= RIGHT
        found = REPRODUCED if low <= first and last <= high else NOT_REPRODUCED if last < low or first > high else ""
        if claim.verdict in (REPRODUCED, NOT_REPRODUCED):
            assert claim.verdict == found, (claim.data, claim.sampler, claim.metric)
