"""Scripts and the site's extensions name what the package has, its private names too."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted([*(ROOT / "scripts").rglob("*.py"), *(ROOT / "docs" / "_ext").glob("*.py")])


def modules_of(tree: ast.AST) -> dict[str, ModuleType]:
    """The modules of the package that a file imports, by the names that it gives them."""
    found: dict[str, ModuleType] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("splitmerge_cli"):
            for alias in node.names:
                value = getattr(importlib.import_module(str(node.module)), alias.name, None)
                if value is None:
                    value = importlib.import_module(f"{node.module}.{alias.name}")
                if isinstance(value, ModuleType):
                    found[alias.asname or alias.name] = value
    return found


def find_absent(tree: ast.AST) -> Iterator[str]:
    """Find names that a file takes from a module of the package and that the module does not have."""
    modules = modules_of(tree)
    local = {name.arg for name in ast.walk(tree) if isinstance(name, ast.arg)}
    local |= {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id not in local:
            module = modules.get(node.value.id)
            if module is not None and not hasattr(module, node.attr):
                yield f"{module.__name__}.{node.attr}, line {node.lineno}"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_every_name_that_a_script_takes_from_the_package_is_there(file: Path) -> None:
    assert list(find_absent(ast.parse(file.read_text(encoding="utf-8")))) == []


def test_a_name_that_is_gone_is_found() -> None:
    tree = ast.parse("from splitmerge_cli.papers.smag import counts\ncounts._absent(1)\ncounts.judge(1)\n")
    assert list(find_absent(tree)) == ["splitmerge_cli.papers.smag.counts._absent, line 2"]
