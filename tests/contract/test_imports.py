"""Who may import whom (docs/design.md)."""

import ast
import re
from functools import cache
from pathlib import Path

import splitmerge_cli
from splitmerge_cli.config import choice, choices, locate

ROOT = Path(splitmerge_cli.__file__).parent
# what the files of each part may import of the others; a part may always import itself
MAY = {
    "extras": set(),
    "instruction_sets": set(),
    "overrides": set(),
    "received": set(),
    "terminal": set(),
    # the names of what other distributions add
    "plugins": {"core"},
    "core": set(),
    "_kernels": {"core"},
    "priors": {"core"},
    "models": {"core", "priors"},
    "samplers": {"_kernels", "core"},
    "data": {"kinds"},
    # what a kind asks of diagnostics, runs and plots, they ask it
    "kinds": {"data"},
    "diagnostics": {"kinds"},
    "results": set(),
    "config": {"core", "kinds", "papers"},
    "__main__": {"cli", "runs"},
    "runs": {"config", "core", "data", "diagnostics", "kinds", "models", "results"},
    "sweeps": {"config", "core", "data", "results", "runs"},
    "studies": {"config", "core", "data", "diagnostics", "kinds", "models", "results", "runs", "sweeps"},
    "plots": {"config", "diagnostics", "kinds", "results", "runs", "studies"},
    "pages": {"config", "data", "diagnostics", "kinds", "plots", "results", "runs", "studies"},
    # a figure never samples: its runs are made by `sweeps.sweep`, its exact numbers by `verify`
    "papers": {"config", "data", "diagnostics", "pages", "plots", "results", "runs", "studies", "sweeps", "verify"},
    "verify": {"config", "core", "data", "kinds", "models", "priors", "results", "runs", "samplers"},
    "api": {"config", "data", "diagnostics", "kinds", "pages", "plots", "results", "runs", "studies", "sweeps"},
    "shards": {"config", "core", "data", "results", "runs", "samplers", "sweeps"},
    "estimators": {"api"},
    "cli": {
        *(
            "api",
            "config",
            "data",
            "diagnostics",
            "kinds",
            "pages",
            "papers",
            "priors",
            "results",
            "runs",
            "shards",
            "studies",
            "sweeps",
        ),
        "verify",
    },
}
# what is read, and what is printed: every part may import them
EDGES = ("extras", "overrides", "plugins", "received", "terminal")


def part_of(module: str) -> str:
    """The part that ``splitmerge_cli.PART...`` belongs to; empty for the package itself."""
    return [*module.split("."), ""][1]


@cache
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
    """``from splitmerge_cli import runs`` names the module ``splitmerge_cli.runs``."""
    return {f"{module}.{name}" for name in names} if module == "splitmerge_cli" else {module}


FILES = sorted(p for suffix in ("*.py", "*.pyx", "*.pxd") for p in ROOT.rglob(suffix) if p.name != "__init__.py")


def test_imports() -> None:
    assert len(FILES) > 200
    wrong = []
    for file in FILES:
        name = file.relative_to(ROOT).as_posix()
        own = name.partition("/")[0].partition(".")[0]
        # the version of the package is no part
        allowed = {"__version__", own, *EDGES, *MAY[own]}
        wrong += [f"{name} imports {module}" for module in imports(file) if part_of(module) not in allowed]
    assert not wrong


# what the kinds of data may import of each other
KINDS_OF_DATA = {
    "tables": set(),
    "graphs": {"tables"},
    "corpora": {"tables"},
    "generated": {"corpora", "graphs"},
    "published": {"corpora", "generated", "graphs", "tables"},
}


def test_kinds_of_data_import_downwards() -> None:
    for kind, allowed in KINDS_OF_DATA.items():
        for file in (ROOT / "data" / kind).glob("*.py"):
            for module in imports(file):
                part = [*module.split("."), "", ""][2]
                if module.startswith("splitmerge_cli.data.") and part in KINDS_OF_DATA:
                    assert part in {kind, *allowed}, f"{file.name} imports {module}"


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


# models that leave tables with missing cells to that of tables of any columns, that to which it leaves real columns,
# and a sampler that is made of others
OTHERS = {
    "bernoulli": ("mixed",),
    "gaussian": ("mixed",),
    "mixed": ("gaussian",),
    "portfolio": ("dyadic", "rgsm", "sdds", "srm"),
}


def test_models_and_samplers_import_no_sibling() -> None:
    """They import what siblings share, and none that a configuration names, but these."""
    named = {
        locate(choice(group, name)["_target_"]).__module__ for group in ("model", "sampler") for name in choices(group)
    }
    for folder in ("models", "samplers"):
        for file in (ROOT / folder).glob("*.p[yx]*"):
            may = {f"splitmerge_cli.{folder}.{name}" for name in (file.stem, *OTHERS.get(file.stem, ()))}
            assert not (imports(file) & named) - may, f"{file.name} imports {imports(file) & named}"


def test_the_rule_sees_imports(tmp_path: Path) -> None:
    python, cython = tmp_path / "a.py", tmp_path / "b.pyx"
    python.write_text("def f():\n    from splitmerge_cli import runs\n    import splitmerge_cli.models.emm\n")
    cython.write_text("from splitmerge_cli._kernels cimport Model, Rng\ncimport splitmerge_cli.samplers.ss\n")
    assert {part_of(m) for m in imports(python)} == {"runs", "models"}
    assert {part_of(m) for m in imports(cython)} == {"_kernels", "samplers"}


# what a figure may use of the runs: grids of them, and what a race of stored ones says
OF_RUNS = {"splitmerge_cli.runs.stored", "splitmerge_cli.sweeps.sweep", "splitmerge_cli.studies.race"}


def test_figures_make_runs_by_sweeps_alone() -> None:
    for file in (ROOT / "papers").glob("*/*.py"):
        assert {module for module in imports(file) if part_of(module) in ("runs", "studies", "sweeps")} <= OF_RUNS, (
            file.name
        )
