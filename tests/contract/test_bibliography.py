"""The bibliography: whatever pages and docstrings cite is in it, once, with an address that can be right."""

import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import yaml
from pybtex.database import parse_file

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "bibliography.md"
FILE = ROOT / "docs" / "articles" / "references.bib"
WORKS = parse_file(FILE).entries

NAME = r"[A-Z][\w'’-]+"
CITATION = re.compile(
    rf"(?<![A-Z]\. )(?<!\w)({NAME})(?:, {NAME})*(?:,? (?:and|&) {NAME}|,? et al\.)?"
    r",? [\[(]*((?:18|19|20)\d\d)\b(?![-.]\d)"
)
"""An author with those that follow, and a year. What stands behind an initial is an entry of a list."""
NO_AUTHORS = {
    "Cup",
    "Doe",
    "Herik",
    "ICMV",
    "III",
    "Jan",
    "KDD-Cup",
    "MEDLINE",
    "Microsystems",
    "PAKDD",
    "Roe",
    "September",
    "UAI",
}
"""Conferences, months, examples, and last parts of names that have several."""


def cited_texts() -> Iterator[tuple[Path, str]]:
    """Pages, and sources with their docstrings, comments and messages."""
    yield from ((page, page.read_text(encoding="utf-8")) for page in (ROOT / "docs").glob("**/*.md"))
    for end in ("py", "pyx", "pxd", "h"):
        for file in (ROOT / "splitmerge_cli").glob(f"**/*.{end}"):
            with tokenize.open(file) if end == "py" else file.open(encoding="utf-8") as stream:
                yield file, stream.read()


def test_what_is_cited_is_listed() -> None:
    known = {(one.persons["author"][0].last_names[-1], one.fields["year"]) for one in WORKS.values()}
    known |= {("Meila", "2007"), ("Roeder", "2015")}  # in files of plain letters
    lost = set()
    for file, text in cited_texts():
        if {"_build", "_generated", "reproduction"} & set(file.parts):
            continue
        for name, year in CITATION.findall(re.sub(r'[\s#*"]+', " ", text)):
            author = name.removesuffix("'s").removesuffix("’s")
            if author not in NO_AUTHORS and (author, year) not in known:
                lost.add(f"{file.relative_to(ROOT)}: {author} {year}")
    assert not lost


def test_every_work_is_listed_once() -> None:
    """The page lists works by their one keyword; no address stands twice, and each has the form of one."""
    lists = re.findall(r'^:filter: keywords % "(\w+)"$', PAGE.read_text(encoding="utf-8"), re.M)
    assert sorted(lists) == sorted({work.fields["keywords"] for work in WORKS.values()})
    for field, form in (("doi", r"10\.\d{4,5}/\S+"), ("eprint", r"\d{4}\.\d{4,5}")):
        given = [work.fields[field] for work in WORKS.values() if field in work.fields]
        assert len({one.lower() for one in given}) == len(given)
        assert [one for one in given if not re.fullmatch(form, one)] == []


def test_articles_cite_what_is_listed() -> None:
    cited = {
        key for file in FILE.parent.glob("*.md") for key in re.findall(r"@(\w+)", file.read_text(encoding="utf-8"))
    }
    assert cited <= set(WORKS) and len(cited) > 20


def test_citation_file_has_the_addresses_of_the_bibliography() -> None:
    works = {re.sub("[{}]", "", work.fields["title"]).lower(): work.fields for work in WORKS.values()}
    for one in yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["references"]:
        work = works[one["title"].lower()]
        assert (str(one["year"]), one.get("doi")) == (work["year"], work.get("doi")), one["title"]


def test_dois_of_pages_are_those_of_the_bibliography() -> None:
    """The table of papers repeats them for readers without the site."""
    found = re.findall(r"https://doi\.org/(\S+?)\)", (PAGE.parent / "cite.md").read_text(encoding="utf-8"))
    assert found and set(found) <= {work.fields.get("doi") for work in WORKS.values()}


def test_neighbours_are_listed() -> None:
    assert {"wang2012", "chang2014", "williamson2013", "lovell2013"} <= set(WORKS)
