"""Who may import whom (docs/design.md)."""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sources import parse

import splitmerge_cli
from splitmerge_cli.config import choice, choices, locate

pytestmark = pytest.mark.xdist_group("sources")
ROOT = Path(splitmerge_cli.__file__).parent
ROW = re.compile(r"^\| (\w+) \| (`[^|]*) \| [^|]* \|([^|]*)\|$", re.MULTILINE)
"""A row of the table in docs/design.md: room, folders, what it holds, rooms that it imports."""
ROOMS = {
    room: (re.findall(r"\w+", folders), re.findall(r"\w+", others))
    for room, folders, others in ROW.findall((ROOT.parent / "docs" / "design.md").read_text(encoding="utf-8"))
}
"""The folders of each room, and the rooms that it may import."""
FOLDERS = {folder: room for room, (folders, _) in ROOMS.items() for folder in folders}
# within a room whose folders know less of each other than the room does
WITHIN = {
    "core": set(),
    "_kernels": {"core"},
    "priors": {"core"},
    "samplers": {"_kernels", "core"},
    # the ground floor: a kind is handed to what reads it, and what a kind asks of other rooms it names (`LATE`)
    "data": set(),
}
# files beside the rooms
BESIDE = {"plugins": {"core", "data"}, "__main__": {"cli", "runs"}}
# what is read, and what is printed: every part may import them
EDGES = ("extras", "instruction_sets", "overrides", "plugins", "received", "terminal", "version")


def may_import(folder: str) -> set[str]:
    """The folders that the files of a folder may import."""
    if folder not in FOLDERS:
        return BESIDE.get(folder, set())
    rooms = ROOMS[FOLDERS[folder]]
    return {each for room in rooms[1] for each in ROOMS[room][0]} | WITHIN.get(folder, set(rooms[0]))


def part_of(module: str) -> str:
    """The part that ``splitmerge_cli.PART...`` belongs to; empty for the package itself."""
    return [*module.split("."), ""][1]


@cache
def imports(file: Path) -> set[str]:
    """Modules of this package that a file imports, anywhere in its text."""
    found: set[str] = set()
    for module, names in read_imports(file):
        # ``from splitmerge_cli import runs`` names the module ``splitmerge_cli.runs``
        found |= {f"{module}.{name}" for name in names} if module == "splitmerge_cli" else {module}
    return {module for module in found if module.startswith("splitmerge_cli")}


@cache
def read_imports(file: Path) -> list[tuple[str, list[str]]]:
    """Modules that a file imports, and the names that it takes from each."""
    return list(find_imports(file))


def find_imports(file: Path) -> Iterator[tuple[str, list[str]]]:
    if file.suffix != ".py":
        text = file.read_text(encoding="utf-8")
        for match in re.finditer(r"(?m)^\s*from\s+([\w.]+)\s+c?import\s+(\([^)]*\)|.*)", text):
            yield match[1], re.findall(r"\w+", re.sub(r"#.*|\bas \w+", "", match[2]))
        for match in re.finditer(r"(?m)^\s*c?import\s+([\w.]+)", text):
            yield match[1], []
        return
    for node in ast.walk(parse(file)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import; expected an absolute one"
            yield str(node.module), [alias.name for alias in node.names]
        elif isinstance(node, ast.Call) and "import_module" in (
            getattr(node.func, "attr", None),
            getattr(node.func, "id", None),
        ):
            yield from ((str(name.value), []) for name in node.args[:1] if isinstance(name, ast.Constant))


FILES = sorted(p for suffix in ("*.py", "*.pyx", "*.pxd") for p in ROOT.rglob(suffix) if p.name != "__init__.py")


def test_every_folder_is_in_a_room() -> None:
    assert len(ROOMS) == 12
    assert {folder.name for folder in ROOT.iterdir() if any(folder.glob("*.py"))} == FOLDERS.keys() - {"_kernels"}


def test_imports() -> None:
    assert len(FILES) > 200
    wrong = []
    for file in FILES:
        name = file.relative_to(ROOT).as_posix()
        own = name.partition("/")[0].partition(".")[0]
        allowed = {own, *EDGES, *may_import(own)}
        found = imports(file) - ({PLACE_OF_PAPERS[1]} if module_of(file) == PLACE_OF_PAPERS[0] else set())
        wrong += [f"{name} imports {module}" for module in found if part_of(module) not in allowed]
    assert not wrong


def module_of(file: Path, root: Path = ROOT) -> str:
    """Name of the module that a file holds; a .pxd belongs to its .pyx."""
    name = file.relative_to(root.parent).with_suffix("").as_posix().replace("/", ".")
    return name.removesuffix(".__init__")


def edges(root: Path) -> dict[str, set[str]]:
    """The modules that each module imports, anywhere in its text: in functions, for types alone, by a constant name."""
    files = sorted(p for suffix in ("*.py", "*.pyx", "*.pxd") for p in root.rglob(suffix))
    found: dict[str, set[str]] = {module_of(file, root): set() for file in files}
    for file in files:
        named = found[module_of(file, root)]
        for module, names in read_imports(file) if root == ROOT else find_imports(file):
            # a module that is asked for by its package, or what a module holds
            parts = {f"{module}.{name}" for name in names} & found.keys()
            named |= parts | ({module} & found.keys() if len(parts) < len(names) or not names else set())
        named.discard(module_of(file, root))
    return found


def circles(found: Mapping[str, set[str]]) -> set[frozenset[str]]:
    """Sets of more than one name, from each of which one comes to all others."""
    names = sorted(found)
    matrix = np.array([[other in found[name] for other in names] for name in names])
    parts = connected_components(csr_array(matrix), connection="strong")[1]
    together = [frozenset(np.array(names)[parts == k].tolist()) for k in range(parts.max() + 1)]
    return {part for part in together if len(part) > 1}


def rooms(found: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """The top-level parts that each part imports."""
    between: dict[str, set[str]] = {part_of(name): set() for name in found}
    for name, others in found.items():
        between[part_of(name)] |= {part_of(other) for other in others} - {part_of(name)}
    return between


PLACE_OF_PAPERS = ("splitmerge_cli.config.groups", "splitmerge_cli.papers")
"""The one import by a constant name that closes a circle of parts: of an empty package, whose folders are listed."""


def test_no_circles() -> None:
    found = edges(ROOT)
    assert not circles(found)
    assert PLACE_OF_PAPERS[1] in found[PLACE_OF_PAPERS[0]]
    found[PLACE_OF_PAPERS[0]].discard(PLACE_OF_PAPERS[1])
    assert not circles(rooms(found))


# what a part names as text (``splitmerge_cli.PART...`` or ``...:name``) and imports when it is asked for: who passes
# the name of a kind in place of it; what a kind asks of others
LATE = {"data": {"data", "kinds", "runs"}, "kinds": {"data", "kinds", "runs"}}


def test_late_names_are_listed() -> None:
    for part, allowed in LATE.items():
        found: set[str] = set()
        for file in (ROOT / part).rglob("*.py"):
            texts = {str(node.value) for node in ast.walk(parse(file)) if isinstance(node, ast.Constant)}
            found |= {part_of(text) for text in texts if re.fullmatch(r"splitmerge_cli(\.\w+)+(:\w+)?", text)}
        assert found == allowed, part


MOST_INSIDE = 128
"""Most imports inside functions: each because start-up needs it (docs/design.md)."""


def test_imports_inside_functions() -> None:
    found = set()
    for file in ROOT.rglob("*.py"):
        for node in ast.walk(parse(file)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                inside = [one for one in ast.walk(node) if isinstance(one, ast.Import | ast.ImportFrom)]
                found |= {(file, one.lineno) for one in inside}
    assert len(found) <= MOST_INSIDE


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


# models that leave tables with missing cells to that of tables of any columns, or have one for each column, and a
# sampler that is made of others
OTHERS = {
    "background": ("mixed",),
    "bernoulli": ("mixed",),
    "gamma_poisson": ("mixed",),
    "gaussian": ("mixed",),
    "mixed_shards": ("mixed",),
    "selected_columns": ("mixed",),
    "portfolio": ("reconfiguration", "wang_russell"),
}


def test_models_and_samplers_import_no_sibling() -> None:
    """They import what siblings share, and none that a configuration names, but these."""
    named = {
        locate(choice(group, name)["_target_"]).__module__ for group in ("model", "sampler") for name in choices(group)
    }
    of_kinds = (
        file for file in (ROOT / "kinds").rglob("*.p[yx]*") if file.suffix == ".pyx" or file.parent.name == "models"
    )
    files = [*of_kinds, *(ROOT / "samplers").glob("*.p[yx]*")]
    assert len({module_of(file) for file in files} & named) == len(named)
    for file in files:
        own = module_of(file)
        # the frame has the samplers that are no more than its parts
        may = {
            own,
            "splitmerge_cli.samplers.split_merge",
            *(f"{own.rpartition('.')[0]}.{name}" for name in OTHERS.get(file.stem, ())),
        }
        assert not (imports(file) & named) - may, f"{file.name} imports {imports(file) & named}"


def test_slices_do_not_import_each_other() -> None:
    slices = {folder.name for folder in (ROOT / "kinds").iterdir() if (folder / "__init__.py").exists()}
    assert slices == {"documents", "lines", "networks", "records", "tables", "tokens"}
    for file in (p for p in FILES if p.is_relative_to(ROOT / "kinds")):
        own = file.relative_to(ROOT / "kinds").parts[0]
        others = {module.split(".")[2] for module in imports(file) if module.startswith("splitmerge_cli.kinds.")}
        assert not (others & slices) - {own, *SHARED_SLICES.get(own, ())}, f"{file} imports {others}"


SHARED_SLICES: dict[str, tuple[str, ...]] = {}
"""Slices that a slice may import: a network's columns of nodes are a table."""


def test_the_rule_sees_imports(tmp_path: Path) -> None:
    python, cython = tmp_path / "a.py", tmp_path / "b.pyx"
    python.write_text("def f():\n    from splitmerge_cli import runs\n    import splitmerge_cli.kinds.tokens.emm\n")
    cython.write_text("from splitmerge_cli._kernels cimport Model, Rng\ncimport splitmerge_cli.samplers.wang_russell\n")
    assert {part_of(m) for m in imports(python)} == {"runs", "kinds"}
    assert {part_of(m) for m in imports(cython)} == {"_kernels", "samplers"}


def test_the_rule_sees_circles(tmp_path: Path) -> None:
    root = tmp_path / "splitmerge_cli"
    for name, text in {
        "a/__init__.py": "",
        "a/one.py": "def f():\n    from splitmerge_cli.b import two\n",
        "b/__init__.py": "",
        "b/two.pyx": "from splitmerge_cli.b.three cimport (\n    Rng)\n",
        "b/three.pxd": "",
        "b/three.pyx": "",
        "b/four.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import splitmerge_cli.b.five\n",
        "b/five.py": "from importlib import import_module\nimport_module('splitmerge_cli.b.four')\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    assert circles(edges(root)) == {frozenset({"splitmerge_cli.b.four", "splitmerge_cli.b.five"})}
    (root / "b" / "three.pxd").write_text("from splitmerge_cli.a.one import f\n")
    assert frozenset(f"splitmerge_cli.{name}" for name in ("a.one", "b.two", "b.three")) in circles(edges(root))
    assert circles(rooms(edges(root))) == {frozenset("ab")}


# what a figure may use of the runs: grids of them, and what a race of stored ones says
OF_RUNS = {"splitmerge_cli.runs.initial", "splitmerge_cli.runs.sweeps.sweep", "splitmerge_cli.analysis.race"}


def test_figures_make_runs_by_sweeps_alone() -> None:
    for file in (ROOT / "papers").glob("*/*.py"):
        found = {module for module in imports(file) if part_of(module) in ("analysis", "runs")}
        drawn_and_read = ("splitmerge_cli.analysis.plots", "splitmerge_cli.runs.store")
        assert {module for module in found if not module.startswith(drawn_and_read)} <= OF_RUNS, file.name


def test_a_file_gives_a_name_once() -> None:
    """A second constant of one name, where two files became one, would silently take the place of the first."""
    for file in sorted(ROOT.rglob("*.py")):
        nodes = [node for node in parse(file).body if isinstance(node, ast.Assign | ast.AnnAssign)]
        targets = [
            target for node in nodes for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        ]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        assert len(names) == len(set(names)), (file.name, [name for name in set(names) if names.count(name) > 1])
