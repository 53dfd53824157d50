"""The report: one page of HTML that holds its pictures."""

import base64
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path

import pandas as pd

from splitmerge_cli.analysis.pages import html
from splitmerge_cli.analysis.pages.html import Markup, element, heading, join, paragraph, table
from splitmerge_cli.papers import drawing, experiments, reproduce
from splitmerge_cli.papers.claims import errata, settings
from splitmerge_cli.papers.declaration import FigureSet, Paper, PaperFigure, figure_sets
from splitmerge_cli.papers.verdict_tables import counts, expected_errors, interval, read_claims, with_unit
from splitmerge_cli.papers.verdicts import NOT_REPRODUCED, REPRODUCED, VERDICTS
from splitmerge_cli.runs.store.files import replace_file
from splitmerge_cli.runs.store.manifest import Manifest
from splitmerge_cli.version import __version__

FOLDER = "figures"
"""Where the results hold drawn figures."""

KEPT = Path(__file__).with_name("kept.csv")
"""The verdicts that count in the repository's stored reproduction: their number by figure."""
CLASSES = dict.fromkeys(VERDICTS, "open") | {REPRODUCED: "yes", NOT_REPRODUCED: "no"}


def report(out: str | Path = "results", config_dir: str | Path | None = None) -> Path:
    """Write ``OUT/report.html``: every figure that was drawn, its claims and verdicts, errata and open settings.

    Pictures are within; a folder of the user's own, `config_dir`, adds its paper (a `ConfigError` if it declares none
    as it should). A `DamagedRun` if a file of a figure is not what was written.
    """
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    path = out / "report.html"
    text = page(figure_sets(config_dir), dict(experiments.list_figures(config_dir)), out, config_dir)
    with replace_file(path) as part:
        part.write_text(text, encoding="utf-8")
    return path


def has_figures(out: Path) -> bool:
    """Whether the results hold figures of papers."""
    return (out / FOLDER).is_dir()


def page(sets: Sequence[FigureSet], titles: Mapping[str, str], out: Path, config_dir: str | Path | None = None) -> str:
    """The report in HTML, of papers and comparisons and the titles of their figures, in the order of the titles."""
    folder, where = out / FOLDER, reproduce.folders(out, config_dir)
    figures = {figure.id: figure for each in sets for figure in each.figures}
    ids_by_key = {each.key: {figure.id for figure in each.figures} for each in sets}
    papers_first = sorted(sets, key=lambda each: not isinstance(each, Paper))
    shown = [(each, [name for name in titles if name in ids_by_key[each.key]]) for each in papers_first]
    verdicts = {name: _claims(folder, name, where) for name in titles}
    body = [
        element("h1", "Split-merge MCMC: figures, numbers, verdicts"),
        paragraph(f"{date.today().isoformat()}, smcmc {__version__}", "soft"),
        _summary(verdicts),
        _contents(shown, titles, verdicts),
    ]
    for each, names in shown:
        body.append(heading(2, each.citation, each.key))
        for name in names:
            body += _section(figures[name], titles[name], verdicts[name], folder, where)
        body += [*_errata(each), *_settings(each)] if isinstance(each, Paper) else []
    return html.page("smcmc: report", body)


def _find_drawn(folder: Path, name: str, file: str, where: str) -> Path | None:
    """A file of a figure, checked to be what was written; None where the figure was not drawn."""
    if not (folder / file).is_file():
        return None
    return Manifest(drawing.manifest_of(folder, name), f"smcmc plot {name}{where} draws it again").check(file)


def _claims(folder: Path, name: str, where: str) -> pd.DataFrame | None:
    path = _find_drawn(folder, name, f"{name}-claims.csv", where)
    return None if path is None else read_claims(path, f"smcmc plot {name}{where} draws it again")


def _summary(verdicts: Mapping[str, pd.DataFrame | None]) -> Markup:
    drawn = [frame for frame in verdicts.values() if frame is not None]
    if not drawn:
        return paragraph(html.with_code("No figure has been drawn yet: `smcmc reproduce all --scale quick`"))
    verdict_counts, wrong = counts(drawn), expected_errors(pd.concat(drawn))
    parts = join([element("span", f"{verdict_counts[v]} {v}", css) for v, css in CLASSES.items()], ", ")
    quick = sum(_scale(frame) == "quick" for frame in drawn)
    scale = f"At quick scale ({quick} of the figures): it is the paper scale that counts. " if quick else ""
    return paragraph(
        join(
            [
                f"{scale}{len(drawn)} of {len(verdicts)} figures and tables are drawn. Published claims: ",
                parts,
                ". Each claim has one verdict, under the reading of its paper's readings.csv; what other readings "
                "give stands below it in brackets and is not counted. A claim that does not reproduce is a result; the "
                "last column of each table says what was measured and by which rule it was judged. At most "
                f"{wrong:.1f} of the verdicts that rest on an interval are expected to be wrong by chance.",
            ]
        )
    )


def _contents(
    sets: Sequence[tuple[FigureSet, Sequence[str]]],
    titles: Mapping[str, str],
    verdicts: Mapping[str, pd.DataFrame | None],
) -> Markup:
    """Table of contents, with the number of verdicts of each figure."""
    rows: list[list[object]] = []
    kept = pd.read_csv(KEPT, index_col="id").to_dict("index")
    is_quick = any(frame is not None and _scale(frame) == "quick" for frame in verdicts.values())
    for each, name in [(each, name) for each, names in sets for name in names]:
        frame = verdicts[name]
        verdict_counts = {} if frame is None else counts([frame], once=False).to_dict()
        cells = {v: str(verdict_counts.get(v) or "") for v in CLASSES}
        if frame is not None and _scale(frame) == "quick" and name in kept:
            cells = {v: f"{cells[v] or 0} ({kept[name][v]})" if cells[v] or kept[name][v] else "" for v in CLASSES}
        numbers = [element("span", cells[v], css) for v, css in CLASSES.items()]
        link = element("a", f"{each.name}, {titles[name]}", href=f"#{name}")
        rows.append([link, "not drawn" if frame is None else _scale(frame), *numbers])
    for paper in (each for each, _ in sets if isinstance(each, Paper)):
        if number := len(errata(paper)):
            link = element("a", f"Errata of {paper.name}", href=f"#{paper.key}-errata")
            rows.append([link, f"{number} found", *[""] * len(CLASSES)])
    head = "At quick scale; in brackets what is kept at paper scale" if is_quick else "contents"
    return element("nav", table([head, "scale", *CLASSES], rows, numbers=range(2, 2 + len(CLASSES))))


def _section(figure: PaperFigure, title: str, frame: pd.DataFrame | None, folder: Path, where: str) -> Iterator[Markup]:
    name = figure.id
    yield heading(3, title, name)
    picture = _find_drawn(folder, name, f"{name}.png", where)
    if frame is None or picture is None:
        yield paragraph(join(["Not drawn yet: ", element("code", f"smcmc reproduce {name}{where}")]))
        return
    data = base64.b64encode(picture.read_bytes()).decode()
    scale = _scale(frame)
    yield Markup(f'<img src="data:image/png;base64,{data}" alt="{html.text(figure.shows or title)}">')
    # the caption of a figure and its notes; of one that was drawn before there were notes, the caption
    path = _find_drawn(folder, name, drawing.caption_of(folder, name).name, where)
    for part in [figure.whole_caption] if path is None else path.read_text(encoding="utf-8").strip().split("\n\n"):
        yield paragraph(part, "soft")
    if len(frame):
        yield _table(frame)
    again = element("code", f"smcmc reproduce {name}{f' --scale {scale}' if scale else ''}{where}")
    yield paragraph(join([f"{name}{f', {scale} scale' if scale else ''}. Again: ", again]), "soft")


def _scale(frame: pd.DataFrame) -> str:
    """The scale at which a figure was judged; empty of one without claims."""
    return str(frame["scale"].iloc[0]) if len(frame) else ""


def _table(frame: pd.DataFrame) -> Markup:
    """The verdicts of a figure; a column without content is left out."""
    columns: dict[str, list[str]] = {}
    for r in frame.itertuples(index=False):
        verdict = r.verdict if r.counted else f"({r.verdict})"
        cells = {
            "data": r.data,
            "sampler": r.sampler,
            "claim": r.metric.replace("_", " ") + (f": {r.statement}" if r.statement else ""),
            "reading": ", ".join(part for part in (r.reading, r.on) if part),
            "published": with_unit(r.published, r.unit),
            "ours": with_unit(r.ours, r.unit),
            "95 % interval": interval(r.low, r.high),
            "n": f"{r.n} {r.of}" if r.n else "exact" if r.rule in ("exact", "holds") else "–",
            "verdict": element("span", verdict, f"v {CLASSES[r.verdict]}" if r.counted else "soft"),
            "why": r.reason,
        }
        for head, cell in cells.items():
            columns.setdefault(head, []).append(cell)
    columns = {head: cells for head, cells in columns.items() if not {*cells} <= {"", "–"}}
    numbers = [j for j, head in enumerate(columns) if head in ("published", "ours", "95 % interval", "n")]
    return table(list(columns), zip(*columns.values(), strict=True), numbers=numbers)


def _errata(paper: Paper) -> list[Markup]:
    """Return a paper's errata as a table: what is wrong, why, how much it matters and how to see it."""
    cells = []
    for r in errata(paper).itertuples(index=False):
        effect = r.effect if r.command == "none" else _lines(r.effect, element("code", r.command))
        cells.append([r.where, r.printed, _lines(r.correct, _soft(r.why)), effect])
    heads = ["where", "printed", "what holds, why", "effect, command"]
    return _listing(f"{paper.key}-errata", f"Errata of {paper.name}", heads, cells) if cells else []


def _settings(paper: Paper) -> list[Markup]:
    """Return a paper's open settings as a table, and what was chosen."""
    code = html.with_code
    cells = [
        [r.setting, code(r.paper), _lines(code(r.chosen), _soft(r.why)), code(r.sensitivity)]
        for r in settings(paper).itertuples(index=False)
    ]
    heads = ["setting", "the paper", "chosen, why", "how much it matters"]
    title = f"Settings that {paper.name} leaves open"
    return _listing(f"{paper.key}-settings", title, heads, cells) if cells else []


def _listing(anchor: str, title: str, heads: Sequence[str], rows: Sequence[Sequence[object]]) -> list[Markup]:
    """A table of texts under a heading of its own."""
    return [heading(3, title, anchor), table(heads, rows, css="texts")]


def _lines(*parts: object) -> Markup:
    return join(parts, "<br>")


def _soft(text: str) -> Markup:
    return element("span", html.with_code(text), "soft")
