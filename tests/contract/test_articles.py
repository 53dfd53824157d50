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
from splitmerge_cli.papers.triadic.table import released_scores
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


def test_a_number_is_that_of_one_row(tmp_path):
    text = "{{rate}}, {{rate.both}}, {{rate.published}}, {{rate.units}}, {{rate.verdict}}."
    values = "sdds:\n  rate: {figure: sdds-fig5, data: '*N=100', metric: split_acceptance}\n"
    kept = stored_claims("sdds-fig5")
    row = kept[(kept["data"] == "emm N=100") & (kept["metric"] == "split_acceptance") & kept["counted"]].iloc[0]
    (tmp_path / "values.yaml").write_text(values)
    shown = article(tmp_path, text).text.replace("\N{NO-BREAK SPACE}", " ")
    assert shown.startswith(f"{100 * row['ours']:.3g} %, ")
    assert f" [{100 * row['low']:.3g}, {100 * row['high']:.3g}], 7.8 %, " in shown
    assert shown.endswith(f", {row['n']} {row['of']}, {row['verdict']}.")
    (tmp_path / "values.yaml").write_text(values.replace("split_acceptance", "'*_acceptance'"))
    with pytest.raises(ConfigError, match=r"values.rate: expected one row of sdds-fig5-claims.csv, found 2"):
        article(tmp_path, text).text  # noqa: B018


def test_a_kept_logarithm_is_shown_as_a_ratio():
    row = stored_claims("arm-fig6b").iloc[0]
    assert articles.FIELDS["value"](row, "ratio") == f"{2.718281828 ** row['ours']:.3g}"


def test_an_article_without_front_matter_is_an_error(tmp_path):
    (tmp_path / "a.md").write_text("---\nkeywords: a\n---\nText\n")
    with pytest.raises(ConfigError, match="front matter with keywords and abstract"):
        articles.read(tmp_path / "a.md")


def test_claims_are_shown_as_they_are_kept(tmp_path):
    text = "```{claims} steps\ncaption: Steps.\nrows:\n- {figure: sdds-table1, as: 'step: {metric}'}\n```\n"
    filled = article(tmp_path, text).text
    kept = stored_claims("sdds-table1")
    rows = [line for line in filled.splitlines() if line.startswith("| step: ")]
    assert filled.startswith("Table 1: Steps.") and len(rows) == kept["counted"].sum() > 0
    for row, verdict in zip(rows, kept.loc[kept["counted"], "verdict"], strict=True):
        assert row.rstrip(" |").endswith(verdict)


def test_scores_of_the_released_program_are_those_of_its_table():
    text, scores = find_article("triadic").text, released_scores()
    assert all(f"{score:.3f}" in text for score in scores["ari_best_lik"])
    assert f"{scores.set_index('sampler')['one_cluster']['dyadic']} of the hundred sets" in text
