"""Letters in pictures come from the fonts that are installed."""

import warnings
from pathlib import Path

from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager

from splitmerge_cli.analysis.plots import style


def test_letters_that_the_style_has_not_come_from_an_installed_font(tmp_path: Path) -> None:
    """A font of one Chinese letter is installed; no font has the other one, and no warning comes from the source."""
    pen = TTGlyphPen(None)
    pen.moveTo((0, 0))
    pen.lineTo((0, 700))
    pen.lineTo((500, 700))
    pen.closePath()
    font = FontBuilder(1000, isTTF=True)
    font.setupGlyphOrder([".notdef", "year"])
    font.setupCharacterMap({ord("年"): "year"})
    font.setupGlyf({".notdef": TTGlyphPen(None).glyph(), "year": pen.glyph()})
    font.setupHorizontalMetrics({".notdef": (1000, 0), "year": (1000, 0)})
    font.setupHorizontalHeader(ascent=800, descent=-200)
    font.setupNameTable({"familyName": "WenQuanYi of the test", "styleName": "Regular"})
    font.setupOS2(usWeightClass=400)
    font.setupPost()
    font.save(tmp_path / "year.ttf")

    def draw() -> Figure:
        figure, ax = style.plt.subplots()
        ax.set_title(style.plain_text("年 and 龘"))
        ax.set_xticks([0, 1], [style.plain_text("年"), "1"])
        return figure

    installed = list(fontManager.ttflist)
    try:
        fontManager.addfont(tmp_path / "year.ttf")
        with style.use_style(), warnings.catch_warnings():
            style.absent_letters()
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", r"Glyph 40856 .*missing from font")  # as within `use_style`
            written = style.save(style.draw_in_fonts(draw), tmp_path / "picture")
    finally:
        fontManager.ttflist[:] = installed
    assert [path.stat().st_size > 0 for path in written] == [True, True]
    note = style.absent_letters()
    assert note is not None and note.startswith("pictures show boxes for 龘: no installed font has them")
    assert style.absent_letters() is None
