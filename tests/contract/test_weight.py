"""The weight of the package, which only goes down: lines by room and slice, files that name a slice from outside,
questions of the engine about a kind, imports.

Whoever raises a number does so in a commit of its own that says what the user gets for it; whoever saves lines lowers
it. No number may be more than `SLACK` above what is there.
"""

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from sources import parse

import splitmerge_cli

pytestmark = pytest.mark.xdist_group("sources")
ROOT = Path(splitmerge_cli.__file__).parent
SLACK = 150
LINES = {
    "analysis": 4_280,
    "api": 2_220,
    "cli": 1_940,
    "config": 2_740,
    "core": 9_080,
    "data": 8_640,
    "diagnostics": 4_000,
    "fits": 1_120,
    "kinds": 40,
    "kinds/documents": 7_520,
    "kinds/lines": 980,
    "kinds/networks": 9_480,
    "kinds/records": 4_800,
    "kinds/tables": 13_400,
    "kinds/tokens": 440,
    "papers": 8_240,
    "priors": 1_100,
    "runs": 9_640,
    "samplers": 6_740,
    "top": 1_320,
    "verify": 3_360,
}
"""Lines of .py, .pyx, .pxd and .h by room, and by slice of `kinds`."""
ALL_LINES = 100_900
TEST_LINES = 57_800
"""Lines of .py and .pyx, and of the tables of cases, .yaml."""
FILES, IMPORT_SHARE = 258, 5.0
"""Python files, and the share of their lines that are imports, in per cent."""
NAMED = {"records": 4, "networks": 4, "tables": 7, "documents": 5}
"""Files outside a slice that have a word of it."""
WORDS = {"records": r"\b[Ee]ntit(y|ies)|kinds\.records|=records\b", "networks": r"\brelations?\b"}
# a regressed outcome; what a job or a chain comes to is called so, too
WORDS |= {"tables": r"model\.outcome|outcomes\.\w|.outcome['\"]|\boutcome_|OutcomeAnswers", "documents": "[tT]opic"}
ASKED = 0
"""Places in the engine that ask what a kind is; none is the aim."""
QUESTIONS = re.compile(
    r"\.(has_topics|has_columns|is_network|has_small_clusters|any_columns|takes_sources|has_rows|of_numbers|one_column"
    r"|is_table|is_numeric|no_new_rows|takes_more_moves|by_share)\b"
    r"|\b(bundles|relations) is (not )?None"
)
ENGINE = ("analysis", "config", "core", "diagnostics", "fits", "priors", "runs", "samplers", "_kernels")
"""Without data: it reads files for the slices, by the settings of a kind."""
SPECIFIED = 15
"""Files that read the specification of a run."""


@cache
def sources() -> dict[str, str]:
    """Each source of the package, by its path below it."""
    files = (p for suffix in ("*.py", "*.pyx", "*.pxd", "*.h") for p in sorted(ROOT.rglob(suffix)))
    return {file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8") for file in files}


def room_of(name: str) -> str:
    """The room of a file, or its slice."""
    parts = name.split("/")
    return "/".join(parts[:2]) if parts[0] == "kinds" and len(parts) > 2 else parts[0] if len(parts) > 1 else "top"


def hold(name: str, found: float, limit: float, slack: float = SLACK) -> None:
    """Check a number against its limit, and the limit against the number."""
    assert found <= limit, f"{name}: {found}; expected at most {limit}"
    assert limit <= found + slack, f"{name}: {found}; the limit of {limit} is to be lowered"


def test_lines() -> None:
    lines: Counter[str] = Counter()
    for name, text in sources().items():
        lines[room_of(name)] += len(text.splitlines())
    assert lines.keys() == LINES.keys()
    for room, limit in LINES.items():
        hold(room, lines[room], limit)
    hold("the package", lines.total(), ALL_LINES)
    tests = (p for suffix in ("*.py", "*.pyx", "*.yaml") for p in (ROOT.parent / "tests").rglob(suffix))
    hold("tests", sum(len(p.read_text(encoding="utf-8").splitlines()) for p in tests), TEST_LINES, 2 * SLACK)


def test_python_files_and_imports() -> None:
    files = sorted(ROOT.rglob("*.py"))
    hold("Python files", len(files), FILES, 5)
    nodes = (node for file in files for node in ast.walk(parse(file)) if isinstance(node, ast.Import | ast.ImportFrom))
    imports = sum((node.end_lineno or node.lineno) - node.lineno + 1 for node in nodes)
    lines = sum(len(text.splitlines()) for name, text in sources().items() if name.endswith(".py"))
    hold("share of imports", round(100 * imports / lines, 2), IMPORT_SHARE, 0.1)


@pytest.mark.parametrize("name", WORDS)
def test_files_outside_a_slice_that_name_it(name: str) -> None:
    own = (f"kinds/{name}/", "papers/")
    found = [file for file, text in sources().items() if not file.startswith(own) and re.search(WORDS[name], text)]
    hold(f"files that name {name}", len(found), NAMED[name], 2)


def test_the_engine_asks_no_kind_what_it_is() -> None:
    engine = {name: text for name, text in sources().items() if name.split("/")[0].split(".")[0] in ENGINE}
    hold("questions", sum(len(QUESTIONS.findall(text)) for text in engine.values()), ASKED, 2)
    reading = [name for name, text in sources().items() if re.search(r"\bspec\.", text)]
    hold("files that read spec.", len(reading), SPECIFIED, 2)
