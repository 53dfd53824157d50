"""Findings and doubtful claims: the papers' files fit their claims, and the error of a wrong one names file and key."""

from dataclasses import replace
from pathlib import Path

import pytest
from findings import FILE, ClaimReference, claims_of, findings

from splitmerge_cli.config import ConfigError
from splitmerge_cli.papers import discovery
from splitmerge_cli.papers.declaration import Paper

PAPERS = {paper.key: paper for paper in discovery.papers()}
FIVE = ("arm", "lshsm", "sdds", "smag", "triadic")
DOUBTED = {
    "sdds": [("sdds-fig4", "posterior_mean_K")],
    "smag": [("smag-fig3", "iterations_to_true_K")],
    "arm": [("arm-table5", "above_sarm")],
    "lshsm": [("lshsm-fig2", "times_faster"), ("lshsm-speed", "times_faster_than_sdds")],
    "triadic": [("triadic-table1", "outperforms_dyadic")],
}
FINDING = "{title: A sentence., text: A paragraph., claims: [{figure: sdds-fig3}]}"


@pytest.mark.parametrize("key", FIVE)
def test_findings_of_a_paper(key: str) -> None:
    found = findings(PAPERS[key])
    assert len(found.findings) == 3
    figures = set(discovery.figures())
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


def paper_with(tmp_path: Path, text: str) -> Paper:
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
            FINDING.join(("findings: [", "]")).replace("figure:", "id: x, figure:"),
            "findings[0].claims[0].id: no such key; expected figure, data, sampler, metric",
        ),
        (f"doubtful: [{FINDING}]", "doubtful[0].command: expected a value, found none"),
        (
            f"doubtful: [{FINDING[:-1]}, command: python x.py}}]",
            "doubtful[0].command=python x.py: expected a command that begins with smcmc",
        ),
        (
            f"findings: [{FINDING.replace('sdds-fig3', 'arm-fig1')}]",
            "findings[0].claims[0].figure=arm-fig1: expected one of sdds-table1, sdds-fig1, ",
        ),
        (
            f"findings: [{FINDING.replace('sdds-fig3', 'sdds-fig3, sampler: sm')}]",
            "findings[0].claims[0].sampler=sm: no such claim of sdds-fig3 in ",
        ),
        (
            f"findings: [{FINDING.replace('sdds-fig3', 'sdds-fig3, sampler: rm, metric: K')}]",
            "expected one of does_not_reach_K",
        ),
    ],
)
def test_what_is_wrong_is_said_by_file_and_key(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        findings(paper_with(tmp_path, text))
    assert said in str(error.value) and str(error.value).startswith(f"{tmp_path / FILE}: ")
    assert "\n" not in str(error.value)
