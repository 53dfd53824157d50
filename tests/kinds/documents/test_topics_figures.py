"""Pictures and tables of topics: what they show."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from splitmerge_cli.analysis.plots.style import use_style
from splitmerge_cli.kinds.documents import plots as pictures
from splitmerge_cli.kinds.documents import topic_report
from splitmerge_cli.kinds.documents.topics import Topics

pytestmark = pytest.mark.usefixtures("coarse_pictures")


@pytest.fixture(autouse=True)
def _style():
    with use_style():
        yield
        plt.close("all")


def table(K: int, words: int = 10) -> pd.DataFrame:
    """Rows as of ``topics.parquet``."""
    shares = np.linspace(2.0, 1.0, K) / np.linspace(2.0, 1.0, K).sum()
    top = [[f"word{k}_{w}" for w in range(words)] for k in range(K)]
    probabilities = [list(np.linspace(0.1, 0.02, words)) for _ in range(K)]
    columns = {
        "topic": np.arange(1, K + 1),
        "share": shares,
        "coherence": [np.nan, *[-0.25] * (K - 1)],
        "top_words": top,
    }
    return pd.DataFrame(columns | {"top_probabilities": probabilities})


def titles(figure) -> list[str]:
    return [ax.get_title(loc=side) for ax in figure.axes for side in ("left", "right") if ax.get_title(loc=side)]


@pytest.mark.parametrize(("K", "panels"), [(1, 1), (3, 3), (6, 6), (30, 12)])
def test_bars_of_the_largest_topics(K: int, panels: int) -> None:
    figure = pictures.bars(table(K), "a title", "a note")
    figure.canvas.draw()
    drawn = [ax for ax in figure.axes if ax.patches]
    assert len(drawn) == panels
    for k, ax in enumerate(drawn):
        assert [label.get_text() for label in ax.get_yticklabels()] == [f"word{k}_{w}" for w in range(10)]
        assert [bar.get_width() for bar in ax.patches] == pytest.approx(list(np.linspace(0.1, 0.02, 10)))
        assert ax.get_title(loc="left").startswith(f"{k + 1}: ")
    # a topic of one word has no coherence
    assert titles(figure).count("NPMI −0.25") == panels - 1


def test_a_long_word_is_cut() -> None:
    frame = table(1)
    frame.at[0, "top_words"] = ["pneumonoultramicroscopic", *["a"] * 9]
    ax = pictures.bars(frame, "", "").axes[0]
    assert ax.get_yticklabels()[0].get_text() == "pneumonoultramic…"


def test_true_topics_stand_beside_those_they_match() -> None:
    phi = np.array([[0.1, 0.1, 0.8], [0.8, 0.1, 0.1], [0.1, 0.8, 0.1]])
    found = Topics.of_probabilities(phi[[2, 0]], [0.7, 0.3])
    truth = Topics.of_probabilities(phi, [0.25, 0.35, 0.4])
    figure = pictures.word_map(found, truth, ["a", "b", "c"], "a title", 1)
    left, right = (ax.images[0].get_array() for ax in figure.axes[:2])
    assert np.allclose(left, phi[[2, 0]])
    assert np.allclose(right, phi[[2, 0, 1]])
    assert "2 matched" in figure.get_supxlabel()
    assert len(pictures.word_map(found, None, ["a", "b", "c"], "", 1).axes) == 2


def test_bands_are_the_shares_of_the_topics() -> None:
    sizes = [np.array([5, 3, 2]), np.array([10]), np.full(40, 1)]
    frame = pd.DataFrame({"iteration": [0, 1, 2], "sizes": sizes})
    drawn = pictures.stack_sizes(plt.subplots()[1], frame, "#D55E00", most_rows=10)
    assert list(drawn.columns) == ["iteration", *(f"topics_{k + 1}" for k in range(pictures.BANDS))]
    assert drawn.iloc[0, 1:5].tolist() == [0.5, 0.8, 1.0, 1.0]
    assert drawn.iloc[2, -1] == pytest.approx(pictures.BANDS / 40)


def render(renderable: object) -> str:
    console = Console(width=200, record=True, file=None, quiet=False)
    with console.capture() as capture:
        console.print(renderable)
    return capture.get()


def test_overview_names_the_rest() -> None:
    topics = [
        {
            "topic": k,
            "tokens": 10,
            "share": 1 / 14,
            "coherence": None if k else 0.5,
            "chains": 4 - k % 2,
            "top_words": ["[b]", f"w{k}"],
        }
        for k in range(14)
    ]
    summary = {"topics": topics, "topics_of": {"chain": 3}, "chains": 4}
    assert topic_report.headline(summary) == "14 topics in the last state of chain 3, the one of highest log joint"
    text = render(topic_report.overview(summary))
    assert "[b] w0" in text
    assert "w12" not in text
    assert "14.3%" in text
    assert "in 2 more" in text
    assert topic_report.agreement_line(summary) == (
        "7 of 14 topics with 1% of the tokens or more are in all 4 chains (similarity of their words at least 0.5); "
        "topics in all chains have 50% of the tokens"
    )
    assert topic_report.agreement_line(summary | {"chains": 1}) is None


def test_perplexity_line() -> None:
    told = {"method": "completion", "tokens": 1200, "averaged": [900.0, 910.0], "all_chains": 890.25}
    line = topic_report.perplexity_line({"perplexity": told})
    assert line is not None
    assert "1,200 tokens): 890.2, averaged" in line
    assert "each: 900, 910" in line
    assert topic_report.perplexity_line({}) is None
    assert "no chain reached the iteration perplexity.every" in (
        topic_report.perplexity_line({"perplexity": None}) or ""
    )


def test_a_word_of_many_letters_is_shortened() -> None:
    topic = {"topic": 0, "share": 1.0, "coherence": None, "top_words": ["x" * 1_000_000, "a", "\x1b[31mred\n"]}
    assert f"{'x' * (topic_report.LETTERS - 1)}… a �[31mred�" in render(topic_report.overview({"topics": [topic]}))


def test_runs_of_other_vocabularies_are_compared() -> None:
    def run_topics(name: str, words: list[str], counts: list[int]) -> topic_report.RunTopics:
        frame = pd.DataFrame({"topic": np.arange(len(words)), "word": words, "count": counts})
        tokens = pd.DataFrame(
            {"document": 0, "word": np.repeat(words, counts), "topic": np.repeat(frame["topic"], counts)}
        )
        return topic_report.RunTopics(name, frame, tokens, eta=0.01, V=len(words))

    a, b = run_topics("first", ["x", "y"], [50, 50]), run_topics("second", ["y", "x", "z"], [50, 25, 25])
    text = render(topic_report.between_runs([a, a, b]))
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in text.splitlines() if line.startswith("│")]
    assert rows[0] == ["first", "first", "1.000", "2", "2 and 2", "1.000"]
    # two of three topics find a partner, and they hold all of one run and 3/4 of the other; the tokens are others
    assert [row[3:] for row in rows[1:]] == [["2", "2 and 3", "–"]] * 2
    assert float(rows[1][2]) == pytest.approx(0.875, abs=0.005)
