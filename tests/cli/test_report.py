"""``smcmc report RUN ...``: one page of HTML about runs."""

import base64
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from splitmerge_cli.analysis.pages import html
from splitmerge_cli.analysis.plots import run as pictures
from splitmerge_cli.config.specification import differences, words_of
from splitmerge_cli.papers.experiments import list_figures
from splitmerge_cli.runs import identity, initial
from splitmerge_cli.runs.store.read import Run

QUICK = ["chains=2", "iterations=60", "progress=none"]
EVIL = "<script>alert(1)</script>"


class Page(HTMLParser):
    """The tags of a page with their attributes, and its text."""

    def __init__(self, path: str | Path) -> None:
        super().__init__()
        self.source = Path(path).read_text(encoding="utf-8")
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(self.source)
        self.close()

    def handle_starttag(self, tag: str, attrs) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def find(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def check_alone(page: Page) -> None:
    """The page loads nothing, runs nothing, and can be read by who does not see it."""
    assert not page.find("script") and not page.find("link")
    assert not re.search(r"url\(|@import|https?://", page.source)
    for image in page.find("img"):
        assert image["src"].startswith("data:image/png;base64,")
        assert base64.b64decode(image["src"].partition(",")[2]).startswith(b"\x89PNG")
        assert len(image["alt"]) > 20
    anchors = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(anchors) == len(set(anchors))
    assert {link["href"].removeprefix("#") for link in page.find("a")} <= set(anchors)
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert len(page.find("table")) <= sum("scope" in head for head in page.find("th"))
    assert not any(not part.strip() for part in re.findall(r"<th[^>]*>(.*?)</th>", page.source))


@pytest.fixture(autouse=True)
def _coarse(monkeypatch) -> None:
    """Pictures of few dots take less time."""
    monkeypatch.setattr(html, "DOTS", 30)


@pytest.fixture
def table() -> str:
    """A table with gaps and words, whose names and words are HTML."""
    rows = []
    for i in range(40):
        group = i % 2
        rows.append(f"{EVIL if group else 'a&b'},{group * 9 + 0.31 * (i % 7):.2f},{(i * 7) % 5 + 4 * group}")
    rows[3] = rows[3].rpartition(",")[0] + ","
    Path("t.csv").write_text('"<b>kind</b>",x,n\n' + "\n".join(rows) + "\n")
    return "t.csv"


@pytest.mark.slow
def test_the_page_of_a_table(smcmc, table) -> None:
    args = ["model=mixed", "data=csv", f"data.path={table}", *QUICK]
    run = smcmc("run", "sampler=sams", *args).stdout.splitlines()[-1]
    assert smcmc("run", "sampler=sams", *args, "seed=1").exit_code == 0
    result = smcmc("report", run, status=0)
    assert result.stdout.splitlines()[-1] == f"{run}/report.html"
    page = Page(f"{run}/report.html")
    check_alone(page)
    # the clusters first, their number and certainty, and the chains last
    at = page.text.index("Repeat it")  # the links above
    answers = ("Result", "Clusters", "Number of clusters", "Certainty", "Does the model fit?", "How the answer moves")
    for word in (*answers, "What to do next", "Chains", "Repeat it"):
        at = page.text.index(word, at)
    # what the data say is text, not HTML
    assert EVIL in page.text and "<b>kind</b>" in page.text and "a&b" in page.text
    assert EVIL not in page.source
    of = Run(run)
    assert str(of.summary["point_estimate"]["n_clusters"]) in page.text
    assert of.manifest.digest in page.text
    assert ":." not in page.text
    assert "residual dependence of" in page.text and "share of zeros" in page.text
    assert "seed=1" in page.text and "init=one_cluster,singletons" not in page.text  # the other start is at hand
    assert "model.concentration=0.2,5" in page.text
    # nothing of the run is touched
    of.check()


@pytest.mark.slow
def test_the_page_of_several_runs_begins_with_their_table(smcmc, monkeypatch) -> None:
    monkeypatch.setattr(pictures, "PICTURES", {"traces": pictures.PICTURES["traces"]})
    runs = [
        smcmc("run", *args, *QUICK).stdout.splitlines()[-1]
        for args in (["sampler=sams", "data=network", "N=20"], ["sampler=sams", "data=emm", "N=20"])
    ]
    result = smcmc("report", *runs, status=0)
    path = result.stdout.splitlines()[-1]
    assert re.fullmatch(r"results/reports/[0-9a-f]{12}\.html", path)
    page = Page(path)
    check_alone(page)
    assert page.text.index("2 runs compared") < page.text.index("Run 1: ") < page.text.index("Run 2: ")
    assert "No distance, because the items differ" in page.text
    assert "share of paths of two ties that a third closes" in page.text
    assert "the order of the tokens, and their letters: the model does not read them" in page.text
    # the page of the same runs is the same
    assert smcmc("report", *runs).exit_code == 0
    assert Page(path).source == page.source


def test_a_report_without_runs_is_of_the_reproduction(smcmc) -> None:
    result = smcmc("report")
    assert result.stdout.splitlines()[-1] == "results/report.html"
    page = Page("results/report.html")
    assert not page.find("script") and not page.find("link")
    assert "No figure has been drawn yet" in page.text
    assert all(title in page.text for _, title in list_figures())


@pytest.mark.parametrize(
    "args",
    [
        ["sampler=sams", "data=mixed", "N=20", "model.kappa0=gamma(1,2)", "data.seed=3", "schedule.moves=2"],
        ["schedule=[{sams: 1}, {gibbs: {weight: 2}}]", "data=mixed", "N=20", "trace.partitions=7", "K0=2"],
        ["sampler=sdds", "data=emm", "N=20", "schedule=move_only", "until.rhat=1.5", "init=singletons"],
        ["sampler=sams", "data=csv", 'data.path="it\'s a file.csv"', "model=gaussian", "data.columns=[x,y]"],
    ],
)
def test_the_command_of_a_run_makes_the_same_run(smcmc, args) -> None:
    Path("it's a file.csv").write_text("x,y,z\n" + "".join(f"{i % 3},{i},1\n" for i in range(12)))
    result = smcmc("run", *args, *QUICK, status=0)
    run = Run(result.stdout.splitlines()[-1])
    spec = initial.specification_of(run)
    found = words_of(spec, differences(spec))
    again = smcmc("run", *found, "progress=none", status=0)
    assert again.stdout.splitlines()[-1] == str(run.path)
    assert "already finished" in again.stderr
    assert identity.run_id(initial.specification_of(run)) == run.path.name
