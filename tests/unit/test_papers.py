"""The papers that are declared: names, files, functions, and what documents repeat of them."""

from dataclasses import replace
from pathlib import Path

import pytest
from editions.added import added_claims
from findings import FILE, ClaimReference, claims_of, findings

from splitmerge_cli.config import ConfigError, choices
from splitmerge_cli.papers import claims, declaration

ROOT = Path(__file__).parents[2]
PAPERS = {paper.key: paper for paper in declaration.papers()}
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
    alone = declaration.Paper(key="one", authors=("Doe, Jane",), year=2026, title="Alone", venue="Journal", figures=())
    assert (alone.name, alone.citation) == ("Doe 2026", "Doe 2026: Alone (Journal)")
    assert PAPERS["arm"].citation.startswith("Herlau, Mørup, Teh & Schmidt 2014: ")


def test_papers_are_in_the_order_of_their_keys_and_figures_of_their_ids() -> None:
    assert list(PAPERS) == sorted(PAPERS)
    assert list(declaration.figures()) == sorted(declaration.figures())
    # a folder may have its experiments beside its paper.py
    assert set(choices("experiment")) <= set(declaration.figures())


@pytest.mark.parametrize("name", declaration.figures())
def test_functions_of_a_figure_are_its_papers_own(name: str) -> None:
    figure = declaration.figures()[name]
    for named in filter(None, (figure.draw, figure.compute)):
        assert isinstance(named, str)  # so that a list imports no drawing
        function = declaration.function_of(figure, named)
        assert callable(function) and function.__module__.startswith(f"{declaration.set_of(name).package}.")


@pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)
def test_files_of_a_paper(paper: declaration.Paper) -> None:
    ids = {figure.id for figure in paper.figures}
    rows = (paper.folder / "claims.csv").read_text(encoding="utf-8").splitlines()[1:]
    assert {row.partition(",")[0] for row in rows} == ids
    assert sum(len(claims.published_claims(name)) for name in ids) == len(rows)


@pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)
def test_documents_repeat_what_a_paper_declares(paper: declaration.Paper) -> None:
    counts = (
        len(paper.figures),
        sum(len(claims.published_claims(f.id)) + len(added_claims(f.id)) for f in paper.figures),
        len(claims.errata(paper)),
    )
    text = (ROOT / "docs" / "figures.md").read_text(encoding="utf-8")
    if paper.key not in NAMES and f"| `{paper.key}` |" not in text:
        pytest.skip(f"docs/figures.md says nothing of {paper.key}")
    row = " | ".join([f"`{paper.key}`", paper.citation, *map(str, counts)])
    assert text.count(f"\n| {row} |\n") == 1
    assert f"\n## {paper.name}\n" in text or paper.key == "sdds"


def test_claims_of_what_is_no_figure() -> None:
    assert claims.published_claims("nobody-fig1") == claims.published_claims("sdds") == []
    assert declaration.paper_of("nobody-fig1") is None


# ---- Findings and doubtful claims: the papers' files fit their claims, and the error of a wrong one names file and
# key.

FIVE = ("arm", "lshsm", "sdds", "smag", "triadic")
DOUBTED = {
    "sdds": [("sdds-fig4", "posterior_mean_K")],
    "smag": [("smag-fig3", "iterations_to_true_K")],
    "arm": [("arm-table5", "above_sarm")],
    "lshsm": [("lshsm-fig2", "times_faster"), ("lshsm-speed", "times_faster_than_sdds")],
    "triadic": [("triadic-table1", "outperforms_dyadic")],
}
FINDING = "{title: A sentence., text: A paragraph., claims: [{figure: sdds-fig3}]}"


def finding_of(claim: str) -> str:
    """A file with one finding, of this claim."""
    return f"findings: [{FINDING.replace('figure: sdds-fig3', claim)}]"


@pytest.mark.parametrize("key", FIVE)
def test_findings_of_a_paper(key: str) -> None:
    found = findings(PAPERS[key])
    assert len(found.findings) == 3
    figures = set(declaration.figures())
    for part in (*found.findings, *found.doubtful):
        assert part.title.endswith(".") and not part.title.endswith("..") and "\n" not in part.title
        assert all(claims_of([reference]) for reference in part.claims)
    for doubt in found.doubtful:
        words = doubt.command.split()
        assert words[:2] == ["smcmc", "reproduce"] and words[-2:] == ["--scale", "paper"]
        assert set(words[2:-2]) <= figures
    doubted = {(claim.id, claim.metric) for doubt in found.doubtful for claim in claims_of(doubt.claims)}
    assert set(DOUBTED[key]) <= doubted


def test_a_claim_that_two_references_fit_is_shown_once() -> None:
    both = [ClaimReference(figure="sdds-fig4", sampler="sdds"), ClaimReference(figure="sdds-fig4", data="*K0=1")]
    found = [(claim.data, claim.sampler) for claim in claims_of(both)]
    assert found[:4] == [(f"emm N=500 K0={K0}", "sdds") for K0 in (1, 5, 10, 20)]
    assert found[4:] == [("emm N=500 K0=1", name) for name in ("rgsm", "rm", "ss")]


def paper_with(tmp_path: Path, text: str) -> declaration.Paper:
    """Wang & Russell 2015 with findings of its own."""
    (tmp_path / FILE).write_text(text, encoding="utf-8")
    return replace(PAPERS["sdds"], folder=tmp_path)


def test_a_paper_without_findings_has_none(tmp_path: Path) -> None:
    found = findings(replace(PAPERS["sdds"], folder=tmp_path))
    assert (found.findings, found.doubtful) == ((), ())
    assert findings(paper_with(tmp_path, f"findings: [{FINDING}]")).findings[0].text == "A paragraph."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- a list", "expected the keys findings, doubtful"),
        ("a: [", "not YAML: "),
        ("finding: []", "finding: no such key; expected findings, doubtful"),
        ("findings: [{title: A., text: B.}]", "findings[0].claims: expected a value, found none"),
        ("findings: [{title: A., text: B., claims: []}]", "findings[0].claims: "),
        ("findings: [{title: 7, text: B., claims: [{figure: sdds-fig3}]}]", "findings[0].title: "),
        (f"findings: [{', '.join([FINDING] * 4)}]", "findings: "),
        (
            finding_of("id: x, figure: sdds-fig3"),
            "findings[0].claims[0].id: no such key; expected figure, data, sampler, metric",
        ),
        (f"doubtful: [{FINDING}]", "doubtful[0].command: expected a value, found none"),
        (
            f"doubtful: [{FINDING[:-1]}, command: python x.py}}]",
            "doubtful[0].command=python x.py: expected a command that begins with smcmc",
        ),
        (
            finding_of("figure: arm-fig1"),
            "findings[0].claims[0].figure=arm-fig1: expected one of sdds-table1, sdds-fig1",
        ),
        (finding_of("figure: sdds-fig3, sampler: sm"), "].sampler=sm: no such claim of sdds-fig3 in "),
        (finding_of("figure: sdds-fig3, sampler: rm, metric: K"), "expected one of does_not_reach_K"),
    ],
)
def test_what_is_wrong_is_said_by_file_and_key(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        findings(paper_with(tmp_path, text))
    assert said in str(error.value) and str(error.value).startswith(f"{tmp_path / FILE}: ")
    assert "\n" not in str(error.value)
