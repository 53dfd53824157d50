"""Pages of reproduced papers, from docs/reproduction and the files of splitmerge_cli.papers, in Markdown."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import articles
import classes
import edition_pages
import figure_pages
import gallery
import pandas as pd
import parts
import sensitivity
import word_pages
from editions import overview
from editions.overview import Counts
from parts import FOLDER, WIDE, cell

from splitmerge_cli.papers.declaration import Comparison, Paper, comparisons, papers
from splitmerge_cli.papers.experiments import list_figures
from splitmerge_cli.papers.verdicts import VERDICTS

PAGES = {
    "doubtful": "Doubtful claims",
    "not-reproduced": "Claims that are not reproduced, by class",
    "errata": "Errata",
    "settings": "Settings that the papers leave out",
}
"""Pages that all papers share."""
ARTICLES = "articles"
"""The folder of the articles."""


def write(source: Path) -> None:
    """Write the pages into `_generated` beside the sources; files that stay the same are left alone.

    Parameters
    ----------
    source : Path
        The folder docs.
    """
    out, stored = source / "_generated", source / FOLDER
    (out / ARTICLES).mkdir(parents=True, exist_ok=True)
    latest = overview.latest_figures(stored)
    kept = overview.latest_claims(latest)
    titles, known = dict(list_figures()), papers()
    editions = overview.editions(stored)
    has_editions = len(editions) > 1
    pages = {"reproduction": _overview(kept, titles, has_editions)}
    if has_editions:
        pages["editions"] = edition_pages.page(editions, titles, overview.supplements(stored))
        edition_pages.list_moved(editions).to_csv(out / edition_pages.MOVED, index=False)
    written = articles.articles(source / ARTICLES)
    for paper in known:
        pages[paper.key] = _paper(paper, titles, kept, paper.key in written)
        if paper.key in written:
            pages[f"{ARTICLES}/{paper.key}"] = _article(paper, source)
    for comparison in comparisons():
        pages[comparison.key] = _comparison(comparison, titles)
    for each in (*known, *comparisons()):
        for figure in each.figures:
            name = figure.id
            pages[name] = figure_pages.page(each, figure, titles[name], source, latest.get(name), kept.get(name))
    pages["doubtful"] = word_pages.doubtful(known, kept)
    if kept:
        pages["not-reproduced"] = classes.page(kept, source)
        rows = classes.classify(kept.values(), source)
        rows[[*classes.CLAIM, "class", "decides"]].to_csv(out / classes.FILE, index=False)
    pages["errata"] = word_pages.errata(known)
    pages["settings"] = word_pages.settings(known, sensitivity.read(source))
    pages["gallery"] = gallery.page(source, titles, latest)
    for name, page in pages.items():
        path, text = out / f"{name}.md", page if name.startswith(ARTICLES) else f"{WIDE}\n{page}"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in out.rglob("*.md"):
        if path.relative_to(out).with_suffix("").as_posix() not in pages:
            path.unlink()


def table_of_papers(kept: Mapping[str, pd.DataFrame]) -> str:
    """The table of the overview: that of the README, with links."""
    head, *rows = overview.table(kept)
    keys = {paper.name: paper.key for paper in papers()}
    links = [f"[{row[0]}]({keys[row[0]]}.md)" if row[0] in keys else row[0] for row in rows]
    return parts.table(head, [[link, *map(int, row[1:])] for link, row in zip(links, rows, strict=True)], raw=(0,))


def _overview(kept: Mapping[str, pd.DataFrame], titles: Mapping[str, str], editions: bool = False) -> str:
    whole = overview.total(kept)
    extra = PAGES | ({"editions": f"{edition_pages.TITLE}: the same from other seeds"} if editions else {})
    text = (
        "# Reproduction\n\nWhich published claims does this code reproduce? "
        f"{_count_text(whole, f'The {len(papers())} papers')}\n"
        + (
            ""
            if whole.kept == whole.figures
            else "\n`make reproduction` makes and keeps the others; that takes hours.\n"
        )
        + parts.bar(whole)
        + "Each claim has one verdict, by the [rules](../figures.md#how-a-claim-is-judged), which were fixed\n"
        "[after exploratory runs and before the kept ones](../figures.md#when-the-rules-were-fixed). "
        "A claim that does not reproduce is a finding. "
        f"{_wrong(whole)}\n"
        + table_of_papers(kept)
        + "".join(f"- [{title}]({name}.md)\n" for name, title in extra.items())
    )
    for paper, counts in overview.by_paper(kept):
        text += f"\n## {paper.name}\n\n*{cell(paper.title)}*. {_count_text(counts)}\n{parts.bar(counts)}"
        text += word_pages.list_findings(paper)
        text += f"\n[Figures and claims of {paper.name}]({paper.key}.md)\n"
    for comparison in comparisons():
        listed = _figure_list(comparison, titles)
        text += f"\n## {comparison.title}\n\nWhat none of the papers shows:\n\n{listed}"
    pages = [*(each.key for each in (*papers(), *comparisons())), *extra, "gallery"]
    return text + parts.toctree([*pages, "/figures", "/reproduce"])


def _comparison(comparison: Comparison, titles: Mapping[str, str]) -> str:
    """The page of figures across papers."""
    names = [figure.id for figure in comparison.figures]
    command = parts.code(f"smcmc reproduce {comparison.key} --scale paper")
    return f"# {comparison.title}\n\n{_figure_list(comparison, titles)}{command}{parts.toctree(names)}"


def _figure_list(comparison: Comparison, titles: Mapping[str, str]) -> str:
    return "".join(f"- [{cell(titles[figure.id])}]({figure.id}.md)\n" for figure in comparison.figures)


def _count_text(counts: Counts, papers: str = "It") -> str:
    """How many claims and figures there are, and how many of the figures are kept, in words."""
    sentence = f"{papers} make{'' if papers.endswith('papers') else 's'} {counts.claims} claims"
    if counts.rows != counts.claims:
        sentence += f" ({counts.rows_text})"
    sentence += f" with {counts.figures}"
    if counts.kept == counts.figures:
        return f"{sentence} figures and tables, all of which\nare kept here."
    return f"{sentence} figures and tables, of which\n{counts.kept} are kept here."


def _wrong(counts: Counts) -> str:
    return (
        f"At most {counts.wrong:.2g} of the verdicts that rest on an interval are expected\nto be wrong by chance."
        if counts.wrong
        else "None of the kept verdicts rests on an interval, so none is wrong\nby chance."
    )


def _article(paper: Paper, source: Path) -> str:
    """The article on a paper, filled in, as a file to download; its pictures are named by their place in docs."""

    def figure(number: int, name: str, _width: str, caption: str) -> str:
        return f"![**Figure {number}.** {caption}]({parts.place_of(written.latest[name])}/{name}.png)\n"

    layout = articles.Layout(
        figure=figure,
        table=lambda number, caption, table: f"**Table {number}.** {caption}\n\n{table}\n",
        equation=lambda number, latex: f"$$\n{latex} \\qquad ({number})\n$$\n",
        references="Works are cited by their keys in docs/articles/references.bib.\n",
    )
    written = articles.Article(source / ARTICLES / f"{paper.key}.md", paper, source / FOLDER, layout)
    return (
        f"# [Re] {paper.title}\n\nA replication of {paper.citation}. `make articles` sets it for print.\n\n"
        f"**Abstract.** {written.front_matter['abstract']}\n\n" + re.sub(r"(?m)^(#+) ", r"#\1 ", written.text)
    )


def _paper(paper: Paper, titles: Mapping[str, str], kept: Mapping[str, pd.DataFrame], article: bool = False) -> str:
    rows: list[Sequence[object]] = []
    for figure in paper.figures:
        frame, name = kept.get(figure.id), figure.id
        figure_counts = overview.count([name], kept)
        scale = parts.NOT_KEPT if frame is None else ", ".join(sorted(set(frame["scale"])))
        numbers = ["-"] * len(VERDICTS) if frame is None else list(figure_counts.verdicts.values())
        rows.append([f"[{cell(titles[name])}]({name}.md)", scale, figure_counts.claims, *numbers])
    whole = overview.count([figure.id for figure in paper.figures], kept)
    text = f"# {paper.name}\n\n{cell(paper.citation)}\n{parts.bar(whole)}"
    if words := word_pages.list_findings(paper, kept):
        text += f"\n## Findings\n{words}"
    text += "\n## Figures and tables\n" + parts.table(["figure or table", "scale", "claims", *VERDICTS], rows, raw=(0,))
    text += parts.code(f"smcmc reproduce {paper.key} --scale paper")
    anchors = {name: "" if name == "not-reproduced" else f"#{_anchor(paper.name)}" for name in PAGES}  # it is by class
    links = [f"[{title.lower()}]({name}.md{anchors[name]})" for name, title in PAGES.items()]
    names = [figure.id for figure in paper.figures]
    if article:
        links.insert(0, f"{{download}}`article <{ARTICLES}/{paper.key}.md>`")
    return text + f"\nOf this paper: {', '.join(links)}.\n" + parts.toctree(names)


def _anchor(heading: str) -> str:
    """The heading of a page as links name it."""
    return "".join(c for c in heading.lower().replace(" ", "-") if c.isalnum() or c in "-_")
