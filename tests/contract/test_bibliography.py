"""The bibliography: whatever pages and docstrings cite is in it, once, with an address that can be right."""

import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import bibliography
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "docs" / "articles" / "references.yaml"
WORKS = yaml.safe_load(FILE.read_text(encoding="utf-8"))

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


def surname(name: str) -> str:
    """The last word of the first author's name."""
    return re.split(r", | and | et al", name)[0].split()[-1]


def cited_texts() -> Iterator[tuple[Path, str]]:
    """Pages, and sources with their docstrings, comments and messages."""
    yield from ((page, page.read_text(encoding="utf-8")) for page in (ROOT / "docs").glob("**/*.md"))
    for end in ("py", "pyx", "pxd", "h"):
        for file in (ROOT / "splitmerge_cli").glob(f"**/*.{end}"):
            with tokenize.open(file) if end == "py" else file.open(encoding="utf-8") as stream:
                yield file, stream.read()


def test_what_is_cited_is_listed() -> None:
    known = {(surname(one["name"]), str(one["year"])) for one in WORKS.values()}
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
    text = bibliography.sections(FILE)
    assert text.count("\n- ") == len(WORKS) and text.count("\n## ") == len(bibliography.PARTS)
    assert all(one["text"] in text for one in WORKS.values())
    for key in ("doi", "arxiv"):
        given = [one[key] for one in WORKS.values() if key in one]
        assert len(given) == len(set(given))
    assert all(re.fullmatch(r"10\.\d{4,5}/\S+", one["doi"]) for one in WORKS.values() if "doi" in one)
    assert all(re.fullmatch(r"\d{4}\.\d{4,5}", one["arxiv"]) for one in WORKS.values() if "arxiv" in one)


def test_neighbours_are_listed() -> None:
    assert {"wang2012", "chang2014", "williamson2013", "lovell2013"} <= set(WORKS)


def test_a_part_that_is_none_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: {name: A, year: 2000, part: other, text: B}\n")
    with pytest.raises(ValueError, match="part other: expected one of papers"):
        bibliography.sections(tmp_path / "a.yaml")
