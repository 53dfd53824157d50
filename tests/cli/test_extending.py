"""The complete examples of docs/extending in Cython, and the kind: copied from the pages, built, verified and run."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs" / "extending"
pytestmark = pytest.mark.xdist_group("extending")
SETUP = """
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

import smcmc

NAMES = [file.stem for file in Path().glob("*.pyx")]
options = smcmc.build_options()
options["extra_compile_args"] = [*options.get("extra_compile_args", ()), "-O0"]
modules = [Extension(name, [f"{name}.pyx"], **options) for name in NAMES]
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
    """A folder of configurations with the models and the sampler of the pages next to them, compiled."""
    folder = tmp_path_factory.mktemp("extending") / "my"
    for page, group, name in (("model.md", "model", "categories"), ("sampler-in-cython.md", "sampler", "in_order")):
        (folder / group).mkdir(parents=True)
        (folder / f"{name}.pyx").write_text(example(page, f"{name}.pyx"))
        configuration = example(page, f"{name}.yaml")
        configuration = re.sub(r"(?m)^_target_: splitmerge_cli\.[\w.]+\.(\w+\.\w+)$", r"_target_: \1", configuration)
        (folder / group / f"{name}.yaml").write_text(configuration)
    (folder / "exponential.pyx").write_text(example("model.md", "exponential.pyx"))
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


def test_the_kind_is_a_folder_and_nothing_else(plugin_folder: Path, tmp_path: Path) -> None:
    """The kind and the model of the page, read from a file, proved, run and drawn."""
    folder = tmp_path / "waiting"
    folder.mkdir()
    (folder / "__init__.py").write_text(example("kind.md", "kinds/waiting/__init__.py"))
    (compiled,) = plugin_folder.glob("exponential*.so")
    shutil.copy(compiled, folder)
    (tmp_path / "my" / "model").mkdir(parents=True)
    (tmp_path / "my" / "model" / "exponential.yaml").write_text(example("kind.md", "exponential.yaml"))
    rows = "1.5,9.25\n8.5,0.75\n2.5,12.5\n9.5,1.25\n" * 6
    (tmp_path / "calls.csv").write_text(f"day,night\n{rows}")
    main = (
        f"import splitmerge_cli.kinds as kinds; kinds.__path__.append({str(tmp_path)!r}); "
        "from splitmerge_cli.__main__ import main; main()"
    )
    own = ("--config-dir", str(tmp_path / "my"))
    words = ("model=exponential", "sampler=gibbs,sdds,sams", "mode=exact")
    assert "exponential: exact: gibbs, sdds, sams" in run(tmp_path, "-c", main, "verify", *words, *own)
    words = ("data=csv", "data.path=calls.csv", "model=exponential", "progress=none")
    shown = run(tmp_path, "-c", main, "run", *words, *own)
    assert "of 24 rows" in shown, shown
    pictures = run(tmp_path, "-c", main, "plot", "--list", re.findall(r"results/\S+", shown)[0], *own)
    assert {"pairs", "projection", "cluster_means"} <= set(pictures.split())
    (tmp_path / "calls.csv").write_text(f"day,night\n1.5,9.25\n8.5,-2.5\n{rows}")
    ended = subprocess.run(
        [sys.executable, "-c", main, "run", *words, *own], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2 and "row 3, column 2 ('night'): '-2.5'; expected a positive number" in ended.stderr
