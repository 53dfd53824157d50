"""Targets that have moved: run ids stay, and configurations that say a first name find what it names today."""

from pathlib import Path

import pytest

from splitmerge_cli.config import check_stored, choice, choices, compose, identity, later, locate, moved, plain
from splitmerge_cli.runs.identity import run_id

# of the data sets as they were before they were grouped by kind
IDS = {
    "emm": "d5a5c6bdc76a",
    "gaussian": "719cfe5b9a38",
    "groups4": "ffa6bf1f39e3",
    "jain_neal": "46f33679c216",
    "kdd_like": "76b0347005ad",
    "lines": "54563c58736b",
    "network": "aa2fb901be77",
    "networkx": "5169c6346021",
    "nips234": "1982c2d86457",
    "ohsumed23": "aad6be0a4bf5",
}


def test_moved_targets_are_those_of_the_files() -> None:
    targets = {choice("data", name)["_target_"] for name in choices("data")}
    # a data set that is newer never moved
    assert set(moved.MOVED.values()) <= targets and all(map(locate, targets))
    assert not set(moved.MOVED) & targets


@pytest.mark.parametrize("name", IDS)
def test_run_ids_stay(name: str) -> None:
    assert run_id(compose([f"data={name}", "sampler=sdds"])) == IDS[name]


# of a table as it was before it had more options
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["model=emm"], "d6f029cab8cc"),
        (["model=gaussian", "data.truth=1"], "b045eb9ab58a"),
        (["model=bernoulli", "data.drop=[x,1]", "data.header=true"], "9d663e3415a4"),
    ],
)
def test_options_that_came_later_change_no_run_id(tmp_path: Path, options: list[str], expected: str) -> None:
    (tmp_path / "x.csv").write_text("a\nb\na\n")
    # the sampler that was the default then
    given = ["data=csv", f"data.path={tmp_path / 'x.csv'}", "sampler=sdds", *options]
    assert run_id(compose(given)) == expected
    assert run_id(compose([*given, "data.separator=tab"])) != expected
    # and a run that was stored without them is read
    stored = plain(compose(given))
    for option in later.LATER["data", "csv"]:
        del stored["data"][option]
    assert check_stored(stored, Path("config.yaml")) == plain(compose(given))


def test_later_options_have_the_defaults_of_their_files() -> None:
    for (group, name), options in later.LATER.items():
        assert options.items() <= choice(group, name).items()


def test_stored_configurations_say_first_names() -> None:
    cfg = plain(compose(["data=emm", "N=20"]))
    assert identity(compose(["data=emm", "N=20"]))["data"]["_target_"] == "splitmerge_cli.data.emm.generate"
    cfg["data"]["_target_"] = "splitmerge_cli.data.emm.generate"
    checked = check_stored(cfg, Path("config.yaml"))
    assert checked["data"]["_target_"] == "splitmerge_cli.data.generated.emm.generate"


def test_a_file_of_the_users_own_says_a_first_name(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "few.yaml").write_text("name: few\n_target_: splitmerge_cli.data.emm.generate\nN: ${N}\n")
    cfg = compose(["data=few", "N=20"], tmp_path)
    assert cfg.data["_target_"] == "splitmerge_cli.data.generated.emm.generate"
