"""The complete examples of docs/extending in Cython, and the kind: copied from the pages, built, verified and run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs" / "extending"
pytestmark = pytest.mark.xdist_group("extending")
SETUP = """
from Cython.Build import cythonize
from setuptools import Extension, setup

import smcmc

options = smcmc.build_options()
options["extra_compile_args"] = [*options.get("extra_compile_args", ()), "-O0"]
modules = [Extension(name, [f"{name}.pyx"], **options) for name in ("categories", "in_order")]
setup(ext_modules=cythonize(modules, include_path=options["include_dirs"], language_level=3))
"""


def example(page: str, name: str) -> str:
    """The text of a file that a page gives, by its name there."""
    text = (PAGES / page).read_text(encoding="utf-8")
    (found,) = re.findall(rf"^`[\w/]*{re.escape(name)}`:?\n\n```\w*\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return str(found)


def run(folder: Path, *words: str) -> str:
    """Run a command in a folder and return its output; it must succeed."""
    ended = subprocess.run(
        [sys.executable, *words], cwd=folder, capture_output=True, text=True, check=False, env=os.environ
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout + ended.stderr


@pytest.fixture(scope="module")
def plugin_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of configurations with the model and the sampler of the pages next to them, compiled."""
    folder = tmp_path_factory.mktemp("extending") / "my"
    for page, group, name in (("model.md", "model", "categories"), ("sampler-in-cython.md", "sampler", "in_order")):
        (folder / group).mkdir(parents=True)
        (folder / f"{name}.pyx").write_text(example(page, f"{name}.pyx"))
        configuration = example(page, f"{name}.yaml")
        configuration = re.sub(r"(?m)^_target_: splitmerge_cli\.[\w.]+\.(\w+\.\w+)$", r"_target_: \1", configuration)
        (folder / group / f"{name}.yaml").write_text(configuration)
    (folder / "setup.py").write_text(SETUP)
    run(folder, "setup.py", "-q", "build_ext", "--inplace")
    return folder


def test_the_model_and_the_sampler_are_exact(plugin_folder: Path) -> None:
    main = ("-c", "from splitmerge_cli.__main__ import main; main()")
    own = ("--config-dir", str(plugin_folder))
    shown = run(plugin_folder, *main, "verify", "model=categories", "sampler=gibbs,in_order,sdds", "mode=exact", *own)
    assert "categories: exact: gibbs, in_order, sdds" in shown and "6 of 6 forms exact" in shown, shown
    words = ["sampler=in_order", "data=emm", "model=categories", "N=60", "iterations=100", "chains=2", "progress=none"]
    assert "results/" in run(plugin_folder, *main, "run", *words, *own)


def test_the_kind_is_found_by_its_folder(tmp_path: Path) -> None:
    (tmp_path / "visits").mkdir()
    (tmp_path / "visits" / "__init__.py").write_text(example("kind.md", "kinds/visits/__init__.py"))
    code = (
        f"import splitmerge_cli.kinds as k\nk.__path__.append({str(tmp_path)!r})\n"
        "data = k.get_kind('visits').example(12)\n"
        "print(data.kind, data.N, data.kind.stack(data, data).N)"
    )
    assert run(tmp_path, "-c", code).split() == ["visits", "12", "24"]
