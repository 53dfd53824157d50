"""Errata and settings of the papers: their tables are complete, their commands exist and show the stated text, their
keys exist. The rules of the last edition seal settings and experiments (tests/scripts/test_editions.py).
"""

import re
import shlex
import subprocess
import sys
from collections import defaultdict
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from typer.testing import CliRunner

from splitmerge_cli import cli, config
from splitmerge_cli.cli.base import COMMANDS as NAMED
from splitmerge_cli.papers import claims, declaration, report
from splitmerge_cli.verify.cases import read_request

ROOT = Path(__file__).parents[2]
CONF = ROOT / "conf"
PAPERS = {paper.key: paper for paper in declaration.papers() if any((CONF / "experiment").glob(f"{paper.key}-*"))}
ROWS = {
    f"{key}-{number}": row
    for key, paper in PAPERS.items()
    for number, row in enumerate(claims.errata(paper).to_dict("records"), start=1)
}
COMMANDS: dict[str, list[str]] = defaultdict(list)
"""Texts that the output of each command must contain."""
for _row in ROWS.values():
    if _row["command"] != "none":
        COMMANDS[_row["command"]].append(_row["shows"])
RUN = [c for c, texts in COMMANDS.items() if c.startswith("smcmc") and texts != ["none"]]
LONG = [c for c in RUN if c.startswith("smcmc run") or "sampler=smag" in c]
"""Commands that take more than some five seconds."""


@pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)
def test_tables_are_whole(paper: declaration.Paper) -> None:
    errata, settings = claims.errata(paper), claims.settings(paper)
    assert list(errata.columns) == claims.ERRATA and list(settings.columns) == claims.SETTINGS
    assert len(errata) >= 9 and len(settings) >= 6
    for table in (errata, settings):
        assert not (table.map(str.strip) == "").any().any()
        assert not table.duplicated().any()
    assert not settings["setting"].duplicated().any()


def words_of(command: str) -> list[str]:
    """The words of a command, without the program."""
    program, *words = shlex.split(command)
    if program == "python":
        assert words[:2] == ["-m", "pytest"]
        return words[2:]
    assert program == "smcmc"
    return words


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_are_known(command: str) -> None:
    """Sub-commands, figures, samplers, models, data sets and keys; files and names of tests."""
    words = words_of(command)
    if command.startswith("python"):
        file, part = (ROOT / next(w for w in words if w.endswith(".py"))), words[words.index("-k") + 1]
        assert any(part in test for test in re.findall(r"^def (test_\w+)", file.read_text(encoding="utf-8"), re.M))
        return
    name, *rest = words
    assert name in NAMED
    if name == "reproduce":
        assert rest and set(rest) - {"--all"} <= set(declaration.figures())
    elif name == "verify":
        assert read_request(dict(word.split("=", 1) for word in rest if word != "--all"), []).samplers
    elif name == "run":
        config.compose(rest)
    else:
        assert name == "data" and rest[0] == "info" and rest[1] in config.choices("data")


def output_of(command: str) -> str:
    """Output of a command, on one line."""
    result = CliRunner().invoke(cli.app, words_of(command), env={"COLUMNS": "160"})
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


@pytest.mark.parametrize("command", [pytest.param(c, marks=pytest.mark.slow if c in LONG else ()) for c in RUN])
def test_commands_show_it(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown = output_of(command)
    assert all(text in shown for text in COMMANDS[command]), shown


TESTS = [c for c in COMMANDS if c.startswith("python")]


@pytest.mark.slow
@pytest.mark.parametrize("command", TESTS)
def test_tests_show_it(command: str) -> None:
    words = [sys.executable, *shlex.split(command)[1:], "-p", "no:cacheprovider"]
    result = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout
    assert all(text in result.stdout for text in COMMANDS[command]), result.stdout


# ---- Settings

SETTINGS = {
    f"{key}-{number}": (key, row)
    for key, paper in PAPERS.items()
    for number, row in enumerate(claims.settings(paper).to_dict("records"), start=1)
}


def groups_in(text: str) -> list[list[str]]:
    """The words of everything between backticks that has a key and a value."""
    return [shlex.split(part) for part in re.findall(r"`([^`]+)`", text) if "=" in part]


@pytest.mark.parametrize("name", SETTINGS)
def test_keys_of_settings_compose(name: str) -> None:
    """Each KEY=VALUE is one of the configuration, with what its neighbours choose."""
    key, row = SETTINGS[name]
    of_paper = {
        "sdds": ["data=emm"],
        "lshsm": ["data=s1", "sampler=lshsm"],
        "smag": ["data=groups4", "sampler=smag"],
        "arm": ["data=nips234", "sampler=arm"],
        "triadic": ["data=lines", "sampler=triadic"],
    }
    for column in claims.SETTINGS:
        for words in groups_in(row[column]):
            chosen = {word.partition("=")[0] for word in words}
            config.compose([word for word in of_paper[key] if word.partition("=")[0] not in chosen] + words)


# ---- What reads them


def in_a_folder(folder: Path) -> declaration.Paper:
    """A paper whose files are in another folder."""
    return replace(next(iter(PAPERS.values())), folder=folder)


def test_a_paper_without_such_files_has_no_rows(tmp_path: Path) -> None:
    paper = in_a_folder(tmp_path)
    assert claims.errata(paper).empty and claims.settings(paper).empty
    assert report._errata(paper) == report._settings(paper) == []


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("errata", "where,printed,correct\na,b,c\n", "columns where, printed, correct; expected where, .*, shows"),
        ("errata", f"{','.join(claims.ERRATA)}\na,b,c,d,e,f,g\na,b,c,,e,f,g\n", "errata.csv: row 2, why: empty"),
        ("settings", f"{','.join(claims.SETTINGS)}\na,b,c,d, \n", "settings.csv: row 1, sensitivity: empty"),
    ],
)
def test_a_bad_file_is_named(name: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
    with pytest.raises(config.ConfigError, match=message):
        getattr(claims, name)(in_a_folder(tmp_path))


@pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)
def test_the_report_shows_them(paper: declaration.Paper) -> None:
    errata, settings = (unescape("".join(of(paper))) for of in (report._errata, report._settings))
    assert f'id="{paper.key}-errata"' in errata and f'id="{paper.key}-settings"' in settings
    for row in claims.errata(paper).to_dict("records"):
        assert row["correct"] in errata and row["effect"] in errata
        assert row["command"] == "none" or f"<code>{row['command']}</code>" in errata
    assert settings.count("<tr>") == len(claims.settings(paper)) + 1
    assert "`" not in settings and "<code>" in settings
