"""Models that had another name: stored runs are recognised, and a message names today's name."""

from pathlib import Path

import pytest
import yaml

from splitmerge_cli.config import ConfigError, specify
from splitmerge_cli.config.renamed import former, today
from splitmerge_cli.runs.identity import run_id
from splitmerge_cli.runs.store import choices
from splitmerge_cli.runs.store.read import Run
from splitmerge_cli.runs.store.store import RunStore

WORDS = ["sampler=sams", "data=counts", "model=multinomial", "N=100", "iterations=5000", "seed=1"]


def test_runs_are_identified_as_before() -> None:
    # of the program that called the model dirichlet_multinomial
    assert run_id(specify(WORDS)) == "39d366c7f69e"


def test_a_run_of_the_former_name_is_read(tmp_path: Path) -> None:
    spec = specify(WORDS)
    before = {**spec.values, "model": former(spec.values["model"])}
    assert before["model"]["name"] == "dirichlet_multinomial"
    assert before["model"]["_target_"].startswith("splitmerge_cli.models.dirichlet_multinomial.")
    store = RunStore(tmp_path, {}, "0123", "sams", 1, [])
    store.write_config(yaml.safe_dump(before))
    store.write_status("running")
    assert Run(tmp_path).config["model"] == spec.values["model"]


@pytest.mark.parametrize(
    "words", [["data=emm"], ["data=edges", "data.path=x", "model=irm"], ["data=noparama_twogaussians"]]
)
def test_modules_that_moved_are_named_as_before(words: list[str]) -> None:
    values = specify(["sampler=gibbs", *words]).values
    for group in ("data", "model"):
        assert not former(values[group])["_target_"].startswith("splitmerge_cli.kinds.")
        assert today(former(values[group])) == values[group]


def test_a_model_of_the_users_own_keeps_a_former_name() -> None:
    own = {"name": "dirichlet_multinomial", "_target_": "mine.Shares"}
    assert today(own) == own


def test_a_stored_choice_of_the_former_name_is_recalled(tmp_path: Path) -> None:
    file = tmp_path / "0123.json"
    choices.keep(file, {}, {"model": "dirichlet_multinomial", "data.scale": None})
    recalled = choices.recall(file, lambda line: pytest.fail(line))
    assert recalled is not None and recalled["changes"] == {"model": "multinomial", "data.scale": None}


def test_the_message_about_a_former_name_has_both_models() -> None:
    with pytest.raises(ConfigError, match=r"^model=dirichlet_multinomial: this model is now model=multinomial .*over"):
        specify(["model=dirichlet_multinomial", "data=counts"])
