"""Who may import whom (docs/design.md)."""

import ast
import re
from pathlib import Path

import pytest

import splitmerge_cli

ROOT = Path(splitmerge_cli.__file__).parent
KERNELS = {"_kernels", "_chain", "_smart", "_dyadic", "_reconfigure", "_past", "_hashing", "_mixture", "_normal"}

# what the files of each part may import of the others; a part may always import itself
MAY = {
    "_kernels": set(),
    "_smart": {"_kernels"},
    "_dyadic": {"_kernels"},
    "_reconfigure": {"_kernels"},
    "_past": {"_kernels"},
    "_hashing": {"_kernels"},
    "_mixture": {"_kernels"},
    "_normal": {"_kernels", "_mixture"},
    "_chain": {"_kernels", "_past"},
    "_heldout": {"_kernels"},
    "models": {"_kernels", "_mixture", "_normal"},
    "samplers": {"_kernels", "_smart", "_dyadic", "_reconfigure", "_past", "_hashing"},
    "data": set(),
    "diagnostics": set(),
    "results": set(),
    "moved": set(),
    "config": {"moved"},
    "progress": set(),
    "_interrupt": set(),
    "interrupts": {"_interrupt"},
    "__main__": {"cli", "interrupts"},
    "initial": {"_kernels", "config", "data"},
    "runner": {
        *("_chain", "_heldout", "_kernels"),
        *("config", "data", "diagnostics", "initial", "interrupts", "progress", "results"),
    },
    "job": {"config", "interrupts", "progress", "results", "runner"},
    "sweep": {"config", "data", "interrupts", "job", "progress", "results", "runner"},
    "plots": {"diagnostics", "results", "sweep"},
    # a figure never samples: its runs are made by `sweep`, its exact numbers by `verify`
    "papers": {"config", "data", "diagnostics", "plots", "results", "sweep", "verify"},
    "verify": {*KERNELS, "config", "data", "initial", "models", "runner", "samplers"},
    "cli": {"config", "data", "diagnostics", "interrupts", "papers", "results", "runner", "sweep", "verify"},
}


def part_of(module: str) -> str:
    """The part that ``splitmerge_cli.PART...`` belongs to; empty for the package itself."""
    return [*module.split("."), ""][1]


def imports(file: Path) -> set[str]:
    """Modules of this package that a file imports, by ``import``, ``from`` or ``cimport``."""
    text = file.read_text(encoding="utf-8")
    found: set[str] = set()
    if file.suffix in (".pyx", ".pxd"):
        for line in text.splitlines():
            if match := re.match(r"\s*from\s+(splitmerge_cli[\w.]*)\s+c?import\s+(.*)", line):
                found |= expand(match[1], re.findall(r"\w+", match[2]))
            elif match := re.match(r"\s*c?import\s+(splitmerge_cli[\w.]*)", line):
                found.add(match[1])
        return found
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith("splitmerge_cli")}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import; expected an absolute one"
            if (node.module or "").startswith("splitmerge_cli"):
                found |= expand(str(node.module), [alias.name for alias in node.names])
    return found


def expand(module: str, names: list[str]) -> set[str]:
    """``from splitmerge_cli import runner`` names the module ``splitmerge_cli.runner``."""
    return {f"{module}.{name}" for name in names} if module == "splitmerge_cli" else {module}


FILES = sorted(p for suffix in ("*.py", "*.pyx", "*.pxd") for p in ROOT.rglob(suffix) if p.name != "__init__.py")


@pytest.mark.parametrize("file", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports(file: Path) -> None:
    name = file.relative_to(ROOT).as_posix()
    own = name.partition("/")[0].partition(".")[0]
    allowed = MAY[own]
    for module in imports(file):
        part = part_of(module)
        # the version of the package is no part
        if part in ("__version__", own):
            continue
        assert part in allowed, f"{name} imports {module}"


# what the kinds of data may import of each other
KINDS_OF_DATA = {
    "tables": set(),
    "graphs": {"tables"},
    "corpora": {"tables"},
    "generated": {"corpora", "graphs"},
    "published": {"corpora", "generated", "graphs", "tables"},
}


@pytest.mark.parametrize("kind", KINDS_OF_DATA)
def test_kinds_of_data_import_downwards(kind: str) -> None:
    for file in (ROOT / "data" / kind).glob("*.py"):
        for module in imports(file):
            part = [*module.split("."), "", ""][2]
            if module.startswith("splitmerge_cli.data.") and part in KINDS_OF_DATA:
                assert part in {kind, *KINDS_OF_DATA[kind]}, f"{file.name} imports {module}"


def test_papers_do_not_import_each_other() -> None:
    keys = {folder.parent.name for folder in (ROOT / "papers").glob("*/paper.py")}
    assert len(keys) >= 5
    for key in keys:
        for file in (ROOT / "papers" / key).glob("*.py"):
            others = {part for module in imports(file) for part in module.split(".")[2:3] if part in keys - {key}}
            assert not others, f"papers/{key}/{file.name} imports {others}"
    # what papers share names none of them: they are found
    for file in (ROOT / "papers").glob("*.py"):
        named = {part for module in imports(file) for part in module.split(".")[2:3] if part in keys}
        assert not named, f"papers/{file.name} imports {named}"


# one model in two files: gaussian hands sparse points on
PARTNERS = {"gaussian.pyx": {"splitmerge_cli.models.sparse_gaussian"}}


def test_models_and_samplers_import_no_sibling() -> None:
    for folder in ("models", "samplers"):
        for file in (ROOT / folder).glob("*.pyx"):
            siblings = {m for m in imports(file) if part_of(m) in ("models", "samplers")}
            assert siblings == PARTNERS.get(file.name, set()), f"{file.name} imports {siblings}"


def test_the_rule_sees_imports(tmp_path: Path) -> None:
    python, cython = tmp_path / "a.py", tmp_path / "b.pyx"
    python.write_text("def f():\n    from splitmerge_cli import runner\n    import splitmerge_cli.models.emm\n")
    cython.write_text("from splitmerge_cli._kernels cimport Model, Rng\ncimport splitmerge_cli.samplers.ss\n")
    assert {part_of(m) for m in imports(python)} == {"runner", "models"}
    assert {part_of(m) for m in imports(cython)} == {"_kernels", "samplers"}
