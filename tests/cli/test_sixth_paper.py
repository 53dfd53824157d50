"""A sixth paper touches no file that is there: from a folder of the user's own, or as a folder within the package."""

import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import splitmerge_cli.papers
from splitmerge_cli.papers import declaration

DOCS = Path(__file__).parents[2] / "docs" / "extending" / "paper.md"
FILES = dict(
    re.findall(r"^`my-paper/(\S+)`\n\n```\w*\n(.*?)^```$", DOCS.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
)
"""The files of the example that the documentation gives."""
PAPER = FILES["paper.py"]


def write(folder: Path, name: str = "paper.py", text: str = PAPER) -> Path:
    """A toy paper in a folder, one of its files replaced."""
    for file, content in (FILES | {name: text}).items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(content, encoding="utf-8")
    return folder


def check(smcmc: Callable, *own: str) -> None:
    """List, reproduce, plot and report the toy paper."""
    listed = smcmc("list", "figures", *own).stdout.splitlines()
    assert [line for line in listed if line.startswith("toy-")] == [
        "toy-fig1        Doe & Roe 2026          Figure 1: two samplers on twenty mentions",
        "toy-table1      Doe & Roe 2026          Table 1: the size of the data",
    ]
    # the five are still there
    assert len(listed) == 2 + len(declaration.figures()) - ("toy-fig1" in declaration.figures()) * 2
    result = smcmc("reproduce", "toy", "--workers", "1", *own, status=0)
    figures = Path("results/figures")
    plotted = pd.read_csv(figures / "toy-fig1.csv")
    assert plotted["sampler"].tolist() == ["sdds"] * 3 + ["ss"] * 3
    assert pd.read_csv(figures / "toy-fig1-claims.csv")["statement"].tolist() == ["every chain has a cluster"]
    assert pd.read_csv(figures / "toy-table1-claims.csv")["verdict"].tolist() == ["reproduced"]
    assert len(list(Path("results/toy-fig1").iterdir())) == 2
    before = {file.name: file.read_bytes() for file in figures.iterdir()}
    assert len(before) == 14
    result = smcmc("plot", "toy-fig1", "toy-table1", *own)
    assert result.exit_code == 0 and {file.name: file.read_bytes() for file in figures.iterdir()} == before
    assert smcmc("report", *own).exit_code == 0
    text = Path("results/report.html").read_text(encoding="utf-8")
    assert "Doe &amp; Roe 2026: Two Samplers &amp; Twenty Mentions (Journal of Toys 1)" in text
    assert "Errata of Doe &amp; Roe 2026" in text and "<td>twenty-one mentions</td>" in text
    assert "Doe &amp; Roe 2026, Figure 1: two samplers on twenty mentions" in text
    assert text.count("data:image/png;base64,") == 2
    assert f"smcmc reproduce toy-fig1 --scale quick{''.join(f' {part}' for part in own)}" in text


@pytest.mark.slow
def test_a_paper_from_a_folder_of_the_users_own(smcmc) -> None:
    write(Path("my-paper"))
    check(smcmc, "--config-dir", "my-paper")
    # nobody else sees it, and its runs are opened like any
    assert "toy-fig1" not in smcmc("list", "figures").stdout
    result = smcmc("reproduce", "toy-fig1")
    assert result.exit_code == 2 and result.stderr.startswith("smcmc: toy-fig1: no such figure; expected all, arm, ")
    (run, _) = Path("results/toy-fig1").iterdir()
    assert smcmc("plot", str(run)).exit_code == 0
    # the folder is one of configuration too
    smcmc("run", "experiment=toy-fig1", "chains=1", "iterations=5", "--config-dir", "my-paper", status=0)


@pytest.fixture
def paper_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The toy paper as a folder of the package, whose folders are extended by one."""
    folder = write(tmp_path / "beside" / "toy")
    (folder / "__init__.py").touch()
    monkeypatch.setattr(splitmerge_cli.papers, "__path__", [*splitmerge_cli.papers.__path__, str(folder.parent)])
    yield folder
    for name in [name for name in sys.modules if name.startswith("splitmerge_cli.papers.toy")]:
        del sys.modules[name]


@pytest.mark.slow
def test_a_paper_dropped_into_the_package(smcmc, paper_folder: Path) -> None:
    # two processes would not know of the folder: one run of the two is there before
    assert smcmc("run", "experiment=toy-fig1", "sampler=ss").exit_code == 0
    check(smcmc)
    assert "chains: 3" in smcmc("run", "experiment=toy-fig1", "--cfg", "job").stdout


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("paper.py", "raise RuntimeError('boom')\n", "my-paper/paper.py: cannot be imported: boom"),
        ("paper.py", "PAPERS = []\n", "my-paper/paper.py: cannot be imported: "),
        ("paper.py", "PAPER = 'toy'\n", "my-paper/paper.py: PAPER='toy': expected a Paper"),
        (
            "paper.py",
            PAPER.replace('key="toy"', 'key="doll"'),
            "paper.py: toy-fig1: expected an id that begins with doll-",
        ),
        (
            "paper.py",
            PAPER.replace('key="toy"', 'key="sdds"').replace('"toy-', '"sdds-'),
            "paper.py: key=sdds: expected a key that no other paper has",
        ),
        (
            "paper.py",
            PAPER.replace("toy-fig1", "toy-fig7"),
            "experiment=toy-fig7: no such file; expected experiment/toy-",
        ),
        ("paper.py", PAPER.replace("curves.fig1", "curves.fig7"), "my-paper/paper.py: toy-fig1: curves.fig7: module"),
        ("claims.csv", "id,value\ntoy-fig1,1\n", "my-paper/claims.csv: columns id, value; expected id, data, sampler,"),
        ("claims.csv", "", "my-paper/claims.csv: cannot be read: "),
    ],
)
def test_a_paper_with_a_fault(smcmc, name: str, text: str, message: str) -> None:
    write(Path("my-paper"), name, text)
    result = smcmc("reproduce", "toy", "--config-dir", "my-paper")
    assert result.exit_code == 2 and message in result.stderr, result.output
    assert result.stderr.count("\n") == 1 + result.stderr.count(" jobs (")


def test_a_folder_without_a_paper_adds_none(smcmc) -> None:
    Path("mine").mkdir()
    assert smcmc("list", "figures", "--config-dir", "mine").stdout == smcmc("list", "figures").stdout
    result = smcmc("list", "samplers", "--config-dir", "mine")
    assert result.exit_code == 2 and "expected list figures" in result.stderr
    result = smcmc("list", "figures", "--config-dir", "absent")
    assert result.exit_code == 2 and result.stderr == "smcmc: --config-dir absent: no such folder\n"


@pytest.mark.slow
def test_results_import_no_paper(smcmc) -> None:
    """Whatever lies in a folder of results is not imported."""
    write(Path("my-paper"))
    assert smcmc("reproduce", "toy-fig1", "--workers", "1", "--config-dir", "my-paper").exit_code == 0
    shutil.move("my-paper/experiment", "results/experiment")
    for folder in (Path("results"), Path("results/toy-fig1"), next(Path("results/toy-fig1").iterdir())):
        (folder / "paper.py").write_text("from pathlib import Path\nPath('executed').touch()\n")
    assert smcmc("plot", "toy-fig1").exit_code == 2
    assert smcmc("report").exit_code == 0 and "toy" not in Path("results/report.html").read_text(encoding="utf-8")
    assert smcmc("plot", *map(str, Path("results/toy-fig1").glob("*/"))).exit_code == 0
    assert not Path("executed").exists()
