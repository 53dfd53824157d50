"""The papers that are declared: names, files, functions, and what documents repeat of them."""

from pathlib import Path

import pytest
import yaml

from splitmerge_cli.config import choices
from splitmerge_cli.papers import claims, discovery, experiments
from splitmerge_cli.papers.declaration import Paper

ROOT = Path(__file__).parents[2]
PAPERS = {paper.key: paper for paper in discovery.papers()}
NAMES = {
    "arm": "Herlau et al. 2014",
    "lshsm": "Luo & Shrivastava 2018",
    "sdds": "Wang & Russell 2015",
    "smag": "Rana et al. 2013",
    "triadic": "van Rossum et al. 2018",
}
"""The five of the README. Another one needs no line here."""


def test_papers_are_named_by_first_author_and_year() -> None:
    assert {key: PAPERS[key].name for key in NAMES} == NAMES
    alone = Paper(key="one", authors=("Doe, Jane",), year=2026, title="Alone", venue="Journal", figures=())
    assert (alone.name, alone.citation) == ("Doe 2026", "Doe 2026: Alone (Journal)")
    assert PAPERS["arm"].citation.startswith("Herlau, Mørup, Teh & Schmidt 2014: ")


def test_papers_are_in_the_order_of_their_keys_and_figures_of_their_ids() -> None:
    assert list(PAPERS) == sorted(PAPERS)
    assert list(discovery.figures()) == sorted(discovery.figures())
    # a folder may have its experiments beside its paper.py
    assert set(choices("experiment")) <= set(discovery.figures())


@pytest.mark.parametrize("name", discovery.figures())
def test_functions_of_a_figure_are_its_papers_own(name: str) -> None:
    figure = discovery.figures()[name]
    for named in filter(None, (figure.draw, figure.compute)):
        assert isinstance(named, str)  # so that a list imports no drawing
        function = discovery.function_of(figure, named)
        assert callable(function) and function.__module__.startswith(f"{discovery.set_of(name).package}.")


@pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)
def test_files_of_a_paper(paper: Paper) -> None:
    ids = {figure.id for figure in paper.figures}
    rows = (paper.folder / "claims.csv").read_text(encoding="utf-8").splitlines()[1:]
    assert {row.partition(",")[0] for row in rows} == ids
    assert sum(len(claims.published_claims(name)) for name in ids) == len(rows)
    errata = claims.errata(paper)
    assert len(errata) and not errata.isna().any().any() and not (errata == "").any().any()


@pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)
def test_documents_repeat_what_a_paper_declares(paper: Paper) -> None:
    counts = (
        len(paper.figures),
        sum(len(claims.published_claims(f.id)) + len(claims.added_claims(f.id)) for f in paper.figures),
        len(claims.errata(paper)),
    )
    text = (ROOT / "docs" / "figures.md").read_text(encoding="utf-8")
    if paper.key not in NAMES and f"| `{paper.key}` |" not in text:
        pytest.skip(f"docs/figures.md says nothing of {paper.key}")
    row = " | ".join([f"`{paper.key}`", paper.citation, *map(str, counts)])
    assert text.count(f"\n| {row} |\n") == 1
    assert f"\n## {paper.name}\n" in text or paper.key == "sdds"
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["references"]
    (own,) = [reference for reference in cited if reference["title"] == paper.title]
    assert own["year"] == paper.year
    assert [f"{a['family-names']}, {a['given-names']}" for a in own["authors"]] == list(paper.authors)


def test_every_figure_has_a_title() -> None:
    titles = dict(experiments.list_figures())
    assert list(titles) == list(discovery.figures()) and all(titles.values())
    # the paper is named by its declaration alone
    assert not any("paper 0" in title for title in titles.values())


def test_claims_of_what_is_no_figure() -> None:
    assert claims.published_claims("nobody-fig1") == claims.published_claims("sdds") == []
    assert discovery.paper_of("nobody-fig1") is None
