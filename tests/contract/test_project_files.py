"""Files about the project: what one of them says another does not contradict."""

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import write_codemeta
import yaml

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
CONDA = {"matplotlib-base": "matplotlib"}
"""Names of packages that conda-forge calls otherwise."""


def names(requirements: list[str]) -> dict[str, str]:
    """The least versions of packages, by name; an extra of a package counts as a package."""
    found = {}
    for one in requirements:
        name, extras, bounds = re.fullmatch(r"([\w-]+)(?:\[([\w,-]+)\])? *(.*)", one).groups()
        found[CONDA.get(name, name)] = bounds
        found |= dict.fromkeys(extras.split(",") if extras else [], "")
    return found


FOLDERS = [".ci", ".github", "bench", "conf", "docs", "recipe", "results", "scripts", "tests"]
FOLDERS += ["smcmc", "splitmerge_cli"]


def test_nothing_that_a_test_wrote_is_kept() -> None:
    """Files at the top are those of a project, and folders have a purpose; nothing was run here."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("no git, or no clone")
    kept = listed.stdout.splitlines()
    assert {name.split("/")[0] for name in kept if "/" in name} <= set(FOLDERS)
    assert not [name for name in kept if "/" not in name and Path(name).suffix in {".csv", ".png", ".parquet", ".txt"}]
    assert [name for name in kept if name.endswith(".json") and "/" not in name] == ["codemeta.json"]


def test_codemeta_is_derived() -> None:
    assert write_codemeta.FILE.read_text(encoding="utf-8") == write_codemeta.text()


def test_changelog_is_grouped_by_release() -> None:
    """A heading is a version with its date; the first may be that which is not released. The site has all others."""
    heads = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    versions = [re.fullmatch(r"(\d+\.\d+\.\d+) (\(unreleased\)|- \d{4}-\d\d-\d\d)", head) for head in heads]
    assert all(versions) and all(found[2].startswith("-") for found in versions[1:])
    order = [tuple(map(int, found[1].split("."))) for found in versions]
    assert order == sorted(set(order), reverse=True) and versions[0][1] == PROJECT["version"]
    sites = json.loads((ROOT / "docs" / "versions.json").read_text(encoding="utf-8"))
    assert all(one["url"] == f"/{one['version']}/" and one["name"] for one in sites)
    assert [one["version"] for one in sites] == ["dev", *(f"v{x[1]}" for x in versions if x[2].startswith("-"))]


def test_recipe_needs_what_the_package_needs() -> None:
    recipe = yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8"))
    assert recipe["context"]["version"] == PROJECT["version"]
    asked = names(recipe["requirements"]["run"])
    assert asked.pop("python") == PROJECT["requires-python"]
    known = [*PROJECT["dependencies"], *(one for extra in PROJECT["optional-dependencies"].values() for one in extra)]
    assert set(names(PROJECT["dependencies"])) <= set(asked)
    assert asked.items() <= names(known[::-1]).items()


def test_same_versions_of_python_everywhere() -> None:
    declared = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    tests = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8"))
    assert tests["jobs"]["tests"]["strategy"]["matrix"]["python"] == declared
    built = PYPROJECT["tool"]["cibuildwheel"]["build"].split()
    assert [one.removesuffix("-*") for one in built] == [f"cp{one.replace('.', '')}" for one in declared]
    assert f">={declared[0]}" == PROJECT["requires-python"]
