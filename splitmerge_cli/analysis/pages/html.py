"""Parts of HTML pages, which hold their style and pictures (they load nothing, and every text is escaped once), and the
section "Does the model fit?" of a run's page.

A function takes texts as they are in the data and returns `Markup`, which is HTML; what is `Markup` already stays as it
is.
"""

import base64
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape as _escape
from io import BytesIO
from typing import TYPE_CHECKING, Any

from splitmerge_cli import config, received, terminal
from splitmerge_cli.runs import checks, initial, judgement
from splitmerge_cli.runs.draws import recorded_partitions, states_of
from splitmerge_cli.runs.store.read import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOTS = 150
"""Dots per inch of a picture."""
PIXELS = 132
"""Pixels of the page per inch of a picture."""
STYLE = """
:root { color-scheme: light dark; --ink: #1d1d1b; --soft: #5c5c58; --rule: #dddcd6; --paper: #fdfdfb; --code: #f0efe9;
        --yes: #1a7f37; --no: #b42318; --open: #8a6100; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e9e8e3; --soft: #a9a8a2; --rule: #3c3c39; --paper: #191918; --code: #2a2a28;
          --yes: #5fc97e; --no: #ff8f80; --open: #e3b341; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 2rem 1.2rem 5rem; background: var(--paper); color: var(--ink);
       font: 16px/1.5 system-ui, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.25; margin-bottom: .2rem; } h2 { margin-top: 3rem; font-size: 1.3rem; }
h3 { margin: 2.4rem 0 .3rem; font-size: 1.1rem; } p, li { max-width: 48rem; } .soft { color: var(--soft); }
a { color: inherit; }
img { display: block; max-width: 100%; height: auto; border: 1px solid var(--rule); background: white; }
figure { margin: .8rem 0 1.6rem; } figcaption { color: var(--soft); font-size: .9rem; margin-top: .3rem; }
table { border-collapse: collapse; font-size: .82rem; width: 100%; margin: .8rem 0; }
caption { text-align: left; color: var(--soft); padding: .3rem 0; }
caption span { display: block; max-width: min(48rem, calc(100vw - 2.4rem)); }
.wide { min-width: 44rem; } .auto { width: auto; } .auto th, .auto td { min-width: 4rem; }
nav a { white-space: nowrap; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid var(--rule); }
th { font-weight: 600; } tbody th { width: 14rem; }
th.n { text-align: right; white-space: nowrap; }
td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
code { background: var(--code); padding: .1rem .35rem; border-radius: 3px; font-size: .85em; overflow-wrap: anywhere; }
pre { background: var(--code); padding: .7rem .9rem; border-radius: 4px; white-space: pre-wrap; max-width: 100%; }
pre code { padding: 0; background: none; }
.v { white-space: nowrap; } .v, .strong { font-weight: 600; } .yes { color: var(--yes); } .no { color: var(--no); }
.open { color: var(--open); }
.verdict { font-size: 1.15rem; font-weight: 600; border-left: .3rem solid currentColor; padding-left: .8rem; }
.scroll { overflow-x: auto; background: linear-gradient(to left, var(--paper) 30%, transparent) right / 3rem 100%
          no-repeat local, linear-gradient(to left, var(--rule), transparent) right / 1rem 100% no-repeat scroll; }
.texts { min-width: 46rem; } .texts td { width: 30%; } .texts td:first-child { width: 12%; }
@media screen and (max-width: 44rem) {
  .first, .last { min-width: 0; } tbody th { width: 8rem; } th, td { padding: .3rem; } th.n { white-space: normal; }
  .first tr, .last tr { display: flex; flex-wrap: wrap; border-bottom: 1px solid var(--rule); }
  .first :is(th, td), .last :is(th, td) { flex: 1 1 0; border: 0; padding: .2rem .3rem; text-align: left;
                                          white-space: normal; }
  .first :is(th, td):first-child, .last :is(th, td):last-child { flex: 1 0 100%; }
}
@media print {
  :root { color-scheme: light; --ink: #000; --soft: #444; --rule: #bbb; --paper: #fff; --code: #f3f3f3;
          --yes: #1a7f37; --no: #b42318; --open: #8a6100; }
  body { max-width: none; padding: 0; font-size: 11pt; } figure, tr, pre { break-inside: avoid; }
  h2, h3, caption { break-after: avoid; } .scroll { overflow: visible; } .texts, .wide { min-width: 0; }
  nav { display: none; }
}
"""


class Markup(str):
    """A text that is HTML already."""

    __slots__ = ()


def text(value: object) -> Markup:
    """A value as HTML: escaped, letters that steer what is shown as escapes; `Markup` as it is.

    >>> text("<b> & 'c'")
    '&lt;b&gt; &amp; &#x27;c&#x27;'
    """
    return value if isinstance(value, Markup) else Markup(_escape(terminal.printable(str(value))))


def join(parts: Iterable[object], between: str = "") -> Markup:
    """Parts one after the other."""
    return Markup(between.join(map(text, parts)))


def element(tag: str, content: object = "", css: str = "", **attributes: str) -> Markup:
    """An element with its content; `css` its class."""
    all_attributes = ({"class": css} if css else {}) | attributes
    inside = "".join(f' {key}="{text(value)}"' for key, value in all_attributes.items())
    return Markup(f"<{tag}{inside}>{text(content)}</{tag}>")


def heading(level: int, content: object, anchor: str) -> Markup:
    """A heading, to which a link may lead."""
    return element(f"h{level}", content, id=anchor)


def paragraph(content: object, css: str = "") -> Markup:
    """A paragraph."""
    return element("p", content, css)


def with_code(content: str) -> Markup:
    """A text in which what stands between backticks is code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", text(content)))


def command(content: str) -> Markup:
    """A command on lines of its own."""
    return element("pre", element("code", content))


def items(entries: Iterable[object]) -> Markup:
    """A list."""
    return element("ul", join(element("li", entry) for entry in entries))


def table(
    heads: Sequence[object],
    rows: Iterable[Sequence[object]],
    caption: object = "",
    numbers: Sequence[int] = (),
    css: str = "",
) -> Markup:
    """A table with a header for every column, in a box that scrolls where it is too wide; `numbers` are the columns,
    from 0, that are set to the right. `css` is its class: ``wide`` scrolls on a narrow screen; with ``first`` or
    ``last`` that column has lines of its own there instead."""
    right = set(numbers)

    def cells(tag: str, row: Sequence[object], **attributes: str) -> Markup:
        return join(element(tag, cell, "n" if j in right else "", **attributes) for j, cell in enumerate(row))

    head = element("thead", element("tr", cells("th", heads, scope="col")))
    body = element("tbody", join(element("tr", cells("td", row)) for row in rows))
    return _table([head, body], caption, css)


def facts(rows: Iterable[tuple[object, object]], caption: object = "") -> Markup:
    """A table of names and values."""
    body = join(element("tr", join([element("th", name, scope="row"), element("td", value)])) for name, value in rows)
    return _table([element("tbody", body)], caption)


def _table(parts: Sequence[Markup], caption: object, css: str = "") -> Markup:
    above = element("caption", element("span", caption)) if caption else ""
    return element("div", element("table", join([above, *parts]), css), "scroll", tabindex="0")


def picture(figure: "Figure", alt: str, caption: object = "") -> Markup:
    """A figure within the page, which is closed, with a text that stands for it. Equal figures give equal HTML."""
    import matplotlib.pyplot as plt

    out = BytesIO()
    figure.savefig(out, format="png", dpi=DOTS, metadata={"Software": None})
    plt.close(figure)
    source = f"data:image/png;base64,{base64.b64encode(out.getvalue()).decode()}"
    width = round(PIXELS * figure.get_figwidth())
    image = Markup(f'<img src="{source}" width="{width}" alt="{text(alt)}">')
    return element("figure", join([image, element("figcaption", caption) if caption else ""]))


def page(title: str, body: Iterable[object]) -> str:
    """A whole page."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{text(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + join(body, "\n")
        + "\n</main>\n</body>\n</html>\n"
    )


def short_number(value: float | None) -> str:
    """A number of three digits, or all digits before the point; a dash for none."""
    if value is None or math.isnan(value):
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


MOST_CHECKS = 16
"""Quantities that are listed, those first in which the data are least like the model's."""


def sections_of_fit(run: Run) -> Iterator[Markup]:
    """Compare the data of a run with data that its model makes."""
    model = initial.specification_of(run).model
    try:
        dataset = initial.dataset_of(run)
        if why := checks.explain_unchecked(model, dataset):
            fit = checks.Fit([], [why])
        else:
            recorded = recorded_partitions(run)
            fit = checks.check_fit(model, dataset, states_of(run, checks.DRAWS, recorded) if len(recorded) else [])
    except (config.ConfigError, received.DataError) as error:
        yield paragraph(f"Not checked, because the data could not be loaded again: {error}")
        return
    if fit.checks:
        yield from _checks(fit, judgement.judgement_of(run).converged is False)
    if fit.unchecked:
        yield paragraph("Not checked here:")
        yield items(fit.unchecked)


def _checks(fit: checks.Fit, apart: bool) -> Iterator[Markup]:
    # what the data do not show is not alike
    measured = [each for each in fit.checks if not math.isnan(each.observed)]
    ties = [each for each in measured if each.quantity.startswith("residual dependence")]
    alone = [each for each in measured if not each.quantity.startswith("residual dependence")]
    unlike = [each for each in alone if each.is_unlike]
    tied = [each for each in ties if each.is_unlike and each.observed > each.high]
    yield paragraph(
        f"{fit.draws} data sets were drawn from the model, each with the parameters and in the clusters of a draw from "
        "the posterior. If the data differ from nearly all of these in a quantity, the model does not describe that "
        "quantity." + " The draws come from all chains, which have not converged." * apart
    )
    parts = []
    if unlike:
        parts.append(f"{len(unlike)} of {len(alone):,} quantities")
    if tied:
        parts.append(f"the ties of {len(tied):,} of {len(ties):,} pairs of columns")
    # a dependence is tested on one side
    chance = checks.EXTREME * (len(alone) + len(ties) / 2)
    if not parts:
        yield paragraph("The data do not differ from the model in any checked quantity.", "strong yes")
    elif len(unlike) + len(tied) <= chance:
        sentence = f"The data differ from what the model makes in {' and in '.join(parts)}, no more than by chance"
        yield paragraph(
            f"{sentence}: about {chance:.0f} of the quantities would differ in the model's own data.", "strong yes"
        )
    else:
        yield paragraph(f"The data differ from what the model makes in {' and in '.join(parts)}.", "strong no")
    heads = ["data", "model: median", "model: 95 %", "alike"]
    if alone:
        # those farthest off first
        alone.sort(key=lambda each: (each.share, -abs(each.observed - each.median) / max(each.high - each.low, 1e-300)))
        shown = alone[:MOST_CHECKS]
        rows = [_check_row(each) for each in shown]
        yield table(["quantity", *heads], rows, "Single quantities", [1, 2, 3], "wide first")
        if len(alone) > len(shown):
            more = sum(each.is_unlike for each in alone[len(shown) :])
            differ = f"{more or 'none'} of them differ{'s' * (more == 1)}"
            yield paragraph(f"{len(alone) - len(shown):,} more quantities; {differ}.")
    if ties:
        ties.sort(key=lambda each: each.high - each.observed)
        caption = (
            "Pairs of columns, the largest excess of the dependence over the model's first: square root of "
            "the sum of squared correlations of their residuals."
        )
        rows = [_check_row(each) for each in ties[: checks.TIES]]
        yield table(["residual dependence of", *heads], rows, caption, [1, 2, 3], "wide first")


def _check_row(each: Any) -> list[object]:
    alike = element("span", "no" if each.is_unlike else "yes", "v no" if each.is_unlike else "v yes")
    observed, median, low, high = map(short_number, (each.observed, each.median, each.low, each.high))
    tie = each.quantity.startswith("residual dependence")
    return [each.subject if tie else f"{each.subject}: {each.quantity}", observed, median, f"{low} to {high}", alike]
