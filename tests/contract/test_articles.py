"""The articles: every paper has one, its blocks can be filled from what is kept, and it says what ReScience C asks."""

from pathlib import Path

import articles
import make_articles
import pytest
import yaml

from splitmerge_cli.config import ConfigError
from splitmerge_cli.papers.discovery import paper_of, papers
from splitmerge_cli.papers.verdicts import counts, read_claims

ROOT = Path(__file__).resolve().parents[2]
FOLDER, STORED = ROOT / "docs" / "articles", ROOT / "docs" / "reproduction"


def link(name: str, caption: str) -> str:
    return f"![{caption}]({name}.png)"


WRITTEN = sorted(path.stem for path in FOLDER.glob("*.md"))


@pytest.mark.parametrize("key", WRITTEN)
def test_blocks_are_filled_from_what_is_kept(key):
    paper = next(one for one in papers() if one.key == key)
    about, text = articles.read(FOLDER / f"{key}.md")
    filled = articles.expand_blocks(text, paper, STORED, link)
    assert "{claims}" in text and "{counts}" in text and "{figure}" in text
    assert "```{" not in filled and ".png)" in filled
    assert len(about["keywords"].split(",")) >= 3 and 50 <= len(about["abstract"].split()) <= 250
    every = counts(read_claims(STORED / f"{figure.id}-claims.csv", "") for figure in paper.figures)
    assert f"| all | {every.sum()} | {' | '.join(map(str, every))} |" in filled


def test_metadata_is_that_of_the_journal():
    told = make_articles.metadata(paper_of("sdds-fig1"), {"keywords": "a, b", "abstract": "One\ntwo."})
    assert told["title"].startswith("[Re] A Smart-Dumb") and told["abstract"] == "One two."
    assert told["replication"][0]["cite"].startswith("Wang & Russell, 2015".replace(", 2015", " 2015"))
    assert yaml.safe_load(yaml.safe_dump(told)) == told


def test_what_cannot_be_filled_is_said(tmp_path):
    paper = paper_of("sdds-fig1")
    cases = {
        "```{figure} sdds-fig9\nA caption\n```\n": "sdds-fig9: .* does not hold it; smcmc keep sdds-fig9",
        "```{pictures}\n```\n": "block pictures: expected claims, counts or figure",
        "```{claims}\n- {figure: sdds-fig1, metric: no_such}\n```\n": "expected a reference to a claim",
    }
    for text, message in cases.items():
        with pytest.raises(ConfigError, match=message):
            articles.expand_blocks(text, paper, STORED, link)
    (tmp_path / "a.md").write_text("---\nkeywords: a\n---\nText\n")
    with pytest.raises(ConfigError, match="front matter with keywords and abstract"):
        articles.read(tmp_path / "a.md")


def test_claims_are_shown_as_they_are_kept():
    text = "Before\n\n```{claims}\n- {figure: sdds-table1}\n```\nAfter\n"
    filled = articles.expand_blocks(text, paper_of("sdds-table1"), STORED, link)
    kept = read_claims(STORED / "sdds-table1-claims.csv", "")
    rows = [line for line in filled.splitlines() if line.startswith("| sdds-table1")]
    assert len(rows) == kept["counted"].sum() > 0
    for row, verdict in zip(rows, kept.loc[kept["counted"], "verdict"], strict=True):
        assert row.rstrip(" |").endswith(verdict)
