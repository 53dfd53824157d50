"""Configurations that cannot be run: one line that names the key and what was expected."""

from pathlib import Path

import pytest

from splitmerge_cli.config import ConfigError, compose, locate
from splitmerge_cli.config.schema import Until

CSV = ["data=csv", "model=bernoulli"]


def read_rejection(*overrides, config_dir=None):
    with pytest.raises(ConfigError) as info:
        compose(overrides, config_dir)
    message = str(info.value)
    assert message and "\n" not in message
    return message


def test_values_of_the_types_that_a_function_declares():
    cfg = compose([*CSV, "data.path=x", "data.truth=-1", "data.N=null", "data.header=false"])
    assert tuple(cfg.data.options[key] for key in ("truth", "N", "header")) == (-1, None, False)
    assert compose([*CSV, "data.path=x", "data.truth=who"]).data.options["truth"] == "who"
    assert compose(["data=jain_neal", "data.example=2"]).data.options["example"] == 2
    assert compose(["model.alpha=1"]).model.options["alpha"] == 1.0


@pytest.mark.parametrize("value", [None, 3, "strength"])
def test_a_default_that_is_text_stands_beside_other_declared_types(value):
    text = "null" if value is None else value
    assert compose(["data=edges", "data.path=x", f"data.weights={text}"]).data.options["weights"] == value
    assert compose(["data=edges", "data.path=x", "data.weights=true"]).data.options["weights"] == "true"


@pytest.mark.parametrize("override", ["sampler=gibbs", "sampler.mode=as_printed"])
def test_a_weighted_list_stands_in_place_of_the_sampler(override):
    assert read_rejection("schedule=[sdds, gibbs]", override).startswith(f"{override}: expected no sampler, because")


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
        ("sampler", "name: ../own\n_target_: splitmerge_cli.samplers.ss.SS\n", "sampler=own: name=../own: expected"),
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
    assert found.until == (Until(1.05, 100.0, 0.02) if not overrides else Until(None, None))
