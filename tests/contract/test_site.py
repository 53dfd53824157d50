"""The documentation site: its generated parts say what the code and the stored results say; it builds, and links lead
somewhere."""

import csv
import importlib.util
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

import pandas as pd
import pytest

from splitmerge_cli.config import choices
from splitmerge_cli.papers.discovery import papers
from splitmerge_cli.papers.verdicts import COLUMNS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SAMPLERS = DOCS / "samplers"


def module_of(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"site_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_sampler_has_a_page() -> None:
    pages = {path.stem for path in SAMPLERS.glob("*.md")} - {"index"}
    tree = (SAMPLERS / "index.md").read_text(encoding="utf-8").split("{toctree}")[1].split("```")[0].split()
    assert pages == set(choices("sampler")) == set(tree) - {":hidden:"}


def test_every_sampler_was_verified() -> None:
    """Exact ones are exact, and a mutant that was not found would be seen."""
    with (SAMPLERS / "verification.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["sampler"] for row in rows} == set(choices("sampler"))
    assert {row["verdict"] for row in rows if row["mode"] == "exact"} == {"exact"}
    found = [row["mutants"].split("/") for row in rows if row["mutants"]]
    assert found and all(a == b for a, b in found)


def test_verification_is_read_from_what_is_printed() -> None:
    verify_samplers = module_of(ROOT / "scripts" / "verify_samplers.py")
    printed = (
        "model=emm: 37 states; tokens a a b, alpha=.7\n"
        "┃ sampler ┃ mode ┃\n"
        "│ rm cut │ exact │ 1e-16 │ 2e-17 │ 0.0000 │ 3e-16 │ 0.0000 │ .01 │ .02 │ 6/6 │ exact  │\n"
        "│ coin   │       │       │       │        │       │        │     │     │     │        │\n"
        "max|πP-π|: of the exact transition matrix\n"
    )
    (row,) = verify_samplers.rows_of(printed)
    assert (row["model"], row["states"], row["form"]) == ("emm", "37", "rm cut coin")
    assert (row["defect"], row["mutants"], row["verdict"]) == ("1e-16", "6/6", "exact")
    with pytest.raises(ValueError, match="expected 11 columns"):
        verify_samplers.rows_of("│ rm │ exact │")


def test_part_of_a_sampler() -> None:
    part = module_of(DOCS / "_ext" / "sampler_pages.py").part(DOCS, "lshsm")
    assert "| `sampler.tables=10` |" in part and "smart_split" in part
    # what it does not support stands there with the reason
    assert "| `emm` |" in part.split("## Verification")[0]
    assert "| `gaussian` | exact |" in part.split("## Verification")[1]


def test_page_has_what_its_commands_print(tmp_path: Path) -> None:
    page = tmp_path / "cows.md"
    page.write_text(
        "```python\nopen('cows.csv', 'w').write('x')\n```\ntext\n"
        "```console\n$ echo results/sams-csv/0123456789ab; \\\n    echo 'chain 0:  50%  0:00:01 left'\nold\n"
        "$ cat cows.csv && echo RUN\n```\n\n```\n$ false\n```\n"
    )
    text = module_of(ROOT / "scripts" / "draw_pages.py").Page(page, tmp_path).written()
    shown = "    echo 'chain 0:  50%  0:00:01 left'\nresults/sams-csv/0123456789ab\n"
    assert shown + "$ cat cows.csv && echo RUN\nxresults/sams-csv/0123456789ab\n```" in text
    assert "old" not in text and text.startswith("```python\n") and text.endswith("```\n$ false\n```\n")
    page.write_text("```console\n$ exit 3\n```\n")
    with pytest.raises(SystemExit, match="status 3"):
        module_of(ROOT / "scripts" / "draw_pages.py").Page(page, tmp_path).written()


def test_reproduction_without_results(tmp_path: Path) -> None:
    module_of(DOCS / "_ext" / "reproduction.py").write(tmp_path)
    pages = {path.stem: path.read_text(encoding="utf-8") for path in (tmp_path / "_generated").glob("*.md")}
    figures = {figure.id for paper in papers() for figure in paper.figures}
    assert set(pages) == figures | {paper.key for paper in papers()} | {"reproduction", "errata", "settings"}
    assert "smcmc reproduce all --scale paper" in pages["reproduction"]
    assert all(paper.name in pages["errata"] and paper.name in pages["settings"] for paper in papers())


def test_reproduction_of_a_claim(tmp_path: Path) -> None:
    """The counted verdict stands first, another reading below it and in no count."""
    folder = tmp_path / "reproduction"
    folder.mkdir()
    claim = dict.fromkeys(COLUMNS, "") | {"id": "sdds-table1", "scale": "paper", "data": "a|b", "metric": "step_1"}
    claim |= {"published": 0.5, "ours": 0.625, "low": 0.5, "high": 0.75, "rule": "exact"}
    rows = [
        claim | {"counted": True, "verdict": "reproduced"},
        claim | {"counted": False, "verdict": "undecided", "reading": "another start"},
    ]
    pd.DataFrame(rows, columns=list(COLUMNS)).to_csv(folder / "sdds-table1-claims.csv", index=False)
    (folder / "sdds-table1.png").write_bytes(b"picture")
    module_of(DOCS / "_ext" / "reproduction.py").write(tmp_path)
    out = tmp_path / "_generated"
    own, other = (out / "sdds-table1.md").read_text(encoding="utf-8").split("## Other readings")
    assert "| reproduced | step 1 | a\\|b |" in own and "0.625 \\[0.5, 0.75\\]" in own and "undecided" not in own
    assert "| undecided |" in other and "another start" in other
    assert "(../reproduction/sdds-table1.png)" in own and "(../reproduction/sdds-table1-claims.csv)" in own
    assert "sdds-table1.pdf" not in own
    # reproduced, not reproduced, undecided, not testable
    assert "| [Wang & Russell 2015](sdds.md) | 1 of 8 | 1 | 0 | 0 | 0 |" in (out / "reproduction.md").read_text()


class Links(HTMLParser):
    """Targets and anchors of a page, and what a browser loads for it."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.loaded: list[str] = []
        self.tags: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.add(tag)
        self.anchors |= {value for name in ("id", "name") if (value := given.get(name))}
        if src := given.get("src"):
            self.loaded.append(src)
        if given.get("rel") == "stylesheet" and (href := given.get("href")):
            self.loaded.append(href)
        self.targets += [value for name in ("href", "src") if (value := given.get(name))]


@pytest.mark.slow
def test_site(tmp_path: Path) -> None:
    """Built without a warning; every link and picture of every page is there; no script is needed to read mathematics.

    Half a minute on a free core.
    """
    for name in ("sphinx", "myst_nb", "pydata_sphinx_theme", "numpydoc", "latex2mathml"):
        pytest.importorskip(name, reason="needs pip install -e '.[site]'")
    options = ["-W", "--keep-going", "-q", "-E", "-j", "2", "-b", "html"]
    built = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, str(DOCS), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    pages = {path: Links(path) for path in tmp_path.rglob("*.html") if "_static" not in path.parts}
    assert len(pages) > 100
    lost = []
    for page, links in pages.items():
        for target in links.targets:
            parts = urlsplit(target)
            if parts.scheme or target.startswith("//"):
                continue
            there = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            anchor = unquote(parts.fragment)
            if not there.is_file() or (anchor and there in pages and anchor not in pages[there].anchors):
                lost.append(f"{page.relative_to(tmp_path)}: {target}")
    assert not lost
    ratios = pages[tmp_path / "samplers" / "sdds.html"]
    assert "mfrac" in ratios.tags
    # scripts, styles and pictures are the site's own
    assert not [url for links in pages.values() for url in links.loaded if urlsplit(url).scheme not in ("", "data")]
