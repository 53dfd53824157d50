"""The report: one page of HTML that holds its pictures."""

import base64
import shlex
from collections.abc import Mapping, Sequence
from datetime import date
from html import escape
from pathlib import Path

import pandas as pd

from splitmerge_cli import __version__
from splitmerge_cli.figures import claims
from splitmerge_cli.figures.base import manifest_of
from splitmerge_cli.results.manifest import Manifest

PAPERS = {
    "sdds": "Wang & Russell: A Smart-Dumb/Dumb-Smart Algorithm for Efficient Split-Merge MCMC (UAI 2015)",
    "lshsm": "Luo & Shrivastava: Scaling-up Split-Merge MCMC with Locality Sensitive Sampling (LSS)",
    "smag": "Rana, Phung & Venkatesh: Split-Merge Augmented Gibbs Sampling for Hierarchical Dirichlet Processes",
    "arm": "Herlau, Mørup, Teh & Schmidt: Adaptive Reconfiguration Moves for MCMC Inference in Dirichlet Process "
    "Mixtures",
    "triadic": "van Rossum, Lin, Dubbeldam & van den Herik: Triadic Split-Merge Sampler",
}
NUMBERS = {"sdds": "000", "lshsm": "001", "smag": "002", "arm": "003", "triadic": "004"}

STYLE = """
:root { color-scheme: light; --ink: #1d1d1b; --soft: #5c5c58; --rule: #dddcd6; --paper: #fdfdfb; }
body { margin: 0 auto; max-width: 62rem; padding: 2rem 1.2rem 5rem; background: var(--paper); color: var(--ink);
       font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.7rem; margin-bottom: .2rem; } h2 { margin-top: 3rem; font-size: 1.3rem; }
h3 { margin: 2.4rem 0 .3rem; font-size: 1.1rem; } p { max-width: 48rem; } .soft { color: var(--soft); }
img { width: 100%; height: auto; border: 1px solid var(--rule); background: white; }
table { border-collapse: collapse; font-size: .82rem; width: 100%; margin: .8rem 0; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid var(--rule); }
th { font-weight: 600; }
th.n { text-align: right; }
td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
code { background: #f0efe9; padding: .1rem .35rem; border-radius: 3px; font-size: .85em; }
.v { white-space: nowrap; font-weight: 600; } .yes { color: #1a7f37; } .no { color: #b42318; } .open { color: #8a6100; }
.scroll { overflow-x: auto; }
"""
CLASSES = {claims.REPRODUCED: "yes", claims.NOT_REPRODUCED: "no", claims.NOT_TESTABLE: "open", claims.UNDECIDED: "open"}


def page(figures: Sequence[tuple[str, str]], captions: Mapping[str, str], folder: Path, out: Path) -> str:
    """The report.

    Parameters
    ----------
    figures : sequence of (id, title)
    captions : mapping of str to str
        What each figure shows, by id.
    folder : Path
        Where pictures and claims are.
    out : Path
        The folder of the results, for the commands.

    Returns
    -------
    str
        HTML.
    """
    verdicts = {name: _claims(folder, name, out) for name, _ in figures}
    papers = list(dict.fromkeys(name.partition("-")[0] for name, _ in figures))
    body = [
        "<h1>Split-merge MCMC: figures, numbers, verdicts</h1>",
        f'<p class="soft">{date.today().isoformat()}, smcmc {escape(__version__)}</p>',
        _summary(verdicts),
        _contents(figures, verdicts, papers),
    ]
    for paper in papers:
        body.append(f'<h2 id="{paper}">{escape(_paper(paper))}</h2>')
        body += [
            _section(n, title, captions[n], verdicts[n], folder, out)
            for n, title in figures
            if n.startswith(f"{paper}-")
        ]
        body.append(_errata(paper))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>smcmc: report</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def _paper(paper: str) -> str:
    """Number and title of a paper; what is not known is named by its prefix."""
    return f"Paper {NUMBERS[paper]}: {PAPERS[paper]}" if paper in PAPERS else paper


def _option(out: Path) -> str:
    """What a command says of the folder of the results."""
    return "" if str(out) == "results" else f" --out {shlex.quote(str(out))}"


def _drawn(folder: Path, name: str, file: str, out: Path) -> Path | None:
    """A file of a figure, checked to be what was written; None where the figure was not drawn."""
    if not (folder / file).is_file():
        return None
    return Manifest(manifest_of(folder, name), f"smcmc plot {name}{_option(out)} draws it anew").check(file)


def _claims(folder: Path, name: str, out: Path) -> pd.DataFrame | None:
    path = _drawn(folder, name, f"{name}-claims.csv", out)
    words = ["data", "sampler", "reading", "unit", "reason", "statement"]
    return None if path is None else pd.read_csv(path, dtype=dict.fromkeys(words, str)).fillna(dict.fromkeys(words, ""))


def _summary(verdicts: Mapping[str, pd.DataFrame | None]) -> str:
    drawn = [frame for frame in verdicts.values() if frame is not None]
    if not drawn:
        return "<p>No figure has been drawn yet: <code>smcmc reproduce all --scale quick</code></p>"
    counts = _shown(pd.concat(drawn)).value_counts()
    parts = [f'<span class="{CLASSES[v]}">{counts.get(v, 0)} {v}</span>' for v in CLASSES]
    return (
        f"<p>{len(drawn)} of {len(verdicts)} figures and tables are drawn. Published claims: {', '.join(parts)}. "
        "A claim that leaves a choice of reading is judged under each. A claim that does not reproduce is a result; "
        "the last column of each table says what was measured and by which rule it was judged.</p>"
    )


def _shown(frame: pd.DataFrame) -> pd.Series:
    """Verdicts for a reader: what is not testable only for lack of chains or iterations is undecided."""
    return frame["verdict"].mask(frame["reason"].str.startswith(claims.UNDECIDED), claims.UNDECIDED)


def _contents(
    figures: Sequence[tuple[str, str]], verdicts: Mapping[str, pd.DataFrame | None], papers: Sequence[str]
) -> str:
    """Table of contents, with the number of verdicts of each figure."""
    rows = []
    for name, title in figures:
        frame = verdicts[name]
        counts = {} if frame is None else _shown(frame).value_counts().to_dict()
        scale = "not drawn" if frame is None else str(frame["scale"].iloc[0])
        cells = [f'<td class="n {css}">{counts.get(v, "")}</td>' for v, css in CLASSES.items()]
        rows.append(f'<tr><td><a href="#{name}">{escape(title)}</a></td><td>{escape(scale)}</td>{"".join(cells)}</tr>')
    for paper in papers:
        number = len(_errata_rows(paper))
        if number:
            link = f'<a href="#{paper}-errata">Errata of paper {NUMBERS[paper]}</a>'
            rows.append(f'<tr><td>{link}</td><td colspan="{1 + len(CLASSES)}">{number} found</td></tr>')
    head = "<th>contents</th><th>scale</th>" + "".join(f'<th class="n">{verdict}</th>' for verdict in CLASSES)
    body = "".join(rows)
    return f'<nav class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></nav>'


def _section(name: str, title: str, caption: str, frame: pd.DataFrame | None, folder: Path, out: Path) -> str:
    where = _option(out)
    parts = [f'<h3 id="{name}">{escape(title)}</h3>']
    picture = _drawn(folder, name, f"{name}.png", out)
    if frame is None or picture is None:
        parts.append(f"<p>Not drawn yet: <code>smcmc reproduce {name}{escape(where)}</code></p>")
        return "\n".join(parts)
    data = base64.b64encode(picture.read_bytes()).decode()
    scale = str(frame["scale"].iloc[0])
    parts += [
        f'<p class="soft">{escape(caption)}</p>',
        f'<img src="data:image/png;base64,{data}" alt="{escape(title)}">',
        f'<div class="scroll">{_table(frame)}</div>',
        f"<p class='soft'>{escape(name)}, {escape(scale)} scale. Again: "
        f"<code>smcmc reproduce {name} --scale {escape(scale)}{escape(where)}</code></p>",
    ]
    return "\n".join(parts)


def _table(frame: pd.DataFrame) -> str:
    """The verdicts of a figure; a column without content is left out."""
    columns: dict[str, list[tuple[str, str]]] = {}
    for r, shown in zip(frame.itertuples(index=False), _shown(frame), strict=True):
        claim = str(r.metric).replace("_", " ") + (f": {r.statement}" if r.statement else "")
        cells = {
            "data": (r.data, ""),
            "sampler": (r.sampler, ""),
            "claim": (claim, ""),
            "reading": (r.reading, ""),
            "published": (claims.with_unit(r.published, r.unit), "n"),
            "ours": (claims.with_unit(r.ours, r.unit), "n"),
            "95 % interval": (claims.interval(r.low, r.high), "n"),
            "chains": (str(r.chains or "exact"), "n"),
            "verdict": (shown, f"v {CLASSES[shown]}"),
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
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def _errata_rows(paper: str) -> pd.DataFrame:
    return claims.errata(NUMBERS.get(paper, ""))


def _errata(paper: str) -> str:
    rows = _errata_rows(paper)
    if rows.empty:
        return ""
    body = "".join(
        f"<tr><td>{escape(r.where)}</td><td>{escape(r.printed)}</td><td>{escape(r.correct)}</td></tr>"
        for r in rows.itertuples(index=False)
    )
    head = "<tr><th>where</th><th>printed</th><th>what holds</th></tr>"
    return (
        f'<h3 id="{paper}-errata">Errata of paper {NUMBERS[paper]}</h3>'
        f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"
    )
