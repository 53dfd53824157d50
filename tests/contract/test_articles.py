"""The articles: every paper has one, its blocks can be filled from what is kept, and it says what ReScience C asks."""

import re
import shutil
from functools import cache
from pathlib import Path

import articles
import pandas as pd
import pytest
from editions import overview

from splitmerge_cli.config import ConfigError
from splitmerge_cli.papers.declaration import paper_of, papers
from splitmerge_cli.papers.verdict_tables import counts, read_claims

ROOT = Path(__file__).resolve().parents[2]
FOLDER, STORED = ROOT / "docs" / "articles", ROOT / "docs" / "reproduction"
LAYOUT = articles.Layout(
    figure=lambda number, name, width, caption: f"Figure {number} ({name}, {width}): {caption}\n",
    table=lambda number, caption, table: f"Table {number}: {caption}\n\n{table}\n",
    equation=lambda number, latex: f"$$ {latex} ({number}) $$",
    references="The works\n",
)
FRONT = "---\nkeywords: a\nabstract: In short.\n---\n"
WRITTEN = sorted(path.stem for path in FOLDER.glob("*.md"))
SECTIONS = ("claim?", "done?", "results?", "our choices?", "tested?", "Errata", "Data and code", "References")


def article(folder: Path, text: str) -> articles.Article:
    """An article on Wang and Russell with the words of all."""
    shutil.copyfile(FOLDER / "words.yaml", folder / "words.yaml")
    (folder / "sdds.md").write_text(FRONT + text, encoding="utf-8")
    return articles.Article(folder / "sdds.md", paper_of("sdds-fig1"), STORED, LAYOUT)


def stored_claims(name: str) -> pd.DataFrame:
    """The claims of a figure in its last edition."""
    return read_claims(overview.latest_figures(STORED)[name].claims_folder / f"{name}-claims.csv", "")


@cache
def find_article(key: str) -> articles.Article:
    """An article of the folder."""
    return articles.Article(FOLDER / f"{key}.md", next(one for one in papers() if one.key == key), STORED, LAYOUT)


@pytest.mark.parametrize("key", WRITTEN)
def test_an_article_is_filled_from_what_is_kept(key):
    text, about = find_article(key).text, find_article(key).front_matter
    assert not re.search(r"\{\{\w|```\{|\[(?:eq|fig|table):|nan", about["abstract"] + text)
    # a dash stands for a number that is absent
    assert not re.search(r"^(?!\|).*(?<=\s)–(?=[\s,.])", text, re.M)
    heads = re.findall(r"^# (.*)$", text, re.M)
    assert all(any(head.endswith(end) for head in heads) for end in SECTIONS)
    assert len(about["keywords"].split(",")) >= 3 and 50 <= len(about["abstract"].split()) <= 250
    every = counts(stored_claims(figure.id) for figure in find_article(key).paper.figures)
    assert f"| all | {every.sum()} | {' | '.join(map(str, every))} |" in text
    assert not re.search(rf"^\| [^|]*\b{key}-(?:fig|table)", text.partition("# Errata")[0], re.M)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "```{figure} sdds-fig9\nA caption\n```\n",
            "sdds-fig9: .* does not hold it; python scripts/keep_figures.py keep",
        ),
        ("```{pictures}\n```\n", "sdds.md: block pictures: expected one of claims, counts, editions"),
        ("```{claims} a\ncaption: b\nrows:\n- {figure: sdds-fig1, metric: no_such}\n```\n", "reference to a claim"),
        ("See [fig:sdds-fig1].", r"\[fig:sdds-fig1\]: there is none"),
        ("It is {{ratio}}.", r"\{\{ratio\}\}: expected a name of values.yaml"),
        ("```{counts}\nA\n```\n\n```{counts}\nB\n```\n", "table:counts: there are two"),
    ],
)
def test_what_cannot_be_filled_is_an_error(tmp_path, text, message):
    with pytest.raises(ConfigError, match=message):
        article(tmp_path, text).text  # noqa: B018
