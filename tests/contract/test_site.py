"""The documentation site: its generated parts say what the code and the stored results say; it builds, and links lead
somewhere."""

import csv
import hashlib
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import draw_pages
import gallery
import numpy as np
import pandas as pd
import parts
import pytest
import reproduction
import sampler_pages
import verify_samplers
from editions import overview
from findings import findings

from splitmerge_cli.analysis.plots.run import all_pictures
from splitmerge_cli.config import choices
from splitmerge_cli.papers import declaration, experiments
from splitmerge_cli.papers.claims import published_claims
from splitmerge_cli.papers.verdict_tables import COLUMNS
from splitmerge_cli.runs.store.manifest import write_sealed
from splitmerge_cli.verify.command import records

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SAMPLERS = DOCS / "samplers"


def test_numbers_of_a_printed_table_are_a_table() -> None:
    """Each counted verdict on one is in a cell, behind ours and the printed number; sentences stand below."""
    claims = overview.latest_claims(overview.latest_figures(DOCS / "reproduction"))["arm-table3"]
    counted = claims[claims["counted"]]
    grid, _, sentences = parts.claims_table(counted).partition("| verdict |")
    assert grid.count('class="verdict ') == 72 and sentences.count('class="verdict ') == len(counted) - 72
    assert "| nips scale=1 | gibbs | 5.134 (20.46) <span" in grid and "nan" not in grid
    assert "start: 20 random blocks" in grid and "ARM consistently performs better" in sentences


def test_gallery_has_every_picture(tmp_path: Path) -> None:
    shutil.copytree(DOCS / gallery.EXAMPLES, tmp_path / gallery.EXAMPLES)
    shutil.copytree(DOCS / "images", tmp_path / "images", dirs_exist_ok=True)
    kept = {"sdds-fig3": overview.latest_figures(DOCS / "reproduction")["sdds-fig3"]}
    page = gallery.page(tmp_path, dict(experiments.list_figures()), kept)
    for name, picture in all_pictures().items():
        assert f"[{picture.answers}]" in page and f") `{name}`\n" in page
        assert re.search(rf"\]\(thumbnails/[\w-]+-{name}\.png\)\]\(\.\./(data/)?\w", page), f"no page shows {name}"
    for name, title in experiments.list_figures():
        assert f"[{parts.cell(title)}]({name}.md)" in page
    assert "(thumbnails/sdds-fig3.png)](sdds-fig3.md)" in page and "thumbnails/sdds-fig4.png" not in page
    for small in (tmp_path / "_generated" / gallery.THUMBNAILS).glob("*.png"):
        assert small.stat().st_size < 60_000


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


def test_verification_is_what_the_command_finds() -> None:
    """The kept rows of a sampler on a model, whose exact columns do not depend on chance or on the machine."""
    asked = {"sampler": "sams", "model": "emm", "iterations": "0", "mode": "both"}
    found = list(records(asked))
    with (SAMPLERS / "verification.csv").open(newline="", encoding="utf-8") as stream:
        kept = [row for row in csv.DictReader(stream) if (row["sampler"], row["model"]) == ("sams", "emm")]
    assert found and list(found[0]) == list(kept[0]) == list(verify_samplers.HEAD)
    exact = ("model", "states", "case", "form", "mode", "tv", "gibbs_tv", "mutants", "verdict")
    assert [[row[name] for name in exact] for row in found] == [[row[name] for name in exact] for row in kept]


def test_what_is_sampled_before_changes_no_verdict() -> None:
    """Scales that a chain resampled are put back: the next sampler is compared with the same posterior."""
    asked = {"sampler": "gibbs,sams", "model": "mixed", "iterations": "1000", "mode": "exact"}
    assert {row["verdict"] for row in records(asked)} == {"exact"}


def test_part_of_a_sampler() -> None:
    part = sampler_pages.part(DOCS, "lshsm")
    assert "| `sampler.tables=10` |" in part and "smart_split" in part
    assert "`gaussian`" in part and "`emm`" not in part
    assert "- `exact`: exact on 4 models; " in part.split("## Verification")[1]


def test_page_has_what_its_commands_print(tmp_path: Path) -> None:
    page = tmp_path / "cows.md"
    page.write_text(
        "```python\nopen('cows.csv', 'w').write('x')\n```\ntext\n"
        "```console\n$ echo results/sams-csv/0123456789ab; \\\n    echo 'chain 0:  50%  0:00:01 left'\nold\n"
        "$ cat cows.csv && echo RUN\n```\n\n```\n$ false\n```\n"
    )
    text = draw_pages.Page(page, tmp_path).updated_text()
    shown = "    echo 'chain 0:  50%  0:00:01 left'\nresults/sams-csv/0123456789ab\n"
    assert shown + "$ cat cows.csv && echo RUN\nxresults/sams-csv/0123456789ab\n```" in text
    assert "old" not in text and text.startswith("```python\n") and text.endswith("```\n$ false\n```\n")
    page.write_text("```console\n$ exit 3\n```\n")
    with pytest.raises(SystemExit, match="status 3"):
        draw_pages.Page(page, tmp_path).updated_text()


def write_pages(source: Path) -> dict[str, str]:
    """The pages of papers by name."""
    reproduction.write(source)
    return {path.stem: path.read_text(encoding="utf-8") for path in (source / "_generated").glob("*.md")}


SHARED = {"reproduction", "gallery", "doubtful", "errata", "settings"}


def test_reproduction_without_results(tmp_path: Path) -> None:
    """No results are stored: each page states that, with the command; what is known without runs is there."""
    (tmp_path / "_generated").mkdir()
    (tmp_path / "_generated" / "gone.md").write_text("a page of before")
    pages = write_pages(tmp_path)
    of_papers = {figure.id for paper in declaration.papers() for figure in paper.figures}
    figures = {figure.id for each in declaration.figure_sets() for figure in each.figures}
    assert set(pages) == figures | {each.key for each in declaration.figure_sets()} | SHARED
    assert "which\n0 are kept here" in pages["reproduction"] and "make reproduction" in pages["reproduction"]
    for name in figures:
        made = f"smcmc reproduce {name} --scale paper\npython scripts/keep_figures.py keep {name} --scale paper\n"
        assert made in pages[name]
        assert "is not kept" in pages[name] and "## Claims" not in pages[name]
        assert pages[name].count(">not kept yet</span>") == len(published_claims(name))
        assert bool(published_claims(name)) == (name in of_papers)
    for paper in declaration.papers():
        assert paper.name in pages["errata"] and paper.name in pages["settings"]
        assert all(finding.title.rstrip(".") in pages[paper.key] for finding in findings(paper).findings)
        for doubt in findings(paper).doubtful:
            assert doubt.title.rstrip(".") in pages["doubtful"] and doubt.command in pages["doubtful"]
    assert '<span class="verdict absent">not kept yet</span>' in pages["doubtful"]


def keep(folder: Path, name: str, rows: list[dict[str, object]], **said: object) -> None:
    """Keep claims of a figure, and an index of it alone."""
    folder.mkdir()
    pd.DataFrame(rows, columns=list(COLUMNS)).to_csv(folder / f"{name}-claims.csv", index=False)
    shutil.copy(DOCS / "reproduction" / "edition-2" / f"{name}.png", folder)
    (folder / f"{name}.csv").write_text("step,token,side,probability,paper\n1,A,2,0.25,0.5\n")
    written = {f"{name}{end}": (folder / f"{name}{end}").read_bytes() for end in (".png", ".csv", "-claims.csv")}
    files = {file: {"bytes": len(x), "sha256": hashlib.sha256(x).hexdigest()} for file, x in written.items()}
    machine = {"processor": "EPYC", "processors": 2, "system": "Linux"}
    figure = {
        "scale": "paper",
        "command": f"smcmc reproduce {name} --scale paper",
        "rows": {"plotted": 9, "kept": 3},
        "seconds": 1234.5,
        "runs": {"sdds-fig3": {"0": ["a", "b"], "1": ["c"]}},
        "made": [{"commit": "abcdef0123456789+changes", "versions": {"numpy": "2.4.6"}, "machine": machine, "runs": 3}],
        "data": {"nips": {"edges.csv": "1" * 64}, "emm": {}},
        "files": files,
    }
    write_sealed(folder / "index.json", {"format": 2, "figures": {name: figure | said}})


def test_reproduction_of_a_claim(tmp_path: Path) -> None:
    """The counted verdict stands in the table, another reading in no count; where it comes from stands last."""
    claim = dict.fromkeys(COLUMNS, "") | {"id": "sdds-table1", "scale": "paper", "data": "a|b", "metric": "step_1"}
    claim |= {"published": 0.5, "ours": -0.625, "low": -0.75, "high": 0.75, "n": 10, "of": "splits", "rule": "distance"}
    claim |= {"unit": "ms", "statement": "<said>", "reason": "measured so"}
    rows = [
        claim | {"counted": True, "verdict": "reproduced", "tolerance": 1.0},
        claim | {"counted": True, "verdict": "not testable", "data": "b", "ours": np.nan, "reason": "measured *so*"},
        claim | {"counted": False, "verdict": "undecided", "reading": "another start", "tolerance": 0.1},
    ]
    keep(tmp_path / "reproduction", "sdds-table1", rows, notes="A finding [in] plain text.")
    pages = write_pages(tmp_path)
    own, origin = pages["sdds-table1"].split("## Make it again")
    for said in (
        "a\\|b: step 1",
        "\\<said\\>",
        "measured \\*so\\*",
        "--label3: 'published: '",
        "| n (splits) |",
        "| 0.5 ms | −0.625 | \\[−0.75,&nbsp;0.75\\] | 10 |",
        "1 more verdicts; 1 of them differ",
    ):
        assert said in own, said
    # a sentence stands once, a reason where there is no number
    assert own.count("said") == 1 and "measured so" not in own
    assert (
        '<span class="verdict yes">reproduced</span>' in own and "undecided" not in own and "another start" not in own
    )
    assert (
        "{image} ../reproduction/sdds-table1.png\n:alt: Table of six steps: letter tiles" in own
        and "A finding \\[in\\] plain text." in own
    )
    for name, label in (("sdds-table1", "numbers"), ("sdds-table1-claims", "claims")):
        assert f"[{label}](../reproduction/{name}.csv)" in own
    assert "3 of 9 plotted rows" in own
    said = ["3 runs, 1,234 s of sampling", "abcdef012345</code> with changes", "index.json"]
    assert all(part in origin for part in said)
    # claims, reproduced, not reproduced, undecided, at the edge, not testable, not kept yet
    assert "| [Wang & Russell 2015](sdds.md) | 75 | 1 | 0 | 0 | 0 | 1 | 73 |" in pages["reproduction"]
    assert "At most 0.025 of" in pages["reproduction"] and "which\n1 are kept here" in pages["reproduction"]


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
    extensions = ("myst_nb", "numpydoc", "sphinx_copybutton", "sphinxcontrib.bibtex")
    for name in ("pydata_sphinx_theme", "latex2mathml", *extensions):
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
    assert not [page for page in pages if '<meta name="description" content=' not in page.read_text(encoding="utf-8")]
    assert any("copybutton.js" in url for url in pages[tmp_path / "start.html"].loaded)
    ratios = pages[tmp_path / "samplers" / "sdds.html"]
    assert "mfrac" in ratios.tags
    # scripts, styles and pictures are the site's own
    assert not [url for links in pages.values() for url in links.loaded if urlsplit(url).scheme not in ("", "data")]
