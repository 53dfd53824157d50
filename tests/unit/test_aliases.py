"""Renamed words: understood wherever a word of the user's enters, with a note that names the new one."""

import hashlib
from pathlib import Path

import pytest
import yaml

from splitmerge_cli.config import ConfigError, aliases, check_stored, compose, draft, identity
from splitmerge_cli.config.aliases import ALIASES, Alias
from splitmerge_cli.results.manifest import Manifest, read_sealed, write_manifest, write_sealed
from splitmerge_cli.runs import finished, open_run, run, run_id
from splitmerge_cli.sweeps.sweep import expand


@pytest.fixture(autouse=True)
def _forgotten() -> None:
    aliases.forget()


@pytest.mark.parametrize("alias", [a for a in ALIASES if a.of == "value"], ids=lambda alias: alias.note)
def test_an_old_word_is_the_new_one(alias: Alias, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = (compose(["sampler=sdds", f"{alias.key}={word}"]) for word in (alias.old, alias.new))
    assert identity(old) == identity(new)
    assert capsys.readouterr().err == f"smcmc: note: {alias.key}={alias.old} is now {alias.key}={alias.new}\n"


def test_a_grid_is_noted_once(capsys: pytest.CaptureFixture[str]) -> None:
    jobs = expand(["schedule=sweep,site,move_only", "seed=1,2"])
    assert {job[0] for job in jobs} == {"schedule=full_scan", "schedule=single_site", "schedule=move_only"}
    for job in jobs:
        compose(job)
    said = capsys.readouterr().err.splitlines()
    assert said == [f"smcmc: note: schedule={old} is now schedule={new}" for old, new in RENAMED]


RENAMED = [("site", "single_site"), ("sweep", "full_scan")]


def test_experiments_of_the_users_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "experiment").mkdir()
    text = "# @package _global_\ndefaults:\n  - override /schedule: sweep\ninit: one\n"
    (tmp_path / "experiment/own.yaml").write_text(text)
    cfg = compose(["experiment=own"], tmp_path)
    assert (cfg.schedule.name, cfg.init) == ("full_scan", "one_cluster")
    assert sorted(capsys.readouterr().err.splitlines()) == [
        "smcmc: note: init=one is now init=one_cluster",
        "smcmc: note: schedule=sweep is now schedule=full_scan",
    ]


def test_stored_configurations() -> None:
    from omegaconf import OmegaConf

    stored = yaml.safe_load(OmegaConf.to_yaml(compose(["sampler=sdds"])))
    stored["schedule"]["name"], stored["init"] = "site", "one"
    checked = check_stored(stored, Path("config.yaml"))
    assert (checked["schedule"]["name"], checked["init"]) == ("single_site", "one_cluster")


def test_ids_outlive_a_renaming(monkeypatch: pytest.MonkeyPatch) -> None:
    # those of the commands with the old words, before there were others
    assert run_id(compose(["sampler=sdds"])) == "d5a5c6bdc76a"
    assert run_id(compose(["schedule=move_only", "init=one_cluster"])) == run_id(
        compose(["schedule=alone", "init=one"])
    )
    key = Alias("model.labels", "labels", "label_prior", of="key")
    value = Alias("model.label_prior", "literal", "as_printed")
    monkeypatch.setattr(aliases, "ALIASES", (key, value))
    new = {"model": {"label_prior": "as_printed"}, "schedule": {"name": "mix", "mix": [{"name": "sdds"}]}}
    assert aliases.in_first_words(new)["model"] == {"labels": "literal"}


def test_a_run_that_was_stored_under_old_words(tmp_path: Path) -> None:
    path = run(compose(["N=12", "iterations=5", "chains=1", "progress=none", f"out={tmp_path}"]))
    text = (path / "config.yaml").read_text().replace("full_scan", "sweep")
    (path / "config.yaml").write_text(text)
    status = read_sealed(path / "status.json") | {"config_sha256": hashlib.sha256(text.encode()).hexdigest()}
    write_sealed(path / "status.json", status)
    write_manifest(path / "manifest.json", Manifest(path / "manifest.json").names)
    assert open_run(path).config["schedule"]["name"] == "full_scan"
    assert finished(draft(["N=12", "iterations=5", "chains=1", f"out={tmp_path}"])) is not None


def test_words_that_never_were_are_errors() -> None:
    with pytest.raises(ConfigError, match="schedule=sweeps: expected one of full_scan"):
        compose(["schedule=sweeps"])


def test_options_and_their_values(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows that wait for the compiled classes."""
    waiting = (
        Alias("sampler.mode", "literal", "as_printed"),
        Alias("model.labels", "labels", "label_prior", of="key"),
        Alias("model.label_prior", "literal", "as_printed"),
    )
    monkeypatch.setattr(aliases, "ALIASES", waiting)
    assert aliases.in_override("sampler.mode=exact,literal") == "sampler.mode=exact,as_printed"
    assert aliases.in_override("model.labels=literal") == "model.label_prior=as_printed"
    assert aliases.in_override("+model.labels=labelled") == "+model.label_prior=labelled"
    assert aliases.in_override("data.path=literal/literal.csv") == "data.path=literal/literal.csv"
    values = {
        "model": {"labels": "literal", "alpha": 1},
        "sampler": {"mode": "literal"},
        "schedule": {"name": "mix", "mix": ["sdds", {"rgsm": {"weight": 2, "mode": "literal"}}, {"gibbs": 1}]},
    }
    assert aliases.in_values(values) == {
        "model": {"label_prior": "as_printed", "alpha": 1},
        "sampler": {"mode": "as_printed"},
        "schedule": {"name": "mix", "mix": ["sdds", {"rgsm": {"weight": 2, "mode": "as_printed"}}, {"gibbs": 1}]},
    }
    assert capsys.readouterr().err.splitlines() == [
        "smcmc: note: sampler.mode=literal is now sampler.mode=as_printed",
        "smcmc: note: model.labels is now model.label_prior",
        "smcmc: note: model.label_prior=literal is now model.label_prior=as_printed",
    ]
