"""Samplers, priors and papers of another distribution: the example of docs/extending/plugin.md, installed on a path."""

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace

import pytest

from splitmerge_cli import plugins
from splitmerge_cli.config import ConfigError, groups

PAGES = Path(__file__).parents[2] / "docs" / "extending"


def blocks(page: str, names: str) -> dict[str, str]:
    """The files that a page gives, by their names there."""
    text = (PAGES / page).read_text(encoding="utf-8")
    found = re.findall(rf"^ *`({names})`:?\n\n *```\w*\n(.*?)^ *```$", text, re.DOTALL | re.MULTILINE)
    found += re.findall(rf"`({names})`:\n\n *```\w*\n(.*?)^ *```$", text, re.DOTALL | re.MULTILINE)
    return {name: textwrap.dedent(content) for name, content in found}


@pytest.fixture
def install(tmp_path: Path) -> Path:
    """A folder that holds the distribution as pip would leave it, with a paper and a module that cannot be imported."""
    site, package = tmp_path / "site", tmp_path / "site" / "my_moves"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "swap.py").write_text(blocks("sampler-in-python.md", r"my/mymoves\.py")["my/mymoves.py"])
    prior = "splitmerge_cli/priors/gnedin.py"
    (package / "gnedin.py").write_text(blocks("prior.md", re.escape(prior))[prior])
    for name, content in blocks("paper.md", r"my-paper/\S+").items():
        file = site / "toy_paper" / name.removeprefix("my-paper/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    (site / "toy_paper" / "__init__.py").touch()
    project = blocks("plugin.md", r"my-moves/pyproject\.toml")["my-moves/pyproject.toml"]
    points = (
        project[project.index("[project.entry-points") :].replace('[project.entry-points."', "[").replace('"]', "]")
    )
    points = points.replace('"', "") + "\n[smcmc.papers]\ntoy = toy_paper\n"
    points = points.replace("[smcmc.samplers]\n", "[smcmc.samplers]\nbroken = my_moves.nothing:Nothing\n")
    (site / "my_moves-0.1.dist-info").mkdir()
    (site / "my_moves-0.1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: my-moves\nVersion: 0.1\n")
    (site / "my_moves-0.1.dist-info" / "entry_points.txt").write_text(points)
    tests = blocks("plugin.md", r"my-moves/tests/test_moves\.py")["my-moves/tests/test_moves.py"]
    (tmp_path / "test_moves.py").write_text(tests)
    return tmp_path


ASKING = """import sys
from typer.testing import CliRunner
from splitmerge_cli.cli import app
for line in sys.stdin.read().splitlines():
    ended = CliRunner().invoke(app, line.split())
    print(f"== {line}: {ended.exit_code}", ended.output, ended.exception or "", sep="\\n")
"""
PROVING = """import test_moves
test_moves.test_swap()
test_moves.test_gnedin()
print("proved")
"""
NAMING = """from splitmerge_cli.kinds import get_kind
for name in sys.argv[1:]:
    try:
        get_kind(name)
    except ValueError as error:
        print(error)
"""


def ask(lines: list[str], then: str, folder: Path, *paths: Path, names: Iterable[str] = ()) -> dict[str, list[str]]:
    """The exit status and the output of each command where these paths hold modules; what runs then is of the last."""
    ended = subprocess.run(
        [sys.executable, "-c", ASKING + then, *names],
        input="\n".join(lines),
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths)), "COLUMNS": "300"},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found = re.findall(r"^== ([^\n]*): (\d+)\n(.*?)(?=^== |\Z)", ended.stdout, re.DOTALL | re.MULTILINE)
    return {line: said for line, *said in found}


COMMANDS = """list samplers
list priors
list figures
sampler info swap
verify sampler=swap,gibbs model=bernoulli model.prior=gnedin mode=exact
run sampler=swap data=emm N=20 iterations=30 chains=2 progress=none
run schedule=[{swap:1},{gibbs:1}] data=emm N=20 iterations=30 chains=2 progress=none model.alpha=0.3
run sampler=broken data=emm
verify sampler=broken"""


@pytest.mark.slow
def test_the_example_of_the_page(install: Path) -> None:
    commands = COMMANDS.splitlines()
    found = ask(commands, PROVING, install, install / "site", install)
    assert [found[command][0] for command in commands] == ["0"] * 7 + ["2"] * 2, found
    parts = {line: text for line, (_, text) in found.items()}
    page = (PAGES / "plugin.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^swap .*", parts["list samplers"], re.MULTILINE)
    assert listed in page
    reason = (
        "sampler=broken: my_moves.nothing:Nothing of my-moves cannot be imported: No module named 'my_moves.nothing'"
    )
    assert reason in parts["list samplers"]
    assert "gnedin(share=0.5)" in parts["list priors"]
    assert "toy-fig1" in parts["list figures"]
    assert "models that it supports" in parts["sampler info swap"]
    assert parts[commands[4]].strip() in page
    assert all(reason in parts[command] for command in commands[-2:])
    assert parts[commands[-1]].endswith("proved\n")


def point(name: str, value: str, of: str) -> EntryPoint:
    """An entry point of a distribution."""
    made = EntryPoint(name, value, "smcmc.priors")
    vars(made)["dist"] = SimpleNamespace(name=of, version="1")
    return made


@pytest.fixture
def add(monkeypatch: pytest.MonkeyPatch):
    """Replaces the entry points of this environment."""

    def put(*points: EntryPoint) -> None:
        monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points)
        forget()

    def forget() -> None:
        plugins.entry_points.cache_clear()
        plugins._attempt.cache_clear()
        groups._choices.cache_clear()

    yield put
    monkeypatch.undo()
    forget()


def test_two_distributions_with_one_name(add) -> None:
    add(point("new", "a:A", "first"), point("new", "b:B", "second"))
    with pytest.raises(plugins.PluginError, match="prior=new: first and second both have one"):
        plugins.load("prior", "new")
    assert plugins.load_classes("prior") == {}


def test_a_name_that_the_package_has(add) -> None:
    add(point("crp", "a:A", "first"))
    with pytest.raises(plugins.PluginError, match="prior=crp: smcmc has one of this name, and first adds another"):
        plugins.check_name("prior", "crp", {"crp"})
    add(point("gibbs", "a:A", "first"))
    with pytest.raises(ConfigError, match="sampler=gibbs: smcmc has one of this name, and first adds another"):
        groups.check_importable("sampler", "gibbs")
    assert "gibbs" not in groups.usable_choices("sampler") and "sams" in groups.usable_choices("sampler")


def test_something_else_than_a_class_of_the_group(add) -> None:
    add(point("new", "collections:Counter", "first"))
    with pytest.raises(plugins.PluginError, match="collections:Counter of first: expected a subclass of Prior"):
        plugins.load("prior", "new")


MODULES = {
    "exits": "import sys\nsys.exit(3)\n",
    "raises": "raise RuntimeError('no\\nlicence')\n",
    "other": "class Thing:\n    pass\n\n\nvalue = 3\n",
    "options": (
        "from splitmerge_cli.core.sampler import PythonSampler\n"
        "class Thing(PythonSampler):\n    OPTIONS = ({'name': 'scan'},)\n"
    ),
    "kindless": "from splitmerge_cli.core.model import Model\nclass Thing(Model):\n    kind = 'nowhere'\n",
    "unmade": (
        "from splitmerge_cli.kinds import Kind\n"
        "class Thing(Kind):\n    name = 'broken_unmade_thing'\n"
        "    def __init__(self):\n        raise OSError('gone')\n"
    ),
}
WHY = {
    "exits:Thing": r"broken_exits:Thing of broken-things cannot be imported: it exits \(3\)",
    "raises:Thing": "broken_raises:Thing of broken-things cannot be imported: no licence",
    "other": "broken_other of broken-things: expected a (subclass of|package with)",
    "other:value": "broken_other:value of broken-things: expected a (subclass of|package with)",
    "other:Thing": "broken_other:Thing of broken-things: expected a (subclass of|package with)",
    "other:nothing": "broken_other:nothing of broken-things cannot be imported: module 'broken_other' has no attribute",
}
SAMPLERS = {"options:Thing": "broken_options:Thing of broken-things: expected its OPTIONS to be a tuple of options"}
MODELS = {"kindless:Thing": "broken_kindless:Thing of broken-things cannot be used: kind=nowhere: expected one of"}
KINDS = {"unmade:Thing": "broken_unmade:Thing of broken-things cannot be used: gone"}
BROKEN = {"sampler": WHY | SAMPLERS, "model": WHY | MODELS, "prior": WHY, "kind": WHY | KINDS, "paper": WHY}
"""Entry points of which none can be used, and why, by group."""

ANYWHERE = """--help
list
data list
sampler info gibbs
model info emm
run sampler=sdds data=emm N=20 iterations=30 chains=2 progress=none
run data=jain_neal N=20 iterations=30 chains=2 progress=none
sweep data=emm N=20 iterations=30 chains=1 seed=0,1 progress=none
report"""


def name_of(value: str) -> str:
    return "broken_" + value.replace(":", "_").lower()


@pytest.mark.slow
def test_what_cannot_be_used_stops_only_what_names_it(tmp_path: Path) -> None:
    site = tmp_path / "site"
    info = site / "broken_things-0.1.dist-info"
    info.mkdir(parents=True)
    for name, text in MODULES.items():
        (site / f"broken_{name}.py").write_text(text)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-things\nVersion: 0.1\n")
    lines = []
    for group, values in BROKEN.items():
        lines += [f"[{plugins.GROUPS[group]}]", *(f"{name_of(value)} = broken_{value}" for value in values)]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    naming = [f"run data=emm {group}={name_of(value)}" for group in ("sampler", "model") for value in BROKEN[group]]
    naming += [f"run data=jain_neal model.prior={name_of(value)}" for value in BROKEN["prior"]]
    naming += [f"reproduce {name_of(value)}" for value in BROKEN["paper"]]
    anywhere = ANYWHERE.splitlines()
    found = ask([*anywhere, *naming], NAMING, tmp_path, site, names=map(name_of, BROKEN["kind"]))
    assert {found[line][0] for line in anywhere} == {"0"} and {found[line][0] for line in naming} == {"2"}
    parts = {line: text for line, (_, text) in found.items()}
    for group, values in BROKEN.items():
        for value, why in values.items():
            reason = rf"{group}={name_of(value)}: {why}"
            where = parts["list"] if group != "kind" else parts[naming[-1]]
            assert re.search(reason, where), reason
            for line in naming:
                if line.endswith(f"{group}={name_of(value)}"):
                    assert re.search(rf"^smcmc: .*{reason}", parts[line]), parts[line]


def test_a_module_of_ones_own_that_exits(smcmc, tmp_path: Path) -> None:
    (tmp_path / "sampler").mkdir()
    (tmp_path / "sampler" / "own.yaml").write_text("name: own\n_target_: own_that_exits.Own\n")
    (tmp_path / "own_that_exits.py").write_text("raise SystemExit('no licence')\n")
    ended = smcmc("run", "data=emm", "sampler=own", "--config-dir", str(tmp_path), status=2)
    assert "_target_=own_that_exits.Own: cannot be imported: it exits (no licence)" in ended.stderr


def test_a_mistake_in_a_sampler_of_ones_own_is_named_with_its_line(smcmc, tmp_path: Path) -> None:
    (tmp_path / "sampler").mkdir()
    (tmp_path / "sampler" / "own.yaml").write_text("name: own\n_target_: own_with_mistake.Own\n")
    source = """
        from splitmerge_cli.core.sampler import PythonSampler

        class Own(PythonSampler):
            MOVES, TERMS = ("own",), ("target",)

            def python_step(self):
                self.begin("own")
                return {}["x"]
        """
    (tmp_path / "own_with_mistake.py").write_text(textwrap.dedent(source))
    place = f"{tmp_path / 'own_with_mistake.py'}, line 9, in python_step: KeyError: 'x'"
    run = ["data=emm", "N=20", "iterations=60", "chains=1", "progress=none"]
    for words, status in ((["run", *run], 2), (["verify", "model=bernoulli", "mode=exact"], 2), (["sweep", *run], 1)):
        ended = smcmc(*words, "sampler=own", "--config-dir", str(tmp_path), status=status)
        assert place in ended.stderr and "Traceback" not in ended.stderr
