"""The check of names finds planted examples of each rule, and nothing in what follows the rules."""

import importlib.util
from pathlib import Path

import count_habits
import pytest

import splitmerge_cli

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check_names.py"
_spec = importlib.util.spec_from_file_location("check_names", SCRIPT)
assert _spec is not None and _spec.loader is not None
check_names = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(check_names)

RECORD = "# 3. Title\n\n**Context.** One.\n\n**Choice.** Two.\n\n**Consequence.** Three.\n"
PLANTED = [
    ("a.py", "def checked(row):\n    pass\n", "name"),
    ("a.py", "class A:\n    def told_apart(self):\n        pass\n", "name"),
    ("a.pyx", "cdef int said(int n) noexcept nogil:\n    pass\n", "name"),
    ("a.py", '"""What a module offers."""\n', "summary"),
    ("a.py", 'X = 1\n"""The same of Y."""\n', "summary"),
    ("a.py", 'def read_row():\n    """The value of the column of the row."""\n', "summary"),
    ("a.pyx", 'cdef int size(self):\n    """Of rows there is none."""\n', "summary"),
    ("a.py", "# a void move\n", "word"),
    ("a.md", "Papers 003 and 004.\n", "word"),
    ("a.md", "With probability .05 it is null.\n", "leading zero"),
    ("a.md", "word " * 21 + "\n", "width"),
    ("docs/decisions/0003-a.md", RECORD.replace("3.", "4."), "record"),
    ("docs/decisions/0003-a.md", RECORD.replace("**Choice.**", "## Choice\n\n"), "record"),
]
GOOD = [
    ("a.py", 'def read_row():\n    """Return the mean of a column of 0.5."""\n'),
    ("a.py", 'def is_exact():\n    """Whether the kernel leaves the posterior as it is."""\n'),
    ("a.pyx", "cdef int n_clusters(self) noexcept nogil:\n    pass\n"),
    ("a.md", "| " + "word " * 21 + "|\n"),
    ("docs/decisions/0003-a.md", RECORD + "\n**Since.** Four.\n"),
]


@pytest.mark.parametrize(("path", "text", "rule"), PLANTED)
def test_finds_planted(path: str, text: str, rule: str) -> None:
    rules = {finding.rule.partition(":")[0] for finding in check_names.check_file(path, text)}
    assert rule in rules


@pytest.mark.parametrize(("path", "text"), GOOD)
def test_passes_what_follows_the_rules(path: str, text: str) -> None:
    assert not list(check_names.check_file(path, text))


def test_counts_each_habit_once() -> None:
    text = (
        "Of mfm it is static. Beside it, beside those of A and that of B, what is so runs by itself anew,\n"
        "in times of C, to be had. Of course not; kind of.\n"
    )
    assert {name: len(pattern.findall(text)) for name, pattern in count_habits.HABITS.items()} == dict.fromkeys(
        count_habits.HABITS, 1
    )


def test_compiled_code_uses_no_negative_index() -> None:
    """``wraparound`` is off: Cython leaves ``x[-1]`` undefined, and one build of NumPy read past the end."""
    files = sorted(Path(splitmerge_cli.__file__).parent.rglob("*.pyx"))
    lines = [f"{file.name}: {line}" for file in files for line in file.read_text().splitlines() if "[-1" in line]
    assert len(files) > 50 and not lines
