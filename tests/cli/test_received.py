"""A run's folder may come from anywhere: nothing that it names is executed."""

import hashlib
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from splitmerge_cli import config, runs
from splitmerge_cli.papers import reproduce
from splitmerge_cli.runs.store.manifest import read_sealed, write_manifest, write_sealed
from splitmerge_cli.runs.store.read import Run, find_runs

ARGS = ["model=gaussian", "data=gaussian", "N=30", "data.D=2", "chains=1", "iterations=40", "progress=none"]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    runs.run(config.compose([*ARGS, f"out={folder}"]))
    return folder


def receive(original: Path, changes: dict[str, Any]) -> Run:
    """The run with another configuration, its digests made to fit: who sends a folder can do that."""
    shutil.copytree(original, "results")
    run = find_runs("results")[0]
    file = run.path / "config.yaml"
    values = yaml.safe_load(file.read_text())
    for key, value in changes.items():
        node, *parts = values, *key.split(".")
        for part in parts[:-1]:
            node = node[part]
        node[parts[-1]] = value
    file.write_text(yaml.safe_dump(values))
    seal(run.path)
    return Run(run.path)


def seal(path: Path) -> None:
    """Make the digests of a run fit what its files hold."""
    status = read_sealed(path / "status.json")
    status["config_sha256"] = hashlib.sha256((path / "config.yaml").read_bytes()).hexdigest()
    write_sealed(path / "status.json", status)
    write_manifest(path / "manifest.json", [file.name for file in path.iterdir() if file.name != "manifest.json"])


def test_a_configuration_that_refers_to_itself_is_damaged(smcmc, original: Path) -> None:
    run = receive(original, {})
    names = "abcdefghijkl"
    bomb = "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in pairwise(names))
    (run.path / "config.yaml").write_text((run.path / "config.yaml").read_text() + "a: &a [x, x, x]\n" + bomb)
    seal(run.path)
    result = smcmc("diagnose", str(run.path))
    assert result.exit_code == 1 and "config.yaml: damaged" in result.stderr


STEERING = "\x1b]0;title\x07\u202e\x9b2J"


def test_letters_of_a_received_table_do_not_steer_the_terminal(smcmc) -> None:
    rows = [f'{STEERING}{i % 2},{i % 2 * 9 + i / 50},"a\nb"' for i in range(30)]
    Path("t.csv").write_text("\n".join([f"kind{STEERING},x,y", *rows]) + "\n")
    result = smcmc("run", "data=csv", "data.path=t.csv", "data.drop=[y]", "model=mixed", *ARGS[4:], status=0)
    path = result.stdout.strip().splitlines()[-1]
    said = result.output
    for args in (["summary", "--columns", path], ["diagnose", path], ["summary", f"no{STEERING}"]):
        said += smcmc(*args).output
    assert r"kind\x1b]0;title\x07\u202e\x9b2J=" in said and r"no\x1b]0;" in said
    assert not set(STEERING) & set(said) - set("]0;title2J")


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "x\n1\n",
        lambda text: text.replace(",size,", ",sizes,", 1),
        lambda text: text + "1,2\n",
        lambda text: text.replace("\n0,", "\n0,x", 1),
        lambda text: text + "9," * 99 + "\n",
        lambda text: text + "x" * 200_000,
        lambda text: text + "\0",
    ],
)
def test_a_table_of_clusters_that_is_none_is_damaged(smcmc, original: Path, change: Any) -> None:
    run = receive(original, {})
    # what generated data do not have
    text = "cluster,size,share,certainty,prototype,telling\n0,30,1.0,,,x\n"
    (run.path / "cluster_summary.csv").write_text(text)
    seal(run.path)
    assert smcmc("summary", str(run.path)).exit_code == 0
    (run.path / "cluster_summary.csv").write_text(change(text))
    seal(run.path)
    result = smcmc("summary", str(run.path))
    assert result.exit_code == 1 and "cluster_summary.csv: damaged" in result.stderr


TOUCH = {"_target_": "subprocess.check_output", "args": ["touch", "executed"]}
MODULE = "open('executed', 'w').write('')\n"
RECEIVED = {
    "data": ({"data": {"name": "gaussian"} | TOUCH}, "data._target_=subprocess.check_output"),
    "new data": ({"data": {"name": "mine"} | TOUCH}, "data=mine"),
    "nameless data": ({"data": TOUCH}, "config.yaml: damaged"),
    "model": ({"model._target_": "evil.Model"}, "model._target_=evil.Model"),
    "sampler": ({"sampler._target_": "evil.Sampler"}, "sampler._target_=evil.Sampler"),
    "schedule": (
        {"schedule": {"name": "mix", "mix": [{"name": "sdds", "weight": 1.0, "_target_": "evil.Sampler"}]}},
        "schedule.mix.sdds._target_=evil.Sampler",
    ),
    "no list": ({"schedule": {"name": "mix", "mix": 2}}, "schedule.mix=2: expected samplers"),
    "an empty list": ({"schedule": {"name": "mix", "mix": []}}, "schedule.mix=[]: expected samplers"),
    "no list and no null": ({"schedule": {"name": "full_scan"}}, "schedule.mix: a value is needed"),
    "an option that is gone": ({"model": {"name": "gaussian"}}, "model._target_: a value is needed"),
    "a sampler that is no more": (
        {"schedule": {"name": "mix", "mix": [{"name": "sdds", "weight": 1.0}]}},
        "schedule.mix.sdds._target_: a value is needed",
    ),
    "a schedule": ({"schedule": {"name": "[/x]", "mix": None}}, "schedule=[/x]: expected one of"),
    "option": ({"data.more": 1}, "data.more: no such key"),
    "type": ({"model.kappa0": [1]}, "model.kappa0=[1]"),
    "key": ({"more": 1}, "more: no such key"),
    "value": ({"chains": -1}, "chains=-1"),
}


@pytest.mark.parametrize("command", ["plot", "diagnose"])
@pytest.mark.parametrize("what", RECEIVED)
def test_what_a_received_run_names_is_not_executed(
    smcmc, original: Path, monkeypatch: pytest.MonkeyPatch, command: str, what: str
) -> None:
    changes, named = RECEIVED[what]
    # a module of that name is there to be imported
    Path("evil.py").write_text(MODULE)
    monkeypatch.syspath_prepend(".")
    run = receive(original, changes)
    before = sorted(run.path.iterdir())
    result = smcmc(command, str(run.path))
    assert result.exit_code == (1 if "damaged" in named else 2)
    assert len(result.stderr.splitlines()) == 1
    assert f"{run.path}/config.yaml" in result.stderr
    assert named in result.stderr
    assert not Path("executed").exists()
    assert sorted(run.path.iterdir()) == before


def test_neither_by_the_library(original: Path) -> None:
    run = receive(original, {"data": {"name": "gaussian"} | TOUCH})
    with pytest.raises(config.ConfigError, match="subprocess"):
        runs.dataset_of(run)
    with pytest.raises(config.ConfigError, match="subprocess"):
        reproduce.plot([str(run.path)])
    assert not Path("executed").exists()


@pytest.mark.parametrize("path", ["os.system", "subprocess.check_output", "builtins.eval", "splitmerge_cli.cli.app"])
def test_only_what_files_of_configuration_name_is_imported(path: str) -> None:
    with pytest.raises(config.ConfigError, match="not imported"):
        config.locate(path)


def test_every_packaged_choice_is_registered() -> None:
    for group in ("data", "model", "sampler"):
        for name in config.choices(group):
            assert config.locate(config.choice(group, name)["_target_"])


MINE = """
from splitmerge_cli.kinds.tables.generated import gaussian

def points(N: int = 20):
    return gaussian(N, D=2, seed=3)
"""


def test_a_module_that_config_dir_names_is_imported(smcmc, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("own/data").mkdir(parents=True)
    Path("own/my_received_points.py").write_text(MINE)
    Path("own/data/mine.yaml").write_text("# Mine.\nname: mine\n_target_: my_received_points.points\nN: ${N}\n")
    own = ["--config-dir", "own"]
    path = smcmc("run", "data=mine", *ARGS[:1], "N=30", *ARGS[4:], *own).stdout.strip()
    for command in ("plot", "diagnose"):
        assert smcmc(command, path, *own).exit_code == 0
        result = smcmc(command, path, status=2)
        assert "data=mine: expected one of" in result.stderr
        assert "--config-dir" in result.stderr
    assert (Path(path) / "points.png").is_file()
