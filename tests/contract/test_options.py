"""One source for every option: the files, the help and the messages say what the declaration says."""

import pytest

from splitmerge_cli.config import GROUPS, choice, choices, hydra_adapter, plain, unshared
from splitmerge_cli.config.groups import main_defaults
from splitmerge_cli.config.schema import all_keys


def test_config_yaml_has_the_declared_defaults() -> None:
    found = main_defaults()
    nested = {f"{key}.{inner}": v for key, of in found.items() if isinstance(of, dict) for inner, v in of.items()}
    flat = {key: value for key, value in found.items() if not isinstance(value, dict)} | nested
    # which experiment there is, Hydra knows
    declared = {key: option.default for key, option in all_keys() if key != "experiment"}
    assert flat == declared


@pytest.mark.parametrize(("group", "name"), [(group, name) for group in GROUPS for name in choices(group)])
def test_files_that_are_read_directly_say_what_hydra_composes(group: str, name: str) -> None:
    composed = hydra_adapter.composed([f"{group}={name}"])
    assert choice(group, name) == unshared(group, plain(composed[group], resolve=False))
