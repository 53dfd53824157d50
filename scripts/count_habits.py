"""Count habits of writing that docs/style.md advises against; fail when a count rises.

    python scripts/count_habits.py            compare the counts with scripts/habits.csv
    python scripts/count_habits.py --write    write them there, after a page has become plainer

Counted are README.md, the pages of docs without their code, and the text of splitmerge_cli: docstrings, messages,
comments. ``check_names.py`` makes the same comparison. Exit status 1 where a count has risen.
"""

import csv
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KEPT = Path("scripts/habits.csv")
PLACES = ("docs", "package")
HABITS = {
    "beside": re.compile(r"\bbeside\b"),
    "those of": re.compile(r"\b[Tt]hose\s+of\b"),
    "that of": re.compile(r"\b[Tt]hat\s+of\b"),
    "by itself": re.compile(r"\bby\s+(?:itself|themselves)\b"),
    "anew": re.compile(r"\banew\b"),
    "in times of": re.compile(r"\bin\s+times\s+of\b"),
    "to be had": re.compile(r"\bto\s+be\s+had\b"),
    "what is so": re.compile(r"\b[Ww]hat\s+is\s+(?:not\s+)?so\b"),
    "Of ...": re.compile(r"(?:\A|(?<=[.:]\s)|(?<=\n\n)|(?<=\| )|(?<=[\"(])|(?<=\n[*-]\s))Of\s(?!course)"),
}
"""Each habit; the last is a sentence that begins with "Of"."""
FENCE = re.compile(r"^ *(```+)[^\n]*\n.*?^ *\1 *$", re.MULTILINE | re.DOTALL)


def find_place(path: str) -> str:
    """Return where a file is counted, one of `PLACES`; empty if nowhere, such as the sealed YAML of docs."""
    if path.endswith(".md"):
        return "" if path == "docs/style.md" else "docs"
    is_code = path.startswith("splitmerge_cli") and path.endswith((".py", ".pyx", ".pxd", ".pyi", ".yaml"))
    return "package" if is_code else ""


def read_texts() -> Iterator[tuple[str, str, str]]:
    """Read every file that is counted: its place, path and text, with blocks of code in pages left empty."""
    command = ["git", "ls-files", "--", "README.md", "docs", "splitmerge_cli"]
    paths = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")
    for path in paths:
        if (place := find_place(path)) and (ROOT / path).is_file():
            text = (ROOT / path).read_text("utf-8")
            if place == "docs":
                text = FENCE.sub(lambda block: "\n" * block[0].count("\n"), text)
            yield place, path, text


def count() -> Counter[tuple[str, str]]:
    """How often each habit occurs, by habit and place."""
    counts: Counter[tuple[str, str]] = Counter()
    for place, _, text in read_texts():
        for name, pattern in HABITS.items():
            counts[name, place] += len(pattern.findall(text))
    return counts


def added_lines(name: str, place: str) -> Iterator[str]:
    """Lines of a place with a habit that are newer than the counts, as ``file:line: text``."""
    command = ["git", "log", "-1", "--format=%H", "--", str(KEPT)]
    since = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip() or "HEAD"
    command = ["git", "diff", "-U0", since, "--", "README.md", "docs", "splitmerge_cli"]
    path, number = "", 0
    for line in subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n"):
        if line.startswith("+++ "):
            path = line[6:]
        elif hunk := re.match(r"@@ -\S+ \+(\d+)", line):
            number = int(hunk[1])
        elif line.startswith("+"):
            if find_place(path) == place and HABITS[name].search(line[1:]):
                yield f"{path}:{number}: {line[1:].strip()[:100]}"
            number += 1


def compare() -> Iterator[str]:
    """Describe each count that has risen, and the new lines with that habit."""
    counts = count()
    with (ROOT / KEPT).open(encoding="utf-8", newline="") as stream:
        stored = {(row["habit"], place): int(row[place]) for row in csv.DictReader(stream) for place in PLACES}
    for (name, place), number in counts.items():
        if number > stored[name, place]:
            yield f'{place}: "{name}" {number} times, {stored[name, place]} before (docs/style.md)'
            yield from added_lines(name, place)


def main() -> int:
    """Compare the counts, or write them."""
    if "--write" in sys.argv[1:]:
        counts = count()
        lines = ["habit,docs,package", *(f"{name},{counts[name, 'docs']},{counts[name, 'package']}" for name in HABITS)]
        (ROOT / KEPT).write_text("\n".join(lines) + "\n", "utf-8")
        return 0
    risen = list(compare())
    print(*risen, sep="\n", end="\n" if risen else "")
    return int(bool(risen))


if __name__ == "__main__":
    sys.exit(main())
