"""The report: one page of HTML that holds its pictures."""

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from html import escape
from pathlib import Path

import pandas as pd

from splitmerge_cli.pages import html
from splitmerge_cli.papers import overview
from splitmerge_cli.papers.claims import errata, settings
from splitmerge_cli.papers.declaration import FigureSet, Paper, PaperFigure
from splitmerge_cli.papers.discovery import figure_sets
from splitmerge_cli.papers.drawing import caption_of, manifest_of
from splitmerge_cli.papers.editions import drawn_editions, edition_option, figures_folder
from splitmerge_cli.papers.experiments import list_figures
from splitmerge_cli.papers.reproduce import folders
from splitmerge_cli.papers.rules import rules
from splitmerge_cli.papers.verdict_tables import counts, expected_errors, interval, read_claims, with_unit
from splitmerge_cli.papers.verdicts import NOT_REPRODUCED, NOT_TESTABLE, REPRODUCED, UNDECIDED
from splitmerge_cli.results.files import replace_file
from splitmerge_cli.results.manifest import Manifest
from splitmerge_cli.version import __version__

FOLDER = "figures"
"""Where the results hold drawn figures."""

CLASSES = {REPRODUCED: "yes", NOT_REPRODUCED: "no", UNDECIDED: "open", NOT_TESTABLE: "open"}


def report(out: str | Path = "results", config_dir: str | Path | None = None) -> Path:
    """Write ``OUT/report.html``: every figure that was drawn, its claims and verdicts, errata and open settings.

    Pictures are within; a folder of the user's own, `config_dir`, adds its paper.

    Raises
    ------
    ConfigError
        The folder of the user's own declares no paper as it should.
    DamagedRun
        A file of a figure is not what was written.
    """
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    path = out / "report.html"
    text = page(figure_sets(config_dir), dict(list_figures(config_dir)), out, config_dir)
    with replace_file(path) as part:
        part.write_text(text, encoding="utf-8")
    return path


def has_figures(out: Path) -> bool:
    """Whether the results hold figures of papers."""
    return (out / FOLDER).is_dir()


def page(sets: Sequence[FigureSet], titles: Mapping[str, str], out: Path, config_dir: str | Path | None = None) -> str:
    """The report in HTML, of papers and comparisons and the titles of their figures, in the order of the titles."""
    folder, where = out / FOLDER, folders(out, config_dir)
    figures = {figure.id: figure for each in sets for figure in each.figures}
    of = {each.key: {figure.id for figure in each.figures} for each in sets}
    papers_first = sorted(sets, key=lambda each: not isinstance(each, Paper))
    shown = [(each, [name for name in titles if name in of[each.key]]) for each in papers_first]
    verdicts = {name: _claims(folder, name, where) for name in titles}
    body = [
        "<h1>Split-merge MCMC: figures, numbers, verdicts</h1>",
        f'<p class="soft">{date.today().isoformat()}, smcmc {escape(__version__)}</p>',
        _summary(verdicts),
        _editions(out, titles, verdicts, where),
        _contents(shown, titles, verdicts),
    ]
    for each, names in shown:
        body.append(f'<h2 id="{each.key}">{escape(each.citation)}</h2>')
        body += [_section(figures[name], titles[name], verdicts[name], folder, where) for name in names]
        body += [_errata(each), _settings(each)] if isinstance(each, Paper) else []
    return html.page("smcmc: report", map(html.Markup, body))


def _find_drawn(folder: Path, name: str, file: str, where: str) -> Path | None:
    """A file of a figure, checked to be what was written; None where the figure was not drawn."""
    if not (folder / file).is_file():
        return None
    return Manifest(manifest_of(folder, name), f"smcmc plot {name}{where} draws it anew").check(file)


def _claims(folder: Path, name: str, where: str) -> pd.DataFrame | None:
    path = _find_drawn(folder, name, f"{name}-claims.csv", where)
    return None if path is None else read_claims(path, f"smcmc plot {name}{where} draws it anew")


def _summary(verdicts: Mapping[str, pd.DataFrame | None]) -> str:
    drawn = [frame for frame in verdicts.values() if frame is not None]
    if not drawn:
        return "<p>No figure has been drawn yet: <code>smcmc reproduce all --scale quick</code></p>"
    found, wrong = counts(drawn), expected_errors(pd.concat(drawn))
    parts = [f'<span class="{CLASSES[v]}">{found[v]} {v}</span>' for v in CLASSES]
    return (
        f"<p>{len(drawn)} of {len(verdicts)} figures and tables are drawn. Published claims: {', '.join(parts)}. "
        "Each claim has one verdict, under the reading of its paper's readings.csv; what other readings give stands "
        "below it in brackets and is not counted. A claim that does not reproduce is a result; the last column of each "
        f"table says what was measured and by which rule it was judged. At most {wrong:.1f} of the verdicts that rest "
        "on an interval are expected to be wrong by chance.</p>"
    )


def _editions(out: Path, titles: Mapping[str, str], verdicts: Mapping[str, pd.DataFrame | None], where: str) -> str:
    """The verdicts by paper of each edition that was drawn, and which moved; empty where there is but one."""
    found = [overview.Edition(1, {name: frame for name, frame in verdicts.items() if frame is not None})]
    for number in drawn_editions(out):
        folder, option = out / figures_folder(number), f"{edition_option(number)}{where}"
        drawn = {name: _claims(folder, name, option) for name in titles}
        found.append(overview.Edition(number, {name: frame for name, frame in drawn.items() if frame is not None}))
    if len(found) == 1:
        return ""
    first, *later = found
    head, *rows = overview.editions_table(found)
    parts = [_listing("editions", "Editions: the same figures from other seeds", head, rows)]
    for each in later:
        pairs = overview.pair_verdicts(first, each)
        moved = overview.list_moved(pairs)
        listed = [
            f"{r.id}, {r.data}, {r.sampler}: {r.metric.replace('_', ' ')}: {r.before}, then {r.after}"
            + (" (reading, rule or tolerance changed)" if r.reread else "")
            for r in moved.itertuples(index=False)
        ]
        items = "".join(f"<li>{escape(line)}</li>" for line in listed)
        said = f"Edition {each.number}: {len(moved)} of {len(pairs)} verdicts moved."
        absent = overview.list_absent(first, each)
        said += f" Not made again: {', '.join(absent)}." if absent else ""
        parts.append(f"<p>{escape(said)}</p><ul>{items}</ul>")
    now = rules()
    last = f"; changed last in commit {now['commit']}, {now['committed']}" if now["commit"] else ""
    parts.append(f"<p class='soft'>SHA-256 of the rules as they are now: {now['digest']}{escape(last)}.</p>")
    return "\n".join(parts)


def _contents(
    sets: Sequence[tuple[FigureSet, Sequence[str]]],
    titles: Mapping[str, str],
    verdicts: Mapping[str, pd.DataFrame | None],
) -> str:
    """Table of contents, with the number of verdicts of each figure."""
    rows = []
    for each, name in [(each, name) for each, names in sets for name in names]:
        title = f"{each.name}, {titles[name]}"
        frame = verdicts[name]
        found = {} if frame is None else counts([frame], once=False).to_dict()
        scale = "not drawn" if frame is None else _scale(frame)
        cells = [f'<td class="n {css}">{found.get(v) or ""}</td>' for v, css in CLASSES.items()]
        rows.append(f'<td><a href="#{name}">{escape(title)}</a></td><td>{escape(scale)}</td>{"".join(cells)}')
    for paper in (each for each, _ in sets if isinstance(each, Paper)):
        number = len(errata(paper))
        if number:
            link = f'<a href="#{paper.key}-errata">Errata of {escape(paper.name)}</a>'
            rows.append(f'<td>{link}</td><td colspan="{1 + len(CLASSES)}">{number} found</td>')
    head = "<th>contents</th><th>scale</th>" + "".join(f'<th class="n">{verdict}</th>' for verdict in CLASSES)
    return f'<nav class="scroll">{_html_table(head, rows)}</nav>'


def _section(figure: PaperFigure, title: str, frame: pd.DataFrame | None, folder: Path, where: str) -> str:
    name = figure.id
    parts = [f'<h3 id="{name}">{escape(title)}</h3>']
    picture = _find_drawn(folder, name, f"{name}.png", where)
    if frame is None or picture is None:
        parts.append(f"<p>Not drawn yet: <code>smcmc reproduce {name}{escape(where)}</code></p>")
        return "\n".join(parts)
    data = base64.b64encode(picture.read_bytes()).decode()
    scale = _scale(frame)
    parts += [
        f'<img src="data:image/png;base64,{data}" alt="{escape(figure.shows or title)}">',
        *(f'<p class="soft">{escape(part)}</p>' for part in _read_caption(folder, name, figure.caption, where)),
        f'<div class="scroll">{_table(frame)}</div>' if len(frame) else "",
        f"<p class='soft'>{escape(name)}{f', {escape(scale)} scale' if scale else ''}. Again: "
        f"<code>smcmc reproduce {name}{f' --scale {escape(scale)}' if scale else ''}{escape(where)}</code></p>",
    ]
    return "\n".join(parts)


def _scale(frame: pd.DataFrame) -> str:
    """The scale at which a figure was judged; empty of one without claims."""
    return str(frame["scale"].iloc[0]) if len(frame) else ""


def _read_caption(folder: Path, name: str, caption: str, where: str) -> list[str]:
    """The caption of a figure and its notes; of one that was drawn before there were notes, the caption."""
    path = _find_drawn(folder, name, caption_of(folder, name).name, where)
    return [caption] if path is None else path.read_text(encoding="utf-8").strip().split("\n\n")


def _table(frame: pd.DataFrame) -> str:
    """The verdicts of a figure; a column without content is left out."""
    columns: dict[str, list[tuple[str, str]]] = {}
    for r in frame.itertuples(index=False):
        claim = str(r.metric).replace("_", " ") + (f": {r.statement}" if r.statement else "")
        verdict = r.verdict if r.counted else f"({r.verdict})"
        cells = {
            "data": (r.data, ""),
            "sampler": (r.sampler, ""),
            "claim": (claim, ""),
            "reading": (", ".join(part for part in (r.reading, r.on) if part), ""),
            "published": (with_unit(r.published, r.unit), "n"),
            "ours": (with_unit(r.ours, r.unit), "n"),
            "95 % interval": (interval(r.low, r.high), "n"),
            "n": (f"{r.n} {r.of}" if r.n else "exact" if r.rule in ("exact", "holds") else "–", "n"),
            "verdict": (verdict, f"v {CLASSES[r.verdict]}" if r.counted else "soft"),
            "why": (r.reason, ""),
        }
        for head, cell in cells.items():
            columns.setdefault(head, []).append(cell)
    columns = {head: cells for head, cells in columns.items() if any(text not in ("", "–") for text, _ in cells)}
    heads = "".join(f'<th class="{cells[0][1].partition(" ")[0]}">{head}</th>' for head, cells in columns.items())
    rows = [
        "".join(f'<td class="{css}">{escape(str(text))}</td>' for text, css in cells)
        for cells in zip(*columns.values(), strict=True)
    ]
    return _html_table(heads, rows)


def _html_table(head: str, rows: Iterable[str], attributes: str = "") -> str:
    """A table of rows whose cells are HTML."""
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table{attributes}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _errata(paper: Paper) -> str:
    """Return a paper's errata as a table: what is wrong, why, how much it matters and how to see it."""
    rows = errata(paper)
    if rows.empty:
        return ""
    cells = [
        [
            escape(r.where),
            escape(r.printed),
            f"{escape(r.correct)}<br>{_soft(r.why)}",
            escape(r.effect) + ("" if r.command == "none" else f"<br><code>{escape(r.command)}</code>"),
        ]
        for r in rows.itertuples(index=False)
    ]
    heads = ["where", "printed", "what holds, why", "effect, command"]
    return _listing(f"{paper.key}-errata", f"Errata of {paper.name}", heads, cells)


def _settings(paper: Paper) -> str:
    """Return a paper's open settings as a table, and what was chosen."""
    rows = settings(paper)
    if rows.empty:
        return ""
    code = _format_code
    cells = [
        [escape(r.setting), code(r.paper), f"{code(r.chosen)}<br>{_soft(r.why)}", code(r.sensitivity)]
        for r in rows.itertuples(index=False)
    ]
    heads = ["setting", "the paper", "chosen, why", "how much it matters"]
    return _listing(f"{paper.key}-settings", f"Settings that {paper.name} leaves open", heads, cells)


def _listing(anchor: str, title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of texts under a heading of its own; cells are HTML."""
    head = "".join(f"<th>{name}</th>" for name in heads)
    table = _html_table(head, ("".join(f"<td>{cell}</td>" for cell in row) for row in rows), ' class="texts"')
    return f'<h3 id="{anchor}">{escape(title)}</h3><div class="scroll">{table}</div>'


def _soft(text: str) -> str:
    return f'<span class="soft">{_format_code(text)}</span>'


def _format_code(text: str) -> str:
    """HTML of a text in which what stands between backticks is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
