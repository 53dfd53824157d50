"""Configurations that cannot be run: one line that names the key and what was expected."""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import yaml

import splitmerge_cli
from splitmerge_cli.config import ConfigError, compose, errors, hydra_adapter, locate, schema, specify
from splitmerge_cli.runs.identity import run_id
from splitmerge_cli.runs.store import manifest, read
from splitmerge_cli.runs.store.store import RunStore


def read_rejection(*overrides, config_dir=None):
    with pytest.raises(ConfigError) as info:
        compose(overrides, config_dir)
    message = str(info.value)
    assert message and "\n" not in message
    return message


@pytest.mark.parametrize("value", [None, 3, "strength"])
def test_a_default_that_is_text_stands_beside_other_declared_types(value):
    text = "null" if value is None else value
    assert compose(["data=edges", "data.path=x", f"data.weights={text}"]).data.options["weights"] == value
    assert compose(["data=edges", "data.path=x", "data.weights=true"]).data.options["weights"] == "true"


@pytest.mark.parametrize(
    ("group", "text", "message"),
    [
        ("sampler", "", "sampler=own: _target_=null: expected MODULE.NAME"),
        ("sampler", "name: own\n", "sampler=own: _target_=null: expected MODULE.NAME"),
        ("sampler", "just words\n", "sampler=own: _target_=null: expected MODULE.NAME"),
        ("sampler", "_target_: 5\n", "sampler=own: _target_=5: expected MODULE.NAME"),
        ("sampler", "_target_: .x\n", "sampler=own: _target_=.x: expected MODULE.NAME"),
        ("sampler", "_target_: no_such_module.X\n", "sampler=own: _target_=no_such_module.X: cannot be imported"),
        ("sampler", "_target_: raises_at_once.X\n", "sampler=own: _target_=raises_at_once.X: cannot be imported: boom"),
        ("sampler", "_target_: no_python.X\n", "sampler=own: _target_=no_python.X: cannot be imported"),
        ("sampler", "_target_: builtins.dict\n", "sampler=own: _target_=builtins.dict: expected a subclass of Sampler"),
        ("model", "_target_: os.system\n", "model=own: _target_=os.system: expected a subclass of Model"),
        ("data", "_target_: math.pi\n", "data=own: _target_=math.pi: expected a function"),
        (
            "sampler",
            "name: ../own\n_target_: splitmerge_cli.samplers.gibbs.Gibbs\n",
            "sampler=own: name=../own: expected",
        ),
        ("sampler", "defaults: 5\n", "Invalid defaults list in 'sampler/own'"),
        ("sampler", "defaults: [nope]\n", "In 'sampler/own': Could not load 'sampler/nope'."),
        ("sampler", '"a":\n\t- b', "sampler=own: its file is not YAML"),
        ("sampler", b"\xff\xfe", "sampler=own: its file is not YAML"),
        ("sampler", "- 1\n", "sampler=[1]: expected"),
        ("schedule", "name: own\n", "schedule=own: expected one of full_scan"),
    ],
)
def test_files_of_the_users_own(tmp_path: Path, group, text, message):
    (tmp_path / group).mkdir()
    (tmp_path / group / "own.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    (tmp_path / "raises_at_once.py").write_text("raise RuntimeError('boom')\n")
    (tmp_path / "no_python.py").write_text("def (\n")
    assert read_rejection(f"{group}=own", config_dir=tmp_path).startswith(message)


def test_locate_takes_names_alone():
    for path in (None, 5, "", "x", "a..b", "os.no such"):
        with pytest.raises(ConfigError, match=r"expected MODULE\.NAME"):
            locate(path)


@pytest.mark.parametrize(
    ("overrides", "iterations"),
    [(["chains=1"], 10_000), (["chains=1", "sampler=smag", "data=docs200"], 1_000), (["budget=1"], None), ([], None)],
)
def test_iterations_where_none_are_given(overrides, iterations):
    found = compose(overrides)
    assert found.iterations == iterations
    # a run whose length nobody names ends when its chains are good
    assert found.until == (schema.Until(1.05, 100.0, 0.02) if not overrides else schema.Until(None, None))


# ---- Models that had another name: stored runs are recognised, and a message names today's name.

WORDS = ["sampler=sams", "data=counts", "model=multinomial", "N=100", "iterations=5000", "seed=1"]
BSM = ["data=jain_neal", "iterations=1000"]
OF_TOPICS = ["data=docs200", "sampler=smag"]


@pytest.mark.parametrize(
    ("words", "number"),
    [
        # of the program that called the model dirichlet_multinomial
        (WORDS, "39d366c7f69e"),
        # samplers that moved
        (OF_TOPICS, "f517917f43af"),
        (["data=docs200", "sampler=partially_collapsed"], "45025d4d4798"),
        ([*OF_TOPICS, "schedule=move_only"], "b1b02836f18d"),
        (["data=docs200", "schedule.mix=[{partially_collapsed: 1}, {smag: 2}]"], "ea91ac7c8e47"),
        # data that moved
        (["sampler=sams", "data=lines", "model=lines", "iterations=50"], "b1a659f72e2d"),
        (["sampler=sams", "data=kdd_like", "iterations=50"], "fa86334d5e7a"),
        (["sampler=sams", "data=networkx", "model=irm", "iterations=50"], "9e0936516a9f"),
        (["sampler=sams", "data=emm", "iterations=50"], "4e9aaa6a7cd5"),
        (["sampler=sams", "data=network", "model=irm", "iterations=50"], "314eb5799171"),
        # `allocation` came later, alone and in a list of samplers
        ([*BSM, "sampler=bsm"], "3220273aca2d"),
        ([*BSM, "schedule=[{bsm: 1}, {gibbs: 2}]"], "60bea332d66a"),
    ],
)
def test_runs_are_identified_as_before(words: list[str], number: str) -> None:
    assert run_id(specify(words)) == number


GAUSSIAN = ["data=gaussian", "N=20", "sampler=sams"]


@pytest.mark.parametrize(
    ("words", "default", "others"),
    [
        (GAUSSIAN, "model.power=1", ["model.power=0.5"]),
        (GAUSSIAN, "model.resolution=auto", ["model.resolution=none", "model.resolution=0.5"]),
        ([*BSM, "sampler=bsm"], "sampler.allocation=gibbs", ["sampler.allocation=sams"]),
    ],
)
def test_an_option_that_came_later_tells_other_runs_apart_alone(
    words: list[str], default: str, others: list[str]
) -> None:
    before = run_id(specify(words))
    assert run_id(specify([*words, default])) == before
    assert before not in {run_id(specify([*words, other])) for other in others}


def test_a_run_of_the_former_name_is_read(tmp_path: Path) -> None:
    spec = specify(WORDS)
    before = {**spec.values, "model": errors.former(spec.values["model"])}
    assert before["model"]["name"] == "dirichlet_multinomial"
    assert before["model"]["_target_"].startswith("splitmerge_cli.models.dirichlet_multinomial.")
    store = RunStore(tmp_path, {}, "0123", "sams", 1, [])
    store.write_config(yaml.safe_dump(before))
    store.write_status("running")
    assert read.Run(tmp_path).config["model"] == spec.values["model"]


@pytest.mark.parametrize(
    "words",
    [
        ["data=emm"],
        ["data=edges", "data.path=x", "model=irm"],
        ["data=noparama_twogaussians"],
        *(
            [f"data={name}"]
            for name in ("lines", "kdd_like", "networkx", "noparama_lines", "pubmed", "ohsumed23", "usair97")
        ),
        ["data=docs200", "sampler=smag"],
        ["data=docs200", "schedule.mix=[{partially_collapsed: 1}, {smag: 2}]"],
    ],
)
def test_modules_that_moved_are_named_as_before(words: list[str]) -> None:
    values = dict(specify(["sampler=gibbs", *words] if "schedule" not in words[-1] else words).values)
    before = errors.rename(values, errors.former)
    named = [before["data"], before["model"], before["sampler"], *(before.get("schedule", {}).get("mix") or [])]
    assert not any(part.get("_target_", "").startswith("splitmerge_cli.kinds.") for part in named)
    changed = values | before
    assert changed | errors.rename(changed, errors.today) == values


def test_a_model_of_the_users_own_keeps_a_former_name() -> None:
    own = {"name": "dirichlet_multinomial", "_target_": "mine.Shares"}
    assert errors.today(own) == own


def test_a_stored_choice_of_the_former_name_is_recalled(tmp_path: Path) -> None:
    file = tmp_path / "0123.json"
    manifest.keep(file, {}, {"model": "dirichlet_multinomial", "data.scale": None})
    recalled = manifest.recall(file, lambda line: pytest.fail(line))
    assert recalled is not None and recalled["changes"] == {"model": "multinomial", "data.scale": None}


def test_only_keys_that_are_recalled_are_kept(tmp_path: Path) -> None:
    for key in ("data.path", "out", "sampler.moves"):
        with pytest.raises(ValueError, match=f"{key}: expected an option of the model"):
            manifest.keep(tmp_path / "0123.json", {}, {"model": "gaussian", key: "x"})
    assert not [*tmp_path.iterdir()]


# ---- Hydra is known in one place, in the versions that it was written for.

ROOT = Path(splitmerge_cli.__file__).parents[1]


@pytest.mark.parametrize("version", ["1.4.0.dev1", "1.4.0rc1", "1.2.0", "2.0", "unknown"])
def test_versions_of_1_3_are_supported_and_no_others(version: str) -> None:
    for supported in ("1.3.2", "1.3.8", "1.3.10rc1"):
        hydra_adapter.check_version(supported)
    with pytest.raises(ConfigError, match=re.escape(f"hydra-core {version}: not supported; expected 1.3")):
        hydra_adapter.check_version(version)


def test_the_command_line_rejects_them_with_one_line(tmp_path: Path) -> None:
    code = """
        import sys
        import hydra
        hydra.__version__ = "1.4.0.dev1"
        from splitmerge_cli.__main__ import main
        sys.argv = ["smcmc", "run", "N=20"]
        main()
        """
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith("smcmc: hydra-core 1.4.0.dev1: not supported") and ended.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_no_other_module_imports_it() -> None:
    named = re.compile(r"^\s*(?:from|import) hydra(?:_plugins)?\b", re.MULTILINE)
    files = [file for folder in ("splitmerge_cli", "bench", "scripts") for file in (ROOT / folder).rglob("*.py")]
    found = {file.name for file in files if named.search(file.read_text(encoding="utf-8"))}
    assert found == {"hydra_adapter.py"}
