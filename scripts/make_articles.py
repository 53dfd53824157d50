"""Make the articles of docs/articles in the form of ReScience C: for each a folder with article.pdf (by pandoc and
Typst), article.md with its tables filled in, references.bib, the pictures, and metadata.yaml.

`make articles` installs what it needs (the extra `articles`) and runs it.
"""

import argparse
import shutil
import sys
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs" / "_ext"))

from articles import Article, Layout, articles  # noqa: E402

from splitmerge_cli.papers.declaration import Paper  # noqa: E402
from splitmerge_cli.version import commit  # noqa: E402

FOLDER = ROOT / "docs" / "articles"
STORED = ROOT / "docs" / "reproduction"
PAGES = range(2, 11)
"""How long an article may be."""
LOOK = {"papersize": "a4", "fontsize": "9.5pt", "margin": {"x": "2.1cm", "top": "2cm", "bottom": "2.2cm"}}
HEADER = """
#let sect = sym.inter
#set math.equation(numbering: "(1)")
#show figure.where(kind: table): set block(breakable: true)
#show figure.where(kind: table): set figure.caption(position: top)
#show figure.caption: set text(size: 8.5pt)
#show figure.caption: set align(left)
#show figure.caption.where(kind: table): it => block(sticky: true, it)
#show figure.where(kind: image): set figure(placement: auto)
#set table(inset: (x: 4pt, y: 3.2pt))
#set table.cell(breakable: false)
#show table: set par(justify: false)
#show table: set text(size: 7.5pt, hyphenate: false)
#show table.cell: set align(start)
#show raw: set text(size: 0.95em)
"""
"""The name that pandoc gives an intersection; numbered equations; tables in small type over as many pages as they need,
captions above them; pictures at the top or bottom of a page."""


def metadata(paper: Paper, about: dict[str, Any]) -> dict[str, Any]:
    """Return the contents of ReScience C's ``metadata.yaml``; what the journal assigns is left out."""
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    return {
        "title": f"[Re] {paper.title}",
        "authors": [{"name": author["name"]} for author in cited["authors"]],
        "keywords": about["keywords"],
        "code": [{"name": cited["title"], "version": version("smcmc"), "commit": commit()}],
        "data": [{"name": f"docs/reproduction of the same repository: {paper.key}-*.csv, index.json"}],
        "replication": [{"cite": paper.citation}],
        "type": "Replication",
        "language": "Python",
        "domain": "Computational Statistics",
        "abstract": " ".join(about["abstract"].split()),
    }


def make(paper: Paper, out: Path) -> int:
    """Write the folder of an article; the number of its pages."""
    import pypandoc
    import typst

    def figure(_number: int, name: str, width: str, caption: str) -> str:
        shutil.copyfile(article.latest[name].folder / f"{name}.png", out / f"{name}.png")
        return f"![{caption}]({name}.png){{width={width}}}\n"

    layout = Layout(
        figure=figure,
        table=lambda _number, caption, table: f"{table}\n: {caption}\n",
        equation=lambda _number, latex: f"$$\n{latex}\n$$\n",
        references="::: {#refs}\n:::\n",
    )
    article = Article(FOLDER / f"{paper.key}.md", paper, STORED, layout)
    out.mkdir(parents=True, exist_ok=True)
    front_matter = metadata(paper, article.front_matter)
    filled = f"*A replication of* {paper.citation}.\n\n{article.text}"
    (out / "article.md").write_text(filled, encoding="utf-8")
    shutil.copyfile(FOLDER / "references.bib", out / "references.bib")
    (out / "metadata.yaml").write_text(
        yaml.safe_dump(front_matter, sort_keys=False, allow_unicode=True), encoding="utf-8"
    )
    source = out / "article.typ"
    with TemporaryDirectory() as folder:
        look, header = Path(folder) / "look.yaml", Path(folder) / "header.typ"
        shown = {
            "title": front_matter["title"],
            "abstract": front_matter["abstract"],
            "author": [a["name"] for a in front_matter["authors"]],
        }
        look.write_text(yaml.safe_dump(LOOK | shown), encoding="utf-8")
        header.write_text(HEADER, encoding="utf-8")
        options = ["--standalone", f"--metadata-file={look}", f"--include-in-header={header}"]
        options += ["--citeproc", f"--bibliography={FOLDER / 'references.bib'}", "--fail-if-warnings"]
        target = "typst-citations"  # citeproc resolves the citations, not Typst
        pypandoc.convert_text(filled, target, format="markdown", outputfile=str(source), extra_args=options)
    pages = typst.compile(str(source), format="svg")
    typst.compile(str(source), output=str(out / "article.pdf"))
    source.unlink()
    return len(pages) if isinstance(pages, list) else 1


def main() -> int:
    """Make all articles; 1 where one is too long or too short."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "_build" / "articles")
    options = parser.parse_args()
    status = 0
    for key, paper in articles(FOLDER).items():
        pages = make(paper, options.out / key)
        print(f"{options.out / key / 'article.pdf'}: {pages} pages")
        if pages not in PAGES:
            print(f"{key}: expected {PAGES[0]} to {PAGES[-1]} pages", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
