"""Check the project's words: names of functions, summaries of docstrings, left words, decision records, line lengths.

    python scripts/check_names.py             every tracked file, and the counts of scripts/count_habits.py
    python scripts/check_names.py PATH ...    these files and folders

Prints ``file:line: rule: text`` for each finding; exit status 1 where there is one. CONTRIBUTING.md has the rules in
words, under "Words and style".
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import count_habits

ROOT = Path(__file__).resolve().parents[1]
SEALED = {f"docs/reproduction-{name}.yaml" for name in ("edition-3", "edition-5", "edition-6", "corrections")}
"""Rules of editions, written before their runs. The editions keep their digests, so no byte of them may change."""
EXEMPT = {"CHANGELOG.md", "docs/style.md", "scripts/check_names.py", *SEALED}
"""Files that have to name the words that are left, and sealed files."""

# an action has verb and object (`read_options`), a predicate `is_` or `has_`, a value is a noun
PARTICIPLES = {
    "said", "asked", "told", "meant", "heard", "known", "made", "met", "kept", "held", "found", "drawn", "chosen",
    "shown", "seen", "taken", "given", "gone", "done", "begun", "lost", "sent", "stood", "grown", "built", "broken",
    "hidden", "fallen", "thrown", "written", "overwritten", "undone", "unseen", "unknown", "unwritten",
}  # fmt: skip
SPOKEN = {"said", "told", "asked", "meant"}
# `Posterior.converged` is the word of the field; `mixed` is a kind of data, by which stored runs find its generator
NOT_PARTICIPLES = {
    "converged",
    "embed",
    "exceed",
    "expected",
    "feed",
    "mixed",
    "need",
    "ohsumed",
    "proceed",
    "pubmed",
    "seed",
    "speed",
}
PARTICLES = {
    "about", "above", "absent", "again", "alike", "alone", "along", "apart", "as", "at", "because", "before",
    "behind", "below", "beside", "besides", "between", "by", "for", "from", "here", "how", "in", "instead", "into",
    "like", "longer", "maybe", "never", "no", "not", "now", "of", "off", "on", "once", "only", "or", "otherwise",
    "out", "over", "same", "since", "so", "still", "then", "there", "thus", "to", "together", "too", "under",
    "until", "up", "upon", "was", "when", "where", "whether", "which", "who", "why", "with", "within", "without",
}  # fmt: skip
"""A name that consists of these alone, or begins with a participle and one of these, is neither action nor value."""

HEAD = r"(?<!\w)(?!(?:number|numbers|mean|means|sum|kind|list|lists|ndarray|array|dict|tuple|out|because|instead) )\w+"
BETWEEN = r"(?:(?!(?:and|or|in|that|which|by|for|to|from|at|on|with|as|are|is) )[\w`'*-]+ )"
OF = r"of (?!van |[A-Z][a-z])"
"""A noun before "of", unless it is a common one, a word between two of them, and an "of" before no author."""
SUMMARY = [
    (re.compile(r"(What|The same|Of|Those)\b"), 'begins with "{}"'),
    (
        re.compile(rf"{HEAD} of {BETWEEN}{{1,2}}{OF}{BETWEEN}|\bof {BETWEEN}{{1,3}}{OF}{BETWEEN}{{1,3}}{OF}"),
        '"of ... of"',
    ),
    (re.compile(r"\b(?:is|are) (?:said|told)\b"), '"{}"'),
    (re.compile(r"\bof (?:which|whom) there (?:is|are)\b|\bthere (?:is|are) none\b"), '"{}"'),
]
"""What the first line of a docstring must not hold."""

WORDS = [
    (r"trees? of choices", "execution paths"),
    (r"(?<!cdef )void[ _]moves?|null moves?", "null proposals"),
    (r"row c\b", "the topic-model benchmark"),
    (r"pasts|(?:the|a|its|their|share|no|one) past\b(?! the\b)", "chain history"),
    (r"papers? 00\d|papers? by number|00\d and 00\d", "papers by first author and year"),
    (r"plain(?:[- ]python)? box", "reference implementation"),
    (r"quant(?:um|a)\b", "resolution, fixed point"),
    (r"laws?\b(?<!amdahl's law)(?<!power law)", "distribution"),
    (r"different stories", "have not converged"),
    (r"nobody can foresee", "unpredictable"),
    (r"(?:refuse|refused|refuses) aloud", "reject with an error"),
    (r"hopeless", "rejected early"),
    (r"surest", "most certain"),
    (r"at stake", "overlapping clusters"),
    (r"told k\b", "given K"),
    (r"chains? that learn|learning chains?", "adaptive samplers"),
    (r"parameters (?:that are )?kept|kept parameters", "uncollapsed"),
    (r"(?:mode|labels)=literal", "as_printed"),
    (r"schedule(?:\.name)?=(?:alone|site|sweep)\b", "move_only, single_site, full_scan"),
    (r"_(?:whole|lanes|rounds)\.h\b", "fixed_point.h, simd_math.h, barrier.h"),
    (r"of (?:which|whom) there (?:is|are) (?:none|no)\b", 'the subject first: "X has none"'),
    (r"(?:is|are) (?:said|told)\b|says? so\b", "prints, reports, returns"),
]
"""Words that are left, and what to write (the glossary and CONTRIBUTING.md)."""
LEFT = [(re.compile(word), instead) for word, instead in WORDS]
DECIMAL = re.compile(
    r"\.(?<![\w.\])}%*\"'`\\:,]\.)(?<!\w[-=]\.)(?<!,\+\.)(?<![a-z)}_]/\.)\d+(?:e-?\d+)?(?![\w\"'`-]|\.\d)"
)
"""A decimal without a leading zero; not in tables of data, overrides, format specifications and regular expressions."""

RECORD = ["Context", "Choice", "Consequence", "Since"]
WIDTH = 100
UNBROKEN = re.compile(r"\s*\||    |!\[|.*\]: http")
DOCSTRING = re.compile(r'^[ \t]*(?:cp?def|def|cdef class|class)\b[^\n]*:[^\n]*\n\s*"""(.*)', re.MULTILINE)
DEF = re.compile(r"^[ \t]*(?:def|c(?:p)?def\b(?!\s+(?:class|struct|enum|extern|public|readonly|packed)\b)[^=(\n]*?)\s+"
                 r"[*&]*(\w+)\(", re.MULTILINE)  # fmt: skip


class Finding(NamedTuple):
    """A place that breaks a rule: line, rule, what stands there."""

    line: int
    rule: str
    text: str


def is_bare(name: str) -> bool:
    """Whether a function's name is a participle or a particle, alone or with a particle behind it."""
    first, *rest = name.strip("_").split("_")
    if first in SPOKEN:
        return True
    if first in PARTICIPLES or (first.endswith("ed") and first not in NOT_PARTICIPLES):
        return not rest or rest[0] in PARTICLES
    return first in PARTICLES and all(word in PARTICLES for word in rest)


def check_name(name: str, line: int) -> Iterator[Finding]:
    """Find a name of a function that is neither action, predicate nor value."""
    if is_bare(name) and name not in {"__or__", "__not__", "at", "with_"}:
        yield Finding(line, "name", name)


def check_summary(summary: str, line: int) -> Iterator[Finding]:
    """Find what the first line of a docstring must not hold."""
    for pattern, rule in SUMMARY:
        if match := pattern.match(summary) if pattern is SUMMARY[0][0] else pattern.search(summary):
            yield Finding(line, "summary: " + rule.format(match[0]), summary)


def check_words(text: str) -> Iterator[Finding]:
    """Find words that the glossary has replaced, and decimals without a leading zero."""
    lower = text.lower()
    for pattern, instead in LEFT:
        for match in pattern.finditer(lower):
            if not lower[match.start() - 1 : match.start()].isalpha():
                yield Finding(text.count("\n", 0, match.start()) + 1, "word", f"{match[0]} -> {instead}")
    for match in DECIMAL.finditer(text):
        yield Finding(text.count("\n", 0, match.start()) + 1, "leading zero", match[0])


def visit_bodies(node: ast.AST) -> Iterator[ast.AST]:
    """Walk through statements alone, where all functions and docstrings are: three times as fast as ``ast.walk``."""
    yield node
    for field in ("body", "orelse", "handlers", "finalbody"):
        inner = getattr(node, field, ())
        if isinstance(inner, list):
            for statement in inner:
                yield from visit_bodies(statement)


def check_python(text: str) -> Iterator[Finding]:
    """Check the names and summaries of a Python file."""
    for node in visit_bodies(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from check_name(node.name, node.lineno)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            # a docstring, or the description after an assignment
            yield from check_summary(node.value.value.strip().partition("\n")[0], node.lineno)


def check_cython(text: str) -> Iterator[Finding]:
    """Check the names and summaries of a Cython file."""
    for match in DEF.finditer(text):
        yield from check_name(match[1], text.count("\n", 0, match.start()) + 1)
    for match in DOCSTRING.finditer(text):
        summary = match[1].partition('"""')[0]
        yield from check_summary(summary, text.count("\n", 0, match.start(1)) + 1)


def check_markdown(text: str) -> Iterator[Finding]:
    """Find lines of more than 100 characters outside code, tables, formulas, pictures and links that stand alone."""
    in_code = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        if len(line) > WIDTH and not in_code and not UNBROKEN.match(line):
            yield Finding(number, "width", f"{len(line)} characters")


def check_record(text: str, number: int) -> Iterator[Finding]:
    """Find what a decision record lacks: title "# N. ...", Context, Choice, Consequence, and perhaps Since."""
    if not text.startswith(f"# {number}. "):
        yield Finding(1, "record", f'the title begins with "# {number}. "')
    heads = re.findall(r"^\*\*(\w+)\.\*\*", text, re.MULTILINE)
    parts = [head for head in heads if head in RECORD]
    if parts not in (RECORD, RECORD[:-1]):
        yield Finding(1, "record", f"parts {', '.join(parts) or 'none'}: expected {', '.join(RECORD)} (Since optional)")
    for match in re.finditer(r"^##+ .*", text, re.MULTILINE):
        yield Finding(text.count("\n", 0, match.start()) + 1, "record", match[0])


def check_file(path: str, text: str) -> Iterator[Finding]:
    """Check a file by all rules that hold for it."""
    if path.endswith((".py", ".pyi")):
        yield from check_python(text)
    elif path.endswith((".pyx", ".pxd")):
        yield from check_cython(text)
    elif path.endswith(".md"):
        yield from check_markdown(text)
        if match := re.match(r"docs/decisions/(\d{4})-", path):
            yield from check_record(text, int(match[1]))
    yield from check_words(text)


def list_files(wanted: list[str]) -> list[str]:
    """Return the tracked files that are checked, relative to the root."""
    command = ["git", "ls-files", "--", *wanted]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")
    kinds = (".py", ".pyi", ".pyx", ".pxd", ".h", ".md", ".yaml")
    return [path for path in listed if path.endswith(kinds) and path not in EXEMPT and (ROOT / path).is_file()]


def main() -> int:
    """Print every finding; return 1 where there is one."""
    n_findings = 0
    for path in list_files(sys.argv[1:]):
        text = (ROOT / path).read_text("utf-8")
        for finding in sorted(check_file(path, text)):
            print(f"{path}:{finding.line}: {finding.rule}: {finding.text}")
            n_findings += 1
    for line in () if sys.argv[1:] else count_habits.compare():
        print(line)
        n_findings += 1
    if n_findings:
        print(f"{n_findings} findings", file=sys.stderr)
    return int(n_findings > 0)


if __name__ == "__main__":
    sys.exit(main())
